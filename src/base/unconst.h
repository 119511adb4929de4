/* SPDX-License-Identifier: MIT */
/*
 * unconst.h - a pointer without its const: for functions that take none though
 * they only read, and for what is freed where others see it as const.
 */
#ifndef BASE_UNCONST_H
#define BASE_UNCONST_H

static inline void *sonde_unconst(const void *at)
{
	const union {
		const void *given;
		void *taken;
	} pointer = { at };

	return pointer.taken;
}

#endif /* BASE_UNCONST_H */
