/* SPDX-License-Identifier: MIT */
/*
 * ktrace.h - the kernel's half of a recording: the sources of kernel/source.h,
 * each one stream class of a trace of its own, DIR/kernel beside DIR/user.
 *
 * Two traces, since readers choose their views by a trace's domain; they share
 * the clock and the machine's identity, so a reader that opens DIR has one
 * sequence of events.
 *
 * Order, per stream and pass: peek, append, publish, advance, as for the rings
 * of programs (image.h). Descriptions are known before anything is recorded.
 * The dump of the system's state is a source like others, read right after it
 * was taken.
 *
 * Life: open, start, consume as often as one likes, finish. One thread.
 */
#ifndef SESSION_KTRACE_H
#define SESSION_KTRACE_H

#include <stdint.h>
#include <sys/types.h>

#include "kernel/source.h"
#include "session/image.h"
#include "session/options.h"

struct sonde_ktrace;

struct sonde_ktrace_config {
	const struct sonde_record_options *options; /* borrowed */
	const struct sonde_ctf_clock *clock;        /* borrowed while open */
	enum sonde_clock_kind clock_kind;
	uint64_t (*now)(void);
	uint64_t session;
	pid_t self[2];
	struct sonde_summary *summary; /* borrowed */
};

/*
 * Gets the sources ready; makes no file yet. 0; -errno with *error if none can
 * be had, and then nothing is left behind.
 */
int sonde_ktrace_open(const struct sonde_ktrace_config *config,
		      struct sonde_kernel_error *error,
		      struct sonde_ktrace **ret_ktrace);

/* Of a recording with kernel events: names in its directory. */
#define SONDE_TRACE_KERNEL "kernel"
#define SONDE_TRACE_USER   "user"

/* Makes the directory for the trace in `dir`, and the trace. 0 or -errno. */
int sonde_ktrace_create(struct sonde_ktrace *ktrace, int dir);

/* Records from now on, the state of the system first; `root` and its
 * descendants unless all of the machine is recorded. 0; -errno with *error, and
 * then nothing is recorded, and the trace stays empty. */
int sonde_ktrace_start(struct sonde_ktrace *ktrace, pid_t root,
		       struct sonde_kernel_error *error);

/* One pass over all streams. How full the fullest was, in thousandths. */
uint32_t sonde_ktrace_consume(struct sonde_ktrace *ktrace);

/* Whether what --until waits for has happened. */
bool sonde_ktrace_is_over(struct sonde_ktrace *ktrace);

/* Bytes of its largest ring. */
uint64_t sonde_ktrace_ring_bytes(const struct sonde_ktrace *ktrace);

/* A process has begun to record events of its own, so its files are mapped by
 * now: what they are goes to the trace. */
void sonde_ktrace_saw_process(struct sonde_ktrace *ktrace, pid_t pid);

/* Stops, writes what is left, adds to the summary. The trace is still open, for
 * its clock to be set. */
void sonde_ktrace_finish(struct sonde_ktrace *ktrace);
struct sonde_ctf_trace *sonde_ktrace_trace(struct sonde_ktrace *ktrace);

/* Closes the trace and the sources; leaves nothing in the system. 0 or -errno
 * of the trace. NULL is fine. */
int sonde_ktrace_close(struct sonde_ktrace *ktrace);

#endif /* SESSION_KTRACE_H */
