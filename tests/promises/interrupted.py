"""Promise 4: Ctrl-C and SIGTERM end any run within a second, with complete outputs that say so. Each verb that
can run long is interrupted while it does. What counts is the processor time that it takes to end: on a busy
computer a second on the wall says nothing."""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from support import CALIBRATION, REPOSITORY, Broken, application, cluster, service

INTERRUPTED = 130
# Seconds: of processor time behind the signal, on the wall, and until a command has begun in earnest.
MOST_CPU_S = 1
MOST_WALL_S = 20
MOST_START_S = 60
CPU_BEFORE_S = 0.3
RECORDED_CPU_S = 1
FOREVER = "udp,count=1000000000,size=64"
LONG_LOAD = "requests=100000000"

NATIVE = {
    "app.toml": '[app]\nname = "native"\nsources = ["native.c"]\n\n[[context]]\nname = "all"\n'
    'match = ["udp"]\npayload = "native_ph"\n',
    "native.c": "#include <handler.h>\n"
    "__handler__ void native_ph(handler_args_t *args) { (void)args; }\n",
}

RUN = ["--json", "out.json", "--packets", "packets.csv"]
# Words of a command, and which of its files must be there; `None`: it ends at once, and leaves nothing.
COMMANDS = {
    "run": (
        ["run", "app", "--generate", FOREVER, *RUN, "--pcap-out", "out.pcap"],
        ["out.json", "packets.csv", "out.pcap"],
    ),
    "run native": (
        ["run", "native", "--engine", "native", "--generate", FOREVER, "--json", "out.json"],
        ["out.json"],
    ),
    "run of a nanoservice": (
        ["run", "service", "--load", LONG_LOAD, "--json", "out.json", "--pcap-out", "out.pcap"],
        ["out.json", "out.pcap"],
    ),
    "run of a cluster": (["run", "two.toml", "--json", "out.json"], ["out.json"]),
    "run --record": (
        ["run", "app", "--generate", FOREVER, "--json", "out.json", "--record", "run.pinion"],
        ["out.json", "run.pinion"],
    ),
    "run --check": (
        ["run", "app", "--check", "--generate", FOREVER, "--json", "out.json"],
        ["out.json"],
    ),
    "replay": (["replay", "long.pinion", "--json", "out.json"], ["out.json"]),
    "trace": (["trace", "app", "--generate", FOREVER, "--out", "trace.txt"], ["trace.txt"]),
    "trace --perfetto": (
        ["trace", "app", "--generate", FOREVER, "--perfetto", "run.perfetto"],
        ["run.perfetto"],
    ),
    "profile": (["profile", "app", "--generate", FOREVER, "--json", "out.json"], None),
    "why": (["why", "app", "--generate", FOREVER, "--packet", "900000000"], None),
    "diff": (["diff", "app", "app", "--generate", FOREVER, "--other-seed", "2"], None),
    "sweep": (
        [
            *("sweep", "app", "--generate", FOREVER.replace("1000000000", "3000000")),
            *("--set", "cluster.count=1,2,3,4", "--out", "sweep"),
        ],
        None,
    ),
    "figure": (["figure", "pspin-fig8", "--out", "figure"], None),
    "calibrate": (
        ["calibrate", "--set", "rows", "--json", "rows.json", "--jobs", "1"],
        None,
    ),
    "bench": (["bench", "busy", "--seconds", "1000", "--json", "bench.json"], None),
    # While Verilator and the compiler make the block.
    "run --hardware": (
        ["run", "app", "--generate", "udp,count=10", "--hardware", "mpq_engine", "--json", "out.json"],
        None,
    ),
    "up": (["up", "app", "--tap", "pin0", "--json", "out.json"], ["out.json"]),
    "nic": (["nic", "--machine", "fpspin", "--tap", "pin0", "--json", "out.json"], ["out.json"]),
}
# What needs a device runs in a network namespace of its own.
IN_NAMESPACE = {"up", "nic"}
WAITS = {"up", "nic"}
# What they have made when they are interrupted, below a cache of their own.
MAKES = {"run --hardware": "pinion/hardware/.made-*/rtl"}


def seconds(pid, fields):
    """Some of the processor times of a process, in the order of proc(5)."""
    try:
        all_fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in all_fields[fields]) / os.sysconf("SC_CLK_TCK")


def own_seconds(pid):
    """Processor time of a process alone: a compiler that it started says nothing about how far it is."""
    return seconds(pid, slice(11, 13))


def cpu_seconds(pid):
    """Processor time of a process and its children, those that it has waited for and those that run."""
    running = []
    for task in Path("/proc").glob(f"{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            running += [int(child) for child in task.read_text().split()]
    return seconds(pid, slice(11, 15)) + sum(cpu_seconds(child) for child in running)


def many_rows(folder):
    """Writes a set of ground truth that takes long: the first set's rows again and again."""
    folder.mkdir()
    truth = CALIBRATION / "pspin"
    for name in ("elf", "scenarios", "results"):
        (folder / name).symlink_to(truth / name)
    head, *rows = (truth / "rows.csv").read_text().splitlines(keepends=True)
    (folder / "rows.csv").write_text(head + "".join(rows) * 300)


def prepare(folder, pinion):
    application(folder / "app")
    service(folder / "service")
    application(folder / "busy")
    with (folder / "busy/app.toml").open("a") as manifest:
        manifest.write('\n[traffic]\ngenerate = "udp,count=1000"\n')
    cluster(folder / "two.toml", 100_000_000)
    many_rows(folder / "rows")
    (folder / "native").mkdir()
    for name, text in NATIVE.items():
        (folder / "native" / name).write_text(text)
    record(folder, pinion)


def wait_for(process, is_ready):
    """Waits until a command is as far as that, or has ended, or has had long enough."""
    started = time.monotonic()
    while process.poll() is None and time.monotonic() - started < MOST_START_S and not is_ready():
        time.sleep(0.02)


def record(folder, pinion):
    """Makes a recording that takes a while to replay: a run is interrupted once it is under way, however long a slow
    computer takes to get there."""
    words = ["run", "app", "--generate", FOREVER, "--record", "long.pinion", "--quiet"]
    process = subprocess.Popen(
        [str(pinion), *words], cwd=folder, stdout=subprocess.DEVNULL, preexec_fn=defaults
    )
    wait_for(process, lambda: own_seconds(process.pid) > RECORDED_CPU_S)
    process.send_signal(signal.SIGINT)
    if process.wait(MOST_WALL_S) != INTERRUPTED or not (folder / "long.pinion").exists():
        raise Broken(f"a run that is recorded ended with {process.returncode}, or without its recording")


def defaults():
    """Signals as a terminal's shell leaves them to a command."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


def interrupt(pinion, folder, name, which):
    """Interrupts a command; gives the processor time and the time on the wall that it took to end."""
    words, wanted = COMMANDS[name]
    command = [str(pinion), *words]
    if name in IN_NAMESPACE:
        command = ["unshare", "--map-root-user", "--net", *command]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "PINION_NIC_DIR": str(folder / "nic")}
    if name in MAKES:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        environment["XDG_CACHE_HOME"] = str(folder / "cache")
        environment["PINION_VERILATOR"] = str(find_verilator())
    before = set(folder.rglob("*"))
    with (folder / "said.txt").open("w+") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=said, stderr=said, preexec_fn=defaults
        )

        def is_ready():
            if name in MAKES:
                return any((folder / "cache").glob(MAKES[name]))
            says_so = name in WAITS and "Ctrl-C ends" in (folder / "said.txt").read_text()
            return says_so or own_seconds(process.pid) > CPU_BEFORE_S

        wait_for(process, is_ready)
        if process.poll() is not None:
            text = (folder / "said.txt").read_text()
            raise Broken(f"it ended by itself, with {process.returncode}:\n{text[-600:]}")
        cpu, began = cpu_seconds(process.pid), time.monotonic()
        process.send_signal(which)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - began > MOST_WALL_S:
                process.kill()
                process.wait()
                raise Broken(f"it goes on {MOST_WALL_S} s behind the signal")
            time.sleep(0.005)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime - cpu
    text = (folder / "said.txt").read_text()
    if process.returncode != INTERRUPTED:
        raise Broken(f"exit status {process.returncode}:\n{text[-600:]}")
    if cpu > MOST_CPU_S:
        raise Broken(f"it took {cpu:.2f} s of processor time to end")
    left = [path for path in set(folder.rglob("*")) - before if ".partial" in path.name]
    if left:
        raise Broken(f"{left[0].name} is left over")
    for file in wanted or ():
        check(folder / file)
        (folder / file).unlink()
    return cpu, wall


def check(path):
    """Checks that a file is complete, and says that the run was interrupted where its format can."""
    if not path.exists():
        raise Broken(f"there is no {path.name}")
    data = path.read_bytes()
    if path.suffix == ".json":
        summary = json.loads(data)
        ending = summary.get("ending")
        if ending != "interrupted":
            raise Broken(f"{path.name} says that the run ended: {ending}")
    elif path.suffix == ".pcap":
        at = 24
        while at < len(data):
            at += 16 + struct.unpack_from("<I", data, at + 8)[0]
        if at != len(data):
            raise Broken(f"{path.name} ends within a packet")
    elif path.suffix == ".csv":
        lines = data.decode().splitlines()
        if not data.endswith(b"\n") or len({line.count(",") for line in lines}) != 1:
            raise Broken(f"{path.name} ends within a line")
    elif not data:
        raise Broken(f"{path.name} is empty")


def find_verilator():
    """Where Verilator is, as Pinion looks for it."""
    own = REPOSITORY / ".toolchain/venv/bin/verilator-cli"
    return own if own.exists() else shutil.which("verilator")


def left_out(pinion, name):
    """Why a command cannot be tried here, if it cannot."""
    if name in IN_NAMESPACE:
        tried = subprocess.run(
            ["unshare", "--map-root-user", "--net", "sh", "-c", "ip link set lo up"],
            capture_output=True,
            check=False,
        )
        if tried.returncode or not Path("/dev/net/tun").exists():
            return "there are no network namespaces, or no TAP devices"
    if name == "run --hardware" and not (find_verilator() and shutil.which("make")):
        return "there is no Verilator, or no make"
    if name == "run native" and not shutil.which("cc"):
        return "there is no C compiler"
    if name == "figure" and not any(
        shutil.which(compiler) for compiler in ("riscv64-unknown-elf-gcc", "clang", "zig")
    ):
        if not (REPOSITORY / ".toolchain/venv").exists():
            return "there is no RISC-V compiler"
    return None


def run(pinion, most=1):
    """Runs all; yields a title and what is wrong, if something is. `most` says how often each."""
    signals = [signal.SIGINT, signal.SIGTERM]
    # Verilator and the compiler may write a moment longer than who has started them.
    with tempfile.TemporaryDirectory(prefix="pinion-interrupted-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        prepare(folder, pinion)
        for number, name in enumerate(COMMANDS):
            if why := left_out(pinion, name):
                print(f"skip interrupted, {name}: {why}", flush=True)
                continue
            try:
                times = [
                    interrupt(pinion, folder, name, signals[(number + time) % 2])
                    for time in range(most)
                ]
                cpu, wall = max(times)
                said = f"{cpu:.2f} s of processor time, {wall:.2f} s"
                yield f"interrupted, {name}: {said}", None
            except (Broken, OSError, subprocess.TimeoutExpired) as problem:
                yield f"interrupted, {name}", str(problem)
