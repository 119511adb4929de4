/* SPDX-License-Identifier: MIT */
/*
 * gdb_sites.c - what GDB is taught about `strace -m ID` where a marker is at
 * several places: a tracepoint is made for each, but the condition goes to the
 * first alone (13.1 moves its text away), and `actions` are the last one's.
 *
 * Whose variables are meant is known to GDB alone, by each place's debugging
 * information, so it is told to compile the same words for each, by hooks of its
 * own commands in its Python. A place where they mean nothing is disabled: without
 * its condition it would record what wasn't asked for. Those that were given a
 * condition, or actions, keep them.
 *
 * A GDB without Python says so when it starts, and does what it did.
 */
#include <stdio.h>

#include "cmd/cmd.h"

/* clang-format off */
static const char sites_script[] =
"python\n"
"import re, tempfile\n"
"class SondeSites:\n"
"    def __init__(self):\n"
"        self.before, self.groups, self.busy = 0, [], False\n"
"    def last(self):\n"
"        number = gdb.parse_and_eval('$bpnum')\n"
"        return 0 if number.type.code == gdb.TYPE_CODE_VOID else int(number)\n"
"    def show(self, number):\n"
"        return gdb.execute(f'info tracepoints {number}', to_string=True)\n"
"    def condition(self, number):\n"
"        found = re.search('^\\ttrace only if (.*)', self.show(number), re.M)\n"
"        return found and found[1]\n"
"    def actions(self, number):\n"
"        return re.findall('^ {8}(.*)', self.show(number), re.M)\n"
"    def made(self):\n"
"        group = range(self.before + 1, self.last() + 1)\n"
"        if not group:\n"
"            return\n"
"        self.groups.append(group)\n"
"        condition = self.condition(group[0])\n"
"        for number in group if condition else ():\n"
"            try:\n"
"                self.condition(number) or gdb.execute(\n"
"                    f'condition {number} {condition}')\n"
"            except gdb.error as why:\n"
"                self.disable(number, why)\n"
"            if re.search(r' N\\* ', self.show(number)):\n"
"                self.disable(number, condition)\n"
"    def disable(self, number, why):\n"
"        gdb.execute(f'disable {number}')\n"
"        print(f'Tracepoint {number} is disabled, for its place has no such'\n"
"              f' condition: {why}')\n"
"    def acted(self):\n"
"        if self.busy:\n"
"            return\n"
"        self.busy = True\n"
"        try:\n"
"            for group in self.groups:\n"
"                self.share(group)\n"
"        finally:\n"
"            self.busy = False\n"
"    def share(self, group):\n"
"        actions = self.actions(group[-1])\n"
"        for number in group[:-1] if actions else ():\n"
"            if 'tracepoint' not in self.show(number) or (\n"
"                    self.actions(number)):\n"
"                continue\n"
"            with tempfile.NamedTemporaryFile('w') as script:\n"
"                script.write('\\n'.join([f'actions {number}', *actions,\n"
"                                        'end', '']))\n"
"                script.flush()\n"
"                try:\n"
"                    gdb.execute(f'source {script.name}')\n"
"                except gdb.error as why:\n"
"                    print(f'Tracepoint {number} has no actions: {why}')\n"
"sonde_sites = SondeSites()\n"
"end\n"
"define hook-strace\n"
"python sonde_sites.before = sonde_sites.last()\n"
"end\n"
"define hookpost-strace\n"
"python sonde_sites.made()\n"
"end\n"
"define hookpost-actions\n"
"python sonde_sites.acted()\n"
"end\n";
/* clang-format on */

static bool put_sites(FILE *to, const void *ctx)
{
	(void)ctx;
	return fputs(sites_script, to) >= 0;
}

int sonde_gdb_sites_script(char path[SONDE_GDB_SCRIPT_PATH])
{
	return sonde_gdb_script(put_sites, NULL, path);
}
