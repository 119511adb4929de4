#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_view.py - `sonde view`: what a page is told is what the commands say of
the same trace, and whoever isn't the page is told nothing."""

import contextlib
import http.client
import json
import random
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from sonde import SONDE, install, run, scratch
from handmade import Handmade, Layout
from harness import check, check_equal, main, test

LAYOUT = Layout(header=[("id", 16, 8), ("time", 64, 8)],
                events={"m:odd": [("a", 32, 8), ("text", "string", 8)],
                        "m:even": [("a", 32, 8)]})


def handmade():
    """A trace of two CPUs with events at random times; CPU 1 loses some."""
    chance = random.Random(19)
    trace = Handmade(LAYOUT)
    for cpu in 0, 1:
        now = 1000 + cpu
        with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
            for packet in range(20):
                begin = now
                times = []
                for _ in range(chance.randrange(50)):
                    now += chance.randrange(1, 5000)
                    times.append(now)
                now += 2
                with stream.packet(begin, now,
                                   discarded=7 * cpu * (packet > 9)):
                    for time in times:
                        number = chance.randrange(1000)
                        if number % 2:
                            stream.event("m:odd", time, a=number,
                                         text=f"<{number}>")
                        else:
                            stream.event("m:even", time, a=number)
                now += 2
    return trace.dir


class Server:
    """`sonde view` of a trace, and the questions of a page."""

    def __init__(self, trace, *options):
        self.process = subprocess.Popen(
            [SONDE, "view", "--no-browser", *options, trace],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        check(self.url.startswith("http://127.0.0.1:"), f"URL: {self.url!r}")
        self.port = urllib.parse.urlsplit(self.url).port

    def raw(self, path, **params):
        query = urllib.parse.urlencode(params)
        with urllib.request.urlopen(f"{self.url}{path}?{query}") as answer:
            return answer.read()

    def ask(self, path, **params):
        return json.loads(self.raw("api/" + path, **params))

    def refused(self, path, **params):
        """The status, and the answer."""
        try:
            self.raw("api/" + path, **params)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
        raise AssertionError(f"{path} {params}: was answered")

    def ready(self):
        """Asks until the index is: what is known of the trace then."""
        while True:
            about = self.ask("trace")
            if about["index"]["ready"]:
                return about

    def status(self, path, headers, method="GET"):
        """Of a request made by hand, with no other headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.putrequest(method, path, skip_host=True,
                              skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        _out, err = self.process.communicate()
        return self.process.returncode, err


@contextlib.contextmanager
def view(trace, *options):
    server = Server(trace, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            check_equal(server.end(), (0, ""), "the end")


def printed(trace, *options):
    done = run(SONDE, "print", "--json", *options, trace)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- what is answered ----

def times_of(trace, *options):
    return [event["time_ns"] for event in printed(trace, *options)]


@test
def trace_is_what_stat_says():
    trace = handmade()
    stat = json.loads(run(SONDE, "stat", "--json", trace).stdout)
    with view(trace) as server:
        about = server.ready()
    check_equal(about["events"], len(times_of(trace)), "events")
    check_equal(about["lost"], 7, "lost")
    check_equal(about["origin"], "1000", "origin")
    check_equal({c["name"] for c in about["classes"]}, {"m:odd", "m:even"},
                "classes")
    check(str(about["lost"]) in json.dumps(stat), "stat knows nothing of it")


@test
def histogram_counts_each_event_where_it_is():
    trace = handmade()
    times = [time - 1000 for time in times_of(trace)]
    with view(trace) as server:
        end = server.ready()["end"]
        for begin, to, pixels in ((0, end + 1, 7), (0, end + 1, 1000),
                                  (end // 3, end // 2, 333),
                                  (end // 2, end // 2 + 100, 100)):
            got = server.ask("histogram", **{"from": begin, "to": to,
                                             "pixels": pixels})
            expected = [0] * pixels
            for time in times:
                if begin <= time < to:
                    expected[(time - begin) * pixels // (to - begin)] += 1
            check_equal(got["unit"], "events", "unit")
            check_equal(got["counts"], expected, f"{begin} to {to}")
            check_equal(len(got["lost"]), pixels, "pixels")
        lost = server.ask("histogram", pixels=100)["lost"]
    check(0 < sum(lost) < 50, f"lost: {lost}")


@test
def events_are_those_that_print_prints():
    trace = handmade()
    expected = printed(trace)
    with view(trace) as server:
        got = []
        at = 0
        while True:
            answer = server.ask("events", **{"from": at, "n": 97})
            got += [e for e in answer["events"] if e["t"] >= at]
            if not answer["more"]:
                break
            at = got[-1]["t"] + 1
        check_equal([(e["t"] + 1000, e["name"], e["cpu"], e["fields"]["a"])
                     for e in got],
                    [(e["time_ns"], e["event"], e["cpu"], e["payload"]["a"])
                     for e in expected], "events")
        last = server.ask("events", direction=-1, n=5)["events"]
        check_equal([e["t"] + 1000 for e in last],
                    [e["time_ns"] for e in expected[-5:]], "the last ones")
        odd = server.ask("events", filter='text == "<*>" && a > 500', n=2000)
        check_equal([e["fields"]["a"] for e in odd["events"]],
                    [e["payload"]["a"] for e in expected
                     if e["event"] == "m:odd" and e["payload"]["a"] > 500],
                    "those that a filter chooses")
        check_equal(odd["events"][0]["text"],
                    'a = {a}, text = "<{a}>"'.format(
                        a=odd["events"][0]["fields"]["a"]), "text")
        status, why = server.refused("events", filter="a > 5 && bb == 1")
        check_equal((status, why["at"]), (400, 10), f"filter: {why}")


# ---- who is answered ----

@test
def only_the_page_is_answered():
    with view(handmade()) as server:
        ours = ("Host", f"127.0.0.1:{server.port}")
        path = urllib.parse.urlsplit(server.url).path
        page = ("Origin", f"http://127.0.0.1:{server.port}")
        for status, url, headers in (
                (200, path, [ours]),
                (200, path + "api/trace", [ours, page]),
                (200, path, [("Host", f"localhost:{server.port}")]),
                (301, path[:-1], [ours]),
                (403, path, []),
                (403, path, [("Host", f"example.org:{server.port}")]),
                (403, path, [("Host", "127.0.0.1:1")]),
                (403, path, [ours, ("Origin", "http://example.org")]),
                (403, path, [ours, ("Origin", "null")]),
                (403, path, [ours, ("Origin", page[1].replace("http:",
                                                              "https:"))]),
                (403, "/", [ours]),
                (403, "/api/trace", [ours]),
                (403, path[:-2] + "/", [ours]),
                (403, path[:-2] + ("1" if path[-2] == "0" else "0") + "/",
                 [ours]),
                (404, path + "../../etc/passwd", [ours]),
                (404, path + "api/nothing", [ours]),
                (400, path + "api/events?n=0", [ours]),
                (400, path + "api/events?n=1&n=2", [ours]),
                (400, path + "api/events?n=%", [ours]),
                (400, path + "api/histogram?pixels=9000000000", [ours]),
                (400, path + "api/histogram?pixels=10&from=5&to=5", [ours]),
                (414, path + "api/events?filter=" + "a" * 20000, [ours])):
            check_equal(server.status(url, headers), status,
                        f"{url[:60]} {headers}")
        check_equal(server.status(path, [ours], "DELETE"), 405, "DELETE")


@test
def it_listens_on_this_machine_only():
    with view(handmade()) as server:
        with open("/proc/net/tcp", encoding="ascii") as table:
            lines = [line.split() for line in table]
        local = [words[1] for words in lines
                 if words[1].endswith(f":{server.port:04X}") and
                 words[3] == "0A"]
        check_equal(local, [f"0100007F:{server.port:04X}"], "listens")


@test
def what_cannot_be_is_said():
    done = run(SONDE, "view", "--no-browser", scratch())
    check_equal(done.returncode, 1, "no trace")
    check("sonde: " in done.stderr, done.stderr)
    trace = handmade()
    with view(trace) as server:
        done = run(SONDE, "view", "--port", str(server.port), trace)
        check_equal(done.returncode, 1, "port")
        check("is in use" in done.stderr, done.stderr)
    for port in "0", "65536", "x":
        done = run(SONDE, "view", "--port", port, trace)
        check_equal(done.returncode, 2, f"--port {port}: {done.stderr}")


install()
main()
