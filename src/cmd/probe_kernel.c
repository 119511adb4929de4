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
#define PROBES_MAX  128u

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
	char *texts; /* that requests point into */
	struct sonde_probe_kernel_request requests[PROBES_MAX];
	struct sonde_source_probe *made[PROBES_MAX];
	struct sonde_source_probe list[PROBES_MAX]; /* the same, in one row */
	uint32_t nr;
	uint32_t nr_made;
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
static int check_names(const struct kernel_probes *probes)
{
	for (uint32_t i = 1; i < probes->nr_made; i++) {
		const struct sonde_source_probe *probe = &probes->list[i];
		uint32_t k = 0;

		while (k < i && strcmp(probes->list[k].name, probe->name) != 0)
			k++;
		if (k == i)
			continue;
		sonde_complain("there are two probes at %.100s, whose events "
			       "could not be told apart: join their conditions "
			       "with ||",
			       probe->function);
		return SONDE_EXIT_USAGE;
	}
	return 0;
}

/* What "PROBE; PROBE ..." asks for. */
static int make_requests(const struct sonde_probe_kernel_options *wanted,
			 struct kernel_probes *probes)
{
	char *at = strdup(wanted->where);

	probes->texts = at;
	while (at) {
		size_t length = sonde_text_item(at, ';');
		char *next =
			at[length] && at[length + 1] ? at + length + 1 : NULL;
		const char *collect;

		if (probes->nr == PROBES_MAX) {
			sonde_complain("more than %u probes", PROBES_MAX);
			return SONDE_EXIT_USAGE;
		}
		at[length] = '\0';
		collect = cut_collect(at);
		probes->requests[probes->nr++] =
			(struct sonde_probe_kernel_request){
				.where = at,
				.collect = collect ? collect : wanted->collect,
				.name = wanted->name,
			};
		at = next;
	}
	return probes->texts ? 0 : EXIT_FAILED;
}

static int make_probes(const struct sonde_probe_kernel_options *wanted,
		       struct kernel_probes *probes)
{
	char error[600];
	int status = make_requests(wanted, probes);

	if (status)
		return status;
	if (sonde_probe_kernel_resolve(probes->requests, probes->nr, error,
				       sizeof(error), probes->made)) {
		sonde_complain("the probe is not in: %s", error);
		return EXIT_FAILED;
	}
	probes->nr_made = probes->nr;
	for (uint32_t i = 0; i < probes->nr_made; i++)
		probes->list[i] = *probes->made[i];
	return check_names(probes);
}

int sonde_probe_kernel_record(const struct sonde_probe_kernel_options *wanted)
{
	static struct sonde_record_options options;
	static struct kernel_probes probes;
	int status = make_options(wanted, &options);

	if (!status)
		status = make_probes(wanted, &probes);
	options.session.kernel.probes = probes.list;
	options.session.kernel.nr_probes = probes.nr_made;
	if (!status)
		status = sonde_command_record_run(&options);
	for (uint32_t i = 0; i < probes.nr_made; i++)
		sonde_probe_kernel_free(probes.made[i]);
	free(probes.texts);
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
