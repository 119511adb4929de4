/* SPDX-License-Identifier: MIT */
/*
 * proxy.c - a target under a stock gdbserver: what is passed, asked and hidden
 * (proxy.h).
 *
 * GDB's packets go through, but for memory that holds probes, registers,
 * breakpoints and stops, which the files beside this one answer. A packet for
 * gdbserver is sent only when its last answer has come, so answers need no
 * number.
 */
#include "gdb/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/port.h"
#include "gdb/proxy_parts.h"
#include "gdb/server_parts.h"
#include "sys/proc.h"

/* ---- memory ---- */

/* As much as is there, from the start; -EIO if nothing is. */
static ssize_t proxy_read_memory(const struct sonde_gdb_proxy *proxy,
				 uint64_t address, uint8_t *to, size_t size)
{
	const struct sonde_probes *probes = sonde_gdb_proxy_probes(proxy);
	ssize_t nr = -1;
	int fd = proxy->pid ? sonde_proc_memory(proxy->pid, O_RDONLY) : -1;

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
static void show_memory(struct sonde_gdb_proxy *proxy, const char *packet,
			size_t length, struct sonde_gdb_reply *reply)
{
	const struct sonde_probes *probes = sonde_gdb_proxy_probes(proxy);
	const char *at = packet + 1;
	uint64_t address;
	uint8_t *bytes;
	size_t nr;

	sonde_gdb_proxy_pass(proxy, packet, length, reply);
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
static void change_memory(struct sonde_gdb_proxy *proxy, const char *packet,
			  size_t length, struct sonde_gdb_reply *reply)
{
	const struct sonde_probes *probes = sonde_gdb_proxy_probes(proxy);
	const char *at = packet + 1;
	uint64_t address;
	uint64_t nr;

	if (probes && sonde_hex_take_pair(&at, &address, ',', &nr) &&
	    nr <= SONDE_GDB_PACKET_MAX && is_probed(probes, address, nr)) {
		sonde_gdb_reply_refuse(reply, "a probe is there");
		return;
	}
	sonde_gdb_proxy_pass(proxy, packet, length, reply);
}

/* ---- packets ---- */

static bool begins(const char *packet, const char *word)
{
	return strncmp(packet, word, strlen(word)) == 0;
}

/* The process that a stop reply tells of; 0: none. */
static void proxy_learn_process(struct sonde_gdb_proxy *proxy,
				const struct sonde_gdb_reply *reply)
{
	const char *at = strstr(reply->bytes, "thread:p");
	uint64_t pid;

	if (!at || reply->bytes[0] != 'T')
		return;
	at += strlen("thread:p");
	if (sonde_hex_take_number(&at, &pid) && pid != 0 && !proxy->pid)
		proxy->pid = (pid_t)pid;
}

/* Packets that a stop reply answers. */
static bool ask_stop(struct sonde_gdb_proxy *proxy, const char *packet,
		     size_t length, struct sonde_gdb_reply *reply)
{
	sonde_gdb_proxy_pass(proxy, packet, length, reply);
	proxy_learn_process(proxy, reply);
	if (reply->bytes[0] == 'T')
		sonde_gdb_proxy_tell_stop(proxy, reply);
	return true;
}

/* D, vKill: of the process, and not of a child that it forked. */
static bool is_for_process(const struct sonde_gdb_proxy *proxy,
			   const char *packet)
{
	const char *at = strchr(packet, ';');
	uint64_t pid;

	if (!at)
		return packet[0] == 'D';
	at++;
	return sonde_hex_take_number(&at, &pid) && (pid_t)pid == proxy->pid;
}

/* D, k, vKill, monitor exit: gdbserver's last ones for the process. */
static bool proxy_let_go(struct sonde_gdb_proxy *proxy, const char *packet,
			 size_t length, struct sonde_gdb_reply *reply)
{
	enum sonde_gdb_end end = packet[0] == 'k' || packet[0] == 'q' ?
					 SONDE_GDB_END_KILLED :
					 SONDE_GDB_END_EXITED;

	sonde_gdb_server_forget(proxy->server);
	sonde_gdb_proxy_forget(proxy);
	if (end == SONDE_GDB_END_KILLED || !proxy->multi)
		sonde_gdb_server_end(proxy->server, end);
	if (packet[0] == 'k') {
		(void)sonde_gdb_upstream_send(proxy->up, packet, length);
		return false;
	}
	sonde_gdb_proxy_pass(proxy, packet, length, reply);
	return true;
}

/* "vFile:pread:fd,count,offset": no more than our packets hold. Less than asked
 * for is an answer, too. */
static void pass_pread(struct sonde_gdb_proxy *proxy, const char *packet,
		       struct sonde_gdb_reply *reply)
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
	(void)sonde_gdb_proxy_ask(proxy, "vFile:pread:%llx,%llx%s",
				  (unsigned long long)fd,
				  (unsigned long long)count, at);
	sonde_gdb_reply_bytes(reply, proxy->scratch.bytes,
			      proxy->scratch.length);
}

/* "monitor ...": what it prints comes in packets of its own, "O...". */
static void pass_command(struct sonde_gdb_proxy *proxy, const char *packet,
			 size_t length, struct sonde_gdb_reply *reply)
{
	bool notification;

	sonde_gdb_proxy_pass(proxy, packet, length, reply);
	while (!proxy->gone && reply->bytes[0] == 'O' &&
	       reply->bytes[1] != 'K') {
		sonde_gdb_server_send(proxy->server, reply);
		if (sonde_gdb_upstream_hear(proxy->up, true, reply,
					    &notification) != 1)
			proxy->gone = true;
	}
}

static bool other_packet(struct sonde_gdb_proxy *proxy, const char *packet,
			 size_t length, struct sonde_gdb_reply *reply)
{
	if (begins(packet, "vStopped")) {
		sonde_gdb_proxy_next_stop(proxy, reply);
		return true;
	}
	if (begins(packet, "vFile:pread:")) {
		pass_pread(proxy, packet, reply);
		return true;
	}
	if (begins(packet, "vRun;") || begins(packet, "vAttach;") ||
	    packet[0] == '?')
		return ask_stop(proxy, packet, length, reply);
	if (packet[0] == 'k' || begins(packet, "qRcmd,65786974") ||
	    ((packet[0] == 'D' || begins(packet, "vKill;")) &&
	     is_for_process(proxy, packet)))
		return proxy_let_go(proxy, packet, length, reply);
	if (begins(packet, "qRcmd,")) {
		pass_command(proxy, packet, length, reply);
		return true;
	}
	sonde_gdb_proxy_pass(proxy, packet, length, reply);
	if (begins(packet, "Hg") && length < sizeof(proxy->general))
		snprintf(proxy->general, sizeof(proxy->general), "%s", packet);
	if (begins(packet, "QNonStop:"))
		proxy->non_stop = packet[strlen("QNonStop:")] == '1';
	return true;
}

static bool answer(void *target, const char *packet, size_t length,
		   struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_proxy *proxy = target;

	switch (packet[0]) {
	case 'g':
	case 'G':
		sonde_gdb_proxy_registers(proxy, packet, reply);
		return true;
	case 'p':
	case 'P':
		return true; /* not supported; so GDB uses g and G */
	case 'm':
		show_memory(proxy, packet, length, reply);
		return true;
	case 'M':
	case 'X':
		change_memory(proxy, packet, length, reply);
		return true;
	case 'Z':
	case 'z':
		if (packet[1] == '0') {
			sonde_gdb_proxy_break(proxy, packet, length, reply);
			return true;
		}
		break;
	default:
		if (begins(packet, "vCont;") ||
		    (packet[0] && strchr("cCsS", packet[0])))
			return sonde_gdb_proxy_resume(proxy, packet, length,
						      reply);
		break;
	}
	return other_packet(proxy, packet, length, reply);
}

/* ---- the rest of the target's operations ---- */

static void interrupt(void *target)
{
	struct sonde_gdb_proxy *proxy = target;

	(void)sonde_gdb_upstream_interrupt(proxy->up);
}

static int get_fd(void *target)
{
	struct sonde_gdb_proxy *proxy = target;

	return proxy->gone ? -1 : sonde_gdb_upstream_fd(proxy->up);
}

static void ready(void *target)
{
	sonde_gdb_proxy_hear(target);
}

/* Those of gdbserver's features that the proxy passes on. */
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
	struct sonde_gdb_proxy *proxy = target;
	const char *theirs = sonde_gdb_upstream_features(proxy->up);

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
	ssize_t nr = proxy_read_memory(target, address, to, size);

	return nr == (ssize_t)size ? 0 : -EIO;
}

static struct sonde_process *get_process(void *target, char *error,
					 size_t error_size)
{
	struct sonde_gdb_proxy *proxy = target;
	struct sonde_gdb_loan loan = { .proxy = proxy };
	struct sonde_process_error why = { "" };
	int rc;

	if (proxy->process)
		return proxy->process;
	if (!proxy->pid || proxy->gone || proxy->running) {
		snprintf(error, error_size,
			 proxy->running ? "the program is running" :
					  "there is no program");
		return NULL;
	}
	rc = sonde_gdb_proxy_lend(proxy, &loan);
	if (rc == 0) {
		snprintf(why.text, sizeof(why.text),
			 "the program can't be "
			 "opened");
		rc = sonde_process_open(proxy->pid, &sonde_gdb_proxy_borrow,
					&loan, &why, &proxy->process);
		sonde_gdb_proxy_give_back(proxy);
	}
	if (rc == 0)
		rc = sonde_process_install(proxy->process, &why);
	if (rc != 0) {
		snprintf(error, error_size, "%s", why.text);
		sonde_process_close(proxy->process);
		proxy->process = NULL;
	}
	if (proxy->process)
		sonde_store_relaxed(
			&sonde_process_agent(proxy->process)->is_driven, 1);
	return proxy->process;
}

static pid_t get_pid(void *target)
{
	struct sonde_gdb_proxy *proxy = target;

	return proxy->pid;
}

static void patching(void *target, bool begins_now)
{
	sonde_gdb_proxy_lift_breaks(target, begins_now);
}

/* GDB is away. What is stopped stays so, as with gdbserver. */
static void disconnected(void *target)
{
	struct sonde_gdb_proxy *proxy = target;

	proxy->notified = false;
}

static void free_proxy(void *target)
{
	struct sonde_gdb_proxy *proxy = target;

	sonde_gdb_proxy_forget(proxy);
	sonde_gdb_upstream_free(proxy->up);
	free(proxy);
}

const struct sonde_gdb_target_ops sonde_gdb_proxy_ops = {
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
	.free = free_proxy,
};

int sonde_gdb_proxy_new(const struct sonde_gdb_upstream_config *config,
			char *error, size_t error_size,
			struct sonde_gdb_proxy **ret_proxy)
{
	struct sonde_gdb_proxy *proxy = calloc(1, sizeof(*proxy));
	int rc;

	if (!proxy) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	proxy->multi = config->multi;
	rc = sonde_gdb_upstream_start(config, error, error_size, &proxy->up);
	if (rc == 0 && !config->multi) {
		rc = sonde_gdb_proxy_ask(proxy, "?");
		proxy_learn_process(proxy, &proxy->scratch);
		if (rc != 0)
			snprintf(error, error_size, "gdbserver has ended");
	}
	if (rc != 0) {
		sonde_gdb_upstream_free(proxy->up);
		free(proxy);
		return rc;
	}
	*ret_proxy = proxy;
	return 0;
}

void sonde_gdb_proxy_serve(struct sonde_gdb_proxy *proxy,
			   struct sonde_gdb_server *server)
{
	proxy->server = server;
}
