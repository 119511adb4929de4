/* SPDX-License-Identifier: MIT */
/*
 * semaphore.c - see semaphore.h. A counter has 16 bits, in memory that the
 * program can write. Cost: two system calls a change.
 */
#include "probe/semaphore.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"

bool sonde_probe_semaphore_of(const struct sonde_probe_point *point,
			      uint64_t *ret_semaphore)
{
	uint64_t ignored;

	if (!ret_semaphore)
		ret_semaphore = &ignored;
	for (size_t i = 0; i < point->nr_sources; i++) {
		const struct sonde_probe_source *source = &point->sources[i];
		const char *at = strrchr(source->text, ' ');

		if (strcmp(source->kind, SONDE_PROBE_SDT_KIND) != 0)
			continue;
		*ret_semaphore = 0;
		if (at) {
			at++;
			(void)sonde_number_take(&at, 16, UINT64_MAX,
						ret_semaphore);
		}
		return true;
	}
	return false;
}

int sonde_probe_semaphore_change(const struct sonde_process *process,
				 uint64_t semaphore, bool raise)
{
	uint16_t count;
	int rc = sonde_process_read(process, semaphore, &count, sizeof(count));

	if (rc)
		return rc;
	if (count == (raise ? UINT16_MAX : 0))
		return -ERANGE;
	count = (uint16_t)(raise ? count + 1 : count - 1);
	return sonde_process_write(process, semaphore, &count, sizeof(count));
}
