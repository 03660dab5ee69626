"""What the test runners share."""

import functools
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
# Whose programs' cycles are written down in the book and in golden/expected.json.
REFERENCE_COMPILER = "12.2.0"


class Difference(Exception):
    """What is not as it must be."""


class Skip(Exception):
    """Why a test is left out."""


def check(condition, message):
    """Fails a test unless a condition holds."""
    if not condition:
        raise Difference(message)


def check_in(part, text):
    """Fails a test unless a text contains a part."""
    if part not in text:
        raise Difference(f"no “{part}” in:\n{text}")


def find_pinion(given=None):
    """The command to test: the one given, else the newest in target/, else an installed one."""
    if given:
        return Path(given).absolute()
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).absolute()
    built = [target / profile / "pinion" for profile in ("release", "debug")]
    built = [path for path in built if path.exists()]
    if built:
        return max(built, key=lambda path: path.stat().st_mtime)
    found = shutil.which("pinion")
    if not found:
        sys.exit("there is no pinion: run `cargo build --release -p pinion`, or give --pinion PATH")
    return Path(found)


def has_zig():
    """Tells whether the project-local environment has the zig compiler."""
    return any((REPOSITORY / ".toolchain/venv/lib").glob("*/site-packages/ziglang"))


def installed_compilers():
    """The RISC-V compilers that `pinion --cc` would find."""
    return [
        *(["gcc"] if shutil.which("riscv64-unknown-elf-gcc") else []),
        *(["zig"] if has_zig() else []),
    ]


@functools.cache
def is_reference_compiler():
    """Tells whether programs come out as they are written down."""
    compiler = "riscv64-unknown-elf-gcc"
    if not shutil.which(compiler):
        return False
    done = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=False)
    return done.stdout.strip() == REFERENCE_COMPILER


def read_frames(path):
    """Frames of a pcap file, in order; both byte orders and both resolutions."""
    data = path.read_bytes()
    if len(data) < 24:
        raise Difference(f"{path} is no capture")
    order = "<" if struct.unpack_from("<I", data)[0] in (0xA1B2C3D4, 0xA1B23C4D) else ">"
    frames, at = [], 24
    while at + 16 <= len(data):
        captured = struct.unpack_from(order + "I", data, at + 8)[0]
        frames.append(data[at + 16 : at + 16 + captured])
        at += 16 + captured
    return frames
