/* SPDX-License-Identifier: MIT */
/*
 * help.c - --help, laid out from the descriptions of commands; and how errors
 * are told.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/text/show.h"

/* What an option does begins here, and no line is longer. */
#define COLUMN  23
#define COLUMNS 79

void sonde_complain(const char *format, ...)
{
	char text[2048];
	char safe[sizeof(text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Names come from traces, too, and may hold more than letters. */
	(void)sonde_show_safe(safe, sizeof(safe), text, strlen(text));
	/* One write: the program may be printing, too. */
	(void)fprintf(stderr, "sonde: %s\n", safe);
}

void sonde_complain_text(const char *text)
{
	sonde_complain("%s", text);
}

void sonde_complain_anew(const char *command, const char *text)
{
	static char last[1024];
	char line[sizeof(last)];

	(void)snprintf(line, sizeof(line), "%s: %s", command, text);
	if (!strcmp(line, last))
		return;
	(void)snprintf(last, sizeof(last), "%s", line);
	sonde_complain("%s", line);
}

/* Breaks lines between words; the first begins at column `at`. */
static void put_wrapped(const char *text, int at)
{
	int column = at;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column > COLUMN && column + 1 + length > COLUMNS) {
			(void)printf("\n%*s", COLUMN, "");
			column = COLUMN;
		} else if (column > at || column > COLUMN) {
			(void)putchar(' ');
			column++;
		}
		(void)printf("%.*s", length, text);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	(void)putchar('\n');
}

static void put_option(const struct sonde_option *option)
{
	const char *value = option->value ? option->value : "";
	char letter[8] = "    ";
	int used;

	if (option->letter)
		(void)snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	used = printf("  %s--%s%s%s", letter, option->name,
		      *value && *value != '[' ? " " : "", value);
	if (used < COLUMN - 1)
		used += printf("%*s", COLUMN - used, "");
	else
		used += printf(" ");
	put_wrapped(option->help, used);
}

static void put_options(const struct sonde_option *options)
{
	for (; options && (options->name || options->help); options++) {
		if (!options->name)
			(void)printf("\n%s\n", options->help);
		else if (options->help)
			put_option(options);
	}
}

void sonde_help(const struct sonde_command *command)
{
	static const struct sonde_option help = {
		"help", 'h', NULL, NULL, SONDE_OPTION_IGNORED, "this text"
	};

	(void)fputs(command->usage, stdout);
	if (!command->options || command->options->name)
		(void)putchar('\n');
	put_options(command->options);
	put_options(command->common);
	put_option(&help);
	if (command->notes)
		(void)printf("\n%s", command->notes);
}
