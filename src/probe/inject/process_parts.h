/* SPDX-License-Identifier: MIT */
/*
 * process_parts.h - struct sonde_process, shared by the files that make it up:
 * process.c (the servant, memory), install.c (the agent), patch.c.
 */
#ifndef PROBE_INJECT_PROCESS_PARTS_H
#define PROBE_INJECT_PROCESS_PARTS_H

#include "probe/inject/process.h"
#include "probe/inject/servant.h"

struct sonde_process {
	pid_t pid;
	pid_t servant;       /* in our PID namespace */
	pid_t inner_servant; /* in the process's */
	int servant_fd;      /* pidfd of it */
	bool is_held;        /* by a debugger; we can't */
	bool opens_text;     /* the kernel writes only what is writable */
	int fd;              /* pidfd of the process */
	int memory_fd;       /* /proc/PID/mem */
	int socket;
	uint64_t servant_memory;
	struct sonde_agent_image image; /* start 0: not installed */
	uint64_t restorer;              /* of its handlers */
	struct sonde_shared_memory agent;
	/* signal_masks.c's: when it was last asked, and what; threads in system calls
	 * that exchange the mask */
	int64_t masks_checked_s;
	int masks_rc;
	pid_t *looked_at;
	size_t nr_looked_at;
	unsigned char message[SONDE_SERVANT_BUFFER_SIZE]
		__attribute__((aligned(8)));
};

/*
 * As sonde_process_call(), with more: *extra goes behind the calls and comes
 * back with what the kernel wrote there (its address in the process is
 * sonde_process_extra_at()); fd, if not -1, is SONDE_SERVANT_FD_PASSED there.
 */
struct sonde_process_batch {
	struct sonde_remote_call *calls;
	size_t nr;
	void *extra;
	size_t extra_size;
	int fd;
};
int sonde_process_run(struct sonde_process *process,
		      const struct sonde_process_batch *batch);
uint64_t sonde_process_extra_at(const struct sonde_process *process,
				size_t nr_calls);

/* If the tool is killed, the servant calls a function of the agent's (0: none)
 * with these data, and /proc/PID/mem's descriptor. */
void sonde_process_leave(struct sonde_process *process, uint64_t function,
			 uint64_t data);

/* As if we were killed: the servant takes out what sites[] names of the
 * agent at `data`, by that agent's own `function`, and ends. 0 or -EBUSY; close
 * comes next. */
int sonde_process_abandon(struct sonde_process *process, uint64_t function,
			  uint64_t data);

/* The barriers that changing text needs; the kernel wants to be told once. */
int sonde_process_register_barriers(struct sonde_process *process);

#endif /* PROBE_INJECT_PROCESS_PARTS_H */
