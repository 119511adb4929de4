/* SPDX-License-Identifier: MIT */
/*
 * tree.c - spans as indented lines (tree.h).
 *
 * A ring of lines, in the order of time. A begin's line is *open* until a line
 * of something in it is shown (then it is a *begin*, and an *end* will come) or
 * it ends (then it is *whole*, or *dropped* if it was short). Lines leave the
 * ring at its tail as soon as they are not open.
 *
 * Invariants: 1. `tail` <= number of any line in the ring < `head`, and there
 * are no more than SONDE_TREE_WAITING. 2. If a line is a begin, so are those of
 * all spans that it is in, as far as they are in the ring or have left it.
 *
 * Cost: constant for each event, and what its lines take.
 */
#include "view/export/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "reader/reader.h"
#include "view/export/in_order.h"
#include "view/export/pairs_given.h"
#include "view/text/show.h"

#define INDENT   2
#define STOPPED  1  /* --limit */
#define IN_WIDTH 12 /* of a duration */

enum tree_state {
	TREE_OPEN,
	TREE_BEGIN,
	TREE_WHOLE,
	TREE_END,
	TREE_DROPPED,
};

struct tree_line {
	enum tree_state state;
	enum sonde_track_kind kind;
	int32_t id;
	uint32_t depth, name;
	int64_t ns;           /* its duration; -1: it has none */
	char *given, *result; /* as far as that is known; the line's own */
};

struct tree {
	const struct sonde_spans_tree_config *config;
	struct sonde_spans spans;
	struct tree_line *lines; /* [SONDE_TREE_WAITING] */
	uint32_t tail, head;     /* numbers; they wrap */
	uint64_t nr_shown;
	uint64_t others;
	struct sonde_pair_given given;
};

static struct tree_line *tree_line_at(const struct tree *tree, uint32_t number)
{
	return &tree->lines[number % SONDE_TREE_WAITING];
}

/* ---- a line's text ---- */

static const char *const kind_words[] = {
	[SONDE_TRACK_THREAD] = "",
	[SONDE_TRACK_CPU] = "cpu ",
	[SONDE_TRACK_STREAM] = "stream ",
};

/* A function's name as one calls it, anything else as it is. */
static void show_call(const struct tree *tree, const struct tree_line *line,
		      char *to, size_t size)
{
	const char *text = tree->spans.names.texts[line->name];

	(void)sonde_show_safe(to, size - 2, text, strlen(text));
	if (!line->given && !strpbrk(text, "( "))
		(void)strcat(to, "()");
}

/* What it was given, and what it returned. */
static void tree_put_given(const struct tree *tree,
			   const struct tree_line *line)
{
	FILE *to = tree->config->to;

	if (line->given)
		(void)fprintf(to, "(%s)", line->given);
	if (line->result)
		(void)fprintf(to, " = %s", line->result);
}

static void tree_show_duration(int64_t ns, char *to, size_t size)
{
	const struct sonde_cell_value value = { .set = true, .i = ns };

	to[0] = 0;
	if (ns >= 0)
		(void)sonde_show_cell(SONDE_CELL_DURATION, &value, to, size);
}

static void tree_write_line(struct tree *tree, const struct tree_line *line)
{
	static const char *const tails[] = {
		[TREE_BEGIN] = " {",
		[TREE_WHOLE] = ";",
		[TREE_END] = "",
	};
	bool is_end = line->state == TREE_END;
	char call[SONDE_NAME_MAX * 4];
	char duration[32];
	char track[32];

	show_call(tree, line, call, sizeof(call));
	tree_show_duration(line->ns, duration, sizeof(duration));
	(void)snprintf(track, sizeof(track), "%s%" PRId32,
		       kind_words[line->kind], line->id);
	(void)fprintf(tree->config->to, "%*s  %9s  %*s%s%s", IN_WIDTH, duration,
		      track, (int)(INDENT * line->depth), "",
		      is_end ? "} " : "", call);
	tree_put_given(tree, line);
	(void)fprintf(tree->config->to, "%s%s\n", tails[line->state],
		      line->state != TREE_BEGIN && line->ns < 0 ? "  (no end)" :
								  "");
}

/* ---- the ring ---- */

static void tree_line_free(struct tree_line *line)
{
	free(line->given);
	free(line->result);
	line->given = line->result = NULL;
}

/* What is decided at the tail is written. */
static int tree_flush_lines(struct tree *tree)
{
	const struct sonde_spans_tree_config *config = tree->config;

	while (tree->tail != tree->head) {
		struct tree_line *line = tree_line_at(tree, tree->tail);

		if (line->state == TREE_OPEN)
			break;
		if (line->state != TREE_DROPPED && config->limit &&
		    tree->nr_shown == config->limit)
			return STOPPED;
		tree->tail++;
		if (line->state != TREE_DROPPED) {
			tree->nr_shown++;
			tree_write_line(tree, line);
		}
		tree_line_free(line);
	}
	return ferror(config->to) ? -EIO : 0;
}

static int tree_add_line(struct tree *tree, const struct tree_line *line,
			 uint32_t *ret_number)
{
	int err = 0;

	if (tree->head - tree->tail == SONDE_TREE_WAITING) {
		tree_line_at(tree, tree->tail)->state = TREE_BEGIN;
		err = tree_flush_lines(tree);
	}
	if (err) {
		free(line->given);
		free(line->result);
		return err;
	}
	*ret_number = tree->head;
	*tree_line_at(tree, tree->head++) = *line;
	return tree_flush_lines(tree);
}

/* The span's own line, if it is open yet; NULL: it is a begin. */
static struct tree_line *tree_open_line(const struct tree *tree,
					const struct sonde_track_span *span)
{
	struct tree_line *line;

	if (span->user - tree->tail >= tree->head - tree->tail)
		return NULL;
	line = tree_line_at(tree, span->user);
	return line->state == TREE_OPEN ? line : NULL;
}

/* Something in the spans below `depth` is shown. */
static void tree_show_outer(const struct tree *tree,
			    const struct sonde_track *track, uint32_t depth)
{
	while (depth-- > 0) {
		struct tree_line *line =
			tree_open_line(tree, &track->spans[depth]);

		if (!line)
			break;
		line->state = TREE_BEGIN;
	}
}

/* ---- what spans.h tells ---- */

static bool is_too_deep(const struct tree *tree, uint32_t depth)
{
	return tree->config->depth && depth >= tree->config->depth;
}

static int tree_open_span(void *ctx, struct sonde_track *track,
			  const struct sonde_event *event)
{
	struct tree *tree = ctx;
	uint32_t depth = track->depth - 1;
	struct sonde_track_span *span = &track->spans[depth];
	struct tree_line line = {
		.state = TREE_OPEN,
		.kind = track->kind,
		.id = track->id,
		.depth = depth,
		.name = span->name,
		.ns = -1,
	};

	span->text = NULL;
	if (is_too_deep(tree, depth))
		return 0;
	line.given = sonde_pair_given_text(&tree->given, event);
	if (!tree->config->json)
		return tree_add_line(tree, &line, &span->user);
	span->text = line.given;
	return 0;
}

static int tree_put_json(const struct tree *tree,
			 const struct sonde_track *track, int64_t ns,
			 const char *result)
{
	static const char *const keys[] = {
		[SONDE_TRACK_THREAD] = "tid",
		[SONDE_TRACK_CPU] = "cpu",
		[SONDE_TRACK_STREAM] = "stream",
	};
	const struct sonde_track_span *span = &track->spans[track->depth - 1];
	struct sonde_json json = sonde_json_to_file(tree->config->to);

	sonde_json_open(&json, NULL, '{');
	sonde_json_put_signed(&json, keys[track->kind], track->id);
	sonde_json_put_unsigned(&json, "depth", track->depth - 1);
	sonde_json_put_text(&json, "name", tree->spans.names.texts[span->name]);
	sonde_json_put_signed(&json, "begin_ns", span->begin_ns);
	if (ns >= 0)
		sonde_json_put_signed(&json, "duration_ns", ns);
	else
		sonde_json_put_raw(&json, "duration_ns", "null");
	if (span->text)
		sonde_json_put_raw(&json, "args", span->text);
	if (result)
		sonde_json_put_raw(&json, "result", result);
	sonde_json_close(&json, '}');
	(void)fputc('\n', tree->config->to);
	return ferror(tree->config->to) ? -EIO : 0;
}

/* A span that is shown has ended. */
static int tree_end_span(struct tree *tree, const struct sonde_track *track,
			 int64_t ns, char *result)
{
	uint32_t depth = track->depth - 1;
	const struct sonde_track_span *span = &track->spans[depth];
	struct tree_line *line = tree_open_line(tree, span);
	struct tree_line end = {
		.state = TREE_END,
		.kind = track->kind,
		.id = track->id,
		.depth = depth,
		.name = span->name,
		.ns = ns,
		.result = result,
	};
	uint32_t number;

	if (!line)
		return tree_add_line(tree, &end, &number);
	line->state = TREE_WHOLE;
	line->ns = ns;
	line->result = result;
	tree_show_outer(tree, track, depth);
	return tree_flush_lines(tree);
}

static int tree_close_json(struct tree *tree, const struct sonde_track *track,
			   int64_t ns, const struct sonde_event *event)
{
	const struct sonde_spans_tree_config *config = tree->config;
	char *result =
		event ? sonde_pair_given_text(&tree->given, event) : NULL;
	int err = STOPPED;

	if (!config->limit || tree->nr_shown < config->limit) {
		tree->nr_shown++;
		err = tree_put_json(tree, track, event ? ns : -1, result);
	}
	free(result);
	return err;
}

/* What is short is dropped, and so was all in it; but for what had to get its
 * line before. */
static int tree_close_span(void *ctx, struct sonde_track *track,
			   int64_t time_ns, const struct sonde_event *event)
{
	struct tree *tree = ctx;
	struct sonde_track_span *span = &track->spans[track->depth - 1];
	int64_t lasted = time_ns > span->begin_ns ?
				 sonde_elapsed_ns(span->begin_ns, time_ns) :
				 0;
	bool is_short = lasted < tree->config->min_ns;
	struct tree_line *line;
	int err = 0;

	if (is_too_deep(tree, track->depth - 1))
		return 0;
	if (tree->config->json) {
		if (!is_short)
			err = tree_close_json(tree, track, lasted, event);
		free(span->text);
		span->text = NULL;
		return err;
	}
	line = tree_open_line(tree, span);
	if (!is_short || !line)
		return tree_end_span(tree, track, event ? lasted : -1,
				     event ? sonde_pair_given_text(&tree->given,
								   event) :
					     NULL);
	line->state = TREE_DROPPED;
	return tree_flush_lines(tree);
}

static int tree_other(void *ctx, struct sonde_track *track,
		      const struct sonde_event *event)
{
	struct tree *tree = ctx;

	(void)track;
	(void)event;
	tree->others++;
	return 0;
}

static const struct sonde_spans_ops tree_ops = { .open = tree_open_span,
						 .close = tree_close_span,
						 .other = tree_other };

/* ---- the whole ---- */

static int tree_feed(void *ctx, const struct sonde_event *event,
		     const struct sonde_spans_who *who)
{
	struct tree *tree = ctx;

	return sonde_spans_event(&tree->spans, event, who);
}

static void tree_tell(const struct tree *tree,
		      struct sonde_spans_tree_counts *ret)
{
	size_t used = 0;
	char note[256];

	ret->others = tree->others;
	ret->note[0] = 0;
	for (size_t i = 0;
	     sonde_spans_note(&tree->spans, i, note, sizeof(note)); i++)
		used += (size_t)snprintf(ret->note + used,
					 sizeof(ret->note) - used, "%s%s",
					 used ? "; " : "", note);
}

static int tree_run(struct tree *tree, const struct sonde_map_options *options)
{
	const struct sonde_spans_tree_config *config = tree->config;
	int err;

	if (!tree->spans.pairs.any)
		return -ENODATA;
	if (!config->json)
		(void)fprintf(config->to, "%*s  %9s  CALL\n", IN_WIDTH,
			      "DURATION", "THREAD");
	err = sonde_export_in_order(config->pairs.trace, options, tree_feed,
				    tree);
	if (!err)
		err = sonde_spans_finish(&tree->spans);
	return err == STOPPED ? 0 : err;
}

static void tree_free(struct tree *tree)
{
	struct sonde_track *track = NULL;

	while (tree->lines && tree->tail != tree->head)
		tree_line_free(tree_line_at(tree, tree->tail++));
	while ((track = sonde_hash_next(&tree->spans.tracks, track)))
		for (uint32_t i = 0; i < track->depth; i++)
			free(track->spans[i].text);
	sonde_pair_given_fini(&tree->given);
	sonde_spans_fini(&tree->spans);
	free(tree->lines);
	free(tree);
}

int sonde_spans_tree(const struct sonde_spans_tree_config *config,
		     const struct sonde_map_options *options,
		     struct sonde_spans_tree_counts *ret_counts)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	int err;

	if (!tree)
		return -ENOMEM;
	tree->config = config;
	tree->lines = calloc(SONDE_TREE_WAITING, sizeof(*tree->lines));
	err = sonde_spans_init(&tree->spans, &config->pairs, &tree_ops, tree);
	if (!err)
		err = sonde_pair_given_init(&tree->given, config->pairs.trace,
					    config->json);
	if (!tree->lines)
		err = -ENOMEM;
	if (!err)
		err = tree_run(tree, options);
	if (!err)
		tree_tell(tree, ret_counts);
	tree_free(tree);
	return err;
}
