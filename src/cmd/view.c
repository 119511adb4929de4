/* SPDX-License-Identifier: MIT */
/*
 * view.c - `sonde view`: a trace in the browser, until Ctrl-C.
 *
 * The signals that end it are blocked before there is any other thread, and
 * taken by this one, which waits for nothing else.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cmd/cmd.h"
#include "cmd/newest.h"
#include "cmd/read_watch.h"
#include "view/http/server.h"

static const char usage[] =
	"sonde view [options] [TRACE...]\n"
	"\n"
	"Serves pages that show a trace to this machine's browsers, until Ctrl-C:\n"
	"prints the address of the page, and opens it if there is a display.\n";

enum option_value {
	OPTION_PORT = 256,
	OPTION_NO_BROWSER,
};

/* clang-format off */
static const struct sonde_option options[] = {
	{ "port", OPTION_PORT, "N", NULL,
	  "listen on this port of 127.0.0.1 (default: one that is free)" },
	{ "no-browser", OPTION_NO_BROWSER, NULL, NULL,
	  "open no browser, print the address only" },
	{ 0 }
};
/* clang-format on */

/* Its end is nobody's business: the page is there or it isn't. */
static void open_browser(const char *url)
{
	const char *const words[] = { "xdg-open", url, NULL };
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables */
	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return;
	(void)sigemptyset(&none);
	if (posix_spawnattr_init(&attributes))
		return;
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnp(&pid, words[0], NULL, &attributes,
			   (char *const *)(const void *)words, environ);
	(void)posix_spawnattr_destroy(&attributes);
}

static int serve_pages(const struct sonde_view_config *config, bool browser,
		       const sigset_t *ends)
{
	struct sonde_view_server *server;
	int got;
	int err = sonde_view_server_start(config, &server);

	if (err == -EADDRINUSE) {
		sonde_complain("view: port %u is in use; without --port a free "
			       "one is taken",
			       config->port);
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
	sonde_watch_trace(config->trace);
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

static int view_run(int argc, char **argv)
{
	struct sonde_view_config config = { .port = 0 };
	char name[NAME_MAX + 1];
	char *newest[] = { name, NULL };
	const char *port = NULL;
	bool no_browser = false;
	const struct sonde_option_place places[] = {
		{ OPTION_PORT, .value = &port },
		{ OPTION_NO_BROWSER, .flag = &no_browser },
		{ 0 },
	};
	uint64_t number = 0;
	int status = sonde_option_all(&sonde_command_view, argc, argv, places);

	if (status >= 0)
		return status;
	if (port &&
	    (!sonde_number_parse(port, UINT16_MAX, &number) || !number)) {
		sonde_complain("--port %.100s: give a number from 1 to %d",
			       port, UINT16_MAX);
		return SONDE_EXIT_USAGE;
	}
	config.port = (uint16_t)number;
	if (optind < argc)
		return open_and_serve(argv + optind, (size_t)(argc - optind),
				      &config, !no_browser);
	if (sonde_newest(false, name))
		return open_and_serve(newest, 1, &config, !no_browser);
	sonde_complain("which trace? No sonde-YYYYMMDD-HHMMSS was recorded "
		       "here; try: sonde view TRACE");
	return SONDE_EXIT_USAGE;
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
