/* SPDX-License-Identifier: MIT */
/* unit.h - cmocka with the headers it needs but does not include. */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif /* UNIT_UNIT_H */
