/* SPDX-License-Identifier: MIT */
/*
 * doctor.c - what this kernel and this user can do: the table of parts, and those
 * that belong to no source. The sources' own are in tracefs.c, bpf.c and
 * modules.c; what probes need is in probes.c.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/port.h"
#include "clock/calibrate.h"
#include "doctor/parts.h"
#include "sys/linux.h"
#include "sys/textfile.h"

/* ---- programs ---- */

static void look_programs(struct sonde_doctor_ability *to)
{
	int fd = memfd_create("sonde-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && !ftruncate(fd, 4096) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		sonde_doctor_why(to, "memfd_create() works");
	} else {
		sonde_doctor_why(to, "memfd_create(): %s",
				 strerrordesc_np(errno));
		sonde_doctor_lack(to, SONDE_UNABLE, "nothing can be recorded");
	}
	if (fd >= 0)
		(void)close(fd); /* it holds nothing */
}

/* A call that makes no sense fails with EINVAL where there is such a call. */
static void look_rseq(struct sonde_doctor_ability *to)
{
#ifdef SYS_rseq
	long rc = syscall(SYS_rseq, NULL, 0, 0, 0);

	if (rc == 0 || errno != ENOSYS) {
		sonde_doctor_why(to, "this kernel has restartable sequences");
		return;
	}
#endif
	sonde_doctor_why(to, "no system call rseq (Linux 4.18 has it; a "
			     "container's seccomp filter may hide it)");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "lanes instead, with a lock that is tried: an event "
			  "costs 47 ns, not 10");
}

/* ---- the clock ---- */

static void look_clock(struct sonde_doctor_ability *to)
{
	struct sonde_clock clock;
	char source[64];

	if (sonde_textfile_read_line(
		    source, sizeof(source),
		    "/sys/devices/system/clocksource/clocksource0/"
		    "current_clocksource") <= 0)
		(void)snprintf(source, sizeof(source), "unknown");
	sonde_clock_choose(true, &clock);
	if (clock.source == SONDE_CLOCK_SOURCE_CPU) {
		sonde_doctor_why(to, "%s at %.6g MHz; the kernel's clock is %s",
				 clock.description, (double)clock.freq / 1e6,
				 source);
		return;
	}
	sonde_doctor_why(
		to, "the CPU's counter is no clock here: the kernel's is %s",
		source);
	if (strcmp(source, "tsc") != 0)
		sonde_doctor_remedy(to, "if its `dmesg` names no fault of the "
					"TSC: boot with clocksource=tsc "
					"tsc=reliable");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "CLOCK_MONOTONIC instead: 14 ns more for each "
			  "event, or a system call where the vDSO has no fast "
			  "clock");
}

/* Debian's kernels know a level 3, which denies even the harmless event that
 * tells the rate. */
static bool is_perf_denied(void)
{
	char level[16];

	return sonde_textfile_read_line(
		       level, sizeof(level),
		       "/proc/sys/kernel/perf_event_paranoid") > 0 &&
	       level[0] >= '3' && level[0] <= '9' &&
	       !sonde_linux_capable(CAP_PERFMON) &&
	       !sonde_linux_capable(CAP_SYS_ADMIN);
}

static void look_clock_rate(struct sonde_doctor_ability *to)
{
	struct sonde_clock clock;

	sonde_clock_choose(true, &clock);
	if (clock.rate == SONDE_CLOCK_RATE_EXACT ||
	    clock.rate == SONDE_CLOCK_RATE_PERF) {
		sonde_doctor_why(to, "the kernel tells it");
		return;
	}
	if (is_perf_denied()) {
		sonde_doctor_why(to, "the kernel tells nobody but root: "
				     "kernel.perf_event_paranoid is 3 or more");
		sonde_doctor_remedy(to, "sudo sysctl "
					"kernel.perf_event_paranoid=2");
	} else {
		sonde_doctor_why(to, "the kernel does not tell it, as in some "
				     "virtual machines");
	}
	sonde_doctor_lack(
		to, SONDE_DOCTOR_PARTLY,
		"it is the CPU's word, or measured for 2 ms at the "
		"start, and put right when a recording of a second or "
		"more ends");
}

/* ---- what may forbid it all ---- */

static void look_lockdown(struct sonde_doctor_ability *to)
{
	char line[128];

	if (sonde_textfile_read_line(line, sizeof(line),
				     "/sys/kernel/security/lockdown") <= 0) {
		sonde_doctor_why(to, "no /sys/kernel/security/lockdown to be "
				     "seen");
		return;
	}
	sonde_doctor_why(to, "%s", line);
	if (!strstr(line, "[confidentiality]"))
		return;
	sonde_doctor_remedy(to, "boot without lockdown=confidentiality; it "
				"can't be lowered while the system runs");
	sonde_doctor_lack(
		to, SONDE_UNABLE,
		"no tracefs, no probes, and no BPF programs that read "
		"the kernel's memory: no kernel events");
}

/* The first namespaces of a system have these numbers, always. */
#define FIRST_USER_NS "user:[4026531837]"
#define FIRST_PID_NS  "pid:[4026531836]"

static bool doctor_is_first(const char *link, const char *first)
{
	char text[64] = "";

	/* Without it, the kernel knows no others. */
	return readlink(link, text, sizeof(text) - 1) < 0 ||
	       !strcmp(text, first);
}

static void look_container(struct sonde_doctor_ability *to)
{
	bool user = doctor_is_first("/proc/self/ns/user", FIRST_USER_NS);
	bool pid = doctor_is_first("/proc/self/ns/pid", FIRST_PID_NS);

	if (user && pid) {
		sonde_doctor_why(to,
				 "not in a container: the first user and PID "
				 "namespaces");
		return;
	}
	sonde_doctor_why(to, "in a container: not in the first %s namespace",
			 !user && !pid ? "user and PID" :
			 user          ? "PID" :
					 "user");
	sonde_doctor_remedy(to, "run sonde on the host");
	if (user)
		sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
				  "the kernel's events name threads by the "
				  "host's numbers, programs' events by the "
				  "container's");
	else
		sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
				  "capabilities count in the container only: "
				  "they give no kernel events");
}

/* ---- the table ---- */

static const struct sonde_doctor_part parts[] = {
	{ "programs",
	  "events of programs: tracepoints, --malloc, --locks, --io",
	  look_programs },
	{ "rseq", "events of programs for little more than reading the clock",
	  look_rseq },
	{ "clock", "times straight from the CPU's counter", look_clock },
	{ "clock-rate", "its exact rate, known from the start",
	  look_clock_rate },
	{ "tracefs", "every trace event of the kernel", sonde_doctor_tracefs },
	{ "tracefs-clock", "their times in the clock of programs",
	  sonde_doctor_tracefs_clock },
	{ "syscalls", "system calls with their arguments, by tracefs",
	  sonde_doctor_syscalls },
	{ "children", "a program and its children alone, by tracefs",
	  sonde_doctor_children },
	{ "kprobes", "probes on functions of the kernel",
	  sonde_doctor_kprobes },
	{ "uprobes", "probes on any instruction of a program",
	  sonde_doctor_uprobes },
	{ "bpf",
	  "the busiest kernel events, cheaper, with paths and other text",
	  sonde_doctor_bpf },
	{ "bpf-rings", "their records, without a copy",
	  sonde_doctor_bpf_rings },
	{ "btf", "the kernel's own types, which BPF programs go by",
	  sonde_doctor_btf },
	{ "iterators", "the system's state when a recording starts, quickly",
	  sonde_doctor_bpf_iterators },
	{ "memlock", "memory for BPF's rings", sonde_doctor_memlock },
	{ "lockdown", "a kernel that lets itself be observed", look_lockdown },
	{ "container", "the kernel as the host sees it", look_container },
	{ "modules",
	  "Sonde's own tracer in the kernel: any event, at the least cost",
	  sonde_doctor_modules },
	{ "attach", "probes in programs that run, from GDB",
	  sonde_doctor_attach },
	{ "barriers", "their code changed while its threads run",
	  sonde_doctor_barriers },
	{ "gdb", "a GDB, which probes are typed into", sonde_doctor_gdb },
};

_Static_assert(SONDE_ARRAY_SIZE(parts) <= SONDE_ABILITIES_MAX,
	       "callers have room for SONDE_ABILITIES_MAX");

static void look(const struct sonde_doctor_part *part,
		 struct sonde_doctor_ability *to)
{
	*to = (struct sonde_doctor_ability){ .part = part->name,
					     .gives = part->gives,
					     .able = SONDE_DOCTOR_ABLE };
	part->look(to);
}

size_t sonde_doctor_look(const struct sonde_doctor_part *all, size_t nr,
			 struct sonde_doctor_ability *to, size_t room)
{
	for (size_t i = 0; i < nr && i < room; i++)
		look(&all[i], &to[i]);
	return nr;
}

size_t sonde_doctor_abilities(struct sonde_doctor_ability *to, size_t room)
{
	return sonde_doctor_look(parts, SONDE_ARRAY_SIZE(parts), to, room);
}

int sonde_doctor_ability(const char *part,
			 struct sonde_doctor_ability *ret_ability)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(parts); i++) {
		if (strcmp(parts[i].name, part) != 0)
			continue;
		look(&parts[i], ret_ability);
		return 0;
	}
	return -ENOENT;
}

bool sonde_doctor_explain(const char *part, char *text, size_t size)
{
	struct sonde_doctor_ability ability;

	if (sonde_doctor_ability(part, &ability) ||
	    ability.able == SONDE_DOCTOR_ABLE)
		return false;
	(void)snprintf(text, size, "%s%s%s", ability.why,
		       *ability.remedy ? "; " : "", ability.remedy);
	return true;
}
