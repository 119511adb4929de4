/* SPDX-License-Identifier: MIT */
/*
 * latency_explain.c - `sonde latency -k`: a measurement that is recorded together
 * with the kernel's events, and `sonde report latency --explain` of what took
 * longer than the threshold.
 *
 * As text, the one comes below the other. As JSON they are two members of one
 * object.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde/trace.h>

#include "base/json.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/latency.h"
#include "cmd/latency_record.h"

#define WORD_MAX 4096

/* "--NAME=VALUE" of those that are given. */
struct explained_words {
	char *words[16]; /* the first is the recording's */
	size_t nr;
	char text[8][WORD_MAX];
	size_t nr_text;
};

static void explained_add(struct explained_words *to, const char *name,
			  const char *value)
{
	char *text = to->text[to->nr_text];

	if (!value)
		return;
	(void)snprintf(text, WORD_MAX, "%s=%s", name, value);
	to->words[to->nr++] = text;
	to->nr_text++;
}

/* What is measured, once more. A tick a second is all that comes besides what
 * was longer. */
static void explained_measure(struct explained_words *to,
			      const struct latency_words *words,
			      const char *kind)
{
	static char latency[] = "latency";
	static char event[] = "--event";
	static char json[] = "--json";
	static char kind_word[16];

	(void)snprintf(kind_word, sizeof(kind_word), "%s", kind);
	to->nr = 1;
	to->words[to->nr++] = latency;
	to->words[to->nr++] = kind_word;
	to->words[to->nr++] = event;
	explained_add(to, "--rate", strcmp(kind, "loop") != 0 ? NULL : "1");
	explained_add(to, "--cpu", words->cpus);
	explained_add(to, "--duration", words->duration);
	explained_add(to, "--warm-up", words->warm_up);
	explained_add(to, "--interval", words->interval);
	explained_add(to, "--priority", words->priority);
	explained_add(to, "--threshold", words->threshold);
	explained_add(to, "--svg", words->svg);
	if (words->json)
		to->words[to->nr++] = json;
	to->words[to->nr] = NULL;
}

/* Whether anything took longer: a trace describes only events that came. Of one
 * that can't be opened the report says why. */
static bool explained_any_over(const char *directory)
{
	struct sonde_event_class_info info;
	struct sonde_trace_error error;
	struct sonde_trace *trace;
	bool is_any = false;

	if (sonde_trace_open(&directory, 1, &error, &trace))
		return true;
	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		is_any = is_any || !strcmp(info.name, "latency:over");
	}
	sonde_trace_close(trace);
	return is_any;
}

static int explained_report(char *directory, const struct latency_words *words)
{
	char threshold[64];
	char *argv[] = {
		(char[]){ "report" },
		(char[]){ "latency" },
		(char[]){ "--explain" },
		(char[]){ "--end" },
		(char[]){ "event == \"latency:over\"" },
		(char[]){ "--value" },
		(char[]){ "ns" },
		(char[]){ "--threshold" },
		threshold,
		directory,
		words->json ? (char[]){ "--json" } : NULL,
		NULL,
	};
	int argc = SONDE_ARRAY_SIZE(argv) - 1 - !words->json;

	if (!explained_any_over(directory)) {
		if (words->json)
			(void)fputs("null", stdout);
		else
			(void)printf("Nothing took longer than %s.\n",
				     words->threshold);
		return 0;
	}
	(void)snprintf(threshold, sizeof(threshold), "%s", words->threshold);
	optind = 0;
	return sonde_command_report.run(argc, argv);
}

/* What the measurement has said; it ends with a new line. */
static int explained_copy(int fd)
{
	char bytes[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		if (fwrite(bytes, 1, (size_t)n, stdout) != (size_t)n)
			return -EIO;
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static int explained_json(struct latency_recording *recording, int fd,
			  const struct latency_words *words)
{
	struct sonde_json json = sonde_json_to_file(stdout);
	int status = SONDE_EXIT_FAILED;

	sonde_json_open(&json, NULL, '{');
	sonde_json_name(&json, "measured");
	if (!explained_copy(fd)) {
		sonde_json_name(&json, "explained");
		status = explained_report(recording->directory, words);
		sonde_json_close(&json, '}');
		(void)putchar('\n');
	}
	if (!fflush(stdout))
		return status;
	sonde_complain("latency: %s", strerrordesc_np(errno));
	return SONDE_EXIT_FAILED;
}

/* Recorded: both are shown. */
static int explained_run(struct latency_recording *recording,
			 const struct latency_words *words)
{
	int fd = words->json ? memfd_create("sonde-latency", MFD_CLOEXEC) :
			       STDOUT_FILENO;
	int status = latency_recording_run(recording, fd);

	if (!status && words->json) {
		status = explained_json(recording, fd, words);
	} else if (!status) {
		(void)putchar('\n');
		status = explained_report(recording->directory, words);
	}
	if (words->json)
		(void)close(fd); /* nothing was written by us */
	return status;
}

int latency_explain(const struct sonde_latency_config *config,
		    const struct latency_words *words, const char *kind)
{
	static struct latency_recording recording;
	static struct explained_words measure;
	char rules[WORD_MAX];
	char *record[] = {
		(char[]){ "-a" },
		(char[]){ "-e" },
		(char[]){ "latency:over" },
		(char[]){ "-k" },
		rules,
		NULL,
	};
	int status;

	(void)snprintf(rules, sizeof(rules), "%s", words->kernel);
	explained_measure(&measure, words, kind);
	status = latency_recording_begin(&recording, config, record,
					 measure.words);
	if (!status)
		status = explained_run(&recording, words);
	latency_recording_end(&recording);
	return status;
}
