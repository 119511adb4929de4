/* SPDX-License-Identifier: MIT */
/* test_sys_tracepoints.c - sys/tracepoints.h, of a kernel's memory that is made
 * here: a site is where a jump and a call are; code that only asks whether a
 * tracepoint is on, code that was thrown away, and tables that are none. */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/kcore.h"
#include "sys/tracepoints.h"

#define BASE   0xffffffff81000000ull
#define BYTES  16384u
#define BEHIND 4096u /* where memory stands in the file */

/* Offsets in that memory. */
enum {
	JUMPS = 0x100,
	CALLS = 0x400,
	FIRST = 0x800, /* the tracepoints' structures */
	SECOND = 0x840,
	FIRST_CALL = 0x900, /* their static calls' keys */
	SECOND_CALL = 0x910,
	CODE = 0x1000,
};

static uint8_t memory[BYTES];
static uint32_t nr_jumps, nr_calls;
static struct sonde_tracepoint tracepoints[2];
static struct sonde_tracepoint_tables tables;

static int begin(void **state)
{
	(void)state;
	memset(memory, 0x90, sizeof(memory));
	nr_jumps = 0;
	nr_calls = 0;
	tracepoints[0] =
		(struct sonde_tracepoint){ BASE + FIRST, BASE + FIRST_CALL };
	tracepoints[1] =
		(struct sonde_tracepoint){ BASE + SECOND, BASE + SECOND_CALL };
	return 0;
}

static void put_distance(uint32_t at, uint32_t to)
{
	int32_t distance = (int32_t)(to - at);

	memcpy(memory + at, &distance, sizeof(distance));
}

static void jump(uint32_t code, uint32_t target, uint32_t structure,
		 uint32_t flags)
{
	uint32_t at = JUMPS + 16 * nr_jumps++;
	int64_t distance = (int64_t)structure + 8 + flags - (at + 8);

	put_distance(at, code);
	put_distance(at + 4, target);
	memcpy(memory + at + 8, &distance, sizeof(distance));
}

static void call(uint32_t code, uint32_t key, uint32_t flags)
{
	uint32_t at = CALLS + 8 * nr_calls++;

	put_distance(at, code);
	put_distance(at + 4, key + flags);
}

static void instruction(uint32_t at, uint8_t first, uint8_t second)
{
	memory[at] = first;
	memory[at + 1] = second;
}

/* The memory, as a core file. */
static int open_core(void)
{
	Elf64_Ehdr head = { .e_type = ET_CORE,
			    .e_phoff = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 1 };
	Elf64_Phdr part = { .p_type = PT_LOAD,
			    .p_vaddr = BASE,
			    .p_memsz = BYTES,
			    .p_offset = BEHIND };
	int file = memfd_create("kcore", MFD_CLOEXEC);
	char path[64];
	int fd;

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	assert_int_equal(pwrite(file, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(pwrite(file, &part, sizeof(part), sizeof(head)),
			 sizeof(part));
	assert_int_equal(pwrite(file, memory, BYTES, BEHIND), BYTES);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = sonde_kcore_open(path);
	assert_true(fd >= 0);
	(void)close(file);
	return fd;
}

static int find(struct sonde_tracepoint_site **ret_sites, size_t *ret_nr)
{
	int fd = open_core();
	int rc;

	tables = (struct sonde_tracepoint_tables){
		BASE + JUMPS,
		tables.jumps_end ? tables.jumps_end :
				   BASE + JUMPS + 16 * nr_jumps,
		BASE + CALLS,
		BASE + CALLS + 8 * nr_calls,
	};
	rc = sonde_tracepoint_sites(fd, &tables, tracepoints, 2, ret_sites,
				    ret_nr);
	(void)close(fd);
	tables.jumps_end = 0;
	return rc;
}

static void assert_site(const struct sonde_tracepoint_site *site,
			uint32_t tracepoint, uint32_t behind, uint32_t target)
{
	assert_int_equal(site->tracepoint, tracepoint);
	assert_int_equal(site->behind, BASE + behind);
	assert_int_equal(site->target, BASE + target);
}

static void a_site_has_a_jump_and_a_call(void **state)
{
	struct sonde_tracepoint_site *sites;
	size_t nr;

	(void)state;
	jump(CODE, CODE + 0x100, SECOND, 0);
	jump(CODE + 0x20, CODE + 0x180, FIRST, 1);
	jump(CODE + 0x40, CODE + 0x1c0, FIRST, 0);
	call(CODE + 0x190, FIRST_CALL, 0);
	call(CODE + 0x1d0, FIRST_CALL, 1);
	call(CODE + 0x110, SECOND_CALL, 0);
	call(CODE + 0x118, FIRST + 0x300, 0); /* somebody else's */
	instruction(CODE, 0x0f, 0x1f);        /* off, of 5 bytes */
	instruction(CODE + 0x20, 0x66, 0x90); /* of 2 */
	instruction(CODE + 0x40, 0xe9, 0);    /* on */
	assert_int_equal(find(&sites, &nr), 0);
	assert_int_equal(nr, 3);
	assert_site(&sites[0], 0, CODE + 0x22, CODE + 0x180);
	assert_site(&sites[1], 0, CODE + 0x45, CODE + 0x1c0);
	assert_site(&sites[2], 1, CODE + 5, CODE + 0x100);
	free(sites);
}

static void code_that_only_asks_is_no_site(void **state)
{
	struct sonde_tracepoint_site *sites;
	size_t nr;

	(void)state;
	/* if (trace_..._enabled()) { ...; trace_...(); } */
	jump(CODE, CODE + 0x100, FIRST, 0);
	jump(CODE + 0x120, CODE + 0x200, FIRST, 0);
	call(CODE + 0x210, FIRST_CALL, 0);
	/* and one that does nothing */
	jump(CODE + 0x300, CODE + 0x320, SECOND, 0);
	instruction(CODE, 0x0f, 0x1f);
	instruction(CODE + 0x120, 0x0f, 0x1f);
	instruction(CODE + 0x300, 0x0f, 0x1f);
	assert_int_equal(find(&sites, &nr), 0);
	assert_int_equal(nr, 1);
	assert_site(&sites[0], 0, CODE + 0x125, CODE + 0x200);
	free(sites);
}

static void what_is_gone_or_is_no_jump_is_no_site(void **state)
{
	struct sonde_tracepoint_site *sites;
	size_t nr;

	(void)state;
	jump(CODE, CODE + 0x100, FIRST, 2);
	call(CODE + 0x110, FIRST_CALL, 0);
	jump(CODE + 0x20, CODE + 0x200, SECOND, 0);
	call(CODE + 0x210, SECOND_CALL, 0);
	instruction(CODE, 0x0f, 0x1f);
	instruction(CODE + 0x20, 0x55, 0x48);
	assert_int_equal(find(&sites, &nr), 0);
	assert_int_equal(nr, 0);
	free(sites);
}

static void a_call_that_is_far_is_no_sites(void **state)
{
	struct sonde_tracepoint_site *sites;
	size_t nr;

	(void)state;
	jump(CODE, CODE + 0x100, FIRST, 0);
	call(CODE + 0x600, FIRST_CALL, 0);
	call(CODE + 0x80, FIRST_CALL, 0);
	instruction(CODE, 0x0f, 0x1f);
	assert_int_equal(find(&sites, &nr), 0);
	assert_int_equal(nr, 0);
	free(sites);
}

static void tables_that_are_none_are_told(void **state)
{
	struct sonde_tracepoint_site *sites;
	size_t nr;

	(void)state;
	tables.jumps_end = BASE + JUMPS - 1;
	assert_int_equal(find(&sites, &nr), -EPROTO);
	tables.jumps_end = BASE + (UINT64_C(1) << 40);
	assert_int_equal(find(&sites, &nr), -EPROTO);
	tables.jumps_end = BASE + BYTES + 1;
	assert_int_equal(find(&sites, &nr), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_site_has_a_jump_and_a_call, begin),
		cmocka_unit_test_setup(code_that_only_asks_is_no_site, begin),
		cmocka_unit_test_setup(what_is_gone_or_is_no_jump_is_no_site,
				       begin),
		cmocka_unit_test_setup(a_call_that_is_far_is_no_sites, begin),
		cmocka_unit_test_setup(tables_that_are_none_are_told, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
