/* SPDX-License-Identifier: MIT */
/*
 * cell.c - one value of a report as text: its digits and its unit.
 *
 * Durations, sizes and rates have three digits that count and the unit that
 * makes them smallest: 1.25 ms, 12.5 ms, 125 ms. Counts have all their digits,
 * in groups of three. What isn't finite, such as a rate in no time, is unknown.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/port.h"
#include "base/time.h"
#include "view/text/show.h"

struct unit {
	double size;
	const char *name;
};

/* Largest first. */
static const struct unit duration_units[] = {
	{ 1e9, "s" },
	{ 1e6, "ms" },
	{ 1e3, "us" },
	{ 1, "ns" },
};

static const struct unit byte_units[] = {
	{ 0x1p60, "EiB" }, { 0x1p50, "PiB" }, { 0x1p40, "TiB" },
	{ 0x1p30, "GiB" }, { 0x1p20, "MiB" }, { 0x1p10, "KiB" },
	{ 1, "B" },
};

static const struct unit rate_units[] = {
	{ 1e9, "G/s" },
	{ 1e6, "M/s" },
	{ 1e3, "k/s" },
	{ 1, "/s" },
};

/* 1234567 -> 1,234,567. `to` has room for 27 bytes. */
static void group_digits(uint64_t value, char *to)
{
	char digits[21];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
}

/* `whole`: there are no parts of the smallest unit. */
static int show_scaled(double value, const struct unit *units, size_t nr_units,
		       bool whole, char *to, size_t size)
{
	double magnitude = value < 0 ? -value : value;
	const struct unit *unit = units;
	char digits[28];

	if (!isfinite(value))
		return snprintf(to, size, "-");

	/* 999.5 and more would be rounded to four digits */
	while (unit < units + nr_units - 1 && magnitude < unit->size * 0.9995)
		unit++;
	magnitude /= unit->size;
	if (magnitude < 9.995 && !(whole && unit == units + nr_units - 1))
		return snprintf(to, size, "%s%.2f %s", value < 0 ? "-" : "",
				magnitude, unit->name);
	if (magnitude < 99.95 && !(whole && unit == units + nr_units - 1))
		return snprintf(to, size, "%s%.1f %s", value < 0 ? "-" : "",
				magnitude, unit->name);
	if (!(magnitude < 1e18))
		return snprintf(to, size, "%s%.2e %s", value < 0 ? "-" : "",
				magnitude, unit->name);
	group_digits((uint64_t)(magnitude + 0.5), digits);
	return snprintf(to, size, "%s%s %s", value < 0 ? "-" : "", digits,
			unit->name);
}

/* Local time of day; the whole number where there is no such day. */
static int show_time(int64_t time_ns, char *to, size_t size)
{
	int64_t seconds = time_ns / SONDE_NS_PER_S;
	int64_t nanos = time_ns % SONDE_NS_PER_S;
	time_t when;
	struct tm day;

	if (nanos < 0) {
		nanos += SONDE_NS_PER_S;
		seconds--;
	}
	when = (time_t)seconds;
	if (!localtime_r(&when, &day))
		return snprintf(to, size, "%" PRId64 " ns", time_ns);
	return snprintf(to, size, "%02d:%02d:%02d.%09d", day.tm_hour,
			day.tm_min, day.tm_sec, (int)nanos);
}

int sonde_show_cell(enum sonde_cell cell, const struct sonde_cell_value *value,
		    char *to, size_t size)
{
	char digits[28];

	if (!value->set)
		return snprintf(to, size, "-");
	switch (cell) {
	case SONDE_CELL_TEXT:
		return (int)sonde_show_safe(to, size, value->text,
					    strlen(value->text));
	case SONDE_CELL_COUNT:
		group_digits(value->u, digits);
		return snprintf(to, size, "%s", digits);
	case SONDE_CELL_INT:
		return snprintf(to, size, "%" PRId64, value->i);
	case SONDE_CELL_HEX:
		return snprintf(to, size, "0x%" PRIx64, value->u);
	case SONDE_CELL_BYTES:
		return show_scaled((double)value->i, byte_units,
				   SONDE_ARRAY_SIZE(byte_units), true, to,
				   size);
	case SONDE_CELL_DURATION:
		return show_scaled((double)value->i, duration_units,
				   SONDE_ARRAY_SIZE(duration_units), true, to,
				   size);
	case SONDE_CELL_TIME:
		return show_time(value->i, to, size);
	case SONDE_CELL_RATE:
		return show_scaled(value->d, rate_units,
				   SONDE_ARRAY_SIZE(rate_units), false, to,
				   size);
	case SONDE_CELL_PERCENT:
		return snprintf(to, size, "%.1f %%", value->d * 100);
	case SONDE_CELL_NUMBER:
		break;
	}
	return snprintf(to, size, "%.6g", value->d);
}

size_t sonde_show_safe(char *to, size_t size, const char *text, size_t length)
{
	char escape[SONDE_ESCAPE_MAX];
	size_t written = 0;
	size_t wanted = 0;
	size_t used;

	for (size_t at = 0; at < length; at += used) {
		size_t n = sonde_escape_safe(text + at, length - at, escape,
					     &used);

		/* whole characters only, and none behind one left out */
		if (wanted == written && written + n < size) {
			memcpy(to + written, escape, n);
			written += n;
		}
		wanted += n;
	}
	if (size)
		to[written] = 0;
	return wanted;
}
