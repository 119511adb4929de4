/* SPDX-License-Identifier: MIT */
/*
 * label.h - a host's name as a part of a name that an engine gives: of a subject, of
 * a topic. What such a part may not have is an escape and two digits: "%2e".
 *
 * What is taken apart is a stranger's.
 */
#ifndef SESSION_NET_LABEL_H
#define SESSION_NET_LABEL_H

#include <stdbool.h>

#include "base/text.h"
#include "session/net/message.h"

/* How an engine writes it. '.' is never plain: it ends the part. */
struct sonde_net_label {
	char escape; /* isn't plain either */
	bool (*is_plain)(char c);
};

void sonde_net_label_put(const struct sonde_net_label *how,
			 struct sonde_text *text, const char *host);

/* Reads one at the start of `text` and the '.' behind it: what is behind that, or
 * NULL: it is none, or no host can have that name. */
const char *sonde_net_label_take(const struct sonde_net_label *how,
				 const char *text,
				 char host[SONDE_NET_NAME_MAX + 1]);

#endif /* SESSION_NET_LABEL_H */
