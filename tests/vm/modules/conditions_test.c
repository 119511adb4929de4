// SPDX-License-Identifier: MIT
/*
 * conditions_test.c - conditions that the module judges: by words, before anything
 * is captured, or by a payload; by machine code or by the evaluator. Each function is
 * a claim.
 *
 * Needs sonde.ko and sonde_test.ko. Prints `ok NAME` or `FAIL NAME: why`, and
 * `N passed, M failed`; status 1 if a claim failed. Programs are made an operation at
 * a time, and held against the evaluator, here, over what the fields must be.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../unit/program_make.h"
#include "../../unit/random.h"

/* Parts of src/, which tests in a guest have no library of. */
#include "expr/eval.c"
#include "expr/ops.c"
#include "expr/verify.c"
#include "types/select.c"

#define ROUNDS 250u
#define CALL_A 0u
#define CALL_B 1u

static int device; /* of sonde_test.ko */
static bool has_native;

/* ---- places ---- */

/* Two numbers of 64 and 32 bits, which is what `call` makes them; and where there is
 * one, a result of 64. */
struct place {
	const char *name;
	uint32_t type;
	uint32_t number;
	const char *function;
	struct sonde_kmod_cap caps[3];
	uint32_t nr_caps;
	uint32_t
		judged; /* if it is more than a range, and there is native code */
};

#define CAP(what, at, width)                                             \
	{                                                                \
		.kind = SONDE_KMOD_VALUE, .from = (what), .index = (at), \
		.bytes = (width)                                         \
	}
#define ARGS \
	CAP(SONDE_KMOD_FROM_ARG, CALL_A, 8), CAP(SONDE_KMOD_FROM_ARG, CALL_B, 4)
#define BOTH (SONDE_KMOD_JUDGED_EARLY | SONDE_KMOD_JUDGED_NATIVE)
#define HERE "sonde_test_function"

static const struct place places[] = {
	{ "kprobe", SONDE_KMOD_KPROBE, 0, HERE, { ARGS }, 2, BOTH },
	{ "kretprobe",
	  SONDE_KMOD_KRETPROBE,
	  0,
	  HERE,
	  { CAP(SONDE_KMOD_FROM_RESULT, 0, 8), ARGS },
	  3,
	  BOTH },
	{ "function", SONDE_KMOD_FUNCTION, 0, HERE, { ARGS }, 2, BOTH },
	{ "syscall",
	  SONDE_KMOD_SYSCALL_ENTRY,
	  SYS_getppid,
	  "",
	  { ARGS },
	  2,
	  BOTH },
	/* The second one isn't a word as it is: so there is a row. */
	{ "row",
	  SONDE_KMOD_KPROBE,
	  0,
	  HERE,
	  { CAP(SONDE_KMOD_FROM_ARG, CALL_A, 8),
	    { .kind = SONDE_KMOD_VALUE,
	      .index = CALL_B,
	      .bytes = 4,
	      .from_bytes = 4 } },
	  2,
	  BOTH },
	/* It is bytes at an address that is bad: so there is a payload. */
	{ "staged",
	  SONDE_KMOD_KPROBE,
	  0,
	  HERE,
	  { CAP(SONDE_KMOD_FROM_ARG, CALL_A, 8),
	    { .kind = SONDE_KMOD_BYTES, .index = CALL_B, .max = 4 } },
	  2,
	  SONDE_KMOD_JUDGED_NATIVE },
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static void make_call(const struct place *place, uint64_t a, uint64_t b)
{
	struct sonde_test_function call = { .a = a, .b = b, .count = 1 };

	if (place->type == SONDE_KMOD_SYSCALL_ENTRY)
		(void)syscall(SYS_getppid, a, b); /* never fails */
	else if (ioctl(device, SONDE_TEST_FUNCTION, &call))
		die("FUNCTION");
}

/* The payload. */
static void foretell(const struct place *place, uint64_t a, uint64_t b,
		     uint8_t *to)
{
	uint64_t result = a - b;

	if (place->type == SONDE_KMOD_KRETPROBE) {
		memcpy(to, &result, sizeof(result));
		to += sizeof(result);
	}
	memcpy(to, &a, sizeof(a));
	if (place->caps[1].kind == SONDE_KMOD_BYTES)
		b = 0;
	memcpy(to + sizeof(a), &b, sizeof(uint32_t));
}

static void begin(struct client *client, bool starts)
{
	const struct client_config config = { .mode = 1, /* nothing is lost */
					      .subbuf_bytes = 65536,
					      .nr_subbufs = 4 };

	client_open(client, &config);
	if (starts)
		client_start(client);
}

/* The descriptor, or -errno. */
static int add(const struct client *client, const struct place *place,
	       const union made *made)
{
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = place->type,
		.id = TICK_ID,
		.flags = SONDE_KMOD_WANT_FD,
		.number = place->number,
		.nr_caps = place->nr_caps,
		.caps = (uintptr_t)place->caps,
		.filter = (uintptr_t)made,
		.filter_bytes = made ? (uint32_t)made_size(made) : 0,
	};
	int rc;

	(void)snprintf(event.name, sizeof(event.name), "%s", place->function);
	rc = ioctl(client->channel, SONDE_KMOD_EVENT, &event);
	return rc < 0 ? -errno : rc;
}

static struct sonde_kmod_event_counts counts_of(int fd)
{
	struct sonde_kmod_event_counts counts = { .size = sizeof(counts) };

	if (ioctl(fd, SONDE_KMOD_EVENT_COUNTS, &counts))
		die("EVENT_COUNTS");
	return counts;
}

/* ---- programs ---- */

static bool is_numeric(uint8_t code)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];

	return !(info->operands &
		 (SONDE_EXPR_OPERAND_MACHINE | SONDE_EXPR_OPERAND_DOUBLE |
		  SONDE_EXPR_OPERAND_CALL | SONDE_EXPR_OPERAND_TEXT)) &&
	       !info->takes.texts;
}

static const struct made_alphabet alphabet = {
	.numbers = 6,
	.texts = 1,
	.senses = 2,
	.keeps = 4,
	.type = SONDE_EXPR_INT,
	.has = is_numeric,
};

/* A sound one that reads its fields where they are. */
static void make_program(union made *made, uint32_t bytes, uint64_t *seed)
{
	while (!made_any(made, &alphabet, 2 + (uint32_t)random_below(seed, 12),
			 next_random, seed))
		continue;
	for (uint32_t i = 0; i < made->program.nr_ops; i++) {
		struct sonde_expr_op *op = &made->program.ops[i];
		uint32_t width = sonde_expr_op_infos[op->code].bytes;

		if (!(sonde_expr_op_infos[op->code].operands &
		      SONDE_EXPR_OPERAND_MEM))
			continue;
		/* the first field, or the one of 32 bits */
		op->offset =
			width <= 4 && random_below(seed, 2) ? bytes - 4 : 0;
	}
}

static bool expect(const union made *made, const uint8_t *payload)
{
	struct sonde_expr_env env = { .bases = { payload } };

	return sonde_program_test(&made->program, &env);
}

static uint64_t any_number(uint64_t *seed)
{
	static const uint64_t likely[] = {
		0,          1,         2,
		3,          64,        UINT64_MAX,
		UINT32_MAX, INT64_MAX, (uint64_t)INT64_MIN
	};
	uint64_t choice = random_below(seed, 12);

	return choice < sizeof(likely) / sizeof(likely[0]) ? likely[choice] :
							     next_random(seed);
}

/* One program at one place, by three calls; its `judged`, or -errno. */
static int64_t try_program(const struct client *client,
			   const struct place *place, const union made *made,
			   uint64_t *seed)
{
	uint64_t expected[2] = { 0, 0 };
	struct sonde_kmod_event_counts counts;
	uint8_t payload[24] = { 0 };
	int fd = add(client, place, made);

	if (fd < 0)
		return fd;
	for (int i = 0; i < 3; i++) {
		uint64_t a = any_number(seed);
		uint64_t b = any_number(seed);

		foretell(place, a, b, payload);
		expected[expect(made, payload)]++;
		make_call(place, a, b);
	}
	counts = counts_of(fd);
	(void)close(fd); /* nothing was written */
	if (counts.recorded == expected[1] && counts.filtered == expected[0])
		return counts.judged;
	fail("%s: %llu recorded and %llu filtered, not %llu and %llu",
	     place->name, (unsigned long long)counts.recorded,
	     (unsigned long long)counts.filtered,
	     (unsigned long long)expected[1], (unsigned long long)expected[0]);
	return -EIO;
}

/* How many were judged as the place says. Another session's event keeps the probe in
 * the kernel: to put it there and take it away takes most of the time. */
static uint32_t try_place(const struct place *place, uint32_t rounds,
			  bool keeps, uint64_t *seed)
{
	uint32_t bytes = place->type == SONDE_KMOD_KRETPROBE ? 20 : 12;
	struct client client, keeper;
	uint32_t nr = 0;
	int kept = -1;

	begin(&keeper, false);
	begin(&client, true);
	if (keeps)
		kept = add(&keeper, place, NULL);
	for (uint32_t i = 0; i < rounds && !has_failed(); i++) {
		union made made;
		int64_t judged;

		make_program(&made, bytes, seed);
		judged = try_program(&client, place, &made, seed);
		if (judged < 0 && !has_failed()) {
			fail("%s: %s", place->name, strerror((int)-judged));
		}
		nr += judged == place->judged;
	}
	if (kept >= 0)
		(void)close(kept);
	client_close(&client);
	client_close(&keeper);
	return nr;
}

static void each_condition_is_what_the_evaluator_says(void)
{
	uint64_t seed = 20261129;

	for (size_t i = 0; i < PLACES; i++) {
		uint32_t nr = try_place(&places[i], ROUNDS, true, &seed);

		if (!has_failed() && has_native && nr < ROUNDS / 2) {
			fail("%s: %u of %u were judged as they should",
			     places[i].name, nr, ROUNDS);
		}
		if (has_failed())
			return;
	}
}

/* ---- one condition ---- */

/* The second field, of 32 bits, times 3 is above 10, in two operations more than a
 * range has. */
static void write_condition(union made *made)
{
	static const struct sonde_expr_op ops[] = {
		{ .code = SONDE_EXPR_OP_LOAD_Z32, .offset = 8 },
		{ .code = SONDE_EXPR_OP_NUMBER, .number = 3 },
		{ .code = SONDE_EXPR_OP_MULTIPLY },
		{ .code = SONDE_EXPR_OP_IF_BELOW_U, .number = 11, .target = 5 },
		{ .code = SONDE_EXPR_OP_END_TRUE },
		{ .code = SONDE_EXPR_OP_END_FALSE },
	};

	made_begin(made, &alphabet, 6);
	memcpy(made->program.ops, ops, sizeof(ops));
	made->program.ops[3].sense = 1;
}

/* With one event there, kprobes go another way. */
static void so_it_is_where_there_is_one_event_only(void)
{
	struct sonde_kmod_event_counts counts;
	struct client client;
	uint64_t seed = 3;
	union made made;
	int fd;

	(void)try_place(&places[0], 20, false, &seed);
	write_condition(&made);
	begin(&client, true);
	fd = add(&client, &places[0], &made);
	if (fd < 0)
		die("EVENT");
	make_call(&places[0], 2000, 3);
	make_call(&places[0], 0, 4);
	make_call(&places[0], 0, 2000);
	counts = counts_of(fd);
	(void)close(fd);
	client_close(&client);
	REQUIRE(counts.recorded == 2 && counts.filtered == 1);
	REQUIRE(!has_native || counts.judged == places[0].judged);
}

static void who_is_out_of_scope_is_not_counted(void)
{
	struct sonde_kmod_session session = { .size = sizeof(session),
					      .self = { getpid() } };
	struct sonde_kmod_channel channel = { .size = sizeof(channel),
					      .subbuf_bytes = 65536,
					      .nr_subbufs = 4 };
	struct client client = { .device = open(SONDE_KMOD_DEVICE, O_RDWR) };
	struct sonde_kmod_event_counts counts;
	union made made;
	int fd;

	write_condition(&made);
	client.session = ioctl(client.device, SONDE_KMOD_SESSION, &session);
	client.channel = ioctl(client.session, SONDE_KMOD_CHANNEL, &channel);
	fd = add(&client, &places[0], &made);
	if (fd < 0)
		die("EVENT");
	client_start(&client);
	make_call(&places[0], 1, 2);
	make_call(&places[0], 1, 2000);
	counts = counts_of(fd);
	(void)close(fd);
	(void)close(client.channel);
	(void)close(client.session);
	(void)close(client.device);
	REQUIRE(counts.recorded == 0 && counts.filtered == 0);
}

static void set_jit(const char *value)
{
	int fd = open("/proc/sys/net/core/bpf_jit_enable", O_WRONLY);

	if (fd < 0 || write(fd, value, 1) != 1)
		die("bpf_jit_enable");
	(void)close(fd);
}

static uint64_t features(void)
{
	struct sonde_kmod_info info = { .size = sizeof(info) };
	int fd = open(SONDE_KMOD_DEVICE, O_RDWR);

	if (fd < 0 || ioctl(fd, SONDE_KMOD_INFO, &info))
		die("INFO");
	(void)close(fd);
	return info.features;
}

/* This kernel's own switch, which leaves code that there is. */
static void without_machine_code_conditions_are_evaluated(void)
{
	struct place place = places[0];
	uint64_t seed = 4;
	bool is_told;
	uint32_t nr;

	if (!has_native) {
		printf("skipped: no code is made here\n");
		return;
	}
	set_jit("0");
	is_told = !(features() & SONDE_KMOD_HAS_NATIVE);
	place.judged = SONDE_KMOD_JUDGED_EARLY;
	nr = try_place(&place, 50, true, &seed);
	set_jit("1");
	REQUIRE(is_told);
	REQUIRE(nr > 25);
	REQUIRE(features() & SONDE_KMOD_HAS_NATIVE);
}

static const struct test tests[] = {
	TEST(each_condition_is_what_the_evaluator_says),
	TEST(so_it_is_where_there_is_one_event_only),
	TEST(who_is_out_of_scope_is_not_counted),
	TEST(without_machine_code_conditions_are_evaluated),
};

int main(void)
{
	device = test_open();
	bind_to(0);
	has_native = features() & SONDE_KMOD_HAS_NATIVE;
	printf("machine code: %s\n", has_native ? "yes" : "no");
	return RUN(tests);
}
