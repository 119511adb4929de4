// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * dump.c - what is there now: threads, open files, mappings, as records of
 * dump/kmod/statedump_record.h, read() from a descriptor.
 *
 * ## How it walks
 *
 * Threads are visited in the order of their numbers in the opener's PID
 * namespace, so a number is all that a read leaves behind: whoever ends
 * meanwhile is not found any more, and nobody is kept from ending. Of a process
 * whose files or mappings are being read, its struct pid is kept (so that its
 * number stays its own), and where to go on: a descriptor or an address.
 *
 * Work goes in rounds. A round
 *
 *  1. takes what is needed from under the locks: at most BATCH files, by
 *     reference, after looking at LOOK of them at most;
 *  2. with no lock held, makes records of them, which includes their paths, and
 *     gives the references back.
 *
 * A round is only begun with room for all that it may write. So:
 *
 *  - no lock, no RCU section and no reference to a file or to memory outlives a
 *    read(), however slow its reader is: a pipe is closed when its owner closes
 *    it, but for microseconds;
 *  - RCU sections and locks are held for LOOK steps at most. Locks are those
 *    that any user of the objects takes: task_lock() and, inside it,
 *    files->file_lock; and mmap_lock, for reading, which is tried some times and
 *    not waited for, so that a process that sits on it holds nobody up. Such a
 *    process's mappings are left out, and counted.
 *
 * ## What it says
 *
 * What iter.bpf.c says, of the same objects. Threads that share their files with
 * a thread that was asked already are left out; so are kernel addresses: a table
 * of descriptors is identified by a keyed hash of where it is.
 *
 * Kernels: 6.1 and newer. find_vma() walks the maple tree, so nothing here knows
 * it. Not exported anywhere: css_task_iter_*, get_files_struct(), from_mnt_ns();
 * exported under other names with every other release: task_lookup_next_fd_rcu()
 * and its successors, which is why tables are read under their lock.
 */
#include <linux/anon_inodes.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ipc_namespace.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/once.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/proc_ns.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <linux/version.h>
#ifdef CONFIG_NET
#include <linux/net.h>
#include <net/af_unix.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#endif

#include "kmod/sonde.h"
#include "kmod/statedump_record.h"

#define BATCH       16
#define LOOK        128
#define TRIES       20 /* of mmap_lock, some 300 us apart */

#define HEAD_MAX    sizeof(struct sonde_iter_task)
#define ROUND_BYTES (BATCH * (HEAD_MAX + SONDE_ITER_TEXT_MAX))
#define ROOM_BYTES  (128u << 10)

/* A file, and what its record says that the file doesn't. */
struct item {
	struct file *file;
	u32 flags;
	u32 fd;
	u64 begin;
	u64 end;
	u64 offset; /* in pages */
};

struct sonde_statedump {
	struct mutex lock; /* one read at a time */
	u32 kind;          /* enum sonde_kmod_dump_kind */
	s32 only;          /* tgid; 0: everybody */
	u32 fd_max;
	struct pid_namespace *ns;
	/* Where to go on. */
	int next;         /* threads with lower numbers were visited */
	struct pid *pid;  /* whose files, mappings are being read; or NULL */
	unsigned long at; /* its descriptors, addresses from here on */
	bool is_at_end;
	u64 omitted;
	/* The round's. */
	struct item items[BATCH];
	u32 nr_items;
	s32 tid;
	s32 tgid;
	u64 files;
	/* The read's: the file of the mapping before. It is only compared, while
	 * its reference is held. */
	struct file *last_file;
	s32 last_tgid;
	/* What was not read yet, of ROOM_BYTES bytes. */
	size_t begin;
	size_t end;
	unsigned char *bytes;
};

/* ---- threads ---- */

static u64 identity_of(const void *p)
{
	static siphash_key_t key;
	u64 hash;

	if (!p)
		return 0;
	get_random_once(&key, sizeof(key));
	hash = siphash_1u64((u64)(uintptr_t)p, &key);
	return hash ? hash : 1;
}

/* The number that the innermost namespace has for it; and that namespace. */
static s32 inner_number(const struct pid *pid, u32 *ret_level, u32 *ret_ns)
{
	if (!pid)
		return 0;
	*ret_level = pid->level;
	*ret_ns = pid->numbers[pid->level].ns->ns.inum;
	return pid->numbers[pid->level].nr;
}

/*
 * The kernel's own structure, which no header describes, begins with its
 * ns_common. That is not taken for granted: the operations that ns_common names
 * say that they are of mount namespaces.
 */
static u32 mnt_number(const struct mnt_namespace *ns)
{
	const struct ns_common *common = (const void *)ns;
	const struct proc_ns_operations *ops;
	const char *name;
	char text[4];
	u32 number;

	if (copy_from_kernel_nofault(&ops, &common->ops, sizeof(ops)) ||
	    copy_from_kernel_nofault(&name, &ops->name, sizeof(name)) ||
	    copy_from_kernel_nofault(text, name, sizeof(text)) ||
	    memcmp(text, "mnt", sizeof(text)) ||
	    copy_from_kernel_nofault(&number, &common->inum, sizeof(number)))
		return 0;
	return number;
}

static void add_namespaces(struct sonde_iter_task *record,
			   struct task_struct *task)
{
	const struct nsproxy *proxy;

	record->user_ns = __task_cred(task)->user_ns->ns.inum;
	/* Who has none left has ended. */
	task_lock(task);
	proxy = task->nsproxy;
	if (proxy) {
		record->mnt_ns = mnt_number(proxy->mnt_ns);
		record->uts_ns = proxy->uts_ns->ns.inum;
#ifdef CONFIG_NET
		record->net_ns = proxy->net_ns->ns.inum;
#endif
#if defined(CONFIG_SYSVIPC) || defined(CONFIG_POSIX_MQUEUE)
		record->ipc_ns = proxy->ipc_ns->ns.inum;
#endif
#ifdef CONFIG_CGROUPS
		record->cgroup_ns = proxy->cgroup_ns->ns.inum;
#endif
	}
	task_unlock(task);
}

/* Under RCU. */
static void add_task(struct sonde_statedump *dump, struct task_struct *task)
{
	struct sonde_iter_task record = { .size = sizeof(record) };
	u32 level;
	u32 ns;

	record.tid = task->pid;
	record.pid = task->tgid;
	record.ppid = rcu_dereference(task->real_parent)->tgid;
	record.flags = READ_ONCE(task->flags);
	record.state = READ_ONCE(task->__state);
	record.exit_state = READ_ONCE(task->exit_state);
	record.cpu = task_cpu(task);
	record.files = identity_of(READ_ONCE(task->files));
#ifdef CONFIG_CGROUPS
	record.cgroup = cgroup_id(rcu_dereference(task->cgroups)->dfl_cgrp);
#endif
	strscpy_pad(record.name, task->comm, sizeof(record.name));
	record.vtid =
		inner_number(task_pid(task), &record.ns_level, &record.pid_ns);
	record.vpid = inner_number(task_tgid(task), &level, &ns);
	add_namespaces(&record, task);
	memcpy(dump->bytes + dump->end, &record, sizeof(record));
	dump->end += sizeof(record);
}

/*
 * The next thread that is asked for, after LOOK looks at most; NULL: there was
 * none among them, and is_at_end says whether there is one at all. Under RCU.
 */
static struct task_struct *next_wanted(struct sonde_statedump *dump, int *looks)
{
	struct task_struct *task;
	struct pid *pid;

	while ((*looks)++ < LOOK) {
		pid = find_ge_pid(dump->next, dump->ns);
		if (!pid) {
			dump->is_at_end = true;
			return NULL;
		}
		dump->next = pid_nr_ns(pid, dump->ns) + 1;
		task = pid_task(pid, PIDTYPE_PID);
		if (task && (!dump->only || task->tgid == dump->only))
			return task;
	}
	return NULL;
}

static void add_tasks(struct sonde_statedump *dump)
{
	struct task_struct *task;
	int looks = 0;

	rcu_read_lock();
	while (dump->end + HEAD_MAX <= ROOM_BYTES) {
		task = next_wanted(dump, &looks);
		if (!task)
			break;
		add_task(dump, task);
	}
	rcu_read_unlock();
}

/* ---- whose files and mappings ---- */

/*
 * A process's memory is asked for once, at its first thread that has it; tables
 * of descriptors at that, and at threads that have another one. Usually it is
 * the thread that leads the others: then this is one step. Under RCU.
 */
static bool is_visited(const struct sonde_statedump *dump,
		       struct task_struct *task)
{
	struct task_struct *thread;
	const void *own;
	const void *other;

	for_each_thread(task, thread)
	{
		if (dump->kind == SONDE_KMOD_DUMP_MAPPINGS)
			other = READ_ONCE(thread->mm);
		else
			other = READ_ONCE(thread->files);
		if (thread == task)
			return other;
		if (!other)
			continue;
		if (dump->kind == SONDE_KMOD_DUMP_MAPPINGS)
			return false;
		own = READ_ONCE(task->files);
		return own && own != other;
	}
	return false;
}

/* Sets dump->pid, or is_at_end; or neither: it has looked long enough. */
static void next_process(struct sonde_statedump *dump)
{
	struct task_struct *task;
	int looks = 0;

	rcu_read_lock();
	do {
		task = next_wanted(dump, &looks);
	} while (task && !is_visited(dump, task));
	if (task) {
		dump->pid = get_pid(task_pid(task));
		dump->at = 0;
	}
	rcu_read_unlock();
}

/* ---- taking files from under locks ---- */

static void take_file(struct sonde_statedump *dump, struct file *file,
		      const struct item *item)
{
	struct item *to = &dump->items[dump->nr_items++];

	*to = *item;
	to->file = get_file(file);
}

/* Under the table's lock. False: there are no more. */
static bool take_descriptors(struct sonde_statedump *dump,
			     struct files_struct *files)
{
	const struct fdtable *table = files_fdtable(files);
	unsigned long fd = dump->at;
	struct item item = {};
	struct file *file;
	int looks;

	for (looks = 0; looks < LOOK && dump->nr_items < BATCH; looks++, fd++) {
		fd = find_next_bit(table->open_fds, table->max_fds, fd);
		if (fd >= table->max_fds)
			return false;
		file = files_lookup_fd_locked(files, fd);
		if (!file)
			continue; /* promised, and not there yet */
		if (fd >= dump->fd_max) {
			dump->omitted++;
			continue;
		}
		item.fd = fd;
		item.flags = file->f_flags & ~O_CLOEXEC;
		if (test_bit(fd, table->close_on_exec))
			item.flags |= O_CLOEXEC;
		take_file(dump, file, &item);
	}
	dump->at = fd;
	return true;
}

static bool take_files(struct sonde_statedump *dump, struct task_struct *task)
{
	struct files_struct *files;
	bool more = false;

	task_lock(task);
	files = task->files;
	if (files) {
		dump->files = identity_of(files);
		spin_lock(&files->file_lock);
		more = take_descriptors(dump, files);
		spin_unlock(&files->file_lock);
	}
	task_unlock(task);
	return more;
}

/* Under mmap_lock. False: there are no more. */
static bool take_areas(struct sonde_statedump *dump, struct mm_struct *mm)
{
	struct vm_area_struct *area;
	int looks;

	for (looks = 0; looks < LOOK && dump->nr_items < BATCH; looks++) {
		area = find_vma(mm, dump->at);
		if (!area)
			return false;
		dump->at = area->vm_end;
		if (!area->vm_file)
			continue;
		take_file(dump, area->vm_file,
			  &(struct item){
				  .flags = (area->vm_flags &
					    (VM_READ | VM_WRITE | VM_EXEC)) |
					   (area->vm_flags & VM_MAYSHARE ?
						    VM_SHARED :
						    0),
				  .begin = area->vm_start,
				  .end = area->vm_end,
				  .offset = area->vm_pgoff,
			  });
	}
	return true;
}

static bool lock_memory(struct mm_struct *mm)
{
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (mmap_read_trylock(mm))
			return true;
		usleep_range(200, 400);
	}
	return false;
}

static bool take_mappings(struct sonde_statedump *dump,
			  struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	bool more = false;

	if (!mm)
		return false;
	if (lock_memory(mm)) {
		more = take_areas(dump, mm);
		mmap_read_unlock(mm);
	} else {
		dump->omitted++;
	}
	mmput_async(mm);
	return more;
}

/* The round's items. False: there are no more of this process. */
static bool take(struct sonde_statedump *dump)
{
	struct task_struct *task = get_pid_task(dump->pid, PIDTYPE_PID);
	bool more;

	dump->nr_items = 0;
	if (!task)
		return false;
	dump->tid = task->pid;
	dump->tgid = task->tgid;
	if (dump->kind == SONDE_KMOD_DUMP_MAPPINGS)
		more = take_mappings(dump, task);
	else
		more = take_files(dump, task);
	put_task_struct(task);
	return more;
}

/* ---- records of files and mappings ---- */

/* What readlink() of /proc/PID/fd/FD would say to who reads; its length. */
static u32 put_path(struct sonde_statedump *dump, const struct path *path,
		    unsigned char *to)
{
	char *text = d_path(path, (char *)to, SONDE_ITER_TEXT_MAX);
	u32 n;

	if (IS_ERR(text)) {
		dump->omitted++;
		return 0;
	}
	n = strlen(text);
	memmove(to, text, n);
	return n;
}

#ifdef CONFIG_NET
/* 0: it has none, and its path says more. */
static u32 put_unix_name(const struct sock *sk, unsigned char *to)
{
	const struct unix_address *address;
	u32 n;

	/* Pairs with the kernel's release when it binds; then it doesn't change,
	 * and the file that we hold keeps it. */
	address = smp_load_acquire(&unix_sk(sk)->addr);
	if (!address || address->len <= (int)sizeof(sa_family_t) ||
	    address->len > (int)sizeof(struct sockaddr_un))
		return 0;
	n = address->len - sizeof(sa_family_t);
	memcpy(to, address->name->sun_path, n);
	return n;
}

static void add_addresses(struct sonde_iter_file *record, const struct sock *sk)
{
	record->protocol = sk->sk_protocol;
	record->local_port = sk->sk_num;
	record->peer_port = ntohs(sk->sk_dport);
	if (sk->sk_family == AF_INET) {
		memcpy(record->local, &sk->sk_rcv_saddr, 4);
		memcpy(record->peer, &sk->sk_daddr, 4);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	memcpy(record->local, &sk->sk_v6_rcv_saddr, 16);
	memcpy(record->peer, &sk->sk_v6_daddr, 16);
#endif
}

static void add_socket(struct sonde_iter_file *record, struct file *file,
		       unsigned char *to)
{
	const struct socket *socket = sock_from_file(file);
	const struct sock *sk = socket ? READ_ONCE(socket->sk) : NULL;

	if (!sk)
		return;
	record->family = sk->sk_family;
	if (record->family == AF_INET || record->family == AF_INET6)
		add_addresses(record, sk);
	else if (record->family == AF_UNIX)
		record->text_size = put_unix_name(sk, to);
	record->text_is_name = record->text_size != 0;
}
#else
static void add_socket(struct sonde_iter_file *record, struct file *file,
		       unsigned char *to)
{
}
#endif

static void add_file(struct sonde_statedump *dump, const struct item *item)
{
	unsigned char *at = dump->bytes + dump->end;
	struct sonde_iter_file record = {
		.tid = dump->tid,
		.pid = dump->tgid,
		.fd = item->fd,
		.flags = item->flags,
		.files = dump->files,
	};

	add_socket(&record, item->file, at + sizeof(record));
	if (!record.text_is_name)
		record.text_size = put_path(dump, &item->file->f_path,
					    at + sizeof(record));
	record.size = sizeof(record) + record.text_size;
	memcpy(at, &record, sizeof(record));
	dump->end += record.size;
}

/* The file that was asked for, where a file system opens another one to be
 * mapped (overlayfs). Before 6.8 such a file has the path asked for. */
static const struct path *path_of(const struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	return file_user_path(file);
#else
	return &file->f_path;
#endif
}

static void add_mapping(struct sonde_statedump *dump, const struct item *item)
{
	unsigned char *at = dump->bytes + dump->end;
	const struct path *path = path_of(item->file);
	const struct inode *inode = path == &item->file->f_path ?
					    file_inode(item->file) :
					    d_inode(path->dentry);
	struct sonde_iter_mapping record = {
		.pid = dump->tgid,
		.begin = item->begin,
		.end = item->end,
		.offset = item->offset,
		.ino = inode->i_ino,
		.dev = inode->i_sb->s_dev,
		.flags = item->flags,
	};

	record.same_file =
		item->file == dump->last_file && dump->tgid == dump->last_tgid;
	if (!record.same_file)
		record.text_size = put_path(dump, path, at + sizeof(record));
	record.size = sizeof(record) + record.text_size;
	memcpy(at, &record, sizeof(record));
	dump->end += record.size;
}

static void keep_last(struct sonde_statedump *dump, struct file *file)
{
	if (dump->last_file)
		fput(dump->last_file);
	dump->last_file = file;
	dump->last_tgid = dump->tgid;
}

/* A round, of files or mappings. */
static void add_items(struct sonde_statedump *dump)
{
	bool more;
	u32 i;

	if (!dump->pid) {
		next_process(dump);
		if (!dump->pid)
			return;
	}
	more = take(dump);
	for (i = 0; i < dump->nr_items; i++) {
		if (dump->kind == SONDE_KMOD_DUMP_MAPPINGS)
			add_mapping(dump, &dump->items[i]);
		else
			add_file(dump, &dump->items[i]);
		keep_last(dump, dump->items[i].file);
	}
	if (!more) {
		put_pid(dump->pid);
		dump->pid = NULL;
	}
}

/* ---- the descriptor ---- */

/* Rounds, until there is no room for another. */
static int fill(struct sonde_statedump *dump)
{
	dump->begin = 0;
	dump->end = 0;
	while (!dump->is_at_end && dump->end + ROUND_BYTES <= ROOM_BYTES) {
		if (dump->kind == SONDE_KMOD_DUMP_TASKS)
			add_tasks(dump);
		else
			add_items(dump);
		if (signal_pending(current))
			break;
		cond_resched();
	}
	/* The next read says a path again. */
	keep_last(dump, NULL);
	return dump->end || dump->is_at_end ? 0 : -EINTR;
}

static ssize_t dump_read(struct file *file, char __user *to, size_t size,
			 loff_t *pos)
{
	struct sonde_statedump *dump = file->private_data;
	ssize_t rc;

	if (mutex_lock_interruptible(&dump->lock))
		return -EINTR;
	rc = dump->begin == dump->end ? fill(dump) : 0;
	if (!rc) {
		size = min(size, dump->end - dump->begin);
		if (copy_to_user(to, dump->bytes + dump->begin, size)) {
			rc = -EFAULT;
		} else {
			dump->begin += size;
			rc = size;
		}
	}
	mutex_unlock(&dump->lock);
	return rc;
}

static long dump_ioctl(struct file *file, unsigned int command,
		       unsigned long argument)
{
	struct sonde_statedump *dump = file->private_data;
	struct sonde_kmod_dump_counts counts = {};

	if (_IOC_TYPE(command) != SONDE_KMOD_IOC ||
	    _IOC_NR(command) != _IOC_NR(SONDE_KMOD_DUMP_COUNTS))
		return -ENOTTY;
	if (mutex_lock_interruptible(&dump->lock))
		return -EINTR;
	counts.omitted = dump->omitted;
	mutex_unlock(&dump->lock);
	return sonde_copy_out(argument, &counts, sizeof(counts));
}

static void dump_free(struct sonde_statedump *dump)
{
	put_pid(dump->pid);
	put_pid_ns(dump->ns);
	kvfree(dump->bytes);
	kfree(dump);
}

static int dump_release(struct inode *inode, struct file *file)
{
	dump_free(file->private_data);
	return 0;
}

static const struct file_operations dump_operations = {
	.owner = THIS_MODULE,
	.read = dump_read,
	.unlocked_ioctl = dump_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.release = dump_release,
	.llseek = noop_llseek,
};

int sonde_statedump_open(const struct sonde_kmod_dump *request)
{
	struct sonde_statedump *dump;
	int fd;

	BUILD_BUG_ON(sizeof(struct sonde_iter_file) > HEAD_MAX);
	BUILD_BUG_ON(sizeof(struct sonde_iter_mapping) > HEAD_MAX);
	BUILD_BUG_ON(ROUND_BYTES > ROOM_BYTES);
	if (request->kind > SONDE_KMOD_DUMP_MAPPINGS || request->pid < 0)
		return -EINVAL;
	dump = kzalloc(sizeof(*dump), GFP_KERNEL_ACCOUNT);
	if (!dump)
		return -ENOMEM;
	mutex_init(&dump->lock);
	dump->kind = request->kind;
	dump->only = request->pid;
	dump->fd_max = request->fd_max;
	dump->ns = get_pid_ns(task_active_pid_ns(current));
	dump->bytes = kvmalloc(ROOM_BYTES, GFP_KERNEL_ACCOUNT);
	fd = dump->bytes ? anon_inode_getfd("[sonde-dump]", &dump_operations,
					    dump, O_RDONLY | O_CLOEXEC) :
			   -ENOMEM;
	if (fd < 0)
		dump_free(dump);
	return fd;
}
