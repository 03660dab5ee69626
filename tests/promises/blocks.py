"""Blocks of hardware that misbehave towards the command: one prints in every cycle, one calls what nobody wrote, one does
not end a cycle, one takes nothing any more."""

import json
import os
import signal
import subprocess
import tempfile
import time
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
    "loops": (
        "",
        # What is shown behind the loop keeps Verilator from leaving it out.
        "    reg [7:0] cycle = 0; reg [31:0] turns = 0;\n"
        "    always @(posedge clock) begin\n"
        "        cycle <= cycle + 1;\n"
        "        if (cycle == 99) begin\n"
        "            while (!turns[0]) turns = turns + {$random} * 2;\n"
        "            $display(turns);\n"
        "        end\n"
        "    end\n",
    ),
    "falls_silent": (
        "",
        "    reg [31:0] taken = 0;\n"
        "    always @(posedge clock) if (packet_valid && packet_ready) taken <= taken + 1;\n"
        "    assign packet_ready = unit.packet_ready && taken < 9;\n",
    ),
}
# How long the command lets a block be at a cycle.
LOOP_SECONDS = 20


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


def loops(done):
    if done.returncode != 2 or "has not ended a cycle for" not in done.stderr or done.stdout:
        raise Broken(f"exit status {done.returncode}: {done.stderr[-300:]!r}")


def falls_silent(done):
    """What it has not taken waits for it; the run is one that is stuck, and says so."""
    if done.returncode != 3 or "packet_ready has not come for" not in done.stderr + done.stdout:
        raise Broken(f"exit status {done.returncode}: {done.stdout[-300:]!r} {done.stderr[-600:]!r}")


def interrupted(words, folder, environment):
    """Interrupts a block that does not end a cycle, once."""
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        # It has been built: the loop comes in the hundredth cycle.
        until = time.monotonic() + LOOP_SECONDS / 2
        while time.monotonic() < until and running.poll() is None:
            time.sleep(0.1)
        before = processor_seconds(running.pid)
        running.send_signal(signal.SIGINT)
        try:
            running.wait(timeout=LOOP_SECONDS / 2)
        except subprocess.TimeoutExpired:
            running.kill()
            raise Broken("an interruption does not end it") from None
        if running.returncode != 130:
            raise Broken(f"exit status {running.returncode}: {running.stderr.read()[-300:]!r}")
        if before < 1:
            raise Broken(f"it had worked for {before:.1f} s: is there no loop?")


def processor_seconds(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


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
        for block, check in [("prints", prints), ("calls", calls), ("loops", loops), ("falls_silent", falls_silent)]:
            words = [pinion, "hardware", "new", "--like", "packet_allocator", block]
            subprocess.run(words, cwd=folder, capture_output=True, check=True)
            file = folder / block / f"{block}.sv"
            front, end = BLOCKS[block]
            text = file.read_text().replace(f"module {block}", f"{front}module {block}")
            if block == "falls_silent":
                text = text.replace(".packet_ready(packet_ready)", ".packet_ready()")
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
                if block == "loops":
                    interrupted([str(word) for word in words], folder, environment)
            except (Broken, subprocess.TimeoutExpired) as broken:
                problem = str(broken)
            yield f"a block of hardware that {block.replace('_', ' ')}", problem
