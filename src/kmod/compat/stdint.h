/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* stdint.h - for files that user space and the kernel share: its names, from the
 * kernel's headers. */
#ifndef KMOD_COMPAT_STDINT_H
#define KMOD_COMPAT_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

#define INT64_MAX   S64_MAX
#define INT64_MIN   S64_MIN
#define UINT64_MAX  U64_MAX
#define UINT32_MAX  U32_MAX
#define INT32_MAX   S32_MAX
#define INT32_MIN   S32_MIN
#define INT16_MAX   S16_MAX
#define INT16_MIN   S16_MIN
#define UINT64_C(x) x##ull
#define INT64_C(x)  x##ll

#endif /* KMOD_COMPAT_STDINT_H */
