// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * items.c - what a probe at an address collects: words, values of programs, memory and
 * texts where programs say (abi.h), as GDB's tracepoints in the kernel want it.
 *
 * A payload is written directly into the ring, for its size is known. An item that
 * can't be read is zeros in it, and its bit is set in the word of unread items.
 *
 * ## Invariants
 *
 *  1. A list of items is checked once, when its event is made, and doesn't change.
 *  2. A payload has as many bytes as sonde_items_make() said, whatever could be read.
 *  3. A hit that reads memory takes a level of its CPU (capture.h): the page fault
 *     that this may cause can be an event that is recorded, too.
 *
 * Cost: about six instructions for a word, if all items are words and these are few;
 * about thirty for a program's value, and what the program takes (seeing.c); some
 * thirty more for memory, and what copying takes.
 */
#include "kmod/items.h"

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "expr/program.h"
#include "kmod/capture.h"
#include "kmod/peek.h"
#include "kmod/seeing.h"

/* So many words, where no other item is asked for, are in a row of their own, and
 * recorded without a look at the items. */
#define PLAIN_MAX 32u

#define NR_WORDS  (sizeof(struct pt_regs) / sizeof(u64))

struct item {
	u8 kind; /* enum sonde_kmod_item_kind */
	u8 nr_words;
	u16 bytes;
	const struct sonde_program *program;
	struct bpf_prog *native;
	/* of an item of words: registers and more, as abi.h numbers them */
	u8 words[SONDE_KMOD_WORDS_MAX];
};

struct sonde_items {
	u32 nr;
	/* Where addresses of memory, and the bits of unread items, are in the
	 * payload, if the event's flags ask for them. */
	u32 addresses_at, unread_at;
	bool is_told, tells_unread;
	bool is_plain; /* words are all that there is, and in the row */
	u32 nr_plain;
	u8 plain[PLAIN_MAX];
	u64 place;
	u64 steps;
	struct item list[];
};

/* ---- checks ---- */

static bool are_words_ok(const struct sonde_kmod_item *from)
{
	if (from->program || from->program_bytes || !from->nr_words ||
	    from->nr_words > SONDE_KMOD_WORDS_MAX ||
	    from->bytes != from->nr_words * sizeof(u64))
		return false;
	for (u32 i = 0; i < from->nr_words; i++) {
		u8 word = from->words[i];

		if (word >= NR_WORDS && word != SONDE_KMOD_WORD_PLACE &&
		    word != SONDE_KMOD_WORD_CURRENT)
			return false;
	}
	return true;
}

static bool is_item_ok(const struct sonde_kmod_item *from)
{
	switch (from->kind) {
	case SONDE_KMOD_ITEM_WORDS:
		return are_words_ok(from);
	case SONDE_KMOD_ITEM_NUMBER:
		return !from->nr_words && from->program &&
		       (from->bytes == 1 || from->bytes == 2 ||
			from->bytes == 4 || from->bytes == 8);
	case SONDE_KMOD_ITEM_MEMORY:
	case SONDE_KMOD_ITEM_TEXT:
		return !from->nr_words && from->program && from->bytes &&
		       from->bytes <= SONDE_KMOD_TEXT_MAX;
	default:
		return false;
	}
}

/* ---- making ---- */

static int copy_item_program(struct sonde_items *items, struct item *item,
			     const struct sonde_kmod_item *from)
{
	struct sonde_program_state *states = NULL;
	struct sonde_program *program = NULL;
	int rc = sonde_filter_copy_program(from->program, from->program_bytes,
					   &program, &states);

	item->program = program;
	if (!rc)
		rc = sonde_seeing_prepare(program, items->place);
	if (!rc) {
		item->native = sonde_seeing_native(program, states, true);
		items->steps += program->nr_ops;
	}
	kvfree(states);
	return rc;
}

static int make_item(struct sonde_items *items, struct item *item,
		     const struct sonde_kmod_item *from)
{
	if (!is_item_ok(from))
		return -EINVAL;
	item->kind = from->kind;
	item->nr_words = from->nr_words;
	item->bytes = from->bytes;
	memcpy(item->words, from->words, sizeof(item->words));
	if (from->kind == SONDE_KMOD_ITEM_WORDS)
		return 0;
	items->steps += from->bytes;
	return copy_item_program(items, item, from);
}

static bool leads_to_memory(const struct item *item)
{
	return item->kind == SONDE_KMOD_ITEM_MEMORY ||
	       item->kind == SONDE_KMOD_ITEM_TEXT;
}

/* Decides where the parts of the payload are; returns its size. */
static u32 lay_items_out(struct sonde_items *items, u32 flags)
{
	u32 bytes = 0;

	for (u32 i = 0; i < items->nr; i++)
		bytes += items->list[i].bytes;
	items->addresses_at = bytes;
	items->is_told = flags & SONDE_KMOD_ADDRESSES;
	for (u32 i = 0; items->is_told && i < items->nr; i++)
		bytes += leads_to_memory(&items->list[i]) ? sizeof(u64) : 0;
	items->unread_at = bytes;
	items->tells_unread = flags & SONDE_KMOD_UNREAD;
	return bytes + (items->tells_unread ? sizeof(u32) : 0);
}

/* Makes the row of words, if all items are words, and none is the task's address. */
static void find_plain(struct sonde_items *items)
{
	u32 nr = 0;

	for (u32 i = 0; i < items->nr; i++) {
		const struct item *item = &items->list[i];

		if (item->kind != SONDE_KMOD_ITEM_WORDS ||
		    nr + item->nr_words > PLAIN_MAX ||
		    memchr(item->words, SONDE_KMOD_WORD_CURRENT,
			   item->nr_words))
			return;
		memcpy(items->plain + nr, item->words, item->nr_words);
		nr += item->nr_words;
	}
	items->nr_plain = nr;
	items->is_plain = true;
}

static int make_items(const struct sonde_kmod_event *from,
		      struct sonde_items *items)
{
	const struct sonde_kmod_item __user *at = u64_to_user_ptr(from->items);
	struct sonde_kmod_item item;
	int rc = 0;

	for (u32 i = 0; !rc && i < from->nr_items; i++) {
		if (copy_from_user(&item, at + i, sizeof(item)))
			return -EFAULT;
		items->nr++; /* sonde_items_free() frees it, even if it is refused */
		rc = make_item(items, &items->list[i], &item);
	}
	return rc;
}

int sonde_items_make(const struct sonde_kmod_event *from,
		     struct sonde_items **ret_items, u32 *ret_bytes)
{
	struct sonde_items *items = kvzalloc(
		struct_size(items, list, from->nr_items), GFP_KERNEL_ACCOUNT);
	u32 bytes = 0;
	int rc;

	if (!items)
		return -ENOMEM;
	items->place = from->place;
	rc = make_items(from, items);
	if (!rc) {
		find_plain(items);
		bytes = lay_items_out(items, from->flags);
		rc = bytes > SONDE_KMOD_RECORD_MAX ? -EINVAL : 0;
	}
	if (rc) {
		sonde_items_free(items);
		return rc;
	}
	*ret_items = items;
	*ret_bytes = bytes;
	return 0;
}

void sonde_items_free(struct sonde_items *items)
{
	for (u32 i = 0; items && i < items->nr; i++) {
		sonde_native_free(items->list[i].native);
		kvfree(items->list[i].program);
	}
	kvfree(items);
}

/* At most, of memory: each item's code may take a page. */
u64 sonde_items_bytes(const struct sonde_kmod_event *from)
{
	return from->nr_items * (sizeof(struct item) + PAGE_SIZE +
				 (u64)SONDE_KMOD_FILTER_MAX / 16);
}

u64 sonde_items_steps(const struct sonde_items *items)
{
	return items ? items->steps : 0;
}

/* ---- recording ---- */

static __always_inline u64 item_word(const struct sonde_items *items,
				     const u64 *words, u32 word)
{
	if (likely(word < NR_WORDS))
		return words[word];
	return word == SONDE_KMOD_WORD_PLACE ? items->place :
					       (unsigned long)current;
}

static __always_inline void put_item_words(const struct sonde_items *items,
					   const struct item *item,
					   const u64 *words, unsigned char *to)
{
	for (u32 i = 0; i < item->nr_words; i++)
		sonde_put(to + i * sizeof(u64),
			  item_word(items, words, item->words[i]), sizeof(u64));
}

/* Whether the program has a value. Machine code is given in the second register where
 * to put it. */
static __always_inline bool item_value(const struct item *item,
				       const u64 *words, u64 *ret_value)
{
	if (likely(item->native))
		return sonde_native_function(item->native)(
			       words, (const struct bpf_insn *)ret_value) ==
		       SONDE_SEEN_VALUE;
	return sonde_seeing_value(item->program, words, ret_value) ==
	       SONDE_SEEN_VALUE;
}

static notrace bool put_what_it_leads_to(const struct item *item, u64 address,
					 unsigned char *to)
{
	u64 value;

	if (item->kind == SONDE_KMOD_ITEM_TEXT)
		return sonde_copy_text(to, address, item->bytes);
	if (item->bytes <= sizeof(value) &&
	    !(item->bytes & (item->bytes - 1))) {
		if (!sonde_peek_told(address, item->bytes, &value))
			return false;
		sonde_put(to, value, item->bytes);
		return true;
	}
	return !copy_from_kernel_nofault(to, (void *)(unsigned long)address,
					 item->bytes);
}

/* Whether all of the item could be read; else it is zeros. */
static notrace bool put_one(const struct item *item, const u64 *words,
			    unsigned char *to, u64 *ret_value)
{
	bool is_there = item_value(item, words, ret_value);

	if (is_there && leads_to_memory(item))
		is_there = put_what_it_leads_to(item, *ret_value, to);
	else if (is_there)
		sonde_put(to, *ret_value, item->bytes);
	if (is_there)
		return true;
	*ret_value = 0;
	memset(to, 0, item->bytes);
	return false;
}

static notrace void put_each_item(const struct sonde_items *items,
				  const u64 *words, unsigned char *to)
{
	unsigned char *address_at = to + items->addresses_at;
	unsigned char *at = to;
	u32 unread = 0;

	for (u32 i = 0; i < items->nr; at += items->list[i++].bytes) {
		const struct item *item = &items->list[i];
		u64 value;

		if (item->kind == SONDE_KMOD_ITEM_WORDS) {
			put_item_words(items, item, words, at);
			continue;
		}
		if (unlikely(!put_one(item, words, at, &value)))
			unread |= 1u << i;
		if (items->is_told && leads_to_memory(item)) {
			sonde_put(address_at, value, sizeof(value));
			address_at += sizeof(value);
		}
	}
	if (items->tells_unread)
		sonde_put(to + items->unread_at, unread, sizeof(unread));
}

static __always_inline void put_plain(const struct sonde_items *items,
				      const u64 *words, unsigned char *to)
{
	const u8 *word = items->plain;
	const u8 *end = word + items->nr_plain;

	for (; word < end; word++, to += sizeof(u64)) {
		u64 value = likely(*word != SONDE_KMOD_WORD_PLACE) ?
				    words[*word] :
				    items->place;

		memcpy(to, &value, sizeof(value));
	}
	if (items->tells_unread)
		memset(to, 0, sizeof(u32));
}

static noinline notrace void lose_hit(const struct sonde_event *event)
{
	if (event->count)
		this_cpu_inc(event->count->lost);
}

static noinline notrace void record_by_items(const struct sonde_event *event,
					     struct pt_regs *regs)
{
	struct sonde_writing writing;
	unsigned char *to;

	if (unlikely(!sonde_enter(event->session))) {
		lose_hit(event);
		return;
	}
	to = sonde_event_reserve(event, event->fixed_bytes, &writing);
	if (likely(to)) {
		put_each_item(event->items, (const u64 *)regs, to);
		sonde_event_commit(event, &writing);
	} else {
		lose_hit(event);
	}
	sonde_leave();
}

notrace void sonde_items_record(const struct sonde_event *event,
				struct pt_regs *regs)
{
	struct sonde_writing writing;
	unsigned char *to;

	if (unlikely(!event->items->is_plain)) {
		record_by_items(event, regs);
		return;
	}
	to = sonde_event_reserve(event, event->fixed_bytes, &writing);
	if (unlikely(!to)) {
		lose_hit(event);
		return;
	}
	put_plain(event->items, (const u64 *)regs, to);
	sonde_event_commit(event, &writing);
}
