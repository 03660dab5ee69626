#!/usr/bin/env python3
"""Writes traffic.pcap, 32 packets of random samples to each of the ports 9000 and 9001, and
expected.bin, their energies by source port."""

import random
import struct
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FIRST = 44  # the first whole word behind the headers
SOURCES = 32


def frame(source_port, port, samples):
    udp = struct.pack(">HHHH", source_port, port, 8 + len(samples), 0)
    length = 20 + len(udp) + len(samples)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]),
                     bytes([10, 0, 0, 2]))
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    ip = ip[:10] + struct.pack(">H", checksum) + ip[12:]
    return bytes.fromhex("020000000002 020000000001 0800") + ip + udp + samples


def energy(packet):
    pairs = max(len(packet) - FIRST, 0) // 8
    samples = struct.unpack_from(f"{8 * pairs}b", packet, FIRST)
    return sum(sample * sample for sample in samples)


def main():
    numbers = random.Random(1)
    frames, energies = [], []
    for source in range(SOURCES):
        samples = numbers.randbytes([18, 26, 200, 1000][source % 4])
        frames += [frame(source, port, samples) for port in (9000, 9001)]
        energies.append(energy(frames[-1]))
    capture = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for index, data in enumerate(frames):
        capture += struct.pack("<IIII", 0, index, len(data), len(data)) + data
    (FOLDER / "traffic.pcap").write_bytes(capture)
    (FOLDER / "expected.bin").write_bytes(struct.pack(f"<{SOURCES}Q", *energies))


if __name__ == "__main__":
    main()
