/* SPDX-License-Identifier: MIT */
/* sync_write.h - `sonde sync --write`: traces of several hosts put on one clock. */
#ifndef CMD_SYNC_WRITE_H
#define CMD_SYNC_WRITE_H

#include "analysis/report.h"
#include "analysis/reports/transfers.h"

/* Writes a file `.clock` (reader/core/clock_offset.h) beside each of the trace's
 * metadata, or removes it where nothing is known; a table of that goes into the
 * report. The trace was opened as it was recorded. 0, or an exit status, said why. */
int sonde_command_sync_write(const struct sonde_trace *trace,
			     const struct sonde_transfers *transfers,
			     struct sonde_report *report);

#endif /* CMD_SYNC_WRITE_H */
