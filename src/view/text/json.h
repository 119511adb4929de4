/* SPDX-License-Identifier: MIT */
/* json.h - a report as JSON. Errors stay in the stream. */
#ifndef VIEW_TEXT_JSON_H
#define VIEW_TEXT_JSON_H

#include <stdio.h>

#include "analysis/report.h"

void sonde_show_json(const struct sonde_report *report, FILE *to);

#endif /* VIEW_TEXT_JSON_H */
