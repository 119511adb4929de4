/* SPDX-License-Identifier: MIT */
/*
 * flame_text.c - a flame tree as folded stacks and as JSON.
 *
 * Folded stacks are lines of names with ';' between them, a blank, and the
 * weight. So a ';' in a name becomes ':', and control characters are escaped.
 */
#include "view/export/flame.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "view/text/show.h"

static void put_name(FILE *to, const char *name)
{
	size_t length = strlen(name);

	while (length > 0) {
		char text[SONDE_ESCAPE_MAX];
		size_t used;
		size_t n = sonde_escape_safe(name, length, text, &used);

		if (n == 1 && text[0] == ';')
			text[0] = ':';
		(void)fwrite(text, 1, n, to);
		name += used;
		length -= used;
	}
}

static void put_stack(const struct sonde_flame *flame, uint32_t node, FILE *to)
{
	/* A thread's own node may be below the root. */
	uint32_t path[SONDE_SPANS_DEPTH + 1];
	uint32_t depth = 0;

	for (; node != 0; node = flame->nodes[node].parent)
		path[depth++] = node;
	while (depth-- > 0) {
		put_name(to, sonde_flame_name(flame, path[depth]));
		if (depth > 0)
			(void)fputc(';', to);
	}
}

void sonde_flame_write_folded(const struct sonde_flame *flame, FILE *to)
{
	for (uint32_t i = sonde_flame_next(flame, 0); i != 0;
	     i = sonde_flame_next(flame, i)) {
		if (flame->nodes[i].self == 0)
			continue;
		put_stack(flame, i, to);
		(void)fprintf(to, " %" PRIu64 "\n", flame->nodes[i].self);
	}
}

/* ---- JSON ---- */

static void open_node(const struct sonde_flame *flame, uint32_t i, FILE *to)
{
	const struct sonde_flame_node *node = &flame->nodes[i];
	const char *name = sonde_flame_name(flame, i);

	(void)fputs("{\"name\":", to);
	sonde_show_json_text(to, name, strlen(name));
	if (!flame->count)
		(void)fprintf(to,
			      ",\"total_ns\":%" PRIu64 ",\"self_ns\":%" PRIu64,
			      node->total, node->self);
	else
		(void)fprintf(to, ",\"total\":%" PRIu64, node->total);
	(void)fprintf(to, ",\"count\":%" PRIu64 ",\"children\":[", node->count);
}

static void write_tree(const struct sonde_flame *flame, FILE *to)
{
	uint32_t depth = 0;

	open_node(flame, 0, to);
	for (uint32_t i = sonde_flame_next(flame, 0); i != 0;
	     i = sonde_flame_next(flame, i)) {
		bool first = flame->nodes[i].depth > depth;

		for (; depth >= flame->nodes[i].depth; depth--)
			(void)fputs("]}", to);
		(void)fputs(first ? "\n" : ",\n", to);
		open_node(flame, i, to);
		depth = flame->nodes[i].depth;
	}
	for (; depth > 0; depth--)
		(void)fputs("]}", to);
	(void)fputs("]}", to);
}

void sonde_flame_write_json(const struct sonde_flame *flame, FILE *to)
{
	char note[256];

	(void)fputs("{\"report\":\"flame\",\"root\":", to);
	write_tree(flame, to);
	(void)fputs(",\"notes\":[", to);
	for (size_t i = 0; sonde_flame_note(flame, i, note, sizeof(note));
	     i++) {
		if (i > 0)
			(void)fputc(',', to);
		sonde_show_json_text(to, note, strlen(note));
	}
	(void)fputs("]}\n", to);
}
