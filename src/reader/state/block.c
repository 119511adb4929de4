/* SPDX-License-Identifier: MIT */
/*
 * block.c - requests of block devices: inserted in a queue (not all are),
 * issued to the device, completed. A request is known by its device and first
 * sector; what is merged into it, before it is issued, is a part of it.
 */
#include "reader/analyses/worst.h"
#include "reader/state/state.h"

static uint64_t sectors_of(const struct sonde_step *step)
{
	uint64_t size = (uint64_t)step->numbers[BLOCK_SECTORS];

	return step->role == BLOCK_BY_FLAGS ? size / 512 : size;
}

static bool is_write(const struct sonde_step *step)
{
	int64_t flags = step->numbers[BLOCK_FLAGS];

	return step->role == BLOCK_BY_FLAGS ? (flags & 0xff) == 1 : flags & 1;
}

static void begin_request(struct sonde_kernel *whole,
			  const struct sonde_step *step,
			  const struct sonde_key *key)
{
	size_t before = whole->requests.nr_entries;
	bool inserted = step->kind == SONDE_STEP_INSERT;
	struct sonde_kernel_request *request =
		sonde_kernel_put(whole, &whole->requests, key);
	bool is_new = whole->requests.nr_entries != before;

	if (!request)
		return;
	if (inserted)
		request->insert_ns = step->time_ns;
	else if (is_new)
		request->insert_ns = INT64_MIN;
	if (inserted || is_new)
		request->tid =
			(step->has >> BLOCK_TID) & 1 ?
				sonde_step_tid(step->numbers[BLOCK_TID]) :
				step->tid;
	request->issue_ns = inserted ? INT64_MIN : step->time_ns;
	request->sectors = sectors_of(step);
}

static void end_request(struct sonde_kernel *whole,
			const struct sonde_step *step,
			const struct sonde_key *key)
{
	struct sonde_kernel_request *request =
		sonde_hash_get(&whole->requests, key);
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_REQUEST,
		.cpu = step->cpu,
		.end_ns = step->time_ns,
		.request.device = (uint32_t)step->numbers[BLOCK_DEVICE],
		.request.write = is_write(step),
		.request.queued_ns = -1,
	};

	if (!request)
		return;
	interval.tid = request->tid;
	interval.begin_ns = request->issue_ns;
	interval.request.sectors = request->sectors;
	if (request->insert_ns != INT64_MIN)
		interval.request.queued_ns =
			sonde_elapsed_ns(request->insert_ns, request->issue_ns);
	if (request->issue_ns != INT64_MIN)
		sonde_kernel_emit(whole, step, &interval);
	sonde_hash_remove(&whole->requests, request);
}

void sonde_kernel_block_step(struct sonde_kernel *whole,
			     const struct sonde_step *step)
{
	struct sonde_key key =
		sonde_key_make(SONDE_KEY_UINT,
			       (uint64_t)step->numbers[BLOCK_SECTOR],
			       (uint32_t)step->numbers[BLOCK_DEVICE]);

	if (step->kind == SONDE_STEP_COMPLETE)
		end_request(whole, step, &key);
	else
		begin_request(whole, step, &key);
}
