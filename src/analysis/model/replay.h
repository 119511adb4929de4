/* SPDX-License-Identifier: MIT */
/*
 * replay.h - a kernel's state that sees every step in the order of time.
 *
 * What a thread waited for depends on files that others opened, on locks that
 * others hold, on interrupts: too much for a part of a state to leave open. So
 * here all CPUs decode the trace's slices to steps, and one thread takes all
 * steps in their order. That is slower than joining parts (kernel.h), and gives
 * the same in one slice and in many by its making.
 *
 * Events of programs tell which process a thread is of, and what it does to its
 * locks.
 *
 * Memory: 128 bytes for each step of as many slices as there are at a time;
 * slices are small.
 */
#ifndef ANALYSIS_MODEL_REPLAY_H
#define ANALYSIS_MODEL_REPLAY_H

#include "analysis/model/kernel.h"

/*
 * Reads the trace, and emits into the sink. The options' filter is not looked
 * at: the tables have one. *ret_kernel, to be freed, is closed, and what was
 * not over at the end is emitted as open. 0 or a negative errno.
 */
int sonde_model_replay_trace(struct sonde_trace *trace,
			     const struct sonde_map_options *options,
			     const struct sonde_model_tables *tables,
			     const struct sonde_model_sink_ops *ops, void *sink,
			     struct sonde_model **ret_kernel);

#endif /* ANALYSIS_MODEL_REPLAY_H */
