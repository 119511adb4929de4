/* SPDX-License-Identifier: MIT */
/*
 * native.c - see native.h. Functions begin at multiples of ALIGN, the first of
 * them behind as many bytes that are never run, so that no place is 0.
 */
#include "reader/core/native.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/grow.h"
#include "expr/jit/jit.h"

#define ALIGN     16u
#define BYTES_MAX ((size_t)1 << 24)
#define TRAP      0xcc /* int3 */

/* Room for so many more bytes. */
static bool native_make_room(struct sonde_native *native, size_t more)
{
	if (native->nr_bytes + more > BYTES_MAX)
		return false;
	while (native->room < native->nr_bytes + more)
		if (SONDE_GROW(native->bytes, native->room, native->room))
			return false;
	return true;
}

uint32_t sonde_native_add(struct sonde_native *native,
			  const struct sonde_program *program)
{
	const struct sonde_jit_config config = { .kind = SONDE_JIT_FUNCTION };
	size_t at = native->nr_bytes ? native->nr_bytes : ALIGN;
	uint8_t *code;
	uint32_t nr;
	size_t end;

	if (sonde_jit_function(program, &config, &code, &nr))
		return 0;
	end = (at + nr + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!native_make_room(native, end - native->nr_bytes)) {
		free(code);
		return 0;
	}
	memset(native->bytes + native->nr_bytes, TRAP, end - native->nr_bytes);
	memcpy(native->bytes + at, code, nr);
	native->nr_bytes = end;
	free(code);
	return (uint32_t)at;
}

void sonde_native_seal(struct sonde_native *native)
{
	uint8_t *map = MAP_FAILED;

	if (native->nr_bytes)
		map = mmap(NULL, native->nr_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map != MAP_FAILED) {
		memcpy(map, native->bytes, native->nr_bytes);
		if (mprotect(map, native->nr_bytes, PROT_READ | PROT_EXEC)) {
			(void)munmap(map, native->nr_bytes);
			map = MAP_FAILED;
		}
	}
	free(native->bytes);
	native->bytes = map == MAP_FAILED ? NULL : map;
	native->is_sealed = true;
}

sonde_native_test *sonde_native_at(const struct sonde_native *native,
				   uint32_t place)
{
	sonde_native_test *test;
	const uint8_t *code;

	if (!place || !native->is_sealed || !native->bytes)
		return NULL;
	code = native->bytes + place;
	memcpy(&test, &code, sizeof(test)); /* data to function */
	return test;
}

void sonde_native_fini(struct sonde_native *native)
{
	if (!native->is_sealed)
		free(native->bytes);
	else if (native->bytes)
		(void)munmap(native->bytes, native->nr_bytes);
	*native = (struct sonde_native){ 0 };
}
