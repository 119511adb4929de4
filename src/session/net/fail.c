/* SPDX-License-Identifier: MIT */
/* fail.c - words about what went wrong, for engines and who uses them; cut to
 * what there is room for. */
#include <stdarg.h>
#include <stdio.h>

#include "session/net/net.h"

int sonde_net_fail(struct sonde_net_error *error, int err, const char *format,
		   ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return err;
}
