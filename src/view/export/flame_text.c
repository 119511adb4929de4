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
#include "base/json.h"

static void flame_text_put_name(FILE *to, const char *name)
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
		flame_text_put_name(to, sonde_flame_name(flame, path[depth]));
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

static void open_node(const struct sonde_flame *flame, uint32_t i,
		      struct sonde_json *json)
{
	const struct sonde_flame_node *node = &flame->nodes[i];

	sonde_json_open(json, i ? NULL : "root", '{');
	sonde_json_put_text(json, "name", sonde_flame_name(flame, i));
	if (flame->unit == SONDE_CELL_DURATION) {
		sonde_json_put_unsigned(json, "total_ns", node->total);
		sonde_json_put_unsigned(json, "self_ns", node->self);
	} else if (flame->unit == SONDE_CELL_BYTES) {
		sonde_json_put_unsigned(json, "total_bytes", node->total);
		sonde_json_put_unsigned(json, "self_bytes", node->self);
	} else {
		sonde_json_put_unsigned(json, "total", node->total);
	}
	sonde_json_put_unsigned(json, "count", node->count);
	sonde_json_open(json, "children", '[');
}

/* That node, and those around it up to the depth. */
static void close_nodes(struct sonde_json *json, uint32_t from, uint32_t depth)
{
	for (uint32_t i = depth; i <= from; i++) {
		sonde_json_close(json, ']');
		sonde_json_close(json, '}');
	}
}

static void write_tree(const struct sonde_flame *flame, struct sonde_json *json)
{
	uint32_t depth = 0;

	open_node(flame, 0, json);
	for (uint32_t i = sonde_flame_next(flame, 0); i != 0;
	     i = sonde_flame_next(flame, i)) {
		close_nodes(json, depth, flame->nodes[i].depth);
		sonde_json_line(json, 0);
		open_node(flame, i, json);
		depth = flame->nodes[i].depth;
	}
	close_nodes(json, depth, 0);
}

void sonde_flame_write_json(const struct sonde_flame *flame, FILE *to)
{
	struct sonde_json json = sonde_json_to_file(to);
	char note[256];

	json.blanks = false;
	sonde_json_open(&json, NULL, '{');
	sonde_json_put_text(&json, "report", "flame");
	write_tree(flame, &json);
	sonde_json_open(&json, "notes", '[');
	for (size_t i = 0; sonde_flame_note(flame, i, note, sizeof(note)); i++)
		sonde_json_put_text(&json, NULL, note);
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
	(void)fputc('\n', to);
}
