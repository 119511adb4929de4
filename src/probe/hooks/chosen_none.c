/* SPDX-License-Identifier: MIT */
/* chosen_none.c - without libdw, symbols can't be had (chosen.h). */
#include "probe/hooks/chosen.h"

#include <errno.h>

int sonde_hooks_chosen_find(pid_t pid, const struct sonde_hooks_globs *globs,
			    struct sonde_hooks_chosen *ret)
{
	(void)pid;
	(void)globs;
	*ret = (struct sonde_hooks_chosen){ 0 };
	return -EOPNOTSUPP;
}

void sonde_hooks_chosen_free(struct sonde_hooks_chosen *chosen)
{
	(void)chosen;
}

bool sonde_hooks_chosen_is_part(const struct sonde_hooks_chosen *chosen,
				uint64_t address)
{
	(void)chosen;
	(void)address;
	return false;
}
