/* SPDX-License-Identifier: MIT */
/* yaml_none.c - a build without libyaml writes YAML no less, and reads none. */
#include "generate/node.h"

struct sonde_generate_node *
sonde_generate_read_yaml(struct sonde_pool *pool, const char *name,
			 const char *bytes, size_t size,
			 struct sonde_generate_error *error)
{
	const struct sonde_generate_place whole = { name, 0, 0 };

	(void)pool, (void)bytes, (void)size;
	(void)sonde_generate_fail(error, whole,
				  "this build reads no YAML: it lacks libyaml");
	return NULL;
}
