/* SPDX-License-Identifier: MIT */
/*
 * pairs.h - which events begin and end something, and what that is called.
 *
 * Either the user says it (--begin, --end, --name), or the events' names do:
 * a table of pairs that tracers write, in pairs.c. All that can be known of an
 * event class is found out once; asking for an event then costs a look into an
 * array, and a field's value if that makes the name.
 */
#ifndef VIEW_EXPORT_PAIRS_H
#define VIEW_EXPORT_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "view/export/names.h"
#include "view/export/pairs_function.h"

/* What it belongs to. */
enum sonde_pair_place {
	SONDE_PAIR_THREAD,
	SONDE_PAIR_CPU, /* interrupts */
};

struct sonde_edge {
	bool begins, ends; /* both: ends one and begins the next */
	enum sonde_pair_place place;
	/* An end belongs to the innermost open begin of the same kind and, if
	 * it has a name (not 0), of the same name. */
	uint32_t kind;
	uint32_t name;
	/* When it begins: with the event, or before it came. */
	int64_t begin_ns;
	/* This begin ends what is open of its kind. */
	bool flat;
	/* Its thread ends: nothing of it goes on. */
	bool last;
	/* This end also comes without a begin, and then means nothing. */
	bool lone;
};

struct sonde_pairs_config {
	struct sonde_trace *trace;
	/* begin NULL: by the events' names. name NULL: an event's
	 * own name. */
	struct sonde_filter *begin, *end, *name;
	bool no_kernel; /* by names: but calls and interrupts of a kernel */
};

struct sonde_pairs {
	struct sonde_pairs_config config;
	struct sonde_export_names *names; /* borrowed */
	struct sonde_pair_class *classes; /* by index of event class */
	struct sonde_pair_function *code; /* names of functions */
	bool any; /* some event class begins something */
};

int sonde_pairs_init(struct sonde_pairs *pairs,
		     const struct sonde_pairs_config *config,
		     struct sonde_export_names *names);
void sonde_pairs_fini(struct sonde_pairs *pairs);

/* Whether a class of the source's events begins something, by its name. */
bool sonde_pairs_has_begin(const struct sonde_pairs *pairs,
			   const struct sonde_source *source);

/* A pair of the trace: conditions of its ends, in the language of filters, to be
 * joined by their thread or CPU. Texts are borrowed until the call returns. */
struct sonde_pair_told {
	const char *name, *begin, *end;
	enum sonde_pair_place place;
};
typedef void sonde_pair_tell(void *ctx, const struct sonde_pair_told *told);
/* All pairs by the events' names, but functions: these are in one another. */
void sonde_pairs_each(const struct sonde_pairs *pairs, sonde_pair_tell *tell,
		      void *ctx);

void sonde_pairs_edge(const struct sonde_pairs *pairs,
		      const struct sonde_event *event,
		      struct sonde_edge *ret_edge);

/* A value as a name, behind a label: text as it is, addresses in hexadecimal. 0: it
 * is of a kind that makes no name. */
uint32_t sonde_pairs_value_name(struct sonde_export_names *names,
				const char *label,
				const struct sonde_value *value);

#endif /* VIEW_EXPORT_PAIRS_H */
