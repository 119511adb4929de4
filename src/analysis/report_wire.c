/* SPDX-License-Identifier: MIT */
/*
 * report_wire.c - reports as bytes (report_wire.h).
 *
 * Writing goes to a stream in memory, whose failure is seen at its end. Reading
 * has one place that takes bytes, wire_take(): once it fails, all that follows
 * does. Memory for what is read is bounded by the bytes that are there, but for
 * cells, which have 16 bytes and may take one, so they are counted.
 */
#include "analysis/report_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "base/unconst.h"

#define MAGIC        "sonde report 1\n"
#define MAGIC_BYTES  (sizeof(MAGIC) - 1)
#define SUM_BYTES    sizeof(uint64_t)
#define NONE         UINT64_MAX
#define NOTE_BYTES   1024u /* of report.c, with the NUL */
#define NR_CELLS     (SONDE_CELL_NUMBER + 1u)
#define NR_KINDS     (SONDE_SECTION_HISTOGRAM + 1u)
#define COLUMN_BYTES 17u /* at least, on the wire */

/* ---- writing ---- */

static void wire_put_u8(FILE *to, unsigned int value)
{
	(void)putc((int)value, to);
}

static void wire_put_u64(FILE *to, uint64_t value)
{
	for (unsigned int i = 0; i < 8; i++)
		wire_put_u8(to, value >> 8 * i & 0xff);
}

static void wire_put_text(FILE *to, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	wire_put_u64(to, text ? size : NONE);
	if (size)
		(void)fwrite(text, 1, size, to);
}

static void wire_put_value(FILE *to, enum sonde_cell cell,
			   const struct sonde_cell_value *value)
{
	wire_put_u8(to, value->set);
	if (!value->set)
		return;
	if (cell == SONDE_CELL_TEXT)
		wire_put_text(to, value->text);
	else /* doubles by their bits */
		wire_put_u64(to, value->u);
}

/* How many cells may follow after these; -E2BIG. */
static int wire_put_table(FILE *to, const struct sonde_section *table,
			  uint64_t *cells_left)
{
	uint64_t nr_cells = (uint64_t)table->nr_rows * table->nr_columns;

	if (table->nr_columns > SONDE_REPORT_WIRE_COLUMNS ||
	    nr_cells > *cells_left)
		return -E2BIG;
	*cells_left -= nr_cells;
	wire_put_u64(to, table->nr_columns);
	for (size_t i = 0; i < table->nr_columns; i++) {
		wire_put_u8(to, table->columns[i].cell);
		wire_put_text(to, table->columns[i].key);
		wire_put_text(to, table->columns[i].title);
	}
	wire_put_u64(to, table->minor);
	wire_put_u64(to, table->nr_more);
	wire_put_u64(to, table->nr_rows);
	for (size_t i = 0; i < nr_cells; i++)
		wire_put_value(to, table->columns[i % table->nr_columns].cell,
			       &table->cells[i]);
	return 0;
}

static void wire_put_histogram(FILE *to, const struct sonde_section *histogram)
{
	wire_put_u8(to, histogram->cell);
	wire_put_u64(to, histogram->nr_bins);
	for (size_t i = 0; i < histogram->nr_bins; i++)
		wire_put_u64(to, histogram->counts[i]);
	for (size_t i = 0; i <= histogram->nr_bins; i++)
		wire_put_u64(to, (uint64_t)histogram->bounds[i]);
}

static int wire_put_section(FILE *to, const struct sonde_section *section,
			    uint64_t *cells_left)
{
	wire_put_u8(to, section->kind);
	wire_put_text(to, section->key);
	wire_put_text(to, section->title);
	switch (section->kind) {
	case SONDE_SECTION_TABLE:
		return wire_put_table(to, section, cells_left);
	case SONDE_SECTION_VALUE:
		wire_put_u8(to, section->cell);
		wire_put_value(to, section->cell, &section->value);
		break;
	case SONDE_SECTION_HISTOGRAM:
		wire_put_histogram(to, section);
		break;
	case SONDE_SECTION_NOTE:
		break;
	}
	return 0;
}

static int wire_put_item(FILE *to, const struct sonde_report_item *item,
			 uint64_t *cells_left)
{
	struct sonde_section section;
	size_t nr = 0;
	int err = 0;

	wire_put_text(to, item->name);
	wire_put_u8(to, item->report != NULL);
	if (!item->report)
		return 0;
	while (sonde_report_section(item->report, nr, &section))
		nr++;
	wire_put_text(to, sonde_report_key(item->report));
	wire_put_u64(to, nr);
	for (size_t i = 0; !err && i < nr; i++) {
		(void)sonde_report_section(item->report, i, &section);
		err = wire_put_section(to, &section, cells_left);
	}
	return err;
}

static int wire_put_items(FILE *to, const struct sonde_report_item *items,
			  size_t nr)
{
	uint64_t cells_left = SONDE_REPORT_WIRE_CELLS;
	int err = nr > SONDE_REPORT_WIRE_ITEMS ? -E2BIG : 0;

	(void)fwrite(MAGIC, 1, MAGIC_BYTES, to);
	wire_put_u64(to, nr);
	for (size_t i = 0; !err && i < nr; i++)
		err = wire_put_item(to, &items[i], &cells_left);
	return err;
}

int sonde_report_pack(const struct sonde_report_item *items, size_t nr,
		      void **ret_bytes, size_t *ret_size)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&bytes, &size);
	int err;

	if (!to)
		return -ENOMEM;
	err = wire_put_items(to, items, nr);
	if (!err && fflush(to))
		err = -ENOMEM;
	if (!err)
		wire_put_u64(to, sonde_sum(bytes, size));
	if (fclose(to) && !err)
		err = -ENOMEM;
	if (!err && size > SONDE_REPORT_WIRE_MAX)
		err = -E2BIG;
	if (err) {
		free(bytes);
		return err;
	}
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

/* ---- reading ---- */

struct wire {
	const unsigned char *at;
	size_t left;
	uint64_t cells_left;
	int err; /* 0, -EINVAL, -ENOMEM; stays */
};

static void wire_refuse(struct wire *wire)
{
	if (!wire->err)
		wire->err = -EINVAL;
}

/* The next bytes; NULL: there aren't so many. */
static const unsigned char *wire_take(struct wire *wire, uint64_t size)
{
	const unsigned char *bytes = wire->at;

	if (wire->err || size > wire->left) {
		wire_refuse(wire);
		return NULL;
	}
	wire->at += size;
	wire->left -= size;
	return bytes;
}

/* A byte below `limit`, or 0. */
static unsigned int wire_take_u8(struct wire *wire, unsigned int limit)
{
	const unsigned char *byte = wire_take(wire, 1);

	if (byte && *byte < limit)
		return *byte;
	wire_refuse(wire);
	return 0;
}

static uint64_t wire_take_u64(struct wire *wire)
{
	const unsigned char *bytes = wire_take(wire, 8);

	return bytes ? sonde_sum_word(bytes, 8) : 0;
}

/* How many of something follow that takes so many bytes each, or 0. */
static size_t wire_take_nr(struct wire *wire, size_t size)
{
	uint64_t nr = wire_take_u64(wire);

	if (!wire->err && nr <= wire->left / size)
		return (size_t)nr;
	wire_refuse(wire);
	return 0;
}

/* To be freed; NULL: there is none, or an error. */
static char *wire_take_text(struct wire *wire)
{
	uint64_t size = wire_take_u64(wire);
	const unsigned char *bytes;
	char *text;

	if (wire->err || size == NONE)
		return NULL;
	bytes = wire_take(wire, size);
	if (!bytes)
		return NULL;
	if (memchr(bytes, 0, size)) {
		wire_refuse(wire);
		return NULL;
	}
	text = strndup((const char *)bytes, size);
	if (!text)
		wire->err = -ENOMEM;
	return text;
}

/* A text where there must be one; NULL: there is none, which is an error. */
static char *wire_need_text(struct wire *wire)
{
	char *text = wire_take_text(wire);

	if (!text)
		wire_refuse(wire);
	return text;
}

/* A value that isn't text. */
static void wire_take_number(struct wire *wire, struct sonde_table *table,
			     size_t column, enum sonde_cell cell)
{
	union {
		uint64_t u;
		int64_t i;
		double d;
	} value = { .u = wire_take_u64(wire) };

	switch (cell) {
	case SONDE_CELL_RATE:
	case SONDE_CELL_PERCENT:
	case SONDE_CELL_NUMBER:
		sonde_table_double(table, column, value.d);
		break;
	case SONDE_CELL_COUNT:
	case SONDE_CELL_HEX:
		sonde_table_uint(table, column, value.u);
		break;
	case SONDE_CELL_TEXT:
	case SONDE_CELL_INT:
	case SONDE_CELL_BYTES:
	case SONDE_CELL_DURATION:
	case SONDE_CELL_TIME:
		sonde_table_int(table, column, value.i);
		break;
	}
}

static void wire_take_cell(struct wire *wire, struct sonde_table *table,
			   size_t column, enum sonde_cell cell)
{
	char *text;

	if (!wire_take_u8(wire, 2))
		return;
	if (cell != SONDE_CELL_TEXT) {
		wire_take_number(wire, table, column, cell);
		return;
	}
	text = wire_need_text(wire);
	sonde_table_text(table, column, text);
	free(text);
}

static void wire_take_rows(struct wire *wire, struct sonde_table *table,
			   const struct sonde_column *columns,
			   size_t nr_columns)
{
	uint64_t minor = wire_take_u64(wire);
	uint64_t nr_more = wire_take_u64(wire);
	size_t nr_rows = wire_take_nr(wire, nr_columns);

	if (nr_rows > wire->cells_left / nr_columns) {
		wire_refuse(wire);
		return;
	}
	wire->cells_left -= nr_rows * nr_columns;
	sonde_table_minor(table, minor);
	sonde_table_more(table, nr_more);
	for (size_t row = 0; !wire->err && row < nr_rows; row++) {
		sonde_table_row(table);
		for (size_t i = 0; !wire->err && i < nr_columns; i++)
			wire_take_cell(wire, table, i, columns[i].cell);
	}
}

/* The columns have texts of their own, which stay the caller's to free. */
static size_t take_columns(struct wire *wire, struct sonde_column *columns)
{
	size_t nr = wire_take_nr(wire, COLUMN_BYTES);

	if (!nr || nr > SONDE_REPORT_WIRE_COLUMNS) {
		wire_refuse(wire);
		return 0;
	}
	for (size_t i = 0; i < nr; i++) {
		columns[i].cell = (enum sonde_cell)wire_take_u8(wire, NR_CELLS);
		columns[i].key = wire_need_text(wire);
		columns[i].title = wire_need_text(wire);
	}
	return nr;
}

static void wire_take_table(struct wire *wire, struct sonde_report *report,
			    const char *key, const char *title)
{
	struct sonde_column columns[SONDE_REPORT_WIRE_COLUMNS];
	size_t nr = take_columns(wire, columns);

	if (!wire->err)
		wire_take_rows(wire,
			       sonde_report_table(report, key, title, columns,
						  nr),
			       columns, nr);
	for (size_t i = 0; i < nr; i++) {
		free(sonde_unconst(columns[i].key));
		free(sonde_unconst(columns[i].title));
	}
}

static void wire_take_value(struct wire *wire, struct sonde_report *report,
			    const char *key, const char *title)
{
	enum sonde_cell cell = (enum sonde_cell)wire_take_u8(wire, NR_CELLS);
	bool is_text = cell == SONDE_CELL_TEXT;
	bool is_set = wire_take_u8(wire, 2);
	union {
		uint64_t u;
		int64_t i;
		double d;
	} value = { .u = is_set && !is_text ? wire_take_u64(wire) : 0 };
	char *text = is_set && is_text ? wire_need_text(wire) : NULL;

	/* only a text may not be known */
	if (!title || (!is_set && !is_text))
		wire_refuse(wire);
	if (!wire->err)
		sonde_report_value(report, key, title, cell, value.i, value.d,
				   text);
	free(text);
}

static void take_histogram(struct wire *wire, struct sonde_report *report,
			   const char *key, const char *title)
{
	enum sonde_cell cell = (enum sonde_cell)wire_take_u8(wire, NR_CELLS);
	size_t nr = wire_take_nr(wire, 16); /* a count and a bound */
	uint64_t *counts = calloc(nr + 1, sizeof(*counts));
	int64_t *bounds = calloc(nr + 1, sizeof(*bounds));

	if (!counts || !bounds)
		wire->err = -ENOMEM;
	/* neither a text nor a share is a bound */
	else if (cell != SONDE_CELL_COUNT && cell != SONDE_CELL_INT &&
		 cell != SONDE_CELL_BYTES && cell != SONDE_CELL_DURATION &&
		 cell != SONDE_CELL_TIME && cell != SONDE_CELL_HEX)
		wire_refuse(wire);
	for (size_t i = 0; !wire->err && i < nr; i++)
		counts[i] = wire_take_u64(wire);
	for (size_t i = 0; !wire->err && i <= nr; i++)
		bounds[i] = (int64_t)wire_take_u64(wire);
	if (!wire->err)
		sonde_report_histogram(report, key, title, cell, bounds, counts,
				       nr);
	free(counts);
	free(bounds);
}

static void take_note(struct wire *wire, struct sonde_report *report,
		      const char *key, const char *words)
{
	if (key || !words || strlen(words) >= NOTE_BYTES)
		wire_refuse(wire);
	else
		sonde_report_note(report, "%s", words);
}

static void take_section(struct wire *wire, struct sonde_report *report)
{
	enum sonde_section_kind kind =
		(enum sonde_section_kind)wire_take_u8(wire, NR_KINDS);
	char *key = wire_take_text(wire);
	char *title = wire_take_text(wire);

	if (!key && kind != SONDE_SECTION_NOTE)
		wire_refuse(wire);
	if (!wire->err) {
		switch (kind) {
		case SONDE_SECTION_TABLE:
			wire_take_table(wire, report, key, title);
			break;
		case SONDE_SECTION_VALUE:
			wire_take_value(wire, report, key, title);
			break;
		case SONDE_SECTION_HISTOGRAM:
			take_histogram(wire, report, key, title);
			break;
		case SONDE_SECTION_NOTE:
			take_note(wire, report, key, title);
			break;
		}
	}
	free(key);
	free(title);
}

static struct sonde_report *wire_take_report(struct wire *wire)
{
	struct sonde_report *report = NULL;
	char *key = wire_need_text(wire);
	size_t nr = wire_take_nr(wire, COLUMN_BYTES); /* a kind, two texts */

	if (!wire->err) {
		report = sonde_report_new(key);
		if (!report)
			wire->err = -ENOMEM;
	}
	for (size_t i = 0; !wire->err && i < nr; i++)
		take_section(wire, report);
	if (!wire->err)
		wire->err = sonde_report_error(report);
	free(key);
	return report;
}

static void wire_take_items(struct wire *wire, struct sonde_report_item *items,
			    size_t nr)
{
	for (size_t i = 0; !wire->err && i < nr; i++) {
		items[i].name = wire_need_text(wire);
		if (wire_take_u8(wire, 2))
			items[i].report = wire_take_report(wire);
	}
	if (wire->left)
		wire_refuse(wire);
}

/* What is between the first bytes and the sum, which are right. */
static bool wire_open(struct wire *wire, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	if (size < MAGIC_BYTES + SUM_BYTES || size > SONDE_REPORT_WIRE_MAX ||
	    memcmp(at, MAGIC, MAGIC_BYTES) != 0)
		return false;
	size -= SUM_BYTES;
	*wire = (struct wire){
		.at = at + MAGIC_BYTES,
		.left = size - MAGIC_BYTES,
		.cells_left = SONDE_REPORT_WIRE_CELLS,
	};
	return sonde_sum_word(at + size, SUM_BYTES) == sonde_sum(at, size);
}

int sonde_report_unpack(const void *bytes, size_t size,
			struct sonde_report_item **ret_items, size_t *ret_nr)
{
	struct sonde_report_item *items;
	struct wire wire;
	size_t nr;

	if (!wire_open(&wire, bytes, size))
		return -EINVAL;
	nr = wire_take_nr(&wire, 9); /* a text and a byte */
	if (wire.err || nr > SONDE_REPORT_WIRE_ITEMS)
		return -EINVAL;
	items = calloc(nr + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	wire_take_items(&wire, items, nr);
	if (wire.err) {
		sonde_report_unpacked_free(items, nr);
		return wire.err;
	}
	*ret_items = items;
	*ret_nr = nr;
	return 0;
}

void sonde_report_unpacked_free(struct sonde_report_item *items, size_t nr)
{
	for (size_t i = 0; items && i < nr; i++) {
		free(sonde_unconst(items[i].name));
		sonde_report_free(items[i].report);
	}
	free(items);
}
