/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* iter_none.c - iter.h in a build without BPF: there is never one. */
#include "source/statedump/iter.h"

#include <errno.h>

int sonde_iter_new(struct sonde_iter **ret_iter)
{
	(void)ret_iter;
	return -ENOTSUP;
}

void sonde_iter_free(struct sonde_iter *iter)
{
	(void)iter;
}

int sonde_iter_tasks(struct sonde_iter *iter, int32_t only_pid,
		     const struct sonde_statedump_target *target)
{
	(void)iter;
	(void)only_pid;
	(void)target;
	return -ENOTSUP;
}

int sonde_iter_files(struct sonde_iter *iter, int32_t only_pid,
		     const struct sonde_statedump_wanted *wanted,
		     const struct sonde_statedump_target *target)
{
	(void)wanted;
	return sonde_iter_tasks(iter, only_pid, target);
}

int sonde_iter_mappings(struct sonde_iter *iter, int32_t only_pid,
			const struct sonde_statedump_wanted *wanted,
			const struct sonde_statedump_target *target)
{
	(void)wanted;
	return sonde_iter_tasks(iter, only_pid, target);
}
