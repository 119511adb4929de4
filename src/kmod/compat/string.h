/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* string.h - for files that user space and the kernel share. */
#include <linux/string.h>
