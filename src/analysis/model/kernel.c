/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - a state, its intervals, and which handler takes which step.
 *
 * Each handler has the same form: find the key, emit the interval of the state
 * that ends, or ask (sonde_model_journal) if a part doesn't know that state,
 * and set the new one. The whole never asks: what it doesn't know, nobody does,
 * and then there is no interval.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/model/state.h"
#include "ctf/schema/schema.h"
#include "reader/reader.h"

/* ---- making one ---- */

static void init_tables(struct sonde_model *kernel)
{
	sonde_hash_init(&kernel->threads, sizeof(struct sonde_model_thread),
			SONDE_MODEL_THREADS);
	sonde_hash_init(&kernel->pairs, sizeof(struct sonde_model_pair),
			SONDE_MODEL_PAIRS);
	sonde_hash_init(&kernel->renames, sizeof(struct sonde_model_rename),
			SONDE_MODEL_THREADS);
	sonde_hash_init(&kernel->names, sizeof(struct sonde_model_name),
			SONDE_MODEL_PAIRS);
	sonde_hash_init(&kernel->texts, sizeof(struct sonde_model_text),
			SONDE_MODEL_TEXTS);
	sonde_hash_init(&kernel->requests, sizeof(struct sonde_model_request),
			SONDE_MODEL_REQUESTS);
	sonde_hash_init(&kernel->files, sizeof(struct sonde_model_file),
			SONDE_MODEL_FILES);
	sonde_hash_init(&kernel->owners, sizeof(struct sonde_model_files_owner),
			SONDE_MODEL_FILES);
	sonde_hash_init(&kernel->locks, sizeof(struct sonde_model_lock),
			SONDE_MODEL_LOCKS);
}

struct sonde_model *sonde_model_new(const struct sonde_model_tables *tables,
				    const struct sonde_model_sink_ops *ops,
				    void *sink)
{
	struct sonde_model *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->tables = tables;
	kernel->ops = ops;
	kernel->sink = sink;
	kernel->first_ns = INT64_MAX;
	kernel->last_ns = INT64_MIN;
	kernel->cpus = calloc(SONDE_MODEL_CPUS, sizeof(*kernel->cpus));
	init_tables(kernel);
	if (!kernel->cpus) {
		sonde_model_free(kernel);
		return NULL;
	}
	return kernel;
}

void sonde_model_free(struct sonde_model *kernel)
{
	if (!kernel)
		return;
	sonde_hash_fini(&kernel->threads);
	sonde_hash_fini(&kernel->pairs);
	sonde_hash_fini(&kernel->renames);
	sonde_hash_fini(&kernel->names);
	sonde_hash_fini(&kernel->texts);
	sonde_hash_fini(&kernel->requests);
	sonde_hash_fini(&kernel->files);
	sonde_hash_fini(&kernel->owners);
	sonde_hash_fini(&kernel->locks);
	free(kernel->mappings);
	free(kernel->journal);
	free(kernel->cpus);
	free(kernel);
}

void *sonde_model_put(struct sonde_model *kernel, struct sonde_hash *hash,
		      const struct sonde_key *key)
{
	void *entry = sonde_hash_put(hash, key);

	kernel->left_out += !entry;
	return entry;
}

/* ---- intervals ---- */

/* Whether nobody's sums get it, but for the count of those. A thread that isn't
 * known is no member's: they would have been told of. */
static bool kernel_leave_out(struct sonde_model *kernel,
			     const struct sonde_interval *interval)
{
	const struct sonde_model_traced_threads *scope = &kernel->tables->scope;

	/* what a trace of one program may have only a part of */
	if (interval->kind != SONDE_INTERVAL_RUN &&
	    interval->kind != SONDE_INTERVAL_READY &&
	    interval->kind != SONDE_INTERVAL_BLOCKED)
		return false;
	if (!sonde_model_traced_threads_has(scope, interval->tid)) {
		kernel->others++;
		return true;
	}
	if (!sonde_model_traced_threads_is_own(scope, interval->tid))
		return false;
	kernel->own++;
	if (interval->kind == SONDE_INTERVAL_RUN)
		kernel->cpus[interval->cpu].own_ns +=
			(uint64_t)sonde_elapsed_ns(interval->begin_ns,
						   interval->end_ns);
	return true;
}

void sonde_model_emit(struct sonde_model *kernel, const struct sonde_step *step,
		      const struct sonde_interval *interval)
{
	const struct sonde_model_losses *losses = &kernel->tables->losses;

	if (interval->kind == SONDE_INTERVAL_RUN ||
	    interval->kind == SONDE_INTERVAL_IRQ ||
	    interval->kind == SONDE_INTERVAL_SOFTIRQ ||
	    interval->kind == SONDE_INTERVAL_RAISE ||
	    interval->kind == SONDE_INTERVAL_TIMER)
		losses = &sonde_model_cpu_span(kernel->tables, interval->cpu)
				  ->losses;
	if (!step->wanted || kernel_leave_out(kernel, interval))
		return;
	if (interval->end_ns < interval->begin_ns ||
	    sonde_model_losses_overlap(losses, interval->begin_ns,
				       interval->end_ns)) {
		kernel->dropped++;
		return;
	}
	kernel->ops->interval(kernel->sink, interval);
}

/* ---- memory, devices ---- */

static void on_memory(struct sonde_model *kernel, const struct sonde_step *step)
{
	bool pages = step->kind == SONDE_STEP_PAGES_GET ||
		     step->kind == SONDE_STEP_PAGES_PUT;
	struct sonde_interval interval = {
		.kind = pages ? SONDE_INTERVAL_PAGES : SONDE_INTERVAL_KMEM,
		.cpu = step->cpu,
		.tid = step->tid,
		.begin_ns = step->time_ns,
		.end_ns = step->time_ns,
		.memory.release = step->kind == SONDE_STEP_PAGES_PUT ||
				  step->kind == SONDE_STEP_KMEM_PUT,
	};

	if (pages) {
		interval.memory.pages = UINT64_C(1)
					<< (step->numbers[PAGES_ORDER] & 31);
	} else {
		interval.memory.site = (uint64_t)step->numbers[KMEM_SITE];
		interval.memory.bytes = (uint64_t)step->numbers[KMEM_BYTES];
		interval.memory.asked_bytes =
			(uint64_t)step->numbers[KMEM_ASKED];
	}
	sonde_model_emit(kernel, step, &interval);
}

static void on_device(struct sonde_model *kernel, const struct sonde_step *step)
{
	sonde_model_set_name(kernel, (uint32_t)step->numbers[DEVICE_NUMBER], 1,
			     step);
}

/* ---- dispatch ---- */

/* A matter of attribution.c alone. */
static void on_attributed(struct sonde_model *kernel,
			  const struct sonde_step *step)
{
	(void)kernel;
	(void)step;
}

/* What a part of the model does with a step, by the step's kind. */
static sonde_model_handler *const part_handlers[SONDE_NR_STEPS] = {
	[SONDE_STEP_SWITCH] = sonde_model_on_switch,
	[SONDE_STEP_WAKE] = sonde_model_on_wake,
	[SONDE_STEP_CALL] = sonde_model_on_call,
	[SONDE_STEP_RETURN] = sonde_model_on_return,
	[SONDE_STEP_IRQ_BEGIN] = sonde_model_on_irq_begin,
	[SONDE_STEP_IRQ_END] = sonde_model_on_irq_end,
	[SONDE_STEP_RAISE] = sonde_model_on_raise,
	[SONDE_STEP_SOFTIRQ_BEGIN] = sonde_model_on_softirq_begin,
	[SONDE_STEP_SOFTIRQ_END] = sonde_model_on_softirq_end,
	[SONDE_STEP_INSERT] = sonde_model_journal,
	[SONDE_STEP_ISSUE] = sonde_model_journal,
	[SONDE_STEP_COMPLETE] = sonde_model_journal,
	[SONDE_STEP_PAGES_GET] = on_memory,
	[SONDE_STEP_PAGES_PUT] = on_memory,
	[SONDE_STEP_KMEM_GET] = on_memory,
	[SONDE_STEP_KMEM_PUT] = on_memory,
	[SONDE_STEP_FORK] = sonde_model_on_fork,
	[SONDE_STEP_EXEC] = sonde_model_on_exec,
	[SONDE_STEP_EXIT] = sonde_model_on_exit,
	[SONDE_STEP_PROCESS] = sonde_model_on_process,
	[SONDE_STEP_NAMED] = sonde_model_on_named,
	[SONDE_STEP_ORIGIN] = sonde_model_on_origin,
	[SONDE_STEP_SCHEDULED] = on_attributed,
	[SONDE_STEP_CONTAINED] = on_attributed,
	[SONDE_STEP_MEMBER] = sonde_model_on_member,
	[SONDE_STEP_DESCRIPTOR] = sonde_model_journal,
	[SONDE_STEP_DEVICE] = on_device,
	[SONDE_STEP_FAULT] = sonde_model_on_fault,
	[SONDE_STEP_TIMER_BEGIN] = sonde_model_on_timer,
	[SONDE_STEP_TIMER_END] = sonde_model_on_timer,
	[SONDE_STEP_LOCK] = sonde_model_on_lock,
	[SONDE_STEP_MAPPING] = sonde_model_on_mapping,
};

/* What the whole does with one from a part's journal. */
static sonde_model_handler *const whole_handlers[SONDE_NR_STEPS] = {
	[SONDE_STEP_ERA] = sonde_model_on_era,
	[SONDE_STEP_RUN_END] = sonde_model_on_run_end,
	[SONDE_STEP_EXEC] = sonde_model_on_renumber,
	[SONDE_STEP_RUN_BEGIN] = sonde_model_on_run_begin,
	[SONDE_STEP_WAKE] = sonde_model_on_wake,
	[SONDE_STEP_RETURN] = sonde_model_on_return,
	[SONDE_STEP_IRQ_END] = sonde_model_on_irq_end,
	[SONDE_STEP_RAISE] = sonde_model_on_raise,
	[SONDE_STEP_SOFTIRQ_BEGIN] = sonde_model_on_softirq_begin,
	[SONDE_STEP_SOFTIRQ_END] = sonde_model_on_softirq_end,
	[SONDE_STEP_INSERT] = sonde_model_block_step,
	[SONDE_STEP_ISSUE] = sonde_model_block_step,
	[SONDE_STEP_COMPLETE] = sonde_model_block_step,
	[SONDE_STEP_FILE] = sonde_model_file_step,
	[SONDE_STEP_FORK] = sonde_model_file_step,
	[SONDE_STEP_EXIT] = sonde_model_file_step,
	[SONDE_STEP_PROCESS] = sonde_model_file_step,
	[SONDE_STEP_DESCRIPTOR] = sonde_model_file_step,
};

void sonde_model_replay(struct sonde_model *whole,
			const struct sonde_step *step)
{
	whole_handlers[step->kind](whole, step);
}

void sonde_model_event(struct sonde_model *part,
		       const struct sonde_event *event)
{
	const struct sonde_model_cpu *cpu;
	struct sonde_step step;

	part->is_part = true;
	if (event->time_ns < part->first_ns)
		part->first_ns = event->time_ns;
	if (event->time_ns > part->last_ns)
		part->last_ns = event->time_ns;
	if (!sonde_step_read(part->tables, event, &step))
		return;
	cpu = sonde_model_cpu(part, step.cpu, step.time_ns);
	if (step.tid < 0)
		step.tid = cpu->thread;
	part_handlers[step.kind](part, &step);
}

void sonde_model_take(struct sonde_model *whole, struct sonde_step *step)
{
	const struct sonde_model_cpu *cpu =
		sonde_model_cpu(whole, step->cpu, step->time_ns);

	if (step->tid < 0)
		step->tid = cpu->thread;
	step->known_tid = step->tid >= 0 ? step->tid : -1;
	part_handlers[step->kind](whole, step);
}
