/* SPDX-License-Identifier: MIT */
/*
 * names.h - the names of code addresses in traces of programs: function, file
 * and line, and where there is no name, why not.
 *
 * A trace says which files were mapped in which image (sonde:mappings,
 * sonde:mapping; docs/trace-format.md), and since when: a look finds what was
 * mapped at some time since the look before. So
 *
 *  1. before an image's first look, what that found was there already;
 *  2. between two looks, a file may be there that the second one found; if
 *     another one was at the same address before, which of them can't be known;
 *  3. an address that is used from one time to another has a name only if the
 *     same bytes of the same file were there all the time.
 *
 * Nothing is read before the first question, of mappings or of files; each
 * address is looked up once. Of a trace that is read part by part
 * (reader/follow.h) each part is read as it comes, and what was known before
 * stays known. The files are those of the machine where the trace
 * is read, found by path and checked by build-id (reader/symbols.h), in a process
 * of their own (namer.h).
 *
 * Memory: 64 bytes for each mapping in the trace, 64 and its texts for each
 * address. Any thread; one at a time gets an answer.
 */
#ifndef READER_NAMES_NAMES_H
#define READER_NAMES_NAMES_H

#include <stdint.h>

#include <sonde/trace.h>

#include "reader/names/kernel.h"
#include "reader/names/namer.h"
#include "reader/names/stacks.h"

struct sonde_names;

/* NULL without memory. The trace is borrowed, and may be
 * closed before these are freed. */
struct sonde_names *sonde_names_new(struct sonde_trace *trace);
/* NULL is fine. */
void sonde_names_free(struct sonde_names *names);

/*
 * The trace's next part, or the first one: what it tells is added, and questions
 * are about its events from then on. All is forgotten if sources have other
 * places than in the part before. 0 or -ENOMEM. One thread, here and for all
 * questions; it may wait for any child of its own without seeing ours.
 */
int sonde_names_follow(struct sonde_names *names, struct sonde_trace *part);

/* Of what runs below all images; NULL of NULL. */
struct sonde_names_kernel *sonde_names_kernel(struct sonde_names *names);

/* Whether the trace says which files were mapped. NULL: no. */
bool sonde_names_has_mappings(const struct sonde_names *names);

/* Of which image an event is: a number for sonde_names_code(). */
uint64_t sonde_names_image(const struct sonde_event *event);
/* Such a number of a process, of which a kernel's trace tells. */
uint64_t sonde_names_process(const struct sonde_source *source, uint64_t pid);

struct sonde_names_place {
	uint64_t image;
	uint64_t address;
	int64_t from_ns, to_ns; /* when it was used */
	/* It is where a call returns to: what is wanted is the call. */
	bool is_return;
};

/* All texts are the names', "" where nothing is known. */
struct sonde_name {
	/* "parse at json.c:120", "parse+0x14 in libjson.so.5",
	 * "libjson.so.5+0x1234 (stripped)", "unknown (...)". */
	const char *text;
	const char *function, *file, *module;
	const char *lack; /* why there is no function */
	uint32_t line;    /* 0: not known */
};

/* NULL without memory. An address of the kernel's is looked up in its list, of
 * whatever image. */
const struct sonde_name *
sonde_names_code(struct sonde_names *names,
		 const struct sonde_names_place *place);

/* "cache_lock", "table+0x40": the variable at the address, by the symbols of the
 * file that was mapped below it all the time. NULL: none is known. */
const char *sonde_names_variable(struct sonde_names *names,
				 const struct sonde_names_place *place);

/* Of the event's field `caller`, which allocations and locks have: where a call
 * returns to. NULL: it has none. */
const struct sonde_name *sonde_names_caller(struct sonde_names *names,
					    const struct sonde_event *event);

/*
 * Of a number that an event has as a field of that name, if it is the address of
 * code: of the kernel's in events of that, where a call returns to as
 * sonde_names_caller() has it. NULL: it is none, nothing is known of it, or
 * names is NULL.
 */
const struct sonde_name *sonde_names_field(struct sonde_names *names,
					   const struct sonde_event *event,
					   const char *field, uint64_t number);
/* Whether fields of that name may have one, of that kind of event. */
bool sonde_names_may_name(const struct sonde_names *names,
			  const struct sonde_event_class *cls,
			  const char *field);

/* Whether the trace has call stacks. NULL: no. */
bool sonde_names_has_stacks(const struct sonde_names *names);

/* The event's; NULL: it has none, or the trace doesn't say which. */
const struct sonde_names_stack *
sonde_names_stack(struct sonde_names *names, const struct sonde_event *event);

/* By number, of an image's events. */
const struct sonde_names_stack *
sonde_names_stack_number(struct sonde_names *names, uint64_t image,
			 uint32_t number);

/* Of its frame `frame`, where the event was. NULL without memory. */
const struct sonde_name *sonde_names_frame(struct sonde_names *names,
					   const struct sonde_event *event,
					   uint64_t frame);

#endif /* READER_NAMES_NAMES_H */
