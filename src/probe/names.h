/* SPDX-License-Identifier: MIT */
/*
 * names.h - names for what a tracepoint collects, from the lines the user
 * typed ("collect a, $args, *p@4").
 *
 * GDB sends those lines beside the actions it made of them, without saying
 * which became which. In a tracepoint's actions (and in its steps') are the
 * registers, then memory at fixed addresses, sorted, then an expression for
 * each thing of the lines, in their order; $args and $locals are several.
 * So the expressions are matched in order; those get a name for which there is
 * just one. (Of `collect n, g`, where one of both is static, it may be either.)
 */
#ifndef PROBE_NAMES_H
#define PROBE_NAMES_H

#include "probe/points.h"

enum sonde_probe_action_is {
	SONDE_PROBE_IS_OTHER,    /* no expression */
	SONDE_PROBE_IS_READ,     /* an expression: it reads, or does nothing */
	SONDE_PROBE_IS_VALUE,    /* the same, and computes */
	SONDE_PROBE_IS_STRING,   /* the same, of collect/s */
	SONDE_PROBE_IS_VARIABLE, /* records a trace variable */
	SONDE_PROBE_IS_SET,      /* teval */
};

/*
 * names[i], for each of the point's actions, becomes NULL or the text that it
 * was made of, for free(). `is` says what each is; actions of the other part
 * (steps or not) are OTHER. 0, -ENOMEM.
 */
int sonde_probe_names_find(const struct sonde_probe_point *point,
			   const struct sonde_probe_points *points, bool steps,
			   const enum sonde_probe_action_is *is, char **names);

/* Whether the lines ask for a variable: by its name, $args or $locals. */
struct sonde_probe_asked {
	const char *name;
	bool is_parameter;
	bool is_local;
};
bool sonde_probe_names_asked(const struct sonde_probe_point *point,
			     const struct sonde_probe_points *points,
			     bool steps, const struct sonde_probe_asked *asked);

/*
 * The name of what is read k-th of nr on the way to `text`: "p" and "p->next"
 * of "p->next->key", "a" of "a + 1". False: there is no telling.
 */
bool sonde_probe_name_inner(const char *text, uint32_t k, uint32_t nr, char *to,
			    size_t size);

/* The tracepoint's event: an identifier that no earlier one of `points` has. */
void sonde_probe_name_point(const struct sonde_probe_point *point,
			    const struct sonde_probe_points *points, char *to,
			    size_t size);

#endif /* PROBE_NAMES_H */
