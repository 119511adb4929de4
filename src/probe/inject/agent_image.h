/* SPDX-License-Identifier: MIT */
/*
 * agent_image.h - the agent's image as it is in the tool: flat bytes that begin with
 * this head (agent/image.lds). All are offsets from it.
 */
#ifndef PROBE_INJECT_AGENT_IMAGE_H
#define PROBE_INJECT_AGENT_IMAGE_H

#include <stdint.h>

#define SONDE_IMAGE_MAGIC 0x6567616d69444e53ull /* "SNDimage" */

struct sonde_image_head {
	uint64_t magic;
	uint32_t data; /* written from here on; page aligned */
	uint32_t end;  /* bytes that the file lacks are zero */
	uint32_t rela; /* Elf64_Rela[], all R_X86_64_RELATIVE */
	uint32_t rela_end;
	uint32_t self; /* sonde_agent_self */
	uint32_t hit;
	uint32_t trap;
	uint32_t fault;
	uint32_t restorer; /* of the handlers */
	uint32_t step;     /* sonde_agent_called */
	uint32_t retire;   /* sonde_agent_retire */
	uint32_t call;     /* sonde_agent_call_thunk */
};

extern const unsigned char sonde_agent_image[];
extern const unsigned long sonde_agent_image_size;

#endif /* PROBE_INJECT_AGENT_IMAGE_H */
