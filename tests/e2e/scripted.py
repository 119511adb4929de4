# SPDX-License-Identifier: MIT
"""scripted.py - programs in Python that have events by the package sonde, with
libsonde or as if there were none."""

import os
import sys

from sonde import LIB, STAGE, pkg_config, scratch, skip_if_sanitized

WITHOUT_LIBSONDE = """
import ctypes
def CDLL(name):
    raise OSError(name + " is not here")
ctypes.CDLL = CDLL
"""


def environment():
    skip_if_sanitized("Python isn't built with it")
    directory, = pkg_config("--variable=pythondir")
    if not directory.startswith(str(STAGE)):
        directory = f"{STAGE}{directory}"
    return {"PYTHONPATH": directory, "LD_LIBRARY_PATH": str(LIB)}


def whole_environment():
    return {**os.environ, **environment()}


def script(text, before=""):
    path = scratch() / "script.py"
    path.write_text(f"import enum\nimport sys\n{before}import sonde\n{text}")
    return sys.executable, path
