/* SPDX-License-Identifier: MIT */
/*
 * recorder_asks.c - see recorder_parts.h: other machines are asked for a snapshot
 * when something happens here (--do snapshot@HOSTS).
 *
 * A process of this program says it, `sonde snapshot NAME --hosts HOSTS`, and waits
 * for their answers, for the recorder waits for nobody and speaks with no server. It
 * is one of the commands that triggers have (recorder_triggers.c), so there is one
 * at a time for each. Its table goes into a file beside the trace, and when it
 * has ended, what it said on standard error and that not all machines have done it
 * become a note.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/proc_start.h"

#define NAME_CHARS 64
#define NR_TRIES   1000u
#define NR_WORDS   14
#define SAID_SIZE  400u

/* A new file by the first number that is free: its descriptor, or -errno. */
static int asks_open(const struct sonde_recorder *r,
		     const struct sonde_recorder_fired *fired,
		     char path[PATH_MAX])
{
	int fd = -1;
	int size;

	errno = EEXIST;
	for (uint32_t i = 1; fd < 0 && errno == EEXIST && i <= NR_TRIES; i++) {
		size = snprintf(path, PATH_MAX, "%s-%.*s-%u.hosts.json",
				r->config->directory, NAME_CHARS, fired->name,
				i);
		if (size < 0 || size >= PATH_MAX)
			return -ENAMETOOLONG;
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	return fd < 0 ? -errno : fd;
}

static int asks_spawn(const struct sonde_recorder *r,
		      const struct sonde_session_trigger *trigger,
		      const int fds[3], pid_t *ret_pid)
{
	const struct sonde_session_config *config = r->config->session;
	struct utsname system;
	const char *words[NR_WORDS] = {
		"sonde",   "snapshot",
		"--hosts", trigger->hosts,
		"--from",  config->ask_at,
		"--by",    config->ask_as ? config->ask_as : system.nodename,
		"--json",
	};
	size_t nr = 9;

	if (uname(&system))
		return -errno;
	if (config->ask_last) {
		words[nr++] = "--last";
		words[nr++] = config->ask_last;
	}
	words[nr++] = "--";
	words[nr++] = r->config->named->name;
	return sonde_proc_start_plain("/proc/self/exe", words, environ, fds,
				      ret_pid);
}

int sonde_recorder_ask(struct sonde_recorder *r,
		       struct sonde_recorder_fate *fate,
		       struct sonde_recorder_fired *fired)
{
	int fds[3] = { open("/dev/null", O_RDONLY | O_CLOEXEC),
		       asks_open(r, fired, fired->answers),
		       memfd_create("sonde-words", MFD_CLOEXEC) };
	int rc = fds[1] < 0 ? fds[1] : fds[0] < 0 || fds[2] < 0 ? -EMFILE : 0;

	if (!rc)
		rc = asks_spawn(r, fate->trigger, fds, &fate->command);
	if (rc && fds[1] >= 0)
		(void)unlink(fired->answers);
	free(fate->answers);
	fate->answers = rc ? NULL : strdup(fired->answers);
	fate->words_fd = rc ? -1 : fds[2];
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0 && (rc || i < 2))
			(void)close(fds[i]);
	if (!rc)
		return 0;
	sonde_summary_note(&r->summary, "asking %.100s for snapshots: %s",
			   fate->trigger->hosts, strerrordesc_np(-rc));
	*fired->answers = '\0';
	return rc;
}

/* A file with nothing in it is none. */
static void asks_drop_empty(struct sonde_recorder_fate *fate)
{
	struct stat st;

	if (!fate->answers || stat(fate->answers, &st) || st.st_size)
		return;
	(void)unlink(fate->answers);
	free(fate->answers);
	fate->answers = NULL;
}

void sonde_recorder_heed_asked(struct sonde_recorder *r,
			       struct sonde_recorder_fate *fate, int status)
{
	char said[SAID_SIZE];
	ssize_t n = pread(fate->words_fd, said, sizeof(said) - 1, 0);

	said[n > 0 ? n : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	(void)close(fate->words_fd);
	fate->words_fd = -1;
	asks_drop_empty(fate);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	fate->failed++;
	if (!fate->answers)
		sonde_summary_note(&r->summary,
				   "%.100s weren't asked for a snapshot: %s",
				   fate->trigger->hosts, said);
	else
		sonde_summary_note(&r->summary,
				   "not all of %.100s made a snapshot: %s%s%s",
				   fate->trigger->hosts, said,
				   *said ? "; see " : "see ", fate->answers);
}
