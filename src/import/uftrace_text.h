/* SPDX-License-Identifier: MIT */
/*
 * uftrace_text.h - what is in the files of uftrace's data directory, as uftrace
 * documents them, a line or a record at a time.
 *
 *	info		"Ftrace!\0", u32 version, u16 size, u8 endian, u8 class, u64
 *			features ...; then lines
 *	task.txt	SESS timestamp=S.NS pid=N sid=HEX exename="PATH"
 *			TASK timestamp=S.NS tid=N pid=N
 *			FORK timestamp=S.NS pid=N ppid=N
 *	sid-HEX.map	lines of /proc/PID/maps
 *	NAME.sym	ADDRESS TYPE NAME, sorted; addresses are relative to where
 *			the file of that name is mapped first
 *	TID.dat		records of 16 bytes: u64 time in ns; type (2 bits, the
 *			lowest), more (1), 5 (3), depth (10), address (48)
 *
 * Pure functions; nothing is believed.
 */
#ifndef IMPORT_UFTRACE_TEXT_H
#define IMPORT_UFTRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_UFTRACE_SID_BYTES 17u
#define SONDE_UFTRACE_RECORD    16u

enum sonde_import_uftrace_kind {
	SONDE_UFTRACE_OTHER,
	SONDE_UFTRACE_SESSION, /* a program begins: pid, sid */
	SONDE_UFTRACE_TASK,    /* a thread: tid, pid */
	SONDE_UFTRACE_FORK,    /* a process: pid, ppid */
};

struct sonde_import_uftrace_task {
	enum sonde_import_uftrace_kind kind;
	uint64_t ns;
	int32_t tid, pid, ppid;
	char sid[SONDE_UFTRACE_SID_BYTES];
};

/* A line of task.txt, which has no newline. False: it makes no sense. */
bool sonde_import_uftrace_task(const char *line,
			       struct sonde_import_uftrace_task *ret_task);

/* A line of NAME.sym. The name is borrowed; "" (type ?): what was before ends here.
 * False: it is none. */
bool sonde_import_uftrace_symbol(const char *line, uint64_t *ret_address,
				 const char **ret_name);

enum sonde_import_uftrace_type {
	SONDE_UFTRACE_ENTRY,
	SONDE_UFTRACE_EXIT,
	SONDE_UFTRACE_LOST, /* `address`: how many */
	SONDE_UFTRACE_EVENT,
};

struct sonde_import_uftrace_record {
	uint64_t ns;
	enum sonde_import_uftrace_type type;
	bool has_more; /* arguments follow */
	uint64_t address;
};

/* SONDE_UFTRACE_RECORD bytes. False: it makes no sense. */
bool sonde_import_uftrace_record(
	const uint8_t *bytes, struct sonde_import_uftrace_record *ret_record);

#endif /* IMPORT_UFTRACE_TEXT_H */
