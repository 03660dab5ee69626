"""Rows of the calibration as applications that both the model and the NIC in SystemVerilog run: the row's own program on
its packets. What tells a packet's message is in the last word of its first 64 bytes; all other bytes are the scenario's.
"""

import csv
import struct

from common import REPOSITORY

SETS = ("pspin", "pspin2")
CALIBRATION = REPOSITORY / "tests/calibration"
CAPTURE = "packets.pcap"
# Where a packet says whose it is, and the bit that ends its message.
PLACE, ENDS, IDS = 60, 1 << 31, 0xFFFF
# Handlers that reach for another cluster's L1, or for what a user may not.
SEVERAL_CLUSTERS = ("remote_l1",)
# Scenarios in which HPUs write the same host memory, each when it comes to it.
RACES = ("burst", "spread", "header_only")
NANOSECONDS = 0xA1B23C4D
ALL = 0xFFFFFFFF


def names(most_messages, clusters):
    """Rows that a NIC with so many message queues and clusters can run: (set, row)."""
    for folder in SETS:
        for row in table(CALIBRATION / folder / "rows.csv"):
            handlers = [row[f"{kind}_handler"] for kind in ("header", "payload", "completion")]
            messages = {line["message"] for line in scenario(folder, row)}
            if len(messages) <= most_messages and (clusters > 1 or not set(handlers) & set(SEVERAL_CLUSTERS)):
                yield folder, row


def table(path):
    """A CSV file's lines."""
    with path.open() as lines:
        return list(csv.DictReader(lines))


def scenario(folder, row):
    """The packets of a row."""
    return table(CALIBRATION / folder / f"scenarios/{row['scenario']}.csv")


def content(number, size):
    """A packet's bytes, as scenarios/generate.py says."""
    x, words = 0x9E3779B9 * (number + 1) & ALL, []
    for _ in range((size + 3) // 4):
        x ^= x << 13 & ALL
        x ^= x >> 17
        x ^= x << 5 & ALL
        words.append(x)
    return bytearray(struct.pack(f"<{len(words)}I", *words)[:size])


def write(folder, row, into):
    """Writes a row as an application and its capture; gives the program."""
    packets, at = scenario(folder, row), 0
    with (into / CAPTURE).open("wb") as capture:
        capture.write(struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, 1 << 16, 1))
        for number, packet in enumerate(packets):
            frame = content(number, int(packet["bytes"]))
            said = int(packet["message"]) | (ENDS if packet["end_of_message"] == "1" else 0)
            struct.pack_into(">I", frame, PLACE, said)
            capture.write(struct.pack("<4I", at // 10**9, at % 10**9, len(frame), len(frame)) + frame)
            at += int(packet["wait_cycles"])
    handlers = {kind: row[f"{kind}_handler"] for kind in ("header", "payload", "completion") if row[f"{kind}_handler"]}
    lines = [
        *("[app]", f'name = "{row["program"]}"', 'sources = ["row.c"]', "[[context]]", 'name = "row"'),
        f'message = "field:offset={PLACE},mask={IDS:#x}"',
        f'end_of_message = "u32({PLACE // 4}, {ENDS:#x}, {ENDS:#x}, {ENDS:#x})"',
        *(f'{kind} = "{symbol}"' for kind, symbol in handlers.items()),
        *('handler_memory = "64KiB"', 'host_memory = "1MiB"', 'scratchpad = "16KiB"'),
    ]
    copied = {int(packet["l1_bytes"]) for packet in packets if packet["l1_bytes"] != packet["bytes"]}
    lines += [f'l1_bytes = "{copied.pop()}B"'] if copied else []
    (into / "row.c").touch()
    (into / "app.toml").write_text("\n".join(lines) + "\n")
    return CALIBRATION / folder / f"elf/{row['program']}.elf"
