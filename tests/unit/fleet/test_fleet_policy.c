/* SPDX-License-Identifier: MIT */
/* test_fleet_policy.c - fleet/policy.h and fleet/order.h: what a machine's policy
 * doesn't name is refused, and a limit can't be got round. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fleet/policy.h"

/* Whether `text` permits "COMMAND NIGHT WORD..." by a machine; words end with
 * newlines. */
static bool permits_by(const char *text, const char *by, const char *command,
		       const char *words)
{
	static struct sonde_fleet_policy policy;
	struct sonde_fleet_order order = { .hosts = "*", .session = "night" };
	char line[SONDE_NET_HEAD_MAX];
	char error[400];
	size_t size;

	order.what = sonde_fleet_order_find(command, strlen(command));
	(void)snprintf(order.words, sizeof(order.words), "%s", words);
	assert_int_equal(sonde_fleet_policy_parse(text, strlen(text), &policy,
						  error, sizeof(error)),
			 0);
	size = sonde_fleet_order_put(&order, line);
	assert_int_not_equal(size, 0);
	assert_int_equal(sonde_fleet_order_parse(line, size, &order), 0);
	assert_string_equal(order.by, "");
	(void)snprintf(order.by, sizeof(order.by), "%s", by);
	return !sonde_fleet_policy_check(&policy, &order, error, sizeof(error));
}

/* By who may ask anything of all. */
static bool permits(const char *text, const char *command, const char *words)
{
	return permits_by(text, "", command, words);
}

static void what_is_not_named_is_refused(void **state)
{
	const char *policy = "# none\nstatus *\nstop ni*  # those\n"
			     "change night event=app:*\n";

	(void)state;
	assert_false(permits("", "status", ""));
	assert_true(permits(policy, "status", ""));
	assert_true(permits(policy, "stop", ""));
	assert_false(permits(policy, "start", ""));
	assert_false(permits("stop day", "stop", ""));
	assert_true(permits(policy, "change", "--event=app:x\n"));
	assert_false(permits(policy, "change", "--event=app:x\n--memory=1M\n"));
	assert_false(permits(policy, "change", "--eve=app:x\n"));
}

static void a_line_permits_all_of_an_order_or_nothing(void **state)
{
	const char *policy = "start * event=app:*\nstart * memory<=64M\n";

	(void)state;
	assert_false(permits(policy, "start", "--event=app:x\n--memory=1M\n"));
	assert_true(permits(policy, "start", "--memory=1M\n"));
}

static void a_glob_covers_no_more_than_it_says(void **state)
{
	static const char *const wider[] = {
		"*",          "*:x",      "[app]:x",       "app:x,db:y",
		"app\\:x",    "ap?:x",    "db:x or app:*", "db:app:x",
		"app:x if 1", "db:x,app", "app:x, db:y",   "",
	};
	char words[64];

	(void)state;
	for (size_t i = 0; i < sizeof(wider) / sizeof(*wider); i++) {
		(void)snprintf(words, sizeof(words), "--event=%s\n", wider[i]);
		assert_false(permits("start * event=app:*", "start", words));
	}
	assert_true(permits("start * event=app:*", "start", "--event=app:*\n"));
	assert_true(permits("start * event=app:*", "start",
			    "--event=app:a,app:b?\n"));
	assert_false(
		permits("start * event=a?p:x", "start", "--event=a*p:x\n"));
	assert_false(permits("start * event=app:*", "start", "--event\n"));
}

static void a_bound_holds_for_sizes_and_times(void **state)
{
	const char *policy = "start * memory<=64M duration<=1h";

	(void)state;
	assert_true(
		permits(policy, "start", "--memory=64M\n--duration=60min\n"));
	assert_false(permits(policy, "start", "--memory=65M\n--duration=1h\n"));
	assert_false(
		permits(policy, "start", "--memory=64M\n--duration=61min\n"));
	assert_false(permits(policy, "start", "--memory=all\n--duration=1h\n"));
	/* the last one said would count */
	assert_false(permits(policy, "start",
			     "--memory=1M\n--duration=1h\n--memory=1G\n"));
}

static void a_limit_is_not_got_round_by_saying_nothing(void **state)
{
	(void)state;
	assert_false(permits("start * event=app:* memory<=1M", "start",
			     "--event=app:x\n"));
	assert_false(permits("start * event=app:* memory<=1M", "start",
			     "--memory=1M\n"));
	assert_false(permits("change * event=app:* exclude", "change",
			     "--exclude=app:x\n"));
	assert_true(permits("change * event=app:* exclude memory<=1M", "change",
			    "--exclude=app:x\n--event=app:*\n"));
}

static void commands_of_others_are_run_by_name_only(void **state)
{
	(void)state;
	assert_false(permits("start * do=*", "start", "--do=run reboot\n"));
	assert_false(permits("start * do=r*", "start", "--do=run reboot\n"));
	assert_true(permits("start * do=*", "start", "--do=snapshot\n"));
	assert_true(permits("start * do=run", "start", "--do=run reboot\n"));
	assert_false(permits("start * do=run", "start", "--do=stop\n"));
}

static void other_machines_are_asked_by_those_that_are_named_only(void **state)
{
	const char *policy = "start * do=snapshot@web-*\n";

	(void)state;
	assert_true(permits(policy, "start", "--do=snapshot@web-*\n"));
	assert_true(permits(policy, "start", "--do=snapshot@web-1,web-2\n"));
	assert_false(permits(policy, "start", "--do=snapshot@web-1,db\n"));
	assert_false(permits(policy, "start", "--do=snapshot@*\n"));
	assert_false(permits(policy, "start", "--do=snapshot\n"));
	assert_false(permits("start * do=*", "start", "--do=snapshot@web-1\n"));
	assert_false(
		permits("start * do=s*", "start", "--do=snapshot@web-1\n"));
	assert_false(permits("start * do=snapshot", "start",
			     "--do=snapshot@web-1\n"));
}

static void a_machine_is_heeded_by_lines_about_machines_only(void **state)
{
	const char *policy = "status *\nstart *\nstop *\nsnapshot day\n"
			     "snapshot ni* by=web-*,db by=mail\n";

	(void)state;
	assert_true(permits_by(policy, "web-1", "snapshot", ""));
	assert_true(permits_by(policy, "db", "snapshot", ""));
	assert_true(permits_by(policy, "mail", "snapshot", ""));
	assert_false(permits_by(policy, "db-1", "snapshot", ""));
	assert_false(permits_by(policy, "web-1", "status", ""));
	assert_false(permits_by(policy, "web-1", "start", ""));
	assert_false(permits_by(policy, "web-1", "snapshot", "--by=web-1\n"));
	assert_false(permits_by("snapshot *", "web-1", "snapshot", ""));
	assert_false(permits(policy, "snapshot", ""));
	assert_true(permits("snapshot *\nsnapshot * by=x", "snapshot", ""));
}

static void a_policy_that_is_wrong_is_refused_by_its_line(void **state)
{
	static const char *const wrong[] = {
		"reboot *",           "status",         "status * json",
		"start * output",     "start * do",     "start * do<=3",
		"start * memory<=no", "start * file",   "start * event=",
		"start * Event",      "start * a<4",    "start * --event",
		"snapshot * by",      "stop * by=x",    "snapshot * by<=3",
		"start * by=x",       "start * ask-at", "snapshot * json",
	};
	static struct sonde_fleet_policy policy;
	char text[SONDE_FLEET_POLICY_MAX + 2];
	char error[200];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		(void)snprintf(text, sizeof(text), "status *\n%s\n", wrong[i]);
		assert_int_equal(sonde_fleet_policy_parse(text, strlen(text),
							  &policy, error,
							  sizeof(error)),
				 -EINVAL);
		assert_int_equal(strncmp(error, "line 2: ", 8), 0);
	}
	memset(text, '\n', sizeof(text));
	assert_int_equal(sonde_fleet_policy_parse(text, SONDE_FLEET_POLICY_MAX,
						  &policy, error,
						  sizeof(error)),
			 -E2BIG);
	assert_int_equal(sonde_fleet_policy_parse("status\0 *", 9, &policy,
						  error, sizeof(error)),
			 -EINVAL);
}

static void an_order_with_words_that_are_none_is_refused(void **state)
{
	static const char *const wrong[] = {
		"--event=x", "event=x\n", "-e\n",  "--\n", "--a b\n",
		"---a\n",    "--a\n\n",   "--A\n", "x\n",
	};
	struct sonde_fleet_order order = { .hosts = "*", .session = "night" };
	char line[SONDE_NET_HEAD_MAX];
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		(void)snprintf(order.words, sizeof(order.words), "%s",
			       wrong[i]);
		size = sonde_fleet_order_put(&order, line);
		assert_int_equal(sonde_fleet_order_parse(line, size, &order),
				 -EINVAL);
	}
	*order.words = '\0';
	assert_int_equal(sonde_fleet_order_add(&order, "event", "a\nb"),
			 -EINVAL);
	(void)snprintf(order.session, sizeof(order.session), "../x");
	size = sonde_fleet_order_put(&order, line);
	assert_int_equal(sonde_fleet_order_parse(line, size, &order), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_named_is_refused),
		cmocka_unit_test(a_line_permits_all_of_an_order_or_nothing),
		cmocka_unit_test(a_glob_covers_no_more_than_it_says),
		cmocka_unit_test(a_bound_holds_for_sizes_and_times),
		cmocka_unit_test(a_limit_is_not_got_round_by_saying_nothing),
		cmocka_unit_test(commands_of_others_are_run_by_name_only),
		cmocka_unit_test(
			other_machines_are_asked_by_those_that_are_named_only),
		cmocka_unit_test(
			a_machine_is_heeded_by_lines_about_machines_only),
		cmocka_unit_test(a_policy_that_is_wrong_is_refused_by_its_line),
		cmocka_unit_test(an_order_with_words_that_are_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
