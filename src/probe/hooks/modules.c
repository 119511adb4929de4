/* SPDX-License-Identifier: MIT */
/*
 * modules.c - reads the loader's list of a process, and the tables of symbols
 * that its members have in memory.
 *
 * All that is read may be anything: it is read through the kernel, which checks
 * addresses, and the list ends after SONDE_HOOKS_MODULES_MAX.
 */
#include "probe/hooks/modules.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "probe/inject/inject.h"
#include "probe/inject/procfs.h"

/* ---- mappings ---- */

static const struct sonde_mapping *mapping_at(const struct sonde_maps *mappings,
					      uint64_t address)
{
	for (size_t i = 0; i < mappings->nr; i++)
		if (address >= mappings->list[i].start &&
		    address < mappings->list[i].end)
			return &mappings->list[i];
	return NULL;
}

/* The file that is mapped at the address: all of it, and its code. False: there
 * is none. */
static bool modules_find_file(const struct sonde_maps *mappings,
			      uint64_t address,
			      struct sonde_hooks_module *module)
{
	const struct sonde_mapping *in = mapping_at(mappings, address);

	if (!in || !in->inode)
		return false;
	for (size_t i = 0; i < mappings->nr; i++) {
		const struct sonde_mapping *m = &mappings->list[i];

		if (m->inode != in->inode || strcmp(m->path, in->path) != 0)
			continue;
		if (!module->end)
			module->start = m->start;
		module->end = m->end;
		if (m->executable && !module->code) {
			module->code = m->start;
			module->code_end = m->end;
		}
	}
	(void)snprintf(module->name, sizeof(module->name), "%s",
		       sonde_text_base(in->path));
	return true;
}

/* ---- the loader's list ---- */

/* What debuggers read: glibc's loader has it, musl's has a pointer to it. */
static int find_debug(const struct sonde_process *process, uint64_t loader,
		      uint64_t *ret_address)
{
	uint64_t pointer;
	int rc = sonde_process_symbol(process, loader, "_r_debug", ret_address);

	if (rc != -ENOENT ||
	    sonde_process_symbol(process, loader, "_dl_debug_addr", &pointer))
		return rc;
	return sonde_process_read(process, pointer, ret_address,
				  sizeof(*ret_address));
}

static int modules_find_list(const struct sonde_process *process,
			     uint64_t loader, uint64_t *ret_first)
{
	struct r_debug debug;
	uint64_t address;
	int rc = find_debug(process, loader, &address);

	if (rc == 0)
		rc = sonde_process_read(process, address, &debug,
					sizeof(debug));
	if (rc == 0)
		*ret_first = (uint64_t)(uintptr_t)debug.r_map;
	return rc;
}

static void modules_add_module(const struct sonde_process *process,
			       const struct sonde_maps *mappings,
			       uint64_t dynamic,
			       struct sonde_hooks_modules *modules)
{
	struct sonde_hooks_module module = { 0 };
	uint64_t address;

	/* What has no file or no symbols defines none. */
	if (!modules_find_file(mappings, dynamic, &module) ||
	    sonde_process_symbols_read(process, module.start,
				       &module.symbols) != 0)
		return;
	module.is_glibc = strncmp(module.name, "libpthread", 10) == 0 ||
			  sonde_process_symbols_find(process, &module.symbols,
						     "gnu_get_libc_version",
						     &address) == 0;
	modules->list[modules->nr++] = module;
}

static int read_list(const struct sonde_process *process,
		     const struct sonde_maps *mappings, uint64_t next,
		     struct sonde_hooks_modules *modules)
{
	for (size_t i = 0; next && i < SONDE_HOOKS_MODULES_MAX; i++) {
		struct link_map map;

		if (sonde_process_read(process, next, &map, sizeof(map)) != 0)
			return -EIO;
		modules_add_module(process, mappings,
				   (uint64_t)(uintptr_t)map.l_ld, modules);
		next = (uint64_t)(uintptr_t)map.l_next;
	}
	return modules->nr ? 0 : -EIO;
}

static int modules_read_all(const struct sonde_process *process,
			    const struct sonde_maps *mappings,
			    struct sonde_hooks_modules *modules,
			    struct sonde_process_error *error)
{
	const pid_t pid = sonde_process_pid(process);
	struct sonde_hooks_module loader = { 0 };
	uint64_t first = 0;
	uint64_t base = sonde_procfs_auxiliary(pid, AT_BASE);
	int rc;

	if (!base || !modules_find_file(mappings, base, &loader)) {
		sonde_process_error_set(
			error,
			"process %d is statically linked: its allocator, "
			"its locks and its calls have no names to find them by",
			(int)pid);
		return -ENOENT;
	}
	modules->loader = loader.start;
	modules->loader_end = loader.end;
	rc = modules_find_list(process, base, &first);
	if (rc == 0)
		rc = read_list(process, mappings, first, modules);
	if (rc != 0)
		sonde_process_error_set(error,
					"process %d: the list of its "
					"libraries can't be read from %s: %s",
					(int)pid, loader.name,
					strerrordesc_np(-rc));
	return rc;
}

int sonde_hooks_modules_read(const struct sonde_process *process,
			     struct sonde_hooks_modules *ret,
			     struct sonde_process_error *error)
{
	const pid_t pid = sonde_process_pid(process);
	struct sonde_maps mappings;
	int rc = sonde_process_mappings(pid, &mappings);

	if (rc != 0) {
		sonde_process_error_set(error, "process %d: /proc/%d/maps: %s",
					(int)pid, (int)pid,
					strerrordesc_np(-rc));
		return rc;
	}
	*ret = (struct sonde_hooks_modules){ 0 };
	rc = modules_read_all(process, &mappings, ret, error);
	sonde_maps_free(&mappings);
	return rc;
}

const struct sonde_hooks_module *
sonde_hooks_modules_find(const struct sonde_process *process,
			 const struct sonde_hooks_modules *modules,
			 const char *symbol, const char *besides,
			 uint64_t *ret_address)
{
	for (size_t i = 0; i < modules->nr; i++) {
		const struct sonde_hooks_module *module = &modules->list[i];
		uint64_t address;

		if (besides &&
		    sonde_process_symbols_find(process, &module->symbols,
					       besides, &address) != 0)
			continue;
		if (sonde_process_symbols_find(process, &module->symbols,
					       symbol, &address) != 0 ||
		    address - module->code >= module->code_end - module->code)
			continue;
		*ret_address = address;
		return module;
	}
	return NULL;
}

const struct sonde_hooks_module *
sonde_hooks_modules_named(const struct sonde_hooks_modules *modules,
			  const char *begin)
{
	for (size_t i = 0; i < modules->nr; i++)
		if (strncmp(modules->list[i].name, begin, strlen(begin)) == 0)
			return &modules->list[i];
	return NULL;
}
