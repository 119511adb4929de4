/* SPDX-License-Identifier: MIT */
/*
 * dump.c - source/statedump: text of /proc and /sys, records of iterators, and files
 * that may have a build-id. The first byte says which, the rest is the text, the
 * records or the file. What is accepted must be within its bounds; what is
 * refused must have changed nothing.
 */
#include "fuzz.h"

#include <errno.h>

#include "source/statedump/buildid.h"
#include "source/statedump/kernel_records.h"
#include "source/statedump/proc_parse.h"
#include "source/statedump/socket.h"

/* ---- text ---- */

static bool is_within(const char *part, const char *text)
{
	return part >= text && part <= text + strlen(text);
}

static void check_task(char *text)
{
	struct sonde_statedump_task task;
	struct sonde_statedump_task before;

	memset(&task, 0x5a, sizeof(task));
	before = task;
	if (sonde_text_stat(text, &task)) {
		FUZZ_CHECK(memchr(task.name, 0, sizeof(task.name)));
		FUZZ_CHECK(task.ppid >= 0);
		FUZZ_CHECK(task.status <= SONDE_STATUS_DEAD);
	} else {
		FUZZ_CHECK(!memcmp(&task, &before, sizeof(task)));
	}
	before = task;
	if (sonde_text_status(text, &task))
		FUZZ_CHECK(task.vtid >= 0 && task.vpid >= 0);
	else
		FUZZ_CHECK(!memcmp(&task, &before, sizeof(task)));
}

static void check_socket(const char *text)
{
	struct sonde_statedump_socket socket;
	char to[SONDE_SOCKET_TEXT_MAX];

	for (int i = 0; i < 3; i++) {
		if (!(i < 2 ? sonde_text_inet(text, i, &socket) :
			      sonde_text_unix(text, &socket)))
			continue;
		FUZZ_CHECK(socket.ino > 0);
		FUZZ_CHECK(socket.name_size <= sizeof(socket.name));
		socket.protocol = 6;
		if (sonde_socket_text(&socket, to))
			FUZZ_CHECK(memchr(to, 0, sizeof(to)));
	}
}

static void check_lines(char *text, uint8_t kind)
{
	const char *name;
	const char *value;

	if (kind < 3 && sonde_text_pair(text, &name, &value))
		FUZZ_CHECK(is_within(name, text));
}

static void check_words(const char *text)
{
	uint64_t number = 7;
	uint32_t small = 7;

	if (!sonde_text_number(text, 1000, &number))
		FUZZ_CHECK(number == 7);
	FUZZ_CHECK(number <= 1000);
	if (!sonde_text_fdinfo(text, &small))
		FUZZ_CHECK(small == 7);
	(void)sonde_text_dev(text, &small);
}

static void check_text(struct fuzz_input *in, uint8_t kind)
{
	size_t size = in->left;
	char *text = malloc(size + 1);

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, in->at, size);
	text[size] = '\0';
	if (kind == 0)
		check_task(text);
	else if (kind == 1 || kind == 2)
		check_socket(text);
	else if (kind == 3)
		check_words(text);
	else
		check_lines(text, kind - 4);
	free(text);
}

/* ---- records ---- */

static int on_task(void *ctx, const struct sonde_statedump_task *task)
{
	(void)ctx;
	FUZZ_CHECK(memchr(task->name, 0, sizeof(task->name)));
	FUZZ_CHECK(task->tid >= 0 && task->pid >= 0);
	return 0;
}

static int on_file(void *ctx, const struct sonde_statedump_file *file)
{
	(void)ctx;
	FUZZ_CHECK(strlen(file->name) <= SONDE_ITER_TEXT_MAX);
	FUZZ_CHECK(file->pid >= 0);
	return 0;
}

static int on_mapping(void *ctx, const struct sonde_statedump_mapping *mapping)
{
	(void)ctx;
	FUZZ_CHECK(strlen(mapping->path) <= SONDE_ITER_TEXT_MAX);
	FUZZ_CHECK(mapping->begin < mapping->end);
	return 0;
}

static void on_omission(void *ctx, uint64_t nr)
{
	(void)ctx;
	(void)nr;
}

static void check_records(struct fuzz_input *in, uint32_t kind)
{
	static const struct sonde_statedump_target target = {
		NULL, on_task, on_file, on_mapping, on_omission
	};
	static const int32_t pids[] = { 0, 1, 5, 0x41414141 };
	struct sonde_statedump_wanted wanted = { .pids = pids, .nr = 4 };
	struct sonde_records *records = malloc(sizeof(*records));
	size_t size = in->left;
	void *bytes = fuzz_copy(in->at, size);
	size_t used;
	int rc;

	FUZZ_CHECK(records);
	wanted.everybody = size & 1;
	sonde_records_init(records, (enum sonde_record_kind)kind, 4096, &wanted,
			   &target);
	rc = sonde_records_read(records, bytes, size, &used);
	FUZZ_CHECK(rc == 0 || rc == -EPROTO);
	if (!rc)
		FUZZ_CHECK(used <= size);
	free(bytes);
	free(records);
}

/* ---- files ---- */

static int read_input(void *ctx, uint64_t offset, void *to, size_t size)
{
	const struct fuzz_input *file = ctx;

	if (offset > file->left || size > file->left - offset)
		return -EINVAL;
	memcpy(to, file->at + offset, size);
	return 0;
}

static void check_file(struct fuzz_input *in)
{
	char text[SONDE_BUILD_ID_TEXT];

	if (sonde_build_id_find(read_input, in, text)) {
		FUZZ_CHECK(memchr(text, 0, sizeof(text)));
		FUZZ_CHECK(strlen(text) >= 2);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	uint8_t kind = fuzz_u8(&in) % 12;

	if (kind < 8)
		check_text(&in, kind);
	else if (kind < 11)
		check_records(&in, kind - 8u);
	else
		check_file(&in);
	return 0;
}
