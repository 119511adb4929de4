/* SPDX-License-Identifier: MIT */
/*
 * driven_x86_64.S - a debugger that holds the process steps threads in the
 * agent's place (step.h).
 *
 * int sonde_agent_ask(void): the debugger sees the int3 and does it. 0; 1: none
 * has seen it (signals.c).
 *
 * sonde_agent_called: where the debugger puts a thread after each step, with
 * struct sonde_agent_registers at rsi. It ends with an int3.
 */
	.text
	.globl sonde_agent_ask
	.hidden sonde_agent_ask
	.type sonde_agent_ask, @function
sonde_agent_ask:
	xorl %eax, %eax
	int3
	ret
	.size sonde_agent_ask, . - sonde_agent_ask

	.globl sonde_agent_called
	.hidden sonde_agent_called
	.type sonde_agent_called, @function
sonde_agent_called:
	movq sonde_agent_self(%rip), %rdi
	call sonde_agent_stepped
	int3
	.size sonde_agent_called, . - sonde_agent_called

	.section .note.GNU-stack, "", @progbits
