/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_slices.c - every report about a kernel says the same of a trace
 * in one slice and in many.
 *
 * The trace is of a small machine that does things at random: threads on three
 * CPUs switch, sleep, wake one another, make system calls, fork and end, and
 * are interrupted. Packets are small, so that a slice may be as short as a few
 * events, and what lasts spans many of them. Now and then a CPU loses events,
 * and its next packet says so.
 */
#include "analysis/analysis.h"

#include "reader_traces.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/attribution.h"
#include "base/port.h"
#include "random.h"
#include "reader/reader.h"
#include "report_text.h"

#define SEED      20261121u
#define CPUS      3
#define TASKS     14
#define STEPS     9000
#define FIRST_TID 100

enum id {
	SWITCH,
	WAKING,
	WAKEUP,
	CALL_READ,
	RETURN_READ,
	CALL_OPEN,
	RETURN_OPEN,
	CALL_CLOSE,
	RETURN_CLOSE,
	IRQ_ENTRY,
	IRQ_EXIT,
	SOFTIRQ_RAISE,
	SOFTIRQ_ENTRY,
	SOFTIRQ_EXIT,
	RQ_INSERT,
	RQ_ISSUE,
	RQ_COMPLETE,
	PAGE_ALLOC,
	PAGE_FREE,
	KMALLOC,
	FORK,
	PROCESS,
	DESCRIPTOR,
};

/* clang-format off */
#define RQ "u32 dev; u64 sector; u32 nr_sector; u32 rwbs; u32 tid;"
static const char metadata_end[] =
	MADE_CLOCK
	MADE_STREAM_CLASS("")
	MADE_EVENT("sched_switch", 0,
	      "u32 prev_tid; u32 prev_prio; u64 prev_state; u32 next_tid;"
	      "u32 next_prio; string prev_comm; string next_comm;")
	MADE_EVENT("sched_waking", 1, "u32 tid; u32 prio; string comm;")
	MADE_EVENT("sched_wakeup", 2, "u32 tid; u32 prio; string comm;")
	MADE_EVENT("syscall_entry_read", 3, "u32 fd; u64 count;")
	MADE_EVENT("syscall_exit_read", 4, "i32 ret;")
	MADE_EVENT("syscall_entry_openat", 5, "string filename;")
	MADE_EVENT("syscall_exit_openat", 6, "i32 ret;")
	MADE_EVENT("syscall_entry_close", 7, "u32 fd;")
	MADE_EVENT("syscall_exit_close", 8, "i32 ret;")
	MADE_EVENT("irq_handler_entry", 9, "u32 irq; string name;")
	MADE_EVENT("irq_handler_exit", 10, "u32 irq; u32 ret;")
	MADE_EVENT("irq_softirq_raise", 11, "u32 vec;")
	MADE_EVENT("irq_softirq_entry", 12, "u32 vec;")
	MADE_EVENT("irq_softirq_exit", 13, "u32 vec;")
	MADE_EVENT("block_rq_insert", 14, RQ)
	MADE_EVENT("block_rq_issue", 15, RQ)
	MADE_EVENT("block_rq_complete", 16, RQ)
	MADE_EVENT("kmem_mm_page_alloc", 17, "u32 order;")
	MADE_EVENT("kmem_mm_page_free", 18, "u32 order;")
	MADE_EVENT("kmem_kmalloc", 19,
	      "u64 call_site; u64 bytes_req; u64 bytes_alloc;")
	MADE_EVENT("sched_process_fork", 20,
	      "u32 child_tid; u32 child_pid; u32 parent_pid;"
	      "string child_comm;")
	MADE_EVENT("lttng_statedump_process_state", 21,
	      "u32 tid; u32 pid; u32 ppid; string name;")
	MADE_EVENT("lttng_statedump_file_descriptor", 22,
	      "u32 pid; u32 fd; string filename;");
/* clang-format on */

static uint64_t state = SEED;

/* ---- the streams, one for each CPU, and the time ---- */

static struct made_cpu cpus[CPUS];
static uint64_t now;

/* Who made the event of that time: times are all different. */
#define TIMES (1000 + 3 * 30 * STEPS)
static uint32_t truth[TIMES];

/* Begins an event; its fields are for the caller. */
static struct made *begin_event(struct made_cpu *cpu, enum id id)
{
	now += 1 + random_below(&state, 30);
	assert_true(now < TIMES);
	truth[now] = cpu->task;
	return made_cpu_event(cpu, now, (uint16_t)id);
}

/* ---- the machine ---- */

static struct task {
	uint32_t tid; /* 0: there is none */
	uint32_t pid;
	enum {
		RUNNING,
		READY,
		BLOCKED
	} is;
	int call; /* the event that began it; -1 none */
} tasks[TASKS];
static uint32_t next_tid = FIRST_TID;

static struct task *task_of(const struct made_cpu *cpu)
{
	for (size_t i = 0; cpu->task && i < TASKS; i++)
		if (tasks[i].tid == cpu->task)
			return &tasks[i];
	return NULL;
}

/* A task that waits, or NULL. */
static struct task *find_task(int is)
{
	size_t from = random_below(&state, TASKS);

	for (size_t i = 0; i < TASKS; i++) {
		struct task *task = &tasks[(from + i) % TASKS];

		if (task->tid && (int)task->is == is)
			return task;
	}
	return NULL;
}

static void put_switch(struct made_cpu *cpu, uint64_t prev_state, uint32_t next)
{
	struct made *file = begin_event(cpu, SWITCH);

	made_u32(file, cpu->task);
	made_u32(file, 20 + cpu->task % 3);
	made_u64(file, prev_state);
	made_u32(file, next);
	made_u32(file, 20 + next % 3);
	made_name(file, "task", cpu->task);
	made_name(file, "task", next);
}

static void switch_tasks(struct made_cpu *cpu)
{
	enum {
		PREEMPTED = 0,
		SLEEPS = 1,
		DEAD = 32
	};
	struct task *prev = task_of(cpu);
	struct task *next = random_below(&state, 4) ? find_task(READY) : NULL;
	uint64_t prev_state = random_below(&state, 2) ? SLEEPS : PREEMPTED;

	if (!random_below(&state, 40))
		prev_state = DEAD;
	if (prev)
		prev->is = prev_state == PREEMPTED ? READY : BLOCKED;
	else
		prev_state = PREEMPTED;
	if (!prev && !next)
		return;
	put_switch(cpu, prev_state, next ? next->tid : 0);
	if (prev && prev_state == DEAD)
		prev->tid = 0;
	if (next)
		next->is = RUNNING;
	cpu->task = next ? next->tid : 0;
}

static void wake(struct made_cpu *cpu)
{
	/* Waking who runs means nothing, but is in the trace. */
	struct task *task = find_task(random_below(&state, 8) ? (int)BLOCKED :
								(int)RUNNING);
	size_t nr = 1 + random_below(&state, 2);

	for (size_t i = 0; task && i < nr; i++) {
		struct made *file =
			begin_event(i ? &cpus[random_below(&state, CPUS)] : cpu,
				    i ? WAKEUP : WAKING);

		made_u32(file, task->tid);
		made_u32(file, 20);
		made_name(file, "task", task->tid);
	}
	if (task && task->is == BLOCKED)
		task->is = READY;
}

static void call(struct made_cpu *cpu)
{
	static const enum id calls[] = { CALL_READ, CALL_OPEN, CALL_CLOSE };
	struct task *task = task_of(cpu);
	struct made *file;

	if (!task)
		return;
	if (task->call >= 0) {
		file = begin_event(cpu, (enum id)(task->call + 1));
		made_u32(file, (uint32_t)random_below(&state, 9) - 2);
		task->call = -1;
		return;
	}
	task->call = (int)calls[random_below(&state, SONDE_ARRAY_SIZE(calls))];
	file = begin_event(cpu, (enum id)task->call);
	if (task->call == CALL_OPEN)
		made_name(file, "/file", random_below(&state, 30));
	else
		made_u32(file, (uint32_t)random_below(&state, 8));
	if (task->call == CALL_READ)
		made_u64(file, 4096);
}

static void interrupt(struct made_cpu *cpu)
{
	struct made *file =
		begin_event(cpu, cpu->in_irq ? IRQ_EXIT : IRQ_ENTRY);

	made_u32(file, 17);
	if (cpu->in_irq)
		made_u32(file, 1);
	else
		made_name(file, "disk", 0);
	cpu->in_irq = !cpu->in_irq;
}

static void soft_interrupt(struct made_cpu *cpu)
{
	if (random_below(&state, 2)) {
		made_u32(begin_event(cpu, SOFTIRQ_RAISE), 3);
		return;
	}
	made_u32(begin_event(cpu,
			     cpu->in_softirq ? SOFTIRQ_EXIT : SOFTIRQ_ENTRY),
		 3);
	cpu->in_softirq = !cpu->in_softirq;
}

static void request(struct made_cpu *cpu)
{
	struct made *file = begin_event(
		cpu, (enum id)(RQ_INSERT + random_below(&state, 3)));

	made_u32(file, 8 << 20);
	made_u64(file, random_below(&state, 6) * 8);
	made_u32(file, 8);
	made_u32(file, (uint32_t)random_below(&state, 2));
	made_u32(file, cpu->task);
}

static void memory(struct made_cpu *cpu)
{
	enum id id = (enum id)(PAGE_ALLOC + random_below(&state, 3));
	struct made *file = begin_event(cpu, id);

	if (id == KMALLOC) {
		made_u64(file,
			 0xffffffff81000000 + random_below(&state, 5) * 16);
		made_u64(file, 100);
		made_u64(file, 128);
	} else {
		made_u32(file, (uint32_t)random_below(&state, 3));
	}
}

/* A new task, of its own process or its parent's. */
static void fork_task(struct made_cpu *cpu)
{
	struct task *parent = task_of(cpu);
	struct task *child = NULL;
	struct made *file;

	for (size_t i = 0; i < TASKS; i++)
		if (!tasks[i].tid)
			child = &tasks[i];
	if (!parent || !child)
		return;
	*child = (struct task){ next_tid, next_tid, BLOCKED, -1 };
	next_tid++;
	if (random_below(&state, 2))
		child->pid = parent->pid;
	file = begin_event(cpu, FORK);
	made_u32(file, child->tid);
	made_u32(file, child->pid);
	made_u32(file, parent->pid);
	made_name(file, "task", child->tid);
}

static void dump(struct made_cpu *cpu)
{
	const struct task *task = find_task((int)random_below(&state, 3));
	struct made *file;

	if (!task)
		return;
	file = begin_event(cpu, PROCESS);
	made_u32(file, task->tid);
	made_u32(file, task->pid);
	made_u32(file, 1);
	made_name(file, "task", task->tid);
	file = begin_event(cpu, DESCRIPTOR);
	made_u32(file, task->pid);
	made_u32(file, (uint32_t)random_below(&state, 8));
	made_name(file, "/dumped", random_below(&state, 5));
}

static void lose(struct made_cpu *cpu)
{
	if (cpu->losing || random_below(&state, 5))
		return;
	made_cpu_end_packet(cpu, now);
	cpu->losing = 1 + (uint32_t)random_below(&state, 12);
}

static struct sonde_trace *make_trace(bool with_losses)
{
	static void (*const things[])(struct made_cpu * cpu) = {
		switch_tasks,   switch_tasks, wake,   wake,    call,
		call,           interrupt,    memory, request, dump,
		soft_interrupt, fork_task,    lose,
	};
	size_t nr_things = SONDE_ARRAY_SIZE(things) - !with_losses;

	made_cpus_begin(cpus, CPUS);
	now = 1000;
	for (size_t i = 0; i < TASKS / 2; i++, next_tid++)
		tasks[i] = (struct task){ next_tid, next_tid, READY, -1 };
	for (size_t step = 0; step < STEPS; step++)
		things[random_below(&state, nr_things)](
			&cpus[random_below(&state, CPUS)]);
	return made_cpus_open(cpus, CPUS, now, metadata_end);
}

/* ---- the reports ---- */

static void compare(struct sonde_trace *trace,
		    const struct sonde_filter *filter)
{
	static const char *const names[] = {
		"cputop", "sched",  "syscalls", "irq",
		"io",     "memory", "activity",
	};
	const struct sonde_analysis_args asked = { .trace = trace,
						   .map.filter = filter };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++)
		assert_report_same(names[i], &asked);
}

static void one_slice_and_many_say_the_same(void **unused)
{
	struct sonde_trace *trace = make_trace(false);
	char *text =
		report_text("cputop",
			    &(struct sonde_analysis_args){ .trace = trace },
			    UINT64_MAX, 1);

	(void)unused;
	assert_null(strstr(text, "events were lost"));
	free(text);
	compare(trace, NULL);
	sonde_trace_close(trace);
}

static void one_slice_and_many_say_the_same_of_lossy_traces(void **unused)
{
	struct sonde_trace *trace = make_trace(true);
	char *text =
		report_text("sched",
			    &(struct sonde_analysis_args){ .trace = trace },
			    UINT64_MAX, 1);

	(void)unused;
	assert_non_null(strstr(text, "events were lost"));
	free(text);
	compare(trace, NULL);
	sonde_trace_close(trace);
}

static void one_slice_and_many_say_the_same_with_a_filter(void **unused)
{
	struct sonde_trace *trace = make_trace(true);
	struct sonde_trace_error error;
	struct sonde_filter *filter;

	(void)unused;
	assert_int_equal(sonde_filter_new(trace, "$cpu != 1", &error, &filter),
			 0);
	compare(trace, filter);
	sonde_filter_free(filter);
	sonde_trace_close(trace);
}

static struct sonde_attribution *make_attribution(struct sonde_trace *trace,
						  uint64_t slice_bytes)
{
	struct sonde_attribution *made = NULL;

	assert_int_equal(sonde_attribution_new(trace, 0, slice_bytes,
					       SONDE_ATTRIBUTION_MOST, &made),
			 0);
	assert_non_null(made);
	return made;
}

/* Compares what is said of each event; returns of how many nothing is. */
static size_t check_attribution(struct sonde_trace *trace)
{
	struct sonde_attribution *one = make_attribution(trace, UINT64_MAX);
	struct sonde_attribution *many = make_attribution(trace, 1);
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	size_t nr_unknown = 0;

	assert_int_equal(sonde_cursor_new(trace, NULL, &cursor), 0);
	while (sonde_cursor_next(cursor, &event) == 1) {
		int32_t tid = sonde_attribution_tid(one, event);
		const char *name = sonde_attribution_name(one, event, tid);
		char expected[32];

		assert_int_equal(sonde_attribution_tid(many, event), tid);
		assert_int_equal(sonde_attribution_pid(many, tid),
				 sonde_attribution_pid(one, tid));
		if (tid > 0) {
			(void)snprintf(expected, sizeof(expected), "task%d",
				       tid);
			assert_string_equal(name, expected);
			assert_string_equal(
				sonde_attribution_name(many, event, tid), name);
		}
		if (tid < 0)
			nr_unknown++;
		else
			assert_int_equal(tid, truth[event->time_ns]);
	}
	sonde_cursor_free(cursor);
	sonde_attribution_free(one);
	sonde_attribution_free(many);
	return nr_unknown;
}

static void each_event_is_its_threads_or_nobodys(void **unused)
{
	struct sonde_trace *trace = make_trace(false);

	(void)unused;
	assert_int_equal(check_attribution(trace), 0);
	sonde_trace_close(trace);
	trace = make_trace(true);
	assert_in_range(check_attribution(trace), 1, STEPS);
	sonde_trace_close(trace);
}

/* Of how many events nobody is the thread. */
static size_t count_nobodys(struct sonde_trace *trace)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	size_t nr = 0;

	assert_int_equal(sonde_cursor_new(trace, NULL, &cursor), 0);
	while (sonde_cursor_next(cursor, &event) == 1)
		nr += sonde_event_tid(event) < 0;
	sonde_cursor_free(cursor);
	return nr;
}

static int make_of_few(struct sonde_trace *trace, size_t machine,
		       struct sonde_attribution **ret_attribution)
{
	return sonde_attribution_new(trace, machine, 1, STEPS / 4,
				     ret_attribution);
}

static void of_more_than_is_kept_nothing_is_said_and_that_is_told(void **unused)
{
	struct sonde_attributor of_few = sonde_attributor;
	struct sonde_trace *trace = make_trace(false);

	(void)unused;
	assert_null(sonde_trace_attribution_lack(trace, 0)); /* not asked */
	assert_int_equal(count_nobodys(trace), 0);
	assert_null(sonde_trace_attribution_lack(trace, 0));
	sonde_trace_close(trace);
	of_few.make = make_of_few;
	trace = make_trace(false);
	trace->attributor = &of_few;
	assert_true(count_nobodys(trace) > STEPS / 2);
	assert_non_null(strstr(sonde_trace_attribution_lack(trace, 0),
			       "more switches and names than are kept"));
	sonde_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slice_and_many_say_the_same),
		cmocka_unit_test(
			one_slice_and_many_say_the_same_of_lossy_traces),
		cmocka_unit_test(one_slice_and_many_say_the_same_with_a_filter),
		cmocka_unit_test(each_event_is_its_threads_or_nobodys),
		cmocka_unit_test(
			of_more_than_is_kept_nothing_is_said_and_that_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
