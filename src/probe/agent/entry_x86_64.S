/* SPDX-License-Identifier: MIT */
/*
 * entry_x86_64.S - where the image's handlers return to, and the one word that
 * says where its data are.
 */
	.text
	.globl sonde_agent_return
	.hidden sonde_agent_return
	.type sonde_agent_return, @function
	.balign 16
	nop				/* unwinders look one byte back */
sonde_agent_return:
	movl $15, %eax			/* rt_sigreturn */
	syscall
	.size sonde_agent_return, . - sonde_agent_return

	.data
	.globl sonde_agent_self
	.hidden sonde_agent_self
	.type sonde_agent_self, @object
	.balign 8
sonde_agent_self:
	.quad 0
	.size sonde_agent_self, 8

	.section .note.GNU-stack, "", @progbits
