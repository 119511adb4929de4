/* SPDX-License-Identifier: MIT */
/*
 * flame.c - a tree of what called what, from spans (flame.h).
 *
 * The time since a track's last change belongs to the innermost open node, and
 * is added before the change is made. Children are in lists, sorted once at the
 * end; then a node stands before its children, and totals are added from the
 * last node to the first.
 */
#include "view/export/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/port.h"
#include "view/export/in_order.h"

/* ---- nodes ---- */

struct place {
	struct sonde_key key;
	uint64_t node;
};

int sonde_flame_child(struct sonde_flame *flame, uint32_t parent, uint32_t name,
		      uint32_t *ret_node)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT,
					      (uint64_t)parent << 32 | name, 0);
	struct place *place = sonde_hash_get(&flame->places, &key);

	if (!place && flame->nr == SONDE_FLAME_NODES) {
		flame->homeless++;
		*ret_node = parent;
		return 0;
	}
	if (!place) {
		if (SONDE_GROW(flame->nodes, flame->nr, flame->room))
			return -ENOMEM;
		place = sonde_hash_put(&flame->places, &key);
		if (!place)
			return -ENOMEM;
		place->node = flame->nr;
		flame->nodes[flame->nr++] = (struct sonde_flame_node){
			.parent = parent,
			.name = name,
			.depth = flame->nodes[parent].depth + 1,
		};
	}
	*ret_node = (uint32_t)place->node;
	return 0;
}

/* ---- what spans.h tells ---- */

/* The node on which a track's stack stands. */
static int root_of(struct sonde_flame *flame, struct sonde_track *track,
		   uint32_t *ret_node)
{
	static const char *const kinds[] = {
		[SONDE_TRACK_THREAD] = "thread",
		[SONDE_TRACK_CPU] = "CPU",
		[SONDE_TRACK_STREAM] = "stream",
	};
	char text[64];
	uint32_t node;
	int length;

	if (flame->per_track && track->user == 0) {
		length = snprintf(text, sizeof(text), "%s %" PRId32,
				  kinds[track->kind], track->id);
		if (sonde_flame_child(
			    flame, 0,
			    sonde_export_names_get(&flame->spans.names, text,
						   (size_t)length),
			    &node) != 0)
			return -ENOMEM;
		track->user = node;
	}
	*ret_node = (uint32_t)track->user;
	return 0;
}

/* The time since the last change is that of the span `i`. */
static void spend(struct sonde_flame *flame, const struct sonde_track *track,
		  uint32_t i, int64_t now_ns)
{
	if (!flame->count && now_ns > track->changed_ns)
		flame->nodes[track->spans[i].user].self +=
			(uint64_t)now_ns - (uint64_t)track->changed_ns;
}

static int flame_open_span(void *ctx, struct sonde_track *track,
			   const struct sonde_event *event)
{
	struct sonde_flame *flame = ctx;
	struct sonde_track_span *span = &track->spans[track->depth - 1];
	uint32_t parent;
	int err = 0;

	(void)event;
	if (track->depth > 1) {
		parent = span[-1].user;
		spend(flame, track, track->depth - 2, span->begin_ns);
	} else {
		err = root_of(flame, track, &parent);
	}
	if (err == 0)
		err = sonde_flame_child(flame, parent, span->name, &span->user);
	if (err != 0)
		return err;
	flame->nodes[span->user].count++;
	if (flame->count)
		flame->nodes[span->user].self++;
	return 0;
}

static int flame_close_span(void *ctx, struct sonde_track *track,
			    int64_t time_ns, const struct sonde_event *event)
{
	(void)event;
	spend(ctx, track, track->depth - 1, time_ns);
	return 0;
}

static const struct sonde_spans_ops flame_ops = { .open = flame_open_span,
						  .close = flame_close_span };

/* ---- the whole ---- */

int sonde_flame_init(struct sonde_flame *flame,
		     const struct sonde_flame_config *config)
{
	int err;

	*flame = (struct sonde_flame){ .count = config->count,
				       .per_track = config->per_track,
				       .unit = config->count ?
						       SONDE_CELL_COUNT :
						       SONDE_CELL_DURATION };
	sonde_hash_init(&flame->places, sizeof(struct place),
			SONDE_FLAME_NODES);
	err = sonde_spans_init(&flame->spans, &config->pairs, &flame_ops,
			       flame);
	if (err == 0)
		err = SONDE_GROW(flame->nodes, 0, flame->room);
	if (err != 0)
		return err;
	flame->nodes[0] = (struct sonde_flame_node){
		.name = sonde_export_names_get(&flame->spans.names, "all", 3),
	};
	flame->nr = 1;
	return 0;
}

void sonde_flame_fini(struct sonde_flame *flame)
{
	free(flame->nodes);
	sonde_hash_fini(&flame->places);
	sonde_spans_fini(&flame->spans);
}

const char *sonde_flame_name(const struct sonde_flame *flame, uint32_t node)
{
	return flame->spans.names.texts[flame->nodes[node].name];
}

static int compare_nodes(const void *a, const void *b, void *ctx)
{
	const struct sonde_flame *flame = ctx;

	return strcmp(sonde_flame_name(flame, *(const uint32_t *)a),
		      sonde_flame_name(flame, *(const uint32_t *)b));
}

/* Links children to their parents, by name. */
static int flame_sort_children(struct sonde_flame *flame)
{
	uint32_t *order = malloc(flame->nr * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->nr; i++)
		order[i] = i;
	qsort_r(order + 1, flame->nr - 1, sizeof(*order), compare_nodes, flame);
	/* The last by name is put in front first. */
	for (uint32_t k = flame->nr; k-- > 1;) {
		struct sonde_flame_node *node = &flame->nodes[order[k]];
		struct sonde_flame_node *parent = &flame->nodes[node->parent];

		node->next_sibling = parent->first_child;
		parent->first_child = order[k];
	}
	free(order);
	return 0;
}

int sonde_flame_finish(struct sonde_flame *flame)
{
	int err = sonde_spans_finish(&flame->spans);

	if (err != 0)
		return err;
	/* Parents stand before their children. */
	for (uint32_t i = flame->nr; i-- > 0;) {
		struct sonde_flame_node *node = &flame->nodes[i];

		node->total += node->self;
		if (i > 0)
			flame->nodes[node->parent].total += node->total;
	}
	return flame_sort_children(flame);
}

static int feed(void *ctx, const struct sonde_event *event,
		const struct sonde_spans_who *who)
{
	struct sonde_flame *flame = ctx;

	return sonde_spans_event(&flame->spans, event, who);
}

int sonde_flame_make(struct sonde_flame *flame,
		     const struct sonde_flame_config *config,
		     const struct sonde_map_options *options)
{
	struct sonde_trace *trace = config->pairs.trace;
	int err = sonde_flame_init(flame, config);

	if (err == 0 && !flame->spans.pairs.any)
		err = -ENODATA;
	if (err == 0)
		err = sonde_export_in_order(trace, options, feed, flame);
	if (err == 0)
		err = sonde_flame_finish(flame);
	return err;
}

uint32_t sonde_flame_next(const struct sonde_flame *flame, uint32_t node)
{
	const struct sonde_flame_node *nodes = flame->nodes;

	if (nodes[node].first_child != 0)
		return nodes[node].first_child;
	while (node != 0 && nodes[node].next_sibling == 0)
		node = nodes[node].parent;
	return nodes[node].next_sibling;
}

bool sonde_flame_note(const struct sonde_flame *flame, size_t i, char *to,
		      size_t size)
{
	const struct {
		uint64_t nr;
		const char *what;
	} own[] = {
		{ flame->homeless, "begins found the tree full and count for "
				   "their callers" },
		{ flame->stackless, "events have no call stack" },
		{ flame->valueless, "events have no value of --weight, or one "
				    "below 0" },
	};

	for (size_t k = 0; k < SONDE_ARRAY_SIZE(own); k++) {
		if (!own[k].nr)
			continue;
		if (i-- > 0)
			continue;
		(void)snprintf(to, size, "%" PRIu64 " %s", own[k].nr,
			       own[k].what);
		return true;
	}
	return sonde_spans_note(&flame->spans, i, to, size);
}
