/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * selected.c - which events a source is to deliver (selected.h).
 *
 * An event is selected by the rules and not yet taken by another source; the
 * walk goes through tracepoints that have no form in payloads.h, once each.
 */
#include "source/selected.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "source/marks/mark.h"
#include "source/names.h"
#include "source/payloads.h"

#define LINE_BYTES    256

#define RETURNS_LEAST 1024u
#define RETURNS_MOST  16384u

const struct sonde_source_rule *
sonde_source_selected(const struct sonde_source_config *config,
		      const char *group, const char *name, const char *shown)
{
	if (config->is_taken && config->is_taken(config->ctx, group, name))
		return NULL;
	return sonde_source_rules_match(config->rules, group, name, shown);
}

bool sonde_source_wants_door(const struct sonde_source_config *config)
{
	return config->marks &&
	       sonde_source_selected(config, SONDE_MARK_PROVIDER,
				     SONDE_MARK_LINE, NULL);
}

static bool is_formless(const char *group, const char *name)
{
	return strcmp(group, "syscalls") != 0 &&
	       strcmp(group, "raw_syscalls") != 0 &&
	       strcmp(group, "ftrace") != 0 && !sonde_payload(group, name);
}

int sonde_source_each_template(const char *list,
			       const struct sonde_source_config *config,
			       int (*each)(void *ctx,
					   const struct sonde_source_rule *rule,
					   const char *group, const char *name),
			       void *ctx)
{
	FILE *file = fopen(list, "re");
	char line[LINE_BYTES];
	int rc = 0;

	if (!file)
		return 0;
	while (!rc && fgets(line, sizeof(line), file)) {
		const struct sonde_source_rule *rule;
		char *name = strchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (!name || strlen(name + 1) >= SONDE_SOURCE_NAME_MAX)
			continue;
		*name++ = '\0';
		if (!is_formless(line, name))
			continue;
		rule = sonde_source_selected(config, line, name,
					     sonde_source_event_name(line,
								     name));
		if (rule)
			rc = each(ctx, rule, line, name);
	}
	(void)fclose(file); /* was only read */
	return rc;
}

void sonde_source_probe_name(const char *kind, const char *place, char *out,
			     size_t size)
{
	(void)snprintf(out, size, "%s_%.80s", kind, place);
	for (; *out; out++) {
		bool is_word = (*out >= 'a' && *out <= 'z') ||
			       (*out >= 'A' && *out <= 'Z') ||
			       (*out >= '0' && *out <= '9');

		if (!is_word)
			*out = '_';
	}
}

int sonde_source_no_instruction(struct sonde_source_error *error,
				const char *probe)
{
	return sonde_source_fail(
		error, -EINVAL,
		"%.200s: no instruction of the function begins "
		"at that offset",
		probe);
}

uint32_t sonde_source_returns(const struct sonde_source_config *config,
			      uint32_t most)
{
	uint32_t returns = RETURNS_LEAST;
	struct sysinfo machine = { .procs = 0 };

	/* It fails for bad addresses only; then the least it is. */
	(void)sysinfo(&machine);
	while (returns < RETURNS_MOST && returns < 2u * machine.procs)
		returns *= 2;
	if (config->returns)
		returns = config->returns;
	return returns < most ? returns : most;
}
