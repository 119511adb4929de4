/* SPDX-License-Identifier: MIT */
/*
 * build.c - see build.h. Records are appended; one's size is set when all that
 * is nested in it is there. At the end the description's head is written, and
 * all of it is checked as if it came from elsewhere.
 */
#include "types/build.h"

#include "types/desc.h"

#define BUILD_EINVAL (-22)
#define BUILD_E2BIG  (-7)

/* Kept free for the fields after an enumeration. */
#define LABELS_SPARE 2048u

_Static_assert(LABELS_SPARE < SONDE_DESC_MAX, "there is room for labels");

static size_t length_of(const char *text)
{
	return __builtin_strlen(text);
}

static void put(struct sonde_build *build, const void *bytes, size_t size)
{
	/* with the padding at the end */
	if (!build->error && size > SONDE_DESC_MAX - 8 - build->used)
		build->error = BUILD_E2BIG;
	if (build->error)
		return;
	__builtin_memcpy(build->room + build->used, bytes, size);
	build->used += size;
}

static void build_put_name(struct sonde_build *build, const char *name)
{
	put(build, name, length_of(name) + 1);
}

/* A record without extra, at its place; returns that. */
static size_t put_field(struct sonde_build *build, const char *name,
			struct sonde_desc_field field)
{
	size_t at = build->used;

	field.name_size = (uint16_t)(length_of(name) + 1);
	field.size = (uint32_t)(sizeof(field) + field.name_size);
	if (length_of(name) >= SONDE_NAME_MAX && !build->error)
		build->error = BUILD_EINVAL;
	put(build, &field, sizeof(field));
	build_put_name(build, name);
	return at;
}

static void build_end_field(struct sonde_build *build, size_t at,
			    uint32_t count)
{
	struct sonde_desc_field field;

	if (build->error)
		return;
	__builtin_memcpy(&field, build->room + at, sizeof(field));
	field.size = (uint32_t)(build->used - at);
	field.count = count;
	__builtin_memcpy(build->room + at, &field, sizeof(field));
}

void sonde_build_begin(struct sonde_build *build, void *room,
		       const char *provider, const char *name,
		       enum sonde_loglevel level)
{
	struct sonde_desc head = {
		.provider_size = (uint16_t)(length_of(provider) + 1),
		.name_size = (uint16_t)(length_of(name) + 1),
		.loglevel = (uint8_t)level,
		.version = SONDE_ABI_VERSION,
	};

	*build = (struct sonde_build){ .room = room };
	if (length_of(provider) >= SONDE_NAME_MAX ||
	    length_of(name) >= SONDE_NAME_MAX)
		build->error = BUILD_EINVAL;
	__builtin_memcpy(head.magic, SONDE_DESC_MAGIC, sizeof(head.magic));
	put(build, &head, sizeof(head));
	build_put_name(build, provider);
	build_put_name(build, name);
}

void sonde_build_plain(struct sonde_build *build, const char *name,
		       struct sonde_desc_field field)
{
	(void)put_field(build, name, field); /* it has no end to be set */
	build->nr_fields++;
}

void sonde_build_int(struct sonde_build *build, const char *name, uint8_t bits,
		     uint32_t flags)
{
	sonde_build_plain(build, name,
			  (struct sonde_desc_field){
				  .bits = bits,
				  .kind = SONDE_TYPE_INT,
				  .flags = flags,
			  });
}

/* False if it leaves too little for what comes after. */
static bool put_label(struct sonde_build *build,
		      const struct sonde_build_label *label)
{
	size_t size = length_of(label->text) + 1;
	struct sonde_desc_label head = {
		.first = label->first,
		.last = label->last,
		.name_size = (uint32_t)size,
	};

	if (build->error ||
	    build->used + sizeof(head) + size + LABELS_SPARE > SONDE_DESC_MAX)
		return false;
	put(build, &head, sizeof(head));
	put(build, label->text, size);
	return true;
}

void sonde_build_enum(struct sonde_build *build, const char *name, uint8_t bits,
		      uint32_t flags, const struct sonde_build_label *labels,
		      size_t nr)
{
	struct sonde_desc_field field = {
		.bits = bits,
		.kind = SONDE_TYPE_ENUM,
		/* what an enumeration may have beside its labels */
		.flags = flags & (SONDE_FIELD_SIGNED | SONDE_FIELD_NETWORK),
	};
	size_t before = build->used;
	size_t at = put_field(build, name, field);
	uint32_t count = 0;

	while (count < nr && put_label(build, &labels[count]))
		count++;
	if (!count && !build->error) {
		build->used = before;
		sonde_build_int(build, name, bits, flags);
		return;
	}
	build_end_field(build, at, count);
	build->nr_fields++;
}

void sonde_build_string(struct sonde_build *build, const char *name)
{
	sonde_build_plain(
		build, name,
		(struct sonde_desc_field){ .kind = SONDE_TYPE_STRING });
}

void sonde_build_text(struct sonde_build *build, const char *name,
		      uint32_t size)
{
	sonde_build_plain(build, name,
			  (struct sonde_desc_field){
				  .kind = SONDE_TYPE_TEXT,
				  .count = size,
			  });
}

void sonde_build_list(struct sonde_build *build, const char *name, uint32_t nr,
		      struct sonde_desc_field element)
{
	struct sonde_desc_field field = {
		.kind = nr ? SONDE_TYPE_ARRAY : SONDE_TYPE_SEQUENCE,
		.count = nr,
	};
	size_t at = put_field(build, name, field);

	(void)put_field(build, "", element); /* it has no end to be set */
	build_end_field(build, at, nr);
	build->nr_fields++;
}

void sonde_build_array(struct sonde_build *build, const char *name, uint32_t nr,
		       uint8_t bits, uint32_t flags)
{
	const struct sonde_desc_field element = {
		.bits = bits,
		.kind = SONDE_TYPE_INT,
		.flags = flags,
	};

	sonde_build_list(build, name, nr, element);
}

void sonde_build_sequence(struct sonde_build *build, const char *name,
			  uint8_t bits, uint32_t flags)
{
	sonde_build_array(build, name, 0, bits, flags);
}

void sonde_build_blob(struct sonde_build *build, const char *name)
{
	sonde_build_plain(build, name,
			  (struct sonde_desc_field){ .kind = SONDE_TYPE_BLOB });
}

void sonde_build_float(struct sonde_build *build, const char *name,
		       uint8_t bits)
{
	sonde_build_plain(build, name,
			  (struct sonde_desc_field){
				  .bits = bits,
				  .kind = SONDE_TYPE_FLOAT,
			  });
}

static struct sonde_build_struct build_begin_group(struct sonde_build *build,
						   const char *name,
						   enum sonde_type kind)
{
	struct sonde_desc_field field = { .kind = (uint8_t)kind };
	struct sonde_build_struct begun = { .nr_fields = build->nr_fields };

	begun.at = put_field(build, name, field);
	return begun;
}

struct sonde_build_struct sonde_build_struct(struct sonde_build *build,
					     const char *name)
{
	return build_begin_group(build, name, SONDE_TYPE_STRUCT);
}

struct sonde_build_struct sonde_build_variant(struct sonde_build *build,
					      const char *name)
{
	return build_begin_group(build, name, SONDE_TYPE_VARIANT);
}

void sonde_build_struct_end(struct sonde_build *build,
			    struct sonde_build_struct begun)
{
	build_end_field(build, begun.at,
			(uint32_t)(build->nr_fields - begun.nr_fields));
	build->nr_fields = (uint16_t)(begun.nr_fields + 1);
}

int sonde_build_end(struct sonde_build *build)
{
	const struct sonde_desc *checked;
	struct sonde_desc head;

	if (build->error)
		return build->error;
	while (build->used % 8)
		build->room[build->used++] = 0;
	__builtin_memcpy(&head, build->room, sizeof(head));
	head.size = (uint32_t)build->used;
	head.nr_fields = build->nr_fields;
	__builtin_memcpy(build->room, &head, sizeof(head));
	return sonde_desc_check(build->room, build->used, &checked);
}

int sonde_build_end_described(struct sonde_build *build, uint64_t checksum)
{
	while (build->used % 8)
		build->room[build->used++] = 0;
	if (build->used > SONDE_DESC_MAX - sizeof(checksum) && !build->error)
		build->error = BUILD_E2BIG;
	if (build->error)
		return build->error;
	__builtin_memcpy(build->room + build->used, &checksum,
			 sizeof(checksum));
	build->used += sizeof(checksum);
	build->nr_fields |= SONDE_NR_FIELDS_DESCRIBED;
	return sonde_build_end(build);
}

int sonde_build_whole(void *room, const char *provider, const char *name,
		      enum sonde_loglevel level,
		      void (*describe)(struct sonde_build *build))
{
	struct sonde_build build;

	sonde_build_begin(&build, room, provider, name, level);
	describe(&build);
	return sonde_build_end(&build);
}
