"""Blocks of hardware that misbehave towards the command: one prints in every cycle, one calls what nobody wrote."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from interrupted import find_verilator
from support import Broken, application

LONGEST_SECONDS = 300
PACKETS = 200
# What stands in front of the module, and in its end.
BLOCKS = {
    "prints": ("", "    always @(posedge clock) $display(\"garbage {\");\n"),
    "calls": (
        'import "DPI-C" function void nobody_wrote_it();\n',
        "    reg [7:0] cycle = 0;\n"
        "    always @(posedge clock) begin cycle <= cycle + 1; if (cycle == 99) nobody_wrote_it(); end\n",
    ),
}


def prints(done):
    if done.returncode:
        raise Broken(f"exit status {done.returncode}: {done.stderr[-300:]!r}")
    try:
        counted = json.loads(done.stdout)["packets"]["in"]
    except (ValueError, KeyError, TypeError) as problem:
        raise Broken(f"{problem!r} in {done.stdout[:300]!r}") from None
    if counted != PACKETS or "garbage {" not in done.stderr:
        raise Broken(f"{counted} packets, and {done.stderr[:100]!r}")


def calls(done):
    if done.returncode != 2 or "nobody_wrote_it" not in done.stderr or done.stdout:
        raise Broken(f"exit status {done.returncode}: {done.stderr[-300:]!r}")


def run(pinion, most=None):
    verilator = find_verilator()
    if not verilator:
        print("skip blocks that misbehave: there is no Verilator", flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="pinion-blocks-") as name:
        folder = Path(name)
        application(folder / "app")
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PINION_VERILATOR": str(verilator)}
        (folder / "cache").mkdir(mode=0o700)
        for block, check in [("prints", prints), ("calls", calls)]:
            words = [pinion, "hardware", "new", "--like", "packet_allocator", block]
            subprocess.run(words, cwd=folder, capture_output=True, check=True)
            file = folder / block / f"{block}.sv"
            front, end = BLOCKS[block]
            text = file.read_text().replace(f"module {block}", f"{front}module {block}")
            file.write_text(text.replace("endmodule\n", f"{end}endmodule\n", 1))
            words = [pinion, "run", "app", "--machine", "fpspin", "--generate", f"udp,count={PACKETS},size=64"]
            words += ["--hardware", f"packet_allocator={file}", "--json", "-"]
            problem = None
            try:
                check(
                    subprocess.run(
                        [str(word) for word in words],
                        cwd=folder,
                        env=environment,
                        capture_output=True,
                        text=True,
                        errors="replace",
                        timeout=LONGEST_SECONDS,
                        check=False,
                    )
                )
            except (Broken, subprocess.TimeoutExpired) as broken:
                problem = str(broken)
            yield f"a block of hardware that {block}", problem
