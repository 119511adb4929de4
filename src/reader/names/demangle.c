/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - names of C++ and of Rust as they were written (demangle.h).
 *
 * The demangler is looked for once, and its absence leaves names as they are.
 * Rust's form is C++'s with a hash at the end and escapes in it, so both go the
 * same way first.
 */
#include "reader/names/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 16384u

typedef char *(*demangler)(const char *name, char *buffer, size_t *length,
			   int *status);

/* NULL: there is none. */
static demangler find_demangler(void)
{
	static demangler found;
	static bool looked;
	void *library;

	if (!looked) {
		looked = true;
		library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		if (library)
			*(void **)&found = dlsym(library, "__cxa_demangle");
	}
	return found;
}

/* "::h" and 16 hexadecimal digits: what Rust ends with. */
static bool is_rust(const char *name, size_t length)
{
	if (length < 20 || memcmp(name + length - 19, "::h", 3) != 0)
		return false;
	for (size_t i = length - 16; i < length; i++)
		if (!isxdigit((unsigned char)name[i]))
			return false;
	return true;
}

/* What Rust writes for characters that no assembler takes. */
static const struct {
	const char *from, *to;
} escapes[] = {
	{ "$LT$", "<" },  { "$GT$", ">" },  { "$RF$", "&" },   { "$BP$", "*" },
	{ "$LP$", "(" },  { "$RP$", ")" },  { "$C$", "," },    { "$SP$", "@" },
	{ "..", "::" },   { "$u20$", " " }, { "$u27$", "'" },  { "$u5b$", "[" },
	{ "$u5d$", "]" }, { "$u7b$", "{" }, { "$u7d$", "}" },  { "$u7e$", "~" },
	{ "$u3b$", ";" }, { "$u2b$", "+" }, { "$u22$", "\"" },
};

/* In place: nothing gets longer. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		size_t i = 0;

		/* "_$LT$": an identifier doesn't begin with '$'. */
		if (*text == '_' && text[1] == '$')
			text++;
		while (i < sizeof(escapes) / sizeof(escapes[0]) &&
		       strncmp(text, escapes[i].from,
			       strlen(escapes[i].from)) != 0)
			i++;
		if (i == sizeof(escapes) / sizeof(escapes[0])) {
			*to++ = *text++;
			continue;
		}
		memcpy(to, escapes[i].to, strlen(escapes[i].to));
		to += strlen(escapes[i].to);
		text += strlen(escapes[i].from);
	}
	*to = '\0';
}

const char *sonde_demangle(const char *name, char *to, size_t size)
{
	demangler demangle;
	char *made;
	size_t length;
	int status;

	if (strncmp(name, "_Z", 2) != 0 || strlen(name) > NAME_MAX_BYTES)
		return name;
	demangle = find_demangler();
	made = demangle ? demangle(name, NULL, NULL, &status) : NULL;
	if (!made)
		return name;
	length = strlen(made);
	if (is_rust(made, length)) {
		made[length - 19] = '\0';
		unescape(made);
	}
	(void)snprintf(to, size, "%s", made);
	free(made);
	return to;
}
