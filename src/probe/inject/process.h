/* SPDX-License-Identifier: MIT */
/*
 * process.h - a running process that code is put into, without stopping it.
 *
 * Once, one thread is borrowed (stopped for some hundred microseconds) to make
 * a *servant*: a process that shares the other's memory and signal actions,
 * but is none of its threads, and a child that it isn't told of, and has
 * descriptors of its own (clone with CLONE_VM | CLONE_SIGHAND). From then on it
 * makes the system calls that have to be made from inside - mmap near a
 * mapping, membarrier, sigaction - as the tool asks; none of the process's
 * threads is stopped any more. It ends when the tool or the process does.
 *
 * Text is written by the servant, one byte or run at a time, by the patching
 * protocol of patch.h.
 *
 * Who borrows the thread: ptrace, or, for a process that a debugger holds
 * already, that debugger (struct sonde_borrow_ops).
 *
 * One thread at a time uses a sonde_process.
 */
#ifndef PROBE_INJECT_PROCESS_H
#define PROBE_INJECT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/inject/agent.h"

struct sonde_process;

/* How a stopped thread is made to do something; for those who hold it. The
 * order of registers is struct user_regs_struct's. All return 0 or -errno. */
struct sonde_borrow_ops {
	int (*get_registers)(void *ctx, void *user_regs);
	int (*set_registers)(void *ctx, const void *user_regs);
	int (*read)(void *ctx, uint64_t address, void *to, size_t size);
	int (*write)(void *ctx, uint64_t address, const void *from,
		     size_t size);
	/* Runs the thread until it executes an int3; others may run. */
	int (*run_to_trap)(void *ctx);
};

struct sonde_process_error {
	char text[256]; /* one line: what failed, on what, the remedy */
};

/* 0, or -errno with *error: -ESRCH, -EPERM (Yama, other user: the text says
 * what to do), -ENOTSUP (32-bit, other CPU), -EBUSY (another tool has opened it). `borrow` NULL: by ptrace. */
int sonde_process_open(pid_t pid, const struct sonde_borrow_ops *borrow,
		       void *borrow_ctx, struct sonde_process_error *error,
		       struct sonde_process **ret_process);
/* The same in two steps: sonde_process_look() leaves the process alone, which may be
 * read then (sonde_process_read()), and keeps other tools out until
 * sonde_process_enter(), which opens it by ptrace. Either may fail as
 * sonde_process_open() does; whatever was looked at is closed in the end. */
int sonde_process_look(pid_t pid, struct sonde_process_error *error,
		       struct sonde_process **ret_process);
int sonde_process_enter(struct sonde_process *process,
			struct sonde_process_error *error);

/* The servant ends; what was put into the process stays and works on. (If the
 * tool is killed, the servant takes the probes out that sites[] names.) */
void sonde_process_close(struct sonde_process *process);

/* Whether it has a servant, of whomever. */
bool sonde_process_is_served(pid_t pid);

pid_t sonde_process_pid(const struct sonde_process *process);
/* Whether it is still the program that was opened (no exec, no exit). */
bool sonde_process_lives(const struct sonde_process *process);

/* System calls, made by the servant, one after the other, in one round trip.
 * `result` is the kernel's (negative: -errno). Behind the first that fails,
 * unless it is to `go_on`, those are made only that are so `always`. 0; -EPIPE:
 * the servant is gone. */
struct sonde_remote_call {
	uint32_t number;
	uint16_t go_on;
	uint16_t always;
	uint64_t args[6];
	int64_t result;
};
int sonde_process_call(struct sonde_process *process,
		       struct sonde_remote_call *calls, size_t nr);

/* Memory, through /proc/PID/mem. All of it or -EIO. What is written should be
 * writable for the process: not all kernels would ignore that (patch.h). */
int sonde_process_read(const struct sonde_process *process, uint64_t address,
		       void *to, size_t size);
int sonde_process_write(const struct sonde_process *process, uint64_t address,
			const void *from, size_t size);

/* A memory file of ours, mapped in both. */
struct sonde_shared_memory {
	int fd;
	unsigned char *here; /* read and write */
	uint64_t there;
	size_t size;
};

/* Maps `size` bytes of `fd` (ours) from `offset` in the process, MAP_SHARED,
 * at `address` exactly (0: anywhere); never over something else (-EEXIST). */
int sonde_process_map(struct sonde_process *process, int fd, uint64_t offset,
		      size_t size, int protection, uint64_t address,
		      uint64_t *ret_address);

/* /proc/PID/maps, in order of address; neighbours that are alike, and parts of
 * the same file, are one (patch.h splits them). */
struct sonde_mapping {
	uint64_t start, end, offset;
	uint64_t inode;
	bool readable, writable, executable, shared;
	char *path; /* "" if it has none */
};
struct sonde_maps {
	struct sonde_mapping *list;
	size_t nr;
};
int sonde_process_mappings(pid_t pid, struct sonde_maps *ret);
void sonde_maps_free(struct sonde_maps *mappings);

/* The agent, once it is in; its image's entry points, addresses in the
 * process. */
struct sonde_agent_image {
	uint64_t hit;   /* thunk that pads call */
	uint64_t call;  /* the same, of functions' calls */
	uint64_t trap;  /* SIGTRAP's handler */
	uint64_t fault; /* those of SIGSEGV, SIGBUS, SIGFPE, SIGILL */
	uint64_t step;  /* for debuggers: sonde_agent_called */
	uint64_t start, end;
};
/* Puts image and data in and takes over the signals' actions; once. */
int sonde_process_install(struct sonde_process *process,
			  struct sonde_process_error *error);
const struct sonde_agent_image *
sonde_process_image(const struct sonde_process *process);
struct sonde_agent *sonde_process_agent(const struct sonde_process *process);
uint64_t sonde_process_agent_address(const struct sonde_process *process);
/* The number of the file that it is in; 0: it isn't known. */
uint64_t sonde_process_agent_inode(const struct sonde_process *process);
/* Takes over actions that the program has set since; cheap. */
int sonde_process_keep_signals(struct sonde_process *process);

#endif /* PROBE_INJECT_PROCESS_H */
