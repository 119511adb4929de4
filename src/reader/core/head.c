/* SPDX-License-Identifier: MIT */
/*
 * head.c - a packet's head: packet header, then packet context, walked once
 * while the numbers that have a role are collected.
 */
#include <errno.h>

#include "reader/core/load.h"
#include "reader/core/walk.h"
#include "reader/reader.h"

#define MAGIC UINT64_C(0xc1fc1fc1)

static const char ends_inside[] = "the file ends inside a packet's head";

/* One walk over a head. */
struct survey {
	const struct sonde_source *source;
	const uint8_t *data;
	struct sonde_head *head;
	struct sonde_walk walk;
	/* what sonde_head_field() looks for */
	enum sonde_role wanted;
	const struct sonde_class *found;
	uint64_t found_bit;
};

static void take_number(struct survey *survey, const struct sonde_value *value)
{
	struct sonde_head *head = survey->head;
	enum sonde_role role = value->cls->role;
	uint64_t *to[] = {
		[SONDE_ROLE_STREAM_ID] = &head->instance,
		[SONDE_ROLE_PACKET_BITS] = &head->packet_bits,
		[SONDE_ROLE_CONTENT_BITS] = &head->content_bits,
		[SONDE_ROLE_TIME] = &head->ticks_begin,
		[SONDE_ROLE_TIME_END] = &head->ticks_end,
		[SONDE_ROLE_DISCARDED] = &head->discarded,
		[SONDE_ROLE_SEQUENCE] = &head->sequence,
		[SONDE_ROLE_EVENT_ID] = NULL,
	};

	if (to[role])
		*to[role] = value->u;
	head->has |= 1u << role;
	if (role == survey->wanted) {
		survey->found = value->cls;
		survey->found_bit = survey->walk.pos - value->cls->bits;
	}
}

/* A UUID is an array of bytes, or a blob. The walk stands where the array's
 * elements begin, or behind the blob. */
static bool head_take_uuid(struct survey *survey,
			   const struct sonde_value *value)
{
	uint64_t pos = survey->walk.pos;

	if (value->length != 16)
		return true;
	if (value->kind == SONDE_KIND_BLOB)
		memcpy(survey->head->uuid, value->text, 16);
	else if (!(pos & 7) && pos + 128 <= survey->walk.limit)
		memcpy(survey->head->uuid, survey->data + (pos >> 3), 16);
	else
		return true;
	survey->head->has |= 1u << SONDE_ROLE_UUID;
	return !survey->source->schema->has_uuid ||
	       !memcmp(survey->head->uuid, survey->source->schema->uuid, 16);
}

static const char *take(struct survey *survey, enum sonde_scope scope,
			const char *name, const struct sonde_value *value)
{
	enum sonde_role role = value->cls->role;

	if (role == SONDE_ROLE_UUID) {
		survey->head->other_uuid = !head_take_uuid(survey, value);
		return NULL;
	}
	if (role == SONDE_ROLE_MAGIC && value->u != MAGIC)
		return "no packet begins here (its magic number is missing)";
	if (role == SONDE_ROLE_STREAM_CLASS_ID) {
		for (size_t i = 0; i < survey->source->schema->nr_streams; i++)
			if (survey->source->schema->streams[i]->id == value->u)
				survey->head->cls =
					survey->source->schema->streams[i];
		if (survey->head->cls->id != value->u)
			return "the metadata has no such stream class";
	}
	if (role && value->kind <= SONDE_KIND_BITS)
		take_number(survey, value);
	if (scope == SONDE_SCOPE_PACKET_CONTEXT && name &&
	    value->kind <= SONDE_KIND_INT && value->u <= INT32_MAX &&
	    !strcmp(name, "cpu_id"))
		survey->head->cpu = (int32_t)value->u;
	return NULL;
}

static const char *survey_scope(struct survey *survey, enum sonde_scope scope,
				uint64_t pos, uint64_t limit,
				const struct sonde_class *cls)
{
	enum sonde_walk_item item;
	struct sonde_value value;
	const char *why = NULL;
	const char *name;

	sonde_walk_enter(&survey->walk, survey->data, pos, limit, cls);
	while (!why && (item = sonde_walk_next(&survey->walk, &name, &value)))
		if (item != SONDE_WALK_GROUP_END)
			why = take(survey, scope, name, &value);
	if (!why && survey->walk.damaged)
		why = survey->walk.why ? survey->walk.why : ends_inside;
	return why;
}

static int survey_head(struct survey *survey, uint64_t bytes,
		       const char **ret_why)
{
	const struct sonde_schema *schema = survey->source->schema;
	struct sonde_head *head = survey->head;
	uint64_t limit = bytes < UINT64_MAX / 16 ? bytes * 8 : UINT64_MAX / 2;

	if (!schema->nr_streams) {
		*ret_why = "the metadata has no stream class";
		return -EINVAL;
	}
	*head = (struct sonde_head){ .cls = schema->streams[0], .cpu = -1 };
	*ret_why = survey_scope(survey, SONDE_SCOPE_PACKET_HEADER, 0, limit,
				schema->packet_header);
	head->context_bit = (uint32_t)survey->walk.pos;
	if (!*ret_why)
		*ret_why = survey_scope(
			survey, SONDE_SCOPE_PACKET_CONTEXT, survey->walk.pos,
			limit, head->cls->scopes[SONDE_SCOPE_PACKET_CONTEXT]);
	if (!*ret_why && survey->walk.pos > UINT32_MAX)
		*ret_why = "the packet's head is too long";
	head->head_bits = (uint32_t)survey->walk.pos;
	memcpy(head->regs, survey->walk.regs, sizeof(head->regs));
	if (*ret_why == ends_inside)
		return -ENODATA;
	return *ret_why ? -EINVAL : 0;
}

int sonde_head_parse(const struct sonde_source *source, const uint8_t *data,
		     uint64_t bytes, struct sonde_head *ret_head,
		     const char **ret_why, uint64_t *ret_bit)
{
	struct survey survey = {
		.source = source,
		.data = data,
		.head = ret_head,
	};
	int err = survey_head(&survey, bytes, ret_why);

	*ret_bit = survey.walk.pos;
	return err;
}

int sonde_head_field(const struct sonde_source *source, const uint8_t *data,
		     uint64_t bytes, enum sonde_role role, uint64_t *ret_bit,
		     const struct sonde_class **ret_cls)
{
	struct sonde_head head;
	const char *why;
	struct survey survey = {
		.source = source,
		.data = data,
		.head = &head,
		.wanted = role,
	};
	int err = survey_head(&survey, bytes, &why);

	if (err)
		return err;
	if (!survey.found)
		return -ENOENT;
	*ret_bit = survey.found_bit;
	*ret_cls = survey.found;
	return 0;
}

void sonde_store_number(uint8_t *data, uint64_t bit,
			const struct sonde_class *cls, uint64_t value)
{
	struct sonde_load load = sonde_load_of(cls);

	if (load.reversed)
		value = sonde_reverse_bits(value, load.bits);
	for (unsigned int i = 0; i < load.bits; i++) {
		unsigned int from = load.big_endian ? load.bits - 1 - i : i;
		uint64_t at = bit + i;
		unsigned int in_byte = load.big_endian ? 7 - (at & 7) : at & 7;

		data[at >> 3] = (uint8_t)((data[at >> 3] & ~(1u << in_byte)) |
					  ((unsigned int)(value >> from & 1)
					   << in_byte));
	}
}
