/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/os.h"
#include "fake_process.h"
#include "folder.h"
#include "random.h"
#include "session/arena_source.h"
#include "session/consumer.h"
#include "types/desc.h"

/* ---- a recording of fake processes into a scratch directory ---- */

static char scratch[64];
static struct sonde_summary summary;
static struct sonde_output output;
static struct sonde_arena_setup slot_setup;

/* An arena that is recorded. */
struct image {
	struct sonde_arena_source *source;
	struct sonde_consumer *consumer;
};
static uint64_t clock_value;

static uint64_t read_clock(void)
{
	return clock_value += 1000;
}

static int start_recording(void **state)
{
	struct sonde_ctf_config config = {
		.clock = { .name = "test", .description = "", .freq = 1000000 },
	};

	(void)state;
	strcpy(scratch, "/tmp/sonde-arena-XXXXXX");
	assert_non_null(mkdtemp(scratch));
	summary = (struct sonde_summary){ 0 };
	clock_value = 1000000;
	output = (struct sonde_output){
		.now = read_clock,
		.summary = &summary,
	};
	slot_setup = (struct sonde_arena_setup){
		.mode = SONDE_DISCARD,
		.header = SONDE_COMPACT,
		.clock = SONDE_CLOCK_CPU,
		.loglevel = 255,
		.rules = "+*\0",
		.rules_size = 4,
	};
	return sonde_ctf_trace_create(scratch, &config, &output.trace);
}

static int end_recording(void **state)
{
	(void)state;
	assert_int_equal(sonde_ctf_trace_close(output.trace), 0);
	return folder_remove(scratch);
}

static const struct sonde_geometry geometry = {
	.nr_cpus = 2,
	.nr_lanes = 4,
	.subbuf_size = 4096,
	.nr_subbufs = 4,
};

/* For those who take a descriptor over. */
static int copy_of(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Takes over the view. */
static struct image attach_view(struct sonde_arena_view *view,
				const struct sonde_arena_source_config *config)
{
	struct sonde_consumer_config consumer = {
		.class_id = config->id,
		.header = SONDE_COMPACT,
		.mode = config->is_left ? SONDE_OVERWRITE : config->setup.mode,
		.vpid = 4711,
		.start = config->is_left,
		.name = "fake (pid 4711)",
		.comment = "fake",
	};
	struct sonde_source_error none;
	struct image image;
	char files[32];

	(void)snprintf(files, sizeof(files), "fake-4711-%u", config->id);
	consumer.files = files;
	assert_int_equal(sonde_arena_source_new(config, view, &image.source),
			 0);
	assert_int_equal(sonde_consumer_new(
				 &output, sonde_arena_source_base(image.source),
				 &consumer, &image.consumer),
			 0);
	if (sonde_arena_source_is_resumed(image.source))
		assert_int_equal(sonde_consumer_describe(image.consumer), 0);
	assert_int_equal(sonde_consumer_start(image.consumer, 0, &none), 0);
	return image;
}

static struct sonde_arena_source_config new_config(void)
{
	static uint32_t class_id;
	struct sonde_arena_source_config config = {
		.setup = slot_setup,
		.id = class_id++,
		.pid = 4711,
		.name = "fake",
	};

	config.setup.header = SONDE_COMPACT;
	config.setup.geometry = geometry;
	return config;
}

static struct image attach(struct fake_process *p)
{
	const struct sonde_arena_source_config config = new_config();
	struct sonde_arena_view view;

	assert_int_equal(sonde_arena_open(copy_of(p->fd), &view), 0);
	return attach_view(&view, &config);
}

static void consume(struct image image)
{
	(void)sonde_consumer_pass(image.consumer); /* how full is no matter */
}

static void finish(struct image image)
{
	struct sonde_source *source = sonde_arena_source_base(image.source);

	sonde_consumer_stop(image.consumer);
	sonde_consumer_drain(image.consumer);
	if (!sonde_consumer_is_broken(image.consumer))
		sonde_arena_source_tell(image.source, &summary);
	sonde_consumer_finish(image.consumer);
	source->ops->close(source);
}

static uint64_t accounted(void)
{
	return summary.recorded + sonde_summary_lost(&summary);
}

/* ---- the file ---- */

static void descriptors_that_are_no_sealed_memory_are_refused(void **state)
{
	struct sonde_arena_view view;
	int fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(sonde_arena_open(open("/dev/null", O_RDWR | O_CLOEXEC),
					  &view),
			 -EBADF);
	assert_int_equal(sonde_arena_open(open("/", O_RDONLY | O_CLOEXEC),
					  &view),
			 -EBADF);
	assert_int_equal(ftruncate(fd, SONDE_META_SPAN), 0);
	assert_int_equal(sonde_arena_open(copy_of(fd), &view), -EBADF);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(sonde_arena_open(fd, &view), -EPROTO);
}

static void files_shorter_than_an_arena_are_refused(void **state)
{
	struct sonde_arena_view view;
	int fd = memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(ftruncate(fd, SONDE_META_SPAN - 1), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(sonde_arena_open(fd, &view), -EPROTO);
}

static void headers_of_something_else_are_refused(void **state)
{
	struct sonde_arena header = {
		.magic = SONDE_ARENA_MAGIC,
		.version = SONDE_ARENA_VERSION,
		.writer = SONDE_WRITER_LANES,
	};

	(void)state;
	assert_int_equal(sonde_arena_check(&header), 0);
	header.writer = SONDE_WRITER_NONE;
	assert_int_equal(sonde_arena_check(&header), -ENODEV);
	header.writer = SONDE_WRITER_NONE + 1;
	assert_int_equal(sonde_arena_check(&header), -EPROTO);
	header.version++;
	assert_int_equal(sonde_arena_check(&header), -EPROTONOSUPPORT);
	header.magic++;
	assert_int_equal(sonde_arena_check(&header), -EPROTO);
}

static void a_file_that_may_not_grow_is_refused(void **state)
{
	struct fake_process p;
	struct sonde_arena_view view;
	struct sonde_arena_setup setup = slot_setup;

	(void)state;
	fake_process_init(&p);
	assert_int_equal(fcntl(p.fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
	setup.geometry = geometry;
	assert_int_equal(sonde_arena_configure(&view, &setup), -EPERM);
	assert_int_equal(p.slot->state, SONDE_SLOT_FREE);
	sonde_arena_close(&view);
	fake_process_fini(&p);
}

static void a_process_without_a_free_slot_is_refused(void **state)
{
	struct fake_process p;
	struct sonde_arena_view view;
	struct sonde_arena_setup setup = slot_setup;

	(void)state;
	fake_process_init(&p);
	for (uint32_t i = 0; i < SONDE_SLOTS; i++)
		p.slot[i].state = SONDE_SLOT_STOPPED;
	assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
	setup.geometry = geometry;
	assert_int_equal(sonde_arena_configure(&view, &setup), -EBUSY);
	sonde_arena_close(&view);
	fake_process_fini(&p);
}

static void
an_arena_is_alone_once_mappings_and_descriptors_are_gone(void **state)
{
	struct fake_process p;
	struct sonde_arena_view view;

	(void)state;
	fake_process_init(&p);
	assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
	assert_false(sonde_arena_is_alone(&view));
	assert_int_equal(close(p.fd), 0);
	p.fd = -1;
	assert_false(sonde_arena_is_alone(&view));
	fake_process_fini(&p);
	assert_true(sonde_arena_is_alone(&view));
	sonde_arena_close(&view);
}

static void check_first_id(enum sonde_header_kind header, uint32_t first)
{
	uint64_t room[SONDE_DESC_MAX / 8];
	struct fake_process p;
	struct sonde_arena_view view;
	struct sonde_arena_setup setup = slot_setup;

	fake_process_init(&p);
	assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
	setup.geometry = geometry;
	setup.header = header;
	assert_int_equal(sonde_arena_configure(&view, &setup), 0);
	sonde_arena_begin(&view, &setup, room);
	assert_int_equal(p.slot->header, header);
	assert_int_equal(p.slot->next_id, first);
	assert_int_equal(sonde_arena_nr_ids(&view), 0);
	fake_register(&p, "one", (uint16_t)first);
	assert_int_equal(sonde_arena_nr_ids(&view), 1);
	assert_int_equal(sonde_arena_event_id(&view, 0), first);
	sonde_arena_close(&view);
	fake_process_fini(&p);
}

static void identifiers_tell_the_kind_of_header(void **state)
{
	(void)state;
	check_first_id(SONDE_COMPACT, 1);
	check_first_id(SONDE_LARGE, SONDE_LARGE_FIRST_ID);
}

/* ---- a process that ran already ---- */

static void events_that_were_there_before_are_selected(void **state)
{
	struct fake_process p;
	struct image image;

	(void)state;
	fake_process_init(&p);
	fake_register(&p, "one", 0);
	fake_register(&p, "two", 0);
	image = attach(&p);
	assert_int_equal(p.slot->state, SONDE_SLOT_ACTIVE);
	assert_int_equal(p.slot->ids[0], 1);
	assert_int_equal(p.slot->ids[1], 2);
	finish(image);
	fake_process_fini(&p);
}

static void a_slot_that_was_left_is_gone_on_with(void **state)
{
	struct fake_process p;
	struct image image;
	uint64_t old;

	(void)state;
	fake_process_init(&p);
	fake_register(&p, "one", 0);
	for (int round = 1; round <= 6; round++) {
		image = attach(&p);
		assert_int_equal(p.slot->ids[0], 1);
		assert_int_equal(p.slot[1].state, SONDE_SLOT_FREE);
		old = fake_ring(&p, 0)->w;
		for (uint32_t i = 0; i < 2000; i++) {
			fake_emit(&p, 0, 1, i);
			if (i % 50 == 0)
				consume(image);
		}
		assert_false(sonde_consumer_is_broken(image.consumer));
		/* no position comes back */
		assert_true(sonde_w_seq(fake_ring(&p, 0)->w) >
			    sonde_w_seq(old));
		finish(image);
		assert_int_equal(accounted(), 2000 * round);
		assert_int_equal(summary.recorded, 2000 * round);
	}
	fake_process_fini(&p);
}

static void a_slot_of_other_sizes_or_with_conditions_is_let_alone(void **state)
{
	struct fake_process p;
	struct sonde_arena_view view;
	struct sonde_arena_setup setup = slot_setup;

	(void)state;
	fake_process_init(&p);
	finish(attach(&p));
	assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
	setup.geometry = geometry;
	setup.header = SONDE_LARGE;
	assert_int_equal(sonde_arena_configure(&view, &setup), 0);
	assert_int_equal(view.slot_index, 1);
	sonde_arena_close(&view);
	p.slot->filters = 1;
	assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
	setup.header = SONDE_COMPACT;
	assert_int_equal(sonde_arena_configure(&view, &setup), 0);
	assert_int_not_equal(view.slot_index, 0);
	sonde_arena_close(&view);
	fake_process_fini(&p);
}

static void the_slot_of_a_recorder_that_lives_is_let_alone(void **state)
{
	struct fake_process p;
	struct image first;
	struct image second;

	(void)state;
	fake_process_init(&p);
	first = attach(&p);
	second = attach(&p);
	assert_int_equal(p.slot[0].state, SONDE_SLOT_ACTIVE);
	assert_int_equal(p.slot[1].state, SONDE_SLOT_ACTIVE);
	finish(first);
	finish(second);
	fake_process_fini(&p);
}

static void the_slot_of_a_killed_recorder_is_taken(void **state)
{
	struct fake_process p;
	struct sonde_arena_view view;
	struct sonde_arena_setup setup = slot_setup;
	uint64_t room[SONDE_DESC_MAX / 8];

	(void)state;
	fake_process_init(&p);
	setup.geometry = geometry;
	for (int round = 0; round < 2; round++) {
		assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
		assert_int_equal(sonde_arena_configure(&view, &setup), 0);
		assert_int_equal(view.slot_index, 0);
		assert_int_equal(view.is_resumed, round);
		sonde_arena_begin(&view, &setup, room);
		assert_int_equal(p.slot->state, SONDE_SLOT_ACTIVE);
		sonde_arena_close(&view); /* it stops nothing */
	}
	fake_process_fini(&p);
}

/* ---- what is left ---- */

/* All of the file, to be freed. */
static unsigned char *bytes_of(const struct fake_process *p, size_t *ret_size)
{
	struct stat st;
	unsigned char *bytes;

	assert_int_equal(fstat(p->fd, &st), 0);
	*ret_size = (size_t)st.st_size;
	bytes = malloc(*ret_size);
	assert_non_null(bytes);
	assert_int_equal(pread(p->fd, bytes, *ret_size, 0), st.st_size);
	return bytes;
}

/* Reads what the slot's recorder has left; nothing of the file is changed. */
static void recover(const struct fake_process *p)
{
	struct sonde_arena_source_config config = new_config();
	struct sonde_arena_view view;
	size_t size;
	size_t size_then;
	unsigned char *before = bytes_of(p, &size);
	unsigned char *then;

	assert_int_equal(sonde_arena_open_left(copy_of(p->fd), &view), 0);
	assert_int_equal(sonde_arena_adopt(&view, 1, &config.setup), -ENOENT);
	assert_int_equal(sonde_arena_adopt(&view, 0, &config.setup), 0);
	config.setup.rules = "";
	config.setup.rules_size = 1;
	config.is_left = true;
	config.keeps = config.setup.mode == SONDE_DISCARD;
	finish(attach_view(&view, &config));
	then = bytes_of(p, &size_then);
	assert_int_equal(size_then, size);
	assert_memory_equal(then, before, size);
	free(before);
	free(then);
}

static void what_a_killed_recorder_has_left_can_be_read_again(void **state)
{
	struct sonde_arena_setup setup;
	struct fake_process p;
	struct sonde_arena_view view;
	uint64_t room[SONDE_DESC_MAX / 8];
	uint64_t nr = 0;

	(void)state;
	for (int mode = SONDE_DISCARD; mode <= SONDE_OVERWRITE; mode++) {
		slot_setup.mode = mode;
		setup = slot_setup;
		setup.geometry = geometry;
		fake_process_init(&p);
		assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
		assert_int_equal(sonde_arena_configure(&view, &setup), 0);
		sonde_arena_begin(&view, &setup, room);
		fake_register(&p, "one", 1);
		for (uint32_t i = 0; i < 100; i++)
			(void)fake_emit(&p, i % 3, 1, i);
		sonde_arena_close(&view); /* it stops nothing */
		for (int round = 0; round < 2; round++) {
			recover(&p);
			nr += 100;
			assert_int_equal(summary.recorded, nr);
			assert_int_equal(accounted(), nr);
		}
		assert_int_equal(p.slot->state, SONDE_SLOT_ACTIVE);
		fake_process_fini(&p);
	}
}

static void what_was_given_back_is_not_read_again(void **state)
{
	struct flock lock = { .l_whence = SEEK_SET,
			      .l_type = F_UNLCK,
			      .l_start = SONDE_LOCK_SLOT,
			      .l_len = 1 };
	struct fake_process p;
	struct image image;
	uint64_t nr = 0;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "one", 1);
	for (uint32_t i = 0; i < 5000; i++) {
		nr += fake_emit(&p, 1, 1, i);
		if (i % 50 == 0)
			consume(image);
	}
	/* As if it had been killed: its lock goes. */
	assert_int_equal(fcntl(sonde_arena_source_view(image.source)->fd,
			       F_OFD_SETLK, &lock),
			 0);
	recover(&p);
	/* Of one sub-buffer both have a part. */
	assert_true(summary.recorded >= 49);
	assert_true(summary.recorded <= geometry.subbuf_size / 4);
	assert_int_equal(summary.recorded + summary.cleared, nr);
	finish(image);
	fake_process_fini(&p);
}

static void what_has_a_recorder_or_was_read_is_let_alone(void **state)
{
	struct sonde_arena_setup setup;
	struct fake_process p;
	struct sonde_arena_view view;
	struct image image;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	assert_int_equal(sonde_arena_open_left(copy_of(p.fd), &view), 0);
	assert_int_equal(sonde_arena_adopt(&view, 0, &setup), -EBUSY);
	finish(image);
	assert_int_equal(sonde_arena_adopt(&view, 0, &setup), -ENOENT);
	sonde_arena_close(&view);
	fake_process_fini(&p);
}

static void a_file_that_others_may_write_is_refused(void **state)
{
	struct sonde_arena_view view;
	char path[80];
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/file", scratch);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, SONDE_META_SPAN), 0);
	assert_int_equal(sonde_arena_open(copy_of(fd), &view), -EPROTO);
	assert_int_equal(fchmod(fd, 0620), 0);
	assert_int_equal(sonde_arena_open(copy_of(fd), &view), -EACCES);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sonde_arena_open(fd, &view), -EBADF);
}

/* ---- an honest process ---- */

static void what_is_emitted_is_recorded(void **state)
{
	struct fake_process p;
	struct image image;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "one", 1);
	for (uint32_t i = 0; i < 5000; i++) {
		fake_emit(&p, i % 3, 1, i);
		if (i % 50 == 0)
			consume(image);
	}
	assert_false(sonde_consumer_is_broken(image.consumer));
	finish(image);
	assert_int_equal(summary.recorded, 5000);
	assert_int_equal(accounted(), 5000);
	assert_int_equal(summary.nr_event_types, 1);
	assert_int_equal(p.slot->state, SONDE_SLOT_STOPPED);
	fake_process_fini(&p);
}

static void what_finds_no_room_is_counted(void **state)
{
	struct fake_process p;
	struct image image;
	uint64_t kept = 0;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "one", 1);
	for (uint32_t i = 0; i < 10000; i++)
		kept += fake_emit(&p, 1, 1, i);
	finish(image);
	assert_int_equal(summary.recorded, kept);
	assert_int_equal(summary.lost_full, 10000 - kept);
	fake_process_fini(&p);
}

static void what_is_overwritten_is_counted(void **state)
{
	struct fake_process p;
	struct image image;

	(void)state;
	slot_setup.mode = SONDE_OVERWRITE;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "one", 1);
	for (uint32_t i = 0; i < 10000; i++)
		assert_true(fake_emit(&p, 0, 1, i));
	clock_value += 10000; /* not less than the events */
	finish(image);
	assert_true(summary.recorded > 0);
	assert_true(summary.lost_overwritten > 0);
	assert_int_equal(accounted(), 10000);
	fake_process_fini(&p);
}

static void events_too_large_or_contended_are_counted(void **state)
{
	struct fake_process p;
	struct image image;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	fake_ring(&p, 5)->discarded_size = 7;
	p.slot->lost_contended = 5;
	finish(image);
	assert_int_equal(summary.lost_size, 7);
	assert_int_equal(summary.lost_contended, 5);
	fake_process_fini(&p);
}

static void an_event_refused_for_its_name_is_told(void **state)
{
	struct fake_process p;
	struct image image;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "twice", 0);
	fake_entry(&p, 0)->flags = SONDE_ENTRY_CONFLICT;
	finish(image);
	assert_int_equal(summary.nr_notes, 1);
	assert_non_null(strstr(summary.notes[0], "fake:twice"));
	fake_process_fini(&p);
}

/* ---- hostile processes ---- */

static void two_events_with_one_id_end_the_recording(void **state)
{
	struct fake_process p;
	struct image image;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "one", 1);
	fake_register(&p, "two", 1);
	fake_emit(&p, 0, 1, 0);
	consume(image);
	assert_true(sonde_consumer_is_broken(image.consumer));
	assert_int_equal(p.slot->state, SONDE_SLOT_STOPPED);
	finish(image);
	assert_int_equal(summary.recorded, 0);
	assert_int_equal(summary.nr_notes, 1);
	fake_process_fini(&p);
}

static void descriptions_outside_the_arena_are_not_read(void **state)
{
	static const struct sonde_entry entries[] = {
		{ SONDE_META_SPAN - 8, 64, SONDE_ENTRY_READY },
		{ UINT64_MAX - 16, 64, SONDE_ENTRY_READY },
		{ 0, 64, SONDE_ENTRY_READY },
		{ SONDE_DESCS_OFF, UINT32_MAX, SONDE_ENTRY_READY },
		{ SONDE_DESCS_OFF, SONDE_DESC_MAX + 8, SONDE_ENTRY_READY },
		{ SONDE_DESCS_OFF, 0, SONDE_ENTRY_READY },
		{ SONDE_DESCS_OFF, 8, SONDE_ENTRY_READY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		struct fake_process p;
		struct image image;

		fake_process_init(&p);
		image = attach(&p);
		fake_register(&p, "one", 1);
		*fake_entry(&p, 0) = entries[i];
		fake_emit(&p, 0, 1, 0);
		consume(image);
		assert_true(sonde_consumer_is_broken(image.consumer));
		finish(image);
		fake_process_fini(&p);
	}
}

static void
a_reference_in_place_of_a_description_harms_nobody_else(void **state)
{
	struct fake_process p;
	struct image image;
	struct sonde_desc *desc;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "one", 1);
	desc = (void *)(p.memory + fake_entry(&p, 0)->desc_off);
	desc->nr_fields = SONDE_NR_FIELDS_REFERENCE;
	desc->size = (sizeof(*desc) + 5 + desc->name_size + 7) & ~7u;
	fake_entry(&p, 0)->desc_size = desc->size;
	fake_emit(&p, 0, 1, 0);
	consume(image);
	assert_true(sonde_consumer_is_broken(image.consumer));
	assert_int_equal(output.disk_error, 0);
	finish(image);
	assert_int_equal(output.disk_error, 0);
	assert_int_equal(summary.disk_error, 0);
	fake_process_fini(&p);
}

/* Says that `nr` events came before the oldest sub-buffer. */
static void check_false_start(enum sonde_ring_mode mode, uint64_t nr)
{
	struct fake_process p;
	struct image image;

	summary = (struct sonde_summary){ 0 };
	slot_setup.mode = mode;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "one", 1);
	fake_emit(&p, 0, 1, 0);
	((struct sonde_subbuf *)(void *)fake_subbuf(&p, 0, 0))->events = nr;
	clock_value += 1000000;
	finish(image);
	assert_int_equal(summary.nr_notes, 1);
	assert_non_null(strstr(summary.notes[0], "damaged"));
	assert_int_equal(summary.lost_overwritten, 0);
	fake_process_fini(&p);
}

static void false_counts_get_into_no_sum(void **state)
{
	(void)state;
	check_false_start(SONDE_DISCARD, 1);
	check_false_start(SONDE_DISCARD, 1ull << 62);
	check_false_start(SONDE_OVERWRITE, 1ull << 40);
	check_false_start(SONDE_OVERWRITE, 1ull << 62);
}

static int no_descriptor(const char *call)
{
	return strcmp(call, "open") ? 0 : -EMFILE;
}

static void lack_of_descriptors_loses_events_only_while_it_lasts(void **state)
{
	struct fake_process p;
	struct image image;

	(void)state;
	fake_process_init(&p);
	image = attach(&p);
	fake_register(&p, "one", 1);
	fake_emit(&p, 0, 1, 0);
	sonde_ctf_fault = no_descriptor;
	consume(image);
	sonde_ctf_fault = NULL;
	assert_int_equal(output.disk_error, 0);
	assert_int_equal(summary.nr_notes, 1);
	assert_non_null(strstr(summary.notes[0], "ulimit -n"));
	fake_emit(&p, 0, 1, 1);
	fake_emit(&p, 0, 1, 2);
	finish(image);
	assert_int_equal(summary.lost_disk, 1);
	assert_int_equal(summary.recorded, 2);
	fake_process_fini(&p);
}

static char contested[96];

/* Another recorder makes `index` just before us. */
static int faster(const char *call)
{
	if (strcmp(call, "mkdir") != 0)
		return 0;
	assert_int_equal(mkdir(contested, 0700), 0);
	return -EEXIST;
}

static void
who_is_second_in_a_directory_removes_nothing_of_the_first(void **state)
{
	struct sonde_ctf_config config = {
		.clock = { .name = "test", .description = "", .freq = 1000000 },
	};
	struct sonde_ctf_trace *trace;
	char directory[80];

	(void)state;
	(void)snprintf(directory, sizeof(directory), "%s/second", scratch);
	(void)snprintf(contested, sizeof(contested), "%s/index", directory);
	sonde_ctf_fault = faster;
	assert_int_equal(sonde_ctf_trace_create(directory, &config, &trace),
			 -EEXIST);
	sonde_ctf_fault = NULL;
	assert_int_equal(access(contested, F_OK), 0);
}

static void the_same_description_for_all_entries_is_bounded(void **state)
{
	struct fake_process p;
	struct sonde_arena_view view;
	static uint64_t room[SONDE_DESC_MAX / 8];
	const struct sonde_desc *desc;
	uint32_t nr = 0;

	(void)state;
	fake_process_init(&p);
	fake_register(&p, "one", 1);
	fake_entry(&p, 0)->desc_size = SONDE_DESC_MAX;
	assert_int_equal(sonde_arena_open(copy_of(p.fd), &view), 0);
	while (nr < SONDE_EVENTS_MAX &&
	       !sonde_arena_copy_desc(&view, 0, room, &desc))
		nr++;
	assert_int_equal(nr, 2 * SONDE_META_SPAN / SONDE_DESC_MAX);
	sonde_arena_close(&view);
	fake_process_fini(&p);
}

static uint64_t random_state;

/* One word of the arena gets a random, extreme or slightly different value. */
static void scribble(struct fake_process *p)
{
	static const struct {
		uint64_t off;
		uint64_t size;
	} places[] = {
		{ 0, sizeof(struct sonde_arena) },
		{ SONDE_ENTRIES_OFF, 64 },
		{ SONDE_SLOTS_OFF, 128 },
		{ SONDE_SLOTS_OFF + offsetof(struct sonde_slot, ids), 64 },
		{ SONDE_DESCS_OFF, 256 },
		{ SONDE_META_SPAN, 6 * sizeof(struct sonde_ring) },
		{ SONDE_META_SPAN, sizeof(struct sonde_ring) },
	};
	const uint64_t values[] = {
		0,          UINT64_MAX, next_random(&random_state),
		1ull << 63, 1ull << 40, next_random(&random_state) & 0xfff
	};
	uint64_t kind = next_random(&random_state) % 9;
	uint64_t *word;

	if (kind < 7) {
		word = (void *)(p->memory + places[kind].off +
				next_random(&random_state) %
					(places[kind].size / 8) * 8);
	} else {
		/* The slot's own data_off may be wrong by now. */
		word = (void *)(p->memory + SONDE_META_SPAN + 65536 +
				next_random(&random_state) % 24 * 4096 +
				next_random(&random_state) % 8 * 8);
	}
	kind = next_random(&random_state) % 8;
	if (kind < 6)
		*word = values[kind];
	else
		*word += next_random(&random_state) % 17 - 8;
}

static void emit_if_sane(struct fake_process *p, uint64_t data_off)
{
	if (p->slot->subbuf_size != 4096 || p->slot->nr_subbufs != 4 ||
	    p->slot->data_off != data_off)
		return;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t w = fake_ring(p, i)->w;
		uint32_t offset = sonde_w_offset(w, 4096);

		if (w && (offset < SONDE_SUBBUF_HEAD || offset > 4096 - 64))
			continue;
		fake_emit(p, i, 1 + i % 2, i);
	}
}

/* Random scribbling must neither crash nor hang us, and what the process did
 * before must be there. The sanitizers look on. */
static void scribbling_over_the_arena_does_no_harm(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		struct fake_process p;
		struct image image;
		uint64_t data_off;

		random_state = seed * 0x9e3779b97f4a7c15ull;
		slot_setup.mode = seed & 1 ? SONDE_OVERWRITE : SONDE_DISCARD;
		fake_process_init(&p);
		image = attach(&p);
		data_off = p.slot->data_off;
		fake_register(&p, "one", 1);
		fake_register(&p, "two", 2);
		for (int round = 0; round < 40; round++) {
			for (int i = 0; i < 40; i++)
				emit_if_sane(&p, data_off);
			if (round > 5)
				scribble(&p);
			if (seed % 2 == 0)
				consume(image);
		}
		finish(image);
		fake_process_fini(&p);
		assert_true(summary.recorded <= summary.bytes / 4);
	}
	assert_int_equal(output.disk_error, 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, start_recording, end_recording)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(descriptors_that_are_no_sealed_memory_are_refused),
		TEST(files_shorter_than_an_arena_are_refused),
		TEST(headers_of_something_else_are_refused),
		TEST(a_file_that_may_not_grow_is_refused),
		TEST(a_process_without_a_free_slot_is_refused),
		TEST(an_arena_is_alone_once_mappings_and_descriptors_are_gone),
		TEST(identifiers_tell_the_kind_of_header),
		TEST(events_that_were_there_before_are_selected),
		TEST(a_slot_that_was_left_is_gone_on_with),
		TEST(a_slot_of_other_sizes_or_with_conditions_is_let_alone),
		TEST(the_slot_of_a_recorder_that_lives_is_let_alone),
		TEST(the_slot_of_a_killed_recorder_is_taken),
		TEST(what_a_killed_recorder_has_left_can_be_read_again),
		TEST(what_was_given_back_is_not_read_again),
		TEST(what_has_a_recorder_or_was_read_is_let_alone),
		TEST(a_file_that_others_may_write_is_refused),
		TEST(what_is_emitted_is_recorded),
		TEST(what_finds_no_room_is_counted),
		TEST(what_is_overwritten_is_counted),
		TEST(events_too_large_or_contended_are_counted),
		TEST(an_event_refused_for_its_name_is_told),
		TEST(two_events_with_one_id_end_the_recording),
		TEST(descriptions_outside_the_arena_are_not_read),
		TEST(a_reference_in_place_of_a_description_harms_nobody_else),
		TEST(false_counts_get_into_no_sum),
		TEST(lack_of_descriptors_loses_events_only_while_it_lasts),
		TEST(who_is_second_in_a_directory_removes_nothing_of_the_first),
		TEST(the_same_description_for_all_entries_is_bounded),
		TEST(scribbling_over_the_arena_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
