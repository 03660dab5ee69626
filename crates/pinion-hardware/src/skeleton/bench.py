"""A test bench for @NAME@: drives its ports at random, and checks that none of its outputs is unknown and
that a stream which has offered something keeps it until it is taken.

    pip install cocotb && python3 test_@NAME@.py     # needs Verilator 5.036 or newer, or Icarus

The waves are in sim_build/, as FST with Verilator. What the block must do in the place of @UNIT@, the
model knows: `pinion run APP --hardware @UNIT@=@NAME@.sv --compare`.
"""

import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from cocotb_tools.runner import get_runner

NAME = "@NAME@"
CYCLES = 2000


def streams(dut, names):
    """The streams out of the block: valid, ready, and what goes with them."""
    for name in names:
        stream = name.removesuffix("_valid")
        if stream != name and f"{stream}_ready" in names and not is_input(dut, name):
            data = [port for port in names if port.startswith(f"{stream}_")]
            yield name, f"{stream}_ready", [port for port in data if port not in (name, f"{stream}_ready")]


INPUTS = set(os.environ.get("BENCH_INPUTS", "").split(",")) - {""}


def is_input(_, name):
    """Tells whether a port leads into the block."""
    return name in INPUTS


@cocotb.test()
async def outputs_are_known_and_offers_stay(dut):
    """Drives the inputs at random; handshakes into the block hold until they are taken."""
    names = os.environ["BENCH_PORTS"].split(",")
    draw = random.Random(1)
    Clock(dut.clock, 2, unit="ns").start()
    for name in INPUTS - {"clock"}:
        getattr(dut, name).value = 0
    dut.reset.value = 1
    for _ in range(2):
        await FallingEdge(dut.clock)
    dut.reset.value = 0
    offered = {}
    for _ in range(CYCLES):
        for name in INPUTS - {"clock", "reset"}:
            port = getattr(dut, name)
            # What is valid stays until it is taken; what is done and freed is not made up.
            if not name.startswith(("done_", "completion_", "free_", "copy_done")):
                port.value = draw.getrandbits(len(port))
        await ReadOnly()
        for name in names:
            if name not in INPUTS:
                value = getattr(dut, name).value
                assert value.is_resolvable or not name.endswith(("_valid", "_ready")), f"{name} is {value}"
        for valid, ready, data in streams(dut, names):
            shown = [str(getattr(dut, port).value) for port in data]
            is_valid, is_ready = (int(getattr(dut, port).value) for port in (valid, ready))
            if valid in offered:
                assert is_valid and offered[valid] == shown, f"{valid}: what was offered has changed"
            offered.pop(valid, None)
            if is_valid and not is_ready:
                offered[valid] = shown
        await FallingEdge(dut.clock)


def ports(text):
    """The module's ports by their declarations: all names, and those of inputs."""
    lines = [line.split("//")[0].strip().rstrip(",") for line in text.split("\n);")[0].splitlines()]
    found = {way: [line.split()[-1] for line in lines if line.startswith(f"{way}put ")] for way in ("in", "out")}
    return found["in"] + found["out"], found["in"]


def main():
    """Builds the block and runs the test."""
    folder = Path(__file__).resolve().parent
    text = (folder / f"{NAME}.sv").read_text().split(f"module {NAME}", 1)[1]
    names, inputs = ports(text)
    runner = get_runner(os.environ.get("SIM", "verilator"))
    library = Path(os.environ.get("PINION_RTL", folder / "rtl"))
    sources = sorted({path for place in (library, folder) for path in place.glob("*.sv")})
    waves = ["--trace-fst"] if os.environ.get("SIM", "verilator") == "verilator" else []
    runner.build(sources=sources, hdl_toplevel=NAME, build_args=waves, waves=True, always=True)
    environment = {"BENCH_PORTS": ",".join(names), "BENCH_INPUTS": ",".join(inputs)}
    runner.test(hdl_toplevel=NAME, test_module=f"test_{NAME}", extra_env=environment, waves=True)


if __name__ == "__main__":
    main()
