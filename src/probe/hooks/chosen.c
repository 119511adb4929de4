/* SPDX-License-Identifier: MIT */
/*
 * chosen.c - see chosen.h. The process apart says a line for each function that is
 * meant, "F ADDRESS GLOB NAME" with the glob's number, and "P ADDRESS 0 NAME" for the
 * parts of functions in the same files; then, as that may take long, "A ADDRESS WORDS"
 * of what functions are given (signature.h); and "E" in the end. A line that isn't so
 * ends the reading.
 */
#include "probe/hooks/chosen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/search.h"
#include "base/text.h"
#include "probe/child.h"
#include "probe/debuginfo_parts.h"
#include "probe/hooks/signature.h"
#include "types/select.h"

#define TIME_MAX_MS 10000
/* Debugging information may be of gigabytes. */
#define TIME_MAX_ARGS_MS 60000
#define PART             ".cold"
#define OURS             "/memfd:sonde" /* what probes map into a process */

struct asking {
	pid_t pid;
	const struct sonde_hooks_globs *globs;
	struct sonde_probe_dwarf *dwarf;
	bool says_words;
	FILE *to;
	bool is_first; /* the module: the program's own */
};

/* ---- in the process apart ---- */

/* What is before a '@', and behind it (NULL: there is none), up to a blank.
 * False: it is too long. */
static bool chosen_split(const char *glob, char name[SONDE_GLOB_MAX],
			 char **ret_at)
{
	size_t length = strcspn(glob, " ");

	if (length >= SONDE_GLOB_MAX)
		return false;
	memcpy(name, glob, length);
	name[length] = '\0';
	*ret_at = strrchr(name, '@');
	if (*ret_at)
		*(*ret_at)++ = '\0';
	return true;
}

static bool chosen_matches(const char *glob, bool is_first, const char *module,
			   const char *function)
{
	char name[SONDE_GLOB_MAX];
	char *at;

	if (!chosen_split(glob, name, &at))
		return false;
	if (at ? !sonde_glob_match(at, module) : !is_first)
		return false;
	return sonde_glob_match(name, function);
}

/* The number of the last that matches, from 1 on; 0: none. */
static size_t chosen_last(const char *const *list, size_t nr,
			  const struct asking *asking, const char *module,
			  const char *function)
{
	while (nr && !chosen_matches(list[nr - 1], asking->is_first, module,
				     function))
		nr--;
	return nr;
}

static void say_symbol(const struct asking *asking, const char *module,
		       const char *name, uint64_t address)
{
	const struct sonde_hooks_globs *globs = asking->globs;
	size_t glob = chosen_last(globs->list, globs->nr, asking, module, name);
	bool is_part = strstr(name, PART);

	if (!is_part && (!glob || chosen_last(globs->nots, globs->nr_nots,
					      asking, module, name)))
		return;
	if (strpbrk(name, " \n") || (asking->says_words && is_part))
		return;
	if (asking->says_words) {
		(void)fprintf(asking->to, "A %" PRIx64, address);
		sonde_hooks_signature_say(asking->dwarf, address, name,
					  asking->to);
		(void)fprintf(asking->to, " \n");
	} else {
		(void)fprintf(asking->to, "%c %" PRIx64 " %zx %s\n",
			      is_part ? 'P' : 'F', address,
			      is_part ? 0 : glob - 1, name);
	}
}

/* Whether some glob is of that file. */
static bool chosen_is_asked(const struct asking *asking, const char *module)
{
	for (size_t i = 0; i < asking->globs->nr; i++) {
		char name[SONDE_GLOB_MAX];
		char *at;

		if (chosen_split(asking->globs->list[i], name, &at) &&
		    (at ? sonde_glob_match(at, module) : asking->is_first))
			return true;
	}
	return false;
}

static int say_module(Dwfl_Module *module, void **user, const char *path,
		      Dwarf_Addr start, void *ctx)
{
	struct asking *asking = ctx;
	const char *base = sonde_text_base(path);
	int nr;

	(void)user;
	(void)start;
	/* Pads of a recording before may lie below the program. */
	if (!strncmp(path, OURS, strlen(OURS)))
		return DWARF_CB_OK;
	nr = chosen_is_asked(asking, base) ? dwfl_module_getsymtab(module) : 0;
	for (int i = 0; i < nr; i++) {
		GElf_Addr address;
		GElf_Sym symbol;
		const char *name = dwfl_module_getsym_info(
			module, i, &symbol, &address, NULL, NULL, NULL);

		if (name && symbol.st_shndx != SHN_UNDEF &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
			say_symbol(asking, base, name, address);
	}
	asking->is_first = false;
	return DWARF_CB_OK;
}

static bool wants_words(const struct sonde_hooks_globs *globs)
{
	bool wants = globs->args;

	for (size_t i = 0; i < globs->nr; i++)
		wants |= sonde_hooks_globs_condition(globs, i) != NULL;
	return wants;
}

static void say_chosen(void *ctx, FILE *to)
{
	struct asking *asking = ctx;
	struct sonde_probe_dwarf *dwarf = sonde_probe_dwarf_begin(asking->pid);

	asking->to = to;
	asking->dwarf = dwarf;
	if (!dwarf)
		return;
	(void)fprintf(to, "\n"); /* its files can be read */
	(void)dwfl_getmodules(dwarf->dwfl, say_module, asking, 0);
	asking->says_words = true;
	asking->is_first = true;
	if (wants_words(asking->globs))
		(void)dwfl_getmodules(dwarf->dwfl, say_module, asking, 0);
	(void)fprintf(to, "E\n");
	sonde_probe_dwarf_close(dwarf);
}

/* ---- what it said ---- */

/* The next line of the text, which is cut there. Words have no name. False: it
 * is none. */
static bool chosen_take_line(char **at, struct sonde_hooks_name *ret)
{
	char *line = *at;
	char *end = strchr(line, '\n');
	const char *number = line + 2;

	if (!end || !line[0] || !strchr("FPA", line[0]) || line[1] != ' ')
		return false;
	*end = '\0';
	*at = end + 1;
	if (!sonde_number_take(&number, 16, UINT64_MAX, &ret->address) ||
	    *number != ' ')
		return false;
	ret->glob = 0;
	ret->is_part = line[0] == 'P';
	if (line[0] == 'A') {
		ret->name = end;
		ret->words = number;
		return true;
	}
	number++;
	if (!sonde_number_take(&number, 16, UINT64_MAX, &ret->glob) ||
	    *number != ' ' || !number[1])
		return false;
	ret->name = number + 1;
	ret->words = end;
	return true;
}

/* Those of one address: words first. */
static int compare_chosen(const void *a, const void *b)
{
	const struct sonde_hooks_name *x = a;
	const struct sonde_hooks_name *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void keep_one_each(struct sonde_hooks_chosen *chosen)
{
	struct sonde_hooks_name words = { .words = "" };
	size_t nr = 0;

	qsort(chosen->list, chosen->nr, sizeof(*chosen->list), compare_chosen);
	for (size_t i = 0; i < chosen->nr; i++) {
		struct sonde_hooks_name name = chosen->list[i];

		if (!*name.name) {
			words = name;
			continue;
		}
		if (nr && chosen->list[nr - 1].address == name.address)
			continue;
		if (words.address == name.address)
			name.words = words.words;
		chosen->list[nr++] = name;
		chosen->nr_meant += !name.is_part;
	}
	chosen->nr = nr;
}

int sonde_hooks_chosen_read(char *text, struct sonde_hooks_chosen *ret)
{
	struct sonde_hooks_name name;
	char *at;

	*ret = (struct sonde_hooks_chosen){ .text = text };
	if (!text || *text != '\n')
		return -EIO;
	for (at = text + 1; chosen_take_line(&at, &name);) {
		if (SONDE_GROW(ret->list, ret->nr, ret->room))
			return -ENOMEM;
		ret->list[ret->nr++] = name;
	}
	ret->is_whole = at[0] == 'E' && at[1] == '\n';
	if (!ret->nr)
		return -ENOENT;
	keep_one_each(ret);
	return ret->nr_meant ? 0 : -ENOENT;
}

int sonde_hooks_chosen_find(pid_t pid, const struct sonde_hooks_globs *globs,
			    struct sonde_hooks_chosen *ret)
{
	struct asking asking = { .pid = pid, .globs = globs, .is_first = true };

	return sonde_hooks_chosen_read(
		sonde_probe_child_ask(say_chosen, &asking,
				      wants_words(globs) ? TIME_MAX_ARGS_MS :
							   TIME_MAX_MS),
		ret);
}

void sonde_hooks_chosen_free(struct sonde_hooks_chosen *chosen)
{
	free(chosen->list);
	free(chosen->text);
	*chosen = (struct sonde_hooks_chosen){ 0 };
}

bool sonde_hooks_chosen_is_part(const struct sonde_hooks_chosen *chosen,
				uint64_t address)
{
	size_t i;

	SONDE_SEARCH(i, chosen->nr, chosen->list[i].address < address);
	return i < chosen->nr && chosen->list[i].address == address &&
	       chosen->list[i].is_part;
}
