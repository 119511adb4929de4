/* SPDX-License-Identifier: MIT */
/*
 * sdt.c - see sdt.h. Operands are understood by types/sdt.h; here they are said
 * in C. Symbols are those of the file that the place is in; one that the file
 * has several times, or none of, makes its argument unknown.
 */
#include "probe/sdt.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "types/sdt.h"
#include "types/select.h"

#define PREFIX     "sdt:"
#define ARGUMENT   "$arg"
#define EXPRESSION 160

/* ---- places ---- */

bool sonde_probe_sdt_is_place(const char *text)
{
	return !strncmp(text, PREFIX, strlen(PREFIX));
}

bool sonde_probe_sdt_matches(const char *text,
			     const struct sonde_probe_marker *marker)
{
	char provider[SONDE_GLOB_MAX];
	size_t length;

	text += strlen(PREFIX);
	length = strcspn(text, ":");
	if (marker->is_event || !text[length] || length >= sizeof(provider))
		return false;
	memcpy(provider, text, length);
	provider[length] = '\0';
	return sonde_glob_match(provider, marker->provider) &&
	       sonde_glob_match(text + length + 1, marker->name);
}

/* ---- arguments ---- */

static bool sdt_find_argument(const struct sonde_probe_sdt *sdt,
			      unsigned int number,
			      struct sonde_sdt_argument *ret)
{
	const char *at = sdt->marker->extra;

	while (sonde_sdt_argument(&at, ret))
		if (--number == 0)
			return true;
	return false;
}

static const char *sdt_c_type_of(const struct sonde_sdt_argument *argument)
{
	static const char *const names[3][4] = {
		{ "unsigned char", "unsigned short", "unsigned int",
		  "unsigned long" },
		{ "char", "short", "int", "long" },
		{ "", "", "float", "double" },
	};
	unsigned int row = argument->is_float ? 2 : argument->is_signed;

	return names[row][__builtin_ctz(argument->size)];
}

/* Where the module of the place has its variable of that name. */
static bool sdt_find_symbol(const struct sonde_probe_sdt *sdt, const char *name,
			    size_t length, uint64_t *ret_address)
{
	Dwfl_Module *module =
		dwfl_addrmodule(sdt->dwarf->dwfl, sdt->marker->address);
	int nr = module ? dwfl_module_getsymtab(module) : 0;
	bool is_found = false;

	for (int i = 0; i < nr; i++) {
		GElf_Addr address;
		GElf_Sym symbol;
		const char *its = dwfl_module_getsym_info(
			module, i, &symbol, &address, NULL, NULL, NULL);
		int type = GELF_ST_TYPE(symbol.st_info);

		if (!its || symbol.st_shndx == SHN_UNDEF ||
		    (type != STT_OBJECT && type != STT_NOTYPE) ||
		    strlen(its) != length || memcmp(its, name, length) != 0)
			continue;
		if (is_found && address != *ret_address)
			return false;
		*ret_address = address;
		is_found = true;
	}
	return is_found;
}

static bool sdt_say_memory(const struct sonde_probe_sdt *sdt,
			   const struct sonde_sdt_argument *argument,
			   struct sonde_text *to)
{
	bool is_by_counter = !strcmp(argument->base, "rip");
	uint64_t address = 0;

	if (argument->symbol &&
	    !sdt_find_symbol(sdt, argument->symbol, argument->symbol_length,
			     &address))
		return false;
	sonde_text_add(to, "*(%s *)(", sdt_c_type_of(argument));
	if (argument->base[0] && !is_by_counter)
		sonde_text_add(to, "$%s + ", argument->base);
	if (argument->index[0])
		sonde_text_add(to, "$%s * %u + ", argument->index,
			       argument->scale);
	sonde_text_add(to, "%" PRId64 ")",
		       (int64_t)(address + (uint64_t)argument->number));
	return true;
}

/* In brackets; false: its value can't be had. */
static bool sdt_say_argument(const struct sonde_probe_sdt *sdt,
			     unsigned int number, struct sonde_text *to)
{
	struct sonde_sdt_argument argument;
	bool is_said = true;

	if (!sdt_find_argument(sdt, number, &argument))
		return false;
	sonde_text_add(to, "(");
	switch (argument.kind) {
	case SONDE_SDT_UNKNOWN:
		return false;
	case SONDE_SDT_CONSTANT:
		sonde_text_add(to, "(%s)%" PRId64, sdt_c_type_of(&argument),
			       argument.number);
		break;
	case SONDE_SDT_REGISTER:
		sonde_text_add(to,
			       argument.shift ? "(%s)($%s >> 8)" : "(%s)$%s",
			       sdt_c_type_of(&argument), argument.base);
		break;
	case SONDE_SDT_MEMORY:
		is_said = sdt_say_memory(sdt, &argument, to);
		break;
	}
	sonde_text_add(to, ")");
	return is_said;
}

/* ---- texts ---- */

/* "$arg1" at *at, which moves behind it; 0: there is none. */
static unsigned int sdt_take_argument(const char **at)
{
	const char *p = *at;
	uint64_t number;

	if (strncmp(p, ARGUMENT, strlen(ARGUMENT)) != 0)
		return 0;
	p += strlen(ARGUMENT);
	if (!sonde_number_take(&p, 10, SONDE_SDT_ARGUMENTS_MAX, &number) ||
	    isalnum((unsigned char)*p) || *p == '_')
		return 0;
	*at = p;
	return (unsigned int)number;
}

unsigned int sonde_probe_sdt_number(const char *text)
{
	unsigned int number = sdt_take_argument(&text);

	return *text ? 0 : number;
}

bool sonde_probe_sdt_expand(const struct sonde_probe_sdt *sdt, const char *text,
			    char *to, size_t size, char *error,
			    size_t error_size)
{
	struct sonde_text all = { .to = to, .size = size };

	while (*text) {
		unsigned int number = sdt_take_argument(&text);

		if (!number) {
			sonde_text_add(&all, "%c", *text++);
			continue;
		}
		if (!sdt_say_argument(sdt, number, &all)) {
			(void)snprintf(error, error_size,
				       "$arg%u: %s:%s has no such argument "
				       "here, or none that can be read (%s)",
				       number, sdt->marker->provider,
				       sdt->marker->name, sdt->marker->extra);
			return false;
		}
	}
	if (all.length >= size)
		(void)snprintf(error, error_size, "the text is too long");
	return all.length < size;
}

unsigned int sonde_probe_sdt_all(const struct sonde_probe_sdt *sdt, char *to,
				 size_t size)
{
	struct sonde_text all = { .to = to, .size = size };
	unsigned int nr = 0;

	*to = '\0';
	for (unsigned int i = 1; i <= SONDE_SDT_ARGUMENTS_MAX; i++) {
		char expression[EXPRESSION];
		struct sonde_text one = { .to = expression,
					  .size = sizeof(expression) };

		if (sdt_say_argument(sdt, i, &one))
			sonde_text_add(&all, "%s" ARGUMENT "%u",
				       nr++ ? ", " : "", i);
	}
	return nr;
}

bool sonde_probe_sdt_type(const struct sonde_probe_sdt *sdt,
			  const struct sonde_probe_sdt_recorded *recorded,
			  unsigned int k, char *to, size_t size)
{
	struct sonde_sdt_argument argument;
	const char *suffix = "";
	bool is_pointer;

	if (!sdt_find_argument(sdt, recorded->number, &argument))
		return false;
	/* A string's pointer is recorded where it had to be read. */
	is_pointer = recorded->is_string && argument.kind == SONDE_SDT_MEMORY;
	if (k > is_pointer)
		return false;
	if (is_pointer && k == 0)
		suffix = "_pointer";
	(void)snprintf(to, size, "A%zu.%u:%c%u:arg%u%s", recorded->action, k,
		       recorded->is_string ? 'x' :
		       argument.is_float   ? 'f' :
		       argument.is_signed  ? 's' :
					     'u',
		       argument.size * 8U, recorded->number, suffix);
	return true;
}
