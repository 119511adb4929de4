#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_usage.py - what users meet first: words that are wrong, words that are
left out, and what is shown where nothing was said about it.

usage.txt has command lines that are wrong, and what is answered: the status in
brackets, and one line that says what is wrong and, if there is one, what was
probably meant. SONDE_UPDATE=1 writes it anew, for you to read the difference.
"""

import contextlib
import csv
import io
import json
import os
import pathlib
import pty
import re
import shlex
import subprocess

from sonde import SONDE, check, install, run, scratch
from handmade import Handmade, Layout
from harness import check_equal, main, test

GOLDEN = pathlib.Path(__file__).resolve().parent / "usage.txt"
OTHER = 64123  # nobody's

LAYOUT = Layout(
    events={"app:request_begin": [("id", 32, 8), ("path", "string", 8)],
            "app:request_end": [("id", 32, 8), ("ret", 32, 8)],
            "app:never": [("what", 32, 8)],
            "lttng_statedump_process_state": [("tid", 32, 8),
                                              ("name", "string", 8)]})


def requests():
    """Three events of a program between six of state dumps; one kind of event
    that never occurs."""
    made = Handmade(LAYOUT)
    dump = "lttng_statedump_process_state"
    with made.stream("cpu0", cpu=0) as stream:
        with stream.packet(begin=100, end=900):
            for i in range(3):
                stream.event(dump, 110 + i, tid=i, name=f"early{i}")
            stream.event("app:request_begin", 200, id=7, path="/a,b")
            stream.event("app:request_end", 300, id=7, ret=0)
            stream.event("app:request_begin", 400, id=8, path='/"q"')
            for i in range(3):
                stream.event(dump, 800 + i, tid=i, name=f"late{i}")
    return made.dir


def sonde(*words, status=0, **more):
    done = run(SONDE, *words, **more)
    check_equal(done.returncode, status, f"{words}: status; {done.stderr}")
    return done


def names(text):
    return re.findall(r"(\w+:\w+|lttng_\w+) ", text)


# ---- no word about it ----

@test
def print_leaves_state_dumps_out_unless_asked():
    trace = requests()
    ours = ["app:request_begin", "app:request_end", "app:request_begin"]
    check_equal(names(sonde("print", trace).stdout), ours, "all")
    check_equal(names(sonde("print", "--last", "2", trace).stdout), ours[1:],
                "the last two")
    check_equal(names(sonde("print", "--limit", "2", trace).stdout), ours[:2],
                "the first two")
    check_equal(names(sonde("print", "-f", "id == 8 || tid == 1",
                            trace).stdout), ours[2:], "a filter")
    check_equal(len(sonde("print", "--json", trace).stdout.splitlines()), 3,
                "as JSON")
    check_equal(len(names(sonde("print", "--statedump", trace).stdout)), 9,
                "asked for")
    check_equal(len(names(sonde("print", "-f", 'event == "*statedump*"',
                                trace).stdout)), 6, "named by a filter")
    check_equal(sonde("print", "--format", "babeltrace",
                      trace).stdout.count("lttng_statedump"), 6,
                "as babeltrace2")


@test
def list_shows_the_events_that_occur_and_others_on_request():
    trace = requests()
    listed = sonde("list", trace).stdout
    check("app:request_end" in listed and "app:never" not in listed, listed)
    listed = sonde("list", "--declared", trace).stdout
    check("app:request_end" in listed and "app:never" in listed, listed)
    for path in trace.iterdir():
        if path.name != "metadata":
            path.unlink()
    done = sonde("list", trace)
    check(not done.stdout and "no event occurs in" in done.stderr, done.stderr)


@test
def list_tells_apart_what_it_shows_alike():
    made = Handmade(Layout(events={"app:é": [("it_occurs", 8, 8)],
                                   "app:??": [("it_does_not", 8, 8)]}))
    with made.stream("s") as stream, stream.packet(begin=100, end=900):
        stream.event("app:é", 150, it_occurs=1)
    listed = sonde("list", made.dir).stdout
    check_equal(("it_occurs" in listed, "it_does_not" in listed),
                (True, False), listed)
    listed = sonde("list", "--declared", made.dir).stdout
    check("it_occurs" in listed and "it_does_not" in listed, listed)


@test
def without_a_trace_it_is_the_newest_recording_here():
    trace = requests()
    here = scratch()
    done = sonde("print", cwd=here, status=2)
    check("which trace?" in done.stderr, done.stderr)
    for name in ("sonde-20260101-120000", "sonde-20260101-120001-9",
                 "sonde-20260101-120001-10", "sonde-20270101-120000x",
                 "sonde-2027"):
        (here / name).mkdir()
    (here / "sonde-20280101-120000").write_text("a file\n")
    newest = here / "sonde-20260101-120001-10"
    for path in trace.iterdir():
        (newest / path.name).write_bytes(path.read_bytes())
    said = ("sonde: reading sonde-20260101-120001-10, the newest that was "
            "recorded here without -o\n")
    for words in (["print"], ["stat"], ["report", "top"], ["list"],
                  ["report"], ["export", "--to", "csv"], ["check"]):
        done = sonde(*words, cwd=here)
        check_equal(done.stdout, sonde(*words, newest.name, cwd=here).stdout,
                    str(words))
        check_equal(done.stderr, said, str(words))
    for words in ["cut", "-o", "part"], ["convert"]:
        check_equal(sonde(*words, cwd=here).stderr, said, str(words))
    check_equal(sonde("print", "-q", cwd=here).stderr, "", "quiet")


def on_terminal(*words, **env):
    """What is seen of standard output. Standard error is no terminal: how long
    reading takes, which the machine decides, is told on one."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(list(map(str, words)), stdout=theirs,
                          stderr=subprocess.PIPE,
                          env={**os.environ, "TERM": "xterm", **env}) as done:
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # EIO: the other side is closed
            while more := os.read(ours, 4096):
                text += more
        os.close(ours)
        err = done.communicate(timeout=240)[1]
        check_equal((done.returncode, err), (0, b""), f"{words}: {text}")
    return text.decode().replace("\r\n", "\n")


@test
def what_is_long_goes_through_the_pager_of_a_terminal():
    trace = requests()
    for words in (["print"], ["stat"], ["report", "top"], ["list"],
                  ["export", "--to", "csv"]):
        plain = on_terminal(SONDE, *words, trace)
        paged = on_terminal(SONDE, *words, trace, PAGER="sed s/^/:/")
        check_equal(paged, "".join(f":{line}\n" for line in
                                   plain.splitlines()), str(words))
        check_equal(on_terminal(SONDE, *words, trace, PAGER="sed s/^/:/",
                                TERM="dumb").count("\n:"), 0, "dumb")
        check_equal(on_terminal(SONDE, *words, trace, PAGER=""), plain, "none")
    check("\033[1m" in on_terminal(SONDE, "list", trace, PAGER="sed s/^/:/"),
          "colour is lost")
    done = sonde("print", trace, env={**os.environ, "PAGER": "sed s/^/:/"})
    check(not done.stdout.startswith(":"), "a pager without a terminal")
    # who leaves it has seen enough
    for word in "print", "list", "stat":
        check_equal(on_terminal(SONDE, word, trace, PAGER="true"), "", "left")
    # without less and without PAGER there is none
    some = {k: v for k, v in os.environ.items() if k != "PAGER"}
    check("app:request_end" in on_terminal(
        "env", "-u", "PAGER", "PATH=/nowhere", SONDE, "print", trace, **some),
        "no less")


BUFFERS = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le;
packet.header := struct { integer { size = 32; align = 8; } stream_id; }; };
stream { id = 0; event.header := struct {
integer { size = 8; align = 8; } id; }; };
event { name = "call:begin"; id = 0; stream_id = 0; fields := struct {
integer { size = 32; align = 8; base = 16; } _buf; }; };
event { name = "call:end"; id = 1; stream_id = 0; fields := struct {
integer { size = 8; align = 8; } nr;
integer { size = 8; align = 8; base = 16; } _buf[nr]; }; };
event { name = "call:list"; id = 2; stream_id = 0; fields := struct {
integer { size = 8; align = 8; } nr;
integer { size = 8; align = 8; } _list[nr]; }; };
"""


def buffers(*texts):
    """Events that have bytes as `buf`, each behind one whose buf is a number;
    and a list of small numbers, which is none of text."""
    trace = scratch()
    (trace / "metadata").write_text(BUFFERS)
    data = bytes(4)
    for text in texts:
        data += b"\0" + bytes([0x10, 0x20, 0, 0])
        data += b"\1" + bytes([len(text)]) + text
    (trace / "stream").write_bytes(data + b"\2\2AB")
    return trace


@test
def buffers_are_text_where_they_are_text():
    texts = (b"GET /x HTTP\r\n", b"", b"\x7fELF\x02", b"caf\xc3\xa9 \xc3",
             b'say "x"\\', b"a\0b", b"\xff\xfe", b"\x1b[2J")
    trace = buffers(*texts)
    lines = sonde("print", "--fields", "event,payload", trace).stdout
    check_equal([line.partition("buf = ")[2] for line in lines.splitlines()
                 if line.startswith("call:end")],
                [r'"GET /x HTTP\r\n"', "[]", "[0x7f, 0x45, 0x4c, 0x46, 0x2]",
                 r'"café \xc3"', r'"say \"x\"\\"', "[0x61, 0x0, 0x62]",
                 "[0xff, 0xfe]", "[0x1b, 0x5b, 0x32, 0x4a]"], lines)
    check("list = [65, 66]" in lines, lines)
    for words, nr in (('buf == "GET *"', 1), ('buf == "a?b"', 1),
                      ('buf == "GET /x HTTP\\r\\n"', 1), ('buf == "GET"', 0),
                      ("buf == 0x2010", len(texts)), ("buf[0] == 0x7f", 1)):
        found = sonde("print", "-f", words, trace).stdout
        check_equal(len(found.splitlines()), nr, words)
    end = [json.loads(line)["payload"]["buf"]
           for line in sonde("print", "--json", "-f", 'event == "*:end"',
                             trace).stdout.splitlines()]
    check_equal(end, [list(text) for text in texts], "as JSON")


@test
def csv_has_columns_of_the_events_that_occur():
    trace = buffers(b'GET "x"\n', b"\xff")
    done = sonde("export", "--to", "csv", trace)
    rows = list(csv.reader(io.StringIO(done.stdout, newline="")))
    check_equal(rows, [
        ["time_ns", "cpu", "pid", "tid", "event", "buf", "nr", "list"],
        ["", "", "", "", "call:begin", "0x2010", "", ""],
        ["", "", "", "", "call:end", 'GET "x"\n', "8", ""],
        ["", "", "", "", "call:begin", "0x2010", "", ""],
        ["", "", "", "", "call:end", "[0xff]", "1", ""],
        ["", "", "", "", "call:list", "", "2", "[65, 66]"]], "rows")
    done = sonde("export", "--to", "csv", requests())
    check_equal(done.stdout.splitlines()[0],
                "time_ns,cpu,pid,tid,event,id,path,ret,payload.tid,name",
                "a name that is taken, and none that doesn't occur")


# ---- wrong words ----

def places():
    """A directory with what the command lines of usage.txt name."""
    here = scratch()
    for path in (here, here.parent):
        path.chmod(0o711)
    trace = here / "trace"
    trace.mkdir()
    for path in requests().iterdir():
        (trace / path.name).write_bytes(path.read_bytes())
    (here / "empty").mkdir()
    (here / "text").write_text("no trace\n")
    for name, metadata in (("broken", "/* CTF 1.8 */\ntrace { major = 1; !\n"),
                           ("blank", "")):
        (here / name).mkdir()
        (here / name / "metadata").write_text(metadata)
    (here / "closed").mkdir()
    (here / "closed" / "metadata").write_text("")
    (here / "closed").chmod(0)
    (here / "full").mkdir()
    (here / "full" / "file").write_text("")
    (here / "full").chmod(0o700)
    if os.geteuid() == 0:
        os.chown(here / "full", OTHER, OTHER)
    return here


def cases(text):
    """(command line, what is answered) of a golden text."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        line, _, answer = part.partition("\n")
        yield line, answer


def answer(line, here):
    """As an ordinary user, for whom files can be unreadable."""
    user = {"user": OTHER, "group": OTHER, "extra_groups": []} \
        if os.geteuid() == 0 else {}
    done = run(SONDE, *shlex.split(line)[1:], cwd=here,
               stdin=subprocess.DEVNULL,
               env={**os.environ, "PATH": f"{here}/closed:/usr/bin:/bin"},
               **user)
    return f"[{done.returncode}] {done.stderr}{done.stdout}"


def check_clear(line, text):
    """One line; and if an expression is wrong, where."""
    lines = text.splitlines()
    check(re.match(r"\[(1|2|126|127)\] sonde: ", lines[0]), f"{line}: {text}")
    check(len(lines) == 1 or (len(lines) == 3 and lines[2].strip() == "^"),
          f"{line}: more than one line: {text}")


@test
def what_is_wrong_is_one_clear_line():
    text = GOLDEN.read_text()
    here = places()
    got = text[:text.index("\n$ ") + 1] + "\n".join(
        f"$ {line}\n{answer(line, here)}" for line, _ in cases(text))
    if os.environ.get("SONDE_UPDATE"):
        GOLDEN.write_text(got)
    check(len(list(cases(text))) >= 60, "some command lines are gone")
    for (line, expected), (_, now) in zip(cases(text), cases(got)):
        if "this build has no probes" in now:
            continue
        check_clear(line, now.strip())
        check_equal(now.strip(), expected.strip(), line)


install()
main()
