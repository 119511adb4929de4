/* SPDX-License-Identifier: MIT */
/*
 * client.h - /dev/sonde for tests: the calls of kmod/abi.h one by one,
 * a reader of streams that shares no code with the recorder, and what must be
 * true of what it read.
 *
 * Functions that can't go on end the program with a word and status 2: a test
 * that can't be run is not one that passed.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/port.h"
#include "kmod/abi.h"
#include "sonde_test.h"

#define CLIENT_CPUS_MAX 64u
#define TICK_BYTES      12u
#define TICK_ID         7u

__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format,
							 ...);

/* ---- tests whose functions are claims ---- */

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(name)          \
	{                   \
#name, name \
	}

/* Why the test at hand has failed: the first of the reasons. */
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...);
bool has_failed(void);

/* Goes on, for there may be something to put away. */
#define CLAIM(condition)                                                     \
	do {                                                                 \
		if (!(condition))                                            \
			fail("line %d: %s (errno %d)", __LINE__, #condition, \
			     errno);                                         \
	} while (0)

/* Returns if it, or one before, doesn't hold: what follows would make no sense. */
#define REQUIRE(condition)        \
	do {                      \
		CLAIM(condition); \
		if (has_failed()) \
			return;   \
	} while (0)

#define FAILS(call, error) CLAIM((call) == -1 && errno == (error))

struct tests {
	const struct test *all;
	size_t nr;
	/* Those with one of them in their names only. NULL, or none: all. */
	char *const *words;
	/* What must be so after each, unless it is NULL. */
	void (*after)(void);
	/* Each in a process of its own: one that dies is a failed test. */
	bool apart;
};

/* Prints `ok NAME` or `FAIL NAME: why` for each, and `N passed, M failed`; the status to
 * end with: 1 if one failed. */
int tests_run(const struct tests *tests);
#define RUN(table, ...)                  \
	tests_run(&(const struct tests){ \
		.all = (table), .nr = SONDE_ARRAY_SIZE(table), __VA_ARGS__ })

/* ---- one session, one channel ---- */

struct client_config {
	uint32_t mode; /* 0 discard, 1 overwrite */
	uint32_t subbuf_bytes;
	uint32_t nr_subbufs;
};

struct client {
	int device;
	int session;
	int channel;
	int stream[CLIENT_CPUS_MAX];
	const unsigned char *memory[CLIENT_CPUS_MAX];
	size_t memory_bytes; /* of each */
	uint32_t nr_cpus;    /* online, 0 to nr_cpus - 1 */
	struct client_config config;
};

/* With all streams mapped, and no event. */
void client_open(struct client *client, const struct client_config *config);
void client_close(struct client *client);
/* The descriptor if flags ask for one, else -1. */
int client_event(struct client *client, const struct sonde_kmod_event *event);
/* sonde_test_tick, as TICK_ID. */
int client_tick(struct client *client, uint32_t flags);
void client_start(struct client *client);
void client_stop(struct client *client);
void client_flush(struct client *client, uint32_t cpu);
void client_counts(struct client *client, uint32_t cpu,
		   struct sonde_kmod_counts *ret_counts);
/* 1 and a chunk, or 0. */
int client_get(struct client *client, uint32_t cpu,
	       struct sonde_kmod_chunk *ret_chunk);
void client_put(struct client *client, uint32_t cpu,
		const struct sonde_kmod_chunk *chunk);

/* ---- what was read of a stream ---- */

struct reading {
	uint32_t cpu;
	bool is_overwrite;
	uint64_t last;     /* time of the last record, or the packet's begin */
	uint64_t next_seq; /* of the sub-buffer that comes next, or goes on */
	bool is_open;      /* the last chunk did not end its sub-buffer */
	bool has_begun;
	uint64_t ticks[SONDE_TEST_CONTEXTS];
	uint64_t others; /* records that are not ticks */
	uint64_t next_tick[SONDE_TEST_CONTEXTS];
	uint64_t gaps;      /* ticks that were left out between others */
	uint64_t discarded; /* what the last chunk says of losses */
	uint64_t bytes;
	uint64_t chunks;
	uint64_t bad;  /* broken rules */
	char why[200]; /* the first of them */
};

void reading_begin(struct reading *reading, uint32_t cpu, bool is_overwrite);
/* Another chunk: its records are at `bytes`. */
void reading_chunk(struct reading *reading,
		   const struct sonde_kmod_chunk *chunk,
		   const unsigned char *bytes);
uint64_t reading_events(const struct reading *reading);

/* Reads what is there of one stream, by GET, the mapping and PUT; true if there
 * was anything. */
bool client_read(struct client *client, struct reading *reading);

/* ---- sonde_test.ko ---- */

int test_open(void);
void test_arm(int device, const struct sonde_test_arm *arm);
void test_run(int device, struct sonde_test_run *run);
void test_counts(int device, uint32_t cpu,
		 struct sonde_test_counts *ret_counts);
void bind_to(uint32_t cpu);
uint32_t online_cpus(void);

#endif /* CLIENT_H */
