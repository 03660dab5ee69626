"""A NIC step by step: what it does is what a run does, however it is cut, held and taken back."""

from __future__ import annotations

from typing import Any

import pinion
import pytest
from conftest import EXAMPLES

ECHO = EXAMPLES / "icmp_echo"
SOURCE = """
#include <handler.h>
#include <packets.h>
#include <stdint.h>
#include <stdbool.h>

enum colour { RED, GREEN = 7 };
struct point { int x; int8_t y; };
volatile uint32_t counters[4];
volatile struct point last = { -3, -2 };
volatile enum colour shade = GREEN;
volatile bool is_ready = true;
volatile char title[8] = "pinion";
volatile int64_t big = -5000000000LL;

__handler__ void count_ph(handler_args_t *args)
{
    uint8_t *packet = (uint8_t *)args->task->pkt_mem;
    amo_add(&counters[packet[0] & 3], 1);
    last.x = (int)args->task->pkt_mem_size;
    if (is_ready && title[1] == 'x')
        big = shade;
    printf("%d bytes\\n", (int)args->task->pkt_mem_size);
}
"""


@pytest.fixture(scope="session")
def count() -> pinion.App:
    return pinion.App.from_source(SOURCE, payload="count_ph", name="count", machine="fpspin")


def frame(first: int, size: int = 64) -> bytes:
    return bytes([first]) + bytes(size - 1)


def ping(number: int) -> bytes:
    layers = pytest.importorskip("scapy.layers.all")
    addresses = layers.IP(src="10.0.0.1", dst="10.0.0.2")
    return bytes(layers.Ether(dst="02:00:00:00:00:02") / addresses / layers.ICMP(seq=number) / b"hi")


def test_steps_come_to_what_a_run_comes_to() -> None:
    frames = [(300.0 * number, ping(number)) for number in range(20)]
    whole = pinion.run(ECHO, frames)
    nic = pinion.Nic(ECHO)
    for at, one in frames:
        nic.push(one, at=at)
    out: list[bytes] = []
    reasons = []
    for step in range(1, 40):
        reasons.append(nic.run(until=250.0 * step))
        assert nic.now_ns == 250.0 * step
        out += nic.pull()
    assert out == whole.frames and nic.pull() == []
    assert set(reasons) == {"time", "idle"} and reasons[-1] == "idle"
    stepped, expected = nic.packets.to_pydict(), whole.packets.to_pydict()
    assert stepped == expected


def test_variables_come_as_their_types_have_them(count: pinion.App) -> None:
    nic = pinion.Nic(count)
    assert nic.memory["counters"] == [0, 0, 0, 0]
    assert nic.memory["last"] == {"x": -3, "y": -2}
    assert nic.memory["shade"] == "GREEN" and nic.memory["is_ready"] == 1
    assert nic.memory["title"] == b"pinion\0\0" and nic.memory["big"] == -5_000_000_000
    nic.push(frame(1), frame(2), frame(1, 100))
    assert nic.run() == "idle"
    assert nic.memory["counters"] == [0, 2, 1, 0]
    assert nic.memory["counters[1] + 3"] == 5 and nic.memory["last.y"] == -2
    address = nic.memory["&counters"]
    assert nic.memory.read(address, 16)[4:12] == bytes([2, 0, 0, 0, 1, 0, 0, 0])
    assert {"counters", "last", "title"} <= set(nic.memory.keys())
    assert sorted(line.split("] ")[1] for line in nic.output.splitlines()) == [
        "100 bytes",
        "64 bytes",
        "64 bytes",
    ]
    for wrong in ("counter", "counters[9]", "last.z", "counters["):
        with pytest.raises(KeyError):
            nic.memory[wrong]
    for address, count_ in ((0, 4), (2**32 - 1, 2), (2**64 - 1, 1)):
        with pytest.raises(pinion.UsageError, match="no memory"):
            nic.memory.read(address, count_)


def test_a_snapshot_takes_everything_back(count: pinion.App) -> None:
    nic = pinion.Nic(count)
    nic.push(frame(0))
    nic.run()
    before = nic.snapshot()
    held = (nic.now_ns, nic.output, nic.units, len(nic.packets))
    ends = []
    for _ in range(2):
        nic.push(frame(3), frame(3))
        nic.run(until=nic.now_ns + 150)  # in the middle of it
        nic.run()
        ends.append((nic.now_ns, nic.memory["counters"], nic.packets.to_pydict()))
        nic.restore(before)
        assert (nic.now_ns, nic.output, nic.units, len(nic.packets)) == held
        assert nic.memory["counters"] == [1, 0, 0, 0]
    assert ends[0] == ends[1] and ends[0][1] == [1, 0, 0, 2]
    with pytest.raises(pinion.UsageError, match="another Nic"):
        pinion.Nic(count).restore(before)


def test_events_are_heard(count: pinion.App) -> None:
    nic = pinion.Nic(count)
    heard: list[dict[str, Any]] = []
    nic.on("packet", heard.append)

    @nic.on("handler_start")
    def began(event: dict[str, Any]) -> None:
        heard.append(event)

    nic.on("output", heard.append)
    nic.push(frame(2))
    nic.run()
    assert [event["event"] for event in heard] == ["handler_start", "output", "packet"]
    assert [event["time_ns"] for event in heard] == sorted(event["time_ns"] for event in heard)
    assert heard[0]["kind"] == "payload" and heard[1]["text"] == "64 bytes"
    assert heard[2]["bytes"] == 64 and heard[2]["failed"] is False
    with pytest.raises(pinion.UsageError, match="there is no event beauty, but departed"):
        nic.on("beauty", heard.append)  # type: ignore[call-overload]


def test_callbacks_stop_a_run_and_raise(count: pinion.App) -> None:
    nic = pinion.Nic(count)
    nic.push(*[frame(1)] * 50)
    nic.on("packet", lambda event: nic.stop())
    assert nic.run() == "stopped"
    assert 0 < len(nic.packets) < 50
    nic = pinion.Nic(count)
    nic.push(*[frame(1)] * 50)

    @nic.on("packet")
    def look(event: dict[str, Any]) -> None:
        # A NIC that runs cannot be looked at.
        nic.memory["counters"]

    with pytest.raises(pinion.UsageError, match="is running"):
        nic.run()
    assert sum(nic.memory["counters"]) < 50


def test_faults_and_drops_are_heard() -> None:
    source = "#include <handler.h>\n__handler__ void f(handler_args_t *a) { *(volatile int *)4 = 1; }\n"
    nic = pinion.Nic(pinion.App.from_source(source, payload="f", name="faulty"))
    faults: list[dict[str, Any]] = []
    nic.on("fault", faults.append)
    nic.push(bytes(64))
    nic.run()
    assert len(faults) == 1 and faults[0]["address"] == 4 and faults[0]["what"].startswith("exception")


def test_host_memory_is_read_and_written() -> None:
    app = EXAMPLES / "copy_from_host"
    nic = pinion.Nic(app)
    name = "memory"
    nic.write_host_memory(name, b"pinion", 3)
    assert nic.host_memory(name)[3:9] == b"pinion"
    with pytest.raises(pinion.UsageError, match="bytes of host memory"):
        nic.write_host_memory(name, b"x", 2**40)
    with pytest.raises(KeyError, match="there is no context"):
        nic.host_memory("nobody's")


def test_what_does_not_fit_is_refused(count: pinion.App) -> None:
    nic = pinion.Nic(count)
    nic.run(until=1000)
    with pytest.raises(pinion.UsageError, match="no earlier than now"):
        nic.push(frame(1), at=10)
    with pytest.raises(pinion.UsageError, match="max_packet_bytes"):
        nic.push(bytes(1 << 17))
    with pytest.raises(pinion.UsageError, match="until="):
        nic.run(until=float("nan"))
    with pytest.raises(pinion.UsageError, match="packet handlers"):
        pinion.Nic(EXAMPLES / "nanopu_echo")
    assert "<table>" in nic._repr_html_() and "count" in repr(nic)
