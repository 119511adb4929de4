/* SPDX-License-Identifier: MIT */
/*
 * probe_compile.c - fuzz probe/compile.h: what is refused says why, in one line;
 * what compiles is an agent expression that is taken (expr/agent.h), and whose
 * program is sound.
 *
 * First byte: bit 0, what is collected; else a condition. The rest is the text.
 * There is no debugging information: registers, numbers, casts.
 */
#include <errno.h>

#include "expr/program.h"
#include "probe/compile.h"

#include "fuzz.h"

#define TEXT_SIZE 4096

static void check_code(const struct sonde_probe_bytecode *code, bool collects)
{
	struct sonde_expr_error error;
	struct sonde_program *program = NULL;
	int err = sonde_agent_decode(code->bytes, code->nr, collects, &error,
				     &program);

	/* Too many operations, or too deep a stack, is the only reason. */
	FUZZ_CHECK(err == 0 || err == -E2BIG || err == -EINVAL);
	if (!err)
		sonde_program_free(program);
	else
		FUZZ_CHECK(code->nr > 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct sonde_probe_bytecode code;
	struct sonde_probe_dwarf dwarf = { .nr_scopes = 0 };
	struct sonde_probe_scope scope = { .dwarf = &dwarf };
	struct sonde_probe_wanted wanted = { .times = 1 };
	struct sonde_expr_error error = { .column = 0 };
	struct sonde_probe_thing thing;
	struct fuzz_input in = { .at = bytes, .left = size };
	bool collects = fuzz_u8(&in) & 1;
	char text[TEXT_SIZE];
	size_t length = in.left < TEXT_SIZE - 1 ? in.left : TEXT_SIZE - 1;
	int err;

	if (length)
		memcpy(text, in.at, length);
	text[length] = '\0';
	memset(&code, 0, sizeof(code));
	wanted.text = text;
	err = collects ? sonde_probe_compile_wanted(&scope, &wanted, &code,
						    &thing, &error) :
			 sonde_probe_compile_condition(&scope, text, &code,
						       &error);
	if (err)
		FUZZ_CHECK(err == -ENOMEM ||
			   (error.text[0] && !strchr(error.text, '\n')));
	else
		check_code(&code, collects);
	return 0;
}
