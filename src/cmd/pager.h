/* SPDX-License-Identifier: MIT */
/*
 * pager.h - what is long goes through the user's pager: $PAGER as a shell takes
 * it, else `less -FRX`, which ends by itself if all fits on the screen.
 *
 * Only if standard output is a terminal that isn't dumb; not if PAGER is "cat"
 * or empty, or if there is no less. What depends on the terminal (its width,
 * colours) is to be found out before: from begin to end standard output is a
 * pipe. One pager at a time.
 */
#ifndef CMD_PAGER_H
#define CMD_PAGER_H

/* Nothing if there is one already. */
void sonde_pager_begin(void);

/* What was written is given to it, and the user has seen it. Standard output is
 * as before. */
void sonde_pager_end(void);

#endif /* CMD_PAGER_H */
