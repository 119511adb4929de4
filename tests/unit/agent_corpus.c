/* SPDX-License-Identifier: MIT */
/* agent_corpus.c - see agent_corpus.h. */
#include "agent_corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"

#define EXPRESSIONS_MAX 1024

struct expression {
	char *text;
	uint8_t *bytes;
	size_t nr;
	bool collects;
};

struct corpus {
	struct expression expressions[EXPRESSIONS_MAX];
	size_t nr;
	char build[32];
	struct corpus_case now; /* the stop */
	void (*visit)(const struct corpus_case *one, void *ctx);
	void *ctx;
	long visited;
};

static uint8_t *parse_bytes(const char *hex, size_t length, size_t *ret_nr)
{
	uint8_t *bytes = calloc(length / 2 + 1, 1);

	for (size_t i = 0; bytes && i < length / 2; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	*ret_nr = length / 2;
	return bytes;
}

static void forget_memory(struct corpus *corpus)
{
	for (size_t i = 0; i < corpus->now.nr_memory; i++)
		free(corpus->now.memory[i].bytes);
	corpus->now.nr_memory = 0;
}

static void forget_build(struct corpus *corpus)
{
	forget_memory(corpus);
	for (size_t i = 0; i < corpus->nr; i++) {
		free(corpus->expressions[i].text);
		free(corpus->expressions[i].bytes);
	}
	corpus->nr = 0;
}

static void add_expression(struct corpus *corpus, const char *line,
			   bool collects)
{
	size_t length = strcspn(line, " ");
	struct expression *one = &corpus->expressions[corpus->nr];

	if (corpus->nr == EXPRESSIONS_MAX || !line[length])
		return;
	one->bytes = parse_bytes(line, length, &one->nr);
	one->text = strdup(line + length + 1);
	one->collects = collects;
	corpus->nr++;
}

static void add_memory(struct corpus *corpus, const char *line)
{
	struct corpus_case *now = &corpus->now;
	struct corpus_memory *memory = &now->memory[now->nr_memory];
	char *end;

	if (now->nr_memory == SONDE_ARRAY_SIZE(now->memory))
		return;
	memory->address = strtoull(line, &end, 16);
	end += *end == ' ';
	memory->bytes = parse_bytes(end, strlen(end), &memory->size);
	now->nr_memory++;
}

static void take_value(struct corpus_case *one, const char *word)
{
	one->expected = CORPUS_VALUE;
	if (strncmp(word, "fault", 5) == 0)
		one->expected = CORPUS_FAULT;
	else if (strncmp(word, "divided", 7) == 0)
		one->expected = CORPUS_DIVIDED;
	else if (*word == '-')
		one->expected = CORPUS_UNKNOWN;
	else
		one->value = strtoull(word, NULL, 16);
}

/* All expressions at this stop. */
static void visit_all(struct corpus *corpus, const char *values)
{
	for (size_t i = 0; i < corpus->nr; i++) {
		const struct expression *from = &corpus->expressions[i];
		struct corpus_case one = corpus->now;

		one.build = corpus->build;
		one.text = from->text;
		one.bytes = from->bytes;
		one.nr = from->nr;
		one.collects = from->collects;
		one.expected = CORPUS_UNKNOWN;
		if (!from->collects) {
			take_value(&one, values);
			values += strcspn(values, " ");
			values += *values == ' ';
		}
		corpus->visit(&one, corpus->ctx);
		corpus->visited++;
	}
}

static void take_registers(struct corpus *corpus, const char *line)
{
	for (size_t i = 0; i < CORPUS_REGISTERS; i++) {
		char *end;

		corpus->now.registers[i] = strtoull(line, &end, 16);
		line = end;
	}
}

static void take_line(struct corpus *corpus, const char *line)
{
	const char *rest = line + strcspn(line, " ");

	rest += *rest == ' ';
	if (strncmp(line, "build ", 6) == 0) {
		forget_build(corpus);
		(void)snprintf(corpus->build, sizeof(corpus->build), "%s",
			       rest);
	} else if (strncmp(line, "condition ", 10) == 0) {
		add_expression(corpus, rest, false);
	} else if (strncmp(line, "collection ", 11) == 0) {
		add_expression(corpus, rest, true);
	} else if (strcmp(line, "stop") == 0) {
		forget_memory(corpus);
	} else if (strncmp(line, "registers ", 10) == 0) {
		take_registers(corpus, rest);
	} else if (strncmp(line, "memory ", 7) == 0) {
		add_memory(corpus, rest);
	} else if (strncmp(line, "values ", 7) == 0) {
		visit_all(corpus, rest);
	}
}

long corpus_each(void (*visit)(const struct corpus_case *one, void *ctx),
		 void *ctx)
{
	static struct corpus corpus;
	FILE *file = fopen(UNIT_DIR "/agent_corpus.txt", "re");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		return -1;
	corpus.visit = visit;
	corpus.ctx = ctx;
	corpus.visited = 0;
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = 0;
		take_line(&corpus, line);
	}
	forget_build(&corpus);
	free(line);
	(void)fclose(file);
	return corpus.visited;
}

bool corpus_byte(const struct corpus_case *one, uint64_t address,
		 uint8_t *ret_byte)
{
	for (size_t i = 0; i < one->nr_memory; i++) {
		const struct corpus_memory *memory = &one->memory[i];

		if (address - memory->address < memory->size) {
			*ret_byte = memory->bytes[address - memory->address];
			return true;
		}
	}
	return false;
}
