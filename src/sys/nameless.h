/* SPDX-License-Identifier: MIT */
/*
 * nameless.h - a file without a name, for what is kept on disk for a while: it goes
 * when its descriptor is closed, whatever becomes of us.
 */
#ifndef SYS_NAMELESS_H
#define SYS_NAMELESS_H

/* An empty file for reading and writing in $TMPDIR, else in /var/tmp; where that can't
 * be, in memory. Its descriptor, closed on exec; or -errno. */
int sonde_nameless_open(void);

#endif /* SYS_NAMELESS_H */
