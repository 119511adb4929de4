/* SPDX-License-Identifier: MIT */
/*
 * modules.c - `sonde modules`: Sonde's own tracer in the kernel, built, loaded,
 * unloaded, looked at.
 */
#include "cmd/modules.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "cmd/cmd.h"

static const char help[] =
	"sonde modules build [--kernel VERSION] [--headers DIR] [--output DIR]\n"
	"sonde modules load [--group NAME] [--output DIR]\n"
	"sonde modules unload\n"
	"sonde modules status [--json]\n"
	"\n"
	"Sonde's own tracer, a module of the kernel: `sonde record -k` uses it "
	"when it\n"
	"is loaded. build needs the kernel's headers and a compiler, load and "
	"unload need\n"
	"root.\n"
	"\n"
	"      --kernel VERSION  for that kernel (default: the one that runs)\n"
	"      --headers DIR     its headers (default: "
	"/lib/modules/VERSION/build)\n"
	"      --output DIR      where the built module is (default:\n"
	"                        ~/.cache/sonde/modules/VERSION)\n"
	"      --sources DIR     the module's sources (default: as installed)\n"
	"      --group NAME      this group may trace, not only root\n"
	"      --clock-bits N    use N bits of the CPU's counter, for tests\n"
	"      --json            as JSON\n"
	"  -h, --help            this text\n"
	"\n"
	"Exit status: 0 if it was done (status: if the tracer can be used), 1 if "
	"not,\n"
	"2 for wrong usage.\n";

enum {
	KERNEL = 1,
	HEADERS = 2,
	OUTPUT = 4,
	SOURCES = 8,
	GROUP = 16,
	CLOCK_BITS = 32,
	JSON = 64,
	HELP = 128,
};

static const struct option words[] = {
	{ "kernel", required_argument, NULL, KERNEL },
	{ "headers", required_argument, NULL, HEADERS },
	{ "output", required_argument, NULL, OUTPUT },
	{ "sources", required_argument, NULL, SOURCES },
	{ "group", required_argument, NULL, GROUP },
	{ "clock-bits", required_argument, NULL, CLOCK_BITS },
	{ "json", no_argument, NULL, JSON },
	{ "help", no_argument, NULL, HELP },
	{ 0 },
};

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
	if (word)
		sonde_complain("modules: no '%.100s'; build, load, unload or "
			       "status",
			       word);
	else
		sonde_complain("modules: build, load, unload or status? "
			       "'sonde modules --help' says more");
	return SONDE_EXIT_USAGE;
}

/* What the command line asks for; 0, or HELP, or -1 with an error told. */
static int parse(int argc, char **argv, struct modules_options *options,
		 int *ret_given)
{
	int word;

	opterr = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((word = getopt_long(argc, argv, "h", words, NULL)) != -1) {
		if (word == 'h' || word == HELP)
			return HELP;
		if (word == '?') {
			sonde_complain("modules: '%.100s' is no option, or "
				       "lacks its value; 'sonde modules "
				       "--help' lists them",
				       argv[optind - 1]);
			return -1;
		}
		*ret_given |= word;
		set(options, word, optarg);
	}
	return 0;
}

static const char *name_of(int option)
{
	for (size_t i = 0; words[i].name; i++)
		if (words[i].val & option)
			return words[i].name;
	return "";
}

int sonde_cmd_modules(int argc, char **argv)
{
	struct modules_options options = { 0 };
	const struct verb *verb;
	int given = 0;
	int rc = parse(argc, argv, &options, &given);

	if (rc == HELP) {
		(void)fputs(help, stdout);
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
