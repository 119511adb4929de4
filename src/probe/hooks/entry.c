/* SPDX-License-Identifier: MIT */
/*
 * entry.c - see entry.h. An int3 at the entry point, which is taken out again
 * before anything else happens there; signals on the way are the program's own.
 */
#include "probe/hooks/entry.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "probe/program_files.h"

#define OP_INT3 0xcc

static int entry_poke(pid_t pid, uint64_t address, long word)
{
	return ptrace(PTRACE_POKETEXT, pid, address, word) ? -errno : 0;
}

static int entry_address(pid_t pid, uint64_t *ret_address)
{
	Elf64_auxv_t auxv[SONDE_PROBE_AUXV_MAX / sizeof(Elf64_auxv_t)];
	size_t nr = sonde_probe_program_files_auxv(pid, auxv, sizeof(auxv)) /
		    sizeof(auxv[0]);

	for (size_t i = 0; i < nr; i++) {
		if (auxv[i].a_type != AT_ENTRY)
			continue;
		*ret_address = auxv[i].a_un.a_val;
		return 0;
	}
	return -ENOEXEC;
}

/* Up to the int3. */
static int entry_run_to_trap(pid_t pid)
{
	int number = 0;
	int status;

	for (;;) {
		siginfo_t info = { .si_pid = 0 };

		if (ptrace(PTRACE_CONT, pid, NULL, number))
			return -errno;
		if (waitid(P_PID, (id_t)pid, &info,
			   WEXITED | WSTOPPED | WNOWAIT))
			return -errno;
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			return -ECHILD;
		if (waitpid(pid, &status, WUNTRACED) != pid)
			return -ECHILD;
		number = WSTOPSIG(status);
		if (number == SIGTRAP)
			return 0;
	}
}

/* From behind the int3 back to it, with the code as it was. */
static int entry_restore(pid_t pid, uint64_t address, long word)
{
	struct user_regs_struct regs;
	int rc = entry_poke(pid, address, word);

	if (!rc && ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		rc = -errno;
	if (rc)
		return rc;
	if (regs.rip != address + 1)
		return -EILSEQ; /* a trap of its own */
	regs.rip = address;
	return ptrace(PTRACE_SETREGS, pid, NULL, &regs) ? -errno : 0;
}

int sonde_hooks_entry_reach(pid_t pid)
{
	uint64_t address = 0;
	long word = 0;
	int rc = entry_address(pid, &address);

	if (!rc) {
		/* a word has any value */
		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, pid, address, NULL);
		rc = -errno;
	}
	if (!rc)
		rc = entry_poke(pid, address, (word & ~0xffl) | OP_INT3);
	if (!rc) {
		rc = entry_run_to_trap(pid);
		if (rc != -ECHILD) {
			int err = entry_restore(pid, address, word);

			rc = rc ? rc : err;
		}
	}
	if (rc != -ECHILD &&
	    ptrace(PTRACE_DETACH, pid, NULL, rc ? 0 : SIGSTOP) && !rc)
		rc = -errno;
	return rc;
}
