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

/* One event for each way to pay, and one for none. */
static void take_payments(void)
{
	const uint32_t vouchers[] = { 20, 50 };
	struct shop_payment payment;

	memset(&payment, 0, sizeof(payment));
	payment.which = SHOP_PAYMENT_CASH;
	payment.cash = 1995;
	shop_paid(1, &payment);
	payment.which = SHOP_PAYMENT_CARD;
	memcpy(payment.card.digits, "4711", 4);
	payment.card.tries = 2;
	shop_paid(2, &payment);
	payment.which = SHOP_PAYMENT_VOUCHERS;
	payment.nr_vouchers = 2;
	payment.vouchers = vouchers;
	shop_paid(3, &payment);
	payment.which = SHOP_PAYMENT_FAVOUR;
	payment.favour = "washed up";
	shop_paid(4, &payment);
	payment.which = SHOP_PAYMENT_NONE;
	shop_paid(5, &payment);
}

int main(void)
{
	const int16_t strip[4] = { 1, -2, 3, -4 };
	const char tag[8] = "blue";

	shop_opened();
	for (uint32_t number = 1; number <= 3; number++)
		serve(number);
	take_payments();
	shop_scanned(0xc0ffee, 0x5000, strip, 21, tag, 3, "\x01\x02\xff");
	if (shop_closed_enabled())
		shop_closed(-12, 0.5f, true, strip);
	return 0;
}
