/* SPDX-License-Identifier: MIT */
/* debuginfo_parts.h - debugging information, for those who read it: what its
 * files have of each other. */
#ifndef PROBE_DEBUGINFO_PARTS_H
#define PROBE_DEBUGINFO_PARTS_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "probe/debuginfo.h"

struct sonde_btf;

struct sonde_probe_dwarf {
	/* In its place, at a function of the kernel's, whose type that is
	 * (btf_type.h). */
	const struct sonde_btf *btf;
	uint32_t function;
	bool at_return;
	Dwfl *dwfl;
	char *module_path; /* of the kernel's module; NULL: of none */
	/* what is at the address, after sonde_probe_dwarf_at() */
	Dwfl_Module *module;
	Dwarf_Die unit;
	Dwarf_Addr bias;
	Dwarf_Addr pc; /* in the file */
	Dwarf_Die *scopes;
	int nr_scopes; /* from the innermost on */
};

/* A process's files. NULL: they can't be read. */
struct sonde_probe_dwarf *sonde_probe_dwarf_begin(pid_t pid);
/* False: there is no debugging information of what is there. */
bool sonde_probe_dwarf_at(struct sonde_probe_dwarf *dwarf, uint64_t address);
/* Whether a function begins there, of which it isn't a part. */
bool sonde_probe_dwarf_is_entry(const struct sonde_probe_dwarf *dwarf);

bool sonde_probe_dwarf_is_function(Dwarf_Die *die);
/* Or a parameter. */
bool sonde_probe_dwarf_is_variable(Dwarf_Die *die);

/* Goes through the entries of these tags in what is visible, as variables are:
 * blocks, the function, then the file; and, of what is there outside of
 * functions, in all files of the module. True: visit has what it wants. */
typedef bool sonde_probe_die_visit(Dwarf_Die *die, bool is_local, void *ctx);
bool sonde_probe_dwarf_visible(struct sonde_probe_dwarf *dwarf,
			       sonde_probe_die_visit *visit, void *ctx);
bool sonde_probe_dwarf_everywhere(struct sonde_probe_dwarf *dwarf,
				  sonde_probe_die_visit *visit, void *ctx);

/* The visible variable of that name. */
bool sonde_probe_dwarf_find(struct sonde_probe_dwarf *dwarf, const char *name,
			    size_t length, Dwarf_Die *ret_die);

/* What a variable, member, pointer or array is of, without typedefs and
 * qualifiers; false: nothing, or it goes on for ever. */
bool sonde_probe_dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret_type);
/* 0: unknown. */
uint64_t sonde_probe_dwarf_bytes(Dwarf_Die *type);
/* Of an array's k-th dimension; 0: unknown, or it has fewer. */
uint64_t sonde_probe_dwarf_extent(Dwarf_Die *array, unsigned int k);
/* 's', 'u', 'b', 'f', 'x' (a pointer), 'e' (an enumeration); 0: no number. */
char sonde_probe_dwarf_letter(Dwarf_Die *type);
/* A pointer to chars that are not written through it. */
bool sonde_probe_dwarf_is_text(Dwarf_Die *type);
/* A member, also of a structure without a name in it, and its offset. */
bool sonde_probe_dwarf_member(Dwarf_Die *type, const char *name, size_t length,
			      Dwarf_Die *ret_member, uint64_t *ret_offset);
/* As a text (types.h), of `nr` of them; false, and "": it has none. */
bool sonde_probe_dwarf_say(Dwarf_Die *type, uint64_t nr,
			   char text[SONDE_PROBE_TYPE_TEXT_MAX + 1]);

#endif /* PROBE_DEBUGINFO_PARTS_H */
