/* SPDX-License-Identifier: MIT */
/*
 * pairs_code.h - the name of the function that an event is about, for pairs of
 * which the field that makes the name is an address.
 *
 * It is looked up when the address is first seen in an image, and is the same
 * from then on: begin and end must have the same, whatever is mapped meanwhile.
 */
#ifndef VIEW_EXPORT_PAIRS_CODE_H
#define VIEW_EXPORT_PAIRS_CODE_H

#include <sonde/trace.h>

#include "view/export/names.h"

struct sonde_pair_code;

/* NULL without memory. */
struct sonde_pair_code *sonde_pair_code_new(struct sonde_trace *trace);
/* NULL is fine. */
void sonde_pair_code_free(struct sonde_pair_code *code);

/* Its number among `names`; 0: there is none, the address will do. */
uint32_t sonde_pair_code_name(struct sonde_pair_code *code,
			      struct sonde_export_names *names,
			      const struct sonde_event *event,
			      uint64_t address);

#endif /* VIEW_EXPORT_PAIRS_CODE_H */
