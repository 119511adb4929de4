/* SPDX-License-Identifier: MIT */
/*
 * rundir.c - the directory for our sockets, and the sockets in it (rundir.h).
 *
 * A directory is believed by its descriptor, after fstat(), never by its path;
 * names in it are used with the *at() calls. Whoever removes a stale socket
 * holds the directory's lock from seeing that it is stale to its removal.
 */
#include "sys/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/dir.h"

#define TRIES 8

/* ---- the directory ---- */

static bool others_write(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH);
}

static mode_t wanted_mode(void)
{
	return geteuid() == 0 ? 0711 : 0700;
}

static int open_directory(int at, const char *path, int *ret_fd)
{
	int fd = openat(at, path,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* Whether it is ours, and nobody else's; gives it the right mode. */
static int check_own(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() || others_write(&st))
		return -EPERM;
	if ((st.st_mode & 07777) == wanted_mode())
		return 0;
	return fchmod(fd, wanted_mode()) ? -errno : 0;
}

/* Takes fd over, of BASE/NAME. */
static int take(int fd, const char *base, const char *name,
		struct sonde_rundir *ret_dir)
{
	int rc = check_own(fd);

	if (!rc && snprintf(ret_dir->path, sizeof(ret_dir->path), "%s/%s", base,
			    name) >= (int)sizeof(ret_dir->path))
		rc = -ENAMETOOLONG;
	if (rc)
		(void)close(fd); /* nothing was written */
	else
		ret_dir->fd = fd;
	return rc;
}

/* BASE/sonde, if nobody else can write to BASE. `uid`: of its owner. */
static int try_private(const char *base, uid_t uid,
		       struct sonde_rundir *ret_dir)
{
	struct stat st;
	int base_fd;
	int fd = -1;
	int rc;

	/* /run may be a link of the system's, as /var/run is. */
	base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return -errno;
	rc = fstat(base_fd, &st)                   ? -errno :
	     st.st_uid != uid || others_write(&st) ? -EPERM :
						     0;
	if (!rc && mkdirat(base_fd, "sonde", 0700) && errno != EEXIST)
		rc = -errno;
	if (!rc)
		rc = open_directory(base_fd, "sonde", &fd);
	(void)close(base_fd); /* nothing was written */
	return rc ? rc : take(fd, base, "sonde", ret_dir);
}

static bool rundir_is_own(int base_fd, const char *name)
{
	struct stat st;

	return !fstatat(base_fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !others_write(&st);
}

/* Others may have made directories of any name here: the first that is ours,
 * in order of names, so that all of our processes find the same. */
static int rundir_find_own(int base_fd, const char *prefix, char found[64])
{
	DIR *list = sonde_dir_open_at(base_fd, ".");
	const char *name;

	if (!list)
		return -EACCES;
	*found = '\0';
	while ((name = sonde_dir_next(list))) {
		size_t length = strlen(name);

		if (length < 64 && !strncmp(name, prefix, strlen(prefix)) &&
		    (!*found || strcmp(name, found) < 0) &&
		    rundir_is_own(base_fd, name))
			memcpy(found, name, length + 1);
	}
	(void)closedir(list);
	return *found ? 0 : -ENOENT;
}

static int random_name(const char *prefix, char *name, size_t size)
{
	uint32_t number[2];

	*name = '\0';
	if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -errno;
	(void)snprintf(name, size, "%s%08x%08x", prefix, number[0], number[1]);
	return 0;
}

/* BASE/sonde-UID-XXXXXX, where others can make things, but not rename ours. */
static int try_shared(const char *base, struct sonde_rundir *ret_dir)
{
	char prefix[32];
	char name[64];
	struct stat st;
	int fd = -1;
	int base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (base_fd < 0)
		return -errno;
	(void)snprintf(prefix, sizeof(prefix), "sonde-%u-", geteuid());
	if (fstat(base_fd, &st))
		rc = -errno;
	else if (others_write(&st) && !(st.st_mode & S_ISVTX))
		rc = -EPERM;
	else
		rc = rundir_find_own(base_fd, prefix, name);
	if (rc == -ENOENT) {
		rc = random_name(prefix, name, sizeof(name));
		if (!rc && mkdirat(base_fd, name, 0700))
			rc = -errno;
	}
	if (!rc)
		rc = open_directory(base_fd, name, &fd);
	(void)close(base_fd); /* nothing was written */
	return rc ? rc : take(fd, base, name, ret_dir);
}

int sonde_rundir_open(struct sonde_rundir *ret_dir)
{
	static const char *const shared[] = { "/tmp", "/dev/shm", "/var/tmp" };
	const char *given = secure_getenv("XDG_RUNTIME_DIR");
	char user[32];
	int rc = -ENOENT;

	ret_dir->fd = -1;
	if (given && *given == '/')
		rc = try_private(given, geteuid(), ret_dir);
	if (rc) {
		(void)snprintf(user, sizeof(user), "/run/user/%u", geteuid());
		rc = try_private(user, geteuid(), ret_dir);
	}
	if (rc && geteuid() == 0)
		rc = try_private("/run", 0, ret_dir);
	for (size_t i = 0; rc && i < sizeof(shared) / sizeof(shared[0]); i++)
		rc = try_shared(shared[i], ret_dir);
	return rc;
}

void sonde_rundir_close(struct sonde_rundir *dir)
{
	if (dir->fd >= 0)
		(void)close(dir->fd); /* nothing was written */
	dir->fd = -1;
}

/* ---- sockets ---- */

static bool is_name(const char *name)
{
	return *name && strlen(name) < SONDE_SOCKET_NAME_MAX &&
	       !strchr(name, '/');
}

static int rundir_address_of(const struct sonde_rundir *dir, const char *name,
			     struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!is_name(name))
		return -EINVAL;
	(void)snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
		       "%s/%s", dir->path, name);
	return 0;
}

int sonde_rundir_connect(const struct sonde_rundir *dir, const char *name,
			 int type, int *ret_fd)
{
	struct sockaddr_un address;
	int rc = rundir_address_of(dir, name, &address);
	int fd;

	if (rc)
		return rc;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const void *)&address, sizeof(address))) {
		rc = -errno;
		(void)close(fd); /* nothing was sent */
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

/* A socket of ours that no process has any more. Asked with a type that no
 * server here has: a server that lives notices nothing. */
static bool rundir_is_stale(const struct sonde_rundir *dir, const char *name)
{
	struct stat st;
	int fd = -1;
	int rc;

	if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return false;
	rc = sonde_rundir_connect(dir, name, SOCK_DGRAM, &fd);
	if (!rc)
		(void)close(fd); /* nothing was sent */
	return rc == -ECONNREFUSED;
}

static bool remove_stale(const struct sonde_rundir *dir, const char *name)
{
	bool removed = false;

	/* Between seeing that a socket is stale and removing it, its remover
	 * holds this lock, and who makes one never replaces any: what is
	 * removed is what was seen. */
	if (flock(dir->fd, LOCK_EX | LOCK_NB))
		return false;
	if (rundir_is_stale(dir, name))
		removed = !unlinkat(dir->fd, name, 0);
	(void)flock(dir->fd, LOCK_UN);
	return removed;
}

void sonde_rundir_remove(const struct sonde_rundir *dir, const char *name)
{
	(void)unlinkat(dir->fd, name, 0); /* it may be gone */
}

/* Bound to a name that everybody may see, and renamed before anybody can
 * connect. Whoever cleans may find the file before the kernel knows the socket,
 * and take it away, which the next step tells. */
static int listen_once(const struct sonde_rundir *dir,
		       const struct sonde_rundir_socket *what, int fd)
{
	struct sockaddr_un address;
	char name[SONDE_SOCKET_NAME_MAX];
	int rc = random_name(".new-", name, sizeof(name));

	if (!rc)
		rc = rundir_address_of(dir, name, &address);
	if (rc)
		return rc;
	if (bind(fd, (const void *)&address, sizeof(address)))
		return -errno;
	if (fchmodat(dir->fd, name, what->mode, 0) ||
	    renameat2(dir->fd, name, dir->fd, what->name, RENAME_NOREPLACE)) {
		rc = -errno;
		(void)unlinkat(dir->fd, name, 0); /* what there is of it */
		return rc;
	}
	if (listen(fd, what->backlog)) {
		rc = -errno;
		sonde_rundir_remove(dir, what->name);
	}
	return rc;
}

int sonde_rundir_listen(const struct sonde_rundir *dir,
			const struct sonde_rundir_socket *what, int *ret_fd)
{
	int rc = is_name(what->name) ? -EAGAIN : -EINVAL;

	for (int i = 0; rc != -EINVAL && i < TRIES; i++) {
		int fd = socket(AF_UNIX, what->type | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		rc = listen_once(dir, what, fd);
		if (!rc) {
			*ret_fd = fd;
			return 0;
		}
		(void)close(fd); /* nobody could have reached it */
		if (rc == -EEXIST && !remove_stale(dir, what->name))
			return -EADDRINUSE;
		if (rc != -EEXIST && rc != -ENOENT)
			return rc;
	}
	return rc;
}

void sonde_rundir_clean(const struct sonde_rundir *dir)
{
	DIR *list = sonde_dir_open_at(dir->fd, ".");
	const struct dirent *entry;

	if (!list)
		return;
	/* A name may begin with a dot.
	 * NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone */
	while ((entry = readdir(list)))
		if (is_name(entry->d_name))
			(void)remove_stale(dir, entry->d_name);
	(void)closedir(list);
}
