/* SPDX-License-Identifier: MIT */
/*
 * kafka_protocol.c - URLs, topics and settings (kafka_protocol.h).
 *
 * A topic that was taken apart is put together again and compared, so that no two
 * topics are of one log.
 */
#include "session/net/kafka_protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hex.h"
#include "base/text.h"
#include "base/uuid.h"
#include "session/net/label.h"

#define SCHEME "kafka://"
#define ALIVE  "alive-"

static bool is_plain_in_topic(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c == '-';
}

static const struct sonde_net_label topic_label = { '_', is_plain_in_topic };

/* ---- URLs ---- */

static bool is_prefix(const char *prefix)
{
	if (!*prefix || *prefix == '.')
		return false;
	for (; *prefix; prefix++)
		if (!is_plain_in_topic(*prefix) && *prefix != '.' &&
		    *prefix != '_')
			return false;
	return true;
}

const char *sonde_kafka_take_url(const char *url,
				 char servers[SONDE_KAFKA_SERVERS],
				 char prefix[SONDE_KAFKA_TOPIC])
{
	struct sonde_text to = { .to = servers, .size = SONDE_KAFKA_SERVERS };
	struct sonde_text name = { .to = prefix, .size = SONDE_KAFKA_TOPIC };
	size_t length;

	if (!sonde_hex_take_word(&url, SCHEME))
		return "it begins with " SCHEME;
	length = strcspn(url, "/");
	if (!length || strcspn(url, " \t\n") < length)
		return "it has no brokers: " SCHEME "HOST[:PORT][,...]/TOPIC";
	if (memchr(url, '@', length))
		return "names and passwords are not in it, but in the file "
		       "that KCAT_CONFIG names: sasl.username=...";
	sonde_text_add(&to, "%.*s", (int)length, url);
	url += length;
	sonde_text_add(&name, "%s", url[0] && url[1] ? url + 1 : "sonde");
	if (to.length >= to.size || name.length >= name.size)
		return "it is too long";
	return is_prefix(prefix) ? NULL :
				   "a topic has letters, digits, '.', '_' and "
				   "'-', and doesn't begin with a '.'";
}

/* ---- topics ---- */

/* A topic up to the host's name; the caller adds what follows it. */
static struct sonde_text begin_topic(const char *prefix, const char *host,
				     char topic[SONDE_KAFKA_TOPIC])
{
	struct sonde_text text = { .to = topic, .size = SONDE_KAFKA_TOPIC };

	sonde_text_add(&text, "%s.", prefix);
	sonde_net_label_put(&topic_label, &text, host);
	return text;
}

/* What is behind the host's name. */
static const char *take_topic_host(const char *prefix, const char *topic,
				   char host[SONDE_NET_NAME_MAX + 1])
{
	size_t length = strlen(prefix);

	if (strncmp(topic, prefix, length) != 0 || topic[length] != '.')
		return NULL;
	return sonde_net_label_take(&topic_label, topic + length + 1, host);
}

bool sonde_kafka_put_topic(const char *prefix, const char *host,
			   const uint8_t trace[16],
			   char topic[SONDE_KAFKA_TOPIC])
{
	struct sonde_text text = begin_topic(prefix, host, topic);
	char id[33];

	sonde_hex_put(trace, 16, id);
	sonde_text_add(&text, ".%s", id);
	return text.length < text.size;
}

bool sonde_kafka_take_topic(const char *prefix, const char *topic,
			    char host[SONDE_NET_NAME_MAX + 1],
			    uint8_t trace[16])
{
	const char *rest = take_topic_host(prefix, topic, host);
	char again[SONDE_KAFKA_TOPIC];

	return rest && sonde_uuid_parse(rest, trace) &&
	       sonde_kafka_put_topic(prefix, host, trace, again) &&
	       !strcmp(again, topic);
}

bool sonde_kafka_put_beat_topic(const char *prefix, const char *host,
				uint64_t ship, char topic[SONDE_KAFKA_TOPIC])
{
	struct sonde_text text = begin_topic(prefix, host, topic);

	sonde_text_add(&text, "." ALIVE "%016" PRIx64, ship);
	return text.length < text.size;
}

bool sonde_kafka_take_beat_topic(const char *prefix, const char *topic,
				 char host[SONDE_NET_NAME_MAX + 1],
				 uint64_t *ret_ship)
{
	const char *rest = take_topic_host(prefix, topic, host);
	char again[SONDE_KAFKA_TOPIC];

	return rest && sonde_hex_take_word(&rest, ALIVE) &&
	       sonde_hex_take_number(&rest, ret_ship) &&
	       sonde_kafka_put_beat_topic(prefix, host, *ret_ship, again) &&
	       !strcmp(again, topic);
}

/* ---- settings ---- */

/* What is between the blanks, ended by a NUL. */
static char *trim_setting(char *text)
{
	size_t skipped = (size_t)(sonde_text_skip_blanks(text) - text);

	text += skipped;
	text[sonde_text_trim(text, strlen(text))] = 0;
	return text;
}

int sonde_kafka_take_setting(char *line, const char **ret_name,
			     const char **ret_value)
{
	char *equals;

	line = trim_setting(line);
	if (!*line || *line == '#')
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return -EINVAL;
	*equals = 0;
	*ret_name = trim_setting(line);
	*ret_value = trim_setting(equals + 1);
	return **ret_name ? 1 : -EINVAL;
}
