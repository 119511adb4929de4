/* SPDX-License-Identifier: MIT */
/*
 * eval.c - runs verified programs; what each operation does is in ops.def.
 * Freestanding. Nothing is checked here that the verifier has checked.
 *
 * The kernel has no doubles, nor has code in another program's functions
 * (SONDE_NO_DOUBLES): there, what computes with them gives 0 or false,
 * and who loads a program refuses one that does (kmod/filter.c).
 *
 * Cost: some nanoseconds for an operation. `field == constant` is one
 * operation and the end.
 */
#include "expr/program.h"

#include <string.h>

#include "types/select.h"

enum result {
	RESULT_FALSE,
	RESULT_TRUE,
	RESULT_MISSING,
	RESULT_NUMBER, /* stack[0] */
	RESULT_TEXT,   /* address stack[0], length stack[1] */
	RESULT_FAULT,
	RESULT_DIVIDED,
};

static inline uint8_t load8(const uint8_t *at)
{
	return *at;
}

static inline uint16_t load16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint32_t load32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

#if defined(__KERNEL__) || defined(SONDE_NO_DOUBLES)
#define from_double(value) ((uint64_t)0)
#define from_float(bits)   ((void)(bits), (uint64_t)0)
#define doubles(condition) false
#else
static inline double to_double(uint64_t slot)
{
	double value;

	memcpy(&value, &slot, sizeof(value));
	return value;
}

static inline uint64_t from_double(double value)
{
	uint64_t slot;

	memcpy(&slot, &value, sizeof(slot));
	return slot;
}

static inline uint64_t from_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return from_double(value);
}

#define doubles(condition) (condition)
#endif

static inline const uint8_t *field(const struct sonde_expr_env *env,
				   const struct sonde_expr_op *op)
{
	return env->bases[op->base] + op->offset;
}

static const char *text_in(const uint64_t *slot)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	return (const char *)(uintptr_t)*slot;
}

/* The texts below `slot`, A and B, in the order of their bytes. */
static int compare_texts(const uint64_t *slot)
{
	uint64_t a = slot[-3];
	uint64_t b = slot[-1];
	uint64_t both = a < b ? a : b;
	int order =
		both ? memcmp(text_in(slot - 4), text_in(slot - 2), both) : 0;

	return order ? order : (a > b) - (a < b);
}

static bool text_is(const uint64_t *slot, const char *text, uint32_t length)
{
	return slot[-1] == length &&
	       (length == 0 || memcmp(text_in(slot - 2), text, length) == 0);
}

static bool text_matches(const uint64_t *slot, const char *glob)
{
	uint64_t length = slot[-1];

	return sonde_glob_match_text(glob, length ? text_in(slot - 2) : "",
				     length);
}

/* Whether env->call has a value of the type that the program expects. */
static bool call(const struct sonde_expr_env *env,
		 const struct sonde_expr_op *op,
		 struct sonde_expr_value *ret_value)
{
	return env->call(env->ctx, op->ref, ret_value) == 0 &&
	       ret_value->type == op->number;
}

/* ---- the traced program, and what is done with its values ---- */

static uint64_t extend_signed(uint64_t value, unsigned int unused)
{
	return (uint64_t)((int64_t)(value << unused) >> unused);
}

static void exchange(uint64_t *slot)
{
	uint64_t b = slot[-1];

	slot[-1] = slot[-2];
	slot[-2] = b;
}

static void rotate(uint64_t *slot)
{
	uint64_t c = slot[-1];

	slot[-1] = slot[-2];
	slot[-2] = slot[-3];
	slot[-3] = c;
}

/* The address's place takes what is there. */
static bool machine_read(const struct sonde_expr_env *env, uint64_t *slot,
			 uint32_t bytes)
{
	uint64_t value = 0;

	if (!env->machine->read(env->machine_ctx, slot[-1], &value, bytes))
		return false;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value >>= 64 - 8 * bytes;
#endif
	slot[-1] = value;
	return true;
}

static uint64_t machine_get(const struct sonde_expr_env *env,
			    const struct sonde_expr_op *op)
{
	return env->machine->get(env->machine_ctx, (uint32_t)op->number);
}

static void machine_set(const struct sonde_expr_env *env,
			const struct sonde_expr_op *op, uint64_t value)
{
	env->machine->set(env->machine_ctx, (uint32_t)op->number, value);
}

static void machine_trace(const struct sonde_expr_env *env, uint64_t address,
			  uint64_t bytes)
{
	env->machine->trace(env->machine_ctx, address, bytes);
}

static void machine_trace_string(const struct sonde_expr_env *env,
				 uint64_t address, uint64_t bytes_max)
{
	env->machine->trace_string(env->machine_ctx, address, bytes_max);
}

static void machine_trace_variable(const struct sonde_expr_env *env,
				   const struct sonde_expr_op *op)
{
	env->machine->trace_variable(env->machine_ctx, (uint32_t)op->number);
}

#define SLOTS_0            0
#define SLOTS_N            1
#define SLOTS_NN           2
#define SLOTS_T            2
#define SLOTS_TT           4

#define A                  (slot[-2])
#define B                  (slot[-1])
#define AS                 ((int64_t)A)
#define BS                 ((int64_t)B)
#define AD                 (to_double(A))
#define BD                 (to_double(B))

#define push_number(value) (*slot++ = (value))
#define push_text(text, length) \
	(slot[0] = (uint64_t)(uintptr_t)(text), slot[1] = (length), slot += 2)
#define push_called_N push_number(called.u)
#define push_called_T push_text(called.text, called.length)

#define GO_ON_OR_JUMP(jumps, width)             \
	if (jumps) {                            \
		slot = stack + op->keep;        \
		op = program->ops + op->target; \
		continue;                       \
	}                                       \
	slot -= (width);                        \
	break

#define SONDE_EXPR_OP_PUSH(name, gives, operands, push) \
	case SONDE_EXPR_OP_##name:                      \
		(void)(push);                           \
		break;
#define SONDE_EXPR_OP_LOAD(name, bytes, how, load)  \
	case SONDE_EXPR_OP_##name: {                \
		const uint8_t *at = field(env, op); \
		push_number(load);                  \
		break;                              \
	}
#define SONDE_EXPR_OP_CALL(name, gives)       \
	case SONDE_EXPR_OP_##name:            \
		if (call(env, op, &called)) { \
			push_called_##gives;  \
			break;                \
		}                             \
		GO_ON_OR_JUMP(true, 0);
#define SONDE_EXPR_OP_UNARY(name, operands, value) \
	case SONDE_EXPR_OP_##name:                 \
		slot[-1] = (value);                \
		break;
#define SONDE_EXPR_OP_BINARY(name, operands, value) \
	case SONDE_EXPR_OP_##name:                  \
		slot[-2] = (value);                 \
		slot--;                             \
		break;
#define SONDE_EXPR_OP_DIVIDE(name, operands, divisor, value) \
	case SONDE_EXPR_OP_##name:                           \
		if (divisor) {                               \
			slot[-2] = (value);                  \
			slot--;                              \
			break;                               \
		}                                            \
		GO_ON_OR_JUMP(true, 0);
#define SONDE_EXPR_OP_JUMP(name, takes, operands, condition) \
	case SONDE_EXPR_OP_##name:                           \
		GO_ON_OR_JUMP(condition, SLOTS_##takes);
#define SONDE_EXPR_OP_FIELD(name, bytes, condition) \
	SONDE_EXPR_OP_JUMP(name, 0, 0, condition)
#define SONDE_EXPR_OP_STACK(name, takes, gives, operands, change) \
	case SONDE_EXPR_OP_##name:                                \
		(void)(change);                                   \
		break;
#define SONDE_EXPR_OP_READ(name, bytes)               \
	case SONDE_EXPR_OP_##name:                    \
		if (machine_read(env, slot, (bytes))) \
			break;                        \
		GO_ON_OR_JUMP(true, 0);
#define SONDE_EXPR_OP_END(name, takes, result) \
	case SONDE_EXPR_OP_##name:             \
		return result;

/* From `op`, where the stack is empty. `stack` has SONDE_PROGRAM_STACK slots;
 * the value is at its bottom. */
static inline __attribute__((always_inline)) enum result
/* NOLINTNEXTLINE(readability-function-size): a dispatch loop over a table */
run(const struct sonde_program *program, const struct sonde_expr_env *env,
    const struct sonde_expr_op *op, uint64_t *stack)
{
	const char *texts = sonde_program_texts(program);
	struct sonde_expr_value called;
	uint64_t *slot = stack; /* above the topmost */

	for (;;) {
		switch ((enum sonde_expr_op_code)op->code) {
#include "expr/ops.def"
		case SONDE_EXPR_OP_CODES:
		default:
			__builtin_unreachable();
		}
		op++;
	}
}

void sonde_program_eval(const struct sonde_program *program,
			const struct sonde_expr_env *env,
			struct sonde_expr_value *ret_value)
{
	uint64_t stack[SONDE_PROGRAM_STACK];
	enum result result = run(program, env, program->ops, stack);
	struct sonde_expr_value value = { .type = program->type };

	switch (result) {
	case RESULT_FALSE:
	case RESULT_TRUE:
		value.i = result == RESULT_TRUE;
		break;
	case RESULT_NUMBER:
		value.u = stack[0];
		break;
	case RESULT_TEXT:
		value.text = text_in(stack);
		value.length = (uint32_t)stack[1];
		break;
	case RESULT_MISSING:
	case RESULT_FAULT:
	case RESULT_DIVIDED:
		value.type = SONDE_EXPR_MISSING;
		value.u = result == RESULT_FAULT   ? SONDE_EXPR_FAULT :
			  result == RESULT_DIVIDED ? SONDE_EXPR_DIVIDED :
						     SONDE_EXPR_NO_VALUE;
		break;
	}
	*ret_value = value;
}

/* Passes over comparisons of fields with constants. */
static inline const struct sonde_expr_op *
run_fields(const struct sonde_program *program,
	   const struct sonde_expr_env *env)
{
	const struct sonde_expr_op *op = program->ops;

	for (;;) {
		switch (op->code) {
#define SONDE_EXPR_OP(name, takes, gives, operands)
#define SONDE_EXPR_OP_FIELD(name, bytes, condition)                    \
	case SONDE_EXPR_OP_##name:                                     \
		op = (condition) ? program->ops + op->target : op + 1; \
		break;
#include "expr/ops.def"
		default:
			return op;
		}
	}
}

/* From `op`, where the stack is empty. */
static __attribute__((__noinline__)) bool
test(const struct sonde_program *program, const struct sonde_expr_env *env,
     const struct sonde_expr_op *op)
{
	uint64_t stack[SONDE_PROGRAM_STACK];

	switch (run(program, env, op, stack)) {
	case RESULT_TRUE:
		return true;
	case RESULT_NUMBER:
		return program->type == SONDE_EXPR_DOUBLE ?
			       doubles(to_double(stack[0]) != 0) :
			       stack[0] != 0;
	case RESULT_TEXT:
		return stack[1] != 0;
	case RESULT_FALSE:
	case RESULT_MISSING:
	case RESULT_FAULT:
	case RESULT_DIVIDED:
		break;
	}
	return false;
}

/* Most filters are such comparisons and nothing more: for them, no registers
 * are saved and no stack is set up. */
bool sonde_program_test(const struct sonde_program *program,
			const struct sonde_expr_env *env)
{
	const struct sonde_expr_op *op = run_fields(program, env);

	if (op->code == SONDE_EXPR_OP_END_FALSE)
		return false;
	return op->code == SONDE_EXPR_OP_END_TRUE || test(program, env, op);
}

bool sonde_expr_true(const struct sonde_expr_value *value)
{
	switch (value->type) {
	case SONDE_EXPR_UINT:
	case SONDE_EXPR_INT:
		return value->u != 0;
	case SONDE_EXPR_DOUBLE:
		return doubles(value->d != 0);
	case SONDE_EXPR_STRING:
		return value->length != 0;
	case SONDE_EXPR_MISSING:
		break;
	}
	return false;
}

bool sonde_program_constant(const struct sonde_program *program,
			    struct sonde_expr_value *ret_value)
{
	static const struct sonde_expr_env nothing;

	if (program->constant)
		sonde_program_eval(program, &nothing, ret_value);
	return program->constant != 0;
}

bool sonde_program_uses_base(const struct sonde_program *program,
			     unsigned int base)
{
	return base < SONDE_EXPR_BASES && program->bases >> base & 1;
}
