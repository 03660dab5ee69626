"""Tables of messages, harts and queues over time, tables in files, and tables that come in."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pinion
import pytest
from conftest import EXAMPLES, told

ECHO = EXAMPLES / "icmp_echo"
PINGS = ECHO / "ping.pcap"
UDP = EXAMPLES / "udp_echo"


def test_messages_of_handlers_are_their_packets_together() -> None:
    result = pinion.run(EXAMPLES / "reduce", messages=True)
    messages, packets = result.messages, result.packets
    assert messages is not None and 0 < len(messages) < len(packets)
    rows = messages.to_pydict()
    assert sum(rows["packets"]) == len(packets) and sum(rows["bytes"]) == sum(packets["bytes"])
    assert sum(rows["instructions"]) == sum(packets["instructions"])
    assert max(rows["completion_ns"]) == max(packets["completion_ns"])
    assert all(latency > 0 for latency in rows["latency_ns"])
    assert pinion.run(ECHO, PINGS).messages is None


def test_messages_of_a_nanoservice_have_their_times_in_order() -> None:
    load = pinion.Load(requests=40, gap="exp:900")
    result = pinion.run(EXAMPLES / "nanopu_echo", load, messages=True)
    assert result.messages is not None
    rows = result.messages.to_pydict()
    came = [row for row, way in enumerate(rows["direction"]) if way == "in"]
    assert len(came) == result.summary["messages"]["in"] == 40
    steps = ("first_packet_ns", "complete_ns", "queued_ns", "given_ns", "begun_ns", "ended_ns")
    for row in came:
        times = [rows[step][row] for step in steps]
        assert None not in times and times[0] <= times[1] <= times[3] <= times[4] < times[5]
        assert rows["latency_ns"][row] == pytest.approx(times[5] - times[0])
    assert told(result.summary) == told(pinion.run(EXAMPLES / "nanopu_echo", load).summary)


def test_messages_of_a_cluster_have_their_nodes() -> None:
    result = pinion.run(EXAMPLES / "cluster_echo", messages=True, queues=True)
    assert result.messages is not None and result.queues is not None
    rows = result.messages.to_pydict()
    given = {node["name"]: node["messages_in"] for node in result.summary["nodes"]}
    for name, count in given.items():
        begun = [
            1
            for node, way, at in zip(rows["node"], rows["direction"], rows["begun_ns"])
            if node == name and way == "in" and at is not None
        ]
        assert len(begun) == count
    assert told(result.summary) == told(pinion.run(EXAMPLES / "cluster_echo").summary)
    units = set(result.queues["unit"])
    assert any(unit.startswith("server") for unit in units) or len(units) > 3


def test_harts_are_those_of_the_summary() -> None:
    result = pinion.run(EXAMPLES / "nanopu_echo")
    assert result.harts is not None
    rows, expected = result.harts.to_pydict(), result.summary["harts"]
    for name in result.harts.column_names:
        assert rows[name] == [hart[name] for hart in expected]
    cluster = pinion.run(EXAMPLES / "cluster_echo")
    assert cluster.harts is not None
    nodes = {node["name"] for node in cluster.summary["nodes"] if "harts" in node["details"]}
    assert set(cluster.harts["node"]) == nodes
    handlers = pinion.run(ECHO, PINGS, handlers=True)
    assert handlers.harts is not None and handlers.handlers is not None
    assert sum(handlers.harts["runs"]) == len(handlers.handlers)
    assert sum(handlers.harts["instructions"]) == sum(handlers.handlers["instructions"])
    assert pinion.run(ECHO, PINGS).harts is None


@pytest.mark.parametrize(
    ("app", "packets"),
    [(UDP, pinion.Generator("udp,dport=9500,size=256,count=50")), (EXAMPLES / "nanopu_echo", None)],
)
def test_queues_over_time_end_empty_and_change_nothing(app: Path, packets: Any) -> None:
    result = pinion.run(app, packets, queues=True)
    assert result.queues is not None
    rows = result.queues.to_pydict()
    assert rows["time_ns"] == sorted(rows["time_ns"]) and len(rows["time_ns"]) > 20
    last: dict[tuple[str, str], Any] = {}
    for unit, queue, value in zip(rows["unit"], rows["queue"], rows["value"]):
        last[unit, queue] = value
    held = {key: value for key, value in last.items() if key[1] in ("messages", "tasks", "busy")}
    assert held and not any(held.values())
    assert told(result.summary) == told(pinion.run(app, packets).summary)


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pinion.UsageError, match="parquet= of a cluster is for"):
        pinion.run(EXAMPLES / "cluster_echo", parquet=tmp_path)
    with pytest.raises(pinion.UsageError, match="queues= follows"):
        pinion.run(ECHO, PINGS, queues=True, check=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [{}, {"queues": True}, {"check": True}, {"engine": "native"}], ids=str)
@pytest.mark.parametrize(
    ("app", "packets"),
    [
        (EXAMPLES / "reduce", None),
        (EXAMPLES / "aggregate", None),
        (UDP, pinion.Generator("udp,dport=9500,size=64,count=400")),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_messages_of_handlers_go_to_a_file(app: Path, packets: Any, words: Any, tmp_path: Path) -> None:
    """As they end, messages are what their packets are together when all is known."""
    parquet = pytest.importorskip("pyarrow.parquet")
    kept = pinion.run(app, packets, messages=True, **words)
    written = pinion.run(app, packets, messages=True, parquet=tmp_path, **words)
    assert kept.messages is not None and written.messages is None
    rows = parquet.read_table(written.parquet["messages"]).to_pylist()
    assert rows and all(row["packets"] > 0 for row in rows)
    own = [dict(zip(kept.messages.column_names, row)) for row in zip(*kept.messages.to_pydict().values())]
    if "engine" in words:
        # The native engine's times are this computer's.
        for row in rows + own:
            for name in [name for name in row if name.endswith("_ns")]:
                del row[name]
    else:
        ended = [row["completion_ns"] for row in rows]
        assert ended == sorted(ended)
    key = repr
    assert sorted(rows, key=key) == sorted(own, key=key)


def test_messages_of_handlers_take_no_more_memory_when_there_are_more(tmp_path: Path) -> None:
    """Packets that are messages of their own, in a process that says what it needed at most."""
    script = (
        "import resource, sys, pinion\n"
        "packets = pinion.Generator('udp,dport=9500,size=64,rate=20g', count=sys.argv[2])\n"
        "pinion.run(sys.argv[1], packets, messages=True, parquet=sys.argv[3])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )

    def most(count: int) -> int:
        words = [sys.executable, "-c", script, str(UDP), str(count), str(tmp_path / str(count))]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    # A piece of rows is held, and what Parquet has of a piece behind it.
    assert most(150_000) < most(75_000) * 1.15


TAKERS = ["polars", "pandas", "pyarrow", "duckdb"]


def taken(library: str, table: Any) -> dict[str, list[Any]]:
    """Gives a table's columns as a library has them that took it by the PyCapsule interface."""
    if library == "polars":
        return dict(pytest.importorskip("polars").DataFrame(table).to_dict(as_series=False))
    if library == "pandas":
        frame = pytest.importorskip("pandas").DataFrame.from_arrow(table)
        return {name: [None if value != value else value for value in frame[name]] for name in frame.columns}
    arrow = pytest.importorskip("pyarrow")
    if library == "pyarrow":
        return dict(arrow.table(table).to_pydict())
    found = pytest.importorskip("duckdb").from_arrow(table)
    rows = found.fetchall()
    return {name: [row[place] for row in rows] for place, name in enumerate(found.columns)}


@pytest.fixture(scope="module")
def tables() -> dict[str, pinion.Table]:
    """Every table there is: of handlers, of a nanoservice, of a cluster, of a sweep, a figure, a Nic."""
    wanted: dict[str, Any] = {"messages": True, "queues": True}
    load = pinion.Load(requests=20, gap="exp:900")
    results = {
        "handlers": pinion.run(EXAMPLES / "reduce", handlers=True, **wanted),
        "nanoservice": pinion.run(EXAMPLES / "nanopu_echo", load, **wanted),
        "cluster": pinion.run(EXAMPLES / "cluster_echo", **wanted),
    }
    names = ("packets", "handlers", "messages", "harts", "queues")
    found = {
        f"{what}.{name}": table
        for what, result in results.items()
        for name in names
        if (table := getattr(result, name)) is not None and len(table)
    }
    nic = pinion.Nic(UDP)
    nic.push(*pinion.run(UDP, pinion.Generator("udp,dport=9500,size=64,count=3")).frames)
    nic.run()
    figure = pinion.figure("pspin-latency", quick=True)
    return {**found, "nic.packets": nic.packets, "figure": figure.table}


@pytest.mark.parametrize("library", TAKERS)
def test_libraries_take_every_table_as_it_is(library: str, tables: dict[str, pinion.Table]) -> None:
    assert {
        *("handlers.packets", "handlers.handlers", "handlers.messages", "handlers.harts", "handlers.queues"),
        *("nanoservice.packets", "nanoservice.messages", "nanoservice.harts", "nanoservice.queues"),
        *("cluster.messages", "cluster.harts", "cluster.queues"),
    } <= set(tables)
    for name, table in tables.items():
        columns = taken(library, table)
        own = table.to_pydict()
        assert list(columns) == table.column_names, name
        for column, values in own.items():
            assert columns[column] == values, (name, column)


def test_a_table_in_a_file_is_the_one_in_memory(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    generator = pinion.Generator("udp,dport=9500,size=64,count=300")
    kept = pinion.run(UDP, generator, handlers=True)
    written = pinion.run(UDP, generator, handlers=True, parquet=tmp_path / "tables")
    assert set(written.parquet) == {"packets", "handlers"} and kept.parquet == {}
    assert len(written.packets) == 0 and written.frames == [] and written.handlers is None
    assert kept.handlers is not None
    for name, table in (("packets", kept.packets), ("handlers", kept.handlers)):
        assert parquet.read_table(written.parquet[name]).to_pydict() == table.to_pydict()
    assert told(written.summary) == told(kept.summary)
    with pytest.raises(pinion.FileError):
        pinion.run(UDP, generator, parquet=tmp_path / "tables/packets.parquet")


def rows(table: Any) -> list[tuple[Any, ...]]:
    columns = table.to_pydict()
    return sorted(zip(*(map(repr, columns[name]) for name in sorted(columns))))


@pytest.mark.parametrize(
    ("app", "packets"),
    [
        (EXAMPLES / "nanopu_echo", pinion.Load(requests=60, gap="exp:900")),
        (EXAMPLES / "nanopu_loopback", None),
        (EXAMPLES / "cluster_echo", None),
        (EXAMPLES / "cluster_rpc", None),
        (UDP, pinion.Generator("udp,dport=9500,size=256,count=50")),
    ],
)
def test_all_tables_go_to_files_as_they_come(app: Path, packets: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    messages = app != UDP
    kept = pinion.run(app, packets, messages=messages, queues=True)
    written = pinion.run(app, packets, messages=messages, queues=True, parquet=tmp_path)
    is_cluster = "nodes" in kept.summary
    names = {"queues"} | ({"messages"} if messages else set()) | (set() if is_cluster else {"packets"})
    assert set(written.parquet) == names == {path.stem for path in tmp_path.iterdir()}
    # Tables that went to files are empty here, or not there.
    assert not written.messages and not written.queues and not written.packets
    for name in names:
        table, file = getattr(kept, name), parquet.read_table(written.parquet[name])
        assert len(table) == file.num_rows > 0 and table.column_names == file.column_names
        assert rows(table) == rows(file)
    if messages:
        ends = [at for at in parquet.read_table(written.parquet["messages"])["ended_ns"].to_pylist()]
        done = [at for at in ends if at is not None]
        assert done == sorted(done) and ends[: len(done)] == done
    assert told(written.summary) == told(kept.summary)


def test_messages_come_in_the_same_order_on_any_threads(tmp_path: Path) -> None:
    files = []
    for threads in (1, 3):
        result = pinion.run(EXAMPLES / "cluster_echo", messages=True, threads=threads, parquet=tmp_path / str(threads))
        files.append(result.parquet["messages"].read_bytes())
    assert files[0] == files[1]


def test_what_was_written_stays_after_ctrl_c(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")

    def stop(done: int, total: int | None, ns: float, seconds: float) -> None:
        if done > 50:
            raise KeyboardInterrupt

    load = pinion.Load(requests=1_000_000)
    with pytest.raises(pinion.Interrupted) as raised:
        pinion.run(EXAMPLES / "nanopu_echo", load, messages=True, parquet=tmp_path, progress=stop)
    files = raised.value.result.parquet
    assert set(files) == {"packets", "messages"}
    assert parquet.read_table(files["messages"]).num_rows > 50


GROWTH = """
import pinion, resource, sys, tempfile
is_service = "nanopu" in sys.argv[1]
def peak(count):
    with tempfile.TemporaryDirectory() as folder:
        if is_service:
            load = pinion.Load(requests=count, gap="exp:900")
            pinion.run(sys.argv[1], load, messages=True, parquet=folder)
        else:
            # As many as the NIC keeps up with: waits that grow are counted one by one.
            generator = pinion.Generator("udp", dport=9500, size=64, count=count, rate="20g")
            pinion.run(sys.argv[1], generator, parquet=folder)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
few, many = (70_000, 140_000) if is_service else (140_000, 420_000)
first = peak(few)
print(first, peak(many) - first)
"""


@pytest.mark.parametrize("app", [UDP, EXAMPLES / "nanopu_echo"])
def test_a_longer_table_in_a_file_takes_no_more_memory(app: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, str(app)], capture_output=True, text=True, check=True, env=os.environ
    )
    first, growth = map(int, done.stdout.split())
    # In kilobytes; kept in memory, the rows alone would be more than 50 MB.
    assert growth < 12_000, (first, growth)


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_packets_come_in_tables(library: str) -> None:
    module = pytest.importorskip(library)
    frames = pinion.run(ECHO, PINGS).frames[:5]
    pings = [bytes(60 + number) for number in range(5)] + frames
    columns: dict[str, Any] = {"time_ns": [100.0 * number for number in range(10)], "frame": pings}
    if library == "pandas":
        table = module.DataFrame(columns)
    elif library == "polars":
        table = module.DataFrame(columns, schema={"time_ns": module.Float64, "frame": module.Binary})
    else:
        table = module.table(columns)
    result = pinion.run(ECHO, table)
    assert told(result.summary) == told(pinion.run(ECHO, list(zip(columns["time_ns"], pings))).summary)


def test_a_table_that_is_none_of_packets_is_refused() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    wrong = [
        ({"bytes": [b"x"]}, "has a column frame"),
        ({"frame": ["text"]}, "frame holds bytes"),
        ({"frame": [b"x", None]}, "row 1: frame holds bytes"),
        ({"frame": [b"x", b"y"], "time_ns": [5.0, 1.0]}, "row 1: it arrives before"),
        ({"frame": [b"x"], "time_ns": [-1]}, "row 0: time_ns holds .*, not -1"),
        ({"frame": [b"x"], "time_ns": ["now"]}, "row 0: time_ns holds .*, not Utf8"),
        ({"frame": [b"x", b""]}, "row 1: a frame has a byte at least"),
    ]
    for columns, what in wrong:
        with pytest.raises(pinion.UsageError, match=what):
            pinion.run(ECHO, pyarrow.table(columns))


@pytest.mark.parametrize(
    ("kind", "buffers"),
    [
        # Ends of frames that go back, are negative or lie beyond the bytes.
        ("binary", (b"4i", [0, 90, 10, 100])),
        ("binary", (b"3i", [0, -50, 60])),
        ("binary", (b"4i", [0, 2_000_000_000, 10, 100])),
        ("large_binary", (b"4q", [0, 2**62, 10, 100])),
        # Frames that lie in no buffer, beyond its end or have a negative length.
        ("binary_view", (b"4i", [64, 0, 5, 0])),
        ("binary_view", (b"4i", [64, 0, 0, 2**31 - 1])),
        ("binary_view", (b"4i", [-5, 0, 0, 0])),
        ("binary_view", (b"4i", [2**31 - 1, 0, 0, 0])),
    ],
    ids=str,
)
def test_a_table_whose_frames_lie_nowhere_is_refused(kind: str, buffers: Any) -> None:
    """Whoever makes an array may have had any bytes; what they say is looked at before it is believed."""
    pyarrow = pytest.importorskip("pyarrow")
    layout, numbers = buffers
    places, data = struct.pack(layout.decode(), *numbers), bytes(100)
    rows = 1 if kind == "binary_view" else len(numbers) - 1
    given = [None, pyarrow.py_buffer(places), pyarrow.py_buffer(data)]
    array = pyarrow.Array.from_buffers(getattr(pyarrow, kind)(), rows, given)
    with pytest.raises(pinion.UsageError, match="packets: the column frame: "):
        pinion.run(ECHO, pyarrow.table({"frame": array}))


def test_frames_that_never_end_are_refused() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    frame = bytes(1 << 20)
    with pytest.raises(pinion.UsageError, match="more than 1 GiB of frames, or never end"):
        pinion.run(ECHO, itertools.repeat(frame))
    batch = pyarrow.record_batch({"frame": [frame] * 16})
    endless = pyarrow.RecordBatchReader.from_batches(batch.schema, itertools.repeat(batch))
    with pytest.raises(pinion.UsageError, match="more than 1 GiB of frames, or never end"):
        pinion.run(ECHO, endless)


def test_a_frame_of_no_bytes_is_refused() -> None:
    for frames in ([b""], [bytes(64), b""], [(5.0, b"")]):
        with pytest.raises(pinion.UsageError, match=r"packets\[\d\]: a frame has a byte at least"):
            pinion.run(ECHO, frames)
    with pytest.raises(pinion.UsageError, match="a frame has a byte at least"):
        pinion.Nic(ECHO).push(b"")


def test_notebooks_show_tables_and_curves() -> None:
    result = pinion.run(ECHO, PINGS)
    assert "<svg" in result._repr_html_() and "from HER to completion" in result._repr_html_()
    shown = result.packets._repr_html_()
    assert shown.count("<tr>") == 11 and f"{len(result.packets)} rows" in shown
    assert "<svg" not in pinion.run(ECHO, PINGS, keep=False)._repr_html_()
