/* SPDX-License-Identifier: MIT */
/*
 * test_clock_narrow.c - 64 bits of time from a counter that wraps.
 *
 * The machine is made up: `truth` is the time in 64 bits, the counter shows its
 * low bits (and rubbish above them), the other clock is slow and imprecise. So
 * each reading has one right value: what truth was when its counter was read.
 *
 * Interrupts come in three ways. Chosen: all of them, at each step of the
 * algorithm, two deep (exhaustive). By the machine: signals sent by a thread,
 * which land anywhere. By the CPU, where it can be told to trap after each
 * instruction: between any two.
 */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* The names of the steps, as clock/narrow.h has them. */
/* NOLINTBEGIN(readability-identifier-naming): they are another file's */
enum step {
	now_index,
	now_slot,
	far_index,
	far_time,
	far_slot,
	far_other,
	update_read,
	update_time,
	update_slot,
	update_done,
	NR_STEPS,
};
/* NOLINTEND(readability-identifier-naming) */

static uint64_t counter_read(void);
static uint64_t other_read(void);
static uint64_t other_ticks(uint64_t span);
static void at_step(enum step step);

#define SONDE_NARROW_COUNTER()   counter_read()
#define SONDE_NARROW_OTHER()     other_read()
#define SONDE_NARROW_TICKS(span) other_ticks(span)
#define SONDE_NARROW_STEP(name)  at_step(name)

#include "clock/narrow.h"

#define OTHER_START 1000000ull /* so that its difference to truth matters */

/* ---- the machine ---- */

static uint64_t truth;
static uint64_t read_at;    /* truth, when the counter was last read */
static uint64_t other_unit; /* ticks of the counter in one of the other clock */
static int64_t other_fast;  /* the other clock's error, in ticks */
static struct sonde_narrow narrow;

/* Time and errors are counted by interrupts too: one step each. */
static void pass(uint64_t ticks)
{
	(void)sonde_add_relaxed(&truth, ticks);
}

static uint64_t counter_read(void)
{
	uint64_t now = sonde_load_relaxed(&truth);
	uint64_t rubbish = now * 0x9e3779b97f4a7c15ull;

	read_at = now;
	return (now & narrow.mask) | (rubbish & ~narrow.mask);
}

static uint64_t other_read(void)
{
	uint64_t now = sonde_load_relaxed(&truth);

	return OTHER_START + (now + (uint64_t)other_fast) / other_unit;
}

static uint64_t other_ticks(uint64_t span)
{
	return span * other_unit;
}

static void machine_start(unsigned int bits, uint64_t at, uint64_t unit)
{
	truth = at;
	other_unit = unit;
	other_fast = 0;
	sonde_narrow_init(&narrow, bits, truth, other_read());
}

enum op {
	OP_NOW,
	OP_FAR,
	OP_UPDATE,
	NR_OPS,
};

static uint64_t nr_wrong;

static void expect(bool is_right)
{
	if (!is_right)
		(void)sonde_add_relaxed(&nr_wrong, 1);
}

/* A reading, checked against the truth; or an update. */
static void op_run(enum op op)
{
	uint64_t other;

	if (op == OP_UPDATE)
		sonde_narrow_update(&narrow);
	else if (op == OP_NOW)
		expect(sonde_narrow_now(&narrow) == read_at);
	else
		expect(sonde_narrow_far(&narrow, &other) == read_at);
}

/* What was interrupted goes on: its own reading of the counter is the last. */
static void op_nested(enum op op)
{
	uint64_t saved = read_at;

	op_run(op);
	read_at = saved;
}

static void (*step_hook)(enum step step);

static void at_step(enum step step)
{
	sonde_barrier();
	if (step_hook)
		step_hook(step);
	sonde_barrier();
}

/* ---- all interrupts there can be ---- */

#define LEVELS 2

/* What comes at a step of the level below, after some time has passed. */
struct interrupt {
	enum step step;
	enum op op;
	uint64_t after;
};

static struct interrupt plan[LEVELS];
static bool is_due[LEVELS];
static unsigned int level;
static uint64_t nr_taken;

static void take_planned(enum step step)
{
	unsigned int mine = level;

	if (mine == LEVELS || !is_due[mine] || plan[mine].step != step)
		return;
	is_due[mine] = false;
	nr_taken++;
	pass(plan[mine].after);
	level++;
	op_nested(plan[mine].op);
	level--;
}

/* One operation with the planned interrupts, and what is read after it. */
static void scenario(enum op op, uint64_t elapsed)
{
	pass(elapsed);
	is_due[0] = true;
	is_due[1] = true;
	op_run(op);
	is_due[0] = false;
	is_due[1] = false;
	op_run(OP_FAR);
	op_run(OP_UPDATE);
	op_run(OP_NOW);
	op_run(OP_FAR);
}

/* Updates don't interrupt one another; `now` is for whom an update was not long
 * ago. */
static bool may_be(enum op op, bool is_awake)
{
	bool has_update = op == OP_UPDATE;

	if (!is_awake &&
	    (op == OP_NOW || plan[0].op == OP_NOW || plan[1].op == OP_NOW))
		return false;
	for (unsigned int i = 0; i < LEVELS; i++) {
		if (has_update && plan[i].op == OP_UPDATE)
			return false;
		has_update |= plan[i].op == OP_UPDATE;
	}
	return true;
}

/* All times from an update to an operation, and to its interrupts, that are
 * less than a period together; and `periods` more, asleep. Interrupts hold up
 * a count of periods, hence an update, for less than half of one. */
static void all_times(unsigned int bits, enum op op, uint64_t periods)
{
	uint64_t period = 1ull << bits;
	bool is_half = periods || op == OP_UPDATE || plan[0].op == OP_UPDATE ||
		       plan[1].op == OP_UPDATE;
	uint64_t late = is_half ? period / 2 : period;

	for (uint64_t start = 0; start < period; start++)
		for (uint64_t t = 0; t < period * period * period; t++) {
			uint64_t elapsed = t & (period - 1);

			plan[0].after = t >> bits & (period - 1);
			plan[1].after = t >> 2 * bits;
			if (plan[0].after + plan[1].after >= late ||
			    elapsed + plan[0].after + plan[1].after >= period)
				continue;
			machine_start(bits, start, 1);
			scenario(op, elapsed + periods * period);
		}
}

static void all_interrupts(unsigned int bits, uint64_t periods)
{
	for (unsigned int i = 0; i < NR_STEPS * NR_STEPS * NR_OPS * NR_OPS;
	     i++) {
		unsigned int n = i;

		plan[0].step = (enum step)(n % NR_STEPS);
		n /= NR_STEPS;
		plan[1].step = (enum step)(n % NR_STEPS);
		n /= NR_STEPS;
		plan[0].op = (enum op)(n % NR_OPS);
		plan[1].op = (enum op)(n / NR_OPS);
		for (int op = 0; op < NR_OPS; op++)
			if (may_be((enum op)op, periods == 0))
				all_times(bits, (enum op)op, periods);
	}
}

static void narrow_is_right_under_all_interrupts_two_deep(void **state)
{
	(void)state;
	nr_wrong = 0;
	nr_taken = 0;
	step_hook = take_planned;
	for (unsigned int bits = 1; bits <= 3; bits++)
		for (uint64_t periods = 0; periods <= 2; periods++)
			all_interrupts(bits, periods);
	step_hook = NULL;
	assert_int_equal(nr_wrong, 0);
	assert_true(nr_taken > 100000);
}

/* ---- sleeping, and other widths ---- */

static void narrow_counts_periods_by_an_imprecise_clock(void **state)
{
	(void)state;
	nr_wrong = 0;
	for (unsigned int bits = 6; bits <= 8; bits++) {
		uint64_t period = 1ull << bits;
		/* The other clock's unit adds one at each end. */
		int64_t most = (int64_t)period / 2 - 9;

		for (uint64_t start = 0; start < period; start += 3)
			for (uint64_t slept = 0; slept < 5 * period; slept += 7)
				for (int64_t off = -most; off <= most;
				     off += most / 4) {
					machine_start(bits, start + period, 4);
					pass(slept);
					other_fast = off;
					op_run(OP_FAR);
					op_run(OP_UPDATE);
					pass(period - 1);
					op_run(OP_NOW);
				}
	}
	assert_int_equal(nr_wrong, 0);
}

static void narrow_extends_any_width_from_8_to_63_bits(void **state)
{
	(void)state;
	nr_wrong = 0;
	for (unsigned int bits = SONDE_NARROW_BITS_MIN;
	     bits <= SONDE_NARROW_BITS_MAX; bits++) {
		uint64_t period = 1ull << bits;

		machine_start(bits, period - 3, 1);
		for (int i = 0; i < 64 && truth < UINT64_MAX - period; i++) {
			pass(period - 1);
			op_run(OP_NOW);
			op_run(OP_FAR);
			op_run(OP_UPDATE);
		}
	}
	assert_int_equal(nr_wrong, 0);
}

/* ---- interrupts as the machine sends them ---- */

#define BITS    16u
#define PERIOD  (1ull << BITS)
#define WRAPS   2000000u
#define SIGNALS 2000u /* at least so many, in the midst of operations */
#define TRAPS   100000u
#define IRQ     SIGUSR1
#define NMI     SIGUSR2

static volatile sig_atomic_t is_masked;  /* as by disabled interrupts */
static volatile sig_atomic_t is_inside;  /* an operation */
static volatile sig_atomic_t is_updated; /* and an interrupt has updated */
static volatile sig_atomic_t is_late; /* and so much time may not pass more */
static volatile sig_atomic_t is_over;
static uint64_t nr_inside; /* interrupts that found an operation */
static uint64_t last_time;
static uint64_t seed;

static uint64_t random_to(uint64_t limit)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % limit;
}

/*
 * An interrupt or an NMI. Time passes in the first few that come between two
 * operations only, so that less than a period does in all; and one of them
 * updates, so that a reader is not interrupted by two updates.
 */
static void on_interrupt(int which)
{
	bool may_update = which == IRQ && !is_masked && !is_updated;

	nr_inside += (uint64_t)is_inside;
	if (is_late < 4) {
		is_late++;
		pass(random_to(PERIOD / 16));
	}
	op_nested(OP_NOW);
	if (may_update) {
		is_masked = 1;
		is_updated = 1;
		op_nested(OP_UPDATE);
		is_masked = 0;
	}
	op_nested(random_to(2) ? OP_NOW : OP_FAR);
}

/* The reading itself never goes back, whatever the truth. */
static void thread_reads(void)
{
	uint64_t time = sonde_narrow_now(&narrow);

	expect(time == read_at && time >= last_time);
	last_time = time;
}

/* A thread's turn: at most half a period passes here, and a quarter in its
 * interrupts, before the update that ends it. */
static void thread_turn(void)
{
	is_late = 0;
	is_updated = 0;
	is_inside = 1;
	pass(random_to(PERIOD / 4));
	thread_reads();
	pass(random_to(PERIOD / 4));
	op_run(OP_FAR);
	is_masked = 1;
	op_run(OP_UPDATE);
	is_masked = 0;
	is_inside = 0;
}

static void *send_signals(void *argument)
{
	const pthread_t *to = argument;

	for (uint32_t i = 0; !is_over; i++)
		(void)pthread_kill(*to, i & 1 ? IRQ : NMI);
	return NULL;
}

static void signals_start(void)
{
	struct sigaction action = { .sa_handler = on_interrupt };

	/* An interrupt is interrupted by NMIs, these by nothing. */
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, IRQ);
	assert_int_equal(sigaction(IRQ, &action, NULL), 0);
	sigaddset(&action.sa_mask, NMI);
	assert_int_equal(sigaction(NMI, &action, NULL), 0);
}

static void thread_starts(void)
{
	seed = 1;
	nr_wrong = 0;
	nr_inside = 0;
	last_time = 0;
	machine_start(BITS, 0, 1);
}

static void
narrow_is_right_through_two_million_wraps_under_signals(void **state)
{
	pthread_t self = pthread_self();
	pthread_t sender;

	(void)state;
	thread_starts();
	signals_start();
	is_over = 0;
	assert_int_equal(pthread_create(&sender, NULL, send_signals, &self), 0);
	while (truth / PERIOD < WRAPS || nr_inside < SIGNALS)
		thread_turn();
	is_over = 1;
	assert_int_equal(pthread_join(sender, NULL), 0);
	assert_int_equal(nr_wrong, 0);
}

#if defined(__x86_64__)

#define TRAP_FLAG 0x100ull

static uint64_t nr_traps;

/* Each instruction of the thread's turn is followed by this. */
static void on_trap(int number)
{
	(void)number;
	nr_traps++;
	on_interrupt(nr_traps & 1 ? IRQ : NMI);
}

static void
narrow_is_right_with_an_interrupt_after_each_instruction(void **state)
{
	struct sigaction action = { .sa_handler = on_trap };

	(void)state;
	sigemptyset(&action.sa_mask);
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	thread_starts();
	nr_traps = 0;
	/* An odd number of instructions in a turn has each of them meet both. */
	while (nr_traps < TRAPS) {
		uint64_t flags = __builtin_ia32_readeflags_u64();

		__builtin_ia32_writeeflags_u64(flags | TRAP_FLAG);
		thread_turn();
		__builtin_ia32_writeeflags_u64(flags);
		if (random_to(2))
			nr_traps++;
	}
	assert_int_equal(nr_wrong, 0);
	assert_true(nr_inside > TRAPS / 4);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(narrow_is_right_under_all_interrupts_two_deep),
		cmocka_unit_test(narrow_counts_periods_by_an_imprecise_clock),
		cmocka_unit_test(narrow_extends_any_width_from_8_to_63_bits),
		cmocka_unit_test(
			narrow_is_right_through_two_million_wraps_under_signals),
#if defined(__x86_64__)
		cmocka_unit_test(
			narrow_is_right_with_an_interrupt_after_each_instruction),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
