"""Pinion: programs that run inside a network card, simulated at cycle level.

>>> import pinion
>>> app = pinion.App("examples/icmp_echo")
>>> result = pinion.run(app, "examples/icmp_echo/ping.pcap")
>>> result.summary["packets"]["out"]
3

The functions are those of the command ``pinion``: same inputs and seed, same results. Times are in
nanoseconds of simulated time (``_ns``), sizes in bytes, where a name does not say otherwise.
"""

import os as _os
import sys as _sys

from ._errors import (
    CompilerError,
    ConfigError,
    Error,
    FileError,
    InternalError,
    Interrupted,
    PacketError,
    ProgramError,
    UsageError,
)
from ._pinion import (
    App,
    Calibration,
    Entry,
    Figure,
    Generator,
    Load,
    Machine,
    Memory,
    Messages,
    Nic,
    Plan,
    Profile,
    Program,
    Result,
    Snapshot,
    Sweep,
    Table,
    Why,
    __version__,
    calibrate,
    describe,
    differences,
    figure,
    figures,
    machines,
    profile,
    run,
    why,
)
from ._sweep import sweep

# Where no gcc is, handlers are compiled by the wheel `ziglang` beside this one, for commands that a
# script starts, too; the interpreter's own file does not tell in which environment it runs.
_os.environ.setdefault("PINION_PYTHON", _sys.executable or "")

__all__ = [
    "App",
    "Calibration",
    "CompilerError",
    "ConfigError",
    "Entry",
    "Error",
    "Figure",
    "FileError",
    "Generator",
    "InternalError",
    "Interrupted",
    "Load",
    "Machine",
    "Memory",
    "Messages",
    "Nic",
    "PacketError",
    "Plan",
    "Profile",
    "Program",
    "ProgramError",
    "Result",
    "Snapshot",
    "Sweep",
    "Table",
    "UsageError",
    "Why",
    "__version__",
    "calibrate",
    "describe",
    "differences",
    "figure",
    "figures",
    "machines",
    "profile",
    "run",
    "sweep",
    "why",
]
