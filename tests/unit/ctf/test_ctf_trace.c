/* SPDX-License-Identifier: MIT */
/*
 * test_ctf_trace.c - the trace writer's files, with babeltrace2 as witness.
 *
 * The heart is a recording in small (two streams, small files, so that they
 * roll over often, losses, events that come late) which is stopped, or made to
 * fail, at each system call in turn. Whatever happens, babeltrace2 must read
 * the directory without a complaint and find all that was published.
 */
#include "unit.h"

#include <signal.h>
#include <sys/mman.h>

#include "ctf/os.h"
#include "ctf/packet.h"
#include "ctf/trace.h"
#include "test_ctf_witness.h"

#define RECORD_SIZE 17 /* u8 31, u32 id, u64 time, u32 number */
#define RUN_RECORDS 40 /* published at once */
#define NR_PACKETS  6  /* in each stream; in two files */
#define NR_RUNS     2  /* in each packet */
#define STOP_LATE   75 /* a call at which a recording is in its second files */

static const struct sonde_ctf_config small_config = {
	.uuid = { 0x1a, 0xbc, 0xde, 0xf0, 5 },
	.hostname = "host",
	.clock = { .name = "tsc",
		   .description = "a counter",
		   .freq = 1000000000,
		   .offset_s = 1700000000 },
	.packet_max = 4000,
	.file_size = 16384,
};

static struct sonde_ctf_trace *create(const struct scratch *scratch)
{
	struct sonde_ctf_trace *trace = NULL;

	assert_int_equal(sonde_ctf_trace_create(scratch->trace, &small_config,
						&trace),
			 0);
	return trace;
}

static const struct sonde_desc *number_desc(struct maker *maker)
{
	maker_start(maker, "test", "number", SONDE_INFO);
	maker_field(maker, "n", SONDE_TYPE_INT, 32, 1, 0);
	return maker_finish(maker);
}

static size_t put_record(uint8_t *at, uint32_t id, uint64_t time, uint32_t n)
{
	at[0] = SONDE_COMPACT_ESCAPE;
	memcpy(at + 1, &id, 4);
	memcpy(at + 5, &time, 8);
	memcpy(at + 13, &n, 4);
	return RECORD_SIZE;
}

/* What a recording knows of one of its streams; shared with the parent. */
struct tally {
	uint32_t attempted; /* events that may be visible */
	uint32_t published; /* events that must be */
	uint64_t discarded;
	uint64_t missing; /* packets */
};

struct recording {
	struct tally tally[2];
	struct sonde_ctf_trace *trace;
	struct sonde_ctf_stream *stream[2];
	uint64_t clock;
};

/* One run of records, published or counted as discarded. */
static void emit(struct recording *recording, uint32_t nr)
{
	struct sonde_ctf_stream *stream = recording->stream[nr];
	struct tally *tally = &recording->tally[nr];
	uint8_t bytes[RUN_RECORDS * RECORD_SIZE];
	size_t size = 0;

	for (uint32_t i = 0; i < RUN_RECORDS; i++)
		size += put_record(bytes + size, 1, ++recording->clock,
				   tally->published + i);
	tally->attempted = tally->published + RUN_RECORDS;
	if (sonde_ctf_packet_append(stream, bytes, size) == 0 &&
	    sonde_ctf_packet_publish(stream, recording->clock,
				     tally->discarded) == 0) {
		tally->published += RUN_RECORDS;
	} else {
		sonde_ctf_packet_forget(stream);
		tally->discarded += RUN_RECORDS;
	}
	if (sonde_ctf_stream_check(stream))
		fail_msg("stream: %s", sonde_ctf_stream_check(stream));
}

/* An event that comes late, whose text takes more than a page, most of one, or
 * little, so that the metadata grows in all its ways. */
static void add_late_event(struct recording *recording, uint32_t id)
{
	static const uint32_t sizes[] = { SONDE_FIELDS_MAX, 20, 1 };
	uint32_t nr_fields = sizes[id % 3];
	struct maker maker;
	char name[16];

	(void)snprintf(name, sizeof(name), "late%u", id);
	maker_start(&maker, "test", name, SONDE_INFO);
	for (uint32_t i = 0; i < nr_fields; i++) {
		maker_open(&maker, "f", SONDE_TYPE_ENUM, 32, 2, 0);
		maker_label(&maker, "a label to make a long text of", 0, 5);
		maker_label(&maker, "and another one of the same kind", 6, 8);
		maker_close(&maker);
	}
	assert_int_equal(sonde_ctf_trace_add_event(recording->trace, 5, id,
						   maker_finish(&maker)),
			 0);
}

static void record_packets(struct recording *recording)
{
	for (uint32_t i = 0; i < NR_PACKETS; i++) {
		add_late_event(recording, 2 + i);
		for (uint32_t nr = 0; nr < 2; nr++) {
			uint64_t missing = i == 4 && nr == 1 ? 3 : 0;

			recording->clock += 10;
			if (sonde_ctf_packet_begin(recording->stream[nr],
						   recording->clock, missing))
				recording->tally[nr].discarded++;
			else
				recording->tally[nr].missing += missing;
			for (uint32_t j = 0; j < NR_RUNS; j++)
				emit(recording, nr);
			/* Lost between packets. */
			recording->tally[nr].discarded += i;
		}
	}
}

static void open_streams(struct recording *recording)
{
	struct maker maker;
	const struct sonde_desc *desc = number_desc(&maker);

	for (uint32_t nr = 0; nr < 2; nr++) {
		struct sonde_ctf_stream_config config = {
			.class_id = 5 + nr,
			.cpu_id = nr,
			.vpid = 100 + nr,
			.instance = 7,
			.name = nr ? "second" : "first",
		};

		assert_int_equal(sonde_ctf_trace_add_class(
					 recording->trace, 5 + nr,
					 SONDE_COMPACT, "a */ program"),
				 0);
		assert_int_equal(sonde_ctf_trace_add_event(recording->trace,
							   5 + nr, 1, desc),
				 0);
		assert_int_equal(sonde_ctf_stream_open(recording->trace,
						       &config,
						       &recording->stream[nr]),
				 0);
	}
}

/* A whole recording; errors are counted, not returned. */
static void record(const struct scratch *scratch, struct recording *recording)
{
	if (sonde_ctf_trace_create(scratch->trace, &small_config,
				   &recording->trace))
		return;
	open_streams(recording);
	recording->clock = 1000;
	record_packets(recording);
	for (uint32_t nr = 0; nr < 2; nr++)
		(void)sonde_ctf_stream_close(recording->stream[nr],
					     ++recording->clock,
					     recording->tally[nr].discarded);
	(void)sonde_ctf_trace_set_clock(recording->trace, 999999999, 1700000001,
					5);
	(void)sonde_ctf_trace_close(recording->trace);
}

/* Numbers of `test:number` events on a CPU; they must be 0, 1, 2 ... */
static uint32_t count_numbers(const char *out, uint32_t cpu)
{
	uint32_t count = 0;
	const char *end;
	char cpu_text[32];

	(void)snprintf(cpu_text, sizeof(cpu_text), "{ cpu_id = %u,", cpu);
	for (const char *line = out; *line; line = end + 1) {
		const char *n;

		end = strchr(line, '\n');
		assert_non_null(end);
		if (!memmem(line, (size_t)(end - line), cpu_text,
			    strlen(cpu_text)))
			continue;
		n = memmem(line, (size_t)(end - line), "{ n = ", 6);
		assert_non_null(n);
		assert_int_equal(strtoul(n + 6, NULL, 10), count);
		count++;
	}
	return count;
}

/* The witness reads all that was published, and no more than there can be. */
static void check_events(const struct scratch *scratch,
			 const struct recording *recording)
{
	struct witness witness = witness_call(scratch, NULL);

	witness_content(&witness);
	for (uint32_t nr = 0; nr < 2; nr++) {
		uint32_t count = count_numbers(witness.out, nr);

		assert_true(count >= recording->tally[nr].published);
		assert_true(count <= recording->tally[nr].attempted);
	}
	witness_dismiss(&witness);
}

/* ---- stopped or failing at the n-th system call ---- */

static struct recording *shared_recording(void)
{
	void *memory =
		mmap(NULL, sizeof(struct recording), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

static uint32_t calls_left;

static int stop_at_call(const char *call)
{
	(void)call;
	if (calls_left-- == 0)
		_exit(42);
	return 0;
}

/* Record in a child that is gone after `n` system calls. Returns whether it
 * came to its end before. */
static bool record_stopped(const struct scratch *scratch, uint32_t n,
			   struct recording *recording)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		calls_left = n;
		sonde_ctf_fault = stop_at_call;
		record(scratch, recording);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 42);
	return WEXITSTATUS(status) == 0;
}

static bool exists(const struct scratch *scratch, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", scratch->trace, name);
	return access(path, F_OK) == 0;
}

static void writer_stopped_at_any_call_leaves_a_valid_trace(void **state)
{
	struct recording *recording = shared_recording();
	struct sonde_ctf_repair_report report;
	struct scratch scratch;
	bool done = false;

	(void)state;
	NEED_WITNESS();
	for (uint32_t n = 0; !done; n++) {
		memset(recording, 0, sizeof(*recording));
		scratch_make(&scratch);
		done = record_stopped(&scratch, n, recording);
		if (exists(&scratch, "metadata")) {
			check_events(&scratch, recording);
			assert_int_equal(scratch_repair(scratch.trace, &report),
					 0);
			assert_int_equal(report.nr_damaged, 0);
			check_events(&scratch, recording);
		} else {
			assert_int_equal(recording->tally[0].published, 0);
		}
		scratch_remove(&scratch);
	}
	(void)munmap(recording, sizeof(*recording));
}

/* Repair in a child that is gone after `n` system calls. Returns whether it
 * came to its end before. */
static bool repair_stopped(const struct scratch *scratch, uint32_t n)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		calls_left = n;
		sonde_ctf_fault = stop_at_call;
		_exit(scratch_repair(scratch->trace, NULL) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 1);
	return WEXITSTATUS(status) == 0;
}

static void repair_stopped_at_any_call_leaves_a_valid_trace(void **state)
{
	struct recording *recording = shared_recording();
	struct sonde_ctf_repair_report report;
	struct scratch scratch;
	uint32_t nr_calls = 0;
	bool done = false;

	(void)state;
	NEED_WITNESS();
	for (; !done; nr_calls++) {
		memset(recording, 0, sizeof(*recording));
		scratch_make(&scratch);
		assert_false(record_stopped(&scratch, STOP_LATE, recording));
		done = repair_stopped(&scratch, nr_calls);
		check_events(&scratch, recording);
		assert_int_equal(scratch_repair(scratch.trace, &report), 0);
		check_events(&scratch, recording);
		assert_int_equal(scratch_repair(scratch.trace, &report), 0);
		assert_int_equal(report.nr_trimmed, 0);
		scratch_remove(&scratch);
	}
	assert_true(recording->tally[0].published > 0);
	assert_true(nr_calls > 10); /* there was something to do */
	(void)munmap(recording, sizeof(*recording));
}

/* ---- killed, or damaged, anywhere ---- */

/* A small generator; the same numbers in each run. */
static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)*seed * limit >> 32);
}

/* Record until killed, with a byte to `fd` for each packet. */
static void record_for_ever(const struct scratch *scratch,
			    struct recording *recording, int fd)
{
	if (sonde_ctf_trace_create(scratch->trace, &small_config,
				   &recording->trace))
		_exit(1);
	open_streams(recording);
	for (uint32_t nr = 0;; nr ^= 1) {
		recording->clock += 10;
		if (sonde_ctf_packet_begin(recording->stream[nr],
					   recording->clock, 0))
			_exit(1);
		emit(recording, nr);
		if (write(fd, "", 1) != 1)
			_exit(1);
		emit(recording, nr);
	}
}

/* Kill a recording some time after its `nr`th packet. */
static void record_killed(const struct scratch *scratch, uint32_t nr,
			  struct recording *recording)
{
	int ends[2];
	int status;
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		record_for_ever(scratch, recording, ends[1]);
	(void)close(ends[1]);
	for (uint32_t i = 0; i <= nr; i++)
		assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	(void)close(ends[0]);
}

static void writer_killed_anywhere_leaves_a_valid_trace(void **state)
{
	struct recording *recording = shared_recording();
	struct scratch scratch;
	uint32_t seed = 42;

	(void)state;
	NEED_WITNESS();
	for (uint32_t i = 0; i < 8; i++) {
		memset(recording, 0, sizeof(*recording));
		recording->clock = 1000;
		scratch_make(&scratch);
		record_killed(&scratch, random_below(&seed, 200), recording);
		check_events(&scratch, recording);
		assert_int_equal(scratch_repair(scratch.trace, NULL), 0);
		check_events(&scratch, recording);
		scratch_remove(&scratch);
	}
	(void)munmap(recording, sizeof(*recording));
}

/* Write a few random bytes somewhere into the head of a random packet. */
static void damage(const struct scratch *scratch, uint32_t *seed)
{
	static const char *const names[] = { "first", "first_1", "second",
					     "second_1" };
	uint64_t value = (uint64_t)random_below(seed, UINT32_MAX) << 32 |
			 random_below(seed, UINT32_MAX);
	uint32_t at = random_below(seed, 4) * SONDE_CTF_PAGE +
		      random_below(seed, 2) * 128 +
		      random_below(seed, SONDE_CTF_HEAD_SIZE);
	uint32_t size = 1 + random_below(seed, 8);
	char path[160];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", scratch->trace,
		       names[random_below(seed, 4)]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	assert_int_equal(pwrite(fd, &value, size, at), size);
	(void)close(fd);
}

static void repair_copes_with_damaged_files(void **state)
{
	struct recording *recording = shared_recording();
	struct sonde_ctf_repair_report report;
	uint32_t nr_damaged = 0;
	uint32_t seed = 7;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		struct scratch scratch;

		memset(recording, 0, sizeof(*recording));
		scratch_make(&scratch);
		assert_false(record_stopped(&scratch, STOP_LATE, recording));
		damage(&scratch, &seed);
		assert_int_equal(scratch_repair(scratch.trace, &report), 0);
		nr_damaged += report.nr_damaged;
		scratch_remove(&scratch);
	}
	assert_true(nr_damaged > 0);
	(void)munmap(recording, sizeof(*recording));
}

static bool fails_for_ever;

static int fail_call(const char *call)
{
	if (fails_for_ever && strcmp(call, "unlink") == 0)
		return 0; /* needs no space */
	if (calls_left > 0) {
		calls_left--;
		return 0;
	}
	if (!fails_for_ever)
		calls_left = UINT32_MAX;
	return -ENOSPC;
}

/* Make each call fail in turn; then events must add up exactly. */
static void check_failing_calls(bool for_ever)
{
	struct scratch scratch;
	uint32_t left = 0;

	fails_for_ever = for_ever;
	for (uint32_t n = 0; left < UINT32_MAX / 2; n++) {
		struct recording recording = { 0 };
		struct witness witness;

		scratch_make(&scratch);
		calls_left = n;
		sonde_ctf_fault = fail_call;
		record(&scratch, &recording);
		sonde_ctf_fault = NULL;
		left = calls_left > 0 && calls_left < n ? UINT32_MAX : 0;
		if (!exists(&scratch, "metadata")) {
			/* Then nothing is left behind either. */
			assert_int_not_equal(access(scratch.trace, F_OK), 0);
			scratch_remove(&scratch);
			continue;
		}
		witness = witness_call(&scratch, NULL);
		witness_content(&witness);
		for (uint32_t nr = 0; nr < 2; nr++)
			assert_int_equal(count_numbers(witness.out, nr),
					 recording.tally[nr].published);
		assert_true(witness.packets_lost <= recording.tally[1].missing);
		if (!for_ever)
			assert_true(witness.discarded <=
				    recording.tally[0].discarded +
					    recording.tally[1].discarded);
		witness_dismiss(&witness);
		scratch_remove(&scratch);
	}
}

static void any_one_failing_call_loses_only_what_it_reports(void **state)
{
	(void)state;
	NEED_WITNESS();
	check_failing_calls(false);
}

static void a_disk_that_stays_full_keeps_what_was_published(void **state)
{
	(void)state;
	NEED_WITNESS();
	check_failing_calls(true);
}

/* ---- a recording that comes to its end ---- */

static void a_closed_trace_accounts_for_every_loss(void **state)
{
	struct recording recording = { 0 };
	struct scratch scratch;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	record(&scratch, &recording);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	assert_int_equal(count_numbers(witness.out, 0),
			 recording.tally[0].published);
	assert_int_equal(recording.tally[0].published,
			 NR_PACKETS * NR_RUNS * RUN_RECORDS);
	assert_int_equal(witness.discarded,
			 recording.tally[0].discarded +
				 recording.tally[1].discarded);
	assert_int_equal(witness.packets_lost, 3);
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

static void the_witness_takes_the_index_files(void **state)
{
	struct recording recording = { 0 };
	struct scratch scratch;
	char out[128];
	char err[128];
	char *text;
	char *argv[] = { (char[]){ "babeltrace2" },
			 (char[]){ "--log-level=INFO" }, NULL, NULL };

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	record(&scratch, &recording);
	argv[2] = scratch.trace;
	(void)snprintf(out, sizeof(out), "%s/out", scratch.top);
	(void)snprintf(err, sizeof(err), "%s/err", scratch.top);
	assert_int_equal(run(argv, out, err), 0);
	text = read_file(err);
	assert_non_null(strstr(text, "Building index from .idx file"));
	assert_null(strstr(text, "falling back to stream indexing"));
	assert_null(strstr(text, " W PLUGIN"));
	free(text);
	scratch_remove(&scratch);
}

static void a_closed_trace_has_nothing_to_repair(void **state)
{
	struct recording recording = { 0 };
	struct sonde_ctf_repair_report report;
	struct scratch scratch;

	(void)state;
	scratch_make(&scratch);
	record(&scratch, &recording);
	assert_int_equal(scratch_repair(scratch.trace, &report), 0);
	assert_true(report.nr_files >= 4);
	assert_int_equal(report.nr_trimmed, 0);
	assert_int_equal(report.nr_damaged, 0);
	/* Beside its packets, an opening and a closing one, in each of two streams. */
	assert_int_equal(report.nr_packets, 2 * (NR_PACKETS + 2));
	scratch_remove(&scratch);
}

static void losses_before_the_first_packet_are_reported(void **state)
{
	struct sonde_ctf_stream_config config = { .class_id = 1, .name = "a" };
	struct sonde_ctf_stream *stream;
	struct sonde_ctf_trace *trace;
	struct scratch scratch;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	trace = create(&scratch);
	assert_int_equal(sonde_ctf_trace_add_class(trace, 1, SONDE_LARGE, NULL),
			 0);
	assert_int_equal(sonde_ctf_stream_open(trace, &config, &stream), 0);
	assert_int_equal(sonde_ctf_packet_begin(stream, 1000, 2), 0);
	assert_int_equal(sonde_ctf_packet_publish(stream, 2000, 11), 0);
	assert_int_equal(sonde_ctf_stream_close(stream, 3000, 11), 0);
	assert_int_equal(sonde_ctf_trace_close(trace), 0);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	assert_int_equal(witness.discarded, 11);
	assert_int_equal(witness.packets_lost, 2);
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

static void a_stream_that_only_lost_events_says_so(void **state)
{
	struct sonde_ctf_stream_config config = { .class_id = 1, .name = "a" };
	struct sonde_ctf_stream *stream;
	struct sonde_ctf_trace *trace;
	struct scratch scratch;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	trace = create(&scratch);
	assert_int_equal(sonde_ctf_trace_add_class(trace, 1, SONDE_LARGE, NULL),
			 0);
	assert_int_equal(sonde_ctf_stream_open(trace, &config, &stream), 0);
	assert_int_equal(sonde_ctf_stream_close(stream, 3000, 4), 0);
	assert_int_equal(sonde_ctf_trace_close(trace), 0);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	assert_int_equal(witness.discarded, 4);
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

static void forgotten_bytes_never_appear(void **state)
{
	struct recording recording = { .clock = 1000 };
	uint8_t bytes[2 * RECORD_SIZE];
	struct scratch scratch;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	recording.trace = create(&scratch);
	open_streams(&recording);
	(void)put_record(bytes, 1, 1001, 0);
	(void)put_record(bytes + RECORD_SIZE, 1, 1002, 99);
	assert_int_equal(sonde_ctf_packet_begin(recording.stream[0], 1000, 0),
			 0);
	assert_int_equal(sonde_ctf_packet_append(recording.stream[0], bytes,
						 RECORD_SIZE),
			 0);
	assert_int_equal(sonde_ctf_packet_publish(recording.stream[0], 1001, 0),
			 0);
	assert_int_equal(sonde_ctf_packet_append(recording.stream[0],
						 bytes + RECORD_SIZE,
						 RECORD_SIZE),
			 0);
	sonde_ctf_packet_forget(recording.stream[0]);
	/* A packet that is begun and left leaves no trace either. */
	assert_int_equal(sonde_ctf_packet_begin(recording.stream[0], 2000, 5),
			 0);
	assert_int_equal(sonde_ctf_packet_append(recording.stream[0], bytes,
						 RECORD_SIZE),
			 0);
	assert_int_equal(sonde_ctf_trace_close(recording.trace), 0);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	assert_int_equal(count_numbers(witness.out, 0), 1);
	assert_int_equal(witness.packets_lost, 0);
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

static void times_that_go_back_are_put_right(void **state)
{
	struct recording recording = { .clock = 1000 };
	struct scratch scratch;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	recording.trace = create(&scratch);
	open_streams(&recording);
	for (uint32_t i = 0; i < 40; i++) {
		/* Each packet claims to end after the next begins, and some
		 * begin when the one before did. */
		assert_int_equal(sonde_ctf_packet_begin(recording.stream[0],
							1000 + i / 20, 0),
				 0);
		assert_int_equal(sonde_ctf_packet_publish(recording.stream[0],
							  5000, 0),
				 0);
	}
	assert_int_equal(sonde_ctf_packet_begin(recording.stream[0], 3, 0), 0);
	assert_int_equal(sonde_ctf_packet_publish(recording.stream[0], 2, 0),
			 0);
	assert_int_equal(sonde_ctf_trace_close(recording.trace), 0);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	assert_int_equal(witness.packets_lost, 0);
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

static void a_packet_takes_what_it_must_and_no_more_than_the_file(void **state)
{
	struct recording recording = { .clock = 1000 };
	static uint8_t bytes[1 << 16];
	struct scratch scratch;

	(void)state;
	scratch_make(&scratch);
	recording.trace = create(&scratch);
	open_streams(&recording);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(sonde_ctf_packet_begin(recording.stream[0],
							1000 + i, 0),
				 0);
		assert_int_equal(
			sonde_ctf_packet_append(recording.stream[0], bytes,
						small_config.packet_max),
			0);
		assert_int_equal(sonde_ctf_packet_publish(recording.stream[0],
							  1000 + i, 0),
				 0);
	}
	assert_int_equal(sonde_ctf_packet_append(recording.stream[1], bytes, 1),
			 -EINVAL);
	assert_int_equal(sonde_ctf_packet_begin(recording.stream[1], 1, 0), 0);
	assert_int_equal(sonde_ctf_packet_append(recording.stream[1], bytes,
						 sizeof(bytes)),
			 -EMSGSIZE);
	assert_int_equal(sonde_ctf_packet_append(recording.stream[1], (void *)1,
						 10),
			 -EFAULT);
	assert_int_equal(sonde_ctf_trace_close(recording.trace), 0);
	scratch_remove(&scratch);
}

/* ---- what is refused ---- */

static void a_directory_with_something_in_it_is_refused(void **state)
{
	struct sonde_ctf_trace *trace = NULL;
	struct scratch scratch;

	(void)state;
	scratch_make(&scratch);
	trace = create(&scratch);
	assert_int_equal(sonde_ctf_trace_close(trace), 0);
	assert_int_equal(sonde_ctf_trace_create(scratch.trace, &small_config,
						&trace),
			 -ENOTEMPTY);
	assert_int_equal(sonde_ctf_trace_create("/dev/null", &small_config,
						&trace),
			 -ENOTDIR);
	scratch_remove(&scratch);
}

static void an_empty_directory_will_do(void **state)
{
	struct scratch scratch;

	(void)state;
	scratch_make(&scratch);
	assert_int_equal(mkdir(scratch.trace, 0777), 0);
	assert_int_equal(sonde_ctf_trace_close(create(&scratch)), 0);
	scratch_remove(&scratch);
}

static void bad_stream_names_are_refused(void **state)
{
	static const char *const names[] = { "", ".x", "a/b", "metadata",
					     "index" };
	struct sonde_ctf_stream_config config = { .class_id = 1 };
	struct sonde_ctf_stream *stream = NULL;
	struct sonde_ctf_trace *trace;
	struct scratch scratch;

	(void)state;
	scratch_make(&scratch);
	trace = create(&scratch);
	assert_int_equal(sonde_ctf_trace_add_class(trace, 1, SONDE_LARGE, NULL),
			 0);
	assert_int_equal(sonde_ctf_trace_add_class(trace, 1, SONDE_LARGE, NULL),
			 -EEXIST);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		config.name = names[i];
		assert_int_equal(sonde_ctf_stream_open(trace, &config, &stream),
				 -EINVAL);
	}
	config.name = "a";
	assert_int_equal(sonde_ctf_stream_open(trace, &config, &stream), 0);
	assert_int_equal(sonde_ctf_stream_open(trace, &config, &stream),
			 -EEXIST);
	config.name = "b";
	config.class_id = 2;
	assert_int_equal(sonde_ctf_stream_open(trace, &config, &stream),
			 -ENOENT);
	assert_int_equal(sonde_ctf_trace_close(trace), 0);
	scratch_remove(&scratch);
}

static void repair_leaves_alone_what_is_not_ours(void **state)
{
	struct sonde_ctf_repair_report report;
	struct recording recording = { 0 };
	struct scratch scratch;
	char path[128];
	struct stat after;
	int fd;

	(void)state;
	scratch_make(&scratch);
	assert_int_equal(scratch_repair(scratch.top, &report), -EINVAL);
	record(&scratch, &recording);
	(void)snprintf(path, sizeof(path), "%s/stranger", scratch.trace);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 12345), 0);
	assert_int_equal(scratch_repair(scratch.trace, &report), 0);
	assert_int_equal(report.nr_damaged, 1);
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(after.st_size, 12345);
	(void)close(fd);
	scratch_remove(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_trace_accounts_for_every_loss),
		cmocka_unit_test(the_witness_takes_the_index_files),
		cmocka_unit_test(a_closed_trace_has_nothing_to_repair),
		cmocka_unit_test(losses_before_the_first_packet_are_reported),
		cmocka_unit_test(a_stream_that_only_lost_events_says_so),
		cmocka_unit_test(forgotten_bytes_never_appear),
		cmocka_unit_test(times_that_go_back_are_put_right),
		cmocka_unit_test(
			a_packet_takes_what_it_must_and_no_more_than_the_file),
		cmocka_unit_test(a_directory_with_something_in_it_is_refused),
		cmocka_unit_test(an_empty_directory_will_do),
		cmocka_unit_test(bad_stream_names_are_refused),
		cmocka_unit_test(repair_leaves_alone_what_is_not_ours),
		cmocka_unit_test(
			writer_stopped_at_any_call_leaves_a_valid_trace),
		cmocka_unit_test(
			repair_stopped_at_any_call_leaves_a_valid_trace),
		cmocka_unit_test(writer_killed_anywhere_leaves_a_valid_trace),
		cmocka_unit_test(repair_copes_with_damaged_files),
		cmocka_unit_test(
			any_one_failing_call_loses_only_what_it_reports),
		cmocka_unit_test(
			a_disk_that_stays_full_keeps_what_was_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
