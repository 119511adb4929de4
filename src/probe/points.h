/* SPDX-License-Identifier: MIT */
/*
 * points.h - tracepoints as GDB defines them (QTDP, QTDPsrc, QTDV), and as
 * they are told back (qTfP, qTfV) and kept beside a trace, in the lines of
 * GDB's tfile format.
 */
#ifndef PROBE_POINTS_H
#define PROBE_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde_probe_point_type {
	SONDE_PROBE_TRACE,
	SONDE_PROBE_FAST,
	SONDE_PROBE_STATIC
};

enum sonde_probe_action_kind {
	SONDE_PROBE_REGISTERS,    /* R: mask, bit n is GDB's register n */
	SONDE_PROBE_MEMORY,       /* M: reg (-1: none), offset, length */
	SONDE_PROBE_EXPRESSION,   /* X: bytes */
	SONDE_PROBE_MARKER_EVENT, /* L */
};

struct sonde_probe_action {
	enum sonde_probe_action_kind kind;
	bool steps; /* one of while-stepping's */
	uint64_t mask[2];
	int32_t reg;
	int64_t offset;
	uint64_t length;
	uint8_t *bytes;
	size_t nr_bytes;
};

/* A line of source: "at", "cond" or "cmd". */
struct sonde_probe_source {
	char kind[8];
	char *text;
};

struct sonde_probe_point {
	uint32_t number;
	uint64_t address;
	enum sonde_probe_point_type type;
	bool enabled;
	uint64_t steps, passes;
	uint32_t insn_length; /* F */
	uint8_t *condition;   /* bytecode; NULL: none */
	size_t nr_condition;
	struct sonde_probe_action *actions;
	size_t nr_actions;
	struct sonde_probe_source *sources;
	size_t nr_sources;
	bool complete; /* all its packets came; what GDB sends again ... */
	bool retold;   /* ... is left alone */
	/* while a run is on, or after it */
	uint64_t hits, bytes;
	uint32_t probe; /* index; UINT32_MAX: not in */
};

/* The kernel has the upper half of all addresses. */
static inline bool
sonde_probe_point_is_kernels(const struct sonde_probe_point *point)
{
	return point->address >> 63;
}

struct sonde_probe_variable {
	uint32_t number;
	int64_t value;
	bool builtin;
	char *name;
};

struct sonde_probe_points {
	struct sonde_probe_point *list;
	size_t nr;
	struct sonde_probe_variable *variables;
	size_t nr_variables;
	/* The program's file, for names of fields (statics.h); "": unknown. */
	char program[32];
};

void sonde_probe_points_clear(struct sonde_probe_points *points);
/* The variables that the agent computes: $timestamp, $tid, $cpu. */
int sonde_probe_points_add_builtins(struct sonde_probe_points *points);
/* Adds all that is in the other; 0 or -ENOMEM. */
int sonde_probe_points_copy(struct sonde_probe_points *points,
			    const struct sonde_probe_points *from);
/* Takes over one tracepoint of another set, where an empty one stays. */
int sonde_probe_points_adopt(struct sonde_probe_points *points,
			     struct sonde_probe_point *from,
			     struct sonde_probe_point **ret_point);
/* Takes the last one away. */
void sonde_probe_points_drop_last(struct sonde_probe_points *points);
struct sonde_probe_point *
sonde_probe_points_find(struct sonde_probe_points *points, uint32_t number,
			uint64_t address);

/* The packet behind "QTDP:" (also "-n:..."), "QTDPsrc:", "QTDV:". 0; -EINVAL
 * (malformed), -E2BIG, -ENOMEM, -ENOENT (actions of an unknown one).
 * *ret_complete: no more packets of this tracepoint will follow. A tracepoint
 * that is there already is left as it is (GDB 13.1 sends them again). */
int sonde_probe_points_define(struct sonde_probe_points *points,
			      const char *packet, bool *ret_complete,
			      struct sonde_probe_point **ret_point);
int sonde_probe_points_source(struct sonde_probe_points *points,
			      const char *packet);
int sonde_probe_points_variable(struct sonde_probe_points *points,
				const char *packet);

/* The kind of line that has the name of the kernel's event which $_sdata is. */
#define SONDE_PROBE_EVENT_KIND "event"

/* Its first source line of that kind; NULL. */
const char *sonde_probe_point_source(const struct sonde_probe_point *point,
				     const char *kind);
/* Adds a source line of our own, of a kind that GDB doesn't have; and takes
 * all of that kind away. 0, -ENOMEM, -E2BIG. */
int sonde_probe_points_note(struct sonde_probe_point *point, const char *kind,
			    const char *text);
void sonde_probe_points_forget(struct sonde_probe_point *point,
			       const char *kind);

/* The i-th line that describes them: "T...", "A...", "S...", "Z...", as qTfP
 * tells them. The length it has or would have; 0: there is no i-th. */
size_t sonde_probe_points_line(const struct sonde_probe_points *points,
			       size_t i, char *to, size_t size);
size_t sonde_probe_points_variable_line(const struct sonde_probe_points *points,
					size_t i, char *to, size_t size);
/* The way back: one such line (without "tp " or "tsv "). */
int sonde_probe_points_read_line(struct sonde_probe_points *points,
				 const char *line);

#endif /* PROBE_POINTS_H */
