/* SPDX-License-Identifier: MIT */
/*
 * threetiers.c - a client, a web server and a database on three machines: one
 * request is slow, and the cause is two machines away.
 *
 *	threetiers db ADDRESS PORT
 *	threetiers web ADDRESS PORT DB_ADDRESS DB_PORT
 *	threetiers client WEB_ADDRESS WEB_PORT [REQUESTS]
 *
 * The client asks the web server, one request after the other (100, two milliseconds
 * apart), the web server asks the database for each, and the database looks into its
 * table. Once, another thread of the database tidies the table up, and holds
 * its lock meanwhile: the mistake. It sleeps where a real one would read its disk. All
 * end when the client has had its answers.
 *
 * Each request is an interval between two events, client:begin and client:end, and
 * within it one between web:begin and web:end. docs/fleet.md tells how to see across
 * the three why one was slow; `make demo-fleet` does it.
 *
 *	cc threetiers.c -o threetiers -pthread $(pkg-config --cflags --libs sonde)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

#define NR_PRICES  4096u
#define TIDY_AFTER 50u /* queries */
#define TIDY_NS    400000000
#define PAUSE_NS   2000000
#define TRIES      500 /* to connect, 10 ms apart */

/* A request, and an answer. */
struct message {
	uint32_t id;
	uint32_t price;
};

static void pass(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* ---- messages ---- */

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static struct sockaddr_in address_of(const char *host, const char *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
	};

	if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
		fprintf(stderr, "%s: no IPv4 address\n", host);
		_exit(2);
	}
	return address;
}

/* Each message is sent at once. */
static void set_prompt(int fd)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		die("setsockopt");
}

/* The first who connects. */
static int serve(const char *host, const char *port)
{
	struct sockaddr_in address = address_of(host, port);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;
	int fd;

	if (listener < 0 ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1))
		die(host);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept");
	(void)close(listener);
	set_prompt(fd);
	return fd;
}

/* The server may not have started yet. */
static int reach(const char *host, const char *port)
{
	struct sockaddr_in address = address_of(host, port);

	for (int i = 0; i < TRIES; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			die("socket");
		if (!connect(fd, (struct sockaddr *)&address,
			     sizeof(address))) {
			set_prompt(fd);
			return fd;
		}
		(void)close(fd);
		pass(10000000);
	}
	die(host);
	return -1;
}

/* False: the peer is done. */
static bool receive(int fd, struct message *message)
{
	size_t have = 0;

	while (have < sizeof(*message)) {
		ssize_t n = recv(fd, (char *)message + have,
				 sizeof(*message) - have, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return true;
}

static void answer(int fd, const struct message *message)
{
	if (send(fd, message, sizeof(*message), MSG_NOSIGNAL) !=
	    sizeof(*message))
		die("send");
}

static struct message ask(int fd, struct message message)
{
	answer(fd, &message);
	if (!receive(fd, &message)) {
		fprintf(stderr, "no answer\n");
		_exit(1);
	}
	return message;
}

/* ---- the database ---- */

/* The prices, and the lock that guards them. */
pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t table[NR_PRICES];

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool wanted, begun, ends;
} tidying = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static void tell(bool *what)
{
	pthread_mutex_lock(&tidying.lock);
	*what = true;
	pthread_cond_broadcast(&tidying.changed);
	pthread_mutex_unlock(&tidying.lock);
}

static void wait_for(const bool *what)
{
	pthread_mutex_lock(&tidying.lock);
	while (!*what && !tidying.ends)
		pthread_cond_wait(&tidying.changed, &tidying.lock);
	pthread_mutex_unlock(&tidying.lock);
}

static void *vacuum(void *unused)
{
	(void)unused;
	(void)prctl(PR_SET_NAME, "vacuum");
	wait_for(&tidying.wanted);
	if (tidying.ends)
		return NULL;
	pthread_mutex_lock(&table_lock);
	tell(&tidying.begun);
	pass(TIDY_NS);
	for (uint32_t i = 0; i < NR_PRICES; i++)
		table[i] = i * 7919u % 10000u;
	pthread_mutex_unlock(&table_lock);
	return NULL;
}

static void run_db(char **argv)
{
	struct message message;
	pthread_t thread;
	uint32_t nr = 0;
	int web;

	if (pthread_create(&thread, NULL, vacuum, NULL))
		abort();
	web = serve(argv[2], argv[3]);
	while (receive(web, &message)) {
		pthread_mutex_lock(&table_lock);
		message.price = table[message.id % NR_PRICES];
		pthread_mutex_unlock(&table_lock);
		if (++nr == TIDY_AFTER) {
			tell(&tidying.wanted);
			wait_for(&tidying.begun);
		}
		answer(web, &message);
	}
	tell(&tidying.ends);
	pthread_join(thread, NULL);
}

/* ---- the others ---- */

static void run_web(char **argv)
{
	int db = reach(argv[4], argv[5]);
	int client = serve(argv[2], argv[3]);
	struct message message;

	while (receive(client, &message)) {
		sonde_event(web, begin, sonde_field(id, message.id));
		message = ask(db, message);
		sonde_event(web, end, sonde_field(id, message.id));
		answer(client, &message);
	}
}

static void run_client(char **argv, uint32_t nr)
{
	int web = reach(argv[2], argv[3]);

	for (uint32_t id = 1; id <= nr; id++) {
		struct message message = { .id = id };

		sonde_event(client, begin, sonde_field(id, id));
		message = ask(web, message);
		sonde_event(client, end, sonde_field(id, id),
			    sonde_field(price, message.price));
		pass(PAUSE_NS);
	}
	printf("%u answers\n", nr);
}

int main(int argc, char **argv)
{
	const char *role = argc > 1 ? argv[1] : "";

	(void)prctl(PR_SET_NAME, role);
	if (!strcmp(role, "db") && argc == 4) {
		run_db(argv);
	} else if (!strcmp(role, "web") && argc == 6) {
		run_web(argv);
	} else if (!strcmp(role, "client") && (argc == 4 || argc == 5)) {
		run_client(argv, argc == 5 ?
					 (uint32_t)strtoul(argv[4], NULL, 10) :
					 100);
	} else {
		fprintf(stderr, "usage: threetiers db ADDRESS PORT\n"
				"       threetiers web ADDRESS PORT DB_ADDRESS "
				"DB_PORT\n"
				"       threetiers client ADDRESS PORT "
				"[REQUESTS]\n");
		return 2;
	}
	return 0;
}
