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

struct sonde_probe_dwarf *sonde_probe_dwarf_begin(pid_t pid)
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
		return dwarf;
	sonde_probe_dwarf_close(dwarf);
	return NULL;
}

bool sonde_probe_dwarf_at(struct sonde_probe_dwarf *dwarf, uint64_t address)
{
	free(dwarf->scopes);
	dwarf->scopes = NULL;
	dwarf->nr_scopes = 0;
	dwarf->module = dwfl_addrmodule(dwarf->dwfl, address);
	return dwarf->module && find_unit(dwarf, address) && find_scopes(dwarf);
}

/* A file by itself, at its own addresses: the kernel's can't be told to libdw
 * to be elsewhere. */
static struct sonde_probe_dwarf *begin_dwarf_of(const char *path)
{
	static char *search; /* libdw's default */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &search,
	};
	struct sonde_probe_dwarf *dwarf = calloc(1, sizeof(*dwarf));

	if (!dwarf)
		return NULL;
	dwarf->dwfl = dwfl_begin(&callbacks);
	if (dwarf->dwfl &&
	    dwfl_report_elf(dwarf->dwfl, "kernel", path, -1, 0, true) &&
	    dwfl_report_end(dwarf->dwfl, NULL, NULL) == 0)
		return dwarf;
	sonde_probe_dwarf_close(dwarf);
	return NULL;
}

struct sonde_probe_dwarf *
sonde_probe_dwarf_open(const struct sonde_probe_debuggee *whose,
		       uint64_t address)
{
	struct sonde_probe_dwarf *dwarf =
		whose->path ? begin_dwarf_of(whose->path) :
			      sonde_probe_dwarf_begin(whose->pid);

	if (dwarf && sonde_probe_dwarf_at(dwarf, address - whose->moved))
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

/* ---- variables ---- */

bool sonde_probe_dwarf_is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

bool sonde_probe_dwarf_is_entry(const struct sonde_probe_dwarf *dwarf)
{
	Dwarf_Addr entry;

	for (int i = 0; i < dwarf->nr_scopes; i++)
		if (dwarf_tag(&dwarf->scopes[i]) == DW_TAG_subprogram)
			return dwarf_entrypc(&dwarf->scopes[i], &entry) == 0 &&
			       entry == dwarf->pc;
	return false;
}

static bool each_child(Dwarf_Die *scope, bool is_local,
		       sonde_probe_die_visit *visit, void *ctx)
{
	Dwarf_Die child;
	int rc = dwarf_child(scope, &child);

	for (unsigned int i = 0; rc == 0 && i < CHILDREN_MAX; i++) {
		if (visit(&child, is_local, ctx))
			return true;
		rc = dwarf_siblingof(&child, &child);
	}
	return false;
}

/* Blocks out to the function, also an inlined one; then the file. */
bool sonde_probe_dwarf_visible(struct sonde_probe_dwarf *dwarf,
			       sonde_probe_die_visit *visit, void *ctx)
{
	bool is_local = true;

	for (int i = 0; i < dwarf->nr_scopes; i++) {
		Dwarf_Die *scope = &dwarf->scopes[i];

		if (dwarf_tag(scope) == DW_TAG_compile_unit)
			is_local = false;
		else if (!is_local)
			continue;
		if (each_child(scope, is_local, visit, ctx))
			return true;
		if (sonde_probe_dwarf_is_function(scope))
			is_local = false;
	}
	return false;
}

bool sonde_probe_dwarf_everywhere(struct sonde_probe_dwarf *dwarf,
				  sonde_probe_die_visit *visit, void *ctx)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	while (dwarf->module &&
	       (unit = dwfl_module_nextcu(dwarf->module, unit, &bias)))
		if (each_child(unit, false, visit, ctx))
			return true;
	return false;
}

bool sonde_probe_dwarf_is_variable(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

struct finding {
	const char *name;
	size_t length;
	Dwarf_Die die;
};

/* What is only declared there is defined elsewhere. */
static bool find_one(Dwarf_Die *die, bool is_local, void *ctx)
{
	struct finding *finding = ctx;
	const char *name =
		sonde_probe_dwarf_is_variable(die) ? dwarf_diename(die) : NULL;

	(void)is_local;
	if (!name || dwarf_hasattr(die, DW_AT_declaration) ||
	    strlen(name) != finding->length ||
	    strncmp(name, finding->name, finding->length) != 0)
		return false;
	finding->die = *die;
	return true;
}

bool sonde_probe_dwarf_find(struct sonde_probe_dwarf *dwarf, const char *name,
			    size_t length, Dwarf_Die *ret_die)
{
	struct finding finding = { .name = name, .length = length };

	if (!sonde_probe_dwarf_visible(dwarf, find_one, &finding) &&
	    !sonde_probe_dwarf_everywhere(dwarf, find_one, &finding))
		return false;
	*ret_die = finding.die;
	return true;
}
