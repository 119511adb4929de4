/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * symbol.c - where in an ELF file a function's code is (symbol.h).
 *
 * Each table and name is checked to be inside the file before it is read.
 * Linear in the symbols; nothing is allocated.
 */
#include "source/tracefs/symbol.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "types/elf.h"

struct file {
	const uint8_t *bytes;
	size_t size;
	struct sonde_elf_table table;
};

static bool symbol_is_inside(const struct file *file, uint64_t offset,
			     uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

/* 0, also if it has no sections; then nothing will be found. */
static int symbol_open_table(struct file *file)
{
	struct sonde_elf_head head;
	int rc = sonde_elf_check_head(file->bytes, file->size, &head);

	if (!rc && head.is_narrow) /* its symbols are others */
		rc = -ENOTSUP;
	if (rc || !head.nr_sections)
		return rc;
	file->table = (struct sonde_elf_table){
		.sections = file->bytes + head.sections_off,
		.nr = head.nr_sections,
		.file_size = file->size,
	};
	if (head.names_index < head.nr_sections) {
		struct sonde_elf_section names =
			sonde_elf_section(&file->table, head.names_index);

		if (names.in_file) {
			file->table.names =
				(const char *)file->bytes + names.offset;
			file->table.names_size = names.size;
		}
	}
	return 0;
}

static bool symbol_find_section(const struct file *file, const char *name,
				struct sonde_elf_section *ret_section)
{
	for (uint32_t i = 0; i < file->table.nr; i++) {
		*ret_section = sonde_elf_section(&file->table, i);
		if (ret_section->in_file && !strcmp(ret_section->name, name))
			return true;
	}
	return false;
}

static bool is_function(const ElfW(Sym) * symbol)
{
	uint8_t type = symbol->st_info & 15;

	return symbol->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC ||
		type == STT_NOTYPE);
}

/* The text at `offset` of a table of strings is exactly `name`. */
static bool is_name(const struct file *file,
		    const struct sonde_elf_section *strings, uint64_t offset,
		    const char *name)
{
	size_t size = strlen(name) + 1;

	return offset <= strings->size && size <= strings->size - offset &&
	       !memcmp(file->bytes + strings->offset + offset, name, size);
}

static bool symbol_find_symbol(const struct file *file, const char *table,
			       const char *names, const char *name,
			       uint64_t *ret_address)
{
	struct sonde_elf_section symbols;
	struct sonde_elf_section strings;

	if (!symbol_find_section(file, table, &symbols) ||
	    !symbol_find_section(file, names, &strings))
		return false;
	for (uint64_t at = 0; symbols.size - at >= sizeof(ElfW(Sym));
	     at += sizeof(ElfW(Sym))) {
		ElfW(Sym) symbol;

		memcpy(&symbol, file->bytes + symbols.offset + at,
		       sizeof(symbol));
		if (is_function(&symbol) &&
		    is_name(file, &strings, symbol.st_name, name)) {
			*ret_address = symbol.st_value;
			return true;
		}
	}
	return false;
}

/* The place of an address that is loaded, and executable. */
static int place_of(const struct file *file, uint64_t address,
		    uint64_t *ret_offset)
{
	ElfW(Ehdr) head;

	if (file->size < sizeof(head))
		return -ENOEXEC;
	memcpy(&head, file->bytes, sizeof(head));
	if (head.e_phentsize != sizeof(ElfW(Phdr)) ||
	    !symbol_is_inside(file, head.e_phoff,
			      (uint64_t)head.e_phnum * sizeof(ElfW(Phdr))))
		return -EINVAL;
	for (uint32_t i = 0; i < head.e_phnum; i++) {
		ElfW(Phdr) load;

		memcpy(&load, file->bytes + head.e_phoff + i * sizeof(load),
		       sizeof(load));
		if (load.p_type == PT_LOAD && load.p_flags & PF_X &&
		    address >= load.p_vaddr &&
		    address - load.p_vaddr < load.p_filesz &&
		    symbol_is_inside(file, load.p_offset, load.p_filesz)) {
			*ret_offset = address - load.p_vaddr + load.p_offset;
			return 0;
		}
	}
	return -ENOENT;
}

int sonde_symbol_offset(const void *bytes, size_t size, const char *symbol,
			uint64_t *ret_offset)
{
	struct file file = { .bytes = bytes, .size = size };
	uint64_t address;
	int rc = symbol_open_table(&file);

	if (rc)
		return rc;
	if (!symbol_find_symbol(&file, ".symtab", ".strtab", symbol,
				&address) &&
	    !symbol_find_symbol(&file, ".dynsym", ".dynstr", symbol, &address))
		return -ENOENT;
	return place_of(&file, address, ret_offset);
}
