/* SPDX-License-Identifier: MIT */
/*
 * plugin.h - add reports, rows of the time line and state machines to sonde: a
 * shared object that `sonde report`, `sonde view` and `sonde tui` load.
 *
 *	cc -shared -fPIC -o mine.so mine.c
 *	sonde report --plugin ./mine.so NAME trace
 *
 * or, for all commands, in ~/.local/lib/sonde/plugins; sonde-plugin(7) says more.
 *
 * ## What a plug-in is
 *
 * It defines one object, `const struct sonde_plugin sonde_plugin`, that names what
 * it adds:
 *
 *   report   looks at events, and at the end fills tables. `sonde report NAME`
 *            shows it as text or, with --json, as JSON
 *   rows     looks at events, and says what its rows are and since when: in which
 *            state, or, of *counters*, at which value. They are shown by `sonde
 *            view` and `sonde tui`; and `sonde report NAME` says how long each
 *            state of each row took, and the least and the most of each counter
 *   machine  the same without code: states, and which events lead from one to
 *            another
 *
 * Each is *begun* with a trace, where it says which events it wants: those of an
 * event class, of classes by their names, or those for which an expression of the
 * filter language (sonde-filter(7)) is true. Its *hooks* are then called for these
 * events in the order of time, by one thread. The fields of an event are had by the
 * functions of <sonde/trace.h>, which sonde has as well: nothing is to be linked.
 *
 * ## Rules
 *
 * Times are nanoseconds since 1970, errors negative errno values. What is passed to
 * a function is its caller's, and copied if it is kept; what a description below
 * points to stays as it is, and is the plug-in's. Two runs of the same description
 * may take place at a time, by two threads, each with a state of its own: what
 * isn't in the state is to be constant. `run`, `event` and `report` are valid during
 * the call.
 *
 * A plug-in runs inside of sonde, with all its rights, and is not watched: if it
 * crashes, sonde does. What it is told of a trace is as hostile as the trace.
 *
 * SONDE_PLUGIN_ABI changes if what was compiled before can't be used any more;
 * `size` tells which members a description has. Another version is refused.
 */
#ifndef SONDE_PLUGIN_H
#define SONDE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SONDE_PLUGIN_API __attribute__((visibility("default")))
#define SONDE_PLUGIN_PRINTF(text, first) \
	__attribute__((format(printf, text, first)))
#else
#define SONDE_PLUGIN_API
#define SONDE_PLUGIN_PRINTF(text, first)
#endif

#define SONDE_PLUGIN_ABI 1u

/* One description at work on one trace. */
struct sonde_plugin_run;
struct sonde_report;

/* ---- what there is to be added ---- */

/*
 * A report. `config` is for begin() alone: so one function may serve several
 * descriptions.
 */
struct sonde_plugin_report {
	size_t size;         /* of this structure */
	const char *name;    /* of letters, digits, '-' and '_' */
	const char *summary; /* a line for the list of reports */
	const void *config;  /* NULL will do */
	size_t state_bytes;  /* memory for its state, which comes zeroed */
	/* Says which events it wants. 0, or what sonde_plugin_fail() returned. */
	int (*begin)(void *state, const void *config,
		     struct sonde_plugin_run *run);
	/* After the last event: what was found. 0 or a negative errno. */
	int (*end)(void *state, struct sonde_plugin_run *run,
		   struct sonde_report *report);
	/* Of a state that was begun, maybe in vain. NULL: nothing to do. */
	void (*fini)(void *state);
};

/* Rows of a time line; as above. Without the report that its rows are made of. */
struct sonde_plugin_rows {
	size_t size;
	const char *name, *summary;
	const void *config;
	size_t state_bytes;
	int (*begin)(void *state, const void *config,
		     struct sonde_plugin_run *run);
	/* NULL: what a row is then it is up to the trace's end. */
	int (*end)(void *state, struct sonde_plugin_run *run);
	void (*fini)(void *state);
};

struct sonde_plugin_state {
	const char *name;
	const char *colour; /* as of sonde_plugin_state_number() */
};

/* Instead of a state's number. */
#define SONDE_PLUGIN_NONE (-1) /* it has ended, or not begun */
#define SONDE_PLUGIN_SAME (-2) /* it stays what it is */
/* Of steps: bits of states, and one of what has none. */
#define SONDE_PLUGIN_FROM(state) (UINT64_C(1) << (state))
#define SONDE_PLUGIN_FROM_NONE   (UINT64_C(1) << 63)
#define SONDE_PLUGIN_FROM_ANY    UINT64_MAX
#define SONDE_PLUGIN_STATES      63

/* Of the steps that an event's row can take the first is taken. */
struct sonde_plugin_step {
	const char *when; /* an expression that is true of the event */
	uint64_t from;    /* from which states: bits */
	int to;           /* a state, or SONDE_PLUGIN_NONE */
	/* Says what it becomes, in place of `to`, or SONDE_PLUGIN_SAME: then
	 * further steps are tried. NULL: `to`. */
	int (*choose)(const struct sonde_event *event, int from);
};

struct sonde_plugin_machine {
	size_t size;
	const char *name, *summary;
	/* An expression, of whose values each has a row, called NAME VALUE. NULL:
	 * there is one, called NAME. Events without a value are none of its. */
	const char *per;
	const struct sonde_plugin_state *states;
	size_t nr_states; /* up to SONDE_PLUGIN_STATES */
	const struct sonde_plugin_step *steps;
	size_t nr_steps; /* up to 64 */
};

/* Lists end with NULL; NULL: there is none. */
struct sonde_plugin {
	uint32_t abi; /* SONDE_PLUGIN_ABI */
	uint32_t size;
	const struct sonde_plugin_report *const *reports;
	const struct sonde_plugin_rows *const *rows;
	const struct sonde_plugin_machine *const *machines;
};

/* The plug-in's; C++ takes it for a constant of the file otherwise. */
extern SONDE_PLUGIN_API const struct sonde_plugin sonde_plugin;

/* ---- for begin(): which events ---- */

SONDE_PLUGIN_API struct sonde_trace *
sonde_plugin_trace(const struct sonde_plugin_run *run);

/* What happens for an event. Not 0: a negative errno, which ends all. `data` is as
 * it was given. */
typedef int sonde_plugin_hook(void *state, struct sonde_plugin_run *run,
			      const struct sonde_event *event,
			      const void *data);

/*
 * Hooks are called in the order in which they were asked for. 0 or -ENOMEM; and
 * _on(), by the name of event classes, '*' and '?' stand for any: -ENOENT if there
 * is none in this trace. _on_filter(): -EINVAL, and what is wrong is kept for
 * whoever asked for the report, as by sonde_plugin_fail().
 */
SONDE_PLUGIN_API int sonde_plugin_on_class(struct sonde_plugin_run *run,
					   const struct sonde_event_class *cls,
					   sonde_plugin_hook *hook,
					   const void *data);
SONDE_PLUGIN_API int sonde_plugin_on(struct sonde_plugin_run *run,
				     const char *name, sonde_plugin_hook *hook,
				     const void *data);
SONDE_PLUGIN_API int sonde_plugin_on_filter(struct sonde_plugin_run *run,
					    const char *expression,
					    sonde_plugin_hook *hook,
					    const void *data);

/* Keeps in words why the trace won't do, for the user; the first ones count.
 * -EINVAL, to be returned. */
SONDE_PLUGIN_API SONDE_PLUGIN_PRINTF(2, 3) int sonde_plugin_fail(
	struct sonde_plugin_run *run, const char *format, ...);

/* ---- for hooks and end() of rows ---- */

/*
 * The number of the row that is called so, which may be a new one; of the first
 * 47 bytes. -E2BIG: there are too many, 1,024 in a view; -EINVAL: this is a
 * report's; -ENOMEM.
 */
SONDE_PLUGIN_API int sonde_plugin_row_number(struct sonde_plugin_run *run,
					     const char *name);
/*
 * The number of the counter that is called so, likewise: a row that has a value, of
 * this unit ("ms", "bytes"; of the first 15 bytes; NULL: none), and no states. A row
 * and a counter of one name: -EINVAL, and so is to enter a counter, or to count a
 * row.
 */
SONDE_PLUGIN_API int sonde_plugin_counter_number(struct sonde_plugin_run *run,
						 const char *name,
						 const char *unit);
/*
 * The number of a state: what is shown where it is, in a colour: "#rrggbb", or
 * blue, green, grey, orange, pink, red, sky, yellow (which can be told apart by
 * the colour-blind); NULL: one that is made of its name's. -E2BIG: there are too
 * many, 65,536; -EINVAL: such a colour there is not; -ENOMEM.
 */
SONDE_PLUGIN_API int sonde_plugin_state_number(struct sonde_plugin_run *run,
					       const char *name,
					       const char *colour);
/*
 * What the row was ends, and it is in that state (of which -E2BIG is one without
 * a name), or in none. Times of a row don't go back. A row of -E2BIG is left out,
 * and counted. Where events were lost that come from where its events come from,
 * a row ends by itself: whether it went on isn't known. 0 or -ENOMEM.
 */
SONDE_PLUGIN_API int sonde_plugin_enter(struct sonde_plugin_run *run, int row,
					int64_t time_ns, int state);
SONDE_PLUGIN_API int sonde_plugin_leave(struct sonde_plugin_run *run, int row,
					int64_t time_ns);
/* What the counter is from then on, until the next value or sonde_plugin_leave();
 * what isn't finite is not known. The rest as above. */
SONDE_PLUGIN_API int sonde_plugin_count(struct sonde_plugin_run *run,
					int counter, int64_t time_ns,
					double value);
/* What the counter is then; false: it isn't known, as events were lost since, or it
 * has not been counted yet. */
SONDE_PLUGIN_API bool sonde_plugin_counted(const struct sonde_plugin_run *run,
					   int counter, int64_t time_ns,
					   double *ret_value);
/* Which state the row is in then, a time of a hook's event; SONDE_PLUGIN_NONE: in
 * none, or it isn't known, as events were lost since. */
SONDE_PLUGIN_API int sonde_plugin_row_state(const struct sonde_plugin_run *run,
					    int row, int64_t time_ns);

/* ---- for end() of reports ---- */

/*
 * All memory is the report's. Functions that make something return NULL, or do
 * nothing to a NULL, if there is no memory: then there is no report, and sonde
 * says so; callers need not check each. Cells have units, so that a duration is
 * never printed as a bare number: text shows 1.25 ms, JSON 1250000 under a key
 * that ends in `_ns`.
 */
enum sonde_cell {
	SONDE_CELL_TEXT,
	SONDE_CELL_COUNT,    /* uint64_t */
	SONDE_CELL_INT,      /* int64_t: ids, priorities, differences */
	SONDE_CELL_HEX,      /* uint64_t: addresses */
	SONDE_CELL_BYTES,    /* int64_t */
	SONDE_CELL_DURATION, /* int64_t nanoseconds */
	SONDE_CELL_TIME,     /* int64_t nanoseconds since 1970 */
	SONDE_CELL_RATE,     /* double, per second */
	SONDE_CELL_PERCENT,  /* double: 1.0 is 100 % */
	SONDE_CELL_NUMBER,   /* double */
};

struct sonde_column {
	const char *key;   /* JSON, without unit: "wait" -> "wait_ns" */
	const char *title; /* text */
	enum sonde_cell cell;
};

struct sonde_table;

/* A table; title NULL: none. Columns are copied. */
SONDE_PLUGIN_API struct sonde_table *
sonde_report_table(struct sonde_report *report, const char *key,
		   const char *title, const struct sonde_column *columns,
		   size_t nr_columns);
/* Column i, if bit i is set, is among the first to be left out where a terminal
 * is too narrow for all; of these the last one first. JSON has all. */
SONDE_PLUGIN_API void sonde_table_minor(struct sonde_table *table,
					uint64_t columns);
/* Appends a row of empty cells; the setters fill the last row. An empty cell
 * is "-" in text and null in JSON. */
SONDE_PLUGIN_API void sonde_table_row(struct sonde_table *table);
SONDE_PLUGIN_API void sonde_table_text(struct sonde_table *table, size_t column,
				       const char *text);
SONDE_PLUGIN_API void sonde_table_textn(struct sonde_table *table,
					size_t column, const char *text,
					size_t length);
/* COUNT, HEX; INT, BYTES, DURATION, TIME; RATE, PERCENT, NUMBER. */
SONDE_PLUGIN_API void sonde_table_uint(struct sonde_table *table, size_t column,
				       uint64_t value);
SONDE_PLUGIN_API void sonde_table_int(struct sonde_table *table, size_t column,
				      int64_t value);
SONDE_PLUGIN_API void sonde_table_double(struct sonde_table *table,
					 size_t column, double value);
/* What part of all; of nothing, 0. */
SONDE_PLUGIN_API void sonde_table_share(struct sonde_table *table,
					size_t column, uint64_t part,
					uint64_t all);
/* Sorts rows by a column, stable. */
SONDE_PLUGIN_API void sonde_table_sort(struct sonde_table *table, size_t column,
				       bool descending);
/* Keeps the first rows; text says how many more there were. */
SONDE_PLUGIN_API void sonde_table_limit(struct sonde_table *table,
					size_t nr_rows);
/* So many more there were that have not even been appended. */
SONDE_PLUGIN_API void sonde_table_more(struct sonde_table *table,
				       size_t nr_rows);

/* A line of words; in JSON under notes. */
SONDE_PLUGIN_API SONDE_PLUGIN_PRINTF(2, 3) void sonde_report_note(
	struct sonde_report *report, const char *format, ...);

/* A single named value, e.g. "events" 1,234. */
SONDE_PLUGIN_API void sonde_report_value(struct sonde_report *report,
					 const char *key, const char *title,
					 enum sonde_cell cell, int64_t number,
					 double real, const char *text);

/* Counts per bin; bin i holds values from bounds[i] to below bounds[i + 1].
 * Drawn with one line per bin and a bar; `cell` says what the bounds are. */
SONDE_PLUGIN_API void sonde_report_histogram(struct sonde_report *report,
					     const char *key, const char *title,
					     enum sonde_cell cell,
					     const int64_t *bounds,
					     const uint64_t *counts,
					     size_t nr_bins);

#ifdef __cplusplus
}
#endif

#endif /* SONDE_PLUGIN_H */
