/* SPDX-License-Identifier: MIT */
/*
 * stage.h - a payload in the making.
 *
 * Fields are put one behind the other into a word, or into memory on the stack;
 * what may not fit there is recorded as parts. Errors can't happen: what is too
 * long for any record is counted by libsonde.
 */
#ifndef SONDE_DETAIL_STAGE_H
#define SONDE_DETAIL_STAGE_H

#ifndef SONDE_TRACEPOINT_H
#error "include <sonde/tracepoint.h>, of which this is a part"
#endif
#pragma GCC system_header

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

#endif /* SONDE_DETAIL_STAGE_H */
