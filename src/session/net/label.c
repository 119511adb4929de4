/* SPDX-License-Identifier: MIT */
/* label.c - hosts' names within names of engines (label.h); reading never goes
 * beyond a NUL. */
#include "session/net/label.h"

#include <string.h>

#include "base/hex.h"

void sonde_net_label_put(const struct sonde_net_label *how,
			 struct sonde_text *text, const char *host)
{
	for (; *host; host++)
		if (how->is_plain(*host))
			sonde_text_add(text, "%c", *host);
		else
			sonde_text_add(text, "%c%02x", how->escape,
				       (unsigned char)*host);
}

const char *sonde_net_label_take(const struct sonde_net_label *how,
				 const char *text,
				 char host[SONDE_NET_NAME_MAX + 1])
{
	size_t n = 0;

	for (; *text && *text != '.'; n++) {
		uint8_t byte = (uint8_t)*text++;

		if (n == SONDE_NET_NAME_MAX)
			return NULL;
		if ((char)byte == how->escape &&
		    !sonde_hex_take_bytes(&text, &byte, 1))
			return NULL;
		host[n] = (char)byte;
	}
	host[n] = 0;
	return *text && strlen(host) == n && sonde_net_is_name(host) ?
		       text + 1 :
		       NULL;
}
