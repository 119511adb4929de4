/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * code.c - mappings of processes, and walks by them (code.h).
 *
 * Ranges of a process are ordered and don't overlap: a new one cuts those that it
 * hides, or replaces them.
 */
#include "source/sample/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "ring/walk.h"
#include "sys/proc.h"
#include "sys/textfile.h"

struct code_range {
	uint64_t begin, end;
	uint64_t origin; /* where the image begins */
	uint32_t image;  /* 0: it has no rules */
};

struct code_process {
	struct sonde_key key;
	bool is_known; /* else what it has mapped wasn't looked for */
	uint32_t nr, room;
	struct code_range *ranges;
};

_Static_assert(sizeof(struct code_process) % 16 == 0, "base/hash.h");

int sonde_perf_code_init(struct sonde_perf_code *code)
{
	sonde_hash_init(&code->processes, sizeof(struct code_process),
			SONDE_PERF_PROCESSES_MAX);
	return sonde_perf_images_init(&code->images);
}

void sonde_perf_code_fini(struct sonde_perf_code *code)
{
	struct code_process *process = NULL;

	while ((process = sonde_hash_next(&code->processes, process)))
		free(process->ranges);
	sonde_hash_fini(&code->processes);
	sonde_perf_images_fini(&code->images);
}

/* ---- processes ---- */

static struct code_process *code_find(struct sonde_perf_code *code, int32_t pid)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_INT, (uint64_t)pid, 0);

	return sonde_hash_get(&code->processes, &key);
}

static struct code_process *code_put(struct sonde_perf_code *code, int32_t pid)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_INT, (uint64_t)pid, 0);

	return sonde_hash_put(&code->processes, &key);
}

static void code_drop(struct sonde_perf_code *code, int32_t pid)
{
	struct code_process *process = code_find(code, pid);

	if (!process)
		return;
	free(process->ranges);
	sonde_hash_remove(&code->processes, process);
}

/* What the child has is what its parent has; of one that isn't known nothing is. */
static void code_fork(struct sonde_perf_code *code, int32_t pid,
		      int32_t parent_pid)
{
	struct code_process *child = code_put(code, pid);
	const struct code_process *parent = code_find(code, parent_pid);
	struct code_range *ranges;

	if (!child)
		return;
	child->is_known = false;
	child->nr = 0;
	if (!parent || !parent->is_known)
		return;
	child->is_known = true;
	if (!parent->nr)
		return;
	ranges = reallocarray(child->ranges, parent->room, sizeof(*ranges));
	child->is_known = ranges;
	if (!ranges)
		return;
	memcpy(ranges, parent->ranges, parent->nr * sizeof(*ranges));
	child->ranges = ranges;
	child->room = parent->room;
	child->nr = parent->nr;
}

static void code_exec(struct sonde_perf_code *code, int32_t pid)
{
	struct code_process *process = code_put(code, pid);

	if (!process)
		return;
	process->is_known = true;
	process->nr = 0;
}

/* ---- ranges ---- */

/* The first range that ends behind the address. */
static uint32_t ranges_find(const struct code_process *process,
			    uint64_t address)
{
	size_t i;

	SONDE_SEARCH(i, process->nr, process->ranges[i].end <= address);
	return (uint32_t)i;
}

static int ranges_insert(struct code_process *process, uint32_t i,
			 const struct code_range *range)
{
	if (process->nr == SONDE_PERF_RANGES_MAX ||
	    SONDE_GROW(process->ranges, process->nr, process->room))
		return -ENOMEM;
	memmove(&process->ranges[i + 1], &process->ranges[i],
		(process->nr - i) * sizeof(*range));
	process->ranges[i] = *range;
	process->nr++;
	return 0;
}

static void ranges_remove(struct code_process *process, uint32_t i)
{
	memmove(&process->ranges[i], &process->ranges[i + 1],
		(process->nr - i - 1) * sizeof(process->ranges[0]));
	process->nr--;
}

/* Nothing is at those addresses any more. 0 or -ENOMEM. */
static int ranges_clear(struct code_process *process, uint64_t begin,
			uint64_t end)
{
	uint32_t i = ranges_find(process, begin);

	while (i < process->nr && process->ranges[i].begin < end) {
		struct code_range *range = &process->ranges[i];
		struct code_range above = *range;

		above.begin = end;
		if (range->begin < begin) {
			bool is_split = range->end > end;

			range->end = begin;
			if (is_split)
				return ranges_insert(process, i + 1, &above);
			i++;
		} else if (range->end > end) {
			range->begin = end;
		} else {
			ranges_remove(process, i);
		}
	}
	return 0;
}

static void code_map(struct sonde_perf_code *code,
		     const struct sonde_statedump_mapping *mapping,
		     const char *build_id)
{
	struct code_process *process = code_put(code, mapping->pid);
	const struct code_range range = {
		.begin = mapping->begin,
		.end = mapping->end,
		.origin = mapping->begin,
		.image =
			sonde_perf_images_put(&code->images, mapping, build_id),
	};

	if (!process || !process->is_known || range.end <= range.begin ||
	    ranges_clear(process, range.begin, range.end))
		return;
	/* Without memory, code without rules. */
	(void)ranges_insert(process, ranges_find(process, range.begin), &range);
}

/* What it has mapped now, as nobody has told. */
static void code_look(struct sonde_perf_code *code, int32_t pid)
{
	struct sonde_proc_mapping mapping;
	struct sonde_lines lines;

	code_exec(code, pid);
	if (sonde_proc_maps_open(&lines, pid))
		return;
	while (sonde_proc_maps_next(&lines, &mapping)) {
		const struct sonde_statedump_mapping ours = {
			.pid = pid,
			.begin = mapping.begin,
			.end = mapping.end,
			.offset = mapping.offset,
			.dev = (uint64_t)mapping.major << 20 | mapping.minor,
			.ino = mapping.ino,
			.path = mapping.path,
		};

		if (mapping.mode & SONDE_MAPPED_EXEC && *mapping.path == '/')
			code_map(code, &ours, "");
	}
	sonde_lines_close(&lines);
}

void sonde_perf_code_heed(struct sonde_perf_code *code,
			  const struct sonde_perf_record *record,
			  const char *build_id)
{
	switch (record->kind) {
	case SONDE_PERF_MAPPED:
		code_map(code, &record->mapping, build_id);
		break;
	case SONDE_PERF_BEGAN:
		if (record->parent)
			code_fork(code, record->pid, record->parent);
		else
			code_exec(code, record->pid);
		break;
	case SONDE_PERF_ENDED:
		code_drop(code, record->pid);
		break;
	case SONDE_PERF_SAMPLE:
	case SONDE_PERF_LOST:
	case SONDE_PERF_OTHER:
		break;
	}
}

/* ---- walks ---- */

struct code_walk {
	struct sonde_perf_code *code;
	const struct code_process *process;
	int32_t pid;
};

static const struct code_range *walk_find(const struct code_walk *walk,
					  uint64_t address)
{
	uint32_t i = ranges_find(walk->process, address);

	return i < walk->process->nr &&
			       walk->process->ranges[i].begin <= address ?
		       &walk->process->ranges[i] :
		       NULL;
}

static bool code_rule(void *ctx, const struct sonde_stacks_position *at,
		      uint32_t *ret_rule)
{
	const struct code_walk *walk = ctx;
	/* The call is before the address that it returns to. */
	uint64_t address = at->is_exact ? at->pc : at->pc - 1;
	const struct code_range *range = walk_find(walk, address);

	return range &&
	       sonde_perf_images_rule(&walk->code->images, range->image,
				      walk->pid, range->origin,
				      address - range->origin, ret_rule);
}

static bool code_is_there(void *ctx, uint64_t address)
{
	return walk_find(ctx, address);
}

static const struct sonde_stacks_lookup code_lookup = {
	.rule = code_rule,
	.is_code = code_is_there,
};

void sonde_perf_code_begin(const struct sonde_perf_user *user,
			   struct sonde_stacks_position *ret_at)
{
	*ret_at = (struct sonde_stacks_position){
		.pc = user->pc,
		.sp = user->sp,
		.fp = user->fp,
		.top = (user->sp + user->bytes) & ~UINT64_C(7),
		.is_exact = true,
		.begin = user->sp,
		.bias = (uint64_t)(uintptr_t)user->stack - user->sp,
	};
}

static const struct code_process *code_known(struct sonde_perf_code *code,
					     int32_t pid)
{
	const struct code_process *process = code_find(code, pid);

	if (process && process->is_known)
		return process;
	code_look(code, pid);
	return code_find(code, pid);
}

void sonde_perf_code_walk(struct sonde_perf_code *code, int32_t pid,
			  const struct sonde_perf_user *user,
			  struct sonde_callstacks_chain *chain)
{
	struct code_walk walk = {
		.code = code,
		.process = code_known(code, pid),
		.pid = pid,
	};
	uint64_t frames[SONDE_STACKS_DEPTH_MAX];
	struct sonde_stacks_position at;
	enum sonde_stacks_end end;
	uint32_t nr;

	if (!walk.process)
		return;
	sonde_perf_code_begin(user, &at);
	nr = sonde_stacks_walk_from(&code_lookup, &walk, &at, frames,
				    SONDE_STACKS_DEPTH_MAX, &end);
	if (end == SONDE_STACK_BROKEN && at.is_beyond && user->is_cut)
		end = SONDE_STACK_DEEP;
	chain->end = end;
	for (uint32_t i = 0; i < nr; i++)
		if (!sonde_callstacks_add(chain, frames[i] & ~SONDE_FRAME_EXACT,
					  false, frames[i] & SONDE_FRAME_EXACT))
			return;
}
