#!/usr/bin/env python3
"""Attacks what docs/src/promises.md promises of the command from outside: writes that fail, interruptions,
processes that are killed, inputs that never end, pipes that nobody opens, a computer that gives little, blocks that misbehave.

    python3 tests/promises/run.py [--pinion PATH] [--most N] [PART]...

PART is writes, bytes, calls, interruptions, moments, kills, endless, pipes, starved, blocks, clients or runs [default: all]. Needs a C compiler for writes
and strace for calls. Prints `ok` or `FAIL`
for each test. --most says how many points are tried of each; scripts/promises.py tries them all.
"""

import argparse
import sys

import blocks
import bounded
import calls
import conserved
import crowd
import endless
import failing
import interrupted
import killed
import moments
import pipes
import starved
from support import find_pinion

PARTS = {
    "writes": failing.run,
    "bytes": bounded.run,
    "calls": calls.run,
    "interruptions": interrupted.run,
    "moments": moments.run,
    "kills": killed.run,
    "endless": endless.run,
    "pipes": pipes.run,
    "starved": starved.run,
    "blocks": blocks.run,
    "clients": crowd.run,
    "runs": conserved.run,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    parser.add_argument("--most", type=int, help="points of each output and command")
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        sys.exit(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    pinion, failures = find_pinion(arguments.pinion), 0
    more = {} if arguments.most is None else {"most": arguments.most}
    for part in arguments.parts or PARTS:
        for title, problem in PARTS[part](pinion, **more):
            failures += problem is not None
            print(f"FAIL {title}: {problem}" if problem else f"ok   {title}", flush=True)
    if failures:
        sys.exit(f"{failures} failed")


if __name__ == "__main__":
    main()
