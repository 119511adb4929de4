/* SPDX-License-Identifier: MIT */
/*
 * test_probes.c - probes put in and out, in this process: what process.c and
 * patch.c do to another is done to this one's own memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/port.h"
#include "probe/inject/patch.h"
#include "probe/inject/probes.h"
#include "probe/inject/process_code.h"

#define PLANS_BEGIN 16    /* offset 0 means none */
#define PUN_CHUNK   16384 /* as place.c maps them */

/* ---- what is probed ---- */

extern uint64_t hit_index, hit_count;
uint64_t hit_index, hit_count;
extern uint8_t hit_thunk[];

/* clang-format off */
__asm__(
	".text\n .globl hit_thunk\n"
	"hit_thunk:\n"
	"pushfq\n push %rax\n"
	"mov 24(%rsp), %rax\n mov %rax, hit_index(%rip)\n"
	"incq hit_count(%rip)\n"
	"pop %rax\n popfq\n ret\n"
	/* n + 3, in short instructions */
	".balign 16\n .globl victim\n victim:\n .cfi_startproc\n"
	"endbr64\n"
	".globl victim_a\n victim_a: push %rbx\n"
	".globl victim_b\n victim_b: mov %edi, %ebx\n"
	".globl victim_c\n victim_c: inc %ebx\n"
	"inc %ebx\n inc %ebx\n"
	".globl victim_d\n victim_d: mov %ebx, %eax\n pop %rbx\n ret\n"
	".cfi_endproc\n .globl victim_end\n victim_end:\n"
	/* nothing runs it: a jump from elsewhere leads to its fourth byte */
	".balign 16\n .globl led_into\n led_into: .fill 16, 1, 0x90\n"
	".byte 0xe9\n .long led_into + 3 - (. + 4)\n"
	".balign 16\n");
/* clang-format on */

int victim(int n);
extern uint8_t victim_text[] __asm__("victim");
extern uint8_t victim_a[], victim_b[], victim_c[], victim_d[], victim_end[];

static void *pointer(uint64_t address)
{
	union {
		uint64_t address;
		void *pointer;
	} u = { .address = address };

	return u.pointer;
}

static uint64_t at(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

/* ---- in place of process.c, install.c and patch.c ---- */

static struct sonde_agent *agent;
static struct sonde_agent_image image;
static size_t nr_patched;
static int patch_rc;
static bool crowded; /* no room where puns lead, threads in free windows */

pid_t sonde_process_pid(const struct sonde_process *process)
{
	(void)process;
	return getpid();
}

bool sonde_process_lives(const struct sonde_process *process)
{
	(void)process;
	return true;
}

int sonde_process_read(const struct sonde_process *process, uint64_t address,
		       void *to, size_t size)
{
	(void)process;
	memcpy(to, pointer(address), size);
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): process.h says so */
int sonde_process_map(struct sonde_process *process, int fd, uint64_t offset,
		      size_t size, int protection, uint64_t address,
		      uint64_t *ret_address)
{
	void *wanted = pointer(address);
	if (crowded && size <= PUN_CHUNK)
		return -EEXIST;
	void *got = mmap(wanted, size, protection,
			 MAP_SHARED | MAP_FIXED_NOREPLACE, fd, (off_t)offset);

	(void)process;
	if (got == MAP_FAILED)
		return -errno;
	*ret_address = at(got);
	return 0;
}

const struct sonde_agent_image *
sonde_process_image(const struct sonde_process *process)
{
	(void)process;
	image.hit = at(hit_thunk);
	return &image;
}

struct sonde_agent *sonde_process_agent(const struct sonde_process *process)
{
	(void)process;
	return agent;
}

uint64_t sonde_process_agent_address(const struct sonde_process *process)
{
	(void)process;
	return at(agent);
}

int sonde_patch_apply(struct sonde_process *process,
		      struct sonde_patch *patches, size_t nr)
{
	int rc = 0;

	(void)process;
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_window *w = patches[i].window;
		void *text = pointer(w->address);
		patches[i].rc = patch_rc;
		if (crowded && w->kind == SONDE_WINDOW_FREE)
			patches[i].rc = -EAGAIN;
		rc = rc ? rc : patches[i].rc;
		if (patches[i].rc)
			continue;
		assert_memory_equal(text, patches[i].before, w->nr_bytes);
		memcpy(text, patches[i].after, w->nr_bytes);
		nr_patched++;
	}
	return rc;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP] - 1;

	(void)signal;
	(void)info;
	for (size_t i = 0; i < SONDE_AGENT_TRAPS_MAX; i++)
		if (agent->traps[i].address == pc) {
			uc->uc_mcontext.gregs[REG_RIP] =
				(greg_t)agent->traps[i].to;
			return;
		}
	abort();
}

/* ---- tests ---- */

static struct sonde_probes *probes;
static uint8_t untouched[64];

static int setup(void **state)
{
	(void)state;
	struct sigaction trap = { .sa_sigaction = on_trap,
				  .sa_flags = SA_SIGINFO | SA_NODEFER };
	sigaction(SIGTRAP, &trap, NULL);
	uint64_t page = at(victim_a) & -4096ull;
	if (mprotect(pointer(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	agent = mmap(NULL, sizeof(*agent), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (agent == MAP_FAILED)
		return -1;
	memcpy(untouched, victim_text, sizeof(untouched));
	patch_rc = 0;
	crowded = false;
	hit_count = nr_patched = 0;
	return sonde_probes_new(NULL, &probes);
}

static int teardown(void **state)
{
	(void)state;
	sonde_probes_free(probes);
	munmap(agent, sizeof(*agent));
	return memcmp(untouched, victim_text, sizeof(untouched));
}

static uint32_t add(const void *address, bool breaks)
{
	const struct sonde_probe_spec spec = {
		.address = at(address),
		.breaks = breaks,
		.force_register = 255,
	};
	struct sonde_process_error error = { .text = "" };
	uint32_t index = 0;

	if (sonde_probes_add(probes, &spec, &error, &index))
		fail_msg("%s", error.text);
	return index;
}

static uint64_t hits_of(int n)
{
	hit_count = 0;
	assert_int_equal(victim(n), n + 3);
	return hit_count;
}

static void a_probe_is_hit_until_it_is_out(void **state)
{
	(void)state;
	assert_int_equal(hits_of(1), 0);
	uint32_t index = add(victim_text, false);
	assert_int_equal(hits_of(1), 1);
	assert_int_equal(hit_index, index);
	assert_int_equal(agent->probes[index].state, SONDE_AGENT_PROBE_ON);
	assert_int_equal(sonde_probes_remove(probes, index), 0);
	assert_int_equal(hits_of(1), 0);
	assert_memory_equal(victim_text, untouched, sizeof(untouched));
	assert_int_equal(sonde_probes_remove(probes, index), -ENOENT);
}

static void endbr64_stays(void **state)
{
	(void)state;
	add(victim_text, false);
	assert_memory_equal(victim_text, untouched, 4);
	assert_int_equal(*victim_a, 0xe9);
}

static void what_was_out_gets_its_pad_again(void **state)
{
	struct sonde_probe_facts first;
	struct sonde_probe_facts second;

	(void)state;
	uint32_t index = add(victim_a, false);
	assert_int_equal(sonde_probes_facts(probes, index, &first), 0);
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(sonde_probes_remove(probes, index), 0);
		assert_int_equal(add(victim_a, false), index);
		assert_int_equal(hits_of(2), 1);
	}
	assert_int_equal(sonde_probes_facts(probes, index, &second), 0);
	assert_int_equal(first.pad, second.pad);
}

/* What is collected has room, however often it is put in. */
static void plans_are_used_again(void **state)
{
	const struct sonde_agent_item item = {
		.kind = SONDE_AGENT_ITEM_REGISTERS,
		.mask = 1,
	};
	const struct sonde_agent_item other = {
		.kind = SONDE_AGENT_ITEM_REGISTERS,
		.mask = 2,
	};
	struct sonde_probe_spec spec = {
		.address = at(victim_a),
		.items = &item,
		.nr_items = 1,
	};
	uint64_t used = 0;
	uint32_t index;

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(sonde_probes_add(probes, &spec, NULL, &index),
				 0);
		assert_int_equal(agent->probes[index].items, PLANS_BEGIN);
		assert_int_equal(sonde_probes_remove(probes, index), 0);
		used = used ? used : agent->nr_plans;
		assert_int_equal(agent->nr_plans, used);
	}
	spec.items = &other;
	assert_int_equal(sonde_probes_add(probes, &spec, NULL, &index), 0);
	assert_int_equal(agent->probes[index].items, used);
	assert_int_equal(agent->nr_plans, 2 * used - PLANS_BEGIN);
}

static void several_share_a_pad(void **state)
{
	(void)state;
	uint32_t a = add(victim_a, false);
	uint32_t b = add(victim_a, false);
	assert_true(a != b);
	assert_int_equal(hits_of(3), 2);
	assert_int_equal(sonde_probes_remove(probes, a), 0);
	assert_int_equal(hits_of(3), 1);
	assert_int_equal(hit_index, b);
	assert_int_equal(sonde_probes_remove(probes, b), 0);
	assert_int_equal(hits_of(3), 0);
}

static void a_probe_inside_a_window_is_in_its_pad(void **state)
{
	(void)state;
	uint32_t a = add(victim_a, false);
	uint32_t b = add(victim_b, false);
	uint32_t c = add(victim_c, false);
	assert_int_equal(hits_of(4), 3);
	assert_int_equal(hit_index, c);
	assert_int_equal(sonde_probes_remove(probes, a), 0);
	assert_int_equal(hits_of(4), 2);
	assert_int_equal(sonde_probes_remove(probes, b), 0);
	assert_int_equal(hits_of(4), 1);
	assert_int_equal(sonde_probes_remove(probes, c), 0);
}

static void a_window_over_another_probe_is_a_trap(void **state)
{
	struct sonde_probe_facts facts;

	(void)state;
	uint32_t b = add(victim_b, false);
	uint32_t a = add(victim_a, false);
	assert_int_equal(hits_of(5), 2);
	assert_int_equal(hit_index, b);
	assert_int_equal(sonde_probes_facts(probes, a, &facts), 0);
	assert_int_equal(facts.kind, SONDE_WINDOW_TRAP);
	assert_int_equal(sonde_probes_remove(probes, b), 0);
	assert_int_equal(hits_of(5), 1);
	assert_int_equal(sonde_probes_remove(probes, a), 0);
}

static void all_or_none_are_put_in(void **state)
{
	const struct sonde_probe_spec specs[] = {
		{ .address = at(victim_a), .force_register = 255 },
		{ .address = at(victim_a) + 2, .force_register = 255 },
	};
	struct sonde_process_error error = { .text = "" };
	uint32_t indexes[2];

	(void)state;
	assert_int_equal(sonde_probes_add_all(probes, specs, 2, &error,
					      indexes),
			 -EINVAL);
	assert_true(error.text[0]);
	assert_int_equal(hits_of(6), 0);
	patch_rc = -EBUSY;
	assert_int_equal(sonde_probes_add_all(probes, specs, 1, &error,
					      indexes),
			 -EBUSY);
	patch_rc = 0;
	assert_int_equal(hits_of(6), 0);
	assert_int_equal(
		sonde_probes_add_all(probes, specs, 1, &error, indexes), 0);
	assert_int_equal(hits_of(6), 1);
}

/* The first one's window was to have both. */
static void neighbours_get_traps_where_it_is_crowded(void **state)
{
	const struct sonde_probe_spec specs[] = {
		{ .address = at(victim_a) },
		{ .address = at(victim_b) },
	};
	struct sonde_process_error error = { "" };
	struct sonde_probe_facts facts;
	uint32_t indexes[2];

	(void)state;
	crowded = true;
	assert_int_equal(
		sonde_probes_add_all(probes, specs, 2, &error, indexes), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sonde_probes_facts(probes, indexes[i], &facts),
				 0);
		assert_int_equal(facts.kind, SONDE_WINDOW_TRAP);
	}
	assert_int_equal(hits_of(1), 2);
}

static void hidden_bytes_are_the_program_s_own(void **state)
{
	uint8_t bytes[64];

	(void)state;
	add(victim_a, false);
	add(victim_d, false);
	memcpy(bytes, victim_text, sizeof(bytes));
	assert_int_not_equal(memcmp(bytes, untouched, sizeof(bytes)), 0);
	sonde_probes_hide(probes, at(victim_text), bytes, sizeof(bytes));
	assert_memory_equal(bytes, untouched, sizeof(bytes));
	/* from the middle of a window on */
	memcpy(bytes, victim_a + 2, 9);
	sonde_probes_hide(probes, at(victim_a) + 2, bytes, 9);
	assert_memory_equal(bytes, untouched + 6, 9);
}

static void a_pc_in_a_pad_has_an_address(void **state)
{
	uint64_t address;
	uint64_t go_on;
	bool exact;

	(void)state;
	assert_int_equal(sonde_probes_copy_of(probes, at(victim_a)), 0);
	add(victim_a, false);
	uint64_t a = sonde_probes_copy_of(probes, at(victim_a));
	uint64_t b = sonde_probes_copy_of(probes, at(victim_b));
	assert_true(a && b > a);
	assert_int_equal(sonde_probes_site_of(probes, a + 3), at(victim_a));
	assert_int_equal(sonde_probes_site_of(probes, b), at(victim_b));
	assert_int_equal(sonde_probes_site_of(probes, 4711), 4711);
	assert_true(sonde_probes_in_pad(probes, b, &address, &exact, &go_on));
	assert_int_equal(address, at(victim_b));
	assert_true(exact);
	assert_true(sonde_probes_in_pad(probes, a, &address, &exact, &go_on));
	assert_false(exact);
	assert_false(sonde_probes_in_pad(probes, at(victim_a), &address, &exact,
					 &go_on));
}

static uint64_t broke_at, broke_address;

static void on_break(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t go_on;

	(void)signal;
	(void)info;
	broke_at = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	if (sonde_probes_broke(probes, broke_at, &broke_address, &go_on))
		abort();
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)go_on;
}

static void a_break_traps_before_the_hits(void **state)
{
	struct sigaction trap = { .sa_sigaction = on_break,
				  .sa_flags = SA_SIGINFO | SA_NODEFER };

	(void)state;
	add(victim_a, false);
	uint32_t index = add(victim_a, true);
	sigaction(SIGTRAP, &trap, NULL);
	broke_address = 0;
	assert_int_equal(hits_of(7), 1);
	assert_int_equal(broke_address, at(victim_a));
	/* off: not in the pad at all */
	broke_address = 0;
	assert_int_equal(sonde_probes_enable(probes, index, false), 0);
	assert_int_equal(hits_of(7), 1);
	assert_int_equal(broke_address, 0);
	assert_int_equal(sonde_probes_enable(probes, index, true), 0);
	assert_int_equal(hits_of(7), 1);
	assert_int_equal(broke_address, at(victim_a));
}

/* ---- branches ---- */

extern uint8_t led_into[];

static bool is_led_inside(struct sonde_patch_code *text, size_t from,
			  uint8_t nr_bytes)
{
	const struct sonde_window window = {
		.address = at(led_into + from),
		.nr_bytes = nr_bytes,
	};

	return sonde_patch_code_leads_inside(text, &window);
}

/* A window's first byte may be led to: there is the jump to the pad. */
static void a_branch_from_elsewhere_is_found_inside_a_window(void **unused)
{
	struct sonde_patch_code *text;

	(void)unused;
	assert_int_equal(sonde_patch_code_new(NULL, &text), 0);
	for (size_t from = 0; from < 8; from++)
		for (uint8_t nr = 1; nr < 8; nr++)
			assert_int_equal(is_led_inside(text, from, nr),
					 from < 3 && from + nr > 3);
	sonde_patch_code_free(text);
}

#define PROBES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROBES_TEST(a_probe_is_hit_until_it_is_out),
		PROBES_TEST(endbr64_stays),
		PROBES_TEST(what_was_out_gets_its_pad_again),
		PROBES_TEST(plans_are_used_again),
		PROBES_TEST(several_share_a_pad),
		PROBES_TEST(a_probe_inside_a_window_is_in_its_pad),
		PROBES_TEST(a_window_over_another_probe_is_a_trap),
		PROBES_TEST(all_or_none_are_put_in),
		PROBES_TEST(neighbours_get_traps_where_it_is_crowded),
		PROBES_TEST(hidden_bytes_are_the_program_s_own),
		PROBES_TEST(a_pc_in_a_pad_has_an_address),
		PROBES_TEST(a_break_traps_before_the_hits),
		cmocka_unit_test(
			a_branch_from_elsewhere_is_found_inside_a_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
