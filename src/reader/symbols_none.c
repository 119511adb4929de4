/* SPDX-License-Identifier: MIT */
/*
 * symbols_none.c - built without libelf: addresses stay addresses.
 */
#include <errno.h>
#include <stdlib.h>

#include "reader/symbols.h"

struct sonde_symbols {
	char nothing;
};

struct sonde_symbols *sonde_symbols_new(void)
{
	return calloc(1, sizeof(struct sonde_symbols));
}

void sonde_symbols_free(struct sonde_symbols *symbols)
{
	free(symbols);
}

int sonde_symbols_find(struct sonde_symbols *symbols,
		       const struct sonde_symbols_place *place,
		       uint64_t address, struct sonde_symbol *ret_symbol)
{
	(void)symbols;
	(void)place;
	(void)address;
	(void)ret_symbol;
	return -ENOTSUP;
}

void sonde_symbols_code(struct sonde_symbols *symbols,
			const struct sonde_symbols_place *place,
			uint64_t address, struct sonde_naming *ret_naming)
{
	(void)symbols;
	(void)place;
	(void)address;
	sonde_naming_init(ret_naming);
	ret_naming->lack = SONDE_LACK_SUPPORT;
}
