/* SPDX-License-Identifier: MIT */
/*
 * point.h - what a program that was written for LTTng-UST and libsonde
 * agree on, besides abi.h.
 *
 * The place of an event in the program and its description may be in different
 * modules. What the program tests and calls is the point; the probe records it.
 * libsonde finds both by name (tracer/lttng.c).
 */
#ifndef SONDE_LTTNG_DETAIL_POINT_H
#define SONDE_LTTNG_DETAIL_POINT_H

#include <sonde/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_lttng_point {
	const uint32_t *state; /* the site's, once there is one; else of a 0 */
	void (*fire)(void);    /* really of the state and the arguments */
	const char *provider;
	const char *name;
};

struct sonde_lttng_probe {
	const struct sonde_site *site; /* registered before */
	void (*fire)(void);
};

/* All of a module, which owns it. */
struct sonde_lttng_module {
	struct sonde_lttng_module *next; /* libsonde's */
	struct sonde_lttng_point *points;
	struct sonde_lttng_point *points_end;
	const struct sonde_lttng_probe *probes;
	const struct sonde_lttng_probe *probes_end;
};

/*
 * Join a module's points and probes with those of all modules that are there,
 * from a constructor; idempotent. And take them out again, from a destructor,
 * before the module is unloaded: points whose probe goes are off.
 *
 * Threads: as constructors are run, one at a time.
 */
SONDE_EXPORT void sonde_lttng_join(struct sonde_lttng_module *module);
SONDE_EXPORT void sonde_lttng_part(struct sonde_lttng_module *module);

#ifdef __cplusplus
}
#endif

#endif /* SONDE_LTTNG_DETAIL_POINT_H */
