/* SPDX-License-Identifier: MIT */
/*
 * test_session_declared.c - session/declared.h on ELF files put together here, sane
 * and damaged, and on this very process.
 */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

#include "no_libsonde.h"
#include "session/declared.h"

#define FILE_MAX     (1u << 20)
#define SECTIONS_MAX 8u

/* ---- a libsonde that takes nothing down ---- */

void sonde_register(struct sonde_site *sites, size_t nr)
{
	(void)sites;
	(void)nr;
}

/* NOLINTNEXTLINE(readability-function-size): branches of the macro's */
static void own_site(int n)
{
	sonde_event(declared, own, n);
	sonde_event(declared, other, n);
}

/* ---- files ---- */

struct elf_file {
	uint8_t bytes[FILE_MAX];
	size_t size;
	Elf64_Shdr sections[SECTIONS_MAX];
	char names[256];
	size_t names_size;
	Elf64_Half nr_sections;
};

static struct elf_file elf;

static void begin_elf(void)
{
	memset(&elf, 0, sizeof(elf));
	elf.size = sizeof(Elf64_Ehdr);
	elf.names_size = 1;
	elf.nr_sections = 1;
}

static void begin_section(const char *name, uint64_t flags, uint32_t type)
{
	size_t size;

	assert_true(elf.nr_sections < SECTIONS_MAX);
	elf.size = (elf.size + 7) & ~(size_t)7;
	elf.sections[elf.nr_sections++] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)elf.names_size,
		.sh_type = type,
		.sh_flags = flags,
		.sh_offset = elf.size,
	};
	size = strlen(name) + 1;
	assert_true(elf.names_size + size <= sizeof(elf.names));
	memcpy(elf.names + elf.names_size, name, size);
	elf.names_size += size;
}

static void put(const void *bytes, size_t size)
{
	assert_true(elf.size + size <= sizeof(elf.bytes));
	if (bytes)
		memcpy(elf.bytes + elf.size, bytes, size);
	elf.size += size;
	elf.sections[elf.nr_sections - 1].sh_size += size;
}

/* An event "prov:eN" without fields. */
static void put_event(unsigned int n, uint8_t level, uint32_t line)
{
	struct {
		struct sonde_desc head;
		char names[16];
	} desc = {
		.head = { .line = line,
			  .provider_size = 5,
			  .loglevel = level,
			  .version = SONDE_ABI_VERSION },
		.names = "prov",
	};
	int length = snprintf(desc.names + 5, sizeof(desc.names) - 5, "e%u", n);

	memcpy(desc.head.magic, SONDE_DESC_MAGIC, 8);
	desc.head.name_size = (uint16_t)(length + 1);
	desc.head.size = (uint32_t)sizeof(desc.head) +
			 ((5u + desc.head.name_size + 7) & ~7u);
	put(&desc, desc.head.size);
}

static void put_events(unsigned int first, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		put_event(first + i, SONDE_INFO, 1);
}

static void end_elf(void)
{
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
				     ELFDATA2LSB :
				     ELFDATA2MSB,
			     EV_CURRENT },
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	begin_section(".shstrtab", 0, SHT_STRTAB);
	put(elf.names, elf.names_size);
	head.e_shoff = elf.size;
	head.e_shnum = elf.nr_sections;
	head.e_shstrndx = (Elf64_Half)(elf.nr_sections - 1);
	memcpy(elf.bytes, &head, sizeof(head));
	memcpy(elf.bytes + elf.size, elf.sections,
	       elf.nr_sections * sizeof(Elf64_Shdr));
	elf.size += elf.nr_sections * sizeof(Elf64_Shdr);
}

static void make_c(unsigned int nr)
{
	begin_elf();
	begin_section("sonde_desc", SHF_ALLOC, SHT_PROGBITS);
	put_events(0, nr);
	end_elf();
}

static const char our_symbols[] = "\0malloc\0sonde_register\0free";
static const char other_symbols[] = "\0malloc\0sonde_regis\0free";

/* `gap` bytes lie before the events. */
static void make_cxx(unsigned int nr, const char *symbols, size_t gap)
{
	begin_elf();
	begin_section(".dynstr", SHF_ALLOC, SHT_STRTAB);
	put(symbols, sizeof(our_symbols) - 4);
	begin_section(".note.stapsdt", 0, SHT_NOTE);
	put(NULL, 64);
	begin_section(".rodata", SHF_ALLOC, SHT_PROGBITS);
	put(NULL, gap);
	put_events(0, nr);
	put(NULL, 100);
	end_elf();
}

/* ---- counting ---- */

static struct sonde_declared *declared;

static int begin(void **state)
{
	(void)state;
	declared = sonde_declared_new("+*\0", 4, 255);
	return declared ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	sonde_declared_free(declared);
	return 0;
}

static int add_bytes(const void *bytes, size_t size, bool is_static)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	int rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	rc = sonde_declared_add_file(declared, fd, is_static);
	assert_int_equal(close(fd), 0);
	return rc;
}

static uint32_t counted(bool is_static)
{
	sonde_declared_restart(declared);
	assert_int_equal(add_bytes(elf.bytes, elf.size, is_static), 0);
	return sonde_declared_nr(declared);
}

static void events_of_c_are_counted(void **state)
{
	(void)state;
	make_c(0);
	assert_int_equal(counted(false), 0);
	make_c(5);
	assert_int_equal(counted(false), 5);
	make_c(30);
	assert_int_equal(counted(false), 30);
}

static void events_of_cxx_are_counted(void **state)
{
	(void)state;
	make_cxx(5, our_symbols, 0);
	assert_int_equal(counted(false), 5);
}

static void counting_ends_when_there_are_enough(void **state)
{
	(void)state;
	make_c(400);
	assert_int_equal(counted(false), SONDE_DECLARED_ENOUGH);
	make_cxx(400, our_symbols, 0);
	assert_int_equal(counted(false), SONDE_DECLARED_ENOUGH);
}

static void constants_of_files_that_do_not_know_us_are_left_alone(void **state)
{
	(void)state;
	make_cxx(5, other_symbols, 0);
	assert_int_equal(counted(false), 0);
	assert_int_equal(counted(true), 5);
}

static void data_that_is_written_to_is_left_alone(void **state)
{
	(void)state;
	begin_elf();
	begin_section(".note.stapsdt", 0, SHT_NOTE);
	begin_section(".data", SHF_ALLOC | SHF_WRITE, SHT_PROGBITS);
	put_events(0, 5);
	begin_section(".comment", 0, SHT_PROGBITS);
	put_events(5, 5);
	end_elf();
	assert_int_equal(counted(true), 0);
}

static void one_event_at_several_sites_counts_once(void **state)
{
	(void)state;
	begin_elf();
	begin_section("sonde_desc", SHF_ALLOC, SHT_PROGBITS);
	for (uint32_t line = 1; line < 50; line++)
		put_event(line % 3, SONDE_INFO, line);
	end_elf();
	assert_int_equal(counted(false), 3);
}

static void files_add_up(void **state)
{
	(void)state;
	sonde_declared_restart(declared);
	make_c(7);
	assert_int_equal(add_bytes(elf.bytes, elf.size, false), 0);
	begin_elf();
	begin_section("sonde_desc", SHF_ALLOC, SHT_PROGBITS);
	put_events(5, 7);
	end_elf();
	assert_int_equal(add_bytes(elf.bytes, elf.size, false), 0);
	assert_int_equal(sonde_declared_nr(declared), 12);
}

static void only_selected_events_are_counted(void **state)
{
	static const char rules[] = "+*:e1*\0-*:e10\0";
	struct sonde_declared *choosy =
		sonde_declared_new(rules, sizeof(rules), SONDE_INFO);
	struct sonde_declared *all = declared;

	(void)state;
	assert_non_null(choosy);
	begin_elf();
	begin_section("sonde_desc", SHF_ALLOC, SHT_PROGBITS);
	put_events(0, 20);
	put_event(100, SONDE_DEBUG, 1);
	end_elf();
	declared = choosy;
	assert_int_equal(counted(false), 10);
	declared = all;
	sonde_declared_free(choosy);
	assert_int_equal(counted(false), 21);
}

/* Sections are read in chunks of 128 KiB; nothing is lost between two. */
static void events_are_found_at_any_place(void **state)
{
	(void)state;
	for (size_t gap = (128 << 10) - 512; gap < (128 << 10) + 64; gap += 8) {
		make_cxx(8, our_symbols, gap);
		assert_int_equal(counted(false), 8);
	}
	make_cxx(8, our_symbols, 500000);
	assert_int_equal(counted(false), 8);
}

/* ---- damage ---- */

static void what_is_not_elf_is_refused(void **state)
{
	static const char script[] = "#!/bin/sh\nexit 0\n";

	(void)state;
	sonde_declared_restart(declared);
	assert_int_equal(add_bytes("", 0, true), -ENOEXEC);
	assert_int_equal(add_bytes(script, sizeof(script), true), -ENOEXEC);
	assert_int_equal(sonde_declared_nr(declared), 0);
}

static void a_file_cut_anywhere_is_survived(void **state)
{
	(void)state;
	make_c(5);
	for (size_t size = 0; size < elf.size; size++) {
		sonde_declared_restart(declared);
		assert_true(add_bytes(elf.bytes, size, true) < 0);
		assert_int_equal(sonde_declared_nr(declared), 0);
	}
}

static uint32_t random_state = 4711;

static uint32_t draw(uint32_t limit)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % limit;
}

static void damage(uint8_t *bytes, size_t size)
{
	static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (uint32_t n = 1 + draw(8); n; n--)
		bytes[draw((uint32_t)size)] =
			draw(2) ? telling[draw(sizeof(telling))] :
				  (uint8_t)draw(256);
}

/* The interesting bytes are those of the head and the table. */
static void damaged_files_are_survived(void **state)
{
	static struct elf_file sane;

	(void)state;
	make_cxx(5, our_symbols, 0);
	sane = elf;
	for (int i = 0; i < 20000; i++) {
		size_t table = sane.nr_sections * sizeof(Elf64_Shdr);

		memcpy(elf.bytes, sane.bytes, sane.size);
		if (draw(4) == 0)
			damage(elf.bytes, sizeof(Elf64_Ehdr));
		else if (draw(2) == 0)
			damage(elf.bytes + sane.size - table, table);
		else
			damage(elf.bytes, sane.size);
		sonde_declared_restart(declared);
		(void)add_bytes(elf.bytes, sane.size, draw(2));
		assert_true(sonde_declared_nr(declared) <=
			    SONDE_DECLARED_ENOUGH);
	}
}

static void what_is_no_file_is_refused(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(sonde_declared_add_file(declared, fds[0], true),
			 -EINVAL);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
}

/* ---- processes ---- */

static void the_events_of_a_process_are_counted(void **state)
{
	(void)state;
	own_site(1);
	sonde_declared_restart(declared);
	assert_int_equal(sonde_declared_add_process(declared, getpid()), 0);
	assert_int_equal(sonde_declared_nr(declared), 2);
}

static void a_process_that_is_not_there_is_an_error(void **state)
{
	(void)state;
	sonde_declared_restart(declared);
	assert_int_equal(sonde_declared_add_process(declared, 0), -ENOENT);
	assert_int_equal(sonde_declared_add_process(declared, INT32_MAX),
			 -ENOENT);
	assert_int_equal(sonde_declared_nr(declared), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_c_are_counted),
		cmocka_unit_test(events_of_cxx_are_counted),
		cmocka_unit_test(counting_ends_when_there_are_enough),
		cmocka_unit_test(
			constants_of_files_that_do_not_know_us_are_left_alone),
		cmocka_unit_test(data_that_is_written_to_is_left_alone),
		cmocka_unit_test(one_event_at_several_sites_counts_once),
		cmocka_unit_test(files_add_up),
		cmocka_unit_test(only_selected_events_are_counted),
		cmocka_unit_test(events_are_found_at_any_place),
		cmocka_unit_test(what_is_not_elf_is_refused),
		cmocka_unit_test(a_file_cut_anywhere_is_survived),
		cmocka_unit_test(damaged_files_are_survived),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(the_events_of_a_process_are_counted),
		cmocka_unit_test(a_process_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
