# SPDX-License-Identifier: MIT
"""_marks - events as lines of text, for programs that have no libsonde
(docs/marks.md, docs/python.md).

SONDE_MARK names where to: a file to which each line is written by one call, or the
socket of a session by name. `state[0]` is 1 while there is such a place. Nobody
waits for who records, and what is lost on the way is told by a line of its own,
sonde_mark:lost, before the next event or at the program's end: the recorder adds it to
what the trace has lost. What the kernel has counted isn't told a second time.

The file is opened for each line: a program that closes all its descriptors, forks
or changes its user has no stale one, and no recording's file is kept from going.
Where it can't be opened any more the recording has ended, and so do the events.

At the socket, lines are sent as long as there is room for them; answers are read
when the next one is sent. Whoever finds another one sending, be it a thread or
itself below a handler of signals, leaves its line to that one. At the program's
end the answers that are missing are waited for, _EXIT_S seconds at most.

Cost: three system calls at the file, two at the socket.
"""

import atexit
import collections
import errno
import json
import os
import socket
import stat
import struct
import threading
import time

_DOOR_MAX = 1000     # bytes of a line that every kernel takes as a whole
_LINE_MAX = 4096     # that a recorder takes,
_REQUEST_MAX = 8192  # in a request of so many
_WAITING_MAX = 1000  # lines that are left to who is sending
_EXIT_S = 1

state = [0]


class TooLong(ValueError):
    """Of a line."""

    def __init__(self, size, most):
        super().__init__(f"its line takes {size} bytes, and there is room for {most}")


class _Account:
    """Of the events of this process that are known to have come nowhere."""

    def __init__(self):
        self.begin()

    def begin(self):
        self.lost = 0
        self._untold = 0
        # A handler of signals may come between what it guards, and add to it.
        self._lock = threading.RLock()
        self._telling = threading.Lock()

    def lose(self, count=1, is_told=False):
        with self._lock:
            self.lost += count
            self._untold += 0 if is_told else count

    def tell(self, send):
        """By send(line), which says whether the line is on its way."""
        if not self._untold or not self._telling.acquire(False):
            return
        try:
            untold = self._untold
            if send(begin(4, f"sonde_mark:lost events={untold}\n")):
                with self._lock:
                    self._untold -= untold
        finally:
            self._telling.release()


_account = _Account()


def lost():
    """How many these are."""
    return _account.lost


# ---- the file ----

class _File:
    def __init__(self, path):
        self._path = path
        atexit.register(self._tell)

    def _tell(self):
        if state[0]:  # else the door may be another recording's
            _account.tell(lambda told: not self._write(told.encode()))

    def say(self, line):
        data = line.encode("utf-8", "surrogateescape")
        if len(data) > _DOOR_MAX:
            raise TooLong(len(data), _DOOR_MAX)
        self._tell()
        error = self._write(data)
        if error:  # the kernel itself counts what it has no room for
            _account.lose(is_told=error == errno.EBADF)

    def _write(self, data):
        """0, or the error's number."""
        try:
            door = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC |
                           os.O_NONBLOCK | os.O_NOCTTY)
        except OSError as why:
            # A program with too many open files may have fewer later.
            state[0] = int(why.errno in (errno.EMFILE, errno.ENFILE))
            return why.errno
        try:
            return 0 if os.write(door, data) == len(data) else errno.EMSGSIZE
        except OSError as why:
            return why.errno
        finally:
            os.close(door)


# ---- the recorder's socket ----

def _is_ours(connection):
    """The recorder is its user's or root's, whoever has made the file."""
    of = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return struct.unpack("=iII", of)[1] in (0, os.geteuid())


def _request(line):
    # What of a string isn't UTF-8 becomes a question mark.
    text = line.encode("utf-8", "replace")
    data = json.dumps({"sonde": 1, "do": "mark", "text": text.decode()},
                      ensure_ascii=False).encode() + b"\n"
    if len(text) > _LINE_MAX or len(data) > _REQUEST_MAX:
        raise TooLong(max(len(text), len(data) // 2), _LINE_MAX)
    return data


class _Recorder:
    def __init__(self, path):
        self._path = path
        self._begin()
        os.register_at_fork(after_in_child=self._begin)
        atexit.register(self._end)

    def _begin(self):
        """A child has a connection of its own, which says which process it is."""
        self._connection = None
        self._waiting = collections.deque()
        self._lock = threading.Lock()
        self._nr_unanswered = 0

    def say(self, line):
        data = _request(line)
        if len(self._waiting) >= _WAITING_MAX:
            _account.lose()
            return
        self._waiting.append(data)
        while self._waiting and self._lock.acquire(False):
            try:
                while self._waiting:
                    self._send(self._waiting.popleft())
            finally:
                self._lock.release()

    # What follows is done by who has the lock.

    def _send(self, data):
        _account.tell(self._try_line)
        if not self._try(data):
            _account.lose()

    def _try_line(self, line):
        return self._try(_request(line))

    def _try(self, data):
        """Whether it is with the recorder, which may have given our connection
        to another program: there is a new one, then."""
        for _ in range(2):
            try:
                if not self._connection:
                    self._connection = self._connect()
                self._take_answers()
                if self._connection.send(data) == len(data):
                    self._nr_unanswered += 1
                    return True
                self._drop()  # half a line is none
            except BlockingIOError:
                return False
            except OSError:
                if not self._connection:  # nobody is there
                    state[0] = 0
                    return False
                self._drop()
        return False

    def _connect(self):
        connection = socket.socket(socket.AF_UNIX,
                                   socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            connection.connect(self._path)
            if not _is_ours(connection):
                raise PermissionError
        except OSError:
            connection.close()
            raise
        return connection

    def _drop(self):
        """Lines that it hasn't answered were not heard."""
        self._connection.close()
        self._connection = None
        _account.lose(self._nr_unanswered)
        self._nr_unanswered = 0

    def _take_answers(self):
        """Those that are there. What is refused isn't selected, or is counted."""
        try:
            while self._nr_unanswered:
                data = self._connection.recv(65536)
                if not data:
                    raise ConnectionResetError
                self._nr_unanswered -= data.count(b"\n")
        except BlockingIOError:
            pass

    def _end(self):
        """Those on their way are to arrive while the recorder can ask who we are."""
        until = time.monotonic() + _EXIT_S
        if not self._connection or not self._lock.acquire(timeout=_EXIT_S):
            return
        try:
            self._wait(until)
            _account.tell(self._try_line)
            self._wait(until)
        except OSError:
            self._drop()

    def _wait(self, until):
        while self._nr_unanswered:
            self._connection.settimeout(max(until - time.monotonic(), 0.001))
            data = self._connection.recv(65536)
            if not data:
                raise ConnectionResetError
            self._nr_unanswered -= data.count(b"\n")


# ---- lines ----

_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"})


def quoted(text):
    """A string ends at its first NUL."""
    return '"' + text.partition("\0")[0].translate(_ESCAPES) + '"'


def real(value):
    """Infinity is a number too large for any; for what is no number there is none,
    and it is a text."""
    return repr(value).replace("inf", "1e999")


def begin(level, name):
    """How lines of an event begin."""
    return f"<{level}>{name}"


# ---- where to ----

def _find():
    path = os.environ.get("SONDE_MARK")
    if not path or (os.getuid(), os.getgid()) != (os.geteuid(), os.getegid()):
        return None
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    return (_Recorder if stat.S_ISSOCK(mode) else _File)(path)


def look():
    """Where events go to, from now on; None: nowhere."""
    way = _find()
    if not way:
        return None
    state[0] = 1
    os.register_at_fork(after_in_child=_account.begin)
    return way.say
