"""Inputs that never end, and inputs that are named as outputs: no command takes its memory for them, or writes over them."""

import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

from support import Broken, application, cluster, contents, service

GENERATE = ["--quiet", "--generate", "udp,size=256,count=40"]
# What a command may take while it says no.
MOST_BYTES = 2 << 30
LONGEST_SECONDS = 20

# Commands, with what never ends in the place of FILE.
ENDLESS = [
    "run app GENERATE --machine FILE",
    "run app GENERATE --elf FILE",
    "run app --quiet --pcap-in FILE",
    "run app GENERATE --hardware mpq_engine=FILE",
    "run service --quiet --messages FILE",
    "run FILE --quiet",
    "replay FILE",
    "p4 check FILE",
    "p4 explain FILE",
    "sweep FILE",
    "diff FILE FILE",
    "test app --expect FILE",
    "figure FILE",
    "machine show FILE",
    "build FILE",
]
# Outputs, with an input in the place of FILE.
OVER = [
    ("run app GENERATE --json FILE", ["app/app.toml", "app/app.elf"]),
    ("run app GENERATE --packets FILE", ["app/app.toml"]),
    ("run app GENERATE --pcap-out FILE", ["app/../app/app.elf"]),
    ("run app GENERATE --html FILE", ["app/app.elf"]),
    ("run app GENERATE --record FILE", ["app/app.toml"]),
    ("run app GENERATE --machine pspin.toml --json FILE", ["pspin.toml"]),
    ("run service --quiet --json FILE", ["service/service.elf", "service/app.toml"]),
    ("run two.toml --quiet --json FILE", ["two.toml"]),
    ("run two.toml --quiet --curve FILE", ["two.toml", "curve.svg"]),
    ("test app --json FILE", ["app/app.toml"]),
    ("profile app GENERATE --pprof FILE", ["app/app.toml"]),
    ("trace app GENERATE --out FILE", ["app/app.elf"]),
]


def words(command, file):
    each = (GENERATE if word == "GENERATE" else [word.replace("FILE", file)] for word in command.split())
    return [word for some in each for word in some]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def refused(pinion, folder, command):
    """Runs a command that must be refused with a reason."""
    try:
        done = subprocess.run(
            [pinion, *command],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_SECONDS,
            preexec_fn=limit,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise Broken(f"pinion {' '.join(command)} did not end in {LONGEST_SECONDS} s") from None
    if done.returncode != 2 or "panicked" in done.stderr or not done.stderr.strip():
        raise Broken(f"pinion {' '.join(command)}: exit status {done.returncode}, {done.stderr[-300:]!r}")


def prepared(pinion, folder):
    application(folder / "app")
    service(folder / "service")
    cluster(folder / "two.toml", 5)
    machine = subprocess.run([pinion, "machine", "show", "pspin"], capture_output=True, check=True)
    (folder / "pspin.toml").write_bytes(machine.stdout)
    shutil.copy(folder / "app/app.elf", folder / "spare.elf")


def run(pinion, most=len(ENDLESS)):
    with tempfile.TemporaryDirectory(prefix="pinion-endless-") as name:
        folder = Path(name)
        prepared(pinion, folder)
        before = contents(folder)
        for title, commands in [
            ("inputs that never end", [words(c, d) for c in ENDLESS[:most] for d in ("/dev/zero", "/dev/urandom")]),
            ("outputs over inputs", [words(command, file) for command, files in OVER for file in files]),
        ]:
            problem = None
            try:
                for command in commands:
                    refused(pinion, folder, command)
                if contents(folder) != before:
                    changed = [path for path, found in contents(folder).items() if before.get(path) != found]
                    raise Broken(f"written: {', '.join(map(str, changed))}")
            except Broken as broken:
                problem = str(broken)
            yield f"{title}: {len(commands)} commands refuse them", problem
