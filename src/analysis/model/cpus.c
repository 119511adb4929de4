/* SPDX-License-Identifier: MIT */
/*
 * cpus.c - which thread each CPU runs: eras, stand-ins (see kernel.h), and the
 * CPU's part of a switch.
 */
#include "analysis/model/state.h"
#include "reader/reader.h"

/* ---- eras ---- */

/* Who runs is not known in it, whatever switches it may still show. */
static bool is_loss(uint32_t era)
{
	return era % 2;
}

/* When era `era` ends; INT64_MAX: never. */
static int64_t era_end(const struct sonde_model_losses *losses, uint32_t era)
{
	if (era / 2 >= losses->nr)
		return INT64_MAX;
	return is_loss(era) ? losses->spans[era / 2].end_ns :
			      losses->spans[era / 2].begin_ns;
}

int32_t sonde_model_stand_in(int32_t cpu, uint32_t era)
{
	/* There are at most 20,000 eras: as many as problems, twice. */
	return -2 - ((int32_t)(era & 0x3ffff) * SONDE_MODEL_CPUS + cpu);
}

void sonde_model_run_emit(struct sonde_model *kernel, int32_t cpu,
			  int64_t end_ns)
{
	const struct sonde_model_cpu *state = &kernel->cpus[cpu];
	struct sonde_step step = { .wanted = !kernel->tables->filter };
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_RUN,
		.cpu = cpu,
		.tid = state->thread,
		.begin_ns = state->since_ns,
		.end_ns = end_ns,
		.run.prio = SONDE_PRIO_UNKNOWN,
	};

	if (!state->inherited && !is_loss(state->era) &&
	    end_ns > state->since_ns)
		sonde_model_emit(kernel, &step, &interval);
}

static void begin_era(struct sonde_model *kernel, int32_t cpu, uint32_t era,
		      int64_t since_ns)
{
	struct sonde_model_cpu *state = &kernel->cpus[cpu];

	state->in_irq = state->in_softirq = state->in_timer = false;
	state->era = era;
	state->era_end_ns = era_end(
		&sonde_model_cpu_span(kernel->tables, cpu)->losses, era);
	state->thread = sonde_model_stand_in(cpu, era);
	state->since_ns = since_ns;
}

bool sonde_model_span(const struct sonde_model *kernel, int64_t *ret_begin_ns,
		      int64_t *ret_end_ns)
{
	const struct sonde_model_tables *tables = kernel->tables;

	if (kernel->first_ns > kernel->last_ns)
		return false;
	*ret_begin_ns = tables->from_ns != SONDE_TIME_MIN ? tables->from_ns :
							    kernel->first_ns;
	*ret_end_ns = tables->to_ns != SONDE_TIME_MAX ? tables->to_ns :
							kernel->last_ns;
	return true;
}

/* When a CPU was first watched: with the first event of all, but not before
 * its own packets. */
static int64_t watched_since(const struct sonde_model *kernel, int32_t cpu)
{
	int64_t since_ns = sonde_model_cpu_span(kernel->tables, cpu)->begin_ns;
	int64_t begin_ns;
	int64_t end_ns;

	if (sonde_model_span(kernel, &begin_ns, &end_ns) && begin_ns > since_ns)
		return begin_ns;
	return since_ns;
}

static void touch(struct sonde_model *kernel, int32_t cpu, int64_t time_ns)
{
	const struct sonde_cpu_span *span =
		sonde_model_cpu_span(kernel->tables, cpu);
	struct sonde_model_cpu *state = &kernel->cpus[cpu];
	uint32_t era = 0;

	while (kernel->is_part && era_end(&span->losses, era) <= time_ns)
		era++;
	begin_era(kernel, cpu, era, watched_since(kernel, cpu));
	state->touched = true;
	state->inherited = kernel->is_part;
	state->first_era = era;
	state->first_ns = time_ns;
	if (cpu >= kernel->nr_cpus)
		kernel->nr_cpus = cpu + 1;
}

/* Who runs after a loss is in no call whose begin is known. */
static void forget_call(struct sonde_model *kernel, int32_t tid)
{
	struct sonde_model_thread *thread = sonde_model_thread(kernel, tid);

	if (!thread)
		return;
	thread->call = SONDE_OPEN_NO;
	thread->returned = false;
}

struct sonde_model_cpu *sonde_model_cpu(struct sonde_model *kernel, int32_t cpu,
					int64_t time_ns)
{
	struct sonde_model_cpu *state = &kernel->cpus[cpu];

	if (!state->touched)
		touch(kernel, cpu, time_ns);
	while (state->era_end_ns <= time_ns) {
		int64_t end_ns = state->era_end_ns;

		if (state->inherited)
			sonde_model_journal(kernel,
					    &(struct sonde_step){
						    .kind = SONDE_STEP_ERA,
						    .cpu = cpu,
						    .time_ns = end_ns,
					    });
		sonde_model_run_emit(kernel, cpu, end_ns);
		begin_era(kernel, cpu, state->era + 1, end_ns);
		state->inherited = false;
		forget_call(kernel, state->thread);
	}
	return state;
}

/* ---- who runs ---- */

int32_t sonde_model_real_tid(const struct sonde_model *kernel, int32_t tid)
{
	struct sonde_key key = sonde_key_of_tid(tid);
	const struct sonde_model_rename *rename;

	if (tid >= -1)
		return tid;
	rename = sonde_hash_get(&kernel->renames, &key);
	return rename ? rename->tid : tid;
}

void sonde_model_rename(struct sonde_model *kernel, int32_t from, int32_t to)
{
	struct sonde_key key = sonde_key_of_tid(from);
	struct sonde_model_rename *note;
	struct sonde_model_thread *old = sonde_model_thread(kernel, from);
	struct sonde_model_thread copy = { 0 };
	struct sonde_model_thread *thread;

	if (old) {
		copy = *old;
		sonde_hash_remove(&kernel->threads, old);
	}
	thread = sonde_model_thread(kernel, to);
	/* Who runs makes system calls here and nowhere else. */
	if (thread && copy.call != SONDE_OPEN_UNKNOWN) {
		thread->call = copy.call;
		thread->role = copy.role;
		thread->call_id = copy.call_id;
		thread->call_ns = copy.call_ns;
		thread->off_cpu_ns = copy.off_cpu_ns;
		thread->fd = copy.fd;
		thread->path = copy.path;
		thread->change = copy.change;
		thread->address = copy.address;
		thread->length = copy.length;
		thread->offset = copy.offset;
		thread->lock_sort = copy.lock_sort;
		thread->returned = copy.returned;
	}
	note = sonde_model_put(kernel, &kernel->renames, &key);
	if (note)
		note->tid = to;
	kernel->ops->rename(kernel->sink, from, to);
}

/* A switch between this and the one before it is missing. */
static void miss(struct sonde_model *kernel, struct sonde_model_cpu *cpu,
		 const struct sonde_step *step)
{
	struct sonde_model_thread *thread =
		cpu->thread > 0 ? sonde_model_thread(kernel, cpu->thread) :
				  NULL;

	/* Of others, nobody thought that all were there. */
	if (sonde_model_traced_threads_has(&kernel->tables->scope,
					   cpu->thread)) {
		if (!cpu->unseen.nr++)
			cpu->unseen.first_ns = step->time_ns;
		cpu->unseen.ns += (uint64_t)sonde_elapsed_ns(cpu->since_ns,
							     step->time_ns);
	}
	if (thread && thread->sched == SONDE_SCHED_RUNNING &&
	    thread->cpu == step->cpu)
		thread->sched = SONDE_SCHED_NONE;
}

struct sonde_model_unseen sonde_model_unseen(const struct sonde_model *kernel,
					     int32_t cpu)
{
	return cpu >= 0 && cpu < kernel->nr_cpus ?
		       kernel->cpus[cpu].unseen :
		       (struct sonde_model_unseen){ 0 };
}

uint64_t sonde_model_own_ns(const struct sonde_model *kernel, int32_t cpu)
{
	return cpu >= 0 && cpu < kernel->nr_cpus ? kernel->cpus[cpu].own_ns : 0;
}

/* The CPU's part of a switch: who ran, until now, and who runs from now on. */
void sonde_model_on_run_end(struct sonde_model *kernel,
			    const struct sonde_step *step)
{
	struct sonde_model_cpu *cpu =
		sonde_model_cpu(kernel, step->cpu, step->time_ns);
	int32_t prev = sonde_step_tid(step->numbers[SWITCH_PREV]);
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_RUN,
		.cpu = step->cpu,
		.tid = prev,
		.begin_ns = cpu->since_ns,
		.end_ns = step->time_ns,
		.run.prio = (int32_t)step->numbers[RUN_END_PRIO],
	};

	if (is_loss(cpu->era))
		return;
	if (cpu->thread < -1) {
		sonde_model_rename(kernel, cpu->thread, prev);
		cpu->told = cpu->told || cpu->era == cpu->first_era;
		cpu->thread = prev;
	}
	if (cpu->inherited)
		sonde_model_journal(kernel, step);
	else if (cpu->thread == prev)
		sonde_model_emit(kernel, step, &interval);
	else
		miss(kernel, cpu, step);
	cpu->inherited = false;
	cpu->thread = sonde_step_tid(step->numbers[SWITCH_NEXT]);
	cpu->since_ns = step->time_ns;
	cpu->in_irq = cpu->in_softirq = cpu->in_timer = false;
}

/* A thread that calls exec gets the number of its process. */
void sonde_model_on_renumber(struct sonde_model *kernel,
			     const struct sonde_step *step)
{
	struct sonde_model_cpu *cpu =
		sonde_model_cpu(kernel, step->cpu, step->time_ns);

	if (!((step->has >> EXEC_OLD_TID) & 1) ||
	    step->numbers[EXEC_OLD_TID] == step->numbers[TASK_TID])
		return;
	if (cpu->inherited)
		sonde_model_journal(kernel, step);
	else if (cpu->thread == sonde_step_tid(step->numbers[EXEC_OLD_TID]))
		cpu->thread = sonde_step_tid(step->numbers[TASK_TID]);
}

/* A CPU that a part hasn't seen switch loses events. */
void sonde_model_on_era(struct sonde_model *whole,
			const struct sonde_step *step)
{
	(void)sonde_model_cpu(whole, step->cpu, step->time_ns);
}
