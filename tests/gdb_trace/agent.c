/* SPDX-License-Identifier: MIT */
/*
 * agent.c - the library that GDB's tests link programs with that get fast
 * tracepoints: in-process agents of other servers have to be there beforehand.
 * Ours doesn't, so it holds nothing but the one symbol that a test prints.
 */
extern char *gdb_agent_gdb_trampoline_buffer_error;

char *gdb_agent_gdb_trampoline_buffer_error;
