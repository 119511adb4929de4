/* SPDX-License-Identifier: MIT */
/*
 * kin.c - who may be recorded, and how many CPUs there are.
 *
 * A process is ours by its user, or by its descent if we are root. A few reads
 * of /proc and /sys.
 */
#include "session/kin.h"

#include <errno.h>
#include <unistd.h>

#include "session/budget.h"
#include "sys/cpus.h"
#include "sys/textfile.h"

int sonde_check_kin(const struct sonde_peer *peer,
		    const struct sonde_peer *ancestor)
{
	if (peer->uid == geteuid())
		return 0;
	return geteuid() == 0 ? sonde_peer_descends(peer, ancestor) : -EACCES;
}

uint32_t sonde_nr_online_cpus(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1 ? 1 : nr < SONDE_CPUS_MAX ? (uint32_t)nr : SONDE_CPUS_MAX;
}

uint32_t sonde_nr_possible_cpus(void)
{
	char text[256];
	uint32_t online = sonde_nr_online_cpus();
	uint32_t nr;
	long configured = sysconf(_SC_NPROCESSORS_CONF);

	(void)sonde_textfile_read(text, sizeof(text),
				  "/sys/devices/system/cpu/possible");
	nr = sonde_cpus_span(text, SONDE_CPUS_MAX);
	if (!nr && configured > 0 && configured <= SONDE_CPUS_MAX)
		nr = (uint32_t)configured;
	return nr > online ? nr : online;
}
