/* SPDX-License-Identifier: MIT */
/*
 * newest.c - the newest trace in the working directory, by the names that
 * `sonde record` chooses.
 *
 * Names are compared, not times of files: a name is a time, followed by a
 * number if there are several traces of that second.
 */
#include "cmd/newest.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"

/* Digits where the form has a 0; what follows is for the caller to judge. */
static const char *skip_form(const char *name, const char *form)
{
	for (; *form; form++, name++)
		if (*form == '0' ? !isdigit((unsigned char)*name) :
				   *form != *name)
			return NULL;
	return name;
}

/* The names that make_dated() (recording.c) gives. */
static int is_dated(const struct dirent *entry)
{
	const char *rest = skip_form(entry->d_name, "sonde-00000000-000000");
	struct stat st;

	if (rest && *rest == '-' && rest[1])
		rest += 1 + strspn(rest + 1, "0123456789");
	return rest && !*rest && !stat(entry->d_name, &st) &&
	       S_ISDIR(st.st_mode);
}

/* The names are times; -10 is later than -2, and both than none. */
static int compare(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

bool sonde_newest(bool quiet, char name[NAME_MAX + 1])
{
	struct dirent **entries = NULL;
	int nr = scandir(".", &entries, is_dated, compare);

	if (nr > 0)
		memcpy(name, entries[nr - 1]->d_name,
		       strlen(entries[nr - 1]->d_name) + 1);
	for (int i = 0; i < nr; i++)
		free(entries[i]);
	free(entries);
	if (nr > 0 && !quiet)
		sonde_complain("reading %s, the newest that was recorded "
			       "here without -o",
			       name);
	return nr > 0;
}
