/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * type.h - a type: one tree, whatever it was read from (a description, metadata
 * of either language) or is written to.
 *
 * The tree is in the terms of a trace: bits, byte order and alignment of what
 * is recorded. A sequence's length and a variant's tag are members before it.
 * Names are as users see them.
 *
 * Hosted.
 */
#ifndef TYPES_TYPE_H
#define TYPES_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sonde/trace.h>

/* A label for the values low..high, both included. Of a signed number they
 * are int64_t, sign and all. In the order of what they were read from; may
 * overlap, and several may have one name. Of a bit map, low and high are bit
 * numbers. */
struct sonde_label {
	uint64_t low, high;
	const char *name;
};

/* Of a number from low to high, both included: what is added to it. */
struct sonde_origin {
	uint64_t low, high, addend;
};

/* How many of `nr` labels have the name `text`; *ret_label is the i-th of
 * those, if there are so many. */
static inline size_t sonde_label_find(const struct sonde_label *labels,
				      size_t nr, const char *text,
				      size_t length, size_t i,
				      const struct sonde_label **ret_label)
{
	size_t found = 0;

	for (size_t k = 0; k < nr; k++) {
		if (strlen(labels[k].name) == length &&
		    memcmp(labels[k].name, text, length) == 0 && found++ == i)
			*ret_label = &labels[k];
	}
	return found;
}

/* What a number (or, of the UUID, an array or blob) means to the format. */
enum sonde_role {
	SONDE_ROLE_NONE,
	/* packet header */
	SONDE_ROLE_MAGIC,
	SONDE_ROLE_UUID,
	SONDE_ROLE_STREAM_CLASS_ID,
	SONDE_ROLE_STREAM_ID, /* the instance */
	/* packet context */
	SONDE_ROLE_PACKET_BITS,
	SONDE_ROLE_CONTENT_BITS,
	SONDE_ROLE_TIME, /* packet context: the begin; event header */
	SONDE_ROLE_TIME_END,
	SONDE_ROLE_DISCARDED,
	SONDE_ROLE_SEQUENCE,
	/* event header */
	SONDE_ROLE_EVENT_ID,
};

enum sonde_encoding {
	SONDE_ENCODING_UTF8, /* and ASCII */
	SONDE_ENCODING_UTF16BE,
	SONDE_ENCODING_UTF16LE,
	SONDE_ENCODING_UTF32BE,
	SONDE_ENCODING_UTF32LE,
};

static inline unsigned int sonde_encoding_unit(enum sonde_encoding encoding)
{
	return encoding == SONDE_ENCODING_UTF8    ? 1 :
	       encoding <= SONDE_ENCODING_UTF16LE ? 2 :
						    4;
}

/* Where a length, tag or selector is, before it is resolved. */
struct sonde_location {
	/* SONDE_NR_SCOPES: relative. CTF 1.8: the first name is looked for in
	 * the structures around, innermost first, then in the scopes around.
	 * CTF 2: from the structure around; a NULL name goes one up. */
	enum sonde_scope scope;
	size_t nr_names;
	const char **names;
};

struct sonde_member {
	const char *name;
	struct sonde_class *cls;
	const char *about; /* in words, of descriptions in files; NULL */
	/* options of a variant only: which tags choose it */
	size_t nr_ranges;
	const struct sonde_label *ranges;
};

/* How the length of a string, array or blob is known. */
enum sonde_length {
	SONDE_LENGTH_FIXED, /* .count */
	SONDE_LENGTH_FIELD, /* .ref, after .location */
	SONDE_LENGTH_ZERO,  /* strings only: ends with a zero */
};

struct sonde_class {
	enum sonde_kind kind;
	uint32_t align_bits; /* as it results, from members too */

	/* UINT, INT, BOOL, BITS, FLOAT */
	uint8_t bits; /* 0: LEB128, UINT and INT only */
	uint8_t base; /* 2, 8, 10, 16: for display */
	bool big_endian;
	bool last_bit_first; /* bit order is not the one the byte order has */
	bool is_char;        /* CTF 1.8: an integer with an encoding */
	bool is_enum;        /* CTF 1.8: `enum`, even without a label */
	/* what metadata can't say, of descriptions only */
	bool is_bool;
	uint8_t value_bits; /* 0: all of them */
	/* of descriptions in files: what C calls it, or one element; NULL */
	const char *c_type;
	enum sonde_role role;
	int16_t reg;   /* -1: nobody depends on it */
	int16_t clock; /* CTF 1.8 `map`; -1 none */
	size_t nr_labels;
	const struct sonde_label *labels;
	bool labels_ascend; /* and don't overlap; set by finish */
	/* Instead of labels, when a reader has taken them: what is to be added
	 * to the number for its value, 64 bits then (types/origins.h). */
	size_t nr_origins;
	const struct sonde_origin *origins;

	/* STRING: bytes; BLOB: bytes; ARRAY, SEQUENCE: elements */
	enum sonde_encoding encoding;
	enum sonde_length length;
	uint64_t count; /* LENGTH_ZERO: at most, of descriptions; else 0 */

	/* SEQUENCE and dynamic strings, blobs: the length. VARIANT: the tag.
	 * OPTIONAL: the selector. */
	struct sonde_location location;
	const struct sonde_class *ref;

	/* STRUCT: members; VARIANT: options; ARRAY, SEQUENCE, OPTIONAL: the
	 * one element, without a name. OPTIONAL's ranges say with which
	 * selector values it is there; no ranges: a boolean selector. */
	size_t nr_members;
	struct sonde_member *members;

	const char *media_type; /* of a BLOB; NULL */
	/* user attributes, as JSON text; NULL */
	const char *attributes;

	/* The reader's: where it is in each event, src/reader/core/plan.h */
	bool placed;
	uint32_t block, offset;
};

/* A sequence of bytes shown in hexadecimal: a buffer, as of a system call, or
 * what sonde_blob() recorded. CTF 1.8 has no class for them. */
static inline bool sonde_class_is_bytes(const struct sonde_class *cls)
{
	const struct sonde_class *element;

	if (cls->kind != SONDE_KIND_SEQUENCE)
		return false;
	element = cls->members[0].cls;
	return element->kind == SONDE_KIND_UINT && element->bits == 8 &&
	       element->base == 16 && !element->is_enum && !element->nr_labels;
}

/* Whether a member is the tag of the variant that comes next; and the length of
 * what comes next. */
static inline bool sonde_class_is_tag(const struct sonde_class *group, size_t i)
{
	const struct sonde_member *next = &group->members[i + 1];

	return i + 1 < group->nr_members && next[-1].cls->nr_labels &&
	       next->cls->kind == SONDE_KIND_VARIANT &&
	       next->cls->ref == next[-1].cls;
}

static inline bool sonde_class_is_length(const struct sonde_class *group,
					 size_t i)
{
	const struct sonde_member *next = &group->members[i + 1];

	return i + 1 < group->nr_members && next->cls->ref == next[-1].cls &&
	       next->cls->kind != SONDE_KIND_VARIANT &&
	       next->cls->kind != SONDE_KIND_OPTIONAL;
}

/* Of a number's value, as it is shown; 0: of variable length. */
static inline unsigned int sonde_class_shown_bits(const struct sonde_class *cls)
{
	return cls->nr_origins ? 64 : cls->bits;
}

/* The value of a number that was loaded; origins are of all numbers. */
static inline uint64_t sonde_class_from_origin(const struct sonde_class *cls,
					       uint64_t number)
{
	size_t i = 0;

	while (i + 1 < cls->nr_origins && number > cls->origins[i].high)
		i++;
	return cls->nr_origins ? number + cls->origins[i].addend : number;
}

struct sonde_desc;
struct sonde_pool;

/* Zeroed, but for: align 1, reg and clock -1, location relative. NULL without
 * memory. */
struct sonde_class *sonde_class_new(struct sonde_pool *pool,
				    enum sonde_kind kind);

/* A number of whole or other bits in the machine's byte order, unsigned unless
 * `kind` says so, aligned as `align_bits` says. */
struct sonde_class *sonde_class_new_number(struct sonde_pool *pool,
					   enum sonde_kind kind, uint8_t bits,
					   uint32_t align_bits);

/* A structure or variant that will have up to `nr` members. */
struct sonde_class *sonde_class_new_group(struct sonde_pool *pool,
					  enum sonde_kind kind, size_t nr);

/* Its next member; `name` is borrowed. A structure is aligned as its members
 * are. NULL for `cls` is -ENOMEM. */
int sonde_class_add(struct sonde_class *group, const char *name,
		    struct sonde_class *cls);

/* The same; the member before it is its length or tag. */
int sonde_class_add_dependent(struct sonde_pool *pool,
			      struct sonde_class *group, const char *name,
			      struct sonde_class *cls);

/*
 * The payload of a checked description (types/desc.h), in the pool; labels' and
 * the description's other texts are borrowed. Names are what readers will see;
 * lengths and tags are resolved. -EINVAL if a variant is an option of another;
 * -ENOMEM.
 */
int sonde_class_from_desc(struct sonde_pool *pool,
			  const struct sonde_desc *desc,
			  struct sonde_class **ret_class);

/*
 * Makes the labels of a number its origins, if they are that: each says what to
 * add, they ascend, and every number has one. Not of a number that others depend
 * on. 0 or -ENOMEM.
 */
int sonde_class_take_origins(struct sonde_pool *pool, struct sonde_class *cls);

#endif /* TYPES_TYPE_H */
