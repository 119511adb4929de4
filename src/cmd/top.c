/* SPDX-License-Identifier: MIT */
/*
 * top.c - `sonde top`: what programs are doing, on a screen that is drawn anew
 * every second, or as one table after the other.
 *
 * What is drawn is that of the last turn; keys draw it anew at once. A pause stops
 * turns and drawings, and nothing else: events are read and counted on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/follow.h"
#include "cmd/read.h"
#include "cmd/recording.h"
#include "view/live/screen.h"
#include "view/live/top.h"
#include "view/text/show.h"

#define ROWS_TEXT  10
#define ROWS_JSON  1000
#define OTHER_ROWS 9 /* of a screen with one table: what isn't its rows */
#define TABLE_ROWS 3 /* a table's title, head, and how many more there are */
#define HAVING_MAX 40
#define BACKSPACE  127
#define ESCAPE     27

struct top {
	struct sonde_record_options options;
	struct sonde_top *top;
	struct sonde_screen screen;
	struct sonde_top_view view;
	char having[HAVING_MAX + 1];
	uint64_t next_ns; /* the next turn; 0: not before the first look */
	bool is_paused, is_typing;
	bool has_drawn;
};

/* ---- drawing ---- */

static void choose_rows(struct top *top)
{
	size_t rows = sonde_screen_rows(&top->screen);
	size_t nr = sonde_top_nr_tables(top->top);

	top->view.rows = top->options.json ? ROWS_JSON : ROWS_TEXT;
	if (!rows)
		return;
	if (top->view.table == SONDE_TOP_ALL)
		rows = rows > OTHER_ROWS ?
			       (rows - OTHER_ROWS + TABLE_ROWS) / nr :
			       0;
	else
		rows = rows > OTHER_ROWS ? rows - OTHER_ROWS + TABLE_ROWS : 0;
	top->view.rows = rows > TABLE_ROWS ? rows - TABLE_ROWS : 1;
}

/* What is shown. */
static void head_line(const struct top *top, struct sonde_text *text)
{
	const struct sonde_top_view *view = &top->view;
	size_t sort = view->sort < 0 ? sonde_top_sort(view->table) :
				       (size_t)view->sort;
	const struct sonde_column *column = sonde_top_column(view->table, sort);

	sonde_text_add(text, "sonde top%s%s", top->options.name ? ": " : "",
		       top->options.name ? top->options.name : "");
	if (view->table != SONDE_TOP_ALL && column)
		sonde_text_add(text, "; by %s%s", column->title,
			       view->ascending ? ", least first" : "");
	if (*top->having || top->is_typing)
		sonde_text_add(text, "; with '%s%s", top->having,
			       top->is_typing ? "_" : "'");
	if (top->is_paused)
		sonde_text_add(text, "; PAUSED");
}

/* That, and what keys there are, as wide as the screen; all of it is ASCII. */
static void draw_head(const struct top *top, int width, FILE *to)
{
	char line[200];
	struct sonde_text text = { .to = line, .size = sizeof(line) };

	head_line(top, &text);
	(void)fprintf(to, "%.*s\n%.*s\n", width, line, width,
		      "a ll  e vents  p rocesses  t hreads  l ocks  w aits  "
		      "m emory  s yscalls  < > r sort  / with  space pause  "
		      "q uit");
}

static int draw_text(const struct top *top, FILE *to)
{
	struct sonde_report *report;
	struct sonde_show show;
	int err = sonde_top_report(top->top, &top->view, &report);

	if (err)
		return err;
	sonde_show_init(&show, stdout);
	show.json = top->options.json;
	if (top->screen.is_terminal)
		draw_head(top, show.width ? (int)show.width : -1, to);
	else if (top->has_drawn && !show.json)
		(void)fputc('\n', to);
	err = sonde_show_report(&show, report, to);
	sonde_report_free(report);
	return err;
}

static int draw_all(struct top *top)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);
	int err;

	if (!to)
		return -ENOMEM;
	choose_rows(top);
	err = draw_text(top, to);
	if (fclose(to) && !err)
		err = -ENOMEM;
	if (!err)
		err = sonde_screen_draw(&top->screen, text, length,
					&top->has_drawn);
	free(text);
	return err;
}

/* ---- keys ---- */

static void move_sort(struct top *top, int by)
{
	struct sonde_top_view *view = &top->view;
	int sort =
		view->sort < 0 ? (int)sonde_top_sort(view->table) : view->sort;

	sort += by;
	if (sort >= 0 && sonde_top_column(view->table, (size_t)sort))
		view->sort = sort;
}

static void type_key(struct top *top, int key)
{
	size_t length = strlen(top->having);

	if (key == ESCAPE) {
		top->having[0] = '\0';
		top->is_typing = false;
	} else if (key == '\n' || key == '\r') {
		top->is_typing = false;
	} else if ((key == BACKSPACE || key == '\b') && length) {
		top->having[length - 1] = '\0';
	} else if (key >= ' ' && key < BACKSPACE && length < HAVING_MAX) {
		top->having[length] = (char)key;
		top->having[length + 1] = '\0';
	}
	top->view.having = *top->having ? top->having : NULL;
}

static void obey_letter(struct top *top, int key)
{
	static const char letters[] = "aeptlwms"; /* enum sonde_top_table */
	const char *letter =
		key > 0 && key < BACKSPACE ? strchr(letters, key) : NULL;

	if (letter) {
		top->view.table = (enum sonde_top_table)(letter - letters);
		top->view.sort = -1;
		top->view.ascending = false;
	} else if (key == '<' || key == SONDE_KEY_PRESS_LEFT)
		move_sort(top, -1);
	else if (key == '>' || key == SONDE_KEY_PRESS_RIGHT)
		move_sort(top, 1);
	else if (key == 'r')
		top->view.ascending = !top->view.ascending;
	else if (key == ' ')
		top->is_paused = !top->is_paused;
	else if (key == '/')
		top->is_typing = true;
}

/* 0; -ECANCELED: it is enough. */
static int obey_keys(struct top *top)
{
	bool has_key = false;
	int key;

	while ((key = sonde_screen_key(&top->screen)) != SONDE_KEY_PRESS_NONE) {
		has_key = true;
		if (top->is_typing)
			type_key(top, key);
		else if (key == 'q')
			return -ECANCELED;
		else
			obey_letter(top, key);
	}
	return has_key ? draw_all(top) : 0;
}

/* ---- for the follower ---- */

static int begin_top(void *ctx, struct sonde_follow *follow, uint64_t hold_ns)
{
	struct top *top = ctx;
	const struct sonde_record_options *options = &top->options;
	const char *term = secure_getenv("TERM");
	const bool may_draw = !options->json && !options->once &&
			      !(term && !strcmp(term, "dumb"));
	const struct sonde_top_config config = {
		.follow = follow,
		.filter = options->shown_filter,
		.hold_ns = hold_ns,
		.no_names = options->no_names,
		.say = sonde_complain_text,
	};

	top->view.sort = -1;
	/* a program that is started has the terminal's keys */
	if (!sonde_top_new(&config, &top->top) &&
	    !sonde_screen_init(&top->screen, STDOUT_FILENO,
			       options->program ? -1 : STDIN_FILENO, may_draw))
		return 0;
	sonde_top_free(top->top);
	sonde_complain("top: no memory left");
	return SONDE_EXIT_FAILED;
}

static int skip_top(void *ctx)
{
	return sonde_top_skip(((struct top *)ctx)->top);
}

static int turn(struct top *top)
{
	int err = sonde_top_turn(top->top);

	top->next_ns = sonde_monotonic_ns() + top->options.interval_us * 1000;
	return err ? err : draw_all(top);
}

/* The first look: putting probes in may have taken longer than an interval does, and
 * processes that came first were recorded meanwhile. Rates are of what is from now
 * on; of a program that is started, of all. */
static int begin_interval(struct top *top)
{
	int err = top->options.program ? 0 : sonde_top_turn(top->top);

	if (!err)
		top->next_ns =
			sonde_monotonic_ns() + top->options.interval_us * 1000;
	return err;
}

static int look_top(void *ctx, uint64_t read_ns)
{
	struct top *top = ctx;
	int err = sonde_top_look(top->top, read_ns);

	if (!err && !top->next_ns)
		err = begin_interval(top);
	if (!err)
		err = obey_keys(top);
	if (err || top->is_paused || sonde_monotonic_ns() < top->next_ns)
		return err;
	err = turn(top);
	if (!err && top->options.once)
		err = -ECANCELED;
	return err;
}

static int end_top(void *ctx)
{
	return sonde_top_end(((struct top *)ctx)->top);
}

static void tell_top_counts(const struct top *top)
{
	struct sonde_top_counts counts;

	sonde_top_count(top->top, &counts);
	sonde_complain("%" PRIu64 " events, %" PRIu64
		       " of them filtered out; %" PRIu64 " lost",
		       counts.events, counts.filtered, counts.lost);
	if (top->screen.left_out)
		sonde_complain("%" PRIu64 " drawings are left out: they come "
			       "faster than they are taken",
			       top->screen.left_out);
}

static int tell_top_error(const struct top *top, int error)
{
	const struct sonde_trace_error *words = sonde_top_error(top->top);

	if (!sonde_top_is_wrong(top->top)) {
		sonde_complain("top: %s", *words->text ?
						  words->text :
						  strerrordesc_np(-error));
		return SONDE_EXIT_FAILED;
	}
	sonde_read_explain("--filter", top->options.shown_filter, words);
	return SONDE_EXIT_USAGE;
}

/* The last table, where they are written one after the other. */
static int draw_last(struct top *top)
{
	int err = 0;

	if (!top->screen.is_terminal && !(top->options.once && top->has_drawn))
		err = turn(top);
	return err ? err : sonde_screen_drain(&top->screen);
}

static int finish_top(void *ctx, int error)
{
	struct top *top = ctx;
	int status = 0;
	int writing = 0;

	if (!error || (error == -ECANCELED && top->options.once))
		writing = draw_last(top);
	sonde_screen_fini(&top->screen);
	if (error && !sonde_command_is_enough(error))
		status = tell_top_error(top, error);
	else if (!top->options.quiet && error != -EPIPE)
		tell_top_counts(top);
	if (!status)
		status = sonde_command_explain_writing(&sonde_command_top,
						       writing);
	sonde_top_free(top->top);
	return status;
}

static int run(int argc, char **argv)
{
	static struct top top;
	const struct sonde_command_follower follower = {
		.command = &sonde_command_top,
		.begin = begin_top,
		.skip = skip_top,
		.look = look_top,
		.end = end_top,
		.finish = finish_top,
		.ctx = &top,
	};

	return sonde_command_follow(&follower, argc, argv, &top.options);
}

const struct sonde_command sonde_command_top = {
	.name = "top",
	.run = run,
	.brief = "NAME | -p PID | -- PROGRAM",
	.does = "what programs are doing now",
	.usage = "sonde top NAME [options]\n"
		 "sonde top -p PID|NAME [options]\n"
		 "sonde top [options] -- PROGRAM [ARGS]\n"
		 "\n"
		 "Rates of events, the busiest processes and threads; with "
		 "--locks and --malloc\nalso the hottest locks, the longest "
		 "waits, and where memory is allocated.\nOn a terminal q ends "
		 "it, and its second line has the other keys.\n",
	.options = sonde_top_option_table,
	.words = SONDE_VALUE_SESSION,
};
