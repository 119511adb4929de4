/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - see unwind.h: tables by file, and copies of them in arenas.
 *
 * An arena's room is only added to: rows of what is published may be read at
 * any time, also what another recorder has published. A file's rows are copied to
 * an arena once; sets of mappings share them. When the room is used up, the last
 * set stays.
 */
#include "session/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/time.h"
#include "source/statedump/buildid.h"
#include "source/unwind/file.h"

#define RANGES_MAX 1024u
#define TABLES_MAX 4096u
/* Bytes of rules whose table takes 5 ms at most, and 25; at 10 ns a byte. While a
 * process waits, the latter is begun by QUICK_SHARE of what it waits at most. */
#define QUICK_BYTES (512u << 10)
#define LONG_BYTES  (5u << 19)
#define QUICK_SHARE 8u

/* A mapping of a file, of which the table is. */
struct table {
	uint64_t dev, ino, offset, bytes;
	int64_t changed_ns; /* the file, last */
	struct sonde_source_unwind_rows rows;
};

struct sonde_unwind {
	bool is_awaited, is_late; /* late: no table is made now */
	uint64_t begin_cpu_ns, begin_wall_ns;
	struct sonde_unwind_budget budget;
	size_t nr, capacity;
	struct table *tables;
};

struct sonde_unwind *sonde_unwind_new(void)
{
	return calloc(1, sizeof(struct sonde_unwind));
}

void sonde_unwind_free(struct sonde_unwind *unwind)
{
	if (!unwind)
		return;
	for (size_t i = 0; i < unwind->nr; i++)
		free(unwind->tables[i].rows.rows);
	free(unwind->tables);
	free(unwind);
}

/* ---- a file's ---- */

/* The most rules of which a table may be made now. */
static uint64_t most_rules(const struct sonde_unwind *unwind)
{
	uint64_t spent_ns = sonde_monotonic_ns() - unwind->begin_wall_ns;

	if (!unwind->is_awaited)
		return UINT64_MAX;
	return spent_ns < unwind->budget.wall_ns / QUICK_SHARE ? LONG_BYTES :
								 QUICK_BYTES;
}

/* False: it would take too long now. */
static bool read_rows(const struct sonde_unwind *unwind, int fd, uint64_t size,
		      const struct sonde_statedump_mapping *mapping,
		      struct sonde_source_unwind_rows *rows)
{
	struct sonde_source_unwind_section section;
	uint64_t most = most_rules(unwind);
	uint8_t *bytes =
		sonde_source_unwind_read(fd, size, most, mapping, &section);

	if (bytes && section.code_end > section.code_begin)
		(void)sonde_source_unwind_parse(&section, rows);
	free(bytes);
	return bytes || section.size <= most;
}

static struct table *find_table(const struct sonde_unwind *unwind,
				const struct table *like)
{
	for (size_t i = 0; i < unwind->nr; i++) {
		struct table *table = &unwind->tables[i];

		if (table->ino == like->ino && table->dev == like->dev &&
		    table->offset == like->offset &&
		    table->bytes == like->bytes &&
		    table->changed_ns == like->changed_ns)
			return table;
	}
	return NULL;
}

static const struct sonde_source_unwind_rows *
keep_table(struct sonde_unwind *unwind, int fd,
	   const struct sonde_statedump_mapping *mapping, struct table *table,
	   uint64_t size, bool *is_all)
{
	const struct table *known = find_table(unwind, table);

	if (known)
		return &known->rows;
	if (unwind->nr == TABLES_MAX ||
	    SONDE_GROW(unwind->tables, unwind->nr, unwind->capacity))
		return NULL;
	if (unwind->is_late ||
	    !read_rows(unwind, fd, size, mapping, &table->rows)) {
		*is_all = false;
		return NULL;
	}
	unwind->tables[unwind->nr] = *table;
	return &unwind->tables[unwind->nr++].rows;
}

/* NULL: there are none. */
static const struct sonde_source_unwind_rows *
rows_of(struct sonde_unwind *unwind,
	const struct sonde_statedump_mapping *mapping, bool *is_all)
{
	int fd = sonde_build_id_open(mapping);
	const struct sonde_source_unwind_rows *rows = NULL;
	struct table table = {
		.dev = mapping->dev,
		.ino = mapping->ino,
		.offset = mapping->offset,
		.bytes = mapping->end - mapping->begin,
	};
	struct stat st;

	if (fd < 0)
		return NULL;
	unwind->is_late =
		sonde_time_ns(CLOCK_THREAD_CPUTIME_ID) - unwind->begin_cpu_ns >
			unwind->budget.cpu_ns ||
		sonde_monotonic_ns() - unwind->begin_wall_ns >
			unwind->budget.wall_ns;
	if (!fstat(fd, &st) && table.bytes <= UINT32_MAX) {
		table.changed_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 +
				   st.st_mtim.tv_nsec;
		rows = keep_table(unwind, fd, mapping, &table,
				  (uint64_t)st.st_size, is_all);
	}
	(void)close(fd); /* it was only read */
	return rows && rows->nr ? rows : NULL;
}

/* ---- an arena's ---- */

struct publishing {
	struct sonde_unwind_room *room;
	uint32_t nr;
	struct sonde_stacks_range ranges[RANGES_MAX];
};

/* Where it is, from the stacks' head; 0: there is no room. `size`: a multiple of
 * 8. */
static uint64_t put_in_room(struct sonde_unwind_room *room, const void *data,
			    uint64_t size)
{
	uint64_t at = sonde_stacks_tables_off(room->depth) + room->used;

	if (size > SONDE_STACKS_TABLES - room->used)
		return 0;
	memcpy((unsigned char *)room->stacks + at, data, size);
	room->used += size;
	return at;
}

/* The same of a file's rows, which may be there. */
static uint64_t place_rows(struct sonde_unwind_room *room,
			   const struct sonde_source_unwind_rows *rows)
{
	uint64_t at;

	for (size_t i = 0; i < room->nr; i++)
		if (room->places[i].rows == rows->rows)
			return room->places[i].at;
	at = put_in_room(room, rows->rows, rows->nr * sizeof(*rows->rows));
	/* Without memory they are copied again the next time. */
	if (at && !SONDE_GROW(room->places, room->nr, room->capacity))
		room->places[room->nr++] =
			(struct sonde_unwind_place){ rows->rows, at };
	return at;
}

static void put_range(struct publishing *to,
		      const struct sonde_statedump_mapping *mapping,
		      const struct sonde_source_unwind_rows *rows)
{
	uint64_t at;

	if (to->nr == RANGES_MAX)
		return;
	at = place_rows(to->room, rows);
	if (!at)
		return;
	to->ranges[to->nr++] = (struct sonde_stacks_range){
		.begin = mapping->begin,
		.end = mapping->end,
		.rows = (uint32_t)(at / 8),
		.nr = rows->nr,
	};
}

static uint64_t unwind_hash_of(const struct sonde_statedump_mapping *code,
			       size_t nr)
{
	uint64_t hash = nr + 1;

	for (size_t i = 0; i < nr; i++) {
		const uint64_t words[] = { code[i].begin, code[i].end,
					   code[i].offset, code[i].dev,
					   code[i].ino };

		for (size_t k = 0; k < SONDE_ARRAY_SIZE(words); k++)
			hash = (hash ^ words[k]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash | 1;
}

static void forget_cached(struct sonde_stacks *stacks)
{
	unsigned char *bytes = (unsigned char *)stacks;
	uint64_t *cache = (void *)(bytes + SONDE_STACKS_CACHE_OFF);
	struct sonde_stacks_memo *memos =
		(void *)(bytes + SONDE_STACKS_MEMOS_OFF);

	for (uint32_t i = 0; i < SONDE_STACKS_CACHE; i++)
		if (sonde_load_relaxed(&cache[i]))
			sonde_store_relaxed(&cache[i], 0);
	for (uint32_t i = 0; i < SONDE_STACKS_MEMOS; i++)
		if (sonde_load_relaxed(&memos[i].pc))
			sonde_store_relaxed(&memos[i].pc, 0);
}

/* What the recorder before us has published may be in use, so what comes goes
 * behind it: the ranges are the last of a set. */
static void begin_room(struct sonde_unwind_room *room,
		       const struct sonde_unwind *owner)
{
	uint64_t first = sonde_stacks_tables_off(room->depth);
	uint64_t word = sonde_load_relaxed(&room->stacks->ranges);
	uint64_t end = (word >> 16) +
		       (word & 0xffff) * sizeof(struct sonde_stacks_range);

	if (room->owner)
		return;
	room->owner = owner;
	/* Any process may say anything; then the harm is its own. */
	if (end > first && end - first <= SONDE_STACKS_TABLES)
		room->used = (end - first + 7) & ~UINT64_C(7);
}

void sonde_unwind_room_free(struct sonde_unwind_room *room)
{
	if (room)
		free(room->places);
	free(room);
}

void sonde_unwind_publish(struct sonde_unwind *unwind,
			  struct sonde_unwind_room *room,
			  const struct sonde_statedump_mapping *code, size_t nr,
			  const struct sonde_unwind_budget *budget)
{
	struct sonde_stacks *stacks = room->stacks;
	struct publishing *to = calloc(1, sizeof(*to));
	uint64_t hash = unwind_hash_of(code, nr);
	bool is_all = true;
	uint64_t at;

	if (!to || room->hash == hash ||
	    (room->owner && room->owner != unwind)) {
		free(to);
		return;
	}
	begin_room(room, unwind);
	to->room = room;
	unwind->is_awaited = room->is_awaited;
	unwind->budget = *budget;
	unwind->begin_cpu_ns = sonde_time_ns(CLOCK_THREAD_CPUTIME_ID);
	unwind->begin_wall_ns = sonde_monotonic_ns();
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_source_unwind_rows *rows =
			rows_of(unwind, &code[i], &is_all);

		if (rows)
			put_range(to, &code[i], rows);
	}
	at = put_in_room(room, to->ranges, to->nr * sizeof(to->ranges[0]));
	if (at) {
		/* Pairs with sonde_load_acquire in walk_range. */
		sonde_store_release(&stacks->ranges, at << 16 | to->nr);
		forget_cached(stacks);
	}
	/* Where there is no room, there won't be any. */
	room->is_late = !is_all && at;
	room->hash = room->is_late ? 0 : hash;
	free(to);
}
