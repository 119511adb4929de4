/* SPDX-License-Identifier: MIT */
/*
 * perfetto_packets.c - packets of a Perfetto trace, one at a time
 * (perfetto_packets.h).
 *
 * A name's text goes into the first packet that uses its number, ahead of the
 * packet's own fields, and never again. A packet is complete in memory before
 * it is written.
 */
#include "view/export/perfetto_packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/export/export.h"
#include "view/text/show.h"

/* As what the viewer knows an interned name. */
#define KNOWN_EVENT_NAME      1u
#define KNOWN_ANNOTATION_NAME 2u

int sonde_perfetto_packets_init(struct sonde_perfetto_packets *packets,
				FILE *to, struct sonde_export_names *names,
				struct sonde_names *codes)
{
	*packets = (struct sonde_perfetto_packets){
		.to = to,
		.names = names,
		.codes = codes,
	};
	packets->known = calloc(SONDE_NAMES_MAX, 1);
	return packets->known ? 0 : -ENOMEM;
}

void sonde_perfetto_packets_fini(struct sonde_perfetto_packets *packets)
{
	sonde_proto_fini(&packets->packet);
	sonde_proto_fini(&packets->interned);
	free(packets->known);
	packets->known = NULL;
}

struct sonde_proto *sonde_perfetto_begin(struct sonde_perfetto_packets *packets)
{
	sonde_proto_reset(&packets->packet);
	sonde_proto_reset(&packets->interned);
	sonde_proto_uint(&packets->packet, PACKET_SEQUENCE, SEQUENCE);
	return &packets->packet;
}

int sonde_perfetto_end(struct sonde_perfetto_packets *packets)
{
	struct sonde_proto *packet = &packets->packet;
	struct sonde_proto *head = &packets->interned;
	bool failed = packets->interned.failed;

	if (packets->interned.used > 0)
		sonde_proto_bytes(packet, PACKET_INTERNED,
				  packets->interned.bytes,
				  packets->interned.used);
	/* The file's own field: its tag and length, then the packet. */
	sonde_proto_reset(head);
	sonde_proto_bytes(head, TRACE_PACKET, packet->bytes, packet->used);
	if (failed || packet->failed || head->failed)
		return -ENOMEM;
	return sonde_export_write(packets->to, head->bytes, head->used);
}

/* A name's number, with its text if it is new to the viewer. 0: it has none. */
static uint32_t intern(struct sonde_perfetto_packets *packets, uint32_t name,
		       uint8_t known, enum interned_field field)
{
	if (name == 0 || (packets->known[name] & known))
		return name;
	packets->known[name] |= known;
	sonde_proto_open(&packets->interned, field);
	sonde_proto_uint(&packets->interned, INTERNED_IID, name);
	sonde_proto_text(&packets->interned, INTERNED_TEXT,
			 packets->names->texts[name]);
	sonde_proto_close(&packets->interned);
	return name;
}

/* ---- fields as annotations ---- */

static void put_annotation_name(struct sonde_perfetto_packets *packets,
				const char *name)
{
	uint32_t number;

	if (!name)
		return;
	number = intern(packets,
			sonde_export_names_lasting(packets->names, name),
			KNOWN_ANNOTATION_NAME, INTERNED_ANNOTATION_NAME);
	if (number != 0)
		sonde_proto_uint(&packets->packet, ANNOTATION_NAME_IID, number);
	else
		sonde_proto_text(&packets->packet, ANNOTATION_NAME, name);
}

static void packets_put_text(struct sonde_perfetto_packets *packets,
			     const struct sonde_value *value)
{
	char text[4096];
	char safe[2 * sizeof(text)];
	size_t length = sonde_value_utf8(value, text, sizeof(text));

	if (length >= sizeof(text))
		length = sizeof(text) - 1;
	(void)sonde_show_safe(safe, sizeof(safe), text, length);
	sonde_proto_text(&packets->packet, ANNOTATION_TEXT, safe);
}

static void packets_put_number(struct sonde_proto *to,
			       const struct sonde_value *value)
{
	const char *label = NULL;

	if (value->cls && sonde_class_has_labels(value->cls))
		label = sonde_class_label(value->cls, value->u, 0);
	if (label)
		sonde_proto_text(to, ANNOTATION_TEXT, label);
	else if (value->kind == SONDE_KIND_INT)
		sonde_proto_int(to, ANNOTATION_INT, value->i);
	else if (value->cls && sonde_class_base(value->cls) == 16)
		sonde_proto_uint(to, ANNOTATION_POINTER, value->u);
	else
		sonde_proto_uint(to, ANNOTATION_UINT, value->u);
}

static void packets_put_value(struct sonde_perfetto_packets *packets,
			      const struct sonde_value *value)
{
	struct sonde_proto *to = &packets->packet;

	switch (value->kind) {
	case SONDE_KIND_UINT:
	case SONDE_KIND_INT:
	case SONDE_KIND_BITS:
		packets_put_number(to, value);
		break;
	case SONDE_KIND_BOOL:
		sonde_proto_uint(to, ANNOTATION_BOOL, value->u != 0);
		break;
	case SONDE_KIND_FLOAT:
		sonde_proto_double(to, ANNOTATION_DOUBLE, value->d);
		break;
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
		packets_put_text(packets, value);
		break;
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_SEQUENCE:
	case SONDE_KIND_VARIANT:
	case SONDE_KIND_OPTIONAL:
		break;
	}
}

static void packets_put_named(struct sonde_perfetto_packets *packets,
			      const struct sonde_event *event,
			      const char *field,
			      const struct sonde_value *value)
{
	const struct sonde_name *name = NULL;
	char text[128];

	if (field && value->kind <= SONDE_KIND_INT)
		name = sonde_names_field(packets->codes, event, field,
					 value->u);
	if (!name ||
	    snprintf(text, sizeof(text), "%s_name", field) >= (int)sizeof(text))
		return;
	sonde_proto_open(&packets->packet, EVENT_ANNOTATION);
	sonde_proto_text(&packets->packet, ANNOTATION_NAME, text);
	sonde_proto_text(&packets->packet, ANNOTATION_TEXT, name->text);
	sonde_proto_close(&packets->packet);
}

void sonde_perfetto_stack(struct sonde_perfetto_packets *packets,
			  const struct sonde_event *event)
{
	struct sonde_proto *to = &packets->packet;
	const struct sonde_names_stack *stack = NULL;

	if (sonde_names_has_stacks(packets->codes))
		stack = sonde_names_stack(packets->codes, event);
	if (!stack)
		return;
	sonde_proto_open(to, EVENT_ANNOTATION);
	put_annotation_name(packets, "frames"); /* `stack` is its number */
	for (uint32_t i = 0; i < stack->nr; i++) {
		const struct sonde_name *name = sonde_names_frame(
			packets->codes, event, stack->frames[i]);

		sonde_proto_open(to, ANNOTATION_ELEMENT);
		sonde_proto_text(to, ANNOTATION_TEXT,
				 name ? name->text : "unknown");
		sonde_proto_close(to);
	}
	sonde_proto_close(to);
}

void sonde_perfetto_fields(struct sonde_perfetto_packets *packets,
			   const struct sonde_event *event,
			   enum sonde_scope scope)
{
	uint32_t field[SONDE_WALK_DEPTH + 1] = { EVENT_ANNOTATION };
	size_t depth = 0;
	enum sonde_walk_item item;
	struct sonde_walk walk;
	struct sonde_value value;
	const char *name;

	sonde_walk_begin(&walk, event, scope);
	while ((item = sonde_walk_next(&walk, &name, &value)) !=
	       SONDE_WALK_END) {
		if (item == SONDE_WALK_GROUP_END) {
			sonde_proto_close(&packets->packet);
			depth--;
			continue;
		}
		sonde_proto_open(&packets->packet, field[depth]);
		put_annotation_name(packets, name);
		if (item == SONDE_WALK_GROUP) {
			field[++depth] =
				value.kind == SONDE_KIND_ARRAY ||
						value.kind ==
							SONDE_KIND_SEQUENCE ?
					ANNOTATION_ELEMENT :
					ANNOTATION_MEMBER;
			continue;
		}
		packets_put_value(packets, &value);
		sonde_proto_close(&packets->packet);
		if (!depth)
			packets_put_named(packets, event, name, &value);
	}
}

void sonde_perfetto_name(struct sonde_perfetto_packets *packets, uint32_t name)
{
	if (intern(packets, name, KNOWN_EVENT_NAME, INTERNED_EVENT_NAME) != 0)
		sonde_proto_uint(&packets->packet, EVENT_NAME_IID, name);
	else
		sonde_proto_text(&packets->packet, EVENT_NAME,
				 packets->names->texts[0]);
}
