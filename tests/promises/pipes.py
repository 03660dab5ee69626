"""Named pipes as inputs and outputs: nobody at the other end, or somebody who goes away early. Nothing waits longer than
its user, and an interruption ends it."""

import os
import signal
import stat
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from endless import prepared
from interrupted import defaults
from support import Broken

INTERRUPTED = 130
# On the wall, of a computer that has other things to do.
LONGEST_SECONDS = 20
BEGINS_SECONDS = 0.5
GENERATE = ["--quiet", "--generate", "udp,size=256,count=40"]

INPUTS = [
    "run app GENERATE --machine PIPE",
    "run app GENERATE --elf PIPE",
    "run app --quiet --pcap-in PIPE",
    "run service --quiet --messages PIPE",
    "run PIPE --quiet",
    "profile PIPE GENERATE",
    "p4 check PIPE",
    "figure PIPE",
    "machine show PIPE",
]
OUTPUTS = [
    "run app GENERATE --json PIPE",
    "run app GENERATE --packets PIPE",
    "run app GENERATE --pcap-out PIPE",
    "run app GENERATE --html PIPE",
    "run app GENERATE --record PIPE",
    "run two.toml --quiet --json PIPE",
    "run service --quiet --load requests=5 --pcap-out PIPE",
    "trace app GENERATE --out PIPE",
    "trace app GENERATE --vcd PIPE",
    "profile app GENERATE --pprof PIPE",
    "diff app app GENERATE --json PIPE",
]


def words(command):
    each = (GENERATE if word == "GENERATE" else [word.replace("PIPE", "pipe")] for word in command.split())
    return [word for some in each for word in some]


def start(pinion, folder, command):
    return subprocess.Popen(
        [str(pinion), *words(command)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=defaults,
    )


def end(process, command, statuses):
    try:
        said = process.communicate(timeout=LONGEST_SECONDS)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Broken(f"{command}: it does not end") from None
    if process.returncode not in statuses or "panicked" in said:
        raise Broken(f"{command}: exit status {process.returncode}, {said[-300:]!r}")


def alone(pinion, folder, command):
    """Nobody is at the other end: it waits, and an interruption ends it."""
    process = start(pinion, folder, command)
    time.sleep(BEGINS_SECONDS)
    waits = process.poll() is None
    if waits:
        process.send_signal(signal.SIGTERM)
    end(process, command, {INTERRUPTED} if waits else {0, 2})


def left(pinion, folder, command, gives):
    """Somebody opens the other end, gives or takes a little, and goes."""
    process = start(pinion, folder, command)

    def other_end():
        how = os.O_WRONLY if gives else os.O_RDONLY
        until = time.monotonic() + LONGEST_SECONDS
        while process.poll() is None and time.monotonic() < until:
            try:
                pipe = os.open(folder / "pipe", how | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.02)
                continue
            if gives:
                os.write(pipe, b"\xd4\xc3\xb2\xa1\x02")
            else:
                time.sleep(0.1)
            os.close(pipe)
            if gives:
                return

    other = threading.Thread(target=other_end)
    other.start()
    try:
        end(process, command, {0, 2})
    finally:
        other.join()


def run(pinion, most=1):
    with tempfile.TemporaryDirectory(prefix="pinion-pipes-") as name:
        folder = Path(name)
        prepared(pinion, folder)
        os.mkfifo(folder / "pipe")
        for title, commands, gives in [("inputs", INPUTS, True), ("outputs", OUTPUTS, False)]:
            problem = None
            try:
                for command in commands:
                    alone(pinion, folder, command)
                    left(pinion, folder, command, gives)
                    if not stat.S_ISFIFO((folder / "pipe").stat().st_mode):
                        raise Broken(f"{command}: the pipe is none any more")
            except Broken as broken:
                problem = str(broken)
            yield f"pipes that nobody opens, or leaves, as {title}: {len(commands)} commands end", problem
