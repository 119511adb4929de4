/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - see kernel.h.
 *
 * What can't be is refused here, before anything is loaded, as far as this user
 * may know: a name that the kernel doesn't have, or several functions have, and
 * what is on the kernel's list of functions that probes need themselves. The
 * rest, the kernel refuses when the probe is put in (source/bpf/probes.c).
 */
#include "probe/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/text.h"
#include "expr/agent.h"
#include "probe/btf_type.h"
#include "probe/compile.h"
#include "source/available.h"
#include "source/rules.h"
#include "sys/btf.h"
#include "sys/kallsyms.h"
#include "sys/textfile.h"
#include "types/build.h"

#define BLACKLIST_FILE "/sys/kernel/debug/kprobes/blacklist"

_Static_assert(SONDE_PROBE_BTF_CURRENT == SONDE_SOURCE_PROBE_CURRENT,
	       "one number");

enum {
	WORDS_SIZE = 4096,
	FUNCTION_SIZE = 256,
	TEXT_BYTES = 64, /* of a text whose length nobody says */
	MEMORY_MAX = 512,
};

/* A probe and what it points to. */
struct kernel_probe {
	struct sonde_source_probe probe; /* first */
	char function[FUNCTION_SIZE];
	char name[FUNCTION_SIZE];
	char event[FUNCTION_SIZE]; /* a tracepoint's; "" */
	_Alignas(8) uint8_t desc[SONDE_DESC_MAX];
};

struct kernel_resolving {
	const struct sonde_probe_kernel_request *request;
	struct kernel_probe *made;
	struct sonde_btf btf;
	struct sonde_probe_dwarf at; /* of which only the kernel's part */
	struct sonde_probe_scope scope;
	struct sonde_build build;
	uint32_t bytes;
	char *error;
	size_t error_size;
};

static int kernel_fail(struct kernel_resolving *resolving, const char *text,
		       const char *why)
{
	(void)snprintf(resolving->error, resolving->error_size, "%.100s: %s",
		       text, why);
	return -EINVAL;
}

/* ---- the function ---- */

struct finding_function {
	const char *name;
	uint64_t address;
	uint32_t nr;
	bool is_module, is_data;
	struct sonde_nearest nearest;
};

static bool see_symbol(void *ctx, const struct sonde_kallsym *symbol)
{
	struct finding_function *finding = ctx;

	if (!symbol->is_code)
		finding->is_data |= !strcmp(symbol->name, finding->name);
	else if (!strcmp(symbol->name, finding->name)) {
		finding->nr++;
		finding->address = symbol->address;
		finding->is_module |= symbol->module != NULL;
	} else if (!finding->nr) {
		sonde_nearest_try(&finding->nearest, symbol->name);
	}
	return true;
}

static bool is_blacklisted(const char *function)
{
	struct sonde_lines *lines = malloc(sizeof(*lines));
	bool is_there = false;
	char *line;

	/* only root can read it, and only where debugfs is: else the kernel
	 * says so later */
	if (!lines || sonde_lines_open(lines, BLACKLIST_FILE)) {
		free(lines);
		return false;
	}
	while (!is_there && (line = sonde_lines_next(lines))) {
		const char *name = strrchr(line, '\t');

		is_there = name && !strcmp(name + 1, function);
	}
	sonde_lines_close(lines);
	free(lines);
	return is_there;
}

static int check_function(struct kernel_resolving *resolving)
{
	const char *name = resolving->made->function;
	struct finding_function finding = { .name = name };
	char why[SONDE_NEAREST_MAX + 160];
	int rc;

	sonde_nearest_begin(&finding.nearest, name);
	rc = sonde_kallsyms_each(see_symbol, &finding);
	if (rc)
		return kernel_fail(resolving, "/proc/kallsyms",
				   strerrordesc_np(-rc));
	if (!finding.nr && finding.is_data)
		return kernel_fail(resolving, name,
				   "that is a variable of the kernel, and no "
				   "function");
	if (!finding.nr) {
		(void)snprintf(why, sizeof(why),
			       "the kernel has no such function, or it is "
			       "inlined wherever it is called%s",
			       sonde_nearest_hint(&finding.nearest));
		return kernel_fail(resolving, name, why);
	}
	if (finding.nr > 1) {
		(void)snprintf(why, sizeof(why),
			       "the kernel has %" PRIu32 " functions of that "
			       "name, and can't be told which is meant",
			       finding.nr);
		return kernel_fail(resolving, name, why);
	}
	if (is_blacklisted(name))
		return kernel_fail(resolving, name,
				   "probes need this function themselves: it "
				   "is in " BLACKLIST_FILE);
	if (resolving->made->probe.tracepoint)
		resolving->made->probe.address = finding.address;
	else if (finding.address) /* 0: this user may not know */
		resolving->made->probe.found =
			finding.address + resolving->made->probe.offset;
	return 0;
}

/* ---- a tracepoint ---- */

struct finding_event {
	const char *group, *name;
};

static int see_event(void *ctx, const char *group, const char *name,
		     const char *shown)
{
	const struct finding_event *finding = ctx;

	(void)shown;
	return !strcmp(group, finding->group) && !strcmp(name, finding->name);
}

/* "sched:sched_switch": its arguments are those of the function that calls all that
 * is attached to it. */
static int take_tracepoint_event(struct kernel_resolving *resolving,
				 const char *text)
{
	struct kernel_probe *made = resolving->made;
	char group[FUNCTION_SIZE];
	struct finding_event finding = { group, made->event };
	struct sonde_source_error why = { .text = "" };
	struct sonde_nearest nearest;
	char line[SONDE_NEAREST_MAX + 64];
	int rc;

	(void)snprintf(group, sizeof(group), "%.*s", (int)strcspn(text, ":"),
		       text);
	(void)snprintf(made->event, sizeof(made->event), "%s",
		       text + strlen(group) + 1);
	rc = sonde_source_available(see_event, &finding, &why);
	if (rc < 0)
		return kernel_fail(resolving, text, why.text);
	(void)snprintf(line, sizeof(line), "the kernel has no such event%s",
		       rc ? "" : sonde_source_hint(text, &nearest));
	if (!rc)
		return kernel_fail(resolving, text, line);
	if (!strcmp(group, "syscalls"))
		return kernel_fail(resolving, text,
				   "system calls have no tracepoints of their "
				   "own: -k syscalls:CALL records them");
	made->probe.tracepoint = made->event;
	(void)snprintf(made->function, sizeof(made->function),
		       "__traceiter_%.200s", made->event);
	return 0;
}

/* ---- what is before 'if' ---- */

/* "vfs_read%return": what is before it, and whether it is there. */
static bool cut_return(char *text)
{
	static const char word[] = "%return";
	size_t length = strlen(text);

	if (length < sizeof(word) ||
	    strcmp(text + length - (sizeof(word) - 1), word) != 0)
		return false;
	text[length - (sizeof(word) - 1)] = '\0';
	return true;
}

/* "tcp_sendmsg+0x10" */
static int take_function(struct kernel_resolving *resolving, const char *text,
			 size_t length)
{
	struct kernel_probe *made = resolving->made;
	const char *offset;
	char *plus;

	while (length && isspace((unsigned char)*text)) {
		text++;
		length--;
	}
	if (!length || length >= FUNCTION_SIZE)
		return kernel_fail(resolving, length ? text : "--kernel",
				   "this is no function's name");
	(void)snprintf(made->function, FUNCTION_SIZE, "%.*s", (int)length,
		       text);
	if (strchr(made->function, ':')) {
		char event[FUNCTION_SIZE];
		int rc;

		memcpy(event, made->function, sizeof(event));
		rc = take_tracepoint_event(resolving, event);
		return rc ? rc : check_function(resolving);
	}
	made->probe.at_return = cut_return(made->function);
	plus = strchr(made->function, '+');
	if (plus && made->probe.at_return)
		return kernel_fail(resolving, made->function,
				   "a function returns as a whole: no +OFFSET "
				   "before %return");
	if (plus) {
		offset = plus + 1;
		if (!sonde_number_take_prefixed(&offset, UINT16_MAX,
						&made->probe.offset) ||
		    *offset)
			return kernel_fail(resolving, made->function,
					   "behind + there is an offset in "
					   "bytes, such as 0x10");
		*plus = '\0';
	}
	return check_function(resolving);
}

/* By fentry and fexit they are known by their numbers. */
static int count_arguments(struct kernel_resolving *resolving)
{
	struct sonde_source_probe *probe = &resolving->made->probe;
	struct sonde_probe_btf_argument argument;

	if (!resolving->at.function && probe->at_return)
		return kernel_fail(resolving, probe->function,
				   "the kernel's types (BTF) don't have this "
				   "function, so its return can't be recorded");
	if (!resolving->at.function || probe->tracepoint)
		return 0;
	probe->is_typed = true;
	for (uint32_t n = 0;
	     sonde_probe_btf_argument(&resolving->btf, resolving->at.function,
				      n, &argument) &&
	     argument.index == n;
	     n++)
		probe->nr_arguments = n + 1;
	return 0;
}

/* ---- expressions ---- */

static int decode_value(struct kernel_resolving *resolving, const char *text,
			const struct sonde_probe_bytecode *code,
			struct sonde_program **ret_program)
{
	struct sonde_expr_error error = { .text = "no memory" };
	int rc = sonde_agent_decode(code->bytes, code->nr, false, &error,
				    ret_program);

	return rc ? kernel_fail(resolving, text, error.text) : 0;
}

static int take_condition(struct kernel_resolving *resolving, const char *text)
{
	struct sonde_probe_bytecode code = { .nr = 0 };
	struct sonde_expr_error error = { .column = 0 };

	if (sonde_probe_compile_condition(&resolving->scope, text, &code,
					  &error))
		return kernel_fail(resolving, text, error.text);
	return decode_value(resolving, text, &code,
			    &resolving->made->probe.condition);
}

/* ---- what is collected ---- */

static bool is_ctype_char(const struct sonde_probe_ctype *type)
{
	return sonde_probe_ctype_is_number(type) && type->bytes == 1 &&
	       !type->is_bool;
}

static void build_number(struct sonde_build *build, const char *name,
			 const struct sonde_probe_ctype *type)
{
	uint32_t flags = type->stars     ? SONDE_FIELD_HEX :
			 type->is_bool   ? SONDE_FIELD_BOOL :
			 type->is_signed ? SONDE_FIELD_SIGNED :
					   0;

	sonde_build_int(build, name,
			(uint8_t)(8 * sonde_probe_ctype_bytes(type)), flags);
}

/* An array of numbers, or bytes. */
static void build_memory(struct sonde_build *build, const char *name,
			 const struct sonde_probe_ctype *type)
{
	uint32_t bytes = (uint32_t)sonde_probe_ctype_bytes(type);
	struct sonde_probe_ctype inner;

	if (type->kind == SONDE_PROBE_CTYPE_ARRAY &&
	    sonde_probe_ctype_inner(type, &inner) &&
	    (sonde_probe_ctype_is_number(&inner) || inner.stars)) {
		uint32_t each = (uint32_t)sonde_probe_ctype_bytes(&inner);

		sonde_build_array(build, name, bytes / each,
				  (uint8_t)(8 * each),
				  inner.stars     ? SONDE_FIELD_HEX :
				  inner.is_signed ? SONDE_FIELD_SIGNED :
						    0);
	} else {
		sonde_build_array(build, name, bytes, 8, SONDE_FIELD_HEX);
	}
}

struct kernel_wanted {
	const char *text;
	bool is_text;
	uint64_t text_max; /* 0: nobody says */
};

/* As a text: /s, or an array of chars. */
static int shape_text(struct kernel_resolving *resolving,
		      const struct kernel_wanted *wanted,
		      const struct sonde_probe_valued *value,
		      struct sonde_source_probe_item *item)
{
	if (!value->is_address && value->type.stars == 0)
		return kernel_fail(resolving, wanted->text, "that is no text");
	item->kind = SONDE_SOURCE_PROBE_TEXT;
	item->bytes = wanted->text_max ?
			      (uint32_t)wanted->text_max :
		      value->is_address ?
			      (uint32_t)sonde_probe_ctype_bytes(&value->type) :
			      TEXT_BYTES;
	sonde_build_text(&resolving->build, wanted->text, item->bytes);
	return 0;
}

static int shape_item(struct kernel_resolving *resolving,
		      const struct kernel_wanted *wanted,
		      const struct sonde_probe_valued *value,
		      struct sonde_source_probe_item *item)
{
	uint64_t bytes = sonde_probe_ctype_bytes(&value->type);
	struct sonde_probe_ctype inner;
	bool has_inner = value->is_address &&
			 sonde_probe_ctype_inner(&value->type, &inner);

	if (bytes == 0 || bytes > MEMORY_MAX)
		return kernel_fail(resolving, wanted->text,
				   "its size is not known, or too large (512 "
				   "bytes)");
	if (wanted->is_text || (has_inner && is_ctype_char(&inner)))
		return shape_text(resolving, wanted, value, item);
	item->bytes = (uint32_t)bytes;
	item->kind = value->is_address ? SONDE_SOURCE_PROBE_MEMORY :
					 SONDE_SOURCE_PROBE_NUMBER;
	if (value->is_address)
		build_memory(&resolving->build, wanted->text, &value->type);
	else
		build_number(&resolving->build, wanted->text, &value->type);
	return 0;
}

static int collect_value(struct kernel_resolving *resolving,
			 const struct kernel_wanted *wanted)
{
	struct sonde_source_probe *probe = &resolving->made->probe;
	struct sonde_source_probe_item *item = &probe->items[probe->nr_items];
	struct sonde_probe_bytecode code = { .nr = 0 };
	struct sonde_expr_error error = { .column = 0 };
	struct sonde_probe_valued value;
	int rc;

	if (probe->nr_items == SONDE_SOURCE_PROBE_ITEMS)
		return kernel_fail(resolving, wanted->text,
				   "too much at once: 32 things can be "
				   "collected");
	if (sonde_probe_compile_value(&resolving->scope, wanted->text, &code,
				      &value, &error))
		return kernel_fail(resolving, wanted->text, error.text);
	rc = shape_item(resolving, wanted, &value, item);
	if (!rc)
		rc = decode_value(resolving, wanted->text, &code,
				  &item->program);
	if (rc)
		return rc;
	probe->nr_items++;
	probe->tells_unread |=
		!value.is_register || item->kind != SONDE_SOURCE_PROBE_NUMBER;
	resolving->bytes += item->bytes;
	if (resolving->bytes + 4 > SONDE_SOURCE_PROBE_BYTES)
		return kernel_fail(resolving, wanted->text,
				   "too much at once: 1020 bytes can be "
				   "collected");
	return 0;
}

static int collect_arguments(struct kernel_resolving *resolving)
{
	struct sonde_probe_btf_argument argument;
	int rc = 0;

	if (!resolving->at.function)
		return kernel_fail(resolving, "$args",
				   "the kernel's types (BTF) don't have this "
				   "function's arguments");
	for (uint32_t n = 0;
	     !rc &&
	     sonde_probe_btf_argument(&resolving->btf, resolving->at.function,
				      n, &argument);
	     n++) {
		struct kernel_wanted wanted = { .text = argument.name };

		/* As in GDB, what is nowhere here is left out. */
		if (argument.name && argument.index < SONDE_PROBE_BTF_REGISTERS)
			rc = collect_value(resolving, &wanted);
	}
	return rc;
}

/* "/s", "/s80" before a text; what it says holds for all that follow. */
static const char *take_shape(const char *at, struct kernel_wanted *wanted)
{
	at = sonde_text_skip_blanks(at);
	if (at[0] != '/' || at[1] != 's')
		return at;
	wanted->is_text = true;
	at += 2;
	(void)sonde_number_take(&at, 10, MEMORY_MAX, &wanted->text_max);
	return sonde_text_skip_blanks(at);
}

static int collect_list(struct kernel_resolving *resolving, const char *at)
{
	struct kernel_wanted wanted = { .text = NULL };
	char text[WORDS_SIZE];
	int rc = 0;

	while (!rc) {
		size_t length;

		at = take_shape(at, &wanted);
		length = sonde_text_item(at, ',');
		(void)snprintf(text, sizeof(text), "%.*s",
			       (int)sonde_text_trim(at, length), at);
		wanted.text = text;
		rc = !strcmp(text, "$args") ? collect_arguments(resolving) :
					      collect_value(resolving, &wanted);
		if (!at[length])
			break;
		at += length + 1;
	}
	return rc;
}

/* ---- the whole ---- */

void sonde_probe_kernel_name(const char *where, const char *name, char *to,
			     size_t size)
{
	const char *condition;
	size_t length = sonde_condition_at(where, &condition);
	char place[FUNCTION_SIZE];
	const char *event;
	bool returns;

	(void)snprintf(place, sizeof(place), "%.*s",
		       (int)sonde_text_trim(where, length), where);
	place[strcspn(place, " ")] = '\0';
	returns = cut_return(place);
	place[strcspn(place, "+")] = '\0';
	event = strchr(place, ':');
	(void)snprintf(to, size, "%.200s%s",
		       name  ? name :
		       event ? event + 1 :
			       place,
		       returns && !name ? "_return" : "");
	for (char *c = to; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
}

static void point_into(struct kernel_probe *made)
{
	made->probe.function = made->function;
	made->probe.name = made->name;
	made->probe.desc = (const struct sonde_desc *)made->desc;
}

static int resolve_kernel_probe(struct kernel_resolving *resolving)
{
	const struct sonde_probe_kernel_request *request = resolving->request;
	struct kernel_probe *made = resolving->made;
	const char *condition;
	size_t length = sonde_condition_at(request->where, &condition);
	int rc = take_function(resolving, request->where, length);

	if (rc)
		return rc;
	sonde_probe_kernel_name(sonde_text_skip_blanks(request->where),
				request->name, made->name, sizeof(made->name));
	resolving->at.btf = &resolving->btf;
	/* The arguments are where they are called with at its first byte. */
	resolving->at.function =
		made->probe.offset ? 0 :
				     sonde_probe_btf_function(&resolving->btf,
							      made->function);
	resolving->at.at_return = made->probe.at_return;
	resolving->scope.dwarf = &resolving->at;
	point_into(made);
	rc = count_arguments(resolving);
	sonde_build_begin(&resolving->build, made->desc,
			  SONDE_SOURCE_PROBE_GROUP, made->name, SONDE_INFO);
	if (!rc && condition)
		rc = take_condition(resolving, condition);
	if (!rc && request->collect)
		rc = collect_list(resolving, request->collect);
	if (rc)
		return rc;
	if (made->probe.tells_unread)
		sonde_build_int(&resolving->build, "unread", 32,
				SONDE_FIELD_HEX);
	rc = sonde_build_end(&resolving->build);
	return rc ? kernel_fail(resolving, "--collect",
				"that makes no description of an event") :
		    0;
}

int sonde_probe_kernel_resolve(const struct sonde_probe_kernel_request *request,
			       char *error, size_t error_size,
			       struct sonde_source_probe **ret_probe)
{
	struct kernel_resolving resolving = { .request = request,
					      .error = error,
					      .error_size = error_size };
	int rc = sonde_btf_open(&resolving.btf);

	if (rc)
		return kernel_fail(&resolving, SONDE_BTF_PATH,
				   strerrordesc_np(-rc));
	resolving.made = calloc(1, sizeof(*resolving.made));
	rc = resolving.made ?
		     resolve_kernel_probe(&resolving) :
		     kernel_fail(&resolving, "--kernel", "out of memory");
	sonde_btf_close(&resolving.btf);
	if (rc && resolving.made)
		sonde_probe_kernel_free(&resolving.made->probe);
	else if (!rc)
		*ret_probe = &resolving.made->probe;
	return rc;
}

void sonde_probe_kernel_free(struct sonde_source_probe *probe)
{
	if (!probe)
		return;
	sonde_program_free(probe->condition);
	for (uint32_t i = 0; i < SONDE_SOURCE_PROBE_ITEMS; i++)
		sonde_program_free(probe->items[i].program);
	free(probe); /* which begins what it is in */
}
