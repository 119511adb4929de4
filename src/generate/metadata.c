/* SPDX-License-Identifier: MIT */
/*
 * metadata.c - a model as metadata of a trace.
 *
 * Each event becomes the description that its function's tracepoint leaves in a
 * program (sonde/abi.h), and that is said by what says it in a recording. So
 * both mean the same bytes; a test compares them.
 *
 * The checksum is that of all descriptions, in the order of the file, with zeros
 * for itself; and the UUID is made of it.
 */
#include <errno.h>
#include <string.h>

#include "base/sum.h"
#include "ctf/language.h"
#include "generate/model.h"
#include "generate/types.h"
#include "types/build.h"
#include "types/desc.h"

/* Up to so many, a record's short header has the id (ring/layout.h). */
#define FEW_EVENTS 30u

static uint32_t number_flags(const struct sonde_class *cls)
{
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return (cls->kind == SONDE_KIND_INT ? SONDE_FIELD_SIGNED : 0) |
	       (cls->base == 16 ? SONDE_FIELD_HEX : 0) |
	       (cls->big_endian != big ? SONDE_FIELD_NETWORK : 0) |
	       (cls->is_bool ? SONDE_FIELD_BOOL : 0) |
	       (cls->is_char ? SONDE_FIELD_CHAR : 0);
}

/* A number without labels. */
static struct sonde_desc_field number_field(const struct sonde_class *cls)
{
	return (struct sonde_desc_field){
		.kind = cls->kind == SONDE_KIND_FLOAT ? SONDE_TYPE_FLOAT :
			cls->value_bits               ? SONDE_TYPE_BITS :
							SONDE_TYPE_INT,
		.bits = cls->value_bits ? cls->value_bits : cls->bits,
		.flags = cls->kind == SONDE_KIND_FLOAT ? 0 : number_flags(cls),
	};
}

static void build_labels(struct sonde_build *build, const char *name,
			 const struct sonde_class *cls)
{
	struct sonde_build_label labels[SONDE_GENERATE_LABELS];

	for (size_t i = 0; i < cls->nr_labels; i++)
		labels[i] = (struct sonde_build_label){
			.first = (int64_t)cls->labels[i].low,
			.last = (int64_t)cls->labels[i].high,
			.text = cls->labels[i].name,
		};
	sonde_build_enum(build, name, cls->bits, number_flags(cls), labels,
			 cls->nr_labels);
}

static void build_elements(struct sonde_build *build, const char *name,
			   const struct sonde_class *cls)
{
	const struct sonde_class *element = cls->members[0].cls;

	if (sonde_class_is_bytes(cls))
		sonde_build_blob(build, name);
	else if (cls->kind == SONDE_KIND_ARRAY && element->is_char)
		sonde_build_text(build, name, (uint32_t)cls->count);
	else
		sonde_build_list(build, name, (uint32_t)cls->count,
				 number_field(element));
}

/* Of an option's position, as a tracepoint has it. */
static void build_tag(struct sonde_build *build, const char *name,
		      const struct sonde_class *cls)
{
	struct sonde_build_label labels[SONDE_GENERATE_OPTIONS + 1];
	char tag[SONDE_GENERATE_NAME_MAX + 8];
	size_t nr = 0;

	for (size_t i = 0; i < cls->nr_members; i++) {
		if (sonde_generate_is_made(cls, i))
			continue;
		labels[nr] = (struct sonde_build_label){
			.first = (int64_t)nr,
			.last = (int64_t)nr,
			.text = cls->members[i].name,
		};
		nr++;
	}
	labels[nr] =
		(struct sonde_build_label){ (int64_t)nr, (int64_t)nr, "none" };
	(void)snprintf(tag, sizeof(tag), "%s_tag", name);
	sonde_build_enum(build, tag, 8, 0, labels, nr + 1);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_NEST */
static void build_members(struct sonde_build *build,
			  const struct sonde_class *group)
{
	for (size_t i = 0; i < group->nr_members; i++) {
		const char *name = group->members[i].name;
		const struct sonde_class *cls = group->members[i].cls;
		struct sonde_build_struct begun;

		if (sonde_generate_is_made(group, i))
			continue;
		if (cls->kind == SONDE_KIND_STRUCT) {
			begun = sonde_build_struct(build, name);
			build_members(build, cls);
			sonde_build_struct_end(build, begun);
		} else if (cls->kind == SONDE_KIND_VARIANT) {
			build_tag(build, name, cls);
			begun = sonde_build_variant(build, name);
			build_members(build, cls);
			sonde_build_plain(build, "none",
					  (struct sonde_desc_field){
						  .kind = SONDE_TYPE_STRUCT });
			sonde_build_struct_end(build, begun);
		} else if (cls->kind == SONDE_KIND_STRING) {
			sonde_build_plain(build, name,
					  (struct sonde_desc_field){
						  .kind = SONDE_TYPE_STRING,
						  .count = (uint32_t)cls->count,
					  });
		} else if (cls->nr_labels) {
			build_labels(build, name, cls);
		} else if (cls->kind == SONDE_KIND_ARRAY ||
			   cls->kind == SONDE_KIND_SEQUENCE) {
			build_elements(build, name, cls);
		} else {
			sonde_build_plain(build, name, number_field(cls));
		}
	}
}

/* `room`: SONDE_DESC_MAX bytes, aligned to 8. */
static int build_event(const struct sonde_generate_model *model,
		       const struct sonde_generate_event *event, void *room)
{
	struct sonde_build build;

	sonde_build_begin(&build, room, model->provider, event->name,
			  event->level);
	build_members(&build, event->payload);
	return sonde_build_end_described(&build, model->checksum);
}

int sonde_generate_sum(struct sonde_generate_model *model,
		       const struct sonde_generate_event **ret_event)
{
	_Alignas(8) unsigned char room[SONDE_DESC_MAX];
	uint64_t sum = sonde_sum(model->provider, strlen(model->provider));

	model->checksum = 0; /* as it is in what is summed */
	for (const struct sonde_generate_event *event = model->events; event;
	     event = event->next) {
		int err = build_event(model, event, room);

		*ret_event = event;
		if (err)
			return err;
		sum = sonde_sum_mix(
			sum, sonde_sum(room, sonde_desc_size((void *)room)));
	}
	model->checksum = sum ? sum : 1;
	return 0;
}

uint32_t sonde_generate_describe(const struct sonde_generate_model *model,
				 const struct sonde_generate_event *event,
				 void *room)
{
	/* It was possible when it was summed. */
	(void)build_event(model, event, room);
	return sonde_desc_size(room);
}

static int say_described(const struct sonde_generate_model *model,
			 const struct sonde_ctf_config *config,
			 const struct sonde_ctf_class *cls,
			 struct sonde_ctf_text *to)
{
	_Alignas(8) unsigned char room[SONDE_DESC_MAX];
	uint32_t id = 1;
	int err = sonde_ctf_say_class(config, cls, model->provider, to);

	for (const struct sonde_generate_event *event = model->events;
	     event && !err; event = event->next) {
		err = build_event(model, event, room);
		if (!err)
			err = sonde_ctf_say_event(config, cls, id++,
						  (const void *)room, to);
	}
	return err;
}

/* Of version 8: what it is made of is our affair. */
void sonde_generate_uuid(const struct sonde_generate_model *model,
			 uint8_t ret_uuid[16])
{
	const uint64_t more = sonde_sum_mix(model->checksum, 0);

	memcpy(ret_uuid, &model->checksum, sizeof(model->checksum));
	memcpy(ret_uuid + 8, &more, sizeof(more));
	ret_uuid[6] = (uint8_t)((ret_uuid[6] & 0x0f) | 0x80);
	ret_uuid[8] = (uint8_t)((ret_uuid[8] & 0x3f) | 0x80);
}

int sonde_generate_metadata(const struct sonde_generate_model *model,
			    const struct sonde_generate_trace *trace,
			    struct sonde_ctf_text *to)
{
	const struct sonde_ctf_env env[] = {
		{ .name = "trace_name", .text = model->provider },
	};
	struct sonde_ctf_config config = {
		.version = trace->version,
		.domain = SONDE_CTF_PROGRAMS,
		.clock = { .name = "monotonic",
			   .description =
				   trace->is_bare ? "ticks" : "CLOCK_MONOTONIC",
			   .freq = trace->frequency },
		.env = env,
		.nr_env = 1,
	};
	struct sonde_ctf_class cls = { .kind = SONDE_COMPACT };
	unsigned int nr = 0;
	int err;

	for (const struct sonde_generate_event *event = model->events; event;
	     event = event->next)
		if (++nr > FEW_EVENTS && !trace->is_bare)
			cls.kind = SONDE_LARGE;
	sonde_generate_uuid(model, config.uuid);
	err = sonde_ctf_say_trace(&config, to);
	return err ? err : say_described(model, &config, &cls, to);
}
