/* SPDX-License-Identifier: MIT */
/*
 * points_lines.c - tracepoints as lines of text, and back.
 *
 *	Tnumber:address:E|D:steps:passes[:Flength][:S][:Xlength,code]
 *	Anumber:address:action		of the hit
 *	Snumber:address:action		of each step
 *	Znumber:address:kind:start:length:text in hexadecimal
 *
 * A static tracepoint's "at" is told as *ADDRESS: "-m ID", which the user may
 * have written, is not understood when GDB 13.1 reads it back.
 */
#include "probe/points.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/text.h"

/* Of a source's text in one line: what fits a packet. */
#define SOURCE_CHUNK 8000u

static void put_hex(struct sonde_text *line, const void *bytes, size_t nr)
{
	const uint8_t *from = bytes;

	for (size_t i = 0; i < nr; i++)
		sonde_text_add(line, "%02x", from[i]);
}

static void put_key(struct sonde_text *line, char kind,
		    const struct sonde_probe_point *point)
{
	sonde_text_add(line, "%c%x:%" PRIx64 ":", kind, point->number,
		       point->address);
}

static void put_point(struct sonde_text *line,
		      const struct sonde_probe_point *point)
{
	put_key(line, 'T', point);
	sonde_text_add(line, "%c:%" PRIx64 ":%" PRIx64,
		       point->enabled ? 'E' : 'D', point->steps, point->passes);
	if (point->type == SONDE_PROBE_FAST)
		sonde_text_add(line, ":F%x", point->insn_length);
	if (point->type == SONDE_PROBE_STATIC)
		sonde_text_add(line, ":S");
	if (point->condition) {
		sonde_text_add(line, ":X%zx,", point->nr_condition);
		put_hex(line, point->condition, point->nr_condition);
	}
}

static void put_mask(struct sonde_text *line,
		     const struct sonde_probe_action *action)
{
	if (action->mask[1])
		sonde_text_add(line, "R%" PRIX64 "%016" PRIX64, action->mask[1],
			       action->mask[0]);
	else
		sonde_text_add(line, "R%02" PRIX64, action->mask[0]);
}

static void put_action(struct sonde_text *line,
		       const struct sonde_probe_point *point,
		       const struct sonde_probe_action *action)
{
	put_key(line, action->steps ? 'S' : 'A', point);
	switch (action->kind) {
	case SONDE_PROBE_REGISTERS:
		put_mask(line, action);
		break;
	case SONDE_PROBE_MEMORY:
		if (action->reg < 0)
			sonde_text_add(line, "M-1,");
		else
			sonde_text_add(line, "M%x,", (uint32_t)action->reg);
		sonde_text_add(line, "%" PRIx64 ",%" PRIx64,
			       (uint64_t)action->offset, action->length);
		break;
	case SONDE_PROBE_EXPRESSION:
		sonde_text_add(line, "X%08zX,", action->nr_bytes);
		put_hex(line, action->bytes, action->nr_bytes);
		break;
	case SONDE_PROBE_MARKER_EVENT:
		sonde_text_add(line, "L");
		break;
	}
}

static void put_source(struct sonde_text *line,
		       const struct sonde_probe_point *point,
		       const struct sonde_probe_source *source, size_t chunk)
{
	const char *text = source->text;
	char where[24];
	size_t length;
	size_t nr;

	if (point->type == SONDE_PROBE_STATIC && !strcmp(source->kind, "at")) {
		(void)snprintf(where, sizeof(where), "*0x%" PRIx64,
			       point->address);
		text = where;
	}
	length = strlen(text);
	if (chunk * SOURCE_CHUNK > length)
		chunk = 0;
	nr = length - chunk * SOURCE_CHUNK;
	put_key(line, 'Z', point);
	sonde_text_add(line, "%s:%zx:%zx:", source->kind, chunk * SOURCE_CHUNK,
		       length);
	put_hex(line, text + chunk * SOURCE_CHUNK,
		nr < SOURCE_CHUNK ? nr : SOURCE_CHUNK);
}

/* The i-th line of one tracepoint; false and the number of its lines, if it
 * has fewer. */
static bool put_line_of(struct sonde_text *line,
			const struct sonde_probe_point *point, size_t i,
			size_t *ret_nr)
{
	size_t nr = 1 + point->nr_actions;

	if (i == 0) {
		put_point(line, point);
		return true;
	}
	if (i < nr) {
		put_action(line, point, &point->actions[i - 1]);
		return true;
	}
	for (size_t j = 0; j < point->nr_sources; j++) {
		size_t length = strlen(point->sources[j].text);
		size_t chunks = length == 0 ? 1 :
					      (length + SOURCE_CHUNK - 1) /
						      SOURCE_CHUNK;

		if (i - nr < chunks) {
			put_source(line, point, &point->sources[j], i - nr);
			return true;
		}
		nr += chunks;
	}
	*ret_nr = nr;
	return false;
}

size_t sonde_probe_points_line(const struct sonde_probe_points *points,
			       size_t i, char *to, size_t size)
{
	struct sonde_text line = { .to = to, .size = size };
	size_t nr;

	for (size_t j = 0; j < points->nr; j++) {
		if (put_line_of(&line, &points->list[j], i, &nr))
			return line.length;
		i -= nr;
	}
	return 0;
}

size_t sonde_probe_points_variable_line(const struct sonde_probe_points *points,
					size_t i, char *to, size_t size)
{
	struct sonde_text line = { .to = to, .size = size };
	const struct sonde_probe_variable *variable;

	if (i >= points->nr_variables)
		return 0;
	variable = &points->variables[i];
	sonde_text_add(&line, "%x:%" PRIx64 ":%x:", variable->number,
		       (uint64_t)variable->value, variable->builtin);
	put_hex(&line, variable->name, strlen(variable->name));
	return line.length;
}

/* "number:address:rest" as the packet that would bring it. */
static int read_action(struct sonde_probe_points *points, const char *rest,
		       bool steps)
{
	struct sonde_probe_point *point = NULL;
	const char *action = strchr(rest, ':');
	bool complete;
	char *packet;
	int rc;

	action = action ? strchr(action + 1, ':') : NULL;
	if (!action)
		return -EINVAL;
	/* The end of its actions is not told: more may follow. */
	packet = malloc(strlen(rest) + sizeof("-S-"));
	if (!packet)
		return -ENOMEM;
	(void)sprintf(packet, "-%.*s%s%s-", (int)(action + 1 - rest), rest,
		      steps ? "S" : "", action + 1);
	rc = sonde_probe_points_define(points, packet, &complete, &point);
	free(packet);
	return rc;
}

static int read_point(struct sonde_probe_points *points, const char *rest)
{
	struct sonde_probe_point *point = NULL;
	bool complete;
	char *packet;
	int rc;

	if (asprintf(&packet, "%s-", rest) < 0)
		return -ENOMEM;
	rc = sonde_probe_points_define(points, packet, &complete, &point);
	free(packet);
	return rc;
}

static int read_variable(struct sonde_probe_points *points, const char *line)
{
	const char *flag = strchr(line, ':');
	uint64_t number;
	int rc = sonde_probe_points_variable(points, line);

	if (rc)
		return rc;
	flag = strchr(flag + 1, ':') + 1;
	(void)sonde_hex_take_number(&line, &number);
	for (size_t i = 0; i < points->nr_variables; i++)
		if (points->variables[i].number == number)
			points->variables[i].builtin = *flag == '1';
	return 0;
}

int sonde_probe_points_read_line(struct sonde_probe_points *points,
				 const char *line)
{
	switch (line[0]) {
	case 'T':
		return read_point(points, line + 1);
	case 'A':
		return read_action(points, line + 1, false);
	case 'S':
		return read_action(points, line + 1, true);
	case 'Z':
		return sonde_probe_points_source(points, line + 1);
	default:
		return read_variable(points, line);
	}
}

typedef size_t line_of(const struct sonde_probe_points *points, size_t i,
		       char *to, size_t size);

static int copy_lines(struct sonde_probe_points *points,
		      const struct sonde_probe_points *from, line_of *get)
{
	size_t size = 4 * SOURCE_CHUNK;
	char *line = malloc(size);
	int rc = line ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0; i++) {
		size_t length = get(from, i, line, size);

		if (length == 0)
			break;
		rc = length < size ?
			     sonde_probe_points_read_line(points, line) :
			     -E2BIG;
	}
	free(line);
	return rc;
}

int sonde_probe_points_copy(struct sonde_probe_points *points,
			    const struct sonde_probe_points *from)
{
	int rc = copy_lines(points, from, sonde_probe_points_line);

	return rc ? rc :
		    copy_lines(points, from, sonde_probe_points_variable_line);
}
