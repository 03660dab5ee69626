"""`pinion run --html` writes a page that a browser shows without an error, without a network, and to zoom in."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, told

UDP = "udp,dport=9500,size=256,count=3000,rate=200g"


def run(page: Path, name: str, *options: str) -> dict[str, Any]:
    """Writes the page of a run, and gives the summary."""
    command: list[str | Path] = [os.environ["PINION"], "run", EXAMPLES / name]
    command += [*options, "--html", page, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    with playwright.sync_playwright() as session:
        try:
            browser = session.chromium.launch(
                executable_path=found, args=["--no-sandbox", "--disable-gpu"]
            )
        except playwright.Error as error:
            pytest.skip(f"there is no Chromium: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any) -> Iterator[Any]:
    """Opens a page, and fails when it says anything or asks for anything."""
    said: list[str] = []
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    asked: list[str] = []

    def open_page(file: Path) -> Any:
        page.goto(file.as_uri())
        return page

    yield open_page
    assert not said
    assert all(url.startswith(("file:", "data:")) for url in asked) and len(asked) >= 1
    page.close()


def headings(page: Any) -> list[str]:
    texts: list[str] = page.locator("h2").all_inner_texts()
    return texts


def test_handlers_are_shown(tmp_path: Path, show: Any) -> None:
    file = tmp_path / "report.html"
    summary = run(file, "udp_echo", "--generate", UDP)
    page = show(file)
    assert headings(page) == [
        "Summary",
        "Where the slowest one's time went",
        "Latency over time",
        "Shares of latency",
        "Queues and units over time",
        "Where cycles went",
        "Source",
    ]
    document = json.loads(page.locator("#document").text_content())
    assert document == summary
    assert "udp_echo_ph runs until it sends" in page.locator(".picture svg").inner_html()
    assert page.locator("circle.point").count() == 3000
    slowest = summary["latency_ns"]["max"]
    assert f"{slowest:.0f}" in page.locator(".curves").nth(1).locator("text.mark").all_text_contents()
    heat = page.locator("table.source tr").evaluate_all(
        "rows => rows.map(row => parseFloat(row.style.getPropertyValue('--heat') || '0'))"
    )
    assert max(heat) == 1


def test_queues_over_time_can_be_seen_closer(tmp_path: Path, show: Any) -> None:
    file = tmp_path / "report.html"
    run(file, "udp_echo", "--generate", UDP)
    page = show(file)
    curves = page.locator(".curves").nth(2)
    curves.scroll_into_view_if_needed()

    def ends() -> list[float]:
        return [float(curves.get_attribute(name)) for name in ("data-from", "data-to")]

    first, last = ends()
    box = curves.locator("svg").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 60)
    assert re.fullmatch(r"\S+ at \S+", curves.locator("text.told").first.text_content())
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    page.mouse.up()
    begin, end = ends()
    assert first < begin < end < last and (end - begin) < (last - first) / 3
    page.mouse.dblclick(box["x"] + box["width"] * 0.5, box["y"] + 60)
    assert ends() == [first, last]


@pytest.mark.parametrize(
    ("name", "options"),
    [("nanopu_echo", ["--load", "requests=50,gap=exp:900"]), ("cluster_echo", [])],
)
def test_nanoservices_and_clusters_are_shown(
    tmp_path: Path, show: Any, name: str, options: list[str]
) -> None:
    file = tmp_path / "report.html"
    summary = run(file, name, *options)
    page = show(file)
    assert headings(page)[:2] == ["Summary", "Where the slowest one's time went"]
    assert page.locator(".picture svg").count() == 1
    assert json.loads(page.locator("#document").text_content()) == summary


def test_the_page_changes_no_result(tmp_path: Path) -> None:
    summary = run(tmp_path / "report.html", "udp_echo", "--generate", UDP)
    plain: list[str | Path] = [os.environ["PINION"], "run", EXAMPLES / "udp_echo", "--generate", UDP, "--json", "-"]
    done = subprocess.run(plain, capture_output=True, text=True, check=True)
    assert told(summary) == told(json.loads(done.stdout))


def test_a_run_without_a_packet_has_a_page(tmp_path: Path, show: Any) -> None:
    file = tmp_path / "report.html"
    run(file, "udp_echo", "--generate", "icmp,count=3")
    assert "no packet was through" in show(file).locator("#part-1").inner_text()


@pytest.mark.parametrize(
    ("name", "options", "part"),
    [
        ("udp_echo", ["--check"], "--check"),
        ("udp_echo", ["--engine", "native"], "--html shows the simulated machine"),
        ("udp_echo", ["--json", "REPORT"], "both write to"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    tmp_path: Path, name: str, options: list[str], part: str
) -> None:
    file = tmp_path / "report.html"
    options = [option.replace("REPORT", str(file)) for option in options]
    command: list[str | Path] = [os.environ["PINION"], "run", EXAMPLES / name]
    command += [*options, "--html", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and part in done.stderr and not file.exists()
