#!/usr/bin/env python3
"""Makes the example's captures and what they must give, by plain computation.

Always the same bytes; standard library only. Run it after changing the example:

    python3 examples/slmp/make_pcaps.py
"""

import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from make_pcaps import (  # noqa: E402
    HOST_IP,
    HOST_MAC,
    NIC_IP,
    NIC_MAC,
    Random,
    ipv4,
    udp,
    udp_frame,
    write_pcap,
)

PORT = 9330
EOM, SYN, ACK = 0x8000, 0x4000, 0x2000
GAP_NS = 30_000  # more than a handler takes at 40 MHz
SLOTS, PAGE, RECORDS = 16, 4096, 4096
HOST_MEMORY = 17 << 20
MACHINES = {"pspin": 32, "fpspin": 16}  # HPUs


def slmp(message, offset, data, flags, port=None):
    port = port or 7000 + message
    head = struct.pack(">HII", flags, message, offset)
    return udp_frame(port, PORT, head + data, offset // 8 & 0xFFFF)


def acknowledgement(frame):
    """What the receiver answers: the same headers with the ends swapped, ACK, no payload."""
    identification = struct.unpack_from(">H", frame, 18)[0]
    port = struct.unpack_from(">H", frame, 34)[0]
    datagram = struct.pack(">HHHHH", PORT, port, 18, 0, ACK) + frame[44:52]
    packet = ipv4(NIC_IP, HOST_IP, 17, datagram, identification)
    return HOST_MAC + NIC_MAC + struct.pack(">H", 0x0800) + packet


def acknowledgements(frames):
    return [acknowledgement(f) for f in frames if struct.unpack_from(">H", f, 42)[0] & SYN]


def cut(message, data, piece, syn):
    """A message's packets in order; syn is none, ends or all."""
    frames = []
    for at in range(0, len(data), piece):
        is_first, is_last = at == 0, at + piece >= len(data)
        wants = syn == "all" or (syn == "ends" and (is_first or is_last))
        flags = (EOM if is_last else 0) | (SYN if wants else 0)
        frames.append(slmp(message, at, data[at : at + piece], flags))
    return frames


def shuffled(frames, random):
    """The first packet stays the first."""
    return frames[:1] + sorted(frames[1:], key=lambda _: random.word())


def record(state, number, data_bytes, message, received):
    return [number << 8 | state, data_bytes, message, received, message % SLOTS]


def places(hpus, message):
    """Where a message's record and its bytes are in host memory."""
    first = hpus * PAGE + RECORDS
    slot_bytes = (HOST_MEMORY - first) // SLOTS // PAGE * PAGE
    slot = message % SLOTS
    return hpus * PAGE + slot * 64, first + slot * slot_bytes


def expectations(runs):
    """expect.toml; a run is (input, output, frames, printed, contents, records)."""
    text = "# Made by make_pcaps.py.\n"
    for name, output, count, printed, contents, records in runs:
        for machine, hpus in MACHINES.items():
            text += f'[[run]]\ninput = "{name}"\noutput = "{output}"\n'
            text += f'options = ["--machine", "{machine}"]\n'
            text += f"\n[run.packets]\nin = {count}\nmatched = {count}\n\n[run.printed]\n"
            text += "".join(f'"{line}" = {times}\n' for line, times in printed.items())
            for message, file in contents.items():
                at = places(hpus, message)[1]
                text += f'\n[[run.host_memory]]\ncontext = "receiver"\noffset = {at:#x}\n'
                text += f'file = "{file}"\n'
            for message, words in records.items():
                at = places(hpus, message)[0]
                text += f'\n[[run.host_memory]]\ncontext = "receiver"\noffset = {at:#x}\n'
                text += f"words = {words}\n"
            text += "\n"
    (HERE / "expect.toml").write_text(text)


def make_traffic():
    """Three messages at once, one per mode; two of them out of order, with repetitions."""
    random = Random(5)
    files = {1: random.bytes(9000), 2: random.bytes(12345), 3: random.bytes(11264)}
    plain = cut(1, files[1], 1462, "none")
    ends = shuffled(cut(2, files[2], 1400, "ends"), random)
    every = shuffled(cut(3, files[3], 1408, "all"), random)
    every = every + [every[0], every[4], every[-1]]
    every.insert(3, every[2])
    ends.append(ends[0])
    longest = max(map(len, (plain, ends, every)))
    frames = [f[i] for i in range(longest) for f in (plain, ends, every) if i < len(f)]
    write_pcap("slmp/traffic.pcap", frames, GAP_NS)
    write_pcap("slmp/acks.pcap", acknowledgements(frames), GAP_NS)
    for message, data in files.items():
        (HERE / f"file{message}.bin").write_bytes(data)
    records = {m: record(1, 1, len(d), m, len(d)) for m, d in files.items()}
    contents = {m: f"file{m}.bin" for m in files}
    return "traffic.pcap", "acks.pcap", len(frames), {"refused": 0}, contents, records


def lying(frame, **fields):
    """Changes length fields: ip, udp."""
    frame = bytearray(frame)
    if "ip" in fields:
        struct.pack_into(">H", frame, 16, fields["ip"])
    if "udp" in fields:
        struct.pack_into(">H", frame, 38, fields["udp"])
    return bytes(frame)


def make_malformed():
    """Two good messages, and everything that may be wrong in between."""
    random = Random(6)
    data = {2: random.bytes(5000), 8: random.bytes(7000)}
    good, other = cut(2, data[2], 1000, "all"), cut(8, data[8], 1000, "all")
    body = random.bytes(1000)
    all_syn = SYN
    bad = [
        ("beyond the message's region", slmp(2, 0x7FFFFFFF, body, all_syn)),
        ("beyond the message's region", slmp(2, 0xFFFFFF00, body, all_syn)),
        ("shorter than its message's packets", slmp(8, 5000, body[:100], all_syn)),
        ("no first packet", slmp(5, 1000, body, all_syn)),
        ("no first packet", slmp(5, 2000, body, all_syn | EOM)),
        ("message id in use", slmp(8, 0, body, all_syn, port=5555)),
        ("message id in use", slmp(8, 0, body[:999], all_syn)),
        ("slot in use", slmp(24, 0, body, all_syn)),
        ("ACK sent to a receiver", slmp(8, 1000, body, ACK)),
        ("lengths contradict", lying(slmp(8, 5000, body, all_syn), udp=1200)),
        ("lengths contradict", lying(slmp(8, 5000, body, all_syn), udp=17)),
        ("lengths contradict", lying(slmp(8, 5000, body, all_syn), ip=1100, udp=1080)),
        ("lengths contradict", lying(slmp(8, 5000, body, all_syn), ip=20)),
        ("lengths contradict", udp_frame(7008, PORT, b"\xc0\0\0\0", 1)),
        ("lengths contradict", udp_frame(7008, PORT, b"\xc0\0\0\0", 1)[:46]),
    ]
    # An end, another end, bytes behind the end; the end comes again unharmed.
    ended = [
        (None, slmp(7, 0, body, all_syn)),
        (None, slmp(7, 2000, body, all_syn | EOM)),
        ("another end of message", slmp(7, 1000, body, all_syn | EOM)),
        ("another end of message", slmp(7, 3000, body, all_syn | EOM)),
        ("another end of message", slmp(7, 3000, body, all_syn)),
        (None, slmp(7, 2000, body, all_syn | EOM)),
    ]
    # An end before what came already spoils the message.
    spoilt = [
        (None, slmp(9, 0, body, all_syn)),
        (None, slmp(9, 2000, body, all_syn)),
        ("another end of message", slmp(9, 1000, body, all_syn | EOM)),
        ("another end of message", slmp(9, 2000, body, all_syn | EOM)),
    ]
    rest = [(None, frame) for frame in good[1:] + other[1:]]
    # An id used again, once its message is complete: by the same port it counts as repeated, with
    # another port it is another message.
    again = slmp(2, 0, body, all_syn | EOM, port=5556)
    after = [(None, good[0]), (None, again)]
    middle = bad + ended + spoilt
    mixed = [frame for pair in zip(middle, rest) for frame in pair]
    mixed += middle[len(rest) :] + rest[len(middle) :]
    everything = [(None, good[0]), (None, other[0]), *mixed, *after]
    frames = [frame for _, frame in everything]
    taken = [frame for why, frame in everything if why is None]
    write_pcap("slmp/malformed.pcap", frames, GAP_NS)
    write_pcap("slmp/malformed_acks.pcap", acknowledgements(taken), GAP_NS)
    (HERE / "other.bin").write_bytes(data[8])
    (HERE / "again.bin").write_bytes(body + data[2][1000:])
    printed = {"refused:": sum(why is not None for why, _ in everything)}
    for why, _ in everything:
        if why:
            printed[why] = printed.get(why, 0) + 1
    records = {
        2: record(1, 2, 1000, 2, 1000),
        7: record(2, 0, 3000, 7, 2000),
        8: record(1, 1, 7000, 8, 7000),
        9: [0, 0, 0, 0],
    }
    contents = {2: "again.bin", 8: "other.bin"}
    return "malformed.pcap", "malformed_acks.pcap", len(frames), printed, contents, records


if __name__ == "__main__":
    expectations([make_traffic(), make_malformed()])
