/* SPDX-License-Identifier: MIT */
/*
 * ebpf.c - operations to instructions (ebpf.h), in one pass.
 *
 * The depth of the stack at each operation is known beforehand (program.h), so
 * each slot has one place: R1 to R3 for the lowest, which are all that most
 * conditions need, and then 8 bytes of the machine's stack each. Where control
 * meets there is nothing to be moved. R0, R4 and R5 are scratch.
 *
 * A jump's target is, until all is known, the index of an operation, in the
 * jump's own offset; `to_op` says where that is so. Operations which nothing
 * comes to are left out, for the verifier refuses code that can't be reached: a
 * text at a fixed place is never missing, though the program thinks so.
 *
 * A text has no slots: the operation behind the one that calls for it takes it
 * directly. Its bytes are compared with a constant's, as many at a time as lie
 * aligned, the NUL behind it included.
 *
 * Cost: `field == constant` is a load, a comparison, and two instructions for
 * each way to end.
 */
#include "expr/ebpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "expr/program.h"

#define REGISTER_SLOTS 3u
#define SCRATCH_A      BPF_REG_4
#define SCRATCH_B      BPF_REG_5

/* Targets that are no operation of the program's. */
#define OPS_MAX SONDE_PROGRAM_OPS
_Static_assert(OPS_MAX < INT16_MAX, "a target fits in a jump's offset");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BPF_SWAP BPF_TO_BE
#else
#define BPF_SWAP BPF_TO_LE
#endif

struct generator {
	const struct sonde_program *program;
	const struct sonde_ebpf_config *config;
	struct bpf_insn *to;
	size_t nr, max;
	bool *to_op;                        /* by instruction */
	uint32_t *starts;                   /* by operation, its first one */
	bool *reached, *joined;             /* by operation: by a jump, too */
	struct sonde_program_state *states; /* by operation */
	uint32_t at;                        /* the operation */
	bool goes_on;  /* control comes to the next operation */
	bool has_text; /* the operation before has called for a text: */
	uint32_t text_offset, text_size;
	uint32_t room; /* for slots */
	int err;
};

/* ---- single instructions ---- */

static void fail(struct generator *to, int err)
{
	if (!to->err)
		to->err = err;
}

static struct bpf_insn make(uint32_t code, uint8_t dst, uint8_t src,
			    int32_t number)
{
	return (struct bpf_insn){
		.code = (uint8_t)code,
		.dst_reg = dst & 0xfu,
		.src_reg = src & 0xfu,
		.imm = number,
	};
}

static void add(struct generator *to, struct bpf_insn insn)
{
	if (to->err)
		return;
	if (to->nr == to->max) {
		fail(to, -E2BIG);
		return;
	}
	to->to_op[to->nr] = false;
	to->to[to->nr++] = insn;
}

static void alu(struct generator *to, uint8_t op, uint8_t a, uint8_t b)
{
	add(to, make(BPF_ALU64 | BPF_X | op, a, b, 0));
}

static void alu_number(struct generator *to, uint8_t op, uint8_t a,
		       int32_t number)
{
	add(to, make(BPF_ALU64 | BPF_K | op, a, 0, number));
}

static void add_at(struct generator *to, struct bpf_insn insn, int32_t offset)
{
	insn.off = (int16_t)offset;
	add(to, insn);
}

static bool is_short(uint64_t number)
{
	return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
}

/* The second half of a long number is an instruction of its own. */
static void ebpf_set(struct generator *to, uint8_t reg, uint64_t number)
{
	if (is_short(number)) {
		alu_number(to, BPF_MOV, reg, (int32_t)number);
		return;
	}
	add(to, make(BPF_LD | BPF_DW, reg, 0, (int32_t)(uint32_t)number));
	add(to, make(0, 0, 0, (int32_t)(uint32_t)(number >> 32)));
}

/* ---- jumps ---- */

/* Over the next `nr` instructions if `a` stands so to a number. */
static void skip_if(struct generator *to, uint8_t op, uint8_t a, int32_t number,
		    int16_t nr)
{
	add_at(to, make(BPF_JMP | BPF_K | op, a, 0, number), nr);
}

static void come(struct generator *to, uint32_t target)
{
	if (target >= to->program->nr_ops)
		return;
	to->reached[target] = true;
	to->joined[target] = true;
}

static void ebpf_jump(struct generator *to, struct bpf_insn insn,
		      uint32_t target)
{
	insn.off = (int16_t)target;
	add(to, insn);
	if (to->err)
		return;
	to->to_op[to->nr - 1] = true;
	come(to, target);
}

static void jump_if(struct generator *to, uint8_t op, uint8_t a, uint8_t b,
		    uint32_t target)
{
	ebpf_jump(to, make(BPF_JMP | BPF_X | op, a, b, 0), target);
}

static void jump_if_number(struct generator *to, uint8_t op, uint8_t a,
			   uint64_t number, uint32_t target)
{
	if (!is_short(number)) {
		ebpf_set(to, BPF_REG_0, number);
		jump_if(to, op, a, BPF_REG_0, target);
		return;
	}
	ebpf_jump(to, make(BPF_JMP | BPF_K | op, a, 0, (int32_t)number),
		  target);
}

static void jump_always(struct generator *to, uint32_t target)
{
	ebpf_jump(to, make(BPF_JMP | BPF_JA, 0, 0, 0), target);
	to->goes_on = false;
}

/* What is known to hold, or not: a jump, or nothing. */
static void jump_known(struct generator *to, const struct sonde_expr_op *op,
		       bool holds)
{
	if (holds == (op->sense != 0))
		jump_always(to, op->target);
}

/* ---- slots ---- */

static int32_t place_of(struct generator *to, uint32_t slot)
{
	uint32_t at = 8 * (slot - REGISTER_SLOTS);

	if (at + 8 > to->room)
		fail(to, -EOPNOTSUPP);
	return to->config->stack + (int32_t)at;
}

/* The register that has the slot's value, which is `scratch` if it is none's
 * place. */
static uint8_t get(struct generator *to, uint32_t slot, uint8_t scratch)
{
	if (slot < REGISTER_SLOTS)
		return (uint8_t)(BPF_REG_1 + slot);
	add_at(to, make(BPF_LDX | BPF_MEM | BPF_DW, scratch, BPF_REG_10, 0),
	       place_of(to, slot));
	return scratch;
}

/* The register to make a slot's value in. */
static uint8_t home(uint32_t slot, uint8_t scratch)
{
	return slot < REGISTER_SLOTS ? (uint8_t)(BPF_REG_1 + slot) : scratch;
}

static void put(struct generator *to, uint32_t slot, uint8_t reg)
{
	if (slot < REGISTER_SLOTS) {
		if (reg != BPF_REG_1 + slot)
			alu(to, BPF_MOV, (uint8_t)(BPF_REG_1 + slot), reg);
		return;
	}
	add_at(to, make(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, reg, 0),
	       place_of(to, slot));
}

/* Slots in use before the operation. */
static uint32_t depth(const struct generator *to)
{
	return to->states[to->at].depth;
}

/* The topmost slot's value. */
static uint8_t top(struct generator *to)
{
	return get(to, depth(to) - 1, SCRATCH_A);
}

/* ---- memory ---- */

static uint8_t size_code(uint32_t bytes)
{
	return bytes == 8 ? BPF_DW :
	       bytes == 4 ? BPF_W :
	       bytes == 2 ? BPF_H :
			    BPF_B;
}

/* How many of `left` bytes can be loaded at once. */
static uint32_t chunk(const struct generator *to, uint8_t base, uint32_t offset,
		      uint32_t left)
{
	int32_t at = to->config->bases[base].offset + (int32_t)offset;
	uint32_t bytes = 8;

	while (bytes > left ||
	       (!to->config->bases[base].unaligned && at % (int32_t)bytes))
		bytes /= 2;
	return bytes;
}

/* Whether `bytes` of the base are there to be loaded; fails if not. */
static bool is_there(struct generator *to, uint8_t base, uint32_t offset,
		     uint32_t bytes)
{
	bool there =
		base < 2 && bytes <= to->config->bases[base].bytes &&
		offset <= to->config->bases[base].bytes - bytes &&
		to->config->bases[base].offset + (int32_t)offset <= INT16_MAX;

	if (!there)
		fail(to, -EOPNOTSUPP);
	return there;
}

static void load_chunk(struct generator *to, uint8_t reg, uint8_t base,
		       uint32_t offset, uint32_t bytes)
{
	int32_t at = to->config->bases[base].offset + (int32_t)offset;

	add_at(to,
	       make(BPF_LDX | BPF_MEM | size_code(bytes), reg,
		    to->config->bases[base].reg, 0),
	       at);
}

/* 1, 2, 4 or 8 bytes in the machine's order, widened by zeros; uses R0 where
 * they don't lie aligned. */
static void ebpf_load(struct generator *to, uint8_t reg, uint8_t base,
		      uint32_t offset, uint32_t bytes)
{
	const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint32_t done = 0;

	if (!is_there(to, base, offset, bytes))
		return;
	while (done < bytes) {
		uint32_t n = chunk(to, base, offset + done, bytes - done);
		uint8_t part = done ? BPF_REG_0 : reg;
		uint32_t shift = 8 * (big ? bytes - done - n : done);

		load_chunk(to, part, base, offset + done, n);
		if (shift)
			alu_number(to, BPF_LSH, part, (int32_t)shift);
		if (done)
			alu(to, BPF_OR, reg, part);
		done += n;
	}
}

struct load {
	uint8_t bytes; /* 0: it is none, or one that needs doubles */
	bool is_signed, swap;
};

static const struct load loads[SONDE_EXPR_OP_CODES] = {
	[SONDE_EXPR_OP_LOAD_Z8] = { 1, false, false },
	[SONDE_EXPR_OP_LOAD_Z16] = { 2, false, false },
	[SONDE_EXPR_OP_LOAD_Z32] = { 4, false, false },
	[SONDE_EXPR_OP_LOAD_64] = { 8, false, false },
	[SONDE_EXPR_OP_LOAD_S8] = { 1, true, false },
	[SONDE_EXPR_OP_LOAD_S16] = { 2, true, false },
	[SONDE_EXPR_OP_LOAD_S32] = { 4, true, false },
	[SONDE_EXPR_OP_LOAD_Z16_SWAP] = { 2, false, true },
	[SONDE_EXPR_OP_LOAD_Z32_SWAP] = { 4, false, true },
	[SONDE_EXPR_OP_LOAD_64_SWAP] = { 8, false, true },
	[SONDE_EXPR_OP_LOAD_S16_SWAP] = { 2, true, true },
	[SONDE_EXPR_OP_LOAD_S32_SWAP] = { 4, true, true },
};

static void add_load(struct generator *to, const struct sonde_expr_op *op)
{
	const struct load *how = &loads[op->code];
	uint8_t reg = home(depth(to), SCRATCH_A);
	int32_t unused = 64 - 8 * how->bytes;

	ebpf_load(to, reg, op->base, op->offset, how->bytes);
	if (how->swap)
		add(to,
		    make(BPF_ALU | BPF_END | BPF_SWAP, reg, 0, 8 * how->bytes));
	if (how->is_signed) {
		alu_number(to, BPF_LSH, reg, unused);
		alu_number(to, BPF_ARSH, reg, unused);
	}
	put(to, depth(to), reg);
}

/* A field's bytes and a constant's. */
static void add_field(struct generator *to, const struct sonde_expr_op *op,
		      uint32_t bytes)
{
	uint64_t number = op->number & UINT64_MAX >> (64 - 8 * bytes);

	ebpf_load(to, SCRATCH_A, op->base, op->offset, bytes);
	jump_if_number(to, op->sense ? BPF_JEQ : BPF_JNE, SCRATCH_A, number,
		       op->target);
}

/* ---- arithmetic ---- */

static const uint8_t simple_ops[SONDE_EXPR_OP_CODES] = {
	[SONDE_EXPR_OP_SUBTRACT] = BPF_SUB,
	[SONDE_EXPR_OP_MULTIPLY] = BPF_MUL,
	[SONDE_EXPR_OP_AND] = BPF_AND,
	[SONDE_EXPR_OP_OR] = BPF_OR,
	[SONDE_EXPR_OP_XOR] = BPF_XOR,
	[SONDE_EXPR_OP_ADD] = BPF_ADD, /* which is 0 */
};

static void add_simple(struct generator *to, const struct sonde_expr_op *op)
{
	uint8_t a = get(to, depth(to) - 2, SCRATCH_A);
	uint8_t b = get(to, depth(to) - 1, SCRATCH_B);

	alu(to, simple_ops[op->code], a, b);
	put(to, depth(to) - 2, a);
}

static void add_unary(struct generator *to, const struct sonde_expr_op *op)
{
	uint8_t a = top(to);

	if (op->code == SONDE_EXPR_OP_NEGATE)
		alu_number(to, BPF_NEG, a, 0);
	else
		alu_number(to, BPF_XOR, a, -1);
	put(to, depth(to) - 1, a);
}

/* The machine shifts by less than 64 only. */
static void add_shift(struct generator *to, const struct sonde_expr_op *op)
{
	uint8_t a = get(to, depth(to) - 2, SCRATCH_A);
	uint8_t b = get(to, depth(to) - 1, SCRATCH_B);

	if (op->code == SONDE_EXPR_OP_SHIFT_RIGHT_S) {
		alu(to, BPF_MOV, SCRATCH_B, b);
		skip_if(to, BPF_JLT, SCRATCH_B, 64, 1);
		alu_number(to, BPF_MOV, SCRATCH_B, 63);
		alu(to, BPF_ARSH, a, SCRATCH_B);
	} else {
		bool left = op->code == SONDE_EXPR_OP_SHIFT_LEFT;

		skip_if(to, BPF_JLT, b, 64, 2);
		alu_number(to, BPF_MOV, a, 0);
		skip_if(to, BPF_JA, 0, 0, 1);
		alu(to, left ? BPF_LSH : BPF_RSH, a, b);
	}
	put(to, depth(to) - 2, a);
}

/* A register's amount, in itself. */
static void make_positive(struct generator *to, uint8_t reg)
{
	skip_if(to, BPF_JSGE, reg, 0, 1);
	alu_number(to, BPF_NEG, reg, 0);
}

/*
 * There is division without sign only: it is done with amounts. Those of
 * numbers of opposite signs have a negative quotient; a remainder has the sign
 * of what was divided. INT64_MIN is its own amount, as without sign it should
 * be.
 */
static void add_division(struct generator *to, const struct sonde_expr_op *op)
{
	uint8_t code = op->code == SONDE_EXPR_OP_DIVIDE_U ||
				       op->code == SONDE_EXPR_OP_DIVIDE_S ?
			       BPF_DIV :
			       BPF_MOD;
	bool is_signed = op->code == SONDE_EXPR_OP_DIVIDE_S ||
			 op->code == SONDE_EXPR_OP_REMAINDER_S;
	uint8_t a = get(to, depth(to) - 2, SCRATCH_A);
	uint8_t b = get(to, depth(to) - 1, SCRATCH_B);

	jump_if_number(to, BPF_JEQ, b, 0, op->target);
	if (is_signed) {
		alu(to, BPF_MOV, BPF_REG_0, a);
		if (code == BPF_DIV)
			alu(to, BPF_XOR, BPF_REG_0, b);
		make_positive(to, a);
		make_positive(to, b);
	}
	alu(to, code, a, b);
	if (is_signed) {
		skip_if(to, BPF_JSGE, BPF_REG_0, 0, 1);
		alu_number(to, BPF_NEG, a, 0);
	}
	put(to, depth(to) - 2, a);
}

/* ---- comparisons of numbers ---- */

/* A jump if it holds, and one if it doesn't; a negative operand may decide. */
struct comparison {
	uint8_t holds, fails;
	enum {
		UNDECIDED,
		A_FAILS, /* if A is negative, it doesn't hold */
		A_HOLDS,
		B_FAILS,
	} negative;
};

static const struct comparison comparisons[SONDE_EXPR_OP_CODES] = {
	[SONDE_EXPR_OP_IF_EQUAL] = { BPF_JEQ, BPF_JNE, UNDECIDED },
	[SONDE_EXPR_OP_IF_EQUAL_SU] = { BPF_JEQ, BPF_JNE, A_FAILS },
	[SONDE_EXPR_OP_IF_LESS_U] = { BPF_JLT, BPF_JGE, UNDECIDED },
	[SONDE_EXPR_OP_IF_LESS_S] = { BPF_JSLT, BPF_JSGE, UNDECIDED },
	[SONDE_EXPR_OP_IF_LESS_SU] = { BPF_JLT, BPF_JGE, A_HOLDS },
	[SONDE_EXPR_OP_IF_LESS_US] = { BPF_JLT, BPF_JGE, B_FAILS },
	[SONDE_EXPR_OP_IF_IS] = { BPF_JEQ, BPF_JNE, UNDECIDED },
	[SONDE_EXPR_OP_IF_BELOW_U] = { BPF_JLT, BPF_JGE, UNDECIDED },
	[SONDE_EXPR_OP_IF_BELOW_S] = { BPF_JSLT, BPF_JSGE, UNDECIDED },
};

static void add_comparison(struct generator *to, const struct sonde_expr_op *op)
{
	const struct comparison *how = &comparisons[op->code];
	uint8_t a = get(to, depth(to) - 2, SCRATCH_A);
	uint8_t b = get(to, depth(to) - 1, SCRATCH_B);
	uint8_t decisive = how->negative == B_FAILS ? b : a;
	bool decided = how->negative == A_HOLDS;

	if (how->negative != UNDECIDED && decided == (op->sense != 0))
		jump_if_number(to, BPF_JSLT, decisive, 0, op->target);
	else if (how->negative != UNDECIDED)
		skip_if(to, BPF_JSLT, decisive, 0, 1);
	jump_if(to, op->sense ? how->holds : how->fails, a, b, op->target);
}

static void add_constant_comparison(struct generator *to,
				    const struct sonde_expr_op *op)
{
	const struct comparison *how = &comparisons[op->code];

	jump_if_number(to, op->sense ? how->holds : how->fails, top(to),
		       op->number, op->target);
}

/* ---- agent expressions ---- */

/* 1 if it is so, else 0, on top of what is there but `taken` slots. */
static void add_truth(struct generator *to, struct bpf_insn jump,
		      uint32_t taken)
{
	alu_number(to, BPF_MOV, BPF_REG_0, 1);
	add_at(to, jump, 1);
	alu_number(to, BPF_MOV, BPF_REG_0, 0);
	put(to, depth(to) - taken, BPF_REG_0);
}

static void add_predicate(struct generator *to, uint8_t op)
{
	uint8_t a = get(to, depth(to) - 2, SCRATCH_A);
	uint8_t b = get(to, depth(to) - 1, SCRATCH_B);

	add_truth(to, make(BPF_JMP | BPF_X | op, a, b, 0), 2);
}

static void add_not(struct generator *to)
{
	add_truth(to, make(BPF_JMP | BPF_K | BPF_JEQ, top(to), 0, 0), 1);
}

static void add_extension(struct generator *to, const struct sonde_expr_op *op)
{
	int32_t unused = 64 - (int32_t)op->number;
	uint8_t a = top(to);

	if (unused == 0)
		return;
	alu_number(to, BPF_LSH, a, unused);
	alu_number(to, op->code == SONDE_EXPR_OP_EXTEND_S ? BPF_ARSH : BPF_RSH,
		   a, unused);
	put(to, depth(to) - 1, a);
}

/* The slots on top take other places: what is topmost comes below the nr - 1
 * others. */
static void add_rotation(struct generator *to, uint32_t nr)
{
	uint32_t last = depth(to) - 1;

	alu(to, BPF_MOV, BPF_REG_0, get(to, last, SCRATCH_A));
	for (uint32_t i = 1; i < nr; i++)
		put(to, last - i + 1, get(to, last - i, SCRATCH_B));
	put(to, last - nr + 1, BPF_REG_0);
}

static void add_register(struct generator *to, const struct sonde_expr_op *op)
{
	const struct sonde_ebpf_config *config = to->config;
	uint8_t reg = home(depth(to), SCRATCH_A);
	int16_t offset = 0;
	uint8_t base = 0;

	if (!config->registers ||
	    !config->registers(config->ctx, (uint32_t)op->number, &base,
			       &offset)) {
		fail(to, -EOPNOTSUPP);
		return;
	}
	add_at(to, make(BPF_LDX | BPF_MEM | BPF_DW, reg, base, 0), offset);
	put(to, depth(to), reg);
}

/* Where what is read comes to, and behind it the slots that are registers:
 * above those of the other slots. */
static int32_t read_place(const struct generator *to)
{
	return to->config->stack + (int32_t)to->room;
}

static void keep_register(struct generator *to, uint32_t slot, bool back)
{
	uint8_t reg = (uint8_t)(BPF_REG_1 + slot);
	int32_t at = read_place(to) + 8 * (1 + (int32_t)slot);

	if (back)
		add_at(to, make(BPF_LDX | BPF_MEM | BPF_DW, reg, BPF_REG_10, 0),
		       at);
	else
		add_at(to, make(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, reg, 0),
		       at);
}

/* The call leaves R6 to R9 only. Where it jumps to, no slot is kept. */
static void add_read(struct generator *to, const struct sonde_expr_op *op)
{
	uint32_t below = depth(to) - 1;
	uint32_t kept = below < REGISTER_SLOTS ? below : REGISTER_SLOTS;
	uint32_t bytes = 1u << (op->code - SONDE_EXPR_OP_READ_8);
	uint8_t reg = home(below, SCRATCH_A);

	if (!to->config->read_helper || op->keep ||
	    to->room + SONDE_EBPF_READ_ROOM > to->config->room)
		fail(to, -EOPNOTSUPP);
	for (uint32_t i = 0; i < kept; i++)
		keep_register(to, i, false);
	alu(to, BPF_MOV, BPF_REG_3, get(to, below, SCRATCH_A));
	alu_number(to, BPF_MOV, BPF_REG_2, (int32_t)bytes);
	alu(to, BPF_MOV, BPF_REG_1, BPF_REG_10);
	alu_number(to, BPF_ADD, BPF_REG_1, read_place(to));
	add(to, make(BPF_JMP | BPF_CALL, 0, 0, to->config->read_helper));
	jump_if_number(to, BPF_JNE, BPF_REG_0, 0, op->target);
	for (uint32_t i = 0; i < kept; i++)
		keep_register(to, i, true);
	add_at(to,
	       make(BPF_LDX | BPF_MEM | size_code(bytes), reg, BPF_REG_10, 0),
	       read_place(to));
	put(to, below, reg);
}

/* Those of ops.def that come last. */
static void add_agent(struct generator *to, const struct sonde_expr_op *op)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_REGISTER:
		add_register(to, op);
		break;
	case SONDE_EXPR_OP_EXTEND_S:
	case SONDE_EXPR_OP_EXTEND_Z:
		add_extension(to, op);
		break;
	case SONDE_EXPR_OP_NOT:
		add_not(to);
		break;
	case SONDE_EXPR_OP_IS_EQUAL:
		add_predicate(to, BPF_JEQ);
		break;
	case SONDE_EXPR_OP_IS_LESS_S:
		add_predicate(to, BPF_JSLT);
		break;
	case SONDE_EXPR_OP_IS_LESS_U:
		add_predicate(to, BPF_JLT);
		break;
	case SONDE_EXPR_OP_READ_8:
	case SONDE_EXPR_OP_READ_16:
	case SONDE_EXPR_OP_READ_32:
	case SONDE_EXPR_OP_READ_64:
		add_read(to, op);
		break;
	case SONDE_EXPR_OP_DUPLICATE:
		put(to, depth(to), top(to));
		break;
	case SONDE_EXPR_OP_POP:
		break;
	case SONDE_EXPR_OP_SWAP:
		add_rotation(to, 2);
		break;
	case SONDE_EXPR_OP_ROTATE:
		add_rotation(to, 3);
		break;
	case SONDE_EXPR_OP_PICK:
		put(to, depth(to),
		    get(to, depth(to) - 1 - (uint32_t)op->number, SCRATCH_A));
		break;
	default: /* variables, and what records */
		fail(to, -EOPNOTSUPP);
		break;
	}
}

/* ---- texts ---- */

static void call_text(struct generator *to, const struct sonde_expr_op *op)
{
	const struct sonde_ebpf_config *config = to->config;

	if (!config->text || !config->text(config->ctx, op->ref,
					   &to->text_offset, &to->text_size))
		fail(to, -EOPNOTSUPP);
}

/* The text that is on top, which the operation before has called for, however
 * control came here. */
static bool has_text(struct generator *to)
{
	bool has = to->has_text && !to->joined[to->at];

	if (!has)
		fail(to, -EOPNOTSUPP);
	return has;
}

/* What a text is compared with: bytes, of which some may be any but NUL. */
struct pattern {
	uint32_t length;
	bool is_prefix; /* anything may follow */
	bool never;     /* no text is so */
	bool any[256];
	char bytes[256 + 8];
};

static void take_literal(struct generator *to, const struct sonde_expr_op *op,
			 struct pattern *ret_pattern)
{
	const char *text = sonde_program_texts(to->program) + op->offset;

	ret_pattern->never = memchr(text, 0, op->length) != NULL;
	if (op->length > 256) {
		fail(to, -EOPNOTSUPP);
		return;
	}
	ret_pattern->length = op->length;
	memcpy(ret_pattern->bytes, text, op->length);
}

/* As sonde_glob_match_text() takes it. */
static void take_glob(struct generator *to, const struct sonde_expr_op *op,
		      struct pattern *ret_pattern)
{
	const char *at = sonde_program_texts(to->program) + op->offset;

	for (; *at && *at != '*'; at++) {
		if (*at == '[' || ret_pattern->length == 256) {
			fail(to, -EOPNOTSUPP);
			return;
		}
		ret_pattern->any[ret_pattern->length] = *at == '?';
		if (*at == '\\' && at[1])
			at++;
		ret_pattern->bytes[ret_pattern->length++] = *at;
	}
	ret_pattern->is_prefix = *at == '*';
	while (*at == '*')
		at++;
	if (*at)
		fail(to, -EOPNOTSUPP);
}

/* Bytes from the i-th on that can be compared at once. */
static uint32_t pattern_chunk(const struct generator *to,
			      const struct pattern *pattern, uint32_t i,
			      uint32_t bytes)
{
	uint32_t left = 1;

	while (left < 8 && i + left < bytes && !pattern->any[i + left])
		left++;
	return pattern->any[i] ? 1 : chunk(to, 0, to->text_offset + i, left);
}

/* Jumps if the pattern's bytes don't match; `bytes` of them, the NUL included
 * if it counts. */
static void compare_bytes(struct generator *to, const struct pattern *pattern,
			  uint32_t bytes, uint32_t mismatch)
{
	uint32_t n;

	for (uint32_t i = 0; i < bytes; i += n) {
		uint64_t number = 0;

		n = pattern_chunk(to, pattern, i, bytes);
		load_chunk(to, SCRATCH_A, 0, to->text_offset + i, n);
		if (pattern->any[i]) {
			jump_if_number(to, BPF_JEQ, SCRATCH_A, 0, mismatch);
			continue;
		}
		memcpy(&number, pattern->bytes + i, n);
		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			number >>= 8 * (8 - n);
		jump_if_number(to, BPF_JNE, SCRATCH_A, number, mismatch);
	}
}

/* A text is at most so long; one that ends with NUL leaves room for that. */
static uint32_t longest_text(struct generator *to)
{
	uint32_t bytes = to->config->bases[0].bytes;

	if (!is_there(to, 0, to->text_offset,
		      to->text_size ? to->text_size : 1))
		return 0;
	return to->text_size ? to->text_size : bytes - to->text_offset - 1;
}

static void ebpf_add_pattern(struct generator *to,
			     const struct sonde_expr_op *op,
			     const struct pattern *pattern)
{
	uint32_t next = to->at + 1;
	uint32_t size = to->text_size;
	uint32_t bytes = pattern->length;
	uint32_t longest = longest_text(to);

	if (to->err)
		return;
	if (pattern->never || bytes > longest) {
		jump_known(to, op, false);
		return;
	}
	if (!pattern->is_prefix && (!size || bytes < size))
		bytes++; /* and a NUL */
	if (bytes == 0) {
		jump_known(to, op, true);
		return;
	}
	if (op->sense) {
		compare_bytes(to, pattern, bytes, next);
		jump_always(to, op->target);
	} else {
		compare_bytes(to, pattern, bytes, op->target);
	}
}

static void add_text_comparison(struct generator *to,
				const struct sonde_expr_op *op)
{
	struct pattern pattern = { .length = 0 };

	if (!has_text(to))
		return;
	if (op->code == SONDE_EXPR_OP_IF_GLOB)
		take_glob(to, op, &pattern);
	else
		take_literal(to, op, &pattern);
	ebpf_add_pattern(to, op, &pattern);
}

/* The first byte of a text, which tells whether it is empty. */
static void load_first(struct generator *to)
{
	if (has_text(to) && is_there(to, 0, to->text_offset, 1))
		load_chunk(to, SCRATCH_A, 0, to->text_offset, 1);
}

/* ---- the ends ---- */

static void ebpf_leave(struct generator *to)
{
	/* the end of all is behind the last operation */
	if (to->at + 1 < to->program->nr_ops)
		jump_always(to, to->program->nr_ops);
	to->goes_on = false;
}

static void end_known(struct generator *to, bool truth)
{
	alu_number(to, BPF_MOV, BPF_REG_0, truth);
	ebpf_leave(to);
}

static void end_value(struct generator *to, uint8_t reg)
{
	alu_number(to, BPF_MOV, BPF_REG_0, 1);
	skip_if(to, BPF_JNE, reg, 0, 1);
	alu_number(to, BPF_MOV, BPF_REG_0, 0);
	ebpf_leave(to);
}

static void end_number(struct generator *to)
{
	if (to->program->type == SONDE_EXPR_DOUBLE)
		fail(to, -EOPNOTSUPP);
	end_value(to, top(to));
}

/* ---- all operations ---- */

static void add_number(struct generator *to, const struct sonde_expr_op *op)
{
	uint8_t reg = home(depth(to), SCRATCH_A);

	ebpf_set(to, reg, op->number);
	put(to, depth(to), reg);
}

static void ebpf_add_jump(struct generator *to, const struct sonde_expr_op *op)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_GO:
		jump_always(to, op->target);
		break;
	case SONDE_EXPR_OP_IF_DEFINED:
		if (op->number != SONDE_EXPR_STRING)
			fail(to, -EOPNOTSUPP);
		call_text(to, op); /* one that can be had is always there */
		jump_known(to, op, true);
		break;
	case SONDE_EXPR_OP_IF:
		jump_if_number(to, op->sense ? BPF_JNE : BPF_JEQ, top(to), 0,
			       op->target);
		break;
	case SONDE_EXPR_OP_IF_TEXT:
		load_first(to);
		jump_if_number(to, op->sense ? BPF_JNE : BPF_JEQ, SCRATCH_A, 0,
			       op->target);
		break;
	case SONDE_EXPR_OP_IF_TEXT_IS:
	case SONDE_EXPR_OP_IF_GLOB:
		add_text_comparison(to, op);
		break;
	case SONDE_EXPR_OP_IF_IS:
	case SONDE_EXPR_OP_IF_BELOW_U:
	case SONDE_EXPR_OP_IF_BELOW_S:
		add_constant_comparison(to, op);
		break;
	case SONDE_EXPR_OP_IF_MEM8_IS:
	case SONDE_EXPR_OP_IF_MEM16_IS:
	case SONDE_EXPR_OP_IF_MEM32_IS:
	case SONDE_EXPR_OP_IF_MEM64_IS:
		add_field(to, op, 1u << (op->code - SONDE_EXPR_OP_IF_MEM8_IS));
		break;
	default:
		if (comparisons[op->code].holds)
			add_comparison(to, op);
		else /* doubles, or two texts */
			fail(to, -EOPNOTSUPP);
		break;
	}
}

static void add_end(struct generator *to, const struct sonde_expr_op *op)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_END_NUMBER:
		end_number(to);
		break;
	case SONDE_EXPR_OP_END_TEXT:
		load_first(to);
		end_value(to, SCRATCH_A);
		break;
	default:
		end_known(to, op->code == SONDE_EXPR_OP_END_TRUE);
		break;
	}
}

static void add_arithmetic(struct generator *to, const struct sonde_expr_op *op)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_NUMBER:
		add_number(to, op);
		break;
	case SONDE_EXPR_OP_NEGATE:
	case SONDE_EXPR_OP_COMPLEMENT:
		add_unary(to, op);
		break;
	case SONDE_EXPR_OP_SHIFT_LEFT:
	case SONDE_EXPR_OP_SHIFT_RIGHT_U:
	case SONDE_EXPR_OP_SHIFT_RIGHT_S:
		add_shift(to, op);
		break;
	case SONDE_EXPR_OP_DIVIDE_U:
	case SONDE_EXPR_OP_DIVIDE_S:
	case SONDE_EXPR_OP_REMAINDER_U:
	case SONDE_EXPR_OP_REMAINDER_S:
		add_division(to, op);
		break;
	default:
		if (loads[op->code].bytes)
			add_load(to, op);
		else if (op->code == SONDE_EXPR_OP_ADD || simple_ops[op->code])
			add_simple(to, op);
		else /* doubles, constant texts, numbers that are called for */
			fail(to, -EOPNOTSUPP);
		break;
	}
}

static void add_op(struct generator *to, const struct sonde_expr_op *op)
{
	uint8_t operands = sonde_expr_op_infos[op->code].operands;
	bool calls = op->code == SONDE_EXPR_OP_CALL_TEXT;

	to->goes_on = true;
	if (calls)
		call_text(to, op);
	else if (operands & SONDE_EXPR_OPERAND_END)
		add_end(to, op);
	else if (op->code > SONDE_EXPR_OP_END_TEXT)
		add_agent(to, op);
	else if (op->code >= SONDE_EXPR_OP_GO)
		ebpf_add_jump(to, op);
	else
		add_arithmetic(to, op);
	to->has_text = calls;
	if (to->goes_on && to->at + 1 < to->program->nr_ops)
		to->reached[to->at + 1] = true;
}
_Static_assert(SONDE_EXPR_OP_GO > SONDE_EXPR_OP_DIVIDE_D,
	       "jumps are behind arithmetic");

/* Operations become instructions, where jumps still name operations. */
static int make_code(struct generator *to)
{
	to->reached[0] = true;
	for (to->at = 0; to->at < to->program->nr_ops && !to->err; to->at++) {
		to->starts[to->at] = (uint32_t)to->nr;
		if (to->reached[to->at])
			add_op(to, &to->program->ops[to->at]);
	}
	to->starts[to->program->nr_ops] = (uint32_t)to->nr;
	return to->err;
}

static int resolve_jumps(struct generator *to)
{
	for (size_t i = 0; i < to->nr; i++) {
		size_t offset;

		if (!to->to_op[i])
			continue;
		offset = to->starts[to->to[i].off] - i - 1;
		if (offset > INT16_MAX)
			return -E2BIG;
		to->to[i].off = (int16_t)offset;
	}
	return 0;
}

/* How much of the room is for slots. */
static uint32_t slots_room(const struct sonde_program *program, uint32_t room)
{
	for (uint32_t i = 0; i < program->nr_ops; i++) {
		uint8_t code = program->ops[i].code;

		if (code >= SONDE_EXPR_OP_READ_8 &&
		    code <= SONDE_EXPR_OP_READ_64)
			return room > SONDE_EBPF_READ_ROOM ?
				       room - SONDE_EBPF_READ_ROOM :
				       0;
	}
	return room;
}

static int ebpf_generate(struct generator *to)
{
	uint32_t nr = to->program->nr_ops;
	int err = -ENOMEM;

	to->to_op = calloc(to->max + 1, sizeof(*to->to_op));
	to->starts = calloc(nr + 1, sizeof(*to->starts));
	to->reached = calloc(nr + 1, sizeof(*to->reached));
	to->joined = calloc(nr + 1, sizeof(*to->joined));
	to->states = calloc(nr + 1, sizeof(*to->states));
	if (to->to_op && to->starts && to->reached && to->joined && to->states)
		err = sonde_program_verify(to->program, to->states) ?
			      make_code(to) :
			      -EOPNOTSUPP;
	if (!err)
		err = resolve_jumps(to);
	free(to->to_op);
	free(to->starts);
	free(to->reached);
	free(to->joined);
	free(to->states);
	return err;
}

int sonde_ebpf_generate(const struct sonde_program *program,
			const struct sonde_ebpf_config *config,
			struct bpf_insn *to, size_t max, size_t *ret_nr)
{
	struct generator generator = {
		.program = program,
		.config = config,
		.to = to,
		.max = max,
		.room = slots_room(program, config->room),
	};
	int err = ebpf_generate(&generator);

	if (!err)
		*ret_nr = generator.nr;
	return err;
}
