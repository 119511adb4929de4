/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rules.c - what `-k` says, parsed, and which events it selects (rules.h).
 *
 * The text of one -k is copied twice, side by side: one copy is kept as it was
 * written, for messages, the other is cut up in place; all rules point into them
 * until sonde_source_rules_fini(). The last rule that matches decides, so matching
 * goes through all of them: linear in the rules, for each event of a kernel once.
 */
#include "source/rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "types/sdt.h"
#include "types/select.h"

#define BLANKS " \t\n"

/*
 * Words that stand for a choice of events; each line is a rule. The kernel's
 * groups of these names hold statistics as well, of which there are many and
 * which nobody asks for by that word; sched:* has all of them.
 */
static const struct {
	const char *alias, *group, *name;
} aliases[] = {
	{ "sched", "sched", "sched_switch" },
	{ "sched", "sched", "sched_wak*" },
	{ "sched", "sched", "sched_migrate_task" },
	{ "sched", "sched", "sched_process_[ef]*" },
	{ "irq", "irq", "irq_handler_*" },
	{ "irq", "irq", "softirq_*" },
	{ "faults", "exceptions", "page_fault_*" },
	{ "syscall", "syscalls", "*" },
};

static const struct {
	const char *prefix;
	enum sonde_source_rule_kind kind;
} probes[] = {
	{ "kprobe:", SONDE_RULE_KPROBE },
	{ "kretprobe:", SONDE_RULE_KRETPROBE },
	{ "uprobe:", SONDE_RULE_UPROBE },
	{ "uretprobe:", SONDE_RULE_URETPROBE },
};

#define fail(error, size, ...) sonde_text_say(error, size, -EINVAL, __VA_ARGS__)

/* Without the blanks around it, which are cut off in place. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		text[--length] = '\0';
	return text;
}

size_t sonde_condition_at(const char *text, const char **ret_condition)
{
	const char *at = text;
	size_t length;

	*ret_condition = NULL;
	for (; (at = strstr(at, "if")) != NULL; at += 2) {
		bool starts = at > text && strchr(BLANKS, at[-1]);
		bool ends = !at[2] || strchr(BLANKS, at[2]);

		if (starts && ends)
			break;
	}
	if (at)
		*ret_condition = at + 2 + strspn(at + 2, BLANKS);
	length = at ? (size_t)(at - text) : strlen(text);
	while (at && length && strchr(BLANKS, text[length - 1]))
		length--;
	return length;
}

/* "arg1, arg3" */
static bool take_texts(const char *at, const char *end, uint32_t *ret_texts)
{
	uint64_t number;

	while (at < end) {
		if (strncmp(at, "arg", 3) != 0)
			return false;
		at += 3;
		if (!sonde_number_take(&at, 10, SONDE_SDT_ARGUMENTS_MAX,
				       &number) ||
		    !number)
			return false;
		*ret_texts |= 1u << (number - 1);
		at += strspn(at, BLANKS);
		if (at < end && *at++ != ',')
			return false;
		at += strspn(at, BLANKS);
	}
	return *ret_texts;
}

size_t sonde_source_site_rule(const char *text, uint32_t *ret_texts,
			      const char **ret_condition)
{
	size_t length = sonde_condition_at(text, ret_condition);
	size_t pattern = strcspn(text, BLANKS);
	const char *at = text + pattern + strspn(text + pattern, BLANKS);

	*ret_texts = 0;
	if (pattern >= length)
		return length;
	if (strncmp(at, "/s", 2) != 0)
		return 0;
	at += 2 + strspn(at + 2, BLANKS);
	return take_texts(at, text + length, ret_texts) ? pattern : 0;
}

/* Cuts "RULES if CONDITION" in two; the condition, or NULL. */
static char *cut_condition(char *text)
{
	const char *condition;
	size_t length = sonde_condition_at(text, &condition);

	if (!condition)
		return NULL;
	text[length] = '\0';
	return trim(text + (condition - text));
}

static bool take_probe(struct sonde_source_rule *rule, char *pattern)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(probes); i++) {
		size_t length = strlen(probes[i].prefix);

		if (strncmp(pattern, probes[i].prefix, length) != 0)
			continue;
		rule->kind = probes[i].kind;
		rule->name = pattern + length;
		return true;
	}
	return false;
}

/* The i-th line of the alias that `pattern` is; false if there is none. */
static bool take_alias(struct sonde_source_rule *rule, const char *pattern,
		       size_t i)
{
	for (size_t k = 0; k < SONDE_ARRAY_SIZE(aliases); k++) {
		if (strcmp(pattern, aliases[k].alias) != 0 || i--)
			continue;
		rule->group = aliases[k].group;
		rule->name = aliases[k].name;
		return true;
	}
	return false;
}

static bool has_control(const char *text)
{
	while (*text && iscntrl((unsigned char)*text) == 0)
		text++;
	return *text != '\0';
}

/* `copy` of the pattern is for cutting, `text` for showing. `i` counts the
 * rules that a pattern may stand for; -ENOENT: there is no such one. */
static int parse_rule(char *text, char *copy, size_t i,
		      struct sonde_source_rule *rule, char *error,
		      size_t error_size)
{
	char *colon;

	if (*text == '!') {
		rule->is_exclusion = true;
		rule->condition = NULL;
		text++;
		copy++;
	}
	rule->text = text;
	if (!*text)
		return fail(error, error_size,
			    "-k: an empty pattern selects nothing; name a "
			    "group or an event, such as sched,syscalls");
	if (has_control(text))
		return fail(error, error_size,
			    "-k: there is a control character in a pattern; "
			    "separate patterns with commas");
	if (strlen(text) >= SONDE_GLOB_MAX)
		return fail(error, error_size,
			    "-k: the pattern '%.40s...' is %zu characters "
			    "long; the limit is %d",
			    text, strlen(text), SONDE_GLOB_MAX - 1);
	/* Not `copy`, which the first call may have cut. */
	if (take_alias(rule, text, i))
		return 0;
	if (i)
		return -ENOENT;
	if (take_probe(rule, copy)) {
		if (!*rule->name || rule->is_exclusion)
			return fail(error, error_size,
				    "-k %s: name what to probe, such as "
				    "kprobe:do_exit or "
				    "uprobe:/usr/bin/app:main",
				    text);
		return 0;
	}
	rule->name = copy;
	colon = strchr(copy, ':');
	if (colon) {
		*colon = '\0';
		rule->group = copy;
		rule->name = colon + 1;
	}
	if (!*rule->name || (colon && !*rule->group))
		return fail(error, error_size,
			    "-k %s: write GROUP:NAME, GROUP or NAME; '*' "
			    "stands for any",
			    text);
	return 0;
}

/* All rules that a pattern stands for: usually one. */
static int add_pattern(struct sonde_source_rules *rules, char *text, char *copy,
		       const char *condition, char *error, size_t error_size)
{
	for (size_t i = 0;; i++) {
		struct sonde_source_rule rule = { .condition = condition };
		int rc = parse_rule(text, copy, i, &rule, error, error_size);

		if (rc)
			return rc == -ENOENT ? 0 : rc;
		if (rules->nr == SONDE_SOURCE_RULES_MAX) {
			(void)fail(error, error_size,
				   "-k: more than %u patterns; merge some "
				   "with '*'",
				   SONDE_SOURCE_RULES_MAX);
			return -E2BIG;
		}
		rules->rules[rules->nr++] = rule;
	}
}

/* Both halves of `room`, which is twice the text: as written, and to be cut. */
static int parse_all(struct sonde_source_rules *rules, char *room, size_t half,
		     char *error, size_t error_size)
{
	char *condition = cut_condition(room);
	char *next = room;
	char *word;

	if (condition && !*condition)
		return fail(error, error_size,
			    "-k: a condition is missing after 'if'");
	while ((word = strsep(&next, ",")) != NULL) {
		char *text = trim(word);
		int rc =
			add_pattern(rules, text,
				    memcpy(text + half, text, strlen(text) + 1),
				    condition, error, error_size);

		if (rc)
			return rc;
	}
	return 0;
}

int sonde_source_rules_add(struct sonde_source_rules *rules, const char *text,
			   char *error, size_t error_size)
{
	size_t half = strlen(text) + 1;
	char **texts;
	char *room;

	texts = reallocarray(rules->owned, rules->nr_owned + 1, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	rules->owned = texts;
	room = malloc(2 * half);
	if (!room)
		return -ENOMEM;
	memcpy(room, text, half);
	texts[rules->nr_owned++] = room;
	return parse_all(rules, room, half, error, error_size);
}

/* The kernel's form of all system calls at once is too much of the same to be
 * meant by a mere '*'. */
static bool is_hidden(const struct sonde_source_rule *rule, const char *group)
{
	return !strcmp(group, "raw_syscalls") && !strstr(rule->text, "raw_");
}

bool sonde_source_rule_matches(const struct sonde_source_rule *rule,
			       const char *group, const char *name,
			       const char *shown)
{
	bool by_name;

	if (rule->kind != SONDE_RULE_EVENT || is_hidden(rule, group))
		return false;
	by_name = sonde_glob_match(rule->name, name) ||
		  (shown && sonde_glob_match(rule->name, shown));
	if (rule->group)
		return by_name && sonde_glob_match(rule->group, group);
	return by_name || sonde_glob_match(rule->name, group);
}

bool sonde_source_rules_mention(const struct sonde_source_rules *rules,
				const char *group, const char *name)
{
	for (uint32_t i = 0; i < rules->nr; i++)
		if (sonde_source_rule_matches(&rules->rules[i], group, name,
					      NULL))
			return true;
	return false;
}

const struct sonde_source_rule *
sonde_source_rules_match(struct sonde_source_rules *rules, const char *group,
			 const char *name, const char *shown)
{
	struct sonde_source_rule *found = NULL;

	for (uint32_t i = 0; i < rules->nr; i++) {
		struct sonde_source_rule *rule = &rules->rules[i];

		if (!sonde_source_rule_matches(rule, group, name, shown))
			continue;
		rule->has_matched = true;
		found = rule;
	}
	if (!found || found->is_exclusion)
		return NULL;
	found->has_selected = true;
	return found;
}

const struct sonde_source_rule *
sonde_source_rules_selected(const struct sonde_source_rules *rules)
{
	for (uint32_t i = 0; i < rules->nr; i++)
		if (rules->rules[i].has_selected)
			return &rules->rules[i];
	return NULL;
}

/* The rules that one pattern stands for share its text: not every kernel has all
 * that is meant. */
static bool has_matched(const struct sonde_source_rules *rules,
			const char *text)
{
	for (uint32_t i = 0; i < rules->nr; i++)
		if (rules->rules[i].text == text && rules->rules[i].has_matched)
			return true;
	return false;
}

const struct sonde_source_rule *
sonde_source_rules_unmatched(const struct sonde_source_rules *rules)
{
	for (uint32_t i = 0; i < rules->nr; i++) {
		const struct sonde_source_rule *rule = &rules->rules[i];

		if (rule->kind == SONDE_RULE_EVENT && !rule->is_exclusion &&
		    !has_matched(rules, rule->text))
			return rule;
	}
	return NULL;
}

const struct sonde_source_rule *
sonde_source_rules_vain(const struct sonde_source_rules *rules)
{
	for (uint32_t i = 0; i < rules->nr; i++) {
		const struct sonde_source_rule *rule = &rules->rules[i];

		if (rule->is_exclusion && !strpbrk(rule->text, "*?[") &&
		    !has_matched(rules, rule->text))
			return rule;
	}
	return NULL;
}

void sonde_source_rules_fini(struct sonde_source_rules *rules)
{
	for (uint32_t i = 0; i < rules->nr_owned; i++)
		free(rules->owned[i]);
	free(rules->owned);
	*rules = (struct sonde_source_rules){ .nr = 0 };
}
