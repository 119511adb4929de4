/* SPDX-License-Identifier: MIT */
/*
 * walk.c - goes through a structure by its class, value by value.
 *
 * The slow, general way: what plan.c compiles is the fast one, and both read
 * values with sonde_walk_leaf(). A walk has a stack of groups it is in, and
 * registers with the lengths and tags it came past (schema.h, invariant 4).
 *
 * It ends early, with `damaged` set, where a value would reach beyond the
 * limit. Elements that take no bits could be any number, also by being arrays
 * of such ones: more than MAX_EMPTY of them in a walk are damage too, so that
 * every walk ends.
 */
#include "reader/core/walk.h"

#include "reader/core/lane.h"
#include "reader/core/load.h"
#include "reader/core/plan.h"

#define MAX_EMPTY 65536

static bool leaf_number(const struct sonde_class *cls, const uint8_t *data,
			uint64_t *pos, uint64_t limit, uint64_t *ret_number)
{
	if (cls->bits) {
		if (*pos + cls->bits > limit)
			return false;
		*ret_number = sonde_load(data, *pos, sonde_load_of(cls));
		*pos += cls->bits;
		return true;
	}
	unsigned int bytes = sonde_load_leb128(
		data, *pos, limit, cls->kind == SONDE_KIND_INT, ret_number);

	*pos += (uint64_t)bytes * 8;
	return bytes;
}

/* Of IEEE 754's half size: 1 sign, 5 exponent, 10 mantissa bits, which are
 * those of a float from bit 13 on. */
static double half_as_double(uint64_t number)
{
	uint32_t sign = (uint32_t)(number >> 15) << 31;
	uint32_t exponent = number >> 10 & 31;
	uint32_t mantissa = number & 1023;
	uint32_t bits = sign | (exponent + 112) << 23 | mantissa << 13;
	float value;

	if (!exponent) /* too small for a leading one: in units of 2^-24 */
		return (sign ? -1.0 : 1.0) * mantissa / (1 << 24);
	if (exponent == 31)
		bits |= UINT32_C(0x7f800000);
	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

static double as_double(uint64_t number, unsigned int bits)
{
	uint32_t low = (uint32_t)number;
	double d;
	float f;

	if (bits == 16)
		return half_as_double(number);
	if (bits == 32) {
		memcpy(&f, &low, sizeof(f));
		return (double)f;
	}
	memcpy(&d, &number, sizeof(d));
	return d;
}

static bool leaf_bytes(const struct sonde_class *cls, const uint8_t *data,
		       uint64_t *pos, uint64_t limit, const uint64_t *regs,
		       struct sonde_value *ret_value)
{
	const uint8_t *from = data + (*pos >> 3);
	uint64_t room = (limit - *pos) / 8;
	unsigned int unit = sonde_encoding_unit(cls->encoding);
	uint64_t bytes;

	if (cls->length == SONDE_LENGTH_ZERO) {
		bytes = sonde_load_strlen(from, room, unit);
		if (bytes == UINT64_MAX)
			return false;
		*pos += (bytes + unit) * 8;
	} else {
		bytes = cls->length == SONDE_LENGTH_FIXED ? cls->count :
							    regs[cls->ref->reg];
		if (bytes > room)
			return false;
		*pos += bytes * 8;
		if (bytes % unit)
			return false;
		/* A string in a larger place ends at the first zero. */
		if (cls->kind == SONDE_KIND_STRING) {
			uint64_t used = sonde_load_strlen(from, bytes, unit);

			bytes = used < bytes ? used : bytes;
		}
	}
	ret_value->text = (const char *)from;
	ret_value->length = bytes;
	return true;
}

bool sonde_walk_leaf(const struct sonde_class *cls, const uint8_t *data,
		     uint64_t *pos, uint64_t limit, const uint64_t *regs,
		     struct sonde_value *ret_value)
{
	uint64_t number;

	ret_value->kind = cls->kind;
	ret_value->cls = cls;
	ret_value->length = 0;
	if (*pos > limit)
		return false;
	if (cls->kind == SONDE_KIND_STRING || cls->kind == SONDE_KIND_BLOB)
		return leaf_bytes(cls, data, pos, limit, regs, ret_value);
	if (!leaf_number(cls, data, pos, limit, &number))
		return false;
	if (cls->kind == SONDE_KIND_FLOAT)
		ret_value->d = as_double(number, cls->bits);
	else if (cls->kind == SONDE_KIND_BOOL)
		ret_value->u = number != 0;
	else
		ret_value->u = sonde_class_from_origin(cls, number);
	return true;
}

static bool in_range(const struct sonde_class *ref,
		     const struct sonde_label *range, uint64_t value)
{
	if (ref->kind == SONDE_KIND_INT)
		return (int64_t)range->low <= (int64_t)value &&
		       (int64_t)value <= (int64_t)range->high;
	return range->low <= value && value <= range->high;
}

int64_t sonde_walk_choice(const struct sonde_class *cls, uint64_t selector)
{
	if (cls->kind == SONDE_KIND_OPTIONAL && !cls->members[0].nr_ranges)
		return selector ? 0 : -1;
	if (cls->ref->kind == SONDE_KIND_BOOL)
		selector = selector != 0;
	for (size_t i = 0; i < cls->nr_members; i++)
		for (size_t j = 0; j < cls->members[i].nr_ranges; j++)
			if (in_range(cls->ref, &cls->members[i].ranges[j],
				     selector))
				return (int64_t)i;
	return -1;
}

/* Sets the level's first and last element; the value's number for groups. */
static bool walk_open_group(struct sonde_walk *walk,
			    struct sonde_walk_level *level,
			    struct sonde_value *value)
{
	const struct sonde_class *cls = level->cls;
	int64_t choice;

	level->at = 0;
	level->length = cls->nr_members;
	level->from = walk->pos;
	value->u = 0;
	if (cls->kind == SONDE_KIND_ARRAY)
		level->length = cls->count;
	else if (cls->kind == SONDE_KIND_SEQUENCE)
		level->length = walk->regs[cls->ref->reg];
	value->length = level->length;
	if (sonde_class_is_bytes(cls) && !(walk->pos & 7) &&
	    level->length <= (walk->limit - walk->pos) / 8)
		value->text = (const char *)walk->data + (walk->pos >> 3);
	if (cls->kind == SONDE_KIND_VARIANT ||
	    cls->kind == SONDE_KIND_OPTIONAL) {
		choice = sonde_walk_choice(cls, walk->regs[cls->ref->reg]);
		value->length = choice >= 0;
		if (choice < 0 && cls->kind == SONDE_KIND_VARIANT)
			return false;
		value->u = cls->kind == SONDE_KIND_VARIANT ? (uint64_t)choice :
							     choice == 0;
		level->at = choice < 0 ? 0 : (uint64_t)choice;
		level->length = (uint64_t)(choice + 1);
	}
	return level->length <= walk->limit - walk->pos + MAX_EMPTY;
}

void sonde_walk_enter(struct sonde_walk *walk, const uint8_t *data,
		      uint64_t pos, uint64_t limit,
		      const struct sonde_class *cls)
{
	walk->data = data;
	walk->limit = limit;
	walk->depth = 0;
	walk->damaged = false;
	walk->why = NULL;
	walk->nr_empty = 0;
	walk->pos = pos;
	if (!cls)
		return;
	walk->pos = sonde_align(pos, cls->align_bits);
	walk->level[0] = (struct sonde_walk_level){
		.cls = cls,
		.length = cls->nr_members,
	};
	walk->depth = 1;
}

static enum sonde_walk_item damaged(struct sonde_walk *walk, const char *why)
{
	walk->damaged = true;
	walk->why = why;
	walk->depth = 0;
	return SONDE_WALK_END;
}

/* A leaf that isn't whole before the limit, or is it? NULL if not. */
static const char *why_leaf(const struct sonde_walk *walk,
			    const struct sonde_class *cls)
{
	uint64_t pos = walk->pos;

	if ((cls->kind == SONDE_KIND_STRING || cls->kind == SONDE_KIND_BLOB) &&
	    cls->length == SONDE_LENGTH_FIELD)
		return walk->regs[cls->ref->reg] %
				       sonde_encoding_unit(cls->encoding) ?
			       "a text ends inside of a character" :
			       NULL;
	if (cls->kind > SONDE_KIND_INT || cls->bits)
		return NULL;
	while (pos + 8 <= walk->limit && walk->data[pos >> 3] & 0x80)
		pos += 8;
	return pos + 8 <= walk->limit || pos - walk->pos > 72 ?
		       "a LEB128 number has more than 64 bits" :
		       NULL;
}

static const char *why_group(const struct sonde_class *cls,
			     const struct sonde_value *value)
{
	return cls->kind == SONDE_KIND_VARIANT && !value->length ?
		       "a variant's tag chooses none of its options" :
		       NULL;
}

/* The class of the element that is next in a level, and its name; NULL if
 * there are too many that take no bits. */
static const struct sonde_class *next_element(struct sonde_walk *walk,
					      struct sonde_walk_level *level,
					      const char **ret_name)
{
	const struct sonde_class *cls = level->cls;
	uint64_t i = level->at++;

	*ret_name = NULL;
	if (cls->kind == SONDE_KIND_ARRAY || cls->kind == SONDE_KIND_SEQUENCE) {
		if (i && walk->pos == level->from &&
		    ++walk->nr_empty > MAX_EMPTY)
			return NULL;
		level->from = walk->pos;
		return cls->members[0].cls;
	}
	if (cls->kind == SONDE_KIND_OPTIONAL)
		return cls->members[0].cls;
	*ret_name = cls->members[i].name;
	return cls->members[i].cls;
}

enum sonde_walk_item sonde_walk_next(struct sonde_walk *walk,
				     const char **ret_name,
				     struct sonde_value *ret_value)
{
	struct sonde_walk_level *level;
	const struct sonde_class *cls;

	if (!walk->depth)
		return SONDE_WALK_END;
	level = &walk->level[walk->depth - 1];
	if (level->at >= level->length) {
		ret_value->cls = level->cls;
		ret_value->kind = level->cls->kind;
		return --walk->depth ? SONDE_WALK_GROUP_END : SONDE_WALK_END;
	}
	cls = next_element(walk, level, ret_name);
	if (!cls)
		return damaged(walk, "too many elements take no bits");
	walk->pos = sonde_align(walk->pos, cls->align_bits);
	if (sonde_kind_is_leaf(cls->kind)) {
		if (!sonde_walk_leaf(cls, walk->data, &walk->pos, walk->limit,
				     walk->regs, ret_value))
			return damaged(walk, why_leaf(walk, cls));
		if (cls->reg >= 0)
			walk->regs[cls->reg] = ret_value->u;
		return SONDE_WALK_VALUE;
	}
	if (walk->depth == SONDE_WALK_DEPTH || walk->pos > walk->limit)
		return damaged(walk, NULL);
	level[1].cls = cls;
	ret_value->kind = cls->kind;
	ret_value->cls = cls;
	if (!walk_open_group(walk, &level[1], ret_value))
		return damaged(walk, why_group(cls, ret_value));
	walk->depth++;
	return SONDE_WALK_GROUP;
}

void sonde_walk_begin(struct sonde_walk *walk, const struct sonde_event *event,
		      enum sonde_scope scope)
{
	const struct sonde_plan *plan = event->cls->plan;
	const struct sonde_lane *lane = event->lane;
	uint32_t before = plan->first_regs[scope];
	uint64_t pos = 0;

	if (scope == SONDE_SCOPE_PACKET_CONTEXT)
		pos = lane->context_pos;
	else if (scope == SONDE_SCOPE_EVENT_HEADER)
		pos = event->pos - event->head_bits;
	else if (scope > SONDE_SCOPE_EVENT_HEADER)
		pos = sonde_lane_place(event, plan->scopes[scope].block) +
		      plan->scopes[scope].offset;
	if (before) {
		sonde_lane_locate(event);
		memcpy(walk->regs, lane->regs, before * sizeof(walk->regs[0]));
	}
	memset(walk->regs + before, 0,
	       (plan->nr_regs - before) * sizeof(walk->regs[0]));
	sonde_walk_enter(walk, event->data, pos, lane->content,
			 sonde_event_class_scope(event->cls, scope));
}
