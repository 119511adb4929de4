/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * marks.c - see marks.h: where the text is in the kernel's record, and what of it is
 * recorded.
 *
 * The record of ftrace:print ends with its text, of no size that its format would
 * tell; before it is `ip`, the code that wrote it.
 */
#include "source/tracefs/marks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ring/layout.h"
#include "source/tracefs/format.h"
#include "sys/fd.h"
#include "sys/textfile.h"

#define FORMAT_FILE "events/ftrace/print/format"

static int read_print_format(int root, struct sonde_tracefs_marks *marks)
{
	const struct sonde_format_field *ip;
	struct sonde_format format;
	char text[4096];
	ssize_t n =
		sonde_textfile_read_at(root, FORMAT_FILE, text, sizeof(text));

	if (n < 0 || sonde_format_parse(text, (size_t)n, &format))
		return -ENODEV;
	ip = sonde_format_find(&format, "ip");
	if (!ip || format.id > UINT16_MAX || !format.id)
		return -ENODEV;
	marks->type = (uint16_t)format.id;
	marks->text_at = (uint16_t)(ip->offset + ip->size);
	return 0;
}

static int find_door(int root, const char *instance, char door[PATH_MAX])
{
	char path[PATH_MAX];
	int rc = sonde_fd_path(root, path);
	int n = snprintf(door, PATH_MAX, "%s/instances/%s/trace_marker", path,
			 instance);

	return rc ? rc : n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int sonde_tracefs_marks_init(struct sonde_tracefs_marks *marks, int root,
			     const char *instance, uint32_t first)
{
	int rc = first + SONDE_MARKS_MAX + SONDE_LEVELS < SONDE_LARGE_ESCAPE ?
			 read_print_format(root, marks) :
			 -ENODEV;

	if (!rc)
		rc = find_door(root, instance, marks->door);
	if (rc)
		return rc;
	marks->first = (uint16_t)first;
	marks->table = sonde_marks_new(true);
	return marks->table ? 0 : -ENOMEM;
}

void sonde_tracefs_marks_fini(struct sonde_tracefs_marks *marks)
{
	sonde_marks_free(marks->table);
	*marks = (struct sonde_tracefs_marks){ .table = NULL };
}

int sonde_tracefs_marks_take(struct sonde_tracefs_marks *marks,
			     const struct sonde_page_record *record,
			     uint32_t tid, uint32_t cpu,
			     struct sonde_marks_taken *ret_taken)
{
	const struct sonde_source_marks *wanted = marks->wanted;
	int rc;

	if (record->size < marks->text_at)
		return -EPROTO;
	rc = sonde_marks_take(marks->table,
			      (const char *)record->data + marks->text_at,
			      record->size - marks->text_at, ret_taken);
	if (rc)
		return rc;
	if (!wanted->wants || wanted->wants(wanted->ctx, ret_taken, tid, cpu))
		return 1;
	marks->has_unwanted = true;
	return 0;
}
