/* SPDX-License-Identifier: MIT */
/*
 * test_ctf_packed.c - stream files that are compressed: they are read as they were,
 * in any order; torn, damaged and hostile ones say so.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/packed.h"

#define TAIL_BYTES 128u
#define SIZE       (2 * SONDE_CTF_FRAME_BYTES + 4711)

static char path[] = "/tmp/sonde-packed-XXXXXX";
static int dir = -1;
static uint8_t plain[SIZE];

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(path))
		return -1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < SIZE; i++)
		plain[i] = (uint8_t)(i / 4096 + i % 7);
	return dir < 0 ? -1 : 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlinkat(dir, "stream", 0);
	(void)close(dir);
	return rmdir(path);
}

static bool yes(void *ctx)
{
	(void)ctx;
	return true;
}

static bool once(void *ctx)
{
	int *nr = ctx;

	return !(*nr)++;
}

static void write_stream(const uint8_t *bytes, size_t size)
{
	int fd = openat(dir, "stream", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(close(fd), 0);
}

static uint64_t stream_size(void)
{
	struct stat st;

	assert_int_equal(fstatat(dir, "stream", &st, 0), 0);
	return (uint64_t)st.st_size;
}

/* Its first `size` bytes, of which one may be spoiled, as a mapping. */
static struct sonde_ctf_packed *open_packed(uint64_t size, uint64_t spoiled)
{
	int fd = openat(dir, "stream", O_RDONLY | O_CLOEXEC);
	uint8_t *from = mmap(NULL, stream_size(), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE, fd, 0);
	struct sonde_ctf_packed *packed;

	assert_true(from != MAP_FAILED);
	assert_true(sonde_ctf_is_packed(from, size));
	if (spoiled)
		from[spoiled] ^= 0xff;
	assert_int_equal(close(fd), 0);
	assert_int_equal(sonde_ctf_packed_new(from, size, stream_size(),
					      TAIL_BYTES, &packed),
			 0);
	return packed;
}

static struct sonde_ctf_packed *pack_plain(void)
{
	write_stream(plain, SIZE);
	assert_int_equal(sonde_ctf_pack(dir, "stream", yes, NULL), 0);
	assert_true(stream_size() < SIZE / 10);
	return open_packed(stream_size(), 0);
}

static void file_reads_as_it_was(void **state)
{
	struct sonde_ctf_packed *packed = pack_plain();
	struct sonde_ctf_unpacked bytes = sonde_ctf_packed_bytes(packed);

	(void)state;
	assert_null(bytes.lack);
	assert_int_equal(bytes.size, SIZE);
	/* The last frame first; then what reaches into two. */
	assert_null(sonde_ctf_packed_need(packed, SIZE - 1, 100));
	assert_int_equal(bytes.data[SIZE - 1], plain[SIZE - 1]);
	assert_int_equal(bytes.data[0], 0);
	assert_null(
		sonde_ctf_packed_need(packed, SONDE_CTF_FRAME_BYTES - 1, 2));
	assert_memory_equal(bytes.data, plain, SIZE);
	for (size_t i = 0; i < TAIL_BYTES; i++)
		assert_int_equal(bytes.data[SIZE + i], 0);
	assert_int_equal(sonde_ctf_pack(dir, "stream", yes, NULL), 0);
	sonde_ctf_packed_free(packed);
}

static void torn_file_reads_up_to_there(void **state)
{
	struct sonde_ctf_packed *packed;
	struct sonde_ctf_unpacked bytes;

	(void)state;
	sonde_ctf_packed_free(pack_plain());
	packed = open_packed(stream_size() - 1, 0);
	bytes = sonde_ctf_packed_bytes(packed);
	assert_string_equal(bytes.lack, "the compressed file is torn");
	assert_int_equal(bytes.size, 2 * SONDE_CTF_FRAME_BYTES);
	assert_null(sonde_ctf_packed_need(packed, 0, SIZE));
	assert_memory_equal(bytes.data, plain, bytes.size);
	sonde_ctf_packed_free(packed);
	packed = open_packed(5, 0);
	assert_null(sonde_ctf_packed_bytes(packed).data);
	sonde_ctf_packed_free(packed);
}

static void damaged_frame_says_so_and_others_are_read(void **state)
{
	struct sonde_ctf_packed *packed;
	struct sonde_ctf_unpacked bytes;

	(void)state;
	sonde_ctf_packed_free(pack_plain());
	packed = open_packed(stream_size(), stream_size() / 6);
	bytes = sonde_ctf_packed_bytes(packed);
	assert_non_null(sonde_ctf_packed_need(packed, 0, 1));
	assert_int_equal(bytes.data[17], 0);
	assert_null(sonde_ctf_packed_need(packed, SONDE_CTF_FRAME_BYTES, 9));
	assert_memory_equal(bytes.data + SONDE_CTF_FRAME_BYTES,
			    plain + SONDE_CTF_FRAME_BYTES,
			    SONDE_CTF_FRAME_BYTES);
	sonde_ctf_packed_free(packed);
}

/* RFC 8878: a frame of one segment, whose size has eight bytes. */
static void frame_that_claims_too_much_is_refused(void **state)
{
	static const uint8_t frame[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0x10, 0, 0, 0, 0, 1, 0, 0
	};
	struct sonde_ctf_packed *packed;

	(void)state;
	write_stream(frame, sizeof(frame));
	packed = open_packed(sizeof(frame), 0);
	assert_non_null(strstr(sonde_ctf_packed_bytes(packed).lack, "16 MiB"));
	assert_int_equal(sonde_ctf_packed_bytes(packed).size, 0);
	sonde_ctf_packed_free(packed);
}

static void giving_up_leaves_the_file(void **state)
{
	int nr = 0;

	(void)state;
	write_stream(plain, SIZE);
	assert_int_equal(sonde_ctf_pack(dir, "stream", once, &nr), -ECANCELED);
	assert_int_equal(nr, 2);
	assert_int_equal(stream_size(), SIZE);
	assert_int_equal(faccessat(dir, ".stream.new", F_OK, 0), -1);
	/* What would get larger stays as well. */
	write_stream(plain, 1);
	assert_int_equal(sonde_ctf_pack(dir, "stream", yes, NULL), 0);
	assert_int_equal(stream_size(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_reads_as_it_was),
		cmocka_unit_test(torn_file_reads_up_to_there),
		cmocka_unit_test(damaged_frame_says_so_and_others_are_read),
		cmocka_unit_test(frame_that_claims_too_much_is_refused),
		cmocka_unit_test(giving_up_leaves_the_file),
	};

	return sonde_ctf_can_pack() ?
		       cmocka_run_group_tests(tests, make_directory,
					      remove_directory) :
		       77;
}
