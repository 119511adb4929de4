/* SPDX-License-Identifier: MIT */
/*
 * sdt.h - the tracepoints of <sys/sdt.h> in an ELF file: notes in section
 * .note.stapsdt, one for each place in the code.
 *
 * A note has a header (three numbers of 4 bytes: the sizes of its name and its
 * contents, and its type, 3), the name "stapsdt", and as contents three
 * addresses (of 4 bytes in a file of 32 bits) and three texts: provider, name,
 * arguments. Each part is padded to
 * 4 bytes. Addresses are those that the file had when it was linked, with
 * section .stapsdt.base at `base`; what has moved the file since (prelink) has
 * moved all by the same.
 *
 * An argument is written by the compiler: its size (negative: signed; with an
 * f: floating point), '@', and an operand of the assembler's:
 *
 *	8@%rdi			a register, or its lower part
 *	-4@$5			a constant
 *	4@-20(%rbp)		memory; 8@16(%rax,%rcx,8), 4@-4+32(%rsp)
 *	8@counter(%rip)		memory by a symbol; 4@8+counter(%rip), 4@counter
 *
 * Nothing is believed: texts are printable ASCII, names without blanks, or the
 * note is malformed. All are borrowed from the bytes that were given.
 * Pure functions, any thread. Cost: linear in the bytes.
 */
#ifndef TYPES_SDT_H
#define TYPES_SDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_SDT_SECTION      ".note.stapsdt"
#define SONDE_SDT_BASE_SECTION ".stapsdt.base"

/* What <sys/sdt.h> can express. */
#define SONDE_SDT_ARGUMENTS_MAX 12u

struct sonde_sdt_site {
	uint64_t address;
	uint64_t base;
	uint64_t semaphore; /* 0: it has none */
	const char *provider, *name, *arguments;
};

/* The section's contents. */
struct sonde_sdt_notes {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	bool is_narrow; /* of a file of 32 bits: addresses have 4 bytes */
};

/*
 * The next one at *offset or behind it, which moves. Other notes are passed
 * over; what contradicts itself is counted in *malformed (may be NULL), and
 * what follows a header that does is not looked at. False: there is no more.
 */
bool sonde_sdt_scan(const struct sonde_sdt_notes *notes, size_t *offset,
		    struct sonde_sdt_site *ret_site, uint64_t *malformed);

/* The file's section .stapsdt.base, if it has one. */
struct sonde_sdt_base {
	bool is_there;
	uint64_t address;
};

/* What the notes call `base` is there: so the rest has moved as far. */
void sonde_sdt_move(struct sonde_sdt_site *site,
		    const struct sonde_sdt_base *base);

enum sonde_sdt_kind {
	SONDE_SDT_UNKNOWN, /* not understood: only its type is known */
	SONDE_SDT_CONSTANT,
	SONDE_SDT_REGISTER,
	SONDE_SDT_MEMORY,
};

struct sonde_sdt_argument {
	const char *text; /* the operand, `length` bytes */
	size_t length;
	uint8_t size; /* 1, 2, 4, 8 */
	bool is_signed, is_float;
	enum sonde_sdt_kind kind;
	/* of REGISTER; of MEMORY, with "rip" for what is by the program's
	 * counter; "": none. The whole register's name: "rax" of %ah. */
	char base[4];
	uint8_t shift; /* of REGISTER: 8 of %ah */
	char index[4]; /* of MEMORY */
	uint8_t scale;
	int64_t number;     /* CONSTANT, or what is added */
	const char *symbol; /* of MEMORY, `symbol_length` bytes; NULL: none */
	size_t symbol_length;
};

/*
 * The next argument at *at, which moves behind it. False: there is none, or
 * none that has a size and an operand (then *at isn't at the text's end).
 */
bool sonde_sdt_argument(const char **at, struct sonde_sdt_argument *ret);

/* "i32", "u64", "f64" */
const char *sonde_sdt_type(const struct sonde_sdt_argument *argument);

#endif /* TYPES_SDT_H */
