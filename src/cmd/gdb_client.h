/* SPDX-License-Identifier: MIT */
/*
 * gdb_client.h - questions to a server (gdb/server.h) from ourselves.
 */
#ifndef CMD_GDB_CLIENT_H
#define CMD_GDB_CLIENT_H

#include "gdb/packet.h"

struct sonde_gdb_client {
	int fd;
	struct sonde_gdb_packets packets; /* .body: the last answer */
	char frame[SONDE_GDB_FRAME_MAX];
};

void sonde_gdb_client_init(struct sonde_gdb_client *client, int fd);
/* The answer, until the next question; NULL: the server is gone. */
const char *sonde_gdb_client_ask(struct sonde_gdb_client *client,
				 const char *packet);

#endif /* CMD_GDB_CLIENT_H */
