# SPDX-License-Identifier: MIT
"""viewed.py - `sonde view` of a trace, and the questions of a page, as tests ask
them."""

import contextlib
import http.client
import json
import signal
import struct
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from sonde import SONDE
from harness import check, check_equal


def frame(server, **params):
    """By row: a list of (x, width, state, share)."""
    return {row: [run[:4] for run in runs]
            for row, runs in named_frame(server, **params).items()}


def named_frame(server, **params):
    """The same, with the number of a name."""
    data = server.raw("api/frame", **params)
    rows = {}
    at = 0
    while at < len(data):
        row, nr = struct.unpack_from("<II", data, at)
        rows[row] = list(struct.iter_unpack("<HHBBH",
                                            data[at + 8:at + 8 + 8 * nr]))
        at += 8 + 8 * nr
    return rows


class Server:
    """`sonde view` of a trace, or as a process that is there, and the questions
    of a page."""

    def __init__(self, trace, *options, process=None):
        self.process = process or subprocess.Popen(
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

    def note(self, **params):
        """A change of notes, and all there are then."""
        request = urllib.request.Request(
            f"{self.url}api/note?{urllib.parse.urlencode(params)}",
            method="POST",
            headers={"Origin": f"http://127.0.0.1:{self.port}"})
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())["notes"]

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
