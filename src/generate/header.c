/* SPDX-License-Identifier: MIT */
/*
 * header.c - a model as a header for C11 and C++17.
 *
 * Each structure is a structure of C, each enumeration's labels are constants,
 * and each event is one static inline function, whose body is one tracepoint:
 * the same that a user would write, so that it costs the same. A function that
 * nobody calls leaves nothing. A variant is a structure of a union of its
 * options and `which` of them is there, a constant; the lengths of options stand
 * outside of the union.
 *
 * Recursion is bounded by SONDE_GENERATE_NEST.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "generate/constants.h"
#include "generate/header.h"
#include "types/select.h"

struct header {
	const struct sonde_generate_model *model;
	FILE *to;
};

/* Of up to 63 bytes, and of C's alphabet. */
void sonde_generate_put_upper(const char *name, FILE *to)
{
	for (; *name; name++)
		(void)fputc(*name >= 'a' && *name <= 'z' ? *name - 32 : *name,
			    to);
}

/* In a comment, which it can't end. */
void sonde_generate_put_about(const char *before, const char *about, FILE *to)
{
	if (!about)
		return;
	(void)fprintf(to, "%s/* ", before);
	for (char last = 0; *about; last = *about++) {
		if ((last == '*' && *about == '/') ||
		    (last == '/' && *about == '*'))
			(void)fputc(' ', to);
		if (*about == '\n')
			(void)fprintf(to, "\n%s * ", before);
		else
			(void)fputc((unsigned char)*about < ' ' ? ' ' : *about,
				    to);
	}
	(void)fputs(" */\n", to);
}

static void put_literal(const char *text, FILE *to)
{
	(void)fputc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c >= 0x7f || c == '?' || c == '"' || c == '\\')
			(void)fprintf(to, "\\%03o", c);
		else
			(void)fputc(c, to);
	}
	(void)fputc('"', to);
}

/* ---- types ---- */

/* `value` NULL: the next one. */
static void put_constant(const struct sonde_generate_named *type,
			 const char *name, const int64_t *value, FILE *to)
{
	(void)fputc('\t', to);
	sonde_generate_put_upper(type->provider, to);
	(void)fputc('_', to);
	sonde_generate_put_upper(type->name, to);
	(void)fputc('_', to);
	sonde_generate_put_upper(name, to);
	if (value)
		(void)fprintf(to, " = %" PRId64, *value);
	(void)fputs(",\n", to);
}

static void put_constants(const struct sonde_generate_named *type, FILE *to)
{
	const struct sonde_class *cls = type->cls;

	for (size_t i = 0; i < cls->nr_labels; i++) {
		const int64_t value = (int64_t)cls->labels[i].low;

		if (sonde_generate_is_constant(cls, i))
			put_constant(type, cls->labels[i].name, &value, to);
	}
}

static void put_enum(const struct sonde_generate_named *type, FILE *to)
{
	size_t nr = 0;

	for (size_t i = 0; i < type->cls->nr_labels; i++)
		nr += sonde_generate_is_constant(type->cls, i);
	if (!nr)
		return;
	(void)fprintf(to, "enum %s_%s {\n", type->provider, type->name);
	put_constants(type, to);
	(void)fputs("};\n", to);
}

enum header_place {
	AS_MEMBER,   /* of a structure */
	AS_ARGUMENT, /* of an event's function */
	AS_KEPT,     /* a member that has what an argument was */
};

static void header_put_variable(const struct sonde_member *member,
				enum header_place place, FILE *to)
{
	const struct sonde_class *cls = member->cls;
	bool argument = place != AS_MEMBER;
	bool star;

	if (cls->kind == SONDE_KIND_SEQUENCE ||
	    (cls->kind == SONDE_KIND_ARRAY && place == AS_KEPT)) {
		(void)fprintf(to, "const %s *%s", cls->c_type, member->name);
		return;
	}
	if (cls->kind == SONDE_KIND_ARRAY) {
		(void)fprintf(to, "%s%s %s[%" PRIu64 "]",
			      argument ? "const " : "", cls->c_type,
			      member->name, cls->count);
		return;
	}
	if (sonde_generate_is_group(cls) && argument) {
		(void)fprintf(to, "const %s *%s", cls->c_type, member->name);
		return;
	}
	/* without a blank behind a star */
	star = cls->c_type[strlen(cls->c_type) - 1] == '*';
	(void)fprintf(to, "%s%s%s", cls->c_type, star ? "" : " ", member->name);
}

static void header_put_member(const struct sonde_class *cls, size_t i,
			      const char *indent, FILE *to)
{
	if (sonde_generate_is_made(cls, i)) {
		(void)fprintf(to, "%ssize_t %s;\n", indent,
			      cls->members[i].name);
		return;
	}
	sonde_generate_put_about(indent, cls->members[i].about, to);
	(void)fputs(indent, to);
	header_put_variable(&cls->members[i], AS_MEMBER, to);
	(void)fputs(";\n", to);
}

static void put_which(const struct sonde_generate_named *type, FILE *to)
{
	const struct sonde_class *cls = type->cls;

	(void)fprintf(to, "enum %s_%s_which {\n", type->provider, type->name);
	for (size_t i = 0; i < cls->nr_members; i++)
		if (!sonde_generate_is_made(cls, i))
			put_constant(type, cls->members[i].name, NULL, to);
	put_constant(type, "none", NULL, to);
	(void)fputs("};\n", to);
}

static void header_put_compound(const struct sonde_generate_named *type,
				FILE *to)
{
	const struct sonde_class *cls = type->cls;
	bool variant = cls->kind == SONDE_KIND_VARIANT;

	if (variant)
		put_which(type, to);
	(void)fprintf(to, "%s {\n", cls->c_type);
	if (variant)
		(void)fprintf(to, "\tenum %s_%s_which which;\n", type->provider,
			      type->name);
	for (size_t i = 0; i < cls->nr_members; i++)
		if (!variant || sonde_generate_is_made(cls, i))
			header_put_member(cls, i, "\t", to);
	if (variant)
		(void)fputs("\tunion {\n", to);
	for (size_t i = 0; variant && i < cls->nr_members; i++)
		if (!sonde_generate_is_made(cls, i))
			header_put_member(cls, i, "\t\t", to);
	(void)fprintf(to, "%s};\n", variant ? "\t};\n" : "");
}

/* Headers that include the same file have the same types: each once. */
static void header_put_type(const struct sonde_generate_named *type, FILE *to)
{
	(void)fprintf(to,
		      "#ifndef SONDE_TYPE_%s_%s\n#define SONDE_TYPE_%s_%s\n",
		      type->provider, type->name, type->provider, type->name);
	sonde_generate_put_about("", type->about, to);
	if (sonde_generate_is_group(type->cls))
		header_put_compound(type, to);
	else
		put_enum(type, to);
	(void)fputs("#endif\n\n", to);
}

void sonde_generate_put_begin(const struct sonde_generate_model *model,
			      const char *target, const char *includes,
			      FILE *to)
{
	(void)fprintf(to,
		      "/* Made by sonde generate: change the description, not "
		      "this. */\n"
		      "#ifndef SONDE_%sEVENTS_%s\n"
		      "#define SONDE_%sEVENTS_%s\n\n%s",
		      target, model->provider, target, model->provider,
		      includes);
	sonde_generate_put_about("", model->about, to);
	for (const struct sonde_generate_named *type = model->types; type;
	     type = type->next)
		header_put_type(type, to);
}

/* ---- events ---- */

static void header_put_number(const struct sonde_class *cls, uint64_t value,
			      FILE *to)
{
	if (cls->kind != SONDE_KIND_INT)
		(void)fprintf(to, "%" PRIu64 "ULL", value);
	else if ((int64_t)value == INT64_MIN)
		(void)fputs("(-9223372036854775807LL - 1)", to);
	else
		(void)fprintf(to, "%" PRId64 "LL", (int64_t)value);
}

static void header_put_labels(const struct sonde_class *cls, FILE *to)
{
	for (size_t i = 0; i < cls->nr_labels; i++) {
		const struct sonde_label *label = &cls->labels[i];
		bool one = label->low == label->high;

		(void)fprintf(to, ", sonde_%s(", one ? "label" : "range");
		put_literal(label->name, to);
		(void)fputs(", ", to);
		header_put_number(cls, label->low, to);
		if (!one) {
			(void)fputs(", ", to);
			header_put_number(cls, label->high, to);
		}
		(void)fputc(')', to);
	}
}

/* The tracepoint's form of it, up to its name and value. */
static const char *header_form_of(const struct sonde_class *cls)
{
	if (cls->kind == SONDE_KIND_STRUCT)
		return "struct";
	if (cls->kind == SONDE_KIND_VARIANT)
		return "variant";
	if (cls->kind == SONDE_KIND_ARRAY)
		return cls->members[0].cls->is_char ? "text" : "array";
	if (cls->kind == SONDE_KIND_SEQUENCE)
		return sonde_class_is_bytes(cls) ? "blob" : "sequence";
	if (cls->kind == SONDE_KIND_STRING)
		return cls->count ? "string_max" : "string";
	if (cls->nr_labels)
		return "enum";
	if (cls->value_bits)
		return cls->kind == SONDE_KIND_INT ? "signed_bits" : "bits";
	if (cls->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		return "network";
	/* pointers are in hexadecimal by themselves */
	return cls->base == 16 && !strchr(cls->c_type, '*') ? "hex" : "field";
}

/* What stands behind the value, but for the closing bracket. */
static void put_rest(const struct sonde_class *group, size_t i,
		     const char *before, FILE *to)
{
	const struct sonde_class *cls = group->members[i].cls;

	if (cls->nr_labels)
		header_put_labels(cls, to);
	else if (cls->kind == SONDE_KIND_SEQUENCE)
		(void)fprintf(to, ", %s%s", before, group->members[i - 1].name);
	else if (cls->kind == SONDE_KIND_ARRAY ||
		 (cls->kind == SONDE_KIND_STRING && cls->count))
		(void)fprintf(to, ", %" PRIu64, cls->count);
	else if (cls->value_bits)
		(void)fprintf(to, ", %u", cls->value_bits);
}

/* `before`: what leads to the group, as in "where->". */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void header_put_fields(const struct sonde_class *group,
			      const char *before, int depth, FILE *to)
{
	char inner[SONDE_GENERATE_NEST * 66];

	for (size_t i = 0; i < group->nr_members; i++) {
		const struct sonde_member *member = &group->members[i];

		if (sonde_generate_is_made(group, i))
			continue;
		(void)fprintf(to, ",\n%*ssonde_%s(%s", 4 * (depth + 3), "",
			      header_form_of(member->cls), member->name);
		if (sonde_generate_is_group(member->cls)) {
			struct sonde_text text = { .to = inner,
						   .size = sizeof(inner) };

			sonde_text_add(&text, "%s%s%s", before, member->name,
				       depth ? "." : "->");
			if (member->cls->kind == SONDE_KIND_VARIANT)
				(void)fprintf(to, ", %swhich", inner);
			header_put_fields(member->cls, inner, depth + 1, to);
		} else {
			(void)fprintf(to, ", %s%s", before, member->name);
			put_rest(group, i, before, to);
		}
		(void)fputc(')', to);
	}
}

void sonde_generate_put_arguments(const struct sonde_class *payload, FILE *to)
{
	for (size_t i = 0; i < payload->nr_members; i++) {
		(void)fputs(i ? ", " : "", to);
		if (sonde_generate_is_made(payload, i))
			(void)fprintf(to, "size_t %s",
				      payload->members[i].name);
		else
			header_put_variable(&payload->members[i], AS_ARGUMENT,
					    to);
	}
}

void sonde_generate_put_kept(const struct sonde_class *payload, FILE *to)
{
	for (size_t i = 0; i < payload->nr_members; i++) {
		(void)fputc('\t', to);
		if (sonde_generate_is_made(payload, i))
			(void)fprintf(to, "size_t %s",
				      payload->members[i].name);
		else
			header_put_variable(&payload->members[i], AS_KEPT, to);
		(void)fputs(";\n", to);
	}
}

static void header_put_event(const struct header *header,
			     const struct sonde_generate_event *event)
{
	const char *provider = header->model->provider;
	FILE *to = header->to;

	sonde_generate_put_about("", event->about, to);
	(void)fprintf(to, "SONDE_GENERATED void %s_%s(", provider, event->name);
	sonde_generate_put_arguments(event->payload, to);
	if (!event->payload->nr_members)
		(void)fputs("void", to);
	(void)fprintf(to, ")\n{\n\tsonde_event_level(%s, %s, ", provider,
		      event->name);
	(void)fputs("sonde_described(SONDE_", to);
	sonde_generate_put_upper(sonde_level_name(event->level), to);
	(void)fprintf(to, ", 0x%016" PRIx64 "ULL)", header->model->checksum);
	header_put_fields(event->payload, "", 0, to);
	(void)fprintf(to,
		      ");\n}\n\n/* Whether somebody records it. */\n"
		      "SONDE_GENERATED bool %s_%s_enabled(void)\n{\n"
		      "\treturn sonde_event_enabled(%s, %s);\n}\n\n",
		      provider, event->name, provider, event->name);
}

/* C++ makes the sites of all functions, called or not, but not of templates
 * that aren't used. Left to itself, a compiler makes calls of what has several
 * places in one file. */
static const char begin_words[] =
	"#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
	"#include <sonde/tracepoint.h>\n\n"
	"#ifndef SONDE_GENERATED\n"
	"#ifdef __cplusplus\n"
	"#define SONDE_GENERATED \\\n"
	"\ttemplate <int = 0> static inline __attribute__((always_inline))\n"
	"#else\n"
	"#define SONDE_GENERATED static inline __attribute__((always_inline))\n"
	"#endif\n"
	"#endif\n\n";

void sonde_generate_header(const struct sonde_generate_model *model, FILE *to)
{
	const struct header header = { model, to };

	sonde_generate_put_begin(model, "", begin_words, to);
	for (const struct sonde_generate_event *event = model->events; event;
	     event = event->next)
		header_put_event(&header, event);
	(void)fputs("#endif\n", to);
}
