/* SPDX-License-Identifier: MIT */
/*
 * describe.h - event descriptions (sonde/abi.h) made by a fuzzer's decisions.
 */
#ifndef FUZZ_DESCRIBE_H
#define FUZZ_DESCRIBE_H

#include "fuzz.h"

#define FUZZ_DESC_ROOM 65536u

/*
 * Make a description of at most FUZZ_DESC_ROOM bytes at `out`. It is of the
 * right form but for what the last decisions do to single bytes of it; it may
 * exceed limits. Returns its size.
 */
size_t fuzz_describe(struct fuzz_input *in, uint8_t *out);

#endif /* FUZZ_DESCRIBE_H */
