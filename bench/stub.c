/* SPDX-License-Identifier: MIT */
/* stub.c - a libsonde that does nothing, to tell the loader's cost apart. */
#include <sonde/abi.h>

void sonde_register(struct sonde_site *sites, size_t nr)
{
	(void)sites;
	(void)nr;
}

void sonde_emit_word(uint32_t state, uint64_t value, uint64_t inc)
{
	(void)state;
	(void)value;
	(void)inc;
}
