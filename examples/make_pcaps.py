#!/usr/bin/env python3
"""Makes the first examples' packets, what they must give, and the filter's table.

Always the same bytes; standard library only. Run it after changing an example:

    python3 examples/make_pcaps.py
"""

import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOST_MAC, NIC_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
HOST_IP, NIC_IP = bytes([10, 11, 0, 1]), bytes([10, 11, 0, 2])
SHORTEST_FRAME = 60
US = 1000  # nanoseconds


class Random:
    """xorshift32: the same numbers everywhere."""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        x = self.state
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        self.state = x
        return x

    def bytes(self, count):
        return b"".join(struct.pack("<I", self.word()) for _ in range(count // 4 + 1))[:count]


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(source, destination, ether_type, payload):
    frame = destination + source + struct.pack(">H", ether_type) + payload
    return frame.ljust(SHORTEST_FRAME, b"\0")


def ipv4(source, destination, protocol, payload, identification, ttl=64):
    head = struct.pack(
        ">BBHHHBB", 0x45, 0, 20 + len(payload), identification, 0x4000, ttl, protocol
    )
    total = checksum(head + b"\0\0" + source + destination)
    return head + struct.pack(">H", total) + source + destination + payload


def icmp_echo(kind, identifier, sequence, payload):
    tail = struct.pack(">HH", identifier, sequence) + payload
    return struct.pack(">BBH", kind, 0, checksum(bytes([kind, 0, 0, 0]) + tail)) + tail


def udp(source, destination, source_port, destination_port, payload):
    length = 8 + len(payload)
    ports = struct.pack(">HHH", source_port, destination_port, length)
    pseudo = source + destination + struct.pack(">BBH", 0, 17, length)
    return (
        ports + struct.pack(">H", checksum(pseudo + ports + b"\0\0" + payload) or 0xFFFF) + payload
    )


def ping(kind, sequence, payload, reply=False):
    ends = (NIC_IP, HOST_IP) if reply else (HOST_IP, NIC_IP)
    macs = (NIC_MAC, HOST_MAC) if reply else (HOST_MAC, NIC_MAC)
    message = icmp_echo(kind, 0x2A, sequence, payload)
    return ethernet(*macs, 0x0800, ipv4(*ends, 1, message, 0x1000 + sequence))


def udp_frame(source_port, destination_port, payload, identification, back=False, source=HOST_IP):
    ends, macs, ports = (source, NIC_IP), (HOST_MAC, NIC_MAC), (source_port, destination_port)
    if back:
        ends, macs, ports = ends[::-1], macs[::-1], ports[::-1]
    return ethernet(*macs, 0x0800, ipv4(*ends, 17, udp(*ends, *ports, payload), identification))


def write_pcap(name, frames, gap_ns, last_ns=0):
    """Frames gap_ns apart, the last one last_ns later, with nanosecond timestamps; the name is relative to this
    folder."""
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
    for index, frame in enumerate(frames):
        at_ns = index * gap_ns + (last_ns if index == len(frames) - 1 else 0)
        seconds, nanoseconds = divmod(at_ns, 10**9)
        out.append(struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)) + frame)
    (HERE / name).write_bytes(b"".join(out))


def make_empty():
    random = Random(1)
    sizes = (22, 86, 214, 982)
    frames = [
        udp_frame(4000 + flow, 9000, random.bytes(sizes[packet % 4]), packet * 4 + flow)
        for packet in range(16)
        for flow in range(4)
    ]
    write_pcap("empty/traffic.pcap", frames, 500)


def make_icmp_echo():
    random = Random(2)
    frames, replies, unmatched = [], [], []
    for sequence in range(97):
        payload = random.bytes(1472 * sequence // 96)
        frames.append(ping(8, sequence, payload))
        replies.append(ping(0, sequence, payload, reply=True))
    liar = bytearray(ping(8, 97, random.bytes(100)))
    liar[16:18] = struct.pack(">H", 1000)
    frames.insert(40, bytes(liar))
    arp = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + HOST_MAC + HOST_IP + bytes(6) + NIC_IP
    unmatched.append(ethernet(HOST_MAC, b"\xff" * 6, 0x0806, arp))
    unmatched.append(udp_frame(5000, 5353, b"not for the handler", 7))
    frames.insert(0, unmatched[0])
    frames.insert(60, unmatched[1])
    write_pcap("icmp_echo/ping.pcap", frames, 10 * US)
    write_pcap("icmp_echo/expected.pcap", replies, 10 * US)
    write_pcap("icmp_echo/unmatched.pcap", unmatched, 10 * US)


def make_ping_pong():
    random = Random(3)
    frames, replies = [], []
    for index in range(64):
        payload = random.bytes(22 + 960 * (index // 2) // 31)
        ports = 6000 + index, 9001 + index % 2
        frames.append(udp_frame(*ports, payload, index))
        replies.append(udp_frame(*ports, payload, index, back=True))
    write_pcap("ping_pong/traffic.pcap", frames, US)
    write_pcap("ping_pong/expected.pcap", replies, US)


ECHO_PORT = 9500


def udp_reply(frame):
    """A datagram turned round, without checksum."""
    macs, ends = frame[6:12] + frame[:6], frame[30:34] + frame[26:30]
    ports = frame[36:38] + frame[34:36]
    return macs + frame[12:26] + ends + ports + frame[38:40] + b"\0\0" + frame[42:]


def make_udp_echo():
    random = Random(7)
    frames = [
        udp_frame(6000 + index, ECHO_PORT, random.bytes(1472 * index // 47), index)
        for index in range(48)
    ]
    replies = [udp_reply(frame) for frame in frames]
    liar = bytearray(udp_frame(6100, ECHO_PORT, random.bytes(100), 48))
    liar[38:40] = struct.pack(">H", 1000)
    fragment = bytearray(udp_frame(6101, ECHO_PORT, random.bytes(100), 49))
    fragment[20] = 0x20
    unmatched = [bytes(fragment), udp_frame(6102, ECHO_PORT + 1, b"another port", 50)]
    frames[20:20] = [unmatched[0], bytes(liar)]
    frames.append(unmatched[1])
    write_pcap("udp_echo/traffic.pcap", frames, 10 * US)
    write_pcap("udp_echo/expected.pcap", replies, 10 * US)
    write_pcap("udp_echo/unmatched.pcap", unmatched, 10 * US)


def write_host_page(name, frame):
    """A packet alone, and HPU 0's page: request number 1, the length, the HPU; the packet."""
    write_pcap(f"{name}/one.pcap", [frame], US)
    page = struct.pack("<BIH", 1, len(frame), 0).ljust(64, b"\0") + frame
    (HERE / name / "expected_page.bin").write_bytes(page)


def make_host_pages():
    random = Random(8)
    write_host_page("icmp_echo/host_fpspin", ping(8, 0, random.bytes(300)))
    write_host_page("udp_echo/host_fpspin", udp_frame(6000, ECHO_PORT, random.bytes(300), 0))


FREE, TO_HOST, FORWARD = 0, 1, 2
ENTRIES, MOST_STEPS = 1024, 8


def filter_hash(address, port):
    key = int.from_bytes(address, "big") ^ (port << 16) ^ port
    return (key * 0x9E3779B1 & 0xFFFFFFFF) >> 22


def filter_insert(table, address, port, action):
    for step in range(MOST_STEPS):
        at = (filter_hash(address, port) + step) % ENTRIES
        if table[at][2] == FREE:
            table[at] = [int.from_bytes(address, "little"), port, action, 0]
            return at
    raise SystemExit("the filter's table has no room near " + str(at))


def filter_image(table):
    return b"".join(struct.pack("<IIII", *entry) for entry in table)


def make_filter():
    random = Random(6)
    table = [[0, 0, FREE, 0] for _ in range(ENTRIES)]
    rules = []
    for index in range(256):
        address = bytes([10, 12, index // 64, index % 64 + 1])
        port = 10000 + index % 5
        action = TO_HOST if index % 2 == 0 else FORWARD
        rules.append((address, port, action, filter_insert(table, address, port, action)))
    (HERE / "filter/table.bin").write_bytes(filter_image(table))

    frames, forwarded, delivered = [], [], []
    for index in range(96):
        payload = random.bytes(22 + random.word() % 960)
        address, port, action, at = rules[index * 37 % 256]
        if index % 3 == 2:  # a known source, another port: not in the table
            frames.append(udp_frame(9999, 11000, payload, index, source=address))
            continue
        wanted = TO_HOST if index % 3 == 0 else FORWARD
        if action != wanted:
            address, port, action, at = rules[index * 37 % 256 ^ 1]
        frame = udp_frame(9999, port, payload, index, source=address)
        frames.append(frame)
        if action == FORWARD:
            forwarded.append(frame)
        else:
            delivered.append((at, frame))
    write_pcap("filter/traffic.pcap", frames, US)
    write_pcap("filter/expected.pcap", forwarded, US)

    slots, slots_offset, slot_bytes = 64, 4096, 1024
    memory = bytearray(slots_offset + slots * slot_bytes)
    for at, frame in delivered:
        offset = slots_offset + at % slots * slot_bytes
        memory[offset : offset + len(frame)] = frame
    (HERE / "filter/expected.bin").write_bytes(memory)
    (HERE / "filter/expect.toml").write_text(
        "# Made by ../make_pcaps.py.\n[[run]]\n"
        'input = "traffic.pcap"\noutput = "expected.pcap"\n\n'
        f"[run.packets]\nin = {len(frames)}\nmatched = {len(frames)}\nout = {len(forwarded)}\n\n"
        '[[run.host_memory]]\ncontext = "rules"\noffset = 0\nfile = "expected.bin"\n'
    )


if __name__ == "__main__":
    make_empty()
    make_icmp_echo()
    make_ping_pong()
    make_udp_echo()
    make_host_pages()
    make_filter()
