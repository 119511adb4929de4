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

#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/count.h"
#include "cmd/recording.h"
#include "session/board.h"

struct counting {
	const struct sonde_record_options *options;
	struct sonde_board *board;
	FILE *out;
	uint64_t next_ns; /* --live: the next table */
	struct sonde_command_drawn *drawn;
};

static int draw_board(struct counting *counting, bool is_last)
{
	return sonde_command_count_draw(counting->board, counting->options,
					counting->drawn, is_last,
					counting->out);
}

/* For the front end: is it time for a table? */
static bool look(void *ctx)
{
	struct counting *counting = ctx;
	uint64_t now = sonde_monotonic_ns();

	if (now < counting->next_ns)
		return true;
	counting->next_ns = now + counting->options->interval_us * 1000;
	/* The last one tells of a failure. */
	(void)draw_board(counting, false);
	return true;
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
	if (board->keyless)
		sonde_complain("%" PRIu64 " events are in no line: there are "
			       "more keys than a program has room for; select "
			       "fewer with -e or a condition",
			       board->keyless);
	if (board->valueless)
		sonde_complain("%" PRIu64 " events lack the value or a key, "
			       "and are in no line",
			       board->valueless);
	if (board->untold)
		sonde_complain("%" PRIu64 " events are in no row: there are "
			       "more than %u rows, or no memory",
			       board->untold, SONDE_BOARD_ROWS);
}

/* ---- the command ---- */

static int count(struct counting *counting,
		 struct sonde_frontend_config *config)
{
	const struct sonde_record_options *options = counting->options;
	static struct sonde_frontend_result result;
	int rc = sonde_frontend_run(config, &result);

	if (rc)
		return sonde_command_explain_failure(&result, rc);
	if (options->program && result.have_summary) {
		(void)sonde_command_explain_nothing(config->program_path,
						    &result.summary);
		sonde_command_explain_rules(options, config->program_path,
					    &result.summary);
	}
	rc = draw_board(counting, true);
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
		.drawn = calloc(1, sizeof(*counting.drawn)),
		.next_ns = sonde_monotonic_ns() + options->interval_us * 1000,
	};

	if (!counting.out) {
		sonde_complain("count: %.200s: %s", options->output,
			       strerrordesc_np(errno));
		return SONDE_EXIT_FAILED;
	}
	if (!counting.board || !counting.drawn) {
		sonde_complain("count: no memory left");
		return SONDE_EXIT_FAILED;
	}
	counting.board->by_process = options->by_process;
	counting.board->has_value = options->session.tally.value;
	counting.board->nr_keys = options->session.tally.nr_keys;
	/* Who looks at it four times in an interval is never far behind. */
	counting.board->interval_ns = options->interval_us * 250;
	options->session.board = counting.board;
	*ret_counting = counting;
	return 0;
}

static int start(struct sonde_record_options *options)
{
	struct counting counting;
	struct sonde_command_start start;
	int rc = sonde_command_prepare(options, &start);

	if (!rc)
		rc = begin(options, &counting);
	if (rc)
		return rc;
	start.config.look = options->live ? look : NULL;
	start.config.look_ctx = &counting;
	start.config.look_ms = (int)(options->interval_us / 4000);
	return count(&counting, &start.config);
}

int sonde_command_count_run(const struct sonde_command *command, int argc,
			    char **argv)
{
	static struct sonde_record_options options;
	char error[512];

	if (sonde_count_options_parse(argc, argv, &options, error,
				      sizeof(error))) {
		sonde_complain("%s", error);
		return SONDE_EXIT_USAGE;
	}
	if (options.help) {
		sonde_help(command);
		return 0;
	}
	return start(&options);
}

static int run(int argc, char **argv)
{
	return sonde_command_count_run(&sonde_command_count, argc, argv);
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
