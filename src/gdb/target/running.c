/* SPDX-License-Identifier: MIT */
/*
 * running.c - the target of GDB that is a running process, told as a stopped one
 * (running.h).
 *
 * Nothing here stops the process or changes its code: memory is read and
 * written through /proc/PID/mem, and what would need a stop is refused in
 * words. Commands are found in a table by the beginning of a packet, a longer
 * word before the one that it begins with.
 */
#include "gdb/target/running.h"

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
#include "gdb/target/running_parts.h"
#include "sys/proc.h"

static const char runs_text[] =
	"The process runs, and is not stopped: it can be traced (tstart), not "
	"stepped or continued.\n";

struct known {
	const char *word;
	sonde_gdb_running_answer *answer;
};

size_t sonde_gdb_running_peek(const struct sonde_gdb_running *running,
			      uint64_t address, void *to, size_t size)
{
	struct sonde_probes *probes = NULL;
	uint8_t *bytes = to;
	size_t done = 0;

	if (address > INT64_MAX || size > INT64_MAX - address)
		return 0;
	while (done < size) {
		ssize_t nr = pread(running->memory, bytes + done, size - done,
				   (off_t)(address + done));

		if (nr <= 0)
			break;
		done += (size_t)nr;
	}
	if (running->process && running->server)
		probes = sonde_gdb_server_probes(running->server);
	if (probes && done > 0)
		sonde_probes_hide(probes, address, bytes, done);
	return done;
}

/* m address,length */
static void answer_memory(struct sonde_gdb_running *running, const char *rest,
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
	nr = sonde_gdb_running_peek(running, address, bytes, length);
	if (nr == 0 && length > 0)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_hex(reply, bytes, nr);
}

/* Whether any of it is code: that would have to be changed in one piece. */
static bool running_has_code(const struct sonde_gdb_running *running,
			     uint64_t address, uint64_t length)
{
	struct sonde_maps mappings;
	bool is_code = false;

	if (sonde_process_mappings(running->pid, &mappings))
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
static void answer_write(struct sonde_gdb_running *running, const char *rest,
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
	if (running_has_code(running, address, length))
		sonde_gdb_reply_refuse(reply, "this is code, and it runs");
	else if (!running->can_write ||
		 pwrite(running->memory, bytes, length, (off_t)address) !=
			 (ssize_t)length)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_text(reply, "OK");
}

static void reply_stopped(const struct sonde_gdb_running *running, int signal,
			  struct sonde_gdb_reply *reply)
{
	sonde_gdb_reply_format(reply, "T%02xthread:p%x.%x;", signal,
			       running->pid, running->thread);
}

/* ? */
static void answer_why(struct sonde_gdb_running *running, const char *rest,
		       struct sonde_gdb_reply *reply)
{
	(void)rest;
	running->thread = running->pid;
	reply_stopped(running, SIGTRAP, reply);
}

/* c, s, C, S: GDB is told why not, and that it has stopped. */
static void answer_resume(struct sonde_gdb_running *running, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "O");
	sonde_gdb_reply_hex(reply, runs_text, sizeof(runs_text) - 1);
	if (running->server)
		sonde_gdb_server_send(running->server, reply);
	sonde_gdb_reply_clear(reply);
	reply_stopped(running, 0, reply);
}

static void answer_refuse(struct sonde_gdb_running *running, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	(void)running;
	(void)rest;
	sonde_gdb_reply_refuse(reply, "the process runs, and is not stopped");
}

static void answer_ok(struct sonde_gdb_running *running, const char *rest,
		      struct sonde_gdb_reply *reply)
{
	(void)running;
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
}

static void answer_attached(struct sonde_gdb_running *running, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	(void)running;
	(void)rest;
	sonde_gdb_reply_text(reply, "1");
}

static void answer_current(struct sonde_gdb_running *running, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	if (!*rest)
		sonde_gdb_reply_format(reply, "QCp%x.%x", running->pid,
				       running->thread);
}

static void end(struct sonde_gdb_running *running, enum sonde_gdb_end why)
{
	if (running->server)
		sonde_gdb_server_end(running->server, why);
}

/* D; also vKill: the process is the user's, not GDB's. */
static void answer_detach(struct sonde_gdb_running *running, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
	end(running, SONDE_GDB_END_DETACHED);
}

/* qRcmd,hex: 'monitor exit' ends the server. */
static void answer_monitor(struct sonde_gdb_running *running, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	static const char help[] = "monitor exit: end the server\n";
	char *command = sonde_hex_bytes(rest, NULL);

	if (command && !strcmp(command, "exit")) {
		sonde_gdb_reply_text(reply, "OK");
		end(running, SONDE_GDB_END_KILLED);
	} else {
		sonde_gdb_reply_hex(reply, help, sizeof(help) - 1);
	}
	free(command);
}

/* A word that begins another one comes after it. */
static const struct known all_known[] = {
	{ "?", answer_why },
	{ "g", sonde_gdb_running_registers },
	{ "p", sonde_gdb_running_register },
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
	{ "H", sonde_gdb_running_select },
	{ "T", sonde_gdb_running_is_alive },
	{ "qfThreadInfo", sonde_gdb_running_first_threads },
	{ "qsThreadInfo", sonde_gdb_running_next_threads },
	{ "qThreadExtraInfo,", sonde_gdb_running_thread_name },
	{ "qAttached", answer_attached },
	{ "qC", answer_current },
	{ "qSymbol:", answer_ok },
	{ "qRcmd,", answer_monitor },
	{ "qXfer:auxv:read::", sonde_gdb_running_auxv },
	{ "qXfer:exec-file:read:", sonde_gdb_running_exec_file },
	{ "qXfer:libraries-svr4:read:", sonde_gdb_running_libraries },
	{ "vFile:", sonde_gdb_running_file },
	{ "vKill;", answer_detach },
};

static bool running_packet(void *target, const char *packet, size_t length,
			   struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_running *running = target;

	if (strlen(packet) != length)
		return true;
	if (!strcmp(packet, "k")) {
		end(running, SONDE_GDB_END_KILLED);
		return false;
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all_known); i++) {
		size_t nr = strlen(all_known[i].word);

		if (!strncmp(packet, all_known[i].word, nr)) {
			all_known[i].answer(running, packet + nr, reply);
			break;
		}
	}
	return true;
}

static void running_interrupt(void *target)
{
	(void)target;
}

static int running_fd(void *target)
{
	struct sonde_gdb_running *running = target;

	return running->pidfd;
}

/* The process has ended. */
static void running_ready(void *target)
{
	struct sonde_gdb_running *running = target;

	(void)close(running->pidfd);
	running->pidfd = -1;
	if (running->server)
		sonde_gdb_server_process_ended(running->server);
}

static void running_features(void *target, struct sonde_gdb_reply *reply)
{
	(void)target;
	sonde_gdb_reply_text(reply, ";multiprocess+;qXfer:auxv:read+"
				    ";qXfer:exec-file:read+"
				    ";qXfer:libraries-svr4:read+");
}

static int running_read(void *target, uint64_t address, uint8_t *to,
			size_t size)
{
	return sonde_gdb_running_peek(target, address, to, size) == size ? 0 :
									   -EIO;
}

static struct sonde_process *running_process(void *target, char *error,
					     size_t error_size)
{
	struct sonde_gdb_running *running = target;
	struct sonde_process_error why = { "" };
	struct sonde_process *process;

	if (running->process)
		return running->process;
	if (sonde_process_open(running->pid, NULL, NULL, &why, &process)) {
		(void)snprintf(error, error_size, "%s", why.text);
		return NULL;
	}
	if (sonde_process_install(process, &why)) {
		(void)snprintf(error, error_size, "%s", why.text);
		sonde_process_close(process);
		return NULL;
	}
	running->process = process;
	return process;
}

static pid_t running_pid(void *target)
{
	struct sonde_gdb_running *running = target;

	return running->pid;
}

static void running_disconnected(void *target)
{
	sonde_gdb_running_close_files(target);
}

static void running_free(void *target)
{
	struct sonde_gdb_running *running = target;

	if (!running)
		return;
	if (running->process)
		sonde_process_close(running->process);
	if (running->pidfd >= 0)
		(void)close(running->pidfd);
	if (running->memory >= 0)
		(void)close(running->memory);
	free(running->libraries);
	free(running);
}

const struct sonde_gdb_target_ops sonde_gdb_running_ops = {
	.packet = running_packet,
	.interrupt = running_interrupt,
	.fd = running_fd,
	.ready = running_ready,
	.features = running_features,
	.read = running_read,
	.process = running_process,
	.pid = running_pid,
	.disconnected = running_disconnected,
	.free = running_free,
};

static int running_open_memory(struct sonde_gdb_running *running)
{
	running->memory = sonde_proc_memory(running->pid, O_RDWR);
	running->can_write = running->memory >= 0;
	if (running->memory < 0)
		running->memory = sonde_proc_memory(running->pid, O_RDONLY);
	return running->memory < 0 ? running->memory : 0;
}

int sonde_gdb_running_new(pid_t pid, char *error, size_t error_size,
			  struct sonde_gdb_running **ret_running)
{
	struct sonde_gdb_running *running = calloc(1, sizeof(*running));
	int rc;

	if (!running)
		return -ENOMEM;
	running->pid = pid;
	running->thread = pid;
	running->memory = -1;
	running->pidfd = sonde_proc_pidfd(pid);
	rc = running->pidfd < 0 ? running->pidfd : running_open_memory(running);
	if (rc) {
		(void)snprintf(
			error, error_size,
			rc == -ESRCH || rc == -EINVAL || rc == -ENOENT ?
				"there is no process %d" :
				"process %d can't be looked at: it is another "
				"user's, or ptrace is restricted (see "
				"/proc/sys/kernel/yama/ptrace_scope)",
			pid);
		running_free(running);
		return rc;
	}
	*ret_running = running;
	return 0;
}

void sonde_gdb_running_serve(struct sonde_gdb_running *running,
			     struct sonde_gdb_server *server)
{
	running->server = server;
}
