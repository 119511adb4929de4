/* SPDX-License-Identifier: MIT */
/*
 * realtime.c - what keeps threads from being late on this machine, and what would
 * help: for `sonde doctor --realtime`.
 *
 * "The CPUs in question" are those that the kernel was told to leave alone
 * (isolated); where there are none, the last one of the machine stands for them,
 * as `sonde latency` takes it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/port.h"
#include "doctor/parts.h"
#include "sys/cpus.h"
#include "sys/dir.h"
#include "sys/linux.h"
#include "sys/proc.h"
#include "sys/textfile.h"

#define CPU_FILES "/sys/devices/system/cpu/"
#define LIST      512

/* A file's first line; "" if there is none, or nothing in it. */
static const char *realtime_line(char *line, size_t size, const char *path)
{
	if (sonde_textfile_read_line(line, size, "%s", path) <= 0 ||
	    !strcmp(line, "(null)"))
		line[0] = '\0';
	return line;
}

/* The CPUs in question, as a list. */
static const char *realtime_cpus(char *list, size_t size)
{
	char online[LIST];
	uint32_t span;

	if (*realtime_line(list, size, CPU_FILES "isolated"))
		return list;
	span = sonde_cpus_span(realtime_line(online, sizeof(online),
					     CPU_FILES "online"),
			       UINT32_MAX);
	(void)snprintf(list, size, "%u", span ? span - 1 : 0);
	return list;
}

static bool realtime_has_cpu(const char *list, uint32_t cpu)
{
	uint32_t first;
	uint32_t last;

	while (sonde_cpus_take(&list, &first, &last))
		if (cpu >= first && cpu <= last)
			return true;
	return false;
}

/* Whether two lists have a CPU in common; the second is short. */
static bool realtime_meet(const char *list, const char *others)
{
	uint32_t first;
	uint32_t last;

	while (sonde_cpus_take(&others, &first, &last))
		for (uint64_t cpu = first; cpu <= last; cpu++)
			if (realtime_has_cpu(list, (uint32_t)cpu))
				return true;
	return false;
}

/* ---- the kernel ---- */

static void look_preemption(struct sonde_doctor_ability *to)
{
	char line[LIST];

	if (*realtime_line(line, sizeof(line), "/sys/kernel/realtime") == '1') {
		sonde_doctor_why(to, "this kernel is PREEMPT_RT");
		return;
	}
	sonde_doctor_why(to, "no PREEMPT_RT (no 1 in /sys/kernel/realtime)");
	sonde_doctor_remedy(to, "boot a kernel with PREEMPT_RT (Debian has "
				"linux-image-rt-amd64 and -arm64)");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "a thread may have to wait for a system call or a "
			  "soft interrupt of others, as long as that takes");
}

static void look_isolation(struct sonde_doctor_ability *to)
{
	char list[LIST];

	if (*realtime_line(list, sizeof(list), CPU_FILES "isolated")) {
		sonde_doctor_why(to, "CPUs %.150s are isolated", list);
		return;
	}
	sonde_doctor_why(to, "no CPU is isolated");
	sonde_doctor_remedy(to,
			    "boot with isolcpus=domain,managed_irq,%s, or give "
			    "your threads a cpuset with "
			    "cpuset.cpus.partition=isolated",
			    realtime_cpus(list, sizeof(list)));
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "the scheduler may put any thread on any CPU");
}

static void look_tick(struct sonde_doctor_ability *to)
{
	char list[LIST];

	if (*realtime_line(list, sizeof(list), CPU_FILES "nohz_full")) {
		sonde_doctor_why(to,
				 "CPUs %.150s have no tick while one "
				 "thread runs",
				 list);
		return;
	}
	sonde_doctor_why(to, "nohz_full is not set");
	sonde_doctor_remedy(to, "boot with nohz_full=%s",
			    realtime_cpus(list, sizeof(list)));
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "a timer interrupts each running thread 100 to "
			  "1,000 times a second");
}

static void look_rcu(struct sonde_doctor_ability *to)
{
	char line[4096];
	char list[LIST];

	(void)realtime_line(line, sizeof(line), "/proc/cmdline");
	if (strstr(line, "rcu_nocbs=") || strstr(line, "nohz_full=")) {
		sonde_doctor_why(to, "the kernel was booted with %s",
				 strstr(line, "rcu_nocbs=") ? "rcu_nocbs" :
							      "nohz_full");
		return;
	}
	sonde_doctor_why(to, "rcu_nocbs is not set");
	sonde_doctor_remedy(to, "boot with rcu_nocbs=%s",
			    realtime_cpus(list, sizeof(list)));
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "soft interrupts free memory of the kernel's on "
			  "whatever CPU it was used");
}

static void look_throttling(struct sonde_doctor_ability *to)
{
	char line[32];

	(void)realtime_line(line, sizeof(line),
			    "/proc/sys/kernel/sched_rt_runtime_us");
	if (!*line || !strcmp(line, "-1")) {
		sonde_doctor_why(to, "real-time threads are never stopped");
		return;
	}
	sonde_doctor_why(to, "kernel.sched_rt_runtime_us is %s", line);
	sonde_doctor_remedy(to, "sudo sysctl kernel.sched_rt_runtime_us=-1 (a "
				"thread that never sleeps then keeps its CPU)");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "one that doesn't sleep is stopped for the rest of "
			  "each period");
}

/* A setting that is 1. */
static void look_setting(struct sonde_doctor_ability *to, const char *setting,
			 const char *if_not, const char *else_what)
{
	char path[64];
	char line[32];

	(void)snprintf(path, sizeof(path), "/proc/sys/kernel/%s", setting);
	if (*realtime_line(line, sizeof(line), path) != '1') {
		sonde_doctor_why(to, "%s", if_not);
		return;
	}
	sonde_doctor_why(to, "kernel.%s is 1", setting);
	sonde_doctor_remedy(to, "sudo sysctl kernel.%s=0", setting);
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY, else_what);
}

static void look_timer_migration(struct sonde_doctor_ability *to)
{
	look_setting(to, "timer_migration", "timers stay where they were set",
		     "timers that idle CPUs set may interrupt a busy one");
}

static void look_watchdog(struct sonde_doctor_ability *to)
{
	look_setting(to, "nmi_watchdog", "kernel.nmi_watchdog is off",
		     "an interrupt that can't be held off, every few "
		     "seconds of a CPU's time");
}

/* ---- the machine ---- */

/* How many interrupts may come to the CPUs. */
static uint32_t realtime_count_irqs(const char *list)
{
	DIR *dir = sonde_dir_open_at(AT_FDCWD, "/proc/irq");
	const char *name;
	uint32_t nr = 0;

	while ((name = sonde_dir_next(dir))) {
		char path[128];
		char cpus[LIST];

		(void)snprintf(path, sizeof(path),
			       "/proc/irq/%.64s/effective_affinity_list", name);
		nr += realtime_meet(realtime_line(cpus, sizeof(cpus), path),
				    list);
	}
	if (dir)
		(void)closedir(dir);
	return nr;
}

static void look_irqs(struct sonde_doctor_ability *to)
{
	char list[LIST];
	uint32_t nr = realtime_count_irqs(realtime_cpus(list, sizeof(list)));

	if (!nr) {
		sonde_doctor_why(to,
				 "no interrupt of a device goes to CPU "
				 "%.150s",
				 list);
		return;
	}
	sonde_doctor_why(to, "%u interrupts of devices go to CPU %.150s", nr,
			 list);
	sonde_doctor_remedy(to, "stop irqbalance, and write other CPUs to "
				"/proc/irq/*/smp_affinity_list");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "their handlers interrupt whatever runs there");
}

static void look_governor(struct sonde_doctor_ability *to)
{
	char online[LIST];
	char line[64];
	uint32_t span = sonde_cpus_span(realtime_line(online, sizeof(online),
						      CPU_FILES "online"),
					UINT32_MAX);

	sonde_doctor_why(to, "the CPUs' frequency is not this kernel's to "
			     "choose, or fixed");
	for (uint32_t i = 0; i < span; i++) {
		if (sonde_textfile_read_line(line, sizeof(line),
					     CPU_FILES
					     "cpu%u/cpufreq/scaling_governor",
					     i) <= 0 ||
		    !strcmp(line, "performance"))
			continue;
		sonde_doctor_why(to, "CPU %u is governed by %s", i, line);
		sonde_doctor_remedy(to, "sudo cpupower frequency-set -g "
					"performance");
		sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
				  "a thread that slept wakes up on a slow CPU");
		return;
	}
}

static void look_huge_pages(struct sonde_doctor_ability *to)
{
	char line[128];

	(void)realtime_line(line, sizeof(line),
			    "/sys/kernel/mm/transparent_hugepage/enabled");
	if (!strstr(line, "[always]")) {
		sonde_doctor_why(to, "huge pages are made where programs ask "
				     "for them, at most");
		return;
	}
	sonde_doctor_why(to, "huge pages are made for every program");
	sonde_doctor_remedy(to, "echo madvise | sudo tee "
				"/sys/kernel/mm/transparent_hugepage/enabled");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "khugepaged moves memory of programs that run");
}

static void look_swap(struct sonde_doctor_ability *to)
{
	char text[1024];
	const char *second;

	(void)sonde_textfile_read(text, sizeof(text), "/proc/swaps");
	second = strchr(text, '\n');
	if (!second || !second[1]) {
		sonde_doctor_why(to, "there is no swap");
		return;
	}
	sonde_doctor_why(to, "there is swap");
	sonde_doctor_remedy(to, "lock memory (mlockall() in the program), or "
				"sudo swapoff -a");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "memory that isn't locked may have to be read from "
			  "the disk");
}

/* ---- this user ---- */

static void look_priority(struct sonde_doctor_ability *to)
{
	struct rlimit limit;

	if (sonde_linux_capable(CAP_SYS_NICE)) {
		sonde_doctor_why(to, "CAP_SYS_NICE");
		return;
	}
	if (!getrlimit(RLIMIT_RTPRIO, &limit) && limit.rlim_cur) {
		sonde_doctor_why(to, "ulimit -r is %llu",
				 (unsigned long long)limit.rlim_cur);
		return;
	}
	sonde_doctor_why(to, "no CAP_SYS_NICE, and ulimit -r is 0");
	sonde_doctor_remedy(to, "in /etc/security/limits.conf: @realtime - "
				"rtprio 95");
	sonde_doctor_lack(to, SONDE_UNABLE,
			  "threads of this user wait for all others");
}

static void look_locking(struct sonde_doctor_ability *to)
{
	struct rlimit limit;

	if (sonde_linux_capable(CAP_IPC_LOCK)) {
		sonde_doctor_why(to, "CAP_IPC_LOCK");
		return;
	}
	if (getrlimit(RLIMIT_MEMLOCK, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY) {
		sonde_doctor_why(to, "no limit (ulimit -l)");
		return;
	}
	sonde_doctor_why(to, "ulimit -l is %llu KiB",
			 (unsigned long long)limit.rlim_cur / 1024);
	sonde_doctor_remedy(to, "in /etc/security/limits.conf: @realtime - "
				"memlock unlimited");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "more than that can't be locked: mlockall() fails, "
			  "and pages are missed later");
}

/* Where our recorder may run: it has nothing to do on the CPUs in question. */
static void look_recorder(struct sonde_doctor_ability *to)
{
	char text[SONDE_PROC_STATUS_BYTES];
	char list[LIST];
	const char *allowed;
	int length;

	(void)sonde_textfile_read(text, sizeof(text), "/proc/self/status");
	allowed = strstr(text, "\nCpus_allowed_list:");
	allowed = allowed ? allowed + strcspn(allowed, "\t") : "";
	allowed += strspn(allowed, "\t ");
	length = (int)strcspn(allowed, "\n");
	(void)realtime_cpus(list, sizeof(list));
	if (!realtime_meet(allowed, list)) {
		sonde_doctor_why(to, "sonde runs on CPU %.*s, not on %.100s",
				 length, allowed, list);
		return;
	}
	sonde_doctor_why(to, "sonde may run on CPU %.*s, so on %.100s, too",
			 length, allowed, list);
	sonde_doctor_remedy(to,
			    "sonde record --recorder-cpus, with CPUs that no "
			    "thread of yours needs");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "the recorder may take its turn on the CPU of what "
			  "it records");
}

/* ---- the table ---- */

static const struct sonde_doctor_part realtime_parts[] = {
	{ "preemption", "a kernel that can be interrupted nearly everywhere",
	  look_preemption },
	{ "isolation", "CPUs that others are kept from", look_isolation },
	{ "tick", "CPUs without a regular interrupt", look_tick },
	{ "rcu", "the kernel's clearing up done elsewhere", look_rcu },
	{ "irqs", "interrupts of devices kept away", look_irqs },
	{ "throttling", "real-time threads that run as long as they want",
	  look_throttling },
	{ "timer-migration", "timers that stay where they are",
	  look_timer_migration },
	{ "watchdog", "no interrupts of the kernel's watchdog", look_watchdog },
	{ "governor", "CPUs at full speed at once", look_governor },
	{ "huge-pages", "memory that stays where it is", look_huge_pages },
	{ "swap", "memory that stays in memory", look_swap },
	{ "priority", "real-time priorities for this user", look_priority },
	{ "locking", "locked memory for this user", look_locking },
	{ "recorder", "a recorder on other CPUs", look_recorder },
};

_Static_assert(SONDE_ARRAY_SIZE(realtime_parts) <= SONDE_ABILITIES_MAX,
	       "callers have room for SONDE_ABILITIES_MAX");

size_t sonde_doctor_realtime(struct sonde_doctor_ability *to, size_t room)
{
	return sonde_doctor_look(realtime_parts,
				 SONDE_ARRAY_SIZE(realtime_parts), to, room);
}
