/* SPDX-License-Identifier: MIT */
/*
 * desc.c - see desc.h. The check goes through a description once, with a small
 * stack of the structures it is in instead of recursion, so that its cost is
 * linear in the size and its memory is fixed whatever the bytes say.
 */
#include "types/desc.h"

#include "base/port.h"

/* Byte offset of sonde_desc.line, which two equal descriptions may differ in */
#define LINE_OFF    offsetof(struct sonde_desc, line)
#define LINE_SIZE   sizeof(uint32_t)

#define DESC_EINVAL (-22)
#define DESC_E2BIG  (-7)

_Static_assert(sizeof(struct sonde_desc) == 24, "ABI");
_Static_assert(sizeof(struct sonde_desc_field) == 16, "ABI");
_Static_assert(sizeof(struct sonde_desc_label) == 24, "ABI");
_Static_assert(sizeof(SONDE_DESC_MAGIC) == 9, "ABI");

/* A structure, variant or array the check is inside of; [0] is the event. */
struct frame {
	const uint8_t *end;
	uint32_t left;       /* records yet to come */
	uint32_t tag_labels; /* options a variant may have that comes next */
	bool elements;       /* of an array or sequence */
};

struct check {
	const uint8_t *at;
	uint32_t depth;
	struct frame stack[SONDE_NEST_MAX + 1];
};

static struct sonde_desc read_desc(const void *bytes)
{
	struct sonde_desc head;

	__builtin_memcpy(&head, bytes, sizeof(head));
	return head;
}

static struct sonde_desc_field read_field(const uint8_t *bytes)
{
	struct sonde_desc_field head;

	__builtin_memcpy(&head, bytes, sizeof(head));
	return head;
}

static struct sonde_desc_label read_label(const uint8_t *bytes)
{
	struct sonde_desc_label head;

	__builtin_memcpy(&head, bytes, sizeof(head));
	return head;
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Printable, and the only NUL is the last byte. */
static bool name_valid(const uint8_t *name, uint32_t size)
{
	if (size == 0 || name[size - 1] != 0)
		return false;
	for (uint32_t i = 0; i + 1 < size; i++) {
		if (name[i] < 0x20 || name[i] > 0x7e)
			return false;
	}
	return true;
}

/* A provider's or an event's name. */
static bool event_name_valid(const uint8_t *name, uint32_t size, bool is_event)
{
	if (size < 2 || name[size - 1] != 0 || !is_alpha((char)name[0]))
		return false;
	for (uint32_t i = 0; i + 1 < size; i++) {
		char c = (char)name[i];

		if (!is_alpha(c) && !(c >= '0' && c <= '9') && c != '.' &&
		    c != '-' && !(c == ':' && is_event))
			return false;
	}
	return true;
}

static uint8_t width_for(uint8_t bits)
{
	if (bits <= 8)
		return 8;
	if (bits <= 16)
		return 16;
	return bits <= 32 ? 32 : 64;
}

static bool width_valid(uint8_t bits)
{
	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static bool label_ordered(const struct sonde_desc_label *label, bool is_signed)
{
	if (is_signed)
		return label->first <= label->last;
	return (uint64_t)label->first <= (uint64_t)label->last;
}

/*
 * Check an enumeration's labels, which must fill `size` bytes. *ret_tags is
 * their number if label i is that of the value i alone, for all i; else 0.
 */
static int desc_check_labels(const uint8_t *at, uint32_t size, uint32_t count,
			     bool is_signed, uint32_t *ret_tags)
{
	bool tags = true;

	if (count == 0)
		return DESC_EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		struct sonde_desc_label label;
		uint32_t rest;

		if (size < sizeof(label))
			return DESC_EINVAL;
		label = read_label(at);
		rest = size - (uint32_t)sizeof(label);
		if (label.name_size > rest || label.reserved != 0 ||
		    !label_ordered(&label, is_signed) ||
		    !name_valid(at + sizeof(label), label.name_size))
			return DESC_EINVAL;
		tags = tags && label.first == i && label.last == i;
		at += sizeof(label) + label.name_size;
		size = rest - label.name_size;
	}
	if (size != 0)
		return DESC_EINVAL;
	*ret_tags = tags ? count : 0;
	return 0;
}

/* Widths and flags of what isn't made of other records. */
static bool scalar_valid(const struct sonde_desc_field *field)
{
	const uint32_t order = SONDE_FIELD_SIGNED | SONDE_FIELD_NETWORK;
	uint32_t allowed = 0;
	bool width = field->bits == 0;

	switch ((enum sonde_type)field->kind) {
	case SONDE_TYPE_INT:
		width = width_valid(field->bits);
		allowed = order | SONDE_FIELD_HEX | SONDE_FIELD_OCTAL |
			  SONDE_FIELD_BOOL | SONDE_FIELD_CHAR;
		break;
	case SONDE_TYPE_ENUM:
		width = width_valid(field->bits);
		allowed = order;
		break;
	case SONDE_TYPE_FLOAT:
		width = field->bits == 32 || field->bits == 64;
		allowed = SONDE_FIELD_NETWORK;
		break;
	case SONDE_TYPE_BITS:
		width = field->bits >= 1 && field->bits <= 64;
		allowed = SONDE_FIELD_SIGNED | SONDE_FIELD_HEX;
		break;
	case SONDE_TYPE_STRING:
	case SONDE_TYPE_TEXT:
	case SONDE_TYPE_ARRAY:
	case SONDE_TYPE_SEQUENCE:
	case SONDE_TYPE_BLOB:
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		break;
	default:
		return false;
	}
	return width && (field->flags & ~allowed) == 0;
}

/* Go into a record's extra, where `count` records are. */
static int desc_enter(struct check *check, uint32_t extra_size, uint32_t count,
		      bool elements)
{
	struct frame *frame;

	if (check->depth == SONDE_NEST_MAX)
		return DESC_E2BIG;
	if (count > SONDE_FIELDS_MAX)
		return DESC_E2BIG;
	check->depth++;
	frame = &check->stack[check->depth];
	frame->end = check->at + extra_size;
	frame->left = count;
	frame->tag_labels = 0;
	frame->elements = elements;
	return 0;
}

/* A count of elements that fit into SONDE_FIXED_MAX bytes, `bits` each. */
static int check_count(uint32_t count, uint8_t bits)
{
	if (count == 0)
		return DESC_EINVAL;
	if ((uint64_t)count * (bits / 8) >= SONDE_FIXED_MAX)
		return DESC_E2BIG;
	return 0;
}

/* Check an array's count against its element, whose head is next. */
static int check_array(const struct check *check,
		       const struct sonde_desc_field *field,
		       uint32_t extra_size)
{
	struct sonde_desc_field element;

	if (extra_size < sizeof(element))
		return DESC_EINVAL;
	element = read_field(check->at);
	return check_count(field->count, width_for(element.bits));
}

/*
 * Check what follows the name, at check->at; leaves check->at behind it, or at
 * its first nested record.
 */
static int check_extra(struct check *check,
		       const struct sonde_desc_field *field,
		       uint32_t extra_size, uint32_t tag_labels)
{
	struct frame *frame = &check->stack[check->depth];
	int error = 0;

	switch ((enum sonde_type)field->kind) {
	case SONDE_TYPE_ENUM:
		error = desc_check_labels(check->at, extra_size, field->count,
					  field->flags & SONDE_FIELD_SIGNED,
					  &frame->tag_labels);
		check->at += extra_size;
		return error;
	case SONDE_TYPE_ARRAY:
		error = check_array(check, field, extra_size);
		return error ? error : desc_enter(check, extra_size, 1, true);
	case SONDE_TYPE_SEQUENCE:
		return desc_enter(check, extra_size, 1, true);
	case SONDE_TYPE_STRUCT:
		return desc_enter(check, extra_size, field->count, false);
	case SONDE_TYPE_VARIANT:
		if (field->count == 0 || field->count != tag_labels)
			return DESC_EINVAL;
		return desc_enter(check, extra_size, field->count, false);
	case SONDE_TYPE_TEXT:
		error = check_count(field->count, 8);
		break;
	case SONDE_TYPE_INT:
	case SONDE_TYPE_FLOAT:
	case SONDE_TYPE_STRING:
	case SONDE_TYPE_BLOB:
	case SONDE_TYPE_BITS:
		break;
	}
	if (error == 0 && extra_size != 0)
		error = DESC_EINVAL;
	return error;
}

static int check_record(struct check *check)
{
	struct frame *frame = &check->stack[check->depth];
	size_t room = (size_t)(frame->end - check->at);
	uint32_t tag_labels = frame->tag_labels;
	struct sonde_desc_field field;

	if (room < sizeof(field))
		return DESC_EINVAL;
	field = read_field(check->at);
	if (field.size > room || field.size < sizeof(field) + field.name_size)
		return DESC_EINVAL;
	if (!name_valid(check->at + sizeof(field), field.name_size))
		return DESC_EINVAL;
	if (!scalar_valid(&field))
		return DESC_EINVAL;
	if (frame->elements &&
	    !(field.kind == SONDE_TYPE_INT || field.kind == SONDE_TYPE_FLOAT ||
	      field.kind == SONDE_TYPE_ENUM || field.kind == SONDE_TYPE_BITS))
		return DESC_EINVAL;
	frame->tag_labels = 0;
	frame->left--;
	check->at += sizeof(field) + field.name_size;
	return check_extra(check, &field,
			   field.size - (uint32_t)sizeof(field) -
				   field.name_size,
			   tag_labels);
}

/* Check `count` field records that end before `end`, and zeros after them. */
static int check_records(const uint8_t *at, const uint8_t *end, uint32_t count)
{
	struct check check = { .at = at };
	struct frame *frame = &check.stack[0];
	int error;

	frame->end = end;
	frame->left = count;
	while (check.depth > 0 || check.stack[0].left > 0) {
		frame = &check.stack[check.depth];
		if (frame->left > 0) {
			error = check_record(&check);
			if (error != 0)
				return error;
		} else if (check.at == frame->end) {
			check.depth--;
		} else {
			return DESC_EINVAL;
		}
	}
	if (end - check.at >= 8)
		return DESC_EINVAL;
	for (; check.at < end; check.at++) {
		if (*check.at != 0)
			return DESC_EINVAL;
	}
	return 0;
}

static uint32_t count_fields(const struct sonde_desc *head)
{
	if (head->nr_fields == SONDE_NR_FIELDS_REFERENCE)
		return 0;
	return head->nr_fields & ~SONDE_NR_FIELDS_DESCRIBED;
}

/* Bytes behind the padding. */
static uint32_t desc_tail_size(const struct sonde_desc *head)
{
	return head->nr_fields != SONDE_NR_FIELDS_REFERENCE &&
			       head->nr_fields & SONDE_NR_FIELDS_DESCRIBED ?
		       sizeof(uint64_t) :
		       0;
}

static int check_head(const struct sonde_desc *head, size_t size)
{
	if (__builtin_memcmp(head->magic, SONDE_DESC_MAGIC, 8) != 0 ||
	    head->version != SONDE_ABI_VERSION || head->loglevel > SONDE_DEBUG)
		return DESC_EINVAL;
	if (head->size > SONDE_DESC_MAX)
		return DESC_E2BIG;
	if (head->size > size || head->size % 8 != 0 ||
	    head->size < sizeof(*head))
		return DESC_EINVAL;
	if (head->provider_size > SONDE_NAME_MAX ||
	    head->name_size > SONDE_NAME_MAX)
		return DESC_E2BIG;
	if (sizeof(*head) + head->provider_size + head->name_size +
		    desc_tail_size(head) >
	    head->size)
		return DESC_EINVAL;
	return 0;
}

int sonde_desc_check(const void *bytes, size_t size,
		     const struct sonde_desc **ret_desc)
{
	const uint8_t *at = bytes;
	struct sonde_desc head;
	int error;

	if (size < sizeof(head))
		return DESC_EINVAL;
	head = read_desc(bytes);
	error = check_head(&head, size);
	if (error != 0)
		return error;
	if (count_fields(&head) > SONDE_FIELDS_MAX)
		return DESC_E2BIG;
	at += sizeof(head);
	if (!event_name_valid(at, head.provider_size, false) ||
	    !event_name_valid(at + head.provider_size, head.name_size, true))
		return DESC_EINVAL;
	at += head.provider_size + head.name_size;
	error = check_records(
		at, (const uint8_t *)bytes + head.size - desc_tail_size(&head),
		count_fields(&head));
	if (error == 0)
		*ret_desc = bytes;
	return error;
}

uint32_t sonde_desc_size(const struct sonde_desc *desc)
{
	return read_desc(desc).size;
}

uint32_t sonde_desc_line(const struct sonde_desc *desc)
{
	return read_desc(desc).line;
}

uint32_t sonde_desc_loglevel(const struct sonde_desc *desc)
{
	return read_desc(desc).loglevel;
}

uint32_t sonde_desc_nr_fields(const struct sonde_desc *desc)
{
	struct sonde_desc head = read_desc(desc);

	return count_fields(&head);
}

uint64_t sonde_desc_checksum_of(const struct sonde_desc *head,
				const void *bytes)
{
	uint32_t size = desc_tail_size(head);
	uint64_t checksum = 0;

	__builtin_memcpy(&checksum, (const uint8_t *)bytes + head->size - size,
			 size);
	return checksum;
}

uint64_t sonde_desc_checksum(const struct sonde_desc *desc)
{
	struct sonde_desc head = read_desc(desc);

	return sonde_desc_checksum_of(&head, desc);
}

bool sonde_desc_is_reference(const struct sonde_desc *desc)
{
	return read_desc(desc).nr_fields == SONDE_NR_FIELDS_REFERENCE;
}

const char *sonde_desc_provider(const struct sonde_desc *desc)
{
	return (const char *)desc + sizeof(*desc);
}

const char *sonde_desc_name(const struct sonde_desc *desc)
{
	return sonde_desc_provider(desc) + read_desc(desc).provider_size;
}

struct sonde_fields sonde_desc_fields(const struct sonde_desc *desc)
{
	struct sonde_desc head = read_desc(desc);

	return (struct sonde_fields){
		.next = (const uint8_t *)desc + sizeof(head) +
			head.provider_size + head.name_size,
		.left = count_fields(&head),
	};
}

struct sonde_fields sonde_field_children(const struct sonde_field_view *field)
{
	struct sonde_fields fields = { .next = field->extra };

	if (field->kind == SONDE_TYPE_STRUCT ||
	    field->kind == SONDE_TYPE_VARIANT)
		fields.left = field->count;
	else if (field->kind == SONDE_TYPE_ARRAY ||
		 field->kind == SONDE_TYPE_SEQUENCE)
		fields.left = 1;
	return fields;
}

bool sonde_fields_next(struct sonde_fields *fields,
		       struct sonde_field_view *ret_field)
{
	const uint8_t *at = fields->next;
	struct sonde_desc_field head;

	if (fields->left == 0)
		return false;
	head = read_field(at);
	*ret_field = (struct sonde_field_view){
		.name = (const char *)at + sizeof(head),
		.extra = at + sizeof(head) + head.name_size,
		.extra_size =
			head.size - (uint32_t)sizeof(head) - head.name_size,
		.count = head.count,
		.flags = head.flags,
		.kind = (enum sonde_type)head.kind,
		.bits = head.bits,
		.stored_bits = head.bits ? width_for(head.bits) : 0,
	};
	fields->next = at + head.size;
	fields->left--;
	return true;
}

struct sonde_labels sonde_field_labels(const struct sonde_field_view *field)
{
	return (struct sonde_labels){
		.next = field->extra,
		.left = field->kind == SONDE_TYPE_ENUM ? field->count : 0,
	};
}

bool sonde_labels_next(struct sonde_labels *labels,
		       struct sonde_label_view *ret_label)
{
	struct sonde_desc_label head;

	if (labels->left == 0)
		return false;
	head = read_label(labels->next);
	ret_label->first = head.first;
	ret_label->last = head.last;
	ret_label->text = (const char *)labels->next + sizeof(head);
	labels->next += sizeof(head) + head.name_size;
	labels->left--;
	return true;
}

bool sonde_desc_equal(const struct sonde_desc *a, const struct sonde_desc *b)
{
	const uint8_t *bytes_a = (const uint8_t *)a;
	const uint8_t *bytes_b = (const uint8_t *)b;
	const uint32_t after = LINE_OFF + LINE_SIZE;
	uint32_t size = sonde_desc_size(a);

	if (size != sonde_desc_size(b))
		return false;
	return __builtin_memcmp(bytes_a, bytes_b, LINE_OFF) == 0 &&
	       __builtin_memcmp(bytes_a + after, bytes_b + after,
				size - after) == 0;
}

uint32_t sonde_desc_hash(const struct sonde_desc *desc)
{
	const uint8_t *bytes = (const uint8_t *)desc;
	uint32_t size = sonde_desc_size(desc);
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (uint32_t i = 0; i < size; i++) {
		if (i - LINE_OFF < LINE_SIZE)
			continue;
		hash = (hash ^ bytes[i]) * 16777619u;
	}
	return hash;
}

bool sonde_desc_scan(const void *bytes, size_t size, size_t *offset,
		     const struct sonde_desc **ret_desc, uint64_t *malformed)
{
	const uint8_t *base = bytes;
	size_t at = (*offset + 7) & ~(size_t)7;

	for (; at < size && size - at >= sizeof(struct sonde_desc); at += 8) {
		if (__builtin_memcmp(base + at, SONDE_DESC_MAGIC, 8) != 0)
			continue;
		if (sonde_desc_check(base + at, size - at, ret_desc) == 0) {
			*offset = at + sonde_desc_size(*ret_desc);
			return true;
		}
		if (malformed)
			(*malformed)++;
	}
	*offset = size;
	return false;
}
