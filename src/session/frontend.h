/* SPDX-License-Identifier: MIT */
/*
 * frontend.h - the half of `sonde record` the user sees: starts the recording
 * child and the program, waits, forwards signals.
 *
 * Who is whose child: the recording child is made by a clone that sends no
 * signal when it ends, so an ordinary wait never meets it; all other children
 * are the program and, since we are a subreaper, whatever it leaves behind.
 * When there is no such child left, the recording is over.
 *
 * Signals: Ctrl-C, Ctrl-\ and a hang-up reach the program from the terminal;
 * the same sent by kill(2), and SIGTERM, are forwarded. The first leaves it to
 * the program to end. The second, or the first when the program itself has
 * ended and only descendants of it run, ends the recording at once; they run
 * on untraced. One that nohup(1) or a shell's & had us ignore stays ignored.
 *
 * The program may signal its whole process group, which is ours too. Signals
 * that nobody sends to a recording are blocked in the front end, and ignored by the
 * recording child; the program starts with them as we did.
 *
 * While the recording child gets ready, a signal that asks us to end waits for
 * that: then nothing is started, or the program gets it before its first
 * instruction. When the recording is over, the recording child has to finish
 * the trace. If it does neither (it is stopped, or its disk hangs), a second
 * signal kills it.
 *
 * Kernel events begin when the program's process exists and has done nothing. If
 * they can't, the program is never started: that is an error, as when the recording
 * child gets ready.
 *
 * If the recording child is killed, the program runs on untraced, and the trace
 * directory is repaired; without a program that is the end. If the front end is
 * killed, the recording child notices the end of its socket, and finishes the
 * trace (session/recorder.h); a program that still waits to be started never is.
 */
#ifndef SESSION_FRONTEND_H
#define SESSION_FRONTEND_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/directory.h"
#include "session/config.h"
#include "session/frontend_hooks.h"
#include "session/launch.h"
#include "session/recorder.h"
#include "session/summary.h"

struct sonde_frontend_config {
	const struct sonde_session_config *session;
	char *const *program; /* its words, or NULL */
	bool quiet;
	const char *directory;               /* for words */
	const struct sonde_directory *place; /* it, empty; NULL: events are only
					    counted */
	const char *program_path;
	const char *preload; /* or NULL */
	const char *hooks;
	/* For processes that run already; NULL: none are asked for. */
	const struct sonde_frontend_hooks *attach_hooks;
	/* To be called about every so many milliseconds; or NULL. False: it is
	 * enough, and the recording ends; the program goes on. */
	bool (*look)(void *ctx);
	void *look_ctx;
	int look_ms;
	/* Tells the user something at once; one line without its end. */
	void (*say)(const char *text);
};

struct sonde_frontend_result {
	bool have_status;
	int status; /* of the program, as wait gives it */
	/* What ended the recording before the program, or before it began. */
	int stop_signal;
	bool has_kernel; /* kernel events were recorded */
	bool have_summary;
	struct sonde_summary summary;
	/* If not even the program could be started: what failed, with names; empty:
	 * all went well */
	char failed[SONDE_RECORDER_TEXT];
	bool exec_failed; /* it was the program */
	bool wrong_rules; /* it was what -k says */
};

/* Returns 0, or -errno of what `failed` names. *ret_result is written in any
 * case. One per process. */
int sonde_frontend_run(const struct sonde_frontend_config *config,
		       struct sonde_frontend_result *ret_result);

#endif /* SESSION_FRONTEND_H */
