// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * door.c - the devices /dev/sonde-markN: what is written to one by one call is a
 * record of the channel that has this door. Nobody looks into it here.
 *
 * The nodes are there as long as the module, so that what an administrator has made
 * of their modes (0600, root) stays. Which session's a door is, is decided when it is
 * opened: the file keeps the channel's key, which is never given again, and no
 * reference. So nobody keeps a session by writing to it, and who wrote to one that is
 * gone doesn't write to the next.
 *
 *	doors[N]	NULL -- DOOR --> channel -- its last reference --> NULL
 *
 * changed under sonde_control; writers read it with preemption off, and a channel is
 * freed a grace period after it was taken out (session.c).
 *
 * The line is staged in scratch memory (capture.h): a page of the writer's that isn't
 * there can't be waited for with preemption off. Then it is made to come, and all is
 * begun anew; so a record is never half a line.
 *
 * Cost: the system call, two copies of the line, a reservation.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>

#include "kmod/capture.h"

/* Memory that goes again and again before it is copied isn't waited for longer. */
#define TRIES 16u

static struct sonde_channel __rcu *doors[SONDE_KMOD_DOORS];
static unsigned long last_key;
static struct cdev door_cdev;
static dev_t first_door;

/* ---- doors of channels; sonde_control is held ---- */

static struct sonde_channel *channel_of(u32 number)
{
	return rcu_dereference_protected(doors[number],
					 lockdep_is_held(&sonde_control));
}

static long door_give(struct sonde_channel *channel, u32 id)
{
	u32 number = 0;
	int rc;

	if (channel->door_key)
		return -EBUSY;
	while (number < SONDE_KMOD_DOORS && channel_of(number))
		number++;
	if (number == SONDE_KMOD_DOORS)
		return -ENOSPC;
	rc = sonde_levels_need();
	if (rc)
		return rc;
	channel->door_id = id;
	channel->door_key = ++last_key;
	channel->door = number;
	rcu_assign_pointer(doors[number], channel);
	return number;
}

long sonde_door_open(struct sonde_channel *channel, unsigned long arg)
{
	struct sonde_kmod_door request;
	long rc = sonde_copy_in(&request, sizeof(request), arg);

	if (rc)
		return rc;
	if (!request.id || request.id > SONDE_KMOD_IDS_MAX)
		return -EINVAL;
	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	rc = door_give(channel, request.id);
	mutex_unlock(&sonde_control);
	return rc;
}

void sonde_door_close(struct sonde_channel *channel)
{
	lockdep_assert_held(&sonde_control);
	if (channel->door_key)
		RCU_INIT_POINTER(doors[channel->door], NULL);
}

/* ---- a line; preemption is off ---- */

static int door_record(const struct sonde_channel *channel,
		       const unsigned char *line, u32 bytes)
{
	struct sonde_local_ring *ring = raw_cpu_ptr(channel->rings);
	struct sonde_local_place place;
	unsigned char *to =
		sonde_local_reserve(ring, channel->door_id, (u32)current->pid,
				    sizeof(bytes) + bytes, &place);

	if (!to)
		return -EBADF;
	memcpy(to, &bytes, sizeof(bytes));
	memcpy(to + sizeof(bytes), line, bytes);
	sonde_local_commit(ring, &place);
	return 0;
}

static int door_stage(const struct sonde_channel *channel,
		      const char __user *from, u32 bytes)
{
	unsigned char *scratch = sonde_enter(channel->session);
	int rc;

	if (!scratch)
		return -EBADF;
	rc = copy_from_user_nofault(scratch, from, bytes) ?
		     -EFAULT :
		     door_record(channel, scratch, bytes);
	sonde_leave();
	return rc;
}

static int door_take(const struct file *file, const char __user *from,
		     u32 bytes)
{
	const unsigned long key = (unsigned long)file->private_data;
	const struct sonde_channel *channel;
	int rc = -EBADF;

	preempt_disable();
	channel = rcu_dereference_sched(
		doors[iminor(file_inode(file)) - MINOR(first_door)]);
	if (channel && channel->door_key == key &&
	    READ_ONCE(channel->session->active))
		rc = door_stage(channel, from, bytes);
	preempt_enable();
	return rc;
}

/* ---- the devices ---- */

static ssize_t door_write(struct file *file, const char __user *from,
			  size_t size, loff_t *position)
{
	u32 bytes = min_t(size_t, size, SONDE_KMOD_LINE_MAX);
	u32 tries = 0;
	int rc;

	if (!bytes)
		return 0;
	do
		rc = door_take(file, from, bytes);
	while (rc == -EFAULT && ++tries < TRIES &&
	       !fault_in_readable(from, bytes));
	return rc ? rc : (ssize_t)bytes;
}

static int door_file_open(struct inode *inode, struct file *file)
{
	const struct sonde_channel *channel;

	if (mutex_lock_killable(&sonde_control))
		return -EINTR;
	channel = channel_of(iminor(inode) - MINOR(first_door));
	file->private_data = channel ? (void *)channel->door_key : NULL;
	mutex_unlock(&sonde_control);
	return file->private_data ? 0 : -ENXIO;
}

static const struct file_operations door_fops = {
	.owner = THIS_MODULE,
	.open = door_file_open,
	.write = door_write,
	.llseek = noop_llseek,
};

static void doors_remove(struct class *class, u32 nr)
{
	while (nr--)
		device_destroy(class, first_door + nr);
	cdev_del(&door_cdev);
}

int sonde_doors_init(struct class *class, dev_t first)
{
	u32 nr;
	int rc;

	first_door = first;
	cdev_init(&door_cdev, &door_fops);
	door_cdev.owner = THIS_MODULE;
	rc = cdev_add(&door_cdev, first, SONDE_KMOD_DOORS);
	for (nr = 0; !rc && nr < SONDE_KMOD_DOORS; nr += !rc)
		rc = PTR_ERR_OR_ZERO(device_create(class, NULL, first + nr,
						   NULL, "sonde-mark%u", nr));
	if (rc)
		doors_remove(class, nr);
	return rc;
}

void sonde_doors_exit(struct class *class)
{
	doors_remove(class, SONDE_KMOD_DOORS);
}
