/* SPDX-License-Identifier: MIT */
/*
 * kmodules.c - see kmodules.h.
 *
 * modules.dep has a line for each file of this kernel's; those that are loaded have a
 * directory of addresses in /sys/module, which are 0 for who mustn't know them. The
 * file with debugging information comes first, then the module itself, whose symbol
 * table is better than none; compressed as depmod knows it. What is elsewhere is left out.
 */
#include "sys/kmodules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"
#include "base/sum.h"
#include "base/text.h"
#include "sys/dir.h"
#include "sys/textfile.h"

#define NAME_ROOM 64u
#define PATH_ROOM 512u
/* Of one section: where no other is known to follow. */
#define EXTENT_MAX (UINT64_C(1) << 20)

static const char *const module_places[] = {
	"/usr/lib/debug/lib/modules/",
	"/lib/modules/",
};

static const char *const module_endings[] = { ".ko", ".ko.xz", ".ko.zst",
					      ".ko.gz" };

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

uint64_t sonde_kmodule_section(const char *module, const char *section)
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

bool sonde_kmodule_extent(const char *module, const char *section,
			  uint64_t *ret_begin, uint64_t *ret_end)
{
	uint64_t begin = sonde_kmodule_section(module, section);
	uint64_t end = begin + EXTENT_MAX;
	char path[NAME_ROOM + 32];
	const struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/sys/module/%s/sections", module);
	dir = begin ? sonde_dir_open_at(AT_FDCWD, path) : NULL;
	/* Most names begin with a dot. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (dir && (entry = readdir(dir))) {
		uint64_t other = sonde_kmodule_section(module, entry->d_name);

		if (other > begin && other < end)
			end = other;
	}
	if (dir)
		(void)closedir(dir);
	*ret_begin = begin;
	*ret_end = end;
	return begin;
}

int sonde_kmodules_loaded(bool (*visit)(void *ctx, const char *name), void *ctx)
{
	DIR *dir = sonde_dir_open_at(AT_FDCWD, "/sys/module");
	const char *name;

	if (!dir)
		return -errno;
	/* Those that are built in have no sections. */
	while ((name = sonde_dir_next(dir)))
		if (sonde_kmodule_section(name, ".text") && !visit(ctx, name))
			break;
	(void)closedir(dir);
	return 0;
}

/* "NAME BYTES USERS USED,BY, STATE ADDRESS": who uses it changes all the time. */
static uint64_t stamp_module(uint64_t stamp, char *line)
{
	const char *word;

	for (unsigned int i = 0; (word = strsep(&line, " ")); i++)
		if (i != 2 && i != 3)
			stamp = sonde_sum_mix(stamp,
					      sonde_sum(word, strlen(word)));
	return stamp;
}

uint64_t sonde_kmodules_stamp(const char *path)
{
	struct sonde_lines *lines = malloc(sizeof(*lines));
	uint64_t stamp = 0;
	char *line;
	int rc;

	if (!lines)
		return 0;
	rc = sonde_lines_open(lines, "%s", path);
	while (!rc && (line = sonde_lines_next(lines)))
		stamp = stamp_module(stamp, line);
	if (!rc)
		rc = lines->error;
	sonde_lines_close(lines);
	free(lines);
	return rc && rc != -ENOENT ? 0 : stamp | 1;
}

/* `stem`: up to the ending. */
static bool find_in_place(const char *place, const char *release,
			  const char *stem, size_t length,
			  char found[PATH_ROOM])
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(module_endings); i++) {
		(void)snprintf(found, PATH_ROOM, "%s%s/%.*s%s", place, release,
			       (int)length, stem, module_endings[i]);
		if (!access(found, R_OK))
			return true;
	}
	return false;
}

static bool find_module_file(const char *release, const char *path,
			     char found[PATH_ROOM])
{
	size_t length = (size_t)(strstr(sonde_text_base(path), ".ko") - path);

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(module_places); i++)
		if (find_in_place(module_places[i], release, path, length,
				  found))
			return true;
	return false;
}

/* A line of modules.dep, from its beginning to the colon; false: no more. */
static bool visit_line(const char *release, const char *path,
		       bool (*visit)(void *ctx,
				     const struct sonde_kmodule *module),
		       void *ctx)
{
	char name[NAME_ROOM];
	char file[PATH_ROOM];
	struct sonde_kmodule module = { .name = name, .path = file };

	if (!name_module(path, name))
		return true;
	module.text = sonde_kmodule_section(name, ".text");
	if (!module.text || !find_module_file(release, path, file))
		return true;
	module.is_packed = strcmp(strrchr(file, '.'), ".ko") != 0;
	return visit(ctx, &module);
}

int sonde_kmodules_each(bool (*visit)(void *ctx,
				      const struct sonde_kmodule *module),
			void *ctx)
{
	struct sonde_lines *lines = malloc(sizeof(*lines));
	struct utsname name;
	bool goes_on = true;
	char *line;
	int rc = lines ? 0 : -ENOMEM;

	if (!rc && uname(&name))
		rc = -errno;
	if (!rc)
		rc = sonde_lines_open(lines, "/lib/modules/%s/modules.dep",
				      name.release);
	if (rc) {
		free(lines);
		return rc;
	}
	while (goes_on && (line = sonde_lines_next(lines))) {
		line[strcspn(line, ":")] = '\0';
		goes_on = visit_line(name.release, line, visit, ctx);
	}
	rc = lines->error;
	sonde_lines_close(lines);
	free(lines);
	return rc;
}
