# SPDX-License-Identifier: MIT
"""guest.py - a stock Debian kernel in QEMU, with this machine's root over 9p.

    kernel = Cache(folder).kernel("6.1")    # resolved, downloaded, unpacked
    status = Guest(kernel, share).run("uname -r", limit_s=60)

Nothing is installed and no privilege is needed: packages are downloaded and
unpacked into the cache, the initial file system is packed here (busybox, the
modules for 9p, `init`), and the guest sees this machine's files read-only, so
every program of the host can be run in it. A guest that panics, hangs or never
starts is an error, never a success: the status comes back through a file of the
share that is not there before.
"""

import ctypes
import gzip
import lzma
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
BUSYBOX = "/bin/busybox"

# The kernels, by the names we use: what Debian's packages are called.
KERNELS = {
    "6.1": r"linux-image-6\.1\.0-\d+-amd64",
    "6.1-rt": r"linux-image-6\.1\.0-\d+-rt-amd64",
    "6.12": r"linux-image-6\.12\.\d+\+deb\d+-amd64",
}

# What a guest needs to mount its root, in the order of loading. Those that a
# kernel has built in, or does not have any more, have no file.
MODULES = """
drivers/virtio/virtio_ring drivers/virtio/virtio
drivers/virtio/virtio_pci_legacy_dev drivers/virtio/virtio_pci_modern_dev
drivers/virtio/virtio_pci fs/netfs/netfs fs/fscache/fscache net/9p/9pnet
net/9p/9pnet_virtio fs/9p/9p fs/overlayfs/overlay
""".split()

BOOT_LIMIT_S = 300
KVM_LIMIT_S = 20


class Problem(Exception):
    """A guest that can't be run: what is missing and what helps."""


def numbers(name):
    return [int(n) for n in re.findall(r"\d+", name)]


class Kernel:
    def __init__(self, name, version, folder):
        self.name = name
        self.version = version
        self.image = folder / f"boot/vmlinuz-{version}"
        self.modules = folder / f"lib/modules/{version}/kernel"
        self.initrd = folder / "initrd.gz"


class Cache:
    """Packages and what was unpacked of them; may be thrown away."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)

    def kernel(self, name):
        package = self._package(name)
        version = package.removeprefix("linux-image-")
        folder = self.folder / version
        kernel = Kernel(name, version, folder)
        if not kernel.image.exists():
            self._unpack(package, folder)
        if not kernel.image.exists() or not kernel.modules.exists():
            raise Problem(f"{package} holds no kernel; rm -r {folder}")
        pack_initrd(kernel)
        return kernel

    def _debs(self):
        """Packages in the cache: name -> file."""
        return {f.name.split("_")[0]: f for f in self.folder.glob("*.deb")}

    def _package(self, name):
        """The newest one that apt knows; without apt, that there is."""
        wanted = re.compile(KERNELS[name])
        known = subprocess.run(["apt-cache", "pkgnames", "linux-image-"],
                               stdout=subprocess.PIPE, check=False,
                               stderr=subprocess.DEVNULL, text=True).stdout
        names = [n for n in known.split() if wanted.fullmatch(n)]
        names = names or [n for n in self._debs() if wanted.fullmatch(n)]
        if not names:
            raise Problem(f"apt knows no kernel {name}: sudo apt-get update, "
                          "or use Debian 12")
        return max(names, key=numbers)

    def _unpack(self, package, folder):
        if package not in self._debs():
            run = subprocess.run(["apt-get", "-q", "-o",
                                  "APT::Sandbox::User=", "download", package],
                                 cwd=self.folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
            if run.returncode or package not in self._debs():
                raise Problem(f"can't download {package}:\n{run.stdout}")
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        subprocess.run(["dpkg", "-x", self._debs()[package], partial],
                       check=True)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)


def cpio_entry(name, mode, data=b""):
    """A file as `newc` archives have it: 13 numbers of 8 digits."""
    path = name.encode() + b"\0"
    head = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0]
    text = b"070701" + "".join(f"{n:08X}" for n in head).encode() + path
    text += bytes(-len(text) % 4)
    return text + data + bytes(-len(data) % 4)


def module_bytes(path):
    """Some kernels have their modules compressed; None if there is none."""
    plain, packed = pathlib.Path(f"{path}.ko"), pathlib.Path(f"{path}.ko.xz")
    if plain.exists():
        return plain.read_bytes()
    return lzma.decompress(packed.read_bytes()) if packed.exists() else None


def busybox():
    try:
        data = pathlib.Path(BUSYBOX).read_bytes()
    except OSError:
        data = b"ld-linux"
    if b"ld-linux" in data[:4096]:
        raise Problem("no busybox without libraries: "
                      "sudo apt-get install busybox-static")
    return data


def pack_initrd(kernel):
    folder, program = 0o040755, 0o100755
    archive = cpio_entry("bin", folder) + cpio_entry("modules", folder)
    archive += cpio_entry("bin/busybox", program, busybox())
    archive += cpio_entry("init", program, (HERE / "init").read_bytes())
    for order, name in enumerate(MODULES):
        data = module_bytes(kernel.modules / name)
        if data is not None:
            archive += cpio_entry(f"modules/{order:02}.ko", program, data)
    archive += cpio_entry("TRAILER!!!", 0)
    kernel.initrd.write_bytes(gzip.compress(archive, 1))


def die_with_parent():
    """Between fork and exec: if we are killed, no guest runs on."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


class Guest:
    """Runs shell scripts as root. `share` is a folder for its input and output;
    `keep` are folders the guest must see though they are below /tmp, say."""

    def __init__(self, kernel, share, keep=()):
        self.kernel = kernel
        self.share = pathlib.Path(share)
        self.console = self.share / "console.log"
        (self.share / "keep").write_text("".join(f"{k}\n" for k in keep))

    def command(self, accel):
        clock = "tsc=reliable clocksource=tsc"
        return ["qemu-system-x86_64", "-accel", accel, "-cpu", "max",
                "-smp", "2", "-m", "2048", "-display", "none", "-nodefaults",
                "-no-reboot", "-serial", "stdio",
                "-kernel", self.kernel.image, "-initrd", self.kernel.initrd,
                "-append", f"console=ttyS0 quiet panic=-1 oops=panic {clock}",
                *self._folder("/", "root", ",readonly=on"),
                *self._folder(self.share, "share")]

    @staticmethod
    def _folder(path, tag, more=""):
        return ["-virtfs", f"local,path={path},mount_tag={tag},"
                f"security_model=none,multidevs=remap{more}"]

    def _boot(self, accel, boot_limit_s):
        """Starts it; the process once its user space is up, or None."""
        up = self.share / "up"
        up.unlink(missing_ok=True)
        with open(self.console, "wb") as console:
            process = subprocess.Popen(self.command(accel), stdout=console,
                                       stdin=subprocess.DEVNULL,
                                       stderr=subprocess.STDOUT,
                                       preexec_fn=die_with_parent)
        end = time.monotonic() + boot_limit_s
        while process.poll() is None and time.monotonic() < end:
            if up.exists():
                return process
            time.sleep(0.05)
        if up.exists():
            return process
        process.kill()
        process.wait()
        return None

    def _start(self):
        """With KVM if it works: where it is broken, /dev/kvm may exist. Else
        with one thread for all CPUs: with one for each, QEMU 7.2 ran code that
        the kernel had changed meanwhile, as it does when tracepoints are
        switched on, and the kernel stopped ("Oops: int3")."""
        if os.access("/dev/kvm", os.R_OK | os.W_OK):
            process = self._boot("kvm", KVM_LIMIT_S)
            if process:
                return process
        process = self._boot("tcg,thread=single", BOOT_LIMIT_S)
        if not process:
            raise Problem(f"it does not start: {self.last_words()}")
        return process

    def run(self, job, limit_s):
        """Runs the text as a shell script; its exit status."""
        status = self.share / "status"
        status.unlink(missing_ok=True)
        (self.share / "job").write_text(job)
        process = self._start()
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise Problem(f"still running after {limit_s} s") from None
        finally:
            process.kill()
            process.wait()
        if not status.exists():
            raise Problem(f"it ended without a status: {self.last_words()}")
        return int(status.read_text())

    def is_up(self):
        """Whether its user space was reached."""
        return (self.share / "up").exists()

    def keep_console(self, number):
        """Before it is started again."""
        self.console.rename(self.share / f"console.{number}.log")

    def last_words(self):
        lines = self.console.read_text(errors="replace").splitlines()
        panics = [line for line in lines if "Kernel panic" in line]
        return (panics or lines or ["it said nothing"])[-1].strip()
