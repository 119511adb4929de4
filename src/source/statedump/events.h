/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * events.h - the events of a dump: their descriptions, and a function for each
 * that records one. Ids are 1 + the place in enum sonde_statedump_event.
 *
 * The functions never fail: an event without room is counted by `out`. Texts
 * are recorded up to their NUL, whatever bytes they have.
 */
#ifndef SOURCE_STATEDUMP_EVENTS_H
#define SOURCE_STATEDUMP_EVENTS_H

#include <sonde/abi.h>

#include "source/statedump/model.h"
#include "source/statedump/packets.h"
#include "types/build.h"

enum sonde_statedump_event {
	SONDE_STATEDUMP_START,
	SONDE_STATEDUMP_END,
	SONDE_STATEDUMP_PROCESS,
	SONDE_STATEDUMP_FILE,
	SONDE_STATEDUMP_MAPPING,
	SONDE_STATEDUMP_INTERRUPT,
	SONDE_STATEDUMP_BLOCK_DEVICE,
	SONDE_STATEDUMP_NETWORK,
	SONDE_STATEDUMP_CPU,
	SONDE_STATEDUMP_MODULE,
	SONDE_STATEDUMP_SYMBOL,
	SONDE_STATEDUMP_NR_EVENTS,
};

/* One allocation each; to be freed with sonde_statedump_descs_free(). 0, -ENOMEM or
 * what sonde_build_end() says. */
int sonde_statedump_descs_new(
	struct sonde_desc *descs[SONDE_STATEDUMP_NR_EVENTS]);
void sonde_statedump_descs_free(
	struct sonde_desc *descs[SONDE_STATEDUMP_NR_EVENTS]);

/* The fields of SONDE_STATEDUMP_MAPPING, for another event that has them. */
void sonde_statedump_describe_mapping(struct sonde_build *build);

void sonde_statedump_emit_start(struct sonde_out *out,
				enum sonde_statedump_reader reader);
void sonde_statedump_emit_end(struct sonde_out *out, uint64_t omitted);
/* vppid: the parent as the thread sees it; 0: it can't. */
void sonde_statedump_emit_process(struct sonde_out *out,
				  const struct sonde_statedump_task *task,
				  int32_t vppid, uint64_t table);
void sonde_statedump_emit_file(struct sonde_out *out,
			       const struct sonde_statedump_file *file,
			       uint64_t table);
/* build_id: in hexadecimal, or "". */
void sonde_statedump_emit_mapping(struct sonde_out *out,
				  const struct sonde_statedump_mapping *mapping,
				  const char *build_id);
void sonde_statedump_emit_interrupt(struct sonde_out *out, uint32_t irq,
				    const char *name, const char *action);
void sonde_statedump_emit_block_device(struct sonde_out *out, uint32_t dev,
				       const char *name);

struct sonde_statedump_network {
	const char *name;
	uint32_t ifindex;
	uint8_t ipv4[4]; /* zeros if it has none */
	/* Any address in its family's notation, "/" and bits of the network's
	 * part; "": none. */
	const char *address;
};

void sonde_statedump_emit_network(
	struct sonde_out *out, const struct sonde_statedump_network *network);

struct sonde_statedump_cpu {
	uint32_t cpu_id;
	uint32_t mhz;
	uint32_t core_id;
	uint32_t physical_id;
	uint32_t core_cnt; /* of its package; 0: not known */
	const char *architecture;
	const char *vendor;
	const char *model_name;
};

/* From begin up to end, where its code is. */
void sonde_statedump_emit_module(struct sonde_out *out, const char *name,
				 uint64_t begin, uint64_t end);
/* module: "" the kernel itself. */
void sonde_statedump_emit_symbol(struct sonde_out *out, uint64_t address,
				 const char *name, const char *module);
void sonde_statedump_emit_cpu(struct sonde_out *out,
			      const struct sonde_statedump_cpu *cpu);

#endif /* SOURCE_STATEDUMP_EVENTS_H */
