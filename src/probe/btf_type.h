/* SPDX-License-Identifier: MIT */
/*
 * btf_type.h - the kernel's types (sys/btf.h) as types of C (c_type.h), and what
 * a function of the kernel is called with.
 *
 * BTF is checked as far as is needed to get lost nowhere: ids are held against
 * their number, names against the strings, chains are bounded. The places of
 * arguments are those of x86-64: one of up to 8 bytes is in the next of six
 * registers, a structure of up to 16 in the next two or nowhere, larger ones on
 * the stack.
 */
#ifndef PROBE_BTF_TYPE_H
#define PROBE_BTF_TYPE_H

#include "probe/c_type.h"
#include "sys/btf.h"

#define SONDE_PROBE_BTF_REGISTERS 6u /* for arguments */

/* What `current` is, by the number of a register that nobody has use for in the
 * kernel. */
#define SONDE_PROBE_BTF_CURRENT SONDE_AGENT_GS_BASE

struct sonde_probe_btf_argument {
	const char *name; /* NULL: it has none */
	uint32_t number;  /* from 1 on */
	/* Where it is: the register's index, below BTF_REGISTERS if it is in
	 * one by itself. */
	uint32_t index;
	struct sonde_probe_ctype type;
};

struct sonde_probe_btf_member {
	struct sonde_probe_ctype type;
	uint64_t first; /* its first bit */
	uint8_t bits;   /* 0: no bit-field */
};

/* The n-th argument, from 0 on, of a function's type, by its id; false: there are fewer, or what there is isn't
 * understood. */
bool sonde_probe_btf_argument(const struct sonde_btf *btf, uint32_t function,
			      uint32_t n,
			      struct sonde_probe_btf_argument *ret_argument);
/* What it returns; false: nothing, or what isn't understood. */
bool sonde_probe_btf_result(const struct sonde_btf *btf, uint32_t function,
			    struct sonde_probe_ctype *ret_type);
/* By its name, of so many bytes. */
bool sonde_probe_btf_find(const struct sonde_btf *btf, uint32_t function,
			  const char *name, size_t length,
			  struct sonde_probe_btf_argument *ret_argument);

/* False: it isn't understood. */
bool sonde_probe_btf_ctype(const struct sonde_btf *btf, uint32_t id,
			   struct sonde_probe_ctype *ret_type);
/* Of an ARRAY: what it is of, and how many. */
bool sonde_probe_btf_element(const struct sonde_probe_ctype *array,
			     struct sonde_probe_ctype *ret_element,
			     uint64_t *ret_nr);
/* Of a STRUCT; 0: unknown. */
uint64_t sonde_probe_btf_size(const struct sonde_probe_ctype *type);
/* Of a STRUCT, also in structures without a name in it. */
bool sonde_probe_btf_member(const struct sonde_probe_ctype *type,
			    const char *name, size_t length,
			    struct sonde_probe_btf_member *ret_member);
/* The number that an enumeration gives to a name. */
bool sonde_probe_btf_label(const struct sonde_btf *btf, const char *name,
			   int64_t *ret_value);
/* `kind` BTF_KIND_UNKN: a typedef, or a number; else what has that tag. */
bool sonde_probe_btf_named(const struct sonde_btf *btf, uint32_t kind,
			   const char *name, size_t length,
			   struct sonde_probe_ctype *ret_type);

#endif /* PROBE_BTF_TYPE_H */
