/* SPDX-License-Identifier: MIT */
/*
 * modules.c - `sonde modules`: Sonde's own tracer in the kernel, built, loaded,
 * unloaded, looked at.
 */
#include "cmd/modules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

static const char usage[] =
	"sonde modules build [--kernel VERSION] [--headers DIR] [--output DIR]\n"
	"sonde modules load [--group NAME] [--output DIR]\n"
	"sonde modules unload\n"
	"sonde modules status [--json]\n"
	"\n"
	"Sonde's own tracer, a module of the kernel: `sonde record -k` uses it when it\n"
	"is loaded. build needs the kernel's headers and a compiler, load and unload need\n"
	"root.\n";

enum {
	KERNEL = 1 << 8, /* bits, and no letters */
	HEADERS = 1 << 9,
	OUTPUT = 1 << 10,
	SOURCES = 1 << 11,
	GROUP = 1 << 12,
	CLOCK_BITS = 1 << 13,
	JSON = 1 << 14,
};

/* clang-format off */
static const struct sonde_option option_table[] = {
	{ "kernel", KERNEL, "VERSION", NULL, SONDE_OPTION_IGNORED,
	  "for that kernel (default: the one that runs)" },
	{ "headers", HEADERS, "DIR", SONDE_VALUE_DIR, SONDE_OPTION_IGNORED,
	  "its headers (default: /lib/modules/VERSION/build)" },
	{ "output", OUTPUT, "DIR", SONDE_VALUE_DIR, SONDE_OPTION_IGNORED,
	  "where the built module is (default: ~/.cache/sonde/modules/VERSION)" },
	{ "sources", SOURCES, "DIR", SONDE_VALUE_DIR, SONDE_OPTION_IGNORED,
	  "the module's sources (default: as installed)" },
	{ "group", GROUP, "NAME", NULL, SONDE_OPTION_IGNORED, "this group may trace, not only root" },
	{ "clock-bits", CLOCK_BITS, "N", NULL, SONDE_OPTION_IGNORED,
	  "use N bits of the CPU's counter, for tests" },
	{ "json", JSON, NULL, NULL, SONDE_OPTION_IGNORED, "as JSON" },
	{ 0 }
};
/* clang-format on */

static int run_unload(const struct modules_options *options)
{
	(void)options; /* it has none */
	return modules_unload();
}

static const struct verb {
	const char *name;
	int (*run)(const struct modules_options *options);
	int takes; /* options, or-ed */
} verbs[] = {
	{ "build", modules_build, KERNEL | HEADERS | OUTPUT | SOURCES },
	{ "load", modules_load, OUTPUT | GROUP | CLOCK_BITS },
	{ "unload", run_unload, 0 },
	{ "status", modules_status, JSON },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; name && i < SONDE_ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static void set(struct modules_options *options, int word, const char *value)
{
	switch (word) {
	case KERNEL:
		options->kernel = value;
		break;
	case HEADERS:
		options->headers = value;
		break;
	case OUTPUT:
		options->folder = value;
		break;
	case SOURCES:
		options->sources = value;
		break;
	case GROUP:
		options->group = value;
		break;
	case CLOCK_BITS:
		options->clock_bits = value;
		break;
	default:
		options->json = true;
		break;
	}
}

static int finish(int status)
{
	if (fflush(stdout) == 0)
		return status;
	sonde_complain("modules: can't write: %s", strerrordesc_np(errno));
	return 1;
}

/* A verb that is missing, or not one. */
static int wrong_verb(const char *word)
{
	struct sonde_nearest nearest;
	const char *hint;

	sonde_nearest_begin(&nearest, word ? word : "");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(verbs); i++)
		sonde_nearest_try(&nearest, verbs[i].name);
	hint = sonde_nearest_hint(&nearest);
	if (word)
		sonde_complain("modules: no '%.100s'%s", word,
			       *hint ? hint :
				       "; build, load, unload or status");
	else
		sonde_complain("modules: build, load, unload or status? "
			       "'sonde modules --help' says more");
	return SONDE_EXIT_USAGE;
}

/* What the command line asks for; 0, or 'h' for help, or -1 with an error told. */
static int parse(int argc, char **argv, struct modules_options *options,
		 int *ret_given)
{
	int word;

	while ((word = sonde_option_next(&sonde_command_modules, argc, argv)) !=
	       -1) {
		if (word == 'h')
			return word;
		if (word == '?')
			return -1;
		*ret_given |= word;
		set(options, word, optarg);
	}
	return 0;
}

static const char *name_of(int option)
{
	for (size_t i = 0; option_table[i].name; i++)
		if (option_table[i].id & option)
			return option_table[i].name;
	return "";
}

static int run(int argc, char **argv)
{
	struct modules_options options = { 0 };
	const struct verb *verb;
	int given = 0;
	int rc = parse(argc, argv, &options, &given);

	if (rc == 'h') {
		sonde_help(&sonde_command_modules);
		return finish(0);
	}
	if (rc)
		return SONDE_EXIT_USAGE;
	verb = find_verb(argv[optind]);
	if (!verb)
		return wrong_verb(argv[optind]);
	if (argv[optind + 1]) {
		sonde_complain("modules %s: takes no '%.100s'", verb->name,
			       argv[optind + 1]);
		return SONDE_EXIT_USAGE;
	}
	if (given & ~verb->takes) {
		sonde_complain("modules %s: takes no --%s", verb->name,
			       name_of(given & ~verb->takes));
		return SONDE_EXIT_USAGE;
	}
	return finish(verb->run(&options));
}

const struct sonde_command sonde_command_modules = {
	.name = "modules",
	.run = run,
	.brief = "build|load|unload|status",
	.does = "our own kernel tracer",
	.usage = usage,
	.options = option_table,
	.notes = "Exit status: 0 if it was done (status: if the tracer can be "
		 "used), 1 if not,\n"
		 "2 for wrong usage.\n",
	.words = "build|load|unload|status",
};
