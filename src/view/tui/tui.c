/* SPDX-License-Identifier: MIT */
/*
 * tui.c - draws, and waits for a key (tui.h).
 *
 * While the index is being made the screen is drawn anew a few times a second; else
 * only when a key was pressed or the terminal has another size.
 */
#include "view/tui/tui.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "view/tui/parts.h"

#define LOOK_MS 200

/* Which rows there are by now, in the order of the list. */
static int list_rows(struct sonde_tui *tui)
{
	const struct sonde_view_rows *rows = sonde_view_index_lock(tui->index);
	struct sonde_view_listed *list = calloc(rows->nr + 1, sizeof(*list));
	size_t nr =
		list ? sonde_view_list(tui->index,
				       tui->rows[0] ? tui->rows : NULL, list) :
		       0;
	bool has_chosen = false;
	int err = list ? 0 : -ENOMEM;

	tui->nr_ids = 0;
	for (size_t i = 0; !err && i < nr; i++) {
		if (SONDE_GROW(tui->ids, tui->nr_ids, tui->ids_room))
			err = -ENOMEM;
		else
			tui->ids[tui->nr_ids++] = list[i].id;
		has_chosen = has_chosen || (int64_t)list[i].id == tui->chosen;
	}
	sonde_view_index_unlock(tui->index);
	free(list);
	if (!has_chosen)
		tui->chosen = tui->nr_ids ? (int64_t)tui->ids[0] : -1;
	if (tui->first >= tui->nr_ids)
		tui->first = 0;
	return err;
}

static int tui_draw_text(struct sonde_tui *tui, bool *ret_drawn)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);
	int err = 0;

	if (!to)
		return -ENOMEM;
	sonde_tui_draw(tui, to);
	if (fclose(to))
		err = -ENOMEM;
	if (!err)
		err = sonde_screen_draw(tui->config->screen, text, length,
					ret_drawn);
	free(text);
	return err;
}

static int draw_screen(struct sonde_tui *tui, bool *ret_drawn)
{
	int err = list_rows(tui);

	if (!err)
		err = sonde_tui_list_read(&tui->list,
					  sonde_tui_event_lines(tui));
	return err ? err : tui_draw_text(tui, ret_drawn);
}

/* Whether the terminal has another size than what is drawn. */
static bool take_terminal_size(struct sonde_tui *tui)
{
	size_t width = sonde_screen_columns(tui->config->screen);
	size_t height = sonde_screen_rows(tui->config->screen);
	bool other = width != tui->width || height != tui->height;

	tui->width = width;
	tui->height = height;
	return other;
}

static int tui_obey_keys(struct sonde_tui *tui)
{
	int err = 0;
	int key;

	while (!err && !tui->ended &&
	       (key = sonde_screen_key(tui->config->screen)) !=
		       SONDE_KEY_PRESS_NONE)
		err = sonde_tui_key(tui, key);
	return err;
}

static int show_and_obey(struct sonde_tui *tui)
{
	struct sonde_view_progress progress = { .ready = false };
	bool drawn = false;
	int got = 0;

	while (got >= 0 && !tui->ended) {
		bool was_ready = progress.ready;

		if (tui->config->is_stopped())
			return -EINTR;
		sonde_view_index_progress(tui->index, &progress);
		if (progress.ready && !was_ready) /* which threads ran */
			sonde_tui_list_forget(&tui->list);
		if (take_terminal_size(tui) || got || !drawn || !was_ready)
			got = draw_screen(tui, &drawn);
		if (got >= 0)
			got = sonde_screen_wait(tui->config->screen, LOOK_MS);
		if (got == -EINTR) /* of which is_stopped() knows */
			got = 0;
		if (got > 0) {
			int err = tui_obey_keys(tui);

			got = err ? err : got;
		}
	}
	return got < 0 ? got : 0;
}

static int tui_init(struct sonde_tui *tui)
{
	const struct sonde_tui_config *config = tui->config;
	int64_t end_ns = 0;

	/* Without times there is nothing but the list of events. */
	(void)sonde_trace_range(config->trace, &tui->begin_ns, &end_ns);
	tui->length = end_ns > tui->begin_ns ? end_ns - tui->begin_ns + 1 : 1;
	tui->span = (struct sonde_view_span){ 0, tui->length };
	tui->index = sonde_view_index_new(config->trace, config->rules, true);
	if (!tui->index)
		return -ENOMEM;
	return sonde_tui_list_init(&tui->list, config->trace, tui->index,
				   tui->begin_ns, sonde_tui_is_enough, tui);
}

int sonde_tui_run(const struct sonde_tui_config *config)
{
	struct sonde_tui tui = {
		.config = config,
		.colour = config->colour,
		.chosen = -1,
		.times = SONDE_STAMP_RELATIVE,
	};
	int err = tui_init(&tui);

	if (!err)
		err = show_and_obey(&tui);
	sonde_tui_list_fini(&tui.list);
	sonde_view_index_free(tui.index);
	free(tui.ids);
	free(tui.page);
	return err;
}
