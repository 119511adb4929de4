/* SPDX-License-Identifier: MIT */
/* check.h - count what holds and what doesn't. For C and C++. */
#ifndef TESTS_TRACEPOINT_CHECK_H
#define TESTS_TRACEPOINT_CHECK_H

#include <stdio.h>
#include <string.h>

#include "stub.h"

static int nr_passed;
static int nr_failed;

static inline void check_that(int holds, const char *what, int line)
{
	if (holds) {
		nr_passed++;
		return;
	}
	nr_failed++;
	printf("line %d: %s\n", line, what);
}

static inline void check_event(const char *expected, int line)
{
	const char *got = stub_take();

	if (strcmp(got, expected) == 0) {
		nr_passed++;
		return;
	}
	nr_failed++;
	printf("line %d: expected %s\n              got %s\n", line, expected,
	       got);
}

/* The last event is the one that `text` shows. */
#define CHECK_EVENT(text) check_event(text, __LINE__)
#define CHECK(condition)  check_that(condition, #condition, __LINE__)

static inline int check_summary(const char *what)
{
	printf("%s: %d passed, %d failed\n", what, nr_passed, nr_failed);
	return nr_failed != 0;
}

#endif /* TESTS_TRACEPOINT_CHECK_H */
