/* SPDX-License-Identifier: MIT */
/*
 * probe_list.c - what probes are in a process, by asking its server.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/gdb_client.h"
#include "cmd/gdb_socket.h"
#include "cmd/probe.h"
#include "probe/inject/process.h"
#include "probe/names.h"
#include "probe/points.h"
#include "view/text/show.h"

#define EXIT_FAILED     1
#define SECONDS_TO_WAIT 10

/* A server's answers, with the word for the next one. */
static int read_points(struct sonde_gdb_client *client,
		       struct sonde_probe_points *points)
{
	const char *line = sonde_gdb_client_ask(client, "qTfP");

	while (line && *line && strcmp(line, "l") != 0) {
		if (*line == 'E' || sonde_probe_points_read_line(points, line))
			return -EPROTO;
		line = sonde_gdb_client_ask(client, "qTsP");
	}
	return line ? 0 : -EPIPE;
}

static void read_hits(struct sonde_gdb_client *client,
		      struct sonde_probe_point *point)
{
	const char *answer;
	char packet[64];

	(void)snprintf(packet, sizeof(packet), "qTP:%x:%" PRIx64, point->number,
		       point->address);
	answer = sonde_gdb_client_ask(client, packet);
	if (answer && sonde_hex_take(&answer, 'V'))
		(void)sonde_hex_take_number(&answer, &point->hits);
}

static const char *line_of_kind(const struct sonde_probe_point *point,
				const char *kind)
{
	const char *text = sonde_probe_point_source(point, kind);

	return text ? text : "";
}

/* A connection to the server that a process has; -1, and it is said why. */
static int reach(pid_t pid)
{
	int fd = sonde_gdb_socket_reach(pid);

	if (fd == -ECONNREFUSED && kill(pid, 0) && errno == ESRCH)
		sonde_complain("there is no process %d", pid);
	else if (fd == -ECONNREFUSED && sonde_process_is_served(pid))
		sonde_complain("process %d has probes of a server that is not "
			       "yours (or has another $XDG_RUNTIME_DIR)",
			       pid);
	else if (fd == -ECONNREFUSED)
		sonde_complain("process %d has no probes", pid);
	else if (fd < 0)
		sonde_complain("process %d: its server can't be reached (%s)",
			       pid, strerrordesc_np(-fd));
	return fd < 0 ? -1 : fd;
}

/* It was about to end when we came. */
static bool has_left(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* A server has one connection at a time: somebody else's may last. */
static bool is_served(struct sonde_gdb_client *client, pid_t pid)
{
	const struct timeval patience = { .tv_sec = SECONDS_TO_WAIT };

	(void)setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			 sizeof(patience));
	if (sonde_gdb_client_ask(client, "qTStatus"))
		return true;
	if (has_left(client->fd))
		sonde_complain("process %d has no probes", pid);
	else
		sonde_complain("process %d: its server doesn't answer; it "
			       "serves one at a time: if a GDB is connected to "
			       "it, disconnect that first",
			       pid);
	return false;
}

static void client_free(struct sonde_gdb_client *client)
{
	if (client)
		(void)close(client->fd);
	free(client);
}

static struct sonde_gdb_client *client_new(pid_t pid)
{
	struct sonde_gdb_client *client = malloc(sizeof(*client));
	int fd = client ? reach(pid) : -1;

	if (fd < 0) {
		free(client);
		return NULL;
	}
	sonde_gdb_client_init(client, fd);
	if (is_served(client, pid))
		return client;
	client_free(client);
	return NULL;
}

static void show_safe(const char *text)
{
	char safe[1024];

	(void)sonde_show_safe(safe, sizeof(safe), text, strlen(text));
	(void)fputs(safe, stdout);
}

static void probe_list_print_line(const struct sonde_probe_points *points,
				  const struct sonde_probe_point *point)
{
	char name[256];

	sonde_probe_name_point(point, points, name, sizeof(name));
	(void)printf("%-20s %10" PRIu64 "  0x%" PRIx64 "  ", name, point->hits,
		     point->address);
	show_safe(line_of_kind(point, "at"));
	if (*line_of_kind(point, "cond")) {
		(void)fputs(" if ", stdout);
		show_safe(line_of_kind(point, "cond"));
	}
	if (!point->enabled)
		(void)fputs("  (out)", stdout);
	(void)fputs("\n", stdout);
}

static void probe_list_print_json(struct sonde_json *json,
				  const struct sonde_probe_points *points,
				  const struct sonde_probe_point *point)
{
	char name[256];

	sonde_probe_name_point(point, points, name, sizeof(name));
	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "number", point->number);
	sonde_json_put_text(json, "name", name);
	sonde_json_put_unsigned(json, "address", point->address);
	sonde_json_put_unsigned(json, "hits", point->hits);
	sonde_json_put_bool(json, "enabled", point->enabled);
	sonde_json_put_text(json, "at", line_of_kind(point, "at"));
	sonde_json_put_text(json, "condition", line_of_kind(point, "cond"));
	sonde_json_put_text(json, "actions", line_of_kind(point, "cmd"));
	sonde_json_close(json, '}');
}

static void print_all_json(struct sonde_gdb_client *client,
			   struct sonde_probe_points *points)
{
	struct sonde_json json = sonde_json_to_file(stdout);

	sonde_json_open(&json, NULL, '{');
	sonde_json_open(&json, "probes", '[');
	for (size_t i = 0; i < points->nr; i++) {
		read_hits(client, &points->list[i]);
		probe_list_print_json(&json, points, &points->list[i]);
	}
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
	(void)putchar('\n');
}

static void probe_list_print_lines(struct sonde_gdb_client *client,
				   struct sonde_probe_points *points)
{
	if (points->nr > 0)
		(void)printf("%-20s %10s  %s\n", "NAME", "HITS", "WHERE");
	for (size_t i = 0; i < points->nr; i++) {
		read_hits(client, &points->list[i]);
		probe_list_print_line(points, &points->list[i]);
	}
}

int sonde_probe_list(pid_t pid, bool json)
{
	struct sonde_gdb_client *client = client_new(pid);
	struct sonde_probe_points points = { 0 };
	int status = EXIT_FAILED;

	if (!client)
		return EXIT_FAILED;
	if (!read_points(client, &points))
		status = 0;
	else
		sonde_complain("process %d: its server is gone", pid);
	if (json)
		print_all_json(client, &points);
	else
		probe_list_print_lines(client, &points);
	sonde_probe_points_clear(&points);
	client_free(client);
	return status;
}

static int remove_number(struct sonde_gdb_client *client, uint32_t number)
{
	const char *answer;
	char packet[64];

	(void)snprintf(packet, sizeof(packet), "QSondeRemove:%x", number);
	answer = sonde_gdb_client_ask(client, packet);
	return answer && !strcmp(answer, "OK") ? 0 : -EIO;
}

int sonde_probe_remove(pid_t pid, const char *name)
{
	struct sonde_gdb_client *client = client_new(pid);
	struct sonde_probe_points points = { 0 };
	bool was_there = false;
	char its[256];
	int rc;

	if (!client)
		return EXIT_FAILED;
	rc = read_points(client, &points);
	for (size_t i = 0; rc == 0 && i < points.nr; i++) {
		sonde_probe_name_point(&points.list[i], &points, its,
				       sizeof(its));
		if (strcmp(its, name) != 0 || !points.list[i].enabled)
			continue;
		was_there = true;
		rc = remove_number(client, points.list[i].number);
	}
	sonde_probe_points_clear(&points);
	client_free(client);
	if (rc == 0 && was_there)
		return 0;
	sonde_complain(rc ? "process %d: the probe '%.100s' can't be removed" :
			    "process %d has no probe '%.100s'; --list shows "
			    "them",
		       pid, name);
	return EXIT_FAILED;
}

/* The directory of the trace, as the server tells it. */
static char *ask_where(struct sonde_gdb_client *client)
{
	const char *answer = sonde_gdb_client_ask(client, "qSondeTrace");

	return answer && *answer && *answer != 'E' ?
		       sonde_hex_bytes(answer, NULL) :
		       NULL;
}

/* A number in an answer of the form "...;key:hex;..."; 0. */
static uint64_t number_in(const char *answer, const char *key)
{
	const char *at = strstr(answer, key);
	uint64_t value = 0;

	if (at) {
		at += strlen(key);
		(void)sonde_hex_take_number(&at, &value);
	}
	return value;
}

/* The hits of the run that has ended: how many are in the trace, and how many
 * found no room in the rings. */
static void tell_counts(struct sonde_gdb_client *client)
{
	const char *answer = sonde_gdb_client_ask(client, "qTStatus");
	uint64_t recorded;
	uint64_t made;

	if (!answer || *answer != 'T')
		return;
	recorded = number_in(answer, ";tframes:");
	made = number_in(answer, ";tcreated:");
	(void)fprintf(stderr, "%" PRIu64 " hits recorded, %" PRIu64 " lost\n",
		      recorded, made > recorded ? made - recorded : 0);
}

int sonde_probe_stop(pid_t pid)
{
	struct sonde_gdb_client *client = client_new(pid);
	const char *answer;
	char *where;

	if (!client)
		return EXIT_FAILED;
	where = ask_where(client);
	answer = sonde_gdb_client_ask(client, "QTStop");
	if (!answer || strcmp(answer, "OK") != 0) {
		sonde_complain("process %d: the recording can't be ended", pid);
		client_free(client);
		free(where);
		return EXIT_FAILED;
	}
	tell_counts(client);
	/* The server ends, and says nothing more. */
	(void)sonde_gdb_client_ask(client, "k");
	client_free(client);
	if (where)
		(void)printf("%s\n", where);
	free(where);
	return 0;
}

int sonde_probe_where(pid_t pid)
{
	struct sonde_gdb_client *client = client_new(pid);
	char *where = client ? ask_where(client) : NULL;

	if (where)
		(void)printf("Recording to %s; 'sonde probe -p %d --stop' "
			     "ends it\n",
			     where, pid);
	free(where);
	client_free(client);
	return client ? 0 : EXIT_FAILED;
}
