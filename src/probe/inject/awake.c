/* SPDX-License-Identifier: MIT */
/*
 * awake.c - a CPU that doesn't sleep while its thread is stopped.
 *
 * A stopped thread leaves its CPU with nothing to do, which halts; in a virtual
 * machine, waking one that is halted takes longer than all else that is done
 * to a thread (docs/benchmarks.md). A process of ours in the class SCHED_IDLE
 * runs there instead: whoever else wants the CPU has it at once, so it costs
 * others nothing but the core's power, for AWAKE_MS at the most.
 *
 * It makes no system call once it runs, and its parent moves it: where it goes
 * to, it has no turn before the thread is stopped.
 *
 * Where others want the CPU it has no turn, not even to die: waiting for its end
 * took seconds, and the servant that had been made meanwhile lost patience. So there
 * is none where no CPU sleeps; and where that changes meanwhile it is taken to our
 * own CPU, which is free while we wait, when all else is done.
 */
#include "probe/inject/awake.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "base/time.h"

#define AWAKE_MS  10u
#define NS_PER_MS 1000000u
#define END_NS    200000u /* what its end takes on a CPU of its own */

bool sonde_inject_awake_helps(const char *loadavg, long nr_cpus)
{
	const char *at = loadavg;
	uint64_t nr_running;

	for (int i = 0; i < 3 && at; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	if (!at || !sonde_number_take(&at, 10, UINT32_MAX, &nr_running))
		return true;
	return nr_running <= (uint64_t)nr_cpus;
}

pid_t sonde_inject_awake_begin(unsigned int cpu)
{
	const uint64_t until_ns =
		sonde_monotonic_ns() + (uint64_t)AWAKE_MS * NS_PER_MS;
	const struct sched_param none = { 0 };
	const pid_t parent = getpid();
	cpu_set_t cpus;
	pid_t pid;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus); /* beyond its end: none */
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		while (sonde_monotonic_ns() < until_ns)
			;
		_exit(0);
	}
	if (pid > 0 && (sched_setscheduler(pid, SCHED_IDLE, &none) != 0 ||
			sched_setaffinity(pid, sizeof(cpus), &cpus) != 0)) {
		sonde_inject_awake_end(pid);
		pid = 0;
	}
	return pid > 0 ? pid : 0;
}

void sonde_inject_awake_stop(pid_t awake)
{
	if (awake > 0)
		(void)kill(awake, SIGKILL); /* not waited for: it exists */
}

/* To where it has a turn while we sleep. Best effort. */
static void bring_here(pid_t awake)
{
	const int ours = sched_getcpu();
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (ours >= 0)
		CPU_SET((unsigned int)ours, &cpus);
	(void)sched_setaffinity(awake, sizeof(cpus), &cpus);
}

void sonde_inject_awake_end(pid_t awake)
{
	const uint64_t until_ns = sonde_monotonic_ns() + END_NS;
	pid_t got = 0;

	if (awake <= 0)
		return;
	sonde_inject_awake_stop(awake);
	while (got == 0 && sonde_monotonic_ns() < until_ns)
		got = waitpid(awake, NULL, WNOHANG);
	if (got == awake)
		return;
	bring_here(awake);
	while (waitpid(awake, NULL, 0) < 0 && errno == EINTR)
		;
}
