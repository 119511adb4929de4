/* SPDX-License-Identifier: MIT */
/*
 * find.h - a running process's arena, for who may look into the process.
 *
 * The kernel lets read /proc/PID/fd and /proc/PID/maps who has the process's own
 * user (and the process is dumpable), or CAP_SYS_PTRACE: its ptrace *read*
 * access, which Yama's kernel.yama.ptrace_scope does not restrict. The arena is
 * a descriptor that libsonde has left at 1000 or 240 (tracer/arena.c), or any
 * other that leads to such a file. A program that closes what it doesn't know
 * still has it mapped: /proc/PID/map_files leads there, with
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
 *
 * Neither asks where the process is: another PID, network, mount or user
 * namespace, or root directory, makes no difference.
 *
 * Nothing is done to the process, and no file is opened but one whose link says
 * that it is an arena. Whether it is one, sonde_arena_open_found() tells.
 */
#ifndef SESSION_FIND_H
#define SESSION_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/arena.h"

/* What a recorder's process is called, by which others find it. */
#define SONDE_RECORDER_COMM "sonde-recorder"
/* And one that works for us beside a process. */
#define SONDE_SERVANT_COMM "sonde-servant"

struct sonde_proc_mapping;

/* What /proc/PID/maps says of it. */
struct sonde_find_maps {
	bool has_arena;
	bool has_library; /* libsonde or libsonde-preload */
	uint64_t start;   /* the arena's first mapping, as map_files names it */
	uint64_t end;
};

/* Pure: adds what a line of /proc/PID/maps says. */
void sonde_find_mapping(const struct sonde_proc_mapping *mapping,
			struct sonde_find_maps *maps);

/* Pure: whether the link of a descriptor is an arena's, in memory or in a
 * directory. */
bool sonde_find_is_arena_link(const char *link);

/* Recorders and debuggers of ours have arenas that are other processes'; this very
 * program, too. */
bool sonde_find_is_ours(pid_t pid);

/*
 * 0 and a descriptor of the caller's own; or
 *
 *	-ESRCH   there is no such process (or /proc hides it)
 *	-EACCES  it may not be looked into
 *	-EPERM   it has an arena, whose descriptor it closed: needs the
 *	         capabilities above
 *	-ENODATA it has none, but libsonde
 *	-ENOENT  it has neither, or is a program of Sonde's
 */
int sonde_find_arena(pid_t pid, int *ret_fd);

/* The same of a process that says itself that its arena is to be recorded, be it a
 * program of Sonde's. */
int sonde_find_given_arena(pid_t pid, int *ret_fd);

/*
 * Every arena that a process has open, whoever made it, one of Sonde's programs as
 * well: `take` gets a descriptor of its own, that can only be read. One arena may
 * come more than once. 0, or -errno as above.
 */
int sonde_find_held(pid_t pid, void (*take)(void *ctx, pid_t pid, int fd),
		    void *ctx);

/* Whether a system call could kill one of its threads: a thread runs under a
 * seccomp filter, or that can't be found out; and its environment doesn't say
 * that libsonde's calls are fine. */
bool sonde_find_is_filtered(pid_t pid);

/* Whether the process will map rings that come now: 0; -ENOENT: it is of a
 * tool's probes, not of a libsonde; -EOPNOTSUPP: its libsonde is older than that; -ENOSYS: it runs under a filter. */
int sonde_find_can_reach(const struct sonde_arena_view *view, pid_t pid);

/* Pure: whether `group` is `wanted`, or below it. "/sys/fs/cgroup/a", "/a" and
 * "a" mean the same. */
bool sonde_find_in_cgroup(const char *group, const char *wanted);

/* Pure: whether `group` is of the container `wanted`, or below it: the first
 * digits of its id; or a name, which some managers call the group by
 * (machine-NAME.scope, lxc.payload.NAME, NAME). */
bool sonde_find_in_container(const char *group, const char *wanted);

#endif /* SESSION_FIND_H */
