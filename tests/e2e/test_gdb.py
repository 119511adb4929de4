#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_gdb.py - tracepoints that a stock GDB puts into running programs.

What calls the program's functions so many times (calling.py) GDB's scripts do by
`shell`, between tstart and tstop.
"""

import json
import re
import subprocess

import sonde
from sonde import SONDE, Trace, check, run
from harness import check_equal, main, test
from calling import Program, line_of


def collect(what):
    return ["actions", f"collect {what}", "end"]


def frames(text):
    told = re.search(r"Collected (\d+) trace frame", text)
    check(told, f"no trace frames: {text}")
    return int(told[1])


def values(text, name):
    return [int(v) for v in re.findall(rf"^{re.escape(name)} = (-?\d+)", text,
                                       re.M)]


def dump_all(name):
    """Commands that print `name` of each frame."""
    return ["tfind start", "while $trace_frame != -1",
            f'printf "{name} = %ld\\n", (long)({name})', "tfind", "end"]


def check_local_conditions(*flags):
    program = Program(*flags)
    text = program.gdb(
        f"trace program.c:{line_of('LINE_LOCAL')} if n % 10 == 3 && n > 50",
        *collect("n, p, counter2, $rip"), "tstart", program.call(100),
        "tstop", "tstatus", *dump_all("n"), *dump_all("counter2"))
    check_equal(frames(text), 5, f"frames; {text}")
    check_equal(values(text, "n"), [53, 63, 73, 83, 93], "n")
    check_equal(len(values(text, "counter2")), 5, "counter2")
    program.end()


@test
def conditions_on_locals_work_in_a_pie():
    check_local_conditions("-O0", "-fPIE", "-pie")


@test
def conditions_on_locals_work_without_pie():
    check_local_conditions("-O0", "-fno-PIE", "-no-pie")


@test
def conditions_on_arguments_work_in_optimised_code():
    program = Program("-O2")
    text = program.gdb("trace *work if $rdi % 10 == 3",
                       *collect("$rdi, $rsi, $regs"), "tstart",
                       program.call(100), "tstop", "tstatus",
                       *dump_all("$rdi"))
    check_equal(values(text, "$rdi"), list(range(3, 100, 10)), text)
    program.end()


@test
def a_condition_on_an_unsigned_char_is_right():
    program = Program("-O0")
    text = program.gdb(
        f"ftrace program.c:{line_of('LINE_LOCAL')} if uc == 18",
        *collect("uc, n"), "tstart", program.call(1000), "tstop", "tstatus",
        *dump_all("n"))
    check_equal(values(text, "n"), [18, 274, 530, 786], text)
    program.end()


@test
def pointers_are_followed_and_bad_ones_are_false():
    program = Program("-O0")
    text = program.gdb(
        f"trace program.c:{line_of('LINE_LOCAL')} if p->next->key == 7",
        *collect("n, p->next->key, *p"), "tstart", program.call(100),
        "tstop", "tstatus", *dump_all("n"), *dump_all("p->next->key"))
    check_equal(values(text, "n"), list(range(7, 100, 10)), text)
    check_equal(values(text, "p->next->key"), [7] * 10, "key")
    program.end()


@test
def a_shared_librarys_function_is_traced():
    program = Program("-O0")
    text = program.gdb("trace lib_work if n == 42", *collect("n"),
                       "actions", "collect n", "collect/s text", "end",
                       "tstart", program.call(100), "tstop", "tstatus",
                       "tfind", "tdump")
    check_equal(frames(text), 1, text)
    check("n = 42" in text and '"text"' in text, text)
    program.end()


@test
def hits_of_all_threads_are_counted():
    program = Program("-O0", threads=4)
    text = program.gdb(
        f"trace program.c:{line_of('LINE_LOCAL')} if n % 100 == 0",
        *collect("n, $tid"), "tstart", program.call(10000), "tstop",
        "tstatus", *dump_all("$tid"))
    check_equal(frames(text), 400, text[-3000:])
    check_equal(len(set(values(text, "$tid"))), 4, "threads")
    program.end()


@test
def a_run_can_be_changed_while_it_is_on():
    program = Program("-O0")
    text = program.gdb(
        f"trace program.c:{line_of('LINE_LOCAL')} if n < 5", *collect("n"),
        "tstart", program.call(10), "disable 1", program.call(10), "enable 1",
        program.call(10), "trace lib_work if n == 3", program.call(10),
        "tstop", "tstatus", "info tracepoints")
    check_equal(frames(text), 16, text)
    check("already hit 15 times" in text, text)
    check("already hit 1 time" in text, text)
    program.end()


@test
def a_pass_count_ends_the_run():
    program = Program("-O0")
    text = program.gdb("trace work", "passcount 3", "tstart",
                       program.call(10), "tstatus")
    check("stopped by tracepoint 1 after 3 passes" in text or
          "Trace stopped by tracepoint 1" in text, text)
    check_equal(frames(text), 3, text)
    program.end()


@test
def a_disconnected_run_goes_on_and_is_found_again():
    program = Program("-O0")
    program.gdb("set disconnected-tracing on",
                f"trace program.c:{line_of('LINE_LOCAL')} if n == 5",
                *collect("n"), "tstart", program.call(10))
    program.call_now(20)
    text = program.gdb("tstatus", "info tracepoints", "tstop", "tstatus",
                       *dump_all("n"))
    check("Trace is running on the target" in text, text)
    check("trace only if n == 5" in text and "collect n" in text, text)
    check_equal(values(text, "n"), [5, 5], text)
    program.end()


@test
def a_run_ends_with_the_connection_if_not_told_otherwise():
    program = Program("-O0")
    program.gdb("trace work", "tstart", program.call(10))
    text = program.gdb("tstatus")
    check("No trace has been run" in text, text)
    program.end()


@test
def static_tracepoints_are_listed_and_traced():
    program = Program("-O0")
    text = program.gdb("info static-tracepoint-markers")
    marker = re.search(r"^\d+\s+(sonde/gdbtest:tick\S*)\s+n\s+(0x\w+)", text,
                       re.M)
    check(marker, text)
    for how in (f"strace -m {marker[1]}", f"ftrace *{marker[2]}",
                f"trace *{marker[2]}"):
        text = program.gdb(f"{how} if n == 4 || local == 12",
                           *collect("n, local"), "tstart", program.call(10),
                           "tstop", "tstatus", *dump_all("n"))
        check_equal(values(text, "n"), [4, 6], f"{how}: {text}")
    program.end()


def two_sites(condition, *more):
    """What GDB says of a marker that is at two places: in work(), where local
    is 2 * n, and in calls(), where it is 3 * n."""
    program = Program("-O0", "-DSECOND_SITE")
    text = program.gdb(f"strace -m sonde/gdbtest:tick if {condition}",
                       *collect("n, local"), *more, "tstart",
                       program.call(10), "tstop", "tstatus", *dump_all("n"),
                       *dump_all("local"), "info tracepoints")
    program.end()
    return text


@test
def a_condition_and_actions_are_of_each_place_of_a_marker():
    text = two_sites("n == 4 || local == 12")
    # n 4 and 6 in work(), 4 (twice right) in calls(), by the variables there.
    check_equal(sorted(zip(values(text, "n"), values(text, "local"))),
                [(4, 8), (4, 12), (6, 12)], text)


@test
def a_place_that_has_no_such_variable_is_disabled():
    for condition in "here == 1 && n == 5", "uc == 5 && n == 5":
        text = two_sites(condition)
        check_equal(len(re.findall("is disabled, for its place has no such "
                                   "condition", text)), 1, text)
        check_equal(values(text, "n"), [5], text)


@test
def what_was_said_of_one_place_stays():
    program = Program("-O0", "-DSECOND_SITE")
    text = program.gdb("strace -m sonde/gdbtest:tick if n == 4",
                       "condition 2 n == 7", "actions 1", "collect n", "end",
                       *collect("n, local"), "info tracepoints")
    program.end()
    check_equal(re.findall("trace only if (.*)", text), ["n == 4", "n == 7"],
                text)
    check_equal(re.findall("^ {8}(collect .*)", text, re.M),
                ["collect n", "collect n, local"], text)


@test
def static_data_is_the_event_of_true_hits_only():
    for flags, threads in (("-O0", 1), ("-O2", 4)):
        program = Program(flags, threads=threads)
        output = program.dir / "trace"
        text = program.gdb("strace -m sonde/gdbtest:tick if n > 997",
                           *collect("n, $_sdata"), "tstart",
                           program.call(1000), "tstop", "tfind start",
                           "print $_sdata", output=output)
        check('= "gdbtest:tick n=998 local=1996"' in text, text)
        events = [e for e in Trace(output).events()
                  if e.name in ("gdb:tp1", "gdbtest:tick")]
        ticks = [e for e in events if e.name == "gdbtest:tick"]
        check_equal(sorted(e["local"] for e in ticks),
                    sorted([1996, 1998] * threads), str(events))
        check_equal(len(events), 2 * len(ticks), str(events))
        program.end()


@test
def a_saved_trace_can_be_opened():
    # A trace file doesn't say where the program was loaded.
    program = Program("-O0", "-fno-PIE", "-no-pie")
    here, there = program.dir / "here.tf", program.dir / "there.tf"
    program.gdb(f"trace program.c:{line_of('LINE_LOCAL')} if n > 7",
                *collect("n"), "tstart", program.call(10), "tstop",
                f"tsave {here}", f"tsave -r {there}")
    for file in here, there:
        script = program.dir / "open"
        script.write_text("\n".join([
            "set confirm off", f"file {program.path}",
            f"target tfile {file}", "tfind start", "tdump", "tfind",
            "tdump"]) + "\n")
        done = run("gdb", "-nx", "-batch", "-x", script)
        check_equal(values(done.stdout, "n"), [8, 9],
                    f"{file}: {done.stdout} {done.stderr}")
    program.end()


@test
def hits_are_events_of_the_trace():
    program = Program("-O0")
    output = program.dir / "trace"
    program.gdb(f"trace program.c:{line_of('LINE_LOCAL')} if n > 7",
                *collect("n, local"), "tstart", program.call(10), "tstop",
                output=output)
    events = Trace(output).events()
    check_equal({e.name for e in events}, {f"gdb:program_c_{line_of('LINE_LOCAL')}"}, "names")
    check_equal([(e["n"], e["local"]) for e in events],
                [(8, 16), (9, 18)], str(events))
    printed = run(SONDE, "print", output).stdout
    check_equal(printed.count("gdb:"), 2, printed)
    program.end()


@test
def fields_have_the_types_and_names_of_the_program():
    program = Program("-O0")
    output = program.dir / "trace"
    program.gdb(f"trace program.c:{line_of('LINE_RETURN')} if uc == 200",
                *collect("$args, local, p->next->key"),
                "tstart", program.call(201), "tstop", output=output)
    printed = run(SONDE, "print", output).stdout
    for field in ("n = 200,", "uc = 200,", "p = 0x", "local = 400,",
                  "key = "):
        check(field in printed, f"{field}: {printed}")
    program.end()


@test
def a_variable_in_a_register_is_a_field():
    program = Program("-O2")
    output = program.dir / "trace"
    program.gdb("trace work if n == 5", *collect("n, uc, p"), "tstart",
                program.call(10), "tstop", output=output)
    events = Trace(output).events()
    check_equal([(e["n"], e["uc"]) for e in events], [(5, 5)], str(events))
    program.end()


@test
def variables_count_and_are_told():
    program = Program("-O0")
    text = program.gdb("tvariable $seen = 100",
                       f"trace program.c:{line_of('LINE_LOCAL')}",
                       "actions", "teval $seen = $seen + n", "end",
                       "tstart", program.call(5), "tstop", "info tvariables")
    check(re.search(r"\$seen\s+100\s+110", text), text)
    check("$timestamp" in text and "$tid" in text and "$cpu" in text, text)
    program.end()


@test
def the_process_is_never_stopped_and_can_be_looked_at():
    program = Program("-O0")
    program.call_now(3)
    text = program.gdb("print counter1", "set var counter2 = 77",
                       "print counter2", "info threads", "bt", "stepi",
                       "info sharedlibrary", "x/2i work")
    check("= 6" in text and "= 77" in text, text)
    check("The process runs, and is not stopped" in text, text)
    check("libwork.so" in text and "main" in text, text)
    state = open(f"/proc/{program.pid}/stat").read().split(")")[1].split()[0]
    check_equal(state, "S", "state")
    program.end()


@test
def an_answer_may_take_its_time():
    """GDB waits for two seconds, and then takes answers for others'."""
    program = Program("-O0")
    text = program.gdb("show remotetimeout")
    seconds = re.search(r"Timeout limit .* is (\d+)\.", text)
    check(seconds and int(seconds[1]) >= 30, text)
    program.end()


@test
def code_and_breakpoints_are_refused():
    program = Program("-O0")
    text = program.gdb("x/1bx work", "set var *(char *)work = 0", expect=1)
    check("annot access memory" in text, text)
    program.call_now(3)
    text = program.gdb("break work", "continue", expect=1)
    check("annot insert breakpoint" in text, text)
    program.call_now(3)
    program.end()


@test
def a_recorded_trace_is_a_target():
    program = Program("-O0", "-fPIE", "-pie")
    output = program.dir / "trace"
    program.gdb(f"trace program.c:{line_of('LINE_LOCAL')} if n > 7",
                *collect("n, local, counter2, *p"), "tstart",
                program.call(10), "tstop", output=output)
    program.end()
    script = program.dir / "later"
    script.write_text("\n".join([
        "set pagination off", "set confirm off", "tstatus",
        "info tracepoints", *dump_all("n"), "tfind 1", "tdump",
        "info tracepoints", "tstart"]) + "\n")
    done = run(SONDE, "gdb", output, "-nx", "-batch", "-x", script)
    text = done.stdout + done.stderr
    check_equal(frames(text), 2, text)
    check_equal(values(text, "n"), [8, 9, 9], text)
    check_equal(values(text, "local"), [18], text)
    check_equal(values(text, "counter2"), [4], text)
    check("trace only if n > 7" in text, text)
    check("this is a recorded trace" in text, text)
    # and as GDB's own
    script.write_text("\n".join([
        "set confirm off", f"tsave -ctf {program.dir}/ctf"]) + "\n")
    done = run(SONDE, "gdb", output, "-nx", "-batch", "-x", script)
    check((program.dir / "ctf" / "metadata").exists(),
          done.stdout + done.stderr)


@test
def a_trace_without_frames_is_refused():
    program = Program("-O0")
    program.end()
    trace = program.dir / "plain"
    run(SONDE, "record", "-o", trace, "--", "true")
    done = run(SONDE, "gdbserver", "--trace", "-", trace)
    check(done.returncode != 0, "status")
    check("has no trace frames" in done.stderr, done.stderr)


@test
def steps_follow_a_hit():
    program = Program("-O0", threads=2)
    output = program.dir / "trace"
    text = program.gdb(
        f"trace program.c:{line_of('LINE_LOCAL')} if n > 7", "actions",
        "collect n", "while-stepping 6", "collect $rip, $rax, n", "end",
        "end", "tstart", program.call(10), "tstop", "tstatus",
        "tfind start", "x/5i $pc", "tfind", "output/x $rip", output=output)
    # two threads, two hits each, six steps each
    check_equal(frames(text), 2 * 2 * 7, text)
    events = Trace(output).events()
    steps = [e for e in events if e.name.endswith(".step")]
    check_equal(len(steps), 24, str(events))
    check_equal(sorted({e["n"] for e in steps}), [8, 9], str(events))
    # the instructions behind the tracepoint's, one after the other
    listed = [int(a, 16) for a in re.findall(
        r"^\s*(?:=> )?(0x[0-9a-f]+) <work", text, re.M)]
    tid = steps[0].tid
    one = [e["regs"]["rip"] for e in steps if e.tid == tid][:4]
    check_equal(one, listed[1:5], text)
    program.end()


# ---- sonde probe ----

def probe(program, *words):
    done = run(SONDE, "probe", "-p", program.pid, *words)
    return done.returncode, done.stdout, done.stderr


@test
def a_probe_is_put_in_listed_and_taken_out():
    program = Program("-O0")
    output = program.dir / "trace"
    where = f"program.c:{line_of('LINE_LOCAL')}"
    status, out, err = probe(program, f"{where} if n > 5", "--collect",
                             "n, counter2", "--name", "high", "-o", output)
    check_equal((status, err), (0, ""), "probe")
    check("Tracepoint 1 at" in out and str(output) in out, out)
    program.call_now(10)
    status, out, err = probe(program, "lib_work if n == 2", "--collect",
                             "$args", "--name", "two")
    check_equal((status, err), (0, ""), "second probe")
    program.call_now(10)
    status, out, err = probe(program, "--list", "--json")
    check_equal([(p["name"], p["hits"], p["condition"])
                 for p in json.loads(out)["probes"]],
                [("high", 8, "n > 5"), ("two", 1, "n == 2")], out)
    status, out, err = probe(program, "lib_work", "--name", "two")
    check(status == 1 and "there is a probe 'two' already" in err, err)
    check_equal(probe(program, "--remove", "high"), (0, "", ""), "remove")
    check_equal(probe(program, "--remove", "high")[0], 1, "again")
    program.call_now(10)
    status, out, err = probe(program, "--stop")
    check_equal((status, out.strip()), (0, str(output)), "stop")
    check(re.fullmatch(r"[1-9]\d* hits recorded, 0 lost\n", err), err)
    names = [e.name for e in Trace(output).events()]
    check_equal((names.count("gdb:high"), names.count("gdb:two")), (8, 2),
                str(names))
    status, out, err = probe(program, "--list")
    check(status == 1 and "has no probes" in err, err)
    program.end()


@test
def what_gdb_does_not_understand_is_said():
    program = Program("-O0")
    for words, error in (
            (("work if nothing > 1",), 'No symbol "nothing"'),
            (("work", "--collect", "nothing"), 'No symbol "nothing"'),
            (("nowhere.c:1",), "No source file named nowhere.c"),
            (("nofunction",), '"nofunction" not defined')):
        status, out, err = probe(program, *words)
        check(status == 1 and error in err, f"{words}: {out} {err}")
        check_equal(err.count("\n"), 1, f"{words}: lines of {err}")
    program.end()


@test
def a_probe_that_is_refused_leaves_nothing_behind():
    program = Program("-O0")
    refused = "sonde: the probe is not in: no probe at 0x1000: no code is " \
              "there\n"
    first = program.dir / "first"
    check_equal(probe(program, "*0x1000", "-o", first), (1, "", refused),
                "the first probe")
    check(not first.exists(), "a trace that nothing was recorded into")
    status, _, err = probe(program, "work", "--name", "good", "-o", first)
    check_equal((status, err), (0, ""), "a good one")
    check_equal(probe(program, "*0x1000", "--name", "bad"), (1, "", refused),
                "one more")
    status, out, err = probe(program, "--list", "--json")
    check_equal([p["name"] for p in json.loads(out)["probes"]], ["good"],
                "listed")
    status, _, err = probe(program, "work", "--name", "bad")
    check_equal((status, err), (0, ""), "its name is free")
    program.call_now(10)
    status, out, err = probe(program, "--stop")
    check_equal((status, out.strip()), (0, str(first)), "stop")
    names = [e.name for e in Trace(first).events()]
    check(names.count("gdb:good") == names.count("gdb:bad") > 0, str(names))
    program.end()


@test
def a_process_that_is_not_there_is_one_line():
    for words in (["gdb", "4194305"], ["probe", "-p", "4194305", "main"],
                  ["probe", "-p", "4194305", "--list"]):
        done = run(SONDE, *words, stdin=subprocess.DEVNULL)
        check_equal((done.returncode, done.stderr),
                    (1, "sonde: there is no process 4194305\n"), str(words))


@test
def mistakes_on_the_command_line_are_explained():
    program = Program("-O0")
    for words, status, error in (
            (["gdbserver"], 2, "HOST:PORT or -"),
            (["gdbserver", "--attach", "-", "x"], 2, "not a PID"),
            (["gdbserver", "--attach", "-", "99999999"], 1, "no process"),
            (["gdbserver", "--buffer", "x", "-", "true"], 2, "--buffer"),
            (["gdbserver", "nohost", "true"], 1, "HOST:PORT"),
            (["gdb"], 2, "a PID or a TRACE"),
            (["probe"], 2, "-p PID"),
            (["probe", "-p", "x"], 2, "not a PID"),
            (["probe", "-p", program.pid], 2, "where?"),
            (["probe", "-p", program.pid, "a\nshell id"], 2, "control"),
            (["probe", "-p", program.pid, "--list"], 1, "no probes"),
            (["probe", "-p", program.pid, "work", "--name", "a b"], 2,
             "--name")):
        done = run(SONDE, *words, stdin=subprocess.DEVNULL)
        check_equal(done.returncode, status, f"{words}: {done.stderr}")
        check(error in done.stderr, f"{words}: {done.stderr}")
    for command in "gdbserver", "gdb", "probe":
        check("sonde " + command in run(SONDE, command, "--help").stdout,
              command)
    program.end()


sonde.install()
main()
