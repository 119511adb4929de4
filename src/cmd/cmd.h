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

#include <stdbool.h>

/* Exit status for a mistake on the command line. */
#define SONDE_EXIT_USAGE 2

int sonde_cmd_record(int argc, char **argv);
int sonde_cmd_list(int argc, char **argv);
int sonde_cmd_print(int argc, char **argv);
int sonde_cmd_stat(int argc, char **argv);
int sonde_cmd_check(int argc, char **argv);
int sonde_cmd_report(int argc, char **argv);
int sonde_cmd_diff(int argc, char **argv);
int sonde_cmd_convert(int argc, char **argv);
int sonde_cmd_flame(int argc, char **argv);
int sonde_cmd_export(int argc, char **argv);
int sonde_cmd_cut(int argc, char **argv);
int sonde_cmd_doctor(int argc, char **argv);
int sonde_cmd_modules(int argc, char **argv);
int sonde_cmd_gdbserver(int argc, char **argv);
int sonde_cmd_gdb(int argc, char **argv);
int sonde_cmd_probe(int argc, char **argv);

/* The help of `sonde` and of `sonde record`, on standard output. */
void sonde_help_main(void);
void sonde_help_record(void);

/* Becomes GDB, connected to a PID or a trace by `sonde gdbserver -o output`
 * (NULL: none kept); with arguments before and after the connection is made
 * (`before` may be NULL); `adds`: to the
 * tracepoints that are there. An exit status if that fails. */
int sonde_gdb_exec(const char *output, const char *what, bool adds,
		   const char *const *before, char *const *after);

/* "sonde: " and one line on standard error. */
__attribute__((format(printf, 1, 2))) void sonde_complain(const char *format,
							  ...);

#endif /* CMD_CMD_H */
