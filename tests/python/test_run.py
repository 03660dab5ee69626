"""Runs give what the command gives, of handlers, nanoservices and clusters."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pinion
import pytest
from conftest import EXAMPLES, Command, told

ECHO = EXAMPLES / "icmp_echo"
PINGS = ECHO / "ping.pcap"
UDP = "udp,dport=9500,size=256,count=400,rate=200g"


def test_a_capture_gives_what_the_command_gives(command: Command) -> None:
    result = pinion.run(pinion.App(ECHO), PINGS)
    assert told(result.summary) == told(command(ECHO, "--pcap-in", PINGS))
    assert result.ok
    assert len(result.frames) == result.summary["packets"]["out"] > 0
    assert result.unmatched and len(result.unmatched) == result.summary["packets"]["to_host"]


@pytest.mark.parametrize("seed", [1, 2])
def test_generated_packets_give_what_the_command_gives(command: Command, seed: int) -> None:
    machine = pinion.Machine("pspin", cluster__count=2)
    generator = pinion.Generator("udp", dport=9500, size=256, count=400, rate="200g")
    assert generator.spec == UDP
    app = EXAMPLES / "udp_echo"
    result = pinion.run(app, generator, machine=machine, seed=seed, handlers=True)
    options = ("--machine", "pspin", "--set", "cluster.count=2", "--handlers")
    expected = command(app, "--generate", UDP, "--seed", str(seed), *options)
    assert told(result.summary) == told(expected)
    assert result.summary["machine"] == "pspin"


def test_checked_runs_give_what_the_command_gives(command: Command) -> None:
    app = EXAMPLES / "udp_echo"
    result = pinion.run(app, pinion.Generator(UDP), check=True)
    assert told(result.summary) == told(command(app, "--generate", UDP, "--check"))
    assert "check" in result.summary


def test_how_hpus_are_executed_changes_no_result() -> None:
    usual = pinion.run(ECHO, PINGS).summary
    interpreted = pinion.run(ECHO, PINGS, engine_core="interpreter").summary
    assert interpreted["instructions"] == usual["instructions"] > 0
    assert interpreted["cycles"] == usual["cycles"]
    with pytest.raises(pinion.UsageError, match="engine_core= goes with"):
        pinion.run(EXAMPLES / "nanopu_loopback", engine_core="interpreter")
    with pytest.raises(pinion.UsageError, match="not with engine="):
        pinion.run(ECHO, PINGS, engine="native", engine_core="interpreter")


def test_the_native_engine_gives_the_same_frames() -> None:
    simulated = pinion.run(ECHO, PINGS)
    native = pinion.run(ECHO, PINGS, engine="native", workers=1)
    assert native.summary["engine"] == "native"
    assert sorted(native.frames) == sorted(simulated.frames)


@pytest.mark.parametrize("name", ["nanopu_loopback", "nanopu_echo"])
def test_a_nanoservice_gives_what_the_command_gives(command: Command, name: str) -> None:
    app = pinion.App(EXAMPLES / name)
    assert app.kind == "nanoservice"
    result = pinion.run(app)
    assert told(result.summary) == told(command(EXAMPLES / name))
    frames = result.packets.to_pydict()
    assert frames["direction"].count("out") == len(result.frames) > 0


def test_a_load_gives_what_the_command_gives(command: Command) -> None:
    app, load = EXAMPLES / "nanopu_loopback", "requests=50,gap=exp:900,size=16"
    spec = pinion.Load(requests=50, gap="exp:900", size=16)
    assert spec.spec == load
    assert told(pinion.run(app, spec).summary) == told(command(app, "--load", load))


def test_a_cluster_gives_what_the_command_gives(command: Command) -> None:
    app = EXAMPLES / "cluster_echo"
    result = pinion.run(app, threads=2, seed=3)
    assert told(result.summary) == told(command(app, "--threads", "1", "--seed", "3"))
    fewer = pinion.run(app, set={"client.count": 2})
    assert told(fewer.summary) == told(command(app, "--set", "client.count=2"))
    with pytest.raises(pinion.ConfigError, match="nearest valid key"):
        pinion.run(app, set={"client__cout": 2})


def test_the_table_of_packets_is_the_commands_file(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "packets.csv"
    command(ECHO, "--pcap-in", PINGS, "--packets", file)
    with file.open() as lines:
        rows = list(csv.reader(lines))
    table = pinion.run(ECHO, PINGS).packets
    assert table.column_names == rows[0]
    for index, name in enumerate(rows[0]):
        ours = table[name]
        theirs = [row[index] for row in rows[1:]]
        assert len(ours) == len(theirs) == len(table)
        for own, text in zip(ours, theirs):
            expected = text if isinstance(own, str) else float(text) if text else None
            assert own == expected, name


def test_frames_in_bytes_and_of_scapy() -> None:
    layers = pytest.importorskip("scapy.layers.all")
    ping = layers.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / layers.IP(
        src="10.0.0.1", dst="10.0.0.2"
    )
    ping = ping / layers.ICMP() / b"hello"
    result = pinion.run(ECHO, [ping, bytes(ping), (2000.0, ping)])
    assert len(result.frames) == 3
    pong = layers.Ether(result.frames[0])
    assert pong[layers.IP].src == "10.0.0.2" and pong[layers.ICMP].type == 0
    assert result.packets["arrival_ns"][2] - result.packets["arrival_ns"][0] == pytest.approx(2000)


@pytest.mark.parametrize("given", [list, iter])
def test_what_is_no_frame_is_refused(given: Callable[[list[object]], Any]) -> None:
    for wrong, why in (
        (5, "a frame is bytes"),
        ("text", "a frame is bytes"),
        ((1, 2, 3), "a pair of nanoseconds and a frame"),
        ((-1.0, bytes(64)), "a number of nanoseconds"),
    ):
        with pytest.raises(pinion.UsageError, match=rf"packets\[1\]: .*{why}"):
            pinion.run(ECHO, given([bytes(64), wrong]))


@pytest.mark.parametrize(("keyword", "option"), [("packet", "--packet"), ("message", "--message")])
def test_why_says_what_the_command_says(keyword: str, option: str) -> None:
    app, number = EXAMPLES / "udp_echo", 3
    arguments = [app, "--generate", UDP, "--seed", "5", option, str(number)]
    done = subprocess.run(
        [os.environ["PINION"], "why", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    keywords: dict[str, int] = {keyword: number}
    answer = pinion.why(app, pinion.Generator(UDP), seed=5, **keywords)  # type: ignore[arg-type]
    assert answer.text == done.stdout
    assert answer.document["document"]["kind"] == "why"
    assert answer.svg is not None and answer.svg in answer._repr_html_()


def test_why_of_a_cluster_says_what_the_command_says() -> None:
    app = EXAMPLES / "cluster_echo"
    for keywords, options in (({}, []), ({"message": 5}, ["--message", "5"])):
        done = subprocess.run(
            [os.environ["PINION"], "why", str(app), *options], capture_output=True, text=True, check=True
        )
        answer = pinion.why(app, **keywords)  # type: ignore[arg-type]
        assert answer.text == done.stdout
        assert answer.svg is not None and answer.document["request"]
    with pytest.raises(pinion.UsageError, match="ask about a message"):
        pinion.why(app, packet=1)


def test_why_of_a_message_says_what_the_command_says() -> None:
    app = EXAMPLES / "nanopu_loopback"
    done = subprocess.run(
        [os.environ["PINION"], "why", str(app)], capture_output=True, text=True, check=True
    )
    assert pinion.why(app).text == done.stdout
    with pytest.raises(pinion.UsageError, match="one of packet="):
        pinion.why(app, packet=1, message=1)


@pytest.mark.parametrize(
    ("name", "options"), [("udp_echo", ["--generate", UDP]), ("nanopu_loopback", [])]
)
def test_a_profile_says_what_the_command_says(name: str, options: list[str]) -> None:
    app, packets = EXAMPLES / name, pinion.Generator(UDP) if options else None
    done = subprocess.run(
        [os.environ["PINION"], "profile", str(app), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    profile = pinion.profile(app, packets)
    assert profile.text == done.stdout
    assert profile.document["document"]["kind"] == "profile"
    assert "<svg" in profile.flame and profile.pprof and profile.lcov.startswith("TN:")


def test_times_at_which_frames_arrive_are_kept_in_order() -> None:
    frame = bytes(64)
    with pytest.raises(pinion.UsageError, match=r"packets\[1\].*in front"):
        pinion.run(ECHO, [(10.0, frame), (5.0, frame)])
    with pytest.raises(pinion.UsageError, match=r"packets\[0\]"):
        pinion.run(ECHO, [5])  # type: ignore[list-item]
    with pytest.raises(pinion.UsageError, match="one frame"):
        pinion.run(ECHO, frame)  # type: ignore[arg-type]


def test_without_keep_there_is_the_summary_alone() -> None:
    result = pinion.run(ECHO, PINGS, keep=False)
    assert result.frames == [] and len(result.packets) == 0
    assert result.summary["packets"]["out"] > 0


def test_host_memory_is_the_commands(tmp_path: Path, command: Command) -> None:
    app, spec = EXAMPLES / "to_host", "udp,size=256,count=20"
    manifest = (app / "app.toml").read_text()
    context = manifest.split("[[context]]")[1].split('name = "')[1].split('"')[0]
    file = tmp_path / "memory"
    command(app, "--generate", spec, "--host-dump", f"{context}={file}")
    result = pinion.run(app, pinion.Generator(spec), host_memory=[context])
    assert result.host_memory[context] == file.read_bytes()


def test_what_does_not_apply_is_refused() -> None:
    with pytest.raises(pinion.UsageError, match="threads= goes with clusters"):
        pinion.run(ECHO, PINGS, threads=2)
    with pytest.raises(pinion.UsageError, match="engine= goes with packet handlers"):
        pinion.run(EXAMPLES / "nanopu_loopback", engine="native")
    with pytest.raises(pinion.UsageError, match="seed="):
        pinion.run(ECHO, PINGS, seed=1)
    with pytest.raises(pinion.UsageError, match="workers="):
        pinion.run(ECHO, PINGS, workers=2)
    with pytest.raises(pinion.UsageError, match="packets= goes with"):
        pinion.run(EXAMPLES / "cluster_echo", PINGS)
    with pytest.raises(pinion.UsageError, match="Messages go with nanoservices"):
        pinion.run(ECHO, pinion.Load(requests=1))


def test_mistakes_are_said_as_the_command_says_them(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    mistakes: list[tuple[type[pinion.Error], Callable[[], object], list[str | Path]]] = [
        (
            pinion.FileError,
            lambda: pinion.App(tmp_path / "none"),
            ["run", tmp_path / "none"],
        ),
        (
            pinion.FileError,
            lambda: pinion.run(ECHO, tmp_path / "none.pcap"),
            ["run", ECHO, "--pcap-in", tmp_path / "none.pcap"],
        ),
        (
            pinion.ConfigError,
            lambda: pinion.Machine("pspin", {"cluster.cout": 3}),
            ["machine", "show", "pspin", "--set", "cluster.cout=3"],
        ),
        (
            pinion.UsageError,
            lambda: pinion.Machine("pspun"),
            ["machine", "show", "pspun"],
        ),
        (
            pinion.PacketError,
            lambda: pinion.run(ECHO, pinion.Generator("udp", sise=3)),
            ["run", ECHO, "--generate", "udp,sise=3"],
        ),
        (
            pinion.PacketError,
            lambda: pinion.run(ECHO, EXAMPLES / "icmp_echo/app.toml"),
            ["run", ECHO, "--pcap-in", EXAMPLES / "icmp_echo/app.toml"],
        ),
        (
            pinion.UsageError,
            lambda: pinion.run(ECHO, PINGS, machine="nanopu"),
            ["run", ECHO, "--pcap-in", PINGS, "--machine", "nanopu"],
        ),
    ]
    for kind, ours, theirs in mistakes:
        with pytest.raises(pinion.Error) as raised:
            ours()
        assert str(raised.value) == refusal(*theirs)
        assert type(raised.value) is kind, raised.value


def test_other_threads_go_on_meanwhile() -> None:
    turns, done = 0, threading.Event()

    def work() -> None:
        pinion.run(EXAMPLES / "udp_echo", pinion.Generator("udp", dport=9500, size=256, count=4000))
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.wait(0.001):
        turns += 1
    worker.join()
    assert turns > 5


def test_progress_is_told_and_may_fail() -> None:
    told_of: list[tuple[int, int | None, float, float]] = []
    generator = pinion.Generator("udp", dport=9500, size=256, count=20000)

    def progress(done: int, total: int | None, simulated: float, seconds: float) -> None:
        told_of.append((done, total, simulated, seconds))
        if len(told_of) == 3:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        pinion.run(EXAMPLES / "udp_echo", generator, progress=progress)
    assert len(told_of) == 3 and told_of[0][1] == 20000
    assert told_of[0][0] <= told_of[1][0] <= told_of[2][0]


INTERRUPTED = """
import pinion, sys
def progress(done, total, simulated, seconds):
    print("goes on", flush=True)
try:
    pinion.run(sys.argv[1], pinion.Generator("udp", dport=9500, size=256, count=100_000_000), progress=progress, keep=False)
except KeyboardInterrupt as interrupt:
    print(interrupt.result.summary["ending"], interrupt.result.summary["packets"]["in"] > 0)
"""


def test_an_interrupted_run_keeps_what_was_done() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(EXAMPLES / "udp_echo")],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "goes on\n"
        os.kill(process.pid, signal.SIGINT)
        begun = time.monotonic()
        rest = process.stdout.read()
    assert rest.splitlines()[-1] == "interrupted True"
    assert process.returncode == 0 and time.monotonic() - begun < 20
