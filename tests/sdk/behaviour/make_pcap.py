#!/usr/bin/env python3
"""Makes traffic.pcap: packets for handlers that fail, each followed by four for promises_ph.

python3 tests/sdk/behaviour/make_pcap.py
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "examples"))
import make_pcaps  # noqa: E402

ROUNDS, FAILING, PROMISES = 8, 8, 4


def main():
    frames = []
    for turn in range(ROUNDS):
        for failing in range(1, FAILING + 1):
            for port in [9300 + failing] + [9300] * PROMISES:
                frames.append(make_pcaps.udp_frame(4000 + turn, port, bytes(64), len(frames)))
    make_pcaps.write_pcap(HERE / "traffic.pcap", frames, 2 * make_pcaps.US)


if __name__ == "__main__":
    main()
