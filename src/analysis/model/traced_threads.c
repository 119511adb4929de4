/* SPDX-License-Identifier: MIT */
/*
 * traced_threads.c - which threads a kernel trace speaks of (traced_threads.h).
 *
 * The set of members is complete before anything is added up: it is read from
 * the whole trace, whatever part of it is looked at. Members are only ever
 * added, so the order of parts doesn't matter.
 */
#include "analysis/model/traced_threads.h"

#include <errno.h>
#include <string.h>

#include "analysis/model/state.h"
#include "base/number.h"

struct member {
	struct sonde_key key;
};

static int add(struct sonde_hash *threads, int64_t tid)
{
	struct sonde_key key = sonde_key_of_tid(sonde_step_tid(tid));

	if (tid <= 0)
		return 0;
	return sonde_hash_put(threads, &key) ? 0 : sonde_hash_error(threads);
}

static bool scope_has(const struct sonde_hash *threads, int32_t tid)
{
	struct sonde_key key = sonde_key_of_tid(tid);

	return sonde_hash_get(threads, &key) != NULL;
}

/* ---- who shows that he is one of the program's ---- */

struct part {
	const struct sonde_model_tables *tables;
	struct sonde_hash members;
};

static int part_begin(void *memory, const void *tables, bool first)
{
	struct part *part = memory;

	(void)first;
	part->tables = tables;
	sonde_hash_init(&part->members, sizeof(struct member),
			SONDE_MODEL_THREADS);
	return 0;
}

/* Of others, too, there are switches and wake-ups, and the dump of the state.
 */
static bool is_members_alone(uint8_t kind)
{
	return kind == SONDE_STEP_CALL || kind == SONDE_STEP_RETURN ||
	       kind == SONDE_STEP_FORK || kind == SONDE_STEP_EXEC ||
	       kind == SONDE_STEP_EXIT || kind == SONDE_STEP_FAULT;
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	struct sonde_step step;
	int err;

	if (!sonde_step_read(part->tables, event, &step) ||
	    !is_members_alone(step.kind))
		return 0;
	err = add(&part->members, step.tid);
	if (!err && step.kind == SONDE_STEP_FORK)
		err = add(&part->members, step.numbers[FORK_CHILD]);
	return err;
}

static int part_merge(void *whole_memory, void *memory)
{
	struct part *whole = whole_memory;
	struct part *part = memory;
	const struct member *member = NULL;
	int err = 0;

	while (!err && (member = sonde_hash_next(&part->members, member)))
		err = add(&whole->members, (int64_t)member->key.number);
	return err;
}

static void part_fini(void *memory)
{
	sonde_hash_fini(&((struct part *)memory)->members);
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* All of the trace, whatever part of it is looked at. */
static int find_members(struct sonde_trace *trace,
			const struct sonde_map_options *options,
			struct sonde_model_traced_threads *scope)
{
	struct sonde_model_tables *tables;
	struct sonde_map_options all;
	struct part whole = { 0 };
	const struct member *member = NULL;
	unsigned int wants =
		SONDE_WANT_THREADS | SONDE_WANT_CALLS | SONDE_WANT_CAUSES;
	int err = sonde_model_tables_bind(trace, wants, wants, &tables);

	if (err == -ENODATA)
		return 0;
	if (err)
		return err;
	sonde_map_options_init(&all);
	all.streams = options->streams;
	all.threads = options->threads;
	all.slice_bytes = options->slice_bytes;
	all.unmerged = true;
	err = sonde_map(trace, &all, &ops, tables, &whole);
	while (!err && (member = sonde_hash_next(&whole.members, member)))
		err = add(&scope->members, (int64_t)member->key.number);
	part_fini(&whole);
	sonde_model_tables_unbind(tables);
	return err;
}

/* ---- what the traces say of themselves ---- */

/* "PID PID": each has one thread. */
static int add_own(const struct sonde_source *source, struct sonde_hash *own)
{
	const char *text = sonde_source_env(source, "kernel_recorder");
	uint64_t tid;
	int err = 0;

	while (!err && text) {
		text += strspn(text, " ");
		if (!sonde_number_take(&text, 10, INT32_MAX, &tid))
			break;
		err = add(own, (int64_t)tid);
	}
	return err;
}

static int64_t number_of(const struct sonde_source *source, const char *name)
{
	struct sonde_source_info info;

	sonde_source_get_info(source, &info);
	for (size_t i = 0; i < info.nr_env; i++)
		if (!strcmp(info.env[i].name, name))
			return info.env[i].number;
	return 0;
}

static int add_root(const struct sonde_source *source,
		    struct sonde_model_traced_threads *scope)
{
	int64_t tid = number_of(source, "kernel_root");

	if (tid <= 0)
		scope->whose = SONDE_WHOSE_UNKNOWN;
	return add(&scope->members, tid);
}

/* Where one of several traces is everybody's, all are. */
static int read_sources(struct sonde_trace *trace,
			const struct sonde_map_options *options,
			struct sonde_model_traced_threads *scope)
{
	size_t nr_programs = 0;
	size_t nr_kernels = 0;
	int err = 0;

	for (size_t i = 0; !err && i < sonde_trace_nr_sources(trace); i++) {
		const struct sonde_source *source =
			sonde_trace_source(trace, i);
		const char *domain = sonde_source_env(source, "domain");
		const char *whose = sonde_source_env(source, "kernel_scope");

		if (!domain || strcmp(domain, "kernel") != 0 ||
		    !sonde_map_reads(trace, options, source))
			continue;
		nr_kernels++;
		err = add_own(source, &scope->own);
		if (err || !whose || strcmp(whose, "program") != 0)
			continue;
		if (!nr_programs++)
			scope->whose = SONDE_WHOSE_PROGRAM;
		err = add_root(source, scope);
	}
	if (nr_programs != nr_kernels)
		scope->whose = SONDE_WHOSE_ALL;
	return err;
}

int sonde_model_traced_threads_read(
	struct sonde_trace *trace, const struct sonde_map_options *options,
	struct sonde_model_traced_threads *ret_scope)
{
	int err;

	*ret_scope = (struct sonde_model_traced_threads){
		.whose = SONDE_WHOSE_ALL,
		.shows_own = options->shows_own,
	};
	sonde_hash_init(&ret_scope->members, sizeof(struct member),
			SONDE_MODEL_THREADS);
	sonde_hash_init(&ret_scope->own, sizeof(struct member),
			SONDE_MODEL_THREADS);
	err = read_sources(trace, options, ret_scope);
	if (!err && ret_scope->whose == SONDE_WHOSE_PROGRAM)
		err = find_members(trace, options, ret_scope);
	return err;
}

void sonde_model_traced_threads_free(struct sonde_model_traced_threads *scope)
{
	sonde_hash_fini(&scope->members);
	sonde_hash_fini(&scope->own);
}

bool sonde_model_traced_threads_has(
	const struct sonde_model_traced_threads *scope, int32_t tid)
{
	return scope->whose != SONDE_WHOSE_PROGRAM ||
	       scope_has(&scope->members, tid);
}

bool sonde_model_traced_threads_is_own(
	const struct sonde_model_traced_threads *scope, int32_t tid)
{
	return !scope->shows_own &&
	       sonde_model_traced_threads_is_recorder(scope, tid);
}

bool sonde_model_traced_threads_is_recorder(
	const struct sonde_model_traced_threads *scope, int32_t tid)
{
	return scope->own.nr_entries && tid > 0 && scope_has(&scope->own, tid);
}
