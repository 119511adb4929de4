/* SPDX-License-Identifier: MIT */
/*
 * given.c - see given.h: the text is parsed once for its names, and compiled anew for
 * each event, whose fields have other places and types.
 */
#include "session/given.h"

#include <errno.h>

#include "expr/bind.h"
#include "expr/expr.h"
#include "types/desc.h"

int sonde_given_init(struct sonde_given *ret_given, const char *text)
{
	struct sonde_expr_error error;
	int rc;

	*ret_given = (struct sonde_given){ .text = text };
	rc = sonde_expr_parse(text, &error, &ret_given->expr);
	return rc ? rc :
		    sonde_bind_check_new(ret_given->expr, &ret_given->check);
}

void sonde_given_fini(struct sonde_given *given)
{
	sonde_expr_free(given->expr);
	sonde_bind_check_free(given->check);
	*given = (struct sonde_given){ .text = NULL };
}

void sonde_given_unfit(struct sonde_given *given, const struct sonde_desc *desc,
		       const char *verb, const char *why,
		       struct sonde_summary *summary)
{
	if (!given->told)
		sonde_summary_note(summary,
				   "%.40s:%.40s is not %s: '%.60s': %s",
				   sonde_desc_provider(desc),
				   sonde_desc_name(desc), verb, given->text,
				   why);
	given->told = true;
}

int sonde_given_bind(struct sonde_given *given, const struct sonde_desc *desc,
		     const char *verb, struct sonde_summary *summary,
		     struct sonde_condition **ret_condition)
{
	struct sonde_condition *condition;
	char why[300];
	int rc = sonde_condition_new_for_process(desc, given->text, why,
						 sizeof(why), &condition);

	if (rc == -EINVAL)
		sonde_given_unfit(given, desc, verb, why, summary);
	if (rc)
		return rc;
	given->nr_matched++;
	rc = sonde_condition_check(condition, given->check);
	if (rc)
		sonde_condition_free(condition);
	else
		*ret_condition = condition;
	return rc;
}

static void given_tell_slip(const struct sonde_given *given,
			    const struct sonde_bind_slip *slip,
			    struct sonde_summary *summary)
{
	if (*slip->words)
		sonde_summary_note(summary, "'%.80s': %.200s (column %u)",
				   given->text, slip->words, slip->column);
	else
		sonde_summary_note(summary,
				   "'%.80s': no event that this is about has "
				   "'%.40s' (column %u), so it was missing%s",
				   given->text, slip->name, slip->column,
				   slip->hint);
}

void sonde_given_finish(const struct sonde_given *given,
			struct sonde_summary *summary)
{
	struct sonde_bind_slip slip;
	size_t at = 0;

	if (!given->nr_matched || given->told)
		return;
	while (sonde_bind_check_next(given->check, &at, &slip))
		given_tell_slip(given, &slip, summary);
}
