/* SPDX-License-Identifier: MIT */
/* xml_write.c - event descriptions written as XML (node.h). */
#include <string.h>

#include "generate/node.h"

static void xml_put_value(const char *value, FILE *to)
{
	static const char special[] = "&<>\"\n\t\r";
	static const char *const escaped[] = { "&amp;",  "&lt;",  "&gt;",
					       "&quot;", "&#10;", "&#9;",
					       "&#13;" };

	for (; *value; value++) {
		const char *found = strchr(special, *value);

		if (found)
			(void)fputs(escaped[found - special], to);
		else
			(void)fputc(*value, to);
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_DEPTH */
static void write_element(const struct sonde_generate_node *node, int depth,
			  FILE *to)
{
	const char *name = sonde_generate_grammars[node->kind].name;
	const char *key;
	const char *value;

	(void)fprintf(to, "%*s<%s", 2 * depth, "", name);
	for (size_t i = 0; value = sonde_generate_node_nth(node, i, &key), key;
	     i++) {
		if (!value)
			continue;
		(void)fprintf(to, " %s=\"", key);
		xml_put_value(value, to);
		(void)fputc('"', to);
	}
	if (!node->first) {
		(void)fputs("/>\n", to);
		return;
	}
	(void)fputs(">\n", to);
	for (node = node->first; node; node = node->next)
		write_element(node, depth + 1, to);
	(void)fprintf(to, "%*s</%s>\n", 2 * depth, "", name);
}

void sonde_generate_write_xml(const struct sonde_generate_node *node, FILE *to)
{
	(void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", to);
	write_element(node, 0, to);
}
