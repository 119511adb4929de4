/* SPDX-License-Identifier: MIT */
/*
 * measure.c - the threads that measure (measure.h): pinned, raised, warmed up,
 * begun together, and what the kernel says of them before and after.
 *
 * Order of one thread: pin, raise, barrier, barrier, warm-up, counts to zero,
 * barrier, measure. Memory is locked by the caller between the first two, when
 * all stacks are there. Threads wait at a gate until all have been made: if one
 * can't be, it opens for them to go home.
 */
#include "latency/measure.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "clock/calibrate.h"
#include "latency/measure_parts.h"
#include "sys/proc.h"

struct latency_gate {
	pthread_mutex_t closed;
	pthread_barrier_t barrier;
	bool is_off;
};

struct latency_runner {
	struct sonde_latency_thread thread;
	struct latency_gate *gate;
	pthread_t handle;
};

/* ---- a thread ---- */

static int measure_once(struct sonde_latency_thread *thread, uint64_t ns)
{
	thread->length_ns = ns;
	switch (thread->config->kind) {
	case SONDE_LATENCY_LOOP:
		return sonde_latency_loop(thread);
	case SONDE_LATENCY_TIMER:
		return sonde_latency_timer(thread);
	case SONDE_LATENCY_WAKEUP:
		return sonde_latency_wakeup(thread);
	case SONDE_LATENCY_SIGNAL:
		return sonde_latency_signal(thread);
	}
	return -EINVAL;
}

static void measure_count(struct sonde_latency_cpu *cpu, int sign)
{
	struct rusage usage;
	int64_t stolen_ns = sonde_proc_stolen_ns(cpu->cpu);

	if (stolen_ns < 0 || cpu->stolen_ns == -1)
		cpu->stolen_ns = -1;
	else
		cpu->stolen_ns += sign * stolen_ns;
	if (getrusage(RUSAGE_THREAD, &usage))
		return;
	cpu->preempted += (uint64_t)(sign * usage.ru_nivcsw);
	cpu->faults += (uint64_t)(sign * (usage.ru_minflt + usage.ru_majflt));
}

static void *measure_run(void *ctx)
{
	struct latency_runner *runner = ctx;
	struct sonde_latency_thread *thread = &runner->thread;
	const struct sonde_latency_config *config = thread->config;
	struct sonde_latency_cpu *cpu = thread->cpu;
	pthread_barrier_t *barrier = &runner->gate->barrier;
	bool is_off;

	(void)pthread_mutex_lock(&runner->gate->closed);
	is_off = runner->gate->is_off;
	(void)pthread_mutex_unlock(&runner->gate->closed);
	if (is_off)
		return NULL;
	cpu->error = sonde_latency_pin(cpu->cpu);
	if (config->priority)
		cpu->priority_error = sonde_latency_raise(config->priority);
	(void)pthread_barrier_wait(barrier);
	(void)pthread_barrier_wait(barrier);
	if (!cpu->error && config->warmup_ns)
		cpu->error = measure_once(thread, config->warmup_ns);
	memset(&cpu->gaps, 0, sizeof(cpu->gaps));
	cpu->nr_over = cpu->nr_ticks = 0;
	(void)pthread_barrier_wait(barrier);
	if (cpu->error)
		return NULL;
	measure_count(cpu, -1);
	cpu->error = measure_once(thread, config->duration_ns);
	measure_count(cpu, 1);
	return NULL;
}

/* ---- all of them ---- */

/* Where who wakes runs: on the next CPU of ours; on the same if it's the only
 * one. */
static uint32_t measure_other_cpu(uint32_t cpu)
{
	uint32_t own[SONDE_LATENCY_CPUS];
	uint32_t nr = sonde_latency_own_cpus(own);

	for (uint32_t i = 0; i < nr; i++)
		if (own[i] == cpu)
			return own[(i + 1) % nr];
	return cpu;
}

/* All of them, or none. */
static int measure_start(struct latency_runner *runners, uint32_t nr,
			 struct latency_gate *gate)
{
	uint32_t made = 0;
	int error = 0;

	(void)pthread_mutex_lock(&gate->closed);
	for (; made < nr && !error; made += !error)
		error = pthread_create(&runners[made].handle, NULL, measure_run,
				       &runners[made]);
	gate->is_off = error != 0;
	(void)pthread_mutex_unlock(&gate->closed);
	for (uint32_t i = 0; error && i < made; i++)
		(void)pthread_join(runners[i].handle, NULL);
	return -error;
}

static void measure_prepare(const struct sonde_latency_config *config,
			    struct latency_runner *runners,
			    struct latency_gate *gate,
			    struct sonde_latency_result *result)
{
	for (uint32_t i = 0; i < config->nr_cpus; i++) {
		result->cpus[i].cpu = config->cpus[i];
		result->cpus[i].from = measure_other_cpu(config->cpus[i]);
		runners[i].thread.config = config;
		runners[i].thread.cpu = &result->cpus[i];
		runners[i].thread.freq = result->freq;
		runners[i].gate = gate;
	}
}

static int measure_go(const struct latency_runner *runners, uint32_t nr,
		      struct latency_gate *gate,
		      struct sonde_latency_result *result)
{
	int error = 0;

	(void)pthread_barrier_wait(&gate->barrier);
	result->lock_error = mlockall(MCL_CURRENT) ? -errno : 0;
	(void)pthread_barrier_wait(&gate->barrier);
	(void)pthread_barrier_wait(&gate->barrier);
	for (uint32_t i = 0; i < nr; i++)
		(void)pthread_join(runners[i].handle, NULL);
	if (!result->lock_error)
		(void)munlockall();
	for (uint32_t i = 0; i < nr && !error; i++)
		error = result->cpus[i].error;
	return error;
}

static int measure_all(const struct sonde_latency_config *config,
		       struct latency_runner *runners,
		       struct sonde_latency_result *result)
{
	uint32_t nr = config->nr_cpus;
	struct latency_gate gate = { .closed = PTHREAD_MUTEX_INITIALIZER };
	int error = -pthread_barrier_init(&gate.barrier, NULL, nr + 1);

	if (error)
		return error;
	measure_prepare(config, runners, &gate, result);
	error = measure_start(runners, nr, &gate);
	if (!error)
		error = measure_go(runners, nr, &gate, result);
	(void)pthread_barrier_destroy(&gate.barrier);
	return error;
}

int sonde_latency_measure(const struct sonde_latency_config *config,
			  struct sonde_latency_result *ret_result)
{
	struct sonde_latency_result result = { .freq = 1000000000u };
	struct latency_runner *runners;
	struct sonde_clock clock;
	int error = -ENOMEM;

	if (config->kind == SONDE_LATENCY_LOOP) {
		sonde_clock_choose(true, &clock);
		if (clock.source != SONDE_CLOCK_SOURCE_CPU)
			return -ENOTSUP;
		result.freq = clock.freq;
	}
	runners = calloc(config->nr_cpus, sizeof(*runners));
	result.cpus = calloc(config->nr_cpus, sizeof(*result.cpus));
	if (runners && result.cpus)
		error = measure_all(config, runners, &result);
	free(runners);
	if (error)
		sonde_latency_result_fini(&result);
	else
		*ret_result = result;
	return error;
}

void sonde_latency_result_fini(struct sonde_latency_result *result)
{
	free(result->cpus);
	result->cpus = NULL;
}
