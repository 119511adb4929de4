# SPDX-License-Identifier: MIT
"""marked.py - words for `sonde mark`, and the fields that they are, by whichever way
the event comes."""

VALUES = ("job:done", "n=-7", "big=18446744073709551615", "least=-9223372036854775808",
          "mask=0xff", "part=2.5", "small=1e-3", "who=Ada Lovelace", "empty=",
          "equals=a=b", "odd=1.2.3", "more=18446744073709551616")
RECORDED = {"n": -7, "big": 2**64 - 1, "least": -2**63, "mask": 255,
            "part": 2.5, "small": 0.001, "who": "Ada Lovelace", "empty": "",
            "equals": "a=b", "odd": "1.2.3", "more": "18446744073709551616"}
