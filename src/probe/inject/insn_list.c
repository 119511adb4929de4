/* SPDX-License-Identifier: MIT */
/*
 * insn_list.c - a table of a function's instructions (insn_list.h).
 *
 * Invariant: list[] is in the order of addresses, and each entry begins where
 * the one before ends. Cost: decoding once, some 50 ns an instruction; a
 * question is a binary search.
 */
#include "probe/inject/insn_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

static int code_decode_all(const struct sonde_code_view *view,
			   struct sonde_insn_list *insns)
{
	size_t room = 0;
	size_t at = 0;

	while (at < view->size) {
		struct sonde_insn_at *next;

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

int sonde_insn_list_read(const struct sonde_code_view *view,
			 struct sonde_insn_list *ret_insns)
{
	struct sonde_insn_list insns = {
		.address = view->address,
		.size = view->size + view->behind,
		.bytes = malloc(view->size + view->behind + 1),
	};
	int rc = insns.bytes ? code_decode_all(view, &insns) : -ENOMEM;

	if (rc) {
		sonde_insn_list_free(&insns);
		return rc;
	}
	memcpy(insns.bytes, view->bytes, insns.size);
	*ret_insns = insns;
	return 0;
}

void sonde_insn_list_free(struct sonde_insn_list *insns)
{
	free(insns->bytes);
	free(insns->list);
	*insns = (struct sonde_insn_list){ 0 };
}

bool sonde_insn_list_fit(const struct sonde_insn_list *insns,
			 const struct sonde_code_view *view)
{
	return insns->bytes && insns->address == view->address &&
	       insns->size == view->size + view->behind &&
	       memcmp(insns->bytes, view->bytes, insns->size) == 0;
}

const struct sonde_insn *sonde_insn_list_at(const struct sonde_insn_list *insns,
					    uint64_t address)
{
	size_t i;

	SONDE_SEARCH(i, insns->nr, insns->list[i].address < address);
	return i < insns->nr && insns->list[i].address == address ?
		       &insns->list[i].insn :
		       NULL;
}
