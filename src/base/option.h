/* SPDX-License-Identifier: MIT */
/*
 * option.h - what an option of a command is: one description, from which its
 * parser, --help and the shell's completion are made.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

/* What a value can be, where that is no list of words. */
#define SONDE_VALUE_FILE    "@file"
#define SONDE_VALUE_DIR     "@dir"
#define SONDE_VALUE_PROGRAM "@program" /* with its own words after it */
#define SONDE_VALUE_EVENT   "@event"   /* of the program or trace named */
#define SONDE_VALUE_KERNEL  "@kernel"  /* rules, as of -k */
#define SONDE_VALUE_REPORT  "@report"
#define SONDE_VALUE_COMMAND "@command"
#define SONDE_VALUE_SESSION "@session" /* one that has a name */

/* Without a name it is a heading of --help; without either, the table's end. */
struct sonde_option {
	const char *name;
	int id; /* what the parser returns; a letter's is the short form */
	/* As --help shows it; NULL: none. "[=X]": may be left out. */
	const char *value;
	/* What it can be: words parted by blanks, or SONDE_VALUE_...; NULL */
	const char *values;
	const char *help; /* NULL: taken, and not told of */
};

#define SONDE_OPTION_IS_LETTER(id) ((id) > 0 && (id) < 256)

#endif /* BASE_OPTION_H */
