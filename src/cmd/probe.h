/* SPDX-License-Identifier: MIT */
/*
 * probe.h - what `sonde probe` asks of a process's server (probe_list.c,
 * probe_put.c), and of the kernel (probe_kernel.c). All return exit statuses.
 */
#ifndef CMD_PROBE_H
#define CMD_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

int sonde_probe_list(pid_t pid, bool json);
int sonde_probe_remove(pid_t pid, const char *name);
int sonde_probe_stop(pid_t pid);
/* Has the probe put in by the process's server, which is started if there is
 * none. Says where, on standard output, and what is wrong. */
struct sonde_probe_request;
int sonde_probe_put_in(const struct sonde_probe_request *request,
		       const char *name, const char *output);
/* Says where the trace is. */
int sonde_probe_where(pid_t pid);

/* A probe at a function of the kernel, for as long as it is recorded. */
struct sonde_probe_kernel_options {
	const char *where, *collect, *name, *output, *rules;
	bool all;           /* not only the program's threads */
	const char *stack;  /* --stack=...; ""; NULL: none */
	const char *source; /* as --kernel-source of `sonde record`; or NULL */
	char **program;     /* NULL-terminated, or NULL: none */
};
int sonde_probe_kernel_record(const struct sonde_probe_kernel_options *wanted);
/* What the words of such a command say, the first of which is "probe"; false: they
 * are another's, or wrong. The words are to outlive it. */
typedef bool
sonde_probe_kernel_parse(int nr, char **words,
			 struct sonde_probe_kernel_options *ret_options);
/* The probes of all that run, and ending the one that has this probe. */
int sonde_probe_kernel_running(sonde_probe_kernel_parse *parse, bool json);
int sonde_probe_kernel_stop(sonde_probe_kernel_parse *parse, const char *name);
/* Functions that match a glob. */
int sonde_probe_kernel_list(const char *glob, bool json);

#endif /* CMD_PROBE_H */
