"""What the package takes more than the command, in host instructions for each packet, as valgrind counts them.

    python tests/python/overhead.py PINION [PYTHON]

PINION is the command and PYTHON an interpreter with the package (this one, unless another is named): both from
one optimised build (`make dist`). What both take to begin is left out: two runs of different length are
compared. Exit status 0 unless it is more than the bar.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

APP = Path(__file__).resolve().parents[2] / "examples/udp_echo"
PACKETS = (1000, 6000)
MOST = 0.05
SCRIPT = "import pinion, sys; pinion.run(sys.argv[1], pinion.Generator(sys.argv[2]), keep=sys.argv[3] == 'True')"


def count(command: list[str | Path]) -> int:
    """Gives the instructions of a command."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run([*tool, *command], capture_output=True, text=True, check=True)
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    assert found, done.stderr
    return int(found[1].replace(",", ""))


def main() -> int:
    pinion, python = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else sys.executable
    taken = {}
    for name in ("command", "keep=True", "keep=False"):
        ends = []
        for packets in PACKETS:
            spec = f"udp,dport=9500,size=64,count={packets}"
            command: list[str | Path] = [pinion, "run", APP, "--generate", spec, "--quiet", "--json", "/dev/null"]
            if name != "command":
                command = [python, "-c", SCRIPT, APP, spec, name.removeprefix("keep=")]
            ends.append(count(command))
        taken[name] = (ends[1] - ends[0]) / (PACKETS[1] - PACKETS[0])
        more = taken[name] / taken["command"] - 1
        print(f"{name:<12}{taken[name]:>12,.0f} instructions a packet, {100 * more:+.2f} %", flush=True)
    return 1 if max(taken.values()) > (1 + MOST) * taken["command"] else 0


if __name__ == "__main__":
    sys.exit(main())
