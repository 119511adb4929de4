/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * programs.c - the programs and their maps: loaded, attached, released.
 *
 * All of it hangs on file descriptors of ours: whatever ends this process ends
 * the recording, and nothing is left in the system.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/btf.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/number.h"
#include "base/port.h"
#include "sys/btf.h"
#include "sys/linux.h"
#include "sys/textfile.h"

/* ---- what this kernel and user can do ---- */

static int refused(const struct bpf_source *source,
		   struct sonde_source_error *error, int rc)
{
	char why[SONDE_SOURCE_WHY];

	return sonde_source_fail(error, rc, "BPF: %s",
				 sonde_source_explain(&source->config, "bpf",
						      why) ?
					 why :
					 "not permitted");
}

static int check_caps(const struct bpf_source *source,
		      struct sonde_source_error *error)
{
	if (sonde_linux_capable(CAP_SYS_ADMIN) ||
	    (sonde_linux_capable(CAP_BPF) && sonde_linux_capable(CAP_PERFMON)))
		return 0;
	return refused(source, error, -EPERM);
}

/*
 * From 6.19 or 7.0 on, the programs of tracepoints may be preempted where
 * the kernel is real-time, and those of system calls everywhere: their rings
 * would have two writers. There they disable preemption themselves, which such
 * kernels let them do (since 6.10).
 */
#define RELEASE_PREEMPTED 6019
/* sched_switch has the state as an argument; bpf_loop(). */
#define RELEASE_MIN 5018

int bpf_object_able(struct bpf_source *source, struct sonde_source_error *error)
{
	uint32_t have = sonde_linux_release();
	int rc = check_caps(source, error);

	if (rc)
		return rc;
	if (have && have < RELEASE_MIN)
		return sonde_source_fail(error, -ENOSYS,
					 "BPF: this needs Linux 5.18 or later, "
					 "and this is %u.%u",
					 have / 1000, have % 1000);
	if (access(SONDE_BTF_PATH, R_OK))
		return sonde_source_fail(error, -ENODEV,
					 "BPF: no " SONDE_BTF_PATH " (%s): the "
					 "kernel was built without "
					 "CONFIG_DEBUG_INFO_BTF",
					 strerrordesc_np(errno));
	source->consts[SONDE_BPF_MUST_GUARD] = have >= RELEASE_PREEMPTED;
	return 0;
}

/* ---- what libbpf says ---- */

/* The last complaint, one line, for the error's text. */
static _Thread_local char complaint[160];

__attribute__((format(printf, 2, 0))) static int
note(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !complaint[0]) {
		(void)vsnprintf(complaint, sizeof(complaint), format, args);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return 0;
}

static bool is_locked_down(void)
{
	char line[80];

	(void)sonde_textfile_read(line, sizeof(line),
				  "/sys/kernel/security/lockdown");
	return strstr(line, "[confidentiality]") != NULL;
}

/* -EINVAL is for what the user got wrong, which nothing here is. */
int bpf_object_explain(const struct bpf_source *source,
		       struct sonde_source_error *error, int rc,
		       const char *what)
{
	if (rc == -EINVAL)
		return sonde_source_fail(error, -EOPNOTSUPP,
					 "BPF: %s: this kernel refuses them; "
					 "%s",
					 what, complaint);
	if (rc == -EPERM && is_locked_down())
		return sonde_source_fail(
			error, rc,
			"BPF: the kernel is locked down "
			"(/sys/kernel/security/lockdown is confidentiality, "
			"usually by Secure Boot or lockdown= at boot): its "
			"programs may not read the kernel's memory");
	if (rc == -EPERM)
		return refused(source, error, rc);
	if (rc == -ENOMEM)
		return sonde_source_fail(error, rc,
					 "BPF: %s: not enough memory for the "
					 "buffers; ask for less by "
					 "--kernel-memory",
					 what);
	return sonde_source_fail(error, rc, "BPF: %s: %s; %s", what,
				 strerrordesc_np(-rc), complaint);
}

/* ---- loading ---- */

#define SONDE_BPF_NAME(upper, group, name) #name,
static const char *const program_names[SONDE_BPF_NR_EVENTS] = {
	SONDE_BPF_EVENTS(SONDE_BPF_NAME)
};
#undef SONDE_BPF_NAME

/* Programs that keep who runs, and the tree, whatever is recorded. */
static bool keeps(const struct bpf_source *source, const char *name)
{
	bool is_tree = source->consts[SONDE_BPF_IS_TREE];

	if (!strcmp(name, "sched_switch"))
		return is_tree || source->consts[SONDE_BPF_HAS_CURRENT];
	if (!strcmp(name, "sched_process_exec") ||
	    !strcmp(name, "sched_process_exit"))
		return source->consts[SONDE_BPF_HAS_CURRENT];
	return is_tree && (!strcmp(name, "sched_process_fork") ||
			   !strcmp(name, "sched_process_free"));
}

/* Which template it is, or -1. */
static int any_of(const char *name)
{
	uint64_t number;

	return !strncmp(name, "any_",
			4) && sonde_number_parse(name + 4, INT32_MAX, &number) ?
		       (int)number :
		       -1;
}

static bool is_needed(const struct bpf_source *source, const char *name)
{
	if (!strcmp(name, "mark"))
		return true;
	if (!strcmp(name, "sys_enter"))
		return source->has_entries;
	if (!strcmp(name, "sys_exit"))
		return source->has_exits;
	if (any_of(name) >= 0)
		return (uint32_t)any_of(name) < source->nr_anys;
	if (keeps(source, name))
		return true;
	for (uint32_t i = 0; i < SONDE_BPF_NR_EVENTS; i++)
		if (!strcmp(name, program_names[i]))
			return source->consts[SONDE_BPF_ID + i];
	return false;
}

struct bpf_map *bpf_object_map(struct bpf_object *object, const char *name)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *found = bpf_map__name(map);
		size_t n = strlen(found);

		/* Constants are named after the object. */
		if (!strcmp(found, name) ||
		    (n > strlen(name) &&
		     !strcmp(found + n - strlen(name), name)))
			return map;
	}
	return NULL;
}

static int set_maps(struct bpf_source *source)
{
	const struct sonde_bpf_geometry *g = &source->geometry;
	struct bpf_map *data = bpf_object_map(source->object, "data");
	int rc;

	rc = bpf_map__set_value_size(data, g->subbuf_bytes);
	if (!rc)
		rc = bpf_map__set_max_entries(data, g->total);
	if (!rc)
		rc = bpf_map__set_max_entries(
			bpf_object_map(source->object, "cpus"), g->nr_cpus);
	if (!rc && source->consts[SONDE_BPF_IS_TREE])
		rc = bpf_map__set_max_entries(bpf_object_map(source->object,
							     "tracked"),
					      SONDE_BPF_TRACKED_MAX);
	if (!rc)
		rc = bpf_map__set_initial_value(
			bpf_object_map(source->object, ".data.plans"),
			source->plans, sizeof(*source->plans));
	return rc;
}

static int set_programs(struct bpf_source *source)
{
	struct bpf_program *program;
	int rc = 0;

	bpf_object__for_each_program(program, source->object)
	{
		const char *name = bpf_program__name(program);

		rc = bpf_program__set_autoload(program,
					       is_needed(source, name));
		if (rc)
			break;
	}
	return rc;
}

/* The tracepoint that a program is for: of a template, what it is used for; of
 * all others, their name. */
static const char *target_of(void *ctx, const struct bpf_program *program)
{
	const struct bpf_source *source = ctx;
	const char *name = bpf_program__name(program);
	int any = any_of(name);

	return any >= 0 ? source->anys[any].name : name;
}

static bool has_all_maps(struct bpf_source *source)
{
	static const char *const names[] = { "data", "cpus", "tracked",
					     ".data.plans", ".data.clocks" };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++)
		if (!bpf_object_map(source->object, names[i]))
			return false;
	return true;
}

/*
 * Wherever the code loads a constant by its mark, its value instead. The
 * sections are aligned in the file, so the instructions are.
 */
static const uint32_t *constant(const struct bpf_source *source,
				const uint32_t *consts, uint32_t mark)
{
	uint32_t which = mark - SONDE_BPF_CONST_MARK;

	if (which < SONDE_BPF_NR_CONSTS)
		return &consts[which];
	which = mark - SONDE_BPF_ANY_MARK;
	if (which < 16 * SONDE_BPF_ANY_NR)
		return &source->anys[which / 16].consts[which % 16];
	return NULL;
}

static void set_constants(const struct bpf_source *source,
			  const uint32_t *consts, unsigned char *image,
			  size_t size)
{
	for (size_t at = 0; at + sizeof(struct bpf_insn) <= size;
	     at += sizeof(struct bpf_insn)) {
		struct bpf_insn insn;
		const uint32_t *value;

		memcpy(&insn, image + at, sizeof(insn));
		value = constant(source, consts, (uint32_t)insn.imm);
		if (insn.code != (BPF_ALU64 | BPF_MOV | BPF_K) || insn.off ||
		    insn.src_reg || !value)
			continue;
		insn.imm = (int32_t)*value;
		memcpy(image + at, &insn, sizeof(insn));
	}
}

/* ---- what some kernels lack ---- */

/* Where the count lies in `pcpu_hot`, of 6.2 to 6.14. */
#define COUNT_OFFSET 8

/* Whether the kernel takes these instructions. */
static bool is_loadable(const struct bpf_insn *program, size_t nr)
{
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL",
			       program, nr, NULL);

	if (fd < 0)
		return false;
	(void)close(fd); /* drops it */
	return true;
}

/* A kernel without CONFIG_KALLSYMS_ALL knows the types of its variables, but not
 * where they are, and says so only when they are loaded. */
static bool has_variable(int id)
{
	const struct bpf_insn program[] = {
		{ BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_BTF_ID, 0,
		  id },
		{ .code = 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};

	return id > 0 && is_loadable(program, SONDE_ARRAY_SIZE(program));
}

/* For tasks, with what they have. */
static bool has_cast(int function, int task)
{
	const struct bpf_insn program[] = {
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_task_btf },
		{ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_0, 0, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, task },
		{ BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, function },
		{ BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_0, 0, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};

	return function > 0 && task > 0 &&
	       is_loadable(program, SONDE_ARRAY_SIZE(program));
}

enum type {
	TYPE_PREEMPT_DISABLE,
	TYPE_PREEMPT_ENABLE,
	TYPE_PREEMPT_COUNT,
	TYPE_PCPU_HOT,
	TYPE_RUN_QUEUES,
	TYPE_RDONLY_CAST,
	TYPE_TASK,
	NR_TYPES,
};

#define FUNCTION(of)                                \
	{                                           \
		.kind = BTF_KIND_FUNC, .name = (of) \
	}
#define VARIABLE(of)                               \
	{                                          \
		.kind = BTF_KIND_VAR, .name = (of) \
	}

#if defined(__x86_64__)
/* What has the count in it has had several names. */
static void find_count(struct bpf_source *source,
		       const struct sonde_btf_wanted *types, uint32_t *ids)
{
	static const struct {
		enum type type;
		int32_t offset;
	} counts[] = { { TYPE_PREEMPT_COUNT, 0 },
		       { TYPE_PCPU_HOT, COUNT_OFFSET } };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(counts); i++) {
		const struct sonde_btf_wanted *type = &types[counts[i].type];
		int32_t distance = 0;
		uint32_t by = SONDE_BPF_COUNT_UNKNOWN;

		if (has_variable(type->id)) {
			ids[SONDE_BPF_PREEMPT_COUNT] = (uint32_t)type->id;
			by = SONDE_BPF_COUNT_BY_NAME;
		} else if (sonde_btf_distance(&types[TYPE_RUN_QUEUES], type,
					      &distance)) {
			by = SONDE_BPF_COUNT_BY_QUEUE;
		}
		if (!by)
			continue;
		source->consts[SONDE_BPF_COUNT_BY] = by;
		source->consts[SONDE_BPF_COUNT_OFFSET] =
			(uint32_t)(counts[i].offset + distance);
		return;
	}
}
#else
/* There, it is the task's. */
static void find_count(struct bpf_source *source,
		       const struct sonde_btf_wanted *types, uint32_t *ids)
{
	(void)source;
	(void)types;
	(void)ids;
}
#endif

/* The ids of what the programs need of it; 0: not there. */
static void find_ids(struct bpf_source *source, const struct sonde_btf *btf,
		     uint32_t *ids)
{
	struct sonde_btf_wanted types[NR_TYPES] = {
		[TYPE_PREEMPT_DISABLE] = FUNCTION("bpf_preempt_disable"),
		[TYPE_PREEMPT_ENABLE] = FUNCTION("bpf_preempt_enable"),
		[TYPE_PREEMPT_COUNT] = VARIABLE("__preempt_count"),
		[TYPE_PCPU_HOT] = VARIABLE("pcpu_hot"),
		[TYPE_RUN_QUEUES] = VARIABLE("runqueues"),
		[TYPE_RDONLY_CAST] = FUNCTION("bpf_rdonly_cast"),
		[TYPE_TASK] = { .kind = BTF_KIND_STRUCT,
				.name = "task_struct" },
	};

	sonde_btf_find(btf, types, NR_TYPES);
	ids[SONDE_BPF_PREEMPT_DISABLE] =
		(uint32_t)types[TYPE_PREEMPT_DISABLE].id;
	ids[SONDE_BPF_PREEMPT_ENABLE] = (uint32_t)types[TYPE_PREEMPT_ENABLE].id;
	if (source->consts[SONDE_BPF_ID + SONDE_BPF_SCHED_WAKING] ||
	    source->consts[SONDE_BPF_ID + SONDE_BPF_SCHED_WAKEUP] ||
	    source->consts[SONDE_BPF_ID + SONDE_BPF_SCHED_WAKEUP_NEW])
		find_count(source, types, ids);
	if (has_cast(types[TYPE_RDONLY_CAST].id, types[TYPE_TASK].id)) {
		ids[SONDE_BPF_RDONLY_CAST] =
			(uint32_t)types[TYPE_RDONLY_CAST].id;
		source->consts[SONDE_BPF_TASK_TYPE] =
			(uint32_t)types[TYPE_TASK].id;
	}
}

/* What is loaded or called by a mark, by its id instead. What has none can't
 * be reached, and the kernel drops it. */
static void set_ids(const uint32_t *ids, unsigned char *image, size_t size)
{
	for (size_t at = 0; at + 2 * sizeof(struct bpf_insn) <= size;
	     at += sizeof(struct bpf_insn)) {
		struct bpf_insn insn;
		uint32_t which;

		memcpy(&insn, image + at, sizeof(insn));
		which = (uint32_t)insn.imm - SONDE_BPF_BTF_MARK;
		if (which >= SONDE_BPF_NR_BTF || !ids[which] || insn.off ||
		    insn.src_reg)
			continue;
		if (insn.code == (BPF_JMP | BPF_CALL))
			insn.src_reg = BPF_PSEUDO_KFUNC_CALL;
		else if (insn.code == (BPF_LD | BPF_IMM | BPF_DW))
			insn.src_reg = BPF_PSEUDO_BTF_ID;
		else
			continue;
		insn.imm = (int32_t)ids[which];
		memcpy(image + at, &insn, sizeof(insn));
	}
}

void bpf_object_patch(const struct bpf_source *source, const uint32_t *consts,
		      unsigned char *image, size_t size)
{
	set_ids(source->ids, image, size);
	set_constants(source, consts, image, size);
}

static int resolve(struct bpf_source *source, const struct sonde_btf *btf,
		   struct sonde_source_error *error)
{
	const uint32_t *ids = source->ids;

	find_ids(source, btf, source->ids);
	if (source->consts[SONDE_BPF_MUST_GUARD] &&
	    (!ids[SONDE_BPF_PREEMPT_DISABLE] || !ids[SONDE_BPF_PREEMPT_ENABLE]))
		return sonde_source_fail(
			error, -EOPNOTSUPP,
			"BPF: the kernel lacks bpf_preempt_disable(), without "
			"which programs may be preempted");
	bpf_object_patch(source, source->consts, source->image,
			 source->image_size);
	return 0;
}

/* Without conditions, those that have no room for them. */
static int choose_programs(struct bpf_source *source)
{
	unsigned char *plain;

	if (source->consts[SONDE_BPF_NR_CONDS] || source->config.stacks)
		return 0;
	plain = malloc(sonde_bpf_plain_size);
	if (!plain)
		return -ENOMEM;
	memcpy(plain, sonde_bpf_plain, sonde_bpf_plain_size);
	free(source->image);
	source->image = plain;
	source->image_size = sonde_bpf_plain_size;
	return 0;
}

/* All but the kernel's part: maps, and which programs. */
static int open_object(struct bpf_source *source,
		       struct sonde_source_error *error)
{
	int rc = sonde_bpf_load_open(&source->load, SONDE_BPF_PROGRAM_NAME,
				     source->image, source->image_size, NULL);

	if (rc)
		return bpf_object_explain(source, error, rc,
					  "opening the programs");
	source->object = source->load.object;
	if (!has_all_maps(source))
		return sonde_source_fail(error, -ENOEXEC,
					 "BPF: the programs are not ours");
	rc = set_maps(source);
	if (!rc)
		rc = set_programs(source);
	return rc ? bpf_object_explain(source, error, rc,
				       "preparing the programs") :
		    0;
}

static int load_with(struct bpf_source *source, const struct sonde_btf *btf,
		     struct sonde_source_error *error)
{
	const char *missing;
	struct bpf_program *mark;
	int rc = choose_programs(source);

	if (rc)
		return sonde_source_fail(error, rc, "out of memory");
	rc = resolve(source, btf, error);
	if (!rc)
		rc = open_object(source, error);
	if (rc)
		return rc;
	rc = sonde_bpf_load(&source->load, btf, target_of, source, &missing);
	if (rc && missing)
		return sonde_source_fail(error, -ENOENT,
					 "BPF: this kernel has no tracepoint "
					 "%s",
					 missing);
	if (rc)
		return bpf_object_explain(source, error, rc,
					  "loading the programs");
	mark = bpf_object__find_program_by_name(source->object, "mark");
	source->mark_fd = mark ? bpf_program__fd(mark) : -1;
	return 0;
}

int bpf_object_types(struct bpf_source *source,
		     struct sonde_source_error *error)
{
	int rc = source->btf.places ? 0 : sonde_btf_open(&source->btf);

	return rc ? sonde_source_fail(error, rc, "BPF: " SONDE_BTF_PATH ": %s",
				      strerrordesc_np(-rc)) :
		    0;
}

int bpf_object_load(struct bpf_source *source, struct sonde_source_error *error)
{
	int rc = bpf_object_types(source, error);

	if (rc)
		return rc;
	complaint[0] = '\0';
	(void)libbpf_set_print(note); /* the one before is stderr's */
	rc = load_with(source, &source->btf, error);
	if (!rc && source->config.nr_probes) {
		complaint[0] = '\0';
		/* the dump's may be there meanwhile */
		(void)libbpf_set_print(note);
		rc = bpf_probes_load(source, error);
	}
	sonde_btf_close(&source->btf);
	return rc;
}

/* ---- running ---- */

int bpf_object_attach(struct bpf_source *source,
		      struct sonde_source_error *error)
{
	struct bpf_program *program;

	complaint[0] = '\0';
	bpf_object__for_each_program(program, source->object)
	{
		struct bpf_link *link;

		if (!bpf_program__autoload(program) ||
		    bpf_program__fd(program) == source->mark_fd ||
		    source->nr_links == SONDE_BPF_LINKS_MAX)
			continue;
		link = bpf_program__attach_trace(program);
		if (!link)
			return bpf_object_explain(source, error, -errno,
						  bpf_program__name(program));
		source->links[source->nr_links++] = link;
	}
	return 0;
}

/* Events while their program was running already: the kernel counts. */
uint64_t bpf_program_missed(const struct bpf_program *program)
{
	struct bpf_prog_info info = { .type = 0 };
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(program);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) ?
		       info.recursion_misses :
		       0;
}

uint64_t bpf_missed_by_programs(struct bpf_source *source)
{
	struct bpf_program *program;
	uint64_t missed = bpf_probes_missed(source);

	bpf_object__for_each_program(program, source->object) missed +=
		bpf_program_missed(program);
	return missed;
}

void bpf_object_detach(struct bpf_source *source)
{
	bpf_probes_detach(source);
	while (source->nr_links)
		/* It says no more than that the descriptor was closed. */
		(void)bpf_link__destroy(source->links[--source->nr_links]);
	source->missed = bpf_missed_by_programs(source);
}

int bpf_object_mark(const struct bpf_source *source, uint32_t cpu,
		    enum sonde_bpf_wish wish)
{
	uint64_t argument = wish;
	struct bpf_test_run_opts options = {
		.sz = sizeof(options),
		.ctx_in = &argument,
		.ctx_size_in = sizeof(argument),
		.cpu = cpu,
		.flags = BPF_F_TEST_RUN_ON_CPU,
	};

	if (source->mark_fd < 0)
		return -EINVAL;
	return bpf_prog_test_run_opts(source->mark_fd, &options);
}

void bpf_object_free(struct bpf_source *source)
{
	if (source->object)
		bpf_object_detach(source);
	sonde_bpf_load_close(&source->load);
	sonde_btf_close(&source->btf);
	free(source->image);
	source->object = NULL;
	source->image = NULL;
}
