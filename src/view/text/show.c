/* SPDX-License-Identifier: MIT */
/*
 * show.c - a report as text.
 *
 * Tables have two blanks between columns, text to the left and numbers to the
 * right. In a table wider than the terminal, columns that matter least are left
 * out, with a line that names them, and long texts are cut; JSON has all of it,
 * and so has text that doesn't go to a terminal.
 *
 * A histogram's bars are on a log scale, which its title says: a bin with one
 * value of a million still has a bar.
 */
#include "view/text/show.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/escape.h"
#include "view/text/json.h"

#define CELL_BYTES        512              /* more of a text is cut */
#define CELL_ROOM         (CELL_BYTES + 3) /* with the mark that says so */
#define MIN_TEXT_COLUMNS  12               /* what a column of text keeps */
#define FAIR_TEXT_COLUMNS 24               /* and while others can go */
#define NOTE_BYTES        4096 /* the 1023 of a note, if all are escaped */
#define BAR_COLUMNS       40
#define INDENT            2

#define BOLD              "\033[1m"
#define BAR               "\033[36m"
#define PLAIN             "\033[0m"

struct printer {
	const struct sonde_show *show;
	FILE *to;
};

static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = secure_getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "UTF-8") ||
			       strcasestr(value, "UTF8");
	}
	return false;
}

void sonde_show_init(struct sonde_show *show, FILE *to)
{
	const char *term = secure_getenv("TERM");
	const char *no_colour = secure_getenv("NO_COLOR");
	struct winsize size;
	int fd = fileno(to);

	*show = (struct sonde_show){ .ascii = !locale_is_utf8() };
	if (fd < 0 || !isatty(fd))
		return;
	show->colour =
		!(no_colour && *no_colour) && !(term && !strcmp(term, "dumb"));
	if (!ioctl(fd, TIOCGWINSZ, &size))
		show->width = size.ws_col;
}

/* Columns on the screen of text that sonde_show_safe() has been over. */
static size_t columns_of(const char *text)
{
	size_t length = strlen(text);
	size_t columns = 0;
	size_t bytes;

	for (size_t at = 0; at < length; at += bytes)
		columns += sonde_utf8_columns(text + at, length - at, &bytes);
	return columns;
}

/* Cuts such text to so many columns, the last of which say so. */
static void show_cut(const struct sonde_show *show, char *text, size_t columns)
{
	const char *mark = show->ascii ? "..." : "\xe2\x80\xa6";
	size_t length = strlen(text);
	size_t at = 0;
	size_t bytes;
	size_t keep;

	if (columns_of(text) <= columns)
		return;
	keep = columns > columns_of(mark) ? columns - columns_of(mark) : 0;
	for (; at < length; at += bytes) {
		size_t more =
			sonde_utf8_columns(text + at, length - at, &bytes);

		if (more > keep)
			break;
		keep -= more;
	}
	/* text has CELL_ROOM, and both marks take three bytes */
	memcpy(text + at, mark, strlen(mark) + 1);
}

/* What the program says, with what it found in the trace in it. */
static void show_words(FILE *to, const char *words)
{
	char escape[SONDE_ESCAPE_MAX];
	size_t length = strlen(words);
	size_t used;

	for (size_t at = 0; at < length; at += used) {
		size_t n = sonde_escape_safe(words + at, length - at, escape,
					     &used);

		(void)fwrite(escape, 1, n, to);
	}
}

/* A line, or as many as it takes where it can be known how long they are. */
static void show_note(const struct printer *printer, const char *words)
{
	char safe[NOTE_BYTES];
	char *rest = safe;
	char *word;
	size_t column = 0;

	(void)sonde_show_safe(safe, sizeof(safe), words, strlen(words));
	while ((word = strsep(&rest, " "))) {
		size_t columns = columns_of(word);

		if (column && printer->show->width &&
		    column + 1 + columns > printer->show->width) {
			(void)putc('\n', printer->to);
			column = 0;
		} else if (column) {
			(void)putc(' ', printer->to);
			column++;
		}
		(void)fputs(word, printer->to);
		column += columns;
	}
	(void)putc('\n', printer->to);
}

static void show_title(const struct printer *printer, const char *title,
		       const char *more)
{
	(void)fputs(printer->show->colour ? BOLD : "", printer->to);
	show_words(printer->to, title);
	(void)fprintf(printer->to, "%s%s\n", more,
		      printer->show->colour ? PLAIN : "");
}

/* A cell as text in `to` of CELL_ROOM, with a mark if it was too long. */
static void format_cell(const struct sonde_show *show, enum sonde_cell cell,
			const struct sonde_cell_value *value, char *to)
{
	int length = sonde_show_cell(cell, value, to, CELL_BYTES);

	if (length >= CELL_BYTES)
		show_cut(show, to, columns_of(to) - 1);
}

static void pad(FILE *to, size_t columns)
{
	(void)fprintf(to, "%*s", (int)columns, "");
}

/* ---- tables ---- */

static bool show_is_left(enum sonde_cell cell)
{
	return cell == SONDE_CELL_TEXT;
}

/* A table's columns on the screen. */
struct layout {
	size_t *widths; /* 0: the column is left out */
	size_t last;    /* the last one that is not */
};

static void show_field(const struct printer *printer,
		       const struct sonde_section *table, size_t column,
		       char *text, const struct layout *layout)
{
	size_t width = layout->widths[column];
	size_t columns;

	if (!width)
		return;
	show_cut(printer->show, text, width);
	columns = columns_of(text);
	pad(printer->to, INDENT);
	if (!show_is_left(table->columns[column].cell))
		pad(printer->to, width - columns);
	(void)fputs(text, printer->to);
	if (show_is_left(table->columns[column].cell) && column < layout->last)
		pad(printer->to, width - columns);
}

/* What each column needs, title included. */
static void measure(const struct sonde_show *show,
		    const struct sonde_section *table, size_t *widths)
{
	const struct sonde_cell_value *cell = table->cells;
	char text[CELL_ROOM];

	for (size_t i = 0; i < table->nr_columns; i++)
		widths[i] = columns_of(table->columns[i].title);
	for (size_t row = 0; row < table->nr_rows; row++)
		for (size_t i = 0; i < table->nr_columns; i++) {
			size_t columns;

			format_cell(show, table->columns[i].cell, cell++, text);
			columns = columns_of(text);
			if (columns > widths[i])
				widths[i] = columns;
		}
}

/* The table's width if texts take so many columns at most. */
static size_t show_width_of(const struct sonde_section *table,
			    const size_t *widths, size_t most)
{
	size_t all = 0;

	for (size_t i = 0; i < table->nr_columns; i++) {
		size_t width = widths[i];

		if (show_is_left(table->columns[i].cell) && width > most)
			width = most;
		all += width ? INDENT + width : 0;
	}
	return all;
}

/* Leaves out the last column (of the minor ones), but never the first column.
 * False: there is none to leave out. */
static bool leave_out(const struct sonde_section *table, size_t *widths,
		      bool minor)
{
	for (size_t i = table->nr_columns; i-- > 1;) {
		if (!widths[i] ||
		    (minor && (i >= 64 || !(table->minor >> i & 1))))
			continue;
		widths[i] = 0;
		return true;
	}
	return false;
}

/* Takes columns off the widest text until the table is as wide as it may be. */
static void shrink(const struct sonde_section *table, size_t *widths,
		   size_t limit)
{
	for (;;) {
		size_t widest = table->nr_columns;

		for (size_t i = 0; i < table->nr_columns; i++)
			if (show_is_left(table->columns[i].cell) &&
			    widths[i] > MIN_TEXT_COLUMNS &&
			    (widest == table->nr_columns ||
			     widths[i] > widths[widest]))
				widest = i;
		if (widest == table->nr_columns ||
		    show_width_of(table, widths, SIZE_MAX) <= limit)
			return;
		widths[widest]--;
	}
}

static void fit(const struct sonde_section *table, struct layout *layout,
		size_t limit)
{
	size_t *widths = layout->widths;

	while (show_width_of(table, widths, FAIR_TEXT_COLUMNS) > limit &&
	       leave_out(table, widths, true))
		;
	while (show_width_of(table, widths, MIN_TEXT_COLUMNS) > limit &&
	       leave_out(table, widths, false))
		;
	shrink(table, widths, limit);
	while (layout->last && !widths[layout->last])
		layout->last--;
}

static void show_head(const struct printer *printer,
		      const struct sonde_section *table,
		      const struct layout *layout)
{
	char text[CELL_ROOM];

	(void)fputs(printer->show->colour ? BOLD : "", printer->to);
	for (size_t i = 0; i < table->nr_columns; i++) {
		(void)snprintf(text, sizeof(text), "%s",
			       table->columns[i].title);
		show_field(printer, table, i, text, layout);
	}
	(void)fputs(printer->show->colour ? PLAIN "\n" : "\n", printer->to);
}

/* So nobody takes what is seen for all there is. */
static void show_left_out(FILE *to, const struct sonde_section *table,
			  const size_t *widths)
{
	const char *between = "  left out, as the terminal is narrow: ";

	for (size_t i = 0; i < table->nr_columns; i++) {
		if (widths[i])
			continue;
		(void)fprintf(to, "%s%s", between, table->columns[i].title);
		between = ", ";
	}
	if (*between == ',')
		(void)putc('\n', to);
}

static void show_rows(const struct printer *printer,
		      const struct sonde_section *table,
		      const struct layout *layout)
{
	const struct sonde_cell_value *cell = table->cells;
	char text[CELL_ROOM];

	for (size_t row = 0; row < table->nr_rows; row++) {
		for (size_t i = 0; i < table->nr_columns; i++) {
			format_cell(printer->show, table->columns[i].cell,
				    cell++, text);
			show_field(printer, table, i, text, layout);
		}
		(void)putc('\n', printer->to);
	}
}

static int text_show_table(const struct printer *printer,
			   const struct sonde_section *table)
{
	struct layout layout = {
		.widths = calloc(table->nr_columns, sizeof(size_t)),
		.last = table->nr_columns - 1,
	};

	if (!layout.widths)
		return -ENOMEM;
	if (table->title)
		show_title(printer, table->title, "");
	measure(printer->show, table, layout.widths);
	if (printer->show->width)
		fit(table, &layout, printer->show->width);
	if (table->nr_rows)
		show_head(printer, table, &layout);
	else
		(void)fputs("  none\n", printer->to);
	show_rows(printer, table, &layout);
	if (table->nr_more)
		(void)fprintf(printer->to, "  and %zu more\n", table->nr_more);
	if (table->nr_rows)
		show_left_out(printer->to, table, layout.widths);
	free(layout.widths);
	return 0;
}

/* ---- histograms ---- */

struct bars {
	size_t first, last; /* bins that have something in them */
	size_t bound_columns, count_columns, bar_columns;
	uint64_t most;
};

static void measure_bars(const struct sonde_show *show,
			 const struct sonde_section *histogram,
			 struct bars *bars)
{
	size_t needed;
	char text[CELL_ROOM];

	*bars = (struct bars){ .first = histogram->nr_bins };
	for (size_t i = 0; i < histogram->nr_bins; i++) {
		if (!histogram->counts[i])
			continue;
		if (bars->first == histogram->nr_bins)
			bars->first = i;
		bars->last = i;
		if (histogram->counts[i] > bars->most)
			bars->most = histogram->counts[i];
	}
	for (size_t i = bars->first; bars->most && i <= bars->last + 1; i++) {
		struct sonde_cell_value bound = {
			.set = true, { .i = histogram->bounds[i] }
		};

		format_cell(show, histogram->cell, &bound, text);
		if (columns_of(text) > bars->bound_columns)
			bars->bound_columns = columns_of(text);
	}
	bars->count_columns = (size_t)sonde_show_cell(
		SONDE_CELL_COUNT,
		&(struct sonde_cell_value){ .set = true, { .u = bars->most } },
		text, sizeof(text));
	needed = INDENT + 2 * bars->bound_columns + strlen(" .. ") + INDENT +
		 bars->count_columns + INDENT;
	bars->bar_columns = BAR_COLUMNS;
	if (show->width && show->width < needed + BAR_COLUMNS)
		bars->bar_columns =
			show->width > needed ? show->width - needed : 0;
}

/* A bar of eighths of a column; what is not 0 is seen. */
static void show_bar(const struct printer *printer, const struct bars *bars,
		     uint64_t count)
{
	/* U+2588 is the full block, those behind it are ever thinner */
	char block[] = "\xe2\x96\x88";
	double share =
		log2(1.0 + (double)count) / log2(1.0 + (double)bars->most);
	size_t eighths = (size_t)(share * 8 * (double)bars->bar_columns + 0.5);

	if (!count || !bars->bar_columns)
		return;
	if (!eighths)
		eighths = 1;
	pad(printer->to, INDENT);
	(void)fputs(printer->show->colour ? BAR : "", printer->to);
	for (size_t i = 0;
	     i < (printer->show->ascii ? (eighths + 7) / 8 : eighths / 8); i++)
		(void)fputs(printer->show->ascii ? "#" : block, printer->to);
	if (eighths % 8 && !printer->show->ascii) {
		block[2] = (char)(0x90 - eighths % 8);
		(void)fputs(block, printer->to);
	}
	(void)fputs(printer->show->colour ? PLAIN : "", printer->to);
}

static void show_number(const struct printer *printer, enum sonde_cell cell,
			int64_t number, size_t columns)
{
	struct sonde_cell_value value = { .set = true, { .i = number } };
	char text[CELL_ROOM];

	format_cell(printer->show, cell, &value, text);
	pad(printer->to, columns - columns_of(text));
	(void)fputs(text, printer->to);
}

static void text_show_histogram(const struct printer *printer,
				const struct sonde_section *histogram)
{
	struct bars bars;

	measure_bars(printer->show, histogram, &bars);
	if (histogram->title)
		show_title(printer, histogram->title,
			   bars.most ? " (bars: log scale)" : "");
	if (!bars.most) {
		(void)fputs("  none\n", printer->to);
		return;
	}
	for (size_t i = bars.first; i <= bars.last; i++) {
		pad(printer->to, INDENT);
		show_number(printer, histogram->cell, histogram->bounds[i],
			    bars.bound_columns);
		(void)fputs(" .. ", printer->to);
		show_number(printer, histogram->cell, histogram->bounds[i + 1],
			    bars.bound_columns);
		pad(printer->to, INDENT);
		show_number(printer, SONDE_CELL_COUNT,
			    (int64_t)histogram->counts[i], bars.count_columns);
		show_bar(printer, &bars, histogram->counts[i]);
		(void)putc('\n', printer->to);
	}
}

/* ---- values, and all together ---- */

/* The columns that the titles of a run of values from the i-th section take. */
static size_t measure_values(const struct sonde_report *report, size_t i)
{
	struct sonde_section section;
	size_t widest = 0;

	while (sonde_report_section(report, i++, &section) &&
	       section.kind == SONDE_SECTION_VALUE) {
		size_t columns = columns_of(section.title);

		if (columns > widest)
			widest = columns;
	}
	return widest;
}

static void text_show_value(const struct printer *printer,
			    const struct sonde_section *section, size_t columns)
{
	char text[CELL_ROOM];

	(void)fputs(section->title, printer->to);
	pad(printer->to, columns - columns_of(section->title) + INDENT);
	format_cell(printer->show, section->cell, &section->value, text);
	(void)fprintf(printer->to, "%s\n", text);
}

static int text_show_section(const struct printer *printer,
			     const struct sonde_section *section,
			     size_t columns)
{
	switch (section->kind) {
	case SONDE_SECTION_TABLE:
		return text_show_table(printer, section);
	case SONDE_SECTION_HISTOGRAM:
		text_show_histogram(printer, section);
		break;
	case SONDE_SECTION_VALUE:
		text_show_value(printer, section, columns);
		break;
	case SONDE_SECTION_NOTE:
		show_note(printer, section->title);
		break;
	}
	return 0;
}

/* An empty line goes between sections, but not inside runs of values or of
 * notes. */
static int show_text(const struct printer *printer,
		     const struct sonde_report *report)
{
	enum sonde_section_kind last = SONDE_SECTION_TABLE;
	struct sonde_section section;
	size_t columns = 0;
	int err = 0;

	for (size_t i = 0; !err && sonde_report_section(report, i, &section);
	     i++) {
		if (i && (section.kind != last || last == SONDE_SECTION_TABLE ||
			  last == SONDE_SECTION_HISTOGRAM))
			(void)putc('\n', printer->to);
		if (section.kind == SONDE_SECTION_VALUE &&
		    (!i || last != SONDE_SECTION_VALUE))
			columns = measure_values(report, i);
		err = text_show_section(printer, &section, columns);
		last = section.kind;
	}
	return err;
}

static int show_end(FILE *to, int err)
{
	if (!err && (fflush(to) || ferror(to)))
		err = errno ? -errno : -EIO;
	return err;
}

int sonde_show_report(const struct sonde_show *show,
		      const struct sonde_report *report, FILE *to)
{
	struct printer printer = { .show = show, .to = to };
	int err = 0;

	errno = 0;
	if (show->json)
		sonde_show_json(report, to);
	else
		err = show_text(&printer, report);
	return show_end(to, err);
}

int sonde_show_machines(const struct sonde_show *show,
			const struct sonde_report_item *machines, size_t nr,
			FILE *to)
{
	struct printer printer = { .show = show, .to = to };
	int err = 0;

	errno = 0;
	if (show->json)
		sonde_show_json_machines(machines, nr, to);
	for (size_t i = 0; !err && i < nr && !show->json; i++) {
		if (!machines[i].report)
			continue;
		(void)fprintf(to, "%s%s%s:\n", show->colour ? BOLD : "",
			      machines[i].name, show->colour ? PLAIN : "");
		err = show_text(&printer, machines[i].report);
		(void)putc('\n', to);
	}
	return show_end(to, err);
}
