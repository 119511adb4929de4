/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - the name of what lies at an address in a program's memory: its
 * variables and functions, by the symbols of the file that is mapped there; and
 * where debugging information is there too (names/dwarf.h), the line, and the
 * functions that were inlined there.
 *
 * The files are those of the machine where the trace is read. A file whose
 * build-id is not the one in the trace is another one, and names nothing; where
 * the trace has no build-id the path must do. A file without a table of symbols
 * is helped by the one in /usr/lib/debug that has its build-id.
 *
 * A trace may name any file and a file may say anything: only regular files are
 * opened, and numbers in them are checked. What libelf and libdw make of it is
 * their matter: names/namer.h has a process for it that may die. Functions' names
 * are demangled (names/demangle.h), variables' are as in the file.
 *
 * Memory: 32 bytes and the name for each variable and function of the files
 * asked for; at most 1024 files and 2^20 of either kind of each.
 */
#ifndef READER_SYMBOLS_H
#define READER_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct sonde_symbols;

/* NULL without memory. */
struct sonde_symbols *sonde_symbols_new(void);
void sonde_symbols_free(struct sonde_symbols *symbols);

/* A mapping: the file's bytes from `offset` on are at `begin`. */
struct sonde_symbols_place {
	const char *path;
	const char *build_id; /* in hexadecimal; NULL unknown */
	uint64_t begin, offset;
};

struct sonde_symbol {
	const char *name;  /* lives as long as the symbols */
	uint64_t distance; /* of the address, from the variable's begin */
};

/*
 * The variable that covers the address, which may be outside the mapping but
 * must be of the same file, loaded there: of the same load, or of any if the
 * mapping is of code (.bss is behind what is mapped of a file).
 * 0 or -ENOENT: none, or the file is not there, or not the same. -ENOTSUP:
 * built without libelf.
 */
int sonde_symbols_find(struct sonde_symbols *symbols,
		       const struct sonde_symbols_place *place,
		       uint64_t address, struct sonde_symbol *ret_symbol);

/* Why an address has no name. */
enum sonde_lack {
	SONDE_LACK_NOTHING,
	SONDE_LACK_FILE,    /* no such file, or it is no program */
	SONDE_LACK_BUILD,   /* it is another one than was recorded */
	SONDE_LACK_SYMBOLS, /* it is stripped */
	SONDE_LACK_PLACE,   /* it has symbols, but none for this address */
	SONDE_LACK_READER,  /* its reader died of it, or took too long */
	SONDE_LACK_SUPPORT, /* built without libelf */
	SONDE_LACK_NR,
};

#define SONDE_NAMING_FRAMES 8u
#define SONDE_NAMING_TEXT   3072u

/* Plain data: it is sent from one process to another. */
struct sonde_naming {
	uint32_t lack; /* enum sonde_lack */
	uint32_t nr_frames;
	uint64_t address;  /* as the file has it; 0 unknown */
	uint64_t distance; /* from the symbol's begin */
	/* Of functions inlined into one another, innermost first; of a variable
	 * one. Places in `text`; 0: "", not known. */
	struct sonde_naming_frame {
		uint16_t name, file;
		uint32_t line;
	} frames[SONDE_NAMING_FRAMES];
	uint32_t text_bytes;
	char text[SONDE_NAMING_TEXT];
};

void sonde_naming_init(struct sonde_naming *naming);
/* Appends a frame; file NULL: not known. What has no room is left out. */
void sonde_naming_add(struct sonde_naming *naming, const char *name,
		      const char *file, uint32_t line);
/* Whether all places are in the text, and that has an end: of one that comes
 * from another process. */
bool sonde_naming_is_sound(const struct sonde_naming *naming);

/* The code at the address; says what it lacks if there is no name. */
void sonde_symbols_code(struct sonde_symbols *symbols,
			const struct sonde_symbols_place *place,
			uint64_t address, struct sonde_naming *ret_naming);

#endif /* READER_SYMBOLS_H */
