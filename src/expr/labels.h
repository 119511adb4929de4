/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * labels.h - a label that no enumeration has is a slip of the pen: what it is
 * compared with would silently differ from it, always.
 *
 * Whether it is one can't be told of one kind of record, for another kind may
 * have the label. So of each comparison in an expression, all kinds are asked:
 *
 *	struct sonde_expr_labels labels;
 *	size_t at = 0;
 *
 *	while (sonde_expr_next_text(expr, &at, &text)) {
 *		sonde_expr_labels_begin(&labels, &text);
 *		for (each kind of record)
 *			sonde_expr_labels_try(&labels, its scope);
 *		if (sonde_expr_labels_odd(&labels))
 *			complain(labels.words);
 *	}
 *
 * A kind where the field is a string has no say about labels, but the
 * comparison makes sense there. Hosted; no memory is taken.
 */
#ifndef EXPR_LABELS_H
#define EXPR_LABELS_H

#include "base/nearest.h"
#include "expr/expr.h"

struct sonde_expr_labels {
	struct sonde_expr_text text; /* its pointers are borrowed */
	bool fits;                   /* somewhere it can be equal */
	bool lacks;                  /* an enumeration hasn't this label */
	struct sonde_nearest nearest;
	char words[256];
};

void sonde_expr_labels_begin(struct sonde_expr_labels *labels,
			     const struct sonde_expr_text *text);
void sonde_expr_labels_try(struct sonde_expr_labels *labels,
			   const struct sonde_expr_scope *scope);
/* Whether it is a slip; then `words` say so, without the column. */
bool sonde_expr_labels_odd(struct sonde_expr_labels *labels);

#endif /* EXPR_LABELS_H */
