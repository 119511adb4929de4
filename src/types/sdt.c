/* SPDX-License-Identifier: MIT */
/*
 * sdt.c - notes of <sys/sdt.h>, and the operands in them (sdt.h).
 *
 * Each function that takes something moves *at behind it, or leaves *at and
 * says false. Operands are those of x86-64; of another machine they are
 * UNKNOWN, with the type that stands before them.
 */
#include "types/sdt.h"

#include <string.h>

#include "base/number.h"

#define NOTE_TYPE 3u
#define NOTE_NAME "stapsdt"

/* ---- notes ---- */

struct note_head {
	uint32_t name_size, size, type;
};

/* To the next multiple of 4; no overflow: of numbers of 32 bits. */
static uint64_t padded(uint32_t size)
{
	return ((uint64_t)size + 3) & ~3ull;
}

/* A text of characters from `first` on that ends before `end`; NULL. */
static const char *sdt_take_text(const uint8_t **at, const uint8_t *end,
				 char first)
{
	const char *text = (const char *)*at;
	const uint8_t *zero = memchr(*at, '\0', (size_t)(end - *at));

	if (!zero)
		return NULL;
	for (const char *c = text; *c; c++)
		if (*c < first || *c > '~')
			return NULL;
	*at = zero + 1;
	return text;
}

static uint64_t sdt_take_address(const uint8_t **at, bool is_narrow)
{
	uint64_t wide;
	uint32_t narrow;

	if (is_narrow) {
		memcpy(&narrow, *at, sizeof(narrow));
		*at += sizeof(narrow);
		return narrow;
	}
	memcpy(&wide, *at, sizeof(wide));
	*at += sizeof(wide);
	return wide;
}

static bool take_site(const uint8_t *bytes, size_t size, bool is_narrow,
		      struct sonde_sdt_site *site)
{
	const uint8_t *at = bytes;
	const uint8_t *end = bytes + size;

	if (size < 3 * (is_narrow ? sizeof(uint32_t) : sizeof(uint64_t)))
		return false;
	site->address = sdt_take_address(&at, is_narrow);
	site->base = sdt_take_address(&at, is_narrow);
	site->semaphore = sdt_take_address(&at, is_narrow);
	site->provider = sdt_take_text(&at, end, '!');
	site->name = site->provider ? sdt_take_text(&at, end, '!') : NULL;
	site->arguments = site->name ? sdt_take_text(&at, end, ' ') : NULL;
	return site->arguments && *site->provider && *site->name;
}

bool sonde_sdt_scan(const struct sonde_sdt_notes *notes, size_t *offset,
		    struct sonde_sdt_site *ret_site, uint64_t *malformed)
{
	const uint8_t *bytes = notes->bytes;
	size_t size = notes->size;
	uint64_t ignored = 0;

	if (!malformed)
		malformed = &ignored;
	while (size - *offset >= sizeof(struct note_head)) {
		const uint8_t *name =
			bytes + *offset + sizeof(struct note_head);
		size_t left = size - *offset - sizeof(struct note_head);
		struct note_head head;
		uint64_t all;

		memcpy(&head, bytes + *offset, sizeof(head));
		all = padded(head.name_size) + head.size;
		if (all > left) {
			(*malformed)++;
			break;
		}
		left -= all;
		*offset = size - left;
		/* The last one's padding may be missing. */
		*offset += left < (-all & 3) ? left : (-all & 3);
		if (head.type != NOTE_TYPE ||
		    head.name_size != sizeof(NOTE_NAME) ||
		    memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) != 0)
			continue;
		if (take_site(name + padded(head.name_size), head.size,
			      notes->is_narrow, ret_site))
			return true;
		(*malformed)++;
	}
	*offset = size;
	return false;
}

void sonde_sdt_move(struct sonde_sdt_site *site,
		    const struct sonde_sdt_base *base)
{
	uint64_t moved = base->is_there ? base->address - site->base : 0;

	site->address += moved;
	if (site->semaphore)
		site->semaphore += moved;
}

/* ---- registers ---- */

/* The whole register, and its parts of 4, 2 and 1 bytes. */
static const char whole_registers[][4][5] = {
	{ "rax", "eax", "ax", "al" },      { "rbx", "ebx", "bx", "bl" },
	{ "rcx", "ecx", "cx", "cl" },      { "rdx", "edx", "dx", "dl" },
	{ "rsi", "esi", "si", "sil" },     { "rdi", "edi", "di", "dil" },
	{ "rbp", "ebp", "bp", "bpl" },     { "rsp", "esp", "sp", "spl" },
	{ "r8", "r8d", "r8w", "r8b" },     { "r9", "r9d", "r9w", "r9b" },
	{ "r10", "r10d", "r10w", "r10b" }, { "r11", "r11d", "r11w", "r11b" },
	{ "r12", "r12d", "r12w", "r12b" }, { "r13", "r13d", "r13w", "r13b" },
	{ "r14", "r14d", "r14w", "r14b" }, { "r15", "r15d", "r15w", "r15b" },
};

/* "ah": the second byte of rax. */
static bool find_high(const char *text, size_t length, char to[4])
{
	static const char names[] = "abcd";

	if (length != 2 || text[1] != 'h' || !strchr(names, text[0]))
		return false;
	memcpy(to, "r?x", 4);
	to[1] = text[0];
	return true;
}

/* Its bytes; 0: there is none of that name. */
static uint8_t sdt_find_register(const char *text, size_t length, char to[4])
{
	const size_t nr = sizeof(whole_registers) / sizeof(whole_registers[0]);

	for (size_t i = 0; i < nr; i++) {
		for (unsigned int part = 0; part < 4; part++) {
			const char *name = whole_registers[i][part];

			if (strlen(name) != length ||
			    memcmp(text, name, length) != 0)
				continue;
			memcpy(to, whole_registers[i][0], 4);
			return (uint8_t)(8 >> part);
		}
	}
	return 0;
}

static size_t length_of_word(const char *at)
{
	size_t n = 0;

	while ((at[n] >= 'a' && at[n] <= 'z') ||
	       (at[n] >= 'A' && at[n] <= 'Z') ||
	       (at[n] >= '0' && at[n] <= '9') || at[n] == '_' || at[n] == '.' ||
	       at[n] == '$')
		n++;
	return n;
}

/* "%rax": 8 bytes, as addresses are made of. */
static bool take_address_register(const char **at, char to[4], bool is_base)
{
	size_t length = **at == '%' ? length_of_word(*at + 1) : 0;

	if (length == 3 && is_base && !memcmp(*at + 1, "rip", 3))
		memcpy(to, "rip", 4);
	else if (!length || sdt_find_register(*at + 1, length, to) != 8)
		return false;
	*at += 1 + length;
	return true;
}

static bool sdt_parse_register(const char *at, const char *end,
			       struct sonde_sdt_argument *argument)
{
	size_t length = (size_t)(end - at);
	uint8_t bytes = sdt_find_register(at, length, argument->base);

	if (!bytes && find_high(at, length, argument->base)) {
		argument->shift = 8;
		bytes = 1;
	}
	/* What is said to be larger than the part has no value that is known:
	 * but compilers write %eax for an int that is said to be 4 or less. */
	if (!bytes || argument->size > bytes)
		return false;
	argument->kind = SONDE_SDT_REGISTER;
	return true;
}

/* ---- memory ---- */

/* "12", "0x1f", with a sign maybe; wraps as the assembler does. */
static bool sdt_take_number(const char **at, bool is_negative, int64_t *sum)
{
	bool is_hex = (*at)[0] == '0' && (*at)[1] == 'x';
	const char *p = *at + (is_hex ? 2 : 0);
	uint64_t number;

	if (!sonde_number_take(&p, is_hex ? 16 : 10, UINT64_MAX, &number))
		return false;
	*sum = (int64_t)((uint64_t)*sum + (is_negative ? -number : number));
	*at = p;
	return true;
}

/* "-4+16", "8+counter", "counter-8": numbers, and one symbol at most. */
static bool sdt_take_sum(const char **at, struct sonde_sdt_argument *argument)
{
	const char *p = *at;

	while (*p && *p != '(' && *p != ' ') {
		bool is_negative = *p == '-';
		size_t length;

		if (*p == '-' || *p == '+')
			p++;
		else if (p != *at)
			return false;
		if (*p >= '0' && *p <= '9') {
			if (!sdt_take_number(&p, is_negative,
					     &argument->number))
				return false;
			continue;
		}
		length = length_of_word(p);
		if (!length || is_negative || argument->symbol)
			return false;
		argument->symbol = p;
		argument->symbol_length = length;
		p += length;
	}
	*at = p;
	return true;
}

/* "(%rax,%rcx,8)" */
static bool sdt_take_registers(const char **at,
			       struct sonde_sdt_argument *argument)
{
	const char *p = *at + 1;
	uint64_t scale = 1;

	if (*p != ',' && !take_address_register(&p, argument->base, true))
		return false;
	if (*p == ',') {
		p++;
		if (!take_address_register(&p, argument->index, false) ||
		    !strcmp(argument->index, "rsp"))
			return false;
	}
	if (*p == ',') {
		p++;
		if (!sonde_number_take(&p, 10, 8, &scale) || !scale ||
		    (scale & (scale - 1)))
			return false;
	}
	if (*p != ')' || (argument->index[0] && !strcmp(argument->base, "rip")))
		return false;
	argument->scale = (uint8_t)scale;
	*at = p + 1;
	return true;
}

static bool sdt_parse_memory(const char *at, const char *end,
			     struct sonde_sdt_argument *argument)
{
	if (!sdt_take_sum(&at, argument))
		return false;
	if (*at == '(' && !sdt_take_registers(&at, argument))
		return false;
	if (at != end)
		return false;
	/* By the counter without a symbol: from an instruction that isn't
	 * there. */
	if (!strcmp(argument->base, "rip") && !argument->symbol)
		return false;
	argument->kind = SONDE_SDT_MEMORY;
	return true;
}

/* ---- arguments ---- */

static bool sdt_parse_constant(const char *at, const char *end,
			       struct sonde_sdt_argument *argument)
{
	bool is_negative = *at == '-';

	at += is_negative;
	if (argument->is_float ||
	    !sdt_take_number(&at, is_negative, &argument->number) || at != end)
		return false;
	argument->kind = SONDE_SDT_CONSTANT;
	return true;
}

static bool sdt_parse_operand(struct sonde_sdt_argument *argument)
{
	const char *at = argument->text;
	const char *end = at + argument->length;

	if (*at == '$')
		return sdt_parse_constant(at + 1, end, argument);
	if (*at == '%')
		return !argument->is_float &&
		       sdt_parse_register(at + 1, end, argument);
	return sdt_parse_memory(at, end, argument);
}

/* "-4@", "8f@" */
static bool take_size(const char **at, struct sonde_sdt_argument *argument)
{
	bool is_signed = **at == '-';
	const char *p = *at + is_signed;
	uint64_t size;

	if (!sonde_number_take(&p, 10, 8, &size) || !size ||
	    (size & (size - 1)))
		return false;
	argument->is_float = *p == 'f';
	p += argument->is_float;
	if (*p != '@' || (argument->is_float && size < 4))
		return false;
	argument->is_signed = is_signed;
	argument->size = (uint8_t)size;
	*at = p + 1;
	return true;
}

/* Up to a blank outside of brackets: "[sp, 16]" is one. */
static size_t length_of_operand(const char *at)
{
	int depth = 0;
	size_t n = 0;

	for (; at[n] && (at[n] != ' ' || depth > 0); n++) {
		if (at[n] == '[' || at[n] == '(')
			depth++;
		else if (at[n] == ']' || at[n] == ')')
			depth--;
	}
	return n;
}

bool sonde_sdt_argument(const char **at, struct sonde_sdt_argument *ret)
{
	struct sonde_sdt_argument argument = { .scale = 1 };
	struct sonde_sdt_argument bare;
	const char *p = *at + strspn(*at, " ");

	*at = p;
	if (!take_size(&p, &argument))
		return false;
	argument.text = p;
	argument.length = length_of_operand(p);
	if (!argument.length)
		return false;
	bare = argument;
	*ret = sdt_parse_operand(&argument) ? argument : bare;
	p += argument.length;
	*at = p + strspn(p, " ");
	return true;
}

const char *sonde_sdt_type(const struct sonde_sdt_argument *argument)
{
	static const char *const types[3][4] = {
		{ "u8", "u16", "u32", "u64" },
		{ "i8", "i16", "i32", "i64" },
		{ "?", "?", "f32", "f64" },
	};
	unsigned int row = argument->is_float ? 2 : argument->is_signed;

	return types[row][__builtin_ctz(argument->size)];
}
