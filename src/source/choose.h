/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * choose.h - which sources (source.h) deliver what a user selected.
 *
 * If the choice is left to us, our own modules deliver all events if they are
 * loaded and this user may use them, but for what only tracefs has (probes of
 * programs). Without them BPF delivers the events it is best at, and
 * tracefs all others; if one of them can't be had here, the other delivers all,
 * and `note` says why. An event comes from one source only. Events with call stacks
 * come from BPF, or if that can't be had here from tracefs, alone.
 */
#ifndef SOURCE_CHOOSE_H
#define SOURCE_CHOOSE_H

#include "source/source.h"

#define SONDE_SOURCES_MAX 3u /* two of events, and samples */

enum sonde_source_choice {
	SONDE_SOURCE_AUTO,
	SONDE_SOURCE_TRACEFS,
	SONDE_SOURCE_BPF,
	SONDE_SOURCE_MODULES,
};

struct sonde_sources {
	uint32_t nr;
	struct sonde_callstacks_store *stacks; /* of all of them; or NULL */
	struct sonde_perf_code *code; /* with them, what unwinds them */
	struct sonde_source *sources[SONDE_SOURCES_MAX];
	char note[SONDE_SOURCE_TEXT]; /* what could not be had, or "" */
	char name[40];                /* "bpf,tracefs" */
};

/*
 * Opens what is needed. config->is_taken, only_best and stacks are ours to set.
 * 0; -errno with *error and nothing open: none can, or a rule for events
 * matches none (-EINVAL).
 */
int sonde_sources_open(const struct sonde_source_config *config,
		       enum sonde_source_choice choice,
		       struct sonde_sources *ret_set,
		       struct sonde_source_error *error);

/* Adds samples of what runs (config->sample_hz), and what names the call stacks of
 * the set, to a set, which may be empty. */
int sonde_sources_sample(const struct sonde_source_config *config,
			 struct sonde_sources *set,
			 struct sonde_source_error *error);

/*
 * Whether the numbers of processes here are those that the kernel's events
 * have: not so in a PID namespace below the first, where neither can be told
 * from the other. True if it can't be found out.
 */
bool sonde_source_knows_pids(void);

void sonde_sources_close(struct sonde_sources *set);

/* "bpf", "tracefs", "bpf,tracefs" and so on: for the trace. */
const char *sonde_sources_name(const struct sonde_sources *set);

#endif /* SOURCE_CHOOSE_H */
