/* SPDX-License-Identifier: MIT */
/*
 * shop.c - events that shop-events.xml describes: `sonde generate` makes
 * shop-events.h of it, with a function for each. C11 and C++17.
 */
#include "shop-events.h"

#include <string.h>

static void serve(uint32_t number)
{
	const uint32_t articles[] = { 4711, 7 + number };
	struct shop_parcel parcel;

	memset(&parcel, 0, sizeof(parcel));
	parcel.weight = 1.5;
	parcel.outside.width = 210;
	parcel.outside.height = 297;
	parcel.label = "fragile, this side up";
	shop_ordered(number, "Ada", SHOP_STATE_PAID, 2, articles);
	shop_packed(number, &parcel);
}

int main(void)
{
	const int16_t strip[4] = { 1, -2, 3, -4 };
	const char tag[8] = "blue";

	shop_opened();
	for (uint32_t number = 1; number <= 3; number++)
		serve(number);
	shop_scanned(0xc0ffee, 0x5000, strip, 21, tag, 3, "\x01\x02\xff");
	if (shop_closed_enabled())
		shop_closed(-12, 0.5f, true, strip);
	return 0;
}
