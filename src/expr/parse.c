/* SPDX-License-Identifier: MIT */
/*
 * parse.c - text to tree, by precedence climbing (docs/filter.md has the
 * grammar). Recursion is bounded by parser->depth; what is built is bounded in
 * height, so that others may recurse over it.
 */
#include "expr/lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"

/* Brackets, prefix operators and `?` within one another; the outermost
 * expression counts, too. */
#define DEPTH_MAX 65
#define TEXT_MAX  ((size_t)1 << 16)

#define WORD                         \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

/* The lowest of the binary operators' precedences. */
#define PRECEDENCE_ANY   1
#define PRECEDENCE_EQUAL 6

struct parser {
	struct sonde_expr_lexer lexer;
	struct sonde_expr_token token; /* the one to be dealt with */
	struct sonde_expr *expr;
	unsigned int depth;
	const struct sonde_expr_types *types; /* of C's; NULL: ours */
};

static int parse_choice(struct parser *parser, uint32_t *ret_node);

static int fail(struct parser *parser, const char *message)
{
	return sonde_expr_fail(parser->lexer.error, parser->lexer.text,
			       parser->token.offset, "%s", message);
}

/* `expected`, and what is there instead. */
static int fail_expected(struct parser *parser, const char *expected)
{
	const struct sonde_expr_token *token = &parser->token;
	int length = token->length > 64 ? 64 : (int)token->length;

	if (token->kind == SONDE_EXPR_TOKEN_END)
		return sonde_expr_fail(parser->lexer.error, parser->lexer.text,
				       token->offset, "expected %s at the end",
				       expected);
	/* provider:event, most likely */
	return sonde_expr_fail(parser->lexer.error, parser->lexer.text,
			       token->offset, "expected %s instead of %.*s%s",
			       expected, length,
			       parser->lexer.text + token->offset,
			       token->kind == SONDE_EXPR_TOKEN_COLON ?
				       "; put names of events into quotes" :
				       "");
}

static int next(struct parser *parser)
{
	return sonde_expr_lex(&parser->lexer, &parser->token);
}

static int expect(struct parser *parser, enum sonde_expr_token_kind kind,
		  const char *expected)
{
	if (parser->token.kind != kind)
		return fail_expected(parser, expected);
	return next(parser);
}

static bool token_is_word(const struct parser *parser, const char *word)
{
	return parser->token.kind == SONDE_EXPR_TOKEN_NAME &&
	       parser->token.length == strlen(word) &&
	       memcmp(parser->lexer.text + parser->token.offset, word,
		      parser->token.length) == 0;
}

/* ---- nodes ---- */

static uint32_t height_of(const struct sonde_expr *expr, uint32_t node)
{
	return node == SONDE_NODE_NONE ? 0 : expr->nodes[node].height;
}

static uint32_t tallest(const struct sonde_expr *expr,
			const struct sonde_node *node)
{
	bool list =
		node->kind == SONDE_NODE_ALL || node->kind == SONDE_NODE_ANY;
	uint32_t height = 0;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(node->child); i++) {
		uint32_t child = node->child[i];

		while (child != SONDE_NODE_NONE) {
			if (height_of(expr, child) > height)
				height = height_of(expr, child);
			child = list ? expr->nodes[child].next :
				       SONDE_NODE_NONE;
		}
	}
	return height;
}

/* A node of a kind without children yet. */
static struct sonde_node node_of(enum sonde_node_kind kind, uint32_t offset)
{
	return (struct sonde_node){
		.kind = kind,
		.offset = offset,
		.child = { SONDE_NODE_NONE, SONDE_NODE_NONE, SONDE_NODE_NONE },
		.next = SONDE_NODE_NONE,
	};
}

static int parse_add_node(struct parser *parser, struct sonde_node node,
			  uint32_t *ret_node)
{
	struct sonde_expr *expr = parser->expr;
	struct sonde_node *nodes =
		sonde_pool_grow(&expr->pool, expr->nodes, expr->nr_nodes,
				&expr->nodes_capacity, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	expr->nodes = nodes;
	node.height = 1 + tallest(expr, &node);
	if (node.height > SONDE_NODE_HEIGHT)
		return sonde_expr_fail(parser->lexer.error, parser->lexer.text,
				       node.offset,
				       "more than %d operators hang together",
				       SONDE_NODE_HEIGHT);
	*ret_node = (uint32_t)expr->nr_nodes;
	nodes[expr->nr_nodes++] = node;
	return 0;
}

/* The index of a path among the names. */
static int add_path(struct parser *parser, uint32_t offset, uint32_t length,
		    uint32_t *ret_name)
{
	struct sonde_expr *expr = parser->expr;
	const char *path = expr->text + offset;
	struct sonde_expr_name *names;

	for (uint32_t i = 0; i < expr->nr_names; i++) {
		if (expr->names[i].length == length &&
		    memcmp(expr->names[i].path, path, length) == 0) {
			*ret_name = i;
			return 0;
		}
	}
	names = sonde_pool_grow(&expr->pool, expr->names, expr->nr_names,
				&expr->names_capacity, sizeof(*names));
	if (!names)
		return -ENOMEM;
	expr->names = names;
	names[expr->nr_names] = (struct sonde_expr_name){
		.path = sonde_pool_text(&expr->pool, path, length),
		.length = length,
		.offset = offset,
		.begin = token_is_word(parser, "begin") ||
			 token_is_word(parser, "$begin"),
	};
	if (!names[expr->nr_names].path)
		return -ENOMEM;
	*ret_name = (uint32_t)expr->nr_names++;
	return 0;
}

/* The token's. */
static int add_name(struct parser *parser, uint32_t *ret_name)
{
	return add_path(parser, parser->token.offset, parser->token.length,
			ret_name);
}

/* ---- from the leaves up ---- */

static int parse_name(struct parser *parser, enum sonde_node_kind kind,
		      uint32_t *ret_node)
{
	struct sonde_node node = node_of(kind, parser->token.offset);
	int err = add_name(parser, &node.name);

	if (!err)
		err = parse_add_node(parser, node, ret_node);
	return err ? err : next(parser);
}

/* defined(NAME), from behind "defined". */
static int parse_defined(struct parser *parser, uint32_t *ret_node)
{
	int err = next(parser);

	if (!err && parser->token.kind != SONDE_EXPR_TOKEN_NAME)
		err = fail_expected(parser, "a field's name");
	if (!err)
		err = parse_name(parser, SONDE_NODE_DEFINED, ret_node);
	return err ? err : expect(parser, SONDE_EXPR_TOKEN_CLOSE, "')'");
}

/* A name, or a function: of those there is only defined(). */
static int parse_name_or_call(struct parser *parser, uint32_t *ret_node)
{
	bool defined = token_is_word(parser, "defined");
	struct sonde_expr_token token = parser->token;
	uint32_t behind = parser->lexer.at;
	int err;

	behind += (uint32_t)strspn(parser->lexer.text + behind, " \t\r\n");
	if (parser->lexer.text[behind] != '(')
		return parse_name(parser, SONDE_NODE_NAME, ret_node);
	if (parser->types)
		return sonde_expr_fail(parser->lexer.error, parser->lexer.text,
				       token.offset,
				       "functions can't be called");
	if (!defined)
		return sonde_expr_fail(parser->lexer.error, parser->lexer.text,
				       token.offset,
				       "expected an operator before '('; "
				       "the only function is defined(NAME)");
	err = next(parser);
	return err ? err : parse_defined(parser, ret_node);
}

static int expr_parse_literal(struct parser *parser, uint32_t *ret_node)
{
	const struct sonde_expr_token *token = &parser->token;
	bool moment = token->kind == SONDE_EXPR_TOKEN_MOMENT;
	struct sonde_node node = node_of(
		moment ? SONDE_NODE_MOMENT : SONDE_NODE_VALUE, token->offset);
	int err;

	if (moment)
		node.moment = token->moment;
	else
		node.literal = token->literal;
	err = parse_add_node(parser, node, ret_node);
	return err ? err : next(parser);
}

/*
 * From here on functions call one another in circles, each of which passes
 * through parse_primary() or parse_choice(), which count parser->depth.
 */
/* NOLINTBEGIN(misc-no-recursion): parser->depth <= DEPTH_MAX */

static int parse_brackets(struct parser *parser, uint32_t *ret_node)
{
	int err = next(parser);

	if (!err)
		err = parse_choice(parser, ret_node);
	return err ? err : expect(parser, SONDE_EXPR_TOKEN_CLOSE, "')'");
}

/* The prefix operator that the token is; VALUE if it is none. */
static enum sonde_node_kind prefix_of(const struct parser *parser)
{
	enum sonde_expr_token_kind kind = parser->token.kind;

	if (parser->types && kind == SONDE_EXPR_TOKEN_MULTIPLY)
		return SONDE_NODE_DEREFERENCE;
	if (parser->types && kind == SONDE_EXPR_TOKEN_AND)
		return SONDE_NODE_ADDRESS;
	if (kind == SONDE_EXPR_TOKEN_NOT)
		return SONDE_NODE_NOT;
	if (kind == SONDE_EXPR_TOKEN_COMPLEMENT)
		return SONDE_NODE_COMPLEMENT;
	if (kind == SONDE_EXPR_TOKEN_SUBTRACT)
		return SONDE_NODE_NEGATE;
	if (kind == SONDE_EXPR_TOKEN_ADD)
		return SONDE_NODE_PLUS;
	return SONDE_NODE_VALUE;
}

static int parse_primary(struct parser *parser, uint32_t *ret_node);

/* What a prefix operator or a cast, whose last token this is, applies to. */
static int parse_operand(struct parser *parser, struct sonde_node node,
			 uint32_t *ret_node)
{
	int err;

	if (++parser->depth > DEPTH_MAX)
		return fail(parser, "too deeply nested");
	err = next(parser);
	if (!err)
		err = parse_primary(parser, &node.child[0]);
	parser->depth--;
	return err ? err : parse_add_node(parser, node, ret_node);
}

/* Behind '(': words and stars, up to ')'. 0: that is no type. */
static uint32_t type_length(const struct parser *parser)
{
	const char *text = parser->lexer.text + parser->lexer.at;
	size_t begin = strspn(text, " \t");
	size_t word = strspn(text + begin, WORD);
	size_t length = strspn(text, WORD " \t*");

	if (word == 0 || text[length] != ')' ||
	    !parser->types->is_type(parser->types->ctx, text + begin, word))
		return 0;
	return (uint32_t)length;
}

/* (TYPE)value, at its '('. */
static int parse_cast(struct parser *parser, uint32_t length,
		      uint32_t *ret_node)
{
	struct sonde_node node = node_of(SONDE_NODE_CAST, parser->token.offset);
	int err = add_path(parser, parser->lexer.at, length, &node.name);

	parser->lexer.at += length;
	if (!err)
		err = next(parser); /* the ')' */
	return err ? err : parse_operand(parser, node, ret_node);
}

/* What is behind '.', '->' or '['. */
static int parse_part(struct parser *parser, struct sonde_node *node)
{
	int err;

	if (node->kind != SONDE_NODE_ELEMENT)
		return parser->token.kind == SONDE_EXPR_TOKEN_NAME ?
			       add_name(parser, &node->name) :
			       fail_expected(parser, "a member's name");
	err = parse_choice(parser, &node->child[1]);
	if (!err && parser->token.kind != SONDE_EXPR_TOKEN_CLOSE_INDEX)
		err = fail_expected(parser, "']'");
	return err;
}

/* .name, ->name, [index], as many as there are. */
static int parse_postfix(struct parser *parser, uint32_t *ret_node)
{
	enum sonde_node_kind kind;
	int err = 0;

	while (!err) {
		struct sonde_node node;

		if (parser->token.kind == SONDE_EXPR_TOKEN_DOT)
			kind = SONDE_NODE_MEMBER;
		else if (parser->token.kind == SONDE_EXPR_TOKEN_ARROW)
			kind = SONDE_NODE_POINTED;
		else if (parser->token.kind == SONDE_EXPR_TOKEN_OPEN_INDEX)
			kind = SONDE_NODE_ELEMENT;
		else
			return 0;
		node = node_of(kind, parser->token.offset);
		node.child[0] = *ret_node;
		err = next(parser);
		if (!err)
			err = parse_part(parser, &node);
		if (!err)
			err = parse_add_node(parser, node, ret_node);
		if (!err)
			err = next(parser);
	}
	return err;
}

static int parse_leaf(struct parser *parser, uint32_t *ret_node)
{
	enum sonde_expr_token_kind kind = parser->token.kind;

	if (kind == SONDE_EXPR_TOKEN_OPEN)
		return parse_brackets(parser, ret_node);
	if (kind == SONDE_EXPR_TOKEN_NAME)
		return parse_name_or_call(parser, ret_node);
	if (kind == SONDE_EXPR_TOKEN_VALUE || kind == SONDE_EXPR_TOKEN_MOMENT)
		return expr_parse_literal(parser, ret_node);
	return fail_expected(parser, "a value");
}

static int parse_primary(struct parser *parser, uint32_t *ret_node)
{
	struct sonde_node node =
		node_of(prefix_of(parser), parser->token.offset);
	uint32_t length = 0;
	int err;

	if (node.kind != SONDE_NODE_VALUE)
		return parse_operand(parser, node, ret_node);
	if (parser->types && parser->token.kind == SONDE_EXPR_TOKEN_OPEN)
		length = type_length(parser);
	if (length)
		return parse_cast(parser, length, ret_node);
	err = parse_leaf(parser, ret_node);
	return err || !parser->types ? err : parse_postfix(parser, ret_node);
}

/* ---- binary operators ---- */

/* The precedence of the binary operator that the token is; 0: none. */
static int precedence_of(const struct parser *parser,
			 enum sonde_node_kind *ret_kind)
{
	static const struct {
		int precedence;
		enum sonde_node_kind kind;
	} operators[] = {
#define X(token, text, precedence, node) \
	[SONDE_EXPR_TOKEN_##token] = { precedence, node },
		SONDE_EXPR_OPERATORS(X)
#undef X
	};

	*ret_kind = SONDE_NODE_ANY;
	if (!parser->types && token_is_word(parser, "in"))
		return PRECEDENCE_EQUAL;
	if (parser->token.kind >= SONDE_ARRAY_SIZE(operators))
		return 0;
	*ret_kind = operators[parser->token.kind].kind;
	return operators[parser->token.kind].precedence;
}

/* A list's nodes, while they are linked. */
struct chain {
	uint32_t first, last;
};

static void chain_add(struct parser *parser, struct chain *chain, uint32_t node)
{
	if (chain->first == SONDE_NODE_NONE)
		chain->first = node;
	else
		parser->expr->nodes[chain->last].next = node;
	chain->last = node;
}

static int parse_binary(struct parser *parser, int lowest, uint32_t *ret_node);

/* (item, item ...), behind the `in` at `offset` that follows `left`. */
static int parse_set(struct parser *parser, uint32_t left, uint32_t offset,
		     uint32_t *ret_node)
{
	struct chain chain = { SONDE_NODE_NONE, SONDE_NODE_NONE };
	struct sonde_node set = node_of(SONDE_NODE_ANY, offset);
	int err;

	if (parser->expr->nodes[left].kind != SONDE_NODE_NAME)
		return sonde_expr_fail(parser->lexer.error, parser->lexer.text,
				       offset,
				       "expected a field's name before 'in'");
	err = expect(parser, SONDE_EXPR_TOKEN_OPEN, "'(' after 'in'");
	while (!err) {
		struct sonde_node equal = node_of(SONDE_NODE_EQUAL, offset);
		uint32_t node = SONDE_NODE_NONE;

		equal.child[0] = left;
		err = parse_choice(parser, &equal.child[1]);
		if (!err)
			err = parse_add_node(parser, equal, &node);
		if (err)
			return err;
		chain_add(parser, &chain, node);
		if (parser->token.kind != SONDE_EXPR_TOKEN_COMMA)
			break;
		err = next(parser);
	}
	if (!err)
		err = expect(parser, SONDE_EXPR_TOKEN_CLOSE, "',' or ')'");
	set.child[0] = chain.first;
	return err ? err : parse_add_node(parser, set, ret_node);
}

/* left && right && ..., from the token behind the first operator. */
static int parse_list(struct parser *parser, uint32_t left,
		      struct sonde_node node, uint32_t *ret_node)
{
	struct chain chain = { left, left };
	enum sonde_node_kind kind;
	int precedence = node.kind == SONDE_NODE_ANY ? PRECEDENCE_ANY :
						       PRECEDENCE_ANY + 1;
	uint32_t item;

	for (;;) {
		int err = parse_binary(parser, precedence + 1, &item);

		if (err)
			return err;
		chain_add(parser, &chain, item);
		if (precedence_of(parser, &kind) != precedence)
			break;
		err = next(parser);
		if (err)
			return err;
	}
	node.child[0] = chain.first;
	return parse_add_node(parser, node, ret_node);
}

/* What follows `left` and the operator `kind`, which is the token. */
static int parse_right(struct parser *parser, uint32_t left,
		       enum sonde_node_kind kind, uint32_t *ret_node)
{
	struct sonde_node node = node_of(kind, parser->token.offset);
	bool set = !parser->types && token_is_word(parser, "in");
	int precedence = precedence_of(parser, &kind);
	int err = next(parser);

	if (err)
		return err;
	if (set)
		return parse_set(parser, left, node.offset, ret_node);
	if (kind == SONDE_NODE_ALL || kind == SONDE_NODE_ANY)
		return parse_list(parser, left, node, ret_node);
	node.child[0] = left;
	err = parse_binary(parser, precedence + 1, &node.child[1]);
	return err ? err : parse_add_node(parser, node, ret_node);
}

static int parse_binary(struct parser *parser, int lowest, uint32_t *ret_node)
{
	enum sonde_node_kind kind;
	uint32_t left = SONDE_NODE_NONE;
	int err = parse_primary(parser, &left);

	while (!err) {
		int precedence = precedence_of(parser, &kind);

		if (precedence == 0 || precedence < lowest)
			break;
		err = parse_right(parser, left, kind, &left);
	}
	*ret_node = left;
	return err;
}

static int parse_choice(struct parser *parser, uint32_t *ret_node)
{
	struct sonde_node node = node_of(SONDE_NODE_CHOICE, 0);
	int err;

	if (++parser->depth > DEPTH_MAX)
		return fail(parser, "too deeply nested");
	err = parse_binary(parser, PRECEDENCE_ANY, ret_node);
	if (!err && parser->token.kind == SONDE_EXPR_TOKEN_QUESTION) {
		node.offset = parser->token.offset;
		node.child[0] = *ret_node;
		err = next(parser);
		if (!err)
			err = parse_choice(parser, &node.child[1]);
		if (!err)
			err = expect(parser, SONDE_EXPR_TOKEN_COLON,
				     "':' and what holds otherwise");
		if (!err)
			err = parse_choice(parser, &node.child[2]);
		if (!err)
			err = parse_add_node(parser, node, ret_node);
	}
	parser->depth--;
	return err;
}

/* NOLINTEND(misc-no-recursion) */

/* What stands where the expression should end. */
static int fail_behind(struct parser *parser)
{
	static const char *const words[][2] = {
		{ "and", "'&&'" },
		{ "or", "'||'" },
		{ "is", "'=='" },
	};

	if (parser->token.kind == SONDE_EXPR_TOKEN_CLOSE)
		return fail(parser, "there is no '(' for this ')'");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(words); i++) {
		if (token_is_word(parser, words[i][0]))
			return fail_expected(parser, words[i][1]);
	}
	return fail_expected(parser, "an operator");
}

static int parse(struct parser *parser)
{
	int err = next(parser);

	if (!err && parser->token.kind == SONDE_EXPR_TOKEN_END)
		return fail(parser, "the expression is empty");
	if (!err)
		err = parse_choice(parser, &parser->expr->root);
	if (!err && parser->token.kind != SONDE_EXPR_TOKEN_END)
		return fail_behind(parser);
	return err;
}

static int expr_parse_text(const char *text,
			   const struct sonde_expr_types *types,
			   struct sonde_expr_error *error,
			   struct sonde_expr **ret_expr)
{
	size_t length = strlen(text);
	struct parser parser = { .types = types };
	struct sonde_expr *expr;
	int err;

	if (length > TEXT_MAX)
		return sonde_expr_fail(error, text, TEXT_MAX,
				       "longer than %zu bytes", TEXT_MAX);
	expr = calloc(1, sizeof(*expr));
	if (!expr)
		return -ENOMEM;
	sonde_pool_init(&expr->pool, 0);
	expr->text = sonde_pool_text(&expr->pool, text, length);
	parser.expr = expr;
	parser.lexer = (struct sonde_expr_lexer){
		.text = expr->text,
		.pool = &expr->pool,
		.error = error,
		.is_c = types,
	};
	err = expr->text ? parse(&parser) : -ENOMEM;
	if (err)
		sonde_expr_free(expr);
	else
		*ret_expr = expr;
	return err;
}

int sonde_expr_parse(const char *text, struct sonde_expr_error *error,
		     struct sonde_expr **ret_expr)
{
	return expr_parse_text(text, NULL, error, ret_expr);
}

int sonde_expr_parse_c(const char *text, const struct sonde_expr_types *types,
		       struct sonde_expr_error *error,
		       struct sonde_expr **ret_expr)
{
	return expr_parse_text(text, types, error, ret_expr);
}

void sonde_expr_free(struct sonde_expr *expr)
{
	if (!expr)
		return;
	sonde_pool_fini(&expr->pool);
	free(expr);
}

const char *sonde_expr_name(const struct sonde_expr *expr, size_t i,
			    uint32_t *ret_column)
{
	for (size_t n = 0; n < expr->nr_names; n++) {
		const struct sonde_expr_name *name = &expr->names[n];

		if (name->begin || i-- > 0)
			continue;
		*ret_column = sonde_expr_column(expr->text, name->offset);
		return name->path;
	}
	return NULL;
}

/* Whether `node` compares a name with a literal string. */
static bool take_text(const struct sonde_expr *expr,
		      const struct sonde_node *node,
		      struct sonde_expr_text *ret_text)
{
	for (int i = 0; i < 2; i++) {
		const struct sonde_node *name = &expr->nodes[node->child[i]];
		const struct sonde_node *text = &expr->nodes[node->child[!i]];
		const struct sonde_node_literal *literal = &text->literal;

		if (name->kind != SONDE_NODE_NAME ||
		    text->kind != SONDE_NODE_VALUE ||
		    literal->value.type != SONDE_EXPR_STRING)
			continue;
		*ret_text = (struct sonde_expr_text){
			.name = expr->names[name->name].path,
			.text = literal->glob ? literal->glob :
						literal->value.text,
			.length = literal->glob ? literal->glob_length :
						  literal->value.length,
			.is_glob = literal->glob,
			.column = sonde_expr_column(expr->text, text->offset),
		};
		return true;
	}
	return false;
}

bool sonde_expr_next_text(const struct sonde_expr *expr, size_t *at,
			  struct sonde_expr_text *ret_text)
{
	while (*at < expr->nr_nodes) {
		const struct sonde_node *node = &expr->nodes[(*at)++];

		if ((node->kind == SONDE_NODE_EQUAL ||
		     node->kind == SONDE_NODE_UNEQUAL) &&
		    take_text(expr, node, ret_text))
			return true;
	}
	return false;
}
