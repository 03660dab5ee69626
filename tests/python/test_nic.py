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
    assert "<table>" in nic._repr_html_() and "count" in repr(nic)


SUMS = """
#include <lnic.h>

struct sums { unsigned messages, words; } sums;

int main(void)
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read();
        uint64_t words = lnic_words(lnic_header_bytes(header));
        lnic_write_r(header);
        for (; words; words--) {
            lnic_copy();
            sums.words++;
        }
        sums.messages++;
        lnic_msg_done();
    }
}
"""


def test_a_nanoservice_runs_step_by_step() -> None:
    layers = pytest.importorskip("scapy.layers.all")
    machine = pinion.Machine("nanopu", {"transport.kind": "udp"})
    nic = pinion.Nic(pinion.App.from_source(SUMS, harts=1, name="sums"), machine=machine)
    begun: list[dict[str, Any]] = []
    ended: list[dict[str, Any]] = []
    nic.on("message_start", begun.append)
    nic.on("message", ended.append)
    start = nic.now_ns
    assert start > 0 and nic.pull() == [] and len(nic.messages) == 0
    addresses = layers.IP(src="10.0.0.1", dst=str(machine["address.ip"]))
    request = layers.Ether(dst="02:00:00:00:00:02") / addresses / layers.UDP(sport=5000, dport=47000)
    nic.push(request / bytes(range(16)), at=start + 50)
    assert nic.run(until=start + 10) == "time"
    before = nic.snapshot()
    ends = []
    for _ in range(2):
        assert nic.memory["sums"] == {"messages": 0, "words": 0}
        assert nic.run() == "idle"
        assert nic.memory["sums"] == {"messages": 1, "words": 2}
        (answer,) = map(layers.Ether, nic.pull())
        assert answer[layers.UDP].dport == 5000 and bytes(answer[layers.UDP].payload)[:16] == bytes(range(16))
        rows = nic.messages.to_pydict()
        assert sorted(rows["direction"]) == ["in", "out"]
        came = rows["direction"].index("in")
        assert rows["ended_ns"][came] > rows["begun_ns"][came] > start + 50
        ends.append((rows, nic.units, nic.now_ns))
        nic.restore(before)
        assert len(nic.messages) == 0
    assert ends[0] == ends[1]
    assert [event["message"] for event in begun] == [event["message"] for event in ended] == [0, 0]
    assert ended[0]["hart"] == 0 and ended[0]["time_ns"] > begun[0]["time_ns"]
    address = nic.memory["&sums"]
    assert nic.memory.read(address, 8) == bytes(8)
    with pytest.raises(pinion.UsageError, match="no host memory"):
        nic.host_memory("0")
    with pytest.raises(pinion.UsageError, match="there is no event packet"):
        nic.on("packet", begun.append)
    with pytest.raises(pinion.UsageError, match="a frame has a byte at least"):
        nic.push(b"")


def test_a_clusters_nodes_run_step_by_step() -> None:
    whole = pinion.run(EXAMPLES / "cluster_echo").summary
    cluster = pinion.Nic(EXAMPLES / "cluster_echo")
    assert "server" in " ".join(cluster.nodes) or len(cluster.nodes) > 1
    heard: list[dict[str, Any]] = []
    cluster.on("message", heard.append)
    assert cluster.run(until=5_000) == "time"
    before = cluster.snapshot()
    assert cluster.run() == "ended"
    done = len(cluster.messages)
    assert done > 0 and {event["node"] for event in heard} <= set(cluster.nodes)
    cluster.restore(before)
    assert len(cluster.messages) < done
    assert cluster.run() == "ended" and len(cluster.messages) == done
    given = sum(node["messages_in"] for node in whole["nodes"])
    ended = [end for end, way in zip(cluster.messages["ended_ns"], cluster.messages["direction"]) if way == "in"]
    assert len([end for end in ended if end]) == given
    with pytest.raises(pinion.UsageError, match="memory_of"):
        cluster.memory["x"]
    with pytest.raises(KeyError, match="there is no node nobody"):
        cluster.memory_of("nobody")
    with pytest.raises(pinion.UsageError, match="address="):
        cluster.push(bytes(64))
    with pytest.raises(pinion.UsageError, match="address="):
        pinion.Nic(ECHO, address="10.0.0.1/8")


def test_frames_go_through_a_clusters_network(tmp_path: Any) -> None:
    file = tmp_path / "rack.toml"
    node = f'[[node]]\nname = "nic"\napp = "{ECHO}"\ncount = 2\n'
    file.write_text(f'[cluster]\nname = "rack"\n\n{node}')
    layers = pytest.importorskip("scapy.layers.all")
    rack = pinion.Nic(file, address="10.0.0.1/24")
    packets: list[dict[str, Any]] = []
    rack.on("packet", packets.append)
    addresses = layers.IP(src="10.0.0.1", dst="10.0.0.3")
    ask = layers.Ether(dst="02:00:00:00:00:02") / addresses / layers.ICMP(seq=4) / b"hello"
    rack.push(ask)
    assert rack.run() == "idle"
    (answer,) = map(layers.Ether, rack.pull())
    assert answer[layers.IP].src == "10.0.0.3" and answer[layers.ICMP].seq == 4
    assert [event["node"] for event in packets] == ["nic.1"]
    address = rack.memory_of("nic.0").keys()
    assert isinstance(address, list)
    for wrong in ("10.0.0.1", "10.0.0/8", "10.0.0.1/40"):
        with pytest.raises(pinion.UsageError, match="address="):
            pinion.Nic(file, address=wrong)
