#!/bin/sh
# SPDX-License-Identifier: MIT
#
# init.sh - what runs in User-mode Linux, as process 1: loads the modules that
# are in its folder, in the order of `modules`; runs the lines of `rounds`, each
# a tool, a mode, events and runs; and ends.
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs devtmpfs /dev
here=$(dirname "$0")
while read -r module; do
	busybox insmod "$here/$module" || echo "FAILED insmod $module"
done <"$here/modules"
while read -r words; do
	echo "ROUND $words"
	# shellcheck disable=SC2086 # words they are
	"$here/use" $words || echo "FAILED use $words"
done <"$here/rounds"
echo END
busybox poweroff -f
