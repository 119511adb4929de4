/* SPDX-License-Identifier: MIT */
/*
 * here.h - whether a trace's files are still those that it was read from.
 *
 * What was mapped stays readable when its file is deleted or renamed; a file that
 * became shorter doesn't (torn.h). Files that are new are not looked for
 * (reader/follow.h does).
 *
 * Cost of a look: a stat() for each file. One thread.
 */
#ifndef VIEW_HTTP_HERE_H
#define VIEW_HTTP_HERE_H

#include <stdbool.h>

#include <sonde/trace.h>

struct sonde_view_here;

/* As the files are now, which should be right after they were opened. NULL: no
 * memory. */
struct sonde_view_here *sonde_view_here_new(const struct sonde_trace *trace);
/* NULL is fine. */
void sonde_view_here_free(struct sonde_view_here *here);
/* `may_grow`: a file that has grown is the same. */
bool sonde_view_here_look(const struct sonde_view_here *here, bool may_grow);

#endif /* VIEW_HTTP_HERE_H */
