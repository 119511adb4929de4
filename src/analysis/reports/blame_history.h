/* SPDX-License-Identifier: MIT */
/*
 * blame_history.h - what every thread did in some windows of a trace's time.
 *
 * A thread's *states* are disjoint and in the order of time: it ran, waited for
 * a CPU, or was blocked. Its *calls* are, too. What is between two states is
 * not known: events were lost, or nothing had been heard of the thread yet. So
 * any stretch of a thread's time is made of *pieces* without gaps, of which
 * each is a state, or a part of one inside or outside of a call, or unknown.
 *
 * States and calls that only touch a window are kept whole.
 *
 * Of several machines, one has the windows, and all others' times are given by its
 * clock (host_clocks.h); those whose clock is not known are left out. A thread's
 * number says of which machine it is: sonde_history_tid().
 *
 * Memory: 140 bytes for each state and call in the windows, of which at most
 * SONDE_HISTORY_MAX are kept.
 */
#ifndef ANALYSIS_REPORTS_BLAME_HISTORY_H
#define ANALYSIS_REPORTS_BLAME_HISTORY_H

#include "analysis/analysis.h"
#include "analysis/model/kernel.h"
#include "analysis/reports/host_clocks.h"

#define SONDE_HISTORY_MAX ((size_t)1 << 20)

/* Linux has no higher ones than 2^22. */
#define SONDE_HISTORY_TID_BITS 22
#define SONDE_HISTORY_MACHINES 512u

/*
 * Of `nr` machines: the number of a machine's thread or process, which is its id if
 * there is only one machine; the machine; and the id. What is below 0 is unknown, as
 * is an id that can't be, and of the first machine.
 */
static inline int32_t sonde_history_tid(size_t nr, size_t machine, int32_t tid)
{
	if (nr == 1 || tid < 0)
		return tid;
	return tid >> SONDE_HISTORY_TID_BITS ?
		       -1 :
		       (int32_t)(machine << SONDE_HISTORY_TID_BITS) | tid;
}
static inline size_t sonde_history_machine(size_t nr, int32_t tid)
{
	return nr == 1 || tid < 0 ? 0 : (size_t)tid >> SONDE_HISTORY_TID_BITS;
}
static inline int32_t sonde_history_own_tid(size_t nr, int32_t tid)
{
	return nr == 1 || tid < 0 ? tid :
				    tid & ((1 << SONDE_HISTORY_TID_BITS) - 1);
}

enum sonde_state_kind {
	SONDE_STATE_RUN,
	SONDE_STATE_READY,     /* woken, without a CPU */
	SONDE_STATE_PREEMPTED, /* it lost its CPU */
	SONDE_STATE_BLOCKED,
	SONDE_STATE_UNKNOWN, /* of a piece only */
	/* Of neither: for those who follow waits. It waited for bytes that were
	 * on their way. */
	SONDE_STATE_NETWORK,
};

struct sonde_history_state {
	int32_t tid;
	uint8_t kind; /* enum sonde_state_kind */
	int64_t begin_ns, end_ns;
	struct sonde_cause cause; /* of BLOCKED */
	struct sonde_waker waker; /* of BLOCKED */
	/* Of BLOCKED: where it was, and where it was woken. */
	struct sonde_model_stack stack, waker_stack;
};

struct sonde_history_call {
	int32_t tid;
	int64_t begin_ns, end_ns;
	struct sonde_cause cause;
};

struct sonde_history_window {
	int64_t begin_ns, end_ns;
};

/* What names the threads and calls of a machine. NULL: it was not read. */
struct sonde_history_machine {
	struct sonde_model_tables *tables;
	struct sonde_model *kernel;
};

struct sonde_history {
	struct sonde_history_machine *machines; /* the trace's */
	size_t nr_machines;
	struct sonde_history_state *states; /* by thread, then time */
	struct sonde_history_call *calls;   /* likewise */
	size_t nr_states, nr_calls;
	uint64_t left_out; /* there was no room for */
	/* ---- private ---- */
	size_t states_capacity, calls_capacity;
	const struct sonde_history_window *windows;
	size_t nr_windows;
	/* of the machine that is being read */
	uint32_t machine;
	int64_t offset_ns;
};

/*
 * From the begin of what args ask for to the last window's end. Windows may
 * overlap, in any order; they are sorted. `clocks`: each machine's; of those but
 * `first`, which has the windows, some may have nothing to read. *ret_history is for
 * sonde_history_fini(), in any case. As of struct sonde_analysis.
 */
int sonde_history_read(struct sonde_analysis_args *args,
		       struct sonde_history_window *windows, size_t nr_windows,
		       const struct sonde_host_clock *clocks, size_t first,
		       struct sonde_history *ret_history);
void sonde_history_fini(struct sonde_history *history);

/* The thread's last state that begins before that time; NULL: none. */
const struct sonde_history_state *
sonde_history_before(const struct sonde_history *history, int32_t tid,
		     int64_t time_ns);

struct sonde_history_piece {
	enum sonde_state_kind kind;
	int64_t begin_ns, end_ns;        /* end > begin */
	const struct sonde_cause *cause; /* BLOCKED: what for; else: the call
					  * that it is in; NULL: none */
	const struct sonde_waker *waker; /* of a BLOCKED that ends with it */
	const struct sonde_history_state *blocked; /* of a BLOCKED, all of it */
};
typedef void sonde_history_piece_fn(void *ctx,
				    const struct sonde_history_piece *piece);

/* All of a thread's time from `begin_ns` to `end_ns`, in order; their lengths
 * add up to it. */
void sonde_history_pieces(const struct sonde_history *history, int32_t tid,
			  int64_t begin_ns, int64_t end_ns,
			  sonde_history_piece_fn *piece, void *ctx);

#endif /* ANALYSIS_REPORTS_BLAME_HISTORY_H */
