/* SPDX-License-Identifier: MIT */
/*
 * trace.c - packets that start, stop and show a run, and the tracepoints and
 * variables of it.
 *
 * The status is read from the run before it is told. What they do to a run is in
 * tracing.c.
 */
#include <inttypes.h>
#include <string.h>

#include "base/hex.h"
#include "gdb/server_parts.h"

/* QTStart */
void sonde_gdb_answer_start(struct sonde_gdb_server *server, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	if (*rest)
		return;
	if (server->is_adding)
		sonde_gdb_start_adding(server, reply);
	else if (server->status.running)
		sonde_gdb_reply_refuse(reply, "a trace is running already");
	else
		sonde_gdb_start(server, reply);
}

/* QTStop */
void sonde_gdb_answer_stop(struct sonde_gdb_server *server, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	if (*rest)
		return;
	sonde_gdb_stop(server, SONDE_PROBE_STOP_ASKED,
		       server->settings.stop_note);
	sonde_gdb_reply_text(reply, "OK");
}

static void reply_text_hex(struct sonde_gdb_reply *reply, const char *text)
{
	if (text)
		sonde_gdb_reply_hex(reply, text, strlen(text));
}

static void reply_reason(struct sonde_gdb_reply *reply,
			 const struct sonde_probe_run_status *status)
{
	switch (status->stop) {
	case SONDE_PROBE_STOP_NOT_RUN:
		sonde_gdb_reply_text(reply, "tnotrun:0");
		break;
	case SONDE_PROBE_STOP_ASKED:
		sonde_gdb_reply_text(reply, "tstop:");
		reply_text_hex(reply, status->stop_text);
		sonde_gdb_reply_text(reply, ":0");
		break;
	case SONDE_PROBE_STOP_FULL:
		sonde_gdb_reply_text(reply, "tfull:0");
		break;
	case SONDE_PROBE_STOP_DISCONNECTED:
		sonde_gdb_reply_text(reply, "tdisconnected:0");
		break;
	case SONDE_PROBE_STOP_PASSES:
		sonde_gdb_reply_format(reply, "tpasscount:%x",
				       status->stop_point);
		break;
	case SONDE_PROBE_STOP_ERROR:
		sonde_gdb_reply_text(reply, "terror:");
		reply_text_hex(reply, status->stop_text);
		sonde_gdb_reply_format(reply, ":%x", status->stop_point);
		break;
	}
}

static void reply_buffer(struct sonde_gdb_server *server,
			 struct sonde_gdb_reply *reply)
{
	uint64_t size = server->settings.buffer_bytes;
	uint64_t used = server->status.bytes;

	if (size != UINT64_MAX)
		sonde_gdb_reply_format(reply,
				       ";tfree:%" PRIx64 ";tsize:%" PRIx64,
				       used < size ? size - used : 0, size);
}

void sonde_gdb_status(struct sonde_gdb_server *server,
		      struct sonde_gdb_reply *reply)
{
	struct sonde_probe_run_status *status = &server->status;
	const char *notes = server->settings.notes;
	struct sonde_gdb_frames *frames = NULL;
	uint64_t nr = status->frames;

	if (!status->running)
		frames = sonde_gdb_need_frames(server);
	if (frames)
		nr = sonde_gdb_frames_nr(frames);
	sonde_gdb_reply_format(reply, "T%d;", status->running);
	if (status->running)
		sonde_gdb_reply_text(reply, "tnotrun:0");
	else
		reply_reason(reply, status);
	sonde_gdb_reply_format(reply, ";tframes:%" PRIx64 ";tcreated:%" PRIx64,
			       nr, status->frames > nr ? status->frames : nr);
	reply_buffer(server, reply);
	sonde_gdb_reply_format(reply,
			       ";circular:%d;disconn:%d;starttime:%" PRIx64
			       ";stoptime:%" PRIx64 ";username:",
			       server->settings.circular,
			       server->settings.stays, status->start_us,
			       status->stop_us);
	reply_text_hex(reply, server->settings.user);
	sonde_gdb_reply_text(reply, ";notes:");
	/* GDB always sends some, which may be none. */
	reply_text_hex(reply, notes && *notes ? notes : status->note);
	sonde_gdb_reply_text(reply, ":");
}

/* qTStatus */
void sonde_gdb_answer_status(struct sonde_gdb_server *server, const char *rest,
			     struct sonde_gdb_reply *reply)
{
	if (*rest)
		return;
	sonde_gdb_poll(server);
	sonde_gdb_status(server, reply);
}

/* qTP:number:address: how often it was hit, and the bytes that took; in
 * hexadecimal, whatever gdbserver does. */
void sonde_gdb_answer_point_status(struct sonde_gdb_server *server,
				   const char *rest,
				   struct sonde_gdb_reply *reply)
{
	struct sonde_probe_point *point = sonde_gdb_point(server, rest);
	struct sonde_gdb_frames *frames;

	if (!point) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	sonde_gdb_poll(server);
	frames = server->status.running ? NULL : sonde_gdb_need_frames(server);
	if (frames)
		sonde_gdb_frames_count(frames, point->number, point->address,
				       &point->hits, &point->bytes);
	sonde_gdb_reply_format(reply, "V%" PRIx64 ":%" PRIx64, point->hits,
			       point->bytes);
}

/* A line of so many bytes was put into it, if it had room; 0: there are no more. */
static void reply_told(struct sonde_gdb_reply *reply, size_t length)
{
	if (length == 0)
		sonde_gdb_reply_text(reply, "l");
	else if (length >= sizeof(reply->bytes))
		sonde_gdb_reply_error(reply, 1);
	else
		reply->length = length;
}

static void tell_point(struct sonde_gdb_server *server,
		       struct sonde_gdb_reply *reply)
{
	reply_told(reply,
		   sonde_probe_points_line(&server->points, server->told++,
					   reply->bytes, sizeof(reply->bytes)));
}

/* The last one first: GDB makes them in the opposite order. */
static void tell_variable(struct sonde_gdb_server *server,
			  struct sonde_gdb_reply *reply)
{
	size_t nr = server->points.nr_variables;
	size_t i = server->told++;

	reply_told(reply, sonde_probe_points_variable_line(
				  &server->points, i < nr ? nr - 1 - i : nr,
				  reply->bytes, sizeof(reply->bytes)));
}

/* qTfP */
void sonde_gdb_answer_first_point(struct sonde_gdb_server *server,
				  const char *rest,
				  struct sonde_gdb_reply *reply)
{
	(void)rest;
	server->told = 0;
	tell_point(server, reply);
}

/* qTsP */
void sonde_gdb_answer_next_point(struct sonde_gdb_server *server,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	(void)rest;
	tell_point(server, reply);
}

/* qTfV */
void sonde_gdb_answer_first_variable(struct sonde_gdb_server *server,
				     const char *rest,
				     struct sonde_gdb_reply *reply)
{
	(void)rest;
	server->told = 0;
	tell_variable(server, reply);
}

/* qTsV */
void sonde_gdb_answer_next_variable(struct sonde_gdb_server *server,
				    const char *rest,
				    struct sonde_gdb_reply *reply)
{
	(void)rest;
	tell_variable(server, reply);
}

static bool frame_value(struct sonde_gdb_server *server, uint32_t number,
			int64_t *ret_value)
{
	struct sonde_gdb_frame frame;

	return server->frames &&
	       !sonde_gdb_frames_get(server->frames, server->frame, &frame) &&
	       !sonde_gdb_frame_variable(&frame, number, ret_value);
}

/* qTV:number */
void sonde_gdb_answer_value(struct sonde_gdb_server *server, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	const struct sonde_probe_variable *variable = NULL;
	uint64_t number;
	int64_t value;
	bool is_known = true;

	if (!sonde_hex_take_number(&rest, &number) || *rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	for (size_t i = 0; i < server->points.nr_variables; i++)
		if (server->points.variables[i].number == number)
			variable = &server->points.variables[i];
	if (!variable)
		is_known = false;
	else if (server->frame != SONDE_GDB_NO_FRAME)
		is_known = frame_value(server, variable->number, &value);
	else if (server->run && server->status.start_us)
		value = sonde_probe_run_variable(server->run, variable->number);
	else
		value = variable->value;
	if (is_known)
		sonde_gdb_reply_format(reply, "V%" PRIx64, (uint64_t)value);
	else
		sonde_gdb_reply_text(reply, "U");
}

/* QSondeRemove:number: out for good, the run goes on. */
void sonde_gdb_answer_remove(struct sonde_gdb_server *server, const char *rest,
			     struct sonde_gdb_reply *reply)
{
	uint64_t number;
	bool was_there = false;

	if (!sonde_hex_take_number(&rest, &number) || *rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	sonde_gdb_patching(server, true);
	for (size_t i = 0; i < server->points.nr; i++) {
		struct sonde_probe_point *point = &server->points.list[i];

		if (point->number != number)
			continue;
		was_there = true;
		sonde_gdb_take_out(server, point);
	}
	sonde_gdb_patching(server, false);
	if (was_there)
		sonde_gdb_reply_text(reply, "OK");
	else
		sonde_gdb_reply_error(reply, 2);
}
