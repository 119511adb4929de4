/* SPDX-License-Identifier: MIT */
/*
 * torn.h - files that become shorter while they are mapped. To read behind the end of
 * such a file is a SIGBUS, which mustn't end a server: zeros take the place of the page,
 * and that is counted. Who read meanwhile may have read anything, so throws it away.
 *
 *	unsigned int before = sonde_view_tears();
 *	read
 *	if (sonde_view_tears() != before)
 *		it is worth nothing
 *
 * There is one count in the process, since signals belong to the process.
 */
#ifndef VIEW_HTTP_TORN_H
#define VIEW_HTTP_TORN_H

#include <signal.h>
#include <stdbool.h>

#define SONDE_VIEW_TORN "the trace became shorter while it was read"

unsigned int sonde_view_tears(void);
/* For a handler of SIGBUS: what read goes on if true; else the signal has another
 * cause, as a disk that fails has. */
bool sonde_view_mend(const siginfo_t *info);

#endif /* VIEW_HTTP_TORN_H */
