/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel.h - described events of kernel modules. `sonde generate --target kernel`
 * makes the functions that record; this file is all they need.
 *
 *	#define SONDE_DEFINE_EVENTS		in one file of the module
 *	#include "shop-events.h"		generated
 *
 *	shop_ordered(number, customer, state, nr_articles, articles);
 *
 * Each event is a tracepoint of the kernel's, sonde1_PROVIDER__EVENT, whose one
 * argument is a struct sonde_kernel_call; and its description is a note of the
 * module, /sys/module/NAME/notes/.note.sonde, where whoever records finds it. So a
 * module that has such events needs no other one: it can be loaded before
 * Sonde's, after it, or without it. The 1 in the name is the version of
 * struct sonde_kernel_call, and of what is below it.
 *
 * While nobody records, an event costs the kernel's own jump over it, and its
 * fields aren't looked at. Else they are put into memory of the recorder's, once
 * for each session, before anything is reserved in a ring: from any context,
 * interrupts and NMIs included, with preemption off. What the fields lead to
 * must be there, in the kernel's memory: it is read as it is.
 *
 * An event of more than 16 KiB is dropped, and counted.
 */
#ifndef SONDE_KERNEL_H
#define SONDE_KERNEL_H

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

/* Where fields go. */
struct sonde_kernel {
	unsigned char *at; /* behind those that were put */
	u32 left;          /* bytes of room */
	bool is_full;      /* something did not fit */
};

/* An event that happens: it can put its fields as often as is wanted. */
struct sonde_kernel_call {
	void (*put)(struct sonde_kernel *to,
		    const struct sonde_kernel_call *call);
};

#define SONDE_KERNEL_PUT static notrace __maybe_unused

static __always_inline void sonde_kernel_put(struct sonde_kernel *to,
					     const void *bytes, u32 size)
{
	if (unlikely(size > to->left)) {
		to->left = 0;
		to->is_full = true;
		return;
	}
	memcpy(to->at, bytes, size);
	to->at += size;
	to->left -= size;
}

/* Up to `max` bytes of a string, and a NUL; NULL is "(null)". */
static __always_inline void sonde_kernel_put_string(struct sonde_kernel *to,
						    const char *text, u32 max)
{
	u32 size = 0;

	if (!text)
		text = "(null)";
	/* What changes meanwhile is at worst cut or torn: nothing is read twice. */
	while (size < max && size < to->left && (to->at[size] = text[size]))
		size++;
	if (unlikely(size == to->left)) {
		to->left = 0;
		to->is_full = true;
		return;
	}
	to->at[size] = 0;
	to->at += size + 1;
	to->left -= size + 1;
}

/* `nr` elements of so many bytes, behind their number; NULL is none. */
static __always_inline void sonde_kernel_put_list(struct sonde_kernel *to,
						  const void *elements,
						  size_t nr, u32 bytes)
{
	u32 length = elements ? (u32)nr : 0;

	/* which doesn't fit either, and can be multiplied */
	if (unlikely(elements && nr > to->left))
		length = to->left;
	sonde_kernel_put(to, &length, sizeof(length));
	sonde_kernel_put(to, elements, length * bytes);
}

/* Of a type that isn't as large everywhere. */
#define SONDE_KERNEL_HOST_(value, bytes)                      \
	BUILD_BUG_ON_MSG(sizeof(value) != (bytes),            \
			 "sonde: this type has another size " \
			 "here than where the header was "    \
			 "made: say i32, i64, u32 or u64")

/* Since 6.16, DECLARE_TRACE() adds to the name. */
#if defined(DECLARE_TRACE_EVENT)
#define SONDE_KERNEL_DECLARE_(name)                                         \
	DECLARE_TRACE_EVENT(name,                                           \
			    TP_PROTO(const struct sonde_kernel_call *call), \
			    TP_ARGS(call))
#else
#define SONDE_KERNEL_DECLARE_(name)                                         \
	DECLARE_TRACE(name, TP_PROTO(const struct sonde_kernel_call *call), \
		      TP_ARGS(call))
#endif

#define SONDE_KERNEL_DEFINE_(name)                                         \
	DEFINE_TRACE(name, TP_PROTO(const struct sonde_kernel_call *call), \
		     TP_ARGS(call))

/* A description is at a multiple of 8 in its section, as in programs. */
#define SONDE_KERNEL_NOTE_(event, bytes, ...)                                 \
	static const struct {                                                 \
		u32 name_bytes, bytes_, type;                                 \
		char name[12];                                                \
		u8 description[((bytes) + 7) & ~7u];                          \
	} sonde_note_##event __used __aligned(8) __section(".note.sonde") = { \
		12, ((bytes) + 7) & ~7u, 1, "Sonde event", { __VA_ARGS__ }    \
	}

#endif /* SONDE_KERNEL_H */
