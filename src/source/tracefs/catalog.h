/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * catalog.h - which events of tracefs were selected, and what is known of each.
 *
 * The names are those of the directories events/GROUP/NAME; formats are read of
 * selected events only (700 of them take 10 ms). System calls are two events
 * each there, sys_enter_X and sys_exit_X, selected as "syscalls" and the call's
 * name, X or what the system calls it (newfstat is fstat).
 *
 * Switching on goes by groups where a group is selected as a whole: one write
 * instead of hundreds.
 */
#ifndef SOURCE_TRACEFS_CATALOG_H
#define SOURCE_TRACEFS_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "source/condition.h"
#include "source/source.h"
#include "source/tracefs/instance.h"
#include "source/tracefs/plan.h"
#include "source/tracefs/probes.h"

struct sonde_catalog_event {
	const char *group; /* the kernel's */
	const char *name;  /* the kernel's */
	bool is_named;     /* its rule speaks of this event alone */
	const struct sonde_source_rule *rule;
	const struct sonde_desc *desc;
	const struct sonde_tracefs_plan *plan;
	struct sonde_condition *condition; /* of the rule; or NULL */
	const char *filter;                /* the kernel's part; or NULL */
	bool is_filter_exact;              /* so nothing is left to test */
	bool is_for_all; /* tells of others' time, so ourselves are in it */
	uint16_t kernel_id;
};

struct sonde_catalog_group {
	const char *name;
	uint32_t nr;    /* events in it */
	uint32_t first; /* of ours */
	uint32_t nr_ours;
};

struct sonde_catalog {
	struct sonde_pool pool;
	uint32_t nr;
	size_t capacity;
	struct sonde_catalog_event *events; /* group by group */
	uint32_t nr_groups;
	size_t group_capacity;
	struct sonde_catalog_group *groups;
};

/*
 * Find what is selected. `root` is tracefs, or a directory like it; `probes`
 * are made. 0; -ENODATA if nothing is; -errno with *error. To be finished in
 * any case.
 */
int sonde_catalog_find(int root, const struct sonde_source_config *config,
		       const struct sonde_tracefs_probes *probes,
		       struct sonde_catalog *catalog,
		       struct sonde_source_error *error);

/* Set filters and switch the events on, in an instance. Events that the kernel
 * refuses are taken off the catalog if their rule doesn't name them; 0, or
 * -errno with *error. */
int sonde_catalog_enable(struct sonde_catalog *catalog,
			 const struct sonde_instance *instance,
			 struct sonde_source_error *error);

void sonde_catalog_fini(struct sonde_catalog *catalog);

#endif /* SOURCE_TRACEFS_CATALOG_H */
