#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - tests of <sonde/tracepoint.h>, with each compiler there is.
#
#	run.sh ROOT all|behaviour|cxx|wrong|link|disabled|notes|size
#
# ROOT is the source tree. Builds in a directory of its own. The last line says
# how many passed and failed; fails if any did. With SONDE_ALL in the
# environment, each standard at each level of optimisation; else each of both.
set -u
root=$(cd "$1" && pwd)
what=${2:-all}
here=$root/tests/tracepoint
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
passed=0
failed=0

inc="-I$root/include -I$root/src -I$here"
warn="-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow"
warn="$warn -Wundef -Wcast-qual -Wpointer-arith -Wwrite-strings -Wvla"
warn="$warn -Wformat=2 -Wimplicit-fallthrough -Werror -pedantic-errors"

# check NAME COMMAND...: the command succeeds.
check()
{
	name=$1
	shift
	if "$@" >out 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $name"
		echo "  $*"
		tail -n 12 out | sed 's/^/  /'
	fi
}

have()
{
	command -v "$1" >/dev/null 2>&1
}

c_compilers=
cxx_compilers=
for cc in gcc clang; do
	have $cc && c_compilers="$c_compilers $cc"
done
for cxx in g++ clang++; do
	have $cxx && cxx_compilers="$cxx_compilers $cxx"
done

# The stand-in for libsonde, once for all: objects, a shared library.
build_stub()
{
	for f in $here/stub.c $root/src/types/desc.c; do
		gcc -std=gnu11 -D_GNU_SOURCE -O1 -fPIC $inc -c "$f" \
			-o "stub_$(basename "$f" .c).o" || exit 1
	done
	gcc -shared -o libstub.so stub_*.o || exit 1
}

behaviour()
{
	for o in -O0 ${SONDE_ALL:+-O1} -O2 -O3 '-O2 -flto'; do
		for cc in $c_compilers; do
			case $o${SONDE_ALL:-} in
			-O0|-O3) stds=c11 ;;
			'-O2'|'-O2 -flto') stds=gnu11 ;;
			*) stds='c11 gnu11' ;;
			esac
			for std in $stds; do
				lto=
				[ "$cc$o" = "clang-O2 -flto" ] &&
					lto=-fuse-ld=lld
				check "build $cc $std $o" $cc -std=$std $o \
					$warn $inc $here/behaviour.c \
					stub_*.o $lto -o t
				check "run $cc $std $o" ./t
			done
		done
		for cxx in $cxx_compilers; do
			lto=
			[ "$cxx$o" = "clang++-O2 -flto" ] && lto=-fuse-ld=lld
			std=c++17
			[ "$o" = -O3 ] && std=c++11
			check "build $cxx $std $o" $cxx -std=$std $o $warn $inc \
				-c -x c++ $here/behaviour.c -o t.o
			check "link $cxx $o" $cxx $o t.o stub_*.o $lto -o t
			check "run $cxx $o" ./t
		done
	done
}

cxx()
{
	for cxx in $cxx_compilers; do
		for o in -O0 -O2 '-O2 -fPIC -fvisibility=hidden' -std=c++20 \
			-std=c++14 -std=c++11; do
			check "build $cxx $o" $cxx -std=c++17 $o $warn $inc \
				$here/cxx.cc $here/cxx_other.cc stub_*.o -o t
			check "run $cxx $o" ./t
		done
	done
}

# complains NAME TEXT COMMAND...: it fails, and TEXT is in what it says.
complains()
{
	name=$1
	text=$2
	shift 2
	if "$@" >out 2>&1; then
		failed=$((failed + 1))
		echo "FAILED: $name: it compiles"
	elif grep -q -F -e "$text" out; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $name doesn't say '$text':"
		grep error out | head -n 3 | sed 's/^/  /'
	fi
}

wrong()
{
	for f in $here/wrong/*.c; do
		text=$(sed -n 's|^/\* expect: \(.*\) \*/$|\1|p' "$f")
		name=$(basename "$f" .c)
		for cc in $c_compilers; do
			case $name$cc in gcc_*clang) continue ;; esac
			complains "$name $cc" "$text" \
				$cc -std=c11 $inc -c "$f" -o t.o
		done
		for cxx in $cxx_compilers; do
			complains "$name $cxx" "$text" \
				$cxx -std=c++17 $inc -x c++ -c "$f" -o t.o
		done
	done
	old_standards
}

# A C++ that is too old: one error that says which one is needed, and no other.
old_standards()
{
	cat >old.cc <<-'END'
		#include <sonde/tracepoint.h>
		int f(int a)
		{
			sonde_event(p, n, a);
			sonde_event_level(p, m, SONDE_DEBUG, a);
			return sonde_event_enabled(p, n);
		}
	END
	for cxx in $cxx_compilers; do
		for std in c++98; do
			complains "$std $cxx" "tracepoints need C++11" \
				$cxx -std=$std $inc -c old.cc -o t.o
			check "$std $cxx: one error" \
				test "$(grep -c 'error:' out)" = 1
		done
	done
}

link()
{
	m="$here/link_main.c $here/link_other.c"
	gc="-ffunction-sections -fdata-sections -Wl,--gc-sections"
	for cc in $c_compilers; do
		lds="-fuse-ld=bfd"
		have ld.lld && lds="$lds -fuse-ld=lld"
		flto=-flto
		for ld in $lds; do
			[ "$cc$ld" = clang-fuse-ld=bfd ] && flto=
			for mode in "-no-pie -fno-pie" "-pie -fPIE" \
				"-fvisibility=hidden" "$gc" "$gc -O2" "$flto" \
				"$flto $gc -O2"; do
				[ "$flto" = -flto ] && [ "$cc$ld" = gcc-fuse-ld=lld ] &&
					case $mode in *flto*) continue;; esac
				check "link $cc $ld $mode" $cc -std=gnu11 \
					$inc $mode $ld $m libstub.so \
					-Wl,-rpath,"$dir" -ldl -o t
				check "run $cc $ld $mode" ./t
			done
			check "static $cc $ld" $cc -std=gnu11 $inc -static \
				$ld $m stub_*.o -o t
			check "run static $cc $ld" ./t
			link_shared $cc $ld
		done
	done
}

link_shared()
{
	cc=$1
	ld=$2
	for hidden in '' '-fvisibility=hidden -O2 -Wl,--gc-sections'; do
		check "library $cc $ld $hidden" $cc $inc $ld $hidden -fPIC \
			-shared $here/link_other.c libstub.so \
			-Wl,-rpath,"$dir" -o libother.so
		check "plugin $cc $ld $hidden" $cc $inc $ld $hidden -fPIC \
			-shared $here/link_plugin.c libstub.so -o plugin.so
		check "no text relocations" sh -c \
			'! readelf -d plugin.so libother.so | grep TEXTREL'
		check "program $cc $ld $hidden" $cc -std=gnu11 $inc $ld \
			$here/link_main.c libother.so libstub.so \
			-Wl,-rpath,"$dir" -ldl -o t
		check "run with plugin $cc $ld $hidden" ./t ./plugin.so
		for cxx in $cxx_compilers; do
			check "plugin $cxx $ld" $cxx -std=c++17 $inc $ld \
				$hidden -fPIC -shared -x c++ \
				$here/link_plugin.c -x none libstub.so \
				-o plugin.so
			check "run with plugin $cxx $ld" ./t ./plugin.so
		done
	done
}

disabled()
{
	for o in -O0 -O2; do
		for cc in $c_compilers; do
			check "disabled $cc $o" $cc -std=c11 $o $warn $inc -c \
				$here/disabled.c -o t.o
			check "nothing left $cc $o" sh -c \
				'! nm t.o | grep -e sonde -e missing'
			check "no note $cc $o" sh -c \
				'! readelf -SW t.o | grep -e stapsdt -e sonde'
		done
		for cxx in $cxx_compilers; do
			check "disabled $cxx $o" $cxx -std=c++17 $o $warn \
				$inc -c -x c++ $here/disabled.c -o t.o
			check "nothing left $cxx $o" sh -c \
				'! nm t.o | grep -e sonde -e missing'
		done
	done
}

# On x86-64, each note's place is a jump's room of nothing, and its argument the
# register that is tested behind it.
places()
{
	[ "$(uname -m)" = x86_64 ] || return 0
	objdump -d --no-show-raw-insn "$1" >code
	readelf -nW "$1" >all
	sed -n 's/.*Location: 0x0*\([0-9a-f]*\),.*/\1/p' all >at
	[ -s at ] || return 1
	[ "$(grep -c 'Arguments: 4@%e\|Arguments: 4@%r' all)" = \
		"$(wc -l <at)" ] || return 1
	while read -r address; do
		grep -q "^ *$address:.*nopl  *0x0(%rax,%rax,1)" code || return 1
	done <at
}

# Sites leave notes that name provider and event.
notes()
{
	for cc in $c_compilers; do
		for mode in -O0 -O2 '-ffunction-sections -Wl,--gc-sections'; do
			check "notes $cc" $cc -std=gnu11 $inc $mode \
				$here/link_main.c $here/link_other.c \
				stub_*.o -ldl -o t
			for e in from_inline other same conflict; do
				check "note $e" sh -c \
					"readelf -n t | grep -q 'Name: $e\$'"
			done
			check "provider" sh -c \
				"readelf -n t | grep -q 'Provider: link\$'"
			check "places $cc $mode" places t
		done
	done
	for cxx in $cxx_compilers; do
		check "notes $cxx" $cxx -std=c++17 $inc $here/cxx.cc \
			$here/cxx_other.cc stub_*.o -o t
		for e in from_inline from_template deposit lambda; do
			check "note $e $cxx" sh -c \
				"readelf -n t | grep -q 'Name: $e\$'"
		done
		check "places $cxx" places t
		check "base $cxx" sh -c 'readelf -SW t | grep -q stapsdt.base'
	done
}

symbol_size()
{
	nm -S --defined-only t.o | while read -r _ size _ name; do
		[ "$name" = "$1" ] && printf '%d\n' "0x$size"
	done
}

size()
{
	for cc in $c_compilers; do
		$cc -std=gnu11 -O2 $inc -c $here/size.c -o t.o || exit 1
		with=$(symbol_size with_event)
		without=$(symbol_size without_event)
		echo "$cc: $((with - without)) bytes of code for one int"
		check "at most 160 bytes $cc" test $((with - without)) -le 160
	done
}

build_stub
case $what in
all)
	for t in behaviour cxx wrong link disabled notes size; do
		$t
	done
	;;
*)
	$what
	;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
