/* SPDX-License-Identifier: MIT */
/*
 * gdbserver.c - a target under a stock gdbserver: what is passed, asked and hidden
 * (gdbserver.h).
 *
 * GDB's packets go through, but for memory that holds probes, registers,
 * breakpoints and stops, which the files beside this one answer. A packet for
 * gdbserver is sent only when its last answer has come, so answers need no
 * number.
 */
#include "gdb/target/gdbserver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/port.h"
#include "gdb/server_parts.h"
#include "gdb/target/gdbserver_parts.h"
#include "sys/proc.h"

/* ---- memory ---- */

/* As much as is there, from the start; -EIO if nothing is. */
static ssize_t
gdbserver_read_memory(const struct sonde_gdb_gdbserver *gdbserver,
		      uint64_t address, uint8_t *to, size_t size)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);
	ssize_t nr = -1;
	int fd = gdbserver->pid ? sonde_proc_memory(gdbserver->pid, O_RDONLY) :
				  -1;

	if (fd >= 0) {
		nr = pread(fd, to, size, (off_t)address);
		close(fd);
	}
	if (nr <= 0)
		return -EIO;
	if (probes)
		sonde_probes_hide(probes, address, to, (size_t)nr);
	return nr;
}

/* m: gdbserver's answer, as it hides its own breakpoints; without our probes,
 * that is. */
static void show_memory(struct sonde_gdb_gdbserver *gdbserver,
			const char *packet, size_t length,
			struct sonde_gdb_reply *reply)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);
	const char *at = packet + 1;
	uint64_t address;
	uint8_t *bytes;
	size_t nr;

	sonde_gdb_gdbserver_pass(gdbserver, packet, length, reply);
	if (!probes || !sonde_hex_take_number(&at, &address) ||
	    reply->length < 2 || reply->bytes[0] == 'E')
		return;
	bytes = (uint8_t *)sonde_hex_bytes(reply->bytes, &nr);
	if (!bytes)
		return;
	sonde_probes_hide(probes, address, bytes, nr);
	sonde_gdb_reply_clear(reply);
	sonde_gdb_reply_hex(reply, bytes, nr);
	free(bytes);
}

/* Whether a byte belongs to a probe: then it is hidden, whatever it is. */
static bool is_probed(const struct sonde_probes *probes, uint64_t address,
		      size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint8_t zero = 0;
		uint8_t ones = UINT8_MAX;

		sonde_probes_hide(probes, address + i, &zero, 1);
		sonde_probes_hide(probes, address + i, &ones, 1);
		if (zero == ones)
			return true;
	}
	return false;
}

/* M and X: what would overwrite a probe is refused. */
static void change_memory(struct sonde_gdb_gdbserver *gdbserver,
			  const char *packet, size_t length,
			  struct sonde_gdb_reply *reply)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);
	const char *at = packet + 1;
	uint64_t address;
	uint64_t nr;

	if (probes && sonde_hex_take_pair(&at, &address, ',', &nr) &&
	    nr <= SONDE_GDB_PACKET_MAX && is_probed(probes, address, nr)) {
		sonde_gdb_reply_refuse(reply, "a probe is there");
		return;
	}
	sonde_gdb_gdbserver_pass(gdbserver, packet, length, reply);
}

/* ---- packets ---- */

static bool begins(const char *packet, const char *word)
{
	return strncmp(packet, word, strlen(word)) == 0;
}

/* The process that a stop reply tells of; 0: none. */
static void gdbserver_learn_process(struct sonde_gdb_gdbserver *gdbserver,
				    const struct sonde_gdb_reply *reply)
{
	const char *at = strstr(reply->bytes, "thread:p");
	uint64_t pid;

	if (!at || reply->bytes[0] != 'T')
		return;
	at += strlen("thread:p");
	if (sonde_hex_take_number(&at, &pid) && pid != 0 && !gdbserver->pid)
		gdbserver->pid = (pid_t)pid;
}

/* Packets that a stop reply answers. */
static bool ask_stop(struct sonde_gdb_gdbserver *gdbserver, const char *packet,
		     size_t length, struct sonde_gdb_reply *reply)
{
	sonde_gdb_gdbserver_pass(gdbserver, packet, length, reply);
	gdbserver_learn_process(gdbserver, reply);
	if (reply->bytes[0] == 'T')
		sonde_gdb_gdbserver_tell_stop(gdbserver, reply);
	return true;
}

/* D, vKill: of the process, and not of a child that it forked. */
static bool is_for_process(const struct sonde_gdb_gdbserver *gdbserver,
			   const char *packet)
{
	const char *at = strchr(packet, ';');
	uint64_t pid;

	if (!at)
		return packet[0] == 'D';
	at++;
	return sonde_hex_take_number(&at, &pid) && (pid_t)pid == gdbserver->pid;
}

/* D, k, vKill, monitor exit: gdbserver's last ones for the process. */
static bool gdbserver_let_go(struct sonde_gdb_gdbserver *gdbserver,
			     const char *packet, size_t length,
			     struct sonde_gdb_reply *reply)
{
	enum sonde_gdb_end end = packet[0] == 'k' || packet[0] == 'q' ?
					 SONDE_GDB_END_KILLED :
					 SONDE_GDB_END_EXITED;

	sonde_gdb_server_forget(gdbserver->server);
	sonde_gdb_gdbserver_forget(gdbserver);
	if (end == SONDE_GDB_END_KILLED || !gdbserver->multi)
		sonde_gdb_server_end(gdbserver->server, end);
	if (packet[0] == 'k') {
		(void)sonde_gdb_connection_send(gdbserver->up, packet, length);
		return false;
	}
	sonde_gdb_gdbserver_pass(gdbserver, packet, length, reply);
	return true;
}

/* "vFile:pread:fd,count,offset": no more than our packets hold. Less than asked
 * for is an answer, too. */
static void pass_pread(struct sonde_gdb_gdbserver *gdbserver,
		       const char *packet, struct sonde_gdb_reply *reply)
{
	const char *at = packet + strlen("vFile:pread:");
	uint64_t fd;
	uint64_t count;
	enum {
		COUNT_MAX = SONDE_GDB_PACKET_MAX - 64
	};

	if (!sonde_hex_take_pair(&at, &fd, ',', &count)) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (count > COUNT_MAX)
		count = COUNT_MAX;
	(void)sonde_gdb_gdbserver_ask(gdbserver, "vFile:pread:%llx,%llx%s",
				      (unsigned long long)fd,
				      (unsigned long long)count, at);
	sonde_gdb_reply_bytes(reply, gdbserver->scratch.bytes,
			      gdbserver->scratch.length);
}

/* "monitor ...": what it prints comes in packets of its own, "O...". */
static void pass_command(struct sonde_gdb_gdbserver *gdbserver,
			 const char *packet, size_t length,
			 struct sonde_gdb_reply *reply)
{
	bool notification;

	sonde_gdb_gdbserver_pass(gdbserver, packet, length, reply);
	while (!gdbserver->gone && reply->bytes[0] == 'O' &&
	       reply->bytes[1] != 'K') {
		sonde_gdb_server_send(gdbserver->server, reply);
		if (sonde_gdb_connection_hear(gdbserver->up, true, reply,
					      &notification) != 1)
			gdbserver->gone = true;
	}
}

static bool other_packet(struct sonde_gdb_gdbserver *gdbserver,
			 const char *packet, size_t length,
			 struct sonde_gdb_reply *reply)
{
	if (begins(packet, "vStopped")) {
		sonde_gdb_gdbserver_next_stop(gdbserver, reply);
		return true;
	}
	if (begins(packet, "vFile:pread:")) {
		pass_pread(gdbserver, packet, reply);
		return true;
	}
	if (begins(packet, "vRun;") || begins(packet, "vAttach;") ||
	    packet[0] == '?')
		return ask_stop(gdbserver, packet, length, reply);
	if (packet[0] == 'k' || begins(packet, "qRcmd,65786974") ||
	    ((packet[0] == 'D' || begins(packet, "vKill;")) &&
	     is_for_process(gdbserver, packet)))
		return gdbserver_let_go(gdbserver, packet, length, reply);
	if (begins(packet, "qRcmd,")) {
		pass_command(gdbserver, packet, length, reply);
		return true;
	}
	sonde_gdb_gdbserver_pass(gdbserver, packet, length, reply);
	if (begins(packet, "Hg") && length < sizeof(gdbserver->general))
		snprintf(gdbserver->general, sizeof(gdbserver->general), "%s",
			 packet);
	if (begins(packet, "QNonStop:"))
		gdbserver->non_stop = packet[strlen("QNonStop:")] == '1';
	return true;
}

static bool answer(void *target, const char *packet, size_t length,
		   struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_gdbserver *gdbserver = target;

	switch (packet[0]) {
	case 'g':
	case 'G':
		sonde_gdb_gdbserver_registers(gdbserver, packet, reply);
		return true;
	case 'p':
	case 'P':
		return true; /* not supported; so GDB uses g and G */
	case 'm':
		show_memory(gdbserver, packet, length, reply);
		return true;
	case 'M':
	case 'X':
		change_memory(gdbserver, packet, length, reply);
		return true;
	case 'Z':
	case 'z':
		if (packet[1] == '0') {
			sonde_gdb_gdbserver_break(gdbserver, packet, length,
						  reply);
			return true;
		}
		break;
	default:
		if (begins(packet, "vCont;") ||
		    (packet[0] && strchr("cCsS", packet[0])))
			return sonde_gdb_gdbserver_resume(gdbserver, packet,
							  length, reply);
		break;
	}
	return other_packet(gdbserver, packet, length, reply);
}

/* ---- the rest of the target's operations ---- */

static void interrupt(void *target)
{
	struct sonde_gdb_gdbserver *gdbserver = target;

	(void)sonde_gdb_connection_interrupt(gdbserver->up);
}

static int get_fd(void *target)
{
	struct sonde_gdb_gdbserver *gdbserver = target;

	return gdbserver->gone ? -1 : sonde_gdb_connection_fd(gdbserver->up);
}

static void ready(void *target)
{
	sonde_gdb_gdbserver_hear(target);
}

/* Those of gdbserver's features that the gdbserver passes on. */
static void add_features(void *target, struct sonde_gdb_reply *reply)
{
	static const char *const wanted[] = {
		"QPassSignals+",
		"QProgramSignals+",
		"QStartupWithShell+",
		"QEnvironmentHexEncoded+",
		"QEnvironmentReset+",
		"QEnvironmentUnset+",
		"QSetWorkingDir+",
		"QCatchSyscalls+",
		"qXfer:libraries-svr4:read+",
		"augmented-libraries-svr4-read+",
		"qXfer:auxv:read+",
		"qXfer:siginfo:read+",
		"qXfer:siginfo:write+",
		"qXfer:osdata:read+",
		"multiprocess+",
		"fork-events+",
		"vfork-events+",
		"exec-events+",
		"QNonStop+",
		"QDisableRandomization+",
		"qXfer:threads:read+",
		"ConditionalBreakpoints+",
		"BreakpointCommands+",
		"swbreak+",
		"hwbreak+",
		"qXfer:exec-file:read+",
		"vContSupported+",
		"QThreadEvents+",
		"no-resumed+",
	};
	struct sonde_gdb_gdbserver *gdbserver = target;
	const char *theirs = sonde_gdb_connection_features(gdbserver->up);

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(wanted); i++) {
		const char *found = strstr(theirs, wanted[i]);
		size_t length = strlen(wanted[i]);

		if (found && (found == theirs || found[-1] == ';') &&
		    (found[length] == ';' || found[length] == '\0'))
			sonde_gdb_reply_format(reply, ";%s", wanted[i]);
	}
}

static int read_for_server(void *target, uint64_t address, uint8_t *to,
			   size_t size)
{
	ssize_t nr = gdbserver_read_memory(target, address, to, size);

	return nr == (ssize_t)size ? 0 : -EIO;
}

static struct sonde_process *get_process(void *target, char *error,
					 size_t error_size)
{
	struct sonde_gdb_gdbserver *gdbserver = target;
	struct sonde_gdb_loan loan = { .gdbserver = gdbserver };
	struct sonde_process_error why = { "" };
	int rc;

	if (gdbserver->process)
		return gdbserver->process;
	if (!gdbserver->pid || gdbserver->gone || gdbserver->running) {
		snprintf(error, error_size,
			 gdbserver->running ? "the program is running" :
					      "there is no program");
		return NULL;
	}
	rc = sonde_gdb_gdbserver_lend(gdbserver, &loan);
	if (rc == 0) {
		snprintf(why.text, sizeof(why.text),
			 "the program can't be "
			 "opened");
		rc = sonde_process_open(gdbserver->pid,
					&sonde_gdb_gdbserver_borrow, &loan,
					&why, &gdbserver->process);
		sonde_gdb_gdbserver_give_back(gdbserver);
	}
	if (rc == 0)
		rc = sonde_process_install(gdbserver->process, &why);
	if (rc != 0) {
		snprintf(error, error_size, "%s", why.text);
		sonde_process_close(gdbserver->process);
		gdbserver->process = NULL;
	}
	if (gdbserver->process)
		sonde_store_relaxed(
			&sonde_process_agent(gdbserver->process)->is_driven, 1);
	return gdbserver->process;
}

static pid_t get_pid(void *target)
{
	struct sonde_gdb_gdbserver *gdbserver = target;

	return gdbserver->pid;
}

static void patching(void *target, bool begins_now)
{
	sonde_gdb_gdbserver_lift_breaks(target, begins_now);
}

/* GDB is away. What is stopped stays so, as with gdbserver. */
static void disconnected(void *target)
{
	struct sonde_gdb_gdbserver *gdbserver = target;

	gdbserver->notified = false;
}

static void free_gdbserver(void *target)
{
	struct sonde_gdb_gdbserver *gdbserver = target;

	sonde_gdb_gdbserver_forget(gdbserver);
	sonde_gdb_connection_free(gdbserver->up);
	free(gdbserver);
}

const struct sonde_gdb_target_ops sonde_gdb_gdbserver_ops = {
	.packet = answer,
	.interrupt = interrupt,
	.fd = get_fd,
	.ready = ready,
	.features = add_features,
	.read = read_for_server,
	.process = get_process,
	.pid = get_pid,
	.patching = patching,
	.disconnected = disconnected,
	.free = free_gdbserver,
};

int sonde_gdb_gdbserver_new(const struct sonde_gdb_connection_config *config,
			    char *error, size_t error_size,
			    struct sonde_gdb_gdbserver **ret_gdbserver)
{
	struct sonde_gdb_gdbserver *gdbserver = calloc(1, sizeof(*gdbserver));
	int rc;

	if (!gdbserver) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	gdbserver->multi = config->multi;
	rc = sonde_gdb_connection_start(config, error, error_size,
					&gdbserver->up);
	if (rc == 0 && !config->multi) {
		rc = sonde_gdb_gdbserver_ask(gdbserver, "?");
		gdbserver_learn_process(gdbserver, &gdbserver->scratch);
		if (rc != 0)
			snprintf(error, error_size, "gdbserver has ended");
	}
	if (rc != 0) {
		sonde_gdb_connection_free(gdbserver->up);
		free(gdbserver);
		return rc;
	}
	*ret_gdbserver = gdbserver;
	return 0;
}

void sonde_gdb_gdbserver_serve(struct sonde_gdb_gdbserver *gdbserver,
			       struct sonde_gdb_server *server)
{
	gdbserver->server = server;
}
