/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rules.h - which kernel events the user wants: what `-k` says.
 *
 *	-k RULES	rules, separated by commas; may be given several times
 *
 *	RULE		PATTERN [ 'if' CONDITION ]	record these
 *			'!' PATTERN			but not these
 *	PATTERN		GROUP | NAME | GROUP:NAME	shell globs: block,
 *						irq:softirq_*, sched_switch
 *			sched | irq		what happens to threads; what
 *						interrupts: a choice of those
 *						groups (sched:* has all)
 *			syscalls | syscalls:CALL	both ends of system
 *						calls: syscalls:openat
 *			faults				page faults
 *			mark				a file that programs
 *						write events to (marks/mark.h)
 *			kprobe:FUNCTION[+OFFSET]	where the kernel can
 *			kretprobe:FUNCTION
 *			uprobe:FILE:SYMBOL[+OFFSET] | uprobe:FILE:0xOFFSET
 *			uretprobe:FILE:SYMBOL
 *	CONDITION	Sonde's filter language (docs/filter.md) over the
 *			event's fields, up to the end of the -k
 *
 * A NAME may be the kernel's or the trace's (softirq_entry or
 * irq_softirq_entry). The last rule that matches an event decides about it. An
 * event is recorded if that rule isn't a '!' and its condition holds.
 *
 * Parsing touches no file; whether a pattern matches anything is known to the
 * sources only: sonde_source_rules_match() keeps count.
 */
#ifndef SOURCE_RULES_H
#define SOURCE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_SOURCE_RULES_MAX 256u

enum sonde_source_rule_kind {
	SONDE_RULE_EVENT,
	SONDE_RULE_KPROBE,
	SONDE_RULE_KRETPROBE,
	SONDE_RULE_UPROBE,
	SONDE_RULE_URETPROBE,
};

struct sonde_source_rule {
	enum sonde_source_rule_kind kind;
	bool is_exclusion;
	bool has_matched;  /* any event, so far */
	bool has_selected; /* the same, and no later rule takes it away */
	const char *text;  /* the pattern as written, for messages */
	const char *group; /* EVENT: a glob; NULL if the pattern has no ':' */
	const char *name;  /* EVENT: a glob; probes: what follows the kind */
	const char *condition; /* or NULL */
};

/* All zero: no rules. */
struct sonde_source_rules {
	uint32_t nr;
	uint32_t nr_owned;
	char **owned; /* the texts that rules point into */
	/* A source can't deliver all that they select; another one may. */
	bool has_left;
	struct sonde_source_rule rules[SONDE_SOURCE_RULES_MAX];
};

/* "PATTERN if CONDITION": the length of the pattern without the blanks behind
 * it, and where the condition begins; NULL if there is none. */
size_t sonde_condition_at(const char *text, const char **ret_condition);

/* Of probes of <sys/sdt.h>: "PATTERN [/s arg1, arg3] [if CONDITION]". The
 * pattern's length; *ret_texts has a bit for each argument that is text, from
 * the lowest on. 0: what stands behind the pattern is something else. */
size_t sonde_source_site_rule(const char *text, uint32_t *ret_texts,
			      const char **ret_condition);

/* Add what one -k says; `text` is copied. 0; -EINVAL or -E2BIG and one line in
 * `error`; -ENOMEM. */
int sonde_source_rules_add(struct sonde_source_rules *rules, const char *text,
			   char *error, size_t error_size);

/* Whether a rule is about an event, an exclusion, too; names as below. */
bool sonde_source_rule_matches(const struct sonde_source_rule *rule,
			       const char *group, const char *name,
			       const char *shown);

/*
 * The rule that decides about an event, or NULL if none matches or it is an
 * exclusion. `group` and `name` are the kernel's, `shown` is the trace's name
 * for it (NULL: the same). Marks the rule as matched.
 */
const struct sonde_source_rule *
sonde_source_rules_match(struct sonde_source_rules *rules, const char *group,
			 const char *name, const char *shown);

/* Whether any of them is about an event, an exclusion or one with a condition,
 * too. */
bool sonde_source_rules_mention(const struct sonde_source_rules *rules,
				const char *group, const char *name);

/* The first rule whose pattern, which is for events, matched none; or NULL.
 * Probes are the sources' to find. */
const struct sonde_source_rule *
sonde_source_rules_unmatched(const struct sonde_source_rules *rules);

/* The first exclusion of one event, by its name, that matched none; or NULL. */
const struct sonde_source_rule *
sonde_source_rules_vain(const struct sonde_source_rules *rules);

/* The first rule that selected an event; or NULL: none did. */
const struct sonde_source_rule *
sonde_source_rules_selected(const struct sonde_source_rules *rules);

void sonde_source_rules_fini(struct sonde_source_rules *rules);

#endif /* SOURCE_RULES_H */
