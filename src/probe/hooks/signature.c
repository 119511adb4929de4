/* SPDX-License-Identifier: MIT */
/*
 * signature.c - see signature.h.
 *
 * The registers of the ABI are counted from the first argument on, as far as
 * each one's class is certain: what is passed by value may take registers or
 * none. A function keeps to the ABI if its name is that of no copy
 * (f.constprop.0), its debugging information doesn't say otherwise, and those
 * arguments whose locations are registers are in the ones that were counted.
 */
#include "probe/hooks/signature.h"

#include <ctype.h>
#include <dwarf.h>
#include <string.h>

#include "base/port.h"
#include "probe/location.h"

enum {
	PARAMETERS_MAX = 64,
	TOLD_MAX = 6,
	NAME_MAX_BYTES = 64,
	REGISTER_RAX = 0,
};

enum parameter_place {
	PARAMETER_UNKNOWN,
	PARAMETER_REGISTER, /* by its location */
	PARAMETER_FRAME,    /* where there will be a frame */
};

struct parameter {
	Dwarf_Die type;
	bool has_type;
	char name[NAME_MAX_BYTES];
	enum parameter_place place;
	uint8_t reg; /* GDB's number */
	int by_abi;  /* likewise; -1: unknown */
};

struct signature {
	const struct sonde_probe_dwarf *dwarf;
	Dwarf_Die function;
	struct parameter list[PARAMETERS_MAX];
	size_t nr;
};

/* ---- types ---- */

/* Whole numbers and pointers: one general register. */
static bool is_general(Dwarf_Die *type)
{
	char letter = sonde_probe_dwarf_letter(type);
	uint64_t bytes = sonde_probe_dwarf_bytes(type);

	return letter && letter != 'f' && bytes && bytes <= 8;
}

/* One vector register, or what is on the stack. */
static bool takes_no_general(Dwarf_Die *type)
{
	return sonde_probe_dwarf_letter(type) == 'f';
}

static void say_word(const char *kinds, unsigned int reg, Dwarf_Die *type,
		     const char *name, FILE *to)
{
	char text[SONDE_PROBE_TYPE_TEXT_MAX + 1];

	if (is_general(type) && sonde_probe_dwarf_say(type, 1, text))
		(void)fprintf(to, " %cR%u:%s:%s",
			      kinds[sonde_probe_dwarf_is_text(type)], reg, text,
			      name);
}

/* ---- arguments ---- */

static void name_parameter(const char *name, size_t number,
			   char to[NAME_MAX_BYTES])
{
	size_t n = 0;

	while (name && n < NAME_MAX_BYTES &&
	       (isalnum((unsigned char)name[n]) || name[n] == '_'))
		n++;
	if (name && n && n < NAME_MAX_BYTES && !name[n])
		(void)snprintf(to, NAME_MAX_BYTES, "%s", name);
	else
		(void)snprintf(to, NAME_MAX_BYTES, "arg%zu", number);
}

static void place_parameter(const struct signature *signature, Dwarf_Die *die,
			    struct parameter *parameter)
{
	struct sonde_probe_bytecode code = { .nr = 0 };
	struct sonde_probe_where where;
	const char *error;

	if (!sonde_probe_locate(signature->dwarf, die, &code, &where, &error))
		return;
	if (where.kind == SONDE_PROBE_WHERE_REGISTER)
		parameter->place = PARAMETER_REGISTER;
	else if (where.kind == SONDE_PROBE_WHERE_MEMORY && where.is_simple &&
		 where.has_reg)
		parameter->place = PARAMETER_FRAME;
	parameter->reg = where.reg;
}

static void find_parameters(struct signature *signature)
{
	Dwarf_Die child;
	int rc = dwarf_child(&signature->function, &child);

	while (rc == 0 && signature->nr < PARAMETERS_MAX) {
		struct parameter *parameter = &signature->list[signature->nr];

		if (dwarf_tag(&child) == DW_TAG_formal_parameter) {
			signature->nr++;
			name_parameter(dwarf_diename(&child), signature->nr,
				       parameter->name);
			parameter->has_type = sonde_probe_dwarf_type_of(
				&child, &parameter->type);
			place_parameter(signature, &child, parameter);
		}
		rc = dwarf_siblingof(&child, &child);
	}
}

/* ---- the ABI ---- */

static bool says_other_convention(Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Word convention;

	return dwarf_attr_integrate(function, DW_AT_calling_convention,
				    &attr) &&
	       (dwarf_formudata(&attr, &convention) ||
		convention != DW_CC_normal);
}

/* A result that is neither may be put where a first, hidden argument says. */
static bool hides_no_argument(Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_attr_integrate(function, DW_AT_type, &attr))
		return true;
	return sonde_probe_dwarf_type_of(function, &type) &&
	       (is_general(&type) || takes_no_general(&type));
}

static void count_registers(struct signature *signature)
{
	static const uint8_t order[] = { 5, 4, 3, 2, 8, 9 }; /* rdi ... r9 */
	bool is_sure = hides_no_argument(&signature->function);
	size_t nr = 0;

	for (size_t i = 0; i < signature->nr; i++) {
		struct parameter *parameter = &signature->list[i];

		parameter->by_abi = -1;
		is_sure = is_sure && parameter->has_type &&
			  (is_general(&parameter->type) ||
			   takes_no_general(&parameter->type));
		if (!is_sure || takes_no_general(&parameter->type))
			continue;
		if (nr < SONDE_ARRAY_SIZE(order))
			parameter->by_abi = order[nr++];
	}
}

static bool keeps_to_abi(struct signature *signature, const char *symbol)
{
	if (strchr(symbol, '.') || says_other_convention(&signature->function))
		return false;
	for (size_t i = 0; i < signature->nr; i++) {
		const struct parameter *parameter = &signature->list[i];

		if (parameter->place == PARAMETER_REGISTER &&
		    parameter->by_abi >= 0 &&
		    parameter->by_abi != parameter->reg)
			return false;
	}
	return true;
}

/* ---- all of it ---- */

static void say_parameters(struct signature *signature, const char *symbol,
			   FILE *to)
{
	bool by_abi = keeps_to_abi(signature, symbol);
	size_t nr = 0;

	for (size_t i = 0; i < signature->nr && nr < TOLD_MAX; i++) {
		struct parameter *parameter = &signature->list[i];
		int reg = -1;

		if (parameter->place == PARAMETER_REGISTER)
			reg = parameter->reg;
		else if (parameter->place == PARAMETER_FRAME && by_abi)
			reg = parameter->by_abi;
		if (reg < 0 || !parameter->has_type)
			continue;
		say_word("at", (unsigned int)reg, &parameter->type,
			 parameter->name, to);
		nr++;
	}
}

static bool find_function(struct sonde_probe_dwarf *dwarf, uint64_t address,
			  Dwarf_Die *ret)
{
	if (!sonde_probe_dwarf_at(dwarf, address) ||
	    !sonde_probe_dwarf_is_entry(dwarf))
		return false;
	for (int i = 0; i < dwarf->nr_scopes; i++) {
		*ret = dwarf->scopes[i];
		if (dwarf_tag(ret) == DW_TAG_subprogram)
			return true;
	}
	return false;
}

void sonde_hooks_signature_say(struct sonde_probe_dwarf *dwarf,
			       uint64_t address, const char *symbol, FILE *to)
{
	struct signature signature = { .dwarf = dwarf };
	Dwarf_Die type;

	if (!find_function(dwarf, address, &signature.function))
		return;
	find_parameters(&signature);
	count_registers(&signature);
	say_parameters(&signature, symbol, to);
	if (sonde_probe_dwarf_type_of(&signature.function, &type))
		say_word("rq", REGISTER_RAX, &type, "result", to);
}
