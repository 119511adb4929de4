/* SPDX-License-Identifier: MIT */
/*
 * roster.c - threads' names as events in a stream of ours (roster.h).
 *
 * Names are sorted by thread, so a look finds each by bisection; a record is
 * written when a name is new or changed. At most 1 % of the time goes into
 * looks.
 */
#include "session/roster.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "sys/proc.h"
#include "types/build.h"

#define NAME_ID    1
#define NAME_BYTES 16

struct named {
	int32_t tid, pid;
	char name[NAME_BYTES];
	uint64_t seen; /* when it was last called so */
};

struct sonde_roster {
	struct sonde_output *output;
	struct sonde_ctf_stream *stream;
	enum sonde_header_kind header;
	bool in_packet;
	bool written;        /* since the last publish */
	struct named *names; /* sorted by thread */
	size_t nr_names, capacity;
};

/* ---- the stream ---- */

static int add_event(struct sonde_output *output, uint32_t class_id)
{
	uint64_t room[SONDE_DESC_MAX / 8];
	struct sonde_build build;
	int rc;

	sonde_build_begin(&build, room, "sonde", "name", SONDE_DEBUG);
	sonde_build_int(&build, "tid", 32, 0);
	sonde_build_int(&build, "pid", 32, 0);
	sonde_build_int(&build, "age", 64, 0);
	sonde_build_string(&build, "procname");
	rc = sonde_build_end(&build);
	if (rc)
		return rc;
	return sonde_ctf_trace_add_event(output->trace, class_id, NAME_ID,
					 (const struct sonde_desc *)room);
}

struct sonde_roster *sonde_roster_new(struct sonde_output *output,
				      uint32_t class_id,
				      enum sonde_header_kind header)
{
	const struct sonde_ctf_stream_config config = {
		.class_id = class_id,
		.name = "names",
	};
	struct sonde_roster *roster = calloc(1, sizeof(*roster));
	int rc;

	if (!roster)
		return NULL;
	roster->output = output;
	roster->header = header;
	rc = sonde_ctf_trace_add_class(output->trace, class_id, header,
				       "names of threads");
	if (!rc)
		rc = add_event(output, class_id);
	if (!rc)
		rc = sonde_ctf_stream_open(output->trace, &config,
					   &roster->stream);
	if (!rc)
		return roster;
	free(roster);
	return NULL;
}

/* A record with a full header: escape, id and time. Returns its size. */
static size_t roster_make_record(enum sonde_header_kind header,
				 const struct named *named, uint64_t age,
				 unsigned char *to)
{
	const uint16_t escape = header == SONDE_COMPACT ? SONDE_COMPACT_ESCAPE :
							  SONDE_LARGE_ESCAPE;
	const unsigned char small = (unsigned char)escape;
	const uint32_t id = NAME_ID;
	size_t length = strnlen(named->name, sizeof(named->name) - 1);
	size_t head = header == SONDE_COMPACT ? 1 : 2;
	unsigned char *at = to + head;

	if (header == SONDE_COMPACT)
		memcpy(to, &small, 1);
	else
		memcpy(to, &escape, 2);
	memcpy(at, &id, 4);
	memcpy(at + 4, &named->seen, 8);
	memcpy(at + 12, &named->tid, 4);
	memcpy(at + 16, &named->pid, 4);
	memcpy(at + 20, &age, 8);
	memcpy(at + 28, named->name, length);
	at[28 + length] = 0;
	return head + 28 + length + 1;
}

/* What a thread is called now; `before`: when it was called otherwise, or 0. */
static int append(struct sonde_roster *roster, const struct named *named,
		  uint64_t before)
{
	unsigned char record[64];
	uint64_t age =
		before && before < named->seen ? named->seen - before : 0;
	size_t size = roster_make_record(roster->header, named, age, record);
	int rc = -EMSGSIZE;

	if (roster->in_packet)
		rc = sonde_ctf_packet_append(roster->stream, record, size);
	if (rc != -EMSGSIZE)
		return rc;
	rc = sonde_ctf_packet_begin(roster->stream, named->seen, 0);
	roster->in_packet = !rc;
	return rc ? rc : sonde_ctf_packet_append(roster->stream, record, size);
}

static void publish(struct sonde_roster *roster)
{
	if (!roster->written)
		return;
	roster->written = false;
	if (sonde_ctf_packet_publish(roster->stream, roster->output->now(), 0))
		sonde_ctf_packet_forget(roster->stream);
}

/* ---- names ---- */

/* The thread's place among the names; NULL if there is no room. */
static struct named *roster_place(struct sonde_roster *roster, int32_t tid)
{
	struct named *names;
	size_t i;

	SONDE_SEARCH(i, roster->nr_names, roster->names[i].tid < tid);
	if (i < roster->nr_names && roster->names[i].tid == tid)
		return &roster->names[i];
	if (roster->nr_names == SONDE_ROSTER_NAMES_MAX)
		return NULL;
	if (SONDE_GROW(roster->names, roster->nr_names, roster->capacity))
		return NULL;
	names = roster->names;
	memmove(names + i + 1, names + i,
		(roster->nr_names - i) * sizeof(*names));
	roster->nr_names++;
	names[i] = (struct named){ .tid = tid };
	return &names[i];
}

static void look_at_thread(struct sonde_roster *roster, pid_t pid, int32_t tid)
{
	struct named now = { .tid = tid, .pid = pid };
	char text[NAME_BYTES + 2];
	struct named *known;

	/* Behind this time it may be called otherwise. */
	now.seen = roster->output->now();
	(void)sonde_textfile_read_line(text, sizeof(text),
				       "/proc/%d/task/%d/comm", pid, tid);
	known = *text ? roster_place(roster, tid) : NULL;
	if (!known)
		return;
	memcpy(now.name, text, strnlen(text, sizeof(now.name) - 1));
	if (known->pid == pid && !strcmp(known->name, now.name)) {
		known->seen = now.seen;
		return;
	}
	if (append(roster, &now, known->pid == pid ? known->seen : 0))
		return; /* to be tried again at the next look */
	*known = now;
	roster->written = true;
}

void sonde_roster_look(struct sonde_roster *roster, pid_t pid)
{
	int32_t tid;
	uint32_t nr = 0;
	DIR *dir;

	if (!roster || roster->output->disk_error ||
	    !sonde_proc_has_our_numbers(pid))
		return;
	dir = sonde_proc_dir(pid, "task");
	while (dir && nr++ < SONDE_ROSTER_THREADS_MAX &&
	       (tid = sonde_proc_next(dir)) >= 0)
		look_at_thread(roster, pid, tid);
	if (dir)
		(void)closedir(dir); /* it was only read */
	publish(roster);
}

static int compare_seen(const void *a, const void *b)
{
	const struct named *left = a;
	const struct named *right = b;

	return (left->seen > right->seen) - (left->seen < right->seen);
}

void sonde_roster_copy(const struct sonde_roster *roster,
		       struct sonde_roster *to)
{
	size_t nr = roster ? roster->nr_names : 0;
	struct named *names = nr ? calloc(nr, sizeof(*names)) : NULL;

	if (names)
		memcpy(names, roster->names, nr * sizeof(*names));
	/* A stream's events are in order of time. */
	if (names)
		qsort(names, nr, sizeof(*names), compare_seen);
	for (size_t i = 0; to && names && i < nr; i++)
		if (!append(to, &names[i], 0))
			to->written = true;
	if (to)
		publish(to);
	free(names);
}

void sonde_roster_close(struct sonde_roster *roster)
{
	if (!roster)
		return;
	/* What can't be closed has lost its index, and no name. */
	(void)sonde_ctf_stream_close(roster->stream, roster->output->now(), 0);
	free(roster->names);
	free(roster);
}
