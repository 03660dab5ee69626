#!/usr/bin/env python3
"""Makes the layout programs, the packets and what they must give.

The layouts come from the layout compiler (host/ddt.c, built here with `cc`), the expectation from
type maps (typemap.py). Always the same bytes; run it after changing the layout's format:

    python3 examples/datatypes/make.py
"""

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from make_pcaps import US, Random, udp_frame, write_pcap  # noqa: E402
from typemap import parse, unpack  # noqa: E402

EOM, SYN, SLMP_PORT = 0x8000, 0x4000, 9330
PAYLOAD_BYTES = 1462
LIBRARY = ("ddt_tree.c", "ddt_text.c", "ddt_compile.c", "ddt_check.c")
FIELDS = ("magic version bytes check flags depth root element_bytes element_extent low high "
          "max_elements slots slot_bytes origin states data results").split()


def build_tool(folder):
    """Builds the layout compiler; returns its path."""
    tool = Path(folder) / "ddt"
    sources = [HERE / "host" / name for name in ("ddt.c", *LIBRARY)]
    flags = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["cc", *flags, *sources, "-o", tool], check=True)
    return tool


def read_header(image):
    """The header of a layout program, by name."""
    names = dict(zip(FIELDS, struct.unpack_from("<18I", image), strict=True))
    for name in ("element_extent", "low", "high"):
        names[name] = struct.unpack("<i", struct.pack("<I", names[name]))[0]
    return names


def slmp_frames(message, data, payload_bytes=PAYLOAD_BYTES):
    """A message's packets, each of which asks for an acknowledgement."""
    frames = []
    for at in range(0, len(data), payload_bytes):
        flags = SYN | (EOM if at + payload_bytes >= len(data) else 0)
        body = struct.pack(">HII", flags, message, at) + data[at : at + payload_bytes]
        frames.append(udp_frame(7000 + message % 1000, SLMP_PORT, body, len(frames)))
    return frames


def in_turn(messages):
    """The packets of all messages, one of each in turn."""
    longest = max(map(len, messages))
    return [packets[i] for i in range(longest) for packets in messages if i < len(packets)]


def acknowledgement(frame):
    """What answers a packet: its headers turned round, padded to the shortest frame."""
    port = struct.unpack_from(">H", frame, 34)[0]
    body = struct.pack(">H", 0x2000) + frame[44:52]
    reply = bytearray(udp_frame(port, SLMP_PORT, body, struct.unpack_from(">H", frame, 18)[0],
                                back=True))
    reply[40:42] = b"\0\0"  # no checksum
    return bytes(reply)


def main():
    random = Random(21)
    with tempfile.TemporaryDirectory() as folder:
        tool = build_tool(folder)
        for name in ("simple", "complex"):
            text = "complex_nested" if name == "complex" else name
            out = HERE / f"{name}.bin"
            subprocess.run([tool, "compile", text, out, "nesting=keep"], check=True)
    header = read_header((HERE / "complex.bin").read_bytes())
    part = parse("complex_nested")
    messages, memories = [], []
    # The first is long enough for overlapping blocks; the last ends within a block.
    for message, length in enumerate((20000, 6000, PAYLOAD_BYTES, 4)):
        packed = random.bytes(length)
        memory = bytearray(header["slot_bytes"])
        unpack(part, packed, header["origin"], memory)
        (HERE / f"expected{message}.bin").write_bytes(memory.rstrip(b"\0"))
        messages.append(slmp_frames(message, packed))
        memories.append((header["data"] + message * header["slot_bytes"],
                         f'file = "expected{message}.bin"'))
        memories.append((header["results"] + 8 * message, f"words = [{message}, {length}]"))
    frames = in_turn(messages)
    again = messages[0][3]  # as if its acknowledgement had been lost
    frames.insert(20, again)
    write_pcap(HERE / "traffic.pcap", frames, 20 * US)
    write_pcap(HERE / "expected.pcap", [acknowledgement(frame) for frame in frames], 20 * US)
    text = "# Made by make.py.\n"
    text += expectation("traffic.pcap", "expected.pcap", frames, len(frames), memories)
    text += make_malformed(random, header, part)
    (HERE / "expect.toml").write_text(text)


def expectation(captured, answered, frames, out, memories):
    """A run for expect.toml."""
    text = f'[[run]]\ninput = "{captured}"\noutput = "{answered}"\n'
    text += f"\n[run.packets]\nin = {len(frames)}\nmatched = {len(frames)}\nout = {out}\n"
    for offset, content in memories:
        text += f'\n[[run.host_memory]]\ncontext = "receiver"\noffset = {offset:#x}\n{content}\n'
    return text


def make_malformed(random, header, part):
    """Packets that must not be placed, nor answered, among messages that come through."""
    whole = slmp_frames(0, random.bytes(2000))
    lying, stray = (slmp_frames(message, random.bytes(300)) for message in (1, 5))
    lying = bytearray(lying[0])
    lying[38:40] = struct.pack(">H", 2000)  # UDP's length: more than there is
    too_short = udp_frame(7000, SLMP_PORT, b"", 0)
    gap = bytearray(stray[0])
    gap[48:52] = struct.pack(">I", PAYLOAD_BYTES)  # the packet before it never comes
    quiet = bytearray(slmp_frames(2, random.bytes(500))[0])
    quiet[42] = EOM >> 8  # asks for no acknowledgement
    frames = [bytes(lying), too_short, bytes(gap), *whole, bytes(quiet), whole[1]]
    write_pcap(HERE / "malformed.pcap", frames, 2000 * US)
    answers = [acknowledgement(frame) for frame in (*whole, whole[1])]
    write_pcap(HERE / "malformed_answers.pcap", answers, 20 * US)
    memories = []
    for slot, packed in ((0, whole[0][52:] + whole[1][52:]), (1, b""), (2, bytes(quiet[52:]))):
        memory = bytearray(header["slot_bytes"])
        unpack(part, packed, header["origin"], memory)
        (HERE / f"malformed{slot}.bin").write_bytes(memory.rstrip(b"\0") or bytes(1024))
        memories.append((header["data"] + slot * header["slot_bytes"],
                         f'file = "malformed{slot}.bin"'))
        result = [slot, len(packed)] if packed else [0, 0]
        memories.append((header["results"] + 8 * slot, f"words = {result}"))
    return "\n" + expectation("malformed.pcap", "malformed_answers.pcap", frames, len(answers),
                              memories)


if __name__ == "__main__":
    main()
