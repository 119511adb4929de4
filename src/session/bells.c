/* SPDX-License-Identifier: MIT */
/*
 * bells.c - a slot that counts, beside the one that records (bells.h).
 *
 * It is a source of its own, with an open file of its own: locks of slots are of
 * open files. A name is asked for when its event has happened, once.
 */
#include "session/bells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/config.h"
#include "session/gains.h"
#include "types/desc.h"

struct sonde_bell {
	struct sonde_arena_source *source;
	struct sonde_gains gains; /* of providers, with their names behind */
	uint64_t room[SONDE_DESC_MAX / 8];
};

static int bell_start(struct sonde_bell *bell)
{
	struct sonde_source *base = sonde_arena_source_base(bell->source);
	struct sonde_source_error none;
	int rc = sonde_gains_begin(&bell->gains,
				   sonde_arena_source_view(bell->source));

	return rc ? rc : base->ops->start(base, 0, &none);
}

static int bell_claim(const struct sonde_bell_config *config,
		      struct sonde_arena_source *recorded,
		      struct sonde_bell *bell)
{
	struct sonde_budget budget = {
		.total_bytes = UINT64_MAX / 2,
		.nr_possible = config->nr_cpus,
		.nr_online = config->nr_cpus,
		.mode = SONDE_COUNT,
	};
	struct sonde_arena_source_config ours = {
		.setup = { .mode = SONDE_COUNT,
			   .header = SONDE_LARGE,
			   .clock = config->clock,
			   .session = config->session,
			   .loglevel = SONDE_LOGLEVEL_ALL,
			   .rules = config->rules,
			   .rules_size = config->rules_size },
		.id = config->id,
		.pid = sonde_arena_source_pid(recorded),
		.name = sonde_arena_source_name(recorded),
	};
	struct sonde_arena_view view;
	int rc = sonde_arena_source_reopen(recorded, &view);

	if (rc)
		return rc;
	rc = sonde_budget_take(&budget, view.lanes_only, &ours.setup.geometry);
	if (!rc)
		rc = sonde_arena_source_new(&ours, &view, &bell->source);
	sonde_arena_close(&view); /* what wasn't taken over */
	return rc;
}

int sonde_bell_new(const struct sonde_bell_config *config,
		   struct sonde_arena_source *recorded,
		   struct sonde_bell **ret_bell)
{
	struct sonde_bell *bell = calloc(1, sizeof(*bell));
	int rc = bell ? bell_claim(config, recorded, bell) : -ENOMEM;

	if (!rc)
		rc = bell_start(bell);
	if (rc)
		sonde_bell_free(bell);
	else
		*ret_bell = bell;
	return rc;
}

/* NULL: it has none (yet). */
static const char *bell_provider(struct sonde_bell *bell, uint32_t index)
{
	struct sonde_gain *gain = &bell->gains.entries[index];
	const struct sonde_desc *desc;
	char *names;

	if (!gain->of &&
	    !sonde_arena_copy_desc(sonde_arena_source_view(bell->source), index,
				   bell->room, &desc) &&
	    asprintf(&names, "%s%c%s", sonde_desc_provider(desc), '\0',
		     sonde_desc_name(desc)) >= 0)
		gain->of = names;
	return gain->of;
}

void sonde_bell_look(struct sonde_bell *bell,
		     void (*rung)(void *ctx, const char *provider,
				  const char *name, uint64_t nr),
		     void *ctx)
{
	if (sonde_gains_look(&bell->gains,
			     sonde_arena_source_view(bell->source)))
		return; /* the next look has it all */
	for (uint32_t i = 0; i < bell->gains.nr; i++) {
		uint64_t nr = sonde_gains_new(&bell->gains, i);
		const char *provider = nr ? bell_provider(bell, i) : NULL;

		if (!provider)
			continue;
		bell->gains.entries[i].told += nr;
		rung(ctx, provider, provider + strlen(provider) + 1, nr);
	}
}

static bool is_request(struct sonde_arena_view *view, uint32_t index)
{
	uint64_t room[SONDE_DESC_MAX / 8];
	const struct sonde_desc *desc;

	return !sonde_arena_copy_desc(view, index, room, &desc) &&
	       !strcmp(sonde_desc_provider(desc), SONDE_BELL_ASKED);
}

uint64_t sonde_bell_nr_missed(const struct sonde_bell *bell)
{
	return sonde_arena_nr_contended(sonde_arena_source_view(bell->source));
}

void sonde_bell_free(struct sonde_bell *bell)
{
	struct sonde_source *base;

	if (!bell)
		return;
	if (bell->source) {
		base = sonde_arena_source_base(bell->source);
		base->ops->stop(base);
		base->ops->close(base);
	}
	for (uint32_t i = 0; i < bell->gains.nr; i++)
		free(bell->gains.entries[i].of);
	sonde_gains_fini(&bell->gains);
	free(bell);
}

bool sonde_bell_search(struct sonde_bell_search *search,
		       struct sonde_arena_source *recorded)
{
	struct sonde_arena_view *view = sonde_arena_source_view(recorded);
	uint32_t nr_events = sonde_arena_nr_events(view);
	uint32_t nr = sonde_arena_nr_entries(view);
	uint64_t left = view->desc_bytes_left;
	uint32_t from = nr;
	bool is_found = false;

	if (nr_events == search->nr_events)
		return false;
	search->nr_events = nr_events;
	/* Looked at here, they don't count for those that the trace needs. */
	view->desc_bytes_left = view->ask_bytes_left;
	for (uint32_t i = search->from; i < nr && !is_found; i++) {
		if (sonde_arena_is_event(view, i))
			is_found = is_request(view, i);
		else if (i < from)
			from = i; /* it may become one */
	}
	view->ask_bytes_left = view->desc_bytes_left;
	view->desc_bytes_left = left;
	search->from = from;
	return is_found;
}
