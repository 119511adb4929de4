/* SPDX-License-Identifier: MIT */
/*
 * define.c - packets by which GDB makes tracepoints and says how to trace:
 * QTinit, QTDP, QTDPsrc, QTDV, QTBuffer, QTDisconnected, QTNotes, QTEnable,
 * QTDisable.
 *
 * A packet is answered with OK only when what it asks for holds. While a run is
 * on, a new tracepoint is put in with its last packet; what fails after its
 * answer is said on stderr.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "gdb/server_parts.h"

/* Bytes of a note that are kept. */
#define NOTE_MAX 1000

void sonde_gdb_answer_ok(struct sonde_gdb_server *server, const char *rest,
			 struct sonde_gdb_reply *reply)
{
	(void)server;
	(void)rest;
	sonde_gdb_reply_text(reply, "OK");
}

static void reply_result(struct sonde_gdb_reply *reply, int rc)
{
	switch (rc) {
	case 0:
		sonde_gdb_reply_text(reply, "OK");
		break;
	case -E2BIG:
		sonde_gdb_reply_refuse(reply, "too large, or too many");
		break;
	case -ENOMEM:
		sonde_gdb_reply_refuse(reply, "out of memory");
		break;
	case -ENOENT:
		sonde_gdb_reply_refuse(reply, "no such tracepoint");
		break;
	default:
		sonde_gdb_reply_error(reply, 1);
		break;
	}
}

/* QTinit */
void sonde_gdb_answer_init(struct sonde_gdb_server *server, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	if (*rest)
		return;
	if (server->frames_are_given) {
		sonde_gdb_reply_refuse(reply, "this is a recorded trace");
		return;
	}
	if (!server->is_adding) {
		sonde_gdb_stop(server, SONDE_PROBE_STOP_ASKED, NULL);
		sonde_gdb_drop_frames(server);
	}
	sonde_probe_points_clear(&server->points);
	memset(&server->status, 0, sizeof(server->status));
	server->has_late_point = false;
	reply_result(reply, sonde_probe_points_add_builtins(&server->points));
}

/* A name, as a source line of the new tracepoint. */
static int name_point(struct sonde_gdb_server *server,
		      const struct sonde_probe_point *point, const char *name)
{
	char head[64];
	char *packet;
	size_t used;
	int rc;

	used = (size_t)snprintf(head, sizeof(head),
				"%x:%" PRIx64 ":name:0:%zx:", point->number,
				point->address, strlen(name));
	packet = malloc(used + 2 * strlen(name) + 1);
	if (!packet)
		return -ENOMEM;
	memcpy(packet, head, used);
	sonde_hex_put(name, strlen(name), packet + used);
	rc = sonde_probe_points_source(&server->points, packet);
	free(packet);
	return rc;
}

static void put_in_late(struct sonde_gdb_server *server)
{
	struct sonde_probe_point *point;
	char error[256] = "";
	int rc;

	if (!server->has_late_point)
		return;
	server->has_late_point = false;
	point = sonde_probe_points_find(&server->points, server->late_number,
					server->late_address);
	if (!point || !server->status.running || !server->run)
		return;
	sonde_gdb_patching(server, true);
	rc = sonde_probe_run_add(server->run, &server->points, point, error,
				 sizeof(error));
	sonde_gdb_patching(server, false);
	/* GDB has its answer already: this is the only place left to say so. */
	if (rc)
		(void)fprintf(stderr, "sonde: tracepoint %u: %s\n",
			      point->number,
			      error[0] ? error : "it could not be put in");
}

/* Where nothing is collected there are no names of fields to wait for; its own
 * must not depend on what comes later. */
static void put_in_now(struct sonde_gdb_server *server,
		       const struct sonde_probe_point *point)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "tp%u", point->number);
	if (!sonde_probe_point_source(point, "name"))
		(void)name_point(server, point, name);
	put_in_late(server);
}

/* QTDP: */
void sonde_gdb_answer_define(struct sonde_gdb_server *server, const char *rest,
			     struct sonde_gdb_reply *reply)
{
	struct sonde_probe_point *point = NULL;
	bool is_complete = false;
	size_t nr = server->points.nr;
	int rc;

	if (server->frames_are_given) {
		sonde_gdb_reply_refuse(reply, "this is a recorded trace");
		return;
	}
	rc = sonde_probe_points_define(&server->points, rest, &is_complete,
				       &point);
	if (rc == 0 && server->points.nr > nr && server->next_name)
		rc = name_point(server, point, server->next_name);
	if (rc == 0 && is_complete && server->status.running) {
		server->has_late_point = true;
		server->late_number = point->number;
		server->late_address = point->address;
		if (point->nr_actions == 0)
			put_in_now(server, point);
	}
	reply_result(reply, rc);
}

void sonde_gdb_flush(struct sonde_gdb_server *server)
{
	put_in_late(server);
	if (!server->has_new_lines)
		return;
	server->has_new_lines = false;
	/* A trace without them can be read all the same. */
	if (server->status.running && server->run && !server->is_adding)
		(void)sonde_probe_run_note(server->run, &server->points);
}

/* QTDPsrc: */
void sonde_gdb_answer_source(struct sonde_gdb_server *server, const char *rest,
			     struct sonde_gdb_reply *reply)
{
	server->has_new_lines = true;
	reply_result(reply, sonde_probe_points_source(&server->points, rest));
}

/* QTDV: */
void sonde_gdb_answer_variable(struct sonde_gdb_server *server,
			       const char *rest, struct sonde_gdb_reply *reply)
{
	reply_result(reply, sonde_probe_points_variable(&server->points, rest));
}

static void take_flag(const char *rest, bool *flag,
		      struct sonde_gdb_reply *reply)
{
	if ((rest[0] != '0' && rest[0] != '1') || rest[1]) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	*flag = rest[0] == '1';
	sonde_gdb_reply_text(reply, "OK");
}

/* QTBuffer:circular: */
void sonde_gdb_answer_circular(struct sonde_gdb_server *server,
			       const char *rest, struct sonde_gdb_reply *reply)
{
	take_flag(rest, &server->settings.circular, reply);
}

/* QTDisconnected: */
void sonde_gdb_answer_stays(struct sonde_gdb_server *server, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	take_flag(rest, &server->settings.stays, reply);
}

/* QTBuffer:size: */
void sonde_gdb_answer_size(struct sonde_gdb_server *server, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	uint64_t bytes;

	if (!strcmp(rest, "-1"))
		bytes = server->config.buffer_bytes ?
				server->config.buffer_bytes :
				UINT64_MAX;
	else if (!sonde_hex_take_number(&rest, &bytes) || *rest || bytes == 0) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (server->status.running) {
		sonde_gdb_reply_refuse(reply, "not while tracing");
		return;
	}
	server->settings.buffer_bytes = bytes;
	sonde_gdb_reply_text(reply, "OK");
}

static bool set_note(struct sonde_gdb_settings *settings, const char *key,
		     size_t key_length, char *text)
{
	char **to = NULL;

	if (key_length == 4 && !memcmp(key, "user", 4))
		to = &settings->user;
	else if (key_length == 5 && !memcmp(key, "notes", 5))
		to = &settings->notes;
	else if (key_length == 5 && !memcmp(key, "tstop", 5))
		to = &settings->stop_note;
	if (!to)
		return false;
	if (strlen(text) > NOTE_MAX)
		text[NOTE_MAX] = '\0';
	free(*to);
	*to = text;
	return true;
}

/* QTNotes:user:hex;notes:hex;tstop:hex; */
void sonde_gdb_answer_notes(struct sonde_gdb_server *server, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	char *words = strdup(rest);
	char *place = NULL;
	bool is_right = words;

	for (char *word = words ? strtok_r(words, ";", &place) : NULL;
	     word && is_right; word = strtok_r(NULL, ";", &place)) {
		char *hex = strchr(word, ':');
		char *text = hex ? sonde_hex_bytes(hex + 1, NULL) : NULL;

		is_right = text && set_note(&server->settings, word,
					    (size_t)(hex - word), text);
		if (!is_right)
			free(text);
	}
	free(words);
	if (is_right)
		sonde_gdb_reply_text(reply, "OK");
	else
		sonde_gdb_reply_error(reply, 1);
}

struct sonde_probe_point *sonde_gdb_point(struct sonde_gdb_server *server,
					  const char *rest)
{
	uint64_t number;
	uint64_t address;

	if (!sonde_hex_take_pair(&rest, &number, ':', &address) || *rest ||
	    number > INT32_MAX)
		return NULL;
	return sonde_probe_points_find(&server->points, (uint32_t)number,
				       address);
}

static void set_enabled(struct sonde_gdb_server *server, const char *rest,
			bool on, struct sonde_gdb_reply *reply)
{
	struct sonde_probe_point *point = sonde_gdb_point(server, rest);
	int rc = 0;

	if (!point) {
		reply_result(reply, -ENOENT);
		return;
	}
	sonde_gdb_patching(server, true);
	if (server->status.running && server->run)
		rc = sonde_probe_run_enable(server->run, point, on);
	sonde_gdb_patching(server, false);
	if (rc == 0)
		point->enabled = on;
	reply_result(reply, rc);
}

/* QTEnable: */
void sonde_gdb_answer_enable(struct sonde_gdb_server *server, const char *rest,
			     struct sonde_gdb_reply *reply)
{
	set_enabled(server, rest, true, reply);
}

/* QTDisable: */
void sonde_gdb_answer_disable(struct sonde_gdb_server *server, const char *rest,
			      struct sonde_gdb_reply *reply)
{
	set_enabled(server, rest, false, reply);
}
