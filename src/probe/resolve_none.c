/* SPDX-License-Identifier: MIT */
/* resolve_none.c - without libdw, places and expressions are GDB's to find. */
#include <errno.h>
#include <stdio.h>

#include "probe/kernel.h"
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

int sonde_probe_kernel_resolve(
	const struct sonde_probe_kernel_request *requests, uint32_t nr,
	char *error, size_t error_size, struct sonde_source_probe **ret_probes)
{
	(void)requests;
	(void)nr;
	(void)ret_probes;
	(void)snprintf(error, error_size,
		       "this sonde was built without libdw, and has no "
		       "expressions of C");
	return -ENOSYS;
}

void sonde_probe_kernel_free(struct sonde_source_probe *probe)
{
	(void)probe;
}
