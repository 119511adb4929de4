/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c - how much memory our control groups have left (cgroup.h).
 *
 * The least of a group and its ancestors counts, for each of both versions;
 * what can't be read is no limit. Some files of /sys/fs/cgroup for each level.
 */
#include "session/cgroup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "sys/proc.h"
#include "sys/textfile.h"

#define NO_LIMIT UINT64_MAX
/* The first version's word for none is a large number of pages. */
#define LIMIT_MAX (UINT64_MAX >> 2)

struct version {
	const char *type; /* of the file system */
	const char *controller;
	const char *limit; /* names of the files */
	const char *current;
	const char *files[2]; /* lines of memory.stat */
};

static const struct version versions[] = {
	{ "cgroup2",
	  "",
	  "memory.max",
	  "memory.current",
	  { "inactive_file", "active_file" } },
	{ "cgroup",
	  "memory",
	  "memory.limit_in_bytes",
	  "memory.usage_in_bytes",
	  { "total_inactive_file", "total_active_file" } },
};

struct place {
	char mount[PATH_MAX]; /* with the test's root before it */
	char root[PATH_MAX];  /* what of the hierarchy is mounted there */
	char path[PATH_MAX];  /* of our group, in the hierarchy */
};

static FILE *open_below(const char *directory, const char *name)
{
	char path[2 * PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", directory, name);

	return n < (int)sizeof(path) ? fopen(path, "re") : NULL;
}

static bool take_group(const char *line, const struct version *version,
		       struct place *place)
{
	const char *path = sonde_proc_find_cgroup(line, version->controller);

	return path && snprintf(place->path, sizeof(place->path), "%.*s",
				(int)strcspn(path, "\n"),
				path) < (int)sizeof(place->path);
}

/* "id parent dev root mountpoint options... - type source options" */
static bool take_mount(char *line, const struct version *version,
		       const char *prefix, struct place *place)
{
	char *rest = strstr(line, " - ");
	char *words[5];
	char *save;
	char *type;

	if (!rest)
		return false;
	*rest = '\0';
	type = rest + 3;
	rest = strchr(type, ' ');
	if (!rest)
		return false;
	*rest++ = '\0';
	rest = strchr(rest, ' ');
	if (strcmp(type, version->type) != 0 || !rest ||
	    (*version->controller &&
	     !sonde_text_has(rest + 1, strlen(rest + 1), ",\n",
			     version->controller)))
		return false;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(words); i++) {
		words[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!words[i])
			return false;
	}
	return snprintf(place->root, sizeof(place->root), "%s", words[3]) <
		       (int)sizeof(place->root) &&
	       snprintf(place->mount, sizeof(place->mount), "%s%s", prefix,
			words[4]) < (int)sizeof(place->mount);
}

static bool find_place(const char *prefix, const struct version *version,
		       struct place *place)
{
	bool has_group = false;
	bool has_mount = false;
	char line[3 * PATH_MAX];
	FILE *file = open_below(prefix, "proc/self/cgroup");

	while (file && !has_group && fgets(line, sizeof(line), file))
		has_group = take_group(line, version, place);
	if (file)
		(void)fclose(file); /* it was only read */
	file = has_group ? open_below(prefix, "proc/self/mountinfo") : NULL;
	while (file && !has_mount && fgets(line, sizeof(line), file))
		has_mount = take_mount(line, version, prefix, place);
	if (file)
		(void)fclose(file); /* it was only read */
	return has_mount;
}

/* A file's number; NO_LIMIT if it has none ("max"), or isn't there. */
static uint64_t cgroup_read_number(const char *directory, const char *name)
{
	uint64_t number = NO_LIMIT;
	char text[32];
	const char *at = text;

	(void)sonde_textfile_read(text, sizeof(text), "%s/%s", directory, name);
	(void)sonde_number_take(&at, 10, NO_LIMIT, &number);
	return number;
}

/* What the kernel can drop before it kills. */
static uint64_t droppable(const char *directory, const struct version *version)
{
	FILE *file = open_below(directory, "memory.stat");
	uint64_t sum = 0;
	char line[96];

	while (file && fgets(line, sizeof(line), file)) {
		char *space = strchr(line, ' ');
		const char *at = space + 1;
		uint64_t number;

		if (!space || !sonde_number_take(&at, 10, UINT64_MAX, &number))
			continue;
		*space = '\0';
		if (!strcmp(line, version->files[0]) ||
		    !strcmp(line, version->files[1]))
			sum += number;
	}
	if (file)
		(void)fclose(file); /* it was only read */
	return sum;
}

static uint64_t left_in(const char *directory, const struct version *version)
{
	uint64_t limit = cgroup_read_number(directory, version->limit);
	uint64_t current;
	uint64_t files;

	if (limit > LIMIT_MAX)
		return NO_LIMIT;
	current = cgroup_read_number(directory, version->current);
	if (current > LIMIT_MAX)
		return limit;
	files = droppable(directory, version);
	current -= files < current ? files : current;
	return limit > current ? limit - current : 0;
}

/* Our group and its ancestors, up to what is mounted. */
static uint64_t left_above(const struct place *place,
			   const struct version *version)
{
	char directory[2 * PATH_MAX];
	const char *below = place->path;
	size_t root = strlen(place->root);
	size_t mount = strlen(place->mount);
	uint64_t least = NO_LIMIT;

	/* Only a part of the hierarchy may be mounted; a group outside of it
	 * isn't seen, but what is mounted is above us. */
	if (root > 1)
		below = strncmp(below, place->root, root) ? "" : below + root;
	(void)snprintf(directory, sizeof(directory), "%s%s", place->mount,
		       below);
	for (;;) {
		uint64_t left = left_in(directory, version);
		char *slash = strrchr(directory, '/');

		if (left < least)
			least = left;
		if (!slash || (size_t)(slash - directory) < mount)
			return least;
		*slash = '\0';
	}
}

uint64_t sonde_cgroup_left(const char *root)
{
	uint64_t least = NO_LIMIT;
	struct place place;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(versions); i++) {
		uint64_t left;

		if (!find_place(root, &versions[i], &place))
			continue;
		left = left_above(&place, &versions[i]);
		if (left < least)
			least = left;
	}
	return least;
}
