/* SPDX-License-Identifier: MIT */
/*
 * counters_queue.c - how many requests each block device is busy with (counters.h):
 * from when they are issued until they, or a first part of them, are completed.
 *
 * A request is known by its device and first sector. One that was issued before the
 * trace began, or events were lost, is not known, nor is its completion.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/plugin/counters.h"
#include "analysis/plugin/run.h"
#include "base/hash.h"
#include "base/port.h"

#define REQUESTS ((size_t)7 << 14)
#define DEVICES  ((size_t)7 << 9)

enum {
	QUEUE_ISSUE = 1,
	QUEUE_END, /* completed, or back in a queue */
	QUEUE_NAME,
};

enum {
	QUEUE_DEVICE,
	QUEUE_SECTOR,
};

struct queue_request {
	struct sonde_key key;
};

struct queue_device {
	struct sonde_key key;
	char name[32]; /* "": not told */
};

struct queue_state {
	struct sonde_journal_binding *bindings;
	struct sonde_hash requests, devices;
	uint64_t epoch;
};

/* What a state dump says that a device is called. */
static int name_device(struct queue_state *state, uint64_t number,
		       const struct sonde_event *event)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, number, 0);
	struct queue_device *device;
	struct sonde_field field;
	struct sonde_value value;

	if (sonde_event_class_field(event->cls, SONDE_SCOPE_PAYLOAD, "diskname",
				    &field) ||
	    sonde_event_value(event, &field, &value) ||
	    value.kind != SONDE_KIND_STRING)
		return 0;
	device = sonde_hash_put(&state->devices, &key);
	if (device)
		(void)snprintf(device->name, sizeof(device->name), "%.*s",
			       (int)(value.length < 31 ? value.length : 31),
			       value.text);
	return device || sonde_hash_error(&state->devices) == -E2BIG ? 0 :
								       -ENOMEM;
}

static int take_queue(const struct queue_state *state,
		      struct sonde_plugin_run *run, uint64_t number)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, number, 0);
	const struct queue_device *device =
		sonde_hash_get(&state->devices, &key);
	char name[48];

	/* the kernel's own form of device numbers: 12 bits and 20 */
	if (device && device->name[0])
		(void)snprintf(name, sizeof(name), "queue of %s", device->name);
	else
		(void)snprintf(name, sizeof(name),
			       "queue of %" PRIu32 ":%" PRIu32,
			       (uint32_t)number >> 20,
			       (uint32_t)number & 0xfffff);
	return sonde_plugin_counter_number(run, name, "requests");
}

/* By how many the requests become more; -ENOMEM. */
static int play_request(struct queue_state *state, uint32_t op,
			const uint64_t *words, int *ret_change)
{
	struct sonde_key key =
		sonde_key_make(SONDE_KEY_UINT, words[QUEUE_SECTOR],
			       (uint32_t)words[QUEUE_DEVICE]);
	size_t before = state->requests.nr_entries;
	struct queue_request *request;

	if (op == QUEUE_ISSUE) {
		request = sonde_hash_put(&state->requests, &key);
		if (!request && sonde_hash_error(&state->requests) != -E2BIG)
			return -ENOMEM;
	} else {
		request = sonde_hash_get(&state->requests, &key);
		if (request)
			sonde_hash_remove(&state->requests, request);
	}
	*ret_change = (int)(state->requests.nr_entries - before);
	return 0;
}

static int queue_hook(void *memory, struct sonde_plugin_run *run,
		      const struct sonde_event *event, const void *data)
{
	struct queue_state *state = memory;
	uint64_t words[SONDE_JOURNAL_WORDS];
	uint32_t op = sonde_journal_words(state->bindings, event, words);
	uint64_t epoch = sonde_plugin_epoch(run);
	int change = 0;
	int err;

	(void)data;
	if (op == QUEUE_NAME)
		return name_device(state, words[QUEUE_DEVICE], event);
	if (!op)
		return 0;
	if (epoch != state->epoch) {
		sonde_hash_fini(&state->requests);
		sonde_hash_init(&state->requests, sizeof(struct queue_request),
				REQUESTS);
		state->epoch = epoch;
	}
	err = play_request(state, op, words, &change);
	return err ? err :
		     sonde_plugin_counter_add(
			     run, take_queue(state, run, words[QUEUE_DEVICE]),
			     event, change);
}

static int queue_begin(void *memory, const void *config,
		       struct sonde_plugin_run *run)
{
	static const struct sonde_journal_form forms[] = {
		{ "block_rq_issue", QUEUE_ISSUE, { "dev", "sector" } },
		{ "block_rq_requeue", QUEUE_END, { "dev", "sector" } },
		{ "block_rq_complete", QUEUE_END, { "dev", "sector" } },
		{ "lttng_statedump_block_device", QUEUE_NAME, { "dev" } },
		{ "block:block_rq_issue", QUEUE_ISSUE, { "dev", "sector" } },
		{ "block:block_rq_requeue", QUEUE_END, { "dev", "sector" } },
		{ "block:block_rq_complete", QUEUE_END, { "dev", "sector" } },
	};
	struct queue_state *state = memory;

	(void)config;
	if (!sonde_plugin_counter_has(sonde_plugin_trace(run),
				      "*block_rq_complete") ||
	    !sonde_plugin_counter_has(sonde_plugin_trace(run),
				      "*block_rq_issue"))
		return -ENODATA;
	sonde_hash_init(&state->requests, sizeof(struct queue_request),
			REQUESTS);
	sonde_hash_init(&state->devices, sizeof(struct queue_device), DEVICES);
	return sonde_plugin_counter_on_all(run, forms, SONDE_ARRAY_SIZE(forms),
					   queue_hook, &state->bindings);
}

static void queue_fini(void *memory)
{
	struct queue_state *state = memory;

	sonde_hash_fini(&state->requests);
	sonde_hash_fini(&state->devices);
	free(state->bindings);
}

const struct sonde_plugin_rows sonde_plugin_counter_queue = {
	.size = sizeof(sonde_plugin_counter_queue),
	.name = "queue",
	.summary = "requests that block devices are busy with",
	.state_bytes = sizeof(struct queue_state),
	.begin = queue_begin,
	.fini = queue_fini,
};
