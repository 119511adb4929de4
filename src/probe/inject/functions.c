/* SPDX-License-Identifier: MIT */
/*
 * functions.c - functions by the unwinder's table.
 *
 * .eh_frame_hdr: version, three encodings, the address of .eh_frame, a count,
 * and that many pairs { where a function begins, where its FDE is }, sorted.
 * All linkers write the pairs as 32-bit offsets from the header; no other form
 * is understood.
 *
 * An FDE: length, distance back to its CIE, begin and length of the function,
 * what the CIE's augmentation says follows (a pointer to the handlers' table).
 */
#include "probe/inject/functions.h"
#include "base/search.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENC_ABSPTR  0x00
#define ENC_UDATA4  0x03
#define ENC_SDATA4  0x0b
#define ENC_UDATA8  0x04
#define ENC_SDATA8  0x0c
#define ENC_PCREL   0x10
#define ENC_FORM    0x0f
#define ENC_OMIT    0xff
#define TABLE_ENC   0x3b /* 32 bits, relative to the header */
#define PCREL4      (ENC_PCREL | ENC_SDATA4)

#define PHDRS_MAX   64
#define TABLE_MAX   (4u << 20) /* pairs */
#define ENTRY_BYTES 64         /* of a CIE or an FDE that are looked at */

struct pair {
	int32_t begin, fde;
};

struct sonde_functions {
	uint64_t header; /* what pairs are relative to */
	size_t nr;
	struct pair pairs[];
};

/* A piece of a CIE or an FDE; reads behind its end give zeros. */
struct piece {
	uint8_t bytes[ENTRY_BYTES];
	size_t at;
};

struct cie {
	uint8_t pointers; /* encoding of the function's address */
	uint8_t handlers; /* of that of the handlers' table */
	bool augmented;
};

static int functions_read_at(const struct sonde_functions_memory *memory,
			     uint64_t address, void *to, size_t size)
{
	return memory->read(memory->ctx, address, to, size);
}

static uint8_t next_byte(struct piece *p)
{
	return p->at < sizeof(p->bytes) ? p->bytes[p->at++] : 0;
}

static uint64_t next_uleb(struct piece *p)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 63; shift += 7) {
		uint8_t byte = next_byte(p);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static uint32_t next_u32(struct piece *p)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < sizeof(value); i++)
		value |= (uint32_t)next_byte(p) << 8 * i;
	return value;
}

static void skip_pointer(struct piece *p, uint8_t encoding)
{
	switch (encoding & ENC_FORM) {
	case ENC_UDATA4:
	case ENC_SDATA4:
		p->at += 4;
		break;
	case ENC_ABSPTR:
	case ENC_UDATA8:
	case ENC_SDATA8:
		p->at += 8;
		break;
	default: /* none that occurs */
		p->at = sizeof(p->bytes);
		break;
	}
}

static void read_augmentation(struct piece *p, const char *letters,
			      struct cie *cie)
{
	cie->augmented = letters[0] == 'z';
	if (!cie->augmented)
		return;
	next_uleb(p); /* its length */
	for (const char *c = letters + 1; *c; c++) {
		if (*c == 'R')
			cie->pointers = next_byte(p);
		else if (*c == 'L')
			cie->handlers = next_byte(p);
		else if (*c == 'P')
			skip_pointer(p, next_byte(p));
	}
}

static int read_cie(const struct sonde_functions_memory *memory,
		    uint64_t address, struct cie *ret)
{
	struct piece p = { .at = 2 * sizeof(uint32_t) };
	struct cie cie = { .pointers = ENC_ABSPTR, .handlers = ENC_OMIT };
	char letters[8] = "";
	int rc = functions_read_at(memory, address, p.bytes, sizeof(p.bytes));

	if (rc)
		return rc;
	uint8_t version = next_byte(&p);
	for (size_t i = 0; i < sizeof(letters); i++) {
		letters[i] = (char)next_byte(&p);
		if (!letters[i])
			break;
	}
	if (letters[sizeof(letters) - 1])
		return -EINVAL;
	next_uleb(&p); /* code, and */
	next_uleb(&p); /* data alignment */
	if (version == 1)
		next_byte(&p);
	else
		next_uleb(&p);
	read_augmentation(&p, letters, &cie);
	*ret = cie;
	return 0;
}

static int read_fde(const struct sonde_functions_memory *memory,
		    uint64_t address, struct sonde_function *ret)
{
	struct piece p = { .at = sizeof(uint32_t) };
	struct cie cie;
	int rc = functions_read_at(memory, address, p.bytes, sizeof(p.bytes));

	if (rc)
		return rc;
	uint64_t back = next_u32(&p);
	rc = read_cie(memory, address + sizeof(uint32_t) - back, &cie);
	if (rc)
		return rc;
	if (cie.pointers != PCREL4)
		return -EINVAL;
	ret->start = address + p.at;
	ret->start += (uint64_t)(int64_t)(int32_t)next_u32(&p);
	ret->end = ret->start + next_u32(&p);
	ret->has_handlers = false;
	if (cie.augmented && next_uleb(&p) && cie.handlers != ENC_OMIT)
		ret->has_handlers = next_u32(&p) != 0;
	return 0;
}

/* ---- the table ---- */

static int read_pairs(const struct sonde_functions_memory *memory,
		      uint64_t header, struct sonde_functions **ret)
{
	uint8_t head[12]; /* with the count */
	uint32_t nr;
	int rc = functions_read_at(memory, header, head, sizeof(head));

	if (rc)
		return rc;
	memcpy(&nr, head + 8, sizeof(nr));
	if (head[0] != 1 || head[1] != PCREL4 || head[2] != ENC_UDATA4 ||
	    head[3] != TABLE_ENC || nr > TABLE_MAX)
		return -ENOENT;
	struct sonde_functions *f =
		malloc(sizeof(*f) + nr * sizeof(struct pair));
	if (!f)
		return -ENOMEM;
	f->header = header;
	f->nr = nr;
	rc = functions_read_at(memory, header + sizeof(head), f->pairs,
			       nr * sizeof(struct pair));
	if (rc) {
		free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

/* The unwinder's table, by the program headers. */
static int find_header(const Elf64_Ehdr *elf, const Elf64_Phdr *phdrs,
		       uint64_t image, uint64_t *ret)
{
	uint64_t table = 0;
	uint64_t first = UINT64_MAX; /* where the header was linked to be */

	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		if (phdrs[i].p_type == PT_GNU_EH_FRAME)
			table = phdrs[i].p_vaddr;
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset == 0)
			first = phdrs[i].p_vaddr;
	}
	if (!table || first == UINT64_MAX)
		return -ENOENT;
	*ret = image + (table - first);
	return 0;
}

int sonde_functions_new(const struct sonde_functions_memory *memory,
			uint64_t image, struct sonde_functions **ret)
{
	Elf64_Ehdr elf;
	Elf64_Phdr phdrs[PHDRS_MAX];
	uint64_t header;
	int rc = functions_read_at(memory, image, &elf, sizeof(elf));

	if (rc)
		return rc;
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != EM_X86_64 ||
	    elf.e_phnum > PHDRS_MAX || elf.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	rc = functions_read_at(memory, image + elf.e_phoff, phdrs,
			       elf.e_phnum * sizeof(phdrs[0]));
	if (!rc)
		rc = find_header(&elf, phdrs, image, &header);
	return rc ? rc : read_pairs(memory, header, ret);
}

void sonde_functions_free(struct sonde_functions *functions)
{
	free(functions);
}

size_t sonde_functions_nr(const struct sonde_functions *functions)
{
	return functions->nr;
}

static uint64_t begin_of(const struct sonde_functions *f, size_t i)
{
	return f->header + (uint64_t)(int64_t)f->pairs[i].begin;
}

bool sonde_functions_get(const struct sonde_functions *functions,
			 const struct sonde_functions_memory *memory, size_t i,
			 struct sonde_function *ret)
{
	struct sonde_function found;
	uint64_t fde =
		functions->header + (uint64_t)(int64_t)functions->pairs[i].fde;

	if (read_fde(memory, fde, &found) ||
	    found.start != begin_of(functions, i) || found.end <= found.start)
		return false;
	*ret = found;
	return true;
}

bool sonde_functions_find(const struct sonde_functions *functions,
			  const struct sonde_functions_memory *memory,
			  uint64_t address, struct sonde_function *ret)
{
	size_t behind;

	SONDE_SEARCH(behind, functions->nr,
		     begin_of(functions, behind) <= address);
	return behind &&
	       sonde_functions_get(functions, memory, behind - 1, ret) &&
	       address < ret->end;
}
