/* SPDX-License-Identifier: MIT */
/*
 * install.c - the agent: its image and its data put into a process, and the
 * signals' actions taken over.
 *
 * The image is one memory file: mapped here for writing until it is relocated,
 * there its first part read and execute, the rest read and write. It stays
 * when the tool goes.
 *
 * An action of the program's is written into the agent's data before ours
 * replaces it, so that a signal in between finds it there.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/port.h"
#include "probe/inject/agent_image.h"
#include "probe/inject/inject.h"
#include "probe/inject/process_parts.h"
#include "probe/inject/procfs.h"
#include "probe/inject/signal_masks.h"
#include "probe/inject/symbol.h"

#define KERNEL_SIGINFO   0x4ull
#define KERNEL_RESTORER  0x04000000ull
#define KERNEL_ONSTACK   0x08000000ull
#define KERNEL_RESTART   0x10000000ull
#define KERNEL_NODEFER   0x40000000ull
#define MASK_BYTES       8

#define HWCAP2_FSGSBASE_ 2u
#define PAGE_BYTES       4096u
#define TAKE_TRIES       8
#define SIGNALS          5 /* that are taken over */

/* ---- memory files ---- */

/* A memory file of `size` bytes of zeros, mapped here. */
static int make_shared(const char *name, size_t size,
		       struct sonde_shared_memory *ret)
{
	const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *here;
	int rc;

	if (fd < 0)
		return -errno;
	/* Nobody there can make it shorter under our hands. */
	if (ftruncate(fd, (off_t)size) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	here = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (here == MAP_FAILED) {
		rc = -errno;
		close(fd);
		return rc;
	}
	*ret = (struct sonde_shared_memory){ .fd = fd,
					     .here = here,
					     .size = size };
	return 0;
}

static void drop_shared(struct sonde_shared_memory *memory)
{
	if (memory->here)
		(void)munmap(memory->here, memory->size);
	if (memory->fd >= 0)
		close(memory->fd);
	*memory = (struct sonde_shared_memory){ .fd = -1 };
}

/* ---- the image ---- */

/* What it will be at `base`. The head was checked when it was built. */
static void relocate(unsigned char *image, const struct sonde_image_head *head,
		     uint64_t base)
{
	for (uint32_t at = head->rela;
	     at + sizeof(Elf64_Rela) <= head->rela_end;
	     at += (uint32_t)sizeof(Elf64_Rela)) {
		Elf64_Rela rela;
		uint64_t value;

		memcpy(&rela, image + at, sizeof(rela));
		value = base + (uint64_t)rela.r_addend;
		memcpy(image + rela.r_offset, &value, sizeof(value));
	}
}

/* Both parts, side by side: room is found with the whole, which the second
 * part then replaces in one step. */
static int map_parts(struct sonde_process *process, int fd,
		     const struct sonde_image_head *head, uint64_t *ret_base)
{
	struct sonde_remote_call calls[] = {
		{ .number = SYS_mmap,
		  .go_on = 1,
		  .args = { 0, head->end, PROT_READ | PROT_EXEC, MAP_SHARED,
			    SONDE_SERVANT_FD_PASSED, 0 } },
	};
	struct sonde_remote_call data[] = {
		{ .number = SYS_mmap,
		  .go_on = 1,
		  .args = { 0, head->end - head->data, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, SONDE_SERVANT_FD_PASSED,
			    head->data } },
		{ .number = SYS_close, .args = { SONDE_SERVANT_FD_PASSED } },
	};
	const struct sonde_process_batch first = { .calls = calls,
						   .nr = 1,
						   .fd = fd };
	int rc = sonde_process_run(process, &first);

	if (rc != 0)
		return rc;
	if (calls[0].result < 0)
		data[0].number = SYS_getpid;
	data[0].args[0] = (uint64_t)calls[0].result + head->data;
	rc = sonde_process_call(process, data, SONDE_ARRAY_SIZE(data));
	if (rc == 0 && calls[0].result < 0)
		rc = (int)calls[0].result;
	if (rc == 0 && data[0].result < 0)
		rc = (int)data[0].result;
	if (rc == 0)
		*ret_base = (uint64_t)calls[0].result;
	return rc;
}

static int put_image(struct sonde_process *process)
{
	struct sonde_shared_memory memory = { .fd = -1 };
	struct sonde_image_head head;
	uint64_t base = 0;
	int rc;

	memcpy(&head, sonde_agent_image, sizeof(head));
	if (head.magic != SONDE_IMAGE_MAGIC || head.data % PAGE_BYTES != 0 ||
	    head.end % PAGE_BYTES != 0 || sonde_agent_image_size > head.end)
		return -ENOEXEC;
	rc = make_shared("sonde-agent-image", head.end, &memory);
	if (rc != 0)
		return rc;
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): mapped */
	memcpy(memory.here, sonde_agent_image, sonde_agent_image_size);
	rc = map_parts(process, memory.fd, &head, &base);
	if (rc == 0) {
		relocate(memory.here, &head, base);
		memcpy(memory.here + head.self, &process->agent.there,
		       sizeof(process->agent.there));
		process->image = (struct sonde_agent_image){
			.hit = base + head.hit,
			.call = base + head.call,
			.trap = base + head.trap,
			.fault = base + head.fault,
			.step = base + head.step,
			.start = base,
			.end = base + head.end,
		};
		process->restorer = base + head.restorer;
		sonde_process_leave(process, base + head.retire,
				    process->agent.there);
	}
	drop_shared(&memory);
	return rc;
}

/* ---- what the agent has to know of the process ---- */

/* What debuggers and others are told of threads, by the C library. */
struct thread_symbols {
	uint64_t tid, rseq_size, rseq_offset; /* where it is; 0: unknown */
};

static void take_symbol(const struct sonde_process *process,
			const struct sonde_process_symbols *tables,
			const char *name, uint64_t *address)
{
	if (*address == 0)
		(void)sonde_process_symbols_find(process, tables, name,
						 address);
}

/* In any library that is mapped from its beginning. */
static void find_thread_symbols(const struct sonde_process *process,
				const struct sonde_maps *mappings,
				struct thread_symbols *ret)
{
	*ret = (struct thread_symbols){ 0 };
	for (size_t i = 0; i < mappings->nr; i++) {
		const struct sonde_mapping *m = &mappings->list[i];
		struct sonde_process_symbols tables;

		if (m->offset != 0 || !m->readable || m->path[0] != '/' ||
		    sonde_process_symbols_read(process, m->start, &tables) != 0)
			continue;
		take_symbol(process, &tables, "_thread_db_pthread_tid",
			    &ret->tid);
		take_symbol(process, &tables, "__rseq_size", &ret->rseq_size);
		take_symbol(process, &tables, "__rseq_offset",
			    &ret->rseq_offset);
	}
}

/* The C library tells debuggers where it keeps a thread's id: { bits, count,
 * offset }, u32 each, in struct pthread, which is at the thread pointer. */
static int64_t tid_offset(const struct sonde_process *process,
			  const struct thread_symbols *symbols)
{
	uint32_t field[3];

	if (symbols->tid == 0 ||
	    sonde_process_read(process, symbols->tid, field, sizeof(field)) !=
		    0 ||
	    field[0] != 32 || field[2] == 0 || field[2] > PAGE_BYTES)
		return 0;
	return (int64_t)field[2];
}

static int64_t rseq_offset(const struct sonde_process *process,
			   const struct thread_symbols *symbols)
{
	uint32_t size = 0;
	int64_t offset = 0;

	if (sysconf(_SC_NPROCESSORS_CONF) >= (long)SONDE_AGENT_CPUS_MAX ||
	    symbols->rseq_size == 0 || symbols->rseq_offset == 0 ||
	    sonde_process_read(process, symbols->rseq_size, &size,
			       sizeof(size)) != 0 ||
	    size == 0 /* it isn't registered */ ||
	    sonde_process_read(process, symbols->rseq_offset, &offset,
			       sizeof(offset)) != 0)
		return 0;
	return offset;
}

/* A page that the kernel clears in children of fork() (agent.h: is_parent). */
static int put_mark(struct sonde_process *process)
{
	const uint32_t yes = 1;
	struct sonde_remote_call map = {
		.number = SYS_mmap,
		.args = { 0, PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0 },
	};
	struct sonde_remote_call wipe = {
		.number = SYS_madvise,
		.args = { 0, PAGE_BYTES, MADV_WIPEONFORK },
	};
	int rc = sonde_process_call(process, &map, 1);

	if (rc == 0 && map.result < 0)
		rc = (int)map.result;
	if (rc != 0)
		return rc;
	wipe.args[0] = (uint64_t)map.result;
	rc = sonde_process_call(process, &wipe, 1);
	if (rc == 0)
		rc = (int)wipe.result;
	if (rc == 0)
		rc = sonde_process_write(process, (uint64_t)map.result, &yes,
					 sizeof(yes));
	if (rc == 0)
		sonde_process_agent(process)->is_parent = (uint64_t)map.result;
	return rc;
}

static int put_data(struct sonde_process *process)
{
	struct thread_symbols symbols;
	struct sonde_maps mappings;
	struct sonde_agent *agent;
	int rc = sonde_process_mappings(process->pid, &mappings);

	if (rc != 0)
		return rc;
	rc = make_shared("sonde-agent", sizeof(*agent), &process->agent);
	if (rc == 0)
		rc = sonde_process_map(process, process->agent.fd, 0,
				       process->agent.size,
				       PROT_READ | PROT_WRITE, 0,
				       &process->agent.there);
	if (rc == 0) {
		agent = sonde_process_agent(process);
		agent->magic = SONDE_AGENT_MAGIC;
		agent->pid = (uint32_t)process->pid;
		find_thread_symbols(process, &mappings, &symbols);
		agent->tid_offset = tid_offset(process, &symbols);
		agent->rseq_offset = rseq_offset(process, &symbols);
		agent->has_fsgsbase =
			(sonde_procfs_auxiliary(process->pid, AT_HWCAP2) &
			 HWCAP2_FSGSBASE_) != 0;
	} else {
		drop_shared(&process->agent);
	}
	sonde_maps_free(&mappings);
	return rc;
}

/* ---- signals ---- */

struct taken {
	int number;
	uint64_t handler;
	struct sonde_agent_action *old;
};

/* What rt_sigaction() reads and writes, behind the calls. */
struct actions {
	struct sonde_agent_action ours, old;
};

/* By signal: calls, and behind them what they read and write. */
struct taking {
	struct sonde_remote_call calls[SIGNALS];
	struct actions actions[SIGNALS];
};

static int install_ask(struct sonde_process *process, struct taking *taking)
{
	const struct sonde_process_batch batch = {
		.calls = taking->calls,
		.nr = SIGNALS,
		.extra = taking->actions,
		.extra_size = sizeof(taking->actions),
		.fd = -1,
	};
	int rc = sonde_process_run(process, &batch);

	for (size_t i = 0; i < SIGNALS && rc == 0; i++)
		rc = (int)taking->calls[i].result;
	return rc;
}

/* Notes the program's action and prepares the call that replaces it. */
static void replace(const struct sonde_process *process,
		    const struct taken *taken, struct taking *taking, size_t i)
{
	const struct sonde_agent_action *old = &taking->actions[i].old;

	taken->old->mask = old->mask;
	taken->old->flags = old->flags;
	taken->old->restorer = old->restorer;
	sonde_store_relaxed(&taken->old->handler, old->handler);
	taking->actions[i].ours = (struct sonde_agent_action){
		.handler = taken->handler,
		.flags = KERNEL_SIGINFO | KERNEL_RESTORER | KERNEL_ONSTACK |
			 KERNEL_NODEFER |
			 (old->handler > 1 ? old->flags & KERNEL_RESTART :
					     KERNEL_RESTART),
		.restorer = process->restorer,
	};
	taking->calls[i].args[1] = sonde_process_extra_at(process, SIGNALS) +
				   i * sizeof(struct actions) +
				   offsetof(struct actions, ours);
}

/*
 * Asks for the actions; those that aren't ours are noted and taken over. The
 * call that does so tells what it replaced: if that was yet another, again.
 */
static int take(struct sonde_process *process, const struct taken *taken)
{
	const uint64_t at = sonde_process_extra_at(process, SIGNALS);
	struct taking taking = { 0 };

	for (size_t i = 0; i < SIGNALS; i++) {
		taking.calls[i].number = SYS_rt_sigaction;
		taking.calls[i].args[0] = (uint64_t)taken[i].number;
		taking.calls[i].args[2] = at + i * sizeof(struct actions) +
					  offsetof(struct actions, old);
		taking.calls[i].args[3] = MASK_BYTES;
	}
	for (int tries = 0; tries < TAKE_TRIES; tries++) {
		bool all = true;
		const int rc = install_ask(process, &taking);

		if (rc != 0)
			return rc;
		for (size_t i = 0; i < SIGNALS; i++) {
			if (taking.actions[i].old.handler == taken[i].handler)
				continue;
			replace(process, &taken[i], &taking, i);
			all = false;
		}
		if (all)
			return 0;
	}
	return -EAGAIN;
}

int sonde_process_keep_signals(struct sonde_process *process)
{
	struct sonde_agent *agent = sonde_process_agent(process);
	const struct sonde_agent_image *image = &process->image;
	const struct taken taken[SIGNALS] = {
		{ SIGTRAP, image->trap, agent ? &agent->old_trap : NULL },
		{ SIGSEGV, image->fault, agent ? &agent->old_segv : NULL },
		{ SIGBUS, image->fault, agent ? &agent->old_bus : NULL },
		{ SIGFPE, image->fault, agent ? &agent->old_fpe : NULL },
		{ SIGILL, image->fault, agent ? &agent->old_ill : NULL },
	};

	return agent ? take(process, taken) : -EINVAL;
}

/* ---- all ---- */

int sonde_process_register_barriers(struct sonde_process *process)
{
	struct sonde_remote_call call = {
		.number = SYS_membarrier,
		.args = { MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE },
	};
	const int rc = sonde_process_call(process, &call, 1);

	return rc != 0 ? rc : (int)call.result;
}

int sonde_process_install(struct sonde_process *process,
			  struct sonde_process_error *error)
{
	int rc;

	if (process->image.start != 0)
		return 0;
	rc = sonde_process_register_barriers(process);
	if (rc == 0)
		rc = put_data(process);
	if (rc == 0)
		rc = put_mark(process);
	if (rc == 0)
		rc = put_image(process);
	if (rc == 0)
		rc = sonde_process_keep_signals(process);
	if (rc == 0)
		(void)sonde_signal_masks_open(process); /* patch.c asks again */
	if (rc != 0)
		sonde_process_error_set(
			error, "process %d: the agent can't be put in: %s",
			(int)process->pid, strerrordesc_np(-rc));
	return rc;
}

const struct sonde_agent_image *
sonde_process_image(const struct sonde_process *process)
{
	return &process->image;
}

struct sonde_agent *sonde_process_agent(const struct sonde_process *process)
{
	return (struct sonde_agent *)(void *)process->agent.here;
}

uint64_t sonde_process_agent_address(const struct sonde_process *process)
{
	return process->agent.there;
}

uint64_t sonde_process_agent_inode(const struct sonde_process *process)
{
	struct stat st;

	return fstat(process->agent.fd, &st) == 0 ? st.st_ino : 0;
}
