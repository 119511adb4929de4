/* SPDX-License-Identifier: MIT */
/*
 * launch.h - starting the program to be recorded.
 *
 * The program is looked for before anything else is made, so that a mistyped
 * name leaves nothing behind; what only exec can find out comes back over a
 * pipe that exec closes. The child gets the signal mask and dispositions the
 * front end had when it started, the session's name in the environment, the file that
 * marks can be written to, if there is one, and, if asked for, our helper library in front of LD_PRELOAD.
 */
#ifndef SESSION_LAUNCH_H
#define SESSION_LAUNCH_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sonde_launch {
	char *const *argv;
	const char *path;        /* of the program */
	const char *session;     /* the path of the recorder's socket */
	const char *door;        /* where it can write marks; or NULL */
	const char *preload;     /* path of the helper, or NULL */
	const char *hooks;       /* what it is to trace: "malloc,locks" */
	const sigset_t *sigmask; /* the program's */
	bool ignore_sigchld;     /* as we were told, when we started */
	bool is_traced; /* it stops behind its exec, traced by the caller */
	int nr_filters; /* of seccomp, that allow libsonde's calls; or 0 */
	/* Called when the process exists and before it does anything; NULL if
	 * nobody waits for that. -errno: the program isn't started. */
	int (*held)(void *ctx, pid_t pid);
	void *ctx;
};

/*
 * Find `name` as a shell would: as it is if it holds a '/', along PATH else.
 * 0; -ENOENT if there is no such file, -EACCES if it can't be executed,
 * -EISDIR.
 */
int sonde_launch_find(const char *name, char ret_path[PATH_MAX]);

/* A library of ours that is no part of the program's own: libsonde-preload.so,
 * and the events of `sonde latency`. */
struct sonde_launch_helper {
	const char *name;
	const char *built; /* where a build leaves it, from the executable's
			      folder */
};
extern const struct sonde_launch_helper sonde_launch_preload,
	sonde_launch_latency, sonde_launch_tracer, sonde_launch_nats,
	sonde_launch_kafka;

/*
 * Find a helper library: in the directory named by SONDE_PRELOAD_DIR and
 * nowhere else; without that, where a build leaves it beside the running
 * executable, at `from_us` seen from the executable's folder, which finds it in
 * a tree that was installed below another root (DESTDIR) or moved, and at last
 * in `libdir`. 0, -ENOENT, or -EINVAL if its path can't stand in LD_PRELOAD
 * (blank or colon).
 */
int sonde_launch_find_helper(const struct sonde_launch_helper *helper,
			     const char *from_us, const char *libdir,
			     char ret_path[PATH_MAX]);

/*
 * Finds a helper library and opens it for good: its events can't be taken out of
 * libsonde, nor its threads be ended. `names`, the last one NULL, are of functions
 * in it. 0; -ENOENT and *ret_why = NULL: it isn't there; -ELIBACC: the loader's
 * words, which name it, and are good until the next call.
 */
int sonde_launch_open_helper(const struct sonde_launch_helper *helper,
			     const char *from_us, const char *libdir,
			     const char *const names[], void *ret_functions[],
			     const char **ret_why);

/* Start the program. 0 and its pid, or -errno of what failed, exec and `held`
 * included: then there is no process. */
int sonde_launch_start(const struct sonde_launch *launch, pid_t *ret_pid);

#endif /* SESSION_LAUNCH_H */
