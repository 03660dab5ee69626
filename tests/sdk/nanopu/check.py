"""What the SDK's nanoservice part promises, without a machine: tests/sdk/run.py calls this.

Natively: its library against the host's (native.c). With each compiler: sources that use the
nanoPU's own interface compile without change, the ELF has what the machine needs where it needs it,
and every linked ELF is disassembled: no instruction writes x30 or reads x31, and what does not use
the network mentions neither.
"""

import re
import shutil
import struct
import subprocess
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
SDK = REPOSITORY / "sdk/nanopu"
RUNTIME_UNDER_TEST = ["runtime/arith128.c", "runtime/memory.c", "../runtime/stdio.c", "../runtime/string.c"]
OBJDUMP = "riscv64-unknown-elf-objdump"
# The switch between threads, from its first instruction to mret: 100 cycles' worth at most.
MOST_SWITCH_INSTRUCTIONS = 80
MEMORY = 0x80000000


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
        target = folder / ("nanopu_" + Path(name).name + ".o")
        flags = ["-O2", "-c", "-nostdinc", "-ffreestanding", "-fno-builtin", "-U_FORTIFY_SOURCE"]
        flags += ["-fno-stack-protector", "-DPINION_NANOPU=1", "-DPINION_HARTS=4", "-w"]
        paths = ["-I", SDK / "include", "-isystem", SDK / "libc", "-isystem", SDK / "../include/libc"]
        run(["cc", *flags, *paths, "-o", target, SDK / name])
        run(["objcopy", "--prefix-symbols=rt_", target])
        objects.append(target)
    program = folder / "nanopu_native"
    run(["cc", "-O1", "-std=gnu11", "-o", program, HERE / "native.c", *objects, "-lm"])
    print(run([program, seed]), end="")


def compile_service(folder, compiler, command, sources, harts=4, extra=()):
    """Compiles as nanopu/sdk.toml says; returns the ELF's path."""
    description = tomllib.loads((SDK / "sdk.toml").read_text())
    values = {"MEMORY_ORIGIN": MEMORY, "MEMORY_BYTES": 1 << 28, "HARTS": harts, "PINION_HARTS": harts}
    script = folder / "service.ld"
    text = (SDK / description["link"]["template"]).read_text()
    for name in description["link"]["values"]:
        text = text.replace(f"@{name}@", hex(values[name]))
    script.write_text(text)
    flags, out = description[compiler], folder / "service.elf"
    common, include = description["flags"], description["include"]

    def options(language, system):
        line = [*command, *common["compile"], *common[language], *flags["flags"]]
        line += [f"-D{name}={values[name]}" for name in description["defines"]]
        line += [part for path in include["service"] for part in ("-I", SDK / path)]
        line += [part for path in system for part in ("-isystem", SDK / path)]
        return [*line, *extra]

    cxx = [source for source in sources if Path(source).suffix == ".cc"]
    objects = [source for source in sources if source not in cxx]
    if cxx:
        cxx += [SDK / path for path in description["runtime"]["cxx_sources"]]
    for index, source in enumerate(cxx):
        objects.append(folder / f"service.{index}.o")
        line = options("cxx", include["cxx"] + include["system"]) + flags.get("cxx_flags", [])
        line = [part for part in line if not str(part).startswith("-Wl,")]
        run([*line, "-Werror", "-c", "-o", objects[-1], source])
    line = [*options("c", include["system"]), *common["link"], "-T", script, "-o", out]
    line += [SDK / path for path in description["runtime"]["sources"]]
    run([*line, *objects, *flags["libraries"]])
    return out


class Elf:
    """As much of a 64-bit little-endian ELF file as the checks need."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != 243:
            raise Failure("not a 64-bit RISC-V ELF")
        self.entry, _, sections, self.flags = struct.unpack_from("<QQQI", data, 24)
        size, count = struct.unpack_from("<HH", data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * size) for i in range(count)]
        table = next(h for h in headers if h[1] == 2)
        names = headers[table[6]][4]
        self.symbols, self.sizes = {}, {}
        for at in range(table[4], table[4] + table[5], 24):
            name, _info, _other, _section, value, size = struct.unpack_from("<IBBHQQ", data, at)
            end = data.index(b"\0", names + name)
            self.symbols[data[names + name : end].decode()] = value
            self.sizes[data[names + name : end].decode()] = size


def expect(what, found, wanted):
    if found != wanted:
        raise Failure(f"{what}: found {found}, expected {wanted}")


def check_layout(elf, harts):
    expect("entry", elf.entry, MEMORY)
    expect("_start", elf.symbols["_start"], MEMORY)
    expect("double-float, compressed ABI flags", elf.flags & 0x7, 5)
    expect("tohost", elf.symbols["tohost"], MEMORY + 0x1000)
    expect("fromhost", elf.symbols["fromhost"], MEMORY + 0x1040)
    expect("alignment of _end", elf.symbols["_end"] % 4096, 0)
    expect("harts", elf.symbols["__harts"], harts)
    expect("heap", elf.symbols["__heap_start"], elf.symbols["_end"] + (harts << 17))
    vectors = elf.symbols["pinion_vectors"]
    expect("alignment of the trap vectors", vectors % 256, 0)
    expect("place of vector 16", elf.symbols["pinion_thread_switch"] - vectors, 64)


INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t[0-9a-f ]+\t(\S+)(?:\t(\S+))?", re.M)


def disassemble(elf):
    """(address, mnemonic, operands) of all code, register numbers instead of names."""
    text = run([OBJDUMP, "-d", "-M", "no-aliases,numeric", elf])
    return [(int(m[1], 16), m[2], m[3] or "") for m in INSTRUCTION.finditer(text)]


def accesses(mnemonic, operands):
    """(registers written, registers read)."""
    registers = re.findall(r"\bx\d+\b", operands)
    name = mnemonic.removeprefix("c.")
    stores = ("sb", "sh", "sw", "sd", "swsp", "sdsp", "fsw", "fsd", "fswsp", "fsdsp")
    no_destination = name in stores or name.startswith("b") or name in ("j", "jr", "ecall", "fence")
    if no_destination or not operands.startswith("x"):
        return [], registers
    if name == "jalr" and mnemonic.startswith("c."):
        return ["x1"], registers
    both = mnemonic.startswith("c.") and name not in ("mv", "li", "lui", "lw", "ld", "lwsp", "ldsp")
    return registers[:1], registers if both else registers[1:]


def check_network_registers(code, elf, may_use):
    # The only part of the library that may: it throws away what comes for a thread that returned.
    start = elf.symbols.get("app_wrapper", 0)
    drain = range(start, start + elf.sizes.get("app_wrapper", 0))
    for address, mnemonic, operands in code:
        written, read = accesses(mnemonic, operands)
        if not may_use and ("x30" in read or "x31" in written) and address not in drain:
            raise Failure(f"{address:#x}: `{mnemonic} {operands}` in a program without network")
        if "x30" in written or "x31" in read:
            raise Failure(f"{address:#x}: `{mnemonic} {operands}` uses a network register")


def switch_instructions(code, elf):
    """Counts the straight way from the interrupt's vector to mret."""
    start = next(i for i, line in enumerate(code) if line[0] == elf.symbols["pinion_thread_switch"])
    length = next(i for i, line in enumerate(code[start:], 1) if line[1] == "mret")
    jumps = [m for _, m, _ in code[start : start + length] if m in ("jal", "c.j", "jalr")]
    expect("jumps on the way through the thread switch", jumps, [])
    if length > MOST_SWITCH_INSTRUCTIONS:
        raise Failure(f"the thread switch takes {length} instructions")
    return length


def check_elf(path, harts, may_use):
    elf = Elf(path.read_bytes())
    check_layout(elf, harts)
    if not shutil.which(OBJDUMP):
        return None
    code = disassemble(path)
    if len(code) < 300:
        raise Failure(f"{OBJDUMP} shows {len(code)} instructions")
    check_network_registers(code, elf, may_use)
    return switch_instructions(code, elf)


def test_the_test(folder, compiler, command):
    """A value held in a network register must not pass."""
    for code in ("li x31, 0x12345678", "mv x30, a0", "sd x31, 0(sp)", "add a0, a0, x31"):
        source = folder / "held.c"
        source.write_text(f'int main(void) {{ __asm__ volatile("{code}"); return 0; }}\n')
        service = compile_service(folder, compiler, command, [source])
        try:
            check_elf(service, 4, may_use=True)
        except Failure:
            continue
        if shutil.which(OBJDUMP):
            raise Failure(f"`{code}` passed")


def test_compiler(folder, compiler, command):
    test_the_test(folder, compiler, command)
    length = None
    for name in ("registers", "cores", "threads", "entry"):
        for harts in (1, 4, 64):
            service = compile_service(folder, compiler, command, [HERE / f"{name}.c"], harts)
            length = check_elf(service, harts, may_use=True)
    # Everything the library has, used or not.
    whole = ["-Wl,--no-gc-sections"]
    service = compile_service(folder, compiler, command, [HERE / "plain.c"], extra=whole)
    check_elf(service, 4, may_use=False)
    service = compile_service(folder, compiler, command, [HERE / "plain.c"], extra=["-DPINION_NO_LNIC"])
    check_elf(service, 4, may_use=False)
    # Everything C++ has: without the network, and with all of the library kept.
    for extra in (whole, []):
        service = compile_service(folder, compiler, command, [HERE / "cplusplus.cc"], extra=extra)
        check_elf(service, 4, may_use=False)
    names = []
    for manifest in sorted((REPOSITORY / "examples").glob("*/app.toml")):
        described = tomllib.loads(manifest.read_text())
        if "nanoservice" not in described:
            continue
        sources = [manifest.parent / path for path in described["app"]["sources"]]
        harts = described["nanoservice"].get("harts", 4)
        extra = [f"-I{manifest.parent / path}" for path in described["app"].get("include_dirs", [])]
        service = compile_service(folder, compiler, command, sources, harts, extra)
        check_elf(service, harts, may_use=True)
        names.append(manifest.parent.name)
    switch = f"{length} instructions per thread switch" if length else f"no {OBJDUMP}, nothing read"
    print(f"nanoservices, {compiler}: interface, memory map; {switch}; " + ", ".join(names))
