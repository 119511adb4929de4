/* SPDX-License-Identifier: MIT */
/*
 * kernel_tracepoint.h - a tracepoint of GDB's in the kernel, as the sources take it
 * (source/probes.h): its plan (plan.h), in other words.
 *
 * What the kernel's programs can't do is refused with the reason: trace state
 * variables, while-stepping, and what has no fixed size.
 */
#ifndef PROBE_KERNEL_TRACEPOINT_H
#define PROBE_KERNEL_TRACEPOINT_H

#include "probe/markers.h"
#include "probe/points.h"
#include "source/probes.h"

/* What all tracepoints of a run have in common. */
struct sonde_probe_kernel_known {
	const struct sonde_probe_points *points;
	struct sonde_probe_markers markers;
	/* The trace state variables that they use, by GDB's numbers: the i-th
	 * is the source's variable i. */
	uint32_t variables[SONDE_SOURCE_VARIABLES];
	uint32_t nr_variables;
};

/* 0; -EINVAL with *error of one line, -ENOMEM. *ret_probe is for
 * sonde_probe_kernel_tracepoint_fini(), also if it fails. Static ones are those of
 * `markers`; variables that it uses are added. *ret_frame_bytes: what a hit
 * takes in GDB's format. */
int sonde_probe_kernel_tracepoint(const struct sonde_probe_point *point,
				  struct sonde_probe_kernel_known *known,
				  char *error, size_t error_size,
				  struct sonde_source_probe *ret_probe,
				  uint64_t *ret_frame_bytes);
void sonde_probe_kernel_tracepoint_fini(struct sonde_source_probe *probe);

#endif /* PROBE_KERNEL_TRACEPOINT_H */
