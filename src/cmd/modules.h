/* SPDX-License-Identifier: MIT */
/*
 * modules.h - the parts of `sonde modules`, to one another.
 *
 *	modules.c		the words on the command line
 *	modules_build.c		build
 *	modules_load.c		load, unload
 *	modules_status.c	status
 *	modules_find.c		where sources and built modules are
 *
 * A module that was built is FOLDER/sonde.ko; by default the folder is
 * ~/.cache/sonde/modules/KERNEL, one for each kernel.
 */
#ifndef CMD_MODULES_H
#define CMD_MODULES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define MODULES_FILE "sonde.ko"

struct modules_options {
	const char *kernel;     /* NULL: the one that runs */
	const char *headers;    /* NULL: that kernel's */
	const char *folder;     /* NULL: the default */
	const char *sources;    /* NULL: those that belong to this sonde */
	const char *group;      /* NULL: none */
	const char *clock_bits; /* NULL: the counter as it is */
	bool json;
};

/* Each: an exit status. */
int modules_build(const struct modules_options *options);
int modules_load(const struct modules_options *options);
int modules_unload(void);
int modules_status(const struct modules_options *options);

/* ---- modules_find.c ---- */

/* Makes a path; false if it doesn't fit. */
__attribute__((format(printf, 3, 4))) bool
modules_path(char *path, size_t size, const char *format, ...);

/* The kernel that runs. */
const char *modules_running_kernel(void);

/* Where `sonde modules build` puts them: the user's folder of modules. False if
 * there is no such user, or its name is too long. */
bool modules_cache(char *path, size_t size);
/* The same of the user who called sudo; false if nobody did. */
bool modules_cache_of_caller(char *path, size_t size);

/* The folder with the sources; false if there is none. */
bool modules_find_sources(const struct modules_options *options, char *path,
			  size_t size);

/* The module built for `kernel`, wherever; false if there is none. */
bool modules_find_built(const struct modules_options *options,
			const char *kernel, char *path, size_t size);

#endif /* CMD_MODULES_H */
