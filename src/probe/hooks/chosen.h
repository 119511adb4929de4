/* SPDX-License-Identifier: MIT */
/*
 * chosen.h - which functions of a process a user means: GLOB[@MODULE], against
 * the symbols of its files.
 *
 * Without @MODULE it is the program's own file; MODULE is a glob, too, held
 * against the file's name without its directory. Symbols are those of the file,
 * of its separate debugging information, or, where both are stripped, of what it
 * exports. Of several names of one function the first that matches counts, and
 * of several globs that match it the last.
 *
 * Somebody's files are read in a process apart (child.h), and what that says is
 * checked.
 */
#ifndef PROBE_HOOKS_CHOSEN_H
#define PROBE_HOOKS_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct sonde_hooks_globs {
	/* of what is meant: "GLOB", "GLOB if CONDITION" */
	const char *const *list;
	size_t nr;
	const char *const *nots; /* but not these */
	size_t nr_nots;
	bool args; /* what they are given and return is wanted, too */
};

struct sonde_hooks_name {
	uint64_t address;
	uint64_t glob;     /* which; may be any number */
	const char *name;  /* in the text, as are */
	const char *words; /* signature.h's; "": none */
	bool is_part;      /* of another function ("f.cold"), and not meant */
};

struct sonde_hooks_chosen {
	struct sonde_hooks_name *list; /* by address, each once */
	size_t nr, room;
	size_t nr_meant;
	bool is_whole; /* the process apart came to its end */
	char *text;
};

/* NULL: its i-th has none. */
static inline const char *
sonde_hooks_globs_condition(const struct sonde_hooks_globs *globs, uint64_t i)
{
	static const char before[] = " if ";
	const char *at = i < globs->nr ? strstr(globs->list[i], before) : NULL;

	return at ? at + sizeof(before) - 1 : NULL;
}

/* 0; -ENOENT: none is meant; -EIO: nothing can be known of its files; -ENOMEM;
 * -EOPNOTSUPP: this sonde was built without libdw. */
int sonde_hooks_chosen_find(pid_t pid, const struct sonde_hooks_globs *globs,
			    struct sonde_hooks_chosen *ret);
/* The same of what the process apart has said, which is freed with the rest;
 * NULL: nothing. */
int sonde_hooks_chosen_read(char *text, struct sonde_hooks_chosen *ret);
void sonde_hooks_chosen_free(struct sonde_hooks_chosen *chosen);

/* Whether a part of a function begins there, as symbols say. */
bool sonde_hooks_chosen_is_part(const struct sonde_hooks_chosen *chosen,
				uint64_t address);

#endif /* PROBE_HOOKS_CHOSEN_H */
