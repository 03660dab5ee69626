"""Clients that mean harm, speaking to the NIC without the library: each has its own windows of NIC
memory and nothing else, and none makes the NIC's output grow."""

import fcntl
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
import time

from programs import ASK, NIC, ask, attend, connect, echo, join
from support import Skip, check, check_in, need, wait_for

HELLO, ATTACH, LOAD, UNLOAD, RULES, READ, WRITE, ANSWER, STATUS = range(1, 10)
PAGES = 16 * 4096
L2, PACKETS, CODE = 0x1C000000, 0x1C100000, 0x1D000000
HPUS, COUNTERS = 16, 16
# Add seals: against shrinking, growing, writing.
F_ADD_SEALS, SEALS = 1033, 2 | 4 | 8


class Client:
    """A connection that says what it likes."""

    def __init__(self, bench):
        self.door = connect(bench)

    def say(self, kind, body=b"", files=()):
        socket.send_fds(self.door, [struct.pack("<IHHII", 0x4E495046, 1, kind, 1, 0) + body], files)

    def ask(self, kind, body=b"", files=()):
        """Gives an answer's body and files, or the text of the refusal."""
        self.say(kind, body, files)
        answer, got, _, _ = socket.recv_fds(self.door, 65536, 8)
        status = struct.unpack_from("<I", answer, 12)[0]
        return (answer[16:].decode(), []) if status else (answer[16:], got)

    def attach(self, image, context):
        body = struct.pack("<IIQ128s", context, 0, PAGES, b"hostile")
        return self.ask(ATTACH, body, [sealed(image)])

    def read(self, address, count=4):
        return self.ask(READ, struct.pack("<II", address, count))[0]

    def write(self, address, data=b"evil"):
        return self.ask(WRITE, struct.pack("<II", address, len(data)) + data)[0]

    def answer(self, hpu, flag):
        self.say(ANSWER, struct.pack("<IIQ", hpu, 0, flag))

    def close(self):
        self.door.close()


def sealed(data):
    """Memory that cannot change any more."""
    file = os.memfd_create("image", os.MFD_ALLOW_SEALING)
    os.write(file, data)
    fcntl.fcntl(file, F_ADD_SEALS, SEALS)
    return file


def attached(answer):
    """Address and bytes of handler memory, and the address of __host_data."""
    memory, size, shared = struct.unpack_from("<24xIII", answer)
    return memory, size, shared


def symbol_moved(elf, name, address, size=None):
    """An ELF in which a symbol is said to lie elsewhere."""
    data = bytearray(elf.read_bytes())
    sections, count = struct.unpack_from("<I", data, 32)[0], struct.unpack_from("<H", data, 48)[0]
    headers = [struct.unpack_from("<10I", data, sections + 40 * n) for n in range(count)]
    table = next(header for header in headers if header[1] == 2)
    names = headers[table[6]][4]
    for at in range(table[4], table[4] + table[5], 16):
        start = names + struct.unpack_from("<I", data, at)[0]
        if data[start:data.index(0, start)].decode() == name:
            struct.pack_into("<I", data, at + 4, address)
            if size is not None:
                struct.pack_into("<I", data, at + 8, size)
            return bytes(data)
    raise KeyError(name)


def memory_of(program):
    address, size = (int(word, 0) for word in program.say("memory", "memory ").split()[1:])
    return address, size


def test_a_client_without_a_context_gets_no_memory(bench):
    bench.nic()
    victim = join(bench, attend(bench), bench.handlers("victim", echo("v")), 1)
    address, _ = memory_of(victim)
    client = Client(bench)
    body, files = client.ask(HELLO)
    check(len(body) >= 24 and not files, f"HELLO gave the files {files}")
    for place in (address, L2, CODE, 0x10000000):
        check_in("holds no context", client.read(place))
        check_in("holds no context", client.write(place))
    client.answer(0, 0x1122334455667788)
    check(ask(9000, b"..1") == b"v.1", "the other program")


def test_a_claimed_address_is_not_written(bench):
    """As the first image, and beside the one it wants to harm."""
    bench.nic()
    hostile = bench.handlers("hostile", echo("h", ASK), "--slot", 0)
    victim = bench.handlers("victim", echo("v", ASK), "--slot", 1)
    # Its own code, another's data and code, handler memories, L1, packets, nowhere.
    places = [CODE + 0x100, L2 + 0x4000, CODE + 0x2000, 0x1C010000, 0x1C04C000, 0x1C088000,
              0x10000400, 0x1B000400, 0x10014400, 0x10414400, PACKETS, 0, 0xFFFFFFF8]
    for running in (False, True):
        if running:
            program = join(bench, attend(bench), victim, 1, "9001")
            before = program.say(f"peek {memory_of(program)[0]:#x}", "word")
        for place in places:
            for size in (None, 0):
                client = Client(bench)
                said, _ = client.attach(symbol_moved(hostile, "__host_data", place, size), 0)
                check(isinstance(said, str), f"an image with __host_data at {place:#x}")
                check_in("does not lie in the image's own data", said)
                for hpu in range(HPUS):
                    client.answer(hpu, 0x4141414141414141)
                client.close()
    check(ask(9001, b"..1") == b"v.1", "the other program")
    check(program.say(f"peek {memory_of(program)[0]:#x}", "word") == before, "its memory")


def test_each_client_reaches_its_own_memory_alone(bench):
    bench.nic()
    program = attend(bench)
    victim = join(bench, program, bench.handlers("victim", echo("v"), "--slot", 1), 1, "9001")
    theirs, size = memory_of(victim)
    client = Client(bench)
    image = bench.handlers("hostile", echo("h"), "--slot", 2).read_bytes()
    answer, files = client.attach(image, 2)
    own, own_size, shared = attached(answer)
    check(len(files) == 2, f"{len(files)} files")
    check(os.fstat(files[0]).st_size == PAGES, "host memory")
    check(os.fstat(files[1]).st_size == own_size, f"handler memory of {os.fstat(files[1]).st_size}")
    foreign = [
        (theirs, "the handler memory of context 1"), (theirs + size - 4, "context 1"),
        (L2 + 0x4000, "the image"), (CODE + 0x2080, "the image"),
        (0x10014400 + 0x1000, "the scratchpad of context 1"),
        (0x1B014400 + 0x1000, "the scratchpad of context 1"),
        (0x10414400 + 0x1000, "the scratchpad of context 1"),
        (0x10000400, "not this program's"), (0x10008000, "not this program's"),
        (PACKETS, "not this program's"), (0x1C010000, "not this program's"),
    ]
    for address, whose in foreign:
        for said in (client.read(address), client.write(address)):
            check(isinstance(said, str) and whose in said, f"{address:#x}: {said}")
    # Not across an end either.
    check(isinstance(client.read(own + own_size - 4, 8), str), "beyond its end")
    check(isinstance(client.read(own - 4, 8), str), "before its beginning")
    for address in (own, own + own_size - 4, shared, CODE + 0x4080, 0x10014400 + 0x2000):
        check(client.write(address, client.read(address)) == b"", f"its own {address:#x}")
    # The mapping shows what lies there, and cannot be written.
    client.write(own + 64, b"mine")
    with mmap.mmap(files[1], own_size, prot=mmap.PROT_READ) as window:
        check(window[64:68] == b"mine", "what is mapped")
    try:
        mmap.mmap(files[1], own_size)
        check(False, "it can be mapped for writing")
    except PermissionError:
        pass
    check(ask(9001, b"..1") == b"v.1", "the other program")


def test_a_window_shows_nothing_of_the_next_owner(bench):
    bench.nic()
    elf = bench.handlers("echo", echo("w"))
    client = Client(bench)
    answer, files = client.attach(elf.read_bytes(), 0)
    own, size, _ = attached(answer)
    client.write(own, b"first")
    client.close()
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the release")
    program = join(bench, attend(bench), elf)
    check(memory_of(program) == (own, size), "the same memory")
    check("word 0\n" == program.say(f"peek {own:#x}", "word"), "what the first one left")
    program.say(f"poke {own:#x} 4711", "done")
    with mmap.mmap(files[1], size, prot=mmap.PROT_READ) as window:
        check(window[:5] == b"first", f"the old file shows {window[:5]}")


def test_a_shared_image_is_written_by_none(bench):
    bench.nic()
    elf = bench.handlers("echo", echo("s"))
    program = join(bench, attend(bench), elf, 0, "9000")
    client = Client(bench)
    answer, _ = client.attach(elf.read_bytes(), 1)
    _, _, shared = attached(answer)
    for address in (CODE + 0x80, CODE, L2):
        check_in("which other programs share", client.write(address))
        check(len(client.read(address)) == 4, "it can be read")
    counter = shared + 8 * HPUS
    check(client.write(counter, bytes(8)) == b"", "counters")
    check(ask(9000, b"..1") == b"s.1", "the other program")
    program.signal(signal.SIGKILL)
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the release")
    check(client.write(L2, client.read(L2)) == b"", "an image it has alone")


def test_an_image_keeps_to_its_contexts_part(bench):
    bench.nic()
    table = "__attribute__((section(\".l2_handler_data\"))) int table[90000] = {1};\n"
    source = echo("t").replace("__handler__", table + "__handler__", 1)
    elf = bench.handlers("large", source.replace("payload[0] = ", "table[1] = 1; payload[0] = "))
    for context in (0, 1):
        client = Client(bench)
        said, _ = client.attach(elf.read_bytes(), context)
        check(isinstance(said, str), f"context {context}: an image over several contexts' memory")
        check_in("reach beyond what its context has", said)
        check_in("--contexts 1", said)
        client.close()
    bench.processes[0].stop()
    bench.nic("--contexts", 1)
    client = Client(bench)
    answer, _ = client.attach(elf.read_bytes(), 0)
    check(not isinstance(answer, str), f"alone: {answer}")


def test_users_share_a_nic_one_after_the_other(bench):
    need("setpriv")
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*other, "true"], capture_output=True).returncode:
        raise Skip("no second user in this namespace")
    bench.folder.chmod(0o755)
    program = attend(bench)
    one = bench.handlers("one", echo("1"), "--slot", 0)
    two = bench.handlers("two", echo("2"), "--slot", 1)
    nic = bench.nic("--allow-user", "65534")
    command = [*other, program, "/dev/pspin0"]
    first = join(bench, program, one, 0, "9000")
    for image in (one, two):
        said = bench.run([*command, image, 1, "9001"], status=1)
        check_in("user 0) uses the NIC", said)
    address, _ = memory_of(first)
    first.say(f"poke {address:#x} 4711", "done")
    first.say(f"poke {L2:#x} 4711", "done")
    first.say("exit")
    first.finish()
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the release")
    theirs = bench.start([*command, two, 0, "9001"])
    theirs.wait_for("attached")
    check("word 0\n" == theirs.say(f"peek {address:#x}", "word"), "what the first user left")
    theirs.say(f"peek {L2:#x}", "failed")
    check(ask(9001, b"..1") == b"2.1", "an answer")
    check_in("user 65534) uses the NIC", bench.run([program, "/dev/pspin0", one, 1, 9000], status=1))
    theirs.say("exit")
    theirs.finish()
    join(bench, program, one, 1, "9000")
    check(nic.is_running(), "the NIC ended")


def test_what_a_failing_handler_held_is_for_its_user(bench):
    """Packet and registers of an ended handler: its user and the NIC's see them, others do not."""
    need("setpriv")
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    probe = [*other, bench.pinion, "--version"]
    if subprocess.run([str(part) for part in probe], capture_output=True).returncode:
        raise Skip("no second user in this namespace who can run pinion")
    bench.folder.chmod(0o755)
    program = attend(bench)
    fall = "    *(volatile int *)0 = 1;\n    spin_dma_to_host("
    elf = bench.handlers("falls", echo("f", ASK.replace("    spin_dma_to_host(", fall)))
    bench.nic("--allow-user", "65534")
    ask_log = [bench.pinion, "nic", "log", "--once"]
    first = join(bench, program, elf)
    secret, shown = b"..secret", "2e 2e 73 65 63 72"
    ask(9000, secret, tries=1)
    wait_for(lambda: "packet of " in bench.run(ask_log), "the fault")
    check_in(shown, bench.run(ask_log))
    text = bench.run([*other, *ask_log])
    check_in("a handler was ended: ", text)
    check("packet of " not in text and shown not in text, f"another user reads: {text}")
    check(" sp " not in text, f"another user reads registers: {text}")
    first.say("exit")
    first.finish()
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the release")
    theirs = bench.start([*other, program, "/dev/pspin0", elf, 0, "9000"])
    theirs.wait_for("attached")
    ask(9000, b"..theirs", tries=1)
    wait_for(lambda: "2e 2e 74 68 65 69" in bench.run([*other, *ask_log]), "their own packet")
    check(shown not in bench.run([*other, *ask_log]), "the first user's is still hidden")


def test_refusals_do_not_fill_the_output(bench):
    nic = bench.nic()
    for _ in range(2000):
        with connect(bench) as door:
            door.send(b"garbage")
            door.recv(1000)
    wait_for(lambda: bench.status()["refused"] >= 2000, "refusals")
    client = Client(bench)
    image = bench.handlers("echo", echo("e")).read_bytes()
    for _ in range(200):
        check(not isinstance(client.attach(image, 0)[0], str), "attach")
        client.close()
        client = Client(bench)
        wait_for(lambda: not bench.status()["contexts"][0]["held"], "the release")
    lines = nic.output().splitlines()
    check(100 <= len(lines) <= 130, f"{len(lines)} lines of output")


def test_the_end_of_a_program_behind_its_last_answer_is_no_failure(bench):
    """It answers and hangs up: the answer is sent, and the NIC ends with 0."""
    nic = bench.nic("--json", "nic.json")
    elf = bench.handlers("ask", echo("l", ASK))
    image = elf.read_bytes()
    for number in range(5):
        client = Client(bench)
        rules = struct.pack("<I", 0) + struct.pack("<4I", 9, 0xFFFF0000, 9000 << 16, 9000 << 16)
        rules += struct.pack("<4I", 0, 0, 0, 0) * 2 + struct.pack("<4I", 0, 0, 1, 0)
        body = struct.pack("<IIQ128s", 0, 1, PAGES, b"last") + rules
        answer, files = client.ask(ATTACH, body, [sealed(image)])
        check(not isinstance(answer, str), f"attach: {answer}")
        known = answer[48:48 + HPUS]
        pages = mmap.mmap(files[0], PAGES)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
            door.settimeout(10)
            asked = None
            while asked is None:
                door.sendto(b"..%d" % number, (NIC, 9000))
                end = time.monotonic() + 1
                while asked is None and time.monotonic() < end:
                    flags = [pages[4096 * hpu] for hpu in range(HPUS)]
                    asked = next((h for h in range(HPUS) if flags[h] != known[h]), None)
            client.answer(asked, struct.unpack_from("<Q", pages, 4096 * asked)[0])
            client.close()
            check(door.recv(2048) == b"l.%d" % number, "the last answer")
        wait_for(lambda: not bench.status()["contexts"][0]["held"], "the release")
    check(nic.stop() == 130, f"the NIC's status:\n{nic.output()}")


def test_handlers_left_behind_are_no_failure(bench):
    nic = bench.nic()
    elf = bench.handlers("ask", echo("q", ASK))
    program = join(bench, attend(bench), elf)
    program.say("silent", "done")
    ask(9000, tries=3, timeout=0.1)
    wait_for(lambda: bench.status()["contexts"][0]["packets_inside"] >= 1, "requests")
    program.signal(signal.SIGKILL)
    wait_for(lambda: bench.status()["packets"]["inside"] == 0, "an empty NIC")
    check(nic.stop() == 130, f"the NIC's status:\n{nic.output()}")
    check_in("handlers ended because their program had left", nic.output())


def test_frames_that_the_kernel_drops_are_counted(bench):
    need("ip")
    other = bench.namespace()
    nic = bench.nic("--json", "nic.json", tap=f"pin7@/proc/{other.holder.process.pid}/ns/net")
    other.run(["ip", "link", "set", "dev", "pin7", "txqueuelen", "2"])
    elf = bench.handlers("echo", echo("d"))
    join(bench, attend(bench), elf)
    flood = (
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f"for _ in range(5000): s.sendto(b'x' * 1400, ('{NIC}', 9000))\n"
        "s.close()\n"
    )
    other.run(["ip", "neigh", "add", NIC, "lladdr", "02:00:00:00:00:02", "dev", "pin7"])
    other.run(["python3", "-c", flood], status=None)
    table = other.run(["cat", "/proc/net/dev"])
    dropped = int(next(line for line in table.splitlines() if "pin7" in line).split()[12])
    check(dropped > 0, f"the kernel drops nothing:\n{table}")
    counted = bench.status()["packets"]["dropped_by_kernel"]
    check(counted == dropped, f"{counted} frames counted, {dropped} dropped")
    check_in("dropped by the kernel before", bench.run([bench.pinion, "nic", "status"]))
    nic.stop()
    said = re.search(r"dropped by the kernel on pin7\S*, whose queue was full: (\d+)", nic.output())
    check(said and int(said[1]) == dropped, nic.output())
    check_in('"dropped_by_kernel"', (bench.folder / "nic.json").read_text())
