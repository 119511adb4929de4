/* SPDX-License-Identifier: MIT */
/*
 * running_parts.h - what the files of a running target share.
 *
 *	running.c		the packets
 *	running_threads.c	threads and their registers, from /proc
 *	running_io.c		files that GDB reads (vFile)
 *	running_files.c		auxv, the program's file, its libraries
 */
#ifndef GDB_TARGET_RUNNING_PARTS_H
#define GDB_TARGET_RUNNING_PARTS_H

#include "gdb/target/running.h"

/* Files that GDB may have open at a time. */
#define SONDE_GDB_FILES_MAX 8

struct sonde_gdb_running {
	pid_t pid;
	pid_t thread; /* the selected one */
	int pidfd;    /* -1: the process has ended */
	int memory;   /* /proc/PID/mem */
	bool can_write;
	struct sonde_process *process;
	struct sonde_gdb_server *server; /* NULL: not yet */
	pid_t last_told;                 /* qsThreadInfo goes on behind it */
	int files[SONDE_GDB_FILES_MAX];  /* 0: none */
	char *libraries;                 /* the text that is being told */
};

typedef void sonde_gdb_running_answer(struct sonde_gdb_running *running,
				      const char *rest,
				      struct sonde_gdb_reply *reply);

/* running.c: as many bytes as can be read; without our probes. */
size_t sonde_gdb_running_peek(const struct sonde_gdb_running *running,
			      uint64_t address, void *to, size_t size);

/* running_threads.c */
sonde_gdb_running_answer sonde_gdb_running_first_threads,
	sonde_gdb_running_next_threads, sonde_gdb_running_thread_name,
	sonde_gdb_running_is_alive, sonde_gdb_running_select,
	sonde_gdb_running_registers, sonde_gdb_running_register;

/* running_files.c */
sonde_gdb_running_answer sonde_gdb_running_auxv, sonde_gdb_running_exec_file,
	sonde_gdb_running_libraries;

/* running_io.c */
sonde_gdb_running_answer sonde_gdb_running_file;
void sonde_gdb_running_close_files(struct sonde_gdb_running *running);

#endif /* GDB_TARGET_RUNNING_PARTS_H */
