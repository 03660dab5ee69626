#!/usr/bin/env python3
"""Runs the tests of live NICs with host programs.

    python3 tests/fpspin/run.py [--pinion PATH] [--keep] [NAME]...

Every function test_… of every other file in this folder is a test; it gets a `Bench` (support.py).
NAME chooses files or functions by a part of their name. All of it happens in a network namespace of
its own (`unshare -rn`); where that, or a TAP device, is not to be had, the tests are left out.
Exit status 0 when all is as it must be.
"""

import argparse
import importlib.util
import inspect
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
from common import find_pinion  # noqa: E402
from support import Bench, Difference, Skip  # noqa: E402

INSIDE = "PINION_TEST_NAMESPACE"
# Root can become other users in a namespace that is not also a user namespace.
WAYS = [["unshare", "--net", "--mount"]] * (os.getuid() == 0) + [["unshare", "--map-root-user", "--net"]]


def enter_namespace():
    """Starts this program again inside a namespace; gives its status, or why that cannot be."""
    probe = "ip link set lo up && test -c /dev/net/tun && ip tuntap add pin9 mode tap"
    reason = "no way in"
    for way in WAYS:
        try:
            done = subprocess.run([*way, "sh", "-c", probe], capture_output=True, text=True)
        except OSError as problem:
            return f"unshare: {problem}"
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no TAP device to be had"])[-1]
            continue
        # Named namespaces are the test's own, too.
        own = "mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && " * ("--mount" in way)
        command = [*way, "sh", "-c", own + 'ip link set lo up && exec "$0" "$@"']
        environment = {**os.environ, INSIDE: way[1]}
        command += [sys.executable, *sys.argv]
        return subprocess.run(command, env=environment).returncode
    return reason


def load(path):
    spec = importlib.util.spec_from_file_location(f"fpspin_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tests(chosen):
    """Pairs of a name and a test, those chosen."""
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem in ("run", "support", "programs"):
            continue
        functions = inspect.getmembers(load(path), inspect.isfunction)
        own = [(name, test) for name, test in functions if name.startswith("test_")]
        for name, test in sorted(own, key=lambda pair: pair[1].__code__.co_firstlineno):
            title = f"{path.stem} {name.removeprefix('test_').replace('_', ' ')}"
            if not chosen or any(part in f"{path.stem}.{name} {title}" for part in chosen):
                yield title, test


def run_one(title, test, pinion, keep):
    """Runs a test; tells whether it failed."""
    started = time.monotonic()
    bench = Bench(pinion)
    try:
        test(bench)
        print(f"ok   {title} ({time.monotonic() - started:.1f} s)", flush=True)
        return False
    except Skip as reason:
        print(f"skip {title}: {reason}", flush=True)
        return False
    except (Difference, OSError, subprocess.TimeoutExpired) as problem:
        print(f"FAIL {title}: {problem}{bench.outputs()}", flush=True)
    except Exception:  # noqa: BLE001
        print(f"FAIL {title}: {traceback.format_exc()}{bench.outputs()}", flush=True)
    finally:
        bench.close(keep)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    parser.add_argument("--keep", action="store_true", help="leave the tests' folders there")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    # Whoever runs this in the background of a script has interruptions ignored, and so would host programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if INSIDE not in os.environ:
        status = enter_namespace()
        if isinstance(status, str):
            print(f"skip fpspin: no network namespace of our own with a TAP device: {status}")
            status = 0
        sys.exit(status)
    pinion = find_pinion(arguments.pinion)
    failures = sum(run_one(*found, pinion, arguments.keep) for found in tests(arguments.names))
    if failures:
        sys.exit(f"{failures} failed")


if __name__ == "__main__":
    main()
