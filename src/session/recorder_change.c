/* SPDX-License-Identifier: MIT */
/*
 * recorder_change.c - see recorder_parts.h: what a session records is changed
 * while it does.
 *
 * The memory is checked first, and then nothing of it can fail; rules are
 * changed in all programs or in none (session/session.h). Rings that are there
 * stay as large as they are: more memory, or less, is for those who come.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"

/* A trace takes no larger packets than it was made for, and a budget isn't
 * exceeded. */
static int check_budget(const struct sonde_recorder *r, uint64_t bytes,
			struct sonde_source_error *error)
{
	char used[32];

	if (bytes >= r->budget.used_bytes)
		return 0;
	return sonde_source_fail(
		error, -EBUSY,
		"the processes that it records have %s of rings; "
		"--memory can't be less while they run",
		sonde_number_put_size(r->budget.used_bytes, used,
				      sizeof(used)));
}

void sonde_recorder_select(struct sonde_recorder *r, const char *rules,
			   size_t size, uint32_t loglevel)
{
	memcpy(r->rules, rules, size);
	r->setup.rules = r->rules;
	r->setup.rules_size = size;
	r->setup.loglevel = loglevel;
	sonde_declared_free(r->declared);
	r->declared = sonde_declared_new(r->rules, size, loglevel);
	if (r->declared)
		sonde_declared_ask(r->declared, r->config->session->hooks);
}

int sonde_recorder_change(struct sonde_recorder *r,
			  const struct sonde_session_wish *wish,
			  struct sonde_source_error *error)
{
	struct sonde_source_change change = *sonde_session_selected(r->session);
	int rc = 0;

	if (wish->rules_size) {
		change.rules = wish->rules;
		change.rules_size = wish->rules_size;
	}
	if (wish->has_loglevel)
		change.loglevel = wish->loglevel;
	if (wish->memory_bytes)
		rc = check_budget(r, wish->memory_bytes, error);
	if (!rc && (wish->rules_size || wish->has_loglevel))
		rc = sonde_session_change(r->session, &change, error);
	if (rc)
		return rc;
	sonde_recorder_select(r, change.rules, change.rules_size,
			      change.loglevel);
	if (wish->memory_bytes)
		r->budget.total_bytes = wish->memory_bytes;
	return 0;
}
