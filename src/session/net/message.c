/* SPDX-License-Identifier: MIT */
/*
 * message.c - heads as lines (message.h, key_values.h), and what names in them may be.
 * Of all fields only `packed` may be left out.
 */
#include "session/net/message.h"

#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "base/sum.h"
#include "session/net/key_values.h"

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
		return !strcmp(file, "metadata") ||
		       !strcmp(file, SONDE_NET_CLOCK) || is_index(file);
	case SONDE_NET_PACKET:
	case SONDE_NET_REST:
		break;
	}
	return sonde_net_is_name(file) && strcmp(file, "metadata") != 0 &&
	       strcmp(file, "index") != 0;
}

/* ---- heads ---- */

#define HEAD(kind, key, member, ...) \
	SONDE_NET_FIELD(kind, key, struct sonde_net_head, member, __VA_ARGS__)
#define HEAD_TEXT(key, member) \
	SONDE_NET_FIELD_TEXT(key, struct sonde_net_head, member)

static const struct sonde_net_field head_fields[] = {
	HEAD(WORD, " ", kind, SONDE_ARRAY_SIZE(kinds), kinds),
	HEAD(ID, " trace=", trace, 0),
	HEAD(COUNT, " number=", number, UINT32_MAX),
	HEAD(COUNT, " offset=", offset, SONDE_NET_FILE_BYTES_MAX),
	HEAD(COUNT, " bytes=", bytes, SONDE_NET_BYTES_MAX),
	HEAD(COUNT, " body=", body, SONDE_NET_BODY_MAX),
	HEAD(SOME, " packed=", packed, SONDE_NET_BODY_MAX),
	HEAD(SUM, " sum=", sum, 0),
	HEAD(TIME, " begin=", begin_ns, 0),
	HEAD(TIME, " end=", end_ns, 0),
	HEAD_TEXT(" host=", host),
	HEAD_TEXT(" recording=", recording),
	HEAD_TEXT(" path=", path),
	HEAD_TEXT(" file=", file),
	{ 0 },
};

size_t sonde_net_head_put(const struct sonde_net_head *head,
			  char to[SONDE_NET_HEAD_MAX])
{
	return sonde_net_values_put("sonde1", head_fields, head, to);
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

int sonde_net_head_parse(const char *bytes, size_t size,
			 struct sonde_net_head *ret_head)
{
	size = sonde_net_values_take("sonde1", head_fields, bytes, size,
				     ret_head);
	return size && is_head_valid(ret_head) ? (int)size : -EINVAL;
}

bool sonde_net_is_body(const struct sonde_net_head *head, const void *body,
		       size_t size)
{
	return size == head->body && sonde_sum(body, size) == head->sum;
}
