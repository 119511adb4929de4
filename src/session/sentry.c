/* SPDX-License-Identifier: MIT */
/*
 * sentry.c - see sentry.h: a source of its own (as a bell is), in discard mode, whose
 * streams are gone through record by record.
 *
 * What is known of an event is made when its id is first met: a copy of its
 * description, a condition that is always true, by which the end of its payload is
 * found, and the wishes' conditions. There are KINDS_MAX of them at most.
 *
 * A piece whose records can't be told apart any more is left at once; how many events
 * it has is known, so the rest of them counts as missed.
 */
#include "session/sentry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/expr.h"
#include "ring/layout.h"
#include "session/sentry_spans.h"
#include "types/desc.h"
#include "types/select.h"

#define SUBBUF_BYTES 16384u
#define RING_BYTES   (4 * SUBBUF_BYTES)
#define KINDS_MAX    4096u
#define TEXT_MAX     256u

/* What is known of the events with one id. */
struct sentry_kind {
	struct sonde_desc *desc; /* ours */
	struct sonde_condition *whole;
	struct sonde_condition *conditions[SONDE_SENTRY_WISHES_MAX];
	/* Of wishes that are spans, a bit each: what it is to them. */
	uint32_t begins, ends;
};

struct sentry_stream {
	uint64_t seen; /* events */
	uint64_t time; /* of the last record */
	uint32_t tid;
};

struct sonde_sentry {
	struct sonde_sentry_config config;
	struct sonde_arena_source *source;
	uint64_t nr_missed;
	struct sonde_sentry_spans spans;
	bool is_broken;
	struct sonde_source_known known;
	uint8_t events[SONDE_EVENTS_MAX];
	uint8_t ids[SONDE_LARGE_ESCAPE + 1];
	struct sentry_kind *kinds[KINDS_MAX]; /* by id */
	unsigned char piece[RING_BYTES];
	uint32_t nr_streams;
	struct sentry_stream streams[];
};

/* ---- events that are known ---- */

static void kind_free(struct sentry_kind *kind)
{
	for (uint32_t i = 0; kind && i < SONDE_SENTRY_WISHES_MAX; i++)
		sonde_condition_free(kind->conditions[i]);
	if (kind) {
		sonde_condition_free(kind->whole);
		free(kind->desc);
	}
	free(kind);
}

static bool is_selected(const char *rule, const struct sonde_desc *desc)
{
	return rule && sonde_select(rule, strlen(rule) + 1, SONDE_LOGLEVEL_ALL,
				    sonde_desc_provider(desc),
				    sonde_desc_name(desc), 0);
}

/* -ENOMEM; what doesn't fit is told, and stays out. */
static int kind_bind(const struct sonde_sentry *sentry,
		     struct sentry_kind *kind)
{
	char why[300];
	int rc = sonde_condition_new_for_process(kind->desc, "1", why,
						 sizeof(why), &kind->whole);

	for (uint32_t i = 0; !rc && i < sentry->config.nr_wishes; i++) {
		const struct sonde_sentry_wish *wish =
			&sentry->config.wishes[i];
		bool begins = is_selected(wish->rule, kind->desc);
		bool ends = is_selected(wish->end, kind->desc);

		if (!wish->given || !(begins || ends))
			continue;
		kind->begins |= begins ? UINT32_C(1) << i : 0;
		kind->ends |= ends ? UINT32_C(1) << i : 0;
		rc = sonde_given_bind(wish->given, kind->desc, "waited for",
				      sentry->config.summary,
				      &kind->conditions[i]);
		if (rc == -EINVAL)
			rc = 0;
	}
	return rc == -ENOMEM ? rc : 0;
}

/* More than there is room for are missed. */
static int sentry_add(void *ctx, uint32_t id, const struct sonde_desc *desc)
{
	struct sonde_sentry *sentry = ctx;
	struct sentry_kind *kind;
	int rc;

	if (id >= KINDS_MAX || sentry->kinds[id])
		return 0;
	kind = calloc(1, sizeof(*kind));
	if (!kind)
		return -ENOMEM;
	kind->desc = malloc(sonde_desc_size(desc));
	if (!kind->desc) {
		kind_free(kind);
		return -ENOMEM;
	}
	memcpy(kind->desc, desc, sonde_desc_size(desc));
	rc = kind_bind(sentry, kind);
	if (rc)
		kind_free(kind);
	else
		sentry->kinds[id] = kind;
	return rc;
}

/* ---- records ---- */

/* Where a piece is being read. */
struct walk {
	struct sonde_sentry *sentry;
	struct sentry_stream *stream;
	uint32_t cpu;
	const unsigned char *at, *end;
	void (*seen)(void *ctx, uint32_t wish,
		     const struct sonde_sentry_event *event);
	void *ctx;
};

static bool walk_take(struct walk *walk, void *to, size_t size)
{
	if ((size_t)(walk->end - walk->at) < size)
		return false;
	memcpy(to, walk->at, size);
	walk->at += size;
	return true;
}

/* A short time is the low bits of one that isn't before the last. */
static void walk_pass_time(struct sentry_stream *stream, uint32_t low,
			   unsigned int bits)
{
	uint64_t span = UINT64_C(1) << bits;
	uint64_t time = (stream->time & ~(span - 1)) | low;

	stream->time = time < stream->time ? time + span : time;
}

/* The header; compact ones, which is what our slot has. */
static bool walk_head(struct walk *walk, uint32_t *ret_id)
{
	uint32_t word;

	if (walk->at == walk->end)
		return false;
	if ((*walk->at & SONDE_COMPACT_ESCAPE) == SONDE_COMPACT_ESCAPE) {
		walk->at++;
		return walk_take(walk, ret_id, sizeof(*ret_id)) &&
		       walk_take(walk, &walk->stream->time,
				 sizeof(walk->stream->time));
	}
	if (!walk_take(walk, &word, sizeof(word)))
		return false;
	*ret_id = word & SONDE_COMPACT_ESCAPE;
	walk_pass_time(walk->stream, word >> (32 - SONDE_COMPACT_TIME_BITS),
		       SONDE_COMPACT_TIME_BITS);
	return true;
}

static bool walk_context(struct walk *walk)
{
	uint32_t ids[2];

	if (!walk_take(walk, ids, sizeof(ids)))
		return false;
	walk->stream->tid = ids[0];
	return true;
}

/* An event that is both ends one and begins the next. */
static void walk_span(struct sonde_sentry *sentry,
		      const struct sentry_kind *kind, uint32_t wish,
		      const struct sonde_sentry_event *event)
{
	struct sonde_expr_value value;
	struct sonde_sentry_edge edge = {
		.time = event->time,
		.desc = event->desc,
		.wish = wish,
		.tid = event->tid,
		.cpu = event->cpu,
		.is_end = true,
	};

	sonde_condition_value(kind->conditions[wish], event->payload,
			      event->size, event->tid, event->cpu, &value);
	if (value.type != SONDE_EXPR_UINT && value.type != SONDE_EXPR_INT)
		return;
	edge.key = value.type == SONDE_EXPR_UINT ? value.u : (uint64_t)value.i;
	if (kind->ends >> wish & 1)
		sonde_sentry_spans_note(&sentry->spans, &edge);
	edge.is_end = false;
	if (kind->begins >> wish & 1)
		sonde_sentry_spans_note(&sentry->spans, &edge);
}

/* Whose payload's end isn't known is the last that can be read. */
static bool walk_event(struct walk *walk, const struct sentry_kind *kind)
{
	struct sonde_sentry_event event = {
		.desc = kind->desc,
		.payload = walk->at,
		.time = walk->stream->time,
		.tid = walk->stream->tid,
		.cpu = walk->cpu,
	};

	if (!sonde_condition_payload(kind->whole, walk->at,
				     (size_t)(walk->end - walk->at),
				     &event.size))
		return false;
	for (uint32_t i = 0; i < walk->sentry->config.nr_wishes; i++) {
		const struct sonde_condition *condition = kind->conditions[i];

		if (condition && walk->sentry->config.wishes[i].end)
			walk_span(walk->sentry, kind, i, &event);
		else if (condition &&
			 sonde_condition_test(condition, event.payload,
					      event.size, event.tid, event.cpu))
			walk->seen(walk->ctx, i, &event);
	}
	walk->at += event.size;
	return true;
}

/* How many events it has. */
static uint64_t walk_all(struct walk *walk)
{
	uint64_t nr = 0;
	uint32_t id;

	while (walk_head(walk, &id)) {
		const struct sentry_kind *kind =
			id < KINDS_MAX ? walk->sentry->kinds[id] : NULL;

		if (id == SONDE_CONTEXT_ID) {
			if (!walk_context(walk))
				break;
			continue;
		}
		if (!kind || !walk_event(walk, kind))
			break;
		nr++;
	}
	return nr;
}

/* ---- looking ---- */

/* False: its numbers can't be true. */
static bool sentry_take(struct walk *walk, const struct sonde_ring_chunk *chunk)
{
	struct sonde_sentry *sentry = walk->sentry;
	struct sentry_stream *stream = walk->stream;
	uint64_t nr = chunk->events - stream->seen;
	uint64_t nr_read;

	if (chunk->size > sizeof(sentry->piece) ||
	    chunk->events < stream->seen ||
	    nr > chunk->size / SONDE_HEAD_COMPACT)
		return false;
	memcpy(sentry->piece, chunk->data, chunk->size);
	if (chunk->first)
		stream->time = chunk->ts_begin;
	walk->at = sentry->piece;
	walk->end = sentry->piece + chunk->size;
	nr_read = walk_all(walk);
	sentry->nr_missed += nr > nr_read ? nr - nr_read : 0;
	stream->seen = chunk->events;
	return true;
}

/* Once round at most: who is faster than we are must not keep us. */
static void sentry_read(struct walk *walk, uint32_t i)
{
	struct sonde_sentry *sentry = walk->sentry;
	struct sonde_source *base = sonde_arena_source_base(sentry->source);
	struct sonde_ring_chunk chunk;
	uint64_t left = RING_BYTES;
	int rc;

	while ((rc = base->ops->peek(base, i, &chunk)) > 0 && left) {
		rc = base->ops->describe(base, &sentry->known);
		if (rc == -EPROTO || !sentry_take(walk, &chunk)) {
			rc = -EPROTO;
			break;
		}
		base->ops->advance(base, i, &chunk);
		left -= chunk.size < left ? chunk.size : left;
	}
	if (rc >= 0)
		return;
	sentry->is_broken = true;
	base->ops->stop(base);
	sonde_summary_note(sentry->config.summary,
			   "%s (pid %d) has damaged its trace memory: --when "
			   "waits for nothing there any more",
			   sonde_arena_source_name(sentry->source),
			   (int)sonde_arena_source_pid(sentry->source));
}

/* Which caller is to be told of spans that are settled. */
struct settling {
	const struct sonde_sentry *sentry;
	void (*seen)(void *ctx, uint32_t wish,
		     const struct sonde_sentry_event *event);
	void *ctx;
};

static void settle_span(void *ctx, const struct sonde_sentry_edge *end,
			uint64_t length)
{
	const struct settling *settling = ctx;
	const struct sonde_sentry_event event = {
		.desc = end->desc,
		.time = end->time,
		.tid = end->tid,
		.cpu = end->cpu,
		.length = length,
	};

	if (length > settling->sentry->config.wishes[end->wish].limit)
		settling->seen(settling->ctx, end->wish, &event);
}

static void settle_until(struct sonde_sentry *sentry, uint64_t until,
			 void (*seen)(void *ctx, uint32_t wish,
				      const struct sonde_sentry_event *event),
			 void *ctx)
{
	struct settling settling = { sentry, seen, ctx };

	sonde_sentry_spans_settle(&sentry->spans, until, settle_span,
				  &settling);
}

void sonde_sentry_settle(struct sonde_sentry *sentry,
			 void (*seen)(void *ctx, uint32_t wish,
				      const struct sonde_sentry_event *event),
			 void *ctx)
{
	settle_until(sentry, UINT64_MAX, seen, ctx);
}

void sonde_sentry_look(struct sonde_sentry *sentry,
		       void (*seen)(void *ctx, uint32_t wish,
				    const struct sonde_sentry_event *event),
		       void *ctx)
{
	uint32_t nr_cpus = sonde_arena_source_geometry(sentry->source)->nr_cpus;
	/* What comes while rings are read may have come after another event
	 * that is in a ring which has been read already. */
	uint64_t until = sentry->config.now ? sentry->config.now() : 0;

	for (uint32_t i = 0; i < sentry->nr_streams && !sentry->is_broken;
	     i++) {
		struct walk walk = {
			.sentry = sentry,
			.stream = &sentry->streams[i],
			.cpu = i < nr_cpus ? i : 0,
			.seen = seen,
			.ctx = ctx,
		};

		sentry_read(&walk, i);
	}
	settle_until(sentry, until, seen, ctx);
}

uint64_t sonde_sentry_nr_missed(const struct sonde_sentry *sentry)
{
	struct sonde_source *base = sonde_arena_source_base(sentry->source);
	uint64_t nr = sentry->nr_missed + sentry->spans.nr_missed +
		      base->ops->missed(base);
	struct sonde_source_counts counts;

	for (uint32_t i = 0; i < sentry->nr_streams; i++) {
		base->ops->counts(base, i, &counts);
		nr += counts.lost_full + counts.lost_size;
	}
	return nr;
}

/* ---- fields ---- */

static void sentry_put_value(const struct sonde_expr_value *value,
			     char text[TEXT_MAX])
{
	*text = '\0';
	switch (value->type) {
	case SONDE_EXPR_UINT:
		(void)snprintf(text, TEXT_MAX, "%" PRIu64, value->u);
		break;
	case SONDE_EXPR_INT:
		(void)snprintf(text, TEXT_MAX, "%" PRId64, value->i);
		break;
	case SONDE_EXPR_DOUBLE:
		(void)snprintf(text, TEXT_MAX, "%.17g", value->d);
		break;
	case SONDE_EXPR_STRING:
		(void)snprintf(text, TEXT_MAX, "%.*s",
			       value->length < TEXT_MAX ? (int)value->length :
							  (int)TEXT_MAX,
			       value->text);
		break;
	case SONDE_EXPR_MISSING:
		break;
	}
}

/* False: it has none that is a number or a text. */
static bool sentry_value(const struct sonde_sentry_event *event,
			 const char *name, char text[TEXT_MAX])
{
	struct sonde_condition *condition;
	struct sonde_expr_value value;
	char expr[sizeof("$payload.") + SONDE_IDENT_MAX];
	char why[300];

	(void)snprintf(expr, sizeof(expr), "$payload.%s", name);
	if (sonde_condition_new_for_process(event->desc, expr, why, sizeof(why),
					    &condition))
		return false;
	sonde_condition_value(condition, event->payload, event->size,
			      event->tid, event->cpu, &value);
	sentry_put_value(&value, text);
	sonde_condition_free(condition);
	return value.type != SONDE_EXPR_MISSING;
}

void sonde_sentry_fields(const struct sonde_sentry_event *event,
			 void (*field)(void *ctx, const char *name,
				       const char *text),
			 void *ctx)
{
	struct sonde_fields fields = sonde_desc_fields(event->desc);
	struct sonde_field_view view;
	char text[TEXT_MAX];

	while (event->payload && sonde_fields_next(&fields, &view))
		if (sentry_value(event, view.name, text))
			field(ctx, view.name, text);
}

/* ---- life ---- */

static int put_rule(char rules[SONDE_RULES_MAX], size_t *used, const char *rule)
{
	size_t size = rule ? strlen(rule) + 1 : 0;

	if (size > SONDE_RULES_MAX - 1 - *used)
		return -E2BIG;
	if (rule)
		memcpy(rules + *used, rule, size);
	*used += size;
	return 0;
}

/* What its slot records: the wishes' rules, one after the other. */
static int sentry_rules(const struct sonde_sentry_config *config,
			char rules[SONDE_RULES_MAX], size_t *ret_size)
{
	size_t used = 0;

	for (uint32_t i = 0; i < config->nr_wishes; i++) {
		const struct sonde_sentry_wish *wish = &config->wishes[i];

		if (wish->given && (put_rule(rules, &used, wish->rule) ||
				    put_rule(rules, &used, wish->end)))
			return -E2BIG;
	}
	rules[used] = '\0';
	*ret_size = used + 1;
	return 0;
}

static int sentry_claim(const struct sonde_sentry_config *config,
			struct sonde_arena_source *recorded,
			struct sonde_arena_source **ret_source)
{
	char rules[SONDE_RULES_MAX];
	struct sonde_arena_source_config ours = {
		.setup = { .mode = SONDE_DISCARD,
			   .listens = true,
			   .header = SONDE_COMPACT,
			   .clock = config->clock,
			   .session = config->session,
			   .loglevel = SONDE_LOGLEVEL_ALL,
			   .rules = rules },
		.id = config->id,
		.pid = sonde_arena_source_pid(recorded),
		.name = sonde_arena_source_name(recorded),
	};
	struct sonde_arena_view view;
	int rc = sentry_rules(config, rules, &ours.setup.rules_size);

	if (!rc)
		rc = sonde_arena_source_reopen(recorded, &view);
	if (rc)
		return rc;
	rc = sonde_budget_take_beside(config->budget, view.lanes_only,
				      RING_BYTES, SUBBUF_BYTES,
				      &ours.setup.geometry);
	if (!rc) {
		rc = sonde_arena_source_new(&ours, &view, ret_source);
		if (rc)
			sonde_budget_give(config->budget, &ours.setup.geometry);
	}
	sonde_arena_close(&view); /* what wasn't taken over */
	return rc;
}

static struct sonde_sentry *
sentry_make(const struct sonde_sentry_config *config,
	    struct sonde_arena_source *source)
{
	struct sonde_source *base = sonde_arena_source_base(source);
	uint32_t nr = base->ops->nr_streams(base);
	struct sonde_sentry *sentry =
		calloc(1, sizeof(*sentry) + nr * sizeof(sentry->streams[0]));

	if (!sentry)
		return NULL;
	sentry->config = *config;
	sentry->source = source;
	sentry->nr_streams = nr;
	sentry->known = (struct sonde_source_known){
		.events = sentry->events,
		.ids = sentry->ids,
		.add = sentry_add,
		.ctx = sentry,
	};
	return sentry;
}

static void sentry_give_up(const struct sonde_sentry_config *config,
			   struct sonde_arena_source *source)
{
	struct sonde_source *base = sonde_arena_source_base(source);

	sonde_budget_give(config->budget, sonde_arena_source_geometry(source));
	base->ops->stop(base);
	base->ops->close(base);
}

int sonde_sentry_new(const struct sonde_sentry_config *config,
		     struct sonde_arena_source *recorded,
		     struct sonde_sentry **ret_sentry)
{
	struct sonde_arena_source *source;
	struct sonde_source_error none;
	struct sonde_source *base;
	int rc = sentry_claim(config, recorded, &source);

	if (rc)
		return rc;
	*ret_sentry = sentry_make(config, source);
	if (!*ret_sentry) {
		sentry_give_up(config, source);
		return -ENOMEM;
	}
	base = sonde_arena_source_base(source);
	return base->ops->start(base, 0, &none);
}

void sonde_sentry_free(struct sonde_sentry *sentry)
{
	if (!sentry)
		return;
	sentry_give_up(&sentry->config, sentry->source);
	sonde_sentry_spans_fini(&sentry->spans);
	for (uint32_t i = 0; i < KINDS_MAX; i++)
		kind_free(sentry->kinds[i]);
	free(sentry);
}
