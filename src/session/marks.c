/* SPDX-License-Identifier: MIT */
/*
 * marks.c - see marks.h. A kind is described as a program's event, as rules and
 * conditions are about those; its condition is bound once, at its first mark.
 */
#include "session/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/condition.h"
#include "source/marks/table.h"
#include "types/desc.h"

struct marks_bound {
	bool is_bound;
	bool is_unfit;                     /* a condition doesn't fit it */
	struct sonde_condition *condition; /* NULL: there is none */
	struct sonde_desc *desc;           /* the condition's */
};

struct sonde_session_marks {
	struct sonde_source_marks base;
	const struct sonde_session *session;
	struct sonde_filters *filters;
	struct marks_bound kinds[SONDE_MARKS_MAX + SONDE_LEVELS];
	uint64_t room[SONDE_DESC_MAX / 8];
};

/* 0; -EINVAL: it doesn't fit, as the user has been told; -ENOMEM. */
static int bind_kind(struct sonde_session_marks *marks,
		     const struct sonde_marks_line *mark,
		     struct marks_bound *bound)
{
	const struct sonde_desc *desc = (const struct sonde_desc *)marks->room;
	int rc = sonde_marks_describe(mark, false, marks->room);
	size_t size;

	if (rc)
		return rc;
	size = sonde_desc_size(desc);
	bound->desc = malloc(size);
	if (!bound->desc)
		return -ENOMEM;
	memcpy(bound->desc, desc, size);
	rc = sonde_filters_condition(marks->filters, bound->desc,
				     &bound->condition);
	if (rc || !bound->condition) {
		free(bound->desc);
		bound->desc = NULL;
	}
	return rc;
}

static bool marks_fits(struct sonde_session_marks *marks,
		       const struct sonde_marks_taken *taken, uint32_t tid,
		       uint32_t cpu)
{
	struct marks_bound *bound = &marks->kinds[taken->kind];
	int rc = 0;

	if (!marks->filters)
		return true;
	if (!bound->is_bound)
		rc = bind_kind(marks, taken->mark, bound);
	bound->is_bound = rc != -ENOMEM;
	bound->is_unfit |= rc == -EINVAL || rc == -E2BIG;
	return bound->is_bound && !bound->is_unfit &&
	       (!bound->condition ||
		sonde_condition_test(bound->condition, taken->payload,
				     taken->size, tid, cpu));
}

static bool marks_want(void *ctx, const struct sonde_marks_taken *taken,
		       uint32_t tid, uint32_t cpu)
{
	struct sonde_session_marks *marks = ctx;
	const struct sonde_marks_line *mark = taken->mark;
	const struct sonde_source_change *selected;

	if (!marks->session)
		return false;
	selected = sonde_session_selected(marks->session);
	return sonde_select(selected->rules, selected->rules_size,
			    selected->loglevel, mark->provider, mark->name,
			    mark->level) &&
	       marks_fits(marks, taken, tid, cpu);
}

struct sonde_session_marks *sonde_session_marks_new(void)
{
	struct sonde_session_marks *marks = calloc(1, sizeof(*marks));

	if (marks)
		marks->base = (struct sonde_source_marks){ .wants = marks_want,
							   .ctx = marks };
	return marks;
}

void sonde_session_marks_bind(struct sonde_session_marks *marks,
			      const struct sonde_session *session,
			      struct sonde_filters *filters)
{
	marks->session = session;
	marks->filters = filters;
}

const struct sonde_source_marks *
sonde_session_marks_wants(struct sonde_session_marks *marks)
{
	return marks ? &marks->base : NULL;
}

void sonde_session_marks_free(struct sonde_session_marks *marks)
{
	if (!marks)
		return;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(marks->kinds); i++) {
		sonde_condition_free(marks->kinds[i].condition);
		free(marks->kinds[i].desc);
	}
	free(marks);
}
