/* SPDX-License-Identifier: MIT */
/*
 * pairs.c - the table of known pairs, and what it says of a trace's classes.
 *
 * A pattern has at most one star. What the star stands for in the begin's name
 * is the stem: "openat" of "syscall_entry_openat". Begin and end are one pair
 * if they fit the same line with the same stem. The first line that fits
 * counts, so particular ones stand above general ones. An ending such as
 * "_end" alone proves nothing, so a class is taken for an end only if the
 * trace has the begin, and the other way round.
 */
#include "view/export/pairs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "reader/key.h"
#include "reader/reader.h"

struct pair {
	const char *begin, *end;
	const char *field;  /* whose value is the name; NULL: the stem is */
	const char *label;  /* before that value or stem */
	const char *since;  /* a field: the clock when it began; NULL: none */
	const char *called; /* all of the line; NULL: by the stem */
	enum sonde_pair_place place;
	bool code;  /* the field is a function's address: its name is wanted */
	bool lone;  /* the end also comes alone */
	bool whole; /* the name is the begin's whole name, not the stem */
	bool flat;  /* one at a time: another begin, or any end of this line,
		    * whatever its stem, ends it */
};

static const struct pair known[] = {
	/* functions, by the compiler's instrumentation */
	{ .begin = "*:func_entry",
	  .end = "*:func_exit",
	  .field = "addr",
	  .code = true },
	{ .begin = "function:entry",
	  .end = "function:exit",
	  .field = "addr",
	  .code = true },
	{ .begin = "function:begin",
	  .end = "function:end",
	  .field = "addr",
	  .since = "since",
	  .code = true },
	/* kernel; "sys_" and "exit_syscall" are older tracers' */
	{ .begin = "syscall_entry_*",
	  .end = "syscall_exit_*",
	  .called = "system calls",
	  .flat = true },
	{ .begin = "compat_syscall_entry_*",
	  .end = "compat_syscall_exit_*",
	  .called = "system calls of 32 bits",
	  .flat = true },
	{ .begin = "sys_*",
	  .end = "exit_syscall",
	  .called = "system calls",
	  .flat = true },
	{ .begin = "irq_handler_entry",
	  .end = "irq_handler_exit",
	  .called = "interrupts",
	  .field = "name",
	  .label = "irq ",
	  .place = SONDE_PAIR_CPU },
	{ .begin = "irq_softirq_entry",
	  .end = "irq_softirq_exit",
	  .called = "soft interrupts",
	  .field = "vec",
	  .label = "softirq ",
	  .place = SONDE_PAIR_CPU },
	{ .begin = "softirq_entry",
	  .end = "softirq_exit",
	  .called = "soft interrupts",
	  .field = "vec",
	  .label = "softirq ",
	  .place = SONDE_PAIR_CPU },
	{ .begin = "x86_irq_vectors_*_entry",
	  .end = "x86_irq_vectors_*_exit",
	  .called = "interrupts",
	  .label = "irq ",
	  .place = SONDE_PAIR_CPU },
	/* what Sonde records of the C library */
	{ .begin = "malloc:realloc_begin",
	  .end = "malloc:realloc",
	  .called = "malloc:realloc",
	  .lone = true },
	{ .begin = "lock:cond_wait",
	  .end = "lock:cond_wake",
	  .called = "waits for conditions",
	  .lone = true,
	  .whole = true },
	{ .begin = "lock:*_wait",
	  .end = "lock:*_lock",
	  .called = "waits for locks",
	  .lone = true,
	  .whole = true },
	/* anybody's */
	{ .begin = "*_entry", .end = "*_exit" },
	{ .begin = "*_enter", .end = "*_exit" },
	{ .begin = "*_begin", .end = "*_end" },
	{ .begin = "*_start", .end = "*_stop" },
	{ .begin = "*:begin", .end = "*:end" },
	{ .begin = "*:start", .end = "*:stop" },
};

/* Events after which their thread does nothing more: these calls don't return. */
static const char *const lasts[] = {
	"syscall_entry_exit",
	"syscall_entry_exit_group",
	"sched_process_exit",
};

/* What is known of an event class: the edge, but for names that an event's
 * field makes. */
struct sonde_pair_class {
	struct sonde_edge edge;
	const char *label;
	bool has_field;
	bool is_code;
	bool has_since;
	struct sonde_field field, since;
};

struct stem {
	const char *text;
	size_t length;
};

/* Whether the name fits the pattern, and what its star stands for. */
static bool pairs_fits(const char *pattern, const char *name,
		       struct stem *ret_stem)
{
	const char *star = strchr(pattern, '*');
	size_t length = strlen(name);

	if (!star) {
		*ret_stem = (struct stem){ name, length };
		return strcmp(pattern, name) == 0;
	}
	size_t before = (size_t)(star - pattern);
	size_t after = strlen(star + 1);
	if (length <= before + after || memcmp(name, pattern, before) != 0 ||
	    memcmp(name + length - after, star + 1, after) != 0)
		return false;
	*ret_stem = (struct stem){ name + before, length - before - after };
	return true;
}

/* How a class fits a line of the table. */
struct fit {
	const struct pair *pair;
	bool begins;
	struct stem stem;
	uint32_t kind; /* equal for both ends of a pair */
};

static uint32_t pairs_kind_of(struct sonde_export_names *names,
			      const struct pair *pair, const struct stem *stem)
{
	char text[SONDE_NAME_MAX];
	bool stems = strchr(pair->begin, '*') && !pair->flat;
	int length = snprintf(text, sizeof(text), "%s %.*s", pair->begin,
			      stems ? (int)stem->length : 0, stem->text);

	return sonde_export_names_get(names, text, (size_t)length);
}

/* The next line, from *line on, that the name fits; false: none. */
static bool next_fit(struct sonde_export_names *names, const char *name,
		     size_t *line, struct fit *ret_fit)
{
	for (; *line < SONDE_ARRAY_SIZE(known); (*line)++) {
		const struct pair *pair = &known[*line];
		bool begins = pairs_fits(pair->begin, name, &ret_fit->stem);

		if (!begins && !pairs_fits(pair->end, name, &ret_fit->stem))
			continue;
		ret_fit->pair = pair;
		ret_fit->begins = begins;
		ret_fit->kind = pairs_kind_of(names, pair, &ret_fit->stem);
		(*line)++;
		return true;
	}
	return false;
}

static const char *class_name(const struct sonde_event_class *cls)
{
	struct sonde_event_class_info info;

	sonde_event_class_get_info(cls, &info);
	return info.internal ? "" : info.name;
}

/* Of each kind, which ends the trace's classes have. */
#define HAS_BEGIN 1
#define HAS_END   2

static uint32_t name_of(struct sonde_export_names *names, const struct fit *fit,
			const char *name)
{
	const struct pair *pair = fit->pair;
	const char *label = pair->label ? pair->label : "";
	char text[SONDE_NAME_MAX];
	int length;

	if (pair->whole || !strchr(pair->begin, '*'))
		return sonde_export_names_get(names, name, strlen(name));
	length = snprintf(text, sizeof(text), "%s%.*s", label,
			  (int)fit->stem.length, fit->stem.text);
	return sonde_export_names_get(
		names, text,
		length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

static void describe(struct sonde_pairs *pairs,
		     const struct sonde_event_class *cls, const struct fit *fit,
		     struct sonde_pair_class *of)
{
	const struct pair *pair = fit->pair;

	of->edge = (struct sonde_edge){
		.begins = fit->begins,
		.ends = !fit->begins,
		.place = pair->place,
		.kind = fit->kind,
		.lone = pair->lone,
		.flat = pair->flat,
	};
	of->label = pair->label ? pair->label : "";
	of->has_field = pair->field &&
			sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD,
						pair->field, &of->field) == 0;
	of->is_code = of->has_field && pair->code;
	of->has_since = fit->begins && pair->since &&
			sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD,
						pair->since, &of->since) == 0;
	if (fit->begins && !of->has_field)
		of->edge.name = name_of(pairs->names, fit, class_name(cls));
	if (fit->begins)
		pairs->any = true;
}

static bool is_last(const char *name)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(lasts); i++)
		if (strcmp(name, lasts[i]) == 0)
			return true;
	return false;
}

static int pairs_classify(struct sonde_pairs *pairs)
{
	const struct sonde_trace *trace = pairs->config.trace;
	size_t nr = sonde_trace_nr_event_classes(trace);
	uint8_t *kinds = calloc(SONDE_NAMES_MAX, 1);

	pairs->classes = calloc(nr ? nr : 1, sizeof(*pairs->classes));
	if (!kinds || !pairs->classes) {
		free(kinds);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++) {
		const char *name =
			class_name(sonde_trace_event_class(trace, i));
		struct fit fit;

		for (size_t line = 0;
		     next_fit(pairs->names, name, &line, &fit);)
			kinds[fit.kind] |= fit.begins ? HAS_BEGIN : HAS_END;
	}
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_event_class *cls =
			sonde_trace_event_class(trace, i);
		const char *name = class_name(cls);
		struct fit fit;
		size_t line = 0;

		pairs->classes[i].edge.last = is_last(name);
		while (!pairs->classes[i].edge.last &&
		       next_fit(pairs->names, name, &line, &fit)) {
			if (kinds[fit.kind] != (HAS_BEGIN | HAS_END) ||
			    (pairs->config
				     .no_kernel && /* its lines are those */
			     (fit.pair->flat ||
			      fit.pair->place == SONDE_PAIR_CPU)))
				continue;
			describe(pairs, cls, &fit, &pairs->classes[i]);
			break;
		}
	}
	free(kinds);
	return 0;
}

int sonde_pairs_init(struct sonde_pairs *pairs,
		     const struct sonde_pairs_config *config,
		     struct sonde_export_names *names)
{
	*pairs = (struct sonde_pairs){ .config = *config, .names = names };
	pairs->any = config->begin;
	if (config->begin)
		return 0;
	pairs->code = sonde_pair_function_new(config->trace);
	return pairs->code ? pairs_classify(pairs) : -ENOMEM;
}

void sonde_pairs_fini(struct sonde_pairs *pairs)
{
	sonde_pair_function_free(pairs->code);
	free(pairs->classes);
	pairs->code = NULL;
	pairs->classes = NULL;
}

/* ---- which pairs there are ---- */

#define NAME_ROOM (4 * SONDE_NAME_MAX) /* each of its letters may be "\\x7f" */

/* A stem within a string of the language of filters. */
static size_t put_stem(char *to, const struct stem *stem)
{
	size_t used = 0;

	for (size_t i = 0; i < stem->length; i++) {
		unsigned char letter = (unsigned char)stem->text[i];

		if (letter < ' ' || letter == 0x7f) {
			used += (size_t)snprintf(to + used, 5, "\\x%02x",
						 letter);
			continue;
		}
		if (strchr("\"\\*?[", letter))
			to[used++] = '\\';
		to[used++] = (char)letter;
	}
	to[used] = '\0';
	return used;
}

/* The condition of an end of a pair: its pattern, with the stem for the star. */
static void put_end_condition(char *to, size_t room, const char *pattern,
			      const char *stem)
{
	const char *star = strchr(pattern, '*');

	if (star && stem)
		(void)snprintf(to, room, "event == \"%.*s%s%s\"",
			       (int)(star - pattern), pattern, stem, star + 1);
	else
		(void)snprintf(to, room, "event == \"%s\"", pattern);
}

static void tell_pair(const struct fit *fit, sonde_pair_tell *tell, void *ctx)
{
	const struct pair *pair = fit->pair;
	bool stems = strchr(pair->begin, '*') && !pair->flat;
	char stem[NAME_ROOM + 1];
	char begin[NAME_ROOM + 64];
	char end[sizeof(begin)];
	char name[SONDE_NAME_MAX];

	if (stems && fit->stem.length >= SONDE_NAME_MAX)
		return; /* no condition is as long */
	if (stems)
		put_stem(stem, &fit->stem);
	put_end_condition(begin, sizeof(begin), pair->begin,
			  stems ? stem : NULL);
	put_end_condition(end, sizeof(end), pair->end, stems ? stem : NULL);
	(void)snprintf(name, sizeof(name), "%s%s%.*s",
		       pair->called ? pair->called : "",
		       pair->called && stems ? ": " : "",
		       stems ? (int)fit->stem.length : 0, fit->stem.text);
	tell(ctx, &(struct sonde_pair_told){ name, begin, end, pair->place });
}

static bool is_kind_told(const struct sonde_pairs *pairs, size_t nr,
			 uint32_t kind)
{
	for (size_t i = 0; i < nr; i++)
		if (pairs->classes[i].edge.begins &&
		    pairs->classes[i].edge.kind == kind)
			return true;
	return false;
}

void sonde_pairs_each(const struct sonde_pairs *pairs, sonde_pair_tell *tell,
		      void *ctx)
{
	const struct sonde_trace *trace = pairs->config.trace;

	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		const struct sonde_edge *edge = &pairs->classes[i].edge;
		const char *name =
			class_name(sonde_trace_event_class(trace, i));
		struct fit fit = { .kind = 0 };
		size_t line = 0;

		if (!edge->begins || is_kind_told(pairs, i, edge->kind))
			continue;
		while (next_fit(pairs->names, name, &line, &fit) &&
		       fit.kind != edge->kind)
			;
		if (fit.kind == edge->kind && !fit.pair->code)
			tell_pair(&fit, tell, ctx);
	}
}

bool sonde_pairs_has_begin(const struct sonde_pairs *pairs,
			   const struct sonde_source *source)
{
	const struct sonde_trace *trace = pairs->config.trace;

	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		struct sonde_event_class_info info;

		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		if (info.source == source && pairs->classes[i].edge.begins)
			return true;
	}
	return false;
}

uint32_t sonde_pairs_value_name(struct sonde_export_names *names,
				const char *label,
				const struct sonde_value *value)
{
	char text[SONDE_NAME_MAX];
	struct sonde_key key;
	size_t used;

	if (sonde_value_key(value, &key) != 0)
		return 0;
	used = (size_t)snprintf(text, sizeof(text), "%s", label);
	(void)sonde_key_text(&key, text + used, sizeof(text) - used);
	return sonde_export_names_get(names, text, strlen(text));
}

/* Of a function its name, if that is known. */
static uint32_t class_field_name(const struct sonde_pairs *pairs,
				 const struct sonde_pair_class *of,
				 const struct sonde_event *event,
				 const struct sonde_value *value)
{
	uint32_t name = 0;

	if (of->is_code && value->kind <= SONDE_KIND_INT)
		name = sonde_pair_function_name(pairs->code, pairs->names,
						event, value->u);
	return name ? name :
		      sonde_pairs_value_name(pairs->names, of->label, value);
}

static uint32_t pairs_user_name(const struct sonde_pairs *pairs,
				const struct sonde_event *event)
{
	struct sonde_value value;
	const char *name;

	if (pairs->config.name &&
	    sonde_filter_value(pairs->config.name, event, &value) == 0)
		return sonde_pairs_value_name(pairs->names, "", &value);
	name = sonde_event_name(event);
	return sonde_export_names_get(pairs->names, name, strlen(name));
}

static void user_edge(const struct sonde_pairs *pairs,
		      const struct sonde_event *event,
		      struct sonde_edge *ret_edge)
{
	const struct sonde_pairs_config *config = &pairs->config;
	struct sonde_edge edge = { .begin_ns = event->time_ns };

	edge.begins = sonde_filter_match(config->begin, event);
	edge.ends = config->end && sonde_filter_match(config->end, event);
	if (edge.begins)
		edge.name = pairs_user_name(pairs, event);
	*ret_edge = edge;
}

void sonde_pairs_edge(const struct sonde_pairs *pairs,
		      const struct sonde_event *event,
		      struct sonde_edge *ret_edge)
{
	struct sonde_event_class_info info;
	const struct sonde_pair_class *of;
	struct sonde_value value;

	if (pairs->config.begin) {
		user_edge(pairs, event, ret_edge);
		return;
	}
	sonde_event_class_get_info(event->cls, &info);
	of = &pairs->classes[info.index];
	*ret_edge = of->edge;
	if (of->has_field && sonde_event_value(event, &of->field, &value) == 0)
		ret_edge->name = class_field_name(pairs, of, event, &value);
	ret_edge->begin_ns = event->time_ns;
	if (of->has_since && sonde_event_value(event, &of->since, &value) == 0)
		ret_edge->begin_ns = sonde_event_since_ns(event, value.u);
}
