/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * model.h - what is in a dump of the system, before it becomes events; and the
 * bounds of it.
 *
 * Three readers find threads, files and mappings: own.h by our module, iter.h by
 * BPF iterators, proc.h in /proc. All hand what they have checked to a target,
 * one thing at a time, and all say the same about the same process, but for what
 * /proc does not tell: `files` is a hash of a kernel address by the module, that
 * address by iterators, and the PID by /proc.
 *
 * Numbers are as the reader's /proc or, by module and iterators, as the first PID
 * namespace has them, which is what kernel events say. vtid and vpid are as the
 * thread itself sees them.
 *
 * Everything that others control is bounded here. What is beyond a bound is
 * left out, and counted by omit().
 */
#ifndef KERNEL_DUMP_MODEL_H
#define KERNEL_DUMP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_DUMP_TASKS_MAX     (1u << 20)
#define SONDE_DUMP_FD_MAX        4096u /* descriptors from here on: left out */
#define SONDE_DUMP_MAPPINGS_MAX  4096u /* of one process */
#define SONDE_DUMP_BUILD_IDS_MAX 4096u
#define SONDE_DUMP_PATH_MAX      4096u /* bytes of a path, its NUL included */
#define SONDE_DUMP_BYTES_MAX     (64ull << 20) /* of events */
/* Then no other process's files are looked at, and no other file is opened for
 * its build-id. */
#define SONDE_DUMP_NS           1000000000ull
#define SONDE_DUMP_BUILD_IDS_NS 1000000000ull

#define SONDE_DUMP_NAME_BYTES   16u

/* As LTTng numbers them. */
enum sonde_dump_status {
	SONDE_STATUS_UNKNOWN = 0,
	SONDE_STATUS_WAIT_FORK = 1,
	SONDE_STATUS_WAIT_CPU = 2, /* runs, or could */
	SONDE_STATUS_EXIT = 3,
	SONDE_STATUS_ZOMBIE = 4,
	SONDE_STATUS_WAIT = 5,
	SONDE_STATUS_RUN = 6,
	SONDE_STATUS_DEAD = 7,
};

enum sonde_dump_ns {
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
enum sonde_dump_reader {
	SONDE_DUMP_BY_PROC = 0,
	SONDE_DUMP_BY_ITERATORS = 1,
	SONDE_DUMP_BY_MODULE = 2,
};

struct sonde_dump_task {
	int32_t tid;
	int32_t vtid;
	int32_t pid;
	int32_t vpid;
	int32_t ppid;
	uint32_t cpu;
	uint32_t ns_level;
	uint32_t ns[SONDE_NR_NS]; /* inode numbers; 0: not known */
	uint8_t status;           /* enum sonde_dump_status */
	bool is_kernel;
	uint64_t files;     /* equal for those who share a table; 0: none */
	uint64_t cgroup_id; /* 0: not known */
	const char *cgroup; /* NULL: to be found by the id */
	char name[SONDE_DUMP_NAME_BYTES];
};

struct sonde_dump_file {
	int32_t pid;
	uint32_t fd;
	uint32_t flags; /* O_... */
	uint64_t files; /* as the task's */
	const char *name;
};

struct sonde_dump_mapping {
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
struct sonde_dump_target {
	void *ctx;
	int (*task)(void *ctx, const struct sonde_dump_task *task);
	int (*file)(void *ctx, const struct sonde_dump_file *file);
	int (*mapping)(void *ctx, const struct sonde_dump_mapping *mapping);
	void (*omit)(void *ctx, uint64_t nr);
};

/* Whose files and mappings; PIDs in ascending order. */
struct sonde_dump_wanted {
	const int32_t *pids;
	size_t nr;
	bool everybody; /* pids[] are all there are */
};

bool sonde_dump_is_wanted(const struct sonde_dump_wanted *wanted, int32_t pid);

#endif /* KERNEL_DUMP_MODEL_H */
