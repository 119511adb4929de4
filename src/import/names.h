/* SPDX-License-Identifier: MIT */
/*
 * names.h - what threads are called, told as a state dump tells it
 * (source/statedump/events.h), for who converts.
 */
#ifndef IMPORT_NAMES_H
#define IMPORT_NAMES_H

#include "import/output.h"

/* The class's event, a process's. 0 or the output's first error. */
int sonde_import_names_describe(struct sonde_import_output *output,
				uint32_t class_id);

/* After that, where a class has the kernel's names, too: modules and symbols, which
 * source/statedump/events.h emits. */
int sonde_import_names_describe_kernel(struct sonde_import_output *output,
				       uint32_t class_id);

/* At the stream's time. 0 or the output's first error. */
int sonde_import_names_put(struct sonde_import_stream *stream, int32_t pid,
			   int32_t tid, const char *name);

#endif /* IMPORT_NAMES_H */
