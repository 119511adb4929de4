// SPDX-License-Identifier: MIT
/*
 * life.c - modules come and go, and those who use them die.
 *
 *	life SONDE_KO ROUNDS
 *
 * Each round loads sonde.ko, has a child record ticks and switches and read them,
 * kills it in the middle, and unloads the module again, which must work at once.
 * Every eighth round takes CPU 1 down and up while that goes on. Memory is
 * compared after half of the rounds and after all: no kind of object may have
 * grown by one a round, nor memory as a whole by a page a round. What the first
 * half takes fills caches and page tables. Prints a line for each test and `N passed, M failed`.
 */
#include "client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CACHES_MAX 512u
/* Slabs in which the CPUs allocate: all of their objects count as active. */
#define SLABS 8u
/* What the rest of the machine does with memory meanwhile. */
#define SLACK_KIB 1024u

/* ---- what the kernel has ---- */

struct caches {
	uint32_t nr;
	struct cache {
		char name[64];
		uint64_t active;
		uint64_t per_slab;
	} cache[CACHES_MAX];
};

static void caches_read(struct caches *caches)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[400];

	caches->nr = 0;
	if (!file)
		return;
	while (fgets(line, sizeof(line), file) && caches->nr < CACHES_MAX) {
		struct cache *cache = &caches->cache[caches->nr];

		if (sscanf(line, "%63s %" SCNu64 " %*u %*u %" SCNu64,
			   cache->name, &cache->active, &cache->per_slab) == 3)
			caches->nr++;
	}
	(void)fclose(file);
}

static uint64_t memory_kib(const char *what)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[200], name[64];
	uint64_t value, found = 0;

	if (!file)
		die("meminfo");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%63[^:]: %" SCNu64, name, &value) == 2 &&
		    !strcmp(name, what))
			found = value;
	(void)fclose(file);
	return found;
}

/* Free pages that CPUs keep for themselves: some MiB that come and go, and no
 * part of MemFree. */
static uint64_t kept_kib(void)
{
	uint64_t page_kib = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	FILE *file = fopen("/proc/zoneinfo", "r");
	char line[200];
	uint64_t value, pages = 0;

	if (!file)
		die("zoneinfo");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " count: %" SCNu64, &value) == 1)
			pages += value;
	(void)fclose(file);
	return pages * page_kib;
}

static uint64_t free_kib(void)
{
	return memory_kib("MemFree") + kept_kib();
}

static void ask(const char *path, const char *word)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return;
	(void)fputs(word, file);
	(void)fclose(file);
}

/* KASAN keeps what was freed in a quarantine, as objects in use: only shrinking
 * empties it. */
static void shrink_caches(void)
{
	DIR *dir = opendir("/sys/kernel/slab");
	const struct dirent *entry;
	char path[300];

	while (dir && (entry = readdir(dir))) {
		(void)snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink",
			       entry->d_name);
		ask(path, "1");
	}
	if (dir)
		(void)closedir(dir);
}

static void settle(void)
{
	sync();
	ask("/proc/sys/vm/drop_caches", "3\n");
	/* What waits for a grace period, or for a worker. */
	(void)syscall(SYS_membarrier, 1, 0, 0);
	shrink_caches();
}

/* ---- a round ---- */

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		die("%s", path);
	(void)close(fd);
}

/* The child's descriptors go with it, in the end. */
static void unload(void)
{
	for (uint32_t i = 0; syscall(SYS_delete_module, "sonde", O_NONBLOCK);
	     i++) {
		if (errno != EWOULDBLOCK && errno != EAGAIN)
			die("unload");
		if (i > 100000)
			die("still used");
		(void)sched_yield();
	}
}

static void consume(int ready)
{
	const struct client_config config = { .mode = 1,
					      .subbuf_bytes = 4096,
					      .nr_subbufs = 4 };
	const struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_TRACEPOINT,
		.id = 9,
		.flags = SONDE_KMOD_TYPED,
		.name = "sched_switch",
	};
	struct sonde_test_run run = { .count = 500, .batch = 50 };
	struct sonde_kmod_chunk chunk;
	struct client client;
	int device = test_open();

	client_open(&client, &config);
	(void)client_tick(&client, SONDE_KMOD_WANT_FD);
	(void)client_event(&client, &event);
	client_start(&client);
	test_run(device, &run);
	if (write(ready, "", 1) != 1)
		die("ready");
	for (;;) {
		test_run(device, &run);
		if (client_get(&client, 0, &chunk))
			client_put(&client, 0, &chunk);
	}
}

static void set_cpu1(const char *word)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online",
		      O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, word, 1) != 1)
		die("CPU 1 to %s", word);
	(void)close(fd);
}

static void round_of(const char *path, uint32_t number)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	load(path);
	if (pipe(ends))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		bind_to(0);
		consume(ends[1]);
	}
	(void)close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		die("round %u: the consumer ended", number);
	(void)close(ends[0]);
	if (number % 8 == 7) {
		set_cpu1("0");
		set_cpu1("1");
	}
	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
		die("kill");
	unload();
}

/* ---- what is left ---- */

static uint32_t caches_grown(const struct caches *before,
			     const struct caches *after, uint64_t rounds)
{
	uint32_t grown = 0;

	for (uint32_t i = 0; i < after->nr; i++)
		for (uint32_t k = 0; k < before->nr; k++) {
			const struct cache *is = &after->cache[i];
			const struct cache *was = &before->cache[k];

			if (strcmp(is->name, was->name) ||
			    is->active < was->active + rounds * 9 / 10 +
						 SLABS * is->per_slab)
				continue;
			printf("  %s: %" PRIu64 " objects, then %" PRIu64 "\n",
			       is->name, was->active, is->active);
			grown++;
		}
	return grown;
}

static bool verdict(const char *name, bool is_good)
{
	printf("%s %s\n", is_good ? "ok  " : "FAIL", name);
	return is_good;
}

int main(int argc, char **argv)
{
	static struct caches before, after;
	uint64_t rounds, free_before, free_after;
	uint32_t failed = 0;

	if (argc != 3)
		return 2;
	rounds = strtoull(argv[2], NULL, 10);
	for (uint32_t i = 0; i < rounds / 2; i++)
		round_of(argv[1], i);
	settle();
	caches_read(&before);
	free_before = free_kib();
	rounds -= rounds / 2;
	for (uint32_t i = 0; i < rounds; i++)
		round_of(argv[1], i);
	settle();
	caches_read(&after);
	free_after = free_kib();
	printf("%" PRIu64 " rounds, %" PRIu64
	       " KiB free after the first, %" PRIu64 " after the second half\n",
	       2 * rounds, free_before, free_after);
	failed += !verdict("modules_come_and_go_and_consumers_die", true);
	failed += !verdict("no_kind_of_object_grows_with_rounds",
			   caches_grown(&before, &after, rounds) == 0);
	failed += !verdict("no_page_is_left_behind_in_each_round",
			   free_after + 4 * rounds + SLACK_KIB > free_before);
	printf("%u passed, %u failed\n", 3 - failed, failed);
	return failed ? 1 : 0;
}
