/* SPDX-License-Identifier: MIT */
/* agent_model.c - see agent_model.h. */
#include "agent_model.h"

#include <string.h>

#include "base/port.h"

/* ---- the bytes ---- */

/* By code, as the manual's list has them. */
struct shape {
	bool known;
	uint8_t operand, taken, given; /* bytes; values */
	bool records;
};

/* clang-format off */
static const struct shape shapes[] = {
	[0x02] = { true, 0, 2, 1, false }, /* add */
	[0x03] = { true, 0, 2, 1, false }, /* sub */
	[0x04] = { true, 0, 2, 1, false }, /* mul */
	[0x05] = { true, 0, 2, 1, false }, /* div_signed */
	[0x06] = { true, 0, 2, 1, false }, /* div_unsigned */
	[0x07] = { true, 0, 2, 1, false }, /* rem_signed */
	[0x08] = { true, 0, 2, 1, false }, /* rem_unsigned */
	[0x09] = { true, 0, 2, 1, false }, /* lsh */
	[0x0a] = { true, 0, 2, 1, false }, /* rsh_signed */
	[0x0b] = { true, 0, 2, 1, false }, /* rsh_unsigned */
	[0x0c] = { true, 0, 2, 0, true }, /* trace */
	[0x0d] = { true, 1, 1, 1, true }, /* trace_quick */
	[0x0e] = { true, 0, 1, 1, false }, /* log_not */
	[0x0f] = { true, 0, 2, 1, false }, /* bit_and */
	[0x10] = { true, 0, 2, 1, false }, /* bit_or */
	[0x11] = { true, 0, 2, 1, false }, /* bit_xor */
	[0x12] = { true, 0, 1, 1, false }, /* bit_not */
	[0x13] = { true, 0, 2, 1, false }, /* equal */
	[0x14] = { true, 0, 2, 1, false }, /* less_signed */
	[0x15] = { true, 0, 2, 1, false }, /* less_unsigned */
	[0x16] = { true, 1, 1, 1, false }, /* ext */
	[0x17] = { true, 0, 1, 1, false }, /* ref8 */
	[0x18] = { true, 0, 1, 1, false }, /* ref16 */
	[0x19] = { true, 0, 1, 1, false }, /* ref32 */
	[0x1a] = { true, 0, 1, 1, false }, /* ref64 */
	[0x20] = { true, 2, 1, 0, false }, /* if_goto */
	[0x21] = { true, 2, 0, 0, false }, /* goto */
	[0x22] = { true, 1, 0, 1, false }, /* const8 */
	[0x23] = { true, 2, 0, 1, false }, /* const16 */
	[0x24] = { true, 4, 0, 1, false }, /* const32 */
	[0x25] = { true, 8, 0, 1, false }, /* const64 */
	[0x26] = { true, 2, 0, 1, false }, /* reg */
	[0x27] = { true, 0, 0, 0, false }, /* end */
	[0x28] = { true, 0, 1, 2, false }, /* dup */
	[0x29] = { true, 0, 1, 0, false }, /* pop */
	[0x2a] = { true, 1, 1, 1, false }, /* zero_ext */
	[0x2b] = { true, 0, 2, 2, false }, /* swap */
	[0x2c] = { true, 2, 0, 1, false }, /* getv */
	[0x2d] = { true, 2, 1, 1, false }, /* setv */
	[0x2e] = { true, 2, 0, 0, true }, /* tracev */
	[0x2f] = { true, 0, 2, 0, true }, /* tracenz */
	[0x30] = { true, 2, 1, 1, true }, /* trace16 */
	[0x32] = { true, 1, 0, 1, false }, /* pick */
	[0x33] = { true, 0, 3, 3, false }, /* rot */
};
/* clang-format on */

static struct shape shape_of(uint8_t code)
{
	static const struct shape none;

	return code < SONDE_ARRAY_SIZE(shapes) ? shapes[code] : none;
}

static uint64_t operand_at(const uint8_t *bytes, size_t nr)
{
	uint64_t value = 0;

	while (nr--)
		value = value * 256 + *bytes++;
	return value;
}

/* ---- soundness: all ways, each byte once ---- */

#define BYTES_MAX 65536

struct walk {
	const uint8_t *bytes;
	size_t nr;
	bool collects;
	int16_t depths[BYTES_MAX + 1];  /* -1: not yet come to */
	uint8_t covered[BYTES_MAX + 1]; /* by operations that were */
	size_t pending[BYTES_MAX + 1];
	size_t nr_pending;
};

static bool come(struct walk *walk, size_t to, size_t from, int depth)
{
	if (to >= walk->nr || to <= from)
		return false;
	if (walk->depths[to] >= 0)
		return walk->depths[to] == depth;
	walk->depths[to] = (int16_t)depth;
	walk->pending[walk->nr_pending++] = to;
	return true;
}

static bool is_good(const struct walk *walk, size_t at,
		    const struct shape *shape)
{
	uint8_t code = walk->bytes[at];
	int depth = walk->depths[at];
	uint64_t operand;

	if (!shape->known || (shape->records && !walk->collects) ||
	    shape->operand >= walk->nr - at || depth < shape->taken ||
	    depth - shape->taken + shape->given > AGENT_STACK)
		return false;
	operand = operand_at(walk->bytes + at + 1, shape->operand);
	if ((code == 0x16 || code == 0x2a) && operand == 0)
		return false;
	if (code == 0x26 && operand >= AGENT_REGS)
		return false;
	if (code == 0x32 && operand >= (uint64_t)depth)
		return false;
	return true;
}

static bool walk_op(struct walk *walk, size_t at)
{
	uint8_t code = walk->bytes[at];
	struct shape shape = shape_of(code);
	size_t next = at + 1 + shape.operand;
	int depth = walk->depths[at];

	if (!is_good(walk, at, &shape))
		return false;
	for (size_t i = at; i < next; i++) {
		if (walk->covered[i]++)
			return false;
	}
	if (code == 0x27)
		return walk->collects || depth > 0;
	depth += shape.given - shape.taken;
	if ((code == 0x20 || code == 0x21) &&
	    !come(walk, operand_at(walk->bytes + at + 1, 2), at, depth))
		return false;
	return code == 0x21 || come(walk, next, at, depth);
}

bool agent_model_is_sound(const uint8_t *bytes, size_t nr, bool collects)
{
	static struct walk walk;

	if (nr == 0 || nr > BYTES_MAX)
		return false;
	walk.bytes = bytes;
	walk.nr = nr;
	walk.collects = collects;
	walk.nr_pending = 1;
	walk.pending[0] = 0;
	for (size_t i = 0; i <= nr; i++) {
		walk.depths[i] = -1;
		walk.covered[i] = 0;
	}
	walk.depths[0] = 0;
	while (walk.nr_pending) {
		if (!walk_op(&walk, walk.pending[--walk.nr_pending]))
			return false;
	}
	return true;
}

/* ---- the world ---- */

static bool byte_at(struct agent_world *world, uint64_t address, uint8_t *ret)
{
	if (world->byte)
		return world->byte(world->ctx, address, ret);
	*ret = (uint8_t)((address * 0x9e3779b97f4a7c15u) >> 51);
	return (address & 0xf0) != 0x70;
}

static bool peek(struct agent_world *world, uint64_t address, uint32_t bytes,
		 uint64_t *ret_value)
{
	uint64_t value = 0;
	uint8_t byte;

	for (uint32_t i = bytes; i-- > 0;) {
		if (!byte_at(world, address + i, &byte))
			return false;
		value = value << 8 | byte;
	}
	*ret_value = value;
	return true;
}

static void record(struct agent_world *world, char kind, uint64_t address,
		   uint64_t length)
{
	if (world->nr_records < AGENT_RECORDS)
		world->records[world->nr_records] =
			(struct agent_record){ kind, address, length };
	world->nr_records++;
}

static bool machine_read(void *ctx, uint64_t address, void *to, uint32_t bytes)
{
	uint8_t copy[8];

	if (bytes > sizeof(copy))
		return false;
	for (uint32_t i = 0; i < bytes; i++) {
		if (!byte_at(ctx, address + i, &copy[i]))
			return false;
	}
	memcpy(to, copy, bytes);
	return true;
}

static uint64_t machine_get(void *ctx, uint32_t variable)
{
	const struct agent_world *world = ctx;

	return variable < AGENT_VARIABLES ? world->variables[variable] : 0;
}

static void machine_set(void *ctx, uint32_t variable, uint64_t value)
{
	struct agent_world *world = ctx;

	if (variable < AGENT_VARIABLES)
		world->variables[variable] = value;
}

static void machine_trace(void *ctx, uint64_t address, uint64_t bytes)
{
	record(ctx, 'M', address, bytes);
}

static void machine_trace_string(void *ctx, uint64_t address, uint64_t max)
{
	record(ctx, 'S', address, max);
}

static void machine_trace_variable(void *ctx, uint32_t variable)
{
	record(ctx, 'V', variable, 0);
}

const struct sonde_expr_machine agent_machine = {
	.read = machine_read,
	.get = machine_get,
	.set = machine_set,
	.trace = machine_trace,
	.trace_string = machine_trace_string,
	.trace_variable = machine_trace_variable,
};

enum agent_result agent_evaluate(const struct sonde_program *program,
				 struct agent_world *world, uint64_t *ret_value)
{
	const struct sonde_expr_env env = {
		.registers = world->registers,
		.machine = &agent_machine,
		.machine_ctx = world,
	};
	struct sonde_expr_value value;

	sonde_program_eval(program, &env, &value);
	*ret_value = value.u;
	if (value.type != SONDE_EXPR_MISSING)
		return AGENT_VALUE;
	return value.u == SONDE_EXPR_FAULT   ? AGENT_FAULT :
	       value.u == SONDE_EXPR_DIVIDED ? AGENT_DIVIDED :
					       AGENT_NO_VALUE;
}

/* ---- running ---- */

struct run {
	struct agent_world *world;
	uint64_t *stack;
	int depth;
	size_t pc;
	enum agent_result result;
};

static uint64_t pop(struct run *run)
{
	return run->stack[--run->depth];
}

static void push(struct run *run, uint64_t value)
{
	run->stack[run->depth++] = value;
}

static uint64_t sign_extend(uint64_t value, uint64_t bits)
{
	uint64_t sign;

	if (bits == 0 || bits >= 64)
		return value;
	sign = (uint64_t)1 << (bits - 1);
	value &= ((uint64_t)1 << bits) - 1;
	return value & sign ? value - sign - sign : value;
}

static uint64_t shift_right_signed(uint64_t a, uint64_t count)
{
	for (; count && a != UINT64_MAX && a; count--)
		a = a >> 1 | (a & UINT64_C(1) << 63);
	return a;
}

/* a / b and a % b of amounts, with C's signs. */
static uint64_t divide_signed(uint64_t a, uint64_t b, bool remainder)
{
	bool a_negative = a >> 63;
	bool b_negative = b >> 63;
	uint64_t x = a_negative ? 0 - a : a;
	uint64_t y = b_negative ? 0 - b : b;
	uint64_t result = remainder ? x % y : x / y;
	bool negative = remainder ? a_negative : a_negative != b_negative;

	return negative ? 0 - result : result;
}

static bool is_less_signed(uint64_t a, uint64_t b)
{
	bool a_negative = a >> 63;
	bool b_negative = b >> 63;

	return a_negative == b_negative ? a < b : a_negative;
}

static uint64_t binary(struct run *run, uint8_t code, uint64_t a, uint64_t b)
{
	if (code >= 0x05 && code <= 0x08 && b == 0) {
		run->result = AGENT_DIVIDED;
		return 0;
	}
	switch (code) {
	case 0x02:
		return a + b;
	case 0x03:
		return a - b;
	case 0x04:
		return a * b;
	case 0x05:
	case 0x07:
		return divide_signed(a, b, code == 0x07);
	case 0x06:
		return a / b;
	case 0x08:
		return a % b;
	case 0x09:
		return b > 63 ? 0 : a << b;
	case 0x0a:
		return shift_right_signed(a, b);
	case 0x0b:
		return b > 63 ? 0 : a >> b;
	case 0x0f:
		return a & b;
	case 0x10:
		return a | b;
	case 0x11:
		return a ^ b;
	case 0x13:
		return a == b;
	case 0x14:
		return is_less_signed(a, b);
	default:
		return a < b;
	}
}

static void read_memory(struct run *run, uint32_t bytes)
{
	uint64_t value;

	if (peek(run->world, pop(run), bytes, &value))
		push(run, value);
	else
		run->result = AGENT_FAULT;
}

/* What moves values only. */
static void shuffle(struct run *run, uint8_t code, uint64_t operand)
{
	uint64_t c;
	uint64_t b;
	uint64_t a;

	switch (code) {
	case 0x28:
		push(run, run->stack[run->depth - 1]);
		break;
	case 0x29:
		(void)pop(run);
		break;
	case 0x2b:
		b = pop(run);
		a = pop(run);
		push(run, b);
		push(run, a);
		break;
	case 0x32:
		push(run, run->stack[run->depth - 1 - (int)operand]);
		break;
	default:
		c = pop(run);
		b = pop(run);
		a = pop(run);
		push(run, c);
		push(run, a);
		push(run, b);
		break;
	}
}

static void trace(struct run *run, uint8_t code, uint64_t operand)
{
	uint64_t length;

	switch (code) {
	case 0x0c:
	case 0x2f:
		length = pop(run);
		record(run->world, code == 0x0c ? 'M' : 'S', pop(run), length);
		break;
	case 0x2e:
		record(run->world, 'V', operand, 0);
		break;
	default:
		record(run->world, 'M', run->stack[run->depth - 1], operand);
		break;
	}
}

static void unary(struct run *run, uint8_t code, uint64_t operand)
{
	uint64_t value = pop(run);

	switch (code) {
	case 0x0e:
		value = !value;
		break;
	case 0x12:
		value = ~value;
		break;
	case 0x16:
		value = sign_extend(value, operand);
		break;
	default:
		if (operand < 64)
			value &= (UINT64_C(1) << operand) - 1;
		break;
	}
	push(run, value);
}

static void go_on(struct run *run, uint8_t code, uint64_t operand)
{
	switch (code) {
	case 0x20:
		if (pop(run))
			run->pc = operand;
		break;
	case 0x21:
		run->pc = operand;
		break;
	case 0x26:
		push(run, run->world->registers[operand]);
		break;
	case 0x2c:
		push(run, machine_get(run->world, (uint32_t)operand));
		break;
	case 0x2d:
		machine_set(run->world, (uint32_t)operand,
			    run->stack[run->depth - 1]);
		break;
	default:
		shuffle(run, code, operand);
		break;
	}
}

static void step(struct run *run, uint8_t code, uint64_t operand)
{
	struct shape shape = shape_of(code);

	if (shape.records) {
		trace(run, code, operand);
	} else if (code >= 0x17 && code <= 0x1a) {
		read_memory(run, 1u << (code - 0x17));
	} else if (code >= 0x22 && code <= 0x25) {
		push(run, operand);
	} else if (shape.taken == 2 && shape.given == 1) {
		uint64_t b = pop(run);

		push(run, binary(run, code, pop(run), b));
	} else if (code == 0x0e || code == 0x12 || code == 0x16 ||
		   code == 0x2a) {
		unary(run, code, operand);
	} else {
		go_on(run, code, operand);
	}
}

enum agent_result agent_model_run(const uint8_t *bytes, size_t nr,
				  struct agent_world *world,
				  uint64_t *ret_value)
{
	uint64_t stack[AGENT_STACK + 2] = { 0 };
	struct run run = {
		.world = world,
		.stack = stack,
		.result = AGENT_VALUE,
	};

	while (run.pc < nr && run.result == AGENT_VALUE) {
		uint8_t code = bytes[run.pc];
		struct shape shape = shape_of(code);
		uint64_t operand =
			operand_at(bytes + run.pc + 1, shape.operand);

		if (code == 0x27 && run.depth == 0)
			return AGENT_NO_VALUE;
		if (code == 0x27) {
			*ret_value = pop(&run);
			return AGENT_VALUE;
		}
		run.pc += 1u + shape.operand;
		step(&run, code, operand);
	}
	return run.result == AGENT_VALUE ? AGENT_BROKEN : run.result;
}

/* ---- random expressions ---- */

struct writer {
	uint8_t *to;
	size_t size, nr;
	int depth;
	bool collects;
	const struct model_random *random;
};

static uint64_t pick(const struct writer *writer, uint64_t nr)
{
	return nr ? writer->random->next(writer->random->ctx) % nr : 0;
}

static void put(struct writer *writer, uint8_t byte)
{
	if (writer->nr < writer->size)
		writer->to[writer->nr++] = byte;
}

static void put_operand(struct writer *writer, uint64_t value, int bytes)
{
	while (bytes--)
		put(writer, (uint8_t)(value >> 8 * bytes));
}

static void patch(struct writer *writer, size_t at, size_t target)
{
	if (at + 1 < writer->size) {
		writer->to[at] = (uint8_t)(target >> 8);
		writer->to[at + 1] = (uint8_t)target;
	}
}

static void write_leaf(struct writer *writer)
{
	uint64_t bits = pick(writer, 65);
	uint64_t number = writer->random->next(writer->random->ctx);

	number = bits ? number >> (64 - bits) : 0;
	switch (pick(writer, 7)) {
	case 0:
	case 1:
		put(writer, 0x26);
		put_operand(writer, pick(writer, AGENT_REGS), 2);
		break;
	case 2:
		put(writer, 0x2c);
		put_operand(writer, pick(writer, AGENT_VARIABLES + 1), 2);
		break;
	case 3:
		put(writer, 0x25);
		put_operand(writer, number, 8);
		break;
	case 4:
		put(writer, 0x24);
		put_operand(writer, number, 4);
		break;
	case 5:
		if (writer->depth > 0) {
			put(writer, 0x32);
			put(writer,
			    (uint8_t)pick(writer, (uint64_t)writer->depth));
			break;
		}
		__attribute__((fallthrough));
	default:
		put(writer, 0x22);
		put(writer, (uint8_t)number);
		break;
	}
	writer->depth++;
}

/* What changes the topmost value, or does something beside it. */
static void write_change(struct writer *writer)
{
	static const uint8_t plain[] = { 0x0e, 0x12, 0x17, 0x18, 0x19, 0x1a };
	uint64_t what = pick(writer, writer->collects ? 10 : 7);

	if (what < 2) {
		put(writer, plain[pick(writer, sizeof(plain))]);
	} else if (what < 5) {
		put(writer, pick(writer, 2) ? 0x16 : 0x2a);
		put(writer, (uint8_t)(1 + pick(writer, 70)));
	} else if (what == 5) {
		put(writer, 0x2d);
		put_operand(writer, pick(writer, AGENT_VARIABLES + 1), 2);
	} else if (what == 6) {
		put(writer, 0x28);
		put(writer, 0x29);
	} else if (what == 7) {
		put(writer, 0x0d);
		put(writer, (uint8_t)pick(writer, 256));
	} else if (what == 8) {
		put(writer, 0x28);
		put(writer, 0x22);
		put(writer, (uint8_t)pick(writer, 256));
		put(writer, pick(writer, 2) ? 0x0c : 0x2f);
	} else {
		put(writer, pick(writer, 2) ? 0x2e : 0x30);
		put_operand(writer, pick(writer, 300), 2);
	}
}

static void write_value(struct writer *writer, int levels);

/* c ? a : b, as GDB has it. */
/* NOLINTNEXTLINE(misc-no-recursion): at most `levels` deep */
static void write_choice(struct writer *writer, int levels)
{
	size_t otherwise;
	size_t done;

	write_value(writer, levels - 1);
	put(writer, 0x20);
	otherwise = writer->nr;
	put_operand(writer, 0, 2);
	writer->depth--;
	write_value(writer, levels - 1);
	put(writer, 0x21);
	done = writer->nr;
	put_operand(writer, 0, 2);
	if (pick(writer, 4) == 0) /* nothing comes here */
		put(writer, (uint8_t)pick(writer, 256));
	patch(writer, otherwise, writer->nr);
	writer->depth--;
	write_value(writer, levels - 1);
	patch(writer, done, writer->nr);
}

/* One value more on the stack. */
/* NOLINTNEXTLINE(misc-no-recursion): at most `levels` deep */
static void write_value(struct writer *writer, int levels)
{
	static const uint8_t binaries[] = {
		0x02, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
		0x0a, 0x0b, 0x0f, 0x10, 0x11, 0x13, 0x14, 0x15,
	};

	if (levels <= 0 || writer->nr + 64 > writer->size) {
		write_leaf(writer);
		return;
	}
	switch (pick(writer, 6)) {
	case 0:
		write_choice(writer, levels);
		break;
	case 1:
	case 2:
		write_value(writer, levels - 1);
		write_change(writer);
		break;
	case 3:
		write_value(writer, levels - 1);
		write_value(writer, levels - 1);
		write_value(writer, levels - 1);
		put(writer, 0x33);
		put(writer, 0x29);
		put(writer, 0x29);
		writer->depth -= 2;
		break;
	default:
		write_value(writer, levels - 1);
		write_value(writer, levels - 1);
		if (pick(writer, 4) == 0)
			put(writer, 0x2b);
		put(writer, binaries[pick(writer, sizeof(binaries))]);
		writer->depth--;
		break;
	}
}

size_t agent_write(uint8_t *to, size_t size, bool collects, bool broken,
		   const struct model_random *random)
{
	struct writer writer = {
		.to = to,
		.size = size,
		.collects = collects,
		.random = random,
	};

	write_value(&writer, (int)pick(&writer, 6));
	if (collects && pick(&writer, 2))
		put(&writer, 0x29);
	put(&writer, 0x27);
	for (uint64_t i = broken ? 1 + pick(&writer, 3) : 0; i > 0; i--)
		to[pick(&writer, writer.nr)] =
			(uint8_t)pick(&writer, pick(&writer, 3) ? 0x36 : 256);
	if (broken && pick(&writer, 8) == 0)
		writer.nr -= pick(&writer, writer.nr);
	return writer.nr;
}

void agent_world_fill(struct agent_world *world,
		      const struct model_random *random)
{
	*world = (struct agent_world){ .nr_records = 0 };
	for (size_t i = 0; i < AGENT_REGS; i++)
		world->registers[i] = random->next(random->ctx) >>
				      (random->next(random->ctx) % 64);
	for (size_t i = 0; i < AGENT_VARIABLES; i++)
		world->variables[i] = random->next(random->ctx) % 1000;
}
