/* SPDX-License-Identifier: MIT */
/*
 * every.h - a provider for LTTng-UST that uses each of its macros. test_lttng.py
 * compiles it against LTTng's headers and against Sonde's, as it is and in the
 * names of the first interface.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER every

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./every.h"

#if !defined(EVERY_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define EVERY_H

#include <lttng/tracepoint.h>
#include <stdbool.h>
#include <stdint.h>

#include "things.h"

/* clang-format off */

LTTNG_UST_TRACEPOINT_ENUM(
	every, colour,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("RED", 0)
		lttng_ust_field_enum_value("a green one", 2)
		lttng_ust_field_enum_auto("AFTER_GREEN")
		lttng_ust_field_enum_range("many", 10, 20)
		lttng_ust_field_enum_auto("TWENTYONE")
	)
)

LTTNG_UST_TRACEPOINT_ENUM(
	every, depth,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_range("below", -100, -1)
		lttng_ust_field_enum_value("ground", 0)
		lttng_ust_field_enum_value("sky", 70000)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	LTTNG_UST_TRACEPOINT_PROVIDER, integers,
	LTTNG_UST_TP_ARGS(long long, a, unsigned long long, b,
			  const struct thing *, t),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(char, plain_char, a)
		lttng_ust_field_integer(signed char, s8, a)
		lttng_ust_field_integer(unsigned char, u8, b)
		lttng_ust_field_integer(short, s16, a)
		lttng_ust_field_integer(unsigned short, u16, b)
		lttng_ust_field_integer(int, s32, a)
		lttng_ust_field_integer(unsigned int, u32, b)
		lttng_ust_field_integer(long, slong, a)
		lttng_ust_field_integer(unsigned long, ulong_, b)
		lttng_ust_field_integer(long long, s64, a)
		lttng_ust_field_integer(uint64_t, u64, b)
		lttng_ust_field_integer(size_t, size, sizeof(struct thing))
		lttng_ust_field_integer(bool, yes, a != 0)
		lttng_ust_field_integer(enum kind, kind, t->kind)
		lttng_ust_field_integer_hex(int, hex32, t->number)
		lttng_ust_field_integer_hex(uint64_t, hex64, b)
		lttng_ust_field_integer_network(uint16_t, net16, t->net16)
		lttng_ust_field_integer_network_hex(uint32_t, net32, t->net32)
		lttng_ust_field_integer(int, sum, t->number + 2 * (int)a)
		lttng_ust_field_integer_nowrite(int, hidden, (int)a)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	every, pointers,
	LTTNG_UST_TP_ARGS(const void *, p, char *, q),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(const void *, p, p)
		lttng_ust_field_integer_hex(uintptr_t, q, (uintptr_t)q)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	every, floats,
	LTTNG_UST_TP_ARGS(double, d, float, f),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_float(double, d, d)
		lttng_ust_field_float(float, f, f)
		lttng_ust_field_float(double, from_int, (int)d)
		lttng_ust_field_float_nowrite(double, hidden, d)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	every, strings,
	LTTNG_UST_TP_ARGS(const char *, text, const char *, nothing,
			  size_t, n),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(text, text)
		lttng_ust_field_string(nothing, nothing)
		lttng_ust_field_array_text(char, four, text, 4)
		lttng_ust_field_sequence_text(char, some, text, size_t, n)
		lttng_ust_field_sequence_text(char, none, text, unsigned char,
					      0)
		lttng_ust_field_string_nowrite(hidden, text)
		lttng_ust_field_array_text_nowrite(char, hidden4, text, 4)
		lttng_ust_field_sequence_text_nowrite(char, hidden_n, text,
						      size_t, n)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	every, arrays,
	LTTNG_UST_TP_ARGS(int *, ints, const struct thing *, t),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array(int, ints, ints, 3)
		lttng_ust_field_array_hex(unsigned char, bytes, t->bytes, 4)
		lttng_ust_field_array_network(uint16_t, nets, t->nets, 2)
		lttng_ust_field_array_network_hex(uint16_t, nets_hex, t->nets,
						  2)
		lttng_ust_field_array(char, chars, t->name, 3)
		lttng_ust_field_array(long, longs, t->longs, 2)
		lttng_ust_field_array_nowrite(int, h1, ints, 3)
		lttng_ust_field_array_nowrite_hex(int, h2, ints, 3)
		lttng_ust_field_array_network_nowrite(int, h3, ints, 3)
		lttng_ust_field_array_network_nowrite_hex(int, h4, ints, 3)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	every, sequences,
	LTTNG_UST_TP_ARGS(int *, ints, int, n, const struct thing *, t),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_sequence(int, ints, ints, size_t, n)
		lttng_ust_field_sequence_hex(unsigned char, bytes, t->bytes,
					     unsigned char, n)
		lttng_ust_field_sequence_network(uint16_t, nets, t->nets,
						 unsigned int, 2)
		lttng_ust_field_sequence_network_hex(uint16_t, nets_hex,
						     t->nets, size_t, 1)
		lttng_ust_field_sequence(long, empty, t->longs, size_t, 0)
		lttng_ust_field_sequence_nowrite(int, h1, ints, size_t, n)
		lttng_ust_field_sequence_nowrite_hex(int, h2, ints, size_t, n)
		lttng_ust_field_sequence_network_nowrite(int, h3, ints, size_t,
							 n)
		lttng_ust_field_sequence_network_nowrite_hex(int, h4, ints,
							     size_t, n)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	every, enums,
	LTTNG_UST_TP_ARGS(int, colour, long, depth),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_enum(every, colour, unsigned char, small,
				     colour)
		lttng_ust_field_enum(every, colour, int, large, colour + 1)
		lttng_ust_field_enum(every, depth, long, depth, depth)
		lttng_ust_field_enum_nowrite(every, colour, int, hidden,
					     colour)
	)
)
LTTNG_UST_TRACEPOINT_LOGLEVEL(
	every, enums, LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING)

LTTNG_UST_TRACEPOINT_EVENT(
	every, nothing, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_LOGLEVEL(
	every, nothing, LTTNG_UST_TRACEPOINT_LOGLEVEL_EMERG)

LTTNG_UST_TRACEPOINT_EVENT(
	every, nothing_at_all, LTTNG_UST_TP_ARGS(void), LTTNG_UST_TP_FIELDS())

LTTNG_UST_TRACEPOINT_EVENT(
	every, ten,
	LTTNG_UST_TP_ARGS(int, a, int, b, int, c, int, d, int, e, int, f,
			  int, g, int, h, int, i, int, j),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, first, a)
		lttng_ust_field_integer(int, all,
					a + b + c + d + e + f + g + h + i + j)
	)
)

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
	every, pair,
	LTTNG_UST_TP_ARGS(int, key, const char *, value),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, key, key)
		lttng_ust_field_enum(every, depth, int, depth, key)
		lttng_ust_field_string(value, value)
	)
)

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(
	every, pair, every, put,
	LTTNG_UST_TP_ARGS(int, key, const char *, value))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(
	every, pair, every, take,
	LTTNG_UST_TP_ARGS(int, key, const char *, value))
LTTNG_UST_TRACEPOINT_LOGLEVEL(
	every, take, LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_FUNCTION)
LTTNG_UST_TRACEPOINT_MODEL_EMF_URI(
	every, take, "http://example.com/take")

#endif /* EVERY_H */

#include <lttng/tracepoint-event.h>
