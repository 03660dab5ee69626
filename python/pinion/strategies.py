"""hypothesis strategies for packets: ``@given(strategies.udp(dport=9500))``. They want hypothesis installed.

Frames are whole and right (lengths, checksums), from the first byte of the Ethernet header on, without FCS;
:func:`corrupted` breaks them, :func:`arrivals` says when they come.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["arrivals", "corrupted", "ethernet", "icmp_echo", "ipv4", "mac", "udp"]

_T = TypeVar("_T")
_ETHERTYPE_IPV4 = b"\x08\x00"
_ICMP, _UDP = 1, 17
# What fits into an Ethernet frame behind headers of IP and of UDP or ICMP.
_MOST_PAYLOAD = 1500 - 20 - 8


def mac() -> SearchStrategy[bytes]:
    """Addresses of single stations."""
    return st.binary(min_size=6, max_size=6).map(lambda raw: bytes([raw[0] & 0xFE]) + raw[1:])


def ipv4() -> SearchStrategy[str]:
    """Addresses of IPv4, of any kind."""
    return st.ip_addresses(v=4).map(str)


def ethernet(max_payload: int = 1500) -> SearchStrategy[bytes]:
    """Frames of any type, from the shortest on: most match no rule of an application."""
    return st.builds(
        lambda to, by, kind, payload: to + by + kind.to_bytes(2, "big") + payload,
        mac(),
        mac(),
        st.integers(0x600, 0xFFFF),
        st.binary(min_size=46, max_size=max(46, max_payload)),
    )


def udp(
    *,
    dst: str | SearchStrategy[str] | None = None,
    src: str | SearchStrategy[str] | None = None,
    dport: int | SearchStrategy[int] | None = None,
    sport: int | SearchStrategy[int] | None = None,
    payload: bytes | SearchStrategy[bytes] | None = None,
    max_payload: int = _MOST_PAYLOAD,
) -> SearchStrategy[bytes]:
    """Datagrams of UDP; what is not given is anything, ``payload`` at most ``max_payload`` bytes."""
    ports = st.integers(1, 0xFFFF)

    def build(head: bytes, by: str, to: str, here: int, there: int, data: bytes) -> bytes:
        ends = IPv4Address(by).packed + IPv4Address(to).packed
        size = 8 + len(data)
        lines = here.to_bytes(2, "big") + there.to_bytes(2, "big") + size.to_bytes(2, "big")
        pseudo = ends + bytes([0, _UDP]) + size.to_bytes(2, "big")
        # A sum of zero would say that there is none.
        check = _checksum(pseudo + lines + b"\0\0" + data) or 0xFFFF
        return head + _ip(ends, _UDP, size) + lines + check.to_bytes(2, "big") + data

    return st.builds(
        build,
        _head(),
        _or(src, ipv4()),
        _or(dst, ipv4()),
        _or(sport, ports),
        _or(dport, ports),
        _or(payload, st.binary(max_size=max_payload)),
    )


def icmp_echo(
    *,
    dst: str | SearchStrategy[str] | None = None,
    src: str | SearchStrategy[str] | None = None,
    payload: bytes | SearchStrategy[bytes] | None = None,
    max_payload: int = _MOST_PAYLOAD,
) -> SearchStrategy[bytes]:
    """Echo requests, as ``ping`` sends them; what is not given is anything."""

    def build(head: bytes, by: str, to: str, name: int, number: int, data: bytes) -> bytes:
        ends = IPv4Address(by).packed + IPv4Address(to).packed
        rest = name.to_bytes(2, "big") + number.to_bytes(2, "big") + data
        check = _checksum(b"\x08\x00\0\0" + rest).to_bytes(2, "big")
        return head + _ip(ends, _ICMP, 4 + len(rest)) + b"\x08\x00" + check + rest

    word = st.integers(0, 0xFFFF)
    return st.builds(
        build,
        _head(),
        _or(src, ipv4()),
        _or(dst, ipv4()),
        word,
        word,
        _or(payload, st.binary(max_size=max_payload)),
    )


def corrupted(frames: SearchStrategy[bytes]) -> SearchStrategy[bytes]:
    """Frames of a strategy with one bit changed behind the Ethernet header, or cut short there."""

    def flip(frame: bytes, bit: int) -> bytes:
        at = 14 * 8 + bit % ((len(frame) - 14) * 8)
        changed = frame[at // 8] ^ (1 << at % 8)
        return frame[: at // 8] + bytes([changed]) + frame[at // 8 + 1 :]

    def cut(frame: bytes, count: int) -> bytes:
        return frame[: 14 + count % (len(frame) - 14)]

    number = st.integers(0, 1 << 16)
    whole = frames.filter(lambda frame: len(frame) > 14)
    return st.builds(flip, whole, number) | st.builds(cut, whole, number)


def arrivals(
    frames: SearchStrategy[bytes],
    *,
    min_size: int = 0,
    max_size: int = 64,
    max_gap_ns: float = 10_000.0,
) -> SearchStrategy[list[tuple[float, bytes]]]:
    """Lists of frames with the nanoseconds of their arrival, at most ``max_gap_ns`` behind each other."""
    gaps = st.floats(0, max_gap_ns, allow_nan=False)

    def add_up(pairs: list[tuple[float, bytes]]) -> list[tuple[float, bytes]]:
        now, timed = 0.0, []
        for gap, frame in pairs:
            now += gap
            timed.append((now, frame))
        return timed

    return st.lists(st.tuples(gaps, frames), min_size=min_size, max_size=max_size).map(add_up)


def _head() -> SearchStrategy[bytes]:
    return st.builds(lambda to, by: to + by + _ETHERTYPE_IPV4, mac(), mac())


def _or(given: _T | SearchStrategy[_T] | None, any_: SearchStrategy[_T]) -> SearchStrategy[_T]:
    if given is None:
        return any_
    return given if isinstance(given, SearchStrategy) else st.just(given)


def _ip(ends: bytes, protocol: int, payload_bytes: int) -> bytes:
    size = (20 + payload_bytes).to_bytes(2, "big")
    front = b"\x45\0" + size + b"\0\0\x40\0\x40" + bytes([protocol])
    return front + _checksum(front + b"\0\0" + ends).to_bytes(2, "big") + ends


def _checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
