/* SPDX-License-Identifier: MIT */
/*
 * points.c - tracepoints from packets. Everything is bounded: a client may
 * send what it likes, for as long as it likes.
 */
#include "probe/points.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "probe/inject/agent.h"

enum {
	POINTS_MAX = 8192,
	ACTIONS_MAX = 256,
	SOURCES_MAX = 256,
	SOURCE_BYTES_MAX = 1 << 16,
	NAME_BYTES_MAX = 255,
};

static void point_free(struct sonde_probe_point *point)
{
	for (size_t i = 0; i < point->nr_actions; i++)
		free(point->actions[i].bytes);
	for (size_t i = 0; i < point->nr_sources; i++)
		free(point->sources[i].text);
	free(point->actions);
	free(point->sources);
	free(point->condition);
}

void sonde_probe_points_clear(struct sonde_probe_points *points)
{
	for (size_t i = 0; i < points->nr; i++)
		point_free(&points->list[i]);
	for (size_t i = 0; i < points->nr_variables; i++)
		free(points->variables[i].name);
	free(points->list);
	free(points->variables);
	memset(points, 0, sizeof(*points));
}

struct sonde_probe_point *
sonde_probe_points_find(struct sonde_probe_points *points, uint32_t number,
			uint64_t address)
{
	for (size_t i = 0; i < points->nr; i++)
		if (points->list[i].number == number &&
		    points->list[i].address == address)
			return &points->list[i];
	return NULL;
}

/* Room for one more of `size` bytes, zeroed; NULL. */
static void *grow(void **list, size_t *nr, size_t size)
{
	void *longer = reallocarray(*list, *nr + 1, size);

	if (!longer)
		return NULL;
	*list = longer;
	return memset((char *)longer + size * (*nr)++, 0, size);
}

int sonde_probe_points_adopt(struct sonde_probe_points *points,
			     struct sonde_probe_point *from,
			     struct sonde_probe_point **ret_point)
{
	struct sonde_probe_point *point;

	if (points->nr == POINTS_MAX)
		return -E2BIG;
	point = grow((void **)&points->list, &points->nr, sizeof(*point));
	if (!point)
		return -ENOMEM;
	*point = *from;
	memset(from, 0, sizeof(*from));
	*ret_point = point;
	return 0;
}

void sonde_probe_points_drop_last(struct sonde_probe_points *points)
{
	point_free(&points->list[--points->nr]);
}

/* "number:address:" */
static bool take_key(const char **at, uint32_t *ret_number,
		     uint64_t *ret_address)
{
	uint64_t number;

	if (!sonde_hex_take_number(at, &number) || number > INT32_MAX ||
	    !sonde_hex_take(at, ':') ||
	    !sonde_hex_take_number(at, ret_address) || !sonde_hex_take(at, ':'))
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

/* "length,bytes", bytecode */
static int points_take_code(const char **at, uint8_t **ret_bytes,
			    size_t *ret_nr)
{
	uint8_t *bytes;
	uint64_t nr;

	if (!sonde_hex_take_number(at, &nr) || !sonde_hex_take(at, ','))
		return -EINVAL;
	if (nr > SONDE_AGENT_BYTES_MAX)
		return -E2BIG;
	bytes = malloc(nr ? nr : 1);
	if (!bytes)
		return -ENOMEM;
	if (!sonde_hex_take_bytes(at, bytes, nr)) {
		free(bytes);
		return -EINVAL;
	}
	*ret_bytes = bytes;
	*ret_nr = nr;
	return 0;
}

/* What comes behind the five fixed fields: ":F5", ":S", ":X3,221127". */
static int take_options(const char **at, struct sonde_probe_point *point)
{
	uint64_t length;
	int rc;

	while (sonde_hex_take(at, ':')) {
		if (sonde_hex_take(at, 'S')) {
			point->type = SONDE_PROBE_STATIC;
		} else if (sonde_hex_take(at, 'F')) {
			if (!sonde_hex_take_number(at, &length) || length > 15)
				return -EINVAL;
			point->type = SONDE_PROBE_FAST;
			point->insn_length = (uint32_t)length;
		} else if (sonde_hex_take(at, 'X') && !point->condition) {
			rc = points_take_code(at, &point->condition,
					      &point->nr_condition);
			if (rc)
				return rc;
		} else {
			return -EINVAL;
		}
	}
	return 0;
}

/* "E:step:pass" and options, in *at. */
static int take_point(const char **at, struct sonde_probe_point *point)
{
	if (sonde_hex_take(at, 'E'))
		point->enabled = true;
	else if (!sonde_hex_take(at, 'D'))
		return -EINVAL;
	if (!sonde_hex_take(at, ':') ||
	    !sonde_hex_take_number(at, &point->steps) ||
	    !sonde_hex_take(at, ':') ||
	    !sonde_hex_take_number(at, &point->passes))
		return -EINVAL;
	return take_options(at, point);
}

/* The mask's digits, the highest first: bit n is register n. */
static int take_mask(const char **at, struct sonde_probe_action *action)
{
	const char *start = *at;

	while (sonde_hex_digit(**at) >= 0) {
		action->mask[1] = action->mask[1] << 4 | action->mask[0] >> 60;
		action->mask[0] =
			action->mask[0] << 4 | (uint64_t)sonde_hex_digit(**at);
		(*at)++;
	}
	return *at == start ? -EINVAL : 0;
}

/* "reg,offset,length"; no register is "-1", or as many fs. */
static int take_memory(const char **at, struct sonde_probe_action *action)
{
	uint64_t reg = UINT32_MAX;
	uint64_t offset;

	if (!sonde_hex_take_word(at, "-1") && !sonde_hex_take_number(at, &reg))
		return -EINVAL;
	if (!sonde_hex_take(at, ',') || !sonde_hex_take_number(at, &offset) ||
	    !sonde_hex_take(at, ',') ||
	    !sonde_hex_take_number(at, &action->length))
		return -EINVAL;
	if ((uint32_t)reg != UINT32_MAX && reg >= SONDE_AGENT_REGISTERS)
		return -EINVAL;
	action->reg = (int32_t)(uint32_t)reg;
	action->offset = (int64_t)offset;
	return 0;
}

static int take_action(const char **at, struct sonde_probe_action *action)
{
	switch (*(*at)++) {
	case 'R':
		action->kind = SONDE_PROBE_REGISTERS;
		return take_mask(at, action);
	case 'M':
		action->kind = SONDE_PROBE_MEMORY;
		return take_memory(at, action);
	case 'X':
		action->kind = SONDE_PROBE_EXPRESSION;
		return points_take_code(at, &action->bytes, &action->nr_bytes);
	case 'L':
		action->kind = SONDE_PROBE_MARKER_EVENT;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Actions, one behind the other, up to the end or "-". */
static int add_actions(struct sonde_probe_point *point, const char **at)
{
	/* Once there is a step's action, all later ones are. */
	bool steps = point->nr_actions > 0 &&
		     point->actions[point->nr_actions - 1].steps;
	struct sonde_probe_action action;
	struct sonde_probe_action *added;
	int rc;

	if (sonde_hex_take(at, 'S'))
		steps = true;
	while (**at && **at != '-') {
		if (point->nr_actions == ACTIONS_MAX)
			return -E2BIG;
		memset(&action, 0, sizeof(action));
		action.steps = steps;
		rc = take_action(at, &action);
		if (rc)
			return rc;
		added = grow((void **)&point->actions, &point->nr_actions,
			     sizeof(action));
		if (!added) {
			free(action.bytes);
			return -ENOMEM;
		}
		*added = action;
	}
	return 0;
}

static int define_actions(struct sonde_probe_points *points, const char *at,
			  bool *ret_complete,
			  struct sonde_probe_point **ret_point)
{
	struct sonde_probe_point *point;
	uint64_t address;
	uint32_t number;
	int rc;

	if (!take_key(&at, &number, &address))
		return -EINVAL;
	point = sonde_probe_points_find(points, number, address);
	if (!point)
		return -ENOENT;
	*ret_point = point;
	if (point->complete) {
		*ret_complete = false;
		return 0;
	}
	rc = add_actions(point, &at);
	if (rc)
		return rc;
	*ret_complete = !sonde_hex_take(&at, '-');
	point->complete = *ret_complete;
	return *at ? -EINVAL : 0;
}

static int define_new(struct sonde_probe_points *points, const char *at,
		      struct sonde_probe_point *made)
{
	struct sonde_probe_point *point;
	int rc = take_point(&at, made);

	if (rc)
		return rc;
	made->complete = !sonde_hex_take(&at, '-');
	if (*at)
		return -EINVAL;
	if (points->nr == POINTS_MAX)
		return -E2BIG;
	point = grow((void **)&points->list, &points->nr, sizeof(*point));
	if (!point)
		return -ENOMEM;
	*point = *made;
	return 0;
}

int sonde_probe_points_define(struct sonde_probe_points *points,
			      const char *packet, bool *ret_complete,
			      struct sonde_probe_point **ret_point)
{
	struct sonde_probe_point made = { .probe = UINT32_MAX };
	struct sonde_probe_point *point;
	const char *at = packet;
	int rc;

	if (sonde_hex_take(&at, '-'))
		return define_actions(points, at, ret_complete, ret_point);
	if (!take_key(&at, &made.number, &made.address))
		return -EINVAL;
	point = sonde_probe_points_find(points, made.number, made.address);
	if (point) {
		point->retold = true;
		*ret_complete = false;
		*ret_point = point;
		return 0;
	}
	rc = define_new(points, at, &made);
	if (rc) {
		point_free(&made);
		return rc;
	}
	*ret_point = &points->list[points->nr - 1];
	*ret_complete = (*ret_point)->complete;
	return 0;
}

/* "kind:start:length:" of a source line. */
static int take_source(const char **at, char kind[8], uint64_t *ret_start,
		       uint64_t *ret_length)
{
	size_t nr = strcspn(*at, ":");

	if (nr == 0 || nr > 7 || !(*at)[nr])
		return -EINVAL;
	memcpy(kind, *at, nr);
	kind[nr] = '\0';
	for (size_t i = 0; i < nr; i++)
		if (kind[i] < 'a' || kind[i] > 'z')
			return -EINVAL;
	*at += nr + 1;
	if (!sonde_hex_take_number(at, ret_start) || !sonde_hex_take(at, ':') ||
	    !sonde_hex_take_number(at, ret_length) || !sonde_hex_take(at, ':'))
		return -EINVAL;
	return *ret_length > SOURCE_BYTES_MAX ? -E2BIG : 0;
}

/* A piece that goes on where the last source ends. */
static int extend_source(struct sonde_probe_point *point, const char *kind,
			 uint64_t start, const char *text)
{
	struct sonde_probe_source *last;
	char *longer;

	if (point->nr_sources == 0)
		return -EINVAL;
	last = &point->sources[point->nr_sources - 1];
	if (strcmp(last->kind, kind) != 0 || strlen(last->text) != start)
		return -EINVAL;
	if (start + strlen(text) > SOURCE_BYTES_MAX)
		return -E2BIG;
	longer = realloc(last->text, start + strlen(text) + 1);
	if (!longer)
		return -ENOMEM;
	memcpy(longer + start, text, strlen(text) + 1);
	last->text = longer;
	return 0;
}

static int add_source(struct sonde_probe_point *point, const char *kind,
		      uint64_t start, char **text)
{
	struct sonde_probe_source *source;

	if (start > 0)
		return extend_source(point, kind, start, *text);
	if (point->nr_sources == SOURCES_MAX)
		return -E2BIG;
	source = grow((void **)&point->sources, &point->nr_sources,
		      sizeof(*source));
	if (!source)
		return -ENOMEM;
	memcpy(source->kind, kind, sizeof(source->kind));
	source->text = *text;
	*text = NULL;
	return 0;
}

int sonde_probe_points_source(struct sonde_probe_points *points,
			      const char *packet)
{
	struct sonde_probe_point *point;
	const char *at = packet;
	char kind[8] = "";
	uint64_t address;
	uint64_t start;
	uint64_t length;
	uint32_t number;
	char *text;
	int rc;

	if (!take_key(&at, &number, &address))
		return -EINVAL;
	rc = take_source(&at, kind, &start, &length);
	if (rc)
		return rc;
	point = sonde_probe_points_find(points, number, address);
	if (!point)
		return -ENOENT;
	if (point->retold)
		return 0;
	text = sonde_hex_bytes(at, NULL);
	if (!text)
		return -EINVAL;
	rc = add_source(point, kind, start, &text);
	free(text);
	return rc;
}

static struct sonde_probe_variable *
points_find_variable(const struct sonde_probe_points *points, uint32_t number)
{
	for (size_t i = 0; i < points->nr_variables; i++)
		if (points->variables[i].number == number)
			return &points->variables[i];
	return NULL;
}

static int put_variable(struct sonde_probe_points *points,
			const struct sonde_probe_variable *made)
{
	struct sonde_probe_variable *variable =
		points_find_variable(points, made->number);

	/* What we compute stays ours. */
	if (variable && variable->builtin)
		return -EEXIST;
	if (variable) {
		free(variable->name);
	} else {
		variable = grow((void **)&points->variables,
				&points->nr_variables, sizeof(*variable));
		if (!variable)
			return -ENOMEM;
	}
	*variable = *made;
	return 0;
}

int sonde_probe_points_variable(struct sonde_probe_points *points,
				const char *packet)
{
	struct sonde_probe_variable made = { 0 };
	const char *at = packet;
	uint64_t number;
	uint64_t value;
	uint64_t builtin;
	int rc;

	if (!sonde_hex_take_number(&at, &number) || !sonde_hex_take(&at, ':') ||
	    !sonde_hex_take_number(&at, &value) || !sonde_hex_take(&at, ':') ||
	    !sonde_hex_take_number(&at, &builtin) || !sonde_hex_take(&at, ':'))
		return -EINVAL;
	if (number == 0 || number >= SONDE_AGENT_VARIABLES_MAX ||
	    strlen(at) > 2 * NAME_BYTES_MAX)
		return -E2BIG;
	made.number = (uint32_t)number;
	made.value = (int64_t)value;
	made.builtin = false;
	made.name = sonde_hex_bytes(at, NULL);
	if (!made.name)
		return -EINVAL;
	rc = put_variable(points, &made);
	if (rc)
		free(made.name);
	return rc == -EEXIST ? 0 : rc;
}

int sonde_probe_points_add_builtins(struct sonde_probe_points *points)
{
	static const char *const names[] = { "timestamp", "tid", "cpu",
					     "trace_timestamp" };
	struct sonde_probe_variable *variable;

	for (uint32_t i = 0; i < SONDE_ARRAY_SIZE(names); i++) {
		if (points_find_variable(points,
					 SONDE_AGENT_VARIABLE_TIMESTAMP + i))
			return -EEXIST;
		variable = grow((void **)&points->variables,
				&points->nr_variables, sizeof(*variable));
		if (!variable)
			return -ENOMEM;
		variable->number = SONDE_AGENT_VARIABLE_TIMESTAMP + i;
		variable->builtin = true;
		variable->name = strdup(names[i]);
		if (!variable->name) {
			points->nr_variables--;
			return -ENOMEM;
		}
	}
	return 0;
}

const char *sonde_probe_point_source(const struct sonde_probe_point *point,
				     const char *kind)
{
	for (size_t i = 0; i < point->nr_sources; i++)
		if (strcmp(point->sources[i].kind, kind) == 0)
			return point->sources[i].text;
	return NULL;
}

int sonde_probe_points_note(struct sonde_probe_point *point, const char *kind,
			    const char *text)
{
	char its_kind[sizeof(point->sources[0].kind)] = "";
	char *copy = strdup(text);
	int rc = copy ? 0 : -ENOMEM;

	(void)snprintf(its_kind, sizeof(its_kind), "%s", kind);
	if (!rc)
		rc = add_source(point, its_kind, 0, &copy);
	free(copy);
	return rc;
}

void sonde_probe_points_forget(struct sonde_probe_point *point,
			       const char *kind)
{
	size_t nr = 0;

	for (size_t i = 0; i < point->nr_sources; i++) {
		if (strcmp(point->sources[i].kind, kind) == 0)
			free(point->sources[i].text);
		else
			point->sources[nr++] = point->sources[i];
	}
	point->nr_sources = nr;
}
