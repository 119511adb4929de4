/* SPDX-License-Identifier: MIT */
/*
 * option.h - what an option of a command is: one description, from which its
 * parser, --help and the shell's completion are made.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

/* What a value can be, where that is no list of words. */
#define SONDE_VALUE_FILE    "@file"
#define SONDE_VALUE_DIR     "@dir"
#define SONDE_VALUE_PROGRAM "@program" /* with its own words after it */
#define SONDE_VALUE_EVENT   "@event"   /* of the program or trace named */
#define SONDE_VALUE_KERNEL  "@kernel"  /* rules, as of -k */
#define SONDE_VALUE_REPORT  "@report"
#define SONDE_VALUE_COMMAND "@command"
#define SONDE_VALUE_SESSION "@session" /* one that has a name */
#define SONDE_VALUE_NUMBER  "@number"

/* Values of an option that may be given several times. */
#define SONDE_OPTION_VALUES 16
struct sonde_option_values {
	const char *list[SONDE_OPTION_VALUES]; /* borrowed: the words' */
	size_t nr;
	bool full; /* there were more */
};

/* Where an option goes in the structure of what a command was asked. */
enum sonde_option_kind {
	SONDE_OPTION_NOWHERE, /* it is taken, and that is all */
	SONDE_OPTION_FLAG,    /* bool: set */
	SONDE_OPTION_TEXT, /* const char *: the value, the last one if it comes
			       * again; "" where it may be left out, and is */
	SONDE_OPTION_LIST, /* struct sonde_option_values: added to it */
};

struct sonde_option_to {
	enum sonde_option_kind kind;
	size_t place;
	/* Or who takes it: 0, or an exit status after saying why not. */
	int (*take)(void *words, const char *value);
};

/* clang-format off */
/* The kind is the member's type. */
#define SONDE_OPTION_TO(type, member)                                   \
	{ _Generic(((type *)NULL)->member,                              \
		   bool: SONDE_OPTION_FLAG,                             \
		   const char *: SONDE_OPTION_TEXT,                     \
		   struct sonde_option_values: SONDE_OPTION_LIST),      \
	  offsetof(type, member), NULL }
#define SONDE_OPTION_BY(function) { SONDE_OPTION_NOWHERE, 0, function }
#define SONDE_OPTION_IGNORED SONDE_OPTION_BY(NULL)
/* clang-format on */

/* Without a name it is a heading of --help; without either, the table's end. */
struct sonde_option {
	const char *name;
	char letter; /* the short form; 0: none */
	/* As --help shows it; NULL: none. "[=X]": may be left out, and is no word of
	 * its own, unless it is a number. */
	const char *value;
	/* What it can be: words parted by blanks, or SONDE_VALUE_...; NULL */
	const char *values;
	struct sonde_option_to to;
	const char *help; /* NULL: taken, and not told of */
};

/* Puts it where it goes in `words`; `value` NULL: it has none. 0, or what its
 * function says. */
int sonde_option_give(const struct sonde_option *option, void *words,
		      const char *value);

/* Whether it was, as can be seen there. */
bool sonde_option_is_given(const struct sonde_option *option,
			   const void *words);

/* Whether the word after the option's is its value; `value`: what is in the option's;
 * `next`: that word, NULL: there is none. */
bool sonde_option_takes_next(const struct sonde_option *option,
			     const char *value, const char *next);

/* The option of the table that this word is: "--name", "--name=value", "-n" or
 * "-nvalue"; NULL: none. *ret_value: the value that is in the word, or NULL. */
const struct sonde_option *sonde_option_find(const struct sonde_option *table,
					     const char *word,
					     const char **ret_value);

#endif /* BASE_OPTION_H */
