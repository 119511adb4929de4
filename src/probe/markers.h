/* SPDX-License-Identifier: MIT */
/*
 * markers.h - the static tracepoints of a process: every sonde_event and every
 * SDT probe in it and its libraries.
 *
 * Both are notes in the files that it has mapped (.note.stapsdt; ours have the
 * provider and name of the event and one argument, where the state word is).
 * Ids have at least 16 characters, as GDB 13.1 crashes with shorter ones:
 * "sonde/PROVIDER:NAME" or "sdt/PROVIDER:NAME", padded with dots at the end.
 */
#ifndef PROBE_MARKERS_H
#define PROBE_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sonde/abi.h>

struct sonde_probe_marker {
	uint64_t address; /* in the process */
	char *id;
	char *extra;   /* what is shown beside it: the fields, the arguments */
	bool is_event; /* a sonde_event */
	char *provider, *name;
	uint8_t state_register;  /* GDB's number; 255: none */
	struct sonde_desc *desc; /* of an event */
	uint64_t semaphore;      /* of an SDT probe; 0: none */
	/* Of the kernel's: where a probe goes, while the tracepoint is on; 0: on
	 * the tracepoint itself. */
	uint64_t target;
};

struct sonde_probe_markers {
	struct sonde_probe_marker *list; /* by address */
	size_t nr;
	/* where libsonde keeps the address of our arena (ring/control.h,
	 * SONDE_STATE_GUEST); 0: there is none, or an old one */
	uint64_t guest_arena;
};

/* What can't be read (a file that is gone) is left out. 0 or -errno. */
int sonde_probe_markers_find(pid_t pid,
			     struct sonde_probe_markers *ret_markers);
/* Those of the running kernel (kernel_markers.c), whose ids are "GROUP:EVENT"
 * at an event's sites, or where none is known at its arguments, and
 * "args/GROUP:EVENT" at those. 0, or -errno with a line of text. */
int sonde_probe_markers_of_kernel(struct sonde_probe_markers *ret_markers,
				  char *error, size_t error_size);
/* The one that is there; NULL. */
const struct sonde_probe_marker *
sonde_probe_marker_at(const struct sonde_probe_markers *markers,
		      uint64_t address);
/* Where the process has the variable of that name of the marker's file; 0: the
 * file tells of none, or of several. */
uint64_t sonde_probe_marker_variable(pid_t pid,
				     const struct sonde_probe_marker *marker,
				     const char *name);
/* Room for one more, which isn't counted yet; NULL: no memory. Its id: what is
 * before "PROVIDER:NAME". And when all are there: by their addresses. */
struct sonde_probe_marker *
sonde_probe_markers_grow(struct sonde_probe_markers *to);
int sonde_probe_marker_name(struct sonde_probe_marker *marker,
			    const char *before);
void sonde_probe_markers_sort(struct sonde_probe_markers *markers);
void sonde_probe_markers_free(struct sonde_probe_markers *markers);

#endif /* PROBE_MARKERS_H */
