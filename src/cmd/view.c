/* SPDX-License-Identifier: MIT */
/*
 * view.c - `sonde view`: a trace in the browser, until Ctrl-C.
 *
 * The signals that end it are blocked before there is any other thread, and
 * taken by this one, which waits for nothing else.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/unconst.h"
#include "cmd/cmd.h"
#include "cmd/follow.h"
#include "cmd/plugins.h"
#include "cmd/read_watch.h"
#include "cmd/session.h"
#include "cmd/view_rows.h"
#include "sys/needed.h"
#include "sys/proc_start.h"
#include "view/http/server.h"
#include "view/http/torn.h"
#include "view/tsp/query.h"
#include "view/tsp/service.h"

static const char usage[] =
	"sonde view [options] [TRACE...]\n"
	"\n"
	"Serves pages that show a trace to this machine's browsers, until Ctrl-C:\n"
	"prints the address of the page, and opens it if there is a display.\n";

struct view_words {
	const char *port, *live, *rows;
	struct sonde_option_values plugins, origins;
	bool no_browser, follows, tsp;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct view_words, member)
static const struct sonde_option options[] = {
	{ "port", 0, "N", NULL, TO(port),
	  "listen on this port of 127.0.0.1 (default: one that is free)" },
	{ "no-browser", 0, NULL, NULL, TO(no_browser),
	  "open no browser, print the address only" },
	{ "follow", 0, NULL, NULL, TO(follows),
	  "the trace is still being written: go on showing what comes" },
	{ "live", 0, "SESSION", NULL, TO(live),
	  "the same of the trace that a session writes" },
	{ "rows", 0, "FILE", NULL, TO(rows),
	  "and rows that it declares (default: ~/.config/sonde/rows)" },
	{ "plugin", 0, "FILE", SONDE_VALUE_FILE, TO(plugins),
	  SONDE_PLUGIN_HELP },
	{ "tsp", 0, NULL, NULL, TO(tsp),
	  "speak the Trace Server Protocol as well, and print its address" },
	{ "allow-origin", 0, "URL", NULL, TO(origins),
	  "with --tsp: let pages of that origin ask by it, such as "
	  "http://localhost:3000; may be repeated (default: none)" },
	{ 0 }
};
/* clang-format on */

/* Its end is nobody's business: the page is there or it isn't. */
static void open_browser(const char *url)
{
	const char *const words[] = { "xdg-open", url, NULL };
	pid_t pid;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables */
	if (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"))
		(void)sonde_proc_start_plain(words[0], words, environ, NULL,
					     &pid);
}

/* So much of what a frame took is kept for the next one, by each thread's heap: else
 * the kernel hands out each of its pages anew. */
#define KEPT_BYTES (4 << 20)

static int serve_pages(const struct sonde_view_config *config, bool browser,
		       const sigset_t *ends)
{
	struct sonde_view_server *server;
	int got;
	int err;

	(void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	err = sonde_view_server_start(config, &server);
	if (err == -EADDRINUSE) {
		sonde_complain("view: port %u is in use; without --port a free "
			       "one is taken",
			       config->port);
		return 1;
	}
	if (err == -ELIBACC) {
		sonde_complain(
			"view: pages are served by %s, which can't be loaded",
			SONDE_LIBMICROHTTPD);
		return 1;
	}
	if (err == -E2BIG) {
		sonde_complain("view: --tsp shows up to %u traces; give fewer",
			       SONDE_VIEW_TSP_TRACES);
		return 1;
	}
	if (err) {
		sonde_complain("view: port %u: %s%s", config->port,
			       strerrordesc_np(-err),
			       err == -EACCES ? "; without --port a free one "
						"is taken" :
						"");
		return 1;
	}
	(void)printf("%s\n", sonde_view_server_url(server));
	if (config->service)
		(void)printf("%stsp/api\n", sonde_view_server_url(server));
	(void)fflush(stdout);
	if (browser)
		open_browser(sonde_view_server_url(server));
	(void)sigwait(ends, &got);
	sonde_view_server_stop(server);
	return 0;
}

static int open_and_serve(char **paths, size_t nr,
			  struct sonde_view_config *config, bool browser)
{
	struct sonde_trace_error error = { .column = 0 };
	sigset_t ends;
	int status;

	sonde_watch_begin("view", false);
	if (sonde_trace_open((const char *const *)paths, nr, &error,
			     &config->trace)) {
		sonde_complain("%s", error.text);
		return 1;
	}
	sonde_watch_mend(sonde_view_mend);
	config->paths = (const char *const *)paths;
	config->nr_paths = nr;
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
	status = serve_pages(config, browser, &ends);
	sonde_watch_end();
	sonde_trace_close(config->trace);
	return status;
}

/* A session, whose recorder is asked to read before each look. */
struct live_session {
	struct sonde_rundir home;
	const char *name;
};

static bool refresh_session(void *ctx)
{
	const struct live_session *session = ctx;
	uint64_t read_ns;

	return sonde_command_session_read(&session->home, session->name,
					  &read_ns);
}

static int serve_session(char *name, struct sonde_view_config *config,
			 bool browser)
{
	char *words[] = { (char[]){ "" }, name, NULL };
	struct live_session session;
	char *directory;
	int status;

	optind = 1;
	status = sonde_command_session(&sonde_command_view, 2, words,
				       &session.home, &session.name);
	if (status)
		return status;
	directory = sonde_command_session_trace(&session.home, session.name,
						&status);
	config->follow = true;
	config->refresh = refresh_session;
	config->refresh_ctx = &session;
	if (directory) {
		(void)refresh_session(&session);
		status = open_and_serve(&directory, 1, config, browser);
	}
	free(directory);
	sonde_rundir_close(&session.home);
	return status;
}

static int view_serve(int argc, char **argv, struct sonde_view_config *config,
		      const struct view_words *words)
{
	char name[NAME_MAX + 1];
	char **paths;
	size_t nr;
	int status;

	if (words->live)
		return serve_session(sonde_unconst(words->live), config,
				     !words->no_browser);
	status = sonde_command_view_traces(&sonde_command_view, argc, argv,
					   name, &paths, &nr);
	return status ? status :
			open_and_serve(paths, nr, config, !words->no_browser);
}

static int view_with_tsp(int argc, char **argv,
			 struct sonde_view_config *config,
			 const struct view_words *words)
{
	struct sonde_view_tsp tsp;
	const struct sonde_view_service service =
		sonde_view_tsp_service(&tsp, SONDE_VERSION, config);
	int status;

	if (words->tsp && !sonde_view_tsp_able()) {
		sonde_complain("view: --tsp: this sonde was built without "
			       "json-c, which reads what clients ask");
		return 1;
	}
	config->service = words->tsp ? &service : NULL;
	status = view_serve(argc, argv, config, words);
	config->service = NULL;
	sonde_view_tsp_fini(&tsp);
	return status;
}

static int view_with_rules(int argc, char **argv,
			   struct sonde_view_config *config,
			   const struct view_words *words)
{
	struct sonde_view_rules rules;
	int status = sonde_command_view_rows(&sonde_command_view, words->rows,
					     &words->plugins, &rules);

	config->rules = rules.nr || rules.nr_plugins ? &rules : NULL;
	if (!status)
		status = view_with_tsp(argc, argv, config, words);
	sonde_view_rules_fini(&rules);
	return status;
}

/* As a browser says it: a scheme, a host, and a port if it isn't the scheme's own;
 * no path, and nothing that stands for several. */
static bool is_origin(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	static const char host[] = "abcdefghijklmnopqrstuvwxyz0123456789.:-_[]";
	const char *at = text + strspn(text, letters);

	if (at == text || strncmp(at, "://", 3) != 0)
		return false;
	at += 3;
	return *at && !at[strspn(at, host)] && strlen(text) < 256;
}

/* Who may ask besides our own pages. 0 or an exit status, said why. */
static int take_origins(const struct view_words *words,
			struct sonde_view_config *config)
{
	const struct sonde_option_values *origins = &words->origins;

	if (origins->nr && !words->tsp) {
		sonde_complain("view: --allow-origin goes with --tsp: pages of "
			       "others may ask nothing else");
		return SONDE_EXIT_USAGE;
	}
	if (origins->full) {
		sonde_complain("view: --allow-origin: at most %d",
			       SONDE_OPTION_VALUES);
		return SONDE_EXIT_USAGE;
	}
	for (size_t i = 0; i < origins->nr; i++) {
		if (is_origin(origins->list[i]))
			continue;
		sonde_complain(
			"view: --allow-origin %.100s: give one origin as "
			"a browser says it, such as "
			"http://localhost:3000, without a path",
			origins->list[i]);
		return SONDE_EXIT_USAGE;
	}
	config->origins = origins->list;
	config->nr_origins = origins->nr;
	return 0;
}

static int view_run(int argc, char **argv)
{
	struct sonde_view_config config = { .port = 0 };
	struct view_words words = { .no_browser = false };
	uint64_t number = 0;
	int status = sonde_option_take(&sonde_command_view, argc, argv, &words,
				       NULL);

	if (status >= 0)
		return status;
	if (words.port &&
	    (!sonde_number_parse(words.port, UINT16_MAX, &number) || !number)) {
		sonde_complain("--port %.100s: give a number from 1 to %d",
			       words.port, UINT16_MAX);
		return SONDE_EXIT_USAGE;
	}
	config.port = (uint16_t)number;
	config.follow = words.follows;
	if ((words.live && optind < argc) ||
	    (config.follow && argc - optind > 1)) {
		sonde_complain(
			"view: what grows is one trace: with --live name "
			"none, with --follow one");
		return SONDE_EXIT_USAGE;
	}
	status = take_origins(&words, &config);
	return status ? status : view_with_rules(argc, argv, &config, &words);
}

const struct sonde_command sonde_command_view = {
	.name = "view",
	.run = view_run,
	.brief = "TRACE",
	.does = "look at it in a browser",
	.usage = usage,
	.options = options,
	.notes = "Without a TRACE it is the newest recording here, "
		 "sonde-YYYYMMDD-HHMMSS.\n",
	.words = SONDE_VALUE_DIR,
};
