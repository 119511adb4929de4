/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* stdbool.h - for files that user space and the kernel share: its names, from the
 * kernel's headers. */
#ifndef MODULES_COMPAT_STDBOOL_H
#define MODULES_COMPAT_STDBOOL_H

#include <linux/types.h>

#endif /* MODULES_COMPAT_STDBOOL_H */
