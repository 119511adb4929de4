/* SPDX-License-Identifier: MIT */
/*
 * no_libsonde.h - for unit tests that have tracepoints but no libsonde: all of
 * it but sonde_register(), which the test defines. Include it once.
 */
#ifndef UNIT_NO_LIBSONDE_H
#define UNIT_NO_LIBSONDE_H

#include <sonde/abi.h>

void sonde_emit_word(uint32_t state, uint64_t value, uint64_t inc)
{
	(void)state;
	(void)value;
	(void)inc;
}

void sonde_emit_block(uint32_t state, const void *data, uint64_t inc)
{
	(void)state;
	(void)data;
	(void)inc;
}

void sonde_emit_string(uint32_t state, uint64_t value, uint64_t inc,
		       const char *string)
{
	(void)state;
	(void)value;
	(void)inc;
	(void)string;
}

void sonde_emit_parts(uint32_t state, const struct sonde_part *parts, size_t nr)
{
	(void)state;
	(void)parts;
	(void)nr;
}

size_t sonde_stage_string(char *dst, const char *s, size_t room)
{
	(void)dst;
	(void)s;
	(void)room;
	return 0;
}

#endif /* UNIT_NO_LIBSONDE_H */
