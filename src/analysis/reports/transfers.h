/* SPDX-License-Identifier: MIT */
/*
 * transfers.h - who sent the bytes that a thread received, by TCP, from any
 * machine to any other whose trace is there.
 *
 * A kernel's trace says it of each call (sock_send_length, sock_recv_length, as
 * our BPF records them): the connection, how many bytes, and the position of the
 * byte behind them, which counts alike at both ends. So nothing is inferred from
 * times or from an order, and an event that was lost costs its own match alone.
 *
 * A received transfer is of the one that sent its first byte. It is of nobody,
 * instead of being guessed, where
 *   - nobody in these traces sent that byte, or two say that they did
 *   - several machines have an end of a connection by these addresses: they
 *     are private ones (127.0.0.1, a container's) that each has for itself
 * Address translation between the ends hides it, too.
 *
 * Positions have 32 bits and go round: those of one connection are taken to be
 * within 2 GiB of the one before.
 *
 * Memory: 96 bytes for each, of which SONDE_TRANSFERS_MAX are kept, the first.
 */
#ifndef ANALYSIS_REPORTS_TRANSFERS_H
#define ANALYSIS_REPORTS_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/map.h"

#define SONDE_TRANSFERS_MAX  ((size_t)1 << 20)
#define SONDE_TRANSFERS_NONE SIZE_MAX

/* From the end that sends to the one that receives. */
struct sonde_transfer_connection {
	uint64_t from[2], to[2]; /* addresses, of IPv6 */
	uint32_t from_port, to_port;
};

struct sonde_transfer {
	struct sonde_transfer_connection connection;
	int64_t time_ns; /* of the event: the bytes were given to the kernel, or
			  * taken from it */
	int64_t call_ns; /* when the call began that did it; SONDE_TIME_MIN:
			  * nobody knows */
	int32_t tid;
	uint32_t machine;
	uint32_t position; /* of the byte behind them */
	uint32_t bytes;
	int64_t end;    /* the position, as it doesn't go round; match()'s */
	uint32_t order; /* among a machine's, in time */
	bool is_sent;
	size_t sender; /* of one that was received: its place; _NONE */
};

_Static_assert(sizeof(struct sonde_transfer) == 96, "as said above");

struct sonde_transfers {
	/* After match(): by connection, what was sent before what was received,
	 * then by machine and time. */
	struct sonde_transfer *at;
	size_t nr, room;
	uint64_t left_out; /* there was no room for */
	/* Times that bytes were received otherwise, of which nobody knows who
	 * sent them: there is no position to match them by. */
	uint64_t by_udp, by_others; /* others: Unix sockets, netlink ... */
	bool has_events;            /* some machine's trace can have them */
};

/* Reads the transfers of all machines, of a time that the options choose, and matches
 * them. 0 or a negative errno; the transfers are for _fini() in any case. */
int sonde_transfers_read(struct sonde_trace *trace,
			 const struct sonde_map_options *options,
			 struct sonde_transfers *ret_transfers);
/* Matches the transfers that have been read. */
void sonde_transfers_match(struct sonde_transfers *transfers);
/* Transfers that are zeros are none. */
void sonde_transfers_fini(struct sonde_transfers *transfers);

/* From one machine to another, each time by its own clock: it was sent then or
 * later, and received by then. */
struct sonde_transfer_message {
	uint32_t from, to;
	int64_t sent_ns, received_ns;
};
/* Whether what was received is one. */
bool sonde_transfer_message(const struct sonde_transfers *transfers,
			    const struct sonde_transfer *received,
			    struct sonde_transfer_message *ret_message);

#endif /* ANALYSIS_REPORTS_TRANSFERS_H */
