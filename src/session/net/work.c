/* SPDX-License-Identifier: MIT */
/*
 * work.c - words between those who are there now go to the engine, if it can carry
 * them (work.h).
 */
#include "session/net/work.h"

#include <errno.h>

#include "session/net/engine.h"

static int check_engine(struct sonde_net *net)
{
	return net->engine->work ?
		       0 :
		       sonde_net_fail(net->error, -EOPNOTSUPP,
				      "workers and machines are asked by "
				      "nats://HOST or tls://HOST only");
}

int sonde_net_work_begin(struct sonde_net *net, const uint8_t job[16])
{
	int err = check_engine(net);

	return err ? err : net->engine->work->begin(net, job);
}

int sonde_net_work_offer(struct sonde_net *net)
{
	return net->engine->work->offer(net);
}

int sonde_net_work_hear(struct sonde_net *net, int wait_ms,
			struct sonde_net_heard_word *ret_word)
{
	return net->engine->work->hear(net, wait_ms, ret_word);
}

int sonde_net_work_answer(struct sonde_net *net, const void *bytes, size_t size)
{
	return net->engine->work->answer(net, bytes, size);
}

void sonde_net_work_end(struct sonde_net *net)
{
	if (net->engine->work)
		net->engine->work->end(net);
}

int sonde_net_work_await(struct sonde_net *net, int wait_ms,
			 uint8_t ret_job[16])
{
	int err = check_engine(net);

	return err ? err : net->engine->work->await(net, wait_ms, ret_job);
}

int sonde_net_work_say(struct sonde_net *net, const uint8_t job[16],
		       const struct sonde_net_heard_word *word, int wait_ms,
		       struct sonde_net_heard_word *ret_answer)
{
	int err = check_engine(net);

	return err ? err :
		     net->engine->work->say(net, job, word, wait_ms,
					    ret_answer);
}

int sonde_net_work_call(struct sonde_net *net, const char *by,
			const uint8_t job[16],
			const struct sonde_net_heard_word *word)
{
	int err = check_engine(net);

	return err ? err : net->engine->work->call(net, by, job, word);
}

int sonde_net_work_told(struct sonde_net *net, int wait_ms,
			char ret_host[SONDE_NET_NAME_MAX + 1],
			struct sonde_net_heard_word *ret_word)
{
	return net->engine->work->told(net, wait_ms, ret_host, ret_word);
}

int sonde_net_work_called(struct sonde_net *net, int wait_ms,
			  char ret_by[SONDE_NET_NAME_MAX + 1],
			  struct sonde_net_heard_word *ret_word)
{
	int err = check_engine(net);

	return err ? err :
		     net->engine->work->called(net, wait_ms, ret_by, ret_word);
}

int sonde_net_work_tell(struct sonde_net *net, const char *host,
			const uint8_t job[16],
			const struct sonde_net_heard_word *word)
{
	return net->engine->work->tell(net, host, job, word);
}
