/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * model.h - what is in a dump of the system, before it becomes events; and the
 * bounds of it.
 *
 * Two readers find threads, files and mappings: iter.h by BPF iterators, proc.h in
 * /proc. Both hand what they have checked to a target, one thing at a time, and
 * both say the same about the same process, but for what /proc does not tell:
 * `files` is a kernel address by iterators, and the PID by /proc.
 *
 * Numbers are as the reader's /proc or, by iterators, as the first PID namespace
 * has them, which is what kernel events say. vtid and vpid are as the
 * thread itself sees them.
 *
 * Everything that others control is bounded here. What is beyond a bound is
 * left out, and counted by omit().
 */
#ifndef SOURCE_STATEDUMP_MODEL_H
#define SOURCE_STATEDUMP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_STATEDUMP_TASKS_MAX     (1u << 20)
#define SONDE_STATEDUMP_FD_MAX        4096u /* descriptors from here on: left out */
#define SONDE_STATEDUMP_MAPPINGS_MAX  4096u /* of one process */
#define SONDE_STATEDUMP_BUILD_IDS_MAX 4096u
#define SONDE_STATEDUMP_PATH_MAX      4096u /* bytes of a path, its NUL included */
#define SONDE_STATEDUMP_BYTES_MAX     (64ull << 20) /* of events */
/* Then no other process's files are looked at, and no other file is opened for
 * its build-id. */
#define SONDE_STATEDUMP_NS           1000000000ull
#define SONDE_STATEDUMP_BUILD_IDS_NS 1000000000ull

#define SONDE_STATEDUMP_NAME_BYTES   16u

/* As LTTng numbers them. */
enum sonde_statedump_status {
	SONDE_STATUS_UNKNOWN = 0,
	SONDE_STATUS_WAIT_FORK = 1,
	SONDE_STATUS_WAIT_CPU = 2, /* runs, or could */
	SONDE_STATUS_EXIT = 3,
	SONDE_STATUS_ZOMBIE = 4,
	SONDE_STATUS_WAIT = 5,
	SONDE_STATUS_RUN = 6,
	SONDE_STATUS_DEAD = 7,
};

enum sonde_statedump_ns {
	SONDE_NS_PID,
	SONDE_NS_MNT,
	SONDE_NS_NET,
	SONDE_NS_USER,
	SONDE_NS_UTS,
	SONDE_NS_IPC,
	SONDE_NS_CGROUP,
	SONDE_NR_NS,
};

/* As the event lttng_statedump_start numbers them. */
enum sonde_statedump_reader {
	SONDE_STATEDUMP_BY_PROC = 0,
	SONDE_STATEDUMP_BY_ITERATORS = 1,
};

struct sonde_statedump_task {
	int32_t tid;
	int32_t vtid;
	int32_t pid;
	int32_t vpid;
	int32_t ppid;
	uint32_t cpu;
	uint32_t ns_level;
	uint32_t ns[SONDE_NR_NS]; /* inode numbers; 0: not known */
	uint8_t status;           /* enum sonde_statedump_status */
	bool is_kernel;
	uint64_t files;     /* equal for those who share a table; 0: none */
	uint64_t cgroup_id; /* 0: not known */
	const char *cgroup; /* NULL: to be found by the id */
	char name[SONDE_STATEDUMP_NAME_BYTES];
};

struct sonde_statedump_file {
	int32_t pid;
	uint32_t fd;
	uint32_t flags; /* O_... */
	uint64_t files; /* as the task's */
	const char *name;
};

struct sonde_statedump_mapping {
	int32_t pid;
	uint32_t flags; /* SONDE_MAPPED_... (sys/proc.h) */
	uint64_t begin;
	uint64_t end;
	uint64_t offset;
	uint64_t dev; /* as the kernel has it inside: major << 20 | minor */
	uint64_t ino;
	const char *path;
};

/* Texts are borrowed for the call. Functions return 0 to go on, or -errno. */
struct sonde_statedump_target {
	void *ctx;
	int (*task)(void *ctx, const struct sonde_statedump_task *task);
	int (*file)(void *ctx, const struct sonde_statedump_file *file);
	int (*mapping)(void *ctx,
		       const struct sonde_statedump_mapping *mapping);
	void (*omit)(void *ctx, uint64_t nr);
};

/* Whose files and mappings; PIDs in ascending order. */
struct sonde_statedump_wanted {
	const int32_t *pids;
	size_t nr;
	bool everybody; /* pids[] are all there are */
};

bool sonde_statedump_is_wanted(const struct sonde_statedump_wanted *wanted,
			       int32_t pid);

#endif /* SOURCE_STATEDUMP_MODEL_H */
