/* SPDX-License-Identifier: MIT */
/*
 * gdbserver_ask.c - what the gdbserver asks gdbserver itself: a packet, a thread's run
 * up to its next stop.
 *
 * A packet is sent only when the last answer has come, so answers need no
 * number. In non-stop mode stops of other threads that come meanwhile queue for
 * GDB. Nothing here decides what a stop means (gdbserver_stops.c).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "gdb/server_parts.h"
#include "gdb/target/gdbserver_parts.h"

void sonde_gdb_gdbserver_pass(struct sonde_gdb_gdbserver *gdbserver,
			      const char *packet, size_t length,
			      struct sonde_gdb_reply *reply)
{
	if (!gdbserver->gone &&
	    sonde_gdb_connection_ask(gdbserver->up, packet, length, reply) != 0)
		gdbserver->gone = true;
	if (gdbserver->gone)
		sonde_gdb_reply_error(reply, 1);
}

int sonde_gdb_gdbserver_ask(struct sonde_gdb_gdbserver *gdbserver,
			    const char *format, ...)
{
	struct sonde_gdb_reply *reply = &gdbserver->scratch;
	char packet[1024];
	va_list args;
	int nr;

	va_start(args, format);
	nr = vsnprintf(packet, sizeof(packet), format, args);
	va_end(args);
	if (nr < 0 || (size_t)nr >= sizeof(packet))
		return -EIO;
	sonde_gdb_gdbserver_pass(gdbserver, packet, (size_t)nr, reply);
	if (gdbserver->gone)
		return -EPIPE;
	return reply->bytes[0] == 'E' && reply->length == 3 ? -EIO : 0;
}

const struct sonde_probes *
sonde_gdb_gdbserver_probes(const struct sonde_gdb_gdbserver *gdbserver)
{
	return gdbserver->server ? gdbserver->server->probes : NULL;
}

uint64_t
sonde_gdb_gdbserver_shown_pc(const struct sonde_gdb_gdbserver *gdbserver,
			     uint64_t pc)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);

	return probes ? sonde_probes_site_of(probes, pc) : pc;
}

/* A register's value, in memory's order of bytes. */
static bool read_pc(const char *digits, uint64_t *ret_pc)
{
	uint8_t bytes[sizeof(*ret_pc)];

	if (!sonde_hex_take_bytes(&digits, bytes, sizeof(bytes)))
		return false;
	memcpy(ret_pc, bytes, sizeof(bytes));
	return true;
}

bool sonde_gdb_gdbserver_parse_stop(const char *text,
				    struct sonde_gdb_stop_reply *ret_stop)
{
	const char *thread = strstr(text, "thread:");
	const char *pc = strstr(text, ";10:");
	uint8_t signal;
	const char *at = text + 1;
	size_t length;

	memset(ret_stop, 0, sizeof(*ret_stop));
	if (text[0] != 'T' || !thread || !sonde_hex_take_bytes(&at, &signal, 1))
		return false;
	thread += strlen("thread:");
	length = strcspn(thread, ";");
	if (length >= sizeof(ret_stop->thread))
		return false;
	memcpy(ret_stop->thread, thread, length);
	ret_stop->signal = signal;
	if (pc && read_pc(pc + strlen(";10:"), &ret_stop->pc)) {
		ret_stop->has_pc = true;
		ret_stop->pc_at = (size_t)(pc + strlen(";10:") - text);
	}
	return true;
}

void sonde_gdb_gdbserver_enqueue(struct sonde_gdb_gdbserver *gdbserver,
				 const char *text)
{
	size_t size = strlen(text) + 1;
	struct sonde_gdb_untold **last = &gdbserver->untold;
	struct sonde_gdb_untold *new = malloc(sizeof(*new) + size);

	if (!new)
		return;
	new->next = NULL;
	memcpy(new->text, text, size);
	while (*last)
		last = &(*last)->next;
	*last = new;
}

/* In non-stop mode: the stop of that thread; others' wait for GDB. */
static int await_notified(struct sonde_gdb_gdbserver *gdbserver,
			  const char *thread)
{
	struct sonde_gdb_reply *reply = &gdbserver->scratch;
	char *found = NULL;

	while (!found) {
		const char *text;
		bool notification;
		struct sonde_gdb_stop_reply stop;

		if (sonde_gdb_connection_hear(gdbserver->up, true, reply,
					      &notification) != 1)
			goto gone;
		text = reply->bytes + strcspn(reply->bytes, ":") + 1;
		while (notification && strcmp(reply->bytes, "OK") != 0) {
			if (!found &&
			    sonde_gdb_gdbserver_parse_stop(text, &stop) &&
			    strcmp(stop.thread, thread) == 0)
				found = strdup(text);
			else
				sonde_gdb_gdbserver_enqueue(gdbserver, text);
			if (sonde_gdb_gdbserver_ask(gdbserver, "vStopped") ==
			    -EPIPE)
				goto gone;
			text = reply->bytes;
		}
	}
	sonde_gdb_reply_clear(reply);
	sonde_gdb_reply_text(reply, found);
	free(found);
	return 0;
gone:
	free(found);
	return -EPIPE;
}

int sonde_gdb_gdbserver_run_thread(struct sonde_gdb_gdbserver *gdbserver,
				   const char *thread, const char *how)
{
	char packet[64 + SONDE_GDB_THREAD_BYTES];
	int nr = snprintf(packet, sizeof(packet), "vCont;%s:%s", how, thread);
	bool notification;

	if (gdbserver->non_stop) {
		int rc = sonde_gdb_gdbserver_ask(gdbserver, "%s", packet);

		return rc == 0 ? await_notified(gdbserver, thread) : rc;
	}
	if (sonde_gdb_connection_send(gdbserver->up, packet, (size_t)nr) != 0)
		return -EPIPE;
	do
		if (sonde_gdb_connection_hear(gdbserver->up, true,
					      &gdbserver->scratch,
					      &notification) != 1)
			return -EPIPE;
	while (notification);
	return 0;
}
