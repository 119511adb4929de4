/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * conditions.c - a rule's condition, as the kernel takes it: the compiled
 * program as it is (expr/program.h has no addresses in it), and for each text
 * that it calls for, where that is in the payload.
 *
 * Numbers behind texts have no fixed place, and can't be called for there, nor
 * can buffers, which may hold NULs: such a condition is refused here. What else the kernel's part refuses (numbers
 * that aren't whole) it says itself.
 *
 * A described event has captures for its condition alone: they say what is in the
 * payload, as far as there are texts and lists in it; behind a list of more than
 * bytes the kernel's part finds nothing.
 */
#include "source/module/module.h"

#include <errno.h>
#include <stdlib.h>

#include "expr/operand.h"
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

/* ---- described events ---- */

/* Of so many bytes, in pieces; false: there are too many. */
static bool describe_bytes(struct module_event *event, uint32_t bytes,
			   uint32_t *left)
{
	if (bytes > *left)
		return false;
	*left -= bytes;
	while (bytes) {
		uint32_t piece = bytes < SONDE_KMOD_TEXT_MAX ?
					 bytes :
					 SONDE_KMOD_TEXT_MAX;

		if (event->event.nr_caps == SONDE_KMOD_CAPS_MAX)
			return false;
		event->caps[event->event.nr_caps++] = (struct sonde_kmod_cap){
			.kind = SONDE_KMOD_BYTES,
			.max = (uint16_t)piece,
		};
		bytes -= piece;
	}
	return true;
}

static bool describe_varying(struct module_event *event,
			     const struct sonde_operand_varying *varying,
			     uint32_t *left)
{
	if (varying->unit > 1 || !describe_bytes(event, varying->gap, left) ||
	    event->event.nr_caps == SONDE_KMOD_CAPS_MAX)
		return false;
	event->caps[event->event.nr_caps++] = (struct sonde_kmod_cap){
		.kind = varying->unit ? SONDE_KMOD_UBUFFER : SONDE_KMOD_STRING,
		.max = 1, /* nothing is cut by it */
	};
	return true;
}

/* How many texts and lists are before the last text that is called for, with it;
 * 0: each text that is has a place that is known. */
static uint32_t count_passed(const struct sonde_condition *condition,
			     uint32_t nr_texts)
{
	struct sonde_condition_text text;
	uint32_t passed = 0;

	for (uint32_t i = 0; i < nr_texts; i++)
		if (sonde_condition_call(condition, i, &text) &&
		    text.offset == UINT32_MAX && text.ordinal >= passed)
			passed = text.ordinal + 1;
	return passed;
}

/* 0; -EOPNOTSUPP: there is something in the way that the kernel's part can't pass
 * over, or too much. */
static int describe_payload(struct module_event *event, uint32_t nr_texts)
{
	const struct sonde_operand_varying *varying;
	/* without the least that texts and lists take */
	uint32_t left = SONDE_KMOD_RECORD_MAX -
			SONDE_KMOD_CAPS_MAX * (sizeof(uint32_t) + 1);
	uint32_t passed = count_passed(event->compiled, nr_texts);
	uint32_t nr;

	free(event->caps);
	event->caps = calloc(SONDE_KMOD_CAPS_MAX, sizeof(*event->caps));
	if (!event->caps)
		return -ENOMEM;
	event->event.caps = (uintptr_t)event->caps;
	if (!passed &&
	    !describe_bytes(event, sonde_condition_needed(event->compiled),
			    &left))
		return -EOPNOTSUPP;
	varying = sonde_condition_varying(event->compiled, &nr);
	for (uint32_t i = 0; i < passed; i++)
		if (!describe_varying(event, &varying[i], &left))
			return -EOPNOTSUPP;
	return 0;
}

/* ---- all ---- */

static int compile_condition(struct module_event *event,
			     const struct sonde_source_rule *rule,
			     struct sonde_source_error *error)
{
	char why[200] = "";
	int rc = sonde_condition_new(event->desc, rule->condition, why,
				     sizeof(why), &event->compiled);

	if (rc == -EINVAL)
		return sonde_source_fail(error, rc, "if %.100s: %s",
					 rule->condition, why);
	return rc;
}

int module_condition_add(struct module_event *event,
			 const struct sonde_source_rule *rule,
			 struct sonde_source_error *error)
{
	bool is_described = event->event.flags & SONDE_KMOD_DESCRIBED;
	const struct sonde_program *program;
	uint32_t nr;
	int rc;

	if (!rule->condition)
		return 0;
	event->condition = rule->condition;
	rc = compile_condition(event, rule, error);
	if (rc)
		return rc;
	program = sonde_condition_program(event->compiled);
	nr = count_texts(event->compiled);
	if (!calls_for_texts_only(program, nr) ||
	    !ends_texts(event->compiled, nr) ||
	    sonde_program_bytes(program) > SONDE_KMOD_FILTER_MAX)
		rc = -EOPNOTSUPP;
	else if (is_described)
		rc = describe_payload(event, nr);
	if (rc == -EOPNOTSUPP)
		return sonde_source_fail(
			error, rc,
			"modules: %s:%s: 'if %.120s' needs a number behind a "
			"text or list, or a buffer, or is too long; %s",
			event->group, event->name, rule->condition,
			is_described ? "record without it, and choose in "
				       "'sonde print' or 'sonde cut'" :
				       "another --kernel-source can test it");
	if (rc)
		return rc;
	event->event.filter = (uintptr_t)program;
	event->event.filter_bytes = (uint32_t)sonde_program_bytes(program);
	return fill_texts(event, nr);
}
