/* SPDX-License-Identifier: MIT */
/*
 * view_tsp.c - fuzz view/tsp/query.h: what clients of the Trace Server Protocol send,
 * and the paths that they send it to (view/tsp/outputs.h).
 *
 * Input: a path up to the first line's end, then the body.
 */
#include "view/tsp/query.h"

#include <errno.h>

#include "fuzz.h"
#include "view/tsp/outputs.h"

static void check_words(const struct sonde_view_tsp_words *words)
{
	FUZZ_CHECK(words->nr <= SONDE_VIEW_TSP_WORDS);
	for (size_t i = 0; i < words->nr; i++)
		FUZZ_CHECK(strlen(words->words[i]) <= SONDE_VIEW_TSP_BYTES);
}

static void check_query(const struct sonde_view_tsp_query *query)
{
	FUZZ_CHECK(query->nr_times <= SONDE_VIEW_PIXELS);
	FUZZ_CHECK(query->first_ns <= query->last_ns);
	FUZZ_CHECK(query->last_ns - query->first_ns <= INT64_MAX / 2);
	FUZZ_CHECK(query->items || !query->nr_items);
	FUZZ_CHECK(query->nr_items <= SONDE_VIEW_TSP_ITEMS);
	FUZZ_CHECK(query->nr_columns <= SONDE_VIEW_TSP_ITEMS);
	FUZZ_CHECK(query->index >= -1 && query->count <= SONDE_VIEW_TSP_LINES);
	FUZZ_CHECK(query->direction >= -1 && query->direction <= 1);
	FUZZ_CHECK(query->where.nr == query->wanted.nr);
	check_words(&query->where);
	check_words(&query->wanted);
	check_words(&query->kinds);
	check_words(&query->members);
}

static void ask_path(const char *path)
{
	char id[SONDE_VIEW_TSP_ID];
	bool known;
	const struct sonde_view_tsp_question *question =
		sonde_view_tsp_question("POST", path, id, &known);

	FUZZ_CHECK(!question || strlen(id) < sizeof(id));
	FUZZ_CHECK(!question || !*id || strstr(path, id));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_view_error error = { .column = 0 };
	struct sonde_view_tsp_query query;
	char *text = malloc(size + 1);
	char *body;
	int result;

	FUZZ_CHECK(text);
	memcpy(text, bytes, size);
	text[size] = 0;
	body = memchr(text, '\n', size);
	if (body)
		*body++ = 0;
	else
		body = text + size;
	ask_path(text);
	result = sonde_view_tsp_query_parse(body, (size_t)(text + size - body),
					    &query, &error);
	FUZZ_CHECK(result == 0 || (result == -EINVAL && error.text[0]));
	if (!result)
		check_query(&query);
	sonde_view_tsp_query_fini(&query);
	free(text);
	return 0;
}
