/* SPDX-License-Identifier: MIT */
/*
 * recorder_programs.c - see recorder_parts.h: a place for each process that is
 * recorded, what it gets of memory and descriptors, and its end.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "ring/control.h"
#include "sys/foreign.h"
#include "sys/proc.h"

#define DESCRIPTORS_SPARE 8u
/* What is pinned has such a part of the memory of all else, but that at least. */
#define PINS_SHARE 8u
#define PINS_LEAST (2ull * SONDE_SUBBUF_MIN)

struct sonde_output *sonde_recorder_programs(const struct sonde_recorder *r)
{
	return sonde_session_output(r->session, SONDE_CTF_PROGRAMS);
}

void sonde_recorder_forget_pidfd(struct sonde_recorder_program *program)
{
	if (program->pidfd >= 0)
		(void)close(program->pidfd); /* leaves the epoll by that */
	program->pidfd = -1;
}

static void close_source(struct sonde_arena_source *source)
{
	struct sonde_source *base = sonde_arena_source_base(source);

	base->ops->close(base);
}

bool sonde_recorder_is_broken(const struct sonde_recorder_program *program)
{
	return program->consumer && sonde_consumer_is_broken(program->consumer);
}

static void tell_last(struct sonde_recorder_state *state,
		      const struct sonde_arena_source *source)
{
	sonde_recorder_tell_code(state, source);
	sonde_mappings_forget(state->mappings, source);
}

static void unpin_events(struct sonde_recorder *r,
			 struct sonde_recorder_program *program)
{
	sonde_session_remove(r->session, program->pins);
	program->pins = NULL;
	sonde_budget_give(&r->budget,
			  sonde_arena_source_geometry(program->pin_source));
	close_source(program->pin_source);
	program->pin_source = NULL;
}

static void drain_program(struct sonde_recorder *r,
			  struct sonde_recorder_program *program)
{
	sonde_consumer_stop(program->consumer);
	sonde_consumer_drain(program->consumer);
	tell_last(&r->state, program->source);
	tell_last(&r->ending, program->source);
	if (!sonde_consumer_is_broken(program->consumer))
		sonde_arena_source_tell(program->source, &r->summary);
	sonde_session_remove(r->session, program->consumer);
	program->consumer = NULL;
	if (program->pins)
		unpin_events(r, program);
}

static void stop_counting(struct sonde_recorder *r,
			  struct sonde_recorder_program *program)
{
	struct sonde_source *base = sonde_arena_source_base(program->source);

	base->ops->stop(base);
	sonde_counts_free(program->counts);
	program->counts = NULL;
	sonde_arena_source_tell(program->source, &r->summary);
}

void sonde_recorder_end_program(struct sonde_recorder *r,
				struct sonde_recorder_program *program)
{
	/* While its rings are there. */
	sonde_recorder_heed_end(r, program);
	sonde_recorder_listen(r, program);
	sonde_recorder_disarm(r, program);
	sonde_budget_give(&r->budget,
			  sonde_arena_source_geometry(program->source));
	if (program->consumer)
		drain_program(r, program);
	else
		stop_counting(r, program);
	close_source(program->source);
	program->source = NULL;
	sonde_recorder_forget_pidfd(program);
	r->nr_programs--;
}

void sonde_recorder_finish_if_over(struct sonde_recorder *r,
				   struct sonde_recorder_program *program)
{
	if (program->source && (sonde_recorder_is_broken(program) ||
				sonde_arena_source_is_over(program->source)))
		sonde_recorder_end_program(r, program);
}

/* Arenas nobody has any more: after exec, or when the last child has ended. */
void sonde_recorder_look_for_ended(struct sonde_recorder *r)
{
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++)
		sonde_recorder_finish_if_over(r, &r->programs[i]);
	sonde_foreign_tend();
	r->last_look_ns = sonde_monotonic_ns();
}

static struct sonde_recorder_program *free_place(struct sonde_recorder *r)
{
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++)
		if (!r->programs[i].source)
			return &r->programs[i];
	return NULL;
}

bool sonde_recorder_knows(const struct sonde_recorder *r, dev_t dev, ino_t ino)
{
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++)
		if (r->programs[i].source &&
		    sonde_arena_source_is_arena(r->programs[i].source, dev,
						ino))
			return true;
	return false;
}

/* Who presents itself is known by its pidfd, which is taken over. */
static void watch_creator(struct sonde_recorder *r,
			  struct sonde_recorder_program *program,
			  struct sonde_peer *who, pid_t pid)
{
	/* Without a pidfd, its end is found by and by. */
	program->pidfd = who->pid == pid ? who->pidfd : sonde_proc_pidfd(pid);
	if (who->pid == pid)
		who->pidfd = -1;
	if (program->pidfd >= 0 &&
	    sonde_recorder_watch(r, program->pidfd, SONDE_RECORDER_PIDFD,
				 (uint32_t)(program - r->programs)))
		sonde_recorder_forget_pidfd(program);
}

_Static_assert(SONDE_DECLARED_ENOUGH == SONDE_STATE_COMPACT_MAX + 1,
	       "counted as far as compact headers hold, and one more");

/* Which headers make the process's events cheapest; compact ones if that can't
 * be found out. */
static enum sonde_header_kind choose_header(struct sonde_recorder *r,
					    const struct sonde_arena_view *view,
					    pid_t pid)
{
	/* All events can have a number then, and there are no headers. */
	if (sonde_session_counts(r->config->session))
		return SONDE_LARGE;
	switch (r->config->session->headers) {
	case SONDE_HEADERS_COMPACT:
		return SONDE_COMPACT;
	case SONDE_HEADERS_LARGE:
		return SONDE_LARGE;
	case SONDE_HEADERS_AUTO:
		break;
	}
	/* One that runs has most of its events. */
	if (!r->declared || (view->is_found && sonde_arena_nr_entries(view) <=
						       SONDE_STATE_COMPACT_MAX))
		return SONDE_COMPACT;
	sonde_declared_restart(r->declared);
	if (sonde_declared_add_process(r->declared, pid))
		return SONDE_COMPACT;
	return sonde_declared_nr(r->declared) < SONDE_DECLARED_ENOUGH ?
		       SONDE_COMPACT :
		       SONDE_LARGE;
}

/* Descriptors are handed out lowest first: `fd`, the newest, tells how many
 * there are. Whether those of one more image are left: one stream for each
 * CPU, and a second file while it changes over. */
static bool has_descriptors(const struct sonde_recorder *r, int fd)
{
	uint32_t nr_slots = r->config->session->pins_size > 1 ? 2 : 1;

	return (uint64_t)fd + 2 * nr_slots * r->budget.nr_online +
		       DESCRIPTORS_SPARE <
	       r->descriptors_max;
}

static int start_counting(const struct sonde_recorder *r,
			  struct sonde_recorder_program *program)
{
	struct sonde_source *base = sonde_arena_source_base(program->source);
	struct sonde_source_error none;

	program->counts =
		sonde_counts_new(r->config->session->board, program->source);
	if (program->counts)
		return base->ops->start(base, 0, &none);
	close_source(program->source);
	program->source = NULL;
	return -ENOMEM;
}

/* Whether all is kept in memory until somebody asks. */
static bool keeps_all(const struct sonde_recorder *r)
{
	return r->config->session->mode == SONDE_OVERWRITE;
}

/* What was asked for and its events don't have. */
static void note_what_is_lacking(struct sonde_recorder *r,
				 const struct sonde_arena_source_config *config,
				 const struct sonde_consumer_config *consumer,
				 const char *called)
{
	if (config->setup.contexts && !consumer->contexts)
		sonde_summary_note(&r->summary,
				   "%s (pid %d): its events have no contexts "
				   "(--context): they are of probes, or its "
				   "libsonde is older, or of 32 bits",
				   called, (int)config->pid);
	else if (config->setup.stacks_depth && !consumer->has_stacks)
		sonde_summary_note(&r->summary,
				   "%s (pid %d): its events have no call "
				   "stacks (--stack): its libsonde is older, "
				   "or of 32 bits",
				   called, (int)config->pid);
}

/* A source that is there goes to the trace; on error it is closed. */
static int consume_source(struct sonde_recorder *r,
			  const struct sonde_arena_source_config *config,
			  struct sonde_arena_source *source,
			  struct sonde_consumer **ret_consumer)
{
	char name[SONDE_ARENA_NAME_CHARS + 32];
	char comment[SONDE_ARENA_NAME_CHARS + 32];
	char files[SONDE_ARENA_NAME_CHARS + 32];
	struct sonde_consumer_config consumer = {
		.class_id = config->id,
		.header = config->setup.header,
		.mode = config->keeps ? SONDE_OVERWRITE : config->setup.mode,
		.vpid = (uint32_t)config->pid,
		.start = config->setup.inherits ? r->began : 0,
		.name = name,
		.comment = comment,
		.files = files,
	};
	const char *called = sonde_arena_source_name(source);
	const char *what = config->is_pin ? ", pinned" : "";
	struct sonde_source_error none;
	uint32_t depth;
	int rc;

	consumer.has_stacks = sonde_arena_source_stacks(source, &depth);
	consumer.contexts = sonde_arena_source_contexts(source);
	note_what_is_lacking(r, config, &consumer, called);
	(void)snprintf(name, sizeof(name), "%s (pid %d)%s", called,
		       (int)config->pid, what);
	(void)snprintf(comment, sizeof(comment), "%s, pid %d%s", called,
		       (int)config->pid, what);
	(void)snprintf(files, sizeof(files), "%s-%d-%u", called,
		       (int)config->pid, config->id);
	rc = sonde_session_add(r->session, SONDE_CTF_PROGRAMS,
			       sonde_arena_source_base(source), &consumer,
			       ret_consumer);
	if (!rc && sonde_arena_source_is_resumed(source)) {
		rc = sonde_consumer_describe(*ret_consumer);
		if (rc)
			sonde_session_remove(r->session, *ret_consumer);
	}
	if (!rc)
		return sonde_consumer_start(*ret_consumer, 0, &none);
	close_source(source);
	return rc;
}

/* Beside its rings, those of what is pinned: an eighth as large. */
static int pin_source(struct sonde_recorder *r,
		      const struct sonde_arena_source_config *config,
		      struct sonde_arena_source *recorded,
		      struct sonde_arena_source **ret_source)
{
	uint64_t bytes = sonde_geometry_ring_bytes(
				 sonde_arena_source_geometry(recorded)) /
			 PINS_SHARE;
	struct sonde_arena_source_config ours = *config;
	struct sonde_geometry *geometry = &ours.setup.geometry;
	struct sonde_arena_view view;
	int rc = sonde_arena_source_reopen(recorded, &view);

	if (rc)
		return rc;
	if (bytes < PINS_LEAST)
		bytes = PINS_LEAST;
	rc = sonde_budget_take_beside(&r->budget, view.lanes_only, bytes, 0,
				      geometry);
	if (!rc) {
		rc = sonde_arena_source_new(&ours, &view, ret_source);
		if (rc)
			sonde_budget_give(&r->budget, geometry);
	}
	sonde_arena_close(&view); /* what wasn't taken over */
	return rc;
}

/* After `config`, which records all else. */
static int pin_events(struct sonde_recorder *r,
		      const struct sonde_arena_source_config *config,
		      struct sonde_recorder_program *program)
{
	struct sonde_arena_source_config ours = *config;
	int rc;

	ours.id = sonde_session_take_class(r->session, SONDE_CTF_PROGRAMS);
	ours.filters = NULL;
	ours.pins = NULL;
	ours.is_pin = true;
	ours.keeps = keeps_all(r);
	ours.setup.mode = SONDE_DISCARD;
	ours.setup.header = SONDE_COMPACT;
	ours.setup.stacks_depth = 0;
	ours.setup.contexts = 0;
	ours.setup.loglevel = SONDE_LOGLEVEL_ALL;
	ours.setup.rules = r->config->session->pins;
	ours.setup.rules_size = r->config->session->pins_size;
	rc = pin_source(r, &ours, program->source, &program->pin_source);
	if (rc)
		return rc;
	rc = consume_source(r, &ours, program->pin_source, &program->pins);
	if (!rc)
		return 0;
	sonde_budget_give(&r->budget, &ours.setup.geometry);
	program->pin_source = NULL;
	program->pins = NULL;
	return rc;
}

/* What is told of a second is told from here on: looking for programs, and putting
 * probes in, may take longer than the recording does. */
static void begin_time(struct sonde_recorder *r)
{
	if (r->first_ns)
		return;
	r->first_ns = sonde_monotonic_ns();
	if (sonde_session_counts(r->config->session))
		r->config->session->board->began_ns = r->first_ns;
}

/* What the recording has is made for the view, which is taken over. */
static int record_arena(struct sonde_recorder *r,
			const struct sonde_arena_source_config *config,
			struct sonde_arena_view *view,
			struct sonde_recorder_program *program)
{
	int rc = sonde_arena_source_new(config, view, &program->source);

	if (rc)
		return rc;
	begin_time(r);
	if (config->setup.mode >= SONDE_COUNT)
		return start_counting(r, program);
	rc = consume_source(r, config, program->source, &program->consumer);
	if (!rc && config->pins) {
		rc = pin_events(r, config, program);
		if (rc) {
			sonde_session_remove(r->session, program->consumer);
			close_source(program->source);
		}
	}
	if (rc) {
		program->source = NULL;
		program->consumer = NULL;
	}
	return rc;
}

static void set_read_timer(struct sonde_recorder *r,
			   const struct sonde_geometry *geometry)
{
	uint32_t limit = sonde_geometry_record_limit(geometry);
	uint64_t next_ns;

	if (sonde_session_counts(r->config->session))
		return;
	if (!r->summary.least_record_limit ||
	    limit < r->summary.least_record_limit)
		r->summary.least_record_limit = limit;
	sonde_read_timer_limit(&r->read_timer,
			       sonde_geometry_ring_bytes(geometry));
	/* The read_timer may have become faster while we slept at the old one. */
	next_ns = sonde_monotonic_ns() + r->read_timer.interval_ns;
	if (r->next_read_ns > next_ns)
		r->next_read_ns = next_ns;
}

static int make_program(struct sonde_recorder *r, struct sonde_arena_view *view,
			struct sonde_peer *who, pid_t pid, const char *name,
			struct sonde_recorder_program **ret_program)
{
	struct sonde_recorder_program *program = free_place(r);
	struct sonde_arena_source_config config = {
		.setup = r->setup,
		.pid = pid,
		.name = name,
		.filters = r->filters,
	};
	bool has_pins = r->config->session->pins_size > 1;
	int rc;

	if (sonde_recorder_knows(r, view->dev, view->ino))
		return -EALREADY;
	if (!program)
		return -EUSERS;
	if (!has_descriptors(r, view->fd))
		return -EMFILE;
	if (has_pins)
		config.pins = r->config->session->pins;
	rc = sonde_budget_take(&r->budget, view->lanes_only,
			       &config.setup.geometry);
	if (rc)
		return rc;
	if (!config.setup.inherits ||
	    !sonde_arena_find_left(view, config.setup.session,
				   config.setup.mode, &config.setup.header))
		config.setup.header = choose_header(r, view, pid);
	r->last_header = config.setup.header;
	/* Used up even if it fails: the trace may know it. */
	config.id = sonde_session_take_class(r->session, SONDE_CTF_PROGRAMS);
	rc = record_arena(r, &config, view, program);
	if (rc) {
		sonde_budget_give(&r->budget, &config.setup.geometry);
		return rc;
	}
	watch_creator(r, program, who, pid);
	r->nr_programs++;
	sonde_recorder_arm(r, program);
	/* It may have less than was wanted. */
	set_read_timer(r, sonde_arena_source_geometry(program->source));
	if (program->pin_source)
		set_read_timer(
			r, sonde_arena_source_geometry(program->pin_source));
	*ret_program = program;
	return 0;
}

const char *sonde_recorder_refusal(int error)
{
	switch (error) {
	case -ENOSPC:
		return "no memory left in the budget; try a larger --memory";
	case -EUSERS:
		return "too many processes at a time";
	case -EMFILE:
	case -ENFILE:
		return "too many processes for ulimit -n; raise it";
	case -EFBIG:
		return "ulimit -f leaves no room for its trace memory; "
		       "raise it";
	case -ENOMEM:
		return "the system has no memory left for it";
	case -EDQUOT:
		return "the directory of --arena (SONDE_ARENA) has no room for "
		       "its rings; make some, or give a smaller --memory";
	case -EPIPE:
		return "it did not wait for the recorder";
	case -ETIME:
		return "it connected, said nothing, and others needed its "
		       "place";
	case -EBUSY:
		return "other recordings have all its slots, or had them with "
		       "other sizes; give the same --memory, --subbuf and "
		       "--headers as one of those";
	case -EPROTONOSUPPORT:
		return "its libsonde is of another version; rebuild it";
	case -ENODEV:
		return "its time stamp counter is turned off (PR_SET_TSC)";
	case -EACCES:
		return "it belongs to another user";
	case -EOPNOTSUPP:
		return "its libsonde is older than attaching; rebuild it, or "
		       "start it with SONDE_ATTACHABLE=1 in its environment";
	case -ENOSYS:
		return "it runs under a seccomp filter, which could kill it "
		       "for mapping its rings; start it with SONDE_ATTACHABLE=1 "
		       "or SONDE_SECCOMP=allow in its environment";
	case -ENXIO:
		return "its libsonde is older than counting; rebuild it";
	case -EDOM:
		return "it runs already, and can't be given conditions for "
		       "tracepoints of its own";
	case -ESRCH:
		return "it ended before it could be told whose it is";
	case -EPROTO:
	case -EBADF:
	case -EINVAL:
		return "its trace memory is not as it should be";
	default:
		return strerrordesc_np(-error);
	}
}

/* Takes over the view, whatever happens. */
int sonde_recorder_admit_view(struct sonde_recorder *r,
			      struct sonde_arena_view *view,
			      struct sonde_peer *who, pid_t pid,
			      const char *name,
			      struct sonde_recorder_program **ret_program)
{
	int rc = make_program(r, view, who, pid, name, ret_program);

	if (rc == -ENOSPC || rc == -EMFILE || rc == -EUSERS) {
		/* Shares of those that ended without our notice. */
		sonde_recorder_look_for_ended(r);
		rc = make_program(r, view, who, pid, name, ret_program);
	}
	sonde_arena_close(view);
	return rc;
}

int sonde_recorder_admit(struct sonde_recorder *r, int arena_fd,
			 struct sonde_peer *who, pid_t pid, const char *name,
			 struct sonde_recorder_program **ret_program)
{
	struct sonde_arena_view view;
	int rc = sonde_arena_open(arena_fd, &view);

	return rc ? rc :
		    sonde_recorder_admit_view(r, &view, who, pid, name,
					      ret_program);
}
