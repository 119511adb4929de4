/* SPDX-License-Identifier: MIT */
/*
 * c_type.c - types of C by name, their members and sizes (c_type.h).
 *
 * Words of numbers ("unsigned long") need no debugging information. A struct, a
 * union, an enum or a typedef is looked for in the units of the process's files,
 * or among the kernel's types: one pass each. Only what is laid out in bytes has
 * a size; an incomplete type has none.
 */
#include "probe/c_type.h"

#include <ctype.h>
#include <dwarf.h>
#include <string.h>

#include "base/port.h"
#include "base/text.h"
#include "probe/btf_type.h"

enum {
	STARS_MAX = 32,
	INT_BYTES = 4
};

struct sonde_probe_ctype sonde_probe_ctype_number(uint8_t bytes, bool is_signed)
{
	return (struct sonde_probe_ctype){ .kind = SONDE_PROBE_CTYPE_NUMBER,
					   .bytes = bytes,
					   .is_signed = is_signed };
}

/* An enumeration has a sign if one of its values has. */
static bool has_negative(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value;
	Dwarf_Die child;
	int rc = dwarf_child(type, &child);

	while (rc == 0) {
		if (dwarf_attr(&child, DW_AT_const_value, &attr) &&
		    dwarf_formsdata(&attr, &value) == 0 && value < 0)
			return true;
		rc = dwarf_siblingof(&child, &child);
	}
	return false;
}

/* A type that is no pointer. */
static struct sonde_probe_ctype plain(Dwarf_Die *die)
{
	struct sonde_probe_ctype type = { .kind = SONDE_PROBE_CTYPE_OTHER,
					  .die = *die };
	int tag = dwarf_tag(die);
	int bytes = dwarf_bytesize(die);
	char letter;

	if (tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	    tag == DW_TAG_class_type)
		type.kind = SONDE_PROBE_CTYPE_STRUCT;
	if (tag == DW_TAG_array_type)
		type.kind = SONDE_PROBE_CTYPE_ARRAY;
	letter = sonde_probe_dwarf_letter(die);
	if (letter == 'f')
		type.kind = SONDE_PROBE_CTYPE_FLOATING;
	if (!letter || letter == 'x' || letter == 'f' ||
	    (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return type;
	type.kind = SONDE_PROBE_CTYPE_NUMBER;
	type.bytes = (uint8_t)bytes;
	type.is_bool = letter == 'b';
	type.is_signed = letter == 's' || (letter == 'e' && has_negative(die));
	return type;
}

bool sonde_probe_ctype_of(Dwarf_Die *die, struct sonde_probe_ctype *ret_type)
{
	Dwarf_Die at = *die;
	unsigned int stars = 0;
	bool is_reference = false;

	*ret_type =
		(struct sonde_probe_ctype){ .kind = SONDE_PROBE_CTYPE_VOID };
	while (stars < STARS_MAX && sonde_probe_dwarf_type_of(&at, &at)) {
		int tag = dwarf_tag(&at);

		if (tag == DW_TAG_reference_type ||
		    tag == DW_TAG_rvalue_reference_type) {
			is_reference = true;
		} else if (tag == DW_TAG_pointer_type) {
			stars++;
		} else {
			*ret_type = plain(&at);
			break;
		}
	}
	ret_type->stars = stars;
	ret_type->is_reference = is_reference;
	return stars < STARS_MAX;
}

/* ---- by name ---- */

/* The words of C's own numbers. */
static const char *const number_words[] = { "char",  "short",  "int",
					    "long",  "signed", "unsigned",
					    "_Bool", "bool",   "float",
					    "double" };
enum {
	CHAR,
	SHORT,
	INT,
	LONG,
	SIGNED,
	UNSIGNED,
	BOOL,
	BOOL_2,
	FLOAT,
	DOUBLE
};
static const char *const tag_words[] = { "struct", "union", "enum", "class" };
static const int tags[] = { DW_TAG_structure_type, DW_TAG_union_type,
			    DW_TAG_enumeration_type, DW_TAG_class_type };
/* The same of BTF, which has no classes. */
static const uint32_t btf_kinds[] = { BTF_KIND_STRUCT, BTF_KIND_UNION,
				      BTF_KIND_ENUM, BTF_KIND_STRUCT };

static bool c_type_is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && strncmp(text, word, length) == 0;
}

static int c_type_find_word(const char *const *words, size_t nr,
			    const char *text, size_t length)
{
	for (size_t i = 0; i < nr; i++)
		if (c_type_is_word(text, length, words[i]))
			return (int)i;
	return -1;
}

struct finding_type {
	const char *name;
	size_t length;
	int tag; /* 0: a typedef, or of no tag (C++) */
	uint32_t kind;
	Dwarf_Die die;
};

static bool c_type_find_type(Dwarf_Die *die, bool is_local, void *ctx)
{
	struct finding_type *finding = ctx;
	int tag = dwarf_tag(die);
	const char *name;

	(void)is_local;
	if (finding->tag ? tag != finding->tag :
			   tag != DW_TAG_typedef && tag != DW_TAG_base_type &&
				   tag != DW_TAG_class_type &&
				   tag != DW_TAG_structure_type)
		return false;
	name = dwarf_diename(die);
	if (!name || dwarf_hasattr(die, DW_AT_declaration) ||
	    !c_type_is_word(finding->name, finding->length, name))
		return false;
	finding->die = *die;
	return true;
}

static bool find_named(struct sonde_probe_dwarf *dwarf,
		       struct finding_type *finding)
{
	struct sonde_probe_ctype type;

	if (dwarf->btf)
		return sonde_probe_btf_named(dwarf->btf, finding->kind,
					     finding->name, finding->length,
					     &type);
	return sonde_probe_dwarf_visible(dwarf, c_type_find_type, finding) ||
	       sonde_probe_dwarf_everywhere(dwarf, c_type_find_type, finding);
}

static struct sonde_probe_ctype number_of_words(const unsigned int *words)
{
	struct sonde_probe_ctype type =
		sonde_probe_ctype_number(INT_BYTES, !words[UNSIGNED]);

	if (words[FLOAT] || words[DOUBLE]) {
		type.kind = SONDE_PROBE_CTYPE_FLOATING;
		type.bytes = words[FLOAT] ? 4 : 8;
	} else if (words[BOOL] || words[BOOL_2]) {
		type = sonde_probe_ctype_number(1, false);
		type.is_bool = true;
	} else if (words[CHAR]) {
		type.bytes = 1;
	} else if (words[SHORT]) {
		type.bytes = 2;
	} else if (words[LONG]) {
		type.bytes = 8;
	}
	return type;
}

static size_t word_length(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return n;
}

/* typedef, struct NAME: its own type, through what it is a name of. */
static bool take_named(struct sonde_probe_dwarf *dwarf,
		       struct finding_type *finding,
		       struct sonde_probe_ctype *ret_type)
{
	if (dwarf->btf)
		return sonde_probe_btf_named(dwarf->btf, finding->kind,
					     finding->name, finding->length,
					     ret_type);
	if (!find_named(dwarf, finding))
		return false;
	if (dwarf_tag(&finding->die) == DW_TAG_typedef)
		return sonde_probe_ctype_of(&finding->die, ret_type);
	*ret_type = plain(&finding->die);
	return true;
}

/* One word; `words` counts those of numbers. */
static bool c_type_take_word(struct sonde_probe_dwarf *dwarf, const char **at,
			     size_t length, unsigned int *words,
			     struct sonde_probe_ctype *type)
{
	struct finding_type finding = { *at, length, 0, 0, { 0 } };
	int i = c_type_find_word(number_words, SONDE_ARRAY_SIZE(number_words),
				 *at, length);

	if (i >= 0) {
		words[i]++;
		*type = number_of_words(words);
		return true;
	}
	if (c_type_is_word(*at, length, "const") ||
	    c_type_is_word(*at, length, "volatile"))
		return true;
	if (c_type_is_word(*at, length, "void")) {
		type->kind = SONDE_PROBE_CTYPE_VOID;
		return true;
	}
	i = c_type_find_word(tag_words, SONDE_ARRAY_SIZE(tag_words), *at,
			     length);
	if (i >= 0) {
		finding.tag = tags[i];
		finding.kind = btf_kinds[i];
		finding.name = sonde_text_skip_blanks(*at + length);
		finding.length = word_length(finding.name);
		*at = finding.name + finding.length - length;
	}
	return take_named(dwarf, &finding, type);
}

bool sonde_probe_ctype_named(struct sonde_probe_dwarf *dwarf, const char *text,
			     struct sonde_probe_ctype *ret_type)
{
	unsigned int words[SONDE_ARRAY_SIZE(number_words)] = { 0 };
	unsigned int stars = 0;

	*ret_type =
		(struct sonde_probe_ctype){ .kind = SONDE_PROBE_CTYPE_VOID };
	for (const char *at = sonde_text_skip_blanks(text); *at;
	     at = sonde_text_skip_blanks(at)) {
		size_t length = word_length(at);

		if (*at == '*' && stars < STARS_MAX) {
			stars++;
			at++;
			continue;
		}
		if (!length || stars ||
		    !c_type_take_word(dwarf, &at, length, words, ret_type))
			return false;
		at += length;
	}
	ret_type->stars += stars;
	return ret_type->stars < STARS_MAX;
}

bool sonde_probe_ctype_begins(struct sonde_probe_dwarf *dwarf, const char *word,
			      size_t length)
{
	struct finding_type finding = { word, length, 0, 0, { 0 } };

	return c_type_find_word(number_words, SONDE_ARRAY_SIZE(number_words),
				word, length) >= 0 ||
	       c_type_find_word(tag_words, SONDE_ARRAY_SIZE(tag_words), word,
				length) >= 0 ||
	       c_type_is_word(word, length, "const") ||
	       c_type_is_word(word, length, "volatile") ||
	       c_type_is_word(word, length, "void") ||
	       find_named(dwarf, &finding);
}

/* ---- what they are of ---- */

bool sonde_probe_ctype_inner(const struct sonde_probe_ctype *type,
			     struct sonde_probe_ctype *ret_inner)
{
	Dwarf_Die die = type->die;
	uint64_t nr;

	if (type->stars > 0) {
		*ret_inner = *type;
		ret_inner->stars--;
		return true;
	}
	if (type->kind != SONDE_PROBE_CTYPE_ARRAY)
		return false;
	if (type->btf)
		return sonde_probe_btf_element(type, ret_inner, &nr);
	if (sonde_probe_dwarf_extent(&die, type->dimension + 1) > 0) {
		*ret_inner = *type;
		ret_inner->dimension++;
		return true;
	}
	return sonde_probe_ctype_of(&die, ret_inner);
}

/* Of what is no array. */
static uint64_t btf_plain_bytes(const struct sonde_probe_ctype *type)
{
	if (type->stars)
		return sizeof(uint64_t);
	if (type->bytes)
		return type->bytes;
	return type->btf ? sonde_probe_btf_size(type) : 0;
}

/* Arrays of arrays, down to what is none; what goes on for ever has no size. */
static uint64_t btf_bytes(const struct sonde_probe_ctype *type)
{
	struct sonde_probe_ctype at = *type;
	uint64_t all = 1;
	uint64_t nr = 0;

	for (unsigned int depth = 0; depth < STARS_MAX; depth++) {
		if (at.stars > 0 || at.kind != SONDE_PROBE_CTYPE_ARRAY) {
			nr = btf_plain_bytes(&at);
			return __builtin_mul_overflow(all, nr, &all) ? 0 : all;
		}
		if (!sonde_probe_btf_element(&at, &at, &nr) ||
		    __builtin_mul_overflow(all, nr, &all))
			return 0;
	}
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): an array's, bounded by its dimensions */
uint64_t sonde_probe_ctype_bytes(const struct sonde_probe_ctype *type)
{
	struct sonde_probe_ctype inner;
	Dwarf_Die die = type->die;
	uint64_t bytes;
	int size;

	if (type->stars > 0)
		return sizeof(uint64_t);
	if (type->kind == SONDE_PROBE_CTYPE_NUMBER || type->bytes)
		return type->bytes;
	if (type->btf)
		return btf_bytes(type);
	if (type->kind == SONDE_PROBE_CTYPE_ARRAY) {
		if (!sonde_probe_ctype_inner(type, &inner))
			return 0;
		bytes = sonde_probe_ctype_bytes(&inner);
		return __builtin_mul_overflow(
			       bytes,
			       sonde_probe_dwarf_extent(&die, type->dimension),
			       &bytes) ?
			       0 :
			       bytes;
	}
	if (type->kind == SONDE_PROBE_CTYPE_VOID)
		return 0;
	size = dwarf_bytesize(&die);
	return size > 0 ? (uint64_t)size : 0;
}

bool sonde_probe_ctype_is_number(const struct sonde_probe_ctype *type)
{
	return type->stars == 0 && type->kind == SONDE_PROBE_CTYPE_NUMBER;
}

struct sonde_probe_ctype
sonde_probe_ctype_common(const struct sonde_probe_ctype *a,
			 const struct sonde_probe_ctype *b)
{
	uint8_t bytes = a->bytes > b->bytes ? a->bytes : b->bytes;

	if (bytes < INT_BYTES)
		return sonde_probe_ctype_number(INT_BYTES, true);
	return sonde_probe_ctype_number(
		bytes, (a->is_signed || a->bytes < bytes) &&
			       (b->is_signed || b->bytes < bytes));
}
