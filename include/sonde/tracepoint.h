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
 * gives another level than SONDE_INFO (enum sonde_loglevel in abi.h). For
 * arguments that take work to prepare,
 *
 *	if (sonde_event_enabled(provider, name)) ...
 *
 * costs what a tracepoint does while nobody records: a load and a branch.
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

#else

#include <sonde/abi.h>

#define sonde_event(...) \
	SONDE_EVENT_(SONDE_NR_FIELDS_(__VA_ARGS__), SONDE_INFO, ##__VA_ARGS__, )

#define sonde_event_level(...) \
	SONDE_LEVEL_(SONDE_NR_LEVEL_(__VA_ARGS__), ##__VA_ARGS__, )

#define sonde_event_enabled(provider, name) SONDE_ENABLED_(#provider, #name)

/* clang-format off */

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

/* ---- private: nothing below is for programs to use ---- */

/*
 * How it works. A field arrives as a pair (text, expression), where the text
 * is what was written, before macros were expanded: `, ##__VA_ARGS__` hands
 * arguments on unexpanded. The typed forms above expand to `()(FORM, ...)`,
 * and since no expression starts with `()`, SONDE_IS_TYPED_ tells them apart.
 *
 * SONDE_EACH_ applies one operation to all fields:
 *
 *	K  constants: what the field is (sonde_code_I), elements (sonde_count_I)
 *	   and bytes (sonde_size_I), and the checks that can fail
 *	T  C: the type of its record in the description; I: its initialiser
 *	R  C++: its record, as a constexpr structure
 *	D  declare a variable, sonde_v_I, and evaluate the expression into it
 *	Z  + bytes of payload; N: + parts
 *	E  encode the variable; P: make it a part
 *
 * with I the field's path, as in f_3_1. Structures apply the operation to
 * their own fields: later, in the next scan that SONDE_SCAN_ provides, because
 * a macro can't expand inside itself.
 */

#define SONDE_NTH_(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
	a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, \
	a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, \
	a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, \
	a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, \
	a65, a66, a67, a68, a69, a70, a71, a72, a73, a74, a75, a76, a77, \
	a78, a79, a80, a81, a82, a83, a84, a85, a86, a87, a88, a89, a90, \
	a91, a92, a93, a94, a95, a96, a97, a98, a99, n, ...) n
/* How many there are, less 0 to 3; MANY beyond what is allowed. */
#define SONDE_COUNT_(...) \
	SONDE_NTH_(__VA_ARGS__, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, \
	49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, \
	32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, \
	15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, ~)
#define SONDE_NR_STRUCT_(...) \
	SONDE_NTH_(__VA_ARGS__, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, \
	15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, ~)
#define SONDE_NR_FIELDS_(...) \
	SONDE_NTH_(__VA_ARGS__, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, 32, 31, 30, \
	29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, \
	12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, FEW, ~)
#define SONDE_NR_LEVEL_(...) \
	SONDE_NTH_(__VA_ARGS__, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, 32, 31, 30, 29, 28, \
	27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, \
	10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, FEW, FEW, ~)

/* , (text, expression) for each; of text and not yet expanded arguments. */
#define SONDE_PAIRS_FEW(...)
#define SONDE_PAIRS_MANY(...) , ("", ()(MANY, ~))
#define SONDE_PAIRS_0(...) , SONDE_EMPTY_
#define SONDE_PAIRS_1(z, a, ...) , (#a, a)
#define SONDE_PAIRS_2(z, a, ...) \
	, (#a, a) SONDE_PAIRS_1(z, ##__VA_ARGS__)
#define SONDE_PAIRS_3(z, a, ...) \
	, (#a, a) SONDE_PAIRS_2(z, ##__VA_ARGS__)
#define SONDE_PAIRS_4(z, a, ...) \
	, (#a, a) SONDE_PAIRS_3(z, ##__VA_ARGS__)
#define SONDE_PAIRS_5(z, a, ...) \
	, (#a, a) SONDE_PAIRS_4(z, ##__VA_ARGS__)
#define SONDE_PAIRS_6(z, a, ...) \
	, (#a, a) SONDE_PAIRS_5(z, ##__VA_ARGS__)
#define SONDE_PAIRS_7(z, a, ...) \
	, (#a, a) SONDE_PAIRS_6(z, ##__VA_ARGS__)
#define SONDE_PAIRS_8(z, a, ...) \
	, (#a, a) SONDE_PAIRS_7(z, ##__VA_ARGS__)
#define SONDE_PAIRS_9(z, a, ...) \
	, (#a, a) SONDE_PAIRS_8(z, ##__VA_ARGS__)
#define SONDE_PAIRS_10(z, a, ...) \
	, (#a, a) SONDE_PAIRS_9(z, ##__VA_ARGS__)
#define SONDE_PAIRS_11(z, a, ...) \
	, (#a, a) SONDE_PAIRS_10(z, ##__VA_ARGS__)
#define SONDE_PAIRS_12(z, a, ...) \
	, (#a, a) SONDE_PAIRS_11(z, ##__VA_ARGS__)
#define SONDE_PAIRS_13(z, a, ...) \
	, (#a, a) SONDE_PAIRS_12(z, ##__VA_ARGS__)
#define SONDE_PAIRS_14(z, a, ...) \
	, (#a, a) SONDE_PAIRS_13(z, ##__VA_ARGS__)
#define SONDE_PAIRS_15(z, a, ...) \
	, (#a, a) SONDE_PAIRS_14(z, ##__VA_ARGS__)
#define SONDE_PAIRS_16(z, a, ...) \
	, (#a, a) SONDE_PAIRS_15(z, ##__VA_ARGS__)
#define SONDE_PAIRS_17(z, a, ...) \
	, (#a, a) SONDE_PAIRS_16(z, ##__VA_ARGS__)
#define SONDE_PAIRS_18(z, a, ...) \
	, (#a, a) SONDE_PAIRS_17(z, ##__VA_ARGS__)
#define SONDE_PAIRS_19(z, a, ...) \
	, (#a, a) SONDE_PAIRS_18(z, ##__VA_ARGS__)
#define SONDE_PAIRS_20(z, a, ...) \
	, (#a, a) SONDE_PAIRS_19(z, ##__VA_ARGS__)
#define SONDE_PAIRS_21(z, a, ...) \
	, (#a, a) SONDE_PAIRS_20(z, ##__VA_ARGS__)
#define SONDE_PAIRS_22(z, a, ...) \
	, (#a, a) SONDE_PAIRS_21(z, ##__VA_ARGS__)
#define SONDE_PAIRS_23(z, a, ...) \
	, (#a, a) SONDE_PAIRS_22(z, ##__VA_ARGS__)
#define SONDE_PAIRS_24(z, a, ...) \
	, (#a, a) SONDE_PAIRS_23(z, ##__VA_ARGS__)
#define SONDE_PAIRS_25(z, a, ...) \
	, (#a, a) SONDE_PAIRS_24(z, ##__VA_ARGS__)
#define SONDE_PAIRS_26(z, a, ...) \
	, (#a, a) SONDE_PAIRS_25(z, ##__VA_ARGS__)
#define SONDE_PAIRS_27(z, a, ...) \
	, (#a, a) SONDE_PAIRS_26(z, ##__VA_ARGS__)
#define SONDE_PAIRS_28(z, a, ...) \
	, (#a, a) SONDE_PAIRS_27(z, ##__VA_ARGS__)
#define SONDE_PAIRS_29(z, a, ...) \
	, (#a, a) SONDE_PAIRS_28(z, ##__VA_ARGS__)
#define SONDE_PAIRS_30(z, a, ...) \
	, (#a, a) SONDE_PAIRS_29(z, ##__VA_ARGS__)
#define SONDE_PAIRS_31(z, a, ...) \
	, (#a, a) SONDE_PAIRS_30(z, ##__VA_ARGS__)
#define SONDE_PAIRS_32(z, a, ...) \
	, (#a, a) SONDE_PAIRS_31(z, ##__VA_ARGS__)
/* The same of expanded ones, so that structures may nest. */
#define SONDE_INNER_MANY(...) , ("", ()(MANY, ~))
#define SONDE_INNER_1(a) , (#a, a)
#define SONDE_INNER_2(a, ...) , (#a, a) SONDE_INNER_1(__VA_ARGS__)
#define SONDE_INNER_3(a, ...) , (#a, a) SONDE_INNER_2(__VA_ARGS__)
#define SONDE_INNER_4(a, ...) , (#a, a) SONDE_INNER_3(__VA_ARGS__)
#define SONDE_INNER_5(a, ...) , (#a, a) SONDE_INNER_4(__VA_ARGS__)
#define SONDE_INNER_6(a, ...) , (#a, a) SONDE_INNER_5(__VA_ARGS__)
#define SONDE_INNER_7(a, ...) , (#a, a) SONDE_INNER_6(__VA_ARGS__)
#define SONDE_INNER_8(a, ...) , (#a, a) SONDE_INNER_7(__VA_ARGS__)
#define SONDE_INNER_9(a, ...) , (#a, a) SONDE_INNER_8(__VA_ARGS__)
#define SONDE_INNER_10(a, ...) , (#a, a) SONDE_INNER_9(__VA_ARGS__)
#define SONDE_INNER_11(a, ...) , (#a, a) SONDE_INNER_10(__VA_ARGS__)
#define SONDE_INNER_12(a, ...) , (#a, a) SONDE_INNER_11(__VA_ARGS__)
#define SONDE_INNER_13(a, ...) , (#a, a) SONDE_INNER_12(__VA_ARGS__)
#define SONDE_INNER_14(a, ...) , (#a, a) SONDE_INNER_13(__VA_ARGS__)
#define SONDE_INNER_15(a, ...) , (#a, a) SONDE_INNER_14(__VA_ARGS__)
#define SONDE_INNER_16(a, ...) , (#a, a) SONDE_INNER_15(__VA_ARGS__)
#define SONDE_INNER_17(a, ...) , (#a, a) SONDE_INNER_16(__VA_ARGS__)
#define SONDE_INNER_18(a, ...) , (#a, a) SONDE_INNER_17(__VA_ARGS__)
#define SONDE_INNER_19(a, ...) , (#a, a) SONDE_INNER_18(__VA_ARGS__)
#define SONDE_INNER_20(a, ...) , (#a, a) SONDE_INNER_19(__VA_ARGS__)
#define SONDE_INNER_21(a, ...) , (#a, a) SONDE_INNER_20(__VA_ARGS__)
#define SONDE_INNER_22(a, ...) , (#a, a) SONDE_INNER_21(__VA_ARGS__)
#define SONDE_INNER_23(a, ...) , (#a, a) SONDE_INNER_22(__VA_ARGS__)
#define SONDE_INNER_24(a, ...) , (#a, a) SONDE_INNER_23(__VA_ARGS__)
#define SONDE_INNER_25(a, ...) , (#a, a) SONDE_INNER_24(__VA_ARGS__)
#define SONDE_INNER_26(a, ...) , (#a, a) SONDE_INNER_25(__VA_ARGS__)
#define SONDE_INNER_27(a, ...) , (#a, a) SONDE_INNER_26(__VA_ARGS__)
#define SONDE_INNER_28(a, ...) , (#a, a) SONDE_INNER_27(__VA_ARGS__)
#define SONDE_INNER_29(a, ...) , (#a, a) SONDE_INNER_28(__VA_ARGS__)
#define SONDE_INNER_30(a, ...) , (#a, a) SONDE_INNER_29(__VA_ARGS__)
#define SONDE_INNER_31(a, ...) , (#a, a) SONDE_INNER_30(__VA_ARGS__)
#define SONDE_INNER_32(a, ...) , (#a, a) SONDE_INNER_31(__VA_ARGS__)

#define SONDE_EACH_1(fn, op, i, c, x) fn(op, i##_1, 1, c, x)
#define SONDE_EACH_2(fn, op, i, c, x, ...) \
	fn(op, i##_2, 2, c, x) SONDE_EACH_1(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_3(fn, op, i, c, x, ...) \
	fn(op, i##_3, 3, c, x) SONDE_EACH_2(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_4(fn, op, i, c, x, ...) \
	fn(op, i##_4, 4, c, x) SONDE_EACH_3(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_5(fn, op, i, c, x, ...) \
	fn(op, i##_5, 5, c, x) SONDE_EACH_4(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_6(fn, op, i, c, x, ...) \
	fn(op, i##_6, 6, c, x) SONDE_EACH_5(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_7(fn, op, i, c, x, ...) \
	fn(op, i##_7, 7, c, x) SONDE_EACH_6(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_8(fn, op, i, c, x, ...) \
	fn(op, i##_8, 8, c, x) SONDE_EACH_7(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_9(fn, op, i, c, x, ...) \
	fn(op, i##_9, 9, c, x) SONDE_EACH_8(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_10(fn, op, i, c, x, ...) \
	fn(op, i##_10, 10, c, x) SONDE_EACH_9(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_11(fn, op, i, c, x, ...) \
	fn(op, i##_11, 11, c, x) SONDE_EACH_10(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_12(fn, op, i, c, x, ...) \
	fn(op, i##_12, 12, c, x) SONDE_EACH_11(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_13(fn, op, i, c, x, ...) \
	fn(op, i##_13, 13, c, x) SONDE_EACH_12(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_14(fn, op, i, c, x, ...) \
	fn(op, i##_14, 14, c, x) SONDE_EACH_13(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_15(fn, op, i, c, x, ...) \
	fn(op, i##_15, 15, c, x) SONDE_EACH_14(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_16(fn, op, i, c, x, ...) \
	fn(op, i##_16, 16, c, x) SONDE_EACH_15(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_17(fn, op, i, c, x, ...) \
	fn(op, i##_17, 17, c, x) SONDE_EACH_16(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_18(fn, op, i, c, x, ...) \
	fn(op, i##_18, 18, c, x) SONDE_EACH_17(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_19(fn, op, i, c, x, ...) \
	fn(op, i##_19, 19, c, x) SONDE_EACH_18(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_20(fn, op, i, c, x, ...) \
	fn(op, i##_20, 20, c, x) SONDE_EACH_19(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_21(fn, op, i, c, x, ...) \
	fn(op, i##_21, 21, c, x) SONDE_EACH_20(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_22(fn, op, i, c, x, ...) \
	fn(op, i##_22, 22, c, x) SONDE_EACH_21(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_23(fn, op, i, c, x, ...) \
	fn(op, i##_23, 23, c, x) SONDE_EACH_22(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_24(fn, op, i, c, x, ...) \
	fn(op, i##_24, 24, c, x) SONDE_EACH_23(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_25(fn, op, i, c, x, ...) \
	fn(op, i##_25, 25, c, x) SONDE_EACH_24(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_26(fn, op, i, c, x, ...) \
	fn(op, i##_26, 26, c, x) SONDE_EACH_25(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_27(fn, op, i, c, x, ...) \
	fn(op, i##_27, 27, c, x) SONDE_EACH_26(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_28(fn, op, i, c, x, ...) \
	fn(op, i##_28, 28, c, x) SONDE_EACH_27(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_29(fn, op, i, c, x, ...) \
	fn(op, i##_29, 29, c, x) SONDE_EACH_28(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_30(fn, op, i, c, x, ...) \
	fn(op, i##_30, 30, c, x) SONDE_EACH_29(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_31(fn, op, i, c, x, ...) \
	fn(op, i##_31, 31, c, x) SONDE_EACH_30(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_32(fn, op, i, c, x, ...) \
	fn(op, i##_32, 32, c, x) SONDE_EACH_31(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_33(fn, op, i, c, x, ...) \
	fn(op, i##_33, 33, c, x) SONDE_EACH_32(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_34(fn, op, i, c, x, ...) \
	fn(op, i##_34, 34, c, x) SONDE_EACH_33(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_35(fn, op, i, c, x, ...) \
	fn(op, i##_35, 35, c, x) SONDE_EACH_34(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_36(fn, op, i, c, x, ...) \
	fn(op, i##_36, 36, c, x) SONDE_EACH_35(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_37(fn, op, i, c, x, ...) \
	fn(op, i##_37, 37, c, x) SONDE_EACH_36(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_38(fn, op, i, c, x, ...) \
	fn(op, i##_38, 38, c, x) SONDE_EACH_37(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_39(fn, op, i, c, x, ...) \
	fn(op, i##_39, 39, c, x) SONDE_EACH_38(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_40(fn, op, i, c, x, ...) \
	fn(op, i##_40, 40, c, x) SONDE_EACH_39(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_41(fn, op, i, c, x, ...) \
	fn(op, i##_41, 41, c, x) SONDE_EACH_40(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_42(fn, op, i, c, x, ...) \
	fn(op, i##_42, 42, c, x) SONDE_EACH_41(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_43(fn, op, i, c, x, ...) \
	fn(op, i##_43, 43, c, x) SONDE_EACH_42(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_44(fn, op, i, c, x, ...) \
	fn(op, i##_44, 44, c, x) SONDE_EACH_43(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_45(fn, op, i, c, x, ...) \
	fn(op, i##_45, 45, c, x) SONDE_EACH_44(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_46(fn, op, i, c, x, ...) \
	fn(op, i##_46, 46, c, x) SONDE_EACH_45(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_47(fn, op, i, c, x, ...) \
	fn(op, i##_47, 47, c, x) SONDE_EACH_46(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_48(fn, op, i, c, x, ...) \
	fn(op, i##_48, 48, c, x) SONDE_EACH_47(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_49(fn, op, i, c, x, ...) \
	fn(op, i##_49, 49, c, x) SONDE_EACH_48(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_50(fn, op, i, c, x, ...) \
	fn(op, i##_50, 50, c, x) SONDE_EACH_49(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_51(fn, op, i, c, x, ...) \
	fn(op, i##_51, 51, c, x) SONDE_EACH_50(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_52(fn, op, i, c, x, ...) \
	fn(op, i##_52, 52, c, x) SONDE_EACH_51(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_53(fn, op, i, c, x, ...) \
	fn(op, i##_53, 53, c, x) SONDE_EACH_52(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_54(fn, op, i, c, x, ...) \
	fn(op, i##_54, 54, c, x) SONDE_EACH_53(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_55(fn, op, i, c, x, ...) \
	fn(op, i##_55, 55, c, x) SONDE_EACH_54(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_56(fn, op, i, c, x, ...) \
	fn(op, i##_56, 56, c, x) SONDE_EACH_55(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_57(fn, op, i, c, x, ...) \
	fn(op, i##_57, 57, c, x) SONDE_EACH_56(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_58(fn, op, i, c, x, ...) \
	fn(op, i##_58, 58, c, x) SONDE_EACH_57(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_59(fn, op, i, c, x, ...) \
	fn(op, i##_59, 59, c, x) SONDE_EACH_58(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_60(fn, op, i, c, x, ...) \
	fn(op, i##_60, 60, c, x) SONDE_EACH_59(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_61(fn, op, i, c, x, ...) \
	fn(op, i##_61, 61, c, x) SONDE_EACH_60(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_62(fn, op, i, c, x, ...) \
	fn(op, i##_62, 62, c, x) SONDE_EACH_61(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_63(fn, op, i, c, x, ...) \
	fn(op, i##_63, 63, c, x) SONDE_EACH_62(fn, op, i, c, __VA_ARGS__)
#define SONDE_EACH_64(fn, op, i, c, x, ...) \
	fn(op, i##_64, 64, c, x) SONDE_EACH_63(fn, op, i, c, __VA_ARGS__)

#define SONDE_LABELS_1(fn, op, i, c, x) fn(op, i##_1, 1, c, x)
#define SONDE_LABELS_2(fn, op, i, c, x, ...) \
	fn(op, i##_2, 2, c, x) SONDE_LABELS_1(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_3(fn, op, i, c, x, ...) \
	fn(op, i##_3, 3, c, x) SONDE_LABELS_2(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_4(fn, op, i, c, x, ...) \
	fn(op, i##_4, 4, c, x) SONDE_LABELS_3(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_5(fn, op, i, c, x, ...) \
	fn(op, i##_5, 5, c, x) SONDE_LABELS_4(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_6(fn, op, i, c, x, ...) \
	fn(op, i##_6, 6, c, x) SONDE_LABELS_5(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_7(fn, op, i, c, x, ...) \
	fn(op, i##_7, 7, c, x) SONDE_LABELS_6(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_8(fn, op, i, c, x, ...) \
	fn(op, i##_8, 8, c, x) SONDE_LABELS_7(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_9(fn, op, i, c, x, ...) \
	fn(op, i##_9, 9, c, x) SONDE_LABELS_8(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_10(fn, op, i, c, x, ...) \
	fn(op, i##_10, 10, c, x) SONDE_LABELS_9(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_11(fn, op, i, c, x, ...) \
	fn(op, i##_11, 11, c, x) SONDE_LABELS_10(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_12(fn, op, i, c, x, ...) \
	fn(op, i##_12, 12, c, x) SONDE_LABELS_11(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_13(fn, op, i, c, x, ...) \
	fn(op, i##_13, 13, c, x) SONDE_LABELS_12(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_14(fn, op, i, c, x, ...) \
	fn(op, i##_14, 14, c, x) SONDE_LABELS_13(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_15(fn, op, i, c, x, ...) \
	fn(op, i##_15, 15, c, x) SONDE_LABELS_14(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_16(fn, op, i, c, x, ...) \
	fn(op, i##_16, 16, c, x) SONDE_LABELS_15(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_17(fn, op, i, c, x, ...) \
	fn(op, i##_17, 17, c, x) SONDE_LABELS_16(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_18(fn, op, i, c, x, ...) \
	fn(op, i##_18, 18, c, x) SONDE_LABELS_17(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_19(fn, op, i, c, x, ...) \
	fn(op, i##_19, 19, c, x) SONDE_LABELS_18(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_20(fn, op, i, c, x, ...) \
	fn(op, i##_20, 20, c, x) SONDE_LABELS_19(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_21(fn, op, i, c, x, ...) \
	fn(op, i##_21, 21, c, x) SONDE_LABELS_20(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_22(fn, op, i, c, x, ...) \
	fn(op, i##_22, 22, c, x) SONDE_LABELS_21(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_23(fn, op, i, c, x, ...) \
	fn(op, i##_23, 23, c, x) SONDE_LABELS_22(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_24(fn, op, i, c, x, ...) \
	fn(op, i##_24, 24, c, x) SONDE_LABELS_23(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_25(fn, op, i, c, x, ...) \
	fn(op, i##_25, 25, c, x) SONDE_LABELS_24(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_26(fn, op, i, c, x, ...) \
	fn(op, i##_26, 26, c, x) SONDE_LABELS_25(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_27(fn, op, i, c, x, ...) \
	fn(op, i##_27, 27, c, x) SONDE_LABELS_26(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_28(fn, op, i, c, x, ...) \
	fn(op, i##_28, 28, c, x) SONDE_LABELS_27(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_29(fn, op, i, c, x, ...) \
	fn(op, i##_29, 29, c, x) SONDE_LABELS_28(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_30(fn, op, i, c, x, ...) \
	fn(op, i##_30, 30, c, x) SONDE_LABELS_29(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_31(fn, op, i, c, x, ...) \
	fn(op, i##_31, 31, c, x) SONDE_LABELS_30(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_32(fn, op, i, c, x, ...) \
	fn(op, i##_32, 32, c, x) SONDE_LABELS_31(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_33(fn, op, i, c, x, ...) \
	fn(op, i##_33, 33, c, x) SONDE_LABELS_32(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_34(fn, op, i, c, x, ...) \
	fn(op, i##_34, 34, c, x) SONDE_LABELS_33(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_35(fn, op, i, c, x, ...) \
	fn(op, i##_35, 35, c, x) SONDE_LABELS_34(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_36(fn, op, i, c, x, ...) \
	fn(op, i##_36, 36, c, x) SONDE_LABELS_35(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_37(fn, op, i, c, x, ...) \
	fn(op, i##_37, 37, c, x) SONDE_LABELS_36(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_38(fn, op, i, c, x, ...) \
	fn(op, i##_38, 38, c, x) SONDE_LABELS_37(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_39(fn, op, i, c, x, ...) \
	fn(op, i##_39, 39, c, x) SONDE_LABELS_38(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_40(fn, op, i, c, x, ...) \
	fn(op, i##_40, 40, c, x) SONDE_LABELS_39(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_41(fn, op, i, c, x, ...) \
	fn(op, i##_41, 41, c, x) SONDE_LABELS_40(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_42(fn, op, i, c, x, ...) \
	fn(op, i##_42, 42, c, x) SONDE_LABELS_41(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_43(fn, op, i, c, x, ...) \
	fn(op, i##_43, 43, c, x) SONDE_LABELS_42(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_44(fn, op, i, c, x, ...) \
	fn(op, i##_44, 44, c, x) SONDE_LABELS_43(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_45(fn, op, i, c, x, ...) \
	fn(op, i##_45, 45, c, x) SONDE_LABELS_44(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_46(fn, op, i, c, x, ...) \
	fn(op, i##_46, 46, c, x) SONDE_LABELS_45(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_47(fn, op, i, c, x, ...) \
	fn(op, i##_47, 47, c, x) SONDE_LABELS_46(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_48(fn, op, i, c, x, ...) \
	fn(op, i##_48, 48, c, x) SONDE_LABELS_47(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_49(fn, op, i, c, x, ...) \
	fn(op, i##_49, 49, c, x) SONDE_LABELS_48(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_50(fn, op, i, c, x, ...) \
	fn(op, i##_50, 50, c, x) SONDE_LABELS_49(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_51(fn, op, i, c, x, ...) \
	fn(op, i##_51, 51, c, x) SONDE_LABELS_50(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_52(fn, op, i, c, x, ...) \
	fn(op, i##_52, 52, c, x) SONDE_LABELS_51(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_53(fn, op, i, c, x, ...) \
	fn(op, i##_53, 53, c, x) SONDE_LABELS_52(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_54(fn, op, i, c, x, ...) \
	fn(op, i##_54, 54, c, x) SONDE_LABELS_53(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_55(fn, op, i, c, x, ...) \
	fn(op, i##_55, 55, c, x) SONDE_LABELS_54(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_56(fn, op, i, c, x, ...) \
	fn(op, i##_56, 56, c, x) SONDE_LABELS_55(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_57(fn, op, i, c, x, ...) \
	fn(op, i##_57, 57, c, x) SONDE_LABELS_56(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_58(fn, op, i, c, x, ...) \
	fn(op, i##_58, 58, c, x) SONDE_LABELS_57(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_59(fn, op, i, c, x, ...) \
	fn(op, i##_59, 59, c, x) SONDE_LABELS_58(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_60(fn, op, i, c, x, ...) \
	fn(op, i##_60, 60, c, x) SONDE_LABELS_59(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_61(fn, op, i, c, x, ...) \
	fn(op, i##_61, 61, c, x) SONDE_LABELS_60(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_62(fn, op, i, c, x, ...) \
	fn(op, i##_62, 62, c, x) SONDE_LABELS_61(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_63(fn, op, i, c, x, ...) \
	fn(op, i##_63, 63, c, x) SONDE_LABELS_62(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_64(fn, op, i, c, x, ...) \
	fn(op, i##_64, 64, c, x) SONDE_LABELS_63(fn, op, i, c, __VA_ARGS__)

#define SONDE_CAT_(a, b) SONDE_CAT2_(a, b)
#define SONDE_CAT2_(a, b) a##b
#define SONDE_STRIP_(...) __VA_ARGS__
#define SONDE_PARENS_ ()
#define SONDE_STR_(...) SONDE_STR2_(__VA_ARGS__)
#define SONDE_STR2_(...) #__VA_ARGS__

/* One scan for each level of nesting. */
#define SONDE_SCAN_(...) SONDE_SCAN1_(SONDE_SCAN2_(SONDE_SCAN3_(__VA_ARGS__)))
#define SONDE_SCAN1_(...) __VA_ARGS__
#define SONDE_SCAN2_(...) __VA_ARGS__
#define SONDE_SCAN3_(...) __VA_ARGS__

#define SONDE_IS_TYPED_(...) SONDE_SECOND_(SONDE_PROBE_ __VA_ARGS__, 0, ~)
#define SONDE_PROBE_(...) SONDE_PROBED_ ## __VA_OPT__(NOT_)
#define SONDE_PROBED_ ~, 1,
#define SONDE_PROBED_NOT_ ~
#define SONDE_SECOND_(...) SONDE_SECOND2_(__VA_ARGS__, ~)
#define SONDE_SECOND2_(first, second, ...) second
#define SONDE_UNTYPE_() SONDE_STRIP_

#define SONDE_EACH_(fn, op, i, c, ...) \
	SONDE_CAT_(SONDE_EACH_, SONDE_COUNT_(__VA_ARGS__)) \
	(fn, op, i, c, __VA_ARGS__)
#define SONDE_LATER_FIELDS_() SONDE_EACH_FIELD_
#define SONDE_LATER_OPTIONS_() SONDE_EACH_OPTION_
#define SONDE_EACH_FIELD_(...) SONDE_EACH_(SONDE_FIELD_, __VA_ARGS__)
#define SONDE_EACH_OPTION_(...) SONDE_EACH_(SONDE_OPTION_, __VA_ARGS__)
/* The same for labels, which don't nest. */
#define SONDE_LABELS_(fn, op, i, c, ...) \
	SONDE_CAT_(SONDE_LABELS_, SONDE_COUNT_(__VA_ARGS__)) \
	(fn, op, i, c, __VA_ARGS__)
#define SONDE_LABELS_MANY(...)

/* One field: fn for SONDE_EACH_. */
#define SONDE_FIELD_(op, i, n, c, pair) \
	SONDE_FIELD2_(op, i, c, SONDE_STRIP_ pair)
#define SONDE_FIELD2_(...) SONDE_FIELD3_(__VA_ARGS__)
#define SONDE_FIELD3_(op, i, c, text, ...) \
	SONDE_CAT_(SONDE_PAYLOAD_, SONDE_IS_TYPED_(__VA_ARGS__)) \
	(op, i, c, text, __VA_ARGS__)
#define SONDE_PAYLOAD_0(op, i, c, text, ...) \
	SONDE_DO_PLAIN(op, i, c, text, 0, (__VA_ARGS__))
#define SONDE_PAYLOAD_1(op, i, c, text, ...) \
	SONDE_FORM2_(op, i, c, SONDE_UNTYPE_ __VA_ARGS__)
#define SONDE_FORM2_(...) SONDE_FORM3_(__VA_ARGS__)
#define SONDE_FORM3_(op, i, c, form, ...) SONDE_DO_##form(op, i, c, __VA_ARGS__)

/* The name of an option, out of its pair. */
#define SONDE_NAME_(pair) SONDE_NAME2_(SONDE_STRIP_ pair)
#define SONDE_NAME2_(...) SONDE_NAME3_(__VA_ARGS__)
#define SONDE_NAME3_(text, ...) \
	SONDE_CAT_(SONDE_NAME_, SONDE_IS_TYPED_(__VA_ARGS__))(text, __VA_ARGS__)
#define SONDE_NAME_0(text, ...) text
#define SONDE_NAME_1(text, ...) SONDE_NAME4_(SONDE_UNTYPE_ __VA_ARGS__)
#define SONDE_NAME4_(...) SONDE_NAME5_(__VA_ARGS__)
#define SONDE_NAME5_(form, name, ...) name

/*
 * What each form is:
 *
 *	op##_LEAF(i, c, name,
 *		  what it is, for SONDE_SPEC_*,
 *		  type and value of its variable,
 *		  how it is encoded (SONDE_BY_*), size of an element,
 *		  what follows the name in the record, for SONDE_X*_*)
 *
 * Both `for` only become long where they are needed, which is once: macros
 * expand all their arguments, and compilers keep track of each token.
 */
#define SONDE_DO_PLAIN(op, i, c, name, flags, e) \
	op##_LEAF(i, c, name, (PLAIN, e, flags), SONDE_VALUE_T_(e), e, \
		  SONDE_BY_OF_(sonde_code_##i), 1, (MAYBE, ~))
#define SONDE_DO_BITS(op, i, c, name, flags, e, nbits) \
	op##_LEAF(i, c, name, (BITS, nbits, flags), SONDE_WIDTH_T_(nbits), \
		  (SONDE_WIDTH_T_(nbits))((flags) ? \
			SONDE_CUT_SIGNED_(e, nbits) : SONDE_CUT_(e, nbits)), \
		  SONDE_BY_VALUE_, 1, (NONE, ~))
#define SONDE_DO_ENUM(op, i, c, name, e, ...) \
	op##_LEAF(i, c, name, (ENUM, e, __VA_ARGS__), SONDE_VALUE_T_(e), e, \
		  SONDE_BY_VALUE_, 1, (LABELS, __VA_ARGS__))
#define SONDE_DO_ARRAY(op, i, c, name, p, count) \
	op##_LEAF(i, c, name, (ARRAY, p, count), SONDE_VALUE_T_(p), p, \
		  SONDE_BY_ADDRESS_, 1, (ELEMENT, ~))
#define SONDE_DO_SEQUENCE(op, i, c, name, p, length) \
	op##_LEAF(i, c, name, (SEQUENCE, p), struct sonde_run_, \
		  sonde_run_make_(p, (uint64_t)(length), sizeof(*(p))), \
		  SONDE_BY_LENGTH_, sizeof(*(p)), (ELEMENT, ~))
#define SONDE_DO_BLOB(op, i, c, name, p, length) \
	op##_LEAF(i, c, name, (GIVEN, SONDE_TYPE_BLOB, 0, SONDE_ANY_ + 4), \
		  struct sonde_run_, \
		  sonde_run_make_(p, (uint64_t)(length), 1), \
		  SONDE_BY_LENGTH_, 1, (NONE, ~))
#define SONDE_DO_STRING(op, i, c, name, p) \
	op##_LEAF(i, c, name, (GIVEN, SONDE_TYPE_STRING, 0, SONDE_ANY_), \
		  const char *, p, SONDE_BY_STRING_, 1, (NONE, ~))
#define SONDE_DO_STRING_MAX(op, i, c, name, p, max) \
	op##_LEAF(i, c, name, (GIVEN, SONDE_TYPE_STRING, 0, SONDE_ANY_), \
		  struct sonde_run_, sonde_run_string_(p, (uint64_t)(max)), \
		  SONDE_BY_BOUNDED_, 1, (NONE, ~))
#define SONDE_DO_TEXT(op, i, c, name, p, count) \
	op##_LEAF(i, c, name, (GIVEN, SONDE_TYPE_TEXT, count, count), \
		  const void *, p, SONDE_BY_ADDRESS_, 1, (NONE, ~))
#define SONDE_DO_STRUCT(op, i, c, ...) op##_STRUCT(i, c, __VA_ARGS__)
#define SONDE_DO_VARIANT(op, i, c, ...) op##_VARIANT(i, c, __VA_ARGS__)
#define SONDE_DO_MANY(op, i, c, none) op##_MANY(i, c)
#define SONDE_DO_EMPTY(op, i, c, none) op##_EMPTY(i, c)
#define SONDE_DO_NONE(op, i, c, name, none) op##_NONE(i, c, name)

/* The fields of a structure, and a variant's options: op, later. */
#define SONDE_FIELDS_(op, i, c, ...) \
	SONDE_LATER_FIELDS_ SONDE_PARENS_ (op, i, c, __VA_ARGS__)
#define SONDE_OPTIONS_(op, i, c, ...) \
	SONDE_LATER_OPTIONS_ SONDE_PARENS_ (op, i, \
		(c, i, SONDE_COUNT_(__VA_ARGS__)), __VA_ARGS__)
/* Position in the list of the one that SONDE_EACH_ numbers n, of nr. */
#define SONDE_OPTION_(op, i, n, c, pair) \
	SONDE_OPTION2_(op, i, n, pair, SONDE_STRIP_ c)
#define SONDE_OPTION2_(...) SONDE_OPTION3_(__VA_ARGS__)
#define SONDE_OPTION3_(op, i, n, pair, c, parent, nr) \
	SONDE_FIELD_(op, i, n, (c && sonde_v_##parent == (nr) - (n)), pair)
/* What `which` becomes if it names no option. */
#define SONDE_OTHER_ ("none", ()(NONE, "none", ~))

/* K: constants and checks. */
#define SONDE_K_LEAF(i, c, name, spec, type, value, by, elem, x) \
	SONDE_K_LEAF2_(i, SONDE_STRIP_ spec)
#define SONDE_K_LEAF2_(...) SONDE_K_LEAF3_(__VA_ARGS__)
#define SONDE_K_LEAF3_(i, spec, ...) SONDE_SPEC_##spec(i, __VA_ARGS__)
/* code: kind | width << 8 | flags << 16 | an element's kind << 24; size from
 * SONDE_ANY_ on: not fixed. */
#define SONDE_SPEC_GIVEN(i, code, count, size) \
	SONDE_CONSTANTS_(i, code, count, size)
#define SONDE_SPEC_PLAIN(i, e, flags) \
	SONDE_CONSTANTS_(i, SONDE_CODE_(e, flags), \
			 SONDE_COUNT_OF_(sonde_code_##i, e), \
			 SONDE_SIZE_OF_(sonde_code_##i, e))
#define SONDE_SPEC_BITS(i, nbits, flags) \
	SONDE_CONSTANTS_(i, SONDE_BITS_CODE_(nbits, flags), 0, \
			 SONDE_WIDTH_BYTES_(nbits))
#define SONDE_SPEC_ENUM(i, e, ...) \
	SONDE_CONSTANTS_(i, SONDE_ENUM_CODE_(SONDE_CODE_(e, 0)), \
			 SONDE_COUNT_(__VA_ARGS__), \
			 (sonde_code_##i >> 8 & 255) / 8)
#define SONDE_SPEC_ARRAY(i, p, count) \
	SONDE_CONSTANTS_(i, SONDE_ARRAY_CODE_(SONDE_CODE_(*(p), 0)), \
			 count, sizeof(*(p)) * (count))
#define SONDE_SPEC_SEQUENCE(i, p) \
	SONDE_CONSTANTS_(i, SONDE_SEQUENCE_CODE_(SONDE_CODE_(*(p), 0)), \
			 0, SONDE_ANY_ + 4)
#define SONDE_CONSTANTS_(i, code, count, size) \
	SONDE_CONSTANT_(sonde_code_##i, code) \
	SONDE_CONSTANT_(sonde_count_##i, count) \
	SONDE_CONSTANT_(sonde_size_##i, size) \
	SONDE_ASSERT_((sonde_code_##i & 255) != 0, \
		"sonde: no field can have the type of this expression. Pass " \
		"an integer, float, double, pointer, string or array of " \
		"these; for structures there is sonde_struct, for bit-fields " \
		"sonde_bits, and long double must be cast"); \
	SONDE_ASSERT_(sonde_code_##i != -1, \
		"sonde: sonde_bits and sonde_signed_bits take 1 to 64 bits"); \
	SONDE_ASSERT_(((sonde_code_##i & 255) != SONDE_TYPE_ARRAY && \
		       (sonde_code_##i & 255) != SONDE_TYPE_TEXT) || \
			      sonde_count_##i > 0, \
		"sonde: an array has a constant count of at least 1");
#define SONDE_K_STRUCT(i, c, name, ...) \
	SONDE_CONSTANT_BEGIN_(sonde_count_##i) \
		0 SONDE_FIELDS_(SONDE_C, i, c, __VA_ARGS__) \
	SONDE_CONSTANT_END_ \
	SONDE_FIELDS_(SONDE_K, i, c, __VA_ARGS__)
#define SONDE_K_VARIANT(i, c, name, which, ...) \
	SONDE_CONSTANT_BEGIN_(sonde_count_##i) \
		0 SONDE_FIELDS_(SONDE_C, i, c, __VA_ARGS__) \
	SONDE_CONSTANT_END_ \
	SONDE_ASSERT_(sonde_count_##i == SONDE_COUNT_(__VA_ARGS__), \
		"sonde: a variant in a variant needs a sonde_struct around"); \
	SONDE_FIELDS_(SONDE_K, i, c, __VA_ARGS__)
#define SONDE_K_NONE(i, c, name)
#define SONDE_K_MANY(i, c) \
	SONDE_ASSERT_(0, "sonde: an event has at most 32 fields, and so have " \
			 "structures; variants have at most 30");

#define SONDE_K_EMPTY(i, c)

/* D: evaluate. */
#define SONDE_D_LEAF(i, c, name, spec, type, value, by, elem, x) \
	type sonde_v_##i SONDE_ZERO_; \
	if (c) \
		sonde_v_##i = value; \
	(void)sonde_v_##i;
#define SONDE_D_STRUCT(i, c, name, ...) \
	SONDE_FIELDS_(SONDE_D, i, c, __VA_ARGS__)
#define SONDE_D_VARIANT(i, c, name, which, ...) \
	uint8_t sonde_v_##i = 0; \
	if (c) \
		sonde_v_##i = sonde_which_((uint64_t)(which), \
					   SONDE_COUNT_(__VA_ARGS__) - 1); \
	(void)sonde_v_##i; \
	SONDE_OPTIONS_(SONDE_D, i, c, __VA_ARGS__)
#define SONDE_D_NONE(i, c, name)
#define SONDE_D_MANY(i, c)
#define SONDE_D_EMPTY(i, c)

/* Z: bytes; N: parts. */
#define SONDE_Z_LEAF(i, c, ...) + SONDE_STAGED_((unsigned)sonde_size_##i)
#define SONDE_Z_STRUCT(i, c, name, ...) \
	SONDE_FIELDS_(SONDE_Z, i, c, __VA_ARGS__)
#define SONDE_Z_VARIANT(i, c, name, which, ...) \
	+ SONDE_ANY_ + 1 SONDE_FIELDS_(SONDE_Z, i, c, __VA_ARGS__)
#define SONDE_Z_NONE(i, c, name)
#define SONDE_Z_MANY(i, c)
#define SONDE_Z_EMPTY(i, c)
#define SONDE_N_LEAF(i, c, ...) + 2
#define SONDE_N_STRUCT(i, c, name, ...) \
	SONDE_FIELDS_(SONDE_N, i, c, __VA_ARGS__)
#define SONDE_N_VARIANT(i, c, name, which, ...) \
	+ 1 SONDE_FIELDS_(SONDE_N, i, c, __VA_ARGS__)
#define SONDE_N_NONE(i, c, name)
#define SONDE_N_MANY(i, c)
#define SONDE_N_EMPTY(i, c)

/* E: encode. */
#define SONDE_E_LEAF(i, c, name, spec, type, value, by, elem, x) \
	if (c) \
		sonde_fits_ &= sonde_put_(&sonde_stage_, sonde_fixed_, by, \
					  &sonde_v_##i, sonde_size_##i, elem);
#define SONDE_E_STRUCT(i, c, name, ...) \
	SONDE_FIELDS_(SONDE_E, i, c, __VA_ARGS__)
#define SONDE_E_VARIANT(i, c, name, which, ...) \
	if (c) \
		sonde_put_(&sonde_stage_, sonde_fixed_, SONDE_BY_VALUE_, \
			   &sonde_v_##i, 1, 1); \
	SONDE_OPTIONS_(SONDE_E, i, c, __VA_ARGS__)
#define SONDE_E_NONE(i, c, name)
#define SONDE_E_MANY(i, c)
#define SONDE_E_EMPTY(i, c)

/* P: parts. */
#define SONDE_P_LEAF(i, c, name, spec, type, value, by, elem, x) \
	if (c) \
		sonde_nr_ = sonde_part_(sonde_parts_, sonde_nr_, by, \
					&sonde_v_##i, sonde_size_##i, elem);
#define SONDE_P_STRUCT(i, c, name, ...) \
	SONDE_FIELDS_(SONDE_P, i, c, __VA_ARGS__)
#define SONDE_P_VARIANT(i, c, name, which, ...) \
	if (c) \
		sonde_nr_ = sonde_part_(sonde_parts_, sonde_nr_, \
				SONDE_BY_VALUE_, &sonde_v_##i, 1, 1); \
	SONDE_OPTIONS_(SONDE_P, i, c, __VA_ARGS__)
#define SONDE_P_NONE(i, c, name)
#define SONDE_P_MANY(i, c)
#define SONDE_P_EMPTY(i, c)

/* C: + records; a variant has its tag's besides its own. */
#define SONDE_C_LEAF(...) + 1
#define SONDE_C_STRUCT(...) + 1
#define SONDE_C_VARIANT(...) + 2
#define SONDE_C_NONE(...) + 1
#define SONDE_C_MANY(...) + 1
#define SONDE_C_EMPTY(...)

#define SONDE_NR_RECORDS_(...) \
	(0 SONDE_EACH_(SONDE_FIELD_, SONDE_C, f, 1, __VA_ARGS__))
#define SONDE_OUTER_BITS_(code) \
	(((code) & 255) == SONDE_TYPE_ARRAY || \
	 ((code) & 255) == SONDE_TYPE_SEQUENCE ? 0 : (code) >> 8 & 255)
#define SONDE_OUTER_FLAGS_(code) \
	(((code) & 255) == SONDE_TYPE_ARRAY || \
	 ((code) & 255) == SONDE_TYPE_SEQUENCE ? 0 : (code) >> 16 & 255)

#define SONDE_MAKE_CODE_(kind, bits, flags) \
	((kind) | (int)(bits) << 8 | (int)(flags) << 16)
/* An array's or sequence's code out of its element's. */
#define SONDE_ARRAY_CODE_(code) SONDE_OF_ELEMENTS_(SONDE_TYPE_ARRAY, code)
#define SONDE_SEQUENCE_CODE_(code) SONDE_OF_ELEMENTS_(SONDE_TYPE_SEQUENCE, code)
#define SONDE_OF_ELEMENTS_(kind, code) \
	(((code) & 255) == SONDE_TYPE_INT || \
	 ((code) & 255) == SONDE_TYPE_FLOAT ? \
		((code) & 0xffff00) | ((code) & 255) << 24 | (kind) : 0)
#define SONDE_ENUM_CODE_(code) \
	(((code) & 255) == SONDE_TYPE_INT ? \
		SONDE_TYPE_ENUM | ((code) & 0xff00) | \
		((code) & SONDE_FIELD_SIGNED << 16) : 0)

#define SONDE_COUNT_OF_(code, e) \
	(((code) & 255) == SONDE_TYPE_TEXT ? sizeof(SONDE_SIZED_(e)) : \
	 ((code) & 255) == SONDE_TYPE_ARRAY ? \
		sizeof(SONDE_SIZED_(e)) / (((code) >> 8 & 255) / 8) : 0)
#define SONDE_SIZE_OF_(code, e) \
	(((code) & 255) == SONDE_TYPE_STRING ? SONDE_ANY_ : \
	 ((code) & 255) == SONDE_TYPE_TEXT || \
	 ((code) & 255) == SONDE_TYPE_ARRAY ? sizeof(SONDE_SIZED_(e)) : \
		(size_t)((code) >> 8 & 255) / 8)
#define SONDE_BY_OF_(code) \
	(((code) & 255) == SONDE_TYPE_STRING ? SONDE_BY_STRING_ : \
	 ((code) & 255) == SONDE_TYPE_TEXT || \
	 ((code) & 255) == SONDE_TYPE_ARRAY ? SONDE_BY_ADDRESS_ : \
					      SONDE_BY_VALUE_)

#define SONDE_BITS_CODE_(nbits, flags) \
	((nbits) >= 1 && (nbits) <= 64 ? \
		SONDE_MAKE_CODE_(SONDE_TYPE_BITS, nbits, flags) : -1)
#define SONDE_WIDTH_BYTES_(nbits) \
	((nbits) <= 8 ? 1 : (nbits) <= 16 ? 2 : (nbits) <= 32 ? 4 : 8)
#define SONDE_CUT_(e, nbits) \
	((uint64_t)(e) & ~(uint64_t)0 >> (64 - (nbits)))
#define SONDE_CUT_SIGNED_(e, nbits) \
	(uint64_t)((int64_t)((uint64_t)(e) << (64 - (nbits))) >> (64 - (nbits)))

/* From text and arguments to the tracepoint. The struct is there for what it
 * says; nobody defines it. */
#define SONDE_EVENT_(m, level, p, n, ...) \
	SONDE_TRACE_(level, #p, #n, sonde_takes_identifiers_##p##_##n \
		     SONDE_CAT_(SONDE_PAIRS_, m)(z, ##__VA_ARGS__))
#define SONDE_LEVEL_(m, p, n, level, ...) \
	SONDE_TRACE_(level, #p, #n, sonde_takes_identifiers_##p##_##n \
		     SONDE_CAT_(SONDE_PAIRS_, m)(z, ##__VA_ARGS__))

/* More than any payload of fixed size. */
#define SONDE_ANY_ (1u << 20)
/* Up to this, it goes in a register. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SONDE_WORD_MAX_ 8
#else
#define SONDE_WORD_MAX_ 0
#endif
/* Up to this, a payload is staged; and what strings may add to it. */
#define SONDE_STAGE_FIXED_ 512u
#define SONDE_STAGE_MORE_ 256u
#define SONDE_STAGED_(size) \
	((size) < SONDE_ANY_ && (size) > SONDE_STAGE_FIXED_ ? \
		SONDE_STAGE_FIXED_ + 1 : \
	 (size) > SONDE_ANY_ + 4 ? SONDE_STAGE_FIXED_ + 1 : (size))
#define SONDE_FIXED_(total) ((total) & (SONDE_ANY_ - 1))
#define SONDE_ROOM_(total) \
	(SONDE_FIXED_(total) > SONDE_STAGE_FIXED_ ? 32u : \
	 (total) >= SONDE_ANY_ ? \
		SONDE_FIXED_(total) + SONDE_STAGE_MORE_ + 32u : \
		SONDE_FIXED_(total) + 32u)

/* clang-format on */

/* How a variable is encoded. */
enum {
	SONDE_BY_VALUE_,   /* its own bytes */
	SONDE_BY_ADDRESS_, /* the bytes it points to, as many as is constant */
	SONDE_BY_STRING_,  /* the string it points to */
	SONDE_BY_BOUNDED_, /* struct sonde_run_: a string of bounded length */
	SONDE_BY_LENGTH_   /* struct sonde_run_: a length, and the elements */
};

struct sonde_run_ {
	const void *data;
	uint32_t length; /* elements, or the bound of a string */
};

/* A record being staged. `word` takes it if it is of at most 8 bytes. */
struct sonde_stage_ {
	uint64_t word;
	unsigned char *bytes;
	const char *text; /* with is_text: a string not staged yet */
	uint32_t used;
	uint32_t more;    /* of SONDE_STAGE_MORE_, what is left */
	uint8_t is_text;  /* constants all: the compiler sees through them */
	uint8_t is_fixed; /* nothing of variable size so far */
};

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_INLINE_ static inline __attribute__((always_inline, unused))
#define SONDE_COLD_   static __attribute__((noinline, cold, unused))

SONDE_INLINE_ struct sonde_run_ sonde_run_make_(const volatile void *data,
						uint64_t length, size_t element)
{
	struct sonde_run_ run;

	/* Too long for any record: let libsonde count it as such. */
	if (length > 0xfffffff0u / element)
		length = 0xfffffff0u / element;
	__builtin_memcpy(&run.data, &data, sizeof(data));
	run.length = data ? (uint32_t)length : 0;
	return run;
}

SONDE_INLINE_ struct sonde_run_ sonde_run_string_(const char *data,
						  uint64_t max)
{
	struct sonde_run_ run;

	run.data = data ? data : "(null)";
	run.length = max < SONDE_ANY_ ? (uint32_t)max : SONDE_ANY_;
	return run;
}

SONDE_INLINE_ uint8_t sonde_which_(uint64_t which, uint8_t nr)
{
	return which < nr ? (uint8_t)which : nr;
}

#if !defined(SONDE_DISABLE)

/* The n bytes at `data`, n <= 8, as the low ones of a word. */
SONDE_INLINE_ uint64_t sonde_word_(const void *data, size_t n)
{
	uint64_t word = 0;
	uint32_t half;
	uint16_t quarter;
	uint8_t byte;

	if (n == 1) {
		__builtin_memcpy(&byte, data, 1);
		return byte;
	}
	if (n == 2) {
		__builtin_memcpy(&quarter, data, 2);
		return quarter;
	}
	if (n == 4) {
		__builtin_memcpy(&half, data, 4);
		return half;
	}
	__builtin_memcpy(&word, data, n < 8 ? n : 8);
	return word;
}

/*
 * Stage a string of at most run->length bytes, each byte read once: another
 * thread may change it. Returns the bytes staged, 0 if there is no room.
 */
static __attribute__((noinline, unused)) uint32_t
sonde_stage_bounded_(unsigned char *to, const struct sonde_run_ *run,
		     uint32_t room)
{
	const volatile unsigned char *from =
		(const volatile unsigned char *)run->data;
	uint32_t i;

	for (i = 0; i < room; i++) {
		to[i] = i < run->length ? from[i] : 0;
		if (to[i] == 0)
			return i + 1;
	}
	return 0;
}

/*
 * A string that comes last, after at most 8 bytes, needs no staging:
 * sonde_emit_string() takes it. So such a string waits until it turns out not
 * to be the last.
 */
SONDE_INLINE_ int sonde_put_text_(struct sonde_stage_ *stage, const char *text)
{
	size_t n = sonde_stage_string((char *)stage->bytes + stage->used, text,
				      stage->more);

	stage->used += (uint32_t)n;
	stage->more -= (uint32_t)n;
	return n != 0;
}

SONDE_INLINE_ int sonde_put_waiting_(struct sonde_stage_ *stage)
{
	if (!stage->is_text)
		return 1;
	stage->is_text = 0;
	return sonde_put_text_(stage, stage->text);
}

SONDE_INLINE_ int sonde_put_string_(struct sonde_stage_ *stage,
				    const char *text)
{
	if (!stage->is_fixed || stage->used > SONDE_WORD_MAX_)
		return sonde_put_text_(stage, text);
	stage->is_fixed = 0;
	stage->is_text = 1;
	stage->text = text;
	return 1;
}

SONDE_INLINE_ int sonde_put_more_(struct sonde_stage_ *stage, int by,
				  const void *value, size_t element)
{
	unsigned char *to = stage->bytes + stage->used;
	struct sonde_run_ run;
	const char *text;
	uint64_t n = 0;

	if (by == SONDE_BY_STRING_) {
		__builtin_memcpy(&text, value, sizeof(text));
		return sonde_put_string_(stage, text);
	}
	stage->is_fixed = 0;
	if (by == SONDE_BY_BOUNDED_) {
		__builtin_memcpy(&run, value, sizeof(run));
		n = sonde_stage_bounded_(to, &run, stage->more);
	} else {
		__builtin_memcpy(&run, value, sizeof(run));
		n = (uint64_t)run.length * element;
		if (n > stage->more)
			return 0;
		__builtin_memcpy(to, &run.length, 4);
		if (n > 0)
			__builtin_memcpy(to + 4, run.data, n);
		stage->used += 4;
		stage->used += (uint32_t)n;
		stage->more -= (uint32_t)n;
		return 1;
	}
	stage->used += (uint32_t)n;
	stage->more -= (uint32_t)n;
	return n != 0;
}

/*
 * Stage a variable. All but the first and fourth argument are constants.
 * Returns 0 if it doesn't fit.
 */
SONDE_INLINE_ int sonde_put_(struct sonde_stage_ *stage, uint32_t total, int by,
			     const void *value, size_t size, size_t element)
{
	const void *data = value;

	if (SONDE_FIXED_(total) > SONDE_STAGE_FIXED_)
		return 0;
	if (!sonde_put_waiting_(stage))
		return 0;
	if (by >= SONDE_BY_STRING_)
		return sonde_put_more_(stage, by, value, element);
	if (by == SONDE_BY_ADDRESS_)
		__builtin_memcpy(&data, value, sizeof(data));
	if (stage->is_fixed && stage->used + size <= SONDE_WORD_MAX_)
		stage->word |= sonde_word_(data, size)
			       << (8 * stage->used % 64);
	if (total > SONDE_WORD_MAX_)
		__builtin_memcpy(stage->bytes + stage->used, data, size);
	stage->used += (uint32_t)size;
	return 1;
}

/* Append a variable to a list of parts; returns the new number of parts. */
SONDE_COLD_ size_t sonde_part_(struct sonde_part *parts, size_t nr, int by,
			       const void *value, size_t size, size_t element)
{
	const struct sonde_run_ *run = (const struct sonde_run_ *)value;
	struct sonde_part *part = &parts[nr];
	const char *text;

	part->data = value;
	part->size = (uint32_t)size;
	part->flags = 0;
	if (by == SONDE_BY_ADDRESS_) {
		__builtin_memcpy(&part->data, value, sizeof(part->data));
	} else if (by == SONDE_BY_STRING_) {
		__builtin_memcpy(&text, value, sizeof(text));
		part->data = text ? text : "(null)";
		part->size =
			(uint32_t)__builtin_strlen((const char *)part->data);
		part->flags = SONDE_PART_STRING;
	} else if (by == SONDE_BY_BOUNDED_) {
		text = (const char *)run->data;
		for (part->size = 0; part->size < run->length; part->size++) {
			if (text[part->size] == 0)
				break;
		}
		part->data = text;
		part->flags = SONDE_PART_STRING;
	} else if (by == SONDE_BY_LENGTH_) {
		part->data = &run->length;
		part->size = 4;
		part[1].data = run->data;
		part[1].size = (uint32_t)(run->length * element);
		part[1].flags = 0;
		return nr + 2;
	}
	return nr + 1;
}

#endif

#ifdef __cplusplus
}
#endif

/* clang-format off */

/* What there is instead of an event's fields if it has none. */
#define SONDE_EMPTY_ ("", ()(EMPTY, ~))

/* The tracepoint itself, inside its block. */
#define SONDE_EMIT_FIELDS_(...) \
	uint64_t sonde_bytes_[SONDE_ROOM_((unsigned)sonde_fixed_) / 8]; \
	struct sonde_stage_ sonde_stage_ = { 0, \
		(unsigned char *)sonde_bytes_, 0, 0, SONDE_STAGE_MORE_, 0, 1 }; \
	int sonde_fits_ = 1; \
	SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_D, f, 1, __VA_ARGS__)) \
	SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_E, f, 1, __VA_ARGS__)) \
	if (sonde_fixed_ <= SONDE_WORD_MAX_) { \
		sonde_emit_word(sonde_state_, sonde_stage_.word, \
				SONDE_INC(sonde_stage_.used)); \
	} else if (sonde_fits_ && sonde_stage_.is_text) { \
		sonde_emit_string(sonde_state_, sonde_stage_.word, \
				  SONDE_INC(sonde_stage_.used), \
				  sonde_stage_.text); \
	} else if (__builtin_expect(sonde_fits_, 1)) { \
		sonde_emit_block(sonde_state_, sonde_bytes_, \
				 SONDE_INC(sonde_stage_.used)); \
	} else { \
		struct sonde_part sonde_parts_[1 SONDE_SCAN_(SONDE_EACH_( \
			SONDE_FIELD_, SONDE_N, f, 1, __VA_ARGS__))]; \
		size_t sonde_nr_ = 0; \
		SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_P, f, 1, \
					__VA_ARGS__)) \
		sonde_emit_parts(sonde_state_, sonde_parts_, sonde_nr_); \
	}

#define SONDE_TRACE_(...) SONDE_TRACE1_(__VA_ARGS__)
#define SONDE_TRACE1_(level, p, n, check, ...) \
	do { \
		struct check; \
		SONDE_TRACE2_(level, p, n, __VA_ARGS__) \
	} while (0)

#if defined(SONDE_DISABLE)

/* Checked and used, and nothing comes of it. */
#define SONDE_TRACE2_(level, p, n, ...) \
	if (0) { \
		SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_K, f, 1, \
					__VA_ARGS__)) \
		SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_D, f, 1, \
					__VA_ARGS__)) \
	}
#define SONDE_ENABLED_(p, n) 0

#else

#define SONDE_TRACE2_(level, p, n, ...) \
	SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_K, f, 1, __VA_ARGS__)) \
	SONDE_SITE_(level, p, n, SONDE_NR_RECORDS_(__VA_ARGS__), \
		    __VA_ARGS__) \
	SONDE_CONSTANT_(sonde_fixed_, 0u SONDE_SCAN_(SONDE_EACH_( \
			SONDE_FIELD_, SONDE_Z, f, 1, __VA_ARGS__))) \
	uint32_t sonde_state_ = SONDE_STATE_(); \
	SONDE_SDT_(p, n, sonde_state_) \
	if (SONDE_TAKEN_(sonde_fixed_, sonde_state_ != 0)) { \
		SONDE_EMIT_FIELDS_(__VA_ARGS__) \
	}
/*
 * Out of line, but for the smallest: there the two jumps would cost a tenth of
 * the event, and some twenty bytes are in nobody's way.
 */
#define SONDE_TAKEN_(fixed, condition) \
	((fixed) <= SONDE_WORD_MAX_ ? (condition) : \
				      __builtin_expect(condition, 0))
/* A reference: see docs/tracepoints.md. */
#define SONDE_ENABLED_(p, n) \
	__extension__({ \
		SONDE_SITE_(0, p, n, 0xffff, SONDE_EMPTY_) \
		SONDE_STATE_() != 0; \
	})

#endif

/*
 * A SystemTap note: where the site is, and its names. The format is public;
 * `?` puts the note into the group of the function it is about, so that it is
 * dropped with the function's other copies.
 *
 * On x86-64 there is an instruction that does nothing, of the five bytes that a
 * jump takes, and the note's one argument is the register with the state word,
 * which is tested behind it: whoever puts a jump in its place can have the
 * event recorded by giving that register another value.
 */
#if defined(__LP64__)
#define SONDE_SDT_WORD_ ".8byte"
#else
#define SONDE_SDT_WORD_ ".4byte"
#endif
#if defined(__x86_64__)
#define SONDE_SDT_NOP_       "\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#define SONDE_SDT_ARGS_      "4@%k0"
#define SONDE_SDT_OUT_(state) : "+r"(state)
#else
#define SONDE_SDT_NOP_
#define SONDE_SDT_ARGS_
#define SONDE_SDT_OUT_(state)
#endif
#define SONDE_SDT_(p, n, state) \
	__asm__ volatile( \
		"990:\n" SONDE_SDT_NOP_ \
		"\t.pushsection .note.stapsdt,\"?\",\"note\"\n" \
		"\t.balign 4\n" \
		"\t.4byte 992f-991f, 994f-993f, 3\n" \
		"991:\t.asciz \"stapsdt\"\n" \
		"992:\t.balign 4\n" \
		"993:\t" SONDE_SDT_WORD_ " 990b\n" \
		"\t" SONDE_SDT_WORD_ " _.stapsdt.base\n" \
		"\t" SONDE_SDT_WORD_ " 0\n" \
		"\t.asciz \"" p "\"\n" \
		"\t.asciz \"" n "\"\n" \
		"\t.asciz \"" SONDE_SDT_ARGS_ "\"\n" \
		"994:\t.balign 4\n" \
		"\t.popsection\n" \
		"\t.ifndef _.stapsdt.base\n" \
		"\t.pushsection .stapsdt.base,\"aG\",\"progbits\"," \
		".stapsdt.base,comdat\n" \
		"\t.weak _.stapsdt.base\n" \
		"\t.hidden _.stapsdt.base\n" \
		"_.stapsdt.base:\t.space 1\n" \
		"\t.size _.stapsdt.base, 1\n" \
		"\t.popsection\n" \
		"\t.endif\n" SONDE_SDT_OUT_(state));

/* A site's state word: the pointer first, which is set once and for all. */
#define SONDE_STATE_() \
	__atomic_load_n(__atomic_load_n(&sonde_site_.state, \
					__ATOMIC_RELAXED), __ATOMIC_RELAXED)

#if defined(__cplusplus)
/* ---- C++: what fields are, and descriptions as constexpr structures ---- */

#define SONDE_ASSERT_(condition, text) static_assert(condition, text)
#define SONDE_ZERO_ {}
#define SONDE_CONSTANT_(name, value) \
	constexpr int name __attribute__((unused)) = (int)(value);
#define SONDE_CONSTANT_BEGIN_(name) constexpr int name __attribute__((unused)) =
#define SONDE_CONSTANT_END_ ;
#define SONDE_VALUE_T_(e) decltype(::sonde_cxx_::rvalue(e))
#define SONDE_SIZED_(e) ::sonde_cxx_::bare<decltype((e))>
#define SONDE_CODE_(e, flags) \
	(::sonde_cxx_::code<::sonde_cxx_::bare<decltype((e))>>( \
		flags, __builtin_constant_p(e) != 0))
#define SONDE_WIDTH_T_(nbits) \
	::sonde_cxx_::word<SONDE_WIDTH_BYTES_(nbits)>

#define SONDE_X_NONE_ ::sonde_cxx_::list<>{}
#define SONDE_XR_NONE(i, ...) SONDE_X_NONE_
#define SONDE_XR_ELEMENT(i, ...) ::sonde_cxx_::element<sonde_code_##i>()
#define SONDE_XR_MAYBE(i, ...) ::sonde_cxx_::element<sonde_code_##i>()
#define SONDE_XR_LABELS(i, ...) \
	::sonde_cxx_::join(SONDE_LABELS_(SONDE_LABEL_, R, l, 1, __VA_ARGS__) \
			   SONDE_X_NONE_)

#define SONDE_LABEL_(op, i, n, c, label) SONDE_LABEL2_(SONDE_STRIP_ label)
#define SONDE_LABEL2_(...) SONDE_LABEL3_(__VA_ARGS__)
#define SONDE_LABEL3_(text, first, last) \
	::sonde_cxx_::label(text, first, last),
#define SONDE_OPTION_LABEL_(op, i, n, c, pair) \
	::sonde_cxx_::label(SONDE_NAME_(pair), (c) - (n), (c) - (n)),

#define SONDE_R_LEAF(i, c, name, spec, type, value, by, elem, x) \
	SONDE_R_LEAF2_(i, name, SONDE_STRIP_ x)
#define SONDE_R_LEAF2_(...) SONDE_R_LEAF3_(__VA_ARGS__)
#define SONDE_R_LEAF3_(i, name, form, ...) \
	, ::sonde_cxx_::record(name, sonde_code_##i, sonde_count_##i, \
			       SONDE_XR_##form(i, __VA_ARGS__))
#define SONDE_R_STRUCT(i, c, name, ...) \
	, ::sonde_cxx_::record(name, SONDE_TYPE_STRUCT, \
			       sonde_count_##i, \
			       ::sonde_cxx_::join(SONDE_X_NONE_ \
				SONDE_FIELDS_(SONDE_R, i, c, __VA_ARGS__)))
#define SONDE_R_VARIANT(i, c, name, which, ...) \
	, ::sonde_cxx_::record(name "_tag", \
		SONDE_MAKE_CODE_(SONDE_TYPE_ENUM, 8, 0), \
		SONDE_COUNT_(__VA_ARGS__), \
		::sonde_cxx_::join(SONDE_LABELS_(SONDE_OPTION_LABEL_, R, l, \
			 SONDE_COUNT_(__VA_ARGS__), __VA_ARGS__) \
			SONDE_X_NONE_)) \
	, ::sonde_cxx_::record(name, SONDE_TYPE_VARIANT, \
			       SONDE_COUNT_(__VA_ARGS__), \
			       ::sonde_cxx_::join(SONDE_X_NONE_ \
				SONDE_FIELDS_(SONDE_R, i, c, __VA_ARGS__)))
#define SONDE_R_NONE(i, c, name) \
	, ::sonde_cxx_::record(name, SONDE_TYPE_STRUCT, 0, SONDE_X_NONE_)
#define SONDE_R_MANY(i, c)
#define SONDE_R_EMPTY(i, c)

/*
 * The site hangs on a type of its own, since compilers place the static
 * variables of templates and inline functions where they like. Hidden: each
 * module has its own copy, and none keeps a module from being unloaded.
 */
#define SONDE_SITE_(level, p, n, nr, ...) \
	static constexpr auto sonde_image_ = ::sonde_cxx_::image( \
		level, p, n, nr, __LINE__, ::sonde_cxx_::join(SONDE_X_NONE_ \
		SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_R, \
						   f, 1, __VA_ARGS__)))); \
	struct sonde_tag_ { \
		static constexpr decltype(sonde_image_) image() \
		{ \
			return sonde_image_; \
		} \
	}; \
	::sonde_site &sonde_site_ = ::sonde_cxx_::site<sonde_tag_>::object; \
	(void)&::sonde_cxx_::site<sonde_tag_>::enlist;

/* clang-format on */

extern "C++" {
#include <type_traits>

namespace sonde_cxx_
{

#define SONDE_HIDDEN_ __attribute__((visibility("hidden")))

template <class T>
using bare =
	typename std::remove_cv<typename std::remove_reference<T>::type>::type;

/* What an expression becomes in a variable; only its type is used. */
template <class T> T rvalue(T);

template <bool C, class T, class F>
using choice = typename std::conditional<C, T, F>::type;

template <unsigned N>
using word =
	choice<N == 1, uint8_t,
	       choice<N == 2, uint16_t, choice<N == 4, uint32_t, uint64_t>>>;

constexpr int make_code(int kind, size_t size, unsigned flags)
{
	return SONDE_MAKE_CODE_(kind, size * 8, flags);
}

/* The type that an enumeration's values have. */
template <class T, bool = std::is_enum<T>::value> struct number {
	using type = T;
};

template <class T> struct number<T, true> {
	using type = typename std::underlying_type<T>::type;
};

template <class T> constexpr unsigned integer_flags()
{
	return (std::is_same<T, bool>::value ? SONDE_FIELD_BOOL :
		std::is_same<T, char>::value ? SONDE_FIELD_CHAR :
					       0u) |
	       (std::is_signed<T>::value ? SONDE_FIELD_SIGNED : 0u);
}

template <class T> constexpr int plain_number_code(unsigned flags)
{
	return std::is_integral<T>::value && sizeof(T) <= 8 ?
		       make_code(SONDE_TYPE_INT, sizeof(T),
				 flags | integer_flags<T>()) :
	       (std::is_same<T, float>::value ||
		std::is_same<T, double>::value) &&
			       !(flags & SONDE_FIELD_HEX) ?
		       make_code(SONDE_TYPE_FLOAT, sizeof(T), flags) :
		       0;
}

/* Of a number, or 0. */
template <class T> constexpr int number_code(unsigned flags)
{
	return plain_number_code<typename number<T>::type>(flags);
}

template <class T> constexpr int array_code(unsigned flags, bool literal)
{
	return std::is_same<T, char>::value && flags == 0 ?
		       (literal ? SONDE_TYPE_STRING : SONDE_TYPE_TEXT) :
		       SONDE_ARRAY_CODE_(number_code<T>(flags));
}

template <class T> constexpr int pointer_code(unsigned flags)
{
	return (std::is_same<T, char *>::value ||
		std::is_same<T, const char *>::value) &&
			       flags == 0 ?
		       SONDE_TYPE_STRING :
		       make_code(SONDE_TYPE_INT, sizeof(T),
				 flags | SONDE_FIELD_HEX);
}

template <class T> constexpr int code(unsigned flags, bool literal)
{
	return std::is_array<T>::value ?
		       array_code<bare<typename std::remove_extent<T>::type>>(
			       flags, literal) :
	       std::is_pointer<T>::value ||
			       std::is_same<T, decltype(nullptr)>::value ?
		       pointer_code<T>(flags) :
		       number_code<T>(flags);
}

/*
 * A description is made of packed structures, one in another, so that each
 * function is one expression, which is what constexpr takes in C++11.
 */
#define SONDE_TIGHT_  __attribute__((packed))

/* 0 to N - 1. */
template <class T, T... I> struct indices {
};
#if defined(__clang__)
template <size_t N> using up_to = __make_integer_seq<indices, size_t, N>;
#else
template <size_t N> using up_to = indices<size_t, __integer_pack(N)...>;
#endif

template <size_t N> struct text {
	char at[N];
};

template <size_t N, size_t... I>
constexpr text<N> make_text(const char (&from)[N], indices<size_t, I...>)
{
	return { { from[I]... } };
}

template <size_t N> constexpr text<N> text_of(const char (&from)[N])
{
	return make_text(from, up_to<N>());
}

/* Things one behind the other; of none, nothing. */
template <class... T> struct list;

template <> struct list<> {
	char none[0];
};

template <class First, class... Rest> struct SONDE_TIGHT_ list<First, Rest...> {
	First first;
	list<Rest...> rest;
};

constexpr list<> join()
{
	return {};
}

template <class First, class... Rest>
constexpr list<First, Rest...> join(const First &first, const Rest &...rest)
{
	return { first, join(rest...) };
}

template <size_t N> struct SONDE_TIGHT_ label_of {
	::sonde_desc_label head;
	text<N> name;
};

template <size_t N, class First, class Last>
constexpr label_of<N> label(const char (&name)[N], First first, Last last)
{
	return { { static_cast<int64_t>(first), static_cast<int64_t>(last), N,
		   0 },
		 text_of(name) };
}

template <size_t N, class Extra> struct SONDE_TIGHT_ record_of {
	::sonde_desc_field head;
	text<N> name;
	Extra extra;
};

template <size_t N, class Extra>
constexpr record_of<N, Extra> raw_record(const char (&name)[N], uint64_t count,
					 int bits, int kind, int flags,
					 const Extra &extra)
{
	return { { sizeof(record_of<N, Extra>), static_cast<uint32_t>(count), N,
		   static_cast<uint8_t>(bits), static_cast<uint8_t>(kind),
		   static_cast<uint32_t>(flags) },
		 text_of(name),
		 extra };
}

template <size_t N, class Extra>
constexpr record_of<N, Extra> record(const char (&name)[N], int code,
				     uint64_t count, const Extra &extra)
{
	return raw_record(name, count, SONDE_OUTER_BITS_(code), code & 255,
			  SONDE_OUTER_FLAGS_(code), extra);
}

/* The element of an array or sequence; nothing for other codes. */
template <int Code, bool = (Code & 255) == SONDE_TYPE_ARRAY ||
			   (Code & 255) == SONDE_TYPE_SEQUENCE>
struct element_of {
	using type = list<>;
	static constexpr type make()
	{
		return {};
	}
};

template <int Code> struct element_of<Code, true> {
	using type = record_of<1, list<>>;
	static constexpr type make()
	{
		return raw_record("", 0, Code >> 8 & 255, Code >> 24,
				  Code >> 16 & 255, list<>{});
	}
};

template <int Code> constexpr typename element_of<Code>::type element()
{
	return element_of<Code>::make();
}

template <class Rest> struct alignas(8) image_of {
	::sonde_desc head;
	Rest rest;
};

template <size_t P, size_t E, class Records>
constexpr image_of<list<text<P>, text<E>, Records>>
image(int level, const char (&provider)[P], const char (&name)[E],
      int nr_fields, int line, const Records &records)
{
	using made = image_of<list<text<P>, text<E>, Records>>;

	return { { { SONDE_DESC_MAGIC[0], SONDE_DESC_MAGIC[1],
		     SONDE_DESC_MAGIC[2], SONDE_DESC_MAGIC[3],
		     SONDE_DESC_MAGIC[4], SONDE_DESC_MAGIC[5],
		     SONDE_DESC_MAGIC[6], SONDE_DESC_MAGIC[7] },
		   sizeof(made),
		   static_cast<uint32_t>(line),
		   P,
		   E,
		   static_cast<uint16_t>(nr_fields),
		   static_cast<uint8_t>(level),
		   SONDE_ABI_VERSION },
		 join(text_of(provider), text_of(name), records) };
}

template <class Tag> struct site {
	SONDE_HIDDEN_ static constexpr decltype(Tag::image()) image =
		Tag::image();
	SONDE_HIDDEN_ static ::sonde_site object;

	/* Before other constructors, so that theirs can be recorded. */
	SONDE_HIDDEN_ __attribute__((constructor(101), used)) static void
	enlist()
	{
		::sonde_register(&object, 1);
	}
};

/* What `state` points to before registration. */
template <class T> struct zero {
	SONDE_HIDDEN_ static constexpr uint32_t word = 0;
};

/* They are inline from C++17 on; before that, they must be defined. */
template <class Tag> constexpr decltype(Tag::image()) site<Tag>::image;
template <class T> constexpr uint32_t zero<T>::word;

template <class Tag>
::sonde_site site<Tag>::object = { &zero<void>::word, &site<Tag>::image.head };

} /* namespace sonde_cxx_ */
} /* extern "C++" */

#else
/* ---- C: what fields are, and descriptions as structures ---- */

/* clang-format off */

#define SONDE_ASSERT_(condition, text) _Static_assert(condition, text)
#define SONDE_ZERO_ = { 0 }
#define SONDE_CONSTANT_(name, value) enum { name = (int)(value) };
#define SONDE_CONSTANT_BEGIN_(name) enum { name =
#define SONDE_CONSTANT_END_ };
/* Its type if it is an array; bit-fields, which have none, aren't asked. */
#define SONDE_SIZED_(e) \
	__typeof__(__builtin_choose_expr( \
		__builtin_classify_type(SONDE_RVALUE_(e)) == \
			SONDE_POINTER_CLASS_, e, SONDE_RVALUE_(e)))
/* What an expression becomes in a variable: unqualified, arrays pointers. */
#define SONDE_RVALUE_(e) ((void)0, e)
#define SONDE_VALUE_T_(e) __typeof__(SONDE_RVALUE_(e))
#define SONDE_IS_ARRAY_(e) \
	(!__builtin_types_compatible_p(SONDE_SIZED_(e), SONDE_VALUE_T_(e)))
#define SONDE_WIDTH_T_(nbits) \
	__typeof__(__builtin_choose_expr((nbits) <= 8, (uint8_t)0, \
		   __builtin_choose_expr((nbits) <= 16, (uint16_t)0, \
		   __builtin_choose_expr((nbits) <= 32, (uint32_t)0, \
					 (uint64_t)0))))

#define SONDE_INT_(type, flags) \
	SONDE_MAKE_CODE_(SONDE_TYPE_INT, sizeof(type) * 8, flags)
#define SONDE_SINT_(type) SONDE_INT_(type, SONDE_FIELD_SIGNED)
#define SONDE_CHAR_ \
	SONDE_INT_(char, SONDE_FIELD_CHAR | \
		   ((char)-1 < 0 ? SONDE_FIELD_SIGNED : 0))
#define SONDE_FLOAT_(type) \
	SONDE_MAKE_CODE_(SONDE_TYPE_FLOAT, sizeof(type) * 8, 0)
/* Of each type T that a number can have; X is T, T * or const T *. */
#define SONDE_NUMBERS_(x) \
	x(_Bool): SONDE_OF_BOOL_, \
	x(char): SONDE_OF_CHAR_, \
	x(signed char): SONDE_OF_SCHAR_, \
	x(short): SONDE_OF_SHORT_, \
	x(int): SONDE_OF_INT_, \
	x(long): SONDE_OF_LONG_, \
	x(long long): SONDE_OF_LLONG_, \
	x(unsigned char): SONDE_OF_UCHAR_, \
	x(unsigned short): SONDE_OF_USHORT_, \
	x(unsigned int): SONDE_OF_UINT_, \
	x(unsigned long): SONDE_OF_ULONG_, \
	x(unsigned long long): SONDE_OF_ULLONG_, \
	x(float): SONDE_OF_FLOAT_, \
	x(double): SONDE_OF_DOUBLE_
#define SONDE_PLAIN_T_(type) type
#define SONDE_POINTER_T_(type) type *
#define SONDE_CONST_T_(type) const type *

#define SONDE_POINTER_CLASS_ __builtin_classify_type((void *)0)
#define SONDE_SCALAR_CODE_(e) \
	_Generic(SONDE_RVALUE_(e), \
		SONDE_NUMBERS_(SONDE_PLAIN_T_), \
		char *: SONDE_TYPE_STRING, \
		const char *: SONDE_TYPE_STRING, \
		default: __builtin_classify_type(SONDE_RVALUE_(e)) == \
			SONDE_POINTER_CLASS_ ? SONDE_OF_ADDRESS_ : 0)
#define SONDE_ELEMENT_CODE_(e) \
	_Generic(SONDE_RVALUE_(e), \
		SONDE_NUMBERS_(SONDE_POINTER_T_), \
		SONDE_NUMBERS_(SONDE_CONST_T_), \
		default: 0)
#define SONDE_CODE_(e, flags) \
	(SONDE_IS_ARRAY_(e) ? \
		(flags) == 0 && SONDE_ELEMENT_CODE_(e) == SONDE_OF_CHAR_ ? \
			__builtin_constant_p(e) ? SONDE_TYPE_STRING : \
						  SONDE_TYPE_TEXT : \
			SONDE_ARRAY_CODE_(SONDE_FLAGGED_( \
				SONDE_ELEMENT_CODE_(e), flags)) : \
		SONDE_FLAGGED_(SONDE_SCALAR_CODE_(e), flags))
#define SONDE_FLAGGED_(code, flags) \
	((flags) == 0 ? (code) : \
	 (code) == SONDE_TYPE_STRING ? SONDE_OF_ADDRESS_ : \
	 ((code) & 255) == SONDE_TYPE_INT || \
	 (((code) & 255) == SONDE_TYPE_FLOAT && (flags) != SONDE_FIELD_HEX) ? \
		((code) | (int)(flags) << 16) : 0)

#define SONDE_PACKED_ __attribute__((packed))

/* What follows the name in a record: type (XT) and initialiser (XI). */
#define SONDE_XT_NONE(i, ...) struct sonde_none_
#define SONDE_XI_NONE(i, ...) {}
#define SONDE_XT_ELEMENT(i, ...) struct sonde_element_
#define SONDE_XI_ELEMENT(i, ...) SONDE_ELEMENT_I_(sonde_code_##i)
#define SONDE_XT_MAYBE(i, ...) \
	__typeof__(__builtin_choose_expr( \
		(sonde_code_##i & 255) == SONDE_TYPE_ARRAY, \
		(struct sonde_element_){ { 0, 0, 0, 0, 0, 0 }, "" }, \
		(struct sonde_none_){}))
#define SONDE_XI_MAYBE(i, ...) \
	__builtin_choose_expr( \
		(sonde_code_##i & 255) == SONDE_TYPE_ARRAY, \
		((struct sonde_element_)SONDE_ELEMENT_I_(sonde_code_##i)), \
		((struct sonde_none_){}))
#define SONDE_XT_LABELS(i, ...) \
	struct { SONDE_LABELS_(SONDE_LABEL_, T, l, 1, __VA_ARGS__) } \
	SONDE_PACKED_
#define SONDE_XI_LABELS(i, ...) \
	{ SONDE_LABELS_(SONDE_LABEL_, I, l, 1, __VA_ARGS__) }
#define SONDE_ELEMENT_I_(code) \
	{ { sizeof(struct sonde_element_), 0, 1, (code) >> 8 & 255, \
	    (code) >> 24, (code) >> 16 & 255 }, "" }
#define SONDE_LABEL_(op, i, n, c, label) \
	SONDE_LABEL2_(op, i, SONDE_STRIP_ label)
#define SONDE_LABEL2_(...) SONDE_LABEL3_(__VA_ARGS__)
#define SONDE_LABEL3_(op, i, text, first, last) \
	SONDE_LABEL_##op(i, text, first, last)
#define SONDE_LABEL_T(i, text, first, last) \
	struct { \
		struct sonde_desc_label head; \
		char text_[sizeof(text)]; \
	} SONDE_PACKED_ i;
#define SONDE_LABEL_I(i, text, first, last) \
	{ { (int64_t)(first), (int64_t)(last), sizeof(text), 0 }, text },
#define SONDE_OPTION_LABEL_(op, i, n, c, pair) \
	SONDE_CAT_(SONDE_LABEL_, op)(i, SONDE_NAME_(pair), (c) - (n), (c) - (n))

/* T: types; M: members. */
#define SONDE_T_LEAF(i, c, name, spec, type, value, by, elem, x) \
	SONDE_T_LEAF2_(i, name, SONDE_STRIP_ x)
#define SONDE_T_LEAF2_(...) SONDE_T_LEAF3_(__VA_ARGS__)
#define SONDE_T_LEAF3_(i, name, form, ...) \
	SONDE_RECORD_T_(t, i, name, SONDE_XT_##form(i, __VA_ARGS__))
#define SONDE_RECORD_T_(t, i, name, xtype) \
	SONDE_RECORD_BEGIN_(t, i, name) xtype SONDE_RECORD_END_
#define SONDE_RECORD_BEGIN_(t, i, name) \
	struct sonde_##t##_##i { \
		struct sonde_desc_field head; \
		char text_[sizeof(name)];
#define SONDE_RECORD_END_ extra; } SONDE_PACKED_;
#define SONDE_T_STRUCT(i, c, name, ...) \
	SONDE_FIELDS_(SONDE_T, i, c, __VA_ARGS__) \
	SONDE_RECORD_BEGIN_(t, i, name) \
		struct { \
			SONDE_FIELDS_(SONDE_M, i, c, __VA_ARGS__) \
		} SONDE_PACKED_ \
	SONDE_RECORD_END_
#define SONDE_T_VARIANT(i, c, name, which, ...) \
	SONDE_RECORD_T_(tag, i, name "_tag", struct { \
		SONDE_LABELS_(SONDE_OPTION_LABEL_, T, l, \
			SONDE_COUNT_(__VA_ARGS__), __VA_ARGS__) } \
		SONDE_PACKED_) \
	SONDE_T_STRUCT(i, c, name, __VA_ARGS__)
#define SONDE_T_NONE(i, c, name) \
	SONDE_RECORD_T_(t, i, name, struct sonde_none_)
#define SONDE_T_MANY(i, c)
#define SONDE_T_EMPTY(i, c)
#define SONDE_M_LEAF(i, ...) struct sonde_t_##i m_##i;
#define SONDE_M_STRUCT(i, ...) struct sonde_t_##i m_##i;
#define SONDE_M_VARIANT(i, ...) \
	struct sonde_tag_##i tag_##i; \
	struct sonde_t_##i m_##i;
#define SONDE_M_NONE(i, ...) struct sonde_t_##i m_##i;
#define SONDE_M_MANY(i, c)
#define SONDE_M_EMPTY(i, c)

/* I: initialisers. */
#define SONDE_I_LEAF(i, c, name, spec, type, value, by, elem, x) \
	SONDE_I_LEAF2_(i, name, SONDE_STRIP_ x)
#define SONDE_I_LEAF2_(...) SONDE_I_LEAF3_(__VA_ARGS__)
#define SONDE_I_LEAF3_(i, name, form, ...) \
	SONDE_RECORD_I_(t, i, name, sonde_code_##i, sonde_count_##i, \
			SONDE_XI_##form(i, __VA_ARGS__))
#define SONDE_RECORD_I_(t, i, name, code, count, ...) \
	SONDE_RECORD_I_BEGIN_(t, i, name, code, count) __VA_ARGS__ },
#define SONDE_RECORD_I_BEGIN_(t, i, name, code, count) \
	{ { sizeof(struct sonde_##t##_##i), count, sizeof(name), \
	    SONDE_OUTER_BITS_(code), (code) & 255, \
	    SONDE_OUTER_FLAGS_(code) }, name,
#define SONDE_I_STRUCT(i, c, name, ...) \
	SONDE_RECORD_I_BEGIN_(t, i, name, SONDE_TYPE_STRUCT, sonde_count_##i) \
	{ SONDE_FIELDS_(SONDE_I, i, c, __VA_ARGS__) } },
#define SONDE_I_VARIANT(i, c, name, which, ...) \
	SONDE_RECORD_I_(tag, i, name "_tag", \
		SONDE_MAKE_CODE_(SONDE_TYPE_ENUM, 8, 0), \
		SONDE_COUNT_(__VA_ARGS__), \
		{ SONDE_LABELS_(SONDE_OPTION_LABEL_, I, l, \
			SONDE_COUNT_(__VA_ARGS__), __VA_ARGS__) }) \
	SONDE_RECORD_I_BEGIN_(t, i, name, SONDE_TYPE_VARIANT, \
			      SONDE_COUNT_(__VA_ARGS__)) \
	{ SONDE_FIELDS_(SONDE_I, i, c, __VA_ARGS__) } },
#define SONDE_I_NONE(i, c, name) \
	SONDE_RECORD_I_(t, i, name, SONDE_TYPE_STRUCT, 0, {})
#define SONDE_I_MANY(i, c)
#define SONDE_I_EMPTY(i, c)

/* Structures without members and constants out of compound literals: both
 * compilers have them, and complain even in system headers when pedantic. */
#define SONDE_LENIENT_ \
	_Pragma("GCC diagnostic push") \
	_Pragma("GCC diagnostic ignored \"-Wpedantic\"")
#define SONDE_STRICT_ _Pragma("GCC diagnostic pop")

#define SONDE_SITE_(level, p, n, nr, ...) \
	SONDE_LENIENT_ \
	SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_T, f, 1, \
					   __VA_ARGS__)) \
	struct sonde_image_ { \
		struct sonde_desc head; \
		char provider[sizeof(p)]; \
		char name[sizeof(n)]; \
		SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_M, f, \
						   1, __VA_ARGS__)) \
	} __attribute__((packed, aligned(8))); \
	static const struct sonde_image_ sonde_image_ \
		__attribute__((section("sonde_desc"), used, aligned(8))) = { \
		{ SONDE_DESC_MAGIC, sizeof(struct sonde_image_), __LINE__, \
		  sizeof(p), sizeof(n), nr, level, SONDE_ABI_VERSION }, p, n, \
		SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_I, f, \
						   1, __VA_ARGS__)) \
	}; \
	SONDE_STRICT_ \
	static struct sonde_site sonde_site_ \
		__attribute__((section("sonde_sites"), used, aligned(8))) = { \
		&sonde_zero_, (const struct sonde_desc *)&sonde_image_ };

/* clang-format on */

enum {
	SONDE_OF_BOOL_ = SONDE_INT_(_Bool, SONDE_FIELD_BOOL),
	SONDE_OF_CHAR_ = SONDE_CHAR_,
	SONDE_OF_SCHAR_ = SONDE_SINT_(signed char),
	SONDE_OF_SHORT_ = SONDE_SINT_(short),
	SONDE_OF_INT_ = SONDE_SINT_(int),
	SONDE_OF_LONG_ = SONDE_SINT_(long),
	SONDE_OF_LLONG_ = SONDE_SINT_(long long),
	SONDE_OF_UCHAR_ = SONDE_INT_(unsigned char, 0),
	SONDE_OF_USHORT_ = SONDE_INT_(unsigned short, 0),
	SONDE_OF_UINT_ = SONDE_INT_(unsigned int, 0),
	SONDE_OF_ULONG_ = SONDE_INT_(unsigned long, 0),
	SONDE_OF_ULLONG_ = SONDE_INT_(unsigned long long, 0),
	SONDE_OF_FLOAT_ = SONDE_FLOAT_(float),
	SONDE_OF_DOUBLE_ = SONDE_FLOAT_(double),
	SONDE_OF_ADDRESS_ = SONDE_INT_(void *, SONDE_FIELD_HEX)
};

struct sonde_none_ {
};

struct sonde_element_ {
	struct sonde_desc_field head;
	char name[1];
} SONDE_PACKED_;

#if !defined(SONDE_DISABLE)
/* What `state` points to before registration. */
static const uint32_t sonde_zero_ __attribute__((unused)) = 0;

/* All sites of this module, as the linker puts them side by side. */
extern struct sonde_site __start_sonde_sites[]
	__attribute__((weak, visibility("hidden")));
extern struct sonde_site __stop_sonde_sites[]
	__attribute__((weak, visibility("hidden")));

/* One for each module, whichever of its files is first. */
__attribute__((weak, visibility("hidden"))) unsigned char sonde_enlisted_;

/* Before other constructors, so that theirs can be recorded. */
__attribute__((constructor(101), used)) static void sonde_enlist_(void)
{
	if (sonde_enlisted_ || __start_sonde_sites == __stop_sonde_sites)
		return;
	sonde_enlisted_ = 1;
	sonde_register(__start_sonde_sites,
		       (size_t)(__stop_sonde_sites - __start_sonde_sites));
}
#endif

#endif

#endif /* C, or C++11 */

#endif /* SONDE_TRACEPOINT_H */
