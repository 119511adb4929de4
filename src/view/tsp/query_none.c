/* SPDX-License-Identifier: MIT */
/* query_none.c - what stands for query.c in a build without json-c. */
#include "view/tsp/query.h"

#include <errno.h>

bool sonde_view_tsp_able(void)
{
	return false;
}

int sonde_view_tsp_query_parse(const char *text, size_t size,
			       struct sonde_view_tsp_query *query,
			       struct sonde_view_error *error)
{
	(void)text;
	(void)size;
	*query = (struct sonde_view_tsp_query){ .index = -1 };
	return sonde_view_fail(error, -ENOSYS, "built without json-c");
}

void sonde_view_tsp_query_fini(struct sonde_view_tsp_query *query)
{
	(void)query;
}
