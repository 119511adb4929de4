/* SPDX-License-Identifier: MIT */
/*
 * desc.h - event descriptions: check one, then walk through it.
 *
 * The bytes are laid out as <sonde/abi.h> says. They come out of ELF files and
 * of other processes' memory, so nothing in them is believed: first
 * sonde_desc_check() goes through all of a description that no longer changes
 * (copy it first if somebody else can write to it); what it accepts satisfies
 * the invariants below, and the accessors rely on them without looking again.
 *
 *  1. All records and names lie inside the description, records fill their
 *     enclosing one exactly, and every name ends with its only NUL.
 *  2. Names and labels are printable ASCII; provider and event name start with
 *     a letter or '_' and go on with letters, digits, '_', '.' and '-', an
 *     event's also with ':' (sdt:python:gc__start). They take at most
 *     SONDE_NAME_MAX bytes each.
 *  3. Kinds, widths and flags are defined ones and fit together.
 *  4. nr_fields and the counts of structures and variants are at most
 *     SONDE_FIELDS_MAX; records nest at most SONDE_NEST_MAX deep below an
 *     event's fields.
 *  5. Elements of arrays and sequences are integers, floats, enumerations or
 *     bits. An array or text has at least one element and takes less than
 *     SONDE_FIXED_MAX bytes.
 *  6. Labels have first <= last in the signedness of their enumeration.
 *  7. An enumeration has a label. A variant follows an enumeration of as many labels as it has options,
 *     label i standing for the value i alone.
 *
 * Records are packed, so a record may lie at any address. The cursors below
 * copy what they deliver; strings are borrowed from the description.
 *
 * Freestanding. No function allocates, and all may be called by any thread at
 * any time, in signal handlers too.
 */
#ifndef TYPES_DESC_H
#define TYPES_DESC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

/* sonde_desc.nr_fields of a reference, see sonde_desc_is_reference(). */
#define SONDE_NR_FIELDS_REFERENCE 0xffffu
/* Added to the number of fields of a generated one: its last 8 bytes, behind the
 * padding, are its checksum. */
#define SONDE_NR_FIELDS_DESCRIBED 0x4000u

/* Bytes of a provider's or an event's name, its NUL included. */
#define SONDE_NAME_MAX 256

/* Bytes of an array or text. */
#define SONDE_FIXED_MAX (1u << 20)

/* Room for an identifier, its NUL and a suffix included. */
#define SONDE_IDENT_MAX 64

/* One field record. */
struct sonde_field_view {
	const char *name; /* "" for elements of arrays and sequences */
	const uint8_t *extra;
	uint32_t extra_size;
	uint32_t count;
	uint32_t flags; /* SONDE_FIELD_* */
	enum sonde_type kind;
	uint8_t bits;
	uint8_t stored_bits; /* what a scalar takes: 8, 16, 32 or 64; else 0 */
};

/* A run of field records yet to be seen. */
struct sonde_fields {
	const uint8_t *next;
	uint32_t left;
};

/* One label of an enumeration. */
struct sonde_label_view {
	int64_t first;
	int64_t last;
	const char *text;
};

struct sonde_labels {
	const uint8_t *next;
	uint32_t left;
};

/* Identifiers given out in one scope: an event's fields, or a structure's. */
struct sonde_desc_names {
	uint32_t nr;
	char name[2 * SONDE_FIELDS_MAX][SONDE_IDENT_MAX];
};

/*
 * Check the description at the start of `size` bytes (which may be more than
 * the description's). `bytes` need not be aligned, and must not change.
 *
 * Returns 0, -EINVAL if it is malformed, -E2BIG if it exceeds a limit of
 * <sonde/abi.h>. *ret_desc is `bytes`; only its accessors below should look
 * inside, since it may be unaligned.
 */
int sonde_desc_check(const void *bytes, size_t size,
		     const struct sonde_desc **ret_desc);

/* Of a checked description. */
uint32_t sonde_desc_size(const struct sonde_desc *desc);
uint32_t sonde_desc_line(const struct sonde_desc *desc);
uint32_t sonde_desc_loglevel(const struct sonde_desc *desc);
uint32_t sonde_desc_nr_fields(const struct sonde_desc *desc);
/* Of the description in a file that it was generated from; 0: of none. */
uint64_t sonde_desc_checksum(const struct sonde_desc *desc);
/* The same, with the head apart: `bytes` may be changing. */
uint64_t sonde_desc_checksum_of(const struct sonde_desc *head,
				const void *bytes);
const char *sonde_desc_provider(const struct sonde_desc *desc);
const char *sonde_desc_name(const struct sonde_desc *desc);

/*
 * Walk: `for (it = sonde_desc_fields(d); sonde_fields_next(&it, &f);)`.
 * Children are a structure's or variant's fields, or the one element of an
 * array or sequence; none for other kinds.
 */
struct sonde_fields sonde_desc_fields(const struct sonde_desc *desc);
struct sonde_fields sonde_field_children(const struct sonde_field_view *field);
bool sonde_fields_next(struct sonde_fields *fields,
		       struct sonde_field_view *ret_field);

/* The labels of an enumeration; none for other kinds. */
struct sonde_labels sonde_field_labels(const struct sonde_field_view *field);
bool sonde_labels_next(struct sonde_labels *labels,
		       struct sonde_label_view *ret_label);

/* Whether two checked descriptions are of the same event: all is equal but
 * the source line. Equal ones have equal hashes. */
bool sonde_desc_equal(const struct sonde_desc *a, const struct sonde_desc *b);
uint32_t sonde_desc_hash(const struct sonde_desc *desc);

/*
 * Whether it is a mere reference to an event by its name, as
 * sonde_event_enabled() leaves one: no event of its own (see
 * docs/tracepoints.md).
 */
bool sonde_desc_is_reference(const struct sonde_desc *desc);

/*
 * Make an identifier out of a C expression: `n` gives n, `p->len` len,
 * `a[3].b` b, `f(x)` f_x, `x + 1` x_1, `*p` p. Never empty, never starts with
 * a digit; cut to room - 1 characters. Returns its length; room >= 2.
 */
size_t sonde_field_ident(const char *expr, char *out, size_t room);

/*
 * The identifier for the next field of a scope, made unique: of fields with
 * the same identifier the second is called x_2, the third x_3, and so on past
 * those already taken. Borrowed from `names`, which starts out zeroed and takes
 * as many names as a scope can have (two for each field).
 */
const char *sonde_desc_names_add(struct sonde_desc_names *names,
				 const char *expr);

/*
 * Find the next description in `bytes`: a valid one that starts at a multiple
 * of 8 from *offset on. `bytes` itself stands for an aligned address.
 *
 * Returns true and sets *ret_desc; *offset is then just past it. Returns false
 * at the end. Whatever has the magic but isn't a description is passed over
 * and counted in *malformed, unless that is null.
 */
bool sonde_desc_scan(const void *bytes, size_t size, size_t *offset,
		     const struct sonde_desc **ret_desc, uint64_t *malformed);

#endif /* TYPES_DESC_H */
