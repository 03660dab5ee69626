#!/usr/bin/env python3
"""Runs the tests of clusters: many nodes on a network, and what their programs must give.

    python3 tests/cluster/run.py [--pinion PATH] [--seed N] [--keep] [NAME]...

Every function test_… of every other file in this folder is a test; it gets a `Bench` (support.py).
Examples with a cluster.toml that no test has run are run as they are, and must succeed. NAME chooses
files, functions or examples by a part of their name. Exit status 0 when all is as it must be.
"""

import argparse
import importlib.util
import inspect
import subprocess
import sys
import time
import traceback
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
from common import find_pinion, installed_compilers  # noqa: E402
from support import EXAMPLES, Bench, Difference, Skip  # noqa: E402


def load(path):
    spec = importlib.util.spec_from_file_location(f"cluster_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_chosen(chosen, *names):
    return not chosen or any(part in name for part in chosen for name in names)


def tests(chosen):
    """Pairs of a name and a test, those chosen; files without a test help others."""
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem in ("run", "support"):
            continue
        functions = inspect.getmembers(load(path), inspect.isfunction)
        own = [(name, test) for name, test in functions if name.startswith("test_")]
        for name, test in sorted(own, key=lambda pair: pair[1].__code__.co_firstlineno):
            title = f"{path.stem} {name.removeprefix('test_').replace('_', ' ')}"
            if test.__module__ == f"cluster_{path.stem}":
                if is_chosen(chosen, f"{path.stem}.{name}", title):
                    yield title, test


def examples(chosen, ran):
    """The same of examples that no test has run."""
    for path in sorted(EXAMPLES.glob("*/cluster.toml")):
        folder = path.parent
        if folder.resolve() not in ran and is_chosen(chosen, f"example {folder.name}"):
            yield f"example {folder.name}", lambda bench, name=folder.name: bench.run(name)


def run_one(title, test, bench, keep):
    """Runs a test; tells whether it failed."""
    started = time.monotonic()
    try:
        test(bench)
        print(f"ok   {title} ({time.monotonic() - started:.1f} s)", flush=True)
        return False
    except Skip as reason:
        print(f"skip {title}: {reason}", flush=True)
        return False
    except (Difference, OSError, subprocess.TimeoutExpired) as problem:
        said = str(problem)
    except Exception:  # noqa: BLE001
        said = traceback.format_exc()
    finally:
        bench.close(keep)
    commands = "".join(f"\n  pinion {command}" for command in bench.commands)
    print(f"FAIL {title} (seed {bench.seed}): {said}{commands}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    parser.add_argument("--seed", type=int, default=1, help="for tests with random numbers")
    parser.add_argument("--keep", action="store_true", help="leave the tests' folders there")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    if not installed_compilers():
        print("skip cluster: no RISC-V compiler is installed; `pinion doctor` tells how to get one")
        return
    pinion = find_pinion(arguments.pinion)
    failures, ran = 0, set()
    for found in (tests(arguments.names), examples(arguments.names, ran)):
        for title, test in found:
            bench = Bench(pinion, arguments.seed, ran)
            failures += run_one(title, test, bench, arguments.keep)
    if failures:
        sys.exit(f"{failures} failed")


if __name__ == "__main__":
    main()
