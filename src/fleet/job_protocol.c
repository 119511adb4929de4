/* SPDX-License-Identifier: MIT */
/*
 * job_protocol.c - lines of those who work, and of those they work for (job_protocol.h), each a
 * list of fields (session/net/key_values.h).
 */
#include "fleet/job_protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "session/net/key_values.h"

static const char *const word_names[] = {
	[SONDE_FLEET_TAKE] = "take", [SONDE_FLEET_ALIVE] = "alive",
	[SONDE_FLEET_PART] = "part", [SONDE_FLEET_UNIT] = "unit",
	[SONDE_FLEET_WAIT] = "wait", [SONDE_FLEET_GO] = "go",
	[SONDE_FLEET_OVER] = "over",
};

/* ---- words ---- */

#define WORD(kind, key, member, ...)                                   \
	SONDE_NET_FIELD(kind, key, struct sonde_fleet_message, member, \
			__VA_ARGS__)

static const struct sonde_net_field word_fields[] = {
	WORD(WORD, " ", kind, SONDE_ARRAY_SIZE(word_names), word_names),
	WORD(SUM, " worker=", worker, 0),
	WORD(COUNT, " unit=", unit, SONDE_FLEET_UNITS_MAX - 1),
	WORD(COUNT, " begin=", begin, SONDE_FLEET_ANSWER_MAX),
	WORD(COUNT, " all=", all, SONDE_FLEET_ANSWER_MAX),
	WORD(COUNT, " body=", body, SONDE_FLEET_ANSWER_MAX),
	{ 0 },
};

size_t sonde_fleet_message_put(const struct sonde_fleet_message *word,
			       char to[SONDE_NET_HEAD_MAX])
{
	return sonde_net_values_put("sonde1", word_fields, word, to);
}

int sonde_fleet_message_parse(const void *bytes, size_t size,
			      struct sonde_fleet_message *ret_word)
{
	size_t length = sonde_net_values_take("sonde1", word_fields, bytes,
					      size, ret_word);

	if (!length || ret_word->body != size - length ||
	    (ret_word->kind == SONDE_FLEET_PART &&
	     (!ret_word->body ||
	      ret_word->begin + ret_word->body > ret_word->all)))
		return -EINVAL;
	return (int)length;
}

/* ---- requests ---- */

#define REQUEST(kind, key, member, ...)                                \
	SONDE_NET_FIELD(kind, key, struct sonde_fleet_request, member, \
			__VA_ARGS__)
#define REQUEST_TEXT(key, text)                               \
	SONDE_NET_FIELD_TEXT(key, struct sonde_fleet_request, \
			     texts[SONDE_FLEET_##text])

static const struct sonde_net_field request_fields[] = {
	REQUEST_TEXT(" hosts=", HOSTS),
	REQUEST_TEXT(" traces=", TRACES),
	REQUEST_TEXT(" report=", REPORT),
	REQUEST_TEXT(" filter=", FILTER),
	REQUEST_TEXT(" begin=", BEGIN),
	REQUEST_TEXT(" end=", END),
	REQUEST_TEXT(" key=", KEY),
	REQUEST_TEXT(" value=", VALUE),
	REQUEST_TEXT(" by=", BY),
	REQUEST(TIME, " from=", from_ns, 0),
	REQUEST(TIME, " to=", to_ns, 0),
	REQUEST(COUNT, " nth=", nth, UINT32_MAX),
	REQUEST(COUNT, " over=", over_us, INT64_MAX / 1000),
	REQUEST(COUNT, " limit=", limit, UINT64_MAX),
	REQUEST(COUNT, " flags=", flags, SONDE_FLEET_FLAGS),
	{ 0 },
};

static const char *request_first(bool looks)
{
	return looks ? "sonde1 look" : "sonde1 report";
}

size_t sonde_fleet_request_put(const struct sonde_fleet_request *request,
			       char to[SONDE_NET_HEAD_MAX])
{
	return sonde_net_values_put(request_first(request->looks),
				    request_fields, request, to);
}

int sonde_fleet_request_parse(const void *bytes, size_t size,
			      struct sonde_fleet_request *ret_request)
{
	const char *hosts = ret_request->texts[SONDE_FLEET_HOSTS];
	const size_t length = sizeof("sonde1 look") - 1;

	ret_request->looks =
		size > length && !memcmp(bytes, request_first(true), length);
	if (!size ||
	    sonde_net_values_take(request_first(ret_request->looks),
				  request_fields, bytes, size,
				  ret_request) != size ||
	    !*hosts || !sonde_net_is_path(hosts) ||
	    (!ret_request->looks && !*ret_request->texts[SONDE_FLEET_REPORT]))
		return -EINVAL;
	return 0;
}

/* ---- answers ---- */

struct answer_sizes {
	uint64_t status, words, report, reach;
};

#define ANSWER(key, member, max) \
	SONDE_NET_FIELD(COUNT, key, struct answer_sizes, member, max)

static const struct sonde_net_field answer_fields[] = {
	ANSWER(" status=", status, 255),
	ANSWER(" words=", words, SONDE_FLEET_SAID_MAX),
	ANSWER(" report=", report, SONDE_FLEET_ANSWER_MAX),
	SONDE_NET_FIELD(SOME, " reach=", struct answer_sizes, reach, INT64_MAX),
	{ 0 },
};

void *sonde_fleet_answer_put(const struct sonde_fleet_answer *answer,
			     size_t *ret_size)
{
	const struct answer_sizes sizes = { answer->status, answer->words_size,
					    answer->report_size,
					    answer->reach_ns };
	char line[SONDE_NET_HEAD_MAX];
	size_t length = sonde_net_values_put("sonde1 answer", answer_fields,
					     &sizes, line);
	size_t size = length + answer->words_size + answer->report_size;
	char *bytes = malloc(size);

	if (!bytes)
		return NULL;
	memcpy(bytes, line, length);
	if (answer->words_size)
		memcpy(bytes + length, answer->words, answer->words_size);
	if (answer->report_size)
		memcpy(bytes + length + answer->words_size, answer->report,
		       answer->report_size);
	*ret_size = size;
	return bytes;
}

int sonde_fleet_answer_parse(const void *bytes, size_t size,
			     struct sonde_fleet_answer *ret_answer)
{
	struct answer_sizes sizes;
	size_t length = sonde_net_values_take("sonde1 answer", answer_fields,
					      bytes, size, &sizes);

	if (!length || sizes.words + sizes.report != size - length)
		return -EINVAL;
	ret_answer->status = sizes.status;
	ret_answer->words = (const char *)bytes + length;
	ret_answer->words_size = (size_t)sizes.words;
	ret_answer->report = ret_answer->words + sizes.words;
	ret_answer->report_size = (size_t)sizes.report;
	ret_answer->reach_ns = sizes.reach;
	return 0;
}
