/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - what a user wrote of a probe at a function of the kernel, or on a
 * tracepoint of it, as the sources take it (source/probes.h).
 *
 * The language is that of the probes of programs (compile.h); names are the
 * function's, or event's, arguments, as the kernel's BTF has them, `current`, the running
 * task's struct task_struct, and labels of enumerations.
 */
#ifndef PROBE_KERNEL_H
#define PROBE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "source/probes.h"

struct sonde_probe_kernel_request {
	/* "FUNCTION[+OFFSET] [if CONDITION]", "FUNCTION%return",
	 * "GROUP:EVENT" and so on */
	const char *where;
	const char *collect; /* "size, /s name, $args"; NULL: nothing */
	const char *name;    /* of the events; NULL: the function's */
};

/* `nr` at once, for the kernel's names are read once for all, which takes longer than
 * what else there is to do. 0; -errno, with *error of one line, and no probe.
 * ret_probes[i] is for sonde_probe_kernel_free(). */
int sonde_probe_kernel_resolve(
	const struct sonde_probe_kernel_request *requests, uint32_t nr,
	char *error, size_t error_size, struct sonde_source_probe **ret_probes);
/* What such a probe's events are called, of what is before "if" and the like;
 * `name` as in the request. */
void sonde_probe_kernel_name(const char *where, const char *name, char *to,
			     size_t size);
void sonde_probe_kernel_free(struct sonde_source_probe *probe);

#endif /* PROBE_KERNEL_H */
