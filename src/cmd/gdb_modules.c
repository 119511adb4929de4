/* SPDX-License-Identifier: MIT */
/*
 * gdb_modules.c - the kernel's modules for GDB: a script of its commands, in a file
 * without a name, that add each one's symbols where its sections are.
 *
 * modules.dep has a line for each file of this kernel's; those that are loaded have a
 * directory of addresses in /sys/module, which are 0 for who mustn't know them. The
 * file with debugging information comes first, then the module itself, whose symbol
 * table is better than none. What is compressed, or elsewhere, is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "sys/textfile.h"

#define NAME_ROOM 64u
#define PATH_ROOM 512u

static const char *const module_places[] = {
	"/usr/lib/debug/lib/modules/",
	"/lib/modules/",
};

/* Those that debugging information is about. */
static const char *const module_sections[] = {
	".text", ".text.unlikely",     ".rodata",
	".data", ".data..read_mostly", ".bss",
};

/* What /sys/module calls it; false: that is no file of a module. */
static bool name_module(const char *path, char name[NAME_ROOM])
{
	const char *base = sonde_text_base(path);
	const char *end = strstr(base, ".ko");
	size_t length = end ? (size_t)(end - base) : 0;

	if (!length || length >= NAME_ROOM)
		return false;
	for (size_t i = 0; i < length; i++)
		name[i] = (char)(base[i] == '-' ? '_' : base[i]);
	name[length] = '\0';
	return true;
}

static uint64_t section_address(const char *module, const char *section)
{
	char line[32];
	const char *at = line;
	uint64_t address = 0;

	if (sonde_textfile_read_line(line, sizeof(line),
				     "/sys/module/%s/sections/%s", module,
				     section) <= 0 ||
	    !sonde_number_take_prefixed(&at, UINT64_MAX, &address))
		return 0;
	return address;
}

static bool find_module_file(const char *release, const char *path,
			     char found[PATH_ROOM])
{
	size_t length = (size_t)(strstr(sonde_text_base(path), ".ko") - path);

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(module_places); i++) {
		(void)snprintf(found, PATH_ROOM, "%s%s/%.*s.ko",
			       module_places[i], release, (int)length, path);
		if (!access(found, R_OK))
			return true;
	}
	return false;
}

/* 1 if it is loaded, and its symbols can be had. */
static uint32_t put_module(FILE *to, const char *release, const char *path)
{
	char name[NAME_ROOM];
	char file[PATH_ROOM];

	if (!name_module(path, name) || !section_address(name, ".text") ||
	    !find_module_file(release, path, file))
		return 0;
	(void)fprintf(to, "add-symbol-file \"%s\"", file);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(module_sections); i++) {
		uint64_t address = section_address(name, module_sections[i]);

		if (address)
			(void)fprintf(to, " -s %s 0x%llx", module_sections[i],
				      (unsigned long long)address);
	}
	(void)fputc('\n', to);
	return 1;
}

static bool put_modules(FILE *to, const void *ctx)
{
	struct sonde_lines *lines = malloc(sizeof(*lines));
	struct utsname name;
	uint32_t nr = 0;
	char *line;

	(void)ctx;
	if (!lines || uname(&name) ||
	    sonde_lines_open(lines, "/lib/modules/%s/modules.dep",
			     name.release)) {
		free(lines);
		return false;
	}
	while ((line = sonde_lines_next(lines))) {
		line[strcspn(line, ":")] = '\0';
		nr += put_module(to, name.release, line);
	}
	sonde_lines_close(lines);
	free(lines);
	return nr;
}

int sonde_gdb_module_script(char path[SONDE_GDB_SCRIPT_PATH])
{
	return sonde_gdb_script(put_modules, NULL, path);
}
