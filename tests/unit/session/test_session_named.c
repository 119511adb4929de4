/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "session/named.h"
#include "session/protocol.h"

static char base[64];
static struct sonde_rundir home;

static int start(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/named-test-XXXXXX");
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	if (!mkdtemp(base) || setenv("XDG_RUNTIME_DIR", base, 1))
		return -1;
	return sonde_rundir_open(&home);
}

static int end(void **state)
{
	(void)state;
	sonde_rundir_close(&home);
	return folder_remove(base);
}

static void a_name_can_be_a_file_and_a_word_of_a_shell(void **state)
{
	static const char *const good[] = { "a", "night", "Night-2.1_x", "7",
					    "abcdefghijklmnopqrstuvwx" };
	static const char *const bad[] = { "",
					   ".",
					   "..",
					   "-a",
					   "_a",
					   ".a",
					   "a/b",
					   "../a",
					   "a b",
					   "a\n",
					   "a\"",
					   "\xc3\xa4",
					   "a*",
					   "a$b",
					   "a\\b",
					   "a\t",
					   "abcdefghijklmnopqrstuvwxy" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(sonde_session_is_name(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(sonde_session_is_name(bad[i]));
}

struct found {
	unsigned int nr;
	char names[4][SONDE_NAMED_CHARS + 1];
};

static void on_name(void *ctx, const char *name)
{
	struct found *found = ctx;

	assert_in_range(found->nr, 0, 3);
	(void)strcpy(found->names[found->nr++], name);
}

static void expect_file(const char *name, const char *text)
{
	char *read = NULL;

	assert_int_equal(sonde_session_read_file(&home, name, &read), 0);
	assert_string_equal(read, text);
	free(read);
}

static void a_file_is_replaced_as_a_whole_and_listed(void **state)
{
	struct found found = { 0 };
	struct stat st;
	char path[160];
	char *text;

	(void)state;
	assert_int_equal(sonde_session_read_file(&home, "night", &text),
			 -ENOENT);
	assert_int_equal(sonde_session_write_file(&home, "night", "{}"), 0);
	assert_int_equal(sonde_session_write_file(&home, "night", "{\"a\": 1}"),
			 0);
	assert_int_equal(sonde_session_write_file(&home, "night2", "x"), 0);
	expect_file("night", "{\"a\": 1}");
	(void)snprintf(path, sizeof(path), "%s/session-night.json", home.path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(sonde_session_each_name(&home, on_name, &found), 0);
	assert_int_equal(found.nr, 2);
	sonde_session_remove_file(&home, "night2");
	found.nr = 0;
	assert_int_equal(sonde_session_each_name(&home, on_name, &found), 0);
	assert_int_equal(found.nr, 1);
	assert_string_equal(found.names[0], "night");
}

static void a_name_is_taken_once_until_its_owner_has_gone(void **state)
{
	int first = -1;
	int second = -1;

	(void)state;
	assert_int_equal(sonde_session_connect(&home, "night", &second),
			 -ENOENT);
	assert_int_equal(sonde_session_listen(&home, "night", &first), 0);
	assert_int_equal(sonde_session_listen(&home, "night", &second),
			 -EADDRINUSE);
	assert_int_equal(sonde_session_connect(&home, "night", &second), 0);
	(void)close(second);
	/* As if its owner had been killed. */
	(void)close(first);
	assert_int_equal(sonde_session_connect(&home, "night", &second),
			 -ECONNREFUSED);
	assert_int_equal(sonde_session_listen(&home, "night", &first), 0);
	sonde_session_remove_socket(&home, "night");
	(void)close(first);
}

static int read_ask(const char *line, struct sonde_session_ask *ask)
{
	char error[200] = "";
	int rc = sonde_session_ask_read(line, strlen(line), ask, error,
					sizeof(error));

	if (rc != -ENOSYS)
		assert_true(!rc == !*error);
	return rc;
}

static void a_request_is_what_was_written(void **state)
{
	struct sonde_session_ask asks[] = {
		{ .what = SONDE_ASK_STATUS },
		{ .what = SONDE_ASK_STOP },
		{ .what = SONDE_ASK_DESTROY },
		{ .what = SONDE_ASK_CLEAR },
		{ .what = SONDE_ASK_JOIN },
		{ .what = SONDE_ASK_SNAPSHOT, .directory = "/a \"b\"\n/c" },
		{ .what = SONDE_ASK_CHANGE, .wish.memory_bytes = 1 << 20 },
		{ .what = SONDE_ASK_CHANGE, .wish.has_loglevel = true },
		{ .what = SONDE_ASK_CHANGE,
		  .wish = { .loglevel = 255,
			    .has_loglevel = true,
			    .rules_size = 12,
			    .rules = "+a:*\0-*\"b\\\0" } },
		{ .what = SONDE_ASK_CHANGE,
		  .wish = { .functions_size = 12,
			    .functions = "+f*@lib\0-g\0" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		char *line = sonde_session_ask_write(&asks[i]);
		struct sonde_session_ask ask;
		int rc;

		assert_non_null(line);
		assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
		rc = read_ask(line, &ask);
		free(line);
		if (rc == -ENOSYS)
			skip();
		assert_int_equal(rc, 0);
		assert_int_equal(ask.what, asks[i].what);
		assert_string_equal(ask.directory, asks[i].directory);
		assert_memory_equal(&ask.wish, &asks[i].wish, sizeof(ask.wish));
	}
}

static void what_is_no_request_is_refused_with_a_reason(void **state)
{
	static const char *const lines[] = {
		"",
		"{",
		"null",
		"[]",
		"{}",
		"{\"sonde\": 1}",
		"{\"sonde\": \"1\", \"do\": \"stop\"}",
		"{\"sonde\": 2, \"do\": \"stop\"}",
		"{\"sonde\": 1, \"do\": \"STOP\"}",
		"{\"sonde\": 1, \"do\": [\"stop\"]}",
		"{\"sonde\": 1, \"do\": \"stop\"} {}",
		"{\"sonde\": 1, \"do\": \"stop\\u0000\"}",
		"{\"sonde\": 1, \"do\": \"snapshot\"}",
		"{\"sonde\": 1, \"do\": \"snapshot\", \"directory\": \"a\"}",
		"{\"sonde\": 1, \"do\": \"snapshot\", \"directory\": 1}",
		"{\"sonde\": 1, \"do\": \"change\"}",
		"{\"sonde\": 1, \"do\": \"change\", \"rules\": []}",
		"{\"sonde\": 1, \"do\": \"change\", \"rules\": \"+a\"}",
		"{\"sonde\": 1, \"do\": \"change\", \"rules\": [\"a\"]}",
		"{\"sonde\": 1, \"do\": \"change\", \"rules\": [\"+\"]}",
		"{\"sonde\": 1, \"do\": \"change\", \"rules\": [\"+a\", 1]}",
		"{\"sonde\": 1, \"do\": \"change\", \"loglevel\": 15}",
		"{\"sonde\": 1, \"do\": \"change\", \"memory_bytes\": 1}",
	};
	struct sonde_session_ask ask;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int rc = read_ask(lines[i], &ask);

		if (rc == -ENOSYS)
			skip();
		assert_int_equal(rc, -EINVAL);
	}
}

static void a_member_of_another_type_is_refused_by_its_name(void **state)
{
	static const struct {
		const char *member, *value;
	} wishes[] = {
		{ "rules", "\"+a\"" },
		{ "rules", "null" },
		{ "rules", "{}" },
		{ "functions", "\"+a\"" },
		{ "functions", "null" },
		{ "loglevel", "\"3\"" },
		{ "loglevel", "3.0" },
		{ "loglevel", "-1" },
		{ "loglevel", "true" },
		{ "memory_bytes", "\"1M\"" },
		{ "memory_bytes", "-4194304" },
		{ "memory_bytes", "null" },
		{ "memory_bytes", "[4194304]" },
	};
	struct sonde_session_ask ask;
	char line[200];
	char error[200];
	char name[32];

	(void)state;
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		int rc;

		/* What is right beside it doesn't help. */
		(void)snprintf(line, sizeof(line),
			       "{\"sonde\": 1, \"do\": \"change\", \"%s\": %s"
			       "%s}",
			       wishes[i].member, wishes[i].value,
			       *wishes[i].member == 'l' ?
				       ", \"memory_bytes\": 4194304" :
				       ", \"loglevel\": 3");
		(void)snprintf(name, sizeof(name), "\"%s\"", wishes[i].member);
		rc = sonde_session_ask_read(line, strlen(line), &ask, error,
					    sizeof(error));
		if (rc == -ENOSYS)
			skip();
		assert_int_equal(rc, -EINVAL);
		assert_non_null(strstr(error, name));
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, end)
	const struct CMUnitTest tests[] = {
		CASE(a_name_can_be_a_file_and_a_word_of_a_shell),
		CASE(a_file_is_replaced_as_a_whole_and_listed),
		CASE(a_name_is_taken_once_until_its_owner_has_gone),
		CASE(a_request_is_what_was_written),
		CASE(what_is_no_request_is_refused_with_a_reason),
		CASE(a_member_of_another_type_is_refused_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
