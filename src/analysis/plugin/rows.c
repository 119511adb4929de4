/* SPDX-License-Identifier: MIT */
/*
 * rows.c - what the rows of a run are, since when (<sonde/plugin.h>): numbers of
 * rows and states by their names, and pieces for the sink as they end.
 *
 *	1. a row's pieces begin in the order of time, and don't overlap
 *	2. a piece ends where events are lost next, or earlier
 *	3. while events are being lost no piece begins
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plugin/parts.h"
#include "base/grow.h"
#include "base/hex.h"
#include "base/port.h"
#include "reader/key.h"

struct plugin_number {
	struct sonde_key key;
	int number;
	bool is_known;
};

int sonde_plugin_colour(const char *text, uint32_t *ret_colour)
{
	static const struct {
		const char *word;
		uint32_t colour;
	} words[] = {
		/* Okabe and Ito's, as of view/index/states.c */
		{ "blue", 0x0072b2 }, { "green", 0x009e73 },
		{ "grey", 0xb8bec6 }, { "orange", 0xe69f00 },
		{ "pink", 0xcc79a7 }, { "red", 0xd55e00 },
		{ "sky", 0x56b4e9 },  { "yellow", 0xf0e442 },
	};
	const char *at = text + 1;
	uint64_t number;

	if (*text == '#' && strlen(text) == 7 &&
	    sonde_hex_take_number(&at, &number) && !*at) {
		*ret_colour = SONDE_PLUGIN_COLOUR | (uint32_t)number;
		return 0;
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(words); i++)
		if (!strcmp(text, words[i].word)) {
			*ret_colour = SONDE_PLUGIN_COLOUR | words[i].colour;
			return 0;
		}
	return -EINVAL;
}

void sonde_plugin_rows_init(struct sonde_plugin_run *run)
{
	sonde_hash_init(&run->by_name, sizeof(struct plugin_number),
			SONDE_PLUGIN_NAMES);
	sonde_hash_init(&run->by_state, sizeof(struct plugin_number),
			SONDE_PLUGIN_NAMES);
}

void sonde_plugin_rows_fini(struct sonde_plugin_run *run)
{
	sonde_hash_fini(&run->by_name);
	sonde_hash_fini(&run->by_state);
	sonde_lost_fini(&run->lost);
	free(run->list);
}

/* `unit`: of a counter; NULL: it is none. */
static int make_plugin_row(struct sonde_plugin_run *run, const char *name,
			   const char *unit)
{
	int number =
		unit ? run->sink->counter(run->ctx, name, unit, run->sources) :
		       run->sink->row(run->ctx, name, run->sources);

	if (number < 0)
		return number;
	if (SONDE_GROW(run->list, run->nr_rows, run->room))
		return -ENOMEM;
	run->list[run->nr_rows] = (struct sonde_plugin_row){
		.number = number,
		.state = SONDE_PLUGIN_NONE,
		.is_counter = unit != NULL,
		.begin_ns = INT64_MIN,
	};
	return (int)run->nr_rows++;
}

static int take_plugin_row(struct sonde_plugin_run *run, const char *name,
			   const char *unit)
{
	char kept[SONDE_PLUGIN_ROW_NAME];
	struct plugin_number *entry;
	struct sonde_key key;

	if (!run->sink)
		return -EINVAL;
	(void)snprintf(kept, sizeof(kept), "%s", name);
	key = sonde_key_of_text(kept, strlen(kept));
	entry = sonde_hash_put(&run->by_name, &key);
	if (!entry)
		return sonde_hash_error(&run->by_name);
	if (!entry->is_known)
		entry->number = make_plugin_row(run, kept, unit);
	entry->is_known = true;
	if (entry->number >= 0 &&
	    run->list[entry->number].is_counter != (unit != NULL))
		return -EINVAL;
	return entry->number;
}

int sonde_plugin_row_number(struct sonde_plugin_run *run, const char *name)
{
	return take_plugin_row(run, name, NULL);
}

int sonde_plugin_counter_number(struct sonde_plugin_run *run, const char *name,
				const char *unit)
{
	return take_plugin_row(run, name, unit ? unit : "");
}

bool sonde_plugin_text(const struct sonde_filter *filter,
		       const struct sonde_event *event, char *to, size_t size)
{
	struct sonde_key key;

	if (sonde_filter_key(filter, NULL, event, &key))
		return false;
	(void)sonde_key_text(&key, to, size);
	return true;
}

bool sonde_plugin_value(const struct sonde_filter *filter, bool is_signed,
			const struct sonde_event *event, double *ret_value)
{
	struct sonde_value value;

	if (sonde_filter_value(filter, event, &value))
		return false;
	if (value.kind == SONDE_KIND_UINT)
		*ret_value =
			is_signed ? (double)(int64_t)value.u : (double)value.u;
	else if (value.kind == SONDE_KIND_INT)
		*ret_value = (double)value.i;
	else if (value.kind == SONDE_KIND_FLOAT)
		*ret_value = value.d;
	else
		return false;
	return true;
}

int sonde_plugin_row_per(struct sonde_plugin_run *run, const char *name,
			 const char *unit, const struct sonde_filter *per,
			 const struct sonde_event *event)
{
	char text[SONDE_PLUGIN_ROW_NAME];
	int at = snprintf(text, sizeof(text), "%.30s", name);

	if (per) {
		text[at++] = ' ';
		if (!sonde_plugin_text(per, event, text + at,
				       sizeof(text) - (size_t)at))
			return -ENOENT;
	}
	return take_plugin_row(run, text, unit);
}

int sonde_plugin_state_number(struct sonde_plugin_run *run, const char *name,
			      const char *colour)
{
	struct plugin_number *entry;
	struct sonde_key key;
	uint32_t number = 0;
	char both[600];
	int length;

	if (!run->sink || (colour && sonde_plugin_colour(colour, &number)))
		return -EINVAL;
	length = snprintf(both, sizeof(both), "%07x%.512s", number, name);
	key = sonde_key_of_text(both, (size_t)length);
	entry = sonde_hash_put(&run->by_state, &key);
	if (!entry)
		return sonde_hash_error(&run->by_state);
	if (!entry->is_known)
		entry->number = run->sink->state(run->ctx, both + 7, number);
	entry->is_known = true;
	return entry->number;
}

/* What it was is told of, up to that time or to where events were lost. */
static int end_plugin_piece(struct sonde_plugin_run *run,
			    struct sonde_plugin_row *row, int64_t time_ns,
			    bool is_cut)
{
	struct sonde_plugin_piece piece = {
		.row = row->number,
		.state = row->state == -E2BIG ? -1 : row->state,
		.begin_ns = row->begin_ns,
		.end_ns = time_ns < row->until_ns ? time_ns : row->until_ns,
		.value = row->value,
		.is_value = row->is_counter,
		.is_cut = is_cut || time_ns > row->until_ns,
	};

	if (row->state == SONDE_PLUGIN_NONE || piece.end_ns < piece.begin_ns)
		return 0;
	return run->sink->piece(run->ctx, &piece);
}

/* Ends the row's piece there, and begins the next one, of that state and value. */
static int change_plugin_row(struct sonde_plugin_run *run, int row,
			     int64_t time_ns, int state, double value)
{
	struct sonde_plugin_row *at = &run->list[row];
	int err;

	if (time_ns < at->begin_ns)
		time_ns = at->begin_ns;
	err = end_plugin_piece(run, at, time_ns, false);
	at->state = run->in_loss ? SONDE_PLUGIN_NONE : state;
	at->value = value;
	at->begin_ns = time_ns;
	at->until_ns = sonde_lost_next(&run->lost);
	return err;
}

/* 0; 1: there is such a row; -EINVAL. What it was to be is left out where rows are
 * too many. */
static int find_plugin_row(struct sonde_plugin_run *run, int row, bool is_none)
{
	if (row != -E2BIG)
		return row < 0 || (size_t)row >= run->nr_rows ? -EINVAL : 1;
	if (!is_none)
		run->sink->left_out(run->ctx);
	return 0;
}

int sonde_plugin_enter(struct sonde_plugin_run *run, int row, int64_t time_ns,
		       int state)
{
	int found = find_plugin_row(run, row, state == SONDE_PLUGIN_NONE);

	if (found != 1)
		return found;
	if ((state < SONDE_PLUGIN_NONE && state != -E2BIG) ||
	    (run->list[row].is_counter && state != SONDE_PLUGIN_NONE))
		return -EINVAL;
	return change_plugin_row(run, row, time_ns, state, 0);
}

int sonde_plugin_count(struct sonde_plugin_run *run, int counter,
		       int64_t time_ns, double value)
{
	int state = isfinite(value) ? 0 : SONDE_PLUGIN_NONE;
	int found = find_plugin_row(run, counter, state == SONDE_PLUGIN_NONE);

	if (found != 1)
		return found;
	if (!run->list[counter].is_counter)
		return -EINVAL;
	return change_plugin_row(run, counter, time_ns, state, value);
}

int sonde_plugin_leave(struct sonde_plugin_run *run, int row, int64_t time_ns)
{
	return sonde_plugin_enter(run, row, time_ns, SONDE_PLUGIN_NONE);
}

int sonde_plugin_row_state(const struct sonde_plugin_run *run, int row,
			   int64_t time_ns)
{
	const struct sonde_plugin_row *at;

	if (row < 0 || (size_t)row >= run->nr_rows)
		return SONDE_PLUGIN_NONE;
	at = &run->list[row];
	return at->until_ns <= time_ns ? SONDE_PLUGIN_NONE : at->state;
}

bool sonde_plugin_counted(const struct sonde_plugin_run *run, int counter,
			  int64_t time_ns, double *ret_value)
{
	int state = sonde_plugin_row_state(run, counter, time_ns);

	if (state == SONDE_PLUGIN_NONE || !run->list[counter].is_counter)
		return false;
	*ret_value = run->list[counter].value;
	return true;
}

uint64_t sonde_plugin_epoch(const struct sonde_plugin_run *run)
{
	return run->lost.passed * 2 + run->in_loss;
}

int sonde_plugin_forget(struct sonde_plugin_run *run, int64_t time_ns)
{
	int err = 0;

	for (size_t i = 0; !err && i < run->nr_rows; i++)
		err = sonde_plugin_leave(run, (int)i, time_ns);
	return err;
}

int sonde_plugin_rows_end(struct sonde_plugin_run *run, int64_t end_ns)
{
	int err = 0;

	for (size_t i = 0; !err && i < run->nr_rows; i++)
		err = end_plugin_piece(run, &run->list[i], end_ns, true);
	return err;
}
