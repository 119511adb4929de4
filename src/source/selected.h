/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * selected.h - which events a source of ours is to deliver: what the rules ask
 * for and no other source has taken. And a walk through the tracepoints that
 * have no form (payloads.h), which sources describe by the kernel's types.
 */
#ifndef SOURCE_SELECTED_H
#define SOURCE_SELECTED_H

#include "source/source.h"

/* Tracepoints with longer names are left out. */
#define SONDE_SOURCE_NAME_MAX 128u

/* The rule that wants the event, or NULL; `shown` is its name in traces. */
const struct sonde_source_rule *
sonde_source_selected(const struct sonde_source_config *config,
		      const char *group, const char *name, const char *shown);

/* Whether the rules have `mark`: a door is asked for, and no other source has one. */
bool sonde_source_wants_door(const struct sonde_source_config *config);

/*
 * Calls each() for every wanted tracepoint without a form in `list`, a file of
 * "group:name" lines (none: 0). System calls, which sources have by other ways,
 * and ftrace's own events are not among them. Returns the first value of
 * each() that isn't 0.
 */
int sonde_source_each_template(const char *list,
			       const struct sonde_source_config *config,
			       int (*each)(void *ctx,
					   const struct sonde_source_rule *rule,
					   const char *group, const char *name),
			       void *ctx);

/* A probe's name in the trace, "kprobe_vfs_read": what it is and where, with '_'
 * for all that isn't a letter or digit. */
void sonde_source_probe_name(const char *kind, const char *place, char *out,
			     size_t size);

/* The kernel's -EILSEQ: -EINVAL and an error that names the probe. */
int sonde_source_no_instruction(struct sonde_source_error *error,
				const char *probe);

/*
 * How many calls of its function a kretprobe has room for, at most `most`: what
 * config says; or as many as threads may sleep in it, twice as many as there
 * are now, a power of two from 1024 to 16384. The kernel's own choice, twice the
 * number of CPUs, loses the returns of most calls that sleep.
 */
uint32_t sonde_source_returns(const struct sonde_source_config *config,
			      uint32_t most);

#endif /* SOURCE_SELECTED_H */
