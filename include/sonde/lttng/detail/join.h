/* SPDX-License-Identifier: MIT */
/*
 * join.h - a module with points or probes tells libsonde of them, from a
 * constructor, and takes them back from a destructor.
 *
 * A program that is to run without libsonde says so as it did to LTTng, with
 * LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE: then libsonde is taken if it is
 * there already or can be loaded; else the points stay off.
 */
#ifndef SONDE_LTTNG_DETAIL_JOIN_H
#define SONDE_LTTNG_DETAIL_JOIN_H

#ifndef SONDE_LTTNG_TRACEPOINT_H
#error "include <lttng/tracepoint.h>, of which this is a part"
#endif
#pragma GCC system_header

#if defined(LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE) || \
	(SONDE_LTTNG_OLD_ && defined(TRACEPOINT_PROBE_DYNAMIC_LINKAGE))
#include <dlfcn.h>
#define SONDE_LTTNG_ALONE_ 1
#else
#define SONDE_LTTNG_ALONE_ 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_LTTNG_EDGE_ __attribute__((weak, visibility("hidden")))

/* All of this module, as the linker puts them side by side. */
extern struct sonde_lttng_point __start_sonde_points[] SONDE_LTTNG_EDGE_;
extern struct sonde_lttng_point __stop_sonde_points[] SONDE_LTTNG_EDGE_;
extern const struct sonde_lttng_probe __start_sonde_probes[] SONDE_LTTNG_EDGE_;
extern const struct sonde_lttng_probe __stop_sonde_probes[] SONDE_LTTNG_EDGE_;

/* One for each module, whichever of its files is first. */
SONDE_LTTNG_EDGE_ struct sonde_lttng_module sonde_points_ = {
	SONDE_LTTNG_NULL_, __start_sonde_points, __stop_sonde_points,
	__start_sonde_probes, __stop_sonde_probes
};

#if SONDE_LTTNG_ALONE_
#pragma weak sonde_lttng_join
#pragma weak sonde_lttng_part

static inline void (*sonde_lttng_find_(const char *name))(
	struct sonde_lttng_module *)
{
	void *library = dlopen("libsonde.so.0", RTLD_NOW | RTLD_GLOBAL);
	void *found = library ? dlsym(library, name) : 0;
	void (*function)(struct sonde_lttng_module *) = 0;

	__builtin_memcpy(&function, &found, sizeof(function));
	return function;
}
#endif

/* After the sites are registered (site.h, field_cxx.h). */
__attribute__((constructor(102), used)) static void sonde_lttng_join_(void)
{
	void (*join)(struct sonde_lttng_module *) = sonde_lttng_join;

#if SONDE_LTTNG_ALONE_
	if (!join)
		join = sonde_lttng_find_("sonde_lttng_join");
	if (!join)
		return;
#endif
	join(&sonde_points_);
}

__attribute__((destructor(102), used)) static void sonde_lttng_part_(void)
{
	void (*part)(struct sonde_lttng_module *) = sonde_lttng_part;

#if SONDE_LTTNG_ALONE_
	if (!part)
		part = sonde_lttng_find_("sonde_lttng_part");
	if (!part)
		return;
#endif
	part(&sonde_points_);
}

#ifdef __cplusplus
}
#endif

#endif /* SONDE_LTTNG_DETAIL_JOIN_H */
