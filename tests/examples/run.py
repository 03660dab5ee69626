#!/usr/bin/env python3
"""Runs applications that say what they must give (expect.toml; see sdk/MANIFEST.md) and compares.

    python3 tests/examples/run.py [--pinion PATH] [--cc gcc|zig]... [FOLDER]...

An application with standard traffic ([traffic] in its app.toml) runs on that too: all packets match
and no handler fails.

Default: every folder of examples/, and behaviour, cplusplus and constructors of tests/sdk/, with every
compiler that is installed.
Exit status 0 when all is as expected.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
from common import Difference, find_pinion, installed_compilers, read_frames  # noqa: E402

RUN_SECONDS = 120


def compare_frames(what, found, wanted):
    if found == wanted:
        return
    missing = [f for f in wanted if f not in found]
    extra = [f for f in found if f not in wanted]
    text = f"{what}: {len(found)} frames, expected {len(wanted)}; "
    text += f"{len(missing)} missing, {len(extra)} unexpected"
    for name, frames in (("missing", missing), ("unexpected", extra)):
        if frames:
            text += f"\n  first {name}: {frames[0][:64].hex()}"
    raise Difference(text)


def compare_memory(expected, folder, found):
    offset = expected.get("offset", 0)
    if "file" in expected:
        wanted = (folder / expected["file"]).read_bytes()
    else:
        wanted = b"".join(struct.pack("<I", word) for word in expected["words"])
    part = found[offset : offset + len(wanted)]
    if part != wanted:
        at = next((i for i, (a, b) in enumerate(zip(part, wanted)) if a != b), len(part))
        raise Difference(
            f"host memory of {expected['context']} differs at {offset + at:#x}: "
            f"{part[at:at + 16].hex()}, expected {wanted[at:at + 16].hex()}"
        )


def run(pinion, folder, compiler, expected):
    """Runs once; raises Difference."""
    with tempfile.TemporaryDirectory(prefix="pinion-example-") as name:
        out = Path(name)
        command = [
            pinion,
            "run",
            folder,
            "--pcap-in",
            folder / expected["input"],
            "--cc",
            compiler,
            "--quiet",
            "--pcap-out",
            out / "out.pcap",
            "--unmatched-out",
            out / "unmatched.pcap",
            "--json",
            out / "summary.json",
        ]
        memories = expected.get("host_memory", [])
        for context in sorted({memory["context"] for memory in memories}):
            command += ["--host-dump", f"{context}={out / context}"]
        command += expected.get("options", [])
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=RUN_SECONDS
        )
        if done.returncode != expected.get("exit_status", 0):
            raise Difference(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
        if "output" in expected:
            found, wanted = read_frames(out / "out.pcap"), read_frames(folder / expected["output"])
            compare_frames("output", sorted(found), sorted(wanted))
        if "unmatched" in expected:
            compare_frames(
                "unmatched",
                read_frames(out / "unmatched.pcap"),
                read_frames(folder / expected["unmatched"]),
            )
        packets = json.loads((out / "summary.json").read_text())["packets"]
        for key, wanted in expected.get("packets", {}).items():
            if packets.get(key) != wanted:
                raise Difference(f"packets {key}: {packets.get(key)}, expected {wanted}")
        lines = (done.stdout + done.stderr).splitlines()
        for text, wanted in expected.get("printed", {}).items():
            found = sum(text in line for line in lines)
            if found != wanted:
                raise Difference(f'{found} lines with "{text}", expected {wanted}')
        for memory in memories:
            compare_memory(memory, folder, (out / memory["context"]).read_bytes())


def run_standard_traffic(pinion, folder, compiler):
    """Runs on the application's own traffic; raises Difference."""
    with tempfile.TemporaryDirectory(prefix="pinion-example-") as name:
        summary = Path(name) / "summary.json"
        command = [pinion, "run", folder, "--cc", compiler, "--quiet", "--json", summary]
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=RUN_SECONDS
        )
        if done.returncode:
            raise Difference(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
        packets = json.loads(summary.read_text())["packets"]
        for key in ("matched", "processed"):
            if packets[key] != packets["in"] or not packets["in"]:
                raise Difference(f"packets {key}: {packets[key]} of {packets['in']}")


def run_tests(pinion, folder, compiler):
    """Has the command compare the same; raises Difference."""
    command = [str(pinion), "test", str(folder), "--cc", compiler]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS)
    if done.returncode:
        raise Difference(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")


def title_of(folder):
    """An application by its folder, as somebody would give it: icmp_echo, icmp_echo/fpspin."""
    examples = REPOSITORY / "examples"
    return folder.relative_to(examples) if folder.is_relative_to(examples) else folder.name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--pinion", help="the command to test [default: the newest in target/]"
    )
    parser.add_argument(
        "--cc", action="append", choices=["gcc", "zig"], help="compilers [default: all installed]"
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    pinion = find_pinion(arguments.pinion)
    compilers = arguments.cc or installed_compilers()
    if not compilers:
        sys.exit("no RISC-V compiler is installed; `pinion doctor` tells how to get one")
    folders = arguments.folders or [
        *sorted(path.parent for path in (REPOSITORY / "examples").rglob("expect.toml")),
        REPOSITORY / "tests/sdk/behaviour",
        REPOSITORY / "tests/sdk/cplusplus",
        REPOSITORY / "tests/sdk/constructors",
    ]
    failures = 0
    for folder in (f.resolve() for f in folders if (f / "expect.toml").exists()):
        expectation = tomllib.loads((folder / "expect.toml").read_text())
        manifest = tomllib.loads((folder / "app.toml").read_text())
        for compiler in compilers:
            runs = [
                (expected["input"], lambda expected=expected: run(pinion, folder, compiler, expected))
                for expected in expectation["run"]
            ]
            runs.append(("pinion test", lambda: run_tests(pinion, folder, compiler)))
            if "traffic" in manifest:
                standard = lambda: run_standard_traffic(pinion, folder, compiler)  # noqa: E731
                runs.append(("standard traffic", standard))
            for name, attempt in runs:
                title = f"{title_of(folder)} {name} {compiler}"
                try:
                    attempt()
                    print(f"ok   {title}")
                except (Difference, OSError, subprocess.TimeoutExpired) as problem:
                    failures += 1
                    print(f"FAIL {title}: {problem}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
