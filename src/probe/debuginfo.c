/* SPDX-License-Identifier: MIT */
/* debuginfo.c - see debuginfo.h. What types are is in debuginfo_type.c. */
#include "probe/debuginfo.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "probe/debuginfo_parts.h"
#include "sys/kmodules.h"

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

/* ---- the kernel's ---- */

/* A module's file is told beside it (report_module). */
static int find_elf_of_kernel(Dwfl_Module *module, void **userdata,
			      const char *name, Dwarf_Addr base,
			      char **ret_path, Elf **ret_elf)
{
	if (!*userdata)
		return dwfl_build_id_find_elf(module, userdata, name, base,
					      ret_path, ret_elf);
	*ret_path = strdup(*userdata);
	return *ret_path ? open(*ret_path, O_RDONLY | O_CLOEXEC) : -1;
}

/* libdw's own is not used: it gives a module up for a section that the kernel
 * doesn't keep, as __versions.
 * NOLINTNEXTLINE(readability-function-size): what libdw gives */
static int dwarf_find_section(Dwfl_Module *module, void **userdata,
			      const char *name, Dwarf_Addr base,
			      const char *section, GElf_Word index,
			      const GElf_Shdr *head, Dwarf_Addr *ret_address)
{
	uint64_t address = sonde_kmodule_section(name, section);

	(void)module;
	(void)userdata;
	(void)base;
	(void)index;
	(void)head;
	*ret_address = address ? address : (Dwarf_Addr)-1; /* not loaded */
	return DWARF_CB_OK;
}

static struct sonde_probe_dwarf *begin_kernel(void)
{
	static char *search; /* libdw's default */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf_of_kernel,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwarf_find_section,
		.debuginfo_path = &search,
	};
	struct sonde_probe_dwarf *dwarf = calloc(1, sizeof(*dwarf));

	if (!dwarf)
		return NULL;
	dwarf->dwfl = dwfl_begin(&callbacks);
	if (dwarf->dwfl)
		return dwarf;
	free(dwarf);
	return NULL;
}

/* The loaded module whose text begins next before an address: if that is in
 * another, of which there is no file, debugging information doesn't have it. */
struct finding_module {
	uint64_t address, text;
	char *name, *path;
};

static bool see_kmodule(void *ctx, const struct sonde_kmodule *module)
{
	struct finding_module *finding = ctx;

	if (module->text > finding->address || module->text <= finding->text)
		return true;
	free(finding->name);
	free(finding->path);
	finding->text = module->text;
	finding->name = strdup(module->name);
	finding->path = strdup(module->path);
	return finding->name && finding->path;
}

static bool report_module(struct sonde_probe_dwarf *dwarf, uint64_t address)
{
	struct finding_module finding = { .address = address };
	Dwfl_Module *module = NULL;
	void **userdata;

	(void)sonde_kmodules_each(see_kmodule, &finding);
	if (finding.name && finding.path)
		module = dwfl_report_module(dwarf->dwfl, finding.name,
					    finding.text, address + 1);
	if (module && dwfl_module_info(module, &userdata, NULL, NULL, NULL,
				       NULL, NULL, NULL)) {
		dwarf->module_path = finding.path;
		*userdata = finding.path;
	} else {
		free(finding.path);
	}
	free(finding.name);
	return dwarf->module_path &&
	       dwfl_report_end(dwarf->dwfl, NULL, NULL) == 0;
}

static struct sonde_probe_dwarf *
dwarf_open_kernel(const struct sonde_probe_debuggee *whose, uint64_t address)
{
	struct sonde_probe_dwarf *dwarf = begin_kernel();

	/* A file by itself, at its own addresses: the kernel's can't be told to
	 * libdw to be elsewhere. */
	if (dwarf &&
	    dwfl_report_elf(dwarf->dwfl, "kernel", whose->path, -1, 0, true) &&
	    dwfl_report_end(dwarf->dwfl, NULL, NULL) == 0 &&
	    sonde_probe_dwarf_at(dwarf, address - whose->moved))
		return dwarf;
	sonde_probe_dwarf_close(dwarf);
	dwarf = begin_kernel();
	if (dwarf && report_module(dwarf, address) &&
	    sonde_probe_dwarf_at(dwarf, address))
		return dwarf;
	sonde_probe_dwarf_close(dwarf);
	return NULL;
}

struct sonde_probe_dwarf *
sonde_probe_dwarf_open(const struct sonde_probe_debuggee *whose,
		       uint64_t address)
{
	struct sonde_probe_dwarf *dwarf;

	if (whose->path)
		return dwarf_open_kernel(whose, address);
	dwarf = sonde_probe_dwarf_begin(whose->pid);
	if (dwarf && sonde_probe_dwarf_at(dwarf, address))
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
	free(dwarf->module_path);
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
