/* SPDX-License-Identifier: MIT */
/*
 * kernel_rules.c - fuzz source/rules.h: what `-k` says, whatever it is, and
 * what it selects.
 *
 * Input: the room for the error's text, then texts of -k, each up to a NUL, of
 * which an empty one is the last; then names of events, group and name, of
 * which the trace's differs if a NUL follows.
 */
#include "source/rules.h"

#include <errno.h>

#include "types/select.h"
#include "fuzz.h"

#define TEXTS_MAX 8

static struct sonde_source_rules rules;

/* To be freed. */
static char *take_text(struct fuzz_input *in)
{
	const uint8_t *nul = in->left ? memchr(in->at, 0, in->left) : NULL;
	size_t length = nul ? (size_t)(nul - in->at) : in->left;
	char *text = malloc(length + 1);

	FUZZ_CHECK(text);
	if (length)
		memcpy(text, in->at, length);
	text[length] = '\0';
	in->at += length + (nul != NULL);
	in->left -= length + (nul != NULL);
	return text;
}

static void check_rule(const struct sonde_source_rule *rule)
{
	FUZZ_CHECK(*rule->text && strlen(rule->text) < SONDE_GLOB_MAX);
	FUZZ_CHECK(*rule->name && strlen(rule->name) < SONDE_GLOB_MAX);
	FUZZ_CHECK(!rule->condition || *rule->condition);
	FUZZ_CHECK(!rule->condition || !rule->is_exclusion);
	if (rule->kind != SONDE_RULE_EVENT)
		FUZZ_CHECK(!rule->group && !rule->is_exclusion);
	else
		FUZZ_CHECK(!rule->group || *rule->group);
}

/* Whether all went well. */
static bool add(const char *text, size_t room)
{
	char *error = malloc(room);
	uint32_t nr = rules.nr;
	int rc;

	FUZZ_CHECK(error);
	error[0] = '\0';
	rc = sonde_source_rules_add(&rules, text, error, room);
	FUZZ_CHECK(rc == 0 || rc == -EINVAL || rc == -E2BIG);
	FUZZ_CHECK(memchr(error, 0, room));
	FUZZ_CHECK(!strchr(error, '\n'));
	FUZZ_CHECK(room == 1 || !rc == !*error);
	FUZZ_CHECK(rules.nr <= SONDE_SOURCE_RULES_MAX);
	FUZZ_CHECK(rc || rules.nr > nr);
	for (uint32_t i = nr; i < rules.nr; i++)
		check_rule(&rules.rules[i]);
	free(error);
	return !rc;
}

static bool is_plain(const char *text)
{
	return *text && strlen(text) < SONDE_GLOB_MAX / 2 - 1 &&
	       !strpbrk(text, "*?[]\\,:! ") && !strstr(text, "if") &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789")] == 0;
}

/* What was said last decides. */
static void check_last(const char *group, const char *name)
{
	char text[SONDE_GLOB_MAX];
	bool is_probe = strstr(group, "probe") != NULL;

	if (!is_plain(group) || !is_plain(name) || is_probe ||
	    !strcmp(group, "raw_syscalls") ||
	    rules.nr + 2 > SONDE_SOURCE_RULES_MAX)
		return;
	(void)snprintf(text, sizeof(text), "!%s:%s", group, name);
	FUZZ_CHECK(add(text, 300));
	FUZZ_CHECK(!sonde_source_rules_match(&rules, group, name, NULL));
	FUZZ_CHECK(add(text + 1, 300));
	FUZZ_CHECK(sonde_source_rules_match(&rules, group, name, NULL) ==
		   &rules.rules[rules.nr - 1]);
}

static void check_event(const char *group, const char *name, const char *shown)
{
	const struct sonde_source_rule *found =
		sonde_source_rules_match(&rules, group, name, shown);
	const struct sonde_source_rule *unmatched;

	if (found) {
		FUZZ_CHECK(found->kind == SONDE_RULE_EVENT);
		FUZZ_CHECK(found->has_matched && !found->is_exclusion);
		for (const struct sonde_source_rule *rule = found + 1;
		     rule < rules.rules + rules.nr; rule++)
			FUZZ_CHECK(rule->kind != SONDE_RULE_EVENT ||
				   strcmp(rule->name, "*") != 0 ||
				   rule->group ||
				   !strcmp(group, "raw_syscalls"));
	}
	unmatched = sonde_source_rules_unmatched(&rules);
	FUZZ_CHECK(!unmatched ||
		   (!unmatched->has_matched && !unmatched->is_exclusion));
	check_last(group, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	size_t room = fuzz_below(&in, 255) + 1u;
	bool more = true;

	for (int i = 0; i < TEXTS_MAX && more && in.left; i++) {
		char *text = take_text(&in);

		more = *text != '\0';
		if (more)
			(void)add(text, room); /* it may be nonsense */
		free(text);
	}
	while (in.left) {
		char *group = take_text(&in);
		char *name = take_text(&in);
		bool has_shown = in.left && !*in.at;
		char *shown =
			has_shown ? (in.at++, in.left--, take_text(&in)) : NULL;

		check_event(group, name, shown);
		free(shown);
		free(name);
		free(group);
	}
	sonde_source_rules_fini(&rules);
	FUZZ_CHECK(rules.nr == 0 && !rules.owned);
	return 0;
}
