/* SPDX-License-Identifier: MIT */
/*
 * occurring.h - which of the events that a trace declares occur in it. A kernel
 * trace declares some thousand, of which forty occur.
 */
#ifndef READER_OCCURRING_H
#define READER_OCCURRING_H

#include <stdbool.h>

#include "reader/map.h"

/* Reads all that the options select. Sets ret_occurs[i], of as many as there
 * are event classes, for those of index i; 0 or as sonde_map(). */
int sonde_occurring(struct sonde_trace *trace,
		    const struct sonde_map_options *options, bool *ret_occurs);

#endif /* READER_OCCURRING_H */
