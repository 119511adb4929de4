/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* stddef.h - for files that user space and the kernel share: its names, from the
 * kernel's headers. */
#ifndef KMOD_COMPAT_STDDEF_H
#define KMOD_COMPAT_STDDEF_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif /* KMOD_COMPAT_STDDEF_H */
