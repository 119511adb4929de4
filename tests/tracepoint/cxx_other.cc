// SPDX-License-Identifier: MIT
// cxx_other.cc - the other file of cxx.cc: it names the same events.
#include "shared.h"

void other_file(int x)
{
	from_inline(x);
	from_template('c');
	sonde_event(cxx, both_files, x);
}
