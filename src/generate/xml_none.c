/* SPDX-License-Identifier: MIT */
/* xml_none.c - a build without libxml2 writes XML no less, and reads none. */
#include "generate/node.h"

struct sonde_generate_node *
sonde_generate_read_xml(struct sonde_pool *pool, const char *name,
			const char *bytes, size_t size,
			struct sonde_generate_error *error)
{
	const struct sonde_generate_place whole = { name, 0, 0 };

	(void)pool, (void)bytes, (void)size;
	(void)sonde_generate_fail(error, whole,
				  "this build reads no XML: it lacks libxml2");
	return NULL;
}
