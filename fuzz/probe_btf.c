/* SPDX-License-Identifier: MIT */
/*
 * probe_btf.c - fuzz probe/btf_type.c: whatever bytes are said to be the types of
 * a kernel, looking into them ends and reads nothing beyond them, and an
 * expression over them is compiled, or refused.
 *
 * Four bytes are the id that is a function's; the rest is what comes after a
 * header that makes sense, before strings that hold the names that are looked for.
 */
#include "btf.h"
#include "probe/btf_type.h"
#include "probe/compile.h"
#include "sys/btf.h"

static const char strings[] = "\0a\0b\0task_struct";

static void look_into(const struct sonde_btf *btf, uint32_t id)
{
	struct sonde_probe_btf_member member;
	struct sonde_probe_ctype type;
	struct sonde_probe_ctype inner;

	if (!sonde_probe_btf_ctype(btf, id, &type))
		return;
	(void)sonde_probe_ctype_bytes(&type);
	(void)sonde_probe_ctype_inner(&type, &inner);
	if (type.kind == SONDE_PROBE_CTYPE_STRUCT && !type.stars)
		(void)sonde_probe_btf_member(&type, "a", 1, &member);
}

static void compile_in(const struct sonde_btf *btf, uint32_t function)
{
	static const char *const texts[] = {
		"a", "a->b", "a[1].b", "*a == b", "(struct a *)b", "current->a"
	};
	struct sonde_probe_dwarf at = { .btf = btf,
					.function = function,
					.at_return = true };
	const struct sonde_probe_scope scope = { .dwarf = &at };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sonde_probe_bytecode code = { .nr = 0 };
		struct sonde_expr_error error = { .column = 0 };
		struct sonde_probe_valued value;

		(void)sonde_probe_compile_value(&scope, texts[i], &code, &value,
						&error);
	}
}

static void try_types(const uint8_t *bytes, size_t size, uint32_t function)
{
	struct sonde_probe_btf_argument argument;
	struct sonde_btf btf;
	int64_t label;

	if (sonde_btf_init(&btf, bytes, size))
		return;
	for (uint32_t id = 0; id < btf.nr + 2 && id < 64; id++)
		look_into(&btf, id);
	for (uint32_t n = 0;
	     sonde_probe_btf_argument(&btf, function, n, &argument); n++)
		FUZZ_CHECK(argument.index <= SONDE_PROBE_BTF_REGISTERS);
	(void)sonde_probe_btf_label(&btf, "b", &label);
	compile_in(&btf, function);
	sonde_btf_close(&btf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t function;
	uint8_t *bytes;

	if (size < sizeof(function))
		return 0;
	memcpy(&function, data, sizeof(function));
	bytes = fuzz_wrap_btf(data + sizeof(function), size - sizeof(function),
			      strings, sizeof(strings), &size);
	try_types(bytes, size, function);
	free(bytes);
	return 0;
}
