/* SPDX-License-Identifier: MIT */
/*
 * probe_kernel.c - `sonde probe --kernel`: probes at functions and on tracepoints of
 * the running kernel, recorded as `sonde record` records: in one trace, with what else
 * is asked for.
 *
 * Probes hang on descriptors of the recorder's, so whatever ends that takes
 * them out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/text.h"
#include "base/unconst.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/probe.h"
#include "cmd/recording.h"
#include "probe/kernel.h"
#include "sys/kallsyms.h"
#include "types/select.h"

#define EXIT_FAILED 1
#define WORDS_MAX   16u
#define PROBES_MAX  32u

/* As if that had been said to `sonde record`. Without other kernel events there
 * are rules all the same, of which none is left. */
static int make_options(const struct sonde_probe_kernel_options *wanted,
			struct sonde_record_options *options)
{
	static struct sonde_source_rules none;
	const char *rules = wanted->rules ? wanted->rules : "sched_switch";
	const char *words[WORDS_MAX] = { "record", "-k", rules };
	int nr = 3;
	char stack[64];
	char error[512];

	if (wanted->stack) {
		(void)snprintf(stack, sizeof(stack), "--stack%s%.40s",
			       *wanted->stack ? "=" : "", wanted->stack);
		words[nr++] = stack;
	}
	if (wanted->source) {
		words[nr++] = "--kernel-source";
		words[nr++] = wanted->source;
	}
	if (wanted->all || !wanted->program)
		words[nr++] = "-a";
	if (wanted->output) {
		words[nr++] = "-o";
		words[nr++] = wanted->output;
	}
	if (wanted->program) {
		words[nr++] = "--";
		words[nr++] = wanted->program[0];
	}
	if (sonde_record_options_parse(nr, sonde_unconst(words), options, error,
				       sizeof(error))) {
		sonde_complain("%s", error);
		return SONDE_EXIT_USAGE;
	}
	if (wanted->program)
		options->program = wanted->program;
	if (!wanted->rules)
		options->session.kernel.rules = &none;
	return 0;
}

/* ---- the probes ---- */

struct kernel_probes {
	struct sonde_source_probe *made[PROBES_MAX];
	struct sonde_source_probe list[PROBES_MAX]; /* the same, in one row */
	uint32_t nr;
};

/* "FUNCTION if CONDITION collect LIST": the list, cut off; NULL. No expression of C
 * has that word between two blanks but as a name alone. */
static const char *cut_collect(char *text)
{
	static const char word[] = " collect ";
	char *at = strstr(text, word);

	if (!at)
		return NULL;
	*at = '\0';
	return at + strlen(word);
}

/* Two that would be called the same, could not be told apart. */
static int check_name_of(const struct kernel_probes *probes,
			 const struct sonde_source_probe *probe)
{
	for (uint32_t i = 0; i < probes->nr; i++) {
		if (strcmp(probes->list[i].name, probe->name) != 0)
			continue;
		sonde_complain("there are two probes at %.100s, whose events "
			       "could not be told apart: join their conditions "
			       "with ||",
			       probe->function);
		return SONDE_EXIT_USAGE;
	}
	return 0;
}

static int make_one_probe(const struct sonde_probe_kernel_options *wanted,
			  char *text, struct kernel_probes *probes)
{
	const char *collect = cut_collect(text);
	const struct sonde_probe_kernel_request request = {
		.where = text,
		.collect = collect ? collect : wanted->collect,
		.name = wanted->name,
	};
	struct sonde_source_probe *probe = NULL;
	char error[600];
	int status;

	if (sonde_probe_kernel_resolve(&request, error, sizeof(error),
				       &probe)) {
		sonde_complain("the probe is not in: %s", error);
		return EXIT_FAILED;
	}
	status = check_name_of(probes, probe);
	probes->made[probes->nr] = probe;
	probes->list[probes->nr++] = *probe;
	return status;
}

/* Makes the probes of "PROBE; PROBE ...". */
static int make_probes(const struct sonde_probe_kernel_options *wanted,
		       struct kernel_probes *probes)
{
	const char *at = wanted->where;
	int status = 0;

	do {
		size_t length = sonde_text_item(at, ';');
		char *text = strndup(at, length);

		if (probes->nr == PROBES_MAX) {
			sonde_complain("more than %u probes", PROBES_MAX);
			status = SONDE_EXIT_USAGE;
		} else if (!text) {
			status = EXIT_FAILED;
		} else {
			status = make_one_probe(wanted, text, probes);
		}
		free(text);
		at += length + (at[length] == ';');
	} while (!status && *at);
	return status;
}

int sonde_probe_kernel_record(const struct sonde_probe_kernel_options *wanted)
{
	static struct sonde_record_options options;
	struct kernel_probes probes = { .nr = 0 };
	int status = make_options(wanted, &options);

	if (!status)
		status = make_probes(wanted, &probes);
	options.session.kernel.probes = probes.list;
	options.session.kernel.nr_probes = probes.nr;
	if (!status)
		status = sonde_command_record_run(&options);
	for (uint32_t i = 0; i < probes.nr; i++)
		sonde_probe_kernel_free(probes.made[i]);
	return status;
}

/* ---- --list ---- */

struct kernel_listing {
	const char *glob;
	bool is_json;
	struct sonde_json json;
	uint64_t nr;
};

static bool list_function(void *ctx, const struct sonde_kallsym *symbol)
{
	struct kernel_listing *listing = ctx;

	if (!symbol->is_code || !sonde_glob_match(listing->glob, symbol->name))
		return true;
	if (listing->is_json) {
		if (!listing->nr)
			sonde_json_open(&listing->json, NULL, '[');
		sonde_json_line(&listing->json, 2);
		sonde_json_open(&listing->json, NULL, '{');
		sonde_json_put_text(&listing->json, "function", symbol->name);
		if (symbol->module)
			sonde_json_put_text(&listing->json, "module",
					    symbol->module);
		sonde_json_close(&listing->json, '}');
	} else if (symbol->module) {
		(void)printf("%-40s [%s]\n", symbol->name, symbol->module);
	} else {
		(void)puts(symbol->name);
	}
	listing->nr++;
	return true;
}

static void end_functions(struct kernel_listing *listing)
{
	if (!listing->nr)
		sonde_json_open(&listing->json, NULL, '[');
	else
		sonde_json_line(&listing->json, 0);
	sonde_json_close(&listing->json, ']');
	(void)putchar('\n');
}

int sonde_probe_kernel_list(const char *glob, bool json)
{
	struct kernel_listing listing = { .glob = glob, .is_json = json };
	int rc;

	listing.json = sonde_json_to_file(stdout);
	sonde_pager_begin();
	rc = sonde_kallsyms_each(list_function, &listing);
	if (json && !rc)
		end_functions(&listing);
	sonde_pager_end();
	if (rc) {
		sonde_complain("/proc/kallsyms: %s", strerrordesc_np(-rc));
		return EXIT_FAILED;
	}
	if (listing.nr || json)
		return 0;
	sonde_complain("no function of the kernel matches %.100s", glob);
	return EXIT_FAILED;
}
