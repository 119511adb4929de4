/* SPDX-License-Identifier: MIT */
/*
 * resolve.c - see resolve.h.
 *
 * All of it is done in a child (child.h), whose answer ends with "done", or with
 * "error WHY". All tracepoints have number 1, and places of their own.
 */
#include "probe/resolve.h"

#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "base/unconst.h"
#include "probe/child.h"
#include "probe/compile.h"
#include "probe/names.h"
#include "probe/places.h"
#include "probe/sdt.h"
#include "probe/semaphore.h"
#include "probe/types.h"

#define TIME_MAX_MS 120000
#define NUMBER      1u

enum {
	TEXT_SIZE = 4096,
	ERROR_SIZE = 512,
	/* A packet's. */
	SOURCE_PIECE = 1000,
	ACTIONS_MAX = 128,
};

struct resolving {
	const struct sonde_probe_request *request;
	struct sonde_probe_dwarf *dwarf;
	struct sonde_probe_points variables;
	struct sonde_probe_scope scope;
	char where[TEXT_SIZE];     /* without the condition */
	char condition[TEXT_SIZE]; /* ""; none */
	char error[ERROR_SIZE];
	struct sonde_probe_sdt sdt; /* without a marker: it is none of them */
	/* of the tracepoint that is being made */
	char commands[2 * TEXT_SIZE]; /* what is collected, as GDB has it */
	struct sonde_probe_sdt_recorded recorded[ACTIONS_MAX];
	size_t nr_recorded;
	uint64_t registers;
	char *actions[ACTIONS_MAX]; /* of M, X, L */
	size_t nr_actions;
	FILE *to;
};

static int fail(struct resolving *resolving, const char *text, const char *why)
{
	(void)snprintf(resolving->error, sizeof(resolving->error), "%.100s: %s",
		       text, why);
	return -EINVAL;
}

/* ---- texts ---- */

static void copy_trimmed(char *to, size_t size, const char *from, size_t length)
{
	(void)snprintf(to, size, "%.*s", (int)sonde_text_trim(from, length),
		       from);
}

/* "LOCATION if CONDITION": the word `if`, as GDB takes it. */
static int resolve_split(struct resolving *resolving)
{
	const char *text = sonde_text_skip_blanks(resolving->request->where);
	const char *at = text;

	if (strlen(text) >= TEXT_SIZE)
		return fail(resolving, text, "too long");
	while ((at = strstr(at, "if"))) {
		if (at > text && isspace((unsigned char)at[-1]) &&
		    (isspace((unsigned char)at[2]) || at[2] == '('))
			break;
		at += 2;
	}
	copy_trimmed(resolving->where, TEXT_SIZE, text,
		     at ? (size_t)(at - text) : strlen(text));
	if (at)
		copy_trimmed(resolving->condition, TEXT_SIZE,
			     sonde_text_skip_blanks(at + 2),
			     strlen(sonde_text_skip_blanks(at + 2)));
	if (at && !resolving->condition[0])
		return fail(resolving, text, "there is no condition behind if");
	return 0;
}

/* ---- packets ---- */

static void resolve_put_hex(FILE *to, const void *bytes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		(void)fprintf(to, "%02x", ((const uint8_t *)bytes)[i]);
}

static int resolve_add_action(struct resolving *resolving, const char *format,
			      uint64_t a, uint64_t b,
			      const struct sonde_probe_bytecode *code)
{
	size_t size;
	char *text = NULL;
	FILE *to;

	if (resolving->nr_actions == ACTIONS_MAX)
		return fail(resolving, resolving->request->collect,
			    "too much at once");
	to = open_memstream(&text, &size);
	if (!to)
		return fail(resolving, "collect", "out of memory");
	(void)fprintf(to, "%s%" PRIx64 ",", format, a);
	if (code)
		resolve_put_hex(to, code->bytes, code->nr);
	else
		(void)fprintf(to, "%" PRIx64, b);
	if (fclose(to)) {
		free(text);
		return fail(resolving, "collect", "out of memory");
	}
	resolving->actions[resolving->nr_actions++] = text;
	return 0;
}

static void resolve_put_source(struct resolving *resolving, uint64_t address,
			       const char *kind, const char *text)
{
	size_t length = strlen(text);

	for (size_t at = 0; at < length; at += SOURCE_PIECE) {
		size_t piece =
			length - at < SOURCE_PIECE ? length - at : SOURCE_PIECE;

		(void)fprintf(resolving->to,
			      "QTDPsrc:%x:%" PRIx64 ":%s:%zx:%zx:", NUMBER,
			      address, kind, at, length);
		resolve_put_hex(resolving->to, text + at, piece);
		(void)fputc('\n', resolving->to);
	}
}

static void put_actions(struct resolving *resolving, uint64_t address)
{
	size_t nr = resolving->nr_actions;

	if (resolving->registers)
		(void)fprintf(resolving->to,
			      "QTDP:-%x:%" PRIx64 ":R%" PRIx64 "%s\n", NUMBER,
			      address, resolving->registers, nr ? "-" : "");
	for (size_t i = 0; i < nr; i++)
		(void)fprintf(resolving->to, "QTDP:-%x:%" PRIx64 ":%s%s\n",
			      NUMBER, address, resolving->actions[i],
			      i + 1 < nr ? "-" : "");
}

static void put_sources(struct resolving *resolving, uint64_t address)
{
	char *rest = NULL;

	resolve_put_source(resolving, address, "at", resolving->where);
	if (resolving->condition[0])
		resolve_put_source(resolving, address, "cond",
				   resolving->condition);
	for (char *line = strtok_r(resolving->commands, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		resolve_put_source(resolving, address, "cmd", line);
}

/* What the server must know of a probe of <sys/sdt.h> (semaphore.h), and the
 * types that its note has. */
static void resolve_put_sdt(struct resolving *resolving, uint64_t address)
{
	const struct sonde_probe_marker *marker = resolving->sdt.marker;
	char line[TEXT_SIZE];

	if (!marker)
		return;
	(void)snprintf(line, sizeof(line), "%.1000s:%.1000s %" PRIx64,
		       marker->provider, marker->name, marker->semaphore);
	resolve_put_source(resolving, address, SONDE_PROBE_SDT_KIND, line);
	for (size_t i = 0; i < resolving->nr_recorded; i++) {
		struct sonde_probe_sdt_recorded recorded =
			resolving->recorded[i];

		/* The registers are an action before them. */
		recorded.action += !!resolving->registers;
		for (unsigned int k = 0; sonde_probe_sdt_type(
			     &resolving->sdt, &recorded, k, line, sizeof(line));
		     k++)
			resolve_put_source(resolving, address,
					   SONDE_PROBE_TYPES_KIND, line);
	}
}

/* ---- what is collected ---- */

static int collect_wanted(struct resolving *resolving,
			  const struct sonde_probe_wanted *wanted)
{
	struct sonde_probe_bytecode code = { .nr = 0 };
	struct sonde_expr_error error = { .column = 0 };
	struct sonde_probe_thing thing;

	if (sonde_probe_compile_wanted(&resolving->scope, wanted, &code, &thing,
				       &error)) {
		(void)snprintf(resolving->error, sizeof(resolving->error), "%s",
			       error.text);
		return -EINVAL;
	}
	/* GDB collects registers that it computes with; of a probe of
	 * <sys/sdt.h> its arguments are wanted, and no more. */
	if (!resolving->sdt.marker ||
	    thing.how == SONDE_PROBE_COLLECTED_REGISTER)
		resolving->registers |= code.registers;
	if (thing.how == SONDE_PROBE_COLLECTED_REGISTER)
		return 0;
	if (thing.how == SONDE_PROBE_COLLECTED_RANGE)
		return resolve_add_action(resolving, "M-1,",
					  (uint64_t)thing.address, thing.length,
					  NULL);
	return resolve_add_action(resolving, "X", code.nr, 0, &code);
}

struct collecting {
	struct resolving *resolving;
	bool are_arguments;
	int rc;
};

/* What is nowhere here is left out, as in GDB. */
static bool collect_seen(Dwarf_Die *die, bool is_local, void *ctx)
{
	struct collecting *collecting = ctx;
	struct sonde_probe_wanted wanted = { .times = 1 };
	int tag = dwarf_tag(die);

	if (!is_local)
		return true;
	if (tag != (collecting->are_arguments ? DW_TAG_formal_parameter :
						DW_TAG_variable))
		return false;
	wanted.text = dwarf_diename(die);
	if (wanted.text)
		(void)collect_wanted(collecting->resolving, &wanted);
	return false;
}

static int collect_visible(struct resolving *resolving, bool are_arguments)
{
	struct collecting collecting = { resolving, are_arguments, 0 };
	size_t nr = resolving->nr_actions;

	if (!resolving->scope.has_dwarf)
		return fail(resolving, are_arguments ? "$args" : "$locals",
			    "there is no debugging information here");
	(void)sonde_probe_dwarf_visible(resolving->dwarf, collect_seen,
					&collecting);
	if (resolving->nr_actions == ACTIONS_MAX && nr < ACTIONS_MAX)
		return fail(resolving, resolving->request->collect,
			    "too much at once");
	return 0;
}

/* "*p@4": how many, and what is before it. */
static void resolve_take_times(char *text, struct sonde_probe_wanted *wanted)
{
	char *at = strrchr(text, '@');
	const char *number = at ? sonde_text_skip_blanks(at + 1) : "";

	if (!at || !sonde_number_parse(number, INT32_MAX, &wanted->times) ||
	    !wanted->times) {
		wanted->times = 1;
		return;
	}
	*at = '\0';
}

static int collect_thing(struct resolving *resolving, char *text,
			 const struct sonde_probe_wanted *how)
{
	struct sonde_probe_wanted wanted = *how;

	if (!strcmp(text, "$args") || !strcmp(text, "$locals"))
		return collect_visible(resolving, text[1] == 'a');
	if (!strcmp(text, "$regs")) {
		resolving->registers |= (1u << SONDE_AGENT_REGISTERS) - 1;
		return 0;
	}
	if (!strcmp(text, "$_sdata")) {
		char *action = strdup("L");

		if (!action || resolving->nr_actions == ACTIONS_MAX) {
			free(action);
			return fail(resolving, text, "too much at once");
		}
		resolving->actions[resolving->nr_actions++] = action;
		return 0;
	}
	wanted.text = text;
	resolve_take_times(text, &wanted);
	return collect_wanted(resolving, &wanted);
}

/* "/s", "/s80" */
static int resolve_take_options(struct resolving *resolving, const char **at,
				struct sonde_probe_wanted *how)
{
	if (**at != '/')
		return 0;
	if ((*at)[1] != 's')
		return fail(resolving, *at, "there is /s only");
	how->is_string = true;
	*at += 2;
	(void)sonde_number_take(at, 10, UINT16_MAX, &how->string_max);
	return 0;
}

/* In C: with expressions instead of $arg1 ... */
static int resolve_expand(struct resolving *resolving, const char *text,
			  char to[TEXT_SIZE])
{
	if (resolving->sdt.marker)
		return sonde_probe_sdt_expand(&resolving->sdt, text, to,
					      TEXT_SIZE, resolving->error,
					      sizeof(resolving->error)) ?
			       0 :
			       -EINVAL;
	copy_trimmed(to, TEXT_SIZE, text, strlen(text));
	return 0;
}

/* As GDB would have been told it. */
static void resolve_add_command(struct resolving *resolving, const char *text,
				const struct sonde_probe_wanted *how,
				bool is_first)
{
	struct sonde_text line = { .to = resolving->commands,
				   .size = sizeof(resolving->commands),
				   .length = strlen(resolving->commands) };

	if (!is_first) {
		sonde_text_add(&line, ", %s", text);
		return;
	}
	sonde_text_add(&line, "%scollect", line.length ? "\n" : "");
	if (how->is_string)
		sonde_text_add(&line, "/s");
	if (how->string_max)
		sonde_text_add(&line, "%" PRIu64, how->string_max);
	sonde_text_add(&line, " %s", text);
}

/* One thing of the list, as the user wrote it. */
static int resolve_collect_item(struct resolving *resolving, const char *text,
				const struct sonde_probe_wanted *how,
				bool is_first)
{
	unsigned int number =
		resolving->sdt.marker ? sonde_probe_sdt_number(text) : 0;
	size_t nr = resolving->nr_actions;
	char asked[TEXT_SIZE];
	char in_c[TEXT_SIZE];
	int rc;

	(void)snprintf(asked, sizeof(asked), "%s%.4000s",
		       number && how->is_string ? "(char *)" : "", text);
	rc = resolve_expand(resolving, asked, in_c);
	if (rc)
		return rc;
	resolve_add_command(resolving, in_c, how, is_first);
	rc = collect_thing(resolving, in_c, how);
	if (!rc && number && resolving->nr_actions > nr)
		resolving->recorded[resolving->nr_recorded++] =
			(struct sonde_probe_sdt_recorded){ nr, number,
							   how->is_string };
	return rc;
}

static int collect_all(struct resolving *resolving)
{
	struct sonde_probe_wanted how = { .times = 1 };
	const char *at = resolving->request->collect;
	char all[TEXT_SIZE] = "";
	char text[TEXT_SIZE];
	int rc = 0;

	if (!at && resolving->sdt.marker &&
	    sonde_probe_sdt_all(&resolving->sdt, all, sizeof(all)))
		at = all;
	if (!at)
		return 0;
	if (strlen(at) >= TEXT_SIZE - 100)
		return fail(resolving, at, "too long");
	for (bool is_first = true; !rc; is_first = false) {
		size_t length;

		at = sonde_text_skip_blanks(at);
		is_first = is_first || *at == '/';
		rc = resolve_take_options(resolving, &at, &how);
		if (rc)
			break;
		at = sonde_text_skip_blanks(at);
		length = sonde_text_item(at, ',');
		copy_trimmed(text, sizeof(text), at, length);
		rc = resolve_collect_item(resolving, text, &how, is_first);
		at += length;
		if (!*at)
			break;
		at++;
	}
	return rc;
}

/* ---- a tracepoint ---- */

static int resolve_put_point(struct resolving *resolving, uint64_t address)
{
	struct sonde_probe_bytecode condition = { .nr = 0 };
	struct sonde_expr_error error = { .column = 0 };
	char in_c[TEXT_SIZE];
	bool has_actions;
	int rc = resolve_expand(resolving, resolving->condition, in_c);

	if (rc)
		return rc;
	if (in_c[0])
		rc = sonde_probe_compile_condition(&resolving->scope, in_c,
						   &condition, &error);
	if (rc) {
		(void)snprintf(resolving->error, sizeof(resolving->error), "%s",
			       error.text);
		return rc;
	}
	rc = collect_all(resolving);
	if (rc)
		return rc;
	has_actions = resolving->registers || resolving->nr_actions;
	(void)fprintf(resolving->to, "QTDP:%x:%" PRIx64 ":E:0:0", NUMBER,
		      address);
	if (condition.nr) {
		(void)fprintf(resolving->to, ":X%zx,", condition.nr);
		resolve_put_hex(resolving->to, condition.bytes, condition.nr);
	}
	(void)fputs(has_actions ? "-\n" : "\n", resolving->to);
	put_actions(resolving, address);
	put_sources(resolving, address);
	resolve_put_sdt(resolving, address);
	return 0;
}

static int resolve_at(struct resolving *resolving, uint64_t address)
{
	char place[ERROR_SIZE];
	int rc;

	resolving->scope.has_dwarf =
		sonde_probe_dwarf_at(resolving->dwarf, address);
	sonde_probe_places_say(resolving->dwarf, address, place, sizeof(place));
	(void)fprintf(resolving->to, "at 0x%" PRIx64 "%s%s%s\n", address,
		      *place ? ": file " : "", place, *place ? "." : "");
	rc = resolve_put_point(resolving, address);
	while (resolving->nr_actions > 0)
		free(resolving->actions[--resolving->nr_actions]);
	resolving->registers = 0;
	resolving->nr_recorded = 0;
	resolving->commands[0] = '\0';
	return rc;
}

/* The events are called PROVIDER_NAME, if nobody called them otherwise. */
static void put_sdt_name(struct resolving *resolving)
{
	const struct sonde_probe_marker *marker = resolving->sdt.marker;
	char name[TEXT_SIZE];

	if (resolving->request->has_name)
		return;
	(void)snprintf(name, sizeof(name), "%.90s_%.90s", marker->provider,
		       marker->name);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	(void)fputs("QSondeName:", resolving->to);
	resolve_put_hex(resolving->to, name, strlen(name));
	(void)fputc('\n', resolving->to);
}

static int resolve_sdt(struct resolving *resolving)
{
	struct sonde_probe_markers markers;
	int rc = sonde_probe_markers_find(resolving->request->pid, &markers);
	char wanted[TEXT_SIZE];
	size_t nr = 0;

	if (rc)
		return fail(resolving, "the process", strerrordesc_np(-rc));
	memcpy(wanted, resolving->where, sizeof(wanted));
	for (size_t i = 0; !rc && i < markers.nr; i++) {
		const struct sonde_probe_marker *marker = &markers.list[i];

		if (!sonde_probe_sdt_matches(wanted, marker))
			continue;
		if (nr++ == SONDE_PROBE_PLACES_MAX)
			return fail(resolving, wanted, "too many places");
		resolving->sdt =
			(struct sonde_probe_sdt){ resolving->dwarf, marker };
		/* GDB's word for it. */
		(void)snprintf(resolving->where, sizeof(resolving->where),
			       "-probe-stap %.1000s:%.1000s", marker->provider,
			       marker->name);
		put_sdt_name(resolving);
		rc = resolve_at(resolving, marker->address);
	}
	return nr ? rc :
		    fail(resolving, wanted,
			 "the process has no such probe; 'sonde list' shows "
			 "those of its files");
}

static int probe_resolve(struct resolving *resolving)
{
	struct sonde_probe_places places;
	int rc = resolve_split(resolving);

	if (rc)
		return rc;
	resolving->dwarf = sonde_probe_dwarf_begin(resolving->request->pid);
	if (!resolving->dwarf)
		return fail(resolving, "the process",
			    "its files can't be read");
	if (sonde_probe_points_add_builtins(&resolving->variables))
		return fail(resolving, "the process", "out of memory");
	resolving->scope = (struct sonde_probe_scope){
		.dwarf = resolving->dwarf,
		.points = &resolving->variables,
	};
	if (sonde_probe_sdt_is_place(resolving->where))
		return resolve_sdt(resolving);
	rc = sonde_probe_places_find(resolving->dwarf, resolving->where,
				     &places, resolving->error,
				     sizeof(resolving->error));
	for (size_t i = 0; !rc && i < places.nr; i++)
		rc = resolve_at(resolving, places.list[i]);
	return rc;
}

/* In the child, which frees nothing. */
static void answer(void *ctx, FILE *to)
{
	struct resolving resolving = { .request = ctx, .to = to };

	if (probe_resolve(&resolving))
		(void)fprintf(to, "error %s\n", resolving.error);
	else
		(void)fputs("done\n", to);
}

/* The line that begins so; NULL. */
static char *find_line(char *lines, const char *word)
{
	size_t length = strlen(word);

	for (char *line = lines; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, word, length))
			return line;
	}
	return NULL;
}

char *sonde_probe_resolve(const struct sonde_probe_request *request,
			  char *error, size_t error_size)
{
	char *lines = sonde_probe_child_ask(answer, sonde_unconst(request),
					    TIME_MAX_MS);
	char *end = lines ? find_line(lines, "done\n") : NULL;
	char *wrong = lines ? find_line(lines, "error ") : NULL;

	if (end) {
		*end = '\0';
		return lines;
	}
	if (wrong) {
		wrong += strlen("error ");
		(void)snprintf(error, error_size, "%.*s",
			       (int)strcspn(wrong, "\n"), wrong);
	} else {
		(void)snprintf(error, error_size,
			       "the debugging information can't be read, or "
			       "it takes too long");
	}
	free(lines);
	return NULL;
}
