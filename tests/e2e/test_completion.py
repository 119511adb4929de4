#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_completion.py - what shells complete, with the scripts as installed; and
that --help, the completion and the manual pages know the same options."""

import os
import re
import shlex
import shutil

from sonde import (BIN, BUILD, OPTIONS, PREFIX, ROOT, SONDE, check, install,
                   run, scratch)
from harness import Skip, check_equal, main, test

DATA = PREFIX / OPTIONS["datadir"]
MAN = PREFIX / OPTIONS["mandir"] / "man1"
WORDCOUNT = BUILD.resolve() / "examples/wordcount"
EVENTS = {f"wordcount:{name}" for name in
          ("chunk_begin", "chunk_end", "file_done", "file_open", "queue_get",
           "queue_put")}

# Line (the cursor at ^, or its end), and what is offered: these words among
# others, or (=) these and no others.
CASES = [
    ("sonde re", "=", ["record", "recover", "report"]),
    ("sonde record --mo", "=", ["--mode"]),
    ("sonde record --mode ", "=", ["discard", "overwrite"]),
    ("sonde record --mode=ov", "=", ["--mode=overwrite"]),
    ("sonde record -q --kernel-source b", "=", ["bpf"]),
    (f"sonde record -e wordcount:q^ -- {WORDCOUNT}", "=",
     ["wordcount:queue_get", "wordcount:queue_put"]),
    ("sonde report lat", "=", ["latency"]),
    ("sonde report --by thread lo", "=", ["locks"]),
    ("sonde report top tra", "=", ["trace"]),
    ("sonde report tra", "=", ["trace"]),
    ("sonde print --format ", "=", ["babeltrace", "json", "text"]),
    ("sonde print --fields time,del", "=", ["time,delta"]),
    ("sonde export --to ", "=", ["chrome", "csv", "ctf", "folded", "jsonl",
                                 "perfetto"]),
    ("sonde export --output pi", "=", ["picture.svg"]),
    ("sonde cut -e wordcount:f^ trace", "=",
     ["wordcount:file_done", "wordcount:file_open"]),
    ("sonde modules u", "=", ["unload"]),
    ("sonde help do", "=", ["doctor"]),
    ("sonde stat --j", "=", ["--json"]),
    ("sonde stat -- --j", "=", []),
    ("sonde diff --", "", ["--begin", "--filter", "--help", "--rates"]),
    ("sonde nonsense ", "=", []),
]


def here():
    """A directory with what CASES name."""
    place = scratch()
    done = run(SONDE, "record", "-q", "-o", place / "trace", "--", WORDCOUNT,
               "/etc/passwd")
    check_equal(done.returncode, 0, done.stderr)
    (place / "picture.svg").write_text("")
    return place


def check_cases(shell, ask, place, leave_out=()):
    for line, how, expected in CASES:
        if line in leave_out:
            continue
        before, _, after = line.partition("^")
        got = sorted(set(ask(before, after, place)))
        if how == "=":
            check_equal(got, sorted(expected), f"{shell}: {line}")
        else:
            check(set(expected) <= set(got), f"{shell}: {line}: {got}")


def shell_of(name):
    path = shutil.which(name)
    if not path:
        raise Skip(f"no {name}")
    return path


def ran(place, *words, script=None):
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}",
           "HOME": str(place), "XDG_CONFIG_HOME": str(place),
           "XDG_DATA_HOME": str(place)}
    done = run(*words, cwd=place, env=env, input=script)
    check_equal((done.returncode, done.stderr), (0, ""), f"{words}: {script}")
    return done.stdout.splitlines()


def bash_words(line):
    """As readline parts a line: at blanks, and around : and =."""
    words = re.findall(r"[:=]|[^\s:=]+", line)
    return words + [""] if not line or line[-1].isspace() else words


@test
def bash_completes():
    bash = shell_of("bash")

    def ask(before, after, place):
        typed = bash_words(before)
        words = typed + (bash_words(after) if after else [])
        script = f"""
            . {DATA}/bash-completion/completions/sonde
            compopt() {{ :; }}  # only in a completion of readline's
            complete -p sonde >/dev/null || exit 1
            COMP_WORDS=({' '.join(map(shlex.quote, words))})
            COMP_LINE={shlex.quote(before + after)} COMP_POINT={len(before)}
            COMP_CWORD={len(typed) - 1}
            _sonde sonde {shlex.quote(typed[-1])}
            for found in "${{COMPREPLY[@]}}"; do echo "$found"; done"""
        # bash puts them in place of what follows the last : or =
        kept = re.match(r".*[:=]|", before.rsplit(" ", 1)[1])[0]
        return [kept + word for word in
                ran(place, bash, "--norc", script=script)]

    check_cases("bash", ask, here())


@test
def bash_leaves_the_recorded_program_to_its_own_completion():
    bash = shell_of("bash")
    script = f"""
        . {DATA}/bash-completion/completions/sonde
        _command_offset() {{ echo "${{COMP_WORDS[$1]}} is its own"; }}
        COMP_WORDS=(sonde record --mode = overwrite -- sort --re)
        COMP_LINE="sonde record --mode=overwrite -- sort --re"
        COMP_POINT=${{#COMP_LINE}} COMP_CWORD=7
        _sonde sonde"""
    check_equal(ran(here(), bash, "--norc", script=script),
                ["sort is its own"], "offset")


@test
def zsh_completes():
    """With the two functions of zsh's that the script calls standing in: they
    work on a terminal's line only."""
    zsh = shell_of("zsh")

    def ask(before, after, place):
        blank = before[-1:] == " "
        typed = before.split() + ([""] if blank else [])
        words = typed + after.split()
        script = f"""
            _files() {{ local f; [[ $1 == -/ ]] &&
                for f in *(N/); do print -r -- $f; done ||
                for f in *(N); do print -r -- $f; done }}
            compadd() {{ print -rl -- "${{plain[@]}}" }}
            words=({' '.join(map(shlex.quote, words))}) CURRENT={len(typed)}
            source {DATA}/zsh/site-functions/_sonde || true"""
        got = ran(place, zsh, "-f", script=script)
        return [word for word in got if word.startswith(typed[-1])]

    check_cases("zsh", ask, here())


@test
def fish_completes():
    fish = shell_of("fish")

    def ask(before, after, place):
        check(not after, "fish completes at the end only, if it is told a line")
        script = (f"source {DATA}/fish/vendor_completions.d/sonde.fish\n"
                  f"complete -C {shlex.quote(before)}\n")
        return [line.partition("\t")[0].rstrip("/")
                for line in ran(place, fish, "--no-config", script=script)]

    check_cases("fish", ask, here(),
                [line for line, _, _ in CASES if "^" in line])


# ---- one description ----

def commands():
    """All there are, as they are completed."""
    offered = run(SONDE, "complete", "0", "").stdout.splitlines()
    words = [line.partition("\t")[0] for line in offered]
    check("record" in words and "sync" in words, offered)
    return [word for word in words if word[0] != "-" and word != "help"]


def helped(command):
    """The options that --help tells of, long and short."""
    done = run(SONDE, command, "--help")
    check_equal(done.returncode, 0, command)
    if "no probes" in done.stderr:
        return None
    found = set()
    for short, name in re.findall(r"^ +(?:(-\w), )?(--[a-z][a-z-]*)",
                                  done.stdout, re.M):
        found |= {name} | ({short} if short else set())
    check(len(found) >= 2, f"{command}: {done.stdout}")
    return found


def tagged(command):
    """The options that a manual page has a paragraph about."""
    text = (MAN / f"sonde-{command}.1").read_text()
    if other := re.search(r"^\.so man1/(.*)$", text, re.M):
        text = (MAN / other[1]).read_text()
    text = text.replace("\\-", "-")
    found = set()
    for tag in re.findall(r"^\.T[PQ].*\n(.*)$", text, re.M):
        tag = re.sub(r"\\f.|[\",]", " ", tag)
        found |= set(re.findall(r"(?<!\S)(--[a-z][a-z-]*|-[a-zA-Z])(?!\S)",
                                re.sub(r"\[?=", " ", tag)))
    text = text.partition(".SH SEE ALSO")[0]
    return found, set(re.findall(r"sonde-(\w+) \(1\)", text)) - {command}


@test
def completion_knows_the_options_of_help():
    for command in commands():
        options = helped(command)
        if options is None:
            continue
        said = {line.partition("\t")[0]
                for line in run(SONDE, "complete", "1", command,
                                "-").stdout.splitlines()}
        check_equal(sorted(said | {"-h"}), sorted(options | {"-h"}), command)


@test
def manual_pages_know_the_options_of_help():
    for command in commands():
        options = helped(command)
        if options is None:
            continue
        page, others = tagged(command)
        known = page.union({"-h", "--help"}, *(tagged(o)[0] for o in others))
        check_equal(sorted(options - known), [],
                    f"sonde-{command}.1 lacks options of --help")
        check_equal(sorted(page - options), [],
                    f"sonde {command} --help lacks options of the page")


def words_of(command):
    """Of a command line, what is Sonde's: not what a program behind -- is told."""
    return re.split(r" -- ", re.sub(r"'[^']*'", "''", command))[0].split()


@test
def text_of_documents_names_only_commands_and_options_that_there_are():
    known = {command: helped(command) for command in commands()}
    looked_at = 0
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
        for line in re.findall(r"`sonde ([a-z]+[^`]*)`", text):
            command, *words = words_of(" ".join(line.split()))
            check(command in known, f"{path.name}: sonde {line}")
            unknown = {word.partition("=")[0] for word in words
                       if word.startswith("--")} - (known[command] or set())
            check(not unknown or known[command] is None,
                  f"{path.name}: sonde {line}: {unknown}")
            looked_at += 1
    check(looked_at > 150, f"only {looked_at} of them")


@test
def help_fits_a_terminal():
    for command in commands() + [""]:
        for line in run(SONDE, *command.split(), "--help").stdout.split("\n"):
            check(len(line) <= 80, f"{command}: {line}")


@test
def event_names_that_are_no_words_are_not_offered():
    """They come from foreign files."""
    trace = scratch()
    (trace / "metadata").write_text(
        '/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };'
        'stream { id = 0; event.header := struct { integer { size = 8; } id; };'
        ' }; event { name = "a:b$(reboot)"; id = 0; };'
        'event { name = "a:b;reboot"; id = 2; };'
        'event { name = "a:c"; id = 1; };')
    out = run(SONDE, "complete", "2", "cut", "-e", "", trace).stdout
    check_equal([line.partition("\t")[0] for line in out.splitlines()],
                ["a:c"], out)


@test
def a_line_that_is_no_line_is_refused():
    for words in ([], ["x"], ["1"], ["2", "print"], ["-1", "print"]):
        done = run(SONDE, "complete", *words)
        check_equal((done.returncode, done.stdout), (2, ""), str(words))


install()
main()
