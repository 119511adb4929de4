/* SPDX-License-Identifier: MIT */
/* machine.h - a state machine of <sonde/plugin.h> as rows. */
#ifndef ANALYSIS_PLUGIN_MACHINE_H
#define ANALYSIS_PLUGIN_MACHINE_H

#include <sonde/plugin.h>

#define SONDE_PLUGIN_STEPS 64u

/* Its rows; the machine, which is sound, is to stay as it is. */
struct sonde_plugin_rows
sonde_plugin_machine_rows(const struct sonde_plugin_machine *machine);

#endif /* ANALYSIS_PLUGIN_MACHINE_H */
