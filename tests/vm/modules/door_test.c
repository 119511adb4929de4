// SPDX-License-Identifier: MIT
/*
 * door_test.c - what the module promises of /dev/sonde-markN: a write is a record of
 * the channel whose door it is, whole, or it is counted.
 *
 *	door_test [PART]
 *
 * As root, where nobody else uses the module; PART: only claims whose name has it.
 * Each function's name is a claim. CPU 0 only, so it runs where there is no other.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUBBUF 4096u
#define NR     4u
#define SPAN   ((size_t)(NR + 1) * SUBBUF)
#define ID     9

static int device_fd;

/* ---- a session with a door ---- */

struct rig {
	int session;
	int channel;
	int stream;
	int number;
	unsigned char *memory;
};

static int give_door(int channel, uint32_t id)
{
	struct sonde_kmod_door door = { .size = sizeof(door), .id = id };

	return ioctl(channel, SONDE_KMOD_DOOR, &door);
}

static int make_channel(int session)
{
	struct sonde_kmod_channel channel = { .size = sizeof(channel),
					      .subbuf_bytes = SUBBUF,
					      .nr_subbufs = NR };

	return ioctl(session, SONDE_KMOD_CHANNEL, &channel);
}

static int make_session(void)
{
	struct sonde_kmod_session session = { .size = sizeof(session) };

	return ioctl(device_fd, SONDE_KMOD_SESSION, &session);
}

static struct rig rig_make(void)
{
	struct sonde_kmod_stream stream = { .size = sizeof(stream) };
	struct rig rig = { .session = make_session() };

	rig.channel = make_channel(rig.session);
	rig.stream = ioctl(rig.channel, SONDE_KMOD_STREAM, &stream);
	rig.memory = mmap(NULL, SPAN, PROT_READ, MAP_SHARED, rig.stream, 0);
	CLAIM(rig.memory != MAP_FAILED);
	rig.number = give_door(rig.channel, ID);
	CLAIM(rig.number >= 0 && rig.number < (int)SONDE_KMOD_DOORS);
	return rig;
}

static void rig_drop(struct rig *rig)
{
	CLAIM(!munmap(rig->memory, SPAN));
	CLAIM(!close(rig->stream) && !close(rig->channel) &&
	      !close(rig->session));
}

static void start(const struct rig *rig)
{
	CLAIM(!ioctl(rig->session, SONDE_KMOD_START));
}

static void stop(const struct rig *rig)
{
	CLAIM(!ioctl(rig->session, SONDE_KMOD_STOP));
}

static int open_door(int number)
{
	char path[40];

	(void)snprintf(path, sizeof(path), SONDE_KMOD_DOOR_DEVICE,
		       (unsigned int)number);
	return open(path, O_WRONLY | O_CLOEXEC);
}

/* ---- what was recorded ---- */

/* Appends each line of a chunk to *to, with a '|' behind it. */
static char *take_lines(const unsigned char *at, const unsigned char *end,
			char *to)
{
	while (at + 14 <= end) {
		uint32_t tid, bytes;
		uint16_t id;

		memcpy(&id, at, sizeof(id));
		at += id == 65535 ? 14 : 6;
		memcpy(&tid, at, sizeof(tid));
		memcpy(&bytes, at + 4, sizeof(bytes));
		at += 8;
		CLAIM(id == ID || id == 65535);
		CLAIM(tid == (uint32_t)gettid());
		CLAIM(bytes && bytes <= SONDE_KMOD_LINE_MAX &&
		      bytes <= (size_t)(end - at));
		if (has_failed())
			return to;
		memcpy(to, at, bytes);
		to += bytes;
		*to++ = '|';
		at += bytes;
	}
	CLAIM(at == end);
	return to;
}

/* All that is to be read, as "line|line|"; how many events that are. */
static uint64_t read_lines(const struct rig *rig, char text[SPAN * 2])
{
	struct sonde_kmod_chunk chunk = { .size = sizeof(chunk) };
	uint64_t nr = 0;

	*text = '\0';
	while (!has_failed() &&
	       ioctl(rig->stream, SONDE_KMOD_GET, &chunk) == 1) {
		const unsigned char *at = rig->memory + chunk.offset;

		text = take_lines(at, at + chunk.bytes, text);
		*text = '\0';
		nr += chunk.events;
		CLAIM(!ioctl(rig->stream, SONDE_KMOD_PUT, &chunk));
		chunk.size = sizeof(chunk);
	}
	return nr;
}

static char lines[SPAN * 2];

static ssize_t say(int fd, const char *text)
{
	return write(fd, text, strlen(text));
}

/* ---- claims ---- */

static void doors_are_roots_alone(void)
{
	struct stat about;
	char path[40];

	for (unsigned int i = 0; i < SONDE_KMOD_DOORS; i++) {
		(void)snprintf(path, sizeof(path), SONDE_KMOD_DOOR_DEVICE, i);
		CLAIM(!stat(path, &about));
		CLAIM((about.st_mode & 07777) == 0600 && about.st_uid == 0);
	}
}

static void doors_without_a_session_do_not_open(void)
{
	FAILS(open_door(0), ENXIO);
	FAILS(open_door(SONDE_KMOD_DOORS - 1), ENXIO);
}

static void each_write_is_a_record_with_its_bytes(void)
{
	struct rig rig = rig_make();
	int fd = open_door(rig.number);

	CLAIM(fd >= 0);
	start(&rig);
	CLAIM(say(fd, "job:done code=7\n") == 16);
	CLAIM(write(fd, "a\0b", 3) == 3);
	CLAIM(write(fd, "", 0) == 0);
	CLAIM(say(fd, "x") == 1);
	stop(&rig);
	CLAIM(read_lines(&rig, lines) == 3);
	CLAIM(!memcmp(lines, "job:done code=7\n|a\0b|x|", 24));
	CLAIM(!close(fd));
	rig_drop(&rig);
}

static void long_writes_are_lines_of_the_most_that_one_has(void)
{
	struct rig rig = rig_make();
	int fd = open_door(rig.number);
	char text[SONDE_KMOD_LINE_MAX + 5];

	memset(text, 'y', sizeof(text));
	start(&rig);
	CLAIM(write(fd, text, sizeof(text)) == SONDE_KMOD_LINE_MAX);
	stop(&rig);
	CLAIM(read_lines(&rig, lines) == 1);
	CLAIM(strlen(lines) == SONDE_KMOD_LINE_MAX + 1);
	CLAIM(!close(fd));
	rig_drop(&rig);
}

static void nothing_is_written_but_from_start_to_stop(void)
{
	struct rig rig = rig_make();
	int fd = open_door(rig.number);

	FAILS(say(fd, "early"), EBADF);
	start(&rig);
	CLAIM(say(fd, "now") == 3);
	stop(&rig);
	FAILS(say(fd, "late"), EBADF);
	CLAIM(read_lines(&rig, lines) == 1 && !strcmp(lines, "now|"));
	CLAIM(!close(fd));
	rig_drop(&rig);
}

static void who_wrote_to_one_session_does_not_write_to_the_next(void)
{
	struct rig one = rig_make();
	struct rig two;
	int old = open_door(one.number);
	int fresh;

	rig_drop(&one);
	FAILS(say(old, "gone"), EBADF);
	two = rig_make();
	CLAIM(two.number == one.number);
	start(&two);
	FAILS(say(old, "gone"), EBADF);
	fresh = open_door(two.number);
	CLAIM(say(fresh, "here") == 4);
	stop(&two);
	CLAIM(read_lines(&two, lines) == 1 && !strcmp(lines, "here|"));
	CLAIM(!close(old) && !close(fresh));
	rig_drop(&two);
}

static void an_open_door_keeps_no_session(void)
{
	struct sonde_kmod_info info = { .size = sizeof(info) };
	struct rig rig = rig_make();
	int fd = open_door(rig.number);

	rig_drop(&rig);
	CLAIM(!ioctl(device_fd, SONDE_KMOD_INFO, &info));
	CLAIM(info.nr_sessions == 0);
	CLAIM(!close(fd));
}

static void sessions_have_doors_of_their_own(void)
{
	struct rig one = rig_make(), two = rig_make();
	int fd = open_door(two.number);

	CLAIM(one.number != two.number);
	start(&one);
	start(&two);
	CLAIM(say(fd, "second") == 6);
	stop(&one);
	stop(&two);
	CLAIM(read_lines(&one, lines) == 0);
	CLAIM(read_lines(&two, lines) == 1 && !strcmp(lines, "second|"));
	CLAIM(!close(fd));
	rig_drop(&one);
	rig_drop(&two);
}

static void what_finds_no_room_is_told_and_counted(void)
{
	struct sonde_kmod_counts counts = { .size = sizeof(counts) };
	struct rig rig = rig_make();
	int fd = open_door(rig.number);
	uint64_t kept = 0, lost = 0;
	const uint32_t nr = 2 * NR * SUBBUF / 32;

	start(&rig);
	for (uint32_t i = 0; i < nr; i++) {
		if (say(fd, "a line of so many bytes") == 23)
			kept++;
		else
			lost += errno == EBADF;
	}
	stop(&rig);
	CLAIM(kept && lost && kept + lost == nr);
	CLAIM(read_lines(&rig, lines) == kept);
	CLAIM(!ioctl(rig.stream, SONDE_KMOD_STREAM_COUNTS, &counts));
	CLAIM(counts.delivered == kept && counts.lost_full == lost);
	CLAIM(!counts.lost_size && !counts.lost_busy);
	CLAIM(!close(fd));
	rig_drop(&rig);
}

/* What was never touched has no page yet; what isn't mapped never will. */
static void memory_that_is_not_there_is_waited_for_or_refused(void)
{
	struct rig rig = rig_make();
	int fd = open_door(rig.number);
	int file = memfd_create("door_test", MFD_CLOEXEC);
	void *volatile nowhere = NULL;
	char *fresh, *again;

	CLAIM(pwrite(file, "from a file", 11, 0) == 11);
	fresh = mmap(NULL, SUBBUF, PROT_READ, MAP_PRIVATE, file, 0);
	again = mmap(NULL, 2 * SUBBUF, PROT_READ, MAP_SHARED, file, 0);
	CLAIM(fresh != MAP_FAILED && again != MAP_FAILED);
	start(&rig);
	CLAIM(write(fd, fresh, 11) == 11);
	FAILS(write(fd, nowhere, 4), EFAULT);
	FAILS(write(fd, (void *)(UINTPTR_MAX - 4095), 4), EFAULT);
	/* Half of it is there. */
	CLAIM(!munmap(again + SUBBUF, SUBBUF));
	FAILS(write(fd, again + SUBBUF - 2, 4), EFAULT);
	stop(&rig);
	CLAIM(read_lines(&rig, lines) == 1 && !strcmp(lines, "from a file|"));
	CLAIM(!munmap(fresh, SUBBUF) && !munmap(again, SUBBUF));
	CLAIM(!close(file) && !close(fd));
	rig_drop(&rig);
}

static void requests_for_doors_are_checked(void)
{
	struct rig rig = rig_make();
	int channel = make_channel(rig.session);

	FAILS(give_door(channel, 0), EINVAL);
	FAILS(give_door(channel, SONDE_KMOD_IDS_MAX + 1), EINVAL);
	FAILS(give_door(rig.channel, ID), EBUSY);
	FAILS(give_door(rig.session, ID), ENOTTY);
	FAILS(ioctl(channel, SONDE_KMOD_DOOR, NULL), EFAULT);
	CLAIM(!close(channel));
	rig_drop(&rig);
}

static void doors_are_given_until_there_is_none(void)
{
	int sessions[SONDE_KMOD_DOORS + 1];
	int channels[SONDE_KMOD_DOORS + 1];
	uint32_t seen = 0;

	for (uint32_t i = 0; i <= SONDE_KMOD_DOORS; i++) {
		sessions[i] = make_session();
		channels[i] = make_channel(sessions[i]);
		if (i < SONDE_KMOD_DOORS)
			seen |= 1u << (unsigned int)give_door(channels[i], ID);
	}
	CLAIM(seen == (1u << SONDE_KMOD_DOORS) - 1);
	FAILS(give_door(channels[SONDE_KMOD_DOORS], ID), ENOSPC);
	CLAIM(!close(channels[3]));
	CLAIM(give_door(channels[SONDE_KMOD_DOORS], ID) == 3);
	for (uint32_t i = 0; i <= SONDE_KMOD_DOORS; i++) {
		CLAIM(i == 3 || !close(channels[i]));
		CLAIM(!close(sessions[i]));
	}
}

static const struct test tests[] = {
	TEST(doors_are_roots_alone),
	TEST(doors_without_a_session_do_not_open),
	TEST(each_write_is_a_record_with_its_bytes),
	TEST(long_writes_are_lines_of_the_most_that_one_has),
	TEST(nothing_is_written_but_from_start_to_stop),
	TEST(who_wrote_to_one_session_does_not_write_to_the_next),
	TEST(an_open_door_keeps_no_session),
	TEST(sessions_have_doors_of_their_own),
	TEST(what_finds_no_room_is_told_and_counted),
	TEST(memory_that_is_not_there_is_waited_for_or_refused),
	TEST(requests_for_doors_are_checked),
	TEST(doors_are_given_until_there_is_none),
};

int main(int argc, char **argv)
{
	device_fd = open(SONDE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	if (device_fd < 0)
		die(SONDE_KMOD_DEVICE);
	bind_to(0);
	return RUN(tests, .words = argv + 1);
}
