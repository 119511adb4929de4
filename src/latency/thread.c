/* SPDX-License-Identifier: MIT */
/*
 * thread.c - where a thread runs, and how urgently; what it found is counted.
 */
#include <errno.h>
#include <sched.h>

#include "latency/measure_parts.h"

uint32_t sonde_latency_own_cpus(uint32_t cpus[SONDE_LATENCY_CPUS])
{
	cpu_set_t set;
	uint32_t nr = 0;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (uint32_t i = 0; i < CPU_SETSIZE && nr < SONDE_LATENCY_CPUS; i++)
		if (CPU_ISSET(i, &set))
			cpus[nr++] = i;
	return nr;
}

bool sonde_latency_has_cpu(const struct sonde_latency_config *config,
			   uint32_t cpu)
{
	for (uint32_t i = 0; i < config->nr_cpus; i++)
		if (config->cpus[i] == cpu)
			return true;
	return false;
}

int sonde_latency_pin(uint32_t cpu)
{
	cpu_set_t set;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

int sonde_latency_raise(uint32_t priority)
{
	const struct sched_param param = { .sched_priority = (int)priority };

	return sched_setscheduler(0, SCHED_FIFO, &param) ? -errno : 0;
}

void sonde_latency_found(struct sonde_latency_thread *thread, uint64_t ns)
{
	const struct sonde_latency_config *config = thread->config;

	sonde_latency_gaps_add(&thread->cpu->gaps, ns);
	if (!config->over_ns || ns <= config->over_ns)
		return;
	thread->cpu->nr_over++;
	if (config->over)
		config->over(ns);
}
