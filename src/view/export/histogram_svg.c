/* SPDX-License-Identifier: MIT */
/*
 * histogram_svg.c - a report's histogram as an SVG file: a bar for each bin, from
 * left to right, all of one width, with its bounds below it and its count above.
 *
 * A bar for n has the height of log10(n) + 1, so that a single value among
 * millions, which is what one looks for, can be seen.
 */
#include "view/export/histogram_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "view/text/show.h"

#define BAR      34.0
#define GAP      4.0
#define MARGIN   20.0
#define HEIGHT   320.0
#define TOP      60.0
#define TEXT_LOW 90.0 /* for the bounds, which are upright */

static bool find_histogram(const struct sonde_report *report,
			   struct sonde_section *ret_section)
{
	for (size_t i = 0; sonde_report_section(report, i, ret_section); i++)
		if (ret_section->kind == SONDE_SECTION_HISTOGRAM)
			return true;
	return false;
}

static double bar_tallest(const struct sonde_section *section)
{
	double tallest = 1;

	for (size_t i = 0; i < section->nr_bins; i++)
		if (section->counts[i])
			tallest = fmax(tallest,
				       log10((double)section->counts[i]) + 1);
	return tallest;
}

/* Its text is ours: numbers and units. */
static void put_bar(const struct sonde_section *section, size_t i,
		    double tallest, FILE *to)
{
	const struct sonde_cell_value from = { .set = true,
					       .i = section->bounds[i] };
	double count = (double)section->counts[i];
	double height = count > 0 ? HEIGHT * (log10(count) + 1) / tallest : 0;
	double x = MARGIN + (double)i * (BAR + GAP);
	double base = TOP + HEIGHT;
	char text[64];

	(void)sonde_show_cell(section->cell, &from, text, sizeof(text));
	(void)fprintf(to,
		      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		      "height=\"%.1f\" fill=\"#38c\"><title>%" PRIu64
		      " from %s on</title></rect>\n",
		      x, base - height, BAR, height, section->counts[i], text);
	(void)fprintf(to,
		      "<text transform=\"translate(%.1f,%.1f) "
		      "rotate(90)\">%s</text>\n",
		      x + 2, base + 6, text);
	if (section->counts[i])
		(void)fprintf(to,
			      "<text transform=\"translate(%.1f,%.1f) "
			      "rotate(-60)\">%" PRIu64 "</text>\n",
			      x + BAR / 2, base - height - 4,
			      section->counts[i]);
}

int sonde_show_histogram_svg(const struct sonde_report *report,
			     const char *title, FILE *to)
{
	struct sonde_section section;
	double tallest;
	double width;

	if (!find_histogram(report, &section))
		return -ENODATA;
	tallest = bar_tallest(&section);
	width = 2 * MARGIN + (double)section.nr_bins * (BAR + GAP) + 60;
	(void)fprintf(to,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		      "width=\"%.0f\" height=\"%.0f\" "
		      "font-family=\"monospace\" font-size=\"11\">\n"
		      "<text x=\"%.0f\" y=\"20\" font-size=\"15\">%s"
		      "</text>\n",
		      width, TOP + HEIGHT + TEXT_LOW, MARGIN, title);
	for (size_t i = 0; i < section.nr_bins; i++)
		put_bar(&section, i, tallest, to);
	(void)fputs("</svg>\n", to);
	return 0;
}
