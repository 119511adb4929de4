/* SPDX-License-Identifier: MIT */
/*
 * test_ctf_witness.h - what the CTF tests share: directories to write in,
 * babeltrace2 as a witness, and descriptions made field by field.
 *
 * Include it after cmocka's headers, in one file of each test program.
 */
#ifndef TEST_CTF_WITNESS_H
#define TEST_CTF_WITNESS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/abi.h>

#include "ctf/trace.h"
#include "types/desc.h"

/* ---- directories ---- */

struct scratch {
	char top[64];
	char trace[96]; /* does not exist yet */
};

static inline void scratch_make(struct scratch *scratch)
{
	(void)strcpy(scratch->top, "/tmp/sonde-ctf-XXXXXX");
	assert_non_null(mkdtemp(scratch->top));
	(void)snprintf(scratch->trace, sizeof(scratch->trace), "%s/trace",
		       scratch->top);
}

/* Run a program; its output and error output go to the files. Returns its
 * exit status, 127 if there is no such program, -1 if a signal ended it. */
static inline int run(char *const argv[], const char *out, const char *err)
{
	posix_spawn_file_actions_t actions;
	const int flags = O_WRONLY | O_CREAT | O_TRUNC;
	pid_t pid;
	int error;
	int status;

	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_addopen(
				 &actions, STDOUT_FILENO, out, flags, 0666),
			 0);
	assert_int_equal(posix_spawn_file_actions_addopen(
				 &actions, STDERR_FILENO, err, flags, 0666),
			 0);
	error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (error)
		return 127;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void scratch_remove(struct scratch *scratch)
{
	char *argv[] = { (char[]){ "rm" }, (char[]){ "-rf" }, scratch->top,
			 NULL };

	assert_int_equal(run(argv, "/dev/null", "/dev/null"), 0);
}

static inline int scratch_repair(const char *path,
				 struct sonde_ctf_repair_report *ret_report)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = sonde_ctf_repair_at(dir, ret_report);

	assert_true(dir >= 0);
	(void)close(dir);
	return rc;
}

/* The whole of a file as a string, to be freed. */
static inline char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	int c;

	assert_non_null(file);
	assert_non_null(to);
	while ((c = fgetc(file)) != EOF)
		(void)fputc(c, to);
	(void)fclose(file);
	(void)fclose(to);
	return text;
}

/* ---- the witness ---- */

struct witness {
	int status; /* babeltrace2's exit status */
	char *out;
	char *complaints; /* error output without what follows */
	uint64_t discarded;
	uint64_t packets_lost;
};

/* Sort a line of error output: reports of losses are what we asked for. */
static inline void judge_line(struct witness *witness, const char *line,
			      FILE *rest)
{
	static const char events[] =
		"WARNING: Tracer discarded %" SCNu64 " event";
	static const char packets[] =
		"WARNING: Tracer discarded %" SCNu64 " packet";
	uint64_t n = 0;

	if (strstr(line, " event") && sscanf(line, events, &n) == 1)
		witness->discarded += n;
	else if (strstr(line, " packet") && sscanf(line, packets, &n) == 1)
		witness->packets_lost += n;
	else
		(void)fputs(line, rest);
}

static inline void judge(struct witness *witness, const char *err)
{
	size_t size;
	FILE *rest = open_memstream(&witness->complaints, &size);
	FILE *file = fopen(err, "re");
	char *line = NULL;
	size_t room = 0;

	assert_non_null(rest);
	assert_non_null(file);
	while (getline(&line, &room, file) > 0)
		judge_line(witness, line, rest);
	free(line);
	(void)fclose(file);
	(void)fclose(rest);
}

/* Let babeltrace2 read the trace; `option` may be NULL. */
static inline struct witness witness_call(const struct scratch *scratch,
					  const char *option)
{
	struct witness witness = { .status = -1 };
	char trace[96];
	char opt[96] = "--clock-cycles";
	char out[128];
	char err[128];
	char *argv[] = { (char[]){ "babeltrace2" }, opt, trace, NULL };

	(void)snprintf(trace, sizeof(trace), "%s", scratch->trace);
	if (option)
		(void)snprintf(opt, sizeof(opt), "%s", option);
	(void)snprintf(out, sizeof(out), "%s/out", scratch->top);
	(void)snprintf(err, sizeof(err), "%s/err", scratch->top);
	witness.status = run(argv, out, err);
	witness.out = read_file(out);
	judge(&witness, err);
	return witness;
}

static inline void witness_dismiss(struct witness *witness)
{
	free(witness->out);
	free(witness->complaints);
}

/* Fails unless babeltrace2 was content. */
static inline void witness_content(const struct witness *witness)
{
	assert_string_equal(witness->complaints, "");
	assert_int_equal(witness->status, 0);
}

/* A cmocka group setup: tests that need the witness are skipped without. */
static inline bool have_witness(void)
{
	char *argv[] = { (char[]){ "babeltrace2" }, (char[]){ "--version" },
			 NULL };

	return run(argv, "/dev/null", "/dev/null") == 0;
}

#define NEED_WITNESS()               \
	do {                         \
		if (!have_witness()) \
			skip();      \
	} while (0)

/* ---- descriptions ---- */

/* A description in the making. Records that nest are opened and closed. */
struct maker {
	_Alignas(8) uint8_t bytes[SONDE_DESC_MAX];
	uint32_t size;
	uint32_t open[SONDE_NEST_MAX]; /* offsets of open records */
	uint32_t depth;
};

static inline void maker_put(struct maker *maker, const void *bytes,
			     size_t size)
{
	assert_true(maker->size + size <= sizeof(maker->bytes));
	memcpy(maker->bytes + maker->size, bytes, size);
	maker->size += (uint32_t)size;
}

static inline void maker_start(struct maker *maker, const char *provider,
			       const char *name, uint8_t loglevel)
{
	struct sonde_desc head = {
		.provider_size = (uint16_t)(strlen(provider) + 1),
		.name_size = (uint16_t)(strlen(name) + 1),
		.loglevel = loglevel,
		.version = SONDE_ABI_VERSION,
	};

	memset(maker, 0, sizeof(*maker));
	memcpy(head.magic, SONDE_DESC_MAGIC, sizeof(head.magic));
	maker_put(maker, &head, sizeof(head));
	maker_put(maker, provider, strlen(provider) + 1);
	maker_put(maker, name, strlen(name) + 1);
}

/* Begin a field record; what follows until maker_close() is its extra. */
static inline void maker_open(struct maker *maker, const char *name,
			      enum sonde_type kind, uint8_t bits,
			      uint32_t count, uint32_t flags)
{
	struct sonde_desc_field field = {
		.count = count,
		.name_size = (uint16_t)(strlen(name) + 1),
		.bits = bits,
		.kind = (uint8_t)kind,
		.flags = flags,
	};

	if (maker->depth == 0)
		((struct sonde_desc *)(void *)maker->bytes)->nr_fields++;
	maker->open[maker->depth++] = maker->size;
	maker_put(maker, &field, sizeof(field));
	maker_put(maker, name, strlen(name) + 1);
}

static inline void maker_close(struct maker *maker)
{
	uint32_t at = maker->open[--maker->depth];
	uint32_t size = maker->size - at;

	memcpy(maker->bytes + at, &size, sizeof(size));
}

static inline void maker_field(struct maker *maker, const char *name,
			       enum sonde_type kind, uint8_t bits,
			       uint32_t count, uint32_t flags)
{
	maker_open(maker, name, kind, bits, count, flags);
	maker_close(maker);
}

static inline void maker_label(struct maker *maker, const char *text,
			       int64_t first, int64_t last)
{
	struct sonde_desc_label label = {
		.first = first,
		.last = last,
		.name_size = (uint32_t)strlen(text) + 1,
	};

	maker_put(maker, &label, sizeof(label));
	maker_put(maker, text, strlen(text) + 1);
}

/* The finished description, checked as the recorder checks it. */
static inline const struct sonde_desc *maker_finish(struct maker *maker)
{
	const struct sonde_desc *desc = NULL;
	uint32_t *size = &((struct sonde_desc *)(void *)maker->bytes)->size;

	maker->size = (maker->size + 7) & ~7u;
	*size = maker->size;
	assert_int_equal(sonde_desc_check(maker->bytes, maker->size, &desc), 0);
	return desc;
}

#endif /* TEST_CTF_WITNESS_H */
