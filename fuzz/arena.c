/* SPDX-License-Identifier: MIT */
/*
 * arena.c - fuzz session/arena.h: an arena whose process writes anything into
 * it, at first and between the recorder's steps.
 *
 * Input: what sort of file it is, the budget, and lists of writes that are
 * made before the arena is opened, before and after it is configured, and before
 * what is left of its slots is read as `sonde recover` does.
 */
#include "session/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "describe.h"
#include "ring/reader.h"
#include "types/desc.h"

#define ENTRIES_LOOKED_AT 32u

/* The process's own view; the file is emptied before each run. */
static int file = -1;
static uint8_t *memory;

static void make_file(void)
{
	file = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	FUZZ_CHECK(file >= 0);
	FUZZ_CHECK(!ftruncate(file, SONDE_META_SPAN));
	FUZZ_CHECK(!fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK));
	memory = mmap(NULL, SONDE_META_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED,
		      file, 0);
	FUZZ_CHECK(memory != MAP_FAILED);
}

static void empty_file(void)
{
	const struct sonde_arena head = {
		.magic = SONDE_ARENA_MAGIC,
		.version = SONDE_ARENA_VERSION,
		.nr_reserved = 3,
		.writer = SONDE_WRITER_RSEQ,
	};

	FUZZ_CHECK(!fallocate(file, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE,
			      0, lseek(file, 0, SEEK_END)));
	memcpy(memory, &head, sizeof(head));
}

/* Publish a made description as entry i, and perhaps not quite. */
static void write_entry(struct fuzz_input *in)
{
	static uint8_t made[FUZZ_DESC_ROOM];
	uint32_t i = fuzz_below(in, ENTRIES_LOOKED_AT);
	struct sonde_entry entry = {
		.desc_off = SONDE_DESCS_OFF + i * 32768u,
		.flags = fuzz_u8(in),
	};
	size_t size;
	struct fuzz_input part;

	part.at = fuzz_bytes(in, fuzz_u8(in), &part.left);
	size = fuzz_describe(&part, made);
	size = size < 32768 ? size : 32768;
	memcpy(memory + entry.desc_off, made, size);
	entry.desc_size = (uint32_t)size;
	if (fuzz_u8(in) & 1) {
		entry.desc_size = (uint32_t)fuzz_number(in);
		entry.desc_off = SONDE_META_SPAN - fuzz_number(in);
	}
	memcpy(memory + SONDE_ENTRIES_OFF + i * sizeof(entry), &entry,
	       sizeof(entry));
}

/* Any number at one of the places that matter. */
static void write_number(struct fuzz_input *in)
{
	static const uint32_t places[] = {
		0,
		SONDE_SLOTS_OFF,
		SONDE_SLOTS_OFF + sizeof(struct sonde_slot),
		SONDE_SLOTS_OFF + offsetof(struct sonde_slot, ids),
		SONDE_ENTRIES_OFF,
		SONDE_STATES_OFF,
		SONDE_DESCS_OFF,
	};
	uint32_t place = places[fuzz_below(in, 7)];
	uint64_t number;

	place += fuzz_u8(in) * 4u;
	number = fuzz_number(in);
	memcpy(memory + place, &number, fuzz_u8(in) & 1 ? 8 : 4);
}

static void write_some(struct fuzz_input *in)
{
	uint32_t nr = fuzz_below(in, 8);

	while (nr-- > 0) {
		if (fuzz_u8(in) & 1)
			write_entry(in);
		else
			write_number(in);
	}
}

static void read_entries(struct sonde_arena_view *view)
{
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	uint32_t nr = sonde_arena_nr_entries(view);

	FUZZ_CHECK(nr <= SONDE_EVENTS_MAX);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t left = view->desc_bytes_left;
		const struct sonde_desc *desc;
		int rc;

		if (i > ENTRIES_LOOKED_AT && i < nr - 2)
			i = nr - 2;
		(void)sonde_arena_entry_conflicts(view, i);
		if (view->slot)
			(void)sonde_arena_event_id(view, i);
		rc = sonde_arena_copy_desc(view, i, room, &desc);
		FUZZ_CHECK(rc == 0 || rc == -EAGAIN || rc == -EPROTO);
		FUZZ_CHECK(view->desc_bytes_left <= left);
		if (rc)
			continue;
		FUZZ_CHECK((const uint8_t *)desc == room);
		FUZZ_CHECK(left - view->desc_bytes_left >=
			   sonde_desc_size(desc));
	}
	(void)sonde_arena_nr_refused(view);
}

/* Every ring is inside of what was mapped for rings, and none has another's
 * memory. */
static void check_rings(const struct sonde_arena_view *view)
{
	const struct sonde_geometry *geometry = &view->geometry;
	uint64_t bytes = sonde_geometry_ring_bytes(geometry);
	uint32_t nr = sonde_geometry_nr_rings(geometry);
	const uint8_t *end = view->rings + view->rings_bytes;

	FUZZ_CHECK(view->rings_bytes <= SONDE_SLOT_SPAN);
	for (uint32_t i = 0; i < nr; i++) {
		const uint8_t *data = sonde_arena_ring_data(view, i);

		FUZZ_CHECK((const uint8_t *)(sonde_arena_ring(view, i) + 1) <=
			   view->rings + view->ctl_bytes);
		FUZZ_CHECK(data >= view->rings + view->ctl_bytes + i * bytes);
		FUZZ_CHECK(data + bytes <= end);
		FUZZ_CHECK(view->is_resumed ||
			   sonde_arena_ring(view, i)->limit ==
				   geometry->nr_subbufs);
	}
	sonde_arena_reserve(view, nr - 1, geometry->nr_subbufs - 1, 1);
	sonde_arena_punch(view, nr - 1, 0, geometry->nr_subbufs);
}

static _Alignas(8) uint8_t desc_room[SONDE_DESC_MAX];

static void restart_rings(const struct sonde_arena_view *view)
{
	const struct sonde_geometry *geometry = &view->geometry;

	for (uint32_t i = 0; i < sonde_geometry_nr_rings(geometry); i++) {
		struct sonde_ring *ring = sonde_arena_ring(view, i);
		unsigned char *data = sonde_arena_ring_data(view, i);
		struct sonde_ring_reader reader;
		struct sonde_ring_chunk chunk;

		sonde_ring_reader_init(&reader, ring, data,
				       geometry->subbuf_size,
				       geometry->nr_subbufs);
		sonde_ring_restart(&reader, ring, data);
		FUZZ_CHECK(sonde_ring_peek(&reader, &chunk) == 0);
	}
}

/* What the slot is made active with. */
static const struct sonde_arena_setup begun = { .rules = "+*\0",
						.rules_size = 4 };

static int configure(struct fuzz_input *in, struct sonde_arena_view *view)
{
	struct sonde_budget budget = { 0 };
	struct sonde_arena_setup setup = {
		.rules = "+*\0",
		.rules_size = 4,
	};
	int rc;

	budget.total_bytes = 65536 + (uint64_t)fuzz_u16(in) * 256;
	budget.nr_possible = 1 + fuzz_below(in, 64);
	budget.mode = fuzz_u8(in) & 1 ? SONDE_OVERWRITE : SONDE_DISCARD;
	setup.mode = budget.mode;
	setup.header = fuzz_u8(in) & 1 ? SONDE_LARGE : SONDE_COMPACT;
	budget.nr_online = 1 + fuzz_below(in, budget.nr_possible);
	rc = sonde_budget_take(&budget, view->lanes_only, &setup.geometry);
	if (rc)
		return rc;
	rc = sonde_arena_configure(view, &setup);
	FUZZ_CHECK(rc == 0 || rc == -EBUSY);
	return rc;
}

/* What is no arena at all. */
static int other_file(uint8_t kind)
{
	int fd = -1;

	switch (kind % 4) {
	case 0:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case 1:
		return open("/", O_RDONLY | O_CLOEXEC);
	case 2:
		fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		FUZZ_CHECK(fd >= 0 && !ftruncate(fd, SONDE_META_SPAN));
		return fd;
	default:
		fd = memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		FUZZ_CHECK(fd >= 0 && !ftruncate(fd, SONDE_META_SPAN - kind));
		FUZZ_CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
		return fd;
	}
}

static void play(struct fuzz_input *in, struct sonde_arena_view *view)
{
	read_entries(view);
	write_some(in);
	if (configure(in, view) == 0) {
		check_rings(view);
		if (view->is_resumed)
			restart_rings(view);
		sonde_arena_begin(view, &begun, desc_room);
		write_some(in);
		read_entries(view);
		(void)sonde_arena_nr_ids(view);
		(void)sonde_arena_nr_contended(view);
		(void)sonde_arena_nr_late(view);
		sonde_arena_stop(view);
	}
	FUZZ_CHECK(!sonde_arena_is_alone(view)); /* we are there */
}

static void read_ring(const struct sonde_arena_view *view, uint32_t i)
{
	const struct sonde_geometry *geometry = &view->geometry;
	const uint8_t *data = sonde_arena_ring_data(view, i);
	const uint8_t *end = data + sonde_geometry_ring_bytes(geometry);
	struct sonde_ring_reader reader;
	struct sonde_ring_chunk chunk;

	FUZZ_CHECK(data >= view->rings + view->ctl_bytes);
	FUZZ_CHECK(end <= view->rings + view->rings_bytes);
	sonde_ring_reader_init(&reader, sonde_arena_ring(view, i), data,
			       geometry->subbuf_size, geometry->nr_subbufs);
	reader.keeps = i & 1;
	sonde_ring_inherit(&reader);
	if (sonde_ring_rewind(&reader) <= 0)
		return;
	for (uint32_t n = 0; n < 64 && sonde_ring_peek(&reader, &chunk) > 0;
	     n++) {
		FUZZ_CHECK(chunk.data >= data);
		FUZZ_CHECK(chunk.size <= (size_t)(end - chunk.data));
		sonde_ring_advance(&reader, &chunk);
	}
}

/* What nobody has any more. */
static void recover(void)
{
	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		struct sonde_arena_setup setup;
		struct sonde_arena_view view;
		char name[33];

		if (sonde_arena_open_left(fcntl(file, F_DUPFD_CLOEXEC, 3),
					  &view))
			return;
		sonde_arena_name(&view, name);
		FUZZ_CHECK(strlen(name) < sizeof(name));
		if (!sonde_arena_adopt(&view, i, &setup)) {
			FUZZ_CHECK(view.rings_bytes <= SONDE_SLOT_SPAN);
			read_entries(&view);
			for (uint32_t k = 0;
			     k < sonde_geometry_nr_rings(&view.geometry); k++)
				read_ring(&view, k);
		}
		sonde_arena_close(&view);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	struct sonde_arena_view view;
	uint8_t kind = fuzz_u8(&in);
	int rc;

	if (kind > 250) {
		rc = sonde_arena_open(other_file(kind), &view);
		FUZZ_CHECK(rc == -EBADF || rc == -EPROTO);
		return 0;
	}
	if (file < 0)
		make_file();
	empty_file();
	write_some(&in);
	rc = sonde_arena_open(fcntl(file, F_DUPFD_CLOEXEC, 3), &view);
	FUZZ_CHECK(rc == 0 || rc == -EPROTO || rc == -EPROTONOSUPPORT);
	if (rc == 0) {
		play(&in, &view);
		sonde_arena_close(&view);
		write_some(&in);
		recover();
	}
	return 0;
}
