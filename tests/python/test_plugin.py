"""The pytest plugin: tests of an application that pass, and ones that fail with the difference in words."""

from __future__ import annotations

import pinion
import pytest
from conftest import EXAMPLES

pytest_plugins = ["pytester"]

HEAD = f"""
import pytest
from scapy.layers.all import Ether, ICMP, IP

PING = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(
    src="10.0.0.1", dst="10.0.0.2", id=1) / ICMP(id=7, seq=1) / b"hello"
PONG = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / IP(
    src="10.0.0.2", dst="10.0.0.1", id=1) / ICMP(type=0, id=7, seq=1) / b"hello"
WRONG = PONG.copy()
WRONG[ICMP].seq = 2
pytestmark = pytest.mark.pinion({str(EXAMPLES / "icmp_echo")!r})
"""

GOOD = """
def test_frames(pinion_app):
    assert pinion_app([PING]).frames == [bytes(PONG)]
    pinion_app.expect([PONG])

@pytest.mark.pinion(machine="fpspin")
def test_another_machine(pinion_app, pinion_machine):
    assert pinion_machine.name == "fpspin"
    assert pinion_app([PING], seed=None).summary["machine"] == "fpspin"
    pinion_app.expect([PONG])

def test_any_order(pinion_app):
    pinion_app([PING, PING])
    pinion_app.expect([PONG, PONG], in_order=False)
"""

BAD = """
def test_expected(pinion_app):
    pinion_app([PING])
    pinion_app.expect([WRONG])

def test_compared(pinion_app):
    assert pinion_app([PING]).frames == [bytes(WRONG)]

def test_too_few(pinion_app):
    pinion_app([PING])
    pinion_app.expect([PONG, PONG])
"""


def test_good_tests_pass_side_by_side(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(HEAD + GOOD)
    done = pytester.runpytest_subprocess("-n", "2")
    done.assert_outcomes(passed=3)


def test_bad_tests_say_what_differs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(HEAD + BAD)
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(failed=3)
    done.stdout.fnmatch_lines(
        [
            "packet 1 out: it differs from byte *",
            "*expected: echo reply 10.0.0.2 > 10.0.0.1, 7, 2, with 68 65 6c 6c 6f",
            "*got:      echo reply 10.0.0.2 > 10.0.0.1, 7, 1, with 68 65 6c 6c 6f",
            "*ICMP seq: expected 2, got 1",
            "why, of packet 0: * icmp_echo_ph runs until it sends*",
            "*packet 1 out: it differs from byte *",
            "*ICMP seq: expected 2, got 1",
            "1 packets out, 2 expected",
        ]
    )


def test_an_option_chooses_the_application(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(pinion_app):\n    assert pinion_app.app.name == 'udp_echo'\n")
    done = pytester.runpytest_subprocess("--pinion-app", str(EXAMPLES / "udp_echo"))
    done.assert_outcomes(passed=1)
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*there is no application: write @pytest.mark.pinion(FOLDER)*"])


def test_a_failing_handler_fails_the_test(pytester: pytest.Pytester) -> None:
    source = "#include <handler.h>\n__handler__ void f(handler_args_t *a) { *(volatile int *)4 = 1; }\n"
    pytester.makepyfile(
        "import pinion, pytest\n"
        f"APP = pinion.App.from_source({source!r}, payload='f')\n"
        "@pytest.mark.pinion(APP)\n"
        "def test_it(pinion_app):\n    pinion_app([bytes(64)])\n"
    )
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*app failed:*", "*handler errors*"])


def test_hypothesis_finds_what_fails_and_shrinks_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        HEAD
        + """
from hypothesis import HealthCheck, given, settings, strategies as st
from pinion import strategies

settings.register_profile("short", max_examples=10, deadline=None, derandomize=True,
                          suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("short")

# Of a message of zeros alone the sum has two zeros, of which the handler takes the other.
@given(strategies.icmp_echo(dst="10.0.0.2", payload=st.binary(max_size=1400).map(b"x".__add__)))
def test_every_ping_is_answered(pinion_app, ping):
    result = pinion_app([ping])
    request, answer = Ether(ping), Ether(result.frames[0])
    assert answer[ICMP].type == 0 and answer[IP].dst == request[IP].src
    assert bytes(answer[ICMP].payload) == bytes(request[ICMP].payload)
    del answer[ICMP].chksum
    assert bytes(Ether(bytes(answer))) == result.frames[0]

@given(strategies.arrivals(strategies.udp() | strategies.corrupted(strategies.icmp_echo())))
def test_nothing_else_breaks_it(pinion_app, frames):
    result = pinion_app(frames)
    packets = result.summary["packets"]
    assert packets["in"] == len(frames) == packets["processed"] + packets["to_host"]

@given(strategies.icmp_echo(max_payload=64))
def test_that_fails(pinion_app, ping):
    assert len(pinion_app([ping]).frames[0]) < 60
"""
    )
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*assert 60 < 60*", "*ping=build(*"])


def test_frames_are_described() -> None:
    assert pinion.describe(b"") == "0 bytes, no frame"
    assert pinion.differences([bytes(60)], [bytes(60)]) == []
    assert pinion.differences([bytes(60)], []) == ["0 packets out, 1 expected"]
