/* SPDX-License-Identifier: MIT */
/*
 * metadata.h - CTF 2 metadata made of a fuzzer's decisions: all kinds of field
 * classes, alignments, orders of bits and bytes, nested, and referring to one
 * another.
 *
 * Members are called f0, f1, ..., in the order in which they are made, so no
 * two have the same name. What is made may still be refused: a reference may
 * lead to something that is no number.
 */
#ifndef FUZZ_METADATA_H
#define FUZZ_METADATA_H

#include "fuzz.h"

#define METADATA_MAX    32768u
#define METADATA_EVENTS 3u

struct metadata {
	char text[METADATA_MAX];
	size_t used;
	uint32_t nr_names;
	bool header_has_id;
};

void metadata_make(struct fuzz_input *in, struct metadata *to);

#endif /* FUZZ_METADATA_H */
