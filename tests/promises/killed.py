"""Promise 10: a process that is killed at any moment loses at most what it was at. A sweep's journal keeps every
point that was measured, and the same command runs only what is missing; a live recording keeps every slice, and
can be replayed."""

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from support import REPOSITORY, Broken, application

SECONDS = 120
MOST_KILLS = 4
SEED = int(os.environ.get("PINION_TEST_SEED", "1"))
POINTS = 12
# So long that a process can be killed in it.
SWEEP = [
    *("sweep", "app", "--generate", "udp,count=3000,size=64", "--jobs", "1", "--out", "out"),
    *("--set", "cluster.count=1,2,3,4", "--set", "cluster.cores=1,4,8"),
]


def lines(path):
    """Whole lines of a file."""
    data = path.read_bytes() if path.exists() else b""
    return data.count(b"\n")


def rows(folder):
    """What a sweep measured, without the host's own time."""
    head, *found = (folder / "out/app.csv").read_text().splitlines()
    own = head.split(",").index("host_seconds")
    return sorted(",".join(part for at, part in enumerate(row.split(",")) if at != own) for row in found)


def run_whole(pinion, folder):
    done = subprocess.run(
        [str(pinion), *SWEEP], cwd=folder, capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode:
        raise Broken(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def kill_sweep(pinion, folder, at, wanted):
    """Kills a sweep when so many points are there and a while has passed; gives how many it kept."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    journal, started = folder / "out/app.jsonl", time.monotonic()
    process = subprocess.Popen(
        [str(pinion), *SWEEP], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    points, wait = at
    while lines(journal) < points and process.poll() is None:
        if time.monotonic() - started > SECONDS:
            raise Broken(f"{points} points are not there after {SECONDS} s")
        time.sleep(0.002)
    time.sleep(wait)
    seen = lines(journal)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = lines(journal)
    if kept < seen:
        raise Broken(f"{seen} points were there, {kept} are left")
    said = run_whole(pinion, folder)
    found = re.search(r"(\d+) of them kept from before", said)
    if kept and kept < POINTS and (not found or int(found[1]) != kept):
        raise Broken(f"{kept} points were kept, and the next sweep says:\n{said}")
    if rows(folder) != wanted:
        raise Broken(f"killed behind {points} points, its rows are others")
    return kept


def sweeps(pinion, most):
    draw = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="pinion-killed-") as place:
        folder = Path(place)
        application(folder / "app")
        started = time.monotonic()
        run_whole(pinion, folder)
        each, wanted = (time.monotonic() - started) / POINTS, rows(folder)
        kept = []
        for _ in range(most):
            at = (draw.randrange(POINTS), draw.random() * each)
            kept.append(kill_sweep(pinion, folder, at, wanted))
    return f"killed sweeps: {most} times, {min(kept)} to {max(kept)} of {POINTS} points kept"


# In a namespace of its own: a NIC on a device, pings that come in, and a kill.
LIVE = """
set -e
ip link set lo up
"$PINION" up "$APP" --tap pin0 --address 10.77.0.1/24 --record live.pinion >said.txt 2>&1 &
nic=$!
for try in $(seq 600); do grep -q "Ctrl-C ends" said.txt && break; sleep 0.05; done
ping -n -q -i 0.01 -c "$COUNT" -W 1 10.77.0.2 >ping.txt 2>&1 || true
sleep "$WAIT"
kill -KILL $nic
wait $nic || true
"""


def packets(path):
    """Counts whole packets of a capture."""
    data, at, count = path.read_bytes(), 24, 0
    while at + 16 <= len(data):
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
        count += at <= len(data)
    return count


def recordings(pinion, most):
    draw = random.Random(SEED)
    counts = []
    for _ in range(most):
        with tempfile.TemporaryDirectory(prefix="pinion-killed-") as place:
            folder, count = Path(place), draw.randrange(5, 60)
            environment = {
                **os.environ,
                "PINION": str(pinion),
                "APP": str(REPOSITORY / "examples/icmp_echo"),
                "COUNT": str(count),
                "WAIT": f"{draw.random() * 0.05:.3f}",
            }
            done = subprocess.run(
                ["unshare", "--map-root-user", "--net", "sh", "-c", LIVE],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
            answered = re.search(r"(\d+) received", (folder / "ping.txt").read_text())
            if done.returncode or not answered:
                raise Broken(f"{done.stderr}{(folder / 'said.txt').read_text()}")
            unfinished = folder / "live.pinion.unfinished"
            if (folder / "live.pinion").exists() or not unfinished.is_dir():
                raise Broken("a file is there under the recording's name, or no folder")
            kept = packets(unfinished / "live.pcap")
            # Every ping that was answered came in, in a slice that was over; the last may be lost.
            if kept < int(answered[1]) - 1:
                raise Broken(f"{answered[1]} pings were answered, {kept} are kept")
            replayed = subprocess.run(
                [str(pinion), "replay", unfinished.name],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
            if replayed.returncode not in (0, 3) or "panicked" in replayed.stderr:
                raise Broken(f"replay ends with {replayed.returncode}:\n{replayed.stderr}")
            counts.append(kept)
    return f"killed recordings: {most} times, {min(counts)} to {max(counts)} frames kept"


def run(pinion, most=MOST_KILLS):
    """Runs all; yields a title and what is wrong, if something is."""
    for kill in (sweeps, recordings):
        title = f"killed {kill.__name__}"
        if kill is recordings and (why := no_namespace()):
            print(f"skip {title}: {why}", flush=True)
            continue
        try:
            yield kill(pinion, most), None
        except (Broken, OSError, subprocess.TimeoutExpired) as problem:
            yield title, f"{problem} (PINION_TEST_SEED={SEED})"


def no_namespace():
    """Why there is no device of our own, if there is none."""
    command = ["unshare", "--map-root-user", "--net", "sh", "-c", "ip link set lo up"]
    if not Path("/dev/net/tun").exists() or not shutil.which("ping"):
        return "there are no TAP devices, or no ping"
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return "there are no network namespaces"
    return None
