/* SPDX-License-Identifier: MIT */
/*
 * floor.c - a libsonde that does the least that an event can cost here, to tell
 * the hardware's floor apart: bench/count runs bench/hot's program with it. Its
 * events are enabled and come here as they come to libsonde, through the
 * program's table; what happens is one of
 *
 *	FLOOR_CALL	nothing: the call and its return
 *	FLOOR_REFUSED	a comparison of the value with a number in memory
 *	FLOOR_COUNTED	an addition to a number in memory, in no sequence: another
 *			thread's at the same time would be lost
 *	FLOOR_HISTOGRAM	the same to the value's bin and to a sum, and comparisons
 *			with two extremes
 */
#include <sonde/abi.h>

#include "base/bins.h"

/* Its number: 1. */
static uint32_t enabled = 0xa0000001u;
#ifndef FLOOR_CALL
static uint64_t numbers[1024];
#endif

void sonde_register(struct sonde_site *sites, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		sites[i].state = (uint32_t *)&enabled;
}

void sonde_emit_word(uint32_t state, uint64_t value, uint64_t inc)
{
	(void)state;
	(void)value;
	(void)inc;
#if defined(FLOOR_REFUSED)
	if (value < numbers[0])
		__builtin_trap();
#elif defined(FLOOR_COUNTED)
	numbers[state & 511]++;
#elif defined(FLOOR_HISTOGRAM)
	numbers[4 + sonde_bins_of_magnitude((uint32_t)value)]++;
	numbers[1] += value;
	if (numbers[2] > value || numbers[3] > ~value)
		__builtin_trap();
#endif
}

void sonde_emit_block(uint32_t state, const void *data, uint64_t inc)
{
	(void)state;
	(void)data;
	(void)inc;
}

void sonde_emit_string(uint32_t state, uint64_t value, uint64_t inc,
		       const char *text)
{
	(void)state;
	(void)value;
	(void)inc;
	(void)text;
}

void sonde_emit_parts(uint32_t state, const struct sonde_part *parts, size_t nr)
{
	(void)state;
	(void)parts;
	(void)nr;
}
