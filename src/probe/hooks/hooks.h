/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - the allocations and locks of running processes that know nothing of
 * Sonde, entries and exits of their functions, and what they have for other
 * tracers (<sys/sdt.h>), as events of a recording that is on.
 *
 * Each process gets an agent, an arena, and probes at the functions' entries and
 * ends (plan.h, traced.h); the recorder is told of the arena on its behalf. When it ends,
 * the probes are taken out, and the text is what it was. If we are killed, the
 * servant in the process takes them out (inject/process.h).
 *
 * One thread.
 */
#ifndef PROBE_HOOKS_HOOKS_H
#define PROBE_HOOKS_HOOKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "probe/hooks/chosen.h"
#include "probe/hooks/sites.h"
#include "ring/shadow.h"
#include "session/child.h"
#include "session/summary.h"

struct sonde_hooks;

struct sonde_hooks_config {
	unsigned int groups; /* bits of enum sonde_hooks_group (events.h) */
	/* Functions whose entries and exits are events; borrowed. */
	struct sonde_hooks_globs functions;
	struct sonde_shadow_rule rule; /* of their calls */
	/* Probes of <sys/sdt.h> whose hits are events. */
	struct sonde_hooks_site_rules sites;
	bool verbose; /* say of each function that is left out why */
	bool quiet;   /* say nothing of that */
	const struct sonde_child *child;
	/* Tells the user something at once. */
	void (*say)(const char *text);
};

/* NULL: no memory. */
struct sonde_hooks *sonde_hooks_new(const struct sonde_hooks_config *config);

/* 0: its calls are events from now on. Or -errno with one line in `text`. */
int sonde_hooks_attach(struct sonde_hooks *hooks, pid_t pid, char *text,
		       size_t size);

/* Other functions than those of the config, in processes that have hooks and those
 * that get them: what both have goes on, of others nothing is recorded any more, and
 * all calls of new ones are when it returns. With what is borrowed, and args, as in
 * the config. Not if functions have conditions; nor, with args, if events have
 * (-EOPNOTSUPP): the agent learns those once. 0, and in `text` a line for
 * each process; -ENOENT: no process has any that is meant; -errno: with why in
 * `text`, and nothing is changed. */
int sonde_hooks_change(struct sonde_hooks *hooks,
		       const struct sonde_hooks_globs *functions, char *text,
		       size_t size);

/* Gives up those that have ended or execute another program. */
void sonde_hooks_look(struct sonde_hooks *hooks);

/* Takes all out. The recorder may finish then; and what there is to tell. */
void sonde_hooks_end(struct sonde_hooks *hooks);
void sonde_hooks_tell(const struct sonde_hooks *hooks,
		      struct sonde_summary *summary);

#endif /* PROBE_HOOKS_HOOKS_H */
