/* SPDX-License-Identifier: MIT */
/*
 * probes.c - what probes in running programs need (docs/probes.md): the right to
 * attach, a GDB, and barriers that reach other threads' code.
 *
 * Files of /proc and one system call are asked; for the versions of GDB, it is
 * run.
 */
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor/parts.h"
#include "sys/linux.h"
#include "sys/textfile.h"

#define NO_PROBES "no probes in programs that run (sonde gdb, sonde probe)"

#ifdef __x86_64__

#define YAMA_PATH "/proc/sys/kernel/yama/ptrace_scope"

void sonde_doctor_attach(struct sonde_doctor_ability *to)
{
	const bool capable = sonde_linux_capable(CAP_SYS_PTRACE);
	char scope[16];

	if (sonde_textfile_read_line(scope, sizeof(scope), YAMA_PATH) <= 0)
		(void)snprintf(scope, sizeof(scope), "0");
	if (scope[0] == '3') {
		sonde_doctor_why(to,
				 "kernel.yama.ptrace_scope is 3: nobody may "
				 "attach");
		sonde_doctor_remedy(to,
				    "boot with another setting; it can't be "
				    "lowered while the system runs");
		sonde_doctor_lack(to, SONDE_UNABLE, NO_PROBES);
	} else if (capable) {
		sonde_doctor_why(to, "CAP_SYS_PTRACE: any program");
	} else if (scope[0] != '0') {
		sonde_doctor_why(to, "kernel.yama.ptrace_scope is %.8s", scope);
		sonde_doctor_remedy(to,
				    "sudo sysctl kernel.yama.ptrace_scope=0");
		sonde_doctor_lack(
			to, SONDE_UNABLE,
			"only programs that sonde gdbserver starts can "
			"have probes");
	} else {
		sonde_doctor_why(to, "this user's programs; others' as root");
	}
}

void sonde_doctor_barriers(struct sonde_doctor_ability *to)
{
	const long commands =
		syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (commands > 0 &&
	    (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) != 0) {
		sonde_doctor_why(to, "membarrier() has SYNC_CORE");
		return;
	}
	sonde_doctor_why(to, "no membarrier() with SYNC_CORE (Linux 4.16 has "
			     "it; a container's seccomp filter may hide it)");
	sonde_doctor_lack(to, SONDE_UNABLE, NO_PROBES);
}

/* The number at the end of the first line that `command` prints. */
static bool version_of(const char *command, char *to, size_t size)
{
	char line[128] = "";
	FILE *out;
	const char *last;
	bool found;

	/* A constant, found as the user's shell finds it.
	 * NOLINTNEXTLINE(cert-env33-c,bugprone-command-processor) */
	out = popen(command, "re");
	found = out && fgets(line, sizeof(line), out);
	if (out && pclose(out) != 0)
		found = false;
	line[strcspn(line, "\n")] = '\0';
	last = strrchr(line, ' ');
	(void)snprintf(to, size, "%s", last ? last + 1 : line);
	return found;
}

void sonde_doctor_gdb(struct sonde_doctor_ability *to)
{
	char gdb[32];
	char server[32];

	if (!version_of("gdb --version 2>/dev/null", gdb, sizeof(gdb))) {
		sonde_doctor_why(to, "no gdb to be found");
		sonde_doctor_remedy(to, "sudo apt-get install gdb gdbserver");
		sonde_doctor_lack(to, SONDE_UNABLE, NO_PROBES);
	} else if (!version_of("gdbserver --version 2>/dev/null", server,
			       sizeof(server))) {
		sonde_doctor_why(to, "gdb %s, and no gdbserver", gdb);
		sonde_doctor_remedy(to, "sudo apt-get install gdbserver");
		sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
				  "sonde gdbserver attaches, but starts no "
				  "programs");
	} else if (!strncmp(gdb, "13.1", 4)) {
		sonde_doctor_why(to,
				 "gdb %s, gdbserver %s; that gdb crashes at "
				 "times with strace -m, but when `sonde gdb` "
				 "has started it",
				 gdb, server);
	} else {
		sonde_doctor_why(to, "gdb %s, gdbserver %s", gdb, server);
	}
}

#else

static void doctor_probes_lack(struct sonde_doctor_ability *to)
{
	sonde_doctor_why(to, "probes are for x86-64");
	sonde_doctor_lack(to, SONDE_UNABLE, NO_PROBES);
}

void sonde_doctor_attach(struct sonde_doctor_ability *to)
{
	doctor_probes_lack(to);
}

void sonde_doctor_barriers(struct sonde_doctor_ability *to)
{
	doctor_probes_lack(to);
}

void sonde_doctor_gdb(struct sonde_doctor_ability *to)
{
	doctor_probes_lack(to);
}

#endif
