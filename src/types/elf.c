/* SPDX-License-Identifier: MIT */
/*
 * elf.c - the sections of an ELF file in which event descriptions may lie.
 *
 * Each offset and size is checked against the file's size before what it points
 * to is named, and a name ends in the table of names. Heads and
 * entries of both classes become one struct. A search is linear in the sections.
 */
#include "types/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

_Static_assert(sizeof(Elf64_Ehdr) == SONDE_ELF_HEAD_BYTES, "ELF");
_Static_assert(sizeof(Elf64_Shdr) == SONDE_ELF_SECTION_BYTES, "ELF");
_Static_assert(sizeof(Elf32_Ehdr) <= SONDE_ELF_HEAD_BYTES, "ELF");
_Static_assert(sizeof(Elf32_Shdr) <= SONDE_ELF_SECTION_BYTES, "ELF");

static bool in_file(uint64_t file_size, uint64_t offset, uint64_t size)
{
	return offset <= file_size && size <= file_size - offset;
}

static int check_ident(const uint8_t *bytes, uint64_t file_size)
{
	const uint8_t mine = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
				     ELFDATA2LSB :
				     ELFDATA2MSB;
	uint8_t class;

	if (file_size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (file_size < EI_NIDENT)
		return -EINVAL;
	class = bytes[EI_CLASS];
	if ((class != ELFCLASS64 && class != ELFCLASS32) ||
	    bytes[EI_DATA] != mine)
		return -ENOTSUP;
	if (file_size <
	    (class == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return -EINVAL;
	return 0;
}

static int elf_read_wide(const uint8_t *bytes, struct sonde_elf_head *ret_head)
{
	Elf64_Ehdr head;

	memcpy(&head, bytes, sizeof(head));
	*ret_head = (struct sonde_elf_head){
		.sections_off = head.e_shoff,
		.nr_sections = head.e_shnum,
		.names_index = head.e_shstrndx,
		.entry_bytes = sizeof(Elf64_Shdr),
	};
	return head.e_shnum && head.e_shentsize != sizeof(Elf64_Shdr) ?
		       -EINVAL :
		       0;
}

static int elf_read_narrow(const uint8_t *bytes,
			   struct sonde_elf_head *ret_head)
{
	Elf32_Ehdr head;

	memcpy(&head, bytes, sizeof(head));
	*ret_head = (struct sonde_elf_head){
		.sections_off = head.e_shoff,
		.nr_sections = head.e_shnum,
		.names_index = head.e_shstrndx,
		.entry_bytes = sizeof(Elf32_Shdr),
		.is_narrow = true,
	};
	return head.e_shnum && head.e_shentsize != sizeof(Elf32_Shdr) ?
		       -EINVAL :
		       0;
}

int sonde_elf_check_head(const void *bytes, uint64_t file_size,
			 struct sonde_elf_head *ret_head)
{
	int rc = check_ident(bytes, file_size);
	struct sonde_elf_head head;

	if (rc)
		return rc;
	rc = ((const uint8_t *)bytes)[EI_CLASS] == ELFCLASS32 ?
		     elf_read_narrow(bytes, &head) :
		     elf_read_wide(bytes, &head);
	if (rc)
		return rc;
	if (head.nr_sections != 0 &&
	    (!in_file(file_size, head.sections_off,
		      (uint64_t)head.nr_sections * head.entry_bytes) ||
	     head.names_index >= head.nr_sections))
		return -EINVAL;
	*ret_head = head;
	return 0;
}

static const char *name_at(const struct sonde_elf_table *table, uint32_t offset)
{
	if (!table->names || offset >= table->names_size ||
	    !memchr(table->names + offset, '\0', table->names_size - offset))
		return "";
	return table->names + offset;
}

/* Entry i, of whichever class. */
static Elf64_Shdr elf_entry(const struct sonde_elf_table *table, uint32_t i)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (!table->is_narrow) {
		memcpy(&wide, table->sections + (size_t)i * sizeof(wide),
		       sizeof(wide));
		return wide;
	}
	memcpy(&narrow, table->sections + (size_t)i * sizeof(narrow),
	       sizeof(narrow));
	return (Elf64_Shdr){
		.sh_name = narrow.sh_name,
		.sh_type = narrow.sh_type,
		.sh_flags = narrow.sh_flags,
		.sh_addr = narrow.sh_addr,
		.sh_offset = narrow.sh_offset,
		.sh_size = narrow.sh_size,
	};
}

struct sonde_elf_section sonde_elf_section(const struct sonde_elf_table *table,
					   uint32_t i)
{
	const uint64_t unwanted = SHF_WRITE | SHF_EXECINSTR;
	Elf64_Shdr section = elf_entry(table, i);

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
