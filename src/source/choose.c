/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * choose.c - which sources deliver what the user selected (choose.h).
 *
 * An event comes from one source. What one can't have is left to the next, and
 * said in `note`; a mistake of the user's isn't tried elsewhere. Names and
 * conditions are checked when all events are known.
 */
#include "source/choose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "base/port.h"
#include "expr/bind.h"
#include "expr/expr.h"
#include "source/available.h"
#include "source/callstacks.h"
#include "source/condition.h"
#include "source/described.h"
#include "source/payloads.h"
#include "source/sample/mapped_code.h"

/* What every kernel since 3.8 calls its first PID namespace. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

static int is_one(void *ctx, const char *group, const char *name,
		  const char *shown)
{
	(void)ctx, (void)group, (void)name, (void)shown;
	return 1;
}

static int rule_means(void *ctx, const struct sonde_desc *desc)
{
	return sonde_source_rule_matches(ctx, sonde_desc_provider(desc),
					 sonde_desc_name(desc), NULL);
}

/* Whether it means a described event, which the module of ours has or nobody. */
static bool is_described(const struct sonde_source_rule *rule)
{
	struct sonde_source_rule wanted = *rule;

	return rule->kind == SONDE_RULE_EVENT &&
	       sonde_source_each_described(SONDE_SOURCE_NOTES, rule_means,
					   &wanted) > 0;
}

/* Only where the list of events can be read is it known what there isn't. */
static int fail_unmatched(const struct sonde_source_rule *rule,
			  struct sonde_source_error *error)
{
	struct sonde_source_error why;
	struct sonde_nearest nearest;
	const char *hint;

	if (sonde_source_available(is_one, NULL, &why) < 0)
		return sonde_source_fail(error, -EINVAL,
					 "%.100s: no such event is known; "
					 "%.280s",
					 rule->text, why.text);
	if (is_described(rule))
		return sonde_source_fail(
			error, -ENODEV,
			"%.100s: that is an event of a module's, which is "
			"recorded by --kernel-source modules alone; 'sudo "
			"sonde modules load'",
			rule->text);
	hint = sonde_payload_since(rule);
	if (!*hint)
		hint = sonde_source_hint(rule->text, &nearest);
	return sonde_source_fail(
		error, -EINVAL, "%.100s: this kernel has no such event%s",
		rule->text,
		*hint ? hint : "; 'sonde list -k' shows what it has");
}

/* One that excludes nothing may be for another kernel; not if there is a name
 * that it is nearly. */
static int check_exclusions(const struct sonde_source_rules *rules,
			    struct sonde_source_error *error)
{
	const struct sonde_source_rule *rule = sonde_source_rules_vain(rules);
	struct sonde_nearest nearest;

	return rule && *sonde_source_hint(rule->text, &nearest) ?
		       fail_unmatched(rule, error) :
		       0;
}

/* ---- several sources ---- */

static bool is_taken(void *ctx, const char *group, const char *name)
{
	const struct sonde_sources *set = ctx;

	for (uint32_t i = 0; i < set->nr; i++) {
		const struct sonde_source *source = set->sources[i];

		if (source->ops->has && source->ops->has(source, group, name))
			return true;
	}
	return false;
}

static int open_one(const struct sonde_source_ops *ops,
		    const struct sonde_source_config *config, bool only_best,
		    struct sonde_sources *set, struct sonde_source_error *error)
{
	struct sonde_source_config ours = *config;
	size_t used = strlen(set->name);
	int rc;

	ours.stacks = set->stacks;
	ours.code = set->code;
	ours.is_taken = set->nr ? is_taken : NULL; /* first: none is */
	ours.ctx = set;
	ours.only_best = only_best;
	/* Two sources share; the one that is best has what comes most. */
	if (only_best)
		ours.memory_bytes -= ours.memory_bytes / 4;
	else if (set->nr)
		ours.memory_bytes /= 4;
	error->text[0] = '\0';
	rc = ops->open(&ours, &set->sources[set->nr], error);
	if (!rc)
		(void)snprintf(set->name + used, sizeof(set->name) - used,
			       "%s%s", used ? "," : "",
			       set->sources[set->nr++]->ops->name);
	else if (!*error->text)
		(void)sonde_source_fail(error, rc, "%s: %s", ops->name,
					strerrordesc_np(-rc));
	return rc;
}

/* The user's mistakes, and nothing selected, are no lack of the source's. */
static bool is_lack(int error)
{
	return error && error != -ENODATA && error != -EINVAL;
}

/* Something that the modules don't have: probes of programs, or what only
 * tracefs has a name for. */
static bool is_left(const struct sonde_source_rules *rules)
{
	if (rules->has_left)
		return true;
	for (uint32_t i = 0; i < rules->nr; i++)
		if (rules->rules[i].kind == SONDE_RULE_UPROBE ||
		    rules->rules[i].kind == SONDE_RULE_URETPROBE)
			return true;
	return sonde_source_rules_unmatched(rules) != NULL;
}

/* What another source has left, by tracefs, which has no probes. */
static int open_rest(const struct sonde_source_config *config,
		     struct sonde_sources *set,
		     struct sonde_source_error *error)
{
	struct sonde_source_config rest = *config;
	int rc;

	rest.nr_probes = 0;
	rc = open_one(&sonde_source_tracefs, &rest, false, set, error);
	if (is_lack(rc))
		(void)snprintf(set->note, sizeof(set->note),
			       "the rest of what -k selects is missing: %.900s",
			       error->text);
	return rc == -EINVAL || !set->nr ? rc : 0;
}

static int open_with_modules(const struct sonde_source_config *config,
			     struct sonde_sources *set,
			     struct sonde_source_error *error)
{
	int rc = open_one(&sonde_source_modules, config, false, set, error);

	if ((rc && rc != -ENODATA) || !is_left(config->rules))
		return rc;
	return open_rest(config, set, error);
}

static int open_stock(const struct sonde_source_config *config,
		      struct sonde_sources *set,
		      struct sonde_source_error *error)
{
	struct sonde_source_error lack = { "" };
	int bpf = open_one(&sonde_source_bpf, config, true, set, error);
	int tracefs;

	if (bpf == -EINVAL)
		return bpf;
	if (is_lack(bpf))
		lack = *error;
	tracefs = open_one(&sonde_source_tracefs, config, false, set, error);
	if (tracefs == -EINVAL)
		return tracefs;
	if (!is_lack(tracefs) && !is_lack(bpf))
		return 0;
	if (!is_lack(tracefs)) {
		(void)snprintf(set->note, sizeof(set->note), "%s", lack.text);
		return 0;
	}
	if (is_lack(bpf)) {
		struct sonde_source_error both = *error;

		return sonde_source_fail(error, bpf, "%.490s; and %.490s",
					 lack.text, both.text);
	}
	(void)snprintf(set->note, sizeof(set->note), "%s", error->text);
	/* What else was selected, if anything, is for BPF as well. */
	sonde_sources_close(set);
	return open_one(&sonde_source_bpf, config, false, set, error);
}

/* Modules that aren't loaded are nothing to talk about. */
static int open_auto(const struct sonde_source_config *config,
		     struct sonde_sources *set,
		     struct sonde_source_error *error)
{
	struct sonde_source_error lack = { "" };
	int rc = open_with_modules(config, set, error);

	if (!is_lack(rc))
		return rc;
	if (rc != -ENODEV)
		lack = *error;
	rc = open_stock(config, set, error);
	if (!rc && *lack.text && !*set->note)
		(void)snprintf(set->note, sizeof(set->note), "%s", lack.text);
	return rc;
}

/* By BPF are probes at functions, and what it is best at. */
static int open_probes_by_bpf(const struct sonde_source_config *config,
			      struct sonde_sources *set,
			      struct sonde_source_error *error)
{
	int rc = open_one(&sonde_source_bpf, config, config->rules->nr > 0, set,
			  error);

	return rc || !config->rules->nr ? rc : open_rest(config, set, error);
}

/* By the module, where it is; else by BPF, and if there is a module all the same, why
 * not by it is said. All of them are one source's. */
static int open_with_probes(const struct sonde_source_config *config,
			    enum sonde_source_choice choice,
			    struct sonde_sources *set,
			    struct sonde_source_error *error)
{
	struct sonde_source_error lack = { "" };
	int rc;

	if (choice == SONDE_SOURCE_TRACEFS)
		return sonde_source_fail(error, -EOPNOTSUPP,
					 "tracefs has no probes of this kind; "
					 "take --kernel-source bpf or modules");
	if (choice == SONDE_SOURCE_BPF)
		return open_probes_by_bpf(config, set, error);
	rc = open_with_modules(config, set, error);
	if (!is_lack(rc) || choice == SONDE_SOURCE_MODULES)
		return rc;
	if (rc != -ENODEV)
		lack = *error;
	sonde_sources_close(set);
	rc = open_probes_by_bpf(config, set, error);
	if (!rc && *lack.text && !*set->note)
		(void)snprintf(set->note, sizeof(set->note),
			       "probes in the kernel are BPF's here; %.900s",
			       lack.text);
	return rc;
}

/* Without stacks. */
static int open_plain(const struct sonde_source_config *config,
		      enum sonde_source_choice choice,
		      struct sonde_sources *set,
		      struct sonde_source_error *error)
{
	if (config->nr_probes)
		return open_with_probes(config, choice, set, error);
	switch (choice) {
	case SONDE_SOURCE_AUTO:
		return open_auto(config, set, error);
	case SONDE_SOURCE_MODULES:
		return open_with_modules(config, set, error);
	case SONDE_SOURCE_TRACEFS:
		return open_one(&sonde_source_tracefs, config, false, set,
				error);
	case SONDE_SOURCE_BPF:
		return open_one(&sonde_source_bpf, config, false, set, error);
	}
	return -EINVAL;
}

/* Whether --stack alone is what is in the way: it is tried. */
static bool can_without_stacks(const struct sonde_source_config *config,
			       enum sonde_source_choice choice)
{
	struct sonde_source_config plain = *config;
	struct sonde_source_error error;
	struct sonde_sources set = { 0 };
	int rc;

	plain.stack_frames = 0;
	rc = open_plain(&plain, choice, &set, &error);
	sonde_sources_close(&set);
	return !rc;
}

static int fail_stacks(const struct sonde_source_config *config,
		       enum sonde_source_choice choice,
		       struct sonde_source_error *error, int rc,
		       const char *why)
{
	struct sonde_source_error reason = { "" };

	(void)snprintf(reason.text, sizeof(reason.text), "%s", why);
	return sonde_source_fail(error, rc,
				 "--stack: kernel events have call stacks if "
				 "they come from BPF, tracefs or our module: "
				 "%.700s%s",
				 reason.text,
				 can_without_stacks(config, choice) ?
					 "; without --stack they can be "
					 "recorded" :
					 "");
}

/* When a function returns, the kernel's frames begin in what called the program. */
static bool has_returns(const struct sonde_source_config *config)
{
	for (uint32_t i = 0; i < config->nr_probes; i++)
		if (config->probes[i].at_return)
			return true;
	return false;
}

/* What call stacks are kept in, and unwound by; once. 0 or -ENOMEM. */
static int provide_stacks(struct sonde_sources *set)
{
	if (!set->stacks)
		set->stacks = sonde_callstacks_store_new();
	if (!set->code)
		set->code = sonde_perf_code_new();
	return set->stacks && set->code ? 0 : -ENOMEM;
}

/* By tracefs, which knows less of the program's half; `lack`: why not by BPF, or
 * "". */
static int open_stacks_by_tracefs(const struct sonde_source_config *config,
				  const char *lack, struct sonde_sources *set,
				  struct sonde_source_error *error)
{
	struct sonde_source_error first = { "" };
	int rc;

	(void)snprintf(first.text, sizeof(first.text), "%s", lack);
	if (config->nr_probes)
		return sonde_source_fail(error, -EOPNOTSUPP, "%s",
					 *lack ? first.text :
						 "tracefs has none of probes; "
						 "take --kernel-source bpf");
	rc = open_one(&sonde_source_tracefs, config, false, set, error);
	if (!rc && *lack)
		(void)snprintf(set->note, sizeof(set->note),
			       "call stacks of programs go as far as there are "
			       "frame pointers, by tracefs; %.800s",
			       first.text);
	if (!is_lack(rc) || !*lack)
		return rc;
	(void)snprintf(first.text, sizeof(first.text), "%.400s; and %.400s",
		       lack, error->text);
	*error = first;
	return rc;
}

/* By our module, if it was asked for: of the program it has one frame. */
static int open_stacks_by_module(const struct sonde_source_config *config,
				 struct sonde_sources *set,
				 struct sonde_source_error *error)
{
	bool has_kprobes = config->nr_probes;

	for (uint32_t i = 0; i < config->rules->nr; i++)
		has_kprobes |=
			config->rules->rules[i].kind == SONDE_RULE_KPROBE;
	if (has_kprobes)
		return sonde_source_fail(error, -EOPNOTSUPP,
					 "our module has none of probes; take "
					 "--kernel-source bpf");
	return open_one(&sonde_source_modules, config, false, set, error);
}

/* What has them, the best of it first. */
static int open_stacks(const struct sonde_source_config *config,
		       enum sonde_source_choice choice,
		       struct sonde_sources *set,
		       struct sonde_source_error *error)
{
	struct sonde_source_error lack = { "" };
	int tried;
	int rc;

	if (choice == SONDE_SOURCE_TRACEFS)
		return open_stacks_by_tracefs(config, "", set, error);
	if (choice == SONDE_SOURCE_MODULES)
		return open_stacks_by_module(config, set, error);
	rc = open_one(&sonde_source_bpf, config, false, set, error);
	if (!is_lack(rc) || choice == SONDE_SOURCE_BPF)
		return rc;
	lack = *error;
	tried = open_stacks_by_tracefs(config, lack.text, set, error);
	if (tried != -ENODATA)
		return tried;
	/* It has no such event, which is no reason against BPF's. */
	*error = lack;
	return rc;
}

static int open_with_stacks(const struct sonde_source_config *config,
			    enum sonde_source_choice choice,
			    struct sonde_sources *set,
			    struct sonde_source_error *error)
{
	const struct sonde_source_rules *rules = config->rules;
	int rc;

	for (uint32_t i = 0; i < rules->nr; i++)
		if (rules->rules[i].kind != SONDE_RULE_EVENT &&
		    rules->rules[i].kind != SONDE_RULE_KPROBE)
			return fail_stacks(config, choice, error, -EOPNOTSUPP,
					   "kretprobe:, uprobe: and "
					   "uretprobe: don't; kprobe: does");
	if (has_returns(config))
		return sonde_source_fail(
			error, -EOPNOTSUPP,
			"--stack: %%return has no call stacks; "
			"the function itself has, without "
			"%%return");
	if (provide_stacks(set))
		return sonde_source_fail(error, -ENOMEM, "no memory left");
	rc = open_stacks(config, choice, set, error);
	return is_lack(rc) ?
		       fail_stacks(config, choice, error, rc, error->text) :
		       rc;
}

static int open_chosen(const struct sonde_source_config *config,
		       enum sonde_source_choice choice,
		       struct sonde_sources *set,
		       struct sonde_source_error *error)
{
	return config->stack_frames ?
		       open_with_stacks(config, choice, set, error) :
		       open_plain(config, choice, set, error);
}

int sonde_sources_sample(const struct sonde_source_config *config,
			 struct sonde_sources *set,
			 struct sonde_source_error *error)
{
	if (provide_stacks(set))
		return sonde_source_fail(error, -ENOMEM, "no memory left");
	return open_one(&sonde_source_samples, config, false, set, error);
}

bool sonde_source_knows_pids(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ||
	       st.st_ino == FIRST_PID_NAMESPACE;
}

/* ---- conditions ---- */

/* Whether events of that description have what the condition names. */
static int try_event(struct sonde_bind_check *check,
		     const struct sonde_desc *desc)
{
	struct sonde_condition *condition;
	char error[8];
	int rc;

	/* The condition doesn't matter: what names mean is the event's. */
	rc = sonde_condition_new(desc, "1", error, sizeof(error), &condition);
	if (rc)
		return rc;
	rc = sonde_condition_check(condition, check);
	sonde_condition_free(condition);
	return rc;
}

static int try_events(const struct sonde_sources *set,
		      struct sonde_bind_check *check)
{
	int rc = 0;

	for (uint32_t i = 0; i < set->nr; i++) {
		const struct sonde_source *source = set->sources[i];
		uint32_t nr = source->ops->nr_events(source);

		for (uint32_t k = 0;
		     k < nr && !rc && !sonde_bind_check_settled(check); k++)
			rc = try_event(check, source->ops->event(source, k));
	}
	return rc;
}

/* A name or a label that no event has is a slip of the pen: the condition would
 * silently hold for nothing. */
static int check_words(const struct sonde_sources *set,
		       const struct sonde_source_rule *rule,
		       const struct sonde_expr *expr,
		       struct sonde_source_error *error)
{
	struct sonde_bind_check *check;
	struct sonde_bind_slip slip;
	size_t at = 0;
	int rc = sonde_bind_check_new(expr, &check);

	if (rc)
		return rc;
	rc = try_events(set, check);
	if (!rc && sonde_bind_check_next(check, &at, &slip))
		rc = sonde_source_fail(
			error, -EINVAL, "if %.150s: column %u: %s%.200s%s%s",
			rule->condition, slip.column,
			*slip.words ? "" : "no event that is recorded has '",
			*slip.words ? slip.words : slip.name,
			*slip.words ? "" : "'", slip.hint);
	sonde_bind_check_free(check);
	return rc;
}

static int check_condition(const struct sonde_sources *set,
			   const struct sonde_source_rule *rule,
			   struct sonde_source_error *error)
{
	struct sonde_expr_error details;
	struct sonde_expr *expr;
	int rc = sonde_expr_parse(rule->condition, &details, &expr);

	if (rc)
		return sonde_source_fail(error, rc, "if %.150s: %.200s",
					 rule->condition, details.text);
	rc = check_words(set, rule, expr, error);
	sonde_expr_free(expr);
	return rc;
}

static int check_conditions(const struct sonde_sources *set,
			    const struct sonde_source_rules *rules,
			    struct sonde_source_error *error)
{
	const char *before = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < rules->nr && !rc; i++) {
		const struct sonde_source_rule *rule = &rules->rules[i];

		/* Those of one -k share theirs. */
		if (rule->condition && rule->condition != before)
			rc = check_condition(set, rule, error);
		before = rule->condition;
	}
	return rc;
}

/* No event is left to record: the user took each away, or the sources have
 * none for what was selected. */
static int say_nothing_left(const struct sonde_source_rules *rules,
			    struct sonde_source_error *error)
{
	const struct sonde_source_rule *rule =
		sonde_source_rules_selected(rules);

	if (!rule)
		return sonde_source_fail(error, -ENODATA,
					 "-k selects no kernel event: each is "
					 "excluded by a '!'");
	return sonde_source_fail(error, -ENODATA,
				 "%.100s: this kernel has it, but no source "
				 "that was tried can record it; another "
				 "--kernel-source may",
				 rule->text);
}

int sonde_sources_open(const struct sonde_source_config *config,
		       enum sonde_source_choice choice,
		       struct sonde_sources *ret_set,
		       struct sonde_source_error *error)
{
	struct sonde_sources set = { .nr = 0 };
	const struct sonde_source_rule *rule;
	int rc;

	if (config->scope == SONDE_SOURCE_TREE && !sonde_source_knows_pids())
		return sonde_source_fail(
			error, -ENODEV,
			"in a container (a PID namespace) the kernel's numbers "
			"of the program's processes are not known; record all "
			"of the machine with -a, or run sonde outside of it");
	rc = open_chosen(config, choice, &set, error);
	rule = rc && rc != -ENODATA ?
		       NULL :
		       sonde_source_rules_unmatched(config->rules);
	if (rule && *set.note)
		rc = sonde_source_fail(error, -EACCES,
				       "%.100s: no such event is known; %.280s",
				       rule->text, set.note);
	else if (rule)
		rc = fail_unmatched(rule, error);
	else if (!rc)
		rc = check_exclusions(config->rules, error);
	if (!rc && !set.nr)
		rc = -ENODATA;
	if (!rc)
		rc = check_conditions(&set, config->rules, error);
	if (rc == -ENODATA)
		(void)say_nothing_left(config->rules, error);
	if (rc)
		sonde_sources_close(&set);
	else
		*ret_set = set;
	return rc;
}

void sonde_sources_close(struct sonde_sources *set)
{
	while (set->nr) {
		struct sonde_source *source = set->sources[--set->nr];

		source->ops->close(source);
	}
	sonde_callstacks_store_free(set->stacks);
	sonde_perf_code_free(set->code);
	set->stacks = NULL;
	set->code = NULL;
	set->name[0] = '\0';
}

const char *sonde_sources_name(const struct sonde_sources *set)
{
	return set->nr ? set->name : "none";
}

bool sonde_source_explain(const struct sonde_source_config *config,
			  const char *part, char text[SONDE_SOURCE_WHY])
{
	return config->explain && config->explain(part, text, SONDE_SOURCE_WHY);
}
