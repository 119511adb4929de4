/* SPDX-License-Identifier: MIT */
/*
 * test_agent_ebpf.c - agent expressions as eBPF: they give what the bytes say,
 * in the model of ebpf_model.h and, where the user may load programs, in the
 * kernel, whose verifier takes them. And so they do translated, an operation at a
 * time (expr/translate.h), in the model.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent_corpus.h"
#include "agent_model.h"
#include "base/port.h"
#include "ebpf_model.h"
#include "expr/agent.h"
#include "expr/program.h"
#include "expr/translate.h"
#include "expr_unit.h"
#include "random.h"

#define ROUNDS        20000
#define KERNEL_ROUNDS 1000
#define SIZE          2048
#define CODE_MAX      16384
#define CONTEXT       UINT64_C(0x100000)
#define STACK         UINT64_C(0x200000)

struct code {
	struct bpf_insn insns[CODE_MAX];
	size_t nr;
};

/* The context is the registers, in order. */
static bool find_register(void *ctx, uint32_t number, uint8_t *ret_reg,
			  int16_t *ret_offset)
{
	(void)ctx;
	*ret_reg = BPF_REG_6;
	*ret_offset = (int16_t)(8 * number);
	return number < AGENT_REGS;
}

static const struct sonde_ebpf_config config = {
	.stack = -512,
	.room = 512,
	.registers = find_register,
	.read_helper = BPF_FUNC_probe_read_user,
};

static int generate_with(const struct sonde_ebpf_config *with,
			 const uint8_t *bytes, size_t nr, struct code *code)
{
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	int err;

	if (sonde_agent_decode(bytes, nr, false, &error, &program))
		fail_msg("%s", error.text);
	err = sonde_ebpf_generate(program, with, code->insns, CODE_MAX,
				  &code->nr);
	sonde_program_free(program);
	return err;
}

static int generate(const uint8_t *bytes, size_t nr, struct code *code)
{
	return generate_with(&config, bytes, nr, code);
}

static bool is_true(const uint8_t *bytes, size_t nr, struct agent_world *world)
{
	uint64_t value = 0;

	return agent_model_run(bytes, nr, world, &value) == AGENT_VALUE &&
	       value != 0;
}

/* What the code gives in the model. */
static int run_in_model(const struct code *code, struct agent_world *world,
			const char **ret_wrong)
{
	uint8_t stack[512] = { 0 };
	bool known[512] = { false };
	struct ebpf_machine machine = {
		.areas = {
			{ STACK - sizeof(stack), sizeof(stack), stack, known,
			  true },
			{ CONTEXT, sizeof(world->registers),
			  (uint8_t *)world->registers, NULL, true },
		},
		.registers = { [6] = CONTEXT, [10] = STACK },
		.set = 1u << 6 | 1u << 10,
		.read = agent_machine.read,
		.ctx = world,
	};
	int result = ebpf_run(&machine, code->insns, code->nr);

	*ret_wrong = machine.wrong;
	return result;
}

static void programs_do_what_the_bytes_say(void **state)
{
	static struct agent_world world;
	static struct code code;
	uint64_t seed = 20261123;
	const struct model_random random = { next_random, &seed };
	size_t nr_tried = 0;
	size_t nr_true = 0;

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		uint8_t bytes[SIZE];
		size_t nr = agent_write(bytes, sizeof(bytes), false, false,
					&random);
		const char *wrong = NULL;
		bool expected;
		int err = generate(bytes, nr, &code);

		if (err == -EOPNOTSUPP) /* variables */
			continue;
		assert_int_equal(err, 0);
		agent_world_fill(&world, &random);
		expected = is_true(bytes, nr, &world);
		if (run_in_model(&code, &world, &wrong) != expected)
			fail_msg("round %zu: %s", round, wrong ? wrong : "");
		nr_tried++;
		nr_true += expected;
	}
	assert_true(nr_tried > ROUNDS / 4);
	assert_true(nr_true > ROUNDS / 20);
}

/* ---- values ---- */

#define VALUE_AT (-512)

static const struct sonde_ebpf_config keeping = {
	.stack = -504,
	.room = 504,
	.registers = find_register,
	.read_helper = BPF_FUNC_probe_read_user,
	.tells_faults = true,
	.keeps_value = true,
	.value_at = VALUE_AT,
};

/* Why there is a value, or none: as R0 says it. */
static int expected_end(enum agent_result result)
{
	return result == AGENT_VALUE ? 1 : result == AGENT_FAULT ? 2 : 0;
}

static void check_value(const struct code *code, const uint8_t *bytes,
			size_t nr, struct agent_world *world, size_t *by_end)
{
	uint8_t stack[512] = { 0 };
	bool known[512] = { false };
	struct ebpf_machine machine = {
		.areas = {
			{ STACK - sizeof(stack), sizeof(stack), stack, known,
			  true },
			{ CONTEXT, sizeof(world->registers),
			  (uint8_t *)world->registers, NULL, true },
		},
		.registers = { [6] = CONTEXT, [10] = STACK },
		.set = 1u << 6 | 1u << 10,
		.read = agent_machine.read,
		.ctx = world,
	};
	uint64_t expected = 0;
	uint64_t value;
	int end = expected_end(agent_model_run(bytes, nr, world, &expected));
	int got = ebpf_run(&machine, code->insns, code->nr);

	if (got != end)
		fail_msg("%d, not %d: %s", got, end,
			 machine.wrong ? machine.wrong : "");
	memcpy(&value, stack + sizeof(stack) + VALUE_AT, sizeof(value));
	if (got == 1)
		assert_int_equal(value, expected);
	by_end[end]++;
}

/* Half of the memory is there. */
static bool patchy_byte(void *ctx, uint64_t address, uint8_t *ret_byte)
{
	(void)ctx;
	*ret_byte = (uint8_t)(address * 37);
	return address & 64;
}

static void values_are_kept_and_faults_are_told(void **state)
{
	static struct agent_world world;
	static struct code code;
	uint64_t seed = 20261127;
	const struct model_random random = { next_random, &seed };
	size_t by_end[3] = { 0 };

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		uint8_t bytes[SIZE];
		size_t nr = agent_write(bytes, sizeof(bytes), false, false,
					&random);

		if (generate_with(&keeping, bytes, nr, &code))
			continue; /* variables */
		agent_world_fill(&world, &random);
		world.byte = patchy_byte;
		check_value(&code, bytes, nr, &world, by_end);
	}
	assert_true(by_end[0] > 10);
	assert_true(by_end[1] > ROUNDS / 4);
	assert_true(by_end[2] > 100);
}

/* ---- an operation at a time ---- */

#define ASKED_VALUE (-8)
#define ASKED_READ  (-16)

/* Slots are in R7 to R9, as the kernel's module has them: calls leave those. */
static const struct sonde_ebpf_frame asking = {
	.first = BPF_REG_7,
	.last = BPF_REG_9,
	.calls = { .read = { EBPF_CALL_READ(1), EBPF_CALL_READ(2),
			     EBPF_CALL_READ(4), EBPF_CALL_READ(8) },
		   .ask = EBPF_CALL_ASK,
		   .at = ASKED_READ },
	.tells_faults = true,
	.keeps_value = true,
	.value_at = ASKED_VALUE,
};

static bool translate_with(const struct sonde_ebpf_frame *frame,
			   const uint8_t *bytes, size_t nr, struct code *code)
{
	static struct sonde_program_state states[SONDE_PROGRAM_OPS];
	static uint16_t starts[SONDE_PROGRAM_OPS];
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	uint32_t nr_insns = 0;
	bool done;

	if (sonde_agent_decode(bytes, nr, false, &error, &program))
		fail_msg("%s", error.text);
	assert_true(sonde_program_verify(program, states));
	done = sonde_ebpf_translate(program, states, frame, starts, code->insns,
				    CODE_MAX, &nr_insns);
	code->nr = nr_insns;
	sonde_program_free(program);
	return done;
}

/* What it leaves; -1. */
static int run_translated(const struct code *code, struct agent_world *world,
			  uint64_t *ret_value, const char **ret_wrong)
{
	uint8_t stack[16] = { 0 };
	bool known[16] = { false };
	struct ebpf_machine machine = {
		.areas = { { STACK - sizeof(stack), sizeof(stack), stack, known,
			     true } },
		.registers = { [10] = STACK },
		.set = 1u << 10,
		.own = 1u << 7 | 1u << 8 | 1u << 9,
		.read = agent_machine.read,
		.asked = world->registers,
		.ctx = world,
	};
	int result = ebpf_run(&machine, code->insns, code->nr);

	*ret_wrong = machine.wrong;
	memcpy(ret_value, stack + sizeof(stack) + ASKED_VALUE,
	       sizeof(*ret_value));
	return result;
}

static void check_translated(const struct code *code, const uint8_t *bytes,
			     size_t nr, struct agent_world *world,
			     size_t *by_end)
{
	uint64_t expected = 0;
	uint64_t value;
	const char *wrong;
	int end = expected_end(agent_model_run(bytes, nr, world, &expected));
	int got = run_translated(code, world, &value, &wrong);

	if (got != end)
		fail_msg("%d, not %d: %s", got, end, wrong ? wrong : "");
	if (got == 1)
		assert_int_equal(value, expected);
	by_end[end]++;
}

static void translated_ones_give_what_the_bytes_say(void **state)
{
	static struct agent_world world;
	static struct code code;
	uint64_t seed = 20261129;
	const struct model_random random = { next_random, &seed };
	size_t by_end[3] = { 0 };

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		uint8_t bytes[SIZE];
		size_t nr = agent_write(bytes, sizeof(bytes), false, false,
					&random);

		if (!translate_with(&asking, bytes, nr, &code))
			continue; /* variables, or too many slots */
		agent_world_fill(&world, &random);
		world.byte = patchy_byte;
		check_translated(&code, bytes, nr, &world, by_end);
	}
	assert_true(by_end[0] > 10);
	assert_true(by_end[1] > ROUNDS / 10);
	assert_true(by_end[2] > 100);
}

/* ---- what GDB compiled ---- */

static bool corpus_world_byte(void *ctx, uint64_t address, uint8_t *ret_byte)
{
	return corpus_byte(ctx, address, ret_byte);
}

static void check_case(const struct corpus_case *one, void *ctx)
{
	static struct agent_world world;
	static struct code code;
	struct corpus_case now = *one;
	size_t *tried = ctx;
	const char *wrong = NULL;
	bool expected;
	int err;

	if (one->collects)
		return;
	err = generate(one->bytes, one->nr, &code);
	assert_int_equal(err, 0);
	world = (struct agent_world){ .byte = corpus_world_byte, .ctx = &now };
	memcpy(world.registers, one->registers, sizeof(world.registers));
	expected = is_true(one->bytes, one->nr, &world);
	if (run_in_model(&code, &world, &wrong) != expected)
		fail_msg("%s: %s", one->text, wrong ? wrong : "");
	(*tried)++;
}

static void programs_do_what_gdb_compiled(void **state)
{
	size_t tried = 0;

	(void)state;
	assert_true(corpus_each(check_case, &tried) > 0);
	assert_true(tried > 1000);
}

static void translate_case(const struct corpus_case *one, void *ctx)
{
	static struct agent_world world;
	static struct code code;
	struct corpus_case now = *one;
	size_t *tried = ctx;
	size_t by_end[3] = { 0 };

	tried[0] += !one->collects;
	if (one->collects ||
	    !translate_with(&asking, one->bytes, one->nr, &code))
		return;
	world = (struct agent_world){ .byte = corpus_world_byte, .ctx = &now };
	memcpy(world.registers, one->registers, sizeof(world.registers));
	check_translated(&code, one->bytes, one->nr, &world, by_end);
	tried[1]++;
}

/* Three slots are enough for nineteen of twenty. */
static void translated_ones_do_what_gdb_compiled(void **state)
{
	size_t tried[2] = { 0 };

	(void)state;
	assert_true(corpus_each(translate_case, tried) > 0);
	assert_true(tried[0] > 1000);
	if (tried[1] * 20 < tried[0] * 19)
		fail_msg("%zu of %zu", tried[1], tried[0]);
}

/* Neither memory, nor registers, nor a place for the value. */
static void without_calls_nothing_is_seen(void **state)
{
	static const uint8_t reads[] = { 0x22, 8, 0x17, 0x27 };
	static const uint8_t asks[] = { 0x26, 0, 1, 0x27 };
	struct sonde_ebpf_frame poor = asking;
	static struct code code;

	(void)state;
	assert_true(translate_with(&asking, reads, sizeof(reads), &code));
	assert_true(translate_with(&asking, asks, sizeof(asks), &code));
	memset(poor.calls.read, 0, sizeof(poor.calls.read));
	assert_false(translate_with(&poor, reads, sizeof(reads), &code));
	assert_true(translate_with(&poor, asks, sizeof(asks), &code));
	poor.calls.ask = 0;
	assert_false(translate_with(&poor, asks, sizeof(asks), &code));
}

/* ---- the kernel ---- */

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Between what brings the context to R6, and the end. */
static int load(enum bpf_prog_type type, const struct code *code, char *log,
		uint32_t log_size)
{
	static struct bpf_insn insns[CODE_MAX + 2];
	union bpf_attr attr = { 0 };

	insns[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
				      .dst_reg = BPF_REG_6,
				      .src_reg = BPF_REG_1 };
	memcpy(insns + 1, code->insns, code->nr * sizeof(insns[0]));
	insns[code->nr + 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	attr.prog_type = type;
	if (type == BPF_PROG_TYPE_SYSCALL)
		attr.prog_flags = BPF_F_SLEEPABLE;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = (uint32_t)code->nr + 2;
	attr.license = (uintptr_t) "Dual MIT/GPL";
	attr.log_buf = (uintptr_t)log;
	attr.log_size = log_size;
	attr.log_level = log ? 1 : 0;
	return bpf(BPF_PROG_LOAD, &attr);
}

static int run_in_kernel(int program, const struct agent_world *world)
{
	union bpf_attr attr = { 0 };

	attr.test.prog_fd = (uint32_t)program;
	attr.test.ctx_in = (uintptr_t)world->registers;
	attr.test.ctx_size_in = sizeof(world->registers);
	assert_int_equal(bpf(BPF_PROG_TEST_RUN, &attr), 0);
	return (int)attr.test.retval;
}

/* Our own memory, as the kernel reads it. */
static bool own_byte(void *ctx, uint64_t address, uint8_t *ret_byte)
{
	struct iovec here = { ret_byte, 1 };
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it may be anything */
	struct iovec there = { (void *)(uintptr_t)address, 1 };

	(void)ctx;
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

struct tally {
	size_t by_truth[2], faults;
};

static void check_in_kernel(const uint8_t *bytes, size_t nr,
			    const struct model_random *random,
			    struct tally *tally)
{
	static uint64_t memory[32];
	static struct agent_world world;
	static struct code code;
	static char log[1 << 20];
	uint64_t value;
	bool expected;
	int program;

	if (generate(bytes, nr, &code))
		return; /* variables */
	program = load(BPF_PROG_TYPE_SYSCALL, &code, NULL, 0);
	if (program < 0) {
		(void)load(BPF_PROG_TYPE_SYSCALL, &code, log, sizeof(log));
		fail_msg("refused: %.4000s", log);
	}
	for (size_t i = 0; i < 4; i++) {
		agent_world_fill(&world, random);
		world.byte = own_byte;
		for (size_t k = 0; k < SONDE_ARRAY_SIZE(memory); k++)
			memory[k] = next_random(random->ctx);
		for (size_t k = 0; k < AGENT_REGS; k += 2)
			world.registers[k] = (uintptr_t)&memory[k % 8];
		expected = is_true(bytes, nr, &world);
		if (run_in_kernel(program, &world) != expected)
			fail_msg("the kernel disagrees");
		tally->by_truth[expected]++;
		tally->faults += agent_model_run(bytes, nr, &world, &value) ==
				 AGENT_FAULT;
	}
	(void)close(program);
}

static void the_kernel_takes_programs_and_agrees(void **state)
{
	static const uint8_t trivial[] = { 0x22, 0x01, 0x27 };
	static struct code code;
	struct tally tally = { .faults = 0 };
	uint64_t seed = 7;
	const struct model_random random = { next_random, &seed };
	int program;

	(void)state;
	assert_int_equal(generate(trivial, sizeof(trivial), &code), 0);
	program = load(BPF_PROG_TYPE_SYSCALL, &code, NULL, 0);
	if (program < 0) {
		print_message("skipped: no BPF (error %d)\n", errno);
		skip();
	}
	(void)close(program);
	for (size_t round = 0; round < KERNEL_ROUNDS; round++) {
		uint8_t bytes[SIZE];
		size_t nr = agent_write(bytes, sizeof(bytes), false, false,
					&random);

		check_in_kernel(bytes, nr, &random, &tally);
	}
	assert_true(tally.by_truth[false] > KERNEL_ROUNDS / 4);
	assert_true(tally.by_truth[true] > KERNEL_ROUNDS / 4);
	assert_true(tally.faults > KERNEL_ROUNDS / 10);
}

#if defined(__x86_64__)
/* A kernel probe's: struct pt_regs, by our numbers. */
static bool find_in_pt_regs(void *ctx, uint32_t number, uint8_t *ret_reg,
			    int16_t *ret_offset)
{
	static const uint8_t words[] = { 10, 5, 11, 12, 13, 14, 4, 19, 9,
					 8,  7, 6,  3,  2,  1,  0, 16, 18 };

	(void)ctx;
	*ret_reg = BPF_REG_6;
	if (number < SONDE_ARRAY_SIZE(words))
		*ret_offset = (int16_t)(8 * words[number]);
	return number < SONDE_ARRAY_SIZE(words);
}

static void load_kernel_probe(const struct corpus_case *one,
			      const struct sonde_ebpf_config *with)
{
	static struct code code;
	static char log[1 << 20];
	struct sonde_ebpf_config in_kernel = *with;
	int fd;

	in_kernel.registers = find_in_pt_regs;
	in_kernel.read_helper = BPF_FUNC_probe_read_kernel;
	assert_int_equal(generate_with(&in_kernel, one->bytes, one->nr, &code),
			 0);
	fd = load(BPF_PROG_TYPE_KPROBE, &code, log, sizeof(log));
	if (fd < 0)
		fail_msg("%s: refused: %.4000s", one->text, log);
	(void)close(fd);
}

static void check_kernel_probe(const struct corpus_case *one, void *ctx)
{
	size_t *tried = ctx;

	if (one->collects || strcmp(one->build, "O0") != 0)
		return;
	load_kernel_probe(one, &config);
	load_kernel_probe(one, &keeping);
	(*tried)++;
}

/* GDB's expressions, for a struct pt_regs and the kernel's memory. */
static void the_kernel_takes_them_for_kernel_probes(void **state)
{
	static const uint8_t trivial[] = { 0x22, 0x01, 0x27 };
	static struct code code;
	size_t tried = 0;
	int fd;

	(void)state;
	assert_int_equal(generate(trivial, sizeof(trivial), &code), 0);
	fd = load(BPF_PROG_TYPE_KPROBE, &code, NULL, 0);
	if (fd < 0) {
		print_message("skipped: no BPF (error %d)\n", errno);
		skip();
	}
	(void)close(fd);
	assert_true(corpus_each(check_kernel_probe, &tried) > 0);
	assert_true(tried > 200);
}
#endif

/* What assigns, and where there is neither register nor helper. */
static void what_cant_be_had_is_not_generated(void **state)
{
	static const uint8_t assigns[] = { 0x22, 1, 0x2d, 0, 1, 0x27 };
	static const uint8_t reads[] = { 0x26, 0, 1, 0x17, 0x27 };
	struct sonde_ebpf_config poor = config;
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	static struct code code;

	(void)state;
	assert_int_equal(generate(assigns, sizeof(assigns), &code),
			 -EOPNOTSUPP);
	assert_int_equal(generate(reads, sizeof(reads), &code), 0);
	assert_int_equal(sonde_agent_decode(reads, sizeof(reads), false, &error,
					    &program),
			 0);
	poor.read_helper = 0;
	assert_int_equal(sonde_ebpf_generate(program, &poor, code.insns,
					     CODE_MAX, &code.nr),
			 -EOPNOTSUPP);
	poor = config;
	poor.registers = NULL;
	assert_int_equal(sonde_ebpf_generate(program, &poor, code.insns,
					     CODE_MAX, &code.nr),
			 -EOPNOTSUPP);
	poor = config;
	poor.room = 0;
	assert_int_equal(sonde_ebpf_generate(program, &poor, code.insns,
					     CODE_MAX, &code.nr),
			 -EOPNOTSUPP);
	sonde_program_free(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_do_what_the_bytes_say),
		cmocka_unit_test(values_are_kept_and_faults_are_told),
		cmocka_unit_test(programs_do_what_gdb_compiled),
		cmocka_unit_test(translated_ones_give_what_the_bytes_say),
		cmocka_unit_test(translated_ones_do_what_gdb_compiled),
		cmocka_unit_test(without_calls_nothing_is_seen),
		cmocka_unit_test(the_kernel_takes_programs_and_agrees),
#if defined(__x86_64__)
		cmocka_unit_test(the_kernel_takes_them_for_kernel_probes),
#endif
		cmocka_unit_test(what_cant_be_had_is_not_generated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
