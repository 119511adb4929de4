/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "kernel/wanted.h"

#include <stdio.h>
#include <string.h>

#include "kernel/forms.h"
#include "kernel/names.h"

#define LINE_BYTES 256

const struct sonde_kernel_rule *
sonde_kernel_wanted(const struct sonde_kernel_config *config, const char *group,
		    const char *name, const char *shown)
{
	if (config->is_taken && config->is_taken(config->ctx, group, name))
		return NULL;
	return sonde_kernel_rules_match(config->rules, group, name, shown);
}

static bool is_formless(const char *group, const char *name)
{
	return strcmp(group, "syscalls") != 0 &&
	       strcmp(group, "raw_syscalls") != 0 &&
	       strcmp(group, "ftrace") != 0 && !sonde_kernel_form(group, name);
}

int sonde_kernel_each_formless(const char *list,
			       const struct sonde_kernel_config *config,
			       int (*each)(void *ctx,
					   const struct sonde_kernel_rule *rule,
					   const char *group, const char *name),
			       void *ctx)
{
	FILE *file = fopen(list, "re");
	char line[LINE_BYTES];
	int rc = 0;

	if (!file)
		return 0;
	while (!rc && fgets(line, sizeof(line), file)) {
		const struct sonde_kernel_rule *rule;
		char *name = strchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (!name || strlen(name + 1) >= SONDE_KERNEL_NAME_MAX)
			continue;
		*name++ = '\0';
		if (!is_formless(line, name))
			continue;
		rule = sonde_kernel_wanted(config, line, name,
					   sonde_kernel_event_name(line, name));
		if (rule)
			rc = each(ctx, rule, line, name);
	}
	(void)fclose(file); /* was only read */
	return rc;
}
