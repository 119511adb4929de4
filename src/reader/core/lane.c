/* SPDX-License-Identifier: MIT */
/*
 * lane.c - a stream as a cursor goes through it: batches of events, both ways
 * (lane.h).
 *
 * First the program that passes over a body, then headers, then batches, then
 * packets and marks. No byte beyond the packet's content is believed: each
 * length is compared with what is left before it is used. An event of fixed
 * size costs its header's loads and an addition.
 */
#include "reader/core/lane.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "reader/core/walk.h"

/* Events looked at for one batch, if a filter lets few pass. */
#define BATCH_SCAN   8192
#define EXTRA_ROUNDS 65536
/* How far behind an event memory is asked for. */
#define PREFETCH_BYTES 1024
/* So that sonde_event.head_bits holds it, with the gap behind it. */
#define MAX_HEADER_BITS (UINT64_C(1) << 31)

/* ---- bodies ---- */

struct machine {
	const struct sonde_plan *plan;
	const uint8_t *data;
	uint64_t base, limit;
	uint64_t rounds_left;
	uint32_t ip;
	uint32_t depth;
	uint64_t *rounds; /* [SONDE_SCHEMA_DEPTH + 1] */
};

static bool pass_elements(struct machine *m, const struct sonde_op *op,
			  const uint64_t *regs)
{
	uint64_t n = op->index >= 0 ? regs[op->index] : op->cls->count;
	uint64_t stride = sonde_align(op->size, op->align);

	m->base = sonde_align(m->base, op->align);
	if (!n)
		return true;
	if (m->base > m->limit)
		return false;
	/* bytes of a text are whole characters */
	if (op->cls && n % sonde_encoding_unit(op->cls->encoding))
		return false;
	if (!stride)
		return n <= m->limit - m->base + EXTRA_ROUNDS;
	if (n > (m->limit - m->base) / stride + 1)
		return false;
	m->base += (n - 1) * stride + op->size;
	return true;
}

static bool begin_loop(struct machine *m, const struct sonde_op *op,
		       const uint64_t *regs)
{
	uint64_t n = op->index >= 0 ? regs[op->index] : op->size;

	if (!n) {
		m->ip = op->target;
		return true;
	}
	if (m->depth > SONDE_SCHEMA_DEPTH || n > m->rounds_left ||
	    n > m->limit - m->base + EXTRA_ROUNDS)
		return false;
	m->rounds_left -= n;
	m->rounds[m->depth++] = n;
	return true;
}

static bool lane_choose(struct machine *m, const struct sonde_op *op,
			const uint64_t *regs)
{
	const struct sonde_class *cls = op->cls;
	int64_t choice = sonde_walk_choice(cls, regs[cls->ref->reg]);

	if (choice < 0 && cls->kind == SONDE_KIND_VARIANT)
		return false;
	m->ip += choice < 0 ? (uint32_t)cls->nr_members : (uint32_t)choice;
	return true;
}

static bool pass_string(struct machine *m, uint64_t unit)
{
	uint64_t bytes =
		sonde_load_strlen(m->data + (m->base >> 3),
				  (m->limit - m->base) / 8, (unsigned int)unit);

	if (bytes == UINT64_MAX)
		return false;
	m->base += (bytes + unit) * 8;
	return true;
}

static bool pass_leb128(struct machine *m, const struct sonde_op *op,
			uint64_t *regs)
{
	uint64_t value = 0;
	unsigned int bytes = sonde_load_leb128(m->data, m->base, m->limit,
					       op->load.is_signed, &value);

	m->base += (uint64_t)bytes * 8;
	if (op->index >= 0)
		regs[op->index] = value;
	return bytes;
}

/* One operation; false if the event can't be. */
static inline bool step(struct machine *m, const struct sonde_op *op,
			uint64_t *blocks, uint64_t *regs)
{
	if (op->code == SONDE_OP_SAVE) {
		uint64_t at = m->base + op->skip;

		if (at + op->load.bits > m->limit)
			return false;
		regs[op->index] = sonde_load(m->data, at, op->load);
		return true;
	}
	m->base += op->skip;
	if (m->base > m->limit)
		return false;
	switch ((enum sonde_op_code)op->code) {
	case SONDE_OP_BLOCK:
		m->base = sonde_align(m->base, op->align);
		if (op->index >= 0)
			blocks[op->index] = m->base;
		return true;
	case SONDE_OP_LEB128:
		return pass_leb128(m, op, regs);
	case SONDE_OP_STRING:
		return pass_string(m, (unsigned int)op->size);
	case SONDE_OP_ELEMENTS:
		return pass_elements(m, op, regs);
	case SONDE_OP_LOOP:
		return begin_loop(m, op, regs);
	case SONDE_OP_NEXT:
		/* only a loop leads here, and sets its rounds:
		 * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
		if (--m->rounds[m->depth - 1])
			m->ip = op->target;
		else
			m->depth--;
		return true;
	case SONDE_OP_CHOOSE:
		return lane_choose(m, op, regs);
	case SONDE_OP_JUMP:
		m->ip = op->target;
		return true;
	case SONDE_OP_SAVE:
	case SONDE_OP_END:
		break;
	}
	return true;
}

/* The end of a body that begins at `pos`, or UINT64_MAX if it can't be. */
static uint64_t run_body(struct sonde_lane *lane, const struct sonde_plan *plan,
			 uint64_t pos)
{
	uint64_t rounds[SONDE_SCHEMA_DEPTH + 1];
	struct machine m = {
		.plan = plan,
		.rounds = rounds,
		.data = lane->data,
		.base = pos,
		.limit = lane->content,
		.rounds_left = lane->content - pos + EXTRA_ROUNDS,
	};
	uint32_t first_reg = plan->first_regs[SONDE_SCOPE_COMMON_CONTEXT];
	const struct sonde_op *op;

	memset(lane->regs + first_reg, 0,
	       (plan->nr_regs - first_reg) * sizeof(lane->regs[0]));
	lane->located = UINT64_MAX; /* until it is whole */
	lane->blocks[0] = pos;
	do {
		op = &plan->ops[m.ip++];
		if (!step(&m, op, lane->blocks, lane->regs))
			return UINT64_MAX;
	} while (op->code != SONDE_OP_END);
	lane->located = pos;
	return m.base;
}

/* ---- headers ---- */

/* A header, read. */
struct header {
	uint64_t end; /* where it ends */
	uint64_t id;
	bool has_id;
	const char *why; /* walked: what is wrong, if it isn't its end */
};

/* The clock moves on to a value of which the low bits, those of the mask, are
 * known: to the first such value that isn't before it. */
static inline uint64_t clock_at(uint64_t ticks, uint64_t value, uint64_t mask)
{
	return ticks + ((value - ticks) & mask);
}

static inline void move_clock(struct sonde_mark *state, uint64_t value,
			      unsigned int bits)
{
	state->ticks = clock_at(state->ticks, value, UINT64_MAX >> (64 - bits));
}

static inline void take_layout(const struct sonde_lane *lane,
			       struct sonde_mark *state, uint64_t pos,
			       const struct sonde_head_layout *layout,
			       struct header *header)
{
	if (layout->id.load.bits) {
		header->id = sonde_load(lane->data, pos + layout->id.offset,
					layout->id.load);
		header->has_id = true;
	}
	if (layout->time.load.bits)
		move_clock(state,
			   sonde_load(lane->data, pos + layout->time.offset,
				      layout->time.load),
			   layout->time.load.bits);
	header->end = pos + layout->bits;
}

/* How many bits of the clock a number gives that was read between two
 * positions: of LEB128, seven in each byte. */
static unsigned int clock_bits(const struct sonde_class *cls, uint64_t from,
			       uint64_t to)
{
	uint64_t bits = cls->bits;

	if (!bits)
		bits = (to - sonde_align(from, cls->align_bits)) / 8 * 7;
	return bits < 64 ? (unsigned int)bits : 64;
}

/* A header of any form. */
static bool walk_header(struct sonde_lane *lane, struct sonde_mark *state,
			uint64_t pos, struct header *header)
{
	struct sonde_walk walk;
	struct sonde_value value;
	enum sonde_walk_item item;
	uint64_t from = pos;
	const char *name;

	/* the registers are another event's from here on */
	lane->located = UINT64_MAX;
	memset(walk.regs, 0, sizeof(walk.regs));
	memcpy(walk.regs, lane->regs,
	       lane->head_plan->first_reg * sizeof(walk.regs[0]));
	sonde_walk_enter(
		&walk, lane->data, pos, lane->content,
		lane->head_plan->cls->scopes[SONDE_SCOPE_EVENT_HEADER]);
	while ((item = sonde_walk_next(&walk, &name, &value))) {
		if (item == SONDE_WALK_VALUE &&
		    value.cls->role == SONDE_ROLE_EVENT_ID) {
			header->id = value.u;
			header->has_id = true;
		} else if (item == SONDE_WALK_VALUE &&
			   value.cls->role == SONDE_ROLE_TIME) {
			move_clock(state, value.u,
				   clock_bits(value.cls, from, walk.pos));
		}
		from = walk.pos;
	}
	memcpy(lane->regs, walk.regs, sizeof(walk.regs));
	header->end = walk.pos;
	header->why = walk.why;
	return !walk.damaged && walk.pos - pos <= MAX_HEADER_BITS;
}

static inline uint64_t load_quick(const uint8_t *from,
				  const struct sonde_quick_part *part)
{
	return sonde_load_le(from + part->byte, 0, 64) >> part->shift &
	       part->mask;
}

/* The form of the header that is there, and the id in it; it may be that this
 * form isn't quick. */
static inline const struct sonde_quick *
load_form(const struct sonde_head_plan *plan, const uint8_t *from,
	  uint64_t *ret_id)
{
	const struct sonde_quick *quick = &plan->quick[0];
	uint64_t id = load_quick(from, &quick->id);

	if (id >= plan->escape_low) {
		quick = &plan->quick[1];
		id = load_quick(from, &quick->id);
	}
	*ret_id = id;
	return quick;
}

/* False: it is of a form that isn't quick. */
static inline bool read_quickly(const struct sonde_lane *lane,
				struct sonde_mark *state, uint64_t pos,
				struct header *header)
{
	const uint8_t *from = lane->data + (pos >> 3);
	const struct sonde_quick *quick =
		load_form(lane->head_plan, from, &header->id);

	if (__builtin_expect(!quick->is, 0))
		return false;
	header->has_id = quick->id.bits;
	if (quick->time.bits)
		state->ticks =
			clock_at(state->ticks, load_quick(from, &quick->time),
				 quick->time.mask);
	header->end = pos + quick->bits;
	return true;
}

/* Reads the header at the (aligned) position. May look up to 128 bytes behind
 * the packet; the caller compares the end with the limit. */
static inline bool read_header(struct sonde_lane *lane,
			       struct sonde_mark *state, uint64_t pos,
			       struct header *header)
{
	const struct sonde_head_plan *plan = lane->head_plan;

	header->has_id = false;
	if (__builtin_expect(plan->walked, 0)) {
		/* copies, so that what decoding moves can stay in registers */
		struct sonde_mark moved = *state;
		struct header walked = *header;
		bool whole = walk_header(lane, &moved, pos, &walked);

		*state = moved;
		*header = walked;
		return whole;
	}
	if (__builtin_expect(pos > lane->content, 0))
		return false;
	if (read_quickly(lane, state, pos, header))
		return true;
	take_layout(lane, state, pos, &plan->normal, header);
	if (plan->escapes) {
		const struct sonde_head_layout *rest =
			header->id >= plan->escape_low ? &plan->longer :
							 &plan->shorter;

		take_layout(lane, state, sonde_align(header->end, rest->align),
			    rest, header);
	}
	return true;
}

void sonde_lane_locate(const struct sonde_event *event)
{
	struct sonde_lane *lane = event->lane;
	const struct sonde_plan *plan = event->cls->plan;

	if (lane->located == event->pos)
		return;
	if (lane->head_plan->walked && plan->nr_regs) {
		struct sonde_mark clock = { 0 };
		struct header header;

		(void)walk_header(lane, &clock, event->pos - event->head_bits,
				  &header);
	}
	if (plan->fixed)
		lane->located = event->pos;
	else
		/* has been run before, when the batch was made */
		(void)run_body(lane, plan, event->pos);
}

/* ---- batches ---- */

static void note_damage(struct sonde_lane *lane, uint64_t pos, const char *what)
{
	const struct sonde_stream *stream = lane->stream;
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_DAMAGE,
		.stream = stream,
		.packet = lane->packet,
		.byte = stream->packets[lane->packet].offset + (pos >> 3),
		.begin = lane->state.key_ns,
		.end = lane->end_ns,
		.count = 1,
		.text = what,
	};

	sonde_problem_add(stream->trace, &problem);
	lane->done = true;
}

/* Whether it was read before, of a trace that is read part by part. */
static inline bool begins_before(const struct sonde_lane *lane,
				 const struct sonde_event *event)
{
	const struct sonde_stream *stream = lane->stream;
	uint64_t packet = stream->packets[event->packet].offset;

	return packet + ((event->pos - event->head_bits) >> 3) <
	       stream->from_byte;
}

static inline bool lane_passes(const struct sonde_lane *lane,
			       const struct sonde_mark *state,
			       const struct sonde_event *event)
{
	const struct sonde_span *span = lane->span;

	if (span->timed &&
	    (state->key_ns < span->key_from || state->key_ns > span->key_to ||
	     event->time_ns < span->from_ns || event->time_ns > span->to_ns))
		return false;
	if (lane->stream->from_byte && begins_before(lane, event))
		return false;
	return !span->filter || sonde_filter_passes(span->filter, event);
}

/* The event class of a header, or NULL. */
static inline const struct sonde_plan *
plan_of(const struct sonde_head_plan *head, const struct header *header)
{
	const struct sonde_plan *plan;

	if (header->has_id) {
		plan = sonde_head_plan_find(head, header->id);
		return __builtin_expect(!plan, 0) ? head->any : plan;
	}
	return head->only                ? head->only :
	       head->cls->nr_events == 1 ? head->cls->events[0]->plan :
					   NULL;
}

/* The end of a body whose last field is its only string, or UINT64_MAX. */
static inline uint64_t pass_text(const struct sonde_lane *lane,
				 const struct sonde_plan *plan, uint64_t pos)
{
	uint64_t bytes;

	pos += plan->fixed_bits;
	if (pos > lane->content)
		return UINT64_MAX;
	bytes = sonde_load_strlen(lane->data + (pos >> 3),
				  (lane->content - pos) / 8, 1);
	return bytes == UINT64_MAX ? UINT64_MAX : pos + (bytes + 1) * 8;
}

/* What is wrong with a body: walked, for that says why it ends. */
static const char *why_body(const struct sonde_lane *lane,
			    const struct sonde_plan *plan, uint64_t pos)
{
	uint32_t before = plan->first_regs[SONDE_SCOPE_COMMON_CONTEXT];
	struct sonde_walk walk = { .damaged = false };
	struct sonde_value value;
	const char *name;

	memcpy(walk.regs, lane->regs, before * sizeof(walk.regs[0]));
	for (enum sonde_scope scope = SONDE_SCOPE_COMMON_CONTEXT;
	     scope < SONDE_NR_SCOPES && !walk.damaged; scope++) {
		sonde_walk_enter(&walk, lane->data, pos, lane->content,
				 sonde_event_class_scope(plan->cls, scope));
		while (sonde_walk_next(&walk, &name, &value))
			;
		pos = walk.pos;
	}
	return walk.why ? walk.why :
			  "an event's fields go beyond the packet's content";
}

/* Decodes one event into *event. False: damage, which has been noted. */
static inline bool lane_decode(struct sonde_lane *lane,
			       struct sonde_mark *state,
			       struct sonde_event *event,
			       const struct sonde_plan **ret_plan)
{
	uint64_t start = sonde_align(state->pos, lane->head_plan->align);
	const struct sonde_plan *plan;
	struct header header = { .has_id = false };
	uint64_t end;

	if (!read_header(lane, state, start, &header) ||
	    header.end > lane->content) {
		note_damage(lane, start,
			    lane->head_plan->walked && header.why ?
				    header.why :
				    "an event's header is cut off");
		return false;
	}
	plan = plan_of(lane->head_plan, &header);
	if (__builtin_expect(!plan, 0)) {
		note_damage(lane, start, "no event class has this id");
		return false;
	}
	event->cls = plan->cls;
	event->ticks = state->ticks;
	event->pos = sonde_align(header.end, plan->align);
	event->head_bits = (uint32_t)(event->pos - start);
	end = plan->fixed        ? event->pos + plan->fixed_bits :
	      plan->ends_in_text ? pass_text(lane, plan, event->pos) :
				   run_body(lane, plan, event->pos);
	if (end > lane->content) {
		note_damage(lane, start, why_body(lane, plan, event->pos));
		return false;
	}
	if (__builtin_expect(end <= state->pos, 0)) {
		/* there would be no end of them */
		note_damage(lane, start, "an event takes no bits");
		return false;
	}
	event->end = end;
	state->pos = end;
	*ret_plan = plan;
	return true;
}

/* The event before, if it was decoded quickly. Its kind is often the next one's,
 * too: then the processor needn't wait for the id to know where the event after
 * it begins. */
struct last {
	uint64_t id;
	const struct sonde_quick *quick; /* its header's form */
	const struct sonde_plan *plan;
	const struct sonde_event_class *cls;
	bool ends_in_text; /* as the plan says; so are these: */
	uint32_t pos;
	uint64_t end;
};
/* Whatever id has come: no packet is so long. */
#define NO_LAST                                         \
	{                                               \
		.id = UINT64_MAX, .end = UINT64_MAX / 2 \
	}

/*
 * Most events: the header is quick, and the body is fixed but for a text that
 * may end it. One pass, and one look at the limit. False, and nothing has
 * changed: the event is another, or damaged, which lane_decode() tells. The event
 * begins at `start`, before the content's end.
 */
static inline bool decode_quickly(const struct sonde_lane *lane,
				  const struct sonde_head_plan *head,
				  uint64_t start, struct last *last,
				  struct sonde_mark *state,
				  struct sonde_event *event)
{
	const uint8_t *from = lane->data + (start >> 3);
	const struct sonde_quick *quick;
	uint64_t id;
	uint64_t end;

	__builtin_prefetch(from + PREFETCH_BYTES);
	quick = load_form(head, from, &id);
	if (__builtin_expect(id != last->id || quick != last->quick, 0)) {
		const struct sonde_plan *plan;
		size_t form = (size_t)(quick - head->quick);

		if (id >= quick->ids)
			return false;
		plan = head->dense[id];
		if (!plan || !plan->is_plain)
			return false;
		*last = (struct last){
			.id = id,
			.quick = quick,
			.plan = plan,
			.cls = plan->cls,
			.ends_in_text = plan->ends_in_text,
			.pos = plan->plain_pos[form],
			.end = plan->plain_end[form],
		};
	}
	end = start + last->end;
	if (last->ends_in_text)
		end = pass_text(lane, last->plan, start + last->pos);
	if (__builtin_expect(end > lane->content, 0))
		return false;
	state->ticks = clock_at(state->ticks, load_quick(from, &quick->time),
				quick->time.mask);
	state->pos = end;
	event->cls = last->cls;
	event->ticks = state->ticks;
	event->pos = start + last->pos;
	event->end = end;
	event->head_bits = last->pos;
	return true;
}

/* False: it has said that the event has no time. */
static inline bool set_time(struct sonde_lane *lane, struct sonde_mark *state,
			    uint64_t start, struct sonde_event *event)
{
	int64_t time = SONDE_TIME_MIN;

	if (lane->stream->scale)
		time = sonde_scale_ns(lane->stream->scale, event->ticks);
	event->time_ns = time;
	if (__builtin_expect(time == SONDE_TIME_MAX, 0)) {
		note_damage(lane, start,
			    "an event's time is more nanoseconds than 64 bits "
			    "hold");
		return false;
	}
	if (__builtin_expect(time > lane->end_ns, 0)) {
		time = lane->end_ns;
		lane->late = true; /* the key no longer tells the order */
	}
	if (time >= state->key_ns)
		state->key_ns = time;
	else
		state->nr_disorder++;
	return true;
}

/* A thread record says who made the events that follow. */
static void take_context(const struct sonde_event *event,
			 const struct sonde_plan *plan,
			 struct sonde_mark *state)
{
	struct sonde_value value;

	if (!sonde_event_value(event, &plan->tid, &value))
		state->tid = (int32_t)value.i;
	if (!sonde_event_value(event, &plan->pid, &value))
		state->pid = (int32_t)value.i;
}

/* Few events come out of order, and mostly by little. */
static void sort_batch(struct sonde_lane *lane)
{
	for (uint32_t i = 1; i < lane->nr; i++) {
		struct sonde_event event = lane->events[i];
		uint32_t j = i;

		while (j && lane->events[j - 1].time_ns > event.time_ns) {
			lane->events[j] = lane->events[j - 1];
			j--;
		}
		lane->events[j] = event;
	}
}

static void note_disorder(struct sonde_lane *lane)
{
	const struct sonde_stream *stream = lane->stream;
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_ORDER,
		.stream = stream,
		.packet = lane->packet,
		.byte = stream->packets[lane->packet].offset,
		.begin = lane->begin_ns,
		.end = lane->end_ns,
		.count = lane->state.nr_disorder,
		.text = "events are earlier than events before them",
	};

	if (lane->state.nr_disorder && lane->span->key_from == SONDE_TIME_MIN &&
	    lane->span->key_to == SONDE_TIME_MAX)
		sonde_problem_add(stream->trace, &problem);
}

/* The event at `start`: 1; 0 if it is of those that nobody asked for; -1 if
 * it has been said why there is none. */
static inline int take_event(struct sonde_lane *lane,
			     const struct sonde_head_plan *head, uint64_t start,
			     struct last *last, struct sonde_mark *state,
			     struct sonde_event *event)
{
	const struct sonde_plan *plan;

	if (decode_quickly(lane, head, start, last, state, event))
		return set_time(lane, state, start, event) ? 1 : -1;
	if (!lane_decode(lane, state, event, &plan) ||
	    !set_time(lane, state, start, event))
		return -1;
	if (__builtin_expect(!plan->is_internal, 1))
		return 1;
	if (plan->is_context)
		take_context(event, plan, state);
	return lane->span->internal;
}

/*
 * Decodes the next batch of the packet from lane->state; lane->done once there
 * is none behind it. The batch may be empty.
 */
static void decode_batch(struct sonde_lane *lane)
{
	const struct sonde_head_plan *head = lane->head_plan;
	struct sonde_mark state = lane->state;
	struct last last = NO_LAST;
	uint64_t disorder = state.nr_disorder;
	uint32_t scanned = 0;
	uint32_t nr = 0;

	lane->at = 0;
	lane->late = false;
	lane->located = UINT64_MAX;
	while (nr < SONDE_BATCH && scanned++ < BATCH_SCAN) {
		struct sonde_event *event = &lane->events[nr];
		uint64_t start = sonde_align(state.pos, head->align);
		int got;

		/* what is behind the last event may be less than alignment */
		if (start >= lane->content) {
			lane->done = true;
			break;
		}
		got = take_event(lane, head, start, &last, &state, event);
		if (got < 0)
			break;
		if (!got)
			continue;
		event->tid = state.tid;
		event->pid = state.pid;
		if (!lane->span->checked || lane_passes(lane, &state, event))
			nr++;
	}
	lane->state = state;
	lane->nr = nr;
	if (state.nr_disorder != disorder || lane->late)
		sort_batch(lane);
	if (lane->done)
		note_disorder(lane);
}

/* ---- packets ---- */

/* Mapped pages count as this process's memory. */
static void drop_behind(struct sonde_lane *lane, uint64_t to)
{
	if (to < lane->dropped)
		lane->dropped = to;
	if (to - lane->dropped < lane->span->keep_bytes)
		return;
	sonde_stream_drop(lane->stream, lane->dropped, to);
	lane->dropped = to;
}

/* What a lane of a slice has read no other one of it needs; the packet that it
 * ends in, the next slice's does. */
static void drop_read(struct sonde_lane *lane)
{
	const struct sonde_packet *end = &lane->stream->packets[lane->last - 1];
	uint64_t to = end->offset;

	if (!lane->events)
		return;
	if (lane->last == lane->stream->nr_packets)
		to += end->bytes;
	if (to > lane->dropped)
		sonde_stream_drop(lane->stream, lane->dropped, to);
	lane->dropped = to;
}

/* Makes a packet the present one; its first batch is not decoded yet. */
static void open_packet(struct sonde_lane *lane, size_t packet)
{
	const struct sonde_stream *stream = lane->stream;
	const struct sonde_packet *p = &stream->packets[packet];
	struct sonde_head head;
	const char *why;
	uint64_t bit;

	lane->packet = packet;
	lane->no_memory = false;
	lane->nr = 0;
	lane->at = 0;
	lane->batch_nr = -1;
	lane->nr_marks = 0;
	lane->done = false;
	lane->located = UINT64_MAX;
	lane->data = stream->data + p->offset;
	lane->content = p->content_bits;
	lane->begin_ns = p->begin_ns;
	lane->end_ns = p->end_ns;
	drop_behind(lane, p->offset);
	for (uint32_t i = 0; i < SONDE_BATCH; i++) {
		lane->events[i].data = lane->data;
		lane->events[i].packet = (uint32_t)packet;
	}
	lane->state = (struct sonde_mark){
		.key_ns = p->begin_ns,
		.tid = -1,
		.pid = -1,
	};
	why = sonde_stream_need(stream, p->offset, p->bytes);
	if (why) {
		note_damage(lane, 0, why);
		return;
	}
	if (sonde_head_parse(stream->source, lane->data, p->bytes, &head, &why,
			     &bit)) {
		/* it was in order when the trace was opened */
		note_damage(lane, bit, why);
		return;
	}
	if (head.cls != stream->cls || head.head_bits > lane->content) {
		note_damage(lane, 0, "the packet's head has changed");
		return;
	}
	memcpy(lane->regs, head.regs, sizeof(lane->regs));
	lane->context_pos = head.context_bit;
	lane->state.pos = head.head_bits;
	lane->state.ticks = p->ticks;
}

static bool push_mark(struct sonde_lane *lane)
{
	if (SONDE_GROW(lane->marks, lane->nr_marks, lane->marks_capacity)) {
		lane->no_memory = true;
		return false;
	}
	lane->marks[lane->nr_marks++] = lane->state;
	return true;
}

/* The next batch of the present packet, if there is one. */
static bool next_batch(struct sonde_lane *lane)
{
	if (lane->done && lane->batch_nr + 1 >= (int64_t)lane->nr_marks)
		return false;
	lane->batch_nr++;
	if (lane->batch_nr == (int64_t)lane->nr_marks) {
		if (!push_mark(lane))
			return false;
	} else {
		lane->state = lane->marks[lane->batch_nr];
	}
	lane->done = false;
	decode_batch(lane);
	drop_behind(lane, lane->stream->packets[lane->packet].offset +
				  (lane->state.pos >> 3));
	return true;
}

/* A batch with events after the present one. */
static bool forward(struct sonde_lane *lane)
{
	while (lane->packet < lane->last && !lane->no_memory) {
		if (next_batch(lane)) {
			if (lane->nr)
				return true;
			/* keys only grow; times don't have to */
			if (lane->state.key_ns <= lane->span->key_to)
				continue;
		}
		if (lane->no_memory)
			break;
		if (lane->packet + 1 >= lane->last) {
			drop_read(lane);
			sonde_lane_wind(lane);
			break;
		}
		open_packet(lane, lane->packet + 1);
	}
	return false;
}

/* A batch with events before the present one; stands at its end. */
static bool backward(struct sonde_lane *lane)
{
	while (!lane->no_memory) {
		if (lane->packet < lane->last && lane->batch_nr > 0) {
			lane->batch_nr -= 2;
			if (!next_batch(lane))
				break;
		} else if (lane->packet > lane->first) {
			open_packet(lane, lane->packet - 1);
			while (next_batch(lane))
				;
		} else {
			break;
		}
		lane->at = lane->nr;
		if (lane->nr && !lane->no_memory)
			return true;
	}
	if (!lane->no_memory && lane->packet < lane->last)
		sonde_lane_rewind(lane);
	return false;
}

const struct sonde_event *sonde_lane_after(struct sonde_lane *lane)
{
	if (lane->at < lane->nr || forward(lane))
		return &lane->events[lane->at];
	return NULL;
}

const struct sonde_event *sonde_lane_before(struct sonde_lane *lane)
{
	if (lane->at || backward(lane))
		return &lane->events[lane->at - 1];
	return NULL;
}

void sonde_lane_rewind(struct sonde_lane *lane)
{
	if (lane->first < lane->last)
		open_packet(lane, lane->first);
	else
		sonde_lane_wind(lane);
}

void sonde_lane_wind(struct sonde_lane *lane)
{
	lane->packet = lane->last;
	lane->no_memory = false;
	lane->nr = 0;
	lane->at = 0;
	lane->batch_nr = -1;
	lane->nr_marks = 0;
}

/* Among packets [first, last): the first that ends at or after time_ns. */
static size_t first_packet(const struct sonde_stream *stream, size_t first,
			   size_t last, int64_t time_ns)
{
	const struct sonde_packet *packets = &stream->packets[first];
	size_t i = 0;

	if (!stream->overlapping)
		SONDE_SEARCH(i, last - first, packets[i].end_ns < time_ns);
	else
		while (i < last - first && packets[i].end_ns < time_ns)
			i++;
	return first + i;
}

int sonde_lane_seek(struct sonde_lane *lane, int64_t time_ns)
{
	size_t packet =
		first_packet(lane->stream, lane->first, lane->last, time_ns);

	if (packet == lane->last) {
		sonde_lane_wind(lane);
		return 0;
	}
	open_packet(lane, packet);
	while (forward(lane)) {
		if (lane->events[lane->nr - 1].time_ns < time_ns) {
			lane->at = lane->nr;
			continue;
		}
		while (lane->events[lane->at].time_ns < time_ns)
			lane->at++;
		break;
	}
	return lane->no_memory ? -ENOMEM : 0;
}

/* The packets that may hold what the span wants. */
static void choose_packets(struct sonde_lane *lane)
{
	const struct sonde_stream *stream = lane->stream;
	const struct sonde_span *span = lane->span;
	int64_t from =
		span->from_ns > span->key_from ? span->from_ns : span->key_from;
	int64_t to = span->to_ns < span->key_to ? span->to_ns : span->key_to;
	size_t end;

	SONDE_SEARCH(end, stream->nr_packets,
		     stream->packets[end].begin_ns <= to);
	lane->last = end;
	lane->first = first_packet(stream, 0, end, from);
}

int sonde_lane_init(struct sonde_lane *lane, const struct sonde_stream *stream,
		    const struct sonde_span *span)
{
	*lane = (struct sonde_lane){
		.stream = stream,
		.head_plan = stream->cls->plan,
		.span = span,
		.located = UINT64_MAX,
	};
	choose_packets(lane);
	if (lane->first >= lane->last)
		return -ENOENT;
	lane->events = calloc(SONDE_BATCH, sizeof(*lane->events));
	lane->blocks = calloc((size_t)lane->head_plan->max_blocks + 1,
			      sizeof(*lane->blocks));
	if (!lane->events || !lane->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < SONDE_BATCH; i++) {
		lane->events[i].lane = lane;
		lane->events[i].stream = stream;
	}
	/* what is before is not this lane's to drop */
	lane->dropped = stream->packets[lane->first].offset & ~(uint64_t)0xffff;
	sonde_lane_rewind(lane);
	return 0;
}

/* Copes with what sonde_lane_init() left half-done for want of memory. */
void sonde_lane_fini(struct sonde_lane *lane)
{
	drop_read(lane);
	free(lane->events);
	free(lane->blocks);
	free(lane->marks);
	free(lane->converted);
}
