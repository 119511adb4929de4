/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * instance.h - tracefs: where it is, its files, and a set of trace buffers of
 * our own in it.
 *
 * Everything we change lies in instances/sonde-PID-SESSION, which has its own
 * buffers, clock, options and switches; what others set up, or have switched
 * on, stays as it is. PID is the process that made it: if that is gone, the
 * instance is left over and anybody may remove it. There is one exception to be
 * careful about: the option record-cmd looks like the instance's, but switching
 * it off takes effect on everybody's events that are on (seen on 6.18: names
 * that trace-cmd was collecting were no longer collected). It saves little, so
 * it is switched off only while nobody else has an event on.
 *
 * An instance is made with everything off: sonde_instance_switch() starts and
 * stops it, at once for all its events.
 *
 * Cost: the kernel waits for grace periods, of 4 to 10 ms each: two when the
 * clock is set, one or two when the size is, and when it is removed one of each
 * kind it has (Linux 6.18: 25 and 15 ms), even if nothing was ever recorded: no
 * smaller buffer makes it less. If it has pids that are followed, it waits once
 * more to let them go, and longer while its events are on (Linux 6.18, a busy
 * machine, medians of 6: removing takes 40 ms without pids and 101 with them, 83
 * once the events are off), so both are better done before, beside something else.
 * All else is below a millisecond.
 */
#ifndef SOURCE_TRACEFS_INSTANCE_H
#define SOURCE_TRACEFS_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/source.h"

/* Writes it in one piece. 0 or -errno. */
int sonde_tracefs_write(int dir, const char *file, const char *text);

/* A descriptor of tracefs' root directory, or -errno with *error. */
int sonde_tracefs_open(struct sonde_source_error *error);

struct sonde_instance_config {
	pid_t owner;
	uint64_t session;
	const char *clock; /* a word of the file trace_clock */
	bool is_overwriting;
	bool follows_forks; /* pids that are followed have their children
			       followed, too */
	bool has_stacks;    /* call stacks of events */
	uint64_t cpu_bytes; /* of each CPU's buffer */
};

struct sonde_instance {
	int fd;     /* its directory; -1: there is none */
	int parent; /* the directory of instances */
	char name[48];
};

/* `root` is borrowed for this call. 0, or -errno with *error and nothing
 * made. */
int sonde_instance_make(int root, const struct sonde_instance_config *config,
			struct sonde_instance *ret_instance,
			struct sonde_source_error *error);

/* Whether trace_clock offers a clock of this name. */
bool sonde_instance_has_clock(int root, const char *clock);

int sonde_instance_switch(const struct sonde_instance *instance, bool on);

/* Removes it, and switches its events off even if it can't be removed, since a
 * descriptor of its files is open somewhere. 0 or -errno; `fd` is -1
 * afterwards. */
int sonde_instance_remove(struct sonde_instance *instance);

#endif /* SOURCE_TRACEFS_INSTANCE_H */
