/* SPDX-License-Identifier: MIT */
/*
 * registers.c - the table of registers, and the target description made from
 * it.
 *
 * The order is that of a 'g' packet and of GDB's own numbers; the description
 * has it in lines, because GDB refuses a long one in its trace files.
 */
#include "gdb/registers.h"

#include <stddef.h>

#include "base/port.h"

struct run_of_registers {
	unsigned int nr, size;
};

static const struct run_of_registers runs[] = {
	{ 17, 8 }, { 7, 4 }, { 2, 8 }, { 8, 10 }, { 8, 4 }, { 1, 8 },
};

bool sonde_gdb_register_place(unsigned int number, unsigned int *ret_offset,
			      unsigned int *ret_size)
{
	unsigned int offset = 0;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(runs); i++) {
		if (number < runs[i].nr) {
			*ret_offset = offset + number * runs[i].size;
			*ret_size = runs[i].size;
			return true;
		}
		number -= runs[i].nr;
		offset += runs[i].nr * runs[i].size;
	}
	return false;
}

/* clang-format off */
#define REG(name, bits, type, number) \
	"<reg name=\"" name "\" bitsize=\"" #bits "\" type=\"" type \
	"\" regnum=\"" #number "\"/>\n"
#define FLAG(name, bit) \
	"<field name=\"" name "\" start=\"" #bit "\" end=\"" #bit "\"/>\n"

/* In lines: GDB puts it into its trace files, and refuses long ones there. */
static const char target_xml[] =
	"<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">"
	"<target><architecture>i386:x86-64</architecture>"
	"<osabi>GNU/Linux</osabi>"
	"<feature name=\"org.gnu.gdb.i386.core\">"
	"<flags id=\"i386_eflags\" size=\"4\">"
	FLAG("", 22)
	FLAG("CF", 0) FLAG("", 1) FLAG("PF", 2) FLAG("AF", 4) FLAG("ZF", 6)
	FLAG("SF", 7) FLAG("TF", 8) FLAG("IF", 9) FLAG("DF", 10) FLAG("OF", 11)
	FLAG("NT", 14) FLAG("RF", 16) FLAG("VM", 17) FLAG("AC", 18)
	FLAG("VIF", 19) FLAG("VIP", 20) FLAG("ID", 21)
	"</flags>"
	REG("rax", 64, "int64", 0) REG("rbx", 64, "int64", 1)
	REG("rcx", 64, "int64", 2) REG("rdx", 64, "int64", 3)
	REG("rsi", 64, "int64", 4) REG("rdi", 64, "int64", 5)
	REG("rbp", 64, "data_ptr", 6) REG("rsp", 64, "data_ptr", 7)
	REG("r8", 64, "int64", 8) REG("r9", 64, "int64", 9)
	REG("r10", 64, "int64", 10) REG("r11", 64, "int64", 11)
	REG("r12", 64, "int64", 12) REG("r13", 64, "int64", 13)
	REG("r14", 64, "int64", 14) REG("r15", 64, "int64", 15)
	REG("rip", 64, "code_ptr", 16)
	REG("eflags", 32, "i386_eflags", 17)
	REG("cs", 32, "int32", 18) REG("ss", 32, "int32", 19)
	REG("ds", 32, "int32", 20) REG("es", 32, "int32", 21)
	REG("fs", 32, "int32", 22) REG("gs", 32, "int32", 23)
	REG("st0", 80, "i387_ext", 26) REG("st1", 80, "i387_ext", 27)
	REG("st2", 80, "i387_ext", 28) REG("st3", 80, "i387_ext", 29)
	REG("st4", 80, "i387_ext", 30) REG("st5", 80, "i387_ext", 31)
	REG("st6", 80, "i387_ext", 32) REG("st7", 80, "i387_ext", 33)
	REG("fctrl", 32, "int", 34) REG("fstat", 32, "int", 35)
	REG("ftag", 32, "int", 36) REG("fiseg", 32, "int", 37)
	REG("fioff", 32, "int", 38) REG("foseg", 32, "int", 39)
	REG("fooff", 32, "int", 40) REG("fop", 32, "int", 41)
	"</feature>"
	"<feature name=\"org.gnu.gdb.i386.linux\">"
	REG("orig_rax", 64, "int", 42)
	"</feature>"
	"<feature name=\"org.gnu.gdb.i386.segments\">"
	REG("fs_base", 64, "int", 24) REG("gs_base", 64, "int", 25)
	"</feature>"
	"</target>";
/* clang-format on */

const char *sonde_gdb_target_xml(void)
{
	return target_xml;
}
