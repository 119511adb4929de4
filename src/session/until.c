/* SPDX-License-Identifier: MIT */
#include "session/until.h"

#include <errno.h>
#include <stdlib.h>

/* Some hundred events for each CPU: more than one is of no use. */
#define MEMORY_BYTES (2u << 20)

struct sonde_until {
	struct sonde_kernel_sources set;
	uint32_t nr_started;
	bool has_happened;
};

int sonde_until_open(const struct sonde_kernel_config *config,
		     enum sonde_kernel_choice choice,
		     struct sonde_kernel_rules *rules,
		     struct sonde_kernel_error *error,
		     struct sonde_until **ret_until)
{
	struct sonde_until *until = calloc(1, sizeof(*until));
	struct sonde_kernel_config ours = *config;
	int rc;

	if (!until)
		return sonde_kernel_fail(error, -ENOMEM, "no memory left");
	ours.rules = rules;
	ours.mode = SONDE_DISCARD;
	ours.memory_bytes = MEMORY_BYTES;
	ours.subbuf_bytes = 0;
	/* Another name in the system than the recording's. */
	ours.session = ~config->session;
	rc = sonde_kernel_sources_open(&ours, choice, &until->set, error);
	if (rc) {
		free(until);
		return rc;
	}
	*ret_until = until;
	return 0;
}

int sonde_until_start(struct sonde_until *until, pid_t root,
		      struct sonde_kernel_error *error)
{
	for (uint32_t i = 0; i < until->set.nr; i++) {
		struct sonde_kernel_source *source = until->set.sources[i];
		int rc = source->ops->start(source, root, error);

		if (rc)
			return rc;
		until->nr_started++;
	}
	return 0;
}

/* A stream that contradicts itself has none. */
static bool stream_has_event(struct sonde_kernel_source *source, uint32_t i)
{
	struct sonde_ring_chunk chunk;

	while (source->ops->peek(source, i, &chunk) == 1) {
		if (chunk.size > 0)
			return true;
		/* Its events were not those that were asked for. */
		source->ops->advance(source, i, &chunk);
	}
	return false;
}

static bool has_event(struct sonde_kernel_source *source)
{
	uint32_t nr = source->ops->nr_streams(source);

	source->ops->tick(source);
	for (uint32_t i = 0; i < nr; i++)
		if (stream_has_event(source, i))
			return true;
	return false;
}

bool sonde_until_has_happened(struct sonde_until *until)
{
	for (uint32_t i = 0; !until->has_happened && i < until->nr_started; i++)
		until->has_happened = has_event(until->set.sources[i]);
	return until->has_happened;
}

void sonde_until_close(struct sonde_until *until)
{
	if (!until)
		return;
	while (until->nr_started) {
		struct sonde_kernel_source *source =
			until->set.sources[--until->nr_started];

		source->ops->stop(source);
	}
	sonde_kernel_sources_close(&until->set);
	free(until);
}
