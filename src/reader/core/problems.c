/* SPDX-License-Identifier: MIT */
/*
 * problems.c - what is wrong with a trace, once each.
 *
 * Several cursors read the same packet, so each reports the same damage. Two
 * problems are the same if kind, stream and packet are, and of metadata if the
 * words are; the larger count stays, because a cursor that saw more of a packet knows more. Problems are
 * few: a list that is searched from its end, for what is reported twice is
 * mostly reported in a row. A trace that is nothing but damage can't fill the
 * memory: the last place of the list counts what is beyond it.
 *
 * A problem's words say what is wrong, without file, packet and byte: the
 * problem has those. The list is locked; texts never move.
 */
#include "reader/core/problems.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define PROBLEMS_MAX 10000

struct sonde_problems {
	pthread_mutex_t mutex;
	struct sonde_pool texts;
	struct sonde_problem *at; /* malloc */
	size_t nr, capacity;
};

struct sonde_problems *sonde_problems_new(void)
{
	struct sonde_problems *problems = calloc(1, sizeof(*problems));

	if (!problems)
		return NULL;
	if (pthread_mutex_init(&problems->mutex, NULL) != 0) {
		free(problems);
		return NULL;
	}
	sonde_pool_init(&problems->texts, 0);
	return problems;
}

void sonde_problems_free(struct sonde_problems *problems)
{
	if (!problems)
		return;
	(void)pthread_mutex_destroy(&problems->mutex);
	sonde_pool_fini(&problems->texts);
	free(problems->at);
	free(problems);
}

static struct sonde_problem *find(const struct sonde_problems *problems,
				  const struct sonde_problem *problem)
{
	for (size_t i = problems->nr; i-- > 0;) {
		struct sonde_problem *other = &problems->at[i];

		if (other->kind == problem->kind &&
		    other->stream == problem->stream &&
		    other->packet == problem->packet &&
		    (other->kind != SONDE_PROBLEM_METADATA ||
		     strcmp(other->text, problem->text) == 0))
			return other;
	}
	return NULL;
}

static void add(struct sonde_problems *problems,
		const struct sonde_problem *problem)
{
	struct sonde_problem *place = find(problems, problem);

	if (place) {
		if (place->count < problem->count)
			place->count = problem->count;
		return;
	}
	if (problems->nr == PROBLEMS_MAX) {
		problems->at[PROBLEMS_MAX - 1].count++;
		return;
	}
	if (SONDE_GROW(problems->at, problems->nr, problems->capacity))
		return;
	place = &problems->at[problems->nr++];
	*place = (struct sonde_problem){
		.kind = SONDE_PROBLEM_FORMAT,
		.begin = SONDE_TIME_MIN,
		.end = SONDE_TIME_MAX,
		.count = 1,
		.text = "more problems than can be listed",
	};
	if (problems->nr == PROBLEMS_MAX)
		return;
	*place = *problem;
	place->text = sonde_pool_text(&problems->texts, problem->text,
				      strlen(problem->text));
	if (!place->text)
		place->text = "";
}

void sonde_problem_add(struct sonde_trace *trace,
		       const struct sonde_problem *problem)
{
	struct sonde_problems *problems = trace->problems;

	(void)pthread_mutex_lock(&problems->mutex);
	add(problems, problem);
	(void)pthread_mutex_unlock(&problems->mutex);
}

void sonde_problem_say(struct sonde_trace *trace,
		       const struct sonde_problem *problem, const char *format,
		       ...)
{
	struct sonde_problem said = *problem;
	char text[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	said.text = text;
	sonde_problem_add(trace, &said);
}

int sonde_trace_problem(const struct sonde_trace *trace, size_t i,
			struct sonde_problem *ret_problem)
{
	struct sonde_problems *problems = trace->problems;
	int err = 0;

	(void)pthread_mutex_lock(&problems->mutex);
	if (i < problems->nr)
		*ret_problem = problems->at[i];
	else
		err = -ERANGE;
	(void)pthread_mutex_unlock(&problems->mutex);
	return err;
}
