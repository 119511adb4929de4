/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * available.c - the events that the running kernel has, and what a mistyped
 * name may have meant.
 *
 * The kernel's own list is read whole; a system call's two events are told as
 * one. Without the list there is no hint.
 */
#include "source/available.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "source/names.h"
#include "source/tracefs/instance.h"
#include "sys/textfile.h"

#define ENTRY     "sys_enter_"
#define BYTES_MAX (4u << 20)

/* All of a file of unknown size, as a string to be freed. */
static int read_whole(int root, const char *file, char **ret_text)
{
	for (size_t room = 256u << 10; room <= BYTES_MAX; room *= 2) {
		char *text = malloc(room);
		ssize_t n;

		if (!text)
			return -ENOMEM;
		n = sonde_textfile_read_at(root, file, text, room);
		if (n >= 0 && (size_t)n < room - 1) {
			*ret_text = text;
			return 0;
		}
		free(text);
		if (n < 0)
			return (int)n;
	}
	return -E2BIG;
}

struct available {
	int (*add)(void *ctx, const char *group, const char *name,
		   const char *shown);
	void *ctx;
};

/* A line "group:name". */
static int add_line(const struct available *available, char *line)
{
	char *name = strchr(line, ':');
	char shown[256];

	if (!name)
		return 0;
	*name++ = '\0';
	if (strcmp(line, "syscalls") != 0)
		return available->add(available->ctx, line, name,
				      sonde_source_event_name(line, name));
	if (strncmp(name, ENTRY, strlen(ENTRY)) != 0)
		return 0;
	name += strlen(ENTRY);
	(void)snprintf(shown, sizeof(shown), "syscall_entry_%.200s", name);
	return available->add(available->ctx, line, name, shown);
}

int sonde_source_available(int (*add)(void *ctx, const char *group,
				      const char *name, const char *shown),
			   void *ctx, struct sonde_source_error *error)
{
	struct available available = { add, ctx };
	int root = sonde_tracefs_open(error);
	char *text = NULL;
	char *next;
	char *line;
	int rc;

	if (root < 0)
		return root;
	rc = read_whole(root, "available_events", &text);
	(void)close(root); /* it was only read from */
	if (rc)
		return sonde_source_fail(error, rc,
					 "reading tracefs' list of events: %s",
					 strerrordesc_np(-rc));
	next = text;
	while (!rc && (line = strsep(&next, "\n")) != NULL)
		rc = add_line(&available, line);
	free(text);
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
