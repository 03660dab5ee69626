#!/usr/bin/env python3
"""Runs Pinion in every way there is, shortly, and compares all that comes out with what came out before.

    python3 tests/golden/run.py [--pinion PATH] [--write] [--keep FOLDER] [--set KEY=VALUE]... [NAME]...

The runs are those of runs.toml; NAME chooses some by a part of their name. Each output (summary,
packets, capture, trace, what is printed) is reduced to a digest, after what differs from run to run is
taken out: times of this computer, places of files. expected.json has the digests: a line for each run
and output, of JSON a digest for each part of the document.

--write puts what came out into expected.json, --keep leaves the outputs in a folder to look at, --set
changes a number of the machine in every run chosen, to see what that reaches. Programs are those of
Debian 12's gcc 12.2; with another compiler, what needs one is left out. Exit status 0 when all is as
it was.
"""

import argparse
import concurrent.futures
import csv
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER.parent))
from common import (  # noqa: E402
    Difference,
    Skip,
    find_pinion,
    installed_compilers,
    is_reference_compiler,
    read_frames,
)

EXPECTED = FOLDER / "expected.json"
SECONDS = 120
DIGITS = 10
# What is of this computer and this moment: keys of JSON and columns of CSV.
OF_THE_HOST = {
    *("host_seconds", "engine_seconds", "simulated_mips", "slowdown", "packets_per_second"),
    *("version", "pinion_version", "host_ms"),
}
# The same in what is printed.
PRINTED = [
    (re.compile(r"; host [^\n]*"), "; host …"),
    (re.compile(r"run in [^\n]*"), "run in …"),
]
# Binary or drawn twins of files that are compared anyway.
TWINS = {".parquet", ".svg", ".jsonl"}
COMPILING = {"run", "trace", "sweep", "figure"}


class Run:
    """A command of runs.toml, its outputs, and what its kind leaves out of them."""

    def __init__(self, name, command, kind):
        self.name, self.kind = name, kind
        self.words = shlex.split(f"{command} {kind.get('outputs', '')}")
        status = kind.get("status", 0)
        self.statuses = status if isinstance(status, list) else [status]

    def needs_a_compiler(self):
        return self.words[0] in COMPILING

    def builds(self):
        """What it compiles in the examples' folder: runs with the same must not be at once."""
        folder = next((word for word in self.words if word.startswith("examples/")), self.name)
        return "/".join(folder.split("/")[:2])

    def command(self, out, extra=()):
        """The words behind `pinion`."""
        return [word.replace("OUT", str(out)) for word in [*self.words, *extra]]


def read_runs(text):
    """The runs of runs.toml, in order."""
    runs = [
        Run(name, command, kind)
        for kind in tomllib.loads(text).values()
        for name, command in kind["runs"].items()
    ]
    names = [run.name for run in runs]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two runs have the name {min(twice)}")
    return runs


def digest(data):
    """A short fingerprint."""
    data = data if isinstance(data, bytes) else data.encode()
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def without(value, keys):
    """A JSON value without some keys, at every depth."""
    if isinstance(value, dict):
        return {key: without(part, keys) for key, part in value.items() if key not in keys}
    if isinstance(value, list):
        return [without(part, keys) for part in value]
    return value


def digest_json(text, kind):
    """A digest for each part of a document, so that a difference says where."""
    value = without(json.loads(text), OF_THE_HOST | set(kind.get("without", [])))
    if not isinstance(value, dict):
        return digest(json.dumps(value, sort_keys=True))
    chosen = kind.get("sections", sorted(value))
    parts = {key: value[key] for key in chosen if key in value}
    return " ".join(
        f"{key}:{digest(json.dumps(part, sort_keys=True))}" for key, part in parts.items()
    )


def digest_csv(text, kind):
    """A digest of the columns that say the same in every run."""
    rows = list(csv.reader(io.StringIO(text)))
    left_out = OF_THE_HOST | set(kind.get("without", []))
    kept = [at for at, name in enumerate(rows[0] if rows else []) if name not in left_out]
    return digest(json.dumps([[row[at] for at in kept if at < len(row)] for row in rows]))


def digest_file(path, kind, places):
    """A digest of an output file."""
    if path.suffix == ".pcap" and kind.get("frames"):
        frames = sorted(read_frames(path))
        return digest(b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames))
    data = path.read_bytes()
    for place, name in places:
        data = data.replace(place.encode(), name.encode())
    if path.suffix == ".json":
        return digest_json(data.decode(), kind)
    if path.suffix == ".csv":
        return digest_csv(data.decode(), kind)
    return digest(data)


def clean_text(text, places):
    """What is printed, without the moment and the place."""
    for place, name in places:
        text = text.replace(place, name)
    for pattern, instead in PRINTED:
        text = pattern.sub(instead, text)
    return text


def shown(command):
    """A command as somebody would type it again."""
    return " ".join(["pinion", *(shlex.quote(word) for word in command)])


def execute(run, pinion, stage, out, extra=()):
    """Runs once in the stage; gives digests by output, the status and what is printed among them."""
    out.mkdir(parents=True)
    done = subprocess.run(
        [str(pinion), *run.command(out, extra)],
        cwd=stage,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    (out / "console.txt").write_text(done.stdout + done.stderr)
    if done.returncode not in run.statuses:
        raise Difference(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    places = [(str(out), "OUT"), (str(stage), "STAGE"), (str(REPOSITORY), "REPOSITORY"), *unpacked()]
    found = {"status": str(done.returncode)}
    if run.kind.get("console", True):
        found["console"] = digest(clean_text(done.stdout, places))
        if done.stderr:
            found["errors"] = digest(clean_text(done.stderr, places))
    for path in sorted(out.rglob("*")):
        if path.is_file() and path.suffix not in TWINS and path.name != "console.txt":
            found[str(path.relative_to(out))] = digest_file(path, run.kind, places)
    return found


def unpacked():
    """Where a binary outside of a checkout has the SDK, whose lines of source faults name."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pinion"
    return [(str(folder), "REPOSITORY/sdk") for folder in sorted(cache.glob("sdk-*"))]


def differences(wanted, found):
    """What differs between two tables of digests by output, in words."""
    for name in sorted(wanted.keys() | found.keys()):
        before, now = wanted.get(name), found.get(name)
        if before is None:
            yield f"{name} is new"
        elif now is None:
            yield f"{name} is missing"
        elif before != now:
            parts = [dict(part.split(":") for part in text.split() if ":" in part) for text in (before, now)]
            changed = sorted(
                key for key in parts[0].keys() | parts[1].keys() if parts[0].get(key) != parts[1].get(key)
            )
            yield f"{name} differs{': ' * bool(changed)}{', '.join(changed)}"


def read_expected(path):
    """Digests by run and output; of a line `RUN | OUTPUT`."""
    table = {}
    for line, text in (json.loads(path.read_text()) if path.exists() else {}).items():
        name, _, output = line.partition(" | ")
        table.setdefault(name, {})[output] = text
    return table


def write_expected(path, table, order):
    """Writes digests, a line for each run and output, in the order of the runs."""
    lines = {
        f"{name} | {output}": table[name][output]
        for name in order
        for output in sorted(table.get(name, {}))
    }
    path.write_text(json.dumps(lines, indent=0) + "\n")


def make_stage(folder):
    """A folder as the repository's, where programs are compiled without touching others' builds."""
    stage = folder / "stage"
    stage.mkdir()
    shutil.copytree(
        REPOSITORY / "examples", stage / "examples", ignore=shutil.ignore_patterns("build")
    )
    for name in ("machines", "figures", "tests", "sdk"):
        (stage / name).symlink_to(REPOSITORY / name)
    return stage


def run_all(runs, pinion, stage, outputs, extra=()):
    """Pairs of a run and its digests, or the exception that ended it; in order."""
    chains = {}
    for run in runs:
        chains.setdefault(run.builds(), []).append(run)

    def follow(chain):
        results = {}
        for run in chain:
            started = time.monotonic()
            try:
                if run.needs_a_compiler() and not is_reference_compiler():
                    raise Skip("its digests are those of gcc 12.2")
                found = execute(run, pinion, stage, outputs / run.name.replace("/", "-"), extra)
            except (Difference, Skip, OSError, ValueError, subprocess.TimeoutExpired) as problem:
                found = problem
            results[run.name] = (found, time.monotonic() - started)
        return results

    found = {}
    # The longest chains first.
    order = sorted(chains.values(), key=len, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for results in pool.map(follow, order):
            found |= results
    return [(run, *found[run.name]) for run in runs]


def blind_spots(run, pinion, stage, folder):
    """What a change of the machine by one cycle leaves as it was, in words: none is to be found."""
    found = execute(run, pinion, stage, folder / "before")
    if repeated := list(differences(found, execute(run, pinion, stage, folder / "again"))):
        yield f"the same command gives something else again: {'; '.join(repeated)}"
    setting = ["--set", "inbound.latency_cycles=5"]  # of 4
    seen = list(differences(found, execute(run, pinion, stage, folder / "after", setting)))
    for output in ("console", "packets.csv", "summary.json", "out.pcap"):
        if not any(line.startswith(f"{output} differs") for line in seen):
            yield f"{output} does not show a cycle more: {'; '.join(seen)}"
    if not any("arrival_to_departure_ns" in line for line in seen if line.startswith("summary.json")):
        yield f"no difference names the part of the summary: {'; '.join(seen)}"


def report_blind_spots(run, pinion, stage, folder):
    """Tests this runner by a machine that is a cycle slower; tells whether it failed."""
    title = "a cycle more is noticed"
    if not installed_compilers():
        print(f"skip {title}: no RISC-V compiler")
        return False
    problems = list(blind_spots(run, pinion, stage, folder))
    print(f"{'FAIL' if problems else 'ok  '} {title}", flush=True)
    for problem in problems:
        print(f"     {problem}")
    return bool(problems)


def report(run, found, seconds, wanted, extra):
    """Prints a run's result; tells whether it failed."""
    if isinstance(found, Skip):
        print(f"skip {run.name}: {found}", flush=True)
        return False
    problems = [str(found)] if isinstance(found, Exception) else list(differences(wanted, found))
    if not isinstance(found, Exception) and not wanted:
        problems = ["is not in expected.json; --write puts it there"]
    print(f"{'FAIL' if problems else 'ok  '} {run.name} ({seconds:.1f} s)", flush=True)
    for problem in problems:
        print(f"     {problem}")
    if problems:
        print(f"     {shown(run.command('OUT', extra))}", flush=True)
    return bool(problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    parser.add_argument("--write", action="store_true", help="take what comes out as right")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the outputs in a folder")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--expected", type=Path, default=EXPECTED, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    pinion = find_pinion(arguments.pinion)
    every = read_runs((FOLDER / "runs.toml").read_text())
    runs = [r for r in every if not arguments.names or any(n in r.name for n in arguments.names)]
    if not runs:
        sys.exit(f"no run's name has {' or '.join(arguments.names)} in it; see {FOLDER / 'runs.toml'}")
    extra = [word for setting in arguments.set for word in ("--set", setting)]
    expected = read_expected(arguments.expected)
    with tempfile.TemporaryDirectory(prefix="pinion-golden-") as name:
        outputs = arguments.keep.absolute() if arguments.keep else Path(name) / "outputs"
        stage = make_stage(Path(name))
        results = run_all(runs, pinion, stage, outputs, extra)
        is_blind = not arguments.names and report_blind_spots(every[0], pinion, stage, Path(name) / "own")
    failures = int(is_blind)
    for run, found, seconds in results:
        if arguments.write and isinstance(found, dict):
            expected[run.name] = found
        failures += report(run, found, seconds, expected.get(run.name, {}), extra)
    order = [run.name for run in every]
    if arguments.write:
        write_expected(arguments.expected, expected, order)
    elif gone := [name for name in expected if name not in order]:
        failures += 1
        print(f"FAIL expected.json has runs that are none: {', '.join(gone)}; --write strikes them off")
    if failures:
        print("What was meant to change: --write. To see what changed: --keep FOLDER before and after.")
        sys.exit(f"{failures} failed")


if __name__ == "__main__":
    main()
