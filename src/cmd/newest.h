/* SPDX-License-Identifier: MIT */
/*
 * newest.h - which trace is meant where none is named: the newest that
 * `sonde record` made in the working directory, under the names it chooses
 * itself (./sonde-YYYYMMDD-HHMMSS, and -N behind that).
 */
#ifndef CMD_NEWEST_H
#define CMD_NEWEST_H

#include <limits.h>
#include <stdbool.h>

/* Its name, and says on standard error that it is taken, unless `quiet`. False:
 * there is none. */
bool sonde_newest(bool quiet, char name[NAME_MAX + 1]);

#endif /* CMD_NEWEST_H */
