/* SPDX-License-Identifier: MIT */
/*
 * gdb_kernel.c - `sonde gdb --kernel`: which file has the running kernel's
 * symbols, and how far the kernel was moved when it was started (KASLR).
 *
 * Of the file its head is read, its table of parts and its build-id; another
 * build's addresses would be wrong ones, so it is refused. The first part that
 * is loaded begins with the kernel's symbol _text.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/port.h"
#include "cmd/cmd.h"
#include "gdb/target/kernel.h"
#include "source/statedump/buildid.h"

#define EXIT_FAILED 1
#define NOTES_FILE  "/sys/kernel/notes"

/* What is before the kernel's release, and behind it. */
static const char *const symbol_files[][2] = {
	{ "/usr/lib/debug/boot/vmlinux-", "" },
	{ "/usr/lib/debug/lib/modules/", "/vmlinux" },
	{ "/lib/modules/", "/build/vmlinux" },
	{ "/boot/vmlinux-", "" },
};

static int complain_of_symbols(const char *path, const char *why)
{
	sonde_complain("%.300s: %s", path, why);
	return EXIT_FAILED;
}

/* 0, or an exit status: said why. */
static int find_symbols(char path[PATH_MAX])
{
	struct utsname name;

	if (uname(&name))
		return complain_of_symbols("uname", strerrordesc_np(errno));
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(symbol_files); i++) {
		(void)snprintf(path, PATH_MAX, "%s%s%s", symbol_files[i][0],
			       name.release, symbol_files[i][1]);
		if (!access(path, R_OK))
			return 0;
	}
	sonde_complain("the kernel's debugging information isn't there: "
		       "install linux-image-%.64s-dbg (apt install "
		       "linux-image-%.64s-dbg), or say with --symbols where "
		       "its vmlinux is",
		       name.release, name.release);
	return EXIT_FAILED;
}

/* ---- is it this kernel's? ---- */

static int read_vmlinux(void *ctx, uint64_t offset, void *to, size_t size)
{
	const int *fd = ctx;

	return offset <= INT64_MAX && pread(*fd, to, size, (off_t)offset) ==
					      (ssize_t)size ?
		       0 :
		       -EIO;
}

/* The kernel doesn't say, or the file: then nobody knows. */
static int check_build(int fd, const char *path)
{
	char theirs[SONDE_BUILD_ID_TEXT];
	char ours[SONDE_BUILD_ID_TEXT];
	uint8_t notes[SONDE_NOTES_BYTES];
	int notes_fd = open(NOTES_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t nr;

	if (notes_fd < 0)
		return 0;
	nr = read(notes_fd, notes, sizeof(notes));
	(void)close(notes_fd);
	if (nr <= 0 || !sonde_build_id_in_notes(notes, (size_t)nr, 4, ours) ||
	    !sonde_build_id_find(read_vmlinux, &fd, theirs) ||
	    !strcmp(ours, theirs))
		return 0;
	sonde_complain("%.300s is of another build than the running kernel "
		       "(%.40s, not %.40s): its addresses would be wrong",
		       path, theirs, ours);
	return EXIT_FAILED;
}

/* ---- where it is ---- */

/* Where the file's first loaded part wants to be. */
static bool find_start(int fd, uint64_t *ret_start)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (read_vmlinux(&fd, 0, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(part) || head.e_phoff > INT64_MAX)
		return false;
	for (uint32_t i = 0; i < head.e_phnum; i++) {
		if (read_vmlinux(&fd, head.e_phoff + i * sizeof(part), &part,
				 sizeof(part)))
			return false;
		if (part.p_type != PT_LOAD)
			continue;
		*ret_start = part.p_vaddr;
		return true;
	}
	return false;
}

/* 0 and how far it was moved, or an exit status. */
static int measure_symbols(const char *path, uint64_t text,
			   uint64_t *ret_offset)
{
	uint64_t start = 0;
	int status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return complain_of_symbols(path, strerrordesc_np(errno));
	status =
		find_start(fd, &start) ?
			check_build(fd, path) :
			complain_of_symbols(path, "that is no vmlinux: it is "
						  "no ELF file that is loaded");
	(void)close(fd);
	*ret_offset = text - start;
	return status;
}

int sonde_gdb_find_symbols(const char *given,
			   struct sonde_gdb_symbols *ret_symbols)
{
	char error[256];
	uint64_t text;
	int status = 0;

	if (sonde_gdb_kernel_text(&text, error, sizeof(error))) {
		sonde_complain("%s", error);
		return EXIT_FAILED;
	}
	if (given)
		(void)snprintf(ret_symbols->path, sizeof(ret_symbols->path),
			       "%s", given);
	else
		status = find_symbols(ret_symbols->path);
	return status ? status :
			measure_symbols(ret_symbols->path, text,
					&ret_symbols->moved);
}
