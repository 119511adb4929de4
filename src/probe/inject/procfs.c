/* SPDX-License-Identifier: MIT */
/*
 * procfs.c - reading /proc/PID. Lines are scanned in a bounded copy.
 */
#include "probe/inject/procfs.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/port.h"
#include "sys/proc.h"
#include "sys/textfile.h"

pid_t sonde_procfs_tracer(pid_t pid)
{
	uint64_t tracer = 0;

	return sonde_proc_status(pid, "TracerPid", 10, &tracer) == 0 ?
		       (pid_t)tracer :
		       0;
}

int sonde_procfs_yama(void)
{
	char text[16];
	uint64_t scope;

	(void)sonde_textfile_read_line(text, sizeof(text),
				       "/proc/sys/kernel/yama/ptrace_scope");
	return sonde_number_parse(text, INT32_MAX, &scope) ? (int)scope : 0;
}

int sonde_procfs_threads(pid_t pid, pid_t **ret_tids, size_t *ret_nr)
{
	pid_t *tids = NULL;
	size_t nr = 0;
	size_t room = 0;
	int rc = 0;
	DIR *dir = sonde_proc_dir(pid, "task");
	pid_t tid;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (rc == 0 && (tid = sonde_proc_next(dir)) >= 0) {
		rc = SONDE_GROW(tids, nr, room);
		if (rc == 0)
			tids[nr++] = tid;
	}
	closedir(dir);
	if (rc != 0) {
		free(tids);
		return rc;
	}
	*ret_tids = tids;
	*ret_nr = nr;
	return 0;
}

bool sonde_procfs_signal_pends(pid_t pid, pid_t tid)
{
	uint64_t own = 0;
	uint64_t shared = 0;
	uint64_t blocked = 0;

	(void)pid;
	if (sonde_proc_status(tid, "SigPnd", 16, &own) != 0 ||
	    sonde_proc_status(tid, "ShdPnd", 16, &shared) != 0 ||
	    sonde_proc_status(tid, "SigBlk", 16, &blocked) != 0)
		return true;
	return ((own | shared) & ~blocked) != 0;
}

bool sonde_procfs_restarts(long number)
{
	/* Those that signal(7) says a stop interrupts, and that have done
	 * nothing yet when they are. */
	static const long restarts[] = {
		SYS_epoll_wait,   SYS_epoll_pwait, SYS_epoll_pwait2,
		SYS_semop,        SYS_semtimedop,  SYS_rt_sigtimedwait,
		SYS_io_getevents, SYS_read,        SYS_futex,
		SYS_msgrcv,       SYS_msgsnd,      SYS_accept,
		SYS_accept4,      SYS_recvfrom,    SYS_recvmsg,
		SYS_sendto,       SYS_sendmsg,     SYS_io_uring_enter,
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(restarts); i++)
		if (restarts[i] == number)
			return true;
	return false;
}

/* ---- which thread ---- */

char sonde_procfs_state(pid_t tid)
{
	struct sonde_proc_stat stat;

	if (sonde_proc_stat(tid, &stat))
		return 0;
	return stat.state;
}

/* Whether a call that is interrupted and made again waits longer than it would
 * have. Those that the kernel goes on with know how long they have waited. */
static bool waits_anew(const struct sonde_proc_syscall *call)
{
	switch (call->number) {
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_io_uring_enter:
		return true;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)call->args[3] >= 0;
	case SYS_epoll_pwait2:
		return call->args[3] != 0;
	default:
		return false;
	}
}

/* How much it would notice; lower is better; negative: not to be had. One that
 * sleeps has no time to lose. */
static int cost_of(pid_t pid, pid_t tid)
{
	const char state = sonde_procfs_state(tid);
	struct sonde_proc_syscall call;

	if (state != 'R' && state != 'S' && state != 'T')
		return -1;
	if (state != 'S' || sonde_proc_syscall(pid, tid, &call) != 0)
		return 1;
	return waits_anew(&call) ? 2 : 0;
}

int sonde_procfs_choose_thread(pid_t pid, pid_t *ret_tid)
{
	pid_t *tids = NULL;
	size_t nr = 0;
	int least = -1;
	int rc = sonde_procfs_threads(pid, &tids, &nr);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < nr && least != 0; i++) {
		const int cost = cost_of(pid, tids[i]);

		if (cost < 0 || (least >= 0 && cost >= least))
			continue;
		least = cost;
		*ret_tid = tids[i];
	}
	free(tids);
	return least < 0 ? -EBUSY : 0;
}

/* ---- children ---- */

bool sonde_procfs_is_left(pid_t parent, pid_t child)
{
	uint64_t its_parent = 0;

	return sonde_procfs_state(child) == 'Z' &&
	       sonde_proc_status(child, "PPid", 10, &its_parent) == 0 &&
	       its_parent == (uint64_t)parent;
}

struct pids {
	pid_t *list;
	size_t nr, room;
};

/* A thread's. One that has ended has none. */
static int procfs_add_children(struct pids *pids, pid_t parent, pid_t tid)
{
	pid_t child;
	int rc = 0;
	FILE *file = sonde_proc_children(parent, tid);

	if (!file)
		return errno == ENOENT ? 0 : -errno;
	while (rc == 0 && (child = sonde_proc_next_child(file)) > 0) {
		rc = SONDE_GROW(pids->list, pids->nr, pids->room);
		if (rc == 0)
			pids->list[pids->nr++] = child;
	}
	(void)fclose(file);
	return rc;
}

int sonde_procfs_children(pid_t parent, pid_t **ret_pids, size_t *ret_nr)
{
	struct pids pids = { 0 };
	pid_t *tids = NULL;
	size_t nr = 0;
	int rc = sonde_procfs_threads(parent, &tids, &nr);

	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = procfs_add_children(&pids, parent, tids[i]);
	free(tids);
	if (rc != 0) {
		free(pids.list);
		return rc;
	}
	*ret_pids = pids.list;
	*ret_nr = pids.nr;
	return 0;
}

int sonde_procfs_child(pid_t parent, const char *name, pid_t *ret_child)
{
	char its[SONDE_COMM_SIZE];
	pid_t *children = NULL;
	size_t nr = 0;
	int rc = sonde_procfs_children(parent, &children, &nr);

	if (rc != 0)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < nr && rc != 0; i++) {
		sonde_process_name(children[i], its);
		if (strcmp(its, name) != 0)
			continue;
		*ret_child = children[i];
		rc = 0;
	}
	free(children);
	return rc;
}

/* ---- who has it open ---- */

/* One descriptor, of those that `dir`, an fdinfo, tells of. */
static bool procfs_is_pidfd_of(DIR *dir, int32_t fd, pid_t pid)
{
	char name[16];
	char text[512];
	const char *at;
	uint64_t its = 0;

	(void)snprintf(name, sizeof(name), "%d", fd);
	if (sonde_textfile_read_at(dirfd(dir), name, text, sizeof(text)) <= 0)
		return false;
	at = sonde_proc_find(text, "Pid");
	return sonde_proc_numbers(at, 10, &its) && its == (uint64_t)pid;
}

static bool procfs_holds_pidfd(pid_t holder, pid_t pid)
{
	DIR *dir = sonde_proc_dir(holder, "fdinfo");
	bool holds = false;
	int32_t fd;

	while (dir && !holds && (fd = sonde_proc_next(dir)) >= 0)
		holds = procfs_is_pidfd_of(dir, fd, pid);
	if (dir)
		(void)closedir(dir); /* only read from */
	return holds;
}

pid_t sonde_procfs_pidfd_holder(pid_t pid)
{
	DIR *proc = opendir("/proc");
	pid_t found = 0;
	pid_t next;

	while (proc && !found && (next = sonde_proc_next(proc)) >= 0)
		if (next != getpid() && procfs_holds_pidfd(next, pid))
			found = next;
	if (proc)
		(void)closedir(proc); /* only read from */
	return found;
}

/* ---- PID namespaces ---- */

static bool same_namespace(pid_t a, pid_t b)
{
	char path[64];
	char of_a[64] = "";
	char of_b[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)a);
	if (readlink(path, of_a, sizeof(of_a) - 1) <= 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)b);
	return readlink(path, of_b, sizeof(of_b) - 1) > 0 &&
	       strcmp(of_a, of_b) == 0;
}

int sonde_procfs_outer_pid(pid_t pid, pid_t inner, pid_t *ret_pid)
{
	DIR *dir;
	int rc = -ESRCH;
	pid_t found;

	if (same_namespace(pid, getpid())) {
		*ret_pid = inner;
		return 0;
	}
	dir = opendir("/proc");
	if (!dir)
		return -errno;
	while (rc != 0 && (found = sonde_proc_next(dir)) >= 0) {
		uint64_t its = 0;

		if (sonde_proc_status(found, "NStgid", 10, &its) != 0 ||
		    its != (uint64_t)inner || !same_namespace(pid, found))
			continue;
		*ret_pid = found;
		rc = 0;
	}
	closedir(dir);
	return rc;
}

uint64_t sonde_procfs_auxiliary(pid_t pid, uint64_t type)
{
	char path[64];
	Elf64_auxv_t entry;
	uint64_t value = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fread(&entry, sizeof(entry), 1, file) == 1)
		if (entry.a_type == type)
			value = entry.a_un.a_val;
	(void)fclose(file);
	return value;
}
