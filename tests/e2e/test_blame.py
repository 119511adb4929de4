#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_blame.py - the reports that join a program's events with the kernel's:
offcpu, blame, critical; on traces whose answers are known because they were
made for them.

How a trace is written down is told in stories.py.
"""

import re
import subprocess

from sonde import check, install, run, scratch, SONDE
from harness import check_equal, main, test
from stories import (KERNEL, SERVER, SPAN, START, WAIT, WAIT_BITSET, WAKE,
                     entry, exit_, process, report, request, story, switch, us,
                     waking, write_trace)


def find(rows, what):
    found = [row for row in rows if re.search(what, row["what"])]
    check_equal(len(found), 1, f"rows with {what} in {rows}")
    return found[0]


# ---- blame ----

@test
def blame_names_the_lock_the_holder_and_the_file():
    trace = write_trace(story(), request(1000, 53300))
    got = report(trace, "blame", *SPAN)
    check_equal(got["notes"][0].split(" on: ")[1],
                "51.8 ms (99 %) of that waiting for lock 0x7f0000001000 held "
                "by `flusher` (tid 812), which spent 50.1 ms of that in read() "
                "of /var/tmp/data.", "the answer")
    slowest = got["slowest"][0]
    check_equal([us(slowest, key) for key in (
        "duration", "run_time", "ready_time", "preempted_time",
        "blocked_time", "unknown_time")],
        [52300, 400, 100, 0, 51800, 0], "the times")
    where = got["where"]
    check_equal(us(find(where, r"^worker.*futex"), "time"), 52050, "in futex")
    check_equal(us(find(where, r"flusher.*read\(\) of /var/tmp/data"), "time"),
                50100, "the read")
    check_equal(us(find(where, r"woken by interrupt 24 \(nvme0q1\)"), "time"),
                48710, "of that, until the interrupt")


@test
def a_call_that_waits_for_a_cpu_is_not_said_to_wait_for_its_file():
    trace = write_trace([
        process(811), process(812), process(SERVER),
        (0, 0, 0, "lttng_statedump_file_descriptor",
         {"pid": SERVER, "fd": 5, "filename": "/var/tmp/data"}),
        switch(100, 0, 0, 811),
        entry(1200, 0, 811, "read", fd=5, count=4096),
        switch(1300, 0, 811, 812), waking(1400, 0, 811, 812),
        switch(53200, 0, 812, 811), exit_(53250, 0, 811, "read", 4096),
        switch(60000, 0, 811, 0)], request(1000, 53300))
    got = report(trace, "blame", *SPAN)
    check_equal(got["notes"][0].split(" on: ")[1],
                "52.0 ms (100 %) of that in read() of /var/tmp/data, most of it "
                "waiting for a CPU.", "the answer")


@test
def a_lock_has_the_name_of_the_variable_that_is_there():
    """In .bss, behind what is mapped of the file, and in .data; by an address
    inside the variable; only if the file is the one that was recorded."""
    directory = scratch()
    (directory / "server.c").write_text(
        "long cache_lock[5]; int filled[5] = { 1 }; int main(void)"
        "{ return (int)cache_lock[0] + filled[0] - 1; }")
    program = directory / "server"
    subprocess.run(["cc", "-o", program, directory / "server.c",
                    "-Wl,--build-id=sha1"], check=True)

    def output(*command):
        return subprocess.run(command, check=True, capture_output=True,
                              text=True).stdout

    address = {line.split()[2]: int(line.split()[0], 16)
               for line in output("nm", program).splitlines()
               if len(line.split()) == 3}
    build_id = re.search(r"Build ID: (\w+)",
                         output("readelf", "-n", program))[1]
    base = 0x555555554000
    loads = [[int(word, 16) for word in line.split()[1:6]]
             for line in output("readelf", "-lW", program).splitlines()
             if line.split()[:1] == ["LOAD"]]

    def mappings(build_id):
        page = 4096
        for offset, vaddr, _, file_bytes, _ in loads:
            begin, end = vaddr // page * page, vaddr + file_bytes
            yield (1, 0, 0, "sonde_statedump_mapping",
                   {"pid": SERVER, "begin": base + begin,
                    "end": base + (end + page - 1) // page * page,
                    "offset": offset // page * page, "path": str(program),
                    "build_id": build_id})

    def lock_of(address, build_id):
        trace = write_trace([*story(address), *mappings(build_id)],
                            request(1000, 53300))
        return re.search("waiting for (.*) held by",
                         report(trace, "blame", *SPAN)["notes"][0])[1]

    at = base + address["cache_lock"]
    check_equal(lock_of(at, build_id), f"lock `cache_lock` ({at:#x})", "name")
    check_equal(lock_of(at, ""), f"lock `cache_lock` ({at:#x})",
                "the name without a build-id")
    check_equal(lock_of(at + 8, build_id),
                f"lock `cache_lock+0x8` ({at + 8:#x})", "name inside")
    check_equal(lock_of(at, "00" * 20), f"lock {at:#x}", "another build's")
    at = base + address["filled"]
    check_equal(lock_of(at, build_id), f"lock `filled` ({at:#x})", "in .data")
    heap = base + 0x1000000
    check_equal(lock_of(heap, build_id), f"lock {heap:#x}", "on the heap")


@test
def a_lock_that_is_passed_on_was_held_by_the_first():
    """The third thread waits for the lock as well, gets it from the flusher,
    and gives it to the worker 50 us later."""
    lock = 0x7f0000001000
    events = [e for e in story(lock) if not (e[0] == 53100 and e[1] == 1)]
    events += [
        process(813), switch(100, 2, 0, 813),
        entry(1290, 2, 813, "futex", uaddr=lock, op=WAIT),
        switch(1295, 2, 813, 0), waking(53000.5, 1, 813, 812),
        switch(53010, 2, 0, 813), exit_(53015, 2, 813, "futex"),
        entry(53040, 2, 813, "futex", uaddr=lock, op=WAKE),
        waking(53050, 2, 811, 813), exit_(53060, 2, 813, "futex", 1),
        switch(60000, 2, 813, 0)]
    trace = write_trace(events, request(1000, 53300))
    answer = report(trace, "blame", *SPAN)["notes"][0]
    check("waiting for lock 0x7f0000001000 held by `flusher` (tid 812) (and 1 "
          "after it), which spent 50.1 ms of that in read() of /var/tmp/data"
          in answer, answer)


@test
def a_thread_of_unknown_process_has_its_parents_files_and_memory():
    """Where forks don't say whose the child is: the flusher is a thread that
    makes no events, but opens nothing either."""
    trace = write_trace(
        [e for e in story() if e[4].get("tid") != 812 or
         "statedump" not in e[3]] +
        [(50, 0, 811, "sched_process_fork",
          {"parent_tid": 811, "child_tid": 812, "child_comm": "flusher"}),
         (51, 0, 811, "sched_process_fork",
          {"parent_tid": 811, "child_tid": 811, "child_comm": "worker"})],
        request(1000, 53300))
    answer = report(trace, "blame", *SPAN)["notes"][0]
    check("in read() of /var/tmp/data" in answer, answer)


@test
def lock_events_tell_the_holder_where_the_waker_is_another():
    """The third thread has the mutex when the wait begins, and hands it to the
    flusher, which wakes the worker."""
    lock = 0x7f0000001000
    user = [(500, 813, "lock:mutex_lock", {"mutex": lock}),
            (1100, 811, "lock:mutex_wait", {"mutex": lock}),
            (2000, 813, "lock:mutex_unlock", {"mutex": lock}),
            (2100, 812, "lock:mutex_lock", {"mutex": lock}),
            (52900, 812, "lock:mutex_unlock", {"mutex": lock}),
            (53260, 811, "lock:mutex_lock", {"mutex": lock})]
    trace = write_trace(story(lock), request(1000, 53300) + user)
    answer = report(trace, "blame", *SPAN)["notes"][0]
    check("waiting for lock 0x7f0000001000 held by thread 813 and given by "
          "`flusher` (tid 812)" in answer, answer)
    # Without system calls lock events alone name it.
    events = [e for e in story(lock) if "syscall" not in e[3]]
    trace = write_trace(events, request(1000, 53300) + user)
    answer = report(trace, "blame", *SPAN)["notes"][0]
    check("51.8 ms (99 %) of that waiting for lock 0x7f0000001000 held by" in
          answer, answer)


@test
def a_futex_of_unknown_purpose_has_no_holder():
    """Condition variables and semaphores wait by another operation."""
    trace = write_trace(story(operation=WAIT_BITSET), request(1000, 53300))
    answer = report(trace, "blame", *SPAN)["notes"][0]
    check("waiting for futex 0x7f0000001000 until `flusher` (tid 812) woke it, "
          "which spent 50.1 ms" in answer, answer)


@test
def nth_chooses_another_of_the_longest():
    trace = write_trace(story(), request(1000, 53300) +
                        request(53500, 54000, number=2))
    for nth, took in (("1", "52.3 ms"), ("2", "500 us")):
        got = report(trace, "blame", *SPAN, "--nth", nth)
        check(f"took {took}," in got["notes"][0], got["notes"][0])
    got = report(trace, "critical", *SPAN, "--nth", "2")
    check_equal([row["state"] for row in got["path"]], ["running"], "path")
    got = report(trace, "blame", *SPAN, "--nth", "3")
    check_equal(got["notes"][0], "There are only 2 spans.", "a note")
    done = run(SONDE, "report", "blame", *SPAN, "--nth", "11", trace)
    check_equal(done.returncode, 2, "status of --nth 11")


# ---- off the CPU ----

@test
def offcpu_tells_causes_and_wakers():
    """Thread 10: preempted 100-200, in a page fault 300-400 (woken by an
    interrupt that wasn't recorded), in nanosleep 500-900 (a timer on an idle
    CPU), in a read of a file that it opened 1000-1500, a soft interrupt."""
    trace = write_trace([
        switch(0, 0, 0, 10), entry(10, 0, 10, "openat", filename="/etc/x"),
        exit_(20, 0, 10, "openat", 3),
        switch(100, 0, 10, 11, 0), switch(200, 0, 11, 10, 0),
        (290, 0, 10, "exceptions_page_fault_user", {"address": 0x1234}),
        switch(300, 0, 10, 0, 2), waking(400, 0, 10, 0),
        switch(410, 0, 0, 10),
        entry(490, 0, 10, "nanosleep"), switch(500, 0, 10, 0),
        waking(900, 0, 10, 0), switch(910, 0, 0, 10),
        exit_(920, 0, 10, "nanosleep"),
        entry(990, 0, 10, "read", fd=3), switch(1000, 0, 10, 0),
        (1490, 0, 0, "irq_softirq_entry", {"vec": 4}),
        waking(1500, 0, 10, 0),
        (1510, 0, 0, "irq_softirq_exit", {"vec": 4}),
        switch(1600, 0, 0, 10), exit_(1610, 0, 10, "read", 1),
        entry(1700, 0, 10, "futex", uaddr=0x5000, op=WAIT),
        switch(1710, 0, 10, 0), waking(2000, 0, 11, 0)])
    got = report(trace, "offcpu", "--by", "10")
    check_equal([row["tid"] for row in got["threads"]], [10], "threads")
    row = got["threads"][0]
    check_equal([us(row, key) for key in (
        "run_time", "ready_time", "preempted_time", "blocked_time",
        "unknown_time")], [490, 120, 100, 1000 + 290, 0], "times")
    check_equal([(us(row, "blocked_time"), row["cause"], row["waker"])
                 for row in got["causes"]],
                [(500, "read() of /etc/x", "soft interrupt BLOCK"),
                 (400, "nanosleep()", "an interrupt"),
                 (100, "page fault at 0x1234", "an interrupt")], "causes")
    check_equal([(us(row, "blocked_time"), row["cause"])
                 for row in got["open"]], [(290, "futex(): lock 0x5000")],
                "still blocked")
    check_equal(report(trace, "offcpu", "--by", "t10")["threads"],
                got["threads"], "by name")


@test
def a_thread_outside_of_system_calls_wakes_nobody():
    """It is an interrupt that does. Within a call the thread may be the waker:
    what the trace knows of it decides."""
    def waker(*more):
        trace = write_trace([
            switch(0, 0, 0, 10), switch(0, 1, 0, 11),
            entry(10, 1, 11, "read", fd=1), exit_(20, 1, 11, "read"),
            entry(30, 0, 10, "nanosleep"), switch(40, 0, 10, 0), *more,
            waking(100, 1, 10, 11), switch(110, 0, 0, 10)])
        return report(trace, "offcpu")["causes"][0]["waker"]

    check_equal(waker(), "an interrupt", "outside")
    check_equal(waker(entry(50, 1, 11, "read", fd=1)), "t11 (11)", "in a call")


@test
def a_thread_of_unknown_calls_is_perhaps_not_the_waker():
    """Unless it is the kernel's own, or the event says what woke."""
    def wakers(*more, **fields):
        begin = [switch(0, 0, 0, 10), switch(0, 1, 0, 12),
                 entry(30, 0, 10, "nanosleep"), switch(40, 0, 10, 0), *more]
        woken = (100, 1, 12, "sched_waking",
                 {"tid": 10, "comm": "t10", **fields})
        trace = write_trace([*begin, woken, switch(110, 0, 0, 10)])
        return report(trace, "offcpu")["causes"][0]["waker"]

    dumped = (1, 0, 0, "lttng_statedump_process_state",
              {"tid": 12, "pid": 12, "ppid": 2, "name": "kworker/1:1"})
    check_equal(wakers(), "t12 (12), or an interrupt", "unknown")
    check_equal(wakers(dumped), "kworker/1:1 (12)", "the kernel's")
    without = KERNEL["sched_waking"]
    KERNEL["sched_waking"] += " in_interrupt:i"
    check_equal(wakers(in_interrupt=0), "t12 (12)", "by the event")
    check_equal(wakers(dumped, in_interrupt=1), "an interrupt",
                "by the event, an interrupt")
    check_equal(wakers(dumped, in_interrupt=-1),
                "kworker/1:1 (12), or an interrupt",
                "by the event, which doesn't know")
    called = entry(50, 1, 12, "read")
    check_equal(wakers(called, in_interrupt=-1), "t12 (12), or an interrupt",
                "in a call: it may have been interrupted")
    check_equal(wakers(called, exit_(60, 1, 12, "read"), in_interrupt=-1),
                "an interrupt", "in no call: it wakes nobody")
    KERNEL["sched_waking"] = without


@test
def runs_whose_end_is_not_in_the_trace_are_told_of():
    """As where only the switches of one program are recorded."""
    trace = write_trace([switch(0, 0, 0, 10), switch(100, 0, 10, 99),
                         switch(200, 0, 55, 10), switch(300, 0, 10, 0)])
    got = report(trace, "offcpu")
    check_equal([(row["tid"], us(row, "run_time")) for row in got["threads"]],
                [(10, 200), (55, 0)], "runs")
    check_equal(got["notes"][1], "1 runs are not counted: the trace doesn't "
                "have the switches that ended them; who ran for 0.100 ms is "
                "unknown", "a note")


# ---- the critical path ----

@test
def the_critical_path_goes_from_thread_to_thread():
    """Thread 20 begins a request and hands it to 21, which hands it to 22 and
    ends: while 21 and 22 wait for work, the path is with who works."""
    events = [switch(0, 0, 0, 20), switch(0, 1, 21, 0), switch(0, 2, 22, 0),
              entry(90, 0, 20, "futex", op=WAKE, uaddr=8),
              waking(200, 0, 21, 20), switch(250, 1, 0, 21),
              entry(300, 1, 21, "futex", op=WAKE, uaddr=16),
              waking(400, 1, 22, 21), switch(430, 2, 0, 22),
              switch(900, 2, 22, 0), switch(900, 1, 21, 0),
              switch(900, 0, 20, 0)]
    trace = write_trace(events, request(100, 800, 20, end_tid=22))
    got = report(trace, "critical", *SPAN, "--key", "id")
    check_equal([(row["tid"], row["state"], us(row, "time"))
                 for row in got["path"]],
                [(20, "running", 100), (21, "waiting for a CPU", 50),
                 (21, "running", 150), (22, "waiting for a CPU", 30),
                 (22, "running", 370)], "the path")
    check_equal(sum(us(row, "time") for row in got["sums"]), 700, "its length")
    check_equal(report(trace, "blame", *SPAN, "--key", "id")["notes"][1],
                "It ends on thread 22: see the report `critical`.", "a hint")


@test
def what_a_thread_did_before_it_waited_is_its_own():
    trace = write_trace(story(), request(1000, 53300))
    got = report(trace, "critical", *SPAN)
    check_equal([(row["tid"], row["state"], us(row, "time"), row["cause"])
                 for row in got["path"]],
                [(811, "running", 300, None),
                 (812, "blocked", 48710, "read() of /var/tmp/data"),
                 (812, "waiting for a CPU", 90, None),
                 (812, "running", 3000, None),
                 (811, "waiting for a CPU", 100, None),
                 (811, "running", 100, None)], "the path")
    check_equal([row["begin_ns"] for row in got["path"]][0],
                START + 1000 * 1000, "its begin")


# ---- what is missing ----

@test
def what_a_loss_hides_is_unknown():
    """CPU 1, the flusher's, loses events from 2000 to 3000: then no wait at
    that time is known."""
    trace = write_trace(story(), request(1000, 53300),
                        losses=[(1, 2000, 3000)])
    got = report(trace, "blame", *SPAN)
    check_equal(us(got["slowest"][0], "unknown_time"), 51800, "unknown")
    check("99 % of it is unknown" in got["notes"][1], got["notes"])
    check(any("not counted" in note for note in got["notes"]), got["notes"])
    got = report(trace, "critical", *SPAN)
    check_equal(sum(us(row, "time") for row in got["path"]), 52300, "length")


@test
def spans_and_events_that_are_not_there_are_said_so():
    trace = write_trace(story(), [(1000, 811, "server:begin", {"id": 1})])
    got = report(trace, "blame", *SPAN)
    check_equal(got["notes"], ["No begin meets an end: 1 begin, 0 ends."],
                "notes")
    done = run(SONDE, "report", "critical", trace)
    check_equal(done.returncode, 2, "status without --begin")
    check("needs --begin" in done.stderr, done.stderr)
    done = run(SONDE, "report", "blame", *SPAN, trace / "user")
    check_equal(done.returncode, 1, "status without a kernel's events")


# ---- traces that were made to annoy ----

@test
def wakers_in_a_circle_come_to_an_end():
    """Three threads wake each other, and themselves, at the same time, again
    and again; thread ids are as large as they get."""
    huge = 0x7fffffff
    events = []
    for i in range(200):
        at = 100 + i // 10
        for cpu, tid in enumerate((huge, 11, 12)):
            other = (11, 12, huge)[cpu]
            events += [switch(at, cpu, 0, tid),
                       entry(at, cpu, tid, "futex", uaddr=1 << 63, op=WAIT),
                       waking(at, cpu, other, tid), waking(at, cpu, tid, tid),
                       switch(at, cpu, tid, 0)]
    trace = write_trace(events, request(50, 150, huge) +
                        request(90, 110, 11, number=2, end_tid=12))
    for name in ("offcpu", "blame", "critical"):
        got = report(trace, name, *(() if name == "offcpu" else SPAN))
        check("slowest" in got or "threads" in got or "path" in got, got)
    for nth, length in (("1", 100), ("2", 20)):
        got = report(trace, "critical", *SPAN, "--key", "id", "--nth", nth,
                     "--limit", "10000")
        check_equal(sum(us(row, "time") for row in got["path"]), length,
                    "length")


install()
main()
