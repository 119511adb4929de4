/* SPDX-License-Identifier: MIT */
/* test_fleet_pulse.c - fleet/pulse.h: who is silent for how long is judged by what it
 * said last, and by its own interval; what is said arrives where it is listened
 * for. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "fleet/pulse.h"
#include "folder.h"

#define S SONDE_NS_PER_S

static struct sonde_net_beat every_2_s(enum sonde_net_beat_state state)
{
	return (struct sonde_net_beat){ .interval_ms = 2000, .state = state };
}

static void silence_is_judged_by_the_interval(void **state)
{
	struct sonde_net_beat beat = every_2_s(SONDE_NET_BEAT_RUNNING);

	(void)state;
	assert_int_equal(sonde_fleet_health(&beat, 0), SONDE_FLEET_ALIVE);
	assert_int_equal(sonde_fleet_health(&beat, (int64_t)6 * S),
			 SONDE_FLEET_ALIVE);
	assert_int_equal(sonde_fleet_health(&beat, (int64_t)6 * S + 1),
			 SONDE_FLEET_LATE);
	assert_int_equal(sonde_fleet_health(&beat, (int64_t)20 * S),
			 SONDE_FLEET_LATE);
	assert_int_equal(sonde_fleet_health(&beat, (int64_t)20 * S + 1),
			 SONDE_FLEET_GONE);
	assert_int_equal(sonde_fleet_health(&beat, INT64_MAX),
			 SONDE_FLEET_GONE);
}

static void who_spoke_in_the_future_is_not_judged(void **state)
{
	struct sonde_net_beat beat = every_2_s(SONDE_NET_BEAT_RUNNING);

	(void)state;
	assert_int_equal(sonde_fleet_health(&beat, (int64_t)-2 * S),
			 SONDE_FLEET_ALIVE);
	assert_int_equal(sonde_fleet_health(&beat, (int64_t)-2 * S - 1),
			 SONDE_FLEET_UNKNOWN);
	assert_int_equal(sonde_fleet_health(&beat, INT64_MIN),
			 SONDE_FLEET_UNKNOWN);
}

static void who_said_that_it_ends_is_not_missed(void **state)
{
	struct sonde_net_beat ended = every_2_s(SONDE_NET_BEAT_ENDED);
	struct sonde_net_beat stopped = every_2_s(SONDE_NET_BEAT_STOPPED);

	(void)state;
	assert_int_equal(sonde_fleet_health(&ended, INT64_MAX),
			 SONDE_FLEET_ENDED);
	assert_int_equal(sonde_fleet_health(&stopped, INT64_MAX),
			 SONDE_FLEET_STOPPED);
}

/* ---- said and heard ---- */

/* A folder of this test's own, and `store` in it. */
static struct sonde_net *open_store(char folder[32],
				    struct sonde_net_error *error)
{
	static const struct sonde_net_config config = { 0 };
	struct sonde_net *net = NULL;
	char url[64];

	(void)strcpy(folder, "/tmp/sonde-pulse-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(url, sizeof(url), "file://%s/store", folder);
	assert_int_equal(sonde_net_open(url, &config, error, &net), 0);
	return net;
}

struct heard {
	struct sonde_net_beat beats[4];
	size_t nr;
};

static int note(void *ctx, const struct sonde_net_beat *beat, int64_t got_ns)
{
	struct heard *heard = ctx;

	assert_int_equal(got_ns, 0);
	assert_true(heard->nr < 4);
	heard->beats[heard->nr++] = *beat;
	return 0;
}

static void the_last_word_is_heard(void **state)
{
	char folder[32];
	struct sonde_fleet_pulse_news news = { .stock = { .unsent = 5 } };
	struct sonde_net_error error;
	struct sonde_net *net = open_store(folder, &error);
	struct sonde_fleet_pulse pulse;
	struct sonde_net_heard all;
	struct heard heard = { .nr = 0 };

	(void)state;
	sonde_fleet_pulse_begin(&pulse, net, "/var/tmp/day", 60000);
	assert_true(sonde_fleet_pulse_is_due(&pulse));
	assert_int_equal(sonde_fleet_pulse_say(&pulse, SONDE_NET_BEAT_RUNNING,
					       "web-1", &news, &error),
			 0);
	assert_false(sonde_fleet_pulse_is_due(&pulse));
	news.stock.unsent = 0;
	news.lacking = 3;
	assert_int_equal(sonde_fleet_pulse_say(&pulse, SONDE_NET_BEAT_ENDED,
					       "web-1", &news, &error),
			 0);
	assert_int_equal(sonde_net_hear(net, note, &heard, &all), 0);
	assert_int_equal(all.nr_damaged, 0);
	assert_int_equal(heard.nr, 1);
	assert_string_equal(heard.beats[0].host, "web-1");
	assert_string_equal(heard.beats[0].recording, "day");
	assert_int_equal(heard.beats[0].number, 2);
	assert_int_equal(heard.beats[0].state, SONDE_NET_BEAT_ENDED);
	assert_int_equal(heard.beats[0].unsent, 0);
	assert_int_equal(heard.beats[0].lacking, 3);
	sonde_net_close(net);
	assert_int_equal(folder_remove(folder), 0);
}

static void without_an_interval_or_a_host_nothing_is_said(void **state)
{
	char folder[32];
	struct sonde_fleet_pulse_news news = { .lacking = 0 };
	struct sonde_net_error error;
	struct sonde_net *net = open_store(folder, &error);
	struct sonde_fleet_pulse pulse;
	char store[64];

	(void)state;
	(void)snprintf(store, sizeof(store), "%s/store", folder);
	sonde_fleet_pulse_begin(&pulse, net, "/var/tmp/day", 0);
	assert_false(sonde_fleet_pulse_is_due(&pulse));
	assert_int_equal(sonde_fleet_pulse_say(&pulse, SONDE_NET_BEAT_RUNNING,
					       "web-1", &news, &error),
			 0);
	sonde_fleet_pulse_begin(&pulse, net, "/var/tmp/day", 60000);
	assert_int_equal(sonde_fleet_pulse_say(&pulse, SONDE_NET_BEAT_RUNNING,
					       NULL, &news, &error),
			 0);
	assert_int_equal(access(store, F_OK), -1);
	sonde_net_close(net);
	assert_int_equal(folder_remove(folder), 0);
}

/* A word in the place of another machine's, and one that is cut. */
static void what_is_no_word_of_that_host_is_counted(void **state)
{
	char folder[32];
	struct sonde_fleet_pulse_news news = { .lacking = 0 };
	struct sonde_net_error error;
	struct sonde_net *net = open_store(folder, &error);
	struct sonde_fleet_pulse pulse;
	struct sonde_net_heard all;
	struct heard heard = { .nr = 0 };
	char from[128];
	char to[128];

	(void)state;
	sonde_fleet_pulse_begin(&pulse, net, "/var/tmp/day", 60000);
	assert_int_equal(sonde_fleet_pulse_say(&pulse, SONDE_NET_BEAT_RUNNING,
					       "web-1", &news, &error),
			 0);
	(void)snprintf(from, sizeof(from), "%s/store/web-1/%016llx.beat",
		       folder, (unsigned long long)pulse.beat.ship);
	(void)snprintf(to, sizeof(to), "%s/store/web-2", folder);
	assert_int_equal(mkdir(to, 0700), 0);
	(void)snprintf(to, sizeof(to), "%s/store/web-2/%016llx.beat", folder,
		       (unsigned long long)pulse.beat.ship);
	assert_int_equal(link(from, to), 0);
	assert_int_equal(sonde_net_hear(net, note, &heard, &all), 0);
	assert_int_equal(heard.nr, 1);
	assert_int_equal(all.nr_damaged, 1);
	assert_int_equal(truncate(from, 100), 0);
	heard.nr = 0;
	assert_int_equal(sonde_net_hear(net, note, &heard, &all), 0);
	assert_int_equal(heard.nr, 0);
	assert_int_equal(all.nr_damaged, 2);
	sonde_net_close(net);
	assert_int_equal(folder_remove(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_is_judged_by_the_interval),
		cmocka_unit_test(who_spoke_in_the_future_is_not_judged),
		cmocka_unit_test(who_said_that_it_ends_is_not_missed),
		cmocka_unit_test(the_last_word_is_heard),
		cmocka_unit_test(without_an_interval_or_a_host_nothing_is_said),
		cmocka_unit_test(what_is_no_word_of_that_host_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
