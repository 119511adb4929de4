/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * available.c - the events that the running kernel has, and what a mistyped
 * name may have meant.
 *
 * The kernel's own list is read line by line; a system call's two events are told as
 * one. Without the list there is no hint.
 */
#include "source/available.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "source/described.h"
#include "source/names.h"
#include "source/tracefs/instance.h"
#include "sys/textfile.h"

#define ENTRY "sys_enter_"

typedef int (*add_fn)(void *ctx, const char *group, const char *name,
		      const char *shown);

/* A line "group:name". */
static int add_line(char *line, add_fn add, void *ctx)
{
	char *name = strchr(line, ':');
	char shown[256];

	if (!name)
		return 0;
	*name++ = '\0';
	if (strcmp(line, "syscalls") != 0)
		return add(ctx, line, name,
			   sonde_source_event_name(line, name));
	if (strncmp(name, ENTRY, strlen(ENTRY)) != 0)
		return 0;
	name += strlen(ENTRY);
	(void)snprintf(shown, sizeof(shown), "syscall_entry_%.200s", name);
	return add(ctx, line, name, shown);
}

struct adding {
	add_fn add;
	void *ctx;
};

static int add_described(void *ctx, const struct sonde_desc *desc)
{
	const struct adding *to = ctx;

	return to->add(to->ctx, sonde_desc_provider(desc),
		       sonde_desc_name(desc), sonde_desc_name(desc));
}

int sonde_source_available(int (*add)(void *ctx, const char *group,
				      const char *name, const char *shown),
			   void *ctx, struct sonde_source_error *error)
{
	int root = sonde_tracefs_open(error);
	struct sonde_lines lines;
	char *line;
	int rc;

	if (root < 0)
		return root;
	rc = sonde_lines_open(&lines, "/proc/self/fd/%d/available_events",
			      root);
	(void)close(root); /* a directory */
	if (rc)
		return sonde_source_fail(error, rc,
					 "reading tracefs' list of events: %s",
					 strerrordesc_np(-rc));
	while (!rc && (line = sonde_lines_next(&lines)))
		rc = add_line(line, add, ctx);
	sonde_lines_close(&lines);
	if (!rc)
		rc = sonde_source_each_described(SONDE_SOURCE_NOTES,
						 add_described,
						 &(struct adding){ add, ctx });
	return rc;
}

static int try_name(void *ctx, const char *group, const char *name,
		    const char *shown)
{
	struct sonde_nearest *nearest = ctx;
	char full[SONDE_NEAREST_MAX];

	(void)snprintf(full, sizeof(full), "%.30s:%.30s", group, name);
	if (strchr(nearest->word, ':')) {
		sonde_nearest_try_event(nearest, full);
		return 0;
	}
	sonde_nearest_try(nearest, group);
	sonde_nearest_try(nearest, name);
	sonde_nearest_try(nearest, shown);
	return 0;
}

const char *sonde_source_hint(const char *pattern,
			      struct sonde_nearest *nearest)
{
	struct sonde_source_error error;

	sonde_nearest_begin(nearest, pattern);
	/* Without the list there is no hint. */
	(void)sonde_source_available(try_name, nearest, &error);
	return sonde_nearest_hint(nearest);
}
