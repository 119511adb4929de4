/* SPDX-License-Identifier: MIT */
/*
 * test_tracefs_filter.c - conditions in the kernel's filter language: what is
 * written, that it never holds less than the condition, and that the kernel, if
 * we may ask it, takes it and means by it what we think.
 *
 * The model of the kernel's language is made from what its documentation says
 * and what kernels were seen to do; it fails on all that is not to be written:
 * constants beyond a field.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/port.h"
#include "random.h"
#include "source/condition.h"
#include "source/tracefs/filter.h"
#include "types/build.h"
#include "unit.h"

#define ROUNDS       40000
#define RECORDS      8
#define LIVE_ROUNDS  75
#define LIVE_RECORDS 12

/* ---- an event ---- */

/* A field in the trace; `bits` 0: a text of `size`, or a string. */
struct shown {
	const char *name;
	uint8_t bits;
	uint32_t flags;
	uint32_t size;
	bool labels;
};

static const struct shown shown[] = {
	{ "prio", 32, SONDE_FIELD_SIGNED, 0, false },
	{ "byte", 8, 0, 0, false },
	{ "state", 64, SONDE_FIELD_SIGNED, 0, false },
	{ "big", 64, 0, 0, false },
	{ "half", 16, SONDE_FIELD_SIGNED, 0, false },
	{ "kind", 32, 0, 0, true },
	{ "skind", 8, SONDE_FIELD_SIGNED, 0, true },
	{ "fd", 32, 0, 0, false },
	{ "sfd", 32, SONDE_FIELD_SIGNED, 0, false },
	{ "wide", 64, SONDE_FIELD_SIGNED, 0, false },
	{ "other", 32, 0, 0, false },
	{ "comm", 0, 0, 16, false },
	{ "short_text", 0, 0, 3, false },
	{ "name", 0, 0, 0, false },
	{ "behind", 32, SONDE_FIELD_SIGNED, 0, false },
	{ "tail", 16, 0, 0, false },
};
#define NR_SHOWN SONDE_ARRAY_SIZE(shown)

/* All but `other` are the kernel's. */
static const struct sonde_tracefs_field fields[] = {
	{ "prio", "prev_prio", 4, true, -100 },
	{ "byte", "byte", 1, false, 0 },
	{ "state", "prev_state", 8, true, 0 },
	{ "big", "addr", 8, false, 0 },
	{ "half", "half", 2, true, 0 },
	{ "kind", "kind", 4, false, 0 },
	{ "skind", "skind", 1, true, 0 },
	{ "fd", "fd", 8, false, 0 },
	{ "sfd", "sfd", 8, false, 0 },
	{ "wide", "narrow", 2, true, 0 },
	{ "behind", "behind", 4, true, 0 },
	{ "tail", "tail", 4, false, 0 },
};

static const struct sonde_build_label labels[] = {
	{ 1, 1, "one" },
	{ 3, 9, "some" },
	{ 20, 20, "some" },
	{ 100, 127, "rest" },
};

static const struct sonde_desc *make_desc(void)
{
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	struct sonde_build build;

	sonde_build_begin(&build, room, "test", "event", SONDE_INFO);
	for (size_t i = 0; i < NR_SHOWN; i++) {
		if (shown[i].labels)
			sonde_build_enum(&build, shown[i].name, shown[i].bits,
					 shown[i].flags, labels,
					 SONDE_ARRAY_SIZE(labels));
		else if (shown[i].bits)
			sonde_build_int(&build, shown[i].name, shown[i].bits,
					shown[i].flags);
		else if (shown[i].size)
			sonde_build_text(&build, shown[i].name, shown[i].size);
		else
			sonde_build_string(&build, shown[i].name);
	}
	assert_int_equal(sonde_build_end(&build), 0);
	return (const struct sonde_desc *)room;
}

/* A record as both have it. */
struct record {
	int32_t tid;
	int32_t cpu;
	uint64_t numbers[NR_SHOWN]; /* the kernel's, by shown[] */
	char texts[NR_SHOWN][64];
	uint8_t payload[512];
	size_t payload_size;
};

static const struct sonde_tracefs_field *kernels(const char *name)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(fields); i++) {
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	}
	return NULL;
}

static uint64_t some_number(uint64_t *seed)
{
	static const uint64_t likely[] = {
		0,  1,   2,     3,         9,          20,         100,
		64, 127, 128,   255,       256,        32767,      32768,
		99, 120, 65535, INT32_MAX, 0x80000000, UINT32_MAX, UINT64_MAX,
	};

	switch (random_below(seed, 4)) {
	case 0:
		return next_random(seed);
	case 1:
		return 0 - random_below(seed, 130);
	default:
		return likely[random_below(seed, SONDE_ARRAY_SIZE(likely))];
	}
}

static void put_bytes(struct record *record, const void *bytes, size_t size)
{
	memcpy(record->payload + record->payload_size, bytes, size);
	record->payload_size += size;
}

static void put_number(struct record *record, uint64_t number, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++) {
		bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

		bytes[i] = (uint8_t)(number >> 8 * (big ? size - 1 - i : i));
	}
	put_bytes(record, bytes, size);
}

static void some_text(char *text, size_t most, uint64_t *seed)
{
	static const char letters[] = "aaab1!*\"'\\[";
	size_t length = random_below(seed, most + 1);

	for (size_t i = 0; i < length; i++)
		text[i] = letters[random_below(
			seed, random_below(seed, 3) ? 4 : sizeof(letters) - 1)];
}

static void fill_text(struct record *record, size_t i, uint64_t *seed)
{
	size_t size = shown[i].size ? shown[i].size : 30;

	memset(record->texts[i], 0, sizeof(record->texts[i]));
	some_text(record->texts[i], size, seed);
	if (shown[i].size && random_below(seed, 2)) {
		/* what was there before is behind the NUL */
		size_t length = strnlen(record->texts[i], size);

		if (length + 1 < size)
			record->texts[i][length + 1] = 'a';
	}
	put_bytes(record, record->texts[i],
		  shown[i].size ? size : strlen(record->texts[i]) + 1);
}

static void fill(struct record *record, uint64_t *seed)
{
	memset(record, 0, sizeof(*record));
	record->tid = (int32_t)random_below(seed, 12);
	record->cpu = (int32_t)random_below(seed, 3);
	for (size_t i = 0; i < NR_SHOWN; i++) {
		const struct sonde_tracefs_field *field =
			kernels(shown[i].name);
		uint64_t number = some_number(seed);

		if (!shown[i].bits) {
			fill_text(record, i, seed);
			continue;
		}
		if (field && field->add)
			number = random_below(seed, 250); /* a sum that fits */
		if (field) {
			unsigned int unused = 64 - 8 * field->size;

			number <<= unused;
			number = field->is_signed ?
					 (uint64_t)((int64_t)number >> unused) :
					 number >> unused;
		}
		record->numbers[i] = number;
		put_number(record, number + (uint64_t)(field ? field->add : 0),
			   shown[i].bits / 8);
	}
}

/* ---- the kernel's language ---- */

struct reader {
	const char *text;
	const char *at;
	const struct record *record;
};

static void pass_blanks(struct reader *reader)
{
	reader->at += strspn(reader->at, " ");
}

static bool accept(struct reader *reader, const char *token)
{
	size_t length = strlen(token);

	pass_blanks(reader);
	if (strncmp(reader->at, token, length) != 0)
		return false;
	reader->at += length;
	return true;
}

static int compare_numbers(const struct sonde_tracefs_field *field, uint64_t a,
			   uint64_t b)
{
	if (field->is_signed)
		return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
	return (a > b) - (a < b);
}

static bool is(const char *name, size_t length, const char *expected)
{
	return strlen(expected) == length && !memcmp(name, expected, length);
}

static bool compare(struct reader *reader,
		    const struct sonde_tracefs_field *field, const char *op,
		    uint64_t value)
{
	unsigned int unused = 64 - 8 * field->size;
	uint64_t number;
	uint64_t cut;
	int order;
	char *end;

	errno = 0;
	number = field->is_signed ? (uint64_t)strtoll(reader->at, &end, 10) :
				    strtoull(reader->at, &end, 10);
	cut = number << unused;
	cut = field->is_signed ? (uint64_t)((int64_t)cut >> unused) :
				 cut >> unused;
	if (end == reader->at || errno || cut != number ||
	    (*reader->at == '-' && !field->is_signed))
		fail_msg("%s: at '%s'", reader->text, reader->at);
	reader->at = end;
	order = compare_numbers(field, value, number);
	switch (op[0]) {
	case '<':
		return op[1] ? order <= 0 : order < 0;
	case '>':
		return op[1] ? order >= 0 : order > 0;
	case '=':
		return order == 0;
	case '!':
		return order != 0;
	default:
		return (value & number) != 0;
	}
}

static bool read_predicate(struct reader *reader)
{
	static const struct sonde_tracefs_field whence[] = {
		{ "", "common_pid", 4, true, 0 },
		{ "", "CPU", 4, true, 0 },
	};
	static const char *const ops[] = { "<=", ">=", "==", "!=",
					   "<",  ">",  "&",  "~" };
	size_t length = strcspn(reader->at, " ");
	const char *name = reader->at;
	const char *op = NULL;

	reader->at += length;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(ops) && !op; i++) {
		if (accept(reader, ops[i]))
			op = ops[i];
	}
	pass_blanks(reader);
	if (!op)
		fail_msg("%s: at '%s'", reader->text, reader->at);
	for (size_t i = 0; i < 2; i++) {
		if (is(name, length, whence[i].kernel_name) &&
		    (i == 0 || op[0] != '&'))
			return compare(
				reader, &whence[i], op,
				(uint64_t)(int64_t)(i ? reader->record->cpu :
							reader->record->tid));
	}
	for (size_t i = 0; i < NR_SHOWN; i++) {
		const struct sonde_tracefs_field *field =
			kernels(shown[i].name);

		if (!field || !is(name, length, field->kernel_name))
			continue;
		return compare(reader, field, op, reader->record->numbers[i]);
	}
	fail_msg("%s: no field %.*s", reader->text, (int)length, name);
	return false;
}

static bool filter_passes(const char *filter, const struct record *record)
{
	struct reader reader = { filter, filter, record };
	bool truth = read_predicate(&reader);

	while (accept(&reader, "&&")) {
		pass_blanks(&reader);
		truth = read_predicate(&reader) && truth;
	}
	if (*reader.at)
		fail_msg("%s: more at '%s'", filter, reader.at);
	return truth;
}

/* ---- random conditions ---- */

struct writer {
	char *at;
	size_t left;
	uint64_t *seed;
	const char *const *names; /* numbers, labels, texts of the event */
	const char *const *label_names;
	const char *const *text_names;
	bool simple; /* what the kernel's language can say */
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer,
						      const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(writer->at, writer->left, format, args);
	va_end(args);
	assert_true(length >= 0 && (size_t)length < writer->left);
	writer->at += length;
	writer->left -= (size_t)length;
}

static const char *any_of(struct writer *writer, const char *const *list)
{
	size_t nr = 0;

	while (list[nr])
		nr++;
	return list[random_below(writer->seed, nr)];
}

static void put_constant(struct writer *writer)
{
	int64_t number = (int64_t)some_number(writer->seed);

	if (random_below(writer->seed, 3))
		number %= 300;
	if (number == INT64_MIN)
		put(writer, "(-9223372036854775807 - 1)");
	else if (number < 0 && random_below(writer->seed, 2))
		put(writer, "(%lld)", (long long)number);
	else
		put(writer, "%llu", (unsigned long long)number);
}

static const char *const orders[] = { "==", "!=", "<", "<=", ">", ">=", NULL };
static const char *const equalities[] = { "==", "!=", NULL };

static void put_text(struct writer *writer)
{
	char text[40] = "";
	bool star = random_below(writer->seed, 4) == 0;

	some_text(text, 18, writer->seed);
	if (random_below(writer->seed, 2))
		text[random_below(writer->seed, 4)] = '\0';
	put(writer, "%s %s \"%s", any_of(writer, writer->text_names),
	    any_of(writer, equalities), star ? "*" : "");
	for (const char *at = text; *at; at++)
		put(writer,
		    *at == '*'          ? "%c" :
		    strchr("\"\\", *at) ? "\\%c" :
					  "%c",
		    *at);
	if (random_below(writer->seed, 3) == 0)
		put(writer, "?");
	put(writer, random_below(writer->seed, 2) ? "*\"" : "\"");
}

static void put_comparison(struct writer *writer)
{
	const char *name = any_of(writer, writer->names);

	switch (random_below(writer->seed, writer->simple ? 8 : 10)) {
	case 0:
	case 1:
	case 2:
		put(writer, "%s %s ", name, any_of(writer, orders));
		put_constant(writer);
		break;
	case 3:
		put_constant(writer);
		put(writer, " %s %s", any_of(writer, orders), name);
		break;
	case 4:
		put(writer, "(%s & ", name);
		put_constant(writer);
		put(writer, ")");
		if (random_below(writer->seed, 2)) {
			put(writer, " %s ", any_of(writer, equalities));
			put_constant(writer);
		}
		break;
	case 5:
		put(writer, "%s",
		    random_below(writer->seed, 2) ? name : "comm");
		break;
	case 6:
		put(writer, "%s %s \"%s\"", any_of(writer, writer->label_names),
		    any_of(writer, equalities),
		    any_of(writer, (const char *const[]){ "one", "some", "rest",
							  "none", NULL }));
		break;
	case 7:
		put_text(writer);
		break;
	case 8:
		put(writer, "%s + %s == ", name, any_of(writer, writer->names));
		put_constant(writer);
		break;
	default:
		put(writer, "%s in (", name);
		put_constant(writer);
		put(writer, ", ");
		put_constant(writer);
		put(writer, ") || defined(%s)", name);
		break;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as `depth` says */
static void put_condition(struct writer *writer, unsigned int depth)
{
	uint64_t choice = depth ? random_below(writer->seed, 5) : 4;

	if (choice < 3) {
		put(writer, choice == 2 ? "!(" : "(");
		put_condition(writer, depth - 1);
		put(writer, random_below(writer->seed, 2) ? " && " : " || ");
		put_condition(writer, depth - 1);
		put(writer, ")");
	} else if (choice == 3) {
		put(writer, "!(");
		put_condition(writer, depth - 1);
		put(writer, ")");
	} else {
		put_comparison(writer);
	}
}

static void write_condition(char *to, size_t size, uint64_t *seed)
{
	static const char *const names[] = {
		"prio",    "byte", "state",         "big",  "half",
		"kind",    "fd",   "sfd",           "wide", "other",
		"behind",  "tid",  "cpu",           "$tid", "cpu_id",
		"nothing", "tail", "$payload.byte", NULL
	};
	static const char *const label_names[] = { "kind", "skind", NULL };
	static const char *const text_names[] = { "comm", "short_text", "name",
						  "$payload.comm", NULL };
	struct writer writer = {
		.at = to,
		.left = size,
		.seed = seed,
		.names = names,
		.label_names = label_names,
		.text_names = text_names,
	};

	put_condition(&writer, (unsigned int)random_below(seed, 4));
}

/* ---- tests ---- */

static int filter(const char *condition, char *out, size_t size)
{
	return sonde_tracefs_filter(make_desc(), condition, fields,
				    SONDE_ARRAY_SIZE(fields), out, size);
}

static void check(const char *condition, int expected, const char *text)
{
	char out[SONDE_TRACEFS_FILTER_MAX] = "";
	int rc = filter(condition, out, sizeof(out));

	if (rc != expected || (rc >= 0 && strcmp(out, text) != 0))
		fail_msg("%s: %d, %s", condition, rc, out);
}

static void what_both_can_say_is_said_exactly(void **state)
{
	(void)state;
	check("byte == 3", 0, "byte == 3");
	check("3 < half && state != -1", 0, "half > 3 && prev_state != -1");
	check("3 >= half && 3 == byte", 0, "half <= 3 && byte == 3");
	check("tid == 12 && cpu == 1", 0, "common_pid == 12 && CPU == 1");
	check("byte", 0, "byte != 0");
	check("behind == 5", 0, "behind == 5");
	check("big == 18446744073709551615", 0, "addr == 18446744073709551615");
}

static void added_constants_are_taken_off(void **state)
{
	(void)state;
	check("prio == 20", 0, "prev_prio == 120");
	check("prio >= -5 && prio <= 39", 0,
	      "prev_prio >= 95 && prev_prio <= 139");
	/* the kernel's would be beyond its type */
	check("prio == 2147483647", -EOPNOTSUPP, "");
	check("prio < 2147483600", -EOPNOTSUPP, "");
}

/* The kernel would cut them to the field's type. */
static void constants_beyond_a_field_are_left_to_the_reader(void **state)
{
	(void)state;
	check("byte == 256", -EOPNOTSUPP, "");
	check("byte < 300 && half == 1", 1, "half == 1");
	check("wide == 40000", -EOPNOTSUPP, "");
	check("behind > 2147483648", -EOPNOTSUPP, "");
	check("big == -1", -EOPNOTSUPP, "");
}

static void what_is_known_before_is_left_to_the_reader(void **state)
{
	(void)state;
	check("1", -EOPNOTSUPP, "");
	check("nothing == 1 || nothing != 1", -EOPNOTSUPP, "");
	check("event == \"event\" && byte == 3", 1, "byte == 3");
}

static void labels_and_bits_are_left_to_the_reader(void **state)
{
	(void)state;
	check("kind == \"one\"", -EOPNOTSUPP, "");
	check("kind != \"some\" && kind == 3", 1, "kind == 3");
	check("big & 0x40", -EOPNOTSUPP, "");
	check("(half & 0xff0) == 0x30", -EOPNOTSUPP, "");
	/* the register's upper half may be anything */
	check("fd == 5", -EOPNOTSUPP, "");
	check("sfd < 3", -EOPNOTSUPP, "");
	check("tail == 65541", -EOPNOTSUPP, "");
}

static void what_can_not_be_said_is_left_to_the_reader(void **state)
{
	(void)state;
	check("byte + 1 == 3", -EOPNOTSUPP, "");
	check("byte + 1 == 3 && half == 2", 1, "half == 2");
	check("half == 2 && byte + 1 == 3", 1, "half == 2");
	check("byte == 3 || half == 2", -EOPNOTSUPP, "");
	check("byte == 3 && (half == 2 || other == 1)", 1, "byte == 3");
	check("!(byte == 3)", -EOPNOTSUPP, "");
	check("tid in (12, 13)", -EOPNOTSUPP, "");
	check("comm == \"bash\"", -EOPNOTSUPP, "");
	check("comm == \"bash\" && tid != 0", 1, "common_pid != 0");
	check("name == \"/bin/sh\"", -EOPNOTSUPP, "");
	check("comm < \"a\"", -EOPNOTSUPP, "");
	check("byte == half", -EOPNOTSUPP, "");
	check("byte < 1.5", -EOPNOTSUPP, "");
	check("byte ? half == 1 : half == 2", -EOPNOTSUPP, "");
	check("cpu & 1", -EOPNOTSUPP, "");
}

static void what_a_condition_refuses_is_refused(void **state)
{
	(void)state;
	check("byte ==", -EINVAL, "");
	check("comm == 3", -EINVAL, "");
	check("time > 3", -EINVAL, "");
}

/* A field of the name is not the one that is meant. */
static void fields_of_the_same_name_are_not_confused(void **state)
{
	static const struct sonde_tracefs_field two[] = {
		{ "x", "x", 4, true, 0 },
		{ "x", "y", 4, true, 0 },
	};
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	struct sonde_build build;
	char out[100];

	(void)state;
	sonde_build_begin(&build, room, "test", "event", SONDE_INFO);
	sonde_build_int(&build, "x", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(&build, "x", 32, SONDE_FIELD_SIGNED);
	assert_int_equal(sonde_build_end(&build), 0);
	assert_int_equal(sonde_tracefs_filter((const void *)room, "x == 1", two,
					      2, out, sizeof(out)),
			 -EOPNOTSUPP);
}

static void what_does_not_fit_is_left_to_the_reader(void **state)
{
	static const char condition[] = "byte == 1 && half == 2 && prio == 3";
	char whole[200];
	size_t length;

	(void)state;
	assert_int_equal(filter(condition, whole, sizeof(whole)), 0);
	length = strlen(whole);
	for (size_t size = 0; size <= length + 1; size++) {
		char *out = malloc(size ? size : 1);

		assert_non_null(out);
		assert_int_equal(filter(condition, out, size),
				 size == length + 1 ? 0 : -EOPNOTSUPP);
		free(out);
	}
}

static void filters_never_hold_less_than_conditions(void **state)
{
	const struct sonde_desc *desc = make_desc();
	uint64_t seed = 20261122;
	size_t nr[3] = { 0 };

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		char out[SONDE_TRACEFS_FILTER_MAX];
		struct sonde_condition *bound;
		char condition[8192];
		char error[256];
		int rc;

		write_condition(condition, sizeof(condition), &seed);
		rc = filter(condition, out, sizeof(out));
		nr[rc < 0 ? 2 : rc]++;
		if (rc != -EOPNOTSUPP && rc < 0)
			fail_msg("%s: %d", condition, rc);
		assert_int_equal(sonde_condition_new(desc, condition, error,
						     sizeof(error), &bound),
				 0);
		for (size_t i = 0; rc >= 0 && i < RECORDS; i++) {
			struct record record;
			bool passes;
			bool holds;

			fill(&record, &seed);
			passes = filter_passes(out, &record);
			holds = sonde_condition_test(bound, record.payload,
						     record.payload_size,
						     (uint32_t)record.tid,
						     (uint32_t)record.cpu);
			if (rc ? holds && !passes : holds != passes)
				fail_msg("%s: is %d, %s is %d (%d)", condition,
					 holds, out, passes, rc);
		}
		sonde_condition_free(bound);
	}
	print_message("%zu exactly, %zu more, %zu not\n", nr[0], nr[1], nr[2]);
	assert_true(nr[0] > ROUNDS / 16);
	assert_true(nr[1] > ROUNDS / 50);
}

/* ---- the kernel itself ---- */

#define TRACING "/sys/kernel/tracing/instances"

static char instance[128];

/* 0, or -errno; it is one write, as the kernel wants it. */
static int tell(const char *file, const char *text, int flags)
{
	char path[256];
	int err = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", instance, file);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (*text && write(fd, text, strlen(text)) < 0)
		err = -errno;
	(void)close(fd);
	return err;
}

/* What was recorded, as text; static. */
static const char *ask_trace(void)
{
	static char text[1 << 16];
	char path[256];
	size_t used = 0;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/trace", instance);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	while ((n = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	(void)close(fd);
	text[used] = '\0';
	return text;
}

static int make_instance(void **state)
{
	(void)state;
	(void)snprintf(instance, sizeof(instance), TRACING "/sonde-test-%d",
		       (int)getpid());
	if (mkdir(instance, 0700)) {
		print_message("skipped: no tracefs (error %d)\n", errno);
		instance[0] = '\0';
	}
	return 0;
}

static int remove_instance(void **state)
{
	(void)state;
	if (!instance[0])
		return 0;
	(void)tell("events/enable", "0", 0);
	return rmdir(instance);
}

/* `scope`: whose events, as a filter. */
static void set_filter(const char *event, const char *text, const char *scope)
{
	char joined[SONDE_TRACEFS_FILTER_MAX + 64];
	char file[128];
	int err;

	(void)snprintf(joined, sizeof(joined), "(%s) && (%s)", text, scope);
	(void)snprintf(file, sizeof(file), "events/%s/filter", event);
	err = tell(file, joined, 0);
	if (err)
		fail_msg("the kernel refuses %s: error %d", joined, err);
}

/* A signal to ourselves, which we ignore; all that it says is up to us. */
struct fired {
	int32_t sig, errno_value, code;
	char comm[16];
	bool holds;
};

static const struct sonde_desc *make_signal_desc(void)
{
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	struct sonde_build build;

	sonde_build_begin(&build, room, "signal", "signal_generate",
			  SONDE_INFO);
	sonde_build_int(&build, "sig", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(&build, "err", 32, SONDE_FIELD_SIGNED);
	sonde_build_enum(&build, "code", 32, SONDE_FIELD_SIGNED, labels,
			 SONDE_ARRAY_SIZE(labels));
	sonde_build_int(&build, "low", 16, 0);
	sonde_build_text(&build, "comm", 16);
	assert_int_equal(sonde_build_end(&build), 0);
	return (const struct sonde_desc *)room;
}

static const struct sonde_tracefs_field signal_fields[] = {
	{ "sig", "sig", 4, true, 0 },
	{ "err", "errno", 4, true, -100 },
	{ "code", "code", 4, true, 0 },
	{ "low", "code", 4, true, 0 },
};

static void fire(struct fired *fired, const struct sonde_condition *condition,
		 int cpu, uint64_t *seed)
{
	static const int signals[] = { SIGUSR1, SIGUSR2, SIGWINCH, SIGURG };
	siginfo_t info = { .si_code = (int)some_number(seed) };
	struct record record = { .payload_size = 0 };

	*fired = (struct fired){
		.sig = signals[random_below(seed, SONDE_ARRAY_SIZE(signals))],
		.errno_value = (int32_t)random_below(seed, 250),
		.code = info.si_code,
	};
	some_text(fired->comm, 15, seed);
	info.si_signo = fired->sig;
	info.si_errno = fired->errno_value;
	put_number(&record, (uint64_t)fired->sig, 4);
	put_number(&record, (uint64_t)(fired->errno_value - 100), 4);
	put_number(&record, (uint64_t)fired->code, 4);
	put_number(&record, (uint64_t)fired->code, 2);
	put_bytes(&record, fired->comm, 16);
	fired->holds = sonde_condition_test(condition, record.payload,
					    record.payload_size,
					    (uint32_t)getpid(), (uint32_t)cpu);
	assert_int_equal(prctl(PR_SET_NAME, fired->comm), 0);
	assert_int_equal(
		syscall(SYS_rt_sigqueueinfo, getpid(), fired->sig, &info), 0);
}

static long number_behind(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	assert_non_null(at);
	return at ? strtol(at + strlen(name), NULL, 10) : 0;
}

/* The first from `next` on that is what a line says; `nr` if it tells of
 * another program's. */
static size_t find_fired(const struct fired *fired, size_t next, size_t nr,
			 const char *line)
{
	long sig = number_behind(line, " sig=");
	long number = number_behind(line, " errno=");
	long code = number_behind(line, " code=");

	while (next < nr &&
	       (fired[next].sig != sig || fired[next].errno_value != number ||
		fired[next].code != code))
		next++;
	return next;
}

/* Each that holds has been recorded, and if `exact` no other. */
static void check_recorded(const struct fired *fired, size_t nr, bool exact,
			   const char *text)
{
	bool recorded[LIVE_RECORDS] = { false };
	const char *at = ask_trace();
	size_t next = 0;

	for (; (at = strstr(at, "signal_generate: ")); at++) {
		size_t found = find_fired(fired, next, nr, at);

		if (found == nr)
			continue;
		recorded[found] = true;
		next = found + 1;
	}
	for (size_t i = 0; i < nr; i++) {
		if (exact ? recorded[i] != fired[i].holds :
			    fired[i].holds && !recorded[i])
			fail_msg("%s: %s: %d %d %d %s", text,
				 recorded[i] ? "too much" : "missing",
				 fired[i].sig, fired[i].errno_value,
				 fired[i].code, fired[i].comm);
	}
}

static void write_signal_condition(char *to, size_t size, uint64_t *seed)
{
	static const char *const names[] = { "sig", "err", "code", "low",
					     "tid", "cpu", NULL };
	static const char *const label_names[] = { "code", NULL };
	static const char *const text_names[] = { "comm", NULL };
	struct writer writer = {
		.at = to,
		.left = size,
		.seed = seed,
		.names = names,
		.label_names = label_names,
		.text_names = text_names,
		.simple = true,
	};

	put_condition(&writer, (unsigned int)random_below(seed, 4));
}

static void try_in_kernel(const char *text, int cpu, uint64_t *seed)
{
	struct fired fired[LIVE_RECORDS];
	struct sonde_condition *condition;
	char out[SONDE_TRACEFS_FILTER_MAX];
	char error[256];
	char ours[32];
	int rc = sonde_tracefs_filter(make_signal_desc(), text, signal_fields,
				      SONDE_ARRAY_SIZE(signal_fields), out,
				      sizeof(out));

	if (rc < 0)
		return;
	assert_int_equal(sonde_condition_new(make_signal_desc(), text, error,
					     sizeof(error), &condition),
			 0);
	/* Others may send more signals than are kept. */
	(void)snprintf(ours, sizeof(ours), "common_pid == %d", (int)getpid());
	set_filter("signal/signal_generate", out, ours);
	assert_int_equal(tell("trace", "", O_TRUNC), 0);
	for (size_t i = 0; i < LIVE_RECORDS; i++)
		fire(&fired[i], condition, cpu, seed);
	check_recorded(fired, LIVE_RECORDS, rc == 0, out);
	sonde_condition_free(condition);
}

static void try_on_cpu(int cpu)
{
	static const char *const always[] = {
		"cpu != 1",
		"cpu == 0",
		"cpu != 0",
		"cpu <= 0",
		"cpu > 0",
		"cpu & 1",
		"comm == \"a*\"",
		"comm != \"a*\"",
		"comm == \"1*\"",
		"comm != \"1*\"",
		"comm == \"!*\"",
		"comm == \"*b*\"",
		"!comm",
		"code == \"some\"",
		"low == 127 || low != 64",
		"err & 1 || tid != 1",
	};
	uint64_t seed = 7;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(always); i++)
		try_in_kernel(always[i], cpu, &seed);
	for (size_t round = 0; round < LIVE_ROUNDS; round++) {
		char text[8192];

		write_signal_condition(text, sizeof(text), &seed);
		try_in_kernel(text, cpu, &seed);
	}
}

/* On the first two CPUs, so that the number makes a difference. */
static void the_kernel_records_what_conditions_ask_for(void **state)
{
	cpu_set_t before;
	char comm[16];
	int nr = 0;

	(void)state;
	if (!instance[0])
		skip();
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(prctl(PR_GET_NAME, comm), 0);
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGUSR2, SIG_IGN);
	assert_int_equal(tell("events/signal/signal_generate/enable", "1", 0),
			 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && nr < 2; cpu++) {
		if (!CPU_ISSET(cpu, &before))
			continue;
		try_on_cpu(cpu);
		nr++;
	}
	(void)prctl(PR_SET_NAME, comm);
	(void)sched_setaffinity(0, sizeof(before), &before);
	assert_int_equal(tell("events/signal/signal_generate/enable", "0", 0),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_both_can_say_is_said_exactly),
		cmocka_unit_test(added_constants_are_taken_off),
		cmocka_unit_test(
			constants_beyond_a_field_are_left_to_the_reader),
		cmocka_unit_test(what_is_known_before_is_left_to_the_reader),
		cmocka_unit_test(labels_and_bits_are_left_to_the_reader),
		cmocka_unit_test(what_can_not_be_said_is_left_to_the_reader),
		cmocka_unit_test(what_a_condition_refuses_is_refused),
		cmocka_unit_test(fields_of_the_same_name_are_not_confused),
		cmocka_unit_test(what_does_not_fit_is_left_to_the_reader),
		cmocka_unit_test(filters_never_hold_less_than_conditions),
		cmocka_unit_test(the_kernel_records_what_conditions_ask_for),
	};

	return cmocka_run_group_tests(tests, make_instance, remove_instance);
}
