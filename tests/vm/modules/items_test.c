// SPDX-License-Identifier: MIT
/*
 * items_test.c - kprobes at addresses: their programs, which see registers and memory,
 * and what they collect (abi.h). Each function is a claim.
 *
 * Needs sonde.ko and sonde_test.ko, root, and an x86-64. Prints `ok NAME` or
 * `FAIL NAME: why`, and `N passed, M failed`; status 1 if a claim failed. What programs
 * must give is said by the evaluator, here, over the same registers, with memory that
 * can't be read; what memory must hold, by what the kernel says of itself elsewhere.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../unit/program_make.h"
#include "../../unit/random.h"

/* Parts of src/, which tests in a guest have no library of. */
#include "expr/eval.c"
#include "expr/ops.c"
#include "expr/verify.c"
#include "types/select.c"

#define ROUNDS 300u
#define PLACE  UINT64_C(0x1122334455667788)
#define NOBODY 65534

/* Words of struct pt_regs. */
#define WORD_SI 13u
#define WORD_DI 14u

static int device; /* of sonde_test.ko */
static uint64_t function;

/* ---- the kernel ---- */

/* 0: it has none of that name. */
static uint64_t address_of(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long long address;
	uint64_t found = 0;
	char line[512], symbol[256];

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %*c %255s", &address, symbol) == 2 &&
		    !strcmp(symbol, name))
			found = address;
	if (file)
		(void)fclose(file); /* only read */
	return found;
}

static void call_function(uint64_t a, uint64_t b, uint64_t count)
{
	struct sonde_test_function call = { .a = a, .b = b, .count = count };

	if (ioctl(device, SONDE_TEST_FUNCTION, &call))
		die("FUNCTION");
}

/* ---- programs ---- */

#define OP(name, ...)                                     \
	(struct sonde_expr_op)                            \
	{                                                 \
		.code = SONDE_EXPR_OP_##name, __VA_ARGS__ \
	}

static const struct made_alphabet alphabet = {
	.numbers = 6,
	.texts = 1,
	.senses = 2,
	.keeps = 4,
	.type = SONDE_EXPR_INT,
};

static void write_program(union made *made, const struct sonde_expr_op *ops,
			  uint32_t nr)
{
	made_begin(made, &alphabet, nr);
	made->program.bases = 0;
	memcpy(made->program.ops, ops, nr * sizeof(*ops));
}

#define PROGRAM(made, ...)                                                 \
	do {                                                               \
		const struct sonde_expr_op ops_[] = { __VA_ARGS__ };       \
                                                                           \
		write_program((made), ops_, sizeof(ops_) / sizeof(*ops_)); \
	} while (0)

static void say_register(union made *made, uint64_t word)
{
	PROGRAM(made, OP(REGISTER, .number = word), OP(END_NUMBER, 0));
}

static void say_address(union made *made, uint64_t address)
{
	PROGRAM(made, OP(NUMBER, .number = address), OP(END_NUMBER, 0));
}

/* What is there, of eight bytes, or why not. */
static void say_what_is_at(union made *made, uint64_t word)
{
	PROGRAM(made, OP(REGISTER, .number = word), OP(READ_64, .target = 3),
		OP(END_NUMBER, 0), OP(END_FAULT, 0));
}

/* ---- probes ---- */

#define ITEMS 6u

struct wish {
	uint64_t address;
	const char *name;
	union made *condition; /* or NULL */
	uint32_t flags;
	uint32_t nr;
	struct sonde_kmod_item items[ITEMS];
};

static struct sonde_kmod_item item_of(uint32_t kind, uint32_t bytes,
				      const union made *made)
{
	return (struct sonde_kmod_item){
		.kind = (uint8_t)kind,
		.bytes = (uint16_t)bytes,
		.program = (uintptr_t)made,
		.program_bytes = made ? (uint32_t)made_size(made) : 0,
	};
}

static struct sonde_kmod_event event_of(const struct wish *wish)
{
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_KPROBE,
		.id = TICK_ID,
		.flags = SONDE_KMOD_WANT_FD | wish->flags,
		.filter = (uintptr_t)wish->condition,
		.filter_bytes = wish->condition ?
					(uint32_t)made_size(wish->condition) :
					0,
		.address = wish->address,
		.place = PLACE,
		.items = wish->nr ? (uintptr_t)wish->items : 0,
		.nr_items = wish->nr,
	};

	if (wish->name)
		(void)snprintf(event.name, sizeof(event.name), "%s",
			       wish->name);
	return event;
}

/* The descriptor, or -errno. */
static int add_event(const struct client *client,
		     const struct sonde_kmod_event *event)
{
	int rc = ioctl(client->channel, SONDE_KMOD_EVENT, event);

	return rc < 0 ? -errno : rc;
}

static int add(const struct client *client, const struct wish *wish)
{
	const struct sonde_kmod_event event = event_of(wish);

	return add_event(client, &event);
}

static struct sonde_kmod_event_counts counts_of(int fd)
{
	struct sonde_kmod_event_counts counts = { .size = sizeof(counts) };

	if (ioctl(fd, SONDE_KMOD_EVENT_COUNTS, &counts))
		die("EVENT_COUNTS");
	return counts;
}

static void open_client(struct client *client)
{
	const struct client_config config = { .mode = 0,
					      .subbuf_bytes = 65536,
					      .nr_subbufs = 4 };

	client_open(client, &config);
	client_start(client);
}

/* The payloads of what CPU 0 has, one behind the other; how many bytes. */
static size_t read_payloads(struct client *client, size_t each, uint8_t *to,
			    size_t max)
{
	struct sonde_kmod_chunk chunk;
	size_t nr = 0;

	client_flush(client, 0);
	while (client_get(client, 0, &chunk) == 1) {
		const uint8_t *at = client->memory[0] + chunk.offset;
		const uint8_t *end = at + chunk.bytes;

		while (at < end) {
			uint16_t id;

			memcpy(&id, at, sizeof(id));
			at += (id == UINT16_MAX ? 14 : 6) + sizeof(uint32_t);
			if (nr + each <= max)
				memcpy(to + nr, at, each);
			nr += each;
			at += each;
		}
		client_put(client, 0, &chunk);
	}
	return nr;
}

/* One hit's payload; false: there is not one. */
static bool hit(const struct wish *wish, uint64_t a, uint64_t b, size_t bytes,
		uint8_t *to)
{
	struct client client;
	size_t nr = 0;
	int fd;

	open_client(&client);
	fd = add(&client, wish);
	if (fd >= 0) {
		call_function(a, b, 1);
		nr = read_payloads(&client, bytes, to, bytes);
		(void)close(fd); /* nothing was written */
	}
	client_close(&client);
	if (nr == bytes)
		return true;
	fail("%zu bytes, not %zu (%s)", nr, bytes,
	     fd < 0 ? strerror(-fd) : "put in");
	return false;
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* ---- what is collected ---- */

static void words_and_values_are_the_registers(void)
{
	union made sum, task;
	struct wish wish = { .address = function, .nr = 3 };
	uint8_t got[48] = { 0 };

	PROGRAM(&sum, OP(NUMBER, .number = 2), OP(REGISTER, .number = WORD_DI),
		OP(MULTIPLY, 0), OP(REGISTER, .number = WORD_SI), OP(ADD, 0),
		OP(END_NUMBER, 0));
	say_register(&task, SONDE_KMOD_WORD_CURRENT);
	wish.items[0] = (struct sonde_kmod_item){
		.kind = SONDE_KMOD_ITEM_WORDS,
		.nr_words = 4,
		.bytes = 32,
		.words = { WORD_SI, WORD_DI, SONDE_KMOD_WORD_PLACE,
			   SONDE_KMOD_WORD_CURRENT },
	};
	wish.items[1] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &sum);
	wish.items[2] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &task);
	if (!hit(&wish, 1000, 7, sizeof(got), got))
		return;
	REQUIRE(get64(got) == 7 && get64(got + 8) == 1000);
	REQUIRE(get64(got + 16) == PLACE);
	REQUIRE(get64(got + 24) >> 63 && get64(got + 24) == get64(got + 40));
	REQUIRE(get64(got + 32) == 2007);
}

static void memory_and_texts_are_what_is_there(void)
{
	uint64_t banner = address_of("linux_banner");
	union made where;
	struct wish wish = { .address = function,
			     .flags = SONDE_KMOD_ADDRESSES | SONDE_KMOD_UNREAD,
			     .nr = 3 };
	uint8_t got[16 + 64 + 4 + 24 + 4] = { 0 };
	char version[256] = "";
	FILE *file = fopen("/proc/version", "r");

	if (!banner || !file || !fgets(version, sizeof(version), file))
		die("linux_banner, /proc/version");
	(void)fclose(file); /* only read */
	say_address(&where, banner);
	wish.items[0] = item_of(SONDE_KMOD_ITEM_MEMORY, 16, &where);
	wish.items[1] = item_of(SONDE_KMOD_ITEM_TEXT, 64, &where);
	wish.items[2] = item_of(SONDE_KMOD_ITEM_MEMORY, 4, &where);
	if (!hit(&wish, 0, 0, sizeof(got), got))
		return;
	REQUIRE(!memcmp(got, version, 16));
	REQUIRE(!memcmp(got + 16, version, 63) && !got[16 + 63]);
	REQUIRE(!memcmp(got + 80, version, 4));
	REQUIRE(get64(got + 84) == banner && get64(got + 92) == banner &&
		get64(got + 100) == banner);
	REQUIRE(get32(got + 108) == 0);
}

/* A user's, none of a CPU's, the last there is, a page that isn't there. */
static const uint64_t wild[] = { 0,
				 8,
				 UINT64_C(0x7ffffffff000),
				 UINT64_C(0x8000000000000000),
				 UINT64_C(0xffff7fffffffffff),
				 UINT64_C(0xffffffffff600000),
				 UINT64_MAX,
				 UINT64_MAX - 7 };
#define NR_WILD (sizeof(wild) / sizeof(wild[0]))

static void what_cannot_be_read_is_zeros_and_said(void)
{
	union made where, what;
	struct wish wish = { .address = function,
			     .flags = SONDE_KMOD_ADDRESSES | SONDE_KMOD_UNREAD,
			     .nr = 4 };
	uint8_t got[24 + 16 + 8 + 8 + 24 + 4];

	say_register(&where, WORD_DI);
	say_what_is_at(&what, WORD_DI);
	wish.items[0] = item_of(SONDE_KMOD_ITEM_MEMORY, 24, &where);
	wish.items[1] = item_of(SONDE_KMOD_ITEM_TEXT, 16, &where);
	wish.items[2] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &what);
	wish.items[3] = item_of(SONDE_KMOD_ITEM_MEMORY, 8, &where);
	for (size_t i = 0; i < NR_WILD; i++) {
		memset(got, 0xff, sizeof(got));
		if (!hit(&wish, wild[i], 0, sizeof(got), got))
			return;
		for (size_t n = 0; n < sizeof(got) - 4; n++)
			REQUIRE(!got[n]);
		REQUIRE(get32(got + sizeof(got) - 4) == 0xf);
	}
}

/* ---- conditions ---- */

static void a_condition_that_cannot_be_read_is_false_and_counted(void)
{
	struct sonde_kmod_event_counts counts;
	struct client client;
	union made condition;
	struct wish wish = { .address = function, .condition = &condition };
	int fd;

	say_what_is_at(&condition, WORD_DI);
	open_client(&client);
	fd = add(&client, &wish);
	if (fd < 0)
		die("EVENT: %s", strerror(-fd));
	for (size_t i = 0; i < NR_WILD; i++)
		call_function(wild[i], 0, 1);
	call_function(address_of("linux_banner"), 0, 3);
	counts = counts_of(fd);
	(void)close(fd); /* nothing was written */
	client_close(&client);
	REQUIRE(counts.faults == NR_WILD);
	REQUIRE(counts.recorded == 3);
	REQUIRE(counts.filtered == 0 && counts.lost == 0);
}

/* Without a condition, and without anything that is collected. */
static void hits_alone_are_recorded_by_all_that_are_there(void)
{
	struct wish alone = { .address = function };
	struct wish wish = { .address = function };
	union made condition;
	uint64_t first, second;
	struct client client;
	int fds[2];

	PROGRAM(&condition, OP(REGISTER, .number = WORD_DI), OP(END_NUMBER, 0));
	wish.condition = &condition;
	open_client(&client);
	fds[0] = add(&client, &alone);
	call_function(0, 0, 3);
	fds[1] = add(&client, &wish);
	if (fds[0] < 0 || fds[1] < 0)
		die("EVENT");
	call_function(0, 0, 2);
	call_function(1, 0, 5);
	second = counts_of(fds[1]).recorded;
	(void)close(fds[1]); /* nothing was written */
	call_function(0, 0, 4);
	first = counts_of(fds[0]).recorded;
	(void)close(fds[0]); /* likewise */
	client_close(&client);
	REQUIRE(second == 5);
	REQUIRE(first == 14);
}

/* All that happened is recorded or lost. */
static void hits_without_room_are_lost_and_counted(void)
{
	struct wish wish = { .address = function, .nr = 1 };
	struct sonde_kmod_event_counts counts;
	struct client client;
	int fd;

	wish.items[0] = (struct sonde_kmod_item){
		.kind = SONDE_KMOD_ITEM_WORDS,
		.nr_words = 1,
		.bytes = 8,
		.words = { WORD_SI },
	};
	open_client(&client);
	fd = add(&client, &wish);
	if (fd < 0)
		die("EVENT: %s", strerror(-fd));
	call_function(0, 0, 20000);
	counts = counts_of(fd);
	(void)close(fd); /* nothing was written */
	client_close(&client);
	REQUIRE(counts.recorded > 1000 && counts.lost > 1000);
	REQUIRE(counts.recorded + counts.lost == 20000);
}

/* ---- any program ---- */

static bool is_computing(uint8_t code)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];

	if (code == SONDE_EXPR_OP_REGISTER)
		return true;
	if (info->operands &
		    (SONDE_EXPR_OPERAND_MEM | SONDE_EXPR_OPERAND_DOUBLE |
		     SONDE_EXPR_OPERAND_CALL | SONDE_EXPR_OPERAND_TEXT) ||
	    info->takes.texts)
		return false;
	return !(info->operands & SONDE_EXPR_OPERAND_MACHINE) || info->bytes;
}

static const struct made_alphabet any_alphabet = {
	.numbers = 6,
	.texts = 1,
	.senses = 2,
	.keeps = 4,
	.type = SONDE_EXPR_INT,
	.has = is_computing,
};

static void make_any_program(union made *made, uint64_t *seed)
{
	while (!made_any(made, &any_alphabet,
			 2 + (uint32_t)random_below(seed, 12), next_random,
			 seed))
		continue;
	made->program.bases = 0;
	for (uint32_t i = 0; i < made->program.nr_ops; i++)
		if (made->program.ops[i].code == SONDE_EXPR_OP_REGISTER)
			made->program.ops[i].number =
				random_below(seed, 2) ? WORD_SI : WORD_DI;
}

/* Numbers that programs are given lead to no memory. */
static bool no_memory(void *ctx, uint64_t address, void *to, uint32_t bytes)
{
	(void)ctx, (void)address, (void)to, (void)bytes;
	return false;
}

static bool expect(const union made *made, uint64_t a, uint64_t b,
		   struct sonde_expr_value *ret_value)
{
	static const struct sonde_expr_machine machine = { .read = no_memory };
	uint64_t registers[SONDE_EXPR_REGISTERS] = { 0 };
	struct sonde_expr_env env = { .registers = registers,
				      .machine = &machine };

	registers[WORD_DI] = a;
	registers[WORD_SI] = b;
	sonde_program_eval(&made->program, &env, ret_value);
	return ret_value->type != SONDE_EXPR_MISSING;
}

static uint64_t any_number(uint64_t *seed)
{
	static const uint64_t likely[] = {
		0, 1, 2, 3, 64, UINT64_MAX, UINT32_MAX, INT64_MAX
	};
	uint64_t choice = random_below(seed, 10);

	return choice < sizeof(likely) / sizeof(likely[0]) ?
		       likely[choice] :
		       next_random(seed) & UINT32_MAX;
}

/* Its value, and its truth as a condition. */
static bool agrees(const struct client *client, const union made *made,
		   uint64_t a, uint64_t b)
{
	union made copy = *made;
	struct wish wish = { .address = function,
			     .condition = &copy,
			     .flags = SONDE_KMOD_UNREAD };
	struct sonde_expr_value value;
	bool has_value = expect(made, a, b, &value);
	bool is_fault = !has_value && value.u == SONDE_EXPR_FAULT;
	struct sonde_kmod_event_counts counts;
	uint8_t got[12] = { 0 };
	int fd = add(client, &wish);

	if (fd < 0)
		die("EVENT: %s", strerror(-fd));
	call_function(a, b, 1);
	counts = counts_of(fd);
	(void)close(fd); /* nothing was written */
	wish.condition = NULL;
	wish.nr = 1;
	wish.items[0] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, made);
	if (!hit(&wish, a, b, sizeof(got), got))
		return false;
	return counts.recorded == (has_value && value.u) &&
	       counts.faults == is_fault && get32(got + 8) == !has_value &&
	       get64(got) == (has_value ? value.u : 0);
}

/* Another session's event keeps the probe in the kernel: to put it there and take it
 * away takes most of the time. */
static void try_programs(uint32_t rounds, uint64_t seed)
{
	struct client client, keeper;
	int kept;

	open_client(&keeper);
	kept = add(&keeper, &(const struct wish){ .address = function });
	if (kept < 0)
		die("EVENT: %s", strerror(-kept));
	open_client(&client);
	for (uint32_t i = 0; i < rounds && !has_failed(); i++) {
		uint64_t a = any_number(&seed);
		uint64_t b = any_number(&seed);
		union made made;

		make_any_program(&made, &seed);
		if (agrees(&client, &made, a, b) || has_failed())
			continue;
		fail("program %u over %llx, %llx differs", i,
		     (unsigned long long)a, (unsigned long long)b);
	}
	(void)close(kept); /* nothing was written */
	client_close(&client);
	client_close(&keeper);
}

static void set_jit(const char *value)
{
	int fd = open("/proc/sys/net/core/bpf_jit_enable", O_WRONLY);

	if (fd < 0 || write(fd, value, 1) != 1)
		die("bpf_jit_enable");
	(void)close(fd);
}

static void programs_give_what_the_evaluator_gives(void)
{
	try_programs(ROUNDS, 20261129);
}

static void so_they_do_where_no_code_is_made(void)
{
	set_jit("0");
	try_programs(ROUNDS / 6, 20261130);
	set_jit("1");
}

/* ---- who and what is refused ---- */

/* Each is one change to what is taken, and what it comes to. */
static int try_changed(const struct client *client, uint32_t which,
		       const struct wish *good)
{
	struct sonde_kmod_cap cap = { .kind = SONDE_KMOD_VALUE, .bytes = 8 };
	struct wish wish = *good;
	struct sonde_kmod_event event;
	union made made;

	say_register(&made, WORD_DI);
	switch (which) {
	case 0:
		wish.items[0].kind = SONDE_KMOD_ITEM_KINDS;
		break;
	case 1:
		wish.items[0].bytes = 7;
		break;
	case 2:
		wish.items[0].bytes = SONDE_KMOD_TEXT_MAX + 1;
		wish.items[0].kind = SONDE_KMOD_ITEM_MEMORY;
		break;
	case 3:
		wish.items[0].program_bytes--;
		break;
	case 4:
		wish.items[0].nr_words = 1;
		break;
	case 5:
		wish.items[0].kind = SONDE_KMOD_ITEM_WORDS;
		break;
	case 6:
		say_register(&made, 22); /* behind the last word */
		wish.items[0] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &made);
		break;
	case 7:
		made.program.ops[0].code = SONDE_EXPR_OP_ADD;
		wish.items[0] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &made);
		break;
	case 8: /* the payload */
		PROGRAM(&made, OP(LOAD_64, 0), OP(END_NUMBER, 0));
		made.program.bases = 1;
		wish.items[0] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &made);
		break;
	case 9:
		wish.items[0] = (struct sonde_kmod_item){
			.kind = SONDE_KMOD_ITEM_WORDS,
			.nr_words = 1,
			.bytes = 8,
			.words = { 22 },
		};
		break;
	default:
		break;
	}
	event = event_of(&wish);
	if (which == 10)
		event.type = SONDE_KMOD_TRACEPOINT;
	if (which == 11)
		event.nr_items = SONDE_KMOD_ITEMS_MAX + 1;
	if (which == 12) {
		event.nr_caps = 1;
		event.caps = (uintptr_t)&cap;
	}
	if (which == 13)
		event.address = 0; /* with items */
	if (which == 14)
		event.items = 0;
	return add_event(client, &event);
}
#define NR_CHANGES 15u

static void hostile_descriptions_are_refused(void)
{
	struct wish good = { .address = function, .nr = 1 };
	struct client client;
	union made made;
	int fd;

	say_register(&made, WORD_DI);
	good.items[0] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &made);
	open_client(&client);
	fd = add(&client, &good);
	for (uint32_t i = 0; fd >= 0 && i < NR_CHANGES && !has_failed(); i++) {
		int rc = try_changed(&client, i, &good);

		if (rc == -EINVAL)
			continue;
		fail("change %u: %d", i, rc);
	}
	if (fd >= 0)
		(void)close(fd); /* nothing was written */
	client_close(&client);
	REQUIRE(fd >= 0);
}

/* What records, or sees variables, which there are none of. */
static void what_cannot_be_done_here_is_said(void)
{
	struct wish wish = { .address = function, .nr = 1 };
	struct client client;
	union made made;
	int traces, gets, nowhere, nobody, data;

	open_client(&client);
	PROGRAM(&made, OP(REGISTER, .number = WORD_DI),
		OP(TRACE_QUICK, .number = 8), OP(END_NUMBER, 0));
	wish.items[0] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &made);
	traces = add(&client, &wish);
	PROGRAM(&made, OP(GET_VARIABLE, .number = 1), OP(END_NUMBER, 0));
	wish.items[0] = item_of(SONDE_KMOD_ITEM_NUMBER, 8, &made);
	gets = add(&client, &wish);
	wish.nr = 0;
	wish.name = "sonde_no_such_tracepoint";
	nowhere = add(&client, &wish);
	wish.name = NULL;
	wish.address = address_of("linux_banner");
	data = add(&client, &wish);
	wish.address = function;
	/* Its creds are the process's, not the descriptor's. */
	if (seteuid(NOBODY))
		die("seteuid");
	nobody = add(&client, &wish);
	if (seteuid(0))
		die("seteuid");
	client_close(&client);
	REQUIRE(traces == -EOPNOTSUPP && gets == -EOPNOTSUPP);
	REQUIRE(nowhere == -ENOENT);
	REQUIRE(data == -EINVAL);
	REQUIRE(nobody == -EPERM);
}

static const struct test tests[] = {
	TEST(words_and_values_are_the_registers),
	TEST(memory_and_texts_are_what_is_there),
	TEST(what_cannot_be_read_is_zeros_and_said),
	TEST(a_condition_that_cannot_be_read_is_false_and_counted),
	TEST(hits_alone_are_recorded_by_all_that_are_there),
	TEST(hits_without_room_are_lost_and_counted),
	TEST(programs_give_what_the_evaluator_gives),
	TEST(so_they_do_where_no_code_is_made),
	TEST(hostile_descriptions_are_refused),
	TEST(what_cannot_be_done_here_is_said),
};

int main(void)
{
	device = test_open();
	bind_to(0);
	function = address_of("sonde_test_function");
	if (!function)
		die("/proc/kallsyms");
	return RUN(tests);
}
