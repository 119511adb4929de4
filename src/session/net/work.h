/* SPDX-License-Identifier: MIT */
/*
 * work.h - words between those who are there now, by an engine (net.h): one has
 * work to give, others take it. Nothing of it is kept anywhere.
 *
 *	who has work			who takes it
 *	sonde_net_work_begin()		sonde_net_work_await()	a job, offered
 *	sonde_net_work_offer()	...	sonde_net_work_say()	and an answer
 *	sonde_net_work_hear()
 *	sonde_net_work_answer()	...
 *
 * A *job* is what one who has work wants done, and 16 bytes that nobody else
 * has. Words are bytes, up to SONDE_NET_WORK_MAX; they may be lost, and come twice
 * if they are said again. What is heard is a stranger's.
 *
 * Errors: as of net.h; -EOPNOTSUPP: this engine can't, with words.
 */
#ifndef SESSION_NET_WORK_H
#define SESSION_NET_WORK_H

#include <stdbool.h>

#include "session/net/net.h"

/* Less than what servers take if nobody says how much that is (1 MiB). */
#define SONDE_NET_WORK_MAX ((size_t)512 << 10)

struct sonde_net_heard_word {
	const void *bytes; /* until the next word is heard, or said */
	size_t size;
};

/* What is said of this job from now on will be heard. */
int sonde_net_work_begin(struct sonde_net *net, const uint8_t job[16]);
/* Tells all who wait. */
int sonde_net_work_offer(struct sonde_net *net);
/* The next word about the job: 1; 0: none within `wait_ms`. */
int sonde_net_work_hear(struct sonde_net *net, int wait_ms,
			struct sonde_net_heard_word *ret_word);
/* To who said the word that was heard last. */
int sonde_net_work_answer(struct sonde_net *net, const void *bytes,
			  size_t size);
/* Nothing is heard any more. */
void sonde_net_work_end(struct sonde_net *net);

/* 1 and a job that somebody offers; 0: none within `wait_ms`. */
int sonde_net_work_await(struct sonde_net *net, int wait_ms,
			 uint8_t ret_job[16]);
/* 1 and the answer; 0: there was none within `wait_ms`; -ENOENT: nobody hears what
 * is said of that job. */
int sonde_net_work_say(struct sonde_net *net, const uint8_t job[16],
		       const struct sonde_net_heard_word *word, int wait_ms,
		       struct sonde_net_heard_word *ret_answer);

/* ---- words to all hosts, and each one's answer ---- */

/*
 *	who asks			each host
 *	sonde_net_work_call()		sonde_net_work_called()
 *	sonde_net_work_told()  ...	sonde_net_work_tell()
 *
 * Which host an answer is of, is said by where the engine let it be said.
 */

/* Says it to all who are there, as the host `by` or, if that is "", as none; and
 * listens for what is told about the job. */
int sonde_net_work_call(struct sonde_net *net, const char *by,
			const uint8_t job[16],
			const struct sonde_net_heard_word *word);
/* The next answer, of any host: 1; 0: none within `wait_ms`. */
int sonde_net_work_told(struct sonde_net *net, int wait_ms,
			char ret_host[SONDE_NET_NAME_MAX + 1],
			struct sonde_net_heard_word *ret_word);

/* What somebody says to all: 1; 0: nothing within `wait_ms`. Which host that is, or
 * "", is said by where the engine let it be said. */
int sonde_net_work_called(struct sonde_net *net, int wait_ms,
			  char ret_by[SONDE_NET_NAME_MAX + 1],
			  struct sonde_net_heard_word *ret_word);
/* As `host`, to who called with that job. */
int sonde_net_work_tell(struct sonde_net *net, const char *host,
			const uint8_t job[16],
			const struct sonde_net_heard_word *word);

/* Of an engine; each as the function that is called like it. */
struct sonde_net_work_engine {
	int (*begin)(struct sonde_net *net, const uint8_t job[16]);
	int (*offer)(struct sonde_net *net);
	int (*hear)(struct sonde_net *net, int wait_ms,
		    struct sonde_net_heard_word *ret_word);
	int (*answer)(struct sonde_net *net, const void *bytes, size_t size);
	void (*end)(struct sonde_net *net);
	int (*await)(struct sonde_net *net, int wait_ms, uint8_t ret_job[16]);
	int (*say)(struct sonde_net *net, const uint8_t job[16],
		   const struct sonde_net_heard_word *word, int wait_ms,
		   struct sonde_net_heard_word *ret_answer);
	int (*call)(struct sonde_net *net, const char *by,
		    const uint8_t job[16],
		    const struct sonde_net_heard_word *word);
	int (*told)(struct sonde_net *net, int wait_ms,
		    char ret_host[SONDE_NET_NAME_MAX + 1],
		    struct sonde_net_heard_word *ret_word);
	int (*called)(struct sonde_net *net, int wait_ms,
		      char ret_by[SONDE_NET_NAME_MAX + 1],
		      struct sonde_net_heard_word *ret_word);
	int (*tell)(struct sonde_net *net, const char *host,
		    const uint8_t job[16],
		    const struct sonde_net_heard_word *word);
};

#endif /* SESSION_NET_WORK_H */
