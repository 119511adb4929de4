# SPDX-License-Identifier: MIT
"""machine.py - a kernel's trace by chance: two CPUs and six threads, of which it is
known what each was doing when.
"""

import random

from handmade import Handmade, Layout

SWITCH = [("prev_comm", "string", 8), ("prev_tid", 32, 8), ("prev_prio", 32, 8),
          ("prev_state", 64, 8), ("next_comm", "string", 8),
          ("next_tid", 32, 8), ("next_prio", 32, 8)]
KERNEL = Layout(header=[("id", 16, 8), ("time", 64, 8)],
                events={"sched_switch": SWITCH,
                        "sched_waking": [("comm", "string", 8), ("tid", 32, 8),
                                         ("prio", 32, 8),
                                         ("target_cpu", 32, 8)]})
RUNNING, READY, PREEMPTED, BLOCKED, LOST = 1, 2, 3, 4, 255
IDLE = 7


class Machine:
    """Two CPUs, six threads, chance, and what each row was doing since when."""

    def __init__(self, seed, nr):
        chance = random.Random(seed)
        self.events = {0: [], 1: []}
        self.now = 1000
        self.states = {tid: [] for tid in range(1, 7)}  # (since, state, about)
        self.cpus = {0: [], 1: []}
        running = {0: 0, 1: 0}
        for _ in range(nr):
            self.now += chance.randrange(1, 400)
            cpu = chance.randrange(2)
            blocked = self.in_state(BLOCKED)
            if blocked and chance.random() < 0.4:
                self.wake(cpu, chance.choice(blocked), running[cpu])
            else:
                waiting = [0] + self.in_state(READY, PREEMPTED, None)
                tid = chance.choice([t for t in waiting
                                     if t != running[cpu]] or [0])
                if tid != running[cpu]:
                    self.switch(cpu, running[cpu], tid, chance.randrange(2))
                    running[cpu] = tid

    def in_state(self, *states):
        return [tid for tid, told in self.states.items()
                if (told[-1][1] if told else None) in states]

    def wake(self, cpu, tid, waker):
        self.events[cpu].append((self.now, "sched_waking", {
            "comm": f"t{tid}", "tid": tid, "prio": 20, "target_cpu": cpu}))
        self.states[tid].append((self.now, READY, waker))

    def switch(self, cpu, prev, tid, state):
        self.events[cpu].append((self.now, "sched_switch", {
            "prev_comm": f"t{prev}", "prev_tid": prev, "prev_prio": 20,
            "prev_state": state, "next_comm": f"t{tid}", "next_tid": tid,
            "next_prio": 20}))
        if prev:
            self.states[prev].append(
                (self.now, BLOCKED if state else PREEMPTED, None))
        if tid:
            self.states[tid].append((self.now, RUNNING, cpu))
        self.cpus[cpu].append((self.now, RUNNING if tid else IDLE, tid))

    def write(self, lost_in=None, packets=None):
        """The trace; in that packet of CPU 1 events are lost. Or so many packets
        of each CPU."""
        trace = Handmade(KERNEL)
        for cpu, events in self.events.items():
            with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
                for at in range(0, len(events), 50)[:packets]:
                    part = events[at:at + 50]
                    lost = cpu and lost_in is not None and at // 50 >= lost_in
                    with stream.packet(part[0][0], part[-1][0],
                                       discarded=3 * lost):
                        for time, name, fields in part:
                            stream.event(name, time, **fields)
        return trace.dir

    def known(self, told, time):
        """What was told last by then, and since when; None: nothing."""
        before = [entry for entry in told if entry[0] <= time]
        return before[-1] if before else None
