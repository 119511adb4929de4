/* SPDX-License-Identifier: MIT */
/*
 * query.c - packets by which GDB asks what this server can do.
 *
 * What is said to be supported is what the other files answer; the target adds
 * its own. None of it changes a run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "gdb/registers.h"
#include "gdb/server_parts.h"

void sonde_gdb_answer_supported(struct sonde_gdb_server *server,
				const char *rest, struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_format(reply, "PacketSize=%x", SONDE_GDB_PACKET_MAX);
	sonde_gdb_reply_text(
		reply,
		";QStartNoAckMode+;qXfer:features:read+;ConditionalTracepoints+;TracepointSource+"
		";FastTracepoints+;StaticTracepoints+"
		";EnableDisableTracepoints+;DisconnectedTracing+;tracenz+"
		";QTBuffer:size+;qXfer:statictrace:read+"
		";qXfer:traceframe-info:read+");
	/* All tracepoints of the kernel go in at the start. */
	if (server->config.ops->process)
		sonde_gdb_reply_text(reply, ";InstallInTrace+");
	server->config.ops->features(server->config.target, reply);
}

/* qXfer:features:read:target.xml: */
void sonde_gdb_answer_features(struct sonde_gdb_server *server,
			       const char *rest, struct sonde_gdb_reply *reply)
{
	const char *text = sonde_gdb_target_xml();

	(void)server;
	sonde_gdb_reply_part(reply, rest, text, strlen(text));
}

/* "QSondeName:hex": what events of the tracepoints that follow, until GDB
 * disconnects, are called. */
void sonde_gdb_answer_sonde_name(struct sonde_gdb_server *server,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	char *name = sonde_hex_bytes(rest, NULL);

	if (!name || !*name || strlen(name) > 200) {
		free(name);
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	free(server->next_name);
	server->next_name = name;
	sonde_gdb_reply_text(reply, "OK");
}

/* qSondeTrace: the directory of the last run's trace */
void sonde_gdb_answer_trace(struct sonde_gdb_server *server, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	const char *directory =
		server->run ? sonde_probe_run_directory(server->run) : NULL;
	char *path = directory ? realpath(directory, NULL) : NULL;

	if (!*rest && path)
		sonde_gdb_reply_hex(reply, path, strlen(path));
	else
		sonde_gdb_reply_error(reply, 1);
	free(path);
}

/* qTMinFTPILen: a fast tracepoint can be at any instruction. */
void sonde_gdb_answer_shortest(struct sonde_gdb_server *server,
			       const char *rest, struct sonde_gdb_reply *reply)
{
	(void)server;
	(void)rest;
	sonde_gdb_reply_text(reply, "1");
}
