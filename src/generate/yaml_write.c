/* SPDX-License-Identifier: MIT */
/* yaml_write.c - event descriptions written as YAML (node.h). */
#include <string.h>

#include "generate/node.h"

/* A word that YAML can take for nothing else; quotes are for others. */
static bool yaml_is_plain(const char *value)
{
	size_t length = strspn(value, "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_");

	return length && !value[length];
}

static void put_scalar(const char *value, FILE *to)
{
	if (yaml_is_plain(value)) {
		(void)fputs(value, to);
		return;
	}
	(void)fputc('"', to);
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c < ' ' || c == 0x7f)
			(void)fprintf(to, "\\x%02x", c);
		else if (c == '"' || c == '\\')
			(void)fprintf(to, "\\%c", c);
		else
			(void)fputc(c, to);
	}
	(void)fputc('"', to);
}

/* After the first key, which stands behind the "- ". */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_DEPTH */
static void write_mapping(const struct sonde_generate_node *node, int indent,
			  FILE *to)
{
	const struct sonde_generate_grammar *grammar =
		&sonde_generate_grammars[node->kind];
	const char *key;
	const char *value;

	for (size_t i = 0; value = sonde_generate_node_nth(node, i, &key), key;
	     i++) {
		if (!value)
			continue;
		(void)fprintf(to, "%*s%s: ", i ? indent : 0, "",
			      i ? key : grammar->name);
		put_scalar(value, to);
		(void)fputc('\n', to);
	}
	if (node->first)
		(void)fprintf(to, "%*s%s:\n", indent, "", grammar->inner);
	for (node = node->first; node; node = node->next) {
		(void)fprintf(to, "%*s- ", indent, "");
		write_mapping(node, indent + 2, to);
	}
}

void sonde_generate_write_yaml(const struct sonde_generate_node *node, FILE *to)
{
	write_mapping(node, 0, to);
}
