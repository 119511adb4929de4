/* SPDX-License-Identifier: MIT */
/*
 * test_probe_markers.c - the static tracepoints of a process, which is this one:
 * sites of sonde_event, and SDT probes that are written here as notes. What
 * libsonde does when an event is emitted is done here, too.
 */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

#include "expr/agent.h"
#include "probe/markers.h"
#include "types/desc.h"
#include "unit.h"

#define STATE UINT32_C(0x80000007)

extern unsigned char *sonde_guest_arena;

static struct {
	size_t words;
	uint32_t state;
	uint64_t value;
} emitted;

unsigned char *sonde_guest_arena __attribute__((section(".data")));

void sonde_register(struct sonde_site *sites, size_t nr)
{
	(void)sites;
	(void)nr;
}

void sonde_emit_word(uint32_t state, uint64_t value, uint64_t inc)
{
	(void)inc;
	emitted.words++;
	emitted.state = state;
	emitted.value = value;
}

void sonde_emit_block(uint32_t state, const void *data, uint64_t inc)
{
	(void)state;
	(void)data;
	(void)inc;
	fail_msg("no such event is here");
}

void sonde_emit_string(uint32_t state, uint64_t value, uint64_t inc,
		       const char *text)
{
	(void)value;
	(void)text;
	sonde_emit_block(state, NULL, inc);
}

void sonde_emit_parts(uint32_t state, const struct sonde_part *parts, size_t nr)
{
	(void)parts;
	sonde_emit_block(state, NULL, nr);
}

size_t sonde_stage_string(char *dst, const char *s, size_t room)
{
	(void)dst;
	(void)s;
	return room;
}

/* ---- what is found ---- */

/* NOLINTNEXTLINE(readability-function-size): one line */
static __attribute__((noinline)) void with_event(int number)
{
	sonde_event(unit, markers, number, sonde_field(twice, 2 * number));
}

static __attribute__((noinline)) void with_short_name(int x)
{
	sonde_event(u, a, x);
}

/* As systemtap's header has it, with a semaphore; and a note of another's. */
uint16_t unit_probe_semaphore __attribute__((section(".probes"), used));
extern const char unit_probe_site[];

static __attribute__((noinline)) long with_probe(long a)
{
	__asm__ volatile("unit_probe_site: nop\n"
			 "\t.pushsection .note.stapsdt,\"\",\"note\"\n"
			 "\t.balign 4\n"
			 "\t.4byte 992f-991f, 994f-993f, 3\n"
			 "991:\t.asciz \"stapsdt\"\n"
			 "992:\t.balign 4\n"
			 "993:\t.8byte unit_probe_site\n"
			 "\t.8byte _.stapsdt.base\n"
			 "\t.8byte unit_probe_semaphore\n"
			 "\t.asciz \"unit\"\n"
			 "\t.asciz \"probe\"\n"
			 "\t.asciz \"-8@%0\"\n"
			 "994:\t.balign 4\n"
			 "\t.4byte 4, 4, 3\n"
			 "\t.asciz \"who\"\n"
			 "\t.4byte 0\n"
			 "\t.popsection\n"
			 :
			 : "r"(a));
	return a;
}

static struct sonde_probe_markers find(void)
{
	struct sonde_probe_markers markers = { NULL, 0, 0 };

	assert_int_equal(sonde_probe_markers_find(getpid(), &markers), 0);
	return markers;
}

/* The only one of that id. */
static const struct sonde_probe_marker *
only(const struct sonde_probe_markers *markers, const char *id)
{
	const struct sonde_probe_marker *found = NULL;

	for (size_t i = 0; i < markers->nr; i++) {
		if (strcmp(markers->list[i].id, id) != 0)
			continue;
		assert_null(found);
		found = &markers->list[i];
	}
	if (!found)
		fail_msg("no %s", id);
	return found;
}

static void events_are_found_with_their_fields(void **state)
{
	struct sonde_probe_markers markers = find();
	const struct sonde_probe_marker *marker =
		only(&markers, "sonde/unit:markers");

	(void)state;
	with_event(1);
	assert_int_equal(emitted.words, 0);
	assert_true(marker->is_event);
	assert_string_equal(marker->provider, "unit");
	assert_string_equal(marker->name, "markers");
	assert_string_equal(marker->extra, "number, twice");
	assert_true(marker->state_register < SONDE_AGENT_RIP);
	assert_int_equal(marker->semaphore, 0);
	assert_string_equal(sonde_desc_name(marker->desc), "markers");
	assert_int_equal(markers.guest_arena, (uintptr_t)&sonde_guest_arena);
	assert_true(marker->address >= (uintptr_t)with_event);
	assert_true(marker->address < (uintptr_t)with_event + 1024);
	sonde_probe_markers_free(&markers);
	assert_int_equal(markers.nr, 0);
}

/* GDB 13.1 crashes otherwise. */
static void ids_have_16_characters(void **state)
{
	struct sonde_probe_markers markers = find();

	(void)state;
	with_short_name(1);
	assert_true(only(&markers, "sonde/u:a.......")->is_event);
	assert_string_equal(only(&markers, "sonde/u:a.......")->name, "a");
	for (size_t i = 0; i < markers.nr; i++) {
		assert_true(strlen(markers.list[i].id) >= 16);
		assert_true(i == 0 || markers.list[i - 1].address <=
					      markers.list[i].address);
	}
	sonde_probe_markers_free(&markers);
}

static void sdt_probes_are_found_with_semaphore_and_arguments(void **state)
{
	struct sonde_probe_markers markers = find();
	const struct sonde_probe_marker *marker =
		only(&markers, "sdt/unit:probe..");

	(void)state;
	assert_int_equal(with_probe(3), 3);
	assert_false(marker->is_event);
	assert_int_equal(marker->address, (uintptr_t)unit_probe_site);
	assert_int_equal(marker->semaphore, (uintptr_t)&unit_probe_semaphore);
	assert_memory_equal(marker->extra, "-8@%r", 5);
	assert_int_equal(marker->state_register, 255);
	sonde_probe_markers_free(&markers);
}

/* libstdc++ has some, and is mapped elsewhere. */
static void libraries_are_gone_through(void **state)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	struct sonde_probe_markers markers;
	size_t nr = 0;

	(void)state;
	if (!library) {
		skip();
		return;
	}
	markers = find();
	for (size_t i = 0; i < markers.nr; i++) {
		const struct sonde_probe_marker *marker = &markers.list[i];
		Dl_info info;

		if (strcmp(marker->id, "sdt/libstdcxx:throw") != 0)
			continue;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
		assert_int_not_equal(dladdr((void *)marker->address, &info), 0);
		assert_true(info.dli_fname &&
			    strstr(info.dli_fname, "libstdc++"));
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
		assert_int_equal(*(const uint8_t *)marker->address, 0x90);
		nr++;
	}
	assert_true(nr > 0);
	sonde_probe_markers_free(&markers);
	(void)dlclose(library);
}

static void processes_that_are_gone_are_an_error(void **state)
{
	struct sonde_probe_markers markers;

	(void)state;
	assert_true(sonde_probe_markers_find(0x7ffffff0, &markers) < 0);
}

/* ---- what a probe can do there ---- */

static uint64_t trapped_at;
static uint8_t trapped_register;

/* By GDB's numbers. */
static const int registers[] = {
	REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

static void take_trap(int signal, siginfo_t *info, void *ucontext)
{
	ucontext_t *context = ucontext;
	greg_t *regs = context->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	if ((uint64_t)regs[REG_RIP] != trapped_at + 1)
		_exit(3);
	regs[REG_RIP] += 4; /* the rest of the five bytes */
	regs[registers[trapped_register]] = STATE;
}

static void a_probe_can_have_the_event_emitted(void **state)
{
	static const uint8_t nothing[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	struct sigaction action = { .sa_flags = SA_SIGINFO };
	struct sonde_probe_markers markers = find();
	const struct sonde_probe_marker *marker =
		only(&markers, "sonde/unit:markers");
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): in this process */
	uint8_t *site = (uint8_t *)(uintptr_t)marker->address;
	uintptr_t page = (uintptr_t)site & ~(uintptr_t)4095;

	(void)state;
	assert_memory_equal(site, nothing, sizeof(nothing));
	trapped_at = marker->address;
	trapped_register = marker->state_register;
	action.sa_sigaction = take_trap;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): in this process */
	assert_int_equal(mprotect((void *)page, 8192,
				  PROT_READ | PROT_WRITE | PROT_EXEC),
			 0);
	*site = 0xcc;
	with_event(7);
	*site = nothing[0];
	with_event(8);
	assert_int_equal(emitted.words, 1);
	assert_int_equal(emitted.state, STATE);
	assert_int_equal(emitted.value, UINT64_C(14) << 32 | 7);
	sonde_probe_markers_free(&markers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_found_with_their_fields),
		cmocka_unit_test(ids_have_16_characters),
		cmocka_unit_test(
			sdt_probes_are_found_with_semaphore_and_arguments),
		cmocka_unit_test(libraries_are_gone_through),
		cmocka_unit_test(processes_that_are_gone_are_an_error),
		cmocka_unit_test(a_probe_can_have_the_event_emitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
