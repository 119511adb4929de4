/* SPDX-License-Identifier: MIT */
/*
 * field_cxx.h - C++: what fields are, and descriptions as constexpr structures.
 */
#ifndef SONDE_DETAIL_FIELD_CXX_H
#define SONDE_DETAIL_FIELD_CXX_H

#ifndef SONDE_TRACEPOINT_H
#error "include <sonde/tracepoint.h>, of which this is a part"
#endif
#pragma GCC system_header

/* clang-format off */

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
	static constexpr auto sonde_image_ = \
		::sonde_cxx_::image<SONDE_SUM_OF_(level)>( \
		SONDE_LEVEL_OF_(level), p, n, \
		(nr) | SONDE_SUM_FLAG_(level), __LINE__, ::sonde_cxx_::join(SONDE_X_NONE_ \
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
#define SONDE_TIGHT_ __attribute__((packed))

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

template <uint64_t Sum, class Rest> struct alignas(8) image_of {
	::sonde_desc head;
	Rest rest;
	alignas(8) uint64_t sum;

	static constexpr image_of make(::sonde_desc head, Rest rest)
	{
		return { head, rest, Sum };
	}
};

/* Not generated from a description. */
template <class Rest> struct alignas(8) image_of<0, Rest> {
	::sonde_desc head;
	Rest rest;

	static constexpr image_of make(::sonde_desc head, Rest rest)
	{
		return { head, rest };
	}
};

template <uint64_t Sum, size_t P, size_t E, class Records>
constexpr image_of<Sum, list<text<P>, text<E>, Records>>
image(int level, const char (&provider)[P], const char (&name)[E],
      int nr_fields, int line, const Records &records)
{
	using made = image_of<Sum, list<text<P>, text<E>, Records>>;

	return made::make({ { SONDE_DESC_MAGIC[0], SONDE_DESC_MAGIC[1],
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
			  join(text_of(provider), text_of(name), records));
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

#endif /* SONDE_DETAIL_FIELD_CXX_H */
