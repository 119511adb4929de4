/* SPDX-License-Identifier: MIT */
/*
 * said.c - see said.h: records in memory (source/statedump/packets.h), and a source
 * that delivers them. Of programs' events each has the record of whose it is before it,
 * as packets may be cut between any two.
 */
#include "session/said.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/marks/table.h"
#include "source/statedump/packets.h"

#define SAID_BYTES (4u << 20)
#define SAID_WHOSE 8u /* u32 tid, u32 pid (ring/layout.h) */

struct sonde_session_said {
	struct sonde_source base; /* first */
	struct sonde_session *session;
	struct sonde_session_marks *wanted;
	struct sonde_marks *table;
	enum sonde_ctf_domain domain;
	enum sonde_ring_mode mode;
	struct sonde_consumer *consumer; /* NULL: nothing was said yet */
	struct sonde_out out;
	uint64_t cleared; /* events before that */
};

/* ---- the source ---- */

static struct sonde_session_said *said_of(struct sonde_source *base)
{
	return (struct sonde_session_said *)base;
}

static int said_describe(struct sonde_source *base,
			 struct sonde_source_known *known)
{
	const struct sonde_marks *table = said_of(base)->table;
	int rc = 0;

	for (; !rc && known->nr < sonde_marks_nr(table); known->nr += !rc)
		rc = known->add(known->ctx, SONDE_SOURCE_FIRST_ID + known->nr,
				sonde_marks_desc(table, known->nr));
	return rc;
}

static uint32_t said_nr_streams(const struct sonde_source *base)
{
	(void)base;
	return 1;
}

static void said_stream(const struct sonde_source *base, uint32_t i,
			struct sonde_source_stream *ret_stream)
{
	(void)base;
	(void)i;
	*ret_stream = (struct sonde_source_stream){ .name = "marks" };
}

/* Nothing happens by itself. */
static void said_stop(struct sonde_source *base)
{
	sonde_out_flush(&said_of(base)->out);
}

/* Whoever says something is asked for by the session's rules, as they are. */
static int said_change(struct sonde_source *base,
		       const struct sonde_source_change *change,
		       struct sonde_source_error *error)
{
	(void)base;
	(void)change;
	(void)error;
	return 0;
}

static int said_peek(struct sonde_source *base, uint32_t i,
		     struct sonde_ring_chunk *ret_chunk)
{
	(void)i;
	return sonde_out_peek(&said_of(base)->out, ret_chunk);
}

static void said_advance(struct sonde_source *base, uint32_t i,
			 const struct sonde_ring_chunk *chunk)
{
	(void)i;
	(void)chunk; /* it was all of the packet */
	sonde_out_advance(&said_of(base)->out);
}

static int said_rewind(struct sonde_source *base, uint32_t i)
{
	(void)i;
	sonde_out_rewind(&said_of(base)->out);
	return said_of(base)->out.first != NULL;
}

static bool said_verify(const struct sonde_source *base, uint32_t i,
			const struct sonde_ring_chunk *chunk)
{
	(void)base;
	(void)i;
	(void)chunk; /* its only writer is the thread that reads it */
	return true;
}

static int said_clear(struct sonde_source *base)
{
	struct sonde_session_said *said = said_of(base);

	sonde_out_clear(&said->out);
	said->cleared = said->out.events;
	return 0;
}

static void said_part(struct sonde_source *base, uint32_t i)
{
	(void)i;
	sonde_out_flush(&said_of(base)->out);
}

/* Each packet is one. */
static bool said_is_parted(const struct sonde_source *base, uint32_t i)
{
	(void)base;
	(void)i;
	return true;
}

static uint64_t said_capacity(const struct sonde_source *base, uint32_t i)
{
	(void)base;
	(void)i;
	return SAID_BYTES;
}

static void said_counts(struct sonde_source *base, uint32_t i,
			struct sonde_source_counts *ret_counts)
{
	const struct sonde_out *out = &said_of(base)->out;

	(void)i;
	*ret_counts = (struct sonde_source_counts){
		.delivered = out->delivered,
		.lost_full = out->lost - out->lost_before,
		.lost_marks = out->lost_before,
		.overwritten = out->overwritten,
		.committed = out->events,
		.cleared = said_of(base)->cleared,
	};
}

static const struct sonde_source_ops said_ops = {
	.name = "marks",
	.is_foreign = true,
	.describe = said_describe,
	.nr_streams = said_nr_streams,
	.stream = said_stream,
	.stop = said_stop,
	.change = said_change,
	.peek = said_peek,
	.advance = said_advance,
	.rewind = said_rewind,
	.verify = said_verify,
	.clear = said_clear,
	.part = said_part,
	.is_parted = said_is_parted,
	.capacity = said_capacity,
	.counts = said_counts,
};

/* ---- life ---- */

struct sonde_session_said *sonde_session_said_new(struct sonde_session *session,
						  struct sonde_filters *filters,
						  enum sonde_ring_mode mode)
{
	const struct sonde_output *programs =
		sonde_session_output(session, SONDE_CTF_PROGRAMS);
	struct sonde_session_said *said = calloc(1, sizeof(*said));

	if (!said)
		return NULL;
	said->base.ops = &said_ops;
	said->session = session;
	said->mode = mode;
	said->domain = programs->trace ? SONDE_CTF_PROGRAMS : SONDE_CTF_KERNEL;
	said->wanted = sonde_session_marks_new();
	said->table = sonde_marks_new(said->domain == SONDE_CTF_KERNEL);
	sonde_out_init(&said->out, programs->now, 0, SAID_BYTES);
	said->out.has_no_context = said->domain == SONDE_CTF_PROGRAMS;
	said->out.keeps_newest = mode == SONDE_OVERWRITE;
	if (said->wanted && said->table) {
		sonde_session_marks_bind(said->wanted, session, filters);
		return said;
	}
	sonde_session_said_free(said);
	return NULL;
}

void sonde_session_said_end(struct sonde_session_said *said)
{
	if (said && said->consumer)
		sonde_session_remove(said->session, said->consumer);
	if (said)
		said->consumer = NULL;
}

void sonde_session_said_free(struct sonde_session_said *said)
{
	if (!said)
		return;
	sonde_out_fini(&said->out);
	sonde_marks_free(said->table);
	sonde_session_marks_free(said->wanted);
	free(said);
}

static int said_begin(struct sonde_session_said *said)
{
	const struct sonde_consumer_config config = {
		.class_id =
			sonde_session_take_class(said->session, said->domain),
		.header = SONDE_LARGE,
		.mode = said->mode,
		.comment = "marks that were said to the recorder",
		.name = said_ops.name,
		.files = "",
	};
	struct sonde_source_error none;
	int rc = sonde_session_add(said->session, said->domain, &said->base,
				   &config, &said->consumer);

	return rc ? rc : sonde_consumer_start(said->consumer, 0, &none);
}

/* ---- marks ---- */

static uint8_t *said_put_head(struct sonde_session_said *said, pid_t pid,
			      const struct sonde_marks_taken *taken)
{
	const uint32_t whose[2] = { (uint32_t)pid, (uint32_t)pid };
	uint8_t *at;

	said->out.tid = (uint32_t)pid;
	if (said->domain == SONDE_CTF_PROGRAMS) {
		at = sonde_out_context(&said->out, SONDE_CONTEXT_ID, SAID_WHOSE,
				       taken->size);
		if (!at)
			return NULL;
		memcpy(at, whose, sizeof(whose));
	}
	return sonde_out_event(&said->out,
			       (uint16_t)(SONDE_SOURCE_FIRST_ID + taken->kind),
			       taken->size);
}

/* Counts what it says is lost, wanted or not. 0; -ENOENT: it isn't wanted; or -errno. */
static int said_judge(struct sonde_session_said *said, pid_t pid,
		      const struct sonde_marks_taken *taken)
{
	const struct sonde_source_marks *wanted =
		sonde_session_marks_wants(said->wanted);
	bool is_wanted = wanted->wants(wanted->ctx, taken, (uint32_t)pid, 0);
	int rc = 0;

	if (!said->consumer && (is_wanted || taken->loss))
		rc = said_begin(said);
	if (rc)
		return rc;
	sonde_out_lose(&said->out, taken->loss);
	return is_wanted ? 0 : -ENOENT;
}

int sonde_session_said_take(struct sonde_session_said *said, pid_t pid,
			    const char *line)
{
	struct sonde_marks_taken taken;
	uint8_t *at;
	int rc;

	if (!sonde_session_output(said->session, said->domain)->trace)
		return -ENODEV;
	rc = sonde_marks_take(said->table, line, strlen(line), &taken);
	if (!rc)
		rc = said_judge(said, pid, &taken);
	if (rc)
		return rc;
	at = said_put_head(said, pid, &taken);
	if (!at)
		return -ENOSPC;
	memcpy(at, taken.payload, taken.size);
	if (said->mode == SONDE_OVERWRITE)
		return 0;
	sonde_out_flush(&said->out);
	(void)sonde_consumer_pass(said->consumer); /* how full is no matter */
	return 0;
}
