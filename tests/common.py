"""What the test runners share."""

import os
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


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
