/* SPDX-License-Identifier: MIT */
/*
 * view_rules.c - fuzz view/index/rules.h: lines that declare rows, as somebody sends
 * them to a user.
 *
 * Input: the file.
 */
#include "view/index/rules.h"

#include <errno.h>

#include "analysis/plugin/run.h"
#include "fuzz.h"

static void check_rule(const struct sonde_view_rule *rule)
{
	uint32_t colour;

	FUZZ_CHECK(!strcmp(rule->file, "f") && rule->line > 0 && *rule->row);
	FUZZ_CHECK(!rule->per || *rule->per);
	FUZZ_CHECK(!rule->unit || (*rule->unit && rule->is_counter));
	FUZZ_CHECK(rule->nr_edges <= SONDE_VIEW_RULE_EDGES);
	for (size_t i = 0; i < rule->nr_edges; i++) {
		FUZZ_CHECK(*rule->edges[i].when);
		FUZZ_CHECK(!rule->edges[i].name || rule->edges[i].begins);
		FUZZ_CHECK(!rule->edges[i].value || !rule->edges[i].add);
		FUZZ_CHECK(rule->is_counter ? !rule->edges[i].name &&
						      !rule->edges[i].label &&
						      !rule->edges[i].colour :
					      !rule->edges[i].value &&
						      !rule->edges[i].add);
		FUZZ_CHECK(!rule->edges[i].name || !rule->edges[i].label);
		FUZZ_CHECK(
			!rule->edges[i].colour ||
			!sonde_plugin_colour(rule->edges[i].colour, &colour));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_view_rules_error error = { .text = "" };
	struct sonde_view_rules rules;
	char *text = malloc(size + 1);
	unsigned int number = 0;
	char *line = text;
	char *next;
	int err = 0;

	FUZZ_CHECK(text);
	memcpy(text, bytes, size);
	text[size] = 0;
	sonde_view_rules_init(&rules);
	for (; !err && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		err = sonde_view_rules_line(&rules, "f", ++number, line,
					    &error);
		FUZZ_CHECK(!err || (err == -EINVAL && *error.text));
	}
	FUZZ_CHECK(rules.nr <= SONDE_VIEW_RULES);
	for (size_t i = 0; i < rules.nr; i++)
		check_rule(rules.rules[i]);
	sonde_view_rules_fini(&rules);
	free(text);
	return 0;
}
