/* SPDX-License-Identifier: MIT */
/*
 * near.c - a thread's last answers: a table in which an address has one place,
 * and the newest answer stays (near.h). A look costs a few loads.
 */
#include "reader/names/near.h"

#include <stdatomic.h>
#include <stddef.h>

#define NEAR_BITS 6

struct near {
	uint64_t serial, image, address; /* serial 0: empty */
	struct sonde_names_span span;
	const struct sonde_name *name;
};

static _Thread_local struct near near_table[1u << NEAR_BITS];

static struct near *near_place(const struct sonde_names_place *place,
			       uint64_t address)
{
	const uint64_t mixed =
		(address ^ place->image) * UINT64_C(0x9e3779b97f4a7c15);

	return &near_table[mixed >> (64 - NEAR_BITS)];
}

uint64_t sonde_names_near_serial(void)
{
	static atomic_uint_least64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

const struct sonde_name *
sonde_names_near_find(uint64_t serial, const struct sonde_names_place *place)
{
	const uint64_t address = place->address - place->is_return;
	const struct near *near = near_place(place, address);

	return near->serial == serial && near->address == address &&
			       near->image == place->image &&
			       place->from_ns >= near->span.from_ns &&
			       place->to_ns < near->span.to_ns ?
		       near->name :
		       NULL;
}

void sonde_names_near_keep(uint64_t serial,
			   const struct sonde_names_place *place,
			   struct sonde_names_span span,
			   const struct sonde_name *name)
{
	const uint64_t address = place->address - place->is_return;

	*near_place(place, address) = (struct near){
		.serial = serial,
		.image = place->image,
		.address = address,
		.span = span,
		.name = name,
	};
}
