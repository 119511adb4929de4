/* SPDX-License-Identifier: MIT */
/*
 * probe_put.c - a probe without a GDB: the packets that define it (probe/
 * resolve.h), said to the process's server as GDB would say them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unconst.h"
#include "cmd/cmd.h"
#include "cmd/gdb_client.h"
#include "cmd/probe.h"
#include "probe/resolve.h"

#define EXIT_FAILED 1

/* The server, or the way to the one that is there, behind a socket. */
static _Noreturn void probe_put_become_server(int fd, pid_t pid,
					      const char *output)
{
	char number[16];
	char *words[] = { (char[]){ "gdbserver" },
			  (char[]){ "--attach" },
			  (char[]){ "--add" },
			  (char[]){ "-o" },
			  sonde_unconst(output),
			  (char[]){ "-" },
			  number,
			  NULL };

	(void)snprintf(number, sizeof(number), "%d", pid);
	(void)dup2(fd, STDIN_FILENO);
	(void)dup2(fd, STDOUT_FILENO);
	(void)close(fd);
	_exit(sonde_command_gdbserver.run(7, words));
}

static pid_t start_server(pid_t pid, const char *output, int *ret_fd)
{
	int fds[2];
	pid_t server;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -1;
	server = fork();
	if (server == 0) {
		(void)close(fds[0]);
		probe_put_become_server(fds[1], pid, output);
	}
	(void)close(fds[1]);
	*ret_fd = fds[0];
	if (server < 0)
		(void)close(fds[0]);
	return server;
}

/* Whether the server takes it; what it says if not is told. */
static bool say(struct sonde_gdb_client *client, const char *packet)
{
	const char *answer = sonde_gdb_client_ask(client, packet);

	if (answer && !strcmp(answer, "OK"))
		return true;
	if (answer && !strncmp(answer, "E.", 2))
		sonde_complain("%.300s", answer + 2);
	else if (answer)
		sonde_complain("the server refuses the tracepoint");
	return false;
}

static bool say_name(struct sonde_gdb_client *client, const char *name)
{
	char packet[256] = "QSondeName:";
	size_t length = strlen(packet);

	if (!name)
		return true;
	for (; *name && length + 3 < sizeof(packet); name++, length += 2)
		(void)sprintf(packet + length, "%02x", (unsigned char)*name);
	return say(client, packet);
}

/* What is no place in words is a packet. */
static bool probe_say_all(struct sonde_gdb_client *client, const char *name,
			  char *lines)
{
	char *rest = NULL;
	bool is_right = say_name(client, name);

	for (char *line = strtok_r(lines, "\n", &rest); line && is_right;
	     line = strtok_r(NULL, "\n", &rest))
		is_right = !strncmp(line, "at ", 3) || say(client, line);
	return is_right && say(client, "QTStart");
}

/* "at 0x1234: file a.c, line 5." */
static void probe_put_tell_places(const char *lines)
{
	while (lines && *lines) {
		int length = (int)strcspn(lines, "\n");

		if (!strncmp(lines, "at ", 3))
			(void)printf("Tracepoint 1 %.*s\n", length, lines);
		lines += length + (lines[length] == '\n');
	}
}

static bool probe_put_put_in(int fd, const char *name, char *lines)
{
	struct sonde_gdb_client *client = malloc(sizeof(*client));
	char *places = strdup(lines);
	bool is_in = false;

	if (client && places) {
		sonde_gdb_client_init(client, fd);
		is_in = probe_say_all(client, name, lines);
		/* It has the probe, or goes on without: no answer is needed. */
		(void)sonde_gdb_client_ask(client, "D");
	}
	if (is_in)
		probe_put_tell_places(places);
	free(places);
	free(client);
	return is_in;
}

int sonde_probe_put_in(const struct sonde_probe_request *request,
		       const char *name, const char *output)
{
	char error[512] = "";
	char *lines = sonde_probe_resolve(request, error, sizeof(error));
	bool is_in = false;
	pid_t server;
	int fd;

	if (!lines) {
		sonde_complain("%s", error);
		return EXIT_FAILED;
	}
	server = start_server(request->pid, output, &fd);
	if (server > 0) {
		is_in = probe_put_put_in(fd, name, lines);
		(void)close(fd);
		(void)waitpid(server, NULL, 0);
	} else {
		sonde_complain("the server can't be started");
	}
	free(lines);
	return is_in ? 0 : EXIT_FAILED;
}
