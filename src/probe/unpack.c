/* SPDX-License-Identifier: MIT */
/*
 * unpack.c - see unpack.h.
 *
 * libdw does it, which is there for debugging information and knows xz and gzip,
 * and the one frame that zstd makes of a file libzstd, which is there for traces: no
 * library more for what few need (docs/decisions/0037-compressed-modules.md). libdw
 * has the whole file in memory, twice for a moment; a module has some MiB.
 *
 * libdw takes what is torn for shorter. The table of sections, which is behind all
 * else in what compilers write, tells.
 */
#include "probe/unpack.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/packed.h"
#include "sys/write.h"

/* What a frame says that it has, which nobody has checked. */
#define FRAME_BYTES_MAX (UINT64_C(1) << 30)

static int unpacked_file(void)
{
	/* GDB reads it. NOLINTNEXTLINE(android-cloexec-memfd-create) */
	int fd = memfd_create("sonde-symbols", 0);

	return fd < 0 ? -errno : fd;
}

/* `fd`, or it is dropped. */
static int file_or(int fd, int rc)
{
	if (!rc)
		return fd;
	(void)close(fd);
	return rc;
}

/* NULL: it is none, or torn. */
static const char *symbols_image(Elf *elf, size_t *ret_size)
{
	GElf_Ehdr head;
	size_t size = 0;
	size_t nr;
	const char *bytes =
		elf_kind(elf) == ELF_K_ELF ? elf_rawfile(elf, &size) : NULL;

	if (!bytes || !gelf_getehdr(elf, &head) || elf_getshdrnum(elf, &nr) ||
	    head.e_shoff > size ||
	    nr > (size - head.e_shoff) / sizeof(Elf64_Shdr))
		return NULL;
	*ret_size = size;
	return bytes;
}

static int unpack_by_libdw(int from)
{
	Elf *elf;
	const char *bytes;
	size_t size;
	int rc = -ENOEXEC;

	(void)elf_version(EV_CURRENT); /* which all libraries know */
	elf = dwelf_elf_begin(from);
	bytes = elf ? symbols_image(elf, &size) : NULL;
	if (bytes)
		rc = unpacked_file();
	if (rc >= 0)
		rc = file_or(rc, sonde_write_all(rc, bytes, size));
	(void)elf_end(elf);
	return rc;
}

static int unpack_frame_to(int fd, size_t size, const void *packed,
			   size_t packed_size)
{
	void *to = ftruncate(fd, (off_t)size) ?
			   MAP_FAILED :
			   mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
				fd, 0);
	bool is_right;

	if (to == MAP_FAILED)
		return -errno;
	is_right = sonde_ctf_frame_unpack(to, size, packed, packed_size);
	(void)munmap(to, size); /* ours, so it can't fail */
	return is_right ? 0 : -ENOEXEC;
}

static int unpack_frame(const void *packed, size_t packed_size)
{
	uint64_t size = sonde_ctf_frame_bytes(packed, packed_size);
	int fd;

	if (!size && !sonde_ctf_can_pack())
		return -ENOSYS;
	if (!size || size > FRAME_BYTES_MAX)
		return -ENOEXEC;
	fd = unpacked_file();
	return fd < 0 ? fd :
			file_or(fd, unpack_frame_to(fd, (size_t)size, packed,
						    packed_size));
}

static int unpack_by_zstd(int from, size_t size)
{
	void *packed = mmap(NULL, size, PROT_READ, MAP_PRIVATE, from, 0);
	int rc;

	if (packed == MAP_FAILED)
		return -errno;
	rc = unpack_frame(packed, size);
	(void)munmap(packed, size); /* ours, so it can't fail */
	return rc;
}

static int unpack_from(int from)
{
	char magic[4];
	struct stat stat;

	if (fstat(from, &stat))
		return -errno;
	if (pread(from, magic, sizeof(magic), 0) == sizeof(magic) &&
	    sonde_ctf_is_packed(magic, sizeof(magic)))
		return unpack_by_zstd(from, (size_t)stat.st_size);
	return unpack_by_libdw(from);
}

int sonde_probe_unpack(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (from < 0)
		return -errno;
	rc = unpack_from(from);
	(void)close(from); /* it was only read */
	return rc;
}
