/* SPDX-License-Identifier: MIT */
/*
 * sites.h - probes of <sys/sdt.h> in a process's files whose hits are events:
 * what `sonde record -e 'sdt:PROVIDER:NAME if CONDITION'` means.
 *
 *	make	which places are meant, and what each records
 *	put	a probe at each; what has no place is left out
 *	raise	the program comes to those that it counts the tracers of
 *	tell	what was put in, and what could not be had
 *
 * A glob is held against "sdt:PROVIDER:NAME". The last that matches decides
 * about the condition; and the session's rules must select the event. Files
 * that the process loads later are not looked at.
 */
#ifndef PROBE_HOOKS_SITES_H
#define PROBE_HOOKS_SITES_H

#include "probe/hooks/arguments.h"
#include "probe/inject/process.h"
#include "probe/markers.h"

struct sonde_hooks_site_rules {
	const char *const *
		list; /* sonde_source_site_rule()'s (source/rules.h); borrowed */
	size_t nr;
	const char *rules; /* the session's (types/select.h); borrowed */
	size_t rules_size;
};

struct sonde_hooks_site {
	const struct sonde_probe_marker *marker;
	struct sonde_hooks_arguments *arguments;
	uint32_t probe; /* or SONDE_HOOKS_NO_PROBE */
};

/* All zeros: none. */
struct sonde_hooks_sites {
	struct sonde_probe_markers markers;
	struct sonde_hooks_site *list;
	size_t nr, room;
	bool is_raised;
	size_t nr_out, nr_traps, nr_left; /* places, places, arguments */
	char out[160], left[160];         /* the first of each */
};

/* 0; -ENOENT (nothing is called so), -EINVAL (a condition), -errno; with
 * *error. To be freed in any case. */
int sonde_hooks_sites_make(const struct sonde_process *process,
			   const struct sonde_hooks_site_rules *rules,
			   struct sonde_hooks_sites *ret,
			   struct sonde_process_error *error);
/* 0; -ENOENT: nothing has a place; -errno; with *error. */
int sonde_hooks_sites_put(struct sonde_hooks_sites *sites,
			  struct sonde_probes *probes,
			  struct sonde_process_error *error);
/* By one each, once, or lowers what was raised. How many could not be. */
size_t sonde_hooks_sites_raise(struct sonde_hooks_sites *sites,
			       const struct sonde_process *process, bool raise);
void sonde_hooks_sites_tell(const struct sonde_hooks_sites *sites, char *to,
			    size_t size);
/* Records of memory that could not be read, where there are zeros. */
uint64_t sonde_hooks_sites_cut(const struct sonde_hooks_sites *sites,
			       const struct sonde_probes *probes);
void sonde_hooks_sites_free(struct sonde_hooks_sites *sites);

#endif /* PROBE_HOOKS_SITES_H */
