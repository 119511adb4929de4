/* SPDX-License-Identifier: MIT */
/*
 * problems.h - the list of what is wrong with a trace: made, read, freed.
 * Adding is in reader/reader.h.
 */
#ifndef READER_CORE_PROBLEMS_H
#define READER_CORE_PROBLEMS_H

#include "reader/reader.h"

/* NULL without memory. */
struct sonde_problems *sonde_problems_new(void);
void sonde_problems_free(struct sonde_problems *problems);

#endif /* READER_CORE_PROBLEMS_H */
