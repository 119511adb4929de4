/* SPDX-License-Identifier: MIT */
/*
 * test_transfers.c - bytes are matched with who sent them, and clocks that follow
 * from that have the truth within their bound; both on machines that are simulated.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/reports/host_clocks.h"
#include "analysis/reports/transfers.h"
#include "base/grow.h"
#include "random.h"
#include "reader_traces.h"

#define SEED  20261129u
#define S     INT64_C(1000000000)
#define US    INT64_C(1000)
#define START (1700000000 * S)

static uint64_t state = SEED;

/* A machine's clock, and how many of its transfers there were. */
struct machine {
	int64_t ahead_ns;
	int64_t ppm;
	uint32_t order;
};

static int64_t clock_of(const struct machine *machine, int64_t true_ns)
{
	return true_ns + machine->ahead_ns +
	       (true_ns - START) / 1000000 * machine->ppm;
}

static struct sonde_transfer *add(struct sonde_transfers *transfers,
				  struct machine *machines, uint32_t machine,
				  uint64_t from, uint64_t to)
{
	struct sonde_transfer *at;

	assert_int_equal(
		SONDE_GROW(transfers->at, transfers->nr, transfers->room), 0);
	at = &transfers->at[transfers->nr++];
	*at = (struct sonde_transfer){
		.connection = { .from = { 0, from }, .to = { 0, to } },
		.machine = machine,
		.order = machines[machine].order++,
		.sender = SONDE_TRANSFERS_NONE,
	};
	return at;
}

/* So many bytes are sent by machine `from` to `to` and received in one piece. The
 * addresses are the machines' numbers. */
struct line {
	uint32_t from, to;
	uint32_t position;
};

static void send(struct sonde_transfers *transfers, struct machine *machines,
		 struct line *line, int64_t true_ns)
{
	struct sonde_transfer *at;
	uint32_t bytes = 1 + (uint32_t)random_below(&state, 5000);
	int64_t call_ns = (int64_t)random_below(&state, 20) * US;
	int64_t way_ns = 10 * US + (int64_t)random_below(&state, 60) * US;

	line->position += bytes;
	at = add(transfers, machines, line->from, line->from, line->to);
	at->is_sent = true;
	at->bytes = bytes;
	at->position = line->position;
	at->call_ns = clock_of(&machines[line->from], true_ns);
	at->time_ns = clock_of(&machines[line->from], true_ns + call_ns);
	at = add(transfers, machines, line->to, line->from, line->to);
	at->bytes = bytes;
	at->position = line->position;
	at->time_ns = clock_of(&machines[line->to], true_ns + way_ns);
	at->call_ns = at->time_ns - US;
}

/* ---- matching ---- */

static void a_byte_is_of_the_one_that_sent_it(void **unused)
{
	struct machine machines[2] = { { 0 }, { 0 } };
	struct sonde_transfers transfers = { 0 };
	uint32_t sizes[2][4] = { { 100, 50, 200, 10 }, { 30, 100, 130, 100 } };
	size_t expected[4] = { 0, 0, 1, 2 }; /* of bytes 0, 30, 130, 260 */

	(void)unused;
	for (int received = 0; received < 2; received++) {
		uint32_t position = 0xffffff80; /* goes round soon */

		for (size_t i = 0; i < 4; i++) {
			struct sonde_transfer *at =
				add(&transfers, machines, received, 0, 1);

			position += sizes[received][i];
			at->is_sent = !received;
			at->bytes = sizes[received][i];
			at->position = position;
		}
	}
	sonde_transfers_match(&transfers);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(transfers.at[4 + i].sender, expected[i]);
	sonde_transfers_fini(&transfers);
}

static void what_several_sent_is_of_nobody(void **unused)
{
	struct machine machines[3] = { { 0 }, { 0 }, { 0 } };
	struct sonde_transfers transfers = { 0 };
	struct line line = { .from = 0, .to = 1 };

	(void)unused;
	for (int i = 0; i < 4; i++)
		send(&transfers, machines, &line, START + i * S);
	/* another one has the same address */
	*add(&transfers, machines, 2, 0, 1) = (struct sonde_transfer){
		.connection = transfers.at[0].connection,
		.machine = 2,
		.is_sent = true,
		.bytes = 1,
		.position = transfers.at[0].position,
		.sender = SONDE_TRANSFERS_NONE,
	};
	sonde_transfers_match(&transfers);
	for (size_t i = 0; i < transfers.nr; i++)
		assert_true(transfers.at[i].sender == SONDE_TRANSFERS_NONE);
	sonde_transfers_fini(&transfers);
}

static void a_byte_that_two_calls_sent_is_of_nobody(void **unused)
{
	struct machine machines[2] = { { 0 }, { 0 } };
	struct sonde_transfers transfers = { 0 };
	struct line line = { .from = 0, .to = 1 };

	(void)unused;
	for (int i = 0; i < 3; i++)
		send(&transfers, machines, &line, START + i * S);
	*add(&transfers, machines, 0, 0, 1) = (struct sonde_transfer){
		.connection = transfers.at[0].connection,
		.is_sent = true,
		.order = machines[0].order,
		.bytes = transfers.at[2].bytes,
		.position = transfers.at[2].position,
		.sender = SONDE_TRANSFERS_NONE,
	};
	sonde_transfers_match(&transfers);
	assert_true(transfers.at[4].sender != SONDE_TRANSFERS_NONE);
	assert_true(transfers.at[5].sender == SONDE_TRANSFERS_NONE);
	assert_true(transfers.at[6].sender != SONDE_TRANSFERS_NONE);
	sonde_transfers_fini(&transfers);
}

/* ---- reading ---- */

#define CPUS    2
#define THREADS 5
#define CALLS   400

/* clang-format off */
static const char metadata_end[] =
	MADE_CLOCK
	MADE_STREAM_CLASS("	event.context := struct { u32 tid; u32 pid; };\n")
	MADE_EVENT("syscall_entry_sendto", 0, "u32 fd;")
	MADE_EVENT("syscall_exit_sendto", 1, "i32 ret;")
	MADE_EVENT("sock_send_length", 2,
	      "u32 protocol; i32 ret; u32 flags; u32 position; u32 sport;"
	      "u32 dport; u64 saddr_high; u64 saddr_low; u64 daddr_high;"
	      "u64 daddr_low;");
/* clang-format on */

static struct made *begin_event(struct made_cpu *cpu, uint64_t now, uint16_t id,
				uint32_t tid)
{
	struct made *file = made_cpu_event(cpu, now, id);

	made_u32(file, tid);
	made_u32(file, 1);
	return file;
}

static void put_sent(struct made_cpu *cpu, uint64_t now, uint32_t tid,
		     uint32_t position)
{
	struct made *file = begin_event(cpu, now, 2, tid);
	const uint32_t numbers[] = { 6, 1, 0, position, 40000, 80 };

	for (size_t i = 0; i < 6; i++)
		made_u32(file, numbers[i]);
	for (uint64_t i = 0; i < 4; i++)
		made_u64(file, i);
}

/* Each thread is in a call, or in none; some send nothing in it, some send in
 * none. What is sent says by its position which call it was of. */
static struct sonde_trace *make_calls(int64_t *call_ns)
{
	struct made_cpu cpus[CPUS];
	bool is_in[THREADS] = { false };
	int64_t since_ns[THREADS];
	uint64_t now = 1000;

	made_cpus_begin(cpus, CPUS);
	for (size_t i = 0; i < THREADS; i++)
		since_ns[i] = SONDE_TIME_MIN;
	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t k = (uint32_t)random_below(&state, THREADS);
		struct made_cpu *cpu = &cpus[random_below(&state, CPUS)];

		now += 1 + random_below(&state, 50);
		call_ns[i] = INT64_MAX; /* it sends nothing */
		if (random_below(&state, 2)) {
			put_sent(cpu, now, 100 + k, i);
			call_ns[i] = since_ns[k];
			continue;
		}
		is_in[k] = !is_in[k];
		since_ns[k] = is_in[k] ? (int64_t)now : SONDE_TIME_MIN;
		made_u32(begin_event(cpu, now, !is_in[k], 100 + k), 3);
	}
	return made_cpus_open(cpus, CPUS, now, metadata_end);
}

static void a_transfer_is_of_the_call_that_its_thread_is_in(void **unused)
{
	int64_t call_ns[CALLS];
	struct sonde_trace *trace = make_calls(call_ns);
	size_t expected = 0;

	(void)unused;
	for (size_t i = 0; i < CALLS; i++)
		expected += call_ns[i] != INT64_MAX;
	assert_true(expected > CALLS / 4);
	for (uint64_t slice = 0; slice < 3; slice++) {
		struct sonde_map_options options;
		struct sonde_transfers transfers;

		sonde_map_options_init(&options);
		options.slice_bytes = slice * 400; /* 0: one slice */
		assert_int_equal(
			sonde_transfers_read(trace, &options, &transfers), 0);
		assert_int_equal(transfers.nr, expected);
		for (size_t i = 0; i < transfers.nr; i++)
			assert_int_equal(transfers.at[i].call_ns,
					 call_ns[transfers.at[i].position]);
		sonde_transfers_fini(&transfers);
	}
	sonde_trace_close(trace);
}

/* ---- clocks ---- */

#define MACHINES 4

/* 0 talks to 1, 1 to 2; 3 only listens. */
static void talk(struct sonde_transfers *transfers, struct machine *machines)
{
	struct line lines[] = { { 0, 1, 7 },
				{ 1, 0, 0xfffffff0 },
				{ 1, 2, 3 },
				{ 2, 1, 12345 },
				{ 0, 3, 1 } };

	for (int i = 0; i < 600; i++)
		for (size_t k = 0; k < 5; k++)
			send(transfers, machines, &lines[k],
			     START + i * S / 10 +
				     (int64_t)random_below(&state, 50) * US);
	sonde_transfers_match(transfers);
}

static void check_clock(const struct machine *machines,
			const struct sonde_host_clock *clocks, uint32_t machine,
			int64_t true_ns)
{
	int64_t is = clock_of(&machines[machine], true_ns) -
		     clock_of(&machines[0], true_ns);

	assert_true(clocks[machine].is_known);
	assert_true(is >= clocks[machine].offset_ns - clocks[machine].bound_ns);
	assert_true(is <= clocks[machine].offset_ns + clocks[machine].bound_ns);
}

static void clocks_of_a_chain_are_within_their_bound(void **unused)
{
	(void)unused;
	for (int run = 0; run < 20; run++) {
		struct machine machines[MACHINES] = { { 0 } };
		struct sonde_host_clock clocks[MACHINES];
		struct sonde_transfers transfers = { 0 };
		int64_t begin_ns = START + 20 * S;
		int64_t end_ns =
			begin_ns + (int64_t)random_below(&state, 2 * S);

		for (int i = 0; i < MACHINES; i++) {
			machines[i].ahead_ns =
				(int64_t)random_below(&state, 20 * S) - 10 * S;
			machines[i].ppm =
				(int64_t)random_below(&state, 201) - 100;
		}
		talk(&transfers, machines);
		assert_int_equal(
			sonde_host_clocks_find(&transfers, 0,
					       clock_of(&machines[0], begin_ns),
					       clock_of(&machines[0], end_ns),
					       clocks, MACHINES),
			0);
		assert_int_equal(clocks[0].offset_ns, 0);
		assert_int_equal(clocks[0].bound_ns, 0);
		for (uint32_t i = 1; i < 3; i++) {
			check_clock(machines, clocks, i, begin_ns);
			check_clock(machines, clocks, i, end_ns);
			/* a span of two seconds, at 200 ppm, and the way */
			assert_true(clocks[i].bound_ns < i * 400 * US);
		}
		assert_int_equal(clocks[2].by, 1);
		assert_false(clocks[3].is_known);
		sonde_transfers_fini(&transfers);
	}
}

static void times_that_cannot_be_give_no_clock(void **unused)
{
	static const int64_t times[] = { INT64_MIN + 1, INT64_MAX,
					 INT64_MAX - 5, START };

	(void)unused;
	for (int run = 0; run < 300; run++) {
		struct machine machines[2] = { { 0 }, { 0 } };
		struct sonde_host_clock clocks[2];
		struct sonde_transfers transfers = { 0 };
		struct line lines[] = { { 0, 1, 7 }, { 1, 0, 8 } };

		for (int i = 0; i < 10; i++) {
			size_t at = transfers.nr;

			send(&transfers, machines, &lines[i % 2], START + i);
			for (; at < transfers.nr; at++) {
				transfers.at[at].time_ns =
					times[random_below(&state, 4)];
				transfers.at[at].call_ns =
					times[random_below(&state, 4)];
			}
		}
		sonde_transfers_match(&transfers);
		assert_int_equal(
			sonde_host_clocks_find(
				&transfers, 0, times[random_below(&state, 4)],
				times[random_below(&state, 4)], clocks, 2),
			0);
		sonde_transfers_fini(&transfers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_byte_is_of_the_one_that_sent_it),
		cmocka_unit_test(what_several_sent_is_of_nobody),
		cmocka_unit_test(a_byte_that_two_calls_sent_is_of_nobody),
		cmocka_unit_test(
			a_transfer_is_of_the_call_that_its_thread_is_in),
		cmocka_unit_test(clocks_of_a_chain_are_within_their_bound),
		cmocka_unit_test(times_that_cannot_be_give_no_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
