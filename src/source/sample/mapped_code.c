/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mapped_code.c - mappings of processes, and walks by them (mapped_code.h).
 *
 * Ranges of a process are ordered and don't overlap: a new one cuts those that it
 * hides, or replaces them. What is hidden, and what a process had before it executed
 * another program, is kept with the time until when it was there, oldest first: a
 * stack may be of an earlier time than the last record. A search goes there only
 * if what is there now came later than the stack.
 */
#include "source/sample/mapped_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "base/time.h"
#include "ring/walk.h"
#include "source/sample/program.h"
#include "sys/proc.h"
#include "sys/textfile.h"

#define CODE_OLD_MAX 1024u /* ranges of a process that are no more */
#define BUILD_IDS_NS UINT64_C(100000000) /* of one look */

struct code_range {
	uint64_t begin, end;
	uint64_t origin; /* where the image begins */
	uint64_t since;  /* 0: nobody told when */
	uint32_t image;  /* 0: it has no rules */
};

struct code_old {
	struct code_range range;
	uint64_t until;
};

struct code_process {
	struct sonde_key key;
	uint64_t since; /* from when on what it has mapped is known */
	bool is_known;  /* else that wasn't looked for */
	bool is_looked; /* nobody has told: it may be another program by now */
	bool is_ended;
	bool is_maker;  /* it was looked for what it says of its code */
	uint32_t round; /* of the last look */
	uint32_t nr, room;
	uint32_t nr_old, room_old;
	struct code_range *ranges;
	struct code_old *old;
	int32_t pid;
	uint32_t last_look; /* of one that nobody tells of: its number */
};

_Static_assert(sizeof(struct code_process) % 16 == 0, "base/hash.h");

struct sonde_perf_code *sonde_perf_code_new(void)
{
	struct sonde_perf_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	sonde_hash_init(&code->processes, sizeof(struct code_process),
			SONDE_PERF_PROCESSES_MAX);
	sonde_hash_init(&code->programs, sizeof(struct code_process),
			SONDE_PERF_PROCESSES_MAX);
	if (!sonde_perf_images_init(&code->images) &&
	    !sonde_build_ids_init(&code->build_ids, 0))
		return code;
	sonde_perf_code_free(code);
	return NULL;
}

static void code_free(struct code_process *process)
{
	free(process->ranges);
	free(process->old);
}

static void code_free_all(struct sonde_hash *processes)
{
	struct code_process *process = NULL;

	while ((process = sonde_hash_next(processes, process)))
		code_free(process);
	sonde_hash_fini(processes);
}

void sonde_perf_code_free(struct sonde_perf_code *code)
{
	if (!code)
		return;
	code_free_all(&code->processes);
	code_free_all(&code->programs);
	sonde_perf_images_fini(&code->images);
	sonde_build_ids_fini(&code->build_ids);
	for (uint32_t i = 0; i < code->nr_makers; i++)
		sonde_source_code_fini(&code->makers[i].place);
	free(code->makers);
	free(code);
}

/* ---- ranges that are no more ---- */

/* Without memory it is forgotten, and so is the older half of many. */
static void old_add(struct code_process *process,
		    const struct code_range *range, uint64_t until)
{
	const uint32_t half = CODE_OLD_MAX / 2;

	if (process->nr_old == CODE_OLD_MAX) {
		memmove(process->old, &process->old[half],
			(CODE_OLD_MAX - half) * sizeof(*process->old));
		process->nr_old -= half;
	}
	if (SONDE_GROW(process->old, process->nr_old, process->room_old))
		return;
	process->old[process->nr_old++] = (struct code_old){ *range, until };
}

static void old_add_all(struct code_process *process, uint64_t until)
{
	for (uint32_t i = 0; i < process->nr; i++)
		old_add(process, &process->ranges[i], until);
	process->nr = 0;
}

static const struct code_range *old_find(const struct code_process *process,
					 uint64_t address, uint64_t at)
{
	for (uint32_t i = process->nr_old; i > 0; i--) {
		const struct code_old *old = &process->old[i - 1];

		if (address >= old->range.begin && address < old->range.end &&
		    old->range.since <= at && at < old->until)
			return &old->range;
	}
	return NULL;
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
	struct code_process *process = sonde_hash_put(&code->processes, &key);

	if (process)
		process->pid = pid;
	return process;
}

static void code_drop(struct sonde_perf_code *code, int32_t pid)
{
	struct code_process *process = code_find(code, pid);

	/* Its number may be another's by now. */
	if (!process || !process->is_ended)
		return;
	code_free(process);
	sonde_hash_remove(&code->processes, process);
}

/* It is kept for a while: stacks of it may be yet to come. */
static void code_end(struct sonde_perf_code *code, int32_t pid)
{
	uint32_t i = code->nr_ended++ % SONDE_PERF_ENDED_MAX;
	struct code_process *process = code_find(code, pid);

	if (code->nr_ended > SONDE_PERF_ENDED_MAX)
		code_drop(code, code->ended[i]);
	code->ended[i] = pid;
	if (process)
		process->is_ended = true;
}

/* From now on all is known of it, or nothing. */
static void code_begin(struct code_process *process, uint64_t at, bool is_known)
{
	old_add_all(process, at);
	if (!process->is_known)
		process->since = at;
	process->is_known = is_known;
	process->is_looked = false;
	process->is_ended = false;
	process->is_maker = false;
}

/* What the child has is what its parent has; of one that isn't known nothing is. */
static void code_fork(struct sonde_perf_code *code, int32_t pid,
		      int32_t parent_pid, uint64_t at)
{
	struct code_process *child = code_put(code, pid);
	const struct code_process *parent = code_find(code, parent_pid);
	struct code_range *ranges;

	if (!child)
		return;
	code_begin(child, at, parent && parent->is_known);
	if (!child->is_known || !parent->nr)
		return;
	ranges = reallocarray(child->ranges, parent->room, sizeof(*ranges));
	child->is_known = ranges;
	if (!ranges)
		return;
	memcpy(ranges, parent->ranges, parent->nr * sizeof(*ranges));
	child->ranges = ranges;
	child->room = parent->room;
	child->nr = parent->nr;
	child->is_looked = parent->is_looked;
}

static void code_exec(struct sonde_perf_code *code, int32_t pid, uint64_t at)
{
	struct code_process *process = code_put(code, pid);

	if (process)
		code_begin(process, at, true);
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
			uint64_t end, uint64_t at)
{
	uint32_t i = ranges_find(process, begin);

	while (i < process->nr && process->ranges[i].begin < end) {
		struct code_range *range = &process->ranges[i];
		struct code_range above = *range;

		old_add(process, range, at);
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

/* `since` 0: it was there before. */
static void code_map(struct sonde_perf_code *code, struct code_process *process,
		     const struct sonde_statedump_mapping *mapping,
		     const char *build_id, uint64_t since)
{
	const struct code_range range = {
		.begin = mapping->begin,
		.end = mapping->end,
		.origin = mapping->begin,
		.since = since,
		.image =
			sonde_perf_images_put(&code->images, mapping, build_id),
	};

	if (!process || !process->is_known || range.end <= range.begin ||
	    ranges_clear(process, range.begin, range.end, since))
		return;
	/* Without memory, code without rules. */
	(void)ranges_insert(process, ranges_find(process, range.begin), &range);
}

/* What it has mapped now, as nobody has told. */
static void code_read(struct sonde_perf_code *code,
		      struct code_process *process, bool has_build_ids)
{
	struct sonde_proc_mapping mapping;
	struct sonde_lines lines;

	if (sonde_proc_maps_open(&lines, process->pid))
		return;
	while (sonde_proc_maps_next(&lines, &mapping)) {
		const struct sonde_statedump_mapping ours = {
			.pid = process->pid,
			.begin = mapping.begin,
			.end = mapping.end,
			.offset = mapping.offset,
			.dev = (uint64_t)mapping.major << 20 | mapping.minor,
			.ino = mapping.ino,
			.path = mapping.path,
		};
		const char *build_id = NULL;

		if (!(mapping.mode & SONDE_MAPPED_EXEC) || *mapping.path != '/')
			continue;
		if (has_build_ids)
			build_id = sonde_build_ids_get(&code->build_ids, &ours);
		code_map(code, process, &ours, build_id ? build_id : "", 0);
	}
	sonde_lines_close(&lines);
}

/* ---- programs that nobody tells of ---- */

static bool is_there(int32_t pid, uint64_t program)
{
	struct sonde_proc_stat stat;

	return !sonde_proc_stat(pid, &stat) && stat.stack > 1 &&
	       sonde_perf_program(stat.stack, stat.code_end) == program;
}

/* An exec, or another process of that number, would be seen behind. */
static void program_read(struct sonde_perf_code *code,
			 struct code_process *process)
{
	const uint64_t program = process->key.number;

	if (!is_there(process->pid, program))
		return;
	code->build_ids.deadline = sonde_monotonic_ns() + BUILD_IDS_NS;
	process->is_known = true;
	code_read(code, process, true);
	if (!is_there(process->pid, program))
		process->nr = 0;
}

static struct code_process *program_find(const struct sonde_perf_code *code,
					 const struct sonde_key *key)
{
	return sonde_hash_get(&code->programs, key);
}

/* The oldest look goes, and what is known by it alone. */
static void looks_make_room(struct sonde_perf_code *code)
{
	uint32_t oldest = code->nr_looks - SONDE_PERF_LOOKS_MAX;
	struct code_process *process;

	if (code->nr_looks < SONDE_PERF_LOOKS_MAX)
		return;
	process =
		program_find(code, &code->looks[oldest % SONDE_PERF_LOOKS_MAX]);
	if (!process || process->last_look != oldest)
		return;
	code_free(process);
	sonde_hash_remove(&code->programs, process);
}

/* What it had then; NULL: no memory. */
static struct code_process *program_put(struct sonde_perf_code *code,
					const struct sonde_perf_user *user)
{
	const struct sonde_key key = sonde_key_make(
		SONDE_KEY_INT, user->program, (uint32_t)user->pid);
	struct code_process *process = program_find(code, &key);

	if (process && process->since <= user->at)
		return process;
	looks_make_room(code);
	process = sonde_hash_put(&code->programs, &key);
	if (!process)
		return NULL;
	process->since = user->at;
	process->last_look = code->nr_looks;
	code->looks[code->nr_looks++ % SONDE_PERF_LOOKS_MAX] = key;
	if (!process->pid) {
		process->pid = user->pid;
		program_read(code, process);
	}
	return process;
}

bool sonde_perf_code_looked(const struct sonde_perf_code *code, uint32_t i,
			    struct sonde_perf_look *ret_look)
{
	const struct sonde_key *key = &code->looks[i % SONDE_PERF_LOOKS_MAX];
	const struct code_process *process;

	if (code->nr_looks - i > SONDE_PERF_LOOKS_MAX)
		return false;
	process = program_find(code, key);
	if (!process || process->last_look != i)
		return false;
	*ret_look =
		(struct sonde_perf_look){ *key, process->since, process->nr };
	return true;
}

const char *
sonde_perf_code_looked_mapping(const struct sonde_perf_code *code,
			       const struct sonde_perf_look *look, uint32_t k,
			       struct sonde_statedump_mapping *ret_mapping)
{
	const struct code_process *process = program_find(code, &look->key);
	const struct code_range *range = &process->ranges[k];
	struct sonde_statedump_mapping mapping = {
		.pid = process->pid,
		.flags = SONDE_MAPPED_READ | SONDE_MAPPED_EXEC,
		.begin = range->begin,
		.end = range->end,
	};
	const char *build_id;

	if (!range->image)
		return NULL;
	build_id = sonde_perf_images_get(&code->images, range->image, &mapping);
	mapping.offset += range->begin - range->origin;
	*ret_mapping = mapping;
	return build_id;
}

/* ---- records ---- */

void sonde_perf_code_heed(struct sonde_perf_code *code,
			  const struct sonde_perf_record *record,
			  const char *build_id, uint64_t at)
{
	struct code_process *process;

	switch (record->kind) {
	case SONDE_PERF_MAPPED:
		process = code_put(code, record->mapping.pid);
		code_map(code, process, &record->mapping, build_id, at);
		break;
	case SONDE_PERF_BEGAN:
		if (record->parent)
			code_fork(code, record->pid, record->parent, at);
		else
			code_exec(code, record->pid, at);
		break;
	case SONDE_PERF_ENDED:
		code_end(code, record->pid);
		break;
	case SONDE_PERF_SAMPLE:
	case SONDE_PERF_LOST:
	case SONDE_PERF_OTHER:
		break;
	}
}

void sonde_perf_code_follow(struct sonde_perf_code *code,
			    void (*catch_up)(void *ctx), void *ctx)
{
	code->catch_up = catch_up;
	code->ctx = ctx;
}

void sonde_perf_code_catch_up(struct sonde_perf_code *code)
{
	code->round++;
	if (code->catch_up)
		code->catch_up(code->ctx);
}

/* ---- walks ---- */

struct code_walk {
	struct sonde_perf_code *code;
	struct code_process *process;
	const struct sonde_perf_user *user;
};

static const struct code_range *walk_find(const struct code_walk *walk,
					  uint64_t address)
{
	const struct code_process *process = walk->process;
	uint32_t i = ranges_find(process, address);
	const struct code_range *range = NULL;
	const struct code_range *old;

	if (i < process->nr && process->ranges[i].begin <= address)
		range = &process->ranges[i];
	if (range && range->since <= walk->user->at)
		return range;
	old = old_find(process, address, walk->user->at);
	return old ? old : range;
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
				      walk->user->pid, range->origin,
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

static struct code_process *walk_process(struct sonde_perf_code *code,
					 const struct sonde_perf_user *user)
{
	const struct code_process *told = code_find(code, user->pid);

	return user->program && !(told && told->is_known) ?
		       program_put(code, user) :
		       code_put(code, user->pid);
}

/* Its code there was made at run time: once. Without memory, or room, it has no
 * name. */
static void code_add_maker(struct sonde_perf_code *code,
			   struct code_process *process)
{
	struct sonde_perf_maker maker = { process->pid, { 0 } };

	process->is_maker = true;
	if (!code->makers)
		code->makers =
			calloc(SONDE_PERF_MAKERS_MAX, sizeof(*code->makers));
	if (!code->makers || code->nr_makers == SONDE_PERF_MAKERS_MAX)
		return;
	sonde_source_code_find(&maker.place, maker.pid);
	if (maker.place.is_known)
		code->makers[code->nr_makers++] = maker;
}

/* The process, as far as it is known of that time what it has mapped. One that
 * nobody tells of may have become another program: that is looked for once a round;
 * but of what is looked for once a program, the key has a space. The walk begins at
 * `pc`. */
static bool walk_begin(struct code_walk *walk, uint64_t pc)
{
	const struct sonde_perf_user *user = walk->user;
	struct code_process *process = walk_process(walk->code, user);

	walk->process = process;
	if (!process)
		return false;
	if (!process->key.space &&
	    (!process->is_known ||
	     (process->is_looked && process->round != walk->code->round &&
	      !walk_find(walk, pc)))) {
		code_begin(process, user->at, true);
		process->since = 0;
		process->is_looked = true;
		process->round = walk->code->round;
		code_read(walk->code, process, false);
	}
	if ((!process->nr && !process->nr_old) || process->since > user->at)
		return false;
	if (!process->is_maker && !walk_find(walk, pc))
		code_add_maker(walk->code, process);
	return true;
}

void sonde_perf_code_walk(struct sonde_perf_code *code,
			  const struct sonde_perf_user *user,
			  struct sonde_callstacks_chain *chain)
{
	struct code_walk walk = { .code = code, .user = user };
	uint64_t frames[SONDE_STACKS_DEPTH_MAX];
	struct sonde_stacks_position at;
	enum sonde_stacks_end end;
	uint32_t nr;

	if (!walk_begin(&walk, user->pc)) {
		(void)sonde_callstacks_add(chain, user->pc, false, true);
		chain->end = SONDE_STACK_BROKEN;
		return;
	}
	sonde_perf_code_begin(user, &at);
	nr = sonde_stacks_walk_from(&code_lookup, &walk, &at, frames,
				    user->depth, &end);
	if (end == SONDE_STACK_BROKEN && at.is_beyond && user->is_cut)
		end = SONDE_STACK_DEEP;
	chain->end = end;
	for (uint32_t i = 0; i < nr; i++)
		if (!sonde_callstacks_add(chain, frames[i] & ~SONDE_FRAME_EXACT,
					  false, frames[i] & SONDE_FRAME_EXACT))
			return;
}

/* ---- frames by frame pointers ---- */

/* Whether the frame pointer leads from there to the caller: DEEP; or else why not. */
static enum sonde_stacks_end code_keeps_pointer(struct code_walk *walk,
						uint64_t pc, bool is_exact)
{
	const struct sonde_stacks_position at = {
		.pc = pc,
		.is_exact = is_exact,
	};
	uint32_t rule;

	if (!code_rule(walk, &at, &rule) || rule == SONDE_UNWIND_GAP ||
	    rule == SONDE_UNWIND_CALL_RULE(true, 2, 2))
		return SONDE_STACK_DEEP;
	return (rule & 3) == SONDE_UNWIND_END ? SONDE_STACK_WHOLE :
						SONDE_STACK_BROKEN;
}

void sonde_perf_code_believe(struct sonde_perf_code *code,
			     const struct sonde_perf_user *user,
			     const uint64_t *frames, uint32_t nr, uint32_t most,
			     struct sonde_callstacks_chain *chain)
{
	struct code_walk walk = { .code = code, .user = user };
	enum sonde_stacks_end end = SONDE_STACK_DEEP;
	bool is_known = nr && walk_begin(&walk, frames[0]);
	uint32_t i;

	for (i = 0; i < nr && i < user->depth && end == SONDE_STACK_DEEP; i++) {
		if (i && !walk_find(&walk, frames[i] - 1))
			end = SONDE_STACK_BROKEN;
		else if (!sonde_callstacks_add(chain, frames[i], false, !i))
			return;
		else
			end = is_known ?
				      code_keeps_pointer(&walk, frames[i], !i) :
				      SONDE_STACK_BROKEN;
	}
	/* The kernel doesn't say why there are no more. */
	if (nr && end == SONDE_STACK_DEEP && i < most && i < user->depth)
		end = SONDE_STACK_BROKEN;
	chain->end = nr ? end : SONDE_STACK_WHOLE;
}
