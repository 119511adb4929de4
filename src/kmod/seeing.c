// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * seeing.c - programs that see registers and memory.
 *
 * GDB's conditions, and what it collects, are agent expressions (expr/program.h): they
 * name registers, and read memory at any address. A register is a word of what the
 * kprobe is called with, so its operation becomes a load of that word, as filter.c has
 * them; what is the same at each hit becomes a number; the running task is asked for.
 *
 * ## Invariants
 *
 *  1. Memory is read by peek.h alone. What is bad makes the program jump to where it
 *     says so: SONDE_SEEN_FAULT. Nothing is written but the value.
 *  2. A program is changed once, before it is run or compiled. Words that it reads are
 *     within struct pt_regs.
 *  3. Machine code and evaluator give the same, values too.
 *
 * Code calls four functions of ours for memory, one for each width, and one for the
 * task, by their distance from __bpf_call_base, as the kernel's own programs do its
 * helpers; so slots are in the registers that calls leave, three of them. What needs
 * more slots is evaluated.
 *
 * Cost: a read eleven instructions and the call's; else as native.c says.
 */
#include "kmod/seeing.h"

#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "expr/program.h"
#include "expr/translate.h"
#include "kmod/native.h"
#include "kmod/peek.h"
#include "kmod/sonde.h"

#define NR_WORDS (sizeof(struct pt_regs) / sizeof(u64))

/* Where the code keeps things, from its stack's end. */
#define VALUE_AT (-8)
#define READ_AT  (-16)
#define TO_AT    (-24)

/* ---- what a program may see ---- */

static int prepare_register(struct sonde_expr_op *op, u64 place)
{
	if (op->number == SONDE_KMOD_WORD_CURRENT)
		return 0;
	if (op->number == SONDE_KMOD_WORD_PLACE) {
		op->code = SONDE_EXPR_OP_NUMBER;
		op->number = place;
		return 0;
	}
	if (op->number >= NR_WORDS)
		return -EINVAL;
	op->code = SONDE_EXPR_OP_LOAD_64;
	op->base = SONDE_SEEING_WORDS;
	op->offset = (u32)(op->number * sizeof(u64));
	return 0;
}

static int prepare_op(struct sonde_expr_op *op, u64 place)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op->code];

	if (op->code == SONDE_EXPR_OP_REGISTER)
		return prepare_register(op, place);
	if (info->operands & SONDE_EXPR_OPERAND_MEM)
		return -EINVAL;
	if (info->operands &
	    (SONDE_EXPR_OPERAND_DOUBLE | SONDE_EXPR_OPERAND_CALL |
	     SONDE_EXPR_OPERAND_TEXT))
		return -EOPNOTSUPP;
	/* Of those that see the machine, reads alone say how wide they are. */
	return info->operands & SONDE_EXPR_OPERAND_MACHINE && !info->bytes ?
		       -EOPNOTSUPP :
		       0;
}

int sonde_seeing_prepare(struct sonde_program *program, u64 place)
{
	int err = program->type == SONDE_EXPR_DOUBLE ||
				  program->type == SONDE_EXPR_STRING ?
			  -EOPNOTSUPP :
			  0;

	/* The kernel's words are as wide as GDB's registers here. */
	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) || sizeof(long) != sizeof(u64))
		err = -EOPNOTSUPP;
	for (u32 i = 0; !err && i < program->nr_ops; i++)
		err = prepare_op(&program->ops[i], place);
	program->bases |= 1u << SONDE_SEEING_WORDS;
	return err;
}

/* ---- machine code ---- */

/* What the code calls: as the kernel's helpers are, by their arguments' registers. */
#define READS(bytes)                                                       \
	static notrace u64 read_##bytes(u64 address, u64 to, u64 unused_c, \
					u64 unused_d, u64 unused_e)        \
	{                                                                  \
		return sonde_peek_told(address, bytes,                     \
				       (u64 *)(unsigned long)to);          \
	}

READS(1)
READS(2)
READS(4)
READS(8)

static notrace u64 ask_current(u64 number, u64 unused_b, u64 unused_c,
			       u64 unused_d, u64 unused_e)
{
	return (unsigned long)current;
}

typedef u64 (*called_fn)(u64 a, u64 b, u64 c, u64 d, u64 e);

/* 0: it is too far away. */
static s32 call_number(called_fn called)
{
	s64 distance =
		(s64)((unsigned long)called - (unsigned long)__bpf_call_base);

	return distance == (s32)distance ? (s32)distance : 0;
}

/* Or may say that memory can't be read. */
static bool needs_calls(const struct sonde_program *program)
{
	for (u32 i = 0; i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];

		if (sonde_expr_op_infos[op->code].operands &
			    SONDE_EXPR_OPERAND_MACHINE ||
		    op->code == SONDE_EXPR_OP_END_FAULT)
			return true;
	}
	return false;
}

/* The second argument, where the value goes, is kept, and behind all it is stored
 * there. */
static u32 put_end(struct bpf_insn *to)
{
	const struct bpf_insn insns[] = {
		BPF_JMP_IMM(BPF_JNE, BPF_REG_0, SONDE_SEEN_VALUE, 3),
		BPF_LDX_MEM(BPF_DW, BPF_REG_1, BPF_REG_10, TO_AT),
		BPF_LDX_MEM(BPF_DW, BPF_REG_2, BPF_REG_10, VALUE_AT),
		BPF_STX_MEM(BPF_DW, BPF_REG_1, BPF_REG_2, 0),
		BPF_EXIT_INSN(),
	};

	memcpy(to, insns, sizeof(insns));
	return ARRAY_SIZE(insns);
}

static u32 put_begin(struct bpf_insn *to, bool keeps_value)
{
	const struct bpf_insn insns[] = {
		BPF_MOV64_REG(BPF_REG_6, BPF_REG_1),
		BPF_STX_MEM(BPF_DW, BPF_REG_10, BPF_REG_2, TO_AT),
	};

	memcpy(to, insns, sizeof(insns));
	return keeps_value ? 2 : 1;
}

struct bpf_prog *sonde_seeing_native(const struct sonde_program *program,
				     const struct sonde_program_state *states,
				     bool keeps_value)
{
	const struct sonde_ebpf_frame frame = {
		.bases[SONDE_SEEING_WORDS] = { BPF_REG_6, 0,
					       sizeof(struct pt_regs) },
		.first = BPF_REG_7,
		.last = BPF_REG_9,
		.calls = { .read = { call_number(read_1), call_number(read_2),
				     call_number(read_4), call_number(read_8) },
			   .ask = call_number(ask_current),
			   .at = READ_AT },
		.tells_faults = true,
		.keeps_value = keeps_value,
		.value_at = VALUE_AT,
	};
	const struct sonde_native_form form = {
		.frame = &frame,
		.begin = put_begin,
		.end = keeps_value ? put_end : NULL,
		.stack_bytes = -TO_AT,
	};

	/* Conditions on registers alone need none of that, and cost less so. */
	if (!keeps_value && !needs_calls(program))
		return sonde_native_make(program, states, SONDE_SEEING_WORDS,
					 sizeof(struct pt_regs));
	return sonde_native_make_by(program, states, &form);
}

/* ---- the evaluator ---- */

static notrace bool see_memory(void *ctx, uint64_t address, void *to,
			       uint32_t bytes)
{
	u64 value;

	if (!sonde_peek_told(address, bytes, &value))
		return false;
	memcpy(to, &value, bytes); /* of a little-endian word: its low ones */
	return true;
}

static const struct sonde_expr_machine machine = { .read = see_memory };

static notrace void evaluate(const struct sonde_program *program,
			     const u64 *words, struct sonde_expr_value *ret)
{
	u64 registers[SONDE_EXPR_REGISTERS];
	struct sonde_expr_env env;

	registers[SONDE_KMOD_WORD_CURRENT] = (unsigned long)current;
	env.bases[SONDE_SEEING_WORDS] = (const u8 *)words;
	env.registers = registers;
	env.machine = &machine;
	env.machine_ctx = NULL;
	sonde_program_eval(program, &env, ret);
}

static notrace enum sonde_seeing_result
why_nothing(const struct sonde_expr_value *value)
{
	return value->u == SONDE_EXPR_FAULT ? SONDE_SEEN_FAULT :
					      SONDE_SEEN_NOTHING;
}

notrace enum sonde_seeing_result
sonde_seeing_value(const struct sonde_program *program, const u64 *words,
		   u64 *ret_value)
{
	struct sonde_expr_value value;

	evaluate(program, words, &value);
	if (value.type == SONDE_EXPR_MISSING)
		return why_nothing(&value);
	*ret_value = value.u;
	return SONDE_SEEN_VALUE;
}

notrace enum sonde_seeing_result
sonde_seeing_verdict(const struct sonde_program *program, const u64 *words)
{
	struct sonde_expr_value value;

	evaluate(program, words, &value);
	if (value.type == SONDE_EXPR_MISSING)
		return why_nothing(&value);
	return value.u ? SONDE_SEEN_VALUE : SONDE_SEEN_NOTHING;
}
