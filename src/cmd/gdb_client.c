/* SPDX-License-Identifier: MIT */
#include "cmd/gdb_client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void sonde_gdb_client_init(struct sonde_gdb_client *client, int fd)
{
	client->fd = fd;
	sonde_gdb_packets_init(&client->packets);
}

static bool send_all(int fd, const char *bytes, size_t nr)
{
	while (nr > 0) {
		ssize_t done = send(fd, bytes, nr, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		nr -= (size_t)done;
	}
	return true;
}

const char *sonde_gdb_client_ask(struct sonde_gdb_client *client,
				 const char *packet)
{
	size_t nr =
		sonde_gdb_packet_frame(packet, strlen(packet), client->frame);
	uint8_t byte;
	ssize_t got;

	if (!send_all(client->fd, client->frame, nr))
		return NULL;
	/* A byte at a time: what follows is not ours. */
	while ((got = read(client->fd, &byte, 1)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return NULL;
		if (sonde_gdb_packets_hear(&client->packets, byte) !=
		    SONDE_GDB_HEARD_PACKET)
			continue;
		return send_all(client->fd, "+", 1) ? client->packets.body :
						      NULL;
	}
	return NULL;
}
