/* SPDX-License-Identifier: MIT */
/*
 * join.c - a part's journal, and a part joined to what came before it.
 *
 *  1. Each CPU of the whole comes to the era that it had when the part began;
 *     then its thread is the one that the part's stand-in stands for.
 *  2. The journal's steps are taken, in their order.
 *  3. What the part knows at its end holds for the whole.
 */
#include <string.h>

#include "analysis/model/state.h"
#include "base/grow.h"

struct sonde_step *sonde_model_journal_room(struct sonde_model *part)
{
	if (part->nr_journal == SONDE_MODEL_JOURNAL ||
	    SONDE_GROW(part->journal, part->nr_journal, part->journal_capacity))
		return NULL;
	return &part->journal[part->nr_journal];
}

void sonde_model_journal_end(struct sonde_model *part)
{
	struct sonde_step *entry = &part->journal[part->nr_journal++];

	for (size_t i = 0; i < SONDE_STEP_TEXTS; i++)
		if (entry->texts[i])
			entry->texts[i] = sonde_model_text(
				part, entry->texts[i], entry->lengths[i]);
}

void sonde_model_journal(struct sonde_model *part,
			 const struct sonde_step *step)
{
	struct sonde_step *entry;

	/* What needs the whole, and is there already. */
	if (!part->is_part) {
		sonde_model_replay(part, step);
		return;
	}
	entry = sonde_model_journal_room(part);
	if (!entry) {
		part->left_out++;
		return;
	}
	*entry = *step;
	sonde_model_journal_end(part);
}

/* Either side may know who ran when the part began, and tells the other. */
static void join_cpu_begin(struct sonde_model *whole, struct sonde_model *part,
			   int32_t cpu)
{
	struct sonde_model_cpu *now = &part->cpus[cpu];
	struct sonde_model_cpu *before;
	int32_t stand_in;

	if (!now->touched)
		return;
	stand_in = sonde_model_stand_in(cpu, now->first_era);
	before = sonde_model_cpu(whole, cpu, now->first_ns);
	now->known = before->thread != stand_in;
	if (now->known) {
		if (!now->told)
			sonde_model_rename(part, stand_in, before->thread);
	} else if (now->told) {
		before->thread = sonde_model_real_tid(part, stand_in);
		sonde_model_rename(whole, stand_in, before->thread);
	}
}

/*
 * Who did a step of the journal, as far as that was known when it was done: not
 * by a switch that came later. What a thread does to its process's files must
 * be done at once, so whoever isn't known then is not known at all.
 */
static int32_t known_tid(const struct sonde_model *part,
			 const struct sonde_step *step)
{
	const struct sonde_model_cpu *cpu = &part->cpus[step->cpu];

	if (step->tid >= -1)
		return step->tid;
	if (cpu->known &&
	    step->tid == sonde_model_stand_in(step->cpu, cpu->first_era))
		return sonde_model_real_tid(part, step->tid);
	return -1;
}

static void join_cpu_end(struct sonde_model *whole,
			 const struct sonde_model *part, int32_t cpu)
{
	const struct sonde_model_cpu *now = &part->cpus[cpu];
	struct sonde_model_cpu *state = &whole->cpus[cpu];

	if (!state->unseen.nr)
		state->unseen.first_ns = now->unseen.first_ns;
	state->unseen.nr += now->unseen.nr;
	state->unseen.ns += now->unseen.ns;
	state->own_ns += now->own_ns;
	if (!now->touched || now->inherited)
		return;
	state->era = now->era;
	state->era_end_ns = now->era_end_ns;
	state->thread = now->thread;
	state->since_ns = now->since_ns;
}

static void join_call(struct sonde_model *whole,
		      struct sonde_model_thread *thread,
		      const struct sonde_model_thread *now)
{
	if (now->call == SONDE_OPEN_UNKNOWN) {
		if (thread->call != SONDE_OPEN_NO)
			thread->off_cpu_ns += now->off_cpu_ns;
		return;
	}
	thread->call = now->call;
	thread->role = now->role;
	thread->call_id = now->call_id;
	thread->call_ns = now->call_ns;
	thread->off_cpu_ns = now->off_cpu_ns;
	thread->fd = now->fd;
	thread->path = sonde_model_text(whole, now->path,
					now->path ? strlen(now->path) : 0);
	thread->change = now->change;
}

static void join_thread(struct sonde_model *whole,
			const struct sonde_model *part,
			const struct sonde_model_thread *now)
{
	struct sonde_model_thread *thread =
		sonde_model_thread(whole, (int32_t)now->key.number);

	if (!thread)
		return;
	if (now->sched != SONDE_SCHED_UNKNOWN) {
		thread->sched = now->sched;
		thread->woken = now->woken;
		thread->waker_kind = now->waker_kind;
		thread->cpu = now->cpu;
		thread->waker = sonde_model_real_tid(part, now->waker);
		thread->since_ns = now->since_ns;
		thread->stack = now->stack;
	}
	join_call(whole, thread, now);
	if (now->name[0])
		memcpy(thread->name, now->name, sizeof(thread->name));
	if (now->has_pid) {
		thread->has_pid = true;
		thread->pid = now->pid;
	}
	if (now->ppid >= 0)
		thread->ppid = now->ppid;
}

static void join_pairs(struct sonde_model *whole,
		       const struct sonde_model *part)
{
	const struct sonde_model_pair *now = NULL;

	while ((now = sonde_hash_next(&part->pairs, now))) {
		struct sonde_model_pair *pair;

		if (now->state == SONDE_OPEN_UNKNOWN)
			continue;
		pair = sonde_model_put(whole, &whole->pairs, &now->key);
		if (!pair)
			continue;
		pair->state = now->state;
		pair->since_ns = now->since_ns;
	}
}

static void join_names(struct sonde_model *whole,
		       const struct sonde_model *part)
{
	const struct sonde_model_name *now = NULL;

	while ((now = sonde_hash_next(&part->names, now))) {
		struct sonde_model_name *name =
			sonde_model_put(whole, &whole->names, &now->key);

		if (name)
			memcpy(name->text, now->text, sizeof(name->text));
	}
}

void sonde_model_join(struct sonde_model *whole, struct sonde_model *part)
{
	const struct sonde_model_thread *thread = NULL;

	if (part->first_ns < whole->first_ns)
		whole->first_ns = part->first_ns;
	if (part->last_ns > whole->last_ns)
		whole->last_ns = part->last_ns;
	for (int32_t cpu = 0; cpu < part->nr_cpus; cpu++)
		join_cpu_begin(whole, part, cpu);
	for (size_t i = 0; i < part->nr_journal; i++) {
		struct sonde_step *step = &part->journal[i];

		step->known_tid = known_tid(part, step);
		step->tid = sonde_model_real_tid(part, step->tid);
		sonde_model_replay(whole, step);
	}
	for (int32_t cpu = 0; cpu < part->nr_cpus; cpu++)
		join_cpu_end(whole, part, cpu);
	while ((thread = sonde_hash_next(&part->threads, thread)))
		join_thread(whole, part, thread);
	join_pairs(whole, part);
	join_names(whole, part);
	whole->dropped += part->dropped;
	whole->left_out += part->left_out;
	whole->others += part->others;
	whole->own += part->own;
}

static void cut_threads(struct sonde_model *whole)
{
	const struct sonde_model_thread *thread = NULL;
	int64_t begin_ns;
	int64_t end_ns;

	if (!sonde_model_span(whole, &begin_ns, &end_ns))
		return;
	while ((thread = sonde_hash_next(&whole->threads, thread))) {
		const struct sonde_step end = {
			.time_ns = end_ns,
			.cpu = thread->cpu < 0 ? 0 : thread->cpu,
			.tid = (int32_t)thread->key.number,
			.wanted = !whole->tables->filter,
		};

		sonde_model_cut_wait(whole, &end, thread);
		if (whole->tables->wants & SONDE_WANT_CAUSES)
			sonde_model_cut_call(whole, &end, thread);
	}
}

/* A CPU's last thread ran to the last event of all, or to the end of the CPU's
 * packets if that was before. */
static void close_cpu(struct sonde_model *whole, int32_t cpu)
{
	int64_t end_ns = sonde_model_cpu_span(whole->tables, cpu)->end_ns;
	int64_t first_ns;
	int64_t last_ns;

	if (!whole->cpus[cpu].touched ||
	    !sonde_model_span(whole, &first_ns, &last_ns))
		return;
	if (last_ns < end_ns)
		end_ns = last_ns;
	(void)sonde_model_cpu(whole, cpu, end_ns);
	sonde_model_run_emit(whole, cpu, end_ns);
}

void sonde_model_close(struct sonde_model *whole)
{
	const struct sonde_model_thread *thread = NULL;

	cut_threads(whole);
	for (int32_t cpu = 0; cpu < whole->nr_cpus; cpu++)
		close_cpu(whole, cpu);
	while ((thread = sonde_hash_next(&whole->threads, thread)))
		whole->calls_open += thread->call == SONDE_OPEN_YES;
}

void sonde_model_counts(const struct sonde_model *kernel,
			struct sonde_model_counts *ret_counts)
{
	*ret_counts = (struct sonde_model_counts){
		.dropped = kernel->dropped,
		.left_out = kernel->left_out,
		.calls_open = kernel->calls_open,
		.others = kernel->others,
		.own = kernel->own,
		.whose = kernel->tables->scope.whose,
	};
	for (int32_t cpu = 0; cpu < kernel->nr_cpus; cpu++) {
		ret_counts->unseen += kernel->cpus[cpu].unseen.nr;
		ret_counts->unseen_ns += kernel->cpus[cpu].unseen.ns;
		ret_counts->own_ns += kernel->cpus[cpu].own_ns;
	}
}
