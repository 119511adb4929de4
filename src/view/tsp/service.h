/* SPDX-License-Identifier: MIT */
/*
 * service.h - the Trace Server Protocol, which front ends such as Trace Viewer for
 * VS Code and Theia speak, below "tsp/api/" of the pages' server (docs/tsp.md).
 *
 * What is asked is behind the server's token, as pages are. An answer is JSON; of
 * what goes wrong "title" says why.
 */
#ifndef VIEW_TSP_SERVICE_H
#define VIEW_TSP_SERVICE_H

#include "view/http/server.h"
#include "view/tsp/traces.h"

struct sonde_view_tsp {
	const char *version; /* borrowed */
	/* ---- private ---- */
	const struct sonde_view_config *config;
	struct sonde_view_tsp_traces traces;
	bool begun;
};

/* What the server's config gets, whose trace and paths are set by the time that it
 * starts. Both are borrowed until the server has been stopped; then it is to be
 * finished, whether the server was started or not. */
struct sonde_view_service
sonde_view_tsp_service(struct sonde_view_tsp *tsp, const char *version,
		       const struct sonde_view_config *config);
void sonde_view_tsp_fini(struct sonde_view_tsp *tsp);

#endif /* VIEW_TSP_SERVICE_H */
