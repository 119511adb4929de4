/* SPDX-License-Identifier: MIT */
/*
 * rules.c - collecting rules (rules.h). The list is whole after each call, and
 * one that doesn't fit leaves it as it was.
 */
#include "session/rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "types/select.h"

int sonde_session_rules_add(char rules[SONDE_RULES_MAX], size_t *size,
			    char sign, const char *glob, char *error,
			    size_t error_size)
{
	size_t at = *size - 1;
	size_t length = strlen(glob);

	if (!length)
		(void)snprintf(error, error_size,
			       "an empty pattern selects nothing; '*' selects "
			       "every event");
	else if (length + 1 > SONDE_GLOB_MAX)
		(void)snprintf(error, error_size,
			       "the pattern '%.40s...' is %zu characters long; "
			       "the limit is %d",
			       glob, length, SONDE_GLOB_MAX - 1);
	else if (at + length + 3 > SONDE_RULES_MAX)
		(void)snprintf(
			error, error_size,
			"the patterns of -e and --exclude (or --functions "
			"and --not) together exceed %u bytes; merge some "
			"with '*'",
			SONDE_RULES_MAX);
	else {
		rules[at] = sign;
		memcpy(rules + at + 1, glob, length + 1);
		rules[at + length + 2] = '\0';
		*size = at + length + 3;
		return 0;
	}
	return -EINVAL;
}
