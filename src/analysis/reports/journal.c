/* SPDX-License-Identifier: MIT */
/*
 * journal.c - slices decoded on all CPUs, replayed in order by one state machine
 * (journal.h).
 *
 * An entry is written when an event's class has a form; which of its fields the
 * class has is looked up once. Merging replays a part's entries in their order,
 * so they live as long as their slice.
 */
#include "analysis/reports/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "reader/names/names.h"
#include "reader/reader.h"

#define SLICE_BYTES ((uint64_t)1 << 20)

/* A form, bound to an event class. */
struct sonde_journal_binding {
	uint32_t op;    /* 0: of no interest */
	uint32_t found; /* a bit for each field that the class has */
	bool is_whole;  /* it has all of the form's */
	struct sonde_field fields[SONDE_JOURNAL_WORDS];
	struct sonde_field stack; /* without owner: it has none */
	struct sonde_field since; /* likewise */
};

struct plan {
	const struct sonde_journal_config *config;
	struct sonde_journal_binding *bindings; /* by event class */
};

struct part {
	const struct plan *plan;
	struct sonde_journal_entry *entries;
	size_t nr, capacity;
};

static void journal_bind(struct sonde_journal_binding *binding,
			 const struct sonde_journal_form *form,
			 const struct sonde_event_class *cls)
{
	binding->op = form->op;
	binding->is_whole = true;
	for (size_t i = 0; i < SONDE_JOURNAL_WORDS; i++) {
		const char *name = form->fields[i];
		bool is_clock = name && *name == '@';
		struct sonde_field *to =
			is_clock ? &binding->since : &binding->fields[i];

		if (!name)
			continue;
		if (sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD,
					    name + is_clock, to))
			binding->is_whole = false;
		else
			binding->found |= is_clock ? 0 : 1u << i;
	}
	if (sonde_event_class_field(cls, SONDE_SCOPE_EVENT_CONTEXT, "stack",
				    &binding->stack))
		binding->stack.owner = NULL;
}

struct sonde_journal_binding *
sonde_journal_bind(const struct sonde_trace *trace,
		   const struct sonde_journal_form *forms, size_t nr_forms)
{
	struct sonde_journal_binding *bindings =
		calloc(trace->nr_classes + 1, sizeof(*bindings));

	for (size_t i = 0; bindings && i < trace->nr_classes; i++)
		for (size_t k = 0; k < nr_forms; k++)
			if (!strcmp(trace->classes[i]->info.name,
				    forms[k].event))
				journal_bind(&bindings[i], &forms[k],
					     trace->classes[i]);
	return bindings;
}

static uint64_t word_of(const struct sonde_event *event,
			const struct sonde_field *field)
{
	struct sonde_value value;

	if (sonde_event_value(event, field, &value))
		return 0;
	switch (value.kind) {
	case SONDE_KIND_UINT:
	case SONDE_KIND_INT:
	case SONDE_KIND_BOOL:
	case SONDE_KIND_BITS:
		return value.u;
	case SONDE_KIND_FLOAT:
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_SEQUENCE:
	case SONDE_KIND_VARIANT:
	case SONDE_KIND_OPTIONAL:
		break;
	}
	return 0;
}

bool sonde_journal_has(const struct sonde_journal_binding *bindings, size_t cls)
{
	return bindings[cls].op && bindings[cls].is_whole;
}

static void journal_words(const struct sonde_journal_binding *binding,
			  const struct sonde_event *event,
			  uint64_t ret_words[SONDE_JOURNAL_WORDS])
{
	for (size_t i = 0; i < SONDE_JOURNAL_WORDS; i++)
		ret_words[i] = binding->found >> i & 1 ?
				       word_of(event, &binding->fields[i]) :
				       0;
}

uint32_t sonde_journal_words(const struct sonde_journal_binding *bindings,
			     const struct sonde_event *event,
			     uint64_t ret_words[SONDE_JOURNAL_WORDS])
{
	size_t cls = event->cls->info.index;

	if (!sonde_journal_has(bindings, cls))
		return 0;
	journal_words(&bindings[cls], event, ret_words);
	return bindings[cls].op;
}

bool sonde_journal_read(const struct sonde_journal_binding *bindings,
			const struct sonde_event *event,
			struct sonde_journal_entry *ret_entry)
{
	const struct sonde_journal_binding *binding =
		&bindings[event->cls->info.index];

	if (!binding->op)
		return false;
	*ret_entry = (struct sonde_journal_entry){
		.time_ns = event->time_ns,
		.since_ns = event->time_ns,
		.image = sonde_names_image(event),
		.tid = sonde_event_tid(event),
		.pid = sonde_event_pid(event),
		.op = binding->op,
	};
	journal_words(binding, event, ret_entry->words);
	if (binding->stack.owner)
		ret_entry->stack = (uint32_t)word_of(event, &binding->stack);
	if (binding->since.owner)
		ret_entry->since_ns = sonde_event_since_ns(
			event, word_of(event, &binding->since));
	return true;
}

/* ---- slices ---- */

static int part_begin(void *memory, const void *config, bool first)
{
	(void)first;
	((struct part *)memory)->plan = config;
	return 0;
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;

	if (SONDE_GROW(part->entries, part->nr, part->capacity))
		return -ENOMEM;
	part->nr += sonde_journal_read(part->plan->bindings, event,
				       &part->entries[part->nr]);
	return 0;
}

static int part_merge(void *whole, void *memory)
{
	const struct sonde_journal_config *config =
		((struct part *)whole)->plan->config;
	struct part *part = memory;
	int err = 0;

	for (size_t i = 0; !err && i < part->nr; i++)
		err = config->replay(config->ctx, &part->entries[i]);
	return err;
}

static void part_fini(void *memory)
{
	free(((struct part *)memory)->entries);
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

int sonde_journal_run(const struct sonde_analysis_args *args,
		      const struct sonde_journal_config *config)
{
	struct sonde_map_options options = args->map;
	struct plan plan = {
		.config = config,
		.bindings = sonde_journal_bind(args->trace, config->forms,
					       config->nr_forms),
	};
	struct part whole = { 0 };
	int err;

	if (!plan.bindings)
		return -ENOMEM;
	if (!options.slice_bytes)
		options.slice_bytes = SLICE_BYTES;
	err = sonde_map(args->trace, &options, &ops, &plan, &whole);
	part_fini(&whole);
	free(plan.bindings);
	return err;
}
