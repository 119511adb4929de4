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
 */
#include "probe/inject/awake.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"

#define AWAKE_MS  10u
#define NS_PER_MS 1000000u

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

void sonde_inject_awake_end(pid_t awake)
{
	if (awake <= 0)
		return;
	(void)kill(awake, SIGKILL);
	while (waitpid(awake, NULL, 0) < 0 && errno == EINTR)
		;
}
