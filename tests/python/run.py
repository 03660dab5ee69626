#!/usr/bin/env python3
"""Builds the Python package's wheel, installs it into an empty environment and tests it there.

    python3 tests/python/run.py [--pinion PATH] [--profile PROFILE] [-- PYTEST_ARGUMENT...]

The tests compare what the package gives with the JSON of the command. The wheel is built with the profile
of `make demo` unless another is named, and has the command that is tested inside.
Left out where PyPI cannot be reached. Exit status 0 when all is as it must be.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
from common import REPOSITORY, find_pinion  # noqa: E402

ENVIRONMENT = REPOSITORY / ".toolchain/python-tests"
WHEELS = REPOSITORY / "out/wheels-tested"
REQUIREMENTS = FOLDER / "requirements.txt"
# What pip says when there is no way to PyPI.
UNREACHED = re.compile("NewConnectionError|name resolution|timed out|Network is unreachable|ProxyError")
# Of a test in a process of its own: by whom, how far all are, what came of it.
RESULT = re.compile(r"^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED) (\S+\.py::.*)$")
WORDS = {"PASSED": "ok  ", "FAILED": "FAIL", "ERROR": "FAIL", "SKIPPED": "skip"}
# The wheel's builder could not be installed.
NO_MATURIN = 3


def skip(why):
    print(f"skip python: {why}")
    sys.exit(0)


def build(profile, pinion):
    """The wheel, with the command that is tested inside."""
    command = [REPOSITORY / "scripts/wheel.sh", "--profile", profile, "--out", WHEELS, "--command", pinion]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == NO_MATURIN:
        log = (REPOSITORY / ".toolchain/maturin.log").read_text()
        if UNREACHED.search(log):
            skip("PyPI cannot be reached (maturin)")
        sys.exit(f"FAIL maturin cannot be installed:\n{log}")
    if done.returncode:
        print("FAIL building the wheel")
        sys.exit(1)
    return Path(done.stdout.strip().splitlines()[-1])


def pip(*arguments):
    """Runs the environment's pip; gives what went wrong, or None."""
    command = [ENVIRONMENT / "bin/python", "-m", "pip", "install", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


def prepare(wheel):
    """Makes an environment with the wheel and nothing else of ours; what PyPI has stays from run to run."""
    stamp = ENVIRONMENT / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != REQUIREMENTS.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        if problem := pip("--requirement", REQUIREMENTS):
            if UNREACHED.search(problem):
                skip("PyPI cannot be reached")
            sys.exit(f"FAIL what the tests want cannot be installed:\n{problem}")
        stamp.write_text(REQUIREMENTS.read_text())
    if problem := pip("--no-deps", "--no-index", "--force-reinstall", wheel):
        sys.exit(f"FAIL the wheel cannot be installed:\n{problem}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion")
    parser.add_argument("--profile", default="demo")
    parser.add_argument("arguments", nargs="*", metavar="PYTEST_ARGUMENT")
    arguments = parser.parse_args()
    # Who starts this in the background may have it ignored, and what the tests interrupt would go on for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pinion = find_pinion(arguments.pinion)
    prepare(build(arguments.profile, pinion))
    environment = {**os.environ, "PINION": str(pinion)}
    # The package must come from the environment, not from the checkout.
    environment.pop("PYTHONPATH", None)
    command = [ENVIRONMENT / "bin/python", "-m", "pytest", "-v", "--tb=short", "-p", "no:cacheprovider"]
    # A file's tests share what they have made.
    command += ["--numprocesses", str(os.cpu_count()), "--dist", "loadfile"]
    with subprocess.Popen(
        [*command, *arguments.arguments],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout:
            if found := RESULT.match(line):
                print(WORDS[found[1]], found[2].rstrip(), flush=True)
            else:
                print("   ", line.rstrip(), flush=True)
    if process.returncode < 0:
        # A process that dies with its test is pytest's to tell.
        print(f"FAIL signal {-process.returncode} ended all tests")
    sys.exit(1 if process.returncode else 0)


if __name__ == "__main__":
    main()
