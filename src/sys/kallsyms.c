/* SPDX-License-Identifier: MIT */
/*
 * kallsyms.c - reads "ADDRESS LETTER NAME[\t[MODULE]]", line by line; what has
 * another form is passed over. Some 100,000 lines take some 50 ms, most of it
 * the kernel's.
 */
#include "sys/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "sys/textfile.h"

static bool kallsyms_take(char *line, struct sonde_kallsym *symbol)
{
	const char *at = line;
	char *name;
	char *end;

	if (!sonde_number_take(&at, 16, UINT64_MAX, &symbol->address) ||
	    at[0] != ' ' || !at[1] || at[2] != ' ')
		return false;
	symbol->is_code = strchr("tTwW", at[1]) != NULL;
	name = line + (at - line) + 3;
	end = name + strcspn(name, "\t ");
	symbol->module = strchr(end, '[');
	if (symbol->module) {
		symbol->module++;
		end[strcspn(end, "]")] = '\0';
	}
	*end = '\0';
	symbol->name = name;
	return *name;
}

int sonde_kallsyms_each_of(const char *path,
			   bool (*visit)(void *ctx,
					 const struct sonde_kallsym *symbol),
			   void *ctx)
{
	struct sonde_lines *lines = malloc(sizeof(*lines));
	struct sonde_kallsym symbol;
	bool goes_on = true;
	char *line;
	int rc;

	if (!lines)
		return -ENOMEM;
	rc = sonde_lines_open(lines, "%s", path);
	while (!rc && goes_on && (line = sonde_lines_next(lines)))
		if (kallsyms_take(line, &symbol))
			goes_on = visit(ctx, &symbol);
	if (!rc)
		sonde_lines_close(lines);
	free(lines);
	return rc;
}

int sonde_kallsyms_each(bool (*visit)(void *ctx,
				      const struct sonde_kallsym *symbol),
			void *ctx)
{
	return sonde_kallsyms_each_of("/proc/kallsyms", visit, ctx);
}
