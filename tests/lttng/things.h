/* SPDX-License-Identifier: MIT */
/*
 * things.h - what the program of every.h traces.
 */
#ifndef THINGS_H
#define THINGS_H

#include <stdint.h>

enum kind {
	KIND_NONE,
	KIND_ONE,
	KIND_OTHER = 300
};

struct thing {
	enum kind kind;
	int number;
	uint16_t net16;
	uint32_t net32;
	unsigned char bytes[4];
	uint16_t nets[2];
	char name[8];
	long longs[2];
};

#endif /* THINGS_H */
