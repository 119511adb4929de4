/* SPDX-License-Identifier: MIT */
/*
 * servant_x86_64.S - what a servant runs (servant.h), copied into the process.
 *
 * Position independent; its data are at the page behind it. No stack is used,
 * so no signal must be delivered: all are blocked. It must not fault either: a
 * forced signal would reset the process's action.
 *
 * The borrowed thread enters at the start with the arguments of clone();
 * whoever made it do so stops it at the system call's end, or at the int3.
 */
	.set TID, 0
	.set STATUS, 4
	.set PID, 8
	.set TIMEOUT, 12
	.set SOCKETS, 16
	.set POLLS, 24
	.set PROCESS_EVENTS, POLLS + 8 + 6
	.set SIGNALS, 40
	.set HEADER, 48
	.set CONTROL_LENGTH, HEADER + 40
	.set NAME, 144
	.set ROOT, 160
	.set TRACER, 168
	.set DATA_AT, 0x1000
	.set BUFFER, 0x3000 - DATA_AT

	.set CALL, 64
	.set CALL_GO_ON, 4
	.set CALL_ARGS, 8
	.set CALL_RESULT, 56

	.macro kernel number
	movl $\number, %eax
	syscall
	.endm

	.macro kernel_or_fail number
	kernel \number
	testq %rax, %rax
	js 8f
	.endm

	.section .rodata
	.balign 16
	.globl sonde_servant_code
	.hidden sonde_servant_code
sonde_servant_code:
.Lstart:
	syscall				/* clone */
	testl %eax, %eax
	jz 1f
	int3

	/* the intermediate process */
1:	leaq .Lstart + DATA_AT(%rip), %rbx
	movl $2, %edi			/* SIG_SETMASK */
	leaq SIGNALS(%rbx), %rsi
	xorl %edx, %edx
	movl $8, %r10d
	kernel_or_fail 14			/* rt_sigprocmask */
	xorl %edi, %edi
	movl $-1, %esi
	movl $2, %edx			/* CLOSE_RANGE_UNSHARE */
	kernel_or_fail 436		/* close_range */
	movl $1, %edi			/* AF_UNIX */
	movl $02000005, %esi		/* SOCK_SEQPACKET | SOCK_CLOEXEC */
	xorl %edx, %edx
	leaq SOCKETS(%rbx), %r10
	kernel_or_fail 53			/* socketpair */
	movl PID(%rbx), %edi
	xorl %esi, %esi
	kernel_or_fail 434		/* pidfd_open */
	/* CLONE_UNTRACED | PARENT_SETTID | SIGHAND | FILES | VM */
	movl $0x900d00, %edi
	leaq BUFFER(%rbx), %rsi
	leaq TID(%rbx), %rdx
	xorl %r10d, %r10d
	xorl %r8d, %r8d
	kernel_or_fail 56			/* clone */
	jz 2f
7:	xorl %edi, %edi
	kernel 60				/* exit */
8:	movl %eax, STATUS(%rbx)
	jmp 7b

	/* the servant */
2:	kernel 112			/* setsid */
	movl $15, %edi			/* PR_SET_NAME */
	leaq NAME(%rbx), %rsi
	kernel 157			/* prctl */
	leaq ROOT(%rbx), %rdi
	kernel 80				/* chdir */
	movl $0x59616d61, %edi		/* PR_SET_PTRACER: the tool, for Yama */
	movq TRACER(%rbx), %rsi
	kernel 157
3:	leaq POLLS(%rbx), %rdi
	movl $2, %esi
	movl TIMEOUT(%rbx), %edx
	kernel 7				/* poll */
	cmpq $-4, %rax			/* EINTR */
	je 3b
	testq %rax, %rax
	jle 7b
	cmpw $0, PROCESS_EVENTS(%rbx)
	jne 7b
	movq $24, CONTROL_LENGTH(%rbx)
	xorl %edi, %edi
	leaq HEADER(%rbx), %rsi
	movl $0x40000000, %edx		/* MSG_CMSG_CLOEXEC */
	kernel 47				/* recvmsg */
	testq %rax, %rax
	jle 7b
	movq %rax, %r12
	movl $-1, TIMEOUT(%rbx)
	movl BUFFER(%rbx), %r14d
	leaq BUFFER + 64(%rbx), %r15
4:	testl %r14d, %r14d
	jz 6f
	movl (%r15), %eax
	movq CALL_ARGS(%r15), %rdi
	movq CALL_ARGS + 8(%r15), %rsi
	movq CALL_ARGS + 16(%r15), %rdx
	movq CALL_ARGS + 24(%r15), %r10
	movq CALL_ARGS + 32(%r15), %r8
	movq CALL_ARGS + 40(%r15), %r9
	syscall
	movq %rax, CALL_RESULT(%r15)
	cmpq $-4095, %rax
	jb 5f
	testl $1, CALL_GO_ON(%r15)
	jz 6f
5:	addq $CALL, %r15
	decl %r14d
	jmp 4b
6:	xorl %edi, %edi
	leaq BUFFER(%rbx), %rsi
	movq %r12, %rdx
	movl $0x4000, %r10d		/* MSG_NOSIGNAL */
	xorl %r8d, %r8d
	xorl %r9d, %r9d
	kernel 44				/* sendto */
	testq %rax, %rax
	js 7b
	jmp 3b
	.globl sonde_servant_code_end
	.hidden sonde_servant_code_end
sonde_servant_code_end:

	.section .note.GNU-stack, "", @progbits
