/* SPDX-License-Identifier: MIT */
/*
 * places.c - see places.h.
 *
 * All units of all the process's files are gone through; what has no debugging
 * information is found by its symbol.
 */
#include "probe/places.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

enum {
	NAME_SIZE = 512,
	CODE_BYTES = 16,
	CHILDREN_MAX = 1000000
};

struct finding {
	struct sonde_probe_dwarf *dwarf;
	struct sonde_probe_places *places;
	char file[NAME_SIZE]; /* "": any */
	char name[NAME_SIZE]; /* of a function */
	int line;             /* or 0 */
	int best;             /* the least line from there on that has code */
	bool has_file;        /* there is such a file */
	/* of the unit that is being looked at */
	Dwfl_Module *module;
	Dwarf_Die *unit;
	Dwarf_Addr bias;
	bool has_lists; /* of locations: before a frame is made, too */
};

static void add(struct finding *finding, uint64_t address)
{
	struct sonde_probe_places *places = finding->places;
	size_t at = places->nr;

	while (at > 0 && places->list[at - 1] >= address)
		at--;
	if (at < places->nr && places->list[at] == address)
		return;
	if (places->nr == SONDE_PROBE_PLACES_MAX) {
		places->were_more = true;
		return;
	}
	memmove(&places->list[at + 1], &places->list[at],
		(places->nr - at) * sizeof(places->list[0]));
	places->list[at] = address;
	places->nr++;
}

/* ---- behind what makes a function's frame ---- */

static size_t places_read_code(struct finding *finding, Dwarf_Addr address,
			       uint8_t code[CODE_BYTES])
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(finding->module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while (elf && (section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		uint64_t at;

		if (!gelf_getshdr(section, &head) ||
		    !(head.sh_flags & SHF_EXECINSTR) ||
		    address - bias < head.sh_addr ||
		    address - bias - head.sh_addr >= head.sh_size)
			continue;
		at = address - bias - head.sh_addr;
		data = elf_getdata(section, NULL);
		if (!data || !data->d_buf || at + CODE_BYTES > data->d_size)
			return 0;
		memcpy(code, (const uint8_t *)data->d_buf + at, CODE_BYTES);
		return CODE_BYTES;
	}
	return 0;
}

/* endbr64; push %rbp; mov %rsp,%rbp: as many of them as there are. */
static size_t places_frame_bytes(struct finding *finding, Dwarf_Addr address)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t moves[][3] = { { 0x48, 0x89, 0xe5 },
					    { 0x48, 0x8b, 0xec } };
	uint8_t code[CODE_BYTES];
	size_t at = 0;

	if (!places_read_code(finding, address, code))
		return 0;
	if (!memcmp(code, endbr, sizeof(endbr)))
		at = sizeof(endbr);
	if (code[at] != 0x55)
		return 0;
	at++;
	if (!memcmp(code + at, moves[0], 3) || !memcmp(code + at, moves[1], 3))
		at += 3;
	return at;
}

/* The address of the line behind the one that the address is in, if it isn't
 * that one's first. */
static Dwarf_Addr next_line(struct finding *finding, Dwarf_Addr address)
{
	Dwarf_Lines *lines;
	size_t nr;

	if (!finding->unit || dwarf_getsrclines(finding->unit, &lines, &nr))
		return address;
	for (size_t i = 0; i + 1 < nr; i++) {
		Dwarf_Addr begin;
		Dwarf_Addr end;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, i), &begin) ||
		    dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end))
			continue;
		if (begin < address && address < end)
			return end;
	}
	return address;
}

static bool is_by_llvm(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	const char *producer = dwarf_attr(unit, DW_AT_producer, &attr) ?
				       dwarf_formstring(&attr) :
				       NULL;

	return producer && strstr(producer, "clang");
}

/* LLVM marks where the frame is made: that is the second line. */
static Dwarf_Addr second_line(struct finding *finding, Dwarf_Addr entry)
{
	Dwarf_Lines *lines;
	size_t nr;
	int first = 0;

	if (dwarf_getsrclines(finding->unit, &lines, &nr))
		return entry;
	for (size_t i = 0; i < nr; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;
		int number = 0;

		if (dwarf_lineaddr(line, &address) || address < entry ||
		    dwarf_lineno(line, &number))
			continue;
		if (address == entry)
			first = number;
		else
			return first && number ? address : entry;
	}
	return entry;
}

/* A function's entry in the file -> where its probe goes, in the process. */
static uint64_t behind_frame(struct finding *finding, Dwarf_Addr entry)
{
	Dwarf_Addr address = entry;

	if (finding->unit && finding->has_lists)
		return entry + finding->bias;
	if (finding->unit && is_by_llvm(finding->unit))
		return second_line(finding, entry) + finding->bias;
	address += places_frame_bytes(finding, entry + finding->bias);
	if (address != entry)
		address = next_line(finding, address);
	return address + finding->bias;
}

/* ---- functions ---- */

static int add_instance(Dwarf_Die *die, void *ctx)
{
	struct finding *finding = ctx;
	Dwarf_Addr entry;

	if (dwarf_entrypc(die, &entry) == 0)
		add(finding, entry + finding->bias);
	return DWARF_CB_OK;
}

static int look_at_function(Dwarf_Die *die, void *ctx)
{
	struct finding *finding = ctx;
	const char *name = dwarf_diename(die);
	Dwarf_Addr entry;

	if (!name || strcmp(name, finding->name) != 0)
		return DWARF_CB_OK;
	if (dwarf_func_inline(die))
		(void)dwarf_func_inline_instances(die, add_instance, finding);
	else if (dwarf_entrypc(die, &entry) == 0)
		add(finding, behind_frame(finding, entry));
	return DWARF_CB_OK;
}

/* Whether what a path ends with is that file. */
static bool places_is_file(const char *path, const char *file)
{
	size_t long_one = path ? strlen(path) : 0;
	size_t short_one = strlen(file);

	return path && long_one >= short_one &&
	       !strcmp(path + long_one - short_one, file) &&
	       (long_one == short_one || file[0] == '/' ||
		path[long_one - short_one - 1] == '/');
}

static int find_list(Dwarf_Die *die, void *ctx)
{
	bool *found = ctx;
	Dwarf_Attribute attr;
	Dwarf_Die child;
	int rc = dwarf_child(die, &child);

	for (int i = 0; rc == 0 && !*found && i < CHILDREN_MAX; i++) {
		if (dwarf_attr(&child, DW_AT_location, &attr))
			*found = dwarf_whatform(&attr) == DW_FORM_sec_offset ||
				 dwarf_whatform(&attr) == DW_FORM_loclistx;
		rc = dwarf_siblingof(&child, &child);
	}
	return *found ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* ---- lines ---- */

/* The innermost scope that has variables: where GDB sees a block. */
static Dwarf_Off block_of(struct finding *finding, Dwarf_Addr pc,
			  bool *ret_is_entry)
{
	Dwarf_Die *scopes = NULL;
	int nr = dwarf_getscopes(finding->unit, pc, &scopes);
	Dwarf_Off block = 0;
	Dwarf_Addr entry;

	*ret_is_entry = false;
	for (int i = 0; i < nr; i++) {
		Dwarf_Die child;
		bool is_block = dwarf_tag(&scopes[i]) == DW_TAG_lexical_block;

		if (is_block && dwarf_child(&scopes[i], &child))
			continue;
		if (!block)
			block = dwarf_dieoffset(&scopes[i]);
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			*ret_is_entry =
				dwarf_entrypc(&scopes[i], &entry) == 0 &&
				entry == pc;
	}
	free(scopes);
	return block;
}

struct line_visit {
	Dwarf_Off blocks[SONDE_PROBE_PLACES_MAX];
	size_t nr;
};

static void add_line(struct finding *finding, struct line_visit *visit,
		     Dwarf_Addr address)
{
	bool is_entry;
	Dwarf_Off block = block_of(finding, address, &is_entry);

	for (size_t i = 0; i < visit->nr; i++)
		if (block && visit->blocks[i] == block)
			return;
	if (visit->nr < SONDE_PROBE_PLACES_MAX)
		visit->blocks[visit->nr++] = block;
	add(finding, is_entry ? behind_frame(finding, address) :
				address + finding->bias);
}

/* Lines of a unit: the best one is found first, then its places. */
static void look_at_lines(struct finding *finding, bool adds)
{
	struct line_visit visit = { .nr = 0 };
	Dwarf_Lines *lines;
	size_t nr;

	if (dwarf_getsrclines(finding->unit, &lines, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;
		bool is_end = false;
		bool begins = false;
		int number = 0;

		if (!places_is_file(dwarf_linesrc(line, NULL, NULL),
				    finding->file))
			continue;
		finding->has_file = true;
		if (dwarf_lineno(line, &number) || number < finding->line ||
		    dwarf_lineendsequence(line, &is_end) || is_end ||
		    dwarf_linebeginstatement(line, &begins) || !begins ||
		    dwarf_lineaddr(line, &address) || !address ||
		    !places_is_file(dwarf_linesrc(line, NULL, NULL),
				    finding->file))
			continue;
		if (!adds && (!finding->best || number < finding->best))
			finding->best = number;
		if (adds && number == finding->best)
			add_line(finding, &visit, address);
	}
}

/* ---- all units ---- */

enum pass {
	PASS_FUNCTIONS,
	PASS_BEST,
	PASS_LINES
};

static void look_at_unit(struct finding *finding, enum pass pass,
			 Dwarf_Die *unit)
{
	finding->unit = unit;
	if (pass == PASS_BEST) {
		look_at_lines(finding, false);
		return;
	}
	if (pass == PASS_FUNCTIONS && finding->file[0] &&
	    !places_is_file(dwarf_diename(unit), finding->file))
		return;
	finding->has_lists = false;
	(void)dwarf_getfuncs(unit, find_list, &finding->has_lists, 0);
	if (pass == PASS_LINES)
		look_at_lines(finding, true);
	else
		(void)dwarf_getfuncs(unit, look_at_function, finding, 0);
}

struct walk {
	struct finding *finding;
	enum pass pass;
};

static int look_at_module(Dwfl_Module *module, void **own, const char *name,
			  Dwarf_Addr start, void *ctx)
{
	struct walk *walk = ctx;
	Dwarf_Die *unit = NULL;

	(void)own;
	(void)name;
	(void)start;
	walk->finding->module = module;
	while ((unit = dwfl_module_nextcu(module, unit, &walk->finding->bias)))
		look_at_unit(walk->finding, walk->pass, unit);
	return DWARF_CB_OK;
}

static void places_look_everywhere(struct finding *finding, enum pass pass)
{
	struct walk walk = { finding, pass };

	(void)dwfl_getmodules(finding->dwarf->dwfl, look_at_module, &walk, 0);
}

/* ---- symbols ---- */

static int look_at_symbols(Dwfl_Module *module, void **own, const char *name,
			   Dwarf_Addr start, void *ctx)
{
	struct finding *finding = ctx;
	int nr = dwfl_module_getsymtab(module);

	(void)own;
	(void)name;
	(void)start;
	for (int i = 1; i < nr; i++) {
		GElf_Addr address;
		GElf_Sym symbol;
		const char *its = dwfl_module_getsym_info(
			module, i, &symbol, &address, NULL, NULL, NULL);

		if (!its || strcmp(its, finding->name) != 0 ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		finding->module = module;
		finding->unit = NULL;
		finding->bias = 0;
		add(finding, finding->line < 0 ?
				     address :
				     behind_frame(finding, address));
	}
	return DWARF_CB_OK;
}

static void places_find_symbol(struct finding *finding)
{
	(void)dwfl_getmodules(finding->dwarf->dwfl, look_at_symbols, finding,
			      0);
}

/* ---- texts ---- */

/* In GDB's words. */
static int say_none(const struct finding *finding, const char *text,
		    char *error, size_t size)
{
	if (*text == '*')
		(void)snprintf(error, size,
			       "No symbol \"%.200s\" in current "
			       "context.",
			       text + 1);
	else if (finding->line > 0 && !finding->has_file)
		(void)snprintf(error, size, "No source file named %.200s.",
			       finding->file);
	else if (finding->line > 0)
		(void)snprintf(error, size, "No line %d in file \"%.200s\".",
			       finding->line, finding->file);
	else if (finding->file[0])
		(void)snprintf(error, size,
			       "Function \"%.200s\" not defined in \"%.200s\".",
			       finding->name, finding->file);
	else
		(void)snprintf(error, size, "Function \"%.200s\" not defined.",
			       finding->name);
	return -ENOENT;
}

/* *ADDRESS, *NAME, *NAME+OFFSET, *&NAME */
static void find_address(struct finding *finding, const char *text)
{
	struct sonde_probe_places named = { .nr = 0 };
	struct sonde_probe_places *places = finding->places;
	const char *plus = strchr(text, '+');
	uint64_t offset = 0;
	const char *at = text;

	if (sonde_number_take_prefixed(&at, UINT64_MAX, &offset)) {
		if (!*at)
			add(finding, offset);
		return;
	}
	text += *text == '&';
	offset = 0;
	at = plus ? plus + 1 : "0";
	if (!sonde_number_take_prefixed(&at, UINT32_MAX, &offset) || *at)
		return;
	(void)snprintf(finding->name, sizeof(finding->name), "%.*s",
		       plus ? (int)(plus - text) : (int)strlen(text), text);
	finding->places = &named;
	finding->line = -1; /* its first instruction, whatever makes a frame */
	places_find_symbol(finding);
	finding->places = places;
	for (size_t i = 0; i < named.nr; i++)
		add(finding, named.list[i] + offset);
}

/* FUNCTION, FILE:FUNCTION, FILE:LINE */
static void places_find_named(struct finding *finding, const char *text)
{
	const char *colon = strrchr(text, ':');
	const char *name = colon ? colon + 1 : text;
	uint64_t line;

	if (colon && colon > text && colon[-1] != ':')
		(void)snprintf(finding->file, sizeof(finding->file), "%.*s",
			       (int)(colon - text), text);
	else
		name = text;
	(void)snprintf(finding->name, sizeof(finding->name), "%s", name);
	if (!finding->file[0] || !sonde_number_parse(name, INT32_MAX, &line)) {
		places_look_everywhere(finding, PASS_FUNCTIONS);
		if (finding->places->nr == 0 && !finding->file[0])
			places_find_symbol(finding);
		return;
	}
	finding->line = (int)line;
	places_look_everywhere(finding, PASS_BEST);
	if (finding->best)
		places_look_everywhere(finding, PASS_LINES);
}

int sonde_probe_places_find(struct sonde_probe_dwarf *dwarf, const char *text,
			    struct sonde_probe_places *ret_places, char *error,
			    size_t error_size)
{
	struct finding finding = { .dwarf = dwarf, .places = ret_places };

	memset(ret_places, 0, sizeof(*ret_places));
	if (strlen(text) >= NAME_SIZE) {
		(void)snprintf(error, error_size, "the location is too long");
		return -ENOENT;
	}
	if (*text == '*')
		find_address(&finding, text + 1 + strspn(text + 1, " \t"));
	else
		places_find_named(&finding, text);
	if (ret_places->were_more) {
		(void)snprintf(error, error_size, "%.200s: more than %u places",
			       text, SONDE_PROBE_PLACES_MAX);
		return -ENOENT;
	}
	return ret_places->nr > 0 ? 0 :
				    say_none(&finding, text, error, error_size);
}

void sonde_probe_places_say(struct sonde_probe_dwarf *dwarf, uint64_t address,
			    char *to, size_t size)
{
	Dwfl_Module *module = dwfl_addrmodule(dwarf->dwfl, address);
	Dwfl_Line *line = module ? dwfl_module_getsrc(module, address) : NULL;
	const char *file;
	int number = 0;

	to[0] = '\0';
	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) :
		      NULL;
	if (!file)
		return;
	(void)snprintf(to, size, "%s, line %d", sonde_text_base(file), number);
}
