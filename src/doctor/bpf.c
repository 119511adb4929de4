/* SPDX-License-Identifier: MIT */
/*
 * bpf.c - what BPF gives here.
 *
 * It is found out by loading programs that return 0 and making small maps, which
 * are dropped at once; by the system call alone, so that it is known even to a
 * sonde that was built without libbpf. Some milliseconds for each program.
 */
#include "doctor/parts.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/port.h"
#include "source/source.h"
#include "sys/btf.h"
#include "sys/linux.h"

/* One type of the running kernel's; 0, with an id or 0, or -errno. */
static int find_type(struct sonde_btf_wanted *type)
{
	struct sonde_btf btf;
	int rc = sonde_btf_open(&btf);

	if (rc)
		return rc;
	sonde_btf_find(&btf, type, 1);
	sonde_btf_close(&btf);
	return 0;
}

void sonde_doctor_btf(struct sonde_doctor_ability *to)
{
	struct sonde_btf_wanted type = { .kind = BTF_KIND_TYPEDEF,
					 .name = "btf_trace_sched_switch" };
	int rc = find_type(&type);

	if (!rc && !type.id)
		rc = -ENOENT;
	if (!rc) {
		sonde_doctor_why(to, SONDE_BTF_PATH);
		return;
	}
	if (access(SONDE_BTF_PATH, F_OK))
		sonde_doctor_why(to,
				 "no " SONDE_BTF_PATH ": the kernel is without "
				 "CONFIG_DEBUG_INFO_BTF");
	else
		sonde_doctor_why(to, SONDE_BTF_PATH ": %s",
				 strerrordesc_np(-rc));
	sonde_doctor_lack(to, SONDE_UNABLE, "no kernel events by BPF");
}

/* ---- programs ---- */

static int bpf(int command, union bpf_attr *attr, size_t size)
{
	long rc = syscall(SYS_bpf, command, attr, size);

	return rc < 0 ? -errno : (int)rc;
}

int sonde_doctor_bpf_load(uint32_t attach, const char *name)
{
	/* Reads nothing, by the helper that lockdown takes away. */
	static const struct bpf_insn program[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0 },
		/* NOLINTNEXTLINE(misc-redundant-expression): both are 0 */
		{ BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, -8 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 8 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	union bpf_attr attr;
	struct sonde_btf_wanted type = { .kind = attach == BPF_TRACE_ITER ?
							 BTF_KIND_FUNC :
							 BTF_KIND_TYPEDEF,
					 .name = name };
	int rc = find_type(&type);
	int fd;

	if (rc || !type.id)
		return rc ? rc : -ENOENT;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_TRACING;
	attr.expected_attach_type = attach;
	attr.attach_btf_id = (uint32_t)type.id;
	attr.insns = (uint64_t)(uintptr_t)program;
	attr.insn_cnt = SONDE_ARRAY_SIZE(program);
	attr.license = (uint64_t)(uintptr_t) "GPL";
	(void)snprintf(attr.prog_name, sizeof(attr.prog_name), "sonde_doctor");
	fd = bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		return fd;
	(void)close(fd); /* drops it */
	return 0;
}

/* File capabilities don't count on a file system mounted nosuid. */
static void tell_capabilities(struct sonde_doctor_ability *to)
{
	char path[120] = "";
	struct statvfs fs;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n > 0 && !statvfs(path, &fs) && (fs.f_flag & ST_NOSUID))
		sonde_doctor_remedy(to,
				    "run as root: capabilities of files "
				    "don't count on the file system of %.100s",
				    path);
	else if (n > 0 && (size_t)n < sizeof(path) - 1 && !strchr(path, ' '))
		sonde_doctor_remedy(to, "sudo setcap cap_bpf,cap_perfmon+ep %s",
				    path);
	else
		sonde_doctor_remedy(to, "sudo setcap cap_bpf,cap_perfmon+ep "
					"$(which sonde)");
}

static void tell_refused(struct sonde_doctor_ability *to)
{
	bool all = sonde_linux_capable(CAP_SYS_ADMIN);
	bool use = all || sonde_linux_capable(CAP_BPF);
	bool see = all || sonde_linux_capable(CAP_PERFMON);

	if (use && see) {
		sonde_doctor_why(to, "refused in spite of CAP_BPF and "
				     "CAP_PERFMON: by a container, a security "
				     "module or lockdown");
		return;
	}
	sonde_doctor_why(to, "no %s%s%s", use ? "" : "CAP_BPF",
			 use || see ? "" : " and no ",
			 see ? "" : "CAP_PERFMON");
	tell_capabilities(to);
}

/* A build without BPF has a source that can only be opened, in vain. */
static bool is_built(void)
{
	return sonde_source_bpf.start;
}

void sonde_doctor_bpf(struct sonde_doctor_ability *to)
{
	int rc = -ENOSYS;

	if (is_built())
		rc = sonde_doctor_bpf_load(BPF_TRACE_RAW_TP,
					   "btf_trace_sched_switch");
	if (rc == 0) {
		sonde_doctor_why(to, "programs for raw tracepoints can be "
				     "loaded");
		return;
	}
	if (!is_built())
		sonde_doctor_why(to,
				 "this sonde was built without it: clang and "
				 "libbpf are needed");
	else if (rc == -EPERM || rc == -EACCES)
		tell_refused(to);
	else if (rc == -ENOENT)
		sonde_doctor_why(to, "needs btf");
	else if (rc == -EINVAL)
		sonde_doctor_why(to, "a program that reads the kernel's memory "
				     "is refused: see lockdown");
	else
		sonde_doctor_why(to, "loading a program: %s",
				 strerrordesc_np(-rc));
	sonde_doctor_lack(to, SONDE_UNABLE,
			  "tracefs instead: 164-190 ns for a system call's "
			  "entry, not 114; 458 ns for a switch, not 105; no "
			  "text that system calls point to");
}

void sonde_doctor_bpf_iterators(struct sonde_doctor_ability *to)
{
	int rc = sonde_doctor_bpf_load(BPF_TRACE_ITER, "bpf_iter_task_file");

	if (rc == 0) {
		sonde_doctor_why(to, "of tasks and their files");
		return;
	}
	if (rc == -ENOENT)
		sonde_doctor_why(to, "this kernel has no BTF or no task_file "
				     "iterator; Linux 5.8 has it");
	else if (rc == -EPERM || rc == -EACCES)
		sonde_doctor_why(to, "needs what bpf needs");
	else
		sonde_doctor_why(to, "loading one: %s", strerrordesc_np(-rc));
	sonde_doctor_lack(
		to, SONDE_DOCTOR_PARTLY,
		"/proc instead: 18 ms, not 0.4, for 111 threads, and "
		"files of one's own processes only unless run as root");
}

/* ---- maps ---- */

void sonde_doctor_bpf_rings(struct sonde_doctor_ability *to)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *map = MAP_FAILED;
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = (uint32_t)size;
	attr.max_entries = 1;
	attr.map_flags = BPF_F_MMAPABLE;
	(void)snprintf(attr.map_name, sizeof(attr.map_name), "sonde_doctor");
	fd = bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd >= 0)
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   0);
	if (map != MAP_FAILED) {
		sonde_doctor_why(to, "maps can be mapped");
		(void)munmap(map, size); /* it was */
	} else {
		int error = fd < 0 ? -fd : errno;

		if (error == EPERM || error == EACCES)
			sonde_doctor_why(to, "needs what bpf needs");
		else
			sonde_doctor_why(to, "%s; Linux 5.5 has them",
					 strerrordesc_np(error));
		sonde_doctor_lack(to, SONDE_UNABLE, "no kernel events by BPF");
	}
	if (fd >= 0)
		(void)close(fd); /* drops it */
}

void sonde_doctor_memlock(struct sonde_doctor_ability *to)
{
	struct rlimit limit;

	/* From 5.11 on, BPF's memory is the memory cgroup's business. */
	if (sonde_linux_release() >= 5011) {
		sonde_doctor_why(to, "not limited by RLIMIT_MEMLOCK since "
				     "Linux 5.11");
		return;
	}
	if (sonde_linux_capable(CAP_SYS_RESOURCE) ||
	    (!getrlimit(RLIMIT_MEMLOCK, &limit) &&
	     limit.rlim_cur == RLIM_INFINITY)) {
		sonde_doctor_why(to, "RLIMIT_MEMLOCK does not limit it");
		return;
	}
	sonde_doctor_why(to, "RLIMIT_MEMLOCK limits BPF's maps before Linux "
			     "5.11");
	sonde_doctor_remedy(to, "sudo sh -c 'ulimit -l unlimited; exec sonde "
				"record ...'");
	sonde_doctor_lack(to, SONDE_DOCTOR_PARTLY,
			  "BPF's rings can't be larger than that");
}
