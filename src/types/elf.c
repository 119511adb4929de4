/* SPDX-License-Identifier: MIT */
/*
 * elf.c - the sections of an ELF file in which event descriptions may lie.
 *
 * Each offset and size is checked against the file's size before what it points
 * to is named, and a name ends in the table of names. Only the running
 * program's class and byte order. A search is linear in the sections.
 */
#include "types/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

_Static_assert(sizeof(Elf64_Ehdr) == SONDE_ELF_HEAD_BYTES, "ELF");
_Static_assert(sizeof(Elf64_Shdr) == SONDE_ELF_SECTION_BYTES, "ELF");

static bool in_file(uint64_t file_size, uint64_t offset, uint64_t size)
{
	return offset <= file_size && size <= file_size - offset;
}

static int check_ident(const uint8_t *bytes, uint64_t file_size)
{
	const uint8_t mine = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
				     ELFDATA2LSB :
				     ELFDATA2MSB;

	if (file_size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (file_size < sizeof(Elf64_Ehdr))
		return -EINVAL;
	if (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != mine)
		return -ENOTSUP;
	return 0;
}

int sonde_elf_check_head(const void *bytes, uint64_t file_size,
			 struct sonde_elf_head *ret_head)
{
	int rc = check_ident(bytes, file_size);
	Elf64_Ehdr head;

	if (rc)
		return rc;
	memcpy(&head, bytes, sizeof(head));
	if (head.e_shnum != 0 &&
	    (head.e_shentsize != sizeof(Elf64_Shdr) ||
	     !in_file(file_size, head.e_shoff,
		      (uint64_t)head.e_shnum * sizeof(Elf64_Shdr)) ||
	     head.e_shstrndx >= head.e_shnum))
		return -EINVAL;
	*ret_head = (struct sonde_elf_head){
		.sections_off = head.e_shoff,
		.nr_sections = head.e_shnum,
		.names_index = head.e_shstrndx,
	};
	return 0;
}

static const char *name_at(const struct sonde_elf_table *table, uint32_t offset)
{
	if (!table->names || offset >= table->names_size ||
	    !memchr(table->names + offset, '\0', table->names_size - offset))
		return "";
	return table->names + offset;
}

struct sonde_elf_section sonde_elf_section(const struct sonde_elf_table *table,
					   uint32_t i)
{
	const uint64_t unwanted = SHF_WRITE | SHF_EXECINSTR;
	Elf64_Shdr section;

	memcpy(&section, table->sections + (size_t)i * sizeof(section),
	       sizeof(section));
	return (struct sonde_elf_section){
		.name = name_at(table, section.sh_name),
		.offset = section.sh_offset,
		.size = section.sh_size,
		.address = section.sh_addr,
		.is_code = section.sh_flags & SHF_EXECINSTR,
		.in_file = section.sh_type != SHT_NOBITS &&
			   in_file(table->file_size, section.sh_offset,
				   section.sh_size),
		.is_constant = section.sh_type == SHT_PROGBITS &&
			       section.sh_addr % 8 == 0 &&
			       (section.sh_flags & SHF_ALLOC) &&
			       !(section.sh_flags & unwanted),
	};
}
