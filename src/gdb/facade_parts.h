/* SPDX-License-Identifier: MIT */
/*
 * facade_parts.h - what the facade's own files share.
 *
 *	facade.c		the packets
 *	facade_threads.c	threads and their registers, from /proc
 *	facade_io.c		files that GDB reads (vFile)
 *	facade_files.c		auxv, the program's file, its libraries
 */
#ifndef GDB_FACADE_PARTS_H
#define GDB_FACADE_PARTS_H

#include "gdb/facade.h"

/* Files that GDB may have open at a time. */
#define SONDE_GDB_FILES_MAX 8

struct sonde_gdb_facade {
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

typedef void sonde_gdb_facade_answer(struct sonde_gdb_facade *facade,
				     const char *rest,
				     struct sonde_gdb_reply *reply);

/* facade.c: as many bytes as can be read; without our probes. */
size_t sonde_gdb_facade_peek(const struct sonde_gdb_facade *facade,
			     uint64_t address, void *to, size_t size);

/* facade_threads.c */
sonde_gdb_facade_answer sonde_gdb_facade_first_threads,
	sonde_gdb_facade_next_threads, sonde_gdb_facade_thread_name,
	sonde_gdb_facade_is_alive, sonde_gdb_facade_select,
	sonde_gdb_facade_registers, sonde_gdb_facade_register;

/* facade_files.c */
sonde_gdb_facade_answer sonde_gdb_facade_auxv, sonde_gdb_facade_exec_file,
	sonde_gdb_facade_libraries;

/* facade_io.c */
sonde_gdb_facade_answer sonde_gdb_facade_file;
void sonde_gdb_facade_close_files(struct sonde_gdb_facade *facade);

#endif /* GDB_FACADE_PARTS_H */
