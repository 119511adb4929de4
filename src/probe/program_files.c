/* SPDX-License-Identifier: MIT */
/*
 * program_files.c - see program_files.h.
 *
 * The list of libraries is the dynamic linker's: auxv -> program headers ->
 * PT_DYNAMIC -> DT_DEBUG -> struct r_debug -> a list of struct link_map. All of
 * it is in the process's memory and may change or lie: every step is bounded.
 */
#include "probe/program_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/directory.h"
#include "sys/proc.h"

enum {
	HEADERS_MAX = 128,
	DYNAMIC_MAX = 512,
	LIBRARIES_MAX = 4096,
	NAME_MAX_BYTES = SONDE_PROBE_EXE_MAX,
};

static size_t peek(const struct sonde_probe_program_files *image,
		   uint64_t address, void *to, size_t size)
{
	uint8_t *bytes = to;
	size_t done = 0;

	if (address > INT64_MAX || size > INT64_MAX - address)
		return 0;
	while (done < size) {
		ssize_t nr = pread(image->memory, bytes + done, size - done,
				   (off_t)(address + done));

		if (nr <= 0)
			break;
		done += (size_t)nr;
	}
	return done;
}

size_t sonde_probe_program_files_auxv(pid_t pid, void *to, size_t size)
{
	char path[64];
	size_t nr = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	nr = fread(to, 1, size, file);
	(void)fclose(file);
	return nr;
}

bool sonde_probe_program_files_exe(pid_t pid, char to[SONDE_PROBE_EXE_MAX])
{
	struct stat running;
	struct stat named;
	char path[64];
	ssize_t nr;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	nr = readlink(path, to, SONDE_PROBE_EXE_MAX - 1);
	if (nr <= 0)
		return false;
	to[nr] = '\0';
	if (stat(path, &running) || stat(to, &named) ||
	    running.st_dev != named.st_dev || running.st_ino != named.st_ino)
		memcpy(to, path, sizeof(path));
	return true;
}

static uint64_t auxv_value(const struct sonde_probe_program_files *image,
			   uint64_t type)
{
	Elf64_auxv_t entries[SONDE_PROBE_AUXV_MAX / sizeof(Elf64_auxv_t)];
	size_t nr = sonde_probe_program_files_auxv(image->pid, entries,
						   sizeof(entries)) /
		    sizeof(entries[0]);

	for (size_t i = 0; i < nr; i++)
		if (entries[i].a_type == type)
			return entries[i].a_un.a_val;
	return 0;
}

static bool peek_all(const struct sonde_probe_program_files *image,
		     uint64_t address, void *to, size_t size)
{
	return peek(image, address, to, size) == size;
}

/* Where PT_DYNAMIC is; 0. */
static uint64_t find_dynamic(const struct sonde_probe_program_files *image)
{
	uint64_t address = auxv_value(image, AT_PHDR);
	uint64_t nr = auxv_value(image, AT_PHNUM);
	uint64_t bias = 0;
	uint64_t dynamic = 0;
	Elf64_Phdr header;

	if (nr > HEADERS_MAX || auxv_value(image, AT_PHENT) != sizeof(header))
		return 0;
	for (uint64_t i = 0; i < nr; i++) {
		if (!peek_all(image, address + i * sizeof(header), &header,
			      sizeof(header)))
			return 0;
		if (header.p_type == PT_PHDR)
			bias = address - header.p_vaddr;
		if (header.p_type == PT_DYNAMIC)
			dynamic = header.p_vaddr;
	}
	return dynamic ? dynamic + bias : 0;
}

/* The first struct link_map's address; 0: not dynamic, or not yet. */
static uint64_t find_link_map(const struct sonde_probe_program_files *image)
{
	uint64_t address = find_dynamic(image);
	struct r_debug debug;
	Elf64_Dyn entry;

	for (int i = 0; address && i < DYNAMIC_MAX; i++) {
		if (!peek_all(image, address + (uint64_t)i * sizeof(entry),
			      &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			return 0;
		if (entry.d_tag != DT_DEBUG)
			continue;
		if (!entry.d_un.d_ptr ||
		    !peek_all(image, entry.d_un.d_ptr, &debug, sizeof(debug)))
			return 0;
		return (uintptr_t)debug.r_map;
	}
	return 0;
}

static void image_put_name(FILE *text, const char *name)
{
	for (; *name; name++) {
		if (strchr("&<>\"'", *name) || (unsigned char)*name < ' ')
			(void)fprintf(text, "&#%u;",
				      (unsigned char)*name < ' ' ?
					      '?' :
					      (unsigned char)*name);
		else
			(void)fputc(*name, text);
	}
}

static void put_library(const struct sonde_probe_program_files *image,
			FILE *text, uint64_t address,
			const struct link_map *map)
{
	char name[NAME_MAX_BYTES + 1];
	size_t nr = peek(image, (uintptr_t)map->l_name, name, NAME_MAX_BYTES);

	name[nr] = '\0';
	/* The program itself and the kernel's own have no name. */
	if (!name[0])
		return;
	(void)fputs("<library name=\"", text);
	image_put_name(text, name);
	(void)fprintf(text,
		      "\" lmid=\"0x0\" lm=\"0x%" PRIx64 "\" l_addr=\"0x%" PRIx64
		      "\" l_ld=\"0x%" PRIx64 "\"/>",
		      address, (uint64_t)map->l_addr,
		      (uint64_t)(uintptr_t)map->l_ld);
}

static void put_libraries(const struct sonde_probe_program_files *image,
			  FILE *text)
{
	uint64_t address = find_link_map(image);
	struct link_map map;

	(void)fputs("<library-list-svr4 version=\"1.0\"", text);
	if (address)
		(void)fprintf(text, " main-lm=\"0x%" PRIx64 "\"", address);
	(void)fputs(">", text);
	for (int i = 0; address && i < LIBRARIES_MAX; i++) {
		if (!peek_all(image, address, &map, sizeof(map)))
			break;
		if (i > 0)
			put_library(image, text, address, &map);
		address = (uintptr_t)map.l_next;
	}
	(void)fputs("</library-list-svr4>", text);
}

char *sonde_probe_program_files_libraries(
	const struct sonde_probe_program_files *image)
{
	char *bytes = NULL;
	size_t size;
	FILE *text = open_memstream(&bytes, &size);

	if (!text)
		return NULL;
	put_libraries(image, text);
	if (fclose(text)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* ---- beside a trace ---- */

static int image_save(int dir, const char *name, const void *bytes, size_t nr)
{
	int fd = sonde_directory_file_below(dir, name, O_WRONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool failed;

	if (!file)
		return fd < 0 ? fd : -ENOMEM;
	failed = fwrite(bytes, 1, nr, file) != nr;
	failed = fclose(file) || failed;
	return failed ? -EIO : 0;
}

static int save_into(pid_t pid, int dir)
{
	struct sonde_probe_program_files image = { .pid = pid };
	uint8_t auxv[SONDE_PROBE_AUXV_MAX];
	size_t nr = sonde_probe_program_files_auxv(pid, auxv, sizeof(auxv));
	char name[SONDE_PROBE_EXE_MAX];
	char *libraries;
	int rc;

	image.memory = sonde_proc_memory(pid, O_RDONLY);
	if (image.memory < 0)
		return image.memory;
	libraries = sonde_probe_program_files_libraries(&image);
	(void)close(image.memory);
	if (!libraries)
		return -ENOMEM;
	rc = nr && sonde_probe_program_files_exe(pid, name) ? 0 : -ESRCH;
	if (!rc)
		rc = image_save(dir, "auxv", auxv, nr);
	if (!rc)
		rc = image_save(dir, "exe", name, strlen(name));
	if (!rc)
		rc = image_save(dir, "libraries", libraries, strlen(libraries));
	free(libraries);
	return rc;
}

int sonde_probe_program_files_save(pid_t pid, int dir)
{
	int below = sonde_directory_make_below(dir, "gdb", true);
	int rc;

	if (below < 0)
		return below;
	rc = save_into(pid, below);
	(void)close(below); /* nothing was written by it */
	return rc;
}

int sonde_probe_program_files_load(const char *directory, const char *name,
				   struct sonde_probe_kept *ret_kept)
{
	struct sonde_probe_kept kept = { 0 };
	FILE *file;
	char *path;
	int rc = 0;

	if (asprintf(&path, "%s/gdb/%s", directory, name) < 0)
		return -ENOMEM;
	file = fopen(path, "re");
	free(path);
	if (!file)
		return -errno;
	kept.bytes = malloc(SONDE_PROBE_KEPT_MAX + 1);
	if (kept.bytes) {
		kept.nr = fread(kept.bytes, 1, SONDE_PROBE_KEPT_MAX, file);
		kept.bytes[kept.nr] = '\0';
		*ret_kept = kept;
	} else {
		rc = -ENOMEM;
	}
	(void)fclose(file);
	return rc;
}
