/* SPDX-License-Identifier: MIT */
/*
 * servant_x86_64.S - what a borrowed thread and a servant run (servant.h),
 * copied into the process.
 *
 * Position independent; the servant's data are at the page behind its code. No
 * stack is used, so no signal must be delivered: all are blocked. Nothing must
 * fault either: a forced signal would reset the process's action.
 *
 * What the borrowed thread runs completes itself: it ends in the thread's mask,
 * its registers, and where it was. Who leads it there takes it away before, at
 * the end of the last system call (..._done), to put back what user space can't:
 * that a system call was interrupted. But if he dies at any time, the thread
 * gets through alone.
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
	.set WILL, 176
	.set WILL_DATA, 184
	.set HOW, 192
	.set MASK, 200
	.set REGISTERS, 208		/* struct user_regs_struct */
	.set R15, REGISTERS
	.set R14, REGISTERS + 8
	.set R13, REGISTERS + 16
	.set R12, REGISTERS + 24
	.set RBP, REGISTERS + 32
	.set RBX, REGISTERS + 40
	.set R11, REGISTERS + 48
	.set R10, REGISTERS + 56
	.set R9, REGISTERS + 64
	.set R8, REGISTERS + 72
	.set RAX, REGISTERS + 80
	.set RCX, REGISTERS + 88
	.set RDX, REGISTERS + 96
	.set RSI, REGISTERS + 104
	.set RDI, REGISTERS + 112
	.set RIP, REGISTERS + 128
	.set FLAGS, REGISTERS + 144
	.set RSP, REGISTERS + 152
	.set DATA_AT, 0x1000
	.set DATA_SIZE, 0x10000 - DATA_AT
	.set BUFFER, 0x3000 - DATA_AT
	.set STACK_TOP, 0x4000 - DATA_AT

	.set CALL, 64
	.set CALL_GO_ON, 4
	.set CALL_ALWAYS, 6
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
/*
 * In unused bytes of a mapping: one system call, whose registers are set. Its
 * data, which are written behind it, say the mask and what the two calls change.
 */
	.balign 16
	.globl sonde_stub_code
	.hidden sonde_stub_code
sonde_stub_code:
	syscall
	movl $2, %edi			/* SIG_SETMASK */
	leaq .Lstub_data(%rip), %rsi
	movl $0, %edx			/* flags are the thread's */
	movl $8, %r10d
	kernel 14			/* rt_sigprocmask */
	.globl sonde_stub_done
	.hidden sonde_stub_done
sonde_stub_done:
	movq .Lstub_data + 8(%rip), %rdi
	movq .Lstub_data + 16(%rip), %rsi
	movq .Lstub_data + 24(%rip), %rdx
	movq .Lstub_data + 32(%rip), %r10
	movq .Lstub_data + 40(%rip), %r8
	movq .Lstub_data + 48(%rip), %r9
	movq .Lstub_data + 56(%rip), %rax
	movq .Lstub_data + 64(%rip), %rcx
	movq .Lstub_data + 72(%rip), %r11
	jmp *.Lstub_data + 80(%rip)
	.balign 8
	.globl sonde_stub_code_end
	.hidden sonde_stub_code_end
sonde_stub_code_end:
.Lstub_data:

	.balign 16
	.globl sonde_servant_code
	.hidden sonde_servant_code
sonde_servant_code:
.Lstart:
	/* the borrowed thread; only the code can be relied on */
	leaq .Lstart + DATA_AT(%rip), %rbx
	movq %rbx, %rdi
	movl $DATA_SIZE, %esi
	movl $3, %edx			/* PROT_READ | PROT_WRITE */
	kernel 10			/* mprotect */
	testq %rax, %rax
	jnz .Lrelease			/* no TID: nothing was made */
	movl $0x800d00, %edi		/* CLONE_UNTRACED | SIGHAND | FILES | VM */
	leaq BUFFER(%rbx), %rsi
	xorl %edx, %edx
	xorl %r10d, %r10d
	xorl %r8d, %r8d
	kernel 56			/* clone */
	testq %rax, %rax
	jz 1f
	js 9f
	movq %rax, %rbp
0:	movq %rbp, %rdi
	xorl %esi, %esi
	movl $0x40000000, %edx		/* __WALL */
	xorl %r10d, %r10d
	kernel 61			/* wait4 */
	cmpq $-4, %rax			/* EINTR */
	je 0b
	jmp .Lrelease
9:	movl %eax, STATUS(%rbx)

.Lrelease:
	leaq FLAGS(%rbx), %rsp
	popfq
	movq RSP(%rbx), %rsp
	movl HOW(%rbx), %edi
	leaq MASK(%rbx), %rsi
	movl $0, %edx
	movl $8, %r10d
	kernel 14			/* rt_sigprocmask */
	.globl sonde_servant_done
	.hidden sonde_servant_done
sonde_servant_done:
	movq R15(%rbx), %r15
	movq R14(%rbx), %r14
	movq R13(%rbx), %r13
	movq R12(%rbx), %r12
	movq RBP(%rbx), %rbp
	movq R11(%rbx), %r11
	movq R10(%rbx), %r10
	movq R9(%rbx), %r9
	movq R8(%rbx), %r8
	movq RAX(%rbx), %rax
	movq RCX(%rbx), %rcx
	movq RDX(%rbx), %rdx
	movq RSI(%rbx), %rsi
	movq RDI(%rbx), %rdi
	movq RBX(%rbx), %rbx
	jmp *.Lstart + DATA_AT + RIP(%rip)

	/* the intermediate process */
1:
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
	/* CLONE_UNTRACED | PARENT_SETTID | PARENT | SIGHAND | FILES | VM */
	movl $0x908d00, %edi
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
	jle 7b				/* nobody has come */
	cmpw $0, PROCESS_EVENTS(%rbx)
	jne 7b
	movq $24, CONTROL_LENGTH(%rbx)
	xorl %edi, %edi
	leaq HEADER(%rbx), %rsi
	movl $0x40000000, %edx		/* MSG_CMSG_CLOEXEC */
	kernel 47				/* recvmsg */
	testq %rax, %rax
	jle 5f
	movq %rax, %r12
	movl $-1, TIMEOUT(%rbx)
	movl BUFFER(%rbx), %r14d
	leaq BUFFER + 64(%rbx), %r15
	xorl %r13d, %r13d		/* whether one has failed */
4:	testl %r14d, %r14d
	jz 6f
	testl %r13d, %r13d
	jz 9f
	testw $1, CALL_ALWAYS(%r15)
	jz 0f
9:	movl (%r15), %eax
	movq CALL_ARGS(%r15), %rdi
	movq CALL_ARGS + 8(%r15), %rsi
	movq CALL_ARGS + 16(%r15), %rdx
	movq CALL_ARGS + 24(%r15), %r10
	movq CALL_ARGS + 32(%r15), %r8
	movq CALL_ARGS + 40(%r15), %r9
	syscall
	movq %rax, CALL_RESULT(%r15)
	cmpq $-4095, %rax
	jb 0f
	testw $1, CALL_GO_ON(%r15)
	jnz 0f
	movl $1, %r13d
0:	addq $CALL, %r15
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
	jns 3b
	/* the tool has gone, and may have left a will */
5:	movq WILL(%rbx), %rax
	testq %rax, %rax
	jz 7b
	leaq STACK_TOP(%rbx), %rsp
	movq WILL_DATA(%rbx), %rdi
	movl $3, %esi			/* SONDE_SERVANT_FD_MEMORY */
	call *%rax
	jmp 7b
	.globl sonde_servant_code_end
	.hidden sonde_servant_code_end
sonde_servant_code_end:

	.section .note.GNU-stack, "", @progbits
