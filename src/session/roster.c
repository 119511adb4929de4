/* SPDX-License-Identifier: MIT */
/*
 * roster.c - threads' names and processes' origins as events in a stream of ours (roster.h).
 *
 * Names are sorted by thread, so a look finds each by bisection; a record is
 * written when a name is new or changed. So are threads with numbers of their own,
 * by image and thread; of those the oldest images are forgotten for want of room,
 * and told again if they are still there: what is told of an image keeps it from
 * being taken for another. At most 1 % of the time goes into looks.
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

#define NAME_ID      1
#define PROCESS_ID   2
#define SCHEDULE_ID  3
#define CONTAINED_ID 4
#define NAME_BYTES   16
#define HEAD_BYTES   14 /* the largest: escape, id and time */
#define NUMBERS_MAX  5  /* of a record with nothing else */

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
	uint32_t pid_ns; /* 0: unknown */
	char *group;     /* its control group's path; "" unknown */
	uint64_t seen;
};

/* A thread that has other numbers in its image's events than here; all 0 but the
 * image: that is known of none of its threads. */
struct contained {
	uint32_t image;
	int32_t tid, pid, own_tid, own_pid;
	uint64_t seen;
};

/* The process that is looked at. */
struct look {
	uint32_t image;
	int32_t pid, own_pid;
	uint32_t pid_ns;
	bool is_contained;
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
	struct contained *contained; /* sorted by image and thread */
	size_t nr_contained, contained_room;
	uint32_t our_pid_ns, class_id;
	bool has_contained; /* the event is declared */
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
	sonde_build_int(&build, "pid_ns", 32, 0);
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

/* Once it is needed: to readers it says that numbers may be others. */
static int add_contained(struct sonde_roster *roster)
{
	uint64_t room[SONDE_DESC_MAX / 8];
	struct sonde_build build;
	int rc;

	if (roster->has_contained)
		return 0;
	sonde_build_begin(&build, room, "sonde", "contained", SONDE_DEBUG);
	sonde_build_int(&build, "image", 32, 0);
	sonde_build_int(&build, "tid", 32, 0);
	sonde_build_int(&build, "pid", 32, 0);
	sonde_build_int(&build, "own_tid", 32, 0);
	sonde_build_int(&build, "own_pid", 32, 0);
	rc = add_event(roster->output, roster->class_id, CONTAINED_ID, &build,
		       room);
	roster->has_contained = !rc;
	return rc;
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
	roster->class_id = class_id;
	roster->our_pid_ns = sonde_process_ns(0, "pid");
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

static int append_numbers(struct sonde_roster *roster, uint32_t id,
			  uint64_t time, const int32_t numbers[NUMBERS_MAX])
{
	const size_t size = NUMBERS_MAX * sizeof(*numbers);
	unsigned char record[HEAD_BYTES + NUMBERS_MAX * sizeof(*numbers)];
	size_t head = roster_put_head(roster->header, id, time, record);

	memcpy(record + head, numbers, size);
	return append_record(roster, record, head + size, time);
}

static int append_schedule(struct sonde_roster *roster,
			   const struct named *named, uint64_t time)
{
	const int32_t numbers[NUMBERS_MAX] = {
		named->tid,
		named->pid,
		(int32_t)named->schedule.policy,
		named->schedule.prio,
		named->schedule.nice,
	};

	return append_numbers(roster, SCHEDULE_ID, time, numbers);
}

static int append_contained(struct sonde_roster *roster,
			    const struct contained *contained)
{
	const int32_t numbers[NUMBERS_MAX] = {
		(int32_t)contained->image, contained->tid,     contained->pid,
		contained->own_tid,        contained->own_pid,
	};
	int rc = add_contained(roster);

	if (rc)
		return rc;
	return append_numbers(roster, CONTAINED_ID, contained->seen, numbers);
}

static int append_origin(struct sonde_roster *roster,
			 const struct origin *origin)
{
	unsigned char record[HEAD_BYTES + 12 + SONDE_CGROUP_BYTES];
	unsigned char *at = record + roster_put_head(roster->header, PROCESS_ID,
						     origin->seen, record);
	size_t length = strlen(origin->group); /* < SONDE_CGROUP_BYTES */

	memcpy(at, &origin->pid, 4);
	memcpy(at + 4, &origin->ppid, 4);
	memcpy(at + 8, &origin->pid_ns, 4);
	memcpy(at + 12, origin->group, length + 1);
	return append_record(roster, record,
			     (size_t)(at - record) + 12 + length + 1,
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

/* ---- numbers ---- */

static int order_contained(const struct contained *a, const struct contained *b)
{
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static void keep_contained(struct sonde_roster *roster, size_t i,
			   const struct contained *now)
{
	struct contained *list = roster->contained;

	if (roster->nr_contained == SONDE_ROSTER_NAMES_MAX) {
		memmove(list, list + 1, --roster->nr_contained * sizeof(*list));
		i -= i > 0;
	}
	/* Without memory it is told again at the next look. */
	if (SONDE_GROW(roster->contained, roster->nr_contained,
		       roster->contained_room))
		return;
	list = roster->contained;
	memmove(list + i + 1, list + i,
		(roster->nr_contained++ - i) * sizeof(*list));
	list[i] = *now;
}

static void contain(struct sonde_roster *roster, struct contained now)
{
	const struct contained *list = roster->contained;
	bool is_known;
	size_t i;

	SONDE_SEARCH(i, roster->nr_contained,
		     order_contained(&list[i], &now) < 0);
	is_known = i < roster->nr_contained && !order_contained(&list[i], &now);
	if (is_known && list[i].own_tid == now.own_tid &&
	    list[i].pid == now.pid && list[i].own_pid == now.own_pid)
		return;
	now.seen = roster->output->now();
	if (append_contained(roster, &now))
		return; /* to be tried again at the next look */
	if (is_known)
		roster->contained[i] = now;
	else
		keep_contained(roster, i, &now);
}

/* Of a thread of a process that has numbers of its own. */
static void look_at_numbers(struct sonde_roster *roster,
			    const struct look *look, int32_t tid)
{
	uint64_t own;

	if (!sonde_proc_status(tid, "NSpid", 10, &own))
		contain(roster, (struct contained){
					.image = look->image,
					.tid = tid,
					.pid = look->pid,
					.own_tid = (int32_t)own,
					.own_pid = look->own_pid,
				});
}

/* Whose the image is, and whether its events have other numbers than ours: it is
 * in another PID namespace, or its children by fork are, which have its arena. */
static int begin_look(const struct sonde_roster *roster,
		      const struct sonde_arena_source *image,
		      struct look *ret_look)
{
	const pid_t pid = sonde_arena_source_pid(image);
	struct look look = {
		.image = sonde_arena_source_id(image),
		.pid = pid,
		.pid_ns = sonde_process_ns(pid, "pid"),
	};
	uint32_t children_ns = sonde_process_ns(pid, "pid_for_children");
	uint64_t own;
	int rc = sonde_proc_status(pid, "NSpid", 10, &own);

	if (rc)
		return rc;
	look.own_pid = (int32_t)own;
	look.is_contained =
		own != (uint64_t)pid ||
		(look.pid_ns && (look.pid_ns != roster->our_pid_ns ||
				 (children_ns && children_ns != look.pid_ns)));
	*ret_look = look;
	return 0;
}

/* Before the first look, perhaps: then its own number and ours are known all the
 * same of who said hello, as our number of that one is the kernel's word. Who was
 * found may have another's arena. */
static void look_at_ended(struct sonde_roster *roster,
			  const struct sonde_arena_source *image)
{
	const int32_t pid = sonde_arena_source_pid(image);
	const int32_t own = sonde_arena_source_own_pid(image);

	if (own == pid)
		return;
	if (sonde_arena_source_is_found(image))
		sonde_roster_disown(roster, image);
	else
		contain(roster, (struct contained){
					.image = sonde_arena_source_id(image),
					.tid = pid,
					.pid = pid,
					.own_tid = own,
					.own_pid = own,
				});
	publish(roster);
}

void sonde_roster_disown(struct sonde_roster *roster,
			 const struct sonde_arena_source *image)
{
	if (!roster || roster->output->disk_error)
		return;
	contain(roster,
		(struct contained){ .image = sonde_arena_source_id(image) });
	publish(roster);
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

static void look_at_thread(struct sonde_roster *roster, const struct look *look,
			   int32_t tid)
{
	const int32_t pid = look->pid;
	struct named now = { .tid = tid, .pid = pid };
	char text[NAME_BYTES + 2];
	struct named *known;

	if (look->is_contained)
		look_at_numbers(roster, look, tid);
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

static void look_at_origin(struct sonde_roster *roster, const struct look *look)
{
	char group[SONDE_CGROUP_BYTES];
	struct origin now = {
		.pid = look->pid,
		.ppid = sonde_process_parent(look->pid),
		.pid_ns = look->pid_ns,
	};
	struct origin *known = now.ppid ? origin_place(roster, now.pid) : NULL;

	if (!known)
		return;
	if (!sonde_process_cgroup(now.pid, group))
		*group = '\0';
	if (known->ppid == now.ppid && known->pid_ns == now.pid_ns &&
	    !strcmp(known->group, group))
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

void sonde_roster_look(struct sonde_roster *roster,
		       const struct sonde_arena_source *image)
{
	struct look look;
	int32_t tid;
	uint32_t nr = 0;
	DIR *dir;

	if (!roster || roster->output->disk_error)
		return;
	if (begin_look(roster, image, &look)) {
		look_at_ended(roster, image);
		return;
	}
	look_at_origin(roster, &look);
	dir = sonde_proc_dir(look.pid, "task");
	while (dir && nr++ < SONDE_ROSTER_THREADS_MAX &&
	       (tid = sonde_proc_next(dir)) >= 0)
		look_at_thread(roster, &look, tid);
	if (dir)
		(void)closedir(dir); /* it was only read */
	publish(roster);
}

/* What is known of a thread, or of a process: one of them. */
struct known {
	uint64_t seen;
	const struct named *named;
	const struct origin *origin;
	const struct contained *contained;
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
	for (size_t i = 0; i < roster->nr_contained; i++)
		list[nr++] =
			(struct known){ .seen = roster->contained[i].seen,
					.contained = &roster->contained[i] };
	return nr;
}

static void copy_known(struct sonde_roster *to, const struct known *known)
{
	const struct named *named = known->named;

	if (known->contained)
		(void)append_contained(to, known->contained);
	else if (known->origin)
		(void)append_origin(to, known->origin);
	else
		(void)append_name(to, named, 0);
	if (named && named->is_scheduled)
		(void)append_schedule(to, named, named->seen);
}

void sonde_roster_copy(const struct sonde_roster *roster,
		       struct sonde_roster *to)
{
	size_t nr = roster ? roster->nr_names + roster->nr_origins +
				     roster->nr_contained :
			     0;
	struct known *list = nr && to ? calloc(nr, sizeof(*list)) : NULL;

	if (!list)
		return;
	nr = list_known(roster, list);
	/* A stream's events are in order of time. What has no room is missing,
	 * as what wasn't seen is. */
	qsort(list, nr, sizeof(*list), compare_seen);
	for (size_t i = 0; i < nr; i++)
		copy_known(to, &list[i]);
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
	free(roster->contained);
	free(roster->names);
	free(roster);
}
