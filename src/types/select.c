/* SPDX-License-Identifier: MIT */
/*
 * select.c - see select.h. The matcher remembers the last '*' and how much of
 * the text it has swallowed; a mismatch lets it swallow one character more. No
 * earlier '*' need ever be tried again, hence no recursion and the bound.
 */
#include "types/select.h"

#include "base/port.h"

/* One character of a set, perhaps behind a backslash; moves on. */
static char select_take_member(const char **at)
{
	const char *p = *at;

	if (*p == '\\' && p[1])
		p++;
	*at = p + 1;
	return *p;
}

/*
 * Match `c` against the set whose '[' is at `set`. Returns the set's end (just
 * past its ']'), or null if it has none; *ret_match then says nothing.
 */
static const char *match_set(const char *set, char c, bool *ret_match)
{
	const char *p = set + 1;
	bool negate = *p == '!' || *p == '^';
	bool match = false;
	const char *first;

	p += negate;
	for (first = p; *p && (*p != ']' || p == first);) {
		char low = select_take_member(&p);
		char high = low;

		if (p[0] == '-' && p[1] && p[1] != ']') {
			p++;
			high = select_take_member(&p);
		}
		if ((unsigned char)low <= (unsigned char)c &&
		    (unsigned char)c <= (unsigned char)high)
			match = true;
	}
	if (*p != ']')
		return NULL;
	*ret_match = match != negate;
	return p + 1;
}

/*
 * Match one character of the text. Returns what follows in the glob, or null
 * if it doesn't match.
 */
static const char *match_one(const char *glob, char c)
{
	const char *end;
	bool match = false;

	if (*glob == '?')
		return glob + 1;
	if (*glob == '[') {
		end = match_set(glob, c, &match);
		if (end)
			return match ? end : NULL;
	}
	if (*glob == '\\' && glob[1])
		glob++;
	return *glob && *glob == c ? glob + 1 : NULL;
}

bool sonde_glob_match_text(const char *glob, const char *text, size_t length)
{
	const char *end = text + length;
	const char *star = NULL;      /* what follows the last '*' */
	const char *swallowed = NULL; /* text beyond what it stands for */

	while (text < end) {
		const char *next;

		if (*glob == '*') {
			star = ++glob;
			swallowed = text;
			continue;
		}
		next = match_one(glob, *text);
		if (next) {
			glob = next;
			text++;
		} else if (star) {
			glob = star;
			text = ++swallowed;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return *glob == 0;
}

bool sonde_glob_match(const char *glob, const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return sonde_glob_match_text(glob, text, length);
}

/* An event's names as rules see them. */
struct names {
	const char *provider;
	const char *event;
	char full[SONDE_FULL_NAME_MAX];
};

/* Append what fits; returns the new length, or `room` if it didn't fit. */
static size_t append(char *out, size_t at, size_t room, const char *text)
{
	for (; *text && at < room; text++)
		out[at++] = *text;
	return at;
}

static void names_init(struct names *names, const char *provider,
		       const char *event)
{
	size_t n = 0;

	names->provider = provider;
	names->event = event;
	n = append(names->full, n, sizeof(names->full), provider);
	n = append(names->full, n, sizeof(names->full), ":");
	n = append(names->full, n, sizeof(names->full), event);
	/* Too long to be held against a glob: matches what "" matches. */
	names->full[n < sizeof(names->full) ? n : 0] = 0;
}

static bool has_colon(const char *glob)
{
	for (; *glob; glob++) {
		if (*glob == ':')
			return true;
	}
	return false;
}

static bool names_match(const struct names *names, const char *glob)
{
	if (sonde_glob_match(glob, names->full))
		return true;
	return !has_colon(glob) && (sonde_glob_match(glob, names->provider) ||
				    sonde_glob_match(glob, names->event));
}

/* Bytes up to and including the NUL at or after `at`; 0 if there is none. */
static size_t rule_size(const char *rules, size_t at, size_t size)
{
	for (size_t i = at; i < size; i++) {
		if (sonde_load_relaxed(&rules[i]) == 0)
			return i - at + 1;
	}
	return 0;
}

bool sonde_select(const char *rules, size_t rules_size, uint32_t loglevel,
		  const char *provider, const char *event, uint32_t level)
{
	char glob[SONDE_GLOB_MAX];
	struct names names;
	bool selected = false;
	size_t size;

	if (level > loglevel)
		return false;
	names_init(&names, provider, event);
	for (size_t at = 0; (size = rule_size(rules, at, rules_size)) > 1;
	     at += size) {
		char sign = sonde_load_relaxed(&rules[at]);

		if (size - 1 > sizeof(glob) || (sign != '+' && sign != '-'))
			continue;
		for (size_t i = 0; i + 1 < size; i++)
			glob[i] = sonde_load_relaxed(&rules[at + 1 + i]);
		glob[size - 2] = 0;
		if (!names_match(&names, glob))
			continue;
		if (sign == '-')
			return false;
		selected = true;
	}
	return selected;
}

const char *sonde_level_name(uint32_t level)
{
	static const char *const names[SONDE_LEVELS] = {
		"emerg",          "alert",
		"crit",           "err",
		"warning",        "notice",
		"info",           "debug_system",
		"debug_program",  "debug_process",
		"debug_module",   "debug_unit",
		"debug_function", "debug_line",
		"debug",
	};

	return level < SONDE_LEVELS ? names[level] : "?";
}
