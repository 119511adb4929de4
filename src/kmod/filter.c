// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * filter.c - conditions in the kernel: verified programs of expr/.
 *
 * A program sees two bases: 0, the payload, of which the part before its first
 * text or buffer is at fixed places; 1, { u32 tid, u32 cpu }. It calls for
 * texts: reference i is texts[i] (abi.h), found in the payload when it is asked
 * for. Programs agree with source/condition.c, which made them.
 *
 * ## Invariants
 *
 *  1. A program is copied, then verified (expr/program.h), then kept as it is.
 *  2. All that it reads of base 0 is before `needed`; a payload that is shorter
 *     doesn't pass. Texts are found within the payload that there is.
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
 * ## Quick filters
 *
 * `field op constant`, where the field is nothing but an argument's low bytes,
 * is judged by the probe itself (capture.h), before anything is captured: whether
 * those bytes are in a range. They are shifted to the left end of a word first,
 * so it doesn't matter what the rest of the argument's word holds; and signed
 * numbers begin with the least one. A described event's one argument is a call,
 * so it has no quick filter.
 *
 * Cost: a quick filter about ten instructions; else about forty, and eight
 * for each operation, besides what staging costs.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "expr/program.h"
#include "kmod/capture.h"

#define BASES 3u /* bits: payload, whence */

/* Base 1. */
struct whence {
	u32 tid;
	u32 cpu;
};

struct sonde_filter {
	struct sonde_filter_quick quick; /* first: capture.h */
	u32 needed;
	u32 fixed; /* bytes of the payload at fixed places */
	u32 nr_texts;
	u32 most_bytes; /* of a text that it may see */
	u32 nr_caps;
	bool is_described; /* caps are of the payload only, not of arguments */
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

static bool is_varying(const struct sonde_kmod_cap *cap)
{
	return cap->kind != SONDE_KMOD_VALUE && cap->kind != SONDE_KMOD_BYTES;
}

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

		if (is_varying(cap) && !ordinal--) {
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
	struct whence whence = {
		.tid = (u32)current->pid,
		.cpu = (u32)raw_smp_processor_id(),
	};
	struct record record = { filter, payload, bytes };
	struct sonde_expr_env env;

	if (bytes < filter->needed)
		return false;
	env.bases[0] = payload;
	env.bases[1] = (const uint8_t *)&whence;
	env.call = fetch;
	env.ctx = &record;
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

static int check_program(struct sonde_filter *filter)
{
	const struct sonde_program *program = filter->program;
	int err = 0;

	if (program->bases & ~BASES)
		return -EINVAL;
	if (program->type == SONDE_EXPR_DOUBLE)
		return -EOPNOTSUPP;
	filter->most_bytes = find_most_bytes(filter);
	for (u32 i = 0; !err && i < program->nr_ops; i++)
		err = check_op(filter, &program->ops[i]);
	return err;
}

u64 sonde_filter_steps(const struct sonde_filter *filter)
{
	return filter ? filter->steps : 0;
}

/* ---- quick ones ---- */

/* The argument of which that field is the low bytes, and nothing else. */
static bool find_argument(const struct sonde_filter *filter, u32 offset,
			  u32 bytes, u8 *ret_index)
{
	u32 at = 0;

	for (u32 i = 0; i < filter->nr_caps && at <= offset; i++) {
		const struct sonde_kmod_cap *cap = &filter->caps[i];

		if (is_varying(cap))
			return false;
		if (at == offset) {
			*ret_index = cap->index;
			return cap->kind == SONDE_KMOD_VALUE &&
			       cap->from == SONDE_KMOD_FROM_ARG &&
			       !cap->nr_path && !cap->from_bytes && !cap->max &&
			       cap->bytes == bytes;
		}
		at += cap->kind == SONDE_KMOD_VALUE ? cap->bytes : cap->max;
	}
	return false;
}

/* The range of what is below a constant, in shifted values; false: it can't be
 * said, or nothing is. */
static bool find_below(const struct sonde_expr_op *load,
		       const struct sonde_expr_op *test,
		       struct sonde_filter_quick *quick)
{
	u64 number = test->number;
	u64 shifted = number << quick->shift;
	u32 operands = sonde_expr_op_infos[load->code].operands;
	bool is_signed = operands & SONDE_EXPR_OPERAND_SIGNED;
	bool is_unsigned = !is_signed &&
			   sonde_expr_op_infos[load->code].bytes < sizeof(u64);

	if ((operands & ~SONDE_EXPR_OPERAND_SIGNED) != SONDE_EXPR_OPERAND_MEM)
		return false;
	if (test->code == SONDE_EXPR_OP_IF_BELOW_U && !is_signed &&
	    shifted >> quick->shift == number)
		quick->low = 0;
	else if (test->code == SONDE_EXPR_OP_IF_BELOW_S && !is_unsigned &&
		 (s64)shifted >> quick->shift == (s64)number)
		quick->low = (u64)S64_MIN;
	else
		return false;
	quick->span = shifted - 1 - quick->low;
	return shifted != quick->low;
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
find_test(const struct sonde_program *program, struct sonde_filter_quick *quick)
{
	const struct sonde_expr_op *load = program->ops;

	quick->shift = (u8)(64 - 8 * sonde_expr_op_infos[load->code].bytes);
	if (load->code >= SONDE_EXPR_OP_IF_MEM8_IS &&
	    load->code <= SONDE_EXPR_OP_IF_MEM64_IS) {
		quick->low = load->number << quick->shift;
		quick->span = 0;
		return load;
	}
	return find_below(load, load + 1, quick) ? load + 1 : NULL;
}

static void find_quick(struct sonde_filter *filter)
{
	const struct sonde_program *program = filter->program;
	const struct sonde_expr_op *load = program->ops;
	u32 bytes = sonde_expr_op_infos[load->code].bytes;
	const struct sonde_expr_op *test;
	struct sonde_filter_quick quick = { .is_quick = 1 };
	bool passes;

	if (program->nr_ops < 3 || load->base != 0 ||
	    !(sonde_expr_op_infos[load->code].operands &
	      SONDE_EXPR_OPERAND_MEM))
		return;
	test = find_test(program, &quick);
	if (!test || !verdict(program, test, &passes) ||
	    !find_argument(filter, load->offset, bytes, &quick.index))
		return;
	if (!passes) { /* what is not in the range is one, too */
		quick.low += quick.span + 1;
		quick.span = U64_MAX - 1 - quick.span;
	}
	filter->quick = quick;
}

/* ---- life ---- */

static int verify(const struct sonde_program *program)
{
	struct sonde_program_state *states =
		kvcalloc(program->nr_ops, sizeof(*states), GFP_KERNEL_ACCOUNT);
	bool is_good;

	if (!states)
		return -ENOMEM;
	is_good = sonde_program_verify(program, states);
	kvfree(states);
	return is_good ? 0 : -EINVAL;
}

static int get_program(struct sonde_filter *filter,
		       const struct sonde_kmod_event *from)
{
	const void __user *at = u64_to_user_ptr(from->filter);
	struct sonde_program *program;
	u64 bytes;

	if (from->filter_bytes < sizeof(*program) ||
	    from->filter_bytes > SONDE_KMOD_FILTER_MAX)
		return -EINVAL;
	program = kvmalloc(from->filter_bytes, GFP_KERNEL_ACCOUNT);
	if (!program)
		return -ENOMEM;
	filter->program = program;
	if (copy_from_user(program, at, from->filter_bytes))
		return -EFAULT;
	if (program->nr_ops == 0 || program->nr_ops > SONDE_PROGRAM_OPS)
		return -EINVAL;
	bytes = sizeof(*program) +
		(u64)program->nr_ops * sizeof(program->ops[0]) +
		program->texts_bytes;
	if (bytes > from->filter_bytes)
		return -EINVAL;
	return verify(program);
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

	for (u32 i = 0; i < nr && !is_varying(&caps[i]); i++)
		bytes += caps[i].kind == SONDE_KMOD_VALUE ? caps[i].bytes :
							    caps[i].max;
	return bytes;
}

int sonde_filter_make(const struct sonde_kmod_event *from,
		      const struct sonde_kmod_cap *caps, u32 nr_caps,
		      struct sonde_filter **ret_filter)
{
	struct sonde_filter *filter =
		kzalloc(sizeof(*filter), GFP_KERNEL_ACCOUNT);
	int err;

	if (!filter)
		return -ENOMEM;
	filter->caps = caps;
	filter->nr_caps = nr_caps;
	filter->is_described = from->flags & SONDE_KMOD_DESCRIBED;
	filter->fixed = fixed_bytes(caps, nr_caps);
	err = get_program(filter, from);
	if (!err)
		err = get_texts(filter, from);
	if (!err)
		err = check_program(filter);
	if (err) {
		sonde_filter_free(filter);
		return err;
	}
	if (!filter->is_described)
		find_quick(filter);
	*ret_filter = filter;
	return 0;
}

void sonde_filter_free(const struct sonde_filter *filter)
{
	if (!filter)
		return;
	kvfree(filter->texts);
	kvfree(filter->program);
	kfree(filter);
}
