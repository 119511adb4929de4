/* SPDX-License-Identifier: MIT */
/* nameless.c - a file that nobody else can open (nameless.h). */
#include "sys/nameless.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

int sonde_nameless_open(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it */
	const char *place = secure_getenv("TMPDIR");
	int fd = open(place && *place ? place : "/var/tmp",
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("sonde-nameless", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
