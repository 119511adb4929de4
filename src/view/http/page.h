/* SPDX-License-Identifier: MIT */
/*
 * page.h - the files of the page (src/view/web/), which src/view/web/embed puts
 * into the program as it is built.
 */
#ifndef VIEW_HTTP_PAGE_H
#define VIEW_HTTP_PAGE_H

#include <stddef.h>

struct sonde_view_file {
	const char *name; /* "app.js" */
	const char *type; /* "text/javascript; charset=utf-8" */
	const unsigned char *bytes;
	size_t size;
};

/* Ends with one without a name. */
extern const struct sonde_view_file sonde_view_files[];

#endif /* VIEW_HTTP_PAGE_H */
