/* SPDX-License-Identifier: MIT */
/*
 * lex.h - an expression's text as tokens.
 *
 * The longest token wins. Names come as whole paths, numbers with their units,
 * times of day and dates as one token: "12:30:05" is never "12 : 30 : 05".
 */
#ifndef EXPR_LEX_H
#define EXPR_LEX_H

#include "expr/tree.h"

/*
 * X(token, text, precedence, node) of operators and brackets; longer ones
 * before those they begin with. Binary operators have a precedence, as in C:
 * the higher, the tighter. Those of MEMBER, POINTED and ELEMENT are C's only.
 */
#define SONDE_EXPR_OPERATORS(X)                             \
	X(ARROW, "->", 0, SONDE_NODE_POINTED)               \
	X(ANY, "||", 1, SONDE_NODE_ANY)                     \
	X(ALL, "&&", 2, SONDE_NODE_ALL)                     \
	X(SHIFT_LEFT, "<<", 8, SONDE_NODE_SHIFT_LEFT)       \
	X(SHIFT_RIGHT, ">>", 8, SONDE_NODE_SHIFT_RIGHT)     \
	X(LESS_EQUAL, "<=", 7, SONDE_NODE_LESS_EQUAL)       \
	X(GREATER_EQUAL, ">=", 7, SONDE_NODE_GREATER_EQUAL) \
	X(EQUAL, "==", 6, SONDE_NODE_EQUAL)                 \
	X(UNEQUAL, "!=", 6, SONDE_NODE_UNEQUAL)             \
	X(OR, "|", 3, SONDE_NODE_OR)                        \
	X(XOR, "^", 4, SONDE_NODE_XOR)                      \
	X(AND, "&", 5, SONDE_NODE_AND)                      \
	X(LESS, "<", 7, SONDE_NODE_LESS)                    \
	X(GREATER, ">", 7, SONDE_NODE_GREATER)              \
	X(ADD, "+", 9, SONDE_NODE_ADD)                      \
	X(SUBTRACT, "-", 9, SONDE_NODE_SUBTRACT)            \
	X(MULTIPLY, "*", 10, SONDE_NODE_MULTIPLY)           \
	X(DIVIDE, "/", 10, SONDE_NODE_DIVIDE)               \
	X(REMAINDER, "%", 10, SONDE_NODE_REMAINDER)         \
	X(NOT, "!", 0, SONDE_NODE_NOT)                      \
	X(COMPLEMENT, "~", 0, SONDE_NODE_COMPLEMENT)        \
	X(QUESTION, "?", 0, SONDE_NODE_CHOICE)              \
	X(COLON, ":", 0, SONDE_NODE_CHOICE)                 \
	X(COMMA, ",", 0, SONDE_NODE_CHOICE)                 \
	X(OPEN, "(", 0, SONDE_NODE_CHOICE)                  \
	X(CLOSE, ")", 0, SONDE_NODE_CHOICE)                 \
	X(DOT, ".", 0, SONDE_NODE_MEMBER)                   \
	X(OPEN_INDEX, "[", 0, SONDE_NODE_ELEMENT)           \
	X(CLOSE_INDEX, "]", 0, SONDE_NODE_ELEMENT)

enum sonde_expr_token_kind {
	SONDE_EXPR_TOKEN_END,
	SONDE_EXPR_TOKEN_VALUE,
	SONDE_EXPR_TOKEN_MOMENT,
	SONDE_EXPR_TOKEN_NAME,
#define X(token, text, precedence, node) SONDE_EXPR_TOKEN_##token,
	SONDE_EXPR_OPERATORS(X)
#undef X
};

struct sonde_expr_token {
	enum sonde_expr_token_kind kind;
	uint32_t offset, length; /* in the text */
	union {
		struct sonde_node_literal literal; /* VALUE */
		struct sonde_date_time moment;     /* MOMENT */
	};
};

struct sonde_expr_lexer {
	const char *text;
	uint32_t at;             /* behind the last token */
	struct sonde_pool *pool; /* for the strings' bytes */
	struct sonde_expr_error *error;
	bool is_c; /* names are single words; "->", ".", "[" and "]" */
};

/* 0; -EINVAL with lexer->error; -ENOMEM. */
int sonde_expr_lex(struct sonde_expr_lexer *lexer,
		   struct sonde_expr_token *ret_token);

#endif /* EXPR_LEX_H */
