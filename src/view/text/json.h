/* SPDX-License-Identifier: MIT */
/* json.h - a report as JSON. Errors stay in the stream. */
#ifndef VIEW_TEXT_JSON_H
#define VIEW_TEXT_JSON_H

#include <stdio.h>

#include "analysis/report_wire.h"

struct sonde_json;

/* A key's unit: "ns", "bytes"; "". */
const char *sonde_show_json_unit(enum sonde_cell cell);
/* One cell, as in a report; `key` has its unit, or is NULL in an array. */
void sonde_show_json_value(struct sonde_json *json, const char *key,
			   enum sonde_cell cell,
			   const struct sonde_cell_value *value);
void sonde_show_json(const struct sonde_report *report, FILE *to);
void sonde_show_json_machines(const struct sonde_report_item *machines,
			      size_t nr, FILE *to);

#endif /* VIEW_TEXT_JSON_H */
