/* SPDX-License-Identifier: MIT */
/* yaml_write.c - event descriptions written as YAML (node.h). */
#include <string.h>

#include "base/utf8.h"
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
	size_t left = strlen(value);
	uint32_t code;
	size_t bytes;

	if (yaml_is_plain(value)) {
		(void)fputs(value, to);
		return;
	}
	(void)fputc('"', to);
	for (; (bytes = sonde_utf8_decode(value, left, &code)); left -= bytes) {
		/* to YAML the end of a line, a mark, or no character at all */
		if (code < ' ' || (code >= 0x7f && code <= 0xa0) ||
		    code == 0x2028 || code == 0x2029 || code == 0xfeff)
			(void)fprintf(to, "\\u%04x", code);
		else if (code == '"' || code == '\\')
			(void)fprintf(to, "\\%c", (int)code);
		else
			(void)fwrite(value, 1, bytes, to);
		value += bytes;
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
