/* SPDX-License-Identifier: MIT */
/*
 * cmd.h - the commands of the `sonde` program.
 *
 * Each takes the words from its own name on and returns an exit status. They
 * alone print: one line per error, on standard error, that begins with
 * "sonde: " and names the cause and the remedy.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cmd/options.h"
#include "session/net/net.h"

/* Exit status for a mistake on the command line. */
#define SONDE_EXIT_USAGE 2

extern const struct sonde_command sonde_command_record, sonde_command_list,
	sonde_command_print, sonde_command_convert, sonde_command_stat,
	sonde_command_check, sonde_command_report, sonde_command_diff,
	sonde_command_flame, sonde_command_cut, sonde_command_export,
	sonde_command_doctor, sonde_command_modules, sonde_command_gdb,
	sonde_command_gdbserver, sonde_command_probe, sonde_command_complete,
	sonde_command_ps, sonde_command_count, sonde_command_hist,
	sonde_command_start, sonde_command_status, sonde_command_rotate,
	sonde_command_snapshot, sonde_command_stop, sonde_command_destroy,
	sonde_command_change, sonde_command_clear, sonde_command_wait,
	sonde_command_generate, sonde_command_latency, sonde_command_view,
	sonde_command_live, sonde_command_top, sonde_command_mark,
	sonde_command_recover, sonde_command_tui;

extern const struct sonde_command sonde_command_ship, sonde_command_collect,
	sonde_command_hosts, sonde_command_host, sonde_command_sync,
	sonde_command_worker;

/* Becomes GDB, connected to a PID, a trace, or (`what` NULL) the kernel by `sonde
 * gdbserver -o output` (NULL: none kept); with arguments before and after the
 * connection is made (`before` may be NULL); `adds`: to the tracepoints that are
 * there. An exit status if that fails. */
struct sonde_gdb_start {
	const char *output, *what;
	const char *symbols; /* the kernel's */
	bool adds;
	const char *const *before;
	char *const *after;
};
int sonde_gdb_exec(const struct sonde_gdb_start *start);

/* The kernel's symbols (`given` NULL: they are found), and how far it was moved
 * from where they are. 0, or an exit status: said why. */
struct sonde_gdb_symbols {
	char path[PATH_MAX];
	uint64_t moved;
};
int sonde_gdb_find_symbols(const char *given,
			   struct sonde_gdb_symbols *ret_symbols);

/* Commands for GDB, in a file without a name: its descriptor, which GDB inherits,
 * and the path to give it. `put` writes them; false: there are none. -1: neither
 * are there, or there is no memory. */
#define SONDE_GDB_SCRIPT_PATH 40u
int sonde_gdb_script(bool (*put)(FILE *to, const void *ctx), const void *ctx,
		     char path[SONDE_GDB_SCRIPT_PATH]);

/* Those that add the symbols of the kernel's modules; likewise. */
int sonde_gdb_module_script(char path[SONDE_GDB_SCRIPT_PATH]);
/* Those that have `strace -m ID if CONDITION` mean each place of the marker. */
int sonde_gdb_sites_script(char path[SONDE_GDB_SCRIPT_PATH]);

/* Whether probes can be put into a process; 0, or an exit status: said why. */
int sonde_gdb_check_process(pid_t pid);

/* With libraries of ours that few commands need, and Ctrl-C. */
extern const struct sonde_net_config sonde_command_net;

/* "sonde: " and one line on standard error. */
__attribute__((format(printf, 1, 2))) void sonde_complain(const char *format,
							  ...);
/* The same, of a text, for whoever has lines for a user and no name. */
void sonde_complain_text(const char *text);
/* "COMMAND: text", but not what was told so last: for what is waited for, and found
 * at each look. */
void sonde_complain_anew(const char *command, const char *text);

#endif /* CMD_CMD_H */
