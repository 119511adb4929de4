/* SPDX-License-Identifier: MIT */
/*
 * test_probe_faults.c - what a program's handler is told of its own faults is
 * the same with probes at the instructions that fault, and so is what comes of
 * what it does about them.
 *
 * A forked process makes each fault twice, before and after probes are put in.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/port.h"
#include "probe/inject/probes.h"

#define BAD     0x10ull /* an address where nothing is */
#define VALUE   41
#define SKIPPED 3 /* bytes of a load */

/* clang-format off */
__asm__(
	".text\n .balign 16\n"
	"fault_load: .cfi_startproc\n"
	"mov (%rdi), %rax\n inc %rax\n ret\n .cfi_endproc\n"
	".balign 16\n"
	"fault_divide: .cfi_startproc\n"
	"mov %rdi, %rax\n cqto\n"
	".globl fault_idiv\n fault_idiv: idiv %rsi\n inc %rax\n ret\n"
	".cfi_endproc\n"
	".balign 16\n"
	"fault_call: .cfi_startproc\n push %rbx\n"
	".globl fault_called\n"
	"fault_called: call *8(%rdi)\n inc %rax\n pop %rbx\n ret\n"
	".cfi_endproc\n");
/* clang-format on */

uint64_t fault_load(const uint64_t *from, uint64_t unused);
uint64_t fault_divide(uint64_t a, uint64_t b);
uint64_t fault_call(const void *table, uint64_t unused);
extern const uint8_t fault_load_text[] __asm__("fault_load");
extern const uint8_t fault_idiv[], fault_called[];

enum {
	LOAD_REPAIRED,
	LOAD_SKIPPED,
	LOAD_LEFT,
	DIVIDE_REPAIRED,
	CALL_REPAIRED,
	NR_CASES,
};

struct seen {
	uint64_t signal, code, address, rip, rsp, flags, result, handled;
};

struct shared {
	uint32_t go, done;
	struct seen seen[2][NR_CASES];
};

static struct shared *shared;
static struct seen *now;
static int doing;
static sigjmp_buf out;
static uint64_t good = VALUE;

static uint64_t forty_one(void)
{
	return VALUE;
}

static const struct {
	uint64_t unused;
	uint64_t (*function)(void);
} table = { 0, forty_one };

/* ---- the process ---- */

static void on_fault(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	now->signal = (uint64_t)signal;
	now->code = (uint64_t)info->si_code;
	now->address = (uint64_t)(uintptr_t)info->si_addr;
	now->rip = (uint64_t)registers[REG_RIP];
	now->rsp = (uint64_t)registers[REG_RSP];
	now->handled++;
	if (doing == LOAD_REPAIRED)
		registers[REG_RDI] = (greg_t)(uintptr_t)&good;
	if (doing == LOAD_SKIPPED) {
		registers[REG_RAX] = 0;
		registers[REG_RIP] += SKIPPED;
	}
	if (doing == LOAD_LEFT)
		siglongjmp(out, VALUE);
	if (doing == DIVIDE_REPAIRED)
		registers[REG_RSI] = 1;
	if (doing == CALL_REPAIRED)
		registers[REG_RDI] = (greg_t)(uintptr_t)&table;
}

static uint64_t fault(void)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is to fault */
	const void *bad = (const void *)(uintptr_t)BAD;
	int left;

	if (doing == DIVIDE_REPAIRED)
		return fault_divide(VALUE, 0);
	if (doing == CALL_REPAIRED)
		return fault_call(bad, 0);
	left = sigsetjmp(out, 1);
	return left ? (uint64_t)left : fault_load(bad, 0);
}

static void handle_faults(void)
{
	const struct sigaction action = { .sa_sigaction = on_fault,
					  .sa_flags = SA_SIGINFO };

	(void)sigaction(SIGSEGV, &action, NULL);
	(void)sigaction(SIGFPE, &action, NULL);
	for (int phase = 0; phase < 2; phase++) {
		while (sonde_load_acquire(&shared->go) != phase + 1u)
			sched_yield();
		for (doing = 0; doing < NR_CASES; doing++) {
			now = &shared->seen[phase][doing];
			now->result = fault();
		}
		sonde_store_release(&shared->done, phase + 1u);
	}
	for (;;)
		pause();
}

static void fault_and_die(void)
{
	while (sonde_load_acquire(&shared->go) == 0)
		sched_yield();
	doing = LOAD_REPAIRED;
	(void)fault();
	_exit(0);
}

/* ---- the tests ---- */

static pid_t child;
static struct sonde_process *process;
static struct sonde_probes *probes;

static int setup(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)state;
	sonde_probes_free(probes);
	sonde_process_close(process);
	probes = NULL;
	process = NULL;
	if (child > 0) {
		kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	return munmap(shared, sizeof(*shared));
}

static void start(void (*run)(void))
{
	struct sonde_process_error error = { "" };
	int rc;

	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGSEGV, SIG_DFL); /* cmocka's */
		(void)signal(SIGFPE, SIG_DFL);
		run();
	}
	assert_true(child > 0);
	rc = sonde_process_open(child, NULL, NULL, &error, &process);
	if (!rc)
		rc = sonde_process_install(process, &error);
	if (!rc)
		rc = sonde_probes_new(process, &probes);
	if (rc)
		fail_msg("%d: %s", rc, error.text);
	sonde_store_relaxed(&sonde_process_agent(process)->running, 1);
}

static uint32_t add(const uint8_t *at)
{
	const struct sonde_probe_spec spec = {
		.address = (uint64_t)(uintptr_t)at,
		.force_register = 255,
	};
	struct sonde_process_error error = { "" };
	uint32_t index = 0;

	if (sonde_probes_add(probes, &spec, &error, &index))
		fail_msg("%s", error.text);
	return index;
}

static uint64_t hits_of(uint32_t index)
{
	struct sonde_probe_facts facts;

	assert_int_equal(sonde_probes_facts(probes, index, &facts), 0);
	return facts.hits;
}

static void run_phase(uint32_t phase)
{
	sonde_store_release(&shared->go, phase + 1);
	while (sonde_load_acquire(&shared->done) != phase + 1)
		sched_yield();
}

static void a_handler_is_told_the_same(void **state)
{
	uint32_t load;
	uint32_t divide;
	uint32_t call;

	(void)state;
	start(handle_faults);
	run_phase(0);
	load = add(fault_load_text);
	divide = add(fault_idiv);
	call = add(fault_called);
	run_phase(1);
	for (int i = 0; i < NR_CASES; i++) {
		assert_int_equal(shared->seen[0][i].handled, 1);
		assert_memory_equal(&shared->seen[0][i], &shared->seen[1][i],
				    sizeof(struct seen));
	}
	assert_int_equal(shared->seen[1][LOAD_SKIPPED].result, 1);
	assert_int_equal(shared->seen[1][LOAD_REPAIRED].result, VALUE + 1);
	assert_int_equal(shared->seen[1][CALL_REPAIRED].result, VALUE + 1);
	assert_int_equal(hits_of(load), 3);
	assert_int_equal(hits_of(divide), 1);
	assert_int_equal(hits_of(call), 1);
}

/* How the process that is being traced goes on; its registers if it stops. */
static int go_on(int signal, struct user_regs_struct *ret)
{
	int status;

	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, signal), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSTOPPED(status))
		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, ret), 0);
	return status;
}

static void it_dies_at_its_own_instruction(void **state)
{
	struct user_regs_struct registers = { 0 };
	siginfo_t info;
	int status;

	(void)state;
	start(fault_and_die);
	(void)add(fault_load_text);
	assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	sonde_store_release(&shared->go, 1);
	status = go_on(0, &registers); /* for the agent: in the pad */
	assert_int_equal(WSTOPSIG(status), SIGSEGV);
	assert_true(registers.rip != (uint64_t)(uintptr_t)fault_load_text);
	status = go_on(SIGSEGV, &registers);
	assert_int_equal(WSTOPSIG(status), SIGSEGV);
	assert_true(registers.rip == (uint64_t)(uintptr_t)fault_load_text);
	assert_int_equal(ptrace(PTRACE_GETSIGINFO, child, NULL, &info), 0);
	assert_int_equal(info.si_code, SEGV_MAPERR);
	assert_true((uint64_t)(uintptr_t)info.si_addr == BAD);
	status = go_on(SIGSEGV, &registers);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	child = -1;
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		A_TEST(a_handler_is_told_the_same),
		A_TEST(it_dies_at_its_own_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
