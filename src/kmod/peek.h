/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * peek.h - the kernel's memory, read where it may not be.
 *
 * What is bad is found by a fault, which the kernel leads back to where it was read;
 * nothing is locked and nothing waited for. A fault is an event, too, whose captures
 * may read what is bad: so who reads keeps that from going on for ever (capture.h).
 *
 * On x86-64 the instruction is here, as the kernel's own BPF has it: a range that
 * the address must be in, and a load. Addresses of users, those that no CPU takes, and
 * the page that programs may call the kernel in are not in it. Elsewhere, and where
 * this says no, the kernel's function for it decides, for thirty instructions more.
 */
#ifndef KMOD_PEEK_H
#define KMOD_PEEK_H

#include <linux/mm.h>
#include <linux/uaccess.h>

/* Where such addresses begin, and how far they go. Constant once it is set. */
struct sonde_peek_range {
	u64 begin;
	u64 bytes;
};
extern struct sonde_peek_range sonde_peek_range;

/* False: it is for the kernel's function. */
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#include <asm/asm.h>
#include <uapi/asm/vsyscall.h>

static inline void sonde_peek_init(void)
{
	sonde_peek_range.begin = ~0ull << __VIRTUAL_MASK_SHIFT;
	sonde_peek_range.bytes =
		VSYSCALL_ADDR - sizeof(u64) - sonde_peek_range.begin;
}

/* Where the fault is nothing is written: so what was there before stays. */
#define SONDE_PEEK_(how, value, address)                         \
	__asm__ volatile("1: " how "\n2:\n" _ASM_EXTABLE(1b, 2b) \
			 : "+r"(value)                           \
			 : "r"(address))

static __always_inline bool sonde_peek_here(u64 address, u32 bytes,
					    u64 *ret_value)
{
	u64 value = 0;

	if (unlikely(address - sonde_peek_range.begin >=
		     sonde_peek_range.bytes))
		return false;
	if (bytes == 4)
		SONDE_PEEK_("movl (%1), %k0", value, address);
	else if (bytes == 8)
		SONDE_PEEK_("movq (%1), %0", value, address);
	else if (bytes == 1)
		SONDE_PEEK_("movzbl (%1), %k0", value, address);
	else
		SONDE_PEEK_("movzwl (%1), %k0", value, address);
	*ret_value = value;
	return true;
}

/* The same, and whether it could be read: behind a fault that isn't said. */
#define SONDE_PEEK_TOLD_(how, value, good, address)  \
	__asm__ volatile("1: " how "\n"              \
			 "movl $1, %k1\n"            \
			 "2:\n" _ASM_EXTABLE(1b, 2b) \
			 : "+r"(value), "+r"(good)   \
			 : "r"(address))

static __always_inline bool sonde_peek_here_told(u64 address, u32 bytes,
						 u64 *to, bool *ret_good)
{
	u64 value = 0;
	u64 good = 0;

	if (unlikely(address - sonde_peek_range.begin >=
		     sonde_peek_range.bytes))
		return false;
	if (bytes == 4)
		SONDE_PEEK_TOLD_("movl (%2), %k0", value, good, address);
	else if (bytes == 8)
		SONDE_PEEK_TOLD_("movq (%2), %0", value, good, address);
	else if (bytes == 1)
		SONDE_PEEK_TOLD_("movzbl (%2), %k0", value, good, address);
	else
		SONDE_PEEK_TOLD_("movzwl (%2), %k0", value, good, address);
	*to = value;
	*ret_good = good;
	return true;
}
#else
static inline void sonde_peek_init(void)
{
}

static __always_inline bool sonde_peek_here_told(u64 address, u32 bytes,
						 u64 *to, bool *ret_good)
{
	return false;
}

static __always_inline bool sonde_peek_here(u64 address, u32 bytes,
					    u64 *ret_value)
{
	return false;
}
#endif

/* `bytes` bytes, 1, 2, 4 or 8, as the low ones of a word; 0 if they are bad. Any
 * context. */
static __always_inline u64 sonde_peek(u64 address, u32 bytes)
{
	u64 value = 0;

	if (likely(sonde_peek_here(address, bytes, &value)))
		return value;
	if (copy_from_kernel_nofault(
		    &value, (const void *)(unsigned long)address, bytes))
		return 0;
	return IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? value >> (64 - 8 * bytes) :
						   value;
}

/* The same; false: they are bad, and *to is 0. */
static __always_inline bool sonde_peek_told(u64 address, u32 bytes, u64 *to)
{
	bool good;

	if (likely(sonde_peek_here_told(address, bytes, to, &good)))
		return good;
	*to = 0;
	if (copy_from_kernel_nofault(to, (const void *)(unsigned long)address,
				     bytes))
		return false;
	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		*to >>= 64 - 8 * bytes;
	return true;
}

#endif /* KMOD_PEEK_H */
