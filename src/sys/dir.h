/* SPDX-License-Identifier: MIT */
/*
 * dir.h - the names in a directory. A stream belongs to one thread, and is the
 * caller's to close.
 */
#ifndef SYS_DIR_H
#define SYS_DIR_H

#include <dirent.h>

/* Of the directory `parent`, "." itself. NULL, and errno. */
DIR *sonde_dir_open_at(int parent, const char *name);

/* The next name that doesn't begin with a dot, borrowed until the next call;
 * NULL at the end. NULL for NULL. */
const char *sonde_dir_next(DIR *dir);

#endif /* SYS_DIR_H */
