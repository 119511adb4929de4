// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * filter.c - conditions in the kernel: verified programs of expr/.
 *
 * A program sees two bases: 0, the payload, of which the part before its first
 * text or buffer is at fixed places; 1, { u32 tid, u32 cpu }. It calls for
 * texts: reference i is texts[i] (abi.h), found in the payload when it is asked
 * for. Programs agree with source/condition.c, which made them.
 *
 * If all that it reads of the payload is bytes of words that probes have before
 * anything is captured, it is changed to read those: they are base 2 (see_words()).
 * Then nothing is staged for it, and nothing captured if it is false. Else, if what it
 * reads are numbers that the captures find (a member of what an argument points to), these
 * few are captured into a row of words before anything else, and base 2 is that row
 * (see_row()); what is recorded of them is what was judged.
 *
 * ## Invariants
 *
 *  1. A program is copied, then verified (expr/program.h), then kept as it is,
 *     but for where it reads words.
 *  2. All that it reads of base 0 is before `needed`; a payload that is shorter
 *     doesn't pass. Texts are found within the payload that there is. All that it
 *     reads of base 2 are words that captures ask for, so probes have them
 *     (probe.h), or a row has.
 *  3. It has no doubles, for probes have no such registers: -EOPNOTSUPP, and the
 *     condition is judged by who reads the records. So is one that calls for a
 *     number, or a text whose place can't be said, or sees registers and
 *     memory (agent expressions).
 *  4. The steps that it may take are known (sonde_filter_steps()): one for each
 *     operation, and what looking for a text, comparing and matching it take of
 *     the longest payload that the captures may make. Whoever adds an event
 *     bounds those of all filters at its point, which run one after the other
 *     with preemption off.
 *
 * ## How they are judged (enum sonde_filter_how)
 *
 * `field op constant`, where the field is the low bytes of a word, is a range, and
 * judged by the probe itself (capture.h): whether those bytes are in it. They are
 * shifted to the left end of a word first, so it doesn't matter what the rest of the
 * word holds; and signed numbers begin with the least one. All others become machine
 * code (native.c) if they call for no text and ask for no thread or CPU, and the kernel
 * can make it; else the evaluator has them. A described event's one argument is a
 * call, so it has no words; and a typed probe says some things otherwise than the
 * captures, so its payload is judged.
 *
 * Cost: a range about ten instructions; machine code about fifteen, and one or two
 * for each operation; the evaluator about forty, and eight for each operation. A
 * row, or a payload that must be staged, comes on top.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "expr/program.h"
#include "kmod/capture.h"
#include "kmod/seeing.h"

#define BASES 3u /* bits: payload, whence */
#define WORDS SONDE_SEEING_WORDS

/* Base 1. */
struct whence {
	u32 tid;
	u32 cpu;
};

struct sonde_filter {
	struct sonde_filter_early early; /* first: capture.h */
	struct bpf_prog *native; /* of words or of a payload; NULL: none */
	u32 type;                /* of the event */
	struct sonde_filter_sees sees;
	u32 needed;
	u32 fixed; /* bytes of the payload at fixed places */
	u32 nr_texts;
	u32 most_bytes; /* of a text that it may see */
	u32 nr_caps;
	bool is_described; /* caps are of the payload only, not of arguments */
	bool is_typed;  /* they say the same as the payload, but not always */
	bool is_seeing; /* of a kprobe at an address: registers and memory */
	u64 steps;
	const struct sonde_kmod_cap *caps; /* the event's */
	struct sonde_kmod_text *texts;
	struct sonde_program *program;
};

/* ---- texts ---- */

struct record {
	const struct sonde_filter *filter;
	const unsigned char *payload;
	u32 bytes;
};

/* The length of a buffer at `at`, all of which is there. */
static notrace bool buffer_length(const struct record *record, u32 at,
				  u32 *ret_length)
{
	if (record->bytes < at || record->bytes - at < sizeof(*ret_length))
		return false;
	memcpy(ret_length, record->payload + at, sizeof(*ret_length));
	return *ret_length <= record->bytes - at - sizeof(*ret_length);
}

/* Bytes up to a NUL; false if there is none within `most`. */
static notrace bool text_length(const struct record *record, u32 at, u32 most,
				u32 *ret_length)
{
	u32 end = at + min(most, record->bytes - min(at, record->bytes));

	for (u32 i = at; i < end; i++) {
		if (!record->payload[i]) {
			*ret_length = i - at;
			return true;
		}
	}
	*ret_length = end - at;
	return false;
}

/* What the capture at *at takes. */
static notrace bool pass_over(const struct record *record,
			      const struct sonde_kmod_cap *cap, u32 *at)
{
	u32 length;

	if (cap->kind == SONDE_KMOD_VALUE) {
		*at += cap->bytes;
		return true;
	}
	if (cap->kind == SONDE_KMOD_BYTES) {
		*at += cap->max;
		return true;
	}
	if (cap->kind == SONDE_KMOD_UBUFFER) {
		if (!buffer_length(record, *at, &length))
			return false;
		*at += (u32)sizeof(length) + length;
		return true;
	}
	if (!text_length(record, *at, U32_MAX, &length))
		return false;
	*at += length + 1;
	return true;
}

/* The one with `ordinal` texts and buffers before it. */
static notrace const struct sonde_kmod_cap *
find_varying(const struct record *record, u32 ordinal, u32 *ret_at)
{
	const struct sonde_filter *filter = record->filter;
	u32 at = 0;

	for (u32 i = 0; i < filter->nr_caps; i++) {
		const struct sonde_kmod_cap *cap = &filter->caps[i];

		if (sonde_cap_varies(cap) && !ordinal--) {
			*ret_at = at;
			return cap;
		}
		if (!pass_over(record, cap, &at))
			return NULL;
	}
	return NULL;
}

static notrace bool find_text(const struct record *record,
			      const struct sonde_kmod_text *text, u32 *ret_at,
			      u32 *ret_length)
{
	const struct sonde_kmod_cap *cap;

	*ret_at = text->offset;
	if (text->size) {
		if (record->bytes < *ret_at ||
		    record->bytes - *ret_at < text->size)
			return false;
		/* without a NUL, it is all of it */
		(void)text_length(record, *ret_at, text->size, ret_length);
		return true;
	}
	if (text->offset != U32_MAX)
		return text_length(record, *ret_at, U32_MAX, ret_length);
	cap = find_varying(record, text->ordinal, ret_at);
	if (!cap || cap->kind != SONDE_KMOD_UBUFFER)
		return cap && text_length(record, *ret_at, U32_MAX, ret_length);
	if (!buffer_length(record, *ret_at, ret_length))
		return false;
	*ret_at += sizeof(*ret_length);
	(void)text_length(record, *ret_at, *ret_length,
			  ret_length); /* or all */
	return true;
}

static notrace int fetch(void *ctx, uint32_t ref, struct sonde_expr_value *ret)
{
	const struct record *record = ctx;
	u32 length;
	u32 at;

	if (!find_text(record, &record->filter->texts[ref], &at, &length))
		return -ENOENT;
	ret->type = SONDE_EXPR_STRING;
	ret->length = length;
	ret->text = (const char *)record->payload + at;
	return 0;
}

notrace bool sonde_filter_passes(const struct sonde_filter *filter,
				 const unsigned char *payload, u32 bytes)
{
	struct record record = { filter, payload, bytes };
	struct sonde_expr_env env;
	struct whence whence;

	if (bytes < filter->needed)
		return false;
	if (filter->native)
		return sonde_native_function(filter->native)(
			payload, sonde_native_code(filter->native));
	whence.tid = (u32)current->pid;
	whence.cpu = (u32)raw_smp_processor_id();
	env.bases[0] = payload;
	env.bases[1] = (const uint8_t *)&whence;
	env.call = fetch;
	env.ctx = &record;
	return sonde_program_test(filter->program, &env);
}

notrace u32 sonde_filter_verdict(const struct sonde_filter *filter,
				 const u64 *words)
{
	struct whence whence;
	struct sonde_expr_env env;

	if (likely(filter->native))
		return filter->early.run(words, filter->early.code);
	if (filter->is_seeing)
		return sonde_seeing_verdict(filter->program, words);
	whence.tid = (u32)current->pid;
	whence.cpu = (u32)raw_smp_processor_id();
	env.bases[1] = (const uint8_t *)&whence;
	env.bases[WORDS] = (const uint8_t *)words;
	return sonde_program_test(filter->program, &env);
}

/* ---- what a program may do here ---- */

static int check_memory(struct sonde_filter *filter,
			const struct sonde_expr_op *op)
{
	u64 end = (u64)op->offset + sonde_expr_op_infos[op->code].bytes;

	if (op->base == 1)
		return end <= sizeof(struct whence) ? 0 : -EINVAL;
	if (end > filter->fixed)
		return -EINVAL;
	filter->needed = max(filter->needed, (u32)end);
	return 0;
}

static int check_call(struct sonde_filter *filter,
		      const struct sonde_expr_op *op)
{
	const struct sonde_kmod_text *text;

	if (op->code == SONDE_EXPR_OP_CALL_NUMBER ||
	    op->ref >= filter->nr_texts)
		return -EOPNOTSUPP;
	text = &filter->texts[op->ref];
	return text->size && text->offset == U32_MAX ? -EOPNOTSUPP : 0;
}

/* At most; a match takes as many for each byte of a text as its glob has. */
static u64 steps_of(const struct sonde_filter *filter,
		    const struct sonde_expr_op *op)
{
	switch ((enum sonde_expr_op_code)op->code) {
	case SONDE_EXPR_OP_CALL_TEXT:
	case SONDE_EXPR_OP_IF_DEFINED:
	case SONDE_EXPR_OP_IF_EQUAL_TEXT:
	case SONDE_EXPR_OP_IF_LESS_TEXT:
		return 1ull + filter->most_bytes;
	case SONDE_EXPR_OP_IF_TEXT_IS:
		return 1ull + op->length;
	case SONDE_EXPR_OP_IF_GLOB:
		return (1ull + op->length) * (1ull + filter->most_bytes);
	default:
		return 1;
	}
}

static int check_op(struct sonde_filter *filter, const struct sonde_expr_op *op)
{
	u32 operands = sonde_expr_op_infos[op->code].operands;

	if (operands & (SONDE_EXPR_OPERAND_DOUBLE | SONDE_EXPR_OPERAND_MACHINE))
		return -EOPNOTSUPP;
	filter->steps += steps_of(filter, op);
	if (operands & SONDE_EXPR_OPERAND_MEM)
		return check_memory(filter, op);
	if (operands & SONDE_EXPR_OPERAND_CALL)
		return check_call(filter, op);
	return 0;
}

/* The longest text that there may be, in a payload or the program. What writes a
 * described event asks no cap how long its texts may be. */
static u32 find_most_bytes(const struct sonde_filter *filter)
{
	u32 bytes = filter->is_described ? SONDE_KMOD_RECORD_MAX : 0;

	for (u32 i = 0; i < filter->nr_caps; i++)
		bytes += filter->caps[i].kind == SONDE_KMOD_VALUE ?
				 filter->caps[i].bytes :
				 filter->caps[i].max + (u32)sizeof(u32);
	return max(min(bytes, SONDE_KMOD_RECORD_MAX),
		   filter->program->texts_bytes);
}

static int check_program(struct sonde_filter *filter,
			 const struct sonde_kmod_event *from)
{
	struct sonde_program *program = filter->program;
	int err = 0;

	if (filter->is_seeing) {
		filter->steps = program->nr_ops;
		return sonde_seeing_prepare(program, from->place);
	}

	if (program->bases & ~BASES)
		return -EINVAL;
	if (program->type == SONDE_EXPR_DOUBLE)
		return -EOPNOTSUPP;
	filter->most_bytes = find_most_bytes(filter);
	for (u32 i = 0; !err && i < program->nr_ops; i++)
		err = check_op(filter, &program->ops[i]);
	if (filter->is_described) /* of which it may judge twice (described.c) */
		filter->steps *= 2;
	return err;
}

u64 sonde_filter_steps(const struct sonde_filter *filter)
{
	return filter ? filter->steps : 0;
}

u32 sonde_filter_judged(const struct sonde_filter *filter)
{
	u32 judged = 0;

	if (!filter)
		return 0;
	if (filter->early.how != SONDE_FILTER_STAGED)
		judged |= SONDE_KMOD_JUDGED_EARLY;
	/* A range is compared by the probe itself. */
	if (filter->native || filter->early.how == SONDE_FILTER_RANGE)
		judged |= SONDE_KMOD_JUDGED_NATIVE;
	return judged;
}

/* ---- words ---- */

/* Of one that doesn't vary. */
static u32 cap_bytes(const struct sonde_kmod_cap *cap)
{
	return cap->kind == SONDE_KMOD_VALUE ? cap->bytes : cap->max;
}

static u32 words_bytes(const struct sonde_filter *filter)
{
	return filter->type == SONDE_KMOD_KPROBE ?
		       (u32)sizeof(struct pt_regs) :
		       SONDE_WORDS_MAX * (u32)sizeof(u64);
}

/* The word whose low bytes it captures, and nothing else. */
static bool word_of_cap(const struct sonde_filter *filter,
			const struct sonde_kmod_cap *cap, u32 *ret_word)
{
	bool is_kprobe = filter->type == SONDE_KMOD_KPROBE;

	if (cap->kind != SONDE_KMOD_VALUE || cap->nr_path || cap->from_bytes ||
	    cap->max)
		return false;
	if (cap->from == SONDE_KMOD_FROM_RESULT) {
		*ret_word = SONDE_WORD_RESULT;
		return filter->type == SONDE_KMOD_KRETPROBE;
	}
	*ret_word = cap->index;
	if (cap->from == SONDE_KMOD_FROM_REG)
		return is_kprobe;
	if (cap->from != SONDE_KMOD_FROM_ARG)
		return false;
	if (is_kprobe && cap->index >= ARRAY_SIZE(sonde_arg_words))
		return false;
	if (is_kprobe)
		*ret_word = sonde_arg_words[cap->index];
	return true;
}

/* Where among the words those bytes of the payload come from. */
static bool find_in_words(const struct sonde_filter *filter, u32 offset,
			  u32 bytes, u32 *ret_at)
{
	u32 begin = 0;

	for (u32 i = 0; i < filter->nr_caps; i++) {
		const struct sonde_kmod_cap *cap = &filter->caps[i];
		u32 end = begin + cap_bytes(cap);
		u32 word;

		if (sonde_cap_varies(cap))
			return false;
		if (offset < end) {
			if (offset + bytes > end ||
			    !word_of_cap(filter, cap, &word))
				return false;
			*ret_at = word * (u32)sizeof(u64) + offset - begin;
			return true;
		}
		begin = end;
	}
	return false;
}

/* Whether all that it needs is there before anything is captured; then it is
 * changed to read that. */
static bool see_words(struct sonde_filter *filter)
{
	struct sonde_program *program = filter->program;
	bool changes;
	u32 at;

	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) || filter->is_described)
		return false;
	for (u32 i = 0; i < 2 * program->nr_ops; i++) {
		struct sonde_expr_op *op = &program->ops[i % program->nr_ops];
		const struct sonde_expr_op_info *info =
			&sonde_expr_op_infos[op->code];

		changes = i >= program->nr_ops; /* all can be had */
		if (info->operands & SONDE_EXPR_OPERAND_CALL)
			return false;
		if (!(info->operands & SONDE_EXPR_OPERAND_MEM) || op->base)
			continue;
		if (!find_in_words(filter, op->offset, info->bytes, &at))
			return false;
		if (!changes)
			continue;
		op->base = WORDS;
		op->offset = at;
	}
	program->bases |= 1u << WORDS;
	return true;
}

/* ---- rows ---- */

/* The number that has all of these bytes, and where in it they begin. */
static bool cap_with(const struct sonde_filter *filter, u32 offset, u32 bytes,
		     u32 *ret_cap, u32 *ret_at)
{
	u32 begin = 0;

	for (u32 i = 0; i < filter->nr_caps; i++) {
		const struct sonde_kmod_cap *cap = &filter->caps[i];
		u32 end = begin + cap_bytes(cap);

		if (sonde_cap_varies(cap))
			return false;
		if (offset < end) {
			*ret_cap = i;
			*ret_at = offset - begin;
			return cap->kind == SONDE_KMOD_VALUE &&
			       offset + bytes <= end;
		}
		begin = end;
	}
	return false;
}

/* Its one step is left to the probe, if nothing is done with what is found there. */
static struct sonde_row_word row_word(const struct sonde_kmod_cap *cap, u32 i)
{
	bool is_near = cap->from == SONDE_KMOD_FROM_ARG && cap->nr_path == 1 &&
		       !cap->from_bytes && !cap->max;

	return (struct sonde_row_word){
		.offset = cap->offset[0],
		.arg = cap->index,
		.bytes = is_near ? cap->bytes : 0,
		.cap = (u8)i,
	};
}

/* Which numbers it reads; 0: others things, too, or too many. */
static u32 find_row_caps(const struct sonde_filter *filter)
{
	const struct sonde_program *program = filter->program;
	u32 caps = 0;
	u32 cap, at;

	for (u32 i = 0; i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];
		const struct sonde_expr_op_info *info =
			&sonde_expr_op_infos[op->code];

		if (info->operands & SONDE_EXPR_OPERAND_CALL)
			return 0;
		if (!(info->operands & SONDE_EXPR_OPERAND_MEM) || op->base)
			continue;
		if (!cap_with(filter, op->offset, info->bytes, &cap, &at))
			return 0;
		caps |= 1u << cap;
	}
	return hweight32(caps) <= SONDE_ROW_MAX ? caps : 0;
}

static void read_row(const struct sonde_filter *filter,
		     struct sonde_expr_op *op)
{
	u32 bytes = sonde_expr_op_infos[op->code].bytes;
	u32 cap, at;

	if (!(sonde_expr_op_infos[op->code].operands &
	      SONDE_EXPR_OPERAND_MEM) ||
	    op->base || !cap_with(filter, op->offset, bytes, &cap, &at))
		return;
	op->base = WORDS;
	op->offset = hweight32(filter->early.row.caps & ((1u << cap) - 1)) *
			     (u32)sizeof(u64) +
		     at;
}

/* Whether all that it needs are a few numbers; then it is changed to read a row of
 * them. */
static bool see_row(struct sonde_filter *filter)
{
	struct sonde_program *program = filter->program;
	struct sonde_row *row = &filter->early.row;

	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) || filter->is_described ||
	    filter->is_typed)
		return false;
	row->caps = find_row_caps(filter);
	if (!row->caps)
		return false;
	for (u32 i = 0; i < filter->nr_caps; i++) {
		if (row->caps >> i & 1)
			row->words[row->nr++] = row_word(&filter->caps[i], i);
	}
	for (u32 i = 0; i < program->nr_ops; i++)
		read_row(filter, &program->ops[i]);
	program->bases |= 1u << WORDS;
	return true;
}

/* ---- what it sees of a payload ---- */

/* The capture that has that byte, if all before it are of fixed sizes; else as many as
 * there are. */
static u32 cap_at(const struct sonde_filter *filter, u32 offset)
{
	u32 end = 0;
	u32 i;

	for (i = 0; i < filter->nr_caps; i++) {
		const struct sonde_kmod_cap *cap = &filter->caps[i];

		end += cap_bytes(cap);
		if (sonde_cap_varies(cap) || offset < end)
			break;
	}
	return i;
}

static u32 cap_of_text(const struct sonde_filter *filter,
		       const struct sonde_kmod_text *text)
{
	u32 ordinal = text->ordinal;
	u32 i;

	if (text->offset != U32_MAX)
		return cap_at(filter, text->offset);
	for (i = 0; i < filter->nr_caps; i++) {
		if (sonde_cap_varies(&filter->caps[i]) && !ordinal--)
			break;
	}
	return i;
}

/* A field may lie in several captures, if nobody but a user's own program says where
 * it is. */
static void see_field(struct sonde_filter *filter, u32 offset, u32 bytes)
{
	u32 last = cap_at(filter, offset + bytes - 1);

	for (u32 i = cap_at(filter, offset); i <= last && i < filter->nr_caps;
	     i++)
		filter->sees.caps |= 1u << i;
}

/* Texts are found by what is before them. */
static void see_prefix(struct sonde_filter *filter, u32 last)
{
	u32 seen = max((u32)fls(filter->sees.caps),
		       min(last + 1, filter->nr_caps));

	filter->sees.prefix = max(filter->sees.prefix, seen);
}

/* Up to the end of the last one that is seen, all of which are of fixed sizes. */
static u32 bytes_of_caps(const struct sonde_filter *filter)
{
	u32 bytes = 0;

	for (u32 i = 0; i < (u32)fls(filter->sees.caps); i++)
		bytes += cap_bytes(&filter->caps[i]);
	return bytes;
}

static void find_sees(struct sonde_filter *filter)
{
	const struct sonde_program *program = filter->program;

	for (u32 i = 0; i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];
		const struct sonde_expr_op_info *info =
			&sonde_expr_op_infos[op->code];

		if (info->operands & SONDE_EXPR_OPERAND_MEM && op->base == 0)
			see_field(filter, op->offset, info->bytes);
	}
	for (u32 i = 0; i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];

		if (sonde_expr_op_infos[op->code].operands &
		    SONDE_EXPR_OPERAND_CALL)
			see_prefix(filter,
				   cap_of_text(filter,
					       &filter->texts[op->ref]));
	}
	if (!filter->sees.prefix)
		filter->sees.bytes = bytes_of_caps(filter);
	else
		filter->sees.caps = (u32)((1ull << filter->sees.prefix) - 1);
}

notrace struct sonde_filter_sees
sonde_filter_sees(const struct sonde_filter *filter)
{
	return filter->sees;
}

/* ---- ranges ---- */

/* The range of what is below a constant, in shifted values; false: it can't be
 * said, or nothing is. */
static bool find_below(const struct sonde_expr_op *load,
		       const struct sonde_expr_op *test,
		       struct sonde_filter_early *range)
{
	u64 number = test->number;
	u64 shifted = number << range->shift;
	u32 operands = sonde_expr_op_infos[load->code].operands;
	bool is_signed = operands & SONDE_EXPR_OPERAND_SIGNED;
	bool is_unsigned = !is_signed &&
			   sonde_expr_op_infos[load->code].bytes < sizeof(u64);

	if ((operands & ~SONDE_EXPR_OPERAND_SIGNED) != SONDE_EXPR_OPERAND_MEM)
		return false;
	if (test->code == SONDE_EXPR_OP_IF_BELOW_U && !is_signed &&
	    shifted >> range->shift == number)
		range->low = 0;
	else if (test->code == SONDE_EXPR_OP_IF_BELOW_S && !is_unsigned &&
		 (s64)shifted >> range->shift == (s64)number)
		range->low = (u64)S64_MIN;
	else
		return false;
	range->span = shifted - 1 - range->low;
	return shifted != range->low;
}

static bool is_verdict(const struct sonde_expr_op *op)
{
	return op->code == SONDE_EXPR_OP_END_TRUE ||
	       op->code == SONDE_EXPR_OP_END_FALSE;
}

/* What a program comes to if its only test holds; false: it isn't such a one.
 */
static bool verdict(const struct sonde_program *program,
		    const struct sonde_expr_op *test, bool *ret_passes)
{
	const struct sonde_expr_op *otherwise = test + 1;
	const struct sonde_expr_op *jumped = &program->ops[test->target];
	const struct sonde_expr_op *held = test->sense ? jumped : otherwise;

	if (!is_verdict(jumped) || !is_verdict(otherwise) ||
	    jumped->code == otherwise->code)
		return false;
	*ret_passes = held->code == SONDE_EXPR_OP_END_TRUE;
	return true;
}

/* The one test of a field, and what it asks. */
static const struct sonde_expr_op *
find_test(const struct sonde_program *program, struct sonde_filter_early *range)
{
	const struct sonde_expr_op *load = program->ops;

	range->shift = (u8)(64 - 8 * sonde_expr_op_infos[load->code].bytes);
	if (load->code >= SONDE_EXPR_OP_IF_MEM8_IS &&
	    load->code <= SONDE_EXPR_OP_IF_MEM64_IS) {
		range->low = load->number << range->shift;
		range->span = 0;
		return load;
	}
	return find_below(load, load + 1, range) ? load + 1 : NULL;
}

static bool be_range(struct sonde_filter *filter)
{
	const struct sonde_program *program = filter->program;
	const struct sonde_expr_op *load = program->ops;
	struct sonde_filter_early range = { .how = SONDE_FILTER_RANGE };
	const struct sonde_expr_op *test;
	bool passes;

	if (program->nr_ops < 3 || load->base != WORDS ||
	    load->offset % sizeof(u64) ||
	    !(sonde_expr_op_infos[load->code].operands &
	      SONDE_EXPR_OPERAND_MEM))
		return false;
	test = find_test(program, &range);
	if (!test || !verdict(program, test, &passes))
		return false;
	range.index = (u8)(load->offset / sizeof(u64));
	if (!passes) { /* what is not in the range is one, too */
		range.low += range.span + 1;
		range.span = U64_MAX - 1 - range.span;
	}
	filter->early = range;
	return true;
}

/* Machine code that reads so many bytes of words, if there is any. */
static bool be_native(struct sonde_filter *filter,
		      const struct sonde_program_state *states, u32 bytes)
{
	filter->native =
		sonde_native_make(filter->program, states, WORDS, bytes);
	if (!filter->native)
		return false;
	filter->early.run = sonde_native_function(filter->native);
	filter->early.code = sonde_native_code(filter->native);
	return true;
}

/* By words. A kprobe's event has machine code even for a range: that is what its
 * probe asks first. */
static void find_early(struct sonde_filter *filter,
		       const struct sonde_program_state *states)
{
	bool is_kprobe = filter->type == SONDE_KMOD_KPROBE;

	if (!is_kprobe && be_range(filter))
		return;
	if (be_native(filter, states, words_bytes(filter)))
		filter->early.how = SONDE_FILTER_NATIVE;
	else if (!is_kprobe || !be_range(filter))
		filter->early.how = SONDE_FILTER_WORDS;
}

/* There are no captures. */
static void find_seeing(struct sonde_filter *filter,
			const struct sonde_program_state *states)
{
	filter->early.how = SONDE_FILTER_WORDS;
	filter->native = sonde_seeing_native(filter->program, states, false);
	if (!filter->native)
		return;
	filter->early.run = sonde_native_function(filter->native);
	filter->early.code = sonde_native_code(filter->native);
	filter->early.how = SONDE_FILTER_NATIVE;
}

static void find_how(struct sonde_filter *filter,
		     const struct sonde_program_state *states)
{
	if (filter->is_seeing) {
		find_seeing(filter, states);
		return;
	}
	if (see_words(filter)) {
		find_early(filter, states);
	} else if (see_row(filter)) {
		filter->early.how = SONDE_FILTER_ROW;
		(void)be_native(filter, states, /* else it is evaluated */
				filter->early.row.nr * (u32)sizeof(u64));
	} else {
		filter->native = sonde_native_make(filter->program, states, 0,
						   filter->needed);
	}
	find_sees(filter);
}

/* ---- life ---- */

/* What the verifier found out is for kvfree(). */
static int verify(const struct sonde_program *program,
		  struct sonde_program_state **ret_states)
{
	struct sonde_program_state *states =
		kvcalloc(program->nr_ops, sizeof(*states), GFP_KERNEL_ACCOUNT);

	if (!states)
		return -ENOMEM;
	if (!sonde_program_verify(program, states)) {
		kvfree(states);
		return -EINVAL;
	}
	*ret_states = states;
	return 0;
}

int sonde_filter_copy_program(u64 from, u32 bytes,
			      struct sonde_program **ret_program,
			      struct sonde_program_state **ret_states)
{
	struct sonde_program *program;

	if (bytes < sizeof(*program) || bytes > SONDE_KMOD_FILTER_MAX)
		return -EINVAL;
	program = kvmalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!program)
		return -ENOMEM;
	*ret_program = program;
	if (copy_from_user(program, u64_to_user_ptr(from), bytes))
		return -EFAULT;
	if (program->nr_ops == 0 || program->nr_ops > SONDE_PROGRAM_OPS)
		return -EINVAL;
	if (program->texts_bytes > bytes ||
	    sonde_program_bytes(program) > bytes)
		return -EINVAL;
	return verify(program, ret_states);
}

static int get_texts(struct sonde_filter *filter,
		     const struct sonde_kmod_event *from)
{
	size_t bytes = array_size(from->nr_texts, sizeof(*filter->texts));

	if (from->nr_texts == 0)
		return 0;
	filter->texts = kvmalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!filter->texts)
		return -ENOMEM;
	if (copy_from_user(filter->texts, u64_to_user_ptr(from->texts), bytes))
		return -EFAULT;
	filter->nr_texts = from->nr_texts;
	for (u32 i = 0; i < filter->nr_texts; i++) {
		if (filter->texts[i].reserved)
			return -EINVAL;
	}
	return 0;
}

static u32 fixed_bytes(const struct sonde_kmod_cap *caps, u32 nr)
{
	u32 bytes = 0;

	for (u32 i = 0; i < nr && !sonde_cap_varies(&caps[i]); i++)
		bytes += cap_bytes(&caps[i]);
	return bytes;
}

int sonde_filter_make(const struct sonde_kmod_event *from,
		      const struct sonde_kmod_cap *caps, u32 nr_caps,
		      struct sonde_filter **ret_filter)
{
	struct sonde_filter *filter =
		kzalloc(sizeof(*filter), GFP_KERNEL_ACCOUNT);
	struct sonde_program_state *states = NULL;
	int err;

	if (!filter)
		return -ENOMEM;
	filter->caps = caps;
	filter->nr_caps = nr_caps;
	filter->type = from->type;
	filter->is_described = from->flags & SONDE_KMOD_DESCRIBED;
	filter->is_typed = from->flags & SONDE_KMOD_TYPED;
	filter->is_seeing = from->address;
	filter->fixed = fixed_bytes(caps, nr_caps);
	err = sonde_filter_copy_program(from->filter, from->filter_bytes,
					&filter->program, &states);
	if (!err)
		err = get_texts(filter, from);
	if (!err)
		err = check_program(filter, from);
	if (!err)
		find_how(filter, states);
	kvfree(states);
	if (err)
		sonde_filter_free(filter);
	else
		*ret_filter = filter;
	return err;
}

void sonde_filter_free(const struct sonde_filter *filter)
{
	if (!filter)
		return;
	sonde_native_free(filter->native);
	kvfree(filter->texts);
	kvfree(filter->program);
	kfree(filter);
}
