/* SPDX-License-Identifier: MIT */
/* globs.c - patterns with commas between (globs.h). */
#include "fleet/globs.h"

#include <fnmatch.h>
#include <stdio.h>

#include "base/text.h"
#include "session/net/message.h"

bool sonde_fleet_is_any_of(const char *globs, const char *name)
{
	char glob[SONDE_NET_NAME_MAX + 1];

	if (!globs)
		return true;
	while (*globs) {
		size_t length = sonde_text_item(globs, ',');

		(void)snprintf(glob, sizeof(glob), "%.*s", (int)length, globs);
		if (!fnmatch(glob, name, 0))
			return true;
		globs += length + (globs[length] == ',');
	}
	return false;
}
