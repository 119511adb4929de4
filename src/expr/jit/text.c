/* SPDX-License-Identifier: MIT */
/*
 * text.c - constants that texts are compared with, as bytes (graph.h).
 *
 * A text is compared from its first byte on, as many bytes at a time as can be
 * read at once, the NUL behind it included: the first difference decides. So no
 * byte behind a text's NUL matters, but up to 7 of them are read.
 */
#include <errno.h>
#include <string.h>

#include "expr/jit/graph.h"

uint32_t sonde_graph_chunk(const struct sonde_graph_config *config,
			   unsigned int base, uint32_t at, uint32_t left)
{
	int32_t place = config->bases[base].offset + (int32_t)at;
	uint32_t bytes = 8;

	while (bytes > left ||
	       (config->bases[base].aligned && place % (int32_t)bytes))
		bytes /= 2;
	return bytes;
}

static int take_literal(const char *text, uint32_t length,
			struct sonde_graph_pattern *ret_pattern)
{
	if (length > SONDE_GRAPH_PATTERN_MAX)
		return -EOPNOTSUPP;
	ret_pattern->never = memchr(text, 0, length) != NULL;
	ret_pattern->length = length;
	memcpy(ret_pattern->bytes, text, length);
	return 0;
}

/* As sonde_glob_match_text() takes it. */
static int take_glob(const char *at, struct sonde_graph_pattern *ret_pattern)
{
	for (; *at && *at != '*'; at++) {
		if (*at == '[' ||
		    ret_pattern->length == SONDE_GRAPH_PATTERN_MAX)
			return -EOPNOTSUPP;
		ret_pattern->any[ret_pattern->length] = *at == '?';
		if (*at == '\\' && at[1])
			at++;
		ret_pattern->bytes[ret_pattern->length++] = *at;
	}
	ret_pattern->is_prefix = *at == '*';
	while (*at == '*')
		at++;
	return *at ? -EOPNOTSUPP : 0;
}

int sonde_graph_pattern(const struct sonde_program *program,
			const struct sonde_expr_op *op,
			struct sonde_graph_pattern *ret_pattern)
{
	const char *text = sonde_program_texts(program) + op->offset;

	*ret_pattern = (struct sonde_graph_pattern){ .length = 0 };
	return op->code == SONDE_EXPR_OP_IF_GLOB ?
		       take_glob(text, ret_pattern) :
		       take_literal(text, op->length, ret_pattern);
}
