"""Promise 3: at any failing write no partial file under its final name, exit status 2, and what was done is
kept. Every output of the command is written once whole, and again with each call that creates, writes or
names a file failing (failing.c, preloaded), and all later ones with it or that one alone."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from support import CALIBRATION, Broken, application, cluster, service

HERE = Path(__file__).resolve().parent
SECONDS = 120
EXIT_USAGE = 2
# Behind the last call of a run that fails at once there is nothing left to write.
MOST_POINTS = 6
PACKETS = "udp,count=400,size=64"
REQUESTS = "requests=40"

# Words of a command, with the files it writes below out/.
OUTPUTS = {
    "run": (
        [
            *("run", "app", "--generate", PACKETS, "--pcap-out", "out/sent.pcap"),
            *("--unmatched-out", "out/unmatched.pcap", "--json", "out/run.json"),
            *("--packets", "out/packets.csv", "--host-dump", "all=out/host.bin"),
            *("--record", "out/run.pinion"),
        ],
        ["sent.pcap", "unmatched.pcap", "run.json", "packets.csv", "host.bin", "run.pinion"],
    ),
    "trace": (
        ["trace", "app", "--generate", "udp,count=5", "--out", "out/trace.txt"],
        ["trace.txt"],
    ),
    "perfetto": (
        ["trace", "app", "--generate", "udp,count=40", "--perfetto", "out/run.perfetto-trace"],
        ["run.perfetto-trace"],
    ),
    "vcd": (
        ["trace", "app", "--generate", "udp,count=40", "--vcd", "out/run.vcd"],
        ["run.vcd"],
    ),
    "profile": (
        [
            *("profile", "app", "--generate", "udp,count=40", "--json", "out/profile.json"),
            *("--flame", "out/flame.svg", "--occupancy", "out/occupancy.svg"),
            *("--speedscope", "out/speed.json", "--pprof", "out/profile.pb.gz"),
            *("--lcov", "out/lines.lcov"),
        ],
        [
            *("profile.json", "flame.svg", "occupancy.svg", "speed.json", "profile.pb.gz"),
            "lines.lcov",
        ],
    ),
    "why": (
        [
            *("why", "app", "--generate", "udp,count=10", "--packet", "3"),
            *("--svg", "out/why.svg", "--json", "out/why.json"),
        ],
        ["why.svg", "why.json"],
    ),
    "diff": (
        [
            *("diff", "app", "app", "--generate", "udp,count=10", "--other-set"),
            *("core.ri5cy.load_use_cycles=2", "--json", "out/diff.json"),
        ],
        ["diff.json"],
    ),
    "nanoservice": (
        [
            *("run", "service", "--load", REQUESTS, "--json", "out/run.json"),
            *("--pcap-out", "out/sent.pcap", "--packets", "out/packets.csv"),
            *("--record", "out/run.pinion"),
        ],
        ["run.json", "sent.pcap", "packets.csv", "run.pinion"],
    ),
    "cluster": (
        [
            *("run", "two.toml", "--json", "out/run.json", "--histogram", "load=out/load.csv"),
            *("--record", "out/run.pinion"),
        ],
        ["run.json", "load.csv", "run.pinion"],
    ),
    "sweep": (
        [
            *("sweep", "app", "--generate", "udp,count=10", "--set", "cluster.count=1,2,4"),
            *("--out", "out"),
        ],
        [],
    ),
    "figure": (["figure", "pspin-table3", "--out", "out"], []),
    "calibrate": (
        [
            *("calibrate", "--set", str(CALIBRATION / "pspin2"), "--row", "st_l2_2"),
            *("--json", "out/rows.json"),
        ],
        ["rows.json"],
    ),
}


class Failing:
    """A command in a folder of its own, and the disk that fails."""

    def __init__(self, pinion, library):
        self.pinion, self.library = pinion, library
        self.folder = Path(tempfile.mkdtemp(prefix="pinion-failing-")).resolve()
        application(self.folder / "app")
        service(self.folder / "service")
        cluster(self.folder / "two.toml", 20)
        self.out = self.folder / "out"

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, words, at, once):
        """Runs with the call `at` failing; gives status, what was said, and the number of calls."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        count = self.folder / "count"
        environment = {
            **os.environ,
            "LD_PRELOAD": str(self.library),
            "FAILING_FOLDER": str(self.out),
            "FAILING_AT": str(at),
            "FAILING_ONCE": "1" if once else "0",
            "FAILING_COUNT": str(count),
        }
        done = subprocess.run(
            [str(self.pinion), *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return done.returncode, done.stderr, int(count.read_text())

    def files(self):
        """What lies in the folder of outputs, by name."""
        found = (path for path in self.out.rglob("*") if path.is_file())
        return {str(path.relative_to(self.out)): path.read_bytes() for path in found}


def grown(name):
    """Files that grow under their names, line by line or as folders: what was done is kept in them."""
    return name.endswith(".jsonl") or ".unfinished/" in name


def points(calls, most):
    """Which calls fail: all, or so many, the first and the last among them."""
    if calls <= most:
        return list(range(1, calls + 1))
    return sorted({1 + at * (calls - 1) // (most - 1) for at in range(most)})


def survive(failing, name, most):
    """Lets calls of one command fail; gives their number."""
    words, wanted = OUTPUTS[name]
    status, said, calls = failing.run(words, 0, False)
    whole = failing.files()
    if status != 0 or any(file not in whole for file in wanted) or calls == 0:
        raise Broken(f"{name}: exit status {status}, {sorted(whole)}, {calls} calls\n{said}")
    tried = 0
    for once in (False, True):
        for at in points(calls, most):
            status, said, _ = failing.run(words, at, once)
            where = f"{name}, call {at} of {calls}{' alone' if once else ' and all behind it'}"
            again = f"FAILING_AT={at} FAILING_ONCE={int(once)} pinion {' '.join(words)}"
            tried += 1
            found = failing.files()
            if status != EXIT_USAGE:
                raise Broken(f"{where}: exit status {status}\n{said}{again}")
            if "space" not in said or "panicked" in said:
                raise Broken(f"{where}: it says {said!r}\n{again}")
            for file, content in found.items():
                if grown(file):
                    continue
                if file not in whole:
                    raise Broken(f"{where}: {file} is left over\n{again}")
                # Times of this computer differ from run to run: complete is what ends as the whole does.
                if not is_complete(file, content, whole[file]):
                    raise Broken(f"{where}: {file} is there and not complete\n{again}")
    return tried


def is_complete(name, content, whole):
    if content == whole:
        return True
    if name.endswith(".json"):
        return content.rstrip().endswith(b"}")
    if name.endswith(".csv"):
        commas = [[line.count(b",") for line in text.splitlines()] for text in (content, whole)]
        return content.endswith(b"\n") and commas[0] == commas[1]
    return abs(len(content) - len(whole)) <= 64 and content[-8:] == whole[-8:]


def build(folder):
    """Compiles what is preloaded."""
    library = folder / "failing.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library]
    subprocess.run([*command, HERE / "failing.c", "-ldl"], check=True)
    return library


def run(pinion, most=MOST_POINTS):
    """Runs all; yields a title and what is wrong, if something is."""
    with tempfile.TemporaryDirectory(prefix="pinion-failing-") as folder:
        library = build(Path(folder))
        for name in OUTPUTS:
            failing = Failing(pinion, library)
            try:
                tried = survive(failing, name, most)
                yield f"failing writes, {name}: {tried} points", None
            except (Broken, OSError, subprocess.TimeoutExpired) as problem:
                yield f"failing writes, {name}", str(problem)
            finally:
                failing.close()
