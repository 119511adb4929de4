#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_remedies.py - what `sonde doctor` advises helps, and without it, things
are as bad as it says.

Remounts tracefs and locks the kernel down, so it runs in a guest of
tools/check-vm only."""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from sonde import SONDE, check, install, run, scratch  # noqa: E402
from harness import Skip, check_equal, main, test  # noqa: E402

TRACEFS = pathlib.Path("/sys/kernel/tracing")
USER, GROUP = 12345, 23456
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(GROUP),
           "--clear-groups"]


def doctor(*prefix, sonde=SONDE):
    done = run(*prefix, sonde, "doctor", "--json")
    check_equal(done.returncode, 0, f"status: {done.stderr}")
    return {p["part"]: p for p in json.loads(done.stdout)["parts"]}


def follow(remedy):
    """Runs a remedy of the user's as root: what his shell would put into it is
    put in here."""
    command = remedy.split("or: ")[-1].replace("sudo ", "")
    command = command.replace("$(id -g)", str(GROUP))
    command = command.replace("$USER", str(USER))
    check_equal(run("sh", "-c", command).returncode, 0, command)


def as_user(command):
    """Whether it works for him."""
    return run(*AS_USER, "sh", "-c", command).returncode == 0


def usable_sonde():
    """A copy that others may run."""
    directory = scratch()
    directory.chmod(0o755)
    directory.parent.chmod(0o755)
    return shutil.copy(SONDE, directory / "sonde")


def unmounted(path):
    check_equal(ctypes.CDLL(None).umount2(str(path).encode(), 2), 0, "umount")


@test
def root_has_all_there_is():
    parts = doctor()
    for name in ("programs", "tracefs", "tracefs-clock", "syscalls",
                 "children", "kprobes", "uprobes", "bpf", "bpf-rings", "btf",
                 "iterators"):
        check_equal(parts[name]["able"], "yes", f"{name}: {parts[name]}")


@test
def tracefs_is_mounted_by_the_remedy():
    unmounted(TRACEFS)
    unmounted(TRACEFS.parent / "debug")
    part = doctor()["tracefs"]
    check_equal(part["able"], "no", "tracefs")
    follow(part["remedy"])
    check((TRACEFS / "instances").exists(), "not mounted")
    check_equal(doctor()["tracefs"]["able"], "yes", "tracefs")


@test
def tracefs_is_opened_to_a_user_by_the_remedy():
    sonde = usable_sonde()
    parts = doctor(*AS_USER, sonde=sonde)
    check_equal(parts["tracefs"]["able"], "no", "tracefs")
    instance = TRACEFS / f"instances/sonde-{os.getpid()}-1"
    check(not as_user(f"mkdir {instance}"), "he could do it all the time")
    follow(parts["tracefs"]["remedy"])
    parts = doctor(*AS_USER, sonde=sonde)
    for name in ("tracefs", "tracefs-clock", "syscalls", "children"):
        check_equal(parts[name]["able"], "yes", f"{name}: {parts[name]}")
    check(as_user(f"mkdir {instance} && "
                  f"echo 64 >{instance}/buffer_size_kb && "
                  f"echo 1 >{instance}/events/sched/sched_switch/enable && "
                  f"echo 1 >{instance}/set_event_pid && "
                  f"head -c 1 {instance}/per_cpu/cpu0/stats && "
                  f"rmdir {instance}"), "he can't use it")


@test
def probes_are_opened_to_a_user_by_the_remedy():
    sonde = usable_sonde()
    for name, probe in (("uprobes", "p:sonde_{}/u /bin/true:0x1000"),
                        ("kprobes", "p:sonde_{}/k do_sys_openat2")):
        part = doctor(*AS_USER, sonde=sonde)[name]
        check_equal(part["able"], "no", name)
        follow(part["remedy"])
        check_equal(doctor(*AS_USER, sonde=sonde)[name]["able"], "yes", name)
        file = TRACEFS / f"{name[:-1]}_events"
        line = probe.format(os.getpid())
        check(as_user(f"echo '{line}' >>{file}"), f"{name}: he can't")
        check(as_user(f"echo '-{line.split()[0][1:]}' >>{file}"), "remove")


@test
def bpf_is_given_to_a_user_by_the_remedy():
    sonde = usable_sonde()
    parts = doctor(*AS_USER, sonde=sonde)
    check_equal(parts["bpf"]["able"], "no", "bpf")
    follow(parts["bpf"]["remedy"])
    parts = doctor(*AS_USER, sonde=sonde)
    for name in ("bpf", "bpf-rings", "iterators"):
        check_equal(parts[name]["able"], "yes", f"{name}: {parts[name]}")


@test
def one_capability_of_two_is_not_enough():
    sonde = usable_sonde()
    for given, missing in (("cap_bpf", "CAP_PERFMON"),
                           ("cap_perfmon", "CAP_BPF")):
        run("setcap", f"{given}+ep", sonde)
        part = doctor(*AS_USER, sonde=sonde)["bpf"]
        check_equal((part["able"], part["why"]), ("no", f"no {missing}"),
                    given)


@test
def a_capability_counts_not_on_a_file_system_mounted_nosuid():
    place = scratch() / "nosuid"
    place.mkdir()
    check_equal(run("mount", "-t", "tmpfs", "-o", "nosuid", "tmpfs",
                    place).returncode, 0, "mount")
    sonde = shutil.copy(SONDE, place / "sonde")
    place.parent.chmod(0o755)
    place.parent.parent.chmod(0o755)
    remedy = doctor(*AS_USER, sonde=sonde)["bpf"]["remedy"]
    check("setcap" not in remedy and "root" in remedy, remedy)
    unmounted(place)


@test
def the_rate_of_the_clock_is_told_by_the_remedy():
    sonde = usable_sonde()
    level = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
    level.write_text("3")
    part = doctor(*AS_USER, sonde=sonde)["clock-rate"]
    if doctor()["clock-rate"]["able"] != "yes":
        raise Skip("the kernel does not tell it to root either")
    check_equal(part["able"], "partly", str(part))
    follow(part["remedy"])
    check_equal(doctor(*AS_USER, sonde=sonde)["clock-rate"]["able"], "yes",
                "clock-rate")


@test
def a_container_is_seen():
    done = run("unshare", "--pid", "--fork", SONDE, "doctor", "--json")
    parts = {p["part"]: p for p in json.loads(done.stdout)["parts"]}
    check_equal(parts["container"]["able"], "partly", "container")
    check("PID" in parts["container"]["why"], parts["container"])
    done = run(*AS_USER, "unshare", "--user", "--map-root-user",
               usable_sonde(), "doctor", "--json")
    parts = {p["part"]: p for p in json.loads(done.stdout)["parts"]}
    check("user" in parts["container"]["why"], parts["container"])
    check_equal(parts["bpf"]["able"], "no", "bpf")
    check("in spite of" in parts["bpf"]["why"], parts["bpf"])


@test
def zz_confidentiality_takes_tracefs_and_is_told():
    """The last one: there is no way back."""
    lockdown = pathlib.Path("/sys/kernel/security/lockdown")
    if not lockdown.exists():
        raise Skip("this kernel can't be locked down")
    lockdown.write_text("confidentiality")
    parts = doctor()
    check_equal(parts["lockdown"]["able"], "no", "lockdown")
    try:
        (TRACEFS / "trace_clock").read_text()
        closed = False
    except PermissionError:
        closed = True
    check(closed, "tracefs can be read in spite of lockdown")
    check_equal(parts["tracefs"]["able"], "no", f"{parts['tracefs']}")


if not os.path.exists("/mnt/share/job"):
    sys.exit("test_remedies.py: for guests of tools/check-vm only")
install()
main()
