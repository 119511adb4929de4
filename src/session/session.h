/* SPDX-License-Identifier: MIT */
/*
 * session.h - a session: sources of events that come and go, the traces they
 * are written to, and the account of all.
 *
 * A session writes one trace for each domain (ctf/trace.h): readers choose
 * their views by that. What it records is said by its configuration
 * (session/config.h); who opens sources, and when, is its owner's business
 * (session/recorder.h), as are files and processes: a session makes no call but
 * those of its sources and traces.
 *
 * A source is added, started, and removed, each at any time. Removing it stops
 * it and writes what it still holds; so does stopping the session, for all of
 * them. A trigger is a source whose events go nowhere: they tell that something
 * has happened.
 *
 * Accounts, at any time:
 *
 *	emitted = recorded + discarded + overwritten + lost_disk +
 *		  what sources hold and was not read
 *
 * Life: new, open_trace, (add, start, consume, change, snapshot, remove) in any
 * order, stop, free. One thread.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "session/config.h"
#include "session/consumer.h"

#define SONDE_SESSION_DOMAINS 2u

struct sonde_session;

struct sonde_session_setup {
	const struct sonde_session_config *config; /* borrowed */
	const struct sonde_ctf_clock *clock;       /* of the traces; copied */
	uint64_t (*now)(void);                     /* that clock, now */
	struct sonde_summary *summary;             /* borrowed */
	uint32_t packet_max; /* bytes of the largest sub-buffer of a program */
	/* Called between two pieces of work, when other things may be urgent;
	 * may add and remove sources. NULL: there is nothing. */
	void (*between)(void *ctx);
	void *ctx;
};

/* NULL: no memory left. */
struct sonde_session *
sonde_session_new(const struct sonde_session_setup *setup);

/* A domain's trace, in the empty directory `dir`. Sources of it come after
 * that. If it has one, this is the next, for sonde_session_turn(); -EBUSY: that one
 * isn't the last yet. 0 or -errno. */
int sonde_session_open_trace(struct sonde_session *session,
			     enum sonde_ctf_domain domain, int dir,
			     const char *name, const struct sonde_ctf_env *env,
			     size_t nr_env);

/* The clock of its traces; borrowed from the session. */
const struct sonde_ctf_clock *
sonde_session_clock(const struct sonde_session *session);

/* Where events of the domain go; the trace in it is NULL if there is none. */
struct sonde_output *sonde_session_output(const struct sonde_session *session,
					  enum sonde_ctf_domain domain);

/* A number for a stream class that is not used yet. */
uint32_t sonde_session_take_class(struct sonde_session *session,
				  enum sonde_ctf_domain domain);

/* The source is borrowed until it is removed. config->class_id is one that was
 * taken. 0 or -errno. */
int sonde_session_add(struct sonde_session *session,
		      enum sonde_ctf_domain domain, struct sonde_source *source,
		      const struct sonde_consumer_config *config,
		      struct sonde_consumer **ret_consumer);

/* Stops it, writes what is left, and lets go of the source. */
void sonde_session_remove(struct sonde_session *session,
			  struct sonde_consumer *consumer);

/* Every source that was not started yet, or none of them: half of what was
 * asked for would be taken for all. */
int sonde_session_start(struct sonde_session *session, pid_t root,
			struct sonde_source_error *error);

/* One round over all sources: returns how
 * full the fullest buffer was, in thousandths. */
uint32_t sonde_session_consume(struct sonde_session *session);

/* Whether a trigger's event has happened. */
bool sonde_session_has_happened(const struct sonde_session *session);

/* Other rules, for all sources that run, or for none of them. 0, or -errno with
 * *error: -EOPNOTSUPP if a source can't. */
int sonde_session_change(struct sonde_session *session,
			 const struct sonde_source_change *change,
			 struct sonde_source_error *error);

/* What is selected now: the configuration's rules, or the last change's. */
const struct sonde_source_change *
sonde_session_selected(const struct sonde_session *session);

/*
 * Overwrite mode: what the sources of a domain hold now goes to the trace of
 * `copy`, a session that has that trace open and no source yet; the session
 * goes on. What is in it is told in the summary of `copy`, and so are the
 * sources that can't be read while they record. State that was told to the
 * session's own trace is not: who wants it in the copy collects it again.
 * 0 or -errno; what was written before an error stays.
 */
int sonde_session_snapshot(struct sonde_session *session,
			   enum sonde_ctf_domain domain,
			   struct sonde_session *copy);

/*
 * Discard mode: to the next trace of each domain, which has been opened. Its sources
 * of events, and of state that is taken, turn stream by stream (session/consumer.h);
 * the output that sonde_session_output() has is that one's from then on. State that
 * was told to the trace before is not told to it. Until sonde_session_is_turning() is false, which
 * consuming brings about, the traces before stay open, as sonde_session_ending(),
 * and others can't be turned to. 0, or -errno: then all is as before, but for what is
 * in the directories; so it is if it doesn't go, since one could not be opened.
 */
int sonde_session_turn(struct sonde_session *session, bool goes);
bool sonde_session_is_turning(const struct sonde_session *session);
struct sonde_output *sonde_session_ending(const struct sonde_session *session,
					  enum sonde_ctf_domain domain);
/* Closes the traces before. 0 or -errno. */
int sonde_session_end_turn(struct sonde_session *session);

/* Overwrite mode: drops what the sources of programs hold, and goes on. 0; or
 * -EOPNOTSUPP if one can't, -ENOMEM: some may have been cleared. */
int sonde_session_clear(struct sonde_session *session,
			enum sonde_ctf_domain domain);

/* What became of all events, up to now; of removed sources, too, with what the
 * sources hold (sonde_consumer_survey()), and without state that was told. */
void sonde_session_survey(struct sonde_session *session,
			  struct sonde_consumer_counts *ret_counts);

/* What is wrong with it, or with one of its sources; NULL: nothing. For tests. */
const char *sonde_session_check(const struct sonde_session *session);

/* Removes all sources, closes the traces. NULL is fine. 0, or -errno of the
 * first trace that could not be closed. */
int sonde_session_free(struct sonde_session *session);

#endif /* SESSION_SESSION_H */
