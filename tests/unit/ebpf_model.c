/* SPDX-License-Identifier: MIT */
/* ebpf_model.c - see ebpf_model.h. */
#include "ebpf_model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "types/type.h"

/* ---- the machine ---- */

static int stop(struct ebpf_machine *machine, const char *wrong)
{
	machine->wrong = wrong;
	return -1;
}

/* The bytes at an address; NULL. */
static uint8_t *find_bytes(struct ebpf_machine *machine, uint64_t address,
			   uint32_t size, bool writes)
{
	for (size_t i = 0; i < EBPF_AREAS; i++) {
		struct ebpf_area *area = &machine->areas[i];
		uint64_t at = address - area->address;

		if (address < area->address || at >= area->size ||
		    size > area->size - at)
			continue;
		if (area->aligned && address % size)
			return NULL;
		if (writes && !area->known)
			return NULL;
		for (uint32_t n = 0; n < size && area->known; n++) {
			if (writes)
				area->known[at + n] = true;
			else if (!area->known[at + n])
				return NULL;
		}
		return area->bytes + at;
	}
	return NULL;
}

static uint32_t access_size(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

static bool is_set(const struct ebpf_machine *machine, unsigned int reg)
{
	return reg < 11 && machine->set >> reg & 1;
}

static int set_register(struct ebpf_machine *machine, unsigned int reg,
			uint64_t value)
{
	if (reg > 5 && (reg > 9 || !(machine->own >> reg & 1)))
		return stop(machine, "a register that is not its own");
	machine->registers[reg] = value;
	machine->set |= (uint16_t)(1u << reg);
	return 0;
}

static int run_load(struct ebpf_machine *machine, const struct bpf_insn *insn)
{
	uint32_t size = access_size(insn->code);
	uint64_t value = 0;
	const uint8_t *from;

	if (BPF_MODE(insn->code) != BPF_MEM || !is_set(machine, insn->src_reg))
		return stop(machine, "a load from nowhere");
	from = find_bytes(machine,
			  machine->registers[insn->src_reg] +
				  (uint64_t)(int64_t)insn->off,
			  size, false);
	if (!from)
		return stop(machine, "a load from outside");
	for (uint32_t i = 0; i < size; i++) {
		bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

		value |= (uint64_t)from[i] << 8 * (big ? size - 1 - i : i);
	}
	return set_register(machine, insn->dst_reg, value);
}

static int run_store(struct ebpf_machine *machine, const struct bpf_insn *insn)
{
	uint8_t *to;

	if (insn->code != (BPF_STX | BPF_MEM | BPF_DW) ||
	    !is_set(machine, insn->src_reg) || !is_set(machine, insn->dst_reg))
		return stop(machine, "no such store");
	to = find_bytes(machine,
			machine->registers[insn->dst_reg] +
				(uint64_t)(int64_t)insn->off,
			8, true);
	if (!to)
		return stop(machine, "a store to outside");
	memcpy(to, &machine->registers[insn->src_reg], 8);
	return 0;
}

static int run_swap(struct ebpf_machine *machine, const struct bpf_insn *insn)
{
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	bool to_big = BPF_SRC(insn->code) == BPF_TO_BE;
	uint64_t value = machine->registers[insn->dst_reg];
	uint64_t result = 0;

	if (BPF_CLASS(insn->code) != BPF_ALU ||
	    (insn->imm != 16 && insn->imm != 32 && insn->imm != 64))
		return stop(machine, "no such swap");
	for (int i = 0; i < insn->imm; i += 8) {
		int to = to_big == big ? i : insn->imm - 8 - i;

		result |= (value >> i & 0xff) << to;
	}
	return set_register(machine, insn->dst_reg, result);
}

/* What an operation of 32 bits sees of a number: those, or their sign. */
static uint64_t low_half(uint8_t op, uint64_t number)
{
	return op == BPF_ARSH || op == BPF_JSLT || op == BPF_JSGE ||
			       op == BPF_JSGT || op == BPF_JSLE ?
		       (uint64_t)(int64_t)(int32_t)(uint32_t)number :
		       (uint32_t)number;
}

/* False: no such operation, or one that the machine leaves open. */
static bool calculate(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret)
{
	switch (op) {
	case BPF_ADD:
		*ret = a + b;
		return true;
	case BPF_SUB:
		*ret = a - b;
		return true;
	case BPF_MUL:
		*ret = a * b;
		return true;
	case BPF_DIV:
		*ret = b ? a / b : 0;
		return b != 0;
	case BPF_MOD:
		*ret = b ? a % b : 0;
		return b != 0;
	case BPF_OR:
		*ret = a | b;
		return true;
	case BPF_AND:
		*ret = a & b;
		return true;
	case BPF_XOR:
		*ret = a ^ b;
		return true;
	case BPF_MOV:
		*ret = b;
		return true;
	case BPF_NEG:
		*ret = ~a + 1;
		return true;
	case BPF_LSH:
		*ret = b < 64 ? a << b : 0;
		return b < 64;
	case BPF_RSH:
		*ret = b < 64 ? a >> b : 0;
		return b < 64;
	case BPF_ARSH:
		*ret = b < 64 ? a >> b : 0;
		if (b && b < 64 && a >> 63)
			*ret |= ~(UINT64_MAX >> b);
		return b < 64;
	default:
		return false;
	}
}

/* The second operand. */
static bool operand(const struct ebpf_machine *machine,
		    const struct bpf_insn *insn, uint64_t *ret)
{
	if (BPF_SRC(insn->code) == BPF_K) {
		*ret = (uint64_t)(int64_t)insn->imm;
		return true;
	}
	if (!is_set(machine, insn->src_reg))
		return false;
	*ret = machine->registers[insn->src_reg];
	return true;
}

static int run_alu(struct ebpf_machine *machine, const struct bpf_insn *insn)
{
	bool is_half = BPF_CLASS(insn->code) == BPF_ALU;
	uint8_t op = BPF_OP(insn->code);
	uint64_t a = machine->registers[insn->dst_reg];
	uint64_t result;
	uint64_t b;

	if (op != BPF_MOV && !is_set(machine, insn->dst_reg))
		return stop(machine, "arithmetic with nothing");
	if (op == BPF_END)
		return run_swap(machine, insn);
	if (!operand(machine, insn, &b))
		return stop(machine, "arithmetic with nothing");
	if (is_half) {
		a = low_half(op, a);
		b = (uint32_t)b;
	}
	if (!calculate(op, a, b, &result) ||
	    (is_half && (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) &&
	     b > 31))
		return stop(machine, "no such arithmetic");
	return set_register(machine, insn->dst_reg,
			    is_half ? (uint32_t)result : result);
}

static int compare(uint8_t op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a;
	int64_t sb = (int64_t)b;

	switch (op) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JLT:
		return a < b;
	case BPF_JGE:
		return a >= b;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JGT:
		return a > b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSLE:
		return sa <= sb;
	case BPF_JSET:
		return (a & b) != 0;
	default:
		return -1;
	}
}

/* R1 to R5 mean nothing behind a call. */
static int end_call(struct ebpf_machine *machine, uint64_t result)
{
	machine->set &= (uint16_t)~0x3fu;
	return set_register(machine, 0, result);
}

/* Eight bytes are written, whichever are read. */
static int run_read(struct ebpf_machine *machine, uint32_t size)
{
	uint64_t address = machine->registers[1];
	uint64_t copy = 0;
	uint8_t *to;
	bool good;

	if ((machine->set & 6) != 6)
		return stop(machine, "a call with nothing");
	to = find_bytes(machine, machine->registers[2], 8, true);
	if (!to)
		return stop(machine, "a call that writes to outside");
	good = machine->read(machine->ctx, address, &copy, size);
	memcpy(to, &copy, sizeof(copy));
	return end_call(machine, good);
}

static int run_own_call(struct ebpf_machine *machine, int32_t number)
{
	if (number == EBPF_CALL_ASK && is_set(machine, 1) &&
	    machine->registers[1] < SONDE_EXPR_REGISTERS)
		return end_call(machine, machine->asked[machine->registers[1]]);
	for (uint32_t size = 1; size <= 8; size *= 2)
		if (number == (int32_t)EBPF_CALL_READ(size))
			return run_read(machine, size);
	return stop(machine, "no such call");
}

/* It leaves R6 and up. */
static int run_call(struct ebpf_machine *machine, const struct bpf_insn *insn)
{
	const uint64_t *registers = machine->registers;
	uint32_t size = (uint32_t)registers[2];
	uint8_t copy[8];
	uint8_t *to;
	bool good;

	if (machine->asked)
		return run_own_call(machine, insn->imm);
	if ((insn->imm != BPF_FUNC_probe_read_kernel &&
	     insn->imm != BPF_FUNC_probe_read_user) ||
	    !machine->read || (machine->set & 0xe) != 0xe || size > 8)
		return stop(machine, "no such call");
	to = find_bytes(machine, registers[1], size, true);
	if (!to)
		return stop(machine, "a call that writes to outside");
	good = machine->read(machine->ctx, registers[3], copy, size);
	memset(to, 0, size);
	if (good)
		memcpy(to, copy, size);
	return end_call(machine, good ? 0 : (uint64_t)-EFAULT);
}

static int run_jump(struct ebpf_machine *machine, const struct bpf_insn *insn)
{
	bool is_half = BPF_CLASS(insn->code) == BPF_JMP32;
	uint8_t op = BPF_OP(insn->code);
	uint64_t a = machine->registers[insn->dst_reg];
	uint64_t b = 0;
	int taken;

	if (op == BPF_CALL && !is_half)
		return run_call(machine, insn);
	if (op != BPF_JA &&
	    (!is_set(machine, insn->dst_reg) || !operand(machine, insn, &b)))
		return stop(machine, "a comparison with nothing");
	if (is_half) {
		a = low_half(op, a);
		b = low_half(op, b);
	}
	taken = compare(op, a, b);
	if (taken < 0 || insn->off < 0)
		return stop(machine, "no such jump");
	return taken ? insn->off : 0;
}

/* How many instructions to pass over after this one; -1. */
static int run_one(struct ebpf_machine *machine, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return run_load(machine, insn);
	case BPF_STX:
		return run_store(machine, insn);
	case BPF_ALU:
	case BPF_ALU64:
		return run_alu(machine, insn);
	case BPF_JMP:
	case BPF_JMP32:
		return run_jump(machine, insn);
	case BPF_LD:
		if (insn->code != (BPF_LD | BPF_DW) || insn[1].code ||
		    insn->src_reg ||
		    set_register(machine, insn->dst_reg,
				 (uint32_t)insn->imm |
					 (uint64_t)(uint32_t)insn[1].imm << 32))
			return stop(machine, "no such constant");
		return 1;
	default:
		return stop(machine, "no such instruction");
	}
}

/* Whether all can be reached, by the look of it. */
static bool all_reached(const struct bpf_insn *code, size_t nr)
{
	bool *reached = calloc(nr + 2, sizeof(*reached));
	bool all = reached != NULL;

	if (!all)
		return false;
	reached[0] = true;
	for (size_t i = 0; i < nr && all; i++) {
		bool jumps = BPF_CLASS(code[i].code) == BPF_JMP ||
			     BPF_CLASS(code[i].code) == BPF_JMP32;
		size_t to = i + 1 + (size_t)(jumps ? code[i].off : 0);

		all = reached[i] && to <= nr;
		if (!all)
			break;
		reached[to] = true;
		if (BPF_CLASS(code[i].code) == BPF_LD)
			reached[++i + 1] = true;
		else if (code[i].code != (BPF_JMP | BPF_JA))
			reached[i + 1] = true;
	}
	all = all && reached[nr];
	free(reached);
	return all;
}

int ebpf_run(struct ebpf_machine *machine, const struct bpf_insn *code,
	     size_t nr)
{
	if (!all_reached(code, nr))
		return stop(machine, "not all can be reached");
	for (size_t at = 0; at < nr;) {
		int next = run_one(machine, &code[at]);

		if (next < 0)
			return -1;
		at += 1 + (size_t)next;
	}
	if (!is_set(machine, 0) || machine->registers[0] > 2)
		return stop(machine, "it gives no truth");
	return (int)machine->registers[0];
}

/* ---- records ---- */

struct field {
	const char *name;
	enum sonde_expr_type type;
	uint8_t bytes;
	bool swap;
	uint8_t base;
	uint32_t offset;
};

#define U SONDE_EXPR_UINT
#define I SONDE_EXPR_INT

/* At even and odd places. */
static const struct field fields[] = {
	{ "u8", U, 1, false, 0, 0 },    { "u16", U, 2, false, 0, 1 },
	{ "u32", U, 4, false, 0, 3 },   { "u64", U, 8, false, 0, 7 },
	{ "i8", I, 1, false, 0, 15 },   { "i16", I, 2, false, 0, 16 },
	{ "i32", I, 4, false, 0, 18 },  { "i64", I, 8, false, 0, 22 },
	{ "u16x", U, 2, true, 0, 30 },  { "u32x", U, 4, true, 0, 32 },
	{ "u64x", U, 8, true, 0, 36 },  { "i16x", I, 2, true, 0, 45 },
	{ "i32x", I, 4, true, 0, 47 },  { "i64x", I, 8, true, 0, 51 },
	{ "even", I, 8, false, 0, 24 }, { "tid", I, 4, false, 1, 0 },
	{ "cpu", U, 4, false, 1, 4 },
};

static const struct {
	const char *name;
	uint32_t offset, size; /* size 0: ends with NUL */
} texts[] = {
	{ "comm", 59, 16 },
	{ "odd", 75, 3 },
	{ "one", 78, 1 },
	{ "s", 79, 0 }, /* up to the record's end, the last byte is NUL */
};

static const struct sonde_label labels[] = {
	{ 1, 1, "red" },
	{ 3, 7, "red" },
	{ 0, 0, "red" },
};

static bool is(const char *path, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(path, name, length) == 0;
}

static int find_name(void *ctx, const char *path, size_t length,
		     struct sonde_expr_source *ret_source)
{
	(void)ctx;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(fields); i++) {
		if (!is(path, length, fields[i].name))
			continue;
		*ret_source = (struct sonde_expr_source){
			.how = SONDE_EXPR_MEMORY,
			.type = fields[i].type,
			.bytes = fields[i].bytes,
			.swap = fields[i].swap,
			.base = fields[i].base,
			.offset = fields[i].offset,
			.labels = fields[i].bytes < 4 ? labels : NULL,
			.nr_labels = SONDE_ARRAY_SIZE(labels),
		};
		return 0;
	}
	for (uint32_t i = 0; i < SONDE_ARRAY_SIZE(texts); i++) {
		if (!is(path, length, texts[i].name))
			continue;
		*ret_source = (struct sonde_expr_source){
			.how = SONDE_EXPR_CALL,
			.type = SONDE_EXPR_STRING,
			.ref = i,
		};
		return 0;
	}
	return -ENOENT;
}

const struct sonde_expr_scope ebpf_scope = { .find = find_name };

static int call(void *ctx, uint32_t ref, struct sonde_expr_value *ret)
{
	const struct ebpf_record *record = ctx;
	uint32_t offset;
	uint32_t size;

	if (!ebpf_text_place(NULL, ref, &offset, &size))
		return -ENOENT;
	if (!size)
		size = EBPF_BYTES - offset;
	ret->type = SONDE_EXPR_STRING;
	ret->text = (const char *)record->bytes + offset;
	ret->length = (uint32_t)strnlen(ret->text, size);
	return 0;
}

void ebpf_env_init(struct sonde_expr_env *env, struct ebpf_record *record)
{
	*env = (struct sonde_expr_env){ .call = call, .ctx = record };
	env->bases[0] = record->bytes;
	env->bases[1] = record->whence;
}

bool ebpf_text_place(void *ctx, uint32_t ref, uint32_t *ret_offset,
		     uint32_t *ret_size)
{
	(void)ctx;
	if (ref >= SONDE_ARRAY_SIZE(texts))
		return false;
	*ret_offset = texts[ref].offset;
	*ret_size = texts[ref].size;
	return true;
}

static uint64_t below(const struct model_random *random, uint64_t limit)
{
	return random->next(random->ctx) % limit;
}

/* Bytes that are often alike, and often the ends of ranges. */
static uint8_t some_byte(const struct model_random *random)
{
	static const uint8_t likely[] = { 0, 0, 1, 2, 3, 0x7f, 0x80, 0xff };
	uint64_t choice = below(random, 2 * SONDE_ARRAY_SIZE(likely));

	return choice < SONDE_ARRAY_SIZE(likely) ?
		       likely[choice] :
		       (uint8_t)random->next(random->ctx);
}

void ebpf_record_fill(struct ebpf_record *record,
		      const struct model_random *random)
{
	size_t text_bytes = EBPF_BYTES - texts[0].offset;
	size_t run = 0;
	uint8_t byte = 0;

	for (size_t i = 0; i < EBPF_BYTES; i++) {
		if (run-- == 0) {
			run = below(random, 9);
			byte = some_byte(random);
		}
		record->bytes[i] = byte;
	}
	for (size_t i = 0; i < sizeof(record->whence); i++)
		record->whence[i] = some_byte(random);
	for (size_t i = 0; i < text_bytes; i++) {
		uint64_t letter = below(random, 6);

		record->bytes[texts[0].offset + i] =
			letter ? (uint8_t)('a' + letter % 2) : 0;
	}
	if (below(random, 2))
		memset(record->bytes + texts[0].offset, 'a', text_bytes);
	record->bytes[EBPF_BYTES - 1] = 0;
}

/* ---- expressions ---- */

struct writer {
	char *at;
	size_t left;
	const struct model_random *random;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer,
						      const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(writer->at, writer->left, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= writer->left)
		abort();
	writer->at += length;
	writer->left -= (size_t)length;
}

static const char *any_of(struct writer *writer, const char *const *list,
			  size_t nr)
{
	return list[below(writer->random, nr)];
}

#define ANY_OF(writer, list) any_of((writer), (list), SONDE_ARRAY_SIZE(list))

static void put_constant(struct writer *writer)
{
	static const char *const bounds[] = {
		"0",
		"1",
		"127",
		"128",
		"255",
		"65535",
		"0x7fffffff",
		"0x80000000",
		"0xffffffff",
		"9223372036854775807",
		"(-9223372036854775807 - 1)",
		"18446744073709551615",
		"(-1)",
		"(-129)",
		"63",
		"64",
	};

	if (below(writer->random, 2))
		put(writer, "%s", ANY_OF(writer, bounds));
	else
		put(writer, "%u", (unsigned int)below(writer->random, 300));
}

static const char *any_field(struct writer *writer)
{
	return fields[below(writer->random, SONDE_ARRAY_SIZE(fields))].name;
}

static const char *any_text(struct writer *writer)
{
	return texts[below(writer->random, SONDE_ARRAY_SIZE(texts))].name;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as `depth` says */

static void put_truth(struct writer *writer, unsigned int depth);

static void put_number(struct writer *writer, unsigned int depth)
{
	static const char *const operators[] = { "+", "-", "*", "/",  "%",
						 "&", "|", "^", "<<", ">>" };
	uint64_t choice = depth ? below(writer->random, 10) : 9;

	if (choice < 5) {
		put(writer, "(");
		put_number(writer, depth - 1);
		put(writer, " %s ", ANY_OF(writer, operators));
		put_number(writer, depth - 1);
		put(writer, ")");
	} else if (choice < 6) {
		put(writer, below(writer->random, 2) ? "~(" : "-(");
		put_number(writer, depth - 1);
		put(writer, ")");
	} else if (choice < 7) {
		put(writer, "(");
		put_truth(writer, depth - 1);
		put(writer, " ? ");
		put_number(writer, depth - 1);
		put(writer, " : ");
		put_number(writer, depth - 1);
		put(writer, ")");
	} else if (choice < 8) {
		put_constant(writer);
	} else {
		put(writer, "%s", any_field(writer));
	}
}

/* One decision at a time: their order is the input's (fuzz/fuzz.h). */
static void put_text(struct writer *writer)
{
	static const char *const operators[] = { "==", "!=" };
	const char *name = any_text(writer);
	const char *op = ANY_OF(writer, operators);
	uint64_t length = below(writer->random, 20);
	bool alike = below(writer->random, 2);
	bool alone = below(writer->random, 6) == 0;

	if (alone) {
		put(writer, alike ? "%s" : "defined(%s)", name);
		return;
	}
	if (below(writer->random, 2))
		length %= 4;
	put(writer, "%s %s \"", name, op);
	for (uint64_t i = 0; i < length; i++) {
		if (below(writer->random, 8) == 0)
			put(writer, "?");
		else
			put(writer, "%c",
			    alike || below(writer->random, 2) ? 'a' : 'b');
	}
	put(writer, below(writer->random, 3) ? "\"" : "*\"");
}

static void put_comparison(struct writer *writer, unsigned int depth)
{
	static const char *const operators[] = { "==", "!=", "<",
						 "<=", ">",  ">=" };
	uint64_t choice = below(writer->random, 12);

	if (choice < 7) {
		put_number(writer, depth);
		put(writer, " %s ", ANY_OF(writer, operators));
		if (choice < 3)
			put_constant(writer);
		else
			put_number(writer, depth);
	} else if (choice < 10) {
		put_text(writer);
	} else if (choice == 10) {
		put(writer, "%s in (", any_field(writer));
		put_constant(writer);
		put(writer, ", ");
		put_constant(writer);
		put(writer, ")");
	} else {
		const char *name = below(writer->random, 2) ? "u8" : "i16x";

		put(writer, "%s %s \"red\"", name,
		    below(writer->random, 2) ? "==" : "!=");
	}
}

static void put_truth(struct writer *writer, unsigned int depth)
{
	uint64_t choice = depth ? below(writer->random, 8) : 7;

	if (choice < 4) {
		put(writer, "(");
		put_truth(writer, depth - 1);
		put(writer, choice % 2 ? " && " : " || ");
		put_truth(writer, depth - 1);
		put(writer, ")");
	} else if (choice == 4) {
		put(writer, "!(");
		put_truth(writer, depth - 1);
		put(writer, ")");
	} else if (choice == 5) {
		put_number(writer, depth - 1);
	} else {
		put_comparison(writer, depth ? depth - 1 : 0);
	}
}

/* NOLINTEND(misc-no-recursion) */

void ebpf_write(char *to, size_t size, const struct model_random *random)
{
	struct writer writer = { to, size, random };

	put_truth(&writer, (unsigned int)below(random, 5));
}

/* ---- code and records ---- */

const struct sonde_ebpf_config ebpf_on_stack = {
	.bases = { { .reg = BPF_REG_10,
		     .offset = EBPF_BASE_0,
		     .bytes = EBPF_BYTES },
		   { .reg = BPF_REG_10, .offset = EBPF_BASE_1, .bytes = 8 } },
	.stack = EBPF_STACK,
	.room = EBPF_STACK_ROOM,
	.text = ebpf_text_place,
};

const struct sonde_ebpf_config ebpf_in_registers = {
	.bases = { { .reg = BPF_REG_6,
		     .unaligned = true,
		     .offset = 5,
		     .bytes = EBPF_BYTES },
		   { .reg = BPF_REG_7, .offset = -8, .bytes = 8 } },
	.stack = EBPF_STACK,
	.room = EBPF_STACK_ROOM,
	.text = ebpf_text_place,
};

#define STACK_AT  UINT64_C(0x7fff00000000)
#define BASE_0_AT UINT64_C(0x100000000)
#define BASE_1_AT UINT64_C(0x200000000)

int ebpf_test(const struct bpf_insn *code, size_t nr,
	      const struct sonde_ebpf_config *config,
	      const struct ebpf_record *record, const char **ret_wrong)
{
	struct ebpf_record copy = *record;
	uint8_t stack[512] = { 0 };
	bool known[512] = { false };
	struct ebpf_machine machine = {
		.areas = { { STACK_AT, 512, stack, known, true },
			   { BASE_0_AT, EBPF_BYTES, copy.bytes, NULL, false },
			   { BASE_1_AT, 8, copy.whence, NULL, true } },
		.set = 1u << 6 | 1u << 7 | 1u << 10,
	};
	int result;

	machine.registers[10] = STACK_AT + 512;
	machine.registers[6] =
		BASE_0_AT - (uint64_t)(int64_t)config->bases[0].offset;
	machine.registers[7] =
		BASE_1_AT - (uint64_t)(int64_t)config->bases[1].offset;
	if (config->bases[0].reg == BPF_REG_10) {
		memcpy(stack, record, sizeof(*record));
		memset(known, true, sizeof(*record));
	}
	result = ebpf_run(&machine, code, nr);
	*ret_wrong = machine.wrong;
	return result;
}
