/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * marks.h - lines that programs write to the instance's file trace_marker
 * (marks/mark.h), each an event of the trace: one system call, from any program.
 *
 * The kernel records the bytes, as its event ftrace:print, whoever's events are
 * recorded; what they say is found out where they are read. Whether the file may be
 * written to, its mode says. What the kernel can't record, as the buffer is full, is
 * EBADF for the writer, and counted as every other event (stream.h).
 */
#ifndef SOURCE_TRACEFS_MARKS_H
#define SOURCE_TRACEFS_MARKS_H

#include <limits.h>

#include "source/marks/table.h"
#include "source/source.h"
#include "source/tracefs/page.h"

struct sonde_tracefs_marks {
	const struct sonde_source_marks *wanted; /* borrowed */
	struct sonde_marks *table;
	uint16_t type;    /* the kernel's id of the event */
	uint16_t text_at; /* in its record */
	uint16_t first;   /* id of the first kind, in the trace */
	bool has_unwanted;
	char door[PATH_MAX];
};

/* `root` is tracefs, `instance` ours in it. 0; -ENODEV: this kernel's aren't
 * understood, or there are too many other events; -ENOMEM. */
int sonde_tracefs_marks_init(struct sonde_tracefs_marks *marks, int root,
			     const char *instance, uint32_t first);
/* What is zeroed, too. */
void sonde_tracefs_marks_fini(struct sonde_tracefs_marks *marks);

/* Whether the record, of that type of the kernel's, is a mark. */
static inline bool
sonde_tracefs_marks_has(const struct sonde_tracefs_marks *marks, uint16_t type)
{
	return marks && marks->type == type;
}

/* 1: it is to be recorded; 0: it isn't wanted, but was taken; -EPROTO: it has no text;
 * -ENOMEM. */
int sonde_tracefs_marks_take(struct sonde_tracefs_marks *marks,
			     const struct sonde_page_record *record,
			     uint32_t tid, uint32_t cpu,
			     struct sonde_marks_taken *ret_taken);

#endif /* SOURCE_TRACEFS_MARKS_H */
