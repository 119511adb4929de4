/* SPDX-License-Identifier: MIT */
/*
 * frame.c - trace frames: which one is selected, and what it holds. While one
 * is, registers and memory are the frame's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "expr/agent.h"
#include "gdb/registers.h"
#include "gdb/server_parts.h"

/* Of one qTBuffer answer, in hexadecimal. */
#define RAW_MAX      (SONDE_GDB_PACKET_MAX / 2 - 16)
#define INFO_MAX     (1u << 20)
#define STATIC_MAX   (1u << 16)
#define REGISTER_MAX 10u

struct sonde_gdb_frames *sonde_gdb_need_frames(struct sonde_gdb_server *server)
{
	struct sonde_gdb_frames_config config = {
		.buffer_bytes = server->settings.buffer_bytes,
		.circular = server->settings.circular,
	};
	const char *directory;
	char error[256] = "";

	if (server->frames || server->status.running || !server->run)
		return server->frames;
	directory = sonde_probe_run_directory(server->run);
	if (!directory || server->status.stop == SONDE_PROBE_STOP_NOT_RUN)
		return NULL;
	if (sonde_gdb_frames_open(directory, &config, error, sizeof(error),
				  &server->frames)) {
		(void)fprintf(stderr, "sonde: %s\n", error);
		server->frames = NULL;
	}
	return server->frames;
}

void sonde_gdb_drop_frames(struct sonde_gdb_server *server)
{
	server->frame = SONDE_GDB_NO_FRAME;
	if (server->frames_are_given)
		return;
	sonde_gdb_frames_free(server->frames);
	server->frames = NULL;
}

/* The selected frame; false: it can't be had. */
static bool selected(struct sonde_gdb_server *server,
		     struct sonde_gdb_frame *ret_frame)
{
	return server->frames && server->frame != SONDE_GDB_NO_FRAME &&
	       !sonde_gdb_frames_get(server->frames, server->frame, ret_frame);
}

struct search {
	enum sonde_gdb_find how;
	uint64_t a, b;
};

/* "3", "pc:addr", "tdp:n", "range:a:b", "outside:a:b" */
static bool take_search(const char *rest, struct search *search)
{
	bool has_two = false;

	search->b = 0;
	if (sonde_hex_take_word(&rest, "pc:")) {
		search->how = SONDE_GDB_FIND_PC;
	} else if (sonde_hex_take_word(&rest, "tdp:")) {
		search->how = SONDE_GDB_FIND_POINT;
	} else if (sonde_hex_take_word(&rest, "range:")) {
		search->how = SONDE_GDB_FIND_INSIDE;
		has_two = true;
	} else if (sonde_hex_take_word(&rest, "outside:")) {
		search->how = SONDE_GDB_FIND_OUTSIDE;
		has_two = true;
	} else {
		search->how = SONDE_GDB_FIND_NUMBER;
	}
	if (!sonde_hex_take_number(&rest, &search->a))
		return false;
	if (has_two && (!sonde_hex_take(&rest, ':') ||
			!sonde_hex_take_number(&rest, &search->b)))
		return false;
	return !*rest;
}

/* QTFrame: */
void sonde_gdb_answer_frame(struct sonde_gdb_server *server, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_frames *frames;
	struct sonde_gdb_frame frame;
	struct search search;
	int rc;

	if (!take_search(rest, &search)) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (search.how == SONDE_GDB_FIND_NUMBER && search.a == UINT32_MAX) {
		server->frame = SONDE_GDB_NO_FRAME;
		sonde_gdb_reply_text(reply, "OK");
		return;
	}
	frames = sonde_gdb_need_frames(server);
	if (!frames)
		rc = -ENOENT;
	else if (search.how == SONDE_GDB_FIND_NUMBER)
		rc = sonde_gdb_frames_get(frames, search.a, &frame);
	else
		rc = sonde_gdb_frames_find(frames, search.how, search.a,
					   search.b, server->frame, &frame);
	if (rc) {
		sonde_gdb_reply_text(reply, "F-1");
		return;
	}
	server->frame = frame.number;
	sonde_gdb_reply_format(reply, "F%" PRIx64 "T%x", frame.number,
			       frame.point);
}

/* qTBuffer:offset,length */
void sonde_gdb_answer_raw(struct sonde_gdb_server *server, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_frames *frames = sonde_gdb_need_frames(server);
	uint8_t bytes[RAW_MAX];
	uint64_t offset;
	uint64_t length;
	size_t nr = 0;

	if (!sonde_hex_take_pair(&rest, &offset, ',', &length) || *rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (frames)
		nr = sonde_gdb_frames_raw(frames, offset, bytes,
					  length < RAW_MAX ? length : RAW_MAX);
	if (nr == 0)
		sonde_gdb_reply_text(reply, "l");
	else
		sonde_gdb_reply_hex(reply, bytes, nr);
}

/* qXfer:traceframe-info:read:: */
void sonde_gdb_answer_frame_info(struct sonde_gdb_server *server,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_frame frame;
	size_t length;
	char *text;

	if (!selected(server, &frame)) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	text = malloc(INFO_MAX);
	if (!text) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	length = sonde_gdb_frame_info(&frame, text, INFO_MAX);
	if (length <= INFO_MAX)
		sonde_gdb_reply_part(reply, rest, text, length);
	else
		sonde_gdb_reply_error(reply, 1);
	free(text);
}

/* qXfer:statictrace:read:: */
void sonde_gdb_answer_static_data(struct sonde_gdb_server *server,
				  const char *rest,
				  struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_frame frame;
	size_t length = 0;
	char *text = malloc(STATIC_MAX);

	if (!text) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (!selected(server, &frame) ||
	    sonde_gdb_frame_static_data(server->frames, &frame, text,
					STATIC_MAX, &length))
		length = 0;
	sonde_gdb_reply_part(reply, rest, text, length);
	free(text);
}

/* One register's bytes or x's. */
static void frame_reply_register(struct sonde_gdb_reply *reply,
				 const struct sonde_gdb_frame *frame,
				 unsigned int number)
{
	uint8_t bytes[REGISTER_MAX] = { 0 };
	unsigned int offset;
	unsigned int size;
	uint64_t value;
	int rc = -ENODATA;

	if (!sonde_gdb_register_place(number, &offset, &size))
		return;
	if (number < SONDE_AGENT_REGISTERS)
		rc = sonde_gdb_frame_register(frame, number, &value);
	if (rc && number == SONDE_AGENT_RIP) {
		value = frame->address;
		rc = 0;
	}
	if (rc == 0) {
		memcpy(bytes, &value, sizeof(value));
		sonde_gdb_reply_hex(reply, bytes, size);
		return;
	}
	for (unsigned int i = 0; i < size; i++)
		sonde_gdb_reply_text(reply, "xx");
}

/* g, in a frame */
void sonde_gdb_answer_registers(struct sonde_gdb_server *server,
				const char *rest, struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_frame frame;

	(void)rest;
	if (!selected(server, &frame)) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	for (unsigned int i = 0; i < SONDE_GDB_NR_REGISTERS; i++)
		frame_reply_register(reply, &frame, i);
}

/* p, in a frame */
void sonde_gdb_answer_register(struct sonde_gdb_server *server,
			       const char *rest, struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_frame frame;
	uint64_t number;

	if (!sonde_hex_take_number(&rest, &number) || *rest ||
	    number >= SONDE_GDB_NR_REGISTERS || !selected(server, &frame)) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	frame_reply_register(reply, &frame, (unsigned int)number);
}

/* m, in a frame */
/* What the program can't have changed since: as many bytes as are there. */
static size_t read_constants(const struct sonde_gdb_server *server,
			     uint64_t address, uint8_t *to, size_t size)
{
	const struct sonde_gdb_target_ops *ops = server->config.ops;
	pid_t pid = ops->pid(server->config.target);
	struct sonde_maps mappings;
	size_t nr = 0;

	if (pid <= 0 || sonde_process_mappings(pid, &mappings))
		return 0;
	for (size_t i = 0; i < mappings.nr; i++) {
		const struct sonde_mapping *m = &mappings.list[i];

		if (address < m->start || address >= m->end || m->writable)
			continue;
		nr = size < m->end - address ? size : m->end - address;
		if (ops->read(server->config.target, address, to, nr))
			nr = 0;
	}
	sonde_maps_free(&mappings);
	return nr;
}

void sonde_gdb_answer_memory(struct sonde_gdb_server *server, const char *rest,
			     struct sonde_gdb_reply *reply)
{
	uint8_t bytes[SONDE_GDB_PACKET_MAX / 2];
	struct sonde_gdb_frame frame;
	uint64_t address;
	uint64_t length;
	size_t nr;

	if (!sonde_hex_take_pair(&rest, &address, ',', &length) || *rest ||
	    !selected(server, &frame)) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (length > sizeof(bytes))
		length = sizeof(bytes);
	nr = sonde_gdb_frame_memory(&frame, address, bytes, length);
	if (nr == 0)
		nr = read_constants(server, address, bytes, length);
	if (nr == 0 && length > 0)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_hex(reply, bytes, nr);
}
