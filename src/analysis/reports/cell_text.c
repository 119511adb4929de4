/* SPDX-License-Identifier: MIT */
/*
 * cell_text.c - values in sentences, in a ring of texts.
 *
 * A text is good until SONDE_CELL_TEXTS more have been made.
 */
#include "analysis/reports/cell_text.h"

#include <stdio.h>
#include <string.h>

static char *show(struct sonde_cell_text *words, enum sonde_cell cell,
		  const struct sonde_cell_value *value)
{
	char *to = words->text[words->next++ % SONDE_CELL_TEXTS];

	(void)words->args->show(cell, value, to, sizeof(words->text[0]));
	return to;
}

const char *sonde_cell_text_int(struct sonde_cell_text *words,
				enum sonde_cell cell, int64_t value)
{
	const struct sonde_cell_value cell_value = { .set = true, .i = value };

	return show(words, cell, &cell_value);
}

const char *sonde_cell_text_double(struct sonde_cell_text *words,
				   enum sonde_cell cell, double value)
{
	const struct sonde_cell_value cell_value = { .set = true, .d = value };

	return show(words, cell, &cell_value);
}

const char *sonde_cell_text_count(struct sonde_cell_text *words, uint64_t count,
				  const char *noun)
{
	const struct sonde_cell_value value = { .set = true, .u = count };
	char *text = show(words, SONDE_CELL_COUNT, &value);
	size_t length = strlen(text);

	(void)snprintf(text + length, sizeof(words->text[0]) - length, " %s%s",
		       noun, count == 1 ? "" : "s");
	return text;
}
