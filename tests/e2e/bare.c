/* SPDX-License-Identifier: MIT */
/*
 * bare.c - for test_bare.py: the events of examples/shop.c, recorded without any
 * library and written to standard output by system calls: after the first half,
 * and at the end. In between are two events that are longer than a packet, and
 * LATER ones, more than the ring holds.
 */
#define SONDE_BARE_DEFINE
#include "shop-events.h"

static unsigned char memory[4 * 512];
static uint64_t ticks = 1000;

static uint64_t clock(void)
{
	return ticks += 7;
}

static struct sonde_bare ring = SHOP_RING(memory, 512, clock);

#if defined(__x86_64__)
static long call(long nr, long a, const void *b, long c)
{
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return rc;
}
#define WRITE 1
#define EXIT  231
#else
static long call(long nr, long a, const void *b, long c)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register const void *x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2)
			 : "memory");
	return x0;
}
#define WRITE 64
#define EXIT  94
#endif

static void drain(void)
{
	const void *packet;

	while ((packet = sonde_bare_take(&ring))) {
		call(WRITE, 1, packet, 512);
		sonde_bare_give_back(&ring);
	}
}

static void serve(uint32_t number)
{
	const uint32_t articles[] = { 4711, 7 + number };
	const struct shop_parcel parcel = { 1.5,
					    { 210, 297 },
					    "fragile, this side up" };

	shop_ordered(&ring, number, "Ada", SHOP_STATE_PAID, 2, articles);
	shop_packed(&ring, number, &parcel);
}

static void take_payments(void)
{
	const uint32_t vouchers[] = { 20, 50 };
	struct shop_payment payment = { .which = SHOP_PAYMENT_CASH };

	payment.cash = 1995;
	shop_paid(&ring, 1, &payment);
	ticks += 1ull << 40; /* a short time can't tell */
	payment.which = SHOP_PAYMENT_CARD;
	payment.card = (struct shop_card){ "4711", 2 };
	shop_paid(&ring, 2, &payment);
	payment.which = SHOP_PAYMENT_VOUCHERS;
	payment.nr_vouchers = 2;
	payment.vouchers = vouchers;
	shop_paid(&ring, 3, &payment);
	payment.which = SHOP_PAYMENT_FAVOUR;
	payment.favour = "washed up";
	shop_paid(&ring, 4, &payment);
	payment.which = SHOP_PAYMENT_NONE;
	shop_paid(&ring, 5, &payment);
}

static void work(void)
{
	static const unsigned char big[512];
	const int16_t strip[4] = { 1, -2, 3, -4 };

	shop_opened(&ring);
	for (uint32_t number = 1; number <= 3; number++)
		serve(number);
	drain();
	take_payments();
	shop_scanned(&ring, 0xc0ffee, 0x5000, strip, 21 + 32, "blue\0\0\0", 3,
		     "\x01\x02\xff");
	shop_scanned(&ring, 1, 1, strip, 1, "too long", sizeof(big), big);
	shop_scanned(&ring, 1, 1, strip, 1, "too long", SIZE_MAX / 2, big);
	shop_closed(&ring, -12, 0.5f, true, strip);
	for (int i = 0; i < LATER; i++)
		shop_ordered(&ring, (uint32_t)i, NULL, 0, 0, NULL);
	sonde_bare_flush(&ring);
	drain();
	shop_opened(&ring); /* tells what was dropped */
	sonde_bare_flush(&ring);
	drain();
}

/* The stack is aligned as at a call. */
__attribute__((used)) void begin(void)
{
	work();
	call(EXIT, 0, NULL, 0);
}
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tand $-16, %rsp\n\tcall begin\n");
#else
__asm__(".globl _start\n_start:\n\tbl begin\n");
#endif
