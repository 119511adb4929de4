/* SPDX-License-Identifier: MIT */
/*
 * filters.c - conditions of programs' events: what the user wrote, and the
 * answer to a process that asks (filters.h).
 *
 * The answer is one memory file, made whole before it is handed over: a table,
 * then programs, code and lists, each at an offset that the table names. A
 * condition is compiled once for each description.
 */
#include "session/filters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expr/expr.h"
#include "expr/jit/jit.h"
#include "expr/operand.h"
#include "expr/program.h"
#include "session/board.h"
#include "session/given.h"
#include "source/condition.h"
#include "sys/write.h"
#include "types/desc.h"
#include "types/select.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

struct sonde_filters {
	const struct sonde_session_config *config;
	struct sonde_summary *summary;
	uint32_t nr, nr_values;
	/* those of -e, then those of --filter, then what is tallied */
	struct sonde_given given[SONDE_CONDITIONS_MAX +
				 SONDE_COMMON_FILTERS_MAX +
				 SONDE_FILTER_VALUES];
	uint64_t room[SONDE_DESC_MAX / 8];
};

/* The file that is being made. */
struct answer {
	struct sonde_filters *filters;
	struct sonde_filters_file head;
	struct sonde_filters_rule table[SONDE_FILTERS_ASK];
	uint8_t *bytes; /* what stands behind the table */
	uint32_t used, capacity;
	int rc;
};

/* ---- the file ---- */

static uint32_t table_bytes(void)
{
	return sizeof(struct sonde_filters_file) +
	       SONDE_FILTERS_ASK * sizeof(struct sonde_filters_rule);
}

/* Room for `size` bytes at the end; its place in the file, or 0. What is there
 * is at answer->bytes + place - table_bytes(). */
static uint32_t put(struct answer *answer, const void *from, size_t size)
{
	size_t padded = (size + 15) & ~(size_t)15;
	uint32_t at = answer->used;
	uint8_t *bytes;

	if (answer->rc || !size)
		return 0;
	if (padded > SONDE_FILTERS_BYTES - at) {
		answer->rc = -E2BIG;
		return 0;
	}
	if (padded > answer->capacity - at) {
		answer->capacity = 2 * (at + (uint32_t)padded);
		bytes = realloc(answer->bytes, answer->capacity);
		if (!bytes) {
			answer->rc = -ENOMEM;
			return 0;
		}
		answer->bytes = bytes;
	}
	memcpy(answer->bytes + at, from, size);
	memset(answer->bytes + at + size, 0, padded - size);
	answer->used += (uint32_t)padded;
	return table_bytes() + at;
}

_Static_assert((sizeof(struct sonde_filters_file) +
		SONDE_FILTERS_ASK * sizeof(struct sonde_filters_rule)) %
			       16 ==
		       0,
	       "what follows is aligned");

static int write_file(const struct answer *answer, int *ret_fd)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("sonde-filters", flags | MFD_EXEC);

	/* Some systems want to be told that it is for code, others refuse. */
	if (fd < 0)
		fd = memfd_create("sonde-filters", flags);
	if (fd < 0)
		return -errno;
	if (sonde_write_all(fd, &answer->head, sizeof(answer->head)) ||
	    sonde_write_all(fd, answer->table, sizeof(answer->table)) ||
	    sonde_write_all(fd, answer->bytes, answer->used) ||
	    fcntl(fd, F_ADD_SEALS,
		  F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)) {
		int rc = -errno;

		(void)close(fd); /* nobody has it */
		return rc ? rc : -EIO;
	}
	*ret_fd = fd;
	return 0;
}

/* ---- one condition ---- */

/* Where a program went, as in struct sonde_filters_rule. */
struct program_place {
	uint32_t program, fields, nr_fields;
};

static void put_program(struct answer *answer,
			const struct sonde_condition *condition,
			struct program_place *ret_place)
{
	struct sonde_operand_field *fields;
	struct sonde_program *copy;
	uint32_t nr;

	if (sonde_condition_copy(condition, &copy, &fields, &nr)) {
		answer->rc = -ENOMEM;
		return;
	}
	ret_place->program = put(answer, copy, sonde_program_bytes(copy));
	ret_place->fields = put(answer, fields, nr * sizeof(*fields));
	ret_place->nr_fields = nr;
	sonde_program_free(copy);
	free(fields);
}

/* Texts at fixed places in the payload's head, up to which native code reads. */
struct head {
	const struct sonde_condition *condition;
	uint32_t needed;
};

static bool place_in_head(void *ctx, uint32_t ref, uint32_t *ret_offset,
			  uint32_t *ret_size)
{
	struct head *head = ctx;
	struct sonde_condition_text text;

	if (!sonde_condition_call(head->condition, ref, &text) || !text.size ||
	    text.offset > SONDE_FILTER_HEAD ||
	    text.size > SONDE_FILTER_HEAD - text.offset)
		return false;
	if (head->needed < text.offset + text.size)
		head->needed = text.offset + text.size;
	*ret_offset = text.offset;
	*ret_size = text.size;
	return true;
}

/* Native code, if that can be made. */
static void put_code(struct answer *answer,
		     const struct sonde_condition *condition,
		     struct sonde_filters_rule *filter)
{
	struct head head = { condition, filter->needed };
	const struct sonde_jit_config config = {
		.kind = SONDE_JIT_FUNCTION,
		.bytes = SONDE_FILTER_HEAD,
		.text = place_in_head,
		.ctx = &head,
	};
	uint8_t *bytes;
	uint32_t nr;

	if (sonde_jit_function(sonde_condition_program(condition), &config,
			       &bytes, &nr))
		return;
	filter->code = put(answer, bytes, nr);
	if (filter->code)
		filter->needed = head.needed;
	free(bytes);
}

/* What is to be prepared for it, and for those that came before. */
static void put_needs(struct answer *answer,
		      const struct sonde_condition *condition,
		      struct sonde_filters_rule *filter)
{
	uint32_t needed = sonde_condition_needed(condition);
	const struct sonde_operand_varying *varying;
	uint32_t nr;

	if (filter->needed < needed)
		filter->needed = needed;
	filter->whence |=
		sonde_program_uses_base(sonde_condition_program(condition), 1);
	if (filter->varying)
		return;
	/* The same for all of one event. */
	varying = sonde_condition_varying(condition, &nr);
	filter->varying = put(answer, varying, nr * sizeof(*varying));
}

static void put_condition(struct answer *answer,
			  const struct sonde_condition *condition,
			  uint32_t index)
{
	const struct sonde_program *program =
		sonde_condition_program(condition);
	struct sonde_filters_rule *filter = &answer->table[answer->head.nr];
	struct program_place place = { 0 };
	struct sonde_expr_value value;

	*filter = (struct sonde_filters_rule){ .index = index,
					       .kind = SONDE_FILTER_TEST };
	if (sonde_program_constant(program, &value)) {
		filter->kind = sonde_expr_true(&value) ? SONDE_FILTER_ALWAYS :
							 SONDE_FILTER_NEVER;
		return;
	}
	put_needs(answer, condition, filter);
	put_program(answer, condition, &place);
	filter->program = place.program;
	filter->fields = place.fields;
	filter->nr_fields = place.nr_fields;
	put_code(answer, condition, filter);
}

static void put_entry_kind(struct answer *answer, uint32_t index,
			   enum sonde_filter_kind kind)
{
	answer->table[answer->head.nr] =
		(struct sonde_filters_rule){ .index = index, .kind = kind };
}

/* The entry is part of the table from now on, unless it says nothing. */
static void keep(struct answer *answer)
{
	const struct sonde_filters_rule *filter =
		&answer->table[answer->head.nr];

	if (filter->kind != SONDE_FILTER_ALWAYS || filter->values)
		answer->head.nr++;
}

/* ---- which conditions an event has ---- */

/* The condition that stands at rule `at`; NULL if it has none. */
static struct sonde_given *given_at(struct sonde_filters *filters, uint32_t at)
{
	const struct sonde_session_config *config = filters->config;

	for (uint32_t i = 0; i < config->nr_conditions; i++)
		if (config->conditions[i].rule == at)
			return &filters->given[i];
	return NULL;
}

/* That of the last -e that matches; NULL if that has none. */
static struct sonde_given *given_by_rules(struct sonde_filters *filters,
					  const struct sonde_desc *desc)
{
	const char *rules = filters->config->rules;
	struct sonde_given *found = NULL;

	for (size_t at = 0; rules[at]; at += strlen(rules + at) + 1) {
		if (rules[at] == '+' &&
		    sonde_select(rules + at, strlen(rules + at) + 1,
				 SONDE_LOGLEVEL_ALL, sonde_desc_provider(desc),
				 sonde_desc_name(desc), 0))
			found = given_at(filters, (uint32_t)at);
	}
	return found;
}

static const char *what_is_done(const struct sonde_filters *filters)
{
	return sonde_session_counts(filters->config) ? "counted" : "recorded";
}

/* Whether it fits the event; else the user is told, once. */
static int check_given(struct sonde_filters *filters, struct sonde_given *given,
		       const struct sonde_desc *desc)
{
	struct sonde_condition *condition;
	int rc = sonde_given_bind(given, desc, what_is_done(filters),
				  filters->summary, &condition);

	if (!rc)
		sonde_condition_free(condition);
	return rc;
}

/* "(a) && (b)"; NULL if there is no memory. */
static char *join(struct sonde_given *const *list, uint32_t nr)
{
	size_t size = 1;
	size_t used = 0;
	char *text;

	for (uint32_t i = 0; i < nr; i++)
		size += strlen(list[i]->text) + sizeof("() && ");
	text = malloc(size);
	for (uint32_t i = 0; text && i < nr; i++)
		used += (size_t)snprintf(text + used, size - used, "%s(%s)",
					 i ? " && " : "", list[i]->text);
	return text;
}

int sonde_filters_condition(struct sonde_filters *filters,
			    const struct sonde_desc *desc,
			    struct sonde_condition **ret_condition)
{
	struct sonde_given *list[SONDE_COMMON_FILTERS_MAX + 1];
	uint32_t nr = 0;
	char why[300];
	char *text;
	int rc = 0;

	*ret_condition = NULL;
	list[nr] = given_by_rules(filters, desc);
	nr += list[nr] != NULL;
	for (uint32_t i = filters->config->nr_conditions; i < filters->nr; i++)
		list[nr++] = &filters->given[i];
	for (uint32_t i = 0; !rc && i < nr; i++)
		rc = check_given(filters, list[i], desc);
	if (rc || !nr)
		return rc;
	text = join(list, nr);
	if (!text)
		return -ENOMEM;
	rc = sonde_condition_new_for_process(desc, text, why, sizeof(why),
					     ret_condition);
	free(text);
	return rc;
}

/* ---- values ---- */

/* A field at a fixed place needs no program. */
static bool is_field(const struct sonde_program *program,
		     struct sonde_filter_value *ret_value)
{
	static const struct {
		uint8_t bytes, swap;
	} loads[SONDE_EXPR_OP_CODES] = {
		[SONDE_EXPR_OP_LOAD_Z8] = { 1, 0 },
		[SONDE_EXPR_OP_LOAD_Z16] = { 2, 0 },
		[SONDE_EXPR_OP_LOAD_Z32] = { 4, 0 },
		[SONDE_EXPR_OP_LOAD_64] = { 8, 0 },
		[SONDE_EXPR_OP_LOAD_S8] = { 1, 0 },
		[SONDE_EXPR_OP_LOAD_S16] = { 2, 0 },
		[SONDE_EXPR_OP_LOAD_S32] = { 4, 0 },
		[SONDE_EXPR_OP_LOAD_Z16_SWAP] = { 2, 1 },
		[SONDE_EXPR_OP_LOAD_Z32_SWAP] = { 4, 1 },
		[SONDE_EXPR_OP_LOAD_64_SWAP] = { 8, 1 },
		[SONDE_EXPR_OP_LOAD_S16_SWAP] = { 2, 1 },
		[SONDE_EXPR_OP_LOAD_S32_SWAP] = { 4, 1 },
	};
	const struct sonde_expr_op *op = program->ops;

	if (program->nr_ops != 2 || !loads[op->code].bytes ||
	    op[1].code != SONDE_EXPR_OP_END_NUMBER)
		return false;
	*ret_value = (struct sonde_filter_value){
		.kind = op->base ? SONDE_FILTER_VALUE_WHENCE :
				   SONDE_FILTER_VALUE_FIELD,
		.bytes = loads[op->code].bytes,
		.is_signed = program->type == SONDE_EXPR_INT,
		.swap = loads[op->code].swap,
		.offset = op->offset,
	};
	return true;
}

static void put_wanted_number(struct answer *answer,
			      const struct sonde_condition *condition,
			      struct sonde_filter_value *ret_value)
{
	struct program_place place = { 0 };

	put_needs(answer, condition, &answer->table[answer->head.nr]);
	if (is_field(sonde_condition_program(condition), ret_value))
		return;
	put_program(answer, condition, &place);
	*ret_value = (struct sonde_filter_value){
		.kind = SONDE_FILTER_VALUE_PROGRAM,
		.program = place.program,
		.fields = place.fields,
		.nr_fields = place.nr_fields,
	};
}

/* -EINVAL: the event has no such number, and the user was told, or will be. */
static int add_number(struct answer *answer, const struct sonde_desc *desc,
		      struct sonde_given *given,
		      struct sonde_filter_value *ret_value)
{
	struct sonde_filters *filters = answer->filters;
	struct sonde_condition *condition;
	uint8_t type;
	int rc = sonde_given_bind(given, desc, what_is_done(filters),
				  filters->summary, &condition);

	if (rc)
		return rc;
	type = sonde_condition_program(condition)->type;
	given->is_signed = type == SONDE_EXPR_INT;
	rc = answer->rc;
	if (type != SONDE_EXPR_INT && type != SONDE_EXPR_UINT) {
		rc = -EINVAL;
		sonde_given_unfit(given, desc, what_is_done(filters),
				  "not a whole number of this event",
				  filters->summary);
	} else {
		put_wanted_number(answer, condition, ret_value);
	}
	sonde_condition_free(condition);
	return rc;
}

static int add_numbers(struct answer *answer, const struct sonde_desc *desc)
{
	struct sonde_filters *filters = answer->filters;
	const struct sonde_session_tally *tally = &filters->config->tally;
	struct sonde_filter_value values[SONDE_FILTER_VALUES] = { 0 };
	struct sonde_given *given = &filters->given[filters->nr];
	int rc = 0;

	if (filters->config->mode != SONDE_TALLY)
		return 0;
	if (tally->value)
		rc = add_number(answer, desc, given++, &values[0]);
	for (uint32_t i = 0; !rc && i < tally->nr_keys; i++, given++) {
		rc = add_number(answer, desc, given, &values[1 + i]);
		filters->config->board->is_signed[i] = given->is_signed;
	}
	if (!rc)
		answer->table[answer->head.nr].values =
			put(answer, values, sizeof(values));
	return rc ? rc : answer->rc;
}

/* ---- events ---- */

static bool is_event_meant(const struct sonde_session_config *config,
			   const struct sonde_desc *desc)
{
	const char *provider = sonde_desc_provider(desc);
	const char *name = sonde_desc_name(desc);

	return sonde_select(config->rules, config->rules_size, config->loglevel,
			    provider, name, sonde_desc_loglevel(desc)) &&
	       !sonde_select(config->pins, config->pins_size,
			     SONDE_LOGLEVEL_ALL, provider, name, 0);
}

static int add_event(struct answer *answer, const struct sonde_desc *desc,
		     uint32_t index)
{
	struct sonde_filters *filters = answer->filters;
	struct sonde_condition *condition;
	int rc;

	if (!is_event_meant(filters->config, desc))
		return 0;
	put_entry_kind(answer, index, SONDE_FILTER_ALWAYS);
	rc = sonde_filters_condition(filters, desc, &condition);
	if (!rc && condition) {
		put_condition(answer, condition, index);
		sonde_condition_free(condition);
		rc = answer->rc;
	}
	if (!rc)
		rc = add_numbers(answer, desc);
	if (rc == -EINVAL) {
		put_entry_kind(answer, index, SONDE_FILTER_NEVER);
		rc = 0;
	}
	if (!rc)
		keep(answer);
	return rc;
}

/* ---- answers ---- */

/* Descriptions asked for here don't count for those that the trace needs. */
static int copy_desc(struct sonde_filters *filters,
		     struct sonde_arena_view *view, uint32_t index,
		     const struct sonde_desc **ret_desc)
{
	uint64_t left = view->desc_bytes_left;
	int rc;

	view->desc_bytes_left = view->ask_bytes_left;
	rc = sonde_arena_copy_desc(view, index, filters->room, ret_desc);
	view->ask_bytes_left = view->desc_bytes_left;
	view->desc_bytes_left = left;
	return rc;
}

static int answer_all(struct answer *answer, struct sonde_arena_view *view,
		      const struct sonde_filters_ask *ask)
{
	const struct sonde_desc *desc;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < ask->nr; i++) {
		if (ask->index[i] >= SONDE_EVENTS_MAX)
			return -EPROTO;
		rc = copy_desc(answer->filters, view, ask->index[i], &desc);
		if (rc == -EAGAIN) { /* only a name so far, or nothing */
			rc = 0;
			continue;
		}
		if (!rc && !sonde_desc_is_reference(desc))
			rc = add_event(answer, desc, ask->index[i]);
	}
	return rc;
}

int sonde_filters_answer(struct sonde_filters *filters,
			 struct sonde_arena_view *view,
			 const struct sonde_filters_ask *ask, int *ret_fd)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	int rc = -ENOMEM;

	if (answer) {
		answer->filters = filters;
		answer->head = (struct sonde_filters_file){
			.magic = SONDE_FILTERS_MAGIC, .slot = view->slot_index
		};
		rc = ask->nr <= SONDE_FILTERS_ASK ?
			     answer_all(answer, view, ask) :
			     -EPROTO;
		if (!rc)
			rc = write_file(answer, ret_fd);
		free(answer->bytes);
	}
	free(answer);
	return rc;
}

/* ---- life ---- */

/* *nr counts it. */
static int add_given(struct sonde_filters *filters, const char *text,
		     uint32_t *nr)
{
	uint32_t at = filters->nr + filters->nr_values;

	++*nr;
	return sonde_given_init(&filters->given[at], text);
}

int sonde_filters_new(const struct sonde_session_config *config,
		      struct sonde_summary *summary,
		      struct sonde_filters **ret_filters)
{
	struct sonde_filters *filters;
	int rc = 0;

	*ret_filters = NULL;
	if (!config->nr_conditions && !config->nr_filters &&
	    config->mode != SONDE_TALLY)
		return 0;
	filters = calloc(1, sizeof(*filters));
	if (!filters)
		return -ENOMEM;
	filters->config = config;
	filters->summary = summary;
	for (uint32_t i = 0; !rc && i < config->nr_conditions; i++)
		rc = add_given(filters, config->conditions[i].text,
			       &filters->nr);
	for (uint32_t i = 0; !rc && i < config->nr_filters; i++)
		rc = add_given(filters, config->filters[i], &filters->nr);
	if (!rc && config->tally.value)
		rc = add_given(filters, config->tally.value,
			       &filters->nr_values);
	for (uint32_t i = 0; !rc && i < config->tally.nr_keys; i++)
		rc = add_given(filters, config->tally.keys[i],
			       &filters->nr_values);
	if (rc)
		sonde_filters_free(filters);
	else
		*ret_filters = filters;
	return rc;
}

void sonde_filters_finish(struct sonde_filters *filters)
{
	for (uint32_t i = 0; filters && i < filters->nr + filters->nr_values;
	     i++)
		sonde_given_finish(&filters->given[i], filters->summary);
}

void sonde_filters_free(struct sonde_filters *filters)
{
	if (!filters)
		return;
	for (uint32_t i = 0; i < filters->nr + filters->nr_values; i++)
		sonde_given_fini(&filters->given[i]);
	free(filters);
}
