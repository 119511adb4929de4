/* SPDX-License-Identifier: MIT */
/*
 * load.c - small programs that do what those do which papers load a machine with,
 * and which Debian lacks or a machine may not have.
 *
 *	load ping ADDRESS NR [US]
 *				as ping -f: NR echo requests, each when the one
 *				before is answered, or so many us later: "ping NR
 *				MEAN DEVIATION MIN MEDIAN MAX", round trips in us
 *	load groups NR MESSAGES	as hackbench: in each of NR groups 10 senders
 *				that send so many messages of 100 bytes to each
 *				of 10 receivers: "groups SECONDS"
 *	load serve ADDRESS	as tbench_srv: answers until it is ended
 *	load files ADDRESS CLIENTS SECONDS
 *				as tbench, a file server's clients: each asks
 *				three times for a little, then reads 60 KiB,
 *				then writes 16 KiB: "files MB_PER_SECOND"
 *	load desk SECONDS	as somebody who reads pages: 100 times a second
 *				some files are looked at, and 200 us computed:
 *				"desk TURNS"
 *
 * The network's programs speak IPv4 to port 7707.
 */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../measure.h"

#define PORT        7707
#define CLIENTS_MAX 64
#define PINGS_MAX   1000000
#define MESSAGE     100
#define FAN         10
#define LARGE       (64u << 10)

static __attribute__((noreturn)) void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it is always there */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(PORT) };

	if (inet_pton(AF_INET, text, &to.sin_addr) != 1) {
		(void)fprintf(stderr, "load: %s: no IPv4 address\n", text);
		exit(2);
	}
	return to;
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("load: fork");
	return pid;
}

static void wait_all(void)
{
	int status;

	while (wait(&status) > 0)
		if (status) {
			(void)fputs("load: a process failed\n", stderr);
			exit(1);
		}
}

/* ---- ping ---- */

static uint16_t icmp_sum(const void *data, size_t size)
{
	const uint16_t *words = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < size / 2; i++)
		sum += words[i];
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t) ~(sum + (sum >> 16));
}

/* Waits for the answer to `sequence`; others' are passed over. */
static void take_answer(int fd, uint16_t sequence)
{
	unsigned char got[256];

	for (;;) {
		ssize_t n = recv(fd, got, sizeof(got), 0);
		const struct icmphdr *head = (void *)(got + 20);

		if (n < 0)
			give_up("load: ping");
		if (n >= 28 && head->type == ICMP_ECHOREPLY &&
		    head->un.echo.id == htons((uint16_t)getpid()) &&
		    head->un.echo.sequence == htons(sequence))
			return;
	}
}

static double round_trip(int fd, const struct sockaddr_in *to, uint16_t nr)
{
	struct {
		struct icmphdr head;
		char data[56];
	} packet = { .head = { .type = ICMP_ECHO } };
	double begin;

	packet.head.un.echo.id = htons((uint16_t)getpid());
	packet.head.un.echo.sequence = htons(nr);
	packet.head.checksum = icmp_sum(&packet, sizeof(packet));
	begin = seconds();
	if (sendto(fd, &packet, sizeof(packet), 0, (const void *)to,
		   sizeof(*to)) < 0)
		give_up("load: ping");
	take_answer(fd, nr);
	return (seconds() - begin) * 1e6;
}

static int ping(const char *where, int nr, unsigned int pause_us)
{
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	struct sockaddr_in to = address(where);
	double *us = calloc((size_t)nr, sizeof(*us));
	double sum = 0;
	double squares = 0;

	if (fd < 0 || !us)
		give_up("load: a raw socket");
	for (int i = 0; i < nr; i++) {
		if (pause_us)
			(void)usleep(pause_us);
		us[i] = round_trip(fd, &to, (uint16_t)i);
		sum += us[i];
		squares += us[i] * us[i];
	}
	sum /= nr;
	qsort(us, (size_t)nr, sizeof(*us), measure_compare);
	printf("ping %d %.3f %.3f %.3f %.3f %.3f\n", nr, sum,
	       sqrt(fmax(squares / nr - sum * sum, 0)), us[0], us[nr / 2],
	       us[nr - 1]);
	free(us);
	return 0;
}

/* ---- groups ---- */

static void move(int fd, char *data, size_t size, int is_out)
{
	while (size) {
		ssize_t n =
			is_out ? write(fd, data, size) : read(fd, data, size);

		if (n <= 0)
			exit(n ? 1 : 0); /* the other side has ended */
		data += n;
		size -= (size_t)n;
	}
}

static void receiver(int fd, int nr)
{
	char message[MESSAGE];

	for (int i = 0; i < nr; i++)
		move(fd, message, sizeof(message), 0);
	exit(0);
}

static void sender(int (*pairs)[2], int nr)
{
	char message[MESSAGE] = { 0 };

	for (int i = 0; i < nr; i++)
		for (int to = 0; to < FAN; to++)
			move(pairs[to][0], message, sizeof(message), 1);
	exit(0);
}

static void start_group(int nr)
{
	int pairs[FAN][2];

	for (int i = 0; i < FAN; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			       pairs[i]))
			give_up("load: groups");
		if (!child())
			receiver(pairs[i][1], nr * FAN);
	}
	for (int i = 0; i < FAN; i++)
		if (!child())
			sender(pairs, nr);
	for (int i = 0; i < FAN; i++) {
		(void)close(pairs[i][0]);
		(void)close(pairs[i][1]);
	}
}

static int groups(int nr, int messages)
{
	double begin = seconds();

	for (int i = 0; i < nr; i++)
		start_group(messages);
	wait_all();
	printf("groups %.4f\n", seconds() - begin);
	return 0;
}

/* ---- files ---- */

struct request {
	uint32_t sent; /* bytes that follow */
	uint32_t wanted;
};

static char buffer[LARGE];

static void serve_one(int fd)
{
	struct request request;

	for (;;) {
		move(fd, (void *)&request, sizeof(request), 0);
		if (request.sent > LARGE || request.wanted > LARGE)
			exit(1);
		move(fd, buffer, request.sent, 0);
		move(fd, buffer, request.wanted, 1);
	}
}

static int serve(const char *where)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in own = address(where);
	int one = 1;

	(void)signal(SIGCHLD, SIG_IGN);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const void *)&own, sizeof(own)) ||
	    listen(fd, CLIENTS_MAX))
		give_up("load: serve");
	printf("serving\n");
	(void)fflush(stdout);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
		if (client >= 0 && !child())
			serve_one(client);
		(void)close(client);
	}
}

static void ask(int fd, uint32_t sent, uint32_t wanted)
{
	struct request request = { sent, wanted };

	move(fd, (void *)&request, sizeof(request), 1);
	move(fd, buffer, sent, 1);
	move(fd, buffer, wanted, 0);
}

static uint64_t be_client(const char *where, double until)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = address(where);
	uint64_t moved = 0;
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (const void *)&to, sizeof(to)))
		give_up("load: connect");
	while (seconds() < until) {
		for (int i = 0; i < 3; i++)
			ask(fd, 100, 100);
		ask(fd, 60, 60u << 10);
		ask(fd, 16u << 10, 60);
		moved += 3 * 200 + (60u << 10) + (16u << 10) + 120;
	}
	return moved;
}

static int files(const char *where, int clients, double for_s)
{
	double begin = seconds();
	uint64_t *moved =
		mmap(NULL, sizeof(*moved) * CLIENTS_MAX, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0;

	if (moved == MAP_FAILED)
		give_up("load: mmap");
	for (int i = 0; i < clients && i < CLIENTS_MAX; i++)
		if (!child()) {
			moved[i] = be_client(where, begin + for_s);
			_exit(0);
		}
	wait_all();
	for (int i = 0; i < clients && i < CLIENTS_MAX; i++)
		sum += moved[i];
	printf("files %.3f\n", (double)sum / 1e6 / (seconds() - begin));
	return 0;
}

/* ---- desk ---- */

static int desk(double for_s)
{
	static const char *const looked[] = { "/etc/hostname", "/etc/passwd",
					      "/usr/lib", "/proc/self/stat" };
	double until = seconds() + for_s;
	struct stat about;
	int turns = 0;

	for (; seconds() < until; turns++) {
		double busy = seconds() + 200e-6;

		for (size_t i = 0; i < sizeof(looked) / sizeof(looked[0]); i++)
			(void)stat(looked[i], &about);
		while (seconds() < busy)
			;
		(void)usleep(9800);
	}
	printf("desk %d\n", turns);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "ping") && (argc == 4 || argc == 5))
		return atoi(argv[3]) > 0 && atoi(argv[3]) <= PINGS_MAX ?
			       ping(argv[2], atoi(argv[3]),
				    argc > 4 ? (unsigned int)atoi(argv[4]) :
					       0) :
			       2;
	if (!strcmp(what, "groups") && argc == 4)
		return groups(atoi(argv[2]), atoi(argv[3]));
	if (!strcmp(what, "serve") && argc == 3)
		return serve(argv[2]);
	if (!strcmp(what, "files") && argc == 5)
		return files(argv[2], atoi(argv[3]), atof(argv[4]));
	if (!strcmp(what, "desk") && argc == 3)
		return desk(atof(argv[2]));
	(void)fputs(
		"usage: load ping|groups|serve|files|desk ..., see load.c\n",
		stderr);
	return 2;
}
