/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_process.h"
#include "session/bells.h"

#define NR_CPUS 3u

static struct fake_process process;
static struct sonde_arena_source *recorded;
/* What a bell has told. */
static char told[400];

static int begin(void **state)
{
	struct sonde_arena_source_config config = {
		.setup = { .geometry = { .nr_cpus = NR_CPUS,
					 .nr_lanes = 1,
					 .subbuf_size = 4096,
					 .nr_subbufs = 4 },
			   .mode = SONDE_OVERWRITE,
			   .rules = "+*\0",
			   .rules_size = 4 },
		.pid = 4711,
		.name = "fake",
	};
	struct sonde_arena_view view;

	(void)state;
	fake_process_init(&process);
	process.arena->abilities = SONDE_ARENA_CAN_COUNT;
	assert_int_equal(sonde_arena_open(fcntl(process.fd, F_DUPFD_CLOEXEC, 0),
					  &view),
			 0);
	assert_int_equal(sonde_arena_source_new(&config, &view, &recorded), 0);
	return 0;
}

static int end(void **state)
{
	struct sonde_source *base = sonde_arena_source_base(recorded);

	(void)state;
	base->ops->stop(base);
	base->ops->close(base);
	fake_process_fini(&process);
	return 0;
}

static struct sonde_bell *new_bell(void)
{
	const struct sonde_bell_config config = {
		.rules = "+*\0",
		.rules_size = 4,
		.session = 5,
		.id = 1,
		.nr_cpus = NR_CPUS,
	};
	struct sonde_bell *bell = NULL;

	assert_int_equal(sonde_bell_new(&config, recorded, &bell), 0);
	return bell;
}

/* As the process counts: in the second slot. */
static void count_event(uint32_t cpu, uint32_t index, uint64_t nr)
{
	const struct sonde_slot *slot = process.slot + 1;
	uint64_t row = (uint64_t)slot->subbuf_size * slot->nr_subbufs;
	off_t at = (off_t)(slot->data_off + cpu * row + index * sizeof(nr));
	uint64_t cell = 0;

	assert_int_equal(slot->state, SONDE_SLOT_ACTIVE);
	assert_int_equal(slot->mode, SONDE_COUNT);
	assert_true(pread(process.fd, &cell, sizeof(cell), at) >= 0);
	cell += nr;
	assert_int_equal(pwrite(process.fd, &cell, sizeof(cell), at),
			 sizeof(cell));
}

static void write_down(void *ctx, const char *provider, const char *name,
		       uint64_t nr)
{
	size_t used = strlen(told);

	(void)ctx;
	(void)snprintf(told + used, sizeof(told) - used, "%s:%s %llu;",
		       provider, name, (unsigned long long)nr);
}

static const char *look(struct sonde_bell *bell)
{
	*told = '\0';
	sonde_bell_look(bell, write_down, NULL);
	return told;
}

static void what_has_happened_is_told_once(void **state)
{
	struct sonde_bell *bell;

	(void)state;
	fake_register(&process, "a", 0);
	fake_register(&process, "b", 0);
	bell = new_bell();
	assert_string_equal(look(bell), "");
	count_event(0, 1, 2);
	count_event(NR_CPUS, 1, 1); /* the row of those without a CPU */
	assert_string_equal(look(bell), "fake:b 3;");
	assert_string_equal(look(bell), "");
	count_event(2, 0, 1);
	count_event(0, 1, 1);
	assert_string_equal(look(bell), "fake:a 1;fake:b 1;");
	/* One that comes later. */
	fake_register(&process, "c", 0);
	count_event(1, 2, 7);
	assert_string_equal(look(bell), "fake:c 7;");
	sonde_bell_free(bell);
}

static void what_was_counted_before_is_not_told(void **state)
{
	struct sonde_bell *bell;

	(void)state;
	fake_register(&process, "a", 0);
	bell = new_bell();
	count_event(0, 0, 9);
	sonde_bell_free(bell);
	/* The same slot, as another recorder has left it. */
	bell = new_bell();
	assert_string_equal(look(bell), "");
	count_event(0, 0, 1);
	assert_string_equal(look(bell), "fake:a 1;");
	sonde_bell_free(bell);
}

static void a_name_is_told_only_of_what_is_whole(void **state)
{
	struct sonde_bell *bell;

	(void)state;
	fake_register(&process, "a", 0);
	fake_register(&process, "b/c", 0);
	fake_entry(&process, 0)->flags = 0;
	bell = new_bell();
	count_event(0, 0, 1);
	count_event(0, 1, 1);
	count_event(0, SONDE_EVENTS_MAX - 1, 1);
	assert_string_equal(look(bell), "");
	fake_entry(&process, 0)->flags = SONDE_ENTRY_READY;
	assert_string_equal(look(bell), "fake:a 1;");
	/* More entries than there can be. */
	process.arena->nr_reserved = UINT32_MAX;
	assert_string_equal(look(bell), "");
	sonde_bell_free(bell);
}

static void who_asks_for_snapshots_is_found_when_it_can(void **state)
{
	struct sonde_bell_search search = { 0 };

	(void)state;
	assert_false(sonde_bell_search(&search, recorded));
	fake_register(&process, "a", 0);
	fake_register_as(&process, SONDE_BELL_ASKED, "reason", 0);
	fake_register_as(&process, "sonde_snapshots", "no", 0);
	fake_entry(&process, 1)->flags = 0;
	assert_false(sonde_bell_search(&search, recorded));
	assert_false(sonde_bell_search(&search, recorded));
	fake_entry(&process, 1)->flags = SONDE_ENTRY_READY;
	assert_true(sonde_bell_search(&search, recorded));
}

static void a_process_that_can_not_count_has_none(void **state)
{
	const struct sonde_bell_config config = { .rules = "+*\0",
						  .rules_size = 4,
						  .nr_cpus = NR_CPUS };
	struct sonde_bell *bell = NULL;

	(void)state;
	process.arena->abilities = 0;
	assert_int_equal(sonde_bell_new(&config, recorded, &bell), -ENXIO);
	process.arena->abilities = SONDE_ARENA_CAN_COUNT;
	for (uint32_t i = 1; i < SONDE_SLOTS; i++)
		process.slot[i].state = SONDE_SLOT_CLAIMED + 17;
	assert_int_equal(sonde_bell_new(&config, recorded, &bell), -EBUSY);
	assert_null(bell);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(what_has_happened_is_told_once),
		CASE(what_was_counted_before_is_not_told),
		CASE(a_name_is_told_only_of_what_is_whole),
		CASE(who_asks_for_snapshots_is_found_when_it_can),
		CASE(a_process_that_can_not_count_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
