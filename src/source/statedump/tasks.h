/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tasks.h - the threads of a dump: who is whose parent, who shares a table of
 * descriptors, who descends from a process.
 *
 * Life: init, add what a reader says, finish; then the questions. A table of
 * descriptors is called after the first thread that has it, by its tid: that
 * says who shares, and gives no address of the kernel away.
 */
#ifndef SOURCE_STATEDUMP_TASKS_H
#define SOURCE_STATEDUMP_TASKS_H

#include "base/pool.h"
#include "source/statedump/model.h"

struct sonde_proc;

struct sonde_tasks {
	struct sonde_statedump_task *all; /* finished: by tid */
	size_t nr;
	size_t room;
	struct sonde_statedump_table
		*tables; /* one for each task, by `files` */
	int32_t *pids;   /* of the processes, then of those wanted */
	size_t nr_pids;
	struct sonde_pool texts;
	struct sonde_cgroup_slot *cgroups; /* by id */
	size_t nr_cgroups;
	struct sonde_proc *proc; /* borrowed: where cgroups are looked up */
	uint64_t omitted;
};

/* 0 or -ENOMEM. */
int sonde_tasks_init(struct sonde_tasks *tasks, struct sonde_proc *proc);
void sonde_tasks_fini(struct sonde_tasks *tasks);
int sonde_tasks_add(struct sonde_tasks *tasks,
		    const struct sonde_statedump_task *task);
int sonde_tasks_finish(struct sonde_tasks *tasks);

/* What a task's or file's `files` is called; 0 if nobody has it. */
uint64_t sonde_tasks_table(const struct sonde_tasks *tasks, uint64_t files);

/* A thread's parent as it sees it itself: 0 if that is outside its PID
 * namespace, or not known. */
int32_t sonde_tasks_vppid(const struct sonde_tasks *tasks,
			  const struct sonde_statedump_task *task);

/* Whose descendants are wanted, themselves among them. */
struct sonde_tasks_roots {
	const int32_t *pids;
	size_t nr; /* 0: all are wanted */
	uint32_t
		pid_ns; /* in which these are their PIDs; 0: they are as in `pid` */
	bool alone;     /* without their descendants */
};

/* Borrowed. */
struct sonde_statedump_wanted
sonde_tasks_wanted(struct sonde_tasks *tasks,
		   const struct sonde_tasks_roots *roots);

#endif /* SOURCE_STATEDUMP_TASKS_H */
