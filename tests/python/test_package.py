"""Machines, applications from strings, tables, what notebooks show, types, and the time to import."""

from __future__ import annotations

import ast
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pinion
import pytest
from conftest import EXAMPLES, REPOSITORY, told

ECHO = EXAMPLES / "icmp_echo"
PINGS = ECHO / "ping.pcap"


def test_a_machine_shows_every_number_and_its_source() -> None:
    shown = subprocess.run(
        [os.environ["PINION"], "machine", "show", "pspin", "--set", "cluster.count=8"],
        capture_output=True,
        text=True,
        check=True,
    )
    machine = pinion.Machine("pspin", {"cluster.count": 8})
    assert machine.show() == shown.stdout
    assert machine["cluster.count"] == 8 and "cluster.count" in machine
    assert machine.kind == "spin" and machine.overrides == ["cluster.count=8"]
    entry = next(entry for entry in machine.entries if entry.key == "cluster.count")
    assert entry.overridden and entry.unit == "clusters"
    assert any(entry.source for entry in machine.entries)
    assert len(machine) == len(machine.entries) == len(machine.keys())
    with pytest.raises(KeyError):
        machine["cluster.cout"]
    assert "<table>" in machine._repr_html_() and "cluster.count" in machine._repr_html_()


def test_every_machine_loads() -> None:
    names = pinion.machines()
    assert {"pspin", "fpspin", "nanopu"} <= set(names)
    assert {pinion.Machine(name).kind for name in names} == {"spin", "nanopu"}


def test_an_application_in_a_string_is_the_one_in_its_folder() -> None:
    source = (ECHO / "icmp_echo.c").read_text()
    app = pinion.App.from_source(
        source, payload="icmp_echo_ph", match=["icmp.echo"], name="icmp_echo"
    )
    assert app.kind == "handlers"
    assert pinion.run(app, PINGS).frames == pinion.run(ECHO, PINGS).frames
    again = pinion.App.from_source(
        source, payload="icmp_echo_ph", match=["icmp.echo"], name="icmp_echo"
    )
    assert again.path == app.path
    assert [program.compiler for program in again.build()] == [None]


def test_a_nanoservice_in_a_string_runs() -> None:
    source = (EXAMPLES / "nanopu_loopback/loopback.S").read_text()
    app = pinion.App.from_source(source, harts=1, language="asm", name="loopback")
    messages = pinion.Messages(EXAMPLES / "nanopu_loopback/messages.toml")
    assert pinion.run(app, messages).ok


def test_a_compilers_words_are_in_the_exception() -> None:
    app = pinion.App.from_source("int f( {", payload="f")
    with pytest.raises(pinion.CompilerError) as raised:
        app.build()
    assert "error" in str(raised.value) and "app.c" in str(raised.value)
    with pytest.raises(pinion.UsageError, match="say what runs"):
        pinion.App.from_source("void f(void) {}")


def test_tables_go_to_other_libraries() -> None:
    table = pinion.run(ECHO, PINGS, handlers=True).packets
    arrow = pytest.importorskip("pyarrow").table(table)
    assert arrow.num_rows == len(table) and arrow.column_names == table.column_names
    assert arrow.to_pydict() == table.to_pydict()
    polars = pytest.importorskip("polars").DataFrame(table)
    assert polars["completion_ns"].to_list() == table["completion_ns"]
    pandas = pytest.importorskip("pandas").DataFrame.from_arrow(table)
    assert list(pandas["packet"]) == table["packet"]
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql("select count(*), sum(bytes) from arrow").fetchall()
    assert found == [(len(table), sum(table["bytes"]))]


def test_the_table_of_handlers_adds_up() -> None:
    result = pinion.run(ECHO, PINGS, handlers=True)
    assert result.handlers is not None
    runs = sum(row["runs"] for row in result.summary["handlers"])
    assert len(result.handlers) == runs
    instructions = sum(row["instructions"] for row in result.summary["handlers"])
    assert sum(result.handlers["instructions"]) == instructions
    assert pinion.run(ECHO, PINGS).handlers is None


def test_notebooks_show_what_the_command_prints() -> None:
    result = pinion.run(ECHO, PINGS)
    assert str(result) == result.text and result.text.startswith("icmp_echo")
    assert "<pre>" in result._repr_html_() and "icmp_echo" in result._repr_html_()


def test_figures_are_made_again() -> None:
    assert {"pspin-latency", "pspin-fig8"} <= set(pinion.figures())
    figure = pinion.figure("pspin-latency", quick=True)
    assert figure.svg.count("<svg") == 1 and figure._repr_svg_().startswith("<svg")
    rows = figure.document["rows"]
    assert figure.table.to_pydict() == {name: [row[name] for row in rows] for name in rows[0]}
    assert figure.title in figure.text and figure.source in figure.text
    other = pinion.figure("pspin-latency", quick=True, set={"core.ri5cy.jump_cycles": 4})
    assert other.document["rows"] != rows
    with pytest.raises(pinion.Error, match="pspin-fig8"):
        pinion.figure("pspin-fig80")
    with pytest.raises(pinion.UsageError, match="jobs=0"):
        pinion.figure("pspin-latency", jobs=0)


def test_ours_stand_beside_the_hardwares() -> None:
    folder, row = REPOSITORY / "tests/calibration/pspin", "empty-single_64"
    calibration = pinion.calibrate(row, folder=folder)
    said = subprocess.run(
        [os.environ["PINION"], "calibrate", "--set", folder, "--row", row],
        capture_output=True,
        text=True,
        check=True,
    )
    assert calibration.text == said.stdout
    assert calibration.ok and all(calibration.table["pass"])
    assert all(abs(error) < 0.05 for error in calibration.table["error"])


CALIBRATION = """
import os, pinion, signal, sys, threading, time
threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    pinion.calibrate(folder=sys.argv[1], jobs=1)
except KeyboardInterrupt:
    print(time.process_time())
"""


def test_ctrl_c_ends_a_calibration() -> None:
    folder = REPOSITORY / "tests/calibration/pspin"
    words = [sys.executable, "-c", CALIBRATION, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    # All rows take several times as long.
    assert float(done.stdout) < 5


def test_a_defect_says_how_to_see_it_again(tmp_path: Path) -> None:
    machine = pinion.Machine("pspin", cluster__count=2)
    app, frames = pinion.App(ECHO), [(0.0, bytes(64)), (1000.0, bytes(99))]
    pinion._pinion._defect()  # type: ignore[attr-defined]
    with pytest.raises(pinion.InternalError, match="a tested defect.*report it") as raised:
        pinion.run(app, frames, machine=machine)
    replay = raised.value.replay
    assert replay is not None and replay in str(raised.value)
    words = shlex.split(replay)
    assert words[:4] == ["pinion", "run", str(ECHO), "--machine"]
    done = subprocess.run(
        [os.environ["PINION"], *words[1:], "--json", "-"], capture_output=True, check=False
    )
    summary = json.loads(done.stdout)
    Path(words[words.index("--pcap-in") + 1]).unlink()
    expected = pinion.run(ECHO, frames, machine=machine).summary
    assert told(summary) == told(expected)


def test_the_stubs_name_just_what_is_there() -> None:
    stub = ast.parse((REPOSITORY / "python/pinion/_pinion.pyi").read_text())
    described = {}
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            functions = (part for part in node.body if isinstance(part, ast.FunctionDef))
            described[node.name] = {part.name for part in functions if part.name[0] != "_"}
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name[0] != "_":
                    assert ast.get_docstring(part), f"{node.name}.{part.name}"
        elif isinstance(node, ast.FunctionDef):
            assert ast.get_docstring(node), node.name
    native = pinion._pinion
    classes = {name for name in dir(native) if isinstance(getattr(native, name), type)}
    assert classes == set(described)
    for name, members in described.items():
        there = {member for member in dir(getattr(native, name)) if member[0] != "_"}
        assert there == members, name


def test_types_hold() -> None:
    files = [path for path in REPOSITORY.glob("tests/python/*.py") if path.name != "run.py"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", *files],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_imported_at_once() -> None:
    """How long that takes `bars.py` measures: here, that it brings nothing but itself and the standard library."""
    script = "import sys; had = set(sys.modules); import pinion; print(*set(sys.modules) - had)"
    loaded = subprocess.check_output([sys.executable, "-c", script], cwd="/", text=True).split()
    packages = {name.partition(".")[0] for name in loaded}
    assert packages - set(sys.stdlib_module_names) == {"pinion"}
    assert len(loaded) < 100, "no part of the standard library that brings much"


def test_the_package_is_the_installed_one() -> None:
    assert REPOSITORY / "python" not in Path(pinion.__file__).parents
