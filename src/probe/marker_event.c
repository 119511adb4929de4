/* SPDX-License-Identifier: MIT */
/* sdata.c - see sdata.h. */
#include "probe/marker_event.h"

#include <errno.h>

#include "expr/agent.h"
#include "probe/markers.h"
#include "ring/control.h"

static const struct sonde_probe_marker *
find_site(const struct sonde_probe_markers *markers, uint64_t address)
{
	for (size_t i = 0; i < markers->nr; i++) {
		const struct sonde_probe_marker *marker = &markers->list[i];

		if (marker->address == address && marker->is_event &&
		    marker->state_register <= SONDE_AGENT_R15)
			return marker;
	}
	return NULL;
}

static int force(struct sonde_process *process, struct sonde_probe_arena *arena,
		 const struct sonde_probe_markers *markers,
		 struct sonde_probe_spec *spec)
{
	const struct sonde_probe_marker *site =
		find_site(markers, spec->address);
	uint32_t index;
	int rc;

	if (!site || !markers->guest_arena)
		return -ENOENT;
	rc = sonde_probe_arena_add(arena, site->desc, &index);
	/* Pairs with the load of it in arena_of (tracer/emit.c): there is no
	 * probe yet, so nobody reads it meanwhile. */
	if (!rc)
		rc = sonde_process_write(process, markers->guest_arena,
					 &arena->there, sizeof(arena->there));
	if (rc)
		return rc;
	spec->force_register = site->state_register;
	spec->force_value = SONDE_STATE_GENERIC | SONDE_STATE_GUEST | index;
	return 0;
}

int sonde_probe_marker_event_force(struct sonde_process *process,
				   struct sonde_probe_arena *arena,
				   struct sonde_probe_spec *spec,
				   bool *ret_is_guest)
{
	struct sonde_probe_markers markers;
	int rc = sonde_probe_markers_find(sonde_process_pid(process), &markers);

	if (rc)
		return rc;
	rc = force(process, arena, &markers, spec);
	*ret_is_guest = rc == 0;
	sonde_probe_markers_free(&markers);
	return rc == -ENOENT ? 0 : rc; /* then it has no $_sdata */
}
