"""What the test runners share."""

import os
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


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
