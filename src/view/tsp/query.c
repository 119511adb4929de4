/* SPDX-License-Identifier: MIT */
/*
 * query.c - what a client of the Trace Server Protocol asks (query.h).
 *
 * The text's size and depth are bounded before it is read; each member is looked
 * at once, by a function for its type, which says what is wrong with it.
 */
#include "view/tsp/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json_object.h>
#include <json-c/json_object_iterator.h>
#include <json-c/json_tokener.h>

#define DEPTH 8

bool sonde_view_tsp_able(void)
{
	return true;
}

/* ---- types ---- */

/* NULL: it isn't there, or null. */
static struct json_object *member_of(struct json_object *object,
				     const char *name)
{
	struct json_object *member = NULL;

	if (object)
		(void)json_object_object_get_ex(object, name, &member);
	return member;
}

static int refuse_member(struct sonde_view_error *error, const char *name,
			 const char *wanted)
{
	return sonde_view_fail(error, -EINVAL, "%s: must be %s", name, wanted);
}

static bool is_number_within(struct json_object *value, int64_t least,
			     int64_t most)
{
	int64_t number = json_object_get_int64(value);

	return json_object_is_type(value, json_type_int) && number >= least &&
	       number <= most;
}

/* Left as it is if it isn't there. */
static int take_query_number(struct json_object *object, const char *name,
			     int64_t most, int64_t *number,
			     struct sonde_view_error *error)
{
	struct json_object *value = member_of(object, name);

	if (value && !is_number_within(value, 0, most))
		return refuse_member(error, name, "a number, not that large");
	if (value)
		*number = json_object_get_int64(value);
	return 0;
}

/* NULL: it is none, or too long, or has a NUL. */
static const char *short_text(struct json_object *value)
{
	const char *text = json_object_is_type(value, json_type_string) ?
				   json_object_get_string(value) :
				   NULL;
	size_t length = text ? (size_t)json_object_get_string_len(value) : 0;

	return length <= SONDE_VIEW_TSP_WORD_BYTES && text &&
			       strlen(text) == length ?
		       text :
		       NULL;
}

static int take_query_text(struct json_object *object, const char *name,
			   const char **text, struct sonde_view_error *error)
{
	struct json_object *value = member_of(object, name);

	*text = value ? short_text(value) : NULL;
	return value && !*text ? refuse_member(error, name, "a short text") : 0;
}

static int take_query_object(struct json_object *object, const char *name,
			     struct json_object **ret_value,
			     struct sonde_view_error *error)
{
	*ret_value = member_of(object, name);
	if (*ret_value && !json_object_is_type(*ret_value, json_type_object))
		return refuse_member(error, name, "an object");
	return 0;
}

/* NULL in *ret_list: there is none. */
static int take_query_list(struct json_object *object, const char *name,
			   size_t most, struct json_object **ret_list,
			   struct sonde_view_error *error)
{
	*ret_list = member_of(object, name);
	if (*ret_list && (!json_object_is_type(*ret_list, json_type_array) ||
			  json_object_array_length(*ret_list) > most))
		return refuse_member(error, name, "a list, not that long");
	return 0;
}

static int take_query_ids(struct json_object *object, const char *name,
			  uint32_t **ret_ids, size_t *ret_nr,
			  struct sonde_view_error *error)
{
	struct json_object *list;
	size_t nr;
	int err = take_query_list(object, name, SONDE_VIEW_TSP_ITEMS, &list,
				  error);

	if (err || !list)
		return err;
	nr = json_object_array_length(list);
	*ret_ids = calloc(nr + 1, sizeof(**ret_ids));
	if (!*ret_ids)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct json_object *id = json_object_array_get_idx(list, i);

		if (!is_number_within(id, 0, UINT32_MAX))
			return refuse_member(error, name, "numbers of 32 bits");
		(*ret_ids)[i] = (uint32_t)json_object_get_int64(id);
	}
	*ret_nr = nr;
	return 0;
}

static int take_query_words(struct json_object *object, const char *name,
			    struct sonde_view_tsp_words *words,
			    struct sonde_view_error *error)
{
	struct json_object *list;
	int err = take_query_list(object, name, SONDE_VIEW_TSP_WORDS, &list,
				  error);

	for (size_t i = 0; !err && list && i < json_object_array_length(list);
	     i++) {
		words->words[i] =
			short_text(json_object_array_get_idx(list, i));
		if (!words->words[i])
			return refuse_member(error, name, "short texts");
		words->nr = i + 1;
	}
	return err;
}

/* ---- times ---- */

/* No sum or difference of two of these overflows. */
#define TIME_MAX (INT64_MAX / 4)

static int take_one_time(struct json_object *value, const char *name,
			 int64_t *ret_ns, struct sonde_view_error *error)
{
	if (!value || !is_number_within(value, -TIME_MAX, TIME_MAX))
		return refuse_member(error, name,
				     "times in nanoseconds since 1970");
	*ret_ns = json_object_get_int64(value);
	return 0;
}

static int take_query_range(struct json_object *range,
			    struct sonde_view_tsp_query *query,
			    struct sonde_view_error *error)
{
	int64_t nr = 2;
	int err = take_one_time(member_of(range, "start"), "start",
				&query->first_ns, error);

	if (!err)
		err = take_one_time(member_of(range, "end"), "end",
				    &query->last_ns, error);
	if (!err)
		err = take_query_number(range, "nbTimes", UINT32_MAX, &nr,
					error);
	if (!err)
		err = take_query_number(range, "nbSamples", UINT32_MAX, &nr,
					error);
	if (!err && query->last_ns < query->first_ns)
		return refuse_member(error, "end", "behind start");
	if (!err)
		query->nr_times = nr < 1 ? 1 : (uint32_t)nr;
	return err;
}

/* Of a list the first and the last are taken, and how many there are. */
static int take_query_times(struct json_object *parameters,
			    struct sonde_view_tsp_query *query,
			    struct sonde_view_error *error)
{
	static const char name[] = "requested_times";
	struct json_object *list;
	int err = take_query_list(parameters, name, SONDE_VIEW_TSP_ITEMS, &list,
				  error);

	for (size_t i = 0; !err && list && i < json_object_array_length(list);
	     i++) {
		int64_t before_ns = i ? query->last_ns : -TIME_MAX;

		err = take_one_time(json_object_array_get_idx(list, i), name,
				    &query->last_ns, error);
		if (!err && query->last_ns < before_ns)
			err = refuse_member(error, name, "in order");
		if (!i)
			query->first_ns = query->last_ns;
		query->nr_times++;
	}
	return err;
}

/* ---- members ---- */

static int take_query_search(struct json_object *parameters,
			     struct sonde_view_tsp_query *query,
			     struct sonde_view_error *error)
{
	static const char name[] = "table_search_expressions";
	struct json_object_iterator end;
	struct json_object_iterator at;
	struct json_object *wanted;
	const char *direction;
	int err = take_query_object(parameters, name, &wanted, error);

	if (!err)
		err = take_query_text(parameters, "table_search_direction",
				      &direction, error);
	if (err)
		return err;
	if (direction)
		query->direction = !strcmp(direction, "PREVIOUS") ? -1 : 1;
	if (!wanted)
		return 0;
	at = json_object_iter_begin(wanted);
	end = json_object_iter_end(wanted);
	for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
		const char *text = short_text(json_object_iter_peek_value(&at));

		if (!text || query->where.nr == SONDE_VIEW_TSP_WORDS)
			return refuse_member(error, name, "short texts");
		query->where.words[query->where.nr++] =
			json_object_iter_peek_name(&at);
		query->wanted.words[query->wanted.nr++] = text;
	}
	return 0;
}

static int take_query_table(struct json_object *parameters,
			    struct sonde_view_tsp_query *query,
			    struct sonde_view_error *error)
{
	int64_t count = query->count;
	int err = take_query_number(parameters, "requested_table_index",
				    INT64_MAX / 2, &query->index, error);

	if (!err)
		err = take_query_number(parameters, "requested_table_count",
					UINT32_MAX, &count, error);
	if (!err)
		err = take_query_ids(parameters, "requested_table_column_ids",
				     &query->columns, &query->nr_columns,
				     error);
	if (!err)
		err = take_query_search(parameters, query, error);
	query->count = count < (int64_t)SONDE_VIEW_TSP_LINES ?
			       (uint32_t)count :
			       SONDE_VIEW_TSP_LINES;
	return err;
}

static int take_query_members(struct json_object *parameters,
			      struct sonde_view_tsp_query *query,
			      struct sonde_view_error *error)
{
	struct json_object *range;
	int err = take_query_times(parameters, query, error);

	if (!err)
		err = take_query_object(parameters, "requested_timerange",
					&range, error);
	if (!err && range)
		err = take_query_range(range, query, error);
	if (query->nr_times > SONDE_VIEW_PIXELS)
		query->nr_times = SONDE_VIEW_PIXELS;
	if (!err)
		err = take_query_ids(parameters, "requested_items",
				     &query->items, &query->nr_items, error);
	if (!err)
		err = take_query_table(parameters, query, error);
	if (!err)
		err = take_query_words(parameters,
				       "requested_marker_categories",
				       &query->kinds, error);
	if (!err)
		err = take_query_text(parameters, "uri", &query->uri, error);
	if (!err)
		err = take_query_text(parameters, "name", &query->name, error);
	if (!err)
		err = take_query_words(parameters, "traces", &query->members,
				       error);
	return err;
}

int sonde_view_tsp_query_parse(const char *text, size_t size,
			       struct sonde_view_tsp_query *query,
			       struct sonde_view_error *error)
{
	struct json_tokener *tokener;
	struct json_object *parameters;
	int err;

	*query = (struct sonde_view_tsp_query){ .index = -1, .count = 1 };
	if (!size)
		return 0;
	if (size > SONDE_VIEW_TSP_BYTES)
		return sonde_view_fail(error, -EINVAL,
				       "the request is longer than %u bytes",
				       SONDE_VIEW_TSP_BYTES);
	tokener = json_tokener_new_ex(DEPTH);
	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT |
						JSON_TOKENER_VALIDATE_UTF8);
	query->root = json_tokener_parse_ex(tokener, text, (int)size);
	json_tokener_free(tokener);
	if (!json_object_is_type(query->root, json_type_object))
		return sonde_view_fail(error, -EINVAL,
				       "the request isn't a JSON object");
	err = take_query_object(query->root, "parameters", &parameters, error);
	return !err && parameters ?
		       take_query_members(parameters, query, error) :
		       err;
}

void sonde_view_tsp_query_fini(struct sonde_view_tsp_query *query)
{
	free(query->items);
	free(query->columns);
	json_object_put(query->root);
}
