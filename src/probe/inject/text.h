/* SPDX-License-Identifier: MIT */
/*
 * text.h - the process's code around an address, as far as windows need it:
 * the function it is in, or some bytes if that isn't known.
 *
 * Mappings and the unwinder's tables are read once, and again when an address
 * is in none that is known.
 */
#ifndef PROBE_INJECT_TEXT_H
#define PROBE_INJECT_TEXT_H

#include "probe/inject/process.h"
#include "probe/inject/window.h"

struct sonde_patch_text;

int sonde_patch_text_new(struct sonde_process *process,
			 struct sonde_patch_text **ret_text);
void sonde_patch_text_free(struct sonde_patch_text *text);

/*
 * The code that the address is in. The bytes are as they are now - with what
 * probes have changed - and the caller's to change back: *ret_bytes is the
 * view's bytes; both are valid until the next call. 0; -EFAULT (no executable
 * memory there), -EIO, -ENOMEM.
 */
int sonde_patch_text_view(struct sonde_patch_text *text, uint64_t address,
			  struct sonde_code_view *ret_view,
			  uint8_t **ret_bytes);

/*
 * Whether some branch of the same image, wherever it is, might lead inside the
 * window (a cold part's, say): a search for 32-bit displacements that would. The
 * first question about an image reads all of its code; what branches there are is
 * kept for the next ones, until it is to be looked at anew.
 */
bool sonde_patch_text_leads_inside(struct sonde_patch_text *text,
				   const struct sonde_window *window);

void sonde_patch_text_look_anew(struct sonde_patch_text *text);

#endif /* PROBE_INJECT_TEXT_H */
