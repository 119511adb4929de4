/* SPDX-License-Identifier: MIT */
/*
 * directory.c - directories and files of ours (directory.h).
 *
 * A path is walked by descriptors: the kernel would follow everybody's links.
 */
#include "ctf/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/fd.h"

#define DIRECTORY_MODE 0700
#define FILE_MODE      0600
#define LINKS_MAX      40 /* as the kernel follows */
#define LEVELS_MAX     6  /* of directories that are cleared */
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define MAKE_FILE      (O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY)

#define fail           sonde_text_fail

static int fail_call(struct sonde_directory_error *error, int err,
		     const char *path)
{
	return fail(error, -err, "%.250s: %s", path, strerrordesc_np(err));
}

static void directory_close_fd(int fd)
{
	if (fd >= 0)
		(void)close(fd); /* nothing was written by it */
}

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid();
}

static bool directory_is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || is_ours(st);
}

/* Who may rename and remove what is in it? */
static int check_parent(int parent, const char *path,
			struct sonde_directory_error *error)
{
	struct stat st;

	if (fstat(parent, &st))
		return fail_call(error, errno, path);
	if (!(st.st_mode & S_IWOTH) || st.st_mode & S_ISVTX)
		return 0;
	return fail(error, -EPERM,
		    "%.250s: everybody may write in the directory it is to be "
		    "in (user %u's) and take it away; chmod +t that one, or "
		    "give another place",
		    path, st.st_uid);
}

/* ---- walking ---- */

/* On the way: the directory we are in, and what is left of the path. */
struct walk {
	const char *path; /* as it was given */
	int at;
	int nr_links;
	bool makes; /* directories that aren't there */
	char left[PATH_MAX];
	struct sonde_directory_error *error;
};

/* A link in `at`: what it leads to goes before the rest. */
static int follow(struct walk *walk, const char *name, const char *rest)
{
	char target[PATH_MAX];
	char joined[PATH_MAX];
	ssize_t n = readlinkat(walk->at, name, target, sizeof(target) - 1);
	int root;

	if (n < 0)
		return fail_call(walk->error, errno, walk->path);
	if (++walk->nr_links > LINKS_MAX)
		return fail_call(walk->error, ELOOP, walk->path);
	target[n] = '\0';
	if (snprintf(joined, sizeof(joined), "%s%s%s", target, *rest ? "/" : "",
		     rest) >= (int)sizeof(joined))
		return fail_call(walk->error, ENAMETOOLONG, walk->path);
	memcpy(walk->left, joined, sizeof(joined));
	if (*target != '/')
		return 0;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return fail_call(walk->error, errno, walk->path);
	(void)close(walk->at); /* it was only looked at */
	walk->at = root;
	return 0;
}

/* Takes the first name off what is left; returns the rest. */
static const char *directory_take_name(const char *left,
				       char name[NAME_MAX + 1])
{
	size_t length;

	left += strspn(left, "/");
	length = strcspn(left, "/");
	if (length > NAME_MAX)
		return NULL;
	memcpy(name, left, length);
	name[length] = '\0';
	left += length;
	return left + strspn(left, "/");
}

static int directory_enter(struct walk *walk, const char *name)
{
	int fd = openat(walk->at, name,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fail_call(walk->error, errno, walk->path);
	(void)close(walk->at); /* it was only looked at */
	walk->at = fd;
	return 0;
}

/* A directory that isn't there, which is not the last one of the path. */
static int make_missing(struct walk *walk, const char *name, const char *rest)
{
	int err;

	if (!walk->makes || !*rest || errno != ENOENT)
		return fail_call(walk->error, errno, walk->path);
	err = check_parent(walk->at, walk->path, walk->error);
	if (!err && mkdirat(walk->at, name, DIRECTORY_MODE) && errno != EEXIST)
		err = fail_call(walk->error, errno, walk->path);
	return err;
}

/* One name further. *ret_found: it was the last one, and is no link. */
static int directory_step(struct walk *walk, char name[NAME_MAX + 1],
			  bool *ret_found)
{
	const char *end = directory_take_name(walk->left, name);
	char rest[PATH_MAX];
	struct stat st;

	if (!end)
		return fail_call(walk->error, ENAMETOOLONG, walk->path);
	(void)snprintf(rest, sizeof(rest), "%s", end);
	if (!*name)
		memcpy(name, ".", sizeof("."));
	if (fstatat(walk->at, name, &st, AT_SYMLINK_NOFOLLOW)) {
		*ret_found = errno == ENOENT && !*rest;
		return *ret_found ? 0 : make_missing(walk, name, rest);
	}
	if (S_ISLNK(st.st_mode)) {
		if (!directory_is_trusted(&st))
			return fail(walk->error, -EPERM,
				    "%.250s: '%.60s' is a symbolic link of "
				    "user %u's, which is not followed; give "
				    "the path it leads to, or another one",
				    walk->path, name, st.st_uid);
		return follow(walk, name, rest);
	}
	*ret_found = !*rest;
	if (*ret_found)
		return 0;
	memcpy(walk->left, rest, sizeof(rest));
	return directory_enter(walk, name);
}

/* The directory that the path's last name is in, which may not be there;
 * `makes`: nor others on the way. */
static int open_parent(const char *path, bool makes, int *ret_parent,
		       char name[NAME_MAX + 1],
		       struct sonde_directory_error *error)
{
	struct walk walk = { .path = path, .makes = makes, .error = error };
	bool found = false;
	int err = 0;

	if (!*path)
		return fail_call(error, ENOENT, "''");
	if (snprintf(walk.left, sizeof(walk.left), "%s", path) >=
	    (int)sizeof(walk.left))
		return fail_call(error, ENAMETOOLONG, path);
	walk.at = open(*path == '/' ? "/" : ".",
		       O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk.at < 0)
		return fail_call(error, errno, path);
	while (!err && !found)
		err = directory_step(&walk, name, &found);
	if (err)
		(void)close(walk.at); /* it was only looked at */
	else
		*ret_parent = walk.at;
	return err;
}

/* ---- directories ---- */

int sonde_directory_check(int dir, const char *path,
			  struct sonde_directory_error *error)
{
	struct stat st;

	if (fstat(dir, &st))
		return fail_call(error, errno, path);
	if (!is_ours(&st))
		return fail(error, -EPERM,
			    "%.250s: it belongs to user %u, who could change "
			    "what is written there; give a name that is not "
			    "taken",
			    path, st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return fail(error, -EPERM,
			    "%.250s: others may write in it (mode %03o, user "
			    "%u's); chmod go-w, or give a name that is not "
			    "taken",
			    path, st.st_mode & 0777u, st.st_uid);
	return 0;
}

static int is_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 &&
	       strcmp(entry->d_name, "..") != 0;
}

/* Where locks can't be had, two may meet, and one of them fails later. */
static int take(int dir, const char *path, struct sonde_directory_error *error)
{
	if (!flock(dir, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return 0;
	return fail(error, -EBUSY,
		    "%.250s: another recording is written there; give another "
		    "directory",
		    path);
}

static int check_empty(int dir, const char *path,
		       struct sonde_directory_error *error)
{
	struct dirent **entries = NULL;
	int nr = scandirat(dir, ".", &entries, is_entry, NULL);

	if (nr < 0)
		return fail_call(error, errno, path);
	for (int i = 0; i < nr; i++)
		free(entries[i]);
	free(entries);
	return nr ? fail(error, -ENOTEMPTY,
			 "%.250s: there is something in it already; give "
			 "another directory, or remove it",
			 path) :
		    0;
}

static int make(const char *path, bool may_exist,
		struct sonde_directory *ret_directory,
		struct sonde_directory_error *error)
{
	struct sonde_directory directory = SONDE_DIRECTORY_NONE;
	int err = open_parent(path, true, &directory.parent, directory.name,
			      error);

	if (err)
		return err;
	err = check_parent(directory.parent, path, error);
	if (err)
		goto out;
	directory.made =
		!mkdirat(directory.parent, directory.name, DIRECTORY_MODE);
	if (!directory.made && (errno != EEXIST || !may_exist)) {
		err = fail_call(error, errno, path);
		goto out;
	}
	directory.dir = openat(directory.parent, directory.name,
			       OPEN_DIRECTORY | O_CLOEXEC);
	err = directory.dir < 0 ?
		      fail_call(error, errno, path) :
		      sonde_directory_check(directory.dir, path, error);
	if (!err)
		err = take(directory.dir, path, error);
	if (!err)
		err = check_empty(directory.dir, path, error);
out:
	if (err)
		sonde_directory_close(&directory);
	else
		*ret_directory = directory;
	return err;
}

int sonde_directory_make(const char *path,
			 struct sonde_directory *ret_directory,
			 struct sonde_directory_error *error)
{
	return make(path, true, ret_directory, error);
}

int sonde_directory_make_new(const char *path,
			     struct sonde_directory *ret_directory,
			     struct sonde_directory_error *error)
{
	return make(path, false, ret_directory, error);
}

int sonde_directory_open_below(int dir, const char *name)
{
	int fd = openat(dir, name, OPEN_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!is_ours(&st))
		err = -EPERM;
	if (!err)
		return fd;
	(void)close(fd); /* it was only looked at */
	return err;
}

int sonde_directory_make_below(int dir, const char *name, bool may_exist)
{
	if (mkdirat(dir, name, DIRECTORY_MODE) &&
	    (errno != EEXIST || !may_exist))
		return -errno;
	return sonde_directory_open_below(dir, name);
}

int sonde_directory_where(const struct sonde_directory *directory,
			  char path[PATH_MAX])
{
	struct stat st;

	if (fstat(directory->dir, &st))
		return -errno;
	return st.st_nlink ? sonde_fd_path(directory->dir, path) : -ENOENT;
}

bool sonde_directory_is_at(const struct sonde_directory *directory,
			   const char *path)
{
	struct stat ours;
	struct stat theirs;

	return !fstat(directory->dir, &ours) && !stat(path, &theirs) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

void sonde_directory_close(struct sonde_directory *directory)
{
	directory_close_fd(directory->dir);
	directory_close_fd(directory->parent);
	directory->dir = -1;
	directory->parent = -1;
}

/* ---- removal ---- */

struct level {
	DIR *dir;
	char name[NAME_MAX + 1]; /* in the level above */
};

static bool push(struct level *level, int at, const char *name)
{
	int fd = sonde_directory_open_below(at, name);

	level->dir = fd < 0 ? NULL : fdopendir(fd);
	if (!level->dir) {
		directory_close_fd(fd);
		return false;
	}
	(void)snprintf(level->name, sizeof(level->name), "%s", name);
	return true;
}

/* Returns whether the level above `level` has got one below it. */
static bool clear_entry(struct level *level, const char *name, bool may_enter)
{
	int at = dirfd(level->dir);
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || !is_ours(&st))
		return false;
	if (S_ISREG(st.st_mode))
		(void)unlinkat(at, name, 0); /* what can't be removed stays */
	return S_ISDIR(st.st_mode) && may_enter && push(level + 1, at, name);
}

void sonde_directory_clear(int dir)
{
	struct level levels[LEVELS_MAX];
	struct level *top = levels;
	struct dirent *entry;

	if (!push(top, dir, "."))
		return;
	for (;;) {
		/* The stream is ours. NOLINTNEXTLINE(concurrency-mt-unsafe) */
		entry = readdir(top->dir);
		if (entry) {
			if (is_entry(entry) &&
			    clear_entry(top, entry->d_name,
					top + 1 < levels + LEVELS_MAX))
				top++;
			continue;
		}
		(void)closedir(top->dir); /* it was only read */
		if (top == levels)
			return;
		top--;
		(void)unlinkat(dirfd(top->dir), top[1].name, AT_REMOVEDIR);
	}
}

void sonde_directory_give_up(struct sonde_directory *directory)
{
	struct stat ours;
	struct stat named;

	if (directory->dir < 0)
		return;
	/* Another one that took its place is not removed unless it is empty. */
	if (directory->made && !fstat(directory->dir, &ours) &&
	    !fstatat(directory->parent, directory->name, &named,
		     AT_SYMLINK_NOFOLLOW) &&
	    ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
		(void)unlinkat(directory->parent, directory->name,
			       AT_REMOVEDIR);
	sonde_directory_close(directory);
}

void sonde_directory_remove(struct sonde_directory *directory)
{
	if (directory->dir >= 0)
		sonde_directory_clear(directory->dir);
	sonde_directory_give_up(directory);
}

/* ---- files ---- */

int sonde_directory_file_below(int dir, const char *name, int access)
{
	int fd;

	do {
		fd = openat(dir, name, access | MAKE_FILE | O_CLOEXEC,
			    FILE_MODE);
	} while (fd < 0 && (errno == EINTR ||
			    (errno == EEXIST && unlinkat(dir, name, 0) == 0)));
	return fd < 0 ? -errno : fd;
}

/* Whoever opened it for us has said that we may. */
static bool is_stdout(const struct stat *st)
{
	struct stat out;

	return !fstat(STDOUT_FILENO, &out) && st->st_dev == out.st_dev &&
	       st->st_ino == out.st_ino;
}

/* What is there, and is looked at only: may it be written to? */
static int directory_check_file(int fd, const char *path,
				struct sonde_directory_error *error)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail_call(error, errno, path);
	if (S_ISDIR(st.st_mode))
		return fail_call(error, EISDIR, path);
	if (S_ISCHR(st.st_mode) || directory_is_trusted(&st) || is_stdout(&st))
		return 0;
	return fail(error, -EPERM,
		    "%.250s: it belongs to user %u, who could change what is "
		    "written there; remove it, or give another name",
		    path, st.st_uid);
}

/* A link of ours or root's may lead to what has no name: /dev/stdout. */
static int open_there(const char *path, struct sonde_directory_error *error)
{
	int there = open(path, O_PATH | O_CLOEXEC);
	int fd = -1;
	int err;

	if (there < 0)
		return fail_call(error, errno, path);
	err = directory_check_file(there, path, error);
	if (!err) {
		fd = sonde_fd_reopen(there, O_WRONLY | O_TRUNC | O_NOCTTY);
		if (fd < 0)
			err = fail_call(error, -fd, path);
	}
	(void)close(there); /* it was only looked at */
	return err ? err : fd;
}

static int check_link(const char *path, struct sonde_directory_error *error)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISLNK(st.st_mode) ||
	    directory_is_trusted(&st))
		return 0;
	return fail(error, -EPERM,
		    "%.250s: it is a symbolic link of user %u's, which is not "
		    "followed; give the path it leads to, or another one",
		    path, st.st_uid);
}

int sonde_directory_file(const char *path, struct sonde_directory_error *error)
{
	int fd = open(path, O_WRONLY | MAKE_FILE | O_CLOEXEC, FILE_MODE);
	int err;

	if (fd >= 0)
		return fd;
	if (errno != EEXIST)
		return fail_call(error, errno, path);
	err = check_link(path, error);
	return err ? err : open_there(path, error);
}
