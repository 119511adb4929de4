/* SPDX-License-Identifier: MIT */
/*
 * test_module_events.c - what the source "modules" asks of the kernel: that
 * descriptions and capture lists say the same, with this machine's types and
 * with types made by hand.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/port.h"
#include "source/module/module.h"
#include "source/payloads.h"
#include "source/syscalls.h"
#include "types/build.h"
#include "types/desc.h"

#define RUNNING_TYPES "/sys/kernel/btf/vmlinux"

static struct sonde_source_rules rules;
static struct module_events events;
static struct sonde_source_error error;

static int clean_up(void **state)
{
	(void)state;
	module_events_free(&events);
	sonde_source_rules_fini(&rules);
	return 0;
}

static struct sonde_source_config config_of(const char *text, uint32_t strings,
					    uint32_t buffers)
{
	char why[200];

	sonde_source_rules_fini(&rules);
	assert_int_equal(sonde_source_rules_add(&rules, text, why, sizeof(why)),
			 0);
	return (struct sonde_source_config){
		.rules = &rules,
		.string_bytes = strings,
		.buffer_bytes = buffers,
	};
}

static int select_running(const char *text, uint32_t strings, uint32_t buffers)
{
	struct sonde_source_config config = config_of(text, strings, buffers);

	module_events_free(&events);
	error.text[0] = '\0';
	return module_events_select(&config, &events, &error);
}

static void need_running_types(void)
{
	if (access(RUNNING_TYPES, R_OK))
		skip();
}

static const struct module_event *event_of(const char *group, const char *name)
{
	for (uint32_t i = 0; i < events.nr; i++)
		if (!strcmp(events.list[i].group, group) &&
		    !strcmp(events.list[i].name, name))
			return &events.list[i];
	fail_msg("no %s:%s", group, name);
	return NULL;
}

/* By its name in the trace. */
static const struct module_event *shown(const char *name)
{
	for (uint32_t i = 0; i < events.nr; i++)
		if (!strcmp(sonde_desc_name(events.list[i].desc), name))
			return &events.list[i];
	fail_msg("no %s", name);
	return NULL;
}

/* ---- a description and its list ---- */

static bool is_text(const struct sonde_kmod_cap *cap)
{
	return cap->kind == SONDE_KMOD_STRING ||
	       cap->kind == SONDE_KMOD_USTRING ||
	       cap->kind == SONDE_KMOD_USTRINGS;
}

/* One capture is one field; but that an array of numbers takes several. */
static void check_field(const struct module_event *event,
			const struct sonde_field_view *field, uint32_t *at)
{
	const struct sonde_kmod_cap *cap = &event->caps[*at];
	uint32_t nr = field->kind == SONDE_TYPE_ARRAY ? field->count : 1;

	if (*at + nr > event->event.nr_caps)
		fail_msg("%s: %s has no capture", event->name, field->name);
	*at += nr;
	switch (field->kind) {
	case SONDE_TYPE_INT:
	case SONDE_TYPE_ENUM:
		assert_int_equal(cap->kind, SONDE_KMOD_VALUE);
		assert_int_equal(cap->bytes * 8, field->stored_bits);
		break;
	case SONDE_TYPE_ARRAY:
		for (uint32_t i = 0; i < nr; i++) {
			assert_int_equal(cap[i].kind, SONDE_KMOD_VALUE);
			assert_int_equal(cap[i].bytes, 8);
		}
		break;
	case SONDE_TYPE_TEXT:
		assert_int_equal(cap->kind, SONDE_KMOD_BYTES);
		assert_int_equal(cap->max, field->count);
		break;
	case SONDE_TYPE_STRING:
		assert_true(is_text(cap));
		assert_in_range(cap->max, 1, SONDE_KMOD_TEXT_MAX);
		break;
	case SONDE_TYPE_BLOB:
		assert_int_equal(cap->kind, SONDE_KMOD_UBUFFER);
		assert_in_range(cap->max, 1, SONDE_KMOD_TEXT_MAX);
		break;
	case SONDE_TYPE_FLOAT:
	case SONDE_TYPE_BITS:
	case SONDE_TYPE_SEQUENCE:
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		fail_msg("%s: %s can't be captured", event->name, field->name);
		break;
	}
}

/* As the kernel checks it, too. */
static uint32_t most_bytes(const struct module_event *event)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < event->event.nr_caps; i++) {
		const struct sonde_kmod_cap *cap = &event->caps[i];

		sum += cap->kind == SONDE_KMOD_VALUE   ? cap->bytes :
		       cap->kind == SONDE_KMOD_UBUFFER ? 4u + cap->max :
							 cap->max;
	}
	return sum;
}

static void check_event(const struct module_event *event, uint32_t index)
{
	struct sonde_fields fields = sonde_desc_fields(event->desc);
	struct sonde_field_view field;
	const struct sonde_desc *checked;
	uint32_t at = 0;

	assert_int_equal(
		sonde_desc_check(event->desc, event->desc->size, &checked), 0);
	assert_int_equal(event->event.id, index + 1);
	assert_int_equal(event->event.size, sizeof(event->event));
	assert_in_range(event->event.nr_caps, 0, SONDE_KMOD_CAPS_MAX);
	assert_int_equal(event->event.caps, (uintptr_t)event->caps);
	while (sonde_fields_next(&fields, &field))
		check_field(event, &field, &at);
	if (at != event->event.nr_caps)
		fail_msg("%s: %u captures for %u", event->name,
			 event->event.nr_caps, at);
	assert_in_range(most_bytes(event), 0, SONDE_KMOD_RECORD_MAX);
}

static void check_all(void)
{
	for (uint32_t i = 0; i < events.nr; i++)
		check_event(&events.list[i], i);
}

/* ---- system calls ---- */

static void every_call_has_the_captures_that_its_description_says(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 256, 65536 };

	(void)state;
	for (size_t s = 0; s < SONDE_ARRAY_SIZE(sizes); s++)
		for (size_t b = 0; b < SONDE_ARRAY_SIZE(sizes); b++) {
			assert_int_equal(select_running("syscalls", sizes[s],
							sizes[b]),
					 0);
			assert_true(events.nr > 600);
			check_all();
		}
}

static void texts_of_a_call_fit_into_a_small_subbuffer(void **state)
{
	struct sonde_source_config config = config_of("syscalls", 4096, 4096);

	(void)state;
	config.subbuf_bytes = 4096;
	assert_int_equal(module_events_select(&config, &events, &error), 0);
	for (uint32_t i = 0; i < events.nr; i++)
		assert_in_range(most_bytes(&events.list[i]), 0, 4096 - 256);
}

static void a_call_is_asked_for_by_number_and_abi(void **state)
{
	const struct module_event *event;

	(void)state;
	assert_int_equal(select_running("syscalls:openat", 64, 0), 0);
	event = shown("syscall_entry_openat");
	assert_int_equal(event->event.type, SONDE_KMOD_SYSCALL_ENTRY);
	assert_int_equal(event->event.number,
			 sonde_syscall_number(SONDE_SYSCALL_NATIVE, "openat"));
	assert_int_equal(event->event.flags, 0);
	/* dfd, flags, mode; filename */
	assert_int_equal(event->event.nr_caps, 4);
	assert_int_equal(event->caps[3].kind, SONDE_KMOD_USTRING);
	assert_int_equal(event->caps[3].index, 1);
	assert_int_equal(event->caps[3].max, 64);
#if defined(__x86_64__)
	event = shown("compat_syscall_exit_openat");
	assert_int_equal(event->event.type, SONDE_KMOD_SYSCALL_EXIT);
	assert_int_equal(event->event.number, 295);
	assert_int_equal(event->event.flags, SONDE_KMOD_COMPAT);
#endif
}

static void a_buffer_that_is_written_is_as_long_as_the_result(void **state)
{
	const struct module_event *event;

	(void)state;
	assert_int_equal(select_running("syscalls:read", 0, 100), 0);
	event = shown("syscall_exit_read");
	assert_int_equal(event->event.nr_caps, 2);
	assert_int_equal(event->caps[0].index, 6);
	assert_int_equal(event->caps[1].kind, SONDE_KMOD_UBUFFER);
	assert_int_equal(event->caps[1].index, 1);
	assert_int_equal(event->caps[1].length, SONDE_KMOD_LENGTH_RESULT);
	assert_int_equal(event->caps[1].max, 100);
	assert_int_equal(select_running("syscalls:write", 0, 100), 0);
	event = shown("syscall_entry_write");
	assert_int_equal(event->caps[event->event.nr_caps - 1].length, 2);
}

static void unknown_calls_are_all_but_the_known(void **state)
{
	const struct module_event *event;

	(void)state;
	assert_int_equal(select_running("syscalls:unknown", 64, 0), 0);
	event = shown("syscall_entry_unknown");
	assert_int_equal(event->event.number, UINT32_MAX);
	for (uint32_t nr = 0; nr < SONDE_SYSCALLS_MAX; nr++) {
		bool known =
			(unsigned char)event->event.name[nr / 8] >> nr % 8 & 1;

		assert_int_equal(known, sonde_syscall(SONDE_SYSCALL_NATIVE,
						      nr) != NULL);
	}
}

/* ---- tracepoints ---- */

static void forms_are_asked_for_as_they_are_described(void **state)
{
	(void)state;
	need_running_types();
	assert_int_equal(select_running("sched_switch,sched_wak*,"
					"sched_migrate_task,sched_process_fork,"
					"sched_process_exec,sched_process_exit,"
					"sched_process_free,irq,softirq_*,"
					"signal_*,page_fault_*,"
					"hrtimer_expire_*,sock_*",
					0, 0),
			 0);
	check_all();
	for (uint32_t i = 0; i < SONDE_NR_PAYLOADS; i++) {
		const struct sonde_payload *form = &sonde_payloads[i];
		_Alignas(8) static uint8_t room[SONDE_DESC_MAX];
		const struct module_event *event;

		if (!sonde_payload_is_here(form))
			continue;
		if (sonde_payload_is_of_sockets(form)) {
			assert_false(module_events_has(&events, form->group,
						       form->name));
			continue;
		}
		event = event_of(form->group, form->name);
		assert_int_equal(sonde_payload_describe(form, room), 0);
		assert_true(sonde_desc_equal(event->desc, (const void *)room));
		assert_int_equal(most_bytes(event), form->bytes);
		assert_int_equal(event->event.flags, SONDE_KMOD_TYPED);
		assert_string_equal(event->event.name, form->name);
	}
}

static void a_priority_is_recorded_less_a_hundred(void **state)
{
	(void)state;
	need_running_types();
	assert_int_equal(select_running("sched_process_exit", 0, 0), 0);
	assert_int_equal((int16_t)events.list[0].caps[2].max, -100);
}

/* Of those that this kernel has, by its own list; but for those of which each
 * is like the others. */
static void tracepoints_of_this_kernel_can_be_asked_for(void **state)
{
	static const char *const patterns[] = { "block:*",     "kmem:*",
						"net:*",       "timer:*",
						"workqueue:*", "sched:*",
						"cgroup:*" };

	(void)state;
	need_running_types();
	if (access("/sys/kernel/tracing/available_events", R_OK))
		skip();
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(patterns); i++) {
		if (select_running(patterns[i], 0, 0))
			fail_msg("%s: %s", patterns[i], error.text);
		check_all();
		assert_true(module_events_has(&events, events.list[0].group,
					      events.list[0].name));
		assert_false(module_events_has(&events, "no", "such"));
	}
}

/* ---- types made by hand ---- */

static char folder[64];

static void put_file(const char *name, const void *bytes, size_t size)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/sonde-own-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "vmlinux", "events",
					     "own/notes/.note.sonde",
					     "own/notes", "own" };
	char path[128];

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)remove(path); /* not every test makes it */
	}
	(void)rmdir(folder);
	return clean_up(state);
}

/* A tracepoint "grp:ev" with one argument of that type, called `it`. */
static void put_types(struct btf *btf, int type)
{
	uint32_t size;
	const void *bytes;
	int data = btf__add_ptr(btf, 0);
	int proto;

	proto = btf__add_func_proto(btf, 0);
	assert_int_equal(btf__add_func_param(btf, "__data", data), 0);
	assert_int_equal(btf__add_func_param(btf, "it", type), 0);
	assert_true(btf__add_func(btf, "__traceiter_ev", BTF_FUNC_STATIC,
				  proto) > 0);
	assert_true(btf__add_func(btf, "fun", BTF_FUNC_STATIC, proto) > 0);
	proto = btf__add_ptr(btf, proto);
	assert_true(btf__add_typedef(btf, "btf_trace_ev", proto) > 0);
	bytes = btf__raw_data(btf, &size);
	assert_non_null(bytes);
	put_file("vmlinux", bytes, size);
	put_file("events", "grp:ev\n", 7);
	btf__free(btf);
}

static int select_made(const char *text)
{
	char list[128];
	const struct module_kernel kernel = { .events = list,
					      .types = folder,
					      .modules = folder };
	struct sonde_source_config config = config_of(text, 0, 0);

	(void)snprintf(list, sizeof(list), "%s/events", folder);
	module_events_free(&events);
	error.text[0] = '\0';
	return module_events_select_of(&kernel, &config, &events, &error);
}

/* The note of a module "own", without the last `cut` bytes. */
static void put_note(size_t cut)
{
	_Alignas(8) static uint8_t room[24 + SONDE_DESC_MAX];
	struct sonde_build build;
	char path[128];

	memset(room, 0xff, sizeof(room));
	sonde_build_begin(&build, room + 24, "mill", "ground", SONDE_INFO);
	sonde_build_int(&build, "sacks", 32, 0);
	sonde_build_string(&build, "miller");
	sonde_build_string(&build, "grain");
	sonde_build_int(&build, "fine", 8, 0);
	assert_int_equal(sonde_build_end_described(&build, 7), 0);
	(void)snprintf(path, sizeof(path), "%s/own", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/own/notes", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	put_file("own/notes/.note.sonde", room,
		 24 + sonde_desc_size((const void *)(room + 24)) - cut);
}

static void a_described_event_is_asked_for_by_its_tracepoint(void **state)
{
	const struct module_event *event;

	(void)state;
	put_note(0);
	assert_int_equal(select_made("mill:*"), 0);
	event = event_of("mill", "ground");
	assert_int_equal(events.nr, 1);
	assert_int_equal(event->event.type, SONDE_KMOD_TRACEPOINT);
	assert_int_equal(event->event.flags, SONDE_KMOD_DESCRIBED);
	assert_int_equal(event->event.nr_caps, 0);
	assert_string_equal(event->event.name, "sonde1_mill__ground");
	assert_int_equal(sonde_desc_checksum(event->desc), 7);
}

static void a_described_events_condition_has_its_payloads_layout(void **state)
{
	const struct module_event *event;

	(void)state;
	put_note(0);
	assert_int_equal(select_made("mill:ground if sacks > 1"), 0);
	event = event_of("mill", "ground");
	assert_true(event->event.filter);
	assert_int_equal(event->event.nr_texts, 0);
	assert_int_equal(event->event.nr_caps, 1);
	assert_int_equal(event->caps[0].kind, SONDE_KMOD_BYTES);
	assert_int_equal(event->caps[0].max, 4);
	assert_int_equal(select_made("mill:ground if grain == \"rye\""), 0);
	event = event_of("mill", "ground");
	assert_int_equal(event->texts[0].ordinal, 1);
	assert_int_equal(event->event.nr_caps, 3);
	assert_int_equal(event->caps[0].max, 4);
	assert_int_equal(event->caps[1].kind, SONDE_KMOD_STRING);
	assert_int_equal(event->caps[2].kind, SONDE_KMOD_STRING);
}

static void a_described_event_is_not_left_to_sources_without_it(void **state)
{
	(void)state;
	put_note(0);
	assert_int_equal(select_made("mill:ground if fine == 1"), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "'sonde cut'"));
	assert_null(strstr(error.text, "--kernel-source"));
}

static void a_note_that_is_no_description_is_no_event(void **state)
{
	(void)state;
	put_note(1);
	assert_int_equal(select_made("mill:*"), -ENODATA);
}

static void a_pointer_to_a_known_structure_has_its_members(void **state)
{
	struct btf *btf = btf__new_empty();
	int word = btf__add_int(btf, "unsigned long", 8, 0);
	int inner = btf__add_struct(btf, "inode", 16);
	int outer;
	const struct module_event *event;

	(void)state;
	assert_int_equal(btf__add_field(btf, "i_ino", word, 64, 0), 0);
	inner = btf__add_ptr(btf, inner);
	outer = btf__add_struct(btf, "file", 40);
	assert_int_equal(btf__add_field(btf, "f_inode", inner, 256, 0), 0);
	put_types(btf, btf__add_ptr(btf, outer));
	assert_int_equal(select_made("grp:ev"), 0);
	event = event_of("grp", "ev");
	assert_int_equal(event->event.nr_caps, 2);
	assert_int_equal(event->caps[0].nr_path, 0);
	assert_int_equal(event->caps[1].bytes, 8);
	assert_int_equal(event->caps[1].nr_path, 2);
	assert_int_equal(event->caps[1].offset[0], 32);
	assert_int_equal(event->caps[1].offset[1], 8);
	check_all();
}

static void a_bit_field_is_no_member(void **state)
{
	struct btf *btf = btf__new_empty();
	int word = btf__add_int(btf, "unsigned int", 4, 0);
	int type = btf__add_struct(btf, "sk_buff", 16);

	(void)state;
	assert_int_equal(btf__add_field(btf, "len", word, 3, 5), 0);
	put_types(btf, btf__add_ptr(btf, type));
	assert_int_equal(select_made("grp:ev"), 0);
	assert_int_equal(events.list[0].event.nr_caps, 1);
}

static void a_member_too_far_away_is_left_out(void **state)
{
	struct btf *btf = btf__new_empty();
	int word = btf__add_int(btf, "unsigned int", 4, 0);
	int type = btf__add_struct(btf, "sk_buff", 65536);

	(void)state;
	assert_int_equal(btf__add_field(btf, "len", word, 32768 * 8, 0), 0);
	put_types(btf, btf__add_ptr(btf, type));
	assert_int_equal(select_made("grp:ev"), 0);
	assert_int_equal(events.list[0].event.nr_caps, 1);
}

static void an_argument_that_is_no_number_is_refused(void **state)
{
	struct btf *btf = btf__new_empty();

	(void)state;
	put_types(btf, btf__add_struct(btf, "pair", 16));
	assert_int_equal(select_made("grp:ev"), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "grp:ev"));
}

static void types_that_go_in_circles_are_refused(void **state)
{
	struct btf *btf = btf__new_empty();
	int first = btf__type_cnt(btf) ? (int)btf__type_cnt(btf) : 1;

	(void)state;
	/* Each is the other. */
	assert_int_equal(btf__add_typedef(btf, "a", first + 1), first);
	assert_int_equal(btf__add_typedef(btf, "b", first), first + 1);
	put_types(btf, first);
	assert_int_equal(select_made("grp:ev"), -EOPNOTSUPP);
}

static void a_structure_in_itself_ends_the_search(void **state)
{
	struct btf *btf = btf__new_empty();
	int type = btf__add_struct(btf, "sk_buff", 16);

	(void)state;
	assert_int_equal(btf__add_field(btf, NULL, type, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, NULL, type, 0, 0), 0);
	put_types(btf, btf__add_ptr(btf, type));
	assert_int_equal(select_made("grp:ev"), 0);
	assert_int_equal(events.list[0].event.nr_caps, 1);
}

static void what_is_no_btf_is_an_error(void **state)
{
	(void)state;
	put_file("vmlinux", "no types at all, but some bytes of text", 40);
	put_file("events", "grp:ev\n", 7);
	assert_int_equal(select_made("grp:ev"), -ENODEV);
	put_file("vmlinux", "", 0);
	assert_int_equal(select_made("grp:ev"), -ENODEV);
}

/* As for members of the group that may use the module, and not tracefs. */
static void without_the_list_groups_are_left_to_others(void **state)
{
	struct btf *btf = btf__new_empty();
	char list[128];

	(void)state;
	put_types(btf, btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	(void)snprintf(list, sizeof(list), "%s/events", folder);
	assert_int_equal(select_made("irq:softirq_*"), 0);
	assert_false(rules.has_left);
	assert_int_equal(unlink(list), 0);
	assert_int_equal(select_made("irq:softirq_*"), 0);
	assert_int_equal(events.nr, 3);
	assert_true(rules.has_left);
	/* Nobody can know what that is. */
	assert_int_equal(select_made("softirq_entry,nothing_we_know"), 0);
	assert_true(rules.has_left);
	/* Those have forms, all of them. */
	assert_int_equal(select_made("irq,!irq:irq_handler_*"), 0);
	assert_false(rules.has_left);
	assert_int_equal(select_made("irq_softirq_entry,irq:softirq_exit,!x:*"),
			 0);
	assert_false(rules.has_left);
}

static void an_event_without_types_is_refused_if_it_was_named(void **state)
{
	struct btf *btf = btf__new_empty();

	(void)state;
	put_types(btf, btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	put_file("events", "grp:other\ngrp:ev\n", 17);
	assert_int_equal(select_made("grp:other"), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "grp:other"));
	assert_int_equal(select_made("other"), -EOPNOTSUPP);
	assert_false(rules.has_left);
	/* With others, it is left to another source, and they are had. */
	assert_int_equal(select_made("grp:o*"), -ENODATA);
	assert_true(rules.has_left);
	assert_int_equal(select_made("grp"), 0);
	assert_true(rules.has_left);
	assert_int_equal(events.nr, 1);
	assert_false(module_events_has(&events, "grp", "other"));
	assert_true(module_events_has(&events, "grp", "ev"));
	assert_false(events.list[0].is_named);
	assert_int_equal(select_made("grp:ev"), 0);
	assert_true(events.list[0].is_named);
	check_all();
}

/* ---- probes ---- */

static void a_kprobe_has_the_functions_arguments(void **state)
{
	struct btf *btf = btf__new_empty();
	const struct module_event *event;

	(void)state;
	put_types(btf, btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	assert_int_equal(select_made("kretprobe:fun"), 0);
	event = &events.list[0];
	assert_int_equal(event->event.type, SONDE_KMOD_KRETPROBE);
	assert_string_equal(event->event.name, "fun");
	assert_string_equal(sonde_desc_name(event->desc), "kretprobe_fun");
	assert_int_equal(event->event.nr_caps, 3); /* the result, and two */
	assert_int_equal(event->caps[0].from, SONDE_KMOD_FROM_RESULT);
	assert_int_equal(event->caps[2].index, 1);
	assert_int_equal(event->event.number, 1024); /* few threads, or more */
	check_all();
	assert_int_equal(select_made("kprobe:fun+4"), 0);
	assert_int_equal(events.list[0].event.number, 0);
	assert_int_equal(events.list[0].event.nr_caps, 0);
}

/* So a number behind a text has a fixed place, and can be tested. */
static void a_kprobes_texts_come_last(void **state)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int text = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
	const struct module_event *event;
	int proto;

	(void)state;
	text = btf__add_ptr(btf, text);
	proto = btf__add_func_proto(btf, number);
	assert_int_equal(btf__add_func_param(btf, "path", text), 0);
	assert_int_equal(btf__add_func_param(btf, "n", number), 0);
	assert_true(btf__add_func(btf, "open", BTF_FUNC_STATIC, proto) > 0);
	put_types(btf, number);
	assert_int_equal(select_made("kprobe:open if n > 3"), 0);
	event = &events.list[0];
	assert_int_equal(event->event.nr_caps, 2);
	assert_int_equal(event->caps[0].index, 1);
	assert_int_equal(event->caps[1].index, 0);
	assert_int_equal(event->caps[1].kind, SONDE_KMOD_STRING);
	assert_true(event->event.filter);
	check_all();
}

/* ---- conditions ---- */

static void a_condition_is_a_program_and_its_texts(void **state)
{
	const struct module_event *event;

	(void)state;
	assert_int_equal(select_running("syscalls:openat if filename == \"x\" "
					"&& dfd > 0",
					64, 0),
			 0);
	event = shown("syscall_entry_openat");
	assert_true(event->event.filter);
	assert_true(event->event.filter_bytes);
	assert_int_equal(event->event.nr_texts, 1);
	assert_int_equal(event->texts[0].offset, 12);
	assert_int_equal(event->texts[0].size, 0);
	assert_int_equal(event->texts[0].ordinal, 0);
}

static void a_number_behind_a_text_is_refused(void **state)
{
	(void)state;
	assert_int_equal(select_running("syscalls:write if buf[0] == 1", 0, 64),
			 -EOPNOTSUPP);
	/* it may hold NULs, at which the kernel's part would end it */
	assert_int_equal(select_running("syscalls:write if buf == \"x\"", 0,
					64),
			 -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "write"));
}

static void a_condition_without_sense_is_the_users_mistake(void **state)
{
	(void)state;
	assert_int_equal(select_running("syscalls:openat if dfd >", 0, 0),
			 -EINVAL);
}

#define WITH_FOLDER(test) \
	cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			every_call_has_the_captures_that_its_description_says,
			clean_up),
		cmocka_unit_test_teardown(
			texts_of_a_call_fit_into_a_small_subbuffer, clean_up),
		cmocka_unit_test_teardown(a_call_is_asked_for_by_number_and_abi,
					  clean_up),
		cmocka_unit_test_teardown(
			a_buffer_that_is_written_is_as_long_as_the_result,
			clean_up),
		cmocka_unit_test_teardown(unknown_calls_are_all_but_the_known,
					  clean_up),
		cmocka_unit_test_teardown(
			forms_are_asked_for_as_they_are_described, clean_up),
		cmocka_unit_test_teardown(a_priority_is_recorded_less_a_hundred,
					  clean_up),
		cmocka_unit_test_teardown(
			tracepoints_of_this_kernel_can_be_asked_for, clean_up),
		WITH_FOLDER(a_described_event_is_asked_for_by_its_tracepoint),
		WITH_FOLDER(
			a_described_events_condition_has_its_payloads_layout),
		WITH_FOLDER(
			a_described_event_is_not_left_to_sources_without_it),
		WITH_FOLDER(a_note_that_is_no_description_is_no_event),
		WITH_FOLDER(a_pointer_to_a_known_structure_has_its_members),
		WITH_FOLDER(a_bit_field_is_no_member),
		WITH_FOLDER(a_member_too_far_away_is_left_out),
		WITH_FOLDER(an_argument_that_is_no_number_is_refused),
		WITH_FOLDER(types_that_go_in_circles_are_refused),
		WITH_FOLDER(a_structure_in_itself_ends_the_search),
		WITH_FOLDER(what_is_no_btf_is_an_error),
		WITH_FOLDER(without_the_list_groups_are_left_to_others),
		WITH_FOLDER(an_event_without_types_is_refused_if_it_was_named),
		WITH_FOLDER(a_kprobe_has_the_functions_arguments),
		WITH_FOLDER(a_kprobes_texts_come_last),
		cmocka_unit_test_teardown(
			a_condition_is_a_program_and_its_texts, clean_up),
		cmocka_unit_test_teardown(a_number_behind_a_text_is_refused,
					  clean_up),
		cmocka_unit_test_teardown(
			a_condition_without_sense_is_the_users_mistake,
			clean_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
