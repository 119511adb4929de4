#!/bin/sh
# SPDX-License-Identifier: MIT
#
# header_alone.sh HEADER COMPILER... - a program that includes nothing but this
# header compiles, without a warning.
set -eu
header=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
case $* in
*c++*) source=$dir/alone.cc ;;
*) source=$dir/alone.c ;;
esac
echo "#include <sonde/$header>
int main(void) { return 0; }" >"$source"
"$@" -pedantic -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion \
	-Werror -I"$(dirname "$0")/../../include" -c "$source" -o "$dir/alone.o"
