#!/usr/bin/env python3
"""Tests the PsPIN driver interface with handlers compiled here, by every compiler, in many ways.

    python3 tests/pspinsim/run.py [--library FILE]

Handlers that use every name of the published interface check what each does (handlers.c); a driver
in C (driver.c) runs them through libpinion_pspinsim. Programs for other instruction sets, at other
optimisation levels and with sections in another order run as well; memory images made from an ELF
run as the ELF does; one that needs Xpulp is told so, and runs when the machine has it.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).absolute()

# The SDK's own test knows how to compile an application by hand.
spec = importlib.util.spec_from_file_location("sdk_run", REPOSITORY / "tests/sdk/run.py")
sdk = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sdk)
Failure, run = sdk.Failure, sdk.run

# What the last of several options says counts.
VARIANTS = {
    "gcc": {
        "handlers": [
            [],
            ["-O0"],
            ["-O3", "-g"],
            ["-Os"],
            ["-march=rv32ima"],
            ["-Wl,--sort-section=alignment"],
        ],
        "sum": [["-march=rv32im"], ["-march=rv32imc", "-O3"]],
    },
    "zig": {
        "handlers": [[], ["-O3"], ["-Os"], ["-mcpu=generic_rv32+m+a"]],
        "sum": [["-mcpu=generic_rv32+m"], ["-mcpu=generic_rv32+m+c", "-O3"]],
    },
}


def newest_library():
    """The library that cargo built last."""
    places = [f"{profile}/{below}" for profile in ("release", "debug") for below in ("", "deps")]
    built = [TARGET / place / "libpinion_pspinsim.so" for place in places]
    built = [path for path in built if path.exists()]
    if not built:
        raise Failure("there is no libpinion_pspinsim.so: cargo build -p pinion-pspinsim")
    return max(built, key=lambda path: path.stat().st_mtime)


class Driver:
    """driver.c, compiled and linked."""

    def __init__(self, folder, library):
        self.folder, self.library, self.program = folder, library, folder / "driver"
        includes = [REPOSITORY / "sdk/pspinsim/include", REPOSITORY / "sdk/include/pspin"]
        command = ["cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", HERE / "driver.c"]
        command += [part for path in includes for part in ("-I", path)]
        run([*command, "-o", self.program, "-L", library.parent, "-l:" + library.name])

    def __call__(self, *arguments, **environment):
        """Runs it; gives status, output and errors."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PINION_", "PSPIN_"))}
        clean |= {"LD_LIBRARY_PATH": str(self.library.parent), **environment}
        if arguments[0] == "handlers":
            # They take locks in other clusters' L1, whose atomics the published RTL answers with 1.
            clean["PINION_SET"] = "core.remote_amo=old"
        done = subprocess.run(
            [str(part) for part in (self.program, *arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=clean,
            timeout=120,
        )
        return done.returncode, done.stdout, done.stderr

    def must_do(self, what, elf, **environment):
        status, output, errors = self(what, elf, **environment)
        if status or errors:
            raise Failure(f"driver {what} {elf}: status {status}\n{output}\n{errors}")
        return output


def expect(text, *parts):
    for part in parts:
        if part not in text:
            raise Failure(f"no `{part}` in\n{text}")


def compile_to(folder, name, compiler, command, source, extra):
    elf = folder / name
    elf.write_bytes(sdk.compile_app(folder, compiler, command, "ip", [HERE / source], extra=extra))
    return elf


def write_images(elf, folder):
    """Makes memory images as the published tools do: words of 8 and 4 bytes."""
    folder.mkdir(parents=True)
    image = sdk.Elf(elf.read_bytes())
    memories = [("prog_mem_stim.slm", 0x1D000000, 0x8000, 8), ("l2_hnd_stim.slm", 0x1C000000, 1 << 22, 4)]
    for name, base, size, width in memories:
        data = bytearray(size)
        used = set()
        for _kind, offset, _virtual, physical, in_file, _memory, _flags, _align in image.segments:
            if base <= physical < base + size:
                at = physical - base
                data[at : at + in_file] = image.data[offset : offset + in_file]
                used |= set(range(at // width, (at + in_file + width - 1) // width))
        lines = [f"@{n:08X} {data[n * width : (n + 1) * width][::-1].hex().upper()}" for n in sorted(used)]
        (folder / name).write_text("\n".join(lines) + "\n")


def test_images(folder, driver, elf, other):
    """The images count as the program, and must be those of the ELF that is named."""
    images = folder / "build/slm_files"
    named = driver.must_do("handlers", elf)
    write_images(elf, images)
    expect(driver.must_do("handlers", elf), named)
    status, _, errors = driver("sum", other)
    if not status:
        raise Failure("images of another program than the ELF ran")
    expect(errors, "is another program than build/slm_files")
    (images / "prog_mem_stim.slm").write_text("@00000010 0102030405060708\nsomething else\n")
    status, _, errors = driver("handlers", elf)
    if not status:
        raise Failure("broken images ran")
    expect(errors, "prog_mem_stim.slm:2: `something else` is not `@WORD DATA`")
    (images / "prog_mem_stim.slm").unlink()


def test_xpulp(driver, elf):
    """An instruction that the machine does not have is named, with the key that gives it."""
    status, output, errors = driver("xpulp", elf)
    if not status:
        raise Failure(f"p.max ran on a machine without Xpulp\n{output}")
    expect(errors, "illegal instruction", "(xpulp_ph+", "`p.max a0,a1,a2`", "core.xpulp=true")
    driver.must_do("xpulp", elf, PINION_SET="core.xpulp=true")


def test_compiler(folder, driver, compiler, command):
    sources = {"handlers": "handlers.c", "sum": "plain.c"}
    for what, variants in VARIANTS[compiler].items():
        for number, extra in enumerate(variants):
            name = f"{compiler}-{what}-{number}.elf"
            elf = compile_to(folder, name, compiler, command, sources[what], extra)
            output = driver.must_do(what, elf)
            if what == "handlers":
                expect(output, "] header 0 0 0 on ", "] completion 1099511627776 text 0xff")
                expect(output, "packet 7", "payload: 8 runs", "reads: 32 beats")
    # The published behaviour and the paper's machine, with its protection.
    driver.must_do("handlers", folder / f"{compiler}-handlers-0.elf", PINION_FAITHFUL="0")
    plain = folder / f"{compiler}-sum-0.elf"
    test_images(folder, driver, folder / f"{compiler}-handlers-0.elf", plain)
    (folder / "build/slm_files/l2_hnd_stim.slm").unlink()
    (folder / "build/slm_files").rmdir()
    test_xpulp(driver, plain)
    count = sum(len(variants) for variants in VARIANTS[compiler].values())
    print(f"ok   pspinsim, {compiler}: {count} programs, memory images, Xpulp")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, help="[default: the newest in target/]")
    arguments = parser.parse_args()
    compilers = list(sdk.installed_compilers())
    if not compilers:
        print("skip pspinsim: no RISC-V compiler")
        return 0
    failures = 0
    with tempfile.TemporaryDirectory(prefix="pinion-pspinsim-") as name:
        folder = Path(name)
        try:
            driver = Driver(folder, (arguments.library or newest_library()).absolute())
        except Failure as failure:
            print(f"FAIL pspinsim: {failure}")
            return 1
        for compiler, command in compilers:
            try:
                test_compiler(folder, driver, compiler, command)
            except (Failure, subprocess.TimeoutExpired) as failure:
                failures += 1
                print(f"FAIL pspinsim, {compiler}: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
