/* SPDX-License-Identifier: MIT */
/*
 * put.c - what an event's function does in programs and kernels without
 * libsonde: it puts its fields, one after the other, in the order and form that a
 * tracepoint's payload has, so that the metadata are the same.
 *
 * By sonde_TARGET_put(), _put_string() and _put_list(), of a header that is the
 * target's, into `sonde_to`.
 *
 * Recursion is bounded by SONDE_GENERATE_NEST.
 */
#include "generate/put.h"

#include <inttypes.h>
#include <string.h>

#include "base/port.h"
#include "generate/header.h"

/* Where a field is: what leads to it, and how deep; and of which target. */
struct body_path {
	const char *target;
	const char *before;
	int depth;
	FILE *to;
};

static void body_begin_line(const struct body_path *path)
{
	(void)fputs("\n                ", path->to);
}

/* Its C type may be as wide elsewhere, or not: long, say. */
static bool body_is_host_size(const struct sonde_class *cls)
{
	static const char *const fixed[] = { "int8_t", "int16_t", "int32_t",
					     "int64_t" };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(fixed); i++)
		if (strstr(cls->c_type, fixed[i]))
			return false;
	return cls->kind != SONDE_KIND_FLOAT && !cls->is_bool && !cls->is_char;
}

/* A compiler for which it has another size than here refuses it. */
static void body_host_size(const struct body_path *path, const char *star,
			   const char *name, unsigned int bytes)
{
	(void)fputs("SONDE_", path->to);
	sonde_generate_put_upper(path->target, path->to);
	(void)fprintf(path->to, "_HOST_(%s%s%s, %u);", star, path->before, name,
		      bytes);
}

/* The low bits, in the smallest number that holds them. */
static void body_bits(const struct body_path *path,
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
	body_begin_line(path);
	(void)fprintf(path->to, "sonde_%s_put(sonde_to, &sonde_bits, %u); }",
		      path->target, width / 8);
}

static void body_number(const struct body_path *path,
			const struct sonde_member *member)
{
	const unsigned int bytes = member->cls->bits / 8;

	if (member->cls->value_bits) {
		body_bits(path, member);
		return;
	}
	if (body_is_host_size(member->cls)) {
		body_host_size(path, "", member->name, bytes);
		body_begin_line(path);
	}
	(void)fprintf(path->to, "sonde_%s_put(sonde_to, &%s%s, %u);",
		      path->target, path->before, member->name, bytes);
}

/* `length`: the member with its number of elements, of those that have that. */
static void body_many(const struct body_path *path,
		      const struct sonde_member *member,
		      const struct sonde_member *length)
{
	const struct sonde_class *element = member->cls->members[0].cls;
	const unsigned int bytes = element->bits / 8;
	const char *before = path->before;

	if (!sonde_class_is_bytes(member->cls) && body_is_host_size(element)) {
		body_host_size(path, "*", member->name, bytes);
		body_begin_line(path);
	}
	if (member->cls->kind == SONDE_KIND_SEQUENCE)
		(void)fprintf(path->to,
			      "sonde_%s_put_list(sonde_to, %s%s, %s%s, %u);",
			      path->target, before, member->name, before,
			      length->name, bytes);
	else
		(void)fprintf(path->to,
			      "sonde_%s_put(sonde_to, %s%s, %" PRIu64 ");",
			      path->target, before, member->name,
			      member->cls->count * bytes);
}

static void body_fields(const struct body_path *path,
			const struct sonde_class *group);

/* Its tag, which is the option's position, and the option.
 * NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void body_options(const struct body_path *path,
			 const struct sonde_class *cls)
{
	struct sonde_class one = *cls;
	unsigned int nr = 0;
	unsigned int position = 0;

	for (size_t i = 0; i < cls->nr_members; i++)
		nr += !sonde_generate_is_made(cls, i);
	body_begin_line(path);
	(void)fprintf(path->to,
		      "{ const uint8_t sonde_tag = (unsigned)%swhich < %u ? "
		      "(uint8_t)%swhich : %u;",
		      path->before, nr, path->before, nr);
	body_begin_line(path);
	(void)fprintf(path->to, "sonde_%s_put(sonde_to, &sonde_tag, 1); }",
		      path->target);
	body_begin_line(path);
	(void)fprintf(path->to, "switch ((int)%swhich) {", path->before);
	for (size_t i = 0; i < cls->nr_members; i++) {
		one.members = &cls->members[i];
		one.nr_members = 1;
		if (sonde_generate_is_made(cls, i)) {
			one.nr_members = 2; /* and what it is the length of */
			i++;
		}
		body_begin_line(path);
		(void)fprintf(path->to, "case %u:", position++);
		body_fields(path, &one);
		body_begin_line(path);
		(void)fputs("break;", path->to);
	}
	body_begin_line(path);
	(void)fputs("}", path->to);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void body_group(const struct body_path *path,
		       const struct sonde_member *member)
{
	char before[(SONDE_GENERATE_NEST + 1) * 66];
	const struct body_path inner = { path->target, before, path->depth + 1,
					 path->to };

	(void)snprintf(before, sizeof(before), "%s%s%s", path->before,
		       member->name, path->depth ? "." : "->");
	if (member->cls->kind == SONDE_KIND_VARIANT)
		body_options(&inner, member->cls);
	else
		body_fields(&inner, member->cls);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void body_fields(const struct body_path *path,
			const struct sonde_class *group)
{
	for (size_t i = 0; i < group->nr_members; i++) {
		const struct sonde_member *member = &group->members[i];
		const struct sonde_class *cls = member->cls;

		if (sonde_generate_is_made(group, i))
			continue;
		if (sonde_generate_is_group(cls)) {
			body_group(path, member);
			continue;
		}
		body_begin_line(path);
		if (cls->kind == SONDE_KIND_STRING)
			(void)fprintf(path->to,
				      "sonde_%s_put_string(sonde_to, %s%s, "
				      "%" PRIu64 ");",
				      path->target, path->before, member->name,
				      cls->count ? cls->count : INT32_MAX);
		else if (cls->nr_members)
			body_many(path, member, member - 1);
		else
			body_number(path, member);
	}
}

void sonde_generate_put_fields(const char *target, const char *before,
			       const struct sonde_class *payload, FILE *to)
{
	const struct body_path path = { target, before, 0, to };

	body_fields(&path, payload);
}
