/* SPDX-License-Identifier: MIT */
/*
 * gdb_modules.c - the kernel's modules for GDB: a script of its commands, in a file
 * without a name, that add each one's symbols where its sections are.
 */
#include <stdio.h>

#include "base/port.h"
#include "cmd/cmd.h"
#include "sys/kmodules.h"

/* Those that debugging information is about. */
static const char *const module_sections[] = {
	".text", ".text.unlikely",     ".rodata",
	".data", ".data..read_mostly", ".bss",
};

struct putting_modules {
	FILE *to;
	bool has_any;
};

static bool put_module(void *ctx, const struct sonde_kmodule *module)
{
	struct putting_modules *putting = ctx;

	(void)fprintf(putting->to, "add-symbol-file \"%s\"", module->path);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(module_sections); i++) {
		uint64_t address =
			sonde_kmodule_section(module->name, module_sections[i]);

		if (address)
			(void)fprintf(putting->to, " -s %s 0x%llx",
				      module_sections[i],
				      (unsigned long long)address);
	}
	(void)fputc('\n', putting->to);
	putting->has_any = true;
	return true;
}

static bool put_modules(FILE *to, const void *ctx)
{
	struct putting_modules putting = { .to = to };

	(void)ctx;
	return !sonde_kmodules_each(put_module, &putting) && putting.has_any;
}

int sonde_gdb_module_script(char path[SONDE_GDB_SCRIPT_PATH])
{
	return sonde_gdb_script(put_modules, NULL, path);
}
