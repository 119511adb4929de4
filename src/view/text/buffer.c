/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - text that grows at its end (buffer.h).
 *
 * The room that was asked for is there, whatever failed: without memory the
 * text is dropped and writing goes on in what is left. Most functions are in
 * the header, for they are a few instructions.
 */
#include "view/text/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"

#define TEN(n)     n "0" n "1" n "2" n "3" n "4" n "5" n "6" n "7" n "8" n "9"
#define FIRST_SIZE ((size_t)65536)

const char sonde_digit_pairs[201] = TEN("0") TEN("1") TEN("2") TEN("3") TEN("4")
	TEN("5") TEN("6") TEN("7") TEN("8") TEN("9");

const uint64_t sonde_powers_of_ten[20] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000,
	100000000000,
	1000000000000,
	10000000000000,
	100000000000000,
	1000000000000000,
	10000000000000000,
	100000000000000000,
	1000000000000000000,
	10000000000000000000u,
};

int sonde_buffer_init(struct sonde_buffer *buffer)
{
	*buffer = (struct sonde_buffer){ .text = malloc(FIRST_SIZE) };
	if (!buffer->text)
		return -ENOMEM;
	buffer->size = FIRST_SIZE;
	return 0;
}

void sonde_buffer_fini(struct sonde_buffer *buffer)
{
	free(buffer->text);
	*buffer = (struct sonde_buffer){ .text = NULL };
}

void sonde_buffer_grow(struct sonde_buffer *buffer)
{
	char *bigger = realloc(buffer->text, buffer->size * 2);

	if (!bigger) {
		/* the first size is room enough for any step */
		buffer->failed = true;
		buffer->used = 0;
		return;
	}
	buffer->text = bigger;
	buffer->size *= 2;
}

void sonde_buffer_text(struct sonde_buffer *buffer, const char *text,
		       size_t length)
{
	const size_t most = SONDE_BUFFER_STEP - SONDE_BUFFER_SLACK;

	while (length) {
		size_t part = length < most ? length : most;

		sonde_buffer_room(buffer, part);
		memcpy(buffer->text + buffer->used, text, part);
		buffer->used += part;
		text += part;
		length -= part;
	}
}

void sonde_buffer_safe(struct sonde_buffer *buffer, const char *text)
{
	size_t length = strlen(text);
	size_t used = 0;

	for (size_t at = 0; at < length; at += used) {
		char escape[SONDE_ESCAPE_MAX];
		size_t plain = 0;
		size_t n;

		/* characters of one byte that need no escape */
		while (at + plain < length && text[at + plain] >= 0x20 &&
		       text[at + plain] < 0x7f)
			plain++;
		sonde_buffer_text(buffer, text + at, plain);
		at += plain;
		if (at == length)
			break;
		n = sonde_escape_safe(text + at, length - at, escape, &used);
		sonde_buffer_text(buffer, escape, n);
	}
}

void sonde_put_double(struct sonde_buffer *buffer, double value,
		      unsigned int bits)
{
	static const int digits[2][2] = { { 15, 17 }, { 6, 9 } };
	bool is_float = bits == 32;
	char text[40];
	int length = 0;

	for (int i = 0; i < 2; i++) {
		double back;

		length = snprintf(text, sizeof(text), "%.*g",
				  digits[is_float][i], value);
		back = strtod(text, NULL);
		if (is_float ? (float)back == (float)value : back == value)
			break;
	}
	memcpy(buffer->text + buffer->used, text, sizeof(text));
	buffer->used += (size_t)length;
}
