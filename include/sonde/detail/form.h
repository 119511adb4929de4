/* SPDX-License-Identifier: MIT */
/*
 * form.h - what each form of a field is, and all that is done with one.
 *
 * How it works. A field arrives as a pair (text, expression), where the text
 * is what was written, before macros were expanded: `, ##__VA_ARGS__` hands
 * arguments on unexpanded. The typed forms of tracepoint.h expand to `()(FORM, ...)`,
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
#ifndef SONDE_DETAIL_FORM_H
#define SONDE_DETAIL_FORM_H

#ifndef SONDE_TRACEPOINT_H
#error "include <sonde/tracepoint.h>, of which this is a part"
#endif
#pragma GCC system_header

/* clang-format off */

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

/* A level, or sonde_described(level, checksum): which starts with `()`, and no
 * level does. */
#define SONDE_LEVEL_OF_(level) \
	SONDE_CAT_(SONDE_LEVEL_OF_, SONDE_IS_TYPED_(level))(level)
#define SONDE_LEVEL_OF_0(level) level
#define SONDE_LEVEL_OF_1(level) SONDE_LEVEL_OF2_(SONDE_UNTYPE_ level)
#define SONDE_LEVEL_OF2_(...) SONDE_LEVEL_OF3_(__VA_ARGS__)
#define SONDE_LEVEL_OF3_(level, sum) level
#define SONDE_SUM_OF_(level) \
	SONDE_CAT_(SONDE_SUM_OF_, SONDE_IS_TYPED_(level))(level)
#define SONDE_SUM_OF_0(level) 0
#define SONDE_SUM_OF_1(level) SONDE_SUM_OF2_(SONDE_UNTYPE_ level)
#define SONDE_SUM_OF2_(...) SONDE_SUM_OF3_(__VA_ARGS__)
#define SONDE_SUM_OF3_(level, sum) sum
/* What it adds to nr_fields: SONDE_NR_FIELDS_DESCRIBED. */
#define SONDE_SUM_FLAG_(level) (SONDE_SUM_OF_(level) ? 0x4000 : 0)

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

#endif /* SONDE_DETAIL_FORM_H */
