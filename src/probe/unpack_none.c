/* SPDX-License-Identifier: MIT */
/* unpack_none.c - for builds without libdw, which unpacks. */
#include "probe/unpack.h"

#include <errno.h>

int sonde_probe_unpack(const char *path)
{
	(void)path;
	return -ENOSYS;
}
