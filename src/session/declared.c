/* SPDX-License-Identifier: MIT */
/*
 * declared.c - how many selected events a process's files declare (declared.h).
 *
 * Files are the process's and may be anything: only regular ones are opened,
 * each offset is checked, and all reading is bounded by process and by file.
 * Counting ends with what compact headers can't tell apart any more.
 */
#include "session/declared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sonde/abi.h>

#include "base/text.h"
#include "base/time.h"
#include "ring/asked.h"
#include "sys/proc.h"
#include "sys/regular.h"
#include "types/desc.h"
#include "types/elf.h"
#include "types/select.h"

#define FILES_MAX     256u
#define MAPS_BYTES    (256u << 10)
#define SECTIONS_MAX  512u
#define NAMES_BYTES   (16u << 10)
#define SYMBOLS_BYTES (4ull << 20)  /* searched in one file */
#define SCAN_BYTES    (16ull << 20) /* searched in one process */
#define CHUNK_BYTES   (128u << 10)
#define PROCESS_NS    20000000ull /* then no other file is opened */
#define MARKER_BYTES  (sizeof(marker) - 1)

_Static_assert(CHUNK_BYTES > 2 * SONDE_DESC_MAX, "a chunk has no news");

static const char marker[] = "sonde_register";

struct file {
	int fd;
	dev_t dev;
	ino_t ino;
	uint64_t size;
	struct sonde_elf_table table;
};

struct sonde_declared {
	const char *rules;
	size_t rules_size;
	uint32_t loglevel;
	const char *asked; /* of the file at hand; NULL: all of it happens */
	const char *words;
	uint32_t nr;
	uint32_t hashes[SONDE_DECLARED_ENOUGH]; /* of what was counted */
	uint64_t scan_left;
	char maps[MAPS_BYTES + 1];
	char names[NAMES_BYTES];
	uint8_t sections[SECTIONS_MAX * SONDE_ELF_SECTION_BYTES];
	/* Stands for an aligned address, as sections are. */
	uint8_t chunk[CHUNK_BYTES];
};

/* Reads all of the bytes: 0; or -errno. */
static int read_at(int fd, uint64_t offset, void *to, size_t size)
{
	ssize_t n = pread(fd, to, size, (off_t)offset);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EINVAL;
}

static bool is_done(const struct sonde_declared *declared)
{
	return declared->nr == SONDE_DECLARED_ENOUGH;
}

/* ---- descriptions ---- */

static void count(struct sonde_declared *declared,
		  const struct sonde_desc *desc)
{
	uint32_t hash = sonde_desc_hash(desc);

	if (is_done(declared) || sonde_desc_is_reference(desc) ||
	    (declared->asked &&
	     !sonde_asked(declared->asked, sonde_desc_provider(desc))) ||
	    !sonde_select(declared->rules, declared->rules_size,
			  declared->loglevel, sonde_desc_provider(desc),
			  sonde_desc_name(desc), sonde_desc_loglevel(desc)))
		return;
	for (uint32_t i = 0; i < declared->nr; i++)
		if (declared->hashes[i] == hash)
			return;
	declared->hashes[declared->nr++] = hash;
}

/* Counts what is in the chunk; returns how far it has been seen to its end. */
static size_t scan_chunk(struct sonde_declared *declared, size_t size)
{
	const struct sonde_desc *desc;
	size_t at = 0;
	size_t end = 0;

	while (!is_done(declared) &&
	       sonde_desc_scan(declared->chunk, size, &at, &desc, NULL)) {
		count(declared, desc);
		end = at;
	}
	return end;
}

/* A description may lie across the end of a chunk: then the next one starts
 * early enough to hold all of it. */
static int scan_section(struct sonde_declared *declared,
			const struct file *file,
			const struct sonde_elf_section *section)
{
	uint64_t at = 0;

	while (!is_done(declared) && at < section->size &&
	       declared->scan_left) {
		uint64_t left = section->size - at;
		size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
		size_t seen;
		int rc;

		if (n > declared->scan_left)
			n = (size_t)declared->scan_left;
		rc = read_at(file->fd, section->offset + at, declared->chunk,
			     n);
		if (rc)
			return rc;
		declared->scan_left -= n;
		seen = scan_chunk(declared, n);
		if (n < CHUNK_BYTES)
			break;
		at += seen > n - SONDE_DESC_MAX ? seen : n - SONDE_DESC_MAX;
	}
	return 0;
}

/* ---- files ---- */

static int read_table(struct sonde_declared *declared, struct file *file)
{
	uint8_t bytes[SONDE_ELF_HEAD_BYTES] = { 0 };
	struct sonde_elf_section names;
	struct sonde_elf_head head = { 0 };
	int rc = read_at(file->fd, 0, bytes,
			 file->size < sizeof(bytes) ? (size_t)file->size :
						      sizeof(bytes));

	if (!rc)
		rc = sonde_elf_check_head(bytes, file->size, &head);
	if (rc)
		return rc;
	if (head.nr_sections > SECTIONS_MAX)
		return -E2BIG;
	file->table = (struct sonde_elf_table){
		.sections = declared->sections,
		.nr = head.nr_sections,
		.is_narrow = head.is_narrow,
		.file_size = file->size,
	};
	if (!head.nr_sections)
		return 0;
	rc = read_at(file->fd, head.sections_off, declared->sections,
		     (size_t)head.nr_sections * head.entry_bytes);
	if (rc)
		return rc;
	names = sonde_elf_section(&file->table, head.names_index);
	if (!names.in_file || names.size > sizeof(declared->names))
		return -EINVAL;
	rc = read_at(file->fd, names.offset, declared->names,
		     (size_t)names.size);
	if (rc)
		return rc;
	file->table.names = declared->names;
	file->table.names_size = names.size;
	return 0;
}

static bool find_section(const struct file *file, const char *name,
			 struct sonde_elf_section *ret_section)
{
	for (uint32_t i = 0; i < file->table.nr; i++) {
		struct sonde_elf_section section =
			sonde_elf_section(&file->table, i);

		if (!section.in_file || strcmp(section.name, name) != 0)
			continue;
		*ret_section = section;
		return true;
	}
	return false;
}

/* Whether its dynamic symbols have our marker among their names. */
static bool is_linked_with_us(struct sonde_declared *declared,
			      const struct file *file)
{
	struct sonde_elf_section names;
	uint64_t at = 0;

	if (!find_section(file, ".dynstr", &names))
		return false;
	if (names.size > SYMBOLS_BYTES)
		names.size = SYMBOLS_BYTES;
	while (names.size - at >= MARKER_BYTES) {
		uint64_t left = names.size - at;
		size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;

		if (read_at(file->fd, names.offset + at, declared->chunk, n))
			return false;
		if (memmem(declared->chunk, n, marker, MARKER_BYTES))
			return true;
		/* It may lie across the end. */
		at += n - MARKER_BYTES + 1;
	}
	return false;
}

static bool may_be_cxx(struct sonde_declared *declared, const struct file *file,
		       bool is_static)
{
	struct sonde_elf_section notes;

	return find_section(file, ".note.stapsdt", &notes) &&
	       (is_static || is_linked_with_us(declared, file));
}

static int add_file(struct sonde_declared *declared, struct file *file,
		    bool is_static)
{
	int rc = read_table(declared, file);
	bool is_cxx;

	if (rc)
		return rc;
	is_cxx = may_be_cxx(declared, file, is_static);
	for (uint32_t i = 0; !rc && i < file->table.nr; i++) {
		struct sonde_elf_section section =
			sonde_elf_section(&file->table, i);

		if (section.in_file && section.is_constant &&
		    (is_cxx || !strcmp(section.name, SONDE_ELF_DESC_SECTION)))
			rc = scan_section(declared, file, &section);
	}
	return rc;
}

static int examine(int fd, struct file *ret_file)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_file = (struct file){
		.fd = fd,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
	};
	return 0;
}

int sonde_declared_add_file(struct sonde_declared *declared, int fd,
			    bool is_static)
{
	struct file file = { .fd = -1 };
	int rc = examine(fd, &file);

	return rc ? rc : add_file(declared, &file, is_static);
}

bool sonde_declared_has_tracepoints(struct sonde_declared *declared, int fd)
{
	struct file file = { .fd = -1 };
	struct sonde_elf_section section;

	return !examine(fd, &file) && !read_table(declared, &file) &&
	       (find_section(&file, SONDE_ELF_DESC_SECTION, &section) ||
		is_linked_with_us(declared, &file));
}

/* ---- processes ---- */

static int open_regular(const char *path, struct file *ret_file)
{
	struct stat st;
	int fd = sonde_regular_look(path, &st);
	int rc;

	if (fd >= 0)
		fd = sonde_regular_open(fd, O_RDONLY);
	if (fd < 0)
		return fd;
	rc = examine(fd, ret_file);
	if (rc)
		(void)close(fd); /* nothing was read */
	return rc;
}

/* Adds one of the files mapped beside the program. Best effort: what can't be
 * opened or read isn't counted. */
static void add_mapped(struct sonde_declared *declared, pid_t pid,
		       const char *path, const struct file *program)
{
	char full[PATH_MAX + 32];
	struct file file = { .fd = -1 };
	int n = snprintf(full, sizeof(full), "/proc/%d/root%s", (int)pid, path);

	if (n >= (int)sizeof(full) || open_regular(full, &file))
		return;
	if (!strcmp(sonde_text_base(path), SONDE_ASKED_LIBRARY))
		declared->asked = declared->words;
	if (file.dev != program->dev || file.ino != program->ino)
		(void)add_file(declared, &file, false);
	declared->asked = NULL;
	(void)close(file.fd); /* it was only read */
}

static void add_mappings(struct sonde_declared *declared, pid_t pid,
			 const struct file *program)
{
	uint64_t start_ns = sonde_monotonic_ns();
	const char *before = "";
	uint32_t nr_files = 0;
	char *save;

	for (char *line = strtok_r(declared->maps, "\n", &save);
	     line && nr_files < FILES_MAX && !is_done(declared);
	     line = strtok_r(NULL, "\n", &save)) {
		struct sonde_proc_mapping mapping;

		if (!sonde_proc_parse_mapping(line, &mapping) ||
		    !(mapping.mode & SONDE_MAPPED_EXEC) ||
		    *mapping.path != '/' || !strcmp(mapping.path, before))
			continue;
		if (sonde_monotonic_ns() - start_ns > PROCESS_NS)
			return;
		add_mapped(declared, pid, mapping.path, program);
		before = mapping.path;
		nr_files++;
	}
}

int sonde_declared_add_process(struct sonde_declared *declared, pid_t pid)
{
	char path[48];
	struct file program = { .fd = -1 };
	/* Cut where it is too long. */
	int rc = sonde_textfile_read(declared->maps, sizeof(declared->maps),
				     "/proc/%d/maps", pid);

	if (rc < 0)
		return rc;
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	rc = open_regular(path, &program);
	if (rc)
		return rc;
	(void)add_file(declared, &program,
		       !strstr(declared->maps, "/libsonde.so"));
	add_mappings(declared, pid, &program);
	(void)close(program.fd); /* it was only read */
	return 0;
}

/* ---- life ---- */

void sonde_declared_ask(struct sonde_declared *declared, const char *words)
{
	declared->words = words;
}

void sonde_declared_restart(struct sonde_declared *declared)
{
	declared->nr = 0;
	declared->scan_left = SCAN_BYTES;
}

struct sonde_declared *sonde_declared_new(const char *rules, size_t rules_size,
					  uint32_t loglevel)
{
	struct sonde_declared *declared = malloc(sizeof(*declared));

	if (!declared)
		return NULL;
	declared->rules = rules;
	declared->rules_size = rules_size;
	declared->loglevel = loglevel;
	declared->asked = declared->words = NULL;
	sonde_declared_restart(declared);
	return declared;
}

uint32_t sonde_declared_nr(const struct sonde_declared *declared)
{
	return declared->nr;
}

void sonde_declared_free(struct sonde_declared *declared)
{
	free(declared);
}
