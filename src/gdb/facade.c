/* SPDX-License-Identifier: MIT */
/*
 * facade.c - the target of GDB that is a running process, told as a stopped one
 * (facade.h).
 *
 * Nothing here stops the process or changes its code: memory is read and
 * written through /proc/PID/mem, and what would need a stop is refused in
 * words. Commands are found in a table by the beginning of a packet, a longer
 * word before the one that it begins with.
 */
#include "gdb/facade.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/port.h"
#include "gdb/facade_parts.h"
#include "sys/proc.h"

static const char runs_text[] =
	"The process runs, and is not stopped: it can be traced (tstart), not "
	"stepped or continued.\n";

struct known {
	const char *word;
	sonde_gdb_facade_answer *answer;
};

size_t sonde_gdb_facade_peek(const struct sonde_gdb_facade *facade,
			     uint64_t address, void *to, size_t size)
{
	struct sonde_probes *probes = NULL;
	uint8_t *bytes = to;
	size_t done = 0;

	if (address > INT64_MAX || size > INT64_MAX - address)
		return 0;
	while (done < size) {
		ssize_t nr = pread(facade->memory, bytes + done, size - done,
				   (off_t)(address + done));

		if (nr <= 0)
			break;
		done += (size_t)nr;
	}
	if (facade->process && facade->server)
		probes = sonde_gdb_server_probes(facade->server);
	if (probes && done > 0)
		sonde_probes_hide(probes, address, bytes, done);
	return done;
}

/* m address,length */
static void answer_memory(struct sonde_gdb_facade *facade, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	uint8_t bytes[SONDE_GDB_PACKET_MAX / 2];
	uint64_t address;
	uint64_t length;
	size_t nr;

	if (!sonde_hex_take_pair(&rest, &address, ',', &length) || *rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (length > sizeof(bytes))
		length = sizeof(bytes);
	nr = sonde_gdb_facade_peek(facade, address, bytes, length);
	if (nr == 0 && length > 0)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_hex(reply, bytes, nr);
}

/* Whether any of it is code: that would have to be changed in one piece. */
static bool facade_has_code(const struct sonde_gdb_facade *facade,
			    uint64_t address, uint64_t length)
{
	struct sonde_maps mappings;
	bool is_code = false;

	if (sonde_process_mappings(facade->pid, &mappings))
		return true;
	for (size_t i = 0; i < mappings.nr; i++) {
		const struct sonde_mapping *m = &mappings.list[i];

		is_code |= m->executable && m->start < address + length &&
			   m->end > address;
	}
	sonde_maps_free(&mappings);
	return is_code;
}

/* M address,length:bytes */
static void answer_write(struct sonde_gdb_facade *facade, const char *rest,
			 struct sonde_gdb_reply *reply)
{
	uint8_t bytes[SONDE_GDB_PACKET_MAX / 2];
	uint64_t address;
	uint64_t length;

	if (!sonde_hex_take_pair(&rest, &address, ',', &length) ||
	    !sonde_hex_take(&rest, ':') || length > sizeof(bytes) ||
	    address > INT64_MAX - length ||
	    !sonde_hex_take_bytes(&rest, bytes, length) || *rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (facade_has_code(facade, address, length))
		sonde_gdb_reply_refuse(reply, "this is code, and it runs");
	else if (!facade->can_write ||
		 pwrite(facade->memory, bytes, length, (off_t)address) !=
			 (ssize_t)length)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_text(reply, "OK");
}

static void reply_stopped(const struct sonde_gdb_facade *facade, int signal,
			  struct sonde_gdb_reply *reply)
{
	sonde_gdb_reply_format(reply, "T%02xthread:p%x.%x;", signal,
			       facade->pid, facade->thread);
}

/* ? */
static void answer_why(struct sonde_gdb_facade *facade, const char *rest,
		       struct sonde_gdb_reply *reply)
{
	(void)rest;
	facade->thread = facade->pid;
	reply_stopped(facade, SIGTRAP, reply);
}

/* c, s, C, S: GDB is told why not, and that it has stopped. */
static void answer_resume(struct sonde_gdb_facade *facade, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "O");
	sonde_gdb_reply_hex(reply, runs_text, sizeof(runs_text) - 1);
	if (facade->server)
		sonde_gdb_server_send(facade->server, reply);
	sonde_gdb_reply_clear(reply);
	reply_stopped(facade, 0, reply);
}

static void answer_refuse(struct sonde_gdb_facade *facade, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	(void)facade;
	(void)rest;
	sonde_gdb_reply_refuse(reply, "the process runs, and is not stopped");
}

static void answer_ok(struct sonde_gdb_facade *facade, const char *rest,
		      struct sonde_gdb_reply *reply)
{
	(void)facade;
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
}

static void answer_attached(struct sonde_gdb_facade *facade, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	(void)facade;
	(void)rest;
	sonde_gdb_reply_text(reply, "1");
}

static void answer_current(struct sonde_gdb_facade *facade, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	if (!*rest)
		sonde_gdb_reply_format(reply, "QCp%x.%x", facade->pid,
				       facade->thread);
}

static void end(struct sonde_gdb_facade *facade, enum sonde_gdb_end why)
{
	if (facade->server)
		sonde_gdb_server_end(facade->server, why);
}

/* D; also vKill: the process is the user's, not GDB's. */
static void answer_detach(struct sonde_gdb_facade *facade, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
	end(facade, SONDE_GDB_END_DETACHED);
}

/* qRcmd,hex: 'monitor exit' ends the server. */
static void answer_monitor(struct sonde_gdb_facade *facade, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	static const char help[] = "monitor exit: end the server\n";
	char *command = sonde_hex_bytes(rest, NULL);

	if (command && !strcmp(command, "exit")) {
		sonde_gdb_reply_text(reply, "OK");
		end(facade, SONDE_GDB_END_KILLED);
	} else {
		sonde_gdb_reply_hex(reply, help, sizeof(help) - 1);
	}
	free(command);
}

/* A word that begins another one comes after it. */
static const struct known all_known[] = {
	{ "?", answer_why },
	{ "g", sonde_gdb_facade_registers },
	{ "p", sonde_gdb_facade_register },
	{ "m", answer_memory },
	{ "M", answer_write },
	{ "G", answer_refuse },
	{ "P", answer_refuse },
	{ "c", answer_resume },
	{ "s", answer_resume },
	{ "C", answer_resume },
	{ "S", answer_resume },
	{ "D", answer_detach },
	{ "Z", answer_refuse },
	{ "z", answer_ok },
	{ "H", sonde_gdb_facade_select },
	{ "T", sonde_gdb_facade_is_alive },
	{ "qfThreadInfo", sonde_gdb_facade_first_threads },
	{ "qsThreadInfo", sonde_gdb_facade_next_threads },
	{ "qThreadExtraInfo,", sonde_gdb_facade_thread_name },
	{ "qAttached", answer_attached },
	{ "qC", answer_current },
	{ "qSymbol:", answer_ok },
	{ "qRcmd,", answer_monitor },
	{ "qXfer:auxv:read::", sonde_gdb_facade_auxv },
	{ "qXfer:exec-file:read:", sonde_gdb_facade_exec_file },
	{ "qXfer:libraries-svr4:read:", sonde_gdb_facade_libraries },
	{ "vFile:", sonde_gdb_facade_file },
	{ "vKill;", answer_detach },
};

static bool facade_packet(void *target, const char *packet, size_t length,
			  struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_facade *facade = target;

	if (strlen(packet) != length)
		return true;
	if (!strcmp(packet, "k")) {
		end(facade, SONDE_GDB_END_KILLED);
		return false;
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all_known); i++) {
		size_t nr = strlen(all_known[i].word);

		if (!strncmp(packet, all_known[i].word, nr)) {
			all_known[i].answer(facade, packet + nr, reply);
			break;
		}
	}
	return true;
}

static void facade_interrupt(void *target)
{
	(void)target;
}

static int facade_fd(void *target)
{
	struct sonde_gdb_facade *facade = target;

	return facade->pidfd;
}

/* The process has ended. */
static void facade_ready(void *target)
{
	struct sonde_gdb_facade *facade = target;

	(void)close(facade->pidfd);
	facade->pidfd = -1;
	if (facade->server)
		sonde_gdb_server_process_ended(facade->server);
}

static void facade_features(void *target, struct sonde_gdb_reply *reply)
{
	(void)target;
	sonde_gdb_reply_text(reply, ";multiprocess+;qXfer:auxv:read+"
				    ";qXfer:exec-file:read+"
				    ";qXfer:libraries-svr4:read+");
}

static int facade_read(void *target, uint64_t address, uint8_t *to, size_t size)
{
	return sonde_gdb_facade_peek(target, address, to, size) == size ? 0 :
									  -EIO;
}

static struct sonde_process *facade_process(void *target, char *error,
					    size_t error_size)
{
	struct sonde_gdb_facade *facade = target;
	struct sonde_process_error why = { "" };
	struct sonde_process *process;

	if (facade->process)
		return facade->process;
	if (sonde_process_open(facade->pid, NULL, NULL, &why, &process)) {
		(void)snprintf(error, error_size, "%s", why.text);
		return NULL;
	}
	if (sonde_process_install(process, &why)) {
		(void)snprintf(error, error_size, "%s", why.text);
		sonde_process_close(process);
		return NULL;
	}
	facade->process = process;
	return process;
}

static pid_t facade_pid(void *target)
{
	struct sonde_gdb_facade *facade = target;

	return facade->pid;
}

static void facade_disconnected(void *target)
{
	sonde_gdb_facade_close_files(target);
}

static void facade_free(void *target)
{
	struct sonde_gdb_facade *facade = target;

	if (!facade)
		return;
	if (facade->process)
		sonde_process_close(facade->process);
	if (facade->pidfd >= 0)
		(void)close(facade->pidfd);
	if (facade->memory >= 0)
		(void)close(facade->memory);
	free(facade->libraries);
	free(facade);
}

const struct sonde_gdb_target_ops sonde_gdb_facade_ops = {
	.packet = facade_packet,
	.interrupt = facade_interrupt,
	.fd = facade_fd,
	.ready = facade_ready,
	.features = facade_features,
	.read = facade_read,
	.process = facade_process,
	.pid = facade_pid,
	.disconnected = facade_disconnected,
	.free = facade_free,
};

static int facade_open_memory(struct sonde_gdb_facade *facade)
{
	facade->memory = sonde_proc_memory(facade->pid, O_RDWR);
	facade->can_write = facade->memory >= 0;
	if (facade->memory < 0)
		facade->memory = sonde_proc_memory(facade->pid, O_RDONLY);
	return facade->memory < 0 ? facade->memory : 0;
}

int sonde_gdb_facade_new(pid_t pid, char *error, size_t error_size,
			 struct sonde_gdb_facade **ret_facade)
{
	struct sonde_gdb_facade *facade = calloc(1, sizeof(*facade));
	int rc;

	if (!facade)
		return -ENOMEM;
	facade->pid = pid;
	facade->thread = pid;
	facade->memory = -1;
	facade->pidfd = sonde_proc_pidfd(pid);
	rc = facade->pidfd < 0 ? facade->pidfd : facade_open_memory(facade);
	if (rc) {
		(void)snprintf(
			error, error_size,
			rc == -ESRCH || rc == -EINVAL || rc == -ENOENT ?
				"there is no process %d" :
				"process %d can't be looked at: it is another "
				"user's, or ptrace is restricted (see "
				"/proc/sys/kernel/yama/ptrace_scope)",
			pid);
		facade_free(facade);
		return rc;
	}
	*ret_facade = facade;
	return 0;
}

void sonde_gdb_facade_serve(struct sonde_gdb_facade *facade,
			    struct sonde_gdb_server *server)
{
	facade->server = server;
}
