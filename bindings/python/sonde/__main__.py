# SPDX-License-Identifier: MIT
"""python3 -m sonde [OPTION...] [--] SCRIPT [ARG...] - runs a program in Python with its
functions recorded (sonde.Monitor), without a change to it."""

import argparse
import os
import runpy
import sys

from . import Monitor


def _arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m sonde", allow_abbrev=False,
        description="Runs a program in Python; what it calls is recorded, by 'sonde "
                    "record -- python3 -m sonde ...'.")
    parser.add_argument("--functions", default="*", metavar="GLOB",
                        help="only those whose name (Class.method) is like that")
    parser.add_argument("--files", default="*", metavar="GLOB",
                        help="only those of files whose name is like that")
    parser.add_argument("--lines", action="store_true",
                        help="also each line that is begun")
    parser.add_argument("--exceptions", action="store_true",
                        help="also each exception, where it is raised")
    parser.add_argument("-m", dest="is_module", action="store_true",
                        help="SCRIPT is a module's name")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="ARG")
    return parser.parse_args()


def _main():
    words = _arguments()
    monitor = Monitor(words.functions, words.files, lines=words.lines,
                      exceptions=words.exceptions)
    sys.argv = [words.script, *words.args]
    try:
        if words.is_module:
            runpy.run_module(words.script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(words.script))
            runpy.run_path(words.script, run_name="__main__")
    finally:
        monitor.close()


if __name__ == "__main__":
    _main()
