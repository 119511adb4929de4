/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The tracefs source and this machine's kernel: a child makes a known number of
 * system calls, and every one of them is recorded, or counted as lost. Needs
 * root and tracefs; else it says so and is skipped.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/calibrate.h"
#include "doctor/doctor.h"
#include "source/choose.h"
#include "source/packer.h"
#include "source/source.h"
#include "source/tracefs/open_files.h"
#include "types/desc.h"

#define CALLS 20000u

static struct sonde_clock session_clock;

static uint64_t now(void)
{
	return sonde_clock_now(&session_clock);
}

/* ---- a recording ---- */

struct recording {
	struct sonde_source_rules rules;
	struct sonde_source_config config;
	struct sonde_source *source;
	int gate[2];
	pid_t child;
	uint64_t before, after; /* the child's work lies between these */
	/* what was found */
	uint64_t nr;
	uint64_t of_child;
	uint64_t of_self;
	uint64_t outside;   /* with times not between those */
	uint64_t last[256]; /* by stream */
};

/* What a failed test leaves open. */
static struct sonde_source *left_open;

static int clean_up(void **state)
{
	(void)state;
	sonde_source_tracefs.close(left_open);
	left_open = NULL;
	return 0;
}

static void begin(struct recording *r, const char *rules)
{
	char why[200];

	memset(r, 0, sizeof(*r));
	assert_int_equal(
		sonde_source_rules_add(&r->rules, rules, why, sizeof(why)), 0);
	r->config = (struct sonde_source_config){
		.rules = &r->rules,
		.memory_bytes = 16 << 20,
		.clock = session_clock.source == SONDE_CLOCK_SOURCE_CPU ?
				 SONDE_CLOCK_CPU :
				 SONDE_CLOCK_MONOTONIC,
		.now = now,
		.session = now(),
	};
}

static void open_source(struct recording *r)
{
	struct sonde_source_error error = { "" };

	if (sonde_source_tracefs.open(&r->config, &r->source, &error))
		fail_msg("open: %s", error.text);
	left_open = r->source;
}

static _Noreturn void be_child(int gate, uint32_t nr)
{
	char c;

	(void)!read(gate, &c, 1); /* the end of the file is the signal */
	for (uint32_t i = 0; i < nr; i++)
		(void)syscall(SYS_getppid);
	_exit(0);
}

/* Makes the child; it works when the gate is closed. */
static void make_child(struct recording *r, uint32_t nr)
{
	assert_int_equal(pipe2(r->gate, O_CLOEXEC), 0);
	r->child = fork();
	assert_true(r->child >= 0);
	if (!r->child) {
		close(r->gate[1]);
		be_child(r->gate[0], nr);
	}
	close(r->gate[0]);
}

static void start(struct recording *r)
{
	struct sonde_source_error error = { "" };

	if (r->source->ops->start(r->source, r->child, &error))
		fail_msg("start: %s", error.text);
	r->before = now();
	close(r->gate[1]);
}

/* Records here have the payload of a call without arguments: none, or s64. */
static size_t payload(struct recording *r, uint32_t id)
{
	return sonde_desc_nr_fields(r->source->ops->event(r->source, id - 1)) ?
		       8 :
		       0;
}

static void look(struct recording *r, uint32_t stream,
		 const struct sonde_ring_chunk *chunk)
{
	const uint8_t *at = chunk->data;
	uint64_t *last = &r->last[stream % 256];

	if (chunk->first) {
		assert_true(chunk->ts_begin >= *last);
		*last = chunk->ts_begin;
	}
	while (at < chunk->data + chunk->size) {
		uint16_t id;
		uint32_t low;
		uint32_t tid;

		memcpy(&id, at, 2);
		memcpy(&low, at + 2, 4);
		memcpy(&tid, at + 6, 4);
		assert_in_range(id, 1, 2);
		*last += (uint32_t)(low - (uint32_t)*last);
		r->outside += *last < r->before || *last > r->after;
		r->of_child += tid == (uint32_t)r->child;
		r->of_self += tid == (uint32_t)getpid();
		r->nr++;
		at += SONDE_HEAD_LARGE + 4 + payload(r, id);
	}
	assert_ptr_equal(at, chunk->data + chunk->size);
}

static void read_all(struct recording *r)
{
	const struct sonde_source_ops *ops = r->source->ops;

	ops->tick(r->source);
	for (uint32_t i = 0; i < ops->nr_streams(r->source); i++) {
		struct sonde_ring_chunk chunk;
		int rc;

		while ((rc = ops->peek(r->source, i, &chunk)) > 0) {
			uint64_t before = r->nr;

			look(r, i, &chunk);
			assert_true(chunk.events - chunk.events_before >=
				    r->nr - before);
			ops->advance(r->source, i, &chunk);
		}
		assert_int_equal(rc, 0);
	}
}

static void end(struct recording *r)
{
	int status;

	assert_int_equal(waitpid(r->child, &status, 0), r->child);
	assert_int_equal(status, 0);
	r->after = now();
	r->source->ops->stop(r->source);
}

static struct sonde_source_counts count(struct recording *r)
{
	struct sonde_source_counts sum = { 0 };

	for (uint32_t i = 0; i < r->source->ops->nr_streams(r->source); i++) {
		struct sonde_source_counts counts;

		r->source->ops->counts(r->source, i, &counts);
		sum.delivered += counts.delivered;
		sum.lost_full += counts.lost_full;
		sum.lost_size += counts.lost_size;
		sum.lost_unread += counts.lost_unread;
		sum.overwritten += counts.overwritten;
	}
	return sum;
}

static void finish(struct recording *r)
{
	r->source->ops->close(r->source);
	left_open = NULL;
	sonde_source_rules_fini(&r->rules);
}

static int have_tracefs(void **state)
{
	(void)state;
	if (geteuid() != 0 ||
	    access("/sys/kernel/tracing/instances", W_OK) != 0) {
		print_message("needs root and tracefs\n");
		skip();
	}
	return 0;
}

/* ---- claims ---- */

static void every_call_of_a_tree_is_recorded_at_its_time(void **state)
{
	struct recording r;
	struct sonde_source_counts counts;

	(void)have_tracefs(state);
	begin(&r, "syscalls:getppid");
	r.config.scope = SONDE_SOURCE_TREE;
	open_source(&r);
	make_child(&r, CALLS);
	start(&r);
	end(&r);
	read_all(&r);
	counts = count(&r);
	assert_int_equal(r.nr, 2 * CALLS);
	assert_int_equal(r.of_child, 2 * CALLS);
	assert_int_equal(r.outside, 0);
	assert_int_equal(counts.delivered, 2 * CALLS);
	assert_int_equal(counts.lost_full + counts.overwritten, 0);
	assert_int_equal(counts.lost_unread, 0);
	finish(&r);
}

static void reading_while_it_is_recorded_misses_nothing(void **state)
{
	struct sonde_source_counts counts;
	struct recording r;
	siginfo_t info = { 0 };

	(void)have_tracefs(state);
	begin(&r, "syscalls:getppid");
	r.config.scope = SONDE_SOURCE_TREE;
	r.after = UINT64_MAX;
	open_source(&r);
	make_child(&r, CALLS);
	start(&r);
	while (!info.si_pid) {
		read_all(&r);
		assert_int_equal(waitid(P_PID, (id_t)r.child, &info,
					WEXITED | WNOHANG | WNOWAIT),
				 0);
	}
	end(&r);
	read_all(&r);
	counts = count(&r);
	assert_int_equal(counts.lost_full + counts.overwritten, 0);
	assert_int_equal(counts.lost_unread, 0);
	assert_int_equal(r.nr, counts.delivered);
	assert_int_equal(r.nr, 2 * CALLS);
	finish(&r);
}

static void what_does_not_fit_is_counted(void **state)
{
	struct recording r;
	struct sonde_source_counts counts;

	(void)have_tracefs(state);
	begin(&r, "syscalls:getppid");
	r.config.scope = SONDE_SOURCE_TREE;
	r.config.memory_bytes = 1; /* as little as there is */
	open_source(&r);
	make_child(&r, CALLS);
	start(&r);
	end(&r);
	read_all(&r);
	counts = count(&r);
	assert_true(counts.lost_full > 0);
	assert_int_equal(counts.overwritten + counts.lost_unread, 0);
	assert_int_equal(r.nr, counts.delivered);
	assert_int_equal(counts.delivered + counts.lost_full, 2 * CALLS);
	finish(&r);
}

static void what_is_overwritten_is_counted_and_the_latest_stays(void **state)
{
	struct recording r;
	struct sonde_source_counts counts;

	(void)have_tracefs(state);
	begin(&r, "syscalls:getppid");
	r.config.scope = SONDE_SOURCE_TREE;
	r.config.mode = SONDE_OVERWRITE;
	r.config.memory_bytes = 1;
	open_source(&r);
	make_child(&r, CALLS);
	start(&r);
	end(&r);
	for (uint32_t i = 0; i < r.source->ops->nr_streams(r.source); i++)
		assert_true(r.source->ops->rewind(r.source, i) >= 0);
	read_all(&r);
	counts = count(&r);
	assert_true(counts.overwritten > 0);
	assert_int_equal(counts.lost_full + counts.lost_unread, 0);
	assert_int_equal(r.nr, counts.delivered);
	assert_int_equal(counts.delivered + counts.overwritten, 2 * CALLS);
	finish(&r);
}

static void a_condition_holds_for_what_is_recorded(void **state)
{
	struct recording r;
	char rules[128];

	(void)have_tracefs(state);
	(void)snprintf(rules, sizeof(rules), "syscalls:getppid if ret == %d",
		       (int)getpid());
	begin(&r, rules);
	r.config.scope = SONDE_SOURCE_TREE;
	open_source(&r);
	make_child(&r, 100);
	start(&r);
	end(&r);
	read_all(&r);
	/* Entries have no `ret`. */
	assert_int_equal(r.nr, 100);
	finish(&r);
	(void)snprintf(rules, sizeof(rules), "syscalls:getppid if ret == %d",
		       (int)getpid() + 1);
	begin(&r, rules);
	r.config.scope = SONDE_SOURCE_TREE;
	open_source(&r);
	make_child(&r, 100);
	start(&r);
	end(&r);
	read_all(&r);
	assert_int_equal(r.nr, 0);
	finish(&r);
}

static void we_are_not_recorded_but_others_are(void **state)
{
	struct recording r;

	(void)have_tracefs(state);
	begin(&r, "syscalls:getppid");
	r.config.self[0] = getpid();
	open_source(&r);
	make_child(&r, 100);
	start(&r);
	for (int i = 0; i < 1000; i++)
		(void)syscall(SYS_getppid);
	end(&r);
	read_all(&r);
	assert_int_equal(r.of_child, 200);
	assert_int_equal(r.of_self, 0);
	finish(&r);
}

/* Names in a directory of tracefs that have our pid in them. */
static uint32_t nr_left(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	char ours[32];
	uint32_t nr = 0;

	(void)snprintf(ours, sizeof(ours), "sonde-%d-", (int)getpid());
	assert_non_null(dir);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(dir)))
		nr += !strncmp(entry->d_name, ours, strlen(ours));
	closedir(dir);
	return nr;
}

static void nothing_is_left_behind(void **state)
{
	const char *instances = "/sys/kernel/tracing/instances";
	struct sonde_source_error error = { "" };
	struct recording r;

	(void)have_tracefs(state);
	begin(&r, "syscalls:getppid");
	open_source(&r);
	assert_int_equal(nr_left(instances), 1);
	finish(&r);
	assert_int_equal(nr_left(instances), 0);
	begin(&r, "syscalls:getppid,kprobe:there_is_no_such_function");
	assert_int_equal(sonde_source_tracefs.open(&r.config, &r.source,
						   &error),
			 -EINVAL);
	assert_int_equal(nr_left(instances), 0);
	sonde_source_rules_fini(&r.rules);
}

/* A probe on a function of this program, which the child calls. */
__attribute__((noinline, used)) int sonde_live_probed(int x);
int sonde_live_probed(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static void a_user_probe_counts_calls(void **state)
{
	struct recording r;
	char path[64];

	(void)have_tracefs(state);
	if (access("/sys/kernel/tracing/uprobe_events", W_OK)) {
		print_message("this kernel has no uprobes\n");
		skip();
	}
	begin(&r, "uprobe:/proc/self/exe:sonde_live_probed");
	r.config.scope = SONDE_SOURCE_TREE;
	open_source(&r);
	assert_int_equal(pipe2(r.gate, O_CLOEXEC), 0);
	r.child = fork();
	if (!r.child) {
		char c;

		close(r.gate[1]);
		(void)!read(r.gate[0], &c, 1);
		for (int i = 0; i < 100; i++)
			(void)sonde_live_probed(i);
		_exit(0);
	}
	close(r.gate[0]);
	start(&r);
	end(&r);
	read_all(&r);
	assert_int_equal(r.nr, 100);
	finish(&r);
	(void)snprintf(path, sizeof(path),
		       "/sys/kernel/tracing/events/sonde_%d", (int)getpid());
	assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- files ---- */

/* Opens a file and keeps it until we have looked; `keep` false: closes it. */
static _Noreturn void be_opener(int gate, int done, const char *path, bool keep)
{
	char c;
	int fd;

	(void)!read(gate, &c, 1); /* the end of the file is the signal */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!keep)
		close(fd);
	(void)!write(done, "", 1);
	(void)!read(done, &c, 1);
	_exit(fd < 0);
}

/* The bytes of a stream's records that were read. */
static bool find_bytes(struct recording *r, const char *text)
{
	const struct sonde_source_ops *ops = r->source->ops;
	bool found = false;

	ops->tick(r->source);
	for (uint32_t i = 0; i < ops->nr_streams(r->source); i++) {
		struct sonde_ring_chunk chunk;

		while (ops->peek(r->source, i, &chunk) > 0) {
			if (memmem(chunk.data, chunk.size, text,
				   strlen(text) + 1))
				found = true;
			r->nr += chunk.events - chunk.events_before;
			ops->advance(r->source, i, &chunk);
		}
	}
	return found;
}

/* Returns whether the trace names the file that the child opened. */
static bool record_opener(bool keep)
{
	char path[] = "/tmp/sonde-test-XXXXXX";
	struct sonde_source_counts counts;
	struct recording r;
	int done[2];
	bool found;
	char c;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	begin(&r, "syscalls:open*");
	r.config.scope = SONDE_SOURCE_TREE;
	open_source(&r);
	assert_int_equal(pipe2(r.gate, O_CLOEXEC), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, done), 0);
	r.child = fork();
	assert_true(r.child >= 0);
	if (!r.child) {
		close(r.gate[1]);
		be_opener(r.gate[0], done[1], path, keep);
	}
	close(r.gate[0]);
	start(&r);
	assert_int_equal(read(done[0], &c, 1), 1);
	found = find_bytes(&r, path);
	assert_int_equal(write(done[0], "", 1), 1);
	end(&r);
	(void)find_bytes(&r, path);
	counts = count(&r);
	/* An entry and an exit, and our own. */
	assert_int_equal(counts.delivered, found ? 3 : 2);
	assert_int_equal(r.nr, counts.delivered);
	assert_int_equal(counts.lost_full + counts.overwritten, 0);
	finish(&r);
	close(done[0]);
	close(done[1]);
	(void)unlink(path); /* was made above */
	return found;
}

static void a_file_that_is_open_still_has_its_name_recorded(void **state)
{
	(void)have_tracefs(state);
	if (!sonde_source_knows_pids()) {
		print_message("needs the first PID namespace\n");
		skip();
	}
	assert_true(record_opener(true));
	assert_false(record_opener(false));
}

/* ---- rights ---- */

static void a_user_without_rights_is_told_what_the_doctor_says(void **state)
{
	int status;
	pid_t child;

	(void)have_tracefs(state);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct sonde_source_error error = { "" };
		struct sonde_doctor_ability ability;
		struct recording r;
		int rc;

		if (setresgid(65534, 65534, 65534) ||
		    setresuid(65534, 65534, 65534))
			_exit(2);
		begin(&r, "sched");
		r.config.explain = sonde_doctor_explain;
		rc = sonde_source_tracefs.open(&r.config, &r.source, &error);
		if (sonde_doctor_ability("tracefs", &ability) ||
		    !*ability.remedy)
			_exit(3);
		_exit(!(rc == -EACCES && strstr(error.text, ability.why) &&
			strstr(error.text, ability.remedy)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, clean_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_call_of_a_tree_is_recorded_at_its_time),
		TEST(reading_while_it_is_recorded_misses_nothing),
		TEST(what_does_not_fit_is_counted),
		TEST(what_is_overwritten_is_counted_and_the_latest_stays),
		TEST(a_condition_holds_for_what_is_recorded),
		TEST(we_are_not_recorded_but_others_are),
		TEST(nothing_is_left_behind),
		TEST(a_user_probe_counts_calls),
		TEST(a_file_that_is_open_still_has_its_name_recorded),
		TEST(a_user_without_rights_is_told_what_the_doctor_says),
	};

	sonde_clock_choose(true, &session_clock);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
