/* SPDX-License-Identifier: MIT */
/*
 * gdbserver_breaks.c - GDB's software breakpoints.
 *
 * One with conditions, all of which are understood, becomes probes that break:
 * one for each condition, as any of them may be true. Any other one is
 * gdbserver's. It writes an int3 over what is there and puts that back later,
 * so:
 *
 *	- over the first byte of a probe's jump, or of its int3, that is right:
 *	  the thread stops there first and comes upon the probe when it goes on
 *	- over another byte of a jump it would be wrong: the int3 goes to the
 *	  copy of the instruction in the pad instead
 *	- while probes are put in or taken out, all of them are lifted
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "expr/agent.h"
#include "gdb/server_parts.h"
#include "gdb/target/gdbserver_parts.h"

/* No more conditions than that on one address, or gdbserver does it. */
#define CONDITIONS_MAX 16

struct sonde_gdb_break *
sonde_gdb_gdbserver_break_at(struct sonde_gdb_gdbserver *gdbserver,
			     uint64_t address)
{
	for (size_t i = 0; i < gdbserver->nr_breaks; i++)
		if (gdbserver->breaks[i].address == address)
			return &gdbserver->breaks[i];
	return NULL;
}

/* ---- as gdbserver's ---- */

/* Whether the instruction there is displaced, and not the first one of its
 * window: where its part of the pad begins; 0. */
static uint64_t breaks_find_copy(const struct sonde_gdb_gdbserver *gdbserver,
				 uint64_t address)
{
	const struct sonde_probes *probes =
		sonde_gdb_gdbserver_probes(gdbserver);
	uint64_t copy = probes ? sonde_probes_copy_of(probes, address) : 0;
	uint64_t first;
	bool exact = false;

	if (copy)
		(void)sonde_probes_in_pad(probes, copy, &address, &exact,
					  &first);
	return exact ? copy : 0;
}

/* "Z0,address,1" and what conditions the packet has. */
static int place_in_program(struct sonde_gdb_gdbserver *gdbserver,
			    struct sonde_gdb_break *this)
{
	const char *conditions = strchr(this->packet, ';');
	struct sonde_gdb_reply packet;

	sonde_gdb_reply_clear(&packet);
	sonde_gdb_reply_format(&packet, "Z0,%llx,1%s",
			       (unsigned long long)this->address,
			       conditions ? conditions : "");
	sonde_gdb_gdbserver_pass(gdbserver, packet.bytes, packet.length,
				 &gdbserver->scratch);
	return strcmp(gdbserver->scratch.bytes, "OK") == 0 ? 0 : -1;
}

static int breaks_place(struct sonde_gdb_gdbserver *gdbserver,
			struct sonde_gdb_break *this)
{
	uint64_t copy = breaks_find_copy(gdbserver, this->address);
	int rc;

	this->in_pad = copy;
	if (copy) {
		this->old = SONDE_GDB_INT3;
		rc = sonde_probes_swap_byte(gdbserver->server->probes, copy,
					    &this->old);
	} else {
		rc = place_in_program(gdbserver, this);
	}
	if (rc == 0)
		this->placed = copy ? copy : this->address;
	return rc;
}

static void unplace(struct sonde_gdb_gdbserver *gdbserver,
		    struct sonde_gdb_break *this)
{
	uint64_t placed = this->placed;

	this->placed = 0;
	if (!placed)
		return;
	if (!this->in_pad)
		(void)sonde_gdb_gdbserver_ask(gdbserver, "z0,%llx,1",
					      (unsigned long long)placed);
	else if (gdbserver->server->probes)
		(void)sonde_probes_swap_byte(gdbserver->server->probes, placed,
					     &this->old);
}

void sonde_gdb_gdbserver_lift_breaks(struct sonde_gdb_gdbserver *gdbserver,
				     bool lift)
{
	if (gdbserver->running || gdbserver->gone || gdbserver->lifted == lift)
		return;
	gdbserver->lifted = lift;
	for (size_t i = 0; i < gdbserver->nr_breaks; i++) {
		struct sonde_gdb_break *this = &gdbserver->breaks[i];

		if (lift)
			unplace(gdbserver, this);
		else if (!this->nr_indexes)
			(void)breaks_place(gdbserver, this);
	}
}

/* ---- as probes ---- */

static void remove_probes(struct sonde_gdb_gdbserver *gdbserver,
			  struct sonde_gdb_break *this)
{
	struct sonde_probes *probes =
		gdbserver->process ?
			sonde_gdb_server_probes(gdbserver->server) :
			NULL;

	if (this->nr_indexes)
		sonde_gdb_gdbserver_lift_breaks(gdbserver, true);
	for (size_t i = 0; probes && i < this->nr_indexes; i++)
		(void)sonde_probes_remove(probes, this->indexes[i]);
	free(this->indexes);
	this->indexes = NULL;
	this->nr_indexes = 0;
	sonde_gdb_gdbserver_lift_breaks(gdbserver, false);
}

/* The conditions ";Xlength,bytes..." as programs. How many; 0: none, or one
 * that isn't understood, or commands to be run. */
static size_t read_conditions(const char *packet,
			      struct sonde_program *programs[CONDITIONS_MAX])
{
	const char *at = strchr(packet, ';');
	size_t nr = 0;

	while (at && sonde_hex_take(&at, ';')) {
		struct sonde_program *program = NULL;
		struct sonde_expr_error error;
		uint8_t *bytes;
		uint64_t length;

		while (sonde_hex_take(&at, 'X') && nr < CONDITIONS_MAX) {
			if (!sonde_hex_take_number(&at, &length) ||
			    !sonde_hex_take(&at, ',') ||
			    length > SONDE_GDB_PACKET_MAX)
				goto refuse;
			bytes = malloc(length + 1);
			if (bytes && sonde_hex_take_bytes(&at, bytes, length))
				(void)sonde_agent_decode(bytes, length, false,
							 &error, &program);
			free(bytes);
			if (!program)
				goto refuse;
			programs[nr++] = program;
			program = NULL;
		}
	}
	if (nr > 0 && at && *at == '\0')
		return nr;
refuse:
	while (nr > 0)
		sonde_program_free(programs[--nr]);
	return 0;
}

static int breaks_add_probes(struct sonde_gdb_gdbserver *gdbserver,
			     struct sonde_gdb_break *this,
			     struct sonde_program *const *programs, size_t nr)
{
	struct sonde_probes *probes =
		sonde_gdb_server_probes(gdbserver->server);
	struct sonde_probe_spec specs[CONDITIONS_MAX];
	struct sonde_process_error error;
	int rc;

	this->indexes = calloc(nr, sizeof(*this->indexes));
	if (!probes || !this->indexes)
		return -1;
	memset(specs, 0, sizeof(specs));
	for (size_t i = 0; i < nr; i++) {
		specs[i].address = this->address;
		specs[i].condition = programs[i];
		specs[i].breaks = true;
		specs[i].force_register = UINT8_MAX;
	}
	sonde_gdb_gdbserver_lift_breaks(gdbserver, true);
	rc = sonde_probes_add_all(probes, specs, nr, &error, this->indexes);
	if (rc == 0)
		this->nr_indexes = nr;
	sonde_gdb_gdbserver_lift_breaks(gdbserver, false);
	return rc;
}

/* True: it is in. */
static bool become_probes(struct sonde_gdb_gdbserver *gdbserver,
			  struct sonde_gdb_break *this)
{
	struct sonde_program *programs[CONDITIONS_MAX];
	size_t nr = 0;
	int rc = -1;

	if (!gdbserver->running && !gdbserver->gone && gdbserver->pid)
		nr = read_conditions(this->packet, programs);
	if (nr > 0)
		rc = breaks_add_probes(gdbserver, this, programs, nr);
	if (rc != 0) {
		free(this->indexes);
		this->indexes = NULL;
	}
	while (nr > 0)
		sonde_program_free(programs[--nr]);
	return rc == 0;
}

/* ---- packets ---- */

static void take_out(struct sonde_gdb_gdbserver *gdbserver,
		     struct sonde_gdb_break *it)
{
	struct sonde_gdb_break this = *it;

	/* First, as those in the list are put back after a change. */
	*it = gdbserver->breaks[--gdbserver->nr_breaks];
	unplace(gdbserver, &this);
	remove_probes(gdbserver, &this);
	free(this.packet);
}

static int breaks_put_in(struct sonde_gdb_gdbserver *gdbserver,
			 uint64_t address, const char *packet)
{
	struct sonde_gdb_break *breaks =
		reallocarray(gdbserver->breaks, gdbserver->nr_breaks + 1,
			     sizeof(*gdbserver->breaks));
	struct sonde_gdb_break this = { .address = address };

	if (!breaks)
		return -1;
	gdbserver->breaks = breaks;
	this.packet = strdup(packet);
	if (!this.packet)
		return -1;
	if (!become_probes(gdbserver, &this) &&
	    breaks_place(gdbserver, &this) != 0) {
		free(this.packet);
		return -1;
	}
	gdbserver->breaks[gdbserver->nr_breaks++] = this;
	return 0;
}

void sonde_gdb_gdbserver_break(struct sonde_gdb_gdbserver *gdbserver,
			       const char *packet, size_t length,
			       struct sonde_gdb_reply *reply)
{
	const char *at = packet + strlen("Z0");
	struct sonde_gdb_break *old;
	uint64_t address;

	if (strlen(packet) != length || !sonde_hex_take(&at, ',') ||
	    !sonde_hex_take_number(&at, &address)) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	old = sonde_gdb_gdbserver_break_at(gdbserver, address);
	if (packet[0] == 'Z' && old && strcmp(old->packet, packet) == 0) {
		sonde_gdb_reply_text(reply, "OK");
		return;
	}
	if (old)
		take_out(gdbserver, old);
	if (packet[0] == 'Z' && breaks_put_in(gdbserver, address, packet) != 0)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_text(reply, "OK");
}

void sonde_gdb_gdbserver_forget_breaks(struct sonde_gdb_gdbserver *gdbserver)
{
	while (gdbserver->nr_breaks > 0) {
		struct sonde_gdb_break *this =
			&gdbserver->breaks[--gdbserver->nr_breaks];

		free(this->packet);
		free(this->indexes);
	}
	free(gdbserver->breaks);
	gdbserver->breaks = NULL;
}
