// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * main.c - load, unload, and the device.
 *
 * /dev/sonde is root's (0600), or root's and a group's (0660, the parameter
 * `gid`). Who opens it must have CAP_SYS_ADMIN or be in that group, whatever
 * the node's permissions are: a node can be made anywhere, by others.
 * Descriptors may be handed on; who has one may use it.
 *
 * It is a character device of its own class, not a `misc` one: only a device's
 * own type can give its node a group when it is made.
 *
 * All descriptors' operations are owned by this module, so that it can't be
 * unloaded while there is one; nothing is left to do for sessions in exit but
 * to wait for those callbacks of RCU that are on their way.
 */
#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/version.h>

#include "kmod/native.h"
#include "kmod/sonde.h"

/* Of devices: /dev/sonde, and the doors. */
#define NUMBERS (1u + SONDE_KMOD_DOORS)

static int gid = -1;
module_param(gid, int, 0444);
MODULE_PARM_DESC(gid, "group that may trace, besides root (none)");

static DECLARE_COMPLETION(device_gone);
static dev_t number;
static struct cdev cdev;
static struct device device;
static struct class device_class = {
	.name = "sonde",
};

/* The type's callback got its const in 6.3. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
static char *device_node(const struct device *dev, umode_t *mode, kuid_t *uid,
			 kgid_t *ret_gid)
#else
static char *device_node(struct device *dev, umode_t *mode, kuid_t *uid,
			 kgid_t *ret_gid)
#endif
{
	/* Who removes the node asks for nothing but a name. */
	if (mode)
		*mode = gid < 0 ? 0600 : 0660;
	if (ret_gid && gid >= 0)
		*ret_gid = KGIDT_INIT((gid_t)gid);
	return NULL;
}

static const struct device_type device_type = {
	.name = "sonde",
	.devnode = device_node,
};

static u64 features(void)
{
	u64 has = 0;

	if (IS_ENABLED(CONFIG_KPROBES))
		has |= SONDE_KMOD_HAS_KPROBES;
	if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_REGS) ||
	    IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_ARGS))
		has |= SONDE_KMOD_HAS_FUNCTIONS;
	if (sonde_clock_is_synthetic())
		has |= SONDE_KMOD_HAS_SYNTHETIC;
	if (sonde_native_works())
		has |= SONDE_KMOD_HAS_NATIVE;
	if (SONDE_HAS_STACKS)
		has |= SONDE_KMOD_HAS_STACKS;
	return has;
}

static long device_info(unsigned long arg)
{
	struct sonde_kmod_info info = {
		.version = SONDE_KMOD_VERSION,
		.nr_cpus = nr_cpu_ids,
		.has_cpu_clock = sonde_clock_has_cpu(),
		.features = features(),
		.nr_tracepoints = sonde_tracepoint_count(),
		.nr_sessions = sonde_sessions_nr(),
		.clock_bits = sonde_clock_bits(),
		.nr_leaving = sonde_points_nr_leaving(),
	};

	return sonde_copy_out(arg, &info, sizeof(info));
}

static long device_session(unsigned long arg)
{
	struct sonde_kmod_session request;
	int rc = sonde_copy_in(&request, sizeof(request), arg);

	return rc ? rc : sonde_session_open(&request);
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (_IOC_TYPE(cmd) != SONDE_KMOD_IOC)
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(SONDE_KMOD_INFO):
		return device_info(arg);
	case _IOC_NR(SONDE_KMOD_SESSION):
		return device_session(arg);
	}
	return -ENOTTY;
}

/* Captures read any memory of the kernel: who locks it down forbids that. */
static int device_open(struct inode *inode, struct file *file)
{
	int rc = security_locked_down(LOCKDOWN_TRACEFS);

	if (rc)
		return rc;
	if (capable(CAP_SYS_ADMIN))
		return 0;
	if (gid >= 0 && in_egroup_p(KGIDT_INIT((gid_t)gid)))
		return 0;
	return -EACCES;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static void device_release(struct device *dev)
{
	complete(&device_gone);
}

static void device_put(void)
{
	put_device(&device);
	/* Its memory is the module's, and it may be let go of later. */
	wait_for_completion(&device_gone);
}

static int device_add_node(void)
{
	int rc;

	device_initialize(&device);
	device.class = &device_class;
	device.type = &device_type;
	device.devt = number;
	device.release = device_release;
	cdev_init(&cdev, &device_fops);
	cdev.owner = THIS_MODULE;
	rc = dev_set_name(&device, "sonde");
	if (!rc)
		rc = cdev_device_add(&cdev, &device);
	if (rc)
		device_put();
	return rc;
}

static int device_make(void)
{
	int rc = alloc_chrdev_region(&number, 0, NUMBERS, "sonde");

	if (rc)
		return rc;
	rc = class_register(&device_class);
	if (rc)
		goto out_number;
	rc = sonde_doors_init(&device_class, number + 1);
	if (rc)
		goto out_class;
	/* Last: from here on there may be callers. */
	rc = device_add_node();
	if (!rc)
		return 0;
	sonde_doors_exit(&device_class);
out_class:
	class_unregister(&device_class);
out_number:
	unregister_chrdev_region(number, NUMBERS);
	return rc;
}

static int __init sonde_init(void)
{
	int rc = sonde_clock_init();

	if (rc)
		return rc;
	rc = sonde_points_init();
	if (rc)
		goto out_clock;
	/* Last: from here on there may be callers. */
	rc = device_make();
	if (!rc)
		return 0;
	sonde_points_exit();
	tracepoint_synchronize_unregister();
	rcu_barrier();
out_clock:
	sonde_clock_exit();
	return rc;
}

static void __exit sonde_exit(void)
{
	cdev_device_del(&cdev, &device);
	device_put();
	sonde_doors_exit(&device_class);
	class_unregister(&device_class);
	unregister_chrdev_region(number, NUMBERS);
	sonde_points_exit();
	/* Probes that were called meanwhile are in this module, and so are the
	 * callbacks that free events (event.c). */
	tracepoint_synchronize_unregister();
	rcu_barrier();
	sonde_clock_exit();
}

module_init(sonde_init);
module_exit(sonde_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Sonde: a low-disturbance tracer of the kernel");
