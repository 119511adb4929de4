/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_names.c - the names of kernel events and their fields: LTTng's
 * where reports and Trace Compass go by them, and no two the same. What this
 * kernel has is asked of tracefs, where there is one; nothing is changed there.
 */
#include "unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "source/names.h"
#include "types/build.h"
#include "types/desc.h"

#define EVENTS     "/sys/kernel/tracing/events"
#define EVENTS_MAX 8192u

/* ---- what is promised ---- */

static void events_have_the_names_that_reports_go_by(void **state)
{
	static const struct {
		const char *group, *name, *shown;
	} expected[] = {
		{ "sched", "sched_switch", "sched_switch" },
		{ "sched", "sched_waking", "sched_waking" },
		{ "sched", "sched_process_fork", "sched_process_fork" },
		{ "irq", "irq_handler_entry", "irq_handler_entry" },
		{ "irq", "softirq_raise", "irq_softirq_raise" },
		{ "irq", "softirq_entry", "irq_softirq_entry" },
		{ "irq", "softirq_exit", "irq_softirq_exit" },
		{ "timer", "hrtimer_expire_entry",
		  "timer_hrtimer_expire_entry" },
		{ "timer", "timer_expire_entry", "timer_expire_entry" },
		{ "kmem", "kmalloc", "kmem_kmalloc" },
		{ "kmem", "kfree", "kmem_kfree" },
		{ "kmem", "kmem_cache_alloc", "kmem_cache_alloc" },
		{ "kmem", "mm_page_alloc", "kmem_mm_page_alloc" },
		{ "kmem", "mm_page_free", "kmem_mm_page_free" },
		{ "power", "cpu_frequency", "power_cpu_frequency" },
		{ "power", "cpu_idle", "power_cpu_idle" },
		{ "exceptions", "page_fault_user",
		  "x86_exceptions_page_fault_user" },
		{ "irq_vectors", "call_function_entry",
		  "x86_irq_vectors_call_function_entry" },
		{ "net", "netif_receive_skb", "net_if_receive_skb" },
		{ "net", "net_dev_queue", "net_dev_queue" },
		{ "skb", "kfree_skb", "skb_kfree" },
		{ "block", "block_rq_issue", "block_rq_issue" },
		{ "writeback", "balance_dirty_pages",
		  "writeback_balance_dirty_pages" },
		{ "printk", "console", "printk_console" },
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(expected); i++)
		assert_string_equal(sonde_source_event_name(expected[i].group,
							    expected[i].name),
				    expected[i].shown);
}

static void a_name_counts_in_its_own_group_only(void **state)
{
	static const char own[] = "softirq_entry";

	(void)state;
	assert_ptr_equal(sonde_source_event_name("mine", own), own);
}

struct field {
	const char *group, *event, *field, *shown;
	int32_t add;
};

static void fields_have_lttngs_names_and_priorities(void **state)
{
	static const struct field expected[] = {
		{ "sched", "sched_switch", "prev_comm", "prev_comm", 0 },
		{ "sched", "sched_switch", "prev_pid", "prev_tid", 0 },
		{ "sched", "sched_switch", "prev_prio", "prev_prio", -100 },
		{ "sched", "sched_switch", "prev_state", "prev_state", 0 },
		{ "sched", "sched_switch", "next_pid", "next_tid", 0 },
		{ "sched", "sched_switch", "next_prio", "next_prio", -100 },
		{ "sched", "sched_waking", "pid", "tid", 0 },
		{ "sched", "sched_wakeup", "prio", "prio", -100 },
		{ "sched", "sched_wakeup_new", "target_cpu", "target_cpu", 0 },
		{ "sched", "sched_migrate_task", "pid", "tid", 0 },
		{ "sched", "sched_migrate_task", "prio", "prio", -100 },
		{ "sched", "sched_process_fork", "parent_pid", "parent_tid",
		  0 },
		{ "sched", "sched_process_fork", "child_pid", "child_tid", 0 },
		{ "sched", "sched_process_exit", "pid", "tid", 0 },
		{ "sched", "sched_process_free", "prio", "prio", -100 },
		{ "sched", "sched_process_exec", "pid", "tid", 0 },
		{ "sched", "sched_process_exec", "old_pid", "old_tid", 0 },
		{ "sched", "sched_pi_setprio", "oldprio", "oldprio", -100 },
		{ "sched", "sched_pi_setprio", "newprio", "newprio", -100 },
		{ "sched", "sched_stat_runtime", "pid", "tid", 0 },
		{ "signal", "signal_generate", "pid", "pid", 0 },
		{ "irq", "softirq_entry", "vec", "vec", 0 },
		{ "block", "block_rq_issue", "nr_sector", "nr_sector", 0 },
		{ "other", "sched_switch", "prev_pid", "prev_pid", 0 },
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(expected); i++) {
		const struct field *of = &expected[i];
		struct sonde_source_field_name name;

		sonde_source_field_name(of->group, of->event, of->field, &name);
		assert_string_equal(name.name, of->shown);
		assert_int_equal(name.add, of->add);
		assert_int_equal(name.conversion, of->add ? SONDE_SOURCE_ADD :
							    SONDE_SOURCE_AS_IS);
	}
}

/* Trace Compass casts them to numbers. */
static void fields_that_trace_compass_reads_have_no_labels(void **state)
{
	static const char *const fields[][3] = {
		{ "sched", "sched_switch", "prev_state" },
		{ "sched", "sched_switch", "prev_pid" },
		{ "sched", "sched_switch", "next_prio" },
		{ "irq", "softirq_raise", "vec" },
		{ "irq", "softirq_entry", "vec" },
		{ "irq", "irq_handler_entry", "irq" },
		{ "block", "block_rq_issue", "rwbs" },
		{ "power", "cpu_frequency", "state" },
		{ "kmem", "mm_page_alloc", "order" },
	};
	struct sonde_source_field_name name;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(fields); i++) {
		sonde_source_field_name(fields[i][0], fields[i][1],
					fields[i][2], &name);
		assert_null(name.labels);
	}
}

static void labels_of_flags_are_of_single_bits(void **state)
{
	static const char *const fields[][3] = {
		{ "exceptions", "page_fault_kernel", "error_code" },
		{ "timer", "hrtimer_start", "mode" },
		{ "timer", "tick_stop", "dependency" },
		{ "task", "task_newtask", "clone_flags" },
	};
	struct sonde_source_field_name name;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(fields); i++) {
		sonde_source_field_name(fields[i][0], fields[i][1],
					fields[i][2], &name);
		assert_non_null(name.labels);
		assert_true(name.is_flags);
		for (size_t k = 0; name.labels[k].text; k++)
			assert_int_equal(name.labels[k].value &
						 (name.labels[k].value - 1),
					 0);
	}
	sonde_source_field_name("signal", "signal_deliver", "sig", &name);
	assert_non_null(name.labels);
	assert_false(name.is_flags);
}

static void letters_of_block_requests_become_lttngs_bits(void **state)
{
	static const struct {
		const char *text;
		uint32_t bits;
	} expected[] = {
		{ "R", SONDE_RWBS_READ },
		{ "W", SONDE_RWBS_WRITE },
		{ "RA", SONDE_RWBS_READ | SONDE_RWBS_RAHEAD },
		{ "WS", SONDE_RWBS_WRITE | SONDE_RWBS_SYNC },
		{ "WSM", SONDE_RWBS_WRITE | SONDE_RWBS_SYNC | SONDE_RWBS_META },
		{ "D", SONDE_RWBS_DISCARD },
		{ "DE", SONDE_RWBS_DISCARD | SONDE_RWBS_SECURE },
		{ "F", SONDE_RWBS_FLUSH },
		{ "FS", SONDE_RWBS_FLUSH | SONDE_RWBS_SYNC },
		{ "FF", SONDE_RWBS_PREFLUSH | SONDE_RWBS_FLUSH },
		{ "FWFS", SONDE_RWBS_PREFLUSH | SONDE_RWBS_WRITE |
				  SONDE_RWBS_FUA | SONDE_RWBS_SYNC },
		{ "FN", SONDE_RWBS_PREFLUSH },
		{ "N", 0 },
		{ "ZA", SONDE_RWBS_WRITE },
		{ "ZR", 0 },
		{ "ZRS", SONDE_RWBS_SYNC },
		{ "Z", 0 },
		{ "WSU", SONDE_RWBS_WRITE | SONDE_RWBS_SYNC },
		{ "", 0 },
		{ "?!", 0 },
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(expected); i++)
		assert_int_equal(sonde_source_rwbs(expected[i].text, 10),
				 expected[i].bits);
}

static void letters_behind_the_end_are_not_looked_at(void **state)
{
	static const char text[4] = { 'W', 'S', 'M', 'A' };

	(void)state;
	assert_int_equal(sonde_source_rwbs(text, 0), 0);
	assert_int_equal(sonde_source_rwbs(text, 1), SONDE_RWBS_WRITE);
	assert_int_equal(sonde_source_rwbs(text, 2),
			 SONDE_RWBS_WRITE | SONDE_RWBS_SYNC);
	assert_int_equal(sonde_source_rwbs("F", 1), SONDE_RWBS_FLUSH);
}

/* ---- this kernel's events ---- */

struct event {
	char shown[SONDE_NAME_MAX];
	char kernel[3 * SONDE_NAME_MAX];
};

struct live {
	struct event *events;
	size_t nr;
};

/* The name of "\tfield:TYPE NAME[SIZE];\t..."; NULL: the line is another. */
static char *field_of(char *line)
{
	char *end = strchr(line, ';');
	char *name;

	if (strncmp(line, "\tfield:", 7) != 0 || !end)
		return NULL;
	*end = 0;
	name = strrchr(line, ' ');
	assert_non_null(name);
	name[1 + strcspn(name + 1, "[")] = 0;
	return name + 1;
}

/* All fields' names are different, and good for a description. */
static void check_fields(const char *group, const char *event, FILE *format)
{
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	char shown[SONDE_FIELDS_MAX][SONDE_NAME_MAX];
	struct sonde_build build;
	char line[8192];
	size_t nr = 0;

	sonde_build_begin(&build, room, group,
			  sonde_source_event_name(group, event), SONDE_INFO);
	while (fgets(line, sizeof(line), format)) {
		struct sonde_source_field_name name;
		const char *field = field_of(line);

		if (!field || !strncmp(field, "common_", 7))
			continue;
		sonde_source_field_name(group, event, field, &name);
		sonde_build_int(&build, name.name, 64, 0);
		for (size_t i = 0; i < nr; i++)
			assert_string_not_equal(shown[i], name.name);
		assert_true(nr < SONDE_FIELDS_MAX);
		(void)snprintf(shown[nr++], SONDE_NAME_MAX, "%s", name.name);
	}
	assert_int_equal(sonde_build_end(&build), 0);
}

static void add_event(struct live *live, const char *group, const char *event)
{
	struct event *to;
	char path[1024];
	FILE *format;

	(void)snprintf(path, sizeof(path), EVENTS "/%s/%s/format", group,
		       event);
	format = fopen(path, "re");
	if (!format)
		return; /* no event, but a file of the group */
	check_fields(group, event, format);
	assert_int_equal(fclose(format), 0);
	assert_true(live->nr < EVENTS_MAX);
	to = &live->events[live->nr++];
	(void)snprintf(to->shown, sizeof(to->shown), "%s",
		       sonde_source_event_name(group, event));
	(void)snprintf(to->kernel, sizeof(to->kernel), "%s:%s", group, event);
}

static void for_each_name(const char *path,
			  void (*call)(struct live *live, const char *group,
				       const char *name),
			  struct live *live, const char *group)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			call(live, group, entry->d_name);
	assert_int_equal(closedir(directory), 0);
}

static void add_group(struct live *live, const char *above, const char *group)
{
	char path[512];

	(void)above; /* there is nothing above a group */
	/* they are not recorded by these names, see syscalls.h; ftrace's own
	 * are no events that can be switched on */
	if (!strcmp(group, "syscalls") || !strcmp(group, "ftrace"))
		return;
	(void)snprintf(path, sizeof(path), EVENTS "/%s", group);
	for_each_name(path, add_event, live, group);
}

static int by_name(const void *a, const void *b)
{
	const struct event *one = a;
	const struct event *other = b;

	return strcmp(one->shown, other->shown);
}

static void check_events(const struct live *live)
{
	qsort(live->events, live->nr, sizeof(*live->events), by_name);
	for (size_t i = 1; i < live->nr; i++) {
		const struct event *two = &live->events[i - 1];

		if (!strcmp(two[0].shown, two[1].shown))
			fail_msg("%s is both %s and %s", two[0].shown,
				 two[0].kernel, two[1].kernel);
	}
	print_message("%zu events\n", live->nr);
}

static void no_two_events_or_fields_of_this_kernel_have_one_name(void **state)
{
	struct live live = { calloc(EVENTS_MAX, sizeof(*live.events)), 0 };
	size_t nr;

	(void)state;
	assert_non_null(live.events);
	for_each_name(EVENTS, add_group, &live, NULL);
	check_events(&live);
	nr = live.nr;
	free(live.events);
	if (!nr)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_have_the_names_that_reports_go_by),
		cmocka_unit_test(a_name_counts_in_its_own_group_only),
		cmocka_unit_test(fields_have_lttngs_names_and_priorities),
		cmocka_unit_test(
			fields_that_trace_compass_reads_have_no_labels),
		cmocka_unit_test(labels_of_flags_are_of_single_bits),
		cmocka_unit_test(letters_of_block_requests_become_lttngs_bits),
		cmocka_unit_test(letters_behind_the_end_are_not_looked_at),
		cmocka_unit_test(
			no_two_events_or_fields_of_this_kernel_have_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
