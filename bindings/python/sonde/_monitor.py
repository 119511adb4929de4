# SPDX-License-Identifier: MIT
"""_monitor - calls, lines and exceptions of Python's functions as events, by the
interpreter's own sys.monitoring (Python 3.12 and later; docs/python.md).

A Monitor has one of the interpreter's six places for tools while it is open, and asks
for no event but those that it records. The interpreter calls it for each; code that
isn't selected is turned off where it is met first, and costs nothing from then on. What
can't be turned off, as an exception that goes through a function can't, is looked up by
the function's names. While nobody records, a call of the interpreter's is made, and
returns.

Nothing of the program is called: an exception's text is its first argument, if that is
a str, and not what its class makes of it. A call that has no frames left for ours is told
of by the next one that has, sonde_python:failed; only the call of the interpreter's itself
can't be caught, so that a program which recurses to its limit meets it one frame earlier.
Threads, generators and coroutines are all of
the interpreter's; a generator is entered and left each time that it goes on.
"""

import enum
import fnmatch
import functools
import sys
import warnings

import sonde

_TOOLS = (3, 4, 0, 1, 2, 5)  # those that have no name in sys.monitoring first

_AGO = "sonde: {}: sys.monitoring, by which functions are recorded, came with 3.12. " \
    "Of a Python that was built with probes, as Debian's, " \
    "sonde record -e 'sdt:python:*' has calls without it"
_TAKEN = "sonde: functions are not recorded: the interpreter has places for six tools, " \
    "such as debuggers and profilers, and all are taken"


class Entered(enum.IntEnum):
    """How a function is entered."""
    CALLED = 0
    RESUMED = 1  # a generator or coroutine, which goes on
    THROWN = 2   # the same, with an exception


class Left(enum.IntEnum):
    """How it is left."""
    RETURNED = 0
    YIELDED = 1
    UNWOUND = 2  # by an exception


def _events():
    """Them, once in a process."""
    if not _made:
        make = sonde.Event
        where = {"function": str, "file": str, "line": int}
        _made.extend((make("python_code", "entry", **where, how=Entered),
                      make("python_code", "exit", **where, how=Left),
                      make("python_code", "line", **where),
                      make("python_code", "exception", **where, exception=str,
                           message=str)))
    return _made


_made = []


def _is_raised_here(error):
    """Or it comes from what was called; and in which line."""
    at = BaseException.__traceback__.__get__(error)  # a class may have its own
    if at is None:
        return True, 0
    return at.tb_next is None, at.tb_lineno


def _message(error):
    arguments = BaseException.args.__get__(error)
    return arguments[0] if arguments and type(arguments[0]) is str else ""


class Monitor:
    """Records which functions are entered and left while it is open; with `lines`, each
    line that is begun; with `exceptions`, each that is raised, where it is raised.

    Those functions whose qualified name is like `functions` (Class.method), of files
    whose name is like `files`; both are patterns of a shell. `missing` says why it can't
    be; then it records nothing.
    """

    def __init__(self, functions="*", files="*", *, lines=False, exceptions=False):
        self._tool = None
        self._nr_missed = 0
        self._calls = {}
        self._patterns = functions, files
        self._is_wanted = functools.lru_cache(4096)(self._match)
        self._entry, self._exit, self._line, self._exception = _events()
        self.missing = self._open(lines, exceptions)
        if self.missing:
            warnings.warn(self.missing, RuntimeWarning, stacklevel=2)

    def _match(self, function, file):
        functions, files = self._patterns
        return fnmatch.fnmatchcase(function, functions) and \
            fnmatch.fnmatchcase(file, files)

    def _wants(self, code):
        return self._is_wanted(code.co_qualname, code.co_filename)

    def _take_tool(self, monitoring):
        for tool in _TOOLS:
            try:
                monitoring.use_tool_id(tool, "sonde")
            except ValueError:
                continue
            return tool
        return None

    def _open(self, lines, exceptions):
        """None, or why it can't be."""
        monitoring = getattr(sys, "monitoring", None)
        if not monitoring:
            return _AGO.format("this is Python %d.%d" % sys.version_info[:2])
        self._tool = self._take_tool(monitoring)
        if self._tool is None:
            return _TAKEN
        self._calls = self._callbacks(monitoring, lines, exceptions)
        for event, call in self._calls.items():
            monitoring.register_callback(self._tool, event, call)
        # What the tool that had our place before has turned off is off for us, too.
        monitoring.restart_events()
        monitoring.set_events(self._tool, sum(self._calls))
        return None

    def _callbacks(self, monitoring, lines, exceptions):
        events = monitoring.events
        calls = {
            events.PY_START: self._on_entry(Entered.CALLED),
            events.PY_RESUME: self._on_entry(Entered.RESUMED),
            events.PY_THROW: self._on_throw,
            events.PY_RETURN: self._on_exit(Left.RETURNED),
            events.PY_YIELD: self._on_exit(Left.YIELDED),
            events.PY_UNWIND: self._on_unwind,
        }
        if lines:
            calls[events.LINE] = self._on_line
        if exceptions:
            calls[events.RAISE] = self._on_raise
        return calls

    def close(self):
        """Records no more. Again, it does nothing."""
        if self._tool is not None:
            sys.monitoring.set_events(self._tool, 0)
            for event in self._calls:
                sys.monitoring.register_callback(self._tool, event, None)
            sys.monitoring.free_tool_id(self._tool)
            if self._nr_missed:
                self._tell_missed()
        self._tool = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # What the interpreter calls. Only what is of one place in the code can be turned
    # off, by what is returned.

    def _say(self, event, code, line, **values):
        try:
            if self._nr_missed:
                self._tell_missed()
            event(function=code.co_qualname, file=code.co_filename, line=line,
                  **values)
        except RecursionError:
            self._nr_missed += 1

    def _tell_missed(self):
        nr = self._nr_missed
        sonde._fail("python_code", RecursionError(f"{nr} events had no room below "
                                                  "the limit of recursion"))
        self._nr_missed -= nr

    def _on_entry(self, how):
        disable = sys.monitoring.DISABLE

        def call(code, _offset):
            if not self._wants(code):
                return disable
            if self._entry.enabled:
                self._say(self._entry, code, code.co_firstlineno, how=how)
            return None
        return call

    def _on_exit(self, how):
        disable = sys.monitoring.DISABLE

        def call(code, _offset, _value):
            if not self._wants(code):
                return disable
            if self._exit.enabled:
                self._say(self._exit, code, code.co_firstlineno, how=how)
            return None
        return call

    def _on_throw(self, code, _offset, _error):
        if self._entry.enabled and self._wants(code):
            self._say(self._entry, code, code.co_firstlineno, how=Entered.THROWN)

    def _on_unwind(self, code, _offset, _error):
        if self._exit.enabled and self._wants(code):
            self._say(self._exit, code, code.co_firstlineno, how=Left.UNWOUND)

    def _on_line(self, code, line):
        if not self._wants(code):
            return sys.monitoring.DISABLE
        if self._line.enabled:
            self._say(self._line, code, line)
        return None

    def _on_raise(self, code, _offset, error):
        if not self._exception.enabled or not self._wants(code):
            return
        is_here, line = _is_raised_here(error)
        if is_here:
            self._say(self._exception, code, line,
                      exception=type(error).__qualname__, message=_message(error))
