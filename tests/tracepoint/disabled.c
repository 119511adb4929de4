/* SPDX-License-Identifier: MIT */
/* disabled.c - with SONDE_DISABLE: no code, no data, no warning. */
#define SONDE_DISABLE
#include <sonde/tracepoint.h>

struct thing {
	int x;
	char name[8];
};

int missing(int x);
int disabled(const struct thing *thing, const char *text, int n);

int disabled(const struct thing *thing, const char *text, int n)
{
	int only_traced = n + 1;
	const int numbers[2] = { 1, 2 };

	sonde_event(off, nothing);
	sonde_event(off, all, only_traced, thing->x, thing->name, text,
		    missing(n), numbers);
	sonde_event(off, typed, sonde_sequence(s, numbers, n),
		    sonde_blob(b, numbers, sizeof(numbers)),
		    sonde_string_max(m, text, n), sonde_bits(bits, n, 4),
		    sonde_enum(e, n, sonde_label("l", 1)),
		    sonde_struct(p, n, sonde_hex(h, n)),
		    sonde_variant(v, n, n, sonde_string(s, text)));
	sonde_event_level(off, leveled, SONDE_DEBUG, n);
	sonde_snapshot("reason");
	if (sonde_event_enabled(off, all))
		return 1;
	return 0;
}
