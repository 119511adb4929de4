/* SPDX-License-Identifier: MIT */
/*
 * procfs.c - reading /proc/PID. Lines are scanned in a bounded copy.
 */
#include "tracer/probes/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/port.h"

#define STATUS_BYTES 8192

static int read_text(const char *path, char *to, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	to[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, to, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	to[n] = '\0';
	return 0;
}

/* The value's text in `status`: behind "NAME:". */
static const char *find_line(const char *status, const char *name)
{
	const size_t length = strlen(name);
	const char *line = status;

	while (line) {
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			return line + length + 1;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return NULL;
}

static int last_number(const char *text, int base, uint64_t *ret_value)
{
	int rc = -ENOENT;

	for (;;) {
		char *end;

		text += strspn(text, " \t");
		if (*text == '\n' || *text == '\0')
			return rc;
		*ret_value = strtoull(text, &end, base);
		if (end == text)
			return rc;
		text = end;
		rc = 0;
	}
}

int sonde_procfs_status(pid_t pid, const char *name, int base,
			uint64_t *ret_value)
{
	char path[64];
	char status[STATUS_BYTES] = "";
	const char *text;
	int rc;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	rc = read_text(path, status, sizeof(status));
	if (rc != 0)
		return rc == -ENOENT ? -ESRCH : rc;
	text = find_line(status, name);
	return text ? last_number(text, base, ret_value) : -ENOENT;
}

pid_t sonde_procfs_tracer(pid_t pid)
{
	uint64_t tracer = 0;

	return sonde_procfs_status(pid, "TracerPid", 10, &tracer) == 0 ?
		       (pid_t)tracer :
		       0;
}

int sonde_procfs_yama(void)
{
	char text[16];

	return read_text("/proc/sys/kernel/yama/ptrace_scope", text,
			 sizeof(text)) == 0 ?
		       (int)strtol(text, NULL, 10) :
		       0;
}

static int append_tid(pid_t **tids, size_t *nr, size_t *room, pid_t tid)
{
	if (*nr == *room) {
		const size_t more = *room ? 2 * *room : 64;
		pid_t *list = reallocarray(*tids, more, sizeof(**tids));

		if (!list)
			return -ENOMEM;
		*tids = list;
		*room = more;
	}
	(*tids)[(*nr)++] = tid;
	return 0;
}

int sonde_procfs_threads(pid_t pid, pid_t **ret_tids, size_t *ret_nr)
{
	char path[64];
	pid_t *tids = NULL;
	size_t nr = 0;
	size_t room = 0;
	int rc = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (rc == 0) {
		/* our own stream: nobody else reads it */
		const struct dirent *entry =
			readdir(dir); /* NOLINT(concurrency-mt-unsafe) */
		const pid_t tid =
			entry ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;

		if (!entry)
			break;
		if (tid > 0)
			rc = append_tid(&tids, &nr, &room, tid);
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
	if (sonde_procfs_status(tid, "SigPnd", 16, &own) != 0 ||
	    sonde_procfs_status(tid, "ShdPnd", 16, &shared) != 0 ||
	    sonde_procfs_status(tid, "SigBlk", 16, &blocked) != 0)
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

char sonde_procfs_state(pid_t pid, pid_t tid)
{
	char path[96];
	char text[512] = "";
	const char *paren;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid,
		       (int)tid);
	if (read_text(path, text, sizeof(text)) != 0)
		return 0;
	paren = strrchr(text, ')');
	if (!paren || paren[1] != ' ')
		return 0;
	return (char)paren[2];
}

/* NUMBER 0xARGUMENT... 0xSP 0xPC, or "running" */
long sonde_procfs_call(pid_t pid, pid_t tid,
		       uint64_t ret_args[SONDE_PROCFS_CALL_ARGS])
{
	char path[96];
	char text[256];
	char *end;
	long number;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid,
		       (int)tid);
	if (read_text(path, text, sizeof(text)) != 0)
		return -1;
	number = strtol(text, &end, 10);
	if (end == text)
		return -1;
	for (size_t i = 0; i < SONDE_PROCFS_CALL_ARGS; i++)
		ret_args[i] = strtoull(end, &end, 16);
	return number;
}

/* How much it would notice; lower is better; negative: not to be had. */
static int cost_of(pid_t pid, pid_t tid)
{
	const char state = sonde_procfs_state(pid, tid);
	uint64_t args[SONDE_PROCFS_CALL_ARGS];

	if (state != 'R' && state != 'S' && state != 'T')
		return -1;
	if (state == 'S' &&
	    sonde_procfs_restarts(sonde_procfs_call(pid, tid, args)))
		return 1;
	return 0;
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

	if (same_namespace(pid, getpid())) {
		*ret_pid = inner;
		return 0;
	}
	dir = opendir("/proc");
	if (!dir)
		return -errno;
	while (rc != 0) {
		const struct dirent *entry =
			readdir(dir); /* NOLINT(concurrency-mt-unsafe) */
		uint64_t its = 0;
		pid_t found;

		if (!entry)
			break;
		found = (pid_t)strtol(entry->d_name, NULL, 10);
		if (found <= 0 ||
		    sonde_procfs_status(found, "NStgid", 10, &its) != 0 ||
		    its != (uint64_t)inner || !same_namespace(pid, found))
			continue;
		*ret_pid = found;
		rc = 0;
	}
	closedir(dir);
	return rc;
}
