/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* stdbool.h - for files that user space and the kernel share: its names, from the
 * kernel's headers. */
#ifndef KMOD_COMPAT_STDBOOL_H
#define KMOD_COMPAT_STDBOOL_H

#include <linux/types.h>

#endif /* KMOD_COMPAT_STDBOOL_H */
