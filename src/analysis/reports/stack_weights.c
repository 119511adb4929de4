/* SPDX-License-Identifier: MIT */
/*
 * stack_weights.c - weights of call stacks (stack_weights.h).
 *
 * Events are added up in slices, by stack and, as hooks have frames of their own
 * before it, by the call that their field `caller` says; slices are added up in
 * any order. Memory and locks are what heap.c and contention.c know; how long a
 * thread was blocked, and with which stack it had left the CPU, the kernel's state
 * knows (model/kernel.h).
 */
#include "analysis/reports/stack_weights.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model/replay.h"
#include "analysis/reports/contention.h"
#include "analysis/reports/heap.h"
#include "reader/names/names.h"
#include "reader/reader.h"

#define STACKS_MAX ((size_t)1 << 22)

/* The fields of an event class; without owner: it has none. */
struct class_fields {
	struct sonde_field stack, caller;
	struct sonde_field period; /* of samples alone */
};

struct weighing {
	const struct sonde_filter *value; /* NULL: 1 */
	bool samples;                     /* these, and their periods */
	struct class_fields *classes;
};

struct weighed {
	struct sonde_key key;
	struct sonde_analysis_site at;
	uint64_t weight, count;
};

struct part {
	const struct weighing *weighing;
	struct sonde_hash stacks;
	struct sonde_analysis_weightless less;
	bool wakers; /* of threads: where these were, */
	int err;     /* and of what can't say it at once */
};

/* ---- events ---- */

static struct class_fields *find_stack_fields(const struct sonde_trace *trace)
{
	struct class_fields *classes =
		calloc(trace->nr_classes + 1, sizeof(*classes));

	for (size_t i = 0; classes && i < trace->nr_classes; i++) {
		sonde_names_stack_field(trace->classes[i], &classes[i].stack);
		if (sonde_event_class_field(trace->classes[i],
					    SONDE_SCOPE_PAYLOAD, "caller",
					    &classes[i].caller))
			classes[i].caller.owner = NULL;
		if (!sonde_names_is_sample(trace->classes[i]) ||
		    sonde_event_class_field(trace->classes[i],
					    SONDE_SCOPE_PAYLOAD, "period",
					    &classes[i].period))
			classes[i].period.owner = NULL;
	}
	return classes;
}

static uint64_t weigh_number(const struct sonde_event *event,
			     const struct sonde_field *field)
{
	struct sonde_value value;

	if (!field->owner || sonde_event_value(event, field, &value) ||
	    value.kind > SONDE_KIND_INT)
		return 0;
	return value.u;
}

/* False: it has none. */
static bool weight_of(const struct sonde_filter *filter,
		      const struct sonde_event *event, uint64_t *ret_weight)
{
	struct sonde_value value;

	*ret_weight = 1;
	if (!filter)
		return true;
	if (sonde_filter_value(filter, event, &value))
		return false;
	*ret_weight = value.u;
	if (value.kind == SONDE_KIND_UINT || value.kind == SONDE_KIND_BOOL)
		return true;
	if (value.kind == SONDE_KIND_INT)
		return value.i >= 0;
	if (value.kind != SONDE_KIND_FLOAT || !(value.d >= 0) ||
	    value.d >= 0x1p63)
		return false;
	*ret_weight = (uint64_t)(value.d + 0.5);
	return true;
}

static struct weighed *weighed_stack(struct part *part,
				     const struct sonde_analysis_site *at)
{
	const struct sonde_key key =
		sonde_analysis_site_key(at->caller, at->image, at->stack);
	struct weighed *stack = sonde_hash_put(&part->stacks, &key);

	if (!stack)
		return NULL;
	if (!stack->count)
		stack->at = *at;
	sonde_analysis_site_use(&stack->at, at->caller, at->image,
				at->first_ns);
	sonde_analysis_site_use(&stack->at, at->caller, at->image, at->last_ns);
	return stack;
}

static int weigh_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	const struct class_fields *fields =
		&part->weighing->classes[event->cls->info.index];
	struct sonde_analysis_site at = {
		.image = sonde_names_image(event),
		.first_ns = event->time_ns,
		.last_ns = event->time_ns,
	};
	struct weighed *stack;
	uint64_t weight;

	if (part->weighing->samples && !fields->period.owner)
		return 0;
	if (!fields->stack.owner) {
		part->less.stackless++;
		return 0;
	}
	if (!weight_of(part->weighing->value, event, &weight)) {
		part->less.valueless++;
		return 0;
	}
	if (part->weighing->samples)
		weight = weigh_number(event, &fields->period);
	at.stack = (uint32_t)weigh_number(event, &fields->stack);
	at.caller = weigh_number(event, &fields->caller);
	stack = weighed_stack(part, &at);
	if (!stack)
		return sonde_hash_error(&part->stacks);
	stack->weight += weight;
	stack->count++;
	return 0;
}

static int weigh_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	(void)first;
	part->weighing = config;
	sonde_hash_init(&part->stacks, sizeof(struct weighed), STACKS_MAX);
	return 0;
}

static int weigh_merge(void *whole, void *memory)
{
	struct part *left = whole;
	struct part *right = memory;
	const struct weighed *from = NULL;

	while ((from = sonde_hash_next(&right->stacks, from))) {
		struct weighed *stack = weighed_stack(left, &from->at);

		if (!stack)
			return sonde_hash_error(&left->stacks);
		stack->weight += from->weight;
		stack->count += from->count;
	}
	left->less.stackless += right->less.stackless;
	left->less.valueless += right->less.valueless;
	return 0;
}

static void weigh_fini(void *memory)
{
	sonde_hash_fini(&((struct part *)memory)->stacks);
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, weigh_begin, weigh_event, weigh_merge, weigh_fini);

/* Where sums of weights go. */
struct scale {
	int (*add)(void *ctx, const struct sonde_analysis_weight *weight);
	void *ctx;
};

static int put_on_scale(const struct scale *scale,
			const struct sonde_analysis_site *at, uint64_t weight,
			uint64_t count)
{
	const struct sonde_analysis_weight of = { at, weight, count };

	return count ? scale->add(scale->ctx, &of) : 0;
}

static int weigh_events(struct sonde_analysis_args *args, bool samples,
			const struct scale *scale,
			struct sonde_analysis_weightless *ret_weightless)
{
	struct sonde_map_options options = args->map;
	struct weighing weighing = {
		.value = args->value,
		.samples = samples,
		.classes = find_stack_fields(args->trace),
	};
	struct part whole = { 0 };
	const struct weighed *stack = NULL;
	int err = -ENOMEM;

	options.unmerged = true;
	if (weighing.classes)
		err = sonde_map(args->trace, &options, &ops, &weighing, &whole);
	while (!err && (stack = sonde_hash_next(&whole.stacks, stack)))
		err = put_on_scale(scale, &stack->at, stack->weight,
				   stack->count);
	*ret_weightless = whole.less;
	if (weighing.classes)
		weigh_fini(&whole);
	free(weighing.classes);
	return err;
}

/* ---- memory and locks ---- */

static int weigh_heap(struct sonde_analysis_args *args, bool peak,
		      const struct scale *scale)
{
	struct sonde_heap heap;
	int err;

	sonde_heap_init(&heap);
	heap.by_stack = true;
	err = sonde_heap_read(args, &heap);
	for (size_t i = 0; !err && i < heap.nr_sites; i++) {
		const struct sonde_heap_site *site = &heap.sites[i];

		if (peak)
			err = put_on_scale(scale, &site->at,
					   sonde_heap_site_peak(&heap, site),
					   site->calls.calls);
		else
			err = put_on_scale(scale, &site->at, site->live_bytes,
					   site->live_blocks);
	}
	sonde_heap_fini(&heap);
	return err;
}

static int weigh_locks(struct sonde_analysis_args *args, bool holders,
		       const struct scale *scale)
{
	struct sonde_contention contention;
	const struct sonde_lock_site *site = NULL;
	int err;

	sonde_contention_init(&contention);
	contention.by_stack = true;
	err = sonde_contention_read(args, &contention);
	while (!err && (site = sonde_hash_next(&contention.sites, site)))
		err = put_on_scale(scale, &site->at,
				   holders ? site->blocked_ns : site->wait_ns,
				   holders ? site->blocked : site->waited);
	sonde_contention_fini(&contention);
	return err;
}

/* ---- the time of threads that were blocked ---- */

/* Waits that aren't over count as well: as long as the trace shows them. Nobody
 * has ended those yet. */
static void weigh_interval(void *sink, const struct sonde_interval *interval)
{
	struct part *part = sink;
	struct weighed *stack;
	struct sonde_analysis_site at;

	if (interval->kind != SONDE_INTERVAL_BLOCKED || interval->tid <= 0 ||
	    (part->wakers && interval->open))
		return;
	at = part->wakers ?
		     sonde_analysis_site_of(&interval->blocked.waker_stack,
					    interval->end_ns) :
		     sonde_analysis_site_of(&interval->blocked.stack,
					    interval->begin_ns);
	stack = weighed_stack(part, &at);
	if (!stack) {
		part->err = sonde_hash_error(&part->stacks);
		return;
	}
	stack->weight += (uint64_t)sonde_elapsed_ns(interval->begin_ns,
						    interval->end_ns);
	stack->count++;
}

/* Nothing is told apart by thread. */
static void weigh_ignore_rename(void *sink, int32_t from, int32_t to)
{
	(void)sink;
	(void)from;
	(void)to;
}

static int weigh_offcpu(struct sonde_analysis_args *args, bool wakers,
			const struct scale *scale)
{
	static const struct sonde_model_sink_ops sink = {
		.interval = weigh_interval,
		.rename = weigh_ignore_rename,
	};
	struct sonde_model_tables *tables;
	struct sonde_model *kernel = NULL;
	struct part part = { .wakers = wakers };
	const struct weighed *stack = NULL;
	int err = sonde_model_tables_new(args->trace, SONDE_WANT_PLAYED,
					 &args->map, &tables);

	if (err == -ENODATA)
		return sonde_analysis_fail(args, err,
					   "the trace has no events of the "
					   "scheduler");
	if (err)
		return err;
	sonde_hash_init(&part.stacks, sizeof(struct weighed), STACKS_MAX);
	err = sonde_model_replay_trace(args->trace, &args->map, tables, &sink,
				       &part, &kernel);
	if (!err)
		err = part.err;
	while (!err && (stack = sonde_hash_next(&part.stacks, stack)))
		err = put_on_scale(scale, &stack->at, stack->weight,
				   stack->count);
	weigh_fini(&part);
	sonde_model_free(kernel);
	sonde_model_tables_free(tables);
	return err;
}

int sonde_analysis_weigh(
	struct sonde_analysis_args *args, enum sonde_analysis_weigh what,
	int (*add)(void *ctx, const struct sonde_analysis_weight *weight),
	void *ctx, struct sonde_analysis_weightless *ret_weightless)
{
	const struct scale scale = { add, ctx };

	*ret_weightless = (struct sonde_analysis_weightless){ 0 };
	switch (what) {
	case SONDE_ANALYSIS_WEIGH_LIVE:
	case SONDE_ANALYSIS_WEIGH_PEAK:
		return weigh_heap(args, what == SONDE_ANALYSIS_WEIGH_PEAK,
				  &scale);
	case SONDE_ANALYSIS_WEIGH_WAITS:
	case SONDE_ANALYSIS_WEIGH_HOLDERS:
		return weigh_locks(args, what == SONDE_ANALYSIS_WEIGH_HOLDERS,
				   &scale);
	case SONDE_ANALYSIS_WEIGH_OFFCPU:
	case SONDE_ANALYSIS_WEIGH_WAKERS:
		return weigh_offcpu(args, what == SONDE_ANALYSIS_WEIGH_WAKERS,
				    &scale);
	case SONDE_ANALYSIS_WEIGH_SAMPLES:
	case SONDE_ANALYSIS_WEIGH_EVENTS:
		break;
	}
	return weigh_events(args, what == SONDE_ANALYSIS_WEIGH_SAMPLES, &scale,
			    ret_weightless);
}
