/* SPDX-License-Identifier: MIT */
/*
 * patch.c - the protocol of patch.h, by messages to the servant, which writes
 * through /proc/PID/mem and has the barriers run.
 *
 * A message does all phases of a group of patches unless threads must be waited
 * for between the first and the second. What is there is checked before, and
 * again afterwards.
 *
 * Where pages must be made writable, each message begins with calls that do so,
 * and ends with those that undo it, which are made in any case.
 *
 *	put in		phase 1: int3 at each instruction's start
 *	take out,	phase 1: int3 at the first byte only: the others are
 *	replace		the jump's displacement, and nobody is there
 */
#include "probe/inject/patch.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "probe/inject/grace_period.h"
#include "probe/inject/process_parts.h"
#include "probe/inject/signal_masks.h"

#define INT3            0xcc
#define GROUP           64u /* patches */
#define CALLS_PER_PATCH (SONDE_WINDOW_INSNS + 2u + 2u /* open, close */)
#define PAGE_BYTES      4096u
#define BARRIERS        3u
#define GROUP_CALLS     (GROUP * CALLS_PER_PATCH + BARRIERS)
#define QUIET_MS        1000

enum phase {
	TRAPS = 0, /* int3s */
	OTHERS,    /* all but the first byte */
	FIRST,
	NR_PHASES,
};

/* What the calls write, in the message behind them. */
struct bytes {
	uint8_t int3[8];
	uint8_t after[GROUP][SONDE_WINDOW_BYTES];
};

struct group {
	struct sonde_process *process;
	const struct sonde_maps *mappings; /* if text must be opened */
	struct sonde_patch *patches;
	size_t nr;
	bool opens[GROUP]; /* for each message */
	struct sonde_remote_call calls[GROUP_CALLS];
	size_t nr_calls;
	struct bytes bytes;
};

static uint64_t first_of(const struct sonde_patch *patch)
{
	return patch->window->address;
}

static bool puts_in(const struct sonde_patch *patch)
{
	return memcmp(patch->before, patch->window->bytes,
		      patch->window->nr_bytes) == 0;
}

/* ---- text that is read-only ---- */

/* 0: as it is; 1: its pages must be opened; -EACCES: a file would be changed. */
static int must_open(const struct group *group, const struct sonde_patch *patch)
{
	const uint64_t start = first_of(patch);
	const uint64_t end = start + patch->window->nr_bytes;

	if (!group->mappings)
		return 0;
	for (size_t i = 0; i < group->mappings->nr; i++) {
		const struct sonde_mapping *m = &group->mappings->list[i];

		if (start < m->start || end > m->end)
			continue;
		if (m->writable)
			return 0;
		return m->shared || !m->readable ? -EACCES : 1;
	}
	return -EFAULT;
}

static void add_protect(struct group *group, int protection)
{
	for (size_t i = 0; i < group->nr; i++) {
		const struct sonde_patch *patch = &group->patches[i];
		const uint64_t start =
			first_of(patch) & ~(uint64_t)(PAGE_BYTES - 1);
		const uint64_t end = first_of(patch) + patch->window->nr_bytes;

		if (!group->opens[i])
			continue;
		group->calls[group->nr_calls++] = (struct sonde_remote_call){
			.number = SYS_mprotect,
			.always = (protection & PROT_WRITE) == 0,
			.args = { start, end - start, (uint64_t)protection },
		};
	}
}

static void begin(struct group *group)
{
	group->nr_calls = 0;
	add_protect(group, PROT_READ | PROT_WRITE | PROT_EXEC);
}

/* ---- what a phase writes ---- */

static void add_write(struct group *group, uint64_t bytes_at, size_t size,
		      uint64_t address)
{
	group->calls[group->nr_calls++] = (struct sonde_remote_call){
		.number = SYS_pwrite64,
		/* bytes_at: an offset yet, see run() */
		.args = { SONDE_SERVANT_FD_MEMORY, bytes_at, size, address },
	};
}

static void add_barrier(struct group *group)
{
	group->calls[group->nr_calls++] = (struct sonde_remote_call){
		.number = SYS_membarrier,
		.args = { MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE },
	};
}

static void add_traps(struct group *group, const struct sonde_patch *patch)
{
	const struct sonde_window *window = patch->window;
	const unsigned int nr = puts_in(patch) ? window->nr_insns : 1;

	for (unsigned int i = 0; i < nr; i++)
		if (patch->before[window->starts[i]] != INT3)
			add_write(group, offsetof(struct bytes, int3), 1,
				  window->address + window->starts[i]);
}

static void add_patch(struct group *group, size_t i, enum phase phase)
{
	const struct sonde_patch *patch = &group->patches[i];
	const size_t nr = patch->window->nr_bytes;
	const uint64_t at = offsetof(struct bytes, after) +
			    i * sizeof(group->bytes.after[0]);
	const bool others =
		memcmp(patch->before + 1, patch->after + 1, nr - 1) != 0;

	if (patch->rc != 0 || (!others && phase == OTHERS))
		return;
	/* An int3 in place of one instruction, or the other way round. */
	if (!others && patch->window->nr_insns == 1 && phase == TRAPS)
		return;
	if (phase == TRAPS)
		add_traps(group, patch);
	else if (phase == OTHERS)
		add_write(group, at + 1, nr - 1, first_of(patch) + 1);
	else
		add_write(group, at, 1, first_of(patch));
}

static void add_phase(struct group *group, enum phase phase)
{
	const size_t before = group->nr_calls;

	for (size_t i = 0; i < group->nr; i++)
		add_patch(group, i, phase);
	if (group->nr_calls != before)
		add_barrier(group);
}

/* Has the servant make the calls, and begins anew. */
static int run(struct group *group)
{
	struct sonde_process_batch batch = {
		.calls = group->calls,
		.extra = &group->bytes,
		.extra_size = sizeof(group->bytes),
		.fd = -1,
	};
	uint64_t at;
	int rc = 0;

	add_protect(group, PROT_READ | PROT_EXEC);
	batch.nr = group->nr_calls;
	at = sonde_process_extra_at(group->process, group->nr_calls);
	for (size_t i = 0; i < group->nr_calls; i++)
		if (group->calls[i].number == SYS_pwrite64)
			group->calls[i].args[1] += at;
	if (group->nr_calls != 0)
		rc = sonde_process_run(group->process, &batch);
	for (size_t i = 0; i < group->nr_calls && rc == 0; i++)
		if (group->calls[i].result < 0)
			rc = (int)group->calls[i].result;
	begin(group);
	return rc;
}

/* ---- checks ---- */

/* Is what is there what should be? */
static int check(const struct group *group, const struct sonde_patch *patch,
		 const uint8_t *wanted)
{
	uint8_t there[SONDE_WINDOW_BYTES];
	const size_t nr = patch->window->nr_bytes;

	if (nr == 0 || nr > sizeof(there))
		return -EINVAL;
	if (sonde_process_read(group->process, first_of(patch), there, nr) != 0)
		return -EIO;
	return memcmp(there, wanted, nr) == 0 ? 0 : -ESTALE;
}

static void prepare(struct group *group)
{
	const int masks_rc = sonde_signal_masks_open(group->process);

	memset(group->opens, 0, sizeof(group->opens));
	memset(&group->bytes, 0, sizeof(group->bytes));
	memset(group->bytes.int3, INT3, sizeof(group->bytes.int3));
	for (size_t i = 0; i < group->nr; i++) {
		struct sonde_patch *patch = &group->patches[i];

		patch->rc = masks_rc;
		if (patch->rc == 0)
			patch->rc = check(group, patch, patch->before);
		if (patch->rc != 0)
			continue;
		memcpy(group->bytes.after[i], patch->after,
		       patch->window->nr_bytes);
		patch->rc = must_open(group, patch);
		group->opens[i] = patch->rc > 0;
		if (patch->rc > 0)
			patch->rc = 0;
	}
	begin(group);
}

/* ---- FREE windows ---- */

static bool must_wait(const struct sonde_patch *patch)
{
	return patch->rc == 0 && patch->window->kind == SONDE_WINDOW_FREE &&
	       puts_in(patch);
}

/* Takes the int3s away again. */
static void patch_take_back(struct group *group, size_t i)
{
	const struct sonde_patch *patch = &group->patches[i];
	const struct sonde_window *window = patch->window;

	memcpy(group->bytes.after[i], patch->before, window->nr_bytes);
	for (unsigned int k = 0; k < window->nr_insns; k++)
		add_write(group,
			  offsetof(struct bytes, after) +
				  i * sizeof(group->bytes.after[0]) +
				  window->starts[k],
			  1, window->address + window->starts[k]);
}

/* After phase 1: those whose windows don't empty are given up. */
static int wait_for_windows(struct group *group)
{
	struct sonde_grace_period_range ranges[GROUP];
	size_t nr = 0;
	int rc;

	for (size_t i = 0; i < group->nr; i++) {
		const struct sonde_patch *patch = &group->patches[i];

		if (must_wait(patch))
			ranges[nr++] = (struct sonde_grace_period_range){
				first_of(patch),
				first_of(patch) + patch->window->nr_bytes,
			};
	}
	if (nr == 0)
		return 0;
	rc = run(group);
	if (rc != 0 || sonde_grace_period_wait(group->process->pid, ranges, nr,
					       QUIET_MS) == 0)
		return rc;
	for (size_t i = 0; i < group->nr; i++) {
		if (!must_wait(&group->patches[i]))
			continue;
		patch_take_back(group, i);
		group->patches[i].rc = -EAGAIN;
	}
	add_barrier(group);
	return run(group);
}

/* ---- all ---- */

static int apply_phases(struct group *group)
{
	int rc;

	add_phase(group, TRAPS);
	rc = wait_for_windows(group);
	if (rc != 0)
		return rc;
	add_phase(group, OTHERS);
	add_phase(group, FIRST);
	return run(group);
}

static void apply_group(struct group *group)
{
	int rc;

	prepare(group);
	rc = apply_phases(group);
	for (size_t i = 0; i < group->nr; i++) {
		struct sonde_patch *patch = &group->patches[i];

		if (patch->rc == 0 && (rc == -EPIPE || rc == -EACCES))
			patch->rc = rc;
		else if (patch->rc == 0 && rc == -EPERM) /* it is sealed */
			patch->rc = -EACCES;
		else if (patch->rc == 0 &&
			 check(group, patch, patch->after) != 0)
			patch->rc = -EIO;
	}
}

int sonde_patch_apply(struct sonde_process *process,
		      struct sonde_patch *patches, size_t nr)
{
	struct group group = { .process = process };
	struct sonde_maps mappings = { 0 };
	int rc = sonde_process_keep_signals(process);

	if (rc == 0 && process->opens_text) {
		rc = sonde_process_mappings(process->pid, &mappings);
		group.mappings = &mappings;
	}
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < nr; i += group.nr) {
		group.patches = patches + i;
		group.nr = nr - i < GROUP ? nr - i : GROUP;
		apply_group(&group);
	}
	sonde_maps_free(&mappings);
	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = patches[i].rc;
	return rc;
}
