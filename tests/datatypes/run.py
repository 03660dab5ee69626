#!/usr/bin/env python3
"""MPI datatypes unpacked by handlers, compared with MPI_Unpack byte for byte.

    python3 tests/datatypes/run.py [--pinion PATH] [--seed N] [--types N] [--on-nic N] [TYPE]

Random nested types: all are compared by the handlers' interpreter on this computer; some of them by
the handlers in the simulated NIC. Where no MPI library is installed, type maps written down from
the standard (examples/datatypes/typemap.py) say what is right. With TYPE, in the notation of
examples/datatypes/host/ddt_text.c, only that one. Exit status 0 when all is as expected.
"""

import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
EXAMPLE = REPOSITORY / "examples/datatypes"
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "examples"), str(EXAMPLE), str(HERE)]
from common import find_pinion  # noqa: E402
from make import LIBRARY, build_tool, in_turn, read_header, slmp_frames  # noqa: E402
from make_pcaps import write_pcap  # noqa: E402
from random_types import random_type  # noqa: E402
from typemap import parse, unpack  # noqa: E402

ENGINES = {"dataloop": 0, "in place": 1, "fast": 2}
SINGLETON = {
    # An MPI program by itself, also as root, without a daemon or the network.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_btl": "self",
    "OMPI_MCA_pml": "ob1",
}
SECONDS = 300
SLOTS = 4


class Difference(Exception):
    """What is not as expected."""


def build_against_mpi(folder):
    """Builds the comparison with the MPI library; None where there is none."""
    if not shutil.which("mpicc"):
        return None
    sources = [EXAMPLE / "host" / name for name in (*LIBRARY, "ddt_mpi.c", "mpi_types.c")]
    sources.append(HERE / "against_mpi.c")
    flags = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["mpicc", *flags, *sources, "-o", folder / "against_mpi"], check=True)
    return folder / "against_mpi"


def run_mpi(program, arguments, lines):
    done = subprocess.run(
        [program, *arguments], input="".join(line + "\n" for line in lines), text=True,
        capture_output=True, timeout=SECONDS, env={**os.environ, **SINGLETON}, check=False,
    )
    if done.returncode:
        raise Difference(f"exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def draw_types(seed, count, depth):
    source = random.Random(seed)
    types = []
    for _ in range(count):
        elements, own_seed = source.randint(1, 4), source.randint(1, 2**31)
        types.append((elements, own_seed, random_type(source, source.randint(1, depth))))
    return types


def check_with_mpi(program, seed, count):
    """All types on this computer; types nested too deep for the handlers are refused."""
    types = draw_types(seed, count, 5)
    results = run_mpi(program, [], [f"{n} {s} {text}" for n, s, text in types])
    if len(results) != count:
        raise Difference(f"{len(results)} of {count} types were compared")
    too_deep = [line for line in results if "loops deep" in line]
    for (elements, _, text), result in zip(types, results, strict=True):
        if result != "ok" and result not in too_deep:
            raise Difference(f"{result}\n  {elements} x {text}\n  {replay(text)}")
    if len(too_deep) * 20 > count:
        raise Difference(f"{len(too_deep)} of {count} types were refused as too deep")


def replay(text):
    return f"again: python3 tests/datatypes/run.py '{text}'"


def check_with_type_maps(tool, folder, seed, count):
    """The layout compiler and the interpreter against type maps, without MPI."""
    source = random.Random(seed)
    for elements, type_seed, text in draw_types(seed, count, 4):
        part = parse(text)
        packed = random.Random(type_seed).randbytes(elements * part.size)
        layout = compile_type(tool, folder, text, elements, 1)
        if layout is None:
            continue
        header = read_header(layout)
        (folder / "packed").write_bytes(packed)
        piece = source.randint(1, 1462)
        subprocess.run([tool, "unpack", folder / "layout.bin", folder / "packed", folder / "after",
                        f"piece={piece}"], check=True)
        wanted = bytearray(header["slot_bytes"])
        unpack(part, packed, header["origin"], wanted)
        if (folder / "after").read_bytes() != wanted:
            raise Difference(f"{elements} x {text} differs from its type map\n  {replay(text)}")


def compile_type(tool, folder, text, elements, slots):
    """The layout program, or None for one that is too deep."""
    out = folder / "layout.bin"
    done = subprocess.run(
        [tool, "compile", text, out, f"elements={elements}", f"slots={slots}", "nesting=keep"],
        capture_output=True, text=True, check=False)
    if done.returncode:
        if "loops deep" in done.stderr:
            return None
        raise Difference(done.stderr.strip())
    return out.read_bytes()


def write_app(folder, header, engine):
    """An application of the example's handlers and the layout in `folder`."""
    manifest = (EXAMPLE / "app.toml").read_text().split("[traffic]")[0]
    manifest = manifest.replace('"complex.bin"', '"layout.bin"')
    manifest = manifest.replace("DDT_ENGINE = 0", f"DDT_ENGINE = {engine}")
    manifest = manifest.replace("datatypes.c", str(EXAMPLE / "datatypes.c"))
    manifest += 'host_memory_image = "before.bin"\n'
    (folder / "app.toml").write_text(manifest)


def run_on_nic(pinion, folder, machine, text, elements, seed, oracle, engine):
    """Several messages of a type at once through the handlers; False: the type is too deep."""
    layout = oracle.compile(text, elements, SLOTS)
    if layout is None:
        return False
    header, source = read_header(layout), random.Random(seed)
    size = header["element_bytes"] * elements
    slots = header["slot_bytes"]
    before = source.randbytes(SLOTS * slots)
    (folder / "before.bin").write_bytes(before)
    write_app(folder, header, ENGINES[engine])
    packed = [source.randbytes(size) for _ in range(SLOTS)]
    piece = source.choice([1462, 1024, 700]) if size > 4000 else source.randint(1, 400)
    # Messages in parallel, each in order. In the end one whose slot is taken: it comes when others have begun,
    # for handlers that begin together may take a slot in any order.
    messages = [slmp_frames(message, data, piece) for message, data in enumerate(packed)]
    frames = in_turn(messages) + slmp_frames(SLOTS, source.randbytes(min(size, piece)), piece)
    write_pcap(folder / "in.pcap", frames, source.choice([100, 20000]), last_ns=100_000)
    done = subprocess.run(
        # A capture does not wait for acknowledgements, so the receive FIFO has to take all of it.
        [pinion, "run", folder, "--machine", machine, "--set", "inbound.fifo_bytes=67108864",
         "--pcap-in", folder / "in.pcap", "--quiet",
         "--host-dump", f"receiver={folder / 'after.bin'}"],
        capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise Difference(f"{elements} x {text}: exit status {done.returncode}\n{done.stderr}")
    after = (folder / "after.bin").read_bytes()
    for message in range(SLOTS):
        at = message * slots
        wanted = oracle.unpack(packed[message], before[at : at + slots], header, text)
        if after[at : at + slots] != wanted:
            raise Difference(f"{elements} x {text}, engine {engine}: message {message} is not as "
                             f"MPI_Unpack places it\n  {replay(text)}")
        result = struct.unpack_from("<II", after, header["results"] + 8 * message)
        if result != (message, size):
            raise Difference(f"{elements} x {text}: result of message {message} is {result}")
    return True


class ByTypeMap:
    """Layouts from text, memory by type maps: without an MPI library."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def compile(self, text, elements, slots):
        return compile_type(self.tool, self.folder, text, elements, slots)

    def unpack(self, packed, before, header, text):
        memory = bytearray(before)
        unpack(parse(text), packed, header["origin"], memory)
        return bytes(memory)

    def close(self):
        """Holds nothing."""


class ByMpi:
    """Layouts from MPI datatypes, memory by MPI_Unpack: a process that answers line by line."""

    def __init__(self, program, folder):
        self.folder = folder
        self.process = subprocess.Popen(
            [program, "serve"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, **SINGLETON})

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip() or "the program ended"

    def compile(self, text, elements, slots):
        out = self.folder / "layout.bin"
        answer = self.ask("compile", elements, slots, out, text)
        if "loops deep" in answer:
            return None
        if answer != "ok":
            raise Difference(f"{text}: {answer}")
        return out.read_bytes()

    def unpack(self, packed, before, header, text):
        (self.folder / "packed").write_bytes(packed)
        (self.folder / "memory").write_bytes(before)
        elements = len(packed) // header["element_bytes"]
        answer = self.ask("unpack", elements, header["origin"], self.folder / "packed",
                          self.folder / "memory", text)
        if answer != "ok":
            raise Difference(f"MPI_Unpack of {text}: {answer}")
        return (self.folder / "memory").read_bytes()

    def close(self):
        self.process.kill()
        self.process.wait()


def check_on_nic(arguments, folder, oracle):
    types = draw_types(arguments.seed, 4 * arguments.on_nic, 4)
    names, done = list(ENGINES), 0
    for elements, seed, text in types:
        if done == arguments.on_nic:
            return
        engine = names[done % len(names)]
        done += run_on_nic(arguments.pinion, folder, arguments.machine, text, elements, seed,
                           oracle, engine)
    raise Difference("too few types that are not too deep")


def check_refusals(program):
    for line in run_mpi(program, ["refusals"], []):
        print(line.replace("ok ", "ok   datatypes ", 1).replace("FAIL ", "FAIL datatypes ", 1))
        if line.startswith("FAIL"):
            raise Difference(line)


def check_corruption(tool, folder):
    """A layout with any one word changed is refused, or not one at all."""
    text = "struct(2 0 1 64)[vec(3 1 2)[int]; double]"
    layout = bytearray(compile_type(tool, folder, text, 2, 2))
    for at in range(0, read_header(layout)["bytes"], 4):
        changed = bytearray(layout)
        changed[at] ^= 0x55
        (folder / "changed.bin").write_bytes(changed)
        command = [tool, "show", folder / "changed.bin"]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 1:
            raise Difference(f"a layout with byte {at} changed gives status {done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    parser.add_argument("--machine", default="fpspin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--types", type=int, default=2000, help="compared on this computer")
    parser.add_argument("--on-nic", type=int, default=18, help="compared on the simulated NIC")
    parser.add_argument("type", nargs="?")
    arguments = parser.parse_args()
    arguments.pinion = find_pinion(arguments.pinion)
    print(f"seed {arguments.seed}; again: python3 tests/datatypes/run.py --seed {arguments.seed}")
    with tempfile.TemporaryDirectory(prefix="pinion-datatypes-") as name:
        folder = Path(name)
        tool, program = build_tool(folder), build_against_mpi(folder)
        oracle = ByMpi(program, folder) if program else ByTypeMap(tool, folder)
        if arguments.type:
            tests = [(arguments.type, lambda: run_one(arguments, folder, oracle))]
        else:
            tests = list_tests(arguments, folder, tool, program, oracle)
        failures = sum(not passes(title, attempt) for title, attempt in tests)
        oracle.close()
    return 1 if failures else 0


def run_one(arguments, folder, oracle):
    for engine in ENGINES:
        if not run_on_nic(arguments.pinion, folder, arguments.machine, arguments.type, 2,
                          arguments.seed, oracle, engine):
            raise Difference("the type is too deep for the handlers")


def list_tests(arguments, folder, tool, program, oracle):
    seed = arguments.seed
    tests = [
        ("type maps", lambda: check_with_type_maps(tool, folder, seed, 100)),
        ("corrupted layouts", lambda: check_corruption(tool, folder)),
        ("on the NIC", lambda: check_on_nic(arguments, folder, oracle)),
    ]
    for name in ("simple", "complex_nested"):
        tests.append((name, lambda name=name: run_on_nic(
            arguments.pinion, folder, arguments.machine, name, 1, seed, oracle, "dataloop")))
    if program:
        tests.append(("MPI_Unpack", lambda: check_with_mpi(program, seed, arguments.types)))
        tests.append(("refusals", lambda: check_refusals(program)))
    else:
        print("skip datatypes MPI_Unpack: mpicc is not installed")
    return tests


def passes(title, attempt):
    try:
        attempt()
    except (Difference, OSError, subprocess.SubprocessError) as problem:
        print(f"FAIL datatypes {title}: {problem}")
        return False
    print(f"ok   datatypes {title}")
    return True


if __name__ == "__main__":
    sys.exit(main())
