"""Signals at any moment, once or twice: a command has done its work or was interrupted, and leaves whole files or none."""

import json
import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from interrupted import defaults
from starved import COMMANDS, clear, prepared
from support import Broken

INTERRUPTED = 130
LONGEST_SECONDS = 60
SEED = int(os.environ.get("PINION_TEST_SEED", "1"))
MOMENTS = 2
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE]


def disturb(pinion, folder, command, draw, longest_s):
    """Sends a signal at some moment of a command, and maybe another one."""
    clear(folder)
    which, at = draw.choice(SIGNALS), draw.random() * longest_s
    process = subprocess.Popen(
        [str(pinion), *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=defaults,
    )
    time.sleep(at)
    process.send_signal(which)
    if draw.randrange(2):
        time.sleep(draw.random() * longest_s / 4)
        process.send_signal(which)
    what = f"{which.name} after {at * 1000:.1f} ms"
    try:
        said = process.communicate(timeout=LONGEST_SECONDS)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Broken(f"{what}: it goes on") from None
    # Before it listens, a signal ends it as any process, with nothing written.
    if process.returncode not in (0, INTERRUPTED, -which) or "panicked" in said:
        raise Broken(f"{what}: exit status {process.returncode}, {said[-300:]!r}")
    if left := list(folder.rglob("*.partial")):
        raise Broken(f"{what}: {left[0]} is left")
    document = folder / "o.json"
    if document.exists():
        json.loads(document.read_text())


def run(pinion, most=MOMENTS):
    with tempfile.TemporaryDirectory(prefix="pinion-moments-") as name:
        folder, problem, count = Path(name), None, 0
        prepared(pinion, folder)
        draw = random.Random(SEED)
        for title, command in COMMANDS.items():
            clear(folder)
            begun = time.monotonic()
            subprocess.run([str(pinion), *command], cwd=folder, capture_output=True, check=True)
            longest_s = time.monotonic() - begun
            try:
                for _ in range(most * len(SIGNALS)):
                    disturb(pinion, folder, command, draw, longest_s)
                    count += 1
            except (Broken, ValueError) as broken:
                problem = f"{title}: {broken} (PINION_TEST_SEED={SEED})"
                break
        yield f"signals at {count} moments of {len(COMMANDS)} commands", problem
