/* SPDX-License-Identifier: MIT */
/*
 * namer.c - names asked for in a child process, which may crash or hang
 * (namer.h).
 *
 * One question is on its way at a time, of a fixed size, and so is its answer;
 * an answer is used only if it makes sense. A file about which a child died is
 * never asked about again. Some 20 us a question, a fork for each child.
 */
#include "reader/names/namer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES     4096u
#define BUILD_ID_BYTES 132u
#define BAD_MAX        32u
#define MEMORY_BYTES   ((rlim_t)4 << 30)
#define PATIENCE_MS    60000
#define DOWNLOAD_MS    600000 /* debuginfod's servers may be asked */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED \
	(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED 0
#endif

struct question {
	uint32_t kind;
	uint64_t begin, offset, address;
	char path[PATH_BYTES], build_id[BUILD_ID_BYTES]; /* "": unknown */
};

struct sonde_namer {
	pid_t child; /* 0: none */
	int socket;
	bool is_hidden;
	uint32_t nr_bad; /* as many children have died of files */
	char *bad[BAD_MAX];
};

struct sonde_namer *sonde_namer_new(void)
{
	return calloc(1, sizeof(struct sonde_namer));
}

void sonde_namer_hide(struct sonde_namer *namer)
{
	namer->is_hidden = true;
}

static void end_child(struct sonde_namer *namer)
{
	if (!namer->child)
		return;
	(void)close(namer->socket); /* a socket */
	(void)kill(namer->child, SIGKILL);
	while (waitpid(namer->child, NULL, __WALL) < 0 && errno == EINTR)
		;
	namer->child = 0;
}

void sonde_namer_free(struct sonde_namer *namer)
{
	if (!namer)
		return;
	end_child(namer);
	for (uint32_t i = 0; i < namer->nr_bad; i++)
		free(namer->bad[i]);
	free(namer);
}

/* ---- the child ---- */

static void limit(void)
{
	const struct rlimit none = { 0, 0 };
	const struct rlimit memory = { MEMORY_BYTES, MEMORY_BYTES };

	/* It is no matter if these can't be had: the parent waits only so long.
	 */
	(void)setrlimit(RLIMIT_CORE, &none);
	if (!IS_SANITIZED)
		(void)setrlimit(RLIMIT_DATA, &memory);
	/* Its maker ends, and it with it. */
	(void)signal(SIGINT, SIG_IGN);
}

static void answer(struct sonde_symbols *symbols,
		   const struct question *question, struct sonde_naming *naming)
{
	const struct sonde_symbols_place place = {
		.path = question->path,
		.build_id = *question->build_id ? question->build_id : NULL,
		.begin = question->begin,
		.offset = question->offset,
	};
	struct sonde_symbol symbol;

	if (question->kind == SONDE_NAMER_CODE) {
		sonde_symbols_code(symbols, &place, question->address, naming);
		return;
	}
	sonde_naming_init(naming);
	naming->lack = SONDE_LACK_PLACE;
	if (sonde_symbols_find(symbols, &place, question->address, &symbol))
		return;
	sonde_naming_add(naming, symbol.name, NULL, 0);
	naming->distance = symbol.distance;
	naming->lack = SONDE_LACK_NOTHING;
}

static _Noreturn void namer_run_child(int socket)
{
	struct sonde_symbols *symbols = sonde_symbols_new();
	struct question question;
	struct sonde_naming naming;

	limit();
	while (symbols && recv(socket, &question, sizeof(question), 0) ==
				  (ssize_t)sizeof(question)) {
		answer(symbols, &question, &naming);
		if (send(socket, &naming, sizeof(naming), MSG_NOSIGNAL) < 0)
			break;
	}
	/* Not exit(): what waits to be written is the parent's. */
	_exit(0);
}

static int namer_make_child(struct sonde_namer *namer)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	/* The former is a fork, but for the signal at its end, and leaves the C
	 * library's locks as they are: other threads may hold them. */
	namer->child = namer->is_hidden ?
			       (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0) :
			       fork();
	if (!namer->child) {
		(void)close(sockets[0]); /* the parent's end */
		namer_run_child(sockets[1]);
	}
	(void)close(sockets[1]); /* the child's end */
	namer->socket = sockets[0];
	if (namer->child > 0)
		return 0;
	namer->child = 0;
	(void)close(sockets[0]); /* nobody is there */
	return -EAGAIN;
}

/* ---- the parent ---- */

static bool is_bad(const struct sonde_namer *namer, const char *path)
{
	for (uint32_t i = 0; i < namer->nr_bad; i++)
		if (!strcmp(namer->bad[i], path))
			return true;
	return namer->nr_bad == BAD_MAX;
}

/* Whether it has answered, and with sense. */
static bool converse(struct sonde_namer *namer, const struct question *question,
		     struct sonde_naming *naming)
{
	struct pollfd poll_fd = { .fd = namer->socket, .events = POLLIN };
	/* Nobody changes it. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	int patience_ms = getenv("DEBUGINFOD_URLS") ? DOWNLOAD_MS : PATIENCE_MS;
	int rc;

	if (send(namer->socket, question, sizeof(*question), MSG_NOSIGNAL) < 0)
		return false;
	do
		rc = poll(&poll_fd, 1, patience_ms);
	while (rc < 0 && errno == EINTR);
	return rc > 0 &&
	       recv(namer->socket, naming, sizeof(*naming), MSG_DONTWAIT) ==
		       (ssize_t)sizeof(*naming) &&
	       sonde_naming_is_sound(naming);
}

void sonde_namer_ask(struct sonde_namer *namer, enum sonde_namer_kind kind,
		     const struct sonde_symbols_place *place, uint64_t address,
		     struct sonde_naming *ret_naming)
{
	struct question question = {
		.kind = kind,
		.begin = place->begin,
		.offset = place->offset,
		.address = address,
	};

	sonde_naming_init(ret_naming);
	ret_naming->lack = SONDE_LACK_READER;
	if (!namer || strlen(place->path) >= sizeof(question.path) ||
	    is_bad(namer, place->path))
		return;
	(void)snprintf(question.path, sizeof(question.path), "%s", place->path);
	(void)snprintf(question.build_id, sizeof(question.build_id), "%s",
		       place->build_id ? place->build_id : "");
	if (!namer->child && namer_make_child(namer))
		return;
	if (converse(namer, &question, ret_naming))
		return;
	end_child(namer);
	namer->bad[namer->nr_bad] = strdup(place->path);
	if (namer->bad[namer->nr_bad])
		namer->nr_bad++;
	sonde_naming_init(ret_naming);
	ret_naming->lack = SONDE_LACK_READER;
}

bool sonde_namer_variable(struct sonde_namer *namer,
			  const struct sonde_symbols_place *place,
			  uint64_t address, char *to, size_t size)
{
	struct sonde_naming naming;
	char distance[24] = "";

	sonde_namer_ask(namer, SONDE_NAMER_VARIABLE, place, address, &naming);
	if (naming.lack)
		return false;
	if (naming.distance)
		(void)snprintf(distance, sizeof(distance), "+0x%" PRIx64,
			       naming.distance);
	(void)snprintf(to, size, "%.*s%s", (int)size - 56,
		       naming.text + naming.frames[0].name, distance);
	return true;
}
