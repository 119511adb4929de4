/* SPDX-License-Identifier: MIT */
/*
 * arguments.c - see arguments.h. A word that makes no sense ends the list, and
 * what is before it counts.
 */
#include "probe/hooks/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/bytecode.h"
#include "probe/collect.h"
#include "probe/markers.h"
#include "probe/types.h"
#include "source/condition.h"
#include "types/build.h"
#include "types/desc.h"
#include "types/sdt.h"

#define NO_REGISTER 255u

#define WORD_MAX    ((size_t)SONDE_PROBE_TYPE_TEXT_MAX + 128)

struct forming {
	struct sonde_hooks_arguments *arguments;
	struct sonde_build build;
	bool is_exit;
	bool in_any_case;
	pid_t pid; /* of a site */
	const struct sonde_probe_marker *marker;
};

/* The next of the words, without its letter; 0: there is none. */
static char take_argument_word(const char **at, char word[WORD_MAX])
{
	size_t length;
	char letter;

	while (**at == ' ')
		(*at)++;
	length = strcspn(*at, " ");
	if (length < 2 || length >= WORD_MAX)
		return 0;
	letter = **at;
	memcpy(word, *at + 1, length - 1);
	word[length - 1] = '\0';
	*at += length;
	return letter;
}

static int add_argument_item(struct sonde_hooks_arguments *arguments, int rc,
			     bool is_text)
{
	struct sonde_agent_item *item = &arguments->items[arguments->nr];

	if (rc)
		return rc;
	item->kind = is_text ? SONDE_AGENT_ITEM_STRING : SONDE_AGENT_ITEM_VALUE;
	item->length = is_text ? SONDE_HOOKS_TEXT_MAX : 0;
	item->says_bad = is_text;
	item->program = ++arguments->nr_programs; /* their index + 1 */
	arguments->nr++;
	return 0;
}

static void build_argument(struct forming *forming,
			   const struct sonde_probe_held *held, bool is_text)
{
	struct sonde_probe_type wide = held->type;
	char name[SONDE_NAME_MAX];

	(void)snprintf(name, sizeof(name), "%.200s%s", wide.name,
		       strcmp(wide.name, "addr") != 0 ? "" : "_");
	wide.bits = 64;
	if (is_text)
		sonde_build_string(&forming->build, name);
	else
		sonde_probe_type_build(&forming->build, name, &wide);
}

/* False: it is none. */
static bool argument_read(char *word, struct sonde_probe_held *held)
{
	char kind[] = SONDE_PROBE_TYPES_KIND;
	struct sonde_probe_source line = { .text = word };

	memcpy(line.kind, kind, sizeof(kind));
	return sonde_probe_types_held(&line, false, held) && *held->type.name;
}

static int add_arguments(struct forming *forming, const char *words)
{
	struct sonde_hooks_arguments *arguments = forming->arguments;
	const char *letters = forming->is_exit ? "rq" : "at";
	struct sonde_probe_held held;
	char word[WORD_MAX];
	char letter;
	int rc = 0;

	while (!rc && arguments->nr <= SONDE_HOOKS_ARGUMENTS_MAX &&
	       (letter = take_argument_word(&words, word))) {
		if (!strchr(letters, letter))
			continue;
		if (!argument_read(word, &held))
			break;
		rc = sonde_probe_register_value(
			held.reg, sonde_probe_type_bytes(&held.type) * 8,
			held.type.is_signed,
			&arguments->programs[arguments->nr_programs]);
		rc = add_argument_item(arguments, rc, letter == letters[1]);
		if (!rc)
			build_argument(forming, &held, letter == letters[1]);
	}
	return rc;
}

static int copy_argument_desc(struct sonde_hooks_arguments *arguments,
			      const struct sonde_desc *desc)
{
	size_t bytes = sonde_desc_size(desc);

	arguments->desc = aligned_alloc(8, (bytes + 7) & ~(size_t)7);
	if (!arguments->desc)
		return -ENOMEM;
	memcpy(arguments->desc, desc, bytes);
	return 0;
}

static int arguments_form(struct forming *forming, const char *words,
			  uint64_t function)
{
	_Alignas(8) unsigned char room[SONDE_DESC_MAX];
	struct sonde_hooks_arguments *arguments = forming->arguments;
	int rc = sonde_probe_constant(function, &arguments->programs[0]);

	sonde_build_begin(&forming->build, room, "function",
			  forming->is_exit ? "exit" : "entry", SONDE_INFO);
	sonde_build_int(&forming->build, "addr", 64, SONDE_FIELD_HEX);
	rc = add_argument_item(arguments, rc, false);
	if (!rc)
		rc = add_arguments(forming, words);
	if (rc || (arguments->nr == 1 && !forming->in_any_case) ||
	    sonde_build_end(&forming->build))
		return rc ? rc : -ENOENT;
	return copy_argument_desc(arguments, (const void *)room);
}

int sonde_hooks_arguments_make(const char *words, bool is_exit,
			       bool in_any_case, uint64_t function,
			       struct sonde_hooks_arguments **ret)
{
	struct forming forming = {
		.arguments = calloc(1, sizeof(*forming.arguments)),
		.is_exit = is_exit,
		.in_any_case = in_any_case,
	};
	int rc = forming.arguments ? arguments_form(&forming, words, function) :
				     -ENOMEM;

	*ret = forming.arguments;
	if (!rc)
		return 0;
	sonde_hooks_arguments_free(forming.arguments);
	*ret = NULL;
	return rc == -ENOENT ? 0 : rc;
}

/* ---- of a probe of <sys/sdt.h> ---- */

static uint8_t register_named(const char *name)
{
	uint8_t i = 0;

	while (i < SONDE_AGENT_REGISTERS &&
	       strcmp(sonde_probe_register_names[i], name) != 0)
		i++;
	return i < SONDE_AGENT_REGISTERS ? i : NO_REGISTER;
}

/* Reads memory at base + index * scale + offset: records it, or, of a text, has
 * it as its value. */
static int memory_program(const struct sonde_sdt_argument *argument,
			  const struct sonde_agent_item *item,
			  struct sonde_program **ret)
{
	bool is_text = item->kind == SONDE_AGENT_ITEM_STRING;
	struct sonde_probe_bytecode code = { .traces = !is_text };
	struct sonde_expr_error error;

	sonde_probe_put_const(&code, item->offset);
	if (item->reg != NO_REGISTER) {
		sonde_probe_put_register(&code, item->reg);
		sonde_probe_put(&code, SONDE_PROBE_OP_ADD);
	}
	if (argument->index[0]) {
		sonde_probe_put_register(&code,
					 register_named(argument->index));
		sonde_probe_put_const(&code, argument->scale);
		sonde_probe_put(&code, SONDE_PROBE_OP_MUL);
		sonde_probe_put(&code, SONDE_PROBE_OP_ADD);
	}
	sonde_probe_put_read(&code, argument->size);
	if (!is_text)
		sonde_probe_put(&code, SONDE_PROBE_OP_POP);
	if (!sonde_probe_bytecode_end(&code))
		return -E2BIG;
	return sonde_agent_decode(code.bytes, code.nr, !is_text, &error, ret);
}

/* Where its symbol is in the process; 0: it can't be known. */
static uint64_t symbol_of(const struct forming *forming,
			  const struct sonde_sdt_argument *argument)
{
	char name[SONDE_NAME_MAX];

	if (argument->symbol_length >= sizeof(name))
		return 0;
	memcpy(name, argument->symbol, argument->symbol_length);
	name[argument->symbol_length] = '\0';
	return sonde_probe_marker_variable(forming->pid, forming->marker, name);
}

/* False: it can't be had. */
static bool site_item(const struct forming *forming,
		      const struct sonde_sdt_argument *argument, bool is_text,
		      struct sonde_agent_item *item)
{
	uint64_t symbol = argument->symbol ? symbol_of(forming, argument) : 0;

	*item = (struct sonde_agent_item){
		.kind = SONDE_AGENT_ITEM_VALUE,
		.reg = strcmp(argument->base, "rip") != 0 ?
			       register_named(argument->base) :
			       NO_REGISTER,
		.length = argument->size,
		.offset = (int64_t)((uint64_t)argument->number + symbol),
	};
	if (argument->kind == SONDE_SDT_REGISTER)
		item->offset = argument->shift;
	if (argument->kind == SONDE_SDT_MEMORY)
		item->kind = argument->index[0] ? SONDE_AGENT_ITEM_PROGRAM :
						  SONDE_AGENT_ITEM_MEMORY;
	if (is_text) {
		item->kind = SONDE_AGENT_ITEM_STRING;
		item->length = SONDE_HOOKS_TEXT_MAX;
		item->says_bad = true;
	}
	return argument->kind != SONDE_SDT_UNKNOWN &&
	       (symbol || !argument->symbol) &&
	       (!is_text || argument->size == sizeof(uint64_t));
}

static int add_site_argument(struct forming *forming, const char *name,
			     const struct sonde_sdt_argument *argument)
{
	struct sonde_hooks_arguments *arguments = forming->arguments;
	struct sonde_agent_item *item = &arguments->items[arguments->nr++];
	uint8_t bits = (uint8_t)(argument->size * 8);

	if (item->kind == SONDE_AGENT_ITEM_STRING)
		sonde_build_string(&forming->build, name);
	else if (argument->is_float)
		sonde_build_float(&forming->build, name, bits);
	else
		sonde_build_int(&forming->build, name, bits,
				argument->is_signed ? SONDE_FIELD_SIGNED : 0);
	if (item->kind == SONDE_AGENT_ITEM_PROGRAM)
		item->nr_blocks = 1;
	else if (item->kind != SONDE_AGENT_ITEM_STRING ||
		 argument->kind != SONDE_SDT_MEMORY)
		return 0;
	item->program = arguments->nr_programs + 1;
	return memory_program(argument, item,
			      &arguments->programs[arguments->nr_programs++]);
}

/* *ret_left: as sonde_hooks_arguments_of_site() has it. */
static int site_form(struct forming *forming, uint32_t texts,
		     unsigned int *ret_left)
{
	const struct sonde_probe_marker *marker = forming->marker;
	struct sonde_hooks_arguments *arguments = forming->arguments;
	_Alignas(8) unsigned char room[SONDE_DESC_MAX];
	char name[2 * SONDE_NAME_MAX];
	struct sonde_sdt_argument argument;
	const char *at = marker->extra;
	int rc = 0;

	*ret_left = 0;
	(void)snprintf(name, sizeof(name), "%.255s:%.255s", marker->provider,
		       marker->name);
	sonde_build_begin(&forming->build, room, "sdt", name, SONDE_INFO);
	for (unsigned int i = 1; !rc && i <= SONDE_HOOKS_ITEMS_MAX &&
				 sonde_sdt_argument(&at, &argument);
	     i++) {
		(void)snprintf(name, sizeof(name), "arg%u", i);
		if (site_item(forming, &argument, texts >> (i - 1) & 1,
			      &arguments->items[arguments->nr]))
			rc = add_site_argument(forming, name, &argument);
		else
			++*ret_left;
	}
	if (!rc)
		rc = sonde_build_end(&forming->build);
	return rc ? rc : copy_argument_desc(arguments, (const void *)room);
}

int sonde_hooks_arguments_of_site(pid_t pid,
				  const struct sonde_probe_marker *marker,
				  uint32_t texts, unsigned int *ret_left,
				  struct sonde_hooks_arguments **ret)
{
	struct forming forming = {
		.arguments = calloc(1, sizeof(*forming.arguments)),
		.pid = pid,
		.marker = marker,
	};
	int rc = forming.arguments ? site_form(&forming, texts, ret_left) :
				     -ENOMEM;

	*ret = forming.arguments;
	if (rc) {
		sonde_hooks_arguments_free(forming.arguments);
		*ret = NULL;
	}
	return rc;
}

int sonde_hooks_arguments_filter(struct sonde_hooks_arguments *arguments,
				 const char *condition, char *error,
				 size_t error_size)
{
	struct sonde_publish_filter *filter = &arguments->filter;
	struct sonde_expr_value value;
	int rc = sonde_condition_new_for_process(arguments->desc, condition,
						 error, error_size,
						 &arguments->condition);

	if (rc)
		return rc;
	if (sonde_program_constant(
		    sonde_condition_program(arguments->condition), &value) &&
	    !sonde_expr_true(&value))
		return -ENOENT;
	filter->varying = sonde_condition_varying(arguments->condition,
						  &filter->nr_varying);
	filter->needed = sonde_condition_needed(arguments->condition);
	return sonde_condition_copy(arguments->condition, &filter->program,
				    &filter->fields, &filter->nr_fields);
}

void sonde_hooks_arguments_free(struct sonde_hooks_arguments *arguments)
{
	if (!arguments)
		return;
	for (size_t i = 0; i < SONDE_HOOKS_ITEMS_MAX; i++)
		sonde_program_free(arguments->programs[i]);
	sonde_condition_free(arguments->condition);
	free(arguments->filter.program);
	free(arguments->filter.fields);
	free(arguments->desc);
	free(arguments);
}

void sonde_hooks_arguments_collect(
	const struct sonde_hooks_arguments *arguments,
	struct sonde_probe_spec *spec)
{
	if (!arguments)
		return;
	spec->items = arguments->items;
	spec->nr_items = arguments->nr;
	spec->programs =
		(const struct sonde_program *const *)arguments->programs;
	spec->nr_programs = arguments->nr_programs;
	spec->filter = arguments->filter.program ? &arguments->filter : NULL;
}
