/* SPDX-License-Identifier: MIT */
/*
 * elf.h - where in an ELF file event descriptions may lie.
 *
 * Bytes in, answers out: the caller reads the file, in one piece or in the few
 * that matter, and this tells what is in them. Nothing in a file is believed:
 *
 *  1. a section's bytes are only said to be in the file if they are, by the
 *     file's size as the caller knows it;
 *  2. a name ends in the table of names, or it is empty.
 *
 * C leaves its descriptions in section sonde_desc; C++, which can't place the
 * variables of templates, among other constants.
 *
 * Files of 64 bits and of 32 (`is_narrow`), of the running program's byte order. Pure
 * functions, any thread.
 */
#ifndef TYPES_ELF_H
#define TYPES_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_ELF_DESC_SECTION "sonde_desc"

/* Bytes at the start of a file, and of a section's entry in the table, at most. */
#define SONDE_ELF_HEAD_BYTES    64u
#define SONDE_ELF_SECTION_BYTES 64u

struct sonde_elf_head {
	uint64_t sections_off; /* the table's place in the file */
	uint32_t nr_sections;  /* 0: it has no table */
	uint32_t names_index;  /* the section with the sections' names */
	uint32_t entry_bytes;  /* of the table */
	bool is_narrow;        /* of 32 bits: addresses have 4 bytes */
};

/* The table of sections, and what else it takes to understand it. */
struct sonde_elf_table {
	const uint8_t *sections; /* borrowed; nr entries */
	uint32_t nr;
	bool is_narrow;    /* as its head says */
	const char *names; /* borrowed; may be NULL */
	uint64_t names_size;
	uint64_t file_size;
};

struct sonde_elf_section {
	const char *name; /* borrowed from the table of names */
	uint64_t offset;
	uint64_t size;
	uint64_t address;
	bool is_code;
	bool in_file; /* it has bytes, and they are in the file */
	/* Loaded and never written to, aligned as descriptions are: they may be
	 * in here. */
	bool is_constant;
};

/*
 * Check the head. `bytes` are the file's first SONDE_ELF_HEAD_BYTES, or all of
 * it if it is shorter.
 *
 * 0, -ENOEXEC if it isn't ELF, -ENOTSUP if it is of another byte order than this
 * program or of no class that is known, -EINVAL if it contradicts itself. On success the
 * table of sections is in the file, and so is names_index in the table.
 */
int sonde_elf_check_head(const void *bytes, uint64_t file_size,
			 struct sonde_elf_head *ret_head);

/* Entry i < nr of the table. */
struct sonde_elf_section sonde_elf_section(const struct sonde_elf_table *table,
					   uint32_t i);

#endif /* TYPES_ELF_H */
