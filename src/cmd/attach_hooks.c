/* SPDX-License-Identifier: MIT */
/*
 * attach_hooks.c - what puts --malloc, --locks and --io into processes that run
 * (attach_hooks.h): probe/hooks, if this sonde was built with it.
 */
#include "cmd/attach_hooks.h"

#include "cmd/cmd.h"
#include "cmd/recording.h"

#ifdef SONDE_HAVE_PROBES
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "probe/hooks/entry.h"
#include "probe/hooks/events.h"
#include "probe/hooks/hooks.h"

_Static_assert((unsigned int)SONDE_RECORD_MALLOC == SONDE_HOOKS_GROUP_MALLOC &&
		       (unsigned int)SONDE_RECORD_LOCKS ==
			       SONDE_HOOKS_GROUP_LOCKS &&
		       (unsigned int)SONDE_RECORD_IO == SONDE_HOOKS_GROUP_IO,
	       "one is passed on as the other");

static struct sonde_hooks *attached; /* one recording per process */
static struct sonde_shadow_rule rule;

static int begin_hooks(void *ctx, const struct sonde_child *child)
{
	const struct sonde_record_options *options = ctx;
	const struct sonde_hooks_config config = {
		/* A program that is started has these by preloading. */
		.groups = options->session.attaches ? options->hooks : 0,
		.functions = { options->functions, options->nr_functions,
			       options->nots, options->nr_nots,
			       options->functions_args },
		.sites = { options->sites, options->nr_sites,
			   options->session.rules,
			   options->session.rules_size },
		.verbose = options->verbose,
		.quiet = options->quiet,
		.rule = rule,
		.child = child,
		.say = sonde_complain_text,
	};

	attached = sonde_hooks_new(&config);
	return attached ? 0 : -ENOMEM;
}

static int attach_hooks(void *ctx, pid_t pid, char *text, size_t size)
{
	(void)ctx;
	return sonde_hooks_attach(attached, pid, text, size);
}

static int start_program_hooks(void *ctx, pid_t pid, char *text, size_t size)
{
	int rc = sonde_hooks_entry_reach(pid);

	(void)ctx;
	if (rc == -ECHILD)
		return rc;
	if (rc) {
		(void)snprintf(text, size,
			       "the program can't be held at its entry: %s",
			       strerrordesc_np(-rc));
		return rc;
	}
	rc = sonde_hooks_attach(attached, pid, text, size);
	/* Our child, and not reaped. If it has no hooks, it is never run. */
	if (!rc)
		(void)kill(pid, SIGCONT);
	return rc;
}

/* Functions as they are said to a session that records. */
struct chosen_functions {
	char rules[SONDE_RULES_MAX];
	const char *list[SONDE_FUNCTIONS_MAX], *nots[SONDE_FUNCTIONS_MAX];
	uint32_t nr, nr_nots;
};

/* Takes the rules apart. 0 or -E2BIG. */
static int choose_functions(struct chosen_functions *to, const char *functions)
{
	size_t length;
	size_t at = 0;

	to->nr = to->nr_nots = 0;
	for (; *functions; functions += length) {
		const char **list = *functions == '+' ? to->list : to->nots;
		uint32_t *nr = *functions == '+' ? &to->nr : &to->nr_nots;

		length = strlen(functions) + 1;
		if (*nr == SONDE_FUNCTIONS_MAX ||
		    at + length > sizeof(to->rules))
			return -E2BIG;
		memcpy(to->rules + at, functions, length);
		list[(*nr)++] = to->rules + at + 1;
		at += length;
	}
	return 0;
}

static int change_hooks(void *ctx, const char *functions, char *text,
			size_t size)
{
	/* Those that are recorded are borrowed until others are. */
	static struct chosen_functions chosen[2];
	static unsigned int now;
	const struct sonde_record_options *options = ctx;
	struct chosen_functions *next = &chosen[!now];
	int rc = choose_functions(next, functions);

	if (rc) {
		(void)snprintf(text, size,
			       "at most %u functions are taken; a GLOB can be "
			       "of many",
			       SONDE_FUNCTIONS_MAX);
		return rc;
	}
	rc = sonde_hooks_change(
		attached,
		&(struct sonde_hooks_globs){ next->list, next->nr, next->nots,
					     next->nr_nots,
					     options->functions_args },
		text, size);
	if (!rc)
		now = !now;
	return rc;
}

static void look_at_hooks(void *ctx)
{
	(void)ctx;
	sonde_hooks_look(attached);
}

static void end_hooks(void *ctx)
{
	(void)ctx;
	sonde_hooks_end(attached);
}

static void tell_hooks(void *ctx, struct sonde_summary *summary)
{
	(void)ctx;
	sonde_hooks_tell(attached, summary);
}
#endif

int sonde_command_attach_hooks(struct sonde_record_options *options,
			       struct sonde_frontend_hooks *table,
			       const struct sonde_frontend_hooks **ret)
{
	if (!options->nr_functions && !options->nr_sites &&
	    (!options->session.attaches || !options->session.has_hooks))
		return 0;
#ifdef SONDE_HAVE_PROBES
	*table = (struct sonde_frontend_hooks){
		.ctx = options,
		.begin = begin_hooks,
		.attach = attach_hooks,
		.change = change_hooks,
		.start = start_program_hooks,
		.look = look_at_hooks,
		.end = end_hooks,
		.tell = tell_hooks,
	};
	*ret = table;
	return sonde_command_function_rule(options, &rule);
#else
	(void)table;
	(void)ret;
	sonde_complain("--malloc, --locks, --io and --functions of a program "
		       "that runs, and -e sdt:, need probes, without which "
		       "this sonde was built; preload "
		       "them: sonde record --malloc -- PROGRAM");
	return SONDE_EXIT_FAILED;
#endif
}
