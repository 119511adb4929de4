/* SPDX-License-Identifier: MIT */
/*
 * test_pad.c - code with a probe in it does what it did without.
 *
 * Each sequence below is a function; it is run as it is and then with a probe
 * at each of its instructions, in place, in this process: registers, flags and
 * memory must come out the same, and the hit must have seen the registers that
 * the site has. Interior int3s are served by a handler, as the agent's does.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "base/port.h"
#include "expr/agent.h"
#include "probe/inject/insn.h"
#include "probe/inject/pad.h"
#include "probe/inject/pad_memory.h"

/* Arithmetic flags, but AF: most instructions leave it undefined, so it counts
 * as written by them. */
#define STATUS_FLAGS 0x8c5u
#define PAD_ROOM     4096u

/* rax rcx rdx rbx rsp rbp rsi rdi r8..r15, flags */
enum {
	NR_VALUES = 17,
	AT_RSP = 4,
	AT_FLAGS = 16
};

struct machine {
	uint64_t regs[NR_VALUES];
};

/* In assembly: loads machine_now, calls machine_code, stores again. */
extern struct machine machine_now;
struct machine machine_now;
extern const void *machine_code;
const void *machine_code;
void machine_run(void);

/* What the pads call: notes registers and index, changes nothing. */
extern struct machine hit_seen;
struct machine hit_seen;
extern uint64_t hit_index, hit_count, hit_scratch;
uint64_t hit_index, hit_count, hit_scratch;
void hit_thunk(void);

extern uint8_t data_area[256];
uint8_t data_area[256];

/* clang-format off */
#define EACH_REG(op) \
	op(0, rax) op(1, rcx) op(2, rdx) op(3, rbx) op(5, rbp) op(6, rsi) \
	op(7, rdi) op(8, r8) op(9, r9) op(10, r10) op(11, r11) op(12, r12) \
	op(13, r13) op(14, r14) op(15, r15)
#define LOAD(n, reg)  "mov machine_now+8*" #n "(%rip), %" #reg "\n"
#define STORE(n, reg) "mov %" #reg ", machine_now+8*" #n "(%rip)\n"
#define SEEN(n, reg)  "mov %" #reg ", hit_seen+8*" #n "(%rip)\n"

__asm__(
	".text\n"
	".globl machine_run\n"
	"machine_run:\n"
	"push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
	"sub $8, %rsp\n"
	"pushq machine_now+8*16(%rip)\n popfq\n"
	EACH_REG(LOAD)
	"call *machine_code(%rip)\n"
	EACH_REG(STORE)
	"mov %rsp, machine_now+8*4(%rip)\n"
	"pushfq\n popq machine_now+8*16(%rip)\n"
	"cld\n"
	"add $8, %rsp\n"
	"pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
	"ret\n"
	".globl hit_thunk\n"
	"hit_thunk:\n"
	EACH_REG(SEEN)
	"pushfq\n popq hit_seen+8*16(%rip)\n"
	"mov %rax, hit_scratch(%rip)\n"
	"mov 8(%rsp), %rax\n mov %rax, hit_index(%rip)\n"
	"lea 144(%rsp), %rax\n mov %rax, hit_seen+8*4(%rip)\n"
	"mov hit_seen+8*16(%rip), %rax\n push %rax\n"
	"incq hit_count(%rip)\n"
	/* below the red zone all may be overwritten */
	"movq $-1, -8(%rsp)\n movq $-1, -64(%rsp)\n"
	"popfq\n"
	"mov hit_scratch(%rip), %rax\n"
	"ret\n"
	/* callees: what they do depends on what they were called from */
	"helper:\n mov (%rsp), %r11\n add %rcx, %rax\n ret\n"
	"helper2:\n mov (%rsp), %r10\n xor %rcx, %rdx\n ret\n"
	"taken:\n lea 7(%rax), %rax\n ret\n"
	"nothing:\n ret\n"
	".data\n .balign 16\n"
	"words:\n .quad 0x1122334455667788, 0x99aabbccddeeff00, 3, 4\n"
	"pointer:\n .quad helper\n pointer2:\n .quad taken\n"
	"table:\n .quad helper2, taken\n"
	".text\n");

/* name, assembly; it is called, and has to return */
#define SEQUENCE(name, code)                                             \
	__asm__(".pushsection .text\n .balign 16\n"                       \
		"9991:\n" code "\n9992:\n.balign 16, 0x90\n"              \
		".popsection\n"                                          \
		".pushsection .data.sequences,\"aw\"\n"                   \
		".quad 9991b, 9992b, 9993f\n.popsection\n"                \
		".pushsection .rodata\n9993: .asciz \"" name "\"\n"       \
		".popsection\n");

__asm__(".pushsection .data.sequences,\"aw\"\n .balign 8\n"
	".globl sequences\n sequences:\n .popsection\n");
SEQUENCE("prologue",
	"push %rbp\n mov %rsp, %rbp\n push %rbx\n sub $24, %rsp\n"
	"mov %rdi, -16(%rbp)\n add -16(%rbp), %rax\n add $24, %rsp\n"
	"pop %rbx\n leave\n ret")
SEQUENCE("red zone",
	"mov %rcx, -8(%rsp)\n mov %rdx, -16(%rsp)\n mov %rax, -128(%rsp)\n"
	"add -8(%rsp), %rax\n xor -16(%rsp), %rax\n adc -128(%rsp), %rdx\n"
	"ret")
SEQUENCE("rip-relative",
	"mov words(%rip), %rax\n add %rax, words+8(%rip)\n"
	"lea words(%rip), %rcx\n sub %rcx, %rcx\n"
	"cmpb $3, words+16(%rip)\n sete %dl\n cmpl $0x12345, words(%rip)\n"
	"imul $77, words+24(%rip), %rbx\n"
	"pshufd $0x1b, words(%rip), %xmm0\n movq %xmm0, %r9\n ret")
SEQUENCE("branches",
	"cmp %rcx, %rax\n jb 1f\n inc %rdx\n jmp 2f\n 1: dec %rdx\n"
	"2: test $1, %al\n jz 3f\n add $5, %rbx\n 3: jnp 4f\n neg %rsi\n"
	"4: jmp 5f\n nop\n nop\n 5: ret")
SEQUENCE("loops",
	"mov $5, %ecx\n 1: add $3, %rax\n dec %ecx\n jnz 1b\n"
	"mov $4, %ecx\n 2: add %rcx, %rdx\n loop 2b\n"
	"3: jrcxz 4f\n ud2\n 4: mov $3, %ecx\n cmp %rcx, %rcx\n"
	"5: nop\n loope 5b\n mov $2, %ecx\n or %ecx, %ecx\n 6: nop\n"
	"loopne 6b\n jecxz 7f\n ud2\n 7: ret")
SEQUENCE("tight loop", "mov $9, %ecx\n 1: loop 1b\n nop\n nop\n nop\n ret")
SEQUENCE("calls", "call helper\n add %rax, %rdx\n call helper2\n ret")
SEQUENCE("idle call", "call nothing\n mov %rcx, %rax\n ret")
SEQUENCE("indirect calls",
	"lea helper(%rip), %rax\n call *%rax\n nop\n push %r12\n"
	"lea pointer(%rip), %r12\n call *(%r12)\n call *16(%r12)\n pop %r12\n"
	"call *pointer(%rip)\n lea helper2(%rip), %r8\n call *%r8\n"
	"xor %r8d, %r8d\n xor %eax, %eax\n ret")
SEQUENCE("calls through the stack",
	"lea helper(%rip), %rbx\n push %rbx\n call *(%rsp)\n push %rbx\n"
	"call *8(%rsp)\n sub $0x100, %rsp\n call *0x100(%rsp)\n"
	"add $0x110, %rsp\n xor %ebx, %ebx\n ret")
SEQUENCE("tail jump", "nop\n mov %rcx, %rdx\n jmp *pointer2(%rip)")
SEQUENCE("jump table",
	"lea table(%rip), %rbx\n mov $1, %ecx\n notrack jmp *(%rbx,%rcx,8)")
SEQUENCE("strings",
	"cld\n lea data_area(%rip), %rdi\n lea words(%rip), %rsi\n"
	"mov $16, %ecx\n rep movsb\n mov $3, %ecx\n mov %rdx, %rax\n"
	"rep stosq\n lea data_area(%rip), %rdi\n mov $32, %ecx\n"
	"repne scasb\n ret")
SEQUENCE("locked",
	"lea data_area(%rip), %rdi\n lock xadd %rax, (%rdi)\n"
	"lock incl data_area+8(%rip)\n lock cmpxchg %rcx, 16(%rdi)\n"
	"xchg %rdx, 24(%rdi)\n ret")
SEQUENCE("flags",
	"add %rcx, %rax\n mov %rsi, %rbx\n adc %rsi, %rdx\n sbb %rdi, %rsi\n"
	"setc %bl\n cmovo %rsi, %rdi\n rcl $3, %r8\n inc %r9\n setc %r10b\n"
	"seto %r11b\n pushfq\n pop %rbx\n lahf\n stc\n nop\n nop\n sbb %r12, %r12\n"
	"cmc\n mov %r12, %r13\n adc $0, %r13\n and $0x8c5, %ebx\n ret")
SEQUENCE("endbr64", "endbr64\n push %rax\n pop %rcx\n endbr64\n nop\n ret")
SEQUENCE("short end", "nop\n xor %eax, %eax\n ret")
SEQUENCE("nops",
	"nop\n nopl 8(%rax)\n nopl 0(%rax,%rax)\n nopw 512(%rax,%rax)\n"
	"add $1, %rax\n ret")
SEQUENCE("system call",
	"mov $39, %eax\n push %r11\n nop\n syscall\n pop %r11\n mov $1, %ecx\n"
	"ret")
SEQUENCE("high registers",
	"push %r12\n push %r13\n lea 8(%r12,%r13), %r14\n mov %r14, %r15\n"
	"xor %r8, %r9\n pop %r13\n pop %r12\n vzeroupper\n bswap %r10\n ret")
__asm__(".pushsection .data.sequences,\"aw\"\n"
	".globl sequences_end\n sequences_end:\n .popsection\n");
/* clang-format on */

struct sequence {
	uint8_t *begin, *end;
	const char *name;
};
extern const struct sequence sequences[], sequences_end[];

/* ---- what the agent and the tool do ---- */

static struct sonde_agent_trap traps[SONDE_WINDOW_INSNS + 1];
static volatile uint64_t nr_traps;

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t at = (uint64_t)uc->uc_mcontext.gregs[REG_RIP] - 1;

	(void)signal;
	(void)info;
	nr_traps++;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(traps); i++) {
		if (traps[i].address != at)
			continue;
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)traps[i].to;
		return;
	}
	abort();
}

static struct sonde_agent_fault faults[64];
static size_t nr_faults;
static uint64_t nr_faulted;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signal;
	(void)info;
	for (size_t i = 0; i < nr_faults; i++) {
		if ((uint64_t)uc->uc_mcontext.gregs[REG_RIP] != faults[i].at)
			continue;
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)faults[i].to;
		nr_faulted++;
		return;
	}
	abort();
}

static void *pointer(uint64_t address)
{
	union {
		uint64_t address;
		void *pointer;
	} u = { .address = address };

	return u.pointer;
}

/* A place where the window's jump may lead. */
static uint64_t take_place(const struct sonde_window *window)
{
	uint64_t base = window->address + 5;
	int32_t displacement = -0x40000000;

	while (sonde_pad_memory_candidate(window->mask, window->value,
					  displacement, &displacement)) {
		uint64_t at = base + (uint64_t)(int64_t)displacement;
		uint64_t page = at & -4096ull;
		void *got =
			mmap(pointer(page), 2 * PAD_ROOM,
			     PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			     -1, 0);
		if (got == pointer(page))
			return at;
		displacement += 0x10001;
	}
	return 0;
}

struct test_probe {
	struct sonde_window window;
	uint64_t place;
	struct sonde_pad pad;
};

static struct sonde_agent *agent_data;

static void make_probe(struct test_probe *t, const struct sonde_pad_probe *list,
		       size_t nr)
{
	struct sonde_pad_request request = {
		.window = &t->window,
		.address = t->place,
		.probes = list,
		.nr_probes = nr,
		.hit = (uint64_t)(uintptr_t)hit_thunk,
		.agent_data = (uint64_t)(uintptr_t)agent_data,
	};

	assert_true(t->place != 0);
	assert_int_equal(sonde_pad_make(&request, &t->pad), 0);
	memcpy(pointer(t->place), t->pad.bytes, t->pad.nr_bytes);
	for (unsigned int i = 0; i < SONDE_ARRAY_SIZE(traps); i++)
		traps[i].address = 0;
	for (unsigned int i = 0; i < t->window.nr_insns; i++) {
		traps[i].address = t->window.address + t->window.starts[i];
		traps[i].to = t->place + t->pad.entries[i];
	}
	nr_faults = t->pad.nr_faults;
	assert_in_range(nr_faults, 0, SONDE_ARRAY_SIZE(faults));
	memcpy(faults, t->pad.faults, nr_faults * sizeof(faults[0]));
}

static void put_in(const struct test_probe *t)
{
	uint8_t *text = pointer(t->window.address);
	int32_t displacement = (int32_t)(t->place - t->window.address - 5);

	if (t->window.kind == SONDE_WINDOW_TRAP) {
		text[0] = 0xcc;
		return;
	}
	text[0] = 0xe9;
	memcpy(text + 1, &displacement, sizeof(displacement));
	for (unsigned int i = 1; i < t->window.nr_insns; i++)
		assert_int_equal(text[t->window.starts[i]], 0xcc);
}

static void take_out(struct test_probe *t)
{
	memcpy(pointer(t->window.address), t->window.bytes, t->window.nr_bytes);
	munmap(pointer(t->place & -4096ull), 2 * PAD_ROOM);
	sonde_pad_free(&t->pad);
}

/* ---- runs ---- */

static const struct machine beginnings[] = {
	{ { 5, 9, 3, 4, 0, 0x51, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x202 } },
	{ { ~0ull, 1, ~0ull, 1ull << 63, 0, 2, ~0ull >> 1, 1, ~0ull, ~0ull, 0,
	    0, 0, 5, 6, 7, 0x202 | STATUS_FLAGS } },
	{ { 1ull << 63, 1ull << 63, 0, 0, 0, 0, 0, 1ull << 63, 1, 0x7fffffff, 3,
	    4, ~0ull, 1, 2, 3, 0x202 | 0x800 } },
};

extern uint8_t words[32] __asm__("words");

static void run(const struct sequence *s, const struct machine *from,
		struct machine *ret, uint8_t *ret_memory)
{
	static const uint64_t fresh[] = { 0x1122334455667788,
					  0x99aabbccddeeff00, 3, 4 };

	memset(data_area, 0x5a, sizeof(data_area));
	memcpy(words, fresh, sizeof(fresh));
	machine_now = *from;
	machine_code = s->begin;
	machine_run();
	*ret = machine_now;
	ret->regs[AT_FLAGS] &= STATUS_FLAGS;
	memcpy(ret_memory, data_area, sizeof(data_area));
	memcpy(ret_memory + sizeof(data_area), words, sizeof(words));
}

#define MEMORY_BYTES (sizeof(data_area) + 32)

static void compare(const struct sequence *s, const struct test_probe *t,
		    const struct machine *from)
{
	struct machine expected;
	struct machine got;
	uint8_t expected_memory[MEMORY_BYTES];
	uint8_t memory[MEMORY_BYTES];

	run(s, from, &expected, expected_memory);
	put_in(t);
	run(s, from, &got, memory);
	for (unsigned int i = 0; i < NR_VALUES; i++)
		if (got.regs[i] != expected.regs[i])
			fail_msg("%s+%d: register %u is %#llx, not %#llx",
				 s->name,
				 (int)(t->window.address -
				       (uint64_t)(uintptr_t)s->begin),
				 i, (unsigned long long)got.regs[i],
				 (unsigned long long)expected.regs[i]);
	assert_memory_equal(memory, expected_memory, sizeof(memory));
}

typedef void on_site(const struct sequence *s, struct test_probe *t);

/* Each instruction of each sequence that can be probed. */
static unsigned int each_site(on_site *visit)
{
	unsigned int nr = 0;

	for (const struct sequence *s = sequences; s < sequences_end; s++) {
		const struct sonde_code_view view = {
			.bytes = s->begin,
			.address = (uint64_t)(uintptr_t)s->begin,
			.size = (size_t)(s->end - s->begin),
			.behind = 8,
			.is_function = true,
		};
		struct sonde_insn insn;
		for (const uint8_t *at = s->begin; at < s->end;
		     at += insn.length) {
			struct test_probe t = { 0 };
			const char *reason;
			uint64_t address = (uint64_t)(uintptr_t)at;
			assert_int_equal(
				sonde_insn_decode(at, (size_t)(s->end - at),
						  address, &insn),
				0);
			if (sonde_window_choose(&view, address, &t.window,
						&reason))
				continue;
			t.place = take_place(&t.window);
			visit(s, &t);
			take_out(&t);
			nr++;
		}
	}
	return nr;
}

static void compare_all(const struct sequence *s, struct test_probe *t,
			const struct sonde_pad_probe *list, size_t nr)
{
	make_probe(t, list, nr);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(beginnings); i++) {
		compare(s, t, &beginnings[i]);
		memcpy(pointer(t->window.address), t->window.bytes,
		       t->window.nr_bytes);
	}
}

static void visit_bare(const struct sequence *s, struct test_probe *t)
{
	compare_all(s, t, NULL, 0);
}

static void displaced_code_does_the_same(void **state)
{
	(void)state;
	assert_in_range(each_site(visit_bare), 100, 400);
}

static void visit_hit(const struct sequence *s, struct test_probe *t)
{
	const struct sonde_pad_probe list[] = { { .index = 7 },
						{ .index = 4711 } };

	hit_count = 0;
	compare_all(s, t, list, 2);
	if (hit_count)
		assert_int_equal(hit_index, 4711);
	assert_int_equal(hit_count % 2, 0);
}

static void hits_leave_no_trace(void **state)
{
	(void)state;
	each_site(visit_hit);
}

/* At the first instruction, the hit sees what the sequence was called with. */
static void visit_first(const struct sequence *s, struct test_probe *t)
{
	const struct sonde_pad_probe list[] = { { .index = 1 } };

	if (t->window.address != (uint64_t)(uintptr_t)s->begin) {
		make_probe(t, NULL, 0);
		return;
	}
	compare_all(s, t, list, 1);
	const struct machine *last =
		&beginnings[SONDE_ARRAY_SIZE(beginnings) - 1];
	for (unsigned int i = 0; i < AT_RSP; i++)
		assert_int_equal(hit_seen.regs[i], last->regs[i]);
	/* the return address is on top */
	assert_int_equal(hit_seen.regs[AT_RSP], machine_now.regs[AT_RSP] - 8);
	assert_int_equal(hit_seen.regs[AT_FLAGS] & STATUS_FLAGS,
			 last->regs[AT_FLAGS] & STATUS_FLAGS);
}

static void a_hit_sees_the_registers_of_the_site(void **state)
{
	(void)state;
	each_site(visit_first);
}

/* A window's further instructions have probes of their own. */
static void visit_inner(const struct sequence *s, struct test_probe *t)
{
	struct sonde_pad_probe list[SONDE_WINDOW_INSNS];

	for (unsigned int i = 0; i < t->window.nr_insns; i++)
		list[i] = (struct sonde_pad_probe){ .index = 10 + i,
						    .insn = (uint8_t)i };
	hit_count = 0;
	compare_all(s, t, list, t->window.nr_insns);
}

static void probes_inside_a_window_share_its_pad(void **state)
{
	(void)state;
	each_site(visit_inner);
}

/* ---- conditions ---- */

/* Decoded GDB bytecode; rax == 5 and the like. */
static struct sonde_program *condition(const char *hex)
{
	struct sonde_expr_error error = { .text = "" };
	struct sonde_program *program = NULL;
	uint8_t bytes[128];
	size_t nr = strlen(hex) / 2;

	for (size_t i = 0; i < nr; i++) {
		const char digits[] = { hex[2 * i], hex[2 * i + 1], 0 };
		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	if (sonde_agent_decode(bytes, nr, false, &error, &program))
		fail_msg("%s: %s", hex, error.text);
	return program;
}

static struct sonde_pad_probe conditional;

/* Bytes as GDB writes them; registers are rax 0, rcx 2, rdx 3, rsi 4. */
static const char *const conditions[] = {
	"260000220e1327",                         /* rax == 14 */
	"26000022011327",                         /* rax == 1 */
	"26000022010f27",                         /* rax & 1 */
	"26000026000204260003022600010322401427", /* rax*rcx+rdx-rbx < 64 */
	"2600041922031327",                       /* *(int *)rsi == 3 */
	"26000026000322010f0522031327",           /* rax / (rdx & 1) == 3 */
	"260003260002062600000226000d0f27",       /* rdx / rcx + rax & r13 */
};

/* cmocka has a handler of its own for each test. */
static void take_faults(void)
{
	struct sigaction fault = { .sa_sigaction = on_fault,
				   .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGSEGV, &fault, NULL);
}

static uint64_t all_native;

static void visit_condition(const struct sequence *s, struct test_probe *t)
{
	compare_all(s, t, &conditional, 1);
	all_native += t->pad.native[0];
}

static void conditions_leave_no_trace(void **state)
{
	unsigned int nr = 0;

	(void)state;
	take_faults();
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(conditions); i++) {
		struct sonde_program *program = condition(conditions[i]);
		conditional = (struct sonde_pad_probe){
			.index = 9,
			.condition = program,
		};
		nr += each_site(visit_condition);
		sonde_program_free(program);
	}
	assert_int_equal(all_native, nr);
	assert_true(nr_faulted > 0);
	assert_true(agent_data->probes[9].divisions > 0);
}

/* How often the condition is true at the first instruction of "calls". */
static uint64_t count_hits(const char *hex)
{
	struct sonde_program *program = condition(hex);

	conditional = (struct sonde_pad_probe){
		.index = 9,
		.condition = program,
	};
	hit_count = 0;
	for (const struct sequence *s = sequences; s < sequences_end; s++) {
		if (strcmp(s->name, "calls") != 0)
			continue;
		const struct sonde_code_view view = {
			.bytes = s->begin,
			.address = (uint64_t)(uintptr_t)s->begin,
			.size = (size_t)(s->end - s->begin),
			.is_function = true,
		};
		struct test_probe t = { 0 };
		const char *reason;
		assert_int_equal(sonde_window_choose(&view, view.address,
						     &t.window, &reason),
				 0);
		t.place = take_place(&t.window);
		compare_all(s, &t, &conditional, 1);
		take_out(&t);
	}
	sonde_program_free(program);
	return hit_count;
}

static void only_true_conditions_hit(void **state)
{
	(void)state;
	take_faults();
	assert_int_equal(count_hits("260000220e1327"), 0);
	assert_int_equal(count_hits("26000022051327"), 1);
	assert_int_equal(count_hits("2600002205130e27"), 2);
	assert_int_equal(count_hits("220127"), SONDE_ARRAY_SIZE(beginnings));
	assert_int_equal(count_hits("2600041922031327"), 0);
}

static void a_call_that_does_nothing_is_not_made(void **state)
{
	const struct sonde_pad_probe hit = { .index = 9 };
	const struct sequence *s = sequences;
	struct test_probe t = { 0 };
	const char *reason;

	(void)state;
	while (strcmp(s->name, "idle call") != 0)
		assert_true(++s < sequences_end);
	const struct sonde_code_view view = {
		.bytes = s->begin,
		.address = (uint64_t)(uintptr_t)s->begin,
		.size = (size_t)(s->end - s->begin),
		.is_function = true,
	};
	assert_int_equal(sonde_window_choose(&view, view.address, &t.window,
					     &reason),
			 0);
	t.window.is_idle = true;
	t.place = take_place(&t.window);
	hit_count = 0;
	compare_all(s, &t, &hit, 1);
	assert_int_equal(hit_count, SONDE_ARRAY_SIZE(beginnings));
	assert_int_equal(t.pad.copies[0], t.pad.way_back);
	take_out(&t);
}

static int group_setup(void **state)
{
	struct sigaction trap = { .sa_sigaction = on_trap,
				  .sa_flags = SA_SIGINFO | SA_NODEFER };
	uint64_t begin = (uint64_t)(uintptr_t)sequences[0].begin & -4096ull;
	uint64_t end = begin;

	(void)state;
	for (const struct sequence *s = sequences; s < sequences_end; s++)
		end = (uint64_t)(uintptr_t)s->end;
	sigaction(SIGTRAP, &trap, NULL);
	agent_data = mmap(NULL, sizeof(*agent_data), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (agent_data == MAP_FAILED)
		return -1;
	return mprotect(pointer(begin), end - begin,
			PROT_READ | PROT_WRITE | PROT_EXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(displaced_code_does_the_same),
		cmocka_unit_test(hits_leave_no_trace),
		cmocka_unit_test(a_hit_sees_the_registers_of_the_site),
		cmocka_unit_test(probes_inside_a_window_share_its_pad),
		cmocka_unit_test(conditions_leave_no_trace),
		cmocka_unit_test(only_true_conditions_hit),
		cmocka_unit_test(a_call_that_does_nothing_is_not_made),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
