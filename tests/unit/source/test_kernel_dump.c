/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_dump.c - source/statedump: what is made of text of /proc and of
 * records of the kernel's side, sane and hostile; and a dump of this machine, in
 * which this very process must be found as it is, by each way that there is.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "source/statedump/buildid.h"
#include "source/statedump/kernel_records.h"
#include "source/statedump/mapped_files.h"
#include "source/statedump/proc_parse.h"
#include "source/statedump/socket.h"
#include "source/statedump/source.h"
#include "source/statedump/tasks.h"
#include "sys/textfile.h"
#include "types/desc.h"

static uint64_t now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- text ---- */

static void a_stat_is_read_from_its_last_bracket(void **state)
{
	struct sonde_statedump_task task = { 0 };
	const char *text = "7 (x) R 1 (y) S 5 7 7 0 -1 2097216 0 0 0 0 0 0 0 0 "
			   "20 0 1 0 33 0 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 "
			   "3 0 0\n";

	(void)state;
	assert_true(sonde_text_stat(text, &task));
	assert_string_equal(task.name, "x) R 1 (y");
	assert_int_equal(task.ppid, 5);
	assert_int_equal(task.status, SONDE_STATUS_WAIT);
	assert_true(task.is_kernel);
	assert_int_equal(task.cpu, 3);
}

static void a_damaged_stat_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"7",
		"7 (x",
		"7 x) S 1",
		")(",
		"7 (x)",
		"7 (x) ",
		"7 (x) S",
		"7 (x) S 1 2 3",
		"7 (x) S 99999999999999999999 7 7 0 -1 0",
		"7 (x) S -1 7 7 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
	};
	struct sonde_statedump_task task = { .ppid = 42, .name = "as it was" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_false(sonde_text_stat(texts[i], &task));
		assert_int_equal(task.ppid, 42);
		assert_string_equal(task.name, "as it was");
	}
}

static void a_long_name_is_cut_and_terminated(void **state)
{
	struct sonde_statedump_task task;
	char text[256];

	(void)state;
	memset(&task, 0xff, sizeof(task));
	(void)snprintf(text, sizeof(text),
		       "7 (0123456789abcdefghij) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 "
		       "0 20 0 1 0 33 0 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 0\n");
	assert_true(sonde_text_stat(text, &task));
	assert_string_equal(task.name, "0123456789abcde");
	assert_int_equal(task.status, SONDE_STATUS_ZOMBIE);
}

static void a_worker_is_called_without_what_it_works_on(void **state)
{
	struct sonde_statedump_task task = { 0 };
	const char *tail = "S 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 33 "
			   "0 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 0\n";
	char text[256];

	(void)state;
	(void)snprintf(text, sizeof(text), "9 (kworker/0:1-events) %s", tail);
	assert_true(sonde_text_stat(text, &task));
	assert_string_equal(task.name, "kworker/0:1");
	(void)snprintf(text, sizeof(text), "9 (kworker/R-slub_) %s", tail);
	assert_true(sonde_text_stat(text, &task));
	assert_string_equal(task.name, "kworker/R-slub_");
}

static void a_status_says_who_it_is_in_its_namespace(void **state)
{
	struct sonde_statedump_task task = { .vtid = 1, .vpid = 2 };

	(void)state;
	assert_true(sonde_text_status("Name:\tNSpid:\\n\nNStgid:\t100\t5\t1\n"
				      "NSpid:\t101\t6\t2\n",
				      &task));
	assert_int_equal(task.ns_level, 2);
	assert_int_equal(task.vtid, 2);
	assert_int_equal(task.vpid, 1);
	assert_false(sonde_text_status("Name:\tx\nNSpid:\n", &task));
	assert_false(sonde_text_status("NSpid:\t1", &task));
	assert_int_equal(task.vtid, 2);
}

static void flags_are_octal(void **state)
{
	uint32_t flags = 1;

	(void)state;
	assert_true(sonde_text_fdinfo("pos:\t0\nflags:\t0100002\n", &flags));
	assert_int_equal(flags, 0100002);
	assert_false(sonde_text_fdinfo("pos:\t0\nflags:\t8\n", &flags));
	assert_false(sonde_text_fdinfo("pos: flags: 7\n", &flags));
	assert_int_equal(flags, 0100002);
}

static void only_mappings_of_files_are_dumped(void **state)
{
	const struct sonde_proc_mapping heap = { .path = "[heap]" };
	const struct sonde_proc_mapping file = {
		.mode = SONDE_MAPPED_EXEC,
		.major = 0xfe,
		.minor = 0x12,
		.path = "/x",
	};
	struct sonde_statedump_mapping mapping = { 0 };

	(void)state;
	assert_false(sonde_text_mapping(&heap, &mapping));
	assert_true(sonde_text_mapping(&file, &mapping));
	assert_int_equal(mapping.flags, SONDE_MAPPED_EXEC);
	assert_int_equal(mapping.dev, 0xfe << 20 | 0x12);
	assert_string_equal(mapping.path, "/x");
}

static void expect_socket(const char *line, bool is_v6, uint16_t protocol,
			  uint64_t ino, const char *text)
{
	struct sonde_statedump_socket socket = { 0 };
	char to[SONDE_SOCKET_TEXT_MAX];

	assert_true(protocol ? sonde_text_inet(line, is_v6, &socket) :
			       sonde_text_unix(line, &socket));
	socket.protocol = protocol;
	assert_int_equal(socket.ino, ino);
	assert_true(sonde_socket_text(&socket, to));
	assert_string_equal(to, text);
}

static void sockets_are_called_by_their_addresses(void **state)
{
	(void)state;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	expect_socket("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 "
		      "00:00000000 00000000     0        0 12345 1 x",
		      false, IPPROTO_TCP, 12345, "tcp 127.0.0.1:8080");
	expect_socket(" 9: 0A00000A:0050 0B00000A:15B3 01 0:0 0:0 0 0 0 9 1",
		      false, IPPROTO_UDP, 9,
		      "udp 10.0.0.10:80 -> 10.0.0.11:5555");
	expect_socket("  0: 00000000000000000000000001000000:0016 "
		      "00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 "
		      "8 1",
		      true, IPPROTO_TCP, 8, "tcp [::1]:22");
#endif
	expect_socket("0000: 00000002 00000000 00010000 0001 01 21 /run/x y",
		      false, 0, 21, "unix /run/x y");
	expect_socket("0000: 00000002 00000000 00010000 0001 01 22 @a@b", false,
		      0, 22, "unix @a@b");
}

static void damaged_sockets_are_none(void **state)
{
	static const char *const lines[] = {
		"  sl  local_address rem_address   st tx_queue rx_queue",
		"",
		"0:",
		"0: 0100007F:1F90",
		"0: 0100007:1F90 00000000:0000 0A 0:0 0:0 0 0 0 12345",
		"0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 0",
		"0: 0100007F:11F90 00000000:0000 0A 0:0 0:0 0 0 0 12345",
		"0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0",
	};
	struct sonde_statedump_socket socket;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(sonde_text_inet(lines[i], false, &socket));
	assert_false(sonde_text_inet(lines[3], true, &socket));
	assert_false(sonde_text_unix("Num RefCount Protocol Flags", &socket));
	assert_false(sonde_text_unix("0: 2 0 1 1 01 22/x", &socket));
}

static void a_long_unix_name_is_cut(void **state)
{
	struct sonde_statedump_socket socket = { 0 };
	char to[SONDE_SOCKET_TEXT_MAX];
	char line[512];

	(void)state;
	(void)snprintf(line, sizeof(line), "0: 2 0 1 1 01 22 /%0108d", 0);
	assert_true(sonde_text_unix(line, &socket));
	assert_int_equal(socket.name_size, SONDE_SOCKET_NAME_MAX);
	assert_true(sonde_socket_text(&socket, to));
	assert_int_equal(strlen(to), 5 + SONDE_SOCKET_NAME_MAX);
}

static void devices_are_in_the_kernels_form(void **state)
{
	uint32_t dev = 0;

	(void)state;
	assert_true(sonde_text_dev("7:3\n", &dev));
	assert_int_equal(dev, 7 << 20 | 3);
	assert_false(sonde_text_dev("4096:0", &dev));
	assert_false(sonde_text_dev("7:1048576", &dev));
	assert_false(sonde_text_dev("7", &dev));
}

/* ---- the table of sockets ---- */

static void many_sockets_are_all_found(void **state)
{
	struct sonde_sockets sockets = { 0 };

	(void)state;
	assert_null(sonde_sockets_find(&sockets, 1));
	for (uint64_t ino = 1; ino <= 3000; ino++) {
		struct sonde_statedump_socket socket = {
			.ino = (ino * 7 % 3001) << 20, /* in no order */
			.local_port = (uint16_t)(ino * 7 % 3001),
		};

		assert_int_equal(sonde_sockets_add(&sockets, &socket), 0);
		if (ino == 1500)
			assert_non_null(sonde_sockets_find(&sockets, 7 << 20));
	}
	for (uint64_t ino = 1; ino <= 3000; ino++) {
		const struct sonde_statedump_socket *found =
			sonde_sockets_find(&sockets, ino << 20);

		assert_non_null(found);
		assert_int_equal(found->local_port, ino);
	}
	assert_null(sonde_sockets_find(&sockets, 7));
	sonde_sockets_fini(&sockets);
}

/* ---- threads ---- */

static void add_task(struct sonde_tasks *tasks, int32_t tid, int32_t pid,
		     int32_t ppid, uint64_t files)
{
	struct sonde_statedump_task task = {
		.tid = tid,
		.pid = pid,
		.vpid = pid,
		.ppid = ppid,
		.files = files,
		.cgroup = "/",
	};

	assert_int_equal(sonde_tasks_add(tasks, &task), 0);
}

static void descendants_are_found_whatever_the_order(void **state)
{
	static const int32_t roots[] = { 10, 20 };
	struct sonde_tasks tasks;
	struct sonde_statedump_wanted wanted;

	(void)state;
	assert_int_equal(sonde_tasks_init(&tasks, NULL), 0);
	add_task(&tasks, 30, 30, 20, 3);
	add_task(&tasks, 31, 30, 20, 3);
	add_task(&tasks, 20, 20, 10, 2);
	add_task(&tasks, 11, 11, 1, 2);
	add_task(&tasks, 10, 10, 1, 2);
	add_task(&tasks, 1, 1, 0, 1);
	/* A circle, as a list read over some time might have. */
	add_task(&tasks, 50, 50, 51, 5);
	add_task(&tasks, 51, 51, 50, 5);
	assert_int_equal(sonde_tasks_finish(&tasks), 0);
	assert_int_equal(sonde_tasks_table(&tasks, 3), 30);
	assert_int_equal(sonde_tasks_table(&tasks, 2), 10);
	assert_int_equal(sonde_tasks_table(&tasks, 4), 0);
	wanted = sonde_tasks_wanted(
		&tasks, &(struct sonde_tasks_roots){ roots, 1, 0, false });
	assert_int_equal(wanted.nr, 3);
	assert_true(sonde_statedump_is_wanted(&wanted, 10));
	assert_true(sonde_statedump_is_wanted(&wanted, 20));
	assert_true(sonde_statedump_is_wanted(&wanted, 30));
	assert_false(sonde_statedump_is_wanted(&wanted, 11));
	assert_false(sonde_statedump_is_wanted(&wanted, 50));
	wanted = sonde_tasks_wanted(
		&tasks, &(struct sonde_tasks_roots){ roots + 1, 1, 0, true });
	assert_int_equal(wanted.nr, 1);
	assert_true(sonde_statedump_is_wanted(&wanted, 20));
	sonde_tasks_fini(&tasks);
}

static void descendants_of_several_roots_are_found(void **state)
{
	static const int32_t roots[] = { 20, 40, 77 };
	const struct sonde_tasks_roots ours = { roots, 3, 0, false };
	struct sonde_tasks tasks;
	struct sonde_statedump_wanted wanted;

	(void)state;
	assert_int_equal(sonde_tasks_init(&tasks, NULL), 0);
	add_task(&tasks, 1, 1, 0, 1);
	add_task(&tasks, 20, 20, 1, 2);
	add_task(&tasks, 30, 30, 20, 2);
	add_task(&tasks, 40, 40, 1, 2);
	add_task(&tasks, 50, 50, 1, 2);
	assert_int_equal(sonde_tasks_finish(&tasks), 0);
	wanted = sonde_tasks_wanted(&tasks, &ours);
	assert_int_equal(wanted.nr, 3);
	assert_true(sonde_statedump_is_wanted(&wanted, 20));
	assert_true(sonde_statedump_is_wanted(&wanted, 30));
	assert_true(sonde_statedump_is_wanted(&wanted, 40));
	sonde_tasks_fini(&tasks);
}

static void a_root_is_known_by_its_number_in_the_callers_namespace(void **state)
{
	const int32_t root = 7;
	struct sonde_statedump_task task = {
		.tid = 500,
		.pid = 500,
		.vpid = 7,
		.vtid = 7,
		.ppid = 7,
		.ns_level = 1,
		.ns = { 4026532000u },
		.cgroup = "",
	};
	struct sonde_tasks tasks;
	struct sonde_statedump_wanted wanted;

	(void)state;
	assert_int_equal(sonde_tasks_init(&tasks, NULL), 0);
	assert_int_equal(sonde_tasks_add(&tasks, &task), 0);
	add_task(&tasks, 7, 7, 1, 1);
	assert_int_equal(sonde_tasks_finish(&tasks), 0);
	wanted = sonde_tasks_wanted(
		&tasks,
		&(struct sonde_tasks_roots){ &root, 1, 4026532000u, false });
	assert_int_equal(wanted.nr, 1);
	assert_int_equal(wanted.pids[0], 500);
	/* Its parent is outside. */
	assert_int_equal(sonde_tasks_vppid(&tasks, &tasks.all[1]), 0);
	sonde_tasks_fini(&tasks);
}

/* ---- iterators' records ---- */

struct told {
	uint32_t tasks, files, mappings;
	struct sonde_statedump_task task;
	struct sonde_statedump_file file;
	struct sonde_statedump_mapping mapping;
	char text[SONDE_STATEDUMP_PATH_MAX];
};

static int tell_task(void *ctx, const struct sonde_statedump_task *task)
{
	struct told *told = ctx;

	told->tasks++;
	told->task = *task;
	return 0;
}

static int tell_file(void *ctx, const struct sonde_statedump_file *file)
{
	struct told *told = ctx;

	told->files++;
	told->file = *file;
	(void)snprintf(told->text, sizeof(told->text), "%s", file->name);
	return 0;
}

static int tell_mapping(void *ctx,
			const struct sonde_statedump_mapping *mapping)
{
	struct told *told = ctx;

	told->mappings++;
	told->mapping = *mapping;
	(void)snprintf(told->text, sizeof(told->text), "%s", mapping->path);
	return 0;
}

static void tell_omission(void *ctx, uint64_t nr)
{
	(void)ctx;
	(void)nr;
}

static struct told told;
static const struct sonde_statedump_target telling = { &told, tell_task,
						       tell_file, tell_mapping,
						       tell_omission };
static const struct sonde_statedump_wanted everybody = { .everybody = true };

static int read_records(enum sonde_record_kind kind, const void *bytes,
			size_t size, size_t *ret_used)
{
	static struct sonde_records records;

	memset(&told, 0, sizeof(told));
	sonde_records_init(&records, kind, 4096, &everybody, &telling);
	*ret_used = 0;
	return sonde_records_read(&records, bytes, size, ret_used);
}

static void a_record_that_is_cut_waits_for_its_rest(void **state)
{
	struct sonde_iter_task records[2] = {
		{ .size = sizeof(records[0]), .tid = 5, .pid = 5, .state = 1 },
		{ .size = sizeof(records[0]), .tid = 6, .pid = 5 },
	};
	size_t used;

	(void)state;
	memset(records[1].name, 'x', sizeof(records[1].name));
	for (size_t cut = sizeof(records[0]); cut < sizeof(records); cut++) {
		assert_int_equal(read_records(SONDE_RECORD_TASK, records, cut,
					      &used),
				 0);
		assert_int_equal(used, sizeof(records[0]));
		assert_int_equal(told.tasks, 1);
		assert_int_equal(told.task.status, SONDE_STATUS_WAIT);
	}
	assert_int_equal(read_records(SONDE_RECORD_TASK, records,
				      sizeof(records), &used),
			 0);
	assert_int_equal(told.tasks, 2);
	assert_int_equal(told.task.status, SONDE_STATUS_WAIT_CPU);
	assert_string_equal(told.task.name, "xxxxxxxxxxxxxxx");
}

static void records_that_contradict_themselves_are_refused(void **state)
{
	const uint32_t size = sizeof(struct sonde_iter_file) + 4;
	struct {
		struct sonde_iter_file head;
		char text[4];
	} file = { .head = { .size = size, .text_size = 4 }, .text = "abcd" };
	struct sonde_iter_mapping mapping = {
		.size = sizeof(mapping),
		.begin = 1,
		.end = 2,
	};
	size_t used;

	(void)state;
	assert_int_equal(read_records(SONDE_RECORD_FILE, &file, size, &used),
			 0);
	assert_string_equal(told.text, "abcd");
	file.head.text_size = 5;
	assert_int_equal(read_records(SONDE_RECORD_FILE, &file, size, &used),
			 -EPROTO);
	file.head.text_size = 4;
	file.head.size = 3;
	assert_int_equal(read_records(SONDE_RECORD_FILE, &file, size, &used),
			 -EPROTO);
	file.head.size = 1u << 30;
	assert_int_equal(read_records(SONDE_RECORD_FILE, &file, size, &used),
			 -EPROTO);
	assert_int_equal(read_records(SONDE_RECORD_MAPPING, &mapping,
				      sizeof(mapping), &used),
			 0);
	mapping.same_file = 1; /* as which? */
	assert_int_equal(read_records(SONDE_RECORD_MAPPING, &mapping,
				      sizeof(mapping), &used),
			 -EPROTO);
	mapping.same_file = 0;
	mapping.offset = UINT64_MAX / 4095;
	assert_int_equal(read_records(SONDE_RECORD_MAPPING, &mapping,
				      sizeof(mapping), &used),
			 -EPROTO);
}

/* A descriptor from which `size` bytes can be read, at most `step` at a time. */
static int descriptor_of(const void *bytes, size_t size, size_t step)
{
	int pair[2];

	/* One message a read. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;

		assert_int_equal(write(pair[1], (const char *)bytes + at, n),
				 n);
	}
	assert_int_equal(close(pair[1]), 0);
	return pair[0];
}

static int read_descriptor(enum sonde_record_kind kind, const void *bytes,
			   size_t size, size_t step)
{
	static struct sonde_records records;
	int fd = descriptor_of(bytes, size, step);
	int rc;

	memset(&told, 0, sizeof(told));
	sonde_records_init(&records, kind, 4096, &everybody, &telling);
	rc = sonde_records_read_all(&records, fd);
	assert_int_equal(close(fd), 0);
	return rc;
}

static void records_are_read_however_they_are_cut(void **state)
{
	struct sonde_iter_task tasks[20];

	(void)state;
	memset(tasks, 0, sizeof(tasks));
	for (int32_t i = 0; i < 20; i++) {
		tasks[i].size = sizeof(tasks[i]);
		tasks[i].tid = i + 1;
	}
	for (size_t step = 16; step < 300; step++) {
		assert_int_equal(read_descriptor(SONDE_RECORD_TASK, tasks,
						 sizeof(tasks), step),
				 0);
		assert_int_equal(told.tasks, 20);
		assert_int_equal(told.task.tid, 20);
	}
}

static void a_descriptor_that_lies_is_refused(void **state)
{
	struct sonde_iter_task task = { .size = sizeof(task), .tid = 1 };
	struct sonde_iter_file file = { .size = sizeof(file), .pid = 1 };
	uint8_t noise[8192];
	uint32_t seed = 1;

	(void)state;
	/* What ends in a record's middle is no end. */
	for (size_t cut = 1; cut < sizeof(task); cut++)
		assert_int_equal(read_descriptor(SONDE_RECORD_TASK, &task, cut,
						 64),
				 -EPROTO);
	assert_int_equal(read_descriptor(SONDE_RECORD_FILE, &task, sizeof(task),
					 64),
			 -EPROTO);
	file.text_size = UINT32_MAX;
	assert_int_equal(read_descriptor(SONDE_RECORD_FILE, &file, sizeof(file),
					 64),
			 -EPROTO);
	/* A size of 0, and sizes that are too large; then anything. */
	memset(noise, 0, sizeof(noise));
	assert_int_equal(read_descriptor(SONDE_RECORD_MAPPING, noise,
					 sizeof(noise), 512),
			 -EPROTO);
	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof(noise); i++) {
			seed = seed * 1103515245 + 12345;
			noise[i] = (uint8_t)(seed >> 16);
			/* Some that fit, so that more than sizes is seen. */
			if (round % 2 && i % 80 < 4)
				noise[i] = i % 80 ? 0 : 80;
		}
		assert_int_equal(
			read_descriptor((enum sonde_record_kind)(round % 3),
					noise, sizeof(noise), 512),
			-EPROTO);
	}
}

/* ---- mappings ---- */

static void add_mapping(struct sonde_mapped *mapped, struct sonde_out *out,
			int32_t pid, uint64_t ino, uint32_t flags)
{
	struct sonde_statedump_mapping mapping = {
		.pid = pid,
		.begin = 1,
		.end = 2,
		.ino = ino,
		.flags = flags,
		.path = "/nowhere",
	};

	assert_int_equal(sonde_mapped_add(mapped, out, &mapping), 0);
}

static void a_file_counts_as_code_only_where_it_is_executable(void **state)
{
	struct sonde_mapped mapped;
	struct sonde_out out;

	(void)state;
	sonde_out_init(&out, now, 1, 4ull * SONDE_OUT_BLOCK_BYTES);
	assert_int_equal(sonde_mapped_init(&mapped, UINT64_MAX), 0);
	add_mapping(&mapped, &out, 5, 7, SONDE_MAPPED_READ);
	add_mapping(&mapped, &out, 5, 8, SONDE_MAPPED_READ);
	add_mapping(&mapped, &out, 5, 7, SONDE_MAPPED_EXEC);
	add_mapping(&mapped, &out, 6, 7, SONDE_MAPPED_READ);
	assert_int_equal(out.events, 2);
	add_mapping(&mapped, &out, 6, 8, SONDE_MAPPED_EXEC);
	sonde_mapped_flush(&mapped, &out);
	assert_int_equal(out.events, 3);
	sonde_mapped_fini(&mapped);
	sonde_out_fini(&out);
}

static void mappings_beyond_the_bound_are_counted(void **state)
{
	struct sonde_mapped mapped;
	struct sonde_out out;

	(void)state;
	sonde_out_init(&out, now, 1, 16ull * SONDE_OUT_BLOCK_BYTES);
	assert_int_equal(sonde_mapped_init(&mapped, 0), 0);
	for (uint32_t i = 0; i < SONDE_STATEDUMP_MAPPINGS_MAX + 3; i++)
		add_mapping(&mapped, &out, 5, i + 1, SONDE_MAPPED_EXEC);
	assert_int_equal(mapped.omitted, 3);
	sonde_mapped_flush(&mapped, &out);
	assert_int_equal(out.events, SONDE_STATEDUMP_MAPPINGS_MAX);
	/* It was too late for build-ids. */
	assert_int_equal(mapped.omitted, 3 + SONDE_STATEDUMP_MAPPINGS_MAX);
	sonde_mapped_fini(&mapped);
	sonde_out_fini(&out);
}

/* ---- build-ids ---- */

struct elf_image {
	uint8_t bytes[8192];
	size_t size;
};

static int read_image(void *ctx, uint64_t offset, void *to, size_t size)
{
	const struct elf_image *image = ctx;

	if (offset > image->size || size > image->size - offset)
		return -EINVAL;
	memcpy(to, image->bytes + offset, size);
	return 0;
}

/* A head, a part of notes, and in it a build-id of `nr` bytes 0xab. */
static void make_elf(struct elf_image *image, uint32_t nr){
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			     ELFDATA2LSB },
#else
			     ELFDATA2MSB },
#endif
		.e_phoff = sizeof(head),
		.e_phnum = 1,
		.e_phentsize = sizeof(Elf64_Phdr),
	};
Elf64_Nhdr notes[2] = { { 3, 5, 1 }, { 4, nr, NT_GNU_BUILD_ID } };
Elf64_Phdr part = {
	.p_type = PT_NOTE,
	.p_offset = 256,
	.p_filesz = 12 + 4 + 8 + 12 + 4 + nr,
	.p_align = 4,
};

memset(image, 0, sizeof(*image));
memcpy(image->bytes, &head, sizeof(head));
memcpy(image->bytes + head.e_phoff, &part, sizeof(part));
memcpy(image->bytes + 256, &notes[0], 12);
memcpy(image->bytes + 256 + 24, &notes[1], 12);
memcpy(image->bytes + 256 + 36, "GNU", 4);
memset(image->bytes + 256 + 40, 0xab, nr);
image->size = 256 + 40 + nr;
}

static void a_build_id_is_found_behind_another_note(void **state)
{
	static struct elf_image image;
	char text[SONDE_BUILD_ID_TEXT];

	(void)state;
	make_elf(&image, 4);
	assert_true(sonde_build_id_find(read_image, &image, text));
	assert_string_equal(text, "abababab");
	make_elf(&image, SONDE_BUILD_ID_BYTES);
	assert_true(sonde_build_id_find(read_image, &image, text));
	assert_int_equal(strlen(text), 2 * SONDE_BUILD_ID_BYTES);
	make_elf(&image, SONDE_BUILD_ID_BYTES + 1);
	assert_false(sonde_build_id_find(read_image, &image, text));
}

static void a_damaged_file_has_no_build_id(void **state)
{
	static struct elf_image image;
	char text[SONDE_BUILD_ID_TEXT];
	uint32_t huge = UINT32_MAX - 2;

	(void)state;
	/* Cut anywhere, it is found whole or not at all. */
	make_elf(&image, 4);
	for (size_t size = image.size; size-- > 0;) {
		image.size = size;
		assert_false(sonde_build_id_find(read_image, &image, text));
	}
	for (size_t at = 256; at < 256 + 36; at += 4) {
		make_elf(&image, 4);
		memcpy(image.bytes + at, &huge, 4);
		(void)sonde_build_id_find(read_image, &image, text);
	}
	make_elf(&image, 4);
	memcpy(image.bytes + 256, &huge, 4); /* its name goes round */
	assert_false(sonde_build_id_find(read_image, &image, text));
	make_elf(&image, 4);
	image.bytes[EI_DATA] ^= 3; /* of another machine */
	assert_false(sonde_build_id_find(read_image, &image, text));
}

/* This very program's file, as another mapping has it whose process has ended
 * and whose path leads nowhere. */
static void a_process_that_has_ended_hides_no_build_id(void **state)
{
	struct sonde_statedump_mapping mapping = { .pid = getpid(),
						   .path = "/proc/self/exe" };
	struct sonde_statedump_mapping dead;
	struct sonde_build_ids ids;
	struct stat st;

	(void)state;
	assert_int_equal(stat(mapping.path, &st), 0);
	mapping.dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	mapping.ino = st.st_ino;
	dead = mapping;
	dead.pid = INT32_MAX; /* beyond what a kernel gives */
	dead.path = "/nowhere/at/all";
	assert_int_equal(sonde_build_ids_init(&ids, UINT64_MAX), 0);
	assert_string_equal(sonde_build_ids_get(&ids, &dead), "");
	assert_true(strlen(sonde_build_ids_get(&ids, &mapping)) >= 16);
	/* What is known is known of each mapping of the file. */
	assert_true(strlen(sonde_build_ids_get(&ids, &dead)) >= 16);
	sonde_build_ids_fini(&ids);
}

/* ---- events of a dump, read by their descriptions ---- */

struct event {
	const struct sonde_desc *desc;
	uint64_t ts;
	const uint8_t *payload;
};

struct taken {
	struct sonde_source *source;
	uint8_t *bytes;
	size_t size;
	struct event *events;
	size_t nr;
};

/* Bytes of a field in a payload that is sane. */
static size_t field_size(const struct sonde_field_view *field,
			 const uint8_t *at)
{
	if (field->kind == SONDE_TYPE_STRING)
		return strlen((const char *)at) + 1;
	if (field->kind == SONDE_TYPE_TEXT)
		return field->count;
	assert_true(field->kind == SONDE_TYPE_INT ||
		    field->kind == SONDE_TYPE_ENUM);
	return field->stored_bits / 8;
}

static const uint8_t *find_field(const struct event *event, const char *name,
				 struct sonde_field_view *ret_field)
{
	struct sonde_fields it = sonde_desc_fields(event->desc);
	const uint8_t *at = event->payload;

	while (sonde_fields_next(&it, ret_field)) {
		if (!strcmp(ret_field->name, name))
			return at;
		at += field_size(ret_field, at);
	}
	fail_msg("no field %s", name);
	return NULL;
}

static uint64_t number(const struct event *event, const char *name)
{
	struct sonde_field_view field;
	const uint8_t *at = find_field(event, name, &field);
	uint64_t value = 0;

	memcpy(&value, at, field.stored_bits / 8);
	return value;
}

static const char *text(const struct event *event, const char *name)
{
	struct sonde_field_view field;

	return (const char *)find_field(event, name, &field);
}

static size_t payload_size(const struct sonde_desc *desc, const uint8_t *at)
{
	struct sonde_fields it = sonde_desc_fields(desc);
	struct sonde_field_view field;
	size_t size = 0;

	while (sonde_fields_next(&it, &field))
		size += field_size(&field, at + size);
	return size;
}

static void take_bytes(struct taken *taken, uint64_t from)
{
	struct sonde_source *source = taken->source;
	struct sonde_ring_chunk chunk;
	uint64_t seq = UINT64_MAX;
	int rc;

	while ((rc = source->ops->peek(source, 0, &chunk)) == 1) {
		assert_true(chunk.first && chunk.closed);
		assert_true(seq == UINT64_MAX || chunk.seq == seq + 1);
		assert_true(chunk.ts_begin >= from &&
			    chunk.ts_begin <= chunk.ts_end);
		seq = chunk.seq;
		taken->bytes =
			realloc(taken->bytes, taken->size + chunk.size + 1);
		assert_non_null(taken->bytes);
		memcpy(taken->bytes + taken->size, chunk.data, chunk.size);
		taken->size += chunk.size;
		source->ops->advance(source, 0, &chunk);
	}
	assert_int_equal(rc, 0);
	taken->bytes[taken->size] = 0;
}

/* From one event to the next it is less than 2^32 ns, so there are only short
 * headers; a dump may take longer. */
static void parse_events(struct taken *taken, uint64_t from)
{
	size_t at = 0;

	while (at < taken->size) {
		struct event *event;
		uint16_t id;
		uint32_t low;
		uint32_t tid;

		taken->events = realloc(taken->events,
					(taken->nr + 1) * sizeof(*event));
		assert_non_null(taken->events);
		event = &taken->events[taken->nr++];
		memcpy(&id, taken->bytes + at, 2);
		memcpy(&low, taken->bytes + at + 2, 4);
		memcpy(&tid, taken->bytes + at + 6, 4);
		assert_int_equal(tid, gettid());
		assert_in_range(id, 1,
				taken->source->ops->nr_events(taken->source));
		event->desc = taken->source->ops->event(taken->source, id - 1u);
		from += (uint32_t)(low - (uint32_t)from);
		event->ts = from;
		event->payload = taken->bytes + at + 10;
		at += 10 + payload_size(event->desc, event->payload);
	}
	assert_int_equal(at, taken->size);
}

static void open_dump(struct taken *taken)
{
	struct sonde_source_config config = {
		.clock = SONDE_CLOCK_MONOTONIC,
		.now = now,
	};
	struct sonde_source_error error;

	*taken = (struct taken){ 0 };
	assert_int_equal(sonde_source_statedump.open(&config, &taken->source,
						     &error),
			 0);
}

static void close_dump(struct taken *taken)
{
	taken->source->ops->close(taken->source);
	free(taken->bytes);
	free(taken->events);
}

static void open_dump_by(struct taken *taken,
			 enum sonde_statedump_reader reader)
{
	open_dump(taken);
	if (sonde_statedump_read_by(taken->source, reader)) {
		close_dump(taken);
		print_message("this way can't be had here\n");
		skip();
	}
	assert_int_equal(sonde_statedump_reader(taken->source), reader);
}

/* From the best one that there is to /proc. False: it was /proc. */
static bool go_by_the_next(struct taken *taken)
{
	int reader = (int)sonde_statedump_reader(taken->source);

	while (--reader >= 0)
		if (!sonde_statedump_read_by(
			    taken->source, (enum sonde_statedump_reader)reader))
			return true;
	return false;
}

static void take(struct taken *taken, pid_t root, bool root_only)
{
	struct sonde_source_state request = {
		.roots = &root,
		.nr_roots = root != 0,
		.root_only = root_only,
		.limit_ns = 1000 * SONDE_STATEDUMP_NS, /* others may be busy */
	};
	uint64_t from = now();

	taken->size = 0;
	taken->nr = 0;
	assert_int_equal(taken->source->ops->take(taken->source, &request), 0);
	take_bytes(taken, from);
	parse_events(taken, from);
	for (size_t i = 0; i < taken->nr; i++) {
		assert_true(taken->events[i].ts >= from);
		assert_true(taken->events[i].ts <= now());
		from = taken->events[i].ts;
	}
}

static bool is(const struct event *event, const char *name)
{
	return !strcmp(sonde_desc_name(event->desc), name);
}

static size_t count(const struct taken *taken, const char *name)
{
	size_t nr = 0;

	for (size_t i = 0; i < taken->nr; i++)
		nr += is(&taken->events[i], name);
	return nr;
}

static const struct event *find_thread(const struct taken *taken, pid_t tid)
{
	for (size_t i = 0; i < taken->nr; i++) {
		const struct event *event = &taken->events[i];

		if (is(event, "lttng_statedump_process_state") &&
		    number(event, "tid") == (uint64_t)tid)
			return event;
	}
	return NULL;
}

static const struct event *find_file(const struct taken *taken, pid_t pid,
				     int fd)
{
	for (size_t i = 0; i < taken->nr; i++) {
		const struct event *event = &taken->events[i];

		if (is(event, "lttng_statedump_file_descriptor") &&
		    number(event, "pid") == (uint64_t)pid &&
		    number(event, "fd") == (uint64_t)fd)
			return event;
	}
	return NULL;
}

static const struct event *find_mapping(const struct taken *taken, pid_t pid,
					uintptr_t at)
{
	for (size_t i = 0; i < taken->nr; i++) {
		const struct event *event = &taken->events[i];

		if (is(event, "sonde_statedump_mapping") &&
		    number(event, "pid") == (uint64_t)pid &&
		    number(event, "begin") <= at && number(event, "end") > at)
			return event;
	}
	return NULL;
}

/* ---- this process, with all that makes it hard ---- */

#define THREAD_NAME "t) R 1 (\n\xff"
#define FILE_NAME   "a\nb \xff\xfe (deleted)"

/* So many that an iterator can't hand them out at once. */
#define MAPPED 600

struct self {
	char dir[64];
	char path[128];
	int file;
	int other;
	int socket, peer, listener, abstract, unbound;
	uint16_t port, peer_port;
	char abstract_name[64];
	/* Of a file that has code, and of one that is only read. */
	void *code[MAPPED];
	void *text;
	pthread_t thread;
	pid_t tid;
	pthread_barrier_t here;
	pthread_barrier_t over;
};

static void *stay(void *ctx)
{
	struct self *self = ctx;

	(void)prctl(PR_SET_NAME, THREAD_NAME);
	self->tid = gettid();
	(void)pthread_barrier_wait(&self->here);
	(void)pthread_barrier_wait(&self->over);
	return NULL;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in address = { 0 };
	socklen_t size = sizeof(address);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size),
			 0);
	return ntohs(address.sin_port);
}

static void make_sockets(struct self *self)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(any);
	int n;

	self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	self->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	self->abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	self->unbound = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(self->listener, (struct sockaddr *)&any, size),
			 0);
	assert_int_equal(listen(self->listener, 1), 0);
	self->port = port_of(self->listener);
	any.sin_port = htons(self->port);
	assert_int_equal(connect(self->socket, (struct sockaddr *)&any, size),
			 0);
	self->peer = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC);
	self->peer_port = port_of(self->socket);
	n = snprintf(self->abstract_name, sizeof(self->abstract_name),
		     "@dump-%d", getpid());
	memcpy(name.sun_path + 1, self->abstract_name + 1, (size_t)n - 1);
	assert_int_equal(bind(self->abstract, (struct sockaddr *)&name,
			      (socklen_t)(sizeof(name.sun_family) + (size_t)n)),
			 0);
}

/* Two files take turns, so that no mapping is merged with the next. */
static void map_files(struct self *self)
{
	int fds[2] = { open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		       self->file };

	assert_true(fds[0] >= 0);
	assert_int_equal(write(self->file, "x", 1), 1);
	for (int i = 0; i < MAPPED; i++) {
		self->code[i] = mmap(NULL, 1, PROT_READ | PROT_EXEC,
				     MAP_PRIVATE, fds[i % 2], 0);
		assert_ptr_not_equal(self->code[i], MAP_FAILED);
	}
	(void)close(fds[0]);
	self->text = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, self->other, 0);
	assert_ptr_not_equal(self->text, MAP_FAILED);
}

static int make_self(void **state)
{
	static struct self self;

	*state = &self;
	(void)snprintf(self.dir, sizeof(self.dir), "/tmp/dump.XXXXXX");
	assert_non_null(mkdtemp(self.dir));
	(void)snprintf(self.path, sizeof(self.path), "%s/" FILE_NAME, self.dir);
	self.file =
		open(self.path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(self.file >= 0);
	self.other = open(self.dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(write(self.other, "x", 1), 1);
	map_files(&self);
	make_sockets(&self);
	(void)pthread_barrier_init(&self.here, NULL, 2);
	(void)pthread_barrier_init(&self.over, NULL, 2);
	assert_int_equal(pthread_create(&self.thread, NULL, stay, &self), 0);
	(void)pthread_barrier_wait(&self.here);
	return 0;
}

static int drop_self(void **state)
{
	struct self *self = *state;

	(void)pthread_barrier_wait(&self->over);
	(void)pthread_join(self->thread, NULL);
	for (int i = 0; i < MAPPED; i++)
		(void)munmap(self->code[i], 1);
	(void)munmap(self->text, 1);
	(void)close(self->other);
	(void)close(self->file);
	(void)close(self->socket);
	(void)close(self->peer);
	(void)close(self->listener);
	(void)close(self->abstract);
	(void)close(self->unbound);
	(void)unlink(self->path);
	(void)rmdir(self->dir);
	return 0;
}

static void check_threads(const struct taken *taken, const struct self *self)
{
	const struct event *own = find_thread(taken, getpid());
	const struct event *thread = find_thread(taken, self->tid);

	assert_non_null(own);
	assert_non_null(thread);
	assert_int_equal(number(own, "pid"), getpid());
	assert_int_equal(number(own, "ppid"), getppid());
	assert_int_equal(number(own, "vppid"), getppid());
	assert_int_equal(number(own, "type"), 0);
	assert_int_equal(number(own, "status"), SONDE_STATUS_WAIT_CPU);
	assert_int_equal(number(thread, "pid"), getpid());
	assert_int_equal(number(thread, "vpid"), getpid());
	assert_int_equal(number(thread, "status"), SONDE_STATUS_WAIT);
	assert_string_equal(text(thread, "name"), THREAD_NAME);
	assert_int_equal(number(own, "file_table_address"),
			 number(thread, "file_table_address"));
	assert_true(number(own, "net_ns") > 0);
}

static void expect_file(const struct taken *taken, int fd, uint64_t flags,
			const char *name)
{
	const struct event *file = find_file(taken, getpid(), fd);
	const struct event *own = find_thread(taken, getpid());

	assert_non_null(file);
	assert_string_equal(text(file, "filename"), name);
	assert_int_equal(number(file, "flags") & ~(uint64_t)O_LARGEFILE,
			 flags & ~(uint64_t)O_LARGEFILE);
	assert_int_equal(number(file, "file_table_address"),
			 number(own, "file_table_address"));
}

static void check_files(const struct taken *taken, const struct self *self)
{
	char name[128];

	expect_file(taken, self->file, O_RDWR | O_APPEND | O_CLOEXEC | 0100000,
		    self->path);
	(void)snprintf(name, sizeof(name), "tcp 127.0.0.1:%u -> 127.0.0.1:%u",
		       self->peer_port, self->port);
	expect_file(taken, self->socket, O_RDWR | O_CLOEXEC, name);
	(void)snprintf(name, sizeof(name), "tcp 127.0.0.1:%u -> 127.0.0.1:%u",
		       self->port, self->peer_port);
	expect_file(taken, self->peer, O_RDWR | O_CLOEXEC, name);
	(void)snprintf(name, sizeof(name), "tcp 127.0.0.1:%u", self->port);
	expect_file(taken, self->listener, O_RDWR | O_CLOEXEC, name);
	(void)snprintf(name, sizeof(name), "unix %s", self->abstract_name);
	expect_file(taken, self->abstract, O_RDWR | O_CLOEXEC, name);
	assert_memory_equal(text(find_file(taken, getpid(), self->unbound),
				 "filename"),
			    "socket:[", 8);
}

static uint32_t data = 1;

static void check_mappings(const struct taken *taken, const struct self *self)
{
	const struct event *code =
		find_mapping(taken, getpid(), (uintptr_t)check_threads);
	const struct event *variable =
		find_mapping(taken, getpid(), (uintptr_t)&data);
	const struct event *library = find_mapping(
		taken, getpid(), (uintptr_t)dlsym(RTLD_DEFAULT, "getppid"));
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	assert_true(n > 0);
	own[n] = '\0';
	assert_non_null(code);
	assert_non_null(variable);
	assert_non_null(library);
	assert_true(number(code, "flags") & SONDE_MAPPED_EXEC);
	assert_true(number(variable, "flags") & SONDE_MAPPED_WRITE);
	assert_string_equal(text(code, "path"), own);
	assert_string_equal(text(variable, "path"), own);
	assert_non_null(
		find_mapping(taken, getpid(), (uintptr_t)self->code[1]));
	assert_null(find_mapping(taken, getpid(), (uintptr_t)self->text));
	/* Distributions' files have one. */
	assert_true(strlen(text(library, "build_id")) >= 16);
}

static void check_system(const struct taken *taken)
{
	assert_int_equal(count(taken, "lttng_statedump_start"), 1);
	assert_int_equal(count(taken, "lttng_statedump_end"), 1);
	assert_true(is(&taken->events[0], "lttng_statedump_start"));
	assert_true(is(&taken->events[taken->nr - 1], "lttng_statedump_end"));
	assert_int_equal(count(taken, "lttng_statedump_cpu_topology"),
			 sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(count(taken, "lttng_statedump_network_interface") > 0);
}

static void expect_this_process(void **state,
				enum sonde_statedump_reader reader)
{
	struct taken taken;

	open_dump_by(&taken, reader);
	take(&taken, 0, false);
	assert_int_equal(number(&taken.events[0], "reader"), reader);
	check_threads(&taken, *state);
	check_files(&taken, *state);
	check_mappings(&taken, *state);
	check_system(&taken);
	close_dump(&taken);
}

static void this_process_is_in_the_dump_by_iterators(void **state)
{
	expect_this_process(state, SONDE_STATEDUMP_BY_ITERATORS);
}

static void this_process_is_in_the_dump_by_proc(void **state)
{
	expect_this_process(state, SONDE_STATEDUMP_BY_PROC);
}

/* Whether `event` is in `others` as well, byte for byte; but for a thread's CPU
 * and status, which may change. */
static bool has_same(const struct taken *others, const struct event *event)
{
	size_t size = payload_size(event->desc, event->payload);

	for (size_t i = 0; i < others->nr; i++) {
		const struct event *other = &others->events[i];

		if (!strcmp(sonde_desc_name(other->desc),
			    sonde_desc_name(event->desc)) &&
		    payload_size(other->desc, other->payload) == size &&
		    !memcmp(other->payload, event->payload, size))
			return true;
	}
	return false;
}

static bool is_stable(const struct event *event)
{
	return !is(event, "lttng_statedump_process_state") &&
	       !is(event, "lttng_statedump_start") &&
	       !is(event, "lttng_statedump_end") &&
	       !is(event, "lttng_statedump_cpu_topology");
}

/* With all that this process has open, and nothing that a dump opens. It has
 * come to its last call, so nothing of it changes any more. */
static pid_t start_child(void)
{
	int ready[2];
	char byte = 0;
	pid_t child;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_true(child > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return child;
}

/* Each event of one dump whose objects don't change is in the other, too. */
static void expect_all_in(const struct taken *one, const struct taken *other)
{
	for (size_t i = 0; i < one->nr; i++)
		if (is_stable(&one->events[i]) &&
		    !has_same(other, &one->events[i]))
			fail_msg("only in one: %s",
				 sonde_desc_name(one->events[i].desc));
}

static void expect_agreement(void **state, enum sonde_statedump_reader one,
			     enum sonde_statedump_reader other)
{
	static const char *const same[] = {
		"vtid",   "pid",     "vpid",     "ppid",    "vppid",
		"type",   "mode",    "ns_level", "ns_inum", "mnt_ns",
		"net_ns", "user_ns", "uts_ns",   "ipc_ns",  "cgroup_ns",
	};
	const struct self *self = *state;
	struct taken a;
	struct taken b;
	pid_t child;

	open_dump_by(&a, one);
	open_dump_by(&b, other);
	child = start_child();
	take(&a, child, false);
	take(&b, child, false);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	assert_true(count(&a, "lttng_statedump_file_descriptor") >= 6);
	assert_true(count(&a, "sonde_statedump_mapping") >= MAPPED);
	expect_all_in(&a, &b);
	expect_all_in(&b, &a);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(number(find_thread(&a, self->tid), same[i]),
				 number(find_thread(&b, self->tid), same[i]));
	assert_string_equal(text(find_thread(&a, self->tid), "cgroup"),
			    text(find_thread(&b, self->tid), "cgroup"));
	close_dump(&a);
	close_dump(&b);
}

static void iterators_and_proc_agree_about_a_process(void **state)
{
	expect_agreement(state, SONDE_STATEDUMP_BY_ITERATORS,
			 SONDE_STATEDUMP_BY_PROC);
}

/* ---- whose files ---- */

static void only_the_roots_tree_has_files(struct taken *taken)
{
	pid_t child = start_child();

	take(taken, getpid(), false);
	assert_non_null(find_file(taken, getpid(), 0));
	assert_non_null(find_file(taken, child, 0));
	for (size_t i = 0; i < taken->nr; i++) {
		const struct event *event = &taken->events[i];

		if (is(event, "lttng_statedump_file_descriptor") ||
		    is(event, "sonde_statedump_mapping"))
			assert_true(number(event, "pid") ==
					    (uint64_t)getpid() ||
				    number(event, "pid") == (uint64_t)child);
	}
	/* Threads are everybody's. */
	assert_non_null(find_thread(taken, getppid()));
	take(taken, child, true);
	assert_non_null(find_file(taken, child, 0));
	assert_null(find_file(taken, getpid(), 0));
	for (size_t i = 0; i < taken->nr; i++) {
		assert_true(is(&taken->events[i],
			       "lttng_statedump_file_descriptor") ||
			    is(&taken->events[i], "sonde_statedump_mapping"));
		assert_int_equal(number(&taken->events[i], "pid"), child);
	}
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

static void a_tree_and_a_root_alone_are_what_they_say(void **state)
{
	struct taken taken;

	(void)state;
	open_dump(&taken);
	do
		only_the_roots_tree_has_files(&taken);
	while (go_by_the_next(&taken));
	close_dump(&taken);
}

static void a_root_that_has_ended_has_nothing(void **state)
{
	struct taken taken;
	pid_t child = start_child();

	(void)state;
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	open_dump(&taken);
	take(&taken, child, false);
	assert_int_equal(count(&taken, "lttng_statedump_file_descriptor"), 0);
	assert_int_equal(count(&taken, "sonde_statedump_mapping"), 0);
	close_dump(&taken);
}

/* ---- bounds ---- */

static void descriptors_beyond_the_bound_are_counted(struct taken *taken,
						     int beyond)
{
	take(taken, getpid(), false);
	assert_null(find_file(taken, getpid(), beyond));
	assert_non_null(find_file(taken, getpid(), SONDE_STATEDUMP_FD_MAX - 1));
	assert_int_equal(number(&taken->events[taken->nr - 1], "omitted"), 2);
	/* It is said once for each dump. */
	take(taken, getppid(), true);
	take(taken, getpid(), false);
	assert_int_equal(number(&taken->events[taken->nr - 1], "omitted"), 2);
}

static void a_process_with_too_many_files_is_cut_and_counted(void **state)
{
	struct rlimit limit = { SONDE_STATEDUMP_FD_MAX + 16,
				SONDE_STATEDUMP_FD_MAX + 16 };
	struct rlimit before;
	struct taken taken;
	int beyond = (int)SONDE_STATEDUMP_FD_MAX;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	if (before.rlim_max > limit.rlim_max)
		limit.rlim_max = before.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		print_message("so many files can't be had here\n");
		skip();
	}
	assert_int_equal(dup2(1, beyond - 1), beyond - 1);
	assert_int_equal(dup2(1, beyond), beyond);
	assert_int_equal(dup2(1, beyond + 1), beyond + 1);
	open_dump(&taken);
	do
		descriptors_beyond_the_bound_are_counted(&taken, beyond);
	while (go_by_the_next(&taken));
	close_dump(&taken);
	for (int fd = beyond - 1; fd <= beyond + 1; fd++)
		(void)close(fd);
	(void)setrlimit(RLIMIT_NOFILE, &before);
}

static void events_without_room_are_counted_and_the_last_is_there(void **state)
{
	struct sonde_out out;
	struct sonde_ring_chunk chunk;
	uint64_t written = 0;

	(void)state;
	sonde_out_init(&out, now, 1, 3ull * SONDE_OUT_BLOCK_BYTES);
	for (int i = 0; i < 1000; i++) {
		uint8_t *at = sonde_out_event(&out, 1, 1000);

		if (at)
			memset(at, 0, 1000);
		written += at != NULL;
	}
	assert_null(sonde_out_event(&out, 1, 2 * SONDE_OUT_BLOCK_BYTES));
	assert_true(written > 400 && written < 600);
	assert_int_equal(out.lost, 1001 - written);
	sonde_out_flush(&out);
	while (sonde_out_peek(&out, &chunk) == 1)
		sonde_out_advance(&out);
	assert_int_equal(out.delivered, written);
	assert_int_equal(out.bytes, 0);
	assert_non_null(sonde_out_event(&out, 1, 0));
	sonde_out_fini(&out);
}

static void packets_of_one_time_begin_one_after_the_other(void **state)
{
	struct sonde_out out;
	struct sonde_ring_chunk chunk = { 0 };
	struct sonde_ring_chunk before;
	int nr = 0;

	(void)state;
	sonde_out_init(&out, now, 1, 4ull * SONDE_OUT_BLOCK_BYTES);
	out.at = 1000;
	for (int i = 0; i < 1000; i++) {
		uint8_t *at = sonde_out_event(&out, 1, 1000);

		assert_non_null(at);
		memset(at, 0, 1000);
		before = chunk;
		if (sonde_out_peek(&out, &chunk) != 1)
			continue;
		sonde_out_advance(&out);
		assert_true(chunk.ts_begin >= 1000);
		assert_true(chunk.ts_end >= chunk.ts_begin);
		assert_true(!nr++ || chunk.ts_begin > before.ts_begin);
		assert_true(chunk.ts_begin >= before.ts_end);
	}
	assert_int_equal(nr, 3);
	sonde_out_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stat_is_read_from_its_last_bracket),
		cmocka_unit_test(a_damaged_stat_changes_nothing),
		cmocka_unit_test(a_long_name_is_cut_and_terminated),
		cmocka_unit_test(a_worker_is_called_without_what_it_works_on),
		cmocka_unit_test(a_status_says_who_it_is_in_its_namespace),
		cmocka_unit_test(flags_are_octal),
		cmocka_unit_test(only_mappings_of_files_are_dumped),
		cmocka_unit_test(sockets_are_called_by_their_addresses),
		cmocka_unit_test(damaged_sockets_are_none),
		cmocka_unit_test(a_long_unix_name_is_cut),
		cmocka_unit_test(devices_are_in_the_kernels_form),
		cmocka_unit_test(many_sockets_are_all_found),
		cmocka_unit_test(descendants_are_found_whatever_the_order),
		cmocka_unit_test(descendants_of_several_roots_are_found),
		cmocka_unit_test(
			a_root_is_known_by_its_number_in_the_callers_namespace),
		cmocka_unit_test(a_record_that_is_cut_waits_for_its_rest),
		cmocka_unit_test(
			records_that_contradict_themselves_are_refused),
		cmocka_unit_test(records_are_read_however_they_are_cut),
		cmocka_unit_test(a_descriptor_that_lies_is_refused),
		cmocka_unit_test(
			a_file_counts_as_code_only_where_it_is_executable),
		cmocka_unit_test(mappings_beyond_the_bound_are_counted),
		cmocka_unit_test(a_build_id_is_found_behind_another_note),
		cmocka_unit_test(a_damaged_file_has_no_build_id),
		cmocka_unit_test(a_process_that_has_ended_hides_no_build_id),
		cmocka_unit_test_setup_teardown(
			this_process_is_in_the_dump_by_iterators, make_self,
			drop_self),
		cmocka_unit_test_setup_teardown(
			this_process_is_in_the_dump_by_proc, make_self,
			drop_self),
		cmocka_unit_test_setup_teardown(
			iterators_and_proc_agree_about_a_process, make_self,
			drop_self),
		cmocka_unit_test(a_tree_and_a_root_alone_are_what_they_say),
		cmocka_unit_test(a_root_that_has_ended_has_nothing),
		cmocka_unit_test(
			a_process_with_too_many_files_is_cut_and_counted),
		cmocka_unit_test(
			events_without_room_are_counted_and_the_last_is_there),
		cmocka_unit_test(packets_of_one_time_begin_one_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
