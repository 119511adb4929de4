/* SPDX-License-Identifier: MIT */
/*
 * declared.c - playing a user's rules (declared.h).
 *
 * Of each event class it is found out once which rules can be true of it: there is a
 * hook for each of these, which tries the rule's lines.
 */
#include "view/index/declared.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/plugin/run.h"

struct declared_edge {
	struct sonde_filter *when, *name; /* NULL: none */
	struct sonde_filter *value, *add; /* likewise */
};

struct declared_rule {
	const struct sonde_view_rule *rule;
	struct sonde_filter *per;
	struct declared_edge edges[SONDE_VIEW_RULE_EDGES];
};

struct declared_state {
	struct declared_rule rules[SONDE_VIEW_RULES];
	size_t nr;
	bool sets; /* one has a `value`: only then a counter is known */
};

/* ---- which rules fit ---- */

static void fini_declared_rule(struct declared_rule *rule)
{
	sonde_filter_free(rule->per);
	for (size_t i = 0; i < SONDE_VIEW_RULE_EDGES; i++) {
		sonde_filter_free(rule->edges[i].when);
		sonde_filter_free(rule->edges[i].name);
		sonde_filter_free(rule->edges[i].value);
		sonde_filter_free(rule->edges[i].add);
	}
}

static int compile_one(struct sonde_trace *trace, const char *text,
		       struct sonde_trace_error *error,
		       struct sonde_filter **ret_filter)
{
	return text ? sonde_filter_new(trace, text, error, ret_filter) : 0;
}

static int compile_edge(struct sonde_trace *trace,
			const struct sonde_view_rule_edge *edge,
			struct declared_edge *to,
			struct sonde_trace_error *error)
{
	int err = compile_one(trace, edge->when, error, &to->when);

	if (!err)
		err = compile_one(trace, edge->name, error, &to->name);
	if (!err)
		err = compile_one(trace, edge->value, error, &to->value);
	return err ? err : compile_one(trace, edge->add, error, &to->add);
}

/* 0, -ENOMEM; -EINVAL: it doesn't fit, said why. */
static int compile_rule(struct sonde_trace *trace,
			const struct sonde_view_rule *rule,
			struct declared_rule *to,
			struct sonde_trace_error *error)
{
	int err;

	*to = (struct declared_rule){ .rule = rule };
	err = compile_one(trace, rule->per, error, &to->per);
	for (size_t i = 0; !err && i < rule->nr_edges; i++) {
		err = compile_edge(trace, &rule->edges[i], &to->edges[i],
				   error);
	}
	if (err)
		fini_declared_rule(to);
	return err;
}

static bool rule_wants(const struct declared_rule *rule,
		       const struct sonde_event_class *cls)
{
	for (size_t i = 0; i < rule->rule->nr_edges; i++)
		if (sonde_filter_wants(rule->edges[i].when, cls))
			return true;
	return false;
}

/* ---- what they do ---- */

static int declared_state_number(const struct declared_rule *rule, size_t i,
				 struct sonde_plugin_run *run,
				 const struct sonde_event *event)
{
	const struct sonde_view_rule_edge *edge = &rule->rule->edges[i];
	const char *name = edge->label;
	char text[512];

	if (!edge->begins)
		return SONDE_PLUGIN_NONE;
	if (rule->edges[i].name &&
	    sonde_plugin_text(rule->edges[i].name, event, text, sizeof(text)))
		name = text;
	return sonde_plugin_state_number(
		run, name ? name : sonde_event_name(event), edge->colour);
}

/* What the event makes of the counter, `base` if it isn't known; false: nothing, as it has no such value. */
static bool declared_value(const struct declared_edge *edge, double base,
			   const struct sonde_plugin_run *run, int row,
			   const struct sonde_event *event, double *ret_value)
{
	if (edge->value)
		return sonde_plugin_value(edge->value, false, event, ret_value);
	if (!sonde_plugin_value(edge->add, true, event, ret_value))
		return false;
	(void)sonde_plugin_counted(run, row, event->time_ns, &base);
	*ret_value += base;
	return true;
}

/* `i`: which of the rule's edges it is. */
static int declared_count(const struct declared_state *state,
			  const struct declared_rule *rule, size_t i,
			  struct sonde_plugin_run *run, int row,
			  const struct sonde_event *event)
{
	double value;

	if (!rule->rule->edges[i].begins)
		return sonde_plugin_leave(run, row, event->time_ns);
	return declared_value(&rule->edges[i], state->sets ? NAN : 0, run, row,
			      event, &value) ?
		       sonde_plugin_count(run, row, event->time_ns, value) :
		       0;
}

static int declared_hook(void *state, struct sonde_plugin_run *run,
			 const struct sonde_event *event, const void *data)
{
	const struct declared_rule *rule = data;
	const char *unit = rule->rule->unit ? rule->rule->unit : "";
	size_t i = 0;
	int number;
	int row;

	while (i < rule->rule->nr_edges &&
	       !sonde_filter_match(rule->edges[i].when, event))
		i++;
	if (i == rule->rule->nr_edges)
		return 0;
	row = sonde_plugin_row_per(run, rule->rule->row,
				   rule->rule->is_counter ? unit : NULL,
				   rule->per, event);
	if (row < 0 && row != -E2BIG)
		return row == -ENOENT ? 0 : row;
	if (rule->rule->is_counter)
		return declared_count(state, rule, i, run, row, event);
	number = declared_state_number(rule, i, run, event);
	return number < SONDE_PLUGIN_NONE && number != -E2BIG ?
		       number :
		       sonde_plugin_enter(run, row, event->time_ns, number);
}

/* ---- as rows ---- */

static int add_declared_rule(struct declared_state *state,
			     const struct sonde_view_rule *rule,
			     struct sonde_plugin_run *run)
{
	struct declared_rule *to = &state->rules[state->nr];
	struct sonde_trace *trace = sonde_plugin_trace(run);
	struct sonde_trace_error error = { .column = 0 };
	int err = compile_rule(trace, rule, to, &error);

	if (err == -EINVAL)
		(void)sonde_plugin_fail(run, "no row '%.30s' (%.50s:%u): %s",
					rule->row, rule->file, rule->line,
					error.text);
	if (err)
		return err == -EINVAL ? 0 : err;
	state->nr++;
	for (size_t i = 0; i < rule->nr_edges; i++)
		state->sets = state->sets || rule->edges[i].value;
	for (size_t i = 0; !err && i < sonde_trace_nr_event_classes(trace);
	     i++) {
		const struct sonde_event_class *cls =
			sonde_trace_event_class(trace, i);

		if (rule_wants(to, cls))
			err = sonde_plugin_on_class(run, cls, declared_hook,
						    to);
	}
	return err;
}

/* A rule that doesn't fit leaves the others of its row. */
static int declared_begin(void *memory, const void *config,
			  struct sonde_plugin_run *run)
{
	const struct sonde_view_declared *declared = config;
	struct declared_state *state = memory;
	int err = 0;

	for (size_t i = 0; !err && i < declared->rules->nr; i++)
		if (!strcmp(declared->rules->rules[i]->row, declared->row))
			err = add_declared_rule(state,
						declared->rules->rules[i], run);
	return err || state->nr ? err : -EINVAL;
}

static void declared_fini(void *memory)
{
	struct declared_state *state = memory;

	for (size_t i = 0; i < state->nr; i++)
		fini_declared_rule(&state->rules[i]);
}

size_t sonde_view_declare(const struct sonde_view_rules *rules,
			  struct sonde_view_declared *declared,
			  struct sonde_plugin_rows *ret_rows)
{
	size_t nr = 0;

	for (size_t i = 0; i < rules->nr; i++) {
		const char *row = rules->rules[i]->row;
		size_t k = 0;

		while (k < nr && strcmp(declared[k].row, row) != 0)
			k++;
		if (k < nr)
			continue;
		declared[nr] = (struct sonde_view_declared){ rules, row };
		ret_rows[nr] = (struct sonde_plugin_rows){
			.size = sizeof(*ret_rows),
			.name = row,
			.config = &declared[nr],
			.state_bytes = sizeof(struct declared_state),
			.begin = declared_begin,
			.fini = declared_fini,
		};
		nr++;
	}
	return nr;
}
