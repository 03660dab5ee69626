#!/usr/bin/env python3
"""Tests the hardware in hardware/: that tools take it without warnings, what is proven of each unit, that the
proofs find mutants, and that units do what the published hardware's did, cycle by cycle.

    python3 tests/hardware/run.py [--all] [--jobs N] [--times] [--pinion FILE] [--packets N] [UNIT]...

Of each unit's mutants the first is tried. With --all every one is, proofs whose bound may be longer (`deep`) go on to
that, and each property must come to look at something (`reach`). Then the pipelines that `pinion p4 hardware`
makes of P4 programs run beside the model; those alone with `p4` as UNIT; and the test bench of `pinion hardware new`,
alone with `bench`; none of them where the command is not built. --times tells of each test the processor's seconds, one test at a time. Installs nothing: scripts/setup.sh brings the tools. Tests whose tools are missing are left out and say
so. Exit status 0 when all is well.
"""

import argparse
import concurrent.futures
import os
import resource
import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
import bench  # noqa: E402
import checks  # noqa: E402
import nanopu_nic  # noqa: E402
import pipeline  # noqa: E402
import replay  # noqa: E402
from common import REPOSITORY, Difference, Skip  # noqa: E402
from tools import HARDWARE, scratch  # noqa: E402

# What stands for the pipelines of P4 programs, and the command that makes them.
PIPELINES = "p4"
# What stands for the test bench of `pinion hardware new`.
BENCH = "bench"
PINION = REPOSITORY / "target/debug/pinion"


def tests_of(name, unit, everything):
    """What is asked of a unit, or all of it: titles, and what to call with a folder."""
    yield f"lint {name}", lambda folder: checks.check_lint(name, unit, folder)
    if "proof" in unit:
        yield f"proof {name}", lambda folder: checks.check_proof(name, unit, folder, everything)
        if everything:
            yield f"reach {name}", lambda folder: checks.check_reach(name, unit, folder)
    beside = replay.CHECKS.get(name)
    if beside:
        yield f"lock-step {name}", lambda folder: beside(name, unit, folder)
    for mutant in unit.get("mutants", [])[: None if everything else 1]:
        yield (
            f"mutant {name}: {mutant['name']}",
            lambda folder, mutant=mutant: checks.check_mutant(name, unit, mutant, folder, beside, everything),
        )


def tests_of_pipelines(arguments):
    """What is asked of the hardware of P4 programs."""
    for program, has_frames in pipeline.programs():
        yield (
            f"pipeline {program}",
            lambda folder, program=program, has_frames=has_frames: pipeline.check_pipeline(
                arguments.pinion, program, has_frames, arguments.packets, folder
            ),
        )
    for transport in nanopu_nic.TRANSPORTS:
        yield (
            f"lint {nanopu_nic.NAME} with the pipelines of {transport}",
            lambda folder, transport=transport: nanopu_nic.check_lint(arguments.pinion, transport, folder),
        )
    for title, mutant in pipeline.MUTANTS.items():
        yield (
            f"mutant of a pipeline: {title}",
            lambda folder, mutant=mutant: pipeline.check_mutant(arguments.pinion, mutant, folder),
        )


def spent():
    """Seconds that the processor has worked for this and its children."""
    parts = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def timed(title, test):
    """Runs a test like `result`; its line says how long the processor worked."""
    before = spent()
    line, failed = result(title, test)
    return f"{spent() - before:6.1f} s  {line}", failed


def result(title, test):
    """Runs a test; gives its line, and whether it failed."""
    with scratch() as folder:
        try:
            test(Path(folder))
        except Skip as reason:
            return f"skip hardware {title}: {reason}", False
        except (Difference, OSError) as problem:
            return f"FAIL hardware {title}: {problem}", True
    return f"ok   hardware {title}", False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--all", action="store_true", help="every mutant, and the long bounds")
    parser.add_argument("--times", action="store_true", help="of each test, one at a time")
    parser.add_argument("--pinion", type=Path, default=PINION, metavar="FILE")
    parser.add_argument("--packets", type=int, default=2000, metavar="N", help="to each pipeline")
    parser.add_argument("units", nargs="*", metavar="UNIT")
    arguments = parser.parse_args()
    units = tomllib.loads((HARDWARE / "units.toml").read_text())
    chosen = arguments.units or [*units, PIPELINES, BENCH]
    if unknown := [name for name in chosen if name not in units and name not in (PIPELINES, BENCH)]:
        sys.exit(f"there is no unit {unknown[0]}; there are {', '.join(units)}, {PIPELINES}, {BENCH}")
    named = [name for name in chosen if name in units]
    # Parts that another's lint reads, too, unless they are named or all is asked for.
    parts = {name for name in named if units[name].get("part") and not arguments.all and not arguments.units}
    tests = [test for name in named if name not in parts for test in tests_of(name, units[name], arguments.all)]
    if PIPELINES in chosen and arguments.pinion.exists():
        tests += tests_of_pipelines(arguments)
    if BENCH in chosen and arguments.pinion.exists():
        for title, test in (("test bench", bench.check_bench), ("mutant of a test bench", bench.check_mutant)):
            tests.append((title, lambda folder, test=test: test(arguments.pinion.absolute(), folder)))
    failures = 0
    run = timed if arguments.times else result
    jobs = 1 if arguments.times else max(1, arguments.jobs)
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        for line, failed in pool.map(lambda test: run(*test), tests):
            print(line, flush=True)
            failures += failed
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
