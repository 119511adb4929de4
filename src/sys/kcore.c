/* SPDX-License-Identifier: MIT */
/*
 * kcore.c - see kcore.h. A read goes through the table of parts until one has
 * its first byte, and ends where that part does: whoever wants more asks for
 * the rest. A kernel has some ten parts, or hundreds if its memory is in pieces.
 */
#include "sys/kcore.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define PARTS_AT_ONCE 32u

static bool kcore_read_all(int fd, uint64_t offset, void *to, size_t size)
{
	return offset <= INT64_MAX &&
	       pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static bool kcore_read_head(int fd, Elf64_Ehdr *head)
{
	return kcore_read_all(fd, 0, head, sizeof(*head)) &&
	       !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
	       head->e_ident[EI_CLASS] == ELFCLASS64 &&
	       head->e_type == ET_CORE &&
	       head->e_phentsize == sizeof(Elf64_Phdr);
}

int sonde_kcore_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr head;

	if (fd < 0)
		return -errno;
	if (kcore_read_head(fd, &head))
		return fd;
	(void)close(fd);
	return -ENOEXEC;
}

/* The part that has the address. */
static bool find_kcore_part(int fd, uint64_t address, Elf64_Phdr *ret_part)
{
	Elf64_Phdr parts[PARTS_AT_ONCE];
	Elf64_Ehdr head;
	uint32_t nr;

	if (!kcore_read_head(fd, &head))
		return false;
	for (uint32_t i = 0; i < head.e_phnum; i += nr) {
		nr = head.e_phnum - i;
		if (nr > PARTS_AT_ONCE)
			nr = PARTS_AT_ONCE;
		if (head.e_phoff > INT64_MAX ||
		    !kcore_read_all(fd, head.e_phoff + i * sizeof(parts[0]),
				    parts, nr * sizeof(parts[0])))
			return false;
		for (uint32_t k = 0; k < nr; k++) {
			if (parts[k].p_type != PT_LOAD ||
			    address < parts[k].p_vaddr ||
			    address - parts[k].p_vaddr >= parts[k].p_memsz)
				continue;
			*ret_part = parts[k];
			return true;
		}
	}
	return false;
}

size_t sonde_kcore_read(int fd, uint64_t address, void *to, size_t size)
{
	Elf64_Phdr part;
	uint64_t skip;
	ssize_t nr;

	if (!find_kcore_part(fd, address, &part))
		return 0;
	skip = address - part.p_vaddr;
	if (size > part.p_memsz - skip)
		size = part.p_memsz - skip;
	if (part.p_offset > INT64_MAX || skip > INT64_MAX - part.p_offset)
		return 0;
	nr = pread(fd, to, size, (off_t)(part.p_offset + skip));
	return nr > 0 ? (size_t)nr : 0;
}
