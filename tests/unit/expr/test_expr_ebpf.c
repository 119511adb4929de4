/* SPDX-License-Identifier: MIT */
/*
 * test_expr_ebpf.c - programs as eBPF: they give what the evaluator gives, in
 * the model of ebpf_model.h and, where the user may load programs, in the
 * kernel, whose verifier takes them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/port.h"
#include "ebpf_model.h"
#include "expr/program.h"
#include "expr_unit.h"
#include "random.h"

#define ROUNDS        20000
#define KERNEL_ROUNDS 300
#define RECORDS       8
#define CODE_MAX      16384

struct code {
	struct bpf_insn insns[CODE_MAX];
	size_t nr;
};

static int generate_with(const char *text,
			 const struct sonde_ebpf_config *config, size_t max,
			 struct code *code)
{
	struct sonde_program *program = compile_in(text, &ebpf_scope);
	int err = sonde_ebpf_generate(program, config, code->insns, max,
				      &code->nr);

	sonde_program_free(program);
	return err;
}

static bool evaluate(const char *text, struct ebpf_record *record)
{
	struct sonde_program *program = compile_in(text, &ebpf_scope);
	struct sonde_expr_env env;
	bool truth;

	ebpf_env_init(&env, record);
	truth = sonde_program_test(program, &env);
	sonde_program_free(program);
	return truth;
}

static const struct sonde_ebpf_config *const configs[] = {
	&ebpf_on_stack,
	&ebpf_in_registers,
};

/* The evaluator and the model say that it is true of the record, or not. */
static void check(const char *text, struct ebpf_record *record, bool expected)
{
	static struct code code;

	if (evaluate(text, record) != expected)
		fail_msg("%s: the evaluator says it is %s", text,
			 expected ? "false" : "true");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(configs); i++) {
		const char *wrong = NULL;
		int result;

		if (generate_with(text, configs[i], CODE_MAX, &code))
			fail_msg("%s: no code", text);
		result = ebpf_test(code.insns, code.nr, configs[i], record,
				   &wrong);
		if (result != expected)
			fail_msg("%s: gives %d, %s", text, result,
				 wrong ? wrong : "");
	}
}

static void put_number(struct ebpf_record *record, size_t offset,
		       uint64_t number, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

		record->bytes[offset + i] =
			(uint8_t)(number >> 8 * (big ? size - 1 - i : i));
	}
}

static void random_programs_give_what_the_evaluator_gives(void **state)
{
	static struct code code;
	uint64_t seed = 20261122;
	const struct model_random random = { next_random, &seed };

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		const struct sonde_ebpf_config *config =
			configs[round % SONDE_ARRAY_SIZE(configs)];
		char text[16384];

		ebpf_write(text, sizeof(text), &random);
		if (generate_with(text, config, CODE_MAX, &code))
			fail_msg("%s: no code", text);
		for (size_t i = 0; i < RECORDS; i++) {
			const char *wrong = NULL;
			struct ebpf_record record;
			int result;

			ebpf_record_fill(&record, &random);
			result = ebpf_test(code.insns, code.nr, config, &record,
					   &wrong);
			if (result != evaluate(text, &record))
				fail_msg("%s: gives %d, %s", text, result,
					 wrong ? wrong : "");
		}
	}
}

static void signed_division_is_the_languages(void **state)
{
	static const int64_t numbers[] = { 0, 1,  -1, 2,         -2,
					   7, -7, 3,  INT64_MAX, INT64_MIN };
	struct ebpf_record record = { { 0 }, { 0 } };

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(numbers); i++) {
		for (size_t n = 0; n < SONDE_ARRAY_SIZE(numbers); n++) {
			int64_t a = numbers[i];
			int64_t b = numbers[n];
			bool wraps = a == INT64_MIN && b == -1;
			char text[128];

			put_number(&record, 22, (uint64_t)a, 8); /* i64 */
			put_number(&record, 51, __builtin_bswap64((uint64_t)b),
				   8); /* i64x */
			(void)snprintf(text, sizeof(text),
				       "i64 / i64x == (%lld)",
				       b == 0 || wraps ? (long long)a :
							 (long long)(a / b));
			if (!wraps && a != INT64_MIN)
				check(text, &record, b != 0);
			(void)snprintf(
				text, sizeof(text), "i64 %% i64x == (%lld)",
				b == 0 || wraps ? 0 : (long long)(a % b));
			check(text, &record, b != 0);
		}
	}
	put_number(&record, 22, (uint64_t)INT64_MIN, 8);
	put_number(&record, 51, UINT64_MAX, 8);
	check("i64 / i64x == i64", &record, true);
	check("i64 / 1 == i64 && i64 / -1 == i64", &record, true);
	check("i64 / 2 == -4611686018427387904", &record, true);
}

static void what_is_missing_is_not_true(void **state)
{
	struct ebpf_record record = { { 0 }, { 0 } };

	(void)state;
	check("1 / u8 == 1 || 1 / u8 != 1", &record, false);
	check("!(1 / u8)", &record, true);
	check("(1 / u8 ? 1 : u8 == 0)", &record, true);
	check("nothing == 1 || nothing != 1", &record, false);
	check("!nothing", &record, true);
	check("i8 % i8 > 5 || u64 % u64 >= 0", &record, false);
}

static void texts_end_at_their_first_nul(void **state)
{
	struct ebpf_record record = { { 0 }, { 0 } };

	(void)state;
	memcpy(record.bytes + 59, "bash\0XXXXXXXXXXX", 16); /* comm */
	memcpy(record.bytes + 75, "abc", 3);                /* odd: full */
	memcpy(record.bytes + 78, "x", 1);                  /* one */
	memcpy(record.bytes + 79, "long/name\0zz", 12);     /* s */
	check("comm == \"bash\" && !(comm != \"bash\")", &record, true);
	check("comm == \"bas\" || comm == \"bashX\"", &record, false);
	check("comm == \"ba*\" && comm != \"bb*\"", &record, true);
	check("comm == \"bash*\" && comm != \"bashX*\"", &record, true);
	check("comm == \"b?s?\" && comm != \"b?s??\"", &record, true);
	check("comm == \"????*\" && comm != \"?????*\"", &record, true);
	check("comm == \"*\" && comm", &record, true);
	check("odd == \"abc\" && odd != \"ab\" && odd == \"abc*\"", &record,
	      true);
	check("odd == \"abcd\" || odd == \"abcd*\" || odd == \"????\"", &record,
	      false);
	check("one == \"x\" && one == \"?\" && one != \"?\\?\"", &record, true);
	check("s == \"long/name\" && s != \"long/name\\0zz\"", &record, true);
	check("s == \"long/*\" && s != \"long/namez*\"", &record, true);
	check("comm == \"bash\\0XXXXXXXXXXX\"", &record, false);
	check("comm == \"sixteen letters!\"", &record, false);
	memcpy(record.bytes + 59, "sixteen letters!", 16);
	check("comm == \"sixteen letters!\"", &record, true);
	check("comm == \"sixteen letters!!\"", &record, false);
	check("comm == \"????????????????\"", &record, true);
	memset(record.bytes + 59, 0, 16);
	check("comm == \"\" && !comm && comm == \"*\" && comm != \"?*\"",
	      &record, true);
	check("comm ? 1 : (s ? 1 : 0)", &record, true);
	check("defined(comm) && !defined(nothing)", &record, true);
	record.bytes[0] = 1; /* u8 */
	check("(u8 ? comm : s) == \"\" && (u8 - 1 ? comm : s) == \"long*\"",
	      &record, true);
}

#define LONG_BYTES 512
#define LONG_AT    UINT64_C(0x100000000)

static bool place_long(void *ctx, uint32_t ref, uint32_t *ret_offset,
		       uint32_t *ret_size)
{
	(void)ctx;
	(void)ref;
	*ret_offset = 0;
	*ret_size = LONG_BYTES;
	return true;
}

/* Whether a text of `length` letters is equal to one of `other`. */
static int compare_long(int length, int other)
{
	static struct code code;
	struct sonde_ebpf_config config = ebpf_in_registers;
	uint8_t bytes[LONG_BYTES] = { 0 };
	struct ebpf_machine machine = {
		.areas = { { LONG_AT, LONG_BYTES, bytes, NULL, false } },
		.set = 1u << 6,
	};
	char text[LONG_BYTES + 16];
	char letters[LONG_BYTES];
	int err;

	memset(letters, 'a', sizeof(letters));
	memset(bytes, 'a', (size_t)length);
	(void)snprintf(text, sizeof(text), "s == \"%.*s\"", other, letters);
	config.bases[0].offset = 0;
	config.bases[0].bytes = LONG_BYTES;
	config.text = place_long;
	err = generate_with(text, &config, CODE_MAX, &code);
	machine.registers[6] = LONG_AT;
	return err ? err : ebpf_run(&machine, code.insns, code.nr);
}

static void the_longest_constant_ends_with_nul(void **state)
{
	(void)state;
	assert_int_equal(compare_long(256, 256), 1);
	assert_int_equal(compare_long(257, 256), 0);
	assert_int_equal(compare_long(255, 256), 0);
	assert_int_equal(compare_long(257, 257), -EOPNOTSUPP);
}

static void backslashes_are_taken_as_the_evaluator_takes_them(void **state)
{
	struct ebpf_record record = { { 0 }, { 0 } };

	(void)state;
	memcpy(record.bytes + 59, "a*b\\c", 5);
	check("comm == \"a\\*b*\" && comm != \"a\\*c*\"", &record, true);
	check("comm == \"a?b\\\\?\" && comm == \"a\\*b\\\\c\"", &record, true);
}

static void what_can_not_be_said_is_refused(void **state)
{
	static const char *const texts[] = {
		"u8 * 1.5 > 2",      "comm == \"*sh\"", "comm == \"a*b*\"",
		"comm == \"[ab]*\"", "comm < \"a\"",    "comm == s",
	};
	struct sonde_ebpf_config config = ebpf_on_stack;
	static struct code code;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(texts); i++)
		assert_int_equal(generate_with(texts[i], &config, CODE_MAX,
					       &code),
				 -EOPNOTSUPP);
	/* but not for what needs none of it */
	assert_int_equal(generate_with("0 && comm < \"a\"", &config, CODE_MAX,
				       &code),
			 0);
	config.text = NULL;
	assert_int_equal(generate_with("comm == \"a\"", &config, CODE_MAX,
				       &code),
			 -EOPNOTSUPP);
}

static void nothing_is_read_that_is_not_there(void **state)
{
	struct sonde_ebpf_config config = ebpf_on_stack;
	static struct code code;

	(void)state;
	config.bases[0].bytes = 7;
	assert_int_equal(generate_with("u32 == 1", &config, CODE_MAX, &code),
			 0);
	assert_int_equal(generate_with("u64 == 1", &config, CODE_MAX, &code),
			 -EOPNOTSUPP);
	config.bases[0].bytes = 6;
	assert_int_equal(generate_with("u32 + 1 == 1", &config, CODE_MAX,
				       &code),
			 -EOPNOTSUPP);
	config.bases[0].bytes = 0;
	assert_int_equal(generate_with("u8 == 1", &config, CODE_MAX, &code),
			 -EOPNOTSUPP);
	assert_int_equal(generate_with("tid == 1", &config, CODE_MAX, &code),
			 0);
	config.bases[0].bytes = 79 + 5;
	assert_int_equal(generate_with("s == \"abcdefghi\"", &config, CODE_MAX,
				       &code),
			 0);
	config.bases[0].bytes = 79;
	assert_int_equal(generate_with("s == \"\"", &config, CODE_MAX, &code),
			 -EOPNOTSUPP);
	config.bases[0].bytes = 59 + 15;
	assert_int_equal(generate_with("comm == \"sixteen letters!\"", &config,
				       CODE_MAX, &code),
			 -EOPNOTSUPP);
}

static void room_is_kept(void **state)
{
	/* of the six in brackets and a field, four are on the stack */
	static const char deep[] =
		"(u8 ^ u16) * ((u16 ^ u32) * ((u32 ^ i8) *"
		"((i8 ^ i16) * ((i16 ^ i32) * (i32 ^ u8))))) > 5";
	struct sonde_ebpf_config config = ebpf_in_registers;
	static struct code code;

	(void)state;
	config.room = 32;
	assert_int_equal(generate_with(deep, &config, CODE_MAX, &code), 0);
	assert_int_equal(generate_with(deep, &config, code.nr, &code), 0);
	assert_int_equal(generate_with(deep, &config, code.nr - 1, &code),
			 -E2BIG);
	config.room = 31;
	assert_int_equal(generate_with(deep, &config, CODE_MAX, &code),
			 -EOPNOTSUPP);
}

/* 2800 comparisons, each of several instructions, and jumps over them all. */
static void jumps_that_reach_too_far_are_refused(void **state)
{
	static struct bpf_insn insns[100000];
	static char text[65536];
	size_t length = (size_t)sprintf(text, "u8 == 0 && (u64 + 1 == 1");
	struct sonde_program *program;
	size_t nr = 0;

	(void)state;
	for (int i = 0; i < 2800; i++)
		length += (size_t)sprintf(text + length,
					  "||i64/800000%04d==1<<40", i);
	(void)sprintf(text + length, ")");
	program = compile_in(text, &ebpf_scope);
	assert_int_equal(sonde_ebpf_generate(program, &ebpf_on_stack, insns,
					     SONDE_ARRAY_SIZE(insns), &nr),
			 -E2BIG);
	sonde_program_free(program);
}

static void field_equals_constant_is_a_load_and_a_comparison(void **state)
{
	static struct code code;

	(void)state;
	assert_int_equal(
		generate_with("u32x == 7", &ebpf_on_stack, CODE_MAX, &code), 0);
	assert_int_equal(code.nr, 4);
}

/* ---- the kernel ---- */

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static struct bpf_insn insn(uint32_t code, unsigned int dst, unsigned int src,
			    int32_t number)
{
	return (struct bpf_insn){ .code = (uint8_t)code,
				  .dst_reg = dst & 0xfu,
				  .src_reg = src & 0xfu,
				  .imm = number };
}

/* Copies the record, which is the context, to the stack; or finds it in the
 * only element of a map. */
static size_t make_entry(struct bpf_insn *to, int map)
{
	size_t nr = 0;

	if (map < 0) {
		for (int16_t at = 0; at < (int16_t)sizeof(struct ebpf_record);
		     at += 8) {
			to[nr] = insn(BPF_LDX | BPF_MEM | BPF_DW, 0, 1, 0);
			to[nr++].off = at;
			to[nr] = insn(BPF_STX | BPF_MEM | BPF_DW, 10, 0, 0);
			to[nr++].off = (int16_t)(EBPF_BASE_0 + at);
		}
		return nr;
	}
	to[nr] = insn(BPF_ST | BPF_MEM | BPF_W, 10, 0, 0);
	to[nr++].off = -4;
	to[nr++] = insn(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0);
	/* NOLINTNEXTLINE(misc-redundant-expression): BPF_ADD is 0, too */
	to[nr++] = insn(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, -4);
	to[nr++] = insn(BPF_LD | BPF_DW, 1, BPF_PSEUDO_MAP_FD, map);
	to[nr++] = insn(0, 0, 0, 0);
	to[nr++] = insn(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_map_lookup_elem);
	to[nr] = insn(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0);
	to[nr++].off = 1;
	to[nr++] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0);
	to[nr++] = insn(BPF_ALU64 | BPF_MOV | BPF_X, 6, 0, 0);
	return nr;
}

static int load(const struct code *code, int map, char *log, uint32_t log_size)
{
	static struct bpf_insn insns[CODE_MAX + 100];
	size_t nr = make_entry(insns, map);
	union bpf_attr attr = { 0 };

	memcpy(insns + nr, code->insns, code->nr * sizeof(insns[0]));
	nr += code->nr;
	insns[nr++] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0);
	attr.prog_type = BPF_PROG_TYPE_SYSCALL;
	attr.prog_flags = BPF_F_SLEEPABLE;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = (uint32_t)nr;
	attr.license = (uintptr_t) "MIT";
	attr.log_buf = (uintptr_t)log;
	attr.log_size = log_size;
	attr.log_level = log ? 1 : 0;
	return bpf(BPF_PROG_LOAD, &attr);
}

static int make_map(void)
{
	union bpf_attr attr = { 0 };

	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = sizeof(struct ebpf_record);
	attr.max_entries = 1;
	return bpf(BPF_MAP_CREATE, &attr);
}

static int run_in_kernel(int program, int map, struct ebpf_record *record)
{
	union bpf_attr attr = { 0 };
	uint32_t key = 0;

	if (map >= 0) {
		attr.map_fd = (uint32_t)map;
		attr.key = (uintptr_t)&key;
		attr.value = (uintptr_t)record;
		assert_int_equal(bpf(BPF_MAP_UPDATE_ELEM, &attr), 0);
		memset(&attr, 0, sizeof(attr));
	}
	attr.test.prog_fd = (uint32_t)program;
	attr.test.ctx_in = (uintptr_t)record;
	attr.test.ctx_size_in = sizeof(*record);
	assert_int_equal(bpf(BPF_PROG_TEST_RUN, &attr), 0);
	return (int)attr.test.retval;
}

static void check_in_kernel(const char *text,
			    const struct sonde_ebpf_config *config, int map,
			    const struct model_random *random)
{
	static struct code code;
	static char log[1 << 20];
	int program;

	assert_int_equal(generate_with(text, config, CODE_MAX, &code), 0);
	program = load(&code, map, NULL, 0);
	if (program < 0) {
		(void)load(&code, map, log, sizeof(log));
		fail_msg("%s: refused: %.4000s", text, log);
	}
	for (size_t i = 0; i < RECORDS; i++) {
		struct ebpf_record record;

		ebpf_record_fill(&record, random);
		if (run_in_kernel(program, map, &record) !=
		    evaluate(text, &record))
			fail_msg("%s: the kernel disagrees", text);
	}
	(void)close(program);
}

static void the_kernel_takes_programs_and_agrees(void **state)
{
	struct sonde_ebpf_config in_map = ebpf_in_registers;
	uint64_t seed = 4;
	const struct model_random random = { next_random, &seed };
	int map = make_map();

	(void)state;
	if (map < 0) {
		print_message("skipped: no BPF (error %d)\n", errno);
		skip();
	}
	in_map.bases[0].offset = 0;
	in_map.bases[1].reg = BPF_REG_6;
	in_map.bases[1].offset = EBPF_BYTES;
#if !defined(__x86_64__)
	in_map.bases[0].unaligned = false;
#endif
	for (size_t round = 0; round < KERNEL_ROUNDS; round++) {
		char text[16384];

		ebpf_write(text, sizeof(text), &random);
		check_in_kernel(text, round % 3 ? &ebpf_on_stack : &in_map,
				round % 3 ? -1 : map, &random);
	}
	(void)close(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs_give_what_the_evaluator_gives),
		cmocka_unit_test(signed_division_is_the_languages),
		cmocka_unit_test(what_is_missing_is_not_true),
		cmocka_unit_test(texts_end_at_their_first_nul),
		cmocka_unit_test(the_longest_constant_ends_with_nul),
		cmocka_unit_test(
			backslashes_are_taken_as_the_evaluator_takes_them),
		cmocka_unit_test(what_can_not_be_said_is_refused),
		cmocka_unit_test(nothing_is_read_that_is_not_there),
		cmocka_unit_test(room_is_kept),
		cmocka_unit_test(jumps_that_reach_too_far_are_refused),
		cmocka_unit_test(
			field_equals_constant_is_a_load_and_a_comparison),
		cmocka_unit_test(the_kernel_takes_programs_and_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
