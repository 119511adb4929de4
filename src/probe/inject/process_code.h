/* SPDX-License-Identifier: MIT */
/*
 * process_code.h - the process's code around an address, as far as windows need it:
 * the function it is in, or some bytes if that isn't known.
 *
 * Mappings and the unwinder's tables are read once, and again when an address
 * is in none that is known.
 */
#ifndef PROBE_INJECT_PROCESS_CODE_H
#define PROBE_INJECT_PROCESS_CODE_H

#include "probe/inject/process.h"
#include "probe/inject/window.h"

struct sonde_patch_code;

int sonde_patch_code_new(struct sonde_process *process,
			 struct sonde_patch_code **ret_code);
void sonde_patch_code_free(struct sonde_patch_code *code);

/*
 * The code that the address is in. The bytes are as they are now - with what
 * probes have changed - and the caller's to change back: *ret_bytes is the
 * view's bytes; both are valid until the next call. 0; -EFAULT (no executable
 * memory there), -EIO, -ENOMEM.
 */
int sonde_patch_code_view(struct sonde_patch_code *code, uint64_t address,
			  struct sonde_code_view *ret_view,
			  uint8_t **ret_bytes);

/*
 * Whether some branch of the same image, wherever it is, might lead inside the
 * window (a cold part's, say): a search for 32-bit displacements that would. The
 * first question about an image reads all of its code; what branches there are is
 * kept for the next ones, until it is to be looked at anew.
 */
bool sonde_patch_code_leads_inside(struct sonde_patch_code *code,
				   const struct sonde_window *window);

void sonde_patch_code_look_anew(struct sonde_patch_code *code);

#endif /* PROBE_INJECT_PROCESS_CODE_H */
