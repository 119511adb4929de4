/* SPDX-License-Identifier: MIT */
/*
 * flame_svg.c - a flame tree as one SVG file.
 *
 * It needs no other file, no network and no script: every frame is drawn with
 * as much of its name as fits, and has a title with its numbers, which viewers
 * show under the pointer. The script only adds zoom and search. Callers are
 * below what they call; siblings are in alphabetical order, not that of time.
 *
 * A frame's place is in weights from the left edge; pixels are weights scaled
 * to WIDTH. Frames narrower than MIN_PIXELS are left out and counted.
 */
#include "view/export/flame.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "view/text/show.h"

#define WIDTH      1200
#define MARGIN     10
#define ROW        17
#define TOP        58
#define NOTE_ROW   14
#define LETTER     6.7 /* pixels of a letter */
#define MIN_PIXELS 0.2
#define NAME_ROOM  (4 * SONDE_NAME_MAX + 8)

static const char style[] =
	"<style>\n"
	"text { font: 11px monospace; fill: #111; }\n"
	"text.title { font: bold 15px sans-serif; }\n"
	"text.button { cursor: pointer; fill: #06c; font-family: sans-serif; }\n"
	"g.f rect { stroke: #fff; stroke-width: 0.5; }\n"
	"g.f text { pointer-events: none; }\n"
	"g.f:hover rect { stroke: #000; stroke-width: 1; cursor: pointer; }\n"
	"g.dim { opacity: 0.5; }\n"
	"g.hit rect { fill: #d400ff; }\n"
	"</style>\n";

/*
 * x and w of a frame are its place as drawn, nx and nw as zoomed. Of two frames
 * one is around the other if it is lower and its span of x holds the other's.
 */
static const char script[] =
	"<script><![CDATA[\n"
	"(function () {\n"
	"'use strict';\n"
	"var svg = document.documentElement, W = +svg.dataset.width;\n"
	"var M = +svg.dataset.margin, LETTER = 6.7, EPS = 0.05, found = '';\n"
	"var say = document.getElementById('say');\n"
	"var frames = Array.from(svg.querySelectorAll('g.f'), function (g) {\n"
	"  var rect = g.querySelector('rect'), text = g.querySelector('text');\n"
	"  var title = g.querySelector('title').textContent;\n"
	"  var f = { g: g, rect: rect, text: text, title: title,\n"
	"    name: g.dataset.name, x: rect.x.baseVal.value - M,\n"
	"    w: rect.width.baseVal.value, y: rect.y.baseVal.value };\n"
	"  g.addEventListener('click', function () { zoom(f); });\n"
	"  g.addEventListener('mouseover', function () {\n"
	"    say.textContent = title; });\n"
	"  return f;\n"
	"});\n"
	"function place(f, x, w) {\n"
	"  var n = Math.floor((w - 4) / LETTER), letters = Array.from(f.name);\n"
	"  f.g.style.display = '';\n"
	"  f.rect.setAttribute('x', M + x);\n"
	"  f.rect.setAttribute('width', w);\n"
	"  f.text.setAttribute('x', M + x + 3);\n"
	"  f.text.textContent = n < 3 ? '' : n >= letters.length ? f.name :\n"
	"    letters.slice(0, n - 2).join('') + '..';\n"
	"}\n"
	"function zoom(to) {\n"
	"  var scale = W / to.w;\n"
	"  frames.forEach(function (f) {\n"
	"    var around = f.y > to.y && f.x <= to.x + EPS &&\n"
	"      f.x + f.w >= to.x + to.w - EPS;\n"
	"    var inside = f.y <= to.y && f.x >= to.x - EPS &&\n"
	"      f.x + f.w <= to.x + to.w + EPS;\n"
	"    f.g.classList.toggle('dim', around);\n"
	"    if (around) place(f, 0, W);\n"
	"    else if (inside) place(f, (f.x - to.x) * scale, f.w * scale);\n"
	"    else f.g.style.display = 'none';\n"
	"  });\n"
	"}\n"
	"function search(words) {\n"
	"  var end = 0, sum = 0, hits = 0;\n"
	"  var order = frames.slice().sort(function (a, b) {\n"
	"    return a.x - b.x || b.w - a.w; });\n"
	"  found = words;\n"
	"  order.forEach(function (f) {\n"
	"    var hit = words !== '' && f.name.indexOf(words) >= 0;\n"
	"    f.g.classList.toggle('hit', hit);\n"
	"    if (!hit) return;\n"
	"    hits++;\n"
	"    if (f.x + f.w <= end + EPS) return;\n"
	"    sum += f.x + f.w - Math.max(end, f.x);\n"
	"    end = f.x + f.w;\n"
	"  });\n"
	"  say.textContent = words === '' ? '' : \"'\" + words + \"': \" + hits +\n"
	"    ' frames, ' + (100 * sum / W).toFixed(1) + ' % of all';\n"
	"}\n"
	"function ask() {\n"
	"  var words = window.prompt('Part of a name (empty: none)', found);\n"
	"  if (words !== null) search(words);\n"
	"}\n"
	"function button(id, f) {\n"
	"  var text = document.getElementById(id);\n"
	"  text.style.display = '';\n"
	"  text.addEventListener('click', f);\n"
	"}\n"
	"button('search', ask);\n"
	"button('reset', function () { search(''); zoom(frames[0]); });\n"
	"window.addEventListener('keydown', function (e) {\n"
	"  if (e.key === '/') { e.preventDefault(); ask(); }\n"
	"  if (e.key === 'Escape') { search(''); zoom(frames[0]); }\n"
	"});\n"
	"})();\n"
	"]]></script>\n";

/* As text or attribute of XML, after control characters were escaped. */
static void put_xml(FILE *to, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			(void)fputs("&amp;", to);
			break;
		case '<':
			(void)fputs("&lt;", to);
			break;
		case '>':
			(void)fputs("&gt;", to);
			break;
		case '"':
			(void)fputs("&quot;", to);
			break;
		default:
			(void)fputc(*text, to);
		}
	}
}

/* As many characters as fit; cut names end with two dots. */
static void svg_put_label(FILE *to, char *name, double pixels)
{
	size_t room = pixels > 4 ? (size_t)((pixels - 4) / LETTER) : 0;
	size_t length = strlen(name);
	size_t at = 0;
	size_t cut = 0;
	size_t nr = 0;

	if (room < 3)
		return;
	for (; at < length && nr <= room; nr++) {
		size_t n = sonde_utf8_char(name + at, length - at);

		if (nr == room - 2)
			cut = at;
		at += n ? n : 1;
	}
	if (nr > room)
		(void)snprintf(name + cut, NAME_ROOM - cut, "..");
	put_xml(to, name);
}

static void put_weight(const struct sonde_flame *flame, uint64_t weight,
		       FILE *to)
{
	struct sonde_cell_value value = { .set = true, .u = weight };
	char text[64];

	if (flame->unit != SONDE_CELL_COUNT)
		value.i = (int64_t)weight;
	(void)sonde_show_cell(flame->unit, &value, text, sizeof(text));
	put_xml(to, text);
}

static void put_title(const struct sonde_flame *flame, uint32_t i,
		      const char *name, FILE *to)
{
	const struct sonde_flame_node *node = &flame->nodes[i];
	double percent =
		100.0 * (double)node->total / (double)flame->nodes[0].total;

	(void)fputs("<title>", to);
	put_xml(to, name);
	(void)fputs(": ", to);
	put_weight(flame, node->total, to);
	(void)fprintf(to, ", %.2f %%", percent);
	if (!flame->count) {
		(void)fputs(", self ", to);
		put_weight(flame, node->self, to);
	}
	if (node->count > 0)
		(void)fprintf(to, ", %" PRIu64 " times", node->count);
	(void)fputs("</title>", to);
}

/* Warm, and the same for the same name. */
static unsigned int colour_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 ^ (unsigned char)*name;
	hash *= 0x9e3779b1u;
	return (205 + (hash >> 8) % 50) << 16 | (90 + (hash >> 16) % 130) << 8 |
	       (40 + (hash >> 24) % 50);
}

static void put_frame(const struct sonde_flame *flame, uint32_t i, uint64_t at,
		      uint32_t rows, FILE *to)
{
	double scale = WIDTH / (double)flame->nodes[0].total;
	const struct sonde_flame_node *node = &flame->nodes[i];
	const char *raw = sonde_flame_name(flame, i);
	double x = MARGIN + (double)at * scale;
	double width = (double)node->total * scale;
	uint32_t y = TOP + (rows - 1 - node->depth) * ROW;
	char name[NAME_ROOM];

	(void)sonde_show_safe(name, sizeof(name), raw, strlen(raw));
	(void)fputs("<g class=\"f\" data-name=\"", to);
	put_xml(to, name);
	(void)fputs("\">", to);
	put_title(flame, i, name, to);
	(void)fprintf(to,
		      "<rect x=\"%.2f\" y=\"%" PRIu32 "\" width=\"%.2f\" "
		      "height=\"%d\" fill=\"#%06x\"/>"
		      "<text x=\"%.2f\" y=\"%" PRIu32 "\">",
		      x, y, width, ROW - 1, colour_of(raw), x + 3, y + 12);
	svg_put_label(to, name, width);
	(void)fputs("</text></g>\n", to);
}

static bool is_drawn(const struct sonde_flame *flame, uint32_t i)
{
	return (double)flame->nodes[i].total * WIDTH >=
	       MIN_PIXELS * (double)flame->nodes[0].total;
}

/* How many rows are drawn, and how many frames are not. */
static uint32_t measure(const struct sonde_flame *flame, uint64_t *ret_hidden)
{
	uint32_t rows = 1;
	uint64_t hidden = 0;

	for (uint32_t i = 1; i < flame->nr; i++) {
		if (!is_drawn(flame, i))
			hidden++;
		else if (flame->nodes[i].depth >= rows)
			rows = flame->nodes[i].depth + 1;
	}
	*ret_hidden = hidden;
	return rows;
}

static void svg_put_frames(const struct sonde_flame *flame, uint32_t rows,
			   FILE *to)
{
	/* Where the next node of each depth begins. */
	uint64_t next[SONDE_SPANS_DEPTH + 3] = { 0 };
	uint32_t i = 0;

	do {
		const struct sonde_flame_node *node = &flame->nodes[i];

		if (is_drawn(flame, i))
			put_frame(flame, i, next[node->depth], rows, to);
		next[node->depth + 1] = next[node->depth];
		next[node->depth] += node->total;
		i = sonde_flame_next(flame, i);
	} while (i != 0);
}

static void put_notes(const struct sonde_flame *flame, uint64_t hidden,
		      uint32_t y, FILE *to)
{
	char note[256];

	for (size_t i = 0; sonde_flame_note(flame, i, note, sizeof(note));
	     i++) {
		y += NOTE_ROW;
		(void)fprintf(to, "<text x=\"%d\" y=\"%" PRIu32 "\">", MARGIN,
			      y);
		put_xml(to, note);
		(void)fputs("</text>\n", to);
	}
	if (hidden > 0) {
		y += NOTE_ROW;
		(void)fprintf(to,
			      "<text x=\"%d\" y=\"%" PRIu32 "\">%" PRIu64
			      " frames are too narrow to be drawn</text>\n",
			      MARGIN, y, hidden);
	}
}

static uint32_t nr_notes(const struct sonde_flame *flame, uint64_t hidden)
{
	char note[256];
	uint32_t nr = hidden > 0;

	for (size_t i = 0; sonde_flame_note(flame, i, note, sizeof(note)); i++)
		nr++;
	return nr;
}

static void svg_put_head(const char *title, uint32_t height, FILE *to)
{
	(void)fprintf(to,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		      "viewBox=\"0 0 %d %" PRIu32 "\" width=\"%d\" "
		      "height=\"%" PRIu32 "\" data-width=\"%d\" "
		      "data-margin=\"%d\">\n",
		      WIDTH + 2 * MARGIN, height, WIDTH + 2 * MARGIN, height,
		      WIDTH, MARGIN);
	(void)fputs(style, to);
	(void)fputs("<rect width=\"100%\" height=\"100%\" fill=\"#f8f8f4\"/>\n",
		    to);
	(void)fprintf(to, "<text class=\"title\" x=\"%d\" y=\"24\">", MARGIN);
	put_xml(to, title);
	(void)fprintf(to,
		      "</text>\n<text id=\"say\" x=\"%d\" y=\"46\"> </text>\n"
		      "<text id=\"search\" class=\"button\" x=\"%d\" y=\"24\" "
		      "style=\"display:none\">Search (/)</text>\n"
		      "<text id=\"reset\" class=\"button\" x=\"%d\" y=\"24\" "
		      "style=\"display:none\">Reset (Esc)</text>\n",
		      MARGIN, WIDTH - 130, WIDTH - 60);
}

void sonde_flame_write_svg(const struct sonde_flame *flame, const char *title,
			   FILE *to)
{
	char safe[NAME_ROOM];
	uint64_t hidden = 0;
	uint32_t rows = 0;
	uint32_t y;

	if (flame->nodes[0].total > 0)
		rows = measure(flame, &hidden);
	y = TOP + rows * ROW;
	(void)sonde_show_safe(safe, sizeof(safe), title, strlen(title));
	svg_put_head(safe,
		     y + (nr_notes(flame, hidden) + 1) * NOTE_ROW + MARGIN, to);
	if (rows > 0)
		svg_put_frames(flame, rows, to);
	put_notes(flame, hidden, y + 4, to);
	if (rows > 0)
		(void)fputs(script, to);
	(void)fputs("</svg>\n", to);
}
