/* SPDX-License-Identifier: MIT */
/*
 * fields.c - types in the metadata's language (fields.h).
 *
 * Whether labels are identifiers is the variant's to say that comes next; else
 * they are strings. What isn't as the trace has it by itself is said of a
 * structure's alignment, a number's base and byte order.
 *
 * Recursion is bounded by how deep types nest.
 */
#include "ctf/fields.h"

#include <inttypes.h>

#include "base/pool.h"

struct writer {
	struct sonde_ctf_text *text;
	const char *prefix, *clock;
	int depth;
};

void sonde_tsdl_string(struct sonde_ctf_text *text, const char *string)
{
	sonde_ctf_text_puts(text, "\"");
	for (; *string; string++) {
		unsigned char c = (unsigned char)*string;

		if (c == '"' || c == '\\')
			sonde_ctf_text_printf(text, "\\%c", c);
		else if (c < ' ' || c == 127)
			sonde_ctf_text_printf(text, "\\%03o", c);
		else
			sonde_ctf_text_append(text, string, 1);
	}
	sonde_ctf_text_puts(text, "\"");
}

static void indent(const struct writer *to)
{
	for (int i = 0; i < to->depth; i++)
		sonde_ctf_text_puts(to->text, "\t");
}

/* ---- numbers ---- */

static bool is_network(const struct sonde_class *cls)
{
	return cls->big_endian && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

static void fields_put_integer(const struct writer *to,
			       const struct sonde_class *cls)
{
	sonde_ctf_text_printf(to->text,
			      "integer { size = %u; align = %u; signed = %u;",
			      cls->bits, cls->align_bits,
			      cls->kind == SONDE_KIND_INT);
	if (cls->base != 10)
		sonde_ctf_text_printf(to->text, " base = %u;", cls->base);
	if (is_network(cls))
		sonde_ctf_text_puts(to->text, " byte_order = be;");
	if (cls->is_char)
		sonde_ctf_text_puts(to->text, " encoding = UTF8;");
	if (cls->clock >= 0)
		sonde_ctf_text_printf(to->text, " map = clock.%s.value;",
				      to->clock);
	sonde_ctf_text_puts(to->text, " }");
}

static void fields_put_float(const struct writer *to,
			     const struct sonde_class *cls)
{
	bool wide = cls->bits == 64;

	sonde_ctf_text_printf(
		to->text,
		"floating_point { exp_dig = %u; mant_dig = %u; align = 8;%s }",
		wide ? 11 : 8, wide ? 53 : 24,
		is_network(cls) ? " byte_order = be;" : "");
}

static void fields_put_range(const struct writer *to,
			     const struct sonde_label *label, bool is_signed)
{
	const uint64_t bounds[] = { label->low, label->high };

	for (int i = 0; i < (label->low == label->high ? 1 : 2); i++) {
		sonde_ctf_text_puts(to->text, i ? " ... " : " = ");
		if (is_signed)
			sonde_ctf_text_printf(to->text, "%" PRId64,
					      (int64_t)bounds[i]);
		else
			sonde_ctf_text_printf(to->text, "%" PRIu64, bounds[i]);
	}
}

static void fields_put_enum(const struct writer *to,
			    const struct sonde_class *cls, bool tag)
{
	sonde_ctf_text_puts(to->text, "enum : ");
	fields_put_integer(to, cls);
	sonde_ctf_text_puts(to->text, " {");
	for (size_t i = 0; i < cls->nr_labels; i++) {
		const struct sonde_label *label = &cls->labels[i];

		sonde_ctf_text_puts(to->text, i ? ", " : " ");
		if (tag)
			sonde_ctf_text_puts(to->text, label->name);
		else
			sonde_tsdl_string(to->text, label->name);
		fields_put_range(to, label, cls->kind == SONDE_KIND_INT);
	}
	sonde_ctf_text_puts(to->text, " }");
}

static void fields_put_number(const struct writer *to,
			      const struct sonde_class *cls, bool tag)
{
	if (cls->kind == SONDE_KIND_FLOAT)
		fields_put_float(to, cls);
	else if (cls->is_enum)
		fields_put_enum(to, cls, tag);
	else
		fields_put_integer(to, cls);
}

/* ---- members ---- */

/* What is elements behind one another: arrays, and strings that don't end
 * themselves. */
static bool is_list(const struct sonde_class *cls)
{
	return cls->kind == SONDE_KIND_ARRAY ||
	       cls->kind == SONDE_KIND_SEQUENCE ||
	       (cls->kind == SONDE_KIND_STRING &&
		cls->length != SONDE_LENGTH_ZERO);
}

static void fields_put_group(struct writer *to, const struct sonde_class *cls);

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void fields_put_member(struct writer *to,
			      const struct sonde_class *around, size_t i)
{
	const struct sonde_class *cls = around->members[i].cls;

	indent(to);
	if (cls->kind == SONDE_KIND_STRUCT || cls->kind == SONDE_KIND_VARIANT)
		fields_put_group(to, cls);
	else if (is_list(cls))
		fields_put_number(to, cls->members[0].cls, false);
	else if (cls->kind == SONDE_KIND_STRING)
		sonde_ctf_text_puts(to->text, "string { encoding = UTF8; }");
	else
		fields_put_number(to, cls, sonde_class_is_tag(around, i));
	sonde_ctf_text_printf(to->text, " %s%s", to->prefix,
			      around->members[i].name);
	if (is_list(cls) && cls->ref)
		sonde_ctf_text_printf(to->text, "[%s%s]", to->prefix,
				      cls->location.names[0]);
	else if (is_list(cls))
		sonde_ctf_text_printf(to->text, "[%" PRIu64 "]", cls->count);
	sonde_ctf_text_puts(to->text, ";\n");
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void fields_put_group(struct writer *to, const struct sonde_class *cls)
{
	uint32_t align = 1;

	if (cls->kind == SONDE_KIND_VARIANT)
		sonde_ctf_text_printf(to->text, "variant <%s%s> {\n",
				      to->prefix, cls->location.names[0]);
	else
		sonde_ctf_text_puts(to->text, "struct {\n");
	to->depth++;
	for (size_t i = 0; i < cls->nr_members; i++) {
		fields_put_member(to, cls, i);
		if (align < cls->members[i].cls->align_bits)
			align = cls->members[i].cls->align_bits;
	}
	to->depth--;
	indent(to);
	sonde_ctf_text_puts(to->text, "}");
	if (align < cls->align_bits)
		sonde_ctf_text_printf(to->text, " align(%u)", cls->align_bits);
}

void sonde_tsdl_scope(struct sonde_ctf_text *text,
		      const struct sonde_class *cls, const char *prefix,
		      const char *clock)
{
	struct writer to = {
		.text = text,
		.prefix = prefix,
		.clock = clock,
		.depth = 1,
	};

	fields_put_group(&to, cls);
}
