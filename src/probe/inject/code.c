/* SPDX-License-Identifier: MIT */
/*
 * code.c - a table of a function's instructions (code.h).
 *
 * Invariant: list[] is in the order of addresses, and each entry begins where
 * the one before ends. Cost: decoding once, some 50 ns an instruction; a
 * question is a binary search.
 */
#include "probe/inject/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

static int code_decode_all(const struct sonde_code_view *view,
			   struct sonde_code_insns *insns)
{
	size_t room = 0;
	size_t at = 0;

	while (at < view->size) {
		struct sonde_code_insn *next;

		if (SONDE_GROW(insns->list, insns->nr, room))
			return -ENOMEM;
		next = &insns->list[insns->nr];
		next->address = view->address + at;
		if (sonde_insn_decode(view->bytes + at,
				      view->size - at + view->behind,
				      next->address, &next->insn))
			return -EINVAL;
		at += next->insn.length;
		insns->nr++;
	}
	return 0;
}

int sonde_code_insns_read(const struct sonde_code_view *view,
			  struct sonde_code_insns *ret_insns)
{
	struct sonde_code_insns insns = {
		.address = view->address,
		.size = view->size + view->behind,
		.bytes = malloc(view->size + view->behind + 1),
	};
	int rc = insns.bytes ? code_decode_all(view, &insns) : -ENOMEM;

	if (rc) {
		sonde_code_insns_free(&insns);
		return rc;
	}
	memcpy(insns.bytes, view->bytes, insns.size);
	*ret_insns = insns;
	return 0;
}

void sonde_code_insns_free(struct sonde_code_insns *insns)
{
	free(insns->bytes);
	free(insns->list);
	*insns = (struct sonde_code_insns){ 0 };
}

bool sonde_code_insns_fit(const struct sonde_code_insns *insns,
			  const struct sonde_code_view *view)
{
	return insns->bytes && insns->address == view->address &&
	       insns->size == view->size + view->behind &&
	       memcmp(insns->bytes, view->bytes, insns->size) == 0;
}

const struct sonde_insn *
sonde_code_insns_at(const struct sonde_code_insns *insns, uint64_t address)
{
	size_t i;

	SONDE_SEARCH(i, insns->nr, insns->list[i].address < address);
	return i < insns->nr && insns->list[i].address == address ?
		       &insns->list[i].insn :
		       NULL;
}
