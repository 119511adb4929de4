/* SPDX-License-Identifier: MIT */
/*
 * probe.h - the forms that fields have in providers' headers for
 * LTTng-UST, and what is made of classes, events and enumerations.
 *
 * Fields have their types written out, so that all that form.h makes of a field
 * but its value can stand outside of functions. A field is one more form, in a
 * list whose items begin with a comma. Classes, events and enumerations are
 *
 *	sonde_labels_P___E   the labels of an enumeration
 *	sonde_records_P___C  what a class's fields are: the records that end the
 *	                     description of each of its events
 *	sonde_encode_P___C   records an event of the class
 *	sonde_image_P___N    the description of an event
 *	sonde_site_P___N     its site
 *	sonde_fire_P___N     what its point calls
 *
 * A description is one constant; in C it has copies of the constants that are
 * before it in this list, which gcc takes as initialisers. clang does not: there
 * they are filled in by a constructor, before anybody looks at them.
 */
#ifndef SONDE_LTTNG_DETAIL_PROBE_H
#define SONDE_LTTNG_DETAIL_PROBE_H

#ifndef SONDE_TRACEPOINT_H
#error "include <lttng/tracepoint-event.h>, of which this is a part"
#endif
#pragma GCC system_header

#if defined(SONDE_DISABLE)
#error "SONDE_DISABLE is for sonde_event(); leave a provider of LTTng's out"
#endif

/* clang-format off */

/* ---- fields ---- */

/* Integers: by their size and sign, as LTTng has them; pointers too. */
#if defined(__cplusplus)
#define SONDE_LTTNG_T_(type) ::sonde_cxx_::lttng_number<type>
#else
#define SONDE_LTTNG_T_(type) \
	__typeof__(__builtin_choose_expr( \
		__builtin_classify_type((type)0) == SONDE_POINTER_CLASS_, \
		(uintptr_t)0, (type)0))
#endif
#define SONDE_LTTNG_SIGN_(type) \
	((SONDE_LTTNG_T_(type))-1 < (SONDE_LTTNG_T_(type))1 ? \
		SONDE_FIELD_SIGNED : 0)
#define SONDE_LTTNG_INT_(type, flags) \
	SONDE_MAKE_CODE_(SONDE_TYPE_INT, sizeof(type) * 8, \
			 (flags) | SONDE_LTTNG_SIGN_(type))

#define SONDE_DO_LT_INT(op, i, c, name, type, e, flags) \
	op##_LEAF(i, c, name, \
		  (GIVEN, SONDE_LTTNG_INT_(type, flags), 0, sizeof(type)), \
		  SONDE_LTTNG_T_(type), (SONDE_LTTNG_T_(type))(e), \
		  SONDE_BY_VALUE_, 1, (NONE, ~))
#define SONDE_DO_LT_FLOAT(op, i, c, name, type, e) \
	op##_LEAF(i, c, name, \
		  (GIVEN, sizeof(type) > 8 ? 0 : \
			SONDE_MAKE_CODE_(SONDE_TYPE_FLOAT, sizeof(type) * 8, \
					 0), 0, sizeof(type)), \
		  type, (type)(e), SONDE_BY_VALUE_, 1, (NONE, ~))
#define SONDE_DO_LT_ARRAY(op, i, c, name, type, e, n, flags) \
	op##_LEAF(i, c, name, \
		  (GIVEN, SONDE_ARRAY_CODE_(SONDE_LTTNG_INT_(type, flags)), \
		   n, sizeof(type) * (n)), \
		  const void *, (const void *)(e), \
		  SONDE_BY_ADDRESS_, 1, (ELEMENT, ~))
#define SONDE_DO_LT_SEQUENCE(op, i, c, name, type, e, ltype, n, flags) \
	op##_LEAF(i, c, name, \
		  (GIVEN, SONDE_SEQUENCE_CODE_(SONDE_LTTNG_INT_(type, flags)), \
		   0, SONDE_ANY_ + 4), \
		  struct sonde_run_, \
		  sonde_run_make_((const void *)(e), (uint64_t)(ltype)(n), \
				  sizeof(type)), \
		  SONDE_BY_LENGTH_, sizeof(type), (ELEMENT, ~))
#define SONDE_DO_LT_ENUM(op, i, c, name, labels, type, e) \
	op##_LEAF(i, c, name, \
		  (GIVEN, SONDE_ENUM_CODE_(SONDE_LTTNG_INT_(type, 0)), \
		   sonde_nr_##labels, sizeof(type)), \
		  SONDE_LTTNG_T_(type), (SONDE_LTTNG_T_(type))(e), \
		  SONDE_BY_VALUE_, 1, (LT_LABELS, sonde_labels_##labels))
#define SONDE_XT_LT_LABELS(i, labels) struct labels
#define SONDE_XI_LT_LABELS(i, labels) SONDE_LTTNG_COPY_(labels)
#define SONDE_XR_LT_LABELS(i, labels) labels

#define lttng_ust_field_integer(type, name, e) \
	, ()(LT_INT, #name, type, e, 0)
#define lttng_ust_field_integer_hex(type, name, e) \
	, ()(LT_INT, #name, type, e, SONDE_FIELD_HEX)
#define lttng_ust_field_integer_network(type, name, e) \
	, ()(LT_INT, #name, type, e, SONDE_FIELD_NETWORK)
#define lttng_ust_field_integer_network_hex(type, name, e) \
	, ()(LT_INT, #name, type, e, SONDE_FIELD_NETWORK | SONDE_FIELD_HEX)
#define lttng_ust_field_float(type, name, e) , ()(LT_FLOAT, #name, type, e)
#define lttng_ust_field_string(name, e) \
	, ()(STRING, #name, (const char *)(e))
#define lttng_ust_field_array(type, name, e, n) \
	, ()(LT_ARRAY, #name, type, e, n, 0)
#define lttng_ust_field_array_hex(type, name, e, n) \
	, ()(LT_ARRAY, #name, type, e, n, SONDE_FIELD_HEX)
#define lttng_ust_field_array_network(type, name, e, n) \
	, ()(LT_ARRAY, #name, type, e, n, SONDE_FIELD_NETWORK)
#define lttng_ust_field_array_network_hex(type, name, e, n) \
	, ()(LT_ARRAY, #name, type, e, n, SONDE_FIELD_NETWORK | SONDE_FIELD_HEX)
#define lttng_ust_field_array_text(type, name, e, n) \
	, ()(TEXT, #name, (const void *)(e), n)
#define lttng_ust_field_sequence(type, name, e, ltype, n) \
	, ()(LT_SEQUENCE, #name, type, e, ltype, n, 0)
#define lttng_ust_field_sequence_hex(type, name, e, ltype, n) \
	, ()(LT_SEQUENCE, #name, type, e, ltype, n, SONDE_FIELD_HEX)
#define lttng_ust_field_sequence_network(type, name, e, ltype, n) \
	, ()(LT_SEQUENCE, #name, type, e, ltype, n, SONDE_FIELD_NETWORK)
#define lttng_ust_field_sequence_network_hex(type, name, e, ltype, n) \
	, ()(LT_SEQUENCE, #name, type, e, ltype, n, \
	     SONDE_FIELD_NETWORK | SONDE_FIELD_HEX)
#define lttng_ust_field_sequence_text(type, name, e, ltype, n) \
	, ()(STRING_MAX, #name, (const char *)(e) ?: "", (ltype)(n))
#define lttng_ust_field_enum(p, e, type, name, value) \
	SONDE_LTTNG_ENUM_FIELD_(p, e, type, #name, value)
#define SONDE_LTTNG_ENUM_FIELD_(p, e, type, name, value) \
	, ()(LT_ENUM, name, p##___##e, type, value)

/* Only there for LTTng's filters: not recorded, nor looked at. */
#define lttng_ust_field_integer_nowrite(...)
#define lttng_ust_field_float_nowrite(...)
#define lttng_ust_field_string_nowrite(...)
#define lttng_ust_field_array_nowrite(...)
#define lttng_ust_field_array_nowrite_hex(...)
#define lttng_ust_field_array_network_nowrite(...)
#define lttng_ust_field_array_network_nowrite_hex(...)
#define lttng_ust_field_array_text_nowrite(...)
#define lttng_ust_field_sequence_nowrite(...)
#define lttng_ust_field_sequence_nowrite_hex(...)
#define lttng_ust_field_sequence_network_nowrite(...)
#define lttng_ust_field_sequence_network_nowrite_hex(...)
#define lttng_ust_field_sequence_text_nowrite(...)
#define lttng_ust_field_enum_nowrite(...)
#define lttng_ust_field_unused(...)

#define lttng_ust_field_enum_value(label, value) , (FROM, label, value, value)
#define lttng_ust_field_enum_range(label, first, last) \
	, (FROM, label, first, last)
#define lttng_ust_field_enum_auto(label) , (NEXT, label, ~, ~)

#if SONDE_LTTNG_OLD_
#define ctf_integer(...) lttng_ust_field_integer(__VA_ARGS__)
#define ctf_integer_hex(...) lttng_ust_field_integer_hex(__VA_ARGS__)
#define ctf_integer_network(...) lttng_ust_field_integer_network(__VA_ARGS__)
#define ctf_integer_network_hex(...) \
	lttng_ust_field_integer_network_hex(__VA_ARGS__)
#define ctf_float(...) lttng_ust_field_float(__VA_ARGS__)
#define ctf_string(...) lttng_ust_field_string(__VA_ARGS__)
#define ctf_array(...) lttng_ust_field_array(__VA_ARGS__)
#define ctf_array_hex(...) lttng_ust_field_array_hex(__VA_ARGS__)
#define ctf_array_network(...) lttng_ust_field_array_network(__VA_ARGS__)
#define ctf_array_network_hex(...) \
	lttng_ust_field_array_network_hex(__VA_ARGS__)
#define ctf_array_text(...) lttng_ust_field_array_text(__VA_ARGS__)
#define ctf_sequence(...) lttng_ust_field_sequence(__VA_ARGS__)
#define ctf_sequence_hex(...) lttng_ust_field_sequence_hex(__VA_ARGS__)
#define ctf_sequence_network(...) lttng_ust_field_sequence_network(__VA_ARGS__)
#define ctf_sequence_network_hex(...) \
	lttng_ust_field_sequence_network_hex(__VA_ARGS__)
#define ctf_sequence_text(...) lttng_ust_field_sequence_text(__VA_ARGS__)
#define ctf_enum(...) lttng_ust_field_enum(__VA_ARGS__)
#define ctf_integer_nowrite(...)
#define ctf_float_nowrite(...)
#define ctf_string_nowrite(...)
#define ctf_array_nowrite(...)
#define ctf_array_nowrite_hex(...)
#define ctf_array_network_nowrite(...)
#define ctf_array_network_nowrite_hex(...)
#define ctf_array_text_nowrite(...)
#define ctf_sequence_nowrite(...)
#define ctf_sequence_nowrite_hex(...)
#define ctf_sequence_network_nowrite(...)
#define ctf_sequence_network_nowrite_hex(...)
#define ctf_sequence_text_nowrite(...)
#define ctf_enum_nowrite(...)
#define ctf_unused(...)
#define ctf_enum_value(...) lttng_ust_field_enum_value(__VA_ARGS__)
#define ctf_enum_range(...) lttng_ust_field_enum_range(__VA_ARGS__)
#define ctf_enum_auto(...) lttng_ust_field_enum_auto(__VA_ARGS__)
#endif

/* ---- levels ---- */

/*
 * An array whose size is the level and one; of no size where none was given.
 * One of no size is compatible with those of any.
 */
#define SONDE_LTTNG_LEVEL_(p, n, size) SONDE_LTTNG_LEVEL2_(p, n, size)
#define SONDE_LTTNG_LEVEL2_(p, n, size) extern char sonde_level_##p##___##n[size];
#if defined(__cplusplus)
#define SONDE_LTTNG_LEVEL_OF_(array) \
	(std::extent<decltype(array)>::value == 0 ? SONDE_DEBUG_LINE : \
		static_cast<int>(std::extent<decltype(array)>::value) - 1)
#else
#define SONDE_LTTNG_SIZED_(array, n) \
	__builtin_types_compatible_p(__typeof__(array), char[n])
#define SONDE_LTTNG_LEVEL_OF_(array) \
	(SONDE_LTTNG_SIZED_(array, 1) && SONDE_LTTNG_SIZED_(array, 2) ? \
		SONDE_DEBUG_LINE : \
	 1 * SONDE_LTTNG_SIZED_(array, 2) + 2 * SONDE_LTTNG_SIZED_(array, 3) + \
	 3 * SONDE_LTTNG_SIZED_(array, 4) + 4 * SONDE_LTTNG_SIZED_(array, 5) + \
	 5 * SONDE_LTTNG_SIZED_(array, 6) + 6 * SONDE_LTTNG_SIZED_(array, 7) + \
	 7 * SONDE_LTTNG_SIZED_(array, 8) + 8 * SONDE_LTTNG_SIZED_(array, 9) + \
	 9 * SONDE_LTTNG_SIZED_(array, 10) + \
	 10 * SONDE_LTTNG_SIZED_(array, 11) + \
	 11 * SONDE_LTTNG_SIZED_(array, 12) + \
	 12 * SONDE_LTTNG_SIZED_(array, 13) + \
	 13 * SONDE_LTTNG_SIZED_(array, 14) + \
	 14 * SONDE_LTTNG_SIZED_(array, 15))
#endif

/* ---- enumerations ---- */

/* Their values are enumerators, so that one without continues. */
#define SONDE_LTTNG_ENUM_(p, e, values) \
	SONDE_LTTNG_ENUM2_(p##___##e, SONDE_LTTNG_ITEMS_ values)
#define SONDE_LTTNG_ITEMS_(...) __VA_ARGS__
#define SONDE_LTTNG_ENUM2_(...) SONDE_LTTNG_ENUM3_(__VA_ARGS__)
#define SONDE_LTTNG_ENUM3_(e, none, ...) \
	enum { \
		SONDE_LABELS_(SONDE_LTTNG_EACH_, V, e, 1, __VA_ARGS__) \
		sonde_nr_##e = SONDE_COUNT_(__VA_ARGS__) \
	}; \
	SONDE_LTTNG_LABELS_(e, __VA_ARGS__)
#define SONDE_LTTNG_EACH_(op, i, n, c, value) \
	SONDE_LTTNG_EACH2_(op, i, SONDE_LTTNG_ITEMS_ value)
#define SONDE_LTTNG_EACH2_(...) SONDE_LTTNG_EACH3_(__VA_ARGS__)
#define SONDE_LTTNG_EACH3_(op, i, how, text, first, last) \
	SONDE_LTTNG_EACH_##op(i, how, text, first, last)
#define SONDE_LTTNG_EACH_V(i, how, text, first, last) \
	SONDE_LTTNG_##how##_(i, first, last)
#define SONDE_LTTNG_FROM_(i, first, last) \
	sonde_first_##i = (first), sonde_last_##i = (last),
#define SONDE_LTTNG_NEXT_(i, first, last) \
	sonde_first_##i, sonde_last_##i = sonde_first_##i,

/* ---- C and C++, each its way ---- */

/* Fields as pairs for SONDE_EACH_; of none, what stands for it. */
#define SONDE_LTTNG_PAIRS_(...) \
	SONDE_CAT_(SONDE_PAIRS_, SONDE_NR_FIELDS_(p, n __VA_ARGS__)) \
	(z __VA_ARGS__)
#define SONDE_LTTNG_EACH_FIELD_(op, i, ...) \
	SONDE_SCAN_(SONDE_EACH_(SONDE_FIELD_, op, i, 1, __VA_ARGS__))

/* Parameters come in parentheses, values and pairs with a comma before each. */
#define SONDE_LTTNG_CLASS_(p, c, args, fields) \
	SONDE_LTTNG_CLASS2_(p##___##c, \
		(uint32_t sonde_state_ SONDE_LTTNG_PARAMETERS_ args), \
		SONDE_LTTNG_PAIRS_ fields)
#define SONDE_LTTNG_CLASS2_(x, parameters, ...) \
	SONDE_LTTNG_CLASS3_(x, parameters __VA_ARGS__)
#define SONDE_LTTNG_CLASS3_(x, parameters, ...) \
	SONDE_LTTNG_EACH_FIELD_(SONDE_K, x, __VA_ARGS__) \
	SONDE_CONSTANT_(sonde_nr_records_##x, SONDE_NR_RECORDS_(__VA_ARGS__)) \
	SONDE_LTTNG_RECORDS_(x, __VA_ARGS__) \
	static inline __attribute__((unused)) \
	void sonde_encode_##x parameters \
	{ \
		SONDE_LTTNG_EACH_FIELD_(SONDE_K, f, __VA_ARGS__) \
		SONDE_CONSTANT_(sonde_fixed_, 0u SONDE_LTTNG_EACH_FIELD_( \
				SONDE_Z, f, __VA_ARGS__)) \
		SONDE_EMIT_FIELDS_(__VA_ARGS__) \
	}

#define SONDE_LTTNG_PROBE_(cp, c, p, n, args) \
	SONDE_LTTNG_PROBE2_(cp##___##c, p##___##n, #p, #n, \
		(uint32_t sonde_state_ SONDE_LTTNG_PARAMETERS_ args), \
		(sonde_state_ SONDE_LTTNG_VALUES_ args))
#define SONDE_LTTNG_PROBE2_(x, y, p, n, parameters, values) \
	SONDE_LTTNG_IMAGE_(x, y, p, n) \
	static void sonde_fire_##y parameters \
	{ \
		sonde_encode_##x values; \
	} \
	static const struct sonde_lttng_probe sonde_probe_##y \
		__attribute__((section("sonde_probes"), used, aligned(8))) = { \
		&sonde_site_##y, (void (*)(void))sonde_fire_##y };

#if defined(__cplusplus)

#define SONDE_LTTNG_EACH_R(i, how, text, first, last) \
	::sonde_cxx_::label(text, sonde_first_##i, sonde_last_##i),
#define SONDE_LTTNG_LABELS_(e, ...) \
	static constexpr auto sonde_labels_##e = ::sonde_cxx_::join( \
		SONDE_LABELS_(SONDE_LTTNG_EACH_, R, e, 1, __VA_ARGS__) \
		SONDE_X_NONE_);
#define SONDE_LTTNG_RECORDS_(x, ...) \
	static constexpr auto sonde_records_##x = ::sonde_cxx_::join( \
		SONDE_X_NONE_ SONDE_LTTNG_EACH_FIELD_(SONDE_R, x, __VA_ARGS__));
#define SONDE_LTTNG_IMAGE_(x, y, p, n) \
	static constexpr auto sonde_image_##y __attribute__((used)) = \
		::sonde_cxx_::image<0>(SONDE_LTTNG_LEVEL_OF_(sonde_level_##y), \
				    p, n, sonde_nr_records_##x, __LINE__, \
				    sonde_records_##x); \
	static struct sonde_site sonde_site_##y = { \
		&::sonde_cxx_::zero<void>::word, &sonde_image_##y.head }; \
	__attribute__((constructor(101), used)) \
	static void sonde_enlist_##y() \
	{ \
		sonde_register(&sonde_site_##y, 1); \
	}

#else /* C */

#define SONDE_LTTNG_EACH_T(i, how, text, first, last) \
	SONDE_LABEL_T(i, text, first, last)
#define SONDE_LTTNG_EACH_I(i, how, text, first, last) \
	SONDE_LABEL_I(i, text, sonde_first_##i, sonde_last_##i)
#define SONDE_LTTNG_LABELS_(e, ...) \
	struct sonde_labels_##e { \
		SONDE_LABELS_(SONDE_LTTNG_EACH_, T, e, 1, __VA_ARGS__) \
	} SONDE_PACKED_; \
	static const struct sonde_labels_##e sonde_labels_##e \
		__attribute__((unused)) = { \
		SONDE_LABELS_(SONDE_LTTNG_EACH_, I, e, 1, __VA_ARGS__) \
	};
#define SONDE_LTTNG_RECORDS_(x, ...) \
	SONDE_LENIENT_ \
	SONDE_LTTNG_EACH_FIELD_(SONDE_T, x, __VA_ARGS__) \
	struct sonde_records_##x { \
		SONDE_LTTNG_EACH_FIELD_(SONDE_M, x, __VA_ARGS__) \
	} SONDE_PACKED_; \
	static const struct sonde_records_##x sonde_records_##x \
		__attribute__((unused)) = { \
		SONDE_LTTNG_EACH_FIELD_(SONDE_I, x, __VA_ARGS__) \
	}; \
	SONDE_STRICT_ \
	SONDE_LTTNG_FILL_RECORDS_(x, __VA_ARGS__)
#define SONDE_LTTNG_HEAD_(magic, x, y, p, n) \
	{ magic, sizeof(struct sonde_image_##y), __LINE__, sizeof(p), \
	  sizeof(n), sonde_nr_records_##x, \
	  SONDE_LTTNG_LEVEL_OF_(sonde_level_##y), SONDE_ABI_VERSION }
#define SONDE_LTTNG_IMAGE_(x, y, p, n) \
	struct sonde_image_##y { \
		struct sonde_desc head; \
		char provider[sizeof(p)]; \
		char name[sizeof(n)]; \
		struct sonde_records_##x records; \
	} __attribute__((packed, aligned(8))); \
	SONDE_LTTNG_FILL_IMAGE_(x, y, p, n) \
	static struct sonde_site sonde_site_##y \
		__attribute__((section("sonde_sites"), used, aligned(8))) = { \
		&sonde_zero_, (const struct sonde_desc *)&sonde_image_##y };

#if defined(__clang__)

#define SONDE_LTTNG_COPY_(constant) {}
#define SONDE_F_LEAF(i, c, name, spec, type, value, by, elem, x) \
	SONDE_F_LEAF2_(i, SONDE_STRIP_ x)
#define SONDE_F_LEAF2_(...) SONDE_F_LEAF3_(__VA_ARGS__)
#define SONDE_F_LEAF3_(i, form, ...) SONDE_F_##form(i, __VA_ARGS__)
#define SONDE_F_NONE(...)
#define SONDE_F_ELEMENT(...)
#define SONDE_F_LT_LABELS(i, labels) records->m_##i.extra = labels;
#define SONDE_F_MANY(i, c)
#define SONDE_F_EMPTY(i, c)
#define SONDE_LTTNG_FILL_RECORDS_(x, ...) \
	SONDE_LTTNG_INLINE_ void \
	sonde_fill_##x(struct sonde_records_##x *records) \
	{ \
		*records = sonde_records_##x; \
		SONDE_LTTNG_EACH_FIELD_(SONDE_F, x, __VA_ARGS__) \
	}
/* Before it is registered. A description that isn't filled has no magic number:
 * nobody takes it for one. */
#define SONDE_LTTNG_FILL_IMAGE_(x, y, p, n) \
	static struct sonde_image_##y sonde_image_##y; \
	__attribute__((constructor(100), used)) \
	static void sonde_image_fill_##y(void) \
	{ \
		struct sonde_image_##y *image = &sonde_image_##y; \
		image->head = (struct sonde_desc)SONDE_LTTNG_HEAD_( \
			{ 0 }, x, y, p, n); \
		__builtin_memcpy(image->head.magic, SONDE_DESC_MAGIC, 8); \
		__builtin_memcpy(image->provider, p, sizeof(p)); \
		__builtin_memcpy(image->name, n, sizeof(n)); \
		sonde_fill_##x(&image->records); \
	}

#else /* gcc */

#define SONDE_LTTNG_COPY_(constant) constant
#define SONDE_LTTNG_FILL_RECORDS_(x, ...)
#define SONDE_LTTNG_FILL_IMAGE_(x, y, p, n) \
	SONDE_LENIENT_ \
	static const struct sonde_image_##y sonde_image_##y \
		__attribute__((section("sonde_desc"), used, aligned(8))) = { \
		SONDE_LTTNG_HEAD_(SONDE_DESC_MAGIC, x, y, p, n), p, n, \
		sonde_records_##x }; \
	SONDE_STRICT_

#endif
#endif

/* clang-format on */

#if defined(__cplusplus)
extern "C++" {
namespace sonde_cxx_
{

template <class T>
using lttng_number =
	choice<std::is_pointer<bare<T>>::value, uintptr_t, bare<T>>;

} /* namespace sonde_cxx_ */
} /* extern "C++" */
#endif

#endif /* SONDE_LTTNG_DETAIL_PROBE_H */
