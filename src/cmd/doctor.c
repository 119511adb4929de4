/* SPDX-License-Identifier: MIT */
/*
 * doctor.c - `sonde doctor`: what this kernel and this user can do, part by
 * part, what helps where they can't, and what that costs.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "doctor/doctor.h"
#include "view/text/show.h"

#define BOLD   "\033[1m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define RED    "\033[31m"
#define PLAIN  "\033[0m"

static const char usage[] =
	"sonde doctor [--json]\n"
	"sonde doctor --realtime [--json]\n"
	"sonde doctor --clean\n"
	"\n"
	"What this kernel and this user can do, part by part: what was found, the\n"
	"command that helps where something is missing, and what it costs to do\n"
	"without. Changes nothing.\n";

struct words {
	bool json, cleaning, realtime;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "clean", 0, NULL, NULL, TO(cleaning),
	  "remove what killed recorders left in tracefs; nothing else" },
	{ "realtime", 0, NULL, NULL, TO(realtime),
	  "what keeps threads from being late here, in place of what can be "
	  "recorded" },
	{ "json", 0, NULL, NULL, TO(json), "as JSON" },
	{ 0 }
};
/* clang-format on */

struct findings {
	size_t nr;
	struct sonde_doctor_ability at[SONDE_ABILITIES_MAX];
	char left[200]; /* behind by killed recorders, or "" */
	bool is_realtime;
	char said[100]; /* the verdict on that */
};

static const char *const words[] = {
	[SONDE_DOCTOR_ABLE] = "yes",
	[SONDE_DOCTOR_PARTLY] = "partly",
	[SONDE_UNABLE] = "no",
};

static const char *const colours[] = {
	[SONDE_DOCTOR_ABLE] = GREEN,
	[SONDE_DOCTOR_PARTLY] = YELLOW,
	[SONDE_UNABLE] = RED,
};

static bool is_able(const struct findings *findings, const char *part)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (!strcmp(findings->at[i].part, part))
			return findings->at[i].able == SONDE_DOCTOR_ABLE;
	return false;
}

/* Which sources `sonde record -k` chooses (source/choose.h), as a sentence. */
static const char *cmd_doctor_verdict(const struct findings *findings)
{
	bool bpf = is_able(findings, "bpf") && is_able(findings, "bpf-rings");
	bool tracefs = is_able(findings, "tracefs");

	if (findings->is_realtime)
		return findings->said;
	if (!is_able(findings, "programs"))
		return "Nothing can be recorded here.";
	if (is_able(findings, "modules"))
		return "Here, `sonde record -k` has kernel events from Sonde's "
		       "own tracer in the kernel (modules).";
	if (bpf && tracefs)
		return "Here, `sonde record -k` has the busiest events from "
		       "BPF, and all others from tracefs.";
	if (bpf)
		return "Here, `sonde record -k` has all kernel events from "
		       "BPF; tracefs can't be used.";
	if (tracefs)
		return "Here, `sonde record -k` has all kernel events from "
		       "tracefs; BPF can't be used.";
	return "Here, `sonde record` records programs, but no kernel events: "
	       "-k needs tracefs or BPF.";
}

/* ---- as a table ---- */

/* Columns for text, below which nothing is wrapped. */
#define MIN_ROOM 20

struct layout {
	bool colour;
	size_t part_width; /* of the first column */
	size_t indent;     /* where text begins */
	size_t width;      /* of the terminal; 0: as wide as it takes */
};

/* How much of `text` fits into `room` columns, cut between words. */
static size_t cmd_doctor_fitting(const char *text, size_t room)
{
	size_t length = strlen(text);
	size_t cut = 0;

	if (length <= room)
		return length;
	for (size_t i = 0; text[i] && (i <= room || cut == 0); i++)
		if (text[i] == ' ')
			cut = i;
	return cut ? cut : length;
}

/* Lines that go on begin where the first one's text did; commands are never
 * broken. */
static void print_text(const struct layout *layout, const char *label,
		       const char *text, bool is_command)
{
	size_t indent = layout->indent + strlen(label);
	size_t room = is_command || layout->width < indent + MIN_ROOM ?
			      SIZE_MAX :
			      layout->width - indent;

	for (bool first = true; *text; first = false) {
		size_t length = cmd_doctor_fitting(text, room);

		(void)printf("%*s%.*s\n", (int)indent, first ? label : "",
			     (int)length, text);
		text += length;
		text += *text == ' ';
	}
}

static void print_ability(const struct sonde_doctor_ability *ability,
			  const struct layout *layout)
{
	(void)printf("%-*s  %s%-6s%s  %s\n", (int)layout->part_width,
		     ability->part,
		     layout->colour ? colours[ability->able] : "",
		     words[ability->able], layout->colour ? PLAIN : "",
		     ability->gives);
	print_text(layout, "", ability->why, false);
	print_text(layout, "remedy:  ", ability->remedy, true);
	print_text(layout, "without: ", ability->cost, false);
}

static void cmd_doctor_print_table(const struct findings *findings)
{
	struct layout layout = { .part_width = strlen("PART") };
	struct sonde_show show;

	sonde_show_init(&show, stdout);
	layout.colour = show.colour;
	layout.width = show.width;
	for (size_t i = 0; i < findings->nr; i++)
		if (strlen(findings->at[i].part) > layout.part_width)
			layout.part_width = strlen(findings->at[i].part);
	layout.indent = layout.part_width + strlen("  partly  ");
	(void)printf("%s%-*s  %-6s  %s%s\n", layout.colour ? BOLD : "",
		     (int)layout.part_width, "PART", "ABLE",
		     "WHAT IT GIVES, AND WHAT WAS FOUND",
		     layout.colour ? PLAIN : "");
	for (size_t i = 0; i < findings->nr; i++)
		print_ability(&findings->at[i], &layout);
	(void)printf("\n%s\n", cmd_doctor_verdict(findings));
	if (findings->left[0])
		(void)printf("There is something to clean up: %s; "
			     "`sonde doctor --clean` removes it.\n",
			     findings->left);
}

/* ---- as JSON ---- */

static void print_json_ability(struct sonde_json *json,
			       const struct sonde_doctor_ability *ability)
{
	const struct {
		const char *name;
		const char *text;
	} members[] = {
		{ "part", ability->part },     { "able", words[ability->able] },
		{ "gives", ability->gives },   { "why", ability->why },
		{ "remedy", ability->remedy }, { "cost", ability->cost },
	};

	sonde_json_line(json, 2);
	sonde_json_open(json, NULL, '{');
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(members); i++)
		sonde_json_put_text(json, members[i].name, members[i].text);
	sonde_json_close(json, '}');
}

static void cmd_doctor_print_json(const struct findings *findings)
{
	struct sonde_json json = sonde_json_to_file(stdout);

	sonde_json_open(&json, NULL, '{');
	sonde_json_open(&json, "parts", '[');
	for (size_t i = 0; i < findings->nr; i++)
		print_json_ability(&json, &findings->at[i]);
	sonde_json_line(&json, 0);
	sonde_json_close(&json, ']');
	sonde_json_put_text(&json, "verdict", cmd_doctor_verdict(findings));
	sonde_json_put_text(&json, "left_behind", findings->left);
	sonde_json_close(&json, '}');
	(void)putchar('\n');
}

/* ---- the command ---- */

static int finish(int status)
{
	if (fflush(stdout) == 0)
		return status;
	sonde_complain("doctor: can't write: %s", strerrordesc_np(errno));
	return 1;
}

static int cmd_doctor_examine(bool json)
{
	struct findings findings = { .nr = 0 };

	findings.nr = sonde_doctor_abilities(findings.at, SONDE_ABILITIES_MAX);
	/* Where it can't look, it has left nothing of this user's. */
	(void)sonde_doctor_left(findings.left, sizeof(findings.left));
	if (json)
		cmd_doctor_print_json(&findings);
	else
		cmd_doctor_print_table(&findings);
	return finish(is_able(&findings, "programs") ? 0 : 1);
}

static int cmd_doctor_realtime(bool json)
{
	struct findings findings = { .is_realtime = true };
	size_t nr_able = 0;

	findings.nr = sonde_doctor_realtime(findings.at, SONDE_ABILITIES_MAX);
	for (size_t i = 0; i < findings.nr; i++)
		nr_able += findings.at[i].able == SONDE_DOCTOR_ABLE;
	(void)snprintf(findings.said, sizeof(findings.said),
		       "%zu of %zu are as a real-time program wants them; "
		       "`sonde latency` measures what it is like.",
		       nr_able, findings.nr);
	if (json)
		cmd_doctor_print_json(&findings);
	else
		cmd_doctor_print_table(&findings);
	return finish(nr_able == findings.nr ? 0 : 1);
}

static int clean(void)
{
	char text[200] = "";
	int nr = sonde_doctor_clean(text, sizeof(text));

	if (text[0])
		(void)printf("%s\n", text);
	else if (nr == 0)
		(void)puts("nothing was left behind");
	if (nr >= 0)
		return finish(0);
	if (nr == -EACCES || nr == -EPERM)
		sonde_complain("doctor: %s; run as root: sudo sonde doctor "
			       "--clean",
			       text[0] ? "the rest is not this user's" :
					 "tracefs is closed to this user");
	else
		sonde_complain("doctor: can't look into tracefs: %s",
			       strerrordesc_np(-nr));
	return finish(1);
}

static int run(int argc, char **argv)
{
	struct words asked = { 0 };
	int status = sonde_option_take(&sonde_command_doctor, argc, argv,
				       &asked, NULL);

	if (status >= 0)
		return status ? status : finish(0);
	if (optind < argc ||
	    (asked.cleaning && (asked.json || asked.realtime))) {
		sonde_complain("doctor: takes %s; 'sonde doctor --help' says "
			       "more",
			       optind < argc ? "no arguments" :
			       asked.json    ? "--clean or --json, not both" :
					       "--clean or --realtime, not both");
		return SONDE_EXIT_USAGE;
	}
	if (asked.realtime)
		return cmd_doctor_realtime(asked.json);
	return asked.cleaning ? clean() : cmd_doctor_examine(asked.json);
}

const struct sonde_command sonde_command_doctor = {
	.name = "doctor",
	.run = run,
	.brief = "",
	.does = "what can be recorded here",
	.usage = usage,
	.options = options,
	.notes =
		"Exit status: 0 if programs can be recorded, 1 if not "
		"(--clean: if not all\n"
		"could be removed; --realtime: if anything is not as it should be), 2 for wrong\n"
		"usage.\n",
};
