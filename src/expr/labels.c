/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "expr/labels.h"

#include <stdio.h>
#include <string.h>

#include "types/type.h"

void sonde_expr_labels_begin(struct sonde_expr_labels *labels,
			     const struct sonde_expr_text *text)
{
	char word[SONDE_NEAREST_MAX] = "";

	if (text->length < sizeof(word))
		memcpy(word, text->text, text->length);
	labels->text = *text;
	labels->fits = text->is_glob; /* a label can't be: it is refused */
	labels->lacks = false;
	sonde_nearest_begin(&labels->nearest, word);
}

void sonde_expr_labels_try(struct sonde_expr_labels *labels,
			   const struct sonde_expr_scope *scope)
{
	const struct sonde_expr_text *text = &labels->text;
	struct sonde_expr_source source = { 0 };
	const struct sonde_label *label;

	if (labels->fits ||
	    scope->find(scope->ctx, text->name, strlen(text->name), &source))
		return;
	if (source.type == SONDE_EXPR_STRING)
		labels->fits = true;
	if (!source.labels)
		return;
	if (sonde_label_find(source.labels, source.nr_labels, text->text,
			     text->length, 0, &label)) {
		labels->fits = true;
		return;
	}
	labels->lacks = true;
	for (size_t i = 0; i < source.nr_labels; i++)
		sonde_nearest_try(&labels->nearest, source.labels[i].name);
}

bool sonde_expr_labels_odd(struct sonde_expr_labels *labels)
{
	const struct sonde_expr_text *text = &labels->text;
	int length = text->length < 60 ? (int)text->length : 60;

	if (labels->fits || !labels->lacks)
		return false;
	(void)snprintf(labels->words, sizeof(labels->words),
		       "'%.60s' has no label '%.*s'%s", text->name, length,
		       text->text, sonde_nearest_hint(&labels->nearest));
	return true;
}
