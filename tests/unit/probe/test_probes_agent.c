/* SPDX-License-Identifier: MIT */
/*
 * The agent's path from a pad to a record, in this process: an arena and a
 * struct sonde_agent of its own, and a pad that calls the thunk.
 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "expr/agent.h"
#include "expr/program.h"
#include "probe/agent/step.h"
#include "probe/agent/thunk.h"
#include "ring/control.h"

#define ARENA_BYTES  (SONDE_META_SPAN + (16u << 20))
#define SUBBUF_BYTES 16384u
#define NR_SUBBUFS   8u
#define NR_CPUS      64u
#define NR_LANES     4u
#define NO_REGISTER  255u

struct sonde_agent *sonde_agent_self;
static unsigned char *arena;
static struct sonde_slot *slot;
static int64_t tid_offset;

void agent_pad(uint32_t index, uint64_t registers[17]);
void agent_pad_call(void);
uint64_t agent_pad_steps(void);
extern const char agent_steps_begin[], agent_steps_end[];

/* ---- the arena ---- */

/* Where the C library keeps the thread's id. */
static int64_t find_tid(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	const char *pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	for (int64_t i = 0; i < 2048; i += 4)
		if (!memcmp(pointer + i, &tid, sizeof(tid)))
			return i;
	return 0;
}

static void make_arena(enum sonde_ring_mode mode)
{
	struct sonde_arena *header;
	struct sonde_entry *entries;
	struct sonde_arena_control control;

	if (arena)
		munmap(arena, ARENA_BYTES);
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(arena, MAP_FAILED);
	header = (void *)arena;
	header->writer = SONDE_WRITER_RSEQ;
	header->mapped = ARENA_BYTES;
	header->nr_reserved = 2;
	slot = (void *)(arena + SONDE_SLOTS_OFF);
	slot->mode = mode;
	slot->header = SONDE_COMPACT;
	slot->nr_cpus = NR_CPUS;
	slot->nr_lanes = NR_LANES;
	slot->subbuf_size = SUBBUF_BYTES;
	slot->nr_subbufs = NR_SUBBUFS;
	slot->ctl_off = SONDE_META_SPAN;
	slot->data_off = SONDE_META_SPAN + 65536;
	entries = (void *)(arena + SONDE_ENTRIES_OFF);
	for (uint32_t i = 0; i < 2; i++) {
		entries[i].flags = SONDE_ENTRY_READY;
		slot->ids[i] = (uint16_t)(i + 1);
	}
	for (uint32_t i = 0; i < NR_CPUS + NR_LANES; i++)
		((struct sonde_ring *)(void *)(arena + slot->ctl_off))[i]
			.limit = NR_SUBBUFS;
	slot->state = SONDE_SLOT_ACTIVE;
	control = sonde_arena_control_view(arena);
	sonde_arena_control_refresh(&control, 0);
	sonde_arena_control_refresh(&control, 1);
}

static uint32_t is_parent[2] = { 1 };

static int set_up(void **state)
{
	struct sonde_agent *agent;

	(void)state;
	is_parent[0] = 1;
	is_parent[1] = 0;
	make_arena(SONDE_OVERWRITE);
	if (sonde_agent_self)
		munmap(sonde_agent_self, sizeof(*agent));
	agent = mmap(NULL, sizeof(*agent), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(agent, MAP_FAILED);
	sonde_agent_self = agent;
	agent->arena = (uintptr_t)arena;
	agent->rings = agent->arena + SONDE_META_SPAN;
	agent->running = 1;
	agent->rseq_offset = __rseq_size ? __rseq_offset : 0;
	agent->tid_offset = tid_offset = find_tid();
	agent->pid = (uint32_t)getpid();
	agent->is_parent = (uintptr_t)is_parent;
	agent->nr_plans = 64;
	for (uint32_t i = 0; i < 2; i++)
		agent->probes[i] = (struct sonde_agent_probe){
			.state = SONDE_AGENT_PROBE_ON,
			.event = i,
			.address = 0x401000 + i,
			.payload_max = SONDE_AGENT_STAGE_SMALL,
			.force_register = NO_REGISTER,
		};
	return 0;
}

static uint64_t hits(uint32_t probe)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < SONDE_AGENT_CPUS_MAX; i++)
		nr += sonde_agent_self->hits[i][probe];
	return nr;
}

static struct sonde_ring *ring(uint32_t i)
{
	return (struct sonde_ring *)(void *)(arena + slot->ctl_off) + i;
}

static unsigned char *subbuf(uint32_t i)
{
	uint64_t index = (uint64_t)i * NR_SUBBUFS +
			 (sonde_w_seq(ring(i)->w) & (NR_SUBBUFS - 1));

	return arena + slot->data_off + index * SUBBUF_BYTES;
}

/* Records that are there, were overwritten, or discarded. */
static uint64_t records(void)
{
	uint64_t nr = slot->lost_contended;

	for (uint32_t i = 0; i < NR_CPUS + NR_LANES; i++) {
		const struct sonde_subbuf *head = (const void *)subbuf(i);

		nr += ring(i)->discarded_full + ring(i)->discarded_size;
		if (ring(i)->w)
			nr += head->events + sonde_w_count(ring(i)->w);
	}
	return nr;
}

static cpu_set_t cpus_before;

static void stay_on_this_cpu(void)
{
	cpu_set_t one;

	assert_int_equal(
		sched_getaffinity(0, sizeof(cpus_before), &cpus_before), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void go_anywhere(void)
{
	assert_int_equal(
		sched_setaffinity(0, sizeof(cpus_before), &cpus_before), 0);
}

/* The last `size` bytes of the only ring that was written to. */
static const unsigned char *last_payload(size_t size)
{
	const unsigned char *found = NULL;

	for (uint32_t i = 0; i < NR_CPUS + NR_LANES; i++) {
		if (!sonde_w_count(ring(i)->w))
			continue;
		assert_null(found);
		found = subbuf(i) + sonde_w_offset(ring(i)->w, SUBBUF_BYTES) -
			size;
	}
	assert_non_null(found);
	return found;
}

/* ---- probes ---- */

static uint64_t add_plan(const void *bytes, size_t nr)
{
	uint64_t at = sonde_agent_self->nr_plans;

	memcpy(sonde_agent_self->plans + at, bytes, nr);
	sonde_agent_self->nr_plans += (nr + 7) & ~7ull;
	return at;
}

static void set_items(uint32_t probe, const struct sonde_agent_item *items,
		      uint32_t nr)
{
	sonde_agent_self->probes[probe].items =
		add_plan(items, nr * sizeof(*items));
	sonde_agent_self->probes[probe].nr_items = nr;
}

static uint64_t add_program(const uint8_t *bytes, size_t nr, bool collects)
{
	struct sonde_expr_error error;
	struct sonde_program *program;
	uint64_t at;

	assert_int_equal(
		sonde_agent_decode(bytes, nr, collects, &error, &program), 0);
	assert_int_equal(program->texts_bytes, 0);
	at = add_plan(program,
		      sizeof(*program) +
			      program->nr_ops * sizeof(program->ops[0]));
	sonde_program_free(program);
	return at;
}

static void hit(uint32_t index)
{
	uint64_t registers[17] = { 0 };

	agent_pad(index, registers);
}

/* ---- what holds ---- */

static void every_register_and_flag_survives(void **state)
{
	enum {
		FLAGS = 0xcd5 /* CF PF AF ZF SF DF OF */
	};
	uint64_t registers[17];

	(void)state;
	for (uint32_t flags = 0; flags <= FLAGS; flags++) {
		if (flags & ~FLAGS)
			continue;
		for (uint64_t i = 0; i < 16; i++)
			registers[i] = 0x1122334455667700 + i * 0x10001 + flags;
		registers[16] = flags | 2;
		agent_pad(0, registers);
		for (uint64_t i = 0; i < 16; i++)
			if (i != SONDE_AGENT_RSP)
				assert_int_equal(registers[i],
						 0x1122334455667700 +
							 i * 0x10001 + flags);
		assert_int_equal(registers[16] & FLAGS, flags);
	}
	assert_int_equal(hits(0), records());
}

static void a_forked_childs_hits_are_no_probes_and_are_counted(void **state)
{
	(void)state;
	is_parent[0] = 0;
	hit(0);
	hit(1);
	hit(0);
	assert_int_equal(hits(0) + hits(1), 0);
	assert_int_equal(records(), 0);
	assert_int_equal(hits(SONDE_AGENT_FORKED), 3);
	assert_int_equal(sonde_agent_self->nr_forked, 1);
	is_parent[0] = 1;
	hit(0);
	assert_int_equal(hits(0), 1);
	assert_int_equal(hits(SONDE_AGENT_FORKED), 3);
}

static void registers_are_recorded_as_they_were(void **state)
{
	static const struct sonde_agent_item items[] = {
		{ .kind = SONDE_AGENT_ITEM_REGISTERS, .mask = 0x3ffff },
	};
	uint64_t registers[17];
	uint64_t got[18];

	(void)state;
	set_items(0, items, 1);
	for (uint64_t i = 0; i < 16; i++)
		registers[i] = 0x0102030405060708 * (i + 1);
	registers[16] = 0x8d7 & 0xad7;
	agent_pad(0, registers);
	memcpy(got, last_payload(sizeof(got)), sizeof(got));
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(got[i], i == SONDE_AGENT_RSP ?
						 registers[i] :
						 0x0102030405060708 * (i + 1));
	assert_int_equal(got[SONDE_AGENT_RIP], 0x401000);
	assert_int_equal(got[SONDE_AGENT_EFLAGS] & 0x8d5, 0x8d5 & 0xad7);
}

static void values_without_a_program_are_registers_and_numbers(void **state)
{
	static const struct sonde_agent_item items[] = {
		{ .kind = SONDE_AGENT_ITEM_VALUE,
		  .reg = SONDE_AGENT_RBX,
		  .length = 4 },
		{ .kind = SONDE_AGENT_ITEM_VALUE,
		  .reg = SONDE_AGENT_RBX,
		  .length = 1,
		  .offset = 8 },
		{ .kind = SONDE_AGENT_ITEM_VALUE, .reg = SONDE_AGENT_RBX },
		{ .kind = SONDE_AGENT_ITEM_VALUE,
		  .reg = NO_REGISTER,
		  .length = 2,
		  .offset = -2 },
	};
	static const uint8_t wanted[] = { 0x88, 0x77, 0x66, 0x55, 0x77,
					  0x88, 0x77, 0x66, 0x55, 0x44,
					  0x33, 0x22, 0x11, 0xfe, 0xff };
	uint64_t registers[17] = { [SONDE_AGENT_RBX] = 0x1122334455667788 };

	(void)state;
	set_items(0, items, SONDE_ARRAY_SIZE(items));
	agent_pad(0, registers);
	assert_memory_equal(last_payload(sizeof(wanted)), wanted,
			    sizeof(wanted));
}

static void memory_is_recorded_in_all_sizes(void **state)
{
	static unsigned char bytes[700];
	static const uint16_t sizes[] = { 1, 2, 3, 4, 7, 8, 9, 16, 31, 500 };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + 1);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(sizes); i++) {
		struct sonde_agent_item item = {
			.kind = SONDE_AGENT_ITEM_MEMORY,
			.reg = SONDE_AGENT_RBX,
			.length = sizes[i],
			.offset = -8,
		};
		uint64_t registers[17] = { 0 };

		registers[SONDE_AGENT_RBX] = (uintptr_t)bytes + 8 + i;
		set_items(0, &item, 1);
		agent_pad(0, registers);
		assert_memory_equal(last_payload(sizes[i]), bytes + i,
				    sizes[i]);
	}
	assert_int_equal(records(), SONDE_ARRAY_SIZE(sizes));
	assert_int_equal(sonde_agent_self->probes[0].cut, 0);
}

static void a_large_record_is_staged_whole_and_a_larger_one_cut(void **state)
{
	static unsigned char bytes[SONDE_AGENT_STAGE + 100];
	struct sonde_agent_item items[] = {
		{ .kind = SONDE_AGENT_ITEM_MEMORY,
		  .reg = NO_REGISTER,
		  .length = SONDE_AGENT_STAGE - 8,
		  .offset = (int64_t)(uintptr_t)bytes },
		{ .kind = SONDE_AGENT_ITEM_ADDRESSES },
		{ .kind = SONDE_AGENT_ITEM_REGISTERS, .mask = 1 },
	};
	uint64_t address = (uintptr_t)bytes;

	(void)state;
	memset(bytes, 0x77, sizeof(bytes));
	sonde_agent_self->probes[0].payload_max = SONDE_AGENT_STAGE;
	set_items(0, items, 2);
	hit(0);
	assert_memory_equal(last_payload(8), &address, 8);
	assert_memory_equal(last_payload(SONDE_AGENT_STAGE), bytes,
			    SONDE_AGENT_STAGE - 8);
	assert_int_equal(sonde_agent_self->probes[0].cut, 0);
	set_items(0, items, 3);
	hit(0);
	assert_memory_equal(last_payload(8), &address, 8);
	assert_int_equal(sonde_agent_self->probes[0].cut, 1);
	assert_int_equal(records(), 2);
}

/* ---- memory that can't be read ---- */

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming):
 * they are the linker's */
extern const struct sonde_agent_fault_entry __start_sonde_faults[];
extern const struct sonde_agent_fault_entry __stop_sonde_faults[];
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* As the agent's own handler does. */
static void go_on(int number, siginfo_t *info, void *context)
{
	ucontext_t *ucontext = context;
	greg_t *rip = &ucontext->uc_mcontext.gregs[REG_RIP];

	(void)number;
	(void)info;
	for (const struct sonde_agent_fault_entry *e = __start_sonde_faults;
	     e < __stop_sonde_faults; e++) {
		if ((greg_t)(uintptr_t)&e->from + e->from != *rip)
			continue;
		*rip = (greg_t)(uintptr_t)&e->to + e->to;
		return;
	}
	abort();
}

static void catch_faults(void)
{
	struct sigaction action = {
		.sa_sigaction = go_on,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	assert_int_equal(sigaction(SIGBUS, &action, NULL), 0);
}

static void what_cannot_be_read_is_zeros_and_counted(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	unsigned char *two =
		mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sonde_agent_item items[] = {
		{ .kind = SONDE_AGENT_ITEM_MEMORY,
		  .reg = NO_REGISTER,
		  .length = 4,
		  .offset = 0x10 },
		{ .kind = SONDE_AGENT_ITEM_MEMORY,
		  .reg = NO_REGISTER,
		  .length = 20,
		  .offset = (int64_t)(uintptr_t)two + page - 12 },
		{ .kind = SONDE_AGENT_ITEM_MEMORY,
		  .reg = NO_REGISTER,
		  .length = 8,
		  .offset = 0x1122334455667788 },
		{ .kind = SONDE_AGENT_ITEM_MEMORY,
		  .reg = NO_REGISTER,
		  .length = 1,
		  .offset = (int64_t)(uintptr_t)two },
		{ .kind = SONDE_AGENT_ITEM_ADDRESSES },
	};
	unsigned char want[4 + 20 + 8 + 1 + 32] = { 0 };
	uint64_t last = (uintptr_t)two;

	(void)state;
	assert_ptr_not_equal(two, MAP_FAILED);
	memset(two, 0xab, (size_t)page);
	assert_int_equal(munmap(two + page, (size_t)page), 0);
	memset(want + 4, 0xab, 12);
	want[32] = 0xab;
	memcpy(want + 33 + 24, &last, sizeof(last));
	catch_faults();
	set_items(0, items, 5);
	hit(0);
	assert_memory_equal(last_payload(sizeof(want)), want, sizeof(want));
	assert_int_equal(sonde_agent_self->probes[0].cut, 1);
	munmap(two, (size_t)page);
}

/* ---- programs ---- */

static void a_condition_of_the_agents_decides(void **state)
{
	/* reg rax; const8 5; equal; end. reg rax; ref32; end */
	static const uint8_t is_five[] = { 0x26, 0, 0, 0x22, 5, 0x13, 0x27 };
	static const uint8_t reads[] = { 0x26, 0, 0, 0x18, 0x27 };
	static const uint8_t divides[] = { 0x22, 7, 0x26, 0, 0, 0x06, 0x27 };
	uint64_t registers[17] = { 0 };
	struct sonde_agent_probe *probe = &sonde_agent_self->probes[0];

	(void)state;
	catch_faults();
	probe->condition = add_program(is_five, sizeof(is_five), false);
	for (uint64_t i = 0; i < 10; i++) {
		registers[0] = i;
		agent_pad(0, registers);
	}
	assert_int_equal(hits(0), 1);
	probe->condition = add_program(reads, sizeof(reads), false);
	registers[0] = 0x30;
	agent_pad(0, registers);
	assert_int_equal(hits(0), 1);
	assert_int_equal(probe->faults, 1);
	probe->condition = add_program(divides, sizeof(divides), false);
	registers[0] = 0;
	agent_pad(0, registers);
	assert_int_equal(hits(0), 1);
	assert_int_equal(probe->divisions, 1);
	assert_int_equal(records(), 1);
}

/* What the items of the next test make. */
struct __attribute__((packed)) filled {
	uint32_t a, b;
	char text[6];
	uint32_t blocks;
	char v;
	uint32_t variable;
	int64_t value;
	char m;
	uint64_t at;
	uint16_t length;
	uint32_t bytes;
	int64_t again;
	uint64_t places[3];
};

static const uint32_t number_there = 0xcafe;
static const char text_there[] = "eighteen";

static void set_items_of_all_kinds(void)
{
	/* reg rbx; trace_quick 4; reg rcx; trace_quick 4; pop pop end */
	static const uint8_t traces[] = { 0x26, 0, 1,    0x0d, 4,    0x29, 0x26,
					  0,    2, 0x0d, 4,    0x29, 0x27 };
	/* getv 4; const8 1; add; setv 4; pop; tracev 4; reg rbx; const8 4;
	 * trace; end */
	static const uint8_t counts[] = { 0x2c, 0, 4,    0x22, 1,    0x02, 0x2d,
					  0,    4, 0x29, 0x2e, 0,    4,    0x26,
					  0,    1, 0x22, 4,    0x0c, 0x27 };
	static const uint8_t address[] = { 0x26, 0, 3, 0x27 };
	struct sonde_agent_item items[] = {
		{ .kind = SONDE_AGENT_ITEM_PROGRAM,
		  .length = 8,
		  .nr_blocks = 2,
		  .program = add_program(traces, sizeof(traces), true) },
		{ .kind = SONDE_AGENT_ITEM_STRING,
		  .length = 5,
		  .program = add_program(address, sizeof(address), false) },
		{ .kind = SONDE_AGENT_ITEM_BLOCKS,
		  .program = add_program(counts, sizeof(counts), true) },
		{ .kind = SONDE_AGENT_ITEM_VARIABLE, .offset = 4 },
		{ .kind = SONDE_AGENT_ITEM_ADDRESSES },
	};

	set_items(0, items, SONDE_ARRAY_SIZE(items));
}

static void programs_fill_fields_blocks_and_variables(void **state)
{
	uint64_t registers[17] = { 0 };
	struct filled got;

	(void)state;
	catch_faults();
	registers[SONDE_AGENT_RBX] = (uintptr_t)&number_there;
	registers[SONDE_AGENT_RCX] = 0x20;
	registers[SONDE_AGENT_RDX] = (uintptr_t)text_there;
	sonde_agent_self->variables[4] = 41;
	set_items_of_all_kinds();
	agent_pad(0, registers);
	memcpy(&got, last_payload(sizeof(got)), sizeof(got));
	assert_int_equal(got.a, number_there);
	assert_int_equal(got.b, 0);
	assert_string_equal(got.text, "eight");
	assert_int_equal(got.blocks, 13 + 11 + 4);
	assert_int_equal(got.v, 'V');
	assert_int_equal(got.variable, 4);
	assert_int_equal(got.value, 42);
	assert_int_equal(got.m, 'M');
	assert_int_equal(got.at, (uintptr_t)&number_there);
	assert_int_equal(got.length, 4);
	assert_int_equal(got.bytes, number_there);
	assert_int_equal(got.again, 42);
	assert_int_equal(got.places[0], (uintptr_t)&number_there);
	assert_int_equal(got.places[1], 0);
	assert_int_equal(got.places[2], (uintptr_t)text_there);
	assert_int_equal(sonde_agent_self->variables[4], 42);
}

/* ---- when it counts ---- */

static void the_last_pass_is_recorded_and_stops_all(void **state)
{
	(void)state;
	sonde_agent_self->probes[1].passes = 3;
	for (int i = 0; i < 5; i++) {
		hit(0);
		hit(1);
	}
	assert_int_equal(hits(0), 3);
	assert_int_equal(hits(1), 3);
	assert_int_equal(records(), 6);
	assert_int_equal(sonde_agent_self->running, 0);
	assert_int_equal(sonde_agent_self->stop_reason, 1);
	assert_int_equal(sonde_agent_self->stop_probe, 1);
}

static void one_that_is_off_does_nothing(void **state)
{
	(void)state;
	sonde_agent_self->probes[0].state = SONDE_AGENT_PROBE_OFF;
	hit(0);
	assert_int_equal(hits(0), 0);
	sonde_agent_self->probes[0].state = SONDE_AGENT_PROBE_ON;
	hit(0);
	assert_int_equal(hits(0), 1);
	assert_int_equal(records(), 1);
}

static void without_an_arena_a_hit_is_missed(void **state)
{
	(void)state;
	sonde_agent_self->arena = 0;
	hit(0);
	assert_int_equal(hits(0), 1);
	assert_int_equal(sonde_agent_self->missed, 1);
	assert_int_equal(records(), 0);
}

static void a_hit_may_give_a_register_a_value(void **state)
{
	uint64_t registers[17] = { 0 };

	(void)state;
	sonde_agent_self->probes[0].force_register = SONDE_AGENT_R15;
	sonde_agent_self->probes[0].force_value = 0x80000007;
	agent_pad(0, registers);
	assert_int_equal(registers[SONDE_AGENT_R15], 0x80000007);
}

/* ---- many at once ---- */

enum {
	THREADS = 4,
	EACH = 200000,
};

static uint64_t handled;

static void hit_in_handler(int number)
{
	(void)number;
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): it is that */
	agent_pad_call();
	sonde_add_relaxed(&handled, 1);
}

static void *hit_often(void *unused)
{
	(void)unused;
	for (int i = 0; i < EACH; i++)
		agent_pad_call();
	return NULL;
}

/* Threads and signal handlers: each hit is a record, or was discarded. */
static void hit_from_all_sides(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGUSR1 };
	struct itimerspec often = { .it_interval.tv_nsec = 20000,
				    .it_value.tv_nsec = 20000 };
	pthread_t threads[THREADS];
	timer_t timer;

	handled = 0;
	assert_ptr_not_equal(signal(SIGUSR1, hit_in_handler), SIG_ERR);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, hit_often, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	timer_delete(timer);
	assert_ptr_not_equal(signal(SIGUSR1, SIG_IGN), SIG_ERR);
	assert_true(handled > 0);
	assert_int_equal(hits(0), (uint64_t)THREADS * EACH + handled);
	assert_int_equal(records(), hits(0));
}

static void hits_from_threads_and_handlers_are_all_accounted_for(void **state)
{
	(void)state;
	hit_from_all_sides();
	make_arena(SONDE_DISCARD);
	set_up(state);
	make_arena(SONDE_DISCARD);
	sonde_agent_self->arena = (uintptr_t)arena;
	sonde_agent_self->rings = sonde_agent_self->arena + SONDE_META_SPAN;
	hit_from_all_sides();
}

static void so_are_those_of_threads_without_sequences_or_ids(void **state)
{
	(void)state;
	sonde_agent_self->rseq_offset = 0;
	hit_from_all_sides();
	(void)set_up(state);
	sonde_agent_self->tid_offset = 0;
	hit_from_all_sides();
}

/* ---- steps ---- */

static int traps;

/* As the agent's own does, but for where its pads and the image are. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *ucontext = context;
	greg_t *r = ucontext->uc_mcontext.gregs;

	(void)number;
	(void)info;
	traps++;
	if (r[REG_RIP] < (greg_t)(uintptr_t)agent_steps_begin ||
	    r[REG_RIP] > (greg_t)(uintptr_t)agent_steps_end)
		return;
	if (!sonde_agent_step(sonde_agent_self, (uint64_t *)(void *)r))
		r[REG_EFL] &= ~(greg_t)SONDE_AGENT_SINGLE_STEP;
}

static void catch_traps(void)
{
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	traps = 0;
}

static void a_hit_is_followed_by_its_steps(void **state)
{
	static const struct sonde_agent_item items[] = {
		{ .kind = SONDE_AGENT_ITEM_REGISTERS,
		  .mask = 1 | 1u << SONDE_AGENT_RIP },
	};
	struct sonde_agent_probe *probe = &sonde_agent_self->probes[0];
	uint64_t got[2];
	int before;

	(void)state;
	stay_on_this_cpu(); /* last_payload() looks for one ring */
	catch_traps();
	probe->step_items = add_plan(items, sizeof(items));
	probe->nr_step_items = 1;
	probe->step_event = 1;
	/* begin, inc, inc, lea, push, call ... lea, inc: the last step is
	 * behind the second hit */
	probe->steps = 8;
	assert_int_equal(agent_pad_steps(), 4);
	assert_int_equal(sonde_agent_self->stepped, 8);
	assert_int_equal(hits(0), 1);
	assert_int_equal(hits(1), 1);
	assert_int_equal(records(), 10);
	memcpy(got, last_payload(sizeof(got)), sizeof(got));
	assert_int_equal(got[0], 3);
	assert_in_range(got[1], (uintptr_t)agent_steps_begin,
			(uintptr_t)agent_steps_end - 1);
	assert_int_equal(sonde_agent_self->steppers[0].tid, 0);
	/* it is over */
	before = traps;
	hit(1);
	assert_int_equal(traps, before);
	go_anywhere();
}

static void steps_end_with_the_run(void **state)
{
	struct sonde_agent_probe *probe = &sonde_agent_self->probes[0];

	(void)state;
	catch_traps();
	probe->steps = 1000000;
	assert_int_equal(agent_pad_steps(), 4);
	assert_int_not_equal(sonde_agent_self->steppers[0].tid, 0);
	sonde_agent_self->running = 0;
	assert_int_equal(agent_pad_steps(), 4);
	/* whoever steps on in the test itself is told by the handler */
	assert_int_equal(sonde_agent_self->steppers[0].tid, 0);
	assert_true(traps > 0);
}

static void a_thread_that_blocks_the_signal_is_not_stepped(void **state)
{
	struct sonde_agent_probe *probe = &sonde_agent_self->probes[0];
	sigset_t trap;

	(void)state;
	catch_traps();
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &trap, NULL), 0);
	probe->steps = 3;
	assert_int_equal(agent_pad_steps(), 4);
	assert_int_equal(traps, 0);
	assert_int_equal(probe->cut, 1);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &trap, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_register_and_flag_survives,
				       set_up),
		cmocka_unit_test_setup(
			a_forked_childs_hits_are_no_probes_and_are_counted,
			set_up),
		cmocka_unit_test_setup(registers_are_recorded_as_they_were,
				       set_up),
		cmocka_unit_test_setup(
			values_without_a_program_are_registers_and_numbers,
			set_up),
		cmocka_unit_test_setup(memory_is_recorded_in_all_sizes, set_up),
		cmocka_unit_test_setup(
			a_large_record_is_staged_whole_and_a_larger_one_cut,
			set_up),
		cmocka_unit_test_setup(what_cannot_be_read_is_zeros_and_counted,
				       set_up),
		cmocka_unit_test_setup(a_condition_of_the_agents_decides,
				       set_up),
		cmocka_unit_test_setup(
			programs_fill_fields_blocks_and_variables, set_up),
		cmocka_unit_test_setup(the_last_pass_is_recorded_and_stops_all,
				       set_up),
		cmocka_unit_test_setup(one_that_is_off_does_nothing, set_up),
		cmocka_unit_test_setup(without_an_arena_a_hit_is_missed,
				       set_up),
		cmocka_unit_test_setup(a_hit_may_give_a_register_a_value,
				       set_up),
		cmocka_unit_test_setup(
			hits_from_threads_and_handlers_are_all_accounted_for,
			set_up),
		cmocka_unit_test_setup(
			so_are_those_of_threads_without_sequences_or_ids,
			set_up),
		cmocka_unit_test_setup(a_hit_is_followed_by_its_steps, set_up),
		cmocka_unit_test_setup(steps_end_with_the_run, set_up),
		cmocka_unit_test_setup(
			a_thread_that_blocks_the_signal_is_not_stepped, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
