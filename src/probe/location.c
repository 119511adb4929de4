/* SPDX-License-Identifier: MIT */
/*
 * location.c - see location.h.
 *
 * DWARF's operations become those of agent expressions, one by one; both are
 * stack machines. The most common case, a register and an offset, is kept apart
 * until something is done with it.
 */
#include "probe/location.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/port.h"

enum {
	OPS_MAX = 256,
	/* A frame base in an expression; an entry value. */
	DEPTH_MAX = 3,
	/* Of DWARF's stack; programs have SONDE_PROGRAM_STACK. */
	STACK_MAX = 32,
};

struct locating {
	const struct sonde_probe_dwarf *dwarf;
	struct sonde_probe_bytecode *code;
	struct sonde_probe_where where;
	const char *error;
	int stack; /* numbers on it; a simple one counts */
	int depth;
	bool is_done; /* a register, or a value: nothing may follow */
};

static bool fail(struct locating *locating, const char *error)
{
	locating->error = error;
	return false;
}

/* DWARF's numbers of the general registers; GDB has others. */
static bool location_register_of(uint64_t number, uint8_t *ret_reg)
{
	static const uint8_t gdb[] = { 0, 3, 2,  1,  4,  5,  6,  7,
				       8, 9, 10, 11, 12, 13, 14, 15 };

	if (number >= SONDE_ARRAY_SIZE(gdb))
		return false;
	*ret_reg = gdb[number];
	return true;
}

void sonde_probe_where_put(struct sonde_probe_where *where,
			   struct sonde_probe_bytecode *code)
{
	if (!where->is_simple)
		return;
	where->is_simple = false;
	if (where->has_reg)
		sonde_probe_put_register(code, where->reg);
	if (!where->has_reg || where->offset)
		sonde_probe_put_const(code, where->offset);
	if (where->has_reg && where->offset)
		sonde_probe_put(code, SONDE_PROBE_OP_ADD);
}

/* Before anything but an addition is done with it. */
static void settle(struct locating *locating)
{
	sonde_probe_where_put(&locating->where, locating->code);
}

static bool push(struct locating *locating, int reg, int64_t offset)
{
	if (locating->stack >= STACK_MAX)
		return fail(locating, "its place is too hard to compute");
	settle(locating);
	locating->stack++;
	locating->where = (struct sonde_probe_where){
		.kind = SONDE_PROBE_WHERE_MEMORY,
		.is_simple = true,
		.has_reg = reg >= 0,
		.reg = reg < 0 ? 0 : (uint8_t)reg,
		.offset = offset,
	};
	return true;
}

static bool location_push_register(struct locating *locating, uint64_t number,
				   int64_t offset)
{
	uint8_t reg;

	if (!location_register_of(number, &reg))
		return fail(locating, "it is in a register that probes can't "
				      "read");
	return push(locating, reg, offset);
}

static bool is_in_register(struct locating *locating, uint64_t number)
{
	uint8_t reg;

	if (!location_register_of(number, &reg))
		return fail(locating, "it is in a register that probes can't "
				      "read");
	locating->where = (struct sonde_probe_where){
		.kind = SONDE_PROBE_WHERE_REGISTER,
		.reg = reg,
	};
	locating->is_done = true;
	return true;
}

static bool add(struct locating *locating, uint64_t number)
{
	if (locating->stack < 1)
		return fail(locating, "its place is not told right");
	if (locating->where.is_simple) {
		locating->where.offset =
			(int64_t)((uint64_t)locating->where.offset + number);
		return true;
	}
	sonde_probe_put_const(locating->code, (int64_t)number);
	sonde_probe_put(locating->code, SONDE_PROBE_OP_ADD);
	return true;
}

/* NOLINTBEGIN(misc-no-recursion): a frame base, bounded by DEPTH_MAX */
static bool compile(struct locating *locating, Dwarf_Attribute *attr,
		    const Dwarf_Op *ops, size_t nr);

static bool compile_at(struct locating *locating, Dwarf_Attribute *attr)
{
	Dwarf_Op *ops = NULL;
	size_t nr = 0;

	if (dwarf_getlocation_addr(attr, locating->dwarf->pc, &ops, &nr, 1) !=
		    1 ||
	    nr == 0)
		return fail(locating, "it has been optimised out here");
	return compile(locating, attr, ops, nr);
}

static bool compile_cfa(struct locating *locating, Dwarf_CFI *cfi,
			Dwarf_Addr bias)
{
	const struct sonde_probe_dwarf *dwarf = locating->dwarf;
	Dwarf_Addr pc = dwarf->pc + dwarf->bias - bias;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t nr;
	bool found = cfi && dwarf_cfi_addrframe(cfi, pc, &frame) == 0 &&
		     dwarf_frame_cfa(frame, &ops, &nr) == 0 && nr > 0 &&
		     compile(locating, NULL, ops, nr);

	free(frame);
	return found;
}

static bool push_cfa(struct locating *locating)
{
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(locating->dwarf->module, &bias);

	if (compile_cfa(locating, cfi, bias))
		return true;
	cfi = dwfl_module_dwarf_cfi(locating->dwarf->module, &bias);
	return compile_cfa(locating, cfi, bias) ||
	       fail(locating, "the function's frame is not known here");
}

static bool push_frame_base(struct locating *locating)
{
	const struct sonde_probe_dwarf *dwarf = locating->dwarf;
	Dwarf_Attribute attr;

	for (int i = 0; i < dwarf->nr_scopes; i++) {
		if (!dwarf_attr_integrate(&dwarf->scopes[i], DW_AT_frame_base,
					  &attr))
			continue;
		if (!compile_at(locating, &attr))
			return false;
		if (locating->is_done) { /* in a register: what that holds */
			uint8_t reg = locating->where.reg;

			locating->is_done = false;
			return push(locating, reg, 0);
		}
		return true;
	}
	return fail(locating, "the function's frame is not known here");
}

static bool push_address(struct locating *locating, Dwarf_Attribute *attr,
			 const Dwarf_Op *op)
{
	Dwarf_Attribute at;
	Dwarf_Addr address = op->number;

	if (op->atom != DW_OP_addr &&
	    (!attr || dwarf_getlocation_attr(attr, op, &at) ||
	     dwarf_formaddr(&at, &address)))
		return fail(locating, "its place is not told right");
	return push(locating, -1, (int64_t)(address + locating->dwarf->bias));
}

/* What a register held when the function was called: at its first instruction
 * it still does. */
static bool push_entry_value(struct locating *locating, Dwarf_Attribute *attr,
			     const Dwarf_Op *op)
{
	Dwarf_Attribute inner;
	Dwarf_Op *ops;
	size_t nr;
	uint64_t number;

	if (!attr || dwarf_getlocation_attr(attr, op, &inner) ||
	    dwarf_getlocation(&inner, &ops, &nr) || nr != 1)
		return fail(locating, "its place is not told right");
	number = ops[0].number;
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		number = ops[0].atom - DW_OP_reg0;
	else if (ops[0].atom != DW_OP_regx)
		return fail(locating, "its place is not told right");
	if (!sonde_probe_dwarf_is_entry(locating->dwarf))
		return fail(locating, "it is known only by what the function "
				      "was called with, which is gone here");
	return location_push_register(locating, number, 0);
}

/* Operations that take so many numbers and leave one: 0, if it is none. */
static int arity_of(uint8_t atom, uint8_t *ret_op)
{
	static const struct {
		uint8_t atom, op;
		int takes;
	} all[] = {
		{ DW_OP_plus, SONDE_PROBE_OP_ADD, 2 },
		{ DW_OP_minus, SONDE_PROBE_OP_SUB, 2 },
		{ DW_OP_mul, SONDE_PROBE_OP_MUL, 2 },
		{ DW_OP_div, SONDE_PROBE_OP_DIV_SIGNED, 2 },
		{ DW_OP_mod, SONDE_PROBE_OP_REM_UNSIGNED, 2 },
		{ DW_OP_and, SONDE_PROBE_OP_BIT_AND, 2 },
		{ DW_OP_or, SONDE_PROBE_OP_BIT_OR, 2 },
		{ DW_OP_xor, SONDE_PROBE_OP_BIT_XOR, 2 },
		{ DW_OP_shl, SONDE_PROBE_OP_LSH, 2 },
		{ DW_OP_shr, SONDE_PROBE_OP_RSH_UNSIGNED, 2 },
		{ DW_OP_shra, SONDE_PROBE_OP_RSH_SIGNED, 2 },
		{ DW_OP_eq, SONDE_PROBE_OP_EQUAL, 2 },
		{ DW_OP_lt, SONDE_PROBE_OP_LESS_SIGNED, 2 },
		{ DW_OP_not, SONDE_PROBE_OP_BIT_NOT, 1 },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all); i++) {
		if (all[i].atom != atom)
			continue;
		*ret_op = all[i].op;
		return all[i].takes;
	}
	return 0;
}

/* What works on the stack. */
static bool location_compute(struct locating *locating, const Dwarf_Op *op)
{
	struct sonde_probe_bytecode *code = locating->code;
	uint8_t its = 0;
	int takes = arity_of(op->atom, &its);

	settle(locating);
	if (locating->stack < (takes ? takes : 1))
		return fail(locating, "its place is not told right");
	if (takes) {
		locating->stack -= takes - 1;
		sonde_probe_put(code, its);
		return true;
	}
	switch (op->atom) {
	case DW_OP_deref:
		sonde_probe_put_read(code, 8);
		return true;
	case DW_OP_deref_size:
		if (op->number != 1 && op->number != 2 && op->number != 4 &&
		    op->number != 8)
			break;
		sonde_probe_put_read(code, (uint32_t)op->number);
		return true;
	case DW_OP_neg:
		sonde_probe_put_const(code, 0);
		sonde_probe_put(code, SONDE_PROBE_OP_SWAP);
		sonde_probe_put(code, SONDE_PROBE_OP_SUB);
		return true;
	case DW_OP_dup:
		if (locating->stack++ >= STACK_MAX)
			break;
		sonde_probe_put(code, SONDE_PROBE_OP_DUP);
		return true;
	case DW_OP_drop:
		locating->stack--;
		sonde_probe_put(code, SONDE_PROBE_OP_POP);
		return true;
	case DW_OP_swap:
		if (locating->stack < 2)
			break;
		sonde_probe_put(code, SONDE_PROBE_OP_SWAP);
		return true;
	default:
		break;
	}
	return fail(locating, "its place is told in a way that is not "
			      "understood");
}

static bool is_constant(const Dwarf_Op *op, int64_t *ret_number)
{
	*ret_number = (int64_t)op->number;
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		*ret_number = op->atom - DW_OP_lit0;
	else
		return op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts;
	return true;
}

static bool compile_special(struct locating *locating, Dwarf_Attribute *attr,
			    const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return push_address(locating, attr, op);
	case DW_OP_fbreg:
		return push_frame_base(locating) && add(locating, op->number);
	case DW_OP_call_frame_cfa:
		return push_cfa(locating);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry_value(locating, attr, op);
	case DW_OP_stack_value:
		locating->where.kind = SONDE_PROBE_WHERE_VALUE;
		locating->is_done = true;
		return locating->stack > 0 ||
		       fail(locating, "its place is not told right");
	case DW_OP_nop:
		return true;
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return fail(locating, "it is each thread's own, which probes "
				      "can't find");
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return fail(locating, "it has been optimised out, but for "
				      "what it points to");
	case DW_OP_piece:
	case DW_OP_bit_piece:
		return fail(locating, "it is in pieces");
	default:
		return location_compute(locating, op);
	}
}

static bool compile_op(struct locating *locating, Dwarf_Attribute *attr,
		       const Dwarf_Op *op)
{
	int64_t number;

	if (is_constant(op, &number))
		return push(locating, -1, number);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return location_push_register(locating, op->atom - DW_OP_breg0,
					      (int64_t)op->number);
	if (op->atom == DW_OP_bregx)
		return location_push_register(locating, op->number,
					      (int64_t)op->number2);
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return is_in_register(locating, op->atom - DW_OP_reg0);
	if (op->atom == DW_OP_regx)
		return is_in_register(locating, op->number);
	if (op->atom == DW_OP_plus_uconst)
		return add(locating, op->number);
	return compile_special(locating, attr, op);
}

static bool compile(struct locating *locating, Dwarf_Attribute *attr,
		    const Dwarf_Op *ops, size_t nr)
{
	bool is_right = true;

	if (nr > OPS_MAX || locating->depth >= DEPTH_MAX)
		return fail(locating, "its place is too hard to compute");
	locating->depth++;
	for (size_t i = 0; is_right && i < nr; i++)
		is_right = locating->is_done ?
				   fail(locating, "it is in pieces") :
				   compile_op(locating, attr, &ops[i]);
	locating->depth--;
	return is_right;
}
/* NOLINTEND(misc-no-recursion) */

static bool take_constant(Dwarf_Die *die, struct locating *locating)
{
	Dwarf_Attribute attr;
	Dwarf_Sword number;

	if (!dwarf_attr_integrate(die, DW_AT_const_value, &attr))
		return fail(locating, "it has been optimised out");
	if (dwarf_formsdata(&attr, &number))
		return fail(locating, "its value is told in a way that is not "
				      "understood");
	(void)push(locating, -1, number);
	locating->where.kind = SONDE_PROBE_WHERE_VALUE;
	locating->is_done = true;
	return true;
}

bool sonde_probe_locate(const struct sonde_probe_dwarf *dwarf, Dwarf_Die *die,
			struct sonde_probe_bytecode *code,
			struct sonde_probe_where *ret_where,
			const char **ret_error)
{
	struct locating locating = { .dwarf = dwarf, .code = code };
	Dwarf_Attribute attr;
	bool is_right;

	if (dwarf_attr_integrate(die, DW_AT_location, &attr))
		is_right = compile_at(&locating, &attr) &&
			   (locating.is_done || locating.stack > 0 ||
			    fail(&locating, "its place is not told right"));
	else
		is_right = take_constant(die, &locating);
	*ret_where = locating.where;
	*ret_error = locating.error;
	return is_right;
}
