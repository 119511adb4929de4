/* SPDX-License-Identifier: MIT */
/*
 * tracepoints.c - see tracepoints.h. Entries of both tables hold distances from
 * themselves: {s32 code, s32 target, s64 key}, {s32 call, s32 key}; the key's two
 * lowest bits are flags, of which the second says that the code was thrown away
 * when the kernel had started.
 *
 * Some 6,000 jumps and 8,000 calls: each key is looked for among those of the
 * tracepoints, which are sorted. A call belongs to the jump that goes to the
 * nearest place before it, of those of its tracepoint.
 */
#include "sys/tracepoints.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "sys/kcore.h"

#define TABLE_MAX  (UINT64_C(16) << 20)
#define JUMP_BYTES 16u
#define CALL_BYTES 8u
#define IS_INIT    2u
#define FLAGS      3u
/* In struct tracepoint, behind its name. */
#define KEY_AT 8u
/* How far behind a jump's target its call is, at most. */
#define REACH 1024u

/* What a static key or static call belongs to. */
struct owned_key {
	uint64_t address;
	uint32_t tracepoint;
};

struct tracepoint_jump {
	uint32_t tracepoint;
	bool is_site;
	uint64_t code, target;
};

struct finding_sites {
	int kcore;
	struct owned_key *keys;
	size_t nr_keys;
	struct tracepoint_jump *jumps;
	size_t nr_jumps, room_jumps;
};

/* ---- keys ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct owned_key *x = a;
	const struct owned_key *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int list_keys(struct finding_sites *finding,
		     const struct sonde_tracepoint *tracepoints, uint32_t nr)
{
	finding->keys = calloc(2 * (size_t)nr + 1, sizeof(*finding->keys));
	if (!finding->keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		if (tracepoints[i].structure)
			finding->keys[finding->nr_keys++] = (struct owned_key){
				tracepoints[i].structure + KEY_AT, i
			};
		if (tracepoints[i].call)
			finding->keys[finding->nr_keys++] =
				(struct owned_key){ tracepoints[i].call, i };
	}
	qsort(finding->keys, finding->nr_keys, sizeof(*finding->keys),
	      compare_keys);
	return 0;
}

static const struct owned_key *
find_key_owner(const struct finding_sites *finding, uint64_t address)
{
	const struct owned_key wanted = { address & ~(uint64_t)FLAGS, 0 };

	if (address & IS_INIT)
		return NULL;
	return bsearch(&wanted, finding->keys, finding->nr_keys,
		       sizeof(*finding->keys), compare_keys);
}

/* ---- tables ---- */

static int read_kernel_table(const struct finding_sites *finding,
			     uint64_t begin, uint64_t end, uint8_t **ret_bytes)
{
	size_t size = (size_t)(end - begin);
	size_t done = 0;
	size_t nr;

	if (end < begin || end - begin > TABLE_MAX)
		return -EPROTO;
	*ret_bytes = malloc(size + 1);
	if (!*ret_bytes)
		return -ENOMEM;
	while (done < size) {
		nr = sonde_kcore_read(finding->kcore, begin + done,
				      *ret_bytes + done, size - done);
		if (!nr) {
			free(*ret_bytes);
			return -EIO;
		}
		done += nr;
	}
	return 0;
}

/* Where a distance of 4 bytes leads that stands at `at` of the table. */
static uint64_t place_in_table(const uint8_t *bytes, size_t at, uint64_t begin)
{
	int32_t distance;

	memcpy(&distance, bytes + at, sizeof(distance));
	return begin + at + (uint64_t)(int64_t)distance;
}

static int take_jump(struct finding_sites *finding, const uint8_t *bytes,
		     size_t at, uint64_t begin)
{
	const struct owned_key *key;
	uint64_t distance;

	memcpy(&distance, bytes + at + 8, sizeof(distance));
	key = find_key_owner(finding, begin + at + 8 + distance);
	if (!key)
		return 0;
	if (SONDE_GROW(finding->jumps, finding->nr_jumps, finding->room_jumps))
		return -ENOMEM;
	finding->jumps[finding->nr_jumps++] = (struct tracepoint_jump){
		.tracepoint = key->tracepoint,
		.code = place_in_table(bytes, at, begin),
		.target = place_in_table(bytes, at + 4, begin),
	};
	return 0;
}

static int compare_jumps(const void *a, const void *b)
{
	const struct tracepoint_jump *x = a;
	const struct tracepoint_jump *y = b;

	if (x->tracepoint != y->tracepoint)
		return x->tracepoint < y->tracepoint ? -1 : 1;
	return (x->target > y->target) - (x->target < y->target);
}

static int read_jumps(struct finding_sites *finding,
		      const struct sonde_tracepoint_tables *tables)
{
	size_t size = (size_t)(tables->jumps_end - tables->jumps);
	uint8_t *bytes;
	int rc = read_kernel_table(finding, tables->jumps, tables->jumps_end,
				   &bytes);

	if (rc)
		return rc;
	for (size_t at = 0; !rc && size - at >= JUMP_BYTES; at += JUMP_BYTES)
		rc = take_jump(finding, bytes, at, tables->jumps);
	free(bytes);
	if (finding->nr_jumps)
		qsort(finding->jumps, finding->nr_jumps,
		      sizeof(*finding->jumps), compare_jumps);
	return rc;
}

/* The last of the sorted jumps that isn't behind the call is its own. */
static void take_call(struct finding_sites *finding, uint32_t tracepoint,
		      uint64_t call)
{
	const struct tracepoint_jump *jumps = finding->jumps;
	size_t i;

	SONDE_SEARCH(i, finding->nr_jumps,
		     jumps[i].tracepoint < tracepoint ||
			     (jumps[i].tracepoint == tracepoint &&
			      jumps[i].target <= call));
	if (i && jumps[i - 1].tracepoint == tracepoint &&
	    call - jumps[i - 1].target < REACH)
		finding->jumps[i - 1].is_site = true;
}

static int read_calls(struct finding_sites *finding,
		      const struct sonde_tracepoint_tables *tables)
{
	size_t size = (size_t)(tables->calls_end - tables->calls);
	uint8_t *bytes;
	int rc = read_kernel_table(finding, tables->calls, tables->calls_end,
				   &bytes);

	for (size_t at = 0; !rc && size - at >= CALL_BYTES; at += CALL_BYTES) {
		const struct owned_key *key = find_key_owner(
			finding, place_in_table(bytes, at + 4, tables->calls));

		if (key)
			take_call(finding, key->tracepoint,
				  place_in_table(bytes, at, tables->calls));
	}
	if (!rc)
		free(bytes);
	return rc;
}

/* ---- sites ---- */

/* The no-op's bytes, or the jump's that is there now; 0: it is neither. */
static uint32_t key_bytes(const struct finding_sites *finding, uint64_t code)
{
	uint8_t bytes[2];

	if (sonde_kcore_read(finding->kcore, code, bytes, sizeof(bytes)) !=
	    sizeof(bytes))
		return 0;
	if ((bytes[0] == 0x66 && bytes[1] == 0x90) || bytes[0] == 0xeb)
		return 2;
	return (bytes[0] == 0x0f && bytes[1] == 0x1f) || bytes[0] == 0xe9 ? 5 :
									    0;
}

static int list_tracepoint_sites(const struct finding_sites *finding,
				 struct sonde_tracepoint_site **ret_sites,
				 size_t *ret_nr)
{
	struct sonde_tracepoint_site *sites =
		calloc(finding->nr_jumps + 1, sizeof(*sites));
	size_t nr = 0;

	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < finding->nr_jumps; i++) {
		const struct tracepoint_jump *jump = &finding->jumps[i];
		uint32_t bytes =
			jump->is_site ? key_bytes(finding, jump->code) : 0;

		if (bytes)
			sites[nr++] = (struct sonde_tracepoint_site){
				.tracepoint = jump->tracepoint,
				.behind = jump->code + bytes,
				.target = jump->target,
			};
	}
	*ret_sites = sites;
	*ret_nr = nr;
	return 0;
}

int sonde_tracepoint_sites(int kcore,
			   const struct sonde_tracepoint_tables *tables,
			   const struct sonde_tracepoint *tracepoints,
			   uint32_t nr,
			   struct sonde_tracepoint_site **ret_sites,
			   size_t *ret_nr)
{
	struct finding_sites finding = { .kcore = kcore };
	int rc = list_keys(&finding, tracepoints, nr);

	if (!rc)
		rc = read_jumps(&finding, tables);
	if (!rc)
		rc = read_calls(&finding, tables);
	if (!rc)
		rc = list_tracepoint_sites(&finding, ret_sites, ret_nr);
	free(finding.keys);
	free(finding.jumps);
	return rc;
}
