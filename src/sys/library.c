/* SPDX-License-Identifier: MIT */
/*
 * library.c - a library that is opened when it is needed (library.h).
 *
 * All functions are found, or it counts as not opened. Nothing is closed: a library
 * may have threads, and its functions are called until the process ends.
 */
#include "sys/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

int sonde_library_open(const char *library, const char *const names[],
		       void *ret_pointers, const char **ret_why)
{
	void *handle = dlopen(library, RTLD_NOW);
	bool whole = handle != NULL;

	*ret_why = NULL;
	for (size_t i = 0; whole && names[i]; i++) {
		void *found = dlsym(handle, names[i]);

		memcpy((char *)ret_pointers + i * sizeof(found), &found,
		       sizeof(found));
		whole = found != NULL;
	}
	if (whole)
		return 0;
	/* a thread's own, and what failed is the last call */
	*ret_why = dlerror(); /* NOLINT(concurrency-mt-unsafe) */
	return -ELIBACC;
}
