/* SPDX-License-Identifier: MIT */
/*
 * roster.c - threads' names and processes' origins as events in a stream of ours (roster.h).
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

#define NAME_ID     1
#define PROCESS_ID  2
#define SCHEDULE_ID 3
#define NAME_BYTES  16
#define HEAD_BYTES  14 /* the largest: escape, id and time */

struct named {
	int32_t tid, pid;
	char name[NAME_BYTES];
	uint64_t seen; /* when it was last called so */
	bool is_scheduled;
	struct sonde_proc_schedule schedule;
};

/* Where a process comes from. */
struct origin {
	int32_t pid, ppid;
	char *group; /* its control group's path; "" unknown */
	uint64_t seen;
};

struct sonde_roster {
	struct sonde_output *output;
	struct sonde_ctf_stream *stream;
	enum sonde_header_kind header;
	bool in_packet;
	bool written;        /* since the last publish */
	struct named *names; /* sorted by thread */
	size_t nr_names, capacity;
	struct origin *origins; /* sorted by process */
	size_t nr_origins, origins_room;
};

/* ---- the stream ---- */

static int add_event(struct sonde_output *output, uint32_t class_id,
		     uint32_t id, struct sonde_build *build, void *room)
{
	int rc = sonde_build_end(build);

	return rc ? rc :
		    sonde_ctf_trace_add_event(output->trace, class_id, id,
					      (const struct sonde_desc *)room);
}

static int roster_add_events(struct sonde_output *output, uint32_t class_id)
{
	uint64_t room[SONDE_DESC_MAX / 8];
	struct sonde_build build;
	int rc;

	sonde_build_begin(&build, room, "sonde", "name", SONDE_DEBUG);
	sonde_build_int(&build, "tid", 32, 0);
	sonde_build_int(&build, "pid", 32, 0);
	sonde_build_int(&build, "age", 64, 0);
	sonde_build_string(&build, "procname");
	rc = add_event(output, class_id, NAME_ID, &build, room);
	if (rc)
		return rc;
	sonde_build_begin(&build, room, "sonde", "process", SONDE_DEBUG);
	sonde_build_int(&build, "pid", 32, 0);
	sonde_build_int(&build, "ppid", 32, 0);
	sonde_build_string(&build, "cgroup");
	rc = add_event(output, class_id, PROCESS_ID, &build, room);
	if (rc)
		return rc;
	sonde_build_begin(&build, room, "sonde", "schedule", SONDE_DEBUG);
	sonde_build_int(&build, "tid", 32, 0);
	sonde_build_int(&build, "pid", 32, 0);
	sonde_build_int(&build, "policy_number", 32, 0);
	sonde_build_int(&build, "prio", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(&build, "nice", 32, SONDE_FIELD_SIGNED);
	return add_event(output, class_id, SCHEDULE_ID, &build, room);
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
		rc = roster_add_events(output, class_id);
	if (!rc)
		rc = sonde_ctf_stream_open(output->trace, &config,
					   &roster->stream);
	if (!rc)
		return roster;
	free(roster);
	return NULL;
}

/* A full header: escape, id and time. Returns its size. */
static size_t roster_put_head(enum sonde_header_kind header, uint32_t id,
			      uint64_t time, unsigned char *to)
{
	const uint16_t escape = header == SONDE_COMPACT ? SONDE_COMPACT_ESCAPE :
							  SONDE_LARGE_ESCAPE;
	const unsigned char small = (unsigned char)escape;
	size_t head = header == SONDE_COMPACT ? 1 : 2;

	if (header == SONDE_COMPACT)
		memcpy(to, &small, 1);
	else
		memcpy(to, &escape, 2);
	memcpy(to + head, &id, 4);
	memcpy(to + head + 4, &time, 8);
	return head + 12;
}

static int append_record(struct sonde_roster *roster, const void *record,
			 size_t size, uint64_t time)
{
	int rc = -EMSGSIZE;

	if (roster->in_packet)
		rc = sonde_ctf_packet_append(roster->stream, record, size);
	if (rc == -EMSGSIZE) {
		rc = sonde_ctf_packet_begin(roster->stream, time, 0);
		roster->in_packet = !rc;
		if (!rc)
			rc = sonde_ctf_packet_append(roster->stream, record,
						     size);
	}
	if (!rc)
		roster->written = true;
	return rc;
}

/* What a thread is called now; `before`: when it was called otherwise, or 0. */
static int append_name(struct sonde_roster *roster, const struct named *named,
		       uint64_t before)
{
	unsigned char record[HEAD_BYTES + 16 + NAME_BYTES];
	unsigned char *at = record + roster_put_head(roster->header, NAME_ID,
						     named->seen, record);
	uint64_t age =
		before && before < named->seen ? named->seen - before : 0;
	size_t length = strnlen(named->name, sizeof(named->name) - 1);

	memcpy(at, &named->tid, 4);
	memcpy(at + 4, &named->pid, 4);
	memcpy(at + 8, &age, 8);
	memcpy(at + 16, named->name, length);
	at[16 + length] = 0;
	return append_record(roster, record,
			     (size_t)(at - record) + 16 + length + 1,
			     named->seen);
}

static int append_schedule(struct sonde_roster *roster,
			   const struct named *named, uint64_t time)
{
	const int32_t numbers[] = { named->tid, named->pid,
				    (int32_t)named->schedule.policy,
				    named->schedule.prio,
				    named->schedule.nice };
	unsigned char record[HEAD_BYTES + sizeof(numbers)];
	size_t head =
		roster_put_head(roster->header, SCHEDULE_ID, time, record);

	memcpy(record + head, numbers, sizeof(numbers));
	return append_record(roster, record, head + sizeof(numbers), time);
}

static int append_origin(struct sonde_roster *roster,
			 const struct origin *origin)
{
	unsigned char record[HEAD_BYTES + 8 + SONDE_CGROUP_BYTES];
	unsigned char *at = record + roster_put_head(roster->header, PROCESS_ID,
						     origin->seen, record);
	size_t length = strlen(origin->group); /* < SONDE_CGROUP_BYTES */

	memcpy(at, &origin->pid, 4);
	memcpy(at + 4, &origin->ppid, 4);
	memcpy(at + 8, origin->group, length + 1);
	return append_record(roster, record,
			     (size_t)(at - record) + 8 + length + 1,
			     origin->seen);
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

static void look_at_schedule(struct sonde_roster *roster, struct named *known)
{
	struct named now = *known;

	now.is_scheduled = !sonde_proc_schedule(now.tid, &now.schedule);
	if (!now.is_scheduled ||
	    (known->is_scheduled &&
	     !memcmp(&known->schedule, &now.schedule, sizeof(now.schedule))))
		return;
	if (!append_schedule(roster, &now, now.seen))
		*known = now; /* or it is tried again at the next look */
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
	} else {
		if (append_name(roster, &now,
				known->pid == pid ? known->seen : 0))
			return; /* to be tried again at the next look */
		*known = now;
	}
	look_at_schedule(roster, known);
}

/* ---- origins ---- */

/* The process's place among the origins; NULL if there is no room. */
static struct origin *origin_place(struct sonde_roster *roster, int32_t pid)
{
	struct origin *list;
	size_t i;

	SONDE_SEARCH(i, roster->nr_origins, roster->origins[i].pid < pid);
	if (i < roster->nr_origins && roster->origins[i].pid == pid)
		return &roster->origins[i];
	if (roster->nr_origins == SONDE_ROSTER_NAMES_MAX ||
	    SONDE_GROW(roster->origins, roster->nr_origins,
		       roster->origins_room))
		return NULL;
	list = roster->origins;
	memmove(list + i + 1, list + i,
		(roster->nr_origins++ - i) * sizeof(*list));
	list[i] = (struct origin){ .pid = pid };
	return &list[i];
}

static void look_at_origin(struct sonde_roster *roster, pid_t pid)
{
	char group[SONDE_CGROUP_BYTES];
	struct origin now = { .pid = pid, .ppid = sonde_process_parent(pid) };
	struct origin *known = now.ppid ? origin_place(roster, pid) : NULL;

	if (!known)
		return;
	if (!sonde_process_cgroup(pid, group))
		*group = '\0';
	if (known->ppid == now.ppid && !strcmp(known->group, group))
		return;
	now.seen = roster->output->now();
	now.group = strdup(group);
	if (!now.group || append_origin(roster, &now)) {
		free(now.group);
		return; /* to be tried again at the next look */
	}
	free(known->group);
	*known = now;
}

void sonde_roster_look(struct sonde_roster *roster, pid_t pid)
{
	int32_t tid;
	uint32_t nr = 0;
	DIR *dir;

	if (!roster || roster->output->disk_error ||
	    !sonde_proc_has_our_numbers(pid))
		return;
	look_at_origin(roster, pid);
	dir = sonde_proc_dir(pid, "task");
	while (dir && nr++ < SONDE_ROSTER_THREADS_MAX &&
	       (tid = sonde_proc_next(dir)) >= 0)
		look_at_thread(roster, pid, tid);
	if (dir)
		(void)closedir(dir); /* it was only read */
	publish(roster);
}

/* What is known of a thread, or of a process. */
struct known {
	uint64_t seen;
	const struct named *named;
	const struct origin *origin;
};

static int compare_seen(const void *a, const void *b)
{
	const struct known *left = a;
	const struct known *right = b;

	return (left->seen > right->seen) - (left->seen < right->seen);
}

static size_t list_known(const struct sonde_roster *roster, struct known *list)
{
	size_t nr = 0;

	for (size_t i = 0; i < roster->nr_names; i++)
		list[nr++] = (struct known){ .seen = roster->names[i].seen,
					     .named = &roster->names[i] };
	for (size_t i = 0; i < roster->nr_origins; i++)
		if (roster->origins[i].group)
			list[nr++] =
				(struct known){ .seen = roster->origins[i].seen,
						.origin = &roster->origins[i] };
	return nr;
}

void sonde_roster_copy(const struct sonde_roster *roster,
		       struct sonde_roster *to)
{
	size_t nr = roster ? roster->nr_names + roster->nr_origins : 0;
	struct known *list = nr && to ? calloc(nr, sizeof(*list)) : NULL;

	if (!list)
		return;
	nr = list_known(roster, list);
	/* A stream's events are in order of time. What has no room is missing,
	 * as what wasn't seen is. */
	qsort(list, nr, sizeof(*list), compare_seen);
	for (size_t i = 0; i < nr; i++) {
		const struct named *named = list[i].named;

		(void)(named ? append_name(to, named, 0) :
			       append_origin(to, list[i].origin));
		if (named && named->is_scheduled)
			(void)append_schedule(to, named, named->seen);
	}
	publish(to);
	free(list);
}

void sonde_roster_close(struct sonde_roster *roster)
{
	if (!roster)
		return;
	/* What can't be closed has lost its index, and no name. */
	(void)sonde_ctf_stream_close(roster->stream, roster->output->now(), 0);
	for (size_t i = 0; i < roster->nr_origins; i++)
		free(roster->origins[i].group);
	free(roster->origins);
	free(roster->names);
	free(roster);
}
