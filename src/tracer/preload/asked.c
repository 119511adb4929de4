/* SPDX-License-Identifier: MIT */
/*
 * asked.c - makes the library's events known to the recorder: those that SONDE_HOOKS
 * asks for (ring/asked.h), in place of what <sonde/tracepoint.h> does for other
 * modules. That leaves it to whoever has set sonde_enlisted_.
 *
 * A site without a description is a hole: it is passed over, and its state word
 * stays 0.
 */
#include <stdlib.h>

#include <sonde/abi.h>

#include "ring/asked.h"
#include "types/desc.h"

/* The linker's and the public header's names.
 * NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming) */
extern struct sonde_site __start_sonde_sites[]
	__attribute__((visibility("hidden")));
extern struct sonde_site __stop_sonde_sites[]
	__attribute__((visibility("hidden")));
extern unsigned char sonde_enlisted_;
__attribute__((visibility("hidden"))) unsigned char sonde_enlisted_ = 1;
/* NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming) */

/* As early as that of other modules. */
__attribute__((constructor(101))) static void enlist_asked(void)
{
	const char *words = secure_getenv("SONDE_HOOKS");
	size_t nr = (size_t)(__stop_sonde_sites - __start_sonde_sites);

	for (size_t i = 0; i < nr; i++) {
		struct sonde_site *site = &__start_sonde_sites[i];

		if (site->desc && !sonde_asked(words ? words : "",
					       sonde_desc_provider(site->desc)))
			site->desc = NULL;
	}
	sonde_register(__start_sonde_sites, nr);
}
