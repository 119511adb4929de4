/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file.c - the section of a file that unwinding rules are made of (file.h).
 */
#include "source/unwind/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "types/elf.h"

#define SECTIONS_MAX  4096u
#define NAMES_MAX     (1u << 20)
#define SECTION_BYTES (64u << 20)

struct file {
	int fd;
	struct sonde_elf_table table;
	uint8_t *sections;
	char *names;
};

/* For free(); NULL: it can't be had. */
static void *read_part(int fd, uint64_t offset, uint64_t size, uint64_t most)
{
	void *bytes = size && size <= most ? malloc(size) : NULL;

	if (bytes && pread(fd, bytes, size, (off_t)offset) == (ssize_t)size)
		return bytes;
	free(bytes);
	return NULL;
}

static bool unwind_read_table(struct file *file, uint64_t size)
{
	uint8_t bytes[SONDE_ELF_HEAD_BYTES] = { 0 };
	struct sonde_elf_head head = { 0 };
	struct sonde_elf_section names;

	if (pread(file->fd, bytes, sizeof(bytes), 0) != sizeof(bytes) ||
	    sonde_elf_check_head(bytes, size, &head) || head.is_narrow)
		return false;
	file->sections =
		read_part(file->fd, head.sections_off,
			  (uint64_t)head.nr_sections * head.entry_bytes,
			  SECTIONS_MAX * SONDE_ELF_SECTION_BYTES);
	if (!file->sections)
		return false;
	file->table = (struct sonde_elf_table){ .sections = file->sections,
						.nr = head.nr_sections,
						.file_size = size };
	names = sonde_elf_section(&file->table, head.names_index);
	if (names.in_file)
		file->names = read_part(file->fd, names.offset, names.size,
					NAMES_MAX);
	file->table.names = file->names;
	file->table.names_size = names.size;
	return file->names;
}

/* The section with the rules, and which addresses the mapping is about. */
static bool find_sections(const struct file *file,
			  const struct sonde_statedump_mapping *mapping,
			  struct sonde_elf_section *ret_frames,
			  uint64_t *ret_begin)
{
	uint64_t end = mapping->offset + (mapping->end - mapping->begin);
	bool has_frames = false;
	bool has_code = false;

	for (uint32_t i = 0; i < file->table.nr; i++) {
		struct sonde_elf_section section =
			sonde_elf_section(&file->table, i);

		if (!section.in_file || !section.size)
			continue;
		if (!strcmp(section.name, ".eh_frame")) {
			*ret_frames = section;
			has_frames = true;
		} else if (section.is_code && !has_code &&
			   section.offset >= mapping->offset &&
			   section.offset < end) {
			*ret_begin = section.address - section.offset +
				     mapping->offset;
			has_code = true;
		}
	}
	return has_frames && has_code;
}

uint8_t *
sonde_source_unwind_read(int fd, uint64_t size, uint64_t most,
			 const struct sonde_statedump_mapping *mapping,
			 struct sonde_source_unwind_section *ret_section)
{
	struct sonde_source_unwind_section section = { 0 };
	struct sonde_elf_section frames = { 0 };
	struct file file = { .fd = fd };
	uint8_t *bytes = NULL;

	if (unwind_read_table(&file, size) &&
	    find_sections(&file, mapping, &frames, &section.code_begin))
		bytes = read_part(fd, frames.offset, frames.size,
				  most < SECTION_BYTES ? most : SECTION_BYTES);
	free(file.sections);
	free(file.names);
	section.bytes = bytes;
	section.size = frames.size;
	section.address = frames.address;
	section.code_end = section.code_begin + (mapping->end - mapping->begin);
	*ret_section = section;
	return bytes;
}
