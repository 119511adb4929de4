/* SPDX-License-Identifier: MIT */
/*
 * servant.h - the memory of a servant (process.h), as the tool lays it out.
 *
 * One mapping in the process: a page of code (servant_x86_64.S, read and
 * execute), and behind it struct sonde_servant and the buffer for messages.
 * The code uses no stack, and calls nothing but the will.
 *
 * How it comes to life: the borrowed thread does nothing but to clone it, in
 * unused bytes of a mapping, and goes back to its work. The new process maps its
 * memory where the tool has said, writes the token there and waits for the tool
 * to fill it and let it `go`. Then it makes a descriptor table of its own with
 * three descriptors (0 and 1: a pair of sockets, 2: a pidfd of the process), and
 * is `ready`: the tool takes the other socket with pidfd_getfd(). So no path,
 * network namespace or permission of the process matters.
 *
 * Whose child it is: the process's, with no exit signal. So neither SIGCHLD nor
 * wait() tells of it (but wait() with __WALL), init has nothing to do with it, and
 * when it has ended, the tool has a borrowed thread wait for it. One that is left
 * because its tool was killed is waited for when the next tool comes.
 *
 * Its will: what it calls when the tool is gone without having said goodbye
 * (agent/retire.c takes the probes out). 0: nothing.
 *
 * A message is a header and calls, and behind them what their arguments point
 * to; it comes back with the results, and with what the kernel wrote there.
 */
#ifndef PROBE_INJECT_SERVANT_H
#define PROBE_INJECT_SERVANT_H

#include <stdint.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "probe/inject/process.h"

#define SONDE_SERVANT_CODE_SIZE   4096
#define SONDE_SERVANT_SIZE        65536
#define SONDE_SERVANT_BUFFER_SIZE 53248

/* For its first message. */
#define SONDE_SERVANT_PATIENCE_MS 5000

/* Its descriptors. */
enum {
	SONDE_SERVANT_FD_SOCKET = 0,
	SONDE_SERVANT_FD_PASSED = 1, /* the tool's end at first; then what
					came with a message */
	SONDE_SERVANT_FD_PROCESS = 2,
	SONDE_SERVANT_FD_MEMORY = 3, /* /proc/PID/mem */
};

struct sonde_servant {
	int32_t tid;    /* of the servant, in the process's PID namespace */
	int32_t status; /* 0, or -errno of what failed before it was there */
	int32_t pid;    /* of the process, likewise */
	int32_t timeout_ms; /* for the first message */
	int32_t sockets[2];
	struct pollfd polls[2];
	uint64_t signals; /* mask: all */
	struct msghdr header;
	struct iovec vector;
	unsigned char control[CMSG_SPACE(sizeof(int))];
	char root[8];    /* "/" */
	uint64_t tracer; /* for Yama: who may ptrace it; 0: nobody else */
	uint64_t will, will_data; /* a function of the agent's, its argument */
	uint64_t token;           /* it has been mapped for this servant */
	uint32_t go;              /* SONDE_SERVANT_GO, once all is filled */
	uint32_t ready;
};

enum {
	SONDE_SERVANT_GO = 1,
	SONDE_SERVANT_END = 2, /* it isn't wanted any more */
};

/* What comes behind the code of a stub (servant_x86_64.S); what the thread needs
 * comes first. */
struct sonde_stub_data {
	uint64_t mask;
	uint64_t rdi, rsi, rdx, r10, r8, r9, rax, rcx, r11, rip;
	/* of a clone's only */
	uint64_t memory, token;
	char name[16];
};

struct sonde_servant_message {
	uint32_t nr_calls;
	uint32_t reserved[15];
	struct sonde_remote_call calls[];
};

/* What the assembler code goes by. */
#define SONDE_SERVANT_BUFFER_AT (SONDE_SERVANT_SIZE - SONDE_SERVANT_BUFFER_SIZE)

_Static_assert(sizeof(struct sonde_remote_call) == 64, "servant_x86_64.S");
_Static_assert(offsetof(struct sonde_remote_call, go_on) == 4, "the same");
_Static_assert(offsetof(struct sonde_remote_call, always) == 6, "the same");
_Static_assert(sizeof(struct sonde_servant_message) == 64, "servant_x86_64.S");
_Static_assert(offsetof(struct sonde_servant, status) == 4, "the same");
_Static_assert(offsetof(struct sonde_servant, pid) == 8, "the same");
_Static_assert(offsetof(struct sonde_servant, timeout_ms) == 12, "the same");
_Static_assert(offsetof(struct sonde_servant, sockets) == 16, "the same");
_Static_assert(offsetof(struct sonde_servant, polls) == 24, "the same");
_Static_assert(offsetof(struct sonde_servant, signals) == 40, "the same");
_Static_assert(offsetof(struct sonde_servant, header) == 48, "the same");
_Static_assert(offsetof(struct msghdr, msg_controllen) == 40, "the same");
_Static_assert(offsetof(struct sonde_servant, root) == 144, "the same");
_Static_assert(offsetof(struct sonde_servant, tracer) == 152, "the same");
_Static_assert(offsetof(struct sonde_servant, will) == 160, "the same");
_Static_assert(offsetof(struct sonde_servant, token) == 176, "the same");
_Static_assert(offsetof(struct sonde_servant, go) == 184, "the same");
_Static_assert(offsetof(struct sonde_servant, ready) == 188, "the same");
_Static_assert(offsetof(struct sonde_stub_data, rip) == 80, "the same");
_Static_assert(offsetof(struct sonde_stub_data, memory) == 88, "the same");
_Static_assert(offsetof(struct sonde_stub_data, name) == 104, "the same");
_Static_assert(SONDE_SERVANT_PATIENCE_MS == 5000, "the same");
_Static_assert(SONDE_SERVANT_BUFFER_AT == 0x3000, "the same");

extern const unsigned char sonde_servant_code[];
extern const unsigned char sonde_servant_code_end[];
extern const unsigned char sonde_stub_code[];
extern const unsigned char sonde_stub_code_end[];
extern const unsigned char sonde_birth_code[];
extern const unsigned char sonde_birth_back[];
extern const unsigned char sonde_birth_code_end[];

#endif /* PROBE_INJECT_SERVANT_H */
