/* SPDX-License-Identifier: MIT */
/*
 * bare.c - a model as a header for programs without a C library
 * (sonde/bare.h): an event's function puts its fields into a packet, in the order
 * and form that a tracepoint's payload has, so that the metadata are the same.
 *
 * Recursion is bounded by SONDE_GENERATE_NEST.
 */
#include <inttypes.h>
#include <string.h>

#include "base/port.h"
#include "generate/header.h"

/* Where a field is: what leads to it, and how deep. */
struct bare_path {
	const char *before;
	int depth;
	FILE *to;
};

static void bare_begin_line(const struct bare_path *path)
{
	(void)fputs("\n                ", path->to);
}

/* Its C type may be as wide elsewhere, or not: long, say. */
static bool bare_is_host_size(const struct sonde_class *cls)
{
	static const char *const fixed[] = { "int8_t", "int16_t", "int32_t",
					     "int64_t" };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(fixed); i++)
		if (strstr(cls->c_type, fixed[i]))
			return false;
	return cls->kind != SONDE_KIND_FLOAT && !cls->is_bool && !cls->is_char;
}

/* The low bits, in the smallest number that holds them. */
static void bare_put_bits(const struct bare_path *path,
			  const struct sonde_member *member)
{
	const unsigned int nr = member->cls->value_bits;
	const unsigned int width = nr <= 8  ? 8 :
				   nr <= 16 ? 16 :
				   nr <= 32 ? 32 :
					      64;
	const bool is_signed = member->cls->kind == SONDE_KIND_INT;

	(void)fprintf(path->to,
		      "{ const uint%u_t sonde_bits = (uint%u_t)("
		      "%s((uint64_t)%s%s << %u) >> %u);",
		      width, width, is_signed ? "(int64_t)" : "", path->before,
		      member->name, 64 - nr, 64 - nr);
	bare_begin_line(path);
	(void)fprintf(path->to, "sonde_bare_put(sonde_to, &sonde_bits, %u); }",
		      width / 8);
}

static void bare_put_number(const struct bare_path *path,
			    const struct sonde_member *member)
{
	const unsigned int bytes = member->cls->bits / 8;

	if (member->cls->value_bits) {
		bare_put_bits(path, member);
		return;
	}
	if (bare_is_host_size(member->cls)) {
		(void)fprintf(path->to, "SONDE_BARE_HOST_(%s%s, %u);",
			      path->before, member->name, bytes);
		bare_begin_line(path);
	}
	(void)fprintf(path->to, "sonde_bare_put(sonde_to, &%s%s, %u);",
		      path->before, member->name, bytes);
}

/* `length`: the member with its number of elements, of those that have that. */
static void bare_put_many(const struct bare_path *path,
			  const struct sonde_member *member,
			  const struct sonde_member *length)
{
	const struct sonde_class *element = member->cls->members[0].cls;
	const unsigned int bytes = element->bits / 8;
	const char *before = path->before;

	if (!sonde_class_is_bytes(member->cls) && bare_is_host_size(element)) {
		(void)fprintf(path->to, "SONDE_BARE_HOST_(*%s%s, %u);", before,
			      member->name, bytes);
		bare_begin_line(path);
	}
	if (member->cls->kind == SONDE_KIND_SEQUENCE)
		(void)fprintf(path->to,
			      "sonde_bare_put_list(sonde_to, %s%s, %s%s, %u);",
			      before, member->name, before, length->name,
			      bytes);
	else
		(void)fprintf(path->to,
			      "sonde_bare_put(sonde_to, %s%s, %" PRIu64 ");",
			      before, member->name, member->cls->count * bytes);
}

static void bare_put_fields(const struct bare_path *path,
			    const struct sonde_class *group);

/* Its tag, which is the option's position, and the option. */
static void bare_put_options(const struct bare_path *path,
			     const struct sonde_class *cls)
{
	struct sonde_class one = *cls;
	unsigned int nr = 0, position = 0;

	for (size_t i = 0; i < cls->nr_members; i++)
		nr += !sonde_generate_is_made(cls, i);
	bare_begin_line(path);
	(void)fprintf(path->to,
		      "{ const uint8_t sonde_tag = (unsigned)%swhich < %u ? "
		      "(uint8_t)%swhich : %u;",
		      path->before, nr, path->before, nr);
	bare_begin_line(path);
	(void)fputs("sonde_bare_put(sonde_to, &sonde_tag, 1); }", path->to);
	bare_begin_line(path);
	(void)fprintf(path->to, "switch ((int)%swhich) {", path->before);
	for (size_t i = 0; i < cls->nr_members; i++) {
		one.members = &cls->members[i];
		one.nr_members = 1;
		if (sonde_generate_is_made(cls, i)) {
			one.nr_members = 2; /* and what it is the length of */
			i++;
		}
		bare_begin_line(path);
		(void)fprintf(path->to, "case %u:", position++);
		bare_put_fields(path, &one);
		bare_begin_line(path);
		(void)fputs("break;", path->to);
	}
	bare_begin_line(path);
	(void)fputs("}", path->to);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void bare_put_group(const struct bare_path *path,
			   const struct sonde_member *member)
{
	char before[SONDE_GENERATE_NEST * 66];
	const struct bare_path inner = { before, path->depth + 1, path->to };

	(void)snprintf(before, sizeof(before), "%s%s%s", path->before,
		       member->name, path->depth ? "." : "->");
	if (member->cls->kind == SONDE_KIND_VARIANT)
		bare_put_options(&inner, member->cls);
	else
		bare_put_fields(&inner, member->cls);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void bare_put_fields(const struct bare_path *path,
			    const struct sonde_class *group)
{
	for (size_t i = 0; i < group->nr_members; i++) {
		const struct sonde_member *member = &group->members[i];
		const struct sonde_class *cls = member->cls;

		if (sonde_generate_is_made(group, i))
			continue;
		if (sonde_generate_is_group(cls)) {
			bare_put_group(path, member);
			continue;
		}
		bare_begin_line(path);
		if (cls->kind == SONDE_KIND_STRING)
			(void)fprintf(path->to,
				      "sonde_bare_put_string(sonde_to, %s%s, "
				      "%" PRIu64 ");",
				      path->before, member->name,
				      cls->count ? cls->count : INT32_MAX);
		else if (cls->nr_members)
			bare_put_many(path, member, member - 1);
		else
			bare_put_number(path, member);
	}
}

static void bare_put_event(const struct sonde_generate_model *model,
			   const struct sonde_generate_event *event,
			   unsigned int id, FILE *to)
{
	const struct bare_path path = { "", 0, to };

	sonde_generate_put_about("", event->about, to);
	(void)fprintf(to,
		      "SONDE_BARE_GENERATED void %s_%s("
		      "struct sonde_bare *sonde_to%s",
		      model->provider, event->name,
		      event->payload->nr_members ? ", " : "");
	sonde_generate_put_arguments(event->payload, to);
	(void)fprintf(to,
		      ")\n{\n        SONDE_BARE_LOCK(sonde_to);\n"
		      "        do {\n"
		      "                sonde_bare_begin(sonde_to, %u);",
		      id);
	bare_put_fields(&path, event->payload);
	(void)fputs("\n        } while (sonde_bare_end(sonde_to));\n"
		    "        SONDE_BARE_UNLOCK(sonde_to);\n}\n\n",
		    to);
}

static void bare_put_ring(const struct sonde_generate_model *model, FILE *to)
{
	uint8_t uuid[16];

	sonde_generate_uuid(model, uuid);
	(void)fputs("/* The initialiser of a struct sonde_bare. */\n#define ",
		    to);
	sonde_generate_put_upper(model->provider, to);
	(void)fputs("_RING(memory, packet_bytes, clock) \\\n"
		    "        SONDE_BARE_RING_(memory, packet_bytes, clock",
		    to);
	for (size_t i = 0; i < sizeof(uuid); i++)
		(void)fprintf(to, ",%s0x%02x",
			      i % 8 ? " " : " \\\n            ", uuid[i]);
	(void)fputs(")\n\n", to);
}

void sonde_generate_bare(const struct sonde_generate_model *model, FILE *to)
{
	unsigned int id = 1;

	(void)fprintf(to,
		      "/* Made by sonde generate: change the description, not "
		      "this. */\n"
		      "#ifndef SONDE_BARE_EVENTS_%s\n"
		      "#define SONDE_BARE_EVENTS_%s\n\n"
		      "#include <sonde/bare.h>\n\n",
		      model->provider, model->provider);
	sonde_generate_put_about("", model->about, to);
	sonde_generate_put_types(model, to);
	bare_put_ring(model, to);
	for (const struct sonde_generate_event *event = model->events; event;
	     event = event->next)
		bare_put_event(model, event, id++, to);
	(void)fputs("#endif\n", to);
}
