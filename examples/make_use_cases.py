#!/usr/bin/env python3
"""Makes the packets and the results of the published use cases, by plain computation.

Each function knows what its example has to give, not how: no handler, no cluster, no command.
Always the same bytes; standard library only. Run it after changing an example:

    python3 examples/make_use_cases.py
"""

import struct

from make_pcaps import HERE, US, Random, udp_frame, write_pcap

SLMP_PORT, EOM = 9330, 0x8000
SLMP_HEADERS = 14 + 20 + 8 + 10


def slmp_frame(message, offset, body, is_last, identification):
    head = struct.pack(">HII", EOM if is_last else 0, message, offset)
    return udp_frame(7000 + message % 1000, SLMP_PORT, head + body, identification)


def slmp_message(message, data, body_bytes):
    """A message's packets in order."""
    starts = range(0, len(data), body_bytes)
    return [
        slmp_frame(
            message, at, data[at : at + body_bytes], at + body_bytes >= len(data), index & 0xFFFF
        )
        for index, at in enumerate(starts)
    ]


def in_turn(messages):
    """The packets of all messages, one of each in turn."""
    longest = max(map(len, messages))
    return [packets[i] for i in range(longest) for packets in messages if i < len(packets)]


# What the summary says of atomics and copies that do not work on the published RTL.
FALSE_ANSWERS = "atomics outside their HPU's own L1 answered 1"
NOT_REACHED = "copies by handlers came from or went to where"


def all_but_last_shuffled(packets, random):
    """Networks reorder; the end of a message comes last."""
    head = sorted(packets[:-1], key=lambda _: random.word())
    return head + packets[-1:]


def expected_run(frames, memories, output=None, out=0, more="", folder=""):
    """Text of a run in expect.toml; memories are (context, offset, file or list of words)."""
    text = f'[[run]]\ninput = "{folder}traffic.pcap"\n'
    if output:
        text += f'output = "{folder}{output}"\n'
    text += more
    text += f"\n[run.packets]\nin = {len(frames)}\nmatched = {len(frames)}\nout = {out}\n"
    for context, offset, content in memories:
        text += f'\n[[run.host_memory]]\ncontext = "{context}"\noffset = {offset:#x}\n'
        if isinstance(content, str):
            text += f'file = "{folder}{content}"\n'
        else:
            text += f"words = [{', '.join(map(str, content))}]\n"
    return text


def expect(name, frames, memories, **details):
    """Writes expect.toml."""
    text = "# Made by ../make_use_cases.py.\n" + expected_run(frames, memories, **details)
    (HERE / name / "expect.toml").write_text(text)


def expect_on_rtl(name, frames, memories, status, printed, **details):
    """Writes the variant's expectations, which are the same on both machines, and appends to the others
    what the machine that follows the RTL does to the program without the variant."""
    printed_none = f'\n[run.printed]\n"{FALSE_ANSWERS}" = 0\n"{NOT_REACHED}" = 0\n'
    runs = [
        expected_run(frames, memories, more=more + printed_none, folder="../", **details)
        for more in ('options = ["--faithful"]\n', "")
    ]
    text = "# Made by ../../make_use_cases.py.\n" + "\n".join(runs)
    (HERE / name / "rtl/expect.toml").write_text(text)
    text = '\n[[run]]\ninput = "traffic.pcap"\n'
    text += 'options = ["--faithful", "--set", "protection.no_progress_cycles=100000"]\n'
    text += f"exit_status = {status}\n\n[run.printed]\n"
    text += "".join(f'"{line}" = {count}\n' for line, count in printed.items())
    with (HERE / name / "expect.toml").open("a") as file:
        file.write(text)


def make_reduce():
    random = Random(4)
    messages, packets, most = 4, 8, 512
    sums, frames = [[0] * most for _ in range(messages)], [[] for _ in range(messages)]
    for message in range(messages):
        elements = (512, 512, 115, 33)[message]
        for packet in range(packets):
            values = [random.word() for _ in range(elements)]
            for i, value in enumerate(values):
                sums[message][i] = (sums[message][i] + value) & 0xFFFFFFFF
            body = struct.pack(f"<{elements}I", *values)
            is_last = packet == packets - 1
            frames[message].append(
                slmp_frame(message, packet * len(body), body, is_last, packet)
            )
        sums[message] = sums[message][:elements]
    frames = in_turn(frames)
    write_pcap("reduce/traffic.pcap", frames, 200)
    memory = b"".join(
        struct.pack(f"<{len(values)}I", *values).ljust(4 * most, b"\0") for values in sums
    )
    (HERE / "reduce/expected.bin").write_bytes(memory)
    flags = [word for values in sums for word in (1, len(values))]
    memories = [("sum", 0, "expected.bin"), ("sum", 0x100000, flags)]
    expect("reduce", frames, memories)
    expect_on_rtl("reduce", frames, memories, 3, {"nothing moves": 2, NOT_REACHED: 1})


def make_aggregate():
    random = Random(11)
    totals, frames = [], []
    for message, (count, body_bytes) in enumerate([(4096, 460), (1000, 1024), (16, 12), (1, 4)]):
        values = [random.word() for _ in range(count)]
        totals += [sum(values) & 0xFFFFFFFF, count]
        data = struct.pack(f"<{count}I", *values)
        packets = slmp_message(message, data, body_bytes)
        frames.append(all_but_last_shuffled(packets, random))
    frames = in_turn(frames)
    # A message's last packet is its last: the shorter ones end early, which changes nothing.
    write_pcap("aggregate/traffic.pcap", frames, 100)
    expect("aggregate", frames, [("sum", 0, totals)])


TABLE_ENTRIES, TABLE_STEPS = 65536, 8
FIRST_SOURCE = 10 << 24 | 12 << 16


def table_slot(address):
    return (address * 0x9E3779B1 & 0xFFFFFFFF) >> 16


def make_filtering():
    random = Random(12)
    table, ports = [(0, 0)] * TABLE_ENTRIES, {}
    for address in range(FIRST_SOURCE, FIRST_SOURCE + 65536, 2):
        port = 20000 + (address >> 1 & 0x3FFF)
        steps = (table_slot(address) + step for step in range(TABLE_STEPS))
        at = next((at % TABLE_ENTRIES for at in steps if table[at % TABLE_ENTRIES][1] == 0), None)
        if at is None:
            raise SystemExit(f"the table of filtering has no room for {address:#x}")
        table[at] = (int.from_bytes(address.to_bytes(4, "big"), "little"), port)
        ports[address] = port
    image = b"".join(struct.pack("<II", *entry) for entry in table)
    (HERE / "filtering/table.bin").write_bytes(image)

    slots, slot_bytes = 48, 2048
    frames, memory = [], bytearray(slots * slot_bytes)
    for index in range(slots):
        address = FIRST_SOURCE + random.word() % 65536
        if index % 8 == 7:
            address = 192 << 24 | 168 << 16 | index
        source = address.to_bytes(4, "big")
        payload = random.bytes(22 + random.word() % 960)
        source_port = 49152 + index
        frame = udp_frame(source_port, 9000, payload, index, source=source)
        if index % 5 == 4:  # sent without a checksum
            frame = frame[:40] + b"\0\0" + frame[42:]
        frames.append(frame)
        if address in ports:
            rewritten = udp_frame(source_port, ports[address], payload, index, source=source)
            if index % 5 == 4:
                rewritten = rewritten[:40] + b"\0\0" + rewritten[42:]
            at = source_port % 512 * slot_bytes
            length = 42 + len(payload)  # without Ethernet's padding
            memory[at : at + length] = rewritten[:length]
    write_pcap("filtering/traffic.pcap", frames, 100)
    (HERE / "filtering/expected.bin").write_bytes(memory)
    expect("filtering", frames, [("table", 0, "expected.bin")])


def make_kvstore():
    random = Random(13)
    requests, keys, sets, ways = 1000, 1000, 125, 4
    weights = [1 / (rank + 1) ** 1.1 for rank in range(keys)]
    total = sum(weights)
    cache = [{} for _ in range(sets)]  # key: (way, value)
    frames, replies, memory = [], [], bytearray(requests * 16)
    for number in range(requests):
        point, rank = random.word() / 2**32 * total, 0
        while rank < keys - 1 and point >= weights[rank]:
            point -= weights[rank]
            rank += 1
        key = (rank + 1) * 0x9E3779B1 & 0xFFFFFFFF
        operation, value = random.word() & 1, random.word()
        request = struct.pack("<IIII", number, key, operation, value)
        ports = 10000 + number, 9300
        frames.append(udp_frame(*ports, request, number))
        cached = cache[key % sets]
        if operation == 0 and key in cached:
            answer = struct.pack("<IIII", number, key, 2, cached[key][1])
            reply = udp_frame(*ports, answer, number, back=True)
            replies.append(reply[:40] + b"\0\0" + reply[42:])
            continue
        memory[16 * number : 16 * number + 16] = request
        if operation == 1:
            taken = {old_way for old_way, _ in cached.values()}
            free = [way for way in range(ways) if way not in taken]
            if key in cached:
                way = cached[key][0]
            else:
                way = free[0] if free else number % ways
                for old in [old for old in cached if cached[old][0] == way]:
                    del cached[old]
            cached[key] = (way, value)
    write_pcap("kvstore/traffic.pcap", frames, US)  # one after the other: results have an order
    write_pcap("kvstore/expected.pcap", replies, US)
    (HERE / "kvstore/expected.bin").write_bytes(memory)
    memories = [("cache", 0, "expected.bin")]
    details = {"output": "expected.pcap", "out": len(replies)}
    expect("kvstore", frames, memories, **details)
    expect_on_rtl("kvstore", frames, memories, 3, {"nothing moves": 2, FALSE_ANSWERS: 1}, **details)


def make_strided_ddt():
    random = Random(14)
    block, stride, length = 256, 512, 20000
    (HERE / "strided_ddt/layout.bin").write_bytes(struct.pack("<II", block, stride))
    data = random.bytes(length)
    frames = all_but_last_shuffled(slmp_message(3, data, 460), random)
    write_pcap("strided_ddt/traffic.pcap", frames, 50)
    memory = bytearray((length // block + 1) * stride)
    for at in range(0, length, block):
        part = data[at : at + block]
        to = at // block * stride
        memory[to : to + len(part)] = part
    (HERE / "strided_ddt/expected.bin").write_bytes(memory)
    expect(
        "strided_ddt",
        frames,
        [("receiver", 0, "expected.bin"), ("receiver", 0x200000, [length, 0])],
    )


def make_histogram():
    random = Random(15)
    messages, integers, largest = 32, 512, 1024
    bins, frames = [0] * (largest + 1), []
    for message in range(messages):
        values = [random.word() % (largest + 1) for _ in range(integers)]
        for value in values:
            bins[value] += 1
        data = struct.pack(f"<{integers}I", *values)
        frames.append(slmp_message(message, data, 460 if message % 2 else 1024))
    frames = in_turn(frames[:16]) + in_turn(frames[16:])
    write_pcap("histogram/traffic.pcap", frames, 20)
    memory = struct.pack(f"<{len(bins)}I", *bins)
    (HERE / "histogram/expected.bin").write_bytes(memory)
    memories = [("counts", 0, "expected.bin"), ("counts", 0x2000, [1, messages])]
    expect("histogram", frames, memories)
    expect_on_rtl(
        "histogram", frames, memories, 3, {"nothing moves": 2, FALSE_ANSWERS: 1, NOT_REACHED: 0}
    )


def make_to_host():
    random = Random(5)
    slot_bytes, frame_offset, count = 2048, 64, 16
    frames, memories = [], []
    for port, name in ((9200, "ring"), (9201, "ring_l2")):
        payloads = [random.bytes(22 + 960 * i // (count - 1)) for i in range(count)]
        part = [udp_frame(8000, port, payload, i) for i, payload in enumerate(payloads)]
        frames += part
        memory = b"".join(
            (struct.pack("<II", i + 1, len(frame)).ljust(frame_offset, b"\0") + frame).ljust(
                slot_bytes, b"\0"
            )
            for i, frame in enumerate(part)
        )
        (HERE / f"to_host/expected_{name}.bin").write_bytes(memory)
        memories.append((name, 0, f"expected_{name}.bin"))
    write_pcap("to_host/traffic.pcap", frames, 2 * US)
    expect("to_host", frames, memories)
    expect_on_rtl("to_host", frames, memories, 0, {f"30 {FALSE_ANSWERS}": 1})


def make_copy_from_host():
    random = Random(16)
    memory = random.bytes(16384)
    (HERE / "copy_from_host/memory.bin").write_bytes(memory)
    frames, replies = [], []
    for index in range(48):
        payload = random.bytes(22 + 960 * index // 47)
        room = len(payload) - 4
        offset = struct.unpack_from("<I", payload)[0] % (len(memory) - room + 1)
        ports = 6000 + index, 9400
        frames.append(udp_frame(*ports, payload, index))
        answer = payload[:4] + memory[offset : offset + room]
        reply = udp_frame(*ports, answer, index, back=True)
        replies.append(reply[:40] + b"\0\0" + reply[42:])
    write_pcap("copy_from_host/traffic.pcap", frames, 100)
    write_pcap("copy_from_host/expected.pcap", replies, 100)
    expect("copy_from_host", frames, [], output="expected.pcap", out=len(replies))


def make_host_direct():
    random = Random(17)
    memory, frames = bytearray(512 * 8), []
    for index in range(200):
        source_port = 3000 + index
        payload = random.bytes(8 + index % 64)
        memory[source_port % 512 * 8 : source_port % 512 * 8 + 8] = payload[:8]
        frames.append(udp_frame(source_port, 9500, payload, index))
    write_pcap("host_direct/traffic.pcap", frames, 20)
    (HERE / "host_direct/expected.bin").write_bytes(memory)
    expect("host_direct", frames, [("words", 0, "expected.bin")])


class Aes128:
    """FIPS 197, as it is written there: bytes, no tables but the S-box."""

    def __init__(self, key):
        self.box = [self.substitute(byte) for byte in range(256)]
        words = [list(key[i : i + 4]) for i in range(0, 16, 4)]
        constant = 1
        for i in range(4, 44):
            word = list(words[i - 1])
            if i % 4 == 0:
                word = [self.box[byte] for byte in word[1:] + word[:1]]
                word[0] ^= constant
                constant = self.product(constant, 2)
            words.append([a ^ b for a, b in zip(words[i - 4], word)])
        self.keys = [sum(words[i : i + 4], []) for i in range(0, 44, 4)]

    @staticmethod
    def product(a, b):
        result = 0
        while b:
            result ^= a if b & 1 else 0
            a = a << 1 ^ (0x11B if a & 0x80 else 0)
            b >>= 1
        return result

    @classmethod
    def substitute(cls, byte):
        inverse = next((x for x in range(256) if cls.product(byte, x) == 1), 0)
        bits = [inverse >> i & 1 for i in range(8)]
        rows = (
            sum(bits[(i + k) % 8] for k in (0, 4, 5, 6, 7)) + (0x63 >> i & 1) for i in range(8)
        )
        return sum((bit & 1) << i for i, bit in enumerate(rows))

    def encrypt(self, block):
        state = [a ^ b for a, b in zip(block, self.keys[0])]
        for number in range(1, 11):
            state = [self.box[byte] for byte in state]
            state = [state[(i + 4 * (i % 4)) % 16] for i in range(16)]
            if number < 10:
                state = [
                    self.product(state[c + r], 2)
                    ^ self.product(state[c + (r + 1) % 4], 3)
                    ^ state[c + (r + 2) % 4]
                    ^ state[c + (r + 3) % 4]
                    for c in range(0, 16, 4)
                    for r in range(4)
                ]
            state = [a ^ b for a, b in zip(state, self.keys[number])]
        return bytes(state)

    def counter_mode(self, counter, data):
        start = int.from_bytes(counter, "big")
        out = bytearray()
        for at in range(0, len(data), 16):
            block = (start + at // 16) % 2**128
            stream = self.encrypt(block.to_bytes(16, "big"))
            out += bytes(a ^ b for a, b in zip(data[at : at + 16], stream))
        return bytes(out)


def make_aes_decrypt():
    # FIPS 197, appendix B, and NIST SP 800-38A, F.5.1: the computation itself is checked first.
    key = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
    cipher = Aes128(key)
    block = cipher.encrypt(bytes.fromhex("3243f6a8885a308d313198a2e0370734"))
    assert block.hex() == "3925841d02dc09fbdc118597196a0b32"
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    block = cipher.counter_mode(counter, bytes.fromhex("6bc1bee22e409f96e93d7e117393172a"))
    assert block.hex() == "874d6191b620e3261bef6864990db6ce"

    random = Random(18)
    (HERE / "aes_decrypt/key.bin").write_bytes(key + counter)
    frames, memories = [], []
    for message, (length, body_bytes) in enumerate([(3000, 448), (1000, 100), (77, 64), (5, 5)]):
        text = bytes(32 + random.word() % 95 for _ in range(length))
        start = counter[:8] + message.to_bytes(4, "big") + counter[12:]
        frames.append(slmp_message(message, cipher.counter_mode(start, text), body_bytes))
        (HERE / f"aes_decrypt/text{message}.bin").write_bytes(text)
        memories.append(("receiver", message << 16, f"text{message}.bin"))
        memories.append(("receiver", 0xF0000 + 8 * message, [length, 0]))
    frames = in_turn(frames)
    write_pcap("aes_decrypt/traffic.pcap", frames, 100)
    expect("aes_decrypt", frames, memories)


def make_multi_tenant():
    random = Random(19)
    deeds, slots, slot_bytes, secret_words = 16, 96, 2048, 16
    secret = [random.word() for _ in range(secret_words)]
    image = struct.pack(f"<{secret_words}I", *secret)
    (HERE / "multi_tenant/secret.bin").write_bytes(image)
    frames, memory = [], bytearray(slots * slot_bytes)
    for index in range(slots):
        source_port = 49152 + index
        payload = random.bytes(22 + random.word() % 400)
        frame = udp_frame(source_port, 9600, payload, index)
        words = struct.unpack(f"<{len(frame) // 4}I", frame[: len(frame) // 4 * 4])
        seal = sum(word * secret[i % secret_words] for i, word in enumerate(words)) & 0xFFFFFFFF
        at = source_port % 128 * slot_bytes
        memory[at : at + 8 + len(frame)] = struct.pack("<II", seal, len(frame)) + frame
        frames.append(frame)
        if index % 3 == 2:
            deed = index // 3 % deeds
            frames.append(udp_frame(5000 + index, 9601, struct.pack("<I", deed), 1000 + index))
    write_pcap("multi_tenant/traffic.pcap", frames, 50)
    (HERE / "multi_tenant/expected.bin").write_bytes(memory)
    expect(
        "multi_tenant",
        frames,
        [("ledger", 0, "expected.bin"), ("rogue", 0, [0] * 1024)],
        more='exit_status = 3\n\n[run.printed]\n"not reached" = 0\n'
        f'"handler errors {slots // 3:>11}" = 1\n',
    )


if __name__ == "__main__":
    make_reduce()
    make_aggregate()
    make_filtering()
    make_kvstore()
    make_strided_ddt()
    make_histogram()
    make_to_host()
    make_copy_from_host()
    make_host_direct()
    make_aes_decrypt()
    make_multi_tenant()
