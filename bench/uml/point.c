// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * point.c - sonde_bench.ko: a tracepoint, and a loop that passes it. See
 * point.h.
 */
#define CREATE_TRACE_POINTS
#include "point_trace.h"

#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "point.h"

static u64 loop(u64 events)
{
	u64 begin = ktime_get_ns();
	u64 i;

	for (i = 0; i < events; i++)
		trace_sonde_bench_pass(i, (u32)i);
	return ktime_get_ns() - begin;
}

static long bench_ioctl(struct file *file, unsigned int command,
			unsigned long argument)
{
	void __user *user = (void __user *)argument;
	struct sonde_bench_loop request;

	if (command != SONDE_BENCH_LOOP)
		return -ENOTTY;
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.events > SONDE_BENCH_EVENTS_MAX)
		return -EINVAL;
	request.ns = loop(request.events);
	return copy_to_user(user, &request, sizeof(request)) ? -EFAULT : 0;
}

static const struct file_operations bench_operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = bench_ioctl,
};

static struct miscdevice bench_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sonde_bench",
	.fops = &bench_operations,
	.mode = 0600,
};

module_misc_device(bench_device);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A tracepoint to measure tracers with");
