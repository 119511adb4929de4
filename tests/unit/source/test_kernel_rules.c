/* SPDX-License-Identifier: MIT */
/* What -k means (source/rules.h). */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/payloads.h"
#include "source/rules.h"

static struct sonde_source_rules rules;
static char error[300];

static int setup(void **state)
{
	(void)state;
	rules = (struct sonde_source_rules){ .nr = 0 };
	*error = '\0';
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sonde_source_rules_fini(&rules);
	return 0;
}

static int add(const char *text)
{
	return sonde_source_rules_add(&rules, text, error, sizeof(error));
}

static bool selects(const char *group, const char *name, const char *shown)
{
	return sonde_source_rules_match(&rules, group, name, shown) != NULL;
}

static void a_word_names_a_group_or_an_event(void **state)
{
	(void)state;
	assert_int_equal(add("sched, irq_softirq_*"), 0);
	assert_true(selects("sched", "sched_switch", NULL));
	assert_true(selects("irq", "softirq_entry", "irq_softirq_entry"));
	assert_false(selects("irq", "irq_handler_entry", NULL));
	assert_int_equal(add("irq:irq_*,block"), 0);
	assert_true(selects("block", "block_rq_issue", NULL));
	assert_true(selects("irq", "irq_handler_entry", NULL));
	assert_false(selects("irq_vectors", "irq_work_entry", NULL));
}

static void words_stand_for_the_events_one_means(void **state)
{
	(void)state;
	assert_int_equal(add("sched,irq if tid == 1"), 0);
	assert_true(selects("sched", "sched_switch", NULL));
	assert_true(selects("sched", "sched_process_exec", NULL));
	assert_true(selects("irq", "softirq_exit", NULL));
	assert_false(selects("sched", "sched_stat_runtime", NULL));
	assert_false(selects("irq", "tasklet_entry", NULL));
	assert_string_equal(sonde_source_rules_match(&rules, "sched",
						     "sched_waking", NULL)
				    ->condition,
			    "tid == 1");
	assert_int_equal(add("!sched"), 0);
	assert_false(selects("sched", "sched_switch", NULL));
	assert_true(selects("irq", "softirq_exit", NULL));
	assert_int_equal(add("sched:*"), 0);
	assert_true(selects("sched", "sched_stat_runtime", NULL));
}

static void the_last_rule_decides(void **state)
{
	(void)state;
	assert_int_equal(add("sched:*,!sched_stat_*"), 0);
	assert_false(selects("sched", "sched_stat_wait", NULL));
	assert_int_equal(add("sched_stat_wait"), 0);
	assert_true(selects("sched", "sched_stat_wait", NULL));
	assert_false(selects("sched", "sched_stat_sleep", NULL));
}

static void a_condition_reaches_to_the_end(void **state)
{
	const struct sonde_source_rule *rule;

	(void)state;
	assert_int_equal(
		add("syscalls:open*, !syscalls:open if ret < 0, or so"), 0);
	rule = sonde_source_rules_match(&rules, "syscalls", "openat", NULL);
	assert_non_null(rule);
	assert_string_equal(rule->condition, "ret < 0, or so");
	assert_string_equal(rule->text, "syscalls:open*");
	assert_false(selects("syscalls", "open", NULL));
	assert_int_equal(add("sched_notifier"), 0);
	rule = sonde_source_rules_match(&rules, "x", "sched_notifier", NULL);
	assert_non_null(rule);
	assert_null(rule->condition);
}

static void aliases_and_probes_are_known(void **state)
{
	(void)state;
	assert_int_equal(add("faults,syscall"), 0);
	assert_true(selects("exceptions", "page_fault_user", NULL));
	assert_true(selects("syscalls", "read", NULL));
	assert_int_equal(add("uprobe:/bin/x:main+4"), 0);
	assert_int_equal(rules.rules[rules.nr - 1].kind, SONDE_RULE_UPROBE);
	assert_string_equal(rules.rules[rules.nr - 1].name, "/bin/x:main+4");
	assert_false(selects("uprobe", "/bin/x", NULL));
}

static void all_calls_at_once_must_be_named(void **state)
{
	(void)state;
	assert_int_equal(add("*"), 0);
	assert_false(selects("raw_syscalls", "sys_enter", NULL));
	assert_int_equal(add("raw_syscalls"), 0);
	assert_true(selects("raw_syscalls", "sys_enter", NULL));
}

static void a_group_with_a_name_is_no_word_that_stands_for_more(void **state)
{
	(void)state;
	assert_int_equal(add("sched:sched_switch,irq:softirq_raise"), 0);
	assert_int_equal(rules.nr, 2);
	assert_true(selects("sched", "sched_switch", NULL));
	assert_false(selects("sched", "sched_waking", NULL));
	assert_false(selects("irq", "irq_handler_entry", NULL));
}

static void what_matched_nothing_is_told(void **state)
{
	(void)state;
	assert_int_equal(add("sched_switch,shced,!nothing"), 0);
	assert_true(selects("sched", "sched_switch", NULL));
	assert_string_equal(sonde_source_rules_unmatched(&rules)->text,
			    "shced");
	assert_true(selects("shced", "x", NULL));
	assert_null(sonde_source_rules_unmatched(&rules));
	/* Of a word that stands for several events, one is enough. */
	assert_int_equal(add("irq"), 0);
	assert_string_equal(sonde_source_rules_unmatched(&rules)->text, "irq");
	assert_true(selects("irq", "softirq_entry", NULL));
	assert_null(sonde_source_rules_unmatched(&rules));
}

static void exclusions_of_nothing_are_told(void **state)
{
	(void)state;
	assert_int_equal(add("sched,!sched:sched_switch,!sched_stat_*,!irq"),
			 0);
	assert_false(selects("sched", "sched_switch", NULL));
	assert_string_equal(sonde_source_rules_vain(&rules)->text, "irq");
	assert_false(selects("irq", "softirq_entry", NULL));
	assert_null(sonde_source_rules_vain(&rules));
}

static void nonsense_is_refused_in_a_line(void **state)
{
	static const char *const wrong[] = {
		"",          ",",    "sched,",   "!",  "sched if",
		"sched if ", ":",    "a:",       ":b", "kprobe:",
		"!kprobe:f", "a\nb", "a\033[m:",
	};
	char *many = malloc(3 * SONDE_SOURCE_RULES_MAX);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		*error = '\0';
		assert_int_equal(add(wrong[i]), -EINVAL);
		assert_true(*error && !strchr(error, '\n'));
	}
	sonde_source_rules_fini(&rules);
	assert_non_null(many);
	*many = '\0';
	for (uint32_t i = 0; i <= SONDE_SOURCE_RULES_MAX; i++)
		memcpy(many + 2 * i, "a,", 3);
	many[2 * SONDE_SOURCE_RULES_MAX + 1] = '\0';
	assert_int_equal(add(many), -E2BIG);
	free(many);
}

static void what_only_newer_kernels_have_is_known(void **state)
{
	(void)state;
	assert_int_equal(add("sock:sock_*_length,sock:other,sched"), 0);
	assert_non_null(
		strstr(sonde_payload_since(&rules.rules[0]), "Linux 6.3"));
	assert_string_equal(sonde_payload_since(&rules.rules[1]), "");
	assert_string_equal(sonde_payload_since(&rules.rules[2]), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_word_names_a_group_or_an_event, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_only_newer_kernels_have_is_known, setup, teardown),
		cmocka_unit_test_setup_teardown(
			words_stand_for_the_events_one_means, setup, teardown),
		cmocka_unit_test_setup_teardown(the_last_rule_decides, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_condition_reaches_to_the_end,
						setup, teardown),
		cmocka_unit_test_setup_teardown(aliases_and_probes_are_known,
						setup, teardown),
		cmocka_unit_test_setup_teardown(all_calls_at_once_must_be_named,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_group_with_a_name_is_no_word_that_stands_for_more,
			setup, teardown),
		cmocka_unit_test_setup_teardown(what_matched_nothing_is_told,
						setup, teardown),
		cmocka_unit_test_setup_teardown(exclusions_of_nothing_are_told,
						setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_is_refused_in_a_line,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
