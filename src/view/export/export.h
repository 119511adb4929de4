/* SPDX-License-Identifier: MIT */
/*
 * export.h - a trace's events as files for other programs.
 *
 * To add a kind of file: a function here, a line in formats.c, a section in
 * man/sonde-export.1, and a test in tests/e2e/test_export.py that reads the file
 * with something that isn't Sonde's.
 *
 * All read the trace once, in the order of time, and write as they go; memory
 * doesn't grow with the trace, but for what spans.h and the kernel's state keep
 * of threads.
 */
#ifndef VIEW_EXPORT_EXPORT_H
#define VIEW_EXPORT_EXPORT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "reader/names/names.h"
#include "view/export/timeline.h"

struct sonde_export {
	struct sonde_timeline_config timeline; /* of all, trace and options */
	const char *fields; /* csv: paths, separated by commas; NULL */
	bool no_names;      /* of addresses: numbers alone */
	FILE *to;
	/* out: what could not be told, one line; "" if nothing */
	char notes[1024];
	/* out: why it can't be done: always of -EINVAL; "" if only errno tells */
	char error[256];
};

struct sonde_export_format {
	const char *name;
	/* 0 or a negative errno */
	int (*run)(struct sonde_export *export);
	/* Readers of such files are known to give up on larger ones. */
	uint64_t sensible_bytes; /* 0: no limit known */
	const char *remedy;
	bool binary; /* not for a terminal */
};

/* NULL if there is none of that name. */
const struct sonde_export_format *sonde_export_find(const char *name);
/* The i-th of them, or NULL. */
const struct sonde_export_format *sonde_export_format(size_t i);

/* 0 or the negative errno of writing. */
int sonde_export_write(FILE *to, const void *bytes, size_t size);
/* Keeps a note for the user; and those of the spans. */
__attribute__((format(printf, 2, 3))) void
sonde_export_add_note(struct sonde_export *export, const char *format, ...);
void sonde_export_note(struct sonde_export *export,
		       const struct sonde_spans *spans);
/* To be freed; NULL if none are wanted. 0 or -ENOMEM. */
int sonde_export_open_names(const struct sonde_export *export,
			    struct sonde_names **ret_names);
/* Says why it can't be done; returns -EINVAL. */
#define sonde_export_refuse(export, ...)                                  \
	sonde_text_say((export)->error, sizeof((export)->error), -EINVAL, \
		       __VA_ARGS__)

int sonde_export_perfetto(struct sonde_export *export);
int sonde_export_chrome(struct sonde_export *export);
int sonde_export_csv(struct sonde_export *export);
int sonde_export_jsonl(struct sonde_export *export);
int sonde_export_ctf(struct sonde_export *export);
int sonde_export_folded(struct sonde_export *export);

#endif /* VIEW_EXPORT_EXPORT_H */
