// SPDX-License-Identifier: MIT
/*
 * probes_test.c - what probes record: each function is a claim.
 *
 * Needs sonde.ko and sonde_test.ko. Prints `ok NAME` or `FAIL NAME: why`, and
 * `N passed, M failed`; status 1 if a claim failed.
 *
 * Where things lie in the kernel's structures is found out here, by looking for
 * what is known: so no kernel's layout is written down.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expr/program.h"

#define SUBBUF  65536u
#define SUBBUFS 8u
#define COMM    "sonde-probes"

/* As the kernel's sched_switch has it, in prev_state. */
#define PREEMPTED 256u

/* ---- sessions ---- */

struct trace {
	int device, session, channel;
	uint32_t nr_cpus;
	int stream[CLIENT_CPUS_MAX];
	const uint8_t *memory[CLIENT_CPUS_MAX];
};

static int must(int rc, const char *what)
{
	if (rc < 0)
		die("%s", what);
	return rc;
}

static void trace_open(struct trace *trace, pid_t self, pid_t tree)
{
	struct sonde_kmod_session session = { .size = sizeof(session),
					      .self = { self } };
	struct sonde_kmod_scope scope = { .size = sizeof(scope), .pid = tree };
	struct sonde_kmod_channel channel = { .size = sizeof(channel),
					      .subbuf_bytes = SUBBUF,
					      .nr_subbufs = SUBBUFS };

	trace->nr_cpus = online_cpus();
	trace->device =
		must(open(SONDE_KMOD_DEVICE, O_RDWR), SONDE_KMOD_DEVICE);
	trace->session = must(
		ioctl(trace->device, SONDE_KMOD_SESSION, &session), "SESSION");
	if (tree)
		(void)must(ioctl(trace->session, SONDE_KMOD_SCOPE, &scope),
			   "SCOPE");
	trace->channel = must(
		ioctl(trace->session, SONDE_KMOD_CHANNEL, &channel), "CHANNEL");
	for (uint32_t cpu = 0; cpu < trace->nr_cpus; cpu++) {
		struct sonde_kmod_stream stream = { .size = sizeof(stream),
						    .cpu = cpu };

		trace->stream[cpu] =
			must(ioctl(trace->channel, SONDE_KMOD_STREAM, &stream),
			     "STREAM");
		trace->memory[cpu] =
			mmap(NULL, (SUBBUFS + 1) * SUBBUF, PROT_READ,
			     MAP_SHARED, trace->stream[cpu], 0);
		if (trace->memory[cpu] == MAP_FAILED)
			die("mmap");
	}
}

static void trace_close(const struct trace *trace)
{
	for (uint32_t cpu = 0; cpu < trace->nr_cpus; cpu++) {
		(void)munmap((void *)trace->memory[cpu],
			     (SUBBUFS + 1) * SUBBUF); /* it was mapped so */
		(void)close(trace->stream[cpu]);      /* nothing to write */
	}
	(void)close(trace->channel);
	(void)close(trace->session);
	(void)close(trace->device);
}

static void trace_start(const struct trace *trace)
{
	(void)must(ioctl(trace->session, SONDE_KMOD_START), "START");
}

static void trace_stop(const struct trace *trace)
{
	(void)must(ioctl(trace->session, SONDE_KMOD_STOP), "STOP");
}

/* An event: its captures and filter are borrowed until it is added. */
struct wish {
	uint32_t type;
	const char *name;
	uint32_t number;
	uint32_t flags;
	uint32_t id;
	uint32_t nr_caps;
	struct sonde_kmod_cap caps[8];
	const struct sonde_program *filter;
	uint32_t filter_bytes;
	const struct sonde_kmod_text *text; /* one */
};

static int trace_try(const struct trace *trace, const struct wish *wish)
{
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = wish->type,
		.id = wish->id,
		.flags = wish->flags,
		.number = wish->number,
		.nr_caps = wish->nr_caps,
		.caps = (uintptr_t)wish->caps,
		.filter = (uintptr_t)wish->filter,
		.filter_bytes = wish->filter_bytes,
		.nr_texts = wish->text ? 1 : 0,
		.texts = (uintptr_t)wish->text,
	};
	int rc;

	if (wish->name)
		(void)snprintf(event.name, sizeof(event.name), "%s",
			       wish->name);
	rc = ioctl(trace->channel, SONDE_KMOD_EVENT, &event);
	return rc < 0 ? -errno : rc;
}

static int trace_add(const struct trace *trace, const struct wish *wish)
{
	int rc = trace_try(trace, wish);

	if (rc < 0) {
		errno = -rc;
		die("EVENT %s", wish->name ? wish->name : "system call");
	}
	return rc;
}

/* ---- records ---- */

#define RECORDS_MAX 4096u

struct record {
	uint32_t id;
	uint32_t tid;
	uint32_t size;
	uint8_t payload[4200];
};

static struct record records[RECORDS_MAX];
static uint32_t nr_records;

/* Bytes of the payload there; a test has events of one form only: fixed bytes,
 * then perhaps a text, or a u32 and so many bytes. */
struct form {
	uint32_t bytes;
	bool has_text;
	bool has_buffer;
};

static uint32_t payload_size(const struct form *form, const uint8_t *at,
			     uint32_t left)
{
	uint32_t bytes = form->bytes;
	uint32_t length = 0;

	if (form->has_text)
		bytes += (uint32_t)strnlen((const char *)at + bytes,
					   left - bytes) +
			 1;
	if (form->has_buffer) {
		memcpy(&length, at + bytes, sizeof(length));
		bytes += (uint32_t)sizeof(length) + length;
	}
	return bytes;
}

/* Returns the bytes of the record. */
static uint32_t read_record(const struct form *form, const uint8_t *at,
			    uint32_t left)
{
	struct record *record = &records[nr_records];
	uint16_t id;
	uint32_t head = 6;

	memcpy(&id, at, sizeof(id));
	record->id = id;
	if (id == 65535) {
		memcpy(&record->id, at + 2, sizeof(record->id));
		head = 14;
	}
	memcpy(&record->tid, at + head, sizeof(record->tid));
	head += sizeof(record->tid);
	if (left < head + form->bytes)
		die("a record is cut short");
	record->size = payload_size(form, at + head, left - head);
	if (record->size > left - head ||
	    record->size > sizeof(record->payload))
		die("a payload is too long");
	memcpy(record->payload, at + head, record->size);
	if (nr_records + 1 < RECORDS_MAX)
		nr_records++;
	return head + record->size;
}

static void read_stream(const struct trace *trace, uint32_t cpu,
			const struct form *form)
{
	struct sonde_kmod_chunk chunk = { .size = sizeof(chunk) };

	while (ioctl(trace->stream[cpu], SONDE_KMOD_GET, &chunk) == 1) {
		const uint8_t *at = trace->memory[cpu] + chunk.offset;

		for (uint32_t i = 0; i < chunk.bytes;)
			i += read_record(form, at + i, chunk.bytes - i);
		(void)must(ioctl(trace->stream[cpu], SONDE_KMOD_PUT, &chunk),
			   "PUT");
		chunk = (struct sonde_kmod_chunk){ .size = sizeof(chunk) };
	}
}

/* Those of one CPU. */
static void trace_read_cpu(const struct trace *trace, uint32_t cpu,
			   struct form form)
{
	nr_records = 0;
	read_stream(trace, cpu, &form);
}

static void trace_read(const struct trace *trace, struct form form)
{
	nr_records = 0;
	for (uint32_t cpu = 0; cpu < trace->nr_cpus; cpu++)
		read_stream(trace, cpu, &form);
}

/* The first of that id and thread, or NULL. */
static const struct record *find(uint32_t id, uint32_t tid)
{
	for (uint32_t i = 0; i < nr_records; i++)
		if (records[i].id == id && records[i].tid == tid)
			return &records[i];
	return NULL;
}

static uint32_t count(uint32_t id, uint32_t tid)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_records; i++)
		nr += records[i].id == id && (!tid || records[i].tid == tid);
	return nr;
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* ---- captures ---- */

#define VALUE(arg, width)                                     \
	{                                                     \
		.kind = SONDE_KMOD_VALUE, .index = (arg),     \
		.from = SONDE_KMOD_FROM_ARG, .bytes = (width) \
	}
#define OTHER(what, width)                                                 \
	{                                                                  \
		.kind = SONDE_KMOD_VALUE, .from = (what), .bytes = (width) \
	}

static const struct wish tick = {
	.type = SONDE_KMOD_TRACEPOINT,
	.name = "sonde_test_tick",
	.id = 1,
	.nr_caps = 2,
	.caps = { VALUE(0, 8), VALUE(1, 4) },
};
static const struct form tick_form = { .bytes = 12 };
static int ticker;

static void make_ticks(uint64_t nr)
{
	struct sonde_test_run run = { .count = nr, .batch = 1 };

	test_run(ticker, &run);
}

/* ---- tracepoints ---- */

static void generic_probe_gets_the_arguments(void)
{
	struct trace trace;

	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &tick);
	trace_start(&trace);
	make_ticks(100);
	trace_stop(&trace);
	trace_read(&trace, tick_form);
	trace_close(&trace);
	REQUIRE(count(1, own_tid()) == 100);
	for (uint32_t i = 0; i < nr_records; i++) {
		uint64_t value = get64(records[i].payload);

		REQUIRE(get32(records[i].payload + 8) ==
			sonde_test_number(value));
	}
}

/* Where in the running task are its name and a pointer to itself. */
static int16_t comm_offset;
static int16_t self_offset;

static void task_is_copied_and_searched(void)
{
	const struct wish wish = {
		.type = SONDE_KMOD_TRACEPOINT,
		.name = "sonde_test_tick",
		.id = 1,
		.nr_caps = 2,
		.caps = { OTHER(SONDE_KMOD_FROM_CURRENT, 8),
			  { .kind = SONDE_KMOD_BYTES,
			    .from = SONDE_KMOD_FROM_CURRENT,
			    .max = SONDE_KMOD_TEXT_MAX } },
	};
	const uint8_t *task;
	struct trace trace;
	uint64_t address;

	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	make_ticks(1);
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .bytes = 8 + SONDE_KMOD_TEXT_MAX });
	trace_close(&trace);
	REQUIRE(nr_records == 1);
	address = get64(records[0].payload);
	task = records[0].payload + 8;
	for (int i = 8; i < (int)SONDE_KMOD_TEXT_MAX - 16; i += 8) {
		if (!comm_offset && !strcmp((const char *)task + i, COMM))
			comm_offset = (int16_t)i;
		if (!self_offset && get64(task + i) == address)
			self_offset = (int16_t)i;
	}
	REQUIRE(comm_offset);
	REQUIRE(self_offset);
}

static void paths_lead_to_what_pointers_point_to(void)
{
	const struct wish wish = {
		.type = SONDE_KMOD_TRACEPOINT,
		.name = "sonde_test_tick",
		.id = 1,
		.nr_caps = 2,
		.caps = { { .kind = SONDE_KMOD_VALUE,
			    .from = SONDE_KMOD_FROM_CURRENT,
			    .bytes = 8,
			    .from_bytes = 1,
			    .nr_path = 1,
			    .offset = { (int16_t)(comm_offset + 1) } },
			  { .kind = SONDE_KMOD_STRING,
			    .from = SONDE_KMOD_FROM_CURRENT,
			    .max = 16,
			    .nr_path = 3,
			    .offset = { self_offset, self_offset,
					comm_offset } } },
	};
	struct trace trace;

	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	make_ticks(1);
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .bytes = 8, .has_text = true });
	trace_close(&trace);
	REQUIRE(nr_records == 1);
	REQUIRE(get64(records[0].payload) == (uint8_t)COMM[1]);
	REQUIRE(!strcmp((char *)records[0].payload + 8, COMM));
}

/* The tick's value is no address; its number, widened, is none either. */
static void bad_pointers_read_as_zeros(void)
{
	const struct wish wish = {
		.type = SONDE_KMOD_TRACEPOINT,
		.name = "sonde_test_tick",
		.id = 1,
		.nr_caps = 5,
		.caps = { { .kind = SONDE_KMOD_VALUE,
			    .bytes = 8,
			    .nr_path = 1 },
			  { .kind = SONDE_KMOD_VALUE,
			    .bytes = 4,
			    .nr_path = 3 },
			  { .kind = SONDE_KMOD_BYTES, .max = 32, .index = 1 },
			  { .kind = SONDE_KMOD_BYTES,
			    .max = 4,
			    .from = SONDE_KMOD_FROM_STACK },
			  { .kind = SONDE_KMOD_STRING, .max = 32 } },
	};
	static const uint8_t zeros[49];
	struct trace trace;

	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	make_ticks(50);
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .bytes = 48, .has_text = true });
	trace_close(&trace);
	REQUIRE(nr_records == 50);
	for (uint32_t i = 0; i < nr_records; i++) {
		REQUIRE(records[i].size == 49);
		REQUIRE(!memcmp(records[i].payload, zeros, 49));
	}
}

static void lists_that_make_no_sense_are_refused(void)
{
	struct wish wish = tick;
	struct trace trace;
	bool is_good = true;

	trace_open(&trace, 0, 0);
	wish.caps[0].kind = SONDE_KMOD_KINDS;
	is_good &= trace_try(&trace, &wish) == -EINVAL;
	wish = tick;
	wish.caps[0].bytes = 3;
	is_good &= trace_try(&trace, &wish) == -EINVAL;
	wish = tick;
	wish.caps[1].index = 12;
	is_good &= trace_try(&trace, &wish) == -EINVAL;
	wish = tick;
	wish.caps[0].nr_path = 4;
	is_good &= trace_try(&trace, &wish) == -EINVAL;
	wish = tick;
	wish.caps[0] = (struct sonde_kmod_cap){ .kind = SONDE_KMOD_STRING };
	is_good &= trace_try(&trace, &wish) == -EINVAL;
	wish = tick;
	wish.name = "no_such_tracepoint";
	is_good &= trace_try(&trace, &wish) == -ENOENT;
	trace_close(&trace);
	REQUIRE(is_good);
}

/* ---- switches ---- */

static void sleep_and_wake(int rounds)
{
	int there[2], back[2];
	char byte = 0;
	pid_t child;

	if (pipe(there) || pipe(back))
		die("pipe");
	child = fork();
	if (child == 0) {
		for (int i = 0; i < rounds; i++)
			if (read(there[0], &byte, 1) != 1 ||
			    write(back[1], &byte, 1) != 1)
				_exit(2);
		_exit(0);
	}
	for (int i = 0; i < rounds; i++)
		if (write(there[1], &byte, 1) != 1 ||
		    read(back[0], &byte, 1) != 1)
			die("ping-pong");
	(void)waitpid(child, NULL, 0); /* it is ours */
	(void)close(there[0]), (void)close(there[1]);
	(void)close(back[0]), (void)close(back[1]);
}

/* A process that sleeps and wakes on the last CPU until it is killed. */
static pid_t sleep_elsewhere(const struct trace *trace)
{
	pid_t child = must(fork(), "fork");

	if (child == 0) {
		bind_to(trace->nr_cpus - 1);
		while (getppid() != 1)
			(void)usleep(1000);
		_exit(0);
	}
	return child;
}

/* One CPU's records of the typed probe, which started sooner and stopped later,
 * have those of the generic one among them, in their order. Without priorities and
 * states, which only typed probes say as they are shown, each is compared in what
 * the other has as well. Counts how often who is called COMM went to sleep. */
static void compare_switches(const struct record *typed, uint32_t nr_typed,
			     uint32_t *slept)
{
	for (uint32_t i = 0, j = 0; i < nr_records; i++, j++) {
		const uint8_t *a;
		const uint8_t *b = records[i].payload;

		while (j < nr_typed &&
		       (typed[j].tid != records[i].tid ||
			memcmp(typed[j].payload + 32, b + 24, 16)))
			j++;
		REQUIRE(j < nr_typed);
		a = typed[j].payload;
		REQUIRE(!memcmp(a, b, 16));
		REQUIRE(get32(a + 16) == records[i].tid);
		/* Who is preempted on his way to sleep has the state already,
		 * but the kernel calls it PREEMPTED. */
		if (get64(b + 16) == 1 && get64(a + 24) != PREEMPTED &&
		    !strncmp((const char *)b, COMM, 16)) {
			REQUIRE(get64(a + 24) == 1);
			REQUIRE(get32(a + 20) == 20);
			(*slept)++;
		}
	}
}

/* CPU by CPU: what runs when nothing does has the same number on all of them, and
 * a name for each. */
static uint32_t compare_traces(const struct trace *typed,
			       const struct trace *generic)
{
	static struct record typed_ones[RECORDS_MAX];
	uint32_t nr_typed;
	uint32_t slept = 0;

	for (uint32_t cpu = 0; cpu < typed->nr_cpus; cpu++) {
		trace_read_cpu(typed, cpu, (struct form){ .bytes = 56 });
		memcpy(typed_ones, records, sizeof(records));
		nr_typed = nr_records;
		trace_read_cpu(generic, cpu, (struct form){ .bytes = 40 });
		compare_switches(typed_ones, nr_typed, &slept);
	}
	return slept;
}

static void typed_and_generic_probes_agree_on_switches(void)
{
	const struct wish generic = {
		.type = SONDE_KMOD_TRACEPOINT,
		.name = "sched_switch",
		.id = 2,
		.nr_caps = 3,
		.caps = { { .kind = SONDE_KMOD_BYTES,
			    .index = 1,
			    .max = 16,
			    .nr_path = 1,
			    .offset = { comm_offset } },
			  VALUE(3, 8),
			  { .kind = SONDE_KMOD_BYTES,
			    .index = 2,
			    .max = 16,
			    .nr_path = 1,
			    .offset = { comm_offset } } },
	};
	struct wish typed = generic;
	struct trace one, two;
	uint32_t slept;
	pid_t sleeper;

	typed.flags = SONDE_KMOD_TYPED;
	trace_open(&one, 0, 0);
	trace_open(&two, 0, 0);
	(void)trace_add(&one, &typed);
	(void)trace_add(&two, &generic);
	sleeper = sleep_elsewhere(&one);
	bind_to(0);
	trace_start(&one);
	trace_start(&two);
	sleep_and_wake(200);
	trace_stop(&two);
	(void)usleep(1000); /* the first has a switch more here */
	trace_stop(&one);
	(void)kill(sleeper, SIGKILL); /* it is ours */
	(void)waitpid(sleeper, NULL, 0);
	slept = compare_traces(&one, &two);
	trace_close(&one);
	trace_close(&two);
	/* How many is the scheduler's: a thread whose byte comes before it
	 * sleeps does not. */
	REQUIRE(slept > 0);
}

/* ---- system calls' texts ---- */

static struct wish of_openat(uint32_t id)
{
	return (struct wish){
		.type = SONDE_KMOD_SYSCALL_ENTRY,
		.number = SYS_openat,
		.id = id,
		.nr_caps = 2,
		.caps = { VALUE(0, 4),
			  { .kind = SONDE_KMOD_USTRING,
			    .index = 1,
			    .max = 64 } },
	};
}

static const struct form openat_form = { .bytes = 4, .has_text = true };

/* Texts of the program itself may not be in memory yet: here they are. */
static void try_open_copy(const char *path)
{
	char copy[16];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	(void)syscall(SYS_openat, AT_FDCWD, copy, O_RDONLY); /* it may fail */
}

static void try_open(const void *path)
{
	(void)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY); /* it may fail */
}

static void user_strings_are_read_as_far_as_they_are_there(void)
{
	const struct wish wish = of_openat(1);
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char longer[101];
	struct trace trace;

	if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE))
		die("mmap");
	memcpy(pages + 4096 - 5, "/cut/", 5);
	(void)strcpy(pages + 100, "/whole");
	memset(longer, 'x', 100);
	longer[100] = 0;
	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	try_open(pages + 100);
	try_open(pages + 4096 - 5);
	try_open(pages + 4096);
	try_open(NULL);
	try_open(longer);
	trace_stop(&trace);
	trace_read(&trace, openat_form);
	trace_close(&trace);
	(void)munmap(pages, 8192); /* it was mapped so */
	REQUIRE(count(1, own_tid()) == 5);
	REQUIRE(get32(records[0].payload) == (uint32_t)AT_FDCWD);
	REQUIRE(!strcmp((char *)records[0].payload + 4, "/whole"));
	REQUIRE(!strcmp((char *)records[1].payload + 4, "/cut/"));
	REQUIRE(!records[2].payload[4] && !records[3].payload[4]);
	REQUIRE(strlen((char *)records[4].payload + 4) == 63);
}

static void lists_of_user_strings_are_joined(void)
{
	const struct wish wish = {
		.type = SONDE_KMOD_SYSCALL_ENTRY,
		.number = SYS_execve,
		.id = 1,
		.nr_caps = 1,
		.caps = { { .kind = SONDE_KMOD_USTRINGS,
			    .index = 1,
			    .max = 12 } },
	};
	/* On the stack, so that they have been touched: a probe waits for no
	 * page of the program's texts. */
	char words[][8] = { "a", "bc", "", "d", "0123456", "789abc", "more" };
	char *const some[] = { words[0], words[1], words[2], words[3], NULL };
	char *const many[] = { words[4], words[5], words[6], NULL };
	char *const none[] = { NULL };
	struct trace trace;

	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	(void)execve("/none", some, none); /* there is no such file */
	(void)execve("/none", many, none);
	(void)execve("/none", none, none);
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .has_text = true });
	trace_close(&trace);
	REQUIRE(count(1, own_tid()) == 3);
	REQUIRE(!strcmp((char *)records[0].payload, "a bc  d"));
	REQUIRE(!strcmp((char *)records[1].payload, "0123456 789"));
	REQUIRE(!strcmp((char *)records[2].payload, ""));
}

static void buffers_are_as_long_as_the_call_says(void)
{
	const struct wish wish = {
		.type = SONDE_KMOD_SYSCALL_ENTRY,
		.number = SYS_write,
		.id = 1,
		.nr_caps = 1,
		.caps = { { .kind = SONDE_KMOD_UBUFFER,
			    .index = 1,
			    .length = 2,
			    .max = 8 } },
	};
	struct trace trace;
	int null = must(open("/dev/null", O_WRONLY), "/dev/null");

	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	(void)!write(null, "12345", 5);
	(void)!write(null, "0123456789", 10);
	(void)!write(null, "", 0);
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .has_buffer = true });
	trace_close(&trace);
	(void)close(null);
	REQUIRE(count(1, own_tid()) == 3);
	REQUIRE(get32(records[0].payload) == 5);
	REQUIRE(!memcmp(records[0].payload + 4, "12345", 5));
	REQUIRE(get32(records[1].payload) == 8);
	REQUIRE(!memcmp(records[1].payload + 4, "01234567", 8));
	REQUIRE(get32(records[2].payload) == 0);
}

/* ---- kprobes ---- */

static struct wish of_function(uint32_t type, uint32_t id)
{
	return (struct wish){
		.type = type,
		.name = "do_sys_openat2", /* (int, const char *, ...) */
		.id = id,
		.nr_caps = 3,
		.caps = { VALUE(0, 4),
			  OTHER(SONDE_KMOD_FROM_RESULT, 8),
			  { .kind = SONDE_KMOD_USTRING,
			    .index = 1,
			    .max = 64 } },
	};
}

static void check_opened(uint32_t id, uint64_t result)
{
	const struct record *record = find(id, own_tid());

	REQUIRE(record);
	REQUIRE(get32(record->payload) == (uint32_t)AT_FDCWD);
	REQUIRE(get64(record->payload + 4) == result);
	REQUIRE(!strcmp((const char *)record->payload + 12, "/dev/zero"));
	REQUIRE(count(id, own_tid()) == 1);
}

static void kprobes_kretprobes_and_functions_have_arguments(void)
{
	static const uint32_t types[] = { SONDE_KMOD_KPROBE,
					  SONDE_KMOD_KRETPROBE,
					  SONDE_KMOD_FUNCTION };
	struct trace trace;
	int fd;

	trace_open(&trace, 0, 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct wish wish = of_function(types[i], i + 1);

		(void)trace_add(&trace, &wish);
	}
	trace_start(&trace);
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY);
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .bytes = 12, .has_text = true });
	trace_close(&trace);
	(void)close(fd);
	check_opened(1, 0);
	check_opened(2, (uint64_t)fd);
	check_opened(3, 0);
}

/* The kernel's types call it a char *, as any other. */
static void a_text_may_be_the_kernels_or_the_users(void)
{
	struct wish wish = of_function(SONDE_KMOD_KPROBE, 1);
	struct trace trace;

	wish.caps[2].kind = SONDE_KMOD_STRING;
	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	(void)close((int)syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY));
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .bytes = 12, .has_text = true });
	trace_close(&trace);
	check_opened(1, 0);
}

static void places_that_are_not_there_are_refused(void)
{
	struct wish wish = of_function(SONDE_KMOD_KPROBE, 1);
	struct trace trace;
	bool is_good = true;

	trace_open(&trace, 0, 0);
	wish.name = "do_sys_openat2+junk";
	is_good &= trace_try(&trace, &wish) == -EINVAL;
	wish.name = "there_is_no_such_function";
	is_good &= trace_try(&trace, &wish) < 0;
	wish.type = SONDE_KMOD_FUNCTION;
	is_good &= trace_try(&trace, &wish) == -ENOENT;
	wish.name = "do_sys_open*";
	is_good &= trace_try(&trace, &wish) == -EINVAL;
	trace_close(&trace);
	REQUIRE(is_good);
}

/* ---- calls that sleep ---- */

#define SLEEPERS 300u

#ifdef __x86_64__
#define SYS_OF(name) "__x64_sys_" name
#else
#define SYS_OF(name) "__arm64_sys_" name
#endif

static _Atomic uint32_t sleepers_word;
static _Atomic uint32_t sleeper_tids[SLEEPERS];

static void *sleeper(void *index)
{
	sleeper_tids[(uintptr_t)index] = own_tid();
	while (!sleepers_word)
		(void)syscall(SYS_futex, &sleepers_word, FUTEX_WAIT, 0, NULL);
	return NULL;
}

/* Whether the kernel says that it sleeps in that call. */
static bool is_asleep(uint32_t tid)
{
	char path[64], text[32] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", tid);
	fd = must(open(path, O_RDONLY), path);
	(void)!read(fd, text, sizeof(text) - 1); /* then it is empty */
	(void)close(fd);
	return *text != 'r' && atoi(text) == SYS_futex;
}

/* So many threads are in a call of futex at once, and return. */
static void sleep_together(uint32_t nr)
{
	pthread_t threads[SLEEPERS];
	pthread_attr_t attr;

	sleepers_word = 0;
	/* Not less than the least of any machine: arm64's is 128 KiB. */
	if (pthread_attr_init(&attr) ||
	    pthread_attr_setstacksize(&attr, 262144))
		die("pthread_attr");
	for (uint32_t i = 0; i < nr; i++) {
		sleeper_tids[i] = 0;
		if (pthread_create(&threads[i], &attr, sleeper,
				   (void *)(uintptr_t)i))
			die("pthread_create");
	}
	for (uint32_t i = 0; i < nr; i++)
		while (!sleeper_tids[i] || !is_asleep(sleeper_tids[i]))
			(void)sched_yield(); /* can't fail */
	sleepers_word = 1;
	(void)syscall(SYS_futex, &sleepers_word, FUTEX_WAKE, INT_MAX);
	for (uint32_t i = 0; i < nr; i++)
		(void)pthread_join(threads[i], NULL); /* it was created */
	(void)pthread_attr_destroy(&attr);            /* can't fail */
}

static struct wish of_futex(uint32_t returns)
{
	return (struct wish){
		.type = SONDE_KMOD_KRETPROBE,
		.name = SYS_OF("futex"),
		.id = 1,
		.number = returns,
		.nr_caps = 1,
		.caps = { OTHER(SONDE_KMOD_FROM_RESULT, 8) },
	};
}

static struct sonde_kmod_missed missed_by(const struct trace *trace)
{
	struct sonde_kmod_missed missed = { .size = sizeof(missed) };

	(void)must(ioctl(trace->session, SONDE_KMOD_MISSED, &missed), "MISSED");
	return missed;
}

static void kretprobes_see_all_returns_of_calls_that_sleep(void)
{
	const struct wish wish = of_futex(0);
	struct sonde_kmod_missed missed;
	struct trace trace;

	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	sleep_together(SLEEPERS);
	trace_stop(&trace);
	missed = missed_by(&trace);
	trace_read(&trace, (struct form){ .bytes = 8 });
	trace_close(&trace);
	for (uint32_t i = 0; i < SLEEPERS; i++)
		REQUIRE(count(1, sleeper_tids[i]) >= 1);
	REQUIRE(missed.returns == 0 && missed.kprobes == 0);
}

static void returns_without_room_are_counted_as_such(void)
{
	struct wish wish = of_futex(4);
	struct sonde_kmod_missed missed;
	struct trace trace;
	uint32_t seen = 0;
	bool is_refused;

	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	sleep_together(SLEEPERS);
	trace_stop(&trace);
	missed = missed_by(&trace);
	trace_read(&trace, (struct form){ .bytes = 8 });
	wish.number = SONDE_KMOD_RETURNS_MAX + 1;
	is_refused = trace_try(&trace, &wish) == -EINVAL;
	trace_close(&trace);
	for (uint32_t i = 0; i < SLEEPERS; i++)
		seen += count(1, sleeper_tids[i]) != 0;
	REQUIRE(seen <= 4);
	REQUIRE(missed.returns >= SLEEPERS - 4);
	REQUIRE(missed.kprobes >= missed.returns);
	REQUIRE(is_refused);
}

static void misses_are_charged_to_who_recorded_meanwhile(void)
{
	const struct wish wish = of_futex(4);
	uint64_t before, of_one, of_two;
	struct trace one, two;

	trace_open(&one, 0, 0);
	trace_open(&two, 0, 0);
	(void)trace_add(&one, &wish);
	(void)trace_add(&two, &wish);
	trace_start(&one);
	sleep_together(100);
	trace_stop(&one);
	before = missed_by(&one).returns;
	trace_start(&two);
	of_two = missed_by(&two).returns;
	sleep_together(50);
	trace_stop(&two);
	sleep_together(100);
	of_one = missed_by(&one).returns - before;
	of_two = of_two ? 0 : missed_by(&two).returns;
	trace_close(&one);
	trace_close(&two);
	REQUIRE(before >= 96);
	REQUIRE(of_one == 0);
	/* More than were asleep: the waker, and who woke and slept again. */
	REQUIRE(of_two >= 46 && of_two < 96);
}

/* ---- many probes ---- */

#define MANY 300u

/* Kprobes at functions whose names begin with an 's'. */
static uint32_t add_many(const struct trace *trace)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[100], kind;
	uint32_t nr = 0;

	if (!file)
		die("/proc/kallsyms");
	while (nr < MANY && fgets(line, sizeof(line), file)) {
		struct wish wish = { .type = SONDE_KMOD_KPROBE, .name = name };

		if (sscanf(line, "%*x %c %99s", &kind, name) != 2 ||
		    kind != 'T' || *name != 's')
			continue;
		wish.id = nr + 1;
		nr += trace_try(trace, &wish) >= 0;
	}
	(void)fclose(file); /* was only read */
	return nr;
}

static uint32_t nr_leaving(const struct trace *trace)
{
	struct sonde_kmod_info info = { .size = sizeof(info) };

	(void)must(ioctl(trace->device, SONDE_KMOD_INFO, &info), "INFO");
	return info.nr_leaving;
}

/* To take 300 probes out of the kernel takes it a second and more, emulated;
 * somebody else's session, some grace periods. */
static void others_record_while_many_probes_leave(void)
{
	const struct wish wish = of_function(SONDE_KMOD_KPROBE, 1);
	struct trace many, other;
	uint32_t nr, left, seen;

	trace_open(&many, 0, 0);
	nr = add_many(&many);
	trace_start(&many);
	trace_close(&many);
	trace_open(&other, 0, getpid());
	(void)trace_add(&other, &wish);
	trace_start(&other);
	(void)syscall(SYS_openat, AT_FDCWD, "/-", O_RDONLY);
	trace_stop(&other);
	trace_read(&other, (struct form){ .bytes = 12, .has_text = true });
	seen = count(1, own_tid());
	left = nr_leaving(&other);
	while (nr_leaving(&other))
		(void)sched_yield(); /* they go without our help */
	trace_close(&other);
	REQUIRE(nr == MANY);
	REQUIRE(seen == 1);
	REQUIRE(left > 0);
}

/* ---- who is recorded ---- */

/* A child that waits for a byte, opens "/one", and has a child open "/two". */
static pid_t make_family(int *ret_go)
{
	int go[2];
	char byte;
	pid_t pid;

	if (pipe(go))
		die("pipe");
	pid = fork();
	if (pid) {
		(void)close(go[0]);
		*ret_go = go[1];
		return pid;
	}
	if (read(go[0], &byte, 1) != 1)
		_exit(2);
	try_open_copy("/one");
	pid = fork();
	if (!pid) {
		try_open_copy("/two");
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0); /* it is ours */
	_exit(0);
}

static bool was_opened(const char *path)
{
	for (uint32_t i = 0; i < nr_records; i++)
		if (!strcmp((char *)records[i].payload + 4, path))
			return true;
	return false;
}

static void scope_follows_children_and_leaves_out_others(void)
{
	const struct wish wish = of_openat(1);
	struct trace trace;
	int go;
	pid_t child = make_family(&go);

	trace_open(&trace, 0, child);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	try_open_copy("/other");
	if (write(go, "", 1) != 1)
		die("go");
	(void)waitpid(child, NULL, 0); /* it is ours */
	try_open_copy("/other");
	trace_stop(&trace);
	trace_read(&trace, openat_form);
	trace_close(&trace);
	(void)close(go);
	REQUIRE(was_opened("/one"));
	REQUIRE(was_opened("/two"));
	REQUIRE(!was_opened("/other"));
}

static void self_is_left_out_but_for_switches(void)
{
	const struct wish wish = of_openat(1);
	struct wish switches = of_openat(2);
	struct trace trace;
	struct trace other;
	uint32_t nr_switches;
	int go;
	pid_t child = make_family(&go);

	switches = (struct wish){ .type = SONDE_KMOD_TRACEPOINT,
				  .name = "sched_switch",
				  .id = 2,
				  .flags = SONDE_KMOD_TYPED };
	trace_open(&trace, getpid(), 0);
	trace_open(&other, getpid(), 0);
	(void)trace_add(&trace, &wish);
	(void)trace_add(&other, &switches);
	trace_start(&trace);
	trace_start(&other);
	try_open_copy("/self");
	if (write(go, "", 1) != 1)
		die("go");
	(void)waitpid(child, NULL, 0); /* it is ours */
	trace_stop(&other);
	trace_stop(&trace);
	(void)close(go);
	trace_read(&other, (struct form){ .bytes = 56 });
	nr_switches = count(2, own_tid());
	trace_read(&trace, openat_form);
	trace_close(&trace);
	trace_close(&other);
	REQUIRE(was_opened("/one"));
	REQUIRE(!was_opened("/self"));
	REQUIRE(nr_switches > 0);
}

/* ---- conditions ---- */

struct small {
	struct sonde_program head;
	struct sonde_expr_op ops[4];
	char texts[16];
};

/* `first` jumps to what is false if what it tests is not so. */
static uint32_t judge(struct small *small, struct sonde_expr_op load,
		      struct sonde_expr_op test, const char *text)
{
	uint32_t n = 0;

	memset(small, 0, sizeof(*small));
	if (load.code != SONDE_EXPR_OP_END_TRUE)
		small->ops[n++] = load;
	test.target = n + 2;
	small->ops[n++] = test;
	small->ops[n++].code = SONDE_EXPR_OP_END_TRUE;
	small->ops[n++].code = SONDE_EXPR_OP_END_FALSE;
	small->head.nr_ops = n;
	small->head.bases = 3;
	small->head.type = SONDE_EXPR_INT;
	small->head.texts_bytes = sizeof(small->texts);
	(void)strncpy((char *)&small->ops[n], text, 15);
	return (uint32_t)(sizeof(small->head) + n * sizeof(test) + 16);
}

static const struct sonde_expr_op nothing = { .code = SONDE_EXPR_OP_END_TRUE };

/* How many of 64 ticks in a row pass. */
static uint32_t ticks_that_pass(struct small *small, uint32_t bytes,
				bool is_plain)
{
	struct wish wish = tick;
	struct trace trace;

	wish.filter = &small->head;
	wish.filter_bytes = bytes;
	if (!is_plain) /* the same value, but it isn't the argument as it is */
		wish.caps[1].from_bytes = 4;
	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	make_ticks(64);
	trace_stop(&trace);
	trace_read(&trace, tick_form);
	trace_close(&trace);
	return nr_records;
}

static void check_condition(bool is_plain)
{
	struct sonde_expr_op op = { .code = SONDE_EXPR_OP_IF_MEM32_IS,
				    .offset = 8,
				    .number = 1 };
	const struct sonde_expr_op load = { .code = SONDE_EXPR_OP_LOAD_Z32,
					    .offset = 8 };
	struct small small;
	uint32_t bytes = judge(&small, nothing, op, "");
	uint32_t below;

	REQUIRE(ticks_that_pass(&small, bytes, is_plain) == 0);
	small.ops[0].sense = 1; /* now: is not 1 */
	REQUIRE(ticks_that_pass(&small, bytes, is_plain) == 64);
	op = (struct sonde_expr_op){ .code = SONDE_EXPR_OP_IF_BELOW_U,
				     .number = 0x80000000u };
	bytes = judge(&small, load, op, "");
	below = ticks_that_pass(&small, bytes, is_plain);
	REQUIRE(below > 0 && below < 64);
	for (uint32_t i = 0; i < nr_records; i++)
		REQUIRE(get32(records[i].payload + 8) < 0x80000000u);
}

static void quick_conditions_hold_or_not(void)
{
	check_condition(true);
}

/* How many of 256 ticks, each with another low byte, pass. */
static uint32_t bytes_that_pass(struct small *small, uint32_t bytes)
{
	struct wish wish = tick;
	struct trace trace;

	wish.nr_caps = 1;
	wish.caps[0].bytes = 1;
	wish.filter = &small->head;
	wish.filter_bytes = bytes;
	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	make_ticks(256);
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .bytes = 1 });
	trace_close(&trace);
	return nr_records;
}

static void quick_conditions_are_exact(void)
{
	struct sonde_expr_op op = { .code = SONDE_EXPR_OP_IF_MEM8_IS,
				    .number = 77 };
	const struct sonde_expr_op z8 = { .code = SONDE_EXPR_OP_LOAD_Z8 };
	const struct sonde_expr_op s8 = { .code = SONDE_EXPR_OP_LOAD_S8 };
	struct small small;
	uint32_t bytes = judge(&small, nothing, op, "");

	REQUIRE(bytes_that_pass(&small, bytes) == 1);
	small.ops[0].sense = 1;
	REQUIRE(bytes_that_pass(&small, bytes) == 255);
	op.code = SONDE_EXPR_OP_IF_BELOW_U;
	bytes = judge(&small, z8, op, "");
	REQUIRE(bytes_that_pass(&small, bytes) == 77);
	small.ops[1].sense = 1;
	REQUIRE(bytes_that_pass(&small, bytes) == 256 - 77);
	op.code = SONDE_EXPR_OP_IF_BELOW_S;
	op.number = (uint64_t)-3;
	bytes = judge(&small, s8, op, "");
	REQUIRE(bytes_that_pass(&small, bytes) == 125);
	small.ops[1].sense = 1;
	REQUIRE(bytes_that_pass(&small, bytes) == 256 - 125);
}

static void row_conditions_hold_or_not(void)
{
	check_condition(false);
}

/* ---- conditions on what pointers point to ---- */

static struct sonde_kmod_event_counts counts_of(int event)
{
	struct sonde_kmod_event_counts counts = { .size = sizeof(counts) };

	(void)must(ioctl(event, SONDE_KMOD_EVENT_COUNTS, &counts), "COUNTS");
	return counts;
}

/* Passes if the first number, of 1, 2, 4 or 8 bytes, is, or isn't, that. */
static uint32_t judge_first(struct small *small, uint32_t bytes,
			    uint64_t number, bool is_not)
{
	const struct sonde_expr_op op = {
		.code = bytes == 8 ? SONDE_EXPR_OP_IF_MEM64_IS :
			bytes == 4 ? SONDE_EXPR_OP_IF_MEM32_IS :
			bytes == 2 ? SONDE_EXPR_OP_IF_MEM16_IS :
				     SONDE_EXPR_OP_IF_MEM8_IS,
		.sense = is_not,
		.number = number,
	};

	return judge(small, nothing, op, "");
}

/* With a descriptor, and with the probe that asks the condition first. */
static void try_pointed(uint32_t bytes, uint32_t flags)
{
	struct wish wish = {
		.type = SONDE_KMOD_TRACEPOINT,
		.name = "sched_switch",
		.id = 1,
		.flags = flags,
		.nr_caps = 2,
		.caps = { { .kind = SONDE_KMOD_VALUE,
			    .index = 1,
			    .bytes = (uint8_t)bytes,
			    .nr_path = 1,
			    .offset = { (int16_t)(comm_offset + 8 - bytes) } },
			  { .kind = SONDE_KMOD_BYTES,
			    .index = 1,
			    .max = 16,
			    .nr_path = 1,
			    .offset = { comm_offset } } },
	};
	struct sonde_kmod_event_counts counts = { .recorded = 0 };
	const char *at = COMM + 8 - bytes;
	uint64_t number = 0;
	struct small small;
	struct trace trace;
	int event;

	memcpy(&number, at, bytes);
	wish.filter = &small.head;
	wish.filter_bytes = judge_first(&small, bytes, number, false);
	trace_open(&trace, 0, 0);
	event = trace_add(&trace, &wish);
	trace_start(&trace);
	sleep_and_wake(100);
	trace_stop(&trace);
	if (flags)
		counts = counts_of(event);
	trace_read(&trace, (struct form){ .bytes = bytes + 16 });
	if (flags)
		(void)close(event);
	trace_close(&trace);
	REQUIRE(nr_records > 0);
	for (uint32_t i = 0; i < nr_records; i++) {
		const char *payload = (const char *)records[i].payload;

		REQUIRE(!memcmp(payload, at, bytes));
		REQUIRE(!memcmp(payload + 8, at, bytes)); /* the end of 8 */
	}
	REQUIRE(!flags || counts.judged & SONDE_KMOD_JUDGED_EARLY);
	REQUIRE(!flags || counts.recorded == nr_records);
	REQUIRE(!flags || counts.filtered > 0); /* who ran meanwhile */
}

static void conditions_see_what_pointers_point_to(void)
{
	for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
		try_pointed(bytes, SONDE_KMOD_WANT_FD);
		try_pointed(bytes, 0);
	}
}

/* How often a change of our own name, which it has already, is recorded, with one event
 * whose condition holds for that name. */
static uint32_t renames(pid_t self, pid_t tree)
{
	struct wish wish = {
		.type = SONDE_KMOD_TRACEPOINT,
		.name = "task_rename", /* (task, ...) */
		.id = 1,
		.nr_caps = 1,
		.caps = { { .kind = SONDE_KMOD_VALUE,
			    .bytes = 8,
			    .nr_path = 1,
			    .offset = { comm_offset } } },
	};
	struct small small;
	struct trace trace;

	wish.filter = &small.head;
	wish.filter_bytes =
		judge_first(&small, 8, get64((const uint8_t *)COMM), false);
	trace_open(&trace, self, tree);
	(void)trace_add(&trace, &wish);
	trace_start(&trace);
	(void)prctl(PR_SET_NAME, COMM); /* it can't fail */
	trace_stop(&trace);
	trace_read(&trace, (struct form){ .bytes = 8 });
	trace_close(&trace);
	return nr_records;
}

static void who_is_left_out_is_so_if_the_condition_holds(void)
{
	int go;
	pid_t child = make_family(&go);

	REQUIRE(renames(0, 0) == 1);
	REQUIRE(renames(getpid(), 0) == 0);
	REQUIRE(renames(0, getpid()) == 1);
	REQUIRE(renames(0, child) == 0);
	if (write(go, "", 1) != 1)
		die("go");
	(void)waitpid(child, NULL, 0); /* it is ours */
	(void)close(go);
}

/* Where nothing is, in the kernel's part of the address space, with four levels of
 * page tables as with five. */
#define NOWHERE 0xfffffe8000001000ull

static struct wish of_pointer(uint32_t bytes)
{
	return (struct wish){
		.type = SONDE_KMOD_KPROBE,
		.name = "sonde_test_function",
		.id = 1,
		.flags = SONDE_KMOD_WANT_FD,
		.nr_caps = 1,
		.caps = { { .kind = SONDE_KMOD_VALUE,
			    .bytes = (uint8_t)bytes,
			    .nr_path = 1 } },
	};
}

static void call_function(uint64_t a)
{
	struct sonde_test_function call = { .a = a, .count = 1 };

	(void)must(ioctl(ticker, SONDE_TEST_FUNCTION, &call), "FUNCTION");
}

static const uint64_t wild[] = {
	0,
	1,
	0x7ffffffff000,
	0x800000000000,
	0x8000000000000000,
	0xffff7fffffffffff,
	NOWHERE,
	UINT64_MAX - 7,
	UINT64_MAX,
};
#define WILD (sizeof(wild) / sizeof(wild[0]))

static void try_wild(uint32_t bytes)
{
	struct wish wish = of_pointer(bytes);
	struct sonde_kmod_event_counts counts[2];
	struct small small;
	struct trace trace;
	int event;

	wish.filter = &small.head;
	for (uint32_t is_not = 0; is_not < 2; is_not++) {
		wish.filter_bytes = judge_first(&small, bytes, 0, is_not);
		trace_open(&trace, 0, 0);
		event = trace_add(&trace, &wish);
		trace_start(&trace);
		for (uint32_t i = 0; i < WILD; i++)
			call_function(wild[i]);
		trace_stop(&trace);
		counts[is_not] = counts_of(event);
		(void)close(event);
		trace_close(&trace);
	}
	REQUIRE(counts[0].recorded == WILD && counts[0].filtered == 0);
	REQUIRE(counts[1].recorded == 0 && counts[1].filtered == WILD);
}

static void bad_pointers_are_zeros_to_conditions(void)
{
	for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
		try_wild(bytes);
}

/* An event of each fault, whose condition faults as well. */
static void conditions_that_fault_at_faults_come_to_an_end(void)
{
	struct sonde_kmod_missed missed = { .size = sizeof(missed) };
	struct sonde_kmod_event_counts counts;
	struct wish fault = of_pointer(8);
	struct wish wish = of_pointer(8);
	struct small small;
	struct trace trace;
	int faults, event;

	fault.type = SONDE_KMOD_TRACEPOINT;
	fault.name = "page_fault_kernel"; /* (address, ...) */
	fault.id = 2;
	fault.flags = 0;
	fault.filter = wish.filter = &small.head;
	fault.filter_bytes = wish.filter_bytes =
		judge_first(&small, 8, 1, false);
	trace_open(&trace, 0, 0);
	faults = trace_try(&trace, &fault);
	event = trace_add(&trace, &wish);
	trace_start(&trace);
	call_function(NOWHERE);
	trace_stop(&trace);
	(void)must(ioctl(trace.session, SONDE_KMOD_MISSED, &missed), "MISSED");
	counts = counts_of(event);
	(void)close(event);
	trace_close(&trace);
	REQUIRE(counts.filtered == 1);
	/* not all machines have this tracepoint */
	REQUIRE(faults == 0 ? missed.deep > 0 : faults == -ENOENT);
}

/* ---- conditions on texts ---- */

static void conditions_on_texts_hold_or_not(void)
{
	const struct sonde_expr_op load = { .code = SONDE_EXPR_OP_CALL_TEXT,
					    .number = SONDE_EXPR_STRING };
	struct sonde_expr_op op = { .code = SONDE_EXPR_OP_IF_TEXT_IS,
				    .length = 4 };
	const struct sonde_kmod_text text = { .offset = UINT32_MAX };
	struct wish wish = of_openat(1);
	struct wish globbed = of_openat(2);
	struct small is, glob;
	struct trace trace;

	/* without the text, the call jumps to what is false */
	wish.filter_bytes = judge(&is, load, op, "/two");
	is.ops[0].target = 3;
	wish.filter = &is.head;
	op.code = SONDE_EXPR_OP_IF_GLOB;
	op.length = 3;
	globbed.filter_bytes = judge(&glob, load, op, "/t*");
	glob.ops[0].target = 3;
	globbed.filter = &glob.head;
	wish.text = globbed.text = &text;
	trace_open(&trace, 0, 0);
	(void)trace_add(&trace, &wish);
	(void)trace_add(&trace, &globbed);
	trace_start(&trace);
	try_open_copy("/one");
	try_open_copy("/two");
	try_open_copy("/three");
	trace_stop(&trace);
	trace_read(&trace, openat_form);
	trace_close(&trace);
	REQUIRE(count(1, own_tid()) == 1 && count(2, own_tid()) == 2);
	REQUIRE(!strcmp((const char *)find(1, own_tid())->payload + 4, "/two"));
}

static void programs_that_make_no_sense_are_refused(void)
{
	struct sonde_expr_op op = { .code = SONDE_EXPR_OP_IF_MEM32_IS,
				    .offset = 9 };
	const struct sonde_expr_op load = { .code = SONDE_EXPR_OP_LOAD_FLOAT };
	struct wish wish = tick;
	struct small small;
	struct trace trace;
	bool is_good = true;

	trace_open(&trace, 0, 0);
	wish.filter = &small.head;
	wish.filter_bytes = judge(&small, nothing, op, "");
	is_good &= trace_try(&trace, &wish) == -EINVAL; /* beyond the payload */
	small.ops[0].offset = 8;
	small.ops[0].target = 0;
	is_good &= trace_try(&trace, &wish) == -EINVAL; /* a loop */
	small.ops[0].target = 2;
	wish.filter_bytes--;
	is_good &= trace_try(&trace, &wish) == -EINVAL; /* cut */
	op = (struct sonde_expr_op){ .code = SONDE_EXPR_OP_IF_D };
	wish.filter_bytes = judge(&small, load, op, "");
	is_good &= trace_try(&trace, &wish) == -EOPNOTSUPP; /* doubles */
	trace_close(&trace);
	REQUIRE(is_good);
}

/* ---- sessions, events ---- */

static void sessions_have_filters_of_their_own(void)
{
	struct sonde_expr_op op = { .code = SONDE_EXPR_OP_IF_MEM32_IS,
				    .offset = 8 };
	struct wish first = tick, second = tick;
	struct small small;
	struct trace one, two;
	uint32_t nr_of_one;

	first.filter_bytes = judge(&small, nothing, op, "");
	first.filter = &small.head;
	trace_open(&one, 0, 0);
	trace_open(&two, 0, 0);
	(void)trace_add(&one, &first);
	small.ops[0].sense = 1;
	second.filter = first.filter;
	second.filter_bytes = first.filter_bytes;
	(void)trace_add(&two, &second);
	trace_start(&one);
	trace_start(&two);
	make_ticks(1000);
	trace_stop(&one);
	trace_stop(&two);
	trace_read(&one, tick_form);
	nr_of_one = nr_records;
	trace_read(&two, tick_form);
	trace_close(&one);
	trace_close(&two);
	REQUIRE(nr_of_one == 0 && nr_records == 1000);
}

static void events_are_switched_on_and_off(void)
{
	struct sonde_kmod_event_counts counts;
	struct wish wish = tick;
	struct trace trace;
	int event;

	wish.flags = SONDE_KMOD_DISABLED | SONDE_KMOD_WANT_FD;
	trace_open(&trace, 0, 0);
	event = trace_add(&trace, &wish);
	trace_start(&trace);
	make_ticks(10);
	(void)must(ioctl(event, SONDE_KMOD_ENABLE), "ENABLE");
	make_ticks(20);
	(void)must(ioctl(event, SONDE_KMOD_DISABLE), "DISABLE");
	make_ticks(40);
	counts = counts_of(event);
	trace_stop(&trace);
	trace_read(&trace, tick_form);
	(void)close(event);
	trace_close(&trace);
	REQUIRE(nr_records == 20);
	REQUIRE(counts.recorded == 20 && counts.filtered == 0);
}

/* Probes of a tracepoint that is used all the time come and go. */
static void probes_come_and_go_while_they_are_called(void)
{
	struct wish wish = { .type = SONDE_KMOD_TRACEPOINT,
			     .name = "sched_switch",
			     .id = 1,
			     .flags = SONDE_KMOD_TYPED };
	struct trace trace;

	for (int i = 0; i < 20; i++) {
		trace_open(&trace, 0, i & 1 ? getpid() : 0);
		(void)trace_add(&trace, &wish);
		trace_start(&trace);
		sleep_and_wake(5);
		if (i & 2)
			trace_stop(&trace);
		trace_close(&trace);
	}
}

static void nothing_holds_the_module_when_all_is_closed(void)
{
	char text[16] = "";
	int fd = must(open("/sys/module/sonde/refcnt", O_RDONLY), "refcnt");

	REQUIRE(read(fd, text, sizeof(text) - 1) > 0);
	(void)close(fd);
	REQUIRE(atoi(text) == 0);
}

/* ---- all of them, in order: some find out what others use ---- */

static const struct test tests[] = {
	TEST(generic_probe_gets_the_arguments),
	TEST(task_is_copied_and_searched),
	TEST(paths_lead_to_what_pointers_point_to),
	TEST(bad_pointers_read_as_zeros),
	TEST(lists_that_make_no_sense_are_refused),
	TEST(typed_and_generic_probes_agree_on_switches),
	TEST(user_strings_are_read_as_far_as_they_are_there),
	TEST(lists_of_user_strings_are_joined),
	TEST(buffers_are_as_long_as_the_call_says),
	TEST(kprobes_kretprobes_and_functions_have_arguments),
	TEST(a_text_may_be_the_kernels_or_the_users),
	TEST(places_that_are_not_there_are_refused),
	TEST(kretprobes_see_all_returns_of_calls_that_sleep),
	TEST(returns_without_room_are_counted_as_such),
	TEST(misses_are_charged_to_who_recorded_meanwhile),
	TEST(others_record_while_many_probes_leave),
	TEST(scope_follows_children_and_leaves_out_others),
	TEST(self_is_left_out_but_for_switches),
	TEST(quick_conditions_hold_or_not),
	TEST(quick_conditions_are_exact),
	TEST(row_conditions_hold_or_not),
	TEST(conditions_see_what_pointers_point_to),
	TEST(who_is_left_out_is_so_if_the_condition_holds),
	TEST(bad_pointers_are_zeros_to_conditions),
	TEST(conditions_that_fault_at_faults_come_to_an_end),
	TEST(conditions_on_texts_hold_or_not),
	TEST(programs_that_make_no_sense_are_refused),
	TEST(sessions_have_filters_of_their_own),
	TEST(events_are_switched_on_and_off),
	TEST(probes_come_and_go_while_they_are_called),
	TEST(nothing_holds_the_module_when_all_is_closed),
};

int main(void)
{
	(void)prctl(PR_SET_NAME, COMM); /* a name that fits */
	ticker = test_open();
	return RUN(tests);
}
