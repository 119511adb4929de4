/* SPDX-License-Identifier: MIT */
/*
 * jit_run.c - see jit_run.h.
 *
 * The code lies in a page between jumps to the ways it may end, with the
 * stack pointer that the program would have, less what a pad takes. Where a
 * register is moved, its value is on that stack. So rsp has to be in real
 * memory: it is always, whatever is told, in a stack of our own if nothing
 * reads it.
 */
#include "jit_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "expr/jit/insn.h"
#include "expr/program.h"

#define CODE      (1 << 20)
#define GUARD     ((size_t)1 << 36) /* so that what is near can not be read */
#define LISTS     4096
#define RSP       4
#define RAX       0
#define RDX       2
#define BELOW     160
#define REGISTERS 16
#define ALT_STACK 65536

/* Used by the assembly below. */
uint64_t jit_in[REGISTERS], jit_out[REGISTERS], jit_saved_rsp;
uint64_t jit_outcome;
const void *jit_code;
extern const char jit_ends[JIT_OUTCOMES][32];
void jit_enter(void);

#define LOAD(n, reg)  "movq jit_in+8*" #n "(%rip),%" reg "\n"
#define STORE(n, reg) "movq %" reg ",jit_out+8*" #n "(%rip)\n"
#define ALL(x)                                                              \
	x(0, "rax") x(1, "rcx") x(2, "rdx") x(3, "rbx") x(4, "rsp")         \
		x(5, "rbp") x(6, "rsi") x(7, "rdi") x(8, "r8") x(9, "r9")   \
			x(10, "r10") x(11, "r11") x(12, "r12") x(13, "r13") \
				x(14, "r14") x(15, "r15")
#define END(n)                             \
	".balign 32\n"                     \
	"movq $" #n ",jit_outcome(%rip)\n" \
	"jmp jit_leave\n"

__asm__(".text\n"
	".globl jit_enter, jit_ends\n"
	"jit_enter:\n"
	"push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n"
	"push %r15\n"
	"movq %rsp,jit_saved_rsp(%rip)\n" ALL(
		LOAD) "jmp *jit_code(%rip)\n"
		      ".balign 32\n"
		      "jit_ends:\n" END(0) END(1) END(2) END(
			      3) ".balign 32\n"
				 "jit_leave:\n" ALL(
					 STORE) "movq jit_saved_rsp(%rip),%rsp\n"
						"pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
						"cld\n"
						"ret\n");

static uint8_t *page, *memory, *own_stack;
static uint32_t faults[LISTS];
static uint32_t nr_faults, nr_bytes;

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	uint64_t rip = (uint64_t)at->uc_mcontext.gregs[REG_RIP];
	uint64_t offset = rip - (uint64_t)(uintptr_t)page;

	(void)info;
	for (uint32_t i = 0; i < nr_faults; i++) {
		if (faults[i] == offset) {
			at->uc_mcontext.gregs[REG_RIP] =
				(greg_t)(uintptr_t)jit_ends[JIT_FAULT];
			return;
		}
	}
	(void)fprintf(stderr, "signal %d at %#lx, code %p+%u: %s\n", number,
		      (unsigned long)rip, (void *)page, nr_bytes,
		      jit_run_hex());
	abort();
}

static void *map(size_t size, int protection)
{
	void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

void jit_run_init(void)
{
	page = map(CODE, PROT_READ | PROT_WRITE);
	memory = map(JIT_MEMORY + 2 * GUARD, PROT_NONE);
	memory += GUARD;
	if (mprotect(memory, JIT_MEMORY, PROT_READ | PROT_WRITE))
		abort();
	own_stack = map(ALT_STACK, PROT_READ | PROT_WRITE);
}

/* cmocka takes the signals at each test. */
static void take_signals(void)
{
	static uint8_t stack[ALT_STACK];
	const stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	if (sigaltstack(&alt, NULL) || sigaction(SIGSEGV, &action, NULL) ||
	    sigaction(SIGBUS, &action, NULL))
		abort();
}

uint8_t *jit_run_memory(void)
{
	return memory;
}

bool jit_run_byte(void *ctx, uint64_t address, uint8_t *ret_byte)
{
	(void)ctx;
	if (address - (uint64_t)(uintptr_t)memory >= JIT_MEMORY)
		return false;
	*ret_byte = memory[address - (uint64_t)(uintptr_t)memory];
	return true;
}

enum jit_outcome jit_evaluate(const struct sonde_program *program,
			      struct agent_world *world)
{
	uint64_t value;

	switch (agent_evaluate(program, world, &value)) {
	case AGENT_VALUE:
		return value ? JIT_TRUE : JIT_FALSE;
	case AGENT_FAULT:
		return JIT_FAULT;
	case AGENT_DIVIDED:
		return JIT_DIVIDED;
	case AGENT_NO_VALUE:
	case AGENT_BROKEN:
		break;
	}
	return JIT_FALSE;
}

const char *jit_run_hex(void)
{
	static char hex[4096];

	for (size_t i = 0; i < nr_bytes && i < sizeof(hex) / 2 - 1; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", page[i]);
	return hex;
}

static const uint8_t numbers[REGISTERS] = { 0, 3, 1,  2,  6,  7,  5,  4,
					    8, 9, 10, 11, 12, 13, 14, 15 };

/* Which registers it may write: those it needs, from a random one on. */
static uint16_t choose(const struct sonde_jit_needs *needs, unsigned int choice)
{
	unsigned int scratch = needs->needs_divide ? 1u << RAX | 1u << RDX : 0;
	unsigned int left = needs->nr_scratch - (needs->needs_divide ? 2u : 0);

	for (unsigned int i = 0; i < REGISTERS && left; i++) {
		unsigned int reg = (choice + i) % REGISTERS;
		if (reg == RSP || (needs->reads | scratch) >> reg & 1)
			continue;
		scratch |= 1u << reg;
		left--;
	}
	return (uint16_t)scratch;
}

/* jmp *0(%rip), and where to. */
static void put_end(size_t at, enum jit_outcome outcome)
{
	static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };
	const void *to = jit_ends[outcome];

	memcpy(page + at, jump, sizeof(jump));
	memcpy(page + at + sizeof(jump), &to, sizeof(to));
}

static void complete(const uint32_t *at, uint32_t nr, uint32_t to)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t distance = to - (at[i] + 4);
		memcpy(page + at[i], &distance, sizeof(distance));
	}
}

static int write_code(const struct sonde_jit *jit,
		      const struct sonde_jit_needs *needs,
		      const struct sonde_jit_place *place)
{
	static uint32_t accepts[LISTS];
	static uint32_t divides[LISTS];
	struct sonde_jit_code code = {
		.bytes = page,
		.accepts = accepts,
		.accepts_max = LISTS,
		.divides = divides,
		.divides_max = LISTS,
		.faults = faults,
		.faults_max = needs->faults_max,
	};
	int rc;

	if (mprotect(page, CODE, PROT_READ | PROT_WRITE))
		abort();
	memset(page, 0xcc, needs->bytes_max + 256);
	rc = sonde_jit_emit(jit, place, &code);
	if (rc)
		return rc;
	nr_bytes = code.nr_bytes;
	nr_faults = code.nr_faults;
	put_end(nr_bytes, JIT_FALSE);
	put_end(nr_bytes + 32, JIT_TRUE);
	put_end(nr_bytes + 64, JIT_DIVIDED);
	complete(accepts, code.nr_accepts, nr_bytes + 32);
	complete(divides, code.nr_divides, nr_bytes + 64);
	if (mprotect(page, CODE, PROT_READ | PROT_EXEC))
		abort();
	return 0;
}

static void check_registers(uint16_t scratch)
{
	for (unsigned int i = 0; i < REGISTERS; i++) {
		if (scratch >> i & 1 || jit_in[i] == jit_out[i])
			continue;
		(void)fprintf(stderr, "register %u changed: %s\n", i,
			      jit_run_hex());
		abort();
	}
}

/* The registers, and on the stack those that it will write or that flags take.
 * The stack is our own: what is read relative to the program's is not there. */
static void set_registers(const uint64_t *registers,
			  struct sonde_jit_place *place,
			  const struct sonde_jit_needs *needs,
			  unsigned int choice)
{
	uint64_t *saved = (uint64_t *)(void *)(own_stack + ALT_STACK / 2);

	for (unsigned int i = 0; i < REGISTERS; i++)
		jit_in[numbers[i]] = registers[i];
	place->moved = place->scratch & needs->reads;
	if (needs->reads >> RAX & 1 && choice & 64)
		place->moved |= 1u << RAX;
	for (unsigned int i = 0; i < REGISTERS; i++) {
		if (!(place->moved >> i & 1))
			continue;
		saved[i] = jit_in[i];
		jit_in[i] = UINT64_C(0xdeaddeaddead0000) + i;
		place->moved_at[i] = (int32_t)(8 * i);
	}
	place->rsp_below = BELOW;
	jit_in[RSP] =
		place->moved ? (uint64_t)(uintptr_t)saved : jit_in[RSP] - BELOW;
}

static void check_graph(const struct sonde_jit *jit)
{
	const char *wrong = sonde_graph_check(&jit->graph);

	if (!wrong)
		return;
	(void)fprintf(stderr, "graph: %s\n", wrong);
	abort();
}

int jit_run_probe(const struct sonde_program *program,
		  const uint64_t *registers, unsigned int choice,
		  enum jit_outcome *ret_outcome)
{
	const struct sonde_jit_config config = {
		.kind = SONDE_JIT_PROBE,
		.address = (uint64_t)(uintptr_t)page,
		.rip = registers[16],
	};
	struct sonde_jit_place place = { .address = config.address };
	struct sonde_jit_needs needs;
	struct sonde_jit *jit;
	int rc = sonde_jit_new(program, &config, &jit, &needs);

	if (rc)
		return rc;
	check_graph(jit);
	if (needs.bytes_max + 256 > CODE || needs.faults_max > LISTS)
		rc = -EOPNOTSUPP;
	place.scratch = choose(&needs, choice);
	set_registers(registers, &place, &needs, choice);
	/* both at once would need the program's own stack */
	if (place.moved && needs.reads >> RSP & 1)
		rc = -EOPNOTSUPP;
	if (!rc)
		rc = write_code(jit, &needs, &place);
	sonde_jit_free(jit);
	if (rc)
		return rc;
	jit_code = page;
	take_signals();
	jit_enter();
	check_registers(place.scratch);
	*ret_outcome = (enum jit_outcome)jit_outcome;
	return 0;
}

int jit_run_function(const struct sonde_program *program,
		     const struct sonde_jit_config *texts, const uint8_t *base0,
		     const uint8_t *base1, bool *ret_true)
{
	struct sonde_jit_config config = { 0 };
	const struct sonde_jit_place place = {
		.address = (uint64_t)(uintptr_t)page,
	};
	bool (*function)(const uint8_t *, const uint8_t *);
	struct sonde_jit_needs needs;
	struct sonde_jit *jit;
	int rc;

	if (texts)
		config = *texts;
	config.kind = SONDE_JIT_FUNCTION;
	config.address = place.address;
	rc = sonde_jit_new(program, &config, &jit, &needs);
	if (rc)
		return rc;
	check_graph(jit);
	if (needs.bytes_max + 256 > CODE)
		rc = -EOPNOTSUPP;
	if (!rc)
		rc = write_code(jit, &needs, &place);
	sonde_jit_free(jit);
	if (rc)
		return rc;
	take_signals();
	memcpy(&function, &(void *){ page }, sizeof(function));
	*ret_true = function(base0, base1);
	return 0;
}

/* ---- the corpus ---- */

#define PAGE 4096u

static void *page_of(uint64_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): told by the corpus */
	return (void *)(uintptr_t)(address & ~(uint64_t)(PAGE - 1));
}

static size_t pages_of(const struct corpus_memory *one)
{
	return ((one->address & (PAGE - 1)) + one->size + PAGE - 1) &
	       ~(size_t)(PAGE - 1);
}

bool jit_run_map(const struct corpus_case *one)
{
	for (size_t i = 0; i < one->nr_memory; i++) {
		const struct corpus_memory *part = &one->memory[i];
		void *at = page_of(part->address);
		void *got =
			mmap(at, pages_of(part), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			     -1, 0);
		if (got == MAP_FAILED && errno != EEXIST)
			return false;
		if (got == MAP_FAILED) {
			/* another part of the same page, or not ours */
			bool ours = false;
			for (size_t k = 0; k < i; k++)
				ours |= page_of(one->memory[k].address) == at;
			if (!ours)
				return false;
		}
		memcpy((uint8_t *)at + (part->address & (PAGE - 1)),
		       part->bytes, part->size);
	}
	return true;
}

void jit_run_unmap(const struct corpus_case *one)
{
	for (size_t i = 0; i < one->nr_memory; i++)
		(void)munmap(page_of(one->memory[i].address),
			     pages_of(&one->memory[i]));
}
