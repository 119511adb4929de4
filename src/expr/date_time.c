/* SPDX-License-Identifier: MIT */
/*
 * date_time.c - see date_time.h, and the times of sonde_expr_parse_time().
 */
#include "expr/date_time.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "expr/expr.h"

#define SECOND_NS INT64_C(1000000000)
#define DIGITS    "0123456789"

int64_t sonde_date_time_unit_ns(const char *unit, size_t length)
{
	static const struct {
		char name[3];
		int64_t ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", SECOND_NS },
		{ "m", 60 * SECOND_NS },
		{ "h", 3600 * SECOND_NS },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == length &&
		    memcmp(units[i].name, unit, length) == 0)
			return units[i].ns;
	}
	return 0;
}

/*
 * The fraction is summed up from its last digit: cutting off after each step
 * is the same as cutting off once at the end.
 */
int sonde_date_time_scale(const char *text, size_t length, int64_t scale,
			  int64_t *ret_value)
{
	const char *point = memchr(text, '.', length);
	size_t whole_length = point ? (size_t)(point - text) : length;
	int64_t fraction = 0;
	int64_t whole = 0;

	for (size_t i = length; i > whole_length + 1; i--)
		fraction = (fraction + (text[i - 1] - '0') * scale) / 10;
	for (size_t i = 0; i < whole_length; i++) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, text[i] - '0', &whole))
			return -ERANGE;
	}
	if (__builtin_mul_overflow(whole, scale, &whole) ||
	    __builtin_add_overflow(whole, fraction, ret_value))
		return -ERANGE;
	return 0;
}

/* `width` digits as a number; -1 if they aren't. */
static int take_digits(const char *text, size_t width)
{
	int number = 0;

	for (size_t i = 0; i < width; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		number = number * 10 + (text[i] - '0');
	}
	return number;
}

/* YYYY-MM-DDT. Returns its length, or 0. */
static size_t scan_date(const char *text, struct sonde_date_time *when)
{
	int year = take_digits(text, 4);
	int month;
	int day;

	if (year < 0 || text[4] != '-')
		return 0;
	month = take_digits(text + 5, 2);
	if (month < 0 || text[7] != '-')
		return 0;
	day = take_digits(text + 8, 2);
	if (day < 0 || text[10] != 'T')
		return 0;
	when->dated = true;
	when->year = year;
	when->month = month;
	when->day = day;
	return 11;
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool date_exists(const struct sonde_date_time *when)
{
	static const int8_t days[] = { 31, 28, 31, 30, 31, 30,
				       31, 31, 30, 31, 30, 31 };
	int leap;

	if (when->year < 1970 || when->year > 2261 || when->month < 1 ||
	    when->month > 12)
		return false;
	leap = when->month == 2 && is_leap(when->year);
	return when->day >= 1 && when->day <= days[when->month - 1] + leap;
}

/* :SS[.fraction]. Returns its length, or 0; *ret_ns is -1 if it's too much. */
static size_t scan_seconds(const char *text, int64_t *ret_ns)
{
	size_t length = 3;

	*ret_ns = 0;
	if (text[0] != ':' || take_digits(text + 1, 2) < 0)
		return 0;
	if (text[3] == '.')
		length += 1 + strspn(text + 4, DIGITS);
	if (take_digits(text + 1, 2) > 59 ||
	    sonde_date_time_scale(text + 1, length - 1, SECOND_NS, ret_ns))
		*ret_ns = -1;
	return length;
}

int sonde_date_time_scan(const char *text, size_t *ret_length,
			 struct sonde_date_time *ret_when)
{
	struct sonde_date_time when = { 0 };
	size_t at = scan_date(text, &when);
	int64_t seconds_ns;
	size_t length;
	int hour = take_digits(text + at, 2);
	int minute;

	if (hour < 0 || text[at + 2] != ':')
		return 0;
	minute = take_digits(text + at + 3, 2);
	if (minute < 0)
		return 0;
	at += 5;
	length = scan_seconds(text + at, &seconds_ns);
	when.seconds = length > 0;
	at += length;
	when.utc = text[at] == 'Z';
	at += when.utc;
	*ret_length = at;
	if (hour > 23 || minute > 59 || seconds_ns < 0 ||
	    (when.dated && !date_exists(&when)))
		return -EINVAL;
	when.day_ns = (hour * 60 + minute) * 60 * SECOND_NS + seconds_ns;
	*ret_when = when;
	return 1;
}

/* Seconds and the nanoseconds above them, which are never negative. */
static void split(int64_t ns, time_t *ret_s, int64_t *ret_ns)
{
	int64_t s = ns / SECOND_NS;

	if (ns % SECOND_NS < 0)
		s--;
	*ret_s = (time_t)s;
	*ret_ns = ns - s * SECOND_NS;
}

int sonde_date_time_resolve(const struct sonde_date_time *when,
			    int64_t begin_ns, int64_t *ret_ns)
{
	struct tm tm = { 0 };
	int64_t rest_ns;
	time_t s;

	split(begin_ns, &s, &rest_ns);
	if (!when->dated) {
		if (!(when->utc ? gmtime_r(&s, &tm) : localtime_r(&s, &tm)))
			return -EINVAL;
	} else {
		tm.tm_year = when->year - 1900;
		tm.tm_mon = when->month - 1;
		tm.tm_mday = when->day;
	}
	split(when->day_ns, &s, &rest_ns);
	tm.tm_hour = (int)(s / 3600);
	tm.tm_min = (int)(s / 60 % 60);
	tm.tm_sec = (int)(s % 60);
	tm.tm_isdst = -1; /* the calendar knows */
	s = when->utc ? timegm(&tm) : mktime(&tm);
	if (__builtin_mul_overflow(s, SECOND_NS, ret_ns) ||
	    __builtin_add_overflow(*ret_ns, rest_ns, ret_ns))
		return -EINVAL;
	return 0;
}

/* Digits, perhaps with a point among them, up to the end of the text or its
 * unit. */
static int date_time_parse_number(const char *text, size_t *ret_length)
{
	size_t length = strspn(text, DIGITS);

	if (text[length] == '.')
		length += 1 + strspn(text + length + 1, DIGITS);
	*ret_length = length;
	return length > strcspn(text, DIGITS) && text[length - 1] != '.' ?
		       0 :
		       -EINVAL;
}

/* A number with a unit, or without one: then it is of `scale`. */
static int parse_scaled(const char *text, int64_t scale, int64_t *ret_ns)
{
	const char *unit;
	size_t length;

	if (date_time_parse_number(text, &length))
		return -EINVAL;
	unit = text + length;
	if (*unit)
		scale = sonde_date_time_unit_ns(unit, strlen(unit));
	if (scale == 0 || sonde_date_time_scale(text, length, scale, ret_ns))
		return -EINVAL;
	return 0;
}

int sonde_expr_parse_duration(const char *text, int64_t *ret_ns)
{
	return parse_scaled(text, 1, ret_ns);
}

int sonde_expr_parse_time(const char *text, int64_t begin_ns, int64_t end_ns,
			  int64_t *ret_ns)
{
	struct sonde_date_time when;
	int64_t ns;
	size_t length;

	if (*text == '+' || *text == '-') {
		if (sonde_expr_parse_duration(text + 1, &ns))
			return -EINVAL;
		if (*text == '+' ? __builtin_add_overflow(begin_ns, ns, &ns) :
				   __builtin_sub_overflow(end_ns, ns, &ns))
			return -EINVAL;
		*ret_ns = ns;
		return 0;
	}
	if (sonde_date_time_scan(text, &length, &when) == 1) {
		if (text[length])
			return -EINVAL;
		return sonde_date_time_resolve(&when, begin_ns, ret_ns);
	}
	return parse_scaled(text, strchr(text, '.') ? SECOND_NS : 1, ret_ns);
}
