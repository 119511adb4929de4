/* SPDX-License-Identifier: MIT */
/*
 * exec.c - programs that can't take the preloaded library run without it.
 *
 * One of another C library or with a sanitizer would not start, one of 32 bits
 * would have its loader complain. So whoever executes a program looks at its
 * file first (sys/program.h), and if need be takes us, and nothing else, out
 * of the LD_PRELOAD that it passes on; what that program starts in turn is
 * without us, too. The arena is told, and so the recorder. So it is if the
 * environment has been emptied of us.
 *
 * The hooks may run in the child of a vfork, and in one of a fork of a process
 * with threads: they allocate nothing, take no lock and change no memory but
 * the stack and the arena. environ is never written to. A program executed by
 * an instruction of the caller's own isn't seen.
 */
#include "tracer/preload/hooks.h"

#include <alloca.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/hello.h"
#include "sys/program.h"
#include "tracer/leave.h"

/* glibc has an older one, for programs that relied on it to start scripts. */
#ifdef __x86_64__
#define SPAWN_VERSION "GLIBC_2.15"
#else
#define SPAWN_VERSION NULL
#endif

#define OURS    "libsonde-preload.so"
#define ENV_MAX 65536u /* entries that we copy to the stack */

/* What is to be executed, in any of the ways there are. */
struct request {
	int (*call)(const struct request *request, char *const *env);
	int dir;
	const char *path; /* as given; NULL: `dir` is the file */
	char *const *argv;
	int flags;
	/* posix_spawn's */
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
	bool spawns;
};

/* The value of a variable, or null. */
static const char *exec_value_of(char *const *env, const char *name)
{
	size_t length = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, length) && (*env)[length] == '=')
			return *env + length + 1;
	return NULL;
}

/* The part of a list that begins at `list`, without what separates it. */
static size_t part_length(const char *list)
{
	return strcspn(list, ": ");
}

static bool is_ours(const char *part, size_t length)
{
	const size_t own = sizeof(OURS) - 1;

	return length >= own && !memcmp(part + length - own, OURS, own);
}

static bool list_has_us(const char *list)
{
	while (list && *list) {
		size_t length = part_length(list);

		if (is_ours(list, length))
			return true;
		list += length;
		list += *list != '\0';
	}
	return false;
}

/* "LD_PRELOAD=..." with the other parts of `list`. */
static void write_others(char *entry, const char *list)
{
	char *to = stpcpy(entry, "LD_PRELOAD=");
	const char *start = to;

	while (*list) {
		size_t length = part_length(list);

		if (length && !is_ours(list, length)) {
			if (to != start)
				*to++ = ':';
			memcpy(to, list, length);
			to += length;
		}
		list += length;
		list += *list != '\0';
	}
	*to = '\0';
}

static enum sonde_leave_why why_of(enum sonde_program_kind kind)
{
	switch (kind) {
	case SONDE_PROGRAM_MACHINE:
		return SONDE_LEAVE_MACHINE;
	case SONDE_PROGRAM_LIBC:
		return SONDE_LEAVE_LIBC;
	case SONDE_PROGRAM_SANITIZER:
		return SONDE_LEAVE_SANITIZER;
	case SONDE_PROGRAM_UNKNOWN:
	case SONDE_PROGRAM_FINE:
	case SONDE_PROGRAM_STATIC:
		break;
	}
	return SONDE_LEAVE_NONE;
}

static size_t count(char *const *words)
{
	size_t nr = 0;

	while (words && words[nr])
		nr++;
	return nr;
}

/* The same environment with another LD_PRELOAD. */
static int call_without_us(const struct request *request, char *const *env,
			   const char *list)
{
	size_t nr = count(env);
	char *entry = alloca(sizeof("LD_PRELOAD=") + strlen(list));
	char **copy = alloca((nr + 1) * sizeof(*copy));
	size_t kept = 0;

	write_others(entry, list);
	for (size_t i = 0; i < nr; i++) {
		if (strncmp(env[i], "LD_PRELOAD=", 11) != 0)
			copy[kept++] = env[i];
		else if (entry[sizeof("LD_PRELOAD=") - 1])
			copy[kept++] = entry;
	}
	copy[kept] = NULL;
	return request->call(request, copy);
}

static struct sonde_leave *note(const struct request *request,
				enum sonde_leave_why why)
{
	uint32_t pid = request->spawns ? 0 : (uint32_t)getpid();

	if (why == SONDE_LEAVE_NONE)
		return NULL;
	return sonde_leave_note(
		pid, why, request->path ? request->path : request->argv[0]);
}

/* It has been tried: that of exec failed if we are still here. */
static void settle(const struct request *request, struct sonde_leave *leave,
		   int result)
{
	if (!leave)
		return;
	if (!request->spawns || result)
		sonde_leave_undo(leave);
	else
		sonde_store_relaxed(&leave->pid, (uint32_t)*request->pid);
}

/* Whoever searches the way along PATH gives where that leads as `found`. */
static int run(const struct request *request, const char *found,
	       char *const *env)
{
	const char *list = exec_value_of(env, "LD_PRELOAD");
	enum sonde_program_kind kind = SONDE_PROGRAM_UNKNOWN;
	enum sonde_leave_why why;
	struct sonde_leave *leave;
	int result;

	/* It isn't about us, or the program has seen to that. */
	if (!sonde_hook_groups)
		return request->call(request, env);
	if (!list_has_us(list) || !exec_value_of(env, SONDE_SESSION_ENV)) {
		leave = note(request, SONDE_LEAVE_ENVIRONMENT);
		result = request->call(request, env);
		settle(request, leave, result);
		return result;
	}
	kind = found ? sonde_program_look(request->dir, found) :
		       sonde_program_look_fd(request->dir);
	why = why_of(kind);
	leave = note(request, why);
	if (why == SONDE_LEAVE_NONE || count(env) > ENV_MAX)
		result = request->call(request, env);
	else
		result = call_without_us(request, env, list);
	settle(request, leave, result);
	return result;
}

/* ---- along PATH ---- */

/* Where `name` leads, as the C library finds it: in `room`, or itself. */
static const char *exec_search(const char *name, char room[PATH_MAX])
{
	const char *path = exec_value_of(environ, "PATH");

	if (strchr(name, '/'))
		return name;
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t length = strcspn(path, ":");

		if (length + strlen(name) + 2 < PATH_MAX) {
			memcpy(room, path, length);
			room[length] = '/';
			memcpy(room + length + (length != 0), name,
			       strlen(name) + 1);
			if (!access(room, X_OK))
				return room;
		}
		if (!path[length])
			return name;
		path += length + 1;
	}
}

/* ---- exec ---- */

static int call_execve(const struct request *r, char *const *env)
{
	return SONDE_HOOK_BEHIND(execve, NULL)(r->path, r->argv, env);
}

static int call_execvpe(const struct request *r, char *const *env)
{
	return SONDE_HOOK_BEHIND(execvpe, NULL)(r->path, r->argv, env);
}

static int call_execveat(const struct request *r, char *const *env)
{
	return SONDE_HOOK_BEHIND(execveat, NULL)(r->dir, r->path, r->argv, env,
						 r->flags);
}

static int call_fexecve(const struct request *r, char *const *env)
{
	return SONDE_HOOK_BEHIND(fexecve, NULL)(r->dir, r->argv, env);
}

SONDE_EXPORT int execve(const char *path, char *const argv[],
			char *const envp[])
{
	struct request request = {
		.call = call_execve, .dir = AT_FDCWD, .path = path, .argv = argv
	};

	return run(&request, path, envp);
}

SONDE_EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

SONDE_EXPORT int execvpe(const char *file, char *const argv[],
			 char *const envp[])
{
	struct request request = { .call = call_execvpe,
				   .dir = AT_FDCWD,
				   .path = file,
				   .argv = argv };
	char room[PATH_MAX];

	return run(&request, exec_search(file, room), envp);
}

SONDE_EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

SONDE_EXPORT int execveat(int dir, const char *path, char *const argv[],
			  char *const envp[], int flags)
{
	struct request request = { .call = call_execveat,
				   .dir = dir,
				   .path = path,
				   .argv = argv,
				   .flags = flags };

	return run(&request, *path ? path : NULL, envp);
}

SONDE_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct request request = { .call = call_fexecve,
				   .dir = fd,
				   .argv = argv };

	return run(&request, NULL, envp);
}

/* How many words execl() and its like have, `first` among them. `list` begins
 * after that, and is read up to the null. */
static size_t list_length(va_list *list)
{
	size_t nr = 1;

	while (va_arg(*list, const char *))
		nr++;
	return nr;
}

static void take_words(const char **words, size_t nr, const char *first,
		       va_list *list)
{
	words[0] = first;
	for (size_t i = 1; i <= nr; i++) /* and the null */
		words[i] = va_arg(*list, const char *);
}

/* In the caller's frame, as the words must live until the program runs. */
#define LIST_WORDS(first, list, words)                                   \
	do {                                                             \
		size_t nr_words;                                         \
                                                                         \
		va_start(list, first);                                   \
		nr_words = list_length(&(list));                         \
		va_end(list);                                            \
		(words) = alloca((nr_words + 1) * sizeof(const char *)); \
		va_start(list, first);                                   \
		take_words(words, nr_words, first, &(list));             \
	} while (0)

SONDE_EXPORT int execl(const char *path, const char *first, ...)
{
	const char **words;
	va_list list;

	LIST_WORDS(first, list, words);
	va_end(list);
	return execve(path, (char *const *)(void *)words, environ);
}

SONDE_EXPORT int execlp(const char *file, const char *first, ...)
{
	const char **words;
	va_list list;

	LIST_WORDS(first, list, words);
	va_end(list);
	return execvpe(file, (char *const *)(void *)words, environ);
}

SONDE_EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *env;
	const char **words;
	va_list list;

	LIST_WORDS(first, list, words);
	env = va_arg(list, char *const *);
	va_end(list);
	return execve(path, (char *const *)(void *)words, env);
}

/* ---- posix_spawn ---- */

static int call_spawn(const struct request *r, char *const *env)
{
	return SONDE_HOOK_BEHIND(posix_spawn, SPAWN_VERSION)(
		r->pid, r->path, r->actions, r->attributes, r->argv, env);
}

static int call_spawnp(const struct request *r, char *const *env)
{
	return SONDE_HOOK_BEHIND(posix_spawnp, SPAWN_VERSION)(
		r->pid, r->path, r->actions, r->attributes, r->argv, env);
}

SONDE_EXPORT int posix_spawn(pid_t *pid, const char *path,
			     const posix_spawn_file_actions_t *actions,
			     const posix_spawnattr_t *attributes,
			     char *const argv[], char *const envp[])
{
	pid_t own;
	struct request request = { .call = call_spawn,
				   .dir = AT_FDCWD,
				   .path = path,
				   .argv = argv,
				   .pid = pid ? pid : &own,
				   .actions = actions,
				   .attributes = attributes,
				   .spawns = true };

	return run(&request, path, envp);
}

SONDE_EXPORT int posix_spawnp(pid_t *pid, const char *file,
			      const posix_spawn_file_actions_t *actions,
			      const posix_spawnattr_t *attributes,
			      char *const argv[], char *const envp[])
{
	pid_t own;
	struct request request = { .call = call_spawnp,
				   .dir = AT_FDCWD,
				   .path = file,
				   .argv = argv,
				   .pid = pid ? pid : &own,
				   .actions = actions,
				   .attributes = attributes,
				   .spawns = true };
	char room[PATH_MAX];

	return run(&request, exec_search(file, room), envp);
}
