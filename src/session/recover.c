/* SPDX-License-Identifier: MIT */
/*
 * recover.c - see recover.h: finding arenas, then their slots one after the other
 * into one trace.
 *
 * Each slot has a view of its own, so nothing that one of them holds can harm
 * another. A process that contradicts itself is given up by the consumer.
 */
#include "session/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/time.h"
#include "session/arena_source.h"
#include "session/find.h"
#include "session/mappings.h"
#include "session/roster.h"
#include "session/session.h"
#include "session/timebase.h"
#include "sys/fd.h"
#include "sys/proc.h"
#include "sys/regular.h"

/* An arena that somebody holds. */
struct holding {
	int fd; /* to be read only */
	dev_t dev;
	ino_t ino;
	pid_t pid;      /* who made it, as it says */
	bool is_there;  /* that process lives, and has it */
	uint32_t slots; /* that were left, a bit each */
	char name[33];
};

struct sonde_session_recover {
	struct holding *holdings;
	size_t nr, capacity;
	bool is_complete; /* no more are taken */
	struct sonde_session_recover_found found;
	/* While it is written. */
	struct sonde_session *session;
	struct sonde_roster *roster;
	struct sonde_mappings *mappings;
	struct sonde_timebase timebase;
	struct sonde_summary *summary;
	uint64_t nr_taken; /* events that recorders have given back */
};

struct sonde_session_recover *sonde_session_recover_new(void)
{
	return calloc(1, sizeof(struct sonde_session_recover));
}

const struct sonde_session_recover_found *
sonde_session_recover_found(const struct sonde_session_recover *recover)
{
	return &recover->found;
}

void sonde_session_recover_free(struct sonde_session_recover *recover)
{
	if (!recover)
		return;
	for (size_t i = 0; i < recover->nr; i++)
		(void)close(recover->holdings[i].fd); /* it was only read */
	free(recover->holdings);
	free(recover);
}

/* ---- finding ---- */

/* A view of the arena for one slot: locks and mappings are its own. */
static int open_again(const struct holding *holding,
		      struct sonde_arena_view *ret_view)
{
	int fd = sonde_fd_reopen(holding->fd, O_RDONLY);

	return fd < 0 ? fd : sonde_arena_open_left(fd, ret_view);
}

static void look_at_slot(struct sonde_session_recover *recover,
			 struct holding *holding, uint32_t i)
{
	struct sonde_arena_setup setup;
	struct sonde_arena_view view;
	bool is_left;
	int rc = open_again(holding, &view);

	if (rc)
		return;
	is_left = sonde_arena_slot_use(&view, i) == SONDE_SLOT_LEFT;
	rc = sonde_arena_adopt(&view, i, &setup);
	sonde_arena_close(&view);
	if (!rc)
		holding->slots |= 1u << i;
	recover->found.nr_slots += !rc;
	recover->found.nr_recorded += rc == -EBUSY;
	recover->found.nr_counting += rc == -ENOENT && is_left;
	recover->found.nr_damaged += rc && rc != -EBUSY && rc != -ENOENT;
}

/* What the arena says, and what there is in it. */
static void look_at_arena(struct sonde_session_recover *recover,
			  struct holding *holding)
{
	struct sonde_arena_view view;

	recover->found.nr_arenas++;
	if (open_again(holding, &view)) {
		recover->found.nr_damaged++;
		return;
	}
	holding->pid = (pid_t)sonde_arena_pid(&view);
	sonde_arena_name(&view, holding->name);
	if (sonde_arena_is_of_another_boot(&view)) {
		recover->found.nr_booted++;
	} else {
		for (uint32_t i = 0; i < SONDE_SLOTS; i++)
			look_at_slot(recover, holding, i);
	}
	sonde_arena_close(&view);
}

static struct holding *find_holding(struct sonde_session_recover *recover,
				    const struct stat *st)
{
	for (size_t i = 0; i < recover->nr; i++)
		if (recover->holdings[i].dev == st->st_dev &&
		    recover->holdings[i].ino == st->st_ino)
			return &recover->holdings[i];
	return NULL;
}

/* Takes over the descriptor. */
static void take_holding(void *ctx, pid_t pid, int fd)
{
	struct sonde_session_recover *recover = ctx;
	struct holding holding = { .fd = fd };
	struct holding *known = NULL;
	struct stat st;

	if (!fstat(fd, &st))
		known = find_holding(recover, &st);
	if (known)
		known->is_there |= pid == known->pid;
	if (known || recover->is_complete ||
	    SONDE_GROW(recover->holdings, recover->nr, recover->capacity)) {
		(void)close(fd); /* it was only read */
		return;
	}
	holding.dev = st.st_dev;
	holding.ino = st.st_ino;
	look_at_arena(recover, &holding);
	holding.is_there = pid == holding.pid;
	recover->holdings[recover->nr++] = holding;
}

void sonde_session_recover_look_at(struct sonde_session_recover *recover,
				   pid_t pid)
{
	int rc = sonde_find_held(pid, take_holding, recover);

	recover->found.nr_denied += rc == -EACCES;
	recover->found.nr_closed += rc == -EPERM;
}

void sonde_session_recover_look(struct sonde_session_recover *recover)
{
	DIR *dir = opendir("/proc");
	int32_t pid;

	while (dir && (pid = sonde_proc_next(dir)) > 0)
		sonde_session_recover_look_at(recover, pid);
	if (dir)
		(void)closedir(dir); /* it was only read */
}

int sonde_session_recover_look_in(struct sonde_session_recover *recover,
				  const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	char name[PATH_MAX];
	struct stat st;
	int fd;

	if (!dir)
		return -errno;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
	while ((entry = readdir(dir))) {
		(void)snprintf(name, sizeof(name), "%s/%s", path,
			       entry->d_name);
		if (!sonde_find_is_arena_link(name))
			continue;
		fd = sonde_regular_look(name, &st);
		if (fd >= 0)
			fd = sonde_regular_open(fd, O_RDONLY);
		if (fd >= 0)
			take_holding(recover, 0, fd);
	}
	(void)closedir(dir); /* it was only read */
	recover->is_complete = true;
	for (size_t i = 0; i < recover->nr; i++)
		if (recover->holdings[i].pid > 0)
			(void)sonde_find_held(recover->holdings[i].pid,
					      take_holding, recover);
	return 0;
}

/* Whatever it holds: its process may have been killed before it was an arena. */
void sonde_session_recover_remove(struct sonde_session_recover *recover)
{
	for (size_t i = 0; i < recover->nr; i++) {
		const struct holding *holding = &recover->holdings[i];
		const struct sonde_arena_view view = {
			.fd = holding->fd,
			.is_file = true,
			.dev = holding->dev,
			.ino = holding->ino,
		};

		if (!sonde_arena_is_held(&view))
			sonde_arena_remove(&view);
	}
}

/* ---- writing ---- */

/* Reads what the slot holds, and what is known of its process. */
static void drain(struct sonde_session_recover *recover,
		  const struct holding *holding,
		  struct sonde_arena_source *source,
		  struct sonde_consumer *consumer)
{
	struct sonde_source_error none;

	/* An arena's source has nothing to fail by. */
	(void)sonde_consumer_start(consumer, 0, &none);
	/* What fails here fails with the first event. */
	(void)sonde_consumer_describe(consumer);
	sonde_consumer_stop(consumer);
	sonde_consumer_drain(consumer);
	if (holding->is_there) {
		sonde_roster_look(recover->roster, source);
		sonde_mappings_look(recover->mappings, source, true);
	} else {
		sonde_roster_disown(recover->roster, source);
	}
	sonde_mappings_stacks(recover->mappings, source);
	if (holding->is_there)
		sonde_mappings_code(recover->mappings, source);
	sonde_mappings_forget(recover->mappings, source);
	if (!sonde_consumer_is_broken(consumer))
		sonde_arena_source_tell(source, recover->summary);
}

static int consume_slot(struct sonde_session_recover *recover,
			const struct holding *holding,
			const struct sonde_arena_source_config *config,
			struct sonde_arena_source *source)
{
	char name[SONDE_ARENA_NAME_CHARS + 32];
	char files[SONDE_ARENA_NAME_CHARS + 32];
	const char *called = sonde_arena_source_name(source);
	const struct sonde_consumer_config consumer_config = {
		.class_id = config->id,
		.header = config->setup.header,
		.mode = SONDE_OVERWRITE, /* all is read at the end */
		.vpid = (uint32_t)config->pid,
		.start = 1,
		.has_stacks = config->setup.stacks_depth,
		.contexts = config->setup.contexts,
		.name = name,
		.comment = name,
		.files = files,
	};
	struct sonde_consumer *consumer;
	int rc;

	(void)snprintf(name, sizeof(name), "%s (pid %d)", called,
		       (int)config->pid);
	(void)snprintf(files, sizeof(files), "%s-%d-%u", called,
		       (int)config->pid, config->id);
	rc = sonde_session_add(recover->session, SONDE_CTF_PROGRAMS,
			       sonde_arena_source_base(source),
			       &consumer_config, &consumer);
	if (rc)
		return rc;
	drain(recover, holding, source, consumer);
	sonde_session_remove(recover->session, consumer);
	return 0;
}

static void note_lost(struct sonde_session_recover *recover,
		      const struct holding *holding, const char *why)
{
	sonde_summary_note(recover->summary, "%s (pid %d) is left out: %s",
			   holding->name, (int)holding->pid, why);
}

/* 0, -EXDEV: its times are of another clock; or another -errno. */
static int recover_view(struct sonde_session_recover *recover,
			const struct holding *holding,
			struct sonde_arena_view *view, uint32_t i)
{
	struct sonde_arena_source_config config = {
		.pid = holding->pid,
		.name = holding->name,
		.is_left = true,
	};
	uint64_t cleared = recover->summary->cleared;
	struct sonde_arena_source *source;
	struct sonde_source *base;
	int rc = sonde_arena_adopt(view, i, &config.setup);

	if (rc)
		return rc;
	if ((config.setup.clock == SONDE_CLOCK_CPU) !=
	    (recover->timebase.clock.source == SONDE_CLOCK_SOURCE_CPU))
		return -EXDEV;
	config.setup.rules = ""; /* it selects nothing any more */
	config.setup.rules_size = 1;
	config.keeps = config.setup.mode == SONDE_DISCARD;
	config.id =
		sonde_session_take_class(recover->session, SONDE_CTF_PROGRAMS);
	rc = sonde_arena_source_new(&config, view, &source);
	if (rc)
		return rc;
	rc = consume_slot(recover, holding, &config, source);
	base = sonde_arena_source_base(source);
	base->ops->close(base);
	if (config.keeps) {
		recover->nr_taken += recover->summary->cleared - cleared;
		recover->summary->cleared = cleared;
	}
	return rc;
}

static void recover_slot(struct sonde_session_recover *recover,
			 const struct holding *holding, uint32_t i)
{
	struct sonde_arena_view view;
	int rc = open_again(holding, &view);

	if (!rc) {
		rc = recover_view(recover, holding, &view, i);
		sonde_arena_close(&view);
	}
	if (rc)
		note_lost(recover, holding,
			  rc == -EXDEV ? "its times are of a clock that this "
					 "machine has not chosen" :
					 strerrordesc_np(-rc));
}

static void recover_all(struct sonde_session_recover *recover)
{
	for (size_t i = 0; i < recover->nr; i++) {
		const struct holding *holding = &recover->holdings[i];

		recover->summary->nr_processes += holding->slots != 0;
		for (uint32_t k = 0; k < SONDE_SLOTS; k++)
			if (holding->slots & 1u << k)
				recover_slot(recover, holding, k);
	}
	if (recover->nr_taken)
		sonde_summary_note(recover->summary,
				   "%" PRIu64 " earlier events are not in it: "
				   "the recorders had taken them before they "
				   "were killed, and their traces have them",
				   recover->nr_taken);
}

static int write_trace(struct sonde_session_recover *recover, int dir,
		       const char *path)
{
	struct sonde_ctf_trace *trace;
	int rc = sonde_session_open_trace(recover->session, SONDE_CTF_PROGRAMS,
					  dir, path, NULL, 0);

	if (rc)
		return rc;
	recover->roster = sonde_roster_new(
		sonde_session_output(recover->session, SONDE_CTF_PROGRAMS),
		sonde_session_take_class(recover->session, SONDE_CTF_PROGRAMS),
		SONDE_COMPACT);
	recover->mappings = sonde_mappings_new(recover->session);
	recover_all(recover);
	sonde_roster_close(recover->roster);
	sonde_mappings_close(recover->mappings);
	trace = sonde_session_output(recover->session, SONDE_CTF_PROGRAMS)
			->trace;
	return sonde_timebase_finish(&recover->timebase, &trace, 1);
}

int sonde_session_recover_write(struct sonde_session_recover *recover, int dir,
				const char *path,
				struct sonde_summary *ret_summary)
{
	struct sonde_session_config config;
	struct sonde_ctf_clock clock;
	struct sonde_session_setup setup = {
		.config = &config,
		.clock = &clock,
		.summary = ret_summary,
	};
	uint64_t begin_ns = sonde_monotonic_ns();
	int closed;
	int rc;

	*ret_summary = (struct sonde_summary){ 0 };
	recover->summary = ret_summary;
	sonde_session_config_init(&config);
	sonde_timebase_init(&recover->timebase, &clock);
	setup.now = recover->timebase.now;
	recover->session = sonde_session_new(&setup);
	if (!recover->session)
		return -ENOMEM;
	rc = write_trace(recover, dir, path);
	closed = sonde_session_free(recover->session);
	ret_summary->wall_ns = sonde_monotonic_ns() - begin_ns;
	ret_summary->recorder_cpu_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	return rc ? rc : closed;
}
