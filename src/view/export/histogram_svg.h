/* SPDX-License-Identifier: MIT */
/* histogram_svg.h - a report's histogram as a picture that needs nothing but
 * itself. */
#ifndef VIEW_EXPORT_HISTOGRAM_SVG_H
#define VIEW_EXPORT_HISTOGRAM_SVG_H

#include <stdio.h>

#include "analysis/report.h"

/* The first histogram of the report; how tall a bar is goes by its count's
 * logarithm. `title` is ours: it is not
 * escaped. Errors are those of the file. 0, or -ENODATA: the
 * report has no histogram. */
int sonde_show_histogram_svg(const struct sonde_report *report,
			     const char *title, FILE *to);

#endif /* VIEW_EXPORT_HISTOGRAM_SVG_H */
