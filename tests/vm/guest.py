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
import mmap
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUSYBOX = "/bin/busybox"


class Origin:
    """What Debian's package of a kernel is called, and where it comes from: by
    default from where this machine's packages come from."""

    def __init__(self, pattern, suites=(), arch="amd64"):
        self.pattern = re.compile(pattern)
        self.suites = suites
        self.arch = arch


# The kernels, by the names we use.
KERNELS = {
    "6.1": Origin(r"linux-image-6\.1\.0-\d+-amd64"),
    "6.1-rt": Origin(r"linux-image-6\.1\.0-\d+-rt-amd64"),
    "6.12": Origin(r"linux-image-6\.12\.\d+\+deb\d+-amd64"),
    "6.12-rt": Origin(r"linux-image-6\.12\.\d+\+deb\d+-rt-amd64"),
    "newest": Origin(r"linux-image-\d+\.\d+\.\d+\+deb13-amd64",
                     suites=("trixie", "trixie-backports")),
    "arm64": Origin(r"linux-image-6\.1\.0-\d+-arm64", arch="arm64",
                    suites=("bookworm", "bookworm-security")),
    "debug": None,  # built here: tests/vm/debug_kernel
}

# What a guest needs to mount its root, in the order of loading. Those that a
# kernel has built in, or does not have any more, have no file.
MODULES = """
drivers/virtio/virtio_ring drivers/virtio/virtio
drivers/virtio/virtio_pci_legacy_dev drivers/virtio/virtio_pci_modern_dev
drivers/virtio/virtio_pci fs/netfs/netfs fs/fscache/fscache net/9p/9pnet
net/9p/9pnet_virtio fs/9p/9p fs/overlayfs/overlay
""".split()

# Of debugging information, there are gigabytes: what tests and docs/ look at.
DEBUG_FILES = ("*/vmlinux*", "*/fs/ext4/ext4.ko", "*/fs/jbd2/jbd2.ko")

BOOT_LIMIT_S = 300
KVM_LIMIT_S = 20


class Problem(Exception):
    """A guest that can't be run: what is missing and what helps."""


def counter_khz():
    """The rate of this machine's time stamp counter."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE |
                     mmap.PROT_EXEC)
    # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    code.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(
        ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def pair():
        """The nearest of some, for anything may come between the two."""
        tries = [(time.monotonic_ns(), read(), time.monotonic_ns())
                 for _ in range(100)]
        before, counter, after = min(tries, key=lambda t: t[2] - t[0])
        return (before + after) / 2, counter
    since, first = pair()
    time.sleep(0.2)  # how long is measured, not believed
    until, last = pair()
    return round((last - first) * 1e6 / (until - since))


def numbers(name):
    return [int(n) for n in re.findall(r"\d+", name)]


class Kernel:
    """A kernel in `folder`, unpacked from packages or built."""

    def __init__(self, name, version, folder, arch="amd64"):
        self.name = name
        self.version = version
        self.folder = folder
        self.arch = arch
        # The second are the places of newer packages.
        self.image = first_of(folder / f"boot/vmlinuz-{version}",
                              folder / f"usr/lib/modules/{version}/vmlinuz")
        self.modules = first_of(folder / f"lib/modules/{version}/kernel",
                                folder / f"usr/lib/modules/{version}/kernel")
        self.initrd = folder / "initrd.gz"
        # What is shown in /usr/lib/debug, if it was asked for.
        self.debug = None
        # Whether this machine's programs can be run in it.
        self.is_bare = arch != "amd64"


def first_of(*paths):
    return next((p for p in paths if p.exists()), paths[0])


class Apt:
    """Packages, by a state of apt's own if they are not this machine's."""

    def __init__(self, folder, origin):
        self.options = ["-o", "APT::Sandbox::User="]
        self.state = None
        if origin.suites:
            self.state = folder / f"apt-{origin.suites[-1]}-{origin.arch}"
            self._own_state(self.state, origin)

    def _own_state(self, state, origin):
        for part in ("lists/partial", "cache/archives/partial"):
            (state / part).mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
        (state / "sources.list").write_text("".join(
            f"deb [signed-by={keyring}] {archive(suite)} {suite} main\n"
            for suite in origin.suites))
        self.options += [
            "-o", f"Dir::State::lists={state}/lists",
            "-o", f"Dir::State::status={state}/status",
            "-o", f"Dir::Cache={state}/cache",
            "-o", f"Dir::Etc::sourcelist={state}/sources.list",
            "-o", "Dir::Etc::sourceparts=/dev/null",
            "-o", f"APT::Architecture={origin.arch}",
            "-o", f"APT::Architectures={origin.arch}"]
        self._run("apt-get", "-q", "update")

    def _run(self, program, *words, cwd=None):
        return subprocess.run([program, *self.options, *words], cwd=cwd,
                              stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, text=True)

    def names(self, prefix):
        return self._run("apt-cache", "pkgnames", prefix).stdout.split()

    def depends(self, package):
        text = self._run("apt-cache", "depends", package).stdout
        return re.findall(r"^  Depends: ([^<:\s]+)", text, re.M)

    def fetch_all(self, package):
        """The files of it and of all that it needs: nothing is installed, by a state
        of apt's own."""
        run = self._run("apt-get", "-q", "-y", "--no-install-recommends",
                        "--download-only", "install", package)
        found = sorted((self.state / "cache/archives").glob("*.deb"))
        if run.returncode or not found:
            raise Problem(f"can't download {package}:\n{run.stdout}")
        return found

    def fetch(self, package, folder):
        """The package's file in the folder, downloaded if it is not there."""
        found = sorted(folder.glob(f"{package}_*.deb"))
        if not found:
            run = self._run("apt-get", "-q", "download", package, cwd=folder)
            found = sorted(folder.glob(f"{package}_*.deb"))
            if run.returncode or not found:
                raise Problem(f"can't download {package}:\n{run.stdout}")
        return found[-1]


def archive(suite):
    """Where this machine gets Debian's packages from."""
    uris = subprocess.run(["apt-get", "indextargets", "--format",
                           "$(SUITE) $(REPO_URI)", "Created-By: Packages"],
                          stdout=subprocess.PIPE, check=False, text=True)
    security = suite.endswith("-security")
    for line in uris.stdout.splitlines():
        _, _, uri = line.partition(" ")
        uri = uri.rstrip("/")
        if "debian" in uri and uri.endswith("-security") == security:
            return uri
    raise Problem(f"apt knows no archive for {suite}")


class Cache:
    """Packages and what was unpacked of them; may be thrown away. `debuginfo`:
    kernels have theirs, of DEBUG_FILES: a download of 0.9 GB."""

    def __init__(self, folder, debuginfo=False):
        self.folder = pathlib.Path(folder).absolute()
        self.debuginfo = debuginfo
        self.folder.mkdir(parents=True, exist_ok=True)

    def kernel(self, name):
        if name == "debug":
            kernel = self._debug_kernel()
        else:
            kernel = self._debian_kernel(name)
        if not kernel.image.exists():
            raise Problem(f"no kernel in {kernel.folder}; remove it")
        pack_initrd(kernel, self)
        if self.debuginfo:
            kernel.debug = (
                kernel.folder / "debuginfo" if name == "debug" else
                self._debuginfo(kernel) / "usr/lib/debug")
        return kernel

    def _debuginfo(self, kernel):
        folder = kernel.folder.with_name(f"debug-{kernel.version}")
        if not folder.exists():
            self._unpack_debuginfo(kernel, folder)
        return folder

    def _unpack_debuginfo(self, kernel, folder):
        """With an index for GDB, without which it takes minutes in a guest."""
        apt = Apt(self.folder, KERNELS[kernel.name])
        package = apt.fetch(f"linux-image-{kernel.version}-dbg", self.folder)
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        with subprocess.Popen(["dpkg", "--fsys-tarfile", package],
                              stdout=subprocess.PIPE) as packed:
            subprocess.run(["tar", "-x", "-C", partial, "--wildcards",
                            *DEBUG_FILES], stdin=packed.stdout, check=True)
        package.unlink()
        for file in partial.rglob("*"):
            if file.is_file() and not file.is_symlink():
                subprocess.run(["gdb-add-index", file], check=True)
        partial.rename(folder)

    def _debian_kernel(self, name):
        origin = KERNELS[name]
        apt = Apt(self.folder, origin)
        package = self._package(name, apt)
        version = package.removeprefix("linux-image-")
        folder = self.folder / version
        if not Kernel(name, version, folder).modules.exists():
            # Newer ones are in several packages.
            parts = [p for p in apt.depends(package) if p.endswith(version)]
            self._unpack([package, *parts], folder, apt)
        kernel = Kernel(name, version, folder, origin.arch)
        depmod = shutil.which("depmod", path="/usr/sbin:/sbin")
        if depmod and not (kernel.modules.parent / "modules.dep").exists():
            # As installing it does.
            subprocess.run([depmod, "-b", kernel.modules.parents[3], version],
                           check=True)
        return kernel

    def _debug_kernel(self):
        folder = self.folder / "debug"
        run = subprocess.run([HERE / "debug_kernel", folder], check=False)
        if run.returncode:
            raise Problem("the kernel for debugging can't be built")
        return Kernel("debug", "6.1-debug", folder)

    def _package(self, name, apt):
        """The newest one that apt knows; without apt, that there is."""
        wanted = KERNELS[name].pattern
        names = apt.names("linux-image-") + [
            f.name.split("_")[0] for f in self.folder.glob("*.deb")]
        names = [n for n in names if wanted.fullmatch(n)]
        if not names:
            raise Problem(f"apt knows no kernel {name}: sudo apt-get update, "
                          "or use Debian 12")
        return max(names, key=numbers)

    def _unpack(self, packages, folder, apt):
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        for package in packages:
            subprocess.run(["dpkg", "-x", apt.fetch(package, self.folder),
                            partial], check=True)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)

    def headers(self, kernel):
        """What modules for it are built against: its build folder."""
        if kernel.name == "debug":
            return kernel.folder / "build"
        folder = kernel.folder.with_name(f"headers-{kernel.version}")
        build = folder / f"usr/src/linux-headers-{kernel.version}"
        if not build.exists():
            self._unpack_headers(kernel, folder)
            # What they include, they look for where it would be installed.
            makefile = build / "Makefile"
            makefile.write_text(makefile.read_text().replace(
                "/usr/src/", f"{folder}/usr/src/"))
        return build

    def _unpack_headers(self, kernel, folder):
        origin = KERNELS[kernel.name]
        apt = Apt(self.folder, origin)
        package = f"linux-headers-{kernel.version}"
        parts = [p for p in apt.depends(package)
                 if re.match("linux-(headers|kbuild)-", p)]
        tools = [p for p in parts if "kbuild" in p]
        self._unpack([package, *(p for p in parts if p not in tools)], folder,
                     apt)
        # They run here, whatever they are built for.
        if origin.arch != "amd64":
            apt = Apt(self.folder, KERNELS["6.1"])
        for part in tools:
            subprocess.run(["dpkg", "-x", apt.fetch(part, self.folder),
                            folder], check=True)

    def newer_qemu(self):
        """The beginning of a command: Debian 13's, with its own libraries. That of
        Debian 12 starts no second CPU where instructions are counted."""
        root = self.folder / "qemu-trixie"
        if not root.exists():
            apt = Apt(self.folder, Origin("", suites=("trixie",)))
            packages = apt.fetch_all("qemu-system-x86")
            partial = root.with_name(root.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)
            for package in packages:
                subprocess.run(["dpkg", "-x", package, partial], check=True)
            partial.rename(root)
        libraries = root / "usr/lib/x86_64-linux-gnu"
        return [libraries / "ld-linux-x86-64.so.2", "--library-path", libraries,
                root / "usr/bin/qemu-system-x86_64", "-L",
                root / "usr/share/qemu", "-L", root / "usr/share/seabios"]

    def busybox(self, arch):
        """One that needs no libraries."""
        if arch == "amd64":
            return busybox()
        folder = self.folder / f"busybox-{arch}"
        if not folder.exists():
            self._unpack(["busybox-static"], folder,
                         Apt(self.folder, KERNELS["arm64"]))
        return (folder / "bin/busybox").read_bytes()


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


def pack_initrd(kernel, cache):
    folder, program = 0o040755, 0o100755
    archive = cpio_entry("bin", folder) + cpio_entry("modules", folder)
    archive += cpio_entry("bin/busybox", program, cache.busybox(kernel.arch))
    archive += cpio_entry("init", program, (HERE / "init").read_bytes())
    for order, name in enumerate(MODULES):
        data = module_bytes(kernel.modules / name)
        if data is not None:
            archive += cpio_entry(f"modules/{order:02}.ko", program, data)
    archive += cpio_entry("TRAILER!!!", 0)
    replace_bytes(kernel.initrd, gzip.compress(archive, 1))


def replace_bytes(path, data):
    """A new file under that name: one of a cache that was copied by hard links is
    another cache's, too."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(path)


def die_with_parent():
    """Between fork and exec: if we are killed, no guest runs on."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


class Host:
    """What a guest may ask of the machine below it, by lines on its console:

        host: one-insn on|off   interrupts come between any two instructions
        host: nmis on|off       non-maskable interrupts, at any moment
    """

    def __init__(self, console, socket_path):
        self.console = console
        self.path = socket_path
        self.seen = 0
        self.nmis = False
        self.monitor = None

    def tell(self, line):
        if not self.monitor:
            self.monitor = socket.socket(socket.AF_UNIX)
            self.monitor.connect(str(self.path))
            self.monitor.setblocking(False)
        try:
            while self.monitor.recv(65536):
                pass
        except BlockingIOError:
            pass
        try:
            self.monitor.sendall(line.encode() + b"\n")
        except OSError:
            self.nmis = False  # it is ending

    def look(self):
        """Does what was asked for since the last time."""
        with open(self.console, "rb") as console:
            console.seek(self.seen)
            text = console.read()
        text = text[:text.rfind(b"\n") + 1]
        self.seen += len(text)
        for what in re.findall(rb"^host: ([a-z -]+?)\r?$", text, re.M):
            word, _, state = what.decode().rpartition(" ")
            if word == "nmis":
                self.nmis = state == "on"
            elif word == "one-insn":
                self.tell(f"singlestep {state}")
        if self.nmis:
            self.tell("nmi")

    def close(self):
        if self.monitor:
            self.monitor.close()
        shutil.rmtree(self.path.parent, ignore_errors=True)


class Guest:
    """Runs shell scripts as root. `share` is a folder for its input and output;
    `keep` are folders the guest must see though they are below /tmp, say;
    `icount`: its counter counts the instructions it executes; `host`: it may
    ask for what class Host offers; `parallel`: its CPUs run at the same time,
    which x86 does not survive (see _start); `qemu`: a newer one, newer_qemu()."""

    def __init__(self, kernel, share, keep=(), cpus=2, icount=False,
                 host=False, parallel=False, qemu=("qemu-system-x86_64",)):
        self.kernel = kernel
        self.qemu = qemu
        self.share = pathlib.Path(share)
        self.console = self.share / "console.log"
        self.cpus = cpus
        self.icount = icount
        self.threads = "multi" if parallel else "single"
        self.host = None
        if host:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="sonde-vm-"))
            self.host = Host(self.console, folder / "monitor")
        self.shown = self._shown(kernel)
        # The folder above has the lists.
        keep = [*keep, *(folder.parent for folder, _ in self.shown)]
        (self.share / "keep").write_text("".join(f"{k}\n" for k in keep))

    @staticmethod
    def _shown(kernel):
        """Folders, and where its programs look for them."""
        shown = [(kernel.modules, f"/lib/modules/{kernel.version}/kernel")]
        for part in ("boot", "lib") if kernel.debug else ():
            shown.append((kernel.debug / part, f"/usr/lib/debug/{part}"))
        return [each for each in shown
                if each[0].exists() and not kernel.is_bare]

    def _show(self):
        """As commands. Beside the modules are lists of them, and may be what
        this machine has: links to headers."""
        lists = self.kernel.modules.parent
        return "".join(f"mkdir -p {at}; mount --bind {folder} {at}\n"
                       for folder, at in self.shown) + (
            f"cp {lists}/modules.* /lib/modules/{self.kernel.version}\n"
            if self.shown and self.kernel.modules.exists() else "")

    def command(self, accel):
        options = ["-accel", accel, "-smp", str(self.cpus), "-display",
                   "none", "-nodefaults", "-no-reboot", "-serial", "stdio",
                   "-kernel", self.kernel.image,
                   "-initrd", self.kernel.initrd,
                   *self._folder(self.share, "share")]
        words = "quiet panic=-1 oops=panic"
        if self.host:
            options += ["-monitor", f"unix:{self.host.path},server,nowait"]
            words += " apic_extnmi=all"
        if self.icount:
            options += ["-icount", "shift=0,sleep=off"]
        if self.kernel.is_bare:
            return ["qemu-system-aarch64", "-M", "virt", "-m", "1024",
                    "-cpu", "max,pauth-impdef=on", *options,
                    "-append", f"console=ttyAMA0 {words} bare"]
        # The check of the timer looks whether ticks come in time: here they
        # may be late.
        clock = "tsc=reliable clocksource=tsc no_timer_check"
        if self.kernel.name == "debug":
            # The slowest: beside other work, the firmware's description of
            # the bus once took longer than the kernel waits for any loop in
            # it, and then no device had an interrupt.
            clock += " pci=noacpi"
        if not self.icount:
            # It would measure it beside a timer that comes when this machine
            # has time, and its clock be several times too fast.
            clock += f" tsc_early_khz={counter_khz()}"
        # Emulated, each level of page tables costs, and so does an instruction
        # that moves single bytes. Where instructions are counted, they are
        # those of the whole machine.
        cpu = "max" if self.icount else "max,la57=off,erms=off,fsrm=off"
        return [*self.qemu, "-cpu", cpu, "-m", "2048", *options,
                "-append", f"console=ttyS0 {words} {clock}",
                *self._folder("/", "root", ",readonly=on")]

    @staticmethod
    def _folder(path, tag, more=""):
        return ["-virtfs", f"local,path={path},mount_tag={tag},"
                f"security_model=none,multidevs=remap{more}"]

    def _boot(self, accel, boot_limit_s):
        """Starts it; the process once its user space is up, or None."""
        up = self.share / "up"
        up.unlink(missing_ok=True)
        command = self.command(accel)
        if not shutil.which(command[0]):
            raise Problem(f"no {command[0]}: sudo apt-get install "
                          "qemu-system-arm")
        with open(self.console, "wb") as console:
            process = subprocess.Popen(command, stdout=console,
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
        if (os.access("/dev/kvm", os.R_OK | os.W_OK) and not self.icount and
                not self.host and not self.kernel.is_bare):
            process = self._boot("kvm", KVM_LIMIT_S)
            if process:
                return process
        process = self._boot(f"tcg,thread={self.threads}", BOOT_LIMIT_S)
        if not process:
            raise Problem(f"it does not start: {self.last_words()}")
        return process

    def run(self, job, limit_s, steps=()):
        """Runs the text as a shell script; its exit status. `steps` are files
        that the script makes in this order, and the seconds that each may take:
        so a kernel that hangs is seen soon."""
        status = self.share / "status"
        status.unlink(missing_ok=True)
        (self.share / "job").write_text(self._show() + job)
        process = self._start()
        try:
            self._wait(process, limit_s, list(steps))
        finally:
            process.kill()
            process.wait()
        if not status.exists():
            raise Problem(f"it ended without a status: {self.last_words()}")
        return int(status.read_text())

    def _wait(self, process, limit_s, steps):
        begin = step_begin = time.monotonic()
        while process.poll() is None:
            now = time.monotonic()
            if steps and steps[0][0].exists():
                del steps[0]
                step_begin = now
            if now > begin + limit_s or (
                    steps and now > step_begin + steps[0][1]):
                raise Problem(f"still running after {now - begin:.0f} s")
            if self.host:
                self.host.look()
            time.sleep(0.001 if self.host and self.host.nmis else 0.05)
        if self.host:
            self.host.close()

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
