/* SPDX-License-Identifier: MIT */
/*
 * block.c - requests of block devices: inserted in a queue (not all are),
 * issued to the device, completed. A request is known by its device and first
 * sector; what is merged into it, before it is issued, is a part of it.
 */
#include "analysis/model/state.h"
#include "reader/reader.h"

/* By LTTng's bits. */
static enum sonde_request_sort sort_of_bits(int64_t bits)
{
	enum {
		WRITE = 0x1,
		DISCARD = 0x2,
		READ = 0x4,
		FLUSH = 0x100,
		PREFLUSH = 0x400,
	};

	if (bits & WRITE)
		return SONDE_REQUEST_WRITE;
	if (bits & DISCARD)
		return SONDE_REQUEST_DISCARD;
	if (bits & READ)
		return SONDE_REQUEST_READ;
	return bits & (FLUSH | PREFLUSH) ? SONDE_REQUEST_FLUSH :
					   SONDE_REQUEST_OTHER;
}

/* By the kernel's number of what is done, which is the flags' low byte. */
static enum sonde_request_sort sort_of_operation(int64_t flags)
{
	switch (flags & 0xff) {
	case 0:
		return SONDE_REQUEST_READ;
	case 1: /* anywhere */
	case 7: /* appended to a zone */
		return SONDE_REQUEST_WRITE;
	case 2:
		return SONDE_REQUEST_FLUSH;
	case 3: /* discard */
	case 5: /* discard for good */
		return SONDE_REQUEST_DISCARD;
	default:
		return SONDE_REQUEST_OTHER;
	}
}

static enum sonde_request_sort sort_of(const struct sonde_step *step,
				       uint64_t sectors)
{
	int64_t flags = step->numbers[BLOCK_FLAGS];
	enum sonde_request_sort sort = step->role == BLOCK_BY_FLAGS ?
					       sort_of_operation(flags) :
					       sort_of_bits(flags);

	return sort == SONDE_REQUEST_WRITE && !sectors ? SONDE_REQUEST_FLUSH :
							 sort;
}

static void begin_request(struct sonde_model *whole,
			  const struct sonde_step *step,
			  const struct sonde_key *key)
{
	size_t before = whole->requests.nr_entries;
	bool inserted = step->kind == SONDE_STEP_INSERT;
	struct sonde_model_request *request =
		sonde_model_put(whole, &whole->requests, key);
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
	request->sectors = (uint64_t)step->numbers[BLOCK_SECTORS];
	if (step->role == BLOCK_BY_FLAGS)
		request->sectors /= 512;
}

static void end_request(struct sonde_model *whole,
			const struct sonde_step *step,
			const struct sonde_key *key)
{
	struct sonde_model_request *request =
		sonde_hash_get(&whole->requests, key);
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_REQUEST,
		.cpu = step->cpu,
		.end_ns = step->time_ns,
		.request.device = (uint32_t)step->numbers[BLOCK_DEVICE],
		.request.queued_ns = -1,
	};

	if (!request)
		return;
	interval.tid = request->tid;
	interval.begin_ns = request->issue_ns;
	interval.request.sectors = request->sectors;
	interval.request.sort = sort_of(step, request->sectors);
	if (request->insert_ns != INT64_MIN)
		interval.request.queued_ns =
			sonde_elapsed_ns(request->insert_ns, request->issue_ns);
	if (request->issue_ns != INT64_MIN)
		sonde_model_emit(whole, step, &interval);
	sonde_hash_remove(&whole->requests, request);
}

void sonde_model_block_step(struct sonde_model *whole,
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
