/* SPDX-License-Identifier: MIT */
/*
 * agent.c - fuzz expr/agent.h: what is decoded is what is sound as bytes
 * (tests/unit/agent_model.h), and the program then does what the bytes say;
 * what is refused is, with words.
 *
 * First byte: bit 0, it may record; bit 1, the rest is the expression, and the
 * world it sees is always the same. Else the rest are decisions: an expression,
 * perhaps a damaged one (bit 2), then worlds.
 */
#include <errno.h>

#include "../tests/unit/agent_model.h"
#include "expr/agent.h"

#include "fuzz.h"

#define WORLDS 2

static void check_same(const struct sonde_program *program,
		       const uint8_t *bytes, size_t nr,
		       const struct agent_world *world)
{
	static struct agent_world plain;
	static struct agent_world ours;
	uint64_t expected = 0;
	uint64_t value;
	enum agent_result result;

	plain = *world;
	ours = *world;
	result = agent_model_run(bytes, nr, &plain, &expected);
	FUZZ_CHECK(agent_evaluate(program, &ours, &value) == result);
	FUZZ_CHECK(result != AGENT_VALUE || value == expected);
	FUZZ_CHECK(memcmp(&ours, &plain, sizeof(ours)) == 0);
}

static void check_refusal(int err, size_t nr,
			  const struct sonde_expr_error *error)
{
	FUZZ_CHECK(err == -EINVAL || err == -E2BIG);
	FUZZ_CHECK(error->column >= 1 && error->column <= nr + 1);
	FUZZ_CHECK(error->text[0] && !strchr(error->text, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static struct agent_world world;
	static uint8_t bytes[4096];
	struct fuzz_input in = { input, size };
	const struct model_random random = { fuzz_decision, &in };
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	uint8_t how = fuzz_u8(&in);
	bool collects = how & 1;
	const uint8_t *taken;
	size_t nr;
	int err;

	if (how & 2) {
		taken = fuzz_bytes(&in, sizeof(bytes), &nr);
		if (nr)
			memcpy(bytes, taken, nr);
	} else {
		nr = agent_write(bytes, sizeof(bytes), collects, how & 4,
				 &random);
	}
	err = sonde_agent_decode(bytes, nr, collects, &error, &program);
	FUZZ_CHECK(agent_model_is_sound(bytes, nr, collects) == (err == 0));
	if (err)
		check_refusal(err, nr, &error);
	for (size_t i = 0; !err && i < WORLDS; i++) {
		agent_world_fill(&world, &random);
		check_same(program, bytes, nr, &world);
	}
	sonde_program_free(program);
	return 0;
}
