/* SPDX-License-Identifier: MIT */
/* debuginfo.c - see debuginfo.h. What types are is in debuginfo_type.c. */
#include "probe/debuginfo.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "probe/debuginfo_parts.h"

/* Of one scope; the compilation unit's are the most. */
#define CHILDREN_MAX 1000000u

struct sonde_probe_dwarf {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf_Die unit;
	Dwarf_Addr bias;
	Dwarf_Addr pc; /* in the file */
	Dwarf_Die *scopes;
	int nr_scopes; /* from the innermost on */
};

/* ---- opening ---- */

static bool find_unit(struct sonde_probe_dwarf *dwarf, Dwarf_Addr address)
{
	Dwarf_Die *unit =
		dwfl_module_addrdie(dwarf->module, address, &dwarf->bias);

	/* Not all compilers write an index by address. */
	while (!unit || !dwarf_haspc(unit, address - dwarf->bias)) {
		unit = dwfl_module_nextcu(dwarf->module, unit, &dwarf->bias);
		if (!unit)
			return false;
	}
	dwarf->unit = *unit;
	dwarf->pc = address - dwarf->bias;
	return true;
}

static bool find_scopes(struct sonde_probe_dwarf *dwarf)
{
	Dwarf_Die *inner = NULL;
	int nr = dwarf_getscopes(&dwarf->unit, dwarf->pc, &inner);

	/* What is around it in the file: of inlined code, the caller. */
	if (nr > 0)
		dwarf->nr_scopes =
			dwarf_getscopes_die(&inner[0], &dwarf->scopes);
	free(inner);
	return dwarf->nr_scopes > 0;
}

struct sonde_probe_dwarf *sonde_probe_dwarf_open(pid_t pid, uint64_t address)
{
	static char *path; /* libdw's default */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &path,
	};
	struct sonde_probe_dwarf *dwarf = calloc(1, sizeof(*dwarf));

	if (!dwarf)
		return NULL;
	dwarf->dwfl = dwfl_begin(&callbacks);
	if (dwarf->dwfl && dwfl_linux_proc_report(dwarf->dwfl, pid) == 0 &&
	    dwfl_report_end(dwarf->dwfl, NULL, NULL) == 0)
		dwarf->module = dwfl_addrmodule(dwarf->dwfl, address);
	if (dwarf->module && find_unit(dwarf, address) && find_scopes(dwarf))
		return dwarf;
	sonde_probe_dwarf_close(dwarf);
	return NULL;
}

void sonde_probe_dwarf_close(struct sonde_probe_dwarf *dwarf)
{
	if (!dwarf)
		return;
	free(dwarf->scopes);
	dwfl_end(dwarf->dwfl);
	free(dwarf);
}

/* ---- where ---- */

/* DWARF's numbers of the general registers; GDB has others. */
static bool register_of(uint64_t number, uint8_t *ret_reg)
{
	static const uint8_t gdb[] = { 0, 3, 2,  1,  4,  5,  6,  7,
				       8, 9, 10, 11, 12, 13, 14, 15 };

	if (number >= SONDE_ARRAY_SIZE(gdb))
		return false;
	*ret_reg = gdb[number];
	return true;
}

/* A register, or one and an offset. */
static bool based(const Dwarf_Op *op, struct sonde_probe_place *place)
{
	uint64_t reg = op->number;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		reg = op->atom - DW_OP_breg0;
		place->offset = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		place->offset = (int64_t)op->number2;
	} else {
		return false;
	}
	place->kind = SONDE_PROBE_PLACE_BASED;
	return register_of(reg, &place->reg);
}

static bool held(const Dwarf_Op *op, struct sonde_probe_place *place)
{
	uint64_t reg = op->number;

	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		reg = op->atom - DW_OP_reg0;
	else if (op->atom != DW_OP_regx)
		return false;
	place->kind = SONDE_PROBE_PLACE_REGISTER;
	return register_of(reg, &place->reg);
}

static bool cfa_from(Dwarf_CFI *cfi, Dwarf_Addr pc,
		     struct sonde_probe_place *place)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t nr;
	bool found = cfi && dwarf_cfi_addrframe(cfi, pc, &frame) == 0 &&
		     dwarf_frame_cfa(frame, &ops, &nr) == 0 && nr == 1 &&
		     based(ops, place);

	free(frame);
	return found;
}

static bool frame_address(const struct sonde_probe_dwarf *dwarf,
			  struct sonde_probe_place *place)
{
	Dwarf_Addr address = dwarf->pc + dwarf->bias;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(dwarf->module, &bias);

	if (cfa_from(cfi, address - bias, place))
		return true;
	cfi = dwfl_module_dwarf_cfi(dwarf->module, &bias);
	return cfa_from(cfi, address - bias, place);
}

/* The only operation of a location here; NULL. */
static const Dwarf_Op *only_op(const struct sonde_probe_dwarf *dwarf,
			       Dwarf_Attribute *attr)
{
	Dwarf_Op *ops;
	size_t nr;

	if (!attr || dwarf_getlocation_addr(attr, dwarf->pc, &ops, &nr, 1) != 1)
		return NULL;
	return nr == 1 ? ops : NULL;
}

static bool frame_base(const struct sonde_probe_dwarf *dwarf,
		       struct sonde_probe_place *place)
{
	Dwarf_Attribute attr;
	const Dwarf_Op *op = NULL;

	for (int i = 0; i < dwarf->nr_scopes && !op; i++)
		op = only_op(dwarf,
			     dwarf_attr_integrate(&dwarf->scopes[i],
						  DW_AT_frame_base, &attr));
	if (!op)
		return false;
	if (op->atom == DW_OP_call_frame_cfa)
		return frame_address(dwarf, place);
	if (held(op, place)) {
		place->kind = SONDE_PROBE_PLACE_BASED;
		place->offset = 0;
		return true;
	}
	return based(op, place);
}

static bool is_fixed(Dwarf_Attribute *location, const Dwarf_Op *op,
		     Dwarf_Addr *ret_address)
{
	Dwarf_Attribute attr;

	if (op->atom == DW_OP_addr) {
		*ret_address = op->number;
		return true;
	}
	return (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) &&
	       dwarf_getlocation_attr(location, op, &attr) == 0 &&
	       dwarf_formaddr(&attr, ret_address) == 0;
}

static struct sonde_probe_place place_of(const struct sonde_probe_dwarf *dwarf,
					 Dwarf_Die *die)
{
	static const struct sonde_probe_place none;
	struct sonde_probe_place place = none;
	Dwarf_Attribute attr;
	Dwarf_Addr address;
	const Dwarf_Op *op;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attr))
		return none;
	op = only_op(dwarf, &attr);
	if (!op)
		return none;
	if (is_fixed(&attr, op, &address)) {
		place.kind = SONDE_PROBE_PLACE_FIXED;
		place.offset = (int64_t)(address + dwarf->bias);
		return place;
	}
	if (op->atom == DW_OP_fbreg && frame_base(dwarf, &place)) {
		place.offset = (int64_t)((uint64_t)place.offset + op->number);
		return place;
	}
	return held(op, &place) || based(op, &place) ? place : none;
}

/* ---- variables ---- */

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Goes through the variables of a scope; true: visit has what it wants. */
typedef bool die_visit(struct sonde_probe_dwarf *dwarf, Dwarf_Die *die,
		       bool is_local, void *ctx);

static bool each_child(struct sonde_probe_dwarf *dwarf, Dwarf_Die *scope,
		       bool is_local, die_visit *visit, void *ctx)
{
	Dwarf_Die child;
	int rc = dwarf_child(scope, &child);

	for (unsigned int i = 0; rc == 0 && i < CHILDREN_MAX; i++) {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_variable ||
		     tag == DW_TAG_formal_parameter) &&
		    visit(dwarf, &child, is_local, ctx))
			return true;
		rc = dwarf_siblingof(&child, &child);
	}
	return false;
}

/* Blocks out to the function, also an inlined one; then the file. */
static bool each_variable(struct sonde_probe_dwarf *dwarf, die_visit *visit,
			  void *ctx)
{
	bool is_local = true;

	for (int i = 0; i < dwarf->nr_scopes; i++) {
		Dwarf_Die *scope = &dwarf->scopes[i];

		if (dwarf_tag(scope) == DW_TAG_compile_unit)
			is_local = false;
		else if (!is_local)
			continue;
		if (each_child(dwarf, scope, is_local, visit, ctx))
			return true;
		if (is_function(scope))
			is_local = false;
	}
	return false;
}

struct finding {
	const char *name;
	size_t length;
	Dwarf_Die die;
};

static bool find_one(struct sonde_probe_dwarf *dwarf, Dwarf_Die *die,
		     bool is_local, void *ctx)
{
	struct finding *finding = ctx;
	const char *name = dwarf_diename(die);

	(void)dwarf;
	(void)is_local;
	if (!name || strlen(name) != finding->length ||
	    strncmp(name, finding->name, finding->length) != 0)
		return false;
	finding->die = *die;
	return true;
}

bool sonde_probe_dwarf_find(struct sonde_probe_dwarf *dwarf, const char *name,
			    size_t length, Dwarf_Die *ret_die)
{
	struct finding finding = { .name = name, .length = length };

	if (!each_variable(dwarf, find_one, &finding))
		return false;
	*ret_die = finding.die;
	return true;
}

struct visiting {
	sonde_probe_dwarf_visit *visit;
	void *ctx;
	struct sonde_probe_seen seen;
};

static bool visit_one(struct sonde_probe_dwarf *dwarf, Dwarf_Die *die,
		      bool is_local, void *ctx)
{
	struct visiting *visiting = ctx;
	struct sonde_probe_seen *seen = &visiting->seen;
	Dwarf_Die type;

	seen->name = dwarf_diename(die);
	seen->place = place_of(dwarf, die);
	if (!seen->name || seen->place.kind == SONDE_PROBE_PLACE_NONE)
		return false;
	seen->is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter;
	seen->is_local = is_local;
	seen->type[0] = '\0';
	seen->bytes = 0;
	if (sonde_probe_dwarf_type_of(die, &type)) {
		seen->bytes = sonde_probe_dwarf_bytes(&type);
		sonde_probe_dwarf_say(&type, 1, seen->type);
	}
	return !visiting->visit(seen, visiting->ctx);
}

void sonde_probe_dwarf_each(struct sonde_probe_dwarf *dwarf,
			    sonde_probe_dwarf_visit *visit, void *ctx)
{
	struct visiting visiting = { .visit = visit, .ctx = ctx };

	(void)each_variable(dwarf, visit_one, &visiting);
}
