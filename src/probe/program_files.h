/* SPDX-License-Identifier: MIT */
/*
 * program_files.h - what GDB needs to know of a process to find its symbols: the
 * auxiliary vector (where the program is), the program's file, its libraries.
 * They are also kept beside a trace, as TRACE/gdb/auxv, exe, libraries.
 */
#ifndef PROBE_PROGRAM_FILES_H
#define PROBE_PROGRAM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SONDE_PROBE_AUXV_MAX 4096u
#define SONDE_PROBE_EXE_MAX  1024u
#define SONDE_PROBE_KEPT_MAX ((size_t)4 << 20)

struct sonde_probe_program_files {
	pid_t pid;
	int memory; /* /proc/PID/mem */
};

/* How many bytes; 0: it can't be read. */
size_t sonde_probe_program_files_auxv(pid_t pid, void *to, size_t size);
/* Its name; where that is another file by now, the one that is running. */
bool sonde_probe_program_files_exe(pid_t pid, char to[SONDE_PROBE_EXE_MAX]);
/* GDB's XML (library-list-svr4), for free(); NULL: no memory. */
char *sonde_probe_program_files_libraries(
	const struct sonde_probe_program_files *image);

/* Into gdb/ of the trace in `dir`. 0, -errno. */
int sonde_probe_program_files_save(pid_t pid, int dir);

/* A file of those: its bytes and a NUL, for free(). */
struct sonde_probe_kept {
	char *bytes;
	size_t nr;
};
int sonde_probe_program_files_load(const char *directory, const char *name,
				   struct sonde_probe_kept *ret_kept);

#endif /* PROBE_PROGRAM_FILES_H */
