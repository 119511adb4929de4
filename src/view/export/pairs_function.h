/* SPDX-License-Identifier: MIT */
/*
 * pairs_function.h - the name of the function that an event is about, for pairs of
 * which the field that makes the name is an address.
 *
 * It is looked up when the address is first seen in an image, and is the same
 * from then on: begin and end must have the same, whatever is mapped meanwhile.
 */
#ifndef VIEW_EXPORT_PAIRS_FUNCTION_H
#define VIEW_EXPORT_PAIRS_FUNCTION_H

#include <sonde/trace.h>

#include "view/export/names.h"

struct sonde_pair_function;

/* NULL without memory. */
struct sonde_pair_function *sonde_pair_function_new(struct sonde_trace *trace);
/* NULL is fine. */
void sonde_pair_function_free(struct sonde_pair_function *code);

/* Its number among `names`; 0: there is none, the address will do. */
uint32_t sonde_pair_function_name(struct sonde_pair_function *code,
				  struct sonde_export_names *names,
				  const struct sonde_event *event,
				  uint64_t address);

#endif /* VIEW_EXPORT_PAIRS_FUNCTION_H */
