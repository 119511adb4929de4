/* SPDX-License-Identifier: MIT */
/*
 * compile.c - see compile.h.
 *
 * A node's code leaves one number: its value, or the address where that is. On
 * the stack numbers are of 64 bits and in the range of their type: what reads
 * extends, what may carry is cut again. Trees are bounded in height
 * (expr/tree.h), so recursion is.
 */
#include "probe/compile.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "base/unconst.h"
#include "expr/tree.h"
#include "probe/btf_type.h"
#include "probe/location.h"

enum {
	BITS = 8,
	POINTER_BYTES = 8,
	ITEMS_MAX = 64,
	STRING_MAX = 200 /* where nobody says how long: as GDB has it */
};

enum value_kind {
	IS_VALUE,    /* on the stack */
	IS_MEMORY,   /* its address is on the stack */
	IS_FIXED,    /* at an address that is not there yet */
	IS_REGISTER, /* nothing is on the stack */
};

struct value {
	enum value_kind kind;
	uint8_t reg;
	uint8_t bits, shift; /* of a bit-field; 0: it is none */
	int64_t address;     /* IS_FIXED */
	struct sonde_probe_ctype type;
};

struct compiling {
	const struct sonde_probe_scope *scope;
	const struct sonde_expr *expr;
	struct sonde_probe_bytecode *code;
	struct sonde_expr_error *error;
	uint32_t node; /* that is being dealt with */
};

static int fail(struct compiling *compiling, const char *what)
{
	return sonde_expr_fail(compiling->error, compiling->expr->text,
			       compiling->expr->nodes[compiling->node].offset,
			       "%s", what);
}

static void put(struct compiling *compiling, enum sonde_probe_op op)
{
	sonde_probe_put(compiling->code, (uint8_t)op);
}

static struct sonde_probe_ctype int_type(void)
{
	return sonde_probe_ctype_number(4, true);
}

/* The kernel's types, if it is there that the expression is for. */
static const struct sonde_btf *kernel_of(const struct compiling *compiling)
{
	return compiling->scope->dwarf ? compiling->scope->dwarf->btf : NULL;
}

/* ---- values ---- */

/* What is known to be at an address gets it onto the stack. */
static void settle(struct compiling *compiling, struct value *value)
{
	if (value->kind != IS_FIXED)
		return;
	sonde_probe_put_const(compiling->code, value->address);
	value->kind = IS_MEMORY;
}

static void load_bits(struct compiling *compiling, const struct value *value)
{
	uint32_t bytes = value->type.bytes;

	sonde_probe_put_read(compiling->code, bytes);
	if (value->shift) {
		sonde_probe_put_const(compiling->code, value->shift);
		put(compiling, SONDE_PROBE_OP_RSH_UNSIGNED);
	}
	sonde_probe_put_extend(compiling->code, value->bits,
			       value->type.is_signed);
}

static void load_number(struct compiling *compiling, struct value *value)
{
	uint32_t bytes = (uint32_t)sonde_probe_ctype_bytes(&value->type);
	bool is_signed = value->type.stars == 0 && value->type.is_signed;

	if (value->kind == IS_REGISTER) {
		sonde_probe_put_register(compiling->code, value->reg);
		sonde_probe_put_extend(compiling->code, bytes * BITS,
				       is_signed);
		return;
	}
	sonde_probe_put_read(compiling->code, bytes);
	if (is_signed)
		sonde_probe_put_extend(compiling->code, bytes * BITS, true);
}

/* Makes it a number or a pointer on the stack. */
static int probe_compile_load(struct compiling *compiling, struct value *value)
{
	struct sonde_probe_ctype inner;

	settle(compiling, value);
	if (value->kind == IS_VALUE)
		return 0;
	if (value->type.stars == 0 &&
	    value->type.kind == SONDE_PROBE_CTYPE_ARRAY) {
		if (value->kind != IS_MEMORY ||
		    !sonde_probe_ctype_inner(&value->type, &inner))
			return fail(compiling, "this array can't be used");
		value->type = inner;
		value->type.stars++;
	} else if (value->bits) {
		load_bits(compiling, value);
	} else if (value->type.stars == 0 &&
		   value->type.kind == SONDE_PROBE_CTYPE_FLOATING) {
		return fail(compiling, "floating point can't be computed "
				       "with; it can be collected");
	} else if (value->type.stars == 0 &&
		   value->type.kind != SONDE_PROBE_CTYPE_NUMBER) {
		return fail(compiling, "a number or a pointer is needed here");
	} else {
		load_number(compiling, value);
	}
	value->kind = IS_VALUE;
	value->bits = 0;
	return 0;
}

/* The number on the stack becomes one of that type. */
static void probe_compile_convert(struct compiling *compiling,
				  const struct sonde_probe_ctype *type)
{
	if (type->stars > 0)
		return;
	if (type->is_bool) {
		put(compiling, SONDE_PROBE_OP_LOG_NOT);
		put(compiling, SONDE_PROBE_OP_LOG_NOT);
		return;
	}
	sonde_probe_put_extend(compiling->code, type->bytes * BITS,
			       type->is_signed);
}

/* Whether numbers of the one are in the range of the other. */
static bool probe_compile_fits(const struct sonde_probe_ctype *from,
			       const struct sonde_probe_ctype *to)
{
	if (to->bytes == 8)
		return true;
	return from->bytes < to->bytes ?
		       to->is_signed || !from->is_signed :
		       from->bytes == to->bytes &&
			       from->is_signed == to->is_signed;
}

/* ---- names ---- */

static bool find_register(const char *name, uint8_t *ret_reg, uint8_t *bytes)
{
	for (size_t i = 0; i < SONDE_AGENT_REGISTERS; i++) {
		if (strcmp(sonde_probe_register_names[i], name) != 0)
			continue;
		*ret_reg = (uint8_t)i;
		*bytes = i >= SONDE_AGENT_EFLAGS && i <= SONDE_AGENT_GS ? 4 : 8;
		return true;
	}
	return false;
}

static bool find_variable(const struct sonde_probe_points *points,
			  const char *name, uint32_t *ret_number)
{
	for (size_t i = 0; points && i < points->nr_variables; i++) {
		if (strcmp(points->variables[i].name, name) != 0)
			continue;
		*ret_number = points->variables[i].number;
		return true;
	}
	return false;
}

/* $rax, $timestamp */
static int take_machine(struct compiling *compiling, const char *name,
			struct value *ret_value)
{
	uint8_t bytes = 8;
	uint32_t number;

	if (find_register(name, &ret_value->reg, &bytes)) {
		if (kernel_of(compiling) && ret_value->reg > SONDE_AGENT_EFLAGS)
			return fail(compiling, "this register can't be had in "
					       "the kernel");
		ret_value->kind = IS_REGISTER;
		ret_value->type = sonde_probe_ctype_number(bytes, true);
		return 0;
	}
	if (!find_variable(compiling->scope->points, name, &number))
		return fail(compiling, "there is no such register or trace "
				       "variable");
	sonde_probe_put_variable(compiling->code, SONDE_PROBE_OP_GETV, number);
	if (compiling->code->traces)
		sonde_probe_put_variable(compiling->code, SONDE_PROBE_OP_TRACEV,
					 number);
	ret_value->kind = IS_VALUE;
	ret_value->type = sonde_probe_ctype_number(8, true);
	return 0;
}

struct finding_label {
	const char *name;
	int64_t value;
};

static bool find_label(Dwarf_Die *die, bool is_local, void *ctx)
{
	struct finding_label *finding = ctx;
	Dwarf_Attribute attr;
	Dwarf_Sword value;
	Dwarf_Die child;
	int rc = dwarf_tag(die) == DW_TAG_enumeration_type ?
			 dwarf_child(die, &child) :
			 -1;

	(void)is_local;
	for (; rc == 0; rc = dwarf_siblingof(&child, &child)) {
		const char *name = dwarf_diename(&child);

		if (!name || strcmp(name, finding->name) != 0 ||
		    !dwarf_attr(&child, DW_AT_const_value, &attr) ||
		    dwarf_formsdata(&attr, &value))
			continue;
		finding->value = value;
		return true;
	}
	return false;
}

static int fail_variable(struct compiling *compiling, const char *name,
			 const char *why)
{
	return sonde_expr_fail(compiling->error, compiling->expr->text,
			       compiling->expr->nodes[compiling->node].offset,
			       "%.100s: %s", name, why);
}

/* In GDB's words. */
static int fail_symbol(struct compiling *compiling, const char *name)
{
	return sonde_expr_fail(compiling->error, compiling->expr->text,
			       compiling->expr->nodes[compiling->node].offset,
			       "No symbol \"%.100s\" in current context.",
			       name);
}

static bool find_label_in_dwarf(struct compiling *compiling,
				struct finding_label *finding)
{
	struct sonde_probe_dwarf *dwarf = compiling->scope->dwarf;

	return sonde_probe_dwarf_visible(dwarf, find_label, finding) ||
	       sonde_probe_dwarf_everywhere(dwarf, find_label, finding);
}

static int take_label(struct compiling *compiling, const char *name,
		      struct value *ret_value)
{
	struct finding_label finding = { .name = name };
	const struct sonde_btf *btf = kernel_of(compiling);

	if (btf ? !sonde_probe_btf_label(btf, name, &finding.value) :
		  !find_label_in_dwarf(compiling, &finding))
		return fail_symbol(compiling, name);
	sonde_probe_put_const(compiling->code, finding.value);
	ret_value->kind = IS_VALUE;
	ret_value->type = finding.value == (int32_t)finding.value ?
				  int_type() :
				  sonde_probe_ctype_number(8, true);
	return 0;
}

static void probe_compile_take_place(struct compiling *compiling,
				     struct sonde_probe_where *where,
				     struct value *ret_value)
{
	ret_value->reg = where->reg;
	if (where->kind == SONDE_PROBE_WHERE_REGISTER) {
		ret_value->kind = IS_REGISTER;
		return;
	}
	ret_value->kind =
		where->kind == SONDE_PROBE_WHERE_VALUE ? IS_VALUE : IS_MEMORY;
	if (ret_value->kind == IS_MEMORY && where->is_simple &&
	    !where->has_reg) {
		ret_value->kind = IS_FIXED;
		ret_value->address = where->offset;
		return;
	}
	sonde_probe_where_put(where, compiling->code);
	if (ret_value->kind == IS_VALUE)
		probe_compile_convert(compiling, &ret_value->type);
}

/* A C++ reference is used as what it refers to. */
static int follow_reference(struct compiling *compiling, struct value *value)
{
	struct sonde_probe_ctype type = value->type;
	int rc;

	type.is_reference = false;
	value->type.stars++;
	rc = probe_compile_load(compiling, value);
	value->kind = IS_MEMORY;
	value->type = type;
	return rc;
}

/* `return`, `current`, an argument of the function, or a label. */
static int take_kernel_name(struct compiling *compiling, const char *name,
			    struct value *ret_value)
{
	static const uint8_t registers[] = {
		SONDE_AGENT_RDI, SONDE_AGENT_RSI, SONDE_AGENT_RDX,
		SONDE_AGENT_RCX, SONDE_AGENT_R8,  SONDE_AGENT_R8 + 1
	};
	const struct sonde_probe_dwarf *at = compiling->scope->dwarf;
	struct sonde_probe_btf_argument argument;

	ret_value->kind = IS_REGISTER;
	if (at->at_return && !strcmp(name, "return")) {
		ret_value->reg = SONDE_AGENT_RAX;
		return sonde_probe_btf_result(at->btf, at->function,
					      &ret_value->type) ?
			       0 :
			       fail_variable(compiling, name,
					     "the function returns no number, "
					     "and no pointer");
	}
	if (sonde_probe_btf_find(at->btf, at->function, name, strlen(name),
				 &argument)) {
		if (argument.index >= SONDE_ARRAY_SIZE(registers))
			return fail_variable(compiling, name,
					     "this argument is in no register "
					     "by itself");
		ret_value->reg = registers[argument.index];
		ret_value->type = argument.type;
		return 0;
	}
	if (strcmp(name, "current") != 0 ||
	    !sonde_probe_btf_named(at->btf, BTF_KIND_STRUCT, "task_struct",
				   strlen("task_struct"), &ret_value->type))
		return take_label(compiling, name, ret_value);
	ret_value->reg = SONDE_PROBE_BTF_CURRENT;
	ret_value->type.stars = 1;
	return 0;
}

static int take_name(struct compiling *compiling, struct value *ret_value)
{
	const struct sonde_node *node =
		&compiling->expr->nodes[compiling->node];
	const char *name = compiling->expr->names[node->name].path;
	struct sonde_probe_dwarf *dwarf = compiling->scope->dwarf;
	struct sonde_probe_where where;
	const char *why = "";
	Dwarf_Die die;

	if (name[0] == '$')
		return take_machine(compiling, name + 1, ret_value);
	if (kernel_of(compiling))
		return take_kernel_name(compiling, name, ret_value);
	if (!compiling->scope->has_dwarf)
		return fail_symbol(compiling, name);
	if (!sonde_probe_dwarf_find(dwarf, name, strlen(name), &die))
		return take_label(compiling, name, ret_value);
	if (!sonde_probe_ctype_of(&die, &ret_value->type))
		return fail_variable(compiling, name,
				     "its type is not understood");
	if (!sonde_probe_locate(dwarf, &die, compiling->code, &where, &why))
		return fail_variable(compiling, name, why);
	probe_compile_take_place(compiling, &where, ret_value);
	return ret_value->type.is_reference ?
		       follow_reference(compiling, ret_value) :
		       0;
}

static int probe_compile_take_literal(struct compiling *compiling,
				      struct value *ret_value)
{
	const struct sonde_expr_value *value =
		&compiling->expr->nodes[compiling->node].literal.value;
	bool is_small;

	if (value->type == SONDE_EXPR_DOUBLE)
		return fail(compiling, "floating point can't be computed with");
	if (value->type != SONDE_EXPR_INT && value->type != SONDE_EXPR_UINT)
		return fail(compiling, "text can't be compared; compare its "
				       "chars, as in s[0] == 'a'");
	is_small = value->type == SONDE_EXPR_INT ?
			   value->i == (int32_t)value->i :
			   value->u == (uint32_t)value->u;
	sonde_probe_put_const(compiling->code, value->i);
	ret_value->kind = IS_VALUE;
	ret_value->type = sonde_probe_ctype_number(
		is_small ? 4 : 8, value->type == SONDE_EXPR_INT);
	return 0;
}

/* NOLINTBEGIN(misc-no-recursion): trees are bounded in height */

static int compile(struct compiling *compiling, uint32_t at,
		   struct value *ret_value);

static int compile_loaded(struct compiling *compiling, uint32_t node,
			  struct value *ret_value)
{
	int rc = compile(compiling, node, ret_value);

	return rc ? rc : probe_compile_load(compiling, ret_value);
}

/* ---- members, elements ---- */

/* Where a member is: from a structure's first byte on. */
struct found_member {
	struct sonde_probe_ctype type;
	uint64_t offset; /* of its bytes, but for a bit-field of BTF's */
	uint64_t first;  /* of a bit-field: its first bit, from `offset` on */
	uint64_t bits;   /* 0: it is none */
};

/* The least that holds its bits, and is aligned. */
static bool set_bits(struct value *value, const struct found_member *member)
{
	for (uint8_t bytes = 1; bytes <= 8; bytes *= 2) {
		uint64_t bits = bytes * (uint64_t)BITS;

		if (member->first / bits !=
		    (member->first + member->bits - 1) / bits)
			continue;
		value->type.bytes = bytes;
		value->bits = (uint8_t)member->bits;
		value->shift = (uint8_t)(member->first % bits);
		value->address += (int64_t)(member->first / bits * bytes);
		return true;
	}
	return false;
}

/* The first bit of a bit-field. */
static bool find_bits(Dwarf_Die *member, struct found_member *found)
{
	Dwarf_Attribute attr;
	Dwarf_Word bits;

	if (!dwarf_attr(member, DW_AT_bit_size, &attr))
		return true;
	if (dwarf_formudata(&attr, &bits) || bits == 0 || bits > 64)
		return false;
	found->bits = bits;
	if (dwarf_attr(member, DW_AT_data_bit_offset, &attr))
		return dwarf_formudata(&attr, &found->first) == 0;
	if (!dwarf_attr(member, DW_AT_bit_offset, &attr))
		return true;
	/* of old, from the other end of the type's bytes */
	if (dwarf_formudata(&attr, &found->first) ||
	    found->first + bits > found->type.bytes * (uint64_t)BITS)
		return false;
	found->first = found->type.bytes * (uint64_t)BITS - found->first - bits;
	return true;
}

static int find_in_dwarf(struct compiling *compiling, const char *name,
			 const struct sonde_probe_ctype *type,
			 struct found_member *found)
{
	Dwarf_Die structure = type->die;
	Dwarf_Die member;

	if (!sonde_probe_dwarf_member(&structure, name, strlen(name), &member,
				      &found->offset) ||
	    !sonde_probe_ctype_of(&member, &found->type))
		return fail_variable(compiling, name,
				     "the structure has no such member");
	return find_bits(&member, found) ?
		       0 :
		       fail_variable(compiling, name,
				     "this bit-field is not understood");
}

static int find_in_btf(struct compiling *compiling, const char *name,
		       const struct sonde_probe_ctype *type,
		       struct found_member *found)
{
	struct sonde_probe_btf_member member;

	if (!sonde_probe_btf_member(type, name, strlen(name), &member))
		return fail_variable(compiling, name,
				     "the structure has no such member");
	found->type = member.type;
	found->bits = member.bits;
	if (member.bits)
		found->first = member.first;
	else
		found->offset = member.first / BITS;
	return 0;
}

/* A member of what is in memory. */
static int take_member(struct compiling *compiling, const char *name,
		       struct value *value)
{
	struct found_member found = { .offset = 0 };
	bool is_fixed = value->kind == IS_FIXED;
	int64_t base = is_fixed ? value->address : 0;
	int rc;

	if (value->type.stars > 0 ||
	    value->type.kind != SONDE_PROBE_CTYPE_STRUCT)
		return fail(compiling, "that is no structure");
	if (value->kind != IS_MEMORY && !is_fixed)
		return fail(compiling, "the structure is not in memory here");
	rc = value->type.btf ?
		     find_in_btf(compiling, name, &value->type, &found) :
		     find_in_dwarf(compiling, name, &value->type, &found);
	if (rc)
		return rc;
	value->type = found.type;
	value->address = (int64_t)found.offset;
	if (found.bits && !set_bits(value, &found))
		return fail_variable(compiling, name,
				     "this bit-field is not understood");
	if (!is_fixed && value->address) {
		sonde_probe_put_const(compiling->code, value->address);
		put(compiling, SONDE_PROBE_OP_ADD);
	}
	value->address = (int64_t)((uint64_t)base + (uint64_t)value->address);
	return 0;
}

/* The pointer on the stack becomes what it points to. */
static int dereference(struct compiling *compiling, struct value *value)
{
	if (value->type.stars == 0)
		return fail(compiling, "that is no pointer");
	value->type.stars--;
	value->kind = IS_MEMORY;
	return 0;
}

static int compile_member(struct compiling *compiling,
			  const struct sonde_node *node, struct value *value)
{
	const char *name = compiling->expr->names[node->name].path;
	bool is_pointed = node->kind == SONDE_NODE_POINTED;
	int rc = compile(compiling, node->child[0], value);

	/* As in GDB, `.` goes through pointers, too. */
	if (!rc && (is_pointed || value->type.stars > 0)) {
		rc = probe_compile_load(compiling, value);
		if (!rc)
			rc = dereference(compiling, value);
	}
	return rc ? rc : take_member(compiling, name, value);
}

/* ---- arithmetic ---- */

static int pointee_bytes(struct compiling *compiling,
			 const struct sonde_probe_ctype *pointer,
			 uint64_t *ret_bytes)
{
	struct sonde_probe_ctype inner = *pointer;

	inner.stars--;
	*ret_bytes = sonde_probe_ctype_bytes(&inner);
	if (inner.stars == 0 && inner.kind == SONDE_PROBE_CTYPE_VOID)
		*ret_bytes = 1;
	return *ret_bytes ? 0 :
			    fail(compiling, "the size of what it points to is "
					    "not known");
}

/* A pointer and a number: the number is on top. */
static int add_to_pointer(struct compiling *compiling, enum sonde_probe_op op,
			  const struct sonde_probe_ctype *pointer)
{
	uint64_t bytes;
	int rc = pointee_bytes(compiling, pointer, &bytes);

	if (rc)
		return rc;
	if (bytes > 1) {
		sonde_probe_put_const(compiling->code, (int64_t)bytes);
		put(compiling, SONDE_PROBE_OP_MUL);
	}
	put(compiling, op);
	return 0;
}

static int subtract_pointers(struct compiling *compiling, struct value *left)
{
	uint64_t bytes;
	int rc = pointee_bytes(compiling, &left->type, &bytes);

	if (rc)
		return rc;
	put(compiling, SONDE_PROBE_OP_SUB);
	if (bytes > 1) {
		sonde_probe_put_const(compiling->code, (int64_t)bytes);
		put(compiling, SONDE_PROBE_OP_DIV_SIGNED);
	}
	left->type = sonde_probe_ctype_number(POINTER_BYTES, true);
	return 0;
}

static int compute_pointers(struct compiling *compiling,
			    enum sonde_node_kind kind, struct value *left,
			    const struct value *right)
{
	bool is_sum = kind == SONDE_NODE_ADD;

	if (!is_sum && kind != SONDE_NODE_SUBTRACT)
		return fail(compiling, "pointers can't be computed with so");
	if (left->type.stars > 0 && right->type.stars > 0)
		return is_sum ? fail(compiling, "two pointers can't be added") :
				subtract_pointers(compiling, left);
	if (left->type.stars > 0)
		return add_to_pointer(compiling,
				      is_sum ? SONDE_PROBE_OP_ADD :
					       SONDE_PROBE_OP_SUB,
				      &left->type);
	if (!is_sum)
		return fail(compiling, "a pointer can't be subtracted from a "
				       "number");
	put(compiling, SONDE_PROBE_OP_SWAP);
	left->type = right->type;
	return add_to_pointer(compiling, SONDE_PROBE_OP_ADD, &right->type);
}

/* Both, of which the right one is on top, become of one type. */
static struct sonde_probe_ctype unify(struct compiling *compiling,
				      const struct value *left,
				      const struct value *right)
{
	struct sonde_probe_ctype common =
		sonde_probe_ctype_common(&left->type, &right->type);

	if (!probe_compile_fits(&right->type, &common))
		probe_compile_convert(compiling, &common);
	if (!probe_compile_fits(&left->type, &common)) {
		put(compiling, SONDE_PROBE_OP_SWAP);
		probe_compile_convert(compiling, &common);
		put(compiling, SONDE_PROBE_OP_SWAP);
	}
	return common;
}

static int put_operator(struct compiling *compiling, enum sonde_node_kind kind,
			bool is_signed)
{
	static const struct {
		enum sonde_node_kind kind;
		enum sonde_probe_op is_signed, is_unsigned;
	} all[] = {
		{ SONDE_NODE_ADD, SONDE_PROBE_OP_ADD, SONDE_PROBE_OP_ADD },
		{ SONDE_NODE_SUBTRACT, SONDE_PROBE_OP_SUB, SONDE_PROBE_OP_SUB },
		{ SONDE_NODE_MULTIPLY, SONDE_PROBE_OP_MUL, SONDE_PROBE_OP_MUL },
		{ SONDE_NODE_DIVIDE, SONDE_PROBE_OP_DIV_SIGNED,
		  SONDE_PROBE_OP_DIV_UNSIGNED },
		{ SONDE_NODE_REMAINDER, SONDE_PROBE_OP_REM_SIGNED,
		  SONDE_PROBE_OP_REM_UNSIGNED },
		{ SONDE_NODE_SHIFT_LEFT, SONDE_PROBE_OP_LSH,
		  SONDE_PROBE_OP_LSH },
		{ SONDE_NODE_SHIFT_RIGHT, SONDE_PROBE_OP_RSH_SIGNED,
		  SONDE_PROBE_OP_RSH_UNSIGNED },
		{ SONDE_NODE_AND, SONDE_PROBE_OP_BIT_AND,
		  SONDE_PROBE_OP_BIT_AND },
		{ SONDE_NODE_XOR, SONDE_PROBE_OP_BIT_XOR,
		  SONDE_PROBE_OP_BIT_XOR },
		{ SONDE_NODE_OR, SONDE_PROBE_OP_BIT_OR, SONDE_PROBE_OP_BIT_OR },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all); i++) {
		if (all[i].kind != kind)
			continue;
		put(compiling,
		    is_signed ? all[i].is_signed : all[i].is_unsigned);
		return 0;
	}
	return fail(compiling, "this operator is not understood here");
}

static int put_comparison(struct compiling *compiling,
			  enum sonde_node_kind kind, bool is_signed)
{
	enum sonde_probe_op less = is_signed ? SONDE_PROBE_OP_LESS_SIGNED :
					       SONDE_PROBE_OP_LESS_UNSIGNED;
	bool is_equal = kind == SONDE_NODE_EQUAL || kind == SONDE_NODE_UNEQUAL;

	if (kind == SONDE_NODE_GREATER || kind == SONDE_NODE_LESS_EQUAL)
		put(compiling, SONDE_PROBE_OP_SWAP);
	put(compiling, is_equal ? SONDE_PROBE_OP_EQUAL : less);
	if (kind == SONDE_NODE_UNEQUAL || kind == SONDE_NODE_LESS_EQUAL ||
	    kind == SONDE_NODE_GREATER_EQUAL)
		put(compiling, SONDE_PROBE_OP_LOG_NOT);
	return 0;
}

static int compute_numbers(struct compiling *compiling,
			   enum sonde_node_kind kind, struct value *left,
			   const struct value *right)
{
	bool is_shift =
		kind == SONDE_NODE_SHIFT_LEFT || kind == SONDE_NODE_SHIFT_RIGHT;
	struct sonde_probe_ctype type =
		is_shift ? sonde_probe_ctype_common(&left->type, &left->type) :
			   unify(compiling, left, right);
	int rc = put_operator(compiling, kind, type.is_signed);

	if (kind == SONDE_NODE_ADD || kind == SONDE_NODE_SUBTRACT ||
	    kind == SONDE_NODE_MULTIPLY || kind == SONDE_NODE_SHIFT_LEFT)
		probe_compile_convert(compiling, &type);
	left->type = type;
	return rc;
}

static int compare(struct compiling *compiling, enum sonde_node_kind kind,
		   struct value *left, const struct value *right)
{
	bool is_signed = false;

	if (sonde_probe_ctype_is_number(&left->type) &&
	    sonde_probe_ctype_is_number(&right->type))
		is_signed = unify(compiling, left, right).is_signed;
	left->type = int_type();
	return put_comparison(compiling, kind, is_signed);
}

static int compile_binary(struct compiling *compiling,
			  const struct sonde_node *node, uint32_t at,
			  struct value *left)
{
	struct value right = { .kind = IS_VALUE };
	int rc = compile_loaded(compiling, node->child[0], left);

	if (!rc)
		rc = compile_loaded(compiling, node->child[1], &right);
	compiling->node = at;
	if (rc)
		return rc;
	if (node->kind >= SONDE_NODE_LESS && node->kind <= SONDE_NODE_UNEQUAL)
		return compare(compiling, node->kind, left, &right);
	if (left->type.stars > 0 || right.type.stars > 0)
		return compute_pointers(compiling, node->kind, left, &right);
	return compute_numbers(compiling, node->kind, left, &right);
}

/* &&, ||: 1 or 0, and the rest is not looked at once it is clear. */
static int compile_list(struct compiling *compiling,
			const struct sonde_node *node, struct value *value)
{
	bool is_all = node->kind == SONDE_NODE_ALL;
	size_t decided[ITEMS_MAX];
	size_t nr = 0;
	size_t end;

	for (uint32_t item = node->child[0]; item != SONDE_NODE_NONE;
	     item = compiling->expr->nodes[item].next) {
		int rc = compile_loaded(compiling, item, value);

		if (!rc && nr == ITEMS_MAX)
			rc = fail(compiling, "too many at once");
		if (rc)
			return rc;
		if (is_all)
			put(compiling, SONDE_PROBE_OP_LOG_NOT);
		decided[nr++] = sonde_probe_put_jump(compiling->code,
						     SONDE_PROBE_OP_IF_GOTO);
	}
	sonde_probe_put_const(compiling->code, is_all);
	end = sonde_probe_put_jump(compiling->code, SONDE_PROBE_OP_GOTO);
	while (nr > 0)
		sonde_probe_land(compiling->code, decided[--nr]);
	sonde_probe_put_const(compiling->code, !is_all);
	sonde_probe_land(compiling->code, end);
	*value = (struct value){ .kind = IS_VALUE, .type = int_type() };
	return 0;
}

static int compile_choice(struct compiling *compiling,
			  const struct sonde_node *node, struct value *value)
{
	struct value other = { .kind = IS_VALUE };
	size_t yes;
	size_t end;
	int rc = compile_loaded(compiling, node->child[0], value);

	if (rc)
		return rc;
	yes = sonde_probe_put_jump(compiling->code, SONDE_PROBE_OP_IF_GOTO);
	rc = compile_loaded(compiling, node->child[2], &other);
	if (rc)
		return rc;
	end = sonde_probe_put_jump(compiling->code, SONDE_PROBE_OP_GOTO);
	sonde_probe_land(compiling->code, yes);
	*value = (struct value){ .kind = IS_VALUE };
	rc = compile_loaded(compiling, node->child[1], value);
	sonde_probe_land(compiling->code, end);
	if (rc || value->type.stars > 0 || other.type.stars > 0)
		return rc;
	value->type = sonde_probe_ctype_common(&value->type, &other.type);
	probe_compile_convert(compiling, &value->type);
	return 0;
}

/* ---- prefixes ---- */

static int compile_address(struct compiling *compiling, uint32_t at,
			   struct value *value)
{
	uint32_t child = compiling->expr->nodes[at].child[0];
	int rc = compile(compiling, child, value);

	compiling->node = at;
	if (rc)
		return rc;
	settle(compiling, value);
	if (value->kind != IS_MEMORY || value->bits)
		return fail(compiling, "that is not in memory here, and has no "
				       "address");
	value->kind = IS_VALUE;
	value->type.stars++;
	return 0;
}

static int compile_cast(struct compiling *compiling,
			const struct sonde_node *node, uint32_t at,
			struct value *value)
{
	const char *text = compiling->expr->names[node->name].path;
	struct sonde_probe_ctype type = { .kind = SONDE_PROBE_CTYPE_VOID };
	int rc = compile_loaded(compiling, node->child[0], value);

	compiling->node = at;
	if (rc)
		return rc;
	if (!sonde_probe_ctype_named(compiling->scope->dwarf, text, &type))
		return fail_variable(compiling, text, "there is no such type");
	if (type.stars == 0 && type.kind != SONDE_PROBE_CTYPE_NUMBER)
		return fail(compiling, "a cast is to a number or a pointer");
	if (type.stars > 0 || value->type.stars > 0 ||
	    !probe_compile_fits(&value->type, &type) || type.is_bool)
		probe_compile_convert(compiling, &type);
	value->type = type;
	return 0;
}

static int compute_prefix(struct compiling *compiling,
			  enum sonde_node_kind kind, struct value *value)
{
	if (kind == SONDE_NODE_NOT) {
		put(compiling, SONDE_PROBE_OP_LOG_NOT);
		value->type = int_type();
		return 0;
	}
	if (!sonde_probe_ctype_is_number(&value->type))
		return fail(compiling, "a number is needed here");
	value->type = sonde_probe_ctype_common(&value->type, &value->type);
	if (kind == SONDE_NODE_NEGATE) {
		sonde_probe_put_const(compiling->code, 0);
		put(compiling, SONDE_PROBE_OP_SWAP);
		put(compiling, SONDE_PROBE_OP_SUB);
	} else if (kind == SONDE_NODE_COMPLEMENT) {
		put(compiling, SONDE_PROBE_OP_BIT_NOT);
	}
	probe_compile_convert(compiling, &value->type);
	return 0;
}

static int compile_prefix(struct compiling *compiling,
			  const struct sonde_node *node, uint32_t at,
			  struct value *value)
{
	int rc = compile_loaded(compiling, node->child[0], value);

	compiling->node = at;
	if (rc)
		return rc;
	return node->kind == SONDE_NODE_DEREFERENCE ?
		       dereference(compiling, value) :
		       compute_prefix(compiling, node->kind, value);
}

static int compile_element(struct compiling *compiling,
			   const struct sonde_node *node, uint32_t at,
			   struct value *value)
{
	struct value index = { .kind = IS_VALUE };
	int rc = compile_loaded(compiling, node->child[0], value);

	if (!rc)
		rc = compile_loaded(compiling, node->child[1], &index);
	compiling->node = at;
	if (!rc && (value->type.stars == 0 || index.type.stars > 0))
		rc = fail(compiling, "that is no array, or no number in it");
	if (!rc)
		rc = add_to_pointer(compiling, SONDE_PROBE_OP_ADD,
				    &value->type);
	return rc ? rc : dereference(compiling, value);
}

static int compile(struct compiling *compiling, uint32_t at,
		   struct value *ret_value)
{
	const struct sonde_node *node = &compiling->expr->nodes[at];

	*ret_value = (struct value){ .kind = IS_VALUE };
	compiling->node = at;
	switch ((int)node->kind) {
	case SONDE_NODE_VALUE:
		return probe_compile_take_literal(compiling, ret_value);
	case SONDE_NODE_NAME:
		return take_name(compiling, ret_value);
	case SONDE_NODE_MOMENT:
	case SONDE_NODE_DEFINED:
		return fail(compiling, "this is not C");
	case SONDE_NODE_ALL:
	case SONDE_NODE_ANY:
		return compile_list(compiling, node, ret_value);
	case SONDE_NODE_CHOICE:
		return compile_choice(compiling, node, ret_value);
	case SONDE_NODE_ADDRESS:
		return compile_address(compiling, at, ret_value);
	case SONDE_NODE_CAST:
		return compile_cast(compiling, node, at, ret_value);
	case SONDE_NODE_MEMBER:
	case SONDE_NODE_POINTED:
		return compile_member(compiling, node, ret_value);
	case SONDE_NODE_ELEMENT:
		return compile_element(compiling, node, at, ret_value);
	case SONDE_NODE_PLUS:
	case SONDE_NODE_NEGATE:
	case SONDE_NODE_COMPLEMENT:
	case SONDE_NODE_NOT:
	case SONDE_NODE_DEREFERENCE:
		return compile_prefix(compiling, node, at, ret_value);
	default:
		return compile_binary(compiling, node, at, ret_value);
	}
}

/* NOLINTEND(misc-no-recursion) */

/* ---- public ---- */

static bool is_type(void *ctx, const char *name, size_t length)
{
	const struct sonde_probe_scope *scope = ctx;
	struct sonde_probe_btf_argument argument;
	Dwarf_Die die;

	/* a variable's name hides a type's */
	if (scope->dwarf->btf ?
		    sonde_probe_btf_find(scope->dwarf->btf,
					 scope->dwarf->function, name, length,
					 &argument) :
		    sonde_probe_dwarf_find(scope->dwarf, name, length, &die))
		return false;
	return sonde_probe_ctype_begins(scope->dwarf, name, length);
}

static int begin(struct compiling *compiling, const char *text,
		 struct sonde_expr **ret_expr, struct value *ret_value)
{
	const struct sonde_expr_types types = {
		.is_type = is_type,
		.ctx = sonde_unconst(compiling->scope),
	};
	int rc = sonde_expr_parse_c(text, &types, compiling->error, ret_expr);

	if (rc)
		return rc;
	compiling->expr = *ret_expr;
	return compile(compiling, (*ret_expr)->root, ret_value);
}

static int finish(struct compiling *compiling, int rc, struct sonde_expr *expr)
{
	if (!rc && !sonde_probe_bytecode_end(compiling->code))
		rc = fail(compiling, "the expression is too long");
	sonde_expr_free(expr);
	return rc;
}

int sonde_probe_compile_condition(const struct sonde_probe_scope *scope,
				  const char *text,
				  struct sonde_probe_bytecode *code,
				  struct sonde_expr_error *error)
{
	struct compiling compiling = { .scope = scope,
				       .code = code,
				       .error = error };
	struct sonde_expr *expr = NULL;
	struct value value;
	int rc = begin(&compiling, text, &expr, &value);

	if (!rc)
		rc = probe_compile_load(&compiling, &value);
	return finish(&compiling, rc, expr);
}

static int probe_compile_collect_string(struct compiling *compiling,
					const struct sonde_probe_wanted *wanted,
					struct value *value)
{
	uint64_t max = wanted->string_max;
	int rc;

	if (!max && value->type.stars == 0 &&
	    value->type.kind == SONDE_PROBE_CTYPE_ARRAY)
		max = sonde_probe_ctype_bytes(&value->type);
	rc = probe_compile_load(compiling, value);
	if (rc)
		return rc;
	if (value->type.stars == 0)
		return fail(compiling, "that is no text");
	if (!max)
		max = STRING_MAX;
	sonde_probe_put_const(compiling->code,
			      (int64_t)(max < 65535 ? max : 65535));
	put(compiling, SONDE_PROBE_OP_TRACENZ);
	return 0;
}

static int probe_compile_collect_memory(struct compiling *compiling,
					const struct sonde_probe_wanted *wanted,
					struct value *value,
					struct sonde_probe_thing *thing)
{
	uint64_t bytes = value->bits ? value->type.bytes :
				       sonde_probe_ctype_bytes(&value->type);

	if (!bytes || __builtin_mul_overflow(bytes, wanted->times, &bytes) ||
	    bytes > INT32_MAX)
		return fail(compiling, "its size is not known, or too large");
	thing->length = bytes;
	thing->address = value->address;
	if (value->kind == IS_FIXED && wanted->times == 1 &&
	    compiling->expr->nodes[compiling->expr->root].kind ==
		    SONDE_NODE_NAME) {
		thing->how = SONDE_PROBE_COLLECTED_RANGE;
		return 0;
	}
	settle(compiling, value);
	sonde_probe_put_const(compiling->code, (int64_t)bytes);
	put(compiling, SONDE_PROBE_OP_TRACE);
	return 0;
}

static int collect(struct compiling *compiling,
		   const struct sonde_probe_wanted *wanted, struct value *value,
		   struct sonde_probe_thing *thing)
{
	compiling->node = compiling->expr->root;
	if (wanted->is_string)
		return probe_compile_collect_string(compiling, wanted, value);
	if (value->kind == IS_MEMORY || value->kind == IS_FIXED)
		return probe_compile_collect_memory(compiling, wanted, value,
						    thing);
	if (wanted->times != 1)
		return fail(compiling, "only what is in memory can be "
				       "several: X@N");
	if (value->kind == IS_REGISTER) {
		thing->how = SONDE_PROBE_COLLECTED_REGISTER;
		compiling->code->registers |= (uint64_t)1 << value->reg;
		return 0;
	}
	put(compiling, SONDE_PROBE_OP_POP);
	return 0;
}

int sonde_probe_compile_wanted(const struct sonde_probe_scope *scope,
			       const struct sonde_probe_wanted *wanted,
			       struct sonde_probe_bytecode *code,
			       struct sonde_probe_thing *ret_thing,
			       struct sonde_expr_error *error)
{
	struct compiling compiling = { .scope = scope,
				       .code = code,
				       .error = error };
	struct sonde_expr *expr = NULL;
	struct value value;
	int rc;

	code->traces = true;
	*ret_thing =
		(struct sonde_probe_thing){ .how = SONDE_PROBE_COLLECTED_CODE };
	rc = begin(&compiling, wanted->text, &expr, &value);
	if (!rc)
		rc = collect(&compiling, wanted, &value, ret_thing);
	return finish(&compiling, rc, expr);
}

int sonde_probe_compile_value(const struct sonde_probe_scope *scope,
			      const char *text,
			      struct sonde_probe_bytecode *code,
			      struct sonde_probe_valued *ret_value,
			      struct sonde_expr_error *error)
{
	struct compiling compiling = { .scope = scope,
				       .code = code,
				       .error = error };
	struct sonde_expr *expr = NULL;
	struct value value;
	int rc = begin(&compiling, text, &expr, &value);

	if (rc)
		return finish(&compiling, rc, expr);
	settle(&compiling, &value);
	ret_value->is_address = value.kind == IS_MEMORY &&
				value.type.stars == 0 &&
				(value.type.kind == SONDE_PROBE_CTYPE_ARRAY ||
				 value.type.kind == SONDE_PROBE_CTYPE_STRUCT);
	ret_value->is_register = value.kind == IS_REGISTER;
	if (!ret_value->is_address)
		rc = probe_compile_load(&compiling, &value);
	ret_value->type = value.type;
	return finish(&compiling, rc, expr);
}
