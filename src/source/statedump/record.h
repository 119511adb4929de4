/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * record.h - what the BPF programs in iter.bpf.c write and iter.c reads.
 *
 * Each of their outputs is a run of records of one kind, each starting with its
 * size; a text of `text_size` bytes, without a NUL, is at its end, after the
 * structure. Sizes are not rounded, so a record may lie at any address: copy
 * it. Whoever reads checks everything (kernel_records.h).
 *
 * Included by both sides: fixed types only, no padding but what is named.
 */
#ifndef SOURCE_STATEDUMP_RECORD_H
#define SOURCE_STATEDUMP_RECORD_H

#ifdef __bpf__
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
#else
#include <linux/types.h>
#endif

/* Bytes of a path; longer ones are recorded as empty. */
#define SONDE_ITER_TEXT_MAX 4096u

struct sonde_iter_task {
	__u32 size;
	__s32 tid;
	__s32 vtid; /* as in the innermost PID namespace it is in */
	__s32 pid;
	__s32 vpid;
	__s32 ppid;
	__u32 flags; /* PF_... */
	__u32 state; /* TASK_... */
	__u32 exit_state;
	__u32 cpu;
	__u32 ns_level;
	__u32 pid_ns;
	__u32 mnt_ns;
	__u32 net_ns;
	__u32 user_ns;
	__u32 uts_ns;
	__u32 ipc_ns;
	__u32 cgroup_ns;
	__u64 files;  /* identifies the table of descriptors; 0: none */
	__u64 cgroup; /* of the unified hierarchy: its directory's inode */
	char name[16];
};

/* Families of sockets whose names we know. */
#define SONDE_ITER_UNIX  1
#define SONDE_ITER_INET  2
#define SONDE_ITER_INET6 10

struct sonde_iter_file {
	__u32 size;
	__s32 tid; /* a thread that has the table */
	__s32 pid;
	__u32 fd;
	__u32 flags; /* O_... */
	__u32 text_size;
	__u64 files;
	__u16 family; /* AF_...; 0: not a socket */
	__u16 protocol;
	__u16 local_port;
	__u16 peer_port;
	__u8 local[16];
	__u8 peer[16];
	__u32 text_is_name; /* a unix socket's, instead of a path */
	__u32 zero;
};

struct sonde_iter_mapping {
	__u32 size;
	__s32 pid;
	__u64 begin;
	__u64 end;
	__u64 offset;
	__u64 ino;
	__u32 dev;
	__u32 flags; /* SONDE_MAPPED_... (sys/proc.h), which are the kernel's */
	__u32 text_size;
	__u32 same_file; /* as the record before; the text is left out */
};

/* The one element of the map "control". */
struct sonde_iter_control {
	__u32 everybody; /* else those in the map "wanted" only */
	__u32 fd_max;    /* descriptors from here on are counted only */
	__u64 omitted;   /* descriptors, mappings: counted by the programs */
};

#define SONDE_ITER_WANTED_MAX 8192u

#endif /* SOURCE_STATEDUMP_RECORD_H */
