/* SPDX-License-Identifier: MIT */
/*
 * tsdl_parse_class.c - numbers and strings: `integer { size = 8; ... }` and
 * its like. Attributes that have no setter are skipped, whatever their value.
 */
#include <stdlib.h>
#include <string.h>

#include "ctf/schema/tsdl_parse.h"

/* A class in the making, and what was said of it. */
struct draft {
	struct sonde_parser *p;
	struct sonde_class *cls;
	bool has_align, is_signed;
	uint32_t seen; /* bits of the setters */
	uint8_t exponent_bits, mantissa_bits;
};

struct setter {
	const char *name;
	void (*set)(struct draft *draft, const struct sonde_parse_value *value);
};

static void set_size(struct draft *draft, const struct sonde_parse_value *value)
{
	draft->cls->bits = (uint8_t)sonde_parse_unsigned(draft->p, value, 64);
}

static void set_align(struct draft *draft,
		      const struct sonde_parse_value *value)
{
	draft->cls->align_bits = sonde_parse_align(draft->p, value);
	draft->has_align = true;
}

static void set_signed(struct draft *draft,
		       const struct sonde_parse_value *value)
{
	draft->is_signed = sonde_parse_bool(draft->p, value);
}

static void set_order(struct draft *draft,
		      const struct sonde_parse_value *value)
{
	draft->cls->big_endian = sonde_parse_order(draft->p, value);
}

static void set_base(struct draft *draft, const struct sonde_parse_value *value)
{
	static const struct {
		char word[12];
		uint8_t base;
	} words[] = {
		{ "decimal", 10 }, { "dec", 10 },   { "d", 10 },
		{ "i", 10 },       { "u", 10 },     { "hexadecimal", 16 },
		{ "hex", 16 },     { "x", 16 },     { "X", 16 },
		{ "p", 16 },       { "octal", 8 },  { "oct", 8 },
		{ "o", 8 },        { "binary", 2 }, { "b", 2 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!sonde_parse_is(value, words[i].word) &&
		    !(value->is_number && value->number == words[i].base))
			continue;
		draft->cls->base = words[i].base;
		return;
	}
	sonde_parse_fail(draft->p,
			 sonde_token_complain(&value->token, draft->p->error,
					      "expected decimal, hexadecimal, "
					      "octal, binary or their number"));
}

static void set_encoding(struct draft *draft,
			 const struct sonde_parse_value *value)
{
	static const char *const texts[] = { "UTF8",  "UTF-8", "utf8",
					     "utf-8", "ASCII", "ascii" };
	static const char *const nones[] = { "none", "NONE", "None" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!sonde_parse_is(value, texts[i]))
			continue;
		draft->cls->is_char = true;
		return;
	}
	for (size_t i = 0; i < sizeof(nones) / sizeof(nones[0]); i++) {
		if (!sonde_parse_is(value, nones[i]))
			continue;
		draft->cls->is_char = false;
		return;
	}
	sonde_parse_fail(draft->p,
			 sonde_token_complain(&value->token, draft->p->error,
					      "expected none, UTF8 or ASCII"));
}

/* clock.NAME.value */
static void set_map(struct draft *draft, const struct sonde_parse_value *value)
{
	const struct sonde_parse_clock *clock;
	char name[SONDE_PARSE_NAME];
	size_t size = strlen(value->word);

	if (size <= 12 || strncmp(value->word, "clock.", 6) != 0 ||
	    strcmp(value->word + size - 6, ".value") != 0) {
		sonde_parse_fail(draft->p,
				 sonde_token_complain(&value->token,
						      draft->p->error,
						      "expected "
						      "clock.NAME.value"));
		return;
	}
	memcpy(name, value->word + 6, size - 12);
	name[size - 12] = 0;
	clock = sonde_parse_clock(draft->p, &value->token, name);
	if (clock)
		draft->cls->clock = clock->index;
}

static void set_exponent(struct draft *draft,
			 const struct sonde_parse_value *value)
{
	draft->exponent_bits =
		(uint8_t)sonde_parse_unsigned(draft->p, value, 64);
}

static void set_mantissa(struct draft *draft,
			 const struct sonde_parse_value *value)
{
	draft->mantissa_bits =
		(uint8_t)sonde_parse_unsigned(draft->p, value, 64);
}

static void parse_body(struct draft *draft, const struct setter *setters)
{
	struct sonde_parser *p = draft->p;

	sonde_parse_expect(p, '{', "'{'");
	while (p->status == 0 && !sonde_parse_accept(p, '}')) {
		struct sonde_parse_value value;
		const struct setter *setter = setters;
		struct sonde_token token = p->token;
		char name[SONDE_PARSE_NAME];

		sonde_parse_path(p, name);
		sonde_parse_expect(p, '=', "'='");
		while (setter->name && strcmp(setter->name, name) != 0)
			setter++;
		if (setter->name) {
			sonde_parse_once(p, &token, name,
					 (size_t)(setter - setters),
					 &draft->seen);
			sonde_parse_value(p, &value);
			if (p->status == 0)
				setter->set(draft, &value);
		} else {
			sonde_parse_skip(p);
		}
		sonde_parse_expect(p, ';', "';'");
	}
}

static struct sonde_class *class_parse_number(struct draft *draft,
					      const struct setter *setters)
{
	draft->cls = sonde_parse_class(draft->p, SONDE_KIND_UINT);
	if (!draft->cls)
		return NULL;
	draft->cls->base = 10;
	draft->cls->big_endian = draft->p->schema->big_endian;
	parse_body(draft, setters);
	return draft->cls;
}

/* Whole bytes stand at bytes, unless something else is said. */
static void align_number(const struct draft *draft)
{
	if (!draft->has_align && draft->cls->bits % 8 == 0)
		draft->cls->align_bits = 8;
}

struct sonde_class *sonde_parse_integer(struct sonde_parser *p)
{
	static const struct setter setters[] = {
		{ "size", set_size },     { "align", set_align },
		{ "signed", set_signed }, { "byte_order", set_order },
		{ "base", set_base },     { "encoding", set_encoding },
		{ "map", set_map },       { NULL, NULL },
	};
	struct sonde_token token = p->token;
	struct draft draft = { .p = p };
	struct sonde_class *cls = class_parse_number(&draft, setters);

	if (p->status)
		return NULL;
	if (cls->bits == 0)
		sonde_parse_fail(p, sonde_token_complain(
					    &token, p->error,
					    "expected a size from 1 to 64 in "
					    "this integer"));
	if (draft.is_signed)
		cls->kind = SONDE_KIND_INT;
	align_number(&draft);
	return cls;
}

struct sonde_class *sonde_parse_float(struct sonde_parser *p)
{
	static const struct setter setters[] = {
		{ "exp_dig", set_exponent },
		{ "mant_dig", set_mantissa },
		{ "align", set_align },
		{ "byte_order", set_order },
		{ NULL, NULL },
	};
	struct sonde_token token = p->token;
	struct draft draft = { .p = p };
	struct sonde_class *cls = class_parse_number(&draft, setters);
	int exponent = draft.exponent_bits;
	int mantissa = draft.mantissa_bits;

	if (p->status)
		return NULL;
	if (!(exponent == 5 && mantissa == 11) &&
	    !(exponent == 8 && mantissa == 24) &&
	    !(exponent == 11 && mantissa == 53))
		sonde_parse_fail(p,
				 sonde_token_complain(
					 &token, p->error,
					 "expected exp_dig and mant_dig of a "
					 "number that can be read: 5 and 11, "
					 "8 and 24, or 11 and 53"));
	if (exponent == 5)
		sonde_parse_warn(p, &token,
				 "a floating-point number of 16 bits");
	cls->kind = SONDE_KIND_FLOAT;
	cls->bits = (uint8_t)(exponent + mantissa);
	align_number(&draft);
	return cls;
}

struct sonde_class *sonde_parse_string_type(struct sonde_parser *p)
{
	static const struct setter setters[] = {
		{ "encoding", set_encoding },
		{ NULL, NULL },
	};
	struct draft draft = { .p = p };

	draft.cls = sonde_parse_class(p, SONDE_KIND_STRING);
	if (!draft.cls)
		return NULL;
	draft.cls->length = SONDE_LENGTH_ZERO;
	draft.cls->align_bits = 8;
	if (sonde_parse_at(p, '{'))
		parse_body(&draft, setters);
	draft.cls->is_char = false;
	return draft.cls;
}
