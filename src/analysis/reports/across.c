/* SPDX-License-Identifier: MIT */
/*
 * across.c - a pass that keeps of each key its begin and its end, and what these
 * are when the pass is over (across.h).
 */
#include "analysis/reports/across.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/reports/lost.h"
#include "base/hash.h"
#include "reader/reader.h"

/* One of the two. If there are several it says nothing of any. */
struct moment {
	const struct sonde_source *source;
	int64_t time_ns;
	int32_t tid;
	uint32_t nr; /* of them; 2: or more */
};

struct slot {
	struct sonde_key key;
	struct moment begin, end;
};

struct plan {
	const struct sonde_durations_config *config;
	uint8_t *roles;
};

struct part {
	const struct plan *plan;
	struct sonde_hash keys;
	uint64_t keyless;
};

/* ---- the pass ---- */

static int part_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	(void)first; /* the order doesn't matter */
	*part = (struct part){ .plan = config };
	sonde_hash_init(&part->keys, sizeof(struct slot), SONDE_ACROSS_LIMIT);
	return 0;
}

static void add_moment(struct moment *to, const struct moment *moment)
{
	uint32_t nr = to->nr + moment->nr;

	if (moment->nr)
		*to = *moment;
	to->nr = nr < 2 ? nr : 2;
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	const struct plan *plan = part->plan;
	unsigned int role =
		sonde_durations_role(plan->config, plan->roles, event);
	const struct moment moment = {
		.source = event->stream->source,
		.time_ns = event->time_ns,
		.tid = role ? sonde_event_tid(event) : -1,
		.nr = 1,
	};
	struct sonde_key key;
	struct slot *slot;

	if (!role)
		return 0;
	if (event->time_ns == SONDE_TIME_MIN ||
	    sonde_durations_key(plan->config, event, &key)) {
		part->keyless++;
		return 0;
	}
	slot = sonde_hash_put(&part->keys, &key);
	if (!slot)
		return sonde_hash_error(&part->keys);
	if (role & SONDE_DURATIONS_BEGINS)
		add_moment(&slot->begin, &moment);
	if (role & SONDE_DURATIONS_ENDS)
		add_moment(&slot->end, &moment);
	return 0;
}

static int part_merge(void *whole, void *memory)
{
	struct part *left = whole;
	struct part *right = memory;
	const struct slot *slot = NULL;

	while ((slot = sonde_hash_next(&right->keys, slot))) {
		struct slot *to = sonde_hash_put(&left->keys, &slot->key);

		if (!to)
			return sonde_hash_error(&left->keys);
		add_moment(&to->begin, &slot->begin);
		add_moment(&to->end, &slot->end);
	}
	left->keyless += right->keyless;
	return 0;
}

static void part_fini(void *memory)
{
	struct part *part = memory;

	sonde_hash_fini(&part->keys);
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* ---- what they are ---- */

static int64_t add_clamped(int64_t one, int64_t other)
{
	int64_t sum;

	if (!__builtin_add_overflow(one, other, &sum))
		return sum;
	return one < 0 ? INT64_MIN : INT64_MAX;
}

static int across_add_span(struct sonde_across *across,
			   struct sonde_across_way *way,
			   const struct slot *slot, int64_t bound_ns)
{
	int64_t ns = sonde_elapsed_ns(slot->begin.time_ns, slot->end.time_ns);
	const struct sonde_longest_span span = {
		.begin_ns = slot->begin.time_ns,
		.end_ns = slot->end.time_ns,
		.tid = slot->begin.tid,
		.other_tid = slot->end.tid,
		.place = slot->begin.source->machine,
		.other_place = slot->end.source->machine,
		.other_ns = bound_ns,
	};

	sonde_longest_add(&across->worst, &span, &slot->key);
	way->spans++;
	across->elsewhere += span.place != span.other_place;
	if (ns > way->longest_ns)
		way->longest_ns = ns;
	if (bound_ns > way->widest_ns)
		way->widest_ns = bound_ns;
	if (bound_ns > across->widest_ns)
		across->widest_ns = bound_ns;
	return sonde_histogram_add(&across->durations, ns);
}

/* Its begin and its end have been seen, and one of each. */
static int across_add_request(struct sonde_across *across,
			      const struct sonde_lost *lost,
			      const struct slot *slot)
{
	const struct moment *begin = &slot->begin;
	const struct moment *end = &slot->end;
	struct sonde_across_way *way =
		&across->ways[begin->source->machine * across->nr_machines +
			      end->source->machine];
	int64_t bound_ns = sonde_source_apart_ns(begin->source, begin->time_ns,
						 end->source, end->time_ns);
	int64_t ns = sonde_elapsed_ns(begin->time_ns, end->time_ns);

	if (bound_ns < 0) {
		way->uncompared++;
		across->uncompared++;
		return 0;
	}
	if (sonde_elapsed_ns(end->time_ns, begin->time_ns) > bound_ns) {
		across->reversed++;
		return 0;
	}
	if (sonde_lost_within(lost, add_clamped(begin->time_ns, -bound_ns),
			      add_clamped(end->time_ns, bound_ns))) {
		across->across++;
		return 0;
	}
	if (bound_ns && ns <= bound_ns) {
		int64_t most_ns = add_clamped(ns, bound_ns);

		way->unknown++;
		across->unknown++;
		if (most_ns > across->unknown_ns)
			across->unknown_ns = most_ns;
	}
	return across_add_span(across, way, slot, bound_ns);
}

static int add_key(struct sonde_across *across, const struct sonde_lost *lost,
		   const struct slot *slot)
{
	if (slot->begin.nr > 1 || slot->end.nr > 1)
		across->repeated++;
	else if (!slot->end.nr)
		across->unended++;
	else if (!slot->begin.nr)
		across->unbegun++;
	else
		return across_add_request(across, lost, slot);
	return 0;
}

static int across_judge(const struct sonde_trace *trace,
			const struct sonde_hash *keys, const uint8_t *roles,
			struct sonde_across *across)
{
	struct sonde_lost lost = { .nr = 0 };
	const struct slot *slot = NULL;
	int err = sonde_lost_read(&lost, trace, roles);

	while (!err && (slot = sonde_hash_next(keys, slot)))
		err = add_key(across, &lost, slot);
	sonde_lost_fini(&lost);
	return err;
}

int sonde_across_find(struct sonde_analysis_args *args,
		      const struct sonde_durations_config *config,
		      struct sonde_across *ret_across)
{
	struct plan plan = { .config = config };
	struct part whole = { .keyless = 0 };
	size_t nr = args->trace->nr_machines;
	int err = -ENOMEM;

	*ret_across = (struct sonde_across){
		.nr_machines = nr,
		.ways = calloc(nr, nr * sizeof(*ret_across->ways)),
	};
	plan.roles = sonde_durations_roles(args->trace, config);
	if (plan.roles && ret_across->ways)
		err = sonde_map(args->trace, &args->map, &ops, &plan, &whole);
	if (!err)
		err = across_judge(args->trace, &whole.keys, plan.roles,
				   ret_across);
	ret_across->keyless = whole.keyless;
	part_fini(&whole);
	free(plan.roles);
	if (err == -E2BIG)
		return sonde_analysis_fail(
			args, -EINVAL,
			"there are more than %zu keys; choose less of the "
			"trace with -f, or --from and --to",
			SONDE_ACROSS_LIMIT);
	return err;
}

void sonde_across_fini(struct sonde_across *across)
{
	sonde_histogram_fini(&across->durations);
	free(across->ways);
}
