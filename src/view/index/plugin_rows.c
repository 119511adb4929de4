/* SPDX-License-Identifier: MIT */
/*
 * plugin_rows.c - what rules, plug-ins and our own counters tell of their rows, into the index (plugin_rows.h).
 *
 * Names of states are the build's: they are numbered once for each run.
 */
#include "view/index/plugin_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plugin/counters.h"
#include "analysis/plugin/run.h"
#include "view/index/declared.h"

struct sonde_view_plugin_rows {
	struct sonde_view_build *build;
	struct sonde_plugin_pass *pass;
	struct sonde_view_declared declared[SONDE_VIEW_RULES];
	struct sonde_plugin_rows rows[SONDE_VIEW_RULES];
	int nr_rows; /* so far */
};

/* ---- where rows go ---- */

static int make_own_row(struct sonde_view_plugin_rows *own,
			enum sonde_view_row_kind kind, const char *name,
			const char *unit, uint32_t sources)
{
	struct sonde_view_build *build = own->build;
	int at;

	if (own->nr_rows == (int)SONDE_VIEW_PLUGIN_ROWS)
		return -E2BIG;
	(void)pthread_rwlock_wrlock(build->lock);
	at = sonde_view_build_row(build, kind, own->nr_rows);
	if (at >= 0) {
		build->rows.rows[at].sources = sources;
		(void)snprintf(build->rows.rows[at].name, SONDE_VIEW_ROW_NAME,
			       "%s", name);
		(void)snprintf(build->rows.rows[at].unit, SONDE_VIEW_ROW_UNIT,
			       "%s", unit);
	}
	(void)pthread_rwlock_unlock(build->lock);
	return at < 0 ? at : own->nr_rows++;
}

static int own_row(void *ctx, const char *name, uint32_t sources)
{
	return make_own_row(ctx, SONDE_VIEW_ROW_OWN, name, "", sources);
}

static int own_counter(void *ctx, const char *name, const char *unit,
		       uint32_t sources)
{
	return make_own_row(ctx, SONDE_VIEW_ROW_COUNTER, name, unit, sources);
}

static int own_state(void *ctx, const char *name, uint32_t colour)
{
	struct sonde_view_plugin_rows *own = ctx;
	uint32_t about = sonde_view_build_name(own->build, name);

	if (!about)
		return -E2BIG;
	return colour && sonde_view_build_colour(own->build, colour) ?
		       -ENOMEM :
		       (int)about;
}

static int own_piece(void *ctx, const struct sonde_plugin_piece *piece)
{
	struct sonde_view_plugin_rows *own = ctx;
	const struct sonde_view_since since = {
		.begin_ns = piece->begin_ns,
		.until_ns = INT64_MAX,
		.state = piece->is_value ? SONDE_VIEW_VALUE : SONDE_VIEW_SPAN,
		.about = piece->state > 0 ? (uint32_t)piece->state : 0,
		.value = piece->value,
	};

	sonde_view_build_end(own->build,
			     piece->is_value ? SONDE_VIEW_ROW_COUNTER :
					       SONDE_VIEW_ROW_OWN,
			     piece->row, &since, piece->end_ns);
	return own->build->error;
}

static void own_left_out(void *ctx)
{
	((struct sonde_view_plugin_rows *)ctx)->build->left_out++;
}

static const struct sonde_plugin_sink own_sink = {
	.row = own_row,
	.counter = own_counter,
	.state = own_state,
	.piece = own_piece,
	.left_out = own_left_out,
};

/* ---- a pass ---- */

/* Those that don't fit the trace are no error; why the first doesn't is kept. */
static int begin_own_rows(struct sonde_view_plugin_rows *own,
			  const struct sonde_plugin_rows *rows, char *unfit,
			  size_t size)
{
	char why[256];
	int err = sonde_plugin_pass_rows(own->pass, rows, &own_sink, own, why,
					 sizeof(why));

	if (!*unfit && *why)
		(void)snprintf(unfit, size, "%s", why);
	else if (!*unfit && err && err != -ENOMEM)
		(void)snprintf(unfit, size, "no rows '%.60s': %s", rows->name,
			       strerrordesc_np(-err));
	return err == -ENOMEM ? err : 0;
}

/* A trace without their events says nothing of that. */
static int begin_counters(struct sonde_view_plugin_rows *own)
{
	int err = 0;

	for (size_t i = 0; err != -ENOMEM && i < sonde_plugin_nr_counters;
	     i++) {
		char why[256];

		err = sonde_plugin_pass_rows(own->pass,
					     sonde_plugin_counters[i],
					     &own_sink, own, why, sizeof(why));
	}
	return err == -ENOMEM ? err : 0;
}

static int begin_rules(struct sonde_view_plugin_rows *own,
		       const struct sonde_view_rules *rules, char *unfit,
		       size_t size)
{
	size_t nr = sonde_view_declare(rules, own->declared, own->rows);
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++)
		err = begin_own_rows(own, &own->rows[i], unfit, size);
	for (size_t i = 0; !err && i < rules->nr_plugins; i++)
		err = begin_own_rows(own, rules->plugins[i], unfit, size);
	return err;
}

int sonde_view_plugin_rows_new(struct sonde_view_build *build,
			       struct sonde_trace *trace,
			       const struct sonde_view_rules *rules,
			       char *unfit, size_t size,
			       struct sonde_view_plugin_rows **ret_own)
{
	struct sonde_view_plugin_rows *own = calloc(1, sizeof(*own));
	int err = own ? sonde_plugin_pass_new(trace, &own->pass) : -ENOMEM;

	*ret_own = NULL;
	*unfit = 0;
	if (!err) {
		own->build = build;
		err = rules ? begin_rules(own, rules, unfit, size) : 0;
	}
	if (!err)
		err = begin_counters(own);
	if (err || !sonde_plugin_pass_wants(own->pass))
		sonde_view_plugin_rows_free(own);
	else
		*ret_own = own;
	return err;
}

void sonde_view_plugin_rows_free(struct sonde_view_plugin_rows *own)
{
	if (!own)
		return;
	sonde_plugin_pass_free(own->pass);
	free(own);
}

int sonde_view_plugin_rows_run(struct sonde_view_plugin_rows *own,
			       const struct sonde_map_options *options,
			       int64_t end_ns)
{
	int err = sonde_plugin_pass_run(own->pass, options, end_ns);

	sonde_view_build_flush(own->build);
	return err ? err : own->build->error;
}
