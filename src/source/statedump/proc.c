/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * proc.c - threads, files and mappings as /proc has them (proc.h).
 *
 * What ends meanwhile or can't be read is left out. Text is understood by
 * proc_parse.c; a thread costs some 50 us, a file 10.
 */
#include "source/statedump/proc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "base/time.h"
#include "source/statedump/proc_parse.h"
#include "source/statedump/socket.h"
#include "sys/proc.h"

#define TEXT_BYTES 8192u
#define NETS_MAX   64u /* network namespaces whose sockets are known */

struct sonde_proc {
	struct sonde_sockets sockets;
	uint32_t nets[NETS_MAX];
	uint32_t nr_nets;
	char cgroup[SONDE_CGROUP_BYTES];
	char text[TEXT_BYTES];
	char link[SONDE_STATEDUMP_PATH_MAX];
	struct sonde_lines lines;
};

struct sonde_proc *sonde_proc_new(void)
{
	return calloc(1, sizeof(struct sonde_proc));
}

void sonde_proc_free(struct sonde_proc *proc)
{
	if (!proc)
		return;
	sonde_sockets_fini(&proc->sockets);
	free(proc);
}

/* ---- threads ---- */

const char *sonde_proc_cgroup(struct sonde_proc *proc, int32_t pid)
{
	return sonde_process_cgroup(pid, proc->cgroup) ? proc->cgroup : "";
}

/* False if it is gone. */
static bool read_task(struct sonde_proc *proc, int32_t pid, int32_t tid,
		      struct sonde_statedump_task *ret_task)
{
	static const char *const names[SONDE_NR_NS] = {
		"pid", "mnt", "net", "user", "uts", "ipc", "cgroup",
	};
	struct sonde_statedump_task task = {
		.tid = tid,
		.vtid = tid,
		.pid = pid,
		.vpid = pid,
		.files = (uint64_t)pid,
	};

	if (sonde_textfile_read(proc->text, sizeof(proc->text),
				"/proc/%d/task/%d/stat", pid, tid) <= 0 ||
	    !sonde_text_stat(proc->text, &task))
		return false;
	/* What it doesn't tell, on old kernels, stays as it is. */
	if (sonde_textfile_read(proc->text, sizeof(proc->text),
				"/proc/%d/task/%d/status", pid, tid) > 0)
		(void)sonde_text_status(proc->text, &task);
	for (uint32_t i = 0; i < SONDE_NR_NS; i++)
		task.ns[i] = sonde_process_ns(tid, names[i]);
	*ret_task = task;
	return true;
}

int sonde_proc_tasks_of(struct sonde_proc *proc, int32_t pid,
			const struct sonde_statedump_target *target)
{
	const char *cgroup = sonde_proc_cgroup(proc, pid);
	DIR *dir = sonde_proc_dir(pid, "task");
	int rc = 0;

	if (!dir)
		return 0;
	for (;;) {
		struct sonde_statedump_task task;
		int32_t tid = sonde_proc_next(dir);

		if (tid < 0 || rc)
			break;
		if (!read_task(proc, pid, tid, &task))
			continue;
		task.cgroup = cgroup;
		rc = target->task(target->ctx, &task);
	}
	(void)closedir(dir); /* it was only read */
	return rc;
}

int sonde_proc_tasks(struct sonde_proc *proc, uint64_t deadline,
		     const struct sonde_statedump_target *target)
{
	DIR *dir = opendir("/proc");
	int rc = 0;

	if (!dir)
		return -errno;
	for (;;) {
		int32_t pid = sonde_proc_next(dir);

		if (pid < 0 || rc)
			break;
		if (sonde_monotonic_ns() > deadline)
			target->omit(target->ctx, 1);
		else
			rc = sonde_proc_tasks_of(proc, pid, target);
	}
	(void)closedir(dir); /* it was only read */
	return rc;
}

/* ---- sockets ---- */

struct socket_list {
	const char *name;
	bool is_v6;
	uint16_t protocol; /* 0: unix */
};

static int add_sockets(struct sonde_proc *proc, int32_t pid,
		       const struct socket_list *list,
		       const struct sonde_statedump_target *target)
{
	char *line;
	int rc;

	if (sonde_lines_open(&proc->lines, "/proc/%d/net/%s", pid, list->name))
		return 0;
	rc = 0;
	while (!rc && (line = sonde_lines_next(&proc->lines))) {
		struct sonde_statedump_socket socket;

		/* The first line is of titles. */
		if (!(list->protocol ?
			      sonde_text_inet(line, list->is_v6, &socket) :
			      sonde_text_unix(line, &socket)))
			continue;
		socket.protocol = list->protocol;
		rc = sonde_sockets_add(&proc->sockets, &socket);
		if (rc == -E2BIG) {
			target->omit(target->ctx, 1);
			rc = 0;
		}
	}
	sonde_lines_close(&proc->lines);
	return rc;
}

/* Makes the sockets known that the process can have: those of its network. */
static int learn_sockets(struct sonde_proc *proc, int32_t pid,
			 const struct sonde_statedump_target *target)
{
	static const struct socket_list lists[] = {
		{ "tcp", false, IPPROTO_TCP }, { "tcp6", true, IPPROTO_TCP },
		{ "udp", false, IPPROTO_UDP }, { "udp6", true, IPPROTO_UDP },
		{ "unix", false, 0 },
	};
	uint32_t net = sonde_process_ns(pid, "net");
	int rc = 0;

	for (uint32_t i = 0; i < proc->nr_nets; i++)
		if (proc->nets[i] == net)
			return 0;
	if (proc->nr_nets == NETS_MAX)
		return 0;
	proc->nets[proc->nr_nets++] = net;
	for (size_t i = 0; !rc && i < SONDE_ARRAY_SIZE(lists); i++)
		rc = add_sockets(proc, pid, &lists[i], target);
	return rc;
}

/* ---- files ---- */

static int add_file(struct sonde_proc *proc, int32_t pid, int32_t fd,
		    const struct sonde_statedump_target *target)
{
	struct sonde_statedump_file file = {
		.pid = pid,
		.fd = (uint32_t)fd,
		.files = (uint64_t)pid,
		.name = proc->link,
	};
	char text[SONDE_SOCKET_TEXT_MAX];
	const struct sonde_statedump_socket *socket;
	char path[48];
	uint64_t ino;
	ssize_t n;
	int rc;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	n = readlink(path, proc->link, sizeof(proc->link) - 1);
	if (n < 0 && errno == ENAMETOOLONG) {
		target->omit(target->ctx, 1);
		n = 0;
	}
	if (n < 0 ||
	    sonde_textfile_read(proc->text, sizeof(proc->text),
				"/proc/%d/fdinfo/%d", pid, fd) <= 0 ||
	    !sonde_text_fdinfo(proc->text, &file.flags))
		return 0;
	proc->link[n] = '\0';
	ino = sonde_proc_link_number(proc->link, "socket");
	if (ino) {
		rc = learn_sockets(proc, pid, target);
		if (rc)
			return rc;
		socket = sonde_sockets_find(&proc->sockets, ino);
		if (socket && sonde_socket_text(socket, text))
			file.name = text;
	}
	return target->file(target->ctx, &file);
}

static int files_of(struct sonde_proc *proc, int32_t pid,
		    const struct sonde_statedump_target *target)
{
	DIR *dir = sonde_proc_dir(pid, "fd");
	int rc = 0;

	if (!dir)
		return 0;
	for (;;) {
		int32_t fd = sonde_proc_next(dir);

		if (fd < 0 || rc)
			break;
		if ((uint32_t)fd >= SONDE_STATEDUMP_FD_MAX)
			target->omit(target->ctx, 1);
		else
			rc = add_file(proc, pid, fd, target);
	}
	(void)closedir(dir); /* it was only read */
	return rc;
}

int sonde_proc_files(struct sonde_proc *proc,
		     const struct sonde_statedump_wanted *wanted,
		     uint64_t deadline,
		     const struct sonde_statedump_target *target)
{
	int rc = 0;

	/* Sockets come and go: those of the dump before don't count. */
	sonde_sockets_fini(&proc->sockets);
	proc->nr_nets = 0;
	for (size_t i = 0; !rc && i < wanted->nr; i++) {
		if (sonde_monotonic_ns() > deadline)
			target->omit(target->ctx, 1);
		else
			rc = files_of(proc, wanted->pids[i], target);
	}
	return rc;
}

/* ---- mappings ---- */

static int mappings_of(struct sonde_proc *proc, int32_t pid,
		       const struct sonde_statedump_target *target)
{
	struct sonde_proc_mapping mapped;
	int rc = 0;

	if (sonde_proc_maps_open(&proc->lines, pid))
		return 0;
	while (!rc && sonde_proc_maps_next(&proc->lines, &mapped)) {
		struct sonde_statedump_mapping mapping;

		if (!sonde_text_mapping(&mapped, &mapping))
			continue;
		if (strlen(mapping.path) >= SONDE_STATEDUMP_PATH_MAX) {
			target->omit(target->ctx, 1);
			mapping.path = "";
		}
		mapping.pid = pid;
		rc = target->mapping(target->ctx, &mapping);
	}
	sonde_lines_close(&proc->lines);
	return rc;
}

int sonde_proc_mappings(struct sonde_proc *proc,
			const struct sonde_statedump_wanted *wanted,
			uint64_t deadline,
			const struct sonde_statedump_target *target)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < wanted->nr; i++) {
		if (sonde_monotonic_ns() > deadline)
			target->omit(target->ctx, 1);
		else
			rc = mappings_of(proc, wanted->pids[i], target);
	}
	return rc;
}
