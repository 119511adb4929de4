/* SPDX-License-Identifier: MIT */
/*
 * consumer.c - see consumer.h. A chunk's numbers are checked before they get
 * into any sum, and its bytes are copied before they are counted.
 */
#include "session/consumer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "session/kept.h"
#include "types/desc.h"

#define NAME_CHARS  64
#define REWINDS_MAX 64u
/* Less than this behind a writer is nothing to hurry for. */
#define CAUGHT_UP_BYTES 4096u
#define TURN_QUIET_NS   2000000ull
#define TURN_MAX_NS     1000000000ull

enum consumer_state {
	CONSUMER_NEW,
	CONSUMER_STARTED,
	CONSUMER_STOPPED,
	CONSUMER_DRAINED,
};

struct consumer_stream {
	struct sonde_ctf_stream *stream; /* NULL: not opened */
	struct sonde_kept *kept;         /* of what is read once; or NULL */
	uint64_t next_seq; /* of the sub-buffer after the last one begun */
	uint64_t seen;
	uint64_t recorded;
	uint64_t overwritten;
	uint64_t lost_disk;
	uint64_t cleared;
	uint64_t told;     /* of what is missing: in traces that have ended */
	uint64_t quiet_ns; /* since when it is parted; 0: it isn't */
	bool is_behind;    /* what it has goes to the trace that ends */
	bool defines;      /* as the source says */
	bool begins;       /* a trace: only with what can be read there */
	bool in_packet;
	bool broken;
};

/* A trace, and what it was told of the source. */
struct consumer_goal {
	struct sonde_consumer *consumer;
	struct sonde_output *output; /* NULL: there is none */
	struct sonde_source_known known;
};

struct sonde_consumer {
	struct sonde_source *source;
	struct sonde_consumer_config config;
	char name[NAME_CHARS];
	char files[NAME_CHARS];
	uint64_t start; /* clock value: nothing was written before */
	enum consumer_state state;
	bool broken;
	bool has_happened;
	bool told_of_passing; /* that something was lost for want of means */
	bool is_copy;         /* for a snapshot; what is kept is another's */
	/* The one that goes on, and the one that ends or is yet to begin. */
	struct consumer_goal *goal, *other;
	struct consumer_goal goals[2];
	uint32_t nr_behind;
	uint64_t turned_ns;
	uint32_t nr_streams;
	struct consumer_stream streams[];
};

/* ---- errors ---- */

/* What it delivers makes no sense. */
static void give_up(struct sonde_consumer *consumer, uint32_t i,
		    const char *why)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	struct sonde_source_stream stream;

	if (consumer->broken || consumer->streams[i].broken)
		return;
	consumer->streams[i].broken = true;
	if (ops->is_foreign) {
		consumer->broken = true;
		ops->stop(consumer->source);
		sonde_summary_note(consumer->goal->output->summary,
				   "%s is not recorded any more: %s",
				   consumer->name, why);
		return;
	}
	ops->stream(consumer->source, i, &stream);
	sonde_summary_note(consumer->goal->output->summary,
			   "%s: what the kernel wrote to stream %s makes no "
			   "sense; it is not recorded any more",
			   consumer->name, stream.name);
}

/* Errors that are about what a process gave us, not about the trace. */
static bool is_its_own(const struct sonde_consumer *consumer, int error)
{
	if (!consumer->source->ops->is_foreign)
		return false;
	return error == -EPROTO || error == -EINVAL || error == -EFAULT ||
	       error == -EMSGSIZE;
}

bool sonde_output_failed(struct sonde_output *output, int error)
{
	/* Errors that end when other processes do. */
	if (error == -EMFILE || error == -ENFILE || error == -ENOMEM) {
		if (!output->summary->disk_error)
			output->summary->disk_error = error;
		return true;
	}
	if (!output->disk_error)
		output->disk_error = error;
	output->summary->disk_error = output->disk_error;
	return false;
}

/* Something could not be written. The trace's files are given up only if they
 * themselves are the reason. */
static void write_failed(struct sonde_consumer *consumer,
			 struct sonde_output *output, int error)
{
	if (is_its_own(consumer, error) || !sonde_output_failed(output, error))
		return;
	if (consumer->told_of_passing)
		return;
	consumer->told_of_passing = true;
	sonde_summary_note(output->summary, "%s is not recorded in full: %s",
			   consumer->name,
			   error == -ENOMEM ? "no memory left" :
					      "too many open files; raise "
					      "ulimit -n");
}

/* ---- events ---- */

/* Most programs run more than once: count an event of theirs once. */
static void count_event(struct sonde_output *output,
			const struct sonde_desc *desc)
{
	uint32_t bit = sonde_desc_hash(desc) % SONDE_OUTPUT_SEEN_BITS;
	uint8_t mask = (uint8_t)(1u << bit % 8);

	if (output->seen[bit / 8] & mask)
		return;
	output->seen[bit / 8] |= mask;
	output->summary->nr_event_types++;
}

static int add_event(void *ctx, uint32_t id, const struct sonde_desc *desc)
{
	const struct consumer_goal *goal = ctx;
	const struct sonde_consumer *consumer = goal->consumer;
	int rc = sonde_ctf_trace_add_event(goal->output->trace,
					   consumer->config.class_id, id, desc);

	if (!rc && !consumer->source->ops->is_state)
		count_event(goal->output, desc);
	return rc;
}

static int describe_to(struct consumer_goal *goal)
{
	struct sonde_source *source = goal->consumer->source;

	return source->ops->describe ?
		       source->ops->describe(source, &goal->known) :
		       0;
}

int sonde_consumer_describe(struct sonde_consumer *consumer)
{
	return describe_to(consumer->goal);
}

static void goal_fini(struct consumer_goal *goal)
{
	free(goal->known.events);
	free(goal->known.ids);
	*goal = (struct consumer_goal){ 0 };
}

/* Where what the stream has goes. */
static struct consumer_goal *goal_of(struct sonde_consumer *consumer,
				     const struct consumer_stream *stream)
{
	return stream->is_behind ? consumer->other : consumer->goal;
}

/* Adds the stream class, and the events that the source knows from the start. */
static int add_class(struct sonde_consumer *consumer,
		     const struct sonde_output *output, const char *comment)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	struct sonde_ctf_trace *trace = output->trace;
	const struct sonde_consumer_config *config = &consumer->config;
	uint32_t nr = ops->nr_events ? ops->nr_events(consumer->source) : 0;
	int rc = sonde_ctf_trace_add_class(trace, config->class_id,
					   config->header, comment);

	if (!rc && config->has_stacks)
		sonde_ctf_trace_give_stacks(trace, config->class_id,
					    config->contexts);
	for (uint32_t i = 0; !rc && i < nr; i++)
		rc = sonde_ctf_trace_add_event(trace, config->class_id,
					       SONDE_SOURCE_FIRST_ID + i,
					       ops->event(consumer->source, i));
	return rc;
}

/* ---- chunks ---- */

static int open_stream(struct sonde_consumer *consumer, uint32_t i)
{
	struct sonde_source_stream stream;
	char name[sizeof(consumer->files) + sizeof(stream.name) + 1];
	struct sonde_ctf_stream_config config = {
		.class_id = consumer->config.class_id,
		.vpid = consumer->config.vpid,
		.instance = i,
		.name = name,
	};

	consumer->source->ops->stream(consumer->source, i, &stream);
	config.cpu_id = stream.cpu;
	(void)snprintf(name, sizeof(name), "%s%s%s", consumer->files,
		       *consumer->files ? "_" : "", stream.name);
	return sonde_ctf_stream_open(
		goal_of(consumer, &consumer->streams[i])->output->trace,
		&config, &consumer->streams[i].stream);
}

/* Events that may be missing between two chunks of a stream. In discard mode
 * every sub-buffer is seen; else, no writer emits one each tick of the clock. */
static uint64_t most_overwritten(const struct sonde_consumer *consumer)
{
	if (consumer->config.mode == SONDE_DISCARD)
		return 0;
	return consumer->goal->output->now() - consumer->start;
}

/* False if the chunk's numbers can't be true. */
static bool is_plausible(const struct sonde_consumer *consumer, uint32_t i,
			 const struct sonde_ring_chunk *chunk)
{
	uint64_t from = consumer->streams[i].seen;

	if (chunk->first) {
		if (chunk->events_before < from ||
		    chunk->events_before - from > most_overwritten(consumer))
			return false;
		from = chunk->events_before;
	}
	return chunk->events >= from &&
	       chunk->events - from <= chunk->size / SONDE_HEAD_COMPACT;
}

/* Events that were overwritten before the chunk. */
static void count_gap(struct consumer_stream *stream,
		      const struct sonde_ring_chunk *chunk)
{
	if (!chunk->first || chunk->events_before <= stream->seen)
		return;
	stream->overwritten += chunk->events_before - stream->seen;
	stream->seen = chunk->events_before;
}

/* Copies a chunk to the trace; nobody sees it before publish. */
static int append(struct sonde_consumer *consumer, uint32_t i,
		  const struct sonde_ring_chunk *chunk)
{
	struct consumer_stream *stream = &consumer->streams[i];
	int rc = describe_to(goal_of(consumer, stream));
	uint64_t nr_between = 0;
	uint64_t time;

	if (!rc && !stream->stream)
		rc = open_stream(consumer, i);
	if (!rc && (chunk->first || !stream->in_packet)) {
		(void)sonde_ring_begins_anew(chunk, consumer->config.header,
					     &time); /* or it goes on */
		/* Another trace has the sub-buffer's beginning. */
		if (chunk->seq > stream->next_seq)
			nr_between = chunk->seq - stream->next_seq;
		rc = sonde_ctf_packet_begin(stream->stream, time, nr_between);
		stream->in_packet = !rc;
	}
	if (!rc)
		rc = sonde_ctf_packet_append(stream->stream, chunk->data,
					     chunk->size);
	return rc;
}

/* Events of the stream that are not in it, as the trace counts them;
 * `discarded` by the source. */
static uint64_t missing(const struct consumer_stream *stream,
			uint64_t discarded)
{
	uint64_t all = discarded + stream->overwritten + stream->lost_disk;

	return all > stream->told ? all - stream->told : 0;
}

static int publish(struct sonde_consumer *consumer,
		   struct consumer_stream *stream,
		   const struct sonde_ring_chunk *chunk)
{
	uint64_t end =
		chunk->closed ? chunk->ts_end : consumer->goal->output->now();

	if (end < chunk->ts_begin)
		end = chunk->ts_begin;
	return sonde_ctf_packet_publish(stream->stream, end,
					missing(stream, chunk->discarded));
}

/* The chunk is dealt with. */
static void count(struct sonde_consumer *consumer,
		  struct consumer_stream *stream,
		  const struct sonde_ring_chunk *chunk, bool recorded)
{
	uint64_t events = chunk->events - stream->seen;
	struct sonde_output *output;

	stream->seen = chunk->events;
	stream->next_seq = chunk->seq + 1;
	if (chunk->closed)
		stream->in_packet = false;
	if (!recorded) {
		stream->lost_disk += events;
		return;
	}
	stream->recorded += events;
	output = goal_of(consumer, stream)->output;
	if (!consumer->source->ops->is_state) {
		output->recorded +=
			consumer->config.is_apart || stream->defines ? 0 :
								       events;
		output->bytes += chunk->size;
	}
	output->summary->bytes += chunk->size;
}

static bool was_touched(const struct sonde_consumer *consumer, uint32_t i,
			const struct sonde_ring_chunk *chunk)
{
	const struct sonde_source_ops *ops = consumer->source->ops;

	return consumer->config.mode == SONDE_OVERWRITE && ops->verify &&
	       !ops->verify(consumer->source, i, chunk);
}

/* ---- turning to another trace ---- */

static uint64_t nr_discarded(const struct sonde_source_counts *counts)
{
	return counts->lost_full + counts->lost_size + counts->lost_unread +
	       counts->lost_damaged + counts->lost_marks;
}

/* What a foreign source that was given up says is not worth a thing. */
static void source_counts(const struct sonde_consumer *consumer, uint32_t i,
			  struct sonde_source_counts *ret_counts)
{
	*ret_counts = (struct sonde_source_counts){ 0 };
	if (!consumer->broken)
		consumer->source->ops->counts(consumer->source, i, ret_counts);
}

/* Of all that is missing, what this trace has to say; and closes the stream. */
static void close_stream(struct sonde_consumer *consumer, uint32_t i,
			 uint64_t nr_missing)
{
	struct consumer_stream *stream = &consumer->streams[i];
	struct sonde_output *output = goal_of(consumer, stream)->output;
	int rc = 0;

	if (!stream->stream && nr_missing)
		rc = open_stream(consumer, i);
	if (!rc)
		rc = sonde_ctf_stream_close(stream->stream, output->now(),
					    nr_missing);
	if (rc)
		write_failed(consumer, output, rc);
	stream->stream = NULL;
	stream->in_packet = false;
	stream->told += nr_missing;
}

/* What comes next in the stream goes to the other trace. */
static void turn_stream(struct sonde_consumer *consumer, uint32_t i)
{
	struct consumer_stream *stream = &consumer->streams[i];
	struct sonde_source_counts counts;

	source_counts(consumer, i, &counts);
	close_stream(consumer, i, missing(stream, nr_discarded(&counts)));
	stream->is_behind = false;
	stream->begins = true;
	if (!--consumer->nr_behind)
		goal_fini(consumer->other);
}

/* False: nobody could read the chunk where it goes. */
static bool keeps_going(struct sonde_consumer *consumer, uint32_t i,
			const struct sonde_ring_chunk *chunk)
{
	struct consumer_stream *stream = &consumer->streams[i];
	uint64_t time;

	if (!stream->is_behind && !stream->begins)
		return true;
	if (sonde_ring_begins_anew(chunk, consumer->config.header, &time)) {
		if (stream->is_behind)
			turn_stream(consumer, i);
		stream->begins = false;
	}
	return !stream->begins;
}

/* After a pass: those of which nothing came that could be read by itself. */
static void settle_streams(struct sonde_consumer *consumer)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	uint64_t now = sonde_monotonic_ns();
	bool is_late = now - consumer->turned_ns >= TURN_MAX_NS;

	for (uint32_t i = 0; i < consumer->nr_streams; i++) {
		struct consumer_stream *stream = &consumer->streams[i];
		bool is_parted;

		if (!stream->is_behind)
			continue;
		is_parted = ops->is_parted(consumer->source, i);
		if (is_parted && !stream->quiet_ns)
			stream->quiet_ns = now;
		if (is_late || stream->broken ||
		    (is_parted && now - stream->quiet_ns >= TURN_QUIET_NS)) {
			turn_stream(consumer, i);
		} else if (!is_parted) {
			stream->quiet_ns = 0;
			ops->part(consumer->source, i);
		}
	}
}

bool sonde_consumer_is_behind(const struct sonde_consumer *consumer)
{
	return consumer->nr_behind > 0;
}

/* The chunk goes to the trace, or is counted as lost. 0; -ESTALE: a writer was
 * faster; -EPROTO: the source was given up. */
static int take_chunk(struct sonde_consumer *consumer, uint32_t i,
		      const struct sonde_ring_chunk *chunk)
{
	struct consumer_stream *stream = &consumer->streams[i];
	bool goes_on = keeps_going(consumer, i, chunk);
	struct sonde_output *output = goal_of(consumer, stream)->output;
	int rc = output->disk_error;
	bool is_new = !rc && chunk->size && goes_on;

	if (consumer->config.is_trigger) {
		/* An empty chunk's events were not those asked for. */
		consumer->has_happened |= chunk->size > 0;
		return 0;
	}
	if (is_new)
		rc = append(consumer, i, chunk);
	if (is_new && !rc && was_touched(consumer, i, chunk)) {
		sonde_ctf_packet_forget(stream->stream);
		stream->in_packet = false;
		return -ESTALE;
	}
	count_gap(stream, chunk);
	if (is_new && !rc)
		rc = publish(consumer, stream, chunk);
	if (rc && stream->stream)
		sonde_ctf_packet_forget(stream->stream);
	if (is_its_own(consumer, rc)) {
		give_up(consumer, i, "its event table makes no sense");
		return -EPROTO;
	}
	if (rc)
		write_failed(consumer, output, rc);
	count(consumer, stream, chunk, !rc && goes_on);
	return 0;
}

/* ---- streams ---- */

/* One chunk. 1; 0 if there is none; -ESTALE, -EPROTO. */
static int take_next(struct sonde_consumer *consumer, uint32_t i,
		     struct sonde_ring_chunk *chunk)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	struct sonde_kept *kept = consumer->streams[i].kept;
	int rc = kept ? sonde_kept_peek(kept, chunk) :
			ops->peek(consumer->source, i, chunk);

	if (rc <= 0)
		return rc;
	if (!consumer->config.is_trigger && !is_plausible(consumer, i, chunk))
		return -EPROTO;
	rc = take_chunk(consumer, i, chunk);
	if (rc)
		return rc;
	if (kept)
		sonde_kept_advance(kept);
	else
		ops->advance(consumer->source, i, chunk);
	if ((consumer->streams[i].is_behind || consumer->streams[i].begins) &&
	    ops->part)
		ops->part(consumer->source, i);
	return 1;
}

/* All that there is, or until it has caught up; overwrite mode: after a rewind.
 * Returns how full the stream's buffer was, in thousandths. */
static uint32_t consume_stream(struct sonde_consumer *consumer, uint32_t i,
			       bool all)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	uint64_t capacity = ops->capacity(consumer->source, i);
	uint32_t nr_rewinds = 0;
	uint64_t passed = 0; /* an empty chunk counts, or it never ends */
	uint64_t bytes = 0;
	int rc = 1;

	/* Twice round at most: one that is faster than we are must not keep us
	 * from the others. */
	while (rc > 0 && !consumer->streams[i].broken &&
	       passed <= 2 * capacity) {
		struct sonde_ring_chunk chunk;

		rc = take_next(consumer, i, &chunk);
		if (rc > 0) {
			bytes += chunk.size;
			passed += chunk.size ? chunk.size : CAUGHT_UP_BYTES;
			/* With --self, what we do now is yet to be read: for
			 * ever. */
			if (!all && !chunk.closed &&
			    chunk.size < CAUGHT_UP_BYTES)
				break;
		}
		if (rc == -ESTALE && consumer->config.mode == SONDE_OVERWRITE &&
		    nr_rewinds++ < REWINDS_MAX)
			rc = ops->rewind(consumer->source, i);
	}
	if (rc == -EPROTO || (rc < 0 && consumer->config.mode == SONDE_DISCARD))
		give_up(consumer, i, "it has damaged its trace memory");
	bytes = capacity ? bytes * 1000 / capacity : 0;
	return bytes > 1000 ? 1000 : (uint32_t)bytes;
}

static uint32_t consume(struct sonde_consumer *consumer, bool all)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < consumer->nr_streams && !consumer->broken;
	     i++) {
		uint32_t full = consume_stream(consumer, i, all);

		if (full > most)
			most = full;
	}
	return most;
}

/* What the source has goes to what is kept of it. 1, 0 or -EPROTO. */
static int fetch_once(struct sonde_consumer *consumer, uint32_t i)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	struct sonde_kept *kept = consumer->streams[i].kept;
	uint64_t most = 2 * ops->capacity(consumer->source, i);
	int rc = ops->rewind(consumer->source, i);

	for (uint64_t passed = 0; rc > 0 && passed <= most;) {
		struct sonde_ring_chunk chunk;

		rc = ops->peek(consumer->source, i, &chunk);
		if (rc <= 0)
			break;
		sonde_kept_add(kept, &chunk,
			       ops->places ? ops->places(consumer->source, i) :
					     NULL);
		ops->advance(consumer->source, i, &chunk);
		passed += chunk.size ? chunk.size : CAUGHT_UP_BYTES;
	}
	sonde_kept_rewind(kept);
	return rc < 0 ? rc : 1;
}

/* Overwrite mode: what is left in the buffers, oldest first. */
static void save(struct sonde_consumer *consumer)
{
	for (uint32_t i = 0; i < consumer->nr_streams && !consumer->broken;
	     i++) {
		struct consumer_stream *stream = &consumer->streams[i];
		int rc = stream->kept ?
				 fetch_once(consumer, i) :
				 consumer->source->ops->rewind(consumer->source,
							       i);

		if (rc > 0 || stream->kept)
			(void)consume_stream(consumer, i, true); /* how full
								    is past
								    interest */
		if (rc < 0)
			give_up(consumer, i, "it has damaged its trace memory");
	}
}

/* What it has is only to be had after stop, or by a snapshot. */
static bool is_kept(const struct sonde_consumer *consumer)
{
	return consumer->config.mode == SONDE_OVERWRITE &&
	       !consumer->source->ops->is_state;
}

uint32_t sonde_consumer_pass(struct sonde_consumer *consumer)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	bool is_state = ops->is_state;
	uint32_t full = 0;

	if (consumer->state != CONSUMER_STARTED || consumer->broken)
		return 0;
	if (ops->tick)
		ops->tick(consumer->source);
	if (!is_kept(consumer))
		full = consume(consumer, is_state);
	if (consumer->nr_behind)
		settle_streams(consumer);
	return is_state || consumer->config.is_trigger ? 0 : full;
}

void sonde_consumer_drain(struct sonde_consumer *consumer)
{
	if (consumer->state != CONSUMER_STOPPED)
		return;
	consumer->state = CONSUMER_DRAINED;
	if (is_kept(consumer))
		save(consumer);
	else
		(void)consume(consumer, true); /* how full is no matter */
}

/* ---- accounts ---- */

static uint64_t nr_recorded(const struct consumer_stream *stream)
{
	return stream->defines ? 0 : stream->recorded;
}

void sonde_consumer_count(const struct sonde_consumer *consumer,
			  struct sonde_consumer_counts *ret_counts)
{
	struct sonde_source_counts counts;

	*ret_counts = (struct sonde_consumer_counts){ 0 };
	if (consumer->state == CONSUMER_NEW || consumer->config.is_trigger)
		return;
	if (!consumer->broken && consumer->source->ops->missed)
		ret_counts->discarded =
			consumer->source->ops->missed(consumer->source);
	for (uint32_t i = 0; i < consumer->nr_streams; i++) {
		const struct consumer_stream *stream = &consumer->streams[i];

		source_counts(consumer, i, &counts);
		ret_counts->recorded += nr_recorded(stream);
		ret_counts->discarded += nr_discarded(&counts);
		ret_counts->overwritten += stream->overwritten;
		ret_counts->lost_disk += stream->lost_disk;
		ret_counts->cleared += stream->cleared;
	}
}

/* Also what shows in no gap yet. */
static uint64_t overwritten_by_now(const struct sonde_consumer *consumer,
				   uint32_t i)
{
	const struct sonde_kept *kept = consumer->streams[i].kept;
	struct sonde_source_counts counts;

	source_counts(consumer, i, &counts);
	return counts.overwritten + (kept ? sonde_kept_dropped(kept) : 0);
}

/* Where reading would begin: how many events were committed before. False if
 * there is nothing. */
static bool find_oldest(struct sonde_consumer *consumer, uint32_t i,
			uint64_t *ret_before)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	struct sonde_ring_chunk chunk;

	if (ops->is_read_once) {
		*ret_before = overwritten_by_now(consumer, i);
		return true;
	}
	if (ops->rewind(consumer->source, i) <= 0 ||
	    ops->peek(consumer->source, i, &chunk) <= 0 || !chunk.first)
		return false;
	*ret_before = chunk.events_before;
	return true;
}

void sonde_consumer_survey(struct sonde_consumer *consumer,
			   struct sonde_consumer_counts *ret_counts)
{
	struct sonde_source_counts counts;

	sonde_consumer_count(consumer, ret_counts);
	if (consumer->state != CONSUMER_STARTED || consumer->broken ||
	    consumer->config.is_trigger || consumer->source->ops->is_state)
		return;
	if (consumer->source->ops->tick)
		consumer->source->ops->tick(consumer->source);
	for (uint32_t i = 0; i < consumer->nr_streams; i++) {
		uint64_t from = consumer->streams[i].seen;

		source_counts(consumer, i, &counts);
		if (is_kept(consumer) && find_oldest(consumer, i, &from) &&
		    from > consumer->streams[i].seen)
			ret_counts->overwritten +=
				from - consumer->streams[i].seen;
		if (counts.committed > from)
			ret_counts->held += counts.committed - from;
	}
}

/* What was overwritten before is known by now. */
static void clear_stream(struct sonde_consumer *consumer, uint32_t i,
			 uint64_t oldest)
{
	struct consumer_stream *stream = &consumer->streams[i];
	struct sonde_source_stream is;
	struct sonde_source_counts counts;

	source_counts(consumer, i, &counts);
	if (counts.cleared < oldest)
		return; /* nothing since the last time */
	stream->overwritten += oldest - stream->seen;
	stream->cleared += counts.cleared - oldest;
	stream->seen = counts.cleared;
	consumer->source->ops->stream(consumer->source, i, &is);
	stream->next_seq = is.first;
}

int sonde_consumer_clear(struct sonde_consumer *consumer)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	uint64_t *oldest;
	int rc;

	if (consumer->state != CONSUMER_STARTED || consumer->broken ||
	    consumer->config.is_trigger || ops->is_state)
		return 0;
	if (!is_kept(consumer) || !ops->clear)
		return -EOPNOTSUPP;
	oldest = calloc(consumer->nr_streams + 1, sizeof(*oldest));
	if (!oldest)
		return -ENOMEM;
	for (uint32_t i = 0; i < consumer->nr_streams; i++) {
		oldest[i] = consumer->streams[i].seen;
		if (find_oldest(consumer, i, &oldest[i]) &&
		    oldest[i] < consumer->streams[i].seen)
			oldest[i] = consumer->streams[i].seen;
	}
	rc = ops->clear(consumer->source);
	for (uint32_t i = 0; !rc && i < consumer->nr_streams; i++)
		clear_stream(consumer, i, oldest[i]);
	free(oldest);
	if (rc == -EPROTO)
		give_up(consumer, 0, "it has damaged its trace memory");
	/* What is pinned stays. */
	return rc == -EPROTO || rc == -EOPNOTSUPP ? 0 : rc;
}

static void add_to_summary(const struct sonde_consumer *consumer,
			   const struct consumer_stream *stream,
			   const struct sonde_source_counts *counts)
{
	struct sonde_summary *summary = consumer->goal->output->summary;
	const struct sonde_source_ops *ops = consumer->source->ops;

	summary->recorded += nr_recorded(stream);
	summary->lost_size += counts->lost_size;
	summary->lost_marks += counts->lost_marks;
	summary->lost_overwritten += stream->overwritten;
	summary->lost_disk += stream->lost_disk;
	summary->cleared += stream->cleared;
	if (ops->is_foreign) {
		summary->lost_full += counts->lost_full;
		return;
	}
	if (!ops->is_state)
		summary->kernel_recorded += nr_recorded(stream);
	summary->lost_kernel_full += counts->lost_full;
	summary->lost_kernel_unread += counts->lost_unread;
	summary->lost_kernel_damaged += counts->lost_damaged;
}

/* `extra`: events lost that no stream counted. */
static void finish_stream(struct sonde_consumer *consumer, uint32_t i,
			  uint64_t extra)
{
	struct consumer_stream *stream = &consumer->streams[i];
	uint64_t overwritten = overwritten_by_now(consumer, i);
	struct sonde_source_counts counts;
	uint64_t nr_missing;

	source_counts(consumer, i, &counts);
	/* What was overwritten behind the last chunk shows in no gap; and is
	 * behind the end of a copy. */
	if (!consumer->is_copy && overwritten > stream->overwritten)
		stream->overwritten = overwritten;
	if (!consumer->config.is_apart)
		add_to_summary(consumer, stream, &counts);
	nr_missing = missing(stream, nr_discarded(&counts) + extra);
	if (nr_missing && consumer->source->loses_unwanted)
		consumer->goal->output->summary->loses_unwanted = true;
	close_stream(consumer, i, nr_missing);
}

/* Events that belong to no stream; they are told with the first. */
static uint64_t finish_missed(struct sonde_consumer *consumer)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	struct sonde_summary *summary = consumer->goal->output->summary;
	uint64_t missed;
	uint64_t returns = 0;

	if (consumer->broken || !ops->missed)
		return 0;
	missed = ops->missed(consumer->source);
	if (ops->missed_returns)
		returns = ops->missed_returns(consumer->source);
	summary->lost_kernel_returns += returns;
	if (ops->is_foreign)
		summary->lost_contended += missed;
	else
		summary->lost_kernel_missed += missed - returns;
	return missed;
}

/* ---- life ---- */

static int goal_init(struct consumer_goal *goal,
		     struct sonde_consumer *consumer,
		     struct sonde_output *output)
{
	*goal = (struct consumer_goal){
		.consumer = consumer,
		.output = output,
		.known = { .add = add_event, .ctx = goal },
	};
	if (!consumer->source->ops->describe)
		return 0;
	goal->known.events = calloc(SONDE_EVENTS_MAX, 1);
	goal->known.ids = calloc(SONDE_LARGE_ESCAPE + 1u, 1);
	if (goal->known.events && goal->known.ids)
		return 0;
	goal_fini(goal);
	return -ENOMEM;
}

static void free_consumer(struct sonde_consumer *consumer)
{
	if (!consumer)
		return;
	goal_fini(&consumer->goals[0]);
	goal_fini(&consumer->goals[1]);
	for (uint32_t i = 0; i < consumer->nr_streams && !consumer->is_copy;
	     i++)
		sonde_kept_free(consumer->streams[i].kept);
	free(consumer);
}

static struct sonde_consumer *
allocate(struct sonde_output *output, struct sonde_source *source,
	 const struct sonde_consumer_config *config)
{
	uint32_t nr = source->ops->nr_streams(source);
	struct sonde_consumer *consumer = calloc(
		1, sizeof(*consumer) + nr * sizeof(consumer->streams[0]));

	if (!consumer)
		return NULL;
	consumer->source = source;
	consumer->config = *config;
	consumer->nr_streams = nr;
	consumer->goal = &consumer->goals[0];
	consumer->other = &consumer->goals[1];
	(void)snprintf(consumer->name, NAME_CHARS, "%s", config->name);
	(void)snprintf(consumer->files, NAME_CHARS, "%s", config->files);
	if (!goal_init(consumer->goal, consumer, output))
		return consumer;
	free_consumer(consumer);
	return NULL;
}

int sonde_consumer_new(struct sonde_output *output, struct sonde_source *source,
		       const struct sonde_consumer_config *config,
		       struct sonde_consumer **ret_consumer)
{
	struct sonde_consumer *consumer = allocate(output, source, config);
	int rc;

	if (!consumer)
		return -ENOMEM;
	rc = config->is_trigger ? 0 :
				  add_class(consumer, output, config->comment);
	if (rc) {
		free_consumer(consumer);
		return rc;
	}
	if (!config->is_trigger && !source->ops->is_state &&
	    source->ops->nr_events)
		output->summary->nr_event_types +=
			source->ops->nr_events(source);
	*ret_consumer = consumer;
	return 0;
}

int sonde_consumer_join(struct sonde_consumer *consumer,
			struct sonde_output *output)
{
	int rc;

	if (consumer->config.is_trigger)
		return 0;
	if (!consumer->source->ops->part && !consumer->source->ops->is_state)
		return -EOPNOTSUPP;
	rc = add_class(consumer, output, consumer->name);
	return rc ? rc : goal_init(consumer->other, consumer, output);
}

void sonde_consumer_turn(struct sonde_consumer *consumer, bool goes)
{
	struct consumer_goal *ends = consumer->goal;

	if (!goes || !consumer->other->output) {
		goal_fini(consumer->other);
		return;
	}
	consumer->goal = consumer->other;
	consumer->other = ends;
	consumer->nr_behind = consumer->nr_streams;
	consumer->turned_ns = sonde_monotonic_ns();
	for (uint32_t i = 0; i < consumer->nr_streams; i++) {
		consumer->streams[i].is_behind = true;
		consumer->streams[i].quiet_ns = 0;
		/* What was told is whole. */
		if (consumer->source->ops->is_state)
			turn_stream(consumer, i);
		else
			consumer->source->ops->part(consumer->source, i);
	}
}

/* Nothing was read yet. */
static void reset(struct sonde_consumer *consumer, uint64_t start)
{
	struct sonde_source_stream stream;

	consumer->start = start;
	for (uint32_t i = 0; i < consumer->nr_streams; i++) {
		consumer->source->ops->stream(consumer->source, i, &stream);
		consumer->streams[i].next_seq = stream.first;
		consumer->streams[i].defines = stream.defines;
	}
}

/* By another recorder, whose session this was. */
static void take_cleared(struct sonde_consumer *consumer)
{
	struct sonde_source_counts counts;

	for (uint32_t i = 0; i < consumer->nr_streams; i++) {
		source_counts(consumer, i, &counts);
		consumer->streams[i].cleared = counts.cleared;
		consumer->streams[i].seen = counts.cleared;
	}
}

int sonde_consumer_start(struct sonde_consumer *consumer, pid_t root,
			 struct sonde_source_error *error)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	int rc = 0;

	reset(consumer, consumer->config.start ? consumer->config.start :
						 consumer->goal->output->now());
	if (ops->clear)
		take_cleared(consumer);
	if (ops->start)
		rc = ops->start(consumer->source, root, error);
	if (!rc)
		consumer->state = CONSUMER_STARTED;
	return rc;
}

void sonde_consumer_halt(struct sonde_consumer *consumer)
{
	const struct sonde_source_ops *ops = consumer->source->ops;

	if (consumer->state == CONSUMER_STARTED && ops->halt)
		ops->halt(consumer->source);
	else
		sonde_consumer_stop(consumer);
}

void sonde_consumer_stop(struct sonde_consumer *consumer)
{
	if (consumer->state != CONSUMER_STARTED)
		return;
	if (consumer->source->ops->stop)
		consumer->source->ops->stop(consumer->source);
	consumer->state = CONSUMER_STOPPED;
}

const char *sonde_consumer_check(const struct sonde_consumer *consumer,
				 const struct sonde_output *output,
				 uint32_t nr_classes)
{
	const char *wrong = NULL;

	if (consumer->goal->output != output)
		return "a source's events go to another trace";
	if (consumer->config.class_id >= nr_classes)
		return "a source has a class that nobody has taken";
	for (uint32_t i = 0; !wrong && i < consumer->nr_streams; i++) {
		const struct consumer_stream *stream = &consumer->streams[i];

		if (!consumer->config.is_trigger &&
		    stream->seen != stream->recorded + stream->overwritten +
					    stream->lost_disk + stream->cleared)
			return "events were seen, and nobody says what became "
			       "of them";
		if (stream->stream)
			wrong = sonde_ctf_stream_check(stream->stream);
	}
	return wrong;
}

void sonde_consumer_cancel(struct sonde_consumer *consumer)
{
	sonde_consumer_stop(consumer);
	consumer->state = CONSUMER_NEW;
}

struct sonde_source *
sonde_consumer_source(const struct sonde_consumer *consumer)
{
	return consumer->source;
}

bool sonde_consumer_is_new(const struct sonde_consumer *consumer)
{
	return consumer->state == CONSUMER_NEW;
}

bool sonde_consumer_is_started(const struct sonde_consumer *consumer)
{
	return consumer->state == CONSUMER_STARTED;
}

bool sonde_consumer_has_happened(const struct sonde_consumer *consumer)
{
	return consumer->has_happened;
}

bool sonde_consumer_is_broken(const struct sonde_consumer *consumer)
{
	return consumer->broken;
}

void sonde_consumer_finish(struct sonde_consumer *consumer)
{
	if (!consumer)
		return;
	if (consumer->state != CONSUMER_NEW && !consumer->config.is_trigger) {
		uint64_t extra = finish_missed(consumer);

		for (uint32_t i = 0; i < consumer->nr_streams; i++)
			finish_stream(consumer, i, i ? 0 : extra);
	}
	free_consumer(consumer);
}

/* From now on, until the end. */
static int keep_streams(struct sonde_consumer *consumer)
{
	const struct sonde_source_ops *ops = consumer->source->ops;

	for (uint32_t i = 0; ops->is_read_once && i < consumer->nr_streams;
	     i++) {
		struct sonde_kept **kept = &consumer->streams[i].kept;

		if (!*kept)
			*kept = sonde_kept_new(
				ops->capacity(consumer->source, i));
		if (!*kept)
			return -ENOMEM;
	}
	return 0;
}

/* Of the same source, nothing of which it has read. -ENOMEM, or the output's. */
static int consumer_copy(const struct sonde_consumer *consumer,
			 struct sonde_output *output,
			 struct sonde_consumer **ret_copy)
{
	struct sonde_consumer_config config = consumer->config;
	struct sonde_consumer *copy;
	int rc;

	config.comment = config.name = consumer->name;
	config.files = consumer->files;
	rc = sonde_consumer_new(output, consumer->source, &config, &copy);
	if (rc)
		return rc;
	copy->is_copy = true;
	reset(copy, consumer->start);
	for (uint32_t i = 0; i < copy->nr_streams; i++) {
		copy->streams[i].seen = consumer->streams[i].seen;
		copy->streams[i].kept = consumer->streams[i].kept;
	}
	copy->state = CONSUMER_STARTED;
	*ret_copy = copy;
	return 0;
}

void sonde_consumer_renumber(const struct sonde_consumer *consumer,
			     uint32_t (*renew)(void *ctx, uint32_t number),
			     void *ctx)
{
	for (uint32_t i = 0; i < consumer->nr_streams; i++)
		if (consumer->streams[i].kept)
			sonde_kept_renumber(consumer->streams[i].kept, renew,
					    ctx);
}

int sonde_consumer_snapshot(struct sonde_consumer *consumer,
			    struct sonde_output *output)
{
	const struct sonde_source_ops *ops = consumer->source->ops;
	struct sonde_consumer *copy;
	int rc;

	if (consumer->state != CONSUMER_STARTED || consumer->broken ||
	    consumer->config.is_trigger)
		return 0;
	if (!is_kept(consumer) || (!ops->verify && !ops->is_read_once))
		return -EOPNOTSUPP;
	rc = keep_streams(consumer);
	if (!rc)
		rc = consumer_copy(consumer, output, &copy);
	if (rc)
		return rc;
	if (ops->tick)
		ops->tick(consumer->source);
	save(copy);
	consumer->broken |= copy->broken;
	sonde_consumer_finish(copy);
	return output->disk_error;
}
