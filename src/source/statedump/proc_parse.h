/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * proc_parse.h - what /proc and /sys say, as numbers and names.
 *
 * Text in, values out; no file is touched. Text is a NUL-terminated copy that
 * belongs to the caller. Names in it may hold any byte: a thread may be called
 * "x) R 1 (", a file "a\nb". So fields are found from where no name can be.
 *
 * Functions that return bool say whether the text made sense; what they fill in
 * is unchanged if it did not. Those that take a line write to it: names are
 * terminated in place, and borrowed from it.
 */
#ifndef SOURCE_STATEDUMP_PROC_PARSE_H
#define SOURCE_STATEDUMP_PROC_PARSE_H

#include "source/statedump/model.h"
#include "source/statedump/socket.h"
#include "sys/proc.h"

/* /proc/PID/stat: name, status, is_kernel, ppid, cpu. */
bool sonde_text_stat(const char *text, struct sonde_statedump_task *task);

/* /proc/PID/status: ns_level, vtid, vpid. */
bool sonde_text_status(const char *text, struct sonde_statedump_task *task);

/* /proc/PID/fdinfo/FD. */
bool sonde_text_fdinfo(const char *text, uint32_t *ret_flags);

/* All but `pid`; false if it isn't of a file. */
bool sonde_text_mapping(const struct sonde_proc_mapping *mapped,
			struct sonde_statedump_mapping *ret_mapping);

/* A line of /proc/net/tcp, tcp6, udp or udp6: addresses, ports, ino. */
bool sonde_text_inet(const char *line, bool is_v6,
		     struct sonde_statedump_socket *ret_socket);
/* A line of /proc/net/unix. */
bool sonde_text_unix(const char *line,
		     struct sonde_statedump_socket *ret_socket);

/* "254:0\n", as a device's file `dev` has it. */
bool sonde_text_dev(const char *text, uint32_t *ret_dev);

/* "key\t: value" of /proc/cpuinfo. In place. */
bool sonde_text_pair(char *line, const char **ret_key, const char **ret_value);

/* A decimal number, all of the text but for white space at its end; `max`
 * included. */
bool sonde_text_number(const char *text, uint64_t max, uint64_t *ret_number);

#endif /* SOURCE_STATEDUMP_PROC_PARSE_H */
