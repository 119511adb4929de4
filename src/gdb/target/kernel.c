/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - see kernel.h. What has no process answers as a recorded trace does
 * (trace.c), which is asked for all that isn't the kernel's own: memory, and
 * the words by which breakpoints and steps are refused.
 */
#include "gdb/target/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/port.h"
#include "gdb/target/trace.h"
#include "sys/kallsyms.h"
#include "sys/kcore.h"

static const char use_trace[] =
	"The kernel is never stopped: use trace, actions and tstart in place "
	"of breakpoints and steps.\n";

struct sonde_gdb_kernel {
	struct sonde_gdb_trace *rest;
	struct sonde_gdb_server *server; /* NULL: not yet */
	int memory;                      /* -1: none */
};

/* m address,length */
static void kernel_answer_memory(struct sonde_gdb_kernel *kernel,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	uint8_t bytes[SONDE_GDB_PACKET_MAX / 2];
	uint64_t address;
	uint64_t length;
	size_t nr = 0;

	if (!sonde_hex_take_number(&rest, &address) ||
	    !sonde_hex_take(&rest, ',') ||
	    !sonde_hex_take_number(&rest, &length) || *rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (length > sizeof(bytes))
		length = sizeof(bytes);
	if (kernel->memory >= 0)
		nr = sonde_kcore_read(kernel->memory, address, bytes, length);
	if (nr == 0 && length > 0)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_hex(reply, bytes, nr);
}

/* c, s, C, S: GDB is told why not, and that it has stopped. */
static void kernel_answer_resume(struct sonde_gdb_kernel *kernel,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	(void)rest;
	sonde_gdb_reply_text(reply, "O");
	sonde_gdb_reply_hex(reply, use_trace, sizeof(use_trace) - 1);
	if (kernel->server)
		sonde_gdb_server_send(kernel->server, reply);
	sonde_gdb_reply_clear(reply);
	sonde_gdb_reply_text(reply, "T00thread:1;");
}

/* GDB keeps what a refused breakpoint's answer says to itself. */
static void kernel_answer_break(struct sonde_gdb_kernel *kernel,
				const char *rest, struct sonde_gdb_reply *reply)
{
	(void)kernel;
	(void)rest;
	(void)fprintf(stderr, "sonde: %s", use_trace);
	sonde_gdb_reply_refuse(reply, "the kernel is never stopped");
}

static void kernel_answer_write(struct sonde_gdb_kernel *kernel,
				const char *rest, struct sonde_gdb_reply *reply)
{
	(void)kernel;
	(void)rest;
	sonde_gdb_reply_refuse(reply, "the kernel is not written to");
}

static const struct {
	char letter;
	void (*answer)(struct sonde_gdb_kernel *kernel, const char *rest,
		       struct sonde_gdb_reply *reply);
} own_answers[] = {
	{ 'm', kernel_answer_memory }, { 'M', kernel_answer_write },
	{ 'G', kernel_answer_write },  { 'P', kernel_answer_write },
	{ 'Z', kernel_answer_break },  { 'c', kernel_answer_resume },
	{ 's', kernel_answer_resume }, { 'C', kernel_answer_resume },
	{ 'S', kernel_answer_resume },
};

static bool kernel_packet(void *target, const char *packet, size_t length,
			  struct sonde_gdb_reply *reply)
{
	struct sonde_gdb_kernel *kernel = target;

	if (strlen(packet) != length)
		return true;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(own_answers); i++) {
		if (packet[0] != own_answers[i].letter)
			continue;
		own_answers[i].answer(kernel, packet + 1, reply);
		return true;
	}
	return sonde_gdb_trace_ops.packet(kernel->rest, packet, length, reply);
}

static void kernel_do_nothing(void *target)
{
	(void)target;
}

static int kernel_fd(void *target)
{
	(void)target;
	return -1;
}

static void kernel_features(void *target, struct sonde_gdb_reply *reply)
{
	(void)target;
	(void)reply;
}

static int kernel_read(void *target, uint64_t address, uint8_t *to, size_t size)
{
	const struct sonde_gdb_kernel *kernel = target;

	return kernel->memory >= 0 && sonde_kcore_read(kernel->memory, address,
						       to, size) == size ?
		       0 :
		       -EIO;
}

static pid_t kernel_pid(void *target)
{
	(void)target;
	return 0;
}

static void kernel_free(void *target)
{
	struct sonde_gdb_kernel *kernel = target;

	if (!kernel)
		return;
	sonde_gdb_trace_ops.free(kernel->rest);
	if (kernel->memory >= 0)
		(void)close(kernel->memory);
	free(kernel);
}

const struct sonde_gdb_target_ops sonde_gdb_kernel_ops = {
	.packet = kernel_packet,
	.interrupt = kernel_do_nothing,
	.fd = kernel_fd,
	.ready = kernel_do_nothing,
	.features = kernel_features,
	.read = kernel_read,
	.pid = kernel_pid,
	.disconnected = kernel_do_nothing,
	.free = kernel_free,
};

/* ---- the beginning ---- */

static bool see_text(void *ctx, const struct sonde_kallsym *symbol)
{
	uint64_t *address = ctx;

	if (strcmp(symbol->name, "_text") != 0 || symbol->module)
		return true;
	*address = symbol->address;
	return false;
}

int sonde_gdb_kernel_text(uint64_t *ret_address, char *error, size_t error_size)
{
	int rc;

	*ret_address = 0;
	rc = sonde_kallsyms_each(see_text, ret_address);
	if (!rc && *ret_address)
		return 0;
	(void)snprintf(error, error_size, "%s",
		       rc ? "this kernel has no /proc/kallsyms "
			    "(CONFIG_KALLSYMS): where its symbols are can't "
			    "be told" :
			    "the kernel doesn't tell this user where it is "
			    "(/proc/kallsyms): become root");
	return rc ? rc : -EPERM;
}

static void say_no_memory(int rc, char *error, size_t error_size)
{
	(void)snprintf(error, error_size,
		       "the kernel's memory can't be read: %s",
		       rc == -ENOENT ?
			       "it has no /proc/kcore (CONFIG_PROC_KCORE)" :
		       rc == -EPERM || rc == -EACCES ?
			       "/proc/kcore is closed to this user, or to all "
			       "(/sys/kernel/security/lockdown)" :
			       strerrordesc_np(-rc));
}

int sonde_gdb_kernel_new(char *error, size_t error_size,
			 struct sonde_gdb_kernel **ret_kernel)
{
	struct sonde_gdb_kernel *kernel = calloc(1, sizeof(*kernel));
	uint64_t text;
	int rc;

	(void)snprintf(error, error_size, "out of memory");
	if (!kernel)
		return -ENOMEM;
	kernel->memory = -1;
	rc = sonde_gdb_kernel_text(&text, error, error_size);
	if (!rc)
		rc = sonde_gdb_trace_new(NULL, &kernel->rest);
	if (rc) {
		kernel_free(kernel);
		return rc;
	}
	error[0] = '\0';
	rc = sonde_kcore_open(SONDE_KCORE_PATH);
	if (rc < 0)
		say_no_memory(rc, error, error_size);
	else
		kernel->memory = rc;
	*ret_kernel = kernel;
	return 0;
}

void sonde_gdb_kernel_serve(struct sonde_gdb_kernel *kernel,
			    struct sonde_gdb_server *server)
{
	kernel->server = server;
	sonde_gdb_trace_serve(kernel->rest, server);
}
