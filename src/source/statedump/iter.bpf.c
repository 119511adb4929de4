/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iter.bpf.c - what runs in the kernel for iter.c: threads, open files and
 * mappings as records of record.h.
 *
 * Three programs on the kernel's iterators task, task_file and task_vma. The
 * kernel calls each of them for one object after the other while iter.c reads;
 * what a program writes to the iterator's file is dropped, and the program run
 * again for the same object, if it did not fit. So nothing is remembered from
 * one run to the next but `last_file`, which knows the run it is from.
 *
 * Structures of the kernel are declared with the members that are used, and
 * found by name and type when the program is loaded (CO-RE). Where a member
 * that was not always there is missing, the load fails and iter.c's caller goes
 * by /proc: kernels since 5.16 have all of them. All reads of what is not the
 * iterator's own object can fail, and then give zeros.
 *
 * Paths: bpf_d_path() is allowed to every iterator since 5.13; it gives what
 * readlink() of /proc/PID/fd/N gives to the reader.
 */
#include "source/statedump/record.h"

typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
};

#define SOCKFS_MAGIC  0x534f434b
#define PIDTYPE_TGID  1
#define O_CLOEXEC     02000000
#define FLAGS_MASK    0x7 /* VM_READ, _WRITE, _EXEC */
#define VM_SHARED     0x8
#define VM_MAYSHARE   0x80 /* what is mapped so, whether it may be written */
#define UNIX_NAME_MAX 108u

/* Where bit `n` of an array of words is. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_OF(n) ((n) / 8)
#else
#define BYTE_OF(n) ((n) / 8 ^ 7)
#endif

/* ---- the kernel's structures ---- */

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct mnt_namespace {
	struct ns_common ns;
};

struct net {
	struct ns_common ns;
};

struct user_namespace {
	struct ns_common ns;
};

struct uts_namespace {
	struct ns_common ns;
};

struct ipc_namespace {
	struct ns_common ns;
};

struct cgroup_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct uts_namespace *uts_ns;
	struct ipc_namespace *ipc_ns;
	struct mnt_namespace *mnt_ns;
	struct net *net_ns;
	struct cgroup_namespace *cgroup_ns;
};

struct cred {
	struct user_namespace *user_ns;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct signal_struct {
	struct pid *pids[4];
};

struct fdtable {
	unsigned int max_fds;
	unsigned long *close_on_exec;
};

struct files_struct {
	struct fdtable *fdt;
};

struct thread_info {
	__u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int exit_state;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	const struct cred *cred;
	char comm[16];
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct css_set *cgroups;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct path {
	void *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	unsigned int f_flags;
	void *private_data;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[UNIX_NAME_MAX];
};

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct unix_address *addr;
};

struct socket {
	struct sock *sk;
};

#pragma clang attribute pop

/* ---- the iterators' arguments, whose layout is the kernel's interface ---- */

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct task_arguments {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct file_arguments {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u64 fd;
	struct file *file;
};

struct vma_arguments {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

/* ---- maps ---- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sonde_iter_control);
} control SEC(".maps");

/* Keys: PIDs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SONDE_ITER_WANTED_MAX);
	__type(key, __s32);
	__type(value, __u8);
} wanted SEC(".maps");

/* Records are put together here: they do not fit onto the stack. One reader
 * runs one iterator at a time, so nobody shares it. */
static struct {
	struct sonde_iter_file head;
	char text[SONDE_ITER_TEXT_MAX];
} file_room;

static struct {
	struct sonde_iter_mapping head;
	char text[SONDE_ITER_TEXT_MAX];
} mapping_room;

/* Not static: the compiler would take it apart, and describe it wrongly. */
struct {
	__u64 session_id;
	__u64 seq_num;
	__u64 file;
	__s32 pid;
} last_file;

char _license[] SEC("license") = "Dual MIT/GPL";

static __always_inline struct sonde_iter_control *get_control(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&control, &key);
}

static __always_inline bool is_wanted(const struct sonde_iter_control *c,
				      __s32 pid)
{
	return c->everybody || bpf_map_lookup_elem(&wanted, &pid);
}

/* A text's length, which is less anyway, so that the verifier sees it: the
 * compiler may not conclude that nothing is to be done, and old verifiers don't
 * follow what it does otherwise. */
static __always_inline __u32 bounded(__u32 n)
{
	barrier_var(n);
	return n & (SONDE_ITER_TEXT_MAX - 1);
}

/* ---- threads ---- */

/* The number that the innermost namespace has for it; and that namespace. */
static __always_inline __s32 inner_number(const struct pid *pid,
					  __u32 *ret_level, __u32 *ret_ns)
{
	struct upid *upid;
	__u32 level = 0;

	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	upid = (void *)__builtin_preserve_access_index(&pid->numbers);
	upid = (void *)upid + (__u64)level * bpf_core_type_size(struct upid);
	*ret_level = level;
	*ret_ns = BPF_CORE_READ(upid, ns, ns.inum);
	return BPF_CORE_READ(upid, nr);
}

static __always_inline void add_namespaces(struct sonde_iter_task *record,
					   const struct task_struct *task)
{
	struct nsproxy *proxy = BPF_CORE_READ(task, nsproxy);

	record->user_ns = BPF_CORE_READ(task, cred, user_ns, ns.inum);
	if (!proxy)
		return;
	record->mnt_ns = BPF_CORE_READ(proxy, mnt_ns, ns.inum);
	record->net_ns = BPF_CORE_READ(proxy, net_ns, ns.inum);
	record->uts_ns = BPF_CORE_READ(proxy, uts_ns, ns.inum);
	record->ipc_ns = BPF_CORE_READ(proxy, ipc_ns, ns.inum);
	record->cgroup_ns = BPF_CORE_READ(proxy, cgroup_ns, ns.inum);
}

SEC("iter/task")
int sonde_tasks(struct task_arguments *ctx)
{
	const struct task_struct *task = ctx->task;
	struct sonde_iter_task record = { .size = sizeof(record) };
	struct signal_struct *signal;
	__u32 level;
	__u32 ns;

	if (!task)
		return 0;
	record.tid = BPF_CORE_READ(task, pid);
	record.pid = BPF_CORE_READ(task, tgid);
	record.ppid = BPF_CORE_READ(task, real_parent, tgid);
	record.flags = BPF_CORE_READ(task, flags);
	record.state = BPF_CORE_READ(task, __state);
	record.exit_state = (__u32)BPF_CORE_READ(task, exit_state);
	record.cpu = BPF_CORE_READ(task, thread_info.cpu);
	record.files = (__u64)BPF_CORE_READ(task, files);
	record.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	bpf_core_read(record.name, sizeof(record.name), &task->comm);
	record.vtid = inner_number(BPF_CORE_READ(task, thread_pid),
				   &record.ns_level, &record.pid_ns);
	signal = BPF_CORE_READ(task, signal);
	if (signal)
		record.vpid = inner_number(
			BPF_CORE_READ(signal, pids[PIDTYPE_TGID]), &level, &ns);
	add_namespaces(&record, task);
	(void)bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

/* ---- files ---- */

/* What readlink() would say; its length without the NUL. */
static __always_inline __u32 get_path(struct file *file, char *room,
				      struct sonde_iter_control *c)
{
	long n = bpf_d_path(&file->f_path, room, SONDE_ITER_TEXT_MAX);

	if (n > 0 && n <= SONDE_ITER_TEXT_MAX)
		return (__u32)n - 1;
	c->omitted++;
	return 0;
}

/* 0: it has none, and its path says more. */
static __always_inline __u32 get_unix_name(const struct sock *sk, char *room)
{
	const struct unix_sock *own = (const void *)sk;
	struct unix_address *address;
	__u32 n;

	if (!bpf_core_type_exists(struct unix_sock))
		return 0;
	address = BPF_CORE_READ(own, addr);
	if (!address)
		return 0;
	n = (__u32)BPF_CORE_READ(address, len);
	if (n <= 2 || n > 2 + UNIX_NAME_MAX)
		return 0;
	n -= 2; /* the family goes before it */
	if (bpf_core_read(room, n & 127, &address->name[0].sun_path))
		return 0;
	return n;
}

static __always_inline void add_addresses(struct sonde_iter_file *record,
					  const struct sock *sk)
{
	record->protocol = BPF_CORE_READ(sk, sk_protocol);
	record->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	record->peer_port =
		__builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (record->family == SONDE_ITER_INET) {
		bpf_core_read(record->local, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_core_read(record->peer, 4, &sk->__sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		bpf_core_read(record->local, 16,
			      &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(record->peer, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

static __always_inline void add_socket(struct sonde_iter_file *record,
				       struct file *file)
{
	const struct socket *socket = BPF_CORE_READ(file, private_data);
	const struct sock *sk;

	if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) != SOCKFS_MAGIC ||
	    !socket)
		return;
	sk = BPF_CORE_READ(socket, sk);
	if (!sk)
		return;
	record->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (record->family == SONDE_ITER_INET ||
	    record->family == SONDE_ITER_INET6)
		add_addresses(record, sk);
	else if (record->family == SONDE_ITER_UNIX)
		record->text_size = get_unix_name(sk, file_room.text);
	record->text_is_name = record->text_size != 0;
}

/* Closing on exec is the descriptor's, not the file's. */
static __always_inline __u32 get_flags(const struct task_struct *task,
				       const struct file *file, __u32 fd)
{
	__u32 flags = BPF_CORE_READ(file, f_flags) & ~O_CLOEXEC;
	const struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	const __u8 *bits;
	__u8 byte = 0;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return flags;
	/* Words of the machine's; BPF is of its byte order. */
	bits = (const __u8 *)BPF_CORE_READ(table, close_on_exec);
	bpf_probe_read_kernel(&byte, 1, bits + BYTE_OF(fd));
	return byte >> (fd % 8) & 1 ? flags | O_CLOEXEC : flags;
}

SEC("iter/task_file")
int sonde_files(struct file_arguments *ctx)
{
	struct sonde_iter_control *c = get_control();
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct sonde_iter_file *record = &file_room.head;
	__u32 fd = (__u32)ctx->fd;
	__u32 n;

	if (!c || !task || !file || !is_wanted(c, BPF_CORE_READ(task, tgid)))
		return 0;
	if (fd >= c->fd_max) {
		c->omitted++;
		return 0;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->tid = BPF_CORE_READ(task, pid);
	record->pid = BPF_CORE_READ(task, tgid);
	record->fd = fd;
	record->files = (__u64)BPF_CORE_READ(task, files);
	record->flags = get_flags(task, file, fd);
	add_socket(record, file);
	if (!record->text_is_name)
		record->text_size = get_path(file, file_room.text, c);
	n = bounded(record->text_size);
	record->size = sizeof(*record) + n;
	(void)bpf_seq_write(ctx->meta->seq, &file_room, sizeof(*record) + n);
	return 0;
}

/* ---- mappings ---- */

/* Whether the record before this one, in the same run of the iterator, is of
 * the same file and process. A second run for the same object is not. */
static __always_inline bool is_same_file(const struct bpf_iter_meta *meta,
					 const struct file *file, __s32 pid)
{
	bool same = last_file.session_id == meta->session_id &&
		    last_file.seq_num < meta->seq_num &&
		    last_file.file == (__u64)file && last_file.pid == pid;

	last_file.session_id = meta->session_id;
	last_file.seq_num = meta->seq_num;
	last_file.file = (__u64)file;
	last_file.pid = pid;
	return same;
}

SEC("iter/task_vma")
int sonde_mappings(struct vma_arguments *ctx)
{
	struct sonde_iter_control *c = get_control();
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct sonde_iter_mapping *record = &mapping_room.head;
	struct file *file;
	__u64 flags;
	__u32 n = 0;

	if (!c || !task || !vma)
		return 0;
	file = vma->vm_file;
	if (!file || !is_wanted(c, BPF_CORE_READ(task, tgid)))
		return 0;
	__builtin_memset(record, 0, sizeof(*record));
	record->pid = BPF_CORE_READ(task, tgid);
	record->begin = BPF_CORE_READ(vma, vm_start);
	record->end = BPF_CORE_READ(vma, vm_end);
	record->offset = BPF_CORE_READ(vma, vm_pgoff); /* in pages, so far */
	flags = BPF_CORE_READ(vma, vm_flags);
	record->flags =
		(flags & FLAGS_MASK) | (flags & VM_MAYSHARE ? VM_SHARED : 0);
	record->ino = BPF_CORE_READ(file, f_inode, i_ino);
	record->dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	record->same_file = is_same_file(ctx->meta, file, record->pid);
	if (!record->same_file)
		n = get_path(file, mapping_room.text, c);
	n = bounded(n);
	record->text_size = n;
	record->size = sizeof(*record) + n;
	(void)bpf_seq_write(ctx->meta->seq, &mapping_room, sizeof(*record) + n);
	return 0;
}
