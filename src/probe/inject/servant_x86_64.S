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
 * the end of the one system call, to put back what user space can't: that a
 * system call was interrupted. But if he dies at any time, the thread gets
 * through alone.
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
	.set ROOT, 144
	.set TRACER, 152
	.set WILL, 160
	.set WILL_DATA, 168
	.set TOKEN, 176
	.set GO, 184
	.set READY, 188
	.set DATA_AT, 0x1000
	.set SIZE, 0x10000
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

	/* The thread's way back; flags stay as they are. `data` is behind the
	 * code. */
	.macro way_back data
	movl $2, %edi			/* SIG_SETMASK */
	leaq \data(%rip), %rsi
	movl $0, %edx
	movl $8, %r10d
	kernel 14			/* rt_sigprocmask */
	movq \data + 8(%rip), %rdi
	movq \data + 16(%rip), %rsi
	movq \data + 24(%rip), %rdx
	movq \data + 32(%rip), %r10
	movq \data + 40(%rip), %r8
	movq \data + 48(%rip), %r9
	movq \data + 56(%rip), %rax
	movq \data + 64(%rip), %rcx
	movq \data + 72(%rip), %r11
	jmp *\data + 80(%rip)
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
	way_back .Lstub_data
	.balign 8
	.globl sonde_stub_code_end
	.hidden sonde_stub_code_end
sonde_stub_code_end:
.Lstub_data:

/*
 * Likewise: a clone, and what the new process does until it has memory of its
 * own. It maps that where it is told, unless something is there by now, and says
 * so by the token; then the tool fills it, and lets it go on.
 */
	.balign 16
	.globl sonde_birth_code
	.hidden sonde_birth_code
sonde_birth_code:
	syscall				/* clone */
	movq %rax, %rcx
	jrcxz 1f
	.globl sonde_birth_back
	.hidden sonde_birth_back
sonde_birth_back:
	way_back .Lbirth_data
1:	movl $15, %edi			/* PR_SET_NAME */
	leaq .Lbirth_data + 104(%rip), %rsi
	kernel 157			/* prctl */
	movq .Lbirth_data + 88(%rip), %rdi
	movl $SIZE, %esi
	movl $3, %edx			/* PROT_READ | PROT_WRITE */
	movl $0x100022, %r10d		/* PRIVATE | ANONYMOUS | FIXED_NOREPLACE */
	movq $-1, %r8
	xorl %r9d, %r9d
	kernel 9			/* mmap */
	cmpq %rdi, %rax
	jne 4f
	movq %rax, %rbx
	movq .Lbirth_data + 96(%rip), %rax
	movq %rax, DATA_AT + TOKEN(%rbx)
	movl $5000, %ebp		/* SONDE_SERVANT_PATIENCE_MS */
2:	cmpl $0, DATA_AT + GO(%rbx)
	jne 3f
	xorl %edi, %edi
	xorl %esi, %esi
	movl $1, %edx
	kernel 7			/* poll: a millisecond */
	decl %ebp
	jnz 2b
	jmp 4f
3:	movq %rbx, %rdi
	movl $DATA_AT, %esi
	movl $5, %edx			/* PROT_READ | PROT_EXEC */
	cmpl $1, DATA_AT + GO(%rbx)
	jne 4f
	kernel 10			/* mprotect */
	testq %rax, %rax
	jnz 4f
	jmp *%rbx
4:	xorl %edi, %edi
	kernel 60			/* exit */
	.balign 8
	.globl sonde_birth_code_end
	.hidden sonde_birth_code_end
sonde_birth_code_end:
.Lbirth_data:

	.balign 16
	.globl sonde_servant_code
	.hidden sonde_servant_code
sonde_servant_code:
.Lstart:
	leaq .Lstart + DATA_AT(%rip), %rbx
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
	kernel 186			/* gettid */
	movl %eax, TID(%rbx)
	kernel 112			/* setsid */
	leaq ROOT(%rbx), %rdi
	kernel 80				/* chdir */
	movl $0x59616d61, %edi		/* PR_SET_PTRACER: the tool, for Yama */
	movq TRACER(%rbx), %rsi
	kernel 157
	movl $1, READY(%rbx)
3:	leaq POLLS(%rbx), %rdi
	movl $2, %esi
	movl TIMEOUT(%rbx), %edx
	kernel 7				/* poll */
	cmpq $-4, %rax			/* EINTR */
	je 3b
	testq %rax, %rax
	jle 7f				/* nobody has come */
	cmpw $0, PROCESS_EVENTS(%rbx)
	jne 7f
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
	jz 7f
	leaq STACK_TOP(%rbx), %rsp
	movq WILL_DATA(%rbx), %rdi
	movl $3, %esi			/* SONDE_SERVANT_FD_MEMORY */
	call *%rax
	jmp 7f
8:	movl %eax, STATUS(%rbx)
7:	xorl %edi, %edi
	kernel 60				/* exit */
	.globl sonde_servant_code_end
	.hidden sonde_servant_code_end
sonde_servant_code_end:

	.section .note.GNU-stack, "", @progbits
