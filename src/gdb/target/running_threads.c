/* SPDX-License-Identifier: MIT */
/*
 * running_threads.c - the threads that a running process has, and their
 * registers as far as the kernel tells them.
 *
 * Threads are listed anew for each answer, in the order of their numbers, and
 * an answer goes on after the last one told: a thread that ends meanwhile is
 * not told twice, nor does it hide another. Registers cost one read of
 * /proc/PID/task/TID/syscall.
 */
#include <dirent.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/port.h"
#include "expr/agent.h"
#include "gdb/registers.h"
#include "gdb/target/running_parts.h"
#include "sys/proc.h"

/* Threads in one answer. */
#define THREADS_MAX 256u

enum {
	ORIG_RAX = 42,
};

static int compare(const void *a, const void *b)
{
	const pid_t *first = a;
	const pid_t *second = b;

	return (*first > *second) - (*first < *second);
}

/* Adds a thread's number; of too many, the smallest are kept. Returns how many. */
static size_t keep(pid_t *tids, size_t nr, pid_t tid)
{
	if (nr < THREADS_MAX) {
		tids[nr++] = tid;
		return nr;
	}
	qsort(tids, nr, sizeof(*tids), compare);
	if (tid < tids[nr - 1])
		tids[nr - 1] = tid;
	return nr;
}

/* The next threads above `after`, in order; how many. */
static size_t list_threads(pid_t pid, pid_t after, pid_t tids[THREADS_MAX])
{
	DIR *dir = sonde_proc_dir(pid, "task");
	size_t nr = 0;
	pid_t tid;

	if (!dir)
		return 0;
	while ((tid = sonde_proc_next(dir)) >= 0)
		if (tid > after)
			nr = keep(tids, nr, tid);
	(void)closedir(dir);
	qsort(tids, nr, sizeof(*tids), compare);
	return nr;
}

/* qsThreadInfo */
void sonde_gdb_running_next_threads(struct sonde_gdb_running *running,
				    const char *rest,
				    struct sonde_gdb_reply *reply)
{
	pid_t tids[THREADS_MAX];
	size_t nr = list_threads(running->pid, running->last_told, tids);

	(void)rest;
	for (size_t i = 0; i < nr; i++)
		sonde_gdb_reply_format(reply, "%cp%x.%x", i ? ',' : 'm',
				       running->pid, tids[i]);
	if (nr == 0)
		sonde_gdb_reply_text(reply, "l");
	else
		running->last_told = tids[nr - 1];
}

/* qfThreadInfo */
void sonde_gdb_running_first_threads(struct sonde_gdb_running *running,
				     const char *rest,
				     struct sonde_gdb_reply *reply)
{
	running->last_told = 0;
	sonde_gdb_running_next_threads(running, rest, reply);
	/* GDB wants one at least. */
	if (!strcmp(reply->bytes, "l")) {
		sonde_gdb_reply_clear(reply);
		sonde_gdb_reply_format(reply, "mp%x.%x", running->pid,
				       running->pid);
		running->last_told = INT32_MAX;
	}
}

/* "pPID.TID" or "TID"; 0 and -1 are any thread: the first. */
static bool take_thread(const struct sonde_gdb_running *running,
			const char *rest, pid_t *ret_tid)
{
	uint64_t number;

	if (sonde_hex_take(&rest, 'p')) {
		if (!sonde_hex_take_word(&rest, "-1") &&
		    !sonde_hex_take_number(&rest, &number))
			return false;
		if (!sonde_hex_take(&rest, '.'))
			return false;
	}
	*ret_tid = running->pid;
	if (!strcmp(rest, "-1"))
		return true;
	if (!sonde_hex_take_number(&rest, &number) || *rest ||
	    number > INT32_MAX)
		return false;
	if (number > 0)
		*ret_tid = (pid_t)number;
	return true;
}

/* qThreadExtraInfo, */
void sonde_gdb_running_thread_name(struct sonde_gdb_running *running,
				   const char *rest,
				   struct sonde_gdb_reply *reply)
{
	char name[SONDE_COMM_SIZE] = "?";
	pid_t tid;

	if (take_thread(running, rest, &tid))
		sonde_process_name(tid, name);
	sonde_gdb_reply_hex(reply, name, strlen(name));
}

/* T */
void sonde_gdb_running_is_alive(struct sonde_gdb_running *running,
				const char *rest, struct sonde_gdb_reply *reply)
{
	char path[64];
	pid_t tid;

	if (take_thread(running, rest, &tid)) {
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d",
			       running->pid, tid);
		/* All else that GDB knows goes on when the process is gone. */
		if (!access(path, F_OK) || tid == running->pid) {
			sonde_gdb_reply_text(reply, "OK");
			return;
		}
	}
	sonde_gdb_reply_error(reply, 1);
}

/* Hg, Hc */
void sonde_gdb_running_select(struct sonde_gdb_running *running,
			      const char *rest, struct sonde_gdb_reply *reply)
{
	pid_t tid;

	if ((rest[0] != 'g' && rest[0] != 'c') ||
	    !take_thread(running, rest + 1, &tid)) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (rest[0] == 'g')
		running->thread = tid;
	sonde_gdb_reply_text(reply, "OK");
}

struct known_registers {
	uint64_t values[SONDE_GDB_NR_REGISTERS];
	uint64_t known; /* a bit each */
};

static void running_threads_know(struct known_registers *registers,
				 unsigned int number, uint64_t value)
{
	registers->values[number] = value;
	registers->known |= 1ull << number;
}

/* The program's first instruction; 0. */
static uint64_t entry_of(const struct sonde_gdb_running *running)
{
	char path[64];
	uint64_t pair[2];
	uint64_t entry = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", running->pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (entry == 0 && fread(pair, sizeof(pair), 1, file) == 1)
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	(void)fclose(file);
	return entry;
}

/*
 * /proc/PID/task/TID/syscall has, of a thread that sleeps, the call's number
 * and six arguments (or -1), then the stack pointer and the next instruction.
 */
static void sample(const struct sonde_gdb_running *running,
		   struct known_registers *registers)
{
	static const uint8_t arguments[] = {
		SONDE_AGENT_RDI,    SONDE_AGENT_RSI, SONDE_AGENT_RDX,
		SONDE_AGENT_R8 + 2, SONDE_AGENT_R8,  SONDE_AGENT_R8 + 1
	};
	struct sonde_proc_syscall call;

	memset(registers, 0, sizeof(*registers));
	/* GDB doesn't connect where a thread is nowhere: one that runs, and is
	 * somewhere else by now whatever we say, is told to be at its start. */
	running_threads_know(registers, SONDE_AGENT_RIP, entry_of(running));
	if (sonde_proc_syscall(running->pid, running->thread, &call))
		return;
	running_threads_know(registers, SONDE_AGENT_RSP, call.sp);
	running_threads_know(registers, SONDE_AGENT_RIP, call.pc);
	if (call.number < 0)
		return;
	running_threads_know(registers, ORIG_RAX, (uint64_t)call.number);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(arguments); i++)
		running_threads_know(registers, arguments[i], call.args[i]);
}

static void reply_register(struct sonde_gdb_reply *reply,
			   const struct known_registers *registers,
			   unsigned int number)
{
	unsigned int offset;
	unsigned int size;

	if (!sonde_gdb_register_place(number, &offset, &size))
		return;
	if (registers->known >> number & 1) {
		sonde_gdb_reply_hex(reply, &registers->values[number], size);
		return;
	}
	for (unsigned int i = 0; i < size; i++)
		sonde_gdb_reply_text(reply, "xx");
}

/* g */
void sonde_gdb_running_registers(struct sonde_gdb_running *running,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	struct known_registers registers;

	if (*rest)
		return;
	sample(running, &registers);
	for (unsigned int i = 0; i < SONDE_GDB_NR_REGISTERS; i++)
		reply_register(reply, &registers, i);
}

/* p */
void sonde_gdb_running_register(struct sonde_gdb_running *running,
				const char *rest, struct sonde_gdb_reply *reply)
{
	struct known_registers registers;
	uint64_t number;

	if (!sonde_hex_take_number(&rest, &number) || *rest ||
	    number >= SONDE_GDB_NR_REGISTERS) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	sample(running, &registers);
	reply_register(reply, &registers, (unsigned int)number);
}
