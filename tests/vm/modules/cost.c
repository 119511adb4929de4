// SPDX-License-Identifier: MIT
/*
 * cost.c - how many instructions an event takes, in a guest whose counter counts
 * instructions (QEMU's -icount shift=0).
 *
 * Prints `cost NAME VALUE`: instructions for one event more than for a turn of
 * the same loop without it, in hundredths. With interrupts off meanwhile, means
 * over many events, sub-buffers' ends included; system calls, which can't be
 * made so, by the cheapest of many batches. For the typed probe, sonde.ko is
 * loaded with typed_test=sonde_test_tick.
 */
#include "client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expr/program.h"

#define EVENTS 20000u
#define BATCH  100u
#define ROUNDS 60u

static int device;

static uint64_t counter(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#else
	uint64_t value;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value) : : "memory");
	return value;
#endif
}

static void say(const char *name, uint64_t with, uint64_t without, uint64_t n)
{
	int64_t more = (int64_t)(with - without) * 100 / (int64_t)n;

	printf("cost %s %.2f\n", name, (double)more / 100);
	(void)fflush(stdout);
}

static void begin(struct client *client)
{
	const struct client_config config = { .subbuf_bytes = 262144,
					      .nr_subbufs = 16 };

	client_open(client, &config);
}

/* ---- ticks ---- */

static uint64_t tick_total(uint32_t flags)
{
	struct sonde_test_run run = { .count = EVENTS,
				      .batch = EVENTS,
				      .flags = flags | SONDE_TEST_NO_IRQS };

	test_run(device, &run);
	return run.total;
}

static void check_recorded(struct client *client, uint64_t least)
{
	struct reading reading;

	reading_begin(&reading, 0, false);
	(void)client_read(client, &reading); /* all there is */
	if (reading_events(&reading) < least || reading.bad)
		die("recorded %" PRIu64 " of %" PRIu64 " (%s)",
		    reading_events(&reading), least, reading.why);
}

/* By the typed probe or by the one that goes by a list of captures. */
static void one_session(uint64_t bare, uint32_t flags, const char *name)
{
	struct client client;

	begin(&client);
	(void)client_tick(&client, flags);
	client_start(&client);
	(void)tick_total(0); /* warm */
	say(name, tick_total(0), bare, EVENTS);
	client_stop(&client);
	check_recorded(&client, 2 * EVENTS);
	client_close(&client);
}

static void two_sessions(uint64_t bare, uint32_t flags, const char *name)
{
	struct client one, two;

	begin(&one);
	begin(&two);
	(void)client_tick(&one, flags);
	(void)client_tick(&two, flags);
	client_start(&one);
	client_start(&two);
	(void)tick_total(0); /* warm */
	say(name, tick_total(0), bare, EVENTS);
	client_stop(&one);
	client_stop(&two);
	check_recorded(&one, 2 * EVENTS);
	check_recorded(&two, 2 * EVENTS);
	client_close(&one);
	client_close(&two);
}

/* A channel's event that is not started costs its place in the list. */
static void inactive(uint64_t bare)
{
	struct client client;

	begin(&client);
	(void)client_tick(&client, 0);
	(void)tick_total(0); /* warm */
	say("not_started", tick_total(0), bare, EVENTS);
	client_close(&client);
}

/* `number == NEVER`, which no tick's is: see sonde_test_number(). */
static void filter_rejects(uint64_t bare)
{
	static union {
		struct sonde_program program;
		unsigned char bytes[sizeof(struct sonde_program) +
				    3 * sizeof(struct sonde_expr_op)];
	} filter;
	static const struct sonde_kmod_cap caps[] = {
		{ .kind = SONDE_KMOD_VALUE, .bytes = 8 },
		{ .kind = SONDE_KMOD_VALUE, .index = 1, .bytes = 4 },
	};
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_TRACEPOINT,
		.id = TICK_ID,
		.flags = SONDE_KMOD_WANT_FD,
		.nr_caps = 2,
		.caps = (uintptr_t)caps,
		.filter = (uintptr_t)&filter,
		.filter_bytes = sizeof(filter.bytes),
		.name = "sonde_test_tick",
	};
	struct sonde_kmod_event_counts counts = { .size = sizeof(counts) };
	struct client client;
	int fd;

	filter.program = (struct sonde_program){ .nr_ops = 3,
						 .bases = 1,
						 .type = SONDE_EXPR_INT };
	filter.program.ops[0] =
		(struct sonde_expr_op){ .code = SONDE_EXPR_OP_IF_MEM32_IS,
					.offset = 8,
					.number = UINT32_MAX,
					.target = 2,
					.sense = 1 };
	filter.program.ops[1].code = SONDE_EXPR_OP_END_FALSE;
	filter.program.ops[2].code = SONDE_EXPR_OP_END_TRUE;
	begin(&client);
	fd = client_event(&client, &event);
	client_start(&client);
	(void)tick_total(0); /* warm */
	say("filter_rejects", tick_total(0), bare, EVENTS);
	client_stop(&client);
	if (ioctl(fd, SONDE_KMOD_EVENT_COUNTS, &counts) ||
	    counts.filtered < 2ull * EVENTS || counts.recorded)
		die("filtered %llu, recorded %llu",
		    (unsigned long long)counts.filtered,
		    (unsigned long long)counts.recorded);
	(void)close(fd);
	client_close(&client);
}

/* ---- typed probes of the kernel's tracepoints, called as it would ---- */

/* A lost event costs what another one does not. */
static void check_none_lost(struct client *client)
{
	struct sonde_kmod_counts counts;

	client_counts(client, 0, &counts);
	if (counts.lost_full || counts.lost_size || counts.lost_busy)
		die("lost %llu: full, %llu: size, %llu: busy",
		    (unsigned long long)counts.lost_full,
		    (unsigned long long)counts.lost_size,
		    (unsigned long long)counts.lost_busy);
}

static uint64_t calls(uint32_t kind, uint32_t flags)
{
	struct sonde_test_call call = { .kind = kind,
					.flags = flags,
					.count = EVENTS };

	if (ioctl(device, SONDE_TEST_CALL, &call))
		die("CALL");
	return call.total;
}

static void called(uint32_t kind, const char *tracepoint, const char *name)
{
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_TRACEPOINT,
		.id = TICK_ID,
		.flags = SONDE_KMOD_TYPED,
	};
	struct client client;
	uint64_t bare;

	(void)calls(kind, SONDE_TEST_BARE); /* warm */
	bare = calls(kind, SONDE_TEST_BARE);
	(void)strcpy(event.name, tracepoint);
	begin(&client);
	(void)client_event(&client, &event);
	client_start(&client);
	(void)calls(kind, 0); /* warm */
	say(name, calls(kind, 0), bare, EVENTS);
	client_stop(&client);
	check_none_lost(&client);
	client_close(&client);
}

/* ---- system calls ---- */

static uint64_t syscalls_least(void)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t at = counter(), took;

		for (uint32_t n = 0; n < BATCH; n++)
			(void)syscall(SYS_getppid); /* never fails */
		took = counter() - at;
		if (took < least)
			least = took;
	}
	return least;
}

static void syscall_entry(void)
{
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_SYSCALL_ENTRY,
		.id = TICK_ID,
		.number = SYS_getppid,
	};
	uint64_t bare = syscalls_least();
	struct sonde_kmod_counts counts;
	struct sonde_kmod_chunk chunk;
	struct client client;

	begin(&client);
	(void)client_event(&client, &event);
	client_start(&client);
	say("syscall_entry", syscalls_least(), bare, BATCH);
	client_stop(&client);
	while (client_get(&client, 0, &chunk))
		client_put(&client, 0, &chunk);
	client_counts(&client, 0, &counts);
	if (counts.delivered < ROUNDS * BATCH)
		die("recorded %llu calls",
		    (unsigned long long)counts.delivered);
	client_close(&client);
}

/* ---- kprobes ---- */

static uint64_t function_calls(uint32_t flags)
{
	struct sonde_test_function call = {
		.a = 3, .b = 4, .count = EVENTS, .flags = flags
	};

	if (ioctl(device, SONDE_TEST_FUNCTION, &call))
		die("FUNCTION");
	return call.total;
}

/* `2*a + 3*b < 0`, or its contrary, of signed numbers of 64 bits. */
union paper {
	struct sonde_program program;
	unsigned char bytes[sizeof(struct sonde_program) +
			    10 * sizeof(struct sonde_expr_op)];
};

static void write_paper(union paper *paper, bool is_contrary)
{
	static const struct sonde_expr_op ops[] = {
		{ .code = SONDE_EXPR_OP_LOAD_64 },
		{ .code = SONDE_EXPR_OP_NUMBER, .number = 2 },
		{ .code = SONDE_EXPR_OP_MULTIPLY },
		{ .code = SONDE_EXPR_OP_LOAD_64, .offset = 8 },
		{ .code = SONDE_EXPR_OP_NUMBER, .number = 3 },
		{ .code = SONDE_EXPR_OP_MULTIPLY },
		{ .code = SONDE_EXPR_OP_ADD },
		{ .code = SONDE_EXPR_OP_IF_BELOW_S, .target = 9, .sense = 1 },
		{ .code = SONDE_EXPR_OP_END_FALSE },
		{ .code = SONDE_EXPR_OP_END_TRUE },
	};

	memset(paper, 0, sizeof(*paper));
	paper->program = (struct sonde_program){ .nr_ops = 10,
						 .bases = 1,
						 .type = SONDE_EXPR_INT };
	memcpy(paper->program.ops, ops, sizeof(ops));
	if (is_contrary)
		paper->program.ops[7].sense = 0;
}

/* Above what the kernel takes for a kprobe that does nothing. */
static void kprobe(uint64_t bare, bool passes, const char *name)
{
	static const struct sonde_kmod_cap caps[] = {
		{ .kind = SONDE_KMOD_VALUE, .bytes = 8 },
		{ .kind = SONDE_KMOD_VALUE, .index = 1, .bytes = 8 },
	};
	union paper filter;
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_KPROBE,
		.id = TICK_ID,
		.nr_caps = 2,
		.caps = (uintptr_t)caps,
		.filter = (uintptr_t)&filter,
		.filter_bytes = sizeof(filter),
		.name = "sonde_test_function",
	};
	struct client client;

	write_paper(&filter, passes);
	begin(&client);
	(void)client_event(&client, &event);
	client_start(&client);
	(void)function_calls(0); /* warm */
	say(name, function_calls(0), bare, EVENTS);
	client_stop(&client);
	check_none_lost(&client);
	client_close(&client);
}

/* ---- kprobes at addresses, as GDB's tracepoints are put in ---- */

#if defined(__x86_64__)
#define WORD_SI 13u
#define WORD_DI 14u

static uint64_t address_of_function(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long long address;
	uint64_t found = 0;
	char line[512], symbol[256];

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %*c %255s", &address, symbol) == 2 &&
		    !strcmp(symbol, "sonde_test_function"))
			found = address;
	if (!found)
		die("/proc/kallsyms");
	(void)fclose(file); /* only read */
	return found;
}

/* The same over registers. */
static void write_paper_of_registers(union paper *paper, bool is_contrary)
{
	write_paper(paper, is_contrary);
	paper->program.bases = 0;
	paper->program.ops[0].code = SONDE_EXPR_OP_REGISTER;
	paper->program.ops[0].number = WORD_DI;
	paper->program.ops[3].code = SONDE_EXPR_OP_REGISTER;
	paper->program.ops[3].offset = 0;
	paper->program.ops[3].number = WORD_SI;
}

/* Its event is counted, as GDB's are. */
static void probe(uint64_t bare, struct sonde_kmod_event event,
		  const char *name)
{
	struct client client;
	int fd;

	event.size = sizeof(event);
	event.type = SONDE_KMOD_KPROBE;
	event.id = TICK_ID;
	event.flags |= SONDE_KMOD_WANT_FD;
	event.address = address_of_function();
	begin(&client);
	fd = client_event(&client, &event);
	client_start(&client);
	(void)function_calls(0); /* warm */
	say(name, function_calls(0), bare, EVENTS);
	client_stop(&client);
	check_none_lost(&client);
	(void)close(fd); /* nothing was written */
	client_close(&client);
}

/* A condition, both arguments collected; and a hit alone, which is what a site has of
 * which nothing but $_sdata is wanted. */
static void probes(uint64_t bare)
{
	const struct sonde_kmod_item both = {
		.kind = SONDE_KMOD_ITEM_WORDS,
		.nr_words = 2,
		.bytes = 16,
		.words = { WORD_DI, WORD_SI },
	};
	union paper filter;
	const struct sonde_kmod_event event = {
		.flags = SONDE_KMOD_UNREAD,
		.filter = (uintptr_t)&filter,
		.filter_bytes = sizeof(filter),
		.items = (uintptr_t)&both,
		.nr_items = 1,
	};

	write_paper_of_registers(&filter, false);
	probe(bare, event, "probe_rejects");
	write_paper_of_registers(&filter, true);
	probe(bare, event, "probe_records");
	probe(bare, (struct sonde_kmod_event){ .flags = 0 }, "probe_hits");
}
#else
static void probes(uint64_t bare)
{
}
#endif

/* ---- conditions at the kernel's own tracepoints ---- */

/* A condition over 16 bytes of what the argument points to. Above what it takes to call a
 * probe that does nothing. */
static void tracepoint(const struct sonde_kmod_cap *caps, uint32_t nr_caps,
		       bool passes, const char *name)
{
	union paper filter;
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_TRACEPOINT,
		.id = TICK_ID,
		.flags = nr_caps == 1 ? SONDE_KMOD_TYPED : 0,
		.nr_caps = nr_caps,
		.caps = (uintptr_t)caps,
		.filter = (uintptr_t)&filter,
		.filter_bytes = sizeof(filter),
		.name = "sched_waking",
	};
	struct client client;
	uint64_t bare;

	(void)calls(SONDE_TEST_CALL_WAKING, SONDE_TEST_BARE); /* warm */
	bare = calls(SONDE_TEST_CALL_WAKING, SONDE_TEST_BARE);
	write_paper(&filter, passes);
	begin(&client);
	(void)client_event(&client, &event);
	client_start(&client);
	(void)calls(SONDE_TEST_CALL_WAKING, 0); /* warm */
	say(name, calls(SONDE_TEST_CALL_WAKING, 0), bare, EVENTS);
	client_stop(&client);
	check_none_lost(&client);
	client_close(&client);
}

/* Two numbers, by captures; and by the typed probe, whose payload begins with as many
 * bytes of a text. */
static void tracepoints(void)
{
	static const struct sonde_kmod_cap numbers[] = {
		{ .kind = SONDE_KMOD_VALUE, .bytes = 8, .nr_path = 1 },
		{ .kind = SONDE_KMOD_VALUE,
		  .bytes = 8,
		  .nr_path = 1,
		  .offset = { 8 } },
	};
	static const struct sonde_kmod_cap text = { .kind = SONDE_KMOD_BYTES,
						    .max = 16 };

	tracepoint(numbers, 2, false, "tracepoint_rejects");
	tracepoint(numbers, 2, true, "tracepoint_records");
	tracepoint(&text, 1, false, "typed_rejects");
	tracepoint(&text, 1, true, "typed_passes");
}

static void kprobes(void)
{
	uint64_t unprobed;
	uint64_t bare;

	(void)function_calls(0); /* warm */
	unprobed = function_calls(0);
	bare = function_calls(SONDE_TEST_BARE);
	say("kprobe_bare", bare, unprobed, EVENTS);
	kprobe(bare, false, "kprobe_rejects");
	kprobe(bare, true, "kprobe_records");
	probes(bare);
}

int main(void)
{
	uint64_t bare;

	device = test_open();
	bind_to(0);
	(void)tick_total(SONDE_TEST_BARE); /* warm */
	bare = tick_total(SONDE_TEST_BARE);
	say("bare", bare, 0, EVENTS);
	one_session(bare, SONDE_KMOD_TYPED, "typed");
	one_session(bare, 0, "generic");
	two_sessions(bare, SONDE_KMOD_TYPED, "typed_two_sessions");
	two_sessions(bare, 0, "generic_two_sessions");
	inactive(bare);
	filter_rejects(bare);
	called(SONDE_TEST_CALL_SOFTIRQ, "softirq_raise", "typed_softirq");
	called(SONDE_TEST_CALL_WAKING, "sched_waking", "typed_waking");
	called(SONDE_TEST_CALL_SWITCH, "sched_switch", "typed_switch");
	syscall_entry();
	kprobes();
	tracepoints();
	return 0;
}
