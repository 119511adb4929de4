/* SPDX-License-Identifier: MIT */
/*
 * collect.c - items into bytes.
 *
 * What can't be read is there as zeros, and the record counts as cut; so does
 * one that has no room for all. Programs run in the reference evaluator
 * (expr/eval.c), to which this is the machine.
 */
#include "probe/agent/collect.h"

#include "clock/clock.h"
#include "expr/program.h"
#include "probe/agent/append.h"
#include "probe/agent/memory.h"

#define NO_REGISTER     255
#define GENERAL_MASK    ((1ull << SONDE_AGENT_CS) - 1)
#define BLOCK_BYTES_MAX 65535u
#define NOTHING_BELOW   4096u
#define SAYS_NULL       0x296c6c756e28u /* "(null)" */
#define SAYS_BAD        0x2964616228u   /* "(bad)" */

/* ---- bytes ---- */

/* The low bytes of `value`; there is room for eight. */
static inline void put(struct sonde_agent_record *record, uint64_t value,
		       uint32_t bytes)
{
	if (bytes > record->room - record->size) {
		record->is_cut = true;
		return;
	}
	__builtin_memcpy(record->bytes + record->size, &value, sizeof(value));
	record->size += bytes;
}

/* As many of `bytes` as there is room for before `end`. */
static uint32_t agent_collect_fitting(struct sonde_agent_record *record,
				      uint64_t bytes, uint32_t end)
{
	if (bytes <= end - record->size)
		return (uint32_t)bytes;
	record->is_cut = true;
	return end - record->size;
}

static void put_zeros(struct sonde_agent_record *record, uint32_t end)
{
	while (record->size < end)
		record->bytes[record->size++] = 0;
}

/* Memory of the program. False, and zeros, if it can't be read. */
static bool put_memory(struct sonde_agent_record *record, uint64_t address,
		       uint32_t bytes)
{
	uint8_t *to = record->bytes + record->size;
	uint64_t missing = sonde_agent_copy(to, address, bytes);

	record->size += bytes - (uint32_t)missing;
	put_zeros(record, record->size + (uint32_t)missing);
	record->is_cut |= missing != 0;
	return !missing;
}

static void note_address(struct sonde_agent_record *record, uint64_t address)
{
	if (record->nr_addresses < SONDE_AGENT_ADDRESSES_MAX)
		record->addresses[record->nr_addresses++] = address;
	else
		record->is_cut = true;
}

/* ---- the machine of programs ---- */

static bool agent_collect_machine_read(void *ctx, uint64_t address, void *to,
				       uint32_t bytes)
{
	uint64_t value;

	(void)ctx;
	if (!sonde_agent_load(address, bytes, &value))
		return false;
	__builtin_memcpy(to, &value, bytes);
	return true;
}

static uint64_t agent_collect_machine_get(void *ctx, uint32_t variable)
{
	struct sonde_agent_record *record = ctx;
	struct sonde_agent *agent = record->agent;

	if (variable >= SONDE_AGENT_VARIABLES_MAX)
		return 0;
	if (variable >= SONDE_AGENT_VARIABLE_FIRST ||
	    !(agent->variables_builtin >> variable & 1))
		return (uint64_t)sonde_load_relaxed(
			&agent->variables[variable]);
	switch (variable) {
	case SONDE_AGENT_VARIABLE_TIMESTAMP:
	case SONDE_AGENT_VARIABLE_TRACE_TIMESTAMP:
		return sonde_clock_cpu();
	case SONDE_AGENT_VARIABLE_TID:
		return sonde_agent_tid();
	case SONDE_AGENT_VARIABLE_CPU:
		return sonde_agent_cpu();
	default:
		return 0;
	}
}

static void agent_collect_machine_set(void *ctx, uint32_t variable,
				      uint64_t value)
{
	struct sonde_agent_record *record = ctx;

	if (variable < SONDE_AGENT_VARIABLES_MAX)
		sonde_store_relaxed(&record->agent->variables[variable],
				    (int64_t)value);
}

/* 'M' u64 address u16 length bytes; what can't be read has no block. */
static void trace_block(struct sonde_agent_record *record, uint64_t address,
			uint64_t bytes)
{
	uint32_t start = record->size;
	uint32_t nr;

	if (record->limit - record->size < 11) {
		record->is_cut = true;
		return;
	}
	put(record, 'M', 1);
	put(record, address, 8);
	nr = agent_collect_fitting(record, bytes, record->limit - 2);
	if (nr > BLOCK_BYTES_MAX)
		nr = BLOCK_BYTES_MAX;
	put(record, nr, 2);
	if (!put_memory(record, address, nr))
		record->size = start;
}

static void agent_collect_machine_trace(void *ctx, uint64_t address,
					uint64_t bytes)
{
	struct sonde_agent_record *record = ctx;
	uint32_t nr;

	if (record->as_blocks) {
		trace_block(record, address, bytes);
		return;
	}
	nr = agent_collect_fitting(record, bytes, record->limit);
	note_address(record, put_memory(record, address, nr) ? address : 0);
}

/* Bytes before the NUL, or `most`; fewer if they can't be read. */
static uint64_t agent_collect_text_length(uint64_t address, uint64_t most)
{
	uint64_t nr = 0;
	uint64_t byte;

	while (nr < most && sonde_agent_load(address + nr, 1, &byte) && byte)
		nr++;
	return nr;
}

static void agent_collect_machine_trace_string(void *ctx, uint64_t address,
					       uint64_t most)
{
	uint64_t nr;

	if (most > SONDE_AGENT_STAGE)
		most = SONDE_AGENT_STAGE;
	nr = agent_collect_text_length(address, most);
	/* with its NUL */
	agent_collect_machine_trace(ctx, address, nr < most ? nr + 1 : nr);
}

/* 'V' i32 number i64 value. */
static void agent_collect_machine_trace_variable(void *ctx, uint32_t variable)
{
	struct sonde_agent_record *record = ctx;

	if (!record->as_blocks || record->limit - record->size < 13) {
		record->is_cut = true;
		return;
	}
	put(record, 'V', 1);
	put(record, variable, 4);
	put(record, agent_collect_machine_get(ctx, variable), 8);
}

void sonde_agent_run(struct sonde_agent_record *record, uint64_t program,
		     struct sonde_expr_value *ret_value)
{
	struct sonde_expr_machine machine = {
		.read = agent_collect_machine_read,
		.get = agent_collect_machine_get,
		.set = agent_collect_machine_set,
		.trace = agent_collect_machine_trace,
		.trace_string = agent_collect_machine_trace_string,
		.trace_variable = agent_collect_machine_trace_variable,
	};
	struct sonde_expr_env env;

	env.ctx = record;
	env.registers = record->registers->r;
	env.machine = &machine;
	env.machine_ctx = record;
	sonde_program_eval((const void *)(record->agent->plans + program), &env,
			   ret_value);
}

/* ---- items ---- */

static void find_segments(struct sonde_agent_record *record)
{
	uint64_t *r = record->registers->r;
	uint32_t value;

#define SEGMENT(number, name)                                 \
	do {                                                  \
		__asm__("movl %%" name ", %0" : "=r"(value)); \
		r[number] = value;                            \
	} while (0)
	SEGMENT(SONDE_AGENT_CS, "cs");
	SEGMENT(SONDE_AGENT_SS, "ss");
	SEGMENT(SONDE_AGENT_DS, "ds");
	SEGMENT(SONDE_AGENT_ES, "es");
	SEGMENT(SONDE_AGENT_FS, "fs");
	SEGMENT(SONDE_AGENT_GS, "gs");
#undef SEGMENT
	if (record->agent->has_fsgsbase) {
		__asm__("rdfsbase %0" : "=r"(r[SONDE_AGENT_FS_BASE]));
		__asm__("rdgsbase %0" : "=r"(r[SONDE_AGENT_GS_BASE]));
	} else {
		/* the ABI: the thread control block begins with its address */
		__asm__("movq %%fs:0, %0" : "=r"(r[SONDE_AGENT_FS_BASE]));
		r[SONDE_AGENT_GS_BASE] = 0;
	}
}

static void collect_registers(struct sonde_agent_record *record, uint64_t mask)
{
	const uint64_t *r = record->registers->r;

	if (mask & ~GENERAL_MASK)
		find_segments(record);
	for (; mask; mask &= mask - 1)
		put(record, r[__builtin_ctzll(mask)], 8);
}

static void collect_memory(struct sonde_agent_record *record,
			   const struct sonde_agent_item *item)
{
	uint64_t address = (uint64_t)item->offset;
	uint64_t value;
	bool ok;

	if (item->reg != NO_REGISTER)
		address += record->registers->r[item->reg];
	switch (item->length) {
	case 1:
	case 2:
	case 4:
	case 8:
		ok = sonde_agent_load(address, item->length, &value);
		record->is_cut |= !ok;
		put(record, value, item->length);
		break;
	default:
		ok = put_memory(record, address,
				agent_collect_fitting(record, item->length,
						      record->room));
		break;
	}
	note_address(record, ok ? address : 0);
}

static void collect_program(struct sonde_agent_record *record,
			    const struct sonde_agent_item *item)
{
	uint32_t end =
		record->size +
		agent_collect_fitting(record, item->length, record->room);
	uint32_t nr_addresses = record->nr_addresses;
	struct sonde_expr_value value;

	record->limit = end;
	record->as_blocks = false;
	sonde_agent_run(record, item->program, &value);
	put_zeros(record, end);
	if (record->nr_addresses > nr_addresses + item->nr_blocks)
		record->nr_addresses = nr_addresses + item->nr_blocks;
	while (record->nr_addresses < nr_addresses + item->nr_blocks &&
	       record->nr_addresses < SONDE_AGENT_ADDRESSES_MAX)
		note_address(record, 0);
}

/* What is left for blocks, when the addresses have been told behind them. */
static uint32_t room_for_blocks(const struct sonde_agent_record *record)
{
	uint32_t behind = record->nr_addresses * (uint32_t)sizeof(uint64_t);
	uint32_t left = record->room - record->size;

	return left > behind ? left - behind : 0;
}

static void collect_blocks(struct sonde_agent_record *record,
			   const struct sonde_agent_item *item)
{
	uint32_t start = record->size;
	struct sonde_expr_value value;
	uint32_t bytes;

	put(record, 0, 4);
	if (record->size == start)
		return;
	bytes = item->length ? item->length : room_for_blocks(record);
	record->limit = record->size +
			agent_collect_fitting(record, bytes, record->room);
	record->as_blocks = true;
	sonde_agent_run(record, item->program, &value);
	bytes = record->size - start - 4;
	record->block_bytes += bytes;
	__builtin_memcpy(record->bytes + start, &bytes, sizeof(bytes));
}

/* A program's value; 0 if it has none. */
static uint64_t value_of(struct sonde_agent_record *record,
			 const struct sonde_agent_item *item)
{
	struct sonde_expr_value value;

	if (!item->program)
		return item->reg == NO_REGISTER ?
			       (uint64_t)item->offset :
			       record->registers->r[item->reg] >> item->offset;
	record->limit = record->size;
	record->as_blocks = false;
	sonde_agent_run(record, item->program, &value);
	return value.type == SONDE_EXPR_MISSING ? 0 : value.u;
}

/* False: the text can be read. Nothing is tried where never anything is. */
static bool put_bad(struct sonde_agent_record *record, uint64_t address)
{
	uint64_t byte;

	if (address >= NOTHING_BELOW && sonde_agent_load(address, 1, &byte))
		return false;
	if (address)
		put(record, SAYS_BAD, 5);
	else
		put(record, SAYS_NULL, 6);
	put(record, 0, 1);
	return true;
}

static void collect_string(struct sonde_agent_record *record,
			   const struct sonde_agent_item *item)
{
	uint64_t address = value_of(record, item);
	uint32_t most;
	uint64_t nr;

	if (item->says_bad && put_bad(record, address))
		return;

	if (record->size == record->room) {
		record->is_cut = true;
		return;
	}
	most = agent_collect_fitting(record, item->length, record->room - 1);
	nr = agent_collect_text_length(address, most);
	note_address(record,
		     put_memory(record, address, (uint32_t)nr) ? address : 0);
	put(record, 0, 1);
}

static void collect_item(struct sonde_agent_record *record,
			 const struct sonde_agent_item *item)
{
	switch ((enum sonde_agent_item_kind)item->kind) {
	case SONDE_AGENT_ITEM_REGISTERS:
		collect_registers(record, item->mask);
		break;
	case SONDE_AGENT_ITEM_MEMORY:
		collect_memory(record, item);
		break;
	case SONDE_AGENT_ITEM_PROGRAM:
		collect_program(record, item);
		break;
	case SONDE_AGENT_ITEM_VALUE:
		put(record, value_of(record, item),
		    item->length ? item->length : 8);
		break;
	case SONDE_AGENT_ITEM_RUN:
		(void)value_of(record, item); /* it has none */
		break;
	case SONDE_AGENT_ITEM_VARIABLE:
		put(record,
		    agent_collect_machine_get(record, (uint32_t)item->offset),
		    8);
		break;
	case SONDE_AGENT_ITEM_STRING:
		collect_string(record, item);
		break;
	case SONDE_AGENT_ITEM_BLOCKS:
		collect_blocks(record, item);
		break;
	case SONDE_AGENT_ITEM_ADDRESSES:
		for (uint32_t i = 0; i < record->nr_addresses; i++)
			put(record, record->addresses[i], 8);
		break;
	}
}

void sonde_agent_collect(struct sonde_agent_record *record,
			 const struct sonde_agent_item *items,
			 uint32_t nr_items)
{
	record->size = 0;
	record->is_cut = false;
	record->nr_addresses = 0;
	record->block_bytes = 0;
	for (uint32_t i = 0; i < nr_items; i++)
		collect_item(record, &items[i]);
}
