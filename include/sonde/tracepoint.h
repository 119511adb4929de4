/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.h - one line in a C or C++ program, and it can be traced.
 *
 *	#include <sonde/tracepoint.h>
 *
 *	sonde_event(http, request, status, path, bytes);
 *
 * names the event http:request and records the values of three expressions,
 * under the names `status`, `path` and `bytes`, each in the type it has. No
 * other file is needed; link with -lsonde (pkg-config: sonde). C11 and C++17,
 * gcc from 12 and clang from 14.
 *
 * Provider and event are identifiers. An event has 0 to 32 fields. A field is
 * an expression, which is evaluated once, and only while the event is being
 * recorded; or one of these:
 *
 *	sonde_field(name, expr)		 under another name
 *	sonde_hex(name, expr)		 shown in hexadecimal
 *	sonde_network(name, expr)	 big endian in memory already
 *	sonde_bits(name, expr, nbits)	 the low bits of an unsigned value
 *	sonde_signed_bits(name, expr, nbits)
 *	sonde_enum(name, expr, labels)	 1 to 64 labels, each one of
 *	    sonde_label("text", value)
 *	    sonde_range("text", first, last)
 *	sonde_array(name, pointer, count)	 count is a constant
 *	sonde_sequence(name, pointer, length)	 of numbers
 *	sonde_string(name, pointer)		 up to its NUL
 *	sonde_string_max(name, pointer, max)	 or up to max bytes
 *	sonde_text(name, pointer, count)	 count bytes, shown as text
 *	sonde_blob(name, pointer, length)	 bytes
 *	sonde_struct(name, fields...)		 1 to 32, nested up to 4 deep
 *	sonde_variant(name, which, fields...)	 1 to 30; records the field at
 *						 position `which`, from 0
 *
 * By themselves, expressions are recorded as what they are: integers of all
 * widths, characters, bool, enumerations (as their integer), float, double,
 * `char *` and string literals as strings, other pointers as addresses, arrays
 * of char as text, other arrays of these as arrays. Anything else is refused
 * by the compiler. A null string is recorded as "(null)", a null pointer to a
 * sequence or blob as an empty one.
 *
 *	sonde_event_level(provider, name, level, fields...)
 *
 * gives another level than SONDE_INFO (enum sonde_loglevel in abi.h). For the
 * level, what `sonde generate` makes of a description has
 *
 *	sonde_described(level, checksum)
 *
 * with the description's checksum, a 64-bit constant that isn't 0: events of one
 * name and other checksums are different events (docs/generate.md). For
 * arguments that take work to prepare,
 *
 *	if (sonde_event_enabled(provider, name)) ...
 *
 * costs what a tracepoint does while nobody records: a load and a branch.
 *
 *	sonde_snapshot("slow-request");
 *
 * asks the flight recorders that record the program (sonde start --mode
 * overwrite) to write what they hold, into a directory that is called by the
 * reason: a string literal of up to 64 letters, digits, '.', '-' and '_' that
 * begins with a letter. It adds one to a number in memory, and goes on; who
 * records sees it some milliseconds later. It is an event of its own, too.
 *
 * With SONDE_DISABLE defined before this header is included, tracepoints
 * leave nothing at all in the program; they are still checked.
 *
 * Events may be recorded by any thread at any time, in signal handlers too.
 * errno is left alone. Several places may name one event, as long as its level
 * and its fields are the same; else the second is refused when the program
 * starts (`sonde list` shows it), and the program runs on.
 *
 * docs/tracepoints.md has more, and says how it is done.
 */
#ifndef SONDE_TRACEPOINT_H
#define SONDE_TRACEPOINT_H

/* Whoever includes this may have any warning on; ours are not theirs. */
#pragma GCC system_header

#if defined(__cplusplus) && __cplusplus < 201103L

#error "tracepoints need C++11: compile with -std=c++11 or later (man sonde_event)"

/* One error is enough: what uses them isn't judged. */
#define sonde_event(...)                    ((void)0)
#define sonde_event_level(...)              ((void)0)
#define sonde_event_enabled(provider, name) 0
#define sonde_snapshot(reason)              ((void)0)

#else

#include <sonde/abi.h>

#define sonde_event(...) \
	SONDE_EVENT_(SONDE_NR_FIELDS_(__VA_ARGS__), SONDE_INFO, ##__VA_ARGS__, )

#define sonde_event_level(...) \
	SONDE_LEVEL_(SONDE_NR_LEVEL_(__VA_ARGS__), ##__VA_ARGS__, )

#define sonde_event_enabled(provider, name) SONDE_ENABLED_(#provider, #name)

/* clang-format off */

#define sonde_snapshot(reason) \
	do { \
		SONDE_ASSERT_(sizeof("" reason "") <= 65 && \
				      sizeof("" reason "") > 1, \
			      "a reason has 1 to 64 characters"); \
		SONDE_TRACE_(SONDE_INFO, "sonde_snapshot", "" reason "", \
			     sonde_takes_a_literal_, SONDE_EMPTY_); \
	} while (0)

#define sonde_described(level, checksum) ()(level, checksum)
#define sonde_field(name, ...) ()(PLAIN, #name, 0, (__VA_ARGS__))
#define sonde_hex(name, ...) \
	()(PLAIN, #name, SONDE_FIELD_HEX, (__VA_ARGS__))
#define sonde_network(name, ...) \
	()(PLAIN, #name, SONDE_FIELD_NETWORK, (__VA_ARGS__))
#define sonde_bits(name, expr, nbits) ()(BITS, #name, 0, (expr), nbits)
#define sonde_signed_bits(name, expr, nbits) \
	()(BITS, #name, SONDE_FIELD_SIGNED, (expr), nbits)
#define sonde_enum(name, expr, ...) ()(ENUM, #name, (expr), __VA_ARGS__)
#define sonde_label(text, value) (text, value, value)
#define sonde_range(text, first, last) (text, first, last)
#define sonde_array(name, pointer, count) \
	()(ARRAY, #name, (pointer), (count))
#define sonde_sequence(name, pointer, length) \
	()(SEQUENCE, #name, (pointer), (length))
#define sonde_string(name, ...) ()(STRING, #name, (__VA_ARGS__))
#define sonde_string_max(name, pointer, max) \
	()(STRING_MAX, #name, (pointer), (max))
#define sonde_text(name, pointer, count) ()(TEXT, #name, (pointer), (count))
#define sonde_blob(name, pointer, length) \
	()(BLOB, #name, (pointer), (length))
#define sonde_struct(name, ...) \
	()(STRUCT, #name \
	   SONDE_CAT_(SONDE_INNER_, SONDE_NR_STRUCT_(__VA_ARGS__))(__VA_ARGS__))
#define sonde_variant(name, which, ...) \
	()(VARIANT, #name, (which) \
	   SONDE_CAT_(SONDE_INNER_, SONDE_NR_STRUCT_(__VA_ARGS__))(__VA_ARGS__), \
	   SONDE_OTHER_)

/* clang-format on */

/* ---- private: nothing below is for programs to use ---- */

/* Each needs those before it. */
/* clang-format off */
#include <sonde/detail/list.h>
#include <sonde/detail/form.h>
#include <sonde/detail/stage.h>
#include <sonde/detail/site.h>
#if defined(__cplusplus)
#include <sonde/detail/field_cxx.h>
#else
#include <sonde/detail/field_c.h>
#endif
/* clang-format on */

#endif /* C, or C++11 */

#endif /* SONDE_TRACEPOINT_H */
