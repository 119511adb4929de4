/* SPDX-License-Identifier: MIT */
/*
 * latency_record.c - a measurement that is recorded (latency_record.h).
 *
 * The child is the front end of the recording; it gets Ctrl-C as we do, which is for
 * its program, so we wait for it as system(3) does. If we end before it, it
 * removes what it has made.
 */
#include "cmd/latency_record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define MEMORY_FOLDER  "/dev/shm"
#define SIGNALLED_BASE 128

/* ---- before the first ---- */

static int recording_of(struct latency_recording *recording,
			char *const *record, char **measure)
{
	static char name[] = "record";
	static char quiet[] = "-q";
	static char program[] = "--";
	char *argv[LATENCY_WORDS + 8] = { name, quiet };
	char error[512];
	int argc = 2;

	while (*record && argc < (int)LATENCY_WORDS)
		argv[argc++] = *record++;
	if (*record) {
		sonde_complain("latency: more than %u words for sonde record",
			       LATENCY_WORDS - 2);
		return SONDE_EXIT_USAGE;
	}
	argv[argc++] = program;
	argv[argc++] = recording->self;
	if (sonde_record_options_parse(argc, argv, &recording->options, error,
				       sizeof(error))) {
		sonde_complain("latency: %s", error);
		return SONDE_EXIT_USAGE;
	}
	if (recording->options.help || recording->options.session.attaches ||
	    recording->options.program[0] != recording->self) {
		sonde_complain("latency: behind -- come options of sonde "
			       "record, and no program: what is recorded is "
			       "the measurement");
		return SONDE_EXIT_USAGE;
	}
	measure[0] = recording->self;
	recording->options.program = measure;
	return 0;
}

/* Keeps the recorder off the CPUs that are measured, if there are others, and the
 * user has not chosen. */
static void recording_keep_off(struct latency_recording *recording,
			       const struct sonde_latency_config *config)
{
	uint64_t *to = recording->options.session.recorder_cpus;
	uint32_t own[SONDE_LATENCY_CPUS];
	uint32_t nr = sonde_latency_own_cpus(own);

	for (uint32_t i = 0; i < SONDE_RECORDER_CPUS / 64; i++)
		if (to[i])
			return;
	for (uint32_t i = 0; i < nr; i++)
		if (!sonde_latency_has_cpu(config, own[i]))
			to[own[i] / 64] |= 1ull << own[i] % 64;
}

/* In memory, if there is a folder for that. */
static void recording_choose_place(struct latency_recording *recording)
{
	if (recording->options.output)
		return;
	sonde_command_scratch_name(
		"latency", access(MEMORY_FOLDER, W_OK) ? "/tmp" : MEMORY_FOLDER,
		recording->chosen);
	recording->options.output = recording->chosen;
}

int latency_recording_begin(struct latency_recording *recording,
			    const struct sonde_latency_config *config,
			    char *const *record, char **measure)
{
	ssize_t n = readlink("/proc/self/exe", recording->self,
			     sizeof(recording->self) - 1);
	int status;

	recording->self[n > 0 ? n : 0] = '\0';
	recording->place = (struct sonde_directory)SONDE_DIRECTORY_NONE;
	status = recording_of(recording, record, measure);
	if (status)
		return status;
	recording_keep_off(recording, config);
	recording_choose_place(recording);
	recording->options.session.is_scratch = true;
	status = sonde_command_prepare_recording(&recording->options,
						 &recording->start);
	if (status)
		return status;
	recording->result =
		mmap(NULL, sizeof(*recording->result), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (recording->result != MAP_FAILED)
		return 0;
	recording->result = NULL;
	sonde_complain("latency: no memory left");
	return SONDE_EXIT_FAILED;
}

void latency_recording_end(struct latency_recording *recording)
{
	latency_recording_clear(recording);
	if (recording->result)
		(void)munmap(recording->result, sizeof(*recording->result));
	recording->result = NULL;
}

/* ---- one ---- */

/* In the child: an exit status. */
static int recording_frontend(struct latency_recording *recording,
			      int output_fd, pid_t parent)
{
	int rc;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* it can't fail */
	(void)fflush(stdout);
	if (output_fd != STDOUT_FILENO && dup2(output_fd, STDOUT_FILENO) < 0)
		return SONDE_EXIT_FAILED;
	rc = sonde_frontend_run(&recording->start.config, recording->result);
	if (getppid() != parent)
		sonde_directory_remove(&recording->place);
	return rc ? sonde_command_explain_failure(recording->result, rc) : 0;
}

/* What wait() says of the child; our Ctrl-C is its program's meanwhile. */
static int recording_wait(struct latency_recording *recording, int output_fd)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction interrupt;
	struct sigaction quit;
	pid_t parent = getpid();
	int status = -1;
	pid_t child;

	(void)sigaction(SIGINT, &ignore, &interrupt); /* they are valid */
	(void)sigaction(SIGQUIT, &ignore, &quit);
	child = fork();
	if (!child) {
		(void)sigaction(SIGINT, &interrupt, NULL);
		(void)sigaction(SIGQUIT, &quit, NULL);
		_exit(recording_frontend(recording, output_fd, parent));
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)sigaction(SIGQUIT, &quit, NULL);
	return status;
}

/* Whether it is a recording of a whole measurement. */
static int recording_judge(const struct latency_recording *recording)
{
	const struct sonde_frontend_result *result = recording->result;
	int status = sonde_command_exit_status(&recording->options, result);

	if (status)
		return status;
	if (!result->have_summary)
		sonde_complain("latency: the recorder was killed");
	else if (result->summary.ended != SONDE_ENDED_ASKED)
		sonde_complain("latency: the recording ended before the "
			       "measurement; leave --duration and --until of "
			       "sonde record out");
	else if (!result->summary.nr_processes)
		sonde_complain("latency: the measurement was not recorded: %s",
			       result->summary.nr_notes ?
				       result->summary.notes[0] :
				       "nothing says why");
	else
		return 0;
	return SONDE_EXIT_FAILED;
}

int latency_recording_run(struct latency_recording *recording, int output_fd)
{
	int status = sonde_command_make_directory(recording->options.output,
						  recording->directory,
						  sizeof(recording->directory),
						  &recording->place);

	if (status)
		return SONDE_EXIT_FAILED;
	recording->start.config.directory = recording->directory;
	recording->start.config.place = &recording->place;
	memset(recording->result, 0, sizeof(*recording->result));
	status = recording_wait(recording, output_fd);
	if (WIFSIGNALED(status))
		status = SIGNALLED_BASE + WTERMSIG(status);
	else
		status = WEXITSTATUS(status);
	if (!status)
		status = recording_judge(recording);
	if (status)
		latency_recording_clear(recording);
	return status;
}

void latency_recording_clear(struct latency_recording *recording)
{
	if (recording->place.dir >= 0)
		sonde_directory_remove(&recording->place);
	recording->place = (struct sonde_directory)SONDE_DIRECTORY_NONE;
}
