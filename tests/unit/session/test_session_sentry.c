/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_process.h"
#include "session/sentry.h"
#include "types/desc.h"

#define NR_CPUS 3u

static struct fake_process process;
static struct fake_process asked; /* the same, as its second slot is written */
static struct sonde_arena_source *recorded;
static struct sonde_summary summary;
static struct sonde_given given[2];
static struct sonde_budget budget;
/* What a sentry has told. */
static char told[400];

static int begin(void **state)
{
	struct sonde_arena_source_config config = {
		.setup = { .geometry = { .nr_cpus = NR_CPUS,
					 .nr_lanes = SONDE_LANES,
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
	assert_int_equal(sonde_arena_open(fcntl(process.fd, F_DUPFD_CLOEXEC, 0),
					  &view),
			 0);
	assert_int_equal(sonde_arena_source_new(&config, &view, &recorded), 0);
	asked = process;
	asked.slot++;
	summary = (struct sonde_summary){ 0 };
	budget = (struct sonde_budget){ .total_bytes = 1 << 20,
					.nr_possible = NR_CPUS,
					.nr_online = NR_CPUS };
	return 0;
}

static int end(void **state)
{
	struct sonde_source *base = sonde_arena_source_base(recorded);

	(void)state;
	base->ops->stop(base);
	base->ops->close(base);
	for (size_t i = 0; i < 2; i++)
		sonde_given_fini(&given[i]);
	fake_process_fini(&process);
	return 0;
}

/* Of fake:a, and of all. The second may be NULL. */
static int new_sentry(const char *of_a, const char *of_all,
		      struct sonde_sentry **ret_sentry)
{
	static struct sonde_sentry_wish wishes[2];
	const struct sonde_sentry_config config = {
		.wishes = wishes,
		.nr_wishes = 2,
		.summary = &summary,
		.session = 5,
		.id = 1,
		.budget = &budget,
	};

	assert_int_equal(sonde_given_init(&given[0], of_a), 0);
	wishes[0] = (struct sonde_sentry_wish){ .rule = "+fake:a",
						.given = &given[0] };
	if (of_all)
		assert_int_equal(sonde_given_init(&given[1], of_all), 0);
	wishes[1] = (struct sonde_sentry_wish){ .rule = "+*",
						.given = of_all ? &given[1] :
								  NULL };
	return sonde_sentry_new(&config, recorded, ret_sentry);
}

static struct sonde_sentry *sentry_of(const char *of_a, const char *of_all)
{
	struct sonde_sentry *sentry = NULL;

	assert_int_equal(new_sentry(of_a, of_all, &sentry), 0);
	return sentry;
}

static void add(const char *text)
{
	assert_true(strlen(told) + strlen(text) < sizeof(told));
	strcat(told, text);
}

static void write_field(void *ctx, const char *name, const char *text)
{
	char line[80];

	(void)ctx;
	(void)snprintf(line, sizeof(line), " %s=%s", name, text);
	add(line);
}

static void write_down(void *ctx, uint32_t wish,
		       const struct sonde_sentry_event *event)
{
	char line[80];

	(void)ctx;
	assert_int_equal(event->tid, 4711);
	(void)snprintf(line, sizeof(line), "%u: %s on %u", wish,
		       sonde_desc_name(event->desc), event->cpu);
	add(line);
	sonde_sentry_fields(event, write_field, NULL);
	add(";");
}

static const char *look(struct sonde_sentry *sentry)
{
	*told = '\0';
	sonde_sentry_look(sentry, write_down, NULL);
	return told;
}

static void what_fulfils_a_wish_is_told_once(void **state)
{
	struct sonde_sentry *sentry;

	(void)state;
	fake_register(&process, "a", 0);
	fake_register(&process, "b", 0);
	sentry = sentry_of("n > 5", "n == 9 && event == \"fake:b\"");
	assert_string_equal(look(sentry), "");
	fake_emit(&asked, 0, 1, 5);
	fake_emit(&asked, 0, 1, 6);
	fake_emit(&asked, 2, 2, 9);
	fake_emit(&asked, 2, 1, 9);
	assert_string_equal(look(sentry),
			    "0: a on 0 n=6;1: b on 2 n=9;0: a on 2 n=9;");
	assert_string_equal(look(sentry), "");
	/* One that comes later. */
	fake_register(&process, "c", 0);
	asked.slot->ids[2] = 3;
	asked.slot->next_id = 4;
	fake_emit(&asked, 0, 3, 9);
	fake_emit(&asked, 0, 1, 7);
	assert_string_equal(look(sentry), "0: a on 0 n=7;");
	assert_int_equal(sonde_sentry_nr_missed(sentry), 0);
	sonde_sentry_free(sentry);
}

static void only_what_is_asked_for_is_recorded_for_it(void **state)
{
	struct sonde_sentry *sentry;

	(void)state;
	fake_register(&process, "a", 0);
	fake_register(&process, "b", 0);
	sentry = sentry_of("n > 5", NULL);
	assert_int_equal(asked.slot->state, SONDE_SLOT_ACTIVE);
	assert_int_equal(asked.slot->mode, SONDE_DISCARD);
	assert_int_equal(asked.slot->ids[0], 1);
	assert_int_equal(asked.slot->ids[1], 0);
	sonde_sentry_free(sentry);
	assert_int_equal(asked.slot->state, SONDE_SLOT_STOPPED);
}

static void what_finds_no_room_is_missed(void **state)
{
	struct sonde_sentry *sentry;
	uint64_t nr = 0;
	uint64_t nr_full = 0;

	(void)state;
	fake_register(&process, "a", 0);
	sentry = sentry_of("n == 1", NULL);
	while (nr_full < 10) {
		nr_full += !fake_emit(&asked, 1, 1, nr == 0);
		nr++;
	}
	assert_string_equal(look(sentry), "0: a on 1 n=1;");
	assert_int_equal(sonde_sentry_nr_missed(sentry), 10);
	/* And goes on. */
	assert_true(fake_emit(&asked, 1, 1, 1));
	assert_string_equal(look(sentry), "0: a on 1 n=1;");
	assert_int_equal(sonde_sentry_nr_missed(sentry), 10);
	sonde_sentry_free(sentry);
}

static void what_can_not_be_told_apart_is_missed(void **state)
{
	struct sonde_sentry *sentry;

	(void)state;
	fake_register(&process, "a", 0);
	sentry = sentry_of("n > 5", NULL);
	fake_emit(&asked, 0, 1, 6);
	fake_emit(&asked, 0, 30, 6); /* nobody knows it */
	fake_emit(&asked, 0, 1, 7);
	assert_string_equal(look(sentry), "0: a on 0 n=6;");
	assert_int_equal(sonde_sentry_nr_missed(sentry), 2);
	fake_emit(&asked, 0, 1, 8);
	assert_string_equal(look(sentry), "0: a on 0 n=8;");
	sonde_sentry_free(sentry);
}

static void who_scribbles_is_listened_to_no_more(void **state)
{
	struct sonde_sentry *sentry;

	(void)state;
	fake_register(&process, "a", 0);
	sentry = sentry_of("n > 5", NULL);
	fake_emit(&asked, 0, 1, 6);
	fake_ring(&asked, 0)->w += 50; /* events that are not there */
	assert_string_equal(look(sentry), "");
	assert_int_equal(asked.slot->state, SONDE_SLOT_STOPPED);
	assert_int_equal(summary.nr_notes, 1);
	assert_string_equal(look(sentry), "");
	sonde_sentry_free(sentry);
}

static void what_no_event_has_is_told(void **state)
{
	struct sonde_sentry *sentry;

	(void)state;
	fake_register(&process, "a", 0);
	sentry = sentry_of("m > 5", "n == \"x\"");
	fake_emit(&asked, 0, 1, 6);
	assert_string_equal(look(sentry), "");
	assert_int_equal(summary.nr_notes, 1);
	assert_non_null(strstr(summary.notes[0], "fake:a is not waited for"));
	for (size_t i = 0; i < 2; i++)
		sonde_given_finish(&given[i], &summary);
	assert_int_equal(summary.nr_notes, 2);
	assert_non_null(strstr(summary.notes[1], "has 'm'"));
	sonde_sentry_free(sentry);
}

static void its_rings_are_of_the_budget(void **state)
{
	struct sonde_sentry *sentry;

	(void)state;
	sentry = sentry_of("n > 5", NULL);
	assert_int_equal(budget.used_bytes, NR_CPUS * 65536);
	sonde_sentry_free(sentry);
	assert_int_equal(budget.used_bytes, 0);
	sonde_given_fini(&given[0]);
	budget.used_bytes = budget.total_bytes - NR_CPUS * 65536 + 1;
	assert_int_equal(new_sentry("n > 5", NULL, &sentry), -ENOSPC);
	sonde_given_fini(&given[0]);
	budget.used_bytes = 0;
	for (uint32_t i = 1; i < SONDE_SLOTS; i++)
		process.slot[i].state = SONDE_SLOT_CLAIMED + 17;
	assert_int_equal(new_sentry("n > 5", NULL, &sentry), -EBUSY);
	assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(what_fulfils_a_wish_is_told_once),
		CASE(only_what_is_asked_for_is_recorded_for_it),
		CASE(what_finds_no_room_is_missed),
		CASE(what_can_not_be_told_apart_is_missed),
		CASE(who_scribbles_is_listened_to_no_more),
		CASE(what_no_event_has_is_told),
		CASE(its_rings_are_of_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
