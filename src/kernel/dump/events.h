/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * events.h - the events of a dump: their descriptions, and a function for each
 * that records one. Ids are 1 + the place in enum sonde_dump_event.
 *
 * The functions never fail: an event without room is counted by `out`. Texts
 * are recorded up to their NUL, whatever bytes they have.
 */
#ifndef KERNEL_DUMP_EVENTS_H
#define KERNEL_DUMP_EVENTS_H

#include <sonde/abi.h>

#include "event/build.h"
#include "kernel/dump/model.h"
#include "kernel/dump/out.h"

enum sonde_dump_event {
	SONDE_DUMP_START,
	SONDE_DUMP_END,
	SONDE_DUMP_PROCESS,
	SONDE_DUMP_FILE,
	SONDE_DUMP_MAPPING,
	SONDE_DUMP_INTERRUPT,
	SONDE_DUMP_BLOCK_DEVICE,
	SONDE_DUMP_NETWORK,
	SONDE_DUMP_CPU,
	SONDE_DUMP_NR_EVENTS,
};

/* One allocation each; to be freed with sonde_dump_descs_free(). 0, -ENOMEM or
 * what sonde_build_end() says. */
int sonde_dump_descs_new(struct sonde_desc *descs[SONDE_DUMP_NR_EVENTS]);
void sonde_dump_descs_free(struct sonde_desc *descs[SONDE_DUMP_NR_EVENTS]);

/* The fields of SONDE_DUMP_MAPPING, for another event that has them. */
void sonde_dump_describe_mapping(struct sonde_build *build);

void sonde_dump_emit_start(struct sonde_out *out,
			   enum sonde_dump_reader reader);
void sonde_dump_emit_end(struct sonde_out *out, uint64_t omitted);
/* vppid: the parent as the thread sees it; 0: it can't. */
void sonde_dump_emit_process(struct sonde_out *out,
			     const struct sonde_dump_task *task, int32_t vppid,
			     uint64_t table);
void sonde_dump_emit_file(struct sonde_out *out,
			  const struct sonde_dump_file *file, uint64_t table);
/* build_id: in hexadecimal, or "". */
void sonde_dump_emit_mapping(struct sonde_out *out,
			     const struct sonde_dump_mapping *mapping,
			     const char *build_id);
void sonde_dump_emit_interrupt(struct sonde_out *out, uint32_t irq,
			       const char *name, const char *action);
void sonde_dump_emit_block_device(struct sonde_out *out, uint32_t dev,
				  const char *name);

struct sonde_dump_network {
	const char *name;
	uint32_t ifindex;
	uint8_t ipv4[4]; /* zeros if it has none */
	/* Any address in its family's notation, "/" and bits of the network's
	 * part; "": none. */
	const char *address;
};

void sonde_dump_emit_network(struct sonde_out *out,
			     const struct sonde_dump_network *network);

struct sonde_dump_cpu {
	uint32_t cpu_id;
	uint32_t mhz;
	uint32_t core_id;
	uint32_t physical_id;
	uint32_t core_cnt; /* of its package; 0: not known */
	const char *architecture;
	const char *vendor;
	const char *model_name;
};

void sonde_dump_emit_cpu(struct sonde_out *out,
			 const struct sonde_dump_cpu *cpu);

#endif /* KERNEL_DUMP_EVENTS_H */
