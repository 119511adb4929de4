/* SPDX-License-Identifier: MIT */
/*
 * abi.h - what a compiled program and libsonde agree on.
 *
 * A tracepoint leaves two things in the program it is compiled into:
 *
 *   - a *description*: one flat, pointer-free run of bytes (struct sonde_desc
 *     and what follows it) that says what the event is called and how its
 *     payload is laid out. It needs no relocation, so a tool finds it in the
 *     ELF file by its magic number, without running the program.
 *   - a *site* (struct sonde_site): two pointers in writable data. `state`
 *     points to one 32-bit word that says whether somebody records the event;
 *     at start-up it points to a word of the program that is always zero, and
 *     sonde_register() points it into the arena.
 *
 * The state word:
 *
 *   0             nobody records the event; the site does nothing
 *   1 .. 30       recorded by the session in slot 0 alone, in a stream with
 *                 compact headers, under this id (fast path)
 *   32 .. 65534   the same in a stream with large headers (fast path)
 *   bit 31 set    anything else; the low 31 bits are the event's index in the
 *                 arena, where the slow path finds who wants it
 *   bits 31, 29   the same, with the index in the low 29 bits; recorded by the
 *                 session in slot 0 alone, if its condition holds
 *   bits 31, 30   as bit 31, in the arena at sonde_guest_arena: a tool's that
 *                 has a probe at the site, and wants this one hit recorded
 *
 * Layout of a description (little or big endian as the machine is; every size
 * in bytes; no padding anywhere but at the end):
 *
 *   struct sonde_desc
 *   provider name, NUL           provider_size bytes
 *   event name, NUL              name_size bytes
 *   nr_fields field records, each
 *       struct sonde_desc_field
 *       name, NUL                name_size bytes (C expression or identifier)
 *       extra                    what the kind asks for, see enum sonde_type
 *   zero bytes up to a multiple of 8; if bit 14 of nr_fields is set, a checksum
 *
 * A field record's `size` covers all of it, nested records included, so a
 * reader skips what it doesn't know. Nothing here is trusted by whoever reads
 * it: types/desc.h checks a description once before it is used.
 *
 * Payloads are packed: no field is padded or aligned.
 */
#ifndef SONDE_ABI_H
#define SONDE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_ABI_VERSION 1

/* First eight bytes of a description, at an address that is a multiple of 8. */
#define SONDE_DESC_MAGIC "\177SoNdE\1\n"

/* A description, its names and fields included, is at most this long. */
#define SONDE_DESC_MAX 16384

/* Fields of an event, nested ones not counted. */
#define SONDE_FIELDS_MAX 32

/* Nesting of structures and variants. */
#define SONDE_NEST_MAX 4

struct sonde_desc {
	uint8_t magic[8];
	uint32_t size; /* the whole description, a multiple of 8 */
	uint32_t line; /* source line of the site */
	uint16_t provider_size;
	uint16_t name_size;
	uint16_t nr_fields;
	uint8_t loglevel; /* enum sonde_loglevel */
	uint8_t version;  /* SONDE_ABI_VERSION */
};

/* syslog's levels, then debug levels as LTTng numbers them. */
enum sonde_loglevel {
	SONDE_EMERG = 0,
	SONDE_ALERT = 1,
	SONDE_CRIT = 2,
	SONDE_ERR = 3,
	SONDE_WARNING = 4,
	SONDE_NOTICE = 5,
	SONDE_INFO = 6,
	SONDE_DEBUG_SYSTEM = 7,
	SONDE_DEBUG_PROGRAM = 8,
	SONDE_DEBUG_PROCESS = 9,
	SONDE_DEBUG_MODULE = 10,
	SONDE_DEBUG_UNIT = 11,
	SONDE_DEBUG_FUNCTION = 12,
	SONDE_DEBUG_LINE = 13,
	SONDE_DEBUG = 14,
};

/*
 * What a field is. `bits` is the width of one element as stored; `count` the
 * number of elements or the bound, where there is one.
 */
enum sonde_type {
	SONDE_TYPE_INT = 1, /* bits 8, 16, 32, 64; flags: SIGNED, HEX, OCTAL,
			      NETWORK, BOOL, CHAR */
	SONDE_TYPE_FLOAT,   /* bits 32, 64 */
	SONDE_TYPE_STRING,  /* bytes up to and including a NUL; count = bound */
	SONDE_TYPE_TEXT,    /* count chars of a fixed array, shown as text */
	SONDE_TYPE_ARRAY,   /* extra: one field record; count elements of it */
	SONDE_TYPE_SEQUENCE, /* u32 length, then as many; extra: one record */
	SONDE_TYPE_BLOB,     /* u32 length, then as many bytes */
	SONDE_TYPE_ENUM,     /* an integer; extra: count labels (sonde_label) */
	SONDE_TYPE_STRUCT,   /* extra: count field records */
	SONDE_TYPE_VARIANT,  /* extra: count field records; the tag is the ENUM
			       field just before it in the same structure, the
			       options are in the order of its labels, and the
			       tag's value is the position of the option */
	SONDE_TYPE_BITS,     /* bits 1..64 of the value, stored in the smallest
			       of 8, 16, 32, 64 bits that holds them */
};

#define SONDE_FIELD_SIGNED  1u
#define SONDE_FIELD_HEX     2u
#define SONDE_FIELD_NETWORK 4u /* big endian whatever the machine is */
#define SONDE_FIELD_BOOL    8u
#define SONDE_FIELD_CHAR    16u /* a character: shown as a number and as text */
#define SONDE_FIELD_OCTAL   32u

struct sonde_desc_field {
	uint32_t size; /* this record: struct, name and extra */
	uint32_t count;
	uint16_t name_size; /* with its NUL; 1 for an element without a name */
	uint8_t bits;
	uint8_t kind;   /* enum sonde_type */
	uint32_t flags; /* SONDE_FIELD_* */
};

/* One label of an enumeration; its text and a NUL follow it. */
struct sonde_desc_label {
	int64_t first; /* the values first .. last have this label */
	int64_t last;
	uint32_t name_size; /* with its NUL */
	uint32_t reserved;  /* 0 */
};

struct sonde_site {
	const uint32_t *state;
	const struct sonde_desc *desc;
};

/*
 * A part of a payload that is not staged: `size` bytes at `data`, read once,
 * while the record is committed. SONDE_PART_STRING parts are strings: `size`
 * counts the bytes before the NUL, which libsonde writes itself; if the text
 * turns out shorter when it is read (another thread changed it), libsonde
 * measures it again up to that size.
 */
struct sonde_part {
	const void *data;
	uint32_t size;
	uint32_t flags;
};
#define SONDE_PART_STRING 1u

#if defined(__GNUC__)
#define SONDE_EXPORT __attribute__((visibility("default")))
#define SONDE_NOPLT  __attribute__((noplt))
#if defined(__clang__)
#undef SONDE_NOPLT
#define SONDE_NOPLT
#endif
#else
#error "Sonde needs gcc or clang"
#endif

/*
 * The second argument of sonde_emit_word() and sonde_emit_block() for a
 * payload of n bytes: what a record of it adds to a ring's commit word.
 */
#define SONDE_INC(n) (((uint64_t)(n) + 4) << 40 | 1)

/*
 * Make `nr` sites known, usually all of a module, from its constructor.
 * Idempotent. A site whose description can't be taken (malformed, or another
 * description has its name already) stays disabled, and the recorder is told.
 * Nothing keeps a pointer into the module: it may be unloaded at any time.
 *
 * Threads: any; not from signal handlers.
 */
SONDE_EXPORT void sonde_register(struct sonde_site *sites, size_t nr);

/*
 * Record an event whose payload is the `n` low bytes of `value`, 0 <= n <= 8.
 *
 *   state   the site's state word, as just read, not zero
 *   inc     SONDE_INC(n)
 *
 * Never fails and never blocks: an event that can't be recorded is counted.
 * Async-signal-safe, any thread, errno untouched. About 12 ns, nearly all of
 * it reading the clock.
 */
SONDE_EXPORT SONDE_NOPLT void sonde_emit_word(uint32_t state, uint64_t value,
					      uint64_t inc);

/*
 * The same for a payload of n bytes at `data`; inc = SONDE_INC(n). At least
 * 32 bytes must be readable at `data`, whatever n is. n < 2^20.
 */
SONDE_EXPORT SONDE_NOPLT void sonde_emit_block(uint32_t state, const void *data,
					       uint64_t inc);

/*
 * The same for a payload of the n low bytes of `value`, 0 <= n <= 8, and the
 * string `text` after them; inc = SONDE_INC(n). The string is read once. A null
 * pointer is recorded as "(null)".
 */
SONDE_EXPORT SONDE_NOPLT void sonde_emit_string(uint32_t state, uint64_t value,
						uint64_t inc, const char *text);

/*
 * The same for a payload that is the concatenation of `nr` parts; nothing is
 * staged, so any size up to the record limit will do.
 */
SONDE_EXPORT SONDE_NOPLT void
sonde_emit_parts(uint32_t state, const struct sonde_part *parts, size_t nr);

/*
 * Copy the string `s` and its NUL to `dst`, of `room` bytes, where it is read
 * just once: what was copied holds exactly one NUL, at its end. A null pointer
 * is copied as "(null)".
 *
 * Returns the number of bytes written, NUL included; 0 if there is no room
 * (`dst` may have been written to) or if the string changed meanwhile. The
 * caller then goes by sonde_emit_parts().
 */
SONDE_EXPORT SONDE_NOPLT size_t sonde_stage_string(char *dst, const char *s,
						   size_t room);

#ifdef __cplusplus
}
#endif

#endif /* SONDE_ABI_H */
