/* SPDX-License-Identifier: MIT */
/*
 * annotations.c - what is said of times whatever is seen of them: when events were
 * lost, and what people noted on the page.
 */
#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "view/http/parts.h"
#include "view/tsp/outputs.h"

#define ANNOTATIONS 10000

enum kind {
	LOST,
	NOTES,
};
static const char
	*const kinds[] = { [LOST] = "Lost events", [NOTES] = "Notes" };

int sonde_view_tsp_annotation_kinds(struct sonde_view *view,
				    const struct sonde_view_tsp_query *query,
				    struct sonde_view_tsp_reply *reply,
				    struct sonde_view_error *error)
{
	(void)view;
	(void)query;
	(void)error;
	sonde_json_open(&reply->json, "model", '{');
	sonde_json_open(&reply->json, "annotationCategories", '[');
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(kinds); i++)
		sonde_json_put_text(&reply->json, NULL, kinds[i]);
	sonde_json_close(&reply->json, ']');
	sonde_json_close(&reply->json, '}');
	return 0;
}

struct annotating {
	const struct sonde_view *view;
	struct sonde_view_span span;
	struct sonde_json *json;
	size_t nr;
	bool more;
};

/* Both times are of what is annotated. */
static void annotate(struct annotating *annotating, int64_t begin, int64_t end,
		     const char *label, uint8_t state)
{
	struct sonde_json *json = annotating->json;

	if (end < annotating->span.from || begin >= annotating->span.to)
		return;
	if (annotating->nr == ANNOTATIONS) {
		annotating->more = true;
		return;
	}
	annotating->nr++;
	sonde_json_open(json, NULL, '{');
	sonde_view_tsp_put_time(annotating->view, json, "time", begin);
	sonde_json_put_signed(json, "duration", end - begin);
	sonde_json_put_signed(json, "entryId", -1);
	sonde_json_put_text(json, "type", "CHART");
	sonde_json_put_text(json, "label", label);
	sonde_view_tsp_put_style(json, state);
	sonde_json_close(json, '}');
}

static void annotate_holes(struct annotating *annotating)
{
	struct sonde_view_hole hole;
	char label[40];

	for (size_t i = 0;
	     sonde_view_index_hole(annotating->view->index, i, &hole); i++) {
		if (hole.cpu < 0)
			(void)snprintf(label, sizeof(label), "lost events");
		else
			(void)snprintf(label, sizeof(label),
				       "lost events of CPU %d", hole.cpu);
		annotate(annotating, hole.begin, hole.end, label,
			 SONDE_VIEW_LOST);
	}
}

static void annotate_note(void *ctx, const struct sonde_view_note *note)
{
	struct annotating *annotating = ctx;
	int64_t origin = annotating->view->begin_ns;
	int64_t begin;
	int64_t end;

	/* What a file says may be any time. */
	if (__builtin_sub_overflow(note->begin_ns, origin, &begin) ||
	    __builtin_sub_overflow(note->end_ns, origin, &end))
		return;
	annotate(annotating, begin, end, note->text, SONDE_VIEW_SPAN);
}

static bool is_kind_wanted(const struct sonde_view_tsp_query *query,
			   enum kind kind)
{
	for (size_t i = 0; i < query->kinds.nr; i++)
		if (!strcmp(query->kinds.words[i], kinds[kind]))
			return true;
	return !query->kinds.nr;
}

int sonde_view_tsp_annotations(struct sonde_view *view,
			       const struct sonde_view_tsp_query *query,
			       struct sonde_view_tsp_reply *reply,
			       struct sonde_view_error *error)
{
	struct sonde_json *json = &reply->json;
	struct annotating annotating = { .view = view, .json = json };
	int err = 0;

	annotating.span = sonde_view_tsp_span(view, query);
	sonde_json_open(json, "model", '{');
	sonde_json_open(json, "annotations", '{');
	if (is_kind_wanted(query, LOST)) {
		sonde_json_open(json, kinds[LOST], '[');
		annotate_holes(&annotating);
		sonde_json_close(json, ']');
	}
	if (is_kind_wanted(query, NOTES)) {
		sonde_json_open(json, kinds[NOTES], '[');
		err = sonde_view_each_note(view, annotate_note, &annotating,
					   error);
		sonde_json_close(json, ']');
	}
	sonde_json_close(json, '}');
	sonde_json_close(json, '}');
	if (annotating.more)
		(void)snprintf(reply->message, sizeof(reply->message),
			       "there are more than %d: zoom in", ANNOTATIONS);
	return err;
}
