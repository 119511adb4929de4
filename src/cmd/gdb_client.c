/* SPDX-License-Identifier: MIT */
/*
 * gdb_client.c - questions to a server of GDB's protocol, from ourselves.
 *
 * One question is on its way at a time. Bytes are read one by one, so that what
 * follows an answer stays in the socket for whoever reads next.
 */
#include "cmd/gdb_client.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sys/write.h"

void sonde_gdb_client_init(struct sonde_gdb_client *client, int fd)
{
	client->fd = fd;
	sonde_gdb_packets_init(&client->packets);
}

const char *sonde_gdb_client_ask(struct sonde_gdb_client *client,
				 const char *packet)
{
	size_t nr =
		sonde_gdb_packet_frame(packet, strlen(packet), client->frame);
	uint8_t byte;
	ssize_t got;

	if (sonde_write_socket(client->fd, client->frame, nr))
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
		return sonde_write_socket(client->fd, "+", 1) ?
			       NULL :
			       client->packets.body;
	}
	return NULL;
}
