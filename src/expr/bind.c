/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bind.c - see bind.h.
 *
 * A kind where a field is a string has no say about labels, but the comparison
 * makes sense there.
 */
#include "expr/bind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "types/type.h"

static const char *const own_names[SONDE_BIND_OWNS + 1] = {
	[SONDE_BIND_TIME] = "time",
	[SONDE_BIND_CPU] = "cpu",
	[SONDE_BIND_TID] = "tid",
	[SONDE_BIND_PID] = "pid",
	[SONDE_BIND_PPID] = "ppid",
	[SONDE_BIND_PROCNAME] = "procname",
	[SONDE_BIND_CGROUP] = "cgroup",
	[SONDE_BIND_EVENT] = "event",
	[SONDE_BIND_PRIO] = "prio",
	[SONDE_BIND_NICE] = "nice",
	[SONDE_BIND_POLICY] = "policy",
	[SONDE_BIND_PID_NS] = "pid_ns",
	[SONDE_BIND_CONTAINER] = "container",
};

const char *sonde_bind_own_name(size_t i)
{
	return own_names[i];
}

/* One of those, without the `$`. */
static int find_own(const struct sonde_bind *bind, const char *name,
		    struct sonde_expr_source *ret_source)
{
	size_t own = 0;

	while (own < SONDE_BIND_OWNS && strcmp(name, own_names[own]) != 0)
		own++;
	if (own == SONDE_BIND_OWNS)
		return -ENOENT;
	if (own != SONDE_BIND_EVENT)
		return bind->own(bind->ctx, (enum sonde_bind_own)own,
				 ret_source);
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_CONSTANT,
		.type = SONDE_EXPR_STRING,
		.value = { .type = SONDE_EXPR_STRING,
			   .length = (uint32_t)strlen(bind->event),
			   .text = bind->event },
	};
	return 0;
}

int sonde_bind_find(void *ctx, const char *path, size_t length,
		    struct sonde_expr_source *ret_source)
{
	const struct sonde_bind *bind = ctx;
	static const char context[] = "$ctx.";
	static const char payload[] = "$payload.";
	char name[SONDE_BIND_PATH_MAX];
	int err = -ENOENT;

	if (length >= sizeof(name))
		return -EINVAL;
	memcpy(name, path, length);
	name[length] = '\0';
	if (!strncmp(name, context, sizeof(context) - 1))
		return bind->field(bind->ctx, SONDE_BIND_CONTEXT,
				   name + sizeof(context) - 1, ret_source);
	if (!strncmp(name, payload, sizeof(payload) - 1))
		return bind->field(bind->ctx, SONDE_BIND_PAYLOAD,
				   name + sizeof(payload) - 1, ret_source);
	if (*name == '$')
		return find_own(bind, name + 1, ret_source);
	if (strcmp(name, own_names[SONDE_BIND_EVENT]) != 0)
		err = bind->field(bind->ctx, SONDE_BIND_ANY, name, ret_source);
	return err == -ENOENT ? find_own(bind, name, ret_source) : err;
}

/* ---- what no kind has ---- */

struct label {
	struct sonde_expr_text text;
	bool fits;    /* somewhere it can be equal */
	bool lacks;   /* an enumeration hasn't this label */
	bool differs; /* an event's name is another */
	struct sonde_nearest nearest;
};

struct name {
	bool found;
	struct sonde_nearest nearest;
};

struct sonde_bind_check {
	const struct sonde_expr *expr;
	size_t nr_names, nr_labels;
	struct name *names;
	struct label *labels;
};

static void begin_label(struct label *label, const struct sonde_expr_text *text)
{
	char word[SONDE_NEAREST_MAX] = "";

	if (text->length < sizeof(word))
		memcpy(word, text->text, text->length);
	label->text = *text;
	label->fits = text->is_glob; /* a label can't be: it is refused */
	sonde_nearest_begin(&label->nearest, word);
}

int sonde_bind_check_new(const struct sonde_expr *expr,
			 struct sonde_bind_check **ret_check)
{
	struct sonde_bind_check *check = calloc(1, sizeof(*check));
	struct sonde_expr_text text;
	uint32_t column;
	size_t at = 0;

	if (!check)
		return -ENOMEM;
	check->expr = expr;
	while (sonde_expr_name(expr, check->nr_names, &column))
		check->nr_names++;
	while (sonde_expr_next_text(expr, &at, &text))
		check->nr_labels++;
	check->names = calloc(check->nr_names + 1, sizeof(*check->names));
	check->labels = calloc(check->nr_labels + 1, sizeof(*check->labels));
	if (!check->names || !check->labels) {
		sonde_bind_check_free(check);
		return -ENOMEM;
	}
	for (size_t i = 0; i < check->nr_names; i++)
		sonde_nearest_begin(&check->names[i].nearest,
				    sonde_expr_name(expr, i, &column));
	at = 0;
	for (size_t i = 0; i < check->nr_labels; i++) {
		(void)sonde_expr_next_text(expr, &at, &text);
		begin_label(&check->labels[i], &text);
	}
	*ret_check = check;
	return 0;
}

/* What is the same for all records of a kind is the event's name. */
static void compare_event(struct label *label,
			  const struct sonde_expr_value *value)
{
	const struct sonde_expr_text *text = &label->text;
	char name[SONDE_NEAREST_MAX] = "";

	if (value->length == text->length &&
	    !memcmp(value->text, text->text, text->length)) {
		label->fits = true;
		return;
	}
	label->differs = true;
	if (value->length < sizeof(name)) {
		memcpy(name, value->text, value->length);
		sonde_nearest_try_event(&label->nearest, name);
	}
}

static void try_label(struct label *label, const struct sonde_expr_scope *scope)
{
	const struct sonde_expr_text *text = &label->text;
	struct sonde_expr_source source = { 0 };
	const struct sonde_label *found;

	if (label->fits ||
	    scope->find(scope->ctx, text->name, strlen(text->name), &source))
		return;
	if (source.type == SONDE_EXPR_STRING &&
	    source.how == SONDE_EXPR_CONSTANT)
		compare_event(label, &source.value);
	else if (source.type == SONDE_EXPR_STRING ||
		 sonde_label_find(source.labels, source.nr_labels, text->text,
				  text->length, 0, &found))
		label->fits = true;
	if (!source.labels)
		return;
	label->lacks = true;
	for (size_t i = 0; i < source.nr_labels && !label->fits; i++)
		sonde_nearest_try(&label->nearest, source.labels[i].name);
}

int sonde_bind_check_try(struct sonde_bind_check *check,
			 const struct sonde_expr_scope *scope)
{
	for (size_t i = 0; i < check->nr_names; i++) {
		struct sonde_expr_source source;
		const char *name;
		uint32_t column;
		int err;

		if (check->names[i].found)
			continue;
		name = sonde_expr_name(check->expr, i, &column);
		err = scope->find(scope->ctx, name, strlen(name), &source);
		if (err == -ENOMEM)
			return err;
		check->names[i].found = err == 0;
	}
	for (size_t i = 0; i < check->nr_labels; i++)
		try_label(&check->labels[i], scope);
	return 0;
}

bool sonde_bind_check_settled(const struct sonde_bind_check *check)
{
	bool settled = true;

	for (size_t i = 0; i < check->nr_names; i++)
		settled = settled && check->names[i].found;
	for (size_t i = 0; i < check->nr_labels; i++)
		settled = settled && check->labels[i].fits;
	return settled;
}

void sonde_bind_check_offer(struct sonde_bind_check *check, const char *name)
{
	for (size_t i = 0; i < check->nr_names; i++)
		if (!check->names[i].found)
			sonde_nearest_try(&check->names[i].nearest, name);
}

void sonde_bind_check_offer_event(struct sonde_bind_check *check,
				  const char *event)
{
	for (size_t i = 0; i < check->nr_names; i++)
		if (!check->names[i].found)
			sonde_nearest_try_quoted(&check->names[i].nearest,
						 event);
}

static void write_words(struct label *label, char *to, size_t size)
{
	const struct sonde_expr_text *text = &label->text;
	int length = text->length < 60 ? (int)text->length : 60;

	if (label->lacks)
		(void)snprintf(to, size, "'%.60s' has no label '%.*s'%s",
			       text->name, length, text->text,
			       sonde_nearest_hint(&label->nearest));
	else
		(void)snprintf(to, size, "no event here is called '%.*s'%s",
			       length, text->text,
			       sonde_nearest_hint(&label->nearest));
}

bool sonde_bind_check_next(struct sonde_bind_check *check, size_t *at,
			   struct sonde_bind_slip *ret_slip)
{
	*ret_slip = (struct sonde_bind_slip){ .hint = "" };
	while (*at < check->nr_names) {
		struct name *name = &check->names[(*at)++];

		if (name->found)
			continue;
		ret_slip->name = sonde_expr_name(check->expr, *at - 1,
						 &ret_slip->column);
		ret_slip->hint = sonde_nearest_hint(&name->nearest);
		return true;
	}
	while (*at < check->nr_names + check->nr_labels) {
		struct label *label = &check->labels[(*at)++ - check->nr_names];
		const struct sonde_expr_text *text = &label->text;

		if (label->fits || (!label->lacks && !label->differs))
			continue;
		ret_slip->name = text->name;
		ret_slip->column = text->column;
		write_words(label, ret_slip->words, sizeof(ret_slip->words));
		return true;
	}
	return false;
}

void sonde_bind_check_free(struct sonde_bind_check *check)
{
	if (!check)
		return;
	free(check->names);
	free(check->labels);
	free(check);
}
