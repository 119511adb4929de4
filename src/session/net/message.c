/* SPDX-License-Identifier: MIT */
/*
 * message.c - heads as lines (message.h, line.h).
 *
 * All fields are there, in one order, but `packed` of what isn't, so that a head
 * has one text only.
 */
#include "session/net/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/number.h"
#include "base/port.h"
#include "base/sum.h"
#include "base/text.h"
#include "session/net/line.h"

static const char *const kinds[] = {
	[SONDE_NET_PACKET] = "packet",
	[SONDE_NET_REST] = "rest",
	[SONDE_NET_DOCUMENT] = "document",
	[SONDE_NET_END] = "end",
};

/* ---- names ---- */

static bool is_plain_name(const char *name, size_t length)
{
	if (length == 0 || length > SONDE_NET_NAME_MAX || name[0] == '.')
		return false;
	for (size_t i = 0; i < length; i++)
		if (name[i] == '/' || (unsigned char)name[i] < ' ' ||
		    name[i] == 0x7f)
			return false;
	return true;
}

bool sonde_net_is_name(const char *name)
{
	return is_plain_name(name, strlen(name));
}

bool sonde_net_is_path(const char *path)
{
	if (strlen(path) > SONDE_NET_PATH_MAX)
		return false;
	while (*path) {
		size_t length = strcspn(path, "/");

		if (!is_plain_name(path, length))
			return false;
		path += length;
		if (*path && !*++path)
			return false;
	}
	return true;
}

static bool is_index(const char *file)
{
	size_t length = strlen(file);

	return length > 10 && !memcmp(file, "index/", 6) &&
	       !strcmp(file + length - 4, ".idx") &&
	       is_plain_name(file + 6, length - 10);
}

bool sonde_net_is_file(enum sonde_net_kind kind, const char *file)
{
	switch (kind) {
	case SONDE_NET_END:
		return !*file;
	case SONDE_NET_DOCUMENT:
		return !strcmp(file, "metadata") || is_index(file);
	case SONDE_NET_PACKET:
	case SONDE_NET_REST:
		break;
	}
	return sonde_net_is_name(file) && strcmp(file, "metadata") != 0 &&
	       strcmp(file, "index") != 0;
}

/* ---- writing ---- */

size_t sonde_net_head_put(const struct sonde_net_head *head,
			  char to[SONDE_NET_HEAD_MAX])
{
	struct sonde_text text = { .to = to, .size = SONDE_NET_HEAD_MAX };
	char trace[33];

	sonde_hex_put(head->trace, 16, trace);
	sonde_text_add(&text,
		       "sonde1 %s trace=%s number=%" PRIu64 " offset=%" PRIu64
		       " bytes=%" PRIu64 " body=%" PRIu64,
		       kinds[head->kind], trace, head->number, head->offset,
		       head->bytes, head->body);
	if (head->packed)
		sonde_text_add(&text, " packed=%" PRIu64, head->packed);
	sonde_text_add(&text,
		       " sum=%016" PRIx64 " begin=%" PRId64 " end=%" PRId64,
		       head->sum, head->begin_ns, head->end_ns);
	sonde_net_put_text(&text, "host", head->host);
	sonde_net_put_text(&text, "recording", head->recording);
	sonde_net_put_text(&text, "path", head->path);
	sonde_net_put_text(&text, "file", head->file);
	sonde_net_put_check(&text);
	return text.length;
}

/* ---- reading ---- */

static bool net_take_kind(const char **at, enum sonde_net_kind *ret_kind)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(kinds); i++) {
		const char *p = *at;

		if (!sonde_hex_take_word(&p, kinds[i]) || *p != ' ')
			continue;
		*at = p;
		*ret_kind = (enum sonde_net_kind)i;
		return true;
	}
	return false;
}

static bool net_take_numbers(const char **at, struct sonde_net_head *head)
{
	head->packed = 0;
	return sonde_hex_take_word(at, " trace=") &&
	       sonde_hex_take_bytes(at, head->trace, sizeof(head->trace)) &&
	       sonde_net_take_count(at, " number=", UINT32_MAX,
				    &head->number) &&
	       sonde_net_take_count(at, " offset=", SONDE_NET_FILE_BYTES_MAX,
				    &head->offset) &&
	       sonde_net_take_count(at, " bytes=", SONDE_NET_BYTES_MAX,
				    &head->bytes) &&
	       sonde_net_take_count(at, " body=", SONDE_NET_BODY_MAX,
				    &head->body) &&
	       (!sonde_hex_take_word(at, " packed=") ||
		sonde_number_take(at, 10, SONDE_NET_BODY_MAX, &head->packed)) &&
	       sonde_hex_take_word(at, " sum=") &&
	       sonde_hex_take_number(at, &head->sum) &&
	       sonde_net_take_time(at, " begin=", &head->begin_ns) &&
	       sonde_net_take_time(at, " end=", &head->end_ns);
}

static bool net_take_names(const char **at, struct sonde_net_head *head)
{
	return sonde_net_take_text(at, " host=", head->host,
				   sizeof(head->host)) &&
	       sonde_net_take_text(at, " recording=", head->recording,
				   sizeof(head->recording)) &&
	       sonde_net_take_text(at, " path=", head->path,
				   sizeof(head->path)) &&
	       sonde_net_take_text(at, " file=", head->file,
				   sizeof(head->file));
}

static bool is_head_valid(const struct sonde_net_head *head)
{
	bool is_piece =
		head->kind == SONDE_NET_PACKET || head->kind == SONDE_NET_REST;

	return sonde_net_is_name(head->host) &&
	       sonde_net_is_name(head->recording) &&
	       sonde_net_is_path(head->path) &&
	       sonde_net_is_file(head->kind, head->file) &&
	       head->body <= head->bytes &&
	       (!head->packed || head->packed < head->body) &&
	       (is_piece ? head->bytes > 0 : head->offset == 0);
}

/* A head has one text, so the bytes are right if they are what we would write:
 * the checksum as well, and digits that could be other ones. */
static bool is_as_written(const struct sonde_net_head *head, const char *bytes,
			  size_t size)
{
	char line[SONDE_NET_HEAD_MAX];

	return sonde_net_head_put(head, line) == size &&
	       !memcmp(line, bytes, size);
}

int sonde_net_head_parse(const char *bytes, size_t size,
			 struct sonde_net_head *ret_head)
{
	char line[SONDE_NET_HEAD_MAX];
	const char *at = line;

	size = sonde_net_copy_line(bytes, size, line);
	if (!size || !sonde_hex_take_word(&at, "sonde1 ") ||
	    !net_take_kind(&at, &ret_head->kind) ||
	    !net_take_numbers(&at, ret_head) ||
	    !net_take_names(&at, ret_head) || !is_head_valid(ret_head) ||
	    !is_as_written(ret_head, bytes, size))
		return -EINVAL;
	return (int)size;
}

bool sonde_net_is_body(const struct sonde_net_head *head, const void *body,
		       size_t size)
{
	return size == head->body && sonde_sum(body, size) == head->sum;
}
