#!/usr/bin/env python3
"""Pings a live NIC for a long time, or ever faster: no loss, memory flat, and how fast it goes.

    python3 scripts/soak.py [--minutes 10] [--nic] [--pinion PATH]
    python3 scripts/soak.py --rates 1000,2000,4000 [--nic] [--pinion PATH]

The NIC is `pinion up examples/icmp_echo --machine fpspin`; with --nic, `pinion nic` with the host
program of that example. All of it happens in a network namespace of its own (`unshare -rn`). Exit
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
PER_SECOND = 1000  # of one ping: its shortest interval is 1 ms
SAMPLE_SECONDS = 10
SETTLED_SECONDS = 60
GROWTH_KIB = 2048
RATE_SECONDS = 10


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


def start_ping(count):
    """Starts a ping that prints every round trip."""
    command = ["ping", "-n", "-i", "0.001", "-c", str(count), "-W", "2", ADDRESS]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def ended(text):
    """How many pings went out and came back, and the round trips in milliseconds."""
    found = re.search(r"(\d+) packets transmitted, (\d+) received", text)
    times = [float(value) for value in re.findall(r"time=([0-9.]+) ms", text)]
    return int(found[1]), int(found[2]), times


def soak(nic, minutes):
    """Pings for so many minutes; tells whether all was well."""
    started, sent, received, first_kib, kib = time.monotonic(), 0, 0, None, 0
    lasts = lambda: time.monotonic() - started < minutes * 60  # noqa: E731
    print("seconds  sent      lost  median ms  p99 ms  resident KiB", flush=True)
    while lasts():
        out, back, times = ended(start_ping(PER_SECOND * SAMPLE_SECONDS).communicate()[0])
        sent, received, kib = sent + out, received + back, nic.resident_kib()
        seconds = time.monotonic() - started
        if first_kib is None and (seconds >= SETTLED_SECONDS or not lasts()):
            first_kib = kib
        times.sort()
        median, late = statistics.median(times), times[len(times) * 99 // 100]
        lost = sent - received
        print(
            f"{seconds:7.0f}  {sent:8}  {lost:4}  {median:9.3f}  {late:6.2f}  {kib:12}", flush=True
        )
    growth = kib - first_kib
    lost = sent - received
    print(f"{sent} pings, {lost} lost, memory grew by {growth} KiB after the first minute")
    return sent == received and growth <= GROWTH_KIB


def rates(wanted):
    """Pings at each rate with as many pings at a time; tells whether the first one lost nothing."""
    print("wanted/s  reached/s  sent      lost  median ms  p99 ms", flush=True)
    losses = []
    for rate in wanted:
        pings, started = max(1, rate // PER_SECOND), time.monotonic()
        running = [start_ping(PER_SECOND * RATE_SECONDS) for _ in range(pings)]
        results = [ended(ping.communicate()[0]) for ping in running]
        seconds = time.monotonic() - started
        sent, received = (sum(result[part] for result in results) for part in (0, 1))
        times = sorted(value for result in results for value in result[2])
        median = statistics.median(times) if times else float("nan")
        late = times[len(times) * 99 // 100] if times else float("nan")
        losses.append(sent - received)
        reached = sent / seconds
        print(
            f"{rate:8}  {reached:9.0f}  {sent:8}  {losses[-1]:4}  {median:9.3f}  {late:6.2f}",
            flush=True,
        )
    return losses[0] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rates", help="pings a second, in thousands: 1000,2000,…")
    parser.add_argument("--nic", action="store_true", help="`pinion nic` and a host program")
    parser.add_argument("--pinion", help="the command [default: the newest in target/]")
    arguments = parser.parse_args()
    if INSIDE not in os.environ:
        sys.exit(enter_namespace())
    with tempfile.TemporaryDirectory(prefix="pinion-soak-") as folder:
        nic = Nic(find_pinion(arguments.pinion), Path(folder), arguments.nic)
        try:
            if arguments.rates:
                good = rates([int(rate) for rate in arguments.rates.split(",")])
            else:
                good = soak(nic, arguments.minutes)
        finally:
            nic.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
