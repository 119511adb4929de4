/* SPDX-License-Identifier: MIT */
/*
 * gdb_modules.c - the kernel's modules for GDB: a script of its commands, in a file
 * without a name, that add each one's symbols where its sections are. What is
 * compressed is unpacked into another such file, one for each.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "cmd/cmd.h"
#include "probe/unpack.h"
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

static void put_sections(FILE *to, const char *module)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(module_sections); i++) {
		uint64_t address =
			sonde_kmodule_section(module, module_sections[i]);

		if (address)
			(void)fprintf(to, " -s %s 0x%llx", module_sections[i],
				      (unsigned long long)address);
	}
	(void)fputc('\n', to);
}

static void put_lack(FILE *to, const struct sonde_kmodule *module, int error)
{
	const char *why = strerrordesc_np(-error);

	if (error == -ENOSYS)
		why = "this build has no libdw, or libzstd, to decompress them";
	if (error == -ENOEXEC)
		why = "they can't be decompressed";
	(void)fprintf(to, "echo no symbols of %s from %s: %s\\n\n",
		      module->name, module->path, why);
}

static bool put_module(void *ctx, const struct sonde_kmodule *module)
{
	struct putting_modules *putting = ctx;
	int fd = module->is_packed ? sonde_probe_unpack(module->path) : -1;

	putting->has_any = true;
	if (module->is_packed && fd < 0) {
		put_lack(putting->to, module, fd);
		return true;
	}
	if (module->is_packed)
		(void)fprintf(putting->to,
			      "add-symbol-file \"/proc/self/fd/%d\"", fd);
	else
		(void)fprintf(putting->to, "add-symbol-file \"%s\"",
			      module->path);
	put_sections(putting->to, module->name);
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
