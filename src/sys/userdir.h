/* SPDX-License-Identifier: MIT */
/*
 * userdir.h - where a user's programs keep what isn't his documents: caches, the
 * state of things, what he configures.
 *
 *	$XDG_CACHE_HOME/sonde, ~/.cache/sonde
 *	$XDG_STATE_HOME/sonde, ~/.local/state/sonde
 *	$XDG_CONFIG_HOME/sonde, ~/.config/sonde
 */
#ifndef SYS_USERDIR_H
#define SYS_USERDIR_H

#include <limits.h>

/*
 * Opens the directory, which is made, for nobody else, if it isn't there, as are
 * those it is in. `below_home` is where it is ("/.cache") unless the environment's
 * `variable` says so. A descriptor or -errno.
 */
int sonde_userdir_open(const char *variable, const char *below_home);

/* Where it is, with "" or "/FILE" behind it; nothing is made. 0, -ENOENT (nobody
 * says), -ENAMETOOLONG. */
int sonde_userdir_path(const char *variable, const char *below_home,
		       const char *file, char to[PATH_MAX]);

#endif /* SYS_USERDIR_H */
