#!/usr/bin/env python3
"""Tests the SDK without a machine: its C library natively, and what its compilers make of it.

    python3 tests/sdk/run.py [--seed N] [--cc gcc|zig]

Natively: formatted output, strings, 64-bit arithmetic and checksums against the host's, AES against the
standards' examples (native.c).
With each RISC-V compiler that is installed: sources that use every name of the PsPIN and FPsPIN
handler interfaces compile without change, and the ELF has what the machine needs where it needs it;
nanopu/check.py does the same for nanoservices.
Exit status 0 when all is well.
"""

import argparse
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "nanopu"))
import check as nanopu  # noqa: E402

REPOSITORY = HERE.parent.parent
SDK = REPOSITORY / "sdk"
RUNTIME_UNDER_TEST = ["stdio.c", "string.c", "arith64.c", "stdlib.c", "crypto.c"]
PSPIN = {
    "PROGRAM_ORIGIN": 0x1D000000,
    "PROGRAM_BYTES": 0x8000,
    "L2_ORIGIN": 0x1C000000,
    "L2_BYTES": 0x300000,
    "L2_STATIC_BYTES": 0x10000,
    "L1_RUNTIME_OFFSET": 0x400,
    "L1_RUNTIME_BYTES": 0x4000,
    "L1_DATA_OFFSET": 0x2400,
    "L1_DATA_BYTES": 0x2000,
    "STACK_BYTES": 0x400,
    "CORES": 8,
    "NB_CLUSTERS": 4,
    "NB_CORES": 8,
}


class Failure(Exception):
    """What is wrong, for the user."""


def run(command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
    )
    if done.returncode:
        raise Failure(" ".join(map(str, command)) + "\n" + done.stdout + done.stderr)
    return done.stdout


def test_natively(folder, seed):
    objects = []
    for name in RUNTIME_UNDER_TEST:
        target = folder / (name + ".o")
        run(
            [
                "cc",
                "-O2",
                "-c",
                "-nostdinc",
                "-ffreestanding",
                "-fno-builtin",
                "-fno-stack-protector",
                "-U_FORTIFY_SOURCE",
                "-isystem",
                SDK / "include/libc",
                "-I",
                SDK / "include",
                "-o",
                target,
                SDK / "runtime" / name,
            ]
        )
        run(["objcopy", "--prefix-symbols=rt_", target])
        objects.append(target)
    program = folder / "native"
    run(
        [
            "cc",
            "-O1",
            "-std=gnu11",
            "-I",
            SDK / "include/fpspin",
            "-idirafter",
            SDK / "include",
            "-o",
            program,
            HERE / "native.c",
            *objects,
        ]
    )
    print(run([program, seed]), end="")


def linker_script(folder, description, values):
    text = (SDK / description["link"]["template"]).read_text()
    for name in description["link"]["values"]:
        text = text.replace(f"@{name}@", hex(values[name]))
    path = folder / "script.ld"
    path.write_text(text)
    return path


def compile_app(folder, compiler, command, packet, sources, values=None, extra=()):
    """Compiles as sdk.toml says; returns the ELF's bytes."""
    values = {**PSPIN, **(values or {})}
    description = tomllib.loads((SDK / "sdk.toml").read_text())
    flags = description[compiler]
    out = folder / "app.elf"
    line = [
        *command,
        *description["flags"]["compile"],
        *description["flags"]["c"],
        *flags["flags"],
        *description["flags"]["link"],
    ]
    line += [f"-D{name}={values[name]}" for name in description["defines"]]
    line += [part for path in description["include"][packet] for part in ("-I", SDK / path)]
    line += [part for path in description["include"]["system"] for part in ("-isystem", SDK / path)]
    line += [*extra, "-T", linker_script(folder, description, values), "-o", out]
    line += [SDK / path for path in description["runtime"]["sources"]] + [
        *sources,
        *flags["libraries"],
    ]
    run(line)
    return out.read_bytes()


class Elf:
    """As much of a 32-bit little-endian ELF file as the checks need."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x01\x01" or struct.unpack_from("<H", data, 18)[0] != 243:
            raise Failure("not a 32-bit RISC-V ELF")
        self.entry, program_headers, sections, self.flags = struct.unpack_from("<IIII", data, 24)
        program_size, program_count, section_size, section_count = struct.unpack_from(
            "<HHHH", data, 42
        )
        self.segments = [
            struct.unpack_from("<IIIIIIII", data, program_headers + i * program_size)
            for i in range(program_count)
        ]
        self.segments = [s for s in self.segments if s[0] == 1 and s[5]]
        headers = [
            struct.unpack_from("<IIIIIIIIII", data, sections + i * section_size)
            for i in range(section_count)
        ]
        table = next(h for h in headers if h[1] == 2)
        names = headers[table[6]][4]
        self.symbols = {}
        for at in range(table[4], table[4] + table[5], 16):
            name, value, size, _info, _other, section = struct.unpack_from("<IIIBBH", data, at)
            end = data.index(b"\0", names + name)
            self.symbols[data[names + name : end].decode()] = (value, size, section)
        self.data = data

    def at(self, address, count):
        """Bytes that the loader places at a physical address."""
        for _kind, offset, _virtual, physical, in_file, _in_memory, _flags, _align in self.segments:
            if physical <= address and address + count <= physical + in_file:
                return self.data[offset + address - physical :][:count]
        raise Failure(f"nothing is loaded at {address:#x}")


def expect(what, found, wanted):
    if found != wanted:
        raise Failure(f"{what}: found {found}, expected {wanted}")


def check_elf(elf, handlers):
    expect("entry", elf.entry, 0x1D000080)
    expect("_start", elf.symbols["_start"][0], 0x1D000080)
    expect("soft-float, compressed ABI flags", elf.flags & 0x7, 1)
    for handler in handlers:
        value, size, section = elf.symbols[handler]
        if section == 0 or not 0x1D000080 < value < 0x1D008000 or size == 0:
            raise Failure(f"{handler} is not a function in program memory")
    for _kind, _offset, virtual, physical, in_file, in_memory, _flags, _align in elf.segments:
        expect(
            f"bytes of the segment at {virtual:#x} that the file leaves out", in_memory - in_file, 0
        )
        if not (0x1D000000 <= physical < 0x1D008000 or 0x1C000000 <= physical < 0x1C300000):
            raise Failure(f"a segment is loaded to {physical:#x}")
    loop = elf.symbols["hpu_loop"][0]
    expect("alignment of the handler loop", loop % 16, 0)
    # lw a5,0(s1); mv a0,sp; jalr a5; lw a5,0x50(s1); j loop
    expect("handler loop", elf.at(loop, 10).hex(), "9c400a858297bc48e5bf")
    start = elf.at(0x1D000080, elf.symbols["hpu_loop"][0] - 0x1D000080)
    if struct.pack("<I", 0x08046283) not in start:
        raise Failure("no event-load instruction in the boot code")
    for vector in range(32):
        expect(f"opcode of vector {vector}", elf.at(0x1D000000 + 4 * vector, 1)[0] & 0x7F, 0x6F)


def check_refusals(folder, compiler, command):
    cases = {
        "program_memory": '__asm__(".text\\n.globl big\\nbig: .fill 40000, 1, 0");\n'
        "extern void big(void); __handler__ void x_ph(handler_args_t *a) { (void)a; big(); }",
        "move large tables": "uint32_t t[20000];\n"
        "__handler__ void x_ph(handler_args_t *a) { amo_add(&t[a->hpu_id], 1); }",
    }
    for message, text in cases.items():
        source = folder / "refused.c"
        source.write_text("#include <handler.h>\n" + text + "\n")
        try:
            compile_app(folder, compiler, command, "ip", [source])
        except Failure as failure:
            if message in str(failure):
                continue
            raise
        raise Failure(f"a program that must be refused ({message}) was linked")


def test_compiler(folder, compiler, command):
    names = ["names_hh", "names_ph", "names_th"]
    elf = Elf(compile_app(folder, compiler, command, "ip", [HERE / "pspin_names.c"]))
    check_elf(elf, names)
    expect(".data_tiny_l1's address", elf.symbols["tiny"][0], 0x1B002400)
    expect(
        ".data_tiny_l1's image",
        elf.at(elf.symbols["__l1_data_image"][0], 4),
        struct.pack("<I", 0x1234),
    )
    expect("initialised data", elf.at(elf.symbols["initialised"][0], 8), struct.pack("<II", 1, 2))
    expect("zeroed data", elf.at(elf.symbols["zeroed"][0], 16), bytes(16))
    expect(
        ".l2_handler_data",
        elf.at(elf.symbols["handler_mem"][0], 4),
        bytes([0xDE, 0xAD, 0xBE, 0xEF]),
    )
    elf = Elf(compile_app(folder, compiler, command, "ethernet", [HERE / "fpspin_names.c"]))
    check_elf(elf, names)
    if elf.symbols["__host_data"][0] >= 0x1C010000:
        raise Failure("__host_data lies where handlers do not reach it")
    elf = Elf(compile_app(folder, compiler, command, "ethernet", [HERE / "behaviour/behaviour.c"]))
    check_elf(elf, ["promises_ph", "illegal_ph", "overrun_ph", "endless_ph"])
    compile_app(
        folder, compiler, command, "ethernet", [HERE / "fpspin_names.c"], {"NB_CLUSTERS": 2}
    )
    compile_app(
        folder,
        compiler,
        command,
        "ip",
        [HERE / "pspin_names.c"],
        {"NB_CLUSTERS": 8, "NB_CORES": 4, "CORES": 4},
    )
    compile_app(
        folder, compiler, command, "ip", [HERE / "pspin_names.c"], extra=["-DPINION_STACK_CHECK"]
    )
    sizes = []
    for manifest in sorted((REPOSITORY / "examples").glob("*/app.toml")):
        app = tomllib.loads(manifest.read_text())
        if "nanoservice" in app:
            continue
        sources = [manifest.parent / path for path in app["app"]["sources"]]
        elf = Elf(
            compile_app(folder, compiler, command, app["app"].get("packet", "ethernet"), sources)
        )
        kinds = ("header", "payload", "completion")
        check_elf(elf, [c[kind] for c in app["context"] for kind in kinds if kind in c])
        code = next(s for s in elf.segments if s[2] == 0x1D000000)[4]
        sizes.append(f"{manifest.parent.name} {code} B")
    check_refusals(folder, compiler, command)
    print(f"sdk, {compiler}: interface, memory map, refusals; " + ", ".join(sizes))


def installed_compilers():
    description = tomllib.loads((SDK / "sdk.toml").read_text())
    if shutil.which(description["gcc"]["command"][0]):
        yield "gcc", description["gcc"]["command"]
    module = description["zig"]["command"][1:]
    for python in (REPOSITORY / ".toolchain/venv/bin/python", sys.executable):
        if (
            Path(python).exists()
            and not subprocess.run(
                [python, "-c", "import ziglang"], capture_output=True, check=False
            ).returncode
        ):
            yield "zig", [python, *module]
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="20210614", help="of the native tests")
    parser.add_argument(
        "--cc", choices=["gcc", "zig"], help="only this compiler; must be installed"
    )
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="pinion-sdk-") as name:
            folder = Path(name)
            test_natively(folder, arguments.seed)
            compilers = [c for c in installed_compilers() if arguments.cc in (None, c[0])]
            if not compilers:
                raise Failure(
                    "no RISC-V compiler is installed; `pinion doctor` tells how to get one"
                )
            for compiler, command in compilers:
                test_compiler(folder, compiler, command)
            nanopu.test_natively(folder, arguments.seed)
            for compiler, command in compilers:
                nanopu.test_compiler(folder, compiler, command)
    except (Failure, nanopu.Failure) as failure:
        print(f"sdk: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
