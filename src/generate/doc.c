/* SPDX-License-Identifier: MIT */
/*
 * doc.c - a model as a page of Markdown: a table of fields for each event and
 * structure, one of labels for each enumeration.
 */
#include <inttypes.h>
#include <string.h>

#include "generate/model.h"
#include "types/select.h"

/* What Markdown would take for its own is escaped; a line stays one. */
static void put_words(const char *text, FILE *to)
{
	for (; text && *text; text++) {
		if (strchr("\\`*_{}[]<>()#+-.!|&~", *text))
			(void)fputc('\\', to);
		(void)fputc((unsigned char)*text < ' ' ? ' ' : *text, to);
	}
}

static void put_extent(const struct sonde_class *cls, FILE *to)
{
	if (cls->kind == SONDE_KIND_ARRAY)
		(void)fprintf(to, "[%" PRIu64 "]", cls->count);
	else if (cls->kind == SONDE_KIND_SEQUENCE)
		(void)fputs("[]", to);
	else if (cls->kind == SONDE_KIND_STRING && cls->count)
		(void)fprintf(to, ", at most %" PRIu64 " bytes", cls->count);
	if (cls->value_bits)
		(void)fprintf(to, ", %u bits", cls->value_bits);
	if (sonde_generate_is_group(cls) || cls->nr_labels || cls->nr_members)
		return;
	if (cls->base == 16)
		(void)fputs(", hexadecimal", to);
	if (cls->bits &&
	    cls->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		(void)fputs(", network order", to);
}

static void doc_put_type(const struct sonde_generate_model *model,
			 const struct sonde_class *cls, FILE *to)
{
	const struct sonde_generate_named *named =
		sonde_generate_named_of(model, cls);

	(void)fprintf(to, "`%s`",
		      named                     ? named->name :
		      sonde_class_is_bytes(cls) ? "bytes" :
						  cls->c_type);
	put_extent(cls, to);
}

static void doc_put_fields(const struct sonde_generate_model *model,
			   const struct sonde_class *group, FILE *to)
{
	if (group->nr_members)
		(void)fputs("| field | type | |\n|---|---|---|\n", to);
	for (size_t i = 0; i < group->nr_members; i++) {
		if (sonde_generate_is_made(group, i))
			continue;
		(void)fprintf(to, "| `%s` | ", group->members[i].name);
		doc_put_type(model, group->members[i].cls, to);
		(void)fputs(" | ", to);
		put_words(group->members[i].about, to);
		(void)fputs(" |\n", to);
	}
	(void)fputc('\n', to);
}

static void put_bound(const struct sonde_class *cls, uint64_t value, FILE *to)
{
	if (cls->kind == SONDE_KIND_INT)
		(void)fprintf(to, "%" PRId64, (int64_t)value);
	else
		(void)fprintf(to, "%" PRIu64, value);
}

static void doc_put_labels(const struct sonde_class *cls, FILE *to)
{
	(void)fprintf(to,
		      "Numbers of type `%s`.\n\n| label | value |\n|---|---|\n",
		      cls->c_type);
	for (size_t i = 0; i < cls->nr_labels; i++) {
		(void)fputs("| ", to);
		put_words(cls->labels[i].name, to);
		(void)fputs(" | ", to);
		put_bound(cls, cls->labels[i].low, to);
		if (cls->labels[i].low != cls->labels[i].high) {
			(void)fputs(" to ", to);
			put_bound(cls, cls->labels[i].high, to);
		}
		(void)fputs(" |\n", to);
	}
	(void)fputc('\n', to);
}

static void doc_put_about(const char *about, FILE *to)
{
	if (!about)
		return;
	put_words(about, to);
	(void)fputs("\n\n", to);
}

void sonde_generate_doc(const struct sonde_generate_model *model, FILE *to)
{
	(void)fprintf(to, "# Events of `%s`\n\n", model->provider);
	doc_put_about(model->about, to);
	(void)fprintf(to, "Checksum `%016" PRIx64 "`.\n\n", model->checksum);
	for (const struct sonde_generate_event *event = model->events; event;
	     event = event->next) {
		(void)fprintf(to, "## `%s:%s`\n\n", model->provider,
			      event->name);
		doc_put_about(event->about, to);
		(void)fprintf(to, "Level `%s`.\n\n",
			      sonde_level_name(event->level));
		doc_put_fields(model, event->payload, to);
	}
	for (const struct sonde_generate_named *type = model->types; type;
	     type = type->next) {
		(void)fprintf(to, "## Type `%s`\n\n", type->name);
		doc_put_about(type->about, to);
		if (type->cls->kind == SONDE_KIND_VARIANT)
			(void)fputs("One of these, or none, as the field "
				    "before it says, `..._tag`.\n\n",
				    to);
		if (sonde_generate_is_group(type->cls))
			doc_put_fields(model, type->cls, to);
		else
			doc_put_labels(type->cls, to);
	}
}
