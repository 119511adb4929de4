/* SPDX-License-Identifier: MIT */
/*
 * rules.c - reading rows that a user declares (rules.h). Whether an expression is one
 * is found out when there is a trace.
 */
#include "view/index/rules.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/plugin/run.h"
#include "base/port.h"
#include "base/text.h"
#include "sys/textfile.h"
#include "sys/userdir.h"

#define OWN_FILE "rows"

/* Where a line stands, and whom to tell what is wrong with it. */
struct rules_place {
	const char *file;
	unsigned int line;
	struct sonde_view_rules_error *error;
};

__attribute__((format(printf, 2, 3))) static int
refuse_line(const struct rules_place *place, const char *format, ...)
{
	struct sonde_view_rules_error *error = place->error;
	int at = snprintf(error->text, sizeof(error->text),
			  "%.100s:%u: ", place->file, place->line);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error->text + at, sizeof(error->text) - (size_t)at,
			format, args);
	va_end(args);
	return -EINVAL;
}

static int begin_rule(struct sonde_view_rules *rules, bool is_counter,
		      const char *text, const struct rules_place *place)
{
	struct sonde_view_rule *rule;

	for (size_t i = 0; i < rules->nr; i++)
		if (rules->rules[i]->is_counter != is_counter &&
		    !strcmp(rules->rules[i]->row, text))
			return refuse_line(place,
					   "'%.40s' is a %s already (%.60s:%u)",
					   text, is_counter ? "row" : "counter",
					   rules->rules[i]->file,
					   rules->rules[i]->line);
	if (rules->nr == SONDE_VIEW_RULES)
		return refuse_line(place, "more than %u rows",
				   SONDE_VIEW_RULES);
	rule = sonde_pool_get(&rules->pool, 1, sizeof(*rule));
	if (!rule)
		return -ENOMEM;
	rule->file =
		sonde_pool_text(&rules->pool, place->file, strlen(place->file));
	rule->line = place->line;
	rule->row = text;
	rule->is_counter = is_counter;
	rules->rules[rules->nr++] = rule;
	return rule->file ? 0 : -ENOMEM;
}

static int add_rule_edge(struct sonde_view_rule *rule, bool begins,
			 const char *text, const struct rules_place *place)
{
	if (rule->nr_edges == SONDE_VIEW_RULE_EDGES)
		return refuse_line(place, "more than %u lines of a row",
				   SONDE_VIEW_RULE_EDGES);
	rule->edges[rule->nr_edges++] = (struct sonde_view_rule_edge){
		.begins = begins,
		.when = text,
	};
	return 0;
}

/* What a line below a `begin` says of it, once. */
static int tell_of_begin(struct sonde_view_rule *rule, const char *word,
			 const char *text, const struct rules_place *place)
{
	struct sonde_view_rule_edge *last =
		rule->nr_edges ? &rule->edges[rule->nr_edges - 1] : NULL;
	bool is_colour = !strcmp(word, "colour");
	uint32_t colour;

	if (!last || !last->begins ||
	    (is_colour ? last->colour != NULL : last->name || last->label))
		return refuse_line(place, "a %s stands below its begin", word);
	if (is_colour && sonde_plugin_colour(text, &colour))
		return refuse_line(
			place,
			"'%.40s' is no colour: give one of " SONDE_PLUGIN_COLOURS,
			text);
	if (is_colour)
		last->colour = text;
	else if (!strcmp(word, "name"))
		last->name = text;
	else
		last->label = text;
	return 0;
}

/* What a line below a `when` says of it, once. */
static int tell_of_when(struct sonde_view_rule *rule, const char *word,
			const char *text, const struct rules_place *place)
{
	struct sonde_view_rule_edge *last =
		rule->nr_edges ? &rule->edges[rule->nr_edges - 1] : NULL;

	if (!last || !last->begins || last->value || last->add)
		return refuse_line(place, "one value or add stands below "
					  "each when");
	if (*word == 'v')
		last->value = text;
	else
		last->add = text;
	return 0;
}

static const struct rule_words {
	const char *words[6];
	const char *all;
} words_of_rows = { { "per", "begin", "name", "label", "colour", "end" },
		    "row, per, begin, name, label, colour, end" },
  words_of_counters = { { "per", "unit", "when", "value", "add", "end" },
			"counter, per, unit, when, value, add, end" };

static bool is_rule_word(const struct rule_words *of, const char *word)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(of->words); i++)
		if (!strcmp(word, of->words[i]))
			return true;
	return false;
}

/* `per` and `unit`, once. */
static int tell_of_rule(struct sonde_view_rule *rule, const char *word,
			const char *text, const struct rules_place *place)
{
	const char **to = *word == 'p' ? &rule->per : &rule->unit;

	if (*to)
		return refuse_line(place, "a %s has one '%s'",
				   rule->is_counter ? "counter" : "row", word);
	*to = text;
	return 0;
}

static int take_declared(struct sonde_view_rules *rules, const char *word,
			 const char *text, const struct rules_place *place)
{
	struct sonde_view_rule *rule =
		rules->nr ? rules->rules[rules->nr - 1] : NULL;
	bool has_rule = rule && !strcmp(rule->file, place->file);
	const struct rule_words *of = has_rule && rule->is_counter ?
					      &words_of_counters :
					      &words_of_rows;

	if (!strcmp(word, "row") || !strcmp(word, "counter"))
		return begin_rule(rules, *word == 'c', text, place);
	if (!has_rule && (is_rule_word(&words_of_rows, word) ||
			  is_rule_word(&words_of_counters, word)))
		return refuse_line(place,
				   "'row NAME' or 'counter NAME' comes first");
	if (!is_rule_word(of, word))
		return refuse_line(place, "'%.40s' is none of %s", word,
				   of->all);
	if (!strcmp(word, "per") || !strcmp(word, "unit"))
		return tell_of_rule(rule, word, text, place);
	if (!strcmp(word, "begin") || !strcmp(word, "when") ||
	    !strcmp(word, "end"))
		return add_rule_edge(rule, *word != 'e', text, place);
	return rule->is_counter ? tell_of_when(rule, word, text, place) :
				  tell_of_begin(rule, word, text, place);
}

int sonde_view_rules_line(struct sonde_view_rules *rules, const char *file,
			  unsigned int number, char *line,
			  struct sonde_view_rules_error *error)
{
	const struct rules_place place = { file, number, error };
	char *word = line + (sonde_text_skip_blanks(line) - line);
	size_t length = sonde_text_trim(word, strlen(word));
	size_t end;
	char *text;

	word[length] = 0;
	if (!length || *word == '#')
		return 0;
	end = strcspn(word, " \t");
	if (end == length)
		return refuse_line(&place, "'%.40s' alone says nothing", word);
	word[end] = 0;
	text = word + end + 1;
	text += sonde_text_skip_blanks(text) - text;
	text = sonde_pool_text(&rules->pool, text, strlen(text));
	return text ? take_declared(rules, word, text, &place) : -ENOMEM;
}

/* A row without a begin is of no use, nor is a `when` that says no value. */
static int check_rule(const struct sonde_view_rule *rule,
		      const struct rules_place *place)
{
	bool begins = false;

	for (size_t i = 0; i < rule->nr_edges; i++) {
		const struct sonde_view_rule_edge *edge = &rule->edges[i];

		begins = begins || edge->begins;
		if (rule->is_counter && edge->begins && !edge->value &&
		    !edge->add)
			return refuse_line(place, "a 'when' of the counter has "
						  "no 'value' and no 'add'");
	}
	if (begins)
		return 0;
	return rule->is_counter ?
		       refuse_line(place, "the counter has no 'when'") :
		       refuse_line(place, "the row has no 'begin'");
}

static int check_declared(const struct sonde_view_rules *rules, size_t from,
			  struct sonde_view_rules_error *error)
{
	int err = 0;

	for (size_t i = from; !err && i < rules->nr; i++) {
		const struct sonde_view_rule *rule = rules->rules[i];
		const struct rules_place place = { rule->file, rule->line,
						   error };

		err = check_rule(rule, &place);
	}
	return err;
}

/* `path` is the file's, `file` what it is called. */
static int read_declared(struct sonde_view_rules *rules, const char *path,
			 const char *file, struct sonde_view_rules_error *error)
{
	struct sonde_lines lines;
	size_t before = rules->nr;
	unsigned int number = 0;
	char *line;
	int err = sonde_lines_open(&lines, "%s", path);

	while (!err && (line = sonde_lines_next(&lines)))
		err = sonde_view_rules_line(rules, file, ++number, line, error);
	if (!err)
		err = lines.error;
	sonde_lines_close(&lines);
	return err ? err : check_declared(rules, before, error);
}

int sonde_view_rules_read(struct sonde_view_rules *rules, const char *file,
			  struct sonde_view_rules_error *error)
{
	int err = read_declared(rules, file, file, error);

	if (err && err != -EINVAL)
		(void)snprintf(error->text, sizeof(error->text), "%.200s: %s",
			       file, strerrordesc_np(-err));
	return err;
}

int sonde_view_rules_read_own(struct sonde_view_rules *rules,
			      struct sonde_view_rules_error *error)
{
	char path[PATH_MAX];
	int err = sonde_userdir_path("XDG_CONFIG_HOME", "/.config",
				     "/" OWN_FILE, path);

	if (!err)
		err = read_declared(rules, path, "~/.config/sonde/" OWN_FILE,
				    error);
	return err == -EINVAL || err == -ENOMEM ? err : 0;
}

void sonde_view_rules_init(struct sonde_view_rules *rules)
{
	*rules = (struct sonde_view_rules){ .nr = 0 };
	sonde_pool_init(&rules->pool, 0);
}

void sonde_view_rules_fini(struct sonde_view_rules *rules)
{
	sonde_pool_fini(&rules->pool);
	rules->nr = 0;
}
