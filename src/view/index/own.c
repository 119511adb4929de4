/* SPDX-License-Identifier: MIT */
/*
 * own.c - playing a user's rules (own.h).
 *
 * Of each event class it is found out once which rules can be true of it (a bit
 * each). An event of no such class costs a look into an array; of others, their
 * expressions, and a look into a hash table if one is true.
 */
#include "view/index/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/lost.h"
#include "reader/key.h"
#include "reader/reader.h"
#include "view/export/pairs.h"
#include "view/export/who.h"

struct own_edge {
	struct sonde_filter *when, *name; /* NULL: none */
};

struct own_rule {
	const struct sonde_view_rule *rule;
	struct sonde_filter *per;
	struct own_edge edges[SONDE_VIEW_RULE_EDGES];
	/* of its events, and of those of rules of the same row: */
	struct sonde_lost lost;
	uint32_t sources;
};

/* A row, and what it is. */
struct own_row {
	struct sonde_key key; /* its name */
	int32_t next;         /* 1 + its number */
	struct sonde_view_since is;
};

struct sonde_view_own {
	struct sonde_view_build *build;
	struct sonde_trace *trace;
	struct own_rule rules[SONDE_VIEW_RULES];
	size_t nr;
	uint64_t *wanted;       /* by class: the rules that can be true of it */
	struct sonde_hash rows; /* struct own_row */
	struct sonde_export_names names;
	uint32_t *numbers; /* of names in the build; 0: none yet */
};

/* ---- which rules fit ---- */

static void own_rule_fini(struct own_rule *rule)
{
	sonde_lost_fini(&rule->lost);
	sonde_filter_free(rule->per);
	for (size_t i = 0; i < SONDE_VIEW_RULE_EDGES; i++) {
		sonde_filter_free(rule->edges[i].when);
		sonde_filter_free(rule->edges[i].name);
	}
}

static int compile_one(struct sonde_trace *trace, const char *text,
		       struct sonde_trace_error *error,
		       struct sonde_filter **ret_filter)
{
	return text ? sonde_filter_new(trace, text, error, ret_filter) : 0;
}

/* 0, -ENOMEM; -EINVAL: it doesn't fit, said why. */
static int compile_rule(struct sonde_trace *trace,
			const struct sonde_view_rule *rule, struct own_rule *to,
			struct sonde_trace_error *error)
{
	int err;

	*to = (struct own_rule){ .rule = rule };
	err = compile_one(trace, rule->per, error, &to->per);
	for (size_t i = 0; !err && i < rule->nr_edges; i++) {
		err = compile_one(trace, rule->edges[i].when, error,
				  &to->edges[i].when);
		if (!err)
			err = compile_one(trace, rule->edges[i].name, error,
					  &to->edges[i].name);
	}
	if (err)
		own_rule_fini(to);
	return err;
}

static int compile_rules(struct sonde_view_own *own,
			 const struct sonde_view_rules *rules, char *unfit,
			 size_t size)
{
	*unfit = 0;
	for (size_t i = 0; i < rules->nr; i++) {
		const struct sonde_view_rule *rule = rules->rules[i];
		struct sonde_trace_error error = { .column = 0 };
		int err = compile_rule(own->trace, rule, &own->rules[own->nr],
				       &error);

		if (err == -ENOMEM)
			return err;
		if (!err)
			own->nr++;
		else if (!*unfit)
			(void)snprintf(unfit, size,
				       "no row '%.30s' (%.50s:%u): %s",
				       rule->row, rule->file, rule->line,
				       error.text);
	}
	return 0;
}

static uint64_t rules_of_class(const struct sonde_view_own *own,
			       const struct sonde_event_class *cls)
{
	uint64_t wanted = 0;

	for (size_t i = 0; i < own->nr; i++)
		for (size_t k = 0; k < own->rules[i].rule->nr_edges; k++)
			if (sonde_filter_wants(own->rules[i].edges[k].when,
					       cls))
				wanted |= UINT64_C(1) << i;
	return wanted;
}

/* Rules of the same row tell of each other's states. */
static uint64_t rules_of_row(const struct sonde_view_own *own, const char *row)
{
	uint64_t rules = 0;

	for (size_t i = 0; i < own->nr; i++)
		if (!strcmp(own->rules[i].rule->row, row))
			rules |= UINT64_C(1) << i;
	return rules;
}

uint32_t sonde_view_own_source(const struct sonde_trace *trace,
			       const struct sonde_source *source)
{
	size_t nr = sonde_trace_nr_sources(trace);
	uint32_t bit = 1;

	for (size_t i = 0; i < nr && i < 31; i++, bit <<= 1)
		if (sonde_trace_source(trace, i) == source)
			break;
	return bit;
}

static uint32_t source_of_class(const struct sonde_view_own *own, size_t i)
{
	struct sonde_event_class_info info;

	sonde_event_class_get_info(sonde_trace_event_class(own->trace, i),
				   &info);
	return sonde_view_own_source(own->trace, info.source);
}

static int own_read_lost(struct sonde_view_own *own)
{
	size_t nr = sonde_trace_nr_event_classes(own->trace);
	uint8_t *wanted = calloc(nr + 1, 1);
	int err = wanted ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < own->nr; i++) {
		struct own_rule *rule = &own->rules[i];
		uint64_t rules = rules_of_row(own, rule->rule->row);

		for (size_t k = 0; k < nr; k++) {
			wanted[k] = (own->wanted[k] & rules) != 0;
			if (wanted[k])
				rule->sources |= source_of_class(own, k);
		}
		err = sonde_lost_read(&rule->lost, own->trace, wanted);
	}
	free(wanted);
	return err;
}

static int own_wanted(struct sonde_view_own *own)
{
	size_t nr = sonde_trace_nr_event_classes(own->trace);

	own->wanted = calloc(nr + 1, sizeof(*own->wanted));
	own->numbers = calloc(SONDE_NAMES_MAX, sizeof(*own->numbers));
	if (!own->wanted || !own->numbers)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		own->wanted[i] = rules_of_class(
			own, sonde_trace_event_class(own->trace, i));
	return own_read_lost(own);
}

int sonde_view_own_new(struct sonde_view_build *build,
		       struct sonde_trace *trace,
		       const struct sonde_view_rules *rules, char *unfit,
		       size_t size, struct sonde_view_own **ret_own)
{
	struct sonde_view_own *own = calloc(1, sizeof(*own));
	int err;

	*ret_own = NULL;
	if (!own)
		return -ENOMEM;
	own->build = build;
	own->trace = trace;
	sonde_hash_init(&own->rows, sizeof(struct own_row), SONDE_VIEW_OWN);
	err = sonde_export_names_init(&own->names);
	if (!err)
		err = compile_rules(own, rules, unfit, size);
	if (!err && own->nr)
		err = own_wanted(own);
	if (err || !own->nr)
		sonde_view_own_free(own);
	else
		*ret_own = own;
	return err;
}

void sonde_view_own_free(struct sonde_view_own *own)
{
	if (!own)
		return;
	for (size_t i = 0; i < own->nr; i++)
		own_rule_fini(&own->rules[i]);
	sonde_hash_fini(&own->rows);
	sonde_export_names_fini(&own->names);
	free(own->wanted);
	free(own->numbers);
	free(own);
}

/* ---- what they do ---- */

/* The row's name: the rule's, and the value if there is one for each. False: the
 * event has none. */
static bool own_row_name(const struct own_rule *rule,
			 const struct sonde_event *event,
			 char to[SONDE_VIEW_ROW_NAME])
{
	struct sonde_key key;
	int at = snprintf(to, SONDE_VIEW_ROW_NAME, "%.30s", rule->rule->row);

	if (!rule->per)
		return true;
	if (sonde_filter_key(rule->per, NULL, event, &key))
		return false;
	to[at++] = ' ';
	(void)sonde_key_text(&key, to + at, SONDE_VIEW_ROW_NAME - (size_t)at);
	return true;
}

static int make_own_row(struct sonde_view_own *own, const struct own_rule *rule,
			struct own_row *row, const char *name)
{
	struct sonde_view_build *build = own->build;
	int at;

	row->next = (int32_t)own->rows.nr_entries;
	(void)pthread_rwlock_wrlock(build->lock);
	at = sonde_view_build_row(build, SONDE_VIEW_ROW_OWN, row->next - 1);
	if (at >= 0) {
		build->rows.rows[at].sources = rule->sources;
		(void)snprintf(build->rows.rows[at].name, SONDE_VIEW_ROW_NAME,
			       "%s", name);
	}
	(void)pthread_rwlock_unlock(build->lock);
	return at < 0 && at != -E2BIG ? at : 0;
}

/* What began is called; 0: there are too many names. */
static uint32_t own_name(struct sonde_view_own *own,
			 const struct own_edge *edge,
			 const struct sonde_event *event)
{
	const char *text = sonde_event_name(event);
	struct sonde_value value;
	uint32_t name;

	if (edge->name && sonde_filter_value(edge->name, event, &value) == 0)
		name = sonde_pairs_value_name(&own->names, "", &value);
	else
		name = sonde_export_names_get(&own->names, text, strlen(text));
	if (!own->numbers[name])
		own->numbers[name] = sonde_view_build_name(
			own->build, own->names.texts[name]);
	return own->numbers[name];
}

static int cross_edge(struct sonde_view_own *own, const struct own_rule *rule,
		      size_t i, const struct sonde_event *event)
{
	bool begins = rule->rule->edges[i].begins;
	char name[SONDE_VIEW_ROW_NAME];
	struct own_row *row;
	struct sonde_key key;
	int err = 0;

	if (!own_row_name(rule, event, name))
		return 0;
	key = sonde_key_of_text(name, strlen(name));
	row = sonde_hash_put(&own->rows, &key);
	if (!row) {
		own->build->left_out++;
		err = sonde_hash_error(&own->rows);
		return err == -E2BIG ? 0 : err;
	}
	if (!row->next)
		err = make_own_row(own, rule, row, name);
	sonde_view_build_end(own->build, SONDE_VIEW_ROW_OWN, row->next - 1,
			     &row->is, event->time_ns);
	row->is = (struct sonde_view_since){
		.begin_ns = event->time_ns,
		.until_ns = sonde_lost_next(&rule->lost),
		.state = begins ? SONDE_VIEW_SPAN : SONDE_VIEW_UNKNOWN,
		.about = begins ? own_name(own, &rule->edges[i], event) : 0,
	};
	return err;
}

static int own_feed(void *ctx, const struct sonde_event *event,
		    const struct sonde_spans_who *who)
{
	struct sonde_view_own *own = ctx;
	uint64_t left = own->wanted[sonde_event_class_index(event->cls)];
	int err = 0;

	(void)who;
	if (event->time_ns == SONDE_TIME_MIN)
		return 0;
	for (; !err && left; left &= left - 1) {
		struct own_rule *rule = &own->rules[__builtin_ctzll(left)];

		if (sonde_lost_pass(&rule->lost, event->time_ns))
			continue;
		for (size_t i = 0; i < rule->rule->nr_edges; i++)
			if (sonde_filter_match(rule->edges[i].when, event)) {
				err = cross_edge(own, rule, i, event);
				break;
			}
	}
	return err;
}

int sonde_view_own_run(struct sonde_view_own *own,
		       const struct sonde_map_options *options, int64_t end_ns)
{
	struct own_row *row = NULL;
	int err = sonde_who_run(own->trace, options, own_feed, own);

	while ((row = sonde_hash_next(&own->rows, row)))
		sonde_view_build_end(own->build, SONDE_VIEW_ROW_OWN,
				     row->next - 1, &row->is, end_ns);
	sonde_view_build_flush(own->build);
	return err ? err : own->build->error;
}
