/* SPDX-License-Identifier: MIT */
/*
 * nats_protocol.c - subjects, ids and answers (nats_protocol.h).
 *
 * A server's answer is JSON, which the server writes without blanks and with the
 * stream first, or the error. Only these beginnings are taken for what they are;
 * whatever else it is, nothing was acknowledged by it.
 */
#include "session/net/nats_protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/sum.h"
#include "base/text.h"
#include "base/uuid.h"
#include "session/net/label.h"

#define BEATS "sonde-hosts" /* begins their subjects */

static bool is_plain_in_subject(char c)
{
	return c > ' ' && c < 0x7f && !strchr(".*>%", c);
}

static const struct sonde_net_label label = { '%', is_plain_in_subject };

/* "FIRST.HOST.ID" */
static void put_subject(const char *first, const char *host,
			const uint8_t bytes[16],
			char subject[SONDE_NATS_SUBJECT])
{
	struct sonde_text text = { .to = subject, .size = SONDE_NATS_SUBJECT };
	char id[33];

	sonde_hex_put(bytes, 16, id);
	sonde_text_add(&text, "%s.", first);
	sonde_net_label_put(&label, &text, host);
	sonde_text_add(&text, ".%s", id);
}

/* `first` with its point. */
static bool take_subject(const char *first, const char *subject,
			 char host[SONDE_NET_NAME_MAX + 1], uint8_t bytes[16])
{
	if (!sonde_hex_take_word(&subject, first))
		return false;
	subject = sonde_net_label_take(&label, subject, host);
	subject = subject ? sonde_uuid_parse(subject, bytes) : NULL;
	return subject && !*subject;
}

void sonde_nats_put_subject(const char *host, const uint8_t trace[16],
			    char subject[SONDE_NATS_SUBJECT])
{
	put_subject("sonde", host, trace, subject);
}

bool sonde_nats_take_subject(const char *subject,
			     char host[SONDE_NET_NAME_MAX + 1],
			     uint8_t trace[16])
{
	return take_subject("sonde.", subject, host, trace);
}

void sonde_nats_put_answer_subject(const char *host, const uint8_t job[16],
				   char subject[SONDE_NATS_SUBJECT])
{
	put_subject(SONDE_NATS_ANSWERS, host, job, subject);
}

bool sonde_nats_take_answer_subject(const char *subject,
				    char host[SONDE_NET_NAME_MAX + 1],
				    uint8_t job[16])
{
	return take_subject(SONDE_NATS_ANSWERS ".", subject, host, job);
}

void sonde_nats_put_order_subject(const char *host, const uint8_t job[16],
				  char subject[SONDE_NATS_SUBJECT])
{
	put_subject(SONDE_NATS_ORDERS, host, job, subject);
}

bool sonde_nats_take_order_subject(const char *subject,
				   char host[SONDE_NET_NAME_MAX + 1],
				   uint8_t job[16])
{
	return take_subject(SONDE_NATS_ORDERS ".", subject, host, job);
}

void sonde_nats_put_beat_subject(const char *host, uint64_t ship,
				 char subject[SONDE_NATS_SUBJECT])
{
	struct sonde_text text = { .to = subject, .size = SONDE_NATS_SUBJECT };

	sonde_text_add(&text, BEATS ".");
	sonde_net_label_put(&label, &text, host);
	sonde_text_add(&text, ".%016" PRIx64, ship);
}

bool sonde_nats_take_beat_subject(const char *subject,
				  char host[SONDE_NET_NAME_MAX + 1],
				  uint64_t *ret_ship)
{
	if (!sonde_hex_take_word(&subject, BEATS "."))
		return false;
	subject = sonde_net_label_take(&label, subject, host);
	return subject && strlen(subject) == 16 &&
	       sonde_hex_take_number(&subject, ret_ship) && !*subject;
}

bool sonde_nats_is_about_beats(const char *words)
{
	return strstr(words, "\"" BEATS ".") || strstr(words, SONDE_NATS_HOSTS);
}

/* One trace may be shipped under two names of hosts. Documents and ends say more
 * each time, also when who published the last one was killed before it knew that it
 * had: so the sum is a part of it. */
void sonde_nats_put_id(const struct sonde_net_head *head,
		       char id[SONDE_NATS_ID])
{
	char trace[33];

	sonde_hex_put(head->trace, 16, trace);
	(void)snprintf(id, SONDE_NATS_ID,
		       "%s/%016" PRIx64 "/%d/%016" PRIx64 "/%" PRIu64
		       "/%016" PRIx64,
		       trace, sonde_sum(head->host, strlen(head->host)),
		       head->kind, sonde_sum(head->file, strlen(head->file)),
		       head->number, head->sum);
}

static bool begins_with(const char *bytes, size_t size, const char *word)
{
	size_t length = strlen(word);

	return size >= length && !memcmp(bytes, word, length);
}

enum sonde_nats_answer sonde_nats_answer(const char *bytes, size_t size)
{
	if (begins_with(bytes, size, "{\"stream\":\"" SONDE_NATS_STREAM "\","))
		return SONDE_NATS_STORED;
	/* but not that it is full, which doesn't pass by itself */
	if (begins_with(bytes, size, "{\"error\":{\"code\":503,") &&
	    !begins_with(bytes, size,
			 "{\"error\":{\"code\":503,\"err_code\":10023,"))
		return SONDE_NATS_LATER;
	return SONDE_NATS_REFUSED;
}
