/* SPDX-License-Identifier: MIT */
/*
 * byte_order.h - refuses a byte order that changes inside a byte.
 */
#ifndef CTF_SCHEMA_BYTE_ORDER_H
#define CTF_SCHEMA_BYTE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/schema/schema.h"

/* How the bits before a scope may end: byte_order.c's own. */
#define SONDE_BITS_AT_A_BYTE 1u
#define SONDE_BITS_ANYHOW    0x7fffu

/* Whether a scope (NULL: none) can be read behind such bits; *states becomes
 * how it may end. Classes are aligned, and have their lengths. */
bool sonde_byte_order_fits(const struct sonde_class *cls, uint16_t *states);

#endif /* CTF_SCHEMA_BYTE_ORDER_H */
