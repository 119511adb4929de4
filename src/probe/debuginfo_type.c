/* SPDX-License-Identifier: MIT */
/* debuginfo_type.c - types, and the types of expressions. See debuginfo.h. */
#include <ctype.h>
#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "probe/debuginfo_parts.h"

enum {
	/* Typedefs and qualifiers of one type. */
	CHAIN_MAX = 32,
	/* Structures without a name in one another. */
	NESTING_MAX = 8,
	MEMBERS_MAX = 10000,
	/* Stars, members, brackets of an expression. */
	STEPS_MAX = 32,
	ELEMENTS_MAX = 65535,
	BITS = 8,
};

bool sonde_probe_dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Die type = *die;

	for (int i = 0; i < CHAIN_MAX; i++) {
		Dwarf_Attribute attr;

		if (!dwarf_attr_integrate(&type, DW_AT_type, &attr) ||
		    !dwarf_formref_die(&attr, &type))
			return false;
		switch (dwarf_tag(&type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			*ret_type = type;
			return true;
		}
	}
	return false;
}

/* How many that is a subrange has; 0: unknown. */
static uint64_t count_of(Dwarf_Die *subrange)
{
	Dwarf_Attribute attr;
	Dwarf_Word nr;

	if (dwarf_attr(subrange, DW_AT_count, &attr))
		return dwarf_formudata(&attr, &nr) ? 0 : nr;
	if (!dwarf_attr(subrange, DW_AT_upper_bound, &attr) ||
	    dwarf_formudata(&attr, &nr) || nr >= ELEMENTS_MAX)
		return 0;
	return nr + 1;
}

uint64_t sonde_probe_dwarf_extent(Dwarf_Die *array, unsigned int k)
{
	Dwarf_Die child;
	int rc = dwarf_child(array, &child);

	for (int i = 0; rc == 0 && i < MEMBERS_MAX; i++) {
		if (dwarf_tag(&child) == DW_TAG_subrange_type && k-- == 0)
			return count_of(&child);
		rc = dwarf_siblingof(&child, &child);
	}
	return 0;
}

static bool has_dimension(Dwarf_Die *array, unsigned int k)
{
	Dwarf_Die child;
	int rc = dwarf_child(array, &child);

	for (int i = 0; rc == 0 && i < MEMBERS_MAX; i++) {
		if (dwarf_tag(&child) == DW_TAG_subrange_type && k-- == 0)
			return true;
		rc = dwarf_siblingof(&child, &child);
	}
	return false;
}

/* Of an array of one dimension; 0: another, or unknown. */
static uint64_t elements(Dwarf_Die *array)
{
	uint64_t nr = sonde_probe_dwarf_extent(array, 0);

	return !has_dimension(array, 1) && nr <= ELEMENTS_MAX ? nr : 0;
}

static bool is_pointer(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return true;
	default:
		return false;
	}
}

uint64_t sonde_probe_dwarf_bytes(Dwarf_Die *type)
{
	Dwarf_Die element = *type;
	uint64_t nr = 1;
	int size;

	if (dwarf_tag(type) == DW_TAG_array_type) {
		nr = elements(type);
		if (!sonde_probe_dwarf_type_of(type, &element) ||
		    dwarf_tag(&element) == DW_TAG_array_type)
			return 0;
	}
	size = dwarf_bytesize(&element);
	if (size < 0 && is_pointer(&element))
		return nr * sizeof(uint64_t);
	return size > 0 ? nr * (uint64_t)size : 0;
}

/* ---- in words ---- */

char sonde_probe_dwarf_letter(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	if (is_pointer(type))
		return 'x';
	if (dwarf_tag(type) == DW_TAG_enumeration_type)
		return 'e';
	if (dwarf_tag(type) != DW_TAG_base_type ||
	    !dwarf_attr(type, DW_AT_encoding, &attr) ||
	    dwarf_formudata(&attr, &encoding))
		return 0;
	switch (encoding) {
	case DW_ATE_boolean:
		return 'b';
	case DW_ATE_float:
		return 'f';
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return 's';
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		return 'u';
	default:
		return 0;
	}
}

static bool is_char(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	return dwarf_tag(type) == DW_TAG_base_type &&
	       dwarf_attr(type, DW_AT_encoding, &attr) &&
	       dwarf_formudata(&attr, &encoding) == 0 &&
	       (encoding == DW_ATE_signed_char ||
		encoding == DW_ATE_unsigned_char) &&
	       strcmp(dwarf_diename(type) ? dwarf_diename(type) : "", "char") ==
		       0;
}

bool sonde_probe_dwarf_is_text(Dwarf_Die *type)
{
	Dwarf_Die to = *type;
	bool is_const = false;

	if (dwarf_tag(type) != DW_TAG_pointer_type)
		return false;
	for (int i = 0; i < CHAIN_MAX && !is_char(&to); i++) {
		Dwarf_Attribute attr;

		if (!dwarf_attr_integrate(&to, DW_AT_type, &attr) ||
		    !dwarf_formref_die(&attr, &to) || is_pointer(&to))
			return false;
		is_const |= dwarf_tag(&to) == DW_TAG_const_type;
	}
	return is_const && is_char(&to);
}

static bool is_identifier(const char *name)
{
	size_t n = 0;

	while (isalnum((unsigned char)name[n]) || name[n] == '_')
		n++;
	return n > 0 && n < 64 && name[n] == '\0';
}

/* "READY=1,DONE=2", as many as there is room for; whether one is negative. */
static bool debuginfo_type_say_labels(Dwarf_Die *type, char *to, size_t size)
{
	bool negative = false;
	size_t length = 0;
	unsigned int nr = 0;
	Dwarf_Die child;
	int rc = dwarf_child(type, &child);

	to[0] = '\0';
	for (int i = 0; rc == 0 && i < MEMBERS_MAX; i++) {
		const char *name = dwarf_diename(&child);
		Dwarf_Attribute attr;
		Dwarf_Sword value;

		if (name && is_identifier(name) &&
		    dwarf_attr(&child, DW_AT_const_value, &attr) &&
		    dwarf_formsdata(&attr, &value) == 0) {
			negative |= value < 0;
			if (nr++ < SONDE_PROBE_TYPE_LABELS_MAX &&
			    length + strlen(name) + 32 < size)
				length += (size_t)snprintf(
					to + length, size - length,
					"%s%s=%" PRId64, length ? "," : "",
					name, (int64_t)value);
		}
		rc = dwarf_siblingof(&child, &child);
	}
	return negative;
}

static bool debuginfo_say_one(Dwarf_Die *type,
			      char text[SONDE_PROBE_TYPE_TEXT_MAX + 1])
{
	char labels[SONDE_PROBE_TYPE_TEXT_MAX / 2];
	uint64_t bits = sonde_probe_dwarf_bytes(type) * BITS;
	char letter = sonde_probe_dwarf_letter(type);
	bool negative;

	if (!letter || (bits != 8 && bits != 16 && bits != 32 && bits != 64) ||
	    (letter == 'f' && bits < 32))
		return false;
	if (letter != 'e') {
		(void)snprintf(text, SONDE_PROBE_TYPE_TEXT_MAX, "%c%" PRIu64,
			       letter, bits);
		return true;
	}
	negative = debuginfo_type_say_labels(type, labels, sizeof(labels));
	(void)snprintf(text, SONDE_PROBE_TYPE_TEXT_MAX, "e%c%" PRIu64 "{%s}",
		       negative ? 's' : 'u', bits, labels);
	return true;
}

bool sonde_probe_dwarf_say(Dwarf_Die *type, uint64_t nr,
			   char text[SONDE_PROBE_TYPE_TEXT_MAX + 1])
{
	Dwarf_Die element = *type;
	size_t length;

	text[0] = '\0';
	if (dwarf_tag(type) == DW_TAG_array_type) {
		if (nr != 1)
			return false;
		nr = elements(type);
		if (nr == 0 || !sonde_probe_dwarf_type_of(type, &element))
			return false;
	}
	if (nr > 1 && is_char(&element)) {
		(void)snprintf(text, SONDE_PROBE_TYPE_TEXT_MAX, "t%" PRIu64,
			       nr);
		return true;
	}
	if (!debuginfo_say_one(&element, text))
		return false;
	length = strlen(text);
	if (nr > 1)
		(void)snprintf(text + length,
			       SONDE_PROBE_TYPE_TEXT_MAX - length, "*%" PRIu64,
			       nr);
	return true;
}

/* ---- expressions ---- */

static size_t debuginfo_type_word_length(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return isdigit((unsigned char)at[0]) ? 0 : n;
}

/* In bytes from what it is a member of; those of unions have none. */
static uint64_t debuginfo_type_offset_of(Dwarf_Die *member)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset;

	return dwarf_attr(member, DW_AT_data_member_location, &attr) &&
			       dwarf_formudata(&attr, &offset) == 0 ?
		       offset :
		       0;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by NESTING_MAX */
static bool debuginfo_type_find_member(Dwarf_Die *type, const char *name,
				       size_t length, int depth,
				       Dwarf_Die *ret_member, uint64_t *offset)
{
	Dwarf_Die child;
	int rc = dwarf_child(type, &child);

	for (int i = 0; rc == 0 && i < MEMBERS_MAX; i++) {
		const char *its = dwarf_diename(&child);
		Dwarf_Die inner;

		if (dwarf_tag(&child) != DW_TAG_member) {
			its = NULL;
		} else if (!its && depth < NESTING_MAX) {
			if (sonde_probe_dwarf_type_of(&child, &inner) &&
			    debuginfo_type_find_member(&inner, name, length,
						       depth + 1, ret_member,
						       offset)) {
				*offset += debuginfo_type_offset_of(&child);
				return true;
			}
		} else if (its && strlen(its) == length &&
			   strncmp(its, name, length) == 0) {
			*ret_member = child;
			*offset = debuginfo_type_offset_of(&child);
			return true;
		}
		rc = dwarf_siblingof(&child, &child);
	}
	return false;
}

bool sonde_probe_dwarf_member(Dwarf_Die *type, const char *name, size_t length,
			      Dwarf_Die *ret_member, uint64_t *ret_offset)
{
	return debuginfo_type_find_member(type, name, length, 0, ret_member,
					  ret_offset);
}

/* What a pointer points to, or an array has. */
static bool go_through(Dwarf_Die *type)
{
	if (dwarf_tag(type) == DW_TAG_array_type && !elements(type))
		return false;
	return (is_pointer(type) || dwarf_tag(type) == DW_TAG_array_type) &&
	       sonde_probe_dwarf_type_of(type, type);
}

static bool go_to_member(Dwarf_Die *type, const char **at)
{
	size_t length = debuginfo_type_word_length(*at);
	uint64_t offset;
	Dwarf_Die member;

	if (!length ||
	    !sonde_probe_dwarf_member(type, *at, length, &member, &offset) ||
	    dwarf_hasattr(&member, DW_AT_bit_size) ||
	    !sonde_probe_dwarf_type_of(&member, type))
		return false;
	*at += length;
	return true;
}

/* "->b", ".b", "[1]"; *ret_more: there was one. */
static bool go_on(Dwarf_Die *type, const char **at, bool *ret_more)
{
	const char *close;

	*at = sonde_text_skip_blanks(*at);
	*ret_more = true;
	switch (**at) {
	case '-':
		if ((*at)[1] != '>' || !go_through(type))
			return false;
		*at = sonde_text_skip_blanks(*at + 2);
		return go_to_member(type, at);
	case '.':
		*at = sonde_text_skip_blanks(*at + 1);
		return go_to_member(type, at);
	case '[':
		close = strpbrk(*at + 1, "[]");
		if (!close || *close != ']' || !go_through(type))
			return false;
		*at = close + 1;
		return true;
	default:
		*ret_more = false;
		return true;
	}
}

/* "@4" */
static bool take_times(const char **at, uint64_t *ret_nr)
{
	const char *times = *at + 1;

	*ret_nr = 1;
	if (**at != '@')
		return true;
	times = sonde_text_skip_blanks(times);
	if (!sonde_number_take(&times, 10, ELEMENTS_MAX, ret_nr) || !*ret_nr)
		return false;
	*at = sonde_text_skip_blanks(times);
	return true;
}

bool sonde_probe_dwarf_type(struct sonde_probe_dwarf *dwarf, const char *text,
			    char type[SONDE_PROBE_TYPE_TEXT_MAX + 1])
{
	const char *at = sonde_text_skip_blanks(text);
	unsigned int stars = 0;
	bool more = true;
	uint64_t nr;
	Dwarf_Die die;
	size_t length;

	for (; *at == '*' && stars < STEPS_MAX; stars++)
		at = sonde_text_skip_blanks(at + 1);
	length = debuginfo_type_word_length(at);
	if (!length || !sonde_probe_dwarf_find(dwarf, at, length, &die) ||
	    !sonde_probe_dwarf_type_of(&die, &die))
		return false;
	at += length;
	for (int i = 0; more && i < STEPS_MAX; i++)
		if (!go_on(&die, &at, &more))
			return false;
	for (; stars > 0; stars--)
		if (!go_through(&die))
			return false;
	return take_times(&at, &nr) && *at == '\0' &&
	       sonde_probe_dwarf_say(&die, nr, type);
}
