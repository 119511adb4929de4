/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tasks.c - the threads of a dump, and who descends from whom (tasks.h).
 *
 * After finish they are sorted by number, and a question is a bisection; a walk
 * to ancestors is bounded, as a list that was read while processes came and
 * went may have a circle.
 */
#include "source/statedump/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "source/statedump/proc.h"

#define CGROUPS_MAX  4096u
#define CGROUP_SLOTS (2 * CGROUPS_MAX) /* a power of two */
#define TEXTS_BYTES  (16u << 20)

/* Of a user's, the namespace of the first process: a constant of the kernel's
 * interface. */
#define FIRST_PID_NS 0xeffffffcu

struct sonde_statedump_table {
	uint64_t files;
	int32_t tid;
};

struct sonde_cgroup_slot {
	uint64_t id; /* 0: free */
	const char *text;
};

bool sonde_statedump_is_wanted(const struct sonde_statedump_wanted *wanted,
			       int32_t pid)
{
	size_t i;

	if (wanted->everybody)
		return true;
	SONDE_SEARCH(i, wanted->nr, wanted->pids[i] < pid);
	return i < wanted->nr && wanted->pids[i] == pid;
}

/* ---- collecting ---- */

int sonde_tasks_init(struct sonde_tasks *tasks, struct sonde_proc *proc)
{
	*tasks = (struct sonde_tasks){ .proc = proc };
	sonde_pool_init(&tasks->texts, TEXTS_BYTES);
	tasks->cgroups = calloc(CGROUP_SLOTS, sizeof(*tasks->cgroups));
	return tasks->cgroups ? 0 : -ENOMEM;
}

void sonde_tasks_fini(struct sonde_tasks *tasks)
{
	free(tasks->all);
	free(tasks->tables);
	free(tasks->pids);
	free(tasks->cgroups);
	sonde_pool_fini(&tasks->texts);
	*tasks = (struct sonde_tasks){ 0 };
}

/* A copy; many threads in a row are in the same. */
static const char *tasks_keep_text(struct sonde_tasks *tasks, const char *text)
{
	const char *last = tasks->nr ? tasks->all[tasks->nr - 1].cgroup : "";

	if (!strcmp(last, text))
		return last;
	text = sonde_pool_text(&tasks->texts, text, strlen(text));
	if (text)
		return text;
	tasks->omitted++;
	return "";
}

static const char *cgroup_by_id(struct sonde_tasks *tasks,
				const struct sonde_statedump_task *task)
{
	uint64_t hash = task->cgroup_id * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 32) & (CGROUP_SLOTS - 1);
	struct sonde_cgroup_slot *slot;

	if (!task->cgroup_id)
		return "";
	while (tasks->cgroups[at].id &&
	       tasks->cgroups[at].id != task->cgroup_id)
		at = (at + 1) & (CGROUP_SLOTS - 1);
	slot = &tasks->cgroups[at];
	if (slot->id)
		return slot->text;
	if (tasks->nr_cgroups == CGROUPS_MAX) {
		tasks->omitted++;
		return "";
	}
	slot->text = tasks_keep_text(tasks,
				     sonde_proc_cgroup(tasks->proc, task->tid));
	/* It may have ended; another thread will tell. */
	if (*slot->text) {
		slot->id = task->cgroup_id;
		tasks->nr_cgroups++;
	}
	return slot->text;
}

int sonde_tasks_add(struct sonde_tasks *tasks,
		    const struct sonde_statedump_task *task)
{
	struct sonde_statedump_task *own;

	if (tasks->nr == SONDE_STATEDUMP_TASKS_MAX) {
		tasks->omitted++;
		return 0;
	}
	if (SONDE_GROW(tasks->all, tasks->nr, tasks->room))
		return -ENOMEM;
	own = &tasks->all[tasks->nr];
	*own = *task;
	own->cgroup = task->cgroup ? tasks_keep_text(tasks, task->cgroup) :
				     cgroup_by_id(tasks, task);
	tasks->nr++;
	return 0;
}

/* ---- order ---- */

static int by_tid(const void *left, const void *right)
{
	const struct sonde_statedump_task *a = left;
	const struct sonde_statedump_task *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int by_files(const void *left, const void *right)
{
	const struct sonde_statedump_table *a = left;
	const struct sonde_statedump_table *b = right;

	if (a->files != b->files)
		return a->files > b->files ? 1 : -1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

int sonde_tasks_finish(struct sonde_tasks *tasks)
{
	tasks->tables = calloc(tasks->nr + 1, sizeof(*tasks->tables));
	tasks->pids = calloc(tasks->nr + 1, sizeof(*tasks->pids));
	if (!tasks->tables || !tasks->pids)
		return -ENOMEM;
	if (!tasks->nr)
		return 0;
	qsort(tasks->all, tasks->nr, sizeof(*tasks->all), by_tid);
	for (size_t i = 0; i < tasks->nr; i++) {
		const struct sonde_statedump_task *task = &tasks->all[i];

		tasks->tables[i] = (struct sonde_statedump_table){ task->files,
								   task->tid };
		if (task->tid == task->pid)
			tasks->pids[tasks->nr_pids++] = task->pid;
	}
	qsort(tasks->tables, tasks->nr, sizeof(*tasks->tables), by_files);
	return 0;
}

/* ---- questions ---- */

uint64_t sonde_tasks_table(const struct sonde_tasks *tasks, uint64_t files)
{
	size_t i;

	if (!files)
		return 0;
	SONDE_SEARCH(i, tasks->nr, tasks->tables[i].files < files);
	if (i == tasks->nr || tasks->tables[i].files != files)
		return 0;
	return (uint64_t)tasks->tables[i].tid;
}

static const struct sonde_statedump_task *
find_task(const struct sonde_tasks *tasks, int32_t tid)
{
	struct sonde_statedump_task key = { .tid = tid };

	return tasks->nr ? bsearch(&key, tasks->all, tasks->nr,
				   sizeof(*tasks->all), by_tid) :
			   NULL;
}

int32_t sonde_tasks_vppid(const struct sonde_tasks *tasks,
			  const struct sonde_statedump_task *task)
{
	const struct sonde_statedump_task *parent =
		find_task(tasks, task->ppid);

	if (task->ns_level == 0)
		return task->ppid;
	if (!parent || parent->ns[SONDE_NS_PID] != task->ns[SONDE_NS_PID])
		return 0;
	return parent->vpid;
}

/* Whether somebody is one of the roots, for who lives in their namespace. */
static bool is_root(const struct sonde_statedump_task *task,
		    const struct sonde_tasks_roots *roots)
{
	bool is_first = !roots->pid_ns || roots->pid_ns == FIRST_PID_NS;
	int32_t pid = is_first ? task->pid : task->vpid;

	if (!is_first && task->ns[SONDE_NS_PID] != roots->pid_ns)
		return false;
	for (size_t i = 0; i < roots->nr; i++)
		if (roots->pids[i] == pid)
			return true;
	return false;
}

/* Parents are looked at up to `depth` of them: a list that was read while
 * processes came and went might have a circle. */
static bool tasks_descends(const struct sonde_tasks *tasks,
			   const struct sonde_statedump_task *task,
			   const struct sonde_tasks_roots *roots)
{
	size_t depth = roots->alone ? 1 : 4096;

	while (task && depth--) {
		if (is_root(task, roots))
			return true;
		if (task->ppid == task->pid || !task->ppid)
			return false;
		task = find_task(tasks, task->ppid);
	}
	return false;
}

struct sonde_statedump_wanted
sonde_tasks_wanted(struct sonde_tasks *tasks,
		   const struct sonde_tasks_roots *roots)
{
	size_t nr = 0;

	for (size_t i = 0; roots->nr && i < tasks->nr_pids; i++)
		if (tasks_descends(tasks, find_task(tasks, tasks->pids[i]),
				   roots))
			tasks->pids[nr++] = tasks->pids[i];
	if (roots->nr)
		tasks->nr_pids = nr;
	return (struct sonde_statedump_wanted){
		.pids = tasks->pids,
		.nr = tasks->nr_pids,
		.everybody = !roots->nr,
	};
}
