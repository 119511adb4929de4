/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * proc.h - what /proc says about a process: files that the kernel itself
 * answers, none that would touch another process's memory, and so could make us
 * wait.
 *
 * What is read of a number is the process's that has it now. sys/peer.h says
 * how to know that it still is the one that was meant.
 *
 * The parsers take text, a NUL-terminated copy. Names in it may hold any byte: a
 * thread may be called "x) R 1 (", a file "a\nb". So fields are found from where
 * no name can be. What makes no sense is refused, and changes nothing.
 */
#ifndef SYS_PROC_H
#define SYS_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "sys/textfile.h"

/* ---- text ---- */

#define SONDE_PROC_STAT_BYTES   1024u /* enough for all of /proc/PID/stat */
#define SONDE_PROC_STATUS_BYTES 8192u /* and for what we look for in status */

/* /proc/PID/stat, and that of a thread. */
struct sonde_proc_stat {
	char name[64]; /* of a kernel's worker it says what it works on */
	char state;    /* 'R', 'S', 'T' ... */
	pid_t parent;
	uint32_t flags;    /* PF_... */
	uint64_t start;    /* in ticks since the system began */
	uint64_t code_end; /* of the program; 0, 1: not told */
	uint64_t stack;    /* where the first thread's begins; 0, 1: not told */
	uint32_t cpu;      /* that it runs on, or ran on last */
	int status; /* as of wait(), of a zombie that is ours to look at */
};

bool sonde_proc_parse_stat(const char *text, struct sonde_proc_stat *ret_stat);

/* The text behind "KEY:" and blanks, at the start of a line; NULL. In
 * /proc/PID/status, no name has a line of its own: control characters are
 * escaped. */
const char *sonde_proc_find(const char *text, const char *key);

/* The path in /proc/PID/cgroup, up to the end of its line, of the hierarchy that
 * has the controller: "" for the unified one, NULL for the first that is named.
 * NULL: no line has it. */
const char *sonde_proc_find_cgroup(const char *text, const char *controller);

/* Pure: the id of a container in its control group's path: SONDE_CONTAINER_ID
 * hexadecimal digits that stand alone, in that path. NULL: there is none. */
const char *sonde_proc_container_id(const char *group);
#define SONDE_CONTAINER_ID    64u
#define SONDE_CONTAINER_SHORT 12u /* as many as managers show */

#define SONDE_CGROUP_BYTES    4096u /* of a control group's path with its NUL */

/* How many numbers there are, between blanks, and the last of them; 0 leaves it
 * as it is, as does `at` of NULL. */
uint32_t sonde_proc_numbers(const char *at, uint32_t base, uint64_t *ret_last);

#define SONDE_MAPPED_READ   1u
#define SONDE_MAPPED_WRITE  2u
#define SONDE_MAPPED_EXEC   4u
#define SONDE_MAPPED_SHARED 8u

/* A line of /proc/PID/maps. */
struct sonde_proc_mapping {
	uint64_t begin;
	uint64_t end;
	uint32_t mode; /* SONDE_MAPPED_... */
	uint64_t offset;
	uint32_t major; /* of the device */
	uint32_t minor;
	uint64_t ino;
	const char *path; /* borrowed from the line; "" if it has none */
};

/* Writes to the line, which has no newline. One in a path is written as \012
 * there, and made one again (as is a path that has these four characters). */
bool sonde_proc_parse_mapping(char *line,
			      struct sonde_proc_mapping *ret_mapping);

/* /proc/PID/syscall. */
struct sonde_proc_syscall {
	int64_t number; /* -1: it sleeps, but in none */
	uint64_t args[6];
	uint64_t sp;
	uint64_t pc;
};

/* False for one that runs, too. */
bool sonde_proc_parse_syscall(const char *text,
			      struct sonde_proc_syscall *ret_call);

/* A process's number, as a file in /proc is called; 0: the word is none. */
pid_t sonde_proc_number(const char *word);

/* The number in what a link of /proc names, such as "net:[4026531840]", if it is
 * of this kind ("net"; NULL: of any); 0: there is none. */
uint64_t sonde_proc_link_number(const char *link, const char *kind);

/* In /proc/stat: how long a CPU has been taken away from this machine by the one
 * it runs in, in the system's ticks. False: it has no such line. */
bool sonde_proc_parse_stolen(const char *text, uint32_t cpu,
			     uint64_t *ret_ticks);

/* The same of the CPU, as it is now, in nanoseconds, to a tick; -1 unknown. */
int64_t sonde_proc_stolen_ns(uint32_t cpu);

/* ---- processes ---- */

/* A process's or a thread's: 0 or -errno. */
int sonde_proc_stat(pid_t pid, struct sonde_proc_stat *ret_stat);

/* A pidfd of a process, which is closed on exec; or -errno. */
int sonde_proc_pidfd(pid_t pid);

/* How the process ended that the pidfd is of: *ret_status is as of wait(). 0;
 * -EAGAIN: it has not; -ENODATA: nobody knows any more. Kernels from 6.15 on tell
 * it at any time, others until its parent has asked. */
int sonde_proc_ended(int pidfd, pid_t pid, int *ret_status);

/* A number of a line of /proc/PID/status; the last, where there are several.
 * 0, -ENOENT: no such line, or -ESRCH: no such process. */
int sonde_proc_status(pid_t pid, const char *key, uint32_t base,
		      uint64_t *ret_number);

/* /proc/PID/maps, mapping by mapping; the lines are opened and closed by the
 * caller. False at the end. */
int sonde_proc_maps_open(struct sonde_lines *lines, pid_t pid);
bool sonde_proc_maps_next(struct sonde_lines *lines,
			  struct sonde_proc_mapping *ret_mapping);

/* The system call that a thread sleeps in: 0, -EAGAIN: it runs, or -errno. */
int sonde_proc_syscall(pid_t pid, pid_t tid,
		       struct sonde_proc_syscall *ret_call);

/* The list of a thread's children, for fclose(); NULL. */
FILE *sonde_proc_children(pid_t pid, pid_t tid);
/* The next one; 0 at its end. */
pid_t sonde_proc_next_child(FILE *children);

/* Its memory, by address: O_RDONLY or O_RDWR. A descriptor that is closed on
 * exec, or -errno. */
int sonde_proc_memory(pid_t pid, int flags);

/* The directory NAME of the process; NULL. */
DIR *sonde_proc_dir(pid_t pid, const char *name);
/* The next number in such a directory, or in /proc; -1 at its end. */
int32_t sonde_proc_next(DIR *dir);

#define SONDE_COMM_SIZE 32

/* The process's name, printable, or "?". */
void sonde_process_name(pid_t pid, char name[SONDE_COMM_SIZE]);

/* Its parent; 0 if there is none, or it can't be found out. */
pid_t sonde_process_parent(pid_t pid);

/* How a thread is scheduled: SCHED_..., the kernel's number of its priority (120: nice
 * 0; 0 to 98: 99 less that of real time; -1: by deadlines), its niceness. */
struct sonde_proc_schedule {
	uint32_t policy;
	int32_t prio, nice;
};
/* By one system call, which takes no lock of the thread's. 0 or -errno. */
int sonde_proc_schedule(pid_t tid, struct sonde_proc_schedule *ret_schedule);

/* When it started, in ticks; 0 if that can't be found out. With its number that
 * is one process, as far as ticks tell. */
uint64_t sonde_process_start(pid_t pid);

/* The path of its control group in the unified hierarchy; where there is none,
 * in the first that is named. False if that can't be found out. The kernel tells
 * none that is longer than SONDE_CGROUP_BYTES. */
bool sonde_process_cgroup(pid_t pid, char path[SONDE_CGROUP_BYTES]);

/* The number of its namespace: "pid", "pid_for_children" ...; of ours if `pid` is
 * 0; a thread's number may stand for `pid`. 0 if that can't be found out. */
uint32_t sonde_process_ns(pid_t pid, const char *name);

/* Its effective user; (uid_t)-1 if that can't be found out. */
uid_t sonde_process_uid(pid_t pid);

#endif /* SYS_PROC_H */
