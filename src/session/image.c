/* SPDX-License-Identifier: MIT */
#include "session/image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/desc.h"
#include "ring/reader.h"
#include "session/outflow.h"
#include "sys/program.h"

#define NAME_MAX_CHARS  32
#define REWINDS_MAX     64
#define RESERVE_AT_ONCE (4u << 20)

struct image_ring {
	struct sonde_ring_reader reader;
	struct sonde_outflow flow;
	uint32_t nr_reserved; /* sub-buffers with memory, on the first lap */
};

struct sonde_image {
	struct sonde_recording *recording;
	struct sonde_arena_view view;
	uint32_t class_id;
	pid_t pid;
	bool broken;
	char name[NAME_MAX_CHARS];
	uint32_t nr_ids_seen; /* the arena's count before the last look */
	bool ids_pending;     /* ids without an entry at the last look */
	uint32_t nr_events;
	uint8_t event_known[SONDE_EVENTS_MAX];
	uint8_t id_taken[UINT16_MAX + 1];
	bool told_of_passing; /* that something was lost for want of means */
	uint64_t desc_room[SONDE_DESC_MAX / 8];
	uint32_t nr_rings;
	struct image_ring rings[];
};

static void give_up(struct sonde_image *image, const char *why)
{
	if (image->broken)
		return;
	image->broken = true;
	sonde_arena_stop(&image->view);
	sonde_summary_note(image->recording->summary,
			   "%s (pid %d) is not recorded any more: %s",
			   image->name, (int)image->pid, why);
}

/* Errors that are about what this process gave us, not about the trace. */
static bool is_its_own(int error)
{
	switch (error) {
	case -EPROTO:
	case -EINVAL:
	case -EFAULT:
	case -EMSGSIZE:
		return true;
	default:
		return false;
	}
}

/* Errors that end when other processes do. */
static bool is_passing(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

/* Something could not be written. The trace's files are given up only if they
 * themselves are the reason. */
static void write_failed(struct sonde_image *image, int error)
{
	struct sonde_recording *recording = image->recording;

	if (is_its_own(error))
		return;
	if (!is_passing(error)) {
		if (!recording->disk_error)
			recording->disk_error = error;
		recording->summary->disk_error = recording->disk_error;
		return;
	}
	if (!recording->summary->disk_error)
		recording->summary->disk_error = error;
	if (image->told_of_passing)
		return;
	image->told_of_passing = true;
	sonde_summary_note(recording->summary,
			   "%s (pid %d) is not recorded in full: %s",
			   image->name, (int)image->pid,
			   error == -ENOMEM ? "no memory left" :
					      "too many open files; raise "
					      "ulimit -n");
}

/* ---- events ---- */

/* Most programs run more than once: count an event of theirs once. */
static void count_event(struct sonde_recording *recording,
			const struct sonde_desc *desc)
{
	uint32_t bit = sonde_desc_hash(desc) % SONDE_SEEN_BITS;
	uint8_t mask = (uint8_t)(1u << bit % 8);

	if (recording->seen[bit / 8] & mask)
		return;
	recording->seen[bit / 8] |= mask;
	recording->summary->nr_event_types++;
}

/* -EPROTO: the process contradicts itself; -EAGAIN: look again later; other
 * errors are ours, or come from the disk. */
static int add_event(struct sonde_image *image, uint32_t index, uint32_t id)
{
	const struct sonde_desc *desc;
	int rc = sonde_arena_copy_desc(&image->view, index, image->desc_room,
				       &desc);

	if (rc)
		return rc;
	if (id >= SONDE_LARGE_ESCAPE || image->id_taken[id])
		return -EPROTO;
	/* What only a tracer's own tables may hold. */
	if (sonde_desc_is_reference(desc))
		return -EPROTO;
	rc = sonde_ctf_trace_add_event(image->recording->trace, image->class_id,
				       id, desc);
	if (rc)
		return rc;
	image->id_taken[id] = 1;
	image->event_known[index] = 1;
	image->nr_events++;
	count_event(image->recording, desc);
	return 0;
}

/* Tells the trace of all events that got an id since the last look. */
static int sync_events(struct sonde_image *image)
{
	uint32_t nr_ids = sonde_arena_nr_ids(&image->view);
	uint32_t nr;

	if (nr_ids == image->nr_ids_seen && !image->ids_pending)
		return 0;
	image->ids_pending = false;
	nr = sonde_arena_nr_entries(&image->view);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t id;
		int rc;

		if (image->event_known[i])
			continue;
		id = sonde_arena_event_id(&image->view, i);
		if (!id)
			continue;
		rc = add_event(image, i, id);
		if (rc == -EAGAIN)
			image->ids_pending = true;
		else if (rc)
			return rc;
	}
	/* Ids are handed out before they are entered: until all are there,
	 * look again. */
	if (image->nr_events < nr_ids)
		image->ids_pending = true;
	image->nr_ids_seen = nr_ids;
	return 0;
}

static void note_conflicts(struct sonde_image *image)
{
	uint32_t nr = sonde_arena_nr_entries(&image->view);

	for (uint32_t i = 0; i < nr; i++) {
		const struct sonde_desc *desc;

		if (!sonde_arena_entry_conflicts(&image->view, i) ||
		    sonde_arena_copy_desc(&image->view, i, image->desc_room,
					  &desc))
			continue;
		sonde_summary_note(
			image->recording->summary,
			"%s (pid %d): %s:%s has two different descriptions; "
			"the second (line %u) was refused: rename one",
			image->name, (int)image->pid, sonde_desc_provider(desc),
			sonde_desc_name(desc), sonde_desc_line(desc));
	}
}

/* ---- streams ---- */

/* Names of stream files are made of what any file system takes. */
static void clean_name(const char *text, char *out, size_t out_size)
{
	size_t n = 0;

	for (; *text && n + 1 < out_size; text++) {
		char c = *text;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '_' || c == '-' ||
			     (c == '.' && n);

		out[n++] = (char)(plain ? c : '_');
	}
	if (!n)
		out[n++] = '_';
	out[n] = '\0';
}

static int open_stream(struct sonde_image *image, uint32_t i)
{
	uint32_t nr_cpus = image->view.geometry.nr_cpus;
	char name[NAME_MAX_CHARS + 64];
	struct sonde_ctf_stream_config config = {
		.class_id = image->class_id,
		.cpu_id = i,
		.vpid = (uint32_t)image->pid,
		.instance = i,
		.name = name,
	};

	(void)snprintf(name, sizeof(name), "%s-%d-%u_%s%u", image->name,
		       (int)image->pid, image->class_id,
		       i < nr_cpus ? "cpu" : "lane",
		       i < nr_cpus ? i : i - nr_cpus);
	return sonde_ctf_stream_open(image->recording->trace, &config,
				     &image->rings[i].flow.stream);
}

/* What must be before a chunk of the ring can be appended. */
static int prepare(struct sonde_image *image, uint32_t i)
{
	int rc = sync_events(image);

	if (!rc && !image->rings[i].flow.stream)
		rc = open_stream(image, i);
	return rc;
}

/* ---- reading rings ---- */

static void reserve_ahead(struct sonde_image *image, uint32_t i)
{
	struct image_ring *ring = &image->rings[i];
	const struct sonde_geometry *geometry = &image->view.geometry;
	uint32_t most = RESERVE_AT_ONCE / geometry->subbuf_size;
	uint32_t nr;

	if (ring->nr_reserved >= geometry->nr_subbufs ||
	    ring->reader.seq - ring->reader.first + 2 < ring->nr_reserved)
		return;
	nr = ring->nr_reserved < 2 ? 2 : ring->nr_reserved;
	if (nr > most && most)
		nr = most;
	if (nr > geometry->nr_subbufs - ring->nr_reserved)
		nr = geometry->nr_subbufs - ring->nr_reserved;
	sonde_arena_reserve(&image->view, i, ring->nr_reserved, nr);
	ring->nr_reserved += nr;
}

/* Discard mode: the chunk goes to the trace, or is counted as lost. */
static void take_chunk(struct sonde_image *image, uint32_t i,
		       const struct sonde_ring_chunk *chunk)
{
	struct sonde_outflow *flow = &image->rings[i].flow;
	int rc = image->recording->disk_error;

	if (!rc && chunk->size) {
		rc = prepare(image, i);
		if (!rc)
			rc = sonde_outflow_append(flow, chunk);
		if (!rc)
			rc = sonde_outflow_publish(flow, chunk);
		if (rc)
			sonde_outflow_forget(flow);
		if (is_its_own(rc)) {
			give_up(image, "its event table makes no sense");
			return;
		}
		if (rc)
			write_failed(image, rc);
	}
	sonde_outflow_count(flow, chunk, !rc);
}

static uint64_t consume_ring(struct sonde_image *image, uint32_t i)
{
	struct image_ring *ring = &image->rings[i];
	uint64_t bytes = 0;

	/* Twice round at most: a writer faster than we are must not keep us
	 * from the other rings. */
	for (uint32_t n = 0; n < 2 * ring->reader.nr_subbufs; n++) {
		struct sonde_ring_chunk chunk;
		int rc = sonde_ring_peek(&ring->reader, &chunk);

		if (!rc)
			break;
		if (rc < 0 ||
		    !sonde_outflow_is_plausible(&ring->flow, &chunk)) {
			give_up(image, "it has damaged its trace memory");
			break;
		}
		sonde_outflow_count_gap(&ring->flow, &chunk);
		take_chunk(image, i, &chunk);
		if (image->broken)
			break;
		bytes += chunk.size;
		sonde_ring_advance(&ring->reader, &chunk);
		if (chunk.closed)
			sonde_ring_release(&ring->reader);
		reserve_ahead(image, i);
	}
	return bytes;
}

uint32_t sonde_image_consume(struct sonde_image *image)
{
	uint64_t capacity = sonde_geometry_ring_bytes(&image->view.geometry);
	uint64_t most = 0;

	for (uint32_t i = 0; i < image->nr_rings && !image->broken; i++) {
		uint64_t bytes = consume_ring(image, i);

		if (bytes > most)
			most = bytes;
	}
	most = most * 1000 / capacity;
	return most > 1000 ? 1000 : (uint32_t)most;
}

/* Overwrite mode: one chunk. 0; -ESTALE if the writer was faster. */
static int save_chunk(struct sonde_image *image, uint32_t i,
		      const struct sonde_ring_chunk *chunk)
{
	struct image_ring *ring = &image->rings[i];
	struct sonde_outflow *flow = &ring->flow;
	int rc = image->recording->disk_error;

	if (!rc && chunk->size) {
		rc = prepare(image, i);
		if (!rc)
			rc = sonde_outflow_append(flow, chunk);
		if (!rc && !sonde_ring_verify(&ring->reader, chunk)) {
			sonde_outflow_forget(flow);
			flow->in_packet = false;
			return -ESTALE;
		}
	}
	sonde_outflow_count_gap(flow, chunk);
	if (!rc && chunk->size)
		rc = sonde_outflow_publish(flow, chunk);
	if (is_its_own(rc))
		return -EPROTO;
	if (rc) {
		sonde_outflow_forget(flow);
		write_failed(image, rc);
	}
	sonde_outflow_count(flow, chunk, !rc);
	return 0;
}

/* Overwrite mode: the next chunk of a ring. 1; 0 at the end; -errno. */
static int save_next(struct sonde_image *image, uint32_t i)
{
	struct image_ring *ring = &image->rings[i];
	struct sonde_ring_chunk chunk;
	int rc = sonde_ring_peek(&ring->reader, &chunk);

	if (rc <= 0)
		return rc;
	if (!sonde_outflow_is_plausible(&ring->flow, &chunk))
		return -EPROTO;
	rc = save_chunk(image, i, &chunk);
	if (rc)
		return rc;
	sonde_ring_advance(&ring->reader, &chunk);
	return 1;
}

/* Overwrite mode: what is left in a ring, oldest first. */
static void save_ring(struct sonde_image *image, uint32_t i)
{
	struct image_ring *ring = &image->rings[i];
	uint32_t nr_rewinds = 0;
	uint32_t left = 4 * ring->reader.nr_subbufs;
	int rc = sonde_ring_rewind(&ring->reader);

	while (rc > 0 && left--) {
		rc = save_next(image, i);
		if (rc == -ESTALE && nr_rewinds++ < REWINDS_MAX)
			rc = sonde_ring_rewind(&ring->reader);
	}
	if (rc == -EPROTO)
		give_up(image, "it has damaged its trace memory");
}

/* ---- life ---- */

static void init_rings(struct sonde_image *image, uint64_t start)
{
	const struct sonde_geometry *geometry = &image->view.geometry;

	for (uint32_t i = 0; i < image->nr_rings; i++) {
		struct sonde_ring_reader *reader = &image->rings[i].reader;
		struct sonde_ring *ring = sonde_arena_ring(&image->view, i);
		unsigned char *data = sonde_arena_ring_data(&image->view, i);

		sonde_ring_reader_init(reader, ring, data,
				       geometry->subbuf_size,
				       geometry->nr_subbufs);
		if (image->view.is_resumed)
			sonde_ring_restart(reader, ring, data);
		image->rings[i].flow = (struct sonde_outflow){
			.recording = image->recording,
			.start = start,
			.next_seq = reader->first,
		};
	}
}

static struct sonde_image *allocate(struct sonde_recording *recording,
				    const struct sonde_image_config *config)
{
	uint32_t nr_rings = sonde_geometry_nr_rings(&config->geometry);
	struct sonde_image *image =
		calloc(1, sizeof(*image) + nr_rings * sizeof(image->rings[0]));

	if (!image)
		return NULL;
	image->recording = recording;
	image->class_id = config->class_id;
	image->pid = config->pid;
	image->nr_rings = nr_rings;
	clean_name(config->name, image->name, sizeof(image->name));
	return image;
}

int sonde_image_new(struct sonde_recording *recording,
		    const struct sonde_image_config *config,
		    struct sonde_arena_view *view,
		    struct sonde_image **ret_image)
{
	struct sonde_arena_setup setup = recording->setup;
	struct sonde_image *image = allocate(recording, config);
	uint64_t start = recording->now();
	char comment[NAME_MAX_CHARS + 32];
	int rc;

	if (!image)
		return -ENOMEM;
	/* a number that no other image of ours has */
	if (recording->filters)
		setup.filters = (uint64_t)config->class_id + 1;
	setup.geometry = config->geometry;
	setup.header = config->header;
	(void)snprintf(comment, sizeof(comment), "%s, pid %d", image->name,
		       (int)image->pid);
	rc = sonde_ctf_trace_add_class(recording->trace, image->class_id,
				       setup.header, comment);
	if (!rc)
		rc = sonde_arena_configure(view, &setup);
	if (rc) {
		free(image);
		return rc;
	}
	image->view = *view;
	*view = (struct sonde_arena_view){ .fd = -1 };
	init_rings(image, start);
	/* Of an earlier recording, events may still be on their way. */
	rc = image->view.is_resumed ? sync_events(image) : 0;
	if (rc) {
		sonde_arena_close(&image->view);
		free(image);
		return rc;
	}
	sonde_arena_begin(&image->view, &setup, image->desc_room);
	*ret_image = image;
	return 0;
}

int sonde_image_filter(struct sonde_image *image,
		       const struct sonde_filters_ask *ask, int *ret_fd)
{
	if (image->broken || !image->recording->filters ||
	    ask->filters != (uint64_t)image->class_id + 1)
		return -ENOENT;
	return sonde_filters_answer(image->recording->filters, &image->view,
				    ask, ret_fd);
}

bool sonde_image_is_over(const struct sonde_image *image)
{
	return sonde_arena_is_alone(&image->view);
}

bool sonde_image_is_broken(const struct sonde_image *image)
{
	return image->broken;
}

pid_t sonde_image_pid(const struct sonde_image *image)
{
	return image->pid;
}

uint32_t sonde_image_class(const struct sonde_image *image)
{
	return image->class_id;
}

bool sonde_image_is_arena(const struct sonde_image *image, dev_t dev, ino_t ino)
{
	return image->view.dev == dev && image->view.ino == ino;
}

const struct sonde_geometry *
sonde_image_geometry(const struct sonde_image *image)
{
	return &image->view.geometry;
}

/* Adds a ring to the summary, and ends its stream, if there is one or need to
 * be one; `extra` are events lost that no ring counted. */
static void finish_ring(struct sonde_image *image, uint32_t i, uint64_t extra)
{
	struct sonde_summary *summary = image->recording->summary;
	struct image_ring *ring = &image->rings[i];
	struct sonde_outflow *flow = &ring->flow;
	struct sonde_ring_totals totals = { 0 };
	uint64_t missing;
	int rc = 0;

	if (!image->broken)
		(void)sonde_ring_count(&ring->reader, &totals);
	summary->recorded += flow->recorded;
	summary->lost_full += totals.discarded_full;
	summary->lost_size += totals.discarded_size;
	summary->lost_overwritten += flow->overwritten;
	summary->lost_disk += flow->lost_disk;
	missing = sonde_outflow_missing(
		flow, totals.discarded_full + totals.discarded_size + extra);
	if (!flow->stream && missing)
		rc = open_stream(image, i);
	if (!rc)
		rc = sonde_outflow_close(flow, missing);
	if (rc)
		write_failed(image, rc);
}

/* It was let in, and found that it can't be recorded. */
static void note_unmapped(struct sonde_image *image)
{
	struct sonde_summary *summary = image->recording->summary;

	if (summary->nr_processes)
		summary->nr_processes--;
	summary->nr_refused++;
	sonde_summary_note(summary,
			   "%s (pid %d) is not recorded: its trace memory "
			   "can't be mapped there (mremap was denied: by "
			   "seccomp, or ulimit -v)",
			   image->name, (int)image->pid);
}

/* What the process says it could not take. */
static void note_refused(struct sonde_image *image)
{
	struct sonde_summary *summary = image->recording->summary;
	uint64_t refused = sonde_arena_nr_refused(&image->view);
	uint64_t late = sonde_arena_nr_late(&image->view);

	if (sonde_arena_nr_unreached(&image->view))
		sonde_summary_note(summary,
				   "%s (pid %d): %u of the processes that "
				   "share its trace memory could not map it, "
				   "and lose their events (mremap was denied: "
				   "by seccomp, or ulimit -v)",
				   image->name, (int)image->pid,
				   sonde_arena_nr_unreached(&image->view));
	if (sonde_arena_is_unmapped(&image->view))
		note_unmapped(image);
	else if (refused)
		sonde_summary_note(summary,
				   "%s (pid %d): %" PRIu64
				   " tracepoints were refused: malformed, more "
				   "than %u events, or their conditions could "
				   "not be had",
				   image->name, (int)image->pid, refused,
				   SONDE_EVENTS_MAX);
	if (late)
		sonde_summary_note(summary,
				   "%s (pid %d): %" PRIu64
				   " events got no identifier; select fewer "
				   "with -e",
				   image->name, (int)image->pid, late);
}

static const char *leave_reason(uint32_t why)
{
	switch (why) {
	case SONDE_LEAVE_CLOCK:
		return "it turned the time stamp counter off (PR_SET_TSC)";
	case SONDE_LEAVE_STRICT:
		return "it entered seccomp's strict mode, which turns the time "
		       "stamp counter off";
	case SONDE_LEAVE_MACHINE:
		return sonde_program_reason(SONDE_PROGRAM_MACHINE);
	case SONDE_LEAVE_LIBC:
		return sonde_program_reason(SONDE_PROGRAM_LIBC);
	case SONDE_LEAVE_SANITIZER:
		return sonde_program_reason(SONDE_PROGRAM_SANITIZER);
	case SONDE_LEAVE_ENVIRONMENT:
		return "it was started without LD_PRELOAD or SONDE_SESSION in "
		       "its environment";
	default:
		return NULL;
	}
}

static void note_leave(struct sonde_image *image,
		       const struct sonde_leave *leave)
{
	struct sonde_summary *summary = image->recording->summary;
	const char *reason = leave_reason(leave->why);
	char name[sizeof(leave->name)];

	if (!reason)
		return;
	if (leave->why == SONDE_LEAVE_CLOCK ||
	    leave->why == SONDE_LEAVE_STRICT) {
		sonde_summary_note(summary,
				   "%s (pid %u) is not recorded any more, nor "
				   "is who shares its memory by fork: %s",
				   image->name, leave->pid, reason);
		return;
	}
	for (size_t i = 0; i < sizeof(name); i++) {
		char c = leave->name[i];

		if (c && (c < ' ' || c > '~'))
			c = '?';
		name[i] = c;
	}
	/* Linked with libsonde, it comes to the recorder all the same. */
	if (leave->why == SONDE_LEAVE_SANITIZER)
		sonde_summary_unhooked(summary, (int)leave->pid, name, reason);
	else
		sonde_summary_missed(summary, (int)leave->pid, name, reason);
}

static void note_leaves(struct sonde_image *image)
{
	uint32_t nr = sonde_arena_nr_leaves(&image->view);

	for (uint32_t i = 0; i < nr; i++) {
		struct sonde_leave leave = sonde_arena_leave(&image->view, i);

		note_leave(image, &leave);
	}
}

static void drain(struct sonde_image *image)
{
	if (image->recording->setup.mode == SONDE_DISCARD) {
		(void)sonde_image_consume(
			image); /* how full is past interest */
		return;
	}
	for (uint32_t i = 0; i < image->nr_rings && !image->broken; i++)
		save_ring(image, i);
}

/* For those who run on: the memory of our rings. */
static void give_memory_back(const struct sonde_image *image)
{
	if (sonde_arena_is_alone(&image->view))
		return;
	for (uint32_t i = 0; i < image->nr_rings; i++)
		sonde_arena_punch(&image->view, i, 0,
				  image->view.geometry.nr_subbufs);
}

void sonde_image_finish(struct sonde_image *image)
{
	uint64_t contended = 0;

	if (!image)
		return;
	sonde_arena_stop(&image->view);
	drain(image);
	if (!image->broken) {
		contended = sonde_arena_nr_contended(&image->view);
		note_conflicts(image);
		note_refused(image);
		note_leaves(image);
	}
	image->recording->summary->lost_contended += contended;
	for (uint32_t i = 0; i < image->nr_rings; i++)
		finish_ring(image, i, i ? 0 : contended);
	give_memory_back(image);
	sonde_arena_close(&image->view);
	free(image);
}
