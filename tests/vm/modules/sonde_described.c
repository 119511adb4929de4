// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * sonde_described.c - a module with described events, as anybody's: it has each
 * of them happen once when somebody writes to its parameter `say`, with that
 * number where they have one; "long N" is one event with a text of N bytes.
 * Half of them happen in a timer's interrupt.
 */
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>

#define SONDE_DEFINE_EVENTS
#include "sonde_described.h"

static DECLARE_COMPLETION(rung);
static unsigned int number;

static void say_what_groups_have(void)
{
	const struct mill_sack sack = { -12, { 30, 40 }, "flour and bran" };
	const u32 vouchers[] = { 5, number };
	struct mill_payment payment = { .which = MILL_PAYMENT_CASH,
					.cash = 1995 };

	mill_packed(&sack);
	mill_paid(&payment, number);
	payment.which = MILL_PAYMENT_VOUCHERS;
	payment.nr_vouchers = ARRAY_SIZE(vouchers);
	payment.vouchers = vouchers;
	mill_paid(&payment, number);
	payment.which = MILL_PAYMENT_FAVOUR;
	payment.favour = "washed up";
	mill_paid(&payment, number);
	payment.which = MILL_PAYMENT_NONE;
	mill_paid(&payment, number);
}

static enum hrtimer_restart say_in_interrupt(struct hrtimer *timer)
{
	static const s16 strip[4] = { -1, 2, -3, 4 };

	mill_scanned(0xc0ffee, (__force u16)cpu_to_be16(80), strip, -11,
		     "blue\0red", 3, "\1\2\3", -12, true, (void *)0x1234);
	complete(&rung);
	return HRTIMER_NORESTART;
}

static void say_later(void)
{
	static struct hrtimer timer;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, say_in_interrupt, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer.function = say_in_interrupt;
#endif
	reinit_completion(&rung);
	hrtimer_start(&timer, ms_to_ktime(1), HRTIMER_MODE_REL_HARD);
	wait_for_completion(&rung);
	hrtimer_cancel(&timer);
}

static int say_long(unsigned int bytes)
{
	char *text = kvmalloc(bytes + 1, GFP_KERNEL);

	if (!text)
		return -ENOMEM;
	memset(text, 'x', bytes);
	text[bytes] = 0;
	mill_ordered(bytes, text, 0, 0, NULL);
	kvfree(text);
	return 0;
}

static int say(const char *what, const struct kernel_param *param)
{
	const u32 sacks[] = { 7, 8, 9 };
	unsigned int bytes;

	if (sscanf(what, "long %u", &bytes) == 1)
		return bytes > 1u << 20 ? -EINVAL : say_long(bytes);
	if (kstrtouint(what, 0, &number))
		return -EINVAL;
	mill_opened();
	mill_ordered(number, "Anna", 3, ARRAY_SIZE(sacks), sacks);
	mill_ordered(number, NULL, MILL_STATE_IDLE, 0, NULL);
	say_what_groups_have();
	say_later();
	return 0;
}

/* Whether ordered is recorded: what another one's function asks. */
static int is_recorded(char *to, const struct kernel_param *param)
{
	return sysfs_emit(to, "%d\n", mill_ordered_enabled());
}

static const struct kernel_param_ops say_ops = {
	.set = say,
	.get = is_recorded,
};
module_param_cb(say, &say_ops, NULL, 0600);

static int __init described_init(void)
{
	return 0;
}

static void __exit described_exit(void)
{
}

module_init(described_init);
module_exit(described_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("a module with described events, for tests of Sonde");
