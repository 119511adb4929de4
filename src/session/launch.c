/* SPDX-License-Identifier: MIT */
/*
 * launch.c - starting the program that is recorded (launch.h).
 *
 * All that can fail without the program is done before fork; what fails in the
 * child comes back over a pipe that exec closes. Only async-signal-safe calls
 * between fork and exec.
 */
#include "session/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/handshake.h"
#include "sys/library.h"
#include "sys/seccomp.h"

/* The value of a variable; NULL if it isn't set. */
static const char *launch_variable(const char *name)
{
	size_t length = strlen(name);

	for (char **v = environ; v && *v; v++)
		if (!strncmp(*v, name, length) && (*v)[length] == '=')
			return *v + length + 1;
	return NULL;
}

static int launch_check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return access(path, X_OK) ? -errno : 0;
}

/* "directory/name" into `path`; false if it does not fit. An empty directory
 * is the current one. */
static bool join(const char *directory, size_t length, const char *name,
		 char path[PATH_MAX])
{
	int n;

	if (!length)
		n = snprintf(path, PATH_MAX, "./%s", name);
	else
		n = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, directory,
			     name);
	return n > 0 && n < PATH_MAX;
}

int sonde_launch_find(const char *name, char ret_path[PATH_MAX])
{
	const char *next = launch_variable("PATH");
	int result = -ENOENT;

	if (strchr(name, '/')) {
		if (snprintf(ret_path, PATH_MAX, "%s", name) >= PATH_MAX)
			return -ENAMETOOLONG;
		return launch_check_program(ret_path);
	}
	if (!next)
		next = "/usr/local/bin:/usr/bin:/bin";
	while (*name) {
		size_t length = strcspn(next, ":");
		int rc = join(next, length, name, ret_path) ?
				 launch_check_program(ret_path) :
				 -ENAMETOOLONG;

		if (!rc)
			return 0;
		/* in a directory that can't be searched it is as for a shell: it
		 * isn't there */
		if (rc == -EACCES && !access(ret_path, F_OK))
			result = rc;
		if (!next[length])
			break;
		next += length + 1;
	}
	return result;
}

const struct sonde_launch_helper sonde_launch_preload = {
	.name = "libsonde-preload.so",
	.built = "../tracer/preload",
};
const struct sonde_launch_helper sonde_launch_latency = {
	.name = "libsonde-latency.so",
	.built = "../latency/tick",
};
const struct sonde_launch_helper sonde_launch_tracer = {
	.name = "libsonde.so.0",
	.built = "../tracer",
};
const struct sonde_launch_helper sonde_launch_nats = {
	.name = "libsonde-nats.so",
	.built = "../session",
};
const struct sonde_launch_helper sonde_launch_kafka = {
	.name = "libsonde-kafka.so",
	.built = "../session",
};

static bool is_helper(const struct sonde_launch_helper *helper,
		      const char *directory, size_t length, char path[PATH_MAX])
{
	return length && join(directory, length, helper->name, path) &&
	       !access(path, R_OK);
}

/* In a build tree the helper lies beside the folder of the executable. */
static bool find_beside_us(const struct sonde_launch_helper *helper,
			   const char *from_us, char path[PATH_MAX])
{
	const char *const places[] = { helper->built, from_us, "." };
	char self[PATH_MAX];
	char directory[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int length = snprintf(directory, sizeof(directory), "%s/%s",
				      self, places[i]);

		if (is_helper(helper, directory, (size_t)length, path))
			return true;
	}
	return false;
}

int sonde_launch_find_helper(const struct sonde_launch_helper *helper,
			     const char *from_us, const char *libdir,
			     char ret_path[PATH_MAX])
{
	const char *given = launch_variable("SONDE_PRELOAD_DIR");
	char path[PATH_MAX];

	if (given && *given) {
		if (!is_helper(helper, given, strlen(given), path))
			return -ENOENT;
	} else if (!find_beside_us(helper, from_us, path) &&
		   !is_helper(helper, libdir, strlen(libdir), path)) {
		return -ENOENT;
	}
	if (!realpath(path, ret_path))
		return -errno;
	/* The loader takes both for separators. */
	return strpbrk(ret_path, ": ") ? -EINVAL : 0;
}

int sonde_launch_open_helper(const struct sonde_launch_helper *helper,
			     const char *from_us, const char *libdir,
			     const char *const names[], void *ret_functions[],
			     const char **ret_why)
{
	char path[PATH_MAX];

	*ret_why = NULL;
	if (sonde_launch_find_helper(helper, from_us, libdir, path))
		return -ENOENT;
	return sonde_library_open(path, names, ret_functions, ret_why);
}

/* ---- the child's environment ---- */

/* What an outer recording found out about filters is not ours; what the user
 * said is. */
static bool is_ours(const char *entry)
{
	static const char *const names[] = {
		SONDE_SESSION_ENV "=", SONDE_MARK_ENV "=",
		"LD_PRELOAD=", "SONDE_HOOKS=", SONDE_SECCOMP_ENV "="
	};

	if (!strcmp(entry, SONDE_SECCOMP_ENV "=allow"))
		return false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(entry, names[i], strlen(names[i])))
			return true;
	return false;
}

/* "LD_PRELOAD=..." with the helper in front of what is there already; without
 * a helper, what is there. NULL if there is no memory. */
static char *preload_entry(const struct sonde_launch *launch)
{
	const char *old = launch_variable("LD_PRELOAD");
	const char *colon = launch->preload && old && *old ? ":" : "";
	char *entry;

	if (asprintf(&entry, "LD_PRELOAD=%s%s%s",
		     launch->preload ? launch->preload : "", colon,
		     old ? old : "") < 0)
		return NULL;
	return entry;
}

/* Our variables, at `to`; false if there is no memory. */
static bool put_variables(const struct sonde_launch *launch, char **to)
{
	const char *seccomp = launch_variable(SONDE_SECCOMP_ENV);

	if (asprintf(to++, SONDE_SESSION_ENV "=%s", launch->session) < 0 ||
	    (launch->door &&
	     asprintf(to++, SONDE_MARK_ENV "=%s", launch->door) < 0) ||
	    ((launch->preload || launch_variable("LD_PRELOAD")) &&
	     !(*to++ = preload_entry(launch))) ||
	    (launch->preload &&
	     asprintf(to++, "SONDE_HOOKS=%s", launch->hooks) < 0))
		return false;
	return !launch->nr_filters || (seccomp && !strcmp(seccomp, "allow")) ||
	       asprintf(to, SONDE_SECCOMP_ENV "=%d", launch->nr_filters) >= 0;
}

/* Our environment with our variables in it. Lives until exec or exit. */
static char **make_environment(const struct sonde_launch *launch)
{
	size_t nr = 0;
	char **entries;

	while (environ && environ[nr])
		nr++;
	entries = calloc(nr + 6, sizeof(*entries));
	if (!entries)
		return NULL;
	nr = 0;
	for (char **v = environ; v && *v; v++)
		if (!is_ours(*v))
			entries[nr++] = *v;
	if (put_variables(launch, entries + nr))
		return entries;
	free(entries);
	return NULL;
}

/* A script without a #! line is the shell's, as everywhere. */
static int become_shell(const struct sonde_launch *launch,
			char *const *environment)
{
	const char **words;
	size_t nr = 0;

	while (launch->argv[nr])
		nr++;
	words = calloc(nr + 2, sizeof(*words));
	if (!words)
		return -ENOMEM;
	words[0] = "/bin/sh";
	words[1] = launch->path;
	for (size_t i = 1; i < nr; i++)
		words[i + 1] = launch->argv[i];
	(void)execve("/bin/sh", (char *const *)(void *)words, environment);
	free(words);
	return -ENOEXEC;
}

/* In the child. Returns only if exec failed. */
static int launch_become(const struct sonde_launch *launch)
{
	char **environment = make_environment(launch);
	int rc;

	if (!environment)
		return -ENOMEM;
	if (launch->ignore_sigchld)
		(void)signal(SIGCHLD, SIG_IGN); /* it is valid */
	rc = -pthread_sigmask(SIG_SETMASK, launch->sigmask, NULL);
	if (!rc && launch->is_traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		rc = -errno;
	if (!rc) {
		(void)execve(launch->path, launch->argv, environment);
		rc = -errno;
	}
	if (rc == -ENOEXEC)
		rc = become_shell(launch, environment);
	free(environment);
	return rc;
}

static void close_pipe(const int ends[2])
{
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* In the child: until the gate opens. False if whoever held it has ended: then
 * nobody waits for the program any more. */
static bool wait_at(const int gate[2])
{
	char byte;
	ssize_t n;

	(void)close(gate[1]);
	do
		n = read(gate[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static pid_t make_child(const struct sonde_launch *launch, const int gate[2],
			const int report[2])
{
	pid_t pid = fork();
	int error;

	if (pid)
		return pid < 0 ? -errno : pid;
	if (launch->held && !wait_at(gate))
		_exit(127);
	error = launch_become(launch);
	/* The pipe is empty: it takes four bytes. */
	(void)!write(report[1], &error, sizeof(error));
	_exit(127);
}

/* Until it has stopped behind its exec, or has ended: signals that come before
 * would stop it, and are its own. */
static void await_exec(pid_t pid)
{
	int status;

	for (;;) {
		siginfo_t info = { .si_pid = 0 };

		if (waitid(P_PID, (id_t)pid, &info,
			   WEXITED | WSTOPPED | WNOWAIT) ||
		    (info.si_code != CLD_TRAPPED &&
		     info.si_code != CLD_STOPPED) ||
		    waitpid(pid, &status, WUNTRACED) != pid ||
		    WSTOPSIG(status) == SIGTRAP)
			return;
		(void)ptrace(PTRACE_CONT, pid, NULL, WSTOPSIG(status));
	}
}

int sonde_launch_start(const struct sonde_launch *launch, pid_t *ret_pid)
{
	int report[2];
	int gate[2];
	int error = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	if (pipe2(gate, O_CLOEXEC)) {
		error = -errno;
		close_pipe(report);
		return error;
	}
	pid = make_child(launch, gate, report);
	if (pid > 0 && launch->held)
		error = launch->held(launch->ctx, pid);
	if (!error)
		(void)!write(gate[1], "", 1); /* empty, and we can read it */
	close_pipe(gate);
	(void)close(report[1]);
	if (pid < 0) {
		(void)close(report[0]);
		return pid;
	}
	if (launch->is_traced)
		await_exec(pid);
	do
		n = read(report[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	(void)close(report[0]);
	if (error) {
		(void)waitpid(pid, NULL, 0); /* it is ending */
		return error;
	}
	*ret_pid = pid;
	return 0;
}
