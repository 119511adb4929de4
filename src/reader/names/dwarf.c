/* SPDX-License-Identifier: MIT */
/*
 * dwarf.c - lines and inlined functions of an address, through libdw (dwarf.h).
 *
 * Units, and the functions of a unit that was asked about, are ranges in the
 * order of their begins, so an address is found by bisection. Of ranges that
 * contain it the one that begins last is the inner one.
 */
#include "reader/names/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/search.h"
#include "reader/names/demangle.h"

#define RANGES_MAX  ((size_t)1 << 22)
#define DEPTH_MAX   64
#define INLINED_MAX SONDE_NAMING_FRAMES

/* Addresses of a unit, or of a function. */
struct range {
	uint64_t begin, end;
	size_t owner; /* of `units`, or of a unit's `functions` */
};

struct ranges {
	size_t nr, capacity;
	struct range *all; /* by begin */
};

struct unit {
	Dwarf_Die die;  /* has the lines */
	Dwarf_Die code; /* has the functions: in a file of its own, or `die` */
	bool is_read;   /* the functions are there */
	size_t nr_functions, capacity;
	Dwarf_Die *functions;
	struct ranges ranges;
};

struct sonde_dwarf {
	Dwfl *dwfl;
	Dwarf *dwarf;
	size_t nr_units, capacity;
	struct unit *units;
	struct ranges ranges;
};

/* ---- ranges ---- */

static bool dwarf_add_range(struct ranges *ranges, const struct range *range)
{
	if (ranges->nr == RANGES_MAX ||
	    SONDE_GROW(ranges->all, ranges->nr, ranges->capacity))
		return false;
	ranges->all[ranges->nr++] = *range;
	return true;
}

/* Adds all ranges of addresses that a DIE says it has. */
static void dwarf_add_ranges(struct ranges *ranges, Dwarf_Die *die,
			     size_t owner)
{
	struct range range = { .owner = owner };
	Dwarf_Addr base = 0;
	Dwarf_Addr begin;
	Dwarf_Addr end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		range.begin = begin;
		range.end = end;
		/* What the linker left out is at 0. */
		if (begin && begin < end && !dwarf_add_range(ranges, &range))
			return;
	}
}

static int compare(const void *a, const void *b)
{
	const struct range *left = a;
	const struct range *right = b;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return (left->owner > right->owner) - (left->owner < right->owner);
}

static void sort(struct ranges *ranges)
{
	if (ranges->nr)
		qsort(ranges->all, ranges->nr, sizeof(*ranges->all), compare);
}

/* The range with the address in it that begins last: of nested functions the
 * inner one. */
static const struct range *find(const struct ranges *ranges, uint64_t address)
{
	const size_t look_back = 16;
	size_t end;

	SONDE_SEARCH(end, ranges->nr, ranges->all[end].begin <= address);
	for (size_t i = end; i > 0 && end - i < look_back; i--)
		if (address < ranges->all[i - 1].end)
			return &ranges->all[i - 1];
	return NULL;
}

/* ---- opening ---- */

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static bool add_unit(struct sonde_dwarf *lines, const Dwarf_Die *die,
		     const Dwarf_Die *code)
{
	struct unit *unit;

	if (SONDE_GROW(lines->units, lines->nr_units, lines->capacity))
		return false;
	unit = &lines->units[lines->nr_units];
	*unit = (struct unit){ .die = *die, .code = *code };
	dwarf_add_ranges(&lines->ranges, &unit->die, lines->nr_units++);
	return true;
}

static void read_units(struct sonde_dwarf *lines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	Dwarf_Die split;
	uint8_t type;

	while (!dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &die,
				&split)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (!add_unit(lines, &die, split.addr ? &split : &die))
			break;
	}
	sort(&lines->ranges);
}

static Dwarf *find_dwarf(Dwfl *dwfl, const char *path, int fd)
{
	Dwfl_Module *module;
	Dwarf_Addr bias;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0)
		return NULL;
	/* It closes the descriptor, if it takes the file. */
	module = dwfl_report_offline(dwfl, path, path, own);
	if (!module)
		(void)close(own); /* it was only read */
	if (!module || dwfl_report_end(dwfl, NULL, NULL))
		return NULL;
	return dwfl_module_getdwarf(module, &bias);
}

struct sonde_dwarf *sonde_dwarf_open(const char *path, int fd)
{
	struct sonde_dwarf *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	lines->dwfl = dwfl_begin(&callbacks);
	if (lines->dwfl)
		lines->dwarf = find_dwarf(lines->dwfl, path, fd);
	if (!lines->dwarf) {
		sonde_dwarf_free(lines);
		return NULL;
	}
	read_units(lines);
	return lines;
}

void sonde_dwarf_free(struct sonde_dwarf *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->nr_units; i++) {
		free(lines->units[i].functions);
		free(lines->units[i].ranges.all);
	}
	free(lines->units);
	free(lines->ranges.all);
	dwfl_end(lines->dwfl);
	free(lines);
}

Elf *sonde_dwarf_elf(struct sonde_dwarf *lines)
{
	return lines ? dwarf_getelf(lines->dwarf) : NULL;
}

/* ---- functions of a unit ---- */

static bool dwarf_add_function(struct unit *unit, Dwarf_Die *die)
{
	if (SONDE_GROW(unit->functions, unit->nr_functions, unit->capacity))
		return false;
	unit->functions[unit->nr_functions] = *die;
	dwarf_add_ranges(&unit->ranges, die, unit->nr_functions++);
	return true;
}

/* The next entry of the tree below stack[0], parents first; false: no more. */
static bool go_on(Dwarf_Die stack[DEPTH_MAX], int *depth)
{
	if (*depth + 1 < DEPTH_MAX &&
	    !dwarf_child(&stack[*depth], &stack[*depth + 1])) {
		++*depth;
		return true;
	}
	while (*depth > 0) {
		if (!dwarf_siblingof(&stack[*depth], &stack[*depth]))
			return true;
		--*depth;
	}
	return false;
}

static void read_functions(struct unit *unit)
{
	Dwarf_Die stack[DEPTH_MAX] = { unit->code };
	int depth = 0;

	unit->is_read = true;
	while (go_on(stack, &depth)) {
		Dwarf_Die *die = &stack[depth];

		if (dwarf_tag(die) == DW_TAG_subprogram &&
		    (dwarf_hasattr(die, DW_AT_low_pc) ||
		     dwarf_hasattr(die, DW_AT_ranges)) &&
		    !dwarf_add_function(unit, die))
			break;
	}
	sort(&unit->ranges);
}

/* ---- an address ---- */

/* Of the function, and of those inlined at the address, outermost first. */
struct chain {
	size_t nr;
	Dwarf_Die dies[INLINED_MAX];
};

/* The entry of this level that has the address. */
static bool find_level(Dwarf_Die *parent, uint64_t address, Dwarf_Die *ret_die)
{
	int rc = dwarf_child(parent, ret_die);

	for (; !rc; rc = dwarf_siblingof(ret_die, ret_die)) {
		int tag = dwarf_tag(ret_die);

		if ((tag == DW_TAG_inlined_subroutine ||
		     tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(ret_die, address) > 0)
			return true;
	}
	return false;
}

static void find_inlined(struct chain *chain, uint64_t address)
{
	Dwarf_Die parent = chain->dies[0];
	Dwarf_Die die;

	for (int depth = 0; depth < DEPTH_MAX && chain->nr < INLINED_MAX;
	     depth++) {
		if (!find_level(&parent, address, &die))
			return;
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			chain->dies[chain->nr++] = die;
		parent = die;
	}
}

static const char *name_of(Dwarf_Die *die, char *to, size_t size)
{
	Dwarf_Attribute room;
	Dwarf_Attribute *linkage =
		dwarf_attr_integrate(die, DW_AT_linkage_name, &room);
	const char *name;

	if (!linkage)
		linkage = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name,
					       &room);
	name = linkage ? dwarf_formstring(linkage) : NULL;
	if (name)
		return sonde_demangle(name, to, size);
	name = dwarf_diename(die);
	return name ? name : "";
}

static uint32_t number_of(Dwarf_Die *die, unsigned int which)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (!dwarf_attr(die, which, &attribute) ||
	    dwarf_formudata(&attribute, &number) || number > UINT32_MAX)
		return 0;
	return (uint32_t)number;
}

/* Where the function was called that is inlined there. */
static void dwarf_find_call(struct unit *unit, Dwarf_Die *inlined,
			    const char **ret_file, uint32_t *ret_line)
{
	uint32_t index = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t nr;

	*ret_line = number_of(inlined, DW_AT_call_line);
	*ret_file = !dwarf_getsrcfiles(&unit->die, &files, &nr) && index < nr ?
			    dwarf_filesrc(files, index, NULL, NULL) :
			    NULL;
}

static void dwarf_find_line(struct unit *unit, uint64_t address,
			    const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number;

	*ret_file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	*ret_line = line && !dwarf_lineno(line, &number) && number > 0 ?
			    (uint32_t)number :
			    0;
}

static void add_chain(struct unit *unit, struct chain *chain, uint64_t address,
		      struct sonde_naming *naming)
{
	char name[SONDE_DEMANGLED_MAX];
	const char *file;
	uint32_t line;

	dwarf_find_line(unit, address, &file, &line);
	for (size_t i = chain->nr; i > 0; i--) {
		sonde_naming_add(naming,
				 name_of(&chain->dies[i - 1], name,
					 sizeof(name)),
				 file, line);
		if (i > 1)
			dwarf_find_call(unit, &chain->dies[i - 1], &file,
					&line);
	}
}

void sonde_dwarf_find(struct sonde_dwarf *lines, uint64_t address,
		      struct sonde_naming *naming)
{
	const struct range *range =
		lines ? find(&lines->ranges, address) : NULL;
	struct chain chain = { .nr = 1 };
	struct unit *unit;

	if (!range)
		return;
	unit = &lines->units[range->owner];
	if (!unit->is_read)
		read_functions(unit);
	range = find(&unit->ranges, address);
	if (!range)
		return;
	chain.dies[0] = unit->functions[range->owner];
	find_inlined(&chain, address);
	add_chain(unit, &chain, address, naming);
}
