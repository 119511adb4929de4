/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * prototype.h - what tracepoints and functions of the kernel are called with,
 * out of its BTF.
 *
 * Of a tracepoint, the type btf_trace_NAME has the arguments' types, and one of
 * the functions __probestub_NAME, __traceiter_NAME, __bpf_trace_NAME their
 * names. Of a function, its own prototype has both.
 *
 * BTF is checked by whoever loads it; here only as far as is needed to get lost
 * nowhere: what is missing, or of a form that isn't known here, is no
 * prototype. The index makes a look-up cost microseconds where libbpf's own
 * passes over a hundred thousand types each time.
 */
#ifndef SOURCE_PROTOTYPE_H
#define SOURCE_PROTOTYPE_H

#include <stdbool.h>
#include <stdint.h>

struct btf;
struct btf_type;

#define SONDE_PROTOTYPE_ARGS 12u
#define SONDE_PROTOTYPE_NAME 128u /* bytes, with the NUL */

enum sonde_prototype_kind {
	SONDE_PROTOTYPE_NUMBER,
	SONDE_PROTOTYPE_STRING,  /* char * */
	SONDE_PROTOTYPE_STRUCT,  /* the address of one */
	SONDE_PROTOTYPE_POINTER, /* to void, numbers, unions */
	SONDE_PROTOTYPE_OTHER,   /* to something that can't be read */
};

struct sonde_prototype_arg {
	enum sonde_prototype_kind kind;
	uint8_t bytes;  /* 1, 2, 4 or 8 */
	uint32_t flags; /* NUMBER: SONDE_FIELD_SIGNED; else _HEX */
	uint32_t type;  /* STRUCT: its id */
	char name[SONDE_PROTOTYPE_NAME];
};

/* What is before a tracepoint's name in those of its types: first btf_trace_. */
#define SONDE_PROTOTYPE_PREFIXES 4u
#define SONDE_PROTOTYPE_PREFIX   16u /* bytes of one, at most */

extern const char *const sonde_prototype_prefixes[SONDE_PROTOTYPE_PREFIXES];

struct sonde_prototype {
	uint32_t nr;
	struct sonde_prototype_arg args[SONDE_PROTOTYPE_ARGS];
};

struct sonde_types;

/* An index of `btf` (which stays the caller's, and must stay) but for what its
 * base has. 0 or -ENOMEM. */
int sonde_types_new(const struct btf *btf, struct sonde_types **ret_types);
void sonde_types_free(struct sonde_types *types); /* NULL is fine */

/* False: there is none of that name. */
bool sonde_types_has_tracepoint(const struct sonde_types *types,
				const char *name);
bool sonde_types_has_function(const struct sonde_types *types,
			      const char *name);

/* False: there is none, it has too many arguments, or one that isn't a number
 * or an address. Arguments without a name are arg1, arg2 and so on. */
bool sonde_types_tracepoint(const struct sonde_types *types, const char *name,
			    struct sonde_prototype *ret_prototype);
bool sonde_types_function(const struct sonde_types *types, const char *name,
			  struct sonde_prototype *ret_prototype);

/* What a type is but for its name and qualifiers; NULL: nothing. */
const struct btf_type *sonde_types_resolve(const struct btf *btf, uint32_t id,
					   uint32_t *ret_id);

/* Width and SONDE_FIELD_SIGNED of a number: 1, 2, 4 or 8 bytes; false if it
 * isn't one. */
bool sonde_types_number(const struct btf_type *type, uint8_t *ret_bytes,
			uint32_t *ret_flags);

bool sonde_types_is_char(const struct btf *btf, const struct btf_type *type);

#endif /* SOURCE_PROTOTYPE_H */
