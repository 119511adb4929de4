/* SPDX-License-Identifier: MIT */
/*
 * beat.c - heartbeats as lines (beat.h, line.h). All fields are there, in one
 * order, so that a heartbeat has one text only.
 */
#include "session/net/beat.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "session/net/line.h"

static const char *const states[] = {
	[SONDE_NET_BEAT_RUNNING] = "running",
	[SONDE_NET_BEAT_ENDED] = "ended",
	[SONDE_NET_BEAT_STOPPED] = "stopped",
};

/* The numbers in the order of the line; `max`: the most that is taken. */
static const struct {
	const char *key;
	size_t place;
	uint64_t max;
} counts[] = {
#define COUNT(key, field, max)                                             \
	{                                                                  \
		" " key "=", offsetof(struct sonde_net_beat, field), (max) \
	}
	COUNT("number", number, UINT32_MAX),
	COUNT("interval", interval_ms, SONDE_NET_BEAT_MS_MAX),
	COUNT("traces", traces, UINT32_MAX),
	COUNT("growing", growing, UINT32_MAX),
	COUNT("packets", packets, SONDE_NET_BEAT_COUNT_MAX),
	COUNT("bytes", bytes, SONDE_NET_BEAT_COUNT_MAX),
	COUNT("kept", kept, SONDE_NET_BEAT_COUNT_MAX),
	COUNT("unsent", unsent, SONDE_NET_BEAT_COUNT_MAX),
	COUNT("lacking", lacking, SONDE_NET_BEAT_COUNT_MAX),
	COUNT("lost", lost, SONDE_NET_BEAT_COUNT_MAX),
	COUNT("cpu", cpu_ns, SONDE_NET_BEAT_COUNT_MAX),
	COUNT("error", error_us, SONDE_NET_BEAT_COUNT_MAX),
	COUNT("bound", bound_ns, SONDE_NET_BEAT_COUNT_MAX),
#undef COUNT
};

const char *sonde_net_beat_state_word(enum sonde_net_beat_state state)
{
	return states[state];
}

size_t sonde_net_beat_put(const struct sonde_net_beat *beat,
			  char to[SONDE_NET_HEAD_MAX])
{
	struct sonde_text text = { .to = to, .size = SONDE_NET_HEAD_MAX };
	char boot[33];

	sonde_text_add(&text, "sonde1 alive");
	sonde_net_put_text(&text, "host", beat->host);
	sonde_net_put_text(&text, "recording", beat->recording);
	sonde_hex_put(beat->boot, 16, boot);
	sonde_text_add(&text, " boot=%s ship=%016" PRIx64 " state=%s", boot,
		       beat->ship, states[beat->state]);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(counts); i++) {
		uint64_t count;

		memcpy(&count, (const char *)beat + counts[i].place,
		       sizeof(count));
		sonde_text_add(&text, "%s%" PRIu64, counts[i].key, count);
	}
	sonde_text_add(&text,
		       " began=%" PRId64 " said=%" PRId64 " ahead=%" PRId64,
		       beat->began_ns, beat->said_ns, beat->ahead_ns);
	sonde_net_put_check(&text);
	return text.length;
}

static bool beat_take_state(const char **at,
			    enum sonde_net_beat_state *ret_state)
{
	if (!sonde_hex_take_word(at, " state="))
		return false;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(states); i++) {
		if (!sonde_hex_take_word(at, states[i]))
			continue;
		*ret_state = (enum sonde_net_beat_state)i;
		return true;
	}
	return false;
}

static bool beat_take_counts(const char **at, struct sonde_net_beat *beat)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(counts); i++) {
		uint64_t count;

		if (!sonde_net_take_count(at, counts[i].key, counts[i].max,
					  &count))
			return false;
		memcpy((char *)beat + counts[i].place, &count, sizeof(count));
	}
	return true;
}

static bool beat_take_all(const char **at, struct sonde_net_beat *beat)
{
	return sonde_hex_take_word(at, "sonde1 alive") &&
	       sonde_net_take_text(at, " host=", beat->host,
				   sizeof(beat->host)) &&
	       sonde_net_take_text(at, " recording=", beat->recording,
				   sizeof(beat->recording)) &&
	       sonde_hex_take_word(at, " boot=") &&
	       sonde_hex_take_bytes(at, beat->boot, sizeof(beat->boot)) &&
	       sonde_hex_take_word(at, " ship=") &&
	       sonde_hex_take_number(at, &beat->ship) &&
	       beat_take_state(at, &beat->state) &&
	       beat_take_counts(at, beat) &&
	       sonde_net_take_time(at, " began=", &beat->began_ns) &&
	       sonde_net_take_time(at, " said=", &beat->said_ns) &&
	       sonde_net_take_time(at, " ahead=", &beat->ahead_ns);
}

int sonde_net_beat_parse(const char *bytes, size_t size,
			 struct sonde_net_beat *ret_beat)
{
	char line[SONDE_NET_HEAD_MAX];
	char again[SONDE_NET_HEAD_MAX];
	const char *at = line;

	size = sonde_net_copy_line(bytes, size, line);
	if (!size || !beat_take_all(&at, ret_beat) ||
	    !sonde_net_is_name(ret_beat->host) ||
	    !sonde_net_is_name(ret_beat->recording) || !ret_beat->interval_ms ||
	    ret_beat->ahead_ns > SONDE_NET_BEAT_AHEAD_MAX ||
	    ret_beat->ahead_ns < -SONDE_NET_BEAT_AHEAD_MAX ||
	    sonde_net_beat_put(ret_beat, again) != size ||
	    memcmp(again, line, size) != 0)
		return -EINVAL;
	return (int)size;
}
