/* SPDX-License-Identifier: MIT */
/*
 * c_type.h - types of C, as expressions need them: of DWARF, of the kernel's
 * BTF, or of what is computed. A pointer is its pointee's type with one star more.
 */
#ifndef PROBE_C_TYPE_H
#define PROBE_C_TYPE_H

#include "probe/debuginfo_parts.h"

enum sonde_probe_ctype_kind {
	SONDE_PROBE_CTYPE_VOID,
	SONDE_PROBE_CTYPE_NUMBER,   /* also enumerations, and truth */
	SONDE_PROBE_CTYPE_FLOATING, /* can't be computed with */
	SONDE_PROBE_CTYPE_STRUCT,   /* or a union */
	SONDE_PROBE_CTYPE_ARRAY,
	SONDE_PROBE_CTYPE_OTHER,
};

struct sonde_probe_ctype {
	enum sonde_probe_ctype_kind kind;
	unsigned int stars;
	uint8_t bytes; /* of a number */
	bool is_signed, is_bool;
	bool is_reference; /* of a variable: where it is stands in it */
	Dwarf_Die die;     /* STRUCT, ARRAY */
	/* Instead of it, if it isn't NULL: a type of the kernel (btf_type.h). */
	const struct sonde_btf *btf;
	uint32_t id;
	unsigned int dimension; /* of an array: the first that is left */
};

struct sonde_probe_ctype sonde_probe_ctype_number(uint8_t bytes,
						  bool is_signed);
/* Of a variable, or a member; false: it is not understood. */
bool sonde_probe_ctype_of(Dwarf_Die *die, struct sonde_probe_ctype *ret_type);
/* "unsigned int", "struct item *", "size_t"; false: there is no such. */
bool sonde_probe_ctype_named(struct sonde_probe_dwarf *dwarf, const char *text,
			     struct sonde_probe_ctype *ret_type);
/* Whether a type's name begins with the word. */
bool sonde_probe_ctype_begins(struct sonde_probe_dwarf *dwarf, const char *word,
			      size_t length);
/* What a pointer points to, or an array has; false: it is neither. */
bool sonde_probe_ctype_inner(const struct sonde_probe_ctype *type,
			     struct sonde_probe_ctype *ret_inner);
/* 0: unknown. */
uint64_t sonde_probe_ctype_bytes(const struct sonde_probe_ctype *type);
bool sonde_probe_ctype_is_number(const struct sonde_probe_ctype *type);
/* What both become in arithmetic. */
struct sonde_probe_ctype
sonde_probe_ctype_common(const struct sonde_probe_ctype *a,
			 const struct sonde_probe_ctype *b);

#endif /* PROBE_C_TYPE_H */
