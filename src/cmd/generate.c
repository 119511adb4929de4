/* SPDX-License-Identifier: MIT */
/*
 * generate.c - `sonde generate`: a file that describes events, as code,
 * documentation, in another language, or compared with another.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cmd/cmd.h"
#include "generate/model.h"

#define FREQUENCY_MAX 1000000000000ull

static const char usage[] =
	"sonde generate FILE [--header OUT] [--metadata OUT [--ctf 1.8|2]]\n"
	"               [--target program|bare|kernel [--frequency HZ]]\n"
	"               [--doc OUT] [--xml OUT] [--yaml OUT]\n"
	"sonde generate --check OLD NEW\n"
	"\n"
	"Makes what a description of events in XML or YAML is good for.\n"
	"Without an option, only says whether the description is right.\n";

struct words {
	const char *header, *metadata, *ctf, *doc, *xml, *yaml;
	const char *target, *frequency;
	bool check;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "header", 0, "OUT", SONDE_VALUE_FILE, TO(header),
	  "a function for each event, for C and C++" },
	{ "metadata", 0, "OUT", SONDE_VALUE_FILE, TO(metadata),
	  "the events as metadata of a trace" },
	{ "ctf", 0, "VERSION", "1.8 2", TO(ctf),
	  "in the language of CTF 1.8 (the default) or 2" },
	{ "target", 0, "TARGET", "program bare kernel", TO(target),
	  "for programs with libsonde, for those without any library, or for "
	  "modules of the kernel" },
	{ "frequency", 0, "HZ", NULL, TO(frequency),
	  "of a bare target's clock (1000000000)" },
	{ "doc", 0, "OUT", SONDE_VALUE_FILE, TO(doc),
	  "the events in words, as Markdown" },
	{ "xml", 0, "OUT", SONDE_VALUE_FILE, TO(xml),
	  "the description in XML" },
	{ "yaml", 0, "OUT", SONDE_VALUE_FILE, TO(yaml),
	  "the description in YAML" },
	{ "check", 0, NULL, NULL, TO(check),
	  "do readers of OLD's traces understand NEW's?" },
	{ 0 }
};
/* clang-format on */

static bool is_target(const struct words *words, const char *target)
{
	return words->target && !strcmp(words->target, target);
}

static bool is_bare(const struct words *words)
{
	return is_target(words, "bare");
}

static bool is_for_kernel(const struct words *words)
{
	return is_target(words, "kernel");
}

struct description {
	const struct sonde_generate_node *root;
	struct sonde_generate_model model;
	struct sonde_ctf_text metadata;
};

/* 0, or the exit status: said. */
static int description_load(struct sonde_pool *pool, const char *path,
			    struct description *description)
{
	struct sonde_generate_error error = { .text = "" };
	const struct sonde_generate_event *event;

	description->root = sonde_generate_load(pool, path, &error);
	if (!description->root ||
	    sonde_generate_model_make(pool, description->root,
				      &description->model, &error)) {
		sonde_complain("%s", error.text);
		return 1;
	}
	if (!sonde_generate_sum(&description->model, &event))
		return 0;
	sonde_complain("%.200s: the event '%s' takes more than a tracepoint's "
		       "description can hold, %d bytes: shorten names and "
		       "labels, or split it",
		       path, event->name, SONDE_DESC_MAX);
	return 1;
}

static void write_header(const struct description *description, FILE *to)
{
	sonde_generate_header(&description->model, to);
}

static void write_bare(const struct description *description, FILE *to)
{
	sonde_generate_bare(&description->model, to);
}

static void write_kernel(const struct description *description, FILE *to)
{
	sonde_generate_kernel(&description->model, to);
}

static void write_ctf(const struct description *description, FILE *to)
{
	(void)fwrite(description->metadata.bytes, 1, description->metadata.size,
		     to);
}

static void write_doc(const struct description *description, FILE *to)
{
	sonde_generate_doc(&description->model, to);
}

static void write_xml(const struct description *description, FILE *to)
{
	sonde_generate_write_xml(description->root, to);
}

static void write_yaml(const struct description *description, FILE *to)
{
	sonde_generate_write_yaml(description->root, to);
}

/* `path` NULL: not asked for; "-": standard output. */
static int write_to(const char *path, const struct description *description,
		    void (*write)(const struct description *description,
				  FILE *to))
{
	bool is_file = path && strcmp(path, "-") != 0;
	FILE *to = stdout;
	bool failed;

	if (!path)
		return 0;
	if (is_file)
		to = fopen(path, "we");
	if (!to) {
		sonde_complain("%.200s: %s", path, strerrordesc_np(errno));
		return 1;
	}
	write(description, to);
	failed = fflush(to) || ferror(to);
	if (is_file && fclose(to))
		failed = true;
	if (!failed)
		return 0;
	sonde_complain("%.200s: %s", path, strerrordesc_np(errno));
	return 1;
}

/* Before any file is written: it may be that it can't be said. */
static int make_metadata(struct description *description,
			 const struct words *words)
{
	struct sonde_generate_trace trace = {
		.version = words->ctf && !strcmp(words->ctf, "2") ?
				   SONDE_CTF_2 :
				   SONDE_CTF_1_8,
		.is_bare = is_bare(words),
		.frequency = 1000000000,
	};
	int rc = 0;

	/* It has been checked. */
	if (words->frequency)
		(void)sonde_number_parse(words->frequency, FREQUENCY_MAX,
					 &trace.frequency);
	if (words->metadata)
		rc = sonde_generate_metadata(&description->model, &trace,
					     &description->metadata);

	if (rc == -ENOTSUP)
		sonde_complain("generate: --ctf 2: this build can't write it: "
			       "it lacks json-c");
	else if (rc)
		sonde_complain("generate: no memory");
	return rc ? 1 : 0;
}

/* A kernel's header can't have all; 0, or the exit status: said. */
static int check_kernel(const char *path, const struct description *description)
{
	const char *field;
	const struct sonde_generate_event *event =
		sonde_generate_kernel_lacks(&description->model, &field);

	if (event && field)
		sonde_complain("%.200s: the event '%s': '%s' is of floating "
			       "point, which --target kernel can't have: the "
			       "kernel's functions have no such arguments; "
			       "take an integer of a smaller unit",
			       path, event->name, field);
	else if (event)
		sonde_complain("%.200s: the event '%s': with --target kernel, "
			       "its name and the provider's may have %d "
			       "characters together; shorten one",
			       path, event->name, SONDE_GENERATE_KERNEL_NAMES);
	return event ? 1 : 0;
}

static int description_make(struct sonde_pool *pool, const char *path,
			    const struct words *words)
{
	struct description description = { .root = NULL };
	int status = description_load(pool, path, &description);

	if (!status && is_for_kernel(words))
		status = check_kernel(path, &description);
	if (!status)
		status = make_metadata(&description, words);
	if (!status)
		status = write_to(words->header, &description,
				  is_bare(words)       ? write_bare :
				  is_for_kernel(words) ? write_kernel :
							 write_header);
	if (!status)
		status = write_to(words->metadata, &description, write_ctf);
	if (!status)
		status = write_to(words->doc, &description, write_doc);
	if (!status)
		status = write_to(words->xml, &description, write_xml);
	if (!status)
		status = write_to(words->yaml, &description, write_yaml);
	sonde_ctf_text_fini(&description.metadata);
	return status;
}

static int description_compare(struct sonde_pool *pool, char **paths)
{
	struct description old;
	struct description now;
	size_t nr;

	if (description_load(pool, paths[0], &old) ||
	    description_load(pool, paths[1], &now))
		return SONDE_EXIT_USAGE;
	nr = sonde_generate_compare(&old.model, &now.model, stdout);
	if (fflush(stdout)) {
		sonde_complain("standard output: %s", strerrordesc_np(errno));
		return SONDE_EXIT_USAGE;
	}
	return nr ? 1 : 0;
}

/* Whether they go together; said. */
static bool generate_check_words(const struct words *words)
{
	uint64_t hz;

	if (words->check && (words->header || words->metadata || words->doc ||
			     words->xml || words->yaml))
		sonde_complain("generate: --check writes no files");
	else if (words->target && !is_bare(words) && !is_for_kernel(words) &&
		 !is_target(words, "program"))
		sonde_complain("generate: --target %.20s: program, bare or "
			       "kernel is expected",
			       words->target);
	else if (is_for_kernel(words) && words->metadata)
		sonde_complain("generate: --target kernel --metadata: who "
			       "records modules' events writes their metadata");
	else if (words->frequency &&
		 (!is_bare(words) || !words->metadata ||
		  !sonde_number_parse(words->frequency, FREQUENCY_MAX, &hz) ||
		  !hz))
		sonde_complain("generate: --frequency %.20s: it is that of the "
			       "clock of --metadata OUT --target bare, 1 to "
			       "%llu Hz",
			       words->frequency, FREQUENCY_MAX);
	else if (words->ctf &&
		 (!words->metadata || (strcmp(words->ctf, "1.8") != 0 &&
				       strcmp(words->ctf, "2") != 0)))
		sonde_complain("generate: --ctf %.20s: it is the language of "
			       "--metadata OUT: 1.8 or 2",
			       words->ctf);
	else
		return true;
	return false;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct words *words)
{
	int status = sonde_option_take(&sonde_command_generate, argc, argv,
				       words, NULL);

	if (status >= 0)
		return status;
	if (argc - optind != 1 + words->check) {
		sonde_complain("generate: %s",
			       words->check ?
				       "--check compares two files" :
				       "which file? One that describes events; "
				       "see 'man sonde-generate'");
		return SONDE_EXIT_USAGE;
	}
	return generate_check_words(words) ? -1 : SONDE_EXIT_USAGE;
}
static int run(int argc, char **argv)
{
	struct words words = { .check = false };
	struct sonde_pool pool;
	int status = parse(argc, argv, &words);

	if (status >= 0)
		return status;
	sonde_pool_init(&pool, 0);
	if (words.check)
		status = description_compare(&pool, argv + optind);
	else
		status = description_make(&pool, argv[optind], &words);
	sonde_pool_fini(&pool);
	return status;
}

const struct sonde_command sonde_command_generate = {
	.name = "generate",
	.run = run,
	.brief = "FILE --header OUT",
	.does = "code from a description of events",
	.usage = usage,
	.options = options,
	.words = SONDE_VALUE_FILE,
};
