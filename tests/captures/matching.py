"""FPsPIN's matching rules against tcpdump's filters, on random traffic.

Each case is a ruleset as FPsPIN's library writes it and the expression that selects the same
frames. `ether[a:n]` looks where the rules look, whatever stands before; tcpdump's own names follow
headers, so beside them stands what the rules take for granted: no options, no fragments.
"""

import csv
import os
import random
import struct
import subprocess

FRAMES = 4000
GAP_US = 20
PORTS = (53, 4791, 9000, 9329, 9330, 9331, 9500)
IP, UDP, ICMP, TCP = 0x0800, 17, 1, 6
SLMP_PORT, EOM, SYN, ACK = 9330, 0x8000, 0x4000, 0x2000
PLAIN = "ip[0] = 0x45 and ip[6:2] & 0x3fff = 0"

RULE_IP = "u32(3, 0xffff0000, 0x08000000, 0x08000000)"
RULE_EOM = "u32(10, 0x8000, 0x8000, 0x8000)"


def rule_proto(number):
    return f"u32(5, 0xff, {number}, {number})"


def rule_sport(port):
    return f"u32(8, 0xffff, {port}, {port})"


def rule_dport(port):
    return f"u32(9, 0xffff0000, {port << 16:#x}, {port << 16:#x})"


# Name, mode, rules, end of message (or None), expression, expression for the ends. A filter that
# looks behind a short frame's end gives it up, so what needs the fewest bytes is asked first.
CASES = [
    ("IP", "and", [RULE_IP], None, "ip", None),
    ("IP, IP_PROTO(1)", "and", [RULE_IP, rule_proto(ICMP)], None, "ip proto 1", None),
    (
        "IP, IP_PROTO(17), UDP_SPORT(53)",
        "and",
        [RULE_IP, rule_proto(UDP), rule_sport(53)],
        None,
        "ip proto 17 and ether[34:2] = 53",
        None,
    ),
    (
        "IP, IP_PROTO(17), UDP_DPORT(9500)",
        "and",
        [RULE_IP, rule_proto(UDP), rule_dport(9500)],
        None,
        "ip proto 17 and ether[36:2] = 9500",
        None,
    ),
    (
        "SLMP and its end",
        "and",
        [RULE_IP, rule_proto(UDP), rule_dport(SLMP_PORT)],
        RULE_EOM,
        "ip proto 17 and ether[36:2] = 9330",
        "ether[42] & 0x80 != 0",
    ),
    (
        "one of three",
        "or",
        [rule_proto(ICMP), rule_dport(53), "u32(3, 0xffff0000, 0x08060000, 0x08060000)"],
        None,
        "arp or ether[23] = 1 or ether[36:2] = 53",
        None,
    ),
    (
        "a range of ports",
        "and",
        [RULE_IP, rule_proto(UDP), f"u32(9, 0xffff0000, {9000 << 16:#x}, {9330 << 16:#x})"],
        None,
        # A frame that ends within the port: the missing byte reads as 0, and 0x2400 is between.
        "ip proto 17 and ((len = 37 and ether[36] = 0x24) or "
        "(ether[36:2] >= 9000 and ether[36:2] <= 9330))",
        None,
    ),
    (
        "names: slmp",
        "and",
        ["slmp"],
        "slmp.eom",
        f"{PLAIN} and udp dst port 9330",
        "udp[8] & 0x80 != 0",
    ),
    (
        "names: icmp.echo",
        "and",
        ["icmp.echo"],
        None,
        f"{PLAIN} and icmp[icmptype] = icmp-echo",
        None,
    ),
    (
        "names: udp.sport",
        "and",
        ["udp.sport=9000-9330"],
        None,
        f"{PLAIN} and ((ip proto 17 and len = 35 and ether[34] = 0x24) or "
        "udp src portrange 9000-9330)",
        None,
    ),
]


def ipv4(dice, protocol, payload):
    """An IPv4 packet; now and then with options, as a fragment, or cut short."""
    options = dice.randbytes(4 * dice.randint(1, 10)) if dice.random() < 0.15 else b""
    fragment = dice.choice((0x2000, 0x00B9, 0x20B9)) if dice.random() < 0.15 else 0x4000
    head = struct.pack(
        ">BBHHHBBH",
        0x45 + len(options) // 4,
        dice.choice((0, 0x10)),
        20 + len(options) + len(payload),
        dice.getrandbits(16),
        fragment,
        64,
        protocol,
        0,
    )
    return head + dice.randbytes(8) + options + payload


def udp(dice):
    source, target = dice.choice(PORTS), dice.choice(PORTS)
    body = dice.randbytes(dice.randint(0, 200))
    if target == SLMP_PORT:
        flags = dice.choice((0, EOM, SYN, ACK, EOM | SYN, EOM | SYN | ACK))
        body = struct.pack(">HII", flags, dice.getrandbits(4), len(body)) + body
    return struct.pack(">HHHH", source, target, 8 + len(body), dice.getrandbits(16)) + body


def icmp(dice):
    return struct.pack(">BB", dice.choice((0, 3, 8)), 0) + dice.randbytes(dice.randint(6, 100))


def tcp(dice):
    return struct.pack(">HH", dice.choice(PORTS), dice.choice(PORTS)) + dice.randbytes(16)


def frame(dice):
    macs = dice.randbytes(12)
    kind = dice.randrange(10)
    if kind < 4:
        packet, ether_type = ipv4(dice, UDP, udp(dice)), IP
    elif kind < 6:
        packet, ether_type = ipv4(dice, ICMP, icmp(dice)), IP
    elif kind < 7:
        packet, ether_type = ipv4(dice, TCP, tcp(dice)), IP
    elif kind < 8:
        packet, ether_type = dice.randbytes(28), 0x0806
    elif kind < 9:
        inner = udp(dice)
        packet = struct.pack(">IHBB", 6 << 28, len(inner), UDP, 64) + dice.randbytes(32) + inner
        ether_type = 0x86DD
    else:
        tag = struct.pack(">HH", dice.getrandbits(12), IP)
        packet, ether_type = tag + ipv4(dice, UDP, udp(dice)), 0x8100
    whole = macs + struct.pack(">H", ether_type) + packet
    return whole[: dice.randint(14, 60)] if dice.random() < 0.15 else whole


def write_capture(path, frames):
    """Frames GAP_US apart: the time tells which one it is."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for index, data in enumerate(frames):
        seconds, microseconds = divmod(index * GAP_US, 10**6)
        out.append(struct.pack("<IIII", seconds, microseconds, len(data), len(data)) + data)
    path.write_bytes(b"".join(out))


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")


def chosen_by_tcpdump(capture, expression, out):
    """The numbers of the frames that tcpdump selects."""
    run("tcpdump", "-n", "-r", capture, "-w", out, expression)
    data, at, numbers = out.read_bytes(), 24, set()
    while at < len(data):
        seconds, microseconds, captured = struct.unpack_from("<III", data, at)
        numbers.add((seconds * 10**6 + microseconds) // GAP_US)
        at += 16 + captured
    return numbers


APP = """[app]
name = "matching"
sources = ["none.c"]
[[context]]
name = "chosen"
match = [{rules}]
mode = "{mode}"
message = "field:offset=44"
end_of_message = "{end}"
payload = "none_ph"
host_memory = 0
"""
HANDLER = "#include <handler.h>\n__handler__ void none_ph(handler_args_t *args)\n{\n}\n"


def chosen_by_pinion(pinion, folder, capture, case):
    """The numbers of the frames that the context gets, and of those that end a message."""
    _, mode, rules, end, _, _ = case
    rules = ", ".join(f'"{rule}"' for rule in rules)
    (folder / "app.toml").write_text(APP.format(rules=rules, mode=mode, end=end or "never"))
    (folder / "none.c").write_text(HANDLER)
    table = folder / "packets.csv"
    run(pinion, "run", folder, "--machine", "fpspin", "--pcap-in", capture, "--packets", table,
        "--quiet")  # fmt: skip
    matched, ends = set(), set()
    with table.open(newline="") as lines:
        for row in csv.DictReader(lines):
            number, rest = divmod(int(row["arrival_ns"]), GAP_US * 1000)
            if rest:
                raise OSError(f"a packet arrived at {row['arrival_ns']} ns")
            matched.add(number)
            if row["end_of_message"] == "1":
                ends.add(number)
    return matched, ends


def difference(what, frames, found, wanted):
    if found == wanted:
        return None
    odd = min(found ^ wanted)
    side = "pinion alone" if odd in found else "tcpdump alone"
    return (
        f"{what}: {len(found)} by pinion, {len(wanted)} by tcpdump; {side} chooses frame {odd}: "
        f"{frames[odd][:66].hex()}"
    )


def check(pinion, folder, fail):
    """Runs every case; calls `fail` with what differs."""
    seed = int(os.environ.get("PINION_TEST_SEED", "1"))
    print(f"replay: PINION_TEST_SEED={seed} python3 tests/captures/run.py")
    dice = random.Random(seed)
    frames = [frame(dice) for _ in range(FRAMES)]
    capture = folder / "random.pcap"
    write_capture(capture, frames)
    for case in CASES:
        name, _, _, _, expression, end_expression = case
        matched, ends = chosen_by_pinion(pinion, folder, capture, case)
        wanted = chosen_by_tcpdump(capture, expression, folder / "chosen.pcap")
        if not 0 < len(wanted) < FRAMES:
            fail(f"{name}: `{expression}` chooses {len(wanted)} of {FRAMES}: it says nothing")
        if problem := difference(name, frames, matched, wanted):
            fail(problem)
        if end_expression:
            both = f"({expression}) and {end_expression}"
            last = chosen_by_tcpdump(capture, both, folder / "chosen.pcap")
            if problem := difference(f"{name}, ends", frames, ends, last):
                fail(problem)
        elif ends:
            fail(f"{name}: {len(ends)} messages end, though none should")
