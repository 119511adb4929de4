/* SPDX-License-Identifier: MIT */
/*
 * markers.c - packets about markers that the program, or the kernel, has compiled
 * in: qTfSTM, qTsSTM, qTSTMat.
 *
 * Markers are looked up when GDB begins to ask, and told in answers of a
 * bounded size, `told` of them so far; an address is searched in all of them.
 *
 * GDB begins anew with each `strace -m`. A process may have got a library since,
 * which is as dear to find out as its markers are to read. The kernel's, a tenth
 * of a second of reading, stay until a module comes or goes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "gdb/server_parts.h"
#include "sys/kmodules.h"

/* Bytes of one answer; markers that are left come with the next. */
#define ANSWER_BYTES (SONDE_GDB_PACKET_MAX / 2)
/* Bytes of the text that is shown beside a marker. */
#define EXTRA_BYTES 1024u

static void drop_markers(struct sonde_gdb_server *server)
{
	if (server->has_markers)
		sonde_probe_markers_free(&server->markers);
	server->has_markers = false;
}

static void find_markers_of_kernel(struct sonde_gdb_server *server)
{
	/* Before they are read: a module that comes meanwhile is seen later. */
	uint64_t stamp = sonde_kmodules_stamp(SONDE_KMODULES_PATH);
	char error[256];

	if (server->has_markers && stamp && stamp == server->markers_stamp)
		return;
	drop_markers(server);
	server->markers_stamp = stamp;
	if (sonde_probe_markers_of_kernel(&server->markers, error,
					  sizeof(error)))
		(void)fprintf(stderr, "sonde: %s\n", error);
	else
		server->has_markers = true;
}

static bool need_markers(struct sonde_gdb_server *server)
{
	pid_t pid = server->config.ops->pid(server->config.target);

	if (!server->config.ops->process) {
		find_markers_of_kernel(server);
		return server->has_markers;
	}
	drop_markers(server);
	if (pid > 0 && !sonde_probe_markers_find(pid, &server->markers))
		server->has_markers = true;
	return server->has_markers;
}

static void tell(struct sonde_gdb_reply *reply,
		 const struct sonde_probe_marker *marker)
{
	sonde_gdb_reply_text(reply, reply->length == 0 ? "m" : ",");
	sonde_gdb_reply_format(reply, "%" PRIx64 ":", marker->address);
	sonde_gdb_reply_hex(reply, marker->id,
			    strnlen(marker->id, EXTRA_BYTES));
	sonde_gdb_reply_text(reply, ":");
	sonde_gdb_reply_hex(reply, marker->extra,
			    strnlen(marker->extra, EXTRA_BYTES));
}

/* qTsSTM */
void sonde_gdb_answer_next_marker(struct sonde_gdb_server *server,
				  const char *rest,
				  struct sonde_gdb_reply *reply)
{
	(void)rest;
	while (server->has_markers && server->told < server->markers.nr &&
	       reply->length < ANSWER_BYTES)
		tell(reply, &server->markers.list[server->told++]);
	if (reply->length == 0)
		sonde_gdb_reply_text(reply, "l");
}

/* qTfSTM */
void sonde_gdb_answer_first_marker(struct sonde_gdb_server *server,
				   const char *rest,
				   struct sonde_gdb_reply *reply)
{
	(void)need_markers(server);
	server->told = 0;
	sonde_gdb_answer_next_marker(server, rest, reply);
}

/* qTSTMat:address */
void sonde_gdb_answer_marker_at(struct sonde_gdb_server *server,
				const char *rest, struct sonde_gdb_reply *reply)
{
	const struct sonde_probe_marker *marker = NULL;
	uint64_t address;

	if (!sonde_hex_take_number(&rest, &address) || *rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (!server->has_markers)
		(void)need_markers(server);
	if (server->has_markers)
		marker = sonde_probe_marker_at(&server->markers, address);
	if (marker)
		tell(reply, marker);
	else
		sonde_gdb_reply_text(reply, "l");
}
