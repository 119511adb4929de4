/* SPDX-License-Identifier: MIT */
/*
 * site.h - the tracepoint itself: its site, its note, and the test of whether
 * anybody records.
 *
 * While nobody does, that test is a load and a branch; no field is evaluated.
 */
#ifndef SONDE_DETAIL_SITE_H
#define SONDE_DETAIL_SITE_H

#ifndef SONDE_TRACEPOINT_H
#error "include <sonde/tracepoint.h>, of which this is a part"
#endif
#pragma GCC system_header

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

/* clang-format on */

#endif /* SONDE_DETAIL_SITE_H */
