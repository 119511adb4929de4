/* SPDX-License-Identifier: MIT */
/*
 * directory.h - directories and files of ours, made where others may write, too.
 *
 * Traces hold what a program read and wrote. So that nobody else reads them,
 * and nobody has us write where he could not, or where we did not mean to:
 *
 *  1. What we make is ours alone: 0700 and 0600, less what the umask takes.
 *  2. A directory that is written in is our own, and nobody else may write in
 *     it. It is new, or was empty, and locked while we have it: of two that
 *     are told the same one, the second is refused.
 *  3. Of the links on the way to it, only root's and our own are followed.
 *  4. It is opened once. All that is done in it is done by its descriptor: who
 *     moves it, or puts another one in its place, changes nothing.
 *  5. Nothing that is there is opened for writing, but a file that was named by
 *     the user, and that is his own or root's.
 *  6. Nothing in a trace is waited for: a FIFO there is no file of ours.
 *
 * The directory above may be another user's, as a home directory is where root
 * records: the other can move our directory away, and can't look into it. It
 * may be everybody's if it is sticky, as /tmp is.
 *
 * Errors: -errno, and words that name the path and say what to do.
 */
#ifndef CTF_DIRECTORY_H
#define CTF_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct sonde_directory_error {
	char text[400];
};

/* A directory to write in; both descriptors are closed on exec. */
struct sonde_directory {
	int dir;                 /* -1: none */
	int parent;              /* where it was made */
	bool made;               /* by us */
	char name[NAME_MAX + 1]; /* in parent */
};

#define SONDE_DIRECTORY_NONE            \
	{                               \
		.dir = -1, .parent = -1 \
	}

/* Makes the directory `path`, and those on the way to it that aren't there
 * (which stay, whatever comes); an empty one of ours will do. -ENOTEMPTY if
 * there is something in it, -EBUSY if another recording of ours is about to
 * write in it, -EPERM if it, or what leads to it, is another user's. */
int sonde_directory_make(const char *path,
			 struct sonde_directory *ret_directory,
			 struct sonde_directory_error *error);

/* The same, but a directory that is there already will not do: -EEXIST. It is
 * left alone, as whoever has made it may be about to take it. */
int sonde_directory_make_new(const char *path,
			     struct sonde_directory *ret_directory,
			     struct sonde_directory_error *error);

/* Makes a directory in one of ours; its descriptor, or -errno. It may be there
 * already if `may_exist`, and is ours then. */
int sonde_directory_make_below(int dir, const char *name, bool may_exist);

/* Opens a directory in one of ours, whose own it must be; or -errno. */
int sonde_directory_open_below(int dir, const char *name);

/* Makes a new file in a directory of ours, in place of what has its name;
 * `access` is O_WRONLY or O_RDWR. Its descriptor, or -errno. */
int sonde_directory_file_below(int dir, const char *name, int access);

/*
 * Opens, for writing from its beginning, the file that the user named: a new
 * one, or else one of ours or root's, a device, or what is our standard
 * output already. A FIFO without a reader is waited for, as by a shell.
 */
int sonde_directory_file(const char *path, struct sonde_directory_error *error);

/* 0 if `dir` is our own and nobody else may write in it; else -EPERM. */
int sonde_directory_check(int dir, const char *path,
			  struct sonde_directory_error *error);

/* Where it is now, which may be elsewhere if somebody moved it. -ENOENT if it
 * was removed. */
int sonde_directory_where(const struct sonde_directory *directory,
			  char path[PATH_MAX]);

/* Whether `path` still leads to it. */
bool sonde_directory_is_at(const struct sonde_directory *directory,
			   const char *path);

/* Removes files and directories of ours, and nothing else, from a directory of
 * ours. Best effort. */
void sonde_directory_clear(int dir);
/* The directory itself, if we made it and it is empty; it is closed. */
void sonde_directory_give_up(struct sonde_directory *directory);
/* Both. */
void sonde_directory_remove(struct sonde_directory *directory);

void sonde_directory_close(struct sonde_directory *directory);

#endif /* CTF_DIRECTORY_H */
