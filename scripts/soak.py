#!/usr/bin/env python3
"""Pings a live NIC for a long time, or as fast as it goes: no loss, memory flat, and how fast.

    python3 scripts/soak.py [--minutes 10] [--highest] [--nic] [--pinion PATH]
    python3 scripts/soak.py --floods 1,2,4,8 [--nic] [--pinion PATH]

The NIC is `pinion up examples/icmp_echo --machine fpspin`; with --nic, `pinion nic` with the host
program of that example. --highest first looks for the highest rate at which none is lost. All of it happens in a network namespace of its own (`unshare -rn`). Exit
status 1 when a ping is lost, or when memory grows after the first minute by more than 2 MiB.
"""

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
from common import find_pinion  # noqa: E402

INSIDE = "PINION_SOAK_NAMESPACE"
ADDRESS = "10.11.0.2"
# A ping that sleeps 1 ms sends far fewer than 1,000 a second on a busy computer: many slower ones
# do better.
INTERVAL_S = 0.007
PER_PING = 125  # a second, when each sleep takes a millisecond longer
SOAK_RATE = 1000
SAMPLE_SECONDS = 10
SETTLED_SECONDS = 60
GROWTH_KIB = 2048
FLOOD_PINGS = 40_000
# The highest rate: each is half as much again, and holds for so long.
STEP = 1.5
STEP_SECONDS = 8


def enter_namespace():
    """Starts this program again inside a namespace; gives its status."""
    command = ["unshare", "--map-root-user", "--net", "sh", "-c"]
    command += ['ip link set lo up && exec "$0" "$@"', sys.executable, *sys.argv]
    return subprocess.run(command, env={**os.environ, INSIDE: "1"}).returncode


def run(*command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


class Nic:
    """The NIC, and with `has_program` its host program."""

    def __init__(self, pinion, folder, has_program):
        self.processes, self.folder = [], folder
        app = REPOSITORY / "examples/icmp_echo"
        wire = ["--machine", "fpspin", "--tap", "pin0", "--address", "10.11.0.1/24"]
        os.environ["PINION_NIC_DIR"] = str(folder / "nic")
        if not has_program:
            self.nic = self.start("Ctrl-C ends", pinion, "up", app, *wire)
            return
        image, program = folder / "image.elf", folder / "icmp_echo"
        run(pinion, "build", app / "fpspin", "--machine", "fpspin", "--out", image)
        run(pinion, "fpspin", "compile", app / "host/icmp_echo.c", "-o", program)
        self.nic = self.start("Ctrl-C ends", pinion, "nic", *wire)
        self.start("ready", program, "--mode", "fpspin", "--image", image)

    def start(self, sign, *command):
        """Starts a program and waits until it says that it is ready."""
        path = self.folder / f"output-{len(self.processes)}.txt"
        with path.open("wb") as output:
            process = subprocess.Popen(
                [str(part) for part in command], stdout=output, stderr=output
            )
        self.processes.append(process)
        end = time.monotonic() + 60
        while sign not in path.read_text():
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f"{command[0]} is not ready:\n{path.read_text()}")
            time.sleep(0.05)
        return process

    def resident_kib(self):
        """Memory of the NIC's process."""
        text = Path(f"/proc/{self.nic.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1])

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=20)
        print((self.folder / "output-0.txt").read_text().rstrip())


class Burst:
    """What pings at a rate for some seconds gave: counts, pings a second, milliseconds."""

    def __init__(self, rate, seconds):
        count, started = str(int(PER_PING * seconds)), time.monotonic()
        command = ["ping", "-n", "-i", str(INTERVAL_S), "-c", count, "-W", "2", ADDRESS]
        pings = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            for _ in range(max(1, rate // PER_PING))
        ]
        texts = [ping.communicate()[0] for ping in pings]
        found = [re.search(r"(\d+) packets transmitted, (\d+) received", text) for text in texts]
        self.sent = sum(int(counts[1]) for counts in found)
        self.lost = self.sent - sum(int(counts[2]) for counts in found)
        self.rate = self.sent / (time.monotonic() - started)
        times = [float(ms) for text in texts for ms in re.findall(r"time=([0-9.]+) ms", text)]
        times.sort()
        self.median_ms = statistics.median(times) if times else float("nan")
        self.late_ms = times[len(times) * 99 // 100] if times else float("nan")


def highest_rate():
    """Looks for the highest rate at which no ping is lost and most are sent in time."""
    rate, good = PER_PING * 2, None
    print("rate asked for  pings/s  lost", flush=True)
    while True:
        burst = Burst(rate, STEP_SECONDS)
        print(f"{rate:14}  {burst.rate:7.0f}  {burst.lost:4}", flush=True)
        if burst.lost or burst.rate < rate / 2:
            return good or PER_PING
        rate, good = int(rate * STEP), rate


def soak(nic, minutes, rate):
    """Pings for so many minutes; tells whether all was well."""
    started, sent, lost, first_kib, kib = time.monotonic(), 0, 0, None, 0
    lasts = lambda: time.monotonic() - started < minutes * 60  # noqa: E731
    print("seconds  pings/s  sent      lost  median ms  p99 ms  resident KiB", flush=True)
    while lasts():
        burst = Burst(rate, SAMPLE_SECONDS)
        sent, lost, kib = sent + burst.sent, lost + burst.lost, nic.resident_kib()
        seconds = time.monotonic() - started
        if first_kib is None and (seconds >= SETTLED_SECONDS or not lasts()):
            first_kib = kib
        print(
            f"{seconds:7.0f}  {burst.rate:7.0f}  {sent:8}  {lost:4}  {burst.median_ms:9.3f}  "
            f"{burst.late_ms:6.2f}  {kib:12}",
            flush=True,
        )
    growth = kib - first_kib
    print(f"{sent} pings, {lost} lost, memory grew by {growth} KiB after the first minute")
    return lost == 0 and growth <= GROWTH_KIB


def floods(counts):
    """Lets so many pings at a time send as fast as answers come; tells whether none was lost."""
    print("pings at a time  pings/s  sent      lost  mean ms", flush=True)
    all_lost = 0
    for count in counts:
        started = time.monotonic()
        command = ["ping", "-f", "-q", "-c", str(FLOOD_PINGS // count), "-W", "2", ADDRESS]
        pings = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        texts = [ping.communicate()[0] for ping in pings]
        seconds = time.monotonic() - started
        found = [re.search(r"(\d+) packets transmitted, (\d+) received", text) for text in texts]
        sent, back = (sum(int(counts[part]) for counts in found) for part in (1, 2))
        means = [re.search(r"= [0-9.]+/([0-9.]+)/", text) for text in texts]
        mean_ms = statistics.mean(float(mean[1]) for mean in means if mean) if any(means) else 0
        all_lost += sent - back
        print(
            f"{count:15}  {sent / seconds:7.0f}  {sent:8}  {sent - back:4}  {mean_ms:7.3f}",
            flush=True,
        )
    return all_lost == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--highest", action="store_true", help="at the highest rate without loss")
    parser.add_argument("--floods", help="pings at a time, one number after the other: 1,2,4")
    parser.add_argument("--nic", action="store_true", help="`pinion nic` and a host program")
    parser.add_argument("--pinion", help="the command [default: the newest in target/]")
    arguments = parser.parse_args()
    if INSIDE not in os.environ:
        sys.exit(enter_namespace())
    with tempfile.TemporaryDirectory(prefix="pinion-soak-") as folder:
        nic = Nic(find_pinion(arguments.pinion), Path(folder), arguments.nic)
        try:
            if arguments.floods:
                good = floods([int(count) for count in arguments.floods.split(",")])
            else:
                rate = highest_rate() if arguments.highest else SOAK_RATE
                good = soak(nic, arguments.minutes, rate)
        finally:
            nic.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
