/* SPDX-License-Identifier: MIT */
/* types.c - see types.h. */
#include "generate/types.h"

#include <stddef.h>
#include <string.h>

#include "base/port.h"
#include "base/text.h"

#define HOST(type) (8 * sizeof(type))
#define UNSIGNED(name, c_type, bits)                                    \
	{                                                               \
		name, c_type, SONDE_GENERATE_INT, SONDE_KIND_UINT, bits \
	}
#define SIGNED(name, c_type, bits)                                     \
	{                                                              \
		name, c_type, SONDE_GENERATE_INT, SONDE_KIND_INT, bits \
	}

const struct sonde_generate_word sonde_generate_words[] = {
	UNSIGNED("u8", "uint8_t", 8),
	UNSIGNED("u16", "uint16_t", 16),
	UNSIGNED("u32", "uint32_t", 32),
	UNSIGNED("u64", "uint64_t", 64),
	SIGNED("i8", "int8_t", 8),
	SIGNED("i16", "int16_t", 16),
	SIGNED("i32", "int32_t", 32),
	SIGNED("i64", "int64_t", 64),
	SIGNED("short", "short", HOST(short)),
	UNSIGNED("ushort", "unsigned short", HOST(short)),
	SIGNED("int", "int", HOST(int)),
	UNSIGNED("uint", "unsigned int", HOST(int)),
	SIGNED("long", "long", HOST(long)),
	UNSIGNED("ulong", "unsigned long", HOST(long)),
	UNSIGNED("size", "size_t", HOST(size_t)),
	SIGNED("ssize", "ptrdiff_t", HOST(ptrdiff_t)),
	{ "pointer", "const void *", SONDE_GENERATE_POINTER, SONDE_KIND_UINT,
	  HOST(void *) },
	{ "bool", "bool", SONDE_GENERATE_BOOL, SONDE_KIND_UINT, 8 },
	{ "char", "char", SONDE_GENERATE_CHAR, SONDE_KIND_INT, 8 },
	{ "float", "float", SONDE_GENERATE_FLOAT, SONDE_KIND_FLOAT, 32 },
	{ "double", "double", SONDE_GENERATE_FLOAT, SONDE_KIND_FLOAT, 64 },
	{ "string", "const char *", SONDE_GENERATE_STRING, SONDE_KIND_STRING,
	  0 },
	{ "text", "char", SONDE_GENERATE_TEXT, SONDE_KIND_INT, 8 },
	{ "blob", "void", SONDE_GENERATE_BLOB, SONDE_KIND_UINT, 8 },
	{ 0 },
};

/* C11's and C++20's, and what common headers make macros of. */
static const char keywords[] =
	"auto break case char const continue default do double else enum "
	"extern float for goto if inline int long register restrict return "
	"short signed sizeof static struct switch typedef union unsigned void "
	"volatile while alignas alignof and and_eq asm atomic_cancel bitand "
	"bitor bool catch char8_t char16_t char32_t class compl concept "
	"consteval constexpr constinit const_cast co_await co_return co_yield "
	"decltype delete dynamic_cast explicit export false friend mutable "
	"namespace new noexcept not not_eq nullptr operator or or_eq private "
	"protected public reinterpret_cast requires static_assert static_cast "
	"template this thread_local throw true try typeid typename typeof "
	"using virtual wchar_t xor xor_eq NULL errno stdin stdout stderr "
	"linux unix i386 assert offsetof";

const struct sonde_generate_word *sonde_generate_word(const char *name)
{
	const struct sonde_generate_word *word = sonde_generate_words;

	while (word->name && strcmp(word->name, name) != 0)
		word++;
	return word->name ? word : NULL;
}

const char *sonde_generate_name_trouble(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";
	size_t length = strspn(name, letters);

	if (!length || name[length] || (name[0] >= '0' && name[0] <= '9'))
		return "it is letters, digits and _, and begins with a letter";
	if (length > SONDE_GENERATE_NAME_MAX)
		return "it is longer than 63";
	if (name[0] == '_' || !strncmp(name, "sonde", 5) ||
	    !strncmp(name, "SONDE", 5))
		return "those with _ or sonde before them are taken";
	if (sonde_text_has(keywords, sizeof(keywords) - 1, " ", name))
		return "C or C++ has this word already";
	return NULL;
}

bool sonde_generate_is_printable(const char *text)
{
	size_t length = strlen(text);

	if (length < 1 || length > 100)
		return false;
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}
