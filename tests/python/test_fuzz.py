"""Whatever comes in, the package says what is wrong with it: an exception of its own or of Python's, never a
panic. PINION_FUZZ is how many examples each part tries; `PINION_FUZZ=10000 pytest test_fuzz.py` is a campaign."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pinion
import pytest
from conftest import EXAMPLES, REPOSITORY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ECHO = EXAMPLES / "icmp_echo"
EXAMPLES_EACH = int(os.environ.get("PINION_FUZZ", "25"))
FAST = settings(
    max_examples=EXAMPLES_EACH,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
# What says what is wrong with what was given.
SAID = (pinion.Error, TypeError, ValueError, KeyError, OverflowError)

WORDS = st.text(max_size=40)
NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.booleans())
KEYS = st.sampled_from([entry for name in ("pspin", "nanopu") for entry in pinion.Machine(name).keys()])
VALUES = st.one_of(NUMBERS, WORDS, st.sampled_from(["udp", "ndp", "max", "1g", "8", "0", "-1", "exp:3"]))
SPECS = st.lists(
    st.tuples(
        st.sampled_from(
            ["udp", "icmp", "slmp", "raw", "size", "count", "rate", "dport", "gap", "requests", "service", "seed"]
        ),
        st.one_of(st.none(), st.integers(-3, 300), WORDS),
    ).map(lambda pair: pair[0] if pair[1] is None else f"{pair[0]}={pair[1]}"),
    max_size=5,
).map(",".join)


def said(call: Callable[[], object]) -> None:
    """Calls; what is wrong must be said, and a defect of Pinion is none of that."""
    try:
        call()
    except pinion.InternalError as defect:
        raise AssertionError(f"a defect: {defect}; {defect.replay}") from defect
    except SAID:
        pass


@FAST
@given(st.lists(st.binary(max_size=2000), max_size=8))
def test_frames(frames: list[bytes]) -> None:
    said(lambda: pinion.run(ECHO, frames))
    said(lambda: pinion.run(EXAMPLES / "nanopu_echo", frames))
    for one in frames:
        said(lambda: pinion.describe(one))
    said(lambda: pinion.differences(frames, frames[::-1]))


@FAST
@given(st.lists(st.tuples(st.one_of(NUMBERS, WORDS), st.one_of(st.binary(max_size=99), NUMBERS, WORDS))))
def test_frames_with_times(frames: list[Any]) -> None:
    said(lambda: pinion.run(ECHO, frames))


@FAST
@given(st.dictionaries(st.one_of(KEYS, WORDS), VALUES, max_size=3), st.sampled_from(["pspin", "nanopu"]))
def test_machines(numbers: dict[str, Any], name: str) -> None:
    said(lambda: pinion.Machine(name, numbers).show())
    said(lambda: pinion.run(ECHO, [bytes(64)], set=numbers))


@FAST
@given(st.one_of(SPECS, WORDS), st.one_of(st.none(), st.integers()))
def test_generators_and_loads(spec: str, seed: int | None) -> None:
    if "count" not in spec:
        spec = f"{spec},count=3"
    said(lambda: pinion.run(ECHO, pinion.Generator(spec), seed=seed, cycles=None))
    said(lambda: pinion.run(EXAMPLES / "nanopu_echo", pinion.Load(spec), cycles=200_000))


@FAST
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "pace": st.one_of(WORDS, st.sampled_from(["max", "recorded", "10g", "0", "-1g"])),
            "link": st.one_of(WORDS, st.sampled_from(["loss=1%", "loss=200%", "dup=x", "seed=1"])),
            "workers": st.integers(-1, 3),
            "seed": st.integers(-1, 2**64),
            "start": st.integers(-1, 2**64),
            "cycles": st.integers(0, 10**6),
            "patience": st.integers(0, 10**6),
            "threads": st.integers(-1, 3),
            "link_cycles": st.integers(-1, 2**64),
            "check": st.booleans(),
            "queues": st.booleans(),
            "messages": st.booleans(),
            "handlers": st.booleans(),
            "peer": st.booleans(),
            "host_memory": st.lists(WORDS, max_size=2),
        },
    ),
    st.sampled_from(["icmp_echo", "nanopu_loopback"]),
)
def test_options(options: dict[str, Any], name: str) -> None:
    packets = EXAMPLES / "icmp_echo/ping.pcap" if name == "icmp_echo" else None
    said(lambda: pinion.run(EXAMPLES / name, packets, **options))


@FAST
@given(st.data())
def test_files(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    """Captures, messages, manifests, programs and machines of which parts are others."""
    originals = {
        "capture": EXAMPLES / "icmp_echo/ping.pcap",
        "messages": EXAMPLES / "nanopu_loopback/messages.toml",
        "machine": REPOSITORY / "machines/pspin.toml",
        "manifest": ECHO / "app.toml",
    }
    kind = data.draw(st.sampled_from(sorted(originals)))
    whole = bytearray(originals[kind].read_bytes()[:20_000])
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=6))
    file = tmp_path_factory.mktemp("fuzz") / ("app.toml" if kind == "manifest" else f"{kind}.toml")
    file.write_bytes(whole)
    if kind == "capture":
        said(lambda: pinion.run(ECHO, file))
    elif kind == "messages":
        said(lambda: pinion.run(EXAMPLES / "nanopu_loopback", pinion.Messages(file), cycles=300_000))
    elif kind == "machine":
        said(lambda: pinion.Machine(file).show())
    else:
        said(lambda: pinion.App(file.parent))
        said(lambda: pinion.App(file))


@FAST
@given(st.data())
def test_programs(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    (program,) = pinion.App(ECHO).build()
    whole = bytearray(program.elf.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(whole), 4096) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.mktemp("fuzz") / "program.elf"
    file.write_bytes(whole)

    def look() -> None:
        nic = pinion.Nic(pinion.App(ECHO, elf=file))
        nic.push(bytes(64))
        nic.run(until=20_000)
        for name in nic.memory.keys():
            nic.memory[name]

    said(look)


@pytest.fixture(scope="module")
def nic() -> pinion.Nic:
    return pinion.Nic(EXAMPLES / "histogram")


EXPRESSIONS = st.lists(
    st.sampled_from(
        ["counters", "x", "[", "]", "(", ")", "*", "&", "->", ".", "+", "-", "/", "%", "<<", "0", "1", "99999999999", "sizeof", "(int)", "'a'", "?", ":", "!", "~", "==", " "]
    ),
    max_size=12,
).map("".join)


@FAST
@given(st.one_of(EXPRESSIONS, WORDS), st.integers(), st.integers(), st.integers(0, 2**33))
def test_memory(nic: pinion.Nic, expression: str, address: int, count: int, cluster: int) -> None:
    names = nic.memory.keys()
    for text in (expression, expression.replace("counters", names[0]) if names else expression):
        said(lambda: nic.memory[text])
    said(lambda: nic.memory.get(expression, cluster=cluster))
    said(lambda: nic.memory.read(address, count))
    said(lambda: nic.memory.read(address % 2**32, count % 4096, cluster=cluster))


@FAST
@given(st.data())
def test_steps(nic: pinion.Nic, data: Any) -> None:
    taken = [nic.snapshot()]
    for _ in range(data.draw(st.integers(1, 6))):
        step = data.draw(st.sampled_from(["push", "run", "snapshot", "restore", "host", "on"]))
        if step == "push":
            frame, at = data.draw(st.binary(max_size=300)), data.draw(st.one_of(st.none(), NUMBERS))
            said(lambda: nic.push(frame, at=at))
        elif step == "run":
            until = data.draw(st.one_of(st.floats(0, 3000).map(lambda more: nic.now_ns + more), st.floats(max_value=0)))
            said(lambda: nic.run(until=until))
        elif step == "snapshot":
            taken.append(nic.snapshot())
        elif step == "restore":
            nic.restore(data.draw(st.sampled_from(taken)))
        elif step == "host":
            name, offset = data.draw(WORDS), data.draw(st.integers())
            said(lambda: nic.write_host_memory(name, b"x", offset))
        else:
            event = data.draw(WORDS)
            said(lambda: nic.on(event, print))
    nic.restore(taken[0])


@FAST
@given(
    st.dictionaries(st.one_of(KEYS, WORDS, st.just("packet.bytes")), st.one_of(VALUES, st.lists(VALUES, max_size=3)), max_size=2)
)
def test_grids(tmp_path_factory: pytest.TempPathFactory, grid: dict[str, Any]) -> None:
    def plan() -> None:
        made = pinion.Plan(ECHO, grid, out=tmp_path_factory.mktemp("fuzz"))
        made.points[:3]

    said(plan)


@FAST
@given(st.one_of(st.none(), st.integers()), st.one_of(st.none(), st.integers()), st.booleans())
def test_questions(packet: int | None, message: int | None, p99: bool) -> None:
    said(lambda: pinion.why(ECHO, EXAMPLES / "icmp_echo/ping.pcap", packet=packet, message=message, p99=p99))


@FAST
@given(WORDS, WORDS, st.sampled_from(["c", "c++", "asm", "d"]))
def test_sources_and_names(source: str, name: str, language: Any) -> None:
    said(lambda: pinion.App.from_source(source, manifest=name, language=language))
    said(lambda: pinion.App.from_source(source, payload=name, match=[name], name=name, language=language))
    said(lambda: pinion.figure(f"{name}x"))
    said(lambda: pinion.calibrate(f"{name}?"))
    said(lambda: pinion.App(name))


@FAST
@given(st.lists(st.one_of(st.none(), st.binary(max_size=99)), max_size=5), st.lists(st.one_of(st.none(), st.floats()), max_size=5))
def test_tables(frames: list[bytes | None], times: list[float | None]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    count = min(len(frames), len(times))
    said(lambda: pinion.run(ECHO, pyarrow.table({"frame": frames, "other": frames})))
    columns = {"frame": pyarrow.array(frames[:count], pyarrow.large_binary()), "time_ns": times[:count]}
    said(lambda: pinion.run(ECHO, pyarrow.table(columns)))


class Stream:
    """What says that it gives an Arrow stream, and gives something else, or the same one twice."""

    def __init__(self, given: Callable[[], object]) -> None:
        self.given = given

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.given()


@FAST
@given(st.data())
def test_arrow_streams(data: Any) -> None:
    """Tables of all types, in pieces, cut out of others, empty, and streams that fail in the middle."""
    pyarrow = pytest.importorskip("pyarrow")
    types = [
        *(pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view(), pyarrow.binary(4)),
        *(pyarrow.string(), pyarrow.string_view(), pyarrow.int64(), pyarrow.uint64(), pyarrow.float64()),
        *(pyarrow.int8(), pyarrow.float32(), pyarrow.bool_(), pyarrow.null(), pyarrow.timestamp("ns")),
        *(pyarrow.list_(pyarrow.binary()), pyarrow.struct([("frame", pyarrow.binary())])),
        pyarrow.dictionary(pyarrow.int8(), pyarrow.binary()),
    ]
    names = data.draw(st.lists(st.sampled_from(["frame", "time_ns", "frame ", "other"]), max_size=4))
    kinds = [data.draw(st.sampled_from(types)) for _ in names]
    schema = pyarrow.schema(list(zip(names, kinds)))
    values = st.one_of(st.none(), st.binary(max_size=80), st.integers(-(2**63), 2**64 - 1), st.floats(), WORDS)

    def column(kind: Any, rows: int) -> Any:
        drawn = [data.draw(values) for _ in range(rows)]
        try:
            return pyarrow.array(drawn, kind)
        except (TypeError, ValueError, OverflowError, NotImplementedError, pyarrow.ArrowException):
            try:
                return pyarrow.nulls(rows, kind)
            except (NotImplementedError, pyarrow.ArrowException):
                return pyarrow.array([None] * rows, kind)

    def batch() -> Any:
        rows = data.draw(st.integers(0, 5))
        whole = pyarrow.RecordBatch.from_arrays([column(kind, rows) for kind in kinds], schema=schema)
        first = data.draw(st.integers(0, rows))
        return whole.slice(first, data.draw(st.integers(0, rows - first)))

    batches = [batch() for _ in range(data.draw(st.integers(0, 3)))]
    said(lambda: pinion.run(ECHO, pyarrow.Table.from_batches(batches, schema)))

    def broken() -> Any:
        yield from batches
        raise RuntimeError("the middle of a stream")

    said(lambda: pinion.run(ECHO, pyarrow.RecordBatchReader.from_batches(schema, broken())))
    # A stream can be taken once.
    capsule = pyarrow.Table.from_batches(batches, schema).__arrow_c_stream__()
    given_twice: Any = Stream(lambda: capsule)
    for _ in range(2):
        said(lambda: pinion.run(ECHO, given_twice))
    other = data.draw(st.sampled_from([None, 1, b"", schema.__arrow_c_schema__(), [capsule], Stream]))
    no_stream: Any = Stream(lambda: other)
    said(lambda: pinion.run(ECHO, no_stream))
