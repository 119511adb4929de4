/* SPDX-License-Identifier: MIT */
/*
 * words.c - lines of those who work, and of those they work for (words.h). Each
 * has all its fields, in one order, so what was read is written again and
 * compared.
 */
#include "fleet/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "session/net/line.h"

#define NR_WORDS (SONDE_FLEET_OVER + 1)

static const char *const word_names[] = {
	[SONDE_FLEET_TAKE] = "take", [SONDE_FLEET_ALIVE] = "alive",
	[SONDE_FLEET_PART] = "part", [SONDE_FLEET_UNIT] = "unit",
	[SONDE_FLEET_WAIT] = "wait", [SONDE_FLEET_GO] = "go",
	[SONDE_FLEET_OVER] = "over",
};

static const char *const text_keys[] = {
	[SONDE_FLEET_HOSTS] = "hosts",   [SONDE_FLEET_TRACES] = "traces",
	[SONDE_FLEET_REPORT] = "report", [SONDE_FLEET_FILTER] = "filter",
	[SONDE_FLEET_BEGIN] = "begin",   [SONDE_FLEET_END] = "end",
	[SONDE_FLEET_KEY] = "key",       [SONDE_FLEET_VALUE] = "value",
	[SONDE_FLEET_BY] = "by",
};

/* ---- words ---- */

size_t sonde_fleet_word_put(const struct sonde_fleet_word *word,
			    char to[SONDE_NET_HEAD_MAX])
{
	struct sonde_text text = { .to = to, .size = SONDE_NET_HEAD_MAX };

	sonde_text_add(&text,
		       "sonde1 %s worker=%016" PRIx64 " unit=%" PRIu64
		       " begin=%" PRIu64 " all=%" PRIu64 " body=%" PRIu64,
		       word_names[word->kind], word->worker, word->unit,
		       word->begin, word->all, word->body);
	sonde_net_put_check(&text);
	return text.length;
}

static bool word_take_kind(const char **at,
			   enum sonde_fleet_word_kind *ret_kind)
{
	for (int i = 0; i < NR_WORDS; i++) {
		if (!sonde_hex_take_word(at, word_names[i]))
			continue;
		*ret_kind = (enum sonde_fleet_word_kind)i;
		return true;
	}
	return false;
}

static bool word_take(const char **at, struct sonde_fleet_word *word)
{
	return sonde_hex_take_word(at, "sonde1 ") &&
	       word_take_kind(at, &word->kind) &&
	       sonde_hex_take_word(at, " worker=") &&
	       sonde_hex_take_number(at, &word->worker) &&
	       sonde_net_take_count(at, " unit=", SONDE_FLEET_UNITS_MAX - 1,
				    &word->unit) &&
	       sonde_net_take_count(at, " begin=", SONDE_FLEET_ANSWER_MAX,
				    &word->begin) &&
	       sonde_net_take_count(at, " all=", SONDE_FLEET_ANSWER_MAX,
				    &word->all) &&
	       sonde_net_take_count(at, " body=", SONDE_FLEET_ANSWER_MAX,
				    &word->body);
}

int sonde_fleet_word_parse(const void *bytes, size_t size,
			   struct sonde_fleet_word *ret_word)
{
	char line[SONDE_NET_HEAD_MAX];
	char again[SONDE_NET_HEAD_MAX];
	const char *at = line;
	size_t length = sonde_net_copy_line(bytes, size, line);

	if (!length || !word_take(&at, ret_word) ||
	    ret_word->body != size - length ||
	    (ret_word->kind == SONDE_FLEET_PART &&
	     (!ret_word->body ||
	      ret_word->begin + ret_word->body > ret_word->all)) ||
	    sonde_fleet_word_put(ret_word, again) != length ||
	    memcmp(again, line, length) != 0)
		return -EINVAL;
	return (int)length;
}

/* ---- requests ---- */

size_t sonde_fleet_request_put(const struct sonde_fleet_request *request,
			       char to[SONDE_NET_HEAD_MAX])
{
	struct sonde_text text = { .to = to, .size = SONDE_NET_HEAD_MAX };

	sonde_text_add(&text, "sonde1 %s", request->looks ? "look" : "report");
	for (size_t i = 0; i < SONDE_FLEET_NR_TEXTS; i++)
		sonde_net_put_text(&text, text_keys[i], request->texts[i]);
	sonde_text_add(&text,
		       " from=%" PRId64 " to=%" PRId64 " nth=%" PRIu64
		       " over=%" PRIu64 " limit=%" PRIu64 " flags=%" PRIu64,
		       request->from_ns, request->to_ns, request->nth,
		       request->over_us, request->limit, request->flags);
	if (text.length >= SONDE_NET_HEAD_MAX - sizeof(" check=") - 17)
		return 0;
	sonde_net_put_check(&text);
	return text.length;
}

static bool request_take_texts(const char **at,
			       struct sonde_fleet_request *request)
{
	char key[16];

	for (size_t i = 0; i < SONDE_FLEET_NR_TEXTS; i++) {
		struct sonde_text text = { .to = key, .size = sizeof(key) };

		sonde_text_add(&text, " %s=", text_keys[i]);
		if (!sonde_net_take_text(at, key, request->texts[i],
					 sizeof(request->texts[i])))
			return false;
	}
	return true;
}

static bool request_take(const char **at, struct sonde_fleet_request *request)
{
	if (!sonde_hex_take_word(at, "sonde1 "))
		return false;
	request->looks = sonde_hex_take_word(at, "look");
	return (request->looks || sonde_hex_take_word(at, "report")) &&
	       request_take_texts(at, request) &&
	       sonde_net_take_time(at, " from=", &request->from_ns) &&
	       sonde_net_take_time(at, " to=", &request->to_ns) &&
	       sonde_net_take_count(at, " nth=", UINT32_MAX, &request->nth) &&
	       sonde_net_take_count(at, " over=", INT64_MAX / 1000,
				    &request->over_us) &&
	       sonde_net_take_count(at, " limit=", UINT64_MAX,
				    &request->limit) &&
	       sonde_net_take_count(at, " flags=", SONDE_FLEET_FLAGS,
				    &request->flags);
}

int sonde_fleet_request_parse(const void *bytes, size_t size,
			      struct sonde_fleet_request *ret_request)
{
	char line[SONDE_NET_HEAD_MAX];
	char again[SONDE_NET_HEAD_MAX];
	const char *hosts = ret_request->texts[SONDE_FLEET_HOSTS];
	const char *at = line;

	if (sonde_net_copy_line(bytes, size, line) != size || !size ||
	    !request_take(&at, ret_request) || !*hosts ||
	    !sonde_net_is_path(hosts) ||
	    ret_request->looks != !*ret_request->texts[SONDE_FLEET_REPORT] ||
	    sonde_fleet_request_put(ret_request, again) != size ||
	    memcmp(again, line, size) != 0)
		return -EINVAL;
	return 0;
}

/* ---- answers ---- */

static size_t answer_put_line(const struct sonde_fleet_answer *answer,
			      char to[SONDE_NET_HEAD_MAX])
{
	struct sonde_text text = { .to = to, .size = SONDE_NET_HEAD_MAX };

	sonde_text_add(&text,
		       "sonde1 answer status=%" PRIu64 " words=%zu report=%zu",
		       answer->status, answer->words_size, answer->report_size);
	sonde_net_put_check(&text);
	return text.length;
}

void *sonde_fleet_answer_put(const struct sonde_fleet_answer *answer,
			     size_t *ret_size)
{
	char line[SONDE_NET_HEAD_MAX];
	size_t length = answer_put_line(answer, line);
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
	char line[SONDE_NET_HEAD_MAX];
	char again[SONDE_NET_HEAD_MAX];
	const char *at = line;
	size_t length = sonde_net_copy_line(bytes, size, line);
	uint64_t words;
	uint64_t report;

	if (!length || !sonde_hex_take_word(&at, "sonde1 answer") ||
	    !sonde_net_take_count(&at, " status=", 255, &ret_answer->status) ||
	    !sonde_net_take_count(&at, " words=", SONDE_FLEET_SAID_MAX,
				  &words) ||
	    !sonde_net_take_count(&at, " report=", SONDE_FLEET_ANSWER_MAX,
				  &report) ||
	    words + report != size - length)
		return -EINVAL;
	ret_answer->words = (const char *)bytes + length;
	ret_answer->words_size = (size_t)words;
	ret_answer->report = ret_answer->words + words;
	ret_answer->report_size = (size_t)report;
	if (answer_put_line(ret_answer, again) != length ||
	    memcmp(again, line, length) != 0)
		return -EINVAL;
	return 0;
}
