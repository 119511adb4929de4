/* SPDX-License-Identifier: MIT */
/*
 * ps.c - the running processes that can be recorded (ps.h).
 *
 * Two walks through /proc: who records (by descriptors and locks), then each
 * process. What can't be looked into is counted, not guessed.
 */
#include "session/ps.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "session/arena.h"
#include "session/find.h"

#define RECORDINGS_MAX 1024u

/* A recorder has the arena: one descriptor of its. */
struct recording {
	dev_t dev;
	ino_t ino;
	struct sonde_ps_recording of;
};

struct look {
	struct sonde_ps *ps;
	bool all;
	uint32_t capacity;
	uint32_t nr_recordings;
	struct recording recordings[RECORDINGS_MAX];
};

void sonde_ps_container_of(const char *group,
			   char container[SONDE_PS_CONTAINER])
{
	const char *id = sonde_proc_container_id(group);

	(void)snprintf(container, SONDE_PS_CONTAINER, "%s", id ? id : "");
}

const char *sonde_ps_why(int able)
{
	switch (able) {
	case 0:
		return "";
	case -EPERM:
		return "it closed the descriptor of its trace memory: run as "
		       "root (CAP_CHECKPOINT_RESTORE)";
	case -ENODATA:
		return "it has no trace memory: denied when it started "
		       "(seccomp, ulimit)";
	case -ENOSYS:
		return "it runs under a seccomp filter: start it with "
		       "SONDE_ATTACHABLE=1 or SONDE_SECCOMP=allow";
	case -EOPNOTSUPP:
	case -EPROTONOSUPPORT:
		return "its libsonde is of another version";
	case -ENODEV:
		return "its time stamp counter is turned off";
	default:
		return "its trace memory is not as it should be";
	}
}

/* ---- who records ---- */

static void add_recording(struct look *look, pid_t recorder, const char *fd)
{
	struct stat st;
	char path[320];
	char link[PATH_MAX];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)recorder, fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0 || look->nr_recordings == RECORDINGS_MAX)
		return;
	link[n] = '\0';
	if (!sonde_find_is_arena_link(link) || stat(path, &st))
		return;
	/* One that waits for events has it twice (bells.h). */
	for (uint32_t i = 0; i < look->nr_recordings; i++)
		if (look->recordings[i].of.recorder == recorder &&
		    look->recordings[i].dev == st.st_dev &&
		    look->recordings[i].ino == st.st_ino)
			return;
	look->recordings[look->nr_recordings++] =
		(struct recording){ st.st_dev,
				    st.st_ino,
				    { sonde_process_parent(recorder),
				      recorder } };
}

/* Calls `act` with each entry of a directory that begins with a digit. */
static void for_each_number(const char *path,
			    void (*act)(struct look *look, pid_t pid,
					const char *name),
			    struct look *look, pid_t pid)
{
	const struct dirent *entry;
	DIR *dir = opendir(path);

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
	while (dir && (entry = readdir(dir)))
		if (*entry->d_name >= '0' && *entry->d_name <= '9')
			act(look, pid, entry->d_name);
	if (dir)
		(void)closedir(dir); /* it was only read */
}

static void look_for_recorder(struct look *look, pid_t unused, const char *word)
{
	pid_t pid = sonde_proc_number(word);
	char name[SONDE_COMM_SIZE];
	char path[48];

	(void)unused;
	sonde_process_name(pid, name);
	if (strcmp(name, SONDE_RECORDER_COMM) != 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	for_each_number(path, add_recording, look, pid);
}

static void name_recordings(const struct look *look,
			    const struct sonde_arena_view *view,
			    struct sonde_ps_row *row)
{
	for (uint32_t i = 0; i < look->nr_recordings; i++) {
		const struct recording *r = &look->recordings[i];

		if (r->ino == view->ino && r->dev == view->dev &&
		    row->nr_by < SONDE_SLOTS)
			row->by[row->nr_by++] = r->of;
	}
}

/* ---- one process ---- */

/* A session may have two slots. */
static bool is_of_an_earlier(const struct sonde_arena_view *view, uint32_t i)
{
	uint64_t session = sonde_arena_slot_session(view, i);
	bool is_earlier = false;

	for (uint32_t j = 0; j < i; j++)
		is_earlier |=
			sonde_arena_slot_use(view, j) != SONDE_SLOT_UNUSED &&
			sonde_arena_slot_session(view, j) == session;
	return is_earlier;
}

static int read_arena(const struct look *look, int fd, struct sonde_ps_row *row)
{
	struct sonde_arena_view view;
	int rc = sonde_arena_open_found(fd, &view);

	if (rc)
		return rc;
	row->nr_events = sonde_arena_nr_events(&view);
	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		enum sonde_slot_use use = sonde_arena_slot_use(&view, i);

		if (use == SONDE_SLOT_UNUSED || is_of_an_earlier(&view, i))
			continue;
		row->nr_recording += use == SONDE_SLOT_USED;
		row->nr_left += use == SONDE_SLOT_LEFT;
	}
	name_recordings(look, &view, row);
	rc = view.is_once ? 0 : sonde_find_can_reach(&view, row->pid);
	sonde_arena_close(&view);
	return rc;
}

/* A program that knows nothing of Sonde, which has no part of its own in it. */
static bool knows_nothing(pid_t pid)
{
	char path[48];
	char exe[8]; /* a thread of the kernel's has none */

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return !sonde_find_is_ours(pid) &&
	       readlink(path, exe, sizeof(exe)) >= 0;
}

/* Whether it is listed; counts what isn't. */
static bool ps_take_process(struct look *look, struct sonde_ps_row *row)
{
	int fd = -1;

	row->able = sonde_find_arena(row->pid, &fd);
	row->is_plain = row->able == -ENOENT && knows_nothing(row->pid);
	look->ps->nr_plain += row->is_plain;
	look->ps->nr_denied += row->able == -EACCES;
	if (row->is_plain)
		row->able = 0;
	else if (!row->able)
		row->able = read_arena(look, fd, row);
	else
		return row->able == -EPERM || row->able == -ENODATA;
	return !row->is_plain || look->all;
}

static void look_at_process(struct look *look, pid_t unused, const char *word)
{
	struct sonde_ps_row row = { .pid = sonde_proc_number(word) };

	(void)unused;
	if (!ps_take_process(look, &row))
		return;
	row.uid = sonde_process_uid(row.pid);
	sonde_process_name(row.pid, row.name);
	if (sonde_process_cgroup(row.pid, row.group))
		sonde_ps_container_of(row.group, row.container);
	/* What can't be added for want of memory is left out. */
	if (!SONDE_GROW(look->ps->rows, look->ps->nr, look->capacity))
		look->ps->rows[look->ps->nr++] = row;
}

/* ---- all ---- */

static int by_number(const void *a, const void *b)
{
	const struct sonde_ps_row *left = a;
	const struct sonde_ps_row *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

int sonde_ps_look(bool all, struct sonde_ps *ret_ps)
{
	struct look *look = calloc(1, sizeof(*look));

	*ret_ps = (struct sonde_ps){ 0 };
	if (!look)
		return -ENOMEM;
	look->ps = ret_ps;
	look->all = all;
	for_each_number("/proc", look_for_recorder, look, 0);
	for_each_number("/proc", look_at_process, look, 0);
	if (ret_ps->nr)
		qsort(ret_ps->rows, ret_ps->nr, sizeof(*ret_ps->rows),
		      by_number);
	free(look);
	return 0;
}

void sonde_ps_free(struct sonde_ps *ps)
{
	free(ps->rows);
	*ps = (struct sonde_ps){ 0 };
}
