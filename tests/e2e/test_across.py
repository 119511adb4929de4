#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_across.py - `report blame` and `critical` of several machines opened
together: a wait for bytes goes on in the thread that sent them, on its machine,
by a clock that is known to a bound.

Most traces are made for it, so that the answers are known: a web server asks a
database, whose thread waits for a lock. Times are true ones, in microseconds; the
database's clock is three seconds ahead.
"""

import json
import re

from sonde import check, install, run, scratch, SONDE
from harness import check_equal, main, test
from stories import (SPAN, START, WAIT, WAKE, entry, exit_, process, report, request,
                     switch, us, waking, write_trace)

AHEAD = 3_000_000
WEB, DB = (0xffff0a000001, 40000), (0xffff0a000002, 5432)
LOCK = 0x7f0000001000


class Pair:
    """One connection between the web server's thread 811 and the database's 812;
    positions go round 2^32 early."""

    def __init__(self, ahead=AHEAD, addresses=(WEB, DB), ppm=0):
        self.ppm = ppm  # faster is the database's clock
        self.ends = {"web": addresses, "db": addresses[::-1]}
        self.ahead = ahead
        self.sent = {"web": 0xffffff00, "db": 77}
        self.received = dict(self.sent)
        self.events = {"web": [], "db": []}

    def add(self, host, *events):
        self.events[host] += events

    def _move(self, host, time, tid, name, position, nr):
        (saddr, sport), (daddr, dport) = self.ends[host]
        self.add(host, (time, tid % 2, tid, name, {
            "protocol": 6, "family": 2, "ret": nr, "position": position,
            "sport": sport, "dport": dport, "saddr_low": saddr,
            "daddr_low": daddr}))

    def send(self, host, begin, time, nr=100, tid=None):
        tid = tid or (811 if host == "web" else 812)
        self.sent[host] = self.sent[host] + nr & 0xffffffff
        self.add(host, entry(begin, tid % 2, tid, "sendto", fd=3))
        self._move(host, time, tid, "sock_send_length", self.sent[host], nr)
        self.add(host, exit_(time + 1, tid % 2, tid, "sendto", nr))

    def take(self, host, time, nr=100):
        """What a call that was entered receives."""
        tid = 811 if host == "web" else 812
        other = "db" if host == "web" else "web"
        self.received[other] = self.received[other] + nr & 0xffffffff
        self._move(host, time, tid, "sock_recv_length", self.received[other],
                   nr)
        self.add(host, exit_(time + 1, tid % 2, tid, "recvfrom", nr))

    def receive(self, host, begin, time, nr=100):
        tid = 811 if host == "web" else 812
        self.add(host, entry(begin, tid % 2, tid, "recvfrom", fd=3))
        self.take(host, time, nr)

    def exchange(self, time, on_its_way=20):
        """A message there, and one back, which nobody waits for."""
        self.send("web", time, time + 5)
        self.receive("db", time + on_its_way - 1, time + on_its_way)
        self.send("db", time + 100 + on_its_way, time + 105 + on_its_way)
        self.receive("web", time + 99 + 2 * on_its_way,
                     time + 100 + 2 * on_its_way)

    def wait(self, host, begin, end, call="recvfrom"):
        """Blocked from begin to end, and gets the CPU 10 us later."""
        tid = 811 if host == "web" else 812
        self.add(host, entry(begin - 1, tid % 2, tid, call, fd=3),
                 switch(begin, tid % 2, tid, 0),
                 waking(end, tid % 2, tid, 0),
                 switch(end + 10, tid % 2, 0, tid))

    def shown(self, host, time):
        return time if host == "web" else (
            time + self.ahead + time * self.ppm / 1_000_000)

    def traces(self, begin=1000, end=21000, user=None, losses=()):
        """`user`: by host; without, the web server's request. `losses`: of the
        web server's."""
        user = user or {"web": request(begin, end), "db": []}
        return [write_trace([(self.shown(host, e[0]), *e[1:]) for e in events],
                            [(self.shown(host, e[0]), *e[1:])
                             for e in user[host]], host=host,
                            user_losses=losses if host == "web" else ())
                for host, events in self.events.items()]


def story(on_its_way=20, **more):
    """The web server's request, 1000 to 21000: it asks at 1100, and is blocked
    from 1200 to 19200. The database is told so at 1130; from 1500 to 18500 its
    thread waits for a lock, which thread 813 gives back; it answers at 19000."""
    pair = Pair(**more)
    pair.add("web", process(811), switch(50, 1, 0, 811))
    pair.add("db", process(812), process(813), switch(50, 0, 0, 812),
             switch(50, 1, 0, 813))
    for time in (100, 400, 700):
        pair.exchange(time, on_its_way)
    pair.send("web", 1100, 1105)
    pair.receive("db", 1129, 1130)
    pair.wait("web", 1200, 19200)
    pair.add("db", entry(1499, 0, 812, "futex", uaddr=LOCK, op=WAIT),
             switch(1500, 0, 812, 0),
             entry(18400, 1, 813, "futex", uaddr=LOCK, op=WAKE),
             waking(18500, 1, 812, 813), exit_(18510, 1, 813, "futex", 1),
             switch(18520, 0, 0, 812), exit_(18530, 0, 812, "futex"))
    pair.send("db", 19000, 19005)
    pair.take("web", 19250)
    for time in (22000, 22300, 22600):
        pair.exchange(time, on_its_way)
    pair.add("web", switch(30000, 1, 811, 0))
    pair.add("db", switch(30000, 0, 812, 0), switch(30000, 1, 813, 0))
    return pair


def about(row, key, expected, bound=300):
    check(abs(us(row, key) - expected) <= bound,
          f"{key} is {us(row, key)} us, not about {expected}: {row}")


@test
def blame_goes_on_with_the_thread_that_sent_the_bytes_on_its_machine():
    got = report(story().traces(), "blame", *SPAN)
    answer = got["notes"][0]
    check(re.search(
        r"^`worker` \(tid 811\) on web took 20.0 ms, .*: 18.1 ms \(90 %\) of that "
        r"in recvfrom\(\) of descriptor 3 for bytes of `flusher` \(tid 812\) "
        r"on db, which spent 17.0 ms of that waiting for lock 0x7f0000001000 held "
        r"by `third` \(tid 813\) on db, which spent", answer), answer)
    lock, = [row for row in got["where"] if "futex" in row["what"] and
             "flusher" in row["what"]]
    about(lock, "time", 17000, 100)
    network, = [row for row in got["where"] if "in the network" in row["what"]]
    about(network, "time", 200)


@test
def the_critical_path_crosses_to_the_machine_that_sent_the_bytes():
    got = report(story().traces(), "critical", *SPAN)
    path = got["path"]
    check_equal(sum(us(row, "time") for row in path), 20000, "its length")
    check_equal([row["host"] for row in path if us(row, "time") > 2000],
                ["db"], "where the longest is")
    longest = max(path, key=lambda row: us(row, "time"))
    check_equal((longest["thread"], longest["state"]), ("third", "running"),
                "the longest")
    network, = [row for row in path if row["state"] == "in the network"]
    check_equal(network["waker"], "bytes of flusher (812) on db", "the sender")
    about(network, "begin", START // 1000 + 19000)
    end = path.index(network)
    check_equal(path[end - 1]["host"], "db", "before the network")
    check_equal({row["host"] for row in path[end:]}, {"web"}, "and behind it")


@test
def the_bound_of_the_clocks_has_the_truth_in_it():
    for on_its_way in (20, 60):
        clock, = [row for row in report(story(on_its_way).traces(), "blame",
                                        *SPAN)["clocks"]
                  if row["host"] == "db"]
        about(clock, "ahead", AHEAD, us(clock, "within"))
        check(us(clock, "within") < 10 * on_its_way + 200, clock)
        check_equal((clock["by"], clock["messages"]), ("web", 14), "by whom")


@test
def what_the_bound_does_not_tell_is_not_told():
    """Messages take 1.5 ms, there and back: so the clocks are known to that, and
    a wait of one of 0.4 ms may have begun before the bytes were sent or not."""
    pair = story()
    pair = Pair()
    pair.add("web", process(811), switch(50, 1, 0, 811))
    pair.add("db", process(812), switch(50, 0, 0, 812))
    for time in (100, 4000, 8000, 16000, 22000):
        pair.exchange(time, 1500)
    pair.wait("web", 28000, 28400)
    pair.send("db", 28200, 28205)
    pair.take("web", 28450)
    for time in (32000, 36000):
        pair.exchange(time, 1500)
    pair.add("web", switch(40000, 1, 811, 0))
    pair.add("db", switch(40000, 0, 812, 0))
    traces = pair.traces(27900, 28500)
    path = report(traces, "critical", *SPAN)["path"]
    wait, = [row for row in path if row["state"] == "blocked"]
    check_equal(wait["waker"],
                "bytes of flusher (812) on db, sent nobody knows when", "waker")
    check_equal({row["host"] for row in path}, {"web"}, "the path's machines")
    blame = report(traces, "blame", *SPAN)
    check("flusher" not in blame["notes"][0], blame["notes"][0])


@test
def bytes_that_were_sent_before_the_wait_were_in_the_network():
    pair = story()
    late = Pair()
    late.add("web", process(811), switch(50, 1, 0, 811))
    late.add("db", process(812), switch(50, 0, 0, 812))
    for time in (100, 400, 700):
        late.exchange(time)
    late.send("db", 2000, 2005)
    late.wait("web", 5000, 9000)
    late.take("web", 9050)
    for time in (22000, 22300):
        late.exchange(time)
    late.add("web", switch(30000, 1, 811, 0))
    late.add("db", switch(30000, 0, 812, 0))
    path = report(late.traces(4000, 9500), "critical", *SPAN)["path"]
    wait, = [row for row in path if row["state"] == "in the network"]
    check_equal((us(wait, "time"), wait["host"]), (4000, "web"), "the wait")
    check_equal({row["host"] for row in path}, {"web"}, "the path's machines")


@test
def of_an_event_loop_only_what_came_from_one_thread_is_told():
    """It is woken, and then receives from the database; or also from itself, by
    another connection."""
    def path(others):
        pair = story()
        other = Pair(addresses=((1, 7), (2, 8)))
        events = pair.events["web"]
        wait = [e for e in events if e[3] == "syscall_entry_recvfrom" and
                e[0] == 1199]
        at = events.index(*wait)
        events[at] = entry(1199, 1, 811, "epoll_wait", epfd=9)
        pair.add("web", exit_(19220, 1, 811, "epoll_wait", 1),
                 entry(19230, 1, 811, "recvfrom", fd=3))
        if others:
            other.send("db", 18000, 18010, tid=814)
            other.receive("web", 19300, 19310)
            for host in ("web", "db"):
                pair.events[host] += other.events[host]
        return report(pair.traces(), "critical", *SPAN)["path"]

    check("db" in {row["host"] for row in path(False)}, path(False))
    check_equal({row["host"] for row in path(True)}, {"web"}, "the machines")


@test
def addresses_that_two_machines_have_are_matched_by_nobody():
    private = ((0xffff7f000001, 40000), (0xffff7f000001, 5432))
    pair = story(addresses=private)
    for host in ("web", "db"):  # each has both ends
        other = "db" if host == "web" else "web"
        pair.events[host] += [e for e in pair.events[other]
                              if e[3].startswith("sock_")]
    path = report(pair.traces(), "critical", *SPAN)["path"]
    check_equal({row["host"] for row in path}, {"web"}, "the machines")


@test
def without_what_tells_who_sent_bytes_the_report_says_so():
    pair = story()
    traces = [write_trace([e for e in events if e[3] != "sock_send_length" and
                           e[3] != "sock_recv_length"],
                          request(1000, 21000) if host == "web" else (),
                          host=host) for host, events in pair.events.items()]
    for trace in traces:
        path = trace / "kernel" / "metadata"
        path.write_text(path.read_text().replace("sock_", "other_"))
    got = report(traces, "blame", *SPAN)
    check(any("sock:sock_*_length" in note for note in got["notes"]),
          got["notes"])
    check_equal([row["ahead_ns"] for row in got["clocks"]], [0, None],
                "clocks")


@test
def bytes_by_udp_and_unix_sockets_are_counted_as_of_nobody():
    """The web server is told by UDP once, and by a Unix socket twice, what it waited
    for; what it sent so, and a look at what is there, don't count."""
    pair = story()

    def other(time, name, protocol, **more):
        pair.add("web", (time, 1, 811, name, {"protocol": protocol, "ret": 9,
                                              **more}))

    other(25000, "sock_recv_length", 17)
    other(25100, "sock_recv_length", 0, family=1)
    other(25200, "sock_recv_length", 0, family=1)
    other(25300, "sock_send_length", 17)
    other(25400, "sock_recv_length", 17, flags=2)
    for name in "blame", "critical":
        notes = report(pair.traces(), name, *SPAN)["notes"]
        check(any("received 1 time by UDP and 2 times by Unix sockets and the "
                  "like: nothing in the traces says who sent them" in note
                  for note in notes), notes)
    notes = report(story().traces(), "blame", *SPAN)["notes"]
    check(not any("UDP" in note for note in notes), notes)


# ---- waits that are known by a key ----

def by_datagrams(steps, web=()):
    """The story, but what is asked and answered goes by UDP: the socket's events have
    no position. `steps`: (time, thread, id) of the database's."""
    pair = Pair()
    pair.add("web", process(811), switch(50, 1, 0, 811))
    pair.add("db", process(812), process(813), switch(50, 0, 0, 812),
             switch(50, 1, 0, 813))
    for time in (100, 400, 700, 22000, 22300, 22600):
        pair.exchange(time, 20)
    pair.add("web", entry(1100, 1, 811, "sendto", fd=4),
             exit_(1106, 1, 811, "sendto", 9))
    pair.wait("web", 1200, 19200)
    pair.add("web", (19250, 1, 811, "sock_recv_length", {"protocol": 17, "ret": 9}),
             exit_(19251, 1, 811, "recvfrom", 9),
             switch(30000, 1, 811, 0))
    pair.add("db", entry(1499, 0, 812, "futex", uaddr=LOCK, op=WAIT),
             switch(1500, 0, 812, 0),
             entry(18400, 1, 813, "futex", uaddr=LOCK, op=WAKE),
             waking(18500, 1, 812, 813), exit_(18510, 1, 813, "futex", 1),
             switch(18520, 0, 0, 812), exit_(18530, 0, 812, "futex"),
             switch(30000, 0, 812, 0), switch(30000, 1, 813, 0))
    return pair.traces(user={
        "web": [*request(1000, 21000), *web],
        "db": [(time, tid, "server:step", {"id": number})
               for time, tid, number in steps]})


KEY = (*SPAN, "--key", "id")
STEPS = [(300, 812, 7), (1450, 812, 1), (1480, 813, 1), (18900, 812, 1)]


def waker_of(traces, *options):
    wait = max((row for row in report(traces, "critical", *options)["path"]
                if row["host"] == "web" and row["state"] in
                ("blocked", "in the network")), key=lambda row: us(row, "time"))
    return wait["waker"]


@test
def a_wait_goes_on_where_another_machine_recorded_the_same_key():
    traces = by_datagrams(STEPS)
    got = report(traces, "blame", *KEY)
    answer = got["notes"][0]
    check(re.search(
        r"18.1 ms \(90 %\) of that in recvfrom\(\) of descriptor 3 for `flusher` "
        r"\(tid 812\) on db, which spent 17.0 ms of that waiting for lock "
        r"0x7f0000001000 held by `third` \(tid 813\) on db", answer), answer)
    network, = [row for row in got["where"] if "in the network" in row["what"]]
    about(network, "time", 300)
    check_equal(waker_of(traces, *KEY), "flusher (812) on db, by the key", "waker")
    other = by_datagrams([(1450, 813, 1), (1480, 812, 1)])
    check_equal(waker_of(other, *KEY), "third (813) on db, by the key",
                "who was asked first")


@test
def what_is_not_sure_of_a_key_is_not_followed():
    alone = waker_of(by_datagrams([]), *KEY)
    check("db" not in alone, alone)
    for why, steps, web in (
            ("another key", [(1450, 812, 2)], ()),
            ("the thread works for another one then", STEPS,
             [(19500, 811, "server:step", {"id": 2})]),
            ("not in the wait", [(300, 812, 1), (21500, 812, 1)], ())):
        check_equal(waker_of(by_datagrams(steps, web), *KEY), alone, why)
    check_equal(waker_of(by_datagrams(STEPS), *SPAN), alone, "without --key")
    # The clocks are known to some 30 us: it may have been before the wait.
    early = by_datagrams([(1205, 812, 1), (18900, 812, 1)])
    check_equal(waker_of(early, *KEY), "flusher (812) on db by the key, or another one",
                "order")
    check("flusher" not in report(early, "blame", *KEY)["notes"][0], "followed")


@test
def sync_finds_the_messages_in_the_traces():
    done = run(SONDE, "sync", "--json", *story().traces())
    check_equal(done.returncode, 0, done.stderr)
    window, = json.loads(done.stdout)["windows"]
    check_equal((window["a"], window["b"], window["there"], window["back"],
                 window["state"]), ("db", "web", 7, 7, "bounded"), "window")
    check(abs(window["offset_ns"] + 1000 * AHEAD) <= window["bound_ns"], window)
    check(window["bound_ns"] < 400_000, window)


@test
def sync_of_traces_that_do_not_tell_says_what_to_record():
    trace = story().traces()[0]
    path = trace / "kernel" / "metadata"
    path.write_text(path.read_text().replace("sock_", "other_"))
    done = run(SONDE, "sync", trace)
    check_equal(done.returncode, 1, done.stdout)
    check("sock:sock_*_length" in done.stderr, done.stderr)


# ---- sonde sync --write ----

def write(traces, *options):
    done = run(SONDE, "sync", "--write", "--json", *options, *traces)
    check_equal(done.returncode, 0, done.stderr)
    return {row["host"]: row for row in json.loads(done.stdout)["written"]}


def clocks(traces):
    """Those of stat, by host; each host's is in one or two traces."""
    done = run(SONDE, "stat", "--json", "-v", *traces)
    check_equal(done.returncode, 0, done.stderr)
    got = json.loads(done.stdout)
    hosts = {row["path"]: row["host"] for row in got["traces"]}
    return {hosts[row["trace"]]: row for row in got["clocks"]}, got.get("notes", [])


def printed(traces, *options):
    done = run(SONDE, "print", "--json", *options, *traces)
    check_equal(done.returncode, 0, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def bytes_below(traces):
    return {path: path.read_bytes() for trace in traces
            for path in trace.rglob("*") if path.is_file() and
            path.name != ".clock"}


@test
def synced_traces_are_on_one_clock_within_the_bound_and_their_bytes_are_the_same():
    for ppm in (0, 400):
        pair = story(ppm=ppm)
        traces = pair.traces()
        before = bytes_below(traces)
        row = write(traces)["db"]
        within = row["within_ns"]
        check(0 < within < 1_000_000, row)
        check_equal((row["to"], row["known_percent"]), ("web", 100), "what was written")
        check_equal(bytes_below(traces), before, "bytes of the traces")
        shown = [e["time_ns"] - START for e in
                 printed(traces[1:], "--fields", "time", "--statedump")]
        truth = sorted(round(e[0] * 1000) for e in pair.events["db"])
        check_equal(len(shown), len(truth), "events")
        # the last point is where web's trace ends; db's goes on for no longer
        wrong = [(a, b) for a, b in zip(shown, truth) if abs(a - b) > within]
        check_equal(wrong, [], f"times that aren't within {within} ns")


@test
def stat_shows_whose_clock_a_trace_is_on_and_how_far_it_can_be_off():
    traces = story().traces()
    check_equal([row["synced_to"] for row in clocks(traces)[0].values()],
                [None, None], "before")
    written = write(traces)
    rows, notes = clocks(traces)
    check_equal({host: (row["synced_to"], row["uncertainty_ns"])
                 for host, row in rows.items()},
                {host: ("web", written[host]["within_ns"] + 4)  # computing
                 for host in ("web", "db")}, "clocks")
    check(not any("isn't known" in note for note in notes), notes)


@test
def what_is_not_known_of_a_clock_at_all_times_is_said():
    """The database was traced for long after the web server was."""
    pair = story()
    pair.add("db", switch(9_000_000, 0, 0, 812))
    traces = pair.traces()
    write(traces)
    _, notes = clocks(traces)
    check(any("to the clock of web isn't known for all of its time" in note
              for note in notes), notes)


@test
def sync_again_starts_from_what_was_recorded():
    traces = story(ppm=300).traces()
    write(traces)
    paths = [p for trace in traces for p in trace.rglob(".clock")]
    check_equal(len(paths), 3, "files")
    first = [path.read_text() for path in paths]
    written = write(traces)
    check_equal([path.read_text() for path in paths], first, "files")
    check(abs(us(written["db"], "ahead") - AHEAD) < 400, written)


@test
def what_is_cut_of_a_synced_trace_is_on_the_same_clock():
    traces = story(ppm=300).traces()
    recorded = printed(traces, "--fields", "time", "--statedump")
    write(traces)
    synced = printed(traces, "--fields", "time", "--statedump")
    check(synced != recorded, "times are as they were recorded")
    parts = []
    for trace in traces:
        parts.append(scratch() / trace.name)
        done = run(SONDE, "cut", "-q", "-o", parts[-1], trace)
        check_equal(done.returncode, 0, done.stderr)
    check_equal(sum(1 for part in parts for _ in part.rglob(".clock")), 3, "files")
    check_equal(printed(parts, "--fields", "time", "--statedump"), synced, "times")
    check_equal({row["synced_to"] for row in clocks(parts)[0].values()}, {"web"},
                "clocks")


@test
def a_span_is_cut_of_all_machines_by_their_common_clock():
    traces = story(ppm=300).traces()
    write(traces)
    synced = printed(traces, "--fields", "time,host", "--statedump")
    begin, end = START + 5_000_000, START + 19_100_000
    part = scratch() / "part"
    done = run(SONDE, "cut", "-q", "-o", part, "--from",
               f"{begin // 10**9}.{begin % 10**9:09}", "--to",
               f"{end // 10**9}.{end % 10**9:09}", *traces)
    check_equal(done.returncode, 0, done.stderr)
    wanted = [e for e in synced if begin <= e["time_ns"] <= end]
    check(0 < len(wanted) < len(synced), f"{len(wanted)} of {len(synced)}")
    check_equal(printed([part], "--fields", "time,host", "--statedump"), wanted,
                "the span, by the clock of one")


@test
def of_a_host_that_sent_nothing_no_clock_is_left():
    pair = story()
    traces = pair.traces()
    write(traces)
    alone = story().traces()
    for path in alone[1].rglob("metadata"):
        path.write_text(path.read_text().replace('"db"', '"other"'))
    (alone[1] / "kernel" / ".clock").write_text("of old\n")
    for path in (alone[1] / "kernel").glob("cpu*"):
        path.unlink()
    done = run(SONDE, "sync", "--write", "--json", *alone)
    check_equal(done.returncode, 0, done.stderr)
    rows = {row["host"]: row for row in json.loads(done.stdout)["written"]}
    check_equal((rows["other"]["to"], rows["other"]["within_ns"]),
                (None, None), "what was written")
    check(not (alone[1] / "kernel" / ".clock").exists(), "the file is there")


@test
def a_clock_that_makes_no_sense_is_said_and_changes_no_time():
    traces = story().traces()
    before = printed(traces[1:])
    write(traces)
    check(printed(traces[1:]) != before, "times are the same")
    path = traces[1] / "kernel" / ".clock"
    path.write_text(path.read_text().replace("line", "lines"))
    problem, = json.loads(run(SONDE, "stat", "--json", traces[1]).stdout)[
        "problems"]
    check(".clock, line 3, makes no sense: times are as they were recorded"
          in problem["text"], problem)
    check_equal(printed(traces[1:]), before, "events")


SHOWN = ("--fields", "time,delta,host,event")


def deltas(events):
    """Of neighbours of two hosts: (their distance in ns, what is shown)."""
    return [(b["time_ns"] - a["time_ns"], b["delta_ns"])
            for a, b in zip(events, events[1:]) if a["host"] != b["host"]]


@test
def print_shows_an_order_of_two_hosts_only_if_the_bound_supports_it():
    traces = story().traces()
    within = write(traces)["db"]["within_ns"]
    events = printed(traces, *SHOWN)
    check_equal({e["host"] for e in events}, {"web", "db"}, "hosts")
    known = [d for d in deltas(events) if d[1] is not None]
    unknown = [d for d in deltas(events) if d[1] is None]
    check(known and unknown, f"{len(known)} known, {len(unknown)} unknown")
    check_equal([d for d in known if d[0] != d[1]], [], "differences")
    # bounds are narrower where more is known, never wider than the widest
    check(max(d[0] for d in unknown) <= within + 8, unknown)
    check(min(d[0] for d in known) > 20_000, known)
    alone = [(a, b) for a, b in zip(events, events[1:])
             if a["host"] == b["host"] and b["delta_ns"] is None]
    check_equal(alone, [], "unknown on one host")
    text = run(SONDE, "print", *SHOWN, *traces)
    lines = [line.split()[1] for line in text.stdout.splitlines()]
    check_equal([i for i, d in enumerate(lines) if d == "?"],
                [i for i, e in enumerate(events) if i and
                 e["delta_ns"] is None], "lines with ?")
    check_equal(text.stderr, "", "words")


@test
def print_of_clocks_that_were_not_compared_tells_no_order_of_hosts():
    traces = story(ahead=0).traces()
    done = run(SONDE, "print", "--json", *SHOWN, *traces)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    check(len(deltas(events)) > 10, "the hosts' events take turns")
    check_equal({d[1] for d in deltas(events)}, {None}, "differences")
    check("order of their events isn't known: sonde sync --write"
          in done.stderr, done.stderr)
    check_equal(run(SONDE, "print", traces[0]).stderr, "", "of one host")


@test
def clocks_that_were_put_on_those_of_different_hosts_are_not_compared():
    traces = story(ahead=0).traces()
    write(traces)
    path = traces[1] / "kernel" / ".clock"
    path.write_text(path.read_text().replace("to web", "to other"))
    check_equal({d[1] for d in deltas(printed(traces, *SHOWN))}, {None},
                "differences")


@test
def the_thread_of_a_number_on_another_host_is_another_thread():
    pair = Pair(ahead=0)
    for host, time in ("web", 100), ("db", 200), ("web", 300), ("db", 450):
        pair.add(host, entry(time, 1, 811, "sendto", fd=3))
    events = printed(pair.traces(), "--fields", "thread-delta,host",
                     "-f", 'event == "syscall_entry_sendto"')
    check_equal([(e["host"], e["thread_delta_ns"]) for e in events],
                [("web", None), ("db", None), ("web", 200_000),
                 ("db", 250_000)], "since the same thread's")


@test
def sync_does_not_write_what_is_in_a_file_of_messages():
    path = story().traces()[0] / "kernel" / "metadata"
    done = run(SONDE, "sync", "--write", path)
    check_equal(done.returncode, 2, done.stderr)
    check("for --write, traces are wanted" in done.stderr, done.stderr)


# ---- report latency --across ----

ACROSS = ("--across", "--key", "id", *SPAN)


def requests(*told):
    """User events by host: (id, host and time of the begin, of the end)."""
    user = {"web": [], "db": []}
    for number, (host, time), (other, end) in told:
        user[host].append((time, 811, "server:begin", {"id": number}))
        user[other].append((end, 812, "server:end", {"id": number}))
    return user


def counts(got):
    return {key: got[key] for key in (
        "unknown", "uncompared", "repeated", "reversed", "unended", "unbegun")
        if got[key]}


@test
def a_request_ends_on_another_machine_within_the_bound():
    told = [(i, ("web", 1000 + 2000 * i), ("db", 1000 + 2000 * i + took))
            for i, took in enumerate([150, 300, 700, 1500, 4000])]
    told += [(7, ("db", 3000), ("web", 9000)), (8, ("db", 5000), ("db", 5025))]
    for ppm in (0, 400):
        traces = story(ppm=ppm).traces(user=requests(*told))
        written = write(traces)["db"]["within_ns"]
        got = report(traces, "latency", *ACROSS)
        check_equal(counts(got), {}, "what is left out")
        row, = got["latency"]
        check_equal(row["count"], len(told), "spans")
        check(row["within_ns"] <= written + 8, f"{row}, {written}")
        rows = {int(row["key"]): row for row in got["worst"]}
        for number, (host, time), (other, end) in told:
            row = rows[number]
            check_equal((row["from"], row["to"]), (host, other), row)
            check_equal(row["within_ns"] == 0, host == other, row)
            took = (end - time) * 1000
            # on the database alone, its clock's rate is what is wrong
            check(abs(row["duration_ns"] - took) <= row["within_ns"] + 11,
                  f"{took}: {row}")
        check_equal([(row["from"], row["to"], row["count"])
                     for row in got["ways"]],
                    [("web", "db", 5), ("db", "web", 1), ("db", "db", 1)],
                    "from machine to machine")


@test
def a_duration_that_the_bound_does_not_support_is_unknown():
    """The clock is put 10 us wrong, which its bound allows: the end of a request
    that took 5 us seems to be before its begin."""
    traces = story().traces(user=requests(
        (1, ("web", 1000), ("db", 1005)), (2, ("web", 3000), ("db", 3035)),
        (3, ("web", 9000), ("db", 9500)), (4, ("web", 11000), ("db", 10000)),
        (5, ("web", 11000), ("db", 10981))))
    write(traces)
    for path in traces[1].rglob(".clock"):
        path.write_text(
            "sonde clock 1\nto web\n"
            f"line 0 {-AHEAD * 1000 - 10_000} 1000 {-AHEAD * 1000 - 10_000}\n"
            f"at {START} 30000\nat {START + 10**9} 30000\n")
    got = report(traces, "latency", *ACROSS)
    check_equal(counts(got), {"unknown": 3, "reversed": 1}, "what isn't known")
    check_equal({int(row["key"]): us(row, "duration") for row in got["worst"]},
                {1: None, 2: None, 3: 490, 5: None}, "durations")
    check(any("it was at most 55.0 us" in note for note in got["notes"]),
          got["notes"])
    text = run(SONDE, "report", "latency", *ACROSS, *traces).stdout
    check("490 us, from" in text and "within 30.0 us" in text, text)


@test
def of_clocks_that_were_not_compared_no_duration_is_said():
    traces = story(ahead=0).traces(user=requests(
        (1, ("web", 1000), ("db", 5000)), (2, ("web", 6000), ("web", 7000))))
    got = report(traces, "latency", *ACROSS)
    check_equal(counts(got), {"uncompared": 1}, "what isn't known")
    check_equal([us(row, "duration") for row in got["worst"]], [1000], "known")
    check(any("sonde sync --write" in note for note in got["notes"]),
          got["notes"])


@test
def keys_that_are_not_one_requests_are_left_out():
    user = requests((1, ("web", 1000), ("db", 5000)),
                    (2, ("web", 6000), ("db", 7000)),
                    (2, ("web", 8000), ("db", 9000)))
    user["web"].append((9000, 811, "server:begin", {"id": 3}))
    user["db"].append((9500, 812, "server:end", {"id": 4}))
    traces = story().traces(user=user)
    write(traces)
    got = report(traces, "latency", *ACROSS)
    check_equal(counts(got), {"repeated": 1, "unended": 1, "unbegun": 1},
                "what is left out")
    check_equal([row["key"] for row in got["worst"]], ["1"], "spans")


@test
def a_request_meanwhile_events_were_lost_is_left_out():
    traces = story().traces(user=requests((1, ("web", 1000), ("db", 5000)),
                                     (2, ("web", 6000), ("db", 7000))),
                            losses=[(1500, 1600)])
    write(traces)
    got = report(traces, "latency", *ACROSS)
    check_equal([row["key"] for row in got["worst"]], ["2"], "spans")
    check_equal(got["across"], 1, "across lost events")


@test
def on_one_machine_it_is_what_it_is_without():
    traces = story().traces(user=requests(
        *((i, ("web", 100 * i), ("web", 130 * i + 1)) for i in range(50))))[:1]
    across = report(traces, "latency", *ACROSS)
    plain = report(traces, "latency", *ACROSS[1:])
    row, = across["latency"]
    check_equal({key: row[key] for key in plain["latency"][0]
                 if key != "deviation_ns"},
                {key: value for key, value in plain["latency"][0].items()
                 if key != "deviation_ns"}, "spans")
    check_equal(row["within_ns"], 0, "the bound")
    check_equal([row["duration_ns"] for row in across["worst"]],
                [row["duration_ns"] for row in plain["worst"]], "the longest")


@test
def across_is_refused_where_it_makes_no_sense():
    trace = story().traces()[0]
    for words, said in [
            (("latency", "--across", *SPAN, trace), "--key EXPR"),
            (("latency", *ACROSS, "--explain", trace), "no --explain"),
            (("top", "--across", trace), "goes with latency"),
            (("latency", *ACROSS, "--on", "nats://127.0.0.1:1"),
             "collect the traces")]:
        done = run(SONDE, "report", *words)
        check_equal((done.returncode, done.stdout), (2, ""), words)
        check(said in done.stderr, done.stderr)


install()
main()
