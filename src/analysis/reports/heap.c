/* SPDX-License-Identifier: MIT */
/*
 * heap.c - the heap as a trace tells it, replayed from a journal (heap.h).
 *
 * Every change of a block goes through count_allocation() and count_free(),
 * which keep the sums and the epoch's notes together. An event costs one or two
 * looks in a hash table.
 */
#include "analysis/reports/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/reports/longest.h"
#include "base/grow.h"
#include "base/port.h"

#define SITES_MAX   ((size_t)1 << 20)
#define THREADS_MAX ((size_t)1 << 20)
#define EXACT_SIZES 4096 /* sizes below are counted each by itself */

const struct sonde_journal_form sonde_heap_forms[] = {
	{ "malloc:malloc", SONDE_HEAP_MALLOC, { "size", "ptr", "caller" } },
	{ "malloc:calloc",
	  SONDE_HEAP_CALLOC,
	  { "size", "ptr", "caller", "count" } },
	{ "malloc:memalign", SONDE_HEAP_MEMALIGN, { "size", "ptr", "caller" } },
	{ "malloc:realloc_begin",
	  SONDE_HEAP_REALLOC_BEGIN,
	  { "size", NULL, "caller", "old" } },
	{ "malloc:realloc",
	  SONDE_HEAP_REALLOC,
	  { "size", "ptr", "caller", "old" } },
	{ "malloc:free", SONDE_HEAP_FREE, { NULL, "ptr", "caller" } },
};
const size_t sonde_heap_nr_forms = SONDE_ARRAY_SIZE(sonde_heap_forms);

/* What is known of a block; in `moving`, by the thread that reallocates. */
struct block {
	struct sonde_key key;
	uint64_t size;
	int64_t birth_ns;
	uint32_t site;
	bool known; /* in `moving`: there was such a block */
};

void sonde_heap_init(struct sonde_heap *heap)
{
	*heap = (struct sonde_heap){ 0 };
	sonde_hash_init(&heap->threads, sizeof(struct sonde_heap_thread),
			THREADS_MAX);
	sonde_hash_init(&heap->sizes, sizeof(struct sonde_heap_size), SIZE_MAX);
	sonde_hash_init(&heap->callers, sizeof(struct sonde_heap_caller),
			SITES_MAX);
	sonde_hash_init(&heap->blocks, sizeof(struct block), SONDE_HEAP_BLOCKS);
	sonde_hash_init(&heap->moving, sizeof(struct block), THREADS_MAX);
}

void sonde_heap_fini(struct sonde_heap *heap)
{
	sonde_hash_fini(&heap->threads);
	sonde_hash_fini(&heap->sizes);
	sonde_hash_fini(&heap->callers);
	sonde_hash_fini(&heap->blocks);
	sonde_hash_fini(&heap->moving);
	sonde_histogram_fini(&heap->lifetimes);
	free(heap->sites);
}

/* ---- call sites ---- */

static int heap_find_site(struct sonde_heap *heap,
			  const struct sonde_journal_entry *entry,
			  uint32_t *ret_site)
{
	const uint64_t caller = entry->words[SONDE_HEAP_CALLER];
	const uint32_t stack = heap->by_stack ? entry->stack : 0;
	/* The caller, too: stacks that end before it are the same. */
	const struct sonde_key key =
		sonde_analysis_site_key(caller, entry->image, stack);
	struct sonde_heap_caller *place = sonde_hash_get(&heap->callers, &key);

	if (!place) {
		place = sonde_hash_put(&heap->callers, &key);
		if (!place)
			return sonde_hash_error(&heap->callers);
		place->site = (uint32_t)heap->nr_sites;
		if (SONDE_GROW(heap->sites, heap->nr_sites,
			       heap->sites_capacity))
			return -ENOMEM;
		heap->sites[heap->nr_sites++] = (struct sonde_heap_site){
			.at.stack = stack,
		};
	}
	sonde_analysis_site_use(&heap->sites[place->site].at, caller,
				entry->image, entry->time_ns);
	*ret_site = place->site;
	return 0;
}

/* The site that is about to change. */
static struct sonde_heap_site *heap_touch(struct sonde_heap *heap,
					  uint32_t index)
{
	struct sonde_heap_site *site = &heap->sites[index];

	if (site->epoch != heap->epoch) {
		site->epoch = heap->epoch;
		site->noted_bytes = site->live_bytes;
	}
	return site;
}

uint64_t sonde_heap_site_peak(const struct sonde_heap *heap,
			      const struct sonde_heap_site *site)
{
	return site->epoch == heap->epoch ? site->noted_bytes :
					    site->live_bytes;
}

/* ---- sizes ---- */

static uint64_t size_class(uint64_t size)
{
	int power;

	if (size < EXACT_SIZES)
		return size;
	power = 63 - __builtin_clzll(size);
	return size >> (power - 4) << (power - 4);
}

static struct sonde_heap_size *size_of(struct sonde_heap *heap, uint64_t size)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_UINT, size_class(size), 0);

	return sonde_hash_put(&heap->sizes, &key);
}

/* ---- blocks ---- */

static void enter_block(struct sonde_heap *heap, const struct block *block)
{
	struct sonde_heap_site *site = heap_touch(heap, block->site);

	site->live_bytes += block->size;
	site->live_blocks++;
	heap->live_bytes += block->size;
	heap->live_blocks++;
	if (heap->live_bytes > heap->peak_bytes) {
		heap->peak_bytes = heap->live_bytes;
		heap->peak_blocks = heap->live_blocks;
		heap->peak_ns = block->birth_ns;
		heap->epoch++;
	}
}

static void leave_block(struct sonde_heap *heap, const struct block *block)
{
	struct sonde_heap_site *site = heap_touch(heap, block->site);
	struct sonde_heap_size *size = size_of(heap, block->size);

	if (size) {
		size->live_bytes -= block->size;
		size->live_blocks--;
	}
	site->live_bytes -= block->size;
	site->live_blocks--;
	heap->live_bytes -= block->size;
	heap->live_blocks--;
}

static int free_block(struct sonde_heap *heap, const struct block *block,
		      int64_t time_ns)
{
	leave_block(heap, block);
	return sonde_histogram_add(&heap->lifetimes,
				   sonde_elapsed_ns(block->birth_ns, time_ns));
}

static struct sonde_key key_of_block(const struct sonde_journal_entry *entry,
				     uint64_t ptr)
{
	return sonde_key_make(SONDE_KEY_HEX, ptr, (uint32_t)entry->pid);
}

static int free_ptr(struct sonde_heap *heap,
		    const struct sonde_journal_entry *entry, uint64_t ptr)
{
	const struct sonde_key key = key_of_block(entry, ptr);
	struct block *block = sonde_hash_get(&heap->blocks, &key);
	int err;

	if (!block) {
		heap->unknown_frees += ptr != 0;
		return 0;
	}
	err = free_block(heap, block, entry->time_ns);
	sonde_hash_remove(&heap->blocks, block);
	return err;
}

/* A place in the table for a block that the heap gave out. If one is there,
 * it must have been freed, unseen. */
static struct block *put_block(struct sonde_heap *heap,
			       const struct sonde_key *key)
{
	struct block *block = sonde_hash_put(&heap->blocks, key);

	if (block && block->known) {
		heap->reused++;
		leave_block(heap, block);
	}
	if (block)
		block->known = true;
	return block;
}

/* ---- sums ---- */

static int count_size(struct sonde_heap *heap, uint64_t size)
{
	struct sonde_heap_size *count = size_of(heap, size);

	if (!count)
		return -ENOMEM;
	count->allocations++;
	count->bytes += size;
	count->live_blocks++;
	count->live_bytes += size;
	return 0;
}

static struct sonde_heap_thread *
heap_thread_of(struct sonde_heap *heap, const struct sonde_journal_entry *entry)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)entry->tid, 0);

	return sonde_hash_put(&heap->threads, &key);
}

static int count_allocation(struct sonde_heap *heap,
			    const struct sonde_journal_entry *entry,
			    uint64_t size)
{
	struct sonde_heap_thread *thread = heap_thread_of(heap, entry);

	if (!thread)
		return sonde_hash_error(&heap->threads);
	thread->allocations++;
	thread->bytes += size;
	heap->calls[entry->op].bytes += size;
	return count_size(heap, size);
}

static int count_free(struct sonde_heap *heap,
		      const struct sonde_journal_entry *entry)
{
	struct sonde_heap_thread *thread = heap_thread_of(heap, entry);

	if (!thread)
		return sonde_hash_error(&heap->threads);
	thread->frees++;
	return 0;
}

/* ---- the events ---- */

static int heap_allocate(struct sonde_heap *heap,
			 const struct sonde_journal_entry *entry, uint64_t size)
{
	const struct sonde_key key =
		key_of_block(entry, entry->words[SONDE_HEAP_PTR]);
	struct block *block;
	uint32_t site = 0;
	int err = heap_find_site(heap, entry, &site);

	if (!err)
		err = count_allocation(heap, entry, size);
	if (err)
		return err;
	heap->sites[site].calls.calls++;
	heap->sites[site].calls.bytes += size;
	block = put_block(heap, &key);
	if (!block)
		return sonde_hash_error(&heap->blocks);
	block->size = size;
	block->birth_ns = entry->time_ns;
	block->site = site;
	enter_block(heap, block);
	return 0;
}

static struct sonde_key key_of_thread(const struct sonde_journal_entry *entry)
{
	return sonde_key_make(SONDE_KEY_INT, (uint64_t)entry->tid,
			      (uint32_t)entry->pid);
}

/* From now on until realloc the address may be given to another thread. */
static int begin_realloc(struct sonde_heap *heap,
			 const struct sonde_journal_entry *entry)
{
	const struct sonde_key old =
		key_of_block(entry, entry->words[SONDE_HEAP_MORE]);
	const struct sonde_key thread = key_of_thread(entry);
	struct block *block = sonde_hash_get(&heap->blocks, &old);
	struct block *moving;

	if (!block)
		return 0;
	moving = sonde_hash_put(&heap->moving, &thread);
	if (!moving)
		return sonde_hash_error(&heap->moving);
	if (moving->known) /* the end of the last one was lost */
		leave_block(heap, moving);
	moving->size = block->size;
	moving->birth_ns = block->birth_ns;
	moving->site = block->site;
	moving->known = true;
	sonde_hash_remove(&heap->blocks, block);
	return 0;
}

/* Failed: the old block is where it was. */
static int put_back(struct sonde_heap *heap,
		    const struct sonde_journal_entry *entry,
		    const struct block *moving)
{
	const struct sonde_key old =
		key_of_block(entry, entry->words[SONDE_HEAP_MORE]);
	struct block *block = put_block(heap, &old);

	if (!block)
		return sonde_hash_error(&heap->blocks);
	block->size = moving->size;
	block->birth_ns = moving->birth_ns;
	block->site = moving->site;
	return 0;
}

static int end_realloc(struct sonde_heap *heap,
		       const struct sonde_journal_entry *entry)
{
	const struct sonde_key thread = key_of_thread(entry);
	struct block *moving = sonde_hash_get(&heap->moving, &thread);
	uint64_t size = entry->words[SONDE_HEAP_SIZE];
	uint64_t old = entry->words[SONDE_HEAP_MORE];
	bool failed = !entry->words[SONDE_HEAP_PTR] && size;
	int err = 0;

	if (moving) {
		err = failed ? put_back(heap, entry, moving) :
			       free_block(heap, moving, entry->time_ns);
		sonde_hash_remove(&heap->moving, moving);
	} else if (old && !failed) {
		err = free_ptr(heap, entry, old);
	}
	if (failed)
		heap->calls[SONDE_HEAP_REALLOC].failed++;
	if (err || !entry->words[SONDE_HEAP_PTR])
		return err;
	return heap_allocate(heap, entry, size);
}

static int heap_begin_block(struct sonde_heap *heap,
			    const struct sonde_journal_entry *entry)
{
	uint64_t size = entry->words[SONDE_HEAP_SIZE];

	if (!entry->words[SONDE_HEAP_PTR]) {
		heap->calls[entry->op].failed++;
		return 0;
	}
	if (entry->op == SONDE_HEAP_CALLOC &&
	    __builtin_mul_overflow(size, entry->words[SONDE_HEAP_MORE], &size))
		size = UINT64_MAX; /* no heap gives that: a damaged trace */
	return heap_allocate(heap, entry, size);
}

int sonde_heap_replay(void *ctx, const struct sonde_journal_entry *entry)
{
	struct sonde_heap *heap = ctx;
	int err;

	if (entry->op == SONDE_HEAP_REALLOC_BEGIN)
		return begin_realloc(heap, entry);
	heap->calls[entry->op].calls++;
	if (entry->op == SONDE_HEAP_REALLOC)
		return end_realloc(heap, entry);
	if (entry->op != SONDE_HEAP_FREE)
		return heap_begin_block(heap, entry);
	err = count_free(heap, entry);
	return err ? err : free_ptr(heap, entry, entry->words[SONDE_HEAP_PTR]);
}

int sonde_heap_read(struct sonde_analysis_args *args, struct sonde_heap *heap)
{
	const struct sonde_journal_config config = {
		.forms = sonde_heap_forms,
		.nr_forms = sonde_heap_nr_forms,
		.replay = sonde_heap_replay,
		.ctx = heap,
	};
	int err = sonde_journal_run(args, &config);

	if (err != -E2BIG)
		return err;
	return sonde_analysis_fail(args, -EINVAL,
				   "more than %zu blocks are in use at a time; "
				   "choose less with --from, --to or -f",
				   SONDE_HEAP_BLOCKS);
}
