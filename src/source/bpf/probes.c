/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probes.c - probes at functions of the kernel, by kprobes, and at its
 * tracepoints.
 *
 * Each is an object of its own (probe.bpf.c), which writes to the other
 * programs' maps. Into its two runs of no-ops go the condition, and what
 * computes the items and stores them in the payload. What they use of the stack,
 * below R10, each as far down as it needs, for calls have 512 bytes together:
 *
 *	-8	the running task's address
 *	-16	the value of an item's program
 *	-24	of a kprobe: RIP
 *	-72	by fentry and fexit: six arguments, and the function's value
 *	-192	temporaries, below those
 *
 * A probe on a tracepoint is called with the event's arguments. One at a site of
 * it is a kprobe where the kernel jumps to while the tracepoint is on: the no-op
 * itself may have none, and what is behind it is come to on other ways, too. A
 * program that does nothing keeps it on.
 *
 * A function's entry is fentry's where the kernel has its types and nothing is asked for
 * but its arguments: that costs less than a kprobe, and misses no call that comes while
 * another one's program runs. Where it can't be, it is a kprobe, if the kernel has them.
 *
 * R8 has the address of the CPU's variables, if there are any, and R9 a bit for
 * each item that could not be read. A kprobe's programs run
 * with preemption off, as the rings want it. They hang on descriptors: what ends
 * this process takes them out; so libbpf must not fall back on tracefs, whose
 * probes stay.
 */
#include "base/unconst.h"
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/port.h"
#include "expr/agent.h"
#include "expr/ebpf.h"
#include "expr/program.h"
#include "source/registers.h"
#include "types/desc.h"

#define PMU_FILE  "/sys/bus/event_source/devices/kprobe/type"
#define TASK_AT   (-8)
#define VALUE_AT  (-16)
#define STACK_AT  (-192)
#define ENTRY_AT  (-72)
#define RETURN_AT (-24)
#define RIP_AT    (-24)
#define ARGUMENTS 6u

_Static_assert(SONDE_SOURCE_VARIABLES == SONDE_BPF_VARIABLES, "one limit");

struct bpf_probe {
	const struct sonde_source_probe *is; /* borrowed */
	enum sonde_bpf_probe_program program;
	uint16_t id;
	struct sonde_bpf_load load;
	struct bpf_link *link;
	struct bpf_link *hold; /* keeps a tracepoint on; or NULL */
	struct sonde_bpf_probe_state *state; /* mapped; NULL: not loaded */
	uint64_t faults;
	uint64_t missed_before; /* it was recorded */
	uint64_t missed;        /* when it was taken out */
};

/* ---- the code ---- */

struct probe_code {
	struct bpf_insn *insns;
	size_t nr, max;
	int cpus; /* the map's descriptor */
	int err;
};

static void probe_add(struct probe_code *code, uint32_t op, uint8_t dst,
		      uint8_t src, int32_t offset, int32_t number)
{
	if (code->nr == code->max)
		code->err = -E2BIG;
	if (code->err)
		return;
	code->insns[code->nr++] = (struct bpf_insn){
		.code = (uint8_t)op,
		.dst_reg = dst & 0xfu,
		.src_reg = src & 0xfu,
		.off = (int16_t)offset,
		.imm = number,
	};
}

static const uint8_t argument_numbers[ARGUMENTS] = { 5, 4, 3, 2, 8, 9 };

/* Which argument of a function has it; ARGUMENTS: none. */
static uint32_t argument_in(uint32_t number)
{
	uint32_t i = 0;

	while (i < ARGUMENTS && argument_numbers[i] != number)
		i++;
	return i;
}

/* A variable is where R8 says. */
static bool is_variable(uint32_t number, uint8_t *ret_reg, int16_t *ret_offset)
{
	if (number < SONDE_EBPF_VARIABLE_0)
		return false;
	*ret_reg = BPF_REG_8;
	*ret_offset = (int16_t)(8 * (number - SONDE_EBPF_VARIABLE_0));
	return true;
}

static bool is_on_tracepoint(const struct sonde_source_probe *probe)
{
	return probe->tracepoint && !probe->target;
}

static bool probe_register(void *ctx, uint32_t number, uint8_t *ret_reg,
			   int16_t *ret_offset)
{
	const struct sonde_source_probe *probe = ctx;
	uint32_t argument = argument_in(number);

	if (is_variable(number, ret_reg, ret_offset))
		return true;
	*ret_reg = BPF_REG_6;
	if (number == SONDE_SOURCE_PROBE_CURRENT || number == SONDE_AGENT_RIP) {
		*ret_reg = BPF_REG_10;
		*ret_offset = number == SONDE_AGENT_RIP ? RIP_AT : TASK_AT;
		return true;
	}
	/* The first is no argument of the event. */
	if (is_on_tracepoint(probe)) {
		*ret_offset = (int16_t)(8 * ((int32_t)argument - 1));
		return argument > 0 && argument < ARGUMENTS;
	}
	if (number >= SONDE_ARRAY_SIZE(sonde_source_words))
		return false;
	*ret_offset = (int16_t)(8 * sonde_source_words[number]);
	return true;
}

/* By fentry and fexit: where a register's value was put. */
static bool called_register(void *ctx, uint32_t number, uint8_t *ret_reg,
			    int16_t *ret_offset)
{
	const struct sonde_source_probe *probe = ctx;
	uint32_t argument = argument_in(number);

	if (is_variable(number, ret_reg, ret_offset))
		return true;
	*ret_reg = BPF_REG_10;
	*ret_offset =
		number == SONDE_SOURCE_PROBE_CURRENT ? TASK_AT : RETURN_AT;
	if (number == SONDE_SOURCE_PROBE_CURRENT ||
	    (number == 0 && probe->at_return))
		return true;
	*ret_offset = (int16_t)(ENTRY_AT + 8 * (int32_t)argument);
	return argument < ARGUMENTS && argument < probe->nr_arguments;
}

/* The address of what is `at` bytes from where `src` points. (BPF_ADD is 0.) */
static void probe_address(struct probe_code *code, uint8_t dst, uint8_t src,
			  int32_t at)
{
	if (dst != src)
		probe_add(code, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
	probe_add(code, BPF_ALU64 | BPF_K, dst, 0, 0, at);
}

/* R3 or R2, the last argument of the call: a place on the stack. */
static void probe_ask(struct probe_code *code, uint8_t last, int32_t at,
		      int32_t helper)
{
	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_6, 0,
		  0);
	probe_address(code, last, BPF_REG_10, at);
	probe_add(code, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static bool names_register(const struct sonde_program *program, uint32_t number)
{
	for (uint32_t i = 0; program && i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];

		if (number == SONDE_EBPF_VARIABLE_0 &&
		    op->code == SONDE_EXPR_OP_GET_VARIABLE)
			return true;
		if (op->code == SONDE_EXPR_OP_REGISTER && op->number == number)
			return true;
	}
	return false;
}

static bool assigns_variables(const struct sonde_source_probe *probe)
{
	for (uint32_t i = 0; i < probe->nr_items; i++)
		if (probe->items[i].kind == SONDE_SOURCE_PROBE_ASSIGN)
			return true;
	return false;
}

/* Whether the run that decides, or the one that writes, needs it; VARIABLE_0: any
 * of the variables. */
static bool asks_register(const struct sonde_source_probe *probe, bool writes,
			  uint32_t number)
{
	bool asks = !writes && names_register(probe->condition, number);

	for (uint32_t i = 0; writes && i < probe->nr_items; i++)
		asks |= names_register(probe->items[i].program, number) ||
			(number < 64 && probe->items[i].mask >> number & 1);
	return asks || (writes && number == SONDE_EBPF_VARIABLE_0 &&
			assigns_variables(probe));
}

/* Those of the CPU, whose memory is there wherever this runs, which the kernel
 * doesn't know. */
static void code_finds_variables(struct probe_code *code)
{
	probe_add(code, BPF_JMP | BPF_CALL, 0, 0, 0,
		  BPF_FUNC_get_smp_processor_id);
	probe_add(code, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0,
		  VALUE_AT, 0);
	probe_add(code, BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD,
		  0, code->cpus);
	probe_add(code, 0, 0, 0, 0, 0);
	probe_address(code, BPF_REG_2, BPF_REG_10, VALUE_AT);
	probe_add(code, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem);
	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_8, BPF_REG_0, 0,
		  0);
	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
	probe_add(code, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_8, 0,
		  (int32_t)(code->max - code->nr - 1), 0);
	probe_address(code, BPF_REG_8, BPF_REG_8,
		      offsetof(struct sonde_bpf_cpu, variables));
}

/* The address that was asked for, where that is known: at functions that begin with
 * endbr the kernel's probe is behind that. Else what it says, which is behind the int3
 * that is, or might be, there. */
static void put_rip(struct probe_code *code,
		    const struct sonde_source_probe *probe)
{
	if (SONDE_ARRAY_SIZE(sonde_source_words) <= SONDE_AGENT_RIP) {
		code->err = -EOPNOTSUPP;
		return;
	}
	if (probe->address) {
		probe_add(code, BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, 0, 0,
			  (int32_t)(uint32_t)probe->address);
		probe_add(code, 0, 0, 0, 0, (int32_t)(probe->address >> 32));
	} else {
		probe_add(code, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1,
			  BPF_REG_6, 8 * sonde_source_words[SONDE_AGENT_RIP],
			  0);
		probe_add(code, BPF_ALU64 | BPF_SUB | BPF_K, BPF_REG_1, 0, 0,
			  1);
	}
	probe_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_1,
		  RIP_AT, 0);
}

/* What is asked for of a function's arguments, and of its value. */
static void put_called(struct probe_code *code,
		       const struct sonde_source_probe *probe, bool writes)
{
	for (uint32_t i = 0; i < probe->nr_arguments && i < ARGUMENTS; i++) {
		if (!asks_register(probe, writes, argument_numbers[i]))
			continue;
		probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0,
			  (int32_t)i);
		probe_ask(code, BPF_REG_3, ENTRY_AT + 8 * (int32_t)i,
			  BPF_FUNC_get_func_arg);
	}
	if (probe->at_return && asks_register(probe, writes, 0))
		probe_ask(code, BPF_REG_2, RETURN_AT, BPF_FUNC_get_func_ret);
}

static bool is_by_trampoline(enum sonde_bpf_probe_program program)
{
	return program == SONDE_BPF_PROBE_RETURN ||
	       program == SONDE_BPF_PROBE_ENTRY;
}

static void probe_begin(struct probe_code *code, const struct bpf_probe *of,
			bool writes)
{
	const struct sonde_source_probe *probe = of->is;

	if (asks_register(probe, writes, SONDE_EBPF_VARIABLE_0))
		code_finds_variables(code);
	if (asks_register(probe, writes, SONDE_SOURCE_PROBE_CURRENT)) {
		probe_add(code, BPF_JMP | BPF_CALL, 0, 0, 0,
			  BPF_FUNC_get_current_task);
		probe_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10,
			  BPF_REG_0, TASK_AT, 0);
	}
	if (is_by_trampoline(of->program))
		put_called(code, probe, writes);
	else if (asks_register(probe, writes, SONDE_AGENT_RIP))
		put_rip(code, probe);
}

static void probe_compute(struct probe_code *code, const struct bpf_probe *of,
			  const struct sonde_program *program, bool keeps_value)
{
	const bool called = is_by_trampoline(of->program);
	const struct sonde_ebpf_config config = {
		.stack = STACK_AT,
		.room = (called ? ENTRY_AT : RIP_AT) - STACK_AT,
		.registers = called ? called_register : probe_register,
		.read_helper = BPF_FUNC_probe_read_kernel,
		.tells_faults = true,
		.keeps_value = keeps_value,
		.value_at = VALUE_AT,
		.ctx = sonde_unconst(of->is),
	};
	size_t nr = 0;

	if (code->err)
		return;
	code->err =
		sonde_ebpf_generate(program, &config, code->insns + code->nr,
				    code->max - code->nr, &nr);
	code->nr += nr;
}

/* It is 0, and said to be so. */
static void probe_lack(struct probe_code *code, uint32_t item)
{
	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0,
		  (int32_t)(UINT32_C(1) << item));
	probe_add(code, BPF_ALU64 | BPF_OR | BPF_X, BPF_REG_9, BPF_REG_1, 0, 0);
}

/* The value, or 0, to the payload. */
static void put_value_of(struct probe_code *code, uint32_t item, uint32_t bytes,
			 uint32_t at)
{
	uint32_t size = bytes == 8 ? BPF_DW :
			bytes == 4 ? BPF_W :
			bytes == 2 ? BPF_H :
				     BPF_B;

	probe_add(code, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 4, 1);
	probe_lack(code, item);
	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 0);
	probe_add(code, BPF_JMP | BPF_JA, 0, 0, 1, 0);
	probe_add(code, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_10,
		  VALUE_AT, 0);
	probe_add(code, BPF_STX | BPF_MEM | size, BPF_REG_7, BPF_REG_1,
		  (int32_t)at, 0);
}

/* The value becomes the variable's, if there is one. */
static void put_assignment(struct probe_code *code, uint32_t item,
			   uint32_t variable)
{
	probe_add(code, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 3, 1);
	probe_lack(code, item);
	probe_add(code, BPF_JMP | BPF_JA, 0, 0, 2, 0);
	probe_add(code, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_10,
		  VALUE_AT, 0);
	probe_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_8, BPF_REG_1,
		  (int32_t)(8 * variable), 0);
}

/* Where an item goes, and its address; 0: it isn't told. */
struct probe_places {
	uint32_t at, address_at;
};

/* What is where the value says. Where there is no value, what is at 0, which
 * can't be read, so that the payload is filled in whichever way. */
static void put_what_is_there(struct probe_code *code, uint32_t item,
			      const struct sonde_source_probe_item *is,
			      const struct probe_places *places)
{
	bool is_text = is->kind == SONDE_SOURCE_PROBE_TEXT;
	int32_t address_at = (int32_t)places->address_at;
	int32_t at = (int32_t)places->at;

	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0);
	probe_add(code, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 1, 1);
	probe_add(code, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_10,
		  VALUE_AT, 0);
	if (address_at)
		probe_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_7,
			  BPF_REG_3, address_at, 0);
	probe_address(code, BPF_REG_1, BPF_REG_7, at);
	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0,
		  (int32_t)is->bytes);
	probe_add(code, BPF_JMP | BPF_CALL, 0, 0, 0,
		  is_text ? BPF_FUNC_probe_read_kernel_str :
			    BPF_FUNC_probe_read_kernel);
	probe_add(code, BPF_JMP | BPF_JSGE | BPF_K, BPF_REG_0, 0,
		  address_at ? 4 : 3, 0);
	probe_lack(code, item);
	probe_add(code, BPF_ST | BPF_MEM | BPF_B, BPF_REG_7, 0, at, 0);
	if (address_at)
		probe_add(code, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_7, 0,
			  address_at, 0);
}

static void put_registers_of(struct probe_code *code,
			     const struct sonde_source_probe *probe,
			     uint64_t mask, uint32_t at)
{
	int16_t offset;
	uint8_t from;

	for (uint32_t i = 0; mask; i++, mask >>= 1) {
		if (!(mask & 1))
			continue;
		if (!probe_register(sonde_unconst(probe), i, &from, &offset))
			code->err = -EOPNOTSUPP;
		probe_add(code, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, from,
			  offset, 0);
		probe_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_7,
			  BPF_REG_1, (int32_t)at, 0);
		at += 8;
	}
}

static bool is_memory(const struct sonde_source_probe_item *item)
{
	return item->kind == SONDE_SOURCE_PROBE_MEMORY ||
	       item->kind == SONDE_SOURCE_PROBE_TEXT;
}

static void put_probe_item(struct probe_code *code, const struct bpf_probe *of,
			   uint32_t i, const struct probe_places *places)
{
	const struct sonde_source_probe_item *item = &of->is->items[i];

	if (item->kind == SONDE_SOURCE_PROBE_REGISTERS) {
		put_registers_of(code, of->is, item->mask, places->at);
		return;
	}
	probe_compute(code, of, item->program, true);
	if (item->kind == SONDE_SOURCE_PROBE_ASSIGN)
		put_assignment(code, i, item->variable);
	else if (is_memory(item))
		put_what_is_there(code, i, item, places);
	else
		put_value_of(code, i, item->bytes, places->at);
}

static void put_items(struct probe_code *code, const struct bpf_probe *of,
		      uint32_t *ret_bytes)
{
	const struct sonde_source_probe *probe = of->is;
	struct probe_places places = { 0 };
	uint32_t at = 0;

	for (uint32_t i = 0; i < probe->nr_items; i++)
		at += probe->items[i].bytes;
	probe_begin(code, of, true);
	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_9, 0, 0, 0);
	for (uint32_t i = 0; i < probe->nr_items; i++) {
		bool is_told =
			probe->tells_addresses && is_memory(&probe->items[i]);

		places.address_at = is_told ? at : 0;
		put_probe_item(code, of, i, &places);
		places.at += probe->items[i].bytes;
		at += is_told ? 8 : 0;
	}
	if (probe->tells_unread) {
		probe_add(code, BPF_STX | BPF_MEM | BPF_W, BPF_REG_7, BPF_REG_9,
			  (int32_t)at, 0);
		at += 4;
	}
	probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
	*ret_bytes = at;
}

/* ---- the object ---- */

static int probe_fail(const struct bpf_probe *probe,
		      struct sonde_source_error *error, int rc, const char *why)
{
	return sonde_source_fail(error, rc, "%.100s: %.400s",
				 probe->is->function, why);
}

/* The compiled program, with call stacks or without. */
static size_t probe_image_size(const struct bpf_source *source)
{
	return source->config.stacks ? sonde_bpf_probe_stacks_size :
				       sonde_bpf_probe_size;
}

/* A run of no-ops to write code to. */
static struct probe_code gap_of_probe(unsigned char *image, size_t size,
				      uint32_t mark, uint32_t nr)
{
	unsigned char *at = bpf_condition_place(image, size, mark, nr);

	/* sections are aligned in the file, and so is its copy */
	return (struct probe_code){ .insns = (void *)at,
				    .max = nr,
				    .err = at ? 0 : -ENOEXEC };
}

static bool sees_arguments_only(const struct sonde_source_probe *probe)
{
	for (uint32_t number = 0; number < SONDE_EXPR_REGISTERS; number++)
		if (number != SONDE_SOURCE_PROBE_CURRENT &&
		    argument_in(number) >= probe->nr_arguments &&
		    (asks_register(probe, false, number) ||
		     asks_register(probe, true, number)))
			return false;
	return true;
}

/* NULL: by fentry it can be; else why not. */
static const char *why_no_entry(const struct bpf_source *source,
				const struct sonde_source_probe *probe)
{
	if (!source->ids[SONDE_BPF_PREEMPT_DISABLE])
		return "fentry takes Linux 6.10 or later, whose programs can "
		       "keep to a CPU (bpf_preempt_disable)";
	if (source->config.stacks)
		return "fentry has no call stacks";
	if (!probe->is_typed)
		return "fentry takes the first byte of a function that the "
		       "kernel's types (BTF) have";
	return sees_arguments_only(probe) ?
		       NULL :
		       "fentry has the function's arguments, and no other "
		       "registers";
}

static bool has_kprobes(void)
{
	return !access(PMU_FILE, R_OK);
}

static int choose_program(const struct bpf_source *source,
			  struct bpf_probe *probe,
			  struct sonde_source_error *error)
{
	const struct sonde_source_probe *is = probe->is;
	const char *why = why_no_entry(source, is);

	probe->program = is->at_return        ? SONDE_BPF_PROBE_RETURN :
			 is_on_tracepoint(is) ? SONDE_BPF_PROBE_EVENT :
			 why                  ? SONDE_BPF_PROBE_KPROBE :
						SONDE_BPF_PROBE_ENTRY;
	return probe->program != SONDE_BPF_PROBE_KPROBE || has_kprobes() ?
		       0 :
		       sonde_source_fail(error, -ENODEV,
					 "%.100s: this kernel has no kprobes "
					 "(CONFIG_KPROBES), and %s",
					 is->function, why);
}

static void put_probe_condition(struct probe_code *code,
				const struct bpf_probe *probe)
{
	if (!probe->is->condition) {
		probe_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0,
			  1);
		return;
	}
	probe_begin(code, probe, false);
	probe_compute(code, probe, probe->is->condition, false);
}

static int fill_gaps(const struct bpf_source *source,
		     const struct bpf_probe *probe, unsigned char *image)
{
	const size_t size = probe_image_size(source);
	struct probe_code tests =
		gap_of_probe(image, size, SONDE_BPF_PROBE_MARK + probe->program,
			     SONDE_BPF_PROBE_DECIDE);
	struct probe_code puts = gap_of_probe(
		image, size, SONDE_BPF_PROBE_WRITE_MARK, SONDE_BPF_PROBE_WRITE);
	uint32_t consts[SONDE_BPF_NR_CONSTS];
	uint32_t bytes = 0;

	tests.cpus = bpf_map__fd(bpf_object_map(source->object, "cpus"));
	puts.cpus = tests.cpus;
	put_probe_condition(&tests, probe);
	put_items(&puts, probe, &bytes);
	if (tests.err || puts.err)
		return tests.err ? tests.err : puts.err;
	bpf_code_leave(tests.insns, tests.nr, tests.max);
	bpf_code_leave(puts.insns, puts.nr, puts.max);
	memcpy(consts, source->consts, sizeof(consts));
	consts[SONDE_BPF_PROBE_ID] = probe->id;
	consts[SONDE_BPF_PROBE_BYTES] = bytes;
	consts[SONDE_BPF_PROBE_COUNTS] =
		probe->is->passes || probe->is->live != NULL;
	consts[SONDE_BPF_PROBE_ASSIGNS] = assigns_variables(probe->is);
	bpf_object_patch(source, consts, image, size);
	return 0;
}

static int share_maps(struct bpf_source *source, struct bpf_object *object)
{
	static const char *const names[] = { "data", "cpus", "tracked",
					     ".data.clocks" };
	int rc = 0;

	for (size_t i = 0; !rc && i < SONDE_ARRAY_SIZE(names); i++) {
		struct bpf_map *map = bpf_object_map(object, names[i]);

		rc = map ? bpf_map__reuse_fd(
				   map, bpf_map__fd(bpf_object_map(
						source->object, names[i]))) :
			   -ENOEXEC;
	}
	return rc;
}

static const char *probe_program(const struct bpf_probe *probe)
{
	static const char *const names[] = {
		[SONDE_BPF_PROBE_KPROBE] = "probe",
		[SONDE_BPF_PROBE_EVENT] = "probe_event",
		[SONDE_BPF_PROBE_RETURN] = "probe_return",
		[SONDE_BPF_PROBE_ENTRY] = "probe_entry",
	};

	return names[probe->program];
}

static const char *probe_target(void *ctx, const struct bpf_program *program)
{
	const struct bpf_probe *probe = ctx;

	(void)program;
	return probe->is->function;
}

/* Those that it takes: one, and at a site the one that keeps it on. */
static int keep_program_of(struct bpf_probe *probe)
{
	struct bpf_program *program;
	int rc = 0;

	bpf_object__for_each_program(program, probe->load.object)
	{
		const char *name = bpf_program__name(program);

		if (!rc && strcmp(name, probe_program(probe)) != 0 &&
		    (!probe->is->target || strcmp(name, "probe_hold") != 0))
			rc = bpf_program__set_autoload(program, false);
	}
	return rc;
}

static void follow_wish(struct bpf_probe *probe)
{
	const struct sonde_source_probe_live *live = probe->is->live;

	if (live)
		sonde_store_relaxed(&probe->state->off,
				    sonde_load_relaxed(&live->wants_off));
}

static int map_state(struct bpf_probe *probe)
{
	struct bpf_map *map = bpf_object_map(probe->load.object, ".data.probe");
	void *at =
		map ? mmap(NULL, sizeof(*probe->state), PROT_READ | PROT_WRITE,
			   MAP_SHARED, bpf_map__fd(map), 0) :
		      MAP_FAILED;

	if (at == MAP_FAILED)
		return -ENOEXEC;
	probe->state = at;
	probe->state->passes = probe->is->passes;
	follow_wish(probe);
	return 0;
}

static const char *why_not_made(int rc)
{
	return rc == -E2BIG ?
		       "the condition, or what is collected, is too much for a "
		       "program in the kernel" :
		       "the condition, or what is collected, can't be computed "
		       "in the kernel";
}

/* Other programs have been loaded, so rights aren't what lacks. */
static const char *why_not_permitted(void)
{
	return has_kprobes() ?
		       "this machine permits no programs at functions (fentry, "
		       "fexit)" :
		       "this machine permits no programs at functions (fentry, "
		       "fexit), and its kernel has no kprobes (CONFIG_KPROBES)";
}

static int load_probe(struct bpf_source *source, struct bpf_probe *probe,
		      unsigned char *image, struct sonde_source_error *error)
{
	const char *missing;
	int rc;

	if (probe->is->at_return && !source->ids[SONDE_BPF_PREEMPT_DISABLE])
		return probe_fail(probe, error, -EOPNOTSUPP,
				  "returns can be recorded on Linux 6.10 and "
				  "later, whose programs can keep to a CPU "
				  "(bpf_preempt_disable)");
	memcpy(image,
	       source->config.stacks ? sonde_bpf_probe_stacks : sonde_bpf_probe,
	       probe_image_size(source));
	rc = fill_gaps(source, probe, image);
	if (rc == -E2BIG || rc == -EOPNOTSUPP)
		return probe_fail(probe, error, -EOPNOTSUPP, why_not_made(rc));
	if (!rc)
		rc = sonde_bpf_load_open(
			&probe->load, "sonde_probe", image,
			probe_image_size(source),
			probe > source->probes ? &source->probes->load : NULL);
	if (!rc)
		rc = share_maps(source, probe->load.object);
	if (!rc)
		rc = keep_program_of(probe);
	if (!rc)
		rc = sonde_bpf_load(&probe->load, &source->btf, probe_target,
				    probe, &missing);
	if (!rc)
		rc = map_state(probe);
	if (rc == -EPERM && is_by_trampoline(probe->program))
		return probe_fail(probe, error, rc, why_not_permitted());
	return rc ? bpf_object_explain(source, error, rc, probe->is->name) : 0;
}

static struct bpf_program *find_probe_program(const struct bpf_probe *probe,
					      const char *name)
{
	return bpf_object__find_program_by_name(probe->load.object, name);
}

/* Without a function, the kernel takes the offset for an address. */
static struct bpf_link *attach_kprobe_of(const struct sonde_source_probe *probe,
					 const struct bpf_program *program)
{
	const struct bpf_kprobe_opts options = {
		.sz = sizeof(options),
		.offset = probe->target  ? probe->target :
			  probe->address ? probe->address :
					   probe->offset,
	};

	return bpf_program__attach_kprobe_opts(
		program, probe->address ? NULL : probe->function, &options);
}

static int attach_program_of(struct bpf_probe *probe)
{
	const struct sonde_source_probe *is = probe->is;
	struct bpf_program *program =
		find_probe_program(probe, probe_program(probe));

	if (program && is_by_trampoline(probe->program))
		probe->link = bpf_program__attach_trace(program);
	else if (program && is_on_tracepoint(is))
		probe->link = bpf_program__attach_raw_tracepoint(
			program, is->tracepoint);
	else if (program)
		probe->link = attach_kprobe_of(is, program);
	if (probe->link && is->target) {
		program = find_probe_program(probe, "probe_hold");
		probe->hold = bpf_program__attach_raw_tracepoint(
			program, is->tracepoint);
	}
	return probe->link && (!is->target || probe->hold) ? 0 : -errno;
}

static const char *why_not_attached(const struct bpf_probe *of, int rc)
{
	const struct sonde_source_probe *probe = of->is;

	if (is_by_trampoline(of->program))
		return "the kernel lets no program be at that function: ftrace "
		       "doesn't know it (notrace), or has something else there";
	if (is_on_tracepoint(probe))
		return "the kernel lets no probe be on that tracepoint: it has "
		       "none of that name, or fewer arguments";
	if (rc == -EADDRNOTAVAIL)
		return "there are several functions of that name, and the "
		       "kernel doesn't say which is meant";
	return probe->target ?
		       "the kernel lets no probe be at that site (notrace, or "
		       "code that probes themselves need): there are the "
		       "event's arguments, strace -m args/GROUP:EVENT" :
		       "the kernel lets no probe be there: it is code that "
		       "probes themselves need, or in no instruction's "
		       "beginning (notrace, "
		       "/sys/kernel/debug/kprobes/blacklist)";
}

static int attach_probe(const struct bpf_source *source,
			struct bpf_probe *probe,
			struct sonde_source_error *error)
{
	int rc = attach_program_of(probe);

	if (!rc)
		return 0;
	if (rc == -EPERM || rc == -EACCES)
		return bpf_object_explain(source, error, rc,
					  probe->is->function);
	return probe_fail(probe, error, -EOPNOTSUPP,
			  why_not_attached(probe, rc));
}

/* ---- variables ---- */

static void init_variables(struct bpf_source *source)
{
	const struct sonde_source_variables *variables =
		source->config.variables;

	for (uint32_t i = 0; variables && i < source->geometry.nr_cpus; i++)
		memcpy(source->cpus[i].variables, variables->initial,
		       sizeof(variables->initial));
}

static void total_variables(struct bpf_source *source)
{
	struct sonde_source_variables *variables = source->config.variables;

	for (uint32_t k = 0;
	     variables && source->cpus && k < SONDE_SOURCE_VARIABLES; k++) {
		uint64_t first = (uint64_t)variables->initial[k];
		uint64_t total = first;

		for (uint32_t i = 0; i < source->geometry.nr_cpus; i++)
			total += (uint64_t)sonde_load_relaxed(
					 &source->cpus[i].variables[k]) -
				 first;
		sonde_store_relaxed(&variables->totals[k], (int64_t)total);
	}
}

/* ---- hits that are left out ---- */

static bool takes_kprobe(const struct bpf_probe *probe)
{
	return probe->program == SONDE_BPF_PROBE_KPROBE;
}

static uint32_t nr_kprobes(const struct bpf_source *source)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < source->config.nr_probes; i++)
		nr += takes_kprobe(&source->probes[i]);
	return nr;
}

/* Since it was put in. */
static uint64_t missed_by_probe(struct bpf_source *source,
				const struct bpf_probe *probe)
{
	uint64_t missed = bpf_program_missed(
		find_probe_program(probe, probe_program(probe)));

	return takes_kprobe(probe) ?
		       missed + bpf_misses_of(source, probe->link) :
		       missed;
}

uint64_t bpf_probes_missed(struct bpf_source *source)
{
	uint64_t missed = 0;

	for (uint32_t i = 0; source->probes && i < source->config.nr_probes;
	     i++) {
		const struct bpf_probe *probe = &source->probes[i];

		missed += probe->link ? missed_by_probe(source, probe) -
						probe->missed_before :
					probe->missed;
	}
	return missed;
}

/* ---- life ---- */

static void unload_probe(struct bpf_probe *probe)
{
	sonde_bpf_load_close(&probe->load);
	if (probe->state) /* ours, so it can't fail */
		(void)munmap(probe->state, sizeof(*probe->state));
	probe->state = NULL;
}

/* What is refused to fentry may be a kprobe. */
static int load_and_attach(struct bpf_source *source, struct bpf_probe *probe,
			   unsigned char *image,
			   struct sonde_source_error *error)
{
	int rc = load_probe(source, probe, image, error);

	if (!rc)
		rc = attach_probe(source, probe, error);
	if (!rc || probe->program != SONDE_BPF_PROBE_ENTRY || !has_kprobes())
		return rc;
	unload_probe(probe);
	probe->program = SONDE_BPF_PROBE_KPROBE;
	return load_and_attach(source, probe, image, error);
}

int bpf_probes_load(struct bpf_source *source, struct sonde_source_error *error)
{
	unsigned char *image;
	int rc = 0;

	if (!source->config.nr_probes)
		return 0;
	image = malloc(probe_image_size(source));
	if (!image)
		return sonde_source_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; !rc && i < source->config.nr_probes; i++) {
		rc = choose_program(source, &source->probes[i], error);
		if (!rc)
			rc = load_and_attach(source, &source->probes[i], image,
					     error);
	}
	free(image);
	if (!rc && nr_kprobes(source))
		bpf_misses_load(source);
	return rc;
}

int bpf_probes_select(struct bpf_source *source)
{
	const struct sonde_source_config *config = &source->config;
	int rc = 0;

	if (!config->nr_probes)
		return 0;
	source->probes = calloc(config->nr_probes, sizeof(*source->probes));
	if (!source->probes)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < config->nr_probes; i++) {
		const struct sonde_source_probe *is = &config->probes[i];
		const struct bpf_test test = { .late = is->late };
		struct bpf_probe *probe = &source->probes[i];

		probe->is = is;
		probe->load.types = -1;
		rc = bpf_events_add(source, sonde_desc_provider(is->desc),
				    is->name, is->desc, &test, &probe->id);
	}
	return rc;
}

static void tell_live(struct bpf_probe *probe)
{
	struct sonde_source_probe_live *live = probe->is->live;
	uint64_t hits;

	if (!live || !probe->state)
		return;
	follow_wish(probe);
	hits = sonde_load_relaxed(&probe->state->hits);
	/* Those that came too late were counted, too. */
	if (probe->is->passes && hits > probe->is->passes)
		hits = probe->is->passes;
	sonde_store_relaxed(&live->hits, hits);
	sonde_store_relaxed(&live->is_off, (uint32_t)probe->state->off);
}

void bpf_probes_begin(struct bpf_source *source)
{
	init_variables(source);
	for (uint32_t i = 0; i < source->config.nr_probes; i++)
		source->probes[i].missed_before =
			missed_by_probe(source, &source->probes[i]);
	if (nr_kprobes(source))
		bpf_misses_look(source, nr_kprobes(source));
}

void bpf_probes_tick(struct bpf_source *source)
{
	for (uint32_t i = 0; source->probes && i < source->config.nr_probes;
	     i++)
		tell_live(&source->probes[i]);
	if (source->probes)
		total_variables(source);
}

static void detach_probe(struct bpf_probe *probe)
{
	/* It says no more than that the descriptor was closed. */
	(void)bpf_link__destroy(probe->hold);
	(void)bpf_link__destroy(probe->link);
	probe->hold = NULL;
	probe->link = NULL;
	tell_live(probe);
	if (probe->state)
		probe->faults = sonde_load_relaxed(&probe->state->faults);
}

void bpf_probes_detach(struct bpf_source *source)
{
	if (!source->probes)
		return;
	if (nr_kprobes(source))
		bpf_misses_look(source, nr_kprobes(source));
	/* Before any is taken out, which takes long: what those that are left miss
	 * meanwhile nobody wants. */
	for (uint32_t i = 0; i < source->config.nr_probes; i++) {
		struct bpf_probe *probe = &source->probes[i];

		if (probe->link)
			probe->missed = missed_by_probe(source, probe) -
					probe->missed_before;
	}
	for (uint32_t i = 0; i < source->config.nr_probes; i++)
		detach_probe(&source->probes[i]);
	total_variables(source);
}

uint64_t bpf_probes_faults(const struct bpf_source *source, uint32_t i)
{
	return source->probes ? source->probes[i].faults : 0;
}

void bpf_probes_free(struct bpf_source *source)
{
	for (uint32_t i = 0; source->probes && i < source->config.nr_probes;
	     i++)
		unload_probe(&source->probes[i]);
	bpf_misses_free(source);
	free(source->probes);
	source->probes = NULL;
}
