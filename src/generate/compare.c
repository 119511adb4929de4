/* SPDX-License-Identifier: MIT */
/*
 * compare.c - what two models differ in, as readers of traces see it.
 *
 * Readers go by names: new events, fields and labels, another order, level or
 * wider numbers are compatible; what is gone, what is another kind of thing, a
 * number that became narrower or changed its sign, and a label that stands for
 * other values are not. Types' own names don't matter.
 */
#include <stdarg.h>
#include <string.h>

#include "generate/model.h"
#include "types/select.h"

struct comparison {
	FILE *to;
	const char *provider;
	size_t nr;      /* incompatible differences */
	char path[640]; /* of what is compared */
};

__attribute__((format(printf, 3, 4))) static void
say_difference(struct comparison *comparison, bool compatible,
	       const char *format, ...)
{
	va_list args;

	comparison->nr += !compatible;
	(void)fprintf(comparison->to,
		      "%s: %s: ", compatible ? "compatible" : "incompatible",
		      comparison->path);
	va_start(args, format);
	(void)vfprintf(comparison->to, format, args);
	va_end(args);
	(void)fputc('\n', comparison->to);
}

static const struct sonde_member *
diff_find_member(const struct sonde_class *group, const char *name)
{
	for (size_t i = 0; i < group->nr_members; i++)
		if (!sonde_generate_is_made(group, i) &&
		    !strcmp(group->members[i].name, name))
			return &group->members[i];
	return NULL;
}

/* ---- labels ---- */

static bool has_label(const struct sonde_class *cls,
		      const struct sonde_label *label)
{
	for (size_t i = 0; i < cls->nr_labels; i++)
		if (cls->labels[i].low == label->low &&
		    cls->labels[i].high == label->high &&
		    !strcmp(cls->labels[i].name, label->name))
			return true;
	return false;
}

static void diff_compare_labels(struct comparison *comparison,
				const struct sonde_class *old,
				const struct sonde_class *now)
{
	for (size_t i = 0; i < old->nr_labels; i++)
		if (!has_label(now, &old->labels[i]))
			say_difference(comparison, false,
				       "label '%s' is gone or has other values",
				       old->labels[i].name);
	for (size_t i = 0; i < now->nr_labels; i++)
		if (!has_label(old, &now->labels[i]))
			say_difference(comparison, true, "label '%s' is new",
				       now->labels[i].name);
}

/* ---- numbers ---- */

static unsigned int width_of(const struct sonde_class *cls)
{
	return cls->value_bits ? cls->value_bits : cls->bits;
}

static void diff_compare_numbers(struct comparison *comparison,
				 const struct sonde_class *old,
				 const struct sonde_class *now)
{
	if (!old->nr_labels != !now->nr_labels ||
	    old->is_bool != now->is_bool || old->is_char != now->is_char)
		say_difference(comparison, false, "another type: %s, now %s",
			       old->nr_labels ? "enumeration" : old->c_type,
			       now->nr_labels ? "enumeration" : now->c_type);
	else if (width_of(old) != width_of(now))
		say_difference(comparison, width_of(old) < width_of(now),
			       "%u bits, now %u", width_of(old), width_of(now));
	if (old->base != now->base || old->big_endian != now->big_endian)
		say_difference(comparison, true,
			       "shown or stored in another way");
	if (old->nr_labels && now->nr_labels)
		diff_compare_labels(comparison, old, now);
}

/* ---- fields ---- */

static void compare_fields(struct comparison *comparison,
			   const struct sonde_class *old,
			   const struct sonde_class *now);

static void compare_bounds(struct comparison *comparison,
			   const struct sonde_class *old,
			   const struct sonde_class *now)
{
	bool string = old->kind == SONDE_KIND_STRING;

	if (old->count != now->count)
		say_difference(comparison, string,
			       "up to %llu %s, now %llu (0: any)",
			       (unsigned long long)old->count,
			       string ? "bytes" : "elements",
			       (unsigned long long)now->count);
}

static const char *diff_word(const struct sonde_class *cls)
{
	return cls->kind == SONDE_KIND_STRUCT  ? "structure" :
	       cls->kind == SONDE_KIND_VARIANT ? "variant" :
						 cls->c_type;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void compare_classes(struct comparison *comparison,
			    const struct sonde_class *old,
			    const struct sonde_class *now)
{
	if (old->kind != now->kind ||
	    sonde_class_is_bytes(old) != sonde_class_is_bytes(now)) {
		say_difference(comparison, false, "another type: %s, now %s",
			       diff_word(old), diff_word(now));
		return;
	}
	if (sonde_generate_is_group(old)) {
		compare_fields(comparison, old, now);
		return;
	}
	compare_bounds(comparison, old, now);
	if (old->nr_members)
		compare_classes(comparison, old->members[0].cls,
				now->members[0].cls);
	else if (old->bits)
		diff_compare_numbers(comparison, old, now);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void compare_fields(struct comparison *comparison,
			   const struct sonde_class *old,
			   const struct sonde_class *now)
{
	size_t end = strlen(comparison->path);

	for (size_t i = 0; i < old->nr_members; i++) {
		const char *name = old->members[i].name;
		const struct sonde_member *member = diff_find_member(now, name);

		if (sonde_generate_is_made(old, i))
			continue;
		(void)snprintf(comparison->path + end,
			       sizeof(comparison->path) - end, ".%s", name);
		if (member)
			compare_classes(comparison, old->members[i].cls,
					member->cls);
		else
			say_difference(comparison, false, "field is gone");
		comparison->path[end] = 0;
	}
	for (size_t i = 0; i < now->nr_members; i++)
		if (!sonde_generate_is_made(now, i) &&
		    !diff_find_member(old, now->members[i].name))
			say_difference(comparison, true, "field '%s' is new",
				       now->members[i].name);
}

/* ---- events ---- */

static const struct sonde_generate_event *
diff_find_event(const struct sonde_generate_model *model, const char *name)
{
	const struct sonde_generate_event *event = model->events;

	while (event && strcmp(event->name, name) != 0)
		event = event->next;
	return event;
}

static void diff_compare_event(struct comparison *comparison,
			       const struct sonde_generate_event *old,
			       const struct sonde_generate_event *now)
{
	if (!now) {
		say_difference(comparison, false, "event is gone");
		return;
	}
	if (old->level != now->level)
		say_difference(comparison, true, "level %s, now %s",
			       sonde_level_name(old->level),
			       sonde_level_name(now->level));
	compare_fields(comparison, old->payload, now->payload);
}

static void diff_name_event(struct comparison *comparison, const char *name)
{
	(void)snprintf(comparison->path, sizeof(comparison->path), "%s:%s",
		       comparison->provider, name);
}

size_t sonde_generate_compare(const struct sonde_generate_model *old,
			      const struct sonde_generate_model *now, FILE *to)
{
	struct comparison comparison = { .to = to, .provider = old->provider };

	(void)snprintf(comparison.path, sizeof(comparison.path), "%s",
		       old->provider);
	if (strcmp(old->provider, now->provider) != 0)
		say_difference(&comparison, false, "the provider is '%s' now",
			       now->provider);
	for (const struct sonde_generate_event *event = old->events; event;
	     event = event->next) {
		diff_name_event(&comparison, event->name);
		diff_compare_event(&comparison, event,
				   diff_find_event(now, event->name));
	}
	for (const struct sonde_generate_event *event = now->events; event;
	     event = event->next) {
		diff_name_event(&comparison, event->name);
		if (!diff_find_event(old, event->name))
			say_difference(&comparison, true, "event is new");
	}
	return comparison.nr;
}
