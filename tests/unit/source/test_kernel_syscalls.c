/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_syscalls.c - the tables of system calls against the C headers'
 * numbers and this kernel's own descriptions, and the payloads that are made of
 * them.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "source/syscalls.h"
#include "types/desc.h"

#define TRACEFS "/sys/kernel/tracing/events/syscalls"

static _Alignas(8) uint8_t room[SONDE_DESC_MAX];

static const struct sonde_syscall_form forms[] = {
	{ .has_strings = false, .has_buffers = false },
	{ .has_strings = false, .has_buffers = true },
	{ .has_strings = true, .has_buffers = false },
	{ .has_strings = true, .has_buffers = true },
};

static const struct sonde_syscall *native(const char *name)
{
	int nr = sonde_syscall_number(SONDE_SYSCALL_NATIVE, name);

	assert_true(nr >= 0);
	return sonde_syscall(SONDE_SYSCALL_NATIVE, (uint32_t)nr);
}

static uint32_t nr_args(const struct sonde_syscall *call)
{
	uint32_t nr = 0;

	while (nr < SONDE_SYSCALL_ARGS && call->args[nr].kind != SONDE_ARG_NONE)
		nr++;
	return nr;
}

/* ---- the tables ---- */

/* The next "#define __NR_NAME NUMBER"; false at the end. */
static bool next_define(FILE *header, char name[64], unsigned int *ret_nr)
{
	char line[256];
	char number[32];

	while (fgets(line, sizeof(line), header)) {
		if (sscanf(line, "#define __NR_%63s %31[0-9]", name, number) !=
			    2 &&
		    sscanf(line, "#define __NR3264_%63s %31[0-9]", name,
			   number) != 2)
			continue;
		*ret_nr = (unsigned int)strtoul(number, NULL, 10);
		return true;
	}
	return false;
}

#if defined(__x86_64__)
static void check_header(const char *path, enum sonde_syscall_abi abi)
{
	FILE *header = fopen(path, "re");
	unsigned int found = 0;
	unsigned int nr;
	char name[64];

	if (!header)
		skip();
	while (next_define(header, name, &nr)) {
		const struct sonde_syscall *call = sonde_syscall(abi, nr);

		assert_non_null(call);
		assert_string_equal(call->name, name);
		assert_int_equal(sonde_syscall_number(abi, name), nr);
		found++;
	}
	assert_int_equal(fclose(header), 0);
	assert_true(found > 300);
}

static void each_number_of_the_headers_has_its_name(void **state)
{
	(void)state;
	check_header("/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
		     SONDE_SYSCALL_NATIVE);
}

static void each_number_of_32_bit_headers_has_its_name(void **state)
{
	(void)state;
	check_header("/usr/include/x86_64-linux-gnu/asm/unistd_32.h",
		     SONDE_SYSCALL_COMPAT);
}

static void calls_of_32_bits_have_arguments_of_their_own(void **state)
{
	static const struct {
		const char *name;
		uint32_t args;
		const char *last;
	} expected[] = {
		{ "pread64", 5, "pos_high" },
		{ "truncate64", 3, "offset_high" },
		{ "mmap", 1, "arg" },
		{ "mmap2", 6, "pgoff" },
		{ "_llseek", 5, "whence" },
		{ "clone", 5, "child_tid" },
		{ "select", 1, "arg" },
		{ "_newselect", 5, "tvp" },
		{ "fallocate", 6, "len_high" },
		{ "socketcall", 2, "args" },
		{ "statfs64", 3, "buf" },
		{ "umount", 1, "name" },
		{ "fanotify_mark", 6, "pathname" },
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(expected); i++) {
		int nr = sonde_syscall_number(SONDE_SYSCALL_COMPAT,
					      expected[i].name);
		const struct sonde_syscall *call;

		assert_true(nr >= 0);
		call = sonde_syscall(SONDE_SYSCALL_COMPAT, (uint32_t)nr);
		assert_int_equal(nr_args(call), expected[i].args);
		assert_string_equal(call->args[expected[i].args - 1].name,
				    expected[i].last);
	}
	assert_string_equal(native("clone")->args[4].name, "tls");
}
#endif

/* What asm-generic's header calls otherwise than the table's entries. */
static const char *generic_entry(const char *name)
{
	static const char *const others[][2] = {
		{ "fstatat", "newfstatat" },
		{ "clone", "clone_backwards" },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(others); i++)
		if (!strcmp(others[i][0], name))
			return others[i][1];
	return name;
}

/* Also where the machine is another. */
static void each_number_of_the_generic_header_has_its_entry(void **state)
{
	static const struct {
		int nr;
		const char *name;
	} rows[] = {
#define CALL(x86_64, i386, generic, id, ...)    { generic, #id },
#define VARIANT(x86_64, i386, generic, id, ...) { generic, #id },
#include "source/syscalls.def"
	};
	const char *entries[SONDE_SYSCALLS_MAX] = { NULL };
	FILE *header = fopen("/usr/include/asm-generic/unistd.h", "re");
	unsigned int found = 0;
	unsigned int nr;
	char name[64];

	(void)state;
	if (!header)
		skip();
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(rows); i++)
		if (rows[i].nr >= 0)
			entries[rows[i].nr] = rows[i].name;
	while (next_define(header, name, &nr)) {
		assert_true(nr < SONDE_SYSCALLS_MAX);
		/* those of 32-bit machines, and marks between calls */
		if ((nr >= 403 && nr <= 423) || !strcmp(name, "syscalls") ||
		    !strcmp(name, "arch_specific_syscall") ||
		    !strcmp(name, "sync_file_range2"))
			continue;
		assert_non_null(entries[nr]);
		assert_string_equal(entries[nr], generic_entry(name));
		found++;
	}
	assert_int_equal(fclose(header), 0);
	assert_true(found > 280);
}

static void names_are_unique_and_found_again(void **state)
{
	(void)state;
	for (enum sonde_syscall_abi abi = 0; abi < SONDE_SYSCALL_ABIS; abi++) {
		for (uint32_t nr = 0; nr < sonde_syscall_span(abi); nr++) {
			const struct sonde_syscall *call =
				sonde_syscall(abi, nr);

			if (call)
				assert_int_equal(
					sonde_syscall_number(abi, call->name),
					nr);
		}
	}
}

static void what_is_no_call_is_not_found(void **state)
{
	(void)state;
	for (enum sonde_syscall_abi abi = 0; abi < SONDE_SYSCALL_ABIS; abi++) {
		uint32_t span = sonde_syscall_span(abi);

		assert_true(span <= SONDE_SYSCALLS_MAX);
		assert_null(sonde_syscall(abi, span));
		assert_null(sonde_syscall(abi, UINT32_MAX));
		assert_int_equal(sonde_syscall_number(abi, ""), -1);
		assert_int_equal(sonde_syscall_number(abi, "no_such"), -1);
	}
}

static void the_kernels_own_names_are_understood(void **state)
{
	(void)state;
	assert_string_equal(native("newfstat")->name, "fstat");
	assert_string_equal(native("newuname")->name, "uname");
	assert_string_equal(native("sendfile64")->name, "sendfile");
	assert_string_equal(native("umount")->name, "umount2");
}

/* ---- arguments ---- */

/* How many arguments the kernel's format tells of. */
static uint32_t count_fields(FILE *format)
{
	char line[4096];
	uint32_t nr = 0;

	while (fgets(line, sizeof(line), format)) {
		if (!strncmp(line, "\tfield:", 7) &&
		    !strstr(line, " common_") &&
		    !strstr(line, "__syscall_nr") &&
		    /* contents, by newer kernels */
		    !strstr(line, "__data_loc"))
			nr++;
	}
	return nr;
}

/* What the kernel calls it. */
static FILE *open_format(const char *name)
{
	static const char *const prefixes[] = { "", "new" };
	static const char *const others[][2] = {
		{ "sendfile", "sendfile64" },
		{ "umount2", "umount" },
	};
	FILE *format = NULL;
	char path[256];

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(others); i++)
		if (!strcmp(name, others[i][0]))
			name = others[i][1];
	for (size_t i = 0; !format && i < SONDE_ARRAY_SIZE(prefixes); i++) {
		(void)snprintf(path, sizeof(path),
			       TRACEFS "/sys_enter_%s%s/format", prefixes[i],
			       name);
		format = fopen(path, "re");
	}
	return format;
}

static void there_are_as_many_arguments_as_this_kernel_has(void **state)
{
	uint32_t found = 0;

	(void)state;
	for (uint32_t nr = 0; nr < sonde_syscall_span(SONDE_SYSCALL_NATIVE);
	     nr++) {
		const struct sonde_syscall *call =
			sonde_syscall(SONDE_SYSCALL_NATIVE, nr);
		FILE *format = call ? open_format(call->name) : NULL;
		uint32_t args;

		if (!format)
			continue;
		args = count_fields(format);
		if (nr_args(call) != args)
			fail_msg("%s has %u arguments", call->name, args);
		assert_int_equal(fclose(format), 0);
		found++;
	}
	if (!found)
		skip();
	print_message("%u calls\n", found);
}

static void check_length(const struct sonde_syscall *call,
			 const struct sonde_syscall_arg *arg)
{
	const struct sonde_syscall_arg *length;

	assert_true(arg->length < nr_args(call));
	length = &call->args[arg->length];
	assert_true(length->kind == SONDE_ARG_INT ||
		    length->kind == SONDE_ARG_UINT ||
		    length->kind == SONDE_ARG_ULONG);
	assert_null(length->labels);
}

/* Labels differ, and those of bits are of one bit each. */
static void check_labels(const struct sonde_syscall_arg *arg)
{
	const struct sonde_source_label *labels = arg->labels;

	for (size_t i = 0; labels[i].text; i++) {
		if (arg->is_flags)
			assert_true((labels[i].value & (labels[i].value - 1)) ==
				    0);
		for (size_t k = 0; k < i; k++) {
			assert_true(labels[k].value != labels[i].value);
			assert_string_not_equal(labels[k].text, labels[i].text);
		}
	}
}

static void check_args(const struct sonde_syscall *call)
{
	uint32_t nr = nr_args(call);

	for (uint32_t i = nr; i < SONDE_SYSCALL_ARGS; i++)
		assert_int_equal(call->args[i].kind, SONDE_ARG_NONE);
	for (uint32_t i = 0; i < nr; i++) {
		assert_non_null(call->args[i].name);
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(call->args[k].name,
						call->args[i].name);
		if (call->args[i].kind == SONDE_ARG_BUFFER)
			check_length(call, &call->args[i]);
		if (call->args[i].labels)
			check_labels(&call->args[i]);
	}
}

static void arguments_agree_with_themselves(void **state)
{
	(void)state;
	for (enum sonde_syscall_abi abi = 0; abi < SONDE_SYSCALL_ABIS; abi++)
		for (uint32_t nr = 0; nr < sonde_syscall_span(abi); nr++)
			if (sonde_syscall(abi, nr))
				check_args(sonde_syscall(abi, nr));
}

/* ---- descriptions ---- */

/* d u of 32 bits, D U of 64, signed or not; s a string, b bytes. */
static char letter_of(const struct sonde_field_view *field)
{
	bool is_signed = field->flags & SONDE_FIELD_SIGNED;

	if (field->kind == SONDE_TYPE_STRING)
		return 's';
	if (field->kind == SONDE_TYPE_BLOB)
		return 'b';
	if (field->bits == 64)
		return is_signed ? 'D' : 'U';
	return is_signed ? 'd' : 'u';
}

/* A payload in its order: "name:letter ", with an x before the letter if it is
 * shown in hexadecimal and a = behind it if it has labels. */
static void spell(const struct sonde_desc *desc, char *to)
{
	struct sonde_fields fields = sonde_desc_fields(desc);
	struct sonde_field_view field;

	*to = 0;
	while (sonde_fields_next(&fields, &field))
		to += sprintf(to, "%s:%s%c%s ", field.name,
			      field.flags & SONDE_FIELD_HEX ? "x" : "",
			      letter_of(&field),
			      field.kind == SONDE_TYPE_ENUM ? "=" : "");
}

static const struct sonde_desc *describe(enum sonde_syscall_abi abi,
					 const struct sonde_syscall *call,
					 bool is_exit, size_t form)
{
	const struct sonde_desc *desc;

	memset(room, 0xa5, sizeof(room));
	assert_int_equal(sonde_syscall_describe(abi, call, is_exit,
						&forms[form], room),
			 0);
	assert_int_equal(sonde_desc_check(room, sizeof(room), &desc), 0);
	assert_string_equal(sonde_desc_provider(desc), "syscalls");
	return desc;
}

static void assert_payload(const char *name, bool is_exit, size_t form,
			   const char *expected)
{
	char spelt[512];

	spell(describe(SONDE_SYSCALL_NATIVE, native(name), is_exit, form),
	      spelt);
	assert_string_equal(spelt, expected);
}

enum {
	PLAIN,
	BUFFERS,
	STRINGS,
	BOTH
};

static void strings_come_after_numbers(void **state)
{
	(void)state;
	assert_payload("openat", false, STRINGS,
		       "dfd:d= flags:u= mode:u filename:s ");
	assert_payload("openat", false, PLAIN,
		       "dfd:d= filename:xU flags:u= mode:u ");
	assert_payload("linkat", false, STRINGS,
		       "olddfd:d= newdfd:d= flags:u= oldname:s newname:s ");
}

static void lists_of_strings_come_after_strings(void **state)
{
	(void)state;
	assert_payload("execve", false, STRINGS, "envp:xU filename:s argv:s ");
	assert_payload("execve", false, BUFFERS,
		       "filename:xU argv:xU envp:xU ");
}

static void buffers_come_last(void **state)
{
	(void)state;
	assert_payload("write", false, BUFFERS, "fd:d count:U buf:b ");
	assert_payload("write", false, STRINGS, "fd:d buf:xU count:U ");
	assert_payload("fsetxattr", false, BOTH,
		       "fd:d size:U flags:u= name:s value:b ");
	assert_payload("add_key", false, BOTH,
		       "plen:U ringid:d _type:s _description:s _payload:b ");
}

static void what_a_call_writes_is_in_its_exit(void **state)
{
	(void)state;
	assert_payload("read", false, BOTH, "fd:d buf:xU count:U ");
	assert_payload("read", true, BOTH, "ret:D buf:b ");
	assert_payload("read", true, STRINGS, "ret:D ");
	assert_payload("write", true, BOTH, "ret:D ");
	assert_payload("getpid", false, BOTH, "");
	assert_payload("lseek", false, BOTH, "fd:d offset:D whence:d= ");
}

static void events_have_lttngs_names(void **state)
{
	const struct sonde_syscall *call = native("openat");

	(void)state;
	assert_string_equal(
		sonde_desc_name(describe(SONDE_SYSCALL_NATIVE, call, false, 0)),
		"syscall_entry_openat");
	assert_string_equal(
		sonde_desc_name(describe(SONDE_SYSCALL_NATIVE, call, true, 0)),
		"syscall_exit_openat");
	assert_string_equal(
		sonde_desc_name(describe(SONDE_SYSCALL_COMPAT, call, false, 0)),
		"compat_syscall_entry_openat");
	assert_string_equal(
		sonde_desc_name(describe(SONDE_SYSCALL_COMPAT, NULL, true, 0)),
		"compat_syscall_exit_unknown");
}

static void unknown_calls_have_a_number_and_arguments(void **state)
{
	struct sonde_fields fields;
	struct sonde_field_view field;
	struct sonde_field_view element;

	(void)state;
	fields = sonde_desc_fields(
		describe(SONDE_SYSCALL_NATIVE, NULL, false, BOTH));
	assert_true(sonde_fields_next(&fields, &field));
	assert_string_equal(field.name, "id");
	assert_int_equal(field.bits, 64);
	assert_true(sonde_fields_next(&fields, &field));
	assert_string_equal(field.name, "args");
	assert_int_equal(field.kind, SONDE_TYPE_ARRAY);
	assert_int_equal(field.count, SONDE_SYSCALL_ARGS);
	fields = sonde_field_children(&field);
	assert_true(sonde_fields_next(&fields, &element));
	assert_int_equal(element.bits, 64);
	fields = sonde_desc_fields(
		describe(SONDE_SYSCALL_NATIVE, NULL, true, BOTH));
	assert_int_equal(fields.left, 2);
}

/* All labels are there: none was left out for want of room. */
static void check_counts(const struct sonde_syscall *call,
			 const struct sonde_desc *desc)
{
	struct sonde_fields fields = sonde_desc_fields(desc);
	struct sonde_field_view field;

	assert_int_equal(fields.left, nr_args(call));
	while (sonde_fields_next(&fields, &field)) {
		const struct sonde_syscall_arg *arg = call->args;
		uint32_t nr = 0;

		while (strcmp(arg->name, field.name) != 0)
			arg++;
		while (arg->labels && arg->labels[nr].text)
			nr++;
		assert_int_equal(
			field.kind == SONDE_TYPE_ENUM ? field.count : 0, nr);
	}
}

static void each_call_has_a_description_in_each_form(void **state)
{
	(void)state;
	for (enum sonde_syscall_abi abi = 0; abi < SONDE_SYSCALL_ABIS; abi++) {
		for (uint32_t nr = 0; nr < sonde_syscall_span(abi); nr++) {
			const struct sonde_syscall *call =
				sonde_syscall(abi, nr);

			for (size_t i = 0; call && i < 4; i++) {
				check_counts(call,
					     describe(abi, call, false, i));
				(void)describe(abi, call, true, i);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(each_number_of_the_headers_has_its_name),
		cmocka_unit_test(each_number_of_32_bit_headers_has_its_name),
		cmocka_unit_test(calls_of_32_bits_have_arguments_of_their_own),
#endif
		cmocka_unit_test(
			each_number_of_the_generic_header_has_its_entry),
		cmocka_unit_test(names_are_unique_and_found_again),
		cmocka_unit_test(what_is_no_call_is_not_found),
		cmocka_unit_test(the_kernels_own_names_are_understood),
		cmocka_unit_test(
			there_are_as_many_arguments_as_this_kernel_has),
		cmocka_unit_test(arguments_agree_with_themselves),
		cmocka_unit_test(strings_come_after_numbers),
		cmocka_unit_test(lists_of_strings_come_after_strings),
		cmocka_unit_test(buffers_come_last),
		cmocka_unit_test(what_a_call_writes_is_in_its_exit),
		cmocka_unit_test(events_have_lttngs_names),
		cmocka_unit_test(unknown_calls_have_a_number_and_arguments),
		cmocka_unit_test(each_call_has_a_description_in_each_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
