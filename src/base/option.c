/* SPDX-License-Identifier: MIT */
/*
 * option.c - options that a table describes (option.h): which one a word is, and
 * where it goes. A search is linear in the table.
 */
#include "base/option.h"

#include <string.h>

int sonde_option_give(const struct sonde_option *option, void *words,
		      const char *value)
{
	void *place = (char *)words + option->to.place;
	struct sonde_option_values *values = place;

	switch (option->to.kind) {
	case SONDE_OPTION_NOWHERE:
		break;
	case SONDE_OPTION_FLAG:
		*(bool *)place = true;
		break;
	case SONDE_OPTION_TEXT:
		*(const char **)place = value ? value : "";
		break;
	case SONDE_OPTION_LIST:
		values->full |= values->nr == SONDE_OPTION_VALUES;
		if (!values->full)
			values->list[values->nr++] = value;
		break;
	}
	return option->to.take ? option->to.take(words, value) : 0;
}

bool sonde_option_takes_next(const struct sonde_option *option,
			     const char *value, const char *next)
{
	if (!option->value || value)
		return false;
	if (*option->value != '[')
		return true;
	return next && *next && option->values &&
	       !strcmp(option->values, SONDE_VALUE_NUMBER) &&
	       !next[strspn(next, "0123456789")];
}

const struct sonde_option *sonde_option_find(const struct sonde_option *table,
					     const char *word,
					     const char **ret_value)
{
	bool is_long = !strncmp(word, "--", 2);
	size_t length = strcspn(word, "=");

	if (word[0] != '-')
		return NULL;
	for (; table && (table->name || table->help); table++) {
		if (!table->name)
			continue;
		if (is_long && strlen(table->name) + 2 == length &&
		    !strncmp(word + 2, table->name, length - 2)) {
			*ret_value = word[length] ? word + length + 1 : NULL;
			return table;
		}
		if (!is_long && table->letter && word[1] == table->letter) {
			*ret_value = word[2] ? word + 2 : NULL;
			return table;
		}
	}
	return NULL;
}

bool sonde_option_is_given(const struct sonde_option *option, const void *words)
{
	const void *place = (const char *)words + option->to.place;

	switch (option->to.kind) {
	case SONDE_OPTION_FLAG:
		return *(const bool *)place;
	case SONDE_OPTION_TEXT:
		return *(const char *const *)place;
	case SONDE_OPTION_LIST:
		return ((const struct sonde_option_values *)place)->nr;
	case SONDE_OPTION_NOWHERE:
		break;
	}
	return false;
}
