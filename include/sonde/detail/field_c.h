/* SPDX-License-Identifier: MIT */
/*
 * field_c.h - C: what fields are, and descriptions as structures.
 */
#ifndef SONDE_DETAIL_FIELD_C_H
#define SONDE_DETAIL_FIELD_C_H

#ifndef SONDE_TRACEPOINT_H
#error "include <sonde/tracepoint.h>, of which this is a part"
#endif
#pragma GCC system_header

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
		__typeof__(__builtin_choose_expr( \
			SONDE_SUM_OF_(level) != 0, (struct sonde_sum_){ 0 }, \
			(struct sonde_none_){})) sum \
			__attribute__((aligned(8))); \
	} __attribute__((packed, aligned(8))); \
	static const struct sonde_image_ sonde_image_ \
		__attribute__((section("sonde_desc"), used, aligned(8))) = { \
		{ SONDE_DESC_MAGIC, sizeof(struct sonde_image_), __LINE__, \
		  sizeof(p), sizeof(n), (nr) | SONDE_SUM_FLAG_(level), \
		  SONDE_LEVEL_OF_(level), SONDE_ABI_VERSION }, p, n, \
		SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, SONDE_I, f, \
						   1, __VA_ARGS__)) \
		__builtin_choose_expr( \
			SONDE_SUM_OF_(level) != 0, \
			((struct sonde_sum_){ SONDE_SUM_OF_(level) }), \
			((struct sonde_none_){})) \
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

/* Of the description that an event was generated from. */
struct sonde_sum_ {
	uint64_t value;
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

#endif /* SONDE_DETAIL_FIELD_C_H */
