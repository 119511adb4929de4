/* SPDX-License-Identifier: MIT */
/*
 * count.c - `sonde count`: how often which events happen, without recording
 * them.
 *
 * The recorder keeps a board of counts (session/board.h), which is drawn at the
 * end, and with --live while it counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/report.h"
#include "base/port.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/recording.h"
#include "session/board.h"
#include "view/text/show.h"

/* To the upper left corner, and what was there is gone. */
#define CLEAR_SCREEN "\033[H\033[J"

struct counting {
	const struct sonde_record_options *options;
	struct sonde_board *board;
	FILE *out;
	bool is_terminal;
	uint64_t next_ns; /* --live: the next table */
	/* As the last table had them. */
	uint64_t shown_ns;
	uint64_t *shown; /* by row */
};

enum column {
	COLUMN_EVENT,
	COLUMN_COUNT,
	COLUMN_RATE,
	COLUMN_PROCESS,
	COLUMN_PID,
	COLUMNS,
};

static const struct sonde_column columns[COLUMNS] = {
	[COLUMN_EVENT] = { "event", "EVENT", SONDE_CELL_TEXT },
	[COLUMN_COUNT] = { "count", "COUNT", SONDE_CELL_COUNT },
	[COLUMN_RATE] = { "rate", "RATE", SONDE_CELL_RATE },
	[COLUMN_PROCESS] = { "process", "PROCESS", SONDE_CELL_TEXT },
	[COLUMN_PID] = { "pid", "PID", SONDE_CELL_INT },
};

/* ---- a table ---- */

/* A row of the board as it is now. */
struct now {
	const struct sonde_board_row *row;
	uint64_t count;
	uint64_t before; /* `since` */
};

static int compare(const void *a, const void *b)
{
	const struct now *x = a;
	const struct now *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->row->event, y->row->event);
}

static void add_row(struct sonde_table *table, const struct now *now,
		    uint64_t since_ns)
{
	const struct sonde_board_row *row = now->row;

	sonde_table_row(table);
	sonde_table_text(table, COLUMN_EVENT, row->event);
	sonde_table_uint(table, COLUMN_COUNT, now->count);
	if (since_ns)
		sonde_table_double(table, COLUMN_RATE,
				   (double)(now->count - now->before) * 1e9 /
					   (double)since_ns);
	if (!row->pid)
		return;
	sonde_table_text(table, COLUMN_PROCESS, row->process);
	sonde_table_int(table, COLUMN_PID, row->pid);
}

/* The rows that have counted anything; their number. */
static uint32_t collect(struct counting *counting, bool is_last,
			struct now *ret_list)
{
	/* Pairs with sonde_store_release in sonde_board_row. */
	uint32_t nr = sonde_load_acquire(&counting->board->nr_rows);
	uint32_t n = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct sonde_board_row *row = &counting->board->rows[i];
		struct now now = {
			.row = row,
			.count = sonde_load_relaxed(&row->count),
			.before = is_last ? 0 : counting->shown[i],
		};

		counting->shown[i] = now.count;
		if (now.count)
			ret_list[n++] = now;
	}
	qsort(ret_list, n, sizeof(*ret_list), compare);
	return n;
}

/* Of a table while it counts: rates since the one before. */
static void fill(struct counting *counting, struct sonde_report *report,
		 bool is_last)
{
	const struct sonde_board *board = counting->board;
	uint64_t read_ns = sonde_load_relaxed(&board->read_ns);
	uint64_t since = is_last || !counting->shown_ns ? board->began_ns :
							  counting->shown_ns;
	struct sonde_table *table = sonde_report_table(
		report, "events", NULL, columns,
		board->by_process ? COLUMNS : COLUMN_PROCESS);
	struct now *list = calloc(SONDE_BOARD_ROWS, sizeof(*list));
	uint32_t nr = list ? collect(counting, is_last, list) : 0;

	for (uint32_t i = 0; i < nr; i++)
		add_row(table, &list[i], read_ns > since ? read_ns - since : 0);
	free(list);
	counting->shown_ns = read_ns;
	if (!nr)
		sonde_report_note(report, "no event has been counted");
}

static int draw(struct counting *counting, bool is_last)
{
	struct sonde_report *report = sonde_report_new("count");
	struct sonde_show how;
	int rc;

	sonde_show_init(&how, counting->out);
	how.json = counting->options->json;
	fill(counting, report, is_last);
	rc = sonde_report_error(report);
	if (counting->options->live && counting->is_terminal && !how.json)
		(void)fputs(CLEAR_SCREEN, counting->out);
	else if (counting->options->live && !how.json && !is_last)
		(void)fputc('\n', counting->out);
	if (!rc)
		rc = sonde_show_report(&how, report, counting->out);
	sonde_report_free(report);
	return fflush(counting->out) && !rc ? -errno : rc;
}

/* For the front: is it time for a table? */
static void look(void *ctx)
{
	struct counting *counting = ctx;
	uint64_t now = sonde_monotonic_ns();

	if (now < counting->next_ns)
		return;
	counting->next_ns = now + counting->options->interval_us * 1000;
	(void)draw(counting, false); /* the last one tells of a failure */
}

/* ---- what can't be counted ---- */

static void tell(const struct counting *counting,
		 const struct sonde_summary *summary)
{
	const struct sonde_board *board = counting->board;

	for (uint32_t i = 0; i < summary->nr_notes && i < SONDE_NOTES_MAX; i++)
		sonde_complain("%s", summary->notes[i]);
	if (summary->nr_notes > SONDE_NOTES_MAX)
		sonde_complain("and %u more",
			       summary->nr_notes - SONDE_NOTES_MAX);
	if (board->uncounted)
		sonde_complain("%" PRIu64 " events are not counted: of "
			       "processes that can't map their cells",
			       board->uncounted);
	if (board->untold)
		sonde_complain("%" PRIu64 " events are in no row: there are "
			       "more than %u rows, or no memory",
			       board->untold, SONDE_BOARD_ROWS);
}

/* ---- the command ---- */

static void say(const char *text)
{
	sonde_complain("%s", text);
}

static int count(struct counting *counting, struct sonde_front_config *config)
{
	const struct sonde_record_options *options = counting->options;
	static struct sonde_front_result result;
	int rc = sonde_front_run(config, &result);

	if (rc)
		return sonde_command_explain_failure(&result, rc);
	if (options->program && result.have_summary) {
		(void)sonde_command_explain_nothing(config->program_path,
						    &result.summary);
		sonde_command_explain_rules(options, config->program_path,
					    &result.summary);
	}
	rc = draw(counting, true);
	tell(counting, &result.summary);
	if (!rc)
		return sonde_command_exit_status(options, &result);
	sonde_complain("count: writing failed: %s", strerrordesc_np(-rc));
	return SONDE_EXIT_FAILED;
}

/* The board, and what is shown of it. */
static int begin(struct sonde_record_options *options,
		 struct counting *ret_counting)
{
	struct counting counting = {
		.options = options,
		.board = sonde_board_new(),
		.out = options->output ? fopen(options->output, "we") : stdout,
		.shown = calloc(SONDE_BOARD_ROWS, sizeof(uint64_t)),
		.next_ns = sonde_monotonic_ns() + options->interval_us * 1000,
	};

	if (!counting.out) {
		sonde_complain("count: %.200s: %s", options->output,
			       strerrordesc_np(errno));
		return SONDE_EXIT_FAILED;
	}
	if (!counting.board || !counting.shown) {
		sonde_complain("count: no memory left");
		return SONDE_EXIT_FAILED;
	}
	counting.is_terminal = isatty(fileno(counting.out));
	counting.board->by_process = options->by_process;
	/* Who looks at it four times in an interval is never far behind. */
	counting.board->interval_ns = options->interval_us * 250;
	options->session.board = counting.board;
	*ret_counting = counting;
	return 0;
}

static int start(struct sonde_record_options *options)
{
	struct counting counting;
	char program[PATH_MAX];
	char preload[PATH_MAX] = "";
	struct sonde_front_config config = {
		.session = &options->session,
		.program = options->program,
		.quiet = options->quiet,
		.program_path = program,
		.hooks = sonde_command_hooks(options),
		.look = options->live ? look : NULL,
		.look_ctx = &counting,
		.look_ms = (int)(options->interval_us / 4000),
		.say = say,
	};
	int rc = 0;

	if (options->program)
		rc = sonde_command_find_program(options->program[0], program);
	if (!rc)
		rc = sonde_command_find_preload(options, preload);
	if (!rc)
		rc = begin(options, &counting);
	if (rc)
		return rc;
	config.preload = *preload ? preload : NULL;
	return count(&counting, &config);
}

static int run(int argc, char **argv)
{
	static struct sonde_record_options options;
	char error[512];

	if (sonde_count_options_parse(argc, argv, &options, error,
				      sizeof(error))) {
		sonde_complain("%s", error);
		return SONDE_EXIT_USAGE;
	}
	if (options.help) {
		sonde_help(&sonde_command_count);
		return 0;
	}
	return start(&options);
}

const struct sonde_command sonde_command_count = {
	.name = "count",
	.run = run,
	.brief = "[options] -- PROGRAM [ARGS]",
	.does = "count events, and record none",
	.usage = "sonde count [options] -- PROGRAM [ARGS]\n"
		 "sonde count -p PID|NAME [options]\n",
	.options = sonde_count_option_table,
	.notes = "The exit status is the program's, 128 + N if signal N killed "
		 "it.\n",
	.words = SONDE_VALUE_PROGRAM,
	.ends_at_word = true,
};
