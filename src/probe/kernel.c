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
	/* what the kernel's lists say of its function */
	uint64_t symbol_address;
	uint32_t nr_symbols;
	uint32_t function_type; /* 0: BTF has none */
	bool is_data, is_blacklisted;
	_Alignas(8) uint8_t desc[SONDE_DESC_MAX];
};

struct kernel_resolving {
	const struct sonde_probe_kernel_request *request;
	struct kernel_probe *made;
	const struct sonde_btf *btf;
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

/* Probes by their functions' names: each list is read once, which takes longer than all
 * else. */
struct kernel_sorted {
	struct kernel_probe **list;
	uint32_t nr;
};

static int compare_functions(const void *a, const void *b)
{
	const struct kernel_probe *const *one = a;
	const struct kernel_probe *const *other = b;

	return strcmp((*one)->function, (*other)->function);
}

/* The first of those at a function of that name; sorted->nr: there is none. */
static uint32_t first_at(const struct kernel_sorted *sorted, const char *name)
{
	uint32_t low = 0;
	uint32_t high = sorted->nr;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (strcmp(sorted->list[middle]->function, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct kernel_sorted *sorted, uint32_t i,
		  const char *name)
{
	return i < sorted->nr && !strcmp(sorted->list[i]->function, name);
}

static bool see_symbol(void *ctx, const struct sonde_kallsym *symbol)
{
	const struct kernel_sorted *sorted = ctx;

	for (uint32_t i = first_at(sorted, symbol->name);
	     is_at(sorted, i, symbol->name); i++) {
		struct kernel_probe *made = sorted->list[i];

		if (symbol->is_code) {
			made->nr_symbols++;
			made->symbol_address = symbol->address;
		} else {
			made->is_data = true;
		}
	}
	return true;
}

/* Only root can read it, and only where debugfs is: else the kernel says so
 * later. */
static void read_blacklist(const struct kernel_sorted *sorted)
{
	struct sonde_lines *lines = malloc(sizeof(*lines));
	char *line;

	if (!lines || sonde_lines_open(lines, BLACKLIST_FILE)) {
		free(lines);
		return;
	}
	while ((line = sonde_lines_next(lines))) {
		const char *name = strrchr(line, '\t');

		for (uint32_t i = name ? first_at(sorted, ++name) : sorted->nr;
		     is_at(sorted, i, name); i++)
			sorted->list[i]->is_blacklisted = true;
	}
	sonde_lines_close(lines);
	free(lines);
}

static void see_types(const struct sonde_btf *btf,
		      const struct kernel_sorted *sorted)
{
	for (uint32_t id = 1; id < btf->nr; id++) {
		struct btf_type type;
		const char *name;

		(void)sonde_btf_type(btf, id, &type); /* its head only */
		if (BTF_INFO_KIND(type.info) != BTF_KIND_FUNC)
			continue;
		name = sonde_btf_string(btf, type.name_off);
		for (uint32_t i = name ? first_at(sorted, name) : sorted->nr;
		     is_at(sorted, i, name); i++)
			if (!sorted->list[i]->function_type)
				sorted->list[i]->function_type = type.type;
	}
}

static int look_functions_up(const struct sonde_btf *btf,
			     struct kernel_probe **list, uint32_t nr)
{
	struct kernel_sorted sorted = { list, nr };
	int rc;

	qsort(list, nr, sizeof(struct kernel_probe *), compare_functions);
	rc = sonde_kallsyms_each(see_symbol, &sorted);
	if (rc)
		return rc;
	read_blacklist(&sorted);
	see_types(btf, &sorted);
	return 0;
}

static bool try_symbol(void *ctx, const struct sonde_kallsym *symbol)
{
	if (symbol->is_code)
		sonde_nearest_try(ctx, symbol->name);
	return true;
}

static int fail_unknown(struct kernel_resolving *resolving, const char *name)
{
	char why[SONDE_NEAREST_MAX + 160];
	struct sonde_nearest nearest;

	sonde_nearest_begin(&nearest, name);
	(void)sonde_kallsyms_each(try_symbol,
				  &nearest); /* it was read before */
	(void)snprintf(why, sizeof(why),
		       "the kernel has no such function, or it is inlined "
		       "wherever it is called%s",
		       sonde_nearest_hint(&nearest));
	return kernel_fail(resolving, name, why);
}

static int check_function(struct kernel_resolving *resolving)
{
	struct kernel_probe *made = resolving->made;
	const char *name = made->function;
	char why[160];

	if (!made->nr_symbols && made->is_data)
		return kernel_fail(resolving, name,
				   "that is a variable of the kernel, and no "
				   "function");
	if (!made->nr_symbols)
		return fail_unknown(resolving, name);
	if (made->nr_symbols > 1) {
		(void)snprintf(why, sizeof(why),
			       "the kernel has %" PRIu32 " functions of that "
			       "name, and can't be told which is meant",
			       made->nr_symbols);
		return kernel_fail(resolving, name, why);
	}
	if (made->is_blacklisted)
		return kernel_fail(resolving, name,
				   "probes need this function themselves: it "
				   "is in " BLACKLIST_FILE);
	if (made->probe.tracepoint)
		made->probe.address = made->symbol_address;
	else if (made->symbol_address) /* 0: this user may not know */
		made->probe.found = made->symbol_address + made->probe.offset;
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

		memcpy(event, made->function, sizeof(event));
		return take_tracepoint_event(resolving, event);
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
	return 0;
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
	     sonde_probe_btf_argument(resolving->btf, resolving->at.function, n,
				      &argument) &&
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
	     sonde_probe_btf_argument(resolving->btf, resolving->at.function, n,
				      &argument);
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

/* What is at the function, which is known. */
static int resolve_kernel_probe(struct kernel_resolving *resolving)
{
	const struct sonde_probe_kernel_request *request = resolving->request;
	struct kernel_probe *made = resolving->made;
	const char *condition;
	int rc = check_function(resolving);

	if (rc)
		return rc;
	(void)sonde_condition_at(request->where, &condition);
	sonde_probe_kernel_name(sonde_text_skip_blanks(request->where),
				request->name, made->name, sizeof(made->name));
	resolving->at.btf = resolving->btf;
	/* The arguments are where they are called with at its first byte. */
	resolving->at.function = made->probe.offset ? 0 : made->function_type;
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

/* All of them, one step after the other, for the kernel's lists are read once. */
struct kernel_all {
	const struct sonde_probe_kernel_request *requests;
	uint32_t nr;
	struct kernel_probe **made;
	struct kernel_probe **sorted;
	struct sonde_btf btf;
	char *error;
	size_t error_size;
};

static int each_kernel_probe(struct kernel_all *all,
			     int (*step)(struct kernel_resolving *resolving))
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < all->nr; i++) {
		struct kernel_resolving resolving = {
			.request = &all->requests[i],
			.made = all->made[i],
			.btf = &all->btf,
			.error = all->error,
			.error_size = all->error_size,
		};

		rc = step(&resolving);
	}
	return rc;
}

static int take_kernel_place(struct kernel_resolving *resolving)
{
	const char *where = resolving->request->where;
	const char *condition;

	return take_function(resolving, where,
			     sonde_condition_at(where, &condition));
}

static int fail_all(const struct kernel_all *all, const char *what, int rc)
{
	(void)snprintf(all->error, all->error_size, "%s: %s", what,
		       strerrordesc_np(-rc));
	return -EINVAL;
}

static int allocate_kernel_probes(struct kernel_all *all)
{
	all->made = calloc(2 * (size_t)all->nr + 1, sizeof(*all->made));
	if (!all->made)
		return fail_all(all, "--kernel", -ENOMEM);
	all->sorted = all->made + all->nr;
	for (uint32_t i = 0; i < all->nr; i++) {
		all->made[i] = calloc(1, sizeof(**all->made));
		if (!all->made[i])
			return fail_all(all, "--kernel", -ENOMEM);
		all->sorted[i] = all->made[i];
	}
	return 0;
}

static int resolve_all(struct kernel_all *all)
{
	int rc = sonde_btf_open(&all->btf);

	if (rc)
		return fail_all(all, SONDE_BTF_PATH, rc);
	rc = each_kernel_probe(all, take_kernel_place);
	if (!rc) {
		rc = look_functions_up(&all->btf, all->sorted, all->nr);
		rc = rc ? fail_all(all, "/proc/kallsyms", rc) :
			  each_kernel_probe(all, resolve_kernel_probe);
	}
	sonde_btf_close(&all->btf);
	return rc;
}

int sonde_probe_kernel_resolve(
	const struct sonde_probe_kernel_request *requests, uint32_t nr,
	char *error, size_t error_size, struct sonde_source_probe **ret_probes)
{
	struct kernel_all all = { .requests = requests,
				  .nr = nr,
				  .error = error,
				  .error_size = error_size };
	int rc = allocate_kernel_probes(&all);

	if (!rc)
		rc = resolve_all(&all);
	for (uint32_t i = 0; all.made && i < nr; i++) {
		if (!rc)
			ret_probes[i] = &all.made[i]->probe;
		else if (all.made[i])
			sonde_probe_kernel_free(&all.made[i]->probe);
	}
	free(all.made);
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
