/* SPDX-License-Identifier: MIT */
/*
 * recorder_ends.c - see recorder_parts.h: what other parts of the recorder have
 * done: a descriptor waited for, all rings read, traces opened, the recording ended.
 * They know of none of those.
 *
 * A recording ends once; where the front end holds hooks, it is asked to take them out
 * first, and is waited for HOLDER_NS at most.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "sys/proc.h"

#define HOLDER_NS 5000000000ull

int sonde_recorder_watch(struct sonde_recorder *r, int fd,
			 enum sonde_recorder_event source, uint32_t index)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u64 = (uint64_t)source << 32 | index,
	};

	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int sonde_recorder_open_traces(const struct sonde_recorder *r,
			       struct sonde_session *session, int dir,
			       const char *name)
{
	int below;
	int rc;

	if (!r->kernel)
		return sonde_session_open_trace(session, SONDE_CTF_PROGRAMS,
						dir, name, NULL, 0);
	rc = sonde_session_kernel_open_trace(r->kernel, dir, session);
	if (rc || !sonde_session_has_programs(r->config->session))
		return rc;
	below = sonde_directory_make_below(dir, SONDE_TRACE_USER, false);
	if (below < 0)
		return below;
	rc = sonde_session_open_trace(session, SONDE_CTF_PROGRAMS, below,
				      SONDE_TRACE_USER, NULL, 0);
	(void)close(below); /* the trace has its own */
	return rc;
}

/* ---- marks ---- */

int sonde_recorder_take_mark(struct sonde_recorder *r, pid_t pid,
			     const char *line)
{
	if (!r->said)
		r->said = sonde_session_said_new(r->session, r->filters,
						 r->config->session->mode);
	return r->said ? sonde_session_said_take(r->said, pid, line) : -ENOMEM;
}

/* ---- who holds hooks ---- */

static bool ask_holder(struct sonde_recorder *r)
{
	const char end = SONDE_HOLDER_END;

	r->holder_end_ns = sonde_monotonic_ns() + HOLDER_NS;
	return send(r->config->control_fd, &end, sizeof(end), MSG_NOSIGNAL) ==
	       (ssize_t)sizeof(end);
}

int sonde_recorder_ask_functions(struct sonde_recorder *r,
				 const struct sonde_session_wish *wish,
				 struct sonde_source_error *error)
{
	const struct sonde_session_config *config = r->config->session;
	char message[1 + SONDE_RULES_MAX] = { SONDE_HOLDER_CHANGE };

	if (!config->functions_size)
		return sonde_source_fail(
			error, -EOPNOTSUPP,
			"it was started without --functions=GLOB, of which a "
			"process takes care: give some to sonde start");
	if (config->functions_have_conditions)
		return sonde_source_fail(
			error, -EOPNOTSUPP,
			"it was started with a condition on arguments, and "
			"then its functions stay what they are: start another "
			"session");
	if (!r->has_holder)
		return sonde_source_fail(
			error, -EPIPE,
			"the process that held its hooks was killed, and with "
			"it they went: start another session");
	if (*r->asked_functions)
		return sonde_source_fail(error, -EBUSY,
					 "its functions are being changed just "
					 "now; try again");
	memcpy(message + 1, wish->functions, wish->functions_size);
	if (send(r->config->control_fd, message, 1 + wish->functions_size,
		 MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	memcpy(r->asked_functions, wish->functions, wish->functions_size);
	return 0;
}

void sonde_recorder_end(struct sonde_recorder *r, enum sonde_ended why)
{
	if (r->finishing || r->is_ending)
		return;
	r->summary.ended = why;
	if (r->has_holder && ask_holder(r))
		r->is_ending = true;
	else
		r->finishing = true;
}

void sonde_recorder_read(struct sonde_recorder *r)
{
	uint32_t fullest = sonde_session_consume(r->session);

	if (r->kernel)
		sonde_session_kernel_look(r->kernel);
	if (sonde_session_has_happened(r->session))
		sonde_recorder_end(r, SONDE_ENDED_UNTIL);
	r->has_read = true;
	if (fullest > r->fullest)
		r->fullest = fullest;
	sonde_read_timer_adapt(&r->read_timer, fullest);
	r->next_read_ns = sonde_monotonic_ns() + r->read_timer.interval_ns;
}

static void lose_holder(struct sonde_recorder *r)
{
	r->has_holder = false;
	(void)epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, r->config->control_fd,
			NULL);
	sonde_summary_note(
		&r->summary,
		"the process that held the hooks of --malloc, --locks, --io "
		"or --functions was killed: from then on, nothing of these was "
		"recorded");
	r->finishing |= r->is_ending;
}

void sonde_recorder_leave_holder(struct sonde_recorder *r)
{
	struct sonde_proc_stat stat = { .state = '?' };
	pid_t holder = r->frontend.pid;
	bool is_stopped;

	(void)sonde_proc_stat(holder, &stat); /* it is told, and no more */
	is_stopped = stat.state == 'T' || stat.state == 't';
	sonde_summary_note(
		&r->summary,
		"the process that holds the hooks of --malloc, --locks, --io "
		"or --functions (pid %d) %s: they stay in the programs until it "
		"%s or is killed",
		(int)holder,
		is_stopped ? "is stopped" : "has not taken them out in time",
		is_stopped ? "goes on" : "does");
	r->finishing = true;
}

static void take_notes(struct sonde_recorder *r,
		       const struct sonde_summary *said)
{
	for (uint32_t i = 0; i < said->nr_notes && i < SONDE_NOTES_MAX; i++)
		sonde_summary_note(&r->summary, "%s", said->notes[i]);
	r->summary.nr_missed += said->nr_missed;
	r->finishing = true;
}

bool sonde_recorder_hear_holder(struct sonde_recorder *r,
				struct sonde_holder_said *ret_said)
{
	static union {
		struct sonde_summary end;
		struct sonde_holder_said change;
	} said;
	ssize_t n =
		recv(r->config->control_fd, &said, sizeof(said), MSG_DONTWAIT);

	_Static_assert(sizeof(said.end) != sizeof(said.change),
		       "they are told apart by their sizes");
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n == (ssize_t)sizeof(said.change)) {
		*ret_said = said.change;
		return true;
	}
	if (n == 1) {
		r->is_void = true;
		r->finishing = true;
	} else if (n == (ssize_t)sizeof(said.end)) {
		take_notes(r, &said.end);
	} else {
		lose_holder(r);
		*ret_said = (struct sonde_holder_said){
			.rc = -EPIPE,
			.text = "the process that holds its hooks was killed",
		};
		return *r->asked_functions;
	}
	return false;
}
