/* SPDX-License-Identifier: MIT */
/*
 * journal.h - what a state machine needs of a trace, in the order of time.
 *
 * Some reports can't be made from sums of slices: how many bytes were in use
 * at a moment depends on all that came before. They are made in two stages.
 * All CPUs decode slices of the trace, each into a journal: one small entry
 * for each event that matters, with the values that matter. Merging then replays
 * a journal, entry by entry, to the one state machine, which thus always sees
 * the whole trace in order, however it was sliced.
 *
 * Which events those are, and which of their fields, is a table of forms; they
 * are looked up once for each event class.
 *
 * Memory: 64 bytes for each event that matters, of as many slices as there are
 * at a time; sonde_journal_run() keeps slices small for that.
 */
#ifndef ANALYSIS_REPORTS_JOURNAL_H
#define ANALYSIS_REPORTS_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"

#define SONDE_JOURNAL_WORDS 4

struct sonde_journal_form {
	const char *event;
	uint32_t op; /* the state machine's name for it; not 0 */
	/* NULL: none; "@NAME": it is the clock's counter before the event, which
	 * makes since_ns. */
	const char *fields[SONDE_JOURNAL_WORDS];
};

struct sonde_journal_entry {
	int64_t time_ns;
	int64_t since_ns; /* by a field, or the event's time */
	uint64_t words[SONDE_JOURNAL_WORDS]; /* the fields; 0 if not there */
	uint64_t image; /* whose addresses are in it: names/names.h */
	int32_t tid, pid;
	uint32_t op;
	uint32_t stack; /* the number of its call stack; 0: none */
};

/* An event class's form, and where its fields are; opaque. */
struct sonde_journal_binding;

/* One for each event class of the trace, to be freed by free(); NULL without
 * memory. */
struct sonde_journal_binding *
sonde_journal_bind(const struct sonde_trace *trace,
		   const struct sonde_journal_form *forms, size_t nr_forms);
/* Whether a class, by its index, has a form and all of its fields. */
bool sonde_journal_has(const struct sonde_journal_binding *bindings,
		       size_t cls);
/* The words alone, of a class that has all of them: the op; 0: it hasn't. */
uint32_t sonde_journal_words(const struct sonde_journal_binding *bindings,
			     const struct sonde_event *event,
			     uint64_t ret_words[SONDE_JOURNAL_WORDS]);
/* The event's entry; false: its class has no form. */
bool sonde_journal_read(const struct sonde_journal_binding *bindings,
			const struct sonde_event *event,
			struct sonde_journal_entry *ret_entry);

struct sonde_journal_config {
	const struct sonde_journal_form *forms;
	size_t nr_forms;
	/* The state machine's next step: 0 or a negative errno. */
	int (*replay)(void *ctx, const struct sonde_journal_entry *entry);
	void *ctx;
};

/* Replays all events that have a form. */
int sonde_journal_run(const struct sonde_analysis_args *args,
		      const struct sonde_journal_config *config);

#endif /* ANALYSIS_REPORTS_JOURNAL_H */
