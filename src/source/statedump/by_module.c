/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * by_module.c - threads, files and mappings by our own module (by_module.h).
 *
 * One ioctl makes a dump, and reading goes to its end; records are checked by
 * kernel_records.c. Few processes are asked for one by one, many all at once.
 */
#include "source/statedump/by_module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kmod/abi.h"
#include "source/statedump/kernel_records.h"
#include "source/statedump/proc.h"

/* So many processes are asked for one by one. Each time the module looks at all
 * threads, some 50 ns each, but at these processes' files only; of more, it is
 * asked for everybody's, and records.c leaves out who isn't wanted. */
#define SINGLE_MAX 64u

/* The number of the first PID namespace, in which the kernel numbers. */
#define FIRST_PID_NS 0xeffffffcu

struct sonde_statedump_module {
	int device;
	struct sonde_records records;
};

int sonde_statedump_module_new(struct sonde_statedump_module **ret_own)
{
	struct sonde_kmod_info info = { .size = sizeof(info) };
	struct sonde_statedump_module *own = calloc(1, sizeof(*own));
	int rc = 0;

	if (!own)
		return -ENOMEM;
	own->device = open(SONDE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	if (own->device < 0 || ioctl(own->device, SONDE_KMOD_INFO, &info))
		rc = -errno;
	else if (info.version != SONDE_KMOD_VERSION)
		rc = -EPROTO;
	if (rc) {
		sonde_statedump_module_free(own);
		return rc;
	}
	*ret_own = own;
	return 0;
}

void sonde_statedump_module_free(struct sonde_statedump_module *own)
{
	if (!own)
		return;
	if (own->device >= 0)
		(void)close(own->device); /* nothing was written to it */
	free(own);
}

static int read_dump(struct sonde_statedump_module *own, int fd,
		     const struct sonde_statedump_target *target)
{
	struct sonde_kmod_dump_counts counts = { .size = sizeof(counts) };
	int rc = sonde_records_read_all(&own->records, fd);

	if (ioctl(fd, SONDE_KMOD_DUMP_COUNTS, &counts))
		return rc ? rc : -errno;
	if (counts.omitted)
		target->omit(target->ctx, counts.omitted);
	return rc;
}

static int run(struct sonde_statedump_module *own, enum sonde_record_kind kind,
	       int32_t pid, const struct sonde_statedump_wanted *wanted,
	       const struct sonde_statedump_target *target)
{
	static const enum sonde_kmod_dump_kind kinds[] = {
		[SONDE_RECORD_TASK] = SONDE_KMOD_DUMP_TASKS,
		[SONDE_RECORD_FILE] = SONDE_KMOD_DUMP_FILES,
		[SONDE_RECORD_MAPPING] = SONDE_KMOD_DUMP_MAPPINGS,
	};
	struct sonde_kmod_dump request = {
		.size = sizeof(request),
		.kind = kinds[kind],
		.pid = pid,
		.fd_max = SONDE_STATEDUMP_FD_MAX,
	};
	int fd = ioctl(own->device, SONDE_KMOD_DUMP, &request);
	int rc;

	if (fd < 0)
		return -errno;
	sonde_records_init(&own->records, kind, (uint64_t)sysconf(_SC_PAGESIZE),
			   wanted, target);
	rc = read_dump(own, fd, target);
	(void)close(fd); /* it was only read */
	return rc;
}

int sonde_statedump_module_tasks(struct sonde_statedump_module *own,
				 int32_t only_pid,
				 const struct sonde_statedump_target *target)
{
	/* In another namespace the number says somebody else. */
	if (sonde_proc_own_pid_ns() != FIRST_PID_NS)
		only_pid = 0;
	return run(own, SONDE_RECORD_TASK, only_pid, NULL, target);
}

static int run_wanted(struct sonde_statedump_module *own,
		      enum sonde_record_kind kind,
		      const struct sonde_statedump_wanted *wanted,
		      const struct sonde_statedump_target *target)
{
	int rc = 0;

	if (wanted->everybody || wanted->nr > SINGLE_MAX)
		return run(own, kind, 0, wanted, target);
	for (size_t i = 0; !rc && i < wanted->nr; i++)
		rc = run(own, kind, wanted->pids[i], wanted, target);
	return rc;
}

int sonde_statedump_module_files(struct sonde_statedump_module *own,
				 const struct sonde_statedump_wanted *wanted,
				 const struct sonde_statedump_target *target)
{
	return run_wanted(own, SONDE_RECORD_FILE, wanted, target);
}

int sonde_statedump_module_mappings(struct sonde_statedump_module *own,
				    const struct sonde_statedump_wanted *wanted,
				    const struct sonde_statedump_target *target)
{
	return run_wanted(own, SONDE_RECORD_MAPPING, wanted, target);
}
