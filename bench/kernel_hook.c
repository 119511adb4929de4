/* SPDX-License-Identifier: MIT */
/*
 * kernel_hook.c - a program run while a BPF program that does nothing is on a
 * tracepoint: what the hook alone costs, before anything is recorded.
 *
 *	kernel_hook TRACEPOINT -- PROGRAM [ARGUMENT]...
 *	kernel_hook none -- PROGRAM [ARGUMENT]...	the same without a hook
 *	kernel_hook --clock TRACEPOINT -- PROGRAM ...	it reads the clock
 *	kernel_hook kprobe:FUNCTION -- PROGRAM ...	at a function
 *
 * TRACEPOINT is a raw tracepoint's name: sys_enter, sched_switch. Some kernels
 * take a slower way into every system call while sys_enter has any hook at all.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* As it is by the kernel's PMU of kprobes: a descriptor, or -1. */
static int hook_function(const char *function, int program)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	int fd = -1;

	if (!file)
		return -1;
	attr.kprobe_func = (uintptr_t)function;
	if (fscanf(file, "%u", &attr.type) == 1)
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	(void)fclose(file);
	if (fd >= 0 && (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ||
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)))
		return -1;
	return fd;
}

/* Returns a descriptor that holds the hook in place, or -1. */
static int hook(const char *place, bool reads_clock)
{
	const char *function = strncmp(place, "kprobe:", 7) ? NULL : place + 7;
	static const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	size_t first = reads_clock ? 0 : 1;
	union bpf_attr attr;
	int program;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type =
		function ? BPF_PROG_TYPE_KPROBE : BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uintptr_t)(insns + first);
	attr.insn_cnt = (uint32_t)(sizeof(insns) / sizeof(insns[0]) - first);
	attr.license = (uintptr_t) "Dual MIT/GPL";
	program = bpf(BPF_PROG_LOAD, &attr);
	if (program < 0)
		return -1;
	if (function)
		return hook_function(function, program);
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uintptr_t)place;
	attr.raw_tracepoint.prog_fd = (uint32_t)program;
	return bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

int main(int argc, char **argv)
{
	bool reads_clock = argc > 1 && !strcmp(argv[1], "--clock");
	int status;
	pid_t pid;

	argc -= reads_clock;
	argv += reads_clock;
	if (argc < 4 || strcmp(argv[2], "--") != 0) {
		fprintf(stderr,
			"usage: kernel_hook [--clock] TRACEPOINT|none -- "
			"PROGRAM ...\n");
		return 2;
	}
	if (strcmp(argv[1], "none") != 0 && hook(argv[1], reads_clock) < 0) {
		fprintf(stderr, "kernel_hook: %s: %s\n", argv[1],
			strerror(errno));
		return 1;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("kernel_hook");
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
