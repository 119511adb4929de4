/* SPDX-License-Identifier: MIT */
/*
 * cursor.h - what map.c needs of cursors beyond <sonde/trace.h>.
 */
#ifndef READER_CORE_CURSOR_H
#define READER_CORE_CURSOR_H

#include "reader/reader.h"

/* As sonde_cursor_new(), for the events whose keys (reader.h) are from
 * key_from to key_to, both included. */
int sonde_cursor_new_slice(struct sonde_trace *trace,
			   const struct sonde_cursor_options *options,
			   int64_t key_from, int64_t key_to,
			   struct sonde_cursor **ret_cursor);

#endif /* READER_CORE_CURSOR_H */
