/* SPDX-License-Identifier: MIT */
/*
 * typing.c - see typing.h.
 *
 * Debugging information is somebody's file, there may be gigabytes of it, and
 * libdw is not made for broken ones: it is read in a child process, which
 * writes lines ("3 A0.0:f64:price": of the tracepoint at index 3), within
 * TIME_MAX_MS. GDB waits two seconds for an answer; where it was started with the
 * kernel's symbols, which take longer, a minute.
 */
#include "probe/typing.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "probe/actions.h"
#include "probe/child.h"
#include "probe/debuginfo_parts.h"
#include "probe/location.h"
#include "probe/names.h"
#include "probe/semaphore.h"
#include "probe/types.h"

#define TIME_MAX_MS        1500
#define KERNEL_TIME_MAX_MS 30000
#define NAME_SIZE          256

/* ---- in the child ---- */

/* Where a variable is, if that needs no more than a register and an offset. */
struct place {
	enum {
		PLACE_NONE,
		PLACE_REGISTER, /* in reg */
		PLACE_BASED,    /* in memory, at reg + offset */
		PLACE_FIXED,    /* in memory, at offset */
	} kind;
	uint8_t reg; /* GDB's number */
	int64_t offset;
};

struct seen {
	const char *name;
	bool is_parameter;
	bool is_local;
	struct place place;
	uint64_t bytes; /* 0: unknown */
	/* "": unknown, or no number */
	char type[SONDE_PROBE_TYPE_TEXT_MAX + 1];
};

struct typing {
	struct sonde_probe_dwarf *dwarf;
	const struct sonde_probe_points *points;
	const struct sonde_probe_point *point;
	size_t index;
	bool steps;
	struct sonde_probe_looked *list; /* the point's actions */
	bool *known;                     /* by action */
	uint64_t taken;                  /* registers that have a name */
	FILE *to;
};

static bool typing_is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

static void say_read(const struct typing *typing, size_t action, uint32_t k,
		     const char *type, const char *name)
{
	if (typing_is_printable(name))
		(void)fprintf(typing->to, "%zu A%zu.%" PRIu32 ":%s:%s\n",
			      typing->index, action, k, type, name);
}

/* An action that has the name the user typed. */
static void type_named(const struct typing *typing, size_t i)
{
	const struct sonde_probe_looked *this = &typing->list[i];
	uint32_t nr_inner = this->shape.nr_reads;
	char type[SONDE_PROBE_TYPE_TEXT_MAX + 1];
	char name[NAME_SIZE];

	if (!this->shape.string_max && !this->shape.is_value && nr_inner > 0)
		nr_inner--;
	for (uint32_t k = 0; k < nr_inner; k++)
		if (sonde_probe_name_inner(this->name, k, nr_inner, name,
					   sizeof(name)) &&
		    sonde_probe_dwarf_type(typing->dwarf, name, type))
			say_read(typing, i, k, type, name);
	/* the last one is what it is all about; so is a range */
	if ((nr_inner < this->shape.nr_reads || !this->program) &&
	    sonde_probe_dwarf_type(typing->dwarf, this->name, type))
		say_read(typing, i, nr_inner, type, this->name);
}

/* Where an action reads, if it is one thing at a place that is known. */
static bool place_of(const struct sonde_probe_looked *this, struct place *place,
		     uint64_t *ret_bytes)
{
	int32_t reg;

	if (this->action->kind == SONDE_PROBE_MEMORY) {
		reg = this->action->reg;
		place->offset = this->action->offset;
		*ret_bytes = this->action->length;
	} else if (this->program && this->shape.fixed &&
		   this->shape.nr_reads == 1 && !this->shape.string_max &&
		   !this->shape.is_value &&
		   sonde_probe_reads_at(this->program, &reg, &place->offset)) {
		*ret_bytes = this->shape.reads[0];
	} else {
		return false;
	}
	place->kind = reg < 0 ? PLACE_FIXED : PLACE_BASED;
	place->reg = reg < 0 ? 0 : (uint8_t)reg;
	return true;
}

/* What has no name yet, and is where the variable is. */
static void match_places(const struct typing *typing, const struct seen *seen)
{
	for (size_t i = 0; i < typing->point->nr_actions; i++) {
		const struct sonde_probe_looked *this = &typing->list[i];
		struct place place;
		uint64_t bytes;

		if (this->action->steps != typing->steps || typing->known[i] ||
		    !place_of(this, &place, &bytes) || bytes != seen->bytes ||
		    place.kind != seen->place.kind ||
		    place.reg != seen->place.reg ||
		    place.offset != seen->place.offset)
			continue;
		typing->known[i] = true;
		say_read(typing, i, 0, seen->type[0] ? seen->type : "u8",
			 seen->name);
	}
}

static uint64_t collected_registers(const struct typing *typing)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < typing->point->nr_actions; i++) {
		const struct sonde_probe_action *action =
			&typing->point->actions[i];

		if (action->kind == SONDE_PROBE_REGISTERS &&
		    action->steps == typing->steps)
			mask |= action->mask[0];
	}
	return mask;
}

/* A variable that is in a register which GDB had collected for it. */
static void match_register(struct typing *typing, const struct seen *seen)
{
	uint64_t bit = (uint64_t)1 << seen->place.reg;

	if (seen->place.kind != PLACE_REGISTER || !seen->type[0] ||
	    !typing_is_printable(seen->name) || typing->taken & bit ||
	    !(collected_registers(typing) & bit) ||
	    !sonde_probe_names_asked(
		    typing->point, typing->points, typing->steps,
		    &(struct sonde_probe_asked){ seen->name, seen->is_parameter,
						 seen->is_local }))
		return;
	typing->taken |= bit;
	(void)fprintf(typing->to, "%zu %c%u:%s:%s\n", typing->index,
		      typing->steps ? 'S' : 'R', seen->place.reg, seen->type,
		      seen->name);
}

static struct place place_of_variable(const struct sonde_probe_dwarf *dwarf,
				      Dwarf_Die *die)
{
	struct place place = { .kind = PLACE_NONE };
	struct sonde_probe_bytecode code = { .nr = 0 };
	struct sonde_probe_where where;
	const char *error;

	if (!sonde_probe_locate(dwarf, die, &code, &where, &error))
		return place;
	if (where.kind == SONDE_PROBE_WHERE_REGISTER)
		place.kind = PLACE_REGISTER;
	else if (where.kind == SONDE_PROBE_WHERE_MEMORY && where.is_simple)
		place.kind = where.has_reg ? PLACE_BASED : PLACE_FIXED;
	place.reg = where.reg;
	place.offset = where.offset;
	return place;
}

/* For sonde_probe_dwarf_visible(): all are looked at. */
static bool look_at_variable(Dwarf_Die *die, bool is_local, void *ctx)
{
	struct typing *typing = ctx;
	struct seen seen = { .is_local = is_local };
	Dwarf_Die type;

	if (!sonde_probe_dwarf_is_variable(die))
		return false;
	seen.name = dwarf_diename(die);
	seen.place = place_of_variable(typing->dwarf, die);
	if (!seen.name || seen.place.kind == PLACE_NONE)
		return false;
	seen.is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter;
	if (sonde_probe_dwarf_type_of(die, &type)) {
		seen.bytes = sonde_probe_dwarf_bytes(&type);
		sonde_probe_dwarf_say(&type, 1, seen.type);
	}
	match_places(typing, &seen);
	match_register(typing, &seen);
	return false;
}

static void type_part(struct typing *typing)
{
	size_t nr = typing->point->nr_actions;
	char error[NAME_SIZE];

	if (sonde_probe_actions_look(typing->point, typing->points,
				     typing->steps, error, sizeof(error),
				     &typing->list))
		return;
	typing->known = calloc(nr + 1, sizeof(*typing->known));
	typing->taken = 0;
	for (size_t i = 0; typing->known && i < nr; i++) {
		if (!typing->list[i].name)
			continue;
		typing->known[i] = true;
		type_named(typing, i);
	}
	if (typing->known)
		(void)sonde_probe_dwarf_visible(typing->dwarf, look_at_variable,
						typing);
	free(typing->known);
	sonde_probe_actions_free(typing->list, nr);
}

static void type_points(const struct sonde_probe_debuggee *whose,
			const struct sonde_probe_points *points,
			const struct sonde_probe_point *only, FILE *to)
{
	for (size_t i = 0; i < points->nr; i++) {
		struct typing typing = {
			.points = points,
			.point = &points->list[i],
			.index = i,
			.to = to,
		};

		if ((only && only != typing.point) ||
		    typing.point->nr_actions == 0 ||
		    sonde_probe_semaphore_of(typing.point, NULL))
			continue;
		typing.dwarf =
			sonde_probe_dwarf_open(whose, typing.point->address);
		if (!typing.dwarf)
			continue;
		type_part(&typing);
		typing.steps = true;
		if (typing.point->steps)
			type_part(&typing);
		sonde_probe_dwarf_close(typing.dwarf);
		(void)fflush(to); /* what is known so far */
	}
}

struct asking {
	const struct sonde_probe_debuggee *whose;
	const struct sonde_probe_points *points;
	const struct sonde_probe_point *only;
};

static void answer(void *ctx, FILE *to)
{
	const struct asking *asking = ctx;

	type_points(asking->whose, asking->points, asking->only, to);
}

/* ---- in the parent ---- */

static void add_line(struct sonde_probe_points *points, const char *line)
{
	uint64_t index;

	/* Without the line it is as good as without libdw. */
	if (sonde_number_take(&line, 10, UINT64_MAX, &index) &&
	    index < points->nr && *line == ' ')
		(void)sonde_probe_points_note(&points->list[index],
					      SONDE_PROBE_TYPES_KIND, line + 1);
}

/* Only whole lines. */
static void add_lines(struct sonde_probe_points *points, char *bytes)
{
	char *end;

	for (char *line = bytes; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		add_line(points, line);
	}
}

void sonde_probe_typing_note(const struct sonde_probe_debuggee *whose,
			     struct sonde_probe_points *points,
			     struct sonde_probe_point *only)
{
	struct asking asking = { whose, points, only };
	char *lines;

	/* Those of <sys/sdt.h> come with their types. */
	for (size_t i = 0; i < points->nr; i++)
		if ((!only || only == &points->list[i]) &&
		    !sonde_probe_semaphore_of(&points->list[i], NULL))
			sonde_probe_points_forget(&points->list[i],
						  SONDE_PROBE_TYPES_KIND);
	lines = sonde_probe_child_ask(answer, &asking,
				      whose->path ? KERNEL_TIME_MAX_MS :
						    TIME_MAX_MS);
	if (lines)
		add_lines(points, lines);
	free(lines);
}
