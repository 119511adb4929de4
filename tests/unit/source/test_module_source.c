/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * test_module_source.c - the source "modules" over a device that these tests play:
 * what it asks for, what it makes of the answers, and that it takes no answer
 * on trust.
 *
 * The device plays one CPU's stream from a script: what GET answers, one after
 * the other, until PUT takes it.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "expr/program.h"
#include "ring/layout.h"
#include "source/marks/table.h"
#include "source/module/geometry.h"
#include "source/module/source.h"
#include "source/module/stream.h"
#include "types/build.h"
#include "types/desc.h"

#define MIB 0x100000ull

/* ---- geometry ---- */

static void geometry_refuses_what_makes_no_ring(void **state)
{
	struct module_geometry g;

	(void)state;
	assert_int_equal(module_geometry_init(&g, MIB, 0, 0), -EINVAL);
	assert_int_equal(module_geometry_init(&g, 8191, 0, 1), -EINVAL);
	assert_int_equal(module_geometry_init(&g, MIB, 5000, 1), -EINVAL);
	assert_int_equal(module_geometry_init(&g, MIB, 2048, 1), -EINVAL);
	assert_int_equal(module_geometry_init(&g, MIB, 1u << 31, 1), -EINVAL);
	assert_int_equal(module_geometry_init(&g, MIB, 1u << 20, 1), -EINVAL);
	/* Within the budget, but not within what a session may have. */
	assert_int_equal(module_geometry_init(&g, UINT64_MAX, 4u << 20, 8192),
			 -EINVAL);
}

static void geometry_stays_within_its_limits_whatever_is_asked(void **state)
{
	static const uint32_t cpus[] = { 1, 2, 3, 64, 384, 8192 };

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(cpus); i++) {
		for (unsigned int shift = 12; shift < 45; shift++) {
			uint64_t memory = (1ull << shift) + 4097;
			struct module_geometry g;

			if (module_geometry_init(&g, memory, 0, cpus[i])) {
				assert_true(memory <
					    module_geometry_least(cpus[i]));
				continue;
			}
			assert_in_range(g.subbuf_bytes, SONDE_KMOD_SUBBUF_MIN,
					SONDE_KMOD_SUBBUF_MAX);
			assert_in_range(g.nr_subbufs, SONDE_KMOD_SUBBUFS_MIN,
					SONDE_KMOD_SUBBUFS_MAX);
			assert_int_equal(g.nr_subbufs & (g.nr_subbufs - 1), 0);
			assert_true((uint64_t)g.nr_subbufs * g.subbuf_bytes *
					    cpus[i] <=
				    memory);
			assert_true(module_geometry_map_bytes(&g) * cpus[i] <=
				    SONDE_KMOD_MEMORY_MAX);
		}
	}
}

/* Powers of two take up to half of it, and nothing else does. */
static void geometry_takes_what_it_is_given(void **state)
{
	struct module_geometry g;

	(void)state;
	for (uint64_t memory = 64 * MIB; memory <= 2048 * MIB;
	     memory += 32 * MIB) {
		assert_int_equal(module_geometry_init(&g, memory, 0, 2), 0);
		assert_true(2 * module_geometry_bytes(&g) > memory);
	}
	assert_int_equal(module_geometry_init(&g, 1536 * MIB, 0, 2), 0);
	assert_true(module_geometry_bytes(&g) == 1024 * MIB);
}

static void the_largest_record_fits_where_memory_is_not_scarce(void **state)
{
	struct module_geometry g;

	(void)state;
	assert_int_equal(module_geometry_init(&g, 16 * MIB, 0, 1), 0);
	assert_true(g.subbuf_bytes > SONDE_KMOD_RECORD_MAX);
	assert_int_equal(module_geometry_init(&g, MIB, 0, 8), 0);
	assert_true(g.subbuf_bytes > SONDE_KMOD_RECORD_MAX);
	assert_true(g.nr_subbufs >= 4);
}

/* ---- a device ---- */

enum {
	DEVICE = 10,
	SESSION,
	CHANNEL,
	STREAM,
	LINES = STREAM + 10,
	LINES_STREAM,
	PROBE = LINES_STREAM + 10
};

#define NR_CPUS     2u
#define SUBBUF      4096u
#define NR_SUBBUFS  4u
#define SCRIPT_MAX  16u
#define REQUESTS    19u
#define DOOR_NUMBER 5
#define NR(request) _IOC_NR(SONDE_KMOD_##request)
#define NR_SELECTED 3u

static struct {
	int open_rc;
	struct sonde_kmod_info info;
	int fails[REQUESTS]; /* by a request's number: its result */
	int map_rc;
	const char *refuse; /* the event of this name */
	bool is_shut;       /* the door, to this user */
	int door;
	int refuse_rc;
	int select_rc;
	bool by_glob;
	/* what was asked */
	uint32_t nr_fds;
	uint32_t nr_maps;
	uint32_t nr_requests[REQUESTS];
	struct sonde_kmod_session session;
	bool has_channel;
	struct sonde_kmod_channel channel; /* the first */
	struct sonde_kmod_channel lines_channel;
	struct sonde_kmod_door asked_door;
	char tried[40]; /* the path */
	struct sonde_kmod_scope scope;
	struct sonde_kmod_event events[NR_SELECTED];
	/* the probe at an address, and what is said of it */
	struct sonde_kmod_event probe;
	struct sonde_kmod_event_counts probe_counts;
	int probe_rc;
	bool is_probe_off;
	uint32_t started_with; /* events */
	/* CPU 0's stream */
	struct sonde_kmod_chunk script[SCRIPT_MAX];
	uint32_t nr_script;
	uint32_t at;
	struct sonde_kmod_chunk put;
	struct sonde_kmod_counts counts;
	struct sonde_kmod_missed missed;
	unsigned char memory[(NR_SUBBUFS + 1) * SUBBUF];
	/* the same of its lines */
	struct sonde_kmod_chunk pieces[SCRIPT_MAX];
	uint32_t nr_pieces;
	uint32_t at_piece;
	uint32_t nr_line_requests[REQUESTS];
	unsigned char lines[(NR_SUBBUFS + 1) * SUBBUF];
} fake;

static void reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.open_rc = DEVICE;
	fake.info = (struct sonde_kmod_info){
		.version = SONDE_KMOD_VERSION,
		.nr_cpus = NR_CPUS,
		.has_cpu_clock = 1,
		.clock_bits = 64,
	};
}

static int fake_open(const char *path)
{
	assert_string_equal(path, "/dev/sonde");
	fake.nr_fds += fake.open_rc >= 0;
	return fake.open_rc;
}

/* A structure's size comes first, and is what the kernel would check. */
static void take(void *to, const void *from, size_t size)
{
	uint32_t said;

	memcpy(&said, from, sizeof(said));
	assert_int_equal(said, size);
	memcpy(to, from, size);
}

static int new_fd(int fd)
{
	fake.nr_fds++;
	return fd;
}

static int probe_ioctl(uint32_t nr, void *argument)
{
	if (nr == NR(EVENT_COUNTS)) {
		memcpy(argument, &fake.probe_counts, sizeof(fake.probe_counts));
		return 0;
	}
	assert_true(nr == NR(ENABLE) || nr == NR(DISABLE));
	fake.is_probe_off = nr == NR(DISABLE);
	return 0;
}

static int add_event(const struct sonde_kmod_event *event)
{
	uint32_t i = fake.nr_requests[NR(EVENT)] - 1;

	if (event->address) {
		fake.nr_requests[NR(EVENT)]--;
		take(&fake.probe, event, sizeof(*event));
		return fake.probe_rc ? fake.probe_rc : new_fd(PROBE);
	}
	assert_in_range(i, 0, NR_SELECTED - 1);
	take(&fake.events[i], event, sizeof(*event));
	if (fake.refuse && !strcmp(fake.refuse, event->name))
		return fake.refuse_rc;
	return 0;
}

static int line_ioctl(int fd, uint32_t nr, void *argument)
{
	fake.nr_line_requests[nr]++;
	switch (nr) {
	case NR(GET):
		if (fd != LINES_STREAM || fake.at_piece == fake.nr_pieces)
			return 0;
		memcpy(argument, &fake.pieces[fake.at_piece],
		       sizeof(fake.pieces[0]));
		return 1;
	case NR(PUT):
		fake.at_piece++;
		return 0;
	case NR(STREAM_COUNTS):
		memcpy(argument, &fake.counts, sizeof(fake.counts));
		return 0;
	default:
		assert_int_equal(nr, NR(FLUSH));
		return 0;
	}
}

static int stream_ioctl(int fd, uint32_t nr, void *argument)
{
	if (fd >= LINES_STREAM)
		return line_ioctl(fd, nr, argument);
	switch (nr) {
	case NR(GET):
		if (fd != STREAM || fake.at == fake.nr_script)
			return 0;
		memcpy(argument, &fake.script[fake.at], sizeof(fake.script[0]));
		return 1;
	case NR(PUT):
		take(&fake.put, argument, sizeof(fake.put));
		fake.at++;
		return 0;
	case NR(STREAM_COUNTS):
		memcpy(argument, &fake.counts, sizeof(fake.counts));
		return 0;
	default:
		assert_int_equal(nr, NR(FLUSH));
		return 0;
	}
}

static int session_ioctl(uint32_t nr, void *argument)
{
	switch (nr) {
	case NR(SCOPE):
		take(&fake.scope, argument, sizeof(fake.scope));
		return 0;
	case NR(CHANNEL):
		if (fake.has_channel) {
			take(&fake.lines_channel, argument,
			     sizeof(fake.lines_channel));
			return new_fd(LINES);
		}
		take(&fake.channel, argument, sizeof(fake.channel));
		fake.has_channel = true;
		return new_fd(CHANNEL);
	case NR(START):
		fake.started_with = fake.nr_requests[NR(EVENT)];
		return 0;
	case NR(STOP):
		return 0;
	default:
		assert_int_equal(nr, NR(MISSED));
		memcpy(argument, &fake.missed, sizeof(fake.missed));
		return 0;
	}
}

static int fake_ioctl(int fd, unsigned long request, void *argument)
{
	uint32_t nr = request & 0xff;

	assert_int_equal(request >> 8 & 0xff, SONDE_KMOD_IOC);
	assert_in_range(nr, 1, REQUESTS - 1);
	fake.nr_requests[nr]++;
	if (fake.fails[nr])
		return fake.fails[nr];
	if (nr == NR(INFO)) {
		memcpy(argument, &fake.info, sizeof(fake.info));
		return 0;
	}
	if (nr == NR(SESSION)) {
		assert_int_equal(fd, DEVICE);
		take(&fake.session, argument, sizeof(fake.session));
		return new_fd(SESSION);
	}
	if (fd == SESSION)
		return session_ioctl(nr, argument);
	if (fd == PROBE)
		return probe_ioctl(nr, argument);
	if (fd == CHANNEL && nr == NR(EVENT))
		return add_event(argument);
	if (fd == LINES && nr == NR(DOOR)) {
		take(&fake.asked_door, argument, sizeof(fake.asked_door));
		return fake.door;
	}
	if (fd == LINES)
		return new_fd(LINES_STREAM +
			      (int)((struct sonde_kmod_stream *)argument)->cpu);
	if (fd == CHANNEL)
		return new_fd(STREAM +
			      (int)((struct sonde_kmod_stream *)argument)->cpu);
	return stream_ioctl(fd, nr, argument);
}

static bool fake_may_write(const char *path)
{
	(void)snprintf(fake.tried, sizeof(fake.tried), "%s", path);
	return !fake.is_shut;
}

static unsigned char *fake_map(int fd, size_t size, int *ret_error)
{
	if (fake.map_rc) {
		*ret_error = fake.map_rc;
		return NULL;
	}
	fake.nr_maps++;
	if (fd >= LINES_STREAM) {
		assert_int_equal(size, sizeof(fake.lines));
		return fake.lines;
	}
	/* Beside lines it is larger, and isn't read. */
	if (!fake.door)
		assert_int_equal(size, sizeof(fake.memory));
	return fake.memory;
}

static void fake_unmap(unsigned char *at, size_t size)
{
	assert_true(at == fake.memory || at == fake.lines);
	assert_true(size >= sizeof(fake.memory));
	fake.nr_maps--;
}

static void fake_close(int fd)
{
	if (fd != PROBE)
		assert_in_range(fd, DEVICE, LINES_STREAM + NR_CPUS - 1);
	fake.has_channel &= fd != CHANNEL;
	fake.nr_fds--;
}

static const char *const names[NR_SELECTED] = { "sched_switch", "sched_waking",
						"irq_handler_entry" };

static int fake_select(const struct sonde_source_config *config,
		       struct module_events *ret,
		       struct sonde_source_error *error)
{
	struct module_event *list;

	(void)config;
	if (fake.select_rc)
		return sonde_source_fail(error, fake.select_rc, "no");
	list = calloc(NR_SELECTED, sizeof(*list));
	assert_non_null(list);
	for (uint32_t i = 0; i < NR_SELECTED; i++) {
		list[i].group = i < 2 ? "sched" : "irq";
		list[i].name = names[i];
		list[i].is_named = !fake.by_glob;
		list[i].event.id = i + 1;
		list[i].event.flags = SONDE_KMOD_WANT_FD;
		(void)snprintf(list[i].event.name, sizeof(list[i].event.name),
			       "%s", names[i]);
	}
	*ret = (struct module_events){ .nr = NR_SELECTED, .list = list };
	return 0;
}

static bool fake_has(const struct module_events *events, const char *group,
		     const char *name)
{
	for (uint32_t i = 0; i < events->nr; i++)
		if (!strcmp(events->list[i].group, group) &&
		    !strcmp(events->list[i].name, name))
			return true;
	return false;
}

static void fake_release(struct module_events *events)
{
	free(events->list);
}

static const struct module_system fake_system = {
	.open = fake_open,
	.ioctl = fake_ioctl,
	.may_write = fake_may_write,
	.map = fake_map,
	.unmap = fake_unmap,
	.close = fake_close,
	.select = fake_select,
	.has = fake_has,
	.release = fake_release,
};

static const struct sonde_source_config plain = {
	.memory_bytes = NR_CPUS * NR_SUBBUFS * SUBBUF,
	.subbuf_bytes = SUBBUF,
	.clock = SONDE_CLOCK_CPU,
	.self = { 123, 456 },
};

static struct sonde_source *open_with(const struct sonde_source_config *config)
{
	struct sonde_source *source = NULL;
	struct sonde_source_error error = { "" };

	assert_int_equal(
		module_source_open(&fake_system, config, &source, &error), 0);
	assert_string_equal(error.text, "");
	return source;
}

static void close_all(struct sonde_source *source)
{
	source->ops->close(source);
	assert_int_equal(fake.nr_fds, 0);
	assert_int_equal(fake.nr_maps, 0);
}

/* Opening fails with `rc`, says `words`, and leaves nothing open. */
static void fails_with(const struct sonde_source_config *config, int rc,
		       const char *words)
{
	struct sonde_source *source = NULL;
	struct sonde_source_error error = { "" };

	assert_int_equal(
		module_source_open(&fake_system, config, &source, &error), rc);
	assert_null(source);
	if (!strstr(error.text, words))
		fail_msg("\"%s\" lacks \"%s\"", error.text, words);
	assert_int_equal(fake.nr_fds, 0);
	assert_int_equal(fake.nr_maps, 0);
}

/* ---- opening ---- */

static void without_the_module_the_remedy_is_told(void **state)
{
	(void)state;
	reset();
	fake.open_rc = -ENOENT;
	fails_with(&plain, -ENODEV, "sonde modules load");
	fake.open_rc = -EACCES;
	fails_with(&plain, -EACCES, "--group");
	fake.open_rc = DEVICE;
	fake.info.version = 99;
	fails_with(&plain, -ENODEV, "sonde modules build");
}

static void numbers_of_cpus_that_cannot_be_are_refused(void **state)
{
	(void)state;
	reset();
	fake.info.nr_cpus = 0;
	fails_with(&plain, -EPROTO, "0 CPUs");
	fake.info.nr_cpus = UINT32_MAX;
	fails_with(&plain, -EPROTO, "CPUs");
}

static void without_a_cpu_clock_only_monotonic_will_do(void **state)
{
	struct sonde_source_config config = plain;

	(void)state;
	reset();
	fake.info.has_cpu_clock = 0;
	fails_with(&config, -ENODEV, "clock");
	config.clock = SONDE_CLOCK_MONOTONIC;
	close_all(open_with(&config));
	assert_int_equal(fake.channel.clock, SONDE_KMOD_CLOCK_MONOTONIC);
}

static void each_request_that_fails_leaves_nothing_open(void **state)
{
	static const uint32_t asked[] = { NR(INFO), NR(SESSION), NR(CHANNEL),
					  NR(EVENT), NR(STREAM) };

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(asked); i++) {
		reset();
		fake.fails[asked[i]] = -EBUSY;
		fails_with(&plain, -EBUSY, "modules: ");
	}
	reset();
	fake.map_rc = -ENOMEM;
	fails_with(&plain, -ENOMEM, "CPU 0");
	reset();
	fake.select_rc = -ENODATA;
	fails_with(&plain, -ENODATA, "");
}

static void the_session_is_what_was_asked_for(void **state)
{
	struct sonde_source_config config = plain;
	struct sonde_source *source;
	struct sonde_source_stream stream;

	(void)state;
	reset();
	config.mode = SONDE_OVERWRITE;
	source = open_with(&config);
	assert_int_equal(fake.session.self[0], 123);
	assert_int_equal(fake.session.self[1], 456);
	assert_int_equal(fake.channel.mode, 1);
	assert_int_equal(fake.channel.clock, SONDE_KMOD_CLOCK_CPU);
	assert_int_equal(fake.channel.subbuf_bytes, SUBBUF);
	assert_int_equal(fake.channel.nr_subbufs, NR_SUBBUFS);
	assert_int_equal(source->ops->nr_streams(source), NR_CPUS);
	assert_int_equal(fake.nr_maps, NR_CPUS);
	source->ops->stream(source, 1, &stream);
	assert_int_equal(stream.cpu, 1);
	assert_string_equal(stream.name, "cpu1");
	assert_int_equal(source->ops->capacity(source, 1), NR_SUBBUFS * SUBBUF);
	assert_int_equal(source->ops->nr_events(source), NR_SELECTED);
	for (uint32_t i = 0; i < NR_SELECTED; i++) {
		assert_int_equal(fake.events[i].id, i + 1);
		assert_string_equal(fake.events[i].name, names[i]);
		assert_int_equal(fake.events[i].flags, 0);
	}
	close_all(source);
}

static void memory_that_makes_no_buffer_is_told(void **state)
{
	struct sonde_source_config config = plain;
	struct sonde_source *source;

	(void)state;
	reset();
	source = open_with(&config);
	assert_int_equal(source->unused_bytes, 0);
	close_all(source);
	reset();
	/* One piece of each CPU's too many for a power of two. */
	config.memory_bytes += (uint64_t)NR_CPUS * SUBBUF + 1;
	source = open_with(&config);
	assert_int_equal(source->unused_bytes, NR_CPUS * SUBBUF + 1);
	close_all(source);
}

static void an_event_that_is_refused_is_named(void **state)
{
	(void)state;
	reset();
	fake.refuse = "sched_waking";
	fake.refuse_rc = -ENOENT;
	fails_with(&plain, -ENOENT, "sched:sched_waking");
	/* Not what the user did wrong: another source may take it. */
	fake.nr_requests[NR(EVENT)] = 0;
	fake.refuse_rc = -EINVAL;
	fails_with(&plain, -EOPNOTSUPP, "sched:sched_waking");
}

static void a_place_between_instructions_is_the_users_mistake(void **state)
{
	(void)state;
	reset();
	fake.refuse = "sched_waking";
	fake.refuse_rc = -EILSEQ;
	fails_with(&plain, -EINVAL, "no instruction");
}

static void a_refused_event_of_several_is_left_to_others(void **state)
{
	struct sonde_source_rules rules = { .nr = 0 };
	struct sonde_source_config config = plain;
	struct sonde_source *source;

	(void)state;
	reset();
	config.rules = &rules;
	fake.by_glob = true;
	close_all(open_with(&config));
	assert_false(rules.has_left);
	reset();
	fake.by_glob = true;
	fake.refuse = "sched_waking";
	fake.refuse_rc = -ENOENT;
	source = open_with(&config);
	assert_true(rules.has_left);
	assert_false(source->ops->has(source, "sched", "sched_waking"));
	assert_true(source->ops->has(source, "sched", "sched_switch"));
	assert_false(source->ops->has(source, "sched", "no_such"));
	close_all(source);
	/* Any other fault of it is one. */
	reset();
	fake.by_glob = true;
	fake.refuse = "sched_waking";
	fake.refuse_rc = -ENOMEM;
	fails_with(&config, -ENOMEM, "sched_waking");
}

/* ---- start and stop ---- */

static void a_tree_is_named_before_the_start_and_a_machine_is_not(void **state)
{
	struct sonde_source_config config = plain;
	struct sonde_source_error error = { "" };
	struct sonde_source *source;

	(void)state;
	reset();
	config.scope = SONDE_SOURCE_TREE;
	source = open_with(&config);
	assert_int_equal(source->ops->start(source, 77, &error), 0);
	assert_int_equal(fake.scope.pid, 77);
	assert_int_equal(fake.started_with, NR_SELECTED);
	source->ops->stop(source);
	source->ops->stop(source);
	assert_int_equal(fake.nr_requests[NR(STOP)], 1);
	close_all(source);

	reset();
	source = open_with(&plain);
	assert_int_equal(source->ops->start(source, 77, &error), 0);
	assert_int_equal(fake.nr_requests[NR(SCOPE)], 0);
	close_all(source);
}

static void a_start_that_fails_says_why_and_starts_nothing(void **state)
{
	struct sonde_source_config config = plain;
	struct sonde_source_error error = { "" };
	struct sonde_source *source;

	(void)state;
	reset();
	config.scope = SONDE_SOURCE_TREE;
	source = open_with(&config);
	fake.fails[NR(SCOPE)] = -ESRCH;
	assert_int_equal(source->ops->start(source, 77, &error), -ESRCH);
	assert_non_null(strstr(error.text, "77"));
	assert_int_equal(fake.nr_requests[NR(START)], 0);
	source->ops->stop(source);
	assert_int_equal(fake.nr_requests[NR(STOP)], 0);
	close_all(source);
}

/* ---- streams ---- */

static void script(const struct sonde_kmod_chunk *chunk)
{
	assert_true(fake.nr_script < SCRIPT_MAX);
	fake.script[fake.nr_script++] = *chunk;
}

static const struct sonde_kmod_chunk first_piece = {
	.offset = SUBBUF,
	.bytes = 40,
	.first = 1,
	.seq = 5,
	.ts_begin = 1000,
	.events = 3,
	.discarded = 2,
};
static const struct sonde_kmod_chunk last_piece = {
	.offset = SUBBUF + 40,
	.bytes = 60,
	.closed = 1,
	.seq = 5,
	.ts_begin = 1000,
	.ts_end = 2000,
	.events = 5,
	.discarded = 4,
};
static const struct sonde_kmod_chunk next_piece = {
	.offset = 2 * SUBBUF,
	.bytes = SUBBUF,
	.first = 1,
	.closed = 1,
	.seq = 6,
	.ts_begin = 2000,
	.ts_end = 2000,
	.events = 1,
};

static void pieces_are_handed_on_and_given_back(void **state)
{
	struct sonde_source *source;
	struct sonde_ring_chunk chunk;

	(void)state;
	reset();
	source = open_with(&plain);
	script(&first_piece);
	script(&last_piece);
	script(&next_piece);
	assert_int_equal(source->ops->peek(source, 1, &chunk), 0);
	for (int i = 0; i < 2; i++) { /* as often as one likes */
		assert_int_equal(source->ops->peek(source, 0, &chunk), 1);
		assert_ptr_equal(chunk.data, fake.memory + SUBBUF);
		assert_int_equal(chunk.size, 40);
		assert_true(chunk.first && !chunk.closed);
		assert_int_equal(chunk.events_before, 0);
		assert_int_equal(chunk.events, 3);
		assert_int_equal(chunk.discarded, 2);
	}
	source->ops->advance(source, 0, &chunk);
	assert_int_equal(fake.put.bytes, 40);
	assert_int_equal(fake.put.seq, 5);
	assert_int_equal(source->ops->peek(source, 0, &chunk), 1);
	assert_true(!chunk.first && chunk.closed);
	assert_int_equal(chunk.ts_end, 2000);
	assert_int_equal(chunk.events, 8);
	source->ops->advance(source, 0, &chunk);
	assert_int_equal(source->ops->peek(source, 0, &chunk), 1);
	assert_int_equal(chunk.events_before, 8);
	assert_int_equal(chunk.events, 9);
	source->ops->advance(source, 0, &chunk);
	assert_int_equal(source->ops->peek(source, 0, &chunk), 0);
	close_all(source);
}

static void what_was_overwritten_lies_between_chunks(void **state)
{
	const struct sonde_kmod_chunk chunks[] = {
		{ .offset = 0,
		  .bytes = 100,
		  .first = 1,
		  .closed = 1,
		  .seq = 40,
		  .events = 10 },
		{ .offset = 4 * SUBBUF,
		  .bytes = 100,
		  .first = 1,
		  .closed = 1,
		  .seq = 43,
		  .events = 7 },
	};
	struct sonde_source_config config = plain;
	struct sonde_source_counts counts;
	struct sonde_source *source;
	struct sonde_ring_chunk chunk;

	(void)state;
	reset();
	config.mode = SONDE_OVERWRITE;
	source = open_with(&config);
	script(&chunks[0]);
	script(&chunks[1]);
	fake.counts.overwritten = 1000;
	assert_int_equal(source->ops->rewind(source, 0), 1);
	assert_int_equal(fake.nr_requests[NR(FLUSH)], 1);
	assert_int_equal(source->ops->peek(source, 0, &chunk), 1);
	assert_int_equal(chunk.events_before, 1000);
	assert_int_equal(chunk.events, 1010);
	source->ops->advance(source, 0, &chunk);
	fake.counts.overwritten = 1300;
	assert_int_equal(source->ops->peek(source, 0, &chunk), 1);
	assert_int_equal(chunk.events_before, 1310);
	assert_int_equal(chunk.events, 1317);
	source->ops->advance(source, 0, &chunk);
	source->ops->counts(source, 0, &counts);
	assert_int_equal(counts.delivered, 17);
	assert_int_equal(counts.overwritten, 1300);
	/* A device that takes it back is not believed. */
	fake.counts.overwritten = 5;
	source->ops->counts(source, 0, &counts);
	assert_int_equal(counts.overwritten, 1300);
	close_all(source);
}

static void losses_are_told_by_cause(void **state)
{
	struct sonde_source_counts counts;
	struct sonde_source *source;

	(void)state;
	reset();
	source = open_with(&plain);
	fake.counts = (struct sonde_kmod_counts){
		.lost_full = 1,
		.lost_size = 20,
		.lost_busy = 300,
		.overwritten = 4000, /* in discard mode it can't be */
		.damaged = 50000,
		.lost_damaged = 600000,
	};
	source->ops->counts(source, 0, &counts);
	assert_int_equal(counts.lost_full, 301);
	assert_int_equal(counts.lost_size, 20);
	assert_int_equal(counts.lost_damaged, 650000);
	assert_int_equal(counts.overwritten, 0);
	fake.missed = (struct sonde_kmod_missed){
		.deep = 1, .kprobes = 20, .tracked = 300, .unseen = 4000
	};
	assert_int_equal(source->ops->missed(source), 321);
	assert_int_equal(source->ops->unseen(source), 4000);
	fake.missed.returns = 5;
	assert_int_equal(source->ops->missed(source), 321);
	assert_int_equal(source->ops->missed_returns(source), 5);
	fake.missed.returns = UINT64_MAX; /* not more than all of them */
	assert_int_equal(source->ops->missed_returns(source), 20);
	fake.fails[NR(MISSED)] = -EIO;
	fake.fails[NR(STREAM_COUNTS)] = -EIO;
	assert_int_equal(source->ops->missed(source), 0);
	assert_int_equal(source->ops->missed_returns(source), 0);
	source->ops->counts(source, 0, &counts);
	assert_int_equal(counts.lost_full, 0);
	close_all(source);
}

/* After `good` was read, `bad` gives the stream up. */
static void is_given_up(const struct sonde_source_config *config,
			const struct sonde_kmod_chunk *good,
			const struct sonde_kmod_chunk *bad)
{
	struct sonde_source *source;
	struct sonde_ring_chunk chunk;

	reset();
	source = open_with(config);
	if (good) {
		script(good);
		assert_int_equal(source->ops->peek(source, 0, &chunk), 1);
		source->ops->advance(source, 0, &chunk);
	}
	script(bad);
	assert_int_equal(source->ops->peek(source, 0, &chunk), -EPROTO);
	close_all(source);
}

static void a_chunk_outside_of_the_mapping_is_given_up(void **state)
{
	struct sonde_kmod_chunk chunk = { .first = 1,
					  .bytes = 100,
					  .events = 1 };

	(void)state;
	chunk.offset = sizeof(fake.memory);
	is_given_up(&plain, NULL, &chunk);
	chunk.offset = UINT64_MAX - 50;
	is_given_up(&plain, NULL, &chunk);
	/* Across two sub-buffers. */
	chunk.offset = SUBBUF - 99;
	is_given_up(&plain, NULL, &chunk);
	chunk.offset = 0;
	chunk.bytes = SUBBUF + 1;
	is_given_up(&plain, NULL, &chunk);
	chunk.bytes = UINT32_MAX;
	is_given_up(&plain, NULL, &chunk);
}

static void a_chunk_that_contradicts_itself_is_given_up(void **state)
{
	const struct sonde_kmod_chunk good = { .first = 1,
					       .bytes = 100,
					       .events = 10 };
	struct sonde_kmod_chunk bad = good;

	(void)state;
	bad.events = 11;
	is_given_up(&plain, NULL, &bad);
	bad.events = UINT64_MAX;
	is_given_up(&plain, NULL, &bad);
	bad = good;
	bad.first = 2;
	is_given_up(&plain, NULL, &bad);
	bad = good;
	bad.closed = 1;
	bad.ts_begin = 2;
	bad.ts_end = 1;
	is_given_up(&plain, NULL, &bad);
	/* Nothing, again and again, would never end. */
	bad = (struct sonde_kmod_chunk){ .first = 1 };
	is_given_up(&plain, NULL, &bad);
	bad.closed = 1;
	is_given_up(&plain, NULL, &bad);
}

static void chunks_that_do_not_follow_one_another_are_given_up(void **state)
{
	struct sonde_source_config overwrite = plain;
	const struct sonde_kmod_chunk open = {
		.first = 1, .bytes = 40, .seq = 7, .events = 1
	};
	const struct sonde_kmod_chunk closed = {
		.first = 1, .closed = 1, .bytes = 40, .seq = 7, .events = 1
	};
	struct sonde_kmod_chunk bad = { .offset = 40, .bytes = 40, .seq = 7 };

	(void)state;
	overwrite.mode = SONDE_OVERWRITE;
	is_given_up(&plain, NULL, &bad);    /* a middle without a begin */
	is_given_up(&plain, &closed, &bad); /* more of what is closed */
	is_given_up(&plain, &open, &open);  /* the same again */
	bad.offset = 80;
	is_given_up(&plain, &open, &bad); /* a gap */
	bad.offset = 40;
	bad.seq = 8;
	is_given_up(&plain, &open, &bad); /* of another sub-buffer */
	bad.seq = 7;
	bad.ts_begin = 1;
	is_given_up(&plain, &open, &bad); /* begun at another time */
	bad = closed;
	is_given_up(&overwrite, &closed, &bad); /* not of a higher number */
	is_given_up(&plain, &closed, &bad);
}

static void what_is_damaged_is_left_out_of_a_stream(void **state)
{
	struct sonde_kmod_chunk next = {
		.first = 1, .closed = 1, .bytes = 40, .seq = 7, .events = 1
	};
	struct sonde_source *source;
	struct sonde_ring_chunk chunk;

	(void)state;
	reset();
	source = open_with(&plain);
	script(&next);
	assert_int_equal(source->ops->peek(source, 0, &chunk), 1);
	source->ops->advance(source, 0, &chunk);
	next.seq = 9;
	script(&next);
	assert_int_equal(source->ops->peek(source, 0, &chunk), 1);
	assert_int_equal(chunk.seq, 9);
	source->ops->advance(source, 0, &chunk);
	close_all(source);
}

static void a_device_that_fails_is_given_up(void **state)
{
	struct sonde_source *source;
	struct sonde_ring_chunk chunk;

	(void)state;
	reset();
	source = open_with(&plain);
	fake.fails[NR(GET)] = -EAGAIN;
	assert_int_equal(source->ops->peek(source, 0, &chunk), 0);
	fake.fails[NR(GET)] = -EIO;
	assert_int_equal(source->ops->peek(source, 0, &chunk), -EPROTO);
	fake.fails[NR(FLUSH)] = -EIO;
	assert_int_equal(source->ops->rewind(source, 0), -EPROTO);
	close_all(source);
}

/* ---- lines ---- */

static struct sonde_source_rules rules;

/* A recording that asks for a door, and has number DOOR_NUMBER. */
static struct sonde_source_config
with_marks(const struct sonde_source_marks *marks)
{
	struct sonde_source_config config = plain;
	char error[200];

	reset();
	fake.door = DOOR_NUMBER;
	sonde_source_rules_fini(&rules);
	assert_int_equal(sonde_source_rules_add(&rules, "mark", error,
						sizeof(error)),
			 0);
	config.rules = &rules;
	config.marks = marks;
	config.memory_bytes = 16ull * NR_CPUS * NR_SUBBUFS * SUBBUF;
	return config;
}

/* A record of the ring's, as the kernel writes it; what follows it. */
static unsigned char *put_line(unsigned char *at, uint32_t time,
			       const char *text)
{
	uint32_t bytes = (uint32_t)strlen(text);
	uint32_t tid = 321;
	uint16_t id = fake.asked_door.id ? (uint16_t)fake.asked_door.id : 1;

	memcpy(at, &id, 2);
	memcpy(at + 2, &time, 4);
	memcpy(at + 6, &tid, 4);
	memcpy(at + 10, &bytes, 4);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): by its length */
	memcpy(at + 14, text, bytes);
	return at + 14 + bytes;
}

static void put_piece(struct sonde_kmod_chunk piece)
{
	assert_true(fake.nr_pieces < SCRIPT_MAX);
	fake.pieces[fake.nr_pieces++] = piece;
}

static const struct sonde_source_marks all_marks = { .wants = NULL };

static void a_door_is_a_channel_of_its_own(void **state)
{
	struct sonde_source_config config = with_marks(&all_marks);
	struct sonde_source_stream stream;
	struct sonde_source *source = open_with(&config);

	(void)state;
	assert_string_equal(source->ops->door(source), "/dev/sonde-mark5");
	assert_string_equal(fake.tried, "/dev/sonde-mark5");
	assert_int_equal(fake.lines_channel.subbuf_bytes, SUBBUF);
	assert_int_equal(fake.lines_channel.nr_subbufs, NR_SUBBUFS);
	assert_int_equal(source->ops->nr_streams(source), 2 * NR_CPUS);
	source->ops->stream(source, NR_CPUS + 1, &stream);
	assert_int_equal(stream.cpu, 1);
	assert_string_equal(stream.name, "cpu1_marks");
	assert_int_equal(source->ops->capacity(source, NR_CPUS),
			 NR_SUBBUFS * SUBBUF);
	assert_true(source->ops->has(source, "mark", "line"));
	close_all(source);
}

static void a_door_alone_is_enough(void **state)
{
	struct sonde_source_config config = with_marks(&all_marks);
	struct sonde_source *source;

	(void)state;
	fake.select_rc = -ENODATA;
	source = open_with(&config);
	assert_int_equal(source->ops->nr_events(source), 0);
	assert_non_null(source->ops->door(source));
	close_all(source);
}

/* By whatever it is: none is left, it is shut, there is no memory. */
static void without_a_door_marks_are_left_to_others(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct sonde_source_config config = with_marks(&all_marks);
		struct sonde_source *source;

		if (i == 0)
			fake.fails[NR(DOOR)] = -ENOSPC;
		else if (i == 1)
			fake.is_shut = true;
		else if (i == 2)
			fake.door = SONDE_KMOD_DOORS;
		else
			config.memory_bytes = plain.memory_bytes;
		source = open_with(&config);
		assert_null(source->ops->door(source));
		assert_int_equal(source->ops->nr_streams(source), NR_CPUS);
		assert_false(source->ops->has(source, "mark", "line"));
		assert_true(rules.has_left);
		close_all(source);
	}
}

static int add_kind(void *ctx, uint32_t id, const struct sonde_desc *desc)
{
	char *kinds = ctx;

	(void)snprintf(kinds + strlen(kinds), 100 - strlen(kinds), "%u %s;",
		       (unsigned int)id, sonde_desc_name(desc));
	return 0;
}

/* A line of a sub-buffer, and then the two that end it. */
static void put_two_pieces(void)
{
	unsigned char *begin = fake.lines + SUBBUF;
	unsigned char *at = put_line(begin, 1000, "job:done code=7\n");

	put_piece((struct sonde_kmod_chunk){ .offset = SUBBUF,
					     .bytes = (uint32_t)(at - begin),
					     .first = 1,
					     .seq = 5,
					     .ts_begin = 1000,
					     .events = 1 });
	begin = at;
	at = put_line(put_line(at, 1500, "what \"is"), 1600, "job:done code=8");
	put_piece((struct sonde_kmod_chunk){
		.offset = (uint64_t)(begin - fake.lines),
		.bytes = (uint32_t)(at - begin),
		.closed = 1,
		.seq = 5,
		.ts_begin = 1000,
		.ts_end = 2000,
		.events = 2,
		.discarded = 3 });
}

static void lines_become_events_piece_by_piece(void **state)
{
	struct sonde_source_config config = with_marks(&all_marks);
	struct sonde_source *source = open_with(&config);
	char kinds[100] = "";
	struct sonde_source_known known = { .add = add_kind, .ctx = kinds };
	struct sonde_source_counts counts;
	struct sonde_ring_chunk chunk;
	uint64_t code;
	uint16_t id;
	uint32_t tid;

	(void)state;
	put_two_pieces();
	for (int i = 0; i < 2; i++) { /* as often as one likes */
		assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk), 1);
		assert_true(chunk.first && !chunk.closed);
		assert_int_equal(chunk.size, 18);
		assert_int_equal(chunk.events, 1);
	}
	memcpy(&id, chunk.data, 2);
	memcpy(&tid, chunk.data + 6, 4);
	memcpy(&code, chunk.data + 10, 8);
	assert_int_equal(id, SONDE_SOURCE_FIRST_ID + NR_SELECTED);
	assert_int_equal(tid, 321);
	assert_int_equal(code, 7);
	source->ops->advance(source, NR_CPUS, &chunk);
	assert_false(source->ops->is_parted(source, NR_CPUS));
	assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk), 1);
	assert_true(!chunk.first && chunk.closed);
	assert_int_equal(chunk.events_before, 0);
	assert_int_equal(chunk.events, 3);
	assert_int_equal(chunk.discarded, 3);
	assert_int_equal(chunk.size, 10 + sizeof("what \"is") + 18);
	assert_string_equal((const char *)chunk.data + 10, "what \"is");
	source->ops->advance(source, NR_CPUS, &chunk);
	assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk), 0);
	assert_int_equal(source->ops->describe(source, &known), 0);
	assert_string_equal(kinds, "4 job:done;5 mark:line;");
	source->ops->counts(source, NR_CPUS, &counts);
	assert_int_equal(counts.delivered, 3);
	close_all(source);
}

static bool wants_eight(void *ctx, const struct sonde_marks_taken *taken,
			uint32_t tid, uint32_t cpu)
{
	(void)ctx, (void)tid, (void)cpu;
	return taken->mark->nr && taken->mark->fields[0].number == 8;
}

/* The first sub-buffer has nothing that is wanted; in the next, it comes late. */
static void what_is_not_wanted_makes_no_packet(void **state)
{
	static const struct sonde_source_marks eight = { .wants = wants_eight };
	struct sonde_source_config config = with_marks(&eight);
	struct sonde_source *source = open_with(&config);
	struct sonde_source_counts counts;
	struct sonde_ring_chunk chunk;
	unsigned char *at = put_line(fake.lines, 1000, "job code=7");
	struct sonde_kmod_chunk piece = { .bytes = (uint32_t)(at - fake.lines),
					  .first = 1,
					  .closed = 1,
					  .seq = 1,
					  .ts_begin = 1000,
					  .ts_end = 2000,
					  .events = 1 };

	(void)state;
	put_piece(piece);
	piece.offset = SUBBUF;
	piece.seq = 2;
	piece.ts_begin = 2000;
	piece.closed = 0;
	piece.ts_end = 0;
	put_piece(piece);
	at = put_line(fake.lines + SUBBUF, 2000, "job code=7");
	assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk), 0);
	assert_int_equal(fake.at_piece, 1); /* and the second isn't taken */
	at = put_line(at, 2001, "job code=8");
	fake.pieces[1].bytes = (uint32_t)(at - fake.lines - SUBBUF);
	fake.pieces[1].events = 2;
	assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk), 1);
	assert_true(chunk.first);
	assert_int_equal(chunk.size, 18);
	assert_int_equal(chunk.events_before, 0);
	assert_int_equal(chunk.events, 1);
	source->ops->advance(source, NR_CPUS, &chunk);
	source->ops->counts(source, NR_CPUS, &counts);
	assert_int_equal(counts.delivered, 1);
	close_all(source);
}

/* They aren't wanted, and the second piece is peeked at twice before it is passed. */
static void what_lines_say_is_lost_is_counted_once(void **state)
{
	static const struct sonde_source_marks eight = { .wants = wants_eight };
	struct sonde_source_config config = with_marks(&eight);
	struct sonde_source *source = open_with(&config);
	struct sonde_source_counts counts;
	struct sonde_ring_chunk chunk;
	unsigned char *at =
		put_line(fake.lines, 1000, "sonde_mark:lost events=5");
	struct sonde_kmod_chunk piece = { .bytes = (uint32_t)(at - fake.lines),
					  .first = 1,
					  .closed = 1,
					  .seq = 1,
					  .ts_begin = 1000,
					  .ts_end = 2000,
					  .events = 1 };

	(void)state;
	put_piece(piece);
	piece.offset = SUBBUF;
	piece.seq = 2;
	piece.ts_begin = 2000;
	piece.closed = 0;
	piece.ts_end = 0;
	put_piece(piece);
	at = put_line(fake.lines + SUBBUF, 2000, "sonde_mark:lost events=2");
	assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk), 0);
	assert_int_equal(fake.at_piece, 1); /* and the second isn't taken */
	at = put_line(at, 2001, "job code=8");
	fake.pieces[1].bytes = (uint32_t)(at - fake.lines - SUBBUF);
	fake.pieces[1].events = 2;
	assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk), 1);
	assert_int_equal(chunk.events, 1);
	assert_int_equal(chunk.discarded, 7);
	assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk), 1);
	assert_int_equal(chunk.discarded, 7);
	source->ops->advance(source, NR_CPUS, &chunk);
	source->ops->counts(source, NR_CPUS, &counts);
	assert_int_equal(counts.delivered, 1);
	assert_int_equal(counts.lost_marks, 7);
	assert_int_equal(counts.lost_size, 0);
	close_all(source);
}

/* By one wrong thing each: the kernel's word isn't taken for its bytes. */
static void lines_that_are_none_end_their_stream(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct sonde_source_config config = with_marks(&all_marks);
		struct sonde_source *source = open_with(&config);
		unsigned char *end = put_line(fake.lines, 1000, "job code=7");
		uint32_t bytes = (uint32_t)(end - fake.lines);
		struct sonde_ring_chunk chunk;

		if (i == 0)
			bytes--; /* it ends too early */
		else if (i == 1)
			fake.lines[0] = 2; /* of another id */
		else if (i == 2)
			memset(fake.lines + 10, 0xff, 4); /* of that size */
		else
			bytes = 12; /* no size at all */
		put_piece((struct sonde_kmod_chunk){ .bytes = bytes,
						     .first = 1,
						     .ts_begin = 1000,
						     .events = 1 });
		assert_int_equal(source->ops->peek(source, NR_CPUS, &chunk),
				 -EPROTO);
		close_all(source);
	}
}

/* ---- probes at functions ---- */

#if defined(__x86_64__)
#define AT    UINT64_C(0xffffffff81000010)
#define RDI   5u
#define RIP   16u
#define WORDS 20u /* GDB's numbers that there are words of */

struct probed {
	struct sonde_source_probe probe;
	struct sonde_source_probe_live live;
	struct sonde_source_config config;
	_Alignas(8) uint8_t desc[SONDE_DESC_MAX];
};

static struct sonde_program *program_of_register(uint64_t number)
{
	struct sonde_program *program =
		calloc(1, sizeof(*program) + 2 * sizeof(program->ops[0]));

	assert_non_null(program);
	program->nr_ops = 2;
	program->type = SONDE_EXPR_UINT;
	program->ops[0].code = SONDE_EXPR_OP_REGISTER;
	program->ops[0].number = number;
	program->ops[1].code = SONDE_EXPR_OP_END_NUMBER;
	return program;
}

/* RDI, RIP; and RDI as a number of four bytes, if the same isn't 0. */
static void begin_probed(struct probed *probed)
{
	struct sonde_source_probe *probe = &probed->probe;
	struct sonde_build build;

	*probed = (struct probed){ .config = plain };
	sonde_build_begin(&build, probed->desc, SONDE_SOURCE_PROBE_GROUP, "f",
			  SONDE_INFO);
	sonde_build_int(&build, "x", 32, 0);
	assert_int_equal(sonde_build_end(&build), 0);
	probe->function = "f";
	probe->name = "f";
	probe->desc = (const struct sonde_desc *)probed->desc;
	probe->address = AT;
	probe->live = &probed->live;
	probe->tells_unread = true;
	probe->condition = program_of_register(RDI);
	probe->items[0] = (struct sonde_source_probe_item){
		.kind = SONDE_SOURCE_PROBE_REGISTERS,
		.bytes = 16,
		.mask = 1u << RDI | 1u << RIP,
	};
	probe->items[1] = (struct sonde_source_probe_item){
		.kind = SONDE_SOURCE_PROBE_NUMBER,
		.bytes = 4,
		.program = program_of_register(RDI),
	};
	probe->nr_items = 2;
	probed->config.probes = probe;
	probed->config.nr_probes = 1;
}

static void end_probed(struct probed *probed)
{
	free(probed->probe.condition);
	free(probed->probe.items[1].program);
}

/* The events come first, and what the user's program is stays as it is. */
static void a_probe_is_put_in_by_words_of_registers(void **state)
{
	const struct sonde_kmod_item *items;
	const struct sonde_program *program;
	struct sonde_source *source;
	struct probed probed;

	(void)state;
	reset();
	begin_probed(&probed);
	source = open_with(&probed.config);
	assert_int_equal(source->ops->nr_events(source), NR_SELECTED + 1);
	assert_ptr_equal(source->ops->event(source, NR_SELECTED), probed.desc);
	assert_int_equal(fake.probe.type, SONDE_KMOD_KPROBE);
	assert_int_equal(fake.probe.id, NR_SELECTED + 1);
	assert_true(fake.probe.address == AT && fake.probe.place == AT);
	assert_int_equal(fake.probe.flags,
			 SONDE_KMOD_WANT_FD | SONDE_KMOD_UNREAD);
	assert_int_equal(fake.probe.nr_items, 2);
	items = (const void *)(uintptr_t)fake.probe.items;
	assert_int_equal(items[0].kind, SONDE_KMOD_ITEM_WORDS);
	assert_int_equal(items[0].nr_words, 2);
	assert_int_equal(items[0].words[0], 14); /* pt_regs.di */
	assert_int_equal(items[0].words[1], SONDE_KMOD_WORD_PLACE);
	program = (const void *)(uintptr_t)items[1].program;
	assert_int_equal(items[1].bytes, 4);
	assert_int_equal(program->ops[0].number, 14);
	program = (const void *)(uintptr_t)fake.probe.filter;
	assert_int_equal(program->ops[0].number, 14);
	assert_int_equal(probed.probe.condition->ops[0].number, RDI);
	close_all(source);
	end_probed(&probed);
}

static void a_probes_hits_and_switch_are_the_devices(void **state)
{
	struct sonde_source *source;
	struct probed probed;

	(void)state;
	reset();
	begin_probed(&probed);
	source = open_with(&probed.config);
	fake.probe_counts.recorded = 5;
	fake.probe_counts.lost = 2;
	fake.probe_counts.faults = 3;
	probed.live.wants_off = 1;
	source->ops->tick(source);
	assert_true(fake.is_probe_off);
	assert_int_equal(probed.live.hits, 7);
	assert_int_equal(probed.live.is_off, 1);
	assert_int_equal(source->ops->unread(source, 0), 3);
	probed.live.wants_off = 0;
	source->ops->tick(source);
	assert_false(fake.is_probe_off);
	assert_int_equal(probed.live.is_off, 0);
	close_all(source);
	end_probed(&probed);
}

static void what_the_module_has_no_probe_for_is_told(void **state)
{
	struct probed probed;
	struct sonde_source_probe *probe = &probed.probe;

	(void)state;
	reset();
	begin_probed(&probed);
	probe->passes = 3;
	fails_with(&probed.config, -EOPNOTSUPP, "a pass count");
	probe->passes = 0;
	probe->at_return = true;
	fails_with(&probed.config, -EOPNOTSUPP, "returns");
	probe->at_return = false;
	probe->tracepoint = "sched_switch";
	fails_with(&probed.config, -EOPNOTSUPP, "away from its sites");
	probe->tracepoint = NULL;
	probe->items[0].mask = UINT64_C(1) << WORDS;
	fails_with(&probed.config, -EOPNOTSUPP, "can't compute");
	probe->items[0].mask = 1;
	probe->condition->ops[0].number = WORDS;
	fails_with(&probed.config, -EOPNOTSUPP, "can't compute");
	probe->condition->ops[0].number = RDI;
	probe->address = 0;
	fails_with(&probed.config, -EOPNOTSUPP, "may not know");
	probe->found = AT;
	fake.probe_rc = -EPERM;
	fails_with(&probed.config, -EPERM, "CAP_PERFMON");
	fake.probe_rc = -EINVAL;
	fails_with(&probed.config, -EOPNOTSUPP, "lets no probe be there");
	fake.probe_rc = 0;
	close_all(open_with(&probed.config));
	end_probed(&probed);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(geometry_refuses_what_makes_no_ring),
		cmocka_unit_test(
			geometry_stays_within_its_limits_whatever_is_asked),
		cmocka_unit_test(geometry_takes_what_it_is_given),
		cmocka_unit_test(
			the_largest_record_fits_where_memory_is_not_scarce),
		cmocka_unit_test(without_the_module_the_remedy_is_told),
		cmocka_unit_test(numbers_of_cpus_that_cannot_be_are_refused),
		cmocka_unit_test(without_a_cpu_clock_only_monotonic_will_do),
		cmocka_unit_test(each_request_that_fails_leaves_nothing_open),
		cmocka_unit_test(the_session_is_what_was_asked_for),
		cmocka_unit_test(memory_that_makes_no_buffer_is_told),
		cmocka_unit_test(an_event_that_is_refused_is_named),
		cmocka_unit_test(
			a_place_between_instructions_is_the_users_mistake),
		cmocka_unit_test(a_refused_event_of_several_is_left_to_others),
		cmocka_unit_test(
			a_tree_is_named_before_the_start_and_a_machine_is_not),
		cmocka_unit_test(
			a_start_that_fails_says_why_and_starts_nothing),
		cmocka_unit_test(pieces_are_handed_on_and_given_back),
		cmocka_unit_test(what_was_overwritten_lies_between_chunks),
		cmocka_unit_test(losses_are_told_by_cause),
		cmocka_unit_test(a_chunk_outside_of_the_mapping_is_given_up),
		cmocka_unit_test(a_chunk_that_contradicts_itself_is_given_up),
		cmocka_unit_test(
			chunks_that_do_not_follow_one_another_are_given_up),
		cmocka_unit_test(what_is_damaged_is_left_out_of_a_stream),
		cmocka_unit_test(a_device_that_fails_is_given_up),
		cmocka_unit_test(a_door_is_a_channel_of_its_own),
		cmocka_unit_test(a_door_alone_is_enough),
		cmocka_unit_test(without_a_door_marks_are_left_to_others),
		cmocka_unit_test(lines_become_events_piece_by_piece),
		cmocka_unit_test(what_is_not_wanted_makes_no_packet),
		cmocka_unit_test(what_lines_say_is_lost_is_counted_once),
		cmocka_unit_test(lines_that_are_none_end_their_stream),
#if defined(__x86_64__)
		cmocka_unit_test(a_probe_is_put_in_by_words_of_registers),
		cmocka_unit_test(a_probes_hits_and_switch_are_the_devices),
		cmocka_unit_test(what_the_module_has_no_probe_for_is_told),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
