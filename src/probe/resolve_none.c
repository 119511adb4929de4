/* SPDX-License-Identifier: MIT */
/* resolve_none.c - without libdw, places and expressions are GDB's to find. */
#include <stdio.h>

#include "probe/resolve.h"

char *sonde_probe_resolve(const struct sonde_probe_request *request,
			  char *error, size_t error_size)
{
	(void)request;
	(void)snprintf(error, error_size,
		       "built without libdw: a GDB is needed to find the "
		       "place");
	return NULL;
}
