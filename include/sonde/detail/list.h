/* SPDX-License-Identifier: MIT */
/*
 * list.h - macros over lists of fields: how many there are, and one
 * operation on each.
 *
 * An argument is a field as it was written. Lists have up to 32 fields or 64
 * labels; what is longer is MANY, which the compiler is made to refuse.
 */
#ifndef SONDE_DETAIL_LIST_H
#define SONDE_DETAIL_LIST_H

#ifndef SONDE_TRACEPOINT_H
#error "include <sonde/tracepoint.h>, of which this is a part"
#endif
#pragma GCC system_header

/* clang-format off */

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

/* clang-format on */

#endif /* SONDE_DETAIL_LIST_H */
