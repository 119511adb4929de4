/* SPDX-License-Identifier: MIT */
/*
 * sentry.c - fuzz session/sentry.h: a process whose rings have any bytes in them,
 * while somebody waits for its events.
 *
 * Input: events that are as they should be, and then in turn: bytes anywhere in a
 * sub-buffer, a number in one of a ring's own words, or a look.
 */
#include "session/sentry.h"

#include "fuzz.h"

/* The process that unit tests play, with the claims of a fuzz target. */
#define UNIT_UNIT_H
#define assert_true(claim)         FUZZ_CHECK(claim)
#define assert_int_equal(one, two) FUZZ_CHECK((one) == (two))
#include "fake_process.h"

#define NR_CPUS 2u

static struct sonde_summary summary;

static void see_field(void *ctx, const char *name, const char *text)
{
	(void)ctx;
	FUZZ_CHECK(!strcmp(name, "n"));
	FUZZ_CHECK(strlen(text) < 16);
}

static void see_event(void *ctx, uint32_t wish,
		      const struct sonde_sentry_event *event)
{
	(void)ctx;
	FUZZ_CHECK(wish < 2);
	FUZZ_CHECK(event->cpu < NR_CPUS);
	/* A span, of which no payload is known. */
	FUZZ_CHECK(wish == 0 || (!event->payload && event->length > 3));
	FUZZ_CHECK(wish == 1 || event->size == sizeof(uint32_t));
	sonde_sentry_fields(event, see_field, NULL);
}

static struct sonde_arena_source *record(const struct fake_process *process)
{
	const struct sonde_arena_source_config config = {
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
	struct sonde_arena_source *source = NULL;
	struct sonde_arena_view view;

	FUZZ_CHECK(!sonde_arena_open(fcntl(process->fd, F_DUPFD_CLOEXEC, 0),
				     &view));
	FUZZ_CHECK(!sonde_arena_source_new(&config, &view, &source));
	return source;
}

static void scribble(struct fake_process *asked, struct fuzz_input *in)
{
	unsigned char *at = fake_subbuf(asked, 0, 0);
	size_t nr;
	const uint8_t *bytes;

	at += fuzz_below(in, 200);
	bytes = fuzz_bytes(in, fuzz_below(in, 40), &nr);
	memcpy(at, bytes, nr);
}

static void write_word(struct fake_process *asked, struct fuzz_input *in)
{
	uint64_t *words = (void *)fake_ring(asked, fuzz_below(in, NR_CPUS));
	uint32_t which =
		fuzz_below(in, sizeof(struct sonde_ring) / sizeof(*words));

	words[which] = fuzz_number(in);
}

/* Events first: who writes them believes the ring's words. */
static void play(struct fake_process *asked, struct sonde_sentry *sentry,
		 struct fuzz_input *in)
{
	for (uint32_t nr = fuzz_below(in, 32); nr > 0; nr--)
		(void)fake_emit(asked, 0, 1, fuzz_u8(in));
	for (uint32_t nr = fuzz_below(in, 16); nr > 0; nr--) {
		uint32_t what = fuzz_below(in, 3);

		if (what == 0)
			sonde_sentry_look(sentry, see_event, NULL);
		else if (what == 1)
			scribble(asked, in);
		else
			write_word(asked, in);
	}
	sonde_sentry_look(sentry, see_event, NULL);
	sonde_sentry_settle(sentry, see_event, NULL);
	(void)sonde_sentry_nr_missed(sentry);
}

static uint64_t now(void)
{
	return UINT64_MAX / 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	struct sonde_budget budget = { .total_bytes = 1 << 20,
				       .nr_possible = NR_CPUS,
				       .nr_online = NR_CPUS };
	struct sonde_given given;
	struct sonde_given key;
	const struct sonde_sentry_wish wishes[] = {
		{ .rule = "+fake:a", .given = &given },
		{ .rule = "+fake:*",
		  .given = &key,
		  .end = "+fake:a",
		  .limit = 3 },
	};
	const struct sonde_sentry_config config = { .wishes = wishes,
						    .nr_wishes = 2,
						    .now = now,
						    .summary = &summary,
						    .session = 5,
						    .id = 1,
						    .budget = &budget };
	struct sonde_arena_source *recorded;
	struct sonde_sentry *sentry = NULL;
	struct fake_process process;
	struct fake_process asked;

	summary = (struct sonde_summary){ 0 };
	fake_process_init(&process);
	recorded = record(&process);
	asked = process;
	asked.slot++;
	fake_register(&process, "a", 0);
	FUZZ_CHECK(!sonde_given_init(&given, "n > 5"));
	FUZZ_CHECK(!sonde_given_init(&key, "n & 3"));
	FUZZ_CHECK(!sonde_sentry_new(&config, recorded, &sentry));
	play(&asked, sentry, &in);
	sonde_sentry_free(sentry);
	sonde_arena_source_base(recorded)->ops->stop(
		sonde_arena_source_base(recorded));
	sonde_arena_source_base(recorded)->ops->close(
		sonde_arena_source_base(recorded));
	sonde_given_fini(&given);
	sonde_given_fini(&key);
	fake_process_fini(&process);
	return 0;
}
