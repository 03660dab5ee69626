"""`pinion up|nic --dashboard`: the page of a live run and its metrics, over HTTP, for whoever started it alone.

What needs a network device runs in a network namespace of its own: this file runs itself again in there.
"""

from __future__ import annotations

import html as html_module
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES

INSIDE = "PINION_TESTS_INSIDE"
inside = pytest.mark.skipif(INSIDE not in os.environ, reason="runs in a network namespace")
URL = re.compile(r"http://(127\.0\.0\.1):(\d+)/\?token=([0-9a-f]{32})")
HOST, CARD = "10.9.0.1", "10.9.0.2"
PAGE = ["Summary", "Where the slowest one's time went", "Latency over time", "Shares of latency"]


@pytest.mark.skipif(INSIDE in os.environ, reason="is there already")
def test_in_a_network_namespace() -> None:
    enter = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if not shutil.which("unshare") or not Path("/dev/net/tun").exists():
        pytest.skip("there are no network namespaces, or no TAP devices")
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode:
        pytest.skip("there are no network namespaces for this user")
    done = subprocess.run(
        [*enter, sys.executable, "-m", "pytest", "-q", "-rs", "--tb=short", "-p", "no:cacheprovider", __file__],
        env={**os.environ, INSIDE: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("address", ["0.0.0.0:8080", "[::]:8080", "192.0.2.7:80"])
@pytest.mark.parametrize("verb", [["nic"], ["up", str(EXAMPLES / "udp_echo")]])
def test_other_addresses_are_refused(verb: list[str], address: str) -> None:
    command = [os.environ["PINION"], *verb, "--tap", "pinX", "--dashboard", address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "on this computer alone" in done.stderr and "ssh -L" in done.stderr


class Live:
    """A live run, and its dashboard."""

    def __init__(self, *words: str | Path, address: str = f"{HOST}/24") -> None:
        command = [os.environ["PINION"], *map(str, words), "--tap", "pin0", "--address", address]
        self.process = subprocess.Popen(
            [*command, "--dashboard", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            if found := URL.search(line):
                self.url, self.port, self.token = found[0], int(found[2]), found[3]
                return
        raise AssertionError(said)

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Asks, with the token unless headers say who asks."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        asked = headers or {"Authorization": f"Bearer {self.token}"}
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in asked.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def metrics(self) -> dict[str, float]:
        """Gives the samples by what stands in front of the number; the format is what Prometheus takes."""
        status, text = self.get("/metrics")
        assert status == 200 and text.endswith("\n")
        samples: dict[str, float] = {}
        family = ""
        for line in text.splitlines():
            if line.startswith("#"):
                family = line.split()[2]
                continue
            found = re.fullmatch(r'([a-z_][a-z0-9_]*)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)', line)
            assert found and found[1] == family and line not in samples, line
            samples[found[1] + (found[2] or "")] = float(found[3])
        return samples

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture
def begin() -> Iterator[Callable[..., Live]]:
    lives: list[Live] = []

    def run(*words: str | Path, **options: str) -> Live:
        lives.append(Live(*words, **options))
        return lives[-1]

    yield run
    for live in lives:
        if live.process.poll() is None:
            live.process.kill()
            live.process.wait()


def wait(until: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + 20
    while not until():
        assert time.monotonic() < end
        time.sleep(0.2)


def echoes(count: int, port: int = 9500, address: str = CARD) -> int:
    """Sends datagrams to the card; gives how many came back."""
    came = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(3)
        for number in range(count):
            link.sendto(bytes([number % 256]) * 200, (address, port))
            try:
                came += link.recv(2048) == bytes([number % 256]) * 200
            except TimeoutError:
                pass
    return came


@inside
def test_who_has_the_token_is_let_in_and_nobody_else(begin: Callable[..., Live]) -> None:
    live = begin("up", EXAMPLES / "udp_echo")
    own = {"Authorization": f"Bearer {live.token}"}
    assert live.get("/document")[0] == 200
    for path in ("/", "/parts", "/document", "/metrics"):
        assert live.get(path, Accept="*/*")[0] == 401
        assert live.get(path, **own, Origin="http://evil.example")[0] == 403
        assert live.get(path, **own, Sec_Fetch_Site="cross-site")[0] == 403
        assert live.get(path, **own, Host=f"evil.example:{live.port}")[0] == 421
    assert live.get(f"/metrics?token={'0' * 32}", Accept="*/*")[0] == 401
    assert live.get("/nothing")[0] == 404
    # What is no HTTP, or comes slowly, harms nobody.
    for junk in (b"\x16\x03\x01\x02", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 3000, b"GET"):
        with socket.create_connection(("127.0.0.1", live.port)) as link:
            link.sendall(junk)
    assert live.get("/document")[0] == 200
    # Other addresses of this computer lead nowhere.
    with pytest.raises(OSError):
        socket.create_connection((HOST, live.port), timeout=2)


@inside
def test_metrics_follow_the_run(begin: Callable[..., Live], tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    live = begin("up", EXAMPLES / "udp_echo", "--json", file)
    before = live.metrics()
    came = echoes(5)
    assert came >= 4
    metrics = live.metrics()
    assert metrics["pinion_packets_out"] >= before["pinion_packets_out"] + came
    (info,) = [name for name in metrics if name.startswith("pinion_info{")]
    assert 'app="udp_echo"' in info and 'ending="finished"' in info
    assert any(name.startswith('pinion_unit_holds{unit="') for name in metrics)
    document = json.loads(live.get("/document")[1])
    assert document["packets"]["out"] >= came and document["latency_ns"]["max"] > 0
    assert live.end() == 130
    summary = json.loads(file.read_text())
    assert summary["ending"] == "interrupted" and summary["packets"]["out"] >= came
    assert {key for key in summary} == {key for key in document}


@inside
@pytest.mark.parametrize(
    ("words", "metric"),
    [
        (["nic"], "pinion_packets_in"),
        (["up", EXAMPLES / "nanopu_echo"], 'pinion_harts_messages{hart="0"}'),
        (["up", EXAMPLES / "udp_echo", "--engine", "native"], "pinion_packets_in"),
    ],
)
def test_whatever_runs_live_has_metrics(
    begin: Callable[..., Live], words: list[str | Path], metric: str
) -> None:
    live = begin(*words)
    assert live.metrics()[metric] >= 0
    assert "<h2>Summary</h2>" in live.get("/")[1]


SOURCE = "Source, while somebody looked"


def parts(live: Live) -> dict[str, str]:
    """Gives the page's parts by their headings."""
    return {part["heading"]: part["html"] for part in json.loads(live.get("/parts")[1])}


def source(live: Live) -> dict[str, int]:
    """Gives what the page says of lines: how often each ran, by its text."""
    html = parts(live).get(SOURCE, "")
    rows = re.findall(r"<td>([^<]*)</td><td>\d+</td><td><code>(.*?)</code></td></tr>", html)
    return {html_module.unescape(line).strip(): int(times.replace(",", "")) for times, line in rows if times}


@inside
def test_source_is_told_of_while_somebody_looks(begin: Callable[..., Live]) -> None:
    live = begin("up", EXAMPLES / "udp_echo")
    assert echoes(3) == 3
    # Nobody looked yet, and metrics are no look; the first question begins it.
    live.metrics()
    assert source(live) == {}
    came = echoes(5)
    lines = source(live)
    assert len(lines) > 3 and max(lines.values()) >= came
    calls = [times for line, times in lines.items() if "spin_send_packet" in line]
    assert calls == [came], lines
    # Whoever stops looking misses what comes then.
    time.sleep(3.5)
    assert live.get("/document")[0] == 200
    echoes(4)
    after = source(live)
    assert [times for line, times in after.items() if "spin_send_packet" in line] == [came]


@inside
def test_source_of_a_live_nanoservice(begin: Callable[..., Live]) -> None:
    live = begin("up", EXAMPLES / "nanopu_echo", "--set", "transport.kind=udp")
    assert source(live) == {}
    came = echoes(5, 47000)
    assert came == 5
    lines = source(live)
    assert max(lines.values()) >= came, lines


RACK = """
[cluster]
name = "rack"

[[node]]
name = "nic"
app = "EXAMPLES/udp_echo"
count = 2

[[node]]
name = "service"
app = "EXAMPLES/nanopu_echo"
set = ["transport.kind=udp"]
"""


@pytest.fixture
def rack(tmp_path: Path) -> Path:
    file = tmp_path / "rack.toml"
    file.write_text(RACK.replace("EXAMPLES", str(EXAMPLES)))
    return file


@inside
def test_source_of_a_live_cluster_is_that_of_its_groups(begin: Callable[..., Live], rack: Path) -> None:
    live = begin("up", rack, address="10.0.0.1/8")
    assert source(live) == {}
    # Both nodes of a group are in one account.
    came = sum(echoes(3, address=f"10.0.0.{node}") for node in (2, 3))
    assert came == 6 and echoes(2, 47000, "10.0.0.4") == 2
    lines = source(live)
    assert [times for line, times in lines.items() if "spin_send_packet" in line] == [came], lines
    html = parts(live)[SOURCE]
    names = re.findall("<h3>(.*?)</h3>", html)
    assert names == ["nic", "service"] and "nanopu_echo" in html.split("<h3>service")[1]
    # Who comes again is shown the same, without that anything were read again.
    assert source(live) == lines
    live.end()


HOST_PROGRAM = """
#include "fpspin/fpspin.h"
#include <unistd.h>

int main(void)
{
    fpspin_ctx_t ctx;
    fpspin_ruleset_t rules = {
        .mode = FPSPIN_MODE_AND,
        .r = { FPSPIN_RULE_IP, FPSPIN_RULE_IP_PROTO(1),
               ((struct fpspin_rule){ .idx = 8, .mask = 0xff00, .start = 0x0800, .end = 0x0800 }),
               FPSPIN_RULE_FALSE },
    };
    if (!fpspin_init(&ctx, "/dev/pspin0", "echo.elf", 0, &rules, 1, FPSPIN_HOSTDMA_PAGES_DEFAULT))
        return 1;
    puts("ready");
    fflush(stdout);
    while (1)
        sleep(10);
}
"""


@inside
def test_source_of_what_a_host_program_loads(
    begin: Callable[..., Live], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinion = os.environ["PINION"]
    monkeypatch.setenv("PINION_NIC_DIR", str(tmp_path))
    (tmp_path / "host.c").write_text(HOST_PROGRAM)
    for words in (
        ["fpspin", "compile", "host.c", "-o", "host"],
        ["build", str(EXAMPLES / "icmp_echo/fpspin"), "--machine", "fpspin", "--out", "echo.elf"],
    ):
        subprocess.run([pinion, *words], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    live = begin("nic", "--machine", "fpspin")
    assert source(live) == {}

    def pings(count: int) -> int:
        command = ["ping", "-q", "-c", str(count), "-i", "0.01", CARD]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found = re.search(r"(\d+) received", told)
        return int(found[1]) if found else 0

    with subprocess.Popen([tmp_path / "host"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout is not None and host.stdout.readline() == "ready\n"
            source(live)
            assert pings(4) == 4
            lines = source(live)
        finally:
            host.kill()
    assert len(lines) > 3 and max(lines.values()) >= 4, parts(live)
    # Another page's script is let in here no more than elsewhere.
    token = {"Authorization": f"Bearer {live.token}"}
    assert live.get("/parts", **token, Origin="http://evil.example")[0] == 403


@inside
def test_a_cluster_has_metrics_by_node(begin: Callable[..., Live], rack: Path) -> None:
    metrics = begin("up", rack, address="10.0.0.1/8").metrics()
    frames = [name for name in metrics if name.startswith("pinion_nodes_frames_in{")]
    assert len(frames) >= 2 and any('node="0"' in name for name in frames)


@inside
def test_a_run_that_ends_by_itself_is_not_interrupted(tmp_path: Path) -> None:
    for verb in (["nic"], ["up", EXAMPLES / "udp_echo"], ["up", EXAMPLES / "nanopu_echo"]):
        file = tmp_path / "summary.json"
        command: list[str | Path] = [os.environ["PINION"], *verb, "--tap", "pin0", "--address", f"{HOST}/24"]
        done = subprocess.run([*command, "--duration", "100ms", "--json", file], check=False)
        assert done.returncode == 0 and json.loads(file.read_text())["ending"] == "finished"


@inside
def test_the_page_follows_the_run(begin: Callable[..., Live]) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    live = begin("up", EXAMPLES / "udp_echo")
    assert echoes(3) == 3
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    with playwright.sync_playwright() as session:
        try:
            browser = session.chromium.launch(
                executable_path=found, args=["--no-sandbox", "--disable-gpu"]
            )
        except playwright.Error as error:
            pytest.skip(f"there is no Chromium: {str(error).splitlines()[0]}")
        said: list[str] = []
        asked: list[str] = []
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(live.url)
        assert "token" not in page.url
        wait(lambda: page.locator("#state").inner_text().startswith("as of"))
        assert page.locator("h2").all_inner_texts()[:4] == PAGE
        points = page.locator("circle.point")
        assert points.count() == 3
        more = echoes(4)
        wait(lambda: points.count() >= 3 + more)
        # Who looks at a stretch goes on to look at it while more comes.
        curves = page.locator(".curves").first
        curves.scroll_into_view_if_needed()
        box = curves.locator("svg").first.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60)
        page.mouse.up()
        ends = [curves.get_attribute(name) for name in ("data-from", "data-to")]
        echoes(2)
        time.sleep(2.5)
        assert [curves.get_attribute(name) for name in ("data-from", "data-to")] == ends
        own = f"http://127.0.0.1:{live.port}/"
        assert all(url.startswith((own, "data:")) for url in asked) and not said, said
        # Another origin's page gets nothing of it.
        page.goto("data:text/html,<p>elsewhere</p>")
        stolen = page.evaluate(
            "url => fetch(url, {credentials: 'include'}).then(a => a.text()).catch(() => null)", f"{own}parts"
        )
        assert stolen is None
        browser.close()
