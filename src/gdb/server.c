/* SPDX-License-Identifier: MIT */
/*
 * server.c - the connection with GDB, and who answers which packet.
 *
 * One poll loop: GDB's bytes, the target's descriptor, and a tick while a run
 * is on. All answers are made before the next packet is looked at.
 */
#include "gdb/server.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "gdb/server_parts.h"

enum {
	/* How often a run is looked at. */
	TICK_MS = 100,
	/* How long source lines of a new tracepoint are waited for. */
	LATE_MS = 20,
};

struct known {
	const char *word;
	sonde_gdb_answer *answer;
	bool frame_only; /* while a frame is selected */
};

/* A word that begins another one comes after it. */
static const struct known all_known[] = {
	{ "qSupported", sonde_gdb_answer_supported, false },
	{ "QTinit", sonde_gdb_answer_init, false },
	{ "QTDPsrc:", sonde_gdb_answer_source, false },
	{ "QTDP:", sonde_gdb_answer_define, false },
	{ "QTDV:", sonde_gdb_answer_variable, false },
	{ "QTro:", sonde_gdb_answer_ok, false },
	{ "QTBuffer:circular:", sonde_gdb_answer_circular, false },
	{ "QTBuffer:size:", sonde_gdb_answer_size, false },
	{ "QTNotes:", sonde_gdb_answer_notes, false },
	{ "QTDisconnected:", sonde_gdb_answer_stays, false },
	{ "QTEnable:", sonde_gdb_answer_enable, false },
	{ "QTDisable:", sonde_gdb_answer_disable, false },
	{ "QTStart", sonde_gdb_answer_start, false },
	{ "QTStop", sonde_gdb_answer_stop, false },
	{ "QTFrame:", sonde_gdb_answer_frame, false },
	{ "QTSave:", sonde_gdb_answer_save, false },
	{ "QAgent:", sonde_gdb_answer_ok, false },
	{ "qTStatus", sonde_gdb_answer_status, false },
	{ "qTP:", sonde_gdb_answer_point_status, false },
	{ "qTfP", sonde_gdb_answer_first_point, false },
	{ "qTsP", sonde_gdb_answer_next_point, false },
	{ "qTfV", sonde_gdb_answer_first_variable, false },
	{ "qTsV", sonde_gdb_answer_next_variable, false },
	{ "qTV:", sonde_gdb_answer_value, false },
	{ "qTfSTM", sonde_gdb_answer_first_marker, false },
	{ "qTsSTM", sonde_gdb_answer_next_marker, false },
	{ "qTSTMat:", sonde_gdb_answer_marker_at, false },
	{ "qTMinFTPILen", sonde_gdb_answer_shortest, false },
	{ "qTBuffer:", sonde_gdb_answer_raw, false },
	{ "qXfer:features:read:target.xml:", sonde_gdb_answer_features, false },
	{ "qXfer:traceframe-info:read::", sonde_gdb_answer_frame_info, false },
	{ "qXfer:statictrace:read::", sonde_gdb_answer_static_data, false },
	{ "qSondeTrace", sonde_gdb_answer_trace, false },
	{ "QSondeAdd", sonde_gdb_answer_add, false },
	{ "QSondeName:", sonde_gdb_answer_sonde_name, false },
	{ "QSondeRemove:", sonde_gdb_answer_remove, false },
	{ "g", sonde_gdb_answer_registers, true },
	{ "p", sonde_gdb_answer_register, true },
	{ "m", sonde_gdb_answer_memory, true },
};

/* Whoever looks at the trace later need not have the kernel's symbols. Without them
 * GDB finds no place by a name, can't parse conditions and what is collected, and then
 * takes no connection at all; so it is told addresses, and what frames have. */
static int place_by_address(struct sonde_probe_points *points)
{
	char place[24];
	int rc = 0;

	for (size_t i = 0; !rc && i < points->nr; i++) {
		struct sonde_probe_point *point = &points->list[i];

		if (!sonde_probe_point_is_kernels(point))
			continue;
		(void)snprintf(place, sizeof(place), "*0x%" PRIx64,
			       point->address);
		sonde_probe_points_forget(point, "at");
		sonde_probe_points_forget(point, "cond");
		sonde_probe_points_forget(point, "cmd");
		rc = sonde_probe_points_note(point, "at", place);
	}
	return rc;
}

int sonde_gdb_server_new(const struct sonde_gdb_server_config *config,
			 struct sonde_gdb_server **ret_server)
{
	struct sonde_gdb_server *server = calloc(1, sizeof(*server));
	int rc;

	if (!server)
		return -ENOMEM;
	server->config = *config;
	server->settings.buffer_bytes =
		config->buffer_bytes ? config->buffer_bytes : UINT64_MAX;
	server->frame = SONDE_GDB_NO_FRAME;
	server->frames = config->frames;
	server->frames_are_given = config->frames;
	if (config->frames)
		server->status.stop = SONDE_PROBE_STOP_ASKED;
	server->in = -1;
	server->out = -1;
	rc = sonde_probe_points_add_builtins(&server->points);
	if (rc == 0 && config->frames)
		rc = sonde_probe_points_copy(
			&server->points,
			sonde_gdb_frames_points(config->frames));
	if (rc == 0)
		rc = place_by_address(&server->points);
	if (rc) {
		server->config.ops = NULL;
		server->frames_are_given = true;
		server->frames = NULL;
		sonde_gdb_server_free(server);
		return rc;
	}
	*ret_server = server;
	return 0;
}

void sonde_gdb_server_free(struct sonde_gdb_server *server)
{
	if (!server)
		return;
	sonde_gdb_drop_frames(server);
	sonde_gdb_server_forget(server);
	sonde_gdb_drop_frames(server);
	if (server->frames_are_given)
		sonde_gdb_frames_free(server->frames);
	if (server->has_markers)
		sonde_probe_markers_free(&server->markers);
	sonde_probe_points_clear(&server->points);
	free(server->settings.user);
	free(server->settings.notes);
	free(server->settings.stop_note);
	free(server->next_name);
	if (server->config.ops)
		server->config.ops->free(server->config.target);
	free(server);
}

struct sonde_probes *sonde_gdb_server_probes(struct sonde_gdb_server *server)
{
	char error[256];

	if (sonde_gdb_need_process(server, error, sizeof(error)))
		return NULL;
	return server->probes;
}

static void show(const struct sonde_gdb_server *server, const char *way,
		 const char *text)
{
	if (server->config.verbose)
		(void)fprintf(stderr, "%s %.300s\n", way, text);
}

static int stop_fd(const struct sonde_gdb_server *server)
{
	return server->config.stop_fd > 0 ? server->config.stop_fd : -1;
}

static void write_all(struct sonde_gdb_server *server, const char *bytes,
		      size_t nr)
{
	ssize_t done;

	while (nr > 0 && server->is_connected) {
		done = write(server->out, bytes, nr);
		if (done > 0) {
			bytes += done;
			nr -= (size_t)done;
		} else if (done < 0 && errno == EAGAIN) {
			struct pollfd fds[2] = {
				{ server->out, POLLOUT, 0 },
				{ stop_fd(server), POLLIN, 0 },
			};

			(void)poll(fds, 2, -1);
			server->is_connected = !fds[1].revents;
		} else if (done == 0 || errno != EINTR) {
			server->is_connected = false;
		}
	}
}

void sonde_gdb_server_send(struct sonde_gdb_server *server,
			   const struct sonde_gdb_reply *reply)
{
	show(server, "->", reply->bytes);
	server->nr_sent = sonde_gdb_packet_frame(reply->bytes, reply->length,
						 server->sent);
	write_all(server, server->sent, server->nr_sent);
}

void sonde_gdb_server_notify(struct sonde_gdb_server *server, const char *body,
			     size_t length)
{
	size_t nr = sonde_gdb_packet_frame(body, length, server->notification);

	show(server, "->%", body);
	server->notification[0] = '%';
	write_all(server, server->notification, nr);
}

static const struct known *find_known(const struct sonde_gdb_server *server,
				      const char *packet)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all_known); i++) {
		const struct known *known = &all_known[i];

		if (known->frame_only && server->frame == SONDE_GDB_NO_FRAME)
			continue;
		if (!strncmp(packet, known->word, strlen(known->word)))
			return known;
	}
	return NULL;
}

static bool answer(struct sonde_gdb_server *server, const char *packet,
		   size_t length, struct sonde_gdb_reply *reply)
{
	const struct known *known = find_known(server, packet);

	if (!strcmp(packet, "QStartNoAckMode")) {
		server->no_acks = true;
		server->packets.ignores_sums = true;
		sonde_gdb_reply_text(reply, "OK");
		return true;
	}
	if (known && strlen(packet) == length) {
		known->answer(server, packet + strlen(known->word), reply);
		return true;
	}
	/* memory and registers of a frame can't be changed */
	if (server->frame != SONDE_GDB_NO_FRAME && packet[0] &&
	    strchr("GPMX", packet[0])) {
		sonde_gdb_reply_error(reply, 1);
		return true;
	}
	return server->config.ops->packet(server->config.target, packet, length,
					  reply);
}

static void hear_packet(struct sonde_gdb_server *server)
{
	struct sonde_gdb_packets *packets = &server->packets;

	show(server, "<-", packets->body);
	/* Of "QStartNoAckMode" itself, the receipt is still awaited. */
	if (!server->no_acks)
		write_all(server, "+", 1);
	/* those change nothing that a new tracepoint waits for */
	if (strncmp(packets->body, "QTDPsrc:", 8) != 0 &&
	    strncmp(packets->body, "QTDV:", 5) != 0 &&
	    strncmp(packets->body, "QTDP:-", 6) != 0)
		sonde_gdb_flush(server);
	sonde_gdb_reply_clear(&server->reply);
	if (answer(server, packets->body, packets->length, &server->reply))
		sonde_gdb_server_send(server, &server->reply);
}

static void hear(struct sonde_gdb_server *server, enum sonde_gdb_heard heard)
{
	switch (heard) {
	case SONDE_GDB_HEARD_PACKET:
		hear_packet(server);
		break;
	case SONDE_GDB_HEARD_TOO_LONG:
		if (!server->no_acks)
			write_all(server, "+", 1);
		sonde_gdb_reply_clear(&server->reply);
		sonde_gdb_reply_refuse(&server->reply, "packet too long");
		sonde_gdb_server_send(server, &server->reply);
		break;
	case SONDE_GDB_HEARD_BROKEN:
		write_all(server, "-", 1);
		break;
	case SONDE_GDB_HEARD_NACK:
		if (!server->no_acks)
			write_all(server, server->sent, server->nr_sent);
		break;
	case SONDE_GDB_HEARD_INTERRUPT:
		server->config.ops->interrupt(server->config.target);
		break;
	case SONDE_GDB_HEARD_ACK:
	case SONDE_GDB_HEARD_NOTHING:
		break;
	}
}

static void read_some(struct sonde_gdb_server *server)
{
	uint8_t bytes[4096];
	ssize_t nr = read(server->in, bytes, sizeof(bytes));

	if (nr == 0 || (nr < 0 && errno != EINTR && errno != EAGAIN))
		server->is_connected = false;
	for (ssize_t i = 0; i < nr && server->is_connected && !server->ends;
	     i++)
		hear(server,
		     sonde_gdb_packets_hear(&server->packets, bytes[i]));
}

/* Waits for one of the two, or the time; what the target has to do, is done.
 * True: `fd` can be read. */
static bool wait_for(struct sonde_gdb_server *server, int fd)
{
	const struct sonde_gdb_target_ops *ops = server->config.ops;
	struct pollfd fds[3] = {
		{ fd, POLLIN, 0 },
		{ ops->fd(server->config.target), POLLIN, 0 },
		{ stop_fd(server), POLLIN, 0 },
	};
	int idle_ms = server->status.running ? TICK_MS : -1;
	bool late = server->has_late_point || server->has_new_lines;
	int nr = poll(fds, 3, late ? LATE_MS : idle_ms);

	if (nr == 0)
		sonde_gdb_flush(server);
	sonde_gdb_poll(server);
	if (nr > 0 && fds[1].revents)
		ops->ready(server->config.target);
	if (nr > 0 && fds[2].revents)
		sonde_gdb_server_end(server, SONDE_GDB_END_KILLED);
	return nr > 0 && fds[0].revents && !fds[2].revents;
}

void sonde_gdb_server_end(struct sonde_gdb_server *server,
			  enum sonde_gdb_end end)
{
	server->end = end;
	server->ends = true;
}

int sonde_gdb_server_serve(struct sonde_gdb_server *server, int in, int out,
			   enum sonde_gdb_end *ret_end)
{
	server->in = in;
	server->out = out;
	server->is_connected = true;
	server->no_acks = false;
	server->end = SONDE_GDB_END_DETACHED;
	sonde_gdb_packets_init(&server->packets);
	server->ends = false;
	while (server->is_connected && !server->ends)
		if (wait_for(server, in))
			read_some(server);
	server->is_connected = false;
	sonde_gdb_flush(server);
	sonde_gdb_end_adding(server);
	free(server->next_name);
	server->next_name = NULL;
	server->frame = SONDE_GDB_NO_FRAME;
	if (!server->settings.stays || server->end != SONDE_GDB_END_DETACHED)
		sonde_gdb_stop(server, SONDE_PROBE_STOP_DISCONNECTED, NULL);
	server->config.ops->disconnected(server->config.target);
	*ret_end = server->end;
	return 0;
}

int sonde_gdb_server_idle(struct sonde_gdb_server *server, int listen_fd,
			  enum sonde_gdb_end *ret_end)
{
	server->end = SONDE_GDB_END_DETACHED;
	server->ends = false;
	while (!server->ends && !wait_for(server, listen_fd))
		continue;
	*ret_end = server->end;
	return 0;
}

void sonde_gdb_server_process_ended(struct sonde_gdb_server *server)
{
	sonde_gdb_stop(server, SONDE_PROBE_STOP_ERROR, "the process has ended");
	/* Somebody who is connected may want to see what was recorded. */
	if (!server->is_connected)
		sonde_gdb_server_end(server, SONDE_GDB_END_EXITED);
}

bool sonde_gdb_server_is_running(const struct sonde_gdb_server *server)
{
	return server->status.running;
}
