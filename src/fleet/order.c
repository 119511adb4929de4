/* SPDX-License-Identifier: MIT */
/*
 * order.c - what is asked of the sessions of many machines, as a line (order.h).
 */
#include "fleet/order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "session/net/key_values.h"

static const char *const names[SONDE_FLEET_NR_ORDERS] = {
	[SONDE_FLEET_ORDER_STATUS] = "status",
	[SONDE_FLEET_ORDER_SNAPSHOT] = "snapshot",
	[SONDE_FLEET_ORDER_STOP] = "stop",
	[SONDE_FLEET_ORDER_DESTROY] = "destroy",
	[SONDE_FLEET_ORDER_CHANGE] = "change",
	[SONDE_FLEET_ORDER_START] = "start",
};

#define ORDER(kind, key, member, ...)                                \
	SONDE_NET_FIELD(kind, key, struct sonde_fleet_order, member, \
			__VA_ARGS__)
#define ORDER_TEXT(key, member) \
	SONDE_NET_FIELD_TEXT(key, struct sonde_fleet_order, member)

static const struct sonde_net_field order_fields[] = {
	ORDER(WORD, " ", what, SONDE_FLEET_NR_ORDERS, names),
	ORDER(ID, " job=", job, 0),
	ORDER_TEXT(" hosts=", hosts),
	ORDER_TEXT(" session=", session),
	ORDER_TEXT(" words=", words),
	{ 0 },
};

const char *sonde_fleet_order_name(enum sonde_fleet_order_what what)
{
	return names[what];
}

enum sonde_fleet_order_what sonde_fleet_order_find(const char *name,
						   size_t size)
{
	unsigned int i = 0;

	while (i < SONDE_FLEET_NR_ORDERS &&
	       (strlen(names[i]) != size || memcmp(names[i], name, size) != 0))
		i++;
	return (enum sonde_fleet_order_what)i;
}

int sonde_fleet_order_add(struct sonde_fleet_order *order, const char *name,
			  const char *value)
{
	size_t used = strlen(order->words);
	size_t room = sizeof(order->words) - used;
	int n;

	if (value && strchr(value, '\n'))
		return -EINVAL;
	n = snprintf(order->words + used, room, "--%s%s%s\n", name,
		     value ? "=" : "", value ? value : "");
	if (n > 0 && (size_t)n < room)
		return 0;
	order->words[used] = '\0';
	return -E2BIG;
}

bool sonde_fleet_order_next(const char **at,
			    struct sonde_fleet_order_word *ret_word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz-";
	const char *end = strchr(*at, '\n');
	const char *name = *at + 2;
	size_t length;

	if (!end || strncmp(*at, "--", 2) != 0)
		return false;
	length = strspn(name, letters);
	if (!length || length > SONDE_FLEET_ORDER_NAME || *name == '-' ||
	    (name[length] != '=' && name[length] != '\n'))
		return false;
	(void)snprintf(ret_word->name, sizeof(ret_word->name), "%.*s",
		       (int)length, name);
	ret_word->has_value = name[length] == '=';
	name += length + ret_word->has_value;
	(void)snprintf(ret_word->value, sizeof(ret_word->value), "%.*s",
		       (int)(end - name), name);
	*at = end + 1;
	return true;
}

static bool has_words_only(const struct sonde_fleet_order *order)
{
	struct sonde_fleet_order_word word;
	const char *at = order->words;

	while (sonde_fleet_order_next(&at, &word))
		;
	return !*at;
}

size_t sonde_fleet_order_put(const struct sonde_fleet_order *order,
			     char to[SONDE_NET_HEAD_MAX])
{
	return sonde_net_values_put("sonde1 order", order_fields, order, to);
}

int sonde_fleet_order_parse(const void *bytes, size_t size,
			    struct sonde_fleet_order *ret_order)
{
	size_t length = sonde_net_values_take("sonde1 order", order_fields,
					      bytes, size, ret_order);

	*ret_order->by = '\0';
	return length && length == size && *ret_order->hosts &&
			       sonde_session_is_name(ret_order->session) &&
			       has_words_only(ret_order) ?
		       0 :
		       -EINVAL;
}
