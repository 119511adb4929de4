/* SPDX-License-Identifier: MIT */
/*
 * recorder_chunks.c - see recorder_parts.h: a trace in chunks, each of which can
 * be read alone.
 *
 * The trace's directory has a directory for each chunk, chunk-000001 and so on,
 * of which the last is being written; with kernel events there are two traces in it,
 * which end together. A chunk is a trace as any other, with an
 * account of its own: its packets are numbered from 0, and what they say was
 * discarded was discarded since the chunk before. All have the clock that was
 * known at the beginning, so that times of different chunks compare.
 *
 * Ending one is a turn of the session (session/session.h) to a new trace, which
 * gets what a snapshot gets: the state as it is now. Until each stream has turned,
 * two chunks are written:
 *
 *	written -> turning -> ended
 *	           written -> ...
 *
 * A chunk that has ended may be compressed (recorder_packer.c); then its bytes are
 * looked at once more.
 *
 * A directory becomes visible, by a rename, when its metadata are there, and is
 * hidden again before anything is removed from it, so what can be seen can be
 * read, whenever we are killed.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/time.h"
#include "session/chunk.h"

#define TURN_LOOK_NS 1000000ull
#define TRY_AGAIN_NS 1000000000ull

/* ---- what is written ---- */

/* Of the traces that go on, or of those that end. */
struct written {
	uint64_t recorded, bytes;
	int disk_error;
};

static struct written
sum_up(const struct sonde_session *session,
       struct sonde_output *(*get)(const struct sonde_session *session,
				   enum sonde_ctf_domain domain))
{
	static const enum sonde_ctf_domain domains[] = {
		SONDE_CTF_PROGRAMS,
		SONDE_CTF_KERNEL,
	};
	struct written sum = { .recorded = 0 };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(domains); i++) {
		const struct sonde_output *output = get(session, domains[i]);

		if (!output->trace)
			continue;
		sum.recorded += output->recorded;
		sum.bytes += output->bytes;
		if (output->disk_error)
			sum.disk_error = output->disk_error;
	}
	return sum;
}

/* ---- removal ---- */

/* False: not yet, as it is being packed. */
static bool remove_oldest(struct sonde_recorder *r)
{
	struct sonde_recorder_chunks *chunks = r->chunks;
	struct sonde_recorder_chunk *oldest = &chunks->kept[0];

	if (!sonde_recorder_packer_give_up(chunks->packer, oldest->nr))
		return false;
	/* Somebody else may have done so. */
	(void)sonde_chunk_remove(r->config->dir, oldest->nr);
	chunks->nr_gone++;
	chunks->gone_events += oldest->recorded;
	chunks->kept_bytes -= oldest->bytes;
	memmove(oldest, oldest + 1, --chunks->nr_kept * sizeof(*oldest));
	return true;
}

/* The one that is written counts, and the last one that has ended stays, however
 * much it has. */
static bool are_too_many(const struct sonde_recorder *r)
{
	const struct sonde_session_config *config = r->config->session;
	const struct sonde_recorder_chunks *chunks = r->chunks;
	uint64_t bytes = chunks->kept_bytes + chunks->last_bytes;

	if (r->session)
		bytes += sum_up(r->session, sonde_session_output).bytes;

	if (chunks->nr_kept < SONDE_KEEP_MIN)
		return false;
	return (config->keep_chunks &&
		chunks->nr_kept >= config->keep_chunks) ||
	       (config->keep_bytes && bytes > config->keep_bytes);
}

static void remove_surplus(struct sonde_recorder *r)
{
	while (are_too_many(r) && remove_oldest(r))
		;
}

/* Counts chunks that were packed since the last call by what they have now. */
static void measure_packed(struct sonde_recorder *r)
{
	struct sonde_recorder_chunks *chunks = r->chunks;
	uint32_t packed = sonde_recorder_packer_packed(chunks->packer);
	char name[SONDE_CHUNK_NAME_ROOM];

	for (size_t i = 0; packed > chunks->nr_measured && i < chunks->nr_kept;
	     i++) {
		struct sonde_recorder_chunk *chunk = &chunks->kept[i];

		if (chunk->nr <= chunks->nr_measured || chunk->nr > packed)
			continue;
		sonde_chunk_name(chunk->nr, false, name);
		chunks->kept_bytes -= chunk->bytes;
		chunk->bytes = sonde_chunk_bytes(r->config->dir, name);
		chunks->kept_bytes += chunk->bytes;
	}
	chunks->nr_measured = packed;
}

/* ---- a chunk's life ---- */

/* In a new directory, hidden at first. */
static int open_chunk(struct sonde_recorder *r, uint32_t nr,
		      int (*make)(struct sonde_recorder *r, int dir,
				  const char *name))
{
	int top = r->config->dir;
	char hidden[SONDE_CHUNK_NAME_ROOM];
	char name[SONDE_CHUNK_NAME_ROOM];
	int dir;
	int rc;

	sonde_chunk_name(nr, false, name);
	sonde_chunk_name(nr, true, hidden);
	dir = sonde_directory_make_below(top, hidden, false);
	if (dir < 0)
		return dir;
	rc = make(r, dir, name);
	(void)close(dir); /* the trace has its own */
	if (!rc && renameat(top, hidden, top, name))
		rc = -errno;
	if (rc)
		sonde_chunk_remove_hidden(top, hidden);
	return rc;
}

static int make_first(struct sonde_recorder *r, int dir, const char *name)
{
	return sonde_recorder_open_traces(r, r->session, dir, name);
}

int sonde_recorder_start_chunks(struct sonde_recorder *r)
{
	r->chunks = calloc(1, sizeof(*r->chunks));
	if (!r->chunks)
		return -ENOMEM;
	r->chunks->nr = 1;
	r->chunks->begin_ns = sonde_monotonic_ns();
	if (r->config->session->compresses) {
		r->chunks->packer = sonde_recorder_packer_new(r->config->dir);
		if (!r->chunks->packer)
			return -ENOMEM;
	}
	return open_chunk(r, 1, make_first);
}

/* What it has not, the next publishing writes. */
static void sync_metadata(const struct sonde_output *output)
{
	if (output->trace)
		(void)sonde_ctf_trace_sync(output->trace);
}

/* The state is in the metadata's trace before anything else is. */
static int turn_to_chunk(struct sonde_recorder *r, int dir, const char *name)
{
	int opened = sonde_recorder_open_traces(r, r->session, dir, name);
	int rc = sonde_session_turn(r->session, !opened);

	if (opened || rc)
		return opened ? opened : rc;
	if (sonde_recorder_programs(r)->trace) {
		r->ending = r->state;
		sonde_recorder_copy_state(r, r->session, &r->state);
	}
	if (r->kernel)
		sonde_session_kernel_turned(r->kernel);
	sync_metadata(sonde_recorder_programs(r));
	sync_metadata(sonde_session_output(r->session, SONDE_CTF_KERNEL));
	return 0;
}

static void begin_turn(struct sonde_recorder *r)
{
	struct sonde_recorder_chunks *chunks = r->chunks;
	uint64_t now = sonde_monotonic_ns();

	chunks->again_ns = now + TRY_AGAIN_NS;
	/* What was emitted before anybody asked is in the chunk that ends, also
	 * if it begins a sub-buffer. */
	sonde_recorder_read(r);
	chunks->error = open_chunk(r, chunks->nr + 1, turn_to_chunk);
	if (chunks->error) {
		if (r->named && chunks->asked == chunks->nr)
			sonde_recorder_tell_chunk(r, NULL, chunks->error);
		chunks->asked = 0;
		return;
	}
	chunks->is_turning = true;
	chunks->begin_ns = now;
	/* Else it is after a failure that another try has to wait. */
	if (!sum_up(r->session, sonde_session_ending).disk_error)
		chunks->again_ns = 0;
	chunks->nr++;
}

/* All that belongs to the chunk is in it; what is told of processes that run is
 * as it is now. */
static void tell_ending(struct sonde_recorder *r)
{
	struct sonde_recorder_state *ending = &r->ending;

	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++) {
		const struct sonde_arena_source *source = r->programs[i].source;

		if (!source || r->programs[i].pidfd < 0)
			continue;
		sonde_recorder_look_at(ending->roster, &r->programs[i]);
		sonde_recorder_tell_code(ending, source);
	}
	sonde_recorder_close_state(ending);
	if (r->kernel)
		sonde_session_kernel_end_turn(r->kernel);
}

static void end_turn(struct sonde_recorder *r)
{
	struct sonde_recorder_chunks *chunks = r->chunks;
	struct sonde_recorder_chunk chunk = { .nr = chunks->nr - 1 };
	char name[SONDE_CHUNK_NAME_ROOM];
	int rc;

	tell_ending(r);
	chunk.recorded = sum_up(r->session, sonde_session_ending).recorded;
	rc = sonde_session_end_turn(r->session);
	if (rc && !r->summary.disk_error)
		r->summary.disk_error = rc;
	sonde_chunk_name(chunk.nr, false, name);
	chunk.bytes = sonde_chunk_bytes(r->config->dir, name);
	chunks->is_turning = false;
	/* Without memory for it, it stays. */
	if (!SONDE_GROW(chunks->kept, chunks->nr_kept, chunks->capacity)) {
		chunks->kept[chunks->nr_kept++] = chunk;
		chunks->kept_bytes += chunk.bytes;
	}
	sonde_recorder_packer_end(chunks->packer, chunk.nr);
	remove_surplus(r);
	if (r->named)
		sonde_recorder_tell_chunk(r, &chunk, 0);
}

/* A chunk without events isn't worth ending. */
static bool is_chunk_due(const struct sonde_recorder *r)
{
	const struct sonde_session_config *config = r->config->session;
	const struct sonde_recorder_chunks *chunks = r->chunks;
	const struct written sum = sum_up(r->session, sonde_session_output);
	uint64_t now = sonde_monotonic_ns();

	if (chunks->asked == chunks->nr)
		return true;
	if (now < chunks->again_ns)
		return false;
	/* There may be room by now. */
	if (sum.disk_error)
		return true;
	if (!sum.recorded)
		return false;
	return (config->rotate_bytes && sum.bytes >= config->rotate_bytes) ||
	       (config->rotate_us &&
		now - chunks->begin_ns >= config->rotate_us * 1000);
}

void sonde_recorder_tend_chunks(struct sonde_recorder *r)
{
	struct sonde_recorder_chunks *chunks = r->chunks;
	uint64_t look_ns = sonde_monotonic_ns() + TURN_LOOK_NS;

	if (!chunks)
		return;
	if (!chunks->is_turning && is_chunk_due(r))
		begin_turn(r);
	if (chunks->is_turning && !sonde_session_is_turning(r->session))
		end_turn(r);
	if (chunks->is_turning && r->next_read_ns > look_ns)
		r->next_read_ns = look_ns;
	measure_packed(r);
	remove_surplus(r);
}

bool sonde_recorder_next_chunk(const struct sonde_recorder *r,
			       uint64_t *ret_next_ns)
{
	const struct sonde_recorder_chunks *chunks = r->chunks;
	uint64_t rotate_us = r->config->session->rotate_us;

	if (!chunks || chunks->is_turning)
		return false;
	*ret_next_ns = chunks->begin_ns + rotate_us * 1000;
	if (*ret_next_ns < chunks->again_ns)
		*ret_next_ns = chunks->again_ns;
	return rotate_us && sum_up(r->session, sonde_session_output).recorded;
}

/* ---- what is told ---- */

void sonde_recorder_end_chunks(struct sonde_recorder *r)
{
	struct sonde_recorder_chunks *chunks = r->chunks;

	if (!chunks)
		return;
	/* Their sources have gone. */
	if (chunks->is_turning)
		end_turn(r);
	remove_surplus(r);
	if (chunks->error)
		sonde_summary_note(&r->summary,
				   "a chunk could not be ended in time: %s",
				   strerrordesc_np(-chunks->error));
	chunks->last_bytes = sum_up(r->session, sonde_session_output).bytes;
}

void sonde_recorder_pack_chunks(struct sonde_recorder *r)
{
	struct sonde_recorder_chunks *chunks = r->chunks;

	if (!chunks)
		return;
	sonde_recorder_packer_end(chunks->packer, chunks->nr);
	sonde_recorder_packer_finish(chunks->packer, &r->summary);
	chunks->packer = NULL;
	/* Those that had to wait for the packer. */
	remove_surplus(r);
	if (chunks->kept && chunks->nr_gone)
		sonde_summary_note(&r->summary,
				   "%" PRIu64 " chunks with %" PRIu64
				   " events were removed, as --keep says; they "
				   "count as recorded",
				   chunks->nr_gone, chunks->gone_events);
	free(chunks->kept);
	chunks->kept = NULL;
	chunks->nr_kept = 0;
}
