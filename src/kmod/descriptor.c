// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * descriptor.c - what the descriptors' ioctls have in common: structures that
 * come in and go out, a new descriptor, and the one mutex of all control.
 *
 * Structures begin with their size, and are told apart by their number alone: a
 * later, longer structure has the same number. What comes in is copied once,
 * zero-extended, and refused if there is more than we know and it isn't 0. Of
 * what only goes out, nothing but the size is read.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/uaccess.h>

#include "kmod/sonde.h"

DEFINE_MUTEX(sonde_control);

int sonde_copy_in(void *to, size_t bytes, unsigned long from)
{
	const void __user *user = (const void __user *)from;
	u32 size;
	int rc;

	if (get_user(size, (const u32 __user *)user))
		return -EFAULT;
	if (size < sizeof(size))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	rc = copy_struct_from_user(to, bytes, user, size);
	if (rc)
		return rc;
	/* The second copy of it may be another number. */
	memcpy(to, &size, sizeof(size));
	return 0;
}

int sonde_copy_out(unsigned long to, void *from, size_t bytes)
{
	void __user *user = (void __user *)to;
	u32 size;

	if (get_user(size, (const u32 __user *)user))
		return -EFAULT;
	if (size < sizeof(size))
		return -EINVAL;
	size = min_t(size_t, size, bytes);
	memcpy(from, &size, sizeof(size));
	return copy_to_user(user, from, size) ? -EFAULT : 0;
}

int sonde_open_fd(const char *name, const struct file_operations *fops,
		  void *data)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct file *file;

	if (fd < 0)
		return fd;
	file = anon_inode_getfile(name, fops, data, O_RDONLY | O_CLOEXEC);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return (int)PTR_ERR(file);
	}
	/* From here on it may be closed, by another thread. */
	fd_install(fd, file);
	return fd;
}
