// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * kernel_bare.c - a module with a kprobe that does nothing, for bench/kernel_gdb:
 * what the kernel itself takes for one.
 *
 *	insmod kernel_bare.ko at=FUNCTION
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static char *at;
module_param(at, charp, 0444);

static int nothing(struct kprobe *probe, struct pt_regs *regs)
{
	(void)probe;
	(void)regs;
	return 0;
}

static struct kprobe bare = { .pre_handler = nothing };

static int __init bare_init(void)
{
	bare.symbol_name = at;
	return at ? register_kprobe(&bare) : -EINVAL;
}

static void __exit bare_exit(void)
{
	unregister_kprobe(&bare);
}

module_init(bare_init);
module_exit(bare_exit);
MODULE_DESCRIPTION("A kprobe that does nothing");
MODULE_LICENSE("Dual MIT/GPL");
