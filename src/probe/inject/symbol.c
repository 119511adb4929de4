/* SPDX-License-Identifier: MIT */
/*
 * symbol.c - looking up a dynamic symbol by the GNU hash table:
 *
 *	u32 nr_buckets, first, nr_words, shift; u64 filter[nr_words];
 *	u32 buckets[nr_buckets]; u32 chain[]: hash of symbol `first` and on,
 *	the lowest bit set at the end of a bucket's
 *
 * Everything is read from the process; what makes no sense is -ENOEXEC.
 */
#include "probe/inject/symbol.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define SEGMENTS_MAX 64
#define ENTRIES_MAX  256
#define CHAIN_MAX    1024
#define NAME_MAX_    64
#define PAGE_BYTES   4096u

/* Of a symbol's version: another is the default. */
#define VERSION_HIDDEN  0x8000
#define RELOCATIONS_MAX (1u << 20) /* bytes */

/* The loader may or may not have added the base already. */
static uint64_t address_of(const struct sonde_process_symbols *tables,
			   uint64_t value)
{
	return value < tables->base ? value + tables->base : value;
}

static void note_entry(const Elf64_Dyn *entry,
		       struct sonde_process_symbols *tables)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		tables->symbols = address_of(tables, entry->d_un.d_ptr);
		break;
	case DT_STRTAB:
		tables->names = address_of(tables, entry->d_un.d_ptr);
		break;
	case DT_GNU_HASH:
		tables->hash = address_of(tables, entry->d_un.d_ptr);
		break;
	case DT_VERSYM:
		tables->versions = address_of(tables, entry->d_un.d_ptr);
		break;
	case DT_JMPREL:
		tables->relocations = address_of(tables, entry->d_un.d_ptr);
		break;
	case DT_PLTRELSZ:
		tables->relocations_bytes = entry->d_un.d_val;
		break;
	default:
		break;
	}
}

/* Up to DT_NULL, or a page's end: what is behind that may not be mapped. How
 * many there were; 0: that was the last piece. */
static int read_dynamic_piece(const struct sonde_process *process,
			      uint64_t address,
			      struct sonde_process_symbols *tables)
{
	const size_t room = PAGE_BYTES - address % PAGE_BYTES;
	Elf64_Dyn entries[PAGE_BYTES / sizeof(Elf64_Dyn)];
	size_t nr = room / sizeof(entries[0]);

	if (nr == 0)
		nr = 1; /* one that is on two pages */
	if (sonde_process_read(process, address, entries,
			       nr * sizeof(entries[0])) != 0)
		return -EIO;
	for (size_t i = 0; i < nr; i++) {
		if (entries[i].d_tag == DT_NULL)
			return 0;
		note_entry(&entries[i], tables);
	}
	return (int)nr;
}

static int read_dynamic(const struct sonde_process *process, uint64_t address,
			struct sonde_process_symbols *tables)
{
	unsigned int nr = 0;
	int rc;

	do {
		rc = read_dynamic_piece(
			process, address + nr * sizeof(Elf64_Dyn), tables);
		if (rc > 0)
			nr += (unsigned int)rc;
	} while (rc > 0 && nr < ENTRIES_MAX);
	if (rc < 0)
		return rc;
	return tables->symbols && tables->names && tables->hash ? 0 : -ENOENT;
}

int sonde_process_symbols_read(const struct sonde_process *process,
			       uint64_t image,
			       struct sonde_process_symbols *ret)
{
	struct sonde_process_symbols tables = { .base = image };
	Elf64_Phdr segments[SEGMENTS_MAX];
	uint64_t dynamic = 0;
	Elf64_Ehdr head;

	if (sonde_process_read(process, image, &head, sizeof(head)) != 0)
		return -EIO;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phnum > SEGMENTS_MAX)
		return -ENOEXEC;
	if (sonde_process_read(process, image + head.e_phoff, segments,
			       head.e_phnum * sizeof(*segments)) != 0)
		return -EIO;
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
			tables.base = image - segments[i].p_vaddr;
		if (segments[i].p_type == PT_DYNAMIC)
			dynamic = segments[i].p_vaddr;
	}
	if (dynamic == 0)
		return -ENOENT;
	*ret = tables;
	return read_dynamic(process, tables.base + dynamic, ret);
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool has_name(const struct sonde_process *process, uint64_t address,
		     const char *name)
{
	const size_t length = strlen(name) + 1;
	char its[NAME_MAX_];

	return length <= sizeof(its) &&
	       sonde_process_read(process, address, its, length) == 0 &&
	       memcmp(its, name, length) == 0;
}

static int read_u32(const struct sonde_process *process, uint64_t address,
		    uint32_t *ret)
{
	return sonde_process_read(process, address, ret, sizeof(*ret));
}

/* One that programs which are linked today don't get. */
static bool symbol_is_hidden(const struct sonde_process *process,
			     const struct sonde_process_symbols *tables,
			     uint32_t at)
{
	uint16_t version;

	return tables->versions &&
	       sonde_process_read(process,
				  tables->versions + at * sizeof(version),
				  &version, sizeof(version)) == 0 &&
	       version & VERSION_HIDDEN;
}

int sonde_process_symbols_find(const struct sonde_process *process,
			       const struct sonde_process_symbols *tables,
			       const char *name, uint64_t *ret_address)
{
	const uint32_t wanted = hash_of(name);
	uint32_t head[4]; /* nr_buckets, first, nr_words, shift */
	uint64_t buckets;
	uint32_t at;

	if (sonde_process_read(process, tables->hash, head, sizeof(head)) != 0)
		return -EIO;
	if (head[0] == 0)
		return -ENOEXEC;
	buckets = tables->hash + sizeof(head) + head[2] * sizeof(uint64_t);
	if (read_u32(process, buckets + 4ull * (wanted % head[0]), &at) != 0)
		return -EIO;
	for (unsigned int i = 0; i < CHAIN_MAX && at >= head[1]; i++, at++) {
		const uint64_t chain = buckets + 4ull * head[0];
		Elf64_Sym symbol;
		uint32_t its;

		if (read_u32(process, chain + 4ull * (at - head[1]), &its) !=
			    0 ||
		    sonde_process_read(process,
				       tables->symbols +
					       (uint64_t)at * sizeof(symbol),
				       &symbol, sizeof(symbol)) != 0)
			return -EIO;
		if ((its | 1) == (wanted | 1) && symbol.st_value != 0 &&
		    has_name(process, tables->names + symbol.st_name, name) &&
		    !symbol_is_hidden(process, tables, at)) {
			*ret_address = tables->base + symbol.st_value;
			return 0;
		}
		if (its & 1)
			break;
	}
	return -ENOENT;
}

bool sonde_process_slot_is(const struct sonde_process *process,
			   const struct sonde_process_symbols *tables,
			   uint64_t slot, const char *name)
{
	uint64_t wanted;

	if (sonde_process_symbols_find(process, tables, name, &wanted) != 0)
		return false;
	for (uint64_t at = 0;
	     at + sizeof(Elf64_Rela) <= tables->relocations_bytes &&
	     at < RELOCATIONS_MAX;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela rela;

		if (sonde_process_read(process, tables->relocations + at, &rela,
				       sizeof(rela)) != 0)
			return false;
		if (tables->base + rela.r_offset == slot)
			return ELF64_R_TYPE(rela.r_info) ==
				       R_X86_64_IRELATIVE &&
			       tables->base + (uint64_t)rela.r_addend == wanted;
	}
	return false;
}

int sonde_process_symbol(const struct sonde_process *process, uint64_t image,
			 const char *name, uint64_t *ret_address)
{
	struct sonde_process_symbols tables;
	int rc = sonde_process_symbols_read(process, image, &tables);

	return rc == 0 ? sonde_process_symbols_find(process, &tables, name,
						    ret_address) :
			 rc;
}
