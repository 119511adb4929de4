/* SPDX-License-Identifier: MIT */
/*
 * plan.c - a class compiled to how its events are passed over and where their
 * fields are (plan.h).
 *
 * While a body is compiled, the position is (block, offset) and the block's
 * alignment is known; whatever can't keep that begins a new block. What doesn't
 * fit is refused when the trace is opened, never when an event is read. Linear
 * in the classes.
 */
#include "reader/core/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "reader/core/walk.h"

#define MAX_OPS   100000
#define MAX_DENSE 65536 /* ids */
/* Of a header's fixed part: what is read may be behind the file's end. */
#define MAX_LAYOUT_BITS 256
#define DYNAMIC         UINT64_MAX

/*
 * What is known while a body is compiled: the present position is `offset` bits
 * after the beginning of block `block`, which is a multiple of `align` bits.
 */
struct emitter {
	struct sonde_pool *pool;
	struct sonde_plan *plan;
	size_t capacity;
	uint32_t block;
	uint64_t offset;
	uint32_t align;
	bool begun;  /* something of this block has a place already */
	int inside;  /* loops and choices around: nothing has a place */
	bool failed; /* no memory, or too long */
	struct sonde_op nowhere; /* to write to once failed */
};

static uint64_t static_bits(const struct sonde_class *cls);

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static uint64_t static_array_bits(const struct sonde_class *cls)
{
	const struct sonde_class *of = cls->members[0].cls;
	uint64_t one = static_bits(of);
	uint64_t bits;

	if (one == DYNAMIC || cls->count > UINT32_MAX || one > UINT32_MAX / 2)
		return DYNAMIC;
	if (!cls->count)
		return 0;
	/* so many of nothing are for the program to refuse */
	if (!one && cls->count > UINT16_MAX)
		return DYNAMIC;
	bits = (cls->count - 1) * sonde_align(one, of->align_bits) + one;
	return bits < UINT32_MAX ? bits : DYNAMIC;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static uint64_t static_struct_bits(const struct sonde_class *cls)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < cls->nr_members; i++) {
		const struct sonde_class *of = cls->members[i].cls;
		uint64_t one = static_bits(of);

		if (one == DYNAMIC)
			return DYNAMIC;
		bits = sonde_align(bits, of->align_bits) + one;
		if (bits >= UINT32_MAX)
			return DYNAMIC;
	}
	return bits;
}

/*
 * The bits of a class if they are the same in all events, from a position
 * aligned for it; DYNAMIC if not. What others depend on inside of arrays is
 * dynamic, too: its register has to be set.
 */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static uint64_t static_bits(const struct sonde_class *cls)
{
	if (cls->kind == SONDE_KIND_STRING || cls->kind == SONDE_KIND_BLOB)
		return cls->length == SONDE_LENGTH_FIXED &&
				       cls->count < 1u << 28 ?
			       cls->count * 8 :
			       DYNAMIC;
	if (sonde_kind_is_leaf(cls->kind))
		return cls->bits && cls->reg < 0 ? cls->bits : DYNAMIC;
	if (cls->kind == SONDE_KIND_ARRAY)
		return static_array_bits(cls);
	return cls->kind == SONDE_KIND_STRUCT ? static_struct_bits(cls) :
						DYNAMIC;
}

static struct sonde_op *emit(struct emitter *to, enum sonde_op_code code)
{
	struct sonde_plan *plan = to->plan;
	struct sonde_op *op;

	if (plan->nr_ops < MAX_OPS)
		plan->ops = sonde_pool_grow(to->pool, plan->ops, plan->nr_ops,
					    &to->capacity, sizeof(*op));
	if (plan->nr_ops >= MAX_OPS || !plan->ops) {
		to->failed = true;
		plan->nr_ops = 0;
		to->capacity = 0;
		return &to->nowhere;
	}
	op = &plan->ops[plan->nr_ops++];
	*op = (struct sonde_op){
		.code = (uint8_t)code,
		.skip = to->offset,
		.align = 1,
		.index = -1,
	};
	return op;
}

/* A new block, from here on; what came before is skipped first. */
static void begin_block(struct emitter *to, uint32_t align, uint32_t known)
{
	struct sonde_op *op = emit(to, SONDE_OP_BLOCK);

	op->align = align;
	if (!to->inside) {
		to->block++;
		op->index = (int16_t)to->block;
		to->failed |= to->block >= INT16_MAX;
		if (to->block < 16 && (align % 8 == 0 || known % 8 == 0))
			to->plan->byte_blocks |= 1u << to->block;
	}
	to->offset = 0;
	to->align = align > known ? align : known;
	to->begun = false;
}

static void align_to(struct emitter *to, uint32_t align)
{
	if (align <= to->align) {
		to->offset = sonde_align(to->offset, align);
		to->failed |= to->offset > UINT32_MAX;
		return;
	}
	if (to->offset || to->begun) {
		/* the gap depends on where the block begins */
		begin_block(to, align, 1);
		return;
	}
	/* the block's beginning moves */
	to->align = align;
	if (to->plan->nr_ops)
		to->plan->ops[to->plan->nr_ops - 1].align = align;
	else
		to->plan->align = align;
	if (!to->inside && to->block < 16 && align % 8 == 0)
		to->plan->byte_blocks |= 1u << to->block;
}

/* Marks a class, and what is in it at fixed places. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void plan_place(struct emitter *to, struct sonde_class *cls,
		       uint64_t offset)
{
	to->begun = true;
	if (to->inside)
		return;
	cls->placed = true;
	cls->block = to->block;
	cls->offset = (uint32_t)offset;
	if (cls->kind != SONDE_KIND_STRUCT)
		return;
	for (size_t i = 0; i < cls->nr_members; i++) {
		struct sonde_class *of = cls->members[i].cls;

		offset = sonde_align(offset, of->align_bits);
		plan_place(to, of, offset);
		offset += static_bits(of);
	}
}

static void emit_leaf(struct emitter *to, struct sonde_class *cls)
{
	struct sonde_op *op;

	plan_place(to, cls, to->offset);
	if (cls->kind != SONDE_KIND_STRING && cls->kind != SONDE_KIND_BLOB) {
		if (cls->bits) {
			op = emit(to, SONDE_OP_SAVE);
			op->load = sonde_load_of(cls);
			op->index = cls->reg;
			to->offset += cls->bits;
			return;
		}
		op = emit(to, SONDE_OP_LEB128);
		op->load.is_signed = cls->kind == SONDE_KIND_INT;
		op->index = cls->reg;
	} else if (cls->length == SONDE_LENGTH_ZERO) {
		op = emit(to, SONDE_OP_STRING);
		op->size = sonde_encoding_unit(cls->encoding);
	} else {
		op = emit(to, SONDE_OP_ELEMENTS);
		op->size = 8;
		op->cls = cls; /* its characters; a fixed number: cls->count */
		if (cls->length == SONDE_LENGTH_FIELD)
			op->index = cls->ref->reg;
	}
	to->offset = 0;
	begin_block(to, 1, 8);
}

static void emit_class(struct emitter *to, struct sonde_class *cls);

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void emit_elements(struct emitter *to, struct sonde_class *cls)
{
	struct sonde_class *of = cls->members[0].cls;
	uint64_t bits = static_bits(of);
	bool counted = cls->kind == SONDE_KIND_SEQUENCE;
	struct sonde_op *op;
	uint32_t loop;

	if (bits != DYNAMIC) {
		op = emit(to, SONDE_OP_ELEMENTS);
		op->size = bits;
		op->align = of->align_bits;
		if (counted)
			op->index = cls->ref->reg;
		else
			op->cls = cls;
		to->offset = 0;
		begin_block(to, 1, bits % 8 || of->align_bits % 8 ? 1 : 8);
		return;
	}
	loop = to->plan->nr_ops;
	op = emit(to, SONDE_OP_LOOP);
	if (counted)
		op->index = cls->ref->reg;
	op->size = cls->count;
	to->offset = 0;
	to->inside++;
	begin_block(to, 1, 1);
	emit_class(to, of);
	op = emit(to, SONDE_OP_NEXT);
	op->target = loop + 1;
	if (!to->failed)
		to->plan->ops[loop].target = to->plan->nr_ops;
	to->inside--;
	to->offset = 0;
	begin_block(to, 1, 1);
}

/* CHOOSE, then a JUMP for each option and one for none; then the options, each
 * with a JUMP to what follows. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void emit_choice(struct emitter *to, struct sonde_class *cls)
{
	uint32_t table;
	uint32_t end;

	emit(to, SONDE_OP_CHOOSE)->cls = cls;
	to->offset = 0;
	table = to->plan->nr_ops;
	for (size_t i = 0; i <= cls->nr_members; i++)
		emit(to, SONDE_OP_JUMP);
	to->inside++;
	for (size_t i = 0; i < cls->nr_members && !to->failed; i++) {
		to->plan->ops[table + i].target = to->plan->nr_ops;
		begin_block(to, 1, 1);
		emit_class(to, cls->members[i].cls);
		emit(to, SONDE_OP_JUMP);
		to->offset = 0;
	}
	to->inside--;
	end = to->plan->nr_ops;
	begin_block(to, 1, 1);
	if (to->failed)
		return;
	to->plan->ops[table + cls->nr_members].target = end;
	for (size_t i = 0; i < cls->nr_members; i++) {
		uint32_t next = i + 1 < cls->nr_members ?
					to->plan->ops[table + i + 1].target :
					end;

		to->plan->ops[next - 1].target = end;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void emit_class(struct emitter *to, struct sonde_class *cls)
{
	uint64_t bits = static_bits(cls);

	if (to->failed)
		return;
	align_to(to, cls->align_bits);
	if (bits != DYNAMIC) {
		if (to->offset + bits >= UINT32_MAX)
			begin_block(to, cls->align_bits, 1);
		plan_place(to, cls, to->offset);
		to->offset += bits;
		return;
	}
	if (sonde_kind_is_leaf(cls->kind)) {
		emit_leaf(to, cls);
		return;
	}
	if (!to->inside) {
		cls->placed = true;
		cls->block = to->block;
		cls->offset = (uint32_t)to->offset;
	}
	to->begun = true;
	if (cls->kind == SONDE_KIND_STRUCT) {
		for (size_t i = 0; i < cls->nr_members; i++)
			emit_class(to, cls->members[i].cls);
	} else if (cls->kind == SONDE_KIND_ARRAY ||
		   cls->kind == SONDE_KIND_SEQUENCE) {
		emit_elements(to, cls);
	} else {
		emit_choice(to, cls);
	}
}

/* Whether what comes after `bits` from a byte on ends at a byte. */
static bool ends_at_byte(uint64_t bits, const struct sonde_head_layout *layout)
{
	return (sonde_align(bits, layout->align) + layout->bits) % 8 == 0;
}

/* Whether the bodies behind this header surely begin at a byte. */
static bool header_ends_at_byte(const struct sonde_head_plan *head)
{
	uint32_t bits = head->normal.bits;

	if (head->walked || head->align % 8)
		return false;
	return head->escapes ? ends_at_byte(bits, &head->shorter) &&
				       ends_at_byte(bits, &head->longer) :
			       bits % 8 == 0;
}

/* Many events end in their only string: those need no program. */
static void plan_find_text(struct sonde_plan *plan)
{
	const struct sonde_op *ops = plan->ops;

	plan->ends_in_text =
		plan->nr_ops == 3 && ops[0].code == SONDE_OP_STRING &&
		ops[0].size == 1 && ops[1].code == SONDE_OP_BLOCK &&
		ops[1].align == 1 && !ops[1].skip && !ops[2].skip;
	if (plan->ends_in_text)
		plan->fixed_bits = ops[0].skip;
}

static int compile_body(struct emitter *to, const struct sonde_event_class *cls,
			const struct sonde_head_plan *head)
{
	struct sonde_plan *plan = to->plan;

	for (int i = SONDE_SCOPE_COMMON_CONTEXT; i < SONDE_NR_SCOPES; i++) {
		struct sonde_class *scope =
			i == SONDE_SCOPE_COMMON_CONTEXT ?
				cls->stream_class->scopes[i] :
				cls->scopes[i];

		if (!scope)
			continue;
		align_to(to, scope->align_bits);
		plan->scopes[i] = (struct sonde_plan_place){
			to->block,
			(uint32_t)to->offset,
		};
		emit_class(to, scope);
		to->begun = true;
	}
	if (to->failed)
		return -ENOMEM;
	plan->fixed = !plan->nr_ops;
	plan->fixed_bits = to->offset;
	if (!plan->fixed)
		emit(to, SONDE_OP_END);
	plan_find_text(plan);
	plan->nr_blocks = to->block + 1;
	if (plan->align % 8 == 0 || header_ends_at_byte(head))
		plan->byte_blocks |= 1;
	return to->failed ? -ENOMEM : 0;
}

/* ---- headers ---- */

/* All numbers of a structure at fixed places, at most one id and one time. */
static bool layout_of(const struct sonde_class *cls,
		      struct sonde_head_layout *ret_layout)
{
	uint64_t offset = 0;

	*ret_layout = (struct sonde_head_layout){ .align = 1 };
	if (!cls)
		return true;
	ret_layout->align = cls->align_bits;
	if (static_bits(cls) == DYNAMIC || static_bits(cls) > MAX_LAYOUT_BITS ||
	    cls->align_bits > MAX_LAYOUT_BITS)
		return false;
	for (size_t i = 0; i < cls->nr_members; i++) {
		const struct sonde_class *of = cls->members[i].cls;
		struct sonde_head_part *part = NULL;

		offset = sonde_align(offset, of->align_bits);
		if (of->role == SONDE_ROLE_EVENT_ID)
			part = &ret_layout->id;
		else if (of->role == SONDE_ROLE_TIME)
			part = &ret_layout->time;
		else if (!sonde_kind_is_leaf(of->kind))
			return false;
		if (part && (part->load.bits || !of->bits))
			return false;
		if (part)
			*part = (struct sonde_head_part){
				sonde_load_of(of),
				(uint32_t)offset,
			};
		offset += static_bits(of);
	}
	ret_layout->bits = (uint32_t)offset;
	return true;
}

/* Is it LTTng's: { tag; variant <tag> of two structures }? */
static bool escape_form(const struct sonde_class *cls,
			struct sonde_head_plan *plan)
{
	const struct sonde_class *tag;
	const struct sonde_class *variant;
	const struct sonde_member *longer;

	if (!cls || cls->nr_members != 2)
		return false;
	tag = cls->members[0].cls;
	variant = cls->members[1].cls;
	if (tag->kind != SONDE_KIND_UINT || !tag->bits ||
	    tag->role != SONDE_ROLE_EVENT_ID ||
	    variant->kind != SONDE_KIND_VARIANT || variant->ref != tag ||
	    variant->nr_members != 2 || variant->align_bits != 1)
		return false;
	for (int i = 0; i < 2; i++)
		if (variant->members[i].cls->kind != SONDE_KIND_STRUCT)
			return false;
	if (!layout_of(variant->members[0].cls, &plan->shorter) ||
	    !layout_of(variant->members[1].cls, &plan->longer))
		return false;
	longer = &variant->members[1];
	/* every tag must choose one: else what is not `longer` isn't shorter */
	if (longer->nr_ranges != 1 || plan->shorter.id.load.bits ||
	    variant->members[0].nr_ranges != 1 ||
	    variant->members[0].ranges[0].low != 0 ||
	    variant->members[0].ranges[0].high + 1 != longer->ranges[0].low ||
	    longer->ranges[0].high != UINT64_MAX >> (64 - tag->bits))
		return false;
	plan->escape_low = longer->ranges[0].low;
	plan->escape_high = longer->ranges[0].high;
	plan->normal = (struct sonde_head_layout){
		.align = cls->align_bits,
		.bits = tag->bits,
		.id = { .load = sonde_load_of(tag) },
	};
	return true;
}

/* The registers that the numbers in a class set. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static uint64_t regs_set(const struct sonde_class *cls)
{
	uint64_t regs = 0;

	if (!cls)
		return 0;
	if (cls->reg >= 0)
		regs = UINT64_C(1) << cls->reg;
	for (size_t i = 0; i < cls->nr_members; i++)
		regs |= regs_set(cls->members[i].cls);
	return regs;
}

/* The registers that lengths and choices in a class need. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static uint64_t regs_used(const struct sonde_class *cls)
{
	uint64_t regs = 0;

	if (!cls)
		return 0;
	if (cls->ref)
		regs = UINT64_C(1) << cls->ref->reg;
	for (size_t i = 0; i < cls->nr_members; i++)
		regs |= regs_used(cls->members[i].cls);
	return regs;
}

static bool bodies_use(const struct sonde_stream_class *cls, uint64_t regs)
{
	if (regs_used(cls->scopes[SONDE_SCOPE_COMMON_CONTEXT]) & regs)
		return true;
	for (size_t i = 0; i < cls->nr_events; i++)
		for (int j = 0; j < SONDE_NR_SCOPES; j++)
			if (regs_used(cls->events[i]->scopes[j]) & regs)
				return true;
	return false;
}

/* How many registers these and those before them have: they are numbered in
 * the order of the scopes. */
static uint32_t regs_until(uint32_t before, const struct sonde_class *cls)
{
	uint64_t regs = regs_set(cls);
	uint32_t until = regs ? 64 - (uint32_t)__builtin_clzll(regs) : 0;

	return until > before ? until : before;
}

static void number_registers(struct sonde_plan *plan)
{
	uint32_t nr = 0;

	for (enum sonde_scope i = 0; i < SONDE_NR_SCOPES; i++) {
		plan->first_regs[i] = (uint8_t)nr;
		nr = regs_until(nr, sonde_event_class_scope(plan->cls, i));
	}
}

static bool quick_part(const struct sonde_head_part *part, uint32_t at,
		       struct sonde_quick_part *ret_part)
{
	uint32_t bit = at + part->offset;
	unsigned int bits = part->load.bits;

	*ret_part = (struct sonde_quick_part){
		.byte = (uint8_t)(bit / 8),
		.shift = bit % 8,
		.bits = (uint8_t)bits,
		.mask = bits ? UINT64_MAX >> (64 - bits) : 0,
	};
	return !bits || (!part->load.big_endian && !part->load.reversed &&
			 !part->load.is_signed && bit % 8 + bits <= 64);
}

/* Whether an id and a time can be had by a load each; the time's layout begins
 * `at` bits behind the header's begin. */
static void make_quick(const struct sonde_head_part *id, uint32_t id_at,
		       const struct sonde_head_layout *timed, uint32_t at,
		       struct sonde_quick *quick)
{
	quick->is = quick_part(id, id_at, &quick->id) &&
		    quick_part(&timed->time, at, &quick->time);
	quick->bits = at + timed->bits;
}

/* Where what follows the tag begins, if it is as far from each tag. */
static uint32_t behind_tag(const struct sonde_head_plan *plan,
			   const struct sonde_head_layout *layout)
{
	return (uint32_t)sonde_align(plan->normal.bits, layout->align);
}

static void plan_find_quick(struct sonde_head_plan *plan)
{
	const struct sonde_head_layout *normal = &plan->normal;
	const struct sonde_head_layout *shorter = &plan->shorter;
	const struct sonde_head_layout *longer = &plan->longer;

	if (!plan->escapes)
		plan->escape_low = UINT64_MAX;
	if (plan->walked || plan->align % 8)
		return;
	if (!plan->escapes) {
		if (normal->align <= plan->align)
			make_quick(&normal->id, 0, normal, 0, &plan->quick[0]);
		return;
	}
	if (shorter->align <= plan->align)
		make_quick(&normal->id, 0, shorter, behind_tag(plan, shorter),
			   &plan->quick[0]);
	if (longer->align <= plan->align && longer->id.load.bits &&
	    plan->quick[0].is)
		make_quick(&longer->id, behind_tag(plan, longer), longer,
			   behind_tag(plan, longer), &plan->quick[1]);
}

static void compile_head(const struct sonde_schema *schema,
			 const struct sonde_stream_class *cls,
			 struct sonde_head_plan *plan)
{
	const struct sonde_class *header =
		cls->scopes[SONDE_SCOPE_EVENT_HEADER];

	plan->cls = cls;
	plan->first_reg = regs_until(regs_until(0, schema->packet_header),
				     cls->scopes[SONDE_SCOPE_PACKET_CONTEXT]);
	plan->align = header ? header->align_bits : 1;
	plan->walked = bodies_use(cls, regs_set(header));
	if (plan->walked)
		return;
	plan->escapes = escape_form(header, plan);
	if (!plan->escapes)
		plan->walked =
			!layout_of(header, &plan->normal) ||
			(!plan->normal.id.load.bits && cls->nr_events > 1);
	plan_find_quick(plan);
}

/* ---- all of a source ---- */

static int by_id(const void *a, const void *b)
{
	const struct sonde_plan *const *left = a;
	const struct sonde_plan *const *right = b;
	uint64_t l = (*left)->cls->info.id;
	uint64_t r = (*right)->cls->info.id;

	return l < r ? -1 : l > r;
}

static void find_quick_ids(struct sonde_head_plan *head)
{
	for (int i = 0; i < 2; i++) {
		struct sonde_quick *quick = &head->quick[i];

		if (quick->is && quick->id.bits)
			quick->ids = head->nr_dense;
	}
	if (head->quick[0].ids > head->escape_low)
		head->quick[0].ids = head->escape_low;
}

static int index_events(struct sonde_pool *pool, struct sonde_head_plan *head)
{
	const struct sonde_stream_class *cls = head->cls;

	uint64_t dense = cls->nr_events * 16 + 64;

	if (dense > MAX_DENSE)
		dense = MAX_DENSE;
	for (size_t i = 0; i < cls->nr_events; i++)
		if (cls->events[i]->info.id < dense &&
		    cls->events[i]->info.id >= head->nr_dense)
			head->nr_dense = cls->events[i]->info.id + 1;
	head->dense = sonde_pool_get(pool, head->nr_dense + 1,
				     sizeof(struct sonde_plan *));
	head->sparse = sonde_pool_get(pool, cls->nr_events + 1,
				      sizeof(struct sonde_plan *));
	if (!head->dense || !head->sparse)
		return -ENOMEM;
	for (size_t i = 0; i < cls->nr_events; i++) {
		struct sonde_plan *plan = cls->events[i]->plan;

		if (cls->events[i]->info.id < dense)
			head->dense[cls->events[i]->info.id] = plan;
		else
			head->sparse[head->nr_sparse++] = plan;
		if (plan->nr_blocks > head->max_blocks)
			head->max_blocks = plan->nr_blocks;
	}
	if (head->nr_sparse)
		qsort(head->sparse, head->nr_sparse,
		      sizeof(struct sonde_plan *), by_id);
	if (cls->nr_events == 1 && !cls->events[0]->has_id)
		head->any = cls->events[0]->plan;
	if (cls->nr_events && !head->normal.id.load.bits && !head->walked)
		head->only = cls->events[0]->plan;
	find_quick_ids(head);
	return 0;
}

static void find_numbers(struct sonde_plan *plan)
{
	static const char *const tids[] = { "vtid", "tid", NULL };
	static const char *const pids[] = { "vpid", "pid", NULL };
	const enum sonde_scope scopes[] = {
		SONDE_SCOPE_EVENT_CONTEXT,
		SONDE_SCOPE_COMMON_CONTEXT,
		SONDE_SCOPE_PACKET_CONTEXT,
	};

	for (int s = 0; s < 3 && !plan->procname.owner; s++)
		(void)sonde_event_class_field(plan->cls, scopes[s], "procname",
					      &plan->procname);
	for (int s = 0; s < 3; s++)
		for (int n = 0; n < 2; n++) {
			if (!plan->tid.owner)
				(void)sonde_event_class_field(plan->cls,
							      scopes[s],
							      tids[n],
							      &plan->tid);
			if (!plan->pid.owner)
				(void)sonde_event_class_field(plan->cls,
							      scopes[s],
							      pids[n],
							      &plan->pid);
		}
	/* perf has its contexts among the fields, and so have samples */
	if (!plan->pid.owner && !strcmp(plan->cls->info.name, "sonde:sample"))
		(void)sonde_event_class_field(plan->cls, SONDE_SCOPE_PAYLOAD,
					      "pid", &plan->pid);
	if (!plan->tid.owner)
		(void)sonde_event_class_field(plan->cls, SONDE_SCOPE_PAYLOAD,
					      "perf_tid", &plan->tid);
	if (!plan->pid.owner)
		(void)sonde_event_class_field(plan->cls, SONDE_SCOPE_PAYLOAD,
					      "perf_pid", &plan->pid);
	if (!plan->is_context)
		return;
	plan->is_context =
		!sonde_event_class_field(plan->cls, SONDE_SCOPE_PAYLOAD, "tid",
					 &plan->tid) &&
		!sonde_event_class_field(plan->cls, SONDE_SCOPE_PAYLOAD, "pid",
					 &plan->pid) &&
		plan->tid.cls->kind <= SONDE_KIND_INT &&
		plan->pid.cls->kind <= SONDE_KIND_INT;
}

/* The header begins at a multiple of its alignment, so a body that needs no
 * larger one is always as far from there. */
static void plan_find_plain(struct sonde_plan *plan,
			    const struct sonde_head_plan *head)
{
	plan->is_plain = head->quick[0].is && head->quick[0].bits &&
			 plan->align <= head->align && !plan->is_internal &&
			 (plan->fixed || plan->ends_in_text);
	for (int i = 0; i < 2; i++) {
		uint64_t pos = sonde_align(head->quick[i].bits, plan->align);

		plan->plain_pos[i] = (uint32_t)pos;
		plan->plain_end[i] = pos + plan->fixed_bits;
	}
}

static int make_event(struct sonde_source *source,
		      struct sonde_event_class *cls,
		      const struct sonde_head_plan *head)
{
	struct sonde_pool *pool = &source->schema->pool;
	struct sonde_plan *plan = sonde_pool_get(pool, 1, sizeof(*plan));
	struct emitter emitter = { .pool = pool, .plan = plan, .align = 1 };
	int err;

	if (!plan)
		return -ENOMEM;
	cls->plan = plan;
	plan->cls = cls;
	plan->align = 1;
	plan->is_internal = cls->info.internal;
	plan->is_context = plan->is_internal;
	plan->nr_regs = (uint32_t)cls->nr_regs;
	number_registers(plan);
	err = compile_body(&emitter, cls, head);
	if (!err)
		find_numbers(plan);
	plan_find_plain(plan, head);
	return err;
}

int sonde_plan_make(struct sonde_trace *trace, struct sonde_source *source,
		    struct sonde_trace_error *error)
{
	struct sonde_schema *schema = source->schema;
	int err = 0;

	(void)trace;
	for (size_t i = 0; i < schema->nr_streams && !err; i++) {
		struct sonde_stream_class *cls = schema->streams[i];
		struct sonde_head_plan *head =
			sonde_pool_get(&schema->pool, 1, sizeof(*head));

		if (!head)
			return -ENOMEM;
		cls->plan = head;
		compile_head(schema, cls, head);
		for (size_t j = 0; j < cls->nr_events && !err; j++)
			err = make_event(source, cls->events[j], head);
		if (!err)
			err = index_events(&schema->pool, head);
	}
	if (err)
		(void)snprintf(error->text, sizeof(error->text),
			       "%s: an event's description is too large",
			       source->path);
	return err;
}
