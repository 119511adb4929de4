/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cpus.c - the kernel's lists of CPUs ("0-3,8").
 *
 * A part that makes no sense isn't passed: that *at isn't at the end then is
 * how a caller tells a damaged list. Linear in the text.
 */
#include "sys/cpus.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "sys/textfile.h"

bool sonde_cpus_take(const char **at, uint32_t *ret_first, uint32_t *ret_last)
{
	const char *p = *at;
	uint64_t first;
	uint64_t last;

	if (!sonde_number_take(&p, 10, UINT32_MAX, &first))
		return false;
	last = first;
	if (*p == '-') {
		p++;
		if (!sonde_number_take(&p, 10, UINT32_MAX, &last) ||
		    last < first)
			return false;
	}
	if (*p == ',' && sonde_number_digit(p[1]) < 10)
		p++;
	else if (*p && *p != '\n')
		return false;
	*at = p;
	*ret_first = (uint32_t)first;
	*ret_last = (uint32_t)last;
	return true;
}

uint32_t sonde_cpus_span(const char *list, uint32_t max)
{
	uint32_t first;
	uint32_t last = UINT32_MAX;

	while (sonde_cpus_take(&list, &first, &last))
		;
	return (!*list || *list == '\n') && last < max ? last + 1 : 0;
}

uint32_t sonde_cpus_counters(const char *devices)
{
	DIR *dir = opendir(devices);
	const struct dirent *entry;
	uint32_t nr = 0;
	char path[512];

	if (!dir)
		return 0;
	/* Our own stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(dir))) {
		(void)snprintf(path, sizeof(path), "%s/%s/cpus", devices,
			       entry->d_name);
		/* Where CPUs differ, and on Arm, each sort says of which. */
		if (!strcmp(entry->d_name, "cpu") || !access(path, F_OK))
			nr++;
	}
	(void)closedir(dir); /* it was only read */
	return nr;
}

uint32_t sonde_cpus_online(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1 ? 1 : nr < SONDE_CPUS_MAX ? (uint32_t)nr : SONDE_CPUS_MAX;
}

uint32_t sonde_cpus_possible(void)
{
	char text[256];
	uint32_t online = sonde_cpus_online();
	uint32_t nr;
	long configured = sysconf(_SC_NPROCESSORS_CONF);

	(void)sonde_textfile_read(text, sizeof(text),
				  "/sys/devices/system/cpu/possible");
	nr = sonde_cpus_span(text, SONDE_CPUS_MAX);
	if (!nr && configured > 0 && configured <= SONDE_CPUS_MAX)
		nr = (uint32_t)configured;
	return nr > online ? nr : online;
}
