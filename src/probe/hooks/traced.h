/* SPDX-License-Identifier: MIT */
/*
 * traced.h - functions of a process whose entries and exits are events: which
 * probes that takes.
 *
 * One at the entry, and one at each end: where it returns, and where it goes on
 * in another function by a jump (a tail call), which is its end, and the
 * beginning of the other one. No return address is changed, so longjmp(),
 * exceptions, other stacks and unwinders are as without us; what such a way out
 * leaves has no exit, which reports tell.
 *
 * A function all of whose ends can't be had is left out, with the reason. Parts
 * of a function that lie elsewhere (GCC's .cold) belong to it. What looks like
 * a part and might be a function of its own is a reason, too: its returns
 * would be taken for ours.
 */
#ifndef PROBE_HOOKS_TRACED_H
#define PROBE_HOOKS_TRACED_H

#include "probe/hooks/arguments.h"
#include "probe/hooks/chosen.h"
#include "probe/inject/probes.h"

#define SONDE_HOOKS_TRACED_SPECS 7168u
#define SONDE_HOOKS_NO_PROBE     UINT32_MAX

struct sonde_hooks_traced_function {
	uint64_t address;
	const char *name;
	size_t first, nr;   /* its specs */
	const char *reason; /* why it is left out; NULL: it isn't */
	bool is_in;         /* its probes are there already */
	/* What its entries and exits have; NULL: its address alone */
	struct sonde_hooks_arguments *given, *result;
	/* Under a condition: an exit's that has no result */
	struct sonde_hooks_arguments *plain;
};

struct sonde_hooks_traced {
	struct sonde_hooks_chosen chosen;
	struct sonde_hooks_traced_function *list;
	size_t nr;
	struct sonde_probe_spec *specs;
	size_t nr_specs, room;
	/* by spec, when they are in; or SONDE_HOOKS_NO_PROBE */
	uint32_t *probes;
};

/* 0; -ENOENT: the process has none that is meant; -errno; with *error. To be freed
 * in any case. `probes`: those that are in the process, if there are any. */
int sonde_hooks_traced_make(struct sonde_process *process,
			    const struct sonde_hooks_globs *globs,
			    const struct sonde_probes *probes,
			    struct sonde_hooks_traced *ret,
			    struct sonde_process_error *error);
void sonde_hooks_traced_free(struct sonde_hooks_traced *traced);

/* What the events of its i-th spec have; NULL: its address alone. */
const struct sonde_hooks_arguments *
sonde_hooks_traced_arguments(const struct sonde_hooks_traced *traced,
			     const struct sonde_hooks_traced_function *function,
			     size_t i);

/* Before `next` is put in in the place of `now`, which is in: what both have stays
 * where it is and goes on, all else of `now` is taken out. */
void sonde_hooks_traced_follow(struct sonde_hooks_traced *next,
			       struct sonde_hooks_traced *now,
			       struct sonde_probes *probes);

/* Puts them in, but for those that are; what turns out to have no place for a jump is left out. 0;
 * -ENOENT: none is left; -errno; with *error. */
int sonde_hooks_traced_put(struct sonde_hooks_traced *traced,
			   struct sonde_probes *probes,
			   struct sonde_process_error *error);

/* Line `i` of what there is to tell of those left out: how many, then one for
 * each reason, then, if `all`, one for each function. False: beyond the last.
 * `i` 0 is there also if all are in. */
bool sonde_hooks_traced_tell(const struct sonde_hooks_traced *traced, size_t i,
			     bool all, char *to, size_t size);

#endif /* PROBE_HOOKS_TRACED_H */
