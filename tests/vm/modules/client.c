// SPDX-License-Identifier: MIT
/*
 * client.c - /dev/sonde for tests.
 *
 * The reader of records knows the format from ring/layout.h's and
 * source/source.h's words, and copies every value before it looks at it. Broken
 * rules are counted and the first is kept, so that a reading always ends.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vfprintf(stderr, format, args); /* nowhere to tell */
	va_end(args);
	(void)fprintf(stderr, ": %s\n", strerror(errno));
	_exit(2);
}

/* A call that must succeed. */
static int must(int rc, const char *what)
{
	if (rc < 0)
		die("%s", what);
	return rc;
}

uint32_t online_cpus(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1                              ? 1 :
	       (unsigned long)nr > CLIENT_CPUS_MAX ? CLIENT_CPUS_MAX :
						     (uint32_t)nr;
}

void bind_to(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)must(sched_setaffinity(0, sizeof(set), &set), "affinity");
}

/* ---- tests whose functions are claims ---- */

static char failure[400];

void fail(const char *format, ...)
{
	va_list args;

	if (has_failed())
		return;
	va_start(args, format);
	(void)vsnprintf(failure, sizeof(failure), format, args); /* or cut */
	va_end(args);
}

bool has_failed(void)
{
	return failure[0] != '\0';
}

static bool is_wanted(const char *name, char *const *words)
{
	if (!words || !*words)
		return true;
	for (; *words; words++)
		if (strstr(name, *words))
			return true;
	return false;
}

static bool passes(const struct test *test, void (*after)(void))
{
	failure[0] = '\0';
	errno = 0;
	test->run();
	if (after)
		after();
	if (has_failed())
		printf("FAIL %s: %s\n", test->name, failure);
	else
		printf("ok %s\n", test->name);
	return !has_failed();
}

static bool passes_apart(const struct test *test, void (*after)(void))
{
	pid_t pid = must(fork(), "fork");
	int status;

	if (pid == 0)
		_exit(!passes(test, after));
	if (waitpid(pid, &status, 0) != pid)
		die("wait");
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		printf("FAIL %s: ended with status %#x\n", test->name,
		       (unsigned int)status);
	return status == 0;
}

int tests_run(const struct tests *tests)
{
	uint32_t passed = 0, failed = 0;

	(void)setvbuf(stdout, NULL, _IOLBF, 0); /* a guest may stop */
	for (size_t i = 0; i < tests->nr; i++) {
		const struct test *test = &tests->all[i];

		if (!is_wanted(test->name, tests->words))
			continue;
		if (tests->apart ? passes_apart(test, tests->after) :
				   passes(test, tests->after))
			passed++;
		else
			failed++;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}

/* ---- one session, one channel ---- */

static void client_map(struct client *client, uint32_t cpu)
{
	struct sonde_kmod_stream stream = { .size = sizeof(stream),
					    .cpu = cpu };
	void *memory;

	client->stream[cpu] = must(
		ioctl(client->channel, SONDE_KMOD_STREAM, &stream), "STREAM");
	memory = mmap(NULL, client->memory_bytes, PROT_READ, MAP_SHARED,
		      client->stream[cpu], 0);
	if (memory == MAP_FAILED)
		die("mmap");
	client->memory[cpu] = memory;
}

void client_open(struct client *client, const struct client_config *config)
{
	struct sonde_kmod_session session = { .size = sizeof(session) };
	struct sonde_kmod_channel channel = {
		.size = sizeof(channel),
		.mode = config->mode,
		.subbuf_bytes = config->subbuf_bytes,
		.nr_subbufs = config->nr_subbufs,
	};

	*client = (struct client){ .config = *config };
	client->nr_cpus = online_cpus();
	client->device = must(open(SONDE_KMOD_DEVICE, O_RDWR | O_CLOEXEC),
			      SONDE_KMOD_DEVICE);
	client->session = must(
		ioctl(client->device, SONDE_KMOD_SESSION, &session), "SESSION");
	client->channel =
		must(ioctl(client->session, SONDE_KMOD_CHANNEL, &channel),
		     "CHANNEL");
	client->memory_bytes =
		(size_t)(config->nr_subbufs + 1) * config->subbuf_bytes;
	for (uint32_t cpu = 0; cpu < client->nr_cpus; cpu++)
		client_map(client, cpu);
}

void client_close(struct client *client)
{
	for (uint32_t cpu = 0; cpu < client->nr_cpus; cpu++) {
		(void)munmap((void *)client->memory[cpu],
			     client->memory_bytes); /* it was mapped so */
		(void)close(client->stream[cpu]);   /* nothing to write */
	}
	(void)close(client->channel);
	(void)close(client->session);
	(void)close(client->device);
}

int client_event(struct client *client, const struct sonde_kmod_event *event)
{
	int fd = must(ioctl(client->channel, SONDE_KMOD_EVENT, event), "EVENT");

	return (event->flags & SONDE_KMOD_WANT_FD) ? fd : -1;
}

int client_tick(struct client *client, uint32_t flags)
{
	static const struct sonde_kmod_cap caps[] = {
		{ .kind = SONDE_KMOD_VALUE,
		  .from = SONDE_KMOD_FROM_ARG,
		  .index = 0,
		  .bytes = 8 },
		{ .kind = SONDE_KMOD_VALUE,
		  .from = SONDE_KMOD_FROM_ARG,
		  .index = 1,
		  .bytes = 4 },
	};
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_TRACEPOINT,
		.id = TICK_ID,
		.flags = flags,
		.nr_caps = 2,
		.caps = (uintptr_t)caps,
		.name = "sonde_test_tick",
	};

	return client_event(client, &event);
}

void client_start(struct client *client)
{
	(void)must(ioctl(client->session, SONDE_KMOD_START), "START");
}

void client_stop(struct client *client)
{
	(void)must(ioctl(client->session, SONDE_KMOD_STOP), "STOP");
}

void client_flush(struct client *client, uint32_t cpu)
{
	(void)must(ioctl(client->stream[cpu], SONDE_KMOD_FLUSH), "FLUSH");
}

void client_counts(struct client *client, uint32_t cpu,
		   struct sonde_kmod_counts *ret_counts)
{
	struct sonde_kmod_counts counts = { .size = sizeof(counts) };

	(void)must(ioctl(client->stream[cpu], SONDE_KMOD_STREAM_COUNTS,
			 &counts),
		   "STREAM_COUNTS");
	*ret_counts = counts;
}

int client_get(struct client *client, uint32_t cpu,
	       struct sonde_kmod_chunk *ret_chunk)
{
	struct sonde_kmod_chunk chunk = { .size = sizeof(chunk) };
	int rc = ioctl(client->stream[cpu], SONDE_KMOD_GET, &chunk);

	if (rc < 0 && errno == EAGAIN)
		return 0;
	(void)must(rc, "GET");
	*ret_chunk = chunk;
	return rc;
}

void client_put(struct client *client, uint32_t cpu,
		const struct sonde_kmod_chunk *chunk)
{
	(void)must(ioctl(client->stream[cpu], SONDE_KMOD_PUT, chunk), "PUT");
}

/* ---- what was read of a stream ---- */

__attribute__((format(printf, 2, 3))) static void
broken(struct reading *reading, const char *format, ...)
{
	va_list args;

	if (reading->bad++)
		return;
	va_start(args, format);
	(void)vsnprintf(reading->why, sizeof(reading->why), format, args);
	va_end(args);
}

void reading_begin(struct reading *reading, uint32_t cpu, bool is_overwrite)
{
	*reading = (struct reading){ .cpu = cpu, .is_overwrite = is_overwrite };
}

static void read_tick(struct reading *reading, const unsigned char *bytes)
{
	uint64_t value, seq;
	uint32_t number, context;

	memcpy(&value, bytes, sizeof(value));
	memcpy(&number, bytes + sizeof(value), sizeof(number));
	context = (value >> SONDE_TEST_SEQ_BITS) & 0xff;
	seq = value & ((1ull << SONDE_TEST_SEQ_BITS) - 1);
	if (number != sonde_test_number(value))
		return broken(reading, "payload %#jx has number %#x",
			      (uintmax_t)value, number);
	if (value >> 56 != reading->cpu || context >= SONDE_TEST_CONTEXTS)
		return broken(reading, "payload %#jx on CPU %u",
			      (uintmax_t)value, reading->cpu);
	if (seq < reading->next_tick[context])
		return broken(reading, "tick %ju of context %u after %ju",
			      (uintmax_t)seq, context,
			      (uintmax_t)reading->next_tick[context]);
	reading->gaps += seq - reading->next_tick[context];
	reading->next_tick[context] = seq + 1;
	reading->ticks[context]++;
}

/* The record at `bytes`; its size, or 0 if it is none. */
static uint32_t read_record(struct reading *reading, const unsigned char *bytes,
			    uint32_t left)
{
	uint32_t head = 6, id, low;
	uint16_t id16;
	uint64_t time;

	if (left < 6 + 4 + TICK_BYTES)
		return 0;
	memcpy(&id16, bytes, sizeof(id16));
	memcpy(&low, bytes + 2, sizeof(low));
	id = id16;
	time = reading->last + (uint32_t)(low - (uint32_t)reading->last);
	if (id16 == UINT16_MAX) {
		head = 14;
		if (left < 14 + 4 + TICK_BYTES)
			return 0;
		memcpy(&id, bytes + 2, sizeof(id));
		memcpy(&time, bytes + 6, sizeof(time));
	}
	if (id != TICK_ID) {
		broken(reading, "id %u", id);
		return 0;
	}
	if (time < reading->last)
		broken(reading, "time %ju after %ju", (uintmax_t)time,
		       (uintmax_t)reading->last);
	reading->last = time;
	read_tick(reading, bytes + head + 4);
	return head + 4 + TICK_BYTES;
}

/* Where the chunk lies among the others. */
static void check_order(struct reading *reading,
			const struct sonde_kmod_chunk *chunk)
{
	if (reading->is_open && chunk->first)
		broken(reading, "sub-buffer %ju begins before %ju has ended",
		       (uintmax_t)chunk->seq, (uintmax_t)reading->next_seq);
	if (!reading->is_open && !chunk->first)
		broken(reading, "sub-buffer %ju goes on without a begin",
		       (uintmax_t)chunk->seq);
	if (reading->has_begun &&
	    (reading->is_overwrite ? chunk->seq < reading->next_seq :
				     chunk->seq != reading->next_seq))
		broken(reading, "sub-buffer %ju instead of %ju",
		       (uintmax_t)chunk->seq, (uintmax_t)reading->next_seq);
	if (chunk->discarded < reading->discarded)
		broken(reading, "%ju lost after %ju",
		       (uintmax_t)chunk->discarded,
		       (uintmax_t)reading->discarded);
	if (chunk->first && reading->has_begun &&
	    chunk->ts_begin < reading->last)
		broken(reading, "sub-buffer %ju begins at %ju, before %ju",
		       (uintmax_t)chunk->seq, (uintmax_t)chunk->ts_begin,
		       (uintmax_t)reading->last);
}

void reading_chunk(struct reading *reading,
		   const struct sonde_kmod_chunk *chunk,
		   const unsigned char *bytes)
{
	uint64_t before = reading_events(reading), events;
	uint32_t at = 0, size;

	check_order(reading, chunk);
	if (chunk->first)
		reading->last = chunk->ts_begin;
	while (at < chunk->bytes) {
		size = read_record(reading, bytes + at, chunk->bytes - at);
		if (!size) {
			broken(reading, "no record at %u of %u bytes", at,
			       chunk->bytes);
			break;
		}
		at += size;
	}
	events = reading_events(reading) - before;
	if (events != chunk->events)
		broken(reading, "%ju events, said to be %ju", (uintmax_t)events,
		       (uintmax_t)chunk->events);
	if (chunk->closed && chunk->ts_end < reading->last)
		broken(reading, "sub-buffer %ju ends at %ju, before %ju",
		       (uintmax_t)chunk->seq, (uintmax_t)chunk->ts_end,
		       (uintmax_t)reading->last);
	reading->has_begun = true;
	reading->is_open = !chunk->closed;
	reading->next_seq = chunk->seq + (chunk->closed ? 1 : 0);
	reading->discarded = chunk->discarded;
	reading->bytes += chunk->bytes;
	reading->chunks++;
}

uint64_t reading_events(const struct reading *reading)
{
	uint64_t events = reading->others;

	for (uint32_t i = 0; i < SONDE_TEST_CONTEXTS; i++)
		events += reading->ticks[i];
	return events;
}

bool client_read(struct client *client, struct reading *reading)
{
	struct sonde_kmod_chunk chunk;
	bool any = false;

	while (client_get(client, reading->cpu, &chunk)) {
		if (chunk.offset > client->memory_bytes ||
		    chunk.bytes > client->memory_bytes - chunk.offset) {
			broken(reading, "a chunk of %u bytes at %ju",
			       chunk.bytes, (uintmax_t)chunk.offset);
			break;
		}
		reading_chunk(reading, &chunk,
			      client->memory[reading->cpu] + chunk.offset);
		client_put(client, reading->cpu, &chunk);
		any = true;
		if (reading->bad)
			break;
	}
	return any;
}

/* ---- sonde_test.ko ---- */

int test_open(void)
{
	return must(open(SONDE_TEST_DEVICE, O_RDWR | O_CLOEXEC),
		    SONDE_TEST_DEVICE);
}

void test_arm(int device, const struct sonde_test_arm *arm)
{
	(void)must(ioctl(device, SONDE_TEST_ARM, arm), "ARM");
}

void test_run(int device, struct sonde_test_run *run)
{
	(void)must(ioctl(device, SONDE_TEST_RUN, run), "RUN");
}

void test_counts(int device, uint32_t cpu, struct sonde_test_counts *ret_counts)
{
	struct sonde_test_counts counts = { .cpu = cpu };

	(void)must(ioctl(device, SONDE_TEST_COUNTS, &counts), "COUNTS");
	*ret_counts = counts;
}
