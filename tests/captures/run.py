#!/usr/bin/env python3
"""Lets Wireshark's tools read the captures we write, and us the ones they write; compares FPsPIN's
matching with tcpdump's filters.

    python3 tests/captures/run.py [--pinion PATH]

Tests whose tools are missing are left out and say so. Exit status 0 when all is well.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
import matching  # noqa: E402
from common import find_pinion, installed_compilers  # noqa: E402

EXAMPLES = REPOSITORY / "examples"
ECHO_REPLY, CHECKSUM_GOOD = "0", "1"


class Failure(Exception):
    """What is not as expected."""


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def answer(pinion, example, capture, out):
    app = EXAMPLES / example
    run(pinion, "run", app, "--pcap-in", capture, "--pcap-out", out, "--quiet")
    return out.read_bytes()


def fields(capture, *names):
    """The fields of every packet as tshark sees them, checksums verified."""
    checks = [f"{protocol}.check_checksum:TRUE" for protocol in ("ip", "udp")]
    options = [part for check in checks for part in ("-o", check)]
    options += [part for name in names for part in ("-e", name)]
    text = run("tshark", "-n", "-r", capture, "-T", "fields", *options)
    return [line.split("\t") for line in text.splitlines()]


def test_echo_replies(pinion, folder):
    """Every answer is an echo reply with good checksums, stamped in order."""
    out = folder / "pong.pcap"
    answer(pinion, "icmp_echo", EXAMPLES / "icmp_echo/ping.pcap", out)
    packets = fields(
        out, "icmp.type", "ip.checksum.status", "icmp.checksum.status", "frame.time_epoch"
    )
    if len(packets) != 97:
        raise Failure(f"{len(packets)} packets, expected 97")
    for number, (kind, ip, icmp, _) in enumerate(packets, 1):
        if (kind, ip, icmp) != (ECHO_REPLY, CHECKSUM_GOOD, CHECKSUM_GOOD):
            raise Failure(f"packet {number}: type {kind}, checksums {ip} (IP), {icmp} (ICMP)")
    times = [float(packet[3]) for packet in packets]
    if times != sorted(times):
        raise Failure("the timestamps are not in order")


def test_udp_answers(pinion, folder):
    """Exchanged addresses leave both checksums good."""
    out = folder / "back.pcap"
    answer(pinion, "ping_pong", EXAMPLES / "ping_pong/traffic.pcap", out)
    packets = fields(out, "ip.checksum.status", "udp.checksum.status")
    if len(packets) != 64 or any(p != [CHECKSUM_GOOD, CHECKSUM_GOOD] for p in packets):
        raise Failure(f"{len(packets)} packets, checksums {packets}")


def test_formats(pinion, folder):
    """A capture in every format editcap writes gives the same answers."""
    source = EXAMPLES / "icmp_echo/ping.pcap"
    wanted = answer(pinion, "icmp_echo", source, folder / "wanted.pcap")
    for form in ("pcap", "nsecpcap", "pcapng"):
        converted = folder / f"ping.{form}"
        run("editcap", "-F", form, source, converted)
        if answer(pinion, "icmp_echo", converted, folder / "found.pcap") != wanted:
            raise Failure(f"other answers to the same packets as {form}")


def test_matching(pinion, folder):
    """Rules choose the frames that the same filter in tcpdump's language chooses."""

    def fail(text):
        raise Failure(text)

    matching.check(pinion, folder, fail)


TESTS = {
    test_echo_replies: ("tshark",),
    test_udp_answers: ("tshark",),
    test_formats: ("editcap",),
    test_matching: ("tcpdump",),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    pinion = find_pinion(parser.parse_args().pinion)
    compiler = [] if installed_compilers() else ["a RISC-V compiler"]
    failures = 0
    for test, tools in TESTS.items():
        title = f"captures {test.__name__.removeprefix('test_')}"
        if missing := [tool for tool in tools if not shutil.which(tool)] + compiler:
            print(f"skip {title}: {', '.join(missing)} missing")
            continue
        with tempfile.TemporaryDirectory(prefix="pinion-captures-") as folder:
            try:
                test(pinion, Path(folder))
                print(f"ok   {title}")
            except (Failure, OSError) as problem:
                failures += 1
                print(f"FAIL {title}: {problem}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
