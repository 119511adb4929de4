/* SPDX-License-Identifier: MIT */
/*
 * lttng.c - brings points and probes of one name together (struct
 * sonde_lttng_point).
 *
 * Modules with either are in a list, through memory of their own. One that comes
 * is joined with itself and with all that are there; one that goes is taken out,
 * and points of others that have its probes are off again.
 *
 * A point has the first probe that comes. Its state is set last and cleared
 * first; whoever has seen it set looks whether there is a function, so neither
 * order of the two stores is needed. Points and probes come from the same
 * header, hence mostly in the same order: each search begins where the last one
 * ended, so n of each take about n comparisons.
 *
 * Called by the loader, which has a lock.
 */
#include <sonde/lttng/detail/point.h>
#include <stdbool.h>
#include <string.h>

#include "base/port.h"

static struct sonde_lttng_module *modules;
static const uint32_t off;

static bool has_name_of(const struct sonde_lttng_point *point,
			const struct sonde_desc *desc)
{
	const char *provider = (const char *)(desc + 1);

	return !strcmp(point->provider, provider) &&
	       !strcmp(point->name, provider + desc->provider_size);
}

static void join_point(struct sonde_lttng_point *point,
		       const struct sonde_lttng_probe *probe)
{
	if (sonde_load_relaxed(&point->fire))
		return;
	sonde_store_relaxed(&point->fire, probe->fire);
	sonde_store_relaxed(&point->state,
			    sonde_load_relaxed(&probe->site->state));
}

static void join_modules(const struct sonde_lttng_module *with_points,
			 const struct sonde_lttng_module *with_probes)
{
	size_t nr = (size_t)(with_points->points_end - with_points->points);
	size_t at = 0;

	for (const struct sonde_lttng_probe *probe = with_probes->probes;
	     probe < with_probes->probes_end; probe++) {
		for (size_t i = 0; i < nr; i++) {
			size_t next = (at + i) % nr;

			if (!has_name_of(&with_points->points[next],
					 probe->site->desc))
				continue;
			join_point(&with_points->points[next], probe);
			at = next + 1;
			break;
		}
	}
}

void sonde_lttng_join(struct sonde_lttng_module *module)
{
	for (struct sonde_lttng_module *m = modules; m; m = m->next)
		if (m == module)
			return;
	join_modules(module, module);
	for (struct sonde_lttng_module *m = modules; m; m = m->next) {
		join_modules(m, module);
		join_modules(module, m);
	}
	module->next = modules;
	modules = module;
}

static bool is_probe_of(const struct sonde_lttng_module *module,
			void (*fire)(void))
{
	for (const struct sonde_lttng_probe *probe = module->probes;
	     probe < module->probes_end; probe++)
		if (probe->fire == fire)
			return true;
	return false;
}

static void part_points(struct sonde_lttng_module *of,
			const struct sonde_lttng_module *module)
{
	for (struct sonde_lttng_point *point = of->points;
	     point < of->points_end; point++) {
		void (*fire)(void) = sonde_load_relaxed(&point->fire);

		if (!fire || !is_probe_of(module, fire))
			continue;
		sonde_store_relaxed(&point->state, &off);
		sonde_store_relaxed(&point->fire, NULL);
	}
}

void sonde_lttng_part(struct sonde_lttng_module *module)
{
	struct sonde_lttng_module **at = &modules;

	while (*at && *at != module)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = module->next;
	for (struct sonde_lttng_module *m = modules; m; m = m->next)
		part_points(m, module);
}
