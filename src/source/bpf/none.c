/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * none.c - the source "bpf" of a build that has none: it can't be opened, so
 * nothing else is ever asked of it.
 */
#include "source/source.h"

#include <errno.h>

static int none_open(const struct sonde_source_config *config,
		     struct sonde_source **ret_source,
		     struct sonde_source_error *error)
{
	(void)config;
	(void)ret_source;
	return sonde_source_fail(error, -ENOSYS,
				 "BPF: this sonde was built without it (clang "
				 "and libbpf 1.1 are needed to build it in)");
}

const struct sonde_source_ops sonde_source_bpf = {
	.name = "bpf",
	.open = none_open,
};
