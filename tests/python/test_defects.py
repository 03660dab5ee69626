"""A defect of Pinion is an `InternalError` with a command that shows it again, whatever was called; the command can be
run as it stands."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pinion
import pytest
from conftest import EXAMPLES, REPOSITORY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ECHO = EXAMPLES / "icmp_echo"
UDP = EXAMPLES / "udp_echo"
SOME = pinion.Generator("udp,dport=9500,size=64,count=5")
FRAMES = [(0.0, bytes(64)), (1000.0, bytes(99))]
SOURCE = "#include <handler.h>\n__handler__ void ph(handler_args_t *args)\n{\n    (void)args; /* 'x' */\n}\n"
LOOPBACK = EXAMPLES / "nanopu_loopback"


def defect(call: Callable[[], object]) -> str:
    """Calls with a defect; gives the command that is named."""
    pinion._pinion._defect()  # type: ignore[attr-defined]
    with pytest.raises(pinion.InternalError, match="a tested defect.*report it") as raised:
        call()
    replay = raised.value.replay
    assert replay and replay in str(raised.value)
    return replay


def again(replay: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command as it stands."""
    words = shlex.split(replay)
    assert words[0] in ("pinion", "python3"), replay
    words[0] = os.environ["PINION"] if words[0] == "pinion" else sys.executable
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture(scope="module")
def nic() -> pinion.Nic:
    nic = pinion.Nic(EXAMPLES / "host_direct")
    nic.push(bytes(64), at=10)
    nic.run(until=100)
    return nic


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> pinion.Plan:
    grid = {"cluster.count": [1, 2], "packet.count": 5}
    plan = pinion.Plan(pinion.App(UDP), grid, packets=SOME, out=tmp_path_factory.mktemp("plan"), jobs=1)
    for program in range(plan.programs):
        plan.build(program)
    return plan


def runs(folder: Path) -> dict[str, Callable[[], object]]:
    app, echo, loopback = pinion.App(UDP), pinion.App(ECHO), pinion.App(LOOPBACK)
    small = pinion.Machine("pspin", cluster__count=1)
    return {
        "App": lambda: pinion.App(UDP),
        "App.build": lambda: app.build(),
        "App.from_source": lambda: pinion.App.from_source(SOURCE, payload="ph", match=["slmp"], name="a_b"),
        "Machine": lambda: pinion.Machine("pspin", cluster__count=3, faithful=True),
        "run": lambda: pinion.run(app, SOME, machine=small, set={"cluster.cores": 2}, seed=3),
        "run, frames": lambda: pinion.run(echo, FRAMES),
        "run, an iterator": lambda: pinion.run(echo, iter(FRAMES)),
        "run, a capture": lambda: pinion.run(echo, os.path.relpath(ECHO / "ping.pcap")),
        "run, tables": lambda: pinion.run(app, SOME, handlers=True, queues=True, parquet=folder / "it's", pace="max"),
        "run, a nanoservice": lambda: pinion.run(loopback, messages=True, link_cycles=50, peer=False),
        "why": lambda: pinion.why(app, SOME, packet=2),
        "profile": lambda: pinion.profile(app, SOME),
        "figure": lambda: pinion.figure("pspin-latency", quick=True, set={"cluster.count": 2}),
        "calibrate": lambda: pinion.calibrate("empty-single_64", folder=REPOSITORY / "tests/calibration/pspin"),
        "describe": lambda: pinion.describe(bytes(40)),
        "differences": lambda: pinion.differences([b"abc"], [b"abd", b""], in_order=False),
        "Nic": lambda: pinion.Nic(app, machine=small),
        "Nic, a cluster": lambda: pinion.Nic(EXAMPLES / "cluster_echo", address="10.0.0.1/8"),
        "Plan": lambda: pinion.Plan(app, {"cluster.cores": [1, 2]}, packets=SOME, machine=small, out=folder, fresh=True),
    }


@pytest.mark.parametrize("name", runs(Path()))
def test_a_call_is_made_again(name: str, tmp_path: Path) -> None:
    replay = defect(runs(tmp_path)[name])
    done = again(replay, tmp_path)
    assert done.returncode == 0, (replay, done.stderr)
    if name.startswith("run, an iterator"):
        assert "2 in" in done.stdout or '"in": 2' in done.stdout or " 2 " in done.stdout, done.stdout


def steps(nic: pinion.Nic) -> dict[str, Callable[[], object]]:
    context = "words"
    here = nic.snapshot()
    return {
        "push": lambda: nic.push(bytes(70)),
        "run": lambda: nic.run(),
        "run until": lambda: nic.run(until=nic.now_ns + 5),
        "packets": lambda: nic.packets,
        "messages": lambda: nic.messages,
        "units": lambda: nic.units,
        "snapshot": lambda: nic.snapshot(),
        "restore": lambda: nic.restore(here),
        "memory": lambda: nic.memory["1 + 1"],
        "memory.get": lambda: nic.memory.get("1 + 2", cluster=1),
        "memory.keys": lambda: nic.memory.keys(),
        "memory.read": lambda: nic.memory.read(0x1C00_0000, 4),
        "host_memory": lambda: nic.host_memory(context),
        "write_host_memory": lambda: nic.write_host_memory(context, b"abcd", 8),
        "_repr_html_": lambda: nic._repr_html_(),
    }


def test_a_nic_is_brought_to_where_it_was(nic: pinion.Nic, tmp_path: Path) -> None:
    nic.write_host_memory("words", b"1234")
    nic.push(bytes(80), at=nic.now_ns + 20)
    for name, call in steps(nic).items():
        replay = defect(call)
        assert "nic.push(bytes.fromhex" in replay and "write_host_memory" in replay, name
        done = again(replay, tmp_path)
        assert done.returncode == 0, (name, replay, done.stderr)
    # What it says of a cluster's node names the node.
    rack = pinion.Nic(EXAMPLES / "cluster_echo")
    done = again(defect(lambda: rack.memory_of("server").keys()), tmp_path)
    assert done.returncode == 0, done.stderr


def test_points_of_a_sweep_are_run_again(plan: pinion.Plan, tmp_path: Path) -> None:
    row = plan.measure(0)
    made = plan.run()
    calls: dict[str, Callable[[], object]] = {
        "build": lambda: plan.build(0),
        "key": lambda: plan.key(1),
        "measure": lambda: plan.measure(1),
        "known": lambda: plan.known(plan.key(0)),
        "keep": lambda: plan.keep(0, row),
        "outcome": lambda: plan.outcome([(row, None), (None, "lost")]),
        "run": lambda: plan.run(),
        "plot": lambda: made.plot("cluster.count", "throughput_gbit_s"),
        "write_parquet": lambda: made.write_parquet(tmp_path / "t.parquet"),
    }
    for name, call in calls.items():
        replay = defect(call)
        done = again(replay, tmp_path)
        assert done.returncode == 0, (name, replay, done.stderr)


def test_many_frames_go_to_a_file(tmp_path: Path) -> None:
    nic = pinion.Nic(ECHO)
    for _ in range(60):
        nic.push(os.urandom(64))
    replay = defect(nic.run)
    assert len(replay) < 200
    done = again(replay, tmp_path)
    assert done.returncode == 0, done.stderr
    Path(shlex.split(replay)[1]).unlink()


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


@settings(max_examples=int(os.environ.get("PINION_FUZZ", "10")), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(WORDS, WORDS, st.binary(min_size=1, max_size=50), st.floats(0, 1e6))
def test_whatever_was_given_is_in_the_command(name: str, text: str, frame: bytes, at: float) -> None:
    """Quotes, line ends and letters of any script: the shell and Python read what was given."""
    command = defect(lambda: pinion.App.from_source(text, payload=name, name=name))
    script = shlex.split(command)[2] if "-c" in command else Path(shlex.split(command)[1]).read_text()
    made: list[Any] = []
    fake = type("pinion", (), {"App": type("App", (), {"from_source": lambda *a, **k: made.append((a, k))})})
    exec(script.replace("import pinion\n", ""), {"pinion": fake})
    assert made == [((text,), {"payload": name, "name": name, "language": "c"})]
    nic = pinion.Nic(ECHO)
    nic.push(frame, at=at)
    script = shlex.split(defect(lambda: nic.run()))[2]
    copy: dict[str, Any] = {}
    exec(script, copy)
    copied = copy["nic"].packets.to_pydict()
    nic.run()
    assert copied == nic.packets.to_pydict()


def asked(thing: object) -> list[str]:
    """What a thing can be asked without more: its properties, and functions that take nothing."""
    names = [name for name in dir(type(thing)) if not name.startswith("_")]
    words = ("__repr__", "__str__", "__len__", "__iter__", "__getnewargs__", "__getnewargs_ex__", "_repr_html_", "_repr_svg_")
    names += [name for name in words if name in vars(type(thing))]
    properties = {name for name in names if not callable(getattr(type(thing), name))}
    taken = {"keys", "show", "to_pydict", "pull", "stop", "snapshot", *words}
    return [f".{name}" if name in properties else f".{name}()" for name in names if name in properties | taken]


def things(folder: Path) -> dict[str, object]:
    """One of every class."""
    app = pinion.App(UDP)
    result = pinion.run(app, SOME, handlers=True, messages=True, queues=True, host_memory=["echo"])
    frames = pinion.run(ECHO, FRAMES)
    nic = pinion.Nic(app)
    nic.push(*pinion.run(app, SOME).frames)
    nic.run()
    machine = pinion.Machine("pspin", cluster__count=1)
    plan = pinion.Plan(app, {"packet.count": [5]}, packets=SOME, out=folder, jobs=1)
    figure = pinion.figure("pspin-latency", quick=True)
    tables = {f"result.{name}": getattr(result, name) for name in ("packets", "handlers", "messages", "harts", "queues")}
    return {
        "app": app,
        "program": app.build()[0],
        "machine": machine,
        "entry": machine.entries[2],
        "generator": SOME,
        "load": pinion.Load(requests=3),
        "requests": pinion.Messages(folder / "it's"),
        "result": result,
        "result of frames": frames,
        **tables,
        "packets of frames": frames.packets,
        "figure": figure,
        "figure.table": figure.table,
        "calibration": pinion.calibrate("empty-single_64", folder=REPOSITORY / "tests/calibration/pspin"),
        "why": pinion.why(app, SOME, p99=True),
        "profile": pinion.profile(app, SOME),
        "plan": plan,
        "sweep": plan.run(),
        "nic": nic,
        "nic.packets": nic.packets,
        "snapshot": nic.snapshot(),
        "memory": nic.memory,
    }


def test_whatever_a_thing_is_asked_can_be_asked_again(tmp_path: Path) -> None:
    """Every property and every function without arguments; of each class one command is run, and all can be read."""
    classes = {thing for thing in vars(pinion._pinion).values() if isinstance(thing, type)}
    every = things(tmp_path)
    assert classes <= {type(thing) for thing in every.values()}
    for name, thing in every.items():
        words = asked(thing)
        assert words, name
        for word in words:
            replay = defect(lambda: eval(f"thing{word}", {"thing": thing}))
            if len(words_of := shlex.split(replay)) == 3:
                assert compile(words_of[2], name, "exec") and words_of[2].rstrip().endswith(word), (name, word, replay)
        done = again(replay, tmp_path)
        assert done.returncode == 0, (name, word, replay, done.stderr)


def test_what_things_are_asked_with_arguments(tmp_path: Path) -> None:
    every: Any = things(tmp_path)
    calls: list[Callable[[], object]] = [
        lambda: every["machine"]["cluster.count"],
        lambda: "cluster.count" in every["machine"],
        lambda: every["result.packets"]["her_ns"],
        lambda: every["result.packets"].__arrow_c_stream__(),
        lambda: every["sweep"].__arrow_c_stream__(),
        lambda: every["plan"].work(0),
        lambda: every["memory"]["1 + 1"],
        lambda: pinion.Generator("udp", size=64, count="it's"),
        lambda: pinion.Load(requests=2),
        lambda: pinion.Messages(tmp_path / "a b"),
        lambda: pinion.machines(),
        lambda: pinion.figures(),
    ]
    for number, call in enumerate(calls):
        replay = defect(call)
        done = again(replay, tmp_path)
        assert done.returncode == 0, (number, replay, done.stderr)
    assert "there is no event" in str(pytest.raises(pinion.UsageError, every["nic"].on, "rain").value)
    assert "nic.on(\"packet\"" in defect(lambda: every["nic"].on("packet", print)).replace(".on", "nic.on")
