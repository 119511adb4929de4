/* SPDX-License-Identifier: MIT */
/*
 * read_watch.h - what goes on while a trace is read: a progress bar, Ctrl-C,
 * files that shrink under the reader. There is one watch in the process, for
 * signals belong to the process.
 *
 * The bar is on standard error, if that is a terminal, half a second after the
 * beginning, ten times a second:
 *
 *	print:  42 % [========>           ] 310 MB/s, 3 s left
 *
 * Where nobody can know how much is left, it says what is waited for:
 *
 *	probe: GDB reads debugging information, 3 s
 *
 * The first Ctrl-C (or SIGTERM) makes sonde_watch_progress() say so; a second
 * one kills. SIGBUS in a mapped file ends the process with a message, for what
 * was read before may be half of anything.
 */
#ifndef CMD_READ_WATCH_H
#define CMD_READ_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sonde/trace.h>

/* `trace` lives until sonde_watch_end(); up to two. */
void sonde_watch_begin(const char *command, bool bar);
/* The bar alone: signals do as they did. */
void sonde_watch_begin_bar(const char *command);
void sonde_watch_trace(const struct sonde_trace *trace);

/* done of all, in bytes; -EINTR if the user wants it to stop, or 0. */
int sonde_watch_progress(uint64_t done, uint64_t all);
/* The same, where what is counted isn't bytes: `what` says how far it is. */
int sonde_watch_count(uint64_t done, uint64_t all, const char *what);
/* Takes the bar away until it is drawn again: before a line of something else. */
void sonde_watch_hide(void);
/* Of a child, says `what` until it ends, which waitpid() then finds; returns at
 * once if there is no bar. */
void sonde_watch_child(pid_t pid, const char *what);

/* Asked where a file that shrank would end the process, from a signal's handler: if true,
 * reading goes on. */
void sonde_watch_mend(bool (*mend)(const siginfo_t *info));
/* Called where a file that shrank ends the process, from a signal's handler. NULL:
 * nothing is. */
void sonde_watch_restore(void (*restore)(void));

/* Takes the bar away; before anything else is printed. */
void sonde_watch_end(void);

#endif /* CMD_READ_WATCH_H */
