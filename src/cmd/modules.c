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
#include "base/text.h"
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

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct modules_options, member)
static const struct sonde_option option_table[] = {
	{ "kernel", 0, "VERSION", NULL, TO(kernel),
	  "for that kernel (default: the one that runs)" },
	{ "headers", 0, "DIR", SONDE_VALUE_DIR, TO(headers),
	  "its headers (default: /lib/modules/VERSION/build)" },
	{ "output", 0, "DIR", SONDE_VALUE_DIR, TO(folder),
	  "where the built module is (default: ~/.cache/sonde/modules/VERSION)" },
	{ "sources", 0, "DIR", SONDE_VALUE_DIR, TO(sources),
	  "the module's sources (default: as installed)" },
	{ "group", 0, "NAME", NULL, TO(group),
	  "this group may trace, not only root" },
	{ "clock-bits", 0, "N", NULL, TO(clock_bits),
	  "use N bits of the CPU's counter, for tests" },
	{ "json", 0, NULL, NULL, TO(json), "as JSON" },
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
	const char *takes; /* options */
} verbs[] = {
	{ "build", modules_build, "kernel headers output sources" },
	{ "load", modules_load, "output group clock-bits" },
	{ "unload", run_unload, "" },
	{ "status", modules_status, "json" },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; name && i < SONDE_ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
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

/* The name of an option that was given and that the verb doesn't take; or NULL. */
static const char *find_untaken(const struct verb *verb,
				const struct modules_options *options)
{
	for (size_t i = 0; option_table[i].name; i++) {
		const struct sonde_option *option = &option_table[i];

		if (sonde_option_is_given(option, options) &&
		    !sonde_text_has(verb->takes, strlen(verb->takes), " ",
				    option->name))
			return option->name;
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	struct modules_options options = { 0 };
	const struct verb *verb;
	const char *untaken;
	int rc = sonde_option_take(&sonde_command_modules, argc, argv, &options,
				   NULL);

	if (rc >= 0)
		return rc ? rc : finish(0);
	verb = find_verb(argv[optind]);
	if (!verb)
		return wrong_verb(argv[optind]);
	if (argv[optind + 1]) {
		sonde_complain("modules %s: takes no '%.100s'", verb->name,
			       argv[optind + 1]);
		return SONDE_EXIT_USAGE;
	}
	untaken = find_untaken(verb, &options);
	if (untaken) {
		sonde_complain("modules %s: takes no --%s", verb->name,
			       untaken);
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
