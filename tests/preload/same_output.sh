#!/bin/sh
# SPDX-License-Identifier: MIT
#
# same_output.sh PRELOAD HOOKS PROGRAM [ARGS] - the program prints the same and
# ends with the same status with the hooks as without. No session is there: the
# hooks find every event disabled, but go their own ways all the same.
set -u
preload=$1 hooks=$2
shift 2
plain=$("$@" 2>&1)
plain="$? $plain"
hooked=$(LD_PRELOAD=$preload SONDE_HOOKS=$hooks "$@" 2>&1)
hooked="$? $hooked"
[ "$plain" = "$hooked" ] && exit 0
echo "without: $plain"
echo "with:    $hooked"
exit 1
