/* SPDX-License-Identifier: MIT */
/*
 * add.c - a client that adds tracepoints to whatever is going on.
 *
 * GDB downloads a tracepoint that is made during a run before its actions are
 * known. So a client that says QSondeAdd first sees a server without a run and
 * without tracepoints; it defines its own as before a run, and its QTStart adds
 * them, with numbers of their own, to the run that is on, or starts one that
 * stays. What was there before is put aside until then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb/server_parts.h"

/* QSondeAdd */
void sonde_gdb_answer_add(struct sonde_gdb_server *server, const char *rest,
			  struct sonde_gdb_reply *reply)
{
	if (*rest || server->is_adding || server->frames_are_given)
		return;
	sonde_gdb_poll(server);
	server->aside_points = server->points;
	server->aside_status = server->status;
	memset(&server->points, 0, sizeof(server->points));
	memset(&server->status, 0, sizeof(server->status));
	server->is_adding = true;
	if (sonde_probe_points_add_builtins(&server->points))
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_text(reply, "OK");
}

/* Things are as they were before. The client's own are in *ret_points. */
static void add_put_back(struct sonde_gdb_server *server,
			 struct sonde_probe_points *ret_points)
{
	*ret_points = server->points;
	server->points = server->aside_points;
	server->status = server->aside_status;
	memset(&server->aside_points, 0, sizeof(server->aside_points));
	server->is_adding = false;
}

void sonde_gdb_end_adding(struct sonde_gdb_server *server)
{
	struct sonde_probe_points points;

	if (!server->is_adding)
		return;
	add_put_back(server, &points);
	sonde_probe_points_clear(&points);
}

/* Whether one that is in has that name. */
static bool has_name(const struct sonde_probe_points *points, const char *name)
{
	for (size_t i = 0; i < points->nr; i++) {
		const char *its =
			sonde_probe_point_source(&points->list[i], "name");

		if (its && name && !strcmp(its, name) &&
		    points->list[i].probe != UINT32_MAX)
			return true;
	}
	return false;
}

static uint32_t highest_number(const struct sonde_probe_points *points)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < points->nr; i++)
		if (points->list[i].number > highest)
			highest = points->list[i].number;
	return highest;
}

/* Variables keep their numbers, as the code has them. */
static int adopt_variables(struct sonde_probe_points *points,
			   const struct sonde_probe_points *from)
{
	char line[1024];

	for (size_t i = 0; i < from->nr_variables; i++) {
		const struct sonde_probe_variable *variable =
			&from->variables[i];

		if (variable->builtin)
			continue;
		for (size_t j = 0; j < points->nr_variables; j++)
			if (points->variables[j].number == variable->number &&
			    strcmp(points->variables[j].name, variable->name) !=
				    0)
				return -EEXIST;
		if (sonde_probe_points_variable_line(
			    from, i, line, sizeof(line)) < sizeof(line))
			(void)sonde_probe_points_variable(points, line);
	}
	return 0;
}

static int check(const struct sonde_gdb_server *server,
		 const struct sonde_probe_points *from, char *error,
		 size_t error_size)
{
	for (size_t i = 0; i < from->nr; i++) {
		const char *name =
			sonde_probe_point_source(&from->list[i], "name");

		if (!has_name(&server->points, name))
			continue;
		(void)snprintf(error, error_size,
			       "there is a probe '%.100s' already", name);
		return -EEXIST;
	}
	return 0;
}

/* The one that could not be put in is forgotten; of those of its client that
 * were put in before it there may be events: they stay, but out. */
static void undo(struct sonde_gdb_server *server, uint32_t base)
{
	sonde_probe_points_drop_last(&server->points);
	for (size_t i = 0; i < server->points.nr; i++)
		if (server->points.list[i].number > base)
			sonde_gdb_take_out(server, &server->points.list[i]);
	/* A trace in which one too many is named can be read all the same. */
	(void)sonde_probe_run_note(server->run, &server->points);
}

/* All of them, to the run that is on; or none. */
static int gdb_add_all(struct sonde_gdb_server *server,
		       struct sonde_probe_points *from, char *error,
		       size_t error_size)
{
	uint32_t base = highest_number(&server->points);
	struct sonde_probe_point *point;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < from->nr; i++) {
		from->list[i].number += base;
		rc = sonde_probe_points_adopt(&server->points, &from->list[i],
					      &point);
		if (rc)
			break;
		sonde_gdb_patching(server, true);
		rc = sonde_probe_run_add(server->run, &server->points, point,
					 error, error_size);
		if (rc)
			undo(server, base);
		sonde_gdb_patching(server, false);
	}
	return rc;
}

void sonde_gdb_start_adding(struct sonde_gdb_server *server,
			    struct sonde_gdb_reply *reply)
{
	struct sonde_probe_points from;
	char error[256] = "";
	int rc;

	add_put_back(server, &from);
	server->settings.stays = true;
	if (!server->status.running) {
		sonde_probe_points_clear(&server->points);
		server->points = from;
		sonde_gdb_start(server, reply);
		return;
	}
	rc = check(server, &from, error, sizeof(error));
	if (rc == 0)
		rc = adopt_variables(&server->points, &from);
	if (rc == 0)
		rc = gdb_add_all(server, &from, error, sizeof(error));
	sonde_probe_points_clear(&from);
	if (rc == 0)
		sonde_gdb_reply_text(reply, "OK");
	else
		sonde_gdb_reply_refuse(reply,
				       error[0] ? error :
						  "it can't be added to the "
						  "run");
}
