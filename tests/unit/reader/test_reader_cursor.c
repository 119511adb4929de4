/* SPDX-License-Identifier: MIT */
/*
 * test_reader_cursor.c - the order of events, both ways, from anywhere, in
 * slices: against an array of all events that is sorted here.
 *
 * The traces are random (the seed is printed when a test fails): streams of
 * packets of few or many events, equal times, gaps, and in some disorder.
 */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/map.h"
#include "reader_traces.h"

#define STREAMS 3
#define EVENTS  2000
#define FIRST   1000

struct model_event {
	int64_t time;
	int stream;
	int32_t n; /* unique */
};

struct model {
	struct made files[STREAMS];
	struct model_event events[EVENTS * STREAMS];
	size_t nr;
	struct sonde_trace *trace;
	uint64_t random;
};

static uint32_t roll(struct model *model, uint32_t sides)
{
	model->random ^= model->random << 13;
	model->random ^= model->random >> 7;
	model->random ^= model->random << 17;
	return (uint32_t)(model->random >> 33) % sides;
}

static int by_time(const void *a, const void *b)
{
	const struct model_event *l = a;
	const struct model_event *r = b;

	if (l->time != r->time)
		return l->time < r->time ? -1 : 1;
	if (l->stream != r->stream)
		return l->stream - r->stream;
	return l->n - r->n;
}

/* A stream's packets, of 1 to `most` events each; `disorder`: now and then an
 * event is earlier than the one before it, in the same packet. */
static void make_stream(struct model *model, int stream, uint32_t most,
			uint32_t disorder)
{
	struct made *file = &model->files[stream];
	uint64_t time = FIRST;
	uint64_t sequence = 0;
	int left = EVENTS;

	while (left) {
		int in_packet = (int)roll(model, most) + 1;
		uint64_t begin = time;
		uint64_t back = 0;

		made_packet(file, &(struct made_head){
					  .begin = begin,
					  .sequence = sequence++,
					  .cpu = (uint32_t)stream,
					  .instance = (uint32_t)stream });
		while (left && in_packet--) {
			time += roll(model, 3) ? roll(model, 4) : 0;
			back = disorder && time > begin + 10 &&
					       !roll(model, disorder) ?
				       roll(model, 8) :
				       0;
			model->events[model->nr] = (struct model_event){
				(int64_t)(time - back),
				stream,
				(int32_t)model->nr,
			};
			made_number(file, time - back, (int32_t)model->nr++);
			left--;
		}
		made_spoil_u64(file, MADE_END, time);
		made_packet_end(file, roll(model, 9));
		time += roll(model, 2);
	}
}

static void make(struct model *model, uint64_t seed, uint32_t most,
		 uint32_t disorder)
{
	memset(model, 0, sizeof(*model));
	model->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (int i = 0; i < STREAMS; i++)
		make_stream(model, i, most, disorder);
	qsort(model->events, model->nr, sizeof(*model->events), by_time);
	model->trace = made_open(made_metadata, model->files, STREAMS);
}

static void unmake(struct model *model)
{
	sonde_trace_close(model->trace);
	for (int i = 0; i < STREAMS; i++)
		made_free(&model->files[i]);
}

static int32_t number_of(const struct sonde_event *event)
{
	struct sonde_field field;
	struct sonde_value value;

	assert_int_equal(sonde_event_class_field(event->cls, SONDE_NR_SCOPES,
						 "n", &field),
			 0);
	assert_int_equal(sonde_event_value(event, &field, &value), 0);
	return (int32_t)value.i;
}

static void check_is(const struct sonde_event *event,
		     const struct model_event *expected)
{
	assert_int_equal(event->time_ns, expected->time);
	assert_int_equal(number_of(event), expected->n);
	assert_int_equal(sonde_event_cpu(event), expected->stream);
}

static struct sonde_cursor *
open_cursor(const struct model *model,
	    const struct sonde_cursor_options *options)
{
	struct sonde_cursor *cursor;

	assert_int_equal(sonde_cursor_new(model->trace, options, &cursor), 0);
	return cursor;
}

/* All sizes of packets: below, at and above what a batch holds. */
static const uint32_t sizes[] = { 1, 7, 255, 256, 257, 1000, EVENTS };

#define FOR_EACH_MODEL(model, disorder)                          \
	for (size_t of = 0; of < sizeof(sizes) / sizeof(*sizes); \
	     unmake(model), of++)                                \
		if (make(model, of, sizes[of], disorder), true)

static void events_come_in_the_order_of_time(void **state)
{
	struct model *model = *state;

	FOR_EACH_MODEL(model, 0)
	{
		struct sonde_cursor *cursor = open_cursor(model, NULL);
		const struct sonde_event *event;

		for (size_t i = 0; i < model->nr; i++) {
			assert_int_equal(sonde_cursor_next(cursor, &event), 1);
			check_is(event, &model->events[i]);
		}
		assert_int_equal(sonde_cursor_next(cursor, &event), 0);
		assert_int_equal(sonde_cursor_next(cursor, &event), 0);
		assert_int_equal(made_nr_problems(model->trace), 0);
		sonde_cursor_free(cursor);
	}
}

static void going_back_is_the_same_in_reverse(void **state)
{
	struct model *model = *state;

	FOR_EACH_MODEL(model, 0)
	{
		struct sonde_cursor *cursor = open_cursor(model, NULL);
		const struct sonde_event *event;

		assert_int_equal(sonde_cursor_prev(cursor, &event), 0);
		assert_int_equal(sonde_cursor_seek(cursor, SONDE_TIME_MAX), 0);
		for (size_t i = model->nr; i-- > 0;) {
			assert_int_equal(sonde_cursor_prev(cursor, &event), 1);
			check_is(event, &model->events[i]);
		}
		assert_int_equal(sonde_cursor_prev(cursor, &event), 0);
		assert_int_equal(sonde_cursor_next(cursor, &event), 1);
		check_is(event, &model->events[0]);
		sonde_cursor_free(cursor);
	}
}

static void a_cursor_may_turn_at_any_event(void **state)
{
	struct model *model = *state;

	FOR_EACH_MODEL(model, 0)
	{
		struct sonde_cursor *cursor = open_cursor(model, NULL);
		const struct sonde_event *event;
		size_t at = 0; /* it stands before this one */

		for (int turn = 0; turn < 60; turn++) {
			uint32_t steps = roll(model, turn % 3 ? 9 : 800);
			bool back = turn & 1;

			while (steps--) {
				int more = back ? sonde_cursor_prev(cursor,
								    &event) :
						  sonde_cursor_next(cursor,
								    &event);

				assert_int_equal(more, back ? at > 0 :
							      at < model->nr);
				if (!more)
					break;
				check_is(event,
					 &model->events[back ? --at : at++]);
			}
		}
		sonde_cursor_free(cursor);
	}
}

static size_t first_at(const struct model *model, int64_t time)
{
	size_t i = 0;

	while (i < model->nr && model->events[i].time < time)
		i++;
	return i;
}

static void a_seek_finds_the_first_event_at_or_after(void **state)
{
	struct model *model = *state;

	FOR_EACH_MODEL(model, 0)
	{
		struct sonde_cursor *cursor = open_cursor(model, NULL);
		const struct sonde_event *event;
		int64_t last = model->events[model->nr - 1].time;

		for (int64_t time = FIRST - 2; time < last + 3;
		     time += 1 + roll(model, 60)) {
			size_t at = first_at(model, time);

			assert_int_equal(sonde_cursor_seek(cursor, time), 0);
			assert_int_equal(sonde_cursor_next(cursor, &event),
					 at < model->nr);
			if (at < model->nr)
				check_is(event, &model->events[at]);
			assert_int_equal(sonde_cursor_seek(cursor, time), 0);
			assert_int_equal(sonde_cursor_prev(cursor, &event),
					 at > 0);
			if (at > 0)
				check_is(event, &model->events[at - 1]);
		}
		sonde_cursor_free(cursor);
	}
}

static void a_span_has_both_its_ends(void **state)
{
	struct model *model = *state;

	FOR_EACH_MODEL(model, 0)
	{
		struct sonde_cursor_options options;
		const struct sonde_event *event;
		struct sonde_cursor *cursor;
		size_t at;

		sonde_cursor_options_init(&options);
		options.from_ns = FIRST + 500;
		options.to_ns = FIRST + 1500;
		at = first_at(model, options.from_ns);
		cursor = open_cursor(model, &options);
		while (sonde_cursor_next(cursor, &event) > 0)
			check_is(event, &model->events[at++]);
		assert_int_equal(at, first_at(model, options.to_ns + 1));
		sonde_cursor_free(cursor);
	}
}

static void a_filter_leaves_what_matches(void **state)
{
	struct model *model = *state;

	FOR_EACH_MODEL(model, 0)
	{
		struct sonde_cursor_options options;
		struct sonde_trace_error error;
		struct sonde_filter *filter;
		const struct sonde_event *event;
		struct sonde_cursor *cursor;
		size_t at = 0;

		assert_int_equal(sonde_filter_new(model->trace,
						  "n % 10 == 3 && cpu != 1",
						  &error, &filter),
				 0);
		sonde_cursor_options_init(&options);
		options.filter = filter;
		cursor = open_cursor(model, &options);
		for (size_t i = 0; i < model->nr; i++) {
			if (model->events[i].n % 10 != 3 ||
			    model->events[i].stream == 1)
				continue;
			assert_int_equal(sonde_cursor_next(cursor, &event), 1);
			check_is(event, &model->events[i]);
			at = i;
		}
		assert_int_equal(sonde_cursor_next(cursor, &event), 0);
		assert_int_equal(sonde_cursor_prev(cursor, &event), 1);
		check_is(event, &model->events[at]);
		sonde_cursor_free(cursor);
		sonde_filter_free(filter);
	}
}

static void unmerged_streams_come_one_after_the_other(void **state)
{
	struct model *model = *state;
	struct sonde_cursor_options options;
	const struct sonde_event *event;
	struct sonde_cursor *cursor;

	make(model, 1, 300, 0);
	sonde_cursor_options_init(&options);
	options.unmerged = true;
	cursor = open_cursor(model, &options);
	for (size_t i = 0; i < model->nr; i++) {
		assert_int_equal(sonde_cursor_next(cursor, &event), 1);
		assert_int_equal(number_of(event), (int32_t)i);
	}
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	assert_int_equal(sonde_cursor_prev(cursor, &event), -ENOTSUP);
	sonde_cursor_free(cursor);
	unmake(model);
}

static void small_disorder_is_sorted_and_counted(void **state)
{
	struct model *model = *state;

	FOR_EACH_MODEL(model, 15)
	{
		struct sonde_cursor *cursor = open_cursor(model, NULL);
		const struct sonde_event *event;
		struct sonde_problem problem;
		size_t nr = 0;
		size_t late = 0;
		uint64_t counted = 0;
		int64_t last = 0;
		char *seen = calloc(model->nr, 1);

		assert_non_null(seen);
		while (sonde_cursor_next(cursor, &event) > 0) {
			assert_false(seen[number_of(event)]++);
			late += event->time_ns < last;
			last = event->time_ns;
			nr++;
		}
		assert_int_equal(nr, model->nr);
		/* only at the seams of batches */
		assert_true(late < nr / 256 + 1);
		for (size_t i = 0;
		     !sonde_trace_problem(model->trace, i, &problem); i++)
			if (problem.kind == SONDE_PROBLEM_ORDER)
				counted += problem.count;
		assert_true(sizes[of] < 7 || counted > 0);
		free(seen);
		sonde_cursor_free(cursor);
	}
}

/* ---- slices ---- */

/* What a part knows: what it was given, in order. */
struct part {
	size_t nr;
	int32_t *numbers;
	bool first;
};

static int part_begin(void *of, const void *config, bool first)
{
	struct part *part = of;

	(void)config;
	part->first = first;
	part->numbers = malloc(sizeof(int32_t) * EVENTS * STREAMS);
	return part->numbers ? 0 : -ENOMEM;
}

static int part_event(void *of, const struct sonde_event *event)
{
	struct part *part = of;

	part->numbers[part->nr++] = number_of(event);
	return 0;
}

static int part_merge(void *whole, void *of)
{
	struct part *all = whole;
	struct part *part = of;

	if (part->first != !all->nr && part->nr)
		return -EPROTO;
	memcpy(all->numbers + all->nr, part->numbers,
	       part->nr * sizeof(int32_t));
	all->nr += part->nr;
	return 0;
}

static void part_fini(void *of)
{
	free(((struct part *)of)->numbers);
}

static const struct sonde_map_ops part_ops = {
	.part_bytes = sizeof(struct part),
	.begin = part_begin,
	.event = part_event,
	.merge = part_merge,
	.fini = part_fini,
};

static void each_event_is_in_exactly_one_slice(void **state)
{
	struct model *model = *state;

	for (uint32_t disorder = 0; disorder < 60; disorder += 30)
		FOR_EACH_MODEL(model, disorder)
		{
			struct sonde_map_options options;
			struct part whole = { 0 };
			char *seen = calloc(model->nr, 1);

			assert_non_null(seen);
			sonde_map_options_init(&options);
			options.threads = 1 + (unsigned int)of % 3;
			options.slice_bytes = 2000;
			assert_int_equal(sonde_map(model->trace, &options,
						   &part_ops, NULL, &whole),
					 0);
			assert_int_equal(whole.nr, model->nr);
			for (size_t i = 0; i < whole.nr; i++) {
				assert_false(seen[whole.numbers[i]]++);
				if (!disorder)
					assert_int_equal(whole.numbers[i],
							 model->events[i].n);
			}
			part_fini(&whole);
			free(seen);
		}
}

static _Atomic unsigned int nr_merges;

/* So large that each look at it is followed by a merge. */
static size_t part_bytes(const void *of)
{
	return ((const struct part *)of)->nr * 8192;
}

static int merge_and_empty(void *whole, void *of)
{
	struct part *part = of;
	int err = part_merge(whole, of);

	part->nr = 0;
	part->first = false;
	nr_merges++;
	return err;
}

static _Atomic bool another_is_full;

/* The first slice is not ended before another one has something to be merged, and
 * has had every opportunity to do so too early. */
static int let_another_overtake(void *of, const struct sonde_event *event)
{
	struct part *part = of;

	if (!part->first && part->nr >= 511)
		another_is_full = true;
	while (part->first && part->nr == 500 && !another_is_full)
		(void)sched_yield();
	if (!part->first && another_is_full)
		(void)sched_yield();
	return part_event(of, event);
}

static void what_is_too_large_is_merged_in_pieces_and_in_order(void **state)
{
	struct model *model = *state;
	struct sonde_map_ops ops = part_ops;
	struct sonde_map_options options;
	struct part whole = { 0 };

	make(model, 3, 100, 0);
	ops.merge = merge_and_empty;
	ops.bytes = part_bytes;
	ops.event = let_another_overtake;
	another_is_full = false;
	nr_merges = 0;
	sonde_map_options_init(&options);
	options.slice_bytes = 20000;
	options.threads = 2;
	assert_int_equal(sonde_map(model->trace, &options, &ops, NULL, &whole),
			 0);
	assert_int_equal(whole.nr, model->nr);
	for (size_t i = 0; i < whole.nr; i++)
		assert_int_equal(whole.numbers[i], model->events[i].n);
	/* more than there are slices */
	assert_true(nr_merges > model->nr * 14 / 20000 + 2);
	part_fini(&whole);
	unmake(model);
}

static int failing_event(void *of, const struct sonde_event *event)
{
	(void)of;
	return number_of(event) == 4000 ? -EXDEV : 0;
}

static void the_first_error_ends_the_map(void **state)
{
	struct model *model = *state;
	struct sonde_map_ops ops = part_ops;
	struct sonde_map_options options;
	struct part whole = { 0 };

	make(model, 3, 100, 0);
	ops.event = failing_event;
	sonde_map_options_init(&options);
	options.slice_bytes = 1000;
	options.threads = 2;
	assert_int_equal(sonde_map(model->trace, &options, &ops, NULL, &whole),
			 -EXDEV);
	part_fini(&whole);
	unmake(model);
}

static _Atomic bool asked;

static int stop_at_once(void *ctx, uint64_t done, uint64_t all)
{
	(void)ctx;
	assert_true(done <= all);
	asked = true;
	return 1;
}

static int wait_for_question(void *of, const struct sonde_event *event)
{
	while (!asked)
		(void)sched_yield();
	return part_event(of, event);
}

static void progress_may_stop_the_map(void **state)
{
	struct model *model = *state;
	struct sonde_map_ops ops = part_ops;
	struct sonde_map_options options;
	struct part whole = { 0 };

	make(model, 3, 100, 0);
	asked = false;
	ops.event = wait_for_question;
	sonde_map_options_init(&options);
	options.progress = stop_at_once;
	options.slice_bytes = 1000;
	options.threads = 2;
	assert_int_equal(sonde_map(model->trace, &options, &ops, NULL, &whole),
			 -EINTR);
	part_fini(&whole);
	unmake(model);
}

static int make_room(void **state)
{
	*state = malloc(sizeof(struct model));
	return !*state;
}

static int give_room(void **state)
{
	free(*state);
	return 0;
}

/* A stream of twenty packets, one after the other, of so many events each; and
 * one whose only packet is as long as the trace. */
static bool pays(uint64_t nr_events, uint64_t nr_long, unsigned int threads)
{
	struct made files[2] = { { 0 }, { 0 } };
	struct sonde_map_options options;
	struct sonde_trace *trace;
	bool answer;

	for (uint64_t i = 0; i < 20; i++) {
		made_packet(&files[0],
			    &(struct made_head){ .begin = 100 * i,
						 .end = 100 * i + 99 });
		for (uint64_t k = 0; k < nr_events; k++)
			made_number(&files[0], 100 * i, 1);
		made_packet_end(&files[0], 0);
	}
	made_packet(&files[1],
		    &(struct made_head){ .instance = 1, .end = 1999 });
	for (uint64_t i = 0; i < nr_long; i++)
		made_number(&files[1], i * 1999 / nr_long, 1);
	made_packet_end(&files[1], 0);
	trace = made_open(made_metadata, files, 2);
	sonde_map_options_init(&options);
	options.slice_bytes = 1;
	options.threads = threads;
	answer = sonde_map_pays(trace, &options);
	sonde_trace_close(trace);
	made_free(&files[0]);
	made_free(&files[1]);
	return answer;
}

static void slices_pay_unless_packets_are_in_many(void **state)
{
	(void)state;
	assert_true(pays(3000, 0, 2));
	assert_false(pays(3000, 0, 1));
	assert_false(pays(3000, 30000, 2));
	/* so few slices that some threads would have none */
	assert_false(pays(3000, 0, 64));
}

static void slices_of_few_events_do_not_pay(void **state)
{
	(void)state;
	assert_false(pays(10, 0, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_in_the_order_of_time),
		cmocka_unit_test(going_back_is_the_same_in_reverse),
		cmocka_unit_test(a_cursor_may_turn_at_any_event),
		cmocka_unit_test(a_seek_finds_the_first_event_at_or_after),
		cmocka_unit_test(a_span_has_both_its_ends),
		cmocka_unit_test(a_filter_leaves_what_matches),
		cmocka_unit_test(unmerged_streams_come_one_after_the_other),
		cmocka_unit_test(small_disorder_is_sorted_and_counted),
		cmocka_unit_test(each_event_is_in_exactly_one_slice),
		cmocka_unit_test(the_first_error_ends_the_map),
		cmocka_unit_test(
			what_is_too_large_is_merged_in_pieces_and_in_order),
		cmocka_unit_test(slices_pay_unless_packets_are_in_many),
		cmocka_unit_test(slices_of_few_events_do_not_pay),
		cmocka_unit_test(progress_may_stop_the_map),
	};

	return cmocka_run_group_tests(tests, make_room, give_room);
}
