/* SPDX-License-Identifier: MIT */
/*
 * control.c - <sonde/control.h>: what a session's recorder is asked, and its
 * answers as structures. What makes a process is left to `sonde`: starting a
 * session, and going on with one whose recorder was killed.
 */
#include <sonde/control.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session/named.h"
#include "session/protocol.h"
#include "session/rules.h"
#include "sys/proc_start.h"

#define WORDS_MAX 512

__attribute__((format(printf, 3, 4))) static int
tell(struct sonde_control_error *error, int rc, const char *format, ...)
{
	va_list args;

	if (!error)
		return rc;
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return rc;
}

/* ---- the program `sonde` ---- */

/* What it says on standard error, up to a size; the rest is read as well. */
static void read_complaint(int fd, char *to, size_t size)
{
	char rest[512];
	size_t used = 0;
	ssize_t n;

	while ((n = used < size - 1 ? read(fd, to + used, size - 1 - used) :
				      read(fd, rest, sizeof(rest))) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && used < size - 1)
			used += (size_t)n;
	}
	to[used] = '\0';
	to[strcspn(to, "\n")] = '\0';
}

/* Its exit status, or -errno if it can't be run. */
static int run_sonde(const char *const *argv, char *words, size_t size)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int ends[2];
	pid_t pid = 0;
	int rc;

	*words = '\0';
	if (null < 0 || pipe2(ends, O_CLOEXEC)) {
		rc = -errno;
	} else {
		rc = sonde_proc_start_plain(
			argv[0], argv, environ,
			(const int[]){ null, ends[1], ends[1] }, &pid);
		(void)close(ends[1]); /* nothing was written */
		if (!rc)
			read_complaint(ends[0], words, size);
		(void)close(ends[0]);
	}
	if (null >= 0)
		(void)close(null);
	return rc ? rc : sonde_proc_wait(pid);
}

int sonde_control_start(const char *name, const char *const *options,
			struct sonde_control_error *error)
{
	const char *argv[WORDS_MAX + 5] = { "sonde", "start", name };
	struct sonde_control_session status;
	char words[1000];
	size_t nr = 3;
	int rc;

	if (!sonde_control_status(name, &status, NULL))
		return tell(error, -EEXIST,
			    "there is a session '%.60s' already", name);
	while (*options && nr < WORDS_MAX)
		argv[nr++] = *options++;
	if (*options)
		return tell(error, -E2BIG, "more than %d options", WORDS_MAX);
	argv[nr++] = "--quiet";
	rc = run_sonde(argv, words, sizeof(words));
	if (rc < 0)
		return tell(error, rc,
			    "sonde can't be run (%s): it must be in "
			    "PATH",
			    strerrordesc_np(-rc));
	return rc ? tell(error, -EINVAL, "%s", words) : 0;
}

/* ---- asking ---- */

static int check_name(const char *name, struct sonde_control_error *error)
{
	if (sonde_session_is_name(name))
		return 0;
	return tell(error, -EINVAL,
		    "'%.60s' is no name of a session: use up to %u letters, "
		    "digits, '.', '_' and '-'",
		    name, SONDE_NAMED_CHARS);
}

static int complain(const char *name, int rc, struct sonde_control_error *error)
{
	return tell(error, rc,
		    rc == -ENOENT ? "there is no session '%s'" :
				    "session '%s': %s",
		    name, strerrordesc_np(-rc));
}

/* Asks, and lets `sonde` see to one whose recorder was killed. -ESRCH: it has
 * none, and *ret_document is what its file says. */
static int ask(const char *name, const struct sonde_session_ask *what,
	       struct sonde_session_document **ret_document)
{
	const char *const argv[] = { "sonde", "status", name, NULL };
	struct sonde_session_document *answer;
	struct sonde_rundir home;
	char words[200];
	int rc = sonde_rundir_open(&home);

	*ret_document = NULL;
	if (rc)
		return rc;
	rc = sonde_session_ask_recorder(&home, name, what, ret_document);
	if (rc == -ENOENT || rc == -ECONNREFUSED || rc == -EPIPE) {
		rc = sonde_session_read_document(&home, name, ret_document);
		rc = rc ? rc : -ESRCH;
		if (rc == -ESRCH &&
		    sonde_session_is(*ret_document, "recording") &&
		    !run_sonde(argv, words, sizeof(words)) &&
		    !sonde_session_ask_recorder(&home, name, what, &answer)) {
			sonde_session_document_free(*ret_document);
			*ret_document = answer;
			rc = 0;
		}
	}
	sonde_rundir_close(&home);
	return rc;
}

static void copy_events(const struct sonde_session_document *document,
			struct sonde_control_events *ret_events)
{
	*ret_events = (struct sonde_control_events){
		.emitted = sonde_session_document_number(document,
							 "events.emitted"),
		.recorded = sonde_session_document_number(document,
							  "events.recorded"),
		.held = sonde_session_document_number(document, "events.held"),
		.discarded = sonde_session_document_number(document,
							   "events.discarded"),
		.overwritten = sonde_session_document_number(
			document, "events.overwritten"),
		.lost_disk = sonde_session_document_number(document,
							   "events.lost_disk"),
		.cleared = sonde_session_document_number(document,
							 "events.cleared"),
	};
}

/* `lives`: it is what a recorder said. */
static void copy_status(const struct sonde_session_document *document,
			bool lives, struct sonde_control_session *ret_status)
{
	const char *directory =
		sonde_session_document_text(document, "directory");
	bool is_stopped = sonde_session_is(document, "stopped");

	*ret_status = (struct sonde_control_session){
		.state = is_stopped ? SONDE_CONTROL_STOPPED :
			 lives      ? SONDE_CONTROL_RECORDING :
				      SONDE_CONTROL_DIED,
		.pid = (int32_t)sonde_session_document_number(document, "pid"),
		.nr_processes = (uint32_t)sonde_session_document_number(
			document, "nr_processes"),
		.nr_snapshots = (uint32_t)sonde_session_document_number(
			document, "nr_snapshots"),
	};
	copy_events(document, &ret_status->events);
	(void)snprintf(ret_status->directory, sizeof(ret_status->directory),
		       "%s", directory ? directory : "");
}

/* The answer may say no. */
static int check_answer(const char *name,
			const struct sonde_session_document *document,
			struct sonde_control_error *error)
{
	const char *why = sonde_session_document_text(document, "error");

	if (sonde_session_document_is_true(document, "ok"))
		return 0;
	return tell(error, -EINVAL, "session '%s': %.900s", name,
		    why ? why : "it gives no answer");
}

int sonde_control_status(const char *name,
			 struct sonde_control_session *ret_status,
			 struct sonde_control_error *error)
{
	const struct sonde_session_ask what = { .what = SONDE_ASK_STATUS };
	struct sonde_session_document *document;
	int rc = check_name(name, error);

	if (rc)
		return rc;
	rc = ask(name, &what, &document);
	if (rc && rc != -ESRCH)
		return complain(name, rc, error);
	copy_status(document, !rc, ret_status);
	sonde_session_document_free(document);
	return 0;
}

/* One that must have a recorder. */
static int demand(const char *name, const struct sonde_session_ask *what,
		  struct sonde_session_document **ret_answer,
		  struct sonde_control_error *error)
{
	int rc = check_name(name, error);

	if (rc)
		return rc;
	rc = ask(name, what, ret_answer);
	if (rc == -ESRCH) {
		rc = tell(error, rc, "session '%s' %s", name,
			  sonde_session_is(*ret_answer, "stopped") ?
				  "is stopped" :
				  "has no recorder: it was killed");
		sonde_session_document_free(*ret_answer);
		return rc;
	}
	if (rc)
		return complain(name, rc, error);
	rc = check_answer(name, *ret_answer, error);
	if (rc)
		sonde_session_document_free(*ret_answer);
	return rc;
}

/* From the root on; the directory may not be there yet. */
static int make_absolute(const char *path, char *out, size_t size)
{
	char cwd[PATH_MAX] = "";
	int n;

	if (*path != '/' && !getcwd(cwd, sizeof(cwd)))
		return -errno;
	n = snprintf(out, size, "%s%s%s", cwd, *cwd ? "/" : "", path);
	return n < (int)size ? 0 : -ENAMETOOLONG;
}

int sonde_control_snapshot(const char *name, const char *directory,
			   struct sonde_control_events *ret_events,
			   struct sonde_control_error *error)
{
	struct sonde_session_ask what = { .what = SONDE_ASK_SNAPSHOT };
	struct sonde_session_document *answer;
	int rc = make_absolute(directory, what.directory,
			       sizeof(what.directory));

	if (rc)
		return tell(error, rc, "%.300s: %s", directory,
			    strerrordesc_np(-rc));
	rc = demand(name, &what, &answer, error);
	if (rc)
		return rc;
	if (ret_events)
		copy_events(answer, ret_events);
	sonde_session_document_free(answer);
	return 0;
}

int sonde_control_rotate(const char *name,
			 struct sonde_control_chunk *ret_chunk,
			 struct sonde_control_error *error)
{
	const struct sonde_session_ask what = { .what = SONDE_ASK_ROTATE };
	struct sonde_session_document *answer;
	const char *directory;
	int rc = demand(name, &what, &answer, error);

	if (rc)
		return rc;
	directory = sonde_session_document_text(answer, "directory");
	if (ret_chunk) {
		*ret_chunk = (struct sonde_control_chunk){
			.recorded = sonde_session_document_number(answer,
								  "recorded"),
			.bytes = sonde_session_document_number(answer, "bytes"),
		};
		(void)snprintf(ret_chunk->directory,
			       sizeof(ret_chunk->directory), "%s",
			       directory ? directory : "");
	}
	sonde_session_document_free(answer);
	return 0;
}

static int copy_rules(const struct sonde_control_wish *change,
		      struct sonde_session_wish *wish,
		      struct sonde_control_error *error)
{
	char why[300];
	int rc = 0;

	wish->rules_size = change->rules ? 1 : 0;
	for (const char *const *rule = change->rules; !rc && rule && *rule;
	     rule++) {
		if (**rule != '+' && **rule != '-')
			return tell(error, -EINVAL,
				    "the rule '%.60s' begins neither with '+' "
				    "nor '-'",
				    *rule);
		rc = sonde_session_rules_add(wish->rules, &wish->rules_size,
					     **rule, *rule + 1, why,
					     sizeof(why));
	}
	return rc ? tell(error, rc, "%s", why) : 0;
}

int sonde_control_change(const char *name,
			 const struct sonde_control_wish *change,
			 struct sonde_control_error *error)
{
	struct sonde_session_ask what = {
		.what = SONDE_ASK_CHANGE,
		.wish = { .memory_bytes = change->memory_bytes,
			  .has_loglevel = change->has_loglevel,
			  .loglevel = change->loglevel },
	};
	struct sonde_session_document *answer;
	int rc = copy_rules(change, &what.wish, error);

	if (!rc)
		rc = demand(name, &what, &answer, error);
	if (!rc)
		sonde_session_document_free(answer);
	return rc;
}

int sonde_control_clear(const char *name, struct sonde_control_error *error)
{
	const struct sonde_session_ask what = { .what = SONDE_ASK_CLEAR };
	struct sonde_session_document *answer;
	int rc = demand(name, &what, &answer, error);

	if (!rc)
		sonde_session_document_free(answer);
	return rc;
}

int sonde_control_stop(const char *name,
		       struct sonde_control_session *ret_status,
		       struct sonde_control_error *error)
{
	const struct sonde_session_ask what = { .what = SONDE_ASK_STOP };
	struct sonde_session_document *answer;
	int rc = demand(name, &what, &answer, error);

	if (rc)
		return rc;
	if (ret_status)
		copy_status(answer, true, ret_status);
	sonde_session_document_free(answer);
	return 0;
}

int sonde_control_destroy(const char *name, struct sonde_control_error *error)
{
	const struct sonde_session_ask what = { .what = SONDE_ASK_DESTROY };
	struct sonde_session_document *answer;
	struct sonde_rundir home;
	int rc = check_name(name, error);

	if (rc)
		return rc;
	rc = ask(name, &what, &answer);
	if (rc && rc != -ESRCH)
		return complain(name, rc, error);
	if (!rc) {
		rc = check_answer(name, answer, error);
	} else if (!sonde_rundir_open(&home)) {
		/* It has ended, and is forgotten by that. */
		sonde_session_remove_file(&home, name);
		sonde_rundir_clean(&home);
		sonde_rundir_close(&home);
		rc = 0;
	}
	sonde_session_document_free(answer);
	return rc;
}
