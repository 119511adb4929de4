/* SPDX-License-Identifier: MIT */
/*
 * policy.c - what a machine lets others ask of its sessions (policy.h).
 *
 * The lines are kept as they are, and taken apart again for each order: there are
 * few of either.
 */
#include "fleet/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "fleet/globs.h"
#include "types/select.h"

#define BLANKS " \t"

/* An item of a line: OPTION, OPTION=GLOB, OPTION<=BOUND. */
struct policy_item {
	char text[SONDE_FLEET_POLICY_LINE + 1];
	char name[SONDE_FLEET_ORDER_NAME + 1];
	const char *limit; /* in text; NULL: none */
	bool is_bound;
};

/* Without it more is recorded, or for longer, or more is taken. */
static const char *const needs[] = {
	"event",    "process",       "user",     "cgroup", "container",
	"memory",   "kernel-memory", "duration", "mode",   "keep",
	"loglevel", "min-duration",  "depth",
};

/* Where a trace is put is the machine's to say, as what it is called is and where
 * it asks others; and files are not of it. */
static const char *const never[] = { "output", "file",   "help",  "hosts",
				     "from",   "ask-at", "ask-as" };

/* It is no option, but says whose orders a line is about. */
static const char by_name[] = "by";
/* An action of --do: others are asked. */
static const char asks_others[] = "snapshot@";

static bool policy_has_name(const char *const *list, size_t nr,
			    const char *name)
{
	size_t i = 0;

	while (i < nr && strcmp(list[i], name) != 0)
		i++;
	return i < nr;
}

/* The next word of a line; false: there is none. */
static bool policy_take_word(const char **at, const char **ret_word,
			     size_t *ret_size)
{
	*at += strspn(*at, BLANKS);
	*ret_word = *at;
	*ret_size = strcspn(*at, BLANKS);
	*at += *ret_size;
	return *ret_size > 0;
}

/* 1; 0: there is none; -EINVAL. */
static int take_item(const char **at, struct policy_item *item)
{
	const char *word;
	size_t size;
	size_t length;

	if (!policy_take_word(at, &word, &size))
		return 0;
	if (size >= sizeof(item->text))
		return -EINVAL;
	memcpy(item->text, word, size);
	item->text[size] = '\0';
	length = strspn(item->text, "abcdefghijklmnopqrstuvwxyz-");
	if (!length || length > SONDE_FLEET_ORDER_NAME || *item->text == '-')
		return -EINVAL;
	(void)snprintf(item->name, sizeof(item->name), "%.*s", (int)length,
		       item->text);
	item->is_bound = !strncmp(item->text + length, "<=", 2);
	item->limit = !item->text[length]       ? NULL :
		      item->is_bound            ? item->text + length + 2 :
		      item->text[length] == '=' ? item->text + length + 1 :
						  "";
	return item->limit && !*item->limit ? -EINVAL : 1;
}

/* How much a value is of an option that has a bound. */
static int read_amount(const char *name, const char *value, uint64_t *ret)
{
	return strstr(name, "duration") || strstr(name, "last") ?
		       sonde_number_parse_time_us(value, ret) :
		       sonde_number_parse_size(value, ret);
}

/* ---- the file ---- */

static const char *item_error(const struct policy_item *item)
{
	uint64_t amount;

	if (policy_has_name(never, SONDE_ARRAY_SIZE(never), item->name) ||
	    !strcmp(item->name, by_name))
		return "that is not for others to say";
	if (!strcmp(item->name, "do") && (!item->limit || item->is_bound))
		return "say which: do=snapshot, or do=run if others may have "
		       "commands of theirs run here";
	if (item->is_bound && read_amount(item->name, item->limit, &amount))
		return "behind <= comes a number, such as memory<=64M or "
		       "duration<=1h";
	return NULL;
}

/* What is wrong with an item of a command that has no options; NULL: nothing. */
static const char *bare_item_error(enum sonde_fleet_order_what what,
				   const struct policy_item *item)
{
	return what == SONDE_FLEET_ORDER_SNAPSHOT &&
			       !strcmp(item->name, by_name) && item->limit &&
			       !item->is_bound ?
		       NULL :
	       what == SONDE_FLEET_ORDER_SNAPSHOT ?
		       "this command has no options but by=HOSTS" :
		       "this command has no options";
}

static const char *line_error(const char *line)
{
	enum sonde_fleet_order_what what;
	struct policy_item item;
	const char *error = NULL;
	const char *word;
	size_t size;
	int n;

	(void)policy_take_word(&line, &word, &size);
	what = sonde_fleet_order_find(word, size);
	if (what == SONDE_FLEET_NR_ORDERS)
		return "a line begins with status, snapshot, stop, destroy, "
		       "change or start";
	if (!policy_take_word(&line, &word, &size))
		return "which sessions? A name, or a pattern such as *";
	if (size > SONDE_GLOB_MAX - 1)
		return "the pattern of sessions' names is too long";
	while (!error && (n = take_item(&line, &item)) != 0)
		error = n < 0 ? "options are said as event, event=app:*, or "
				"memory<=64M" :
			what < SONDE_FLEET_ORDER_CHANGE ?
				bare_item_error(what, &item) :
				item_error(&item);
	return error;
}

/* Puts it where lines are kept, if it is right. */
static const char *policy_add_line(char *line,
				   struct sonde_fleet_policy *policy)
{
	size_t used = strlen(policy->text);
	const char *error;

	line[strcspn(line, "#")] = '\0';
	if (!line[strspn(line, BLANKS)])
		return NULL;
	error = line_error(line);
	if (!error)
		(void)snprintf(policy->text + used, sizeof(policy->text) - used,
			       "%s\n", line);
	return error;
}

int sonde_fleet_policy_parse(const char *text, size_t size,
			     struct sonde_fleet_policy *ret_policy, char *error,
			     size_t error_size)
{
	char line[SONDE_FLEET_POLICY_LINE + 1];
	unsigned int number = 0;

	*ret_policy->text = '\0';
	if (size >= SONDE_FLEET_POLICY_MAX) {
		(void)snprintf(error, error_size, "more than %u bytes",
			       SONDE_FLEET_POLICY_MAX - 1);
		return -E2BIG;
	}
	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = end ? (size_t)(end - text) - at : size - at;
		const char *why = "a line is too long, or not of text";

		number++;
		if (length < sizeof(line) && !memchr(text + at, 0, length)) {
			memcpy(line, text + at, length);
			line[length] = '\0';
			why = policy_add_line(line, ret_policy);
		}
		if (why) {
			(void)snprintf(error, error_size, "line %u: %s", number,
				       why);
			return -EINVAL;
		}
		at += length + 1;
	}
	return 0;
}

/* ---- orders ---- */

/* One value, without commas. */
static bool policy_covers(const char *glob, const char *value, size_t size)
{
	char text[SONDE_FLEET_ORDER_WORDS + 1];

	(void)snprintf(text, sizeof(text), "%.*s", (int)size, value);
	return !strpbrk(text, "[\\" BLANKS) &&
	       !(strpbrk(glob, "?[\\") && strpbrk(text, "*?")) &&
	       sonde_glob_match(glob, text);
}

static bool is_within_all(const char *glob, const char *values)
{
	size_t length;

	for (;; values += length + 1) {
		length = sonde_text_item(values, ',');
		if (!policy_covers(glob, values, length))
			return false;
		if (!values[length])
			return true;
	}
}

static bool is_action_permitted(const char *glob, const char *value)
{
	size_t length = strlen(asks_others);

	if (!strncmp(value, "run", 3))
		return !strcmp(glob, "run");
	if (strncmp(value, asks_others, length) != 0)
		return is_within_all(glob, value);
	return !strncmp(glob, asks_others, length) &&
	       is_within_all(glob + length, value + length);
}

static bool item_permits(const struct policy_item *item,
			 const struct sonde_fleet_order_word *word)
{
	uint64_t bound;
	uint64_t amount;

	if (strcmp(item->name, word->name) != 0 || !strcmp(item->name, by_name))
		return false;
	if (!item->limit)
		return true;
	if (!word->has_value)
		return false;
	if (item->is_bound)
		return !read_amount(item->name, item->limit, &bound) &&
		       !read_amount(item->name, word->value, &amount) &&
		       amount <= bound;
	return !strcmp(item->name, "do") ?
		       is_action_permitted(item->limit, word->value) :
		       is_within_all(item->limit, word->value);
}

static bool items_permit(const char *items,
			 const struct sonde_fleet_order_word *word)
{
	struct policy_item item;

	while (take_item(&items, &item) > 0)
		if (item_permits(&item, word))
			return true;
	return false;
}

static bool order_has(const struct sonde_fleet_order *order, const char *name)
{
	struct sonde_fleet_order_word word;
	const char *at = order->words;

	while (sonde_fleet_order_next(&at, &word))
		if (!strcmp(word.name, name))
			return true;
	return false;
}

/* Rule 3; of a change, what isn't said stays, but `exclude` alone is of all. */
static bool policy_needs(const struct sonde_fleet_order *order,
			 const struct policy_item *item)
{
	if (!item->limit)
		return false;
	return order->what == SONDE_FLEET_ORDER_START ?
		       policy_has_name(needs, SONDE_ARRAY_SIZE(needs),
				       item->name) :
		       !strcmp(item->name, "event") &&
			       order_has(order, "exclude");
}

/* Whether they are about who says it. */
static bool items_heed(const char *items, const char *by)
{
	struct policy_item item;
	bool is_of_machines = false;

	while (take_item(&items, &item) > 0) {
		if (strcmp(item.name, by_name) != 0)
			continue;
		is_of_machines = true;
		if (*by && sonde_fleet_is_any_of(item.limit, by))
			return true;
	}
	return !is_of_machines && !*by;
}

/* Whether these items permit all of it. */
static bool line_permits(const char *items,
			 const struct sonde_fleet_order *order, char *error,
			 size_t error_size)
{
	struct sonde_fleet_order_word word;
	struct policy_item item;
	const char *at = order->words;
	bool is_snapshot = order->what == SONDE_FLEET_ORDER_SNAPSHOT;

	while (sonde_fleet_order_next(&at, &word))
		/* who may have a snapshot may have a part of it */
		if (!(is_snapshot && !strcmp(word.name, "last")) &&
		    !items_permit(items, &word)) {
			(void)snprintf(error, error_size,
				       "the policy of this machine doesn't "
				       "permit --%s%s%.200s",
				       word.name, word.has_value ? "=" : "",
				       word.value);
			return false;
		}
	while (take_item(&items, &item) > 0)
		if (policy_needs(order, &item) &&
		    !order_has(order, item.name)) {
			(void)snprintf(error, error_size,
				       "the policy of this machine wants "
				       "--%s, within %.200s",
				       item.name, item.text);
			return false;
		}
	return true;
}

/* Whether a line is about this command and session; its items then. */
static bool line_is_about(const char **line,
			  const struct sonde_fleet_order *order)
{
	char glob[SONDE_GLOB_MAX];
	const char *word;
	size_t size;

	if (!policy_take_word(line, &word, &size) ||
	    sonde_fleet_order_find(word, size) != order->what ||
	    !policy_take_word(line, &word, &size))
		return false;
	(void)snprintf(glob, sizeof(glob), "%.*s", (int)size, word);
	return sonde_glob_match(glob, order->session);
}

int sonde_fleet_policy_check(const struct sonde_fleet_policy *policy,
			     const struct sonde_fleet_order *order, char *error,
			     size_t error_size)
{
	char line[SONDE_FLEET_POLICY_LINE + 1];

	(void)snprintf(error, error_size,
		       "the policy of this machine doesn't permit '%s %s'%s%s",
		       sonde_fleet_order_name(order->what), order->session,
		       *order->by ? " by the machine " : "", order->by);
	for (const char *at = policy->text; *at;) {
		size_t length = strcspn(at, "\n");
		const char *items = line;

		(void)snprintf(line, sizeof(line), "%.*s", (int)length, at);
		if (line_is_about(&items, order) &&
		    items_heed(items, order->by) &&
		    line_permits(items, order, error, error_size))
			return 0;
		at += length + 1;
	}
	return -EACCES;
}
