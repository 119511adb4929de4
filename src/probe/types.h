/* SPDX-License-Identifier: MIT */
/*
 * types.h - what the debugging information said of a tracepoint's variables.
 *
 * It is kept as the tracepoint's source lines of kind "type", so that it is in
 * TRACE/gdb/points, and whoever reads the trace needs no debugging information:
 *
 *	A2.1:f64:price		what action 2 reads, second ...
 *	A2.0:x64:item		... and first, on the way to that
 *	R3:es32{READY=1}:state	a variable in GDB's register 3; S3: of the steps
 *
 * Types are a letter and a number of bits: s, u (integers), x (pointer), b
 * (truth), f (floating), es, eu (enumeration); "*4" behind it: an array of 4;
 * t16: text in 16 chars.
 *
 * The lines are somebody's file: whatever is no such line counts for nothing.
 */
#ifndef PROBE_TYPES_H
#define PROBE_TYPES_H

#include "probe/points.h"
#include "types/build.h"

#define SONDE_PROBE_TYPE_LABELS_MAX 64u
#define SONDE_PROBE_TYPE_TEXT_MAX   4096u
#define SONDE_PROBE_TYPES_KIND      "type"

struct sonde_probe_type {
	char letter;  /* s u x b f e t */
	uint8_t bits; /* of one */
	uint16_t nr;  /* 1: no array; of 't': chars */
	bool is_signed;
	const char *labels; /* of 'e': into the line, up to a brace */
	const char *name;   /* into the line */
};

struct sonde_probe_held {
	uint8_t reg;
	struct sonde_probe_type type;
};

/* "f64:price" and the like. */
bool sonde_probe_type_parse(const char *text,
			    struct sonde_probe_type *ret_type);
uint32_t sonde_probe_type_bytes(const struct sonde_probe_type *type);
void sonde_probe_type_build(struct sonde_build *build, const char *name,
			    const struct sonde_probe_type *type);

/* What is read k-th for an action (of a range: 0). The type points into the
 * tracepoint. */
bool sonde_probe_types_of_read(const struct sonde_probe_point *point,
			       size_t action, uint32_t k,
			       struct sonde_probe_type *ret_type);
/* Whether the line is of a variable in a register, of the hit or the steps. */
bool sonde_probe_types_held(const struct sonde_probe_source *source, bool steps,
			    struct sonde_probe_held *ret_held);

#endif /* PROBE_TYPES_H */
