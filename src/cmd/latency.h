/* SPDX-License-Identifier: MIT */
/* latency.h - what the files of `sonde latency` share. */
#ifndef CMD_LATENCY_H
#define CMD_LATENCY_H

#include <stdbool.h>

#include "latency/measure.h"

/* Shows what was measured, as a table or as JSON. An exit status. */
int latency_show(const struct sonde_latency_config *config,
		 const struct sonde_latency_result *result, bool json);

#endif /* CMD_LATENCY_H */
