/* SPDX-License-Identifier: MIT */
/*
 * The kernel's half of a recording (session/kernel.h) with sources that are
 * made up: the symbols of the real ones are defined here, so that those aren't
 * linked.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctf/directory.h"
#include "source/packer.h"
#include "source/statedump/source.h"
#include "types/build.h"

#include "session/kernel.h"
#include "test_ctf_witness.h"

#define EVENTS 5u
#define NOBODY (1 << 30) /* a process that there is not */

/* One source of one stream, as the test wants it. */
static struct fake {
	struct sonde_source base;
	_Alignas(8) uint8_t desc[SONDE_DESC_MAX];
	uint8_t records[4096];
	struct sonde_ring_chunk chunk;
	bool has_chunk;
	uint64_t missed;
	uint64_t unfollowed;
	uint64_t unseen;
	uint64_t missed_returns; /* of those */
	struct sonde_source_counts counts;
	pid_t root;
	int nr_open, nr_closed, nr_halted, nr_stopped, nr_peeked;
	int nr_halted_before; /* of all sources, before this one's stop */
	int open_error, start_error;
	int stacks_error; /* of open, if stacks are wanted */
} tracefs, bpf, dump;

static int nr_dumps;
static uint64_t clock_now = 1000;

static struct fake *fake_of(const struct sonde_source *source)
{
	struct fake *const all[] = { &tracefs, &bpf, &dump };

	for (size_t i = 0; i < 3; i++)
		if (&all[i]->base == source)
			return all[i];
	fail();
	return NULL;
}

static uint64_t now(void)
{
	return clock_now += 10;
}

static int open_fake(struct fake *fake, const struct sonde_source_ops *ops,
		     struct sonde_source **ret_source,
		     struct sonde_source_error *error)
{
	struct sonde_build build;

	if (fake->open_error)
		return sonde_source_fail(error, fake->open_error, "%s: no way",
					 ops->name);
	fake->base.ops = ops;
	fake->nr_open++;
	sonde_build_begin(&build, fake->desc, "sched", ops->name, SONDE_INFO);
	sonde_build_int(&build, "number", 32, SONDE_FIELD_SIGNED);
	assert_int_equal(sonde_build_end(&build), 0);
	*ret_source = &fake->base;
	return 0;
}

static int open_tracefs(const struct sonde_source_config *config,
			struct sonde_source **ret_source,
			struct sonde_source_error *error)
{
	if (!tracefs.open_error &&
	    !sonde_source_rules_match(config->rules, "irq", "irq_handler_entry",
				      NULL))
		return -ENODATA;
	return open_fake(&tracefs, &sonde_source_tracefs, ret_source, error);
}

static int open_bpf(const struct sonde_source_config *config,
		    struct sonde_source **ret_source,
		    struct sonde_source_error *error)
{
	if (!sonde_source_rules_match(config->rules, "sched", "sched_switch",
				      NULL))
		return -ENODATA;
	if (config->stack_frames && bpf.stacks_error)
		return sonde_source_fail(error, bpf.stacks_error, "no stacks");
	return open_fake(&bpf, &sonde_source_bpf, ret_source, error);
}

static int open_dump(const struct sonde_source_config *config,
		     struct sonde_source **ret_source,
		     struct sonde_source_error *error)
{
	(void)config;
	return open_fake(&dump, &sonde_source_statedump, ret_source, error);
}

static uint32_t one(const struct sonde_source *source)
{
	(void)source;
	return 1;
}

static const struct sonde_desc *event(const struct sonde_source *source,
				      uint32_t index)
{
	assert_int_equal(index, 0);
	return (const struct sonde_desc *)(const void *)fake_of(source)->desc;
}

static bool has(const struct sonde_source *source, const char *group,
		const char *name)
{
	(void)source;
	(void)name;
	return !strcmp(group, "sched");
}

static void stream(const struct sonde_source *source, uint32_t index,
		   struct sonde_source_stream *ret_stream)
{
	(void)source;
	(void)index;
	*ret_stream = (struct sonde_source_stream){ .cpu = 3, .name = "cpu3" };
}

static int start(struct sonde_source *source, pid_t root,
		 struct sonde_source_error *error)
{
	struct fake *fake = fake_of(source);

	if (fake->start_error)
		return sonde_source_fail(error, fake->start_error,
					 "%s: not now", source->ops->name);
	fake->root = root;
	return 0;
}

static void halt(struct sonde_source *source)
{
	fake_of(source)->nr_halted++;
}

static void stop(struct sonde_source *source)
{
	struct fake *fake = fake_of(source);

	fake->nr_halted_before = tracefs.nr_halted + bpf.nr_halted;
	fake->nr_stopped++;
}

static void tick(struct sonde_source *source)
{
	(void)source;
}

static int peek(struct sonde_source *source, uint32_t index,
		struct sonde_ring_chunk *ret_chunk)
{
	struct fake *fake = fake_of(source);

	(void)index;
	fake->nr_peeked++;
	*ret_chunk = fake->chunk;
	return fake->has_chunk;
}

static void advance(struct sonde_source *source, uint32_t index,
		    const struct sonde_ring_chunk *chunk)
{
	(void)index;
	(void)chunk;
	fake_of(source)->has_chunk = false;
}

static int rewind_fake(struct sonde_source *source, uint32_t index)
{
	(void)index;
	return fake_of(source)->has_chunk;
}

static uint64_t capacity(const struct sonde_source *source, uint32_t index)
{
	(void)source;
	(void)index;
	return 8192;
}

static void counts(struct sonde_source *source, uint32_t index,
		   struct sonde_source_counts *ret_counts)
{
	(void)index;
	*ret_counts = fake_of(source)->counts;
}

static uint64_t missed(struct sonde_source *source)
{
	return fake_of(source)->missed;
}

static uint64_t unfollowed(struct sonde_source *source)
{
	return fake_of(source)->unfollowed;
}

static uint64_t unseen(struct sonde_source *source)
{
	return fake_of(source)->unseen;
}

static uint64_t missed_returns(struct sonde_source *source)
{
	return fake_of(source)->missed_returns;
}

static uint64_t error_ns(const struct sonde_source *source)
{
	return source == &bpf.base ? 17 : 0;
}

static void close_fake(struct sonde_source *source)
{
	if (source)
		fake_of(source)->nr_closed++;
}

static int take_state(struct sonde_source *source,
		      const struct sonde_source_state *state)
{
	assert_ptr_equal(source, &dump.base);
	(void)state;
	nr_dumps++;
	return 0;
}

#define FAKE_OPS(title, opener, ...)                                          \
	{                                                                     \
		.name = (title), .open = (opener), .nr_events = one,          \
		.event = event, .has = has, .nr_streams = one,                \
		.stream = stream, .start = start, .stop = stop, .tick = tick, \
		.peek = peek, .advance = advance, .rewind = rewind_fake,      \
		.capacity = capacity, .counts = counts, .missed = missed,     \
		.missed_returns = missed_returns, .unfollowed = unfollowed,   \
		.unseen = unseen, .clock_error_ns = error_ns,                 \
		.close = close_fake, __VA_ARGS__                              \
	}

const struct sonde_source_ops sonde_source_tracefs =
	FAKE_OPS("tracefs", open_tracefs, .halt = halt);
const struct sonde_source_ops sonde_source_bpf =
	FAKE_OPS("bpf", open_bpf, .halt = halt);
const struct sonde_source_ops sonde_source_statedump =
	FAKE_OPS("dump", open_dump, .is_state = true, .take = take_state);

/* ---- the test's side ---- */

/* EVENTS records of the only event, from `tid`. */
static void give(struct fake *fake, uint32_t tid)
{
	struct sonde_packer packer = {
		.at = fake->records,
		.end = fake->records + sizeof(fake->records),
	};

	sonde_packer_open(&packer, clock_now);
	fake->chunk = (struct sonde_ring_chunk){
		.data = fake->records,
		.first = true,
		.closed = true,
		.ts_begin = clock_now,
		.events = EVENTS,
	};
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint8_t *to = sonde_packer_head(&packer, SONDE_SOURCE_FIRST_ID,
						clock_now + i, tid);

		memcpy(to, &i, 4);
		packer.at = to + 4;
	}
	clock_now += 100;
	fake->chunk.size = (uint32_t)(packer.at - fake->records);
	fake->chunk.ts_end = clock_now;
	fake->has_chunk = true;
}

static struct scratch scratch;
static struct sonde_summary summary;
static struct sonde_source_rules rules;
static struct sonde_session_config options;
static struct sonde_session *session;
static const struct sonde_ctf_clock ctf_clock = {
	.name = "monotonic",
	.description = "",
	.freq = 1000000000,
};

static int setup(void **state)
{
	(void)state;
	tracefs = bpf = dump = (struct fake){ .root = -1 };
	nr_dumps = 0;
	summary = (struct sonde_summary){ 0 };
	sonde_source_rules_fini(&rules);
	sonde_session_config_init(&options);
	options.kernel.rules = &rules;
	options.kernel.memory_bytes = 1 << 20;
	scratch_make(&scratch);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&scratch);
	return 0;
}

static int open_with(const char *text, struct sonde_source_error *error,
		     struct sonde_session_kernel **ret_kernel)
{
	struct sonde_session_kernel_setup config = {
		.config = &options,
		.clock_kind = SONDE_CLOCK_MONOTONIC,
		.now = now,
		.summary = &summary,
	};

	assert_int_equal(sonde_source_rules_add(&rules, text, error->text,
						sizeof(error->text)),
			 0);
	return sonde_session_kernel_open(&config, error, ret_kernel);
}

/* The trace is in a directory of its own below scratch.trace. */
static void create(struct sonde_session_kernel *kernel)
{
	const struct sonde_session_setup setup = {
		.config = &options,
		.clock = &ctf_clock,
		.now = now,
		.summary = &summary,
	};
	struct sonde_directory_error words;
	struct sonde_directory place;

	session = sonde_session_new(&setup);
	assert_non_null(session);
	assert_int_equal(sonde_directory_make(scratch.trace, &place, &words),
			 0);
	assert_int_equal(
		sonde_session_kernel_open_trace(kernel, place.dir, session), 0);
	assert_int_equal(sonde_session_kernel_create(kernel, session), 0);
	sonde_directory_close(&place);
}

static struct sonde_session_kernel *begin(const char *text)
{
	struct sonde_source_error error;
	struct sonde_session_kernel *kernel;

	assert_int_equal(open_with(text, &error, &kernel), 0);
	create(kernel);
	assert_int_equal(sonde_session_kernel_start(kernel, NOBODY, &error), 0);
	return kernel;
}

static uint32_t consume(void)
{
	return sonde_session_consume(session);
}

static void end(struct sonde_session_kernel *kernel)
{
	sonde_session_kernel_finish(kernel);
	assert_int_equal(sonde_session_free(session), 0);
	sonde_session_kernel_close(kernel);
	assert_int_equal(tracefs.nr_open, tracefs.nr_closed);
	assert_int_equal(bpf.nr_open, bpf.nr_closed);
	assert_int_equal(dump.nr_open, dump.nr_closed);
}

static uint32_t lines(const char *text)
{
	uint32_t nr = 0;

	for (; *text; text++)
		nr += *text == '\n';
	return nr;
}

static void both_sources_and_the_dump_are_one_trace(void **state)
{
	struct sonde_session_kernel *kernel;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	kernel = begin("sched,irq");
	assert_int_equal(bpf.root, NOBODY);
	assert_int_equal(tracefs.root, NOBODY);
	assert_int_equal(nr_dumps, 1);
	give(&dump, 1);
	give(&bpf, 4711);
	give(&tracefs, 2);
	assert_in_range(consume(), 1, 1000);
	give(&bpf, 4711);
	bpf.chunk.seq = 1;
	bpf.chunk.events_before = EVENTS;
	bpf.chunk.events = 2 * EVENTS;
	end(kernel);
	assert_int_equal(summary.recorded, 4 * EVENTS);
	assert_int_equal(summary.kernel_recorded, 3 * EVENTS);
	assert_int_equal(sonde_summary_lost(&summary), 0);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	assert_int_equal(lines(witness.out), 4 * EVENTS);
	assert_non_null(strstr(witness.out, "bpf: { cpu_id = 3 }, "
					    "{ tid = 4711 }, { number = 4 }"));
	witness_dismiss(&witness);
}

static void what_was_lost_is_in_the_summary_and_the_trace(void **state)
{
	struct sonde_session_kernel *kernel;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	kernel = begin("sched");
	give(&bpf, 1);
	(void)consume();
	bpf.counts.lost_full = 3;
	bpf.counts.lost_size = 2;
	bpf.counts.lost_unread = 5;
	bpf.missed = 7;
	bpf.missed_returns = 4;
	end(kernel);
	assert_int_equal(summary.lost_kernel_unread, 5);
	assert_int_equal(summary.lost_kernel_full, 3);
	assert_int_equal(summary.lost_size, 2);
	assert_int_equal(summary.lost_kernel_missed, 3);
	assert_int_equal(summary.lost_kernel_returns, 4);
	assert_int_equal(sonde_summary_lost(&summary), 17);
	witness = witness_call(&scratch, NULL);
	assert_int_equal(witness.discarded, 17);
	witness_dismiss(&witness);
}

static void processes_that_were_not_followed_are_noted(void **state)
{
	struct sonde_session_kernel *kernel;

	(void)state;
	kernel = begin("sched");
	bpf.unfollowed = 5;
	bpf.unseen = 3;
	end(kernel);
	/* Of a tree, nobody knows what is missing. */
	assert_int_equal(summary.nr_notes, 1);
	assert_non_null(strstr(summary.notes[0], "5 processes"));
}

static void switches_that_the_kernel_left_out_are_noted(void **state)
{
	struct sonde_session_kernel *kernel;

	(void)state;
	options.kernel.whole_machine = true;
	kernel = begin("sched");
	bpf.unseen = 3;
	end(kernel);
	assert_int_equal(summary.nr_notes, 1);
	assert_non_null(strstr(summary.notes[0], "missing in 3 places"));
}

static void memory_that_no_buffer_takes_is_noted(void **state)
{
	struct sonde_session_kernel *kernel;
	struct sonde_source_error error;

	(void)state;
	options.kernel.memory_bytes = UINT64_C(1536) << 20;
	bpf.base.unused_bytes = UINT64_C(192) << 20;
	assert_int_equal(open_with("sched", &error, &kernel), 0);
	sonde_session_kernel_close(kernel);
	assert_int_equal(summary.nr_notes, 0);
	bpf.base.unused_bytes = UINT64_C(512) << 20;
	assert_int_equal(open_with("sched", &error, &kernel), 0);
	sonde_session_kernel_close(kernel);
	assert_int_equal(summary.nr_notes, 1);
	assert_non_null(strstr(summary.notes[0], "bpf"));
	assert_non_null(strstr(summary.notes[0], "1G of the 1536M"));
}

static void overwritten_events_are_read_at_the_end_and_counted(void **state)
{
	struct sonde_session_kernel *kernel;

	(void)state;
	options.mode = SONDE_OVERWRITE;
	kernel = begin("sched");
	clock_now += 1000000;
	give(&bpf, 1);
	bpf.chunk.events_before = 40;
	bpf.chunk.events = 40 + EVENTS;
	(void)consume();
	assert_true(bpf.has_chunk);
	end(kernel);
	assert_int_equal(bpf.nr_stopped, 1);
	assert_int_equal(summary.recorded, EVENTS);
	assert_int_equal(summary.lost_overwritten, 40);
	/* the state at the end, too */
	assert_int_equal(nr_dumps, 2);
}

static void a_stream_that_contradicts_itself_is_given_up(void **state)
{
	struct sonde_session_kernel *kernel;

	(void)state;
	kernel = begin("sched");
	give(&bpf, 1);
	bpf.chunk.events = 1000000;
	(void)consume();
	end(kernel);
	assert_int_equal(summary.recorded, 0);
	assert_int_equal(summary.nr_notes, 1);
	assert_non_null(strstr(summary.notes[0], "bpf"));
}

/* To stop one may take seconds, in which the other would go on. */
static void all_sources_are_halted_before_one_is_stopped(void **state)
{
	(void)state;
	end(begin("sched,irq"));
	assert_int_equal(bpf.nr_halted_before, 2);
	assert_int_equal(tracefs.nr_halted_before, 2);
	assert_int_equal(bpf.nr_stopped, 1);
	assert_int_equal(tracefs.nr_stopped, 1);
	assert_int_equal(dump.nr_stopped, 1);
}

static void if_one_source_does_not_start_none_records(void **state)
{
	struct sonde_source_error error;
	struct sonde_session_kernel *kernel;

	(void)state;
	assert_int_equal(open_with("sched,irq", &error, &kernel), 0);
	create(kernel);
	tracefs.start_error = -EIO;
	assert_int_equal(sonde_session_kernel_start(kernel, NOBODY, &error),
			 -EIO);
	assert_non_null(strstr(error.text, "tracefs: not now"));
	assert_int_equal(dump.nr_stopped, 1);
	assert_int_equal(bpf.nr_stopped, 1);
	assert_int_equal(tracefs.nr_stopped, 0);
	give(&bpf, 1);
	assert_int_equal(consume(), 0);
	sonde_session_kernel_saw_process(kernel, 78);
	assert_int_equal(nr_dumps, 0);
	end(kernel);
	assert_int_equal(bpf.nr_peeked, 0);
	assert_int_equal(summary.recorded, 0);
}

static void one_source_stands_in_for_the_other(void **state)
{
	struct sonde_source_error error;
	struct sonde_session_kernel *kernel;

	(void)state;
	tracefs.open_error = -EACCES;
	assert_int_equal(open_with("sched", &error, &kernel), 0);
	assert_non_null(strstr(summary.notes[0], "from bpf alone"));
	assert_non_null(strstr(summary.notes[0], "tracefs: no way"));
	sonde_session_kernel_close(kernel);
	assert_int_equal(bpf.nr_open, bpf.nr_closed);
	bpf.open_error = -EPERM;
	assert_int_equal(open_with("sched", &error, &kernel), -EPERM);
	assert_non_null(strstr(error.text, "bpf: no way; and tracefs: no way"));
	assert_int_equal(dump.nr_open, dump.nr_closed);
}

static void to_do_without_stacks_is_advised_if_that_helps(void **state)
{
	static const char *const advice =
		"without --stack they can be recorded";
	struct sonde_source_error error;
	struct sonde_session_kernel *kernel;

	(void)state;
	options.stacks_depth = 16;
	bpf.stacks_error = -ENOSYS;
	assert_int_equal(open_with("sched", &error, &kernel), -ENOSYS);
	assert_non_null(strstr(error.text, "no stacks"));
	assert_non_null(strstr(error.text, advice));
	assert_int_equal(bpf.nr_open, bpf.nr_closed);
	bpf.open_error = tracefs.open_error = -EPERM;
	assert_int_equal(open_with("sched", &error, &kernel), -EPERM);
	assert_non_null(strstr(error.text, "no stacks"));
	assert_null(strstr(error.text, advice));
}

static void a_rule_that_matches_nothing_is_named(void **state)
{
	struct sonde_source_error error;
	struct sonde_session_kernel *kernel;

	(void)state;
	assert_int_equal(open_with("sched,shced", &error, &kernel), -EINVAL);
	assert_non_null(strstr(error.text, "shced"));
	assert_int_equal(bpf.nr_open, bpf.nr_closed);
	sonde_source_rules_fini(&rules);
	assert_int_equal(open_with("irq,!irq", &error, &kernel), -ENODATA);
	assert_non_null(strstr(error.text, "excluded"));
}

/* The event is there, and no '!' was said. */
static void an_event_that_no_source_takes_is_named(void **state)
{
	struct sonde_source_error error;
	struct sonde_session_kernel *kernel;

	(void)state;
	bpf.open_error = -ENODATA;
	assert_int_equal(open_with("sched_switch,!irq", &error, &kernel),
			 -ENODATA);
	assert_null(strstr(error.text, "excluded"));
	assert_non_null(strstr(error.text, "sched_switch: this kernel has it"));
	assert_int_equal(bpf.nr_open, bpf.nr_closed);
}

static void a_name_that_no_event_has_is_refused(void **state)
{
	struct sonde_source_error error;
	struct sonde_session_kernel *kernel;

	(void)state;
	assert_int_equal(open_with("sched if number == 1 && tid > 0", &error,
				   &kernel),
			 0);
	sonde_session_kernel_close(kernel);
	sonde_source_rules_fini(&rules);
	assert_int_equal(open_with("sched if numero == 1", &error, &kernel),
			 -EINVAL);
	assert_non_null(strstr(error.text, "numero"));
	assert_int_equal(bpf.nr_open, bpf.nr_closed);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(both_sources_and_the_dump_are_one_trace),
		CASE(what_was_lost_is_in_the_summary_and_the_trace),
		CASE(processes_that_were_not_followed_are_noted),
		CASE(switches_that_the_kernel_left_out_are_noted),
		CASE(memory_that_no_buffer_takes_is_noted),
		CASE(overwritten_events_are_read_at_the_end_and_counted),
		CASE(a_stream_that_contradicts_itself_is_given_up),
		CASE(all_sources_are_halted_before_one_is_stopped),
		CASE(if_one_source_does_not_start_none_records),
		CASE(one_source_stands_in_for_the_other),
		CASE(to_do_without_stacks_is_advised_if_that_helps),
		CASE(a_rule_that_matches_nothing_is_named),
		CASE(an_event_that_no_source_takes_is_named),
		CASE(a_name_that_no_event_has_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
