/* SPDX-License-Identifier: MIT */
/*
 * list_kernel.c - `sonde list -k [PATTERN...]`: what `sonde record -k` may be
 * given on this kernel. Patterns are those of its rules, so what is listed for
 * a pattern is what it records.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/nearest.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/pager.h"
#include "source/available.h"
#include "source/rules.h"

struct listing {
	struct sonde_source_rules rules;
	bool is_json;
	struct sonde_json json;
	uint64_t nr;
};

static int show(void *ctx, const char *group, const char *name,
		const char *shown)
{
	struct listing *listing = ctx;
	char full[512];

	if (listing->rules.nr &&
	    !sonde_source_rules_match(&listing->rules, group, name, shown))
		return 0;
	if (listing->is_json) {
		if (!listing->nr)
			sonde_json_open(&listing->json, NULL, '[');
		sonde_json_line(&listing->json, 2);
		sonde_json_open(&listing->json, NULL, '{');
		sonde_json_put_text(&listing->json, "group", group);
		sonde_json_put_text(&listing->json, "name", name);
		sonde_json_put_text(&listing->json, "event", shown);
		sonde_json_close(&listing->json, '}');
	} else {
		(void)snprintf(full, sizeof(full), "%s:%s", group, name);
		if (strcmp(name, shown) != 0)
			(void)printf("%-40s %s\n", full, shown);
		else
			(void)puts(full);
	}
	listing->nr++;
	return 0;
}

static void end_json(struct listing *listing)
{
	if (listing->nr)
		sonde_json_line(&listing->json, 0);
	else
		sonde_json_open(&listing->json, NULL, '[');
	sonde_json_close(&listing->json, ']');
	(void)putchar('\n');
}

static int list(struct listing *listing)
{
	struct sonde_source_error error = { "" };
	const struct sonde_source_rule *rule;
	struct sonde_nearest nearest;

	sonde_pager_begin();
	if (sonde_source_available(show, listing, &error)) {
		sonde_pager_end();
		sonde_complain("%s", error.text);
		return 1;
	}
	if (listing->is_json)
		end_json(listing);
	sonde_pager_end();
	rule = sonde_source_rules_unmatched(&listing->rules);
	if (!rule)
		return 0;
	sonde_complain("%.200s: this kernel has no such event%s", rule->text,
		       sonde_source_hint(rule->text, &nearest));
	return 1;
}

int sonde_list_kernel(int nr, char **patterns, bool json)
{
	static struct listing listing;
	char error[300];
	int rc = 0;

	listing.is_json = json;
	listing.json = sonde_json_to_file(stdout);
	for (int i = 0; i < nr && !rc; i++)
		rc = sonde_source_rules_add(&listing.rules, patterns[i], error,
					    sizeof(error));
	if (rc == -ENOMEM)
		(void)snprintf(error, sizeof(error), "no memory left");
	if (rc)
		sonde_complain("%s", error);
	else
		rc = list(&listing);
	sonde_source_rules_fini(&listing.rules);
	return rc < 0 ? SONDE_EXIT_USAGE : rc;
}
