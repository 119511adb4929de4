/* SPDX-License-Identifier: MIT */
/* actions.c - see actions.h. */
#include "probe/actions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/agent.h"
#include "probe/names.h"

/* What only reads need not be read twice. */
static bool is_repeated(const struct sonde_probe_looked *list, size_t i)
{
	const struct sonde_probe_looked *this = &list[i];
	const struct sonde_probe_action *action = this->action;

	if (this->shape.sets || this->shape.nr_variables)
		return false;
	for (size_t k = 0; k < i; k++) {
		const struct sonde_probe_action *other = list[k].action;

		if (other->steps != action->steps ||
		    other->kind != action->kind)
			continue;
		if (other->kind == SONDE_PROBE_MEMORY &&
		    other->reg == action->reg &&
		    other->offset == action->offset &&
		    other->length == action->length)
			return true;
		if (other->kind == SONDE_PROBE_EXPRESSION &&
		    other->nr_bytes == action->nr_bytes &&
		    memcmp(other->bytes, action->bytes, action->nr_bytes) == 0)
			return true;
	}
	return false;
}

int sonde_probe_decode(const struct sonde_probe_point *point,
		       const struct sonde_probe_code *code, char *error,
		       size_t error_size, struct sonde_program **ret_program)
{
	struct sonde_expr_error wrong = { .text = "no memory" };
	int rc = sonde_agent_decode(code->bytes, code->nr, code->collects,
				    &wrong, ret_program);

	if (rc)
		(void)snprintf(error, error_size, "tracepoint %u: %s",
			       point->number, wrong.text);
	return rc;
}

static enum sonde_probe_action_is what_is(const struct sonde_probe_looked *this)
{
	if (!this->program)
		return SONDE_PROBE_IS_OTHER;
	if (this->shape.nr_variables)
		return SONDE_PROBE_IS_VARIABLE;
	if (this->shape.sets)
		return SONDE_PROBE_IS_SET;
	if (this->shape.string_max)
		return SONDE_PROBE_IS_STRING;
	return this->shape.is_value ? SONDE_PROBE_IS_VALUE :
				      SONDE_PROBE_IS_READ;
}

static int name_actions(const struct sonde_probe_point *point,
			const struct sonde_probe_points *points, bool steps,
			struct sonde_probe_looked *list)
{
	size_t nr = point->nr_actions;
	enum sonde_probe_action_is *is = calloc(nr + 1, sizeof(*is));
	char **names = calloc(nr + 1, sizeof(*names));
	int rc = -ENOMEM;

	if (is && names) {
		for (size_t i = 0; i < nr; i++)
			is[i] = what_is(&list[i]);
		rc = sonde_probe_names_find(point, points, steps, is, names);
		for (size_t i = 0; i < nr; i++)
			list[i].name = names[i];
	}
	free(is);
	free((void *)names);
	return rc;
}

static int look_at(const struct sonde_probe_point *point, char *error,
		   size_t error_size, struct sonde_probe_looked *this)
{
	const struct sonde_probe_code code = { this->action->bytes,
					       this->action->nr_bytes, true };
	int rc;

	if (this->action->kind != SONDE_PROBE_EXPRESSION)
		return 0;
	rc = sonde_probe_decode(point, &code, error, error_size,
				&this->program);
	if (!rc)
		sonde_probe_shape(this->program, &this->shape);
	return rc;
}

int sonde_probe_actions_look(const struct sonde_probe_point *point,
			     const struct sonde_probe_points *points,
			     bool steps, char *error, size_t error_size,
			     struct sonde_probe_looked **ret_list)
{
	struct sonde_probe_looked *list =
		calloc(point->nr_actions + 1, sizeof(*list));
	int rc = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < point->nr_actions; i++)
		list[i].action = &point->actions[i];
	for (size_t i = 0; i < point->nr_actions && !rc; i++) {
		if (point->actions[i].steps != steps)
			continue;
		rc = look_at(point, error, error_size, &list[i]);
		if (!rc)
			list[i].repeated = is_repeated(list, i);
	}
	if (!rc)
		rc = name_actions(point, points, steps, list);
	if (rc)
		sonde_probe_actions_free(list, point->nr_actions);
	else
		*ret_list = list;
	return rc;
}

void sonde_probe_actions_free(struct sonde_probe_looked *list, size_t nr)
{
	for (size_t i = 0; list && i < nr; i++) {
		free(list[i].name);
		sonde_program_free(list[i].program);
	}
	free(list);
}
