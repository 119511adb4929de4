/* SPDX-License-Identifier: MIT */
/* shared.h - what several files of the C++ test have in common. */
#ifndef TESTS_TRACEPOINT_SHARED_H
#define TESTS_TRACEPOINT_SHARED_H

/* As programs do that wrap what they think is C. */
extern "C" {
#include <sonde/tracepoint.h>
}

inline void from_inline(int x)
{
	sonde_event(cxx, from_inline, x);
}

template <class T> void from_template(T value)
{
	sonde_event(cxx, from_template, sonde_field(size, sizeof(T)),
		    sonde_field(one, static_cast<int>(value)));
}

struct account {
	int balance;
	const char *owner;

	void deposit(int amount)
	{
		balance += amount;
		sonde_event(cxx, deposit, owner, this->balance, amount);
	}
};

void other_file(int x);

#endif /* TESTS_TRACEPOINT_SHARED_H */
