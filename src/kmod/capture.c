// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * capture.c - payloads by capture lists (abi.h).
 *
 * A list is checked once, when its event is made. Then it is one of three
 * kinds (enum sonde_fixed): plain lists are written by the probe itself
 * (capture.h); fixed ones go directly into the ring, for their size is known
 * before; all others are staged in scratch memory first, and so are those of which
 * a filter must see some: these are captured before the others, at their places, if
 * these are known.
 *
 * ## Invariants
 *
 *  1. A payload is at most SONDE_KMOD_RECORD_MAX bytes: the sum of the most that
 *     each capture takes was checked.
 *  2. Nothing is taken for an address that may be read: memory is read by the
 *     kernel's own no-fault copies, and words by peek.h, only. What is bad reads as zeros, or as an
 *     empty text.
 *  3. Texts are copied in pieces that don't cross pages, for a piece is had
 *     whole or not at all: so what is there before a bad page is kept. A text
 *     ends with its one NUL, whatever is found.
 *  4. A list of texts ends after LIST_MAX, as in the other sources.
 *
 * Cost: a number about fifteen instructions, a step of a path about fifteen on x86-64
 * and forty elsewhere, a text about one hundred and two for each byte.
 */
#include "kmod/capture.h"
#include "kmod/peek.h"

#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define PIECE    64u
#define LIST_MAX 32u

struct sonde_peek_range sonde_peek_range __ro_after_init;

/* ---- levels: scratch memory ---- */

DEFINE_PER_CPU(struct sonde_levels, sonde_levels);

int sonde_levels_need(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		struct sonde_levels *levels = per_cpu_ptr(&sonde_levels, cpu);

		if (levels->scratch)
			continue;
		levels->scratch = vmalloc_node(
			array_size(SONDE_LEVELS, SONDE_KMOD_RECORD_MAX),
			cpu_to_node(cpu));
		if (!levels->scratch)
			return -ENOMEM; /* what there is serves the next one */
	}
	return 0;
}

void sonde_levels_free(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		struct sonde_levels *levels = per_cpu_ptr(&sonde_levels, cpu);

		vfree(levels->scratch);
		levels->scratch = NULL;
	}
}

/* ---- checks ---- */

static bool is_width(u32 bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static bool is_number_ok(const struct sonde_kmod_cap *cap)
{
	return is_width(cap->bytes) &&
	       (cap->from_bytes == 0 ||
		(cap->from_bytes < 8 && is_width(cap->from_bytes)));
}

static bool is_sized_ok(const struct sonde_kmod_cap *cap)
{
	if (cap->max == 0 || cap->max > SONDE_KMOD_TEXT_MAX)
		return false;
	return cap->kind != SONDE_KMOD_UBUFFER ||
	       cap->length < SONDE_ARGS_MAX ||
	       cap->length == SONDE_KMOD_LENGTH_RESULT;
}

static bool is_source_ok(const struct sonde_kmod_cap *cap)
{
	if (cap->from >= SONDE_KMOD_FROMS ||
	    cap->nr_path > SONDE_KMOD_PATH_MAX || cap->is_signed > 1)
		return false;
	if (cap->from == SONDE_KMOD_FROM_ARG)
		return cap->index < SONDE_ARGS_MAX;
	return cap->from != SONDE_KMOD_FROM_REG ||
	       cap->index < sizeof(struct pt_regs) / sizeof(u64);
}

static bool is_cap_ok(const struct sonde_kmod_cap *cap)
{
	if (cap->kind >= SONDE_KMOD_KINDS || !is_source_ok(cap))
		return false;
	return cap->kind == SONDE_KMOD_VALUE ? is_number_ok(cap) :
					       is_sized_ok(cap);
}

/* The most bytes that it takes. */
static u32 most_bytes(const struct sonde_kmod_cap *cap)
{
	if (cap->kind == SONDE_KMOD_VALUE)
		return cap->bytes;
	return cap->kind == SONDE_KMOD_UBUFFER ? 4u + cap->max : cap->max;
}

static bool is_plain(const struct sonde_kmod_cap *cap)
{
	return cap->kind == SONDE_KMOD_VALUE &&
	       cap->from == SONDE_KMOD_FROM_ARG && !cap->nr_path &&
	       !cap->from_bytes && !cap->max;
}

int sonde_caps_check(const struct sonde_kmod_cap *caps, u32 nr, u32 *ret_bytes,
		     u8 *ret_is_fixed)
{
	u8 fixed = SONDE_FIXED_PLAIN;
	u32 bytes = 0;

	if (nr > SONDE_KMOD_CAPS_MAX)
		return -EINVAL;
	for (u32 i = 0; i < nr; i++) {
		if (!is_cap_ok(&caps[i]))
			return -EINVAL;
		bytes += most_bytes(&caps[i]);
		if (caps[i].kind != SONDE_KMOD_VALUE &&
		    caps[i].kind != SONDE_KMOD_BYTES)
			fixed = SONDE_FIXED_NOT;
		else if (fixed == SONDE_FIXED_PLAIN && !is_plain(&caps[i]))
			fixed = SONDE_FIXED_LOADS;
	}
	if (bytes > SONDE_KMOD_RECORD_MAX)
		return -EINVAL;
	*ret_bytes = bytes;
	*ret_is_fixed = fixed;
	return 0;
}

/* ---- values ---- */

/* 0 the thread, 1 a softirq, 2 an interrupt or NMI: as typed probes say it.
 * Real-time kernels serve softirqs in threads. */
static __always_inline u64 nesting(void)
{
	u32 count = preempt_count();

	if (count & (HARDIRQ_MASK | NMI_MASK))
		return 2;
	return count & SOFTIRQ_OFFSET ? 1 : 0;
}

static notrace u64 stack_word(const struct pt_regs *regs, u32 index)
{
	unsigned long at = kernel_stack_pointer((struct pt_regs *)regs);

	at += index * sizeof(unsigned long);
	return sonde_peek(at, sizeof(unsigned long));
}

static notrace u64 argument(const struct sonde_site *site, u32 index)
{
	return index < site->nr_args ? site->args[index] : 0;
}

static notrace u64 source(const struct sonde_kmod_cap *cap,
			  const struct sonde_site *site)
{
	switch ((enum sonde_kmod_from)cap->from) {
	case SONDE_KMOD_FROM_ARG:
		return argument(site, cap->index);
	case SONDE_KMOD_FROM_RESULT:
		return site->result;
	case SONDE_KMOD_FROM_CURRENT:
		return (unsigned long)current;
	case SONDE_KMOD_FROM_REG:
		return site->regs ?
			       ((const unsigned long *)site->regs)[cap->index] :
			       0;
	case SONDE_KMOD_FROM_STACK:
		return site->regs ? stack_word(site->regs, cap->index) : 0;
	case SONDE_KMOD_FROM_CPU:
		return raw_smp_processor_id();
	case SONDE_KMOD_FROM_NR:
		return site->number;
	case SONDE_KMOD_FROM_NESTING:
		return nesting();
	case SONDE_KMOD_FROMS:
		break;
	}
	return 0;
}

/* What the source says, or where the path leads. False: over a bad address, or over
 * none. */
static notrace bool follow(const struct sonde_kmod_cap *cap,
			   const struct sonde_site *site, u64 *ret_value)
{
	u64 value = source(cap, site);

	for (u32 i = 0; i < cap->nr_path; i++) {
		value += (s64)cap->offset[i];
		if (i + 1 == cap->nr_path)
			break;
		value = sonde_peek(value, sizeof(unsigned long));
		if (!value)
			return false;
	}
	*ret_value = value;
	return true;
}

static notrace u64 widen(u64 value, u32 bytes, bool is_signed)
{
	u32 shift = 64 - 8 * bytes;

	value <<= shift;
	return is_signed ? (u64)((s64)value >> shift) : value >> shift;
}

notrace u64 sonde_caps_number(const struct sonde_kmod_cap *cap,
			      const struct sonde_site *site)
{
	u64 value;

	if (!follow(cap, site, &value))
		return 0;
	if (cap->nr_path)
		value = sonde_peek(value, cap->from_bytes ?: cap->bytes);
	if (cap->from_bytes)
		value = widen(value, cap->from_bytes, cap->is_signed);
	return value + (u64)(s64)(s16)cap->max;
}

/* ---- texts ---- */

typedef long (*copy_fn)(void *to, unsigned long from, size_t bytes);

static __always_inline long copy_kernel(void *to, unsigned long from,
					size_t bytes)
{
	return copy_from_kernel_nofault(to, (const void *)from, bytes);
}

static __always_inline long copy_user(void *to, unsigned long from,
				      size_t bytes)
{
	return copy_from_user_nofault(to, (const void __user *)from, bytes);
}

/* Up to its NUL, which is written in any case, in `max` bytes; how many. */
static __always_inline u32 copy_text_told(unsigned char *to, u64 address,
					  u32 max, copy_fn copy, bool *is_bad)
{
	u32 n = 0;

	while (n + 1 < max) {
		unsigned long from = (unsigned long)address + n;
		u32 piece = min3(max - 1 - n, PIECE,
				 (u32)(PAGE_SIZE - offset_in_page(from)));
		u32 end = n + piece;

		*is_bad = copy(to + n, from, piece);
		if (*is_bad)
			break;
		for (; n < end; n++) {
			if (!to[n])
				return n + 1;
		}
	}
	to[n] = 0;
	return n + 1;
}

static __always_inline u32 copy_text(unsigned char *to, u64 address, u32 max,
				     copy_fn copy)
{
	bool is_bad;

	return copy_text_told(to, address, max, copy, &is_bad);
}

notrace bool sonde_copy_text(unsigned char *to, u64 address, u32 max)
{
	bool is_bad = false;
	u32 n = copy_text_told(to, address, max, copy_kernel, &is_bad);

	memset(to + n, 0, max - n); /* pieces are copied beyond a NUL, too */
	return !is_bad;
}

static notrace u32 user_text(unsigned char *to, u64 address, u32 max)
{
	return copy_text(to, address, max, copy_user);
}

/* The kernel's types don't tell `char __user *` from `char *`; addresses do. A
 * thread of the kernel's has no memory of a user's, though it may run with
 * somebody's. */
static notrace u32 kernel_text(unsigned char *to, u64 address, u32 max)
{
	if (unlikely(address >= PAGE_SIZE && address < TASK_SIZE_MAX &&
		     current->mm))
		return user_text(to, address, max);
	return copy_text(to, address, max, copy_kernel);
}

/* The i-th pointer of a user's list; 0 ends it, or it is bad. */
static notrace u64 list_item(u64 list, u32 i, bool is_compat)
{
	unsigned long at = (unsigned long)list;
	u32 narrow = 0;
	unsigned long wide = 0;

	if (is_compat)
		return copy_user(&narrow, at + i * sizeof(narrow),
				 sizeof(narrow)) ?
			       0 :
			       narrow;
	return copy_user(&wide, at + i * sizeof(wide), sizeof(wide)) ? 0 : wide;
}

/* Each text's NUL becomes a blank, but for the last one's. */
static notrace u32 user_texts(unsigned char *to, u64 list, u32 max,
			      bool is_compat)
{
	u32 n = 0;

	for (u32 i = 0; i < LIST_MAX && n + 1 < max; i++) {
		u64 item = list_item(list, i, is_compat);

		if (!item)
			break;
		if (n)
			to[n - 1] = ' ';
		n += user_text(to + n, item, max - n);
	}
	if (n)
		return n;
	*to = 0;
	return 1;
}

/* A u32, and so many bytes; none if not all are there. */
static notrace u32 user_buffer(const struct sonde_kmod_cap *cap,
			       const struct sonde_site *site, u64 address,
			       unsigned char *to)
{
	s64 length = cap->length == SONDE_KMOD_LENGTH_RESULT ?
			     (s64)site->result :
			     (s64)argument(site, cap->length);
	u32 bytes = length <= 0 ? 0 : (u32)min_t(u64, length, cap->max);

	if (bytes &&
	    copy_user(to + sizeof(bytes), (unsigned long)address, bytes))
		bytes = 0;
	memcpy(to, &bytes, sizeof(bytes));
	return (u32)sizeof(bytes) + bytes;
}

/* ---- lists ---- */

/* Anything but a number. A bad path leads to address 0, which is bad. */
static notrace u32 capture_block(const struct sonde_kmod_cap *cap,
				 const struct sonde_site *site,
				 unsigned char *to)
{
	u64 address = 0;

	(void)follow(cap, site, &address); /* else it stays 0 */
	switch ((enum sonde_kmod_kind)cap->kind) {
	case SONDE_KMOD_BYTES:
		if (copy_kernel(to, (unsigned long)address, cap->max))
			memset(to, 0, cap->max);
		return cap->max;
	case SONDE_KMOD_STRING:
		return kernel_text(to, address, cap->max);
	case SONDE_KMOD_USTRING:
		return user_text(to, address, cap->max);
	case SONDE_KMOD_USTRINGS:
		return user_texts(to, address, cap->max, site->is_compat);
	case SONDE_KMOD_UBUFFER:
		return user_buffer(cap, site, address, to);
	case SONDE_KMOD_VALUE:
	case SONDE_KMOD_KINDS:
		break;
	}
	return 0;
}

/* Some of a list. */
struct part {
	u32 begin, end;
	u32 caps; /* of these, by bits; others keep their places */
	/* of those, these are in a row, from the first one on */
	u32 in_row;
	const u64 *row;
};

/* Into SONDE_KMOD_RECORD_MAX bytes or, if it is fixed, as many as it takes; its size.
 * It ends before what is left out and of no fixed size. */
static notrace u32 capture_part(const struct sonde_event *event,
				const struct sonde_site *site, struct part part,
				unsigned char *to)
{
	const u64 *row = part.row;
	unsigned char *at = to;

	for (u32 i = part.begin; i < part.end; i++) {
		const struct sonde_kmod_cap *cap = &event->caps[i];

		if (!(part.caps >> i & 1)) {
			if (sonde_cap_varies(cap))
				break;
			at += most_bytes(cap);
		} else if (cap->kind == SONDE_KMOD_VALUE) {
			u64 value = part.in_row >> i & 1 ?
					    *row++ :
					    sonde_caps_number(cap, site);

			sonde_put(at, value, cap->bytes);
			at += cap->bytes;
		} else {
			at += capture_block(cap, site, at);
		}
	}
	return (u32)(at - to);
}

/* All of it. */
static struct part whole(const struct sonde_event *event)
{
	return (struct part){ .end = event->nr_caps, .caps = U32_MAX };
}

/* ---- staged records ---- */

static notrace void copy_staged(const struct sonde_event *event,
				const unsigned char *staged, u32 bytes)
{
	struct sonde_writing writing;
	unsigned char *to = sonde_event_reserve(event, bytes, &writing);

	if (!to) {
		if (event->stacked)
			sonde_event_record_stacked(event, staged, bytes);
		return;
	}
	memcpy(to, staged, bytes);
	sonde_event_commit(event, &writing);
}

notrace void sonde_event_finish(const struct sonde_event *event,
				const unsigned char *staged, u32 bytes)
{
	if (sonde_event_must_judge(event) &&
	    !sonde_filter_passes(event->filter, staged, bytes))
		sonde_event_filtered(event);
	else
		copy_staged(event, staged, bytes);
}

/* What the filter sees comes first, and the rest if it holds. Nothing is captured
 * twice: what is recorded is what was judged. */
static notrace void capture_judged(const struct sonde_event *event,
				   const struct sonde_site *site,
				   unsigned char *scratch)
{
	const struct sonde_filter_sees sees = sonde_filter_sees(event->filter);
	const struct part first = { .end = sees.prefix ?: event->nr_caps,
				    .caps = sees.caps };
	const struct part rest = { .begin = sees.prefix,
				   .end = event->nr_caps,
				   .caps = ~sees.caps };
	u32 bytes = capture_part(event, site, first, scratch);
	u32 kept = sees.prefix ? bytes : 0;

	if (!sonde_filter_passes(event->filter, scratch, bytes)) {
		sonde_event_filtered(event);
		return;
	}
	bytes = kept + capture_part(event, site, rest, scratch + kept);
	copy_staged(event, scratch, bytes);
}

/* All of it, whose size is known. */
static notrace void capture_into_ring(const struct sonde_event *event,
				      const struct sonde_site *site,
				      struct part all)
{
	struct sonde_writing writing;
	unsigned char *to =
		sonde_event_reserve(event, event->fixed_bytes, &writing);

	if (!to)
		return;
	(void)capture_part(event, site, all, to); /* its size is known */
	sonde_event_commit(event, &writing);
}

/* What is wanted in any case. */
static notrace void capture_wanted(const struct sonde_event *event,
				   const struct sonde_site *site,
				   struct part all, unsigned char *scratch)
{
	if (event->is_fixed)
		capture_into_ring(event, site, all);
	else
		copy_staged(event, scratch,
			    capture_part(event, site, all, scratch));
}

notrace void sonde_event_capture_rest(const struct sonde_event *event,
				      const struct sonde_site *site,
				      const u64 *words)
{
	unsigned char *scratch = sonde_enter(event->session);
	struct part all = whole(event);

	if (!scratch)
		return;
	all.in_row = sonde_filter_early(event->filter)->row.caps;
	all.row = words;
	capture_wanted(event, site, all, scratch);
	sonde_leave();
}

notrace void sonde_event_capture_slow(const struct sonde_event *event,
				      const struct sonde_site *site)
{
	unsigned char *scratch = sonde_enter(event->session);

	if (!scratch)
		return;
	if (sonde_event_must_judge(event))
		capture_judged(event, site, scratch);
	else
		capture_wanted(event, site, whole(event), scratch);
	sonde_leave();
}
