/* SPDX-License-Identifier: MIT */
/*
 * test_blame.c - the reports offcpu, blame and critical say the same of a trace
 * in one slice and in many; critical paths and trees of blame add up, exactly,
 * whatever the trace says; and small stories have the answers that they have by
 * hand.
 *
 * The long trace is of a small machine that does things at random: threads on
 * three CPUs run, wait for each other's locks, read files, are preempted and
 * interrupted; requests begin and end on them, and now and then a CPU loses
 * events. The wild one has any events in any order.
 */
#include "analysis/analysis.h"

#include "reader_traces.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/blame_history.h"
#include "analysis/reports/blame_tree.h"
#include "analysis/reports/critical_path.h"
#include "base/port.h"
#include "random.h"
#include "report_text.h"

#define SEED      20261122u
#define CPUS      3
#define TASKS     6
#define STEPS     6000
#define FIRST_TID 100
#define PID       90

enum id {
	SWITCH,
	WAKING,
	FUTEX,
	FUTEX_BACK,
	READ,
	READ_BACK,
	OPEN,
	OPEN_BACK,
	IRQ_ENTRY,
	IRQ_EXIT,
	SOFTIRQ_ENTRY,
	SOFTIRQ_EXIT,
	FAULT,
	LOCK_WAITED,
	LOCK_LOCKED,
	LOCK_UNLOCKED,
	BEGIN,
	END,
	MAPPING,
	FORK,
	NR_IDS,
};

/* clang-format off */
static const char metadata_end[] =
	MADE_CLOCK
	MADE_STREAM_CLASS("	event.context := struct { u32 tid; u32 pid; };\n")
	MADE_EVENT("sched_switch", 0,
	      "u32 prev_tid; u32 prev_prio; u64 prev_state; u32 next_tid;"
	      "u32 next_prio; string prev_comm; string next_comm;")
	MADE_EVENT("sched_waking", 1, "u32 tid; u32 prio; string comm;")
	MADE_EVENT("syscall_entry_futex", 2, "u64 uaddr; u32 op;")
	MADE_EVENT("syscall_exit_futex", 3, "i32 ret;")
	MADE_EVENT("syscall_entry_read", 4, "u32 fd; u64 count;")
	MADE_EVENT("syscall_exit_read", 5, "i32 ret;")
	MADE_EVENT("syscall_entry_openat", 6, "string filename;")
	MADE_EVENT("syscall_exit_openat", 7, "i32 ret;")
	MADE_EVENT("irq_handler_entry", 8, "u32 irq; string name;")
	MADE_EVENT("irq_handler_exit", 9, "u32 irq; u32 ret;")
	MADE_EVENT("irq_softirq_entry", 10, "u32 vec;")
	MADE_EVENT("irq_softirq_exit", 11, "u32 vec;")
	MADE_EVENT("exceptions_page_fault_user", 12, "u64 address;")
	MADE_EVENT("lock:mutex_wait", 13, "u64 mutex;")
	MADE_EVENT("lock:mutex_lock", 14, "u64 mutex; i32 result;")
	MADE_EVENT("lock:mutex_unlock", 15, "u64 mutex;")
	MADE_EVENT("begin", 16, "u32 key;")
	MADE_EVENT("end", 17, "u32 key;")
	MADE_EVENT("sonde_statedump_mapping", 18,
	      "u32 pid; u64 begin; u64 end; u64 offset; string path;")
	MADE_EVENT("sched_process_fork", 19,
	      "u32 child_tid; u32 child_pid; u32 parent_pid;"
	      "string child_comm;");
/* clang-format on */

static uint64_t state = SEED;

/* ---- the streams, one for each CPU, and the time ---- */

static struct made_cpu cpus[CPUS];
static uint64_t now;

/* Begins an event of a thread at this time; its fields are for the caller. */
static struct made *begin_event(struct made_cpu *cpu, enum id id, uint32_t tid)
{
	struct made *file = made_cpu_event(cpu, now, (uint16_t)id);

	made_u32(file, tid);
	made_u32(file, PID);
	return file;
}

static void put_switch(struct made_cpu *cpu, uint32_t prev, uint64_t prev_state,
		       uint32_t next)
{
	struct made *file = begin_event(cpu, SWITCH, prev);

	made_u32(file, prev);
	made_u32(file, 20);
	made_u64(file, prev_state);
	made_u32(file, next);
	made_u32(file, 20);
	made_name(file, "task", prev);
	made_name(file, "task", next);
}

static void put_waking(struct made_cpu *cpu, uint32_t by, uint32_t tid)
{
	struct made *file = begin_event(cpu, WAKING, by);

	made_u32(file, tid);
	made_u32(file, 20);
	made_name(file, "task", tid);
}

static void put_futex(struct made_cpu *cpu, uint32_t tid, uint64_t address,
		      uint32_t operation)
{
	struct made *file = begin_event(cpu, FUTEX, tid);

	made_u64(file, address);
	made_u32(file, operation);
}

static void put_u32(struct made_cpu *cpu, enum id id, uint32_t tid,
		    uint32_t value)
{
	made_u32(begin_event(cpu, id, tid), value);
}

static void put_lock(struct made_cpu *cpu, enum id id, uint32_t tid,
		     uint64_t lock)
{
	struct made *file = begin_event(cpu, id, tid);

	made_u64(file, lock);
	if (id == LOCK_LOCKED)
		made_u32(file, 0);
}

static void put_read(struct made_cpu *cpu, uint32_t tid, uint32_t fd)
{
	struct made *file = begin_event(cpu, READ, tid);

	made_u32(file, fd);
	made_u64(file, 4096);
}

static void start(void)
{
	made_cpus_begin(cpus, CPUS);
	now = 1000;
}

static struct sonde_trace *finish(void)
{
	return made_cpus_open(cpus, CPUS, now, metadata_end);
}

/* ---- a machine ---- */

static struct task {
	uint32_t tid;
	enum {
		RUNNING,
		READY,
		BLOCKED
	} is;
	int call; /* the event that began it; -1 none */
	bool in_request;
	uint64_t lock; /* it has */
} tasks[TASKS];

static struct task *task_of(const struct made_cpu *cpu)
{
	for (size_t i = 0; cpu->task && i < TASKS; i++)
		if (tasks[i].tid == cpu->task)
			return &tasks[i];
	return NULL;
}

static struct task *find_task(int is)
{
	size_t from = random_below(&state, TASKS);

	for (size_t i = 0; i < TASKS; i++) {
		struct task *task = &tasks[(from + i) % TASKS];

		if ((int)task->is == is)
			return task;
	}
	return NULL;
}

static void switch_tasks(struct made_cpu *cpu)
{
	struct task *prev = task_of(cpu);
	struct task *next = find_task(READY);
	uint64_t prev_state = random_below(&state, 3);

	if (!prev && !next)
		return;
	if (prev)
		prev->is = prev_state ? BLOCKED : READY;
	put_switch(cpu, cpu->task, prev ? prev_state : 0, next ? next->tid : 0);
	if (next)
		next->is = RUNNING;
	cpu->task = next ? next->tid : 0;
}

static void wake(struct made_cpu *cpu)
{
	struct task *task = find_task(random_below(&state, 8) ? (int)BLOCKED :
								(int)RUNNING);

	if (!task)
		return;
	put_waking(cpu, cpu->task, task->tid);
	if (task->is == BLOCKED)
		task->is = READY;
}

static void call(struct made_cpu *cpu)
{
	static const enum id calls[] = { FUTEX, READ, OPEN };
	struct task *task = task_of(cpu);
	struct made *file;

	if (!task)
		return;
	if (task->call >= 0) {
		put_u32(cpu, (enum id)(task->call + 1), task->tid,
			(uint32_t)random_below(&state, 9) - 2);
		task->call = -1;
		return;
	}
	task->call = (int)calls[random_below(&state, SONDE_ARRAY_SIZE(calls))];
	if (task->call == FUTEX) {
		put_futex(cpu, task->tid, 0x1000 + random_below(&state, 4) * 64,
			  (uint32_t)random_below(&state, 3) * 9);
	} else if (task->call == READ) {
		put_read(cpu, task->tid, (uint32_t)random_below(&state, 8));
	} else {
		file = begin_event(cpu, OPEN, task->tid);
		made_name(file, "/file", random_below(&state, 30));
	}
}

static void interrupt(struct made_cpu *cpu)
{
	struct made *file =
		begin_event(cpu, cpu->in_irq ? IRQ_EXIT : IRQ_ENTRY, cpu->task);

	made_u32(file, 17);
	if (cpu->in_irq)
		made_u32(file, 1);
	else
		made_name(file, "disk", 0);
	cpu->in_irq = !cpu->in_irq;
}

static void user(struct made_cpu *cpu)
{
	struct task *task = task_of(cpu);
	uint64_t lock = 0x1000 + random_below(&state, 4) * 64;

	if (!task || task->call >= 0)
		return;
	if (random_below(&state, 3)) {
		put_u32(cpu, task->in_request ? END : BEGIN, task->tid,
			(uint32_t)random_below(&state, 3));
		task->in_request = !task->in_request;
	} else if (task->lock) {
		put_lock(cpu, LOCK_UNLOCKED, task->tid, task->lock);
		task->lock = 0;
	} else {
		put_lock(cpu, LOCK_WAITED, task->tid, lock);
		put_lock(cpu, LOCK_LOCKED, task->tid, lock);
		task->lock = lock;
	}
}

static void fault(struct made_cpu *cpu)
{
	struct task *task = task_of(cpu);

	if (task && task->call < 0)
		made_u64(begin_event(cpu, FAULT, task->tid), 0x4000);
}

static void lose(struct made_cpu *cpu)
{
	if (cpu->losing || random_below(&state, 8))
		return;
	made_cpu_end_packet(cpu, now);
	cpu->losing = 1 + (uint32_t)random_below(&state, 6);
}

static struct sonde_trace *make_machine(bool with_losses)
{
	static void (*const things[])(struct made_cpu * cpu) = {
		switch_tasks, switch_tasks, wake, wake, call,  call,
		interrupt,    user,         user, user, fault, lose,
	};
	size_t nr_things = SONDE_ARRAY_SIZE(things) - !with_losses;

	start();
	for (uint32_t i = 0; i < TASKS; i++)
		tasks[i] = (struct task){ FIRST_TID + i, READY, -1, false, 0 };
	for (size_t step = 0; step < STEPS; step++) {
		now += 1 + random_below(&state, 30);
		things[random_below(&state, nr_things)](
			&cpus[random_below(&state, CPUS)]);
	}
	return finish();
}

/* Any event, about anybody, of anybody.
 * NOLINTNEXTLINE(readability-function-size): a list of the kinds */
static void put_anything(struct made_cpu *cpu)
{
	static const uint32_t tids[] = {
		0, 1, 100, 101, 102, 0x7fffffff, 0x80000000, UINT32_MAX
	};
	size_t nr = SONDE_ARRAY_SIZE(tids);
	enum id id = (enum id)random_below(&state, NR_IDS);
	uint32_t tid = tids[random_below(&state, nr)];
	uint32_t other = tids[random_below(&state, nr)];
	struct made *file;

	if (id == SWITCH) {
		put_switch(cpu, tid, random_below(&state, 4), other);
	} else if (id == WAKING) {
		put_waking(cpu, tid, other);
	} else if (id == FUTEX) {
		put_futex(cpu, tid, state, (uint32_t)random_below(&state, 300));
	} else if (id == READ) {
		put_read(cpu, tid, other);
	} else if (id == OPEN) {
		made_name(begin_event(cpu, OPEN, tid), "",
			  random_below(&state, 3));
	} else if (id == IRQ_ENTRY) {
		file = begin_event(cpu, id, tid);
		made_u32(file, other);
		made_name(file, "", 0);
	} else if (id == IRQ_EXIT) {
		file = begin_event(cpu, id, tid);
		made_u64(file, 0);
	} else if (id == FAULT) {
		made_u64(begin_event(cpu, id, tid), state);
	} else if (id >= LOCK_WAITED && id <= LOCK_UNLOCKED) {
		put_lock(cpu, id, tid, random_below(&state, 3));
	} else if (id == MAPPING) {
		file = begin_event(cpu, id, tid);
		made_u32(file, other);
		made_u64(file, random_below(&state, 1000));
		made_u64(file, state);
		made_u64(file, state * 3);
		made_name(file, "/dev/zero", 0);
	} else if (id == FORK) {
		file = begin_event(cpu, id, tid);
		made_u32(file, other);
		made_u32(file, tid);
		made_u32(file, other);
		made_name(file, "", 0);
	} else {
		put_u32(cpu, id, tid, other);
	}
}

static struct sonde_trace *make_wild(void)
{
	start();
	for (size_t step = 0; step < STEPS; step++) {
		now += random_below(&state, 4); /* also the same time */
		put_anything(&cpus[random_below(&state, CPUS)]);
	}
	return finish();
}

/* ---- reports ---- */

static struct sonde_filter *filter_of(struct sonde_trace *trace,
				      const char *text)
{
	struct sonde_trace_error error;
	struct sonde_filter *filter;

	assert_int_equal(sonde_filter_new(trace, text, &error, &filter), 0);
	return filter;
}

static void compare(struct sonde_trace *trace)
{
	struct sonde_filter *begin =
		filter_of(trace, "$event == \"begin\" && $tid < 10000000");
	struct sonde_filter *end = filter_of(trace, "$event == \"end\"");
	struct sonde_filter *key = filter_of(trace, "key");
	struct sonde_analysis_args args = {
		.trace = trace,
		.begin = begin,
		.end = end,
	};

	assert_report_same("offcpu", &args);
	for (int by_key = 0; by_key < 2; by_key++) {
		args.key = by_key ? key : NULL;
		assert_report_same("blame", &args);
		assert_report_same("critical", &args);
	}
	sonde_filter_free(begin);
	sonde_filter_free(end);
	sonde_filter_free(key);
}

static void one_slice_and_many_say_the_same(void **unused)
{
	struct sonde_trace *trace = make_machine(false);

	(void)unused;
	compare(trace);
	sonde_trace_close(trace);
}

static void one_slice_and_many_say_the_same_of_lossy_traces(void **unused)
{
	struct sonde_trace *trace = make_machine(true);
	const struct sonde_analysis_args asked = { .trace = trace };
	char *text = report_text("offcpu", &asked, UINT64_MAX, 1);

	(void)unused;
	assert_non_null(strstr(text, "events were lost"));
	free(text);
	compare(trace);
	sonde_trace_close(trace);
}

static void one_slice_and_many_say_the_same_of_wild_traces(void **unused)
{
	struct sonde_trace *trace = make_wild();

	(void)unused;
	compare(trace);
	sonde_trace_close(trace);
}

/* ---- what adds up ---- */

static int read_history(struct sonde_trace *trace, int64_t begin_ns,
			int64_t end_ns, struct sonde_history *history)
{
	struct sonde_analysis_args args = { .trace = trace };
	struct sonde_history_window window = { begin_ns, end_ns };

	static const struct sonde_host_clock clock = { .is_known = true };

	sonde_map_options_init(&args.map);
	return sonde_history_read(&args, &window, 1, &clock, 0, history);
}

/* Segments touch, from the begin to the end. */
static void check_path(const struct sonde_history *history,
		       const struct sonde_path_ends *ends)
{
	struct sonde_path path;
	int64_t at_ns = ends->begin_ns;

	assert_int_equal(sonde_path_find(&path, history, ends), 0);
	for (size_t i = 0; i < path.nr_segments; i++) {
		assert_int_equal(path.segments[i].begin_ns, at_ns);
		assert_true(path.segments[i].end_ns > at_ns);
		at_ns = path.segments[i].end_ns;
	}
	assert_int_equal(at_ns, ends->end_ns);
	sonde_path_fini(&path);
}

/* Of waits, the longest is one of the thread's, and no shorter than their mean. */
static void check_longest(const struct sonde_blame_node *node)
{
	if (node->kind != SONDE_BLAME_STATE ||
	    node->state != SONDE_STATE_BLOCKED) {
		assert_null(node->longest);
		return;
	}
	assert_non_null(node->longest);
	assert_int_equal(node->longest->tid, node->tid);
	assert_true(node->longest_ns <= node->ns);
	assert_true(node->longest_ns * (int64_t)node->count >= node->ns);
	assert_true(node->longest_ns <=
		    node->longest->end_ns - node->longest->begin_ns);
}

/* Children take together as long as their parent. */
static void check_tree(const struct sonde_history *history,
		       const struct sonde_path_ends *ends)
{
	struct sonde_blame_tree tree;

	assert_int_equal(sonde_blame_tree_init(&tree, history, ends->begin_tid,
					       ends->begin_ns, ends->end_ns),
			 0);
	for (size_t i = 0; i < tree.nr_nodes; i++) {
		const struct sonde_blame_node *child =
			sonde_blame_child(&tree, &tree.nodes[i]);
		int64_t ns = 0;
		int64_t last_ns = INT64_MAX;

		check_longest(&tree.nodes[i]);
		if (!child)
			continue;
		for (; child; child = child->next == SONDE_BLAME_NONE ?
					      NULL :
					      &tree.nodes[child->next]) {
			assert_true(child->ns <= last_ns);
			last_ns = child->ns;
			ns += child->ns;
		}
		assert_int_equal(ns, tree.nodes[i].ns);
	}
	sonde_blame_tree_fini(&tree);
}

/* Half of all waits end by bytes that any thread sent at any time. */
static void send_bytes(struct sonde_history *history)
{
	for (size_t i = 0; i < history->nr_states; i++) {
		struct sonde_history_state *was = &history->states[i];
		int64_t ns = was->end_ns - was->begin_ns;

		if (was->kind != SONDE_STATE_BLOCKED || random_below(&state, 2))
			continue;
		was->waker = (struct sonde_waker){
			.kind = SONDE_WAKER_SENDER,
			.tid = FIRST_TID + (int32_t)random_below(&state, TASKS),
			.sent_ns = was->end_ns -
				   (int64_t)random_below(
					   &state, (uint64_t)(2 * ns + 1)),
		};
	}
}

static void check_sums(struct sonde_trace *trace, bool sends)
{
	int64_t begin_ns;
	int64_t end_ns;
	struct sonde_history history;

	assert_int_equal(sonde_trace_range(trace, &begin_ns, &end_ns), 0);
	assert_int_equal(read_history(trace, begin_ns, end_ns, &history), 0);
	assert_true(history.nr_states > 100);
	if (sends)
		send_bytes(&history);
	for (int i = 0; i < 400; i++) {
		uint64_t span = (uint64_t)(end_ns - begin_ns);
		int64_t a = begin_ns + (int64_t)random_below(&state, span);
		int64_t b = begin_ns + (int64_t)random_below(&state, span);
		const struct sonde_path_ends ends = {
			.begin_tid = FIRST_TID +
				     (int32_t)random_below(&state, TASKS),
			.end_tid = FIRST_TID +
				   (int32_t)random_below(&state, TASKS),
			.begin_ns = a < b ? a : b,
			.end_ns = a < b ? b : a,
		};

		check_path(&history, &ends);
		check_tree(&history, &ends);
	}
	sonde_history_fini(&history);
}

static void paths_and_trees_add_up(void **unused)
{
	struct sonde_trace *traces[] = {
		make_machine(false),
		make_machine(true),
		make_wild(),
	};

	(void)unused;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(traces); i++) {
		check_sums(traces[i], false);
		check_sums(traces[i], true);
		sonde_trace_close(traces[i]);
	}
}

/* ---- stories ---- */

enum {
	A = 100,
	B,
	C,
	D,
};

static void at(uint64_t time)
{
	now = time;
}

/* A thread gives its CPU up to wait for a lock. */
static void put_wait(struct made_cpu *cpu, uint32_t tid, uint64_t lock)
{
	put_futex(cpu, tid, lock, 0);
	put_switch(cpu, tid, 1, 0);
}

/*
 * A waits from 2000 to 9000 for a lock of B, which waits from 3000 to 8000 for
 * one of C, which reads a file from 4000 until the disk's interrupt at 7000,
 * and runs from 7200.
 */
static struct sonde_trace *make_chain(void)
{
	start();
	put_switch(&cpus[0], 0, 0, A);
	put_switch(&cpus[1], 0, 0, B);
	put_switch(&cpus[2], 0, 0, C);
	made_name(begin_event(&cpus[2], OPEN, C), "/data", 1);
	put_u32(&cpus[2], OPEN_BACK, C, 5);
	at(2000);
	put_wait(&cpus[0], A, 0x10);
	at(3000);
	put_wait(&cpus[1], B, 0x20);
	at(4000);
	put_read(&cpus[2], C, 5);
	put_switch(&cpus[2], C, 2, 0);
	at(7000);
	put_u32(&cpus[0], IRQ_ENTRY, 0, 9);
	made_bytes(&cpus[0].file, "disk", 5);
	put_waking(&cpus[0], 0, C);
	put_u32(&cpus[0], IRQ_EXIT, 0, 9);
	made_u32(&cpus[0].file, 1);
	at(7200);
	put_switch(&cpus[2], 0, 0, C);
	put_u32(&cpus[2], READ_BACK, C, 1);
	at(8000);
	put_futex(&cpus[2], C, 0x20, 1);
	put_waking(&cpus[2], C, B);
	put_u32(&cpus[2], FUTEX_BACK, C, 1);
	at(8100);
	put_switch(&cpus[1], 0, 0, B);
	put_u32(&cpus[1], FUTEX_BACK, B, 0);
	at(9000);
	put_futex(&cpus[1], B, 0x10, 1);
	put_waking(&cpus[1], B, A);
	put_u32(&cpus[1], FUTEX_BACK, B, 1);
	at(9300);
	put_switch(&cpus[0], 0, 0, A);
	put_u32(&cpus[0], FUTEX_BACK, A, 0);
	at(9900);
	for (int i = 0; i < CPUS; i++)
		put_switch(&cpus[i], (uint32_t)(A + i), 0, 0);
	return finish();
}

struct expected {
	int32_t tid;
	enum sonde_state_kind kind;
	int64_t ns;
};

static void check_segments(const struct sonde_path *path,
			   const struct expected *expected, size_t nr)
{
	assert_int_equal(path->nr_segments, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_path_segment *segment = &path->segments[i];

		assert_int_equal(segment->tid, expected[i].tid);
		assert_int_equal(segment->kind, expected[i].kind);
		assert_int_equal(segment->end_ns - segment->begin_ns,
				 expected[i].ns);
	}
}

static void a_chain_of_three_locks_ends_at_the_disk(void **unused)
{
	static const struct expected expected[] = {
		{ A, SONDE_STATE_RUN, 500 },   { B, SONDE_STATE_RUN, 1000 },
		{ C, SONDE_STATE_RUN, 1000 },  { C, SONDE_STATE_BLOCKED, 3000 },
		{ C, SONDE_STATE_READY, 200 }, { C, SONDE_STATE_RUN, 800 },
		{ B, SONDE_STATE_READY, 100 }, { B, SONDE_STATE_RUN, 900 },
		{ A, SONDE_STATE_READY, 300 }, { A, SONDE_STATE_RUN, 200 },
	};
	const struct sonde_path_ends ends = { A, A, 1500, 9500 };
	struct sonde_trace *trace = make_chain();
	const struct sonde_path_segment *disk;
	struct sonde_history history;
	struct sonde_path path;

	(void)unused;
	assert_int_equal(read_history(trace, 1500, 9500, &history), 0);
	assert_int_equal(sonde_path_find(&path, &history, &ends), 0);
	check_segments(&path, expected, SONDE_ARRAY_SIZE(expected));
	disk = &path.segments[3];
	assert_string_equal(disk->cause.path, "/data1");
	assert_int_equal(disk->waker.kind, SONDE_WAKER_IRQ);
	assert_int_equal(disk->waker.number, 9);
	sonde_path_fini(&path);
	check_tree(&history, &ends);
	sonde_history_fini(&history);
	sonde_trace_close(trace);
}

static const struct sonde_blame_node *
find_state(const struct sonde_blame_tree *tree, int32_t tid,
	   enum sonde_state_kind kind)
{
	for (size_t i = 0; i < tree->nr_nodes; i++)
		if (tree->nodes[i].kind == SONDE_BLAME_STATE &&
		    tree->nodes[i].tid == tid && tree->nodes[i].state == kind)
			return &tree->nodes[i];
	fail();
	return NULL;
}

static void a_tree_has_what_each_holder_did_meanwhile(void **unused)
{
	struct sonde_trace *trace = make_chain();
	struct sonde_history history;
	struct sonde_blame_tree tree;

	(void)unused;
	assert_int_equal(read_history(trace, 1500, 9500, &history), 0);
	assert_int_equal(sonde_blame_tree_init(&tree, &history, A, 1500, 9500),
			 0);
	assert_int_equal(find_state(&tree, A, SONDE_STATE_BLOCKED)->ns, 7000);
	assert_int_equal(find_state(&tree, B, SONDE_STATE_BLOCKED)->ns, 5000);
	assert_int_equal(find_state(&tree, C, SONDE_STATE_BLOCKED)->ns, 3000);
	assert_int_equal(find_state(&tree, B, SONDE_STATE_READY)->ns, 100);
	assert_false(tree.cut);
	sonde_blame_tree_fini(&tree);
	sonde_history_fini(&history);
	sonde_trace_close(trace);
}

/* D is preempted from 2000 to 2500, and nothing is known of it before 1200. */
static void preemption_and_the_unknown_are_segments(void **unused)
{
	static const struct expected expected[] = {
		{ D, SONDE_STATE_UNKNOWN, 200 },
		{ D, SONDE_STATE_RUN, 800 },
		{ D, SONDE_STATE_PREEMPTED, 500 },
		{ D, SONDE_STATE_RUN, 100 },
	};
	const struct sonde_path_ends ends = { D, D, 1000, 2600 };
	struct sonde_history history;
	struct sonde_trace *trace;
	struct sonde_path path;

	(void)unused;
	start();
	put_switch(&cpus[1], 0, 0, C);
	at(1200);
	put_switch(&cpus[0], 0, 0, D);
	at(2000);
	put_switch(&cpus[0], D, 0, B);
	at(2500);
	put_switch(&cpus[0], B, 1, D);
	at(2700);
	put_switch(&cpus[0], D, 1, 0);
	trace = finish();
	assert_int_equal(read_history(trace, 1000, 2600, &history), 0);
	assert_int_equal(sonde_path_find(&path, &history, &ends), 0);
	check_segments(&path, expected, SONDE_ARRAY_SIZE(expected));
	sonde_path_fini(&path);
	sonde_history_fini(&history);
	sonde_trace_close(trace);
}

/* A and B each woke the other at one and the same time. */
static void wakers_in_a_circle_come_to_an_end(void **unused)
{
	const struct sonde_path_ends ends = { C, A, 1000, 3000 };
	struct sonde_history history;
	struct sonde_blame_tree tree;
	struct sonde_trace *trace;

	(void)unused;
	start();
	put_switch(&cpus[0], 0, 0, A);
	put_switch(&cpus[1], 0, 0, B);
	at(2000);
	put_switch(&cpus[0], A, 1, 0);
	put_switch(&cpus[1], B, 1, 0);
	at(2500);
	put_waking(&cpus[2], B, A);
	put_waking(&cpus[2], A, B);
	at(2600);
	put_switch(&cpus[0], 0, 0, A);
	put_switch(&cpus[1], 0, 0, B);
	at(3000);
	put_switch(&cpus[0], A, 1, 0);
	trace = finish();
	assert_int_equal(read_history(trace, 1000, 3000, &history), 0);
	check_path(&history, &ends);
	check_tree(&history, &ends);
	check_tree(&history, &(struct sonde_path_ends){ A, A, 1000, 3000 });
	assert_int_equal(sonde_blame_tree_init(&tree, &history, A, 1000, 3000),
			 0);
	assert_true(tree.cut);
	assert_true(tree.nr_nodes < 50);
	sonde_blame_tree_fini(&tree);
	sonde_history_fini(&history);
	sonde_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slice_and_many_say_the_same),
		cmocka_unit_test(
			one_slice_and_many_say_the_same_of_lossy_traces),
		cmocka_unit_test(
			one_slice_and_many_say_the_same_of_wild_traces),
		cmocka_unit_test(paths_and_trees_add_up),
		cmocka_unit_test(a_chain_of_three_locks_ends_at_the_disk),
		cmocka_unit_test(a_tree_has_what_each_holder_did_meanwhile),
		cmocka_unit_test(preemption_and_the_unknown_are_segments),
		cmocka_unit_test(wakers_in_a_circle_come_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
