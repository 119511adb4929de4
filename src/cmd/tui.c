/* SPDX-License-Identifier: MIT */
/*
 * tui.c - `sonde tui`: a trace on this terminal, until q or Ctrl-C.
 *
 * However it ends, the terminal is put back first: a signal is taken between two
 * drawings, and where a file that shrank ends it the signal's handler does so.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/plugins.h"
#include "cmd/read_watch.h"
#include "cmd/view_rows.h"
#include "view/text/show.h"
#include "view/tui/tui.h"

static const char usage[] =
	"sonde tui [options] [TRACE...]\n"
	"\n"
	"Shows a trace on this terminal: its time line, its events, what is counted\n"
	"of them. ? lists the keys, q ends it.\n";

struct words {
	const char *file;
	struct sonde_option_values plugins;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "rows", 0, "FILE", NULL, TO(file),
	  "and rows that it declares (default: ~/.config/sonde/rows)" },
	{ "plugin", 0, "FILE", SONDE_VALUE_FILE, TO(plugins),
	  SONDE_PLUGIN_HELP },
	{ 0 }
};
/* clang-format on */

static struct sonde_screen screen;

static void restore_terminal(void)
{
	sonde_screen_abandon(&screen);
}

static bool is_stopped(void)
{
	return sonde_watch_progress(0, 0) != 0;
}

/* False: this is no terminal to draw on. */
static bool tui_has_terminal(void)
{
	const char *term = secure_getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	       !(term && !strcmp(term, "dumb"));
}

static int run_on_screen(struct sonde_tui_config *config)
{
	struct sonde_show show;
	int err = sonde_screen_init(&screen, STDOUT_FILENO, STDIN_FILENO, true);

	if (err)
		return err;
	sonde_show_init(&show, stdout);
	config->colour = show.colour;
	config->screen = &screen;
	config->is_stopped = is_stopped;
	sonde_watch_restore(restore_terminal);
	err = sonde_tui_run(config);
	sonde_watch_restore(NULL);
	sonde_screen_fini(&screen);
	return err;
}

static int open_and_show(char **paths, size_t nr,
			 struct sonde_tui_config *config)
{
	struct sonde_trace_error error = { .column = 0 };
	const char *base = strrchr(paths[0], '/');
	int err;

	sonde_watch_begin("tui", false);
	if (sonde_trace_open((const char *const *)paths, nr, &error,
			     &config->trace)) {
		sonde_complain("%s", error.text);
		return 1;
	}
	sonde_watch_trace(config->trace);
	config->name = base && base[1] ? base + 1 : paths[0];
	err = run_on_screen(config);
	sonde_watch_end();
	sonde_trace_close(config->trace);
	if (!err || err == -EINTR || err == -EPIPE)
		return 0;
	sonde_complain("tui: %s", strerrordesc_np(-err));
	return 1;
}

static int tui_run(int argc, char **argv)
{
	struct words words = { 0 };
	int status =
		sonde_option_take(&sonde_command_tui, argc, argv, &words, NULL);
	struct sonde_tui_config config = { .trace = NULL };
	struct sonde_view_rules rules;
	char name[NAME_MAX + 1];
	char **paths;
	size_t nr;

	if (status >= 0)
		return status;
	if (!tui_has_terminal()) {
		sonde_complain("tui: standard input and output are no terminal "
			       "to draw on; sonde print and sonde report write "
			       "text");
		return SONDE_EXIT_USAGE;
	}
	status = sonde_command_view_rows(&sonde_command_tui, words.file,
					 &words.plugins, &rules);
	if (!status)
		status = sonde_command_view_traces(&sonde_command_tui, argc,
						   argv, name, &paths, &nr);
	config.rules = rules.nr || rules.nr_plugins ? &rules : NULL;
	if (!status)
		status = open_and_show(paths, nr, &config);
	sonde_view_rules_fini(&rules);
	return status;
}

const struct sonde_command sonde_command_tui = {
	.name = "tui",
	.run = tui_run,
	.brief = "TRACE",
	.does = "look at it on this terminal",
	.usage = usage,
	.options = options,
	.notes = "Without a TRACE it is the newest recording here, "
		 "sonde-YYYYMMDD-HHMMSS.\n",
	.words = SONDE_VALUE_DIR,
};
