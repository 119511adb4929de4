/* SPDX-License-Identifier: MIT */
#include "gdb/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sonde_gdb_packets packets;

/* What is heard last, of these bytes. */
static enum sonde_gdb_heard hear(const char *bytes, size_t nr)
{
	enum sonde_gdb_heard heard = SONDE_GDB_HEARD_NOTHING;

	for (size_t i = 0; i < nr; i++)
		heard = sonde_gdb_packets_hear(&packets, (uint8_t)bytes[i]);
	return heard;
}

static enum sonde_gdb_heard hear_text(const char *text)
{
	return hear(text, strlen(text));
}

static int begin(void **state)
{
	(void)state;
	sonde_gdb_packets_init(&packets);
	return 0;
}

static void a_packet_is_heard(void **state)
{
	(void)state;
	assert_int_equal(hear_text("+$qC#b4"), SONDE_GDB_HEARD_PACKET);
	assert_string_equal(packets.body, "qC");
	assert_int_equal(packets.length, 2);
	assert_int_equal(hear_text("+"), SONDE_GDB_HEARD_ACK);
	assert_int_equal(hear_text("-"), SONDE_GDB_HEARD_NACK);
	assert_int_equal(hear_text("\x03"), SONDE_GDB_HEARD_INTERRUPT);
	assert_int_equal(hear_text("x"), SONDE_GDB_HEARD_NOTHING);
}

static void a_wrong_sum_is_noticed(void **state)
{
	(void)state;
	assert_int_equal(hear_text("$qC#b5"), SONDE_GDB_HEARD_BROKEN);
	assert_int_equal(hear_text("$qC#zz"), SONDE_GDB_HEARD_BROKEN);
	packets.ignores_sums = true;
	assert_int_equal(hear_text("$qC#b5"), SONDE_GDB_HEARD_PACKET);
}

static void escaped_bytes_come_back(void **state)
{
	char frame[SONDE_GDB_FRAME_MAX];
	char bytes[256];
	size_t nr;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	nr = sonde_gdb_packet_frame(bytes, sizeof(bytes), frame);
	assert_int_equal(hear(frame, nr), SONDE_GDB_HEARD_PACKET);
	assert_int_equal(packets.length, sizeof(bytes));
	assert_memory_equal(packets.body, bytes, sizeof(bytes));
}

static void a_new_start_in_a_body_counts(void **state)
{
	(void)state;
	assert_int_equal(hear_text("$garbage$qC#b4"), SONDE_GDB_HEARD_PACKET);
	assert_string_equal(packets.body, "qC");
}

static void the_longest_body_is_taken_and_no_longer_one(void **state)
{
	(void)state;
	packets.ignores_sums = true;
	(void)hear_text("$");
	for (size_t i = 0; i < SONDE_GDB_PACKET_MAX; i++)
		(void)hear_text("a");
	assert_int_equal(hear_text("#00"), SONDE_GDB_HEARD_PACKET);
	assert_int_equal(packets.length, SONDE_GDB_PACKET_MAX);
	(void)hear_text("$");
	for (size_t i = 0; i < SONDE_GDB_PACKET_MAX + 1; i++)
		(void)hear_text("a");
	assert_int_equal(hear_text("#00"), SONDE_GDB_HEARD_TOO_LONG);
	assert_int_equal(hear_text("$qC#b4"), SONDE_GDB_HEARD_PACKET);
	assert_string_equal(packets.body, "qC");
}

static void run_lengths_are_expanded_if_wanted(void **state)
{
	(void)state;
	packets.ignores_sums = true;
	(void)hear_text("$0* #00");
	assert_string_equal(packets.body, "0* ");
	packets.expands = true;
	assert_int_equal(hear_text("$0* #00"), SONDE_GDB_HEARD_PACKET);
	assert_string_equal(packets.body, "0000");
	/* Nothing to repeat, or no number of times. */
	assert_int_equal(hear_text("$*~#00"), SONDE_GDB_HEARD_PACKET);
	assert_string_equal(packets.body, "");
}

static void any_bytes_leave_a_working_reader(void **state)
{
	(void)state;
	srandom(1);
	packets.ignores_sums = true;
	packets.expands = true;
	for (int i = 0; i < 200000; i++) {
		(void)sonde_gdb_packets_hear(&packets, (uint8_t)random());
		assert_true(packets.length <= SONDE_GDB_PACKET_MAX);
	}
	(void)hear_text("#00#00");
	assert_int_equal(hear_text("$qC#b4"), SONDE_GDB_HEARD_PACKET);
	assert_string_equal(packets.body, "qC");
}

static void a_reply_that_is_too_long_is_an_error(void **state)
{
	static struct sonde_gdb_reply reply;

	(void)state;
	sonde_gdb_reply_clear(&reply);
	for (int i = 0; i < SONDE_GDB_PACKET_MAX; i++)
		sonde_gdb_reply_text(&reply, "a");
	assert_int_equal(reply.length, SONDE_GDB_PACKET_MAX);
	sonde_gdb_reply_text(&reply, "a");
	assert_string_equal(reply.bytes, "E01");
	sonde_gdb_reply_format(&reply, "%d", 1);
	sonde_gdb_reply_hex(&reply, "a", 1);
	assert_string_equal(reply.bytes, "E01");
	sonde_gdb_reply_clear(&reply);
	sonde_gdb_reply_hex(&reply, "ab\xff", 3);
	assert_string_equal(reply.bytes, "6162ff");
	sonde_gdb_reply_refuse(&reply, "no *room* for $1\n");
	assert_string_equal(reply.bytes, "E.no .room. for .1.");
}

static void parts_of_a_long_answer_join(void **state)
{
	static struct sonde_gdb_reply reply;

	(void)state;
	sonde_gdb_reply_clear(&reply);
	sonde_gdb_reply_part(&reply, "0,4", "abcdef", 6);
	assert_string_equal(reply.bytes, "mabcd");
	sonde_gdb_reply_clear(&reply);
	sonde_gdb_reply_part(&reply, "4,4", "abcdef", 6);
	assert_string_equal(reply.bytes, "lef");
	sonde_gdb_reply_clear(&reply);
	sonde_gdb_reply_part(&reply, "ffffffffffffffff,ffffffffffffffff",
			     "abcdef", 6);
	assert_string_equal(reply.bytes, "l");
	sonde_gdb_reply_clear(&reply);
	sonde_gdb_reply_part(&reply, "4;4", "abcdef", 6);
	assert_string_equal(reply.bytes, "E01");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_packet_is_heard, begin),
		cmocka_unit_test_setup(a_wrong_sum_is_noticed, begin),
		cmocka_unit_test_setup(escaped_bytes_come_back, begin),
		cmocka_unit_test_setup(a_new_start_in_a_body_counts, begin),
		cmocka_unit_test_setup(
			the_longest_body_is_taken_and_no_longer_one, begin),
		cmocka_unit_test_setup(run_lengths_are_expanded_if_wanted,
				       begin),
		cmocka_unit_test_setup(any_bytes_leave_a_working_reader, begin),
		cmocka_unit_test_setup(a_reply_that_is_too_long_is_an_error,
				       begin),
		cmocka_unit_test_setup(parts_of_a_long_answer_join, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
