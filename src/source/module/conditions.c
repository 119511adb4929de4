/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * conditions.c - a rule's condition, as the kernel takes it: the compiled
 * program as it is (expr/program.h has no addresses in it), and for each text
 * that it calls for, where that is in the payload.
 *
 * Numbers behind texts have no fixed place, and can't be called for there, nor
 * can buffers, which may hold NULs: such a condition is refused here. What else the kernel's part refuses (numbers
 * that aren't whole) it says itself.
 */
#include "source/module/module.h"

#include <errno.h>
#include <stdlib.h>

#include "expr/program.h"
#include "source/condition.h"

/* A text for each operation, at most: more than any program has. */
#define TEXTS_MAX SONDE_PROGRAM_OPS

static uint32_t count_texts(const struct sonde_condition *condition)
{
	struct sonde_condition_text text;
	uint32_t nr = 0;

	while (nr < TEXTS_MAX && sonde_condition_call(condition, nr, &text))
		nr++;
	return nr;
}

/* Whether the texts that it calls for all end at a NUL, as the kernel's part
 * takes them to. */
static bool ends_texts(const struct sonde_condition *condition,
		       uint32_t nr_texts)
{
	struct sonde_condition_text text;

	for (uint32_t i = 0; i < nr_texts; i++)
		if (sonde_condition_call(condition, i, &text) && text.is_bytes)
			return false;
	return true;
}

static bool calls_for_texts_only(const struct sonde_program *program,
				 uint32_t nr_texts)
{
	for (uint32_t i = 0; i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];

		if (sonde_expr_op_infos[op->code].operands &
			    SONDE_EXPR_OPERAND_CALL &&
		    op->ref >= nr_texts)
			return false;
	}
	return true;
}

static size_t bytes_of(const struct sonde_program *program)
{
	return sizeof(*program) + program->nr_ops * sizeof(program->ops[0]) +
	       program->texts_bytes;
}

static int fill_texts(struct module_event *event, uint32_t nr)
{
	event->texts = calloc(nr ? nr : 1, sizeof(*event->texts));
	if (!event->texts)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		struct sonde_condition_text text = { .offset = 0 };

		/* It was counted: so it is there. */
		(void)sonde_condition_call(event->compiled, i, &text);
		event->texts[i] = (struct sonde_kmod_text){
			.offset = text.offset,
			.size = text.size,
			.ordinal = text.ordinal,
		};
	}
	event->event.texts = (uintptr_t)event->texts;
	event->event.nr_texts = nr;
	return 0;
}

int module_condition_add(struct module_event *event,
			 const struct sonde_source_rule *rule,
			 struct sonde_source_error *error)
{
	const struct sonde_program *program;
	char why[200] = "";
	uint32_t nr;
	int rc;

	if (!rule->condition)
		return 0;
	event->condition = rule->condition;
	rc = sonde_condition_new(event->desc, rule->condition, why, sizeof(why),
				 &event->compiled);
	if (rc == -EINVAL)
		return sonde_source_fail(error, rc, "if %.100s: %s",
					 rule->condition, why);
	if (rc)
		return rc;
	program = sonde_condition_program(event->compiled);
	nr = count_texts(event->compiled);
	if (!calls_for_texts_only(program, nr) ||
	    !ends_texts(event->compiled, nr) ||
	    bytes_of(program) > SONDE_KMOD_FILTER_MAX)
		return sonde_source_fail(
			error, -EOPNOTSUPP,
			"modules: %s:%s: 'if %.120s' needs a number behind a "
			"text, or a buffer, or is too long; another "
			"--kernel-source can test it",
			event->group, event->name, rule->condition);
	event->event.filter = (uintptr_t)program;
	event->event.filter_bytes = (uint32_t)bytes_of(program);
	return fill_texts(event, nr);
}
