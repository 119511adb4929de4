/* SPDX-License-Identifier: MIT */
/*
 * kernel_markers.c - the static tracepoints of the running kernel (markers.h).
 *
 * Which events there are, tracefs says; where each has its structure, its static
 * call and the function that calls all that is attached, the kernel's symbols; and
 * where the code comes by, tables in its memory (sys/tracepoints.h), of which each
 * module has its own.
 *
 * That function, __traceiter_NAME, is called with what the tracepoint is: debugging
 * information says of its first byte where the event's arguments are. So there is
 * the marker of those.
 *
 * A pass through some 200,000 symbols, and one read of memory for each site: a tenth
 * of a second.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/unconst.h"
#include "probe/markers.h"
#include "source/available.h"
#include "sys/kallsyms.h"
#include "sys/kcore.h"
#include "sys/kmodules.h"
#include "sys/tracepoints.h"

struct kernel_event {
	char *group, *name;
	uint64_t iterator;
	struct sonde_tracepoint is;
	uint32_t nr_sites;
};

struct kernel_events {
	struct kernel_event *list; /* by name */
	size_t nr, room;
	struct sonde_tracepoint_tables tables;
	struct sonde_tracepoint_site *sites;
	size_t nr_sites;
};

/* ---- which there are ---- */

static int add_kernel_event(void *ctx, const char *group, const char *name,
			    const char *shown)
{
	struct kernel_events *events = ctx;
	struct kernel_event *event;

	(void)shown;
	/* Those have no tracepoints of their own. */
	if (!strcmp(group, "syscalls"))
		return 0;
	if (SONDE_GROW(events->list, events->nr, events->room))
		return -ENOMEM;
	event = &events->list[events->nr++];
	*event = (struct kernel_event){ .group = strdup(group),
					.name = strdup(name) };
	return event->group && event->name ? 0 : -ENOMEM;
}

static int compare_event_names(const void *a, const void *b)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): each has one */
	return strcmp(((const struct kernel_event *)a)->name,
		      ((const struct kernel_event *)b)->name);
}

static struct kernel_event *
find_kernel_event(const struct kernel_events *events, const char *name)
{
	const struct kernel_event wanted = { .name = sonde_unconst(name) };

	return events->nr ? bsearch(&wanted, events->list, events->nr,
				    sizeof(wanted), compare_event_names) :
			    NULL;
}

/* ---- where they are ---- */

/* "PREFIX" NAME: the event's; NULL. */
static struct kernel_event *event_of_symbol(const struct kernel_events *events,
					    const char *symbol,
					    const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(symbol, prefix, length) != 0 ?
		       NULL :
		       find_kernel_event(events, symbol + length);
}

static void take_table(struct sonde_tracepoint_tables *tables,
		       const struct sonde_kallsym *symbol)
{
	const struct {
		const char *name;
		uint64_t *address;
	} wanted[] = {
		{ "__start___jump_table", &tables->jumps },
		{ "__stop___jump_table", &tables->jumps_end },
		{ "__start_static_call_sites", &tables->calls },
		{ "__stop_static_call_sites", &tables->calls_end },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(wanted); i++)
		if (!strcmp(symbol->name, wanted[i].name))
			*wanted[i].address = symbol->address;
}

static bool place_events(void *ctx, const struct sonde_kallsym *symbol)
{
	struct kernel_events *events = ctx;
	struct kernel_event *event;

	if (strncmp(symbol->name, "__", 2) != 0)
		return true;
	event = event_of_symbol(events, symbol->name, "__traceiter_");
	if (event)
		event->iterator = symbol->address;
	event = event_of_symbol(events, symbol->name, "__tracepoint_");
	if (event)
		event->is.structure = symbol->address;
	event = event_of_symbol(events, symbol->name, "__SCK__tp_func_");
	if (event)
		event->is.call = symbol->address;
	if (!symbol->module)
		take_table(&events->tables, symbol);
	return true;
}

struct finding_event_sites {
	struct kernel_events *events;
	struct sonde_tracepoint *list; /* theirs */
	int kcore;
	int rc;
};

/* Those of one pair of tables; none, where memory can't be read. */
static int add_event_sites(const struct finding_event_sites *finding,
			   const struct sonde_tracepoint_tables *tables)
{
	struct kernel_events *events = finding->events;
	struct sonde_tracepoint_site *sites = NULL;
	struct sonde_tracepoint_site *all;
	size_t nr = 0;
	int rc = sonde_tracepoint_sites(finding->kcore, tables, finding->list,
					(uint32_t)events->nr, &sites, &nr);

	if (rc || !nr) {
		free(rc ? NULL : sites);
		return rc == -ENOMEM ? rc : 0;
	}
	all = realloc(events->sites, (events->nr_sites + nr) * sizeof(*all));
	if (all) {
		memcpy(all + events->nr_sites, sites, nr * sizeof(*all));
		events->sites = all;
		events->nr_sites += nr;
	}
	free(sites);
	return all ? 0 : -ENOMEM;
}

static bool see_module_tables(void *ctx, const char *module)
{
	struct finding_event_sites *finding = ctx;
	struct sonde_tracepoint_tables tables;

	if (sonde_kmodule_extent(module, "__jump_table", &tables.jumps,
				 &tables.jumps_end) &&
	    sonde_kmodule_extent(module, ".static_call_sites", &tables.calls,
				 &tables.calls_end))
		finding->rc = add_event_sites(finding, &tables);
	return !finding->rc;
}

/* Where the kernel doesn't say, none. */
static int find_sites_of_events(struct kernel_events *events)
{
	struct finding_event_sites finding = { .events = events };

	if (!events->tables.jumps || !events->tables.calls)
		return 0;
	finding.kcore = sonde_kcore_open(SONDE_KCORE_PATH);
	if (finding.kcore < 0)
		return 0;
	finding.list = calloc(events->nr + 1, sizeof(*finding.list));
	for (size_t i = 0; finding.list && i < events->nr; i++)
		finding.list[i] = events->list[i].is;
	finding.rc = finding.list ? add_event_sites(&finding, &events->tables) :
				    -ENOMEM;
	if (!finding.rc) /* no modules, no sites in them */
		(void)sonde_kmodules_loaded(see_module_tables, &finding);
	(void)close(finding.kcore);
	free(finding.list);
	for (size_t i = 0; i < events->nr_sites; i++)
		events->list[events->sites[i].tracepoint].nr_sites++;
	return finding.rc;
}

/* ---- markers ---- */

static int add_kernel_marker(struct sonde_probe_markers *markers,
			     const struct kernel_event *event,
			     const struct sonde_tracepoint_site *site,
			     const char *before, const char *extra)
{
	struct sonde_probe_marker *marker = sonde_probe_markers_grow(markers);

	if (!marker)
		return -ENOMEM;
	*marker = (struct sonde_probe_marker){
		.address = site ? site->behind : event->iterator,
		.target = site ? site->target : 0,
		.extra = strdup(extra),
		.provider = strdup(event->group),
		.name = strdup(event->name),
	};
	markers->nr++;
	return marker->extra && marker->provider && marker->name ?
		       sonde_probe_marker_name(marker, before) :
		       -ENOMEM;
}

static int add_kernel_markers(struct sonde_probe_markers *markers,
			      const struct kernel_events *events)
{
	char extra[64];
	int rc = 0;

	for (size_t i = 0; !rc && i < events->nr_sites; i++) {
		const struct kernel_event *event =
			&events->list[events->sites[i].tracepoint];

		(void)snprintf(extra, sizeof(extra), "a site, of %u",
			       event->nr_sites);
		rc = add_kernel_marker(markers, event, &events->sites[i], "",
				       extra);
	}
	for (size_t i = 0; !rc && i < events->nr; i++) {
		const struct kernel_event *event = &events->list[i];

		if (event->iterator)
			rc = add_kernel_marker(markers, event, NULL,
					       event->nr_sites ? "args/" : "",
					       event->nr_sites ?
						       "the event's arguments" :
						       "the event's arguments: "
						       "no site is known");
	}
	return rc;
}

static void free_kernel_events(struct kernel_events *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		free(events->list[i].group);
		free(events->list[i].name);
	}
	free(events->list);
	free(events->sites);
}

int sonde_probe_markers_of_kernel(struct sonde_probe_markers *ret_markers,
				  char *error, size_t error_size)
{
	struct sonde_probe_markers markers = { NULL, 0, 0 };
	struct kernel_events events = { .nr = 0 };
	struct sonde_source_error why = { .text = "no memory" };
	int rc = sonde_source_available(add_kernel_event, &events, &why);

	if (events.nr)
		qsort(events.list, events.nr, sizeof(*events.list),
		      compare_event_names);
	if (!rc)
		rc = sonde_kallsyms_each(place_events, &events);
	if (!rc)
		rc = find_sites_of_events(&events);
	if (!rc)
		rc = add_kernel_markers(&markers, &events);
	free_kernel_events(&events);
	sonde_probe_markers_sort(&markers);
	if (rc) {
		(void)snprintf(error, error_size,
			       "the kernel's static tracepoints: %s",
			       why.text[0] ? why.text : strerrordesc_np(-rc));
		sonde_probe_markers_free(&markers);
		return rc;
	}
	*ret_markers = markers;
	return 0;
}
