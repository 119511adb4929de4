/* SPDX-License-Identifier: MIT */
/* json_none.c - what stands for json.c in a build without json-c. */
#include "ctf/schema/schema.h"

int sonde_schema_parse_json(struct sonde_schema *schema, const char *text,
			    size_t size, struct sonde_schema_error *error)
{
	(void)schema;
	(void)text;
	(void)size;
	return sonde_schema_complain(error,
				     "the metadata is CTF 2, and this build of "
				     "Sonde reads only CTF 1.8 (it lacks "
				     "json-c)");
}
