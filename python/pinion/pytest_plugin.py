"""pytest plugin: handlers and nanoservices under test, with what differs in words when a test fails.

A test takes the fixture ``pinion_app`` and calls it with packets; which application it is, a mark says, an
option or the file of settings:

    @pytest.mark.pinion("examples/icmp_echo", machine="fpspin")
    def test_echo(pinion_app):
        result = pinion_app([ping])
        pinion_app.expect([pong])

Works side by side with pytest-xdist: programs are built under a lock, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import pinion

_Frames = Iterable[Any]

# What `pinion.why` takes of a run's options.
_OF_WHY = ("machine", "pace", "seed", "link")


class AppUnderTest:
    """An application on a machine, for a test: call it with packets."""

    def __init__(self, app: pinion.App, machine: pinion.Machine | str | None) -> None:
        self.app = app
        self.machine = machine
        self.result: pinion.Result | None = None
        # What the last run was asked, to ask again why.
        self._asked: tuple[Any, dict[str, Any]] = (None, {})

    def __call__(self, packets: Any = None, **options: Any) -> pinion.Result:
        """Runs it on packets, with the options of :func:`pinion.run`; fails the test if a handler fails."""
        __tracebackhide__ = True
        options.setdefault("machine", self.machine)
        if isinstance(packets, Iterator):
            packets = list(packets)
        self._asked = (packets, options)
        self.result = pinion.run(self.app, packets, **options)
        if not self.result.ok:
            said = [f"{self.app.name} failed:", self.result.text, *self._why(self._failed())]
            pytest.fail("\n".join(said), pytrace=False)
        return self.result

    def expect(self, frames: _Frames, *, in_order: bool = True) -> None:
        """Fails the test unless just these frames left in the last run: bytes, or packets of scapy."""
        __tracebackhide__ = True
        if self.result is None:
            raise pinion.UsageError("nothing was run: call pinion_app(packets) before expect()")
        expected = [bytes(frame) for frame in frames]
        said = difference(expected, self.result.frames, in_order=in_order)
        if said:
            said += self._why(self._sender(expected))
            pytest.fail("\n".join(said), pytrace=False)

    def _failed(self) -> int | None:
        """The first packet of which a handler failed."""
        assert self.result is not None
        table = self.result.packets.to_pydict()
        failed = zip(table.get("packet", []), table.get("failed", []))
        return next((packet for packet, is_failed in failed if is_failed), None)

    def _sender(self, expected: Sequence[bytes]) -> int | None:
        """The packet whose handlers sent the first frame that is not as expected, or sent none."""
        assert self.result is not None
        table = self.result.packets.to_pydict()
        packets = table.get("packet", [])
        left = list(zip(packets, table.get("departure_ns", [])))
        pairs = enumerate(zip(expected, self.result.frames))
        wrong = next((at for at, (wanted, came) in pairs if wanted != came), None)
        if wrong is not None:
            then = self.result.frame_times_ns[wrong]
            return next((packet for packet, departure in left if departure == then), None)
        silent = (packet for packet, departure in left if departure is None)
        return next(silent, None) if len(self.result.frames) < len(expected) else None

    def _why(self, packet: int | None) -> list[str]:
        """What `pinion why` says in a sentence: of a packet, or of one that was dropped."""
        assert self.result is not None
        packets, options = self._asked
        options = {name: options[name] for name in _OF_WHY if options.get(name) is not None}
        if self.app.kind != "handlers":
            return []
        dropped = self.result.summary["packets"].get("dropped")
        which: dict[str, Any] = {}
        if packet is not None:
            which["packet"] = packet
        elif dropped:
            which["dropped"] = 0
        else:
            return []
        try:
            answer = pinion.why(self.app, packets, **which, **options)
        except pinion.Error:
            # It adds to a failure, and is none.
            return []
        cause = answer.document.get("cause") or answer.text.splitlines()[0]
        return [f"why, of packet {packet}: {cause}" if packet is not None else f"why: {cause}"]

    def __repr__(self) -> str:
        return f"<pinion_app {self.app.name}>"


def difference(
    expected: Sequence[bytes], got: Sequence[bytes], *, in_order: bool = True
) -> list[str]:
    """Says what differs, and of the first packet that does what it should have been and what it is."""
    said = pinion.differences(expected, got, in_order=in_order)
    if said and in_order:
        pairs = (pair for pair in zip(expected, got) if pair[0] != pair[1])
        for wanted, came in pairs:
            said.append(f"  expected: {pinion.describe(wanted)}")
            said.append(f"  got:      {pinion.describe(came)}")
            said.extend(_fields(wanted, came))
            break
    return said


def _fields(wanted: bytes, came: bytes) -> list[str]:
    """The fields that differ, where scapy is there to name them."""
    try:
        from scapy.layers.l2 import Ether
    except ImportError:
        return []
    said: list[str] = []
    left: Any = Ether(wanted)
    right: Any = Ether(came)
    while left and right and type(left) is type(right):
        for field in left.fields_desc:
            ours, theirs = left.getfieldval(field.name), right.getfieldval(field.name)
            if ours != theirs:
                said.append(f"  {left.name} {field.name}: expected {ours!r}, got {theirs!r}")
        left, right = left.payload, right.payload
    return said


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options that choose application and machine."""
    group = parser.getgroup("pinion", "handlers and nanoservices under test")
    group.addoption("--pinion-app", metavar="FOLDER", help="the application of pinion_app")
    group.addoption("--pinion-machine", metavar="NAME", help="the machine it runs on")
    parser.addini("pinion_app", "the application of the fixture pinion_app: a folder")
    parser.addini("pinion_machine", "the machine that it runs on: a name, or a file")


def pytest_configure(config: pytest.Config) -> None:
    """Describes the mark."""
    config.addinivalue_line(
        "markers", "pinion(app, machine=None): the application of the fixture pinion_app"
    )


def _chosen(request: pytest.FixtureRequest, name: str) -> Any:
    """What a mark, an option or the file of settings says, in this order."""
    marks = [mark for mark in request.node.iter_markers("pinion")]
    for mark in marks:
        if name in mark.kwargs:
            return mark.kwargs[name]
        if name == "app" and mark.args:
            return mark.args[0]
    return request.config.getoption(f"--pinion-{name}") or request.config.getini(f"pinion_{name}")


@pytest.fixture
def pinion_machine(request: pytest.FixtureRequest) -> pinion.Machine | None:
    """The machine that ``pinion_app`` runs on; ``None``: the application's own."""
    chosen = _chosen(request, "machine")
    if not chosen or isinstance(chosen, pinion.Machine):
        return chosen or None
    return pinion.Machine(chosen)


@pytest.fixture
def pinion_app(
    request: pytest.FixtureRequest, pinion_machine: pinion.Machine | None
) -> AppUnderTest:
    """The application under test, built; call it with packets."""
    chosen = _chosen(request, "app")
    if not chosen:
        raise pinion.UsageError(
            "there is no application: write @pytest.mark.pinion(FOLDER), give --pinion-app FOLDER, or "
            "set pinion_app in pytest's file of settings"
        )
    app = chosen
    if not isinstance(app, pinion.App):
        path = Path(app)
        app = pinion.App(path if path.is_absolute() else request.config.rootpath / path)
    app.build(pinion_machine)
    return AppUnderTest(app, pinion_machine)


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: Any, right: Any) -> Any:
    """Says of two lists of frames that should be equal what differs, in words."""
    if op != "==" or not (_are_frames(left) and _are_frames(right)):
        return None
    # `assert result.frames == expected`
    said = difference(right, left)
    return ["frames as expected", *said] if said else None


def _are_frames(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(one) is bytes for one in value)
