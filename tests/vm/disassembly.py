# SPDX-License-Identifier: MIT
"""disassembly.py - what the compiler made of the probes' path.

    problems, functions = judge(sonde_ko)

The path: all functions of the module that a probe calls, or that what it calls
calls. There, no interrupt is switched off, no instruction locks the bus, and of
the kernel's functions only those below are called."""

import re
import subprocess

# Where the kernel enters to record: probes of tracepoints, calls, functions.
# Those of fork and exit, which keep the set of a session's processes, record
# nothing, and share that set with other CPUs: by atomic operations.
ROOTS = re.compile(r"on_(test|sched_switch|wakeup|softirq|irq_\w+|hrtimer_\w+|"
                   r"entry|return|call|kprobe)|"
                   r"probe_(few|many|tasks|enter|exit)|"
                   # What it calls besides is another module's.
                   r"sonde_tracepoint_described")
# What the kernel's functions in the path may be: none of them locks, sleeps,
# wakes anybody or switches interrupts off.
HARMLESS = re.compile(
    r"__fentry__|__x86_return_thunk|__x86_indirect_thunk_\w+|"
    r"copy_from_(kernel|user)_nofault|memcpy|memset|memcmp|strcmp|strlen|"
    r"ktime_get_(mono|raw)_fast_ns|__stack_chk_fail|(__)?fortify_panic|"
    # One of these, by how the kernel chooses its way of preemption.
    r"(__SCT__)?preempt_schedule_notrace(_thunk)?|"
    # Reads a word of this CPU.
    r"rcu_is_watching|"
    # Walks this stack, of events with one: without a lock, in any context.
    r"stack_trace_save|"
    r"kretprobe_\w+|get_kretprobe")
SWITCHES = re.compile(r"^(cli|sti|pushf\w*|popf\w*|hlt)\b")
# xchg with memory locks without saying so.
LOCKS = re.compile(r"^(lock\b.*|xchg\w*\s.*\(.*)")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t(.*)$")
RELOCATION = re.compile(r"^\s+[0-9a-f]+: (R_\S+)\t(\S+?)([-+]0x[0-9a-f]+)?$")


# What is not in every event's path, and shares a word with a reader that may be
# on another CPU: in overwrite mode, who enters a sub-buffer.
SHARED = {"prepare"}


class Function:
    def __init__(self, section, begin):
        self.section = section
        self.begin = begin
        self.instructions = []
        self.targets = []  # names, or (section, address)


def functions_of(module):
    """All there are, with what each one calls or jumps to."""
    text = subprocess.check_output(
        ["objdump", "-dr", "--no-show-raw-insn", module], text=True)
    found, now, section = {}, None, None
    for line in text.splitlines():
        if line.startswith("Disassembly of section "):
            section = line.split()[-1].rstrip(":")
        head = re.match(r"^([0-9a-f]+) <(.+)>:$", line)
        instruction = INSTRUCTION.match(line)
        relocation = RELOCATION.match(line)
        if head:
            now = found.setdefault(head[2],
                                   Function(section, int(head[1], 16)))
        elif instruction and now:
            now.instructions.append(instruction[1].strip())
            inner = re.match(r"(?:call|j\w+)\s+([0-9a-f]+) <", instruction[1])
            if inner:
                now.targets.append((section, int(inner[1], 16)))
        elif relocation and now and is_branch(now.instructions):
            # What objdump made of the bytes that this will be put into.
            if now.targets and isinstance(now.targets[-1], tuple):
                now.targets.pop()
            now.targets.append(relocated(relocation))
    return found


def relocated(relocation):
    name, addend = relocation[2], int(relocation[3] or "0", 16)
    # Counted from the end of the field, which is 4 bytes before the next.
    return (name, addend + 4) if name.startswith(".") else name


def is_branch(instructions):
    return bool(instructions) and bool(
        re.match(r"(call|j\w+)\b", instructions[-1]))


def names_of(functions, function):
    """Those it calls."""
    for target in function.targets:
        if isinstance(target, str):
            yield target
            continue
        section, address = target
        before = [(f.begin, name) for name, f in functions.items()
                  if f.section == section and f.begin <= address]
        if before:
            yield max(before)[1]


def path_of(functions):
    """Names of the functions in the probes' path, and what they call that is
    not the module's."""
    todo = [name for name in functions if ROOTS.fullmatch(name)]
    path, outside = set(), {}
    while todo:
        name = todo.pop()
        if name in path:
            continue
        path.add(name)
        for called in names_of(functions, functions[name]):
            if called in functions:
                todo.append(called)
            else:
                outside.setdefault(called, name)
    return path, outside


def judge(module):
    functions = functions_of(module)
    path, outside = path_of(functions)
    problems = [f"{caller} calls {name}" for name, caller in outside.items()
                if not HARMLESS.fullmatch(name)]
    for name in sorted(path):
        for instruction in functions[name].instructions:
            if SWITCHES.match(instruction) or (
                    LOCKS.match(instruction) and name not in SHARED):
                problems.append(f"{name}: {instruction}")
    if len(path) < 10:
        problems.append(f"only {len(path)} functions found: "
                        "the names of probes have changed")
    return problems, sorted(path)
