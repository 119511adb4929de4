/* SPDX-License-Identifier: MIT */
/*
 * What a server answers, over a target and a run that are fakes (gdb_fakes.c).
 * What GDB sends is a file; so is what it gets.
 */
#include "gdb/server.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "gdb/packet.h"
#include "gdb_fakes.h"

static struct sonde_gdb_server *server;
static int target_freed;
static char answers[1 << 20];
static char *next_answer;
static enum sonde_gdb_end why;

static bool target_packet(void *target, const char *packet, size_t length,
			  struct sonde_gdb_reply *reply)
{
	(void)target;
	(void)length;
	if (!strcmp(packet, "k")) {
		sonde_gdb_server_end(server, SONDE_GDB_END_KILLED);
		return false;
	}
	if (!strcmp(packet, "g") || packet[0] == 'm')
		sonde_gdb_reply_text(reply, "live");
	return true;
}

static void target_nothing(void *target)
{
	(void)target;
}

static int target_fd(void *target)
{
	(void)target;
	return -1;
}

static void target_features(void *target, struct sonde_gdb_reply *reply)
{
	(void)target;
	sonde_gdb_reply_text(reply, ";fake+");
}

static int target_read(void *target, uint64_t address, uint8_t *to, size_t size)
{
	(void)target;
	(void)address;
	(void)to;
	(void)size;
	return -EIO;
}

static struct sonde_process *target_process(void *target, char *error,
					    size_t error_size)
{
	(void)target;
	(void)error;
	(void)error_size;
	return fake_process();
}

static pid_t target_pid(void *target)
{
	(void)target;
	return 1;
}

static void target_free(void *target)
{
	(void)target;
	target_freed++;
}

static const struct sonde_gdb_target_ops ops = {
	.packet = target_packet,
	.interrupt = target_nothing,
	.fd = target_fd,
	.ready = target_nothing,
	.features = target_features,
	.read = target_read,
	.process = target_process,
	.pid = target_pid,
	.disconnected = target_nothing,
	.free = target_free,
};

static int begin(void **state)
{
	struct sonde_gdb_server_config config = { .ops = &ops };

	(void)state;
	memset(&fake_log, 0, sizeof(fake_log));
	target_freed = 0;
	return sonde_gdb_server_new(&config, &server);
}

static int end(void **state)
{
	(void)state;
	sonde_gdb_server_free(server);
	return target_freed == 1 ? 0 : -1;
}

/* Serves these bytes to their end. */
static void serve(const char *bytes, size_t nr)
{
	int in = memfd_create("in", MFD_CLOEXEC);
	int out = memfd_create("out", MFD_CLOEXEC);
	ssize_t got;

	assert_int_equal(write(in, bytes, nr), nr);
	assert_int_equal(lseek(in, 0, SEEK_SET), 0);
	assert_int_equal(sonde_gdb_server_serve(server, in, out, &why), 0);
	got = pread(out, answers, sizeof(answers) - 1, 0);
	assert_true(got >= 0);
	answers[got] = '\0';
	next_answer = answers;
	(void)close(in);
	(void)close(out);
}

/* Packets, NULL at the end. */
static void say(const char *first, ...)
{
	static char frame[SONDE_GDB_FRAME_MAX];
	static char all[1 << 18];
	size_t used = 0;
	va_list args;

	va_start(args, first);
	for (const char *packet = first; packet;
	     packet = va_arg(args, const char *)) {
		size_t nr =
			sonde_gdb_packet_frame(packet, strlen(packet), frame);

		memcpy(all + used, frame, nr);
		used += nr;
	}
	va_end(args);
	serve(all, used);
}

/* The next answer's body. */
static const char *hear(void)
{
	char *start = next_answer + strspn(next_answer, "+");
	char *stop;

	assert_int_equal(*start, '$');
	stop = strchr(start, '#');
	assert_non_null(stop);
	*stop = '\0';
	next_answer = stop + 3;
	return start + 1;
}

static void hear_nothing_more(void)
{
	assert_int_equal(next_answer[strspn(next_answer, "+")], '\0');
}

#define TWO_POINTS "QTinit", "QTDP:1:1010:E:0:0", "QTDP:2:1020:E:0:0"

static void hear_ok(int times)
{
	while (times-- > 0)
		assert_string_equal(hear(), "OK");
}

static void it_says_what_it_can(void **state)
{
	const char *text;

	(void)state;
	say("qSupported:multiprocess+", "vMustReplyEmpty", "qTMinFTPILen",
	    NULL);
	text = hear();
	assert_non_null(strstr(text, "PacketSize=4000;"));
	assert_non_null(strstr(text, ";tracenz+;"));
	assert_non_null(strstr(text, ";fake+"));
	assert_string_equal(hear(), "");
	assert_string_equal(hear(), "1");
	hear_nothing_more();
}

static void what_is_not_acknowledged_comes_again(void **state)
{
	(void)state;
	serve("$qTfV#80-+$qTfV#81", 18);
	assert_true(!strncmp(answers, "-", 1));
	next_answer = strchr(answers, '$');
	/* The last one is told first. */
	assert_string_equal(hear(), "4:0:1:74726163655f74696d657374616d70");
}

static void a_run_starts_and_stops(void **state)
{
	(void)state;
	say(TWO_POINTS, "QTStart", "qTStatus", "QTStart",
	    "QTNotes:tstop:626965;", "QTStop", "qTStatus", "qTP:1:1010",
	    "qTP:9:1010", NULL);
	hear_ok(4);
	assert_non_null(strstr(hear(), "T1;tnotrun:0;tframes:14;"));
	assert_true(!strncmp(hear(), "E.", 2));
	hear_ok(2);
	assert_non_null(
		strstr(hear(), "T0;tstop:626965:0;tframes:14;tcreated:14;"));
	assert_string_equal(hear(), "Va:3e8");
	assert_string_equal(hear(), "E01");
	hear_nothing_more();
}

static void an_error_of_the_run_is_told(void **state)
{
	(void)state;
	fake_log.refuse = true;
	say(TWO_POINTS, "QTStart", "qTStatus", NULL);
	hear_ok(3);
	assert_string_equal(hear(), "E.no .room. for .pads.");
	assert_true(!strncmp(hear(), "T0;tnotrun:0;", 13));
}

static void a_full_buffer_ends_the_run(void **state)
{
	(void)state;
	say(TWO_POINTS, "QTBuffer:size:100", "QTStart", "qTStatus", NULL);
	hear_ok(5);
	assert_non_null(strstr(hear(), "T0;tfull:0;"));
	say(TWO_POINTS, "QTBuffer:circular:1", "QTStart", "qTStatus", NULL);
	hear_ok(5);
	assert_non_null(strstr(hear(), "T1;"));
}

static void a_disconnected_run_goes_on_if_wanted(void **state)
{
	(void)state;
	say(TWO_POINTS, "QTStart", NULL);
	say("qTStatus", NULL);
	assert_non_null(strstr(hear(), "T0;tdisconnected:0;"));
	say(TWO_POINTS, "QTDisconnected:1", "QTStart", NULL);
	assert_true(sonde_gdb_server_is_running(server));
	say("qTStatus", "qTfP", "qTsP", "qTsP", "k", NULL);
	assert_non_null(strstr(hear(), "T1;"));
	assert_string_equal(hear(), "T1:1010:E:0:0");
	assert_string_equal(hear(), "T2:1020:E:0:0");
	assert_string_equal(hear(), "l");
	assert_int_equal(why, SONDE_GDB_END_KILLED);
	assert_false(sonde_gdb_server_is_running(server));
}

static void a_point_comes_in_when_its_lines_are_there(void **state)
{
	(void)state;
	say(TWO_POINTS, "QTStart", "QSondeName:736c6f77", "QTDP:3:1030:E:0:0-",
	    "QTDP:-3:1030:R1", "QTDPsrc:3:1030:cmd:0:1:61", "qTStatus",
	    "QTDisable:1:1010", "QTEnable:1:1010", "QTEnable:7:1010",
	    "QSondeRemove:3", NULL);
	assert_int_equal(fake_log.added, 1);
	assert_int_equal(fake_log.added_sources, 2);
	assert_int_equal(fake_log.enabled, 0);
	assert_int_equal(fake_log.removed, 1);
	/* GDB sends one that is in again. */
	say(TWO_POINTS, "QTStart", "QTDP:1:1010:E:0:0", "qTStatus", NULL);
	assert_int_equal(fake_log.added, 1);
}

static void frames_are_found(void **state)
{
	(void)state;
	say(TWO_POINTS, "QTStart", "QTFrame:0", "QTStop", "QTFrame:0",
	    "QTFrame:13", "QTFrame:14", "QTFrame:ffffffff", "QTFrame:tdp:2",
	    "QTFrame:tdp:2", "QTFrame:ffffffff", "QTFrame:pc:1020",
	    "QTFrame:ffffffff", "QTFrame:outside:1000:101f",
	    "QTFrame:range:1000:101f", NULL);
	hear_ok(4);
	assert_string_equal(hear(), "F-1");
	hear_ok(1);
	assert_string_equal(hear(), "F0T1");
	assert_string_equal(hear(), "F13T2");
	assert_string_equal(hear(), "F-1");
	hear_ok(1);
	assert_string_equal(hear(), "FaT2");
	assert_string_equal(hear(), "FbT2");
	hear_ok(1);
	assert_string_equal(hear(), "FaT2");
	hear_ok(1);
	assert_string_equal(hear(), "FaT2");
	assert_string_equal(hear(), "F-1");
}

static void a_frame_answers_for_the_process(void **state)
{
	const char *registers;

	(void)state;
	say(TWO_POINTS, "QTStart", "QTStop", "g", "QTFrame:3", "g", "p10",
	    "m1000,4", "m10ff,4", "m2000,4", "qTV:2", "qTV:4", "M1000,1:00",
	    "qXfer:traceframe-info:read::0,fff",
	    "qXfer:statictrace:read::0,fff", "QTFrame:ffffffff", "m1000,4",
	    "qXfer:traceframe-info:read::0,fff", NULL);
	hear_ok(5);
	assert_string_equal(hear(), "live");
	assert_string_equal(hear(), "F3T1");
	registers = hear();
	assert_int_equal(strlen(registers), 600);
	assert_memory_equal(registers, "0300000000000000", 16);
	assert_memory_equal(registers + 3 * 16, "xxxxxxxxxxxxxxxx", 16);
	assert_memory_equal(registers + 16 * 16, "1010000000000000xxxxxxxx",
			    24);
	assert_string_equal(hear(), "1010000000000000");
	assert_string_equal(hear(), "00010203");
	assert_string_equal(hear(), "ff");
	assert_string_equal(hear(), "E01");
	assert_string_equal(hear(), "V3");
	assert_string_equal(hear(), "U");
	assert_string_equal(hear(), "E01");
	assert_non_null(strstr(hear(), "l<traceframe-info>"));
	assert_string_equal(hear(), "la = 1}]");
	hear_ok(1);
	assert_string_equal(hear(), "live");
	assert_string_equal(hear(), "E01");
}

static void raw_frames_come_in_pieces(void **state)
{
	(void)state;
	say(TWO_POINTS, "QTStart", "QTStop", "qTBuffer:7ce,3", "qTBuffer:7d0,3",
	    "qTBuffer:0,ffffffff", NULL);
	hear_ok(5);
	assert_string_equal(hear(), "5a5a");
	assert_string_equal(hear(), "l");
	assert_int_equal(strlen(hear()), 4000);
}

static void a_trace_is_saved(void **state)
{
	char name[] = "/tmp/sonde-test-XXXXXX";
	int fd = mkstemp(name);
	char text[16384] = "";
	char packet[100] = "QTSave:";
	ssize_t nr;

	(void)state;
	assert_true(fd >= 0);
	for (const char *c = name; *c; c++)
		(void)sprintf(packet + strlen(packet), "%02x", *c);
	say(TWO_POINTS, "QTStart", "QTStop", packet, "QTSave:2f2f", NULL);
	hear_ok(6);
	assert_true(!strncmp(hear(), "E.", 2));
	nr = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	(void)unlink(name);
	assert_true(nr > 2000);
	assert_true(
		!strncmp(text, "\x7fTRACE0\nR 12c\nstatus 0;tstop::0;", 30));
	assert_non_null(strstr(text, "\ntp T1:1010:E:0:0\n"));
	assert_non_null(strstr(text, "\ntsv 1:0:1:74"));
	assert_non_null(strstr(text, "</target>\n\nZZZZ"));
	assert_memory_equal(text + nr - 5, "Z\0\0\0\0", 5);
}

static void markers_are_listed(void **state)
{
	(void)state;
	say("qTfSTM", "qTsSTM", "qTSTMat:5000", "qTSTMat:5001", NULL);
	assert_string_equal(hear(),
			    "m4000:736f6e64652f746573743a6f6e652e2e:696e742061,"
			    "5000:7364742f746573743a74776f2e2e2e2e:");
	assert_string_equal(hear(), "l");
	assert_true(!strncmp(hear(), "m5000:", 6));
	assert_string_equal(hear(), "l");
}

static void nonsense_is_refused(void **state)
{
	static const char *const words[] = {
		"QTDP:",
		"QTDPsrc:",
		"QTDV:",
		"QTBuffer:circular:",
		"QTBuffer:size:",
		"QTNotes:x",
		"QTDisconnected:",
		"QTEnable:",
		"QTDisable:",
		"QTFrame:",
		"QTSave:",
		"qTP:",
		"qTV:",
		"qTSTMat:",
		"qTBuffer:",
		"QSondeName:",
		"QSondeRemove:",
		"qXfer:traceframe-info:read::",
	};
	char packet[100];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		say(words[i], NULL);
		assert_int_equal(*hear(), 'E');
		(void)snprintf(packet, sizeof(packet), "%sz", words[i]);
		say(packet, NULL);
		assert_int_equal(*hear(), 'E');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_says_what_it_can, begin,
						end),
		cmocka_unit_test_setup_teardown(
			what_is_not_acknowledged_comes_again, begin, end),
		cmocka_unit_test_setup_teardown(a_run_starts_and_stops, begin,
						end),
		cmocka_unit_test_setup_teardown(an_error_of_the_run_is_told,
						begin, end),
		cmocka_unit_test_setup_teardown(a_full_buffer_ends_the_run,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_disconnected_run_goes_on_if_wanted, begin, end),
		cmocka_unit_test_setup_teardown(
			a_point_comes_in_when_its_lines_are_there, begin, end),
		cmocka_unit_test_setup_teardown(frames_are_found, begin, end),
		cmocka_unit_test_setup_teardown(a_frame_answers_for_the_process,
						begin, end),
		cmocka_unit_test_setup_teardown(raw_frames_come_in_pieces,
						begin, end),
		cmocka_unit_test_setup_teardown(a_trace_is_saved, begin, end),
		cmocka_unit_test_setup_teardown(markers_are_listed, begin, end),
		cmocka_unit_test_setup_teardown(nonsense_is_refused, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
