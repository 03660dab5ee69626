"""The test bench that `pinion hardware new` makes, for cocotb, with the model as its scoreboard: it takes the block
as it is, and finds one that does something else; both leave their waves as FST."""

import os
import subprocess

from common import REPOSITORY, Skip, check
from tools import ENVIRONMENT, find, search_path

UNIT, NAME = "dispatcher", "mine"
# A change of the unit, the skeleton's inside, that the scoreboard must find.
CHANGE, TO = "takes[task_home] ? task_home : least", "least"
RUN = [
    *(str(REPOSITORY / "tests/hardware/busy"), "--generate"),
    "udp,size=64:4/256:2/512:1,packets=8,order=interleaved:16,rate=400g,messages=40",
    *("--set", "mpq.count=16", "--set", "cluster.count=2", "--set", "cluster.cores=4"),
]
# Icarus takes a second for some thousand.
CYCLES = 5000
FOUND = "AssertionError: in cycle"
PATIENCE = 1200


def run_bench(pinion, folder, change):
    """Makes a block, changed or not, and runs its test bench; gives its status and what it said."""
    if not (ENVIRONMENT / "cocotb-config").exists() or not find("iverilog"):
        raise Skip("cocotb or iverilog missing: scripts/setup.sh brings what PyPI and apt have")
    made = folder / NAME
    subprocess.run([pinion, "hardware", "new", made, "--like", UNIT], check=True, capture_output=True)
    if change:
        inside = made / f"rtl/{UNIT}.sv"
        text = inside.read_text()
        check(text.count(CHANGE) == 1, f"“{CHANGE}” is out of date")
        inside.write_text(text.replace(CHANGE, TO))
    environment = {**os.environ, "PATH": search_path(), "PINION": str(pinion), "SIM": "icarus"}
    environment["BENCH_CYCLES"] = str(CYCLES)
    done = subprocess.run(
        [ENVIRONMENT / "python", made / f"test_{NAME}.py", *RUN],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment,
        timeout=PATIENCE,
        check=False,
    )
    waves = list(folder.glob("**/*.fst"))
    check(waves and waves[0].stat().st_size, f"no waves:\n{done.stdout[-3000:]}")
    return done.returncode, done.stdout


def check_bench(pinion, folder):
    """The scoreboard takes the block that does what the model's unit does."""
    status, said = run_bench(pinion, folder, change=False)
    check(status == 0 and "does_what_the_model_does passed" in said, f"status {status}:\n{said[-3000:]}")


def check_mutant(pinion, folder):
    """It finds one that does something else."""
    status, said = run_bench(pinion, folder, change=True)
    check(status and FOUND in said, f"not found, status {status}:\n{said[-3000:]}")
