/* SPDX-License-Identifier: MIT */
/*
 * names.c - which expression of a tracepoint is which thing of the lines typed
 * (names.h).
 *
 * First the lines are split into things, and the actions into expressions; then
 * both lists, of at most THINGS_MAX, are matched by two tables of all pairs of
 * beginnings and of ends. No name is better than a wrong one: an expression that
 * could be two things gets none. Behind that are the names of single fields.
 */
#include "probe/names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "base/text.h"
#include "probe/static_variables.h"

/* Things in the lines of one tracepoint. */
#define THINGS_MAX 256u
/* Of an event's name; what more there is of a file's name is cut. */
#define NAME_MAX_LENGTH 48u

enum thing_kind {
	THING_PLAIN,    /* an expression */
	THING_VARIABLE, /* a trace variable */
	THING_SET,      /* of teval */
	THING_SEVERAL,  /* $args, $locals */
};

struct thing {
	enum thing_kind kind;
	const char *text;
	size_t length;
	bool may_be_static; /* GDB makes a range of it, no expression */
};

struct things {
	struct thing list[THINGS_MAX];
	size_t nr;
	bool too_many;
};

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static size_t probe_names_word_length(const char *at)
{
	size_t n = 0;

	while (is_word_char(at[n]))
		n++;
	return n;
}

static bool probe_names_text_is(const struct thing *thing, const char *text)
{
	return thing->length == strlen(text) &&
	       strncmp(thing->text, text, thing->length) == 0;
}

static bool probe_names_is_variable(const struct sonde_probe_points *points,
				    const struct thing *thing)
{
	for (size_t i = 0; points && i < points->nr_variables; i++) {
		const char *name = points->variables[i].name;

		if (strlen(name) + 1 == thing->length &&
		    strncmp(thing->text + 1, name, thing->length - 1) == 0)
			return true;
	}
	return false;
}

/* Whether an expression becomes of it; then its kind is set. */
static bool classify(const struct sonde_probe_points *points, bool teval,
		     struct thing *thing)
{
	thing->kind = teval ? THING_SET : THING_PLAIN;
	if (teval || thing->text[0] != '$' ||
	    probe_names_word_length(thing->text) != thing->length)
		return thing->length > 0;
	if (probe_names_text_is(thing, "$args") ||
	    probe_names_text_is(thing, "$locals"))
		thing->kind = THING_SEVERAL;
	else if (probe_names_is_variable(points, thing))
		thing->kind = THING_VARIABLE;
	else
		return probe_names_text_is(
			thing, "$_ret"); /* not a register, $_sdata */
	return true;
}

/* One line's. */
static void add_things(struct things *things,
		       const struct sonde_probe_points *points, const char *at,
		       bool teval)
{
	struct thing thing;
	size_t length;

	for (;; at += length + 1) {
		at = sonde_text_skip_blanks(at);
		length = sonde_text_item(at, ',');
		thing.text = at;
		thing.length = sonde_text_trim(at, length);
		if (classify(points, teval, &thing)) {
			if (things->nr == THINGS_MAX)
				things->too_many = true;
			else
				things->list[things->nr++] = thing;
		}
		if (!at[length])
			return;
	}
}

/* "collect", "collect/s20", "collect /s", also shortened; what follows, or
 * NULL. */
static const char *after_command(const char *line, const char *command)
{
	size_t length = strcspn(line, " \t/");

	if (length < 2 || length > strlen(command) ||
	    strncmp(line, command, length) != 0)
		return NULL;
	line = sonde_text_skip_blanks(line + length);
	if (*line == '/')
		line += strcspn(line, " \t");
	return line;
}

static void list_things(const struct sonde_probe_point *point,
			const struct sonde_probe_points *points, bool steps,
			struct things *things)
{
	bool inside = false; /* while-stepping */

	for (size_t i = 0; i < point->nr_sources; i++) {
		const char *line =
			sonde_text_skip_blanks(point->sources[i].text);
		const char *rest;

		if (strcmp(point->sources[i].kind, "cmd") != 0)
			continue;
		if (after_command(line, "while-stepping") ||
		    after_command(line, "stepping") ||
		    after_command(line, "ws")) {
			inside = true;
		} else if (inside == steps) {
			rest = after_command(line, "collect");
			if (rest)
				add_things(things, points, rest, false);
			rest = after_command(line, "teval");
			if (rest)
				add_things(things, points, rest, true);
		}
	}
}

static bool agree(const struct thing *thing, enum sonde_probe_action_is is)
{
	switch (thing->kind) {
	case THING_PLAIN:
		return is == SONDE_PROBE_IS_READ ||
		       is == SONDE_PROBE_IS_VALUE ||
		       is == SONDE_PROBE_IS_STRING;
	case THING_VARIABLE:
		return is == SONDE_PROBE_IS_VARIABLE;
	case THING_SET:
		return is == SONDE_PROBE_IS_SET;
	case THING_SEVERAL:
		return is == SONDE_PROBE_IS_READ || is == SONDE_PROBE_IS_STRING;
	}
	return false;
}

/* A variable or a member of one: no pointer, no arithmetic. */
static bool is_simple(const struct thing *thing)
{
	size_t i = 0;

	while (i < thing->length && thing->text[i] != '$' &&
	       (is_word_char(thing->text[i]) || thing->text[i] == '.'))
		i++;
	return thing->kind == THING_PLAIN && i == thing->length;
}

/*
 * The matching of nr things with nr expressions, both in order, as a table of
 * the fewest things that must be left out: before[i][j] of the first i things
 * and j expressions, behind[i][j] of what follows. A thing that may be static
 * can be left out, at most as many as there are ranges; one that stands for
 * several takes any number. An expression gets the name of a thing if no other
 * one, by any matching, could be its.
 */
#define NEVER   UINT16_MAX
#define ROW_MAX (THINGS_MAX + 1)

struct matching {
	const struct things *things;
	const enum sonde_probe_action_is *is; /* by action */
	size_t actions[THINGS_MAX];           /* the expressions' */
	size_t nr;                            /* of those */
	size_t nr_ranges;
	size_t most; /* that may be left out */
	uint16_t before[ROW_MAX][ROW_MAX];
	uint16_t behind[ROW_MAX][ROW_MAX];
};

static bool probe_names_fits(const struct matching *m, size_t thing,
			     size_t expression)
{
	const struct thing *t = &m->things->list[thing];
	enum sonde_probe_action_is is = m->is[m->actions[expression]];

	return agree(t, is) && !(is_simple(t) && is == SONDE_PROBE_IS_VALUE);
}

static uint16_t probe_names_least(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

/* Of thing i and expression j: what it costs to be left out. */
static uint16_t without(const struct matching *m, size_t i, uint16_t rest)
{
	const struct thing *thing = &m->things->list[i];

	if (rest == NEVER || thing->kind == THING_SEVERAL)
		return rest;
	return thing->may_be_static ? (uint16_t)(rest + 1) : NEVER;
}

static void fill_before(struct matching *m)
{
	for (size_t i = 0; i <= m->things->nr; i++) {
		for (size_t j = 0; j <= m->nr; j++) {
			uint16_t best = i || j ? NEVER : 0;

			if (i)
				best = without(m, i - 1, m->before[i - 1][j]);
			if (i && j && probe_names_fits(m, i - 1, j - 1)) {
				best = probe_names_least(
					best, m->before[i - 1][j - 1]);
				if (m->things->list[i - 1].kind ==
				    THING_SEVERAL)
					best = probe_names_least(
						best, m->before[i][j - 1]);
			}
			m->before[i][j] = best;
		}
	}
}

static void fill_behind(struct matching *m)
{
	for (size_t i = m->things->nr + 1; i-- > 0;) {
		for (size_t j = m->nr + 1; j-- > 0;) {
			bool thing = i < m->things->nr;
			uint16_t best = thing || j < m->nr ? NEVER : 0;

			if (thing)
				best = without(m, i, m->behind[i + 1][j]);
			if (thing && j < m->nr && probe_names_fits(m, i, j)) {
				best = probe_names_least(
					best, m->behind[i + 1][j + 1]);
				if (m->things->list[i].kind == THING_SEVERAL)
					best = probe_names_least(
						best, m->behind[i][j + 1]);
			}
			m->behind[i][j] = best;
		}
	}
}

static bool can_be(const struct matching *m, size_t i, size_t j)
{
	uint16_t before = m->before[i][j];
	uint16_t behind = m->behind[i + 1][j + 1];

	if (m->things->list[i].kind == THING_SEVERAL) {
		before = probe_names_least(before, m->before[i + 1][j]);
		behind = probe_names_least(behind, m->behind[i][j + 1]);
	}
	return probe_names_fits(m, i, j) && before != NEVER &&
	       behind != NEVER && (size_t)before + behind <= m->most;
}

/* The only thing that expression j can be; NULL. */
static const struct thing *only_thing(const struct matching *m, size_t j)
{
	const struct thing *only = NULL;

	for (size_t i = 0; i < m->things->nr; i++) {
		if (!can_be(m, i, j))
			continue;
		if (only || m->things->list[i].kind == THING_SEVERAL)
			return NULL;
		only = &m->things->list[i];
	}
	return only;
}

static int probe_names_match(struct matching *m, char **names)
{
	const struct thing *thing;

	fill_before(m);
	fill_behind(m);
	/* GDB makes one range of neighbours. */
	m->most = m->nr_ranges;
	if (m->nr_ranges && m->before[m->things->nr][m->nr] != NEVER &&
	    m->before[m->things->nr][m->nr] > m->most)
		m->most = m->before[m->things->nr][m->nr];
	for (size_t j = 0; j < m->nr; j++) {
		thing = only_thing(m, j);
		if (!thing)
			continue;
		names[m->actions[j]] = strndup(thing->text, thing->length);
		if (!names[m->actions[j]])
			return -ENOMEM;
	}
	return 0;
}

/* Any variable may be; if the program has some of those names, only they. */
static int find_statics(struct things *things, const char *program)
{
	char **names = calloc(things->nr + 1, sizeof(*names));
	bool *found = calloc(things->nr + 1, sizeof(*found));
	bool any = false;
	int rc = names && found ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < things->nr; i++) {
		names[i] =
			strndup(things->list[i].text, things->list[i].length);
		if (!names[i])
			rc = -ENOMEM;
	}
	if (!rc && *program)
		sonde_probe_static_variables_find(
			program, (const char *const *)names, things->nr, found);
	for (size_t i = 0; !rc && i < things->nr; i++)
		any = any || (found[i] && is_simple(&things->list[i]));
	for (size_t i = 0; !rc && i < things->nr; i++)
		things->list[i].may_be_static =
			is_simple(&things->list[i]) && (found[i] || !any);
	for (size_t i = 0; names && i < things->nr; i++)
		free(names[i]);
	free((void *)names);
	free(found);
	return rc;
}

/* One range, and one thing that no expression is. */
static int name_range(const struct matching *m,
		      const struct sonde_probe_point *point, bool steps,
		      char **names)
{
	const struct thing *only = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < m->things->nr; i++) {
		if (!m->things->list[i].may_be_static)
			continue;
		only = &m->things->list[i];
		nr++;
	}
	/* it was left out in every matching */
	if (nr != 1 || m->nr_ranges != 1 ||
	    m->before[m->things->nr][m->nr] != 1)
		return 0;
	for (size_t i = 0; i < point->nr_actions; i++) {
		if (point->actions[i].kind != SONDE_PROBE_MEMORY ||
		    point->actions[i].steps != steps)
			continue;
		names[i] = strndup(only->text, only->length);
		return names[i] ? 0 : -ENOMEM;
	}
	return 0;
}

/* What becomes of the things; false: more than there can be. */
static bool list_actions(const struct sonde_probe_point *point, bool steps,
			 struct matching *m)
{
	for (size_t i = 0; i < point->nr_actions; i++) {
		if (point->actions[i].steps == steps &&
		    point->actions[i].kind == SONDE_PROBE_MEMORY)
			m->nr_ranges++;
		if (m->is[i] == SONDE_PROBE_IS_OTHER)
			continue;
		if (m->nr == THINGS_MAX)
			return false;
		m->actions[m->nr++] = i;
	}
	return true;
}

int sonde_probe_names_find(const struct sonde_probe_point *point,
			   const struct sonde_probe_points *points, bool steps,
			   const enum sonde_probe_action_is *is, char **names)
{
	struct things *things = calloc(1, sizeof(*things));
	struct matching *matching = calloc(1, sizeof(*matching));
	int rc = -ENOMEM;

	memset(names, 0, point->nr_actions * sizeof(*names));
	if (things && matching) {
		matching->things = things;
		matching->is = is;
		list_things(point, points, steps, things);
		rc = find_statics(things, points ? points->program : "");
		if (!rc && list_actions(point, steps, matching) &&
		    !things->too_many)
			rc = probe_names_match(matching, names);
		if (!rc && !things->too_many)
			rc = name_range(matching, point, steps, names);
	}
	free(things);
	free(matching);
	return rc;
}

static bool asks_for(const struct thing *thing,
		     const struct sonde_probe_asked *asked)
{
	if (thing->kind == THING_SEVERAL)
		return asked->is_local &&
		       asked->is_parameter ==
			       probe_names_text_is(thing, "$args");
	return thing->kind == THING_PLAIN &&
	       probe_names_text_is(thing, asked->name);
}

bool sonde_probe_names_asked(const struct sonde_probe_point *point,
			     const struct sonde_probe_points *points,
			     bool steps, const struct sonde_probe_asked *asked)
{
	struct things *things = calloc(1, sizeof(*things));
	bool found = false;

	if (!things)
		return false;
	list_things(point, points, steps, things);
	for (size_t i = 0; i < things->nr; i++)
		found = found || asks_for(&things->list[i], asked);
	free(things);
	return found;
}

/* ---- what is read on the way ---- */

/* The k-th "->" of a chain that is all of `text`: up to there. */
static bool chain_prefix(const char *text, uint32_t k, uint32_t nr, char *to,
			 size_t size)
{
	uint32_t links = 0;
	size_t end = 0;

	for (size_t i = 0; text[i]; i++) {
		if (text[i] == '-' && text[i + 1] == '>') {
			if (links++ == k)
				end = i;
			i++;
		} else if (!is_word_char(text[i]) && text[i] != '.') {
			return false;
		}
	}
	if (links != nr || end >= size)
		return false;
	memcpy(to, text, end);
	to[end] = '\0';
	return true;
}

/* The k-th name in it, members and numbers left out; only those in brackets,
 * if that is asked for. There must be `nr`. */
static bool kth_name(const char *text, bool bracketed, uint32_t k, uint32_t nr,
		     char to[], size_t size)
{
	uint32_t names = 0;
	int depth = 0;

	for (size_t i = 0; text[i];) {
		size_t length = probe_names_word_length(text + i);
		bool member =
			i > 0 &&
			(text[i - 1] == '.' ||
			 (i > 1 && text[i - 1] == '>' && text[i - 2] == '-'));

		depth += (text[i] == '[') - (text[i] == ']');
		if (length && !member && !isdigit((unsigned char)text[i]) &&
		    (depth > 0 || !bracketed) && names++ == k) {
			if (length >= size)
				return false;
			memcpy(to, text + i, length);
			to[length] = '\0';
		}
		i += length ? length : 1;
	}
	return k < names && names == nr;
}

bool sonde_probe_name_inner(const char *text, uint32_t k, uint32_t nr, char *to,
			    size_t size)
{
	return chain_prefix(text, k, nr, to, size) ||
	       kth_name(text, true, k, nr, to, size) ||
	       kth_name(text, false, k, nr, to, size);
}

/* ---- the tracepoint ---- */

/* A given name, or "file.c:10" or "function", without the directories. A
 * static tracepoint's place isn't kept as it was written. */
static bool base_name(const struct sonde_probe_point *point,
		      char to[NAME_MAX_LENGTH + 1])
{
	const char *text = sonde_probe_point_source(point, "name");
	size_t n = 0;

	if (!text && point->type != SONDE_PROBE_STATIC)
		text = sonde_probe_point_source(point, "at");
	if (!text)
		return false;
	/* "*vfs_read" */
	if (sonde_probe_point_is_kernels(point) && *text == '*')
		text++;
	text = sonde_text_base(text);
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	for (; *text && n < NAME_MAX_LENGTH; text++) {
		if (isalnum((unsigned char)*text))
			to[n++] = *text;
		else if (n > 0 && to[n - 1] != '_')
			to[n++] = '_';
	}
	while (n > 0 && to[n - 1] == '_')
		n--;
	to[n] = '\0';
	return n > 0;
}

static void name_alone(const struct sonde_probe_point *point,
		       char to[NAME_MAX_LENGTH + 1])
{
	if (!base_name(point, to))
		(void)snprintf(to, NAME_MAX_LENGTH + 1, "tp%u", point->number);
}

/* How many before it have that name; they are more with each location of one
 * tracepoint. */
static uint32_t count_before(const struct sonde_probe_point *point,
			     const struct sonde_probe_points *points,
			     const char *name)
{
	char other[NAME_MAX_LENGTH + 1];
	uint32_t nr = 0;

	for (size_t i = 0; points && i < points->nr; i++) {
		if (&points->list[i] == point ||
		    (points->list[i].number == point->number &&
		     points->list[i].address == point->address))
			break;
		name_alone(&points->list[i], other);
		nr += strcmp(other, name) == 0;
	}
	return nr;
}

void sonde_probe_name_point(const struct sonde_probe_point *point,
			    const struct sonde_probe_points *points, char *to,
			    size_t size)
{
	char name[NAME_MAX_LENGTH + 1];
	uint32_t before;

	name_alone(point, name);
	before = count_before(point, points, name);
	/* no name by itself has a dot */
	if (before)
		(void)snprintf(to, size, "%s.%u", name, before + 1);
	else
		(void)snprintf(to, size, "%s", name);
}
